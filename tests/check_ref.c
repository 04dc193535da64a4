/* SPDX-License-Identifier: MIT */
/*
 * The reference interpreter against values worked out here: integers in 128 bits, floats by the C operation written
 * out, windows and borders by walking. Stages are made with the builders of src/ir; operands are loads, since
 * constants would be folded before the interpreter sees them.
 *
 * One file, though long: all tests are made on the same bench, and each is a page.
 */
#include "run/ref.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "asserts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { MAX_STAGES = 16 };

typedef struct bench {
    ip_ir *ir;
    void *memory[MAX_STAGES];
} bench;

static void set_up(bench *b)
{
    *b = (bench){ .ir = ip_ir_new() };
    ck_assert_ptr_nonnull(b->ir);
}

static void tear_down(bench *b)
{
    for (int k = 0; k < b->ir->n_stages; k++)
        if (b->ir->stages[k]->kind != IP_STAGE_SOURCE) ip_free(b->memory[k]);
    ip_ir_free(b->ir);
}

/* A source of d x h x w x c elements at data, which is borrowed. */
static ip_stage *source(bench *b, imgpar_dtype dtype, int64_t d, int64_t h, int64_t w, int64_t c, const void *data)
{
    const int64_t dims[4] = { d, h, w, c };
    ip_stage *s = ip_stage_new(b->ir, IP_STAGE_SOURCE, dtype, dims, NULL);
    ck_assert_ptr_nonnull(s);
    b->memory[s->id] = (void *)data;
    return s;
}

static ip_stage *map_as(bench *b, imgpar_dtype dtype, const int64_t dims[4], ip_expr *body)
{
    ip_stage *s = ip_stage_new(b->ir, IP_STAGE_MAP, dtype, dims, NULL);
    ck_assert_ptr_nonnull(s);
    s->body = body;
    s->is_output = true;
    return s;
}

static ip_stage *map(bench *b, const int64_t dims[4], ip_expr *body) { return map_as(b, body->dtype, dims, body); }

static void run(bench *b)
{
    ip_error err = { .status = IMGPAR_OK };
    imgpar_status st = ip_ir_verify(b->ir, &err);
    ck_assert_msg(st == IMGPAR_OK, "verify: %s", err.message);
    st = ip_ref_run(b->ir, b->memory, UINT64_MAX, NULL, &err);
    ck_assert_msg(st == IMGPAR_OK, "run: %s", err.message);
}

static ip_expr *coord(bench *b, const ip_stage *s, int axis) { return ip_x_coord(b->ir, axis, s->dims[axis]); }
static ip_expr *i32(bench *b, int64_t value) { return ip_x_int(b->ir, IMGPAR_I32, value); }

/* s at the element's own place, moved by dy and dx. */
static ip_expr *at(bench *b, ip_stage *s, ip_expr *dy, ip_expr *dx, int border, ip_expr *outside)
{
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = coord(b, s, k);
    if (dy) index[1] = ip_x_binary(b->ir, IP_X_ADD, index[1], dy);
    if (dx) index[2] = ip_x_binary(b->ir, IP_X_ADD, index[2], dx);
    return ip_x_load(b->ir, s, index, border, outside);
}

static ip_expr *here(bench *b, ip_stage *s) { return at(b, s, NULL, NULL, IP_BORDER_NONE, NULL); }

static bool is_integer(imgpar_dtype dtype) { return !ip_dtype(dtype)->is_float; }

/* An integer element as a 128-bit number, and back with wrapping. */
static wide get(imgpar_dtype dtype, const void *data, int k)
{
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: return ((const uint8_t *)data)[k];
    case IMGPAR_I8: return ((const int8_t *)data)[k];
    case IMGPAR_U16: return ((const uint16_t *)data)[k];
    case IMGPAR_I16: return ((const int16_t *)data)[k];
    case IMGPAR_U32: return ((const uint32_t *)data)[k];
    case IMGPAR_I32: return ((const int32_t *)data)[k];
    case IMGPAR_U64: return ((const uint64_t *)data)[k];
    default: return ((const int64_t *)data)[k];
    }
}

static wide lowest(imgpar_dtype dtype)
{
    if (!ip_dtype(dtype)->is_signed) return 0;
    return -((wide)1 << (ip_dtype(dtype)->size_bytes * 8 - 1));
}

static wide highest(imgpar_dtype dtype)
{
    if (dtype == IMGPAR_BOOL) return 1;
    return lowest(dtype) + (((wide)1 << (ip_dtype(dtype)->size_bytes * 8)) - 1);
}

static wide wrapped(imgpar_dtype dtype, wide v)
{
    if (dtype == IMGPAR_BOOL) return v != 0;
    wide n = (wide)1 << (ip_dtype(dtype)->size_bytes * 8), low = lowest(dtype);
    return ((v - low) % n + n) % n + low;
}

static void put(imgpar_dtype dtype, void *data, int k, wide v)
{
    size_t size = ip_dtype(dtype)->size_bytes;
    uint64_t bits = (uint64_t)v; /* little-endian */
    memcpy((char *)data + (size_t)k * size, &bits, size);
}

/* ---- integers --------------------------------------------------------------------------------- */

enum { N_EDGES = 12, N_PAIRS = N_EDGES * N_EDGES };

/* Values at and near the ends of a dtype; all pairs of them in a and b. */
static void edge_pairs(imgpar_dtype dtype, uint64_t *a, uint64_t *b)
{
    wide low = lowest(dtype), high = highest(dtype);
    wide edges[N_EDGES] = { low, low + 1, high, high - 1, 0, 1, 2, 3, 7, -1, -2, -5 };
    for (int i = 0; i < N_PAIRS; i++) {
        put(dtype, a, i, wrapped(dtype, edges[i / N_EDGES]));
        put(dtype, b, i, wrapped(dtype, edges[i % N_EDGES]));
    }
}

