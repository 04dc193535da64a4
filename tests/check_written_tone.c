/* SPDX-License-Identifier: MIT */
/*
 * Tone and colour (ops/written_tone.def) against the formulas that their sources give, pixel by pixel in long double,
 * of shares of white.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 19, W = 23 };
#define PI 3.14159265358979323846264338327950288L

/* The device computes RGB only, in the quick tier of bytes. */
static void expect(const char *text, const picture *const *in, int n, const picture *want)
{
    written_expect(text, in, n, want, in[0]->c == 3 && (in[0]->dtype == IMGPAR_U8 || test_tier_is_full()));
}

static void allow(picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
}

/* A level; floats of about 1: what f32 arithmetic gives. */
static real a_level(imgpar_dtype dtype) { return dtype == IMGPAR_F32 ? 1e-5L : 1; }

/* ---- sRGB ------------------------------------------------------------------------------------ */

static real light(real v) { return v <= 0.04045L ? v / 12.92L : powl((v + 0.055L) / 1.055L, 2.4L); }
static real stored(real v) { return v <= 0.0031308L ? v * 12.92L : 1.055L * powl(v, 1 / 2.4L) - 0.055L; }

static void mix(const real m[9], const real *in, real *out)
{
    for (int k = 0; k < 3; k++)
        out[k] = m[3 * k] * in[0] + m[3 * k + 1] * in[1] + m[3 * k + 2] * in[2];
}

static real largest(const real *v) { return fmaxl(v[0], fmaxl(v[1], v[2])); }
static real least(const real *v) { return fminl(v[0], fminl(v[1], v[2])); }

/* ---- rows that keep the dtype: out of the n colours of a pixel, all in shares of white ------- */

static void each(const real *in, real *out, int n, real (*of)(real))
{
    for (int k = 0; k < n; k++)
        out[k] = of(in[k]);
}
static real brighter(real v) { return v * 1.2L; }
static real stronger(real v) { return (v - 0.25L) * 1.5L + 0.25L; }
static real more_light(real v) { return stored(light(v) * 2); }
static real leveled(real v) { return powl(fminl(fmaxl((v - 0.1L) / 0.7L, 0), 1), 1 / 1.5L); }
static real of_four(real v) { return roundl(v * 3) / 3; }
static real solar(real v) { return v > 0.5L ? 1 - v : v; }
static real reinhard(real v) { return 2 * v / (1 + 2 * v); }
static real uncharted(real v)
{
    return (v * (0.15L * v + 0.10L * 0.50L) + 0.20L * 0.02L) / (v * (0.15L * v + 0.50L) + 0.20L * 0.30L) -
           0.02L / 0.30L;
}
static real hable(real v) { return uncharted(2 * v) / uncharted(11.2L); }
static real aces(real v) { return fminl(fmaxl(v * (2.51L * v + 0.03L) / (v * (2.43L * v + 0.59L) + 0.14L), 0), 1); }

static void of_brightness(const real *in, real *out, int n) { each(in, out, n, brighter); }
static void of_contrast(const real *in, real *out, int n) { each(in, out, n, stronger); }
static void of_exposure(const real *in, real *out, int n) { each(in, out, n, more_light); }
static void of_level(const real *in, real *out, int n) { each(in, out, n, leveled); }
static void of_posterize(const real *in, real *out, int n) { each(in, out, n, of_four); }
static void of_solarize(const real *in, real *out, int n) { each(in, out, n, solar); }
static void of_reinhard(const real *in, real *out, int n) { each(in, out, n, reinhard); }
static void of_hable(const real *in, real *out, int n) { each(in, out, n, hable); }
static void of_aces(const real *in, real *out, int n) { each(in, out, n, aces); }

/* Filter Effects 1: sepia(60%). */
static void of_sepia(const real *in, real *out, int n)
{
    const real k = 1 - 0.6L, rgb[3] = { in[0], in[n == 1 ? 0 : 1], in[n == 1 ? 0 : 2] };
    const real m[9] = { 0.393L + 0.607L * k, 0.769L - 0.769L * k, 0.189L - 0.189L * k,
                        0.349L - 0.349L * k, 0.686L + 0.314L * k, 0.168L - 0.168L * k,
                        0.272L - 0.272L * k, 0.534L - 0.534L * k, 0.131L + 0.869L * k };
    mix(m, rgb, out);
}

/* Filter Effects 1, feColorMatrix hueRotate: three matrices. */
static void of_hue_rotate(const real *in, real *out, int n)
{
    (void)n;
    static const real constant[9] = { 0.213L, 0.715L, 0.072L, 0.213L, 0.715L, 0.072L, 0.213L, 0.715L, 0.072L };
    static const real by_cos[9] = { 0.787L, -0.715L, -0.072L, -0.213L, 0.285L, -0.072L, -0.213L, -0.715L, 0.928L };
    static const real by_sin[9] = { -0.213L, -0.715L, 0.928L, 0.143L, 0.140L, -0.283L, -0.787L, 0.715L, 0.072L };
    real m[9];
    for (int k = 0; k < 9; k++)
        m[k] = constant[k] + cosl(PI / 2.5L) * by_cos[k] + sinl(PI / 2.5L) * by_sin[k];
    mix(m, in, out);
}

