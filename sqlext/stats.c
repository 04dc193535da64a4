/* SPDX-License-Identifier: MIT */
/*
 * img_stats_of(image): one row a channel.
 *
 *     SELECT channel, mean, std FROM photos, img_stats_of(img) WHERE name = 'tower';
 *
 * R1. All numbers of all channels come from one evaluation. Bytes are counted by value, in one small kernel: exact,
 *     read once, and compiled in less time than four folds.
 * R2. Least and greatest integers and their sums are exact, INTEGER where that holds them, else the nearest REAL. Of up
 *     to 16 bits so is the standard deviation; the rest of it goes through f64 (f32 where the device has none), by
 *     deviations from the mean, as img_std does it.
 * R3. As everywhere NaN loses against numbers in min and max, and makes mean, sum and std NaN, which SQL has as NULL;
 *     so does an infinity with std.
 */
#include "element.h"
#include "table.h"
#include "values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* FACT_HIGH: of integers of 64 bits the sum of what is above their lower 32, which FACT_SUM has. */
enum { FACT_MIN, FACT_MAX, FACT_SUM, FACT_SQUARES, FACT_HIGH, N_FACTS, MAX_CHANNELS = 64 };

/* A number, and where it is an integer that SQL has, that one. */
typedef struct number {
    double real;
    sqlite3_int64 whole;
    bool is_whole;
} number;

static number whole_fact(int64_t v) { return (number){ .real = (double)v, .whole = v, .is_whole = true }; }

static bool has_exact_sums(imgpar_dtype dtype)
{
    return !ip_sql_dtype_is_float(dtype) && imgpar_dtype_size(dtype) <= 2;
}

static bool has_64_bits(imgpar_dtype dtype) { return dtype == IMGPAR_I64 || dtype == IMGPAR_U64; }

static int facts_of_dtype(imgpar_dtype dtype) { return has_64_bits(dtype) ? N_FACTS : FACT_HIGH; }

static double channel_count(const imgpar_info *info)
{
    return (double)(info->size_bytes / imgpar_dtype_size(info->dtype)) / (double)info->channels;
}

/* The axes of a fact's folds: all but that of channels. */
static const char *axes_text(const imgpar_info *info, char text[64])
{
    int length = snprintf(text, 64, ", axis=[");
    for (int k = 0; k + 1 < info->rank; k++)
        length += snprintf(text + length, 64 - (size_t)length, "%d ", k);
    snprintf(text + length, 64 - (size_t)length, "], keepdims=true");
    return info->channels > 1 ? text : "";
}

/* The text of a fact of all channels. New; NULL without memory. */
static char *fact_text(const ip_sql_inputs *in, const imgpar_info *info, int fact)
{
    char axes_of[64];
    const char *axes = axes_text(info, axes_of);
    const imgpar_device *device = imgpar_context_device(in->context);
    const bool is_exact = has_exact_sums(info->dtype);
    const char *wide = is_exact ? "i64" : device && !device->has_f64 ? "f32" : "f64";
    switch (fact) {
    case FACT_MIN: return sqlite3_mprintf("minval($1%s)", axes);
    case FACT_MAX: return sqlite3_mprintf("maxval($1%s)", axes);
    case FACT_SUM:
        if (has_64_bits(info->dtype)) return sqlite3_mprintf("sum($1 & 4294967295%s)", axes);
        return sqlite3_mprintf("sum(cast($1, %s)%s)", ip_sql_dtype_is_float(info->dtype) ? wide : "i64", axes);
    case FACT_HIGH: return sqlite3_mprintf("sum($1 >> 32%s)", axes);
    default: break;
    }
    if (is_exact) return sqlite3_mprintf("a = cast($1, %s)\nsum(a * a%s)", wide, axes);
    return sqlite3_mprintf("a = cast($1, %s)\nd = a - sum(a%s) / %!.17g\nsum(d * d%s)", wide, axes, channel_count(info),
                           axes);
}

