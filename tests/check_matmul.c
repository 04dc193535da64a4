/* SPDX-License-Identifier: MIT */
/* Products of matrices: values against sums in 64 significant bits, shapes, kernels, little memory, interruption. */
#include "asserts.h"
#include "held.h"
#include "shaped.h"
#include "tier.h"

#include <math.h>
#include <pthread.h>
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

/* ---- the oracle ---------------------------------------------------------------------------- */

static uint64_t bits_of(real v) { return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v; }

/* The number of dtype with these lowest bits. */
static real wrapped(imgpar_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case IMGPAR_I32: return (real)(int32_t)(uint32_t)bits;
    case IMGPAR_U32: return (real)(uint32_t)bits;
    case IMGPAR_I64: return (real)(int64_t)bits;
    default: return (real)bits;
    }
}

/* One element: the product of k numbers of a, stride 1, with k of b. */
static void sum_products(const nd *a, int64_t from_a, const nd *b, int64_t from_b, int64_t stride_b, int64_t k, nd *out,
                         int64_t at)
{
    imgpar_dtype dtype = out->p.dtype;
    real sum = 0, magnitude = 0;
    uint64_t bits = 0;
    for (int64_t i = 0; i < k; i++) {
        real u = a->p.v[from_a + i], v = b->p.v[from_b + i * stride_b];
        bits += bits_of(u) * bits_of(v);
        sum += u * v;
        magnitude += fabsl(u * v);
    }
    out->p.v[at] = is_float(dtype) ? sum : wrapped(dtype, bits);
    out->p.slack[at] = is_float(dtype) ? magnitude * (real)(k + 1) * (dtype == IMGPAR_F64 ? 0x1p-53L : 0x1p-24L) : 0;
}

static int64_t extent(const nd *a, int axis_from_end)
{
    return axis_from_end <= a->rank ? a->shape[a->rank - axis_from_end] : 1;
}

/* By NumPy's definition, index by index. */
static nd product(const nd *a, const nd *b, imgpar_dtype dtype)
{
    int64_t m = a->rank > 1 ? extent(a, 2) : 1, n = b->rank > 1 ? extent(b, 1) : 1, k = extent(a, 1), shape[4],
            batch[2];
    int rank = 0, leading = (a->rank > b->rank ? a->rank : b->rank) - 2;
    for (int d = 0; d < 2; d++)
        batch[d] = extent(a, 4 - d) == 1 || 4 - d > a->rank ? extent(b, 4 - d) : extent(a, 4 - d);
    for (int d = 2 - (leading > 0 ? leading : 0); d < 2; d++)
        shape[rank++] = batch[d];
    if (a->rank > 1) shape[rank++] = m;
    if (b->rank > 1) shape[rank++] = n;
    if (rank == 0) shape[rank++] = 1;
    nd out = nd_of_shape(dtype, rank, shape);
    int64_t at = 0;
    for (int64_t u = 0; u < batch[0]; u++)
        for (int64_t v = 0; v < batch[1]; v++) {
            int64_t of_a = (extent(a, 4) > 1 ? u : 0) * extent(a, 3) + (extent(a, 3) > 1 ? v : 0);
            int64_t of_b = (extent(b, 4) > 1 ? u : 0) * extent(b, 3) + (extent(b, 3) > 1 ? v : 0);
            for (int64_t y = 0; y < m; y++)
                for (int64_t x = 0; x < n; x++)
                    sum_products(a, (of_a * m + y) * k, b, of_b * k * n + x, n, k, &out, at++);
        }
    return out;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void check_product(const char *shape_a, const char *shape_b, imgpar_dtype dtype_a, imgpar_dtype dtype_b,
                          imgpar_dtype dtype)
{
    char what[160];
    nd a = nd_new(dtype_a, shape_a), b = nd_new(dtype_b, shape_b);
    nd_fill(&a, is_float(dtype_a) ? FILL_LEVELS : FILL_ANY, 1);
    nd_fill(&b, is_float(dtype_b) ? FILL_LEVELS : FILL_ANY, 2);
    nd want = product(&a, &b, dtype);
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) };
    snprintf(what, sizeof what, "matmul of %s %s and %s %s", shape_a, imgpar_dtype_name(dtype_a), shape_b,
             imgpar_dtype_name(dtype_b));
    nd_check(ctx, imgpar_matmul(in[0], in[1]), &want, !is_float(dtype), what);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    nd_free(&a);
    nd_free(&b);
    nd_free(&want);
}

