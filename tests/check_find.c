/* SPDX-License-Identifier: MIT */
/*
 * Operations whose results are places or counts: topk, find, unique, searchsorted, scatter_add, weighted_histogram, and
 * look-ups by key.
 * The answers are worked out by plain loops over the values, each by the definition.
 */
#include "shaped.h"

#include "base/alloc.h"
#include "asserts.h"
#include "held.h"
#include "tier.h"

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

/* Few different values, among them both zeros and NaN. */
static nd few_values(imgpar_dtype dtype, const char *shape, int different)
{
    nd a = nd_new(dtype, shape);
    for (int64_t k = 0; k < picture_count(&a.p); k++) {
        a.p.v[k] = rounded(dtype, (real)((k * 7919 + k / 13) % different));
        if (is_float(dtype) && k % 17 == 3) a.p.v[k] = NAN;
        if (is_float(dtype) && k % 5 == 1 && a.p.v[k] == 0) a.p.v[k] = -0.0L;
    }
    return a;
}

static imgpar_array *of(const char *text, imgpar_array *const *arrays, size_t n)
{
    imgpar_array *out = imgpar_apply(ctx, text, arrays, n);
    ck_assert_msg(imgpar_array_status(out) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(out));
    return out;
}

/* ---- topk ------------------------------------------------------------------------------------------ */

/* u goes before v: NaN last, else by size. */
static bool goes_before(real u, real v, bool largest)
{
    if (isnan(u) || isnan(v)) return !isnan(u) && isnan(v);
    return largest ? u > v : u < v;
}

/* Of rows of n: k times the best of those that are left, the first of equal ones. */
static void best_of_row(const real *v, int64_t n, int k, bool largest, real *places)
{
    bool *taken = calloc((size_t)n, sizeof *taken);
    ck_assert_ptr_nonnull(taken);
    for (int j = 0; j < k; j++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!taken[i] && (best < 0 || goes_before(v[i], v[best], largest))) best = i;
        taken[best] = true;
        places[j] = (real)best;
    }
    free(taken);
}

START_TEST(the_best_of_each_row_are_found_in_every_dtype)
{
    enum { ROWS = 6, N = 40, K = 5 };
    const imgpar_dtype dtype = (imgpar_dtype)_i;
    nd a = few_values(dtype, "6x40", 23), places = nd_new(IMGPAR_I32, "6x5"), values = nd_new(dtype, "6x5");
    imgpar_array *in = nd_array(ctx, &a);
    for (int largest = 0; largest < 2; largest++) {
        for (int row = 0; row < ROWS; row++) {
            best_of_row(a.p.v + row * N, N, K, largest, places.p.v + row * K);
            for (int j = 0; j < K; j++)
                values.p.v[row * K + j] = a.p.v[row * N + (int)places.p.v[row * K + j]];
        }
        nd_check_dtype(ctx, imgpar_argtopk(in, K, 1, largest), &places, true, dtype, "argtopk");
        /* -0 and 0 are one value here */
        nd_check_dtype(ctx, imgpar_topk(in, K, -1, largest), &values, false, dtype, "topk");
    }
    imgpar_array_release(in);
    nd_free(&a);
    nd_free(&places);
    nd_free(&values);
}
END_TEST

/* ---- find -------------------------------------------------------------------------------------------- */

START_TEST(places_that_are_not_0_are_found_in_every_dtype)
{
    static const char *const shapes[] = { "1", "7x9x3", "50x41" };
    const imgpar_dtype dtype = (imgpar_dtype)_i;
    for (int s = 0; s < 3; s++) {
        nd a = few_values(dtype, shapes[s], 3), places = nd_of_shape(IMGPAR_I32, 1, (int64_t[]){ picture_count(&a.p) });
        nd number = nd_new(IMGPAR_U64, "1");
        int64_t n = 0, count = picture_count(&a.p);
        for (int64_t k = 0; k < count; k++)
            if (a.p.v[k] != 0) places.p.v[n++] = (real)k;
        number.p.v[0] = (real)n;
        for (int64_t k = n; k < count; k++)
            places.p.v[k] = -1;
        imgpar_array *in = nd_array(ctx, &a);
        nd_check_dtype(ctx, imgpar_find(in), &places, true, dtype, "find");
        nd_check_dtype(ctx, imgpar_count_nonzero(in), &number, true, dtype, "count_nonzero");
        imgpar_array_release(in);
        nd_free(&a);
        nd_free(&places);
        nd_free(&number);
    }
}
END_TEST

