/* SPDX-License-Identifier: MIT */
/*
 * Linear algebra of small matrices (ops/linalg.def): elimination in long double, residuals, matrices that are
 * singular, permuted or not numbers, batches of one and of many, strips, messages.
 */
#include "held.h"
#include "shaped.h"
#include "tier.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* rows of a matrix */

static imgpar_context *ctx;

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}
static void tear_down(void) { imgpar_context_release(ctx); }

/* ---- matrices --------------------------------------------------------------------------------------------- */

static real number(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (real)(*state >> 8) / 0x1p23L - 1;
}

/* Numbers of -1..1, of u8 0..255, that the dtype holds; heavy on the diagonal by what heavy says. */
static void fill_with(nd *a, unsigned seed, real heavy)
{
    unsigned state = seed * 7919 + 1;
    const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
    for (int64_t k = 0; k < a->p.w; k++) {
        const bool diagonal = a->rank >= 2 && k % (m * n) / n == k % n;
        real v = number(&state) + (diagonal ? heavy : 0);
        if (!is_float(a->p.dtype)) v = floorl(fabsl(v) * 100);
        a->p.v[k] = rounded(a->p.dtype, v);
    }
}

/* What a is, as long doubles, by the reference interpreter or on the device. */
static real *values(imgpar_array *a, const char *schedule, const char *what)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", what, imgpar_array_message(a));
    int64_t count = 1;
    for (int k = 0; k < info.rank; k++)
        count *= info.shape[k];
    ck_assert_msg(info.dtype == IMGPAR_F32 || info.dtype == IMGPAR_F64, "%s: no floats", what);
    void *bytes = nd_read(ctx, a, schedule, what);
    real *v = malloc((size_t)(count + 1) * sizeof *v);
    for (int64_t k = 0; k < count; k++)
        v[k] = info.dtype == IMGPAR_F64 ? (real)((double *)bytes)[k] : (real)((float *)bytes)[k];
    free(bytes);
    return v;
}

static real unit_of(imgpar_dtype dtype) { return dtype == IMGPAR_F64 ? 0x1p-52L : 0x1p-23L; }

/* The largest of n magnitudes. */
static real largest(const real *v, int64_t n)
{
    real most = 0;
    for (int64_t k = 0; k < n; k++)
        most = fabsl(v[k]) > most ? fabsl(v[k]) : most;
    return most;
}

/* Fails unless c = a b, m x n of sums of k products, to within slack of the magnitudes. transposed: b is [n, k]. */
typedef struct factors {
    const real *a, *b, *c;
    int64_t m, n, k;
    bool transposed;
    real slack;
} factors;
static void expect_product(const factors *f, const char *what)
{
    for (int64_t i = 0; i < f->m; i++)
        for (int64_t j = 0; j < f->n; j++) {
            real sum = 0, size = fabsl(f->c[i * f->n + j]);
            for (int64_t p = 0; p < f->k; p++) {
                const real u = f->a[i * f->k + p], v = f->transposed ? f->b[j * f->k + p] : f->b[p * f->n + j];
                sum += u * v;
                size += fabsl(u * v);
            }
            ck_assert_msg(fabsl(sum - f->c[i * f->n + j]) <= f->slack * size,
                          "%s: element %d, %d of the product is %Lg, not %Lg", what, (int)i, (int)j, sum,
                          f->c[i * f->n + j]);
        }
}

/* The determinant by elimination of a copy. */
static real determinant(const real *a, int64_t n)
{
    static real m[MOST * MOST];
    real det = 1;
    memcpy(m, a, (size_t)(n * n) * sizeof *m);
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabsl(m[i * n + k]) > fabsl(m[best * n + k])) best = i;
        for (int64_t j = 0; j < n && best != k; j++) {
            const real v = m[k * n + j];
            m[k * n + j] = m[best * n + j];
            m[best * n + j] = v;
        }
        det *= best == k ? m[k * n + k] : -m[k * n + k];
        if (m[k * n + k] == 0) return 0;
        for (int64_t i = k + 1; i < n; i++) {
            const real f = m[i * n + k] / m[k * n + k];
            for (int64_t j = k; j < n; j++)
                m[i * n + j] -= f * m[k * n + j];
        }
    }
    return det;
}

