/* SPDX-License-Identifier: MIT */
/*
 * Fourier transforms: against the sum that defines them, in double, for every kind of length, along every axis of ranks
 * 1 to 5, by the interpreter, on the device by vectors and by groups; and what is true of them whatever the length.
 */
#include "held.h"

#include "ops/build.h"
#include "ops/row_functions.h"
#include "asserts.h"
#include "cmplx.h"

#include <imgpar.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef double complex number;

static imgpar_context *ctx;

/* "pixels" is how GPUs compute it: in groups. */
static const char *const schedules[] = { "ref", "auto", "pixels" };
static int n_schedules;

static void setup(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    n_schedules = strcmp(imgpar_context_device(ctx)->kind, "ref") == 0 ? 1 : 3;
}

static void teardown(void) { imgpar_context_release(ctx); }

typedef struct shape {
    int rank;
    int64_t n[5];
} shape;

static int64_t count_of(const shape *s)
{
    int64_t n = 1;
    for (int k = 0; k < s->rank; k++)
        n *= s->n[k];
    return n;
}

/* Between -1 and 1, the same for a seed. */
static float (*noise(int64_t n, unsigned seed))[2]
{
    float(*z)[2] = malloc((size_t)n * sizeof *z);
    ck_assert_ptr_nonnull(z);
    for (int64_t k = 0; k < 2 * n; k++) {
        seed = seed * 1664525u + 1013904223u;
        z[k / 2][k % 2] = (float)((double)seed / 2147483648.0 - 1);
    }
    return z;
}

static imgpar_array *array_of(const shape *s, float (*z)[2])
{
    return imgpar_array_from_data(ctx, IMGPAR_COMPLEX64, s->rank, s->n, z);
}

/* The value of text over one array, new; fails the test on an error. */
static float (*computed(const char *text, imgpar_array *in, const char *schedule, int64_t n))[2]
{
    float(*out)[2] = malloc((size_t)n * sizeof *out);
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    imgpar_array *a = imgpar_apply(ctx, text, &in, 1);
    ck_assert_msg(imgpar_array_read(a, out, (size_t)n * sizeof *out) == IMGPAR_OK, "%s: %s", text,
                  imgpar_array_message(a));
    imgpar_array_release(a);
    return out;
}

/* The definition, along one axis; sign -1 forward, 1 inverse (without the division). */
static number *defined(const shape *s, const number *x, int axis, int sign)
{
    int64_t n = s->n[axis], inner = 1, count = count_of(s);
    for (int k = axis + 1; k < s->rank; k++)
        inner *= s->n[k];
    number *roots = malloc((size_t)n * sizeof *roots), *y = calloc((size_t)count, sizeof *y);
    ck_assert(roots && y);
    for (int64_t k = 0; k < n; k++)
        roots[k] = cexp(CMPLX(0, sign * 2 * M_PI * (double)k / (double)n));
    for (int64_t at = 0; at < count; at++) {
        int64_t k = at / inner % n, first = at - k * inner;
        for (int64_t j = 0; j < n; j++)
            y[at] += x[first + j * inner] * roots[j * k % n];
    }
    free(roots);
    return y;
}

/* The tolerance of the rows: 2^-21 log2(n) of the root of the sum of squares; lines here are noise, all alike. */
static double allowed(int64_t n, double factor)
{
    return ldexp(fmax(log2((double)n), 1), -21) * sqrt((double)n * 2 / 3) * 1.5 * factor;
}

static void expect_near(float (*got)[2], const number *want, int64_t count, double slack, const char *what,
                        const char *schedule)
{
    for (int64_t k = 0; k < count; k++) {
        number z = CMPLX((double)got[k][0], (double)got[k][1]);
        ck_assert_msg(cabs(z - want[k]) <= slack,
                      "%s, schedule %s: element %lld is %.9g%+.9gi, must be %.9g%+.9gi within %g", what, schedule,
                      (long long)k, creal(z), cimag(z), creal(want[k]), cimag(want[k]), slack);
    }
}

