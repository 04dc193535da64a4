/* SPDX-License-Identifier: MIT */
/* src/ops and src/graph: the table itself, messages of calls, types and shapes, text dumps, deep graphs. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/str.h"
#include "graph/array.h"
#include "ops/build.h"
#include "asserts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static imgpar_context *ctx;

static void open_context(void) { ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK); }
static void close_context(void) { imgpar_context_release(ctx); }

/* A zeroed array from a shape such as "[4, 6, 3] u8". */
static imgpar_array *array_of(const char *text)
{
    static const char zeros[1 << 16];
    int64_t shape[IMGPAR_MAX_RANK];
    int rank = 0;
    imgpar_dtype dtype;
    const char *at = text + 1;
    while (rank < IMGPAR_MAX_RANK && at[-1] != ']') {
        char *end;
        shape[rank++] = strtoll(at, &end, 10);
        at = end + 1;
        if (*end == ',') at = end + 2;
    }
    ck_assert(ip_dtype_find(strrchr(text, ' ') + 1, &dtype));
    return imgpar_array_from_data(ctx, dtype, rank, shape, zeros);
}

/* Applies text to the arrays described by types, separated by ';'. */
static imgpar_array *apply(const char *text, const char *types)
{
    imgpar_array *args[4];
    size_t n = 0;
    char copy[256], *save = NULL;
    ck_assert(strlen(types) < sizeof copy);
    for (char *t = strtok_r(strcpy(copy, types), ";", &save); t; t = strtok_r(NULL, ";", &save))
        args[n++] = array_of(t);
    imgpar_array *a = imgpar_apply(ctx, text, args, n);
    while (n)
        imgpar_array_release(args[--n]);
    return a;
}

/* ---- the table ------------------------------------------------------------------------------ */

START_TEST(names_and_aliases_are_unique)
{
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        char words[256], *save = NULL;
        snprintf(words, sizeof words, "%s %s", op->name, op->aliases);
        for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
            ck_assert_msg(imgpar_op_find(w) == op, "%s of %s leads to another row", w, op->name);
    }
    ck_assert_ptr_null(imgpar_op_get(imgpar_op_count()));
    ck_assert_ptr_null(imgpar_op_find("nonesuch"));
    ck_assert_ptr_null(imgpar_op_find(""));
}
END_TEST

START_TEST(every_row_is_complete)
{
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        const char *const texts[] = { op->category, op->summary, op->formula, op->tolerance, op->example };
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            ck_assert_msg(texts[t] && texts[t][0], "%s lacks text %zu", op->name, t);
        ck_assert_msg(op->n_inputs == 0 || op->input_names, "%s has no names of inputs", op->name);
        ck_assert_msg(!op->sql_bare_name || op->in_sql, "%s is bare but not in SQL", op->name);
    }
}
END_TEST

START_TEST(defaults_lie_within_their_ranges)
{
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        bool optional = false;
        for (int p = 0; p < op->n_params; p++) {
            const imgpar_op_param *param = op->params[p];
            ck_assert_msg(strstr(" number integer bool text choice vector matrix ", param->type), "%s: type", op->name);
            ck_assert_msg(!optional || param->default_text, "%s: %s is required behind an optional one", op->name,
                          param->name);
            optional = optional || param->default_text;
            ck_assert_msg(param->type[0] != 'c' || param->choices, "%s: %s has no choices", op->name, param->name);
            if (!param->default_text || strcmp(param->default_text, "auto") == 0) continue;
            if (param->type[0] == 'c') {
                ck_assert_msg(strstr(param->choices, param->default_text), "%s: default of %s", op->name, param->name);
            } else if (param->type[0] == 'n' || param->type[0] == 'i') {
                double v = ip_parse_number(param->default_text, NULL);
                ck_assert_msg(v >= param->minimum && v <= param->maximum, "%s: default of %s", op->name, param->name);
            }
        }
    }
}
END_TEST

START_TEST(bare_names_are_no_words_of_sql)
{
    static const char words[] =
        " abort action add after all alter always analyze and as asc attach autoincrement before begin between by "
        "cascade case "
        "cast check collate column commit conflict constraint create cross current current_date current_time "
        "current_timestamp "
        "database default deferrable deferred delete desc detach distinct do drop each else end escape except exclude "
        "exclusive "
        "exists explain fail filter first following for foreign from full generated glob group groups having if ignore "
        "immediate "
        "in index indexed initially inner insert instead intersect into is isnull join key last left like limit match "
        "materialized natural no not nothing notnull null nulls of offset on or order others outer over partition plan "
        "pragma "
        "preceding primary query raise range recursive references regexp reindex release rename replace restrict "
        "returning right "
        "rollback row rows savepoint select set table temp temporary then ties to transaction trigger unbounded union "
        "unique "
        "update using vacuum values view virtual when where window with within without "
        "abs changes char coalesce concat concat_ws format hex ifnull iif instr length likelihood likely lower ltrim "
        "max min "
        "nullif octet_length printf quote random randomblob round rtrim sign soundex substr substring sum total trim "
        "typeof "
        "unhex unicode unistr unlikely upper zeroblob acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh "
        "degrees exp "
        "floor ln log log10 log2 mod pi pow power radians sin sinh sqrt tan tanh trunc avg count group_concat "
        "string_agg median "
        "percentile percentile_cont percentile_disc date time datetime julianday unixepoch strftime timediff json "
        "jsonb rank "
        "row_number dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value highlight bm25 "
        "snippet "
        "histogram pixels ";
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        char word[64];
        snprintf(word, sizeof word, " %s ", op->name);
        ck_assert_msg(!op->sql_bare_name || !strstr(words, word), "%s must not be bare", op->name);
    }
}
END_TEST