/* ---- sizes ---------------------------------------------------------------------------------------------------- */

/* Rows and columns, and leading axes: batches of one, of less than a vector has lanes, of many. */
static const struct {
    int n, rank;
    int64_t lead[2];
} sizes[] = { { 1, 1, { 40 } }, { 2, 2, { 9, 31 } }, { 3, 2, { 41, 53 } }, { 3, 0, { 0 } },   { 5, 1, { 2003 } },
              { 8, 1, { 33 } }, { 8, 2, { 1, 3 } },  { 9, 1, { 100 } },    { 33, 0, { 0 } },  { 33, 2, { 3, 7 } },
              { 64, 0, { 0 } }, { 64, 1, { 5 } },    { 64, 1, { 17 } },    { 4, 1, { 1000 } } };
enum { N_SIZES = sizeof sizes / sizeof *sizes };
static const imgpar_dtype dtypes[] = { IMGPAR_F32, IMGPAR_F64, IMGPAR_U8 };
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };
static const char *const schedules[] = { "ref", "auto" };

/* An array of leading axes and m x n; m 0: of n, both 0: of neither. */
static nd batch(imgpar_dtype dtype, int size, int64_t m, int64_t n)
{
    int64_t shape[4];
    int rank = 0;
    for (int k = 0; k < sizes[size].rank; k++)
        shape[rank++] = sizes[size].lead[k];
    if (m) shape[rank++] = m;
    if (n) shape[rank++] = n;
    return nd_of_shape(dtype, rank, shape);
}
static int64_t places_of(int size)
{
    int64_t places = 1;
    for (int k = 0; k < sizes[size].rank; k++)
        places *= sizes[size].lead[k];
    return places;
}

/* Of the device only some are computed in the quick tier: each is a program. */
static bool is_left_out(const char *schedule, int size, imgpar_dtype dtype)
{
    const bool is_f64 = dtype == IMGPAR_F64;
    return strcmp(schedule, "auto") == 0 && !test_tier_is_full() && is_f64 && size % 3 != 1;
}

/* ---- determinants, solutions, inverses ------------------------------------------------------------------------- */

START_TEST(determinants_are_those_of_elimination) /* _i: size and dtype */
{
    const int size = _i / N_DTYPES, n = sizes[size].n;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES], result = dtype == IMGPAR_F64 ? dtype : IMGPAR_F32;
    nd a = batch(dtype, size, n, n);
    fill_with(&a, (unsigned)_i, 0);
    imgpar_array *in = nd_array(ctx, &a), *det = imgpar_det(in);
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], size, dtype) || (dtype == IMGPAR_U8 && n > 9)) continue; /* beyond f32 */
        real *got = values(det, schedules[way], "det");
        for (int64_t k = 0; k < places_of(size); k++) {
            const real *m = a.p.v + k * n * n, want = determinant(m, n);
            real size_of = 1; /* of a determinant of such rows, by Hadamard */
            for (int64_t i = 0; i < n; i++) {
                real sum = 0;
                for (int64_t j = 0; j < n; j++)
                    sum += m[i * n + j] * m[i * n + j];
                size_of *= sqrtl(sum);
            }
            ck_assert_msg(fabsl(got[k] - want) <= 8 * (real)n * unit_of(result) * size_of, "det %d of %d: %Lg, not %Lg",
                          (int)k, n, got[k], want);
        }
        free(got);
    }
    imgpar_array_release(in);
    imgpar_array_release(det);
    nd_free(&a);
}
END_TEST