static number *numbers(float (*z)[2], int64_t n)
{
    number *x = malloc((size_t)n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t k = 0; k < n; k++)
        x[k] = CMPLX((double)z[k][0], (double)z[k][1]);
    return x;
}

static void check_axis(const shape *s, int axis)
{
    int64_t count = count_of(s);
    float(*z)[2] = noise(count, (unsigned)count);
    number *x = numbers(z, count), *want[2] = { defined(s, x, axis, -1), defined(s, x, axis, 1) };
    imgpar_array *a = array_of(s, z);
    for (int64_t k = 0; k < count; k++)
        want[1][k] /= (double)s->n[axis];
    for (int k = 0; k < 2 * n_schedules; k++) {
        char text[32];
        snprintf(text, sizeof text, "%s($1, axis=%d)", k % 2 ? "ifft" : "fft", axis);
        float(*got)[2] = computed(text, a, schedules[k / 2], count);
        expect_near(got, want[k % 2], count, allowed(s->n[axis], k % 2 ? 1 / (double)s->n[axis] : 1), text,
                    schedules[k / 2]);
        free(got);
    }
    imgpar_array_release(a);
    free(want[0]);
    free(want[1]);
    free(x);
    free(z);
}

/* Every radix, squares and cubes of each, mixed ones, and the longest line that is not split; then what has other prime
 * factors, and is padded. */
static const int lengths[] = { 1,  2,  3,  4,  5,  6,  7,   8,   9,   10,  12,  14,  15,  16,   21,   25,   27,
                               28, 35, 36, 49, 60, 64, 105, 125, 128, 210, 243, 256, 343, 420,  1000, 1024, 2048,
                               11, 13, 17, 19, 22, 23, 31,  97,  101, 121, 127, 509, 646, 1009, 1023, 3027 };

START_TEST(every_length_gives_the_defined_sum)
{
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        check_axis(&(shape){ 1, { lengths[k] } }, 0);
}
END_TEST

static const struct {
    shape s;
    int axis;
} batched[] = {
    { { 2, { 37, 12 } }, 1 },         { { 2, { 12, 37 } }, 0 },         { { 2, { 1, 30 } }, 1 },
    { { 2, { 30, 1 } }, 0 },          { { 3, { 6, 10, 3 } }, 2 },       { { 3, { 6, 10, 3 } }, 0 },
    { { 3, { 11, 10, 3 } }, 1 },      { { 3, { 5, 7, 20 } }, 0 },       { { 3, { 5, 7, 20 } }, 1 },
    { { 3, { 5, 7, 20 } }, 2 },       { { 4, { 4, 3, 5, 2 } }, 0 },     { { 4, { 4, 3, 5, 2 } }, 1 },
    { { 4, { 4, 3, 5, 2 } }, 2 },     { { 4, { 4, 3, 5, 2 } }, 3 },     { { 4, { 2, 3, 2, 14 } }, 3 },
    { { 2, { 11, 12 } }, 0 },         { { 2, { 12, 11 } }, 1 },         { { 2, { 1, 19 } }, 1 },
    { { 2, { 19, 1 } }, 0 },          { { 3, { 13, 5, 3 } }, 0 },       { { 3, { 5, 13, 3 } }, 1 },
    { { 3, { 11, 5, 17 } }, 0 },      { { 3, { 11, 5, 17 } }, 2 },      { { 4, { 2, 3, 11, 2 } }, 2 },
    { { 4, { 2, 3, 2, 11 } }, 3 },    { { 5, { 2, 11, 3, 4, 5 } }, 1 }, { { 5, { 11, 2, 3, 2, 3 } }, 0 },
    { { 5, { 2, 2, 3, 11, 2 } }, 3 }, { { 5, { 2, 2, 2, 3, 11 } }, 4 },
};

START_TEST(any_axis_of_any_rank_is_transformed)
{
    for (size_t k = 0; k < sizeof batched / sizeof *batched; k++)
        check_axis(&batched[k].s, batched[k].axis);
}
END_TEST

