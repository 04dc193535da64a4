/* SPDX-License-Identifier: MIT */
/*
 * Linear algebra of small matrices (ops/linalg.def): elimination in long double, residuals, matrices that are
 * singular, permuted or not numbers, batches of one and of many, strips, messages.
 */
#include "asserts.h"
#include "held.h"
#include "shaped.h"
#include "tier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300 }; /* rows of a matrix */

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
    const int64_t m = a->rank > 1 ? a->shape[a->rank - 2] : 1, n = a->shape[a->rank - 1];
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
} sizes[] = {
    { 1, 1, { 40 } },   { 2, 2, { 9, 31 } }, { 3, 2, { 41, 53 } }, { 3, 0, { 0 } },
    { 5, 1, { 2003 } }, { 8, 1, { 33 } },    { 8, 2, { 1, 3 } },   { 9, 1, { 100 } },
    { 33, 0, { 0 } },   { 33, 2, { 3, 7 } }, { 64, 0, { 0 } },     { 64, 1, { 5 } },
    { 64, 1, { 17 } },  { 4, 1, { 1000 } },  { 100, 1, { 9 } },    { 300, 0, { 0 } }
}; /* the last: more columns of an inverse than a step has */
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

/* Of the device only some are computed in the quick tier: each is a program, which takes a second to compile. */
static bool is_left_out(const char *schedule, int64_t m, int64_t n, imgpar_dtype dtype)
{
    const bool is_fixed = m <= 8 && n <= 8; /* part of the program */
    if (strcmp(schedule, "auto") != 0 || test_tier_is_full()) return false;
    if (dtype == IMGPAR_F32) return is_fixed && n != 3;
    return dtype == IMGPAR_F64 ? n != 2 && n != 33 : n != 5;
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
        if (is_left_out(schedules[way], n, n, dtype) || (dtype == IMGPAR_U8 && n > 9)) continue; /* beyond f32 */
        if (n > 64 && result == IMGPAR_F32) continue;                                            /* too */
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
        if (is_left_out(schedules[way], n, n, dtype)) continue;
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
    check_solutions(15, IMGPAR_F32, 300);
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
        if (is_left_out(schedules[way], n, n, dtype)) continue;
        real *got = values(inverse, schedules[way], "matinv");
        for (int64_t p = 0; p < places_of(size); p++) {
            const bool is_heavy = n > 64 && dtype != IMGPAR_U8; /* of the condition of its diagonal */
            if (!is_heavy &&
                fabsl(determinant(a.p.v + p * n * n, n)) < 1e-3L * powl(largest(a.p.v + p * n * n, n * n), n))
                continue;
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

/* ---- factors ---------------------------------------------------------------------------------------------------- */

static const struct {
    int m, n, rank;
    int64_t lead[2];
} sides[] = { { 1, 1, 1, { 9 } },    { 2, 2, 2, { 20, 31 } }, { 3, 3, 1, { 1001 } }, { 5, 3, 2, { 9, 11 } },
              { 3, 5, 1, { 40 } },   { 8, 8, 1, { 33 } },     { 8, 4, 0, { 0 } },    { 9, 9, 1, { 50 } },
              { 100, 7, 1, { 20 } }, { 33, 33, 1, { 3 } },    { 64, 64, 0, { 0 } },  { 1, 6, 1, { 12 } },
              { 2000, 3, 0, { 0 } }, { 12, 33, 1, { 9 } },    { 6, 1, 2, { 5, 3 } } };
enum { N_SIDES = sizeof sides / sizeof *sides };

static nd matrices_of(imgpar_dtype dtype, int k, int64_t m, int64_t n)
{
    int64_t shape[4];
    int rank = 0;
    for (int d = 0; d < sides[k].rank; d++)
        shape[rank++] = sides[k].lead[d];
    if (m) shape[rank++] = m;
    shape[rank++] = n;
    return nd_of_shape(dtype, rank, shape);
}
static int64_t places_of_sides(int k)
{
    int64_t places = 1;
    for (int d = 0; d < sides[k].rank; d++)
        places *= sides[k].lead[d];
    return places;
}

/* A row of an operation on one array, computed by a schedule. */
static real *values_of(const char *op, const nd *a, const char *schedule)
{
    imgpar_array *in = nd_array(ctx, a), *out = imgpar_op(ctx, op, &in, 1, NULL);
    real *v = values(out, schedule, op);
    imgpar_array_release(in);
    imgpar_array_release(out);
    return v;
}

/* Fails unless the k vectors of n elements, each step from the one before and its elements stride apart, are at right
 * angles and of length 1. */
static void expect_orthogonal(const real *v, int64_t k, int64_t n, int64_t step, int64_t stride, real slack,
                              const char *what)
{
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = i; j < k; j++) {
            real sum = 0;
            for (int64_t x = 0; x < n; x++)
                sum += v[i * step + x * stride] * v[j * step + x * stride];
            ck_assert_msg(fabsl(sum - (i == j)) <= slack, "%s: vectors %d and %d have product %Lg", what, (int)i,
                          (int)j, sum);
        }
}

/* Fails unless u diag(s) v, m x k, k and k x n, is a to within slack of the largest element; s NULL: ones. */
typedef struct parts {
    const real *u, *s, *v, *a;
    int64_t m, k, n;
    bool v_transposed;
} parts;
static void expect_parts(const parts *p, real slack, const char *what)
{
    const real most = largest(p->a, p->m * p->n);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            real sum = 0;
            for (int64_t r = 0; r < p->k; r++)
                sum += p->u[i * p->k + r] * (p->s ? p->s[r] : 1) *
                       (p->v_transposed ? p->v[j * p->k + r] : p->v[r * p->n + j]);
            ck_assert_msg(fabsl(sum - p->a[i * p->n + j]) <= slack * most, "%s: element %d, %d is %Lg, not %Lg", what,
                          (int)i, (int)j, sum, p->a[i * p->n + j]);
        }
}

