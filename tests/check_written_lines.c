/* SPDX-License-Identifier: MIT */
/* Of lines, sets and products what NumPy has (ops/written_lines.def, gathers.def), and einsum(), against plain loops in
 * long double. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 13, W = 17, C = 3 };

/* text of a is want, each element but for a part of its magnitude and a number. */
static void expect(const char *text, const picture *a, picture *want, real part, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = fabsl(want->v[k]) * part + slack;
    written_expect(text, &a, 1, want, true);
}

/* ---- small ones ------------------------------------------------------------------------------------ */

#define HOLES "v = numbers([1 2; 3 5; 0 0])\na = select(v == 0, nan, v)\n"

static const struct {
    const char *text, *as;
} small[] = {
    { "correlation(numbers([1 2 3 4], dtype=u8), numbers([1 2 3 4], dtype=i32) + 1700000000)", "1" },
    { "rmse(numbers([16777216]), numbers([16777217], dtype=i32))", "1" },
    { "mae(numbers([16777216]), numbers([16777217], dtype=i32))", "1" },
    { "frame(reshape(numbers([16777217], dtype=i32), [1, 1]), 1)", "[0 0 0; 0 16777217 0; 0 0 0]" },
    { "blur(reshape(numbers([0 9 0], dtype=u8), [1 3]), 1e-200)", "[0 9 0]" },
    { "average(numbers([1 2], dtype=u8), numbers([1e300 1e300], dtype=f64))", "1.5" },
    { "vander(numbers([inf 2 nan]), 3)", "[inf inf 1; 4 2 1; nan nan 1]" },
    { "vander(numbers([nan 2]), 1)", "[1; 1]" },
    { HOLES "nansum(a)", "11" },
    { HOLES "nansum(a, axis=0)", "[4 7]" },
    { HOLES "nansum(a, axis=-1)", "[3 8 0]" },
    { "nansum(numbers([200 100; 7 8], dtype=u8), axis=1)", "[300 15]" },
    { HOLES "nanmean(a)", "2.75" },
    { HOLES "nanmean(a, axis=1)", "[1.5 4 nan]" },
    { HOLES "nanvar(a, axis=0)", "[1 2.25]" },
    { HOLES "nanvar(a, axis=0, ddof=1)", "[2 4.5]" },
    { HOLES "nanstd(a, axis=-1)", "[0.5 1 nan]" },
    { HOLES "nanvar(a, axis=1, ddof=2)", "[nan nan nan]" },
    { HOLES "nansum(a, axis=[0 1])", "11" },
    { HOLES "nanmean(reshape(a, [3, 2, 1]), axis=[0 -1])", "[2 3.5]" },
    { HOLES "nanvar(reshape(a, [3, 2, 1]), axis=[0 2], ddof=1)", "[2 4.5]" },
    { HOLES "nanstd(reshape(a, [1, 3, 2]), axis=[2 0], keepdims=true)", "[[0.5; 1; nan]]" },
    { HOLES "nanmean(a, axis=1, keepdims=true)", "[1.5; 4; nan]" },
    { HOLES "ptp(reshape(a, [1, 3, 2]), axis=[0 1])", "[2 3]" },
    { HOLES "ptp(a, axis=[0 1], keepdims=true)", "4" },
    { "average(numbers([1 2; 3 5]), numbers([1 0; 1 3]), axis=[0 1])", "3.8" },
    { "standardize(reshape(numbers([1 3; 6 6]), [1, 2, 2]), axis=[0 2])", "[[-1 1; 0 0]]" },
    { "numbers([1 nan; -inf 2])", "[1 nan; -inf 2]" },
    { "nanmean(numbers([nan 3 5]))", "4" },
    { "numbers([nan -inf 7], dtype=u8)", "[0 0 7]" },
    { HOLES "nan_to_num(a, 7)", "[1 2; 3 5; 7 7]" },
    { "nan_to_num(numbers([1 2], dtype=u8), 7)", "[1 2]" },
    { HOLES "ptp(a)", "4" },
    { "ptp(numbers([1 250], dtype=u8))", "249" },
    { HOLES "ptp(a, axis=0)", "[2 3]" },
    { "average(numbers([1 2; 3 5]), numbers([1 0; 1 3]))", "3.8" },
    { "average(numbers([1 2; 3 5]), numbers([1 0; 1 3]), axis=1)", "[1 4.5]" },
    { "average(numbers([1 2]), zeros([2]))", "nan" },
    { "average(numbers([1 3; 3 3], dtype=u8), numbers([1 1; 0 0], dtype=u8), axis=0)", "[1 3]" },
    { "unwrap(numbers([0 100 200 44 144 244 88], dtype=u8), period=256)", "[0 100 200 300 400 500 600]" },
    { "unwrap(numbers([0 4 8 2]), period=8)", "[0 4 8 10]" },
    { "unwrap(numbers([0 -4 1]), period=8)", "[0 -4 -7]" },
    { "unwrap(numbers([5]))", "5" },
    { "cumulative_trapezoid(numbers([1 2 4]))", "[1.5 4.5]" },
    { "cumulative_trapezoid(numbers([1 2; 4 8]), axis=0, dx=2)", "[5 10]" },
    { "isin(numbers([3 1 4; 9 2 6]), numbers([9 1 5]))", "[0 1 0; 1 0 0]" },
    { "isin(numbers([3 1 200], dtype=u8), numbers([200 -1], dtype=i32))", "[0 0 1]" },
    { "isin(numbers([1 0]), zeros([0]))", "[0 0]" },
    /* literals that the integers' dtype does not hold */
    { "numbers([-5 7], dtype=i32) % 4294967296", "[4294967291 7]" },
    { "numbers([-5 7], dtype=i32) div 4294967296", "[-1 0]" },
    { "numbers([5 7], dtype=u8) % 3000000000", "[5 7]" },
    { "numbers([5 7], dtype=u8) div 3000000000", "[0 0]" },
    { "numbers([5 6], dtype=u64) % -3", "[-1 0]" },
    { "max(numbers([5 7], dtype=u8), 3000000000)", "[3000000000 3000000000]" },
    { "min(-3000000000, numbers([5 7], dtype=i32))", "[-3000000000 -3000000000]" },
    /* colours and points that f32 does not hold */
    { "frame(full([1, 1], 5, dtype=i32), 1, 16777217)",
      "[16777217 16777217 16777217; 16777217 5 16777217; 16777217 16777217 16777217]" },
    { "frame(full([1, 1, 3], 9, dtype=f64), 1, [0.1 0.2 0.3]) == reshape(numbers([0.1 0.2 0.3], dtype=f64), [1, 1, 3])",
      "[[1 1 1; 1 1 1; 1 1 1] [1 1 1; 0 0 0; 1 1 1] [1 1 1; 1 1 1; 1 1 1]]" },
    { "stamp(full([1, 2], 5, dtype=f64), full([1, 1], 255, dtype=u8), 0, 0, color=0.1) == numbers([0.1 5], dtype=f64)",
      "[1 1]" },
    { "interp(numbers([0.5]), numbers([0 1]), numbers([16777217 16777221], dtype=f64)) == 16777220", "true" },
    /* what is not a number stays so, and what is infinite stretches nothing */
    { "isnan(exposure(numbers([nan 0.25]), 0))", "[1 0]" },
    { "isnan(rgb_to_linear(reshape(numbers([nan 0.5 1]), [1, 1, 3])))", "[[1 0 0]]" },
    { "isnan(linear_to_rgb(reshape(numbers([nan 0.5 1]), [1, 1, 3])))", "[[1 0 0]]" },
    { "xyz_to_rgb(reshape(numbers([nan 0.5 1]), [1, 1, 3]))", "[[nan nan nan]]" },
    { "rgb_to_oklab(reshape(numbers([nan 0.5 1]), [1, 1, 3]))", "[[nan nan nan]]" },
    { "level(numbers([nan 0.5 2]))", "[nan 0.5 1]" },
    { "posterize(numbers([nan 0.5 2]), 3)", "[nan 0.5 1]" },
    { "tonemap(numbers([nan 1 -1]))", "[nan 0.5 0]" },
    { "autolevel(numbers([1 2 inf 3]))", "[1 2 inf 3]" },
    { "autolevel(numbers([1 2 -inf 3]))", "[1 2 -inf 3]" },
    { "color_balance(numbers([nan 0.25 -1; -inf 1 2]))", "[nan 0.25 0; 0 1 1]" },
    { "palette(numbers([nan 1 1 9; 1 1 9 -inf]), 2)", "[1; 9]" },
    { "palette(numbers([nan nan nan; nan nan nan]), 2)", "[nan; nan]" },
    { "quantize(numbers([nan 3 9; 1 2 8]), numbers([9; 1]))", "[1 1 9; 1 1 9]" },
    /* a homography times -1 is the same one */
    { "warp(make(3, 3, x + 3 * y), [1 0 1; 0 1 0; 0 0.1 1])", "[0 0 1; 0 3 5; 0 3 4]" },
    { "warp(make(3, 3, x + 3 * y), [-1 0 -1; 0 -1 0; 0 -0.1 -1])", "[0 0 1; 0 3 5; 0 3 4]" },
    { "warp_by(make(3, 3, x + 3 * y), numbers([-1 0 -1; 0 -1 0; 0 -0.1 -1]))", "[0 0 1; 0 3 5; 0 3 4]" },
    /* levels 1 and 2 of 16 bits are of different light */
    { "a = numbers([1 2], dtype=u16)\nb = hdr_merge(reshape(a, [1, 1, 2, 1]), [1])\nabs(slice(b, 1, 2, axis=1) / "
      "slice(b, 0, 1, "
      "axis=1) - 2) < 0.001",
      "true" },
    /* a radius that is less than a pixel's */
    { "rounded_corners(full([2, 3], 7, dtype=u8), 0)", "[[7 255; 7 255; 7 255] [7 255; 7 255; 7 255]]" },
    { "hull_points(hull_points(numbers([0 0; 2 0; 1 1; 2 2; 0 2])))", "[0 0; 2 0; 2 2; 0 2; nan nan]" },
    /* heights that rounding takes away, or that are more than there is */
    { "h_maxima(numbers([3 1e9 2e9 1.5e9 2.5e9; 3 3 3 3 3]), 10)", "[0 0 1 0 1; 0 0 0 0 0]" },
    { "h_minima(-numbers([3 1e9 2e9 1.5e9 2.5e9; 3 3 3 3 3]), 10)", "[0 0 1 0 1; 0 0 0 0 0]" },
    { "h_maxima(cast(numbers([4096 4097 4098 4096 5000; 0 0 0 0 0]), f16), 1)", "[0 0 0 0 1; 0 0 0 0 0]" },
    { "h_maxima(numbers([1 3 2; 1 1 1]), 1e30)", "[0 1 0; 0 0 0]" },
    { "average(numbers([1 2]), numbers([1 -1]))", "nan" },
    { "percentiles(cast(arange(0, 30), f64), numbers([100 50]))", "[29 14.5]" },
    { "a = make(2, 2, select(x + y == 2, inf, x + y))\nhistogram_match(a, a)", "[0 1; 1 inf]" },
    { "sum(isnan(local_stddev(make(5, 5, select(x == 0 && y == 0, nan, x)), size=3)))", "4" },
    { "a = cast(make(800, 800, (x * y + 7 * x) % 256), u8)\nmaxval(absdiff(clahe(a, tiles=1, clip=1000000), clahe(a, "
      "tiles=1, clip=0)))",
      "0" },
    { "skew(zeros([2 0]), -2)", "[0 0; 0 0]" }, /* of lines without elements */
    { "isin(numbers([1 0]), numbers([0]))", "[0 1]" },
    { HOLES "isin(a, a)", "[1 1; 1 1; 0 0]" },
    { "isin(numbers([0 7 99 100 98.5]), arange(0, 100))", "[1 1 1 0 0]" },
    { "isin(numbers([-1 5], dtype=i8), cast(arange(5, 256), u8))", "[0 1]" },
    /* lists are compared as numbers, whatever f32 holds, but beside floats as those */
    { "isin(numbers([16777216 16777217], dtype=i32), [16777217 7.5])", "[0 1]" },
    { "isin(numbers([16777216 16777217], dtype=i32), [16777217])", "[0 1]" },
    { "isin([16777217 7.5 16777216], numbers([16777216 3], dtype=i32))", "[0 0 1]" },
    { "isin(numbers([1 2], dtype=u8), [0.99999999999 300 2])", "[0 1]" },
    { "isin(numbers([0.1 2]), [0.1 300])", "[1 0]" },
    { "isin(numbers([0.1 2], dtype=f64), [0.1 300])", "[1 0]" },
    { "searchsorted([1.5 16777217], numbers([16777216 16777217], dtype=i32))", "[1 2]" },
    { "indexin(numbers([16777216 16777217], dtype=i32), [1.5 16777217])", "[-1 1]" },
    { "lookup_by([1.5 16777217], [3 4], numbers([16777216 16777217], dtype=i32), default=9)", "[9 4]" },
    { "lookup_by([1.5 16777217], numbers([3 4]), numbers([16777216 16777217], dtype=i32), default=9)", "[9 4]" },
    { "isin(numbers([1e9 2], dtype=f16), [70000.5 2])", "[0 1]" },
    { "numbers([16777216 16777217], dtype=i32) == [16777217 7.5]", "[0 0]" },
    { "numbers([16777216 16777217], dtype=i32) < [16777216.5 16777216.5]", "[1 0]" },
    /* u64 with signed integers, which no dtype holds together */
    { "isin(numbers([-1 5], dtype=i16), ~(numbers([0 1], dtype=u64) * ~numbers([5], dtype=u64)))", "[0 1]" },
    { "searchsorted(~zeros([1], dtype=u64), numbers([-1 1], dtype=i64))", "[0 0]" },
    { "numbers([-1 1], dtype=i64) < ~zeros([1], dtype=u64)", "[1 1]" },
    { "numbers([-1 1], dtype=i64) == ~zeros([1], dtype=u64)", "[0 0]" },
    { "numbers([-1 1], dtype=i64) != ~zeros([1], dtype=u64)", "[1 1]" },
    { "numbers([-1 0 2], dtype=i32) >= ones([1], dtype=u64)", "[0 0 1]" },
    { "ones([1], dtype=u64) >= numbers([-1 1 2], dtype=i8)", "[1 1 0]" },
    { "ones([1], dtype=u64) < numbers([-1 1 2], dtype=i8)", "[0 0 1]" },
    { "(~zeros([1], dtype=u64) >> 1) < 9223372036854775808", "true" },
    { "concatenate(~zeros([1], dtype=u64), numbers([-2], dtype=i64))", "[-1 -2]" },
    { "concatenate(numbers([-2], dtype=i16), ~zeros([1], dtype=u64) - (cast(1, u64) << 63))",
      "[-2 9223372036854775807]" },
    { "select(numbers([1 0]), ~zeros([2], dtype=u64), numbers([-1 -2], dtype=i64))", "[-1 -2]" },
    /* of 64 bits more than f64 holds */
    { "overlay(numbers([1 2 3], dtype=i64) + 9007199254740992, numbers([5 6 7], dtype=i64) - 9007199254740992, "
      "numbers([0 255 255], dtype=u8))",
      "[9007199254740993 -9007199254740986 -9007199254740985]" },
    { "overlay(numbers([1 2 3], dtype=u64) + (cast(1, u64) << 63), numbers([5 6 7], dtype=u64) + (cast(1, u64) << 62), "
      "numbers([0 1 0.5]))",
      "[9223372036854775809 4611686018427387910 6917529027641081856]" },
    { "overlay(numbers([1 2], dtype=i64) + 9007199254740992, 7, numbers([0 1]))", "[9007199254740993 7]" },
    { "invert(set_white(numbers([0 1 9223372036854775808 18446744073709549568], dtype=u64), 9223372036854775808))",
      "[9223372036854775808 9223372036854775807 0 0]" },
    { "invert(set_white(numbers([0 1 9223372036854775808 18446744073709549568], dtype=u64), 18446744073709551616))",
      "[18446744073709551615 18446744073709551615 9223372036854775808 2048]" },
    { "invert(set_white(numbers([-9223372036854775808 1 9223372036854774784], dtype=i64), 9223372036854775808))",
      "[9223372036854775807 9223372036854775807 1024]" },
    { "invert(set_white(numbers([9007199254740992 2 3 4 -9223372036854775808], dtype=i64) + 1, 2.5))",
      "[-9007199254740990 0 -2 -2 9223372036854775807]" },
    { "invert(set_white(numbers([9007199254740992 0 1 2 3], dtype=u64), 2.75))", "[0 3 2 1 0]" },
    { "b = minimum(~zeros([1], dtype=u64), 9223372036854775808)\n" /* as an i64 it wraps, and is below all places */
      "lut(min(select(b > 0, b, ones([1], dtype=i64)), 3), numbers([10 20 30 40]))",
      "10" },
    { "bits_and(zeros([0, 3], dtype=u8), axis=0)", "[255 255 255]" },
    { "bits_and(zeros([0, 1], dtype=i32), axis=0)", "-1" },
    { "percentiles(numbers([inf inf 1]), numbers([60 100 0 25]))", "[inf inf 1 inf]" },
    { "nanpercentile(numbers([nan -inf -inf 3]), 25)", "-inf" },
    { "cast(~zeros([1], dtype=u64) >> 1, i64) >= 9223372036854775808", "false" },
    { "cast(~zeros([1], dtype=u64) >> 1, i64) - 9223372036854774784 > -9223372036854775808", "true" },
    { "indexin(numbers([4 7; 9 1]), numbers([9 4 4]))", "[1 -1; 0 -1]" },
    { "indexin(numbers([4 7; 9 1]), arange(0, 70) + 4)", "[0 3; 5 -1]" },
    { "indexin(numbers([4 7]), zeros([0]))", "[-1 -1]" },
    { "indexin(numbers([0 0 1]) / -1, zeros([3]))", "[0 0 -1]" },
    { "indexin(numbers([0 1]) / 0, numbers([1 0]) / 0)", "[1 0]" },
    { "unique_inverse(numbers([5 2; 9 2], dtype=f64))", "[1 0; 2 0]" },
    { "unique_inverse(numbers([0 1 -1 0]) / 0)", "[2 1 0 2]" },
    { "lookup_by(numbers([10 20 10]), numbers([1.5 2 3]), numbers([20 10; 5 10]))", "[2 1.5; 0 1.5]" },
    { "lookup_by(numbers([10 20]), numbers([1 2; 3 4]), numbers([20 7]), default=9)", "[3 4; 9 9]" },
    { "lookup_by(arange(0, 100) * 1000, arange(0, 100) + 0.25, numbers([99000 5 7000]), default=-1)",
      "[99.25 -1 7.25]" },
    { "lookup_by(numbers([10 20]), numbers([1.5 2]), numbers([20 7 10]), default=nan)", "[2 nan 1.5]" },
    { "lookup_by(numbers([10 20]), cast(numbers([1.5 2; 3 4]), f16), numbers([7 20]), default=nan)", "[nan nan; 3 4]" },
    { "lookup_by(arange(0, 100), cast(arange(0, 100), f64), numbers([99 -5 7]), default=nan)", "[99 nan 7]" },
    { "lookup_by(numbers([10 20]), numbers([1 2]), numbers([20 7]), default=inf)", "[2 inf]" },
    { "lookup_by(numbers([10 20]), numbers([1 2], dtype=u8), numbers([20 7]), default=255)", "[2 255]" },
    { "take(numbers([1.5 2]), numbers([1 -1 2], dtype=i32), border=constant, cval=nan)", "[2 nan nan]" },
    { "cross(numbers([1 2 3; 4 5 6]), numbers([4 5 6; 7 8 10]))", "[-3 6 -3; 2 2 -3]" },
    { "cross(numbers([1 0 0], dtype=u8), numbers([0 1 0], dtype=u8))", "[0 0 1]" },
    { "vander(numbers([1 2 3]), 3)", "[1 1 1; 4 2 1; 9 3 1]" },
    { "vander(numbers([1 2 3]), 4, increasing=true)", "[1 1 1 1; 1 2 4 8; 1 3 9 27]" },
    { "vander(numbers([7]), 1)", "1" },
    { "diff(numbers([1 4 9 16 25]), n=2)", "[2 2 2]" },
    { "diff(numbers([1 8 27 64 125]), n=3)", "[6 6]" },
    { "diff(numbers([1 16 81 256 625]), n=4)", "24" },
    { "standardize(numbers([1 2; 5 5]), axis=1)", "[-1 1; 0 0]" },
    { "standardize(numbers([1 2; 3 2]), axis=0)", "[-1 0; 1 0]" },
    /* numbers by their places */
    { "a = numbers([3 1 2; 9 8 7])\ntake_along_axis(a, argsort(a, axis=1), axis=1)", "[1 2 3; 7 8 9]" },
    { "a = numbers([3 1 2; 9 8 7], dtype=u8)\ntake_along_axis(a, argmax(a, axis=1, keepdims=true))", "[3; 9]" },
    { "a = numbers([3 1 2; 9 8 7])\ntake_along_axis(a, numbers([-1; -3], dtype=i32), border=wrap)", "[2; 9]" },
    { "a = numbers([3 1 2; 9 8 7])\ntake_along_axis(a, numbers([5; 1], dtype=u8), border=constant, cval=4)", "[4; 8]" },
    { "a = numbers([3 1 2; 9 8 7])\ntake_along_axis(a, numbers([1 0 1; 0 0 0], dtype=i64), axis=0)", "[9 1 7; 3 1 2]" },
    { "searchsorted(numbers([1 2 2 3]), numbers([0 1 2 3 9]), side=left)", "[0 0 1 3 4]" },
    { "searchsorted(numbers([1 2 2 3], dtype=u8), numbers([0 1 2 3 9], dtype=i32))", "[0 1 3 4 4]" },
    { "e = concatenate(numbers([1 2 2 3]), zeros([2]) / 0)\nsearchsorted(e, numbers([0 2 9]))", "[0 3 4]" },
    { "e = concatenate(numbers([1 2 2 3]), zeros([2]) / 0)\nsearchsorted(e, zeros([1]) / 0)", "6" },
    { "e = concatenate(numbers([1 2 2 3]), zeros([2]) / 0)\nsearchsorted(e, zeros([1]) / 0, side=left)", "4" },
    { "e = concatenate(numbers([1 2 2 3]), zeros([2]) / 0)\nsearchsorted(e, numbers([0 2 9]), side=left)", "[0 1 4]" },
    { "searchsorted(zeros([3]) / 0, numbers([1]), side=left)", "0" },
    { "searchsorted(numbers([1 2]), zeros([1]) / 0, side=left)", "2" },
    /* einsum() */
    { "einsum(\"ij\", numbers([1 2; 3 4]))", "[1 2; 3 4]" },
    { "einsum(\"ji\", numbers([1 2; 3 4]))", "[1 3; 2 4]" },
    { "einsum(\"ii\", numbers([1 2; 3 4]))", "5" },
    { "einsum(\"i,i->\", full([2], 100000, dtype=i32), full([2], 100000, dtype=i32))", "20000000000" },
    { "einsum(\"i,i\", full([3], 200, dtype=u8), full([3], -200, dtype=i16))", "-120000" },
    { "einsum(\" i j , j k -> i k\", numbers([1 2; 3 4]), numbers([5 6; 7 8]))", "[19 22; 43 50]" },
    { "einsum(\"ij,jk\", numbers([1 2; 3 4], dtype=u8), numbers([200 6; 7 8], dtype=u8))", "[214 22; 628 50]" },
    { "einsum(\"i,i\", numbers([200 200], dtype=u8), numbers([200 200], dtype=u8))", "80000" },
    { "einsum(\"i->\", numbers([200 200], dtype=u8))", "400" },
    { "how = \"ij->j\"\neinsum(how, numbers([1 2; 3 4]))", "[4 6]" },
    { "a = fill(2, 1, [1 2 3 4], channels=4)\neinsum(\"hwc,hwc->hwc\", a, a)", "[[1 4 9 16; 1 4 9 16]]" },
    { "a = fill(2, 1, [1 2 3], channels=3)\neinsum(\"hwc,dc->hwd\", a, numbers([1 0 0; 0 1 1]))", "[[1 5; 1 5]]" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "scharr(ones([1 2 3 6]), axis=x)", "scharr: a is [1, 2, 3, 6] f32; images have 1 to 4 channels" },
    { "average($1, ones([3 4]))", "average: a is [3, 3] f32, weights is [3, 4] f32; they must have one shape" },
    { "cross(ones([2 2]), ones([2 2]))", "cross: a is [2, 2] f32; vectors of 3 elements must lie along the last axis" },
    { "cross($1, ones([3]))", "cross: a is [3, 3] f32, b is [3] f32; they must have one shape" },
    { "diff($1, n=5)", "diff: n=5" },
    { "vander($1, 0)", "vander: columns=0" },
    { "take_along_axis($1, $1)", "take_along_axis: indices is f32; it must be an integer; write cast(indices, i32)" },
    { "take_along_axis($1, zeros([2, 3], dtype=i32), axis=1)",
      "take_along_axis: a is [3, 3], indices is [2, 3]; they must have as many axes, and but for axis 1" },
    { "take_along_axis($1, zeros([3], dtype=i32))", "take_along_axis: a is [3, 3], indices is [3]" },
    { "searchsorted(ones([2]), $1, side=middle)", "searchsorted: side=middle is not one of left, right" },
    { "einsum(\"ij,jk->il\", $1, $1)", "einsum: \"ij,jk->il\": a letter of the result is in no operand" },
    { "einsum(\"ij->ii\", $1)", "einsum: \"ij->ii\": a letter occurs twice in the result" },
    { "einsum(\"ij,jk->ik\", $1, ones([2 3]))", "einsum: j is 3 elements, and 2 here" },
    { "einsum(\"ij,jk->ik\", $1)", "einsum: \"ij,jk->ik\": two operands are named, one is given" },
    { "einsum(\"ij->i\", $1, $1)", "einsum: \"ij->i\": one operand is named, two are given" },
    { "einsum(\"ijk->i\", $1)", "einsum: \"ijk->i\" names 3 axes for an array of [3, 3]" },
    { "einsum(\"i...->i\", $1)", "einsum: \"i...->i\": axes are letters, as in \"ij,jk->ik\"" },
    { "einsum(\"\xe9j->j\", $1)", "axes are letters, as in \"ij,jk->ik\"" },
    { "einsum(\"ij>i\", $1)", "einsum: \"ij>i\": axes are letters, as in \"ij,jk->ik\"" },
    { "einsum(\"ij-i\", $1)", "einsum: \"ij-i\": operands end at a comma or at ->" },
    { "einsum(\"ij->i->j\", $1)", "einsum: \"ij->i->j\": behind -> stand the letters of the result" },
    { "einsum(\"i,j,k\", $1, $1)", "einsum: \"i,j,k\": there are one or two operands" },
    { "einsum(\"abcdefghi->a\", $1)", "einsum: \"abcdefghi->a\": an array has up to 8 axes" },
    { "einsum(\"ij,kl,\", $1, $1)", "einsum: \"ij,kl,\": there are one or two operands" },
    { "einsum(3, $1)", "einsum: a text is expected first, as \"ij,jk->ik\"" },
    { "einsum(\"ij\", \"ij\")", "einsum: an array is expected, not " },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

/* ---- einsum() ------------------------------------------------------------------------------------ */

/* Letters a to f have these extents. */
static const int64_t extents[] = { 3, 2, 4, 5, 2, 3 };

static const char *const sums[] = {
    "a->a",          "ab->ba",         "abc->cab",    "abcd->dbca",    "abcd->",      "abcd->bd",    "aa->a",
    "aab->b",        "aba->ab",        "aabb->ab",    "abab->",        "a,b->ab",     "a,a->a",      "a,a->",
    "ab,b->a",       "ab,b->b",        "ab,bc->ac",   "ab,bc->ca",     "ba,cb->ac",   "ab,ab->ab",   "ab,ba->ab",
    "ab,ab->",       "ab,cd->",        "ab,cd->ac",   "abc,abc->b",    "abc,acd->b",  "abc,bcd->ad", "abc,acd->abd",
    "bac,adc->dab",  "abcd,cd->ab",    "abcd,bd->ac", "abcd,abcd->ca", "abc,d->abcd", "ab,cd->adcb", "abc,abd->acd",
    "abcd,de->abce", "eabc,ecd->edab", "aab,bc->ac",  "ab,bcc->ac",    "abc,b->a",    "f,fa->",      "abc,cba->bca",
};

/* Elements of an operand: small numbers. */
static real element_of(int operand, int64_t at) { return (real)((at * (operand ? 7 : 5) + operand) % 11 - 5); }

static int64_t place_of(const char *letters, size_t n, const int64_t *at)
{
    int64_t place = 0;
    for (size_t k = 0; k < n; k++)
        place = place * extents[letters[k] - 'a'] + at[letters[k] - 'a'];
    return place;
}

static int64_t count_of(const char *letters, size_t n)
{
    int64_t count = 1;
    for (size_t k = 0; k < n; k++)
        count *= extents[letters[k] - 'a'];
    return count;
}

static imgpar_array *operand_of(int operand, const char *letters, size_t n, imgpar_dtype dtype)
{
    float floats[512];
    int16_t shorts[512];
    int64_t shape[4];
    for (size_t k = 0; k < n; k++)
        shape[k] = extents[letters[k] - 'a'];
    for (int64_t k = 0; k < count_of(letters, n); k++) {
        floats[k] = (float)element_of(operand, k);
        shorts[k] = (int16_t)floats[k];
    }
    const void *data = dtype == IMGPAR_F32 ? (const void *)floats : shorts;
    return imgpar_array_from_data(written_context, dtype, (int)n, shape, data);
}

static void read_doubles(imgpar_array *a, const char *text, double *to, int64_t n)
{
    imgpar_array *wide = imgpar_apply(written_context, "cast($1, f64)", &a, 1);
    ck_assert_msg(!imgpar_array_read(wide, to, (size_t)n * sizeof *to), "%s: %s", text, imgpar_array_message(wide));
    imgpar_array_release(wide);
}

/* By one loop over all letters. */
static void expect_sum(const char *text, imgpar_dtype dtype)
{
    const char *arrow = strstr(text, "->"), *comma = strchr(text, ',');
    const size_t n_first = (size_t)((comma ? comma : arrow) - text), n_second = comma ? (size_t)(arrow - comma - 1) : 0;
    const char *second = comma ? comma + 1 : text, *out = arrow + 2;
    const int64_t n_out = count_of(out, strlen(out));
    double want[512] = { 0 }, got[512];
    char formula[80];
    for (int64_t turn = 0; turn < 3 * 2 * 4 * 5 * 2 * 3; turn++) {
        int64_t at[6], rest = turn;
        bool counts = true;
        for (int k = 0; k < 6; k++) {
            at[k] = rest % extents[k];
            rest /= extents[k];
            counts = counts && (at[k] == 0 || memchr(text, 'a' + k, (size_t)(arrow - text)) != NULL);
        }
        if (!counts) continue;
        const real p = element_of(0, place_of(text, n_first, at));
        const real q = comma ? element_of(1, place_of(second, n_second, at)) : 1;
        want[place_of(out, strlen(out), at)] += (double)(p * q);
    }
    imgpar_array *in[2] = { operand_of(0, text, n_first, dtype), NULL };
    if (comma) in[1] = operand_of(1, second, n_second, dtype);
    snprintf(formula, sizeof formula, "einsum(\"%s\", $1%s)", text, comma ? ", $2" : "");
    imgpar_array *a = imgpar_apply(written_context, formula, in, comma ? 2 : 1);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(!imgpar_array_info(a, &info), "%s: %s", text, imgpar_array_message(a));
    ck_assert_msg(info.size_bytes == (size_t)n_out * imgpar_dtype_size(info.dtype), "%s", text);
    for (size_t k = 0; k < strlen(out); k++)
        ck_assert_msg(info.shape[k] == extents[out[k] - 'a'], "%s: axis %d", text, (int)k);
    read_doubles(a, text, got, n_out);
    for (int64_t k = 0; k < n_out; k++)
        ck_assert_msg(got[k] == want[k], "%s: element %d is %g, not %g", text, (int)k, got[k], want[k]);
    imgpar_array_release(a);
    for (int k = 0; k < 2; k++)
        imgpar_array_release(in[k]);
}

START_TEST(sums_of_products)
{
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", _i ? "ref" : "auto"), IMGPAR_OK);
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++) {
        if (!_i && k % 4 != 2) continue; /* each compiles kernels */
        expect_sum(sums[k], IMGPAR_F32);
        expect_sum(sums[k], IMGPAR_I16);
    }
}
END_TEST