static wide floor_quotient(wide a, wide b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static wide expected_power(imgpar_dtype dtype, wide a, wide b)
{
    wide r = 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    wide base = wrapped(dtype, a);
    for (wide e = b; e > 0; e /= 2) { /* 128-bit products of 64-bit numbers */
        if (e % 2) r = wrapped(dtype, wrapped(IMGPAR_I64, r) * wrapped(IMGPAR_I64, base));
        base = wrapped(dtype, wrapped(IMGPAR_I64, base) * wrapped(IMGPAR_I64, base));
    }
    return r;
}

static wide expected_binary(ip_xop op, imgpar_dtype dtype, wide a, wide b)
{
    int width = (int)ip_dtype(dtype)->size_bytes * 8, count = (int)(((b % width) + width) % width);
    switch (op) {
    case IP_X_ADD: return a + b;
    case IP_X_SUB: return a - b;
    case IP_X_MUL: return wrapped(IMGPAR_I64, a) * wrapped(IMGPAR_I64, b);
    case IP_X_IDIV: return floor_quotient(a, b);
    case IP_X_MOD: return b == 0 ? 0 : a - floor_quotient(a, b) * b;
    case IP_X_MIN: return a < b ? a : b;
    case IP_X_MAX: return a > b ? a : b;
    case IP_X_AND: return a & b;
    case IP_X_OR: return a | b;
    case IP_X_XOR: return a ^ b;
    case IP_X_MEAN: return floor_quotient(a + b + 1, 2);
    case IP_X_SHL: return wrapped(IMGPAR_I64, a) * ((wide)1 << count);
    case IP_X_SHR: return a >= 0 ? a >> count : -((-a - 1) >> count) - 1;
    case IP_X_LT: return a < b;
    case IP_X_LE: return a <= b;
    case IP_X_EQ: return a == b;
    case IP_X_NE: return a != b;
    default: return expected_power(dtype, a, b);
    }
}

static const ip_xop int_binaries[] = {
    IP_X_ADD, IP_X_SUB,  IP_X_MUL, IP_X_IDIV, IP_X_MOD, IP_X_MIN, IP_X_MAX, IP_X_AND, IP_X_OR,
    IP_X_XOR, IP_X_MEAN, IP_X_SHL, IP_X_SHR,  IP_X_POW, IP_X_LT,  IP_X_LE,  IP_X_EQ,  IP_X_NE,
};

START_TEST(integer_operations_wrap_in_their_dtype)
{
    imgpar_dtype dtype = (imgpar_dtype)_i;
    if (!is_integer(dtype)) return;
    uint64_t a[N_PAIRS] = { 0 }, b[N_PAIRS] = { 0 };
    edge_pairs(dtype, a, b);
    for (size_t k = 0; k < sizeof int_binaries / sizeof *int_binaries; k++) {
        bench t;
        set_up(&t);
        ip_stage *sa = source(&t, dtype, 1, 1, N_PAIRS, 1, a), *sb = source(&t, dtype, 1, 1, N_PAIRS, 1, b);
        ip_stage *r = map(&t, sa->dims, ip_x_binary(t.ir, int_binaries[k], here(&t, sa), here(&t, sb)));
        run(&t);
        for (int i = 0; i < N_PAIRS; i++) {
            wide x = get(dtype, a, i), y = get(dtype, b, i);
            wide expected = wrapped(r->dtype, expected_binary(int_binaries[k], dtype, x, y));
            ck_assert_msg(get(r->dtype, t.memory[r->id], i) == expected, "%s %s %lld %lld: %lld instead of %lld",
                          ip_xop_name(int_binaries[k]), ip_dtype(dtype)->name, (long long)x, (long long)y,
                          (long long)get(r->dtype, t.memory[r->id], i), (long long)expected);
        }
        tear_down(&t);
    }
}
END_TEST

START_TEST(integer_functions_of_one_argument)
{
    imgpar_dtype dtype = (imgpar_dtype)_i;
    if (!is_integer(dtype)) return;
    static const ip_xop ops[] = { IP_X_NEG, IP_X_ABS, IP_X_NOT };
    uint64_t a[N_PAIRS] = { 0 }, b[N_PAIRS] = { 0 };
    edge_pairs(dtype, a, b);
    for (int k = 0; k < 3; k++) {
        bench t;
        set_up(&t);
        ip_stage *s = source(&t, dtype, 1, 1, N_PAIRS, 1, a);
        ip_stage *r = map(&t, s->dims, ip_x_unary(t.ir, ops[k], here(&t, s)));
        run(&t);
        for (int i = 0; i < N_PAIRS; i++) {
            wide x = get(dtype, a, i);
            wide expected = ops[k] == IP_X_NEG ? -x : ops[k] == IP_X_ABS ? (x < 0 ? -x : x) : -x - 1;
            if (ops[k] == IP_X_NOT && dtype == IMGPAR_BOOL) expected = !x;
            ck_assert(get(dtype, t.memory[r->id], i) == wrapped(dtype, expected));
        }
        tear_down(&t);
    }
}
END_TEST

/* ---- floats ------------------------------------------------------------------------------------- */

enum { N_FLOATS = 16, N_FLOAT_PAIRS = N_FLOATS * N_FLOATS };
static const double float_edges[N_FLOATS] = {
    0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 2.5, 3.5, -2.5, 1e10, -7.25, 1e-30, 16777217.0, INFINITY, -INFINITY, NAN,
};

static bool same_bits(const void *a, const void *b, size_t n) { return memcmp(a, b, n) == 0; }

/* Equal bit for bit, or both NaN. */
static bool same_f32(float a, float b) { return (isnan(a) && isnan(b)) || same_bits(&a, &b, sizeof a); }
/* exp(), pow() and the like are the kernels' own (shaders/functions.cl), which promise 3 units in the last place (erf
 * and erfc 6, but less of these numbers). */
static bool near_f64(double a, double b)
{
    const double unit = nextafter(fabs(b), INFINITY) - fabs(b);
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)) ||
           (isfinite(a) && isfinite(b) && fabs(a - b) <= 3 * unit);
}
static bool near_f32(float a, float b) { return a == b || (isnan(a) && isnan(b)) || nextafterf(a, b) == b; }
static bool same_f64(double a, double b) { return (isnan(a) && isnan(b)) || same_bits(&a, &b, sizeof a); }

