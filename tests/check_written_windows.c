/* SPDX-License-Identifier: MIT */
/*
 * What neighbourhoods tell (ops/written_windows.def) against plain loops in long double, each by the definition.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 17, W = 22, MOST = 4 };

/* The device computes RGB only, in the quick tier of bytes. */
static void expect(const char *text, const picture *const *in, int n, picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, in, n, want, in[0]->c == 3 && (in[0]->dtype == IMGPAR_U8 || test_tier_is_full()));
}

static real a_level(imgpar_dtype dtype, real of_floats) { return dtype == IMGPAR_F32 ? of_floats : 1; }

/* Levels with structure: slopes, an edge and some noise. */
static picture scene(imgpar_dtype dtype, int64_t c, unsigned seed)
{
    picture p = written_levels(dtype, H, W, c, seed);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        const int64_t x = k / c % W, y = k / c / W;
        p.v[k] = rounded(dtype, p.v[k] * 0.2L + dtype_full(dtype) * (x > 9 ? 0.7L - 0.01L * y : 0.1L + 0.02L * x));
    }
    return p;
}

static picture of_type(imgpar_dtype dtype, int64_t c) { return picture_new(dtype, H, W, c); }

/* ---- smoothing that keeps edges -------------------------------------------------------------- */

/* How opaque a picture of n colours is there. */
static real cover(const picture *a, int n, int64_t y, int64_t x)
{
    return n == a->c ? 1 : written_nearest(a, y, x, n) / dtype_full(a->dtype);
}

/* Borders by turns. */
static const struct {
    imgpar_border border;
    const char *word;
} borders[] = { { IMGPAR_BORDER_REPLICATE, "replicate" },
                { IMGPAR_BORDER_WRAP, "wrap" },
                { IMGPAR_BORDER_REFLECT101, "reflect101" },
                { IMGPAR_BORDER_CONSTANT, "constant" } };
enum { N_BORDERS = sizeof borders / sizeof *borders };

START_TEST(a_bilateral_filter)
{
    const imgpar_dtype dtype = written_dtypes[_i / MOST];
    const int channels = _i % MOST + 1, n = channels - (channels % 2 == 0 && dtype != IMGPAR_F32);
    const real full = dtype_full(dtype), sigma = 1.2L, contrast = 0.15L;
    const imgpar_border border = borders[(_i + _i / MOST) % N_BORDERS].border;
    const bool is_disc = (_i + _i / MOST) % 2;
    picture a = scene(dtype, channels, 3), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k += channels)
        for (int c = 0; c < n; c++) {
            real sum = 0, weights = 0;
            for (int dy = -2; dy <= 2; dy++)
                for (int dx = -2; dx <= 2; dx++) {
                    if (is_disc && dy * dy + dx * dx > 4) continue;
                    const int64_t y = k / channels / W + dy, x = k / channels % W + dx;
                    real apart = 0;
                    for (int i = 0; i < n; i++) {
                        const real d = (picture_read(&a, y, x, i, border, 0) - a.v[k + i]) / full;
                        apart += d * d;
                    }
                    const real w =
                        expl(-(dy * dy + dx * dx) / (2 * sigma * sigma)) * expl(-apart / (2 * contrast * contrast));
                    const real opaque = n == channels ? 1 : picture_read(&a, y, x, n, border, 0) / full;
                    sum += opaque * w * picture_read(&a, y, x, c, border, 0);
                    weights += opaque * w;
                }
            want.v[k + c] = sum / weights;
        }
    char text[120];
    snprintf(text, sizeof text, "bilateral($1, radius=2, sigma=1.2, contrast=0.15, border=%s%s)",
             borders[(_i + _i / MOST) % N_BORDERS].word, is_disc ? ", shape=disc" : "");
    expect(text, (const picture *const[]){ &a }, 1, &want, a_level(dtype, 0x1p-16L));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* The mean squared difference of the 3 x 3 patches around two places, in shares of white. Patches of what is not there
 * are of differences at the nearest centre. */
static real patches_apart(const picture *a, int n, int64_t y, int64_t x, int dy, int dx)
{
    real sum = 0;
    for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++)
            for (int c = 0; c < n; c++) {
                const int64_t py = y + v < 0    ? 0
                                   : y + v >= H ? H - 1
                                                : y + v,
                              px = x + u < 0    ? 0
                                   : x + u >= W ? W - 1
                                                : x + u;
                const real d = written_nearest(a, py, px, c) - written_nearest(a, py + dy, px + dx, c);
                sum += d * d;
            }
    return sum / (9 * n) / (dtype_full(a->dtype) * dtype_full(a->dtype));
}

