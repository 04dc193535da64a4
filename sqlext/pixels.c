/* SPDX-License-Identifier: MIT */
/*
 * pixels(image [, x0, y0, w, h]): one row a pixel, row by row.
 *
 *     SELECT count(*) FROM photos, pixels(img) WHERE v < 20;
 *     SELECT x, y, r, g, b FROM pixels((SELECT img FROM photos)) WHERE y = 10 AND x BETWEEN 5 AND 8;
 *
 * R1. Of the whole image, or of the rectangle given by x0, y0, w, h, as far as it lies inside.
 * R2. Bounds on x and y narrow that: only what lies within is computed and read.
 * R3. r, g, b: the channels; of gray images the level. a: alpha, or NULL. v: the level as gray() makes it (bt601), in
 *     double of floats. Images of more than four channels: v is the first one. The table's .about has the formula.
 */
#include "element.h"
#include "table.h"
#include "values.h"

#include <string.h>

typedef struct scan {
    imgpar_info info;              /* of the image */
    int64_t x0, y0, width, height; /* what is read */
    unsigned char *elements;       /* of that; owned */
    int64_t at;
} scan;

enum { COLUMN_X, COLUMN_Y, COLUMN_R, COLUMN_G, COLUMN_B, COLUMN_A, COLUMN_V, N_COLUMNS };
enum { ARGUMENT_IMAGE, ARGUMENT_X0, ARGUMENT_Y0, ARGUMENT_W, ARGUMENT_H, N_ARGUMENTS };

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* The part of 0..extent that is wanted: n elements from *from on. A rectangle ends where its start and its size say,
 * wherever it starts. */
static void clip(const ip_sql_ask *ask, int column, int64_t extent, int64_t *from, int64_t *n)
{
    sqlite3_value *start = ask->argv[column == COLUMN_X ? ARGUMENT_X0 : ARGUMENT_Y0];
    sqlite3_value *count = ask->argv[column == COLUMN_X ? ARGUMENT_W : ARGUMENT_H];
    int64_t lo = start ? sqlite3_value_int64(start) : 0, hi = extent;
    const int64_t size = count ? sqlite3_value_int64(count) : 0;
    if (count && __builtin_add_overflow(lo, size > 0 ? size : 0, &hi)) hi = INT64_MAX;
    lo = clamp(lo, 0, extent);
    hi = clamp(hi, 0, extent);
    if (ask->range[column].lo > lo) lo = clamp(ask->range[column].lo, 0, extent); /* R2 */
    if (ask->range[column].hi < hi) hi = clamp(ask->range[column].hi, -1, extent - 1) + 1;
    *from = lo;
    *n = hi > lo ? hi - lo : 0;
}

static int read_part(ip_sql_call *call, const ip_sql_inputs *in, scan *s)
{
    char *options = sqlite3_mprintf("x=%lld, y=%lld, width=%lld, height=%lld", (long long)s->x0, (long long)s->y0,
                                    (long long)s->width, (long long)s->height);
    size_t n = imgpar_dtype_size(s->info.dtype) * (size_t)(s->width * s->height * s->info.channels);
    s->elements = sqlite3_malloc64(n);
    if (!options || !s->elements) {
        sqlite3_free(options);
        return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    }
    imgpar_array *a = imgpar_op(in->context, "crop", in->arrays, 1, options);
    if (imgpar_array_status(a))
        ip_sql_call_fail_array(call, a);
    else
        ip_sql_compute(call, a, s->elements, n);
    imgpar_array_release(a);
    sqlite3_free(options);
    return call->code;
}

static void end(void *state)
{
    scan *s = state;
    sqlite3_free(s->elements);
    sqlite3_free(s);
}