/* Of a schedule and a dtype, what a row of n may miss. */
static real slack_of(imgpar_dtype dtype, int64_t n)
{
    return 8 * (real)n * unit_of(dtype == IMGPAR_F64 ? dtype : IMGPAR_F32);
}
START_TEST(q_times_r_is_the_matrix) /* _i: sides and dtype */
{
    const int at = _i / N_DTYPES;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t m = sides[at].m, n = sides[at].n, k = m < n ? m : n;
    const real slack = slack_of(dtype, m > n ? m : n);
    nd a = matrices_of(dtype, at, m, n);
    fill_with(&a, (unsigned)_i, 0);
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], m, n, dtype)) continue;
        real *q = values_of("qr_q", &a, schedules[way]), *r = values_of("qr_r", &a, schedules[way]);
        for (int64_t p = 0; p < places_of_sides(at); p++) {
            const real *of_q = q + p * m * k, *of_r = r + p * k * n;
            expect_parts(&(parts){ .u = of_q, .v = of_r, .a = a.p.v + p * m * n, .m = m, .k = k, .n = n }, slack, "qr");
            expect_orthogonal(of_q, k, m, 1, k, slack, "q");
            for (int64_t i = 0; i < k; i++) {
                ck_assert_msg(of_r[i * n + i] >= 0, "r has %Lg on its diagonal", of_r[i * n + i]);
                for (int64_t j = 0; j < i; j++)
                    ck_assert_msg(of_r[i * n + j] == 0, "r is not triangular");
            }
        }
        free(q);
        free(r);
    }
    nd_free(&a);
}
END_TEST

START_TEST(singular_vectors_and_values_are_the_matrix) /* _i: sides and dtype */
{
    const int at = _i / N_DTYPES;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t m = sides[at].m, n = sides[at].n, k = m < n ? m : n;
    const real slack = slack_of(dtype, m > n ? m : n);
    nd a = matrices_of(dtype, at, m, n);
    fill_with(&a, (unsigned)_i, 0);
    if (k > 1) /* the second row is the first one: of rank k - 1, where it is square */
        for (int64_t j = 0; j < n; j++)
            a.p.v[n + j] = a.p.v[j];
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], m, n, dtype)) continue;
        real *s = values_of("svdvals", &a, schedules[way]), *u = values_of("svd_u", &a, schedules[way]),
             *vt = values_of("svd_vt", &a, schedules[way]);
        for (int64_t p = 0; p < places_of_sides(at); p++) {
            const real *of_u = u + p * m * k, *of_vt = vt + p * k * n, *of_s = s + p * k;
            const parts product = { .u = of_u, .s = of_s, .v = of_vt, .a = a.p.v + p * m * n, .m = m, .k = k, .n = n };
            expect_parts(&product, slack, "svd");
            expect_orthogonal(of_u, k, m, 1, k, slack, "u");
            expect_orthogonal(of_vt, k, n, n, 1, slack, "vt");
            for (int64_t i = 0; i < k; i++)
                ck_assert_msg(of_s[i] >= 0 && (i == 0 || of_s[i] <= of_s[i - 1]), "singular value %d is %Lg", (int)i,
                              of_s[i]);
        }
        free(s);
        free(u);
        free(vt);
    }
    nd_free(&a);
}
END_TEST

