/* SPDX-License-Identifier: MIT */
/*
 * A sample of every kind of kernel, small, in every schedule: each gives the interpreter's bytes (whose answers
 * check_matrix.c compares with independent ones). It is what runs on other OpenCL implementations, under Oclgrind and
 * with limits that no device here has (.ci/run), so programs are few and images small. And what --explain says of it.
 * The quick tier, where most of the time goes into compiling, has each row that a pin names and every second other one
 * in the device's own schedule and in `rows`, and the rest in one of the other schedules by turns, so each row runs.
 * The full one has all rows in all of them; with IMGPAR_TEST_TURNS in the first two, and in one of the others by turns.
 *
 * IMGPAR_TEST_WITHOUT: words, separated by commas; rows in whose text one occurs are left out, and schedules of that
 * name; IMGPAR_TEST_WITH: rows in whose text none does. IMGPAR_TEST_DISTINCT: each program runs once: what an earlier
 * row, or another schedule of this one, has run is left out, in whichever process of several it runs; and so is what
 * has a word of IMGPAR_TEST_WITHOUT_CODE in it, or none of IMGPAR_TEST_WITH_CODE.
 *
 * And what the text of kernels says (schedules_pins.c), and how tiles are laid out, for devices that are not here:
 * plans are made and not run.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "compile/plan.h"
#include "asserts.h"
#include "held.h"
#include "oracle.h"
#include "run/context.h"
#include "schedules.h"
#include "tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- every kind of kernel ------------------------------------------------------------- */

