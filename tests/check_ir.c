/* SPDX-License-Identifier: MIT */
/* The IR: every rewrite rule, ranges, hash-consing, index classification, and what the verifier refuses. */
#include "base/str.h"
#include "ir/index_map.h"
#include "ir/stage.h"
#include "ops/box_muller.h"
#include "asserts.h"

#include <math.h>
#include <stdlib.h>

static ip_ir *ir;

static void set_up(void) { ir = ip_ir_new(); }
static void tear_down(void)
{
    ck_assert(!ir->failed);
    ip_ir_free(ir);
}

static ip_expr *i32(int64_t v) { return ip_x_int(ir, IMGPAR_I32, v); }
static ip_expr *f32(double v) { return ip_x_float(ir, IMGPAR_F32, v); }
static ip_expr *any_i32(void) { return ip_x_param(ir, IMGPAR_I32, 7, -1e9, 1e9); }
static ip_expr *any_f32(void) { return ip_x_param(ir, IMGPAR_F32, 7, -INFINITY, INFINITY); }
static ip_expr *between(int64_t lo, int64_t hi)
{
    return ip_x_param(ir, IMGPAR_I32, (double)lo, (double)lo, (double)hi);
}
static ip_expr *bin(ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(ir, op, a, b); }
static ip_expr *un(ip_xop op, ip_expr *a) { return ip_x_unary(ir, op, a); }

START_TEST(equal_expressions_are_one_pointer)
{
    ip_expr *x = ip_x_coord(ir, 2, 100);
    ck_assert_ptr_eq(bin(IP_X_MUL, x, x), bin(IP_X_MUL, x, x));
    ck_assert_ptr_ne(any_i32(), any_i32()); /* arguments of a kernel never merge */
    ck_assert_ptr_ne(f32(0.0), f32(-0.0));
}
END_TEST

START_TEST(constants_fold_as_a_device_computes)
{
    ck_assert_int_eq(bin(IP_X_ADD, i32(INT32_MAX), i32(1))->i, INT32_MIN);
    ck_assert_int_eq(bin(IP_X_MUL, ip_x_int(ir, IMGPAR_U8, 20), ip_x_int(ir, IMGPAR_U8, 20))->i, 400 - 256);
    ck_assert_int_eq(bin(IP_X_IDIV, i32(-7), i32(2))->i, -4);
    ck_assert_int_eq(bin(IP_X_MOD, i32(-7), i32(2))->i, 1);
    ck_assert_int_eq(bin(IP_X_IDIV, i32(5), i32(0))->i, 0);
    ck_assert_int_eq(bin(IP_X_MOD, i32(5), i32(0))->i, 0);
    ck_assert_double_eq(bin(IP_X_ADD, f32(16777216), f32(1))->f, 16777216);
    ck_assert_double_eq(un(IP_X_RINT, f32(2.5))->f, 2);
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_U8, f32(254.5))->i, 254);
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_U8, f32(NAN))->i, 0);
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_I8, i32(1000))->i, 127);
    ck_assert_int_eq(ip_x_cast(ir, IMGPAR_U8, i32(257))->i, 1);
    ck_assert_int_eq(bin(IP_X_LT, i32(1), i32(2))->i, 1);
}
END_TEST

START_TEST(integer_rules_hold)
{
    ip_expr *x = any_i32();
    ck_assert_ptr_eq(bin(IP_X_ADD, x, i32(0)), x);
    ck_assert_ptr_eq(bin(IP_X_ADD, i32(0), x), x);
    ck_assert_ptr_eq(bin(IP_X_ADD, bin(IP_X_ADD, x, i32(2)), i32(3)), bin(IP_X_ADD, x, i32(5)));
    ck_assert_ptr_eq(bin(IP_X_SUB, bin(IP_X_ADD, x, i32(2)), i32(2)), x);
    ck_assert_ptr_eq(bin(IP_X_SUB, x, i32(0)), x);
    ck_assert_int_eq(bin(IP_X_SUB, x, x)->i, 0);
    ck_assert_ptr_eq(bin(IP_X_MUL, x, i32(1)), x);
    ck_assert_int_eq(bin(IP_X_MUL, x, i32(0))->i, 0);
    ck_assert_ptr_eq(bin(IP_X_IDIV, x, i32(1)), x);
    ck_assert_ptr_eq(un(IP_X_NEG, un(IP_X_NEG, x)), x);
    ck_assert_ptr_eq(un(IP_X_NOT, un(IP_X_NOT, x)), x);
    ip_expr *digit = between(0, 9);
    ck_assert_ptr_eq(un(IP_X_ABS, digit), digit);
    ck_assert_ptr_eq(bin(IP_X_MIN, x, x), x);
}
END_TEST

