/* SPDX-License-Identifier: MIT */
/*
 * Quotients, remainders and shifts of whole numbers by a number the user wrote.
 *
 * Note [Divisors as arguments]
 * Processors divide slowly, so a compiler that knows a divisor multiplies by its inverse. Here the inverse is an
 * argument of the kernel, and every divisor has the same program (Granlund and Montgomery, Division by Invariant
 * Integers using Multiplication, 1994). With
 *     m = floor(2^k / d) + 1 = (2^k + e) / d,  0 < e <= d,
 * x m / 2^k = x / d + x e / (2^k d) is below the next multiple of 1 / d while 0 <= x e < 2^k, so floor(x m / 2^k) is
 * floor(x / d).
 *   - x and d of 8 bits: k = 16, since x e <= 255 * 255; and m <= 2^15, as d >= 3: the upper half of 16 bits' product.
 *   - x of n bits: k = n + ceil(log2 d), as x e < 2^n d <= 2^k; and m < 2^(n + 1), as d > 2^(k - n - 1). Products of 32
 *     bits hold n = 15, those of 64 bits n = 31.
 * Below 0, floor(x / d) = -1 - floor((-1 - x) / d), and -1 - x is x with all bits flipped. A power of two is a shift
 * and a mask, whatever x is. Wider x, and divisors below 0, are divided.
 *
 * Note [Quotients by floats]
 * (x + 1/2) / d is at least 1 / 2d away from the next whole number. x + 1/2 is exact in f32 while x < 2^22, r = 1 / d
 * and the product are each rounded by a factor of at most 1 + 2^-24 (1 + 2^-23 where numbers are cut off), so the
 * product is wrong by less than (x + 1/2) / d * 2^-22 (1 + 2^-22) < 1 / 2d while x < 2^21: truncated, it is
 * floor(x / d). That takes half the time of products of 64 bits. And the range of r tells that of the quotients, so
 * that means of bytes are kept as bytes. All divisors have three programs at most: of quotients that fit a byte, that
 * fit two, and of others.
 */
#include "ops/divide.h"

#include "base/dtype.h"

#include <math.h>

enum {
    BYTE_SHIFT = 16,
    MOST_BY_FLOATS = (1 << 21) - 1,
};

/* An argument in [lo, hi]. */
static ip_expr *argument(ip_lower *l, imgpar_dtype dtype, int64_t value, double lo, double hi)
{
    return ip_x_param_of(l->ir, ip_x_int(l->ir, dtype, value), lo, hi);
}

/* ceil(log2 d) */
static int log2_above(int64_t d)
{
    int k = 0;
    while (((int64_t)1 << k) < d)
        k++;
    return k;
}

static bool is_power_of_two(int64_t d) { return d > 0 && (d & (d - 1)) == 0; }

/* floor(x / d) in u16; x in 0..255, d in 3..255 and no power of two. */
static ip_expr *byte_quotient(ip_lower *l, ip_expr *x, int64_t d)
{
    ip_expr *m = argument(l, IMGPAR_U16, (1 << BYTE_SHIFT) / d + 1, 1, 1 << (BYTE_SHIFT - 1));
    ip_expr *product = ip_x_binary(l->ir, IP_X_MUL, ip_x_cast(l->ir, IMGPAR_U32, x), ip_x_cast(l->ir, IMGPAR_U32, m));
    ip_expr *q = ip_x_binary(l->ir, IP_X_SHR, product, ip_x_int(l->ir, IMGPAR_U32, BYTE_SHIFT));
    return ip_x_cast(l->ir, IMGPAR_U16, q);
}

/* What 1 / d is at most in a program that shows that quotients of x have fewer bytes than x; 0: they have as many. */
static double narrowing_inverse(const ip_expr *x, int64_t d)
{
    static const double levels[] = { UINT8_MAX, UINT16_MAX };
    const double middle = x->hi + 0.5, slack = 0.75; /* ranges of floats are rounded up */
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
        if (x->hi > levels[k] && middle / (double)d <= levels[k] + slack)
            return fmin(1.0 / 3, (levels[k] + slack) / middle);
    return 0;
}

/* floor(x / d) in i32; x from 0 to MOST_BY_FLOATS, d at most one more, above 2. */
static ip_expr *float_quotient(ip_lower *l, ip_expr *x, int64_t d)
{
    const float inverse = 1.0F / (float)d;
    const double most = narrowing_inverse(x, d);
    ip_expr *middle = ip_x_binary(l->ir, IP_X_ADD, ip_x_cast(l->ir, IMGPAR_F32, x), ip_x_float(l->ir, IMGPAR_F32, 0.5));
    ip_expr *r = ip_x_param(l->ir, IMGPAR_F32, inverse, 0, fmax(inverse, most > 0 ? most : 1.0 / 3));
    return ip_x_cast(l->ir, IMGPAR_I32, ip_x_binary(l->ir, IP_X_MUL, middle, r));
}

