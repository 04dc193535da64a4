/* SPDX-License-Identifier: MIT */
/*
 * Tables of one image: histogram(image [, bins [, channel [, lo, hi]]]) and img_explain(image).
 *
 * R1. A plain image and a deferred one give the same rows, computed in one evaluation.
 * R2. histogram: one row a channel and bin, in that order; channel -1 is all of them. The operation puts v into bin
 *     floor((v - min) bins / (max - min)), max into the last one, and what is outside or NaN nowhere; min and max are
 *     the arguments lowest and highest, else black and white (data: the dtype's range, floats 0 to 1). lo and hi are
 *     the least and greatest integer of the bin (an empty one has hi below lo); of floats, of 64-bit integers and
 *     where lowest or highest is no whole number its edges. percent is the share of what was counted in the channel.
 * R3. img_explain: one row a kernel; nothing is computed or compiled.
 *
 *     SELECT bin, count FROM histogram((SELECT img FROM photos WHERE id = 1), 16, 0);
 *     SELECT kernel, ops, schedule FROM img_explain(blur(lazy(readfile('a.png')), 2));
 */
#include "table.h"
#include "element.h"
#include "values.h"

#include <math.h>

/* True where every value of dtype and its difference from another are exact in int64_t and double. */
static bool is_narrow_integer(imgpar_dtype dtype)
{
    return !ip_sql_dtype_is_float(dtype) && dtype != IMGPAR_U64 && dtype != IMGPAR_I64;
}

/* What is counted. */
typedef struct histogram {
    int64_t only_channel; /* -1: all */
    double lo, hi;        /* of all bins */
    bool whole;           /* bins are told by their integers */
} histogram;

/* R2 */
static void set_bounds(ip_sql_rows *rows, const histogram *h, int64_t bin, int64_t n_bins)
{
    if (!h->whole) {
        double width = h->hi - h->lo;
        ip_sql_set_real(rows, 2, h->lo + width * (double)bin / (double)n_bins);
        ip_sql_set_real(rows, 3, bin + 1 == n_bins ? h->hi : h->lo + width * (double)(bin + 1) / (double)n_bins);
        return;
    }
    int64_t least = (int64_t)h->lo, width = (int64_t)h->hi - least; /* at most 2^33; bins are at most 65536 */
    int64_t next = bin + 1 == n_bins ? (int64_t)h->hi + 1 : least + ((bin + 1) * width + n_bins - 1) / n_bins;
    ip_sql_set_integer(rows, 2, least + (bin * width + n_bins - 1) / n_bins);
    ip_sql_set_integer(rows, 3, next - 1);
}

static void add_histogram_rows(ip_sql_rows *rows, const histogram *h, const imgpar_info *info, const uint32_t *counts)
{
    int64_t n_bins = info->shape[info->rank - 1];
    int64_t n_channels = info->rank > 1 ? info->shape[info->rank - 2] : 1;
    for (int64_t c = 0; c < n_channels; c++) {
        if (h->only_channel >= 0 && c != h->only_channel) continue;
        double total = 0;
        for (int64_t k = 0; k < n_bins; k++)
            total += counts[c * n_bins + k];
        for (int64_t k = 0; k < n_bins; k++) {
            ip_sql_rows_add(rows);
            ip_sql_set_integer(rows, 0, c);
            ip_sql_set_integer(rows, 1, k);
            set_bounds(rows, h, k, n_bins);
            ip_sql_set_integer(rows, 4, counts[c * n_bins + k]);
            ip_sql_set_real(rows, 5, total > 0 ? 100.0 * counts[c * n_bins + k] / total : 0);
        }
    }
}