static const shape shapes[] = {
    /* pointwise: neighbouring elements, whole words, channels that meet, several results of one size */
    { "blend($1, invert($2), 0.3)", IMGPAR_U8, 3, 61, 37, 0 },
    { "overlay($1, $2, circle($1, radius=12))", IMGPAR_U8, 4, 64, 64, 0 },
    { "gray($1)", IMGPAR_U8, 3, 61, 37, 0 },
    /* sums of 16 bits, read twice */
    { "convolve($1, [1 2 3 2 0; 2 5 8 4 1; 3 9 14 7 2; 2 6 8 5 1; 0 1 3 2 1], scale=92)", IMGPAR_U8, 3, 61, 37, 0 },
    /* as many as wrap, shifts */
    { "convolve($1, [255 255 255; 0 1 0; 255 255 255], scale=64) + ((cast($1, i16) - 99) >> 3)", IMGPAR_U8, 3, 61, 37,
      0 },
    { "resize(gray($1), 192, 128)", IMGPAR_U8, 3, 96, 128, 0 }, /* mixed up to the last pixel of a row */
    { "concatenate(gray($1), gray($2), axis=1)", IMGPAR_U8, 3, 96, 128, 0 },
    { "gray($1, weights=bt709)", IMGPAR_U8, 3, 34, 9, 0 },
    { "cast(clamp(cast(cast($1, f32) * 0.5 - cast($1[0, 1], f32) * 0.25, f64) * 1.7, 0, 255), u8)", IMGPAR_U8, 1, 61,
      37, 0 },
    /* mixed in blocks, from a row that is kept */
    { "gray(crop($1, 3, 2, 391, 7)) + gray(boxblur(crop($1, 0, 2, 391, 7), 3))", IMGPAR_U8, 3, 395, 11, 0 },
    { "$1 * 2 + $2", IMGPAR_U16, 1, 63, 5, 0 },
    { "linear($1, 1.25, -10)", IMGPAR_F16, 3, 31, 17, 0 },
    { "clamp($1 - $2, -5, 5)", IMGPAR_F32, 1, 64, 1, 0 },
    /* stencils with every border, in one pass and in two, small and large */
    { "boxblur($1, 3)", IMGPAR_U8, 3, 300, 70, 0 },
    { "boxblur($1, 5, border=reflect)", IMGPAR_U8, 3, 61, 37, 0 },
    { "boxblur($1, 5, border=reflect101)", IMGPAR_U8, 1, 61, 37, 0 },
    { "boxblur($1, 3, border=wrap)", IMGPAR_U8, 1, 61, 37, 0 },
    { "boxblur($1, 3, border=constant, cval=9)", IMGPAR_U16, 2, 61, 37, 0 },
    { "boxblur($1, 25)", IMGPAR_U8, 1, 61, 37, 0 },
    /* sums of sums of three, with two that are left over, of rows that are shorter than they reach, for a row that is
     * kept */
    { "boxblur($1, 11, border=reflect)", IMGPAR_U8, 3, 61, 17, 0 },
    { "boxblur($1, 15)", IMGPAR_U16, 4, 9, 17, 0 },
    { "boxblur(boxblur($1, 9, border=reflect101), 17)", IMGPAR_U8, 3, 61, 37, 0 },
    { "boxblur(boxblur($1, 9), 17)", IMGPAR_U8, 1, 900, 6, 0 },  /* strips that begin within a row */
    { "boxblur(boxblur($1, 3), 3)", IMGPAR_U8, 1, 40001, 1, 0 }, /* and that are walked panel by panel */
    { "sum(blur(blur($1, 1), 2))", IMGPAR_U8, 1, 16001, 2, 0 },
    /* of 60 columns, a buffer is used again, which Oclgrind misreads (.ci/run) */
    { "crop(resize(boxblur($1, 11), 120, 45), 31, 7, 50, 30)", IMGPAR_U8, 3, 240, 70, 0 },
    /* weighed two vectors at once and one by one, of as many terms as rows and of windows, even and odd */
    { "blur($1, 1.5)", IMGPAR_U8, 3, 75, 33, 0 },
    { "blur($1, 1, border=reflect101)", IMGPAR_U8, 1, 64, 20, 0 },
    { "blur($1, 12)", IMGPAR_U8, 1, 131, 9, 0 },
    { "blur($1, 2, border=constant, cval=200)", IMGPAR_U8, 1, 150, 9, 0 },
    /* of products that fit 16 bits, of rows and columns */
    { "cast(($1[0, -1] * 77 + $1[0, 1] * 150 + $1 * 29 + 128) >> 8, u8)", IMGPAR_U8, 3, 75, 33, 0 },
    { "cast(($1[-1, 0] * 3000 + $1[1, 0] * 5 + 9) >> 12, u8)", IMGPAR_U8, 1, 131, 9, 0 },
    { "blur($1, 1, border=wrap)", IMGPAR_F16, 1, 61, 37, 0 },
    /* colours weighed by alpha, in floats and in whole numbers */
    { "blur($1, 1.5)", IMGPAR_U8, 4, 75, 33, 0 },
    { "boxblur($1, 5, border=constant, cval=9)", IMGPAR_U8, 4, 61, 37, 0 },
    { "resize($1, 90, 80)", IMGPAR_U8, 4, 61, 37, 0 },
    { "resize($1, 30, 18)", IMGPAR_U8, 2, 60, 36, 0 },
    { "resize($1, 90, 80)", IMGPAR_U16, 4, 61, 37, 0 },
    { "median($1, 3)", IMGPAR_U8, 3, 61, 37, 0 },
    /* larger windows: histograms of columns, of keys, of ranks */
    { "median($1, 11)", IMGPAR_U8, 3, 61, 37, 0 },
    { "percentile_filter($1, 30, size=7, shape=disc)", IMGPAR_U16, 1, 61, 19, 0 },
    { "percentile_filter($1, 80, size=9)", IMGPAR_F32, 2, 61, 13, 0 },
    { "convolve($1, [1 2 3 2 1; 0 -1 0 -1 0; 4 1 0 1 4])", IMGPAR_U8, 1, 61, 37, 0 },
    { "dilate(erode($1, 9), 9)", IMGPAR_U8, 1, 61, 37, 0 },
    { "stencil(($1[-1, 0] + $1[1, 0] - $1[0, -2]) / 4, outside=keep)", IMGPAR_F32, 1, 61, 37, 0 },
    /* chains of stencils, with maps before, between and after */
    { "sobel(gray($1))", IMGPAR_U8, 3, 61, 37, 0 },
    { "blend(boxblur(boxblur(invert(boxblur($1))), 5), $2, 0.3)", IMGPAR_U8, 3, 75, 50, 0 },
    { "$1 - boxblur($1, 7)", IMGPAR_I16, 2, 61, 37, 0 },
    { "boxblur(boxblur($1, 3, border=wrap), 3, border=wrap)", IMGPAR_U8, 1, 61, 37, 0 },
    { "erode(dilate($1, 3, border=reflect), 3, border=constant)", IMGPAR_U8, 3, 61, 37, 0 },
    { "boxblur($1, 5)", IMGPAR_U8, 3, 1, 37, 0 },
    { "boxblur($1, 5)", IMGPAR_U8, 3, 37, 1, 0 },
    { "boxblur($1, 5, border=reflect)", IMGPAR_U8, 3, 2, 2, 0 },
    /* chosen at the ends of rows */
    { "stencil($1[0, -2] + $1[1, 3] * 0.5, outside=keep)", IMGPAR_F32, 1, 61, 37, 1e-6 },
    { "stencil(cast($1[-1, 0] + $1[0, 2] - 7, u8), outside=9)", IMGPAR_U8, 3, 61, 37, 0 },
    { "stencil($1[0, -2] - $1[0, 1], outside=keep)", IMGPAR_F32, 1, 2, 37, 0 }, /* ends only */
    { "select(x + 300 < 340 && x >= 1, $1[0, -1], 5)", IMGPAR_U8, 3, 61, 37, 0 },
    { "select(x + 2147483500 < 0, $1[0, -1] | $1[0, 1], 9)", IMGPAR_U8, 1, 300, 7, 0 }, /* the sum wraps */
    /* folds, alone and with what they read */
    { "sum($1)", IMGPAR_U8, 3, 61, 37, 0 },
    { "sum($1)", IMGPAR_U8, 1, 61, 37, 0 },
    { "sum(stencil(boxblur($1, 3)[1, 0], border=constant))", IMGPAR_U8, 3, 64, 8, 0 },
    { "sum(stencil($1[-1, 0], border=constant))", IMGPAR_U8, 1, 64, 8, 0 },
    { "histogram(stencil($1[1, 0], border=constant))", IMGPAR_U8, 1, 8, 4, 0 },
    { "mean($1)", IMGPAR_F32, 1, 300, 70, 1e-6 },
    { "minval($1 - $2)", IMGPAR_F32, 3, 61, 37, 0 },
    { "maxval($1)", IMGPAR_U8, 3, 61, 37, 0 },
    { "sum(reshape($1, [1 1 1 6771]))", IMGPAR_I32, 3, 61, 37, 0 }, /* more channels than a block has elements */
    { "histogram($1)", IMGPAR_U8, 3, 61, 37, 0 },
    { "histogram(boxblur(gray($1), 3))", IMGPAR_U8, 3, 61, 37, 0 },
    { "threshold(boxblur($1, 3), mean($1))", IMGPAR_U8, 1, 61, 37, 0 },
    { "reduce($1, 0, (p, q) -> p + q)", IMGPAR_I32, 1, 61, 37, 0 },
    { "reduce(transpose(random([1 4 5 0])), 0, (p, q) -> p + q)", IMGPAR_I32, 1, 61, 37, 0 }, /* no channels */
    { "sum($1, axis=1)", IMGPAR_I32, 1, 61, 37, 0 },
    /* levels of long rows */
    { "sum($1, axis=1) + minval($1, axis=1)", IMGPAR_I32, 1, 300, 5, 0 },
    { "sum($1, axis=1) * 3 - prod($2 * 0.25 + 1, axis=1)", IMGPAR_F32, 1, 300, 5, 0 },
    { "reduce($1, \"xor\", axis=1) + reduce($2, \"all\", axis=1)", IMGPAR_U8, 1, 300, 5, 0 },
    { "variance($1, axis=1)", IMGPAR_F16, 1, 300, 5, 0 },
    { "mean($1, axis=[1 2])", IMGPAR_F32, 3, 300, 5, 0 },
    { "sum($1, axis=1)", IMGPAR_I32, 1, 527, 5, 0 }, /* the most that rests, several vectors a level */
    /* rows of few columns */
    { "sum(select(x == y % 3, $1 * 2, $2))", IMGPAR_I32, 1, 3, 70, 0 },
    { "q = reshape(slice($1, 0, 5), [1 5 3])\n"
      "argmin(sum((reshape($1, [70 1 3]) - q) ** 2, axis=2), axis=1) * 9 + argmax(reshape($2, [70 3]), axis=1)",
      IMGPAR_F32, 1, 3, 70, 0 },
    { "argmin($1)", IMGPAR_U8, 3, 61, 37, 0 },
    { "argmax($1, axis=1)", IMGPAR_F64, 1, 527, 70, 0 },
    { "argmin($1, axis=0)", IMGPAR_F64, 1, 61, 370, 0 },
    /* more than 256 bytes each: memory of their own, too */
    { "argmin($1, axis=1) - maxval($1, axis=1)", IMGPAR_U8, 3, 257, 11, 0 },
    /* some channels: parts of words, and loops with a turn more */
    { "slice($1, 1, 2, axis=2)", IMGPAR_U8, 3, 129, 5, 0 },
    { "slice($1, 0, 2, axis=2)", IMGPAR_U8, 3, 64, 5, 0 },
    { "slice($1, 3, 4, axis=2)", IMGPAR_U8, 4, 129, 5, 0 },
    { "gray($1) + slice(circshift($1, [1 2]), 1, 2, axis=2)", IMGPAR_U16, 4, 61, 37, 0 },
    { "permute($1, [2 0 1])", IMGPAR_I16, 4, 130, 5, 0 },
    { "erode(slice($1, 2, 4, axis=2), 3)", IMGPAR_I8, 4, 61, 37, 0 },
    /* gathers, views, tables */
    { "resize($1, 90, 20)", IMGPAR_U8, 3, 61, 37, 0 },
    { "at($1, y * 0.5 + 3, x * 0.75 - 1)", IMGPAR_U8, 1, 61, 37, 0 },
    /* rows moved by as much as an element tells, further than they are wide, too; channels stored side by side */
    { "n = cast(maxval($2), i32) % 5\nat($1, y + n - 2, x + n - 3)", IMGPAR_U8, 3, 61, 37, 0 },
    { "n = cast(maxval($2), i32) % 5 * 9\nat($1, y, x - n, border=reflect) + at($1, y - n, x - n, border=reflect)",
      IMGPAR_F32, 4, 31, 37, 0 },
    { "n = cast(maxval($2), i32) % 5\nat($1, y, n * 20 - 40 + x, border=wrap)", IMGPAR_U16, 1, 61, 37, 0 },
    { "pad($1, [3 5], [2 4], border=reflect)", IMGPAR_U8, 3, 61, 37, 0 },
    { "pad($1, [1 40], [2 70], border=wrap) * 2", IMGPAR_F32, 1, 31, 37, 0 },
    { "select(c < 3, $1 * slice($1, 3, 4, axis=2), $1)", IMGPAR_F32, 4, 61, 37, 0 },
    /* sums of patches, whose pixels lie side by side, within a function */
    { "fn unlike(p, q) = convsep(sum((p - q) ** 2, axis=2, keepdims=true), [1 1 1 1 1], [1 1 1 1 1])\n"
      "around($1, 2, (p, q) -> (q, exp(unlike(p, q) * -0.0001)), \"mean\")",
      IMGPAR_F32, 3, 61, 11, 1e-5 }, /* exp is another on other drivers */
    /* channels that a window's taps read, taken apart, of whole blocks and of the rest; of even channels, too */
    { "bilateral($1, 3, 2, 0.2)", IMGPAR_F32, 3, 301, 11, 1e-5 },
    { "bilateral($1, 2, 2, 0.2)", IMGPAR_F32, 4, 61, 37, 1e-5 },
    /* steps of an element, which stops by itself; from a table, and at a place that it tells */
    { "(u, n) = iterate(($1, 0), 20, (u, n) -> (u * 0.75 + $2, n + 1), until=(u, n) -> u > 9000)\nu + n[0, 1]",
      IMGPAR_F32, 3, 61, 37, 0 },
    { "iterate(cast($1, i32), 5, p -> p div 2 + cast(at($2, y, p % 61), i32), until=p -> p % 7 == 0)", IMGPAR_I16, 1,
      61, 37, 0 },
    /* a luminance and its neighbours */
    { "g = recomb($1, [0.299 0.587 0.114])\n2 * g - g[-1, 0] * 0.5 - g[1, 0] * 0.5", IMGPAR_F32, 3, 61, 37, 1e-4 },
    { "g = recomb($1, [0.2 0.3 0.5])\nblur(g, 2) + reverse(g, axis=0)", IMGPAR_F32, 3, 61, 37, 1e-4 },
    /* pixels at computed places: blocks inside and at the edges, with the next pixel, the one before and neither */
    { "rotate($1, 20)", IMGPAR_U8, 3, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1, filter=linear, border=reflect)", IMGPAR_U16, 3, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1)", IMGPAR_U8, 3, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 3, filter=linear, border=constant, cval=9)", IMGPAR_F32, 4, 301,
      67, 0 },
    /* places that are coordinates, and one that is read at a place, beyond the edges */
    { "at($1, x, y)", IMGPAR_U8, 3, 61, 37, 0 },
    { "g = slice($1, 0, 1, axis=2)\n"
      "at($1, y + at(g, y * 2 - 15.5, x * 2 - 17.25) / 9000, x * 1.01 + 0.5)",
      IMGPAR_U16, 3, 301, 67, 0 },
    /* positions that follow from the row and from the column: passes, in floats and in lanes, beyond the edges, of what
     * is made at its reader's rate */
    { "make(122, 74, at($1, y / 2, x / 2, filter=linear), channels=3)", IMGPAR_U8, 3, 61, 37, 0 },
    { "a = $1\nb = select(c < 3, $2 * slice($2, 3, 4, axis=2), $2)\n"
      "b + (1 - slice(b, 3, 4, axis=2)) * at(a, y / 2, x / 2, filter=linear)",
      IMGPAR_F32, 4, 61, 70, 0 },
    { "fn alpha(a) = slice(a, [3], [4], axis=2)\n"
      "b = select(c < 3, $2 * alpha($2), $2)\ni = b + (1 - alpha(b)) * at($1, y / 2, x / 2, filter=linear)\n"
      "slice(i / (alpha(i) + 90000), [0], [3], axis=2)",
      IMGPAR_F32, 4, 61, 70, 0 },
    { "at($1, 40 - y * 1.25, x * 1.5 - 7.3, filter=linear, border=reflect)", IMGPAR_U16, 4, 61, 37, 0 },
    { "make(90, 140, at(blur($1, 1), y / 2, x / 3 + 2, filter=linear))", IMGPAR_F32, 1, 61, 70, 0 },
    /* whole rows that are read at computed columns */
    { "resize($1, 90, 80)", IMGPAR_U8, 3, 61, 37, 0 },
    { "resize($1, 90, 80)", IMGPAR_I16, 4, 61, 37, 0 },
    { "resize($1, 90, 80)", IMGPAR_F32, 3, 61, 37, 0 },
    { "resize($1, 90, 80)", IMGPAR_F32, 1, 61, 37, 0 },
    { "resize($1, 90, 80)", IMGPAR_U8, 1, 61, 37, 0 },
    { "resize($1, 31, 70)", IMGPAR_U8, 3, 150, 160, 0 },
    { "resize($1, 9, 70)", IMGPAR_U8, 3, 300, 75, 0 },
    /* rows that are left out */
    { "slice(blur($1, 2), step=[2 2])", IMGPAR_U8, 3, 61, 131, 0 },
    { "slice(blur($1, 1.5, border=reflect), [1 3], step=[-2 3])", IMGPAR_U8, 1, 97, 150, 0 },
    { "sum(slice(median($1, 3, border=wrap), step=[2 2]))", IMGPAR_U16, 4, 61, 37, 0 },
    { "slice(blur(slice(blur($1, 1), step=[2 1]), 1, border=reflect101), step=[3 2])", IMGPAR_F32, 1, 30, 400, 0 },
    { "slice(convsep(slice(convsep($1, [1 2 1], [1 2 1], scale=16), step=[2 2]), [1 2 1], [1 2 1], scale=16, "
      "border=reflect), [1 0], step=[2 2])",
      IMGPAR_U8, 1, 70, 262, 0 },
    { "slice(median(boxblur($1, 5, border=reflect), 3, border=constant, cval=9), [0 1], step=[3 4])", IMGPAR_U16, 3, 75,
      200, 0 },
    { "slice(blur(erode(invert($1), 3), 1, border=reflect101), step=[2 2])", IMGPAR_U8, 4, 37, 131, 0 },
    /* pixels that are repeated, in words, as they come and as lanes; and strips that begin within them */
    { "repeat($1, 2, axis=1) + repeat(invert($2), 2, axis=1)", IMGPAR_U8, 1, 61, 37, 0 },
    { "repeat(repeat($1, 3, axis=0), 3, axis=1) - 3", IMGPAR_U8, 3, 61, 37, 0 },
    { "maximum(repeat($1, 3, axis=1), 9)", IMGPAR_F32, 1, 2401, 9, 0 },
    { "erode(repeat($1, 2, axis=1), 3)", IMGPAR_U16, 2, 61, 37, 0 },
    /* levels that several read, of all channels and of one */
    { "a = slice(convsep($1, [1 2 1], [1 2 1], scale=16), step=[2 2])\n"
      "a - resize(slice(blur(a, 1), step=[2 2]), width(a), height(a), filter=nearest) + slice(a, 1, 2, axis=2)",
      IMGPAR_U8, 3, 61, 262, 0 },
    { "resize($1, 200, 64)", IMGPAR_U8, 3, 400, 128, 0 }, /* every second pixel, in several blocks */
    { "resize($1, 170, 64)", IMGPAR_U16, 4, 340, 128, 0 },
    { "resize($1, 170, 64)", IMGPAR_F32, 3, 340, 128, 0 },
    { "resize($1, 170, 64, filter=linear)", IMGPAR_U8, 1, 340, 128, 0 },
    { "resize($1, 45, 64)", IMGPAR_I16, 3, 180, 256, 0 },
    { "resize($1, 10, 70)", IMGPAR_U8, 3, 330, 140, 0 },
    { "resize($1, 6, 70)", IMGPAR_U8, 4, 240, 70, 0 },
    { "resize($1, 110, 40)", IMGPAR_U8, 3, 330, 120, 0 },
    { "resize($1, 6, 70)", IMGPAR_U8, 3, 12, 140, 0 }, /* few pixels a row */
    { "resize($1, 5, 70, filter=nearest)", IMGPAR_U8, 3, 15, 140, 0 },
    /* beside one channel of them */
    { "b = resize($1, 170, 64, filter=nearest)\nb - slice(b, 0, 1, axis=2)", IMGPAR_U8, 3, 340, 128, 0 },
    { "b = resize($1, 170, 64, filter=nearest)\nmultiply(b, gray(b))", IMGPAR_U8, 3, 340, 128, 0 },
    /* beside a mask */
    { "b = resize($1, 170, 64)\noverlay(b, resize($2, 170, 64), resize(slice($1, 1, 2, axis=2), 170, 64))", IMGPAR_U8,
      3, 340, 128, 0 },
    { "b = resize($1, 170, 64, filter=nearest)\noverlay(b, invert(b), resize(gray($2), 170, 64, filter=nearest))",
      IMGPAR_U8, 3, 340, 128, 0 },
    /* pixels at every second column of an input, kept */
    { "boxblur(resize($1, 170, 64), 3)", IMGPAR_U8, 3, 340, 128, 0 },
    { "resize($1, 1, 2)", IMGPAR_U8, 3, 64, 40, 0 }, /* nothing stands beside what is summed */
    { "resize($1, 64, 1)", IMGPAR_U8, 3, 64, 40, 0 },
    { "resize(boxblur($1, 3), 120, 35)", IMGPAR_U8, 3, 240, 70, 0 },
    /* beside pixels at their own columns */
    { "crop(gray($2), 0, 0, 35, 70) - resize($1, 35, 70)", IMGPAR_F32, 3, 70, 140, 0 },
    { "resize($1, 9, 70)", IMGPAR_F32, 4, 300, 75, 0 },
    { "invert(resize(boxblur($1, 3), 23, 80))", IMGPAR_U8, 3, 61, 80, 0 },
    /* rows made at the rate of those that read them, several strips of them */
    { "resize($1, 70, 700)", IMGPAR_U8, 3, 61, 37, 0 },
    { "resize($1, 61, 700)", IMGPAR_F32, 4, 61, 37, 0 },
    { "resize(invert($1), 70, 150)", IMGPAR_U16, 3, 61, 37, 0 },
    { "resize(median(invert($1), 3), 70, 150)", IMGPAR_U8, 3, 61, 37, 0 },
    { "resize(cast(sobel(median($1, 3), axis=y), f32), 61, 90, filter=linear)", IMGPAR_U8, 1, 61, 900, 0 },
    { "resize(median($1, 3), 61, 70, filter=linear)", IMGPAR_U8, 1, 61, 300, 0 }, /* most rows are left out */
    { "resize(median($1, 3), 61, 70)", IMGPAR_U8, 3, 61, 500, 0 },
    { "resize(boxblur($1, 3), 50, 150)", IMGPAR_U8, 3, 61, 80, 0 },
    { "resize(cast(invert(gray($1)) + y, f32), 90, 150)", IMGPAR_U8, 3, 61, 40, 0 },
    { "blur(resize($1, 70, 150), 1) + resize($1, 70, 150)", IMGPAR_F32, 3, 61, 37, 1e-6 },
    { "resize(resize($1, 70, 90), 40, 150)", IMGPAR_U8, 4, 61, 37, 0 },
    { "resize(blur($1, 1), 60, 70)", IMGPAR_U8, 3, 120, 140, 0 },
    { "resize(sobel(median($1, 3)), 30, 70)", IMGPAR_U8, 1, 120, 280, 0 },
    { "resize(resize($1, 60, 160), 30, 80)", IMGPAR_U8, 3, 120, 320, 0 }, /* the same expression of different rows */
    { "resize(resize($1, 10, 300, filter=linear), 27, 150)", IMGPAR_U8, 1, 20, 100, 0 },
    { "resize(cast(invert($1), f16), 70, 150)", IMGPAR_U8, 3, 61, 37, 0 },
    { "sum(resize(invert($1), 61, 70))", IMGPAR_U8, 3, 61, 300, 0 },
    /* of planes, with numbers for rows, and constants for planes that are not there */
    { "v = reshape($1, [5 7 200 3])\ncast(((v + maxval(v)) * 300 + (v[0, 0, 1] + minval(v)) * 500) >> 9, u8)",
      IMGPAR_U8, 3, 200, 35, 0 },
    { "v = reshape($1, [5 7 200 3])\nstencil(cast((v[-1] * 300 + v[1] * 500) >> 10, u8), border=constant, cval=7)",
      IMGPAR_U8, 3, 200, 35, 0 },
    { "v = cast(reshape($1, [5 7 200 3]), u16)\nstencil(cast((v[-1] + v[1] + maxval(v) + 1) div 3, u8))", IMGPAR_U8, 3,
      200, 35, 0 },
    { "v = cast(reshape($1, [5 7 200 3]), u16)\nstencil(cast((v[-1] + v[1] + 1) div 3, u8), border=constant, cval=7)",
      IMGPAR_U8, 3, 200, 35, 0 },
    /* bytes that grow, of one to four channels, up to pixels at whose end 16 bytes cannot be read; to either side */
    { "resize($1, 170, 60)", IMGPAR_U8, 1, 100, 41, 0 },
    { "resize($1, 131, 41) + 1", IMGPAR_U8, 2, 100, 41, 0 },
    { "resize($1, 150, 60)", IMGPAR_U8, 3, 100, 41, 0 },
    { "invert(resize($1, 101, 42))", IMGPAR_U8, 4, 100, 41, 0 },
    { "resize($1, 100, 60)", IMGPAR_U8, 3, 100, 41, 0 },
    { "fastblur($1, 9)", IMGPAR_U8, 3, 120, 130, 0 },
    { "fastblur($1, 18)", IMGPAR_U16, 3, 120, 11, 0 }, /* columns are sampled, too; few: llvmpipe ends loops */
    { "fastblur($1, 18, border=reflect101)", IMGPAR_U16, 4, 112, 7, 0 },
    { "fastblur($1, 18, border=wrap) - fastblur($1, 18, border=reflect)", IMGPAR_U16, 3, 80, 11,
      0 }, /* likewise: both are one kernel */
    { "fastblur($1, 18, border=wrap)", IMGPAR_U8, 3, 120, 11, 0 },
    { "fastblur($1, 50)", IMGPAR_U16, 1, 310, 9, 0 },
    { "fastblur($1, 30)", IMGPAR_U8, 1, 70, 9, 0 }, /* a window of pairs; few: llvmpipe ends loops */
    { "fastblur($1, 5)", IMGPAR_U16, 1, 120, 100, 0 },
    { "flip(boxblur($1, 3), axis=x)", IMGPAR_U8, 3, 61, 80, 0 },
    { "sum(resize($1, 90, 80))", IMGPAR_U8, 3, 61, 37, 0 },
    { "transpose($1)", IMGPAR_U8, 3, 61, 37, 0 },
    /* columns as rows */
    { "transpose($1)", IMGPAR_U8, 3, 10, 1025, 0 }, /* panels that share lines; the last is one column */
    { "transpose($1)", IMGPAR_U8, 1, 70, 1737, 0 },
    { "transpose($1)", IMGPAR_U8, 4, 40, 300, 0 },
    { "transpose($1)", IMGPAR_F32, 2, 40, 150, 0 },
    { "transpose($1)", IMGPAR_U16, 3, 37, 201, 0 },
    { "transpose($1)", IMGPAR_F16, 3, 61, 37, 0 },
    { "transpose($1)", IMGPAR_F64, 1, 61, 37, 0 },
    { "sin($1) + 1", IMGPAR_F64, 1, 61, 37, 0 },
    /* halves and what does not fit, of numbers with and without a known range */
    { "cast(round($1 * 2) / 2 - 20, u8)", IMGPAR_F64, 1, 61, 37, 0 },
    { "cast(clamp($1, -3, 300) * 120, i16) + cast($1 * 3e6, i32)", IMGPAR_F64, 3, 61, 37, 0 },
    { "cast(floor(clamp($1, -30, 30)), i32) + cast(ceil($1), i16)", IMGPAR_F32, 1, 61, 37, 0 },
    /* doubles of a known range that are limited, then cast */
    { "d = cast($1, f64) * 1.37\ncast(floor(clamp(d - 20 + $1[0, 1] * 0.25, 0, 255)), u8)", IMGPAR_U8, 1, 61, 37, 0 },
    /* a sum that several of the operators of one stage read */
    { "s = $1[-1, -1] + $1[-1, 0] + $1[-1, 1] + $1[0, -1] + $1[0, 1] + $1[1, -1] + $1[1, 0] + $1[1, 1]\n"
      "s * s + 3 * s",
      IMGPAR_F32, 1, 61, 37, 1e-6 },
    /* products of rows that are kept for several of them */
    { "a = $1\ng = a[-1, 1] - a[-1, -1] + 2 * (a[0, 1] - a[0, -1]) + a[1, 1] - a[1, -1]\n"
      "h = a[1, -1] - a[-1, -1] + 2 * (a[1, 0] - a[-1, 0]) + a[1, 1] - a[-1, 1]\n"
      "fn s(a) = a[-1, -1] + a[-1, 0] + a[-1, 1] + a[0, -1] + a + a[0, 1] + a[1, -1] + a[1, 0] + a[1, 1]\n"
      "s(g * g) * s(h * h) - s(g * h) * s(g * h)",
      IMGPAR_F32, 1, 61, 37, 1e-6 },
    /* as narrow as can be: rows, means of two, differences, products by a fixed point, numbers of columns */
    { "fn mean(a, b) = (a + b + 1) >> 1\ns = cast($1, i32)\nm = max(s[0, -1], s[1, 0])\n"
      "n = abs(m[0, -1] - m[1, 1]) < abs(m[1, -1] - m[0, 1]) ? mean(m[-1, 0], m[1, 0]) : m\nmean(n[0, -2], n) - n[1, "
      "0]",
      IMGPAR_U16, 1, 61, 37, 0 },
    { "fn mean(a, b) = (a + b + 1) >> 1\na = cast($1, i32)\nb = mean(mean(a[-1, 0], a[1, 0]), a)\n"
      "cast(a + (((a - b[0, 1]) * 32) >> 5), u8)",
      IMGPAR_U8, 3, 61, 37, 0 },
    { "s = cast($1, i32)\n(s * 0 + x) % 2 == (s * 0 + y) % 2 ? s : s[0, 1]", IMGPAR_U16, 1, 61, 37, 0 },
    { "a = cast($1, i32)\n(3 * a + 700 * a[0, 1] * a[1, 0] - a[1, 1]) & 65535", IMGPAR_U16, 1, 61, 37, 0 },
    { "a = cast($1, i32)\nh = (a + a[0, 1] + a[0, 2]) div 3\ncast((h + h[1, 0] + h[2, 0]) div 3, u16)", IMGPAR_U16, 1,
      61, 37, 0 },
    { "a = cast($1, i32)\nh = (a + a[0, 1] + a[0, 2]) div 3\n(h + h[1, 0] + h[2, 0]) div 3", IMGPAR_U8, 1, 61, 37, 0 },
    { "boxblur($1, 3)", IMGPAR_U8, 3, 61, 37, 0 },
    /* a comparison of lanes is no number: all its bits are set */
    { "(max(flip($1), $2) == $2) + 20", IMGPAR_F32, 4, 61, 37, 0 },
    { "cast(max(reverse($1, 1), $2) < $2, u8)", IMGPAR_I32, 3, 61, 37, 0 },
    { "m = max(cast($1, i32), cast($2, i32))\nstencil(m[0, -1] + m[1, 0], border=constant, cval=70000)", IMGPAR_U8, 1,
      61, 37, 0 },
    { "m = max(cast($1, i32), cast($2, i32))\nstencil(m[0, -1] - m[1, 0], border=constant, cval=-3)", IMGPAR_U8, 2, 61,
      37, 0 },
    { "(cast($1, i16) + cast($2, i16) + 1) >> 1", IMGPAR_U16, 1, 61, 37, 0 }, /* the sum wraps */
    /* blocks of which nothing is computed, where a condition holds in none of their elements, or in all */
    { "a = cast($1, i32)\ns = a[0, -1] * 3 + a[0, 1] * 5 - a[-1, 0] * 7 + a[1, 0] * 2 - a * 9\n"
      "select($1 > 40 && x % 200 > 100, s * s + (s - 3) * (s + 7) * 11 + max(s, 40) * 13 - min(s, a) * 17 + s * a, 7)",
      IMGPAR_U8, 1, 395, 11, 0 },
    { "select($1 >= 200, 200.5, sqrt(abs($1 - $2)) * 3 + $2 * $1 - (200 - $1) * 0.5 + max($1, $2) / 7 + min($1 * 2, "
      "$2) "
      "* 11 + $2 * $2 * 0.25 - abs($1 * 3 - $2) + round($1 / 9))",
      IMGPAR_F32, 3, 395, 11, 0 },
    /* lookups in small tables, in several blocks */
    { "t = cast(reshape(cumsum(make(512, 1, x), axis=1), [512]) % 251, u8)\n"
      "take(t, clamp((cast($1, i32) * 9 - 300) >> 2, 0, 511))",
      IMGPAR_U8, 3, 395, 11, 0 },
    { "t = cast(reshape(cumsum(make(256, 1, x * 300), axis=1), [256]) % 65521, u16)\nboxblur(take(t, $1), 3)",
      IMGPAR_U8, 1, 61, 37, 0 },
    /* whose ends are no whole vectors */
    { "t = cast(reshape(cumsum(make(1001, 1, x), axis=1), [1001]) % 251, u8)\ntake(t, clamp(cast($1, i32) * 4, 0, "
      "1000))",
      IMGPAR_U8, 2, 111, 11, 0 },
    { "t = cast(reshape(cumsum(make(130, 1, x), axis=1), [130]) % 251, u8)\ntake(t, clamp($1, 3, 129))", IMGPAR_U8, 1,
      150, 11, 0 },
    /* of 256 levels, a buffer is used again, which Oclgrind misreads (.ci/run) */
    { "t = reshape(cumsum(pad(cast(histogram($1), i32), [0 0], [0 44]), axis=1), [300])\n"
      "take(cast(select(t > 900, t % 200 + 3, x), u8), $1)",
      IMGPAR_U8, 1, 300, 70, 0 },
    /* whose indices are copies of what is kept */
    { "t = cast(reshape(cumsum(make(256, 1, x), axis=1), [256]) % 251, u8)\ng = boxblur($1, 3)\n"
      "boxblur(take(t, repeat(g, 4, axis=2)), 3) + repeat(boxblur(g, 3), 4, axis=2)",
      IMGPAR_U8, 1, 61, 37, 0 },
    /* sums, counts and extremes by few keys */
    { "p = reshape($1, [70000, 3])\nq = slice(p, 0, 5, axis=0)\n"
      "l = argmin(sum((reshape(p, [70000, 1, 3]) - reshape(q, [1, 5, 3])) ** 2, axis=2), axis=1)\n"
      "group_sum(p, l, 5) / reshape(cast(max(group_count(l, 5), 1), f32), [5, 1])",
      IMGPAR_F32, 1, 3, 70000, 0 },
    { "group_sum($1, cast($1 div 20, i32) - 1, 11)", IMGPAR_U8, 1, 300, 240, 0 },
    { "v = reshape($1, [-1])\ngroup_max(v * 2, cast(floor(v * 9), i32), 9)", IMGPAR_F32, 1, 300, 240, 0 },
    /* maps of what is looked up, in a table that is computed and in one that is not; beyond its ends */
    { "t = reshape(cumsum(cast(histogram($1), i32), axis=1), [256])\nmin(take(t, $1) * 0.113, 255)", IMGPAR_U8, 1, 300,
      70, 0 },
    { "t = reshape(cumsum(cast(histogram(slice($1, 0, 1, axis=2)), i32), axis=1), [256])\n"
      "cast(take(t, $1 * 2 - 60) / 9, u8) + 3",
      IMGPAR_U8, 3, 61, 37, 0 },
    { "sqrt(take(reshape(crop($2, 0, 0, 61, 1), [61]), cast($1, i32) div 3) * 0.5) + 1", IMGPAR_U8, 1, 61, 37, 1e-6 },
    { "transpose(crop($1, 5, 7, 40, 20))", IMGPAR_U8, 3, 61, 37, 0 },
    /* planes as rows */
    { "permute(reshape($1, [10 20 15]), [2 1 0])", IMGPAR_F32, 1, 60, 50, 0 },
    { "permute(reshape($1, [601 3 20]), [2 1 0])", IMGPAR_F32, 1, 60, 601, 0 },
    { "permute(reshape($1, [150 7 40]), [2 0 1])", IMGPAR_U8, 1, 700, 60, 0 },
    { "permute(reshape($1, [40 7 150]), [2 1 0])", IMGPAR_U16, 1, 700, 60, 0 },
    { "permute(reshape($1, [10 20 5 3]), [2 1 0 3])", IMGPAR_U8, 3, 50, 20, 0 },
    { "flip(permute(reshape($1, [10 20 15]), [2 1 0]), axis=x)", IMGPAR_I32, 1, 60, 50, 0 },
    { "permute(reshape($1, [10 20 15]), [2 1 0]) + permute(reshape(cast($1 * 9, u8), [20 10 15]), [2 0 1])", IMGPAR_F32,
      1, 60, 50, 0 },
    { "permute($1, [2 0 1])", IMGPAR_U8, 3, 61, 37, 0 }, /* planes that read one row */
    { "permute($1, [2 1 0])", IMGPAR_F32, 4, 61, 37, 0 },
    { "permute(reshape(invert($1), [10 5 60]), [2 0 1])", IMGPAR_U8, 1, 3000, 1, 0 },
    { "rot90($1)", IMGPAR_U8, 3, 40, 400, 0 },
    { "rot90($1, 3)", IMGPAR_F32, 1, 61, 300, 0 },
    { "flip(transpose($1), axis=x) + flip(transpose($1), axis=y)", IMGPAR_U8, 3, 70, 90, 0 },
    { "boxblur(transpose($1), 5)", IMGPAR_U8, 3, 20, 603, 0 },              /* few: llvmpipe ends loops */
    { "transpose($1) + blur(transpose($1), 3)", IMGPAR_F32, 3, 70, 90, 0 }, /* readers at different rows */
    { "sum(transpose($1))", IMGPAR_U8, 3, 70, 200, 0 },
    { "mean(transpose($1), axis=1)", IMGPAR_F32, 1, 70, 200, 1e-6 },
    { "transpose($1)", IMGPAR_U16, 3, 37, 61, 0 }, /* pixels turned four by four, and what is left of them */
    { "rot90($1)", IMGPAR_U8, 1, 62, 43, 0 },
    { "rot90($1, 3)", IMGPAR_U16, 1, 43, 63, 0 },
    { "rot90($1) + transpose($2)", IMGPAR_F16, 1, 41, 39, 0 },
    { "circshift($1, [3 -5])", IMGPAR_U8, 1, 61, 37, 0 },
    /* rows of pieces */
    { "circshift($1, [3 -5])", IMGPAR_U8, 3, 61, 37, 0 },
    { "concatenate(concatenate($1, invert($2), axis=1), circshift($1, [0 7]), axis=1)", IMGPAR_U8, 3, 61, 37, 0 },
    { "boxblur(concatenate($1, $2, axis=1), 3)", IMGPAR_F32, 1, 61, 37, 0 },
    /* from no column to all of them */
    { "select(x < y - 9, $1, select(x < 80 - y, $2, $1 + 1))", IMGPAR_I32, 1, 61, 37, 0 },
    { "boxblur(crop($1, 5, 7, 40, 20), 3)", IMGPAR_U8, 1, 61, 37, 0 },
    /* steps of loops, whose rows are shorter than a vector and longer */
    { "iterate(reshape($1, [9 11 37]), 100, stencil((_[1, 0, 0] + _[0, 0, -1] + _[-1, 0, 1]) * 0.25, outside=keep))",
      IMGPAR_F32, 1, 37, 99, 1e-6 },
    { "iterate($1, 100, cast((_[0, -1] + _[0, 1]) * 0.5, u8))", IMGPAR_U8, 3, 61, 37, 0 },
    { "iterate($1, 100, stencil((_[0, -1] - _[0, 1]) * 0.5, outside=keep))", IMGPAR_F32, 1, 9, 37, 1e-6 },
    { "(a, b) = iterate(($1, $2), 100, (a, b) -> (b + a[1, 0], a - 1))\na - b", IMGPAR_I32, 1, 130, 11, 0 },
    /* recurrences and hand-written kernels */
    { "fastblur($1, sigma=18)", IMGPAR_U8, 3, 61, 37, 0 },
    { "cumsum($1, axis=0)", IMGPAR_I32, 1, 61, 37, 0 },
    { "cumsum($1, axis=1)", IMGPAR_U8, 1, 61, 37, 0 },
    { "cumsum($1, axis=0)", IMGPAR_U8, 3, 610, 37, 0 },
    { "scan($1, \"max\", axis=0, reverse=true)", IMGPAR_F16, 1, 61, 37, 0 },
    { "cumsum($1, axis=1)", IMGPAR_I32, 1, 610, 37, 0 }, /* several pieces, lanes left over */
    { "cumsum($1, axis=1)", IMGPAR_F32, 2, 1100, 18, 0 },
    { "scan($1, \"max\", axis=1, reverse=true)", IMGPAR_U8, 1, 610, 37, 0 },
    { "cumsum(reshape($1, [40000]))", IMGPAR_U8, 1, 200, 200, 0 }, /* blocks */
    { "recursive($1, [0.25], [-0.5 -0.25], axis=1)", IMGPAR_U8, 1, 610, 37, 0 },
    { "recursive($1, [0.25], [-0.5 -0.25], axis=0)", IMGPAR_U8, 3, 610, 37, 0 },
    { "recursive($1, feedforward=[0.25], feedback=[-0.75], axis=0)", IMGPAR_F32, 1, 61, 37, 0 },
    { "sort($1)", IMGPAR_U8, 1, 61, 1, 0 },
    { "matmul(squeeze($1), transpose(squeeze($2)))", IMGPAR_I32, 1, 17, 9, 0 },
    /* few columns: a register's, which are read where they lie */
    { "matmul(reshape($1, [149 40]), slice(squeeze($2), [0 0], [40 16]))", IMGPAR_F32, 1, 40, 149, 1e-5 },
    { "matmul(reshape($1, [20 360]), slice(reshape($2, [360 20]), [0 0], [360 16]))", IMGPAR_I32, 1, 360, 20, 0 },
    { "p = reshape(abs($1), [6 10 64])\nw = reshape(abs($2), [64 60])\nfn tap(k) = matmul(slice(p, [k, k, 0], "
      "[k + 4, k + 8, 64]), slice(w, [0, 20 * k], [64, 20 * k + 20]))\n1 + fold(3, k -> tap(k), \"sum\")",
      IMGPAR_F32, 1, 64, 60, 1e-5 },
    /* many channels, columns beside that arguments tell */
    { "p = pad(reshape($1, [4 6 5 32]), [0 1 1 0], [0 1 1 0])\nw = reshape($2, [120 32])\nfn tap(k) = slice(p, [0, k, "
      "k, 0], [4, k + 6, k + 5, 32]) * reshape(slice(w, [k, 0], [k + 1, 32]), [32])\nfold(3, k -> tap(k), \"sum\")",
      IMGPAR_F32, 1, 64, 60, 0 },
    { "v = reshape($1, [1 3 160 32])\nw = reshape($2, [480 32])\nfn k(i) = reshape(slice(w, [i], [i + 1]), [32])\n"
      "stencil(v[0, -1, -1] * k(0) + v[0, -1, 0] * k(1) + v * k(2) + v[0, 0, 1] * k(3) + v[0, 1, 1] * k(4), "
      "border=constant)",
      IMGPAR_F32, 1, 128, 120, 0 },
    /* double precision, where there is some */
    { "blur($1, 1)", IMGPAR_F64, 1, 31, 17, 0 },
    { "$1[-1, 0] + $1 + $1[1, 0] + $1[2, 0] + $1[-2, 0]", IMGPAR_F64, 1, 61, 37, 0 },
    { "a = cast($1, i64)\na[-1, 0] + a + a[1, 0] * 3 + a[2, 0]", IMGPAR_U8, 3, 61, 37, 0 },
    { "cast(x * 7 + y, i64) + cast($1, i64)", IMGPAR_U16, 1, 61, 37, 0 },
    { "blur(blur(cast($1, f64), 1), 1)", IMGPAR_U8, 3, 61, 37, 0 },
    /* tiles that lie inside, of what is computed and of wide elements that are copied */
    { "blur(cast($1, f32), 1)", IMGPAR_U8, 1, 300, 70, 0 },
    { "median($1, 3)", IMGPAR_I32, 2, 300, 70, 0 },
    /* lines that a group transforms in its local memory as a whole, or split, and in groups of fewer work-items */
    { "cast(round(real(ifft(fft($1, axis=1), axis=1))), u8)", IMGPAR_U8, 1, 1500, 3, 0 },
    /* rows and columns at steps */
    { "resize($1, width=width($1)/2, height=height($1)/2, filter=area)", IMGPAR_U8, 3, 62, 38, 0 },
    /* rows together: of one panel and of several, of strips that are no multiple of them, and shorter ones */
    { "blur($1, 1.5)", IMGPAR_F32, 3, 61, 37, 0 },
    { "blur($1, 1, border=wrap) - blur($1, 2, border=reflect101)", IMGPAR_F32, 1, 75, 130, 0 },
    { "boxblur(blur($1, 2), 3)", IMGPAR_F32, 2, 61, 39, 1e-6 },
    { "blur($1, 1.5)", IMGPAR_F32, 3, 61, 3, 0 },
    { "crop(blur($1, 1.5), 7, 5, 40, 21)", IMGPAR_F32, 1, 61, 37, 0 },
    /* pixels at computed places, of bytes and shorts gathered as words, of floats and four channels not; rows shorter
     * than a vector and than a word */
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=constant)", IMGPAR_U8, 1, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=reflect)", IMGPAR_U8, 2, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=replicate)", IMGPAR_U8, 4, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=wrap)", IMGPAR_U16, 1, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=constant)", IMGPAR_I16, 3, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=reflect101)", IMGPAR_I8, 3, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=constant)", IMGPAR_F32, 1, 301, 67, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=constant)", IMGPAR_U8, 3, 3, 70, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=reflect)", IMGPAR_U8, 1, 8, 70, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=constant)", IMGPAR_U8, 1, 7, 70, 0 },
    { "at($1, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1, border=constant)", IMGPAR_U16, 2, 301, 67, 0 },
    { "b = cast($1, i32)\nat(b, y + x * 0.1, x * 1.1) + at(b, y + x * 0.1, x * 1.1 + 1)", IMGPAR_U8, 3, 301, 67, 0 },
    /* a condition keeps unchecked places from being read where they are far outside */
    { "select(x > 5, at($1, y * 0.9 + x * 0.05 + select(x > 5, 0, 1e7), x * 0.5 + select(x > 5, 0, -1e8), "
      "border=unchecked), 0)",
      IMGPAR_U8, 3, 301, 67, 0 },
    /* what is inside depends on the taps of the window around it: no rows of a disc. (Larger ones take more turns than
     * llvmpipe has.) */
    { "around($1, 1, (p, q, dy, dx) -> around(q, 1, (r, s, ey, ex) -> select(dy * ey + dx > 0, s * r, -0.0)))",
      IMGPAR_F32, 1, 11, 5, 1e-6 },
    { "around($1, 1, (p, q, dy, dx) -> around(q, 1, (r, s, ey, ex) -> select(dy != ey || dx != ex, s, 0)))", IMGPAR_U8,
      1, 11, 5, 0 },
    /* the most frequent of a window: by histograms of columns, by counting, by a tree of counts */
    { "mode_filter(cast($1 / 40, u8), 5)", IMGPAR_U8, 3, 61, 37, 0 },
    { "mode_filter(round($1 / 40), 3)", IMGPAR_F32, 2, 61, 37, 0 },
    { "mode_filter(cast($1 / 400, u16), 9, shape=disc)", IMGPAR_U16, 1, 61, 19, 0 },
    /* votes of edges, more radii than are counted together, and their peaks; what lies around these */
    { "hough_circles($1, 2, 70, 4, 3, 5, 60, 120)", IMGPAR_U8, 1, 61, 37, 0 },
    /* pixels at computed places, of which the rows below are fetched: a quarter turned, mirrored, of several panels,
     * of planes, in blocks that end with one pixel */
    { "at($1, x * 0.2 - y * 0.05, y * 4.1 + 3 - x * 0.01, filter=linear, border=reflect101)", IMGPAR_U8, 3, 301, 67,
      0 },
    { "at($1, 66 - y * 0.9 + x * 0.01, 300 - x * 0.95 - y * 0.1, filter=linear, border=replicate)", IMGPAR_U8, 3, 301,
      67, 0 },
    { "at($1, y + x * 0.001, 2100 - x * 0.99 + y * 0.1, filter=linear, border=constant)", IMGPAR_F32, 3, 2113, 5, 0 },
    { "b = concatenate(reshape($1, [1 67 65 2]), reshape($2, [1 67 65 2]), axis=0)\n"
      "at(b, y * 0.9 + x * 0.05, x * 0.9 - y * 0.1 + 1, filter=linear, border=wrap)",
      IMGPAR_U8, 2, 65, 67, 0 },
    /* sums of patches: a block of a row, and what is left of it in whole vectors */
    { "around($1, 1, (p, q) -> (q, exp(boxblur((p - q) * (p - q), 5) * -0.0001)), \"mean\")", IMGPAR_F32, 1, 270, 2,
      1e-4 },
    /* extremes that one loop folds begin with a number of their own dtype */
    { "around($1, 1, (p, q) -> q, \"max\")", IMGPAR_U8, 1, 3, 4, 0 },
    { "around($1, 1, (p, q) -> q, \"min\")", IMGPAR_I16, 1, 61, 3, 0 },
    /* means in 16 bits: of bytes, and of what a mask leaves; by another number than that of the terms */
    { "a = $1\ncast((a[-1, -1] + a[-1, 0] + a[-1, 1] + a[0, -1] + a + a[0, 1] + a[1, 0]) div 7, u8)", IMGPAR_U8, 1, 61,
      37, 0 },
    { "((cast($1, i32) + $1[0, 1] + $1[1, 0]) & 65535) div 3", IMGPAR_U16, 1, 61, 37, 0 },
    { "a = cast($1, i32)\n((a + a[0, 1] + a[1, 0]) & 65535) div 5", IMGPAR_U16, 1, 61, 37, 0 },
    /* rows by turns: of two that are computed, and of pixels of three channels */
    { "select(make(122, 37, x % 2 == 0), repeat($1 + $1[0, 1], 2, axis=1), repeat($1 - $1[0, 1], 2, axis=1))",
      IMGPAR_F32, 1, 61, 37, 0 },
    { "select(make(183, 37, x % 3 == 0), repeat($1, 3, axis=1), repeat($2, 3, axis=1))", IMGPAR_U8, 3, 61, 37, 0 },
    /* products that are folded by fma(), in a disc, of whole blocks and of the rest; other drivers have exp() for it */
    { "v = abs($1) / 1000\naround(v, 2, (p, q, dy, dx) -> (q, half_exp(fma(p - q, -(p - q), (dy * dy + dx * dx) * "
      "-0.1))), \"mean\", shape=disc)",
      IMGPAR_F32, 1, 301, 37, 1e-3 },
    /* parts of one array with channels, which parameters move */
    { "p = pad($1, [1 1])\nw = slice($1, [0 0 0], [1 1 3])\nslice(p, [0 0 0], [37 61 3]) * w + slice(p, [1 2 0], "
      "[38 63 3])",
      IMGPAR_F32, 3, 61, 37, 0 },
    /* two panels of columns, the second not whole: rows are read as they lie, but for the last, which are packed */
    { "matmul(reshape($1, [149 40]), slice(squeeze($2), [0 0], [40 33]))", IMGPAR_I32, 1, 40, 149, 0 },
    /* weights that are computed, in whole numbers and in floats, of more taps than are written out */
    { "convolve($1, crop($1, 3, 4, 9, 9) % 7, scale=9)", IMGPAR_U8, 1, 61, 37, 0 },
    { "convolve($1 / 99, slice($1, [2 5], [5 8]) / 99, border=reflect)", IMGPAR_F32, 1, 61, 37, 0 },
    /* what finds elements is made in blocks first, where gathers are slow */
    { "cast(take(reshape(cast(gray($1), f32), [-1]), cast(floor(gray(cast($1, f32))), u8)) * 0.5 + $1 * 0.5, u8)",
      IMGPAR_U8, 3, 61, 37, 0 },
    { "cast(y - take(reshape(cast($1, i32), [-1]), clamp(cumsum(cast($1, i32), axis=1), 1, 30) - 1), u8)", IMGPAR_U8, 1,
      1100, 3, 0 },
    /* a function folds several channels that are computed together */
    { "reduce(warp($1, [1 0.1 0; 0 1 0]), 0, (p, q) -> p + q)", IMGPAR_U8, 3, 9, 5, 0 },
    /* rows of which lower bits are kept; the remainders of long vectors where much is computed */
    { "a = cast($1, i32)\nh = a[0, -1] + 700 * a - 3 * a[0, 1]\n(h[-1, 0] + 5 * h - h[1, 0]) % 65536", IMGPAR_U16, 1,
      61, 37, 0 },
    /* words of a counter, of elements side by side */
    { "$1 + random([37, 61], seed=5)", IMGPAR_F32, 1, 61, 37, 0 },
    { "$1 + normal([37, 61, 3], seed=5)", IMGPAR_F32, 3, 61, 37, 0 },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const struct way {
    const char *schedule, *stream_bytes, *strip_bytes;
} ways[] = {
    { "rows", "1", "1K" },    { "auto", "1G", "24K" },    { "tiles", "1G", "24K" },
    { "pixels", "1", "24K" }, { "texture", "1G", "24K" },
};
enum { N_WAYS = sizeof ways / sizeof *ways, N_ALWAYS = 2 };