START_TEST(non_local_means)
{
    const imgpar_dtype dtype = written_dtypes[_i / MOST];
    const int channels = _i % MOST + 1, n = channels - (channels % 2 == 0 && dtype != IMGPAR_F32);
    picture a = scene(dtype, channels, 5), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k += channels) {
        const int64_t y = k / channels / W, x = k / channels % W;
        real sum[MOST] = { 0 }, weights = 0;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                const real w = expl(-patches_apart(&a, n, y, x, dy, dx) / (0.2L * 0.2L)) * cover(&a, n, y + dy, x + dx);
                weights += w;
                for (int c = 0; c < n; c++)
                    sum[c] += w * written_nearest(&a, y + dy, x + dx, c);
            }
        for (int c = 0; c < n; c++)
            want.v[k + c] = sum[c] / weights;
    }
    expect("nlmeans($1, noise=0.2, patch=3, search=2)", (const picture *const[]){ &a }, 1, &want,
           a_level(dtype, 0x1p-14L));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* The mean of a square of f(y, x, c) around each element. */
static picture box(const picture *like, int radius, const picture *p, const picture *q)
{
    picture out = picture_copy(like);
    for (int64_t k = 0; k < picture_count(&out); k++) {
        real sum = 0;
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++)
                sum += written_nearest(p, k / p->c / W + dy, k / p->c % W + dx, k % p->c) *
                       (q ? written_nearest(q, k / p->c / W + dy, k / p->c % W + dx, k % p->c) : 1);
        out.v[k] = sum / ((2 * radius + 1) * (2 * radius + 1));
    }
    return out;
}

/* He, Sun and Tang 2010, algorithm 1. */
START_TEST(a_guided_filter)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    const real full = dtype_full(dtype);
    picture a = scene(dtype, 3, 7), guide = scene(dtype, 3, 8), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.v[k] /= full, guide.v[k] /= full;
    picture p = box(&a, 2, &a, NULL), i = box(&a, 2, &guide, NULL), ip = box(&a, 2, &guide, &a);
    picture ii = box(&a, 2, &guide, &guide), s = picture_copy(&a), o = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        s.v[k] = (ip.v[k] - i.v[k] * p.v[k]) / (ii.v[k] - i.v[k] * i.v[k] + 0.02L);
        o.v[k] = p.v[k] - s.v[k] * i.v[k];
    }
    picture ms = box(&a, 2, &s, NULL), mo = box(&a, 2, &o, NULL);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        want.v[k] = full * (ms.v[k] * guide.v[k] + mo.v[k]);
        a.v[k] = rounded(dtype, a.v[k] * full), guide.v[k] = rounded(dtype, guide.v[k] * full);
    }
    expect("guided($1, $2, radius=2, eps=0.02)", (const picture *const[]){ &a, &guide }, 2, &want,
           a_level(dtype, 0x1p-14L));
    picture *all[] = { &a, &guide, &want, &p, &i, &ip, &ii, &s, &o, &ms, &mo };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        picture_free(all[k]);
}
END_TEST