START_TEST(ranges_decide_comparisons_and_choices)
{
    ip_expr *low = between(0, 9), *high = between(10, 20);
    ck_assert_ptr_eq(bin(IP_X_MIN, low, high), low);
    ck_assert_ptr_eq(bin(IP_X_MAX, low, high), high);
    ck_assert_int_eq(bin(IP_X_LT, low, high)->i, 1);
    ck_assert_int_eq(bin(IP_X_LT, high, low)->i, 0);
    ck_assert_int_eq(bin(IP_X_LE, low, high)->i, 1);
    ck_assert_int_eq(bin(IP_X_LT, between(0, 10), high)->op, IP_X_LT);
    ck_assert_int_eq(bin(IP_X_EQ, low, high)->i, 0);
    ck_assert_int_eq(bin(IP_X_NE, high, low)->i, 1);
    ck_assert_int_eq(bin(IP_X_EQ, between(0, 10), high)->op, IP_X_EQ);
}
END_TEST

START_TEST(digits_are_told_apart_without_dividing)
{
    ip_expr *a = between(0, 1000), *y = between(0, 2), *three = i32(3);
    ip_expr *both = bin(IP_X_ADD, bin(IP_X_MUL, a, three), y);
    ck_assert_ptr_eq(bin(IP_X_IDIV, both, three), a);
    ck_assert_ptr_eq(bin(IP_X_MOD, both, three), y);
    ck_assert_ptr_eq(bin(IP_X_MOD, bin(IP_X_ADD, y, bin(IP_X_MUL, a, three)), three), y);
    ck_assert_int_eq(bin(IP_X_MOD, bin(IP_X_MUL, a, three), three)->i, 0);
    ck_assert_ptr_eq(bin(IP_X_MOD, y, three), y);
    ck_assert_int_eq(bin(IP_X_IDIV, y, three)->i, 0);
    ip_expr *wide = bin(IP_X_ADD, bin(IP_X_MUL, between(0, 1000000000), three), y); /* wraps */
    ck_assert_int_eq(bin(IP_X_IDIV, wide, three)->op, IP_X_IDIV);
    ck_assert_int_eq(bin(IP_X_MOD, bin(IP_X_ADD, bin(IP_X_MUL, a, three), between(0, 3)), three)->op, IP_X_MOD);
    ck_assert_int_eq(bin(IP_X_MOD, between(-1, 2), three)->op, IP_X_MOD);
}
END_TEST

START_TEST(digits_are_put_together_again)
{
    ip_expr *c = ip_x_coord(ir, 3, 6), *two = i32(2), *three = i32(3);
    ip_expr *high = bin(IP_X_MUL, bin(IP_X_IDIV, c, two), two), *low = bin(IP_X_MOD, c, two);
    ck_assert_ptr_eq(bin(IP_X_ADD, high, low), c);
    ck_assert_ptr_eq(bin(IP_X_ADD, low, high), c);
    ck_assert_int_eq(bin(IP_X_ADD, high, bin(IP_X_MOD, c, three))->op, IP_X_ADD);
}
END_TEST

static ip_expr *put_coords(ip_ir *in, ip_expr *x, void *user)
{
    ip_expr *const *at = user;
    (void)in;
    return x->op == IP_X_COORD ? at[x->axis] : x;
}

