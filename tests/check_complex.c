/* SPDX-License-Identifier: MIT */
/*
 * complex64: operators and functions against C's own complex numbers in double, on every rank, in every
 * schedule; sums, views, loops, files; and what has no meaning is refused. Views of complex numbers are
 * tested with those of real ones in check_views.c.
 */
#include "asserts.h"
#include "cmplx.h"
#include "held.h"
#include "tier.h"

#include <imgpar.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;
enum { MAX_COUNT = 2000, N_IN = 3 }; /* $1 and $2 are complex, $3 is f32 */

static imgpar_context *ctx;
static bool is_cpu, has_device;

static void setup(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    is_cpu = strcmp(imgpar_context_device(ctx)->kind, "cpu") == 0;
    has_device = strcmp(imgpar_context_device(ctx)->kind, "ref") != 0;
}

static void teardown(void) { imgpar_context_release(ctx); }

static const struct shape {
    int rank;
    int64_t n[4];
} shapes[] = {
    { 1, { 37 } },         { 2, { 5, 7 } },       { 3, { 4, 5, 3 } }, { 3, { 2, 3, 19 } },
    { 4, { 2, 3, 4, 2 } }, { 4, { 2, 1, 3, 7 } }, { 1, { 1 } },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static int64_t count_of(const struct shape *s)
{
    int64_t n = 1;
    for (int k = 0; k < s->rank; k++)
        n *= s->n[k];
    return n;
}

/* Quarters from -4 to 4, none of them 0, the same for a seed. */
static double level(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    double v = ((double)(*state >> 16 & 31) - 16) / 4;
    return v == 0 ? 0.5 : v;
}

static void fill(float (*pairs)[2], float *reals, int64_t n, unsigned seed)
{
    for (int64_t k = 0; k < n; k++) {
        for (int part = 0; part < 2 && pairs; part++)
            pairs[k][part] = (float)level(&seed);
        if (reals) reals[k] = (float)level(&seed);
    }
}

typedef struct inputs {
    float z[2][MAX_COUNT][2], r[MAX_COUNT];
    imgpar_array *array[N_IN];
} inputs;

static void make_inputs(inputs *in, const struct shape *s)
{
    int64_t n = count_of(s);
    ck_assert_int_le(n, MAX_COUNT);
    fill(in->z[0], NULL, n, 1);
    fill(in->z[1], NULL, n, 2);
    fill(NULL, in->r, n, 3);
    for (int k = 0; k < N_IN; k++) {
        const void *data = k < 2 ? (const void *)in->z[k] : in->r;
        in->array[k] = imgpar_array_from_data(ctx, k < 2 ? IMGPAR_COMPLEX64 : IMGPAR_F32, s->rank, s->n, data);
    }
}

static void free_inputs(inputs *in)
{
    for (int k = 0; k < N_IN; k++)
        imgpar_array_release(in->array[k]);
}

/* The same numbers in double. */
static void widen_inputs(inputs *in)
{
    for (int k = 0; k < N_IN; k++) {
        imgpar_array *wide = imgpar_cast(in->array[k], k < 2 ? "complex128" : "f64");
        imgpar_array_release(in->array[k]);
        in->array[k] = wide;
    }
}

static imgpar_dtype widened(imgpar_dtype d)
{
    return d == IMGPAR_COMPLEX64 ? IMGPAR_COMPLEX128 : d == IMGPAR_F32 ? IMGPAR_F64 : d;
}

static number z_of(const inputs *in, int which, int64_t k)
{
    return CMPLX((double)in->z[which][k][0], (double)in->z[which][k][1]);
}

/* ---- operators and functions ---------------------------------------------------------------- */

#define OF(name, value) \
    static number name(number a, number b, double r) { return (void)a, (void)b, (void)r, (value); }
OF(of_sum, a + b)
OF(of_difference, a - b)
OF(of_product, a *b)
OF(of_quotient, a / b)
OF(of_negative, -a)
OF(of_sum_real, a + r)
OF(of_real_minus, r - a)
OF(of_product_real, r *a)
OF(of_quotient_real, a / r)
OF(of_real_over, r / a)
OF(of_scaled, 2 * a + 1.5)
OF(of_cube, a *a *a)
OF(of_one, 1)
OF(of_abs, cabs(a))
OF(of_arg, carg(a))
OF(of_conj, conj(a))
OF(of_real, creal(a))
OF(of_imag, cimag(a))
OF(of_arg_real, carg(CMPLX(r, 0)))
OF(of_imag_real, 0)
OF(of_exp, cexp(a))
OF(of_log, clog(a))
OF(of_root, csqrt(a))
OF(of_sine, csin(a))
OF(of_cosine, ccos(a))
OF(of_power, cpow(a, b))
OF(of_real_power, cpow(a, r))
OF(of_power_of_real, cpow(r, a))
OF(of_inverse, 1 / (a * a))
OF(of_joined, CMPLX(creal(a), r))
OF(of_joined_number, CMPLX(r, 3))
OF(of_cast, r)
OF(of_chosen, creal(a) < creal(b) ? a : b)
OF(of_chosen_real, r > 0 ? a : r)
OF(of_same, a == a)
OF(of_equal, creal(a) == r && cimag(a) == 0)
OF(of_different, a != b)
OF(of_long, conj(a *b + r) / (b * CMPLX(0, 1)) - a)
OF(of_doubled, a * 2)

static const struct claim {
    const char *text;
    number (*of)(number a, number b, double r);
    imgpar_dtype dtype;
    double slack; /* of the magnitude, in units of 2^-24 */
} claims[] = {
    { "$1 + $2", of_sum, IMGPAR_COMPLEX64, 1 },
    { "$1 - $2", of_difference, IMGPAR_COMPLEX64, 1 },
    { "$1 * $2", of_product, IMGPAR_COMPLEX64, 4 },
    { "$1 / $2", of_quotient, IMGPAR_COMPLEX64, 12 },
    { "-$1", of_negative, IMGPAR_COMPLEX64, 0 },
    { "$1 + $3", of_sum_real, IMGPAR_COMPLEX64, 1 },
    { "$3 - $1", of_real_minus, IMGPAR_COMPLEX64, 1 },
    { "$3 * $1", of_product_real, IMGPAR_COMPLEX64, 1 },
    { "$1 / $3", of_quotient_real, IMGPAR_COMPLEX64, 1 },
    { "$3 / $1", of_real_over, IMGPAR_COMPLEX64, 12 },
    { "2 * $1 + 1.5", of_scaled, IMGPAR_COMPLEX64, 2 },
    { "$1 ** 3", of_cube, IMGPAR_COMPLEX64, 12 },
    { "$1 ** 0", of_one, IMGPAR_COMPLEX64, 0 },
    { "abs($1)", of_abs, IMGPAR_F32, 4 },
    { "arg($1)", of_arg, IMGPAR_F32, 12 },
    { "conj($1)", of_conj, IMGPAR_COMPLEX64, 0 },
    { "real($1)", of_real, IMGPAR_F32, 0 },
    { "imag($1)", of_imag, IMGPAR_F32, 0 },
    { "arg($3)", of_arg_real, IMGPAR_F32, 6 },
    { "imag($3)", of_imag_real, IMGPAR_F32, 0 },
    { "exp($1)", of_exp, IMGPAR_COMPLEX64, 20 },
    { "log($1)", of_log, IMGPAR_COMPLEX64, 30 },
    { "sqrt($1)", of_root, IMGPAR_COMPLEX64, 16 },
    { "sin($1)", of_sine, IMGPAR_COMPLEX64, 24 },
    { "cos($1)", of_cosine, IMGPAR_COMPLEX64, 24 },
    { "$1 ** $2", of_power, IMGPAR_COMPLEX64, 400 },
    { "$1 ** $3", of_real_power, IMGPAR_COMPLEX64, 200 },
    { "$3 ** $1", of_power_of_real, IMGPAR_COMPLEX64, 200 },
    { "$1 ** -2", of_inverse, IMGPAR_COMPLEX64, 100 },
    { "complex(real($1), $3)", of_joined, IMGPAR_COMPLEX64, 0 },
    { "complex($3, 3)", of_joined_number, IMGPAR_COMPLEX64, 0 },
    { "cast($3, complex64)", of_cast, IMGPAR_COMPLEX64, 0 },
    { "select(real($1) < real($2), $1, $2)", of_chosen, IMGPAR_COMPLEX64, 0 },
    { "select($3 > 0, $1, $3)", of_chosen_real, IMGPAR_COMPLEX64, 0 },
    { "$1 == $1", of_same, IMGPAR_BOOL, 0 },
    { "$1 == $3", of_equal, IMGPAR_BOOL, 0 },
    { "$1 != $2", of_different, IMGPAR_BOOL, 0 },
    { "conj($1 * $2 + $3) / ($2 * complex(0, 1)) - $1", of_long, IMGPAR_COMPLEX64, 60 },
    { "cast($1, complex64) + $1 * cast(ones([1]), f64)", of_doubled, IMGPAR_COMPLEX128, 0 },
};
enum { N_CLAIMS = sizeof claims / sizeof *claims };

static number element(imgpar_dtype dtype, const void *bytes, int64_t k)
{
    const float *f = bytes;
    const double *d = bytes;
    if (dtype == IMGPAR_COMPLEX128) return CMPLX(d[2 * k], d[2 * k + 1]);
    if (dtype == IMGPAR_F64) return d[k];
    if (dtype == IMGPAR_COMPLEX64) return CMPLX((double)f[2 * k], (double)f[2 * k + 1]);
    return dtype == IMGPAR_F32 ? (double)f[k] : (double)((const unsigned char *)bytes)[k];
}

static void check_near(const char *text, int64_t k, number got, number want, double slack)
{
    double allowed = slack * cabs(want) * 0x1p-24;
    ck_assert_msg(cabs(got - want) <= allowed, "%s: element %lld is %.9g%+.9gi, must be %.9g%+.9gi", text, (long long)k,
                  creal(got), cimag(got), creal(want), cimag(want));
}

static void check_claims(const struct shape *s, const char *schedule)
{
    static inputs in;
    static double bytes[MAX_COUNT][2];
    imgpar_array *results[N_CLAIMS];
    int64_t n = count_of(s);
    make_inputs(&in, s);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    for (int c = 0; c < N_CLAIMS; c++)
        results[c] = imgpar_apply(ctx, claims[c].text, in.array, N_IN);
    imgpar_eval(results, N_CLAIMS, NULL);
    for (int c = 0; c < N_CLAIMS; c++) {
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(imgpar_array_info(results[c], &info) == IMGPAR_OK, "%s: %s", claims[c].text,
                      imgpar_array_message(results[c]));
        ck_assert_msg(info.dtype == claims[c].dtype, "%s is %s", claims[c].text, imgpar_dtype_name(info.dtype));
        ck_assert_int_eq(info.rank, s->rank);
        ck_assert_mem_eq(info.shape, s->n, (size_t)s->rank * sizeof *s->n);
        ck_assert_msg(imgpar_array_read(results[c], bytes, info.size_bytes) == IMGPAR_OK, "%s: %s", claims[c].text,
                      imgpar_array_message(results[c]));
        for (int64_t k = 0; k < n; k++)
            check_near(claims[c].text, k, element(info.dtype, bytes, k),
                       claims[c].of(z_of(&in, 0, k), z_of(&in, 1, k), (double)in.r[k]), claims[c].slack);
        imgpar_array_release(results[c]);
    }
    free_inputs(&in);
}

START_TEST(arithmetic_is_that_of_complex_numbers)
{
    for (int k = 0; k < N_SHAPES; k++)
        check_claims(&shapes[k], "ref");
}
END_TEST

START_TEST(schedules_compute_complex_numbers)
{
    if (!has_device) return;
    check_claims(&shapes[2], "rows");
    if (!test_tier_is_full()) return;
    check_claims(&shapes[2], "pixels");
    for (int k = 1; k < 6; k += 4) {
        check_claims(&shapes[k], "rows");
        check_claims(&shapes[k], "pixels");
    }
}
END_TEST

/* Squares of these overflow or vanish in f32; their quotients and lengths do not. */
START_TEST(large_and_small_numbers_do_not_overflow)
{
    static const float a[][2] = { { 3e38f, 0 },    { 2e38f, 1e38f }, { 1e-30f, 2e-30f }, { 0, 3e38f }, { 0, 0 },
                                  { INFINITY, 1 }, { 1, 1 } };
    static const float b[][2] = { { 2e38f, 1e37f }, { 1e38f, 2e38f }, { 2e-30f, 1e-30f }, { 1, 3e38f }, { 1e-30f, 1 },
                                  { 1, 0 },         { 0, 0 } };
    enum { N = sizeof a / sizeof *a };
    float quotient[N][2], length[N];
    imgpar_array *in[2] = { imgpar_array_from_data(ctx, IMGPAR_COMPLEX64, 1, (int64_t[]){ N }, a),
                            imgpar_array_from_data(ctx, IMGPAR_COMPLEX64, 1, (int64_t[]){ N }, b) };
    imgpar_array *out[2] = { imgpar_apply(ctx, "$1 / $2", in, 2), imgpar_apply(ctx, "abs($1)", in, 2) };
    ck_assert_int_eq(imgpar_array_read(out[0], quotient, sizeof quotient), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(out[1], length, sizeof length), IMGPAR_OK);
    for (int k = 0; k < 5; k++) {
        number x = CMPLX((double)a[k][0], (double)a[k][1]), y = CMPLX((double)b[k][0], (double)b[k][1]);
        check_near("$1 / $2", k, CMPLX((double)quotient[k][0], (double)quotient[k][1]), x / y, 12);
        check_near("abs($1)", k, (double)length[k], cabs(x), 4);
    }
    ck_assert(isinf(length[5]) && isnan(quotient[6][0]));
    imgpar_array *powers[2] = { imgpar_apply(ctx, "(0 * $1) ** complex(0.5, 1)", in, 2),
                                imgpar_apply(ctx, "sqrt(0 * $2)", in, 2) };
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(imgpar_array_read(powers[k], quotient, sizeof quotient), IMGPAR_OK);
        ck_assert(quotient[1][0] == 0 && quotient[1][1] == 0);
        imgpar_array_release(powers[k]);
    }
    for (int k = 0; k < 2; k++) {
        imgpar_array_release(in[k]);
        imgpar_array_release(out[k]);
    }
}
END_TEST

