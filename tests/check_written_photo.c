/* SPDX-License-Identifier: MIT */
/*
 * What darkrooms do (ops/written_photo.def) against plain loops: counting in whole numbers as OpenCV's CLAHE tells it,
 * the rest in long double, of shares of white.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 19, W = 23 };

/* The device computes bytes, of the rest only in the full tier. */
static void expect(const char *text, const picture *const *in, int n, picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, in, n, want, (in[0]->dtype == IMGPAR_U8 && in[0]->c != 2) || test_tier_is_full());
}

/* A level; floats of about 1: what f32 arithmetic gives. */
static real a_level(imgpar_dtype dtype) { return dtype == IMGPAR_F32 ? 1e-5L : 1; }

/* Colours of an image, alpha not counted. */
static int64_t colours(const picture *a) { return a->c - picture_is_alpha(a, a->c - 1); }

static real luminance(const picture *a, int64_t y, int64_t x)
{
    real sum = 0;
    for (int64_t c = 0; c < colours(a); c++)
        sum += *picture_at(a, y, x, c);
    if (colours(a) != 3) return sum / colours(a);
    return 0.299L * *picture_at(a, y, x, 0) + 0.587L * *picture_at(a, y, x, 1) + 0.114L * *picture_at(a, y, x, 2);
}

/* What is not between black and white after all is limited, as the dtype is. */
static real saturated(imgpar_dtype dtype, real v)
{
    return dtype == IMGPAR_F32 ? v : fminl(fmaxl(v, 0), dtype_full(dtype));
}

/* Channels 1 to 4 of three dtypes: a smooth ground with noise, and alpha. */
static picture photo(int64_t h, int64_t w, int which)
{
    picture p = written_levels(written_dtypes[which % WRITTEN_DTYPES], h, w, which / WRITTEN_DTYPES + 1, 11);
    const real full = dtype_full(p.dtype);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        const int64_t y = k / p.c / w, x = k / p.c % w;
        const real ground = (sinl((real)x / 5 + (real)(k % p.c)) + cosl((real)y / 4)) / 4 + 0.5L;
        if (!picture_is_alpha(&p, k % p.c)) p.v[k] = rounded(p.dtype, 0.8L * ground * full + 0.2L * p.v[k]);
    }
    return p;
}

/* ---- counts ------------------------------------------------------------------------------------- */

/* One plane of h * w levels below n, as OpenCV's clahe.cpp describes its steps. */
static void clahe(const int *levels, int h, int w, int n, int tiles, real clip, real *out)
{
    const bool divides = h % tiles == 0 && w % tiles == 0;
    const int th = divides ? h / tiles : h / tiles + 1, tw = divides ? w / tiles : w / tiles + 1;
    int *counts = malloc(sizeof *counts * (size_t)n);
    real *curves = malloc(sizeof *curves * (size_t)(n * tiles * tiles));
    for (int t = 0; t < tiles * tiles; t++) {
        memset(counts, 0, sizeof *counts * (size_t)n);
        for (int k = 0; k < th * tw; k++) {
            int y = t / tiles * th + k / tw, x = t % tiles * tw + k % tw; /* mirrored, edges once */
            while (y < 0 || y >= h)
                y = h == 1 ? 0 : y < 0 ? -y : 2 * (h - 1) - y;
            while (x < 0 || x >= w)
                x = w == 1 ? 0 : x < 0 ? -x : 2 * (w - 1) - x;
            counts[levels[y * w + x]]++;
        }
        int limit = clip > 0 ? (int)(clip * tw * th / n) : th * tw, over = 0;
        limit = limit < 1 ? 1 : limit;
        for (int k = 0; k < n; k++)
            if (counts[k] > limit) {
                over += counts[k] - limit;
                counts[k] = limit;
            }
        for (int k = 0; k < n; k++)
            counts[k] += over / n;
        int left = over % n;
        const int step = left && n / left > 1 ? n / left : 1;
        for (int k = 0; k < n && left > 0; k += step, left--)
            counts[k]++;
        int sum = 0;
        for (int k = 0; k < n; k++) {
            sum += counts[k];
            curves[t * n + k] = rintl((real)sum * (n - 1) / (tw * th));
        }
    }
    for (int k = 0; k < h * w; k++) {
        const real v = ((real)(k / w)) / th - 0.5L, u = ((real)(k % w)) / tw - 0.5L;
        real sum = 0;
        for (int corner = 0; corner < 4; corner++) {
            const int row = (int)floorl(v) + corner / 2, column = (int)floorl(u) + corner % 2;
            const int i = row < 0 ? 0 : row >= tiles ? tiles - 1 : row;
            const int j = column < 0 ? 0 : column >= tiles ? tiles - 1 : column;
            const real fy = v - floorl(v), fx = u - floorl(u);
            sum += curves[(i * tiles + j) * n + levels[k]] * (corner / 2 ? fy : 1 - fy) * (corner % 2 ? fx : 1 - fx);
        }
        out[k] = sum;
    }
    free(counts);
    free(curves);
}

static const struct {
    int h, w, tiles;
    real clip;
} grids[] = { { 16, 24, 4, 2 }, { 19, 23, 3, 1.5L }, { 19, 24, 8, 40 }, { 1, 9, 3, 0 }, { 16, 16, 1, 3 } };