static int begin(ip_sql_call *call, const ip_sql_ask *ask, void **state)
{
    static const char *const names[] = { "image", "x0", "y0", "w", "h" };
    for (int k = ARGUMENT_X0; k < N_ARGUMENTS; k++)
        if (ask->argv[k] && sqlite3_value_numeric_type(ask->argv[k]) != SQLITE_INTEGER)
            return ip_sql_call_fail(call, SQLITE_ERROR, "%s is not a whole number", names[k]);
    ip_sql_inputs in;
    sqlite3_value *image = ask->argv[ARGUMENT_IMAGE];
    scan *s = sqlite3_malloc64(sizeof *s);
    if (!s) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    memset(s, 0, sizeof *s);
    s->at = -1;
    *state = s;
    if (!ip_sql_inputs_read(call, 1, &image, &in)) {
        s->info.struct_size = sizeof s->info;
        if (imgpar_array_info(in.arrays[0], &s->info))
            ip_sql_call_fail_array(call, in.arrays[0]);
        else if (s->info.depth != 1 || ip_sql_dtype_is_complex(s->info.dtype))
            ip_sql_call_fail(call, SQLITE_ERROR,
                             s->info.depth != 1 ? "an image is needed, not a volume"
                                                : "an image of real numbers is needed");
        else {
            clip(ask, COLUMN_X, s->info.width, &s->x0, &s->width);
            clip(ask, COLUMN_Y, s->info.height, &s->y0, &s->height);
            if (s->width && s->height) read_part(call, &in, s);
        }
    }
    ip_sql_inputs_free(&in);
    return call->code;
}

static bool next(ip_sql_call *call, void *state)
{
    (void)call;
    scan *s = state;
    return ++s->at < s->width * s->height;
}

/* R3 */
static void return_level(sqlite3_context *ctx, const imgpar_info *info, const unsigned char *p)
{
    size_t size = imgpar_dtype_size(info->dtype);
    if (info->channels != 3 && info->channels != 4) {
        ip_sql_result_element(ctx, info->dtype, p);
        return;
    }
    double r = ip_sql_element(info->dtype, p), g = ip_sql_element(info->dtype, p + size),
           b = ip_sql_element(info->dtype, p + 2 * size);
    if (!ip_sql_dtype_is_float(info->dtype) && size <= 4)
        sqlite3_result_int64(ctx, (19595 * (int64_t)r + 38470 * (int64_t)g + 7471 * (int64_t)b + 32768) >> 16);
    else
        sqlite3_result_double(ctx, 0.299 * r + 0.587 * g + 0.114 * b);
}

static void column(ip_sql_call *call, void *state, sqlite3_context *ctx, int k)
{
    (void)call;
    const scan *s = state;
    int64_t channels = s->info.channels;
    size_t size = imgpar_dtype_size(s->info.dtype);
    const unsigned char *p = s->elements + size * (size_t)(s->at * channels);
    if (k == COLUMN_X)
        sqlite3_result_int64(ctx, s->x0 + s->at % s->width);
    else if (k == COLUMN_Y)
        sqlite3_result_int64(ctx, s->y0 + s->at / s->width);
    else if (k == COLUMN_V)
        return_level(ctx, &s->info, p);
    else if (k == COLUMN_A && (channels == 2 || channels == 4))
        ip_sql_result_element(ctx, s->info.dtype, p + size * (size_t)(channels - 1));
    else if (k != COLUMN_A && channels <= 4)
        ip_sql_result_element(ctx, s->info.dtype, p + (channels < 3 ? 0 : size * (size_t)(k - COLUMN_R)));
}

const ip_sql_table ip_sql_table_pixels = {
    .name = "pixels",
    .alias = "img_pixels",
    .columns = "x INTEGER, y INTEGER, r, g, b, a, v, source HIDDEN, x0 HIDDEN, y0 HIDDEN, w HIDDEN, h HIDDEN",
    .about = "one row a pixel; bounds on x and y are read no further. r, g, b, a and v are the numbers of the image, "
             "from 0 to its "
             "white (255 of 8 bits, 65535 of 16, 1 of masks): nothing is scaled. Of gray, r, g, b and v are the level; "
             "a is alpha, NULL "
             "where there is none, and v leaves it out. Of RGB, v is gray()'s level: (19595 r + 38470 g + 7471 b + "
             "32768) >> 16 of bool and "
             "of integers up to 32 bits, 0.299 r + 0.587 g + 0.114 b in double of others. Of more than 4 channels, v "
             "is the first one and "
             "r, g, b and a are NULL",
    .example = "SELECT x, y, v FROM pixels(apply('make(4, 3, x + y)')) WHERE y = 1 AND x < 2",
    .n_columns = N_COLUMNS,
    .n_arguments = N_ARGUMENTS,
    .n_required = 1,
    .n_ranged = 2,
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};