static double floor_mod64(double a, double b)
{
    if (b == 0) return 0;
    if (!isfinite(a) || isnan(b)) return NAN;
    double m = fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static float expected_f32(ip_xop op, float a, float b)
{
    switch (op) {
    case IP_X_ADD: return a + b;
    case IP_X_SUB: return a - b;
    case IP_X_MUL: return a * b;
    case IP_X_DIV: return a / b;
    case IP_X_MIN: return a < b || isnan(b) ? a : b;
    case IP_X_MAX: return a > b || isnan(b) ? a : b;
    case IP_X_MOD: return (float)floor_mod64((double)a, (double)b);
    case IP_X_POW: return (float)pow((double)a, (double)b);
    default: return (float)atan2((double)a, (double)b);
    }
}

static double expected_f64(ip_xop op, double a, double b)
{
    switch (op) {
    case IP_X_ADD: return a + b;
    case IP_X_SUB: return a - b;
    case IP_X_MUL: return a * b;
    case IP_X_DIV: return a / b;
    case IP_X_MIN: return a < b || isnan(b) ? a : b;
    case IP_X_MAX: return a > b || isnan(b) ? a : b;
    case IP_X_MOD: return floor_mod64(a, b);
    case IP_X_POW: return pow(a, b);
    default: return atan2(a, b);
    }
}

static const ip_xop float_binaries[] = {
    IP_X_ADD, IP_X_SUB, IP_X_MUL, IP_X_DIV, IP_X_MIN, IP_X_MAX, IP_X_MOD, IP_X_POW, IP_X_ATAN2,
};

START_TEST(float_operations_round_in_their_dtype)
{
    ip_xop op = float_binaries[_i];
    static float a[N_FLOAT_PAIRS], b[N_FLOAT_PAIRS];
    static double c[N_FLOAT_PAIRS], d[N_FLOAT_PAIRS];
    bench t;
    set_up(&t);
    for (int i = 0; i < N_FLOAT_PAIRS; i++) {
        c[i] = float_edges[i / N_FLOATS];
        d[i] = float_edges[i % N_FLOATS];
        a[i] = (float)c[i];
        b[i] = (float)d[i];
    }
    ip_stage *sa = source(&t, IMGPAR_F32, 1, 1, N_FLOAT_PAIRS, 1, a),
             *sb = source(&t, IMGPAR_F32, 1, 1, N_FLOAT_PAIRS, 1, b);
    ip_stage *sc = source(&t, IMGPAR_F64, 1, 1, N_FLOAT_PAIRS, 1, c),
             *sd = source(&t, IMGPAR_F64, 1, 1, N_FLOAT_PAIRS, 1, d);
    ip_stage *r = map(&t, sa->dims, ip_x_binary(t.ir, op, here(&t, sa), here(&t, sb)));
    ip_stage *q = map(&t, sa->dims, ip_x_binary(t.ir, op, here(&t, sc), here(&t, sd)));
    run(&t);
    for (int i = 0; i < N_FLOAT_PAIRS; i++) {
        float f = ((float *)t.memory[r->id])[i];
        double g = ((double *)t.memory[q->id])[i];
        bool is_own = op == IP_X_POW || op == IP_X_ATAN2;
        const float want_f = expected_f32(op, a[i], b[i]);
        const double want_g = expected_f64(op, c[i], d[i]);
        ck_assert_msg(is_own ? near_f32(f, want_f) : same_f32(f, want_f), "%s f32 %g %g: %g", ip_xop_name(op), c[i],
                      d[i], (double)f);
        ck_assert_msg(is_own ? near_f64(g, want_g) : same_f64(g, want_g), "%s f64 %g %g: %g", ip_xop_name(op), c[i],
                      d[i], g);
    }
    tear_down(&t);
}
END_TEST

typedef struct function {
    ip_xop op;
    double (*exact)(double);
} function;

static double negated(double v) { return -v; }
static double inverse_root(double v) { return 1 / sqrt(v); }
static const function functions[] = {
    { IP_X_NEG, negated }, { IP_X_ABS, fabs },    { IP_X_FLOOR, floor },
    { IP_X_CEIL, ceil },   { IP_X_RINT, rint },   { IP_X_TRUNC, trunc },
    { IP_X_SQRT, sqrt },   { IP_X_EXP, exp },     { IP_X_LOG, log },
    { IP_X_SIN, sin },     { IP_X_COS, cos },     { IP_X_TAN, tan },
    { IP_X_ASIN, asin },   { IP_X_ACOS, acos },   { IP_X_ATAN, atan },
    { IP_X_SINH, sinh },   { IP_X_COSH, cosh },   { IP_X_TANH, tanh },
    { IP_X_EXP2, exp2 },   { IP_X_EXPM1, expm1 }, { IP_X_LOG2, log2 },
    { IP_X_LOG10, log10 }, { IP_X_LOG1P, log1p }, { IP_X_CBRT, cbrt },
    { IP_X_ASINH, asinh }, { IP_X_ACOSH, acosh }, { IP_X_ATANH, atanh },
    { IP_X_ERF, erf },     { IP_X_ERFC, erfc },   { IP_X_RSQRT, inverse_root },
};

START_TEST(float_functions_of_one_argument)
{
    const function *fn = &functions[_i];
    const bool is_own = ip_x_is_function(fn->op);
    float a[N_FLOATS];
    bench t;
    set_up(&t);
    for (int i = 0; i < N_FLOATS; i++)
        a[i] = (float)float_edges[i];
    ip_stage *sa = source(&t, IMGPAR_F32, 1, 1, N_FLOATS, 1, a);
    ip_stage *sd = source(&t, IMGPAR_F64, 1, 1, N_FLOATS, 1, float_edges);
    ip_stage *r = map(&t, sa->dims, ip_x_unary(t.ir, fn->op, here(&t, sa)));
    ip_stage *q = map(&t, sa->dims, ip_x_unary(t.ir, fn->op, here(&t, sd)));
    ip_stage *n = map(&t, sa->dims, ip_x_unary(t.ir, IP_X_ISNAN, here(&t, sa)));
    run(&t);
    for (int i = 0; i < N_FLOATS; i++) {
        const float f = ((float *)t.memory[r->id])[i], want_f = (float)fn->exact((double)a[i]);
        const double g = ((double *)t.memory[q->id])[i], want_g = fn->exact(float_edges[i]);
        ck_assert_msg(is_own ? near_f32(f, want_f) : same_f32(f, want_f), "%s f32 %g: %g", ip_xop_name(fn->op),
                      (double)a[i], (double)f);
        ck_assert_msg(is_own ? near_f64(g, want_g) : same_f64(g, want_g), "%s f64 %g: %g", ip_xop_name(fn->op),
                      float_edges[i], g);
        ck_assert_int_eq(((uint8_t *)t.memory[n->id])[i], isnan(a[i]) != 0);
    }
    tear_down(&t);
}
END_TEST

START_TEST(floats_compare_as_in_c)
{
    static const ip_xop ops[] = { IP_X_LT, IP_X_LE, IP_X_EQ, IP_X_NE };
    static double a[N_FLOAT_PAIRS], b[N_FLOAT_PAIRS];
    for (int i = 0; i < N_FLOAT_PAIRS; i++) {
        a[i] = float_edges[i / N_FLOATS];
        b[i] = float_edges[i % N_FLOATS];
    }
    for (int k = 0; k < 4; k++) {
        bench t;
        set_up(&t);
        ip_stage *sa = source(&t, IMGPAR_F64, 1, 1, N_FLOAT_PAIRS, 1, a),
                 *sb = source(&t, IMGPAR_F64, 1, 1, N_FLOAT_PAIRS, 1, b);
        ip_expr *x = here(&t, sa), *y = here(&t, sb);
        ip_stage *r = map(&t, sa->dims, ip_x_binary(t.ir, ops[k], x, y));
        ip_stage *q = map(&t, sa->dims,
                          ip_x_binary(t.ir, ops[k], ip_x_cast(t.ir, IMGPAR_F32, x), ip_x_cast(t.ir, IMGPAR_F32, y)));
        run(&t);
        for (int i = 0; i < N_FLOAT_PAIRS; i++) {
            float f = (float)a[i], g = (float)b[i];
            int d = k == 0 ? a[i] < b[i] : k == 1 ? a[i] <= b[i] : k == 2 ? a[i] == b[i] : a[i] != b[i];
            int e = k == 0 ? f < g : k == 1 ? f <= g : k == 2 ? f == g : f != g;
            ck_assert_int_eq(((uint8_t *)t.memory[r->id])[i], d);
            ck_assert_int_eq(((uint8_t *)t.memory[q->id])[i], e);
        }
        tear_down(&t);
    }
}
END_TEST

START_TEST(fma_rounds_once_and_select_chooses)
{
    float a[4] = { 1.0f + 0x1p-12f, 3, -1, 0.1f }, c[4] = { -1.0f - 0x1p-11f, 1, 2, -0.01f };
    double d[4] = { 1.0 + 0x1p-30, 3, -1, 0.1 }, e[4] = { -1.0 - 0x1p-29, 1, 2, -0.01 };
    int32_t n[4] = { INT_MAX, 3, -1, 5 };
    bench t;
    set_up(&t);
    ip_stage *sa = source(&t, IMGPAR_F32, 1, 1, 4, 1, a), *sc = source(&t, IMGPAR_F32, 1, 1, 4, 1, c);
    ip_stage *sd = source(&t, IMGPAR_F64, 1, 1, 4, 1, d), *se = source(&t, IMGPAR_F64, 1, 1, 4, 1, e);
    ip_stage *sn = source(&t, IMGPAR_I32, 1, 1, 4, 1, n);
    ip_expr *x = here(&t, sa), *y = here(&t, sc), *v = here(&t, sd), *w = here(&t, se), *i = here(&t, sn);
    ip_stage *r = map(&t, sa->dims, ip_x_fma(t.ir, x, x, y));
    ip_stage *q = map(&t, sa->dims, ip_x_fma(t.ir, v, v, w));
    ip_expr *less = ip_x_binary(t.ir, IP_X_LT, x, y);
    ip_stage *s0 = map(&t, sa->dims, ip_x_select(t.ir, less, x, y));
    ip_stage *s1 = map(&t, sa->dims, ip_x_select(t.ir, less, v, w));
    ip_stage *s2 = map(&t, sa->dims, ip_x_select(t.ir, less, i, ip_x_unary(t.ir, IP_X_NEG, i)));
    run(&t);
    ck_assert(((float *)t.memory[r->id])[0] == 0x1p-24f); /* a product rounded first would give 0 */
    ck_assert(((double *)t.memory[q->id])[0] == 0x1p-60);
    for (int k = 0; k < 4; k++) {
        ck_assert(same_f32(((float *)t.memory[r->id])[k], fmaf(a[k], a[k], c[k])));
        ck_assert(same_f64(((double *)t.memory[q->id])[k], fma(d[k], d[k], e[k])));
        ck_assert(((float *)t.memory[s0->id])[k] == (a[k] < c[k] ? a[k] : c[k]));
        ck_assert(((double *)t.memory[s1->id])[k] == (a[k] < c[k] ? d[k] : e[k]));
        ck_assert_int_eq(((int32_t *)t.memory[s2->id])[k], a[k] < c[k] ? n[k] : -n[k]);
    }
    tear_down(&t);
}
END_TEST

/* ---- conversions ---------------------------------------------------------------------------------- */

/* Integers of every dtype to every dtype, wrapped and clamped. */
START_TEST(integers_convert)
{
    imgpar_dtype from = (imgpar_dtype)_i;
    if (!is_integer(from)) return;
    uint64_t a[N_PAIRS] = { 0 }, b[N_PAIRS] = { 0 };
    edge_pairs(from, a, b);
    for (int to = 0; to < IP_N_REAL_DTYPES; to++) {
        imgpar_dtype dtype = (imgpar_dtype)to;
        if (dtype == IMGPAR_F16) continue;
        bench t;
        set_up(&t);
        ip_stage *s = source(&t, from, 1, 1, N_PAIRS, 1, a);
        ip_stage *r = map(&t, s->dims, ip_x_cast(t.ir, dtype, here(&t, s)));
        ip_stage *q = map(&t, s->dims, ip_x_saturate(t.ir, dtype, here(&t, s)));
        run(&t);
        for (int i = 0; i < N_PAIRS; i++) {
            wide x = get(from, a, i);
            if (dtype == IMGPAR_F32) {
                ck_assert(((float *)t.memory[r->id])[i] == (float)x);
            } else if (dtype == IMGPAR_F64) {
                ck_assert(((double *)t.memory[r->id])[i] == (double)x);
            } else {
                wide clamped = x < lowest(dtype) ? lowest(dtype) : x > highest(dtype) ? highest(dtype) : x;
                ck_assert(get(dtype, t.memory[r->id], i) == wrapped(dtype, x));
                ck_assert(get(dtype, t.memory[q->id], i) == (dtype == IMGPAR_BOOL ? x != 0 : clamped));
            }
        }
        tear_down(&t);
    }
}
END_TEST

START_TEST(floats_convert)
{
    static const double values[] = { 0,    -0.0,         0.5,           1.5,          2.5,    -0.5,    -1.5,
                                     0.49, 254.5,        255.5,         127.5,        -128.5, 65534.5, 1e5,
                                     -1e5, 2147483647.5, -2147483649.0, 4294967295.5, 9.3e18, -9.3e18, 1.9e19,
                                     1e30, -1e30,        INFINITY,      -INFINITY,    NAN };
    enum { N = sizeof values / sizeof *values };
    imgpar_dtype dtype = (imgpar_dtype)_i;
    if (!is_integer(dtype)) return;
    float singles[N];
    bench t;
    set_up(&t);
    for (int i = 0; i < N; i++)
        singles[i] = (float)values[i];
    ip_stage *d = source(&t, IMGPAR_F64, 1, 1, N, 1, values), *f = source(&t, IMGPAR_F32, 1, 1, N, 1, singles);
    ip_stage *r[4] = {
        map(&t, d->dims, ip_x_cast(t.ir, dtype, here(&t, d))),
        map(&t, d->dims, ip_x_cast(t.ir, dtype, here(&t, f))),
        map(&t, d->dims, ip_x_saturate(t.ir, dtype, here(&t, d))),
        map(&t, d->dims, ip_x_saturate(t.ir, dtype, here(&t, f))),
    };
    run(&t);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++) {
            double v = k % 2 ? (double)singles[i] : values[i], whole = k < 2 ? trunc(v) : rint(v);
            bool fits = whole >= (double)lowest(dtype) && whole <= (double)highest(dtype) && fabs(whole) < 1.8e19 &&
                        (dtype != IMGPAR_I64 || fabs(whole) < 9.2e18);
            wide expected = isnan(v) ? 0 : fits ? (wide)whole : whole < 0 ? lowest(dtype) : highest(dtype);
            if (dtype == IMGPAR_BOOL) expected = v != 0;
            ck_assert_msg(get(dtype, t.memory[r[k]->id], i) == expected, "%s of %g", k < 2 ? "cast" : "saturate", v);
        }
    tear_down(&t);
}
END_TEST