static void check_solutions(int size, imgpar_dtype dtype, int64_t columns)
{
    const int n = sizes[size].n;
    const int64_t k = columns ? columns : 1;
    nd a = batch(dtype, size, n, n), b = columns ? batch(dtype, size, n, k) : batch(dtype, size, 0, n);
    fill_with(&a, (unsigned)size, 0);
    fill_with(&b, 77, 0);
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) }, *x = imgpar_solve(in[0], in[1]);
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], size, dtype)) continue;
        real *got = values(x, schedules[way], "solve");
        for (int64_t p = 0; p < places_of(size); p++) {
            char what[64];
            snprintf(what, sizeof what, "solve, %s, n=%d, place %d", schedules[way], n, (int)p);
            if (determinant(a.p.v + p * n * n, n) == 0) continue; /* there are some of bytes */
            /* a x = b, the error of which is small against |a| |x| whatever the condition */
            const real *m = a.p.v + p * n * n, *s = got + p * n * k, *side = b.p.v + p * n * k;
            const real scale = largest(m, n * n), slack = 8 * unit_of(dtype == IMGPAR_F64 ? dtype : IMGPAR_F32);
            for (int64_t j = 0; j < k; j++) {
                real most = 0;
                for (int64_t i = 0; i < n; i++)
                    most = fabsl(s[i * k + j]) > most ? fabsl(s[i * k + j]) : most;
                for (int64_t i = 0; i < n; i++) {
                    real sum = 0;
                    for (int64_t q = 0; q < n; q++)
                        sum += m[i * n + q] * s[q * k + j];
                    ck_assert_msg(fabsl(sum - side[i * k + j]) <= slack * (real)n * scale * most,
                                  "%s: row %d, column %d: %Lg, not %Lg", what, (int)i, (int)j, sum, side[i * k + j]);
                }
            }
        }
        free(got);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    imgpar_array_release(x);
    nd_free(&a);
    nd_free(&b);
}

START_TEST(solutions_leave_small_residuals) { check_solutions(_i / N_DTYPES, dtypes[_i % N_DTYPES], 0); }
END_TEST

START_TEST(several_right_hand_sides_are_columns)
{
    check_solutions(2, IMGPAR_F32, 2);
    check_solutions(4, IMGPAR_U8, 9); /* more than are part of a program */
    check_solutions(3, IMGPAR_F64, 4);
    check_solutions(8, IMGPAR_F32, 700); /* blocks of them */
    check_solutions(11, IMGPAR_F32, 300);
}
END_TEST

START_TEST(inverses_times_their_matrices_are_the_unit) /* _i: size and dtype */
{
    const int size = _i / N_DTYPES, n = sizes[size].n;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    nd a = batch(dtype, size, n, n);
    fill_with(&a, (unsigned)_i, n > 3 ? 2 * sqrtl(n) : 5); /* well-conditioned */
    imgpar_array *in = nd_array(ctx, &a), *inverse = imgpar_matinv(in);
    real *unit = calloc((size_t)(n * n), sizeof *unit);
    for (int64_t i = 0; i < n; i++)
        unit[i * n + i] = 1;
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], size, dtype)) continue;
        real *got = values(inverse, schedules[way], "matinv");
        for (int64_t p = 0; p < places_of(size); p++) {
            if (fabsl(determinant(a.p.v + p * n * n, n)) < 1e-3L * powl(largest(a.p.v + p * n * n, n * n), n)) continue;
            expect_product(&(factors){ .a = a.p.v + p * n * n,
                                       .b = got + p * n * n,
                                       .c = unit,
                                       .m = n,
                                       .n = n,
                                       .k = n,
                                       .slack = 2000 * (real)n * unit_of(dtype == IMGPAR_F64 ? dtype : IMGPAR_F32) },
                           "matinv");
        }
        free(got);
    }
    free(unit);
    imgpar_array_release(in);
    imgpar_array_release(inverse);
    nd_free(&a);
}
END_TEST

