/* SPDX-License-Identifier: MIT */
/*
 * Gradients (ops/gradient.def) against central finite differences in f64: of every row that has one, of every border,
 * of views, folds, recurrences and products; by the interpreter, and a part of them on the device.
 */
#include "asserts.h"
#include "held.h"
#include "tier.h"

#include <imgpar.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static imgpar_context *ref, *device;

static void set_up(void) { ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK); }

static void tear_down(void) { imgpar_context_release(ref); }

static void open_device(void)
{
    hold_driver();
    set_up();
    ck_assert_int_eq(imgpar_context_new(NULL, &device), IMGPAR_OK);
}

static void close_device(void)
{
    imgpar_context_release(device);
    tear_down();
}

/* ---- values ------------------------------------------------------------------------------------- */

enum { MOST = 4096, TEXT = 2048 };

typedef struct sample {
    int64_t shape[4];
    int rank;
    double v[MOST];
} sample;

static size_t count(const sample *a)
{
    size_t n = 1;
    for (int k = 0; k < a->rank; k++)
        n *= (size_t)a->shape[k];
    return n;
}

static size_t common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Numbers between lo and hi, no two of them near each other. */
static sample sample_new(int rank, const int64_t *shape, double lo, double hi)
{
    sample a = { .rank = rank };
    memcpy(a.shape, shape, (size_t)rank * sizeof *shape);
    const size_t n = count(&a);
    ck_assert(n <= MOST);
    size_t step = n % 7 == 0 ? 11 : 7;
    while (n % step == 0)
        step += 2;
    for (size_t k = 0; k < n; k++)
        a.v[k] = lo + (hi - lo) * ((double)(k * step % n) + 0.3 + 0.2 * sin((double)k)) / (double)n;
    return a;
}

static imgpar_array *array_of(imgpar_context *ctx, const sample *a)
{
    imgpar_array *array = imgpar_array_from_data(ctx, IMGPAR_F64, a->rank, a->shape, a->v);
    ck_assert_msg(imgpar_array_status(array) == IMGPAR_OK, "%s", imgpar_array_message(array));
    return array;
}

/* text of a as f64; how many elements there are, or -1 with the message in why. */
static int evaluate(imgpar_context *ctx, const char *text, const sample *a, double *out, char *why)
{
    char as_f64[2 * TEXT];
    const char *last = strrchr(text, '\n');
    const int head = last ? (int)(last - text + 1) : 0;
    snprintf(as_f64, sizeof as_f64, "%.*scast(%s, f64)", head, text, text + head);
    imgpar_array *in = array_of(ctx, a), *r = imgpar_apply(ctx, as_f64, (imgpar_array *[]){ in }, 1);
    imgpar_info info = { .struct_size = sizeof info };
    int n = -1;
    if (imgpar_array_info(r, &info) == IMGPAR_OK) {
        size_t elements = 1;
        for (int k = 0; k < info.rank; k++)
            elements *= (size_t)info.shape[k];
        ck_assert(elements <= MOST);
        if (imgpar_array_read(r, out, elements * sizeof *out) == IMGPAR_OK) n = (int)elements;
    }
    if (n < 0) snprintf(why, 512, "%s", imgpar_array_message(r));
    imgpar_array_release(r);
    imgpar_array_release(in);
    return n;
}

/* One number from what text gives: weighted, so that every element counts in its own way. statements end with a
 * newline, or are empty. */
static void loss_of(const char *statements, const char *expr, char *loss)
{
    snprintf(loss, TEXT, "%sr = %s\nsum(r * cos(1.3 * x + 2.1 * y + 0.7 * c + 0.9 * z + 0.4))", statements, expr);
}

typedef enum outcome { RIGHT, WRONG, REFUSED, NO_LOSS } outcome;

/* The way from one compared element, which takes two losses, to the next: through all rows, columns and channels of
 * n elements. Sanitizers look at the code, not at the numbers. */
static size_t way_between(size_t n)
{
    const char *sanitized = getenv("IMGPAR_SANITIZED");
    const size_t most = test_tier_is_full() ? 24 : sanitized && sanitized[0] ? 1 : 8;
    size_t way = n > most ? n / most : 1;
    while (common_divisor(n, way) > 1)
        way++;
    return way;
}

/* Compares the gradient of the loss, whose last line is an expression, with differences of h. */
static outcome compare(imgpar_context *ctx, const char *loss, const sample *a, double h, double slack, char *why)
{
    static double g[MOST], want[MOST];
    char text[TEXT + 64];
    double at[1];
    const char *last = strrchr(loss, '\n');
    const int head = last ? (int)(last - loss + 1) : 0;
    const size_t n = count(a);
    if (evaluate(ref, loss, a, at, why) != 1) return NO_LOSS;
    if (!isfinite(at[0])) {
        snprintf(why, 512, "the loss is %g", at[0]);
        return NO_LOSS;
    }
    snprintf(text, sizeof text, "%.*sgrad(%s, $1)", head, loss, loss + head);
    if (evaluate(ctx, text, a, g, why) != (int)n) return REFUSED;
    double largest = 0;
    const size_t step = way_between(n);
    for (size_t k = 0; k < n; k += step) {
        sample b = *a;
        double more[1], less[1];
        b.v[k] = a->v[k] + h;
        ck_assert_int_eq(evaluate(ref, loss, &b, more, why), 1);
        b.v[k] = a->v[k] - h;
        ck_assert_int_eq(evaluate(ref, loss, &b, less, why), 1);
        want[k] = (more[0] - less[0]) / (2 * h);
        largest = fmax(largest, fabs(want[k]));
    }
    for (size_t k = 0; k < n; k += step)
        if (!(fabs(g[k] - want[k]) <= slack * fmax(largest, h / 10))) {
            snprintf(why, 512, "element %zu is %.9g, differences give %.9g", k, g[k], want[k]);
            return WRONG;
        }
    return RIGHT;
}