static bool is_same_row(const shape *a, const shape *b)
{
    return strcmp(a->text, b->text) == 0 && a->dtype == b->dtype && a->channels == b->channels &&
           a->width == b->width && a->height == b->height;
}

static bool is_pinned(const shape *s)
{
    for (int k = 0; k < n_pins; k++)
        if (is_same_row(s, &pins[k].row)) return true;
    return false;
}

static bool is_its_turn(int row, size_t way)
{
    if (test_tier_is_full() && getenv("IMGPAR_TEST_TURNS"))
        return way < N_ALWAYS || (size_t)row % (N_WAYS - N_ALWAYS) == way - N_ALWAYS;
    if (test_tier_is_full()) return true;
    if (way < N_ALWAYS) return row % 2 == 0 || is_pinned(&shapes[row]);
    return row % 2 == 1 && (size_t)row / 2 % (N_WAYS - N_ALWAYS) == way - N_ALWAYS;
}

/* One of the words in a variable of the environment occurs in the text. */
static bool has_word_of(const char *variable, const char *text)
{
    const char *words = getenv(variable);
    char list[256], *rest = list, *word;
    snprintf(list, sizeof list, "%s", words ? words : "");
    while ((word = strtok_r(rest, ",", &rest)))
        if (strstr(text, word)) return true;
    return false;
}