/* One matrix, vectors or matrices at many places. */
START_TEST(one_matrix_serves_all_places)
{
    static const char *const shapes[] = { "3x3", "2x3x4", "501x3x1", "7x90x3x2" };
    for (int k = 1; k < 4; k++) {
        nd a = nd_new(IMGPAR_F32, shapes[0]), b = nd_new(IMGPAR_F32, shapes[k]);
        fill_with(&a, 1, 3);
        fill_with(&b, 2, 0);
        const int64_t columns = b.shape[b.rank - 1], places = b.p.w / 3 / columns;
        imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) }, *x = imgpar_solve(in[0], in[1]);
        for (int way = 0; way < 2; way++) {
            real *got = values(x, schedules[way], "solve by one matrix");
            for (int64_t p = 0; p < places; p++)
                expect_product(&(factors){ .a = a.p.v,
                                           .b = got + p * 3 * columns,
                                           .c = b.p.v + p * 3 * columns,
                                           .m = 3,
                                           .n = columns,
                                           .k = 3,
                                           .slack = 0x1p-18L },
                               shapes[k]);
            free(got);
        }
        imgpar_array_release(in[0]);
        imgpar_array_release(in[1]);
        imgpar_array_release(x);
        nd_free(&a);
        nd_free(&b);
    }
}
END_TEST

/* ---- what is special ------------------------------------------------------------------------------------------- */

/* What texts give, as print() writes it: on the device and by the interpreter. */
static const struct {
    const char *text, *as;
} small[] = {
    { "det(numbers([2 1; 1 3]))", "5" },
    { "det(numbers([1 2; 2 4]))", "0" },
    { "det(zeros([3 3]))", "0" },
    { "det(numbers([0 0 1; 1 0 0; 0 1 0]))", "1" },
    { "det(numbers([0 1; 1 0]))", "-1" },
    { "a = numbers([9 1; 1 0])\ndet(select(a == 9, nan, a))", "nan" },
    { "a = numbers([0 1; 9 1])\ndet(select(a == 9, nan, a))", "nan" },
    { "det(numbers([7]) * ones([1 1]))", "7" },
    { "det(numbers([2 0; 0 3], dtype=u8))", "6" },
    { "det(zeros([2 0 0]))", "[1 1]" },
    { "solve(numbers([2 1; 1 3]), numbers([3 5]))", "[0.8 1.4]" },
    { "solve(numbers([0 2; 4 0], dtype=u8), numbers([6 8], dtype=u8))", "[2 3]" },
    { "solve(numbers([1 2; 2 4]), numbers([1 2]))", "[nan nan]" },
    { "solve(zeros([2 2]), numbers([1 2; 3 4]))", "[nan nan; nan nan]" },
    { "solve(numbers([0 0 0 1; 1 0 0 0; 0 0 1 0; 0 1 0 0]), numbers([1 2 3 4]))", "[2 4 3 1]" },
    { "a = numbers([9 0; 0 2])\nsolve(select(a == 9, nan, a), numbers([1 4]))", "[nan 2]" },
    { "solve(ones([3 1 1]) * 4, numbers([4; 8; 12]))", "[1; 2; 3]" },
    { "solve(eye(2), zeros([2 0])) == 0", "[; ]" },
    { "matinv(numbers([0 0 0 1; 0 2 0 0; 1 0 0 0; 0 0 4 0]))", "[0 0 1 0; 0 0.5 0 0; 0 0 0 0.25; 1 0 0 0]" },
    { "sum(isnan(matinv(ones([4 4]))))", "16" },
    { "matinv(numbers([2 0; 0 4]))", "[0.5 -0; -0 0.25]" },
};

START_TEST(small_matrices)
{
    for (int way = 0; way < 2; way++) {
        char *got = NULL;
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[way]), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(ctx, small[_i].text, NULL, 0);
        ck_assert_msg(!imgpar_array_text(a, NULL, &got), "%s: %s", small[_i].text, imgpar_array_message(a));
        ck_assert_msg(strcmp(got, small[_i].as) == 0, "%s, %s, gives %s, not %s", small[_i].text, schedules[way], got,
                      small[_i].as);
        imgpar_free(got);
        imgpar_array_release(a);
    }
}
END_TEST