/* a of the sides becomes symmetric: of its lower triangle. Above stands what is not to be read. */
static nd symmetric(imgpar_dtype dtype, int at, unsigned seed, real heavy)
{
    const int64_t n = sides[at].n;
    nd a = matrices_of(dtype, at, n, n);
    fill_with(&a, seed, heavy);
    return a;
}
static void mirrored(real *whole, const real *lower, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            whole[i * n + j] = j > i ? lower[j * n + i] : lower[i * n + j];
}

START_TEST(eigenvectors_and_values_are_the_matrix) /* _i: sides and dtype */
{
    const int at = _i / N_DTYPES;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t n = sides[at].n;
    const real slack = slack_of(dtype, n);
    static real whole[MOST * MOST];
    nd a = symmetric(dtype, at, (unsigned)_i, 0);
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], n, n, dtype)) continue;
        real *w = values_of("eigvalsh", &a, schedules[way]), *v = values_of("eigvecsh", &a, schedules[way]);
        for (int64_t p = 0; p < places_of_sides(at); p++) {
            const real *of_v = v + p * n * n, *of_w = w + p * n;
            mirrored(whole, a.p.v + p * n * n, n);
            const parts product = { .u = of_v, .s = of_w, .v = of_v, .a = whole, .m = n, .k = n, .n = n, true };
            expect_parts(&product, slack, "eigh");
            expect_orthogonal(of_v, n, n, 1, n, slack, "eigenvectors");
            for (int64_t j = 0; j < n; j++) {
                real most = 0;
                int64_t i = 0;
                ck_assert_msg(j == 0 || of_w[j] >= of_w[j - 1], "eigenvalue %d is %Lg", (int)j, of_w[j]);
                for (int64_t x = 0; x < n; x++)
                    most = fabsl(of_v[x * n + j]) > most ? fabsl(of_v[x * n + j]) : most;
                while (fabsl(of_v[i * n + j]) < most * 0.9375L)
                    i++;
                ck_assert_msg(of_v[i * n + j] > 0, "eigenvector %d has another sign", (int)j);
            }
        }
        free(w);
        free(v);
    }
    nd_free(&a);
}
END_TEST

START_TEST(factors_of_cholesky_times_themselves_are_the_matrix) /* _i: sides and dtype */
{
    const int at = _i / N_DTYPES;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t n = sides[at].n;
    static real whole[MOST * MOST];
    nd a = symmetric(dtype, at, (unsigned)_i, (real)n + 1); /* the diagonal outweighs the rest */
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], n, n, dtype)) continue;
        real *l = values_of("cholesky", &a, schedules[way]);
        for (int64_t p = 0; p < places_of_sides(at); p++) {
            const real *of_l = l + p * n * n;
            mirrored(whole, a.p.v + p * n * n, n);
            const parts product = { .u = of_l, .v = of_l, .a = whole, .m = n, .k = n, .n = n, .v_transposed = true };
            if (dtype != IMGPAR_U8 || n == 1) expect_parts(&product, slack_of(dtype, n), "cholesky");
            for (int64_t i = 0; i < n * n; i++)
                ck_assert_msg(i % n <= i / n || of_l[i] == 0, "the factor is not lower triangular");
        }
        free(l);
    }
    nd_free(&a);
}
END_TEST