START_TEST(what_was_put_in_is_not_replaced_again)
{
    ip_expr *c = ip_x_coord(ir, 3, 6), *y = ip_x_coord(ir, 1, 100), *x = ip_x_coord(ir, 2, 100), *two = i32(2);
    ip_expr *at[4] = { i32(0), x, y, bin(IP_X_ADD, bin(IP_X_MUL, y, two), bin(IP_X_MOD, c, two)) };
    ck_assert_ptr_eq(ip_x_map(ir, bin(IP_X_IDIV, c, two), put_coords, at), y); /* (2 y + c mod 2) div 2 */
    ck_assert_ptr_eq(ip_x_map(ir, y, put_coords, at), x);
}
END_TEST

START_TEST(float_rules_keep_nan_and_signed_zero)
{
    ip_expr *x = any_f32();
    ck_assert_ptr_ne(bin(IP_X_ADD, x, f32(0)), x); /* -0 + 0 is +0 */
    ck_assert_ptr_eq(bin(IP_X_SUB, x, f32(0)), x);
    ck_assert_ptr_eq(bin(IP_X_MUL, x, f32(1)), x);
    ck_assert_int_eq(bin(IP_X_MUL, x, f32(0))->op, IP_X_MUL); /* inf * 0 */
    ck_assert_int_eq(bin(IP_X_SUB, x, x)->op, IP_X_SUB);
    ck_assert_ptr_eq(bin(IP_X_DIV, x, f32(1)), x);
    ck_assert_int_eq(bin(IP_X_LT, x, x)->op, IP_X_LT);
}
END_TEST

START_TEST(logic_and_select_rules_hold)
{
    ip_expr *t = ip_x_int(ir, IMGPAR_BOOL, 1), *f = ip_x_int(ir, IMGPAR_BOOL, 0);
    ip_expr *c = bin(IP_X_LT, any_i32(), any_i32()), *x = any_i32(), *y = any_i32();
    ck_assert_ptr_eq(bin(IP_X_AND, c, t), c);
    ck_assert_ptr_eq(bin(IP_X_AND, c, f), f);
    ck_assert_ptr_eq(bin(IP_X_OR, c, f), c);
    ck_assert_ptr_eq(bin(IP_X_OR, c, t), t);
    ck_assert_ptr_eq(ip_x_select(ir, t, x, y), x);
    ck_assert_ptr_eq(ip_x_select(ir, f, x, y), y);
    ck_assert_ptr_eq(ip_x_select(ir, c, x, x), x);
}
END_TEST

/* What an expression of constants gives; 32-bit integers, floats and conditions. */
static double value_of(const ip_expr *x)
{
    if (x->op == IP_X_CONST) return x->dtype == IMGPAR_F32 ? x->f : (double)x->i;
    if (x->op == IP_X_SELECT) return value_of(value_of(x->arg[0]) != 0 ? x->arg[1] : x->arg[2]);
    double v[3] = { 0 }, r = 0;
    for (int k = 0; k < x->n_args && k < 3; k++)
        v[k] = value_of(x->arg[k]);
    uint32_t a = (uint32_t)(int64_t)v[0], b = (uint32_t)(int64_t)v[1];
    switch (x->op) {
    case IP_X_ADD: r = v[0] + v[1]; break;
    case IP_X_SUB: r = v[0] - v[1]; break;
    case IP_X_MUL: r = v[0] * v[1]; break;
    case IP_X_FMA: r = (double)fmaf((float)v[0], (float)v[1], (float)v[2]); break;
    case IP_X_NEG: r = -v[0]; break;
    case IP_X_SQRT: r = (double)sqrtf((float)v[0]); break;
    case IP_X_AND: r = a & b; break;
    case IP_X_OR: r = a | b; break;
    case IP_X_SHL: r = a << (b & 31); break;
    case IP_X_SHR: r = a >> (b & 31); break;
    case IP_X_NOT: r = x->dtype == IMGPAR_BOOL ? !a : UINT32_MAX - a; break;
    case IP_X_LT: r = v[0] < v[1]; break;
    case IP_X_LE: r = v[0] <= v[1]; break;
    case IP_X_EQ: r = v[0] == v[1]; break;
    case IP_X_NE: r = v[0] != v[1]; break;
    case IP_X_CAST: r = v[0]; break;
    default: ck_abort_msg("operation %d", (int)x->op);
    }
    if (x->dtype == IMGPAR_F32) return (double)(float)r;
    return x->dtype == IMGPAR_I32 ? (double)(int32_t)(uint32_t)(int64_t)r : (double)(uint32_t)(int64_t)r;
}

