/* SPDX-License-Identifier: MIT */
/*
 * The words that rows of ops.def are written in. A row is
 *
 *     OP("blur", "gaussian", "filter", FLAGS, VARIANT, ip_infer_blur, ip_stages_blur,
 *        IN("a"), PARAMS(NUM("sigma", "2", 0, 1000, "px", "standard deviation"), BORDER, CVAL),
 *        .summary = "...", .formula = "...", .tolerance = "...", .example = "...", IN_SQL, ...)
 *
 * OP itself is defined by whoever includes ops.def: as declarations of the two
 * functions, as table entries, or as public facts only (mkops.c).
 *
 * Defaults that are computed are written "auto": the parameter's number is NaN then.
 */
#ifndef IP_OPS_ROWS_H
#define IP_OPS_ROWS_H

#include "graph/op.h"

#include <math.h>

#define IN(...)                                                                       \
    .n_inputs = (int)(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)), \
    .input_names = (const char *const[])                                              \
    {                                                                                 \
        __VA_ARGS__                                                                   \
    }
#define PARAMS(...)                                                                                         \
    .n_params = (int)(sizeof((const imgpar_op_param *const[]){ __VA_ARGS__ }) / sizeof(imgpar_op_param *)), \
    .params = (const imgpar_op_param *const[])                                                              \
    {                                                                                                       \
        __VA_ARGS__                                                                                         \
    }

/* Parameters: name, default (NULL: required), range, unit, help. The plain forms are in the C prototype, those that
 * end in _X are not. */
#define PARAM(...) \
    &(const imgpar_op_param) { __VA_ARGS__ }
#define NUM(name, dflt, lo, hi, unit, help) PARAM(name, "number", dflt, NULL, lo, hi, unit, help, 1, 0)
#define NUM_X(name, dflt, lo, hi, unit, help) PARAM(name, "number", dflt, NULL, lo, hi, unit, help, 0, 0)
/* NaN, too */
#define NUM_OR_NAN(name, dflt, unit, help) PARAM(name, "number", dflt, "free", -INFINITY, INFINITY, unit, help, 1, 0)
#define NUM_OR_NAN_X(name, dflt, unit, help) PARAM(name, "number", dflt, "free", -INFINITY, INFINITY, unit, help, 0, 0)
#define LAZY(name, dflt, lo, hi, unit, help) \
    PARAM(name, "number", dflt, NULL, lo, hi, unit, help, 1, 1) /* or an array's one element */
#define LEVELS(name, dflt, help) \
    PARAM(name, "number", dflt, "vector", -INFINITY, INFINITY, "levels", help, 1, 1) /* or one for each channel */
#define FACTORS(name, dflt, help) PARAM(name, "number", dflt, "vector", -INFINITY, INFINITY, "", help, 1, 1)
#define COLOUR(name, dflt, help) \
    PARAM(name, "number", dflt, "vector", -INFINITY, INFINITY, "levels", help, 1, 0) /* one that is no array */
#define EACH_COLOUR(name, dflt, lo, hi, help) PARAM(name, "number", dflt, "vector", lo, hi, "", help, 1, 0)
#define NUM_WHOLE(name, dflt, lo, hi, unit, help) \
    PARAM(name, "number", dflt, "whole", lo, hi, unit, help, 1, 0) /* beyond int in C */
#define INT(name, dflt, lo, hi, unit, help) PARAM(name, "integer", dflt, NULL, lo, hi, unit, help, 1, 0)
#define CONNECTIVITY_3D                                                                                   \
    PARAM("connectivity", "integer", "8", "volume", 4, 26, "",                                            \
          "8: pixels that meet at a corner are neighbours, too; or 4. In a volume elements that share a " \
          "corner, 26 or 8, an edge at least, 18, or a face, 6 or 4",                                     \
          1, 0)
#define INT_X(name, dflt, lo, hi, unit, help) PARAM(name, "integer", dflt, NULL, lo, hi, unit, help, 0, 0)
#define ODD(name, dflt, lo, hi, unit, help) PARAM(name, "integer", dflt, "odd", lo, hi, unit, help, 1, 0)
#define BOOL(name, dflt, help) PARAM(name, "bool", dflt, NULL, -INFINITY, INFINITY, "", help, 1, 0)
#define BOOL_X(name, dflt, help) PARAM(name, "bool", dflt, NULL, -INFINITY, INFINITY, "", help, 0, 0)
#define TEXT(name, help) PARAM(name, "text", NULL, NULL, -INFINITY, INFINITY, "", help, 1, 0)
#define TEXT_X(name, dflt, help) PARAM(name, "text", dflt, NULL, -INFINITY, INFINITY, "", help, 0, 0)
#define CHOICE(name, dflt, words, help) PARAM(name, "choice", dflt, words, -INFINITY, INFINITY, "", help, 1, 0)
#define CHOICE_X(name, dflt, words, help) PARAM(name, "choice", dflt, words, -INFINITY, INFINITY, "", help, 0, 0)
#define VECTOR(name, rule, help) PARAM(name, "vector", NULL, rule, -INFINITY, INFINITY, "", help, 1, 0)
#define VECTOR_AUTO(name, help) \
    PARAM(name, "vector", "auto", NULL, -INFINITY, INFINITY, "", help, 1, 0) /* NULL in C: not given */
