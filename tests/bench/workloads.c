/* SPDX-License-Identifier: MIT */
/*
 * The workloads, a row each. Bars are the least ratio of another's time to ours; a tolerance says how far its
 * answer may be from ours, and why where that is not plain.
 */
#include "bench.h"

#include <stddef.h>

/* As in the texts below; no column times a row. */
const float bench_matrix[25] = { 1, 2, 3, 2, 0, 2, 5, 8, 4, 1, 3, 9, 14, 7, 2, 2, 6, 8, 5, 1, 0, 1, 3, 2, 1 };
#define MATRIX "[1 2 3 2 0; 2 5 8 4 1; 3 9 14 7 2; 2 6 8 5 1; 0 1 3 2 1]"
const float bench_matrix_separable[25] = { 1,  4, 6, 4,  1,  4,  16, 24, 16, 4, 6, 24, 36,
                                           24, 6, 4, 16, 24, 16, 4,  1,  4,  6, 4, 1 };
#define MATRIX_SEPARABLE "[1 4 6 4 1; 4 16 24 16 4; 6 24 36 24 6; 4 16 24 16 4; 1 4 6 4 1]"

const float bench_perspective[9] = { 0.9375f, 0.125f, 40, -0.0625f, 0.9375f, 200, -1.0f / 65536, 1.0f / 32768, 1 };
#define PERSPECTIVE "[0.9375, 0.125, 40; -0.0625, 0.9375, 200; -1 / 65536, 1 / 32768, 1]"

#define SUNSET                                    \
    "soft = iterate($1, 3, boxblur(_, size=3))\n" \
    "mixed = blend(soft, $2, 0.3)\n"              \
    "overlay(mixed, invert($3), circle(mixed, radius=height(mixed)/4))"

/* Eleven operations of one value each, such as every library has. */
#define MAPS                                                                                                \
    "a = $1 * 1.25\nb = a - 0.5\nc1 = abs(b)\nd = c1 * c1\ne = d + 1\nf = e * 0.5\ng = f - 3\nh = abs(g)\n" \
    "i = h * 0.75\nj = i + 0.125\nj * j"

/*
 * The seven programs of Ikra's evaluation (Springer, Wauligmann, Masuhara: Modular Array-Based GPU Computing in a
 * Dynamically-Typed Language, ARRAY 2017). The paper gives sizes and counts, not the sections' code, which is assumed:
 *   1  11 maps of 60,000,000 numbers
 *   2  a map, a stencil of three neighbours and a map of them
 *   3  a loop of 100 steps, each one map; 4: each one stencil; these, 6 and 7 of 6,000,000 numbers, a tenth of the
 *      paper's
 *   5  Himeno's stencil on 129 x 65 x 65, 100 steps; its constant coefficients, those of 0 left out
 *   6  a loop of 100 steps of 5 maps
 *   7  a loop of 200 steps: of two maps, one or the other by turns, and then a third
 * himeno is that stencil with all arrays: a0-3, b0-2, c0-2, boundary, work and pressure; 0.05 keeps values below 1.
 * Numbers are f32. Not fused, every operation is a kernel, so a map of two operations is two of them.
 */
#define IKRA_2 "s = $1 * 2 + 1\nt = (s[-1] + s[0] + s[1]) * 0.25\nt * 0.5 - 1"
#define IKRA_3 "iterate($1, 100, _ * 0.999)"
#define IKRA_4 "iterate($1, 100, (_[-1] + _[0] + _[1]) * 0.25)"
#define IKRA_5                                                                                                    \
    "iterate(reshape($1, [129 65 65 1]), 100, stencil(_[0,0,0] + ((_[1,0,0] + _[0,1,0] + _[0,0,1] + _[-1,0,0] + " \
    "_[0,-1,0] + _[0,0,-1]) * 0.1666666716337204 - _[0,0,0]) * 0.8, outside=keep))"
