/* SPDX-License-Identifier: MIT */
/* Measures along axes: every one, along every kind of axis, against sums over all elements in long double. */
#include "nd.h"

#include "base/dtype.h"
#include "ops/build.h"
#include "ops/row_functions.h"
#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all elements of one fold give: v in row-major order of the folded axes. */
typedef real (*fold_fn)(const real *v, int64_t n);

static real fold_sum(const real *v, int64_t n)
{
    real s = 0;
    for (int64_t k = 0; k < n; k++)
        s += v[k];
    return s;
}
static real fold_prod(const real *v, int64_t n)
{
    real s = 1;
    for (int64_t k = 0; k < n; k++)
        s *= v[k];
    return s;
}
static real fold_mean(const real *v, int64_t n) { return fold_sum(v, n) / (real)n; }
static real squares_about(const real *v, int64_t n, real m)
{
    real s = 0;
    for (int64_t k = 0; k < n; k++)
        s += (v[k] - m) * (v[k] - m);
    return s;
}
static real fold_var(const real *v, int64_t n) { return squares_about(v, n, fold_mean(v, n)) / (real)n; }
static real fold_std1(const real *v, int64_t n) { return sqrtl(squares_about(v, n, fold_mean(v, n)) / (real)(n - 1)); }
static real fold_l2(const real *v, int64_t n) { return sqrtl(squares_about(v, n, 0)); }
static real fold_dot(const real *v, int64_t n) { return squares_about(v, n, 0); }
static real fold_l1(const real *v, int64_t n)
{
    real s = 0;
    for (int64_t k = 0; k < n; k++)
        s += fabsl(v[k]);
    return s;
}
static int by_value(const void *a, const void *b)
{
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}
static real percentile(const real *v, int64_t n, real p)
{
    real *sorted = malloc((size_t)n * sizeof *sorted), h = p / 100 * (real)(n - 1);
    ck_assert_ptr_nonnull(sorted);
    memcpy(sorted, v, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    int64_t k = (int64_t)floorl(h), next = k + 1 < n ? k + 1 : k;
    real value = sorted[k] + (h - (real)k) * (sorted[next] - sorted[k]);
    free(sorted);
    return value;
}
static real fold_median(const real *v, int64_t n) { return percentile(v, n, 50); }
static real fold_sixth(const real *v, int64_t n) { return percentile(v, n, 100.0L / 6); }
static int64_t best(const real *v, int64_t n, bool is_max)
{
    int64_t at = 0;
    for (int64_t k = 1; k < n; k++)
        if (is_max ? v[k] > v[at] : v[k] < v[at]) at = k;
    return at;
}
static real fold_min(const real *v, int64_t n) { return v[best(v, n, false)]; }
static real fold_max(const real *v, int64_t n) { return v[best(v, n, true)]; }
static real fold_argmin(const real *v, int64_t n) { return (real)best(v, n, false); }
static real fold_argmax(const real *v, int64_t n) { return (real)best(v, n, true); }
static real fold_largest(const real *v, int64_t n) { return fmaxl(fold_max(v, n), -fold_min(v, n)); }
static real fold_any(const real *v, int64_t n) { return fold_largest(v, n) != 0; }
static real fold_all(const real *v, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (v[k] == 0) return 0;
    return 1;
}
static real fold_and(const real *v, int64_t n)
{
    int64_t s = -1;
    for (int64_t k = 0; k < n; k++)
        s &= (int64_t)v[k];
    return (real)s;
}
static real fold_or(const real *v, int64_t n)
{
    int64_t s = 0;
    for (int64_t k = 0; k < n; k++)
        s |= (int64_t)v[k];
    return (real)s;
}
static real fold_xor(const real *v, int64_t n)
{
    int64_t s = 0;
    for (int64_t k = 0; k < n; k++)
        s ^= (int64_t)v[k];
    return (real)s;
}

/* ---- result dtypes -------------------------------------------------------------------------- */

static imgpar_dtype as_sum(imgpar_dtype d)
{
    if (is_float(d)) return d == IMGPAR_F64 ? d : IMGPAR_F32;
    return dtype_low(d) < 0 ? IMGPAR_I64 : IMGPAR_U64;
}
static imgpar_dtype as_mean(imgpar_dtype d)
{
    return d == IMGPAR_F64 || d == IMGPAR_I64 || d == IMGPAR_U64 ? IMGPAR_F64 : IMGPAR_F32;
}
static imgpar_dtype as_float(imgpar_dtype d)
{
    return d == IMGPAR_F64 || (!is_float(d) && imgpar_dtype_size(d) >= 4) ? IMGPAR_F64 : IMGPAR_F32;
}
static imgpar_dtype as_same(imgpar_dtype d) { return d; }
static imgpar_dtype as_bool(imgpar_dtype d) { return (void)d, IMGPAR_BOOL; }
static imgpar_dtype as_place(imgpar_dtype d) { return (void)d, IMGPAR_I64; }

static const struct measure {
    const char *op, *text; /* %s: ", axis=..." */
    fold_fn fold;
    imgpar_dtype (*dtype)(imgpar_dtype);
    real slack; /* relative to the largest result, of floats */
    bool integers_only;
} measures[] = {
    { "sum", "reduce($1, \"sum\"%s)", fold_sum, as_sum, 0x1p-18L, false },
    { "mean", "reduce($1, \"mean\"%s)", fold_mean, as_mean, 0x1p-18L, false },
    { "minval", "reduce($1, \"min\"%s)", fold_min, as_same, 0, false },
    { "maxval", "reduce($1, \"max\"%s)", fold_max, as_same, 0, false },
    { "prod", "reduce($1, \"prod\"%s)", fold_prod, as_sum, 0x1p-16L, false },
    { "all", "reduce($1, \"all\"%s)", fold_all, as_bool, 0, false },
    { "any", "reduce($1, \"any\"%s)", fold_any, as_bool, 0, false },
    { "bits_and", "reduce($1, \"and\"%s)", fold_and, as_same, 0, true },
    { "bits_or", "reduce($1, \"or\"%s)", fold_or, as_same, 0, true },
    { "bits_xor", "reduce($1, \"xor\"%s)", fold_xor, as_same, 0, true },
    { "argmin", "reduce($1, \"argmin\"%s)", fold_argmin, as_place, 0, false },
    { "argmax", "reduce($1, \"argmax\"%s)", fold_argmax, as_place, 0, false },
    { "variance", "reduce($1, \"var\"%s)", fold_var, as_float, 0x1p-16L, false },
    { "stddev", "std($1%s, ddof=1)", fold_std1, as_float, 0x1p-16L, false },
    { "norm", "norm($1%s)", fold_l2, as_float, 0x1p-16L, false },
    { "norm", "norm($1%s, kind=l1)", fold_l1, as_float, 0x1p-16L, false },
    { "norm", "norm($1%s, kind=max)", fold_largest, as_float, 0x1p-20L, false },
    { "percentile", "percentile($1, 50%s)", fold_median, as_float, 0x1p-20L, false },
    { "percentile", "percentile($1, 100 / 6%s)", fold_sixth, as_float, 0x1p-20L, false },
    { "dot", "dot($1, $1%s)", fold_dot, as_sum, 0x1p-16L, false },
};
enum { N_MEASURES = sizeof measures / sizeof *measures };

/* ---- places ------------------------------------------------------------------------------------ */

static const struct place {
    int rank;
    int64_t shape[4];
    unsigned axes; /* 0: none are named */
    bool keeps;
} places[] = {
    { 1, { 37 }, 0, false },          { 2, { 37, 23 }, 1, false },     { 2, { 5, 300 }, 2, true },
    { 2, { 37, 23 }, 3, false },      { 3, { 11, 13, 3 }, 4, false },  { 3, { 11, 13, 3 }, 3, true },
    { 3, { 3, 17, 19 }, 1, false },   { 3, { 3, 17, 19 }, 2, false },  { 4, { 2, 3, 4, 21 }, 8, false },
    { 4, { 2, 3, 4, 21 }, 9, false }, { 4, { 2, 18, 4, 3 }, 2, true }, { 2, { 1, 1 }, 1, false },
};
enum { N_PLACES = sizeof places / sizeof *places };

/* The elements that make element at of the result; returns their number. */
static int64_t gather(const nd *a, const struct place *p, int64_t at, real *v)
{
    unsigned axes = p->axes ? p->axes : (1u << p->rank) - 1;
    int64_t n = 0;
    for (int64_t k = 0; k < a->count; k++) {
        int64_t rest = k, to = 0, stride = 1;
        for (int axis = p->rank - 1; axis >= 0; axis--) {
            if (!(axes >> axis & 1)) {
                to += rest % p->shape[axis] * stride;
                stride *= p->shape[axis];
            }
            rest /= p->shape[axis];
        }
        if (to == at) v[n++] = a->v[k];
    }
    return n;
}

static int64_t result_shape(const struct place *p, int *rank, int64_t *shape)
{
    unsigned axes = p->axes ? p->axes : (1u << p->rank) - 1;
    int64_t count = 1;
    *rank = 0;
    for (int k = 0; k < p->rank; k++) {
        bool goes = axes >> k & 1;
        if (!goes || p->keeps) shape[(*rank)++] = goes ? 1 : p->shape[k];
        if (!goes) count *= p->shape[k];
    }
    if (!*rank) shape[(*rank)++] = 1;
    return count;
}

static void write_text(const struct measure *m, const struct place *p, char *text, size_t size)
{
    char axis[64] = "";
    int n = p->axes ? snprintf(axis, sizeof axis, ", axis=[") : 0;
    for (int k = 0; k < p->rank && p->axes; k++)
        if (p->axes >> k & 1) n += snprintf(axis + n, sizeof axis - (size_t)n, " %d", k);
    if (p->axes) snprintf(axis + n, sizeof axis - (size_t)n, "]%s", p->keeps ? ", keepdims=true" : "");
    const char *hole = strstr(m->text, "%s");
    snprintf(text, size, "%.*s%s%s", (int)(hole - m->text), m->text, axis, hole + 2);
}

/* ---- the test ------------------------------------------------------------------------------------ */

static void compare(imgpar_array *a, const struct measure *m, const struct place *p, const nd *in, const char *text)
{
    imgpar_info info = { .struct_size = sizeof info };
    int rank;
    int64_t shape[4], count = result_shape(p, &rank, shape);
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    ck_assert_msg(info.rank == rank && memcmp(info.shape, shape, (size_t)rank * sizeof *shape) == 0, "%s: shape", text);
    picture want = picture_new(m->dtype(in->dtype), 1, count, 1);
    real *v = malloc((size_t)in->count * sizeof *v), largest = 0;
    ck_assert_ptr_nonnull(v);
    for (int64_t k = 0; k < count; k++) {
        want.v[k] = m->fold(v, gather(in, p, k, v));
        if (isfinite(want.v[k])) largest = fmaxl(largest, fabsl(want.v[k]));
    }
    for (int64_t k = 0; k < count && is_float(want.dtype); k++)
        want.slack[k] = m->slack * largest;
    void *bytes = malloc(picture_size(&want));
    char why[256];
    ck_assert_msg(info.dtype == want.dtype, "%s of %s is %s", text, imgpar_dtype_name(in->dtype),
                  imgpar_dtype_name(info.dtype));
    ck_assert_msg(imgpar_array_read(a, bytes, picture_size(&want)) == IMGPAR_OK, "%s", imgpar_array_message(a));
    ck_assert_msg(picture_compare(&want, bytes, why), "%s of %s, %d axes: %s", text, imgpar_dtype_name(in->dtype),
                  p->rank, why);
    free(bytes);
    free(v);
    picture_free(&want);
}

/* A product of small numbers stays in range: 1, 2, -1 and now and then 3. */
static void make_small(nd *a)
{
    for (int64_t k = 0; k < a->count; k++)
        a->v[k] = a->dtype == IMGPAR_BOOL ? 1 : dtype_low(a->dtype) < 0 && k % 3 == 0 ? -1 : k % 29 == 5 ? 2 : 1;
}

/* On the device the quick tier has a measure at one of its three places, by turns; of integers at all of them. */
static void check_place(nd_bench *b, int at, imgpar_dtype dtype, const char *schedule)
{
    const struct place *p = &places[at];
    imgpar_array *arrays[N_MEASURES];
    static char text[N_MEASURES][128];
    ck_assert_int_eq(imgpar_context_set(b->ctx, "schedule", schedule), IMGPAR_OK);
    nd a = nd_new(dtype, p->rank, p->shape, FILL_SMALL, 3), small = nd_new(dtype, p->rank, p->shape, FILL_SMALL, 3);
    make_small(&small);
    imgpar_array *whole = nd_array(b->ctx, &a), *ones = nd_array(b->ctx, &small);
    const struct measure *used[N_MEASURES];
    size_t n = 0;
    for (int k = 0; k < N_MEASURES; k++) {
        const struct measure *m = &measures[k];
        bool has_one = m->fold == fold_std1 && p->axes && p->rank == 2 && p->shape[0] == 1; /* 0 / 0 */
        bool is_its_turn = b->is_full || m->integers_only || strcmp(schedule, "ref") == 0 || k % 3 == at / 4;
        if ((m->integers_only && is_float(dtype)) || has_one || !is_its_turn) continue;
        write_text(m, p, text[n], sizeof text[n]);
        arrays[n] = imgpar_apply(b->ctx, text[n], m->fold == fold_prod ? &ones : &whole, 1);
        ck_assert_msg(imgpar_array_status(arrays[n]) == IMGPAR_OK, "%s: %s", text[n], imgpar_array_message(arrays[n]));
        used[n++] = m;
    }
    imgpar_status st = imgpar_eval(arrays, n, NULL);
    for (size_t k = 0; k < n; k++) {
        ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(arrays[k]));
        compare(arrays[k], used[k], p, used[k]->fold == fold_prod ? &small : &a, text[k]);
        imgpar_array_release(arrays[k]);
    }
    imgpar_array_release(whole);
    imgpar_array_release(ones);
    nd_free(&a);
    nd_free(&small);
}