/* Lines that are split into two passes, alone, side by side and one after the other. */
static const struct {
    shape s;
    int axis;
} split[] = {
    { { 1, { 2058 } }, 0 },
    { { 1, { 4096 } }, 0 },
    { { 2, { 3, 2500 } }, 1 },
    { { 2, { 2520, 5 } }, 0 },
};

START_TEST(long_lines_give_the_defined_sum)
{
    for (size_t k = 0; k < sizeof split / sizeof *split; k++)
        check_axis(&split[k].s, split[k].axis);
}
END_TEST

START_TEST(the_inverse_undoes_the_transform)
{
    static const shape shapes[] = { { 1, { 36000 } },       { 1, { 65536 } },    { 1, { 65537 } },
                                    { 2, { 25, 1260 } },    { 2, { 101, 509 } }, { 3, { 9, 15, 3 } },
                                    { 4, { 2, 14, 20, 2 } } };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        int64_t n = count_of(&shapes[k]);
        float(*z)[2] = noise(n, 7);
        number *x = numbers(z, n);
        imgpar_array *a = array_of(&shapes[k], z);
        for (int s = 0; s < n_schedules; s++)
            for (int two = 0; two < (shapes[k].rank > 1) + 1; two++) {
                const char *text = two ? "ifft2(fft2($1))" : "ifft(fft($1))";
                float(*got)[2] = computed(text, a, schedules[s], n);
                expect_near(got, x, n, 2e-6, text, schedules[s]);
                free(got);
            }
        imgpar_array_release(a);
        free(x);
        free(z);
    }
}
END_TEST

/* Rows and columns, whatever else the shape has; of real numbers. */
START_TEST(fft2_transforms_rows_and_columns)
{
    static const struct {
        shape s;
        int y, x;
    } planes[] = {
        { { 2, { 14, 20 } }, 0, 1 },      { { 3, { 14, 20, 3 } }, 0, 1 }, { { 3, { 3, 14, 20 } }, 1, 2 },
        { { 4, { 2, 6, 10, 3 } }, 1, 2 }, { { 2, { 17, 20 } }, 0, 1 },    { { 3, { 23, 31, 3 } }, 0, 1 },
    };
    for (size_t k = 0; k < sizeof planes / sizeof *planes; k++) {
        const shape *s = &planes[k].s;
        int64_t n = count_of(s);
        float(*z)[2] = noise(n, 3), *real = malloc((size_t)n * sizeof *real);
        for (int64_t i = 0; i < n; i++) {
            real[i] = z[i][0];
            z[i][1] = 0;
        }
        number *x = numbers(z, n), *columns = defined(s, x, planes[k].y, -1),
               *want = defined(s, columns, planes[k].x, -1);
        imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, s->rank, s->n, real);
        for (int i = 0; i < n_schedules; i++) {
            float(*got)[2] = computed("fft2($1)", a, schedules[i], n);
            expect_near(got, want, n, allowed(s->n[planes[k].y] * s->n[planes[k].x], 1), "fft2", schedules[i]);
            free(got);
        }
        imgpar_array_release(a);
        free(want);
        free(columns);
        free(x);
        free(real);
        free(z);
    }
}
END_TEST

/* A product of transforms is the transform of the circular convolution: here with a shift. */
START_TEST(transforms_compose_with_other_operations)
{
    const shape s = { 2, { 12, 20 } };
    int64_t n = count_of(&s);
    float(*z)[2] = noise(n, 5), *moved = malloc((size_t)n * sizeof *moved);
    number *want = malloc((size_t)n * sizeof *want);
    for (int64_t k = 0; k < n; k++) {
        int64_t y = k / 20, x = k % 20, from = (y + 9) % 12 * 20 + (x + 18) % 20;
        moved[k] = k == 3 * 20 + 2;
        want[k] = CMPLX((double)z[from][0], (double)z[from][1]);
    }
    imgpar_array *in[2] = { array_of(&s, z), imgpar_array_from_data(ctx, IMGPAR_F32, 2, s.n, moved) };
    imgpar_array *a = imgpar_apply(ctx, "ifft2(fft2($1) * fft2($2))", in, 2);
    float(*got)[2] = malloc((size_t)n * sizeof *got);
    ck_assert_msg(imgpar_array_read(a, got, (size_t)n * sizeof *got) == IMGPAR_OK, "%s", imgpar_array_message(a));
    expect_near(got, want, n, 1e-5, "ifft2(fft2($1) * fft2($2))", "auto");
    imgpar_array_release(a);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    free(got);
    free(want);
    free(moved);
    free(z);
}
END_TEST

