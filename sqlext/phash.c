/* SPDX-License-Identifier: MIT */
/*
 * phash(img): 64 bits that hardly change when an image is scaled, recompressed or made a little brighter.
 * hamming(phash(a), phash(b)) counts how many differ: below about 10 of the same picture.
 *
 * R1. Gray, resized to 32 x 32 by area, as 8 bits; a cosine transform in integers; of its coefficients (1..8, 1..8)
 *     those above their lower median give a 1. Row by row, the first one is the highest bit.
 * R2. Integers throughout: the same number on every device.
 */
#include "element.h"
#include "values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, KEPT = 8, N_BITS = KEPT * KEPT };

/* 16384 cos(k pi / 64), rounded */
static const int16_t cosines[33] = {
    16384, 16364, 16305, 16207, 16069, 15893, 15679, 15426, 15137, 14811, 14449,
    14053, 13623, 13160, 12665, 12140, 11585, 11003, 10394, 9760,  9102,  8423,
    7723,  7005,  6270,  5520,  4756,  3981,  3196,  2404,  1606,  804,   0,
};

/* cos((2 x + 1) u pi / 64) */
static int64_t wave(int u, int x)
{
    int k = (2 * x + 1) * u % 128;
    if (k > 64) k = 128 - k;
    return k <= 32 ? cosines[k] : -cosines[64 - k];
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t hash_of(const unsigned char *levels)
{
    int64_t rows[SIDE][KEPT] = { { 0 } }, all[N_BITS] = { 0 }, sorted[N_BITS];
    for (int y = 0; y < SIDE; y++)
        for (int u = 0; u < KEPT; u++)
            for (int x = 0; x < SIDE; x++)
                rows[y][u] += wave(u + 1, x) * levels[y * SIDE + x];
    for (int v = 0; v < KEPT; v++)
        for (int u = 0; u < KEPT; u++)
            for (int y = 0; y < SIDE; y++)
                all[v * KEPT + u] += wave(v + 1, y) * rows[y][u];
    memcpy(sorted, all, sizeof sorted);
    qsort(sorted, N_BITS, sizeof sorted[0], compare);
    uint64_t hash = 0;
    for (int k = 0; k < N_BITS; k++)
        hash = hash << 1 | (all[k] > sorted[N_BITS / 2 - 1]);
    return hash;
}

/* White of the picture, as the language's phash has it: of data that of its dtype. */
static double white_of(const imgpar_info *info)
{
    if (info->white > 0) return info->white;
    if (ip_sql_dtype_is_float(info->dtype) || info->dtype == IMGPAR_BOOL) return 1;
    return info->dtype == IMGPAR_U16 ? UINT16_MAX : UINT8_MAX;
}

/* Elements to 0..255; alpha is left out. */
static void read_levels(const imgpar_info *info, const unsigned char *elements, unsigned char *levels)
{
    const double factor = 255 / white_of(info);
    size_t step = imgpar_dtype_size(info->dtype) * (size_t)info->channels;
    for (int k = 0; k < SIDE * SIDE; k++) {
        double v = rint(ip_sql_element(info->dtype, elements + step * (size_t)k) * factor);
        levels[k] = v >= 255 ? 255 : v > 0 ? (unsigned char)v : 0;
    }
}

static void run_phash(ip_sql_call *call, sqlite3_context *ctx, ip_sql_inputs *in)
{
    static const char text[] = "resize(gray($1), width=32, height=32, filter=area)";
    unsigned char elements[SIDE * SIDE * 2 * 8], levels[SIDE * SIDE];
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_array *a = imgpar_apply_safe(in->context, text, in->arrays, 1);
    if (imgpar_array_info(a, &info))
        ip_sql_call_fail_array(call, a);
    else if (info.size_bytes > sizeof elements || info.depth != 1)
        ip_sql_call_fail(call, SQLITE_ERROR, "an image of 1 to 4 channels is needed");
    else if (!ip_sql_compute(call, a, elements, info.size_bytes)) {
        read_levels(&info, elements, levels);
        sqlite3_result_int64(ctx, (sqlite3_int64)hash_of(levels));
    }
    imgpar_array_release(a);
}

static void phash_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(&call, 1, argv, &in)) run_phash(&call, ctx, &in);
    ip_sql_inputs_free(&in);
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_phash(const ip_sql_setup *setup)
{
    return ip_sql_add_function(setup, "phash", 1, SQLITE_DETERMINISTIC, phash_function, NULL, 0);
}