/* ---- folds -------------------------------------------------------------------------------------------- */

/* Whether an index of s folds onto element k of what is left without these axes. */
static int64_t folded_place(const struct shape *s, int64_t k, unsigned axes)
{
    int64_t index[4], place = 0;
    for (int axis = s->rank - 1; axis >= 0; axis--) {
        index[axis] = k % s->n[axis];
        k /= s->n[axis];
    }
    for (int axis = 0; axis < s->rank; axis++)
        if (!(axes >> axis & 1)) place = place * s->n[axis] + index[axis];
    return place;
}

static void check_folds(const struct shape *s, const char *schedule)
{
    static inputs in;
    static float got[MAX_COUNT][2];
    make_inputs(&in, s);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    bool has_both = test_tier_is_full() || strcmp(schedule, "ref") == 0; /* else sums and means by turns */
    for (unsigned axes = 1; axes < 1u << s->rank; axes++)
        for (unsigned is_mean = 0; is_mean < 2; is_mean++) {
            char text[64];
            if (!has_both && is_mean != axes % 2) continue;
            int n = snprintf(text, sizeof text, "%s($1, axis=[", is_mean ? "mean" : "sum");
            int64_t left = 1, folded = 1;
            for (int axis = 0; axis < s->rank; axis++) {
                if (axes >> axis & 1) n += snprintf(text + n, sizeof text - (size_t)n, "%d ", axis);
                *(axes >> axis & 1 ? &folded : &left) *= s->n[axis];
            }
            snprintf(text + n, sizeof text - (size_t)n, "])");
            imgpar_array *a = imgpar_apply(ctx, text, in.array, 1);
            ck_assert_msg(imgpar_array_read(a, got, (size_t)left * 8) == IMGPAR_OK, "%s: %s", text,
                          imgpar_array_message(a));
            number want[MAX_COUNT] = { 0 };
            for (int64_t k = 0; k < count_of(s); k++)
                want[folded_place(s, k, axes)] += z_of(&in, 0, k) / (is_mean ? (double)folded : 1);
            for (int64_t k = 0; k < left; k++) {
                number z = CMPLX((double)got[k][0], (double)got[k][1]);
                ck_assert_msg(cabs(z - want[k]) < 1e-5, "%s: element %lld of %d axes is %g%+gi, must be %g%+gi", text,
                              (long long)k, s->rank, creal(z), cimag(z), creal(want[k]), cimag(want[k]));
            }
            imgpar_array_release(a);
        }
    free_inputs(&in);
}