START_TEST(f16_is_computed_in_f32_and_bool_stored_as_0_or_1)
{
    uint16_t halves[5] = { 0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555 }; /* 1 -2 2^-24 inf 0.33325195 */
    uint8_t flags[5] = { 0, 1, 7, 255, 0 };
    double d[5] = { 1, 0.1, 1e300, 3, 4 };
    bench t;
    set_up(&t);
    ip_stage *h = source(&t, IMGPAR_F16, 1, 1, 5, 1, halves), *f = source(&t, IMGPAR_BOOL, 1, 1, 5, 1, flags);
    ip_stage *s = source(&t, IMGPAR_F64, 1, 1, 5, 1, d);
    ip_expr *x = here(&t, h);
    ck_assert_int_eq(x->dtype, IMGPAR_F32);
    ip_stage *same = map_as(&t, IMGPAR_F16, h->dims, x);
    ip_stage *third = map_as(&t, IMGPAR_F16, h->dims, ip_x_binary(t.ir, IP_X_DIV, x, ip_x_float(t.ir, IMGPAR_F32, 3)));
    ip_stage *single = map(&t, h->dims, x);
    ip_stage *flag = map(&t, h->dims, ip_x_unary(t.ir, IP_X_NOT, here(&t, f)));
    ip_stage *narrow = map(&t, h->dims, ip_x_cast(t.ir, IMGPAR_F32, here(&t, s)));
    run(&t);
    ck_assert_mem_eq(t.memory[same->id], halves, sizeof halves);
    ck_assert(((float *)t.memory[single->id])[2] == 0x1p-24f);
    ck_assert_uint_eq(((uint16_t *)t.memory[third->id])[0], 0x3555);
    ck_assert_uint_eq(((uint16_t *)t.memory[third->id])[2], 0);
    ck_assert(isinf(((float *)t.memory[narrow->id])[2]));
    for (int k = 0; k < 5; k++)
        ck_assert_int_eq(((uint8_t *)t.memory[flag->id])[k], flags[k] == 0);
    tear_down(&t);
}
END_TEST

/* ---- loads and borders ------------------------------------------------------------------------------- */

/* The index read at i, by walking from 0 one step after the other; -1: outside. */
static int walk_border(int border, int i, int n)
{
    int at_index = 0, step = i < 0 ? -1 : 1, way = step;
    bool skip = border == IMGPAR_BORDER_REFLECT101;
    for (int k = 0; k != i; k += step) {
        int next = at_index + way;
        if (next >= 0 && next < n) {
            at_index = next;
            continue;
        }
        switch (border) {
        case IMGPAR_BORDER_REPLICATE: break;
        case IMGPAR_BORDER_WRAP: at_index = way > 0 ? 0 : n - 1; break;
        case IMGPAR_BORDER_REFLECT:
        case IMGPAR_BORDER_REFLECT101:
            way = -way;
            if (skip && n > 1) at_index += way;
            break;
        default: return -1;
        }
    }
    return at_index;
}

START_TEST(borders_extend_without_limit)
{
    int n = _i + 1;
    uint8_t row[8];
    for (int k = 0; k < 8; k++)
        row[k] = (uint8_t)(10 + k);
    for (int border = IMGPAR_BORDER_REPLICATE; border <= IMGPAR_BORDER_CONSTANT; border++) {
        bench t;
        set_up(&t);
        ip_stage *across = source(&t, IMGPAR_U8, 1, 1, n, 1, row), *down = source(&t, IMGPAR_U8, 1, n, 1, 1, row);
        const int64_t dims[4] = { 1, 1, 61, 1 };
        ip_expr *x = ip_x_coord(t.ir, 2, 61), *zero = i32(&t, 0);
        ip_expr *i = ip_x_binary(t.ir, IP_X_SUB, x, i32(&t, 30));
        ip_expr *outside = border == IMGPAR_BORDER_CONSTANT ? ip_x_cast(t.ir, IMGPAR_U8, x) : NULL;
        ip_stage *r = map(&t, dims, ip_x_load(t.ir, across, (ip_expr *[4]){ zero, zero, i, zero }, border, outside));
        ip_stage *q = map(&t, dims, ip_x_load(t.ir, down, (ip_expr *[4]){ zero, i, zero, zero }, border, outside));
        ip_stage *e = map(&t, dims, ip_x_border(t.ir, border, i, ip_x_param(t.ir, IMGPAR_I32, n, 1, 8)));
        run(&t);
        for (int k = 0; k < 61; k++) {
            int at_index = walk_border(border, k - 30, n);
            int expected = at_index < 0 ? k : row[at_index];
            ck_assert_msg(((uint8_t *)t.memory[r->id])[k] == expected, "border %d, extent %d, index %d", border, n,
                          k - 30);
            ck_assert_int_eq(((uint8_t *)t.memory[q->id])[k], expected);
            if (at_index >= 0) ck_assert_int_eq(((int32_t *)t.memory[e->id])[k], at_index);
        }
        tear_down(&t);
    }
}
END_TEST

