/* SPDX-License-Identifier: MIT */
/* around(): folds of neighbourhoods by a function, against the same written as loops. */
#include "nd.h"

#include "base/alloc.h"
#include "graph/array.h"
#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- reads beyond the edges ------------------------------------------------------------------------ */

typedef int64_t extension(int64_t i, int64_t n);
static int64_t replicate(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }
static int64_t wrap(int64_t i, int64_t n) { return (i % n + n) % n; }
static int64_t reflect101(int64_t i, int64_t n)
{
    if (n == 1) return 0;
    i = wrap(i, 2 * n - 2);
    return i < n ? i : 2 * n - 2 - i;
}

/* The element at indices that lie inside: without an assertion each, since oracles read millions. */
static real element(const nd *a, int64_t i, int64_t j, int64_t k)
{
    return a->v[a->rank < 3 ? i * a->shape[1] + j : (i * a->shape[1] + j) * a->shape[2] + k];
}

/* An image's pixel, extended. */
static real pixel(const nd *a, int64_t y, int64_t x, int64_t c, extension *by)
{
    return element(a, by(y, a->shape[0]), by(x, a->shape[1]), c);
}
static real voxel(const nd *a, int64_t z, int64_t y, int64_t x, extension *by)
{
    return element(a, by(z, a->shape[0]), by(y, a->shape[1]), by(x, a->shape[2]));
}
static real square(real v) { return v * v; }

/* ---- what the texts below are -------------------------------------------------------------------------- */

static real differences(const nd *in, const int64_t *i) /* sum of |p - q|, radius 1 */
{
    real sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += fabsl(pixel(in, i[0], i[1], i[2], replicate) - pixel(in, i[0] + dy, i[1] + dx, i[2], replicate));
    return sum;
}

static real wide_differences(const nd *in, const int64_t *i) /* the same, radii 3 and 9: windows that are loops */
{
    real sum = 0;
    for (int dy = -3; dy <= 3; dy++)
        for (int dx = -9; dx <= 9; dx++)
            sum += fabsl(pixel(in, i[0], i[1], i[2], reflect101) - pixel(in, i[0] + dy, i[1] + dx, i[2], reflect101));
    return sum;
}

static real bilateral(const nd *in, const int64_t *i) /* of gray, radius 3 */
{
    real sum = 0, weights = 0, p = pixel(in, i[0], i[1], 0, replicate);
    for (int dy = -3; dy <= 3; dy++)
        for (int dx = -3; dx <= 3; dx++) {
            real q = pixel(in, i[0] + dy, i[1] + dx, 0, replicate),
                 w = expl(-(dy * dy + dx * dx) / 18.0L - square(p - q) / 50);
            sum += w * q;
            weights += w;
        }
    return sum / weights;
}

static real disc_bilateral(const nd *in, const int64_t *i) /* of a disc of radius 3 */
{
    real sum = 0, weights = 0, p = pixel(in, i[0], i[1], 0, replicate);
    for (int dy = -3; dy <= 3; dy++)
        for (int dx = -3; dx <= 3; dx++) {
            if (dy * dy + dx * dx > 9) continue;
            real q = pixel(in, i[0] + dy, i[1] + dx, 0, replicate),
                 w = expl(-(dy * dy + dx * dx) / 18.0L - square(p - q) / 50);
            sum += w * q;
            weights += w;
        }
    return sum / weights;
}

static real disc_extent(const nd *in, const int64_t *i) /* the largest of a disc of radius 2, less their mean */
{
    real most = 0, sum = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            if (dy * dy + dx * dx > 4) continue;
            most = fmaxl(most, pixel(in, i[0] + dy, i[1] + dx, 0, replicate));
            sum += pixel(in, i[0] + dy, i[1] + dx, 0, replicate);
        }
    return most - sum / 13;
}

static real colour_bilateral(const nd *in, const int64_t *i) /* by the distance of colours */
{
    real sum = 0, weights = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            real d = 0;
            for (int c = 0; c < 3; c++)
                d += square(pixel(in, i[0], i[1], c, wrap) - pixel(in, i[0] + dy, i[1] + dx, c, wrap));
            real w = expl(-d / 100);
            sum += w * pixel(in, i[0] + dy, i[1] + dx, i[2], wrap);
            weights += w;
        }
    return sum / weights;
}