/* ---- unique ---------------------------------------------------------------------------------------------- */

static bool same_value(real u, real v) { return u == v || (isnan(u) && isnan(v)); }

/* Each value's first element in order, and how many have it. */
static int64_t different(const nd *a, real *values, real *counts)
{
    int64_t n = 0;
    for (int64_t k = 0; k < picture_count(&a->p); k++) {
        int64_t at = 0;
        while (at < n && !same_value(values[at], a->p.v[k]))
            at++;
        if (at < n) {
            counts[at]++;
            continue;
        }
        for (at = n++; at > 0 && goes_before(a->p.v[k], values[at - 1], false); at--) {
            values[at] = values[at - 1];
            counts[at] = counts[at - 1];
        }
        values[at] = a->p.v[k];
        counts[at] = 1;
    }
    return n;
}

static nd inverse_of(const nd *a, const real *values, const char *shape)
{
    nd inverse = nd_new(IMGPAR_I32, shape);
    for (int64_t k = 0; k < picture_count(&a->p); k++)
        while (!same_value(values[(int64_t)inverse.p.v[k]], a->p.v[k]))
            inverse.p.v[k]++;
    return inverse;
}

START_TEST(different_values_are_counted_in_every_dtype)
{
    static const struct {
        const char *shape;
        int different;
    } cases[] = { { "1", 1 }, { "3x50", 1 }, { "11x13x3", 20 }, { "900", 900 } };
    for (int s = 0; s < 4; s++) {
        const imgpar_dtype dtype = (imgpar_dtype)_i;
        nd a = few_values(dtype, cases[s].shape, cases[s].different);
        const int64_t whole[] = { picture_count(&a.p) };
        nd values = nd_of_shape(dtype, 1, whole), counts = nd_of_shape(IMGPAR_I32, 1, whole),
           number = nd_new(IMGPAR_U64, "1");
        number.p.v[0] = (real)different(&a, values.p.v, counts.p.v);
        nd inverse = inverse_of(&a, values.p.v, cases[s].shape);
        imgpar_array *in = nd_array(ctx, &a);
        nd_check_dtype(ctx, imgpar_unique(in), &values, true, dtype, "unique");
        nd_check_dtype(ctx, imgpar_unique_counts(in), &counts, true, dtype, "unique_counts");
        nd_check_dtype(ctx, imgpar_count_unique(in), &number, true, dtype, "count_unique");
        nd_check_dtype(ctx, imgpar_unique_inverse(in), &inverse, true, dtype, "unique_inverse");
        imgpar_array_release(in);
        nd_free(&inverse);
        nd_free(&a);
        nd_free(&values);
        nd_free(&counts);
        nd_free(&number);
    }
}
END_TEST

static int in_order(const void *u, const void *v)
{
    const real a = *(const real *)u, b = *(const real *)v;
    return goes_before(a, b, false) ? -1 : goes_before(b, a, false);
}

/* Each value of the elements in order. */
static int64_t different_of_sorted(const nd *a, real *values, real *counts)
{
    const int64_t n = picture_count(&a->p);
    int64_t found = 0;
    real *sorted = malloc((size_t)n * sizeof *sorted);
    ck_assert_ptr_nonnull(sorted);
    memcpy(sorted, a->p.v, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, in_order);
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || !same_value(sorted[k], sorted[k - 1])) values[found++] = sorted[k];
        counts[found - 1]++;
    }
    free(sorted);
    return found;
}

enum { TABLES = 270001, LATE = 240000 }; /* enough that tables are tried; elements that are one value */

/* Few values, more than the least that are sorted, more than there is room for, and so many only behind the rest; each
 * case in every other dtype, in the full tier in all. */
START_TEST(few_of_many_values_are_found_by_tables)
{
    static const int cases[] = { 100, 9000, 100000, 0 };
    const imgpar_dtype dtype = (imgpar_dtype)_i;
    for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
        if (!test_tier_is_full() && (s + (size_t)_i) % 2) continue;
        nd a = few_values(dtype, "270001", cases[s] ? cases[s] : TABLES);
        for (int64_t k = 0; k < LATE && !cases[s]; k++)
            a.p.v[k] = 1;
        nd values = nd_new(dtype, "270001"), counts = nd_new(IMGPAR_I32, "270001"), number = nd_new(IMGPAR_U64, "1");
        memset(values.p.v, 0, TABLES * sizeof(real));
        memset(counts.p.v, 0, TABLES * sizeof(real));
        number.p.v[0] = (real)different_of_sorted(&a, values.p.v, counts.p.v);
        imgpar_array *in = nd_array(ctx, &a);
        nd_check_dtype(ctx, imgpar_unique(in), &values, true, dtype, "unique");
        nd_check_dtype(ctx, imgpar_unique_counts(in), &counts, true, dtype, "unique_counts");
        nd_check_dtype(ctx, imgpar_count_unique(in), &number, true, dtype, "count_unique");
        imgpar_array_release(in);
        nd_free(&a);
        nd_free(&values);
        nd_free(&counts);
        nd_free(&number);
    }
}
END_TEST

