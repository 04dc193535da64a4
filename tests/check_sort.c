/* SPDX-License-Identifier: MIT */
/* sort, argsort and lexsort: order by the definition, shapes and axes, dtypes with their odd values, kernels, little
 * memory. */
#include "shaped.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "asserts.h"
#include "held.h"
#include "run/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static imgpar_context *ctx;

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}
static void tear_down(void) { imgpar_context_release(ctx); }

/* ---- the oracle: each element goes behind those that come before it ---------------------------- */

/* Whether u comes before v; strict: -0 before 0. NaN is last. */
static bool comes_before(real u, real v, bool descending, bool strict)
{
    if (isnan(u) || isnan(v)) return !isnan(u) && isnan(v);
    if (strict && u == 0 && v == 0) return signbit(u) != signbit(v) && (signbit(u) != 0) != descending;
    return descending ? u > v : u < v;
}

/* Indices of a line of n numbers, step apart, by inserting one after the other. */
static void order_line(const real *v, int64_t step, int64_t n, bool descending, bool strict, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t lo = 0, hi = i;
        while (lo < hi) { /* behind all that do not come after it */
            int64_t middle = (lo + hi) / 2;
            if (comes_before(v[i * step], v[order[middle] * step], descending, strict))
                hi = middle;
            else
                lo = middle + 1;
        }
        memmove(order + lo + 1, order + lo, (size_t)(i - lo) * sizeof *order);
        order[lo] = i;
    }
}

static nd sorted(const nd *a, int axis, bool descending, bool indices)
{
    nd out = nd_of_shape(indices ? IMGPAR_I32 : a->p.dtype, a->rank, a->shape);
    int64_t n = a->shape[axis], step = 1, count = picture_count(&a->p);
    int64_t *order = malloc((size_t)n * sizeof *order);
    ck_assert_ptr_nonnull(order);
    for (int k = axis + 1; k < a->rank; k++)
        step *= a->shape[k];
    for (int64_t base = 0; base < count; base++) {
        if (base / step % n != 0) continue;
        order_line(a->p.v + base, step, n, descending, !indices, order);
        for (int64_t k = 0; k < n; k++)
            out.p.v[base + k * step] = indices ? (real)order[k] : a->p.v[base + order[k] * step];
    }
    free(order);
    return out;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* In every schedule, or in as many as there is time for. */
static void check_both(const nd *a, int axis, bool descending, bool every_schedule, const char *what)
{
    imgpar_array *in = nd_array(ctx, a), *values = imgpar_sort(in, axis, descending),
                 *from = imgpar_argsort(in, axis, descending);
    nd want = sorted(a, axis, descending, false), places = sorted(a, axis, descending, true);
    if (every_schedule) {
        nd_check(ctx, values, &want, true, what);
        nd_check(ctx, from, &places, true, what);
    } else {
        nd_check_dtype(ctx, values, &want, true, a->p.dtype, what);
        nd_check_dtype(ctx, from, &places, true, a->p.dtype, what);
    }
    imgpar_array_release(in);
    nd_free(&want);
    nd_free(&places);
}

/* Values of all sizes with infinities, NaN, both zeros and many that are equal. */
static nd odd_values(imgpar_dtype dtype, const char *shape, unsigned seed)
{
    nd a = nd_new(dtype, shape);
    nd_fill(&a, FILL_WILD, seed);
    for (int64_t k = 0; k < picture_count(&a.p); k++) {
        if (k % 3 == 0) a.p.v[k] = rounded(dtype, (real)((k * 7 + seed) % 5));
        if (k % 11 == 0 && is_float(dtype)) a.p.v[k] = k % 2 ? -0.0L : 0.0L;
        if (k % 13 == 0 && is_float(dtype)) a.p.v[k] = NAN;
    }
    return a;
}

static const char
    *const
        shapes[] = {
            "1",     "2",      "7",       "8",     "9",       "100",     "384",       "385",
            "5000",  "9001", /* short, long, several chunks */
            "1x1",   "5x1",    "1x9",     "3x17",  "40x33",   "2x1000",  "700x3",     "9x5003",
            "4x6x3", "5x40x7", "2x3x500", "1x1x1", "3x4x5x2", "2x3x4x9", "1x1x450x2",
        };

START_TEST(every_axis_of_every_shape_is_sorted)
{
    char what[96];
    nd a = odd_values(IMGPAR_F32, shapes[_i], 3);
    for (int axis = 0; axis < a.rank; axis++) {
        snprintf(what, sizeof what, "sort of %s along %d", shapes[_i], axis);
        check_both(&a, axis, axis % 2, _i % 3 == 0, what);
    }
    nd_free(&a);
}
END_TEST

START_TEST(every_dtype_is_sorted_either_way)
{
    char what[96];
    static const char *const some[] = { "5x50", "2x1500" };
    for (int k = 0; k < 4; k++) {
        nd a = odd_values((imgpar_dtype)_i, some[k / 2], 5);
        snprintf(what, sizeof what, "sort of %s %s, %s", some[k / 2], imgpar_dtype_name((imgpar_dtype)_i),
                 k % 2 ? "descending" : "ascending");
        check_both(&a, 1, k % 2, false, what);
        nd_free(&a);
    }
}
END_TEST

START_TEST(zeros_of_either_sign_have_their_order)
{
    const float values[] = { 1, 0.0f, -0.0f, NAN, 0.0f, -0.0f, -1 }, want[] = { -1, -0.0f, -0.0f, 0.0f, 0.0f, 1 };
    const int32_t places[] = { 6, 1, 2, 4, 5, 0, 3 };
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_F32, 1, (int64_t[]){ 7 }, values);
    imgpar_array *s = imgpar_sort(in, 0, 0), *p = imgpar_argsort(in, 0, 0);
    for (int k = 0; k < 2; k++) {
        float *got = nd_read(ctx, s, k ? "ref" : "auto", "sort");
        int32_t *at = nd_read(ctx, p, k ? "ref" : "auto", "argsort");
        ck_assert_int_eq(memcmp(got, want, sizeof want), 0);
        ck_assert(isnan(got[6]));
        ck_assert_int_eq(memcmp(at, places, sizeof places), 0);
        free(got);
        free(at);
    }
    imgpar_array_release(in);
    imgpar_array_release(s);
    imgpar_array_release(p);
}
END_TEST