START_TEST(measures_of_every_dtype_fold_any_axes)
{
    nd_bench b;
    nd_open(&b);
    for (int d = 0; d < IP_N_REAL_DTYPES; d++)
        check_place(&b, _i, (imgpar_dtype)d, "ref");
    nd_close(&b);
}
END_TEST

START_TEST(measures_fold_axes_on_the_device)
{
    static const imgpar_dtype dtypes[] = { IMGPAR_I16, IMGPAR_F32, IMGPAR_U8, IMGPAR_F16, IMGPAR_I64, IMGPAR_BOOL };
    nd_bench b;
    nd_open(&b);
    bool is_chosen = b.is_full || _i % 4 == 1; /* few programs otherwise */
    if (b.has_device && is_chosen) check_place(&b, _i, dtypes[_i % 6], b.is_full && _i % 2 ? "pixels" : "auto");
    nd_close(&b);
}
END_TEST

/* p (n - 1) / 100 is whole where p / 100 (n - 1) is a little more: what follows is not read. */
START_TEST(a_percentile_between_no_two_is_one_of_them)
{
    nd_bench b;
    nd_open(&b);
    float got = 0;
    imgpar_array *in = imgpar_apply(b.ctx, "concatenate(arange(0, 8, dtype=f32), full([18], inf))", NULL, 0);
    imgpar_array *a = imgpar_apply(b.ctx, "percentile($1, 28)", &in, 1);
    ck_assert_msg(imgpar_array_read(a, &got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(a));
    ck_assert_float_eq(got, 7);
    imgpar_array_release(a);
    imgpar_array_release(in);
    nd_close(&b);
}
END_TEST

START_TEST(every_measure_is_tested)
{
    static const char elsewhere[] =
        " histogram distance nearest_zero labels regions geodesic hough_lines plot grad "; /* check_regions.c, ... */
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        bool is_written = ip_op_find(op->name)->expand == ip_expand_written; /* check_written.c */
        char word[64];
        snprintf(word, sizeof word, " %s ", op->name);
        bool found = strcmp(op->category, "measure") != 0 || strstr(elsewhere, word) || is_written;
        for (int m = 0; m < N_MEASURES && !found; m++)
            found = strcmp(measures[m].op, op->name) == 0;
        ck_assert_msg(found, "no case for %s", op->name);
    }
}
END_TEST