/* Sizes across one block and several, all channels; a shift in both directions by every rule, runs included. */
START_TEST(shifted_loads_agree_with_loops)
{
    static const struct {
        int h, w, c, dy, dx;
    } cases[] = {
        { 3, 300, 3, 1, -2 },  { 2, 256, 1, 0, 1 },  { 5, 257, 1, -2, 300 }, { 4, 86, 4, 7, -1 },
        { 1, 1, 2, 1, 1 },     { 7, 1, 1, -3, 2 },   { 2, 700, 2, 0, -700 }, { 3, 128, 2, 1, 0 },
        { 3, 1100, 1, 1, -2 }, { 3, 683, 3, -1, 5 },
    };
    int h = cases[_i].h, w = cases[_i].w, c = cases[_i].c, dy = cases[_i].dy, dx = cases[_i].dx;
    uint16_t *pixels = malloc((size_t)(h * w * c) * sizeof *pixels + 1);
    char *odd = (char *)pixels + 1; /* sources need not be aligned */
    for (int k = 0; k < h * w * c; k++) {
        uint16_t v = (uint16_t)(k * 7 + 3);
        memcpy(odd + 2 * k, &v, 2);
    }
    for (int border = IMGPAR_BORDER_REPLICATE; border <= IMGPAR_BORDER_CONSTANT; border++) {
        bench t;
        set_up(&t);
        ip_stage *s = source(&t, IMGPAR_U16, 1, h, w, c, odd);
        ip_expr *outside = border == IMGPAR_BORDER_CONSTANT ? ip_x_int(t.ir, IMGPAR_U16, 9) : NULL;
        ip_stage *r = map(&t, s->dims, at(&t, s, i32(&t, dy), i32(&t, dx), border, outside));
        run(&t);
        for (int y = 0, k = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int ch = 0; ch < c; ch++, k++) {
                    int sy = walk_border(border, y + dy, h), sx = walk_border(border, x + dx, w);
                    uint16_t expected = 9;
                    if (sy >= 0 && sx >= 0) memcpy(&expected, odd + 2 * ((sy * w + sx) * c + ch), 2);
                    ck_assert_uint_eq(((uint16_t *)t.memory[r->id])[k], expected);
                }
        tear_down(&t);
    }
    free(pixels);
}
END_TEST

START_TEST(gathers_broadcasts_and_tables_are_read)
{
    enum { D = 2, H = 3, W = 100, C = 3 };
    int32_t volume[D * H * W * C], mask[H * W];
    float table[5] = { 0.5f, 1, 2, 4, 8 };
    bench t;
    set_up(&t);
    for (int k = 0; k < D * H * W * C; k++)
        volume[k] = k;
    for (int k = 0; k < H * W; k++)
        mask[k] = k % 5;
    ip_stage *v = source(&t, IMGPAR_I32, D, H, W, C, volume), *m = source(&t, IMGPAR_I32, 1, H, W, 1, mask);
    ip_stage *weights = ip_stage_table(t.ir, IMGPAR_F32, 5, table);
    ip_expr *z = coord(&t, v, 0), *y = coord(&t, v, 1), *x = coord(&t, v, 2), *c = coord(&t, v, 3), *zero = i32(&t, 0);
    ip_expr *one_channel = ip_x_load(t.ir, m, (ip_expr *[4]){ zero, y, x, zero }, IP_BORDER_NONE, NULL);
    ip_expr *mirrored = ip_x_binary(t.ir, IP_X_SUB, i32(&t, W - 1), x);
    ip_expr *flipped_channel = ip_x_binary(t.ir, IP_X_SUB, i32(&t, C - 1), c);
    ip_stage *flip =
        map(&t, v->dims, ip_x_load(t.ir, v, (ip_expr *[4]){ z, y, mirrored, flipped_channel }, IP_BORDER_NONE, NULL));
    ip_stage *wide_mask = map(&t, v->dims, one_channel);
    ip_stage *looked_up = map(&t, v->dims, ip_table_at(t.ir, weights, one_channel));
    ip_stage *place =
        map(&t, v->dims,
            ip_x_binary(t.ir, IP_X_ADD, ip_x_binary(t.ir, IP_X_MUL, z, i32(&t, 1000000)),
                        ip_x_binary(t.ir, IP_X_ADD, ip_x_binary(t.ir, IP_X_MUL, y, i32(&t, 10000)),
                                    ip_x_binary(t.ir, IP_X_ADD, ip_x_binary(t.ir, IP_X_MUL, x, i32(&t, 10)), c))));
    run(&t);
    for (int k = 0; k < D * H * W * C; k++) {
        int ch = k % C, px = k / C % W, py = k / C / W % H, pz = k / C / W / H;
        ck_assert_int_eq(((int32_t *)t.memory[flip->id])[k], ((pz * H + py) * W + W - 1 - px) * C + C - 1 - ch);
        ck_assert_int_eq(((int32_t *)t.memory[wide_mask->id])[k], (py * W + px) % 5);
        ck_assert(((float *)t.memory[looked_up->id])[k] == table[(py * W + px) % 5]);
        ck_assert_int_eq(((int32_t *)t.memory[place->id])[k], pz * 1000000 + py * 10000 + px * 10 + ch);
    }
    tear_down(&t);
}
END_TEST

START_TEST(a_load_outside_without_a_rule_is_a_defect)
{
    uint8_t row[4] = { 1, 2, 3, 4 };
    bench t;
    set_up(&t);
    ip_stage *s = source(&t, IMGPAR_U8, 1, 1, 4, 1, row);
    map(&t, s->dims, at(&t, s, NULL, i32(&t, 1), IP_BORDER_NONE, NULL));
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_int_eq(ip_ref_run(t.ir, t.memory, UINT64_MAX, NULL, &err), IMGPAR_E_INTERNAL);
    ck_assert_str_eq(err.message, "internal: interpreter: stage 0 is read outside of its domain");
    ck_assert_ptr_null(t.memory[1]);
    tear_down(&t);
}
END_TEST

/* ---- windows ------------------------------------------------------------------------------------------- */

typedef struct tapped {
    bench *t;
    ip_stage *s, *weights;
    int ry, rx;
    ip_expr *extra; /* added to the value; NULL */
} tapped;

static ip_expr *tap_value(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const tapped *p = user;
    ip_expr *dy = ip_x_binary(ir, IP_X_SUB, ty, i32(p->t, p->ry)),
            *dx = ip_x_binary(ir, IP_X_SUB, tx, i32(p->t, p->rx));
    ip_expr *v = at(p->t, p->s, dy, dx, IMGPAR_BORDER_REFLECT, NULL);
    return p->extra ? ip_x_binary(ir, IP_X_ADD, v, p->extra) : v;
}

static ip_expr *tap_weight(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const tapped *p = user;
    return ip_table_at(ir, p->weights, ip_x_binary(ir, IP_X_ADD, ty, tx));
}

