/* SPDX-License-Identifier: MIT */
/*
 * Numbers of one or two images that are made of rows of the operation table, as texts in the pipeline language, and
 * finished here in double: of integers they are exact, where the rows psnr and ssim compute in floats.
 *
 *     img_std(img)                  standard deviation of all elements (of the population)
 *     psnr(a, b [, peak])           10 log10(peak^2 / mean((a - b)^2)) in dB; Inf where a = b, NULL where that mean is
 *                                   NaN
 *     ssim(a, b [, edges])          mean structural similarity, 1 where a = b
 *     img_equal(a, b)               1 where size, channels, dtype and all elements are equal, else 0
 *     img_pixel(img, x, y [, channel])  a number; without channel of several channels a JSON array
 *     hamming(a, b)                 the number of bits in which two integers differ
 *
 * psnr, ssim and hamming are img_psnr, img_ssim and img_hamming, too; the last is of arrays the row of that name.
 *
 * R1. Sums of integers of up to 16 bits are exact; wider ones and floats go through f64 (f32 where the device has
 *     none).
 * R2. ssim is that of Wang et al. 2004, in f64: a Gaussian window of 11x11 and sigma 1.5, C1 = (0.01 L)^2, C2 = (0.03
 *     L)^2, L the white of a (of data the dtype's range, 1 for floats), over all channels. edges 'valid', as in the
 *     authors' ssim_index.m: only the pixels count whose window lies inside, which takes 11x11 pixels; 'reflect':
 *     edges are mirrored, and every pixel counts.
 * R3. peak is the white of a (of data the dtype's range, 1 for floats) unless given, as a number or as 'peak=100'.
 * R4. img_pixel computes that pixel and what it depends on, no more. Integers have all their digits, but for a number
 *     above 2^63 - 1, which SQL has no INTEGER for.
 * R5. NULL in gives NULL out.
 */
#include "element.h"
#include "values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- computing with texts --------------------------------------------------------------------- */

enum { MAX_NUMBERS = 2 };

/* A number as the device has it: in 64 bits every element, and whole ones exactly. */
typedef struct number {
    imgpar_dtype dtype;
    uint64_t element[2];
} number;

/* Computes n texts of the inputs, each one number, in one evaluation. */
static int compute_elements(ip_sql_call *call, const ip_sql_inputs *in, int n, const char *const *texts, number *out)
{
    imgpar_array *arrays[MAX_NUMBERS];
    for (int k = 0; k < n; k++)
        arrays[k] = imgpar_apply_safe(in->context, texts[k], in->arrays, (size_t)in->n);
    for (int k = 0; k < n && !call->code; k++)
        if (imgpar_array_status(arrays[k])) ip_sql_call_fail_array(call, arrays[k]);
    if (!call->code) ip_sql_evaluate(call, arrays, n);
    for (int k = 0; k < n && !call->code; k++) {
        imgpar_info info = { .struct_size = sizeof info };
        imgpar_array_info(arrays[k], &info);
        out[k] = (number){ .dtype = info.dtype };
        ip_sql_compute(call, arrays[k], out[k].element, info.size_bytes);
    }
    for (int k = 0; k < n; k++)
        imgpar_array_release(arrays[k]);
    return call->code;
}

/* A sum of integers of up to 16 bits. */
static int64_t whole_of(const number *v)
{
    if (imgpar_dtype_size(v->dtype) == sizeof(int64_t) && !ip_sql_dtype_is_float(v->dtype))
        return (int64_t)v->element[0];
    return (int64_t)ip_sql_element(v->dtype, v->element);
}

/* The same, as doubles. */
static int compute_numbers(ip_sql_call *call, const ip_sql_inputs *in, int n, const char *const *texts, double *out)
{
    number got[MAX_NUMBERS];
    if (compute_elements(call, in, n, texts, got)) return call->code;
    for (int k = 0; k < n; k++)
        out[k] = ip_sql_element(got[k].dtype, got[k].element);
    return SQLITE_OK;
}