/* The mean of the square of 3 x 3 whose brightness varies least; where two of them nearly tie, either is right. */
START_TEST(a_kuwahara_filter)
{
    const imgpar_dtype dtype = written_dtypes[_i / MOST];
    const int channels = _i % MOST + 1, n = channels - (channels % 2 == 0 && dtype != IMGPAR_F32);
    static const real shares[] = { 0.299L, 0.587L, 0.114L };
    picture a = scene(dtype, channels, 21), want = picture_copy(&a);
    for (int64_t p = 0; p < H * W; p++) {
        const int64_t y = p / W, x = p % W;
        real least = INFINITY, second = INFINITY, means[MOST] = { 0 };
        for (int square = 0; square < 4; square++) {
            /* squares of a picture that is extended beyond its edges by squares, not by pixels */
            const int64_t cy = y + (square / 2 ? 1 : -1), cx = x + (square % 2 ? 1 : -1);
            const int64_t my = cy < 0 ? 0 : cy >= H ? H - 1 : cy, mx = cx < 0 ? 0 : cx >= W ? W - 1 : cx;
            real sum[MOST] = { 0 }, light = 0, squares = 0;
            for (int k = 0; k < 9; k++) {
                real l = 0;
                for (int c = 0; c < n; c++) {
                    const real v = written_nearest(&a, my + k / 3 - 1, mx + k % 3 - 1, c) / dtype_full(dtype);
                    sum[c] += v / 9;
                    l += v * (n == 3 ? shares[c] : 1.0L / n);
                }
                light += l / 9;
                squares += l * l / 9;
            }
            const real variance = squares - light * light;
            if (variance < least) {
                second = least;
                least = variance;
                memcpy(means, sum, sizeof means);
            } else if (variance < second)
                second = variance;
        }
        for (int c = 0; c < n; c++) {
            want.v[p * channels + c] = means[c] * dtype_full(dtype);
            want.slack[p * channels + c] = second - least < 1e-6L ? dtype_full(dtype) : a_level(dtype, 0x1p-18L);
        }
    }
    written_expect("kuwahara($1, size=3)", (const picture *const[]){ &a }, 1, &want,
                   channels == 3 && (dtype == IMGPAR_U8 || test_tier_is_full()));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- derivatives ----------------------------------------------------------------------------- */

static real by(const picture *a, const real m[9], int64_t k)
{
    real sum = 0;
    for (int i = 0; i < 9; i++)
        sum += m[i] * written_nearest(a, k / a->c / W + i / 3 - 1, k / a->c % W + i % 3 - 1, k % a->c);
    return sum;
}

static void expect_gradient(const char *name, const real m[9], imgpar_dtype dtype, int channels)
{
    real turned[9];
    for (int k = 0; k < 9; k++)
        turned[k] = m[k % 3 * 3 + k / 3];
    picture a = written_levels(dtype, H, W, channels, 9), want = picture_copy(&a);
    picture u = of_type(IMGPAR_F32, channels), v = of_type(IMGPAR_F32, channels);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        u.v[k] = by(&a, m, k);
        v.v[k] = by(&a, turned, k);
        want.v[k] = sqrtl(u.v[k] * u.v[k] + v.v[k] * v.v[k]);
        if (picture_is_alpha(&a, k % channels)) want.v[k] = u.v[k] = v.v[k] = a.v[k];
    }
    const real slack = dtype == IMGPAR_F32 ? 1e-5L : 0;
    char text[60];
    snprintf(text, sizeof text, "%s($1)", name);
    expect(text, (const picture *const[]){ &a }, 1, &want, dtype == IMGPAR_F32 ? 1e-5L : 1);
    snprintf(text, sizeof text, "%s($1, axis=x)", name);
    expect(text, (const picture *const[]){ &a }, 1, &u, slack);
    snprintf(text, sizeof text, "%s($1, axis=y)", name);
    expect(text, (const picture *const[]){ &a }, 1, &v, slack);
    picture_free(&a);
    picture_free(&u);
    picture_free(&v);
    picture_free(&want);
}

START_TEST(first_derivatives)
{
    static const real scharr[9] = { -3, 0, 3, -10, 0, 10, -3, 0, 3 }, prewitt[9] = { -1, 0, 1, -1, 0, 1, -1, 0, 1 };
    expect_gradient("scharr", scharr, written_dtypes[_i / MOST], _i % MOST + 1);
    expect_gradient("prewitt", prewitt, written_dtypes[_i / MOST], _i % MOST + 1);
}
END_TEST

START_TEST(second_derivatives_and_relief)
{
    static const imgpar_dtype results[] = { IMGPAR_I16, IMGPAR_I32, IMGPAR_F32 };
    static const real laplace[9] = { 0, 1, 0, 1, -4, 1, 0, 1, 0 }, relief[9] = { -2, -1, 0, -1, 1, 1, 0, 1, 2 };
    const imgpar_dtype dtype = written_dtypes[_i / MOST];
    const int channels = _i % MOST + 1;
    picture a = written_levels(dtype, H, W, channels, 10), want = of_type(results[_i / MOST], channels);
    picture raised = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        want.v[k] = picture_is_alpha(&a, k % channels) ? a.v[k] : by(&a, laplace, k);
        raised.v[k] = picture_is_alpha(&a, k % channels) ? a.v[k] : by(&a, relief, k);
    }
    expect("laplacian($1)", (const picture *const[]){ &a }, 1, &want, dtype == IMGPAR_F32 ? 1e-6L : 0);
    expect("emboss($1)", (const picture *const[]){ &a }, 1, &raised, dtype == IMGPAR_F32 ? 5e-6L : 0);
    picture_free(&a);
    picture_free(&want);
    picture_free(&raised);
}
END_TEST