/* By what occurs in the text, or does not though it was asked for. */
static bool is_excluded(const char *text, const char *without, const char *with)
{
    return has_word_of(without, text) || (getenv(with) && !has_word_of(with, text));
}

static bool is_left_out(const char *text) { return is_excluded(text, "IMGPAR_TEST_WITHOUT", "IMGPAR_TEST_WITH"); }

static imgpar_array *make(imgpar_context *ctx, const shape *s)
{
    imgpar_array *in[2];
    for (int k = 0; k < 2; k++) {
        picture p = picture_new(s->dtype, s->height, s->width, s->channels);
        picture_fill(&p, s->dtype == IMGPAR_I32 ? FILL_SMALL : FILL_LEVELS, (unsigned)k + 1);
        in[k] = picture_array(ctx, &p);
        picture_free(&p);
    }
    imgpar_array *a = imgpar_apply(ctx, s->text, in, 2);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s: %s", s->text, imgpar_array_message(a));
    for (int k = 0; k < 2; k++)
        imgpar_array_release(in[k]);
    return a;
}

/* llvmpipe ends what a work-item repeats after 65,536 turns. Rows of this text need more: a strip has many neighbours,
 * each with a patch. */
static bool is_too_long(const shape *s, const char *schedule, const imgpar_device *device)
{
    return strstr(device->name, "llvmpipe") && strcmp(schedule, "rows") == 0 && strstr(s->text, "fn unlike(p, q)");
}