static void expect_right(imgpar_context *ctx, const char *loss, const sample *a, double h, double slack)
{
    char why[512] = "";
    outcome o = compare(ctx, loss, a, h, slack, why);
    ck_assert_msg(o == RIGHT, "%s: %s", loss, why);
}

static const int64_t shapes[][3] = { { 1, 1, 0 }, { 1, 6, 0 }, { 5, 1, 0 }, { 4, 5, 0 }, { 3, 4, 3 }, { 2, 7, 1 } };
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* ---- ways of reading ---------------------------------------------------------------------------- */

/* Of $1 in all shapes. */
static const char *const anywhere[] = {
    /* at the element's own place */
    "$1 ** 2 / (1 + $1) - sqrt($1) * exp(-$1)",
    "select($1 > 0.5, $1 ** 3, sin($1))",
    "clamp($1, 0.3, 0.7) + abs($1 - 0.5) + min($1, 0.6) * max($1, 0.4)",
    "lgamma($1) + tgamma(1 + $1) + lgamma(0.3 * $1 - 1.7) + fma($1, $1, $1) + nextafter($1, 2)",
    "atan2($1, 1 + $1) + 2 ** $1 + log($1) + $1 % 0.3",
    "cast($1 * 100, f64) / 7",
    /* offsets */
    "stencil(q[-1, 0] * q[0, 1] - q[1, -1] ** 2)",
    "stencil(q[-1, 0] * q[0, 1] - q[1, -1] ** 2, border=reflect)",
    "stencil(q[-1, 0] * q[0, 1] - q[1, -1] ** 2, border=reflect101)",
    "stencil(q[-1, 0] * q[0, 1] - q[1, -1] ** 2, border=wrap)",
    "stencil(q[-1, 0] * q[0, 1] - q[1, -1] ** 2, border=constant, cval=0.3)",
    "stencil(q[-3, 2] ** 2, border=reflect) * $1",
    "blur($1, 1) ** 2",
    "blur($1, 2, border=reflect) ** 2",
    "blur($1, 2, border=reflect101) ** 2",
    "blur($1, 2, border=wrap) ** 2",
    "blur($1, 1.5, border=constant, cval=2) ** 2",
    "blur($1, 12, border=reflect) ** 2",
    "boxblur($1, 15, border=wrap) ** 2",
    "boxblur($1, 3) ** 2",
    "convolve($1, [1 -2 0.5; 0 3 1; -1 0.25 2]) ** 2",
    "erode($1, 3) + dilate($1, 5) ** 2",
    "erode($1, 21) * $1",
    "median($1, 3) ** 2",
    "median($1, 7, border=reflect) ** 2",
    "percentile_filter($1, 30, size=3) ** 2",
    "percentile_filter($1, 70, size=5, shape=disc, border=wrap) * $1",
    "median($1, size=5, shape=diamond) * $1 + median($1, size=3, shape=cross, border=wrap)",
    "percentile_filter($1, 100, size=9, border=constant, cval=0.5) ** 2",
    "median($1, element=[1 0 0 1 1; 0 1 1 0 0; 1 0 1 0 1], border=reflect) ** 2",
    "percentile_filter($1, 0, size=21) ** 2",
    "mode_filter($1, size=3) ** 2",
    "sobel($1) * 0.1",
    "bilateral($1, 2, 0.3)",
    /* views */
    "flip($1) * $1",
    "transpose($1) ** 2",
    "reshape($1, [-1]) ** 2",
    "repeat($1, 3, axis=1) ** 2 + 1",
    "pad($1, [2 1], [1 3], border=reflect) ** 2",
    "pad($1, [2 1], [1 3], border=wrap) ** 2",
    "tile($1, [2 3]) ** 3",
    "circshift($1, [1 2]) * $1",
    "concatenate($1, $1 ** 2, axis=0) ** 2",
    "slice($1, [0 0], step=[2 3]) ** 2",
    "rotate($1, 30) ** 2",
    /* other sizes */
    "resize($1, 9, 7) ** 2",
    "resize($1, 2, 3) ** 2",
    "resize($1, 9, 7, filter=cubic) ** 2",
    "resize($1, 3, 2, filter=lanczos3) ** 2",
    "resize($1, 3, 9, filter=nearest) ** 2",
    /* broadcast */
    "$1 * mean($1) + $1 / sum($1, axis=0, keepdims=true)",
    "($1 - mean($1, axis=1, keepdims=true)) ** 2",
    /* folds */
    "sum($1, axis=0) ** 2",
    "mean($1, axis=1) ** 2",
    "maxval($1, axis=0) * minval($1, axis=0)",
    "prod($1, axis=1)",
    "std($1, axis=0, keepdims=true) + var($1 * 2, axis=1, keepdims=true)",
    "norm($1) * maxval($1) + minval($1) * prod($1) + std($1)",
    "reduce($1, \"sum\") ** 2",
    /* recurrences */
    "cumsum($1, axis=0) ** 2 + cumsum($1, axis=1, reverse=true)",
    "cumprod($1 + 0.5, axis=1)",
    "cummax($1, axis=1) * cummin($1, axis=0)",
    "recursive($1, [0.25 0.1], [-0.5 0.2], axis=1) ** 2",
    "recursive($1, [0.25], [-0.75], axis=0, start=zero) ** 2",
    "scan($1, zip(n=0, m=0.5, of=0), (s, q) -> zip(n=s.n + 1, m=s.m + (q - s.m) / (s.n + 1), of=s.of * 0.5 + (q - s.m) "
    "** 2), "
    "axis=1).of ** 2",
    "scan($1, zip(a=1, b=0.5), (s, q) -> zip(a=s.b * q, b=s.a + q), axis=0, exclusive=true).a * "
    "scan($1, zip(a=1, b=0.5), (s, q) -> zip(a=s.b * q, b=s.a + q), axis=0, exclusive=true).b",
    "recursive($1, [0.25 0 0 0.1], [-0.5 0.2 0 0.1 -0.2], axis=1) ** 2",
    "scan($1, 0, (p, q) -> p * q + q, axis=0)",
    /* at computed places */
    "at($1, y * 0.7 + 0.1, x * 0.8) ** 2",
    "at($1, y * 0.7 + 0.1, x * 0.8, filter=lanczos2) ** 2",
    "at($1, y * 0.7 + x * 0.1, x * 0.8 - 0.3, filter=cubic, border=wrap) ** 2",
    "rotate($1, 20, filter=mitchell) ** 2",
    "at(cast(make(8, 8, sin(x * 0.7) + y * y * 0.1), f64), $1 * 3 + 1, 2.3 + $1, filter=cubic)",
    "at(cast(make(8, 8, sin(x * 0.7) + y * y * 0.1), f64), 1.7 + $1 * $1, $1 * 3 + 1, filter=lanczos3)",
    "at3d(reshape($1, [-1, width($1), 1, 1]), z * 0.7 + x * 0.2, 0.3 + y * 0.8, x * 0, filter=linear) ** 2",
    "at3d(cast(make(shape=[4 5 6 1], expr=sin(x * 0.7) + y * z * 0.1), f64), $1 * 2 + 0.3, 2.2 - $1, $1, filter=cubic)",
    "take($1, numbers([0 0], dtype=i32)) ** 2",
    "sort($1, axis=1) * sort($1, axis=0, descending=true)",
};
enum { N_ANYWHERE = sizeof anywhere / sizeof *anywhere };