START_TEST(a_long_sort_is_a_permutation_in_order)
{
    enum { N = 600011 };
    nd a = nd_new(IMGPAR_I32, "600011");
    nd_fill(&a, FILL_ANY, 9);
    imgpar_array *in = nd_array(ctx, &a), *s = imgpar_sort(in, -1, 0), *p = imgpar_argsort(in, -1, 0);
    int32_t *got = nd_read(ctx, s, "auto", "sort"), *at = nd_read(ctx, p, "auto", "argsort");
    unsigned char *seen = calloc(N, 1);
    ck_assert_ptr_nonnull(seen);
    for (int k = 0; k < N; k++) {
        ck_assert_msg(k == 0 || got[k - 1] <= got[k], "out of order at %d", k);
        ck_assert_msg(at[k] >= 0 && at[k] < N && !seen[at[k]]++, "place %d at %d is there twice", at[k], k);
        ck_assert_msg((int32_t)a.p.v[at[k]] == got[k], "another element at %d", k);
        ck_assert_msg(k == 0 || got[k - 1] < got[k] || at[k - 1] < at[k], "not stable at %d", k);
    }
    free(seen);
    free(got);
    free(at);
    imgpar_array_release(in);
    imgpar_array_release(s);
    imgpar_array_release(p);
    nd_free(&a);
}
END_TEST

/* ---- kernels ----------------------------------------------------------------------------------- */