#define HIMENO                                                                                             \
    "fn m(k) = reshape(slice($1, k * 545025, (k + 1) * 545025), [129 65 65 1])\n"                          \
    "iterate(m(12), 100, stencil(_[0,0,0] + ((m(0) * _[1,0,0] + m(1) * _[0,1,0] + m(2) * _[0,0,1] + "      \
    "m(4) * (_[1,1,0] - _[1,-1,0] - _[-1,1,0] + _[-1,-1,0]) + m(5) * (_[0,1,1] - _[0,-1,1] - _[0,1,-1] + " \
    "_[0,-1,-1]) + m(6) * (_[1,0,1] - _[-1,0,1] - _[1,0,-1] + _[-1,0,-1]) + m(7) * _[-1,0,0] + "           \
    "m(8) * _[0,-1,0] + m(9) * _[0,0,-1] + m(11)) * m(3) * 0.05 - _[0,0,0]) * m(10) * 0.8, outside=keep))"
#define IKRA_6 "iterate($1, 100, abs(_ * 1.25 - 0.5) * 0.75 + 0.125)"
#define IKRA_7 \
    "(p, k) = iterate(($1, 0), 200, (p, k) -> (select(k % 2 == 0, p * 0.5 + 1, abs(p - 0.25)) * 0.75, k + 1))\np"

/* Escape times of z -> z^2 + c, 200 steps at most: with steps that are taken for all, and of points that stop. */
#define PLANE "o = $1 * 0.0\nre = o + (x - 1200) / 480\nim = o + (y - 540) / 480\n"
#define ESCAPES                                                                                      \
    "(u, v, n) = iterate((0, 0, 0), 200, (u, v, n) -> (u * u - v * v + re, 2 * u * v + im, n + 1), " \
    "until=(u, v, n) -> u * u + v * v >= 4)\nn"
#define ESCAPES_MASKED                                                                             \
    "fn next(u, v, n, p, q) = (select(u * u + v * v < 4, p, u), select(u * u + v * v < 4, q, v), " \
    "n + (u * u + v * v < 4))\n"                                                                   \
    "(u, v, n) = iterate((re * 0, re * 0, cast(re * 0, i32)), 200, "                               \
    "(u, v, n) -> next(u, v, n, u * u - v * v + re, 2 * u * v + im))\nn"

/* A hole of 204 pixels in a picture of 512. */
#define INPAINT                                                       \
    "p = crop($1, 0, 0, min(512, width($1)), min(512, height($1)))\n" \
    "fn within(k, n) = k > 0.3 * n && k < 0.7 * n\n"                  \
    "inpaint(p, make(width(p), height(p), within(x, width(p)) && within(y, height(p))))"

#define MATCHED(SIZE) "match_template($1, crop($1, width($1) div 2, height($1) div 2, " #SIZE ", " #SIZE "))"

/* By BENCH_WARP_DEGREES. */
#define TURNED                                                                      \
    "v = (height($1) - 1) / 2\nu = (width($1) - 1) / 2\nt = 10 * pi / 180\n"        \
    "at($1, make(width($1), height($1), v + (y - v) * cos(t) - (x - u) * sin(t)), " \
    "make(width($1), height($1), u + (x - u) * cos(t) + (y - v) * sin(t)), filter=linear, border=constant)"

#define LOCAL_DEVIATION "f = cast($1, f32)\nm = boxblur(f, size=7)\nsqrt(max(boxblur(f * f, size=7) - m * m, 0.0))"

/* The variance from exact sums. */
#define DEVIATION                                                             \
    "n = width($1) * height($1) * channels($1)\nm = cast(sum($1), f64) / n\n" \
    "sqrt(cast(sum($1 * $1), f64) / n - m * m)"

/* One level: fixed-point weights, or a rounding of ties. Integer convolutions of libvips are coarse: their weights
 * are rounded to a few bits, those of Gaussians to 1/20 of the middle one. */
#define EXACT   \
    {           \
        0, 0, 0 \
    }
#define LEVEL   \
    {           \
        1, 0, 0 \
    }
#define COARSE   \
    {            \
        12, 0, 0 \
    }
#define COARSEST \
    {            \
        24, 0, 0 \
    }
#define REAL          \
    {                 \
        1e-3, 1e-5, 0 \
    }

/* Beside a sum of all of 10^8, or of half a million. */
#define SPECTRUM_2  \
    {               \
        16, 1e-5, 0 \
    }
#define SPECTRUM     \
    {                \
        0.5, 1e-5, 0 \
    }

#define FASTER .opencv = 1, .vips = 1
/* Within twice a copy of the same bytes. */
#define MOVED .copy = 0.5