static real volume_bilateral(const nd *in, const int64_t *i) /* radii 1 2 3 */
{
    real sum = 0, weights = 0, p = voxel(in, i[0], i[1], i[2], reflect101);
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -3; dx <= 3; dx++) {
                real q = voxel(in, i[0] + dz, i[1] + dy, i[2] + dx, reflect101);
                real w = expl(-(2 * dz * dz + dy * dy + dx * dx) / 18.0L - square(p - q) / 50);
                sum += w * q;
                weights += w;
            }
    return sum / weights;
}

static real volume_extent(const nd *in, const int64_t *i) /* the largest difference, radius 1 */
{
    real most = 0, p = voxel(in, i[0], i[1], i[2], replicate);
    for (int k = 0; k < 27; k++)
        most = fmaxl(most, fabsl(p - voxel(in, i[0] + k / 9 - 1, i[1] + k / 3 % 3 - 1, i[2] + k % 3 - 1, replicate)));
    return most;
}

/* Radius 2, 7 beyond the edges. */
static real fold_of_five(const nd *in, const int64_t *i, int fold)
{
    real sum = 0, least = INFINITY, most = -INFINITY;
    for (int64_t y = i[0] - 2; y <= i[0] + 2; y++)
        for (int64_t x = i[1] - 2; x <= i[1] + 2; x++) {
            bool is_in = y >= 0 && x >= 0 && y < in->shape[0] && x < in->shape[1];
            real v = is_in ? element(in, y, x, i[2]) : 7;
            sum += v;
            least = fminl(least, v);
            most = fmaxl(most, v);
        }
    return fold == 0 ? sum / 25 : fold == 1 ? least : most;
}
static real mean_of_five(const nd *in, const int64_t *i) { return fold_of_five(in, i, 0); }
static real min_of_five(const nd *in, const int64_t *i) { return fold_of_five(in, i, 1); }
static real max_of_five(const nd *in, const int64_t *i) { return fold_of_five(in, i, 2); }

static real signs(const nd *in, const int64_t *i) /* product of 1 or -1, radii 4 and 5 */
{
    real product = 1;
    for (int dy = -4; dy <= 4; dy++)
        for (int dx = -5; dx <= 5; dx++)
            product *=
                pixel(in, i[0] + dy, i[1] + dx, i[2], replicate) > pixel(in, i[0], i[1], i[2], replicate) ? -1 : 1;
    return product;
}

static real second_array(const nd *in, const int64_t *i) /* sum of q times b[1 - dy, dx] */
{
    real sum = 0;
    for (int dy = -4; dy <= 4; dy++)
        for (int dx = -4; dx <= 4; dx++)
            sum += pixel(&in[0], i[0] + dy, i[1] + dx, i[2], replicate) *
                   pixel(&in[1], i[0] + 1 - dy, i[1] + dx, i[2], replicate);
    return sum;
}

static real patches(const nd *in, const int64_t *i) /* sum of |p[0, 1] - q[0, 1]| + dy x */
{
    real sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -2; dx <= 2; dx++)
            sum += fabsl(pixel(in, i[0], i[1] + 1, 0, wrap) - pixel(in, i[0] + dy, i[1] + dx + 1, 0, wrap)) +
                   dy * (real)i[1];
    return sum;
}

static real line(const nd *in, const int64_t *i) /* sum of dx^2 q, radius 30 */
{
    real sum = 0;
    for (int dx = -30; dx <= 30; dx++)
        sum += dx * dx * in->v[replicate(i[0] + dx, in->shape[0])];
    return sum;
}

static real centre_alone(const nd *in, const int64_t *i) { return 2 * in->v[i[0] * in->shape[1] + i[1]]; }