START_TEST(every_way_of_reading_has_its_adjoint)
{
    const char *text = anywhere[_i];
    char loss[TEXT], why[512];
    int n_right = 0;
    for (int k = 0; k < N_SHAPES; k++) {
        const sample a = sample_new(shapes[k][2] ? 3 : 2, shapes[k], 0.2, 0.9);
        loss_of("q = $1\n", text, loss);
        outcome o = compare(ref, loss, &a, 1e-5, 1e-5, why);
        ck_assert_msg(o == RIGHT || (o == NO_LOSS && count(&a) < 16), "%s of [%d %d %d]: %s", text, (int)shapes[k][0],
                      (int)shapes[k][1], (int)shapes[k][2], why);
        n_right += o == RIGHT;
    }
    ck_assert_int_ge(n_right, 3);
}
END_TEST

/* ---- every row -------------------------------------------------------------------------------------- */

/* Rows whose example has no derivative, and why. */
static const struct without {
    const char *why, *rows;
} without[] = {
    { "steps: thresholds, comparisons, rounding, positions, counts, bits",
      " threshold depth circle searchsorted all any argmin argmax histogram argsort argtopk lexsort find count_nonzero "
      "unique_counts unique_inverse indexin lookup_by count_unique lbp harris regional_maxima regional_minima h_maxima "
      "h_minima peaks isnan isinf "
      "isfinite floor ceil round trunc iou dice group_count histogram2d mutual_information fill_holes clear_border "
      "remove_small largest_region flood outer phase_correlation poisson_noise " },
    { "hand-written kernels without an adjoint",
      " distance nearest_zero labels error_diffusion hough_lines hough_circles reconstruct geodesic harmonic inpaint "
      "seamless_clone canny " },
    { "long loops", " watershed skeleton thin palette quantize " },
    { "masks, numbers of places, and pictures that the host draws",
      " isin region_moments hit_or_miss find_trim convex_hull ahash dhash phash hamming plot " },
    { "NaN where there is nothing", " find_contours hull_points region_shapes " },
    { "the examples are of counts", " matmul " },
    { "the examples need files or other arrays than f64 between 0 and 1, or give complex or no numbers",
      " open font_mask lut scatter_add scatter_min scatter_max bits_and bits_or bits_xor equalize otsu group_mean "
      "group_min "
      "group_max regions entropy fft ifft acosh complex conj " },
};

static bool is_without(const char *name)
{
    char word[128];
    snprintf(word, sizeof word, " %s ", name);
    for (size_t k = 0; k < sizeof without / sizeof *without; k++)
        if (strstr(without[k].rows, word)) return true;
    return false;
}