const bench_row bench_rows[] = {
    /* The mask's edge is drawn differently. */
    { "sunset", BENCH_SUNSET, BENCH_RGB, .size = 3, .ours = { SUNSET }, .n_in = 3, .margin_px = 4,
      .opencv = { 2, 0, 0.001 }, .vips = { 12, 0, 0.001 }, .bars = { .opencv = 7, .vips = 10, .hand = 1 / 1.15 } },
    { "boxblur-3", BENCH_BOX, BENCH_RGB, .size = 3, .ours = { "boxblur($1, size=3)" }, .n_in = 1, .opencv = LEVEL,
      .vips = COARSE, .bars = { .opencv = 5.5, .vips = 1 } },
    { "boxblur-15", BENCH_BOX, BENCH_RGB, .size = 15, .ours = { "boxblur($1, size=15)" }, .n_in = 1, .opencv = LEVEL,
      .vips = COARSE, .bars = { FASTER, .cousin = "boxblur-3", .cousin_most = 2.5 } },
    { "blur-1-u8", BENCH_GAUSS, BENCH_RGB, .sigma = 1, .ours = { "blur($1, 1)" }, .n_in = 1, .opencv = LEVEL,
      .vips = COARSE, .bars = { FASTER } },
    { "blur-2-u8", BENCH_GAUSS, BENCH_RGB, .sigma = 2, .ours = { "blur($1, 2)" }, .n_in = 1, .opencv = LEVEL,
      .vips = COARSE, .bars = { .opencv = 1.4, .vips = 1 } },
    { "blur-5-u8", BENCH_GAUSS, BENCH_RGB, .sigma = 5, .ours = { "blur($1, 5)" }, .n_in = 1, .opencv = { 2, 0, 0 },
      .vips = COARSE, .bars = { FASTER } },
    { "blur-20-u8", BENCH_GAUSS, BENCH_RGB, .sigma = 20, .ours = { "blur($1, 20)" }, .n_in = 1, .opencv = { 4, 0, 0 },
      .vips = COARSE, .bars = { FASTER } },
    { "blur-1-f32", BENCH_GAUSS, BENCH_RGB_F32, .sigma = 1, .ours = { "blur($1, 1)" }, .n_in = 1, .opencv = REAL,
      .vips = { 0.25, 0, 0 }, .bars = { FASTER } },
    { "blur-2-f32", BENCH_GAUSS, BENCH_RGB_F32, .sigma = 2, .ours = { "blur($1, 2)" }, .n_in = 1, .opencv = REAL,
      .vips = { 0.25, 0, 0 }, .bars = { FASTER } },
    { "blur-5-f32", BENCH_GAUSS, BENCH_RGB_F32, .sigma = 5, .ours = { "blur($1, 5)" }, .n_in = 1, .opencv = REAL,
      .vips = { 0.25, 0, 0 }, .bars = { FASTER } },
    { "blur-20-f32", BENCH_GAUSS, BENCH_RGB_F32, .sigma = 20, .ours = { "blur($1, 20)" }, .n_in = 1, .opencv = REAL,
      .vips = { 0.25, 0, 0 }, .bars = { FASTER } },
    /* 0.7 % of the range by our promise, and as much as blur's of theirs. */
    { "fastblur-5", BENCH_GAUSS, BENCH_RGB, .sigma = 5, .ours = { "fastblur($1, sigma=5)" }, .needs = "fastblur",
      .n_in = 1, .opencv = { 4, 0, 0 }, .vips = COARSE, .bars = { FASTER } },
    { "fastblur-20", BENCH_GAUSS, BENCH_RGB, .sigma = 20, .ours = { "fastblur($1, sigma=20)" }, .needs = "fastblur",
      .n_in = 1, .opencv = { 4, 0, 0 }, .vips = COARSE,
      .bars = { FASTER, .cousin = "fastblur-5", .cousin_most = 1.1 } },
    /* Colours weighed by alpha: beside the same where alpha is any channel. */
    { "blur-2-rgba", BENCH_OWN, BENCH_RGBA, .ours = { "blur($1, 2, alpha=channel)" }, .n_in = 1 },
    { "blur-2-by-alpha", BENCH_OWN, BENCH_RGBA, .ours = { "blur($1, 2)" }, .n_in = 1,
      .bars = { .cousin = "blur-2-rgba", .cousin_most = 5 } },
    { "boxblur-5-rgba", BENCH_OWN, BENCH_RGBA, .ours = { "boxblur($1, size=5, alpha=channel)" }, .n_in = 1 },
    { "boxblur-5-by-alpha", BENCH_OWN, BENCH_RGBA, .ours = { "boxblur($1, size=5)" }, .n_in = 1,
      .bars = { .cousin = "boxblur-5-rgba", .cousin_most = 5 } },
    { "resize-0.6-rgba", BENCH_OWN, BENCH_RGBA, .ours = { "resize($1, width=0.6*width($1), alpha=channel)" },
      .n_in = 1 },
    { "resize-0.6-by-alpha", BENCH_OWN, BENCH_RGBA, .ours = { "resize($1, width=0.6*width($1))" }, .n_in = 1,
      .bars = { .cousin = "resize-0.6-rgba", .cousin_most = 3 } },
    { "resize-1.7-rgba", BENCH_OWN, BENCH_RGBA, .ours = { "resize($1, width=1.7*width($1), alpha=channel)" },
      .n_in = 1 },
    { "resize-1.7-by-alpha", BENCH_OWN, BENCH_RGBA, .ours = { "resize($1, width=1.7*width($1))" }, .n_in = 1,
      .bars = { .cousin = "resize-1.7-rgba", .cousin_most = 4 } },
    { "median-3", BENCH_MEDIAN, BENCH_RGB, .size = 3, .ours = { "median($1, size=3)" }, .n_in = 1, .opencv = EXACT,
      .vips = EXACT, .bars = { .opencv = 2.3, .vips = 1 } },
    /* libvips 8.14.1 counts levels in windows of 25 elements and more, wrongly: its answer is not looked at. */
    { "median-5", BENCH_MEDIAN, BENCH_RGB, .size = 5, .ours = { "median($1, size=5)" }, .n_in = 1, .opencv = EXACT,
      .vips = { 0, 0, 1 }, .bars = { FASTER } },
    { "median-41-gray", BENCH_MEDIAN, BENCH_GRAY, .size = 41, .ours = { "median($1, size=41)" }, .n_in = 1,
      .opencv = EXACT, .vips = { 0, 0, 1 }, .bars = { FASTER } },
    { "erode-3", BENCH_ERODE, BENCH_RGB, .size = 3, .ours = { "erode($1, size=3)" }, .n_in = 1, .opencv = EXACT,
      .vips = EXACT, .bars = { .opencv = 2.7, .vips = 1 } },
    { "erode-15", BENCH_ERODE, BENCH_RGB, .size = 15, .ours = { "erode($1, size=15)" }, .n_in = 1, .opencv = EXACT,
      .vips = EXACT, .bars = { FASTER, .cousin = "erode-3", .cousin_most = 2.5 } },
    { "dilate-3", BENCH_DILATE, BENCH_RGB, .size = 3, .ours = { "dilate($1, size=3)" }, .n_in = 1, .opencv = EXACT,
      .vips = EXACT, .bars = { FASTER } },
    { "dilate-15", BENCH_DILATE, BENCH_RGB, .size = 15, .ours = { "dilate($1, size=15)" }, .n_in = 1, .opencv = EXACT,
      .vips = EXACT, .bars = { FASTER, .cousin = "dilate-3", .cousin_most = 2.5 } },
    { "sobel-gray", BENCH_SOBEL, BENCH_GRAY, .ours = { "sobel($1)" }, .n_in = 1, .opencv = LEVEL, .vips = LEVEL,
      .bars = { FASTER } },
    { "canny", BENCH_CANNY, BENCH_GRAY_1080P, .ours = { "canny($1, 100, 200)" }, .n_in = 1, .opencv = EXACT },
    { "match-template-16", BENCH_TEMPLATE, BENCH_GRAY_1080P, .size = 16, .ours = { MATCHED(16) }, .n_in = 1,
      .opencv = REAL, .ref = REAL },
    { "match-template-64", BENCH_TEMPLATE, BENCH_GRAY_1080P, .size = 64, .ours = { MATCHED(64) }, .n_in = 1,
      .opencv = REAL, .ref = REAL },
    { "convolve-5x5", BENCH_CONVOLVE, BENCH_RGB, .ours = { "convolve($1, " MATRIX ", scale=92)" }, .n_in = 1,
      .opencv = LEVEL, .vips = COARSE, .bars = { .opencv = 4.5, .vips = 1 } },
    { "convolve-5x5-separable", BENCH_CONVOLVE_SEPARABLE, BENCH_RGB,
      .ours = { "convolve($1, " MATRIX_SEPARABLE ", scale=256)" }, .n_in = 1, .opencv = LEVEL, .vips = COARSE,
      .bars = { FASTER } },
    { "blend", BENCH_BLEND, BENCH_RGB, .ours = { "blend($1, $2, 0.3)" }, .n_in = 2, .opencv = LEVEL, .vips = LEVEL,
      .bars = { .opencv = 2.4, .vips = 1 } },
    { "11-maps-f32", BENCH_MAPS, BENCH_LINE_F32, .ours = { MAPS }, .n_in = 1, .opencv = REAL, .vips = REAL,
      .bars = { FASTER, .copy = 1 / 1.15 } },
    { "gray", BENCH_TO_GRAY, BENCH_RGB, .ours = { "gray($1)" }, .n_in = 1, .opencv = LEVEL, .vips = LEVEL,
      .bars = { FASTER } },
    /* OpenCV's C functions have none; its C++ takes 95 ms for 13 megapixels of gray where this takes 140. */
    { "clahe", BENCH_OWN, BENCH_GRAY, .ours = { "clahe($1, clip=2)" }, .n_in = 1 },
    { "resize-half-area", BENCH_RESIZE_AREA, BENCH_RGB, .sigma = 0.5, .n_in = 1,
      .ours = { "resize($1, width=width($1)/2, height=height($1)/2, filter=area)" }, .opencv = LEVEL, .vips = LEVEL,
      .bars = { FASTER } },
    { "resize-half-linear", BENCH_RESIZE_LINEAR, BENCH_RGB, .sigma = 0.5, .n_in = 1, .margin_px = 2,
      .ours = { "resize($1, width=width($1)/2, height=height($1)/2, filter=linear)" }, .opencv = LEVEL,
      .vips = { 2, 0, 0 }, .bars = { FASTER } },
    /* libvips has positions in 1/64 pixel here. */
    { "resize-1.7-linear", BENCH_RESIZE_LINEAR, BENCH_RGB, .sigma = 1.7, .n_in = 1, .margin_px = 4,
      .ours = { "resize($1, width=1.7*width($1), height=1.7*height($1), filter=linear)" }, .opencv = LEVEL,
      .vips = { 4, 0, 0 }, .bars = { FASTER } },
    { "threshold", BENCH_THRESHOLD, BENCH_RGB, .ours = { "threshold($1, 128)" }, .n_in = 1, .opencv = EXACT,
      .vips = EXACT, .bars = { FASTER } },
    { "sum", BENCH_SUM, BENCH_RGB, .ours = { "sum($1)" }, .n_in = 1, .opencv = EXACT, .vips = EXACT,
      .bars = { .opencv = 10, .vips = 1 } },
    { "mean-std-min-max", BENCH_STATISTICS, BENCH_RGB, .ours = { "mean($1)", DEVIATION, "minval($1)", "maxval($1)" },
      .n_in = 1, .opencv = { 0, 1e-6, 0 }, .vips = { 0, 1e-6, 0 }, .ref = { 0, 1e-6, 0 }, .bars = { FASTER } },
    { "histogram-1", BENCH_HISTOGRAM, BENCH_GRAY, .ours = { "histogram($1)" }, .n_in = 1, .opencv = EXACT,
      .vips = EXACT, .bars = { .opencv = 1.7, .vips = 1 } },
    { "histogram-3", BENCH_HISTOGRAM, BENCH_RGB, .ours = { "histogram($1)" }, .n_in = 1, .opencv = EXACT, .vips = EXACT,
      .bars = { FASTER } },
    /* Levels that differ by one change bins. */
    { "histogram-mean-blurred", BENCH_HISTOGRAM_MEAN, BENCH_RGB, .sigma = 2, .n_in = 1,
      .ours = { "histogram(blur(gray($1), 2))", "mean(blur(gray($1), 2))" }, .opencv = { 2, 0.15, 0.2 },
      .vips = { 2, 0.15, 0.4 }, .ref = { 0, 1e-6, 0 }, .bars = { FASTER } },
    { "unsharp-mask", BENCH_UNSHARP, BENCH_RGB, .sigma = 2, .ours = { "cast($1 * 1.6 - blur($1, 2) * 0.6, u8)" },
      .n_in = 1, .opencv = { 2, 0, 0 }, .vips = COARSE, .bars = { FASTER } },
    { "local-deviation-7", BENCH_LOCAL_DEVIATION, BENCH_GRAY, .size = 7, .ours = { LOCAL_DEVIATION }, .n_in = 1,
      .opencv = { 0.05, 0, 0 }, .vips = { 0.05, 0, 0 }, .ref = { 1e-5, 1e-6, 0 }, .bars = { FASTER } },
    /* A level of the gradient decides about white and black. */
    { "blur-sobel-threshold", BENCH_EDGES, BENCH_GRAY, .sigma = 1.4, .ours = { "threshold(sobel(blur($1, 1.4)), 100)" },
      .n_in = 1, .opencv = { 0, 0, 0.01 }, .vips = { 0, 0, 0.05 }, .bars = { FASTER } },
    { "four-box-blurs", BENCH_FOUR_BOXES, BENCH_RGB, .size = 3, .ours = { "iterate($1, 4, boxblur(_, size=3))" },
      .n_in = 1, .margin_px = 4, .opencv = { 2, 0, 0 }, .vips = COARSEST, .bars = { FASTER, .unfused = 2 } },
    { "gauss-box-median-erode", BENCH_FOUR_FILTERS, BENCH_RGB, .size = 3, .sigma = 2, .n_in = 1, .margin_px = 8,
      .ours = { "erode(median(boxblur(blur($1, 2), size=3), size=3), size=3)" }, .opencv = { 2, 0, 0 },
      .vips = COARSEST, .bars = { FASTER, .unfused = 2 } },
    { "distance", BENCH_DISTANCE, BENCH_GRAY, .ours = { "distance(threshold($1, 128))" }, .n_in = 1,
      .opencv = { 1e-3, 1e-5, 0 }, .bars = { .opencv = 1 } },
    { "labels", BENCH_OWN, BENCH_GRAY, .ours = { "labels(threshold($1, 128))" }, .n_in = 1 },
    { "regions", BENCH_OWN, BENCH_GRAY, .n_in = 1,
      .ours = { "r = regions(labels(threshold($1, 128)), 65536)\nselect(r == r, r, 0)" } },
    { "reconstruct-mask", BENCH_OWN, BENCH_GRAY, .ours = { "reconstruct($1 > 200, $1 > 128)" }, .n_in = 1 },
    { "reconstruct", BENCH_OWN, BENCH_GRAY, .ours = { "reconstruct(erode($1, size=9), $1)" }, .n_in = 1 },
    { "watershed", BENCH_OWN, BENCH_GRAY_1080P, .n_in = 1,
      .ours = { "a = blur($1, 3)\nwatershed(a, labels(regional_minima(a)))" } },
    /* Of OpenCV only C++ has it. */
    { "inpaint", BENCH_OWN, BENCH_RGB, .n_in = 1, .ours = { INPAINT } },
    { "hough-lines", BENCH_OWN, BENCH_GRAY_1080P, .ours = { "hough_lines(canny($1, 100, 200))" }, .n_in = 1 },
    { "percentile", BENCH_OWN, BENCH_RGB, .ours = { "percentile($1, 50)" }, .n_in = 1 },
    { "percentile-f32", BENCH_OWN, BENCH_LINE_10M, .ours = { "percentile($1, 50)" }, .n_in = 1 },
    { "equalize", BENCH_EQUALIZE, BENCH_GRAY, .ours = { "equalize($1)" }, .n_in = 1, .opencv = LEVEL,
      .bars = { .opencv = 1 } },
    { "pyr-down", BENCH_PYR_DOWN, BENCH_RGB, .ours = { "pyr_down($1)" }, .n_in = 1, .opencv = LEVEL,
      .bars = { .opencv = 1 } },
    { "dct2-1024", BENCH_DCT, BENCH_SQUARE_F32, .ours = { "dct2($1)" }, .n_in = 1, .opencv = { 0.05, 1e-4, 0 },
      .ref = { 0.01, 1e-5, 0 } },
    /* OpenCV has positions in 1/32 pixel. */
    { "warp-linear", BENCH_WARP, BENCH_RGB, .ours = { TURNED }, .n_in = 1, .opencv = { 8, 0, 0.001 }, .ref = LEVEL },
    { "warp-perspective", BENCH_PERSPECTIVE, BENCH_RGB, .ours = { "warp($1, " PERSPECTIVE ")" }, .n_in = 1,
      .opencv = { 8, 0, 0.001 }, .ref = LEVEL },
    { "remap", BENCH_REMAP, BENCH_MAPPED, .ours = { "at($1, $2, $3, filter=linear, border=constant)" }, .n_in = 3,
      .opencv = { 8, 0, 0.001 }, .ref = LEVEL },
    /* Discs, as OpenCV's windows are; it adds up how far channels are apart. */
    { "bilateral-9-gray", BENCH_BILATERAL, BENCH_GRAY, .size = 9, .sigma = 2, .n_in = 1,
      .ours = { "bilateral($1, radius=4, sigma=2, contrast=0.1, shape=disc)" }, .opencv = { 3, 0, 0.001 },
      .ref = LEVEL },
    { "bilateral-9", BENCH_BILATERAL, BENCH_RGB, .size = 9, .sigma = 2, .n_in = 1,
      .ours = { "bilateral($1, radius=4, sigma=2, contrast=0.1, shape=disc)" }, .opencv = { 0, 0, 1 }, .ref = LEVEL },
    /* Of OpenCV only C++ has it. */
    { "nlmeans-7-21", BENCH_OWN, BENCH_GRAY_1080P, .ours = { "nlmeans($1, patch=7, search=10)" }, .n_in = 1,
      .ref = LEVEL },
    { "hough-circles", BENCH_HOUGH_CIRCLES, BENCH_GRAY_1080P, .ours = { "hough_circles($1, 10, 40)" }, .n_in = 1,
      .opencv = { 0, 0, 1 } },
    /* OpenCV's curves are splines. */
    { "rgb-to-lab-f32", BENCH_TO_LAB, BENCH_RGB_F32, .ours = { "rgb_to_lab(set_white($1, 255))" }, .n_in = 1,
      .opencv = { 0.5, 0, 0 }, .ref = REAL },
    { "sort-10M-f32", BENCH_SORT, BENCH_LINE_10M, .ours = { "sort($1)" }, .n_in = 1, .bars = { .hand = 2 } },
    { "ikra-1", BENCH_MAPS, BENCH_LINE_F32, .ours = { MAPS }, .n_in = 1, .opencv = REAL, .vips = REAL,
      .bars = { .unfused = 8, .hand_cl = 1 / 1.1 } },
    { "ikra-2", BENCH_IKRA_2, BENCH_LINE_F32, .ours = { IKRA_2 }, .n_in = 1, .bars = { .hand_cl = 1 / 1.1 } },
    { "ikra-3", BENCH_IKRA_3, BENCH_LINE_6M, .ours = { IKRA_3 }, .n_in = 1, .bars = { .hand_cl = 1 / 1.1 } },
    { "ikra-4", BENCH_IKRA_4, BENCH_LINE_6M, .ours = { IKRA_4 }, .n_in = 1, .bars = { .hand_cl = 1 / 1.1 } },
    { "ikra-5", BENCH_IKRA_5, BENCH_HIMENO, .ours = { IKRA_5 }, .n_in = 1, .bars = { .hand_cl = 1 / 1.1 },
      .wants_memory = true },
    { "himeno", BENCH_OWN, BENCH_HIMENO_ALL, .ours = { HIMENO }, .n_in = 1, .bars = { .unfused = 8 } },
    { "ikra-6", BENCH_IKRA_6, BENCH_LINE_6M, .ours = { IKRA_6 }, .n_in = 1,
      .bars = { .unfused = 4, .hand_cl = 1 / 1.1 } },
    { "ikra-7", BENCH_IKRA_7, BENCH_LINE_6M, .ours = { IKRA_7 }, .n_in = 1,
      .bars = { .unfused = 2, .hand_cl = 1 / 1.1 } },
    { "escape-masked", BENCH_OWN, BENCH_GRAY_1080P, .ours = { PLANE ESCAPES_MASKED }, .n_in = 1 },
    { "escape", BENCH_OWN, BENCH_GRAY_1080P, .ours = { PLANE ESCAPES }, .n_in = 1,
      .bars = { .cousin = "escape-masked", .cousin_most = 0.5 } },
    { "sobel-1080p", BENCH_SOBEL, BENCH_GRAY_1080P, .ours = { "sobel($1)" }, .n_in = 1, .opencv = LEVEL, .vips = LEVEL,
      .bars = { FASTER }, .wants_memory = true },
    { "sobel-4K", BENCH_SOBEL, BENCH_GRAY_4K, .ours = { "sobel($1)" }, .n_in = 1, .opencv = LEVEL, .vips = LEVEL,
      .bars = { FASTER }, .wants_memory = true },
    /* Sums of 1024 products; sums of a million numbers. */
    { "matmul-1024-f32", BENCH_MATMUL, BENCH_SQUARE_F32, .ours = { "matmul($1, $2)" }, .n_in = 2,
      .numeric = { 0, 1e-5, 0 }, .ref = { 0, 1e-5, 0 }, .bars = { .openblas = 0.25 } },
    /* 833,333 systems of three equations. */
    { "solve-3x3-f32", BENCH_SOLVE, BENCH_LINE_10M,
      .ours = { "v = reshape($1, [-1])\nn = width(v) div 12\nm = reshape(slice(v, 0, n * 9), [n, 3, 3])\n"
                "solve(m + reshape(eye(3) * 4, [1 3 3]), reshape(slice(v, n * 9, n * 12), [n, 3]))" },
      .n_in = 1, .ref = { 1e-5, 1e-4, 0 } },
    { "fft2-1024", BENCH_FFT, BENCH_SQUARE_COMPLEX, .ours = { "fft2($1)" }, .n_in = 1, .numeric = SPECTRUM_2,
      .ref = SPECTRUM_2 },
    { "fft-1M", BENCH_FFT, BENCH_LINE_COMPLEX, .ours = { "fft($1)" }, .n_in = 1, .numeric = SPECTRUM, .ref = SPECTRUM },
    /* Other numbers of the same distribution. */
    { "normal-10M-f32", BENCH_NORMAL, BENCH_LINE_10M, .ours = { "normal([width($1)], seed=7)" }, .n_in = 1,
      .numeric = { 0, 0, 1 }, .ref = { 1e-4, 0, 0 }, .bars = { .gsl = 1 } },
    { "scan-60M-f32", BENCH_OWN, BENCH_LINE_F32, .ours = { "cumsum($1)" }, .n_in = 1, .bars = { MOVED } },
    { "scan-rows-f32", BENCH_OWN, BENCH_MATRIX_F32, .ours = { "cumsum($1, axis=1)" }, .n_in = 1, .bars = { MOVED } },
    { "scan-columns-f32", BENCH_OWN, BENCH_MATRIX_F32, .ours = { "cumsum($1, axis=0)" }, .n_in = 1, .bars = { MOVED } },
    { "reduce-rows-f32", BENCH_OWN, BENCH_MATRIX_F32, .ours = { "sum($1, axis=1)" }, .n_in = 1, .ref = REAL,
      .bars = { MOVED } },
    { "reduce-columns-f32", BENCH_OWN, BENCH_MATRIX_F32, .ours = { "sum($1, axis=0)" }, .n_in = 1, .ref = REAL,
      .bars = { MOVED } },
    { "transpose-f32", BENCH_OWN, BENCH_MATRIX_F32, .ours = { "transpose($1)" }, .n_in = 1, .bars = { MOVED } },
    { "transpose-rgb-u8", BENCH_OWN, BENCH_RGB, .ours = { "transpose($1)" }, .n_in = 1, .bars = { MOVED } },
    { "permute-201-rgb-u8", BENCH_OWN, BENCH_RGB, .ours = { "permute($1, [2 0 1])" }, .n_in = 1, .bars = { MOVED } },
    { "permute-201-f32", BENCH_OWN, BENCH_LINE_6M, .n_in = 1, .bars = { MOVED },
      .ours = { "permute(reshape($1, [-1, 50, 20]), [2 0 1])" } },
    { "gather-10M-f32", BENCH_OWN, BENCH_GATHERED, .ours = { "take($1, $2)" }, .n_in = 2, .bars = { MOVED } },
    { "group-10M-f32", BENCH_OWN, BENCH_GATHERED, .ours = { "group_sum($1, $2 % 1000, 1000)" }, .n_in = 2 },
};
const int bench_n_rows = sizeof bench_rows / sizeof *bench_rows;