static void of_vibrance(const real *in, real *out, int n)
{
    (void)n;
    const real most = largest(in), saturation = most > 0 ? 1 - least(in) / most : 0;
    const real gray = 0.299L * in[0] + 0.587L * in[1] + 0.114L * in[2];
    for (int k = 0; k < 3; k++)
        out[k] = gray + (1 + 0.5L * (1 - saturation)) * (in[k] - gray);
}

enum { GRAY = 2, COLOUR = 8 }; /* sets of 1 << channels without alpha */

static const struct {
    const char *text;
    void (*of)(const real *in, real *out, int n);
    int takes, gives; /* gives: channels without alpha; 0: as it takes */
    real slack;       /* of floats */
} pixelwise[] = {
    { "brightness($1, 1.2)", of_brightness, GRAY | COLOUR, 0, 1e-6L },
    { "contrast($1, 1.5, middle=0.25)", of_contrast, GRAY | COLOUR, 0, 1e-6L },
    { "exposure($1, 1)", of_exposure, GRAY | COLOUR, 0, 0x1p-18L },
    { "level($1, low=0.1, high=0.8, exponent=1.5)", of_level, GRAY | COLOUR, 0, 1e-5L },
    { "posterize($1)", of_posterize, GRAY | COLOUR, 0, 1e-6L },
    { "solarize($1)", of_solarize, GRAY | COLOUR, 0, 1e-6L },
    { "tonemap($1, exposure=2)", of_reinhard, GRAY | COLOUR, 0, 0x1p-18L },
    { "tonemap($1, curve=hable)", of_hable, GRAY | COLOUR, 0, 0x1p-18L },
    { "tonemap($1, curve=aces)", of_aces, GRAY | COLOUR, 0, 0x1p-18L },
    { "sepia($1, 0.6)", of_sepia, GRAY | COLOUR, 3, 1e-6L },
    { "hue_rotate($1, 72)", of_hue_rotate, COLOUR, 0, 1e-6L },
    { "vibrance($1, 0.5)", of_vibrance, COLOUR, 0, 1e-6L },
};
enum { N_PIXELWISE = sizeof pixelwise / sizeof *pixelwise };

/* With as_floats $1 becomes a picture of floats first; what a test gives of floats is data, which has no alpha. */
static void expect_pixelwise(int row, imgpar_dtype dtype, int channels, bool as_floats)
{
    const int n = channels - 1 + channels % 2, gives = pixelwise[row].gives ? pixelwise[row].gives : n;
    const imgpar_dtype result = as_floats ? IMGPAR_F32 : dtype;
    const real full = dtype_full(dtype), full_of_result = dtype_full(result);
    picture a = written_levels(dtype, H, W, channels, 3), want = picture_new(result, H, W, gives + channels - n);
    for (int64_t k = 0; k < H * W; k++) {
        real in[4], out[4];
        for (int c = 0; c < n; c++)
            in[c] = a.v[k * channels + c] / full;
        pixelwise[row].of(in, out, n);
        for (int c = 0; c < gives; c++)
            want.v[k * want.c + c] = out[c] * full_of_result;
        if (n < channels) want.v[k * want.c + gives] = a.v[k * channels + n] / full * full_of_result;
    }
    allow(&want, result == IMGPAR_F32 ? pixelwise[row].slack : 1);
    char text[120];
    const char *from = strchr(pixelwise[row].text, '$');
    snprintf(text, sizeof text, "%.*s%s%s", (int)(from - pixelwise[row].text), pixelwise[row].text,
             as_floats ? "depth($1, float)" : "$1", from + 2);
    expect(text, (const picture *const[]){ &a }, 1, &want);
    picture_free(&a);
    picture_free(&want);
}

START_TEST(tones_and_colours)
{
    const bool as_floats = _i == WRITTEN_DTYPES;
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    for (int row = 0; row < N_PIXELWISE; row++)
        for (int channels = 1; channels <= 4; channels += dtype == IMGPAR_F32 ? 2 : 1)
            if (pixelwise[row].takes & 1 << (channels - 1 + channels % 2))
                expect_pixelwise(row, dtype, channels, as_floats);
}
END_TEST

/* ---- colour spaces: floats, without alpha ---------------------------------------------------- */

static void to_linear(const real *in, real *out, int n) { each(in, out, n, light); }
static void from_linear(const real *in, real *out, int n) { each(in, out, n, stored); }

static const real of_xyz[9] = { 0.4124564L, 0.3575761L, 0.1804375L, 0.2126729L, 0.7151522L,
                                0.0721750L, 0.0193339L, 0.1191920L, 0.9503041L };