/* Widths about the steps in which bytes are summed: words of 8, 256 of which are added at once; rows begin at any
 * byte. */
START_TEST(bytes_of_any_number_are_summed) /* _i: of one channel, and of three */
{
    const int64_t channels = _i == 0 ? 1 : 3;
    static const int64_t widths[] = { 1, 7, 8, 9, 63, 65, 255, 2047, 2048, 2055, 2056, 4099, 12289 };
    enum { ROWS = 3, WIDEST = 12289 };
    static uint8_t v[ROWS * WIDEST * 3];
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        int64_t n = ROWS * widths[k] * channels;
        uint64_t want = 0, got = 0;
        for (int64_t i = 0; i < n; i++) {
            v[i] = i % 3 == 1 ? (uint8_t)(i * 37) : 255;
            want += v[i];
        }
        imgpar_array *a = imgpar_array_from_data(b.ctx, IMGPAR_U8, 3, (int64_t[]){ ROWS, widths[k], channels }, v);
        imgpar_array *sum = imgpar_apply(b.ctx, "sum($1)", &a, 1);
        ck_assert_msg(imgpar_array_read(sum, &got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(sum));
        ck_assert_msg(got == want, "%d columns: %llu, not %llu", (int)widths[k], (unsigned long long)got,
                      (unsigned long long)want);
        imgpar_array_release(sum);
        imgpar_array_release(a);
    }
    nd_close(&b);
}
END_TEST