/* The mean of 3 x 3, and how far the values around are from the mean of their own neighbours. */
static real mean_3(const nd *in, int64_t y, int64_t x)
{
    real sum = 0;
    for (int k = 0; k < 9; k++)
        sum += pixel(in, y + k / 3 - 1, x + k % 3 - 1, 0, replicate);
    return sum / 9;
}
static real nested(const nd *in, const int64_t *i)
{
    real sum = 0;
    for (int dy = -4; dy <= 4; dy++)
        for (int dx = -4; dx <= 4; dx++) {
            int64_t y = replicate(i[0] + dy, in->shape[0]), x = replicate(i[1] + dx, in->shape[1]);
            sum += square(pixel(in, y, x, 0, replicate) - mean_3(in, y, x)) - mean_3(in, i[0], i[1]);
        }
    return sum;
}

/* The same where the mean is made within the function: of the neighbour as an array, which is extended at its own
 * edges. */
static real nested_within(const nd *in, const int64_t *i)
{
    real sum = 0;
    for (int dy = -4; dy <= 4; dy++)
        for (int dx = -4; dx <= 4; dx++) {
            real mean = 0;
            for (int k = 0; k < 9; k++)
                mean += pixel(in, replicate(i[0] + k / 3 - 1, in->shape[0]) + dy,
                              replicate(i[1] + k % 3 - 1, in->shape[1]) + dx, 0, replicate) /
                        9;
            sum += square(pixel(in, i[0] + dy, i[1] + dx, 0, replicate) - mean) - mean_3(in, i[0], i[1]);
        }
    return sum;
}

/* Means of patches of 3 x 3 by their distance, which is blurred as a picture of its own: extended at its own edges. */
static real means_of_patches(const nd *in, const int64_t *i)
{
    real sum = 0, weights = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            real d = 0;
            for (int k = 0; k < 9; k++) {
                int64_t y = replicate(i[0] + k / 3 - 1, in->shape[0]), x = replicate(i[1] + k % 3 - 1, in->shape[1]);
                for (int c = 0; c < 3; c++)
                    d += square(element(in, y, x, c) - pixel(in, y + dy, x + dx, c, replicate));
            }
            real w = expl(-d / 900);
            sum += w * pixel(in, i[0] + dy, i[1] + dx, i[2], replicate);
            weights += w;
        }
    return sum / weights;
}

/* The same of patches of 5 x 5. */
static real means_of_large_patches(const nd *in, const int64_t *i)
{
    real sum = 0, weights = 0;
    for (int n = 0; n < 25; n++) {
        int dy = n / 5 - 2, dx = n % 5 - 2;
        real d = 0;
        for (int k = 0; k < 25; k++) {
            int64_t y = replicate(i[0] + k / 5 - 2, in->shape[0]), x = replicate(i[1] + k % 5 - 2, in->shape[1]);
            for (int c = 0; c < 3; c++)
                d += square(element(in, y, x, c) - pixel(in, y + dy, x + dx, c, replicate));
        }
        real w = expl(-d / 2500);
        sum += w * pixel(in, i[0] + dy, i[1] + dx, i[2], replicate);
        weights += w;
    }
    return sum / weights;
}

/* ---- cases ------------------------------------------------------------------------------------------- */

static imgpar_dtype real_of(imgpar_dtype d) { return d == IMGPAR_F64 ? d : IMGPAR_F32; }
static imgpar_dtype f32(imgpar_dtype d) { return (void)d, IMGPAR_F32; }
static imgpar_dtype f64(imgpar_dtype d) { return (void)d, IMGPAR_F64; }
static imgpar_dtype i64(imgpar_dtype d) { return (void)d, IMGPAR_I64; }
static imgpar_dtype total_of(imgpar_dtype d)
{
    return d == IMGPAR_F64                      ? d
           : d == IMGPAR_F32 || d == IMGPAR_F16 ? IMGPAR_F32
                                                : IMGPAR_I64; /* differences have a sign */
}
static imgpar_dtype element_of(imgpar_dtype d) { return d == IMGPAR_F16 ? IMGPAR_F32 : d; }