START_TEST(examples_can_be_built)
{
    imgpar_array *a = array_of("[4, 6, 3] u8");
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        if (strstr(op->example, "open(")) continue; /* of files that are not there */
        char text[256];
        snprintf(text, sizeof text, "a = $1\nb = invert($1)\n%s", op->example);
        imgpar_array *r = imgpar_apply(ctx, text, &a, 1);
        ck_assert_msg(imgpar_array_status(r) == IMGPAR_OK, "%s: %s", op->name, imgpar_array_message(r));
        imgpar_array_release(r);
    }
    imgpar_array_release(a);
}
END_TEST

START_TEST(only_numbers_and_whole_vectors_have_limits)
{
    for (size_t k = 0; k < imgpar_op_count(); k++)
        for (int i = 0; i < imgpar_op_get(k)->n_params; i++) {
            const imgpar_op_param *p = imgpar_op_get(k)->params[i];
            bool is_whole = p->choices && strcmp(p->choices, "whole") == 0;
            bool is_number = strcmp(p->type, "number") == 0 || strcmp(p->type, "integer") == 0 || is_whole;
            ck_assert_msg(is_number || (isinf(p->minimum) && isinf(p->maximum)), "%s: %s", imgpar_op_get(k)->name,
                          p->name);
            ck_assert_msg(strcmp(p->type, "choice") != 0 || strchr(p->choices, '|'), "%s: %s", imgpar_op_get(k)->name,
                          p->name);
        }
}
END_TEST

START_TEST(near_names_are_found)
{
    static const struct {
        const char *wrong, *near;
    } cases[] = {
        { "blurr", "blur" },  { "bulr", "blur" },     { "grey_", "gray" },
        { "xyzzyplugh", "" }, { "Invert", "invert" }, { "treshold", "threshold" },
    };
    char buf[128];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ip_op_near(cases[k].wrong, buf, sizeof buf);
        ck_assert_msg(strncmp(buf, cases[k].near, strlen(cases[k].near)) == 0 && !buf[0] == !cases[k].near[0], "%s: %s",
                      cases[k].wrong, buf);
    }
}
END_TEST

START_TEST(operators_are_found_by_symbol)
{
    ck_assert_str_eq(ip_op_find_symbol("-", 1)->info.name, "negative");
    ck_assert_str_eq(ip_op_find_symbol("-", 2)->info.name, "minus");
    ck_assert_str_eq(ip_op_find_symbol("?:", 3)->info.name, "select");
    ck_assert_str_eq(ip_op_find_symbol("**", 2)->info.name, "pow");
    ck_assert_ptr_null(ip_op_find_symbol("-", 3));
    ck_assert_ptr_null(imgpar_op_find("minus"));
}
END_TEST

/* ---- messages --------------------------------------------------------------------------------- */

