/* SPDX-License-Identifier: MIT */
/*
 * fastblur against the Gaussian itself, in double precision, where its error is largest: impulses, steps, ramps, waves
 * near to its samples' distance and noise, for every border and for sigmas on both sides of where its steps change. The
 * interpreter computes them; that devices give its bytes, for every dtype, is shown by the matrix of all operations.
 */
#include <imgpar.h>

#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { H = 23, W = 41, COUNT = H * W };

static imgpar_context *ctx;

static void setup(void) { ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK); }
static void teardown(void) { imgpar_context_release(ctx); }

/* ---- pictures between 0 and 1 ---------------------------------------------------------------------- */

static double impulse(int y, int x) { return y == 11 && x == 18; }
static double corner(int y, int x) { return y == 0 && x == 0; }
static double step(int y, int x) { return x >= 17 + y / 8; }
static double ramp(int y, int x) { return (2 * y + x) / (double)(2 * H + W); }
static double wave(int y, int x) { return 0.5 + 0.5 * cos(y * 2.1) * cos(x * 3.0); }
static double noise(int y, int x) { return fmod(fabs(sin(y * 12.9898 + x * 78.233)) * 43758.5453, 1); }

static const struct {
    const char *name;
    double (*at)(int y, int x);
} pictures[] = {
    { "impulse", impulse }, { "corner", corner }, { "step", step },
    { "ramp", ramp },       { "wave", wave },     { "noise", noise },
};
static const double sigmas[] = { 0.4, 1, 3.99, 4, 5.9, 6, 7.99, 8, 20, 61.3 };
static const char *const borders[] = { "replicate", "reflect", "reflect101", "wrap", "constant" };

#define N(table) (int)(sizeof table / sizeof *table)

/* ---- the Gaussian -------------------------------------------------------------------------------------- */

static int modulo(int k, int n) { return (k % n + n) % n; }

/* The position in 0..n-1 that a border rule reads at k; -1: the constant. */
static int position(int border, int k, int n)
{
    int period = border == 1 ? 2 * n : 2 * n - 2, m;
    switch (border) {
    case 0: return k < 0 ? 0 : k >= n ? n - 1 : k;
    case 1: m = modulo(k, period); return m < n ? m : period - 1 - m;
    case 2: m = modulo(k, period); return m < n ? m : period - m;
    case 3: return modulo(k, n);
    default: return k < 0 || k >= n ? -1 : k;
    }
}

/* Of the distances 0 to reach, beyond which they are below 1e-17. */
typedef struct weights {
    double *at;
    int reach;
} weights;

static weights weights_of(double sigma)
{
    weights w = { .reach = (int)ceil(9 * sigma) };
    w.at = malloc((size_t)(w.reach + 1) * sizeof *w.at);
    for (int d = 0; d <= w.reach; d++)
        w.at[d] = exp(-0.5 * d * d / (sigma * sigma));
    return w;
}

/* The line of n elements, `stride` apart, without end to either side; 0.25 is the constant. */
static void gauss_line(const double *in, double *out, int n, int stride, const weights *w, int border)
{
    for (int i = 0; i < n; i++) {
        double sum = 0, whole = 0;
        for (int d = -w->reach; d <= w->reach; d++) {
            const int at = position(border, i + d, n);
            whole += w->at[abs(d)];
            sum += w->at[abs(d)] * (at < 0 ? 0.25 : in[at * stride]);
        }
        out[i * stride] = sum / whole;
    }
}

static void gauss(const double *in, double *out, double sigma, int border)
{
    double rows[COUNT];
    const weights w = weights_of(sigma);
    for (int x = 0; x < W; x++)
        gauss_line(in + x, rows + x, H, W, &w, border);
    for (int y = 0; y < H; y++)
        gauss_line(rows + y * W, out + y * W, W, 1, &w, border);
    free(w.at);
}