/* Rows whose example takes long, since every step of its gradient is a window within a window within a window, or gives
 * complex numbers. */
static const struct instead {
    const char *name, *text;
} instead[] = {
    { "nlmeans", "nlmeans(slice(a, [1 1], [3 4]), noise=0.2, patch=7, search=2)" },
    { "rfft", "abs(rfft(a, axis=0))" },
    { "irfft", "irfft(rfft(a, axis=1) * rfft(b, axis=1), 7, axis=1)" },
};

static const char *example_of(const imgpar_op_info *info)
{
    for (size_t k = 0; k < sizeof instead / sizeof *instead; k++)
        if (strcmp(info->name, instead[k].name) == 0) return instead[k].text;
    return info->example;
}

/* An array that the example does not have: nothing to differentiate by. */
static bool has_no_array(const char *why) { return strstr(why, "the loss is not computed from a") != NULL; }

enum { ROWS_AT_ONCE = 16 };

START_TEST(every_row_with_a_derivative_has_it)
{
    static const int64_t shape[3] = { 6, 7, 3 };
    const sample a = sample_new(3, shape, 0.2, 0.9);
    for (size_t k = (size_t)_i; k < imgpar_op_count(); k += ROWS_AT_ONCE) {
        const imgpar_op_info *info = imgpar_op_get(k);
        char loss[TEXT], why[512] = "";
        if (!info->example || !info->example[0] || strcmp(info->name, "grad") == 0) continue;
        loss_of("a = $1\nb = 0.9 - flip($1) * 0.7\n", example_of(info), loss);
        outcome o = compare(ref, loss, &a, 1e-5, 1e-3, why);
        if (o == WRONG) o = compare(ref, loss, &a, 1e-2, 1e-2, why); /* what is computed in f32 on its way */
        if (is_without(info->name))
            ck_assert_msg(o != RIGHT || strcmp(info->name, "phase_correlation") == 0, "%s: %s has a derivative now",
                          info->name, info->example);
        else
            ck_assert_msg(o == RIGHT || (o == REFUSED && has_no_array(why)), "%s: %s: %s", info->name, info->example,
                          why);
    }
}
END_TEST

/* ---- the device ------------------------------------------------------------------------------------- */

/* Of every fifth way in the quick tier: it is compiling that takes long. */
START_TEST(the_device_agrees)
{
    static const int64_t shape[3] = { 3, 4, 3 };
    char loss[TEXT];
    if (!test_tier_is_full() && _i % 5 != 0) return;
    const sample a = sample_new(3, shape, 0.2, 0.9);
    loss_of("q = $1\n", anywhere[_i], loss);
    expect_right(device, loss, &a, 1e-5, 1e-5);
}
END_TEST

/* An adjoint that is a text of the language: nothing of it is left but stages. */
START_TEST(the_device_agrees_on_decompositions)
{
    static const int64_t shape[2] = { 2, 2 };
    const sample a = sample_new(2, shape, 0.2, 0.9);
    expect_right(device, _i ? "sum(eigvalsh($1) ** 2)" : "sum(qr_r($1))", &a, 1e-5, 1e-5);
}
END_TEST

static void expect_value(const char *text, const sample *a, const double *want, int n)
{
    double out[MOST];
    char why[512] = "";
    ck_assert_msg(evaluate(ref, text, a, out, why) == n, "%s: %s", text, why);
    for (int k = 0; k < n; k++)
        ck_assert_msg(fabs(out[k] - want[k]) <= 1e-6 * fabs(want[k]), "%s: element %d is %.17g, not %.17g", text, k,
                      out[k], want[k]);
}

/* Of $1 with planes and channels. */
static const char *const of_volumes[] = {
    "$1 ** 2 * mean($1, axis=[0 3], keepdims=true)",
    "permute($1, [2 0 3 1]) ** 2",
    "blur($1, 1) ** 2",
    "cumsum($1, axis=0) ** 2",
    "maxval($1, axis=0)",
    "stencil(q[-1, 0, 1, 0] * q, border=reflect)",
    "reshape($1, [6, -1]) ** 2",
    "slice($1, [0 1], [2 3]) ** 2",
    "sort($1, axis=2) ** 2",
};
enum { N_OF_VOLUMES = sizeof of_volumes / sizeof *of_volumes };

START_TEST(volumes_have_gradients)
{
    static const int64_t shape[4] = { 3, 4, 5, 2 };
    char loss[TEXT];
    const sample a = sample_new(4, shape, 0.2, 0.9);
    loss_of("q = $1\n", of_volumes[_i], loss);
    expect_right(ref, loss, &a, 1e-5, 1e-5);
}
END_TEST

/* f32 and f16: to what their numbers hold. */
START_TEST(narrow_floats_have_gradients_of_f32)
{
    const sample a = { .rank = 1, .shape = { 3 }, .v = { 1, 2, 3 } };
    expect_value("u = cast($1, f32)\ngrad(sum(u ** 3), u)", &a, (double[]){ 3, 12, 27 }, 3);
    expect_value("u = cast($1, f16)\ngrad(sum(u * u), u)", &a, (double[]){ 2, 4, 6 }, 3);
    expect_value("u = cast($1, f16)\ngrad(mean(flip(u) * u), u)", &a, (double[]){ 2, 4 / 3., 2 / 3. }, 3);
}
END_TEST