START_TEST(windows_fold_row_after_row)
{
    enum { H = 4, W = 300, RY = 5, RX = 4, TY = 2 * RY + 1, TX = 2 * RX + 1 };
    static float pixels[H * W];
    float table[TY + TX];
    bench t;
    set_up(&t);
    for (int k = 0; k < H * W; k++)
        pixels[k] = (float)(k * 37 % 101) + 0.1f;
    for (int k = 0; k < TY + TX; k++)
        table[k] = 0.01f * (float)(k + 1);
    ip_stage *s = source(&t, IMGPAR_F32, 1, H, W, 1, pixels);
    tapped p = { .t = &t, .s = s, .weights = ip_stage_table(t.ir, IMGPAR_F32, TY + TX, table), .ry = RY, .rx = RX };
    ip_stage *r[4];
    for (int fold = IP_FOLD_SUM; fold <= IP_FOLD_FMA; fold++) {
        ip_expr *x = ip_x_window(t.ir, (ip_fold)fold, TY, TX, tap_value, tap_weight, &p);
        ck_assert_int_eq(x->op, IP_X_WINDOW);
        r[fold] = map(&t, s->dims, x);
    }
    /* Two windows that share their taps, in one expression, and what follows them. */
    ip_expr *sum = r[0]->body, *largest = r[2]->body;
    ip_stage *both =
        map(&t, s->dims, ip_x_binary(t.ir, IP_X_SUB, ip_x_binary(t.ir, IP_X_ADD, sum, largest), here(&t, s)));
    run(&t);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float total = 0, low = INFINITY, high = -INFINITY, weighted = 0;
            for (int j = 0; j < TY; j++)
                for (int i = 0; i < TX; i++) {
                    float v = pixels[walk_border(IMGPAR_BORDER_REFLECT, y + j - RY, H) * W +
                                     walk_border(IMGPAR_BORDER_REFLECT, x + i - RX, W)];
                    total = i + j ? total + v : v;
                    low = fminf(low, v);
                    high = fmaxf(high, v);
                    weighted = fmaf(table[j + i], v, weighted);
                }
            ck_assert(((float *)t.memory[r[0]->id])[y * W + x] == total);
            ck_assert(((float *)t.memory[r[1]->id])[y * W + x] == low);
            ck_assert(((float *)t.memory[r[2]->id])[y * W + x] == high);
            ck_assert(((float *)t.memory[r[3]->id])[y * W + x] == weighted);
            ck_assert(((float *)t.memory[both->id])[y * W + x] == total + high - pixels[y * W + x]);
        }
    tear_down(&t);
}
END_TEST

/* A window whose taps hold another window: an inner one that depends on the outer tap, and one that does not. */
typedef struct nested {
    tapped p;
    ip_expr *outer_tap;
    bool depends;
} nested;

static ip_expr *inner_value(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const nested *n = user;
    ip_expr *v = tap_value(ir, ty, tx, (void *)&n->p);
    return n->depends ? ip_x_binary(ir, IP_X_MUL, v, n->outer_tap) : v;
}

static ip_expr *outer_value(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    nested *n = user;
    n->outer_tap = ip_x_binary(ir, IP_X_ADD, tx, ip_x_binary(ir, IP_X_MUL, ty, i32(n->p.t, 2)));
    ip_expr *inner = ip_x_window(ir, IP_FOLD_SUM, 1, 81, inner_value, NULL, n);
    ip_expr *own = at(n->p.t, n->p.s, ty, tx, IMGPAR_BORDER_WRAP, NULL);
    return ip_x_binary(ir, IP_X_ADD, ip_x_binary(ir, IP_X_ADD, own, inner),
                       ip_x_binary(ir, IP_X_MUL, own, n->outer_tap));
}

START_TEST(windows_nest)
{
    enum { H = 2, W = 20 };
    int32_t pixels[H * W];
    for (int k = 0; k < H * W; k++)
        pixels[k] = k * 31 % 17;
    bench t;
    set_up(&t);
    ip_stage *s = source(&t, IMGPAR_I32, 1, H, W, 1, pixels);
    nested n = { .p = { .t = &t, .s = s, .rx = 40 }, .depends = _i == 1 };
    ip_stage *r = map(&t, s->dims, ip_x_window(t.ir, IP_FOLD_SUM, 7, 11, outer_value, NULL, &n));
    run(&t);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int total = 0;
            for (int j = 0; j < 7; j++)
                for (int i = 0; i < 11; i++) {
                    int own = pixels[walk_border(IMGPAR_BORDER_WRAP, y + j, H) * W +
                                     walk_border(IMGPAR_BORDER_WRAP, x + i, W)];
                    int tap = i + 2 * j;
                    total += own + own * tap;
                    for (int u = 0; u < 81; u++) {
                        int v = pixels[y * W + walk_border(IMGPAR_BORDER_REFLECT, x + u - 40, W)];
                        total += _i == 1 ? v * tap : v;
                    }
                }
            ck_assert_int_eq(((int32_t *)t.memory[r->id])[y * W + x], total);
        }
    tear_down(&t);
}
END_TEST

/* ---- reductions ------------------------------------------------------------------------------------------ */

static ip_stage *reduction(bench *b, ip_stage *over, ip_reduce reduce, ip_expr *body)
{
    const int64_t one[4] = { 1, 1, 1, 1 };
    ip_stage *s = ip_stage_new(b->ir, IP_STAGE_REDUCE, body->dtype, one, NULL);
    memcpy(s->over, over->dims, sizeof s->over);
    s->reduce = reduce;
    s->acc_dtype = body->dtype;
    s->body = body;
    s->finish = ip_x_acc(b->ir, 0, body->dtype);
    s->is_output = true;
    return s;
}