/* Of few values, of more than the least that are sorted, and of too many for tables; -0 stands beside 0, and NaN. */
START_TEST(the_inverse_of_many_elements_gives_them_back)
{
    static const int cases[] = { 100, 9000, 100000 };
    nd a = few_values(IMGPAR_F32, "270001", cases[_i]);
    imgpar_array *in = nd_array(ctx, &a), *back = of("take(unique($1), unique_inverse($1))", &in, 1);
    nd_check_dtype(ctx, back, &a, false, IMGPAR_F32, "unique_inverse");
    imgpar_array_release(in);
    nd_free(&a);
}
END_TEST

/* ---- look-ups by key ------------------------------------------------------------------------------------- */

/* By halves, and by a table, which indexin has of very many keys only; some stand several times. */
START_TEST(keys_are_found_in_every_dtype)
{
    static const char *const cases[] = { "3", "9x20" };
    const imgpar_dtype dtype = (imgpar_dtype)_i;
    for (int s = 0; s < 2; s++) {
        nd a = few_values(dtype, "11x13x3", 120), keys = few_values(dtype, cases[s], 90);
        const int64_t n = picture_count(&keys.p), of_keys[] = { n };
        nd places = nd_new(IMGPAR_I32, "11x13x3"), is_in = nd_new(IMGPAR_BOOL, "11x13x3"),
           found = nd_new(IMGPAR_I16, "11x13x3"), values = nd_of_shape(IMGPAR_I16, 1, of_keys);
        for (int64_t k = 0; k < n; k++)
            values.p.v[k] = (real)(3 * k - 100);
        for (int64_t k = 0; k < picture_count(&a.p); k++) {
            int64_t at = 0;
            while (at < n && !same_value(keys.p.v[at], a.p.v[k]))
                at++;
            places.p.v[k] = at < n ? (real)at : -1;
            is_in.p.v[k] = at < n && !isnan(a.p.v[k]);
            found.p.v[k] = at < n ? values.p.v[at] : -7;
        }
        imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &keys), nd_array(ctx, &values) };
        nd_check_dtype(ctx, imgpar_indexin(in[0], in[1]), &places, true, dtype, "indexin");
        nd_check_dtype(ctx, of("k = reshape($2, [-1])\nkey_places($1, k, key_table(k))", in, 2), &places, true, dtype,
                       "key_places");
        nd_check_dtype(ctx, imgpar_isin(in[0], in[1]), &is_in, true, dtype, "isin");
        nd_check_dtype(ctx, of("lookup_by(reshape($2, [-1]), $3, $1, default=-7)", in, 3), &found, true, dtype,
                       "lookup_by");
        for (int k = 0; k < 3; k++)
            imgpar_array_release(in[k]);
        nd *const all[] = { &a, &keys, &places, &is_in, &found, &values };
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            nd_free(all[k]);
    }
}
END_TEST

START_TEST(values_and_counts_together_sort_once)
{
    nd a = few_values(IMGPAR_I32, "5000", 40);
    imgpar_array *in = nd_array(ctx, &a), *both = of("unique($1) * unique_counts($1)", &in, 1),
                 *one = of("unique($1)", &in, 1);
    char *of_both, *of_one;
    ck_assert_int_eq(imgpar_explain(&both, 1, "json", &of_both), IMGPAR_OK);
    ck_assert_int_eq(imgpar_explain(&one, 1, "json", &of_one), IMGPAR_OK);
    int n[2] = { 0, 0 };
    for (int k = 0; k < 2; k++)
        for (const char *at = k ? of_one : of_both; (at = strstr(at, "\"schedule\": \"opaque\"")); at++)
            n[k]++;
    ck_assert_msg(n[0] == 2 && n[1] == 2, "%d and %d sorts\n%s", n[0], n[1], of_both);
    imgpar_free(of_both);
    imgpar_free(of_one);
    imgpar_array_release(both);
    imgpar_array_release(one);
    imgpar_array_release(in);
    nd_free(&a);
}
END_TEST