/* ---- folds, products, loops, gradients of gradients ------------------------------------------------------ */

#define W "cos(x + 2 * y + 3 * z)"
/* Of $1: matrices of 3 x 3, far from singular, m alone, two of them, the columns n, [3, 2]; nine of 9 x 9. */
#define MATRICES                                                             \
    "m = slice($1, [0 0], [3 3]) + eye(3)\n"                                 \
    "two = reshape(concatenate(m, transpose(m) ** 2 + eye(3)), [2, 3, 3])\n" \
    "n = slice($1, [1 3], [4 5])\n"                                          \
    "nine = kron(m, slice($1, [1 2], [4 5]) - 2 * eye(3))\n"
/* Few elements, since windows within windows take long. */
#define FEW "v = slice($1, [1 1], [3 4])\n"
/* Losses, one number each, of $1, a 4 x 5 array. */
static const char *const losses[] = {
    "sum($1 ** 3)",
    "mean($1) ** 2",
    "maxval($1) * minval($1)",
    "prod($1)",
    "prod($1 - 0.55)",
    "std($1) + var($1)",
    "norm($1)",
    "dot($1, flip($1))",
    "log(sum(exp($1)))",
    "reduce($1, 0, (p, q) -> p + q)",
    "reduce($1, 1, (p, q) -> p * q)",
    "reduce($1, 0.5, (p, q) -> p * q + p)",
    "percentile($1, 30)",
    "sum(matmul($1, transpose($1)) ** 2)",
    "sum(matmul($1, numbers([1; 2; 3; 4; 5])) ** 2)",
    "sum(matmul(numbers([1 2 3 4; 0 1 -1 2]), $1) ** 2)",
    "sum(matmul(transpose($1), $1) * cos(x + 2 * y))",
    "sum(convolve($1, slice($1, [1 0], [4 3]), scale=2, border=wrap) ** 2)",
    "m = reshape(concatenate($1, $1 ** 2, axis=0), [2, 4, 5])\nsum(matmul(m, transpose($1)) ** 2)",
    "m = reshape(concatenate($1, $1 ** 2, axis=0), [2, 4, 5])\nsum(matmul($1, permute(m, [0 2 1])) ** 2)",
    "sum(scatter_add($1, numbers([2 0 2], dtype=i32), slice($1, [0 0], [3 5])) ** 2)",
    "sum(scatter_add(zeros([6], dtype=f64), numbers([2 0 9], dtype=i32), reshape(slice($1, [0 0], [1 3]), [-1])) ** 2)",
    "sum(lut(cast($1 * 9, u8) % 3, reshape(slice($1, [0 0], [1 3]), [-1])) * $1)",
    "sum(matinv(slice($1, [1 1], [3 3]) + eye(2)))",
    "sum(scatter_max($1, numbers([2 0 2], dtype=i32), slice($1, [0 0], [3 5]) ** 2 + 0.2) ** 2)",
    "sum(scatter_min(zeros([6], dtype=f64) + 0.5, numbers([2 0 9], dtype=i32), reshape(slice($1, [0 0], [1 3]), "
    "[-1])))",
    "sum(scatter_max($1, numbers([2 0 2], dtype=i32), reshape(slice($1, [1 2], [2 3]), [-1])) ** 2)",
    "sum(group_max(reshape($1, [-1]), reshape(cast(make(20, 1, x % 3), i32), [-1]), 3) ** 2)",
    "sum(group_min(reshape($1, [-1]), reshape(cast(make(20, 1, x % 3), i32), [-1]), 3) ** 2)",
    "sum(group_mean(reshape($1, [-1]), reshape(cast(make(20, 1, x % 3), i32), [-1]), 3) ** 2)",
    "sum(group_mean($1, cast(make(5, 4, (x + y) % 3), i32), 3) ** 2)",
    "sum(lut(cast(make(4, 5, x + y), u8), reshape($1, [-1])) ** 2)",
    "sum(weighted_histogram(cast(make(5, 4, x % 3), u8), $1) ** 2)",
    "sum(lookup_by(numbers([0 1]), slice(reshape($1, [-1]), 0, 2), cast(make(4, 5, x % 2), i32)) ** 2)",
    "sum(acosh(1 + $1) ** 2)",
    "sum(real(fft(complex($1, $1 ** 2))) ** 2 * cos(x + 2 * y))",
    MATRICES "sum(matinv(nine) ** 2 * " W ") + sum(matinv(m) * " W ")",
    MATRICES "det(nine) + sum(det(two) ** 2)",
    MATRICES "sum(solve(m, n) ** 2 * " W ")",
    MATRICES "sum(solve(m, reshape(n, [2 3 1])) ** 2 * " W ")",
    MATRICES "sum(solve(two, transpose(n)) ** 2 * " W ")",
    MATRICES "sum(cholesky(matmul(two, permute(two, [0 2 1])) + reshape(m, [1, 3, 3])) * " W ")",
    MATRICES "sum(lstsq(reshape($1, [5 4]), transpose($1)) * " W ")",
    MATRICES "sum(lstsq(reshape($1, [5 4]), transpose($1)) * " W ") + sum(pinv($1) * " W
             ") + sum(pinv(transpose($1)) ** 2)",
    MATRICES "sum(qr_q($1) * " W ") + sum(qr_r($1) * " W ") + sum(qr_r(transpose($1)) ** 2 * " W ")",
    MATRICES "sum(qr_q(two) * " W ") + sum(qr_r(transpose($1)) * " W ") + sum(qr_q(transpose($1)) * " W ")",
    MATRICES "sum(eigvalsh(two) * " W ") + sum(eigvecsh(m + transpose(m)) * " W ")",
    MATRICES "sum(svdvals($1) * " W ") + sum(svd_u($1) * " W ") + sum(svd_vt($1) * " W ")",
    MATRICES "sum(svd_u(two) * " W ") + sum(svd_vt(transpose($1)) ** 2 * " W ")",
    MATRICES "sum(grad(sum(solve(m, n) ** 2), $1) ** 2 * " W ")",
    "u = iterate($1, 3, u -> u + 0.1 * blur(u, 1) ** 2)\nsum(u * cos(x + 2 * y))",
    "sum(grad(sum($1 ** 3 * cos(x + 2 * y)), $1) * $1)",
    "sum(grad(sum(blur($1, 1) ** 3), $1) ** 2)",
    "u = iterate($1, 2, u -> u - 0.1 * grad(sum((blur(u, 1) - 0.3) ** 2), u))\nsum(u ** 2)",
    "w = $1 * 1\nsum(grad(sum(w ** 2 * $1), w) * $1)",
    /* windows within windows, whose own values are in what they count for */
    FEW "sum(around(v, 2, (p, q, dy, dx) -> (q, exp(-boxblur((p - q) ** 2, 7) * 9)), \"mean\") * " W ")",
    FEW "sum(around(v, 1, (p, q, dy, dx) -> erode(abs(p - q) + p, 7) * boxblur(p * q, 7) ** 2, \"max\") * " W ")",
    FEW "sum(nlmeans(v, noise=0.2, patch=7, search=3) * " W ")",
    /* whole numbers in recurrences that change by steps only */
    "sum(histogram_match(0.9 - flip($1) * 0.7, $1 ** 2) * " W ")",
    "n = cummax(select($1 > 0.5, x, 0), axis=1)\nsum($1 * n * " W ")",
};
enum { N_LOSSES = sizeof losses / sizeof *losses };

