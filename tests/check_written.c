/* SPDX-License-Identifier: MIT */
/*
 * The rows that are written in the pipeline language: what they give against plain loops in long double, each by the
 * definition, on the device and by the reference interpreter.
 */
#include "oracle.h"
#include "tier.h"
#include "written.h"

#include "ops/build.h"
#include "ops/row_functions.h"
#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 23, W = 37 };

static picture levels(imgpar_dtype dtype, int channels, unsigned seed)
{
    return written_levels(dtype, H, W, channels, seed);
}

static real nearest(const picture *a, int64_t y, int64_t x, int64_t c) { return written_nearest(a, y, x, c); }

/* Words are left to the interpreter in the quick tier: bytes and floats are as much text for the device to compile. */
static bool is_for_the_device(imgpar_dtype dtype) { return dtype != IMGPAR_U16 || test_tier_is_full(); }

static void expect_within_slack(const char *text, const picture *const *in, int n, const picture *want)
{
    written_expect(text, in, n, want, is_for_the_device(in[0]->dtype));
}

/* The same to within tolerance, which becomes want's slack. */
static void expect(const char *text, const picture *const *in, int n, const picture *want, real tolerance)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = tolerance;
    expect_within_slack(text, in, n, want);
}

static void expect_of(const char *text, const picture *a, const picture *want, real tolerance)
{
    expect(text, &a, 1, want, tolerance);
}

/* Ints: within a level; floats of about 1: what f32 arithmetic gives. */
static real a_level(imgpar_dtype dtype) { return dtype == IMGPAR_F32 ? 1e-5L : 1; }

/* ---- shapes of light and dark -------------------------------------------------------------------------- */

static picture extremes(const picture *a, int radius, bool largest)
{
    picture p = picture_copy(a);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++)
            for (int64_t c = 0; c < a->c; c++) {
                real *best = picture_at(&p, y, x, c);
                for (int64_t dy = -radius; dy <= radius; dy++)
                    for (int64_t dx = -radius; dx <= radius; dx++) {
                        real v = nearest(a, y + dy, x + dx, c);
                        *best = largest ? fmaxl(*best, v) : fminl(*best, v);
                    }
            }
    return p;
}

static picture difference(const picture *a, const picture *b)
{
    picture p = picture_copy(a);
    for (int64_t k = 0; k < picture_count(a); k++)
        p.v[k] -= b->v[k];
    return p;
}

static void expect_difference(const char *text, const picture *in, const picture *a, const picture *b)
{
    picture want = difference(a, b);
    expect_of(text, in, &want, 0);
    picture_free(&want);
}

START_TEST(openings_and_closings)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = levels(dtype, dtype == IMGPAR_U8 ? 3 : 1, 7);
    picture low = extremes(&a, 2, false), high = extremes(&a, 2, true);
    picture opened = extremes(&low, 2, true), closed = extremes(&high, 2, false);
    expect_of("opening($1, size=5)", &a, &opened, 0);
    expect_of("closing($1, size=5)", &a, &closed, 0);
    expect_difference("tophat($1, size=5)", &a, &a, &opened);
    expect_difference("blackhat($1, 5)", &a, &closed, &a);
    expect_difference("morphgrad($1, size=5)", &a, &high, &low);
    picture_free(&opened);
    picture_free(&closed);
    picture_free(&high);
    picture_free(&low);
    picture_free(&a);
}
END_TEST

/* ---- sharpness ------------------------------------------------------------------------------------------------ */

START_TEST(an_unsharp_mask)
{
    enum { R = 6 }; /* 4 sigma */
    const real sigma = 1.5L, amount = 0.75L;
    picture a = levels(written_dtypes[_i], 3, 11), want = picture_copy(&a);
    real weights[2 * R + 1], sum = 0;
    for (int k = -R; k <= R; k++)
        sum += weights[k + R] = expl(-k * k / (2 * sigma * sigma));
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++)
            for (int64_t c = 0; c < 3; c++) {
                real smooth = 0, v = *picture_at(&a, y, x, c);
                for (int dy = -R; dy <= R; dy++)
                    for (int dx = -R; dx <= R; dx++)
                        smooth += weights[dy + R] * weights[dx + R] * nearest(&a, y + dy, x + dx, c);
                *picture_at(&want, y, x, c) = v + amount * (v - smooth / (sum * sum));
            }
    expect_of("unsharp($1, sigma=1.5, amount=0.75)", &a, &want, a_level(a.dtype));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* Around a middle gray, of colours that are weighed by alpha, which stays. */
START_TEST(what_a_blur_removes)
{
    enum { R = 6 }; /* 4 sigma */
    const real sigma = 1.5L;
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int channels = 3 + _i % 2;
    picture a = levels(dtype, channels, 12), want = picture_copy(&a);
    const bool has_alpha = picture_is_alpha(&a, channels - 1);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t y = k / channels / W, x = k / channels % W, c = k % channels;
        real sum = 0, all = 0;
        for (int n = 0; n < (2 * R + 1) * (2 * R + 1); n++) {
            const int dy = n / (2 * R + 1) - R, dx = n % (2 * R + 1) - R;
            const real weight = expl(-(dy * dy + dx * dx) / (2 * sigma * sigma)) *
                                (has_alpha ? nearest(&a, y + dy, x + dx, channels - 1) : 1);
            sum += weight * nearest(&a, y + dy, x + dx, c);
            all += weight;
        }
        if (!picture_is_alpha(&a, c)) want.v[k] = dtype_full(dtype) / 2 + a.v[k] - sum / all;
    }
    expect_of("highpass($1, 1.5)", &a, &want, a_level(dtype));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- levels ------------------------------------------------------------------------------------------------------ */

static bool is_alpha(const picture *a, int64_t k) { return picture_is_alpha(a, k % a->c); }