static const struct {
    const char *op, *options, *message;
} bad_calls[] = {
    { "blur", "sigma=-1", "blur: sigma=-1 is below 0" },
    { "blur", "sigma=1e9", "blur: sigma=1000000000 is above 1000" },
    { "blur", "sigma=soft", "blur: sigma=\"soft\" is not a number" },
    { "blur", "sigma=nan", "blur: sigma=nan is not a number" },
    { "blur", "sigma=[1 2]", "blur: sigma must be a number, not a list of numbers" },
    { "blur", "sgima=1", "blur: unknown parameter sgima; it has a, sigma, border, truncate, cval, alpha" },
    { "blur", "ksize=3", "blur: unknown parameter ksize; it has a, sigma, border, truncate, cval, alpha" },
    { "blur", "sigmaX=3",
      "blur: unknown parameter sigmaX; it has a, sigma, border, truncate, cval, alpha; that is sigma" },
    { "blur", "Sigma=2",
      "blur: unknown parameter Sigma; it has a, sigma, border, truncate, cval, alpha; that is sigma" },
    { "text", "colour=9",
      "text: unknown parameter colour; it has a, words, x, y, size, color, anchor, weight, align, spacing, angle, "
      "opacity, halo, halo_color, margin; that is color" },
    { "unique", "return_counts=true", "unique: unknown parameter return_counts; it has a; that is unique_counts(a)" },
    { "median", "footprint=9",
      "median: unknown parameter footprint; it has a, size, border, cval, shape, angle, element; that is element" },
    { "median", "shape=star", "median: shape=star is not one of square, disc, diamond, cross, line" },
    { "hough_circles", "minRadius=3",
      "hough_circles: unknown parameter minRadius; it has a, least, largest, most, threshold, apart, low, high; that "
      "is "
      "least" },
    { "blur", "sigmaY=3",
      "blur: unknown parameter sigmaY; it has a, sigma, border, truncate, cval, alpha; that is sigma, of both axes; "
      "convsep(a, column, row) has weights for each" },
    { "canny", "threshold1=3", "canny: unknown parameter threshold1; it has a, low, high, sigma; that is low" },
    { "remove_small", "min_size=3",
      "remove_small: unknown parameter min_size; it has a, area, connectivity; that is area" },
    { "mean", "keepdim=true", "mean: unknown parameter keepdim; it has a, axis, keepdims; that is keepdims" },
    { "mean", "dtype=f32",
      "mean: unknown parameter dtype; it has a, axis, keepdims; that is cast(a, dtype), before or after" },
    { "cast", "dtype=uint8",
      "cast: dtype=uint8 is not one of u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64, bool, complex64, "
      "complex128; that is u8" },
    { "depth", "to=u8", "depth: to=u8 is not one of 8, 16, float; that is 8" },
    { "median", "border=disc",
      "median: border=disc is not one of replicate, reflect, reflect101, wrap, constant, checked, unchecked; that is "
      "shape=disc" },
    { "blur", "sigma=1, sigma=2", "blur: sigma is given twice" },
    { "blur", "border=mirror",
      "blur: border=mirror may mean reflect (ba|abcd|dc) or reflect101 (cb|abcd|cb); write one of these" },
    { "blur", "border=foo",
      "blur: border=foo is not one of replicate, reflect, reflect101, wrap, constant, checked, unchecked" },
    { "blur", "border=zero, cval=3", "blur: border=zero takes no cval; write border=constant" },
    { "blur", "sigma", "blur: NAME=VALUE is expected in the options at \"sigma\"" },
    { "blur", "sigma=", "blur: a value is missing in the options at \"\"" },
    { "blur", "border=\"wrap", "blur: an open quote in the options at \"\"" },
    { "boxblur", "size=4", "boxblur: size=4 is even; it must be odd" },
    { "boxblur", "size=2.5", "boxblur: size=2.5 is not a whole number" },
    { "median", "size=257", "median: size=257 is above 255" },
    { "threshold", NULL, "threshold: t is missing" },
    { "clamp", "lo=9, hi=3", "clamp: lo=9 is above hi=3" },
    { "convolve", NULL, "convolve: matrix is missing" },
    { "convolve", "matrix=[1 2; 3 4]", "convolve: matrix is 2x2; both sides must be odd" },
    { "convolve", "matrix=[1 2; 3]", "convolve: rows of different lengths in the options at \"]\"" },
    { "convolve", "matrix=[]", "convolve: matrix has no elements" },
    { "convolve", "matrix=[1 2; 3 4] / 4", "convolve: matrix is 2x2; both sides must be odd" },
    { "convolve", "matrix=[1 2 1] / x",
      "convolve: matrix=[1 2 1] / x: a constant is expected: a number, \"text\", true, false, a vector or arithmetic "
      "of "
      "these" },
    { "convolve", "matrix=[1 / 4, (1 + 1) / 4; pi, 4]", "convolve: matrix is 2x2; both sides must be odd" },
    { "convolve", "matrix=[1 / 4 2]",
      "convolve: matrix=[1 / 4 2]: elements separated by spaces are signed numbers, as in [1 -2]; expressions need "
      "commas, as in [1 - 2, 3]" },
    { "blur", "sigma=1 - 2, border=wrap", "blur: sigma=-1 is below 0" },
    { "convolve", "matrix=[3-1, 0]", "convolve: matrix is 1x2; both sides must be odd" },
    { "convolve", "matrix=[3 - 1, 0]", "convolve: matrix is 1x2; both sides must be odd" },
    { "convolve", "matrix=[3-1 0]",
      "convolve: matrix=[3-1 0]: elements separated by spaces are signed numbers, as in [1 -2]; expressions need "
      "commas, as in [1 - 2, 3]" },
    { "convolve", "matrix=[1e-1 -1]", "convolve: matrix is 1x2; both sides must be odd" },
    { "convolve", "matrix=[1 nan 1]", "convolve: matrix has an element that is not finite" },
    { "convolve", "matrix=[1], scale=0", "convolve: scale must not be 0" },
    { "convsep", "column=[1 2], row=[1]", "convsep: column has 2 elements; their number must be odd" },
    { "convsep", "column=[1 2 1; 1 2 1; 1 2 1], row=[1]",
      "convsep: column is a matrix of 3 rows and 3 columns; it must be a vector" },
    { "cast", "dtype=u9",
      "cast: dtype=u9 is not one of u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64, bool, complex64, "
      "complex128" },
    { "blend", NULL, "blend: b is missing" },
    { "blend", "b=3, ratio=2", "blend: ratio=2 is above 1" },
    { "circle", NULL, "circle: radius is missing" },
    { "crop", "x=3, y=0, width=4, height=1", "crop: x=3 and width=4 reach beyond the width 6" },
    { "crop", "x=0, y=4, width=1, height=1", "crop: y=4 and height=1 reach beyond the height 4" },
    { "resize", NULL, "resize: width or height or scale is needed" },
    { "linear", "a=[1 2]", "linear: a has 2 numbers for 3 channels" },
    { "histogram", "lo=3, hi=3", "histogram: lo=3 is not below hi=3" },
    { "histogram", "hi=0", "histogram: lo=0 by default is not below hi=0" },
    { "histogram", "lo=300", "histogram: lo=300 is not below hi=255 by default" },
    { "histogram", "hi=inf", "histogram: lo=0 and hi=inf are too far apart, or too near, for bins of f32" },
    { "histogram", "lo=-3e38, hi=3e38",
      "histogram: lo=-3e+38 and hi=3e+38 are too far apart, or too near, for bins of f32" },
    { "resize", "width=0, height=0", "resize: width or height or scale is needed" },
    { "blur", "border=zero, cval=3", "blur: border=zero takes no cval; write border=constant" },
    { "convsep", "column=[1], row=[1], scale=0", "convsep: scale must not be 0" },
    { "blurr", NULL, "unknown operation blurr (near: blur)" },
    { "number", NULL, "unknown operation number (near: numbers)" },
};