START_TEST(sums_and_means_are_taken_part_by_part)
{
    for (int k = 0; k < N_SHAPES; k++)
        check_folds(&shapes[k], "ref");
    if (!has_device) return;
    check_folds(&shapes[2], "auto");
    if (test_tier_is_full()) check_folds(&shapes[4], "auto");
}
END_TEST

/* ---- linear operations and folds, on [H, W] and [W, H] ---------------------------------------------------- */

enum { H = 5, W = 7 };
static number at(const inputs *in, int which, int y, int x) { return z_of(in, which, y * W + x); }

static number of_cumsum(const inputs *in, int y, int x)
{
    number sum = 0;
    for (int k = 0; k <= x; k++)
        sum += at(in, 0, y, k);
    return sum;
}
static number of_scan(const inputs *in, int y, int x)
{
    number sum = 0;
    for (int k = y + 1; k < H; k++)
        sum += at(in, 0, k, x);
    return sum;
}
static number of_take(const inputs *in, int y, int x) { return at(in, 0, H - 1 - y, x); }
static number of_gone(const inputs *in, int y, int x) { return (void)in, (void)y, (void)x, 5; }
static number of_matmul(const inputs *in, int y, int x)
{
    number sum = 0;
    for (int k = 0; k < W; k++)
        sum += at(in, 0, y, k) * at(in, 1, x, k);
    return sum;
}
static number of_matmul_real(const inputs *in, int y, int x)
{
    number sum = 0;
    for (int k = 0; k < W; k++)
        sum += at(in, 0, y, k) * (double)in->r[x * W + k];
    return sum;
}
static number of_box(const inputs *in, int y, int x)
{
    number sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            bool inside = y + dy >= 0 && y + dy < H && x + dx >= 0 && x + dx < W;
            sum += inside ? at(in, 0, y + dy, x + dx) : 2;
        }
    return sum / 9;
}
static number of_convolve(const inputs *in, int y, int x)
{
    return (at(in, 0, y, x ? x - 1 : 0) - at(in, 0, y, x < W - 1 ? x + 1 : x)) / 2 + 3;
}
static number of_around(const inputs *in, int y, int x) { return at(in, 0, y ? y - 1 : 0, x) + at(in, 0, y, x); }
static number of_wave(const inputs *in, int y, int x)
{
    number state = 0;
    for (int k = 0; k <= x; k++)
        state = 0.25 * at(in, 0, y, k) + 0.5 * state;
    return state;
}
static number of_dot(const inputs *in, int y, int x)
{
    number sum = 0;
    (void)x;
    for (int k = 0; k < W; k++)
        sum += at(in, 0, y, k) * at(in, 1, y, k);
    return sum;
}
static number of_prod(const inputs *in, int y, int x)
{
    number product = 1;
    (void)x;
    for (int k = 0; k < W; k++)
        product *= at(in, 0, y, k) / 3;
    return product;
}
static number of_prod_all(const inputs *in, int y, int x)
{
    number product = 1;
    (void)y, (void)x;
    for (int k = 0; k < H * W; k++)
        product *= z_of(in, 0, k) / 3;
    return product;
}
static number of_norm(const inputs *in, int y, int x)
{
    double sum = 0;
    (void)y;
    for (int k = 0; k < H; k++)
        sum += creal(at(in, 0, k, x) * conj(at(in, 0, k, x)));
    return sqrt(sum);
}
static number of_norm_max(const inputs *in, int y, int x)
{
    double most = 0;
    (void)y, (void)x;
    for (int k = 0; k < H * W; k++)
        most = fmax(most, cabs(z_of(in, 0, k)));
    return most;
}
static number of_no(const inputs *in, int y, int x) { return (void)in, (void)y, (void)x, 0; }
static number of_yes(const inputs *in, int y, int x) { return (void)in, (void)y, (void)x, 1; }