/* Also of other inputs: counts of 64 bits times a fraction are. */
static bool computes_in_f64(imgpar_array *a)
{
    char *text;
    ck_assert_int_eq(imgpar_explain(&a, 1, "cl", &text), IMGPAR_OK);
    bool is_found = strstr(text, "double ") != NULL;
    imgpar_free(text);
    return is_found;
}

static void expect_equal(const shape *s, const char *schedule, imgpar_dtype dtype, const void *want, const void *got,
                         size_t n)
{
    if (s->tolerance == 0) {
        size_t at = 0;
        while (at < n && ((const char *)want)[at] == ((const char *)got)[at])
            at++;
        ck_assert_msg(at == n, "%s, schedule %s: byte %zu of %zu is another", s->text, schedule, at, n);
        return;
    }
    ck_assert_int_eq(dtype, IMGPAR_F32);
    for (size_t k = 0; k < n / sizeof(float); k++) {
        double a = (double)((const float *)want)[k], b = (double)((const float *)got)[k];
        ck_assert_msg(b >= a - s->tolerance * (a < 0 ? -a : a) && b <= a + s->tolerance * (a < 0 ? -a : a),
                      "%s, schedule %s: %.9g, must be %.9g", s->text, schedule, b, a);
    }
}

/* ---- programs that run once ------------------------------------------------------------------------------ */