START_TEST(sorting_is_a_kernel_and_what_surrounds_it_fuses)
{
    static const struct {
        const char *text;
        int n;
        const char *word;
    } claims[] = {
        { "sort($1)", 1, "\"opaque\"" },
        { "argsort($1)", 1, "\"opaque\"" },
        { "sort($1 * 2 + 1)", 2, "hand-written kernels read it from memory" },
        { "flip(sort($1)) / 2", 2, "hand-written kernels compute it" },
        { "sort($1, axis=0)", 3, NULL }, /* there and back */
        { "sort($1 * 2, axis=0, descending=true) + 1", 3, NULL },
    };
    nd a = nd_new(IMGPAR_F32, "40x31");
    nd_fill(&a, FILL_LEVELS, 1);
    imgpar_array *in = nd_array(ctx, &a);
    for (size_t k = 0; k < sizeof claims / sizeof *claims; k++) {
        imgpar_array *got = imgpar_apply(ctx, claims[k].text, &in, 1);
        ck_assert_msg(imgpar_array_status(got) == IMGPAR_OK, "%s: %s", claims[k].text, imgpar_array_message(got));
        nd_expect_kernels(got, claims[k].n, claims[k].word, claims[k].text);
        float *by_device = nd_read(ctx, got, "auto", claims[k].text),
              *by_ref = nd_read(ctx, got, "ref", claims[k].text);
        ck_assert_msg(memcmp(by_device, by_ref, 40 * 31 * sizeof(float)) == 0, "%s: other bytes", claims[k].text);
        free(by_device);
        free(by_ref);
        imgpar_array_release(got);
    }
    imgpar_array_release(in);
    nd_free(&a);
}
END_TEST

/* Rows of repeated elements that tell an index, each worked out by hand. */
START_TEST(an_order_that_is_repeated_tells_places) /* _i: a text */
{
    static const struct {
        const char *text;
        int n;
        int32_t want[12];
    } rows[] = {
        { "repeat(take($1, argsort($1)), 3)", 12, { 1, 1, 1, 2, 2, 2, 3, 3, 3, 9, 9, 9 } },
        { "take($1, repeat(argsort($1), 2))", 8, { 1, 1, 2, 2, 3, 3, 9, 9 } },
        { "i = repeat(argsort($1), 2)\ntake($1, i) + i", 8, { 2, 2, 4, 4, 3, 3, 12, 12 } },
        { "take(numbers([5 6 7 8], dtype=i32), repeat(argsort($1), 3))", 12, { 6, 6, 6, 7, 7, 7, 5, 5, 5, 8, 8, 8 } },
    };
    static const char *const schedules[] = { "auto", "rows", "tiles", "pixels", "ref" };
    static const int32_t numbers[] = { 3, 1, 2, 9 };
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_I32, 1, (int64_t[]){ 4 }, numbers);
    for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
        imgpar_array *a = imgpar_apply(ctx, rows[_i].text, &in, 1);
        int32_t *got = nd_read(ctx, a, schedules[k], rows[_i].text);
        for (int n = 0; n < rows[_i].n; n++)
            ck_assert_int_eq(got[n], rows[_i].want[n]);
        free(got);
        imgpar_array_release(a);
    }
    imgpar_array_release(in);
}
END_TEST

/* ---- places of the order -------------------------------------------------------------------------------- */

/* In every dtype and for places beyond both ends. */
START_TEST(an_element_of_the_order_is_found_in_every_dtype)
{
    static const int64_t places[] = { 0, -5, 1, 1500, 1501, 4550, 4549, 9999, 3000 };
    enum { N = 37 * 41 * 3, N_PLACES = sizeof places / sizeof *places };
    nd a = odd_values((imgpar_dtype)_i, "4551", 11), want = nd_of_shape((imgpar_dtype)_i, 1, (int64_t[]){ N_PLACES });
    nd order = sorted(&a, 0, false, false);
    for (int k = 0; k < N_PLACES; k++)
        want.p.v[k] = order.p.v[places[k] < 0 ? 0 : places[k] < N ? places[k] : N - 1];
    imgpar_array *in[] = { nd_array(ctx, &a),
                           imgpar_array_from_data(ctx, IMGPAR_I64, 1, (int64_t[]){ N_PLACES }, places) };
    nd_check_dtype(ctx, imgpar_apply(ctx, "nth(reshape($1, [37 41 3]), $2)", in, 2), &want, true, (imgpar_dtype)_i,
                   "nth");
    for (int k = 0; k < 2; k++)
        imgpar_array_release(in[k]);
    nd_free(&a);
    nd_free(&want);
    nd_free(&order);
}
END_TEST

/* NaN is last, -0 before 0. */
static int by_order(const void *a, const void *b)
{
    const float u = *(const float *)a, v = *(const float *)b;
    return comes_before(u, v, false, true) ? -1 : comes_before(v, u, false, true) ? 1 : 0;
}