START_TEST(lists_of_choices_fit_into_messages)
{
    for (size_t i = 0; i < imgpar_op_count(); i++) {
        const imgpar_op_info *info = imgpar_op_get(i);
        for (int k = 0; k < info->n_params; k++) /* "|" becomes ", " in the 512 bytes of check_choice() */
            ck_assert(strcmp(info->params[k]->type, "choice") != 0 || strlen(info->params[k]->choices) < 400);
    }
}
END_TEST

START_TEST(bad_calls_say_what_is_wrong)
{
    imgpar_array *a = array_of("[4, 6, 3] u8");
    imgpar_array *r = imgpar_op(ctx, bad_calls[_i].op, &a, 1, bad_calls[_i].options);
    ck_assert_int_ne(imgpar_array_status(r), IMGPAR_OK);
    ck_assert_str_eq(imgpar_array_message(r), bad_calls[_i].message);
    imgpar_array_release(r);
    imgpar_array_release(a);
}
END_TEST

START_TEST(border_aliases_are_understood)
{
    static const struct {
        const char *word;
        int border;
    } cases[] = {
        { "nearest", IMGPAR_BORDER_REPLICATE }, { "clamp", IMGPAR_BORDER_REPLICATE },
        { "edge", IMGPAR_BORDER_REPLICATE },    { "symmetric", IMGPAR_BORDER_REFLECT },
        { "circular", IMGPAR_BORDER_WRAP },     { "periodic", IMGPAR_BORDER_WRAP },
        { "zero", IMGPAR_BORDER_CONSTANT },     { "reflect101", IMGPAR_BORDER_REFLECT101 },
    };
    imgpar_array *a = array_of("[4, 6] u8");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char options[64];
        snprintf(options, sizeof options, "border=%s", cases[k].word);
        imgpar_array *r = imgpar_op(ctx, "boxblur", &a, 1, options);
        ck_assert_int_eq((int)ip_param_number(r, "border"), cases[k].border);
        imgpar_array_release(r);
    }
    imgpar_array_release(a);
}
END_TEST

START_TEST(errors_pass_through_chains)
{
    imgpar_array *bad = imgpar_op(ctx, "nonesuch", NULL, 0, NULL);
    imgpar_array *a = array_of("[4, 6] u8");
    imgpar_array *sum = imgpar_add(a, bad);
    imgpar_array *soft = imgpar_blur(sum, 2, IMGPAR_BORDER_WRAP);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_str_eq(imgpar_array_message(soft), imgpar_array_message(bad));
    ck_assert_int_eq(imgpar_array_info(soft, &info), IMGPAR_E_ARGUMENT);
    imgpar_array *null = imgpar_invert(NULL);
    ck_assert_str_eq(imgpar_array_message(null), "invert: an array is NULL");
    imgpar_array *no_context = imgpar_op(NULL, "fill", NULL, 0, "width=2, height=2, value=0");
    ck_assert_str_eq(imgpar_array_message(no_context), "fill: the context is NULL");
    imgpar_array *const all[] = { bad, a, sum, soft, null, no_context };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        imgpar_array_release(all[k]);
}
END_TEST

/* ---- types and shapes ----------------------------------------------------------------------------- */

