/* SPDX-License-Identifier: MIT */
/*
 * Rows of cameras and lenses (ops/written_camera.def), and measures of how alike two pictures are, against plain loops
 * in long double.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 19, W = 22 };

/* The device computes bytes, of the rest only in the full tier. */
static void expect(const char *text, const picture *const *in, int n, picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, in, n, want, in[0]->dtype == IMGPAR_U8 || test_tier_is_full());
}

/* ---- a mosaic -------------------------------------------------------------------------------- */

static const char *const patterns[] = { "rggb", "bggr", "grbg", "gbrg" };
static const char letters[] = "rgb";

/* The colour of a site, 0 to 2; patterns repeat, also beyond edges that are mirrored. */
static int colour_at(const char *pattern, int64_t y, int64_t x)
{
    return (int)(strchr(letters, pattern[(y & 1) * 2 + (x & 1)]) - letters);
}

/* The colour as the mean of the nearest sites that have it. */
static real bilinear(const picture *a, const char *pattern, int64_t y, int64_t x, int colour)
{
    for (int distance = 0; distance <= 2; distance++) {
        real sum = 0;
        int n = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (dy * dy + dx * dx != distance || colour_at(pattern, y + dy, x + dx) != colour) continue;
                sum += picture_read(a, y + dy, x + dx, 0, IMGPAR_BORDER_REFLECT101, 0);
                n++;
            }
        if (n > 0) return sum / n;
    }
    ck_abort_msg("a colour is missing");
    return 0;
}

/* As Malvar and others tell it: the bilinear value, and a gain times the Laplacian of the colour that is there, by the
 * sites of that colour at distance 2; beside red and blue along their rows or columns, weights of its two directions
 * are 1 and -1/2. */
static real malvar(const picture *a, const char *pattern, int64_t y, int64_t x, int colour)
{
    const int here = colour_at(pattern, y, x);
    const real v = picture_read(a, y, x, 0, IMGPAR_BORDER_REFLECT101, 0);
    if (here == colour) return v;
#define AT(DY, DX) picture_read(a, y + (DY), x + (DX), 0, IMGPAR_BORDER_REFLECT101, 0)
    const real vertical = AT(-2, 0) + AT(2, 0), horizontal = AT(0, -2) + AT(0, 2);
    const real diagonal = AT(-1, -1) + AT(-1, 1) + AT(1, -1) + AT(1, 1);
    const real mean = bilinear(a, pattern, y, x, colour);
    if (colour == 1) return mean + (v - (vertical + horizontal) / 4) / 2;
    if (here != 1) return mean + 0.75L * (v - (vertical + horizontal) / 4);
    const bool is_along = colour_at(pattern, y, x + 1) == colour;
    const real same = is_along ? horizontal : vertical, across = is_along ? vertical : horizontal;
    return mean + 0.625L * v - (diagonal + same - across / 2) / 8;
#undef AT
}

START_TEST(mosaics)
{
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const char *pattern = patterns[_i % 4];
    picture a = written_levels(dtype, H, W, 1, 5);
    picture smooth = picture_new(dtype, H, W, 3), want = picture_new(dtype, H, W, 3);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        smooth.v[k] = bilinear(&a, pattern, k / 3 / W, k / 3 % W, (int)(k % 3));
        want.v[k] = malvar(&a, pattern, k / 3 / W, k / 3 % W, (int)(k % 3));
        if (dtype != IMGPAR_F32) want.v[k] = fminl(fmaxl(want.v[k], 0), dtype_full(dtype));
    }
    char text[80];
    const real slack = dtype == IMGPAR_F32 ? 1e-6L : 1;
    snprintf(text, sizeof text, "demosaic($1, %s)", pattern);
    expect(text, (const picture *const[]){ &a }, 1, &want, slack);
    snprintf(text, sizeof text, "demosaic($1, %s, method=bilinear)", pattern);
    expect(text, (const picture *const[]){ &a }, 1, &smooth, slack);
    picture_free(&a);
    picture_free(&smooth);
    picture_free(&want);
}
END_TEST