static const struct whole_claim {
    const char *text;
    int64_t shape[2]; /* rows and columns of the elements */
    number (*of)(const inputs *in, int y, int x);
    imgpar_dtype dtype;
} whole_claims[] = {
    { "cumsum($1, axis=1)", { H, W }, of_cumsum, IMGPAR_COMPLEX64 },
    { "scan($1, \"sum\", axis=0, exclusive=true, reverse=true)", { H, W }, of_scan, IMGPAR_COMPLEX64 },
    { "take($1, arange(4, -1, -1))", { H, W }, of_take, IMGPAR_COMPLEX64 },
    { "take($1, full([2], 9, dtype=i32), axis=1, border=constant, cval=5)", { H, 2 }, of_gone, IMGPAR_COMPLEX64 },
    { "at($1, H - 1 - y, x)", { H, W }, of_take, IMGPAR_COMPLEX64 },
    { "at3d(expand_dims($1, 0), 0.5, H - 1 - y, x, filter=linear)", { H, W }, of_take, IMGPAR_COMPLEX64 },
    { "take_along_axis($1, tile(reshape(arange(4, -1, -1), [5 1]), [1 7]), axis=0)",
      { H, W },
      of_take,
      IMGPAR_COMPLEX64 },
    { "matmul($1, transpose($2))", { H, H }, of_matmul, IMGPAR_COMPLEX64 },
    { "matmul($1, transpose($3))", { H, H }, of_matmul_real, IMGPAR_COMPLEX64 },
    { "boxblur($1, border=constant, cval=2)", { H, W }, of_box, IMGPAR_COMPLEX64 },
    { "convolve($1, [1 0 -1], 2, 3)", { H, W }, of_convolve, IMGPAR_COMPLEX64 },
    { "convolve_by($1, numbers([1 0 -1]), 2, 3)", { H, W }, of_convolve, IMGPAR_COMPLEX64 },
    { "convolve($3, complex(numbers([0 2 1]), numbers([1 0 -1]))) - complex(convolve($3, [0 2 1]), convolve($3, [1 0 "
      "-1]))",
      { H, W },
      of_no,
      IMGPAR_COMPLEX64 },
    { "neighbours($1, [-1 0; 0 0], fold=sum)", { H, W }, of_around, IMGPAR_COMPLEX64 },
    { "recursive($1, [0.25], [-0.5], axis=1, start=zero)", { H, W }, of_wave, IMGPAR_COMPLEX64 },
    { "dot($1, $2, axis=1)", { H, 1 }, of_dot, IMGPAR_COMPLEX64 },
    { "prod($1 / 3, axis=1)", { H, 1 }, of_prod, IMGPAR_COMPLEX64 },
    { "prod($1 / 3, keepdims=true)", { 1, 1 }, of_prod_all, IMGPAR_COMPLEX64 },
    { "prod(slice($1, 0, 0), axis=0)", { W, 1 }, of_yes, IMGPAR_COMPLEX64 },
    { "blur($1, 1) - complex(blur(real($1), 1), blur(imag($1), 1))", { H, W }, of_no, IMGPAR_COMPLEX64 },
    { "fastblur(complex(full([5 7], 3), $3), 4) - complex(full([5 7], 3), fastblur($3, 4))",
      { H, W },
      of_no,
      IMGPAR_COMPLEX64 },
    { "convsep($1, [1], [1 0 -1], 2, 3)", { H, W }, of_convolve, IMGPAR_COMPLEX64 },
    { "resize(full([3 3], 5, dtype=complex64), 2, 5)", { H, 2 }, of_gone, IMGPAR_COMPLEX64 },
    { "recomb($1, [2]) - $1 - $1", { H, W }, of_no, IMGPAR_COMPLEX64 },
    { "set_white($1, 0) - $1", { H, W }, of_no, IMGPAR_COMPLEX64 },
    { "matprod(slice($1, [0 0], [3 3]), complex(0, eye(3))) - slice($1, [0 0], [3 3]) * complex(0, 1)",
      { 3, 3 },
      of_no,
      IMGPAR_COMPLEX64 },
    { "norm($1, axis=0)", { 1, W }, of_norm, IMGPAR_F32 },
    { "norm($1, kind=max)", { 1, 1 }, of_norm_max, IMGPAR_F32 },
    { "any($1 * 0, axis=1)", { H, 1 }, of_no, IMGPAR_BOOL },
    { "all(complex(0, imag($1)))", { 1, 1 }, of_yes, IMGPAR_BOOL },
};