START_TEST(what_is_left_by_least_squares_is_at_right_angles) /* _i: sides and dtype */
{
    const int at = _i / N_DTYPES;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t m = sides[at].m, n = sides[at].n, k = _i % 2 ? 0 : 3, columns = k ? k : 1;
    if (m < n) return;
    nd a = matrices_of(dtype, at, m, n), b = k ? matrices_of(dtype, at, m, k) : matrices_of(dtype, at, 0, m);
    fill_with(&a, (unsigned)_i, 3);
    fill_with(&b, 99, 0);
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) }, *x = imgpar_lstsq(in[0], in[1]);
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], m, n, dtype)) continue;
        real *got = values(x, schedules[way], "lstsq");
        for (int64_t p = 0; p < places_of_sides(at); p++)
            for (int64_t c = 0; c < columns; c++) {
                const real *of_a = a.p.v + p * m * n, *of_b = b.p.v + p * m * columns, *of_x = got + p * n * columns;
                real *left = calloc((size_t)m, sizeof *left), size = 0;
                for (int64_t i = 0; i < m; i++) {
                    left[i] = of_b[i * columns + c];
                    size += fabsl(left[i]);
                    for (int64_t j = 0; j < n; j++) {
                        left[i] -= of_a[i * n + j] * of_x[j * columns + c];
                        size += fabsl(of_a[i * n + j] * of_x[j * columns + c]);
                    }
                }
                for (int64_t j = 0; j < n; j++) {
                    real sum = 0;
                    for (int64_t i = 0; i < m; i++)
                        sum += of_a[i * n + j] * left[i];
                    ck_assert_msg(fabsl(sum) <= slack_of(dtype, m) * size * largest(of_a, m * n),
                                  "lstsq, %d x %d: column %d has %Lg in common with what is left", (int)m, (int)n,
                                  (int)j, sum);
                }
                free(left);
            }
        free(got);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    imgpar_array_release(x);
    nd_free(&a);
    nd_free(&b);
}
END_TEST

/* a p a = a and p a p = p, a p and p a symmetric (Penrose), of matrices the last row of which is the first one. */
START_TEST(pseudoinverses_are_those_of_penrose) /* _i: sides and dtype */
{
    const int at = _i / N_DTYPES;
    const imgpar_dtype dtype = dtypes[_i % N_DTYPES];
    const int64_t m = sides[at].m, n = sides[at].n;
    nd a = matrices_of(dtype, at, m, n);
    fill_with(&a, (unsigned)_i, 4);
    for (int64_t p = 0; p < places_of_sides(at); p++)
        memcpy(a.p.v + (p * m + m - 1) * n, a.p.v + p * m * n, (size_t)n * sizeof *a.p.v);
    for (int way = 0; way < 2; way++) {
        if (is_left_out(schedules[way], m, n, dtype)) continue;
        real *pinv = values_of("pinv", &a, schedules[way]), *ap = calloc((size_t)(m * m), sizeof *ap);
        for (int64_t p = 0; p < places_of_sides(at); p++) {
            const real *of_a = a.p.v + p * m * n, *of_p = pinv + p * n * m;
            const real slack = 64 * slack_of(dtype, m > n ? m : n) * largest(of_p, n * m) * largest(of_a, m * n);
            memset(ap, 0, (size_t)(m * m) * sizeof *ap);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < m; j++)
                    for (int64_t r = 0; r < n; r++)
                        ap[i * m + j] += of_a[i * n + r] * of_p[r * m + j];
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < i; j++)
                    ck_assert_msg(fabsl(ap[i * m + j] - ap[j * m + i]) <= slack, "pinv: a p is not symmetric, %Lg, %Lg",
                                  ap[i * m + j], ap[j * m + i]);
            if (slack < 0.1L) {
                expect_parts(&(parts){ .u = ap, .v = of_a, .a = of_a, .m = m, .k = m, .n = n }, slack, "a p a");
                expect_parts(&(parts){ .u = of_p, .v = ap, .a = of_p, .m = n, .k = m, .n = m }, slack, "p a p");
            }
        }
        free(pinv);
        free(ap);
    }
    nd_free(&a);
}
END_TEST