/* As Hirakawa and Parks tell it. The mosaic's green along rows, 0, or columns, 1; beyond the edges that of the site
 * which is mirrored there. */
static real directed_green(const picture *a, const char *pattern, int64_t y, int64_t x, int direction)
{
    y = y < 0 ? -y : y >= H ? 2 * H - 2 - y : y;
    x = x < 0 ? -x : x >= W ? 2 * W - 2 - x : x;
#define AT(K) picture_read(a, y + (direction ? (K) : 0), x + (direction ? 0 : (K)), 0, IMGPAR_BORDER_REFLECT101, 0)
    if (colour_at(pattern, y, x) == 1) return AT(0);
    return (2 * (AT(-1) + AT(0) + AT(1)) - AT(-2) - AT(2)) / 4;
#undef AT
}

/* A colour: what it differs from green at the nearest sites that have it, in the mean. */
static real directed_colour(const picture *a, const char *pattern, int64_t y, int64_t x, int direction, int colour)
{
    const real green = directed_green(a, pattern, y, x, direction);
    for (int distance = 0; distance <= 2 && colour != 1; distance++) {
        real sum = 0;
        int n = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (dy * dy + dx * dx != distance || colour_at(pattern, y + dy, x + dx) != colour) continue;
                sum += picture_read(a, y + dy, x + dx, 0, IMGPAR_BORDER_REFLECT101, 0) -
                       directed_green(a, pattern, y + dy, x + dx, direction);
                n++;
            }
        if (n > 0) return green + sum / n;
    }
    return green;
}