/* The x of m x = v, by elimination. */
static void solve(const real m[9], const real *v, real *x)
{
    real rows[3][4];
    for (int r = 0; r < 3; r++) {
        memcpy(rows[r], m + 3 * r, sizeof(real[3]));
        rows[r][3] = v[r];
    }
    for (int p = 0; p < 3; p++)
        for (int r = 0; r < 3; r++)
            for (int k = 3; r != p && k >= p; k--)
                rows[r][k] -= rows[r][p] / rows[p][p] * rows[p][k];
    for (int k = 0; k < 3; k++)
        x[k] = rows[k][3] / rows[k][k];
}

static void to_xyz(const real *in, real *out, int n)
{
    real linear[3];
    each(in, linear, n, light);
    mix(of_xyz, linear, out);
}

static void from_xyz(const real *in, real *out, int n)
{
    real linear[3];
    solve(of_xyz, in, linear);
    each(linear, out, n, stored);
}

/* Ottosson's page of 2020, with its matrices for sRGB; back by solving. */
static const real of_lms[9] = { 0.4122214708L, 0.5363325363L, 0.0514459929L, 0.2119034982L, 0.6806995451L,
                                0.1073969566L, 0.0883024619L, 0.2817188376L, 0.6299787005L };
static const real of_oklab[9] = { 0.2104542553L, 0.7936177850L, -0.0040720468L, 1.9779984951L, -2.4285922050L,
                                  0.4505937099L, 0.0259040371L, 0.7827717662L,  -0.8086757660L };

static void to_oklab(const real *in, real *out, int n)
{
    real linear[3], lms[3];
    each(in, linear, n, light);
    mix(of_lms, linear, lms);
    each(lms, lms, 3, cbrtl);
    mix(of_oklab, lms, out);
}

static void from_oklab(const real *in, real *out, int n)
{
    real lms[3], linear[3];
    solve(of_oklab, in, lms);
    for (int k = 0; k < 3; k++)
        lms[k] = lms[k] * lms[k] * lms[k];
    solve(of_lms, lms, linear);
    each(linear, out, n, stored);
}

/* CSS Color 4, 7: the conversions of HSL. */
static void to_hsl(const real *in, real *out, int n)
{
    (void)n;
    const real most = largest(in), few = least(in), d = most - few, l = (most + few) / 2;
    out[0] = d == 0          ? 0
             : most == in[0] ? 60 * ((in[1] - in[2]) / d + (in[1] < in[2] ? 6 : 0))
             : most == in[1] ? 60 * ((in[2] - in[0]) / d + 2)
                             : 60 * ((in[0] - in[1]) / d + 4);
    out[1] = d == 0 ? 0 : (most - l) / fminl(l, 1 - l);
    out[2] = l;
}

static void from_hsl(const real *in, real *out, int n)
{
    (void)n;
    const real chroma = (1 - fabsl(2 * in[2] - 1)) * in[1], h = in[0] / 60;
    const real second = chroma * (1 - fabsl(fmodl(h, 2) - 1)), m = in[2] - chroma / 2;
    const real of_sector[6][3] = { { chroma, second, 0 }, { second, chroma, 0 }, { 0, chroma, second },
                                   { 0, second, chroma }, { second, 0, chroma }, { chroma, 0, second } };
    for (int k = 0; k < 3; k++)
        out[k] = of_sector[(int)h % 6][k] + m;
}

static void to_lch(const real *in, real *out, int n)
{
    (void)n;
    const real h = atan2l(in[2], in[1]) * 180 / PI;
    out[0] = in[0];
    out[1] = hypotl(in[1], in[2]);
    out[2] = h < 0 ? h + 360 : h;
}

static void from_lch(const real *in, real *out, int n)
{
    (void)n;
    out[0] = in[0];
    out[1] = in[1] * cosl(in[2] * PI / 180);
    out[2] = in[1] * sinl(in[2] * PI / 180);
}

/* From the definitions: luma, and what blue and red have more than it; I and Q are the rounded figures of FCC's. */
static void to_yuv(const real *in, real *out, int n)
{
    (void)n;
    out[0] = 0.299L * in[0] + 0.587L * in[1] + 0.114L * in[2];
    out[1] = 0.492111L * (in[2] - out[0]);
    out[2] = 0.877283L * (in[0] - out[0]);
}

static void from_yuv(const real *in, real *out, int n)
{
    (void)n;
    out[2] = in[1] / 0.492111L + in[0];
    out[0] = in[2] / 0.877283L + in[0];
    out[1] = (in[0] - 0.299L * out[0] - 0.114L * out[2]) / 0.587L;
}

static const real of_yiq[9] = { 0.299L,       0.587L,      0.114L,       0.59590059L, -0.27455667L,
                                -0.32134392L, 0.21153661L, -0.52273617L, 0.31119955L };

static void to_yiq(const real *in, real *out, int n)
{
    (void)n;
    mix(of_yiq, in, out);
}

static void from_yiq(const real *in, real *out, int n)
{
    (void)n;
    solve(of_yiq, in, out);
}