/* Of row y the place of its least element, and the power of i that its product is: elements are 1, i and -1. */
static void check_long_rows(nd_bench *b, int64_t width)
{
    enum { ROWS = 3 };
    int32_t *v = calloc((size_t)(ROWS * width), sizeof *v);
    float(*turns)[2] = calloc((size_t)(ROWS * width), sizeof *turns);
    ck_assert(v && turns);
    int64_t sums[ROWS] = { 0 }, spots[ROWS], got_sums[ROWS], got_places[ROWS];
    int32_t least[ROWS];
    float got_turns[ROWS][2];
    int quarter[ROWS] = { 0 };
    for (int64_t y = 0; y < ROWS; y++) {
        spots[y] = y == 0 ? width - 1 : y == 1 ? width / 16 * 16 - 1 : width / 2;
        for (int64_t x = 0; x < width; x++) {
            int64_t k = y * width + x;
            v[k] = (int32_t)((k * 7919) % 10007) - 3;
            /* ways of one level, and the rest */
            bool is_again = x == width - 1 || x == spots[y] + width / 16 || x == width / 16 * 16;
            if (x == spots[y] || (x > spots[y] && is_again)) v[k] = -100 - (int32_t)y;
            sums[y] += v[k];
            int turn = (int)(k % 7 % 3);
            quarter[y] += turn;
            turns[k][0] = turn == 0 ? 1 : turn == 2 ? -1 : 0;
            turns[k][1] = turn == 1;
        }
    }
    imgpar_array *in[2] = { imgpar_array_from_data(b->ctx, IMGPAR_I32, 2, (int64_t[]){ ROWS, width }, v),
                            imgpar_array_from_data(b->ctx, IMGPAR_COMPLEX64, 2, (int64_t[]){ ROWS, width }, turns) };
    const struct {
        const char *text;
        void *got;
        size_t bytes;
    } asked[] = {
        { "sum($1, axis=1)", got_sums, sizeof got_sums },
        { "minval($1, axis=1)", least, sizeof least },
        { "argmin($1, axis=1)", got_places, sizeof got_places },
        { "prod($2, axis=1)", got_turns, sizeof got_turns },
    };
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        imgpar_array *r = imgpar_apply(b->ctx, asked[k].text, in, 2);
        ck_assert_msg(imgpar_array_read(r, asked[k].got, asked[k].bytes) == IMGPAR_OK, "%s", imgpar_array_message(r));
        imgpar_array_release(r);
    }
    for (int y = 0; y < ROWS; y++) {
        int q = quarter[y] % 4;
        ck_assert_msg(got_sums[y] == sums[y], "%d columns, row %d: %lld", (int)width, y, (long long)got_sums[y]);
        ck_assert_msg(least[y] == -100 - y && got_places[y] == spots[y], "%d columns, row %d: %d at %d", (int)width, y,
                      least[y], (int)got_places[y]);
        ck_assert_msg(got_turns[y][0] == (q == 0) - (q == 2) && got_turns[y][1] == (q == 1) - (q == 3),
                      "%d columns, row %d", (int)width, y);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    free(v);
    free(turns);
}