START_TEST(losses_of_many_kinds_have_gradients)
{
    static const int64_t shape[2] = { 4, 5 };
    const sample a = sample_new(2, shape, 0.2, 0.9);
    expect_right(ref, losses[_i], &a, 1e-5, 1e-5);
}
END_TEST

START_TEST(what_is_equal_shares)
{
    const sample a = { .rank = 1, .shape = { 4 }, .v = { 2, 3, 3, 1 } };
    expect_value("grad(maxval($1), $1)", &a, (double[]){ 0, 0.5, 0.5, 0 }, 4);
    expect_value("grad(sum(scatter_max($1 * 0 + 3, numbers([0 1 1 0], dtype=i32), $1)), $1)", &a,
                 (double[]){ 0, 1 / 3., 1 / 3., 0 }, 4);
    expect_value("grad(sum(max($1, 3)), $1)", &a, (double[]){ 0, 0.5, 0.5, 0 }, 4);
    expect_value("grad(sum(abs($1 - 3)), $1)", &a, (double[]){ -1, 0, 0, -1 }, 4);
    expect_value("grad(sum(sqrt($1 - $1)), $1)", &a, (double[]){ 0, 0, 0, 0 }, 4);
    expect_value("grad(sum(($1 - 1) ** 0.5), $1)", &a, (double[]){ 0.5, 0.5 / sqrt(2), 0.5 / sqrt(2), 0 }, 4);
    expect_value("grad(prod($1 - 1), $1)", &a, (double[]){ 0, 0, 0, 4 }, 4);
    expect_value("grad(prod($1 - 3), $1)", &a, (double[]){ 0, 0, 0, 0 }, 4);
}
END_TEST

/* Of equal elements of a window each has its share, those beyond an edge through the elements that stand for them. By
 * hand, along a row whose windows have it three times: that of the first element has it twice and the second one. */
START_TEST(ranks_are_shared_among_equals)
{
    const sample a = { .rank = 1, .shape = { 4 }, .v = { 1, 1, 2, 5 } };
    const sample of_nan = { .rank = 1, .shape = { 3 }, .v = { 1, NAN, 2 } };
    expect_value("grad(sum(percentile_filter($1, 50, size=3)), $1)", &a, (double[]){ 7 / 6., 5 / 6., 1, 1 }, 4);
    expect_value("u = cast($1, u8)\ngrad(sum(percentile_filter(u, 50, size=3)), u)", &a,
                 (double[]){ 7 / 6., 5 / 6., 1, 1 }, 4);
    expect_value("u = cast($1, f16)\ngrad(sum(percentile_filter(u, 50, size=3)), u)", &a,
                 (double[]){ 7 / 6., 5 / 6., 1, 1 }, 4);
    expect_value("grad(sum(mode_filter($1, size=3)), $1)", &a, (double[]){ 7 / 6., 11 / 6., 0, 1 }, 4);
    expect_value("grad(sum(percentile_filter($1, 0, size=3)), $1)", &of_nan, (double[]){ 2, 0, 1 }, 3);
    expect_value("p = percentile_filter($1, 100, size=3)\ngrad(sum(select(isnan(p), 0, p)), $1)", &of_nan,
                 (double[]){ 0, 0, 0 }, 3);
}
END_TEST