static char *explained_as(imgpar_context *ctx, const shape *s, const char *format);

static bool (*has_run_before)[N_WAYS]; /* N_SHAPES of them; NULL: everything runs */

/* The programs of a row in a schedule as a number; 0: they are left out. One with non-temporal stores counts twice: the
 * setting decides whether it uses them. */
static uint64_t programs_of(imgpar_context *ctx, const shape *s, const struct way *way)
{
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", way->schedule), IMGPAR_OK);
    char *text = explained_as(ctx, s, "cl");
    bool can_stream = strstr(text, "int streams") != NULL, is_emitted = strstr(text, " k_") != NULL;
    uint64_t hash = ip_hash_text(0, text);
    if (can_stream) hash = ip_hash_text(hash, way->stream_bytes);
    if (!is_emitted) hash = ip_hash_text(hash, s->text); /* written by hand */
    if (is_excluded(text, "IMGPAR_TEST_WITHOUT_CODE", "IMGPAR_TEST_WITH_CODE")) hash = 0;
    imgpar_free(text);
    return hash;
}

static void note_programs_that_ran_before(void)
{
    static uint64_t seen[N_SHAPES * N_WAYS];
    int n_seen = 0;
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    for (int k = 0; k < N_SHAPES; k++) {
        for (int w = 0; w < N_WAYS && !is_left_out(shapes[k].text); w++) {
            if (!is_its_turn(k, (size_t)w)) continue;
            uint64_t programs = programs_of(ctx, &shapes[k], &ways[w]);
            has_run_before[k][w] = programs == 0;
            for (int n = 0; n < n_seen && !has_run_before[k][w]; n++)
                has_run_before[k][w] = seen[n] == programs;
            if (!has_run_before[k][w]) seen[n_seen++] = programs;
        }
    }
    imgpar_context_release(ctx);
    printf("%d programs of %d rows in %d schedules run once\n", n_seen, N_SHAPES, N_WAYS);
    fflush(stdout);
}

/* In a process of its own, since those that are forked where the driver was loaded have no device. */
static void find_programs_that_ran_before(void)
{
    int status = 0;
    has_run_before =
        mmap(NULL, N_SHAPES * sizeof *has_run_before, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(has_run_before != MAP_FAILED);
    fflush(stdout);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        note_programs_that_ran_before();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

START_TEST(every_kind_of_kernel_gives_the_same_in_every_schedule)
{
    const shape *s = &shapes[_i];
    imgpar_context *ctx;
    imgpar_info info = { .struct_size = sizeof info };
    if (is_left_out(s->text)) return;
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    const imgpar_device *device = imgpar_context_device(ctx);
    imgpar_array *a = make(ctx, s);
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    char *want = malloc(info.size_bytes), *got = malloc(info.size_bytes);
    ck_assert(want && got);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "ref"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(a, want, info.size_bytes), IMGPAR_OK);
    for (size_t k = 0; k < N_WAYS && strcmp(device->kind, "ref") != 0; k++) {
        const char *schedule = ways[k].schedule;
        if (has_word_of("IMGPAR_TEST_WITHOUT", schedule) || !is_its_turn(_i, k) ||
            (has_run_before && has_run_before[_i][k]) || is_too_long(s, schedule, device))
            continue;
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
        ck_assert_int_eq(imgpar_context_set(ctx, "stream_bytes", ways[k].stream_bytes), IMGPAR_OK);
        ck_assert_int_eq(imgpar_context_set(ctx, "strip_bytes", ways[k].strip_bytes), IMGPAR_OK);
        memset(got, 0xA5, info.size_bytes);
        imgpar_status st = imgpar_array_read(a, got, info.size_bytes);
        if (!device->has_f64 && computes_in_f64(a)) {
            ck_assert_msg(st == IMGPAR_E_UNSUPPORTED && strstr(imgpar_array_message(a), "double precision"),
                          "%s, schedule %s: %s", s->text, schedule, imgpar_array_message(a));
            continue;
        }
        ck_assert_msg(st == IMGPAR_OK, "%s, schedule %s: %s", s->text, schedule, imgpar_array_message(a));
        expect_equal(s, schedule, info.dtype, want, got, info.size_bytes);
    }
    free(want);
    free(got);
    imgpar_array_release(a);
    imgpar_context_release(ctx);
}
END_TEST

/* ---- what images are made of --------------------------------------------------------------------------- */

static char *explained(imgpar_context *ctx, const char *text, imgpar_dtype dtype, int channels);

static const imgpar_dtype texels[] = { IMGPAR_U8, IMGPAR_I8, IMGPAR_U16, IMGPAR_I16, IMGPAR_F16, IMGPAR_F32 };

/* One, two and four channels as they are where the device has such images, else with more; three with one more. In the
 * quick tier each dtype has two numbers of channels. */
START_TEST(texels_of_every_dtype_and_number_of_channels_are_read)
{
    const imgpar_dtype dtype = texels[_i / 4];
    const int channels = 1 + _i % 4;
    const shape s = { "erode($1, 3)", dtype, channels, 37, 21, 0 };
    imgpar_context *ctx;
    if (is_left_out(s.text) || has_word_of("IMGPAR_TEST_WITHOUT", "texture")) return;
    if (!test_tier_is_full() && (_i / 4 + channels) % 2) return;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    if (imgpar_context_device(ctx)->has_images) {
        size_t n = (size_t)(s.width * s.height * channels) * ip_dtype(dtype)->size_bytes;
        char *want = malloc(n), *got = malloc(n), word[60];
        imgpar_array *a = make(ctx, &s);
        ck_assert(want && got);
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "ref"), IMGPAR_OK);
        ck_assert_int_eq(imgpar_array_read(a, want, n), IMGPAR_OK);
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "texture"), IMGPAR_OK);
        char *text = explained(ctx, s.text, dtype, channels);
        const ip_device_facts *facts = ip_device_facts_of(ctx->device);
        unsigned offered = dtype == IMGPAR_F16 ? facts->half_channels : facts->texel_channels;
        const char *image = channels == 1 && offered & 1u << 1   ? "R"
                            : channels <= 2 && offered & 1u << 2 ? "RG"
                                                                 : "RGBA";
        snprintf(word, sizeof word, "samples it as an image of %s\n", image);
        ck_assert_msg(strstr(text, word), "\"%s\" does not stand in\n%s", word, text);
        ck_assert_msg(imgpar_array_read(a, got, n) == IMGPAR_OK, "%s", imgpar_array_message(a));
        expect_equal(&s, "texture", dtype, want, got, n);
        imgpar_free(text);
        imgpar_array_release(a);
        free(want);
        free(got);
    }
    imgpar_context_release(ctx);
}
END_TEST