/* Widths about those where a level of a fold takes another form: 16 x 16 columns, with any rest, once and twice. */
START_TEST(rows_of_any_length_are_folded)
{
    static const int64_t widths[] = { 255, 256, 257, 271, 272, 273, 511, 4096, 4097, 4112, 4367, 70001, 600007 };
    nd_bench b;
    nd_open(&b);
    for (int d = 0; d < 1 + b.has_device; d++) {
        ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", d ? "auto" : "ref"), IMGPAR_OK);
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
            check_long_rows(&b, widths[k]);
    }
    nd_close(&b);
}
END_TEST

START_TEST(means_of_wide_integers_do_not_wrap)
{
    const int64_t v[] = { 6917529027641081856, 6917529027641081856 };
    nd_bench b;
    nd_open(&b);
    for (int k = 0; k < 4; k++) {
        double got = 0;
        ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", k / 2 && b.has_device ? "auto" : "ref"), IMGPAR_OK);
        imgpar_array *a = imgpar_array_from_data(b.ctx, IMGPAR_I64, 2, (int64_t[]){ 1, 2 }, v);
        imgpar_array *mean = imgpar_apply(b.ctx, k % 2 ? "mean($1, axis=1)" : "mean($1)", &a, 1);
        ck_assert_msg(imgpar_array_read(mean, &got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(mean));
        ck_assert_msg(got == 6917529027641081856.0, "%g", got);
        imgpar_array_release(mean);
        imgpar_array_release(a);
    }
    nd_close(&b);
}
END_TEST

START_TEST(nan_is_never_the_least_element)
{
    const float v[] = { NAN, 3, NAN, -1, 7, -1, NAN };
    int64_t place = 0;
    nd_bench b;
    nd_open(&b);
    imgpar_array *a = imgpar_array_from_data(b.ctx, IMGPAR_F32, 1, (int64_t[]){ 7 }, v);
    static const struct {
        const char *text;
        int64_t want;
    } claims[] = {
        { "argmin($1)", 3 },
        { "argmax($1)", 4 },
        { "argmin(slice($1, 0, 1))", 0 },
        { "argmax(slice($1, [0], [7], [2]))", 2 },
    };
    for (size_t k = 0; k < sizeof claims / sizeof *claims; k++) {
        imgpar_array *r = imgpar_apply(b.ctx, claims[k].text, &a, 1);
        ck_assert_msg(imgpar_array_read(r, &place, sizeof place) == IMGPAR_OK, "%s", imgpar_array_message(r));
        ck_assert_msg(place == claims[k].want, "%s: %d", claims[k].text, (int)place);
        imgpar_array_release(r);
    }
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

/* ---- positions ------------------------------------------------------------------------------------- */

/* Lengths around those at which levels change, and around a block of columns. */
static const int64_t position_sizes[][2] = {
    { 1, 1 },    { 3, 15 },   { 5, 17 },   { 40, 255 },  { 33, 257 },
    { 67, 271 }, { 66, 300 }, { 257, 64 }, { 18, 2053 }, { 2, 4111 },
};
enum { MOST_POSITIONS = 40000 };

/* Few values, so that extremes are many; now and then one beyond them all, twice in a line; NaN, also all along one. */
static void fill_ties(double *v, int64_t h, int64_t w, bool has_nan)
{
    for (int64_t k = 0; k < h * w; k++) {
        int64_t y = k / w, x = k % w;
        bool is_rare = y % 3 != 0 && (x == y * 37 % w || x == (y * 37 + 5) % w || y == x * 11 % h);
        v[k] = is_rare ? (has_nan ? 9 : 1) : 3 + (double)((k * 7 + y) % 4);
        if (has_nan && ((x * 5 + y) % 9 == 0 || y == 4 || x == 6)) v[k] = NAN;
    }
}

/* The first extreme of n elements that lie so far apart; of nothing but NaN the first. */
static int64_t first_extreme(const double *v, int64_t n, int64_t apart, bool is_max)
{
    int64_t at = -1;
    for (int64_t k = 0; k < n; k++) {
        double x = v[k * apart], best = at < 0 ? 0 : v[at * apart];
        if (!isnan(x) && (at < 0 || (is_max ? x > best : x < best))) at = k;
    }
    return at < 0 ? 0 : at;
}

/* axis 2: over both. */
static void check_positions(nd_bench *b, const int64_t size[2], int axis, bool is_max)
{
    static double v[MOST_POSITIONS];
    static int64_t got[MOST_POSITIONS];
    const int64_t h = size[0], w = size[1], n = axis == 2 ? 1 : size[1 - axis];
    const char *named = axis == 2 ? "" : axis ? ", axis=1" : ", axis=0";
    char text[80];
    fill_ties(v, h, w, is_max);
    snprintf(text, sizeof text, is_max ? "argmax($1%s)" : "argmin(cast($1, u8)%s)", named);
    imgpar_array *a = imgpar_array_from_data(b->ctx, IMGPAR_F64, 2, size, v), *r = imgpar_apply(b->ctx, text, &a, 1);
    imgpar_status st = imgpar_array_read(r, got, (size_t)n * sizeof *got);
    ck_assert_msg(st == IMGPAR_OK, "%s: %s", text, imgpar_array_message(r));
    for (int64_t k = 0; k < n; k++) {
        int64_t want = axis == 2   ? first_extreme(v, h * w, 1, is_max)
                       : axis == 1 ? first_extreme(v + k * w, w, 1, is_max)
                                   : first_extreme(v + k, h, w, is_max);
        ck_assert_msg(got[k] == want, "%s of %d x %d: %d is %d, not %d", text, (int)h, (int)w, (int)k, (int)got[k],
                      (int)want);
    }
    imgpar_array_release(r);
    imgpar_array_release(a);
}

START_TEST(the_first_of_equal_extremes_is_found)
{
    static const char *const schedules[] = { "ref", "auto", "pixels" };
    const bool is_max = _i / 3, is_on_ref = _i % 3 == 0;
    nd_bench b;
    nd_open(&b);
    ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", schedules[_i % 3]), IMGPAR_OK);
    for (size_t k = 0; k < sizeof position_sizes / sizeof *position_sizes && (is_on_ref || b.has_device); k++)
        for (int axis = 0; axis < 3 && (b.is_full || _i % 3 < 2); axis++)
            check_positions(&b, position_sizes[k], axis, is_max);
    nd_close(&b);
}
END_TEST

START_TEST(no_elements_have_a_sum_but_no_least)
{
    nd_bench b;
    float v[4] = { 9, 9, 9, 9 };
    nd_open(&b);
    nd a = nd_new(IMGPAR_F32, 2, (int64_t[]){ 3, 4 }, FILL_ANY, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    imgpar_array *sum = imgpar_apply(b.ctx, "sum(slice($1, 1, 1), axis=0) + prod(slice($1, 1, 1), axis=0)", &array, 1);
    ck_assert_msg(imgpar_array_read(sum, v, sizeof v) == IMGPAR_OK, "%s", imgpar_array_message(sum));
    for (int k = 0; k < 4; k++)
        ck_assert(v[k] == 1);
    imgpar_array *least = imgpar_apply(b.ctx, "minval(slice($1, 1, 1), axis=0)", &array, 1);
    ck_assert(strstr(imgpar_array_message(least), "minval: axis 0 has no elements"));
    imgpar_array_release(least);
    imgpar_array_release(sum);
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("axes");
    TCase *c = tcase_create("axes");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, a_percentile_between_no_two_is_one_of_them);
    tcase_add_test(c, every_measure_is_tested);
    tcase_add_test(c, rows_of_any_length_are_folded);
    tcase_add_test(c, means_of_wide_integers_do_not_wrap);
    tcase_add_loop_test(c, bytes_of_any_number_are_summed, 0, 2);
    tcase_add_loop_test(c, measures_of_every_dtype_fold_any_axes, 0, N_PLACES);
    tcase_add_loop_test(c, measures_fold_axes_on_the_device, 0, N_PLACES);
    tcase_add_test(c, nan_is_never_the_least_element);
    tcase_add_loop_test(c, the_first_of_equal_extremes_is_found, 0, 6);
    tcase_add_test(c, no_elements_have_a_sum_but_no_least);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
