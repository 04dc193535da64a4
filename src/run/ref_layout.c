/* SPDX-License-Identifier: MIT */
/*
 * Memory for a program's values.
 *
 * A value keeps its slot until its last use, or, if a window or a loop that it does not belong to uses it, until its
 * end. Constants keep theirs for ever and are written once; so do values of which a whole row is kept.
 */
#include "run/ref_program.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

enum {
    ALIGNMENT = 64,
    STAGGER = 1088, /* bytes between slots: those of small values do not all fall into the same part of a cache */
    LARGE = 4096    /* bytes of a slot that this is for */
};

/* Tables over positions in the code and over values. */
typedef struct layout {
    bool *is_row;    /* value -> computed before, and used afterwards */
    int *place_of;   /* value -> position; -1: a constant */
    int *outer;      /* position -> its WINDOW's position, -1: none */
    int *last;       /* value -> the position after which its slot is free */
    int *ends_here;  /* position -> the first value with that last position, -1: none */
    int *next_end;   /* value -> the next such value */
    int *slot_of;    /* value -> slot */
    int *free_slots; /* a stack */
    int n_free, n_slots;
} layout;

static void find_windows(const ip_ref_program *p, layout *l)
{
    int window = -1;
    for (int k = 0; k < p->n_code; k++) {
        while (window >= 0 && k > window + p->code[window].n_body)
            window = l->outer[window];
        l->outer[k] = window;
        if (p->code[k].n_body > 0) window = k;
    }
}

/* value is used at position k, or at the end of each window around k that value does not belong to. */
static void note_use(const ip_ref_program *p, layout *l, int value, int k)
{
    int made = l->place_of[value], use = k;
    if (made >= 0 && made < p->n_kept && k >= p->n_kept) l->is_row[value] = true;
    for (int w = l->outer[k]; w >= 0 && made < w; w = l->outer[w])
        use = w + p->code[w].n_body;
    if (use > l->last[value]) l->last[value] = use;
}

/* Until when each value is needed; those of rows for ever, and the result. */
static void find_last_uses(const ip_ref_program *p, layout *l, const ip_ref_made *made)
{
    for (int v = 0; v < made->n_values; v++)
        l->last[v] = l->place_of[v];
    for (int k = 0; k < p->n_code; k++) {
        const ip_ref_instr *instr = &p->code[k];
        for (int a = 0; a < instr->n_args; a++) {
            note_use(p, l, instr->arg[a], k);
            /* A window's arguments are folded after each run of its body, and a loop's until looked at. */
            if (instr->n_body > 0) note_use(p, l, instr->arg[a], k + instr->n_body);
        }
    }
    l->last[made->result] = p->n_code;
    if (l->place_of[made->result] >= 0 && l->place_of[made->result] < p->n_kept) l->is_row[made->result] = true;
    for (int k = 0; k < p->n_code; k++)
        l->ends_here[k] = -1;
    for (int v = 0; v < made->n_values; v++) {
        if (l->place_of[v] < 0 || l->last[v] >= p->n_code || l->is_row[v]) continue;
        l->next_end[v] = l->ends_here[l->last[v]];
        l->ends_here[l->last[v]] = v;
    }
}

/* Gives the values of the code their slots; the constants have the first ones. */
static void assign_slots(ip_ref_program *p, layout *l)
{
    for (int k = 0; k < p->n_code; k++) {
        int value = p->code[k].slot;
        l->slot_of[value] = l->n_free > 0 && !l->is_row[value] ? l->free_slots[--l->n_free] : l->n_slots++;
        for (int v = l->ends_here[k]; v >= 0; v = l->next_end[v]) /* after the result's: it is no argument's */
            l->free_slots[l->n_free++] = l->slot_of[v];
    }
}

static void name_slots(ip_ref_program *p, const layout *l)
{
    for (int k = 0; k < p->n_code; k++) {
        ip_ref_instr *instr = &p->code[k];
        instr->slot = l->slot_of[instr->slot];
        for (int a = 0; a < instr->n_args; a++)
            instr->arg[a] = l->slot_of[instr->arg[a]];
    }
}

/* ---- memory ------------------------------------------------------------------------------------- */

static size_t rounded_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

static size_t elements_of(const ip_ref_program *p, ip_ref_rate rate)
{
    const size_t row = (size_t)(p->domain[2] * p->domain[3]);
    return rate == IP_REF_ONCE ? 1 : rate == IP_REF_PIXELS ? row / (size_t)p->domain[3] : row;
}