/* Views, transforms, sums and means have tests of their own. */
START_TEST(every_operation_on_complex_numbers_has_a_claim)
{
    static const char *const elsewhere = " cast crop flip transpose sum mean ";
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        char word[64];
        snprintf(word, sizeof word, " %s ", op->name);
        bool found = !strcmp(op->category, "array") || !strcmp(op->category, "transform") || strstr(elsewhere, word) ||
                     !strcmp(op->name, "pow");
        for (size_t c = 0; c < N_CLAIMS && !found; c++)
            found = strstr(claims[c].text, op->name) != NULL;
        for (size_t c = 0; c < sizeof whole_claims / sizeof *whole_claims && !found; c++)
            found = strstr(whole_claims[c].text, op->name) != NULL;
        ck_assert_msg(found || !op->takes_complex, "no claim for %s", op->name);
        ck_assert_msg(!op->takes_complex || op->n_inputs > 0, "%s has no inputs", op->name);
    }
}
END_TEST

static void check_whole_claims(bool is_wide)
{
    enum { N = sizeof whole_claims / sizeof *whole_claims };
    static inputs in;
    static double bytes[MAX_COUNT][2];
    const double slack = is_wide ? 1e-14 : 2e-6;
    make_inputs(&in, &shapes[1]);
    if (is_wide) widen_inputs(&in);
    for (int is_device = 0; is_device <= has_device; is_device++) {
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", is_device ? "auto" : "ref"), IMGPAR_OK);
        for (int c = 0; c < N; c++) {
            const struct whole_claim *claim = &whole_claims[c];
            const imgpar_dtype dtype = is_wide ? widened(claim->dtype) : claim->dtype;
            char text[160];
            if (is_wide && strstr(claim->text, "complex64")) continue;
            imgpar_info info = { .struct_size = sizeof info };
            snprintf(text, sizeof text, "H = %d\n%s", H, claim->text);
            imgpar_array *a = imgpar_apply(ctx, text, in.array, N_IN);
            ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", claim->text, imgpar_array_message(a));
            int64_t n = claim->shape[0] * claim->shape[1];
            ck_assert_msg(info.dtype == dtype && info.size_bytes == (size_t)n * imgpar_dtype_size(dtype),
                          "%s is %s, %zu bytes", claim->text, imgpar_dtype_name(info.dtype), info.size_bytes);
            ck_assert_msg(imgpar_array_read(a, bytes, info.size_bytes) == IMGPAR_OK, "%s: %s", claim->text,
                          imgpar_array_message(a));
            for (int64_t k = 0; k < n; k++) {
                number got = element(info.dtype, bytes, k),
                       want = claim->of(&in, (int)(k / claim->shape[1]), (int)(k % claim->shape[1]));
                ck_assert_msg(cabs(got - want) <= slack * (50 + cabs(want)),
                              "%s: element %lld is %g%+gi, must be %g%+gi", claim->text, (long long)k, creal(got),
                              cimag(got), creal(want), cimag(want));
            }
            imgpar_array_release(a);
        }
    }
    free_inputs(&in);
}