/* The dtype in which differences are taken and squared; R1. */
static const char *wide_dtype(const ip_sql_inputs *in, imgpar_dtype dtype)
{
    if (imgpar_dtype_size(dtype) == 1) return "i32";
    if (dtype == IMGPAR_U16 || dtype == IMGPAR_I16) return "i64";
    const imgpar_device *device = imgpar_context_device(in->context);
    return device && !device->has_f64 ? "f32" : "f64";
}

/* Both arrays' type and shape; not the same: an error. */
static int same_shape(ip_sql_call *call, const ip_sql_inputs *in, imgpar_info *info)
{
    imgpar_info b = { .struct_size = sizeof b };
    for (int k = 0; k < 2; k++)
        if (imgpar_array_info(in->arrays[k], k ? &b : info)) return ip_sql_call_fail_array(call, in->arrays[k]);
    const bool is_one_size = info->height == b.height && info->width == b.width && info->depth == b.depth;
    const bool is_gray_a = info->channels + 2 == b.channels, is_gray_b = info->channels == b.channels + 2;
    if (!is_one_size || info->channels != b.channels)
        return ip_sql_call_fail(call, SQLITE_ERROR, "a is %lldx%lldx%lld, b is %lldx%lldx%lld%s",
                                (long long)info->width, (long long)info->height, (long long)info->channels,
                                (long long)b.width, (long long)b.height, (long long)b.channels,
                                is_one_size && is_gray_a   ? "; gray(b) makes b gray, too"
                                : is_one_size && is_gray_b ? "; gray(a) makes a gray, too"
                                                           : "");
    if (info->dtype != b.dtype)
        return ip_sql_call_fail(call, SQLITE_ERROR, "a is %s, b is %s", imgpar_dtype_name(info->dtype),
                                imgpar_dtype_name(b.dtype));
    return SQLITE_OK;
}

static double count_of(const imgpar_info *info) { return (double)(info->size_bytes / imgpar_dtype_size(info->dtype)); }

/* ---- the measures ------------------------------------------------------------------------------- */

typedef void measure(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, int argc, sqlite3_value **argv);

/* Of integers from their exact sums: constant images give 0. */
static void measure_std(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    imgpar_info info = { .struct_size = sizeof info };
    char square[96];
    double spread;
    number sums[2];
    if (imgpar_array_info(in->arrays[0], &info)) {
        ip_sql_call_fail_array(call, in->arrays[0]);
        return;
    }
    const char *wide = wide_dtype(in, info.dtype);
    if (*wide == 'f') {
        snprintf(square, sizeof square, "a = cast(reshape($1, [-1]), %s)\nd = a - mean(a)\nmean(d * d)", wide);
        if (!compute_numbers(call, in, 1, (const char *const[]){ square }, &spread))
            sqlite3_result_double(ctx, sqrt(spread));
        return;
    }
    snprintf(square, sizeof square, "a = cast($1, %s)\nsum(a * a)", wide);
    if (compute_elements(call, in, 2, (const char *const[]){ "sum($1)", square }, sums)) return;
    sqlite3_result_double(ctx, ip_sql_deviation((int64_t)count_of(&info), whole_of(&sums[0]), whole_of(&sums[1])));
}

/* R3. A number, or a text 'peak=1', which the language reads. */
static int read_peak(ip_sql_call *call, const ip_sql_inputs *in, sqlite3_value *value, double *peak)
{
    static const char name[] = "peak=";
    int type = sqlite3_value_numeric_type(value);
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
    char formula[96];
    *peak = sqlite3_value_double(value);
    if (text && strncmp(text, name, sizeof name - 1) == 0) {
        text += sizeof name - 1;
        const size_t n = strspn(text, "0123456789.eE+- ");
        if (n > 0 && text[n] == '\0' && n < sizeof formula - sizeof "cast(, f64)") {
            snprintf(formula, sizeof formula, "cast(%s, f64)", text);
            if (compute_numbers(call, in, 1, (const char *const[]){ formula }, peak)) return call->code;
            type = SQLITE_FLOAT;
        }
    }
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) ip_sql_call_fail(call, SQLITE_ERROR, "peak is not a number");
    if (!call->code && (!(*peak > 0) || isinf(*peak)))
        ip_sql_call_fail(call, SQLITE_ERROR, "peak=%g is not %s", *peak, *peak > 0 ? "finite" : "above 0");
    return call->code;
}