START_TEST(normal_numbers_are_right_at_the_ends_of_the_words)
{
    static const uint32_t words[] = { 0,          1,          2,          3,          255,        65535,
                                      65536,      0x3FFFFFFF, 0x40000000, 0x5A82799A, 0x7FFFFFFF, 0x80000000,
                                      0x80000001, 0xB504F333, 0xB504F334, 0xC0000000, 0xDFFFFFFF, 0xE0000000,
                                      0xFFFF0000, 0xFFFFFF00, 0xFFFFFFFE, 0xFFFFFFFF };
    enum { N = sizeof words / sizeof *words };
    const long double turn = 2 * acosl(-1);
    for (int k = 0; k < N * N * 2; k++) {
        uint32_t first = words[k / 2 / N], second = words[k / 2 % N];
        long double radius = sqrtl(-2 * logl(((long double)first + 0.5L) / 0x1p32L)),
                    angle = turn * (long double)second / 0x1p32L;
        long double want = radius * (k % 2 ? sinl(angle) : cosl(angle));
        ip_expr *x = ip_box_muller(ir, ip_x_int(ir, IMGPAR_U32, first), ip_x_int(ir, IMGPAR_U32, second),
                                   ip_x_int(ir, IMGPAR_BOOL, k % 2));
        ck_assert_msg(fabsl((long double)value_of(x) - want) <= 0x1p-18L, "%u %u %d: %.9g, not %.9Lg", first, second,
                      k % 2, value_of(x), want);
    }
}
END_TEST

START_TEST(conversion_rules_hold)
{
    ip_expr *byte = ip_x_param(ir, IMGPAR_U8, 7, 0, 255);
    ip_expr *wide = ip_x_cast(ir, IMGPAR_I32, byte);
    ck_assert_ptr_eq(ip_x_cast(ir, IMGPAR_U8, wide), byte);
    ck_assert_ptr_eq(ip_x_cast(ir, IMGPAR_F32, wide), ip_x_cast(ir, IMGPAR_F32, byte));
    ck_assert_ptr_eq(ip_x_saturate(ir, IMGPAR_U8, wide), byte);
    ck_assert_ptr_eq(ip_x_saturate(ir, IMGPAR_U8, ip_x_cast(ir, IMGPAR_F32, byte)), byte);
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_U8, any_i32())->op, IP_X_SATURATE);
    ck_assert_ptr_eq(un(IP_X_RINT, ip_x_cast(ir, IMGPAR_F32, byte)), ip_x_cast(ir, IMGPAR_F32, byte));
    ip_expr *half = bin(IP_X_MUL, ip_x_cast(ir, IMGPAR_F32, byte), f32(0.5)), *whole = un(IP_X_FLOOR, half);
    ck_assert_ptr_eq(ip_x_saturate(ir, IMGPAR_U8, whole), ip_x_cast(ir, IMGPAR_U8, half));
    ck_assert_ptr_eq(ip_x_saturate(ir, IMGPAR_U8, un(IP_X_TRUNC, half)), ip_x_cast(ir, IMGPAR_U8, half));
    ip_expr *up = un(IP_X_CEIL, half), *twice = bin(IP_X_MUL, ip_x_cast(ir, IMGPAR_F32, byte), f32(2.5));
    ck_assert_ptr_eq(ip_x_saturate(ir, IMGPAR_U8, up), ip_x_cast(ir, IMGPAR_U8, up));
    ip_expr *held = ip_x_saturate(ir, IMGPAR_U8, un(IP_X_FLOOR, twice)), *most = bin(IP_X_MIN, twice, f32(255));
    ck_assert_ptr_eq(held, ip_x_cast(ir, IMGPAR_U8, most));
    ip_expr *below = bin(IP_X_SUB, half, f32(1)); /* floors and truncates differ */
    ck_assert_ptr_eq(ip_x_saturate(ir, IMGPAR_I32, un(IP_X_FLOOR, below)),
                     ip_x_cast(ir, IMGPAR_I32, un(IP_X_FLOOR, below)));
    ck_assert_ptr_eq(ip_x_saturate(ir, IMGPAR_I32, un(IP_X_TRUNC, below)), ip_x_cast(ir, IMGPAR_I32, below));
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_U8, un(IP_X_TRUNC, below))->op, IP_X_SATURATE);
    ip_expr *large = ip_x_param(ir, IMGPAR_F32, 1, 0, 1e20);
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_I32, un(IP_X_FLOOR, large))->op, IP_X_SATURATE);
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_U8, half)->op, IP_X_SATURATE);
    ck_assert_int_eq(ip_x_saturate(ir, IMGPAR_U8, un(IP_X_FLOOR, any_f32()))->op, IP_X_SATURATE);
}
END_TEST

