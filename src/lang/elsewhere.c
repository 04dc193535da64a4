/* SPDX-License-Identifier: MIT */
/* What NumPy, OpenCV and ImageMagick call things that have another name here. Only messages use it. */
#include "lang/words.h"

#include <string.h>

typedef struct known_name { const char *name, *here; } known_name;

/* Called: name(...). */
static const known_name operations[] = {
    { "where", "select(cond, yes, no), or find(a) for places" },
    { "index", "indices(shape, axis), or x y z c" },
    { "shape", "width(a), height(a) and channels(a); --explain shows it" },
    { "size", "width(a) * height(a) * channels(a)" },
    { "len", "width(a), height(a) or channels(a)" },
    { "imread", "open(\"FILE\")" },
    { "load", "open(\"FILE\")" },
    { "imwrite", "the statement save(a, \"FILE\")" },
    { "array", "numbers([1 2 3])" },
    { "range", "arange(from, to)" },
    { "iota", "arange(from, to)" },
    { "astype", "cast(a, f32)" },
    { "dtype", "shown by --explain; cast(a, f32) changes it" },
    { "int", "cast(a, i32)" },
    { "float", "cast(a, f32)" },
    { "rand", "random(shape)" },
    { "randn", "normal(shape)" },
    { "amax", "maxval(a)" },
    { "amin", "minval(a)" },
    { "average", "mean(a)" },
    { "quantile", "percentile(a, p), p from 0 to 100" },
    { "bincount", "histogram(a, bins=n, lo=0, hi=n)" },
    { "digitize", "searchsorted(edges, a)" },
    { "calcHist", "histogram(a)" },
    { "argwhere", "find(a)" },
    { "nonzero", "find(a)" },
    { "isnan", "a != a" },
    { "mod", "a % b" },
    { "hypot", "sqrt(a * a + b * b)" },
    { "sign", "(a > 0) - (a < 0)" },
    { "log2", "log(a) / log(2)" },
    { "log10", "log(a) / log(10)" },
    { "log1p", "log(1 + a)" },
    { "isfinite", "a - a == 0" },
    { "logical_and", "a && b" },
    { "logical_or", "a || b" },
    { "logical_not", "!a" },
    { "ptp", "maxval(a) - minval(a)" },
    { "clip", "clamp(a, lo, hi)" },
    { "diff", "slice(a, 1) - slice(a, 0, n - 1), of n elements" },
    { "gradient", "(a[0, 1] - a[0, -1]) / 2 along x, or sobel(a)" },
    { "inv", "matinv(a), of matrices up to 3x3" },
    { "inner", "dot(a, b)" },
    { "outer", "matmul(reshape(a, [-1 1]), reshape(b, [1 -1]))" },
    { "cumulative_sum", "cumsum(a)" },
    { "meshgrid", "indices(shape, axis)" },
    { "fftshift", "circshift(a, [n]), n half of the axis" },
    { "rfft", "fft(a)" },
    { "trace", "sum(diag(a))" },
    { "mm", "matmul(a, b)" },
    { "swapaxes", "permute(a, axes)" },
    { "moveaxis", "permute(a, axes)" },
    { "flatten", "reshape(a, [-1])" },
    { "ravel", "reshape(a, [-1])" },
    { "stack", "zip(a, b) along a new last axis; concatenate(expand_dims(a), expand_dims(b)) along a new first one" },
    { "merge", "zip(r, g, b)" },
    { "hstack", "concatenate(a, b, axis=1), of vectors axis=0" },
    { "vstack", "concatenate(a, b, axis=0)" },
    { "channel", "slice(a, k, k + 1, axis=2)" },
    { "split", "slice(a, k, k + 1, axis=2) for each channel" },
    { "scale", "resize(a, width)" },
    { "mirror", "flip(a)" },
    { "rot180", "rot90(a, 2)" },
    { "fliplr", "flip(a, axis=x)" },
    { "flipud", "flip(a, axis=y)" },
    { "contrast", "linear(a, 1.5)" },
    { "brightness", "linear(a, 1, 20)" },
    { "gaussian_blur", "blur(a, sigma)" },
    { "gaussian_filter", "blur(a, sigma)" },
    { "GaussianBlur", "blur(a, sigma)" },
    { "medianBlur", "median(a, size)" },
    { "median_filter", "median(a, size)" },
    { "filter2D", "convolve(a, matrix)" },
    { "sepFilter2D", "convsep(a, column, row)" },
    { "sharpen", "unsharp(a)" },
    { "edge", "sobel(a)" },
    { "Canny", "threshold(sobel(blur(gray(a), 1)), 100), its first steps" },
    { "Sobel", "sobel(a)" },
    { "Laplacian", "convolve(a, [0 1 0; 1 -4 1; 0 1 0])" },
    { "equalizeHist", "equalize(a)" },
    { "morphologyEx", "opening, closing, tophat, blackhat or morphgrad" },
    { "warpAffine", "at(a, y, x) of computed coordinates, or rotate(a, angle)" },
    { "remap", "at(a, y, x)" },
    { "addWeighted", "blend(a, b, ratio)" },
    { "cvtColor", "gray(a), rgb_to_hsv(a) and others" },
};

/* Names by themselves. */
static const known_name names[] = {
    { "True", "true" },
    { "False", "false" },
    { "NaN", "nan" },
    { "Inf", "inf" },
    { "PI", "pi" },
    { "width", "width(a)" },
    { "height", "height(a)" },
    { "None", "no value: an argument that is left out has its default" },
};

/* Members: a.name. */
static const known_name members[] = {
    { "T", "transpose(a)" },
    { "shape", "width(a), height(a) and channels(a); --explain shows it" },
    { "size", "width(a) * height(a) * channels(a)" },
    { "dtype", "shown by --explain; cast(a, f32) changes it" },
    { "r", "slice(a, 0, 1, axis=2), of an image" },
    { "g", "slice(a, 1, 2, axis=2), of an image" },
    { "b", "slice(a, 2, 3, axis=2), of an image" },
    { "a", "slice(a, 3, 4, axis=2), of an image" },
};

static const char *find(const known_name *known, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++)
        if (strcmp(known[k].name, name) == 0) return known[k].here;
    return NULL;
}

const char *ip_operation_elsewhere(const char *name)
{
    return find(operations, sizeof operations / sizeof *operations, name);
}

const char *ip_name_elsewhere(const char *name)
{
    return find(names, sizeof names / sizeof *names, name);
}

const char *ip_member_elsewhere(const char *name)
{
    return find(members, sizeof members / sizeof *members, name);
}