static float of_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

enum { EQUAL, TWO, DENORMALS, INFINITIES, NANS, ASCENDING, DESCENDING, ONE_BIN, ZEROS, ANY_BITS, N_HARD };
/* Element k of n; r is any number. */
static float hard_value(int kind, int k, uint32_t r)
{
    switch (kind) {
    case EQUAL: return -3.25f;
    case TWO: return r >> 20 & 1 ? 2 : 1;
    case DENORMALS: return of_bits((r & 0x80000000) | (r & 0x7fffff));
    case INFINITIES: return r % 5 == 0 ? -INFINITY : r % 5 == 1 ? INFINITY : r % 5 == 2 ? NAN : (float)(r >> 8);
    case NANS: return of_bits((r & 0x80000000) | 0x7f800001 | r >> 10);
    case ASCENDING: return (float)k * 0.37f - 9000;
    case DESCENDING: return 9000 - (float)k * 0.37f;
    case ONE_BIN: return of_bits(0x3f800000 | r >> 16); /* equal in their upper 16 bits */
    case ZEROS: return r >> 30 == 0 ? -0.0f : r >> 30 == 1 ? 0.0f : r >> 30 == 2 ? -of_bits(1) : of_bits(1);
    default: return of_bits(r);
    }
}

static void expect_float(float got, double want, double within, const char *what)
{
    const bool fits = isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= within;
    ck_assert_msg(fits, "%s is %.9g, not %.9g", what, (double)got, want);
}

/* Between two elements; equal ones are not subtracted. In f32: as sort-based percentiles are. */
static double between(const float *v, double h, double *within)
{
    const float lo = v[(int)floor(h)], hi = v[(int)ceil(h)];
    *within = 0x1p-22 * fmax(fabs((double)lo), fabs((double)hi)) + 0x1p-149;
    if (h == floor(h) || lo == hi) return lo;
    return (float)((double)lo + (h - floor(h)) * (double)(hi - lo));
}

START_TEST(percentiles_without_a_sort_are_those_of_a_sort) /* _i: what the elements are */
{
    enum { N = 140003 };                                  /* more than are sorted */
    static const double shares[] = { 0, 100, 50, 31.75 }; /* f32 holds them */
    static const char *const devices[] = { "auto", "ref" };
    char text[200];
    float *v = malloc(N * sizeof *v);
    int64_t shape[] = { N }, places[] = { 0, 1, N / 2, N - 2, N - 1, 12345, 70000, 70001, -1, N };
    enum { N_PLACES = sizeof places / sizeof *places };
    int n_numbers = 0;
    uint32_t r = 12345;
    ck_assert_ptr_nonnull(v);
    for (int k = 0; k < N; k++) {
        r = r * 1664525 + 1013904223;
        v[k] = hard_value(_i, k, r ^ r >> 15);
        n_numbers += !isnan(v[k]);
    }
    imgpar_array *in[] = { imgpar_array_from_data(ctx, IMGPAR_F32, 1, shape, v),
                           imgpar_array_from_data(ctx, IMGPAR_I64, 1, (int64_t[]){ N_PLACES }, places) };
    qsort(v, N, sizeof *v, by_order);
    for (int d = 0; d < 2; d++) {
        imgpar_array *a = imgpar_apply(ctx, "nth($1, $2)", in, 2);
        float *got = nd_read(ctx, a, devices[d], "nth");
        for (int k = 0; k < N_PLACES; k++) {
            const float want = v[places[k] < 0 ? 0 : places[k] < N ? places[k] : N - 1];
            expect_float(got[k], (double)want, 0, "nth");
            ck_assert(isnan(want) || !signbit(want) == !signbit(got[k]));
        }
        free(got);
        imgpar_array_release(a);
        a = imgpar_apply(ctx, "percentiles($1, [0 100; 50 31.75])", in, 1);
        float *all = nd_read(ctx, a, devices[d], "percentiles");
        imgpar_array_release(a);
        for (int k = 0; k < 4; k++) {
            double within, want = between(v, shares[k] * (N - 1) / 100, &within);
            expect_float(all[k], want, within, "percentiles");
            snprintf(text, sizeof text, "percentile($1, %g)", shares[k]);
            a = imgpar_apply(ctx, text, in, 1);
            nd_expect_kernels(a, 3, "nth", text);
            got = nd_read(ctx, a, devices[d], text);
            expect_float(*got, want, within, text);
            free(got);
            imgpar_array_release(a);
            want = n_numbers ? between(v, shares[k] * (n_numbers - 1) / 100, &within) : NAN;
            snprintf(text, sizeof text, "nanpercentile($1, %g)", shares[k]);
            a = imgpar_apply(ctx, text, in, 1);
            got = nd_read(ctx, a, devices[d], text);
            expect_float(*got, want, within, text);
            free(got);
            imgpar_array_release(a);
        }
        free(all);
    }
    for (int k = 0; k < 2; k++)
        imgpar_array_release(in[k]);
    free(v);
}
END_TEST

