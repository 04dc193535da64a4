/* SPDX-License-Identifier: MIT */
/*
 * Stages of operators and element-wise functions: one expression over operands
 * converted to the dtype in which they meet.
 */
#include "ops/complex.h"
#include "ops/divide.h"
#include "ops/families.h"
#include "ops/lower.h"

#include "base/dtype.h"

#include <math.h>
#include <stdlib.h>

/* What an operand is made of, elements of arrays aside. */
enum { OF_ROWS_AND_COLUMNS = 1, OF_CHANNELS = 2, OF_ELEMENTS = 4 };

static bool is_coordinate(const imgpar_array *a) { return a->op && a->op->lower == ip_stages_coordinate; }

static int made_of(const imgpar_array *a, int depth)
{
    if (ip_array_is_number(a, NULL, NULL)) return 0;
    if (is_coordinate(a)) return ip_param_number(a, "dim") == 3 ? OF_CHANNELS : OF_ROWS_AND_COLUMNS;
    if (!a->op || a->op->lower != ip_stages_function || depth == 0) return OF_ELEMENTS;
    int of = 0;
    for (int k = 0; k < a->n_inputs; k++)
        of |= made_of(a->inputs[k], depth - 1);
    return of;
}

/*
 * Note [Literals]
 * A number that the user wrote is an argument of the kernel, of which the program knows the class (ip_lower_literal()),
 * so another threshold or factor needs no other program. These are written into the program:
 *   - divisors of coordinates and counts of their shifts, as of other whole numbers 0, 1 and counts that are none
 *     (ops/divide.c has the rest);
 *   - counts of shifts of sums and products: the format of fixed-point numbers, by which they have fewer bits;
 *   - what channels are compared with and computed from: a loop over channels is written out, and each knows what it
 *     does;
 *   - steps of FEW pixels, as in 2 x + 1: rows that are read so are kept, or read as vectors; not how far something is
 *     moved, x - left;
 *   - 0 where positions are compared with it, as they are never less;
 *   - white in white - a, which so has as many bits as a;
 *   - exponents from 0 to 16 that are whole, as products.
 * Of sizes it knows whether the range of an index lies within what is read (ip_x_load()): bytes that index a row of 256
 * elements have no border rule, those that index one of 255 have.
 */
static bool is_division(int fn) { return fn == IP_FN_IDIV || fn == IP_FN_MOD; }
static bool is_shift(int fn) { return fn == IP_FN_SHL || fn == IP_FN_SHR; }

static bool is_sum_or_product(const imgpar_array *a)
{
    if (!a->op || a->op->lower != ip_stages_function) return false;
    return a->op->variant == IP_FN_ADD || a->op->variant == IP_FN_SUB || a->op->variant == IP_FN_MUL;
}

/* Whether operand k, a number, is. */
static bool is_written(const ip_lower *l, int k, const ip_expr *number)
{
    enum { DEEPEST = 4, FEW = 8 };
    const ip_dtype_facts *facts = ip_dtype(number->dtype);
    const double v = number->lo;
    int fn = l->node->op->variant;
    if (fn == IP_FN_SUB && k == 0 && (v == 1 || v == UINT8_MAX || v == UINT16_MAX)) return true;
    if (facts->is_float || l->node->op->info.n_inputs != 2) return false;
    const imgpar_array *other = l->node->inputs[1 - k];
    int of = made_of(other, DEEPEST);
    if (k == 1 && (is_division(fn) || is_shift(fn)) && !(of & OF_ELEMENTS)) return true;
    if (k == 1 && is_division(fn)) return v == 0 || v == 1;
    if (k == 1 && is_shift(fn)) return v < 0 || v >= (double)facts->size_bytes * 8 || is_sum_or_product(other);
    if (of != OF_ROWS_AND_COLUMNS) return !(of & (OF_ROWS_AND_COLUMNS | OF_ELEMENTS));
    if (ip_functions[fn].typing == IP_TYPING_COMPARE) return v == 0;
    return fabs(v) <= FEW && !((fn == IP_FN_ADD || fn == IP_FN_SUB) && is_coordinate(other));
}

/* Operand k in dtype if it is a number, as a CONST; else NULL. It is converted from double once; where dtype is too
 * narrow for a whole one it wraps as the arithmetic does, except in min and max, which it then does not influence. */
static ip_expr *number_of(ip_lower *l, int k, imgpar_dtype dtype)
{
    double v;
    const int fn = l->node->op->variant;
    if (!ip_array_is_number(l->node->inputs[k], &v, NULL)) return NULL;
    ip_function_compared_whole(l->node, k, &v);
    bool wraps = !ip_dtype(dtype)->is_float && fn != IP_FN_MIN && fn != IP_FN_MAX && v > -0x1p63 && v < 0x1p63;
    return wraps ? ip_x_int(l->ir, dtype, (int64_t)v) : ip_x_number(l->ir, dtype, v);
}