#define GRAY_WEIGHT "exp(-(dy * dy + dx * dx) / 18.0 - (p - q) * (p - q) / 50.0)"
static const nd_case of_small[] = {
    { "around",
      "around($1, 1, (p, q) -> abs(p - q), \"sum\")",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      differences,
      0x1p-20L,
      total_of },
    { "around",
      "around($1, [3 9], (p, q) -> abs(p - q), sum, border=reflect101)",
      { 3 },
      { { 5, 41, 3 } },
      3,
      { 5, 41, 3 },
      wide_differences,
      0x1p-18L,
      total_of },
    { "around",
      "around($1, 3, (p, q, dy, dx) -> (q, " GRAY_WEIGHT "), \"mean\")",
      { 2 },
      { { 9, 21 } },
      2,
      { 9, 21 },
      bilateral,
      0x1p-18L,
      real_of },
    { "around",
      "around($1, 3, (p, q, dy, dx) -> (q, " GRAY_WEIGHT "), \"mean\", shape=disc)",
      { 2 },
      { { 9, 21 } },
      2,
      { 9, 21 },
      disc_bilateral,
      0x1p-18L,
      real_of },
    { "around",
      "v = cast($1, f32)\naround(v, 2, (p, q) -> q, \"max\", shape=disc) - around(v, 2, (p, q) -> q, \"mean\", "
      "shape=disc)",
      { 2 },
      { { 9, 21 } },
      2,
      { 9, 21 },
      disc_extent,
      0x1p-18L,
      f32 },
    { "around",
      "fn d(p, q) = sum((p - q) * (p - q), axis=2, keepdims=true)\n"
      "around($1, 2, (p, q) -> (q, exp(-cast(d(p, q), f32) / 100.0)), \"mean\", border=wrap)",
      { 3 },
      { { 9, 13, 3 } },
      3,
      { 9, 13, 3 },
      colour_bilateral,
      0x1p-18L,
      real_of },
    { "around",
      "around($1, [1 2 3], (p, q, dz, dy, dx) -> (q, exp(-(2 * dz * dz + dy * dy + dx * dx) / 18.0 - (p - q) * (p - q) "
      "/ 50.0)), \"mean\", "
      "border=reflect101)",
      { 3 },
      { { 4, 6, 9 } },
      3,
      { 4, 6, 9 },
      volume_bilateral,
      0x1p-18L,
      real_of },
    { "around",
      "around(cast($1, f32), 1, (p, q) -> abs(p - q), \"max\")",
      { 3 },
      { { 4, 6, 9 } },
      3,
      { 4, 6, 9 },
      volume_extent,
      0,
      f32 },
    { "around",
      "around(cast($1, f32), 2, (p, q) -> q, \"mean\", border=constant, cval=7)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      mean_of_five,
      0x1p-18L,
      f32 },
    { "around",
      "around($1, 2, (p, q) -> q, \"min\", border=constant, cval=7)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      min_of_five,
      0,
      element_of },
    { "around",
      "around($1, 2, (p, q) -> q, \"max\", border=constant, cval=7)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      max_of_five,
      0,
      element_of },
    { "around",
      "around($1, [4 5], (p, q) -> q > p ? -1 : 1, \"product\")",
      { 2 },
      { { 9, 17 } },
      2,
      { 9, 17 },
      signs,
      0,
      i64 },
    { "around",
      "around($1, 4, (p, q, dy, dx) -> cast(q, f64) * $2[1 - dy, dx], \"sum\")",
      { 3, 3 },
      { { 7, 9, 2 }, { 7, 9, 2 } },
      3,
      { 7, 9, 2 },
      second_array,
      0x1p-40L,
      f64 },
    { "around",
      "around($1, [1 2], (p, q, dy, dx) -> abs(p[0, 1] - q[0, 1]) + dy * x, \"sum\", border=wrap)",
      { 2 },
      { { 6, 11 } },
      2,
      { 6, 11 },
      patches,
      0x1p-18L,
      total_of },
    { "around",
      "around($1, 30, (p, q, dx) -> q * (dx * dx), \"sum\")",
      { 1 },
      { { 75 } },
      1,
      { 75 },
      line,
      0x1p-16L,
      total_of },
    { "around",
      "around(cast($1, f32), 0, (p, q) -> p + q, \"sum\")",
      { 2 },
      { { 6, 11 } },
      2,
      { 6, 11 },
      centre_alone,
      0,
      f32 },
    { "around",
      "v = cast($1, f32)\nm = around(v, 1, (p, q) -> q, \"mean\")\nd = v - m\naround(v, 4, (p, q, dy, dx) -> d[dy, dx] "
      "* d[dy, dx] - m, \"sum\")",
      { 2 },
      { { 9, 13 } },
      2,
      { 9, 13 },
      nested,
      0x1p-14L,
      f32 },
    { "around",
      "around(cast($1, f32), 4, (a, b) -> (b - around(b, 1, (p, q) -> q, \"mean\")) ** 2 - around(a, 1, (p, q) -> q, "
      "\"mean\"), \"sum\")",
      { 2 },
      { { 9, 13 } },
      2,
      { 9, 13 },
      nested_within,
      0x1p-14L,
      f32 },
    { "around",
      "fn d(p, q) = sum((p - q) * (p - q), axis=2, keepdims=true)\n"
      "around(cast($1, f32), 2, (p, q) -> (q, exp(boxblur(d(p, q), 3) * (-1.0 / 100))), \"mean\")",
      { 3 },
      { { 9, 21, 3 } },
      3,
      { 9, 21, 3 },
      means_of_patches,
      0x1p-16L,
      f32 },
    { "around",
      "fn d(p, q) = sum((p - q) * (p - q), axis=2, keepdims=true)\n"
      "around(cast($1, f32), 2, (p, q) -> (q, exp(boxblur(d(p, q), 5) * (-1.0 / 100))), \"mean\")",
      { 3 },
      { { 4, 281, 3 } },
      3,
      { 4, 281, 3 },
      means_of_large_patches,
      0x1p-16L,
      f32 },
    { "around",
      "fn d(p, q) = sum((p - q) * (p - q), axis=2, keepdims=true)\n"
      "fn unlike(p, q) = convsep(d(p, q), [1 1 1 1 1], [1 1 1 1 1])\n"
      "around(cast($1, f32), 2, (p, q) -> (q, exp(unlike(p, q) * (-1.0 / 2500))), \"mean\")",
      { 3 },
      { { 4, 281, 3 } },
      3,
      { 4, 281, 3 },
      means_of_large_patches,
      0x1p-16L,
      f32 },
};
enum { N_SMALL = sizeof of_small / sizeof *of_small, N_FIRST = 3 };

