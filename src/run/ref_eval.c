/* SPDX-License-Identifier: MIT */
/* Running a program over a block of elements. */
#include "run/ref_impl.h"

#include <string.h>

static void run_code(ip_ref_program *p, int from, int to, const ip_ref_place *place);

int ip_ref_count(const ip_ref_program *program, ip_ref_rate rate, int n)
{
    return rate == IP_REF_ONCE ? 1 : rate == IP_REF_PIXELS ? n / (int)program->domain[3] : n;
}

/* ---- leaves --------------------------------------------------------------------------------- */

static void columns_or_channels(int axis, int64_t channels, const ip_ref_place *place, int n, int32_t *r)
{
    int64_t x = place->first / channels, c = place->first % channels;
    for (int k = 0; k < n; k++) {
        r[k] = (int32_t)(axis == 2 ? x : c);
        if (++c == channels) {
            c = 0;
            x++;
        }
    }
}

static void coordinate(const ip_ref_program *p, const ip_ref_instr *instr, const ip_ref_place *place, int32_t *r)
{
    const int axis = instr->x->axis, n = ip_ref_count(p, instr->rate, place->n);
    if (axis < 2)
        r[0] = (int32_t)(axis == 0 ? place->z : place->y);
    else if (axis == 2 && (instr->rate == IP_REF_PIXELS || p->domain[3] == 1))
        p->loops->count_up(n, r, (int32_t)(place->first / p->domain[3]));
    else
        columns_or_channels(axis, p->domain[3], place, n, r);
}

static void border(const ip_expr *x, int n, int32_t *r, const int32_t *index, const int32_t *extent)
{
    for (int k = 0; k < n; k++)
        r[k] = (int32_t)ip_ref_border(x->border, index[k], extent[k]);
}

/* ---- windows ----------------------------------------------------------------------------------- */

static void negative_zeros(imgpar_dtype dtype, int n, void *to)
{
    for (int k = 0; k < n && dtype == IMGPAR_F32; k++)
        ((float *)to)[k] = -0.0F;
    for (int k = 0; k < n && dtype == IMGPAR_F64; k++)
        ((double *)to)[k] = -0.0;
}

/* All begin with the first tap's value; FMA with -0, to which a product is added as it is. */
static void run_window(ip_ref_program *p, int position, const ip_ref_place *place)
{
    const ip_ref_instr *instr = &p->code[position];
    const ip_expr *x = instr->x;
    const int n = ip_ref_count(p, instr->rate, place->n);
    const size_t size_bytes = (size_t)n << ip_ref_size_log2(x->dtype);
    void *acc = p->slots + (size_t)instr->slot * p->slot_bytes;
    int *tap = p->taps[instr->window];
    bool is_first = true;
    for (tap[0] = 0; tap[0] < x->taps_y; tap[0]++)
        for (tap[1] = 0; tap[1] < x->taps_x; tap[1]++) {
            run_code(p, position + 1, position + 1 + instr->n_body, place);
            const void *v = p->at[instr->arg[0]];
            if (is_first && x->fold == IP_FOLD_FMA) negative_zeros(x->dtype, n, acc);
            if (x->fold == IP_FOLD_FMA)
                instr->loop(n, acc, p->at[instr->arg[1]], v, acc);
            else if (is_first)
                memcpy(acc, v, size_bytes);
            else
                instr->loop(n, acc, acc, v, NULL);
            is_first = false;
        }
    p->at[instr->slot] = acc;
}

/* ---- loops of an element ------------------------------------------------------------------------- */

#define KEEP_WHERE(TYPE)        \
    for (int k = 0; k < n; k++) \
    ((TYPE *)to)[k] = goes[k] ? ((const TYPE *)from)[k] : ((TYPE *)to)[k]

static void move_going(int n, int size_log2, void *to, const void *from, const uint8_t *goes)
{
    switch (size_log2) {
    case 0: KEEP_WHERE(uint8_t); break;
    case 1: KEEP_WHERE(uint16_t); break;
    case 2: KEEP_WHERE(uint32_t); break;
    default: KEEP_WHERE(uint64_t); break;
    }
}

static bool ends_where(int n, uint8_t *goes, const uint8_t *until)
{
    uint8_t any = 0;
    for (int k = 0; k < n; k++)
        any |= goes[k] &= (uint8_t)!until[k];
    return !any;
}

enum { STEPS_A_POLL = 256 };