/* blur()'s definition: weights exp(-d^2 / 2 sigma^2) to 4 sigma, of sum 1. */
static real smooth(const picture *a, real sigma, int64_t k)
{
    const int r = (int)ceill(4 * sigma);
    real sum = 0, weights = 0;
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            const real w = expl(-(dy * dy + dx * dx) / (2 * sigma * sigma));
            sum += w * written_nearest(a, k / a->c / W + dy, k / a->c % W + dx, k % a->c);
            weights += w;
        }
    return sum / weights;
}

START_TEST(differences_of_blurs)
{
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int channels = 3 + _i % 2;
    picture a = scene(dtype, channels, 11), want = of_type(IMGPAR_F32, channels);
    for (int64_t k = 0; k < picture_count(&a); k++)
        want.v[k] = picture_is_alpha(&a, k % channels) ? a.v[k] : smooth(&a, 1, k) - smooth(&a, 1.5L, k);
    expect("dog($1, sigma=1, ratio=1.5)", (const picture *const[]){ &a }, 1, &want, dtype_full(dtype) * 0x1p-18L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- local statistics ------------------------------------------------------------------------ */

static void of_square(const picture *a, int64_t k, int radius, real *mean, real *deviation)
{
    const int n = (2 * radius + 1) * (2 * radius + 1);
    real sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++) {
                const real v = written_nearest(a, k / a->c / W + dy, k / a->c % W + dx, k % a->c);
                sum += pass ? 0 : v;
                squares += pass ? (v - sum / n) * (v - sum / n) : 0;
            }
    *mean = sum / n;
    *deviation = sqrtl(squares / n);
}

START_TEST(deviations_and_thresholds)
{
    const imgpar_dtype dtype = written_dtypes[_i / MOST];
    const int channels = _i % MOST + 1;
    const real full = dtype_full(dtype);
    picture a = scene(dtype, channels, 12);
    for (int64_t k = 0; k < picture_count(&a) / 3; k++) /* nearly flat above */
        a.v[k] = dtype == IMGPAR_F32 ? rounded(dtype, 0.9L + 1e-5L * (k % 7)) : full - 40 + k % 3;
    picture deviation = of_type(IMGPAR_F32, channels);
    picture niblack = picture_copy(&a), sauvola = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        real m, s;
        of_square(&a, k, 3, &m, &s);
        const bool is_alpha = picture_is_alpha(&a, k % channels);
        deviation.v[k] = is_alpha ? a.v[k] : s;
        niblack.v[k] = is_alpha ? a.v[k] : a.v[k] > m - 0.3L * s ? full : 0;
        sauvola.v[k] = is_alpha ? a.v[k] : a.v[k] > m * (1 + 0.25L * (s / (full / 2) - 1)) ? full : 0;
    }
    expect("local_stddev($1, size=7)", (const picture *const[]){ &a }, 1, &deviation,
           full * (dtype == IMGPAR_U8 ? 0x1p-12L : 0x1p-20L));
    expect("niblack($1, size=7, k=-0.3)", (const picture *const[]){ &a }, 1, &niblack, 0);
    expect("sauvola($1, size=7, k=0.25)", (const picture *const[]){ &a }, 1, &sauvola, 0);
    picture_free(&a);
    picture_free(&deviation);
    picture_free(&niblack);
    picture_free(&sauvola);
}
END_TEST

/* ---- corners --------------------------------------------------------------------------------- */

START_TEST(corners)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = scene(dtype, 1, 13), tensor = of_type(IMGPAR_F32, 3);
    picture harris = of_type(IMGPAR_F32, 1), shi_tomasi = of_type(IMGPAR_F32, 1);
    for (int64_t k = 0; k < H * W; k++) {
        const int64_t y = k / W, x = k % W;
        const real u = (written_nearest(&a, y, x + 1, 0) - written_nearest(&a, y, x - 1, 0)) / 2 / dtype_full(dtype);
        const real w = (written_nearest(&a, y + 1, x, 0) - written_nearest(&a, y - 1, x, 0)) / 2 / dtype_full(dtype);
        tensor.v[3 * k] = u * u;
        tensor.v[3 * k + 1] = w * w;
        tensor.v[3 * k + 2] = u * w;
    }
    for (int64_t k = 0; k < H * W; k++) {
        const real p = smooth(&tensor, 1.5L, 3 * k), q = smooth(&tensor, 1.5L, 3 * k + 1);
        const real o = smooth(&tensor, 1.5L, 3 * k + 2);
        harris.v[k] = p * q - o * o - 0.05L * (p + q) * (p + q);
        shi_tomasi.v[k] = (p + q - sqrtl((p - q) * (p - q) + 4 * o * o)) / 2;
    }
    expect("harris($1, sigma=1.5, k=0.05)", (const picture *const[]){ &a }, 1, &harris, 0x1p-20L);
    expect("shi_tomasi($1, sigma=1.5)", (const picture *const[]){ &a }, 1, &shi_tomasi, 0x1p-18L);
    picture_free(&a);
    picture_free(&tensor);
    picture_free(&harris);
    picture_free(&shi_tomasi);
}
END_TEST