static const struct {
    const char *text, *inputs, *result;
} types[] = {
    /* named operations keep the first dtype */
    { "add($1, $2)", "[4, 6] u8;[4, 6] f32", "[4, 6] u8" },
    { "add($1, 5)", "[4, 6, 3] i16", "[4, 6, 3] i16" },
    { "blend($1, $2)", "[4, 6] u8;[4, 6, 3] u8", "[4, 6, 3] u8" },
    { "overlay($1, $2, $3)", "[4, 6, 3] u16;[4, 6, 3] u16;[4, 6] u8", "[4, 6, 3] u16" },
    { "blend($1, $2)", "[4, 6, 3] u8;[5, 6, 3] u8",
      "blend: a is 6x4, b is 6x5; resize() or crop() one to the size of the other" },
    /* rows written in the language tell their own names and order */
    { "blend_mode($1, $2)", "[4, 6, 3] u8;[5, 6, 3] u8",
      "blend_mode: base is 6x4, top is 6x5; resize() or crop() one to the size of the other" },
    { "guided($1, $2)", "[4, 6, 3] u8;[5, 6, 3] u8",
      "guided: a is 6x4, guide is 6x5; resize() or crop() one to the size of the other" },
    { "hypot($1, $2)", "[4, 6] f32;[5, 6] f32",
      "hypot: a is [4, 6], b is [5, 6]; extents must be equal or 1, counted from the last axis" },
    { "blend($1, $2)", "[4, 6, 3] u8;[4, 6, 4] u8",
      "blend: a has 3 channels, b has 4; slice(b, 0, 3, axis=2) is without alpha, and composite() lays a picture over "
      "another by its alpha" },
    { "$1 - $2", "[4, 6, 4] u8;[4, 6, 3] u8", "-: a has 4 channels, b has 3; slice(a, 0, 3, axis=2) is without alpha" },
    { "blend($1, $2)", "[4, 6, 2] u8;[4, 6, 4] u8", "blend: a has 2 channels, b has 4" },
    { "blend($1, $2)", "[2, 4, 6, 1] u8;[4, 6] u8", "blend: a is 6x4x2, b is 6x4" },
    { "$1 + $2", "[4, 6] u8;[3, 6] u8", "+: a is 6x4, b is 6x3" },
    { "$1 + $2", "[4, 6] f32;[6, 4] f32",
      "+: a is [4, 6], b is [6, 4]; extents must be equal or 1, counted from the last axis" },
    { "$1 + $2", "[4, 6] f32;[6] f32", "[4, 6] f32" },
    { "$1 * $2", "[4, 1] i32;[1, 6] i32", "[4, 6] i32" },
    { "$1 + $2", "[4, 6] f32;[4] f32", "+: a is [4, 6], b is [4]; extents must be equal or 1" },
    /* operators promote */
    { "$1 + $2", "[4, 6] u8;[4, 6] u8", "[4, 6] i32" },
    { "$1 + 1", "[4] u8", "[4] i32" },
    { "$1 + 1.5", "[4] u8", "[4] f32" },
    { "$1 + 1.0", "[4] i64", "[4] f64" },
    { "$1 + 1.5", "[4] f16", "[4] f16" },
    { "$1 * 3000000000", "[4] i32", "[4] i32" },
    { "$1 + $2", "[4] u8;[4] u32", "[4] u32" },
    { "$1 + $2", "[4] i16;[4] u32", "[4] i64" },
    { "$1 + $2", "[4] i32;[4] u32", "[4] i64" },
    { "$1 + $2", "[4] u64;[4] u8", "[4] u64" },
    { "$1 + $2", "[4] u64;[4] i8", "[4] i64" },
    { "$1 + $2", "[4] f16;[4] u8", "[4] f32" },
    { "$1 + $2", "[4] f32;[4] f64", "[4] f64" },
    { "$1 / 2", "[4] u8", "[4] f32" },
    { "$1 / $2", "[4] i64;[4] f64", "[4] f64" },
    { "$1 div 2", "[4] u8", "[4] i32" },
    { "$1 > 2", "[4] f32", "[4] bool" },
    { "!$1", "[4] f32", "[4] bool" },
    { "$1 & $2", "[4] bool;[4] bool", "[4] bool" },
    { "$1 & 1", "[4] bool", "[4] i32" },
    { "~$1", "[4] bool", "[4] bool" },
    { "$1 & 1", "[4] f32", "&: a is f32; it must be an integer" },
    { "$1 << $2", "[4] u8;[4] u64", "[4] i32" },
    { "-$1", "[4] u32", "[4] i64" },
    { "sqrt($1)", "[4] u16", "[4] f32" },
    { "sqrt($1)", "[4] f16", "[4] f16" },
    { "$1 ** 2", "[4] u8", "[4] i32" },
    { "$1 ** 0.5", "[4] u8", "[4] f32" },
    { "round($1)", "[4] u8", "[4] i32" },
    { "$1 ? $2 : 0", "[4] bool;[4] u8", "[4] u8" },
    { "$1 ? $2 : 300", "[4] bool;[4] u8", "[4] i32" },
    { "$1 ? $2 : 0.5", "[4] bool;[4] u8", "[4] f32" },
    { "select($1, $2, $3)", "[4] bool;[4] u8;[4] i8", "[4] i32" },
    /* shapes */
    { "crop($1, 1, 1, 2, 3)", "[4, 6, 3] u8", "[3, 2, 3] u8" },
    { "crop($1, 0, 0, 3, 2)", "[7, 4, 6] u8", "[7, 2, 3, 1] u8" },
    { "resize($1, width=3)", "[4, 6, 3] u8", "[2, 3, 3] u8" },
    { "resize($1, height=8)", "[4, 6] f32", "[8, 12] f32" },
    { "resize($1, width=2)", "[4, 6] u64", "resize: u64 is not offered; cast it to f64 or i32 first" },
    { "transpose($1)", "[4, 6, 3] u8", "[6, 4, 3] u8" },
    { "transpose($1)", "[6] u8", "[6, 1] u8" },
    { "gray($1)", "[4, 6, 3] u8", "[4, 6, 1] u8" },
    { "gray($1)", "[4, 6, 4] u8", "[4, 6, 2] u8" },
    { "gray($1)", "[4, 6] u8", "[4, 6] u8" },
    { "circle($1, 2)", "[4, 6, 3] f32", "[4, 6, 1] u8" },
    { "cast($1, f16)", "[4, 6] u8", "[4, 6] f16" },
    { "at($1, y, x)", "[4, 6, 3] u8", "[4, 6, 3] u8" },
    { "at($1, $2, $2)", "[4, 6, 3] u8;[2, 2] f32", "[2, 2, 3] u8" },
    { "$1[1, 0, 0, 0]", "[4, 6, 3] u8", "4 offsets, but the array has 3 axes" },
    { "sobel($1, x)", "[4, 6] u8", "[4, 6] i16" },
    { "sobel($1, y)", "[4, 6] u16", "[4, 6] i32" },
    { "sobel($1)", "[4, 6] u8", "[4, 6] u8" },
    { "boxblur($1)", "[4, 6] i64", "boxblur: i64 is not offered; cast it to f64 or i32 first" },
    { "median($1)", "[4, 6] i64", "[4, 6] i64" },
    /* measures */
    { "sum($1)", "[4, 6] u8", "[1] u64" },
    { "sum($1)", "[4, 6] i32", "[1] i64" },
    { "sum($1)", "[4, 6] f16", "[1] f32" },
    { "mean($1)", "[4, 6] u8", "[1] f32" },
    { "mean($1)", "[4, 6] i64", "[1] f64" },
    { "minval($1)", "[4, 6] i16", "[1] i16" },
    { "histogram($1)", "[4, 6, 3] u8", "[3, 256] u32" },
    { "threshold($1, mean($1))", "[4, 6] u8", "[4, 6] u8" },
    { "threshold($1, $1)", "[4, 6] u8", "threshold: t is an array of shape [4, 6]; it must have one element" },
    { "blur($1, mean($1))", "[4, 6] u8", "blur: sigma must be a number, not an array" },
    { "matmul($1, $1, $1)", "[4, 6] u8", "matmul: too many arguments" },
    { "concatenate($1, $1, $1)", "[4, 6] u8", "[12, 6] u8" },
    { "concatenate($1, $1, $1, 1)", "[4, 6] u8", "[4, 18] u8" },
    { "concatenate($1, $1, $1, $1, axis=-1)", "[4, 6] u8", "[4, 24] u8" },
    { "concatenate($1, cast($1, f32), $1)", "[4, 6] u8", "[12, 6] f32" },
    { "concatenate(($1, $1, $1), axis=1)", "[4, 6] u8", "[4, 18] u8" },
    { "concatenate($1, $1, slice($1, 1, axis=1))", "[4, 6] u8",
      "concatenate: a is [8, 6], b is [4, 5]; they may differ along axis 0 only" },
    { "concatenate($1, $1, $1, along=1)", "[4, 6] u8", "concatenate: unknown parameter along; it has a, b, axis" },
    { "concatenate($1, 2, $1)", "[4, 6] u8", "concatenate: b must be an array, not a number" },
    { "maximum($1, 7, 300)", "[4, 6] u8", "[4, 6] u8" },
    { "max($1, 7, 300)", "[4, 6] u8", "[4, 6] i32" },
    { "fill(3, 2, [1 2 3], channels=3)", "", "[2, 3, 3] u8" },
    { "fill(3, 2, [1 2], channels=3)", "", "fill: value has 2 numbers for 3 channels" },
    { "fill(3, 2, \"mauvre\")", "", "fill: value=\"mauvre\" is neither a number nor a colour by its name or #rrggbb" },
    { "linear($1, \"red\")", "[4, 6, 3] u8", "linear: a=\"red\" is not a number" },
    { "histogram($1, bins=4, lo=0.1, hi=0.1000000001)", "[4, 6] f32", "are too far apart, or too near" },
    { "pad($1, [1 1], cval=\"mauvre\")", "[4, 6, 3] u8", "pad: cval=\"mauvre\" is neither a number nor a colour" },
    { "pad($1, [1 1], cval=\"red\")", "[4, 6, 3] u8", "[6, 8, 3] u8" },
    { "pad($1, [1 1], cval=\"red\")", "[4, 6] u8", "pad: cval is a colour, and a is gray, which takes grays; duotone" },
    { "pad($1, [1 1], cval=\"red\")", "[4, 6, 2] u8", "pad: cval is a colour, and a is gray" },
    { "pad($1, [1 1], cval=\"#ff000080\")", "[4, 6, 3] u8", "cval=#ff000080 has alpha, and a has none; opaque(a) has" },
    { "pad($1, [1 1], cval=\"#ff000080\")", "[4, 6, 4] u8", "[6, 8, 4] u8" },
    { "pad($1, [1 1], cval=[1 2])", "[4, 6, 3] u8",
      "pad: cval has 2 numbers; it must be one, or 3: one for each channel" },
    { "pad($1, [1 1], cval=[1 2])", "[4, 6, 4] u8",
      "pad: cval has 2 numbers; it must be one, or 3, an opaque colour, or 4 with its alpha" },
    { "pad($1, [1 1], cval=[1 2 3])", "[4, 6, 2] u8", "pad: cval has 3 numbers; it must be one, or 2 with alpha" },
    { "pad($1, [1 1], cval=[1 2 3])", "[4, 6] u8", "pad: cval has 3 numbers; it must be one" },
    { "pad(reshape($1, [4 6 4]), [1 1], cval=\"red\")", "[4, 24] u8",
      "pad: cval is a colour, and a has 4 channels, which are not RGB with alpha; cval must be one number, or a list "
      "of "
      "4, one for each channel" },
    { "pad($1, [1 1], cval=[1 2 3 4 5 6 7])", "[4, 6, 7] u8", "pad: cval has 7 numbers; it must be one" },
    { "pad($1, [1 1 1], cval=[1 2 3])", "[4, 6, 3] u8", "pad: cval is a colour, and channels are added" },
    { "pad(complex($1, $1), [1 1], cval=[1 2 3])", "[4, 6, 3] u8", "pad: cval of complex numbers is one number" },
    { "neighbours($1, [0 0 1], border=constant, cval=[1 2 3])", "[4, 6, 3] u8",
      "neighbours: cval is a colour, and offsets lead to other channels" },
    { "blur($1, 2, border=zero, cval=[1 2 3])", "[4, 6, 3] u8", "blur: border=zero takes no cval" },
    { "rotate($1, 9, cval=[1 2])", "[4, 6, 3] u8", "rotate: cval has 2 numbers; it must be one, or 3" },
    { "take($1, $1, border=constant, cval=\"red\")", "[4, 6] u8",
      "take: cval is one number for all channels: of colours only grays" },
    { "take($1, $1, border=constant, cval=[1 2 3])", "[4, 6] u8", "take: cval must be a number, not a list" },
    { "bilateral($1, border=constant, cval=\"red\")", "[4, 6, 3] u8",
      "bilateral: cval is one number for all channels: of colours only grays" },
    { "pad($1, [1 1], cval=\"gray\")", "[4, 6] u8", "[6, 8] u8" },
    { "frame($1, 1, \"orange\")", "[4, 6] u8",
      "frame: color is a colour, and a is gray, which takes grays; duotone(a, \"black\", \"white\") is the same in "
      "RGB" },
    { "frame($1, 1, \"orange\")", "[4, 6, 2] u8", "frame: color is a colour, and a is gray" },
    { "frame(duotone($1, \"black\", \"white\"), 1, \"orange\")", "[4, 6] u8", "[6, 8, 3] u8" },
    { "fill(3, 2, \"orange\")", "", "fill: value is a colour, and there is gray alone; channels=3 makes RGB" },
    { "pad(opaque($1), [1 1], cval=\"black\")", "[4, 6, 3] u8", "[6, 8, 4] u8" },
    { "blur($1, 2, border=zero, cval=\"white\")", "[4, 6] u8", "blur: border=zero takes no cval" },
    { "make(3, 2, x + y)", "", "[2, 3] i32" },
};

