/* SPDX-License-Identifier: MIT */
/*
 * montage(img [, columns [, width [, height [, gap [, background]]]]]): a contact sheet of many images, an aggregate.
 *
 *     SELECT writefile('sheet.png', montage(img, 6)) FROM photos;
 *     SELECT writefile('sheet.png', montage(lazy(img), 'columns=6, width=200, gap=10')) FROM photos;
 *
 * R1. Each image is made to fit a cell of width x height pixels (160 x 160), never enlarged, and stands in its
 *     middle. Cells are in rows of `columns` (0: about as many as rows), gap pixels apart, in the order of the rows;
 *     in SQLite before 3.44 that is the order of a sub-query with ORDER BY.
 * R2. The sheet is RGB of 8 bits. Alpha shows the background (255), a gray level; u16 is scaled, other dtypes keep
 *     their numbers, rounded and saturated.
 * R3. NULLs are skipped; no image gives NULL. Options are those of the first row.
 * R4. Only the small images are held. With any deferred image the result is deferred, but computed.
 */
#include "values.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_COLUMNS, OPTION_WIDTH, OPTION_HEIGHT, OPTION_GAP, OPTION_BACKGROUND, N_OPTIONS };

static const struct {
    const char *name;
    int standard, least, most;
} option_rows[N_OPTIONS] = {
    [OPTION_COLUMNS] = { "columns", 0, 0, 1000 },        [OPTION_WIDTH] = { "width", 160, 1, 10000 },
    [OPTION_HEIGHT] = { "height", 160, 1, 10000 },       [OPTION_GAP] = { "gap", 8, 0, 1000 },
    [OPTION_BACKGROUND] = { "background", 255, 0, 255 },
};

typedef struct cell {
    int width, height, channels;
    unsigned char *levels; /* owned */
} cell;

typedef struct montage {
    bool started, failed, deferred;
    int option[N_OPTIONS];
    cell *cells;
    int n, capacity;
    uint64_t bytes_held;
} montage;

enum { HELD_MAX_BYTES = 1 << 30 };

static void montage_free(montage *m)
{
    for (int k = 0; k < m->n; k++)
        sqlite3_free(m->cells[k].levels);
    sqlite3_free(m->cells);
    m->cells = NULL;
    m->n = 0;
}

/* ---- options ------------------------------------------------------------------------------------ */

static int set_option(ip_sql_call *call, montage *m, int which, long long value)
{
    if (value < option_rows[which].least || value > option_rows[which].most)
        return ip_sql_call_fail(call, SQLITE_ERROR, "%s must be %d..%d, got %lld", option_rows[which].name,
                                option_rows[which].least, option_rows[which].most, value);
    m->option[which] = (int)value;
    return SQLITE_OK;
}

/* "columns=4, gap=2" */
static int read_named(ip_sql_call *call, montage *m, const char *text)
{
    static const char blank[] = " \t\r\n,";
    for (text += strspn(text, blank); *text; text += strspn(text, blank)) {
        size_t n = strcspn(text, "= \t,");
        int which = 0;
        while (which < N_OPTIONS && (strlen(option_rows[which].name) != n || strncmp(text, option_rows[which].name, n)))
            which++;
        const char *value = text + n + strspn(text + n, " \t");
        if (which == N_OPTIONS || *value != '=')
            return ip_sql_call_fail(call, SQLITE_ERROR,
                                    "'%s' is not an option; there are columns, width, height, gap, background", text);
        char *end;
        long long v = strtoll(value + 1, &end, 10);
        if (end == value + 1 || (*end && !strchr(blank, *end)))
            return ip_sql_call_fail(call, SQLITE_ERROR, "%s is not a whole number", option_rows[which].name);
        if (set_option(call, m, which, v)) return call->code;
        text = end;
    }
    return SQLITE_OK;
}

static int read_options(ip_sql_call *call, montage *m, int argc, sqlite3_value **argv)
{
    for (int k = 0; k < N_OPTIONS; k++)
        m->option[k] = option_rows[k].standard;
    for (int k = 0; k < argc && !call->code; k++) {
        if (sqlite3_value_numeric_type(argv[k]) == SQLITE_INTEGER) {
            set_option(call, m, k, sqlite3_value_int64(argv[k]));
        } else if (sqlite3_value_type(argv[k]) == SQLITE_TEXT) {
            const char *text = ip_sql_text_read(call, argv[k], k + 2, "an option is text");
            if (text) read_named(call, m, text);
        } else {
            ip_sql_call_fail(call, SQLITE_ERROR, "%s is not a whole number", option_rows[k].name);
        }
    }
    return call->code;
}

/* ---- cells ---------------------------------------------------------------------------------------- */

/* The text that makes levels of 8 bits of an image, no larger than a cell. */
static int cell_text(ip_sql_call *call, const montage *m, const imgpar_info *info, char *text, size_t n)
{
    double by_width = (double)m->option[OPTION_WIDTH] / (double)info->width;
    double by_height = (double)m->option[OPTION_HEIGHT] / (double)info->height;
    double scale = by_width < by_height ? by_width : by_height;
    char small[96] = "$1";
    if (info->depth != 1 || info->channels > 4)
        return ip_sql_call_fail(call, SQLITE_ERROR, "an image of 1 to 4 channels is needed");
    if (info->width == 0 || info->height == 0) return ip_sql_call_fail(call, SQLITE_ERROR, "the image is empty");
    if (scale < 1)
        snprintf(small, sizeof small, "thumbnail($1, width=%d, height=%d)", m->option[OPTION_WIDTH],
                 m->option[OPTION_HEIGHT]);
    bool has_white = info->white > 0 || info->dtype == IMGPAR_U16 || info->dtype == IMGPAR_BOOL;
    snprintf(text, n, has_white ? "depth(%s, 8)" : "cast(%s, u8)", small);
    return SQLITE_OK;
}