static void measure_psnr(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, int argc, sqlite3_value **argv)
{
    imgpar_info info = { .struct_size = sizeof info };
    char text[96];
    double got, lo, peak;
    if (same_shape(call, in, &info)) return;
    ip_sql_range(&info, &lo, &peak);
    peak -= lo; /* R3 */
    if (argc > 2 && read_peak(call, in, argv[2], &peak)) return;
    const char *wide = wide_dtype(in, info.dtype);
    snprintf(text, sizeof text, "d = cast($1, %s) - cast($2, %s)\n%s(d * d)", wide, wide,
             *wide == 'f' ? "mean" : "sum");
    if (compute_numbers(call, in, 1, (const char *const[]){ text }, &got)) return;
    double mse = *wide == 'f' ? got : got / count_of(&info);
    sqlite3_result_double(ctx, mse == 0 ? INFINITY : 10 * log10(peak * peak / mse)); /* SQLite makes NULL of NaN */
}

enum { SSIM_RADIUS = 5, SSIM_WINDOW = 2 * SSIM_RADIUS + 1 };

/* Measures take alpha as any channel: of data of four axes there is none. */
static const char ssim_text[] = /* %s: $1 as data, f64, 255 / L, and again */
    "a = cast(%s, %s) * %s\n"
    "b = cast(%s, %s) * %s\n"
    "ma = blur(a, sigma=1.5, truncate=3.3, border=reflect)\n"
    "mb = blur(b, sigma=1.5, truncate=3.3, border=reflect)\n"
    "va = blur(a * a, sigma=1.5, truncate=3.3, border=reflect) - ma * ma\n"
    "vb = blur(b * b, sigma=1.5, truncate=3.3, border=reflect) - mb * mb\n"
    "ab = blur(a * b, sigma=1.5, truncate=3.3, border=reflect) - ma * mb\n"
    "s = (2 * ma * mb + 6.5025) * (2 * ab + 58.5225) / ((ma * ma + mb * mb + 6.5025) * (va + vb + 58.5225))\n";

/* What is taken of the map s: all of it, or the pixels whose window lies inside. NULL: call has failed, or memory. */
static char *ssim_pooling(ip_sql_call *call, const imgpar_info *info, int argc, sqlite3_value **argv)
{
    static const char name[] = "edges=";
    const char *edges = argc > 2 ? ip_sql_text_read(call, argv[2], 3, "edges is text") : "valid";
    if (!edges) return NULL;
    if (strncmp(edges, name, sizeof name - 1) == 0) edges += sizeof name - 1;
    const bool is_valid = strcmp(edges, "valid") == 0;
    if (!is_valid && strcmp(edges, "reflect") != 0)
        ip_sql_call_fail(call, SQLITE_ERROR, "edges=%.40s is not one of valid, reflect", edges);
    else if (is_valid && (info->width < SSIM_WINDOW || info->height < SSIM_WINDOW))
        ip_sql_call_fail(call, SQLITE_ERROR,
                         "the window of %dx%d does not fit the image of %lldx%lld; with the third argument "
                         "'reflect' its edges are mirrored",
                         SSIM_WINDOW, SSIM_WINDOW, (long long)info->width, (long long)info->height);
    if (call->code) return NULL;
    return is_valid
               ? sqlite3_mprintf("mean(crop(s, %d, %d, %lld, %lld))", SSIM_RADIUS, SSIM_RADIUS,
                                 (long long)info->width - 2 * SSIM_RADIUS, (long long)info->height - 2 * SSIM_RADIUS)
               : sqlite3_mprintf("mean(s)");
}