/* Computes the histogram array a and adds its rows. */
static int read_histogram(ip_sql_call *call, imgpar_array *a, const histogram *h, ip_sql_rows *rows)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(a, &info)) return ip_sql_call_fail_array(call, a);
    if (info.dtype != IMGPAR_U32) return ip_sql_call_fail(call, SQLITE_INTERNAL, "counts that are not u32");
    int64_t n_channels = info.rank > 1 ? info.shape[info.rank - 2] : 1;
    if (h->only_channel >= n_channels || h->only_channel < -1)
        return ip_sql_call_fail(call, SQLITE_ERROR, "channel=%lld: the image has %lld", (long long)h->only_channel,
                                (long long)n_channels);
    uint32_t *counts = sqlite3_malloc64(info.size_bytes);
    if (!counts) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    ip_sql_run run;
    ip_sql_run_begin(&run, call);
    imgpar_status st = imgpar_array_read_with(a, counts, info.size_bytes, &run.options);
    ip_sql_run_end(&run);
    if (st)
        ip_sql_call_fail_array(call, a);
    else
        add_histogram_rows(rows, h, &info, counts);
    sqlite3_free(counts);
    return call->code;
}

static bool is_whole(sqlite3_value *value) { return !value || sqlite3_value_numeric_type(value) == SQLITE_INTEGER; }

static bool is_number(sqlite3_value *value)
{
    return is_whole(value) || sqlite3_value_numeric_type(value) == SQLITE_FLOAT;
}

enum { ARG_BINS = 1, ARG_CHANNEL, ARG_LOWEST, ARG_HIGHEST };

static int check_histogram(ip_sql_call *call, sqlite3_value **argv)
{
    static const char *const names[] = { "source", "bins", "channel", "lowest", "highest" };
    for (int k = ARG_BINS; k <= ARG_HIGHEST; k++) {
        bool must_be_whole = k < ARG_LOWEST;
        if (!(must_be_whole ? is_whole(argv[k]) : is_number(argv[k])))
            return ip_sql_call_fail(call, SQLITE_ERROR, "%s is not a %snumber", names[k],
                                    must_be_whole ? "whole " : "");
    }
    return SQLITE_OK;
}

/* Of an image, by arguments that are checked. */
static histogram asked_histogram(const imgpar_info *info, sqlite3_value **argv)
{
    histogram h = { .only_channel = argv[ARG_CHANNEL] ? sqlite3_value_int64(argv[ARG_CHANNEL]) : -1 };
    ip_sql_range(info, &h.lo, &h.hi);
    if (argv[ARG_LOWEST]) h.lo = sqlite3_value_double(argv[ARG_LOWEST]);
    if (argv[ARG_HIGHEST]) h.hi = sqlite3_value_double(argv[ARG_HIGHEST]);
    bool exact = fabs(h.lo) <= 0x1p32 && fabs(h.hi) <= 0x1p32 && h.lo == floor(h.lo) && h.hi == floor(h.hi);
    h.whole = is_narrow_integer(info->dtype) && exact;
    return h;
}

/* The options of the operation. New; NULL without memory. */
static char *histogram_options(sqlite3_value **argv)
{
    sqlite3_str *s = sqlite3_str_new(NULL);
    if (argv[ARG_BINS]) sqlite3_str_appendf(s, "bins=%lld", sqlite3_value_int64(argv[ARG_BINS]));
    static const char *const names[] = { "lo", "hi" };
    for (int k = 0; k < 2; k++)
        if (argv[ARG_LOWEST + k])
            sqlite3_str_appendf(s, "%s%s=%!.17g", sqlite3_str_length(s) ? ", " : "", names[k],
                                sqlite3_value_double(argv[ARG_LOWEST + k]));
    char *text = sqlite3_str_finish(s);
    return text ? text : sqlite3_mprintf("%s", "");
}

static int fill_histogram(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    if (check_histogram(call, argv)) return call->code;
    char *options = histogram_options(argv);
    if (!options) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(call, 1, argv, &in)) {
        imgpar_info info = { .struct_size = sizeof info };
        imgpar_array *a = imgpar_op(in.context, "histogram", in.arrays, 1, *options ? options : NULL);
        if (imgpar_array_info(in.arrays[0], &info)) {
            ip_sql_call_fail_array(call, in.arrays[0]);
        } else {
            histogram h = asked_histogram(&info, argv);
            read_histogram(call, a, &h, rows);
        }
        imgpar_array_release(a);
    }
    sqlite3_free(options);
    ip_sql_inputs_free(&in);
    return call->code;
}