/* CIELAB of linear sRGB with white full. */
static void lab_of_light(const real rgb[3], real full, real lab[3])
{
    static const real xyz[3][3] = { { 0.4124564L, 0.3575761L, 0.1804375L },
                                    { 0.2126729L, 0.7151522L, 0.0721750L },
                                    { 0.0193339L, 0.1191920L, 0.9503041L } };
    real f[3];
    for (int k = 0; k < 3; k++) {
        const real white = xyz[k][0] + xyz[k][1] + xyz[k][2];
        const real t = (xyz[k][0] * rgb[0] + xyz[k][1] * rgb[1] + xyz[k][2] * rgb[2]) / white / full;
        f[k] = t > 216 / 24389.0L ? cbrtl(t) : (24389 / 27.0L * t + 16) / 116;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

static real labs_of[2][H][W][3]; /* by direction */

/* How far neighbour k, left, right, up or down, is from a pixel: in lightness, and in colour squared. */
static void far_in_lab(int direction, int64_t y, int64_t x, int k, real far[2])
{
    const int64_t v = y + (k < 2 ? 0 : 2 * k - 5), u = x + (k < 2 ? 2 * k - 1 : 0);
    const real *p = labs_of[direction][y][x];
    const real *q = labs_of[direction][v < 0 ? 0 : v >= H ? H - 1 : v][u < 0 ? 0 : u >= W ? W - 1 : u];
    far[0] = fabsl(q[0] - p[0]);
    far[1] = (q[1] - p[1]) * (q[1] - p[1]) + (q[2] - p[2]) * (q[2] - p[2]);
}

/* How many neighbours are near along rows, less along columns; *is_close: a little more or less would change it. */
static int more_even_along_rows(int64_t y, int64_t x, bool *is_close)
{
    real far[2][4][2], limit[2];
    int n = 0;
    for (int direction = 0; direction < 2; direction++)
        for (int k = 0; k < 4; k++)
            far_in_lab(direction, y, x, k, far[direction][k]);
    for (int what = 0; what < 2; what++)
        limit[what] = fminl(fmaxl(far[0][0][what], far[0][1][what]), fmaxl(far[1][2][what], far[1][3][what]));
    for (int direction = 0; direction < 2; direction++)
        for (int k = 0; k < 4; k++) {
            const real *is = far[direction][k];
            for (int what = 0; what < 2; what++)
                *is_close |= is[what] != limit[what] && fabsl(is[what] - limit[what]) < 1e-3L + limit[what] * 1e-4L;
            n += is[0] <= limit[0] && is[1] <= limit[1] ? 1 - 2 * direction : 0;
        }
    return n;
}

START_TEST(mosaics_by_homogeneity)
{
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const char *pattern = patterns[_i % 4];
    const real full = dtype == IMGPAR_F32 ? 1 : dtype_full(dtype);
    picture a = written_levels(dtype, H, W, 1, 5), want = picture_new(dtype, H, W, 3);
    real rgb[2][H][W][3];
    int n_close = 0, n_along[2] = { 0, 0 };
    for (int direction = 0; direction < 2; direction++)
        for (int64_t k = 0; k < H * W; k++) {
            for (int c = 0; c < 3; c++)
                rgb[direction][k / W][k % W][c] = directed_colour(&a, pattern, k / W, k % W, direction, c);
            lab_of_light(rgb[direction][k / W][k % W], full, labs_of[direction][k / W][k % W]);
        }
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            bool is_close = false;
            int more = 0;
            for (int k = 0; k < 9; k++) {
                const int64_t v = y + k / 3 - 1, u = x + k % 3 - 1;
                more += more_even_along_rows(v < 0 ? 0 : v >= H ? H - 1 : v, u < 0 ? 0 : u >= W ? W - 1 : u, &is_close);
            }
            n_close += is_close;
            if (more != 0) n_along[more < 0]++;
            for (int c = 0; c < 3; c++) {
                const int64_t at = (y * W + x) * 3 + c;
                const real h = rgb[0][y][x][c], w = rgb[1][y][x][c];
                want.v[at] = more > 0 ? h : more < 0 ? w : (h + w) / 2;
                if (dtype != IMGPAR_F32) want.v[at] = fminl(fmaxl(want.v[at], 0), full);
                want.slack[at] = (dtype == IMGPAR_F32 ? 1e-6L : 1) + (is_close ? fabsl(h - w) : 0);
            }
        }
    ck_assert_msg(n_close < H * W / 4 && n_along[0] > 20 && n_along[1] > 20, "%d %d %d", n_close, n_along[0],
                  n_along[1]);
    char text[80];
    snprintf(text, sizeof text, "demosaic($1, %s, method=ahd)", pattern);
    written_expect(text, (const picture *const[]){ &a }, 1, &want, dtype == IMGPAR_U8 || test_tier_is_full());
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* Rows along stripes of rows: no colour comes from the other stripe. */
START_TEST(a_mosaic_of_stripes)
{
    picture a = picture_new(IMGPAR_U8, H, W, 1), want = picture_new(IMGPAR_U8, H, W, 3);
    for (int64_t k = 0; k < H * W; k++)
        a.v[k] = k / W >= 8 ? 200 : 40;
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / 3 / W;
        want.v[k] = a.v[k / 3];
        want.slack[k] = y == 7 || y == 8 ? 80 : 0; /* there a line of one colour has no site */
    }
    written_expect("demosaic($1, method=ahd)", (const picture *const[]){ &a }, 1, &want, false);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* A plane of one slope is found again to the digit, away from the edges, where it is bent. */
START_TEST(a_mosaic_of_a_slope)
{
    picture a = picture_new(IMGPAR_F32, H, W, 1), want = picture_new(IMGPAR_F32, H, W, 3);
    for (int64_t k = 0; k < H * W; k++)
        a.v[k] = 8 * (k / W) + 16 * (k % W);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / 3 / W, x = k / 3 % W;
        const bool is_inside = y >= 2 && y < H - 2 && x >= 2 && x < W - 2;
        want.v[k] = a.v[k / 3];
        want.slack[k] = is_inside ? 0 : 1000;
    }
    written_expect("demosaic($1)", (const picture *const[]){ &a }, 1, &want, false);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- few tones ------------------------------------------------------------------------------- */

/* Bayer's matrix of 2 n by that of n: [4 M, 4 M + 2; 4 M + 3, 4 M + 1]. */
static int bayer(int n, int64_t y, int64_t x)
{
    static const int two[2][2] = { { 0, 2 }, { 3, 1 } };
    return n == 1 ? 0 : 4 * bayer(n / 2, y % (n / 2), x % (n / 2)) + two[y / (n / 2)][x / (n / 2)];
}

START_TEST(few_tones)
{
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int channels = _i % 4 + 1;
    const real full = dtype_full(dtype);
    picture a = written_levels(dtype, H, W, channels, 6), want = picture_copy(&a), two = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real limit = (bayer(8, k / channels / W % 8, k / channels % W % 8) + 0.5L) / 64;
        if (picture_is_alpha(&a, k % channels)) continue;
        want.v[k] = rounded(dtype, full * floorl(a.v[k] / full * 4 + limit) / 4);
        two.v[k] = full * floorl(a.v[k] / full + limit);
    }
    expect("dither($1, 5)", (const picture *const[]){ &a }, 1, &want, 0);
    expect("dither($1)", (const picture *const[]){ &a }, 1, &two, 0);
    picture_free(&a);
    picture_free(&want);
    picture_free(&two);
}
END_TEST

/* What each method adds, over the divisor: the pixel's row behind it, then the rows below, from two columns before. */
static const struct {
    const char *name;
    int divisor, shares[12];
} methods[] = {
    { "floyd_steinberg", 16, { 7, 0, 0, 3, 5, 1 } },          { "jarvis", 48, { 7, 5, 3, 5, 7, 5, 3, 1, 3, 5, 3, 1 } },
    { "stucki", 42, { 8, 4, 2, 4, 8, 4, 2, 1, 2, 4, 2, 1 } }, { "atkinson", 8, { 1, 1, 0, 1, 1, 1, 0, 0, 0, 1 } },
    { "sierra", 32, { 5, 3, 2, 4, 5, 4, 2, 0, 2, 3, 2 } },
};
enum { N_METHODS = sizeof methods / sizeof *methods };

/* The plain loop: the picture itself gets the errors. */
static picture diffused(const picture *a, int method, int tones, bool is_serpentine)
{
    picture v = picture_copy(a), p = picture_copy(a);
    const real full = dtype_full(a->dtype);
    for (int64_t k = 0; k < picture_count(&v); k++)
        v.v[k] = fminl(fmaxl(v.v[k], 0), full);
    for (int64_t k = 0; k < a->h * a->w * a->c; k++) {
        const int64_t c = k % a->c, y = k / a->c / a->w, i = k / a->c % a->w;
        const int step = is_serpentine && y % 2 ? -1 : 1;
        const int64_t x = step > 0 ? i : a->w - 1 - i;
        if (picture_is_alpha(a, c)) continue;
        const real now = *picture_at(&v, y, x, c);
        real *to = picture_at(&p, y, x, c), best = INFINITY;
        for (int tone = 0; tone < tones; tone++) { /* of equals the last */
            const real level = full * tone / (tones - 1);
            if (fabsl(now - level) > best) continue;
            best = fabsl(now - level);
            *to = rounded(a->dtype, level);
        }
        for (int j = 0; j < 12; j++) {
            const int64_t dy = j < 2 ? 0 : j < 7 ? 1 : 2, dx = j < 2 ? j + 1 : (j - 2) % 5 - 2;
            if (y + dy >= a->h || x + step * dx < 0 || x + step * dx >= a->w) continue;
            *picture_at(&v, y + dy, x + step * dx, c) +=
                (now - *to) * methods[method].shares[j] / methods[method].divisor;
        }
    }
    picture_free(&v);
    return p;
}

START_TEST(errors_that_are_passed_on)
{
    static const struct {
        int64_t h, w;
    } sizes[] = { { H, W }, { 1, 1 }, { 1, 9 }, { 9, 1 }, { 2, 3 }, { 11, 150 } };
    const imgpar_dtype dtype = written_dtypes[_i / N_METHODS];
    const int method = _i % N_METHODS;
    for (int k = 0; k < 6; k++) {
        picture a = written_levels(dtype, sizes[k].h, sizes[k].w, k % 4 + 1, 16 + (unsigned)k);
        const int tones = k == 1 ? 5 : k == 2 ? 256 : 2 + k;
        picture want = diffused(&a, method, tones, k % 2 == 0), two = diffused(&a, method, 2, false);
        char text[120];
        snprintf(text, sizeof text, "error_diffusion($1, %d, kernel=%s, serpentine=%s)", tones, methods[method].name,
                 k % 2 == 0 ? "true" : "false");
        const bool on_device = k == 0 && method == 0;
        written_expect(text, (const picture *const[]){ &a }, 1, &want, on_device);
        snprintf(text, sizeof text, "error_diffusion($1, kernel=%s)", methods[method].name);
        written_expect(text, (const picture *const[]){ &a }, 1, &two, false);
        picture_free(&a);
        picture_free(&want);
        picture_free(&two);
    }
}
END_TEST

/* By hand: 100, 143.75, 51.33, 122.46; then 110.39, 129.40, 77.10, 175.21. */
START_TEST(errors_by_hand)
{
    written_prints("error_diffusion(set_white(numbers([100 100 100 100; 100 100 100 100], dtype=u8), 255))",
                   "[0 255 0 0; 0 255 0 255]");
    written_prints("error_diffusion(set_white(numbers([nan 0.4 2 -3]), 1))", "[0 0 1 0]");
    /* planes and channels, of which there may be many, by themselves */
    written_prints("a = set_white(cast(random([2, 5, 9, 6]) * 255, u8), 255)\n"
                   "fn part(v) = slice(v, [1, 0, 0, 4], [2, 5, 9, 6])\n"
                   "all(part(error_diffusion(a, 3)) == error_diffusion(part(a), 3))",
                   "true");
    written_refuses("error_diffusion($1, 1)", "error_diffusion: tones=1 is below 2");
}
END_TEST

/* ---- a lens ---------------------------------------------------------------------------------- */

START_TEST(a_lens)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 7), want = picture_copy(&a);
    const real u = (W - 1) / 2.0L, v = (H - 1) / 2.0L;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real x = k / 3 % W - u, y = k / 3 / W - v, s = (x * x + y * y) / (u * u + v * v);
        const real f = 1 - 0.15L * s + 0.03L * s * s;
        want.v[k] = written_between(&a, v + y * f, u + x * f, k % 3, IMGPAR_BORDER_REPLICATE);
    }
    /* of noise, in which a position's last place is much */
    expect("undistort($1, -0.15, 0.03, border=replicate)", (const picture *const[]){ &a }, 1, &want,
           dtype == IMGPAR_U8 ? 1 : dtype_full(dtype) * 0x1p-12L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* Where a pixel at x, y from the centre is read, in units of that to the corners, by Newton's method of the model's own
 * formula r = q / (1 + k q^2); false: nowhere. */
static bool divided(real k, real *x, real *y)
{
    const real r = hypotl(*x, *y);
    real q = 0;
    if (4 * k * r * r > 1) return false;
    for (int n = 0; n < 200; n++)
        q -= (r * (1 + k * q * q) - q) / (2 * r * k * q - 1);
    if (r > 0) {
        *x *= q / r;
        *y *= q / r;
    }
    return true;
}

/* Slopes, which forgive what positions in f32 miss. */
static picture slopes(imgpar_dtype dtype)
{
    picture a = picture_new(dtype, H, W, 3);
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.v[k] = rounded(dtype, dtype_full(dtype) * (0.2L + 0.015L * (real)(k / 3 % W) + 0.005L * (real)(k / 3 / W) +
                                                     0.03L * (real)(k % 3)));
    return a;
}

/* What is at no distance is what is at the edges. */
static void expect_division(const picture *a, real k1, const char *word, imgpar_border border, real slack)
{
    const real u = (W - 1) / 2.0L, v = (H - 1) / 2.0L, s = hypotl(u, v);
    picture want = picture_copy(a);
    char text[120];
    for (int64_t k = 0; k < picture_count(a); k++) {
        const real i = (real)(k / 3 % W) - u, j = (real)(k / 3 / W) - v;
        real x = i / s, y = j / s;
        if (divided(k1, &x, &y))
            want.v[k] = written_between(a, v + y * s, u + x * s, k % 3, border);
        else
            want.v[k] = *picture_at(a,
                                    (int64_t)(j < 0   ? 0
                                              : j > 0 ? 2 * v
                                                      : v),
                                    (int64_t)(i < 0   ? 0
                                              : i > 0 ? 2 * u
                                                      : u),
                                    k % 3);
    }
    snprintf(text, sizeof text, "undistort($1, %Lg, model=division, border=%s)", k1, word);
    expect(text, (const picture *const[]){ a }, 1, &want, slack);
    picture_free(&want);
}

START_TEST(models_of_lenses)
{
    static const real division[] = { -0.3L, 0.15L, 0.6L }, brown[] = { -0.15L, 0.03L, 0.02L, 0.004L, -0.007L };
    const imgpar_dtype dtype = written_dtypes[_i];
    const real u = (W - 1) / 2.0L, v = (H - 1) / 2.0L, s = hypotl(u, v);
    const real slack = fmaxl(dtype == IMGPAR_F32 ? 0 : 1, dtype_full(dtype) * 0x1p-14L);
    picture a = slopes(dtype), want = picture_copy(&a);
    char text[120];
    for (int n = 0; n < 3; n++) { /* the last one sees no corner */
        for (int64_t k = 0; k < picture_count(&a); k++) {
            real x = ((real)(k / 3 % W) - u) / s, y = ((real)(k / 3 / W) - v) / s;
            const bool is_seen = divided(division[n], &x, &y);
            want.v[k] = is_seen ? written_between(&a, v + y * s, u + x * s, k % 3, IMGPAR_BORDER_CONSTANT) : 0;
        }
        snprintf(text, sizeof text, "undistort($1, %Lg, model=division)", division[n]);
        expect(text, (const picture *const[]){ &a }, 1, &want, slack);
        expect_division(&a, division[n], "replicate", IMGPAR_BORDER_REPLICATE, slack);
        expect_division(&a, division[n], "reflect", IMGPAR_BORDER_REFLECT, slack);
        expect_division(&a, division[n], "wrap", IMGPAR_BORDER_WRAP, slack);
    }
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real x = ((real)(k / 3 % W) - u) / s, y = ((real)(k / 3 / W) - v) / s, r = x * x + y * y;
        const real f = 1 + brown[0] * r + brown[1] * r * r + brown[2] * r * r * r;
        const real fx = x * f + 2 * brown[3] * x * y + brown[4] * (r + 2 * x * x);
        const real fy = y * f + brown[3] * (r + 2 * y * y) + 2 * brown[4] * x * y;
        want.v[k] = written_between(&a, v + fy * s, u + fx * s, k % 3, IMGPAR_BORDER_REPLICATE);
    }
    expect("undistort($1, -0.15, 0.03, border=replicate, k3=0.02, p1=0.004, p2=-0.007)", (const picture *const[]){ &a },
           1, &want, slack);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(models_have_their_coefficients)
{
    written_refuses("undistort($1, 0.1, k2=0.5, model=division)",
                    "undistort: k2=0.5 belongs to model=brown_conrady; model=division has k1 alone");
    written_refuses("undistort($1, 0.1, p1=0.5, model=division)", "p1=0.5 belongs to model=brown_conrady");
}
END_TEST

/* ---- how alike two pictures are --------------------------------------------------------------- */

enum { RADIUS = 5 };

/* The structural similarity of the windows there. */
static real similarity(const picture *a, const picture *b, int64_t y, int64_t x, int64_t c)
{
    real sum = 0, m = 0, n = 0, u = 0, v = 0, w = 0;
    const real full = dtype_full(a->dtype);
    for (int pass = 0; pass < 2; pass++)
        for (int dy = -RADIUS; dy <= RADIUS; dy++)
            for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                const real weight = expl(-(dy * dy + dx * dx) / 4.5L);
                const real p = picture_read(a, y + dy, x + dx, c, IMGPAR_BORDER_REFLECT, 0) / full;
                const real q = picture_read(b, y + dy, x + dx, c, IMGPAR_BORDER_REFLECT, 0) / full;
                if (pass == 0) {
                    sum += weight;
                    m += weight * p;
                    n += weight * q;
                } else {
                    u += weight / sum * (p - m / sum) * (p - m / sum);
                    v += weight / sum * (q - n / sum) * (q - n / sum);
                    w += weight / sum * (p - m / sum) * (q - n / sum);
                }
            }
    m /= sum;
    n /= sum;
    return (2 * m * n + 0.0001L) * (2 * w + 0.0009L) / ((m * m + n * n + 0.0001L) * (u + v + 0.0009L));
}