/* Half of the gradient goes to each of the two in the middle. */
START_TEST(a_gradient_goes_to_the_elements_in_the_middle)
{
    enum { N = 140000 };
    float *v = malloc(N * sizeof *v);
    ck_assert_ptr_nonnull(v);
    for (int64_t k = 0; k < N; k++)
        v[k] = (float)(k * 99991 % N);
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_F32, 2, (int64_t[]){ 400, 350 }, v);
    imgpar_array *a = imgpar_apply(ctx, "grad(percentile($1, 50), $1)", &in, 1);
    float *got = nd_read(ctx, a, "auto", "gradient");
    for (int k = 0; k < N; k++)
        ck_assert_msg(got[k] == (v[k] == N / 2 - 1 || v[k] == N / 2 ? 0.5f : 0), "%d: %g", k, (double)got[k]);
    free(got);
    free(v);
    imgpar_array_release(a);
    imgpar_array_release(in);
}
END_TEST

/* ---- several keys ------------------------------------------------------------------------------------ */

/* Whether the element at u comes before the one at v by its keys, the last of them first; the places decide equals. */
static bool is_before(const nd *keys, int n, const bool *descending, int64_t u, int64_t v)
{
    for (int k = n - 1; k >= 0; k--) {
        if (comes_before(keys[k].p.v[u], keys[k].p.v[v], descending[k], false)) return true;
        if (comes_before(keys[k].p.v[v], keys[k].p.v[u], descending[k], false)) return false;
    }
    return u < v;
}

/* Keys of few values, of three dtypes, of which f32 has NaN and both zeros; rows of a 5 x 37 array and its columns. */
START_TEST(several_keys_decide_one_after_the_other) /* _i: an axis */
{
    static const imgpar_dtype dtypes[] = { IMGPAR_F32, IMGPAR_U8, IMGPAR_I64 };
    const bool descending[] = { false, true, _i != 0 };
    nd keys[3];
    imgpar_array *in[3];
    for (int k = 0; k < 3; k++) {
        keys[k] = nd_new(dtypes[k], "5x37");
        for (int64_t at = 0; at < picture_count(&keys[k].p); at++)
            keys[k].p.v[at] = k == 0 && at % 7 == 0   ? (real)NAN
                              : k == 0 && at % 5 == 0 ? -0.0L
                                                      : (at * 13 / (k + 2)) % 3;
        in[k] = nd_array(ctx, &keys[k]);
    }
    imgpar_array *order =
        imgpar_op(ctx, "lexsort", in, 3, _i ? "axis=1, descending=[0 1 1]" : "axis=0, descending=[0 1 0]");
    static const char *const schedules[] = { "auto", "ref" };
    const int64_t n = _i ? 37 : 5, step = _i ? 1 : 37;
    for (int s = 0; s < 2; s++) {
        int32_t *got = nd_read(ctx, order, schedules[s], "lexsort");
        for (int64_t first = 0; first < 5 * 37; first++) {
            if (first / step % n != 0) continue;
            for (int64_t k = 0; k < n; k++) {
                ck_assert(got[first + k * step] >= 0 && got[first + k * step] < n);
                if (k > 0)
                    ck_assert(is_before(keys, 3, descending, first + got[first + (k - 1) * step] * step,
                                        first + got[first + k * step] * step));
            }
        }
        free(got);
    }
    imgpar_array_release(order);
    for (int k = 0; k < 3; k++) {
        nd_free(&keys[k]);
        imgpar_array_release(in[k]);
    }
}
END_TEST