static imgpar_status list_rows(ip_ref_program *p, const layout *l, ip_error *err)
{
    p->rows = ip_alloc_array((size_t)p->n_kept + 1, sizeof *p->rows);
    if (!p->rows) return ip_fail_memory(err, "interpreting");
    for (int k = 0; k < p->n_kept; k++) {
        const ip_ref_instr *instr = &p->code[k];
        if (!l->is_row[instr->slot]) continue;
        p->rows[p->n_rows++] = (ip_ref_row){ .slot = l->slot_of[instr->slot],
                                             .rate = instr->rate,
                                             .size_bytes = 1 << ip_ref_size_log2(instr->x->dtype) };
    }
    return IMGPAR_OK;
}

/* One piece of memory for all of it: slots, then what gathers need, then rows. */
static imgpar_status allocate(ip_ref_program *p, const ip_ref_made *made, ip_error *err)
{
    const size_t n = (size_t)p->block, slots = (size_t)p->n_slots,
                 values = rounded_up(n * IP_REF_ELEMENT_BYTES, ALIGNMENT);
    size_t at = (p->slot_bytes = values + (values < LARGE ? 0 : STAGGER)) * slots, rows = at + 4 * values,
           size_bytes = rows;
    for (int k = 0; k < p->n_rows; k++)
        size_bytes += rounded_up(elements_of(p, p->rows[k].rate) * (size_t)p->rows[k].size_bytes, ALIGNMENT);
    p->memory = ip_alloc(size_bytes + ALIGNMENT);
    p->at = ip_alloc_array(slots, sizeof *p->at);
    p->taps = ip_alloc_array((size_t)made->n_windows + 1, sizeof *p->taps);
    if (!p->memory || !p->at || !p->taps) return ip_fail_memory(err, "interpreting");
    p->slots = p->memory + (ALIGNMENT - (uintptr_t)p->memory % ALIGNMENT) % ALIGNMENT;
    p->offsets = (int32_t *)(p->slots + at);
    p->mapped = (int32_t *)(p->slots + at + values);
    p->outside = p->slots + at + 2 * values;
    p->raw = p->slots + at + 3 * values;
    for (int k = 0; k < p->n_rows; k++) {
        p->rows[k].values = p->slots + rows;
        rows += rounded_up(elements_of(p, p->rows[k].rate) * (size_t)p->rows[k].size_bytes, ALIGNMENT);
    }
    return IMGPAR_OK;
}

static void write_constant(const ip_ref_program *p, int slot, const ip_expr *x)
{
    const bool is_float = ip_dtype(x->dtype)->is_float;
    uint64_t value[1];
    p->loops->cast[x->dtype][is_float ? IMGPAR_F64 : IMGPAR_I64](1, value, is_float ? (const void *)&x->f : &x->i, NULL,
                                                                 NULL);
    unsigned char *to = p->slots + (size_t)slot * p->slot_bytes;
    p->loops->splat[ip_ref_size_log2(x->dtype)](p->block, to, value, NULL, NULL);
}

static imgpar_status place_values(ip_ref_program *p, layout *l, const ip_ref_made *made, ip_error *err)
{
    for (int k = 0; k < made->n_constants; k++) {
        l->place_of[made->constants[k].slot] = -1;
        l->slot_of[made->constants[k].slot] = l->n_slots++;
    }
    for (int k = 0; k < p->n_code; k++)
        l->place_of[p->code[k].slot] = k;
    find_windows(p, l);
    find_last_uses(p, l, made);
    assign_slots(p, l);
    p->n_slots = l->n_slots;
    p->result = l->slot_of[made->result];
    imgpar_status st = list_rows(p, l, err);
    name_slots(p, l);
    return st ? st : allocate(p, made, err);
}

imgpar_status ip_ref_lay_out(ip_ref_program *p, const ip_ref_made *made, ip_error *err)
{
    const size_t n = (size_t)made->n_values + (size_t)p->n_code + 1;
    int *tables = ip_alloc_array(n, 7 * sizeof *tables);
    bool *is_row = ip_zalloc(n * sizeof *is_row);
    layout l = { .is_row = is_row };
    int **const parts[] = { &l.place_of, &l.outer, &l.last, &l.ends_here, &l.next_end, &l.slot_of, &l.free_slots };
    for (size_t k = 0; tables && k < sizeof parts / sizeof *parts; k++)
        *parts[k] = tables + k * n;
    imgpar_status st = tables && is_row ? place_values(p, &l, made, err) : ip_fail_memory(err, "interpreting");
    for (int k = 0; !st && k < p->n_slots; k++)
        p->at[k] = p->slots + (size_t)k * p->slot_bytes;
    for (int k = 0; !st && k < made->n_constants; k++)
        write_constant(p, l.slot_of[made->constants[k].slot], made->constants[k].x);
    ip_free(is_row);
    ip_free(tables);
    return st;
}
