/* SPDX-License-Identifier: MIT */
/* The tables of hints.h. */
#include "ops/hints.h"

#include "ops/build.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A row holds for one operation; where op is NULL, for every one that has a parameter `here`; for "*", for all. */
static const struct {
    const char *op, *name, *here;
} params[] = {
    { "unique", "return_counts", "unique_counts(a)" },
    { "unique", "return_inverse", "unique_inverse(a)" },
    { "unique", "return_index", "indexin(unique(a), a)" },
    { "hough_circles", "minRadius", "least" },
    { "hough_circles", "maxRadius", "largest" },
    { "hough_circles", "minDist", "apart" },
    { "hough_circles", "param1", "high" },
    { "hough_circles", "param2", "threshold" },
    { "median", "radius", "size=2 * radius + 1" },
    { "median", "footprint", "element" },
    { "percentile_filter", "footprint", "element" },
    { "mode_filter", "footprint", "element" },
    { "blur", "sigmaY", "sigma, of both axes; convsep(a, column, row) has weights for each" },
    { "blur", "radius", "sigma; boxblur(a, size=2 * radius + 1) has a radius" },
    { "bilateral", "d", "radius=d div 2" },
    { "bilateral", "sigmaColor", "contrast=sigmaColor / 255" },
    { "bilateral", "sigma_color", "contrast, in shares of white" },
    { "bilateral", "sigmaSpace", "sigma" },
    { "bilateral", "sigma_spatial", "sigma" },
    { "canny", "threshold1", "low" },
    { "canny", "threshold2", "high" },
    { "canny", "low_threshold", "low" },
    { "canny", "high_threshold", "high" },
    { "threshold", "thresh", "t" },
    { "threshold", "threshold", "t" },
    { "threshold", "value", "t" },
    { "threshold", "maxval", "select(a > t, maxval, 0)" },
    { "resize", "dsize", "width and height" },
    { "resize", "size", "width and height" },
    { "resize", "fx", "scale, of both sides; width=width(a) * fx, height=height(a) * fy for one each" },
    { "resize", "fy", "scale, of both sides; width=width(a) * fx, height=height(a) * fy for one each" },
    { "erode", "iterations", "iterate(a, n, erode(_))" },
    { "dilate", "iterations", "iterate(a, n, dilate(_))" },
    { "erode", "kernel", "element" },
    { "dilate", "kernel", "element" },
    { "convolve", "kernel", "matrix" },
    { "convolve", "weights", "matrix" },
    { "convolve", "delta", "offset" },
    { "warp", "M", "matrix" },
    { "remove_small", "min_size", "area" },
    { "remove_small", "max_size", "area=max_size + 1, what a region that stays has at least" },
    { "linspace", "num", "count" },
    { NULL, "ksize", "size" },
    { NULL, "kernel_size", "size" },
    { NULL, "sigmaX", "sigma" },
    { NULL, "std", "sigma" },
    { NULL, "borderType", "border" },
    { NULL, "borderMode", "border" },
    { NULL, "mode", "border" },
    { NULL, "borderValue", "cval" },
    { NULL, "constant_values", "cval" },
    { NULL, "interpolation", "filter" },
    { NULL, "resample", "filter" },
    { NULL, "dim", "axis" },
    { NULL, "axes", "axis" },
    { NULL, "keepdim", "keepdims" },
    { NULL, "op", "operator" },
    { NULL, "op", "mode" },
    { "*", "dtype", "cast(a, dtype), before or after" },
    { "*", "astype", "cast(a, dtype), before or after" },
};

/* Words of choices: where op is NULL, of every parameter `param` that has the choice `here`. */
static const struct {
    const char *op, *param, *word, *here;
} words[] = {
    { "median", "border", "disc", "shape=disc" },
    { "blend_mode", "mode", "add", "composite(base, image, operator=add), or a + b" },
    { "blend_mode", "mode", "plus", "composite(base, image, operator=add), or a + b" },
    { NULL, "dtype", "uint8", "u8" },
    { NULL, "dtype", "byte", "u8" },
    { NULL, "dtype", "int8", "i8" },
    { NULL, "dtype", "uint16", "u16" },
    { NULL, "dtype", "int16", "i16" },
    { NULL, "dtype", "uint32", "u32" },
    { NULL, "dtype", "int32", "i32" },
    { NULL, "dtype", "int", "i32" },
    { NULL, "dtype", "uint64", "u64" },
    { NULL, "dtype", "int64", "i64" },
    { NULL, "dtype", "long", "i64" },
    { NULL, "dtype", "float16", "f16" },
    { NULL, "dtype", "half", "f16" },
    { NULL, "dtype", "float32", "f32" },
    { NULL, "dtype", "float", "f32" },
    { NULL, "dtype", "single", "f32" },
    { NULL, "dtype", "float64", "f64" },
    { NULL, "dtype", "double", "f64" },
    { NULL, "dtype", "boolean", "bool" },
    { NULL, "dtype", "complex", "complex64" },
    { NULL, "to", "u8", "8" },
    { NULL, "to", "uint8", "8" },
    { NULL, "to", "u16", "16" },
    { NULL, "to", "uint16", "16" },
    { NULL, "to", "f32", "float" },
    { NULL, "to", "float32", "float" },
    { NULL, "to", "32", "float" },
    { NULL, "operator", "plus", "add" },
    { NULL, "operator", "src", "source" },
    { NULL, "operator", "copy", "source" },
    { NULL, "operator", "src_over", "over" },
    { NULL, "operator", "src_in", "in" },
    { NULL, "operator", "src_out", "out" },
    { NULL, "operator", "src_atop", "atop" },
    { NULL, "operator", "dst", "dest" },
    { NULL, "operator", "dst_over", "dest_over" },
    { NULL, "operator", "dst_in", "dest_in" },
    { NULL, "operator", "dst_out", "dest_out" },
    { NULL, "operator", "dst_atop", "dest_atop" },
    { NULL, "shape", "disk", "disc" },
    { NULL, "shape", "circle", "disc" },
    { NULL, "shape", "ellipse", "disc" },
    { NULL, "shape", "rect", "square" },
    { NULL, "shape", "box", "square" },
};