START_TEST(integers_reduce)
{
    imgpar_dtype dtype = (imgpar_dtype)_i;
    enum { H = 3, W = 101, C = 3, N = H * W * C };
    if (!is_integer(dtype)) return;
    uint64_t pixels[N] = { 0 };
    wide sum = 0, low = highest(dtype), high = lowest(dtype);
    for (int k = 0; k < N; k++) {
        wide v = wrapped(dtype, (wide)k * 7919 * 104729 - 12345678);
        if (k == 500) v = lowest(dtype);
        if (k == 300) v = highest(dtype);
        put(dtype, pixels, k, v);
        sum += v;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    bench t;
    set_up(&t);
    ip_stage *s = source(&t, dtype, 1, H, W, C, pixels);
    ip_expr *x = here(&t, s);
    imgpar_dtype wide_dtype = ip_dtype(dtype)->is_signed ? IMGPAR_I64 : IMGPAR_U64;
    ip_stage *total = reduction(&t, s, IP_REDUCE_SUM, ip_x_cast(t.ir, wide_dtype, x));
    ip_stage *least = reduction(&t, s, IP_REDUCE_MIN, x), *most = reduction(&t, s, IP_REDUCE_MAX, x);
    run(&t);
    ck_assert(get(wide_dtype, t.memory[total->id], 0) == wrapped(wide_dtype, sum));
    ck_assert(get(dtype, t.memory[least->id], 0) == low);
    ck_assert(get(dtype, t.memory[most->id], 0) == high);
    tear_down(&t);
}
END_TEST

START_TEST(floats_reduce_in_double_and_skip_nan)
{
    enum { N = 1000 };
    static float pixels[N], nans[3] = { NAN, NAN, NAN };
    static double doubles[N];
    double sum = 0, doubles_sum = 0;
    for (int k = 0; k < N; k++) {
        pixels[k] = k % 10 == 3 ? 1e6f : 0.1f * (float)k;
        doubles[k] = 1.0 / (k + 1);
        sum += (double)pixels[k];
        doubles_sum += doubles[k];
    }
    bench t;
    set_up(&t);
    ip_stage *s = source(&t, IMGPAR_F32, 1, 1, N, 1, pixels), *d = source(&t, IMGPAR_F64, 1, 1, N, 1, doubles);
    ip_stage *q = source(&t, IMGPAR_F32, 1, 1, 3, 1, nans);
    ip_stage *total = reduction(&t, s, IP_REDUCE_SUM, here(&t, s)),
             *total_d = reduction(&t, d, IP_REDUCE_SUM, here(&t, d));
    ip_stage *least_nan = reduction(&t, q, IP_REDUCE_MIN, here(&t, q));
    static float holes[4] = { NAN, 3, NAN, -2 };
    ip_stage *g = source(&t, IMGPAR_F32, 1, 4, 1, 1, holes);
    ip_stage *least = reduction(&t, g, IP_REDUCE_MIN, here(&t, g)),
             *most = reduction(&t, g, IP_REDUCE_MAX, here(&t, g));
    ip_stage *mean = reduction(&t, s, IP_REDUCE_SUM, ip_x_cast(t.ir, IMGPAR_F64, here(&t, s)));
    mean->dtype = IMGPAR_F32; /* the finish converts */
    mean->finish =
        ip_x_cast(t.ir, IMGPAR_F32, ip_x_binary(t.ir, IP_X_DIV, mean->finish, ip_x_param(t.ir, IMGPAR_F64, N, 1, 1e9)));
    run(&t);
    ck_assert(*(float *)t.memory[total->id] == (float)sum);
    ck_assert(*(double *)t.memory[total_d->id] == doubles_sum);
    ck_assert(*(float *)t.memory[mean->id] == (float)(sum / N));
    ck_assert(*(float *)t.memory[least->id] == -2);
    ck_assert(*(float *)t.memory[most->id] == 3);
    ck_assert(isnan(*(float *)t.memory[least_nan->id]));
    tear_down(&t);
}
END_TEST

START_TEST(a_custom_reduction_combines_in_order)
{
    enum { N = 600 };
    static int32_t pixels[N];
    static double doubles[N];
    int32_t expected = 5;
    double expected_d = 0.25;
    bench t;
    set_up(&t);
    for (int k = 0; k < N; k++) {
        pixels[k] = k * 3 - 70;
        doubles[k] = 1.0 / (k + 3);
        expected = (int32_t)((uint32_t)expected * 31u + (uint32_t)pixels[k]); /* not associative: shows the order */
        expected_d = expected_d * 0.5 - doubles[k];
    }
    ip_stage *s = source(&t, IMGPAR_I32, 1, 2, N / 2, 1, pixels), *d = source(&t, IMGPAR_F64, 1, N, 1, 1, doubles);
    ip_stage *r = reduction(&t, s, IP_REDUCE_CUSTOM, here(&t, s)), *q = reduction(&t, d, IP_REDUCE_CUSTOM, here(&t, d));
    r->init = i32(&t, 5);
    r->combine = ip_x_binary(t.ir, IP_X_ADD, ip_x_binary(t.ir, IP_X_MUL, ip_x_acc(t.ir, 0, IMGPAR_I32), i32(&t, 31)),
                             ip_x_acc(t.ir, 1, IMGPAR_I32));
    q->init = ip_x_float(t.ir, IMGPAR_F64, 0.25);
    q->combine = ip_x_binary(
        t.ir, IP_X_SUB, ip_x_binary(t.ir, IP_X_MUL, ip_x_acc(t.ir, 0, IMGPAR_F64), ip_x_float(t.ir, IMGPAR_F64, 0.5)),
        ip_x_acc(t.ir, 1, IMGPAR_F64));
    run(&t);
    ck_assert_int_eq(*(int32_t *)t.memory[r->id], expected);
    ck_assert(*(double *)t.memory[q->id] == expected_d);
    tear_down(&t);
}
END_TEST

START_TEST(a_histogram_counts_each_channel)
{
    enum { H = 5, W = 100, C = 3, BINS = 16 };
    static uint8_t pixels[H * W * C];
    uint32_t expected[C][BINS] = { { 0 } };
    bench t;
    set_up(&t);
    for (int k = 0; k < H * W * C; k++) {
        pixels[k] = (uint8_t)(k * 7 % 20); /* bins 16 to 19 do not exist */
        int bin = pixels[k] - 1;           /* nor does bin -1 */
        if (bin >= 0 && bin < BINS) expected[k % C][bin]++;
    }
    ip_stage *s = source(&t, IMGPAR_U8, 1, H, W, C, pixels);
    const int64_t dims[4] = { 1, C, BINS, 1 };
    ip_stage *r = ip_stage_new(t.ir, IP_STAGE_HISTOGRAM, IMGPAR_U32, dims, NULL);
    memcpy(r->over, s->dims, sizeof r->over);
    r->body = ip_x_binary(t.ir, IP_X_SUB, ip_x_cast(t.ir, IMGPAR_I32, here(&t, s)), i32(&t, 1));
    r->is_output = true;
    run(&t);
    ck_assert_mem_eq(t.memory[r->id], expected, sizeof expected);
    tear_down(&t);
}
END_TEST

/* ---- running -------------------------------------------------------------------------------------------------- */

START_TEST(only_needed_stages_are_computed_and_only_outputs_stay)
{
    enum { N = 300 };
    static int32_t pixels[N];
    bench t;
    set_up(&t);
    for (int k = 0; k < N; k++)
        pixels[k] = k;
    ip_stage *s = source(&t, IMGPAR_I32, 1, 1, N, 1, pixels);
    ip_stage *a = map(&t, s->dims, ip_x_binary(t.ir, IP_X_ADD, here(&t, s), i32(&t, 1)));
    ip_stage *unused = map(&t, s->dims, here(&t, a));
    ip_stage *b = map(&t, s->dims, ip_x_binary(t.ir, IP_X_MUL, here(&t, a), here(&t, a)));
    ip_stage *c = map(&t, s->dims, ip_x_binary(t.ir, IP_X_SUB, here(&t, b), here(&t, a)));
    ip_stage *total = reduction(&t, s, IP_REDUCE_SUM, ip_x_cast(t.ir, IMGPAR_I64, here(&t, c)));
    a->is_output = unused->is_output = b->is_output = false;
    run(&t);
    ck_assert_ptr_null(t.memory[a->id]);
    ck_assert_ptr_null(t.memory[b->id]);
    ck_assert_ptr_null(t.memory[unused->id]);
    ck_assert_ptr_eq(t.memory[s->id], pixels);
    int64_t sum = 0;
    for (int k = 0; k < N; k++) {
        ck_assert_int_eq(((int32_t *)t.memory[c->id])[k], (k + 1) * (k + 1) - (k + 1));
        sum += (k + 1) * k;
    }
    ck_assert_int_eq(*(int64_t *)t.memory[total->id], sum);
    tear_down(&t);
}
END_TEST

START_TEST(empty_domains_are_legal)
{
    for (int empty_axis = 0; empty_axis < 4; empty_axis++) {
        int64_t dims[4] = { 1, 2, 3, 4 };
        dims[empty_axis] = 0;
        bench t;
        set_up(&t);
        ip_stage *s = source(&t, IMGPAR_F32, dims[0], dims[1], dims[2], dims[3], NULL);
        ip_stage *r = map(&t, dims, ip_x_binary(t.ir, IP_X_ADD, here(&t, s), ip_x_float(t.ir, IMGPAR_F32, 1)));
        ip_stage *total = reduction(&t, s, IP_REDUCE_SUM, here(&t, s)),
                 *least = reduction(&t, s, IP_REDUCE_MIN, here(&t, s));
        const int64_t bins[4] = { 1, dims[3], 4, 1 };
        ip_stage *h = ip_stage_new(t.ir, IP_STAGE_HISTOGRAM, IMGPAR_U32, bins, NULL);
        memcpy(h->over, dims, sizeof h->over);
        h->body = ip_x_saturate(t.ir, IMGPAR_I32, here(&t, s));
        h->is_output = true;
        run(&t);
        ck_assert_ptr_nonnull(t.memory[r->id]);
        ck_assert(*(float *)t.memory[total->id] == 0);
        ck_assert(isnan(*(float *)t.memory[least->id]));
        for (int64_t k = 0; k < dims[3] * 4; k++)
            ck_assert_uint_eq(((uint32_t *)t.memory[h->id])[k], 0);
        tear_down(&t);
    }
}
END_TEST

typedef struct polled {
    double last;
    int n, stop_at;
    bool is_monotone;
} polled;

static bool poll_stop(void *user, double done)
{
    polled *p = user;
    p->is_monotone = p->is_monotone && done >= p->last && done <= 1;
    p->last = done;
    return ++p->n == p->stop_at;
}

/* Long enough to be asked a few times. */
static ip_stage *long_work(bench *t, float *pixels)
{
    ip_stage *s = source(t, IMGPAR_F32, 1, 500, 500, 1, pixels);
    tapped p = { .t = t, .s = s, .ry = 10, .rx = 10 };
    return map(t, s->dims, ip_x_window(t->ir, IP_FOLD_MAX, 21, 21, tap_value, NULL, &p));
}

START_TEST(a_long_run_is_polled_and_can_be_stopped)
{
    float *pixels = calloc(500 * 500, sizeof *pixels);
    for (int stop = 0; stop < 2; stop++) {
        polled p = { .stop_at = stop ? 1 : 0, .is_monotone = true };
        ip_poll poll = { .stop = poll_stop, .user = &p };
        ip_error err = { .status = IMGPAR_OK };
        bench t;
        set_up(&t);
        ip_stage *r = long_work(&t, pixels);
        imgpar_status st = ip_ref_run(t.ir, t.memory, UINT64_MAX, &poll, &err);
        ck_assert_int_eq(st, stop ? IMGPAR_E_INTERRUPTED : IMGPAR_OK);
        ck_assert_int_eq(t.memory[r->id] == NULL, stop);
        ck_assert(p.is_monotone);
        ck_assert_int_ge(p.n, 1);
        tear_down(&t);
    }
    free(pixels);
}
END_TEST

START_TEST(without_memory_a_run_fails_and_leaves_nothing)
{
    static float pixels[100];
    for (unsigned long nth = 1;; nth++) {
        bench t;
        ip_error err = { .status = IMGPAR_OK };
        set_up(&t);
        ip_stage *s = source(&t, IMGPAR_F32, 1, 1, 100, 1, pixels);
        tapped p = { .t = &t, .s = s, .ry = 4, .rx = 4 };
        ip_stage *a = map(&t, s->dims, ip_x_window(t.ir, IP_FOLD_SUM, 9, 9, tap_value, NULL, &p));
        ip_stage *b = map(&t, s->dims, here(&t, a)), *c = reduction(&t, s, IP_REDUCE_SUM, here(&t, b));
        ip_stage *d = reduction(&t, s, IP_REDUCE_CUSTOM, here(&t, b));
        d->init = ip_x_float(t.ir, IMGPAR_F32, 0);
        d->combine = ip_x_binary(t.ir, IP_X_ADD, ip_x_acc(t.ir, 0, IMGPAR_F32), ip_x_acc(t.ir, 1, IMGPAR_F32));
        a->is_output = false;
        ip_fault_set(IP_FAULT_ALLOC, nth);
        imgpar_status st = ip_ref_run(t.ir, t.memory, UINT64_MAX, NULL, &err);
        bool is_over = ip_fault_seen(IP_FAULT_ALLOC) < nth;
        ip_fault_set(IP_FAULT_ALLOC, 0);
        ck_assert_int_eq(st, is_over ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY);
        if (!is_over) {
            ck_assert_str_eq(err.message, "out of host memory while interpreting");
            ck_assert(!t.memory[a->id] && !t.memory[b->id] && !t.memory[c->id] && !t.memory[d->id]);
        }
        tear_down(&t);
        if (is_over) break;
    }
}
END_TEST

START_TEST(what_is_held_at_once_has_a_limit)
{
    bench t;
    set_up(&t);
    const int64_t dims[4] = { 1, 1, 1000, 1 };
    ip_error err = { .status = IMGPAR_OK };
    ip_stage *first = map(&t, dims, ip_x_float(t.ir, IMGPAR_F32, 1));
    first->is_output = false;
    ip_expr *const here[4] = { i32(&t, 0), i32(&t, 0), coord(&t, first, 2), i32(&t, 0) };
    map(&t, dims, ip_x_load(t.ir, first, here, IP_BORDER_NONE, NULL));
    ck_assert_int_eq(ip_ref_run(t.ir, t.memory, 7999, NULL, &err), IMGPAR_E_DEVICE_MEMORY);
    ck_assert_str_eq(err.message, "8000 bytes are over the memory limit of 7999 bytes");
    ck_assert_int_eq(ip_ref_run(t.ir, t.memory, 8000, NULL, NULL), IMGPAR_OK);
    tear_down(&t);
}
END_TEST

START_TEST(a_size_that_overflows_is_a_limit)
{
    bench t;
    set_up(&t);
    const int64_t huge[4] = { 1, INT32_MAX, INT32_MAX, 4 }, wide_dims[4] = { 1, 1, (int64_t)INT32_MAX + 1, 1 };
    ip_error err = { .status = IMGPAR_OK };
    map(&t, huge, ip_x_float(t.ir, IMGPAR_F64, 1));
    ck_assert_int_eq(ip_ref_run(t.ir, t.memory, UINT64_MAX, NULL, &err), IMGPAR_E_LIMIT);
    ck_assert_str_eq(err.message, "an array is too large for the interpreter");
    tear_down(&t);
    set_up(&t);
    map(&t, wide_dims, ip_x_int(t.ir, IMGPAR_U8, 1));
    ck_assert_int_eq(ip_ref_run(t.ir, t.memory, UINT64_MAX, NULL, NULL), IMGPAR_E_LIMIT);
    tear_down(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ref");
    TCase *c = tcase_create("ref");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, integer_operations_wrap_in_their_dtype, 0, IP_N_REAL_DTYPES);
    tcase_add_loop_test(c, integer_functions_of_one_argument, 0, IP_N_REAL_DTYPES);
    tcase_add_loop_test(c, float_operations_round_in_their_dtype, 0, sizeof float_binaries / sizeof *float_binaries);
    tcase_add_loop_test(c, float_functions_of_one_argument, 0, sizeof functions / sizeof *functions);
    tcase_add_test(c, floats_compare_as_in_c);
    tcase_add_test(c, fma_rounds_once_and_select_chooses);
    tcase_add_loop_test(c, integers_convert, 0, IP_N_REAL_DTYPES);
    tcase_add_loop_test(c, floats_convert, 0, IP_N_REAL_DTYPES);
    tcase_add_test(c, f16_is_computed_in_f32_and_bool_stored_as_0_or_1);
    tcase_add_loop_test(c, borders_extend_without_limit, 0, 8);
    tcase_add_loop_test(c, shifted_loads_agree_with_loops, 0, 10);
    tcase_add_test(c, gathers_broadcasts_and_tables_are_read);
    tcase_add_test(c, a_load_outside_without_a_rule_is_a_defect);
    tcase_add_test(c, windows_fold_row_after_row);
    tcase_add_loop_test(c, windows_nest, 0, 2);
    tcase_add_loop_test(c, integers_reduce, 0, IP_N_REAL_DTYPES);
    tcase_add_test(c, floats_reduce_in_double_and_skip_nan);
    tcase_add_test(c, a_custom_reduction_combines_in_order);
    tcase_add_test(c, a_histogram_counts_each_channel);
    tcase_add_test(c, only_needed_stages_are_computed_and_only_outputs_stay);
    tcase_add_test(c, empty_domains_are_legal);
    tcase_add_test(c, a_long_run_is_polled_and_can_be_stopped);
    tcase_add_test(c, without_memory_a_run_fails_and_leaves_nothing);
    tcase_add_test(c, a_size_that_overflows_is_a_limit);
    tcase_add_test(c, what_is_held_at_once_has_a_limit);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