START_TEST(curves_leave_alpha_alone)
{
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int channels = _i % 4 + 1;
    picture a = levels(dtype, channels, 13), want = picture_copy(&a);
    real full = dtype_full(dtype), lo = full, hi = 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        if (!is_alpha(&a, k)) a.v[k] = rounded(dtype, full * 0.2L + a.v[k] * 0.5L);
        want.v[k] = is_alpha(&a, k) ? a.v[k] : full * powl(a.v[k] / full, 1 / 1.7L);
        if (is_alpha(&a, k)) continue;
        lo = fminl(lo, a.v[k]);
        hi = fmaxl(hi, a.v[k]);
    }
    expect_of("gamma($1, 1.7)", &a, &want, a_level(dtype));
    for (int64_t k = 0; k < picture_count(&a); k++)
        want.v[k] = is_alpha(&a, k) ? a.v[k] : (a.v[k] - lo) * full / (hi - lo);
    expect_of("normalize($1)", &a, &want, a_level(dtype));
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(a_flat_image_stays_flat)
{
    picture a = picture_new(IMGPAR_U8, H, W, 1);
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.v[k] = 77;
    expect_of("normalize($1)", &a, &a, 0);
    picture_free(&a);
}
END_TEST

/* How many elements of channel c are at most v. */
static int64_t at_most(const picture *a, int64_t c, real v)
{
    int64_t n = 0;
    for (int64_t k = c; k < picture_count(a); k += a->c)
        n += a->v[k] <= v;
    return n;
}

START_TEST(equalized_levels)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = levels(dtype, 3, 17), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.v[k] = floorl(a.v[k] * a.v[k] / dtype_full(dtype)); /* dark ones more often */
    for (int64_t c = 0; c < 3; c++) {
        real least = dtype_full(dtype);
        for (int64_t k = c; k < picture_count(&a); k += 3)
            least = fminl(least, a.v[k]);
        real first = at_most(&a, c, least);
        for (int64_t k = c; k < picture_count(&a); k += 3)
            want.v[k] = (at_most(&a, c, a.v[k]) - first) * dtype_full(dtype) / (H * W - first);
    }
    expect_of("equalize($1)", &a, &want, 1);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* The variance between the levels up to t and those above, times the square of the number of elements. */
static real variance_between(const picture *a, int64_t t)
{
    real n[2] = { 0, 0 }, sum[2] = { 0, 0 };
    for (int64_t k = 0; k < picture_count(a); k++) {
        n[a->v[k] > t]++;
        sum[a->v[k] > t] += a->v[k];
    }
    if (n[0] == 0 || n[1] == 0) return 0;
    real d = sum[0] / n[0] - sum[1] / n[1];
    return n[0] * n[1] * d * d;
}