/* The same of 9 and 25 values, which networks of minima and maxima take the median of: of 9 equal elements a ninth
 * each; of 25 that are 3 x 3 elements and the nearest beyond the edges, corners stand for 4, edges for 2. */
START_TEST(medians_are_shared_among_equals)
{
    const sample a = { .rank = 1, .shape = { 4 }, .v = { 1, 1, 2, 5 } };
    const sample flat = { .rank = 2, .shape = { 3, 3 }, .v = { 7, 7, 7, 7, 7, 7, 7, 7, 7 } };
    const sample edge = { .rank = 2, .shape = { 3, 3 }, .v = { 9, 9, 9, 9, 9, 9, 9, 9, 9 } };
    const sample few = { .rank = 2, .shape = { 3, 3 }, .v = { 4, 1, 4, 9, 4, 0, 8, 9, 2 } };
    const sample of_nan = { .rank = 1, .shape = { 3 }, .v = { NAN, NAN, NAN } };
    expect_value("grad(sum(median($1, 3)), $1)", &a, (double[]){ 7 / 6., 5 / 6., 1, 1 }, 4);
    expect_value("u = cast($1, u8)\ngrad(sum(median(u, 3)), u)", &a, (double[]){ 7 / 6., 5 / 6., 1, 1 }, 4);
    /* rows of 5: 1 1 1 1 2, 1 1 1 2 5, 1 1 2 5 5, 1 2 5 5 5; the first element has three of the first window's four */
    expect_value("grad(sum(median($1, 5)), $1)", &a, (double[]){ 3 / 4. + 2 / 3., 1 / 4. + 1 / 3., 1, 1 }, 4);
    expect_value("grad(sum(slice(median($1, 3), [1 1], [2 2])), $1)", &flat,
                 (double[]){ 1 / 9., 1 / 9., 1 / 9., 1 / 9., 1 / 9., 1 / 9., 1 / 9., 1 / 9., 1 / 9. }, 9);
    expect_value("grad(sum(slice(median($1, 5), [1 1], [2 2])), $1)", &flat,
                 (double[]){ 4 / 25., 2 / 25., 4 / 25., 2 / 25., 1 / 25., 2 / 25., 4 / 25., 2 / 25., 4 / 25. }, 9);
    expect_value("grad(sum(slice(median($1, 3), [1 1], [2 2])), $1)", &few,
                 (double[]){ 1 / 3., 0, 1 / 3., 0, 1 / 3., 0, 0, 0, 0 }, 9);
    expect_value("grad(sum(slice(median($1, 3, border=constant, cval=9), [0 0], [1 1])), $1)", &edge,
                 (double[]){ 1 / 9., 1 / 9., 0, 1 / 9., 1 / 9., 0, 0, 0, 0 }, 9);
    expect_value("m = median($1, 3)\ngrad(sum(select(isnan(m), 0, m)), $1)", &of_nan, (double[]){ 0, 0, 0 }, 3);
}
END_TEST

START_TEST(whole_numbers_count_as_numbers)
{
    const sample a = { .rank = 1, .shape = { 3 }, .v = { 1, 2, 250 } };
    expect_value("u = cast($1, u8)\ngrad(sum(u * u), u)", &a, (double[]){ 2, 4, 500 }, 3);
    expect_value("u = cast($1, i32)\ngrad(sum(u * u - 3 * u), u)", &a, (double[]){ -1, 1, 497 }, 3);
    expect_value("u = cast($1, u8)\ngrad(sum((u / 255) ** 2), u)", &a,
                 (double[]){ 2 / 65025., 4 / 65025., 500 / 65025. }, 3);
}
END_TEST

/* By Parseval the squares of a transform are n times those of the line, so the gradient is 2 n a, of the inverse
 * 2 a / n; and by the first real part it is 1 everywhere. Of 8 elements, and of 11 and 13, which are padded. */
START_TEST(transforms_of_any_length_have_gradients)
{
    static const int n_of[] = { 8, 11, 13 };
    for (int i = 0; i < 3; i++) {
        const int n = n_of[i];
        sample a = { .rank = 1, .shape = { n } };
        double want[3][MOST];
        for (int k = 0; k < n; k++) {
            a.v[k] = (k * k % 7 + 1) / 4.;
            want[0][k] = 2 * n * a.v[k];
            want[1][k] = 2 * a.v[k] / n;
            want[2][k] = 1;
        }
        expect_value("f = fft($1)\ngrad(sum(real(f * conj(f))), $1)", &a, want[0], n);
        expect_value("f = ifft($1)\ngrad(sum(real(f * conj(f))), $1)", &a, want[1], n);
        expect_value("grad(sum(slice(real(fft($1)), 0, 1)), $1)", &a, want[2], n);
    }
}
END_TEST