/* ---- searchsorted ------------------------------------------------------------------------------------------ */

START_TEST(values_are_placed_among_edges_in_every_dtype)
{
    static const int64_t sizes[] = { 1, 2, 3, 7, 8, 9, 100 };
    const imgpar_dtype dtype = (imgpar_dtype)_i;
    nd a = few_values(dtype, "13x20x3", 120), want = nd_new(IMGPAR_I32, "13x20x3");
    imgpar_array *in = nd_array(ctx, &a);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        nd edges = nd_of_shape(IMGPAR_I32, 1, &sizes[s]);
        for (int64_t k = 0; k < sizes[s]; k++)
            edges.p.v[k] = (real)(k + k / 3); /* some are there twice */
        for (int64_t k = 0; k < picture_count(&a.p); k++) {
            want.p.v[k] = 0;
            for (int64_t e = 0; e < sizes[s]; e++)
                want.p.v[k] += isnan(a.p.v[k]) || edges.p.v[e] <= a.p.v[k];
        }
        imgpar_array *of_edges = nd_array(ctx, &edges);
        nd_check_dtype(ctx, imgpar_searchsorted(of_edges, in), &want, true, dtype, "searchsorted");
        imgpar_array_release(of_edges);
        nd_free(&edges);
    }
    imgpar_array_release(in);
    nd_free(&a);
    nd_free(&want);
}
END_TEST

/* ---- scatter_add --------------------------------------------------------------------------------------------- */

enum { ADD, LEAST, LARGEST, N_FOLDS };
/* base[index[j], ..] += values[j, ..], or becomes the extreme of both; what falls outside is dropped. Where slack is
 * wanted: of n additions in dtype. */
static void scattered(int fold, const nd *base, const nd *indices, const nd *values, nd *out)
{
    const int64_t m = picture_count(&base->p), rows = base->shape[0], width = m / rows, n = picture_count(&indices->p);
    const bool one = picture_count(&values->p) == 1;
    for (int64_t j = 0; j < m; j++)
        out->p.v[j] = base->p.v[j];
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = (int64_t)indices->p.v[k];
        for (int64_t w = 0; w < width && row >= 0 && row < rows; w++) {
            const real v = values->p.v[one ? 0 : k * width + w];
            real *to = &out->p.v[row * width + w];
            *to = fold == ADD ? *to + v : fold == LEAST ? fminl(*to, v) : fmaxl(*to, v);
            if (fold == ADD && is_float(out->p.dtype))
                out->p.slack[row * width + w] += fabsl(v) * 0x1p-20L + fabsl(out->p.v[row * width + w]) * 0x1p-22L;
        }
    }
    for (int64_t j = 0; j < m; j++) /* integers saturate */
        out->p.v[j] = is_float(out->p.dtype) ? out->p.v[j] : rounded(out->p.dtype, out->p.v[j]);
}

static nd places_around(const char *shape, int rows)
{
    nd at = nd_new(IMGPAR_I32, shape);
    for (int64_t k = 0; k < picture_count(&at.p); k++)
        at.p.v[k] = (real)((k * 7919 + k / 7) % (rows + 4) - 2);
    return at;
}

static void check_scatter(int fold, imgpar_dtype dtype, const char *base_shape, const char *index_shape,
                          const char *value_shape, fill kind)
{
    static imgpar_array *(*const rows[N_FOLDS])(imgpar_array *, imgpar_array *,
                                                imgpar_array *) = { imgpar_scatter_add, imgpar_scatter_min,
                                                                    imgpar_scatter_max };
    char what[128];
    nd base = nd_new(dtype, base_shape), values = nd_new(dtype, value_shape), want = nd_new(dtype, base_shape);
    nd at = places_around(index_shape, (int)base.shape[0]);
    nd_fill(&base, kind, 3);
    nd_fill(&values, kind, 4);
    scattered(fold, &base, &at, &values, &want);
    imgpar_array *in[] = { nd_array(ctx, &base), nd_array(ctx, &at), nd_array(ctx, &values) };
    snprintf(what, sizeof what, "fold %d: %s onto %s at %s", fold, imgpar_dtype_name(dtype), base_shape, index_shape);
    nd_check_dtype(ctx, rows[fold](in[0], in[1], in[2]), &want, true, dtype, what);
    for (int k = 0; k < 3; k++)
        imgpar_array_release(in[k]);
    nd_free(&base);
    nd_free(&at);
    nd_free(&values);
    nd_free(&want);
}

