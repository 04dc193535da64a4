/* SPDX-License-Identifier: MIT */
/*
 * Narrow rows are turned.
 *
 * Note [Turned rows]
 * A matrix of many rows of few columns, [n, 3] points say, has rows that no vector and no strip is made of. In memory
 * it is a row of n pixels with as many channels as it has columns, and a picture of one column is a row of its
 * pixels. So its stage becomes that: depth, height and width [1, n, w] of one channel become [1, 1, n] of w channels,
 * and what reads element (y, x) reads pixel y, channel x.
 *
 * What is turned is read as a whole, by a fold or for a row of as many pixels. Results keep their shape, and stages
 * with borders, windows, loops or recurrences, as does what such a stage and this one would have to read from each
 * other. Hand-written kernels that read all of an input see the same memory. A row is not cut by strips under a limit
 * of memory, nor for several devices, and is not read from its file part by part: there nothing is turned. Stages that
 * nothing reads any more, since they were put into their readers, have no say.
 */
#include "base/alloc.h"
#include "compile/passes.h"
#include "graph/array.h"
#include "ir/opaque.h"

#include <string.h>

enum { LEAST_ROWS = 64, MOST_COLUMNS = 4, MOST_OF_FILE = 1 << 26 };

typedef struct turning {
    ip_ir *ir;
    const int *n_reads; /* ip_ir_count_reads() */
    bool *turns;        /* by stage id */
    bool *is_whole;     /* by stage id: what reads it makes a row of it, or a fold */
    ip_stage *reader;
    bool is_settled, is_row; /* is_row: what reads is one row itself, its elements have coordinates */
} turning;

static bool is_narrow(const int64_t dims[4])
{
    const int64_t columns = dims[2] * dims[3];
    return dims[0] == 1 && dims[1] >= LEAST_ROWS && columns <= MOST_COLUMNS &&
           dims[1] <= IP_LONGEST_ROW / MOST_COLUMNS && (dims[2] == 1 || dims[3] == 1);
}

static void note_own_loop(ip_expr *x, void *user)
{
    *(bool *)user |=
        x->op == IP_X_WINDOW || x->op == IP_X_LOOP || x->op == IP_X_TAP || x->op == IP_X_STATE || x->op == IP_X_BORDER;
}

/* A large file is not: strips read it a few rows at a time, which of one row would be all of it at once. */
static bool is_held(const ip_stage *s)
{
    const ip_source *from = s->node ? s->node->source : NULL;
    return s->value || !from || from->kind != IP_SOURCE_FILE || ip_dims_count(s->dims) <= MOST_OF_FILE;
}

static bool may_turn(ip_ir *ir, const ip_stage *s, const int *n_reads)
{
    const int64_t *domain = ip_stage_domain(s);
    bool has_loop = false;
    if (!is_narrow(domain) || !ip_stage_is_live(s, n_reads)) return false;
    if (s->kind == IP_STAGE_SOURCE) return is_held(s);
    const bool is_map = s->kind == IP_STAGE_MAP && !s->is_output,
               is_fold = s->kind == IP_STAGE_REDUCE || (s->kind == IP_STAGE_HISTOGRAM && domain[2] == 1);
    if (is_map || is_fold) ip_x_walk(ir, s->body, note_own_loop, &has_loop);
    return (is_map || is_fold) && !has_loop;
}

/* Reader and what it reads stay as they are, or both turn, where they have one shape. */
static void settle_load(ip_expr *load, void *user)
{
    turning *t = user;
    const ip_stage *p = load->source;
    const bool is_alike = memcmp(p->dims, ip_stage_domain(t->reader), 3 * sizeof *p->dims) == 0;
    bool *own = &t->turns[t->reader->id], *read = &t->turns[p->id];
    bool stays = load->border != IP_BORDER_NONE || load->uses & IP_USES_TAP || t->reader->kind == IP_STAGE_SCAN ||
                 (is_alike && !*own);
    t->is_whole[p->id] |= *own || ip_stage_domain(t->reader)[2] >= p->dims[1];
    if (*read && stays) *read = t->is_settled = false;
    if (*own && is_alike && !*read) *own = t->is_settled = false;
}

static void settle_inputs(turning *t, const ip_opaque *o)
{
    for (int k = 0; o && k < o->n_inputs; k++) {
        bool *read = &t->turns[o->inputs[k]->id];
        if (*read && (o->user || o->kind->reads != ip_opaque_read_all)) *read = t->is_settled = false;
    }
}

/* A stage that nobody reads as a whole stays: where readers only cut rows out, cutting pixels out of one row wins
 * nothing. */
