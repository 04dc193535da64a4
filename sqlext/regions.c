/* SPDX-License-Identifier: MIT */
/*
 * img_regions(mask [, image [, connectivity]]): one row a region of a mask, numbered as labels() does.
 *
 *     SELECT label, area, left, top, width, height FROM photos, img_regions(threshold(gray(img), 128)) WHERE area > 50;
 *
 * R1. What regions() and region_shapes() tell of labels(mask, connectivity). left, top, width and height are what
 *     crop() takes.
 * R2. mean, min, max and std (of the population) are those of the image in the region, of its luminance where it has
 *     colours, without alpha; NULL without an image.
 * R3. Labels are computed first, since their number is the number of rows; then, in one evaluation, what the statement
 *     reads.
 */
#include "element.h"
#include "table.h"
#include "values.h"

#include <string.h>

enum { FACT_PLACES, FACT_SHAPES, FACT_LEVELS, N_FACTS };
enum { ARG_MASK, ARG_IMAGE, ARG_CONNECTIVITY, MAX_LABELS = 1 << 24 };

/* Where a column comes from. */
static const struct {
    int fact, at, less; /* a number of the fact's row; less: number `less` is taken off, and 1 added; or -1 */
    bool whole;
} columns[] = {
    { -1, 0, -1, true },           { FACT_PLACES, 0, -1, true },  { FACT_PLACES, 2, -1, false },
    { FACT_PLACES, 1, -1, false }, { FACT_PLACES, 4, -1, true },  { FACT_PLACES, 3, -1, true },
    { FACT_PLACES, 6, 4, true },   { FACT_PLACES, 5, 3, true },   { FACT_SHAPES, 0, -1, false },
    { FACT_SHAPES, 1, -1, false }, { FACT_SHAPES, 2, -1, false }, { FACT_SHAPES, 3, -1, false },
    { FACT_SHAPES, 4, -1, false }, { FACT_SHAPES, 5, -1, false }, { FACT_LEVELS, 0, -1, false },
    { FACT_LEVELS, 1, -1, false }, { FACT_LEVELS, 2, -1, false }, { FACT_LEVELS, 3, -1, false },
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* How many numbers a fact has of a region, and its text: of the labels, $1, and the image, $2. */
static const struct {
    int n;
    const char *text;
} facts[N_FACTS] = {
    { 7, "regions($1, %d)" },
    { 7, "region_shapes($1, %d)" },
    { 4, "n = %d\n"
         "g = channels($2) < 3 ? $2 : gray($2)\n"
         "v = cast(channels(g) == 2 ? slice(g, 0, 1, axis=2) : g, f64)\n"
         "t = reshape(v, [-1])\n"
         "k = reshape($1, [-1])\n"
         "m = group_mean(t, k - 1, n)\n"
         "d = t - take(m, max(k, 1) - 1)\n"
         "fn column(p) = expand_dims(p, 1)\n"
         "concatenate(column(m), column(group_min(t, k - 1, n)), column(group_max(t, k - 1, n)),"
         " column(sqrt(group_mean(d * d, k - 1, n))), axis=1)" },
};

typedef struct scan {
    int64_t n, at;           /* regions */
    double *tables[N_FACTS]; /* owned; NULL: not read */
} scan;

static void end(void *state)
{
    scan *s = state;
    for (int k = 0; k < N_FACTS; k++)
        sqlite3_free(s->tables[k]);
    sqlite3_free(s);
}

/* Computes the labels, which keep their value, and their number. */
static int count_labels(ip_sql_call *call, imgpar_array *const both[2], int64_t *n)
{
    int32_t most = 0;
    for (int k = 0; k < 2; k++)
        if (imgpar_array_status(both[k])) return ip_sql_call_fail_array(call, both[k]);
    if (!ip_sql_evaluate(call, both, 2) && !ip_sql_compute(call, both[1], &most, sizeof most)) *n = most;
    if (!call->code && *n > MAX_LABELS)
        ip_sql_call_fail(call, SQLITE_ERROR, "the mask has %lld regions, more than %d", (long long)*n, MAX_LABELS);
    return call->code;
}

/* Makes the tables of facts that are asked for. */
static int read_facts(ip_sql_call *call, imgpar_context *context, imgpar_array *const *sources, size_t n_sources,
                      const bool *asked, scan *s)
{
    imgpar_array *arrays[N_FACTS];
    int which[N_FACTS], n = 0;
    for (int k = 0; k < N_FACTS && !call->code; k++) {
        if (!asked[k]) continue;
        char *text = sqlite3_mprintf(facts[k].text, (int)s->n);
        s->tables[k] = sqlite3_malloc64((sqlite3_uint64)s->n * (sqlite3_uint64)facts[k].n * sizeof(double));
        if (!text || !s->tables[k]) ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
        which[n] = k;
        arrays[n] = imgpar_apply_safe(context, text ? text : "", sources, n_sources);
        if (imgpar_array_status(arrays[n])) ip_sql_call_fail_array(call, arrays[n]);
        n++;
        sqlite3_free(text);
    }
    if (!call->code && n) ip_sql_evaluate(call, arrays, n); /* R3 */
    for (int k = 0; k < n; k++) {
        const size_t bytes = (size_t)s->n * (size_t)facts[which[k]].n * sizeof(double);
        if (!call->code) ip_sql_compute(call, arrays[k], s->tables[which[k]], bytes);
        imgpar_array_release(arrays[k]);
    }
    return call->code;
}

static int check_sizes(ip_sql_call *call, const ip_sql_inputs *in)
{
    imgpar_info of[2] = { { .struct_size = sizeof *of }, { .struct_size = sizeof *of } };
    for (int k = 0; k < in->n; k++)
        if (imgpar_array_info(in->arrays[k], &of[k])) return ip_sql_call_fail_array(call, in->arrays[k]);
    if (of[0].depth > 1)
        return ip_sql_call_fail(call, SQLITE_ERROR, "the mask is a volume of %lld planes, not an image",
                                (long long)of[0].depth);
    if (in->n < 2 || (of[0].width == of[1].width && of[0].height == of[1].height)) return SQLITE_OK;
    return ip_sql_call_fail(call, SQLITE_ERROR, "the mask is %lldx%lld, the image %lldx%lld", (long long)of[0].width,
                            (long long)of[0].height, (long long)of[1].width, (long long)of[1].height);
}

/* What is read of images, by the columns that are used. */
static int fill(ip_sql_call *call, const ip_sql_inputs *in, int connectivity, uint64_t used, scan *s)
{
    bool asked[N_FACTS] = { false };
    char options[32];
    sqlite3_snprintf(sizeof options, options, "connectivity=%d", connectivity);
    if (check_sizes(call, in)) return call->code;
    imgpar_array *labels = imgpar_op(in->context, "labels", in->arrays, 1, options);
    imgpar_array *most = imgpar_op(in->context, "maxval", &labels, 1, NULL), *both[] = { labels, most };
    for (int k = 0; k < N_COLUMNS; k++)
        if (used >> k & 1 && columns[k].fact >= 0) asked[columns[k].fact] = true;
    asked[FACT_LEVELS] &= in->n > 1;
    if (!count_labels(call, both, &s->n) && s->n > 0) {
        imgpar_array *const sources[] = { labels, in->arrays[1] };
        read_facts(call, in->context, sources, (size_t)in->n, asked, s);
    }
    imgpar_array_release(most);
    imgpar_array_release(labels);
    return call->code;
}

static int begin(ip_sql_call *call, const ip_sql_ask *ask, void **state)
{
    sqlite3_value *given = ask->argv[ARG_CONNECTIVITY], *images[] = { ask->argv[ARG_MASK], ask->argv[ARG_IMAGE] };
    const int64_t connectivity = given ? sqlite3_value_int64(given) : 8;
    if ((given && sqlite3_value_numeric_type(given) != SQLITE_INTEGER) || (connectivity != 4 && connectivity != 8))
        return ip_sql_call_fail(call, SQLITE_ERROR, "connectivity is neither 4 nor 8");
    scan *s = sqlite3_malloc64(sizeof *s);
    if (!s) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    memset(s, 0, sizeof *s);
    *state = s;
    s->at = -1;
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(call, images[1] ? 2 : 1, images, &in)) fill(call, &in, (int)connectivity, ask->used, s);
    ip_sql_inputs_free(&in);
    return call->code;
}