START_TEST(linear_operations_and_folds_take_complex_numbers)
{
    check_whole_claims(false);
    check_whole_claims(true);
}
END_TEST

/* ---- the rest of the library ------------------------------------------------------------------------------ */

/* w = w^2 + c, four hundred times: too long to be written out. */
START_TEST(loops_carry_complex_numbers)
{
    static const float c[2][2] = { { -0.12f, 0.74f }, { 0.3f, 0.02f } };
    float got[2][2];
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_COMPLEX64, 1, (int64_t[]){ 2 }, c);
    imgpar_array *a = imgpar_apply(ctx, "iterate($1, 400, _ * _ * 0.5 + $1)", &in, 1);
    ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(a));
    for (int k = 0; k < 2; k++) {
        number z = CMPLX((double)c[k][0], (double)c[k][1]), w = z;
        for (int i = 0; i < 400; i++)
            w = w * w * 0.5 + z;
        check_near("iterate", k, CMPLX((double)got[k][0], (double)got[k][1]), w, 200);
    }
    imgpar_array_release(in);
    imgpar_array_release(a);
}
END_TEST

START_TEST(neighbours_are_read_by_border_rules)
{
    static inputs in;
    static float got[MAX_COUNT][2];
    const struct shape *s = &shapes[1];
    int64_t h = s->n[0], w = s->n[1];
    make_inputs(&in, s);
    static const char *const texts[] = {
        "stencil($1[-1, 0] + $1[0, 2], border=constant, cval=5)",
        "stencil(($1 * $1)[-1, 0] + ($1 * $1)[0, 2], border=constant, cval=5)",
        "stencil($1[-1, 0], border=constant, cval=5) + stencil($1[0, 2], border=constant, cval=5)",
    };
    for (int t = 0; t < 3; t++) {
        imgpar_array *a = imgpar_apply(ctx, texts[t], in.array, 1);
        ck_assert_msg(imgpar_array_read(a, got, (size_t)(h * w) * 8) == IMGPAR_OK, "%s", imgpar_array_message(a));
        for (int64_t k = 0; k < h * w; k++) {
            number up = k >= w ? z_of(&in, 0, k - w) : 5, right = k % w + 2 < w ? z_of(&in, 0, k + 2) : 5;
            if (t == 1) up = k >= w ? up * up : up, right = k % w + 2 < w ? right * right : right;
            check_near(texts[t], k, CMPLX((double)got[k][0], (double)got[k][1]), up + right, 8);
        }
        imgpar_array_release(a);
    }
    free_inputs(&in);
}
END_TEST

/* The value beyond the border is real, however it is written and whichever input is complex; so is an offset. */
START_TEST(what_lies_beyond_the_border_is_real)
{
    static inputs in;
    static float got[MAX_COUNT][2];
    const struct shape *s = &shapes[1];
    const int64_t h = s->n[0], w = s->n[1];
    make_inputs(&in, s);
    static const struct {
        const char *text;
        number left, middle;
        bool is_real;
    } rows[] = {
        { "convolve($1, [3 2 0], border=constant, cval=5)", 3, 2, false },
        { "convolve($1, [3 2 0], border=constant, cval=[5])", 3, 2, false },
        { "convolve($1, [3 2 0], border=constant, cval=5, offset=7) - 7", 3, 2, false },
        { "convolve_by($1, complex(reshape(numbers([3 2 0]), [1 3]), reshape(numbers([1 4 0]), [1 3])), "
          "border=constant, cval=5)",
          CMPLX(3, 1), CMPLX(2, 4), false },
        { "convolve_by(real($1), complex(reshape(numbers([3 2 0]), [1 3]), reshape(numbers([1 4 0]), [1 3])), "
          "border=constant, cval=5)",
          CMPLX(3, 1), CMPLX(2, 4), true },
    };
    for (size_t t = 0; t < sizeof rows / sizeof *rows; t++) {
        imgpar_array *a = imgpar_apply(ctx, rows[t].text, in.array, 1);
        ck_assert_msg(imgpar_array_read(a, got, (size_t)(h * w) * 8) == IMGPAR_OK, "%s", imgpar_array_message(a));
        for (int64_t k = 0; k < h * w; k++) {
            number left = k % w > 0 ? z_of(&in, 0, k - 1) : 5, middle = z_of(&in, 0, k);
            if (rows[t].is_real) left = creal(left), middle = creal(middle);
            check_near(rows[t].text, k, CMPLX((double)got[k][0], (double)got[k][1]),
                       left * rows[t].left + middle * rows[t].middle, 40);
        }
        imgpar_array_release(a);
    }
    free_inputs(&in);
}
END_TEST