START_TEST(values_are_folded_where_they_belong_in_every_dtype) /* _i: the dtype, and the fold */
{
    const imgpar_dtype dtype = (imgpar_dtype)(_i / N_FOLDS);
    const int fold = _i % N_FOLDS;
    check_scatter(fold, dtype, "10", "200", "200", FILL_SMALL);
    check_scatter(fold, dtype, "10", "20x10", "1", FILL_SMALL);
    check_scatter(fold, dtype, "1", "9", "9", FILL_SMALL);
    check_scatter(fold, dtype, "7x5", "31", "31x5", FILL_SMALL);
    check_scatter(fold, dtype, "7x2x3", "4x5", "4x5x2x3", FILL_SMALL);
}
END_TEST

START_TEST(many_values_are_added_block_by_block_the_same_everywhere)
{
    check_scatter(ADD, IMGPAR_F32, "100", "100003", "100003", FILL_LEVELS); /* seven blocks, the last one short */
    check_scatter(ADD, IMGPAR_F32, "5000", "90001", "90001", FILL_LEVELS);  /* longer blocks */
    check_scatter(ADD, IMGPAR_F32, "90001", "500", "500", FILL_LEVELS);     /* one block, few values */
    check_scatter(ADD, IMGPAR_F64, "300", "70001", "70001", FILL_LEVELS);
    check_scatter(ADD, IMGPAR_I32, "3", "50000", "50000", FILL_SMALL);
    check_scatter(LEAST, IMGPAR_F32, "5000", "90001", "90001", FILL_LEVELS);
    check_scatter(LARGEST, IMGPAR_I64, "300", "70001", "70001", FILL_SMALL);
}
END_TEST

/* As the row's formula says: blocks of 16384 values, or of two for each element of base, are summed from 0, and their
 * sums added to base. */
static void add_in_order(float *base, int m, const int32_t *at, const float *values, int n)
{
    const int block = m > 8192 ? 2 * m : 16384;
    float *sums = malloc((size_t)m * sizeof *sums);
    for (int first = 0; first < n; first += block) {
        for (int j = 0; j < m; j++)
            sums[j] = 0;
        for (int k = first; k < n && k < first + block; k++)
            sums[at[k]] += values[k];
        for (int j = 0; j < m; j++)
            base[j] += sums[j];
    }
    free(sums);
}

START_TEST(floats_are_added_in_the_order_that_the_formula_tells)
{
    enum { MOST = 9001, N = 60001 };
    static const int elements[] = { 5, 3001, MOST };
    static float base[MOST], want[MOST], values[N];
    static int32_t at[N];
    const int m = elements[_i];
    for (int j = 0; j < m; j++)
        want[j] = base[j] = 1 / (float)(j + 3);
    for (int k = 0; k < N; k++) {
        at[k] = (int32_t)(k * 7919LL % m);
        values[k] = (float)(k % 1009) / (float)(k % 97 + 7);
    }
    add_in_order(want, m, at, values, N);
    imgpar_array *in[] = { imgpar_array_from_data(ctx, IMGPAR_F32, 1, (int64_t[]){ m }, base),
                           imgpar_array_from_data(ctx, IMGPAR_I32, 1, (int64_t[]){ N }, at),
                           imgpar_array_from_data(ctx, IMGPAR_F32, 1, (int64_t[]){ N }, values) };
    for (int is_ref = 0; is_ref < 2; is_ref++) {
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", is_ref ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *sum = imgpar_scatter_add(in[0], in[1], in[2]);
        memset(base, 0, sizeof base);
        ck_assert_msg(imgpar_array_read(sum, base, (size_t)m * sizeof *base) == IMGPAR_OK, "%s",
                      imgpar_array_message(sum));
        ck_assert_msg(memcmp(base, want, (size_t)m * sizeof *base) == 0, "onto %d elements, ref %d", m, is_ref);
        imgpar_array_release(sum);
    }
    for (int k = 0; k < 3; k++)
        imgpar_array_release(in[k]);
}
END_TEST

/* One integer for all: onto few elements and many, in one block and in several, with indices beyond; it wraps in 64
 * bits. */