static int add_cell(ip_sql_call *call, montage *m, imgpar_array *a)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(a, &info)) return ip_sql_call_fail_array(call, a);
    if (m->n == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 16;
        cell *cells = sqlite3_realloc64(m->cells, (sqlite3_uint64)capacity * sizeof *cells);
        if (!cells) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
        m->cells = cells;
        m->capacity = capacity;
    }
    m->bytes_held += info.size_bytes;
    if (m->bytes_held > HELD_MAX_BYTES) return ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
    cell *c = &m->cells[m->n];
    *c = (cell){ (int)info.width, (int)info.height, (int)info.channels, sqlite3_malloc64(info.size_bytes) };
    if (!c->levels) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    m->n++;
    return ip_sql_compute(call, a, c->levels, info.size_bytes);
}

static void hold(ip_sql_call *call, montage *m, const ip_sql_inputs *in)
{
    imgpar_info info = { .struct_size = sizeof info };
    char text[192];
    if (imgpar_array_info(in->arrays[0], &info)) {
        ip_sql_call_fail_array(call, in->arrays[0]);
        return;
    }
    m->deferred = m->deferred || in->base >= 0;
    if (cell_text(call, m, &info, text, sizeof text)) return;
    imgpar_array *a = imgpar_apply_safe(in->context, text, in->arrays, 1);
    add_cell(call, m, a);
    imgpar_array_release(a);
}

static void montage_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    if (ip_sql_any_null(argc, argv)) /* R3 */
        return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    montage *m = sqlite3_aggregate_context(ctx, sizeof *m);
    if (!m) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (m->failed) return;
    ip_sql_inputs in = { 0 };
    if (m->started || !read_options(&call, m, argc - 1, argv + 1)) {
        m->started = true;
        if (!ip_sql_inputs_read(&call, 1, argv, &in)) hold(&call, m, &in);
    }
    ip_sql_inputs_free(&in);
    m->failed = call.code != SQLITE_OK;
    ip_sql_call_end(&call, ctx);
}

/* ---- the sheet --------------------------------------------------------------------------------------- */

static unsigned char over(int level, int alpha, int background)
{
    return (unsigned char)((level * alpha + background * (255 - alpha) + 127) / 255);
}

/* One pixel of 1 to 4 channels as RGB; R2. */
static void put_pixel(unsigned char *dst, const unsigned char *src, int channels, int background)
{
    int alpha = channels % 2 ? 255 : src[channels - 1];
    for (int k = 0; k < 3; k++)
        dst[k] = over(src[channels < 3 ? 0 : k], alpha, background);
}

static void put_cell(const montage *m, unsigned char *sheet, int64_t sheet_width, int columns, int k)
{
    const cell *c = &m->cells[k];
    int gap = m->option[OPTION_GAP];
    int64_t x0 =
        gap + (int64_t)(k % columns) * (m->option[OPTION_WIDTH] + gap) + (m->option[OPTION_WIDTH] - c->width) / 2;
    int64_t y0 =
        gap + (int64_t)(k / columns) * (m->option[OPTION_HEIGHT] + gap) + (m->option[OPTION_HEIGHT] - c->height) / 2;
    const unsigned char *src = c->levels;
    for (int y = 0; y < c->height; y++) {
        unsigned char *dst = sheet + ((y0 + y) * sheet_width + x0) * 3;
        for (int x = 0; x < c->width; x++, src += c->channels, dst += 3)
            put_pixel(dst, src, c->channels, m->option[OPTION_BACKGROUND]);
    }
}

static void finish(ip_sql_call *call, sqlite3_context *ctx, const montage *m)
{
    int columns = m->option[OPTION_COLUMNS], gap = m->option[OPTION_GAP];
    while (!m->option[OPTION_COLUMNS] && columns * columns < m->n)
        columns++;
    if (columns > m->n) columns = m->n;
    int64_t width = (int64_t)columns * (m->option[OPTION_WIDTH] + gap) + gap;
    int64_t height = (int64_t)((m->n + columns - 1) / columns) * (m->option[OPTION_HEIGHT] + gap) + gap;
    if (width > 1000000 || height > 1000000 || width * height > INT_MAX / 3) {
        ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
        return;
    }
    unsigned char *sheet = sqlite3_malloc64((sqlite3_uint64)(width * height * 3));
    imgpar_context *context = sheet ? ip_sql_context(call) : NULL;
    if (!sheet) ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    if (context) {
        memset(sheet, m->option[OPTION_BACKGROUND], (size_t)(width * height * 3));
        for (int k = 0; k < m->n; k++)
            put_cell(m, sheet, width, columns, k);
        imgpar_array *a = imgpar_array_from_data(context, IMGPAR_U8, 3, (const int64_t[]){ height, width, 3 }, sheet);
        ip_sql_result_array(call, ctx, a, m->deferred); /* R4 */
        imgpar_array_release(a);
    }
    sqlite3_free(sheet);
}

static void montage_final(sqlite3_context *ctx)
{
    montage *m = sqlite3_aggregate_context(ctx, 0);
    if (!m) return;
    ip_sql_call call = ip_sql_call_begin(ctx);
    if (!m->failed && m->n) finish(&call, ctx, m);
    montage_free(m);
    ip_sql_call_end(&call, ctx);
}

int ip_sql_add_montage(const ip_sql_setup *setup)
{
    int rc = SQLITE_OK;
    for (int n = 1; n <= 1 + N_OPTIONS && !rc; n++)
        rc = ip_sql_add_aggregate(setup, "montage", n, montage_step, montage_final, 0);
    return rc;
}