static const struct {
    const char *a, *b;
} shapes[] = {
    /* direct */
    { "1x1", "1x1" },
    { "3x4", "4x5" },
    { "1x7", "7x1" },
    { "7x1", "1x9" },
    { "7x129", "129x17" },
    { "1x300", "300x131" },
    { "15x33", "33x200" },
    /* reduce */
    { "33x200", "200x1" },
    { "33x201", "201x4" },
    { "1x64", "64x3" },
    { "129x67", "67x2" },
    /* blocked: whole and broken tiles, one and several runs along k */
    { "16x32", "32x32" },
    { "37x65", "65x71" },
    { "100x300", "300x33" },
    { "97x513", "513x130" },
    { "16x256", "256x64" },
    { "64x32", "32x1030" },
    { "16x16", "16x5" },
    { "53x40", "40x8" },
    { "40x300", "300x16" },
    { "29x33", "33x31" },
    /* arrays of one axis */
    { "5", "5" },
    { "200", "200" },
    { "33x65", "65" },
    { "65", "65x33" },
    { "100", "100x2" },
    /* batches, broadcasting either way */
    { "3x4x5", "3x5x6" },
    { "3x17x40", "40x33" },
    { "3x7x40", "40x16" },
    { "2x5x7x30", "30x12" },
    { "17x40", "3x40x33" },
    { "2x3x17x40", "3x40x33" },
    { "2x1x20x33", "1x3x33x40" },
    { "1x3x5x70", "2x3x70x2" },
    { "2x3x5x7", "7" },
    { "7", "2x3x7x5" },
    { "8x16x3", "3x4" },
};

START_TEST(products_of_all_shapes_are_sums_of_products)
{
    check_product(shapes[_i].a, shapes[_i].b, IMGPAR_F32, IMGPAR_F32, IMGPAR_F32);
    check_product(shapes[_i].a, shapes[_i].b, IMGPAR_I32, IMGPAR_I32, IMGPAR_I32);
}
END_TEST

/* Small, narrow and in blocks; in the quick tier a dtype is one of these. */
START_TEST(products_of_all_dtypes_meet_as_operators_do)
{
    static const struct {
        imgpar_dtype a, b, out;
    } rows[] = {
        { IMGPAR_U8, IMGPAR_U8, IMGPAR_I32 },     { IMGPAR_I8, IMGPAR_U16, IMGPAR_I32 },
        { IMGPAR_BOOL, IMGPAR_BOOL, IMGPAR_I32 }, { IMGPAR_U32, IMGPAR_U32, IMGPAR_U32 },
        { IMGPAR_I32, IMGPAR_U32, IMGPAR_I64 },   { IMGPAR_I64, IMGPAR_I64, IMGPAR_I64 },
        { IMGPAR_U64, IMGPAR_U8, IMGPAR_U64 },    { IMGPAR_F32, IMGPAR_I16, IMGPAR_F32 },
        { IMGPAR_F64, IMGPAR_F32, IMGPAR_F64 },   { IMGPAR_F16, IMGPAR_F16, IMGPAR_F16 },
        { IMGPAR_F64, IMGPAR_F64, IMGPAR_F64 },
    };
    static const struct {
        const char *a, *b;
    } some[] = { { "5x9", "9x7" }, { "19x70", "70x3" }, { "29x261", "261x37" } };
    if (!imgpar_context_device(ctx)->has_f64 && (rows[_i].out == IMGPAR_F64)) return;
    for (int k = 0; k < 3; k++)
        if (test_tier_is_full() || k == _i % 3)
            check_product(some[k].a, some[k].b, rows[_i].a, rows[_i].b, rows[_i].out);
}
END_TEST

static imgpar_array *large(const char *shape, unsigned seed)
{
    nd a = nd_new(IMGPAR_F32, shape);
    nd_fill(&a, FILL_LEVELS, seed);
    imgpar_array *array = nd_array(ctx, &a);
    nd_free(&a);
    return array;
}