/* What a row makes of a, as floats, within the slacks of its channels. */
static picture made(const picture *a, void (*of)(const real *, real *, int), const real slack[3])
{
    picture p = picture_new(IMGPAR_F32, a->h, a->w, 3);
    for (int64_t k = 0; k < picture_count(&p); k += 3) {
        real in[3];
        for (int c = 0; c < 3; c++)
            in[c] = a->v[k / 3 * a->c + c] / dtype_full(a->dtype);
        of(in, &p.v[k], 3);
        memcpy(&p.slack[k], slack, sizeof(real[3]));
    }
    return p;
}

static const struct {
    const char *there, *back;
    void (*to)(const real *, real *, int), (*from)(const real *, real *, int);
    real slack[3], back_slack;
} spaces[] = {
    { "rgb_to_linear($1)", "linear_to_rgb($1)", to_linear, from_linear, { 0x1p-20L, 0x1p-20L, 0x1p-20L }, 0x1p-20L },
    { "rgb_to_xyz($1)", "xyz_to_rgb($1)", to_xyz, from_xyz, { 0x1p-19L, 0x1p-19L, 0x1p-19L }, 1e-5L },
    { "rgb_to_oklab($1)", "oklab_to_rgb($1)", to_oklab, from_oklab, { 1e-5L, 1e-5L, 1e-5L }, 2e-5L },
    { "rgb_to_hsl($1)", "hsl_to_rgb($1)", to_hsl, from_hsl, { 360 * 0x1p-19L, 0x1p-19L, 0x1p-19L }, 0x1p-19L },
    { "rgb_to_yuv($1)", "yuv_to_rgb($1)", to_yuv, from_yuv, { 0x1p-20L, 0x1p-20L, 0x1p-20L }, 0x1p-19L },
    { "rgb_to_yiq($1)", "yiq_to_rgb($1)", to_yiq, from_yiq, { 0x1p-20L, 0x1p-20L, 0x1p-20L }, 0x1p-19L },
    { "lab_to_lch($1)", "lch_to_lab($1)", to_lch, from_lch, { 0, 0x1p-19L, 360 * 0x1p-20L }, 0x1p-19L },
};
enum { N_SPACES = sizeof spaces / sizeof *spaces };

START_TEST(colour_spaces_and_back)
{
    const int row = _i / WRITTEN_DTYPES;
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    if (strncmp(spaces[row].there, "lab", 3) == 0 && dtype != IMGPAR_F32) return; /* of floats only */
    picture a = written_levels(dtype, H, W, 3 + _i % 2, 5);
    for (int64_t k = 0; k < 27 * a.c; k++) /* all of black, middle and white */
        a.v[k] = rounded(dtype, (real)(k / a.c /
                                       (k % a.c == 0   ? 1
                                        : k % a.c == 1 ? 3
                                                       : 9) %
                                       3) /
                                    2 * dtype_full(dtype));
    picture there = made(&a, spaces[row].to, spaces[row].slack), exact = picture_copy(&there);
    for (int64_t k = 0; k < picture_count(&exact); k++)
        exact.v[k] = rounded(IMGPAR_F32, there.v[k]);
    const real slack[3] = { spaces[row].back_slack, spaces[row].back_slack, spaces[row].back_slack };
    picture back = made(&exact, spaces[row].from, slack);
    expect(spaces[row].there, (const picture *const[]){ &a }, 1, &there);
    expect(spaces[row].back, (const picture *const[]){ &exact }, 1, &back);
    picture_free(&back);
    picture_free(&exact);
    picture_free(&there);
    picture_free(&a);
}
END_TEST

/* Black is what all inks have in common; white paper has none, and black ink alone is black. */
START_TEST(inks_and_back)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3 + _i % 2, 5), inks = picture_new(IMGPAR_F32, H, W, 4),
            back = picture_new(IMGPAR_F32, H, W, 3);
    for (int64_t c = 0; c < a.c; c++) {
        a.v[c] = 0;
        a.v[a.c + c] = dtype_full(dtype);
    }
    for (int64_t k = 0; k < H * W; k++) {
        const real *in = a.v + k * a.c, full = dtype_full(dtype);
        real *out = inks.v + k * 4;
        for (int c = 0; c < 3; c++)
            out[c] = 1 - in[c] / full;
        out[3] = fminl(fminl(out[0], out[1]), out[2]);
        for (int c = 0; c < 3; c++) {
            out[c] = out[3] < 1 ? (out[c] - out[3]) / (1 - out[3]) : 0;
            back.v[k * 3 + c] = in[c] / full;
        }
    }
    allow(&inks, 0x1p-20L);
    allow(&back, 0x1p-20L);
    expect("rgb_to_cmyk($1)", (const picture *const[]){ &a }, 1, &inks);
    expect("cmyk_to_rgb(rgb_to_cmyk($1))", (const picture *const[]){ &a }, 1, &back);
    written_prints("cmyk_to_rgb(numbers([0.25 0 1 0.5], dtype=f64) * ones([1, 1, 4]))", "[[0.375 0.5 0]]");
    written_prints("round(invert(rgb_to_cmyk(fill(1, 1, [255 0 51], channels=3))) * 100)", "[[100 0 20 100]]");
    picture_free(&a);
    picture_free(&inks);
    picture_free(&back);
}
END_TEST

