/* SPDX-License-Identifier: MIT */
/*
 * What a camera wrote beside the pixels: img_exif(image, tag), and the table img_exif(image), one row a tag.
 *
 *     SELECT img_exif(img, 'DateTimeOriginal'), img_exif(img, 'ExposureTime') FROM photos;
 *     SELECT tag, value FROM photos, img_exif(img) WHERE name = 'tower';
 *
 * R1. The header is read only, as img_width() does it: nothing is decoded, no device opened; INNOCUOUS and
 *     DETERMINISTIC.
 * R2. A tag that an image lacks is NULL, a name that is none is an error: a misspelt one would be NULL for ever. The
 *     standard's names that are never told, as MakerNote, are NULL.
 * R3. A deferred image tells what the finished one will: Orientation 1, its own size.
 * R4. One number is an INTEGER or a REAL, several ones are a text with blanks between them.
 * R5. An INTEGER is the tag of that number, as its text in hexadecimal is: img_exif(img, 315), img_exif(img, '0x013b').
 */
#include "table.h"
#include "values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct exif {
    imgpar_exif_value **list; /* owned */
    size_t n;
} exif;

static int read_deferred(ip_sql_call *call, sqlite3_value *arg, exif *out)
{
    ip_sql_inputs in;
    if (!ip_sql_inputs_read_header(call, arg, &in)) {
        imgpar_status st = imgpar_array_exif(in.arrays[0], &out->list, &out->n); /* R3 */
        if (st) ip_sql_call_fail_status(call, st, NULL, imgpar_array_message(in.arrays[0]));
    }
    ip_sql_inputs_free(&in);
    return call->code;
}

static int read_exif(ip_sql_call *call, sqlite3_value *arg, exif *out)
{
    *out = (exif){ NULL, 0 };
    const int type = sqlite3_value_type(arg);
    const void *bytes = type == SQLITE_BLOB ? sqlite3_value_blob(arg) : NULL;
    const size_t n_bytes = type == SQLITE_BLOB ? (size_t)sqlite3_value_bytes(arg) : 0;
    if (!bytes && n_bytes) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    if (!bytes) return ip_sql_call_fail_type(call, "argument 1", type);
    if (ip_sql_recipe_is(bytes, n_bytes)) return read_deferred(call, arg, out);
    char message[512] = "";
    imgpar_status st = imgpar_exif_memory(bytes, n_bytes, &out->list, &out->n, message, sizeof message);
    return st ? ip_sql_call_fail_status(call, st, "argument 1", message) : SQLITE_OK;
}

static bool is_one_number(const imgpar_exif_value *v) { return v->n_numbers == 1 && isfinite(v->numbers[0]); } /* R4 */

static void return_value(sqlite3_context *ctx, const imgpar_exif_value *v)
{
    if (!is_one_number(v))
        sqlite3_result_text(ctx, v->text, -1, SQLITE_TRANSIENT);
    else if (v->is_whole)
        sqlite3_result_int64(ctx, (sqlite3_int64)v->numbers[0]);
    else
        sqlite3_result_double(ctx, v->numbers[0]);
}

static void exif_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    exif e = { NULL, 0 };
    const bool is_number = sqlite3_value_type(argv[1]) == SQLITE_INTEGER && sqlite3_value_int64(argv[1]) >= 0;
    const char *name = ip_sql_text_read(&call, argv[1], 2, "a tag is text");
    char number[32];
    if (is_number) { /* R5 */
        snprintf(number, sizeof number, "0x%04llx", (unsigned long long)sqlite3_value_int64(argv[1]));
        name = number;
    }
    if (name && !imgpar_exif_is_tag(name)) /* R2 */
        ip_sql_call_fail(&call, SQLITE_ERROR,
                         "'%s' is no tag of EXIF, as 'DateTimeOriginal' or 'Model' are; SELECT tag FROM img_exif(img) "
                         "lists those of an image",
                         name);
    else if (name && !read_exif(&call, argv[0], &e)) {
        const imgpar_exif_value *v = imgpar_exif_find(e.list, e.n, name);
        if (v) return_value(ctx, v);
    }
    imgpar_exif_release(e.list, e.n);
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_exif(const ip_sql_setup *setup)
{
    return ip_sql_add_function(setup, "img_exif", 2, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, exif_function, NULL,
                               0); /* R1 */
}

static int fill_exif(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    exif e;
    if (!read_exif(call, argv[0], &e)) {
        for (size_t k = 0; k < e.n; k++) {
            const imgpar_exif_value *v = e.list[k];
            ip_sql_rows_add(rows);
            ip_sql_set_text(rows, 0, v->name);
            if (!is_one_number(v))
                ip_sql_set_text(rows, 1, v->text);
            else if (v->is_whole)
                ip_sql_set_integer(rows, 1, (sqlite3_int64)v->numbers[0]);
            else
                ip_sql_set_real(rows, 1, v->numbers[0]);
            ip_sql_set_text(rows, 2, v->directory);
        }
    }
    imgpar_exif_release(e.list, e.n);
    return call->code;
}

const ip_sql_table ip_sql_table_exif = {
    .name = "img_exif",
    .columns = "tag TEXT, value, directory TEXT, source HIDDEN",
    .about = "one row a tag of EXIF that the image's file has, without makers' notes and thumbnails; the values are as "
             "the function img_exif() gives them",
    .example = "SELECT tag, value FROM img_exif(jpeg(apply('make(4, 3, x + y)')))",
    .n_columns = 3,
    .n_arguments = 1,
    .n_required = 1,
    .risk = SQLITE_VTAB_INNOCUOUS,
    .fill = fill_exif,
};