/* Real numbers of any dtype become complex beside complex ones, and what a view adds is real. */
START_TEST(views_join_real_and_complex_numbers)
{
    static const float z[2][2] = { { 1, 2 }, { 3, 4 } };
    static const struct {
        const char *text;
        float want[4][2];
    } joins[] = {
        { "concatenate($1, arange(5, 7))", { { 1, 2 }, { 3, 4 }, { 5, 0 }, { 6, 0 } } },
        { "concatenate(arange(5, 7, dtype=u8) > 5, $1)", { { 0, 0 }, { 1, 0 }, { 1, 2 }, { 3, 4 } } },
        { "concatenate(cast(arange(5, 7), f16), $1)", { { 5, 0 }, { 6, 0 }, { 1, 2 }, { 3, 4 } } },
        { "pad($1, 1, cval=7)", { { 7, 0 }, { 1, 2 }, { 3, 4 }, { 7, 0 } } },
        { "pad(slice($1, 0, 0), 2, cval=7)", { { 7, 0 }, { 7, 0 }, { 7, 0 }, { 7, 0 } } },
        { "reshape(diag($1), [4])", { { 1, 2 }, { 0, 0 }, { 0, 0 }, { 3, 4 } } },
        { "full([4], 3, dtype=complex64)", { { 3, 0 }, { 3, 0 }, { 3, 0 }, { 3, 0 } } },
    };
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_COMPLEX64, 1, (int64_t[]){ 2 }, z);
    for (size_t k = 0; k < sizeof joins / sizeof *joins; k++) {
        float got[4][2];
        imgpar_array *a = imgpar_apply(ctx, joins[k].text, &in, 1);
        ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s: %s", joins[k].text,
                      imgpar_array_message(a));
        for (int i = 0; i < 4; i++)
            ck_assert_msg(got[i][0] == joins[k].want[i][0] && got[i][1] == joins[k].want[i][1],
                          "%s: element %d is %g%+gi", joins[k].text, i, (double)got[i][0], (double)got[i][1]);
        imgpar_array_release(a);
    }
    imgpar_array_release(in);
}
END_TEST

START_TEST(c_functions_make_and_take_them)
{
    static inputs in;
    float got[37];
    make_inputs(&in, &shapes[0]);
    imgpar_array *re = imgpar_real(in.array[0]), *im = imgpar_imag(in.array[0]), *z = imgpar_complex(re, im);
    imgpar_array *same = imgpar_op(ctx, "conj", &z, 1, NULL), *length = imgpar_abs(same);
    ck_assert_int_eq(imgpar_array_read(length, got, sizeof got), IMGPAR_OK);
    for (int k = 0; k < 37; k++)
        check_near("abs", k, (double)got[k], cabs(z_of(&in, 0, k)), 4);
    ck_assert_str_eq(imgpar_dtype_name(IMGPAR_COMPLEX64), "complex64");
    ck_assert_uint_eq(imgpar_dtype_size(IMGPAR_COMPLEX64), 8);
    imgpar_array *const all[] = { re, im, z, same, length };
    for (int k = 0; k < 5; k++)
        imgpar_array_release(all[k]);
    free_inputs(&in);
}
END_TEST

/* The same in double precision: every claim of complex64, its inputs cast, within as many units of 2^-53, and what is
 * beside f64. */
START_TEST(complex128_computes_in_double)
{
    static inputs in;
    static double bytes[MAX_COUNT][2];
    const int64_t n = count_of(&shapes[2]);
    make_inputs(&in, &shapes[2]);
    widen_inputs(&in);
    for (int is_device = 0; is_device <= has_device; is_device++) {
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", is_device ? "auto" : "ref"), IMGPAR_OK);
        for (int c = 0; c < N_CLAIMS; c++) {
            if (strstr(claims[c].text, "complex64")) continue;
            imgpar_info info = { .struct_size = sizeof info };
            imgpar_array *a = imgpar_apply(ctx, claims[c].text, in.array, N_IN);
            ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", claims[c].text, imgpar_array_message(a));
            ck_assert_msg(info.dtype == widened(claims[c].dtype), "%s is %s", claims[c].text,
                          imgpar_dtype_name(info.dtype));
            ck_assert_msg(imgpar_array_read(a, bytes, info.size_bytes) == IMGPAR_OK, "%s: %s", claims[c].text,
                          imgpar_array_message(a));
            for (int64_t k = 0; k < n; k++)
                check_near(claims[c].text, k, element(info.dtype, bytes, k),
                           claims[c].of(z_of(&in, 0, k), z_of(&in, 1, k), (double)in.r[k]),
                           (claims[c].slack + 2) * 0x1p-29);
            imgpar_array_release(a);
        }
    }
    free_inputs(&in);
}
END_TEST