START_TEST(numbers_far_from_white)
{
    static const struct {
        const char *text;
        float in[3], want[3];
    } far[] = {
        { "posterize($1, 3)", { -0.5f, 0.7f, 1000 }, { 0, 0.5f, 1 } },
        { "tonemap($1)", { -1, 3e38f, INFINITY }, { 0, 1, 1 } },
        { "tonemap($1, curve=hable)", { -1, 3e38f, 1000 }, { 0, 1, 1 } },
        { "tonemap($1, curve=aces, exposure=1e9)", { 0, 1e30f, INFINITY }, { 0, 1, 1 } },
        { "rgb_to_hsl($1)", { -0.5f, 0, 0.5f }, { 210, 0, 0 } },
        { "linear_to_rgb(depth($1, 16))", { 0, 0.2140411f, 1 }, { 0, 0.5f, 1 } },
    };
    for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
        picture a = picture_new(IMGPAR_F32, 1, 1, 3), want = picture_new(IMGPAR_F32, 1, 1, 3);
        for (int c = 0; c < 3; c++) {
            a.v[c] = far[k].in[c];
            want.v[c] = far[k].want[c];
        }
        allow(&want, 1e-4L);
        written_expect(far[k].text, (const picture *const[]){ &a }, 1, &want, false);
        picture_free(&a);
        picture_free(&want);
    }
}
END_TEST

/* ---- CIEDE2000 ------------------------------------------------------------------------------- */

static void to_lab(const real *in, real *out)
{
    static const real white[3] = { 0.95047L, 1, 1.08883L };
    real xyz[3], f[3];
    to_xyz(in, xyz, 3);
    for (int k = 0; k < 3; k++) {
        const real t = xyz[k] / white[k];
        f[k] = t > 216 / 24389.0L ? cbrtl(t) : (24389 / 27.0L * t + 16) / 116;
    }
    out[0] = 116 * f[1] - 16;
    out[1] = 500 * (f[0] - f[1]);
    out[2] = 200 * (f[1] - f[2]);
}

static real hue(real b, real a)
{
    const real h = a == 0 && b == 0 ? 0 : atan2l(b, a) * 180 / PI;
    return h < 0 ? h + 360 : h;
}

static real cosine(real degrees) { return cosl(degrees * PI / 180); }

/* Sharma, Wu and Dalal 2005, equations 2 to 22. */
static real difference(const real *p, const real *q)
{
    const real mean = (hypotl(p[1], p[2]) + hypotl(q[1], q[2])) / 2, far = powl(25, 7);
    const real g = 0.5L * (1 - sqrtl(powl(mean, 7) / (powl(mean, 7) + far)));
    const real a1 = (1 + g) * p[1], a2 = (1 + g) * q[1], c1 = hypotl(a1, p[2]), c2 = hypotl(a2, q[2]);
    const real h1 = hue(p[2], a1), h2 = hue(q[2], a2);
    real turn = h2 - h1, h = h1 + h2;
    if (c1 * c2 == 0)
        turn = 0;
    else {
        if (fabsl(h1 - h2) > 180) h += h < 360 ? 360 : -360;
        h /= 2;
        if (turn > 180) turn -= 360;
        if (turn < -180) turn += 360;
    }
    const real dl = q[0] - p[0], dc = c2 - c1, dh = 2 * sqrtl(c1 * c2) * sinl(turn / 2 * PI / 180);
    const real l = (p[0] + q[0]) / 2 - 50, c = (c1 + c2) / 2;
    const real t =
        1 - 0.17L * cosine(h - 30) + 0.24L * cosine(2 * h) + 0.32L * cosine(3 * h + 6) - 0.20L * cosine(4 * h - 63);
    const real sl = 1 + 0.015L * l * l / sqrtl(20 + l * l), sc = 1 + 0.045L * c, sh = 1 + 0.015L * c * t;
    const real away = (h - 275) / 25, rc = 2 * sqrtl(powl(c, 7) / (powl(c, 7) + far));
    const real rt = -sinl(2 * 30 * expl(-away * away) * PI / 180) * rc;
    return sqrtl(dl * dl / sl / sl + dc * dc / sc / sc + dh * dh / sh / sh + rt * dc / sc * dh / sh);
}

