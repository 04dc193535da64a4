/* SPDX-License-Identifier: MIT */
#include "ops/box_muller.h"

static ip_expr *binary(ip_ir *ir, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(ir, op, a, b); }
static ip_expr *u32(ip_ir *ir, uint32_t v) { return ip_x_int(ir, IMGPAR_U32, v); }
static ip_expr *f32(ip_ir *ir, double v) { return ip_x_float(ir, IMGPAR_F32, v); }
static ip_expr *as_f32(ip_ir *ir, ip_expr *x) { return ip_x_cast(ir, IMGPAR_F32, x); }
static ip_expr *mul(ip_ir *ir, ip_expr *a, ip_expr *b) { return binary(ir, IP_X_MUL, a, b); }

/* ((c[0] x + c[1]) x + ...) + c[n - 1] */
static ip_expr *polynomial(ip_ir *ir, ip_expr *x, const double *c, int n)
{
    ip_expr *sum = f32(ir, c[0]);
    for (int k = 1; k < n; k++)
        sum = ip_x_fma(ir, sum, x, f32(ir, c[k]));
    return sum;
}

/* A word shifted left until its highest bit is set, *shift telling how far, with the half that stands behind it. */
static ip_expr *normalised(ip_ir *ir, ip_expr *word, ip_expr **shift)
{
    *shift = u32(ir, 0);
    for (uint32_t step = 16; step; step /= 2) {
        ip_expr *is_small = binary(ir, IP_X_LT, word, u32(ir, 1u << (32 - step)));
        word = ip_x_select(ir, is_small, binary(ir, IP_X_SHL, word, u32(ir, step)), word);
        *shift = binary(ir, IP_X_ADD, *shift, ip_x_select(ir, is_small, u32(ir, step), u32(ir, 0)));
    }
    ip_expr *half = binary(ir, IP_X_SHR, binary(ir, IP_X_SHL, u32(ir, 1), *shift), u32(ir, 1));
    word = binary(ir, IP_X_OR, word, half);
    ip_expr *was_0 = binary(ir, IP_X_LT, word, u32(ir, 1u << 31)); /* nothing but the half is there, one bit lower */
    *shift = binary(ir, IP_X_ADD, *shift, ip_x_cast(ir, IMGPAR_U32, was_0));
    return ip_x_select(ir, was_0, u32(ir, 1u << 31), word);
}

/*
 * log((word + 1/2) / 2^32) = log(1 + t) + k log(2) with t from sqrt(1/2) - 1 to sqrt(2) - 1. t is exact to its own last
 * place, so what is near 0 is so, too. The polynomial is that of Cephes' logf (S. L. Moshier).
 */
ip_expr *ip_log_of_word(ip_ir *ir, ip_expr *word)
{
    static const double c[] = { 7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,  -1.2420140846e-1, 1.4249322787e-1,
                                -1.6668057665e-1, 2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1 };
    ip_expr *shift, *w = normalised(ir, word, &shift);
    ip_expr *is_upper = binary(ir, IP_X_LE, u32(ir, 0xB504F334u), w),
            *is_whole = binary(ir, IP_X_EQ, shift, u32(ir, 0));
    ip_expr *below_1 = as_f32(ir, ip_x_unary(ir, IP_X_NOT, w)); /* 2^32 - 1 - w: what is missing up to 1 */
    ip_expr *rest = ip_x_select(ir, is_whole, f32(ir, -0x1p-33), f32(ir, -0x1p-32));
    ip_expr *upper = ip_x_fma(ir, below_1, f32(ir, -0x1p-32), rest);
    ip_expr *lower = mul(ir, as_f32(ir, binary(ir, IP_X_SUB, w, u32(ir, 1u << 31))), f32(ir, 0x1p-31));
    ip_expr *t = ip_x_select(ir, is_upper, upper, lower);
    ip_expr *k = as_f32(ir, binary(ir, IP_X_ADD, shift, ip_x_cast(ir, IMGPAR_U32, ip_x_unary(ir, IP_X_NOT, is_upper))));
    ip_expr *square = mul(ir, t, t);
    ip_expr *tail = ip_x_fma(ir, mul(ir, square, t), polynomial(ir, t, c, 9), mul(ir, square, f32(ir, -0.5)));
    return ip_x_fma(ir, k, f32(ir, -0.69314718055994530942), binary(ir, IP_X_ADD, t, tail));
}

/* cos(2 pi word / 2^32), or sin: of what is beyond the next quarter of a turn, by Cephes' polynomials of cosf and
 * sinf. */
static ip_expr *turned(ip_ir *ir, ip_expr *word, ip_expr *is_sine)
{
    static const double of_sine[] = { -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1 };
    static const double of_cosine[] = { 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1 };
    ip_expr *quarter = binary(ir, IP_X_SHR, binary(ir, IP_X_ADD, word, u32(ir, 1u << 29)), u32(ir, 30));
    ip_expr *rest = ip_x_cast(ir, IMGPAR_I32, binary(ir, IP_X_SUB, word, binary(ir, IP_X_SHL, quarter, u32(ir, 30))));
    ip_expr *angle = mul(ir, as_f32(ir, rest), f32(ir, 6.28318530717958647693 * 0x1p-32)),
            *square = mul(ir, angle, angle);
    ip_expr *sine = ip_x_fma(ir, mul(ir, square, angle), polynomial(ir, square, of_sine, 3), angle);
    ip_expr *cosine = polynomial(ir, square, of_cosine, 5);
    /* sin(a) is cos(a) three quarters further on */
    quarter = binary(ir, IP_X_ADD, quarter, ip_x_select(ir, is_sine, u32(ir, 3), u32(ir, 0)));
    ip_expr *is_odd = binary(ir, IP_X_NE, binary(ir, IP_X_AND, quarter, u32(ir, 1)), u32(ir, 0));
    ip_expr *is_left =
        binary(ir, IP_X_NE, binary(ir, IP_X_AND, binary(ir, IP_X_ADD, quarter, u32(ir, 1)), u32(ir, 2)), u32(ir, 0));
    ip_expr *value = ip_x_select(ir, is_odd, sine, cosine);
    return ip_x_select(ir, is_left, ip_x_unary(ir, IP_X_NEG, value), value);
}

ip_expr *ip_box_muller(ip_ir *ir, ip_expr *first, ip_expr *second, ip_expr *is_sine)
{
    ip_expr *radius = ip_x_unary(ir, IP_X_SQRT, mul(ir, f32(ir, -2), ip_log_of_word(ir, first)));
    return mul(ir, radius, turned(ir, second, is_sine));
}