static int kernels_of(const char *text, imgpar_array *const *in, size_t n)
{
    char *json;
    int count = 0;
    imgpar_array *a = imgpar_apply(ctx, text, in, n);
    ck_assert_msg(imgpar_explain(&a, 1, "json", &json) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    for (const char *at = json; (at = strstr(at, "{\"name\": ")); at++)
        count++;
    imgpar_free(json);
    imgpar_array_release(a);
    return count;
}

/* As beside any array: a number that is written is f32, and does not widen what it meets. */
START_TEST(numbers_that_are_written_widen_nothing)
{
    static const struct {
        const char *text;
        imgpar_dtype dtype;
        double re, im;
    } rows[] = {
        { "complex(0.1, 0.2)", IMGPAR_COMPLEX64, (double)0.1F, (double)0.2F },
        { "complex(0.1, 0.2) * full([1], 2)", IMGPAR_COMPLEX64, (double)0.2F, (double)0.4F },
        { "complex(full([1], 0.1, dtype=f64), 0.2)", IMGPAR_COMPLEX128, 0.1, 0.2 },
        { "complex(0.1, full([1], 0.2, dtype=f64))", IMGPAR_COMPLEX128, 0.1, 0.2 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double bytes[2] = { 0 };
        imgpar_array *a = imgpar_apply(ctx, rows[k].text, NULL, 0);
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", rows[k].text, imgpar_array_message(a));
        ck_assert_msg(info.dtype == rows[k].dtype, "%s is %s", rows[k].text, imgpar_dtype_name(info.dtype));
        ck_assert_int_eq(imgpar_array_read(a, bytes, info.size_bytes), IMGPAR_OK);
        const number z = element(info.dtype, bytes, 0);
        ck_assert_msg(creal(z) == rows[k].re && cimag(z) == rows[k].im, "%s is %.17g%+.17gi", rows[k].text, creal(z),
                      cimag(z));
        imgpar_array_release(a);
    }
}
END_TEST

START_TEST(complex_numbers_fuse_as_real_ones_do)
{
    static const char *const one[] = {
        "abs($1 * $2 / conj($1) - 1)", "iterate($1, 9, _ * _ + $2)", "real($1) + imag($2)",
        "reverse($1 + $2, [0]) + $3",  "complex(real($1) ** 2, $3)",
    };
    static inputs in;
    for (int s = 1; s < 5; s++) {
        make_inputs(&in, &shapes[s]);
        for (size_t k = 0; k < sizeof one / sizeof *one && is_cpu; k++)
            ck_assert_msg(kernels_of(one[k], in.array, N_IN) == 1, "%s of %d axes: %d kernels", one[k], shapes[s].rank,
                          kernels_of(one[k], in.array, N_IN));
        free_inputs(&in);
    }
}
END_TEST

START_TEST(what_has_no_meaning_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "$1 < $2", "<: a is complex64; it must be real, as abs(), real() and imag() of it are" },
        { "$3 <= $2", "<=: b is complex64" },
        { "min($1, 1)", "min: a is complex64" },
        { "sort($1)", "sort: a is complex64" },
        { "$1 % 2", "%: a is complex64" },
        { "$1 & 1", "&: a is complex64" },
        { "!$1", "!: a is complex64" },
        { "tan($1)", "tan: a is complex64" },
        { "floor($1)", "floor: a is complex64" },
        { "complex($1, 0)", "complex: re is complex64" },
        { "cast($1, f32)", "cast: a is complex64" },
        { "select($1, 1, 2)", "select: cond is complex64" },
        { "minval($1)", "minval: a is complex64" },
        { "stddev($1)", "stddev: a is complex64" },
        { "cumprod($1)", "cumprod: a is complex64" },
        { "scan($1, \"max\")", "scan: a is complex64" },
        { "median($1)", "median: a is complex64" },
        { "add($1, 1)", "add: a is complex64" },
        { "erode($1)", "erode: a is complex64" },
        { "cummax($1)", "cummax: a is complex64" },
        { "histogram($1)", "histogram: a is complex64" },
        { "threshold($3, mean($1))", "threshold: a parameter is complex64" },
        { "take($1, $3)", "take: indices is f32" },
        { "take($3, $1)", "take: indices is complex64" },
        { "at($1, $1, x)", "at: y is complex64" },
        { "neighbours($1, [0], fold=max)", "neighbours: a is complex64" },
        { "reduce($1, 0, (p, q) -> p + q)", "would fold complex numbers" },
        { "iterate($1, 100, _ + 1, until = sum(_))", "until must be one number" },
    };
    static inputs in;
    make_inputs(&in, &shapes[1]);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(ctx, refusals[k].text, in.array, N_IN);
        ck_assert_msg(imgpar_array_status(bad) != IMGPAR_OK, "%s is not refused", refusals[k].text);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s: %s", refusals[k].text,
                      imgpar_array_message(bad));
        imgpar_array_release(bad);
    }
    static const char *const pictures[] = { "complex.png", "complex.jpg", "complex.ppm" };
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(imgpar_save(in.array[0], pictures[k], NULL), IMGPAR_E_UNSUPPORTED);
        ck_assert_msg(strstr(imgpar_array_message(in.array[0]), "holds no complex numbers"), "%s",
                      imgpar_array_message(in.array[0]));
    }
    free_inputs(&in);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("complex");
    TCase *c = tcase_create("complex");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, arithmetic_is_that_of_complex_numbers);
    tcase_add_test(c, every_operation_on_complex_numbers_has_a_claim);
    tcase_add_test(c, schedules_compute_complex_numbers);
    tcase_add_test(c, large_and_small_numbers_do_not_overflow);
    tcase_add_test(c, sums_and_means_are_taken_part_by_part);
    tcase_add_test(c, linear_operations_and_folds_take_complex_numbers);
    tcase_add_test(c, loops_carry_complex_numbers);
    tcase_add_test(c, neighbours_are_read_by_border_rules);
    tcase_add_test(c, what_lies_beyond_the_border_is_real);
    tcase_add_test(c, views_join_real_and_complex_numbers);
    tcase_add_test(c, c_functions_make_and_take_them);
    tcase_add_test(c, numbers_that_are_written_widen_nothing);
    tcase_add_test(c, complex_numbers_fuse_as_real_ones_do);
    tcase_add_test(c, what_has_no_meaning_is_refused);
    tcase_add_test(c, complex128_computes_in_double);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