START_TEST(ranges_are_sound)
{
    ip_expr *byte = ip_x_cast(ir, IMGPAR_I32, ip_x_param(ir, IMGPAR_U8, 7, 0, 255));
    ip_expr *nine = bin(IP_X_MUL, byte, i32(9));
    ck_assert_double_eq(nine->hi, 2295);
    ck_assert_double_eq(bin(IP_X_IDIV, bin(IP_X_ADD, nine, i32(4)), i32(9))->hi, 255);
    ck_assert_double_eq(bin(IP_X_SUB, byte, i32(300))->lo, -300);
    ip_expr *wraps = bin(IP_X_MUL, any_i32(), any_i32());
    ck_assert_double_eq(wraps->lo, INT32_MIN);
    ip_expr *f = ip_x_cast(ir, IMGPAR_F32, byte);
    ck_assert(ip_x_fma(ir, f, f32(0.5), f32(1))->hi >= 128.5);
    ck_assert(isinf(bin(IP_X_ADD, any_f32(), f)->hi));
    ip_expr *held = bin(IP_X_MIN, bin(IP_X_MAX, any_f32(), f32(-3)), f32(255.5)); /* a NaN becomes -3 */
    ck_assert_double_eq(held->lo, -3);
    ck_assert_double_eq(un(IP_X_FLOOR, held)->hi, 255);
    ck_assert(isinf(bin(IP_X_MIN, any_f32(), any_f32())->lo));
    ip_expr *tenth = ip_x_param(ir, IMGPAR_F64, 0.5, 0, 255.99999999999997);
    ck_assert(ip_x_cast(ir, IMGPAR_F32, tenth)->hi >= 256); /* rounded up */
    ip_expr *mean = bin(IP_X_MEAN, ip_x_int(ir, IMGPAR_U8, 254), ip_x_int(ir, IMGPAR_U8, 255));
    ck_assert_int_eq(mean->i, 255);
}
END_TEST

static bool admits(double lo, double hi, double v) { return isnan(v) ? isinf(lo) || isinf(hi) : lo <= v && v <= hi; }

/* What the operation gives, in f32. */
static float special_of(ip_xop op, float a, float b)
{
    switch (op) {
    case IP_X_ADD: return a + b;
    case IP_X_SUB: return a - b;
    case IP_X_MUL: return a * b;
    case IP_X_DIV: return a / b;
    case IP_X_MIN: return fminf(a, b);
    case IP_X_MAX: return fmaxf(a, b);
    case IP_X_NEG: return -a;
    case IP_X_ABS: return fabsf(a);
    case IP_X_FLOOR: return floorf(a);
    case IP_X_CEIL: return ceilf(a);
    case IP_X_RINT: return rintf(a);
    case IP_X_TRUNC: return truncf(a);
    default: return sqrtf(a);
    }
}

