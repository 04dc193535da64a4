/* SPDX-License-Identifier: MIT */
/* Stages of depth and rescale: numbers of one white as those of another. */
#include "ops/infer.h"
#include "ops/lower.h"

#include "base/dtype.h"

#include <math.h>

enum { MOST_WHITE = 65536 }; /* up to here ratios are those of whole numbers */

static ip_expr *op2(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }
/* to / from in lowest terms; false where one of them is no whole number of up to MOST_WHITE. */
static bool ratio_of(double from, double to, int64_t *p, int64_t *q)
{
    if (from != floor(from) || to != floor(to) || from > MOST_WHITE || to > MOST_WHITE) return false;
    int64_t a = (int64_t)from, b = (int64_t)to;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    *p = (int64_t)to / a;
    *q = (int64_t)from / a;
    return true;
}

/* x p / q to the nearest whole number, ties to even. Only of an even q there are ties. */
static ip_expr *scaled_integers(ip_lower *l, ip_expr *x, int64_t p, int64_t q)
{
    imgpar_dtype w = ip_lower_sum_dtype(x->dtype, x->lo, x->hi, (double)p, (double)q);
    ip_expr *sum = op2(l, IP_X_MUL, ip_x_cast(l->ir, w, x), ip_x_int(l->ir, w, p));
    if (q == 1) return sum;
    ip_expr *divisor = ip_x_int(l->ir, w, q);
    sum = op2(l, IP_X_ADD, sum, ip_x_int(l->ir, w, q / 2));
    ip_expr *nearest = op2(l, IP_X_IDIV, sum, divisor);
    if (q % 2) return nearest;
    ip_expr *one = ip_x_int(l->ir, w, 1), *zero = ip_x_int(l->ir, w, 0);
    ip_expr *is_tie = op2(l, IP_X_EQ, op2(l, IP_X_MOD, sum, divisor), zero);
    ip_expr *is_odd = op2(l, IP_X_EQ, op2(l, IP_X_MOD, nearest, ip_x_int(l->ir, w, 2)), one);
    return ip_x_select(l->ir, op2(l, IP_X_AND, is_tie, is_odd), op2(l, IP_X_SUB, nearest, one), nearest);
}

/* x p / q: both exact in floats; only one of them is not 1 between the whites of depths, so that it is rounded once. */
static ip_expr *scaled_floats(ip_lower *l, ip_expr *x, double p, double q)
{
    imgpar_dtype f = ip_float_for_inputs(l->node);
    if (l->node->type.dtype == IMGPAR_F64) f = IMGPAR_F64;
    x = ip_x_cast(l->ir, f, x);
    if (p != 1) x = op2(l, IP_X_MUL, x, ip_x_number(l->ir, f, p));
    return q != 1 ? op2(l, IP_X_DIV, x, ip_x_number(l->ir, f, q)) : x;
}

/* Of arrays with other whites the factor is an argument, so that each of them needs no program of its own. */
static ip_expr *scaled_by(ip_lower *l, ip_expr *x, double factor)
{
    imgpar_dtype f = ip_float_for_inputs(l->node);
    if (l->node->type.dtype == IMGPAR_F64) f = IMGPAR_F64;
    return op2(l, IP_X_MUL, ip_x_cast(l->ir, f, x), ip_lower_argument(l, f, factor));
}

static bool is_of_depth(double full) { return full == 1 || full == 255 || full == 65535; }

ip_stage *ip_stages_rescale(ip_lower *l)
{
    const double from = ip_type_full(&l->node->inputs[0]->type), to = l->node->type.white;
    const imgpar_dtype dtype = l->node->type.dtype;
    ip_expr *x = ip_lower_value(l, 0);
    int64_t p, q;
    if (!ratio_of(from, to, &p, &q)) return ip_lower_map(l, scaled_by(l, x, to / from));
    bool integers = !ip_dtype_is_float(x->dtype) && !ip_dtype_is_float(dtype) && ip_dtype(x->dtype)->size_bytes <= 4;
    if (integers) return ip_lower_map(l, scaled_integers(l, x, p, q));
    if (is_of_depth(from) && is_of_depth(to)) return ip_lower_map(l, scaled_floats(l, x, (double)p, (double)q));
    return ip_lower_map(l, scaled_by(l, x, to / from));
}

/* Numbers stay; only what is said of them changes. */
ip_stage *ip_stages_set_white(ip_lower *l) { return l->in[0]; }