/* ---- pyramids -------------------------------------------------------------------------------- */

START_TEST(levels_of_pyramids)
{
    static const real weights[5] = { 1, 4, 6, 4, 1 };
    const imgpar_dtype dtype = written_dtypes[_i / MOST];
    const int channels = _i % MOST + 1, n = channels - (channels % 2 == 0 && dtype != IMGPAR_F32);
    picture a = scene(dtype, channels, 14), down = picture_new(dtype, (H + 1) / 2, (W + 1) / 2, channels);
    picture up = picture_new(dtype, 2 * H, 2 * W, channels);
    for (int64_t k = 0; k < picture_count(&down); k++) {
        const int64_t y = k / channels / down.w * 2, x = k / channels % down.w * 2;
        real covers = 0;
        for (int i = 0; i < 25; i++) {
            const int64_t v = y + i / 5 - 2, u = x + i % 5 - 2;
            const real alpha = n == channels ? 255 : picture_read(&a, v, u, n, IMGPAR_BORDER_REFLECT101, 0);
            const real w = weights[i / 5] * weights[i % 5] / 256 * (k % channels < n ? alpha : 1);
            covers += w;
            down.v[k] += w * picture_read(&a, v, u, k % channels, IMGPAR_BORDER_REFLECT101, 0);
        }
        if (k % channels < n) down.v[k] /= covers;
    }
    for (int64_t k = 0; k < picture_count(&up); k++) {
        const int64_t y = k / channels / up.w, x = k / channels % up.w;
        real covers = 0;
        /* zeros between the elements, then the same weights, four times as large */
        for (int64_t v = y / 2 - 2; v <= y / 2 + 2; v++)
            for (int64_t u = x / 2 - 2; u <= x / 2 + 2; u++) {
                const int64_t dy = 2 * v - y + 2, dx = 2 * u - x + 2;
                if (dy < 0 || dy > 4 || dx < 0 || dx > 4) continue;
                const real w = weights[dy] * weights[dx] / 64 * (k % channels < n ? cover(&a, n, v, u) : 1);
                covers += w;
                up.v[k] += w * written_nearest(&a, v, u, k % channels);
            }
        if (k % channels < n) up.v[k] /= covers;
    }
    expect("pyr_down($1)", (const picture *const[]){ &a }, 1, &down, dtype == IMGPAR_F32 ? 1e-6L : n < channels);
    expect("pyr_up($1)", (const picture *const[]){ &a }, 1, &up, a_level(dtype, 1e-6L));
    picture_free(&a);
    picture_free(&down);
    picture_free(&up);
}
END_TEST

/* ---- pictures stay pictures ------------------------------------------------------------------- */

/* What follows weighs colours by alpha only in a picture. */
static const char *const of_pictures[] = { "bilateral($1)", "nlmeans($1)",       "guided($1, $1)",  "pyr_up($1)",
                                           "pyr_down($1)",  "sepia($1)",         "vibrance($1, 1)", "gray_world($1)",
                                           "emboss($1)",    "hue_rotate($1, 9)", "unsharp($1)",     "tonemap($1)" };

START_TEST(pictures_with_alpha_stay_pictures)
{
    picture a = scene(IMGPAR_U8, 4, 15);
    imgpar_array *in = picture_array(written_context, &a),
                 *out = imgpar_apply(written_context, of_pictures[_i], &in, 1);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(out, &info) == IMGPAR_OK, "%s", imgpar_array_message(out));
    ck_assert_msg(info.space == IMGPAR_SPACE_SRGB && info.white == 255, "%s: space %d, white %g", of_pictures[_i],
                  (int)info.space, info.white);
    imgpar_array_release(out);
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, a_bilateral_filter, 0, MOST * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, non_local_means, 0, MOST * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_guided_filter, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_kuwahara_filter, 0, MOST * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, first_derivatives, 0, MOST * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, second_derivatives_and_relief, 0, MOST * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, differences_of_blurs, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, deviations_and_thresholds, 0, MOST * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, corners, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, levels_of_pyramids, 0, MOST * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, pictures_with_alpha_stay_pictures, 0, sizeof of_pictures / sizeof *of_pictures);
    return written_run("written_windows", tc);
}