START_TEST(differences_of_colours)
{
    /* the paper's table 1, rows 1, 7, 17, 23 and 33: the formula above is theirs */
    static const real known[][7] = { { 50, 2.6772L, -79.7751L, 50, 0, -82.7485L, 2.0425L },
                                     { 50, 0, 0, 50, -1, 2, 2.3669L },
                                     { 50, 2.5L, 0, 73, 25, -18, 27.1492L },
                                     { 50, 2.5L, 0, 50, 1.8634L, 0.5757L, 1.0L },
                                     { 6.7747L, -0.2908L, -2.4247L, 5.8714L, -0.0985L, -2.2286L, 0.6377L } };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        ck_assert_msg(fabsl(difference(known[k], known[k] + 3) - known[k][6]) < 1e-4L, "row %zu", k);
    const imgpar_dtype dtype = written_dtypes[_i];
    const real full = dtype_full(dtype);
    picture a = written_levels(dtype, H, W, 3, 7), b = written_levels(dtype, H, W, 3, 8);
    picture want = picture_new(IMGPAR_F32, H, W, 1);
    for (int64_t k = 0; k < H * W; k++) {
        real lab[2][3];
        for (int c = 0; c < 3; c++) { /* grays and equal colours, too */
            if (k % 5 == 0) b.v[3 * k + c] = a.v[3 * k + c];
            if (k % 7 == 0) a.v[3 * k + c] = a.v[3 * k];
        }
        for (int side = 0; side < 2; side++) {
            const real *p = (side ? b : a).v + 3 * k;
            to_lab((const real[]){ p[0] / full, p[1] / full, p[2] / full }, lab[side]);
        }
        want.v[k] = difference(lab[0], lab[1]);
    }
    allow(&want, 0.01L);
    expect("delta_e($1, $2)", (const picture *const[]){ &a, &b }, 2, &want);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* ---- what the whole picture decides ---------------------------------------------------------- */

static int by_value(const void *p, const void *q)
{
    const real a = *(const real *)p, b = *(const real *)q;
    return (a > b) - (a < b);
}

static real percentile(const real *sorted, int64_t n, real p)
{
    const real h = p * (n - 1) / 100;
    const int64_t k = (int64_t)floorl(h);
    return k + 1 < n ? sorted[k] + (h - k) * (sorted[k + 1] - sorted[k]) : sorted[k];
}

START_TEST(levels_past_the_outermost)
{
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int channels = _i % 4 + 1, n = channels - (channels % 2 == 0 && dtype != IMGPAR_F32);
    const real full = dtype_full(dtype);
    picture a = written_levels(dtype, H, W, channels, 11), want = picture_copy(&a);
    real *colours = malloc(sizeof(real) * (size_t)(H * W * n));
    ck_assert_ptr_nonnull(colours);
    for (int64_t k = 0; k < picture_count(&a); k++)
        if (k % channels < n) a.v[k] = rounded(dtype, full * 0.3L + a.v[k] * 0.4L);
    for (int64_t k = 0; k < H * W * n; k++)
        colours[k] = a.v[k / n * channels + k % n];
    qsort(colours, (size_t)(H * W * n), sizeof(real), by_value);
    const real lo = percentile(colours, H * W * n, 5), hi = percentile(colours, H * W * n, 95);
    for (int64_t k = 0; k < picture_count(&a); k++)
        want.v[k] = k % channels < n ? fminl(fmaxl((a.v[k] - lo) / (hi - lo), 0), 1) * full : a.v[k];
    allow(&want, a_level(dtype));
    expect("autolevel($1, 5)", (const picture *const[]){ &a }, 1, &want);
    free(colours);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(a_gray_world)
{
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int channels = 3 + _i % 2;
    picture a = written_levels(dtype, H, W, channels, 13), want = picture_copy(&a);
    real means[3] = { 0, 0, 0 };
    for (int64_t k = 0; k < picture_count(&a); k++) {
        if (k % channels == 2) a.v[k] = rounded(dtype, a.v[k] / 2);
        if (k % channels < 3) means[k % channels] += a.v[k] / (H * W);
    }
    for (int64_t k = 0; k < picture_count(&a); k++)
        want.v[k] = k % channels < 3 ? a.v[k] * (means[0] + means[1] + means[2]) / 3 / means[k % channels] : a.v[k];
    allow(&want, a_level(dtype));
    expect("gray_world($1)", (const picture *const[]){ &a }, 1, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(the_lightest_of_each_channel_becomes_white)
{
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int channels = 3 + _i % 2;
    picture a = written_levels(dtype, H, W, channels, 14), want = picture_copy(&a);
    real most[4] = { 0, 0, 0, 0 };
    for (int64_t k = 0; k < picture_count(&a); k++) {
        a.v[k] = rounded(dtype, a.v[k] * (real)(3 + k % channels) / 8);
        most[k % channels] = fmaxl(most[k % channels], a.v[k]);
    }
    for (int64_t k = 0; k < picture_count(&a); k++)
        want.v[k] = k % channels < 3 ? a.v[k] * dtype_full(dtype) / most[k % channels] : a.v[k];
    allow(&want, a_level(dtype));
    expect("white_patch($1)", (const picture *const[]){ &a }, 1, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* Gray has no colour that could be stronger, turned or balanced, and one white. */
START_TEST(gray_among_colours)
{
    static const char *const that_stay[] = { "saturation($1, 2)", "vibrance($1, 2)", "hue_rotate($1, 40)",
                                             "gray_world($1)" };
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int channels = 1 + _i % 2;
    picture a = written_levels(dtype, H, W, channels, 15), want = picture_copy(&a);
    real most = 0;
    const bool is_gray = channels == 1 || picture_is_alpha(&a, 1); /* else it has two channels of data */
    for (size_t k = 0; is_gray && k < sizeof that_stay / sizeof *that_stay; k++)
        expect(that_stay[k], (const picture *const[]){ &a }, 1, &want);
    for (int64_t k = 0; k < picture_count(&a); k += channels)
        most = fmaxl(most, a.v[k]);
    for (int64_t k = 0; k < picture_count(&a); k += channels)
        want.v[k] = a.v[k] * dtype_full(dtype) / most;
    allow(&want, a_level(dtype));
    if (is_gray) expect("white_patch($1)", (const picture *const[]){ &a }, 1, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(dark_corners)
{
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int channels = _i % 4 + 1;
    picture a = written_levels(dtype, H, W, channels, 17), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real dx = (real)(k / channels % W) - (W - 1) / 2.0L, dy = (real)(k / channels / W) - (H - 1) / 2.0L;
        const real far = (W - 1) * (W - 1) / 4.0L + (H - 1) * (H - 1) / 4.0L;
        want.v[k] = picture_is_alpha(&a, k % channels) ? a.v[k] : a.v[k] * (1 - 0.4L * (dx * dx + dy * dy) / far);
    }
    allow(&want, a_level(dtype));
    expect("vignette($1, 0.4)", (const picture *const[]){ &a }, 1, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- blend modes ----------------------------------------------------------------------------- */

static real multiply(real b, real s) { return b * s; }
static real normal(real b, real s) { return (void)b, s; }
static real screen(real b, real s) { return 1 - (1 - b) * (1 - s); }
static real hard_light(real b, real s) { return s <= 0.5L ? multiply(b, 2 * s) : screen(b, 2 * s - 1); }
static real overlay(real b, real s) { return hard_light(s, b); }
static real color_dodge(real b, real s) { return b == 0 ? 0 : s == 1 ? 1 : fminl(1, b / (1 - s)); }
static real color_burn(real b, real s) { return b == 1 ? 1 : s == 0 ? 0 : 1 - fminl(1, (1 - b) / s); }
static real soft_light(real b, real s)
{
    const real d = b <= 0.25L ? ((16 * b - 12) * b + 4) * b : sqrtl(b);
    return s <= 0.5L ? b - (1 - 2 * s) * b * (1 - b) : b + (2 * s - 1) * (d - b);
}
static real apart(real b, real s) { return fabsl(b - s); }
static real exclusion(real b, real s) { return b + s - 2 * b * s; }

/* What depends on all three: as the recommendation's pseudocode has it. */
static real lum(const real *v) { return 0.3L * v[0] + 0.59L * v[1] + 0.11L * v[2]; }
static void clip_color(real *v)
{
    const real l = lum(v), n = least(v), x = largest(v);
    for (int c = 0; c < 3 && n < 0; c++)
        v[c] = l + (v[c] - l) * l / (l - n);
    for (int c = 0; c < 3 && x > 1; c++)
        v[c] = l + (v[c] - l) * (1 - l) / (x - l);
}
static void set_lum(const real *of, real l, real *v)
{
    const real d = l - lum(of);
    for (int c = 0; c < 3; c++)
        v[c] = of[c] + d;
    clip_color(v);
}
static void set_sat(const real *of, real s, real *v)
{
    int max = 0, min = 2;
    for (int c = 1; c < 3; c++)
        if (of[c] > of[max]) max = c;
    for (int c = 1; c >= 0; c--)
        if (of[c] < of[min]) min = c;
    v[0] = v[1] = v[2] = 0;
    if (of[max] <= of[min]) return;
    const int mid = 3 - max - min;
    v[mid] = (of[mid] - of[min]) * s / (of[max] - of[min]);
    v[max] = s;
}
static void mix_hue(const real *b, const real *s, real *v)
{
    real sat[3];
    set_sat(s, largest(b) - least(b), sat);
    set_lum(sat, lum(b), v);
}
static void mix_saturation(const real *b, const real *s, real *v)
{
    real sat[3];
    set_sat(b, largest(s) - least(s), sat);
    set_lum(sat, lum(b), v);
}
static void mix_color(const real *b, const real *s, real *v) { set_lum(s, lum(b), v); }
static void mix_luminosity(const real *b, const real *s, real *v) { set_lum(b, lum(s), v); }

static const struct {
    const char *name;
    real (*of)(real b, real s);
    void (*of_all)(const real *b, const real *s, real *v);
} modes[] = {
    { "normal", normal, NULL },
    { "multiply", multiply, NULL },
    { "screen", screen, NULL },
    { "overlay", overlay, NULL },
    { "darken", fminl, NULL },
    { "lighten", fmaxl, NULL },
    { "color_dodge", color_dodge, NULL },
    { "color_burn", color_burn, NULL },
    { "hard_light", hard_light, NULL },
    { "soft_light", soft_light, NULL },
    { "difference", apart, NULL },
    { "exclusion", exclusion, NULL },
    { "hue", NULL, mix_hue },
    { "saturation", NULL, mix_saturation },
    { "color", NULL, mix_color },
    { "luminosity", NULL, mix_luminosity },
};
enum { N_MODES = sizeof modes / sizeof *modes };

/* Compositing and Blending 1: Cs = (1 - ab) Cs + ab B(Cb, Cs); co = Cs as + Cb ab (1 - as); ao = as + ab (1 - as). */
static void expect_mode(int mode, imgpar_dtype dtype, int of_base, int of_top)
{
    const real full = dtype_full(dtype);
    const int nb = of_base - 1 + of_base % 2, nt = of_top - 1 + of_top % 2, n = nb > nt ? nb : nt;
    const int channels = of_base > nb ? n + 1 : n;
    picture base = written_levels(dtype, H, W, of_base, 19), top = written_levels(dtype, H, W, of_top, 21);
    picture want = picture_new(dtype, H, W, channels);
    base.v[0] = 0, base.v[of_base] = full, top.v[0] = 0, top.v[of_top] = full;
    top.v[2 * of_top] = full, top.v[3 * of_top] = 0;
    for (int64_t k = 0; k < H * W; k++) {
        const real as = 0.8L * (of_top == nt ? 1 : top.v[k * of_top + nt] / full);
        const real ab = of_base == nb ? 1 : base.v[k * of_base + nb] / full, ao = as + ab * (1 - as);
        real bs[3], ss[3], met[3];
        for (int c = 0; c < 3; c++) { /* gray is three times the same */
            bs[c] = base.v[k * of_base + (nb == 3 ? c : 0)] / full;
            ss[c] = top.v[k * of_top + (nt == 3 ? c : 0)] / full;
        }
        if (modes[mode].of_all) modes[mode].of_all(bs, ss, met);
        for (int c = 0; c < n; c++) {
            const real b = bs[c], s = ss[c];
            const real mixed = (1 - ab) * s + ab * (modes[mode].of ? modes[mode].of(b, s) : met[c]);
            want.v[k * channels + c] = ao > 0 ? full * (mixed * as + b * ab * (1 - as)) / ao : 0;
        }
        if (channels > n) want.v[k * channels + n] = full * ao;
    }
    char text[80];
    snprintf(text, sizeof text, "blend_mode($1, $2, mode=%s, opacity=0.8)", modes[mode].name);
    allow(&want, dtype == IMGPAR_F32 ? 1e-5L : 1);
    /* one mode is enough for the device in the quick tier */
    const bool on_device =
        dtype == IMGPAR_U8 && of_base == 4 && of_top == 4 && (mode == 9 || mode == 12 || test_tier_is_full());
    written_expect(text, (const picture *const[]){ &base, &top }, 2, &want, on_device);
    picture_free(&base);
    picture_free(&top);
    picture_free(&want);
}

START_TEST(blend_modes)
{
    for (int mode = 0; mode < N_MODES; mode++) {
        expect_mode(mode, written_dtypes[_i], 3, 3);
        expect_mode(mode, written_dtypes[_i], 4, 4);
        expect_mode(mode, written_dtypes[_i], 3, 4);
        expect_mode(mode, written_dtypes[_i], 1, 3); /* gray under colours becomes as coloured as RGB would */
        expect_mode(mode, written_dtypes[_i], 1, 4);
        expect_mode(mode, written_dtypes[_i], 2, 4);
        expect_mode(mode, written_dtypes[_i], 4, 1);
        expect_mode(mode, written_dtypes[_i], 2, 1);
    }
}
END_TEST

/* What is transparent is not seen, whatever it holds. */
START_TEST(hidden_numbers_are_not_blended)
{
    written_prints("blend_mode(fill(1, 1, [3 2 1], channels=3, dtype=f32), log(fill(1, 1, [0 2 3 1], channels=4, "
                   "dtype=f32)), mode=difference)",
                   "[[3 2 1]]");
    written_prints("blend_mode(log(fill(1, 1, [0 2 3 1], channels=4, dtype=f32)), fill(1, 1, [3 2 1 1], channels=4, "
                   "dtype=f32), mode=exclusion)",
                   "[[3 2 1 1]]");
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_test(tc, hidden_numbers_are_not_blended);
    tcase_add_loop_test(tc, tones_and_colours, 0, WRITTEN_DTYPES + 1);
    tcase_add_loop_test(tc, colour_spaces_and_back, 0, N_SPACES * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, inks_and_back, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, numbers_far_from_white);
    tcase_add_loop_test(tc, differences_of_colours, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, levels_past_the_outermost, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, gray_among_colours, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_gray_world, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, the_lightest_of_each_channel_becomes_white, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, dark_corners, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, blend_modes, 0, WRITTEN_DTYPES);
    return written_run("written_tone", tc);
}
