/* SPDX-License-Identifier: MIT */
/*
 * Stages of operators and element-wise functions: one expression over operands
 * converted to the dtype in which they meet.
 */
#include "ops/complex.h"
#include "ops/families.h"
#include "ops/lower.h"

#include "base/dtype.h"

#include <math.h>

/* Whether a literal is a place in a picture more likely than a level: programs are not to depend on the sizes of pictures. */
static bool is_place(const ip_lower *l, imgpar_dtype dtype, double v)
{
    int fn = l->node->op->variant;
    bool is_compared = ip_functions[fn].typing == IP_TYPING_COMPARE;
    return dtype == IMGPAR_I32 && fabs(v) > 255 && fabs(v) <= INT32_MAX && (is_compared || fn == IP_FN_ADD || fn == IP_FN_SUB);
}

/* Operand k in dtype. Literals are converted from double once; where dtype is too narrow for a whole one it wraps as
 * the arithmetic does, except in min and max, which it then does not influence. */
static ip_expr *operand(ip_lower *l, int k, imgpar_dtype dtype)
{
    double v;
    bool fractional;
    int fn = l->node->op->variant;
    if (!ip_array_is_number(l->node->inputs[k], &v, &fractional)) return ip_x_cast(l->ir, dtype, ip_lower_in(l, k));
    if (is_place(l, dtype, v)) return ip_lower_argument(l, dtype, v);
    bool wraps = !ip_dtype(dtype)->is_float && fn != IP_FN_MIN && fn != IP_FN_MAX && v > -0x1p63 && v < 0x1p63;
    return wraps ? ip_x_int(l->ir, dtype, (int64_t)v) : ip_lower_literal(l, dtype, v, fractional);
}

static ip_expr *condition(ip_lower *l, int k)
{
    ip_expr *x = ip_lower_in(l, k);
    return x->dtype == IMGPAR_BOOL ? x : ip_x_binary(l->ir, IP_X_NE, x, ip_x_number(l->ir, x->dtype, 0));
}

/* By squaring, from the highest bit of n down. */
static ip_expr *small_power(ip_lower *l, ip_expr *x, int n)
{
    if (n == 0) return ip_x_number(l->ir, x->dtype, 1);
    ip_expr *r = x;
    int bit = 1;
    while (bit * 2 <= n)
        bit *= 2;
    for (bit /= 2; bit; bit /= 2) {
        r = ip_x_binary(l->ir, IP_X_MUL, r, r);
        if (n & bit) r = ip_x_binary(l->ir, IP_X_MUL, r, x);
    }
    return r;
}

/* div and % of floats: floor(a / b) and a - b floor(a / b), by zero 0. */
static ip_expr *floored(ip_lower *l, bool modulo, ip_expr *a, ip_expr *b)
{
    ip_expr *zero = ip_x_number(l->ir, a->dtype, 0);
    ip_expr *q = ip_x_unary(l->ir, IP_X_FLOOR, ip_x_binary(l->ir, IP_X_DIV, a, b));
    if (modulo) q = ip_x_fma(l->ir, ip_x_unary(l->ir, IP_X_NEG, q), b, a);
    return ip_x_select(l->ir, ip_x_binary(l->ir, IP_X_EQ, b, zero), zero, q);
}

static ip_expr *value_of(ip_lower *l)
{
    int fn = l->node->op->variant, n = l->node->op->info.n_inputs;
    const ip_function_facts *facts = &ip_functions[fn];
    imgpar_dtype dtype = ip_function_compute_dtype(l->node);
    if (facts->typing == IP_TYPING_LOGIC) {
        ip_expr *a = condition(l, 0);
        return n == 1 ? ip_x_unary(l->ir, facts->xop, a) : ip_x_binary(l->ir, facts->xop, a, condition(l, 1));
    }
    ip_expr *a = operand(l, 0, dtype);
    if (n == 1) return ip_x_unary(l->ir, facts->xop, a);
    if (fn == IP_FN_POW && ip_function_small_power(l->node) >= 0)
        return small_power(l, a, ip_function_small_power(l->node));
    ip_expr *b = operand(l, 1, dtype);
    if ((fn == IP_FN_IDIV || fn == IP_FN_MOD) && ip_dtype(dtype)->is_float) return floored(l, fn == IP_FN_MOD, a, b);
    return facts->swapped ? ip_x_binary(l->ir, facts->xop, b, a) : ip_x_binary(l->ir, facts->xop, a, b);
}

ip_stage *ip_stages_function(ip_lower *l)
{
    return ip_complex_is_call(l->node) ? ip_complex_stage(l) : ip_lower_map(l, value_of(l));
}