START_TEST(how_alike_two_pictures_are) /* _i: the dtype, and whether there is alpha, which is compared, too */
{
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const real full = dtype_full(dtype);
    const int c = _i % 2 ? 4 : 3;
    picture a = written_levels(dtype, H, W, c, 8), b = written_levels(dtype, H, W, c, 9);
    real squares = 0, all = 0, inside = 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        b.v[k] = rounded(dtype, (3 * a.v[k] + b.v[k]) / 4);
        squares += (a.v[k] - b.v[k]) * (a.v[k] - b.v[k]) / picture_count(&a);
    }
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t y = k / c / W, x = k / c % W;
        const real s = similarity(&a, &b, y, x, k % c);
        all += s / picture_count(&a);
        if (y >= RADIUS && y < H - RADIUS && x >= RADIUS && x < W - RADIUS)
            inside += s / (c * (H - 2 * RADIUS) * (W - 2 * RADIUS));
    }
    const picture *const both[] = { &a, &b }, *const same[] = { &a, &a };
    picture want = picture_new(IMGPAR_F32, 1, 1, 1), one = picture_new(IMGPAR_F64, 1, 1, 1);
    want.v[0] = 10 * log10l(full * full / squares);
    expect("psnr($1, $2)", both, 2, &want, 0x1p-15L);
    want.v[0] = 10 * log10l(10000 / squares);
    expect("psnr($1, $2, peak=100)", both, 2, &want, 0x1p-15L);
    want.v[0] = INFINITY;
    expect("psnr($1, $2)", same, 2, &want, 0);
    one.v[0] = inside;
    expect("ssim($1, $2)", both, 2, &one, 0x1p-20L);
    one.v[0] = all;
    expect("ssim($1, $2, edges=reflect)", both, 2, &one, 0x1p-20L);
    one.v[0] = 1;
    expect("ssim($1, $2)", same, 2, &one, 0x1p-40L);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
    picture_free(&one);
}
END_TEST