/* ---- strips ---------------------------------------------------------------------------------------------------- */

static const char *const cut[] = {
    "solve(random([300, 70, 3, 3]) + eye(3), random([300, 70, 3]))",
    "solve(random([9000, 9, 9]), random([9000, 9]))",
    "solve(random([3, 3]), random([60000, 3, 1]))",
    "det(random([500, 300, 2, 2])) * 2",
    "matinv(random([3000, 6, 6]) + 3 * eye(6))",
};

START_TEST(under_a_memory_limit_strips_give_the_same_bytes)
{
    imgpar_array *whole = imgpar_apply(ctx, cut[_i], NULL, 0), *strips = imgpar_apply(ctx, cut[_i], NULL, 0);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(whole, &info) == IMGPAR_OK, "%s: %s", cut[_i], imgpar_array_message(whole));
    void *want = nd_read(ctx, whole, "auto", cut[_i]);
    ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "1M"), IMGPAR_OK);
    void *got = nd_read(ctx, strips, "auto", cut[_i]);
    ck_assert_int_eq(memcmp(want, got, info.size_bytes), 0);
    free(want);
    free(got);
    imgpar_array_release(whole);
    imgpar_array_release(strips);
}
END_TEST

/* ---- messages --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *why;
} refused[] = {
    { "det(zeros([2 3]))", "det: a is [2, 3]; its last axes must be square matrices of up to 64x64" },
    { "det(zeros([5]))", "det: a is [5]; its last axes must be square matrices of up to 64x64" },
    { "matinv(zeros([65 65]))", "matinv: a is [65, 65]; its last axes must be square matrices of up to 64x64" },
    { "solve(eye(3), zeros([4]))",
      "solve: a is [3, 3], b is [4]; b needs a vector or a matrix of as many rows for each matrix of a" },
    { "solve(ones([5 2 2]), zeros([4 2]))",
      "solve: a is [5, 2, 2], b is [4, 2]; b needs a vector or a matrix of as many rows for each matrix of a" },
    { "solve(ones([2 3]), zeros([2]))", "solve: a is [2, 3]; its last axes must be square matrices of up to 64x64" },
    { "det(complex(eye(2), eye(2)))", "complex" },
    { "solve(eye(2), complex(ones([2]), ones([2])))", "complex" },
};

START_TEST(what_does_not_fit_is_told)
{
    imgpar_array *bad = imgpar_apply(ctx, refused[_i].text, NULL, 0);
    ck_assert_msg(imgpar_array_status(bad) != IMGPAR_OK, "%s is right", refused[_i].text);
    ck_assert_msg(strstr(imgpar_array_message(bad), refused[_i].why), "%s: %s", refused[_i].text,
                  imgpar_array_message(bad));
    imgpar_array_release(bad);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linalg");
    TCase *c = tcase_create("linalg");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, determinants_are_those_of_elimination, 0, N_SIZES * N_DTYPES);
    tcase_add_loop_test(c, solutions_leave_small_residuals, 0, N_SIZES * N_DTYPES);
    tcase_add_test(c, several_right_hand_sides_are_columns);
    tcase_add_loop_test(c, inverses_times_their_matrices_are_the_unit, 0, N_SIZES * N_DTYPES);
    tcase_add_test(c, one_matrix_serves_all_places);
    tcase_add_loop_test(c, small_matrices, 0, sizeof small / sizeof *small);
    tcase_add_loop_test(c, under_a_memory_limit_strips_give_the_same_bytes, 0, sizeof cut / sizeof *cut);
    tcase_add_loop_test(c, what_does_not_fit_is_told, 0, sizeof refused / sizeof *refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
