/* SPDX-License-Identifier: MIT */
/*
 * img_tiles(image, w, h): the image cut into tiles, row by row. Those at the right and lower edges may be smaller.
 *
 *     SELECT column, row, img_mean(image) FROM img_tiles((SELECT img FROM photos), 64, 64);
 *
 * R1. A tile is made when its image is asked for. Of a deferred image it is deferred.
 * R2. A plain image is computed once for all its tiles.
 */
#include "table.h"
#include "values.h"

#include <string.h>

typedef struct scan {
    sqlite3_value *value; /* the image; owned: the inputs borrow its bytes */
    ip_sql_inputs in;
    imgpar_info info;
    int64_t width, height, columns, rows; /* of a tile; of the grid */
    int64_t at;
} scan;

enum { COLUMN_COLUMN, COLUMN_ROW, COLUMN_X, COLUMN_Y, COLUMN_WIDTH, COLUMN_HEIGHT, COLUMN_IMAGE, N_COLUMNS };

static void end(void *state)
{
    scan *s = state;
    ip_sql_inputs_free(&s->in);
    sqlite3_value_free(s->value);
    sqlite3_free(s);
}

static int64_t side_of(ip_sql_call *call, sqlite3_value *value, const char *name)
{
    int64_t v = sqlite3_value_int64(value);
    if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER || v < 1 || v > 1000000)
        ip_sql_call_fail(call, SQLITE_ERROR, "%s must be 1..1000000", name);
    return v;
}

static int begin(ip_sql_call *call, const ip_sql_ask *ask, void **state)
{
    int64_t width = side_of(call, ask->argv[1], "w"), height = side_of(call, ask->argv[2], "h");
    if (call->code) return call->code;
    scan *s = sqlite3_malloc64(sizeof *s);
    if (!s) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    memset(s, 0, sizeof *s);
    *state = s;
    s->at = -1;
    s->width = width;
    s->height = height;
    s->value = sqlite3_value_dup(ask->argv[0]);
    if (!s->value) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    if (ip_sql_inputs_read(call, 1, &s->value, &s->in)) return call->code;
    s->info.struct_size = sizeof s->info;
    if (imgpar_array_info(s->in.arrays[0], &s->info)) return ip_sql_call_fail_array(call, s->in.arrays[0]);
    s->columns = (s->info.width + width - 1) / width;
    s->rows = (s->info.height + height - 1) / height;
    bool develops = s->in.base < 0 && ask->used >> COLUMN_IMAGE & 1;
    return develops ? ip_sql_evaluate(call, s->in.arrays, 1) : SQLITE_OK; /* R2 */
}

static bool next(ip_sql_call *call, void *state)
{
    (void)call;
    scan *s = state;
    return ++s->at < s->columns * s->rows;
}

static void return_tile(ip_sql_call *call, sqlite3_context *ctx, scan *s, int64_t x, int64_t y, int64_t w, int64_t h)
{
    char *options = sqlite3_mprintf("x=%lld, y=%lld, width=%lld, height=%lld", (long long)x, (long long)y, (long long)w,
                                    (long long)h);
    if (!options) {
        ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
        return;
    }
    imgpar_array *a = imgpar_op(s->in.context, "crop", s->in.arrays, 1, options);
    ip_sql_inputs in;
    if (imgpar_array_status(a))
        ip_sql_call_fail_array(call, a);
    else if (s->in.base < 0)
        ip_sql_result_encoded(call, ctx, a, NULL, NULL);
    else {
        if (!ip_sql_inputs_read(call, 1, &s->value, &in)) { /* R1: a recipe of its own for every tile */
            ip_sql_record record = {
                .kind = IP_SQL_OPERATION, .name = "crop", .body = options, .n_body = strlen(options) + 1
            };
            ip_sql_result(call, ctx, &in, &record, imgpar_array_retain(a));
        }
        ip_sql_inputs_free(&in);
    }
    imgpar_array_release(a);
    sqlite3_free(options);
}

static void column(ip_sql_call *call, void *state, sqlite3_context *ctx, int k)
{
    scan *s = state;
    int64_t column = s->at % s->columns, row = s->at / s->columns, x = column * s->width, y = row * s->height;
    int64_t width = s->info.width - x < s->width ? s->info.width - x : s->width;
    int64_t height = s->info.height - y < s->height ? s->info.height - y : s->height;
    const int64_t numbers[] = { column, row, x, y, width, height };
    if (k == COLUMN_IMAGE)
        return_tile(call, ctx, s, x, y, width, height);
    else
        sqlite3_result_int64(ctx, numbers[k]);
}

const ip_sql_table ip_sql_table_tiles = {
    .name = "img_tiles",
    .columns = "\"column\" INTEGER, \"row\" INTEGER, x INTEGER, y INTEGER, width INTEGER, height INTEGER, image BLOB,"
               " source HIDDEN, w HIDDEN, h HIDDEN",
    .about = "one row a tile of at most w x h pixels",
    .example = "SELECT x, y, width, img_mean(image) FROM img_tiles(apply('cast(make(5, 2, x), u8)'), 2, 2)",
    .n_columns = N_COLUMNS,
    .n_arguments = 3,
    .n_required = 3,
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};