/* Of doubles: complex128, within as many units of the last place; lines beyond 1024 are split. */
START_TEST(doubles_are_transformed_in_double)
{
    static const int64_t n_of[] = { 1, 2, 7, 30, 105, 1000, 1024, 1296, 2500, 11, 127, 646, 1009, 3027 };
    for (size_t i = 0; i < sizeof n_of / sizeof *n_of; i++) {
        const shape s = { 1, { n_of[i] } };
        const int64_t n = n_of[i];
        float(*z)[2] = noise(n, 13);
        number *x = numbers(z, n), *want = defined(&s, x, 0, -1), *got = malloc((size_t)n * sizeof *got);
        imgpar_array *a = array_of(&s, z);
        for (int k = 0; k < 2 * n_schedules; k++) {
            const char *text = k % 2 ? "ifft(fft(cast($1, complex128)))" : "fft(cast($1, complex128))";
            ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[k / 2]), IMGPAR_OK);
            imgpar_array *b = imgpar_apply(ctx, text, &a, 1);
            ck_assert_msg(imgpar_array_read(b, got, (size_t)n * sizeof *got) == IMGPAR_OK, "%s: %s", text,
                          imgpar_array_message(b));
            const double slack = allowed(n, 0x1p-29) + (double)n * 1e-15;
            for (int64_t j = 0; j < n; j++)
                ck_assert_msg(cabs(got[j] - (k % 2 ? x : want)[j]) <= slack, "%s of %d, %s: element %d is off by %g",
                              text, (int)n, schedules[k / 2], (int)j, cabs(got[j] - (k % 2 ? x : want)[j]));
            imgpar_array_release(b);
        }
        imgpar_array_release(a);
        free(got);
        free(want);
        free(x);
        free(z);
    }
}
END_TEST

/* The sum of numbers of one sign is many times the root of the sum of their squares. */
START_TEST(sums_of_one_sign_are_as_exact)
{
    const shape s = { 1, { 1009 } };
    const int64_t n = s.n[0];
    float(*z)[2] = noise(n, 17);
    long double sum = 0, squares = 0;
    for (int64_t k = 0; k < n; k++) {
        z[k][0] += 3;
        z[k][1] = 0;
        sum += z[k][0];
        squares += (long double)z[k][0] * z[k][0];
    }
    number *got = malloc((size_t)n * sizeof *got);
    imgpar_array *a = array_of(&s, z);
    for (int k = 0; k < n_schedules; k++) {
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[k]), IMGPAR_OK);
        imgpar_array *b = imgpar_apply(ctx, "fft(cast($1, complex128))", &a, 1);
        ck_assert_msg(imgpar_array_read(b, got, (size_t)n * sizeof *got) == IMGPAR_OK, "%s", imgpar_array_message(b));
        const double off = cabs(got[0] - (double)sum), slack = 0x1p-50 * log2((double)n) * sqrt((double)squares);
        ck_assert_msg(off <= slack, "%s: the sum is off by %g, more than %g", schedules[k], off, slack);
        imgpar_array_release(b);
    }
    imgpar_array_release(a);
    free(got);
    free(z);
}
END_TEST

/* The longest parts of a line, which no group of a GPU holds in its local memory as doubles. There is 1 at FIRST and 2i
 * at SECOND; in each of 21 halvings a number of at most 3 meets a root whose angle below 2 pi is rounded. */