/* ---- tests ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    imgpar_dtype dtype;
    double white, within;
} dtypes[] = {
    { "f64", IMGPAR_F64, 1, 0.004 },
    { "f32", IMGPAR_F32, 1, 0.004 },
    { "u16", IMGPAR_U16, 65535, 0.004 + 0.6 / 65535 },
    { "u8", IMGPAR_U8, 255, 0.007 + 0.51 / 255 },
};

/* The values of text over the picture, as parts of white. */
static void values_of(const char *text, const double *in, int dtype, double *out)
{
    char whole[256];
    const int64_t shape[] = { H, W };
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F64, 2, shape, in);
    snprintf(whole, sizeof whole, "a = cast($1 * %g, %s)\ncast(%s, f64) / %g", dtypes[dtype].white, dtypes[dtype].name,
             text, dtypes[dtype].white);
    imgpar_array *result = imgpar_apply(ctx, whole, &a, 1);
    ck_assert_msg(imgpar_array_read(result, out, COUNT * sizeof *out) == IMGPAR_OK, "%s: %s", whole,
                  imgpar_array_message(result));
    imgpar_array_release(result);
    imgpar_array_release(a);
}

START_TEST(is_within_its_tolerance_of_the_gaussian)
{
    const int d = _i / N(pictures), p = _i % N(pictures);
    double in[COUNT], stored[COUNT], want[COUNT], out[COUNT];
    char text[128];
    for (int k = 0; k < COUNT; k++)
        in[k] = pictures[p].at(k / W, k % W);
    values_of("a", in, d, stored);
    for (int s = 0; s < N(sigmas); s++)
        for (int b = 0; b < N(borders); b++) {
            double cval = 0.25 * dtypes[d].white, worst = 0;
            snprintf(text, sizeof text,
                     b == 4 ? "fastblur(a, sigma=%g, border=%s, cval=%g)" : "fastblur(a, sigma=%g, border=%s)",
                     sigmas[s], borders[b], cval);
            values_of(text, in, d, out);
            gauss(stored, want, sigmas[s], b);
            for (int k = 0; k < COUNT; k++)
                worst = fmax(worst, fabs(out[k] - want[k]));
            ck_assert_msg(worst <= dtypes[d].within, "%s of %s %s: %g away", text, dtypes[d].name, pictures[p].name,
                          worst);
        }
}
END_TEST

/* The kernel nearly without end, in whole numbers: as many terms as there are rows, or a window of them. Where truncate
 * is given 0.61 is promised. */
START_TEST(blur_of_bytes_is_within_its_tolerance)
{
    static const struct {
        double sigma, within;
    } cases[] = { { 0.7, 0.53 }, { 2.5, 0.53 }, { 9.7, 0.56 }, { 61.3, 0.61 } };
    const int u8 = N(dtypes) - 1, p = _i / N(borders), b = _i % N(borders);
    double in[COUNT], stored[COUNT], want[COUNT], out[COUNT];
    for (int k = 0; k < COUNT; k++)
        in[k] = pictures[p].at(k / W, k % W);
    values_of("a", in, u8, stored);
    for (int s = 0; s < N(cases); s++) {
        char text[96];
        double worst = 0, cval = rint(0.25 * dtypes[u8].white) / dtypes[u8].white;
        snprintf(text, sizeof text, "blur(a, sigma=%g, truncate=9, border=%s, cval=64)", cases[s].sigma, borders[b]);
        values_of(text, in, u8, out);
        gauss(stored, want, cases[s].sigma, b);
        for (int k = 0; k < COUNT; k++)
            worst = fmax(worst, fabs(out[k] - want[k]) * dtypes[u8].white);
        /* The reference's constant is 0.25, a part of a level less. */
        ck_assert_msg(worst <= cases[s].within + (b == 4 ? (cval - 0.25) * dtypes[u8].white : 0),
                      "%s of %s: %g levels away", text, pictures[p].name, worst);
    }
}
END_TEST

