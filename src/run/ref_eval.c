/* SPDX-License-Identifier: MIT */
/* Running a program over a block of elements. */
#include "run/ref_impl.h"

#include "base/dtype.h"

#include <math.h>
#include <string.h>

static void run_code(ip_ref_program *p, int from, int to, const ip_ref_place *place);

/* ---- leaves --------------------------------------------------------------------------------- */

static void coordinate(int axis, int64_t channels, const ip_ref_place *place, int64_t *r)
{
    int64_t x = place->first / channels, c = place->first % channels;
    for (int k = 0; k < place->n; k++) {
        r[k] = axis == 0 ? place->z : axis == 1 ? place->y : axis == 2 ? x : c;
        if (++c == channels) {
            c = 0;
            x++;
        }
    }
}

static void accumulated(const ip_ref_program *p, const ip_expr *x, int n, ip_ref_values *r)
{
    if (p->acc[x->axis]) {
        memcpy(r, p->acc[x->axis], (size_t)n * sizeof(int64_t)); /* the widest of values */
        return;
    }
    for (int k = 0; k < n; k++) {
        if (x->dtype == IMGPAR_F32)
            r->f[k] = (float)p->acc_d[x->axis];
        else if (x->dtype == IMGPAR_F64)
            r->d[k] = p->acc_d[x->axis];
        else
            r->i[k] = p->acc_i[x->axis];
    }
}