static void measure_ssim(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, int argc, sqlite3_value **argv)
{
    imgpar_info info = { .struct_size = sizeof info };
    double got, lo, hi;
    if (same_shape(call, in, &info)) return;
    ip_sql_range(&info, &lo, &hi);
    char *pooling = ssim_pooling(call, &info, argc, argv);
    if (call->code) return;
    const char *real = wide_dtype(in, IMGPAR_F64);
    bool has_alpha = info.rank == 3 && info.channels % 2 == 0;
    char *factor = sqlite3_mprintf("%!.15g", 255 / (hi - lo));
    const char *first = has_alpha ? "expand_dims($1, 0)" : "$1", *second = has_alpha ? "expand_dims($2, 0)" : "$2";
    char *map = factor ? sqlite3_mprintf(ssim_text, first, real, factor, second, real, factor) : NULL;
    char *text = map && pooling ? sqlite3_mprintf("%s%s", map, pooling) : NULL;
    if (!text)
        ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    else if (!compute_numbers(call, in, 1, (const char *const[]){ text }, &got))
        sqlite3_result_double(ctx, got);
    sqlite3_free(text);
    sqlite3_free(map);
    sqlite3_free(factor);
    sqlite3_free(pooling);
}

static void measure_equal(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    imgpar_info a = { .struct_size = sizeof a }, b = { .struct_size = sizeof b };
    double different = 1;
    if (imgpar_array_info(in->arrays[0], &a) || imgpar_array_info(in->arrays[1], &b)) {
        ip_sql_call_fail_array(call, in->arrays[imgpar_array_status(in->arrays[0]) ? 0 : 1]);
        return;
    }
    bool alike = a.dtype == b.dtype && a.rank == b.rank && !memcmp(a.shape, b.shape, (size_t)a.rank * sizeof *a.shape);
    if (!alike || !compute_numbers(call, in, 1, (const char *const[]){ "any($1 != $2)" }, &different))
        sqlite3_result_int(ctx, different == 0);
}

/* "x=9 is outside 0..3" */
static bool is_inside(ip_sql_call *call, const char *name, sqlite3_value *value, int64_t extent)
{
    bool whole = sqlite3_value_numeric_type(value) == SQLITE_INTEGER;
    int64_t v = sqlite3_value_int64(value);
    if (!whole)
        ip_sql_call_fail(call, SQLITE_ERROR, "%s is not a whole number", name);
    else if (v < 0 || v >= extent)
        ip_sql_call_fail(call, SQLITE_ERROR, "%s=%lld is outside 0..%lld", name, (long long)v, (long long)extent - 1);
    return !call->code;
}

static void return_pixel(sqlite3_context *ctx, const imgpar_info *info, const unsigned char *pixel, int channel)
{
    size_t size = imgpar_dtype_size(info->dtype);
    if (channel >= 0 || info->channels == 1) {
        ip_sql_result_element(ctx, info->dtype, pixel + size * (size_t)(channel > 0 ? channel : 0));
        return;
    }
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (int64_t k = 0; k < info->channels; k++) {
        sqlite3_str_appendchar(s, 1, k ? ',' : '[');
        ip_sql_append_element(s, info->dtype, pixel + size * (size_t)k);
    }
    sqlite3_str_appendchar(s, 1, ']');
    if (sqlite3_str_errcode(s)) sqlite3_result_error_nomem(ctx);
    char *json = sqlite3_str_finish(s);
    if (json) sqlite3_result_text(ctx, json, -1, sqlite3_free);
}