/* What a text says of keys $1 = 3 1 2 1 and $2 = 1 1 0 1. */
START_TEST(keys_are_given_one_by_one_or_as_a_tuple)
{
    static const struct {
        const char *text, *message;
        int32_t want[4];
    } rows[] = {
        { "lexsort($1, $2)", "", { 2, 1, 3, 0 } },
        { "lexsort(($1, $2))", "", { 2, 1, 3, 0 } },
        { "lexsort(($1, $2), axis=0, descending=[1 0])", "", { 2, 0, 1, 3 } },
        { "lexsort($1, $2, axis=-1, descending=1)", "", { 0, 1, 3, 2 } },
        { "lexsort($1)", "", { 1, 3, 2, 0 } },
        { "take($1, lexsort($2, $1, $2))", "", { 2, 1, 1, 3 } },
        { "lexsort($1, $2, descending=[1 0 1])",
          "1:1: lexsort: descending has 3 numbers for 2 keys; one for each is needed",
          { 0 } },
        { "lexsort($1, $2, descending=2)", "1:1: lexsort: descending must be of 0 and 1, not 2", { 0 } },
        { "lexsort($1, slice($2, 1))", "1:1: lexsort: keys are [4] and [3]; they must be of one shape", { 0 } },
        { "lexsort($1, $2, $1, $2, $1, $2, $1, $2, $1)",
          "1:1: lexsort: 9 keys are too many; at most 8 are possible",
          { 0 } },
        { "lexsort($1, $2, axis=1)", "1:1: lexsort: there is no axis 1; a has 1 axis: [4]", { 0 } },
    };
    imgpar_array *in[] = { imgpar_array_from_data(ctx, IMGPAR_I32, 1, (int64_t[]){ 4 }, (int32_t[]){ 3, 1, 2, 1 }),
                           imgpar_array_from_data(ctx, IMGPAR_I32, 1, (int64_t[]){ 4 }, (int32_t[]){ 1, 1, 0, 1 }) };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        imgpar_array *a = imgpar_apply(ctx, rows[k].text, in, 2);
        if (*rows[k].message) {
            ck_assert_msg(strstr(imgpar_array_message(a), rows[k].message), "%s: %s", rows[k].text,
                          imgpar_array_message(a));
        } else {
            int32_t *got = nd_read(ctx, a, "ref", rows[k].text);
            for (int n = 0; n < 4; n++)
                ck_assert_msg(got[n] == rows[k].want[n], "%s: %d", rows[k].text, n);
            free(got);
        }
        imgpar_array_release(a);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

START_TEST(an_axis_that_is_not_there_is_named)
{
    nd a = nd_new(IMGPAR_F32, "4x5");
    imgpar_array *in = nd_array(ctx, &a), *bad = imgpar_sort(in, 2, 0), *low = imgpar_argsort(in, -3, 0);
    ck_assert_str_eq(imgpar_array_message(bad), "sort: there is no axis 2; a has 2 axes: [4, 5]");
    ck_assert_str_eq(imgpar_array_message(low), "argsort: there is no axis -3; a has 2 axes: [4, 5]");
    imgpar_array_release(in);
    imgpar_array_release(bad);
    imgpar_array_release(low);
    nd_free(&a);
}
END_TEST

/* ---- little memory, failures --------------------------------------------------------------------- */

START_TEST(under_a_memory_limit_strips_give_the_same_bytes)
{
    static const char *const texts[] = { "sort($1)", "argsort($1) + 1" };
    nd a = nd_new(IMGPAR_F32, "900x700"); /* 2.5 MB */
    nd_fill(&a, FILL_LEVELS, 1);
    imgpar_array *in = nd_array(ctx, &a);
    for (int k = 0; k < 2; k++) {
        imgpar_array *whole = imgpar_apply(ctx, texts[k], &in, 1), *strips = imgpar_apply(ctx, texts[k], &in, 1);
        char *want = nd_read(ctx, whole, "auto", texts[k]);
        ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "3M"), IMGPAR_OK);
        char *got = nd_read(ctx, strips, "auto", texts[k]);
        ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "0"), IMGPAR_OK);
        ck_assert_int_eq(memcmp(want, got, 900 * 700 * 4), 0);
        free(want);
        free(got);
        imgpar_array_release(whole);
        imgpar_array_release(strips);
    }
    imgpar_array_release(in);
    nd_free(&a);
}
END_TEST