/* ---- CLBlast ------------------------------------------------------------------------------------- */

/* Whether there is a CLBlast to be tested; then it computes whatever it may. */
static bool set_clblast(void)
{
    imgpar_status st = imgpar_context_set(ctx, "blas", "clblast");
    ck_assert(st == IMGPAR_OK || st == IMGPAR_E_UNSUPPORTED);
    return st == IMGPAR_OK && strcmp(imgpar_context_device(ctx)->kind, "ref") != 0;
}

/* What --explain says of the library for a product. */
static void expect_library(const char *shape_a, const char *shape_b, imgpar_dtype dtype, const char *word)
{
    nd a = nd_new(dtype, shape_a), b = nd_new(dtype, shape_b);
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) }, *product_of_them = imgpar_matmul(in[0], in[1]);
    char *json;
    ck_assert_int_eq(imgpar_array_explain(product_of_them, "json", &json), IMGPAR_OK);
    ck_assert_msg(word ? strstr(json, word) != NULL : !strstr(json, "library"), "%s", json);
    imgpar_free(json);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    imgpar_array_release(product_of_them);
    nd_free(&a);
    nd_free(&b);
}

/* CLBlast compiles a program for each dtype, single and batched, which takes PoCL half a minute: the first one is
 * enough for the quick tier. */
static const struct {
    const char *a, *b;
    imgpar_dtype dtype;
    bool is_quick;
} for_clblast[] = {
    { "16x32", "32x32", IMGPAR_F32, true },          { "37x65", "65x71", IMGPAR_F32, true },
    { "97x513", "513x130", IMGPAR_F32, true },       { "257x600", "600x513", IMGPAR_F32, false },
    { "37x65", "65x71", IMGPAR_F64, false },         { "97x513", "513x130", IMGPAR_F64, false },
    { "3x17x40", "40x33", IMGPAR_F32, true },        { "17x40", "3x40x33", IMGPAR_F32, false },
    { "2x3x17x40", "3x40x33", IMGPAR_F32, false },   { "2x1x20x33", "1x3x33x40", IMGPAR_F32, false },
    { "5x1x20x33", "1x1x33x40", IMGPAR_F32, false }, { "3x70x65", "3x65x129", IMGPAR_F64, false },
};

START_TEST(products_by_clblast_are_sums_of_products)
{
    imgpar_dtype dtype = for_clblast[_i].dtype;
    if (!set_clblast() || !(for_clblast[_i].is_quick || test_tier_is_full())) return;
    if (dtype == IMGPAR_F64 && !imgpar_context_device(ctx)->has_f64) return;
    expect_library(for_clblast[_i].a, for_clblast[_i].b, dtype, "computed by CLBlast");
    check_product(for_clblast[_i].a, for_clblast[_i].b, dtype, dtype, dtype);
}
END_TEST

START_TEST(what_clblast_is_not_for_is_computed_by_our_kernels)
{
    static const struct {
        const char *a, *b;
        imgpar_dtype dtype;
    } rows[] = {
        { "1x1", "1x1", IMGPAR_F32 },    { "15x33", "33x200", IMGPAR_F32 }, { "33x200", "200x1", IMGPAR_F32 },
        { "0x40", "40x40", IMGPAR_F32 }, { "40x0", "0x40", IMGPAR_F32 },    { "40x40", "40x40", IMGPAR_I32 },
    };
    if (!set_clblast()) return;
    expect_library(rows[_i].a, rows[_i].b, rows[_i].dtype, NULL);
    check_product(rows[_i].a, rows[_i].b, rows[_i].dtype, rows[_i].dtype, rows[_i].dtype);
}
END_TEST

START_TEST(whom_products_are_left_to_is_a_setting)
{
    static const char *const bad[] = { "", "1", "CLBlast", "openblas" };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ck_assert_int_eq(imgpar_context_set(ctx, "blas", bad[k]), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "blas", "own"), IMGPAR_OK);
    expect_library("1000x1000", "1000x1000", IMGPAR_F32, NULL);
    ck_assert_int_eq(imgpar_context_set(ctx, "blas", "auto"), IMGPAR_OK);
    if (strcmp(imgpar_context_device(ctx)->kind, "cpu") == 0)
        expect_library("1000x1000", "1000x1000", IMGPAR_F32, NULL);
}
END_TEST