START_TEST(one_integer_is_added_as_often_as_its_index_stands)
{
    enum { N = 40000, MOST = 3001 };
    static const struct {
        const char *base, *value;
        int m;
        uint64_t number;
    } cases[] = {
        { "zeros([5], dtype=i64)", "cast([-3], i64)", 5, (uint64_t)-3 },
        { "zeros([3001], dtype=i64)", "cast([-3], i64)", MOST, (uint64_t)-3 },
        { "zeros([3001], dtype=u64)", "cast([7], u64) * cast(1000000007, u64) * cast(1000000009, u64)", MOST,
          7ull * 1000000007 * 1000000009 },
    };
    static int32_t at[N];
    static uint64_t want[MOST], got[MOST];
    for (int k = 0; k < N; k++)
        at[k] = (int32_t)((k * 7919LL + k / 64) % (cases[_i].m + 2)) - 1; /* the first and the last lie beyond */
    memset(want, 0, sizeof want);
    for (int k = 0; k < N; k++)
        if (at[k] >= 0 && at[k] < cases[_i].m) want[at[k]] += cases[_i].number;
    imgpar_array *in[] = { of(cases[_i].base, NULL, 0),
                           imgpar_array_from_data(ctx, IMGPAR_I32, 1, (int64_t[]){ N }, at),
                           of(cases[_i].value, NULL, 0) };
    for (int is_ref = 0; is_ref < 2; is_ref++) {
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", is_ref ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *sum = imgpar_scatter_add(in[0], in[1], in[2]);
        const size_t bytes = (size_t)cases[_i].m * sizeof *got;
        memset(got, 0, sizeof got);
        ck_assert_msg(imgpar_array_read(sum, got, bytes) == IMGPAR_OK, "%s", imgpar_array_message(sum));
        ck_assert_msg(memcmp(got, want, bytes) == 0, "%s, ref %d: %lld, not %lld", cases[_i].base, is_ref,
                      (long long)got[0], (long long)want[0]);
        imgpar_array_release(sum);
    }
    for (int k = 0; k < 3; k++)
        imgpar_array_release(in[k]);
}
END_TEST

START_TEST(a_histogram_is_a_scatter_of_ones)
{
    nd a = nd_new(IMGPAR_U8, "61x47"), ones = nd_new(IMGPAR_U32, "1"), none = nd_new(IMGPAR_U32, "256"),
       want = nd_new(IMGPAR_U32, "256");
    nd_fill(&a, FILL_ANY, 6);
    ones.p.v[0] = 1;
    for (int64_t k = 0; k < picture_count(&a.p); k++)
        want.p.v[(int)a.p.v[k]]++;
    imgpar_array *in[] = { nd_array(ctx, &none), nd_array(ctx, &a), nd_array(ctx, &ones) };
    nd_check(ctx, imgpar_scatter_add(in[0], in[1], in[2]), &want, true, "histogram by scatter_add");
    nd_check(ctx, of("reshape(histogram($1), [-1])", &in[1], 1), &want, true, "histogram");
    for (int k = 0; k < 3; k++)
        imgpar_array_release(in[k]);
    nd_free(&a);
    nd_free(&ones);
    nd_free(&none);
    nd_free(&want);
}
END_TEST

/* ---- weighted histogram ---------------------------------------------------------------------------------------- */

static imgpar_dtype weight_sum_dtype(imgpar_dtype dtype)
{
    if (is_float(dtype)) return dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
    return dtype_low(dtype) < 0 ? IMGPAR_I64 : IMGPAR_U64;
}

START_TEST(weights_are_summed_by_bin_in_every_dtype)
{
    enum { BINS = 7, CHANNELS = 3 };
    static const char *const shapes[] = { "23x31x3", "23x31x1" };
    nd a = nd_new(IMGPAR_I16, "23x31x3");
    nd_fill(&a, FILL_ANY, 8);
    for (int64_t k = 0; k < picture_count(&a.p); k++)
        a.p.v[k] = (real)((int64_t)a.p.v[k] % 50); /* lo = -20, hi = 30: some lie outside */
    imgpar_array *in = nd_array(ctx, &a);
    for (int s = 0; s < 2; s++) {
        const imgpar_dtype dtype = (imgpar_dtype)_i;
        nd w = nd_new(dtype, shapes[s]), want = nd_new(weight_sum_dtype(dtype), "3x7");
        nd_fill(&w, FILL_SMALL, 5);
        for (int64_t k = 0; k < picture_count(&a.p); k++) {
            const int64_t v = (int64_t)a.p.v[k], channel = k % CHANNELS;
            if (v < -20 || v > 30) continue;
            const int64_t bin = v == 30 ? BINS - 1 : (v + 20) * BINS / 50;
            const real weight = w.p.v[s ? k / CHANNELS : k];
            want.p.v[channel * BINS + bin] += weight;
            if (is_float(dtype)) want.p.slack[channel * BINS + bin] += fabsl(weight) * 0x1p-13L; /* 2139 additions */
        }
        imgpar_array *arrays[] = { in, nd_array(ctx, &w) };
        nd_check_dtype(ctx, of("weighted_histogram($1, $2, bins=7, lo=-20, hi=30)", arrays, 2), &want, true, dtype,
                       "weighted_histogram");
        imgpar_array_release(arrays[1]);
        nd_free(&w);
        nd_free(&want);
    }
    imgpar_array_release(in);
    nd_free(&a);
}
END_TEST