/* Rows that are longer than the window, of pixels or gray, with a step so large that columns are sampled, too. */
START_TEST(columns_are_sampled) /* _i: the border */
{
    enum { ROWS = 5, COLUMNS = 420, MOST = ROWS * COLUMNS * 3 };
    static const int which[] = { 5, 2, 4 };
    static const struct {
        int channels;
        double sigma;
    } cases[] = { { 3, 18 }, { 3, 50.5 }, { 1, 50.5 } };
    static float in[MOST], got[MOST];
    static double line[MOST], rows[MOST], want[MOST];
    for (int k = 0; k < N(cases); k++) {
        const int n = cases[k].channels, pitch = COLUMNS * n;
        const int64_t shape[] = { ROWS, COLUMNS, n };
        const weights w = weights_of(cases[k].sigma);
        char text[96];
        for (int at = 0; at < ROWS * pitch; at++)
            line[at] = in[at] = (float)pictures[which[(at + k) % n]].at(at / pitch * 5, at % pitch / n);
        for (int at = 0; at < pitch; at++)
            gauss_line(line + at, rows + at, ROWS, pitch, &w, _i);
        for (int at = 0; at < ROWS * n; at++)
            gauss_line(rows + at / n * pitch + at % n, want + at / n * pitch + at % n, COLUMNS, n, &w, _i);
        free(w.at);
        imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 3, shape, in);
        snprintf(text, sizeof text, "fastblur($1, sigma=%g, border=%s%s)", cases[k].sigma, borders[_i],
                 _i == 4 ? ", cval=0.25" : "");
        imgpar_array *result = imgpar_apply(ctx, text, &a, 1);
        ck_assert_msg(imgpar_array_read(result, got, (size_t)(ROWS * pitch) * sizeof *got) == IMGPAR_OK, "%s: %s", text,
                      imgpar_array_message(result));
        for (int at = 0; at < ROWS * pitch; at++)
            ck_assert_msg(fabs(got[at] - want[at]) <= 0.004, "%s, %d channels, element %d: %g, not %g", text, n, at,
                          got[at], want[at]);
        imgpar_array_release(result);
        imgpar_array_release(a);
    }
}
END_TEST

/* Both are exact for what stays as it is. */
START_TEST(small_sigmas_are_blur_and_0_changes_nothing)
{
    static const char *const pairs[][2] = {
        { "fastblur(a, sigma=3.99, border=wrap)", "blur(a, sigma=3.99, border=wrap)" },
        { "fastblur(a, sigma=0.5)", "blur(a, sigma=0.5)" },
        { "fastblur(a, sigma=0)", "a" },
    };
    double in[COUNT], got[COUNT], want[COUNT];
    for (int k = 0; k < COUNT; k++)
        in[k] = noise(k / W, k % W);
    values_of(pairs[_i][0], in, 1, got);
    values_of(pairs[_i][1], in, 1, want);
    for (int k = 0; k < COUNT; k++)
        ck_assert_double_eq(got[k], want[k]);
}
END_TEST

START_TEST(one_colour_stays)
{
    double in[COUNT], got[COUNT];
    for (int k = 0; k < COUNT; k++)
        in[k] = 77 / 255.0;
    for (int s = 0; s < N(sigmas); s++) {
        char text[64];
        snprintf(text, sizeof text, "fastblur(a, sigma=%g)", sigmas[s]);
        values_of(text, in, N(dtypes) - 1, got);
        for (int k = 0; k < COUNT; k++)
            ck_assert_double_eq(got[k], 77 / 255.0);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fastblur");
    TCase *c = tcase_create("fastblur");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, is_within_its_tolerance_of_the_gaussian, 0, N(dtypes) * N(pictures));
    tcase_add_loop_test(c, blur_of_bytes_is_within_its_tolerance, 0, N(pictures) * N(borders));
    tcase_add_loop_test(c, columns_are_sampled, 0, N(borders));
    tcase_add_loop_test(c, small_sigmas_are_blur_and_0_changes_nothing, 0, 3);
    tcase_add_test(c, one_colour_stays);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