static void run_steps(ip_ref_program *p, int position, const ip_ref_place *place)
{
    const ip_ref_instr *instr = &p->code[position];
    const int n = ip_ref_count(p, instr->rate, place->n);
    uint8_t *goes = p->slots + (size_t)instr->arg[0] * p->slot_bytes;
    for (int64_t step = 0; step < instr->x->arg[3]->i && !p->is_stopped; step++) {
        ip_error err = { .status = IMGPAR_OK };
        run_code(p, position + 1, position + 1 + instr->n_body, place);
        if (ends_where(n, goes, p->at[instr->arg[1]])) break;
        if (step % STEPS_A_POLL == STEPS_A_POLL - 1 && p->progress) p->is_stopped = ip_ref_ask(p->progress, &err);
    }
}

/* ---- the loop ------------------------------------------------------------------------------------ */

static void run_instr(ip_ref_program *p, const ip_ref_instr *instr, const ip_ref_place *place)
{
    const ip_expr *x = instr->x;
    const int n = ip_ref_count(p, instr->rate, place->n);
    void *r = p->slots + (size_t)instr->slot * p->slot_bytes;
    const void *a = p->at[instr->arg[0]], *b = p->at[instr->arg[1]], *c = p->at[instr->arg[2]];
    p->at[instr->slot] = r;
    switch (instr->kind) {
    case IP_REF_CONSTANT:
    case IP_REF_WINDOW:
    case IP_REF_STEPS: break;
    case IP_REF_LOOP: instr->loop(n, r, a, b, c); break;
    case IP_REF_BROADCAST:
        if (instr->from == IP_REF_ONCE)
            instr->loop(n, r, a, NULL, NULL);
        else
            p->loops->repeat[ip_ref_size_log2(x->dtype)](n, (int)p->domain[3], r, a);
        break;
    case IP_REF_COORD: coordinate(p, instr, place, r); break;
    case IP_REF_TAP: memcpy(r, &p->taps[instr->window][x->axis], sizeof(int32_t)); break;
    case IP_REF_ACC: p->at[instr->slot] = p->acc[x->axis]; break;
    case IP_REF_BORDER: border(x, n, r, a, b); break;
    case IP_REF_LOAD: ip_ref_load(p, instr, place); break;
    case IP_REF_GOING: memset(r, 1, (size_t)n); break;
    case IP_REF_START:
    case IP_REF_STATE: memcpy(r, a, (size_t)n << ip_ref_size_log2(x->dtype)); break;
    case IP_REF_NEXT:
        move_going(n, ip_ref_size_log2(x->dtype), p->slots + (size_t)instr->arg[1] * p->slot_bytes, a, c);
        break;
    }
}

static void run_code(ip_ref_program *p, int from, int to, const ip_ref_place *place)
{
    for (int k = from; k < to; k += 1 + p->code[k].n_body) {
        if (p->code[k].kind == IP_REF_WINDOW)
            run_window(p, k, place);
        else if (p->code[k].kind == IP_REF_STEPS)
            run_steps(p, k, place);
        else
            run_instr(p, &p->code[k], place);
    }
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static unsigned char *in_row(const ip_ref_program *p, const ip_ref_row *row, const ip_ref_place *place)
{
    const int64_t first = row->rate == IP_REF_ONCE     ? 0
                          : row->rate == IP_REF_PIXELS ? place->first / p->domain[3]
                                                       : place->first;
    return row->values + first * row->size_bytes;
}

void ip_ref_program_fill_rows(ip_ref_program *program)
{
    ip_ref_place place = { .n = 0 };
    for (; program->n_kept > 0 && ip_ref_block_at(program, &place); place.first += place.n) {
        run_code(program, 0, program->n_kept, &place);
        for (int k = 0; k < program->n_rows; k++) {
            const ip_ref_row *kept = &program->rows[k];
            const size_t n = (size_t)ip_ref_count(program, kept->rate, place.n) * (size_t)kept->size_bytes;
            memcpy(in_row(program, kept, &place), program->at[kept->slot], n);
        }
    }
}

bool ip_ref_block_at(const ip_ref_program *program, ip_ref_place *place)
{
    const int64_t left = program->domain[2] * program->domain[3] - place->first;
    place->n = left < program->block ? (int)left : program->block;
    return left > 0;
}

imgpar_status ip_ref_check(const ip_ref_program *program, ip_error *err)
{
    if (program->is_stopped) return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    if (program->bad_source < 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_INTERNAL, "internal: interpreter: stage %d is read outside of its domain",
                   program->bad_source);
}

const void *ip_ref_program_run(ip_ref_program *program, const ip_ref_place *place)
{
    for (int k = 0; k < program->n_rows; k++)
        program->at[program->rows[k].slot] = in_row(program, &program->rows[k], place);
    run_code(program, program->n_kept, program->n_code, place);
    return program->at[program->result];
}