/* Only those rows are computed that somebody reads. */
START_TEST(strips_by_clblast_are_rows_of_the_product)
{
    if (!set_clblast()) return;
    nd a = nd_new(IMGPAR_F32, "300x64"), b = nd_new(IMGPAR_F32, "64x48");
    nd_fill(&a, FILL_LEVELS, 1);
    nd_fill(&b, FILL_LEVELS, 2);
    nd all = product(&a, &b, IMGPAR_F32), want = nd_new(IMGPAR_F32, "100x48");
    for (int64_t k = 0; k < 100 * 48; k++) {
        want.p.v[k] = all.p.v[150 * 48 + k];
        want.p.slack[k] = all.p.slack[150 * 48 + k];
    }
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) };
    nd_check(ctx, imgpar_apply(ctx, "slice(matmul($1, $2), [150 0], [250 48])", in, 2), &want, false,
             "100 rows of a product");
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    nd_free(&a);
    nd_free(&b);
    nd_free(&all);
    nd_free(&want);
}
END_TEST

enum { N_THREADS = 4, SIDE = 70 };
typedef struct multiplier {
    pthread_t thread;
    imgpar_array *in[2];
    float out[SIDE * SIDE];
    imgpar_status status;
} multiplier;

/* Twice, the second time of what the first one gave. */
static void *multiply(void *user)
{
    multiplier *m = user;
    imgpar_array *square = imgpar_apply(ctx, "matmul(matmul($1, $2) / 1000, $2)", m->in, 2);
    m->status = imgpar_array_read(square, m->out, sizeof m->out);
    imgpar_array_release(square);
    return NULL;
}

START_TEST(threads_multiply_by_clblast_at_once)
{
    static multiplier workers[N_THREADS];
    if (!set_clblast()) return;
    imgpar_array *in[] = { large("70x70", 1), large("70x70", 2) };
    for (int t = 0; t < N_THREADS; t++) {
        workers[t].in[0] = in[0];
        workers[t].in[1] = in[1];
        ck_assert_int_eq(pthread_create(&workers[t].thread, NULL, multiply, &workers[t]), 0);
    }
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < N_THREADS; t++) {
        ck_assert_int_eq(workers[t].status, IMGPAR_OK);
        ck_assert_mem_eq(workers[t].out, workers[0].out, sizeof workers[t].out);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

/* ---- neighbours ------------------------------------------------------------------------------- */

/* text over $1, $2 of the shapes gives what the product of matrices does that prepared() made of them. */
static void check_neighbours(const char *text, int n_kernels, const char *word, bool transposes_a, real plus)
{
    nd a = nd_new(IMGPAR_F32, transposes_a ? "65x37" : "37x65"), b = nd_new(IMGPAR_F32, "65x71"),
       straight = nd_new(IMGPAR_F32, "37x65");
    nd_fill(&a, FILL_LEVELS, 1);
    nd_fill(&b, FILL_LEVELS, 2);
    for (int64_t y = 0; y < 37; y++)
        for (int64_t x = 0; x < 65; x++)
            straight.p.v[y * 65 + x] = transposes_a ? a.p.v[x * 37 + y] : a.p.v[y * 65 + x];
    nd want = product(&straight, &b, IMGPAR_F32);
    for (int64_t k = 0; k < picture_count(&want.p); k++) {
        want.p.v[k] += plus;
        want.p.slack[k] += fabsl(want.p.v[k]) * 0x1p-23L;
    }
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) }, *got = imgpar_apply(ctx, text, in, 2);
    ck_assert_msg(imgpar_array_status(got) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(got));
    nd_expect_kernels(got, n_kernels, word, text);
    nd_check(ctx, got, &want, false, text);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    nd_free(&a);
    nd_free(&b);
    nd_free(&straight);
    nd_free(&want);
}