/* Two arrays that are equal stay two, and a value that was computed before does not cut the way. */
START_TEST(the_very_array_counts)
{
    const sample a = { .rank = 1, .shape = { 2 }, .v = { 1, 2 } };
    expect_value("u = zeros([2])\nv = zeros([2])\ngrad(sum(2 * u + 3 * v), u)", &a, (double[]){ 2, 2 }, 2);
    expect_value("u = flip($1)\ngrad(sum(flip(u) * $1), u)", &a, (double[]){ 2, 1 }, 2);
    expect_value("u = cast($1, f64)\ngrad(sum(u * $1), u)", &a, (double[]){ 1, 2 }, 2);
    /* both of what is made of the other, and of itself through it */
    expect_value("v = $1 * $1\n(g, h) = grad(sum($1 * v), ($1, v))\nconcatenate(g, h)", &a, (double[]){ 3, 12, 1, 2 },
                 4);
    expect_value("v = $1 * $1\n(g, h) = gradient(sum($1 * v), (v, $1))\nconcatenate(g, h)", &a,
                 (double[]){ 1, 2, 3, 12 }, 4);
    expect_value("gradient(sum($1 * $1), $1)", &a, (double[]){ 2, 4 }, 2);
    imgpar_array *in = array_of(ref, &a), *square = imgpar_apply(ref, "$1 * $1", &in, 1), *loss, *g;
    double out[2];
    ck_assert_int_eq(imgpar_array_eval(square, NULL), IMGPAR_OK);
    loss = imgpar_apply(ref, "sum($1)", &square, 1);
    g = imgpar_grad(loss, in);
    ck_assert_msg(imgpar_array_read(g, out, sizeof out) == IMGPAR_OK, "%s", imgpar_array_message(g));
    ck_assert(out[0] == 2 && out[1] == 4);
    imgpar_array_release(g);
    imgpar_array_release(loss);
    imgpar_array_release(square);
    imgpar_array_release(in);
}
END_TEST

START_TEST(what_has_no_gradient_is_refused_by_name)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "grad($1, $1)", "grad: loss is [2, 3]; it must be one number, as sum() and mean() give" },
        { "grad(sum($1), blur($1, 1))", "grad: the loss is not computed from a; give the array a name" },
        { "grad(sum($1), 3)", "grad: a must be an array, not a number" },
        { "(g, h) = grad(sum($1), ($1, $1))\ng", "grad: one array is given twice" },
        { "v = $1 * 2\n(g, h) = grad(sum($1), ($1, v))\ng", "grad: the loss is not computed from a" },
        { "(g, h) = grad(sum($1), ($1, 3))\ng", "grad: a must be arrays, not a number" },
        { "m = $1 > 1\ngrad(sum(m), m)", "grad: a is bool; it must be of real numbers" },
        { "w = complex($1, 1)\ngrad(sum(real(w)), w)", "grad: a is complex128; it must be real" },
        { "grad(all($1), $1)", "grad: loss is bool; it must be a real number" },
        { "grad(sum($1 > 1), $1)", "only through >, which does not change smoothly" },
        { "grad(sum(floor($1)), $1)", "only through floor, which does not change smoothly" },
        { "grad(sum(cast($1, u8) * 2), $1)", "only through cast, which does not change smoothly" },
        { "grad(sum(cummax(cast($1 * 9, i32))), $1)", "only through cummax, which does not change smoothly" },
        { "u = cast($1 * 9, i32)\ngrad(sum(cummax(u)), u)", "cummax has no derivative here: a recurrence of whole" },
        { "grad(sum(harmonic($1, $1 > 0.5)), $1)", "grad: harmonic has no derivative here" },
        { "u = iterate($1, 1000, u -> u * 0.99)\ngrad(sum(u), $1)", "run as a loop" },
        { "grad(reduce($1, 0, (p, q) -> p + q + p * q, associative=true), $1)", "has no derivative here" },
    };
    static const int64_t shape[2] = { 2, 3 };
    const sample a = sample_new(2, shape, 0.2, 0.9);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double out[MOST];
        char why[512] = "";
        ck_assert_msg(evaluate(ref, rows[k].text, &a, out, why) < 0, "%s is computed", rows[k].text);
        ck_assert_msg(strstr(why, rows[k].why), "%s: %s", rows[k].text, why);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient");
    TCase *rows = tcase_create("rows");
    tcase_add_checked_fixture(rows, set_up, tear_down);
    tcase_set_timeout(rows, 0);
    tcase_add_loop_test(rows, every_row_with_a_derivative_has_it, 0, ROWS_AT_ONCE);
    tcase_add_loop_test(rows, every_way_of_reading_has_its_adjoint, 0, N_ANYWHERE);
    tcase_add_loop_test(rows, losses_of_many_kinds_have_gradients, 0, N_LOSSES);
    tcase_add_loop_test(rows, volumes_have_gradients, 0, N_OF_VOLUMES);
    tcase_add_test(rows, narrow_floats_have_gradients_of_f32);
    tcase_add_test(rows, what_is_equal_shares);
    tcase_add_test(rows, ranks_are_shared_among_equals);
    tcase_add_test(rows, medians_are_shared_among_equals);
    tcase_add_test(rows, whole_numbers_count_as_numbers);
    tcase_add_test(rows, the_very_array_counts);
    tcase_add_test(rows, transforms_of_any_length_have_gradients);
    tcase_add_test(rows, what_has_no_gradient_is_refused_by_name);
    suite_add_tcase(suite, rows);
    TCase *devices = tcase_create("device");
    tcase_set_timeout(devices, 0);
    tcase_add_checked_fixture(devices, open_device, close_device);
    tcase_add_loop_test(devices, the_device_agrees, 0, N_ANYWHERE);
    tcase_add_loop_test(devices, the_device_agrees_on_decompositions, 0, 2);
    suite_add_tcase(suite, devices);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