static imgpar_array *fact_of(ip_sql_call *call, const ip_sql_inputs *in, const imgpar_info *info, int fact)
{
    char *text = fact_text(in, info, fact);
    if (!text) ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    imgpar_array *a = imgpar_apply_safe(in->context, text ? text : "", in->arrays, 1);
    sqlite3_free(text);
    return a;
}

/* 2^32 high + low. */
static number total_of(int64_t high, int64_t low)
{
    const int64_t carry = low / (INT64_C(1) << 32), rest = low % (INT64_C(1) << 32);
    high += carry;
    if (high >= INT32_MIN && high <= INT32_MAX) return whole_fact(high * (INT64_C(1) << 32) + rest);
    return (number){ .real = ldexp((double)high, 32) + (double)rest };
}

/* R2: facts[FACT_SQUARES] are squares of the elements, or of their deviations from the mean. */
static double deviation(const imgpar_info *info, double n, const number *facts)
{
    if (!has_exact_sums(info->dtype)) return sqrt(facts[FACT_SQUARES].real / n);
    return ip_sql_deviation((int64_t)n, facts[FACT_SUM].whole, facts[FACT_SQUARES].whole);
}

static void add_row(ip_sql_rows *rows, const imgpar_info *info, int64_t channel, const number *facts)
{
    double n = channel_count(info);
    static const int order[] = { FACT_MIN, FACT_MAX, FACT_SUM }, column[] = { 1, 2, 5 };
    ip_sql_rows_add(rows);
    ip_sql_set_integer(rows, 0, channel);
    for (int k = 0; k < 3; k++) {
        const number *f = &facts[order[k]];
        if (f->is_whole)
            ip_sql_set_integer(rows, column[k], f->whole);
        else
            ip_sql_set_real(rows, column[k], f->real);
    }
    ip_sql_set_real(rows, 3, facts[FACT_SUM].real / n);
    ip_sql_set_real(rows, 4, deviation(info, n, facts));
    ip_sql_set_integer(rows, 6, (sqlite3_int64)n);
}

static int read_facts(ip_sql_call *call, imgpar_array *const *arrays, const imgpar_info *info, ip_sql_rows *rows)
{
    number facts[MAX_CHANNELS][N_FACTS];
    const int n_facts = facts_of_dtype(info->dtype);
    if (ip_sql_evaluate(call, arrays, n_facts)) /* R1 */
        return call->code;
    for (int k = 0; k < n_facts; k++) {
        imgpar_info of = { .struct_size = sizeof of };
        uint64_t elements[MAX_CHANNELS * 2] = { 0 };
        imgpar_array_info(arrays[k], &of);
        const size_t size = imgpar_dtype_size(of.dtype);
        if (of.size_bytes != (uint64_t)info->channels * size)
            return ip_sql_call_fail(call, SQLITE_INTERNAL, "facts of another shape");
        if (ip_sql_compute(call, arrays[k], elements, of.size_bytes)) return call->code;
        for (int64_t c = 0; c < info->channels; c++) {
            const unsigned char *element = (const unsigned char *)elements + (size_t)c * size;
            number *f = &facts[c][k];
            f->real = ip_sql_element(of.dtype, element);
            f->is_whole = ip_sql_whole(of.dtype, element, &f->whole);
        }
    }
    for (int64_t c = 0; c < info->channels; c++) {
        if (has_64_bits(info->dtype))
            facts[c][FACT_SUM] = total_of(facts[c][FACT_HIGH].whole, facts[c][FACT_SUM].whole);
        add_row(rows, info, c, facts[c]);
    }
    return SQLITE_OK;
}

/* ---- bytes: R1 ---------------------------------------------------------------------------------------------- */

enum { N_BYTES = 256 };

static bool is_counted(const imgpar_info *info)
{
    const bool are_bytes = info->dtype == IMGPAR_U8 || info->dtype == IMGPAR_I8;
    return are_bytes && info->size_bytes > 0 && channel_count(info) < 0x1p32;
}