START_TEST(the_threshold_of_otsu)
{
    picture a = levels(IMGPAR_U8, 1, 19);
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.v[k] = k % 3 ? 40 + floorl(a.v[k] / 8) : 150 + floorl(a.v[k] / 4);
    imgpar_array *in = picture_array(written_context, &a), *level = imgpar_otsu(in);
    int64_t got = -1;
    real best = 0;
    ck_assert_msg(imgpar_array_read(level, &got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(level));
    for (int t = 0; t < 256; t++)
        best = fmaxl(best, variance_between(&a, t));
    ck_assert_msg(variance_between(&a, got) >= best * (1 - 1e-5L), "otsu gives %lld", (long long)got);
    imgpar_array_release(level);
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

START_TEST(thresholds_by_what_is_around)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = levels(dtype, 1, 23), want = picture_copy(&a);
    const real full = dtype_full(dtype), offset = full * 0.0503L;
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            real sum = 0;
            for (int64_t dy = -3; dy <= 3; dy++)
                for (int64_t dx = -3; dx <= 3; dx++)
                    sum += nearest(&a, y + dy, x + dx, 0);
            *picture_at(&want, y, x, 0) = *picture_at(&a, y, x, 0) > sum / 49 - offset ? full : 0;
        }
    char text[80];
    snprintf(text, sizeof text, "adaptive_threshold($1, size=7, offset=%.9Lg)", offset);
    expect_of(text, &a, &want, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- colours
 * ---------------------------------------------------------------------------------------------------------- */

START_TEST(saturation_is_what_differs_from_gray)
{
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    picture a = levels(dtype, 3 + _i % 2, 29), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real *p = &a.v[k - k % a.c];
        real gray = rounded(dtype, 0.299L * p[0] + 0.587L * p[1] + 0.114L * p[2]);
        want.v[k] = is_alpha(&a, k) ? a.v[k] : gray + 1.4L * (a.v[k] - gray);
    }
    expect_of("saturation($1, 1.4)", &a, &want, dtype == IMGPAR_F32 ? 1e-5L : 2); /* gray is rounded, too */
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* What is promised of the colour rows: 2^-20 of the range, and for CIE L*a*b* differences that nobody sees. */
#define A_PART 0x1p-20L
#define OF_LAB 0.001L
#define FROM_LAB 0.00001L

/* Shares of white with the ends, the end of the curve's linear part, and neighbours: differences that nearly vanish. */
static const real shares[] = { 0,
                               1 / 65535.0L,
                               1 / 255.0L,
                               2 / 255.0L,
                               10 / 255.0L,
                               0.04045L,
                               11 / 255.0L,
                               0.1L,
                               0.25L,
                               1 / 3.0L,
                               127 / 255.0L,
                               0.5L,
                               128 / 255.0L,
                               52351 / 65535.0L,
                               52352 / 65535.0L,
                               52354 / 65535.0L,
                               205 / 255.0L,
                               206 / 255.0L,
                               254 / 255.0L,
                               65533 / 65535.0L,
                               65534 / 65535.0L,
                               1 };
enum { N_SHARES = sizeof shares / sizeof *shares };

/* Every colour of those shares, a row for each pair of red and green. */
static picture many_colours(imgpar_dtype dtype)
{
    picture p = picture_new(dtype, N_SHARES * N_SHARES, N_SHARES, 3);
    for (int64_t k = 0; k < p.h * p.w; k++) {
        const real rgb[3] = { shares[k / N_SHARES / N_SHARES], shares[k / N_SHARES % N_SHARES], shares[k % N_SHARES] };
        for (int c = 0; c < 3; c++)
            p.v[3 * k + c] = rounded(dtype, rgb[c] * dtype_full(dtype));
    }
    return p;
}

/* The colours of in, as the function tells them and floats hold them; what may be missed is a share of each channel's
 * range. */
static picture told_by(void (*of)(const real *from, real *to), const picture *in, real share, const real range[3])
{
    picture p = picture_new(IMGPAR_F32, in->h, in->w, 3);
    for (int64_t k = 0; k < picture_count(in); k += 3) {
        real from[3];
        for (int c = 0; c < 3; c++) {
            from[c] = in->v[k + c] / dtype_full(in->dtype);
            p.slack[k + c] = share * range[c];
        }
        of(from, &p.v[k]);
    }
    return p;
}

/* The numbers that floats can hold of those that are wanted. */
static picture as_floats(const picture *a)
{
    picture p = picture_copy(a);
    for (int64_t k = 0; k < picture_count(a); k++)
        p.v[k] = rounded(IMGPAR_F32, a->v[k]);
    return p;
}

static void expect_told(const char *text, const picture *in, const picture *want)
{
    expect_within_slack(text, &in, 1, want);
}

/* By the sector that the hue is in. */
static void hsv_of(const real *rgb, real *hsv)
{
    int most = 0;
    for (int k = 1; k < 3; k++)
        if (rgb[k] > rgb[most]) most = k;
    real least = fminl(rgb[0], fminl(rgb[1], rgb[2])), d = rgb[most] - least;
    hsv[2] = rgb[most];
    hsv[1] = rgb[most] > 0 ? d / rgb[most] : 0;
    hsv[0] = d > 0 ? fmodl(360 + 120 * most + 60 * (rgb[(most + 1) % 3] - rgb[(most + 2) % 3]) / d, 360) : 0;
}

/* Smith 1978: the three that a hue lies between, by its sector. */
static void rgb_of_hsv(const real *hsv, real *rgb)
{
    int sector = (int)floorl(hsv[0] / 60) % 6;
    real f = hsv[0] / 60 - floorl(hsv[0] / 60), s = hsv[1], v = hsv[2];
    real p = v * (1 - s), q = v * (1 - s * f), t = v * (1 - s * (1 - f));
    const real of_sector[6][3] = { { v, t, p }, { q, v, p }, { p, v, t }, { p, q, v }, { t, p, v }, { v, p, q } };
    memcpy(rgb, of_sector[sector], sizeof of_sector[sector]);
}

START_TEST(hues_and_back)
{
    static const real of_hsv[3] = { 360, 1, 1 }, of_rgb[3] = { 1, 1, 1 };
    picture a = many_colours(written_dtypes[_i]), hsv = told_by(hsv_of, &a, A_PART, of_hsv);
    picture floats = as_floats(&hsv), rgb = told_by(rgb_of_hsv, &floats, A_PART, of_rgb);
    expect_told("rgb_to_hsv($1)", &a, &hsv);
    expect_told("hsv_to_rgb($1)", &floats, &rgb);
    picture_free(&rgb);
    picture_free(&floats);
    picture_free(&hsv);
    picture_free(&a);
}
END_TEST

START_TEST(every_hue)
{
    static const real of_rgb[3] = { 1, 1, 1 };
    picture hsv = picture_new(IMGPAR_F32, 9, 24 * 31 + 1, 3);
    for (int64_t k = 0; k < hsv.h * hsv.w; k++) {
        const real at[3] = { rounded(IMGPAR_F32, (real)(k % hsv.w) * 15 / 31), (real)(k / hsv.w % 3) / 2,
                             (real)(k / hsv.w / 3 + 2) / 4 };
        memcpy(&hsv.v[3 * k], at, sizeof at);
    }
    picture rgb = told_by(rgb_of_hsv, &hsv, A_PART, of_rgb);
    expect_told("hsv_to_rgb($1)", &hsv, &rgb);
    picture_free(&rgb);
    picture_free(&hsv);
}
END_TEST

/* ---- CIE L*a*b* ---- */

static const real WHITE[3] = { 0.95047L, 1, 1.08883L }; /* D65 */

static real determinant(const real m[3][3])
{
    real sum = 0;
    for (int k = 0; k < 3; k++)
        sum += m[0][k] * (m[1][(k + 1) % 3] * m[2][(k + 2) % 3] - m[1][(k + 2) % 3] * m[2][(k + 1) % 3]);
    return sum;
}

/* The x of m * x = v, by Cramer's rule. */
static void solve(const real m[3][3], const real v[3], real x[3])
{
    for (int k = 0; k < 3; k++) {
        real with[3][3];
        memcpy(with, m, sizeof with);
        for (int row = 0; row < 3; row++)
            with[row][k] = v[row];
        x[k] = determinant(with) / determinant(m);
    }
}

/* X, Y and Z (rows) of red, green and blue (columns): BT.709's chromaticities, so scaled that together they are
 * white. */
static void primaries(real m[3][3])
{
    static const real xy[3][2] = { { 0.64L, 0.33L }, { 0.30L, 0.60L }, { 0.15L, 0.06L } };
    real scale[3];
    for (int k = 0; k < 3; k++) {
        m[0][k] = xy[k][0] / xy[k][1];
        m[1][k] = 1;
        m[2][k] = (1 - xy[k][0] - xy[k][1]) / xy[k][1];
    }
    solve((const real(*)[3])m, WHITE, scale);
    for (int k = 0; k < 9; k++)
        m[k / 3][k % 3] *= scale[k % 3];
}

/* IEC 61966-2-1, then CIE 15: the cube root, and below (6/29)^3 its tangent. */
static void lab_of(const real *rgb, real *lab)
{
    real m[3][3], f[3];
    primaries(m);
    for (int row = 0; row < 3; row++) {
        real t = 0;
        for (int k = 0; k < 3; k++)
            t += m[row][k] / WHITE[row] *
                 (rgb[k] <= 0.04045L ? rgb[k] / 12.92L : powl((rgb[k] + 0.055L) / 1.055L, 2.4L));
        f[row] = t > 216 / 24389.0L ? cbrtl(t) : t * 841 / 108 + 4 / 29.0L;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

static void rgb_of_lab(const real *lab, real *rgb)
{
    const real l = (lab[0] + 16) / 116, f[3] = { l + lab[1] / 500, l, l - lab[2] / 200 };
    real m[3][3], xyz[3];
    primaries(m);
    for (int k = 0; k < 3; k++)
        xyz[k] = WHITE[k] * (f[k] > 6 / 29.0L ? f[k] * f[k] * f[k] : (f[k] - 4 / 29.0L) * 108 / 841);
    solve((const real(*)[3])m, xyz, rgb);
    for (int k = 0; k < 3; k++)
        rgb[k] = rgb[k] <= 0.0031308L ? rgb[k] * 12.92L : 1.055L * powl(rgb[k], 1 / 2.4L) - 0.055L;
}

START_TEST(lightness_and_back)
{
    static const real all[3] = { 1, 1, 1 };
    picture a = many_colours(written_dtypes[_i]), lab = told_by(lab_of, &a, OF_LAB, all);
    picture floats = as_floats(&lab), rgb = told_by(rgb_of_lab, &floats, FROM_LAB, all);
    expect_told("rgb_to_lab($1)", &a, &lab);
    expect_told("lab_to_rgb($1)", &floats, &rgb);
    picture_free(&rgb);
    picture_free(&floats);
    picture_free(&lab);
    picture_free(&a);
}
END_TEST

/* Published values of sRGB's primaries, D65. */
static const struct {
    real rgb[3], lab[3], ycbcr[3];
} colours[] = {
    { { 255, 0, 0 }, { 53.2408L, 80.0925L, 67.2032L }, { 76, 85, 255 } },
    { { 0, 255, 0 }, { 87.7347L, -86.1827L, 83.1793L }, { 150, 44, 21 } },
    { { 0, 0, 255 }, { 32.2970L, 79.1875L, -107.8602L }, { 29, 255, 107 } },
    { { 255, 255, 255 }, { 100, 0, 0 }, { 255, 128, 128 } },
    { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 128, 128 } },
    { { 128, 128, 128 }, { 53.5850L, 0, 0 }, { 128, 128, 128 } },
};
enum { N_COLOURS = sizeof colours / sizeof *colours };

START_TEST(known_colours)
{
    picture a = picture_new(IMGPAR_U8, 1, N_COLOURS, 3), lab = picture_new(IMGPAR_F32, 1, N_COLOURS, 3),
            ycbcr = picture_copy(&a);
    for (int k = 0; k < N_COLOURS; k++) {
        memcpy(&a.v[3 * k], colours[k].rgb, sizeof colours[k].rgb);
        memcpy(&lab.v[3 * k], colours[k].lab, sizeof colours[k].lab);
        memcpy(&ycbcr.v[3 * k], colours[k].ycbcr, sizeof colours[k].ycbcr);
    }
    expect_of("rgb_to_lab($1)", &a, &lab, 0.02L);
    expect_of("rgb_to_ycbcr($1)", &a, &ycbcr, 0);
    expect_of("ycbcr_to_rgb(rgb_to_ycbcr($1))", &a, &a, 1);
    picture_free(&a);
    picture_free(&lab);
    picture_free(&ycbcr);
}
END_TEST

/* The weights of red and blue of ITU-R BT.601-7, BT.709-6 and BT.2020-2. */
static const struct {
    const char *name;
    real red, blue;
} matrices[] = { { "bt601", 0.299L, 0.114L }, { "bt709", 0.2126L, 0.0722L }, { "bt2020", 0.2627L, 0.0593L } };

/* Video's range: round((219 Y + 16) 2^(n - 8)) and round((224 C + 128) 2^(n - 8)) of n bits; floats: 8 bits / 255. */
static void expect_luma(imgpar_dtype dtype, int matrix, bool is_limited)
{
    const real kr = matrices[matrix].red, kb = matrices[matrix].blue, full = dtype_full(dtype);
    const real unit = dtype == IMGPAR_F32 ? 1 / 255.0L : dtype == IMGPAR_U16 ? 256 : 1;
    const real middle = is_limited ? 128 * unit : dtype == IMGPAR_F32 ? 0.5L : (full + 1) / 2;
    picture a = levels(dtype, 3 + matrix % 2, 7), there = picture_new(dtype, H, W, 3),
            back = picture_new(dtype, H, W, 3);
    for (int64_t k = 0; k < H * W; k++) {
        const real *rgb = &a.v[k * a.c], y = kr * rgb[0] + (1 - kr - kb) * rgb[1] + kb * rgb[2];
        const real cb = (rgb[2] - y) / (2 - 2 * kb), cr = (rgb[0] - y) / (2 - 2 * kr);
        there.v[3 * k] = is_limited ? 16 * unit + 219 * unit * y / full : y;
        there.v[3 * k + 1] = middle + (is_limited ? 224 * unit * cb / full : cb);
        there.v[3 * k + 2] = middle + (is_limited ? 224 * unit * cr / full : cr);
        for (int c = 0; c < 3; c++)
            back.v[3 * k + c] = rgb[c];
    }
    char text[200];
    const real slack = dtype == IMGPAR_F32 ? 1e-6L : 0.51L;
    snprintf(text, sizeof text, "rgb_to_ycbcr($1, matrix=%s, range=%s)", matrices[matrix].name,
             is_limited ? "limited" : "full");
    expect_of(text, &a, &there, slack);
    snprintf(text, sizeof text, "ycbcr_to_rgb(rgb_to_ycbcr($1, %s, %s), matrix=%s, range=%s)", matrices[matrix].name,
             is_limited ? "limited" : "full", matrices[matrix].name, is_limited ? "limited" : "full");
    expect_of(text, &a, &back, dtype == IMGPAR_F32 ? 2e-6L : is_limited ? 2 : 1);
    picture_free(&a);
    picture_free(&there);
    picture_free(&back);
}

START_TEST(lumas_and_back)
{
    for (int k = 0; k < 6; k++)
        expect_luma(written_dtypes[_i], k / 2, k % 2);
}
END_TEST

/* ---- where pixels go
 * ----------------------------------------------------------------------------------------------------- */

/* The pixel that a quarter turn clockwise brings to y, x. */
static void turn(const picture *a, picture *out)
{
    for (int64_t y = 0; y < out->h; y++)
        for (int64_t x = 0; x < out->w; x++)
            for (int64_t c = 0; c < a->c; c++)
                *picture_at(out, y, x, c) = *picture_at(a, a->h - 1 - x, y, c);
}

START_TEST(quarter_turns)
{
    picture a = levels(written_dtypes[_i], 3, 37), turned[4];
    turned[0] = picture_copy(&a);
    for (int k = 1; k < 4; k++) {
        turned[k] = picture_new(a.dtype, k % 2 ? W : H, k % 2 ? H : W, 3);
        turn(&turned[k - 1], &turned[k]);
    }
    char text[60];
    for (int k = -4; k < 5; k++) {
        snprintf(text, sizeof text, "rot90($1, turns=%d)", k);
        expect_of(text, &a, &turned[(k + 4) % 4], 0);
        snprintf(text, sizeof text, "rotate($1, %d)", 90 * k);
        expect_of(text, &a, &turned[(k + 4) % 4], 0);
    }
    for (int k = 0; k < 4; k++)
        picture_free(&turned[k]);
    picture_free(&a);
}
END_TEST

static real between(const picture *a, real y, real x, int64_t c)
{
    real fy = y - floorl(y), fx = x - floorl(x), sum = 0;
    for (int k = 0; k < 4; k++) {
        int64_t py = (int64_t)floorl(y) + k / 2, px = (int64_t)floorl(x) + k % 2;
        sum += picture_read(a, py, px, c, IMGPAR_BORDER_CONSTANT, 0) * (k / 2 ? fy : 1 - fy) * (k % 2 ? fx : 1 - fx);
    }
    return sum;
}

START_TEST(a_turn_by_any_angle)
{
    const real angle = 30 * 3.14159265358979323846264L / 180, p = cosl(angle), q = sinl(angle);
    picture a = levels(written_dtypes[_i], 3, 41);
    for (int expand = 0; expand < 2; expand++) {
        int64_t w = expand ? (int64_t)ceill(W * p + H * q) : W, h = expand ? (int64_t)ceill(W * q + H * p) : H;
        picture want = picture_new(a.dtype, h, w, 3);
        for (int64_t k = 0; k < picture_count(&want); k++) {
            real x = (real)(k / 3 % w) - (real)(w - 1) / 2, y = (real)(k / 3 / w) - (real)(h - 1) / 2;
            want.v[k] = between(&a, -q * x + p * y + (real)(H - 1) / 2, p * x + q * y + (real)(W - 1) / 2, k % 3);
        }
        expect_of(expand ? "rotate($1, 30)" : "rotate($1, 30, expand=false)", &a, &want,
                  fmaxl(a_level(a.dtype), dtype_full(a.dtype) * 2e-5L));
        picture_free(&want);
    }
    picture_free(&a);
}
END_TEST

/* Porter and Duff's over, alpha not multiplied in; where there is none, pixels are opaque. */
START_TEST(a_picture_over_another)
{
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int of_base = _i % 2 ? 4 : 3, of_image = _i / 2 % 2 ? 4 : 3;
    const real full = dtype_full(dtype);
    picture base = levels(dtype, of_base, 43), image = picture_new(dtype, 9, 12, of_image), want = picture_copy(&base);
    for (int64_t k = 0; k < picture_count(&image); k++)
        image.v[k] = rounded(dtype, (real)((k * 37) % 101) / 100 * full);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            int64_t v = y - 17, u = x + 4;
            bool inside = v >= 0 && v < 9 && u >= 0 && u < 12;
            real m = !inside ? 0 : of_image == 4 ? *picture_at(&image, v, u, 3) / full : 1;
            real under = (1 - m) * (of_base == 4 ? *picture_at(&base, y, x, 3) / full : 1), both = m + under;
            for (int64_t c = 0; c < 3; c++) {
                real top = picture_read(&image, v, u, c, IMGPAR_BORDER_CONSTANT, 0);
                *picture_at(&want, y, x, c) = both > 0 ? (top * m + *picture_at(&base, y, x, c) * under) / both : 0;
            }
            if (of_base == 4) *picture_at(&want, y, x, 3) = full * both;
        }
    expect("composite($1, $2, left=-4, top=17)", (const picture *const[]){ &base, &image }, 2, &want, a_level(dtype));
    picture_free(&base);
    picture_free(&image);
    picture_free(&want);
}
END_TEST

/* Porter and Duff's operators as shares of the image and of base, by their table of 1984. */
static const struct {
    const char *name;
    bool is_opaque; /* over a base without alpha the result has none */
} operators[] = {
    { "clear", false },     { "source", false }, { "over", true },      { "in", false },      { "out", false },
    { "atop", true },       { "dest", true },    { "dest_over", true }, { "dest_in", false }, { "dest_out", false },
    { "dest_atop", false }, { "xor", false },    { "add", true },
};
enum { N_OPERATORS = sizeof operators / sizeof *operators };

static void shares_of(int operator, real of_image, real of_base, real *image, real *base)
{
    const real kept[N_OPERATORS][2] = {
        { 0, 0 },
        { 1, 0 },
        { 1, 1 - of_image },
        { of_base, 0 },
        { 1 - of_base, 0 },
        { of_base, 1 - of_image },
        { 0, 1 },
        { 1 - of_base, 1 },
        { 0, of_image },
        { 0, 1 - of_image },
        { 1 - of_base, of_image },
        { 1 - of_base, 1 - of_image },
        { 1, 1 },
    };
    *image = kept[operator][0] * of_image;
    *base = kept[operator][1] * of_base;
}

/* Colours are multiplied by alpha before, and divided by it afterwards; sums of whole numbers end at white. */
static void expect_operator(int operator, imgpar_dtype dtype, int of_base, int of_image)
{
    const real full = dtype_full(dtype);
    const int n = of_base - 1 + of_base % 2, channels = of_base > n || operators[operator].is_opaque ? of_base : n + 1;
    picture base = levels(dtype, of_base, 47), image = levels(dtype, of_image, 49),
            want = picture_new(dtype, H, W, channels);
    for (int64_t k = 0; k < H * W; k++) {
        const int64_t v = k / W - 3, u = k % W + 2;
        const bool is_inside = v >= 0 && u < W;
        const real m = !is_inside ? 0 : of_image == n ? 1 : *picture_at(&image, v, u, n) / full;
        real above, under;
        shares_of(operator, m, of_base == n ? 1 : base.v[k * of_base + n] / full, &above, &under);
        const real both = fminl(above + under, 1);
        for (int c = 0; c < n; c++) {
            const real top = is_inside ? *picture_at(&image, v, u, c) : 0;
            const real sum = top * above + base.v[k * of_base + c] * under;
            const real light = dtype == IMGPAR_F32 ? sum : fminl(sum, full);
            want.v[k * channels + c] = both > 0 ? light / both : 0;
        }
        if (channels > n) want.v[k * channels + n] = full * both;
    }
    char text[80];
    snprintf(text, sizeof text, "composite($1, $2, left=-2, top=3, operator=\"%s\")", operators[operator].name);
    for (int64_t k = 0; k < picture_count(&want); k++)
        want.slack[k] = a_level(dtype);
    const bool on_device = dtype == IMGPAR_U8 && of_base == 4 && (operator== N_OPERATORS - 1 || test_tier_is_full());
    written_expect(text, (const picture *const[]){ &base, &image }, 2, &want, on_device);
    picture_free(&base);
    picture_free(&image);
    picture_free(&want);
}

START_TEST(operators_of_porter_and_duff)
{
    for (int operator= 0; operator<N_OPERATORS; operator++) {
        expect_operator(operator, written_dtypes[_i], 3, 3);
        expect_operator(operator, written_dtypes[_i], 3, 4);
        expect_operator(operator, written_dtypes[_i], 4, 4);
        expect_operator(operator, written_dtypes[_i], 1, 2);
        expect_operator(operator, written_dtypes[_i], 2, 1);
    }
}
END_TEST

/* Gray and RGB get an alpha that is full; one that is there becomes it. */
START_TEST(an_alpha_that_is_opaque)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    for (int channels = 1; channels <= 4; channels++) {
        const int n = channels - 1 + channels % 2;
        picture a = levels(dtype, channels, 51), want = picture_new(dtype, H, W, n + 1);
        for (int64_t k = 0; k < H * W * (n + 1); k++)
            want.v[k] = k % (n + 1) == n ? dtype_full(dtype) : a.v[k / (n + 1) * channels + k % (n + 1)];
        expect_of("opaque($1)", &a, &want, 0);
        picture_free(&a);
        picture_free(&want);
    }
}
END_TEST

/* What has got an alpha is a picture that others take for one. */
START_TEST(an_alpha_is_alpha)
{
    written_prints("invert(opaque(fill(1, 1, [10 20 30], channels=3)))", "[[245 235 225 255]]");
    written_prints("invert(opaque(gray(fill(2, 1, [10 10 10], channels=3))))", "[[245 255; 245 255]]");
    written_prints("invert(composite(fill(1, 1, [9 9 9], channels=3), fill(1, 1, [5 6 7 64], channels=4), "
                   "operator=source))",
                   "[[250 249 248 64]]");
    written_prints("composite(fill(1, 1, [0.5 0.5 0.5 1], channels=4, dtype=f32), "
                   "log(fill(1, 1, [0 1 1 1], channels=4, dtype=f32)), operator=xor)",
                   "[[0.5 0.5 0.5 1]]");
}
END_TEST

/* One channel of a picture is opaque as a gray picture is; plain numbers have no opacity, and alpha stays. */
START_TEST(one_channel_in_front_of_alpha)
{
    const char *const gray_alpha = "fill(1, 1, [100 51], channels=2)";
    char text[200];
    snprintf(text, sizeof text, "blend(slice(fill(1, 1, [200 0 0], channels=3), 0, 1, axis=2), %s, 0.5)", gray_alpha);
    written_prints(text, "[[183 153]]"); /* (200 + 100 / 5) / (1 + 1 / 5), (255 + 51) / 2 */
    snprintf(text, sizeof text, "blend(set_white(fill(1, 1, 200, channels=1), 0), %s, 0.5)", gray_alpha);
    written_prints(text, "[[150 51]]");
    snprintf(text, sizeof text, "composite(slice(fill(1, 1, [200 0 0], channels=3), 0, 1, axis=2), %s)", gray_alpha);
    written_prints(text, "180");
    snprintf(text, sizeof text, "blend_mode(slice(fill(1, 1, [200 0 0], channels=3), 0, 1, axis=2), %s, mode=normal)",
             gray_alpha);
    written_prints(text, "180");
}
END_TEST

/* Floats have no end at white; their alpha has. */
START_TEST(light_of_floats_adds_up)
{
    written_prints("composite(fill(1, 1, [3 2 1], channels=3, dtype=f32), fill(1, 1, [1.5 2 3], channels=3, "
                   "dtype=f32), operator=add)",
                   "[[4.5 4 4]]");
    written_prints("composite(fill(1, 1, [3 2 1 0.5], channels=4, dtype=f32), fill(1, 1, [1 2 3 1], channels=4, "
                   "dtype=f32), operator=add)",
                   "[[2.5 3 3.5 1]]");
    written_prints("composite(fill(1, 1, [3 2 1], channels=3, dtype=f32), log(fill(1, 1, [0 2 3 1], channels=4, "
                   "dtype=f32)))",
                   "[[3 2 1]]"); /* what is transparent is not seen, whatever it holds */
}
END_TEST

/* A gray picture in front of one with alpha is opaque: a share of 0 gives it, of 1 the other. */
START_TEST(gray_in_front_of_alpha)
{
    const imgpar_dtype dtype = written_dtypes[_i % 2];
    const real full = dtype_full(dtype), ratios[] = { 0, 1, 0.25L };
    const int channels = _i / 2 ? 4 : 2;
    picture a = levels(dtype, 1, 53), b = levels(dtype, channels, 54), want = picture_copy(&b);
    for (int s = 0; s < 3; s++) {
        for (int64_t k = 0; k < H * W; k++) {
            const real above = b.v[k * channels + channels - 1] / full * ratios[s], both = 1 - ratios[s] + above;
            for (int c = 0; c < channels - 1; c++)
                want.v[k * channels + c] =
                    both > 0 ? (a.v[k] * (1 - ratios[s]) + b.v[k * channels + c] * above) / both : 0;
            want.v[k * channels + channels - 1] = full * both;
        }
        char text[60];
        snprintf(text, sizeof text, "blend($1, $2, %g)", (double)ratios[s]);
        expect(text, (const picture *const[]){ &a, &b }, 2, &want, s == 2 ? 0.6L : 0);
        snprintf(text, sizeof text, "overlay($1, $2, %g)", (double)ratios[s]);
        expect(text, (const picture *const[]){ &a, &b }, 2, &want, s == 2 ? 0.6L : 0);
    }
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* ---- functions of numbers --------------------------------------------------------------------------------------- */

START_TEST(functions_of_numbers)
{
    static const float special[] = { 0, -0.0f, 1, -1, 3e38f, -3e38f, 1e-40f, INFINITY, -INFINITY, NAN, 0.3f, -7.5f };
    enum { N = sizeof special / sizeof *special };
    static float all[N][N], other[N][N];
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            all[y][x] = special[x];
            other[y][x] = special[y];
        }
    const int64_t shape[] = { N, N };
    imgpar_array *in[] = { imgpar_array_from_data(written_context, IMGPAR_F32, 2, shape, all),
                           imgpar_array_from_data(written_context, IMGPAR_F32, 2, shape, other) };
    static const char *const texts[] = { "sign($1)", "cast(isnan($1), f32)", "cast(isinf($1), f32)",
                                         "cast(isfinite($1), f32)", "hypot($1, $2)" };
    for (int t = 0; t < 5; t++)
        for (int way = 0; way < 2; way++) {
            float got[N][N];
            ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
            imgpar_array *a = imgpar_apply(written_context, texts[t], in, 2);
            ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(a));
            imgpar_array_release(a);
            for (int k = 0; k < N * N; k++) {
                const float x = all[k / N][k % N], y = other[k / N][k % N], g = got[k / N][k % N];
                const float want = t == 0   ? isnan(x) ? x : (float)((x > 0) - (x < 0))
                                     : t == 1 ? isnan(x) != 0
                                   : t == 2 ? isinf(x) != 0
                                   : t == 3 ? isfinite(x) != 0
                                            : hypotf(x, y);
                const bool is_same = isnan(want) ? isnan(g) : g == want || fabsf(g - want) <= 3e-7f * fabsf(want);
                /* a device may take denormals for 0 */
                const bool is_tiny = fabsf(want) < 1e-37f && fabsf(g) < 1e-37f;
                ck_assert_msg(is_same || is_tiny, "%s of %g, %g is %g, not %g (%d)", texts[t], (double)x, (double)y,
                              (double)g, (double)want, way);
            }
        }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

static real of_sigmoid(real a) { return 1 / (1 + expl(-a)); }
static real of_softplus(real a) { return fmaxl(a, 0) + log1pl(expl(-fabsl(a))); }
static real of_sinc(real a)
{
    const real pi = acosl(-1);
    return a == 0 ? 1 : isinf(a) ? 0 : sinl((a - 2 * rintl(a / 2)) * pi) / (a * pi);
}
static real of_radians(real a) { return a * (acosl(-1) / 180); }
static real of_degrees(real a) { return a * (180 / acosl(-1)); }

static const struct {
    const char *name;
    real (*of)(real);
    real part, slack;
} smooth_functions[] = {
    { "sigmoid($1)", of_sigmoid, 0x1p-20L, 1e-37L },
    { "softplus($1)", of_softplus, 0x1p-20L, 1e-37L },
    { "sinc($1)", of_sinc, 0, 0x1p-21L },
    { "radians($1)", of_radians, 0x1p-22L, 1e-44L },
    { "degrees($1)", of_degrees, 0x1p-22L, 1e-44L },
};

/* Of levels, and of floats among which are the largest, the least and none. */
START_TEST(smooth_functions_of_numbers)
{
    static const real special[] = { 0, 1, -1, 3e36L, -3e36L, INFINITY, -INFINITY, NAN, 0.5L, -7.5L, 88, -88, 1e-3L };
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const size_t f = (size_t)_i / WRITTEN_DTYPES;
    picture a = levels(dtype, 4, 48), want = picture_new(IMGPAR_F32, H, W, 4);
    for (size_t k = 0; dtype == IMGPAR_F32 && k < sizeof special / sizeof *special; k++)
        a.v[k] = rounded(dtype, special[k]);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        want.v[k] = smooth_functions[f].of(a.v[k]);
        want.slack[k] =
            isfinite(want.v[k]) ? fabsl(want.v[k]) * smooth_functions[f].part + smooth_functions[f].slack : 0;
    }
    written_expect(smooth_functions[f].name, (const picture *[]){ &a }, 1, &want, true);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- messages
 * -------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *message;
} wrong[] = {
    { "unsharp($1, sigma=-1)", "unsharp: sigma=-1 is below 0" },
    { "rgb_to_hsv($1)", "rgb_to_hsv: a is [23, 37, 1] u8; it must have 3 channels, or 4 with alpha" },
    { "equalize(cast($1, f32))", "equalize: a is [23, 37, 1] f32; its levels must be u8 or u16" },
    { "rotate(reshape($1, [851]), 30)", "rotate: a is [851] u8, which is no image" },
};