START_TEST(adaptive_equalisation) /* _i: the grid, dtype and channels, and by what */
{
    const int n_grids = (int)(sizeof grids / sizeof *grids), grid = _i % n_grids;
    const int h = grids[grid].h, w = grids[grid].w;
    const bool by_channel = _i / n_grids % 2;
    picture a = photo(h, w, _i / n_grids / 2);
    const int n = a.dtype == IMGPAR_U8 ? 256 : 65536;
    const bool is_shifted = !by_channel && colours(&a) == 3;
    const int64_t tables = grids[grid].tiles * grids[grid].tiles * (is_shifted ? 1 : colours(&a));
    if (n > 256 && tables > 9 && !test_tier_is_full()) { /* of 65,536 counts each */
        picture_free(&a);
        return;
    }
    picture want = picture_copy(&a);
    int *levels = malloc(sizeof *levels * (size_t)(h * w));
    real *out = malloc(sizeof *out * (size_t)(h * w));
    const real scale = (n - 1) / dtype_full(a.dtype);
    for (int64_t c = 0; c < (is_shifted ? 1 : colours(&a)); c++) {
        for (int k = 0; k < h * w; k++) {
            const real v = is_shifted ? luminance(&a, k / w, k % w) : a.v[k * a.c + c];
            levels[k] = (int)rintl(v * scale);
        }
        clahe(levels, h, w, n, grids[grid].tiles, grids[grid].clip, out);
        for (int k = 0; k < h * w; k++)
            for (int64_t of = is_shifted ? 0 : c; of <= (is_shifted ? 2 : c); of++)
                want.v[k * a.c + of] =
                    saturated(a.dtype, is_shifted ? a.v[k * a.c + of] + out[k] / scale - luminance(&a, k / w, k % w)
                                                  : out[k] / scale);
    }
    char text[120];
    snprintf(text, sizeof text, "clahe($1, tiles=%d, clip=%Lg, by=%s)", grids[grid].tiles, grids[grid].clip,
             by_channel ? "channel" : "luminance");
    /* luminance may be rounded to the next level, whose curve may be steep: by channel only levels are exact */
    const real steep = is_shifted ? dtype_full(a.dtype) / 6 : 0;
    for (int64_t k = 0; k < picture_count(&want); k++)
        want.slack[k] = picture_is_alpha(&a, k % a.c) ? 0 : a.dtype == IMGPAR_F32 ? 4e-5L + steep : 1 + steep;
    written_expect(text, (const picture *const[]){ &a }, 1, &want, a.dtype == IMGPAR_U8 && a.c == 3);
    free(levels);
    free(out);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

static int by_value(const void *p, const void *q)
{
    const real a = *(const real *)p, b = *(const real *)q;
    return a < b ? -1 : a > b;
}

/* Of n and m sorted values: which value has as many of the m at most it as v has of the n, straight between two. */
static real matched(real v, const real *of, int n, const real *to, int m)
{
    int at_most = 0;
    while (at_most < n && of[at_most] <= v)
        at_most++;
    const double share = (double)at_most / n;
    real lower = NAN;
    double below = 0;
    for (int k = 0; k < m;) {
        int end = k;
        while (end < m && to[end] == to[k])
            end++;
        const double upto = (double)end / m;
        if (upto > share) return isnan(lower) ? to[k] : lower + (to[k] - lower) * (share - below) / (upto - below);
        lower = to[k];
        below = upto;
        k = end;
    }
    return to[m - 1];
}

START_TEST(histograms_of_another) /* _i: dtype and channels */
{
    enum { BH = 11, BW = 17 };
    picture a = photo(H, W, _i), b = photo(BH, BW, _i), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&b); k++) /* brighter, with equal ones */
        b.v[k] = rounded(b.dtype, rintl(b.v[k] * 20 / dtype_full(b.dtype)) / 40 * dtype_full(b.dtype) + b.v[k] / 4);
    real of[H * W], to[BH * BW];
    for (int64_t c = 0; c < colours(&a); c++) {
        for (int k = 0; k < H * W; k++)
            of[k] = a.v[k * a.c + c];
        for (int k = 0; k < BH * BW; k++)
            to[k] = b.v[k * b.c + c];
        qsort(of, H * W, sizeof *of, by_value);
        qsort(to, BH * BW, sizeof *to, by_value);
        for (int k = 0; k < H * W; k++)
            want.v[k * a.c + c] = matched(a.v[k * a.c + c], of, H * W, to, BH * BW);
    }
    expect("histogram_match($1, $2)", (const picture *const[]){ &a, &b }, 2, &want,
           a.dtype == IMGPAR_F32 ? 1e-6L : 0.01L);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* ---- tones -------------------------------------------------------------------------------------- */

/* SciPy's pchip: harmonic means of the slopes, one-sided ends of three points. */
static real pchip_end(real h0, real h1, real d0, real d1)
{
    const real m = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if (m * d0 <= 0) return 0;
    return d0 * d1 <= 0 && fabsl(m) > 3 * fabsl(d0) ? 3 * d0 : m;
}

static real curve_at(const real (*p)[2], int n, bool is_straight, real v)
{
    if (v <= p[0][0]) return p[0][1];
    if (v >= p[n - 1][0]) return p[n - 1][1];
    real h[8], d[8], m[8];
    for (int k = 0; k + 1 < n; k++) {
        h[k] = p[k + 1][0] - p[k][0];
        d[k] = (p[k + 1][1] - p[k][1]) / h[k];
    }
    m[0] = n == 2 ? d[0] : pchip_end(h[0], h[1], d[0], d[1]);
    m[n - 1] = n == 2 ? d[0] : pchip_end(h[n - 2], h[n - 3], d[n - 2], d[n - 3]);
    for (int k = 1; k + 1 < n; k++) {
        const real w0 = 2 * h[k] + h[k - 1], w1 = h[k] + 2 * h[k - 1];
        m[k] = d[k - 1] * d[k] <= 0 ? 0 : (w0 + w1) / (w0 / d[k - 1] + w1 / d[k]);
    }
    int k = 0;
    while (v >= p[k + 1][0])
        k++;
    const real t = (v - p[k][0]) / h[k], s = 1 - t;
    if (is_straight) return p[k][1] * s + p[k + 1][1] * t;
    return p[k][1] * (1 + 2 * t) * s * s + h[k] * m[k] * t * s * s + p[k + 1][1] * t * t * (3 - 2 * t) -
           h[k] * m[k + 1] * t * t * s;
}