START_TEST(einsum_of_elements_is_one_kernel)
{
    static const char *const texts[] = { "einsum(\"ab,ab->a\", $1, $2)", "einsum(\"ab,ba->ab\", $1, $2)" };
    imgpar_array *in[2] = { operand_of(0, "ab", 2, IMGPAR_F32), operand_of(1, _i ? "ba" : "ab", 2, IMGPAR_F32) };
    char *json = NULL;
    imgpar_array *a = imgpar_apply(written_context, texts[_i], in, 2);
    ck_assert_msg(!imgpar_array_explain(a, "json", &json), "%s", imgpar_array_message(a));
    const char *first = strstr(json, "\"name\"");
    ck_assert_msg(first && !strstr(first + 1, "\"name\""), "%s: %s", texts[_i], json);
    imgpar_free(json);
    imgpar_array_release(a);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

/* ---- pictures ------------------------------------------------------------------------------------ */

/* Of floats every fifth element is NaN. */
static picture with_holes(imgpar_dtype dtype, int64_t c)
{
    picture a = written_levels(dtype, H, W, c, 6);
    for (int64_t k = 0; dtype == IMGPAR_F32 && k < picture_count(&a); k += 5)
        a.v[k] = NAN;
    return a;
}

/* Along x: the mean or, of the second kind, the variance, of what is a number. */
static real folded(const picture *a, int64_t y, int64_t c, int kind)
{
    real n = 0, sum = 0, squares = 0;
    for (int64_t x = 0; x < W; x++)
        if (!isnan(*picture_at(a, y, x, c))) {
            sum += *picture_at(a, y, x, c);
            n++;
        }
    for (int64_t x = 0; x < W; x++)
        if (!isnan(*picture_at(a, y, x, c))) squares += powl(*picture_at(a, y, x, c) - sum / n, 2);
    return kind == 0 ? sum : kind == 1 ? sum / n : kind == 2 ? squares / n : sqrtl(squares / n);
}

START_TEST(folds_without_nan) /* alpha is a channel like others */
{
    static const char *const names[] = { "nansum", "nanmean", "nanvar", "nanstd" };
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int64_t channels = 3 + _i / WRITTEN_DTYPES;
    const real full = dtype_full(dtype), slack[] = { full * W, full, full * full, full };
    picture a = with_holes(dtype, channels);
    for (int kind = 0; kind < 4; kind++) {
        const imgpar_dtype to = kind || dtype == IMGPAR_F32 ? IMGPAR_F32 : IMGPAR_U64;
        picture want = picture_new(to, 1, H, channels);
        char text[80];
        for (int64_t k = 0; k < picture_count(&want); k++)
            want.v[k] = folded(&a, k / channels, k % channels, kind);
        snprintf(text, sizeof text, "reshape(%s($1, axis=1), [1, %d, %d])", names[kind], H, (int)channels);
        expect(text, &a, &want, 0, to == IMGPAR_U64 ? 0 : slack[kind] * 0x1p-16L);
        picture_free(&want);
    }
    picture_free(&a);
}
END_TEST

START_TEST(angles_without_jumps)
{
    picture a = picture_new(IMGPAR_F32, H, W, 1), want = picture_new(IMGPAR_F32, H, W, 1);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            const real angle = (x * x * 0.11L - 2.5L * x + y) * (y % 2 ? 1 : -1);
            *picture_at(&want, y, x, 0) = angle;
            *picture_at(&a, y, x, 0) = rounded(IMGPAR_F32, angle - 2 * acosl(-1) * roundl(angle / (2 * acosl(-1))));
        }
    for (int64_t y = 0; y < H; y++) { /* what the first one has lost, all lose */
        const real lost = roundl((*picture_at(&want, y, 0, 0) - *picture_at(&a, y, 0, 0)) / (2 * acosl(-1)));
        for (int64_t x = 0; x < W; x++)
            *picture_at(&want, y, x, 0) -= lost * 2 * acosl(-1);
    }
    expect("unwrap($1, axis=1)", &a, &want, 0, 1e-4L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(integrals_up_to_each_element)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, C, 8), want = picture_new(IMGPAR_F32, H, W - 1, C);
    for (int64_t y = 0; y < H; y++)
        for (int64_t c = 0; c < C; c++) {
            real sum = 0;
            for (int64_t x = 0; x + 1 < W; x++) {
                sum += (*picture_at(&a, y, x, c) + *picture_at(&a, y, x + 1, c)) / 4;
                *picture_at(&want, y, x, c) = sum;
            }
        }
    expect("cumulative_trapezoid($1, axis=1, dx=0.5)", &a, &want, 0x1p-18L, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(lines_are_standardized)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 4, 9), want = picture_new(IMGPAR_F32, H, W, 4);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / 4 / W, c = k % 4;
        want.v[k] = (a.v[k] - folded(&a, y, c, 1)) / folded(&a, y, c, 3);
    }
    expect("standardize($1, axis=1)", &a, &want, 0, 0x1p-14L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(elements_by_their_numbers_along_each_axis)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int axis = _i / WRITTEN_DTYPES;
    const int64_t n = axis == 0 ? H : axis == 1 ? W : C;
    char text[160];
    picture a = written_levels(dtype, H, W, C, 8), want = picture_new(dtype, H, W, C);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / C / W, x = k / C % W, c = k % C, at = (y * 3 + x * 5 + c) % n;
        want.v[k] = *picture_at(&a, axis == 0 ? at : y, axis == 1 ? at : x, axis == 2 ? at : c);
    }
    snprintf(text, sizeof text,
             "i = make(%d, %d, (y * 3 + x * 5 + c) %% %d, channels=3)\ntake_along_axis($1, i, axis=%d)", W, H, (int)n,
             axis);
    expect(text, &a, &want, 0, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(which_elements_are_among_values)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, C, 8), want = picture_new(IMGPAR_BOOL, H, W, C);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        want.v[k] = k < C * W; /* the values are those of the first row */
        for (int64_t j = 0; j < C * W && k >= C * W; j++)
            want.v[k] = want.v[k] || a.v[k] == a.v[j];
    }
    expect("isin($1, slice($1, 0, 1, axis=0))", &a, &want, 0, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

int main(void)
{
    TCase *tests = written_case();
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tests, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(tests, sums_of_products, 0, 2);
    tcase_add_loop_test(tests, einsum_of_elements_is_one_kernel, 0, 2);
    tcase_add_loop_test(tests, folds_without_nan, 0, 2 * WRITTEN_DTYPES);
    tcase_add_test(tests, angles_without_jumps);
    tcase_add_loop_test(tests, integrals_up_to_each_element, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tests, lines_are_standardized, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tests, elements_by_their_numbers_along_each_axis, 0, 3 * WRITTEN_DTYPES);
    tcase_add_loop_test(tests, which_elements_are_among_values, 0, WRITTEN_DTYPES);
    return written_run("written lines", tests);
}