/* On a device of little memory: strips, each with what its tiles read beyond it. */
START_TEST(an_image_larger_than_the_device_is_made_in_strips)
{
    const shape s = { "blend(boxblur(boxblur($1, 5), 3), $2, 0.3)", IMGPAR_F32, 3, 1500, 1100, 0 };
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    if (imgpar_context_device(ctx)->global_bytes <= 64 << 20) {
        size_t n = (size_t)s.width * (size_t)s.height * (size_t)s.channels * sizeof(float);
        char *want = malloc(n), *got = malloc(n);
        ck_assert(want && got);
        imgpar_array *a = make(ctx, &s);
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "ref"), IMGPAR_OK);
        ck_assert_int_eq(imgpar_array_read(a, want, n), IMGPAR_OK);
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "auto"), IMGPAR_OK);
        imgpar_status st = imgpar_array_read(a, got, n);
        ck_assert_msg(st == IMGPAR_OK, "%s: %s", s.text, imgpar_array_message(a));
        expect_equal(&s, "auto", IMGPAR_F32, want, got, n);
        free(want);
        free(got);
        imgpar_array_release(a);
    }
    imgpar_context_release(ctx);
}
END_TEST

static uint64_t launches(const imgpar_context *ctx)
{
    imgpar_counters counters = { .struct_size = sizeof counters };
    ck_assert_int_eq(imgpar_context_counters(ctx, &counters), IMGPAR_OK);
    return counters.kernels;
}

/* Parts of a result need of rows that are made at another rate those that their own rows are made of. */
START_TEST(a_memory_limit_changes_no_resize)
{
    static const char *const texts[] = { "resize(invert(crop(median($1, 3), 0, 50, 100, 75)), 100, 200)",
                                         "resize(fastblur($1, 9), 100, 50)", "resize(median($1, 3), 50, 350)",
                                         "resize($1, 25, 200) + blur(crop($2, 0, 0, 25, 200), 2)" };
    const shape s = { texts[_i], IMGPAR_U8, 3, 100, 200, 0 };
    imgpar_context *ctx, *limited; /* memory of its own: under Oclgrind none may have been another buffer before */
    if (has_word_of("IMGPAR_TEST_WITHOUT", "auto")) return;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    imgpar_array *whole = make(ctx, &s);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(whole, &info), IMGPAR_OK);
    char *want = malloc(info.size_bytes), *got = malloc(info.size_bytes);
    ck_assert(want && got);
    ck_assert_msg(imgpar_array_read(whole, want, info.size_bytes) == IMGPAR_OK, "%s", imgpar_array_message(whole));
    const uint64_t of_whole = launches(ctx);
    imgpar_array_release(whole);
    imgpar_context_release(ctx);
    ck_assert_int_eq(imgpar_context_new(NULL, &limited), IMGPAR_OK);
    imgpar_array *parts = make(limited, &s);
    uint64_t of_parts = 0;
    imgpar_status st = IMGPAR_E_DEVICE_MEMORY;
    /* the least that will do: what is kept between kernels differs among devices */
    for (int kb = 20; st == IMGPAR_E_DEVICE_MEMORY && kb < 750; kb = kb * 5 / 4) {
        char limit[16];
        snprintf(limit, sizeof limit, "%dK", kb);
        ck_assert_int_eq(imgpar_context_set(limited, "mem_limit", limit), IMGPAR_OK);
        of_parts = launches(limited);
        st = imgpar_array_read(parts, got, info.size_bytes);
        of_parts = launches(limited) - of_parts;
    }
    ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(parts));
    ck_assert_msg(memcmp(want, got, info.size_bytes) == 0, "%s under a memory limit is another", texts[_i]);
    ck_assert_uint_gt(of_parts, of_whole);
    free(want);
    free(got);
    imgpar_array_release(parts);
    imgpar_context_release(limited);
}
END_TEST

/* ---- what --explain says ----------------------------------------------------------------- */

static char *explained(imgpar_context *ctx, const char *text, imgpar_dtype dtype, int channels)
{
    const shape s = { text, dtype, channels, 640, 480, 0 };
    return explained_as(ctx, &s, "text");
}

static char *explained_as(imgpar_context *ctx, const shape *s, const char *format)
{
    imgpar_array *a = make(ctx, s);
    char *out = NULL;
    ck_assert_int_eq(imgpar_explain(&a, 1, format, &out), IMGPAR_OK);
    imgpar_array_release(a);
    return out;
}

static const struct claim {
    const char *schedule, *text, *word;
} claims[] = {
    { "rows", "boxblur(boxblur($1))", "keeps   " },
    { "ref", "boxblur($1)", "devices: none, the reference interpreter computes stage by stage" },
    { "tiles", "boxblur(boxblur(boxblur($1)))", "1 kernel" },
    { "tiles", "boxblur(boxblur(boxblur($1)))", "the source, edges filled in" },
    { "tiles", "histogram(boxblur($1))", "1 kernel" },
    { "tiles", "resize($1, 100, 100)", "schedule tiles is left for pixels: its elements are read at computed places" },
    { "tiles", "cumsum($1, axis=0)", "schedule tiles is not offered for a recurrence" },
    { "tiles", "boxblur(boxblur($1, 3, border=wrap), 3, border=wrap)", "ends here because a wrap border needs" },
    { "tiles", "reduce($1, 0, (p, q) -> p + q)",
      "schedule tiles is left for pixels: a function of the user's is folded in order" },
    { "texture", "median($1, 3)", "samples it as an image of R" },
    { "texture", "resize($1, 100, 100)", "schedule texture, " },
    { "texture", "histogram($1)", "schedule texture is left for pixels: a fold reads whole rows" },
    { "texture", "boxblur(cast($1, i32) * 70000)", "schedule texture is left for pixels: no image has texels of i32" },
    { "texture", "boxblur(make(9, 7, x * 70000))", "schedule texture is left for pixels: no image has texels of i32" },
    { "texture", "make(9, 7, x)", "schedule texture is left for pixels: it reads no image" },
};

START_TEST(schedules_are_explained)
{
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    const char *schedule = claims[_i].schedule, *word = claims[_i].word;
    if (strcmp(schedule, "texture") == 0 && !imgpar_context_device(ctx)->has_images) word = "the device has no images";
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    char *text = explained(ctx, claims[_i].text, IMGPAR_U8, 1);
    ck_assert_msg(strstr(text, word), "%s: \"%s\" does not stand in\n%s", claims[_i].text, word, text);
    imgpar_free(text);
    imgpar_context_release(ctx);
}
END_TEST

/* However long the chain: every kernel's tile fits, and where it is cut the reason is the halo or the memory. */
START_TEST(a_chain_whose_halo_does_not_pay_is_cut)
{
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "tiles"), IMGPAR_OK);
    char *text = explained(ctx, "iterate($1, 12, blur(_, 3))", IMGPAR_U8, 1);
    ck_assert_msg(!strstr(text, ", 1 kernel"), "twelve blurs are one kernel\n%s", text);
    ck_assert_msg(strstr(text, "ends here because its halo would take") ||
                      strstr(text, "ends here because its tile and halo do not fit"),
                  "no reason for the cut in\n%s", text);
    imgpar_free(text);
    imgpar_context_release(ctx);
}
END_TEST

/* ---- what the text of kernels says ----------------------------------------------------------------------- */

static const char *const schedule_names[] = { [IP_SCHEDULE_ROWS] = "rows",
                                              [IP_SCHEDULE_TILES] = "tiles",
                                              [IP_SCHEDULE_PIXELS] = "pixels",
                                              [IP_SCHEDULE_TEXTURE] = "texture" };

/* By a schedule for one device of its kind, whatever there is here: a CPU by rows, or one with vectors of 32 bytes by
 * "rows of 32 bytes"; by the others a GPU. */
static ip_plan *plan_of_pin(imgpar_context *ctx, const pin *p)
{
    static const ip_target gpu = { .group_width = 32,
                                   .group_height = 8,
                                   .most_items = 1024,
                                   .local_bytes = 48 << 10,
                                   .image_width = 16384,
                                   .image_height = 16384,
                                   .texel_channels = 1 << 1 | 1 << 2 | 1 << 4,
                                   .half_channels = 1 << 1 | 1 << 2 | 1 << 4 };
    ip_compile_options options = ip_context_compile_options(ctx, NULL);
    ip_error err = { .status = IMGPAR_OK };
    ip_plan *plan;
    for (size_t k = 0; k < sizeof schedule_names / sizeof *schedule_names; k++)
        if (schedule_names[k] && strcmp(schedule_names[k], p->schedule) == 0) options.tuning.schedule = (ip_schedule)k;
    if (strcmp(p->schedule, "rows of 32 bytes") == 0) {
        options.tuning.schedule = IP_SCHEDULE_ROWS;
        options.device.vector_bytes = 32;
    }
    if (options.tuning.schedule != IP_SCHEDULE_ROWS) {
        options.device = (ip_device_traits){ .target = gpu };
    }
    imgpar_array *a = make(ctx, &p->row);
    ck_assert_msg(ip_compile(&a, 1, &options, &plan, &err) == IMGPAR_OK, "%s: %s", p->row.text, err.message);
    imgpar_array_release(a);
    return plan;
}

/* In the text of kernels, or in what --explain says of them. */
static bool stands_in(const ip_plan *plan, const char *explained_text, const char *word)
{
    if (strstr(explained_text, word)) return true;
    for (int k = 0; k < plan->n_kernels; k++)
        if (plan->kernels[k].source && strstr(plan->kernels[k].source, word)) return true;
    return false;
}

