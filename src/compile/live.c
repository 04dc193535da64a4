/* SPDX-License-Identifier: MIT */
/*
 * Register pressure: how many vector registers the values of a loop's body take at once. Values are taken to be made
 * where the text first reads them (emit_expr.c: arguments from left to right) and held until their last reader is made,
 * which compilers keep to well enough. What is the same for all elements is no value here: a compiler keeps it in
 * memory for the price of an operand, and so it reads an element that is read once.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/segments.h"

typedef struct pressure {
    const ip_site *site;
    const ip_places *places;
    int lanes, register_bytes;
    int *reads;  /* of each expression, that are still to come */
    char *state; /* of each expression: 0 not made; else 1 + the registers that hold it */
    int live, most;
} pressure;

/* A truth value is as wide as what it was told of. */
static int value_bytes(const ip_expr *x)
{
    while (x->dtype == IMGPAR_BOOL && x->n_args > 0 && x->op != IP_X_LOAD)
        x = x->arg[0];
    return (int)ip_dtype(x->dtype)->size_bytes;
}

static int registers_of(const pressure *p, const ip_expr *x)
{
    const bool is_operand = x->op == IP_X_LOAD && p->reads[x->id] == 1;
    return is_operand ? 0 : ip_max_int(1, value_bytes(x) * p->lanes / p->register_bytes);
}

/* Indices are not computed in lanes. */
static int first_value(const ip_expr *x) { return x->op == IP_X_LOAD ? 4 : 0; }

static void count_reads(pressure *p, const ip_expr *x)
{
    if (ip_is_at_hand(p->site, x, p->places) || p->reads[x->id]++ > 0) return;
    for (int k = first_value(x); k < x->n_args; k++)
        count_reads(p, x->arg[k]);
}

static void make(pressure *p, const ip_expr *x)
{
    if (ip_is_at_hand(p->site, x, p->places) || p->state[x->id]) return;
    for (int k = first_value(x); k < x->n_args; k++)
        make(p, x->arg[k]);
    for (int k = first_value(x); k < x->n_args; k++) {
        const ip_expr *read = x->arg[k];
        if (!ip_is_at_hand(p->site, read, p->places) && --p->reads[read->id] == 0) p->live -= p->state[read->id] - 1;
    }
    p->state[x->id] = (char)(1 + registers_of(p, x));
    p->live += p->state[x->id] - 1;
    p->most = ip_max_int(p->most, p->live);
}

int ip_live_registers(const ip_site *site, ip_expr *const *roots, int n, const ip_places *places, int lanes)
{
    const size_t size = site->ir->n_exprs + 1;
    pressure p = { .site = site,
                   .places = places,
                   .lanes = lanes,
                   .register_bytes = site->options->device.vector_bytes,
                   .reads = ip_zalloc(size * sizeof *p.reads),
                   .state = ip_zalloc(size * sizeof *p.state) };
    const bool has_memory = p.reads && p.state;
    for (int k = 0; k < n && has_memory; k++)
        count_reads(&p, roots[k]);
    for (int k = 0; k < n && has_memory; k++)
        make(&p, roots[k]);
    ip_free(p.reads);
    ip_free(p.state);
    return p.most;
}