START_TEST(types_follow_the_rules)
{
    imgpar_array *a = apply(types[_i].text, types[_i].inputs);
    char type[96];
    const char *message = imgpar_array_message(a);
    if (imgpar_array_status(a))
        ck_assert_msg(strstr(message, types[_i].result), "%s: %s", types[_i].text, message);
    else
        ck_assert_msg(strcmp(ip_type_text(&a->type, type), types[_i].result) == 0, "%s: %s", types[_i].text, type);
    imgpar_array_release(a);
}
END_TEST

START_TEST(dims_and_axes_belong_together)
{
    static const struct {
        int rank;
        int64_t shape[4], dims[4];
    } cases[] = {
        { 1, { 7 }, { 1, 1, 7, 1 } },          { 2, { 5, 7 }, { 1, 5, 7, 1 } },
        { 3, { 5, 7, 3 }, { 1, 5, 7, 3 } },    { 3, { 9, 5, 7 }, { 9, 5, 7, 1 } },
        { 4, { 9, 5, 7, 2 }, { 9, 5, 7, 2 } }, { 4, { 9, 5, 7, 8 }, { 9, 5, 7, 8 } },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ip_type type = { .dtype = IMGPAR_U8, .rank = cases[k].rank };
        int64_t dims[4];
        memcpy(type.shape, cases[k].shape, sizeof type.shape);
        ip_type_dims(&type, dims);
        ck_assert_mem_eq(dims, cases[k].dims, sizeof dims);
        for (int axis = 0; axis < type.rank; axis++)
            ck_assert_int_eq(dims[ip_type_axis_dim(&type, axis)], type.shape[axis]);
    }
}
END_TEST