/* What a fold a number would have given, of how often each byte is there. */
static void facts_of_counts(const uint32_t *counts, int64_t least, number *facts)
{
    int64_t sum = 0, squares = 0;
    bool any = false;
    for (int64_t k = 0; k < N_BYTES; k++) {
        int64_t v = least + k, n = counts[k];
        if (!n) continue;
        if (!any) facts[FACT_MIN] = whole_fact(v);
        any = true;
        facts[FACT_MAX] = whole_fact(v);
        sum += v * n;
        squares += v * v * n;
    }
    facts[FACT_SUM] = whole_fact(sum);
    facts[FACT_SQUARES] = whole_fact(squares);
}

static int read_counts(ip_sql_call *call, imgpar_array *a, const imgpar_info *info, ip_sql_rows *rows)
{
    imgpar_info got = { .struct_size = sizeof got };
    uint32_t counts[MAX_CHANNELS * N_BYTES];
    if (imgpar_array_info(a, &got)) return ip_sql_call_fail_array(call, a);
    if (got.dtype != IMGPAR_U32 || got.size_bytes != (uint64_t)info->channels * N_BYTES * sizeof counts[0])
        return ip_sql_call_fail(call, SQLITE_INTERNAL, "counts of another shape");
    if (ip_sql_compute(call, a, counts, got.size_bytes)) return call->code;
    for (int64_t c = 0; c < info->channels; c++) {
        number facts[N_FACTS] = { { 0 } };
        facts_of_counts(counts + c * N_BYTES, info->dtype == IMGPAR_I8 ? INT8_MIN : 0, facts);
        add_row(rows, info, c, facts);
    }
    return SQLITE_OK;
}

static void count_bytes(ip_sql_call *call, const ip_sql_inputs *in, const imgpar_info *info, ip_sql_rows *rows)
{
    const char *options = info->dtype == IMGPAR_I8 ? "bins=256, lo=-128, hi=127" : "bins=256, lo=0, hi=255";
    imgpar_array *a = imgpar_op(in->context, "histogram", in->arrays, 1, options);
    read_counts(call, a, info, rows);
    imgpar_array_release(a);
}

/* ---- all else: a fold a number, of all channels --------------------------------------------------------------- */

static void fold_all(ip_sql_call *call, const ip_sql_inputs *in, const imgpar_info *info, ip_sql_rows *rows)
{
    imgpar_array *arrays[N_FACTS];
    int n = 0;
    for (int k = 0; k < facts_of_dtype(info->dtype) && !call->code; k++) {
        arrays[n] = fact_of(call, in, info, k);
        if (imgpar_array_status(arrays[n++])) ip_sql_call_fail_array(call, arrays[n - 1]);
    }
    if (!call->code) read_facts(call, arrays, info, rows);
    while (n)
        imgpar_array_release(arrays[--n]);
}

static int fill_stats(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows)
{
    ip_sql_inputs in;
    imgpar_info info = { .struct_size = sizeof info };
    if (!ip_sql_inputs_read(call, 1, argv, &in)) {
        if (imgpar_array_info(in.arrays[0], &info))
            ip_sql_call_fail_array(call, in.arrays[0]);
        else if (info.channels > MAX_CHANNELS)
            ip_sql_call_fail(call, SQLITE_ERROR, "an image of at most %d channels is needed", MAX_CHANNELS);
        else if (is_counted(&info))
            count_bytes(call, &in, &info, rows);
        else
            fold_all(call, &in, &info, rows);
    }
    ip_sql_inputs_free(&in);
    return call->code;
}

const ip_sql_table ip_sql_table_stats = {
    .name = "img_stats_of",
    .columns = "channel INTEGER, min, max, mean REAL, std REAL, sum, count INTEGER, source HIDDEN",
    .about = "one row a channel",
    .example = "SELECT channel, min, max, mean FROM img_stats_of(apply('make(4, 3, x + y)'))",
    .n_columns = 7,
    .n_arguments = 1,
    .n_required = 1,
    .fill = fill_stats,
};