START_TEST(a_product_is_a_kernel_of_its_own) { check_neighbours("matmul($1, $2)", 1, "\"opaque\"", false, 0); }
END_TEST
START_TEST(a_view_before_a_product_ends_in_memory)
{
    check_neighbours("matmul(transpose($1), $2)", 2, "hand-written kernels read it from memory", true, 0);
}
END_TEST
START_TEST(what_comes_before_a_product_fuses)
{
    check_neighbours("matmul(transpose($1 * 2) / 2, $2)", 2, "hand-written kernels read it from memory", true, 0);
}
END_TEST
START_TEST(what_comes_after_a_product_fuses)
{
    check_neighbours("flip(flip(matmul($1, $2) + 3))", 2, "hand-written kernels compute it", false, 3);
}
END_TEST

START_TEST(a_square_is_one_input_read_twice)
{
    nd a = nd_new(IMGPAR_I32, "40x40");
    nd_fill(&a, FILL_ANY, 1);
    nd want = product(&a, &a, IMGPAR_I32);
    imgpar_array *in = nd_array(ctx, &a), *square = imgpar_matmul(in, in);
    nd_expect_kernels(square, 1, NULL, "matmul(a, a)");
    nd_check(ctx, square, &want, true, "matmul(a, a)");
    imgpar_array_release(in);
    nd_free(&a);
    nd_free(&want);
}
END_TEST

/* ---- left factors that are views ------------------------------------------------------------------ */

/* What a convolution of an array [2 7 9 20] with weights [3 3 20 n] is written as: each of the places `taps` tells, row
 * and column of the window, in a way of its own. */
typedef struct convolution {
    const char *text; /* $1, $2 */
    int n_taps, taps[9][2];
    int margin; /* of zeros */
    int64_t n, step;
    const char *word; /* of the plan */
} convolution;

#define SHIFTED                                                                         \
    "fn cut(i, j) = slice(p, [0, i, j, 0], [2, i + h, j + w, 20], step=[1, s, s, 1])\n" \
    "fn weights(i, j) = reshape(slice($2, [i, j, 0, 0], [i + 1, j + 1, 20, n]), [20, n])\n"
#define PLACES "fn tap(k) = matmul(cut(k div 3, k % 3), weights(k div 3, k % 3))\n"

static const convolution convolutions[] = {
    { "(p, h, w, s, n) = ($1, 5, 7, 1, 40)\n" SHIFTED PLACES "fold(9, k -> tap(k), \"sum\")",
      9,
      { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 }, { 1, 2 }, { 2, 0 }, { 2, 1 }, { 2, 2 } },
      0,
      40,
      1,
      "_view" },
    { "(p, h, w, s, n) = (pad($1, [0 1 1 0], [0 1 1 0]), 7, 9, 1, 16)\n" SHIFTED PLACES "fold(9, k -> tap(k), \"sum\")",
      9,
      { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 }, { 1, 2 }, { 2, 0 }, { 2, 1 }, { 2, 2 } },
      1,
      16,
      1,
      "_view" },
    { "(p, h, w, s, n) = (pad($1, [0 1 1 0], [0 1 1 0]), 7, 9, 1, 7)\n" SHIFTED
      "a = concatenate(concatenate(cut(0, 0), cut(1, 2), axis=3), cut(2, 1), axis=3)\n"
      "matmul(a, concatenate(concatenate(weights(0, 0), weights(1, 2), axis=0), weights(2, 1), axis=0))",
      3,
      { { 0, 0 }, { 1, 2 }, { 2, 1 } },
      1,
      7,
      1,
      "_view" },
    { "(p, h, w, s, n) = ($1, 5, 7, 2, 33)\n" SHIFTED PLACES "tap(0) + (tap(5) + tap(8))",
      3,
      { { 0, 0 }, { 1, 2 }, { 2, 2 } },
      0,
      33,
      2,
      "_view" },
    { "(p, h, w, s, n) = ($1, 5, 7, 1, 24)\n" SHIFTED PLACES "tap(4)", 1, { { 1, 1 } }, 0, 24, 1, "_view" },
    { "(p, h, w, s, n) = ($1, 5, 7, 1, 32)\n" SHIFTED
      "fn tap(i, j) = einsum(\"nyxc,cd->nyxd\", cut(i, j), weights(i, j))\ntap(0, 0) + tap(2, 1)",
      2,
      { { 0, 0 }, { 2, 1 } },
      0,
      32,
      1,
      "_view" },
    { "p = pad(reshape($1, [14 9 20]), [0 1 0], [0 1 0])\n"
      "fn cut(j) = slice(p, [0, j, 0], [14, j + 9, 20])\n"
      "fn weights(j) = reshape(slice($2, [1, j, 0, 0], [2, j + 1, 20, 24]), [20, 24])\n"
      "a = concatenate(cut(0), cut(2), axis=2)\n"
      "reshape(matmul(a, concatenate(weights(0), weights(2), axis=0)), [2, 7, 9, 24])",
      2,
      { { 1, 0 }, { 1, 2 } },
      1,
      24,
      1,
      "_view" },
    { "(p, h, w, s, n) = (pad($1, [0 1 1 0], [0 1 1 0]), 7, 9, 1, 9)\n" SHIFTED
      "rows = reshape(concatenate(cut(0, 2), cut(2, 0), axis=3), [126, 40])\n"
      "reshape(matmul(rows, concatenate(weights(0, 2), weights(2, 0), axis=0)), [2, 7, 9, 9])",
      2,
      { { 0, 2 }, { 2, 0 } },
      1,
      9,
      1,
      "_view" },
};