enum { SIDE = 23 };

/* A product and both sorts in one graph. */
static imgpar_status small_work(float out[SIDE * SIDE])
{
    float values[SIDE * SIDE];
    for (int k = 0; k < SIDE * SIDE; k++)
        values[k] = (float)(k * 37 % 101);
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 2, (int64_t[]){ SIDE, SIDE }, values);
    imgpar_array *work = imgpar_apply(ctx, "matmul(sort($1, axis=0), $1 + 1) + argsort($1)", &a, 1);
    imgpar_status st = imgpar_array_read(work, out, SIDE * SIDE * sizeof *out);
    imgpar_array_release(a);
    imgpar_array_release(work);
    return st;
}

/* Every N gives a status or, where the library helped itself, the right numbers. */
static void walk(const char *schedule, ip_fault_kind kind)
{
    float want[SIDE * SIDE], got[SIDE * SIDE];
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    ck_assert_int_eq(small_work(want), IMGPAR_OK);
    for (unsigned long nth = 1; nth < 20000; nth++) {
        ip_fault_set(kind, nth);
        imgpar_status st = small_work(got);
        unsigned long seen = ip_fault_seen(kind);
        ip_fault_set(kind, 0);
        ck_assert_msg(st || memcmp(want, got, sizeof got) == 0, "call %lu fails: other numbers", nth);
        ck_assert_msg(st != IMGPAR_E_INTERNAL && (!st || kind != IP_FAULT_ALLOC || st == IMGPAR_E_HOST_MEMORY),
                      "call %lu fails: %s", nth, imgpar_status_name(st));
        if (seen < nth) break;
    }
    if (!ctx->device) return;
    imgpar_counters counters = { .struct_size = sizeof counters };
    ip_device_trim(ctx->device);
    imgpar_context_counters(ctx, &counters);
    ck_assert_uint_eq(counters.device_bytes, 0);
}

START_TEST(every_allocation_may_fail_on_the_device) { walk("auto", IP_FAULT_ALLOC); }
END_TEST
START_TEST(every_allocation_may_fail_in_the_interpreter) { walk("ref", IP_FAULT_ALLOC); }
END_TEST
START_TEST(every_opencl_call_may_fail) { walk("auto", IP_FAULT_CL); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("sort");
    TCase *c = tcase_create("sort");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, every_axis_of_every_shape_is_sorted, 0, sizeof shapes / sizeof *shapes);
    tcase_add_loop_test(c, every_dtype_is_sorted_either_way, 0, IP_N_REAL_DTYPES);
    tcase_add_test(c, zeros_of_either_sign_have_their_order);
    tcase_add_test(c, a_long_sort_is_a_permutation_in_order);
    tcase_add_test(c, sorting_is_a_kernel_and_what_surrounds_it_fuses);
    tcase_add_loop_test(c, an_order_that_is_repeated_tells_places, 0, 4);
    tcase_add_loop_test(c, several_keys_decide_one_after_the_other, 0, 2);
    tcase_add_test(c, keys_are_given_one_by_one_or_as_a_tuple);
    tcase_add_loop_test(c, an_element_of_the_order_is_found_in_every_dtype, 0, IP_N_REAL_DTYPES);
    tcase_add_loop_test(c, percentiles_without_a_sort_are_those_of_a_sort, 0, N_HARD);
    tcase_add_test(c, a_gradient_goes_to_the_elements_in_the_middle);
    tcase_add_test(c, an_axis_that_is_not_there_is_named);
    tcase_add_test(c, under_a_memory_limit_strips_give_the_same_bytes);
    tcase_add_test(c, every_allocation_may_fail_on_the_device);
    tcase_add_test(c, every_allocation_may_fail_in_the_interpreter);
    tcase_add_test(c, every_opencl_call_may_fail);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