/* ---- nothing, and what does not fit ------------------------------------------------------------------------------ */

START_TEST(of_no_elements_there_are_none)
{
    static const struct {
        const char *text;
        imgpar_dtype dtype;
        const char *shape;
    } cases[] = {
        { "find($1)", IMGPAR_I32, "0" },
        { "unique($1)", IMGPAR_F32, "0" },
        { "unique_counts($1)", IMGPAR_I32, "0" },
        { "unique_inverse($1)", IMGPAR_I32, "0" },
        { "indexin($1, zeros([100]))", IMGPAR_I32, "0" },
        { "isin($1, zeros([100]))", IMGPAR_BOOL, "0" },
        { "lookup_by(zeros([100]), zeros([100]), $1)", IMGPAR_F32, "0" },
        { "lookup_by($1, $1, zeros([4]))", IMGPAR_F32, "4" },
        { "count_nonzero($1)", IMGPAR_U64, "1" },
        { "count_unique($1)", IMGPAR_U64, "1" },
        { "topk($1, 0)", IMGPAR_F32, "0" },
        { "sort($1)", IMGPAR_F32, "0" },
        { "searchsorted($1, zeros([2]))", IMGPAR_I32, "2" },
        { "scatter_add(zeros([3]), cast($1, i32), $1)", IMGPAR_F32, "3" },
        { "scatter_add($1, zeros([3], dtype=i32), ones([3]))", IMGPAR_F32, "0" },
    };
    imgpar_array *in = of("zeros([0])", NULL, 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        nd want = nd_new(cases[k].dtype, cases[k].shape);
        nd_check_dtype(ctx, of(cases[k].text, &in, 1), &want, true, IMGPAR_F32, cases[k].text);
        nd_free(&want);
    }
    imgpar_array_release(in);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "topk($1, 9, axis=1)", "topk: k=9 is above the 8 elements of axis 1" },
        { "argtopk($1, 1, axis=2)", "argtopk: there is no axis 2; a has 2 axes: [6, 8]" },
        { "lookup_by($1, $1, $1)",
          "lookup_by: keys is [6, 8], values is [6, 8]; keys must be a vector, and values have "
          "as many elements or rows" },
        { "lookup_by(zeros([3]), zeros([4]), $1)", "lookup_by: keys is [3], values is [4]; keys must be a vector" },
        { "lookup_by(zeros([3]), zeros([3], dtype=u8), $1, default=-1)",
          "lookup_by: default=-1 is beyond what values hold, which are u8; cast(values, DTYPE) makes others of them" },
        { "lookup_by(zeros([3]), zeros([3], dtype=i64), $1, default=0.5)",
          "lookup_by: default=0.5 is no whole number, and values are i64" },
        { "lookup_by(zeros([3]), zeros([3], dtype=i32), $1, default=nan)",
          "lookup_by: default=nan is no whole number, and values are i32" },
        { "lookup_by(zeros([3]), zeros([3], dtype=i32), $1, default=inf)",
          "lookup_by: default=inf is beyond what values hold, which are i32" },
        { "lookup_by(zeros([3]), zeros([3], dtype=f16), $1, default=1e5)",
          "lookup_by: default=100000 is beyond what values hold, which are f16" },
        { "take(zeros([3], dtype=i32), zeros([3], dtype=i32), border=constant, cval=nan)",
          "take: cval=nan, and a is i32" },
        { "indexin(zeros([65536, 32768], dtype=u8), arange(0, 262145))",
          "indexin: more than 2147483647 elements, and more than 262144 keys" },
        { "searchsorted($1, $1)", "searchsorted: edges is [6, 8]; it must be a vector" },
        { "scatter_add($1, $1, $1)", "scatter_add: indices is f32; it must be an integer" },
        { "scatter_add($1, arange(0, 3), $1)",
          "scatter_add: values is [6, 8]; base [6, 8] and indices [3] need one element, or the axes of "
          "indices and those of base behind its first" },
        { "weighted_histogram($1, zeros([5]))",
          "weighted_histogram: a is [6, 8], weights is [5]; they must have one size, and weights as "
          "many channels or one" },
    };
    nd a = nd_new(IMGPAR_F32, "6x8");
    imgpar_array *in = nd_array(ctx, &a);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(ctx, refusals[k].text, &in, 1);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s: %s", refusals[k].text,
                      imgpar_array_message(bad));
        imgpar_array_release(bad);
    }
    imgpar_array_release(in);
    nd_free(&a);
}
END_TEST