START_TEST(long_lines_of_doubles_are_transformed)
{
    enum { N = 1 << 21, FIRST = 5, SECOND = 1234567 };
    number *x = calloc(N, sizeof *x), *roots = malloc(N * sizeof *roots);
    const int64_t n = N;
    x[FIRST] = 1;
    x[SECOND] = 2 * I;
    for (int64_t k = 0; k < N; k++)
        roots[k] = cexp(-2 * I * acos(-1.0) * (double)k / N);
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_COMPLEX128, 1, &n, x);
    for (int s = 0; s < n_schedules; s++) {
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[s]), IMGPAR_OK);
        imgpar_array *b = imgpar_apply(ctx, "fft($1)", &a, 1);
        ck_assert_msg(imgpar_array_read(b, x, N * sizeof *x) == IMGPAR_OK, "%s", imgpar_array_message(b));
        for (int64_t k = 0; k < N; k++) {
            const number want = roots[FIRST * k % N] + 2 * I * roots[SECOND * k % N];
            ck_assert_msg(cabs(x[k] - want) <= 3 * 21 * 0x1p-51, "%s: element %d is off by %g", schedules[s], (int)k,
                          cabs(x[k] - want));
        }
        imgpar_array_release(b);
    }
    imgpar_array_release(a);
    free(roots);
    free(x);
}
END_TEST

/* Long lines that are padded: 7^7 is no product of two lengths that are transformed at once. The angles are whole
 * numbers of n-ths of a turn, in long double; the line's root of the sum of squares is that of 5. */
START_TEST(long_lines_of_any_length_are_transformed)
{
    enum { FIRST = 5, SECOND = 62345 };
    static const int64_t n_of[] = { 65537, 823543, 1000003 };
    for (int i = 0; i < 3; i++) {
        const int64_t n = n_of[i];
        number *x = calloc((size_t)n, sizeof *x), *want = malloc((size_t)n * sizeof *want),
               *got = malloc((size_t)n * sizeof *got);
        x[FIRST] = 1;
        x[SECOND] = 2 * I;
        for (int64_t k = 0; k < n; k++) {
            const long double turn = -2 * acosl(-1) / (long double)n, a = turn * (long double)(FIRST * k % n),
                              b = turn * (long double)(SECOND * k % n);
            want[k] = CMPLX((double)(cosl(a) - 2 * sinl(b)), (double)(sinl(a) + 2 * cosl(b)));
        }
        imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_COMPLEX128, 1, &n, x);
        for (int s = 0; s < (i ? 1 : n_schedules); s++)
            for (int of_floats = 0; of_floats < 2; of_floats++) {
                const char *text = of_floats ? "cast(fft(cast($1, complex64)), complex128)" : "fft($1)";
                const double slack = ldexp(log2((double)n), of_floats ? -21 : -50) * sqrt(5);
                ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[i ? n_schedules / 2 : s]), IMGPAR_OK);
                imgpar_array *b = imgpar_apply(ctx, text, &a, 1);
                ck_assert_msg(imgpar_array_read(b, got, (size_t)n * sizeof *got) == IMGPAR_OK, "%s",
                              imgpar_array_message(b));
                for (int64_t k = 0; k < n; k++)
                    ck_assert_msg(cabs(got[k] - want[k]) <= slack, "%s of %d: element %d is off by %g", text, (int)n,
                                  (int)k, cabs(got[k] - want[k]));
                imgpar_array_release(b);
            }
        imgpar_array_release(a);
        free(got);
        free(want);
        free(x);
    }
}
END_TEST

START_TEST(every_transform_is_tested)
{
    static const char tested[] = " fft ifft fft2 ifft2 ";
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        char word[64];
        snprintf(word, sizeof word, " %s ", op->name);
        bool is_written = ip_op_find(op->name)->expand == ip_expand_written; /* check_written.c */
        ck_assert_msg(strcmp(op->category, "transform") != 0 || strstr(tested, word) || is_written, "no test for %s",
                      op->name);
    }
}
END_TEST