START_TEST(what_cannot_be_compared_is_told)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        { "psnr($1, gray($1))", "psnr: a is [19, 22, 3] u8, b is [19, 22, 1] u8; they must have one shape; "
                                "gray(a) makes it gray, too" },
        { "ssim(gray($1), $1)", "ssim: a is [19, 22, 1] u8, b is [19, 22, 3] u8; they must have one shape; gray(b) "
                                "makes it gray, too" },
        { "mse($1, crop($1, 0, 0, 1, 1))", "mse: a is [19, 22, 3] u8, b is [1, 1, 3] u8; they must have one shape" },
        { "mse($1, depth($1, 16))", "mse: a has white 255, b has 65535; depth() makes them alike" },
        { "mae($1, depth($1, 16))", "mae: a has white 255, b has 65535; depth() makes them alike" },
        { "psnr($1, depth($1, 16))", "psnr: a has white 255, b has 65535; depth() makes them alike" },
        { "ssim($1, crop($1, 0, 0, 4, 4))", "ssim: a is [19, 22, 3] u8, b is [4, 4, 3] u8; they must have one shape" },
        { "ssim(crop($1, 0, 0, 22, 10), crop($1, 0, 0, 22, 10))",
          "ssim: the window of 11x11 does not fit [10, 22, 3] u8; with edges=reflect edges are mirrored" },
        { "demosaic($1)", "demosaic: a is [19, 22, 3] u8; it must be of 1 channel and at least 2 x 2" },
        { "demosaic(crop(gray($1), 0, 0, 1, 9))",
          "demosaic: a is [9, 1, 1] u8; it must be of 1 channel and at least 2 x 2" },
    };
    picture a = written_levels(IMGPAR_U8, H, W, 3, 11);
    imgpar_array *in = picture_array(written_context, &a);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        imgpar_array *out = imgpar_apply(written_context, wrong[k].text, &in, 1);
        ck_assert_msg(strstr(imgpar_array_message(out), wrong[k].message) != NULL, "%s", imgpar_array_message(out));
        imgpar_array_release(out);
    }
    imgpar_array *same = imgpar_ssim(in, in, "valid");
    double one = 0;
    ck_assert_int_eq(imgpar_array_read(same, &one, sizeof one), IMGPAR_OK);
    ck_assert(fabs(one - 1) < 1e-9);
    imgpar_array_release(same);
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