static real sample(const nd *a, int64_t z, int64_t y, int64_t x, int64_t c)
{
    if (y < 0 || x < 0 || y >= a->shape[1] || x >= a->shape[2]) return 0;
    return a->p.v[((z * a->shape[1] + y) * a->shape[2] + x) * a->shape[3] + c];
}

static nd convolve(const convolution *v, const nd *a, const nd *w, imgpar_dtype dtype)
{
    const int64_t reach = v->margin ? 0 : 2, h = (a->shape[1] - reach + v->step - 1) / v->step,
                  x_end = (a->shape[2] - reach + v->step - 1) / v->step, shape[4] = { 2, h, x_end, v->n };
    nd out = nd_of_shape(dtype, 4, shape);
    int64_t at = 0;
    for (int64_t z = 0; z < 2; z++)
        for (int64_t y = 0; y < h; y++)
            for (int64_t x = 0; x < x_end; x++)
                for (int64_t c = 0; c < v->n; c++, at++) {
                    real sum = 0, magnitude = 0;
                    uint64_t bits = 0;
                    for (int t = 0; t < v->n_taps; t++)
                        for (int64_t k = 0; k < 20; k++) {
                            const real u = sample(a, z, y * v->step + v->taps[t][0] - v->margin,
                                                  x * v->step + v->taps[t][1] - v->margin, k),
                                       b = w->p.v[((v->taps[t][0] * 3 + v->taps[t][1]) * 20 + k) * v->n + c];
                            sum += u * b;
                            magnitude += fabsl(u * b);
                            bits += bits_of(u) * bits_of(b);
                        }
                    out.p.v[at] = is_float(dtype) ? sum : wrapped(dtype, bits);
                    out.p.slack[at] = is_float(dtype) ? magnitude * 0x1p-24L * (real)(20 * v->n_taps + 9) : 0;
                }
    return out;
}

START_TEST(views_are_multiplied_where_they_lie)
{
    const convolution *v = &convolutions[_i / 2];
    const imgpar_dtype dtype = _i % 2 ? IMGPAR_I32 : IMGPAR_F32;
    const int64_t weights[4] = { 3, 3, 20, v->n };
    nd a = nd_new(dtype, "2x7x9x20"), w = nd_of_shape(dtype, 4, weights);
    nd_fill(&a, is_float(dtype) ? FILL_LEVELS : FILL_ANY, 1);
    nd_fill(&w, is_float(dtype) ? FILL_LEVELS : FILL_ANY, 2);
    nd want = convolve(v, &a, &w, dtype);
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &w) }, *got = imgpar_apply(ctx, v->text, in, 2);
    ck_assert_msg(imgpar_array_status(got) == IMGPAR_OK, "%s: %s", v->text, imgpar_array_message(got));
    if (strcmp(imgpar_context_device(ctx)->kind, "cpu") == 0) /* and a kernel for the right factors */
        nd_expect_kernels(got, 2, v->word, v->text);
    nd_check(ctx, got, &want, !is_float(dtype), v->text);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    nd_free(&a);
    nd_free(&w);
    nd_free(&want);
}
END_TEST