/* Values that are special among floats, in ranges that admit them: an infinite one admits NaN. */
START_TEST(ranges_admit_what_special_values_give)
{
    static const float values[] = { NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 0.25f, 1, -1.5f, 300, -1e30f };
    static const double ranges[][2] = {
        { -INFINITY, INFINITY }, { 0, INFINITY }, { 1, INFINITY }, { -INFINITY, -1 }, { 0, 2 },
        { 0.25, 300 },           { -2e30, 1 }
    };
    static const ip_xop ops[] = { IP_X_ADD, IP_X_SUB,  IP_X_MUL,   IP_X_DIV,  IP_X_MIN,   IP_X_MAX, IP_X_NEG,
                                  IP_X_ABS, IP_X_CEIL, IP_X_FLOOR, IP_X_RINT, IP_X_TRUNC, IP_X_SQRT };
    enum { N = sizeof values / sizeof *values, N_RANGES = sizeof ranges / sizeof *ranges, N_PAIRS = 6 };
    for (int k = 0; k < N * N * N_RANGES * N_RANGES; k++) {
        const float a = values[k % N], b = values[k / N % N];
        const double *in_a = ranges[k / N / N % N_RANGES], *in_b = ranges[k / N / N / N_RANGES];
        if (!admits(in_a[0], in_a[1], a) || !admits(in_b[0], in_b[1], b)) continue;
        ip_expr *x = ip_x_param(ir, IMGPAR_F32, 7, in_a[0], in_a[1]),
                *y = ip_x_param(ir, IMGPAR_F32, 7, in_b[0], in_b[1]);
        for (int i = 0; i < (int)(sizeof ops / sizeof *ops); i++) {
            const ip_expr *r = i < N_PAIRS ? bin(ops[i], x, y) : un(ops[i], x);
            ck_assert_msg(admits(r->lo, r->hi, special_of(ops[i], a, b)),
                          "%s of %g in [%g, %g] and %g in [%g, %g]: %g, not in [%g, %g]", ip_xop_name(ops[i]), a,
                          in_a[0], in_a[1], b, in_b[0], in_b[1], special_of(ops[i], a, b), r->lo, r->hi);
        }
    }
}
END_TEST

START_TEST(what_is_inside_by_its_range_has_no_border)
{
    ip_stage *table = ip_stage_new(ir, IP_STAGE_SOURCE, IMGPAR_U8, (int64_t[]){ 1, 1, 256, 1 }, NULL);
    ip_expr *zero = i32(0), *at[4] = { zero, zero, between(0, 255), zero }, *beyond[4] = { zero, zero, NULL, zero };
    ip_expr *outside = ip_x_int(ir, IMGPAR_U8, 7);
    ck_assert_int_eq(ip_x_load(ir, table, at, IMGPAR_BORDER_REPLICATE, NULL)->border, IP_BORDER_NONE);
    ck_assert_int_eq(ip_x_load(ir, table, at, IMGPAR_BORDER_CONSTANT, outside)->n_args, 4);
    beyond[2] = between(0, 256);
    ck_assert_int_eq(ip_x_load(ir, table, beyond, IMGPAR_BORDER_REPLICATE, NULL)->border, IMGPAR_BORDER_REPLICATE);
    beyond[2] = between(-1, 255);
    ck_assert_int_eq(ip_x_load(ir, table, beyond, IMGPAR_BORDER_CONSTANT, outside)->n_args, 5);
}
END_TEST

START_TEST(indices_are_classified)
{
    ip_expr *x = ip_x_coord(ir, 2, 100);
    ip_index unit = ip_x_classify(bin(IP_X_ADD, x, i32(-3)));
    ck_assert_int_eq(unit.kind, IP_INDEX_UNIT);
    ck_assert_int_eq(unit.axis, 2);
    ck_assert_int_eq(unit.lo, -3);
    ck_assert_int_eq(unit.hi, -3);
    ck_assert_int_eq(ip_x_classify(i32(4)).kind, IP_INDEX_FIXED);
    ck_assert_int_eq(ip_x_classify(bin(IP_X_MUL, x, i32(2))).kind, IP_INDEX_OTHER);
    ck_assert_int_eq(ip_x_classify(bin(IP_X_ADD, x, any_i32())).kind, IP_INDEX_OTHER);
}
END_TEST