/* A matrix, as NumPy keeps raw files. */
START_TEST(a_mosaic_as_a_matrix)
{
    picture a = written_levels(IMGPAR_U16, H, W, 1, 12);
    imgpar_array *in = picture_array(written_context, &a), *flat = imgpar_apply(written_context, "squeeze($1)", &in, 1);
    imgpar_array *both[] = { in, flat },
                 *off = imgpar_apply(written_context, "maxval(absdiff(demosaic($1), demosaic($2)))", both, 2);
    int32_t most = -1;
    ck_assert_msg(imgpar_array_read(off, &most, imgpar_dtype_size(IMGPAR_U16)) == IMGPAR_OK, "%s",
                  imgpar_array_message(off));
    ck_assert_int_eq(most & 0xffff, 0);
    imgpar_array_release(off);
    imgpar_array_release(flat);
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

/* ---- patterns -------------------------------------------------------------------------------- */

START_TEST(local_binary_patterns)
{
    static const int around[8][2] = { { 0, 1 },  { -1, 1 }, { -1, 0 }, { -1, -1 },
                                      { 0, -1 }, { 1, -1 }, { 1, 0 },  { 1, 1 } };
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int channels = _i % 4 + 1, n = channels - (channels % 2 == 0 && dtype != IMGPAR_F32);
    picture a = written_levels(dtype, H, W, channels, 10), want = picture_new(IMGPAR_U8, H, W, n);
    for (int64_t k = 0; k < picture_count(&want); k++)
        for (int bit = 0; bit < 8; bit++)
            want.v[k] += written_nearest(&a, k / n / W + around[bit][0], k / n % W + around[bit][1], k % n) >=
                                 written_nearest(&a, k / n / W, k / n % W, k % n)
                             ? 1 << bit
                             : 0;
    expect("lbp($1)", (const picture *const[]){ &a }, 1, &want, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, mosaics, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, mosaics_by_homogeneity, 0, 4 * WRITTEN_DTYPES);
    tcase_add_test(tc, a_mosaic_of_stripes);
    tcase_add_test(tc, a_mosaic_of_a_slope);
    tcase_add_loop_test(tc, errors_that_are_passed_on, 0, N_METHODS * WRITTEN_DTYPES);
    tcase_add_test(tc, errors_by_hand);
    tcase_add_loop_test(tc, few_tones, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_lens, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, models_of_lenses, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, models_have_their_coefficients);
    tcase_add_loop_test(tc, how_alike_two_pictures_are, 0, 2 * WRITTEN_DTYPES);
    tcase_add_test(tc, what_cannot_be_compared_is_told);
    tcase_add_test(tc, a_mosaic_as_a_matrix);
    tcase_add_loop_test(tc, local_binary_patterns, 0, 4 * WRITTEN_DTYPES);
    return written_run("written_camera", tc);
}