/* What is beside the views' products, of $1 [2 7 9 20] and $2 [3 3 20 8]: kernels give what the interpreter does. */
static const struct {
    const char *text;
    int n_views; /* kernels that read one */
} beside_views[] = {
    { "u = make(shape=[2 7 7 8], expr=x * 0 + 100000000.0)\nv = make(shape=[2 7 7 8], expr=x * 0 - 100000000.0)\n"
      "b = reshape(slice($2, [0 0 0 0], [1 1 20 8]), [20 8])\n"
      "(u + v) + matmul(slice($1, [0 0 1 0], [2 7 8 20]), b)",
      1 }, /* other terms keep their order */
    { "b = reshape(slice($2, [0 0 0 0], [1 1 20 8]), [20 8])\n"
      "t = matmul(slice($1, [0 0 1 0], [2 7 8 20]), b)\nt + t",
      1 }, /* one that is there twice */
    { "b = reshape(slice($2, [0 0 0 0], [1 1 20 8]), [20 8])\n"
      "matmul(slice($1, [0 0 1 0], [2 7 8 0]), slice(b, [0 0], [0 8]))",
      0 }, /* no terms */
    { "b = reshape(slice($2, [0 0 0 0], [1 1 20 8]), [20 8])\n"
      "matmul(slice(sqrt(abs($1)), [1 0 0 0], [2 2 9 20]), b)",
      0 }, /* little of what is read */
};

static void expect_views(imgpar_array *a, int n, const char *text)
{
    char *plan;
    int n_found = 0;
    ck_assert_int_eq(imgpar_explain(&a, 1, "text", &plan), IMGPAR_OK);
    for (const char *at = plan; (at = strstr(at, "_view")); at++)
        n_found++;
    ck_assert_msg(n_found == n, "%s: %d views instead of %d: %s", text, n_found, n, plan);
    imgpar_free(plan);
}

START_TEST(what_is_beside_views_is_as_it_was)
{
    const char *text = beside_views[_i].text;
    nd a = nd_new(IMGPAR_F32, "2x7x9x20"), w = nd_new(IMGPAR_F32, "3x3x20x8");
    nd_fill(&a, FILL_SMALL, 1);
    nd_fill(&w, FILL_SMALL, 2);
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &w) };
    float values[2][2 * 7 * 9 * 8];
    size_t n[2];
    for (int way = 0; way < 2; way++) {
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *got = imgpar_apply(ctx, text, in, 2);
        if (!way && strcmp(imgpar_context_device(ctx)->kind, "cpu") == 0)
            expect_views(got, beside_views[_i].n_views, text);
        ck_assert_msg(!imgpar_array_info(got, &info), "%s: %s", text, imgpar_array_message(got));
        n[way] = info.size_bytes / sizeof **values;
        ck_assert_msg(!imgpar_array_read(got, values[way], info.size_bytes), "%s: %s", text, imgpar_array_message(got));
        imgpar_array_release(got);
    }
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "auto"), IMGPAR_OK);
    ck_assert_uint_eq(n[0], n[1]);
    for (size_t k = 0; k < n[0]; k++)
        ck_assert_msg(fabsf(values[0][k] - values[1][k]) <= 1e-3F, "%s: %g, not %g", text, values[0][k], values[1][k]);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    nd_free(&a);
    nd_free(&w);
}
END_TEST

/* ---- messages ----------------------------------------------------------------------------------- */

static void expect_message(const char *shape_a, const char *shape_b, const char *message)
{
    nd a = nd_new(IMGPAR_F32, shape_a), b = nd_new(IMGPAR_F32, shape_b);
    imgpar_array *in[] = { nd_array(ctx, &a), nd_array(ctx, &b) }, *bad = imgpar_matmul(in[0], in[1]);
    ck_assert_int_eq(imgpar_array_status(bad), IMGPAR_E_SHAPE);
    ck_assert_str_eq(imgpar_array_message(bad), message);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    imgpar_array_release(bad);
    nd_free(&a);
    nd_free(&b);
}