START_TEST(folds_of_neighbourhoods_are_right_in_every_schedule)
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8,  IMGPAR_I16, IMGPAR_U16, IMGPAR_I32,
                                           IMGPAR_F16, IMGPAR_F32, IMGPAR_F64 };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
        nd_check(&b, of_small, N_SMALL, dtypes[k], FILL_SMALL, "ref");
    if (b.has_device) {
        nd_check(&b, of_small, N_SMALL, IMGPAR_F32, FILL_SMALL, "auto");
        nd_check(&b, of_small, b.is_full ? N_SMALL : N_FIRST, IMGPAR_I16, FILL_SMALL, "pixels");
    }
    nd_close(&b);
}
END_TEST

START_TEST(the_graph_as_text_is_the_graph)
{
    static const char *const texts[] = {
        "around($1, 2, (p, q, dy, dx) -> (q, exp(-(dy * dy + dx * dx) / 18.0 - abs(p - q) / 50.0)), \"mean\", "
        "border=wrap)",
        "around($1, [1 2], (p, q, dy, dx) -> abs(p[0, 1] - q[1, -1]) * $1[dy - 1, 2 * dx], \"product\", "
        "border=constant, cval=3)",
        "a = around($1, 1, (p, q) -> q, \"max\")\naround(a, 1, (p, q) -> q - around(p, 2, (s, t) -> t, \"min\"), "
        "\"sum\") + a",
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_F32, 2, (int64_t[]){ 6, 8 }, FILL_SMALL, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        imgpar_array *first = imgpar_apply(b.ctx, texts[k], &array, 1);
        ck_assert_msg(first->op, "%s: %s", texts[k], imgpar_array_message(first));
        char *text = ip_graph_unparse(&first, 1);
        imgpar_array *second = imgpar_apply(b.ctx, text, &array, 1);
        ck_assert_msg(second->op, "%s: %s: %s", texts[k], text, imgpar_array_message(second));
        char *again = ip_graph_unparse(&second, 1);
        ck_assert_str_eq(text, again);
        imgpar_array_release(first);
        imgpar_array_release(second);
        ip_free(text);
        ip_free(again);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

START_TEST(bilateral_filter_and_non_local_means_are_one_kernel_and_planned_at_once)
{
    static const char *const texts[] = {
        "a = $1 / 255.0\nfn d(p, q) = sum((p - q) * (p - q), axis=2, keepdims=true)\n"
        "around(a, 3, (p, q, dy, dx) -> (q, exp(-(dy * dy + dx * dx) / 18.0 - d(p, q) / 0.02)), \"mean\") * 255",
        "around(blur($1, 1), 7, (p, q) -> abs(p - q), \"max\") + 1",
        "around($1, 7, (p, q) -> q > p, \"sum\")",
        "fn unlike(p, q) = boxblur(sum((p - q) ** 2, axis=2, keepdims=true), 7)\n"
        "clamp(around($2, 3, (p, q) -> (q, exp(unlike(p, q) * -0.0001)), \"mean\"), 0, 255)",
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 3, (int64_t[]){ 41, 53, 3 }, FILL_ANY, 1),
       f = nd_new(IMGPAR_F32, 3, (int64_t[]){ 41, 53, 3 }, FILL_ANY, 1);
    imgpar_array *arrays[] = { nd_array(b.ctx, &a), nd_array(b.ctx, &f) };
    for (size_t k = 0; k < sizeof texts / sizeof *texts && b.is_cpu; k++) {
        clock_t start = clock();
        int n = nd_kernels(&b, texts[k], arrays, 2);
        double ms = (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC;
        ck_assert_msg(n == 1, "%s: %d kernels", texts[k], n);
        ck_assert_msg(ms < 200, "%s: planned in %g ms", texts[k], ms);
    }
    for (int k = 0; k < 2; k++)
        imgpar_array_release(arrays[k]);
    nd_free(&a);
    nd_free(&f);
    nd_close(&b);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "around($1, 1, (p, q) -> 1, \"sum\")",
          "around: what the function gives must be made of p, the element, or q, a neighbour of it" },
        { "around($1, 1, (p, q, dy, dx) -> dy, \"sum\")",
          "around: what the function gives must be made of p, the element, or q, a neighbour of it" },
        { "around($1, 1, (p, q) -> (p, q), \"sum\")", "around: a value and its weight make a \"mean\", not a \"sum\"" },
        { "around($1, 1, (p, q) -> (q, 0), \"mean\")", "around: a weight of 0 for all neighbours makes no mean" },
        { "around($1, 1, (p, q) -> (q, log(0)), \"mean\")",
          "around: a weight of -inf for all neighbours makes no mean" },
        { "around($1, 1, (p, q) -> q, \"median\")",
          "around: fold is \"sum\", \"mean\", \"min\", \"max\" or \"product\"" },
        { "around($1, 1, (p, q, dx) -> q, \"sum\")",
          "around: the function takes (p, q) or (p, q, dy, dx), not 3 arguments" },
        { "around($1, 1.5, (p, q) -> q, \"sum\")",
          "around: radius is a whole number from 0 to 1000, or a vector of them" },
        { "around($1, [1 1 1], (p, q) -> q, \"sum\")", "around: 3 radii, but the array has neighbours along 2 axes" },
        { "around($1, 200, (p, q) -> q, \"sum\")", "around: 160801 neighbours; there can be 65536" },
        { "around($1, 1, (p, q) -> q, \"sum\", border=mirror)", "around: border" },
        { "around($1, 1, 3, \"sum\")", "around: a function such as (p, q) -> abs(p - q) is expected, not a number" },
        { "around(3, 1, (p, q) -> q)", "around takes an array, not a number" },
        { "around($1, 1, (p, q) -> q * mean(q))", "around: the function folds or sorts what it makes of a neighbour" },
        { "around($1, 1, (p, q, dy, dx) -> p[dy * dy, dx])",
          "an offset is a whole number, or a sum of such and distances" },
        { "around(complex($1, $1), 1, (p, q) -> q)", "around does not compute with complex numbers" },
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 3, (int64_t[]){ 6, 8, 3 }, FILL_ANY, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(b.ctx, refusals[k].text, &array, 1);
        imgpar_array_eval(bad, NULL);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s: %s", refusals[k].text,
                      imgpar_array_message(bad));
        imgpar_array_release(bad);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

static real four_differences(const nd *in, const int64_t *i) /* the largest of those from four neighbours */
{
    real most = 0;
    for (int k = 0; k < 4; k++)
        most = fmaxl(most, fabsl(element(in, i[0], i[1], 0) -
                                 pixel(in, i[0] + (k == 0) - (k == 1), i[1] + (k == 2) - (k == 3), 0, replicate)));
    return most;
}
static real polynomial(const nd *in, const int64_t *i) /* sum of k a[0, k], k from 0 to 4, and 2 * 3 * 4 */
{
    real sum = 24;
    for (int k = 0; k < 5; k++)
        sum += k * pixel(in, i[0], i[1] + k, 0, replicate);
    return sum;
}
static real patch_distance(
    const nd *in, const int64_t *i) /* sum over neighbours of the squares of the differences of patches of 3 x 3 */
{
    real sum = 0;
    for (int k = 0; k < 81; k++) {
        int dy = k / 27 - 1, dx = k / 9 % 3 - 1, y = k / 3 % 3 - 1, x = k % 3 - 1;
        sum +=
            square(pixel(in, i[0] + y, i[1] + x, 0, replicate) - pixel(in, i[0] + dy + y, i[1] + dx + x, 0, replicate));
    }
    return sum;
}
static const nd_case of_terms[] = {
    { "fold",
      "fold([-1 0; 1 0; 0 -1; 0 1], (dy, dx) -> abs(cast($1, f32) - cast($1, f32)[dy, dx]), \"max\")",
      { 2 },
      { { 6, 9 } },
      2,
      { 6, 9 },
      four_differences,
      0,
      f32 },
    { "fold",
      "fold(5, k -> cast($1, f64)[0, k] * k, sum) + fold([2 3 4], k -> k, \"product\")",
      { 2 },
      { { 6, 9 } },
      2,
      { 6, 9 },
      polynomial,
      0,
      f64 },
    { "fold",
      "around(cast($1, f32), 1, (p, q) -> fold([-1 0 1], j -> fold([-1 0 1], i -> (p[j, i] - q[j, i]) ** 2)), \"sum\")",
      { 2 },
      { { 6, 9 } },
      2,
      { 6, 9 },
      patch_distance,
      0x1p-18L,
      f32 },
};
enum { N_TERMS = sizeof of_terms / sizeof *of_terms };

START_TEST(terms_made_of_numbers_are_folded)
{
    static const struct {
        const char *text;
        double value;
    } numbers[] = {
        { "fold([3 1 2], k -> k, \"min\")", 1 },     { "fold([3 1 2], k -> k, \"max\")", 3 },
        { "fold([3 1 2], k -> k, \"mean\")", 2 },    { "fold(4, k -> k * k)", 14 },
        { "fold([1 2; 3 4], (i, j) -> i * j)", 14 }, { "fold([0.5 1], k -> k / 2)", 0.75 },
    };
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "fold([1 2], 3)", "fold: a function such as k -> a[0, k] is expected, not a number" },
        { "fold([1 2; 3 4], (i, j, k) -> i)", "fold: the function takes 3 numbers, and a row has 2" },
        { "fold(0, k -> k)", "fold: there are 1 to 1024 terms" },
        { "fold(1.5, k -> k)", "fold: there are 1 to 1024 terms" },
        { "fold($1, k -> k)", "fold: values are a vector, a matrix or a number, not an array" },
        { "fold([1 2], k -> \"x\")", "fold: a term is a number or an array, not text" },
        { "fold([1 2], k -> k, \"median\")", "fold: fold is \"sum\", \"mean\", \"min\", \"max\" or \"product\"" },
    };
    nd_bench b;
    nd_open(&b);
    nd_check(&b, of_terms, N_TERMS, IMGPAR_I16, FILL_SMALL, "ref");
    if (b.has_device) nd_check(&b, of_terms, N_TERMS, IMGPAR_F32, FILL_SMALL, "auto");
    nd a = nd_new(IMGPAR_U8, 2, (int64_t[]){ 6, 8 }, FILL_ANY, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        char text[128];
        double got = NAN;
        snprintf(text, sizeof text, "$1 * 0.0 + %s", numbers[k].text);
        imgpar_array *x = imgpar_apply(b.ctx, text, &array, 1),
                     *mean = imgpar_apply(b.ctx, "cast(mean($1), f64)", &x, 1);
        ck_assert_msg(imgpar_array_read(mean, &got, sizeof got) == IMGPAR_OK, "%s: %s", text,
                      imgpar_array_message(mean));
        ck_assert_msg(got == numbers[k].value, "%s: %g", text, got);
        imgpar_array_release(mean);
        imgpar_array_release(x);
    }
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(b.ctx, refusals[k].text, &array, 1);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s: %s", refusals[k].text,
                      imgpar_array_message(bad));
        imgpar_array_release(bad);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