/* Both parts of a result are made of one kernel's. */
START_TEST(parts_are_computed_together)
{
    nd a = nd_new(IMGPAR_F32, "40x50x3x3");
    fill_with(&a, 5, 0);
    imgpar_array *in = nd_array(ctx, &a);
    static const char *const texts[] = {
        "sum(qr_q($1)) + sum(qr_r($1))",
        "sum(eigvalsh($1)) + sum(eigvecsh($1))",
        "sum(svd_u($1)) + sum(svdvals($1)) + sum(svd_vt($1))",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        char *json = NULL;
        int n = 0;
        imgpar_array *work = imgpar_apply(ctx, texts[k], &in, 1);
        ck_assert_int_eq(imgpar_explain(&work, 1, "json", &json), IMGPAR_OK);
        for (const char *at = json; (at = strstr(at, "\"opaque\"")); at++)
            n++;
        ck_assert_msg(n == 1, "%s: %d hand-written kernels", texts[k], n);
        imgpar_free(json);
        imgpar_array_release(work);
    }
    imgpar_array_release(in);
    nd_free(&a);
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
    { "cholesky(numbers([4 2; 2 5]))", "[2 0; 1 2]" },
    { "cholesky(numbers([4 9; 2 5], dtype=u8))", "[2 0; 1 2]" }, /* the lower triangle is read */
    { "cholesky(numbers([1 2; 2 1]))", "[nan 0; nan nan]" },
    { "cholesky(zeros([2 2]))", "[nan 0; nan nan]" },
    { "cholesky(numbers([9]) * ones([2 1 1]))", "[[3] [3]]" },
    { "round(lstsq(numbers([1 0; 1 1; 1 2]), numbers([1 3 5])) * 1000)", "[1000 2000]" },
    { "lstsq(numbers([1 1; 1 1; 1 1]), numbers([1 3 5]))", "[nan nan]" },
    { "lstsq(numbers([1 2; 2 4; 3 6]), numbers([1 2 3]))", "[nan nan]" },
    { "lstsq(zeros([3 1]), numbers([1 3 5]))", "nan" },
    { "qr_r(eye(3))", "[1 0 0; 0 1 0; 0 0 1]" },
    { "qr_q(zeros([2 2]))", "[1 0; 0 1]" },
    { "qr_r(numbers([0 3; 0 4]))", "[0 3; 0 4]" },
    { "a = numbers([9 1; 1 0])\nsum(isnan(qr_r(select(a == 9, nan, a))))", "3" },
    { "eigvalsh(numbers([2 1; 1 2]))", "[1 3]" },
    { "eigvalsh(numbers([0 5; 0 0]))", "[0 0]" },
    { "v = eigvalsh(numbers([2 1; 1 -2]) * 1e38) / 1e38\nabs(abs(v) - sqrt(5)) < 1e-6", "[1 1]" },
    { "v = eigvalsh(numbers([2 1; 1 -2], dtype=f64) * 0.75e308) / 0.75e308\nabs(abs(v) - sqrt(cast(5, f64))) < 1e-14",
      "[1 1]" },
    { "v = eigvalsh(numbers([2 1; 1 -2]) * 1e-37) / 1e-37\nabs(abs(v) - sqrt(5)) < 1e-6", "[1 1]" },
    { "abs(abs(qr_q(numbers([3e38 0; 0 1]))) - eye(2)) < 1e-6", "[1 1; 1 1]" },
    { "abs(qr_r(numbers([3e38 0; 0 1]))) / numbers([3e38 1; 1 1])", "[1 0; 0 1]" },
    { "eigvecsh(zeros([2 2]))", "[1 0; 0 1]" },
    { "eigvalsh(numbers([3 0 0; 0 1 0; 0 0 2]))", "[1 2 3]" },
    { "eigvecsh(numbers([3 0 0; 0 1 0; 0 0 2]))", "[0 0 1; 1 0 0; 0 1 0]" },
    { "a = numbers([1 0; 0 9])\nsum(isnan(eigvecsh(select(a == 9, inf, a))))", "4" },
    { "a = numbers([1 0; 0 9])\neigvalsh(select(a == 9, nan, a))", "[nan nan]" },
    { "eigvalsh(numbers([5]) * ones([3 1 1]))", "[5; 5; 5]" },
    { "svdvals(numbers([3 0; 0 -4; 0 0]))", "[4 3]" },
    { "svdvals(zeros([2 3]))", "[0 0]" },
    { "svd_u(zeros([3 2]))", "[1 0; 0 1; 0 0]" },
    { "svdvals(numbers([3 0; 0 4]) * 1e30) > 2.999e30", "[1 1]" },
    { "svdvals(numbers([3 0; 0 4]) * 1e-30) > 2.999e-30", "[1 1]" },
    { "a = numbers([1 0; 0 9])\nsvdvals(select(a == 9, nan, a))", "[nan nan]" },
    { "pinv(zeros([2 3]))", "[0 0; 0 0; 0 0]" },
    { "pinv(numbers([2 0; 0 0]))", "[0.5 0; 0 0]" },
    { "matrix_rank(ones([3 3]))", "1" },
    { "matrix_rank(zeros([4 2]))", "0" },
    { "matrix_rank(reshape(numbers([1 2 2 4 1 0 0 1]), [2 2 2]))", "[1 2]" },
    { "matrix_power(numbers([1 1; 1 0]), 10)", "[89 55; 55 34]" },
    { "matrix_power(numbers([1 1; 1 0], dtype=u8), 1)", "[1 1; 1 0]" },
    { "matrix_power(numbers([2 0; 0 4]), -2)", "[0.25 0; 0 0.0625]" },
    { "matrix_power(numbers([2 0; 0 4]), 0)", "[1 0; 0 1]" },
    { "matrix_power(reshape(numbers([2 0 0 1 3 0 0 1]), [2 2 2]), 2)", "[[4 0; 0 1] [9 0; 0 1]]" },
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
    "eigvecsh(random([20000, 2, 2]))",
    "lstsq(random([300, 100, 4, 2]), random([300, 100, 4]))",
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
    { "det(zeros([2 3]))", "det: a is [2, 3]; its last axes must be square matrices of up to 1024x1024" },
    { "det(zeros([5]))", "det: a is [5]; its last axes must be square matrices of up to 1024x1024" },
    { "matinv(zeros([1025 1025]))",
      "matinv: a is [1025, 1025]; its last axes must be square matrices of up to 1024x1024" },
    { "solve(eye(3), zeros([4]))",
      "solve: a is [3, 3], b is [4]; b needs a vector or a matrix of as many rows for each matrix of a" },
    { "solve(ones([5 2 2]), zeros([4 2]))",
      "solve: a is [5, 2, 2], b is [4, 2]; b needs a vector or a matrix of as many rows for each matrix of a" },
    { "solve(ones([2 3]), zeros([2]))",
      "solve: a is [2, 3]; its last axes must be square matrices of up to 1024x1024" },
    { "lstsq(zeros([2 3]), zeros([2]))", "lstsq: a is [2, 3]; it must have as many rows as columns at least" },
    { "qr_q(zeros([70 65]))",
      "qr_q: a is [70, 65]; its last axes must be matrices of up to 64 columns and 1048576 elements" },
    { "svdvals(zeros([65 70]))",
      "svdvals: a is [65, 70]; its last axes must be matrices of up to 64 rows or columns and 1048576 elements" },
    { "eigvalsh(zeros([65 65]))", "eigvalsh: a is [65, 65]; its last axes must be square matrices of up to 64x64" },
    { "eigvalsh(zeros([2 3]))", "eigvalsh: a is [2, 3]; its last axes must be square matrices of up to 64x64" },
    { "matrix_power(zeros([2 3]), 2)",
      "matrix_power: a is [2, 3]; its last axes must be square matrices of up to 1024x1024" },
    { "eigvalsh(complex(eye(2), eye(2)))", "complex" },
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
    tcase_add_loop_test(c, q_times_r_is_the_matrix, 0, N_SIDES * N_DTYPES);
    tcase_add_loop_test(c, singular_vectors_and_values_are_the_matrix, 0, N_SIDES * N_DTYPES);
    tcase_add_loop_test(c, eigenvectors_and_values_are_the_matrix, 0, N_SIDES * N_DTYPES);
    tcase_add_loop_test(c, factors_of_cholesky_times_themselves_are_the_matrix, 0, N_SIDES * N_DTYPES);
    tcase_add_loop_test(c, what_is_left_by_least_squares_is_at_right_angles, 0, N_SIDES * N_DTYPES);
    tcase_add_loop_test(c, pseudoinverses_are_those_of_penrose, 0, N_SIDES * N_DTYPES);
    tcase_add_test(c, parts_are_computed_together);
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