/* Lines along x are transformed strip by strip where memory is short. */
START_TEST(rows_may_be_cut_by_a_memory_limit)
{
    static const shape shapes[] = { { 2, { 600, 360 } }, { 2, { 600, 361 } } };
    for (int k = 0; k < 2; k++) {
        int64_t n = count_of(&shapes[k]);
        float(*z)[2] = noise(n, 9);
        imgpar_array *a = array_of(&shapes[k], z);
        ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "0"), IMGPAR_OK);
        float(*whole)[2] = computed("fft($1 * 2)", a, "auto", n);
        ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "3M"), IMGPAR_OK);
        float(*strips)[2] = computed("fft($1 * 2)", a, "auto", n);
        ck_assert_mem_eq(whole, strips, (size_t)n * sizeof *whole);
        imgpar_array_release(a);
        free(whole);
        free(strips);
        free(z);
    }
}
END_TEST

/* The rows of a file are transformed as they are read, so that the buffer of a strip may begin with rows of the strips
 * before. Lines of 4096 are split; row y is 1 at 37 y and else 0. */
START_TEST(long_rows_of_a_file_are_transformed_as_they_are_read)
{
    enum { ROWS = 200, N = 4096, AT = 37 };
    const shape s = { 2, { ROWS, N } };
    float(*z)[2] = calloc((size_t)count_of(&s), sizeof *z);
    char path[] = "/tmp/check_fft-XXXXXX.npy", result[] = "/tmp/check_fft-XXXXXX.npy";
    ck_assert_int_eq(close(mkstemps(path, 4)) | close(mkstemps(result, 4)), 0);
    for (int y = 0; y < ROWS; y++)
        z[y * N + AT * y % N][0] = 1;
    imgpar_array *a = array_of(&s, z);
    ck_assert_int_eq(imgpar_save(a, path, NULL), IMGPAR_OK);
    for (int i = 0; i < n_schedules; i++) {
        imgpar_array *in = imgpar_open(ctx, path), *b = imgpar_fft(in, -1);
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[i]), IMGPAR_OK);
        ck_assert_msg(imgpar_save(b, result, NULL) == IMGPAR_OK, "%s", imgpar_array_message(b));
        imgpar_array *saved = imgpar_open(ctx, result);
        ck_assert_int_eq(imgpar_array_read(saved, z, (size_t)count_of(&s) * sizeof *z), IMGPAR_OK);
        for (int64_t k = 0; k < count_of(&s); k++) {
            const number want = cexp(-2 * I * acos(-1.0) * (double)(k / N * AT % N * (k % N) % N) / N);
            ck_assert_msg(cabs(z[k][0] + I * z[k][1] - want) <= 1e-6, "%s: row %d, element %d is %g%+gi", schedules[i],
                          (int)(k / N), (int)(k % N), (double)z[k][0], (double)z[k][1]);
        }
        imgpar_array_release(saved);
        imgpar_array_release(b);
        imgpar_array_release(in);
    }
    remove(path);
    remove(result);
    imgpar_array_release(a);
    free(z);
}
END_TEST

/* Somebody who waits is asked between launches, which are short whatever the size. */
static int count_polls(void *user, double done)
{
    (void)done;
    ++*(int *)user;
    return 0;
}

START_TEST(large_transforms_are_polled)
{
    const shape s = { 2, { 2048, 1024 } };
    int64_t n = count_of(&s);
    int polls = 0;
    imgpar_options options = { .struct_size = sizeof options, .poll = count_polls, .user = &polls };
    float(*z)[2] = noise(n, 11);
    imgpar_array *a = array_of(&s, z), *b = imgpar_fft2(a);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "auto"), IMGPAR_OK);
    ck_assert_msg(imgpar_array_eval(b, &options) == IMGPAR_OK, "%s", imgpar_array_message(b));
    ck_assert_int_ge(polls, 2 * (int)(n >> 19));
    imgpar_array_release(b);
    imgpar_array_release(a);
    free(z);
}
END_TEST