START_TEST(shapes_that_do_not_fit_are_named)
{
    expect_message("3x4", "5x6",
                   "matmul: a is [3, 4] and b is [5, 6]; a's columns must be as many as b's rows, and leading axes "
                   "equal or 1");
    expect_message(
        "4", "5",
        "matmul: a is [4] and b is [5]; a's columns must be as many as b's rows, and leading axes equal or 1");
    expect_message("2x3x4", "3x4x5",
                   "matmul: a is [2, 3, 4] and b is [3, 4, 5]; a's columns must be as many as b's rows, and "
                   "leading axes equal or 1");
}
END_TEST

/* ---- little memory, interruption ------------------------------------------------------------------- */

START_TEST(under_a_memory_limit_strips_give_the_same_bytes)
{
    imgpar_array *in[] = { large("2000x400", 1), large("400x300", 2) }; /* 3.2 MB, 0.5 MB, the result 2.4 MB */
    for (int k = 0; k < 2; k++) {
        const char *text = k ? "matmul($1, $2) * 2" : "matmul($1, $2)";
        imgpar_array *whole = imgpar_apply(ctx, text, in, 2), *strips = imgpar_apply(ctx, text, in, 2);
        float *want = nd_read(ctx, whole, "auto", "whole");
        ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "4M"), IMGPAR_OK);
        float *got = nd_read(ctx, strips, "auto", "in strips");
        ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "0"), IMGPAR_OK);
        ck_assert_int_eq(memcmp(want, got, 2000 * 300 * sizeof *want), 0);
        free(want);
        free(got);
        imgpar_array_release(whole);
        imgpar_array_release(strips);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

static int stop_at_once(void *user, double done)
{
    int *n = user;
    return done > 0.1 && ++*n == 2;
}

START_TEST(a_large_product_is_stopped_by_poll)
{
    int n = 0;
    imgpar_options options = { .struct_size = sizeof options, .poll = stop_at_once, .user = &n };
    imgpar_array *in[] = { large("1500x1500", 1), large("1500x1500", 2) }, *work = imgpar_matmul(in[0], in[1]);
    ck_assert_int_eq(imgpar_array_eval(work, &options), IMGPAR_E_INTERRUPTED);
    ck_assert_int_eq(n, 2);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    imgpar_array_release(work);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matmul");
    TCase *c = tcase_create("matmul");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, products_of_all_shapes_are_sums_of_products, 0, sizeof shapes / sizeof *shapes);
    tcase_add_loop_test(c, products_of_all_dtypes_meet_as_operators_do, 0, 11);
    tcase_add_loop_test(c, products_by_clblast_are_sums_of_products, 0, sizeof for_clblast / sizeof *for_clblast);
    tcase_add_loop_test(c, what_clblast_is_not_for_is_computed_by_our_kernels, 0, 6);
    tcase_add_test(c, whom_products_are_left_to_is_a_setting);
    tcase_add_test(c, strips_by_clblast_are_rows_of_the_product);
    tcase_add_test(c, threads_multiply_by_clblast_at_once);
    tcase_add_test(c, a_product_is_a_kernel_of_its_own);
    tcase_add_test(c, a_view_before_a_product_ends_in_memory);
    tcase_add_test(c, what_comes_before_a_product_fuses);
    tcase_add_test(c, what_comes_after_a_product_fuses);
    tcase_add_test(c, a_square_is_one_input_read_twice);
    tcase_add_loop_test(c, views_are_multiplied_where_they_lie, 0, 2 * sizeof convolutions / sizeof *convolutions);
    tcase_add_loop_test(c, what_is_beside_views_is_as_it_was, 0, sizeof beside_views / sizeof *beside_views);
    tcase_add_test(c, shapes_that_do_not_fit_are_named);
    tcase_add_test(c, under_a_memory_limit_strips_give_the_same_bytes);
    tcase_add_test(c, a_large_product_is_stopped_by_poll);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