#define VECTOR_X(name, help) PARAM(name, "vector", "auto", NULL, -INFINITY, INFINITY, "", help, 0, 0)
/* Of axes: up to IMGPAR_MAX_RANK whole numbers. */
#define WHOLES(name, lo, hi, help) PARAM(name, "vector", NULL, "whole", lo, hi, "", help, 1, 0)
#define WHOLES_AUTO(name, lo, hi, help) PARAM(name, "vector", "auto", "whole", lo, hi, "", help, 1, 0)
#define WHOLES_X(name, lo, hi, help) PARAM(name, "vector", "auto", "whole", lo, hi, "", help, 0, 0)
#define EXTENT_MAX 2147483647
#define MATRIX(name, rule, help) PARAM(name, "matrix", NULL, rule, -INFINITY, INFINITY, "", help, 1, 0)
#define DTYPES "u8|i8|u16|i16|u32|i32|u64|i64|f16|f32|f64|bool" /* in the order of imgpar_dtype */
#define DTYPES_AND_COMPLEX DTYPES "|complex64|complex128"
#define BORDER                                                                                    \
    CHOICE("border", "replicate", "replicate|reflect|reflect101|wrap|constant|checked|unchecked", \
           "what is read beyond the edges; checked: an error, unchecked: nothing is, as you promise")
#define BEYOND_EDGES "the value beyond the edges with border=constant"
/* One number for all channels, a list or a colour: ops/beyond.c. */
#define CVAL_OF(help) PARAM("cval", "number", "0", "vector", -INFINITY, INFINITY, "levels", help, 0, 0)
#define CVAL CVAL_OF(BEYOND_EDGES)
/* Where axes are no picture's, and what around() reads: one number. */
#define CVAL_ONE NUM_X("cval", "0", -INFINITY, INFINITY, "levels", BEYOND_EDGES)
/* Structuring elements: ops/element.c. */
#define MATRIX_X(name, rule, help) PARAM(name, "matrix", "auto", rule, -INFINITY, INFINITY, "", help, 0, 0)
#define ELEMENT_SHAPE(CHOICE)                                                                                    \
    CHOICE("shape", "square", "square|disc|diamond|cross|line",                                                  \
           "which neighbours, of a square of that size; with r = size div 2 disc: dx^2 + dy^2 <= r^2, diamond: " \
           "|dx| + |dy| <= r, cross: dx or dy is 0")
#define ELEMENT_REST                                                                                                 \
    NUM_X("angle", "0", -1000000, 1000000, "degrees", "of a line: 0 is to the right, 90 downwards"),                 \
        MATRIX_X("element", "odd",                                                                                   \
                 "in place of size and shape: neighbours where it is not 0, the middle one being the pixel itself; " \
                 "both sides odd")
#define ELEMENT ELEMENT_SHAPE(CHOICE_X), ELEMENT_REST
/* How samples are weighed (ops/interpolation.h); words are only added at the end. */
#define SAMPLING "nearest|linear|cubic|mitchell|lanczos2|lanczos3"
#define RESIZING "auto|area|linear|nearest|cubic|mitchell|lanczos2|lanczos3"
#define FILTER CHOICE("filter", "linear", SAMPLING, "how a position between pixels is read, as at() does")
/* How errors are diffused, in the order of ops/reference_diffusion.c. */
#define DIFFUSIONS "floyd_steinberg|jarvis|stucki|atkinson|sierra"
#define SERPENTINE BOOL_X("serpentine", "false", "every second row goes from right to left, with the shares mirrored")
/* What happens to a picture's alpha (imgpar_op_info.alpha, ops/coverage.h); where a row says nothing it is a channel
 * like the others. */
#define ALPHA                                         \
    CHOICE_X("alpha", "coverage", "coverage|channel", \
             "coverage: colours are weighed by it; channel: as any other channel")
#define WEIGHS .alpha = "weighs: colours are weighed by it, alpha=channel: as any channel"
#define BLENDS                                                                                                     \
    .alpha = "blends: colours are weighed by that of both, alpha=channel: as any channel; beside a number or one " \
             "channel it stays, but a gray picture, or a channel of one, in front of one with alpha is opaque"
#define STAYS .alpha = "stays"
#define DROPPED .alpha = "dropped"
#define OWN_ALPHA .alpha = "as the summary says"
#define NO_PARAMS .n_params = 0, .params = NULL
#define NO_INPUTS .n_inputs = 0, .input_names = NULL

#define IN_SQL .in_sql = 1
#define RULE(text) .rule = text /* see imgpar_op_info; checked by ops/check.c */
#define BARE .sql_bare_name = 1
#define ONE_NUMBER .returns_number = 1
#define SAME_BYTES .same_bytes = 1
#define MANY_AXES .takes_many_axes = 1 /* of derived rows; of others it follows from their flags */
#define TAKES_MORE .takes_more = 1     /* than its two arrays; of one: more of them, as IP_KEYS */
/* The white of the result (imgpar_op_info.white, ops/white.h), where it is not that of the first array. */
#define WHITE_NONE .white = "none"
#define WHITE_ONE .white = "1"
#define WHITE_MASK .white = "mask"
#define WHITE_FIRST .white = "first"
#define WHITE_LARGER .white = "larger"
#define WHITE_MEET(inputs) .white = "meet " inputs
#define WHITE_OWN(text) .white = text /* set by infer */

#endif