const ip_sql_table ip_sql_table_histogram = {
    .name = "histogram",
    .alias = "img_histogram",
    .columns = "channel INTEGER, bin INTEGER, lo, hi, count INTEGER, percent REAL,"
               " source HIDDEN, bins HIDDEN, only_channel HIDDEN, lowest HIDDEN, highest HIDDEN",
    .about = "one row a channel (-1: all) and bin, from lowest to highest (black and white; data: the dtype's range, "
             "floats 0 to 1); "
             "percent is of what was counted",
    .example = "SELECT bin, count FROM histogram(apply('make(4, 3, x + y)'), 4)",
    .n_columns = 6,
    .n_arguments = 5,
    .n_required = 1,
    .fill = fill_histogram,
};

/* SQLite's own JSON functions take the kernels apart. ops may be a list or a text. */
static const char explain_sql[] =
    "SELECT json_extract(k.value, '$.name'),"
    " CASE json_type(k.value, '$.ops') WHEN 'array'"
    "  THEN (SELECT group_concat(o.value, ',') FROM json_each(k.value, '$.ops') o)"
    "  ELSE json_extract(k.value, '$.ops') END,"
    " json_extract(k.value, '$.schedule'), json_extract(k.value, '$.bytes_read'),"
    " json_extract(k.value, '$.bytes_written'), json_extract(k.value, '$.reason')"
    " FROM (SELECT 0 AS of, 0 AS part, key, value FROM json_each(?1, '$.kernels') UNION ALL"
    "  SELECT l.key + 1, 0, s.key, s.value FROM json_each(?1, '$.loops') l, json_each(l.value, '$.step.kernels') s "
    "UNION ALL"
    "  SELECT l.key + 1, 1, s.key, s.value FROM json_each(?1, '$.loops') l, json_each(l.value, '$.condition.kernels') "
    "s) k"
    " ORDER BY k.of, k.part, k.key";

static int add_kernels(ip_sql_call *call, const char *json, ip_sql_rows *rows)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(call->conn->db, explain_sql, -1, &stmt, NULL);
    if (!rc) rc = sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
    while (!rc && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        ip_sql_rows_add(rows);
        for (int k = 0; k < 6; k++) {
            if (sqlite3_column_type(stmt, k) == SQLITE_INTEGER)
                ip_sql_set_integer(rows, k, sqlite3_column_int64(stmt, k));
            else
                ip_sql_set_text(rows, k, (const char *)sqlite3_column_text(stmt, k));
        }
    }
    if (rc != SQLITE_DONE) ip_sql_call_fail(call, rc, "%s", sqlite3_errmsg(call->conn->db));
    sqlite3_finalize(stmt);
    return call->code;
}

static int fill_explain(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(call, 1, argv, &in)) {
        char *json = NULL;
        imgpar_status st = imgpar_array_explain(in.arrays[0], "json", &json);
        if (st)
            ip_sql_call_fail_status(call, st, NULL, imgpar_array_message(in.arrays[0]));
        else
            add_kernels(call, json, rows); /* R3 */
        imgpar_free(json);
    }
    ip_sql_inputs_free(&in);
    return call->code;
}

const ip_sql_table ip_sql_table_explain = {
    .name = "img_explain",
    .columns = "kernel TEXT, ops TEXT, schedule TEXT, bytes_read INTEGER, bytes_written INTEGER, reason TEXT,"
               " source HIDDEN",
    .about = "one row a kernel that computing the image would launch; those of loops' steps, once each, come last",
    .example = "SELECT kernel, ops FROM img_explain(blur(lazy(apply('make(4, 3, x + y)')), 2))",
    .n_columns = 6,
    .n_arguments = 1,
    .n_required = 1,
    .fill = fill_explain,
};