static ip_expr *tap(ip_ir *r, ip_expr *ty, ip_expr *tx, void *user)
{
    (void)user, (void)ty;
    return ip_x_cast(r, IMGPAR_F32, tx);
}

START_TEST(large_windows_stay_loops)
{
    ck_assert_int_eq(ip_x_window(ir, IP_FOLD_SUM, 1, 4, tap, NULL, NULL)->op, IP_X_CONST); /* 0 + 1 + 2 + 3 */
    ip_expr *w = ip_x_window(ir, IP_FOLD_SUM, 3, IP_UNROLLED_TAPS, tap, NULL, NULL);
    ck_assert_int_eq(w->op, IP_X_WINDOW);
    ck_assert_int_eq(w->taps_y, 3);
    ck_assert_int_eq(w->uses & IP_USES_TAP, 0); /* bound inside */
}
END_TEST

START_TEST(the_verifier_refuses_what_is_illegal)
{
    const int64_t dims[4] = { 1, 4, 4, 1 };
    ip_error err = { IMGPAR_OK, "" };
    ip_stage *s = ip_stage_new(ir, IP_STAGE_MAP, IMGPAR_U8, dims, NULL);
    s->body = i32(1);
    ck_assert_int_eq(ip_ir_verify(ir, &err), IMGPAR_E_INTERNAL);
    s->body = ip_x_int(ir, IMGPAR_U8, 1);
    err.status = IMGPAR_OK;
    ck_assert_int_eq(ip_ir_verify(ir, &err), IMGPAR_OK);
    ip_expr *at[4] = { i32(0), i32(0), i32(0), i32(0) };
    s->body = ip_x_load(ir, s, at, IP_BORDER_NONE, NULL);
    ck_assert_int_eq(ip_ir_verify(ir, &err), IMGPAR_E_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "reads a later stage"));
}
END_TEST

START_TEST(the_dump_names_every_expression_once)
{
    const int64_t dims[4] = { 1, 4, 4, 1 };
    ip_stage *s = ip_stage_new(ir, IP_STAGE_MAP, IMGPAR_I32, dims, NULL);
    ip_expr *x = ip_x_coord(ir, 2, 4);
    s->body = bin(IP_X_MUL, x, x);
    ip_str out = IP_STR_INIT;
    ip_ir_print(ir, &out);
    ck_assert_ptr_nonnull(strstr(out.text, "mul.i32"));
    ck_assert_ptr_nonnull(strstr(out.text, "coord.i32 x"));
    ip_str_free(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ir");
    TCase *tc = tcase_create("ir");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, equal_expressions_are_one_pointer);
    tcase_add_test(tc, constants_fold_as_a_device_computes);
    tcase_add_test(tc, integer_rules_hold);
    tcase_add_test(tc, digits_are_told_apart_without_dividing);
    tcase_add_test(tc, ranges_decide_comparisons_and_choices);
    tcase_add_test(tc, float_rules_keep_nan_and_signed_zero);
    tcase_add_test(tc, logic_and_select_rules_hold);
    tcase_add_test(tc, normal_numbers_are_right_at_the_ends_of_the_words);
    tcase_add_test(tc, conversion_rules_hold);
    tcase_add_test(tc, ranges_are_sound);
    tcase_add_test(tc, ranges_admit_what_special_values_give);
    tcase_add_test(tc, digits_are_put_together_again);
    tcase_add_test(tc, what_was_put_in_is_not_replaced_again);
    tcase_add_test(tc, what_is_inside_by_its_range_has_no_border);
    tcase_add_test(tc, indices_are_classified);
    tcase_add_test(tc, large_windows_stay_loops);
    tcase_add_test(tc, the_verifier_refuses_what_is_illegal);
    tcase_add_test(tc, the_dump_names_every_expression_once);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