static void fill(int64_t value, int n, int64_t *r)
{
    for (int k = 0; k < n; k++)
        r[k] = value;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void binary(ip_xop op, imgpar_dtype dtype, int n, ip_ref_values *r, const ip_ref_values *a,
                   const ip_ref_values *b)
{
    if (dtype == IMGPAR_F32)
        ip_ref_f32_binary(op, n, r->f, a->f, b->f);
    else if (dtype == IMGPAR_F64)
        ip_ref_f64_binary(op, n, r->d, a->d, b->d);
    else
        ip_ref_int_binary(op, dtype, n, r->i, a->i, b->i);
}

static void unary(ip_xop op, imgpar_dtype dtype, int n, ip_ref_values *r, const ip_ref_values *a)
{
    if (dtype == IMGPAR_F32)
        ip_ref_f32_unary(op, n, r->f, a->f);
    else if (dtype == IMGPAR_F64)
        ip_ref_f64_unary(op, n, r->d, a->d);
    else
        ip_ref_int_unary(op, dtype, n, r->i, a->i);
}

static void is_nan(imgpar_dtype dtype, int n, int64_t *r, const ip_ref_values *a)
{
    for (int k = 0; k < n; k++)
        r[k] = dtype == IMGPAR_F32 ? isnan(a->f[k]) != 0 : dtype == IMGPAR_F64 && isnan(a->d[k]) != 0;
}

static void select_one(imgpar_dtype dtype, int n, ip_ref_values *r, const int64_t *condition, const ip_ref_values *yes,
                       const ip_ref_values *no)
{
    if (dtype == IMGPAR_F32)
        for (int k = 0; k < n; k++)
            r->f[k] = condition[k] ? yes->f[k] : no->f[k];
    else if (dtype == IMGPAR_F64)
        for (int k = 0; k < n; k++)
            r->d[k] = condition[k] ? yes->d[k] : no->d[k];
    else
        for (int k = 0; k < n; k++)
            r->i[k] = condition[k] ? yes->i[k] : no->i[k];
}

/* Integers: the product and sum wrap. */
static void multiply_add(imgpar_dtype dtype, int n, ip_ref_values *r, const ip_ref_values *a, const ip_ref_values *b,
                         const ip_ref_values *c)
{
    if (dtype == IMGPAR_F32) {
        for (int k = 0; k < n; k++)
            r->f[k] = fmaf(a->f[k], b->f[k], c->f[k]);
    } else if (dtype == IMGPAR_F64) {
        for (int k = 0; k < n; k++)
            r->d[k] = fma(a->d[k], b->d[k], c->d[k]);
    } else {
        for (int k = 0; k < n; k++)
            r->i[k] = (int64_t)((uint64_t)a->i[k] * (uint64_t)b->i[k] + (uint64_t)c->i[k]);
        ip_ref_wrap(dtype, n, r->i);
    }
}

static void border(const ip_expr *x, int n, int64_t *r, const int64_t *index, const int64_t *extent)
{
    for (int k = 0; k < n; k++)
        r[k] = ip_ref_border(x->border, index[k], extent[k]);
}

/* ---- windows ----------------------------------------------------------------------------------- */

/* All begin with the first tap's value, but FMA with 0. */
static void fold(const ip_expr *x, bool is_first, int n, ip_ref_values *acc, const ip_ref_values *v,
                 const ip_ref_values *weight)
{
    if (is_first && x->fold == IP_FOLD_FMA) memset(acc, 0, sizeof *acc);
    if (x->fold == IP_FOLD_FMA)
        multiply_add(x->dtype, n, acc, weight, v, acc);
    else if (is_first)
        *acc = *v;
    else
        binary(ip_fold_op(x->fold), x->dtype, n, acc, acc, v);
}

static void run_window(ip_ref_program *p, int at, const ip_ref_place *place)
{
    ip_ref_instr *instr = &p->code[at];
    const ip_expr *x = instr->x;
    ip_ref_values *acc = &p->slots[instr->slot];
    bool is_first = true;
    for (instr->tap[0] = 0; instr->tap[0] < x->taps_y; instr->tap[0]++)
        for (instr->tap[1] = 0; instr->tap[1] < x->taps_x; instr->tap[1]++) {
            run_code(p, at + 1, at + 1 + instr->n_body, place);
            fold(x, is_first, place->n, acc, &p->slots[instr->arg[0]], &p->slots[instr->arg[1]]);
            is_first = false;
        }
}

/* ---- the loop ------------------------------------------------------------------------------------ */

static void run_instr(ip_ref_program *p, const ip_ref_instr *instr, const ip_ref_place *place)
{
    const ip_expr *x = instr->x;
    const int n = place->n;
    ip_ref_values *r = &p->slots[instr->slot];
    const ip_ref_values *a = &p->slots[instr->arg[0]], *b = &p->slots[instr->arg[1]], *c = &p->slots[instr->arg[2]];
    switch (x->op) {
    case IP_X_CONST:
    case IP_X_PARAM:
    case IP_X_WINDOW:
    case IP_X_N: break;
    case IP_X_COORD: coordinate(x->axis, p->domain[3], place, r->i); break;
    case IP_X_TAP: fill(p->code[instr->window].tap[x->axis], n, r->i); break;
    case IP_X_ACC: accumulated(p, x, n, r); break;
    case IP_X_LOAD: ip_ref_load(p, instr, place); break;
    case IP_X_BORDER: border(x, n, r->i, a->i, b->i); break;
    case IP_X_LT:
    case IP_X_LE:
    case IP_X_EQ:
    case IP_X_NE: ip_ref_compare(x->op, x->arg[0]->dtype, n, r->i, a, b); break;
    case IP_X_SELECT: select_one(x->dtype, n, r, a->i, b, c); break;
    case IP_X_FMA: multiply_add(x->dtype, n, r, a, b, c); break;
    case IP_X_ISNAN: is_nan(x->arg[0]->dtype, n, r->i, a); break;
    case IP_X_CAST: ip_ref_convert(false, x->dtype, x->arg[0]->dtype, n, r, a); break;
    case IP_X_SATURATE: ip_ref_convert(true, x->dtype, x->arg[0]->dtype, n, r, a); break;
    default:
        if (x->n_args == 2)
            binary(x->op, x->dtype, n, r, a, b);
        else
            unary(x->op, x->dtype, n, r, a);
        break;
    }
}

static void run_code(ip_ref_program *p, int from, int to, const ip_ref_place *place)
{
    for (int k = from; k < to; k += 1 + p->code[k].n_body) {
        if (p->code[k].x->op == IP_X_WINDOW)
            run_window(p, k, place);
        else
            run_instr(p, &p->code[k], place);
    }
}

const ip_ref_values *ip_ref_program_run(ip_ref_program *program, const ip_ref_place *place)
{
    run_code(program, 0, program->n_code, place);
    return &program->slots[program->result];
}