static const struct {
    const char *op, *name, *here;
} missing[] = {
    { "arange", "to", "arange(0, n) counts from 0 to n - 1" },
};

enum { N_PARAMS = sizeof params / sizeof *params, N_WORDS = sizeof words / sizeof *words };
enum { N_MISSING = sizeof missing / sizeof *missing };

static bool has_param(const ip_op *op, const char *name)
{
    for (int k = 0; k < op->info.n_params; k++)
        if (strcmp(op->info.params[k]->name, name) == 0) return true;
    return false;
}

/* The letters and digits of the first n characters in small letters, "colour" as "color": what "Color-Dodge",
 * "color dodge" and "colordodge" have in common. */
static void plain(const char *word, size_t n, char *out, size_t size)
{
    size_t used = 0;
    for (size_t k = 0; k < n && used + 1 < size; k++) {
        if (k >= 4 && n >= 6 && word[k] == 'u' && word[k - 1] == 'o' && word[k + 1] == 'r') continue;
        if (isalnum((unsigned char)word[k])) out[used++] = (char)tolower((unsigned char)word[k]);
    }
    out[used] = '\0';
}

/* The parameter whose name this is but for case, hyphens and the like. */
static const char *param_spelled(const ip_op *op, const char *name)
{
    char wanted[64], have[64];
    plain(name, strlen(name), wanted, sizeof wanted);
    for (int k = 0; k < op->info.n_params; k++) {
        const char *of = op->info.params[k]->name;
        plain(of, strlen(of), have, sizeof have);
        if (strcmp(have, wanted) == 0) return of;
    }
    return NULL;
}

const char *ip_hint_param(const ip_op *op, const char *name)
{
    for (int k = 0; k < N_PARAMS; k++) {
        if (strcmp(params[k].name, name) != 0) continue;
        const char *of = params[k].op;
        if (!of ? has_param(op, params[k].here) : strcmp(of, "*") == 0 || strcmp(of, op->info.name) == 0)
            return params[k].here;
    }
    return param_spelled(op, name);
}

/* The choice that is the word but for case, hyphens and the like. */
static const char *choice_spelled(const char *choices, const char *word, char *buf, size_t size)
{
    char wanted[64], have[64];
    plain(word, strlen(word), wanted, sizeof wanted);
    for (const char *at = choices; at && wanted[0];) {
        const size_t n = strcspn(at, "|");
        plain(at, n, have, sizeof have);
        if (strcmp(have, wanted) == 0 && n < size) {
            snprintf(buf, size, "%.*s", (int)n, at);
            return buf;
        }
        at = at[n] ? at + n + 1 : NULL;
    }
    return NULL;
}

static bool has_choice(const char *choices, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strcspn(at, "|") == n && memcmp(at, word, n) == 0) return true;
    return false;
}

const char *ip_hint_word(const ip_op *op, const imgpar_op_param *p, const char *word, char *buf, size_t size)
{
    const char *spelled = choice_spelled(p->choices, word, buf, size);
    for (int k = 0; k < N_WORDS && !spelled; k++) {
        if (strcmp(words[k].param, p->name) != 0 || strcmp(words[k].word, word) != 0) continue;
        if (words[k].op ? strcmp(words[k].op, op->info.name) == 0 : has_choice(p->choices, words[k].here))
            return words[k].here;
    }
    return spelled;
}

const char *ip_hint_several(const ip_op *op, const imgpar_op_param *p, char *buf, size_t size)
{
    snprintf(buf, size, "%.40ss", op->info.name);
    const ip_op *plural = ip_op_find(buf);
    bool takes_it = false;
    for (int k = 0; plural && k < plural->info.n_inputs; k++)
        takes_it |= strcmp(plural->info.input_names[k], p->name) == 0;
    if (!takes_it) return NULL;
    snprintf(buf, size, "%.40ss() takes several", op->info.name);
    return buf;
}

const char *ip_hint_missing(const ip_op *op, const char *name)
{
    for (int k = 0; k < N_MISSING; k++)
        if (strcmp(missing[k].op, op->info.name) == 0 && strcmp(missing[k].name, name) == 0) return missing[k].here;
    return NULL;
}