START_TEST(a_pinned_idiom_stands_in_the_text)
{
    const pin *p = &pins[_i];
    char words[300], *rest = words, *word;
    imgpar_context *ctx;
    int n_rows = 0;
    for (int k = 0; k < N_SHAPES; k++)
        n_rows += is_same_row(&shapes[k], &p->row);
    ck_assert_msg(n_rows > 0, "%s: no row computes %s", p->claim, p->row.text);
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    ip_plan *plan = plan_of_pin(ctx, p);
    char *said = NULL;
    ck_assert_int_eq(ip_plan_explain(plan, "text", NULL, &said, NULL), IMGPAR_OK);
    ck_assert_msg(plan->n_kernels == p->n_kernels, "%s: %s: %d kernels instead of %d", p->claim, p->row.text,
                  plan->n_kernels, p->n_kernels);
    for (snprintf(words, sizeof words, "%s", p->stands); (word = strtok_r(rest, "|", &rest));)
        ck_assert_msg(stands_in(plan, said, word), "%s: %s: \"%s\" does not stand in the text", p->claim, p->row.text,
                      word);
    rest = words;
    for (snprintf(words, sizeof words, "%s", p->missing ? p->missing : ""); (word = strtok_r(rest, "|", &rest));)
        ck_assert_msg(!stands_in(plan, said, word), "%s: %s: \"%s\" stands in the text", p->claim, p->row.text, word);
    ip_free(said);
    ip_plan_free(plan);
    imgpar_context_release(ctx);
}
END_TEST

/* ---- tiles on devices that are not here ---------------------------------------------------------------- */

static const ip_target targets[] = {
    { .group_width = 32, .group_height = 8, .most_items = 1024, .local_bytes = 48 << 10 },
    { .group_width = 32, .group_height = 8, .most_items = 256, .local_bytes = 64 << 10 },
    { .group_width = 32, .group_height = 2, .most_items = 64, .local_bytes = 16 << 10 },
    { .group_width = 16, .group_height = 4, .most_items = 256, .local_bytes = 32 << 10 },
};
enum { N_TARGETS = sizeof targets / sizeof *targets };

static const char *const tiled[] = {
    "invert($1)",
    "median($1, 5)",
    "boxblur($1, 15)",
    "blur($1, 2)",
    "blur($1, 5)",
    "blur($1, 10)",
    "dilate($1, 15)",
    "sobel(gray($1))",
    "iterate($1, 12, boxblur(_, 3))",
    "iterate($1, 3, blur(_, 2))",
    "sum($1)",
    "histogram(boxblur($1, 3))",
    "boxblur(crop($1, 0, 0, 300, 1), 15)",
};

static ip_plan *planned(imgpar_context *ctx, const char *text, ip_schedule schedule, const ip_target *target)
{
    const shape s = { text, IMGPAR_U8, 3, 640, 480, 0 };
    ip_compile_options options = ip_context_compile_options(ctx, NULL);
    ip_error err = { .status = IMGPAR_OK };
    ip_plan *plan;
    options.tuning.schedule = schedule;
    options.device.prefers_rows = options.device.has_few_items = options.device.keeps_calls =
        options.device.has_loop_hints = false;
    options.device.target = *target;
    imgpar_array *a = make(ctx, &s);
    ck_assert_msg(ip_compile(&a, 1, &options, &plan, &err) == IMGPAR_OK, "%s: %s", text, err.message);
    imgpar_array_release(a);
    return plan;
}

START_TEST(a_work_item_makes_one_to_four_pixels_within_every_limit)
{
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    for (int n = 0; n < N_TARGETS; n++) {
        ip_plan *plan = planned(ctx, tiled[_i], IP_SCHEDULE_TILES, &targets[n]);
        for (int k = 0; k < plan->n_kernels; k++) {
            const ip_kernel *kernel = &plan->kernels[k];
            const ip_tiling *t = &kernel->tiling;
            int items = t->group_width * t->group_height, pixels = t->width * t->height;
            ck_assert_msg(kernel->schedule == IP_SCHEDULE_TILES, "%s: %s", tiled[_i], kernel->fallback);
            ck_assert_msg(items <= targets[n].most_items && pixels >= items && pixels <= 4 * items &&
                              pixels % items == 0 && t->bytes <= (int)targets[n].local_bytes,
                          "%s, target %d: %dx%d pixels by %dx%d work-items, %d bytes", tiled[_i], n, t->width,
                          t->height, t->group_width, t->group_height, t->bytes);
            ck_assert_msg(k == plan->n_kernels - 1 || kernel->reason[0], "%s: a cut without a reason", tiled[_i]);
        }
        ip_plan_free(plan);
    }
    imgpar_context_release(ctx);
}
END_TEST

/* Where the rows that it keeps are too many to slide. */
START_TEST(a_dear_halo_makes_the_group_larger_and_a_cheap_one_does_not)
{
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    ip_plan *dear = planned(ctx, "blur($1, 8)", IP_SCHEDULE_TILES, &targets[0]);
    ip_plan *cheap = planned(ctx, "boxblur($1, 3)", IP_SCHEDULE_TILES, &targets[0]);
    ck_assert_int_gt(dear->kernels[0].tiling.group_width * dear->kernels[0].tiling.group_height, 256);
    ck_assert_int_eq(cheap->kernels[0].tiling.group_width * cheap->kernels[0].tiling.group_height, 256);
    ip_plan_free(dear);
    ip_plan_free(cheap);
    imgpar_context_release(ctx);
}
END_TEST

/* Rows above and below a tile are made once a strip of tiles; rows that nothing reads above its own are not kept. */
START_TEST(a_halo_makes_the_group_slide)
{
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    ip_plan *plan = planned(ctx, "boxblur(boxblur($1, 3), 3)", IP_SCHEDULE_TILES, &targets[0]);
    const ip_kernel *k = &plan->kernels[0];
    int n_kept = 0, n_grown = 0;
    ck_assert_int_eq(plan->n_kernels, 1);
    ck_assert(k->tiling.slides);
    for (int i = 0; i < k->n_placed; i++) {
        n_grown += ip_tile_grows(k, &k->placed[i]);
        n_kept += ip_tile_rows_kept(&k->placed[i]) > 0;
        ck_assert_int_le(ip_tile_rows_kept(&k->placed[i]), 2 * k->tiling.height);
    }
    ck_assert_int_gt(n_grown, n_kept);
    ck_assert_int_gt(n_kept, 0);
    ip_plan_free(plan);
    plan = planned(ctx, "invert($1)", IP_SCHEDULE_TILES, &targets[0]);
    ck_assert(!plan->kernels[0].tiling.slides);
    ip_plan_free(plan);
    imgpar_context_release(ctx);
}
END_TEST

/* What reads far above and below has a narrow and high tile where a wide one does not fit. */
START_TEST(a_tall_halo_makes_the_group_narrower)
{
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    ip_plan *tall = planned(ctx, "blur(cast($1, f32), 20)", IP_SCHEDULE_TILES, &targets[0]);
    const ip_tiling *t = &tall->kernels[0].tiling;
    ck_assert_int_eq(tall->kernels[0].schedule, IP_SCHEDULE_TILES);
    ck_assert_int_lt(t->group_width, targets[0].group_width);
    ck_assert_int_gt(t->group_height, targets[0].group_height);
    ck_assert_int_le(t->group_width * t->group_height, targets[0].most_items);
    ip_plan_free(tall);
    imgpar_context_release(ctx);
}
END_TEST

/* Where two rows of a group read at once, the lower one continues with the banks that follow. */
START_TEST(rows_of_a_narrow_group_are_in_different_banks)
{
    enum { BANKS = 32, BANK_BYTES = 4 };
    const ip_target *target = &targets[3];
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    static const char *const texts[] = { "boxblur($1, 15)", "blur($1, 2)", "median($1, 5)" };
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        ip_plan *plan = planned(ctx, texts[n], IP_SCHEDULE_TILES, target);
        const ip_kernel *k = &plan->kernels[0];
        int n_tiles = 0;
        for (int i = 0; i < k->n_placed; i++) {
            const ip_placed *p = &k->placed[i];
            if (p->place != IP_PLACE_TILE) continue;
            int words = p->pitch * (int)ip_dtype(p->stage->dtype)->size_bytes / BANK_BYTES;
            ck_assert_int_eq(words % BANKS, target->group_width);
            n_tiles++;
        }
        ck_assert_int_gt(n_tiles, 0);
        ip_plan_free(plan);
    }
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(an_image_larger_than_the_devices_is_read_from_a_buffer)
{
    ip_target target = { .group_width = 32,
                         .group_height = 8,
                         .most_items = 256,
                         .local_bytes = 48 << 10,
                         .image_width = 640,
                         .image_height = 480,
                         .texel_channels = 1 << 1 | 1 << 2 | 1 << 4 };
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    ip_plan *fits = planned(ctx, "median($1, 3)", IP_SCHEDULE_TEXTURE, &target);
    target.image_height = 479;
    ip_plan *large = planned(ctx, "median($1, 3)", IP_SCHEDULE_TEXTURE, &target);
    ck_assert_int_eq(fits->kernels[0].schedule, IP_SCHEDULE_TEXTURE);
    ck_assert_int_eq(large->kernels[0].schedule, IP_SCHEDULE_PIXELS);
    ck_assert_str_eq(large->kernels[0].fallback,
                     "schedule texture is left for pixels: its source is larger than the device's images, 640x479");
    ip_plan_free(fits);
    ip_plan_free(large);
    imgpar_context_release(ctx);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedules");
    const char *timeout = getenv("CK_DEFAULT_TIMEOUT");
    TCase *c = tcase_create("kinds");
    tcase_set_timeout(c, timeout ? strtod(timeout, NULL) : 120);
    if (getenv("IMGPAR_TEST_DISTINCT")) tcase_add_unchecked_fixture(c, find_programs_that_ran_before, NULL);
    tcase_add_loop_test(c, every_kind_of_kernel_gives_the_same_in_every_schedule, 0, N_SHAPES);
    suite_add_tcase(suite, c);
    c = tcase_create("schedules");
    tcase_set_timeout(c, timeout ? strtod(timeout, NULL) : 120);
    tcase_add_loop_test(c, texels_of_every_dtype_and_number_of_channels_are_read, 0,
                        4 * sizeof texels / sizeof *texels);
    tcase_add_test(c, an_image_larger_than_the_device_is_made_in_strips);
    tcase_add_loop_test(c, a_memory_limit_changes_no_resize, 0, 4);
    tcase_add_loop_test(c, schedules_are_explained, 0, sizeof claims / sizeof *claims);
    tcase_add_test(c, a_chain_whose_halo_does_not_pay_is_cut);
    tcase_add_loop_test(c, a_work_item_makes_one_to_four_pixels_within_every_limit, 0, sizeof tiled / sizeof *tiled);
    tcase_add_test(c, a_dear_halo_makes_the_group_larger_and_a_cheap_one_does_not);
    tcase_add_test(c, a_halo_makes_the_group_slide);
    tcase_add_test(c, a_tall_halo_makes_the_group_narrower);
    tcase_add_test(c, rows_of_a_narrow_group_are_in_different_banks);
    tcase_add_test(c, an_image_larger_than_the_devices_is_read_from_a_buffer);
    suite_add_tcase(suite, c);
    c = tcase_create("pins");
    tcase_add_loop_test(c, a_pinned_idiom_stands_in_the_text, 0, n_pins);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