/* floor(x / d) in i32; x has so many bits, 15 or 31, d is at most one more than such numbers, above 2. */
static ip_expr *product_quotient(ip_lower *l, ip_expr *x, int64_t d, int bits)
{
    const imgpar_dtype wide = bits == 31 ? IMGPAR_U64 : IMGPAR_U32; /* not every processor shifts 64 bits with a sign */
    const int k = bits + log2_above(d);
    ip_expr *m = argument(l, IMGPAR_U32, (int64_t)(((uint64_t)1 << k) / (uint64_t)d) + 1, 0, ldexp(1, bits + 1) - 1);
    ip_expr *factor = ip_x_cast(l->ir, wide, ip_x_cast(l->ir, IMGPAR_U32, x));
    ip_expr *product = ip_x_binary(l->ir, IP_X_MUL, factor, ip_x_cast(l->ir, wide, m));
    ip_expr *count = argument(l, wide, k, bits + 1, 2 * bits);
    return ip_x_cast(l->ir, IMGPAR_I32, ip_x_binary(l->ir, IP_X_SHR, product, count));
}

/* floor(x / d) in i32; x of 32 bits with a sign, d above 2 and no power of two. */
static ip_expr *wide_quotient(ip_lower *l, ip_expr *x, int64_t d)
{
    ip_expr *sign = NULL;
    x = ip_x_cast(l->ir, IMGPAR_I32, x);
    if (x->lo < 0) {
        sign = ip_x_binary(l->ir, IP_X_SHR, x, ip_x_int(l->ir, IMGPAR_I32, 31));
        x = ip_x_binary(l->ir, IP_X_XOR, x, sign);
    }
    ip_expr *q;
    if (x->hi > MOST_BY_FLOATS)
        q = product_quotient(l, x, d, 31);
    else if (x->hi > INT16_MAX || narrowing_inverse(x, d) > 0)
        q = float_quotient(l, x, d > MOST_BY_FLOATS ? MOST_BY_FLOATS + 1 : d);
    else
        q = product_quotient(l, x, d > INT16_MAX ? INT16_MAX + 1 : d, 15);
    return sign ? ip_x_binary(l->ir, IP_X_XOR, q, sign) : q;
}

/* x - q d, of which the range is told: 0 to d - 1. */
static ip_expr *rest(ip_lower *l, ip_expr *x, ip_expr *q, int64_t d, double most)
{
    ip_expr *multiple = ip_x_binary(l->ir, IP_X_MUL, q, argument(l, q->dtype, d, 1, most));
    ip_expr *r = ip_x_binary(l->ir, IP_X_SUB, ip_x_cast(l->ir, q->dtype, x), multiple);
    r = ip_x_binary(l->ir, IP_X_MIN, r, argument(l, q->dtype, d - 1, 0, most));
    return ip_x_binary(l->ir, IP_X_MAX, r, ip_x_int(l->ir, q->dtype, 0));
}

static ip_expr *by_power_of_two(ip_lower *l, ip_expr *x, int64_t d, bool modulo)
{
    const int bits = (int)ip_dtype(x->dtype)->size_bytes * 8;
    return modulo ? ip_x_binary(l->ir, IP_X_AND, x, ip_lower_whole(l, ip_x_int(l->ir, x->dtype, d - 1), IP_LEVEL_BITS))
                  : ip_x_binary(l->ir, IP_X_SHR, x, argument(l, x->dtype, log2_above(d), 0, bits - 1));
}

ip_expr *ip_lower_quotient(ip_lower *l, ip_expr *x, const ip_expr *divisor, bool modulo)
{
    const int64_t d = divisor->i;
    const double most = ip_lower_whole(l, ip_x_int(l->ir, divisor->dtype, d), IP_LEVEL_BITS)->hi;
    if (is_power_of_two(d)) return by_power_of_two(l, x, d, modulo);
    const bool are_bytes = x->lo >= 0 && x->hi <= UINT8_MAX && d > 0 && d <= UINT8_MAX;
    const bool fit = x->lo >= INT32_MIN && x->hi <= INT32_MAX && d > 0 && d <= INT32_MAX;
    if (!fit) {
        ip_expr *number = ip_x_int(l->ir, x->dtype, d);
        ip_expr *b = d > 0 ? ip_x_param_of(l->ir, number, 1, most) : ip_lower_whole(l, number, IP_LEVEL_BITS);
        return ip_x_binary(l->ir, modulo ? IP_X_MOD : IP_X_IDIV, x, b);
    }
    ip_expr *q = are_bytes ? byte_quotient(l, x, d) : wide_quotient(l, x, d);
    return ip_x_cast(l->ir, x->dtype, modulo ? rest(l, x, q, d, most) : q);
}

ip_expr *ip_lower_shift_count(ip_lower *l, const ip_expr *count)
{
    return argument(l, count->dtype, count->i, 0, (double)ip_dtype(count->dtype)->size_bytes * 8 - 1);
}