/* ---- graphs ------------------------------------------------------------------------------------------ */

static const struct {
    const char *text, *dump;
} dumps[] = {
    { "$1", "$1\n" },
    { "blur($1, sigma=2)", "n1 = blur($1)\nn1\n" },
    { "blur($1, sigma=2.5, border=wrap)", "n1 = blur($1, sigma=2.5, border=wrap)\nn1\n" },
    { "-$1 * 2 + 0.5", "n1 = -$1\nn2 = n1 * 2\nn3 = n2 + 0.5\nn3\n" },
    { "$1 ** -2.0", "n1 = $1 ** (-2.0)\nn1\n" },
    { "convolve($1, [1 2 1; 2 4 2; 1 2 1], scale=16)",
      "n1 = convolve($1, matrix=[1 2 1; 2 4 2; 1 2 1], scale=16)\nn1\n" },
    { "$1 > 3 ? $1 : 0", "n1 = $1 > 3\nn2 = n1 ? $1 : 0\nn2\n" },
    { "$1[-1, 0]", "n1 = $1[-1, 0]\nn1\n" },
    { "stencil($1[0, 1], border=constant, cval=3)", "n1 = stencil($1[0, 1], border=constant, cval=3)\nn1\n" },
    { "threshold($1, mean($1))", "n1 = mean($1)\nn2 = threshold($1, t=n1)\nn2\n" },
    { "add($1, x)", "n1 = make(6, 4, x)\nn2 = add($1, n1)\nn2\n" },
    { "reduce(cast($1, i64), 0, (p, q) -> p + q)",
      "n2 = cast($1, dtype=i64)\nn3 = reduce(n2, 0, (p1_0, p1_1) -> (p1_0 + p1_1))\nn3\n" },
    { "iterate($1, 500, boxblur(_, size=3))", "n1_0 = iterate($1, 500, p1_0 -> (boxblur(p1_0)))\nn1_0\n" },
};

START_TEST(dumps_read_back)
{
    imgpar_array *a = array_of("[4, 6] u8");
    imgpar_array *first = imgpar_apply(ctx, dumps[_i].text, &a, 1);
    ck_assert_msg(!imgpar_array_status(first), "%s", imgpar_array_message(first));
    char *text = ip_graph_unparse(&first, 1);
    ck_assert_str_eq(text, dumps[_i].dump);
    imgpar_array *second = imgpar_apply(ctx, text, &a, 1);
    ck_assert_msg(!imgpar_array_status(second), "%s", imgpar_array_message(second));
    char *again = ip_graph_unparse(&second, 1);
    ck_assert_str_eq(again, text);
    imgpar_free(text);
    imgpar_free(again);
    imgpar_array_release(first);
    imgpar_array_release(second);
    imgpar_array_release(a);
}
END_TEST