/* Programs that had functions of these names before the language did go on. */
START_TEST(a_function_of_the_user_takes_the_place_of_a_later_word)
{
    static const char *const texts[] = {
        "fn fold(d, i) = d + 2 * i\nfn twice(a) = fold(a, a)\ntwice($1) - 2 * $1",
        "fn around(a) = a[0, 1] + a[0, -1]\naround($1) * 0 + $1",
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_I32, 2, (int64_t[]){ 6, 8 }, FILL_SMALL, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        imgpar_array *got = imgpar_apply(b.ctx, texts[k], &array, 1), *pair[] = { got, array },
                     *differ = imgpar_apply(b.ctx, "cast(maxval(abs($1 - $2)), f64)", pair, 2);
        double most = NAN;
        ck_assert_msg(imgpar_array_read(differ, &most, sizeof most) == IMGPAR_OK, "%s: %s", texts[k],
                      imgpar_array_message(differ));
        ck_assert_msg(most == 0, "%s: off by %g", texts[k], most);
        imgpar_array_release(differ);
        imgpar_array_release(got);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

/* A weighted mean of zeros below 0 is one, too, in windows that are written out and in loops over them. */
START_TEST(means_of_zeros_keep_their_sign)
{
    static const char *const schedules[] = { "auto", "ref" };
    static const char *const texts[] = { "around($1, 1, (p, q) -> (q, p + 1.0), \"mean\")",
                                         "around($1, 4, (p, q) -> (q, p + 1.0), \"mean\")" };
    const float zeros[6] = { -0.0F, -0.0F, -0.0F, -0.0F, -0.0F, -0.0F };
    nd_bench b;
    nd_open(&b);
    imgpar_array *in = imgpar_array_from_data(b.ctx, IMGPAR_F32, 2, (int64_t[]){ 2, 3 }, zeros);
    for (int k = 0; k < 4; k++) {
        float got[6];
        ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", schedules[k / 2]), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(b.ctx, texts[k % 2], &in, 1);
        ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(a));
        for (int i = 0; i < 6; i++)
            ck_assert_msg(got[i] == 0 && signbit(got[i]), "%s, %s: %g", schedules[k / 2], texts[k % 2], got[i]);
        imgpar_array_release(a);
    }
    imgpar_array_release(in);
    nd_close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("around");
    TCase *c = tcase_create("around");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, folds_of_neighbourhoods_are_right_in_every_schedule);
    tcase_add_test(c, terms_made_of_numbers_are_folded);
    tcase_add_test(c, means_of_zeros_keep_their_sign);
    tcase_add_test(c, a_function_of_the_user_takes_the_place_of_a_later_word);
    tcase_add_test(c, the_graph_as_text_is_the_graph);
    tcase_add_test(c, bilateral_filter_and_non_local_means_are_one_kernel_and_planned_at_once);
    tcase_add_test(c, what_does_not_fit_is_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