START_TEST(a_message_names_the_row)
{
    picture a = levels(IMGPAR_U8, 1, 47);
    imgpar_array *in = picture_array(written_context, &a), *out = imgpar_apply(written_context, wrong[_i].text, &in, 1);
    ck_assert_msg(strstr(imgpar_array_message(out), wrong[_i].message) != NULL, "%s", imgpar_array_message(out));
    imgpar_array_release(out);
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

/* ---- nothing is forgotten
 * -------------------------------------------------------------------------------------------------- */

START_TEST(every_written_row_is_tested)
{
    static const char tested[] =
        "opening closing tophat blackhat morphgrad unsharp highpass gamma normalize equalize otsu adaptive_threshold "
        "saturation rgb_to_hsv hsv_to_rgb rgb_to_lab lab_to_rgb rgb_to_ycbcr ycbcr_to_rgb rot90 rotate composite "
        "opaque "
        /* check_written_tone */
        "brightness contrast exposure level autolevel posterize solarize vignette tonemap sepia hue_rotate vibrance "
        "gray_world rgb_to_linear linear_to_rgb rgb_to_xyz xyz_to_rgb rgb_to_oklab oklab_to_rgb rgb_to_hsl hsl_to_rgb "
        "rgb_to_cmyk cmyk_to_rgb "
        "lab_to_lch lch_to_lab delta_e blend_mode white_patch rgb_to_yuv yuv_to_rgb rgb_to_yiq yiq_to_rgb "
        "sign isnan isinf isfinite hypot sigmoid softplus sinc radians degrees "
        /* check_generators */
        "poisson_noise "
        /* check_written_shapes */
        "rectangle ellipse line checkerboard linear_gradient radial_gradient cover contain warp mse mae "
        /* check_written_windows */
        "bilateral nlmeans guided scharr prewitt laplacian dog emboss local_stddev niblack sauvola harris shi_tomasi "
        "pyr_down pyr_up lbp kuwahara "
        /* check_written_camera */
        "demosaic dither undistort psnr ssim "
        /* check_written_geometry */
        "extent pixelate swirl polar unpolar "
        /* check_written_photo */
        "palette quantize "
        "clahe histogram_match curves duotone temperature color_balance local_contrast shadows_highlights dehaze "
        "inpaint seamless_clone richardson_lucy wiener "
        /* check_written_multiscale */
        "blend_pyramid exposure_fusion focus_stack hdr_merge "
        /* check_written_drawing */
        "polygon polyline montage fit frame rounded_corners watermark drop_shadow "
        /* check_written_text */
        "text stamp "
        /* check_written_arrays */
        "diff gradient softmax integral outer trace tril triu entropy skewness kurtosis correlation sharpness "
        "logsumexp trapezoid unit standardize smoothstep interp kron cov cdist rms rmse "
        "cosine_similarity iou dice centroid colorfulness noise_level "
        /* check_written_lines */
        "nansum nanmean nanvar nanstd nan_to_num ptp average unwrap cumulative_trapezoid isin lookup_by cross vander "
        /* check_written_pictures */
        "lut3d ahash dhash phash hamming local_laplacian lens_blur "
        /* check_written_regions */
        "group_sum group_count group_mean group_min group_max labels reconstruct fill_holes clear_border region_shapes "
        "region_moments "
        /* check_written_masks */
        "regional_maxima regional_minima h_maxima h_minima peaks watershed remove_small largest_region flood "
        "flood_fill skeleton thin "
        /* check_written_outlines */
        "hit_or_miss find_trim hough_circles convex_hull hull_points find_contours moments hu_moments "
        /* check_written_motion */
        "estimate_affine estimate_similarity estimate_homography transform_points inliers warp_by "
        /* check_written_features */
        "canny match_template phase_correlation register fast ms_ssim histogram2d mutual_information "
        "nanpercentile percentiles optical_flow "
        /* check_written_transforms */
        "dct idct dct2 idct2 rfft irfft haar ihaar daubechies4 idaubechies4 ";
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const ip_op *op = ip_op_find(imgpar_op_get(k)->name);
        char word[80];
        snprintf(word, sizeof word, "%s ", op->info.name);
        ck_assert_msg(op->expand != ip_expand_written || strstr(tested, word), "%s", op->info.name);
    }
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, openings_and_closings, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, an_unsharp_mask, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, what_a_blur_removes, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, curves_leave_alpha_alone, 0, 4 * WRITTEN_DTYPES);
    tcase_add_test(tc, a_flat_image_stays_flat);
    tcase_add_loop_test(tc, equalized_levels, 0, 2);
    tcase_add_test(tc, the_threshold_of_otsu);
    tcase_add_loop_test(tc, thresholds_by_what_is_around, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, saturation_is_what_differs_from_gray, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, hues_and_back, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, every_hue);
    tcase_add_loop_test(tc, lightness_and_back, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, known_colours);
    tcase_add_loop_test(tc, lumas_and_back, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, quarter_turns, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_turn_by_any_angle, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_picture_over_another, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, operators_of_porter_and_duff, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, an_alpha_that_is_opaque, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, an_alpha_is_alpha);
    tcase_add_test(tc, one_channel_in_front_of_alpha);
    tcase_add_test(tc, light_of_floats_adds_up);
    tcase_add_loop_test(tc, gray_in_front_of_alpha, 0, 4);
    tcase_add_test(tc, functions_of_numbers);
    tcase_add_loop_test(tc, smooth_functions_of_numbers, 0,
                        (int)(sizeof smooth_functions / sizeof *smooth_functions) * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_message_names_the_row, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(tc, every_written_row_is_tested);
    return written_run("written", tc);
}