/* Operand k in dtype. */
static ip_expr *operand(ip_lower *l, int k, imgpar_dtype dtype)
{
    enum { FACTOR_BITS = 4 }; /* sums of several bytes times such factors fit 16 bits */
    const int fn = l->node->op->variant;
    ip_expr *number = number_of(l, k, dtype);
    if (!number) return ip_x_cast(l->ir, dtype, ip_lower_in(l, k));
    if (is_written(l, k, number)) return number;
    if (k == 1 && is_shift(fn)) return ip_lower_shift_count(l, number);
    if (ip_dtype(dtype)->is_float) return ip_lower_argument(l, dtype, number->f);
    return ip_lower_whole(l, number, fn == IP_FN_MUL ? FACTOR_BITS : IP_LEVEL_BITS);
}

/* Operand k of a comparison, for ip_lower_compare(): arrays are as they are, and so is a number that only u64 holds. */
static ip_expr *compared(ip_lower *l, int k, imgpar_dtype dtype)
{
    double v;
    if (!ip_array_is_number(l->node->inputs[k], &v, NULL)) return ip_lower_in(l, k);
    if (ip_function_compared_whole(l->node, k, &v) && dtype == IMGPAR_I64 && v >= 0x1p63) dtype = IMGPAR_U64;
    return operand(l, k, dtype);
}

static ip_expr *comparison(ip_lower *l, imgpar_dtype dtype)
{
    const ip_function_facts *facts = &ip_functions[l->node->op->variant];
    double v;
    for (int k = 0; k < 2; k++) /* no integer is beyond that, or equal to NaN: any tells the result */
        if (ip_function_compared_whole(l->node, k, &v) && !(v >= -0x1p63 && v < 0x1p64)) {
            ip_expr *any = ip_x_float(l->ir, IMGPAR_F32, 0);
            ip_expr *beyond = ip_x_float(l->ir, IMGPAR_F32, isnan(v) ? v : v < 0 ? -INFINITY : INFINITY);
            return ip_x_binary(l->ir, facts->xop, (k == 0) != facts->swapped ? beyond : any,
                               (k == 0) != facts->swapped ? any : beyond);
        }
    ip_expr *a = compared(l, 0, dtype), *b = compared(l, 1, dtype);
    return ip_lower_compare(l, facts->xop, dtype, facts->swapped ? b : a, facts->swapped ? a : b);
}

/* a / b, b being a literal: a product where its inverse is exact, since processors divide slowly; else NULL. */
static ip_expr *times_inverse(ip_lower *l, ip_expr *a)
{
    double v, inverse;
    int exponent;
    bool is_number = ip_array_is_number(l->node->inputs[1], &v, NULL);
    if (!is_number || !ip_dtype(a->dtype)->is_float || !isfinite(v) || fabs(frexp(v, &exponent)) != 0.5 ||
        abs(exponent) > 100)
        return NULL;
    inverse = 1 / v;
    return ip_x_binary(l->ir, IP_X_MUL, a, ip_lower_argument(l, a->dtype, inverse));
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

/* The exponent of a power, a literal from 0 to 16 that is whole: of floats 2.0 is one, too; -1: it is none. */
static int whole_exponent(const imgpar_array *node, imgpar_dtype dtype)
{
    double n;
    if (!ip_dtype(dtype)->is_float) return ip_function_small_power(node);
    return ip_array_is_number(node->inputs[1], &n, NULL) && n >= 0 && n <= 16 && n == floor(n) ? (int)n : -1;
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
    if (facts->typing == IP_TYPING_COMPARE) return comparison(l, dtype);
    ip_expr *a = operand(l, 0, dtype);
    if (n == 1) return ip_x_unary(l->ir, facts->xop, a);
    if (fn == IP_FN_POW && whole_exponent(l->node, dtype) >= 0)
        return small_power(l, a, whole_exponent(l->node, dtype));
    ip_expr *scaled = fn == IP_FN_DIV ? times_inverse(l, a) : NULL;
    if (scaled) return scaled;
    const ip_expr *divisor = is_division(fn) && !ip_dtype(dtype)->is_float ? number_of(l, 1, dtype) : NULL;
    if (divisor && !is_written(l, 1, divisor)) return ip_lower_quotient(l, a, divisor, fn == IP_FN_MOD);
    ip_expr *b = operand(l, 1, dtype);
    if ((fn == IP_FN_IDIV || fn == IP_FN_MOD) && ip_dtype(dtype)->is_float) return floored(l, fn == IP_FN_MOD, a, b);
    if (fn == IP_FN_FMA) return ip_x_fma(l->ir, a, b, operand(l, 2, dtype));
    return ip_x_binary(l->ir, facts->xop, a, b);
}

ip_stage *ip_stages_function(ip_lower *l)
{
    return ip_complex_is_call(l->node) ? ip_complex_stage(l) : ip_lower_map(l, value_of(l));
}