static void measure_pixel(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in, int argc, sqlite3_value **argv)
{
    imgpar_info info = { .struct_size = sizeof info };
    unsigned char pixel[64];
    char options[96];
    if (imgpar_array_info(in->arrays[0], &info)) {
        ip_sql_call_fail_array(call, in->arrays[0]);
        return;
    }
    if (info.depth != 1 || info.channels > 4 || ip_sql_dtype_is_complex(info.dtype)) {
        ip_sql_call_fail(call, SQLITE_ERROR, "an image of 1 to 4 channels of real numbers is needed");
        return;
    }
    if (!is_inside(call, "x", argv[1], info.width) || !is_inside(call, "y", argv[2], info.height) ||
        (argc > 3 && !is_inside(call, "channel", argv[3], info.channels)))
        return;
    snprintf(options, sizeof options, "x=%lld, y=%lld, width=1, height=1", (long long)sqlite3_value_int64(argv[1]),
             (long long)sqlite3_value_int64(argv[2]));
    imgpar_array *a = imgpar_op(in->context, "crop", in->arrays, 1, options); /* R4 */
    if (imgpar_array_status(a))
        ip_sql_call_fail_array(call, a);
    else if (!ip_sql_compute(call, a, pixel, (size_t)info.channels * imgpar_dtype_size(info.dtype)))
        return_pixel(ctx, &info, pixel, argc > 3 ? sqlite3_value_int(argv[3]) : -1);
    imgpar_array_release(a);
}

/* ---- registration ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int n_images, least_args, most_args, flags;
    measure *run;
} rows[] = {
    { "img_std", 1, 1, 1, 0, measure_std },
    { "img_psnr", 2, 2, 3, 0, measure_psnr },
    { "psnr", 2, 2, 3, 0, measure_psnr },
    { "img_ssim", 2, 2, 3, 0, measure_ssim },
    { "ssim", 2, 2, 3, 0, measure_ssim },
    { "img_equal", 2, 2, 2, SQLITE_DETERMINISTIC, measure_equal },
    { "img_pixel", 1, 3, 4, SQLITE_DETERMINISTIC, measure_pixel },
};

static void measure_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) /* R5 */
        return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    const ip_sql_function *f = sqlite3_user_data(ctx);
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(&call, rows[f->variant].n_images, argv, &in))
        rows[f->variant].run(&call, ctx, &in, argc, argv);
    ip_sql_inputs_free(&in);
    ip_sql_call_end(&call, ctx);
}

static void hamming_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    if (call.op && (sqlite3_value_type(argv[0]) == SQLITE_BLOB || sqlite3_value_type(argv[1]) == SQLITE_BLOB)) {
        ip_sql_run_operation(&call, ctx, argc, argv);
        ip_sql_call_end(&call, ctx);
        return;
    }
    for (int k = 0; k < argc; k++)
        if (sqlite3_value_numeric_type(argv[k]) != SQLITE_INTEGER)
            ip_sql_call_fail(&call, SQLITE_ERROR, "argument %d is not a whole number%s", k + 1,
                             sqlite3_value_type(argv[k]) == SQLITE_BLOB ? "; img_hamming() takes arrays" : "");
    uint64_t bits = (uint64_t)sqlite3_value_int64(argv[0]) ^ (uint64_t)sqlite3_value_int64(argv[1]);
    int n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    if (!call.code) sqlite3_result_int(ctx, n);
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_measures(const ip_sql_setup *setup)
{
    int rc = SQLITE_OK;
    for (int k = 0; k < (int)(sizeof rows / sizeof rows[0]) && !rc; k++)
        for (int n = rows[k].least_args; n <= rows[k].most_args && !rc; n++)
            rc = ip_sql_add_function(setup, rows[k].name, n, rows[k].flags, measure_function, NULL, k);
    const int flags = SQLITE_DETERMINISTIC;
    if (!rc) rc = ip_sql_add_function(setup, "hamming", 2, flags | SQLITE_INNOCUOUS, hamming_function, NULL, 0);
    if (!rc) rc = ip_sql_add_function(setup, "img_hamming", 2, flags, hamming_function, imgpar_op_find("hamming"), 0);
    return rc ? rc : ip_sql_add_phash(setup);
}