START_TEST(equal_nodes_are_the_same)
{
    imgpar_array *a = array_of("[4, 6] u8"), *b = array_of("[4, 6] u8");
    imgpar_array *x = imgpar_blur(a, 2, IMGPAR_BORDER_WRAP), *y = imgpar_blur(a, 2, IMGPAR_BORDER_WRAP);
    imgpar_array *z = imgpar_blur(a, 3, IMGPAR_BORDER_WRAP);
    ck_assert(ip_array_same(x, y) && x->hash == y->hash);
    ck_assert(!ip_array_same(x, z));
    ck_assert(!ip_array_same(a, b)); /* other memory */
    imgpar_array *const all[] = { a, b, x, y, z };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        imgpar_array_release(all[k]);
}
END_TEST

START_TEST(deep_graphs_are_freed_without_recursion)
{
    imgpar_array *a = array_of("[1] u8");
    for (int k = 0; k < 100000; k++)
        imgpar_array_replace(&a, imgpar_invert(a));
    char *text = ip_graph_unparse(&a, 1);
    ck_assert_ptr_nonnull(strstr(text, "\nn100000\n"));
    imgpar_free(text);
    imgpar_array_release(a);
}
END_TEST

static int n_released;
static void count_release(void *user, void *data)
{
    ck_assert_ptr_eq(user, &n_released);
    ck_assert_ptr_nonnull(data);
    n_released++;
}

START_TEST(wrapped_memory_is_given_back_once)
{
    char pixels[6] = { 0 };
    int64_t shape[] = { 2, 3 }, bad[] = { -1, 3 };
    n_released = 0;
    imgpar_array *a = imgpar_array_wrap(ctx, IMGPAR_U8, 2, shape, pixels, count_release, &n_released);
    imgpar_array *b = imgpar_invert(a);
    imgpar_array_release(a);
    ck_assert_int_eq(n_released, 0);
    imgpar_array_release(b);
    ck_assert_int_eq(n_released, 1);
    a = imgpar_array_wrap(ctx, IMGPAR_U8, 2, bad, pixels, count_release, &n_released);
    ck_assert_str_eq(imgpar_array_message(a), "data: shape[0]=-1 is not 0 to 2147483647");
    ck_assert_int_eq(n_released, 2);
    imgpar_array_release(a);
}
END_TEST

/* Every allocation of building a graph fails once: no crash, an error array each time, and no leak. */
START_TEST(building_survives_every_failed_allocation)
{
    imgpar_array *a = array_of("[4, 6] u8");
    unsigned long n = 0;
    for (bool failed = true; failed && n < 500;) {
        ip_fault_set(IP_FAULT_ALLOC, ++n);
        imgpar_array *b = imgpar_op(ctx, "convolve", &a, 1, "matrix=[1 2 1; 2 4 2; 1 2 1], scale=16, border=wrap");
        imgpar_array *c = imgpar_op(ctx, "add", &b, 1, "b=3");
        char *text = ip_graph_unparse(&c, 1);
        failed = ip_fault_seen(IP_FAULT_ALLOC) >= n;
        ip_fault_set(IP_FAULT_ALLOC, 0);
        ck_assert(imgpar_array_status(c) == IMGPAR_OK || imgpar_array_status(c) == IMGPAR_E_HOST_MEMORY);
        ck_assert(failed || (imgpar_array_status(c) == IMGPAR_OK && text));
        imgpar_free(text);
        imgpar_array_release(c);
        imgpar_array_release(b);
    }
    ck_assert(n > 10 && n < 500);
    imgpar_array_release(a);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("ops");
    TCase *table = tcase_create("table"), *calls = tcase_create("calls"), *graph = tcase_create("graph");
    tcase_add_checked_fixture(table, open_context, close_context);
    tcase_add_checked_fixture(calls, open_context, close_context);
    tcase_add_checked_fixture(graph, open_context, close_context);
    tcase_add_test(table, names_and_aliases_are_unique);
    tcase_add_test(table, every_row_is_complete);
    tcase_add_test(table, defaults_lie_within_their_ranges);
    tcase_add_test(table, bare_names_are_no_words_of_sql);
    tcase_add_test(table, examples_can_be_built);
    tcase_add_test(table, only_numbers_and_whole_vectors_have_limits);
    tcase_add_test(table, near_names_are_found);
    tcase_add_test(table, operators_are_found_by_symbol);
    tcase_add_test(calls, lists_of_choices_fit_into_messages);
    tcase_add_loop_test(calls, bad_calls_say_what_is_wrong, 0, COUNT(bad_calls));
    tcase_add_test(calls, border_aliases_are_understood);
    tcase_add_test(calls, errors_pass_through_chains);
    tcase_add_loop_test(calls, types_follow_the_rules, 0, COUNT(types));
    tcase_add_test(calls, dims_and_axes_belong_together);
    tcase_add_loop_test(graph, dumps_read_back, 0, COUNT(dumps));
    tcase_add_test(graph, equal_nodes_are_the_same);
    tcase_add_test(graph, deep_graphs_are_freed_without_recursion);
    tcase_add_test(graph, wrapped_memory_is_given_back_once);
    tcase_add_test(graph, building_survives_every_failed_allocation);
    suite_add_tcase(suite, table);
    suite_add_tcase(suite, calls);
    suite_add_tcase(suite, graph);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