START_TEST(every_row_has_a_test)
{
    static const char *const tested[] = {
        "topk",         "argtopk",      "find",        "count_nonzero",      "unique",      "unique_counts",
        "count_unique", "searchsorted", "scatter_add", "weighted_histogram", "scatter_min", "scatter_max",
        "isin",         "indexin",      "lookup_by",   "unique_inverse"
    };
    size_t n = 0;
    for (size_t k = 0; k < imgpar_op_count(); k++)
        n += strcmp(imgpar_op_get(k)->category, "selection") == 0 &&
             strncmp(imgpar_op_get(k)->name, "group_", 6) != 0; /* check_written_regions */
    ck_assert_uint_eq(n, sizeof tested / sizeof *tested);
    for (size_t k = 0; k < n; k++)
        ck_assert_str_eq(imgpar_op_find(tested[k])->category, "selection");
}
END_TEST

/* ---- failures ---------------------------------------------------------------------------------------------------- */

enum { MANY = 300 };

static imgpar_status small_work(int32_t out[MANY])
{
    float values[MANY];
    for (int k = 0; k < MANY; k++)
        values[k] = (float)(k * 37 % 101);
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 1, (int64_t[]){ MANY }, values);
    imgpar_array *work = imgpar_apply(ctx, "scatter_add(unique_counts($1), find($1 > 50), ones([1]))", &a, 1);
    imgpar_status st = imgpar_array_read(work, out, MANY * sizeof *out);
    imgpar_array_release(a);
    imgpar_array_release(work);
    return st;
}

/* Every N gives a status or, where the library helped itself, the right numbers. */
static void walk(const char *schedule, ip_fault_kind kind)
{
    int32_t want[MANY], got[MANY];
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
        if (seen < nth) return;
    }
}

START_TEST(every_allocation_may_fail) { walk("ref", IP_FAULT_ALLOC); }
END_TEST
START_TEST(every_opencl_call_may_fail) { walk("auto", IP_FAULT_CL); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("find");
    TCase *c = tcase_create("find");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, every_row_has_a_test);
    tcase_add_loop_test(c, the_best_of_each_row_are_found_in_every_dtype, 0, IMGPAR_COMPLEX64);
    tcase_add_loop_test(c, places_that_are_not_0_are_found_in_every_dtype, 0, IMGPAR_COMPLEX64);
    tcase_add_loop_test(c, different_values_are_counted_in_every_dtype, 0, IMGPAR_COMPLEX64);
    tcase_add_loop_test(c, few_of_many_values_are_found_by_tables, 0, IMGPAR_COMPLEX64);
    tcase_add_loop_test(c, the_inverse_of_many_elements_gives_them_back, 0, 3);
    tcase_add_loop_test(c, keys_are_found_in_every_dtype, 0, IMGPAR_COMPLEX64);
    tcase_add_test(c, values_and_counts_together_sort_once);
    tcase_add_loop_test(c, values_are_placed_among_edges_in_every_dtype, 0, IMGPAR_COMPLEX64);
    tcase_add_loop_test(c, values_are_folded_where_they_belong_in_every_dtype, 0, N_FOLDS * (IMGPAR_COMPLEX64));
    tcase_add_test(c, many_values_are_added_block_by_block_the_same_everywhere);
    tcase_add_loop_test(c, floats_are_added_in_the_order_that_the_formula_tells, 0, 3);
    tcase_add_loop_test(c, one_integer_is_added_as_often_as_its_index_stands, 0, 3);
    tcase_add_test(c, a_histogram_is_a_scatter_of_ones);
    tcase_add_loop_test(c, weights_are_summed_by_bin_in_every_dtype, 0, IMGPAR_COMPLEX64);
    tcase_add_test(c, of_no_elements_there_are_none);
    tcase_add_test(c, what_does_not_fit_is_refused);
    tcase_add_test(c, every_allocation_may_fail);
    tcase_add_test(c, every_opencl_call_may_fail);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