START_TEST(arrays_without_elements_stay_empty)
{
    static const char *const texts[] = { "fft(zeros([0 8]))", "fft2(zeros([0 8]))", "ifft(zeros([3 0 8]), axis=0)",
                                         "fft(zeros([4 0]))" };
    char nothing;
    for (int s = 0; s < n_schedules; s++)
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[s]), IMGPAR_OK);
            imgpar_array *a = imgpar_apply(ctx, texts[k], NULL, 0);
            ck_assert_msg(imgpar_array_read(a, &nothing, 0) == IMGPAR_OK, "%s, schedule %s: %s", texts[k], schedules[s],
                          imgpar_array_message(a));
            imgpar_array_release(a);
        }
}
END_TEST

START_TEST(what_cannot_be_transformed_is_refused)
{
    static const struct {
        shape s;
        const char *text, *message;
        imgpar_status status;
    } refusals[] = {
        { { 2, { 4, 5 } }, "fft($1, axis=2)", "fft: there is no axis 2; a has 2 axes: [4, 5]", IMGPAR_E_SHAPE },
        { { 1, { 8 } }, "fft2($1)", "fft2: a is [8]; it must have rows and columns", IMGPAR_E_SHAPE },
    };
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        float(*z)[2] = noise(count_of(&refusals[k].s), 1);
        imgpar_array *a = array_of(&refusals[k].s, z), *bad = imgpar_apply(ctx, refusals[k].text, &a, 1);
        ck_assert_int_eq(imgpar_array_status(bad), refusals[k].status);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s", imgpar_array_message(bad));
        imgpar_array_release(bad);
        imgpar_array_release(a);
        free(z);
    }
    static const struct {
        const char *shape, *message;
    } large[] = {
        { "shape=8388608", "fft: axis 0 has 8388608 elements; up to 2097152 are transformed, beyond them products "
                           "of two lengths up to 2048 of factors 2, 3, 5 and 7" },
        { "shape=2097153", "fft: axis 0 has 2097153 elements" }, /* 3 3 43 5419 */
        { "shape=[1000 1100009]", "fft: more than 2147483647 elements with lines of 1100009 padded to 22" },
    };
    for (int k = 0; k < 3; k++) {
        imgpar_array *a = imgpar_op(ctx, "zeros", NULL, 0, large[k].shape), *bad = imgpar_fft(a, -1);
        ck_assert_int_eq(imgpar_array_status(bad), IMGPAR_E_LIMIT);
        ck_assert_msg(strstr(imgpar_array_message(bad), large[k].message), "%s", imgpar_array_message(bad));
        imgpar_array_release(bad);
        imgpar_array_release(a);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fft");
    TCase *c = tcase_create("lengths"); /* what groups and their local memory decide */
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, every_length_gives_the_defined_sum);
    tcase_add_test(c, any_axis_of_any_rank_is_transformed);
    tcase_add_test(c, long_lines_give_the_defined_sum);
    tcase_add_test(c, long_lines_of_doubles_are_transformed);
    tcase_add_test(c, long_lines_of_any_length_are_transformed);
    suite_add_tcase(suite, c);
    c = tcase_create("fft");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, the_inverse_undoes_the_transform);
    tcase_add_test(c, fft2_transforms_rows_and_columns);
    tcase_add_test(c, transforms_compose_with_other_operations);
    tcase_add_test(c, every_transform_is_tested);
    tcase_add_test(c, doubles_are_transformed_in_double);
    tcase_add_test(c, sums_of_one_sign_are_as_exact);
    tcase_add_test(c, rows_may_be_cut_by_a_memory_limit);
    tcase_add_test(c, long_rows_of_a_file_are_transformed_as_they_are_read);
    tcase_add_test(c, large_transforms_are_polled);
    tcase_add_test(c, arrays_without_elements_stay_empty);
    tcase_add_test(c, what_cannot_be_transformed_is_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