static void settle_cut(turning *t, const ip_stage *s)
{
    if (!t->turns[s->id] || t->is_whole[s->id] || ip_stage_folds(s)) return;
    t->turns[s->id] = t->is_settled = false;
}

static void settle(turning *t)
{
    const int n = t->ir->n_stages;
    do {
        t->is_settled = true;
        memset(t->is_whole, 0, (size_t)n * sizeof *t->is_whole);
        for (int k = 0; k < n; k++) {
            t->reader = t->ir->stages[k];
            if (!ip_stage_is_live(t->reader, t->n_reads)) continue;
            if (ip_stage_computes(t->reader)) ip_stage_each_load(t->ir, t->reader, settle_load, t);
            settle_inputs(t, t->reader->opaque);
        }
        for (int k = 0; k < n; k++)
            settle_cut(t, t->ir->stages[k]);
    } while (!t->is_settled);
}

/* What a reader of turned stages reads instead. */
static ip_expr *put_load(ip_ir *ir, ip_expr *x, void *user)
{
    turning *t = user;
    if (x->op != IP_X_LOAD || !t->turns[x->source->id]) return x;
    ip_expr *zero = ip_x_int(ir, IMGPAR_I32, 0), *z = t->is_row ? ip_x_coord(ir, 0, 1) : zero,
            *y = t->is_row ? ip_x_coord(ir, 1, 1) : zero; /* the own row, which may be kept */
    ip_expr *at[4] = { z, y, x->arg[1], x->source->dims[2] == 1 ? x->arg[3] : x->arg[2] };
    return ip_x_load(ir, x->source, at, IP_BORDER_NONE, NULL);
}

/* In the body of one that is turned itself, coordinates, too. */
static ip_expr *put_turned(ip_ir *ir, ip_expr *x, void *user)
{
    turning *t = user;
    const int64_t *domain = ip_stage_domain(t->reader);
    if (x->op != IP_X_COORD) return put_load(ir, x, user);
    if (x->axis == 1) return ip_x_coord(ir, 2, domain[1]);
    if (x->axis == 2 && domain[2] > 1) return ip_x_coord(ir, 3, domain[2]);
    return x->axis == 3 && domain[3] > 1 ? x : ip_x_int(ir, IMGPAR_I32, 0);
}

static void put_parts(turning *t, ip_stage *s)
{
    const bool turns = t->turns[s->id];
    const int64_t *domain = ip_stage_domain(s);
    const bool is_row = domain[0] == 1 && (turns || domain[1] == 1);
    ip_expr **parts[IP_STAGE_PARTS];
    const int n = ip_stage_parts(s, parts);
    t->reader = s;
    for (int k = 0; k < n; k++) { /* a fold's others than the body have no coordinates of elements */
        t->is_row = is_row && k == 0;
        *parts[k] = ip_x_map(t->ir, *parts[k], turns && k == 0 ? put_turned : put_load, t);
    }
    t->is_row = is_row;
    if (s->least_place) s->least_place = ip_x_map(t->ir, s->least_place, turns ? put_turned : put_load, t);
}

static void turn(int64_t dims[4])
{
    const int64_t turned[4] = { 1, 1, dims[1], dims[2] * dims[3] };
    memcpy(dims, turned, sizeof turned);
}

imgpar_status ip_pass_turn(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    turning t = { .ir = plan->ir };
    bool any = false;
    if (!options->fuse || options->in_parts || options->checks) return IMGPAR_OK;
    const size_t n = (size_t)plan->ir->n_stages + 1;
    t.n_reads = ip_ir_count_reads(plan->ir);
    t.turns = t.n_reads ? ip_zalloc(2 * n * sizeof *t.turns) : NULL;
    if (!t.turns) return ip_fail_memory(err, "compiling");
    t.is_whole = t.turns + n;
    for (int k = 0; k < plan->ir->n_stages; k++)
        any |= t.turns[k] = may_turn(plan->ir, plan->ir->stages[k], t.n_reads);
    if (any) settle(&t);
    for (int k = 0; any && k < plan->ir->n_stages; k++) {
        ip_stage *s = plan->ir->stages[k];
        if (ip_stage_computes(s) && ip_stage_is_live(s, t.n_reads)) put_parts(&t, s);
    }
    for (int k = 0; k < plan->ir->n_stages; k++) {
        ip_stage *s = plan->ir->stages[k];
        if (t.turns[k]) turn(ip_stage_folds(s) ? s->over : s->dims);
        if (t.turns[k]) s->view = NULL;
    }
    const bool turned = any && memchr(t.turns, true, n);
    ip_free(t.turns);
    if (plan->ir->failed) return ip_fail_memory(err, "compiling");
    return turned ? ip_pass_inline(plan, options, err) : IMGPAR_OK; /* what was elsewhere is at its own place now */
}