static bool next(ip_sql_call *call, void *state)
{
    (void)call;
    scan *s = state;
    return ++s->at < s->n;
}

static void column(ip_sql_call *call, void *state, sqlite3_context *ctx, int k)
{
    (void)call;
    const scan *s = state;
    const int fact = columns[k].fact;
    if (fact < 0) {
        sqlite3_result_int64(ctx, s->at + 1);
        return;
    }
    if (!s->tables[fact]) return; /* R2 */
    const double *row = s->tables[fact] + s->at * facts[fact].n;
    const double v = row[columns[k].at] - (columns[k].less < 0 ? 0 : row[columns[k].less] - 1);
    if (columns[k].whole)
        sqlite3_result_int64(ctx, (sqlite3_int64)v);
    else
        sqlite3_result_double(ctx, v);
}

const ip_sql_table ip_sql_table_regions = {
    .name = "img_regions",
    .columns = "label INTEGER, area INTEGER, x REAL, y REAL, \"left\" INTEGER, top INTEGER, width INTEGER,"
               " height INTEGER, perimeter REAL, orientation REAL, eccentricity REAL, axis_major_length REAL,"
               " axis_minor_length REAL, extent REAL, mean REAL, min REAL, max REAL, std REAL,"
               " source HIDDEN, measured HIDDEN, connectivity HIDDEN",
    .about = "one row a region of a mask, as labels(), regions() and region_shapes() have it; x and y are its "
             "centroid, the rest of the place is what crop() takes; mean to std are of the luminance of the "
             "image `measured` in it",
    .example = "SELECT label, area, x, y FROM img_regions(apply('cast(make(5, 3, x != 2), u8)'))",
    .n_columns = N_COLUMNS,
    .n_arguments = 3,
    .n_required = 1,
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};