START_TEST(curves_through_points) /* _i: dtype and channels, and the points */
{
    static const real points[3][5][2] = { { { 0, 0 }, { 64, 50 }, { 128, 190 }, { 200, 190 }, { 255, 230 } },
                                          { { 20, 240 }, { 200, 10 } },
                                          { { 0, 10 }, { 10, 0 }, { 40, 90 } } };
    static const int n_points[] = { 5, 2, 3 };
    const int which = _i % 3;
    picture a = photo(H, W, _i / 3), want = picture_copy(&a);
    const real unit = dtype_full(a.dtype) / 255;
    char text[400] = "", number[80];
    real scaled[5][2];
    for (int k = 0; k < n_points[which]; k++) {
        for (int j = 0; j < 2; j++)
            scaled[k][j] = points[which][k][j] * unit;
        snprintf(number, sizeof number, "%s%.20Lg, %.20Lg", k ? "; " : "", scaled[k][0], scaled[k][1]);
        strcat(text, number);
    }
    for (int straight = 0; straight < 2; straight++) {
        char whole[500];
        snprintf(whole, sizeof whole, "curves($1, [%s]%s)", text, straight ? ", kind=linear" : "");
        for (int64_t k = 0; k < picture_count(&a); k++)
            if (!picture_is_alpha(&a, k % a.c))
                want.v[k] = curve_at((const real(*)[2])scaled, n_points[which], straight, a.v[k]);
        expect(whole, (const picture *const[]){ &a }, 1, &want, a.dtype == IMGPAR_F32 ? 1e-6L : 0.01L);
    }
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(two_tones) /* _i: dtype and channels */
{
    picture a = photo(H, W, _i), want = picture_new(a.dtype, H, W, 3 + a.c - colours(&a));
    const real full = dtype_full(a.dtype), dark[3] = { 0.1L, 0, 0.3L }, light[3] = { 1, 0.9L, 0.6L };
    char text[200];
    for (int64_t k = 0; k < H * W; k++) {
        const real l = luminance(&a, k / W, k % W) / full;
        for (int c = 0; c < 3; c++)
            want.v[k * want.c + c] = full * (dark[c] + (light[c] - dark[c]) * l);
        if (want.c == 4) want.v[k * 4 + 3] = a.v[k * a.c + a.c - 1];
    }
    snprintf(text, sizeof text, "duotone($1, [%.9Lg 0 %.9Lg], [%.9Lg, %.9Lg, %.9Lg])", dark[0] * full, dark[2] * full,
             light[0] * full, light[1] * full, light[2] * full);
    expect(text, (const picture *const[]){ &a }, 1, &want, a.dtype == IMGPAR_F32 ? 1e-6L : 0.01L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

static real light_of(real v) { return v <= 0.04045L ? v / 12.92L : powl((v + 0.055L) / 1.055L, 2.4L); }
static real stored_of(real v) { return v <= 0.0031308L ? v * 12.92L : 1.055L * powl(v, 1 / 2.4L) - 0.055L; }

/* XYZ of a black body's white, Y being 1: Kim et al. */
static void white_of(real kelvin, real xyz[3])
{
    const real t = 1000 / kelvin;
    const real x = kelvin < 4000 ? -0.2661239L * t * t * t - 0.2343589L * t * t + 0.8776956L * t + 0.179910L
                                 : -3.0258469L * t * t * t + 2.1070379L * t * t + 0.2226347L * t + 0.240390L;
    const real y = kelvin < 2222   ? -1.1063814L * x * x * x - 1.34811020L * x * x + 2.18555832L * x - 0.20219683L
                   : kelvin < 4000 ? -0.9549476L * x * x * x - 1.37418593L * x * x + 2.09137015L * x - 0.16748867L
                                   : 3.0817580L * x * x * x - 5.87338670L * x * x + 3.75112997L * x - 0.37001483L;
    xyz[0] = x / y;
    xyz[1] = 1;
    xyz[2] = (1 - x - y) / y;
}

static void times(const real m[9], const real in[3], real out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = m[3 * k] * in[0] + m[3 * k + 1] * in[1] + m[3 * k + 2] * in[2];
}

/* x with m x = b, by determinants. */
static void solve(const real m[9], const real b[3], real x[3])
{
#define DET(A, B, C) \
    (A[0] * (B[1] * C[2] - B[2] * C[1]) - B[0] * (A[1] * C[2] - A[2] * C[1]) + C[0] * (A[1] * B[2] - A[2] * B[1]))
    const real columns[3][3] = { { m[0], m[3], m[6] }, { m[1], m[4], m[7] }, { m[2], m[5], m[8] } };
    const real det = DET(columns[0], columns[1], columns[2]);
    x[0] = DET(b, columns[1], columns[2]) / det;
    x[1] = DET(columns[0], b, columns[2]) / det;
    x[2] = DET(columns[0], columns[1], b) / det;
#undef DET
}

START_TEST(light_of_a_temperature) /* _i: dtype, with alpha, the light */
{
    static const real srgb[9] = { 0.4124564L, 0.3575761L, 0.1804375L, 0.2126729L, 0.7151522L,
                                  0.0721750L, 0.0193339L, 0.1191920L, 0.9503041L };
    static const real bradford[9] = {
        0.8951L, 0.2664L, -0.1614L, -0.7502L, 1.7135L, 0.0367L, 0.0389L, -0.0685L, 1.0296L
    };
    static const int lights[] = { 2000, 3000, 5000, 6500, 12000 };
    picture a = photo(H, W, _i % WRITTEN_DTYPES + (2 + _i / WRITTEN_DTYPES % 2) * WRITTEN_DTYPES);
    picture want = picture_copy(&a);
    const int kelvin = lights[_i / WRITTEN_DTYPES / 2];
    const real full = dtype_full(a.dtype);
    real from[3], to[3], cones_from[3], cones_to[3];
    white_of(kelvin, from);
    white_of(6500, to);
    times(bradford, from, cones_from);
    times(bradford, to, cones_to);
    for (int64_t k = 0; k < H * W; k++) {
        real rgb[3], xyz[3], cones[3];
        for (int c = 0; c < 3; c++)
            rgb[c] = light_of(a.v[k * a.c + c] / full);
        times(srgb, rgb, xyz);
        times(bradford, xyz, cones);
        for (int c = 0; c < 3; c++)
            cones[c] *= cones_to[c] / cones_from[c];
        solve(bradford, cones, xyz);
        solve(srgb, xyz, rgb);
        for (int c = 0; c < 3; c++)
            want.v[k * a.c + c] = saturated(a.dtype, full * stored_of(fmaxl(rgb[c], 0)));
    }
    char text[80];
    snprintf(text, sizeof text, "temperature($1, %d)", kelvin);
    expect(text, (const picture *const[]){ &a }, 1, &want, a_level(a.dtype));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(a_balance_of_colours) /* _i: dtype and channels */
{
    picture a = photo(H, W, _i), want = picture_copy(&a);
    const real full = dtype_full(a.dtype);
    const real slope[4] = { 1.2L, 1, 0.8L, 1 }, offset[4] = { -0.1L, 0, 0.05L, 0.1L }, power[4] = { 1, 1.5L, 0.7L, 2 };
    const bool each = colours(&a) >= 3;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t c = k % a.c;
        if (picture_is_alpha(&a, c)) continue;
        const int64_t of = each ? c : 0;
        want.v[k] = full * powl(fminl(fmaxl(a.v[k] / full * slope[of] + offset[of], 0), 1), power[of]);
    }
    expect(colours(&a) == 4 ? "color_balance($1, [1.2 1 0.8 1], [-0.1 0 0.05 0.1], [1 1.5 0.7 2])"
           : each           ? "color_balance($1, [1.2 1 0.8], [-0.1 0 0.05], [1 1.5 0.7])"
                            : "color_balance($1, 1.2, -0.1)",
           (const picture *const[]){ &a }, 1, &want, a_level(a.dtype));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- by what is around -------------------------------------------------------------------------- */

static void box(const real *in, int radius, real *out)
{
    for (int k = 0; k < H * W; k++) {
        out[k] = 0;
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++) {
                const int y = k / W + dy, x = k % W + dx;
                out[k] += in[(y < 0 ? 0 : y >= H ? H - 1 : y) * W + (x < 0 ? 0 : x >= W ? W - 1 : x)];
            }
        out[k] /= (2 * radius + 1) * (2 * radius + 1);
    }
}

/* He, Sun and Tang: of p by the guide g. */
static void guide(const real *p, const real *g, int radius, real eps, real *out)
{
    real gp[H * W], gg[H * W], p_mean[H * W], g_mean[H * W], gp_mean[H * W], gg_mean[H * W];
    for (int k = 0; k < H * W; k++) {
        gp[k] = g[k] * p[k];
        gg[k] = g[k] * g[k];
    }
    box(p, radius, p_mean);
    box(g, radius, g_mean);
    box(gp, radius, gp_mean);
    box(gg, radius, gg_mean);
    for (int k = 0; k < H * W; k++) {
        gp[k] = (gp_mean[k] - g_mean[k] * p_mean[k]) / (gg_mean[k] - g_mean[k] * g_mean[k] + eps);
        gg[k] = p_mean[k] - gp[k] * g_mean[k];
    }
    box(gp, radius, gp_mean);
    box(gg, radius, gg_mean);
    for (int k = 0; k < H * W; k++)
        out[k] = gp_mean[k] * g[k] + gg_mean[k];
}

static void luminances(const picture *a, real *l)
{
    for (int k = 0; k < H * W; k++)
        l[k] = luminance(a, k / W, k % W) / dtype_full(a->dtype);
}

START_TEST(details_and_shadows) /* _i: dtype and channels */
{
    picture a = photo(H, W, _i), sharp = picture_copy(&a), lit = picture_copy(&a);
    const real full = dtype_full(a.dtype);
    real l[H * W], base[H * W], wide[H * W];
    luminances(&a, l);
    guide(l, l, 3, 0.02L, base);
    guide(l, l, 5, 0.01L, wide);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t at = k / a.c;
        if (picture_is_alpha(&a, k % a.c)) continue;
        const real m = 1 - 2 * fminl(fmaxl(wide[at], 0), 1);
        sharp.v[k] = saturated(a.dtype, a.v[k] + full * 1.5L * (l[at] - base[at]));
        lit.v[k] = full * powl(fminl(fmaxl(a.v[k] / full, 0), 1), exp2l(m > 0 ? -0.7L * m : -0.4L * m));
    }
    expect("local_contrast($1, radius=3, amount=1.5, eps=0.02)", (const picture *const[]){ &a }, 1, &sharp,
           a.dtype == IMGPAR_F32 ? 5e-5L : 0.0002L * full);
    expect("shadows_highlights($1, 0.7, 0.4, radius=5)", (const picture *const[]){ &a }, 1, &lit,
           a.dtype == IMGPAR_F32 ? 5e-5L : 0.0002L * full);
    picture_free(&a);
    picture_free(&sharp);
    picture_free(&lit);
}
END_TEST

/* The darkest around each pixel of p, in a square. */
static void darkest(const real *p, int radius, real *out)
{
    for (int k = 0; k < H * W; k++) {
        out[k] = INFINITY;
        for (int y = k / W - radius; y <= k / W + radius; y++)
            for (int x = k % W - radius; x <= k % W + radius; x++)
                if (y >= 0 && y < H && x >= 0 && x < W) out[k] = fminl(out[k], p[y * W + x]);
    }
}

START_TEST(haze) /* _i: dtype and channels */
{
    picture a = photo(H, W, _i), want = picture_copy(&a);
    const real full = dtype_full(a.dtype);
    const int n = (int)colours(&a);
    real least[H * W], dark[H * W], sorted[H * W], l[H * W], w[H * W], air[4] = { 0 };
    for (int k = 0; k < H * W; k++) {
        least[k] = INFINITY;
        for (int c = 0; c < n; c++)
            least[k] = fminl(least[k], a.v[k * a.c + c] / full);
    }
    darkest(least, 2, dark);
    memcpy(sorted, dark, sizeof sorted);
    qsort(sorted, H * W, sizeof *sorted, by_value);
    const real rank = 0.999L * (H * W - 1), share = rank - floorl(rank);
    const real most = sorted[(int)rank] * (1 - share) + sorted[(int)rank + 1] * share;
    int n_air = 0;
    for (int k = 0; k < H * W; k++) {
        if (dark[k] < most - 1e-6L) continue; /* not one that rounding made less */
        n_air++;
        for (int c = 0; c < n; c++)
            air[c] += a.v[k * a.c + c] / full;
    }
    for (int k = 0; k < H * W; k++) {
        least[k] = INFINITY;
        for (int c = 0; c < n; c++)
            least[k] = fminl(least[k], a.v[k * a.c + c] / full / (air[c] / n_air));
    }
    darkest(least, 2, dark);
    for (int k = 0; k < H * W; k++)
        dark[k] = 1 - 0.8L * dark[k];
    luminances(&a, l);
    guide(dark, l, 20, 0.001L, w);
    for (int k = 0; k < H * W; k++)
        for (int c = 0; c < n; c++)
            want.v[k * a.c + c] = saturated(
                a.dtype, full * ((a.v[k * a.c + c] / full - air[c] / n_air) / fmaxl(w[k], 0.1L) + air[c] / n_air));
    expect("dehaze($1, 0.8, patch=5)", (const picture *const[]){ &a }, 1, &want,
           a.dtype == IMGPAR_F32 ? 0.002L : fmaxl(1, 0.002L * full));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- what is missing or blurred ----------------------------------------------------------------- */

static bool is_hidden(int64_t k) { return k / W > 2 && k / W < 14 && (k % W > 15 || (k / W - 7) * (k % W - 5) > 3); }

/* Laplace's equation in what is hidden, by relaxation until nothing moves. */
static void harmonic(real *v)
{
    real moved = 1;
    for (int k = 0; k < H * W; k++)
        if (is_hidden(k)) v[k] = 0;
    for (int pass = 0; pass < 100000 && moved > 1e-12L; pass++) {
        moved = 0;
        for (int k = 0; k < H * W; k++) {
            real sum = 0;
            int n = 0;
            if (!is_hidden(k)) continue;
            if (k / W > 0) sum += v[k - W], n++;
            if (k / W < H - 1) sum += v[k + W], n++;
            if (k % W > 0) sum += v[k - 1], n++;
            if (k % W < W - 1) sum += v[k + 1], n++;
            moved = fmaxl(moved, fabsl(sum / n - v[k]));
            v[k] += 1.6L * (sum / n - v[k]);
        }
    }
}

START_TEST(holes_are_filled) /* _i: dtype and channels */
{
    picture a = photo(H, W, _i), b = written_levels(a.dtype, H, W, a.c, 3), filled = picture_copy(&a);
    picture cloned = picture_copy(&a);
    real v[H * W];
    for (int64_t c = 0; c < colours(&a); c++) {
        for (int clone = 0; clone < 2; clone++) {
            for (int k = 0; k < H * W; k++)
                v[k] = a.v[k * a.c + c] - (clone ? b.v[k * a.c + c] : 0);
            for (int k = 0; k < H * W; k++)
                v[k] /= dtype_full(a.dtype);
            harmonic(v);
            for (int k = 0; k < H * W; k++) {
                const real u = v[k] * dtype_full(a.dtype) + (clone ? b.v[k * a.c + c] : 0);
                if (is_hidden(k)) (clone ? &cloned : &filled)->v[k * a.c + c] = saturated(a.dtype, u);
            }
        }
    }
    const char mask[] = "m = make(shape=[19 23 1], expr=y > 2 && y < 14 && (x > 15 || (y - 7) * (x - 5) > 3))\n";
    char text[300];
    const real slack = 0.001L * dtype_full(a.dtype);
    snprintf(text, sizeof text, "%sinpaint($1, m)", mask);
    expect(text, (const picture *const[]){ &a }, 1, &filled, fmaxl(slack, a.dtype == IMGPAR_F32 ? 0 : 1));
    snprintf(text, sizeof text, "%sseamless_clone($1, $2, m * 7)", mask);
    expect(text, (const picture *const[]){ &a, &b }, 2, &cloned, fmaxl(slack, a.dtype == IMGPAR_F32 ? 0 : 1));
    picture_free(&a);
    picture_free(&b);
    picture_free(&filled);
    picture_free(&cloned);
}
END_TEST

static const real blurring[3][5] = { { 1, 2, 3, 1, 0 }, { 2, 5, 6, 2, 1 }, { 0, 1, 2, 1, 1 } }; /* its sum is 28 */
#define BLURRING "[1 2 3 1 0; 2 5 6 2 1; 0 1 2 1 1]"

/* in's neighbours by the kernel, or by it turned; edges replicated. */
static void smear(const real *in, bool turned, real *out)
{
    for (int k = 0; k < H * W; k++) {
        out[k] = 0;
        for (int j = 0; j < 15; j++) {
            const int y = k / W + j / 5 - 1, x = k % W + j % 5 - 2;
            out[k] += in[(y < 0    ? 0
                          : y >= H ? H - 1
                                   : y) *
                             W +
                         (x < 0    ? 0
                          : x >= W ? W - 1
                                   : x)] /
                      28 * (turned ? blurring[2 - j / 5][4 - j % 5] : blurring[j / 5][j % 5]);
        }
    }
}

START_TEST(steps_of_richardson_and_lucy) /* _i: dtype and channels */
{
    picture a = photo(H, W, _i), want = picture_copy(&a);
    const real full = dtype_full(a.dtype);
    real u[H * W], seen[H * W], back[H * W];
    for (int64_t c = 0; c < colours(&a); c++) {
        for (int k = 0; k < H * W; k++)
            u[k] = a.v[k * a.c + c] / full;
        for (int step = 0; step < 4; step++) {
            smear(u, true, seen);
            for (int k = 0; k < H * W; k++)
                seen[k] = a.v[k * a.c + c] / full / seen[k];
            smear(seen, false, back);
            for (int k = 0; k < H * W; k++)
                u[k] *= back[k];
        }
        for (int k = 0; k < H * W; k++)
            want.v[k * a.c + c] = saturated(a.dtype, u[k] * full);
    }
    expect("richardson_lucy($1, " BLURRING ", 4)", (const picture *const[]){ &a }, 1, &want, a_level(a.dtype));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* The transform of p rows of q numbers, re and im, along both axes, straight from its definition. */
static void transformed(real *re, real *im, int p, int q, int sign)
{
    real out_re[40], out_im[40];
    for (int axis = 0; axis < 2; axis++)
        for (int line = 0; line < (axis ? p : q); line++) {
            const int n = axis ? q : p, step = axis ? 1 : q, start = axis ? line * q : line;
            for (int f = 0; f < n; f++) {
                out_re[f] = out_im[f] = 0;
                for (int k = 0; k < n; k++) {
                    const real t = sign * 2 * 3.14159265358979323846264338327950288L * f * k / n;
                    const real x = re[start + k * step], y = im[start + k * step];
                    out_re[f] += x * cosl(t) - y * sinl(t);
                    out_im[f] += x * sinl(t) + y * cosl(t);
                }
            }
            for (int f = 0; f < n; f++) {
                re[start + f * step] = out_re[f];
                im[start + f * step] = out_im[f];
            }
        }
}

START_TEST(the_filter_of_wiener) /* _i: dtype and channels */
{
    enum { P = 28, Q = 36 }; /* the next lengths to 19 + 6 and 23 + 10 */
    picture a = photo(H, W, _i), want = picture_copy(&a);
    const real full = dtype_full(a.dtype), noise = 0.02L;
    static real k_re[P * Q], k_im[P * Q], re[P * Q], im[P * Q];
    memset(k_re, 0, sizeof k_re);
    memset(k_im, 0, sizeof k_im);
    for (int j = 0; j < 15; j++)
        k_re[(j / 5 - 1 + P) % P * Q + (j % 5 - 2 + Q) % Q] = blurring[j / 5][j % 5] / 28;
    transformed(k_re, k_im, P, Q, -1);
    for (int64_t c = 0; c < colours(&a); c++) {
        for (int k = 0; k < P * Q; k++) {
            re[k] = picture_read(&a, k / Q - (P - H) / 2, k % Q - (Q - W) / 2, c, IMGPAR_BORDER_REFLECT, 0) / full;
            im[k] = 0;
        }
        transformed(re, im, P, Q, -1);
        for (int k = 0; k < P * Q; k++) {
            const real below = k_re[k] * k_re[k] + k_im[k] * k_im[k] + noise, x = re[k], y = im[k];
            re[k] = (x * k_re[k] + y * k_im[k]) / below;
            im[k] = (y * k_re[k] - x * k_im[k]) / below;
        }
        transformed(re, im, P, Q, 1);
        for (int k = 0; k < H * W; k++)
            want.v[k * a.c + c] =
                saturated(a.dtype, full * re[(k / W + (P - H) / 2) * Q + k % W + (Q - W) / 2] / (P * Q));
    }
    expect("wiener($1, " BLURRING ", 0.02)", (const picture *const[]){ &a }, 1, &want, 3e-5L * full);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- corners ------------------------------------------------------------------------------------ */

/* What texts of small arrays give, as print() writes it. */
static const struct {
    const char *text, *as;
} small[] = {
    { "clahe(fill(1, 1, 7))", "255" },
    { "clahe(numbers([0 100 255; 10 20 30], dtype=u8), tiles=2, clip=0)", "[64 255 255; 128 191 160]" },
    { "curves(numbers([0 0.5 1]), [0 1; 1 0])", "[1 0.5 0]" },
    { "a = numbers([-3 0 7 9], dtype=f64)\ncurves(select(a == 7, nan, a), [0 1; 1 0], kind=linear)", "[1 1 nan 0]" },
    { "histogram_match(numbers([1 2; 3 4]), numbers([5 5; 5 5]))", "[5 5; 5 5]" },
    { "a = numbers([1 2; 3 7])\nhistogram_match(select(a == 7, nan, a), numbers([10 20; 30 40]))", "[10 20; 30 nan]" },
    { "histogram_match(fill(2, 2, 9), fill(1, 1, 200))", "[[200; 200] [200; 200]]" },
    { "color_balance(numbers([0 1; 0.25 2]), power=0.5)", "[0 1; 0.5 1]" },
    { "duotone(fill(1, 1, 255), 0, [1 2 3])", "[[1 2 3]]" },
    { "dehaze(fill(1, 1, 0))", "0" },
    { "inpaint(fill(3, 1, 9), fill(3, 1, 1))", "[[9; 9; 9]]" }, /* nothing is known */
    { "inpaint(numbers([1 0 0 4]) * ones([1 4]), numbers([0 1 1 0]) * ones([1 4]))", "[1 2 3 4]" },
    { "richardson_lucy(fill(1, 1, 9), [1 2 1], 3)", "9" },
    { "shadows_highlights(fill(1, 1, 0))", "0" },
    { "palette(fill(1, 1, [7 9 8], channels=3), 2)", "[7 9 8; 7 9 8]" }, /* one colour */
    { "quantize(fill(2, 1, [7 9 8 3], channels=4), [0 0 0; 9 9 9])", "[[9 9 9 3; 9 9 9 3]]" },
    { "quantize(fill(1, 1, 40000, dtype=u16), fill(1, 2, 200))", "51400" }, /* of another white */
    { "quantize(fill(1, 1, 200), depth(fill(1, 1, 100), 16))", "100" },
    /* the errors of error_diffusion's test: 100, 143.75, 51.33, 122.46; then 110.39, 129.40, 77.10, 175.21 */
    { "quantize(fill(4, 2, 100), [0; 255], dither=floyd_steinberg)", "[[0; 255; 0; 0] [0; 255; 0; 255]]" },
    /* 255 at most with its errors: the last gets (255 - 150) 7 / 16, not 78.7 */
    { "quantize(set_white(numbers([255 255 255 255 0]) * ones([1 5]), 255), [0; 150], dither=floyd_steinberg)",
      "[150 150 150 150 0]" },
    /* 0.4 passes on 0.05 twice, NaN and white nothing */
    { "quantize(set_white(numbers([nan 0.4 2 -3]) * ones([1 4]), 1), [0; 1], dither=atkinson)", "[0 0 1 0]" },
    { "quantize(fill(2, 1, [250 9], channels=2), [0; 255], dither=sierra)", "[[255 9; 255 9]]" },
};

/* ---- few colours ------------------------------------------------------------------------------------------------- */

enum { N_COLOURS = 5, N_STEPS = 3 };

/* The square of the distance of a pixel from a colour. */
static real square_from(const picture *a, int64_t k, const real *colour)
{
    real sum = 0;
    for (int64_t c = 0; c < colours(a); c++)
        sum += powl(a->v[k * a->c + c] - colour[c], 2);
    return sum;
}

static int nearest_of(const picture *a, int64_t k, real table[][4])
{
    int best = 0;
    for (int i = 1; i < N_COLOURS; i++)
        if (square_from(a, k, table[i]) < square_from(a, k, table[best])) best = i;
    return best;
}

/* Each colour becomes the mean of the pixels that it is nearest to, if there are any; count gets how many they are. */
static void step_of_lloyd(const picture *a, real table[][4], int64_t count[], bool moves)
{
    real sums[N_COLOURS][4] = { { 0 } };
    memset(count, 0, N_COLOURS * sizeof *count);
    for (int64_t k = 0; k < a->h * a->w; k++) {
        const int i = nearest_of(a, k, table);
        count[i]++;
        for (int64_t c = 0; c < colours(a); c++)
            sums[i][c] += a->v[k * a->c + c];
    }
    for (int i = 0; moves && i < N_COLOURS; i++)
        for (int64_t c = 0; count[i] > 0 && c < colours(a); c++)
            table[i][c] = sums[i][c] / count[i];
}

START_TEST(few_colours_stand_for_all) /* _i: dtype and channels */
{
    picture a = photo(H, W, _i), table = picture_new(a.dtype, N_COLOURS, colours(&a), 1), few = picture_copy(&a);
    real found[N_COLOURS][4] = { { 0 } };
    int64_t count[N_COLOURS];
    for (int i = 0; i < N_COLOURS; i++) {
        int64_t farthest = 0;
        real most = -1;
        for (int64_t k = 0; k < a.h * a.w; k++) {
            real least = (real)INFINITY;
            for (int j = 0; j < i; j++)
                least = fminl(least, square_from(&a, k, found[j]));
            if (least > most) farthest = k, most = least;
        }
        memcpy(found[i], a.v + farthest * a.c, (size_t)colours(&a) * sizeof(real));
    }
    for (int step = 0; step < N_STEPS; step++)
        step_of_lloyd(&a, found, count, true);
    step_of_lloyd(&a, found, count, false);
    for (int row = 0; row < N_COLOURS; row++) { /* that of most pixels first, of equals the first */
        int best = 0;
        for (int i = 1; i < N_COLOURS; i++)
            if (count[i] > count[best]) best = i;
        for (int64_t c = 0; c < colours(&a); c++)
            table.v[row * colours(&a) + c] = rounded(a.dtype, found[best][c]);
        count[best] = -1;
    }
    expect("palette($1, 5, steps=3)", (const picture *[]){ &a }, 1, &table, a_level(a.dtype));
    for (int i = 0; i < N_COLOURS; i++)
        memcpy(found[i], table.v + i * colours(&a), (size_t)colours(&a) * sizeof(real));
    for (int64_t k = 0; k < a.h * a.w; k++)
        memcpy(few.v + k * a.c, found[nearest_of(&a, k, found)], (size_t)colours(&a) * sizeof(real));
    expect("quantize($1, reshape($2, [5, -1]))", (const picture *[]){ &a, &table }, 2, &few, 0);
    picture_free(&a);
    picture_free(&table);
    picture_free(&few);
}
END_TEST

/* What Floyd and Steinberg's kernel adds, over 16, and Jarvis', Judice's and Ninke's, over 48. */
static const struct {
    const char *name;
    int over;
    struct {
        int dy, dx, share;
    } to[12];
} spreads[] = {
    { "floyd_steinberg", 16, { { 0, 1, 7 }, { 1, -1, 3 }, { 1, 0, 5 }, { 1, 1, 1 } } },
    { "jarvis",
      48,
      { { 0, 1, 7 },
        { 0, 2, 5 },
        { 1, -2, 3 },
        { 1, -1, 5 },
        { 1, 0, 7 },
        { 1, 1, 5 },
        { 1, 2, 3 },
        { 2, -2, 1 },
        { 2, -1, 3 },
        { 2, 0, 5 },
        { 2, 1, 3 },
        { 2, 2, 1 } } },
};

/* Pixel by pixel; every second row from right to left, or all from the left. */
static picture spread_over(const picture *a, real table[][4], int kernel, bool is_serpentine)
{
    picture v = picture_copy(a), p = picture_copy(a);
    const real full = dtype_full(a->dtype);
    for (int64_t k = 0; k < picture_count(&v); k++)
        v.v[k] = fminl(fmaxl(v.v[k], 0), full);
    for (int64_t k = 0; k < a->h * a->w; k++) {
        const int64_t y = k / a->w, x = is_serpentine && y % 2 ? a->w - 1 - k % a->w : k % a->w;
        real *now = picture_at(&v, y, x, 0);
        for (int64_t c = 0; c < colours(a); c++)
            now[c] = fminl(fmaxl(now[c], 0), full);
        const int best = nearest_of(&v, y * a->w + x, table);
        for (int64_t c = 0; c < colours(a); c++) {
            *picture_at(&p, y, x, c) = table[best][c];
            for (int t = 0; t < 12; t++) {
                const int64_t row = y + spreads[kernel].to[t].dy;
                const int64_t column = x + spreads[kernel].to[t].dx * (is_serpentine && y % 2 ? -1 : 1);
                if (row < a->h && column >= 0 && column < a->w)
                    *picture_at(&v, row, column, c) +=
                        (now[c] - table[best][c]) * spreads[kernel].to[t].share / spreads[kernel].over;
            }
        }
    }
    picture_free(&v);
    return p;
}

START_TEST(what_few_colours_lose_goes_on) /* _i: dtype and channels */
{
    static const struct {
        int64_t h, w;
    } sizes[] = { { H, W }, { 1, 1 }, { 1, 9 }, { 9, 1 }, { 8, 3 } };
    for (int k = 0; k < 5; k++) {
        picture a = photo(sizes[k].h, sizes[k].w, _i), table = picture_new(a.dtype, N_COLOURS, colours(&a), 1);
        real palette[N_COLOURS][4] = { { 0 } };
        char text[120];
        for (int i = 0; i < N_COLOURS; i++)
            for (int64_t c = 0; c < colours(&a); c++)
                palette[i][c] = table.v[i * colours(&a) + c] =
                    rounded(a.dtype, dtype_full(a.dtype) * ((i * 7 + c * 11) % 13) / 12);
        picture want = spread_over(&a, palette, k % 2, k % 3 == 0);
        snprintf(text, sizeof text, "quantize($1, reshape($2, [5, -1]), dither=%s, serpentine=%s)", spreads[k % 2].name,
                 k % 3 == 0 ? "true" : "false");
        written_expect(text, (const picture *[]){ &a, &table }, 2, &want, k == 0);
        picture_free(&a);
        picture_free(&table);
        picture_free(&want);
    }
}
END_TEST

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "curves($1, [3 4])", "curves: points is a matrix of 1x2; it must have two columns and two rows at least" },
    { "curves($1, [3 4; 3 5])", "curves: points go from 3 to 3; their first column must ascend" },
    { "duotone($1, [3 4], 5)", "duotone: dark has 2 numbers; it must be one, or 3: one for each channel" },
    { "color_balance($1, [3 4])", "color_balance: slope has 2 numbers; it must be one" },
    { "quantize(fill(2, 2, 0, channels=3), [255; 0])",
      "quantize: palette is [2, 1] f32; for [2, 2, 3] u8 it must have rows of 3, a colour each" },
    { "quantize($1, zeros([0 1]))", "quantize: palette is empty; it must have rows of 1, a colour each" },
    { "quantize(fill(2, 2, 0, channels=3), [1 2 3 4; 5 6 7 8])",
      "it must have rows of 3, a colour each; slice(palette, 0, 3, axis=1) leaves the last channel out" },
    { "bilateral(fill(2, 2, 0), contrast=75)",
      "bilateral: contrast=75 is in shares of white, of which it is too many; 75 of 255 levels are 75/255" },
    { "bilateral(set_white(fill(2, 2, 0), 65535), contrast=4.5)", "4.5 of 65535 levels are 4.5/65535" },
    { "nlmeans(fill(2, 2, 0), noise=10)", "nlmeans: noise=10 is in shares of white" },
    { "local_laplacian(fill(2, 2, 0), 5)", "local_laplacian: sigma=5 is in shares of white" },
    { "guided(fill(2, 2, 0), fill(2, 2, 0), eps=500)", "500 of 255 levels squared are 500/255**2" },
    { "local_contrast(fill(2, 2, 0), eps=17)", "local_contrast: eps=17 is in shares of white squared" },
    { "solarize(fill(2, 2, 0), 128)", "above=128 is above 1; it is in shares of white: 128 of 255 levels are 128/255" },
    { "palette(zeros([0 4]))", "palette: argmax: axis 0 has no elements" },
    { "palette(zeros([2 3 4 3]))", "palette: a is [2, 3, 4, 3] f32" },
    { "temperature(zeros([3, 3, 2]), 5000)",
      "temperature: a is [3, 3, 2] f32; it must have 1 channel or 3, or one more with alpha" },
    { "temperature(fill(2, 2, 0, channels=3), 900)", "kelvin=900 is below 1667" },
    { "histogram_match($1, fill(2, 2, 0, channels=3))",
      "histogram_match: a is [3, 3] f32, b is [2, 2, 3] u8; both must be images of as many channels, but for alpha" },
    { "inpaint($1, zeros([3 4]))",
      "inpaint: a is [3, 3] f32, mask is [3, 4] f32; they must be images of one size, and the mask of one channel" },
    { "seamless_clone($1, zeros([2 3]), $1)", "seamless_clone: a is [3, 3] f32, b is [2, 3] f32; they must be images" },
    { "wiener($1, [1 -1 0])", "wiener: the sum of kernel is 0; it must be above 0" },
    { "richardson_lucy($1, [1 1])", "richardson_lucy: kernel" },
    { "clahe(numbers([1 2 3]))", "clahe: a is [3] f32, which is no image" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, adaptive_equalisation, 0, (int)(sizeof grids / sizeof *grids) * 2 * 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, histograms_of_another, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, curves_through_points, 0, 3 * 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, two_tones, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, light_of_a_temperature, 0, 10 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_balance_of_colours, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, details_and_shadows, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, haze, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, holes_are_filled, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, steps_of_richardson_and_lucy, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, the_filter_of_wiener, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, few_colours_stand_for_all, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, what_few_colours_lose_goes_on, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("written_photo", tc);
}
