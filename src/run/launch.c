/* SPDX-License-Identifier: MIT */
#include "run/launch.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "run/check.h"
#include "run/launch_scan.h"
#include "run/opaque.h"
#include "run/shaders.h"
#include "run/texture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

double ip_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The selector of the device at work; "": the host is. */
static const char *device_name(const ip_runner *r) { return r->device ? ip_device_facts_of(r->device)->info.selector : ""; }

void ip_runner_event(const ip_runner *r, const char *kind, const char *name, double start_ms, uint64_t bytes_read,
                     uint64_t bytes_written)
{
    if (!r->options || !r->options->on_event)
        return;
    imgpar_event e = { .kind = kind, .name = name, .ops = "", .schedule = "", .device = device_name(r), .start_ms = start_ms - r->started_ms,
                       .end_ms = ip_now_ms() - r->started_ms, .bytes_read = bytes_read, .bytes_written = bytes_written,
                       .evaluation_ms = r->started_ms };
    r->options->on_event(r->options->user, &e);
}

void ip_runner_late_compile(const ip_runner *r, const char *name, double began_ms, double busy_ms)
{
    enum { LEAST_MS = 1 };
    if (ip_now_ms() - began_ms - busy_ms >= LEAST_MS)
        ip_runner_event(r, "compile", name, began_ms + busy_ms, 0, 0);
}

/* How the domain's region is divided among work-items of the rows schedule, or work-groups of tiles. */
typedef struct division {
    int strip_rows, strip_columns;
    int items_x, items_y, items_z;      /* work-items; of tiles: work-groups */
    size_t scratch_start, scratch_each; /* in units of 64 bytes */
    size_t scratch_bytes;
    bool streams;                       /* what is written is large: emit_stream.c, Note [Streaming] */
    enum { FETCH_NOTHING, FETCH_AHEAD, FETCH_PAGES, FETCH_ROWS } fetches; /* how what is read is fetched, ip_fetch_next() */
    ip_scan_division scan;              /* recurrences: this and scratch_bytes instead */
} division;

typedef struct launching {
    const ip_runner *runner;
    const ip_plan *plan;
    const ip_kernel *kernel;
    const ip_binding *bindings;
    const ip_region *region;
    division div;
    int *params;          /* the parameter buffer's contents */
    size_t n_params;
    ip_program *program;
    bool is_fresh;        /* it was built for this launch */
    ip_buffer *scratch;
    ip_buffer *checks;    /* checked mode */
    ip_buffer *images[IP_MAX_TEXTURES]; /* by the kernel's list of textures */
} launching;

enum {
    SMALL_COLUMNS = 4096,      /* a strip narrower than this is not worth a work-item of its own */
    CACHE_BYTES = 1 << 20,     /* Note [Strips] */
    LEAST_COLUMNS = 256,
    VECTOR_COLUMNS = 64,
    ACROSS_COLUMNS = 64,
    ACROSS_BYTES = 32 << 10,   /* of rows that are copied together: they stay in the first-level cache */
    FOLD_COLUMNS = 65536,      /* Note [Sums of small integers] in emit_fold.c */
    MIN_ROWS = 16,
    GROUPS_AHEAD = 4,          /* tiles that fold: groups are this many times what keeps the device busy */
    LONG_RUN = 256 << 10,      /* bytes that are worth fetching from many pages */
    SHORT_ROW = 8 << 10,       /* bytes of a row up to which its next one is fetched, not its next page */
    LITTLE_WORK = 24,          /* operations a byte up to which a kernel waits for memory rather than computes */
    STRIP_WORK = 20000000      /* operations in a strip at most, so that a batch of strips ends soon */
};

static int64_t ceil_div(int64_t a, int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }
static int64_t clamp64(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Rows of a stage that are made for one of the output, at most, about. */
static int64_t rows_a_row(const launching *l, const ip_placed *p)
{
    return p->pace < 0 ? 1 : ceil_div(p->stage->dims[1], l->kernel->domain[1] > 0 ? l->kernel->domain[1] : 1);
}

static int64_t operations_per_row(const launching *l, int64_t columns)
{
    int64_t n = 1;
    for (int i = 0; i < l->kernel->n_placed; i++)
        n += (1 + ip_x_cost(l->plan->ir, l->kernel->placed[i].stage->body)) * rows_a_row(l, &l->kernel->placed[i]);
    return n * columns * l->kernel->domain[3] * (l->kernel->planes_at_once > 0 ? l->kernel->planes_at_once : 1);
}

static int ring_pitch(const launching *l, const ip_placed *p)
{
    int64_t columns = clamp64((int64_t)l->div.strip_columns + p->left + p->right, 0, p->stage->dims[2]);
    int64_t elements = (columns + 2 * p->pad) * p->stage->dims[3], size = (int64_t)ip_dtype(p->stage->dtype)->size_bytes;
    elements += p->stage->dims[3] == 3; /* the fourth lane of the last pixel: emit_lanes.c */
    if (p->at_once) /* written column by column: an odd number of lines a row, which no two rows share a place in the cache with */
        elements = (ceil_div(elements * size, 64) | 1) * 64 / size;
    return (int)elements;
}

static size_t ring_units(const launching *l, const ip_placed *p)
{
    size_t bytes = (size_t)ring_pitch(l, p) * (size_t)p->rows * ip_dtype(p->stage->dtype)->size_bytes;
    return (bytes + 63) / 64 + 1; /* one more: rings do not share a cache line */
}

/* What of a result is made before it goes to memory: a block of a row or a row, behind what the last block left of a line. */
static size_t line_units(const launching *l, const ip_placed *p)
{
    size_t columns = (size_t)(p->block_columns > 0 ? p->block_columns : l->div.strip_columns);
    return (columns * (size_t)p->stage->dims[3] * ip_dtype(p->stage->dtype)->size_bytes + 63) / 64 + 2;
}

/* A row of a running sum of a stage. */
static size_t sums_units(const launching *l, const ip_placed *p, int k)
{
    int64_t columns = clamp64((int64_t)l->div.strip_columns + p->left + p->right, 0, p->stage->dims[2]);
    return ((size_t)(columns * p->stage->dims[3]) * ip_dtype(p->running[k]->dtype)->size_bytes + 63) / 64 + 1;
}

/* What a stage keeps in a work-item's scratch: its ring, then its running sums. */
static size_t placed_units(const launching *l, const ip_placed *p)
{
    size_t units = p->place == IP_PLACE_RING ? ring_units(l, p) : l->div.streams && p->is_streamed ? line_units(l, p) : 0;
    for (int k = 0; k < p->n_running; k++)
        units += sums_units(l, p, k);
    return units;
}

/* Columns of a strip that reads across: what is copied of each row of the source, or a line of it, stays in the cache. */
static int64_t across_columns(const ip_kernel *k)
{
    int64_t columns = INT64_MAX;
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = &k->placed[i];
        int64_t bytes = p->at_once * p->stage->dims[3] * (int64_t)ip_dtype(p->stage->dtype)->size_bytes;
        if (p->at_once && ACROSS_BYTES / bytes < columns)
            columns = ACROSS_BYTES / bytes / ACROSS_COLUMNS * ACROSS_COLUMNS;
    }
    return columns == INT64_MAX || columns < ACROSS_COLUMNS ? ACROSS_COLUMNS : columns;
}

/*
 * Note [Strips]
 * A strip is as wide as the rows it keeps and reads fit the second-level cache, in whole vectors; in a chain of stages,
 * which mostly reads what it has just written, the first-level one. Where columns are read along rows, as a transpose
 * does, a strip is so narrow that what a row of it reads stays there until the next row reads what lies beside. Taller
 * strips compute fewer rows twice. There are enough strips to keep all units busy to the end, and none takes so long that
 * nobody could poll.
 */
static int64_t cached_columns(const launching *l, int64_t columns)
{
    const ip_kernel *k = l->kernel;
    int64_t halo = 0;
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].left + k->placed[i].right > halo)
            halo = k->placed[i].left + k->placed[i].right;
    int64_t each = k->read_bytes + k->ring_bytes;
    bool is_chain = k->ring_bytes * 2 > k->read_bytes * 3;
    int64_t fit = (is_chain ? l->runner->tuning.strip_bytes : CACHE_BYTES) / (each > 0 ? each : 1);
    int64_t least = halo * 3 > LEAST_COLUMNS ? halo * 3 : LEAST_COLUMNS;
    if (k->reads_across && !k->whole_rows)
        return clamp64(columns, 1, across_columns(k));
    if (k->whole_rows || fit >= columns || least >= columns)
        return columns;
    int64_t parts = ceil_div(columns, fit > least ? fit : least);
    return clamp64(ceil_div(ceil_div(columns, parts), VECTOR_COLUMNS) * VECTOR_COLUMNS, 1, columns);
}

/* What of its results a kernel of the rows schedule writes row by row. */
static uint64_t bytes_in_rows(const launching *l)
{
    uint64_t bytes = 0;
    for (int i = 0; i < l->kernel->n_placed; i++)
        if (l->kernel->placed[i].is_streamed)
            bytes += ip_region_bytes(l->region, l->kernel->placed[i].stage);
    return l->kernel->is_scan ? ip_region_bytes(l->region, l->kernel->outputs[0]) : bytes;
}

static uint64_t bytes_read(const launching *l)
{
    uint64_t bytes = 0;
    for (int i = 0; i < l->kernel->n_inputs; i++)
        bytes += ip_region_bytes(&l->bindings[l->kernel->inputs[i]->id].region, l->kernel->inputs[i]);
    return bytes;
}

/* Whether a kernel will read the results soon: another one of the plan, or of the loop's next step. */
static bool is_read_again(const launching *l)
{
    for (int k = 0; k < l->plan->n_kernels; k++)
        for (int i = 0; i < l->plan->kernels[k].n_inputs; i++)
            if (ip_kernel_stores(l->kernel, l->plan->kernels[k].inputs[i]))
                return true;
    return l->runner->is_step;
}

/* Whether a work-item reads its inputs as they stand in memory, many pages one after the other. */
static bool reads_long_runs(const launching *l)
{
    const ip_kernel *k = l->kernel;
    int64_t columns = l->region->x1 - l->region->x0, rows = l->div.strip_columns < columns ? 1 : l->div.strip_rows;
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_stage *s = k->inputs[i];
        int64_t pixel = s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes;
        if (s->dims[2] > columns || (s->dims[2] == columns && rows * l->div.strip_columns * pixel < LONG_RUN))
            return false;
    }
    return true;
}

/* Whether what a work-item reads of a row is so short that the next page is another one's. */
static bool reads_short_rows(const launching *l)
{
    const ip_kernel *k = l->kernel;
    bool is_short = !k->is_scan && l->div.strip_columns < l->region->x1 - l->region->x0;
    for (int i = 0; i < k->n_inputs; i++)
        is_short = is_short && l->div.strip_columns * k->inputs[i]->dims[3] * (int64_t)ip_dtype(k->inputs[i]->dtype)->size_bytes <= SHORT_ROW;
    return is_short;
}

/*
 * What is larger than caches goes past them; not what the next kernel finds in the last one. A loop's next step reads nothing else, so it
 * finds enough of what is up to half as large again (measured: 48 MB, of 32 MB of cache, are read and written 1.2 times as fast).
 */
static void choose_streaming(launching *l)
{
    uint64_t read = bytes_read(l), written = bytes_in_rows(l), least = (uint64_t)l->runner->tuning.stream_bytes;
    uint64_t cache = ip_device_facts_of(l->runner->device)->cache_bytes, most = l->runner->is_step ? cache / 2 * 3 : cache / 2;
    bool stays = read + written <= most && is_read_again(l);
    int64_t rows = l->region->y1 - l->region->y0, planes = l->region->z1 - l->region->z0;
    bool waits = (double)operations_per_row(l, l->region->x1 - l->region->x0) * (double)(rows * planes) <= LITTLE_WORK * (double)read;
    bool is_near = stays && l->runner->is_step;
    l->div.fetches = read < least || is_near ? FETCH_NOTHING : reads_short_rows(l) ? FETCH_ROWS : waits && reads_long_runs(l) ? FETCH_PAGES
                                                                                                                          : FETCH_AHEAD;
    l->div.streams = written >= least && !stays;
}

static void divide(launching *l)
{
    const ip_kernel *k = l->kernel;
    const ip_region *r = l->region;
    division *d = &l->div;
    bool keeps_rows = k->schedule == IP_SCHEDULE_ROWS;
    int64_t rows = r->y1 - r->y0, columns = r->x1 - r->x0;
    int64_t target = (int64_t)ip_device_facts_of(l->runner->device)->work_items_per_launch;
    int64_t chunk = keeps_rows ? cached_columns(l, columns) : columns;
    if (k->n_folds > 0 && !k->whole_rows && chunk > FOLD_COLUMNS)
        chunk = FOLD_COLUMNS;
    d->items_z = (int)ceil_div(r->z1 - r->z0, k->planes_at_once > 0 ? k->planes_at_once : 1);
    int64_t beside = ceil_div(columns, chunk > 0 ? chunk : 1) * (d->items_z > 0 ? d->items_z : 1);
    int64_t per_row = operations_per_row(l, chunk);
    int64_t least = keeps_rows ? clamp64(4 * ip_kernel_rows_twice(k), MIN_ROWS, 1 << 20) : 1;
    if (k->whole_rows) /* nothing but rows to share */
        least = clamp64(least, 1, ceil_div(rows, target / 4 > 0 ? target / 4 : 1));
    int64_t strip = clamp64(ceil_div(rows * beside, target), least, rows > 0 ? rows : 1);
    strip = clamp64(STRIP_WORK / (per_row > 0 ? per_row : 1), least < strip ? least : strip, strip);
    d->items_y = (int)ceil_div(rows, strip);
    strip = ceil_div(rows, d->items_y > 0 ? d->items_y : 1); /* as many of equal height */
    d->strip_rows = (int)strip;
    if (!k->whole_rows) { /* few rows, but long ones */
        int64_t wanted = ceil_div(target, (int64_t)d->items_y * (d->items_z > 0 ? d->items_z : 1));
        int64_t narrow = clamp64(ceil_div(columns, wanted), columns < SMALL_COLUMNS ? columns : SMALL_COLUMNS, columns);
        int64_t quick = STRIP_WORK / (ceil_div(per_row, chunk > 0 ? chunk : 1) * strip + 1);
        narrow = clamp64(quick, narrow < SMALL_COLUMNS ? narrow : SMALL_COLUMNS, narrow);
        chunk = chunk < narrow ? chunk : narrow;
    }
    d->strip_columns = (int)(chunk > 0 ? chunk : 1);
    d->items_x = (int)ceil_div(columns, d->strip_columns);
    choose_streaming(l);
    for (int i = 0; i < k->n_placed; i++) /* a line that is not in a cache saves nothing */
        d->streams = d->streams && !(k->placed[i].is_streamed && line_units(l, &k->placed[i]) > CACHE_BYTES / 64);
}

/* A work-group a tile. Folds: a work-group a strip of tiles, as many groups as keep the device busy. */
static void divide_tiles(launching *l)
{
    const ip_tiling *t = &l->kernel->tiling;
    const ip_region *r = l->region;
    division *d = &l->div;
    int64_t tiles_y = ceil_div(r->y1 - r->y0, t->height), tiles_each = 1;
    d->items_x = (int)ceil_div(r->x1 - r->x0, t->width);
    d->items_z = (int)(r->z1 - r->z0);
    if (l->kernel->n_folds > 0) {
        int64_t items = (int64_t)ip_device_facts_of(l->runner->device)->work_items_per_launch;
        int64_t groups = ceil_div(GROUPS_AHEAD * items, (int64_t)t->group_width * t->group_height);
        tiles_each = clamp64(ceil_div(tiles_y * d->items_x * d->items_z, groups), 1, tiles_y > 0 ? tiles_y : 1);
    }
    d->strip_rows = (int)(tiles_each * t->height);
    d->strip_columns = t->width;
    d->items_y = (int)ceil_div(tiles_y, tiles_each);
}

/* A fold's partial result of one work-item, or one work-group. */
static size_t partial_bytes(const launching *l, const ip_stage *s)
{
    if (s->kind == IP_STAGE_HISTOGRAM)
        return (size_t)(s->dims[1] * ip_histogram_pitch(l->kernel, s) * ip_histogram_tables(l->kernel, s)) * 4;
    return 2 * (size_t)ip_dtype(s->acc_dtype)->size_bytes;
}

static imgpar_status plan_scratch(launching *l, ip_error *err)
{
    const ip_kernel *k = l->kernel;
    division *d = &l->div;
    size_t items = (size_t)d->items_x * (size_t)d->items_y * (size_t)d->items_z;
    size_t each = 0, partials, rings = 0;
    d->scratch_start = 0;
    for (int i = 0; i < k->n_placed; i++)
        each += placed_units(l, &k->placed[i]);
    for (int i = 0; i < k->n_outputs; i++) {
        if (!ip_stage_folds(k->outputs[i]))
            continue;
        if (!ip_mul_size(items, partial_bytes(l, k->outputs[i]), &partials) || partials / 64 > INT32_MAX - d->scratch_start)
            return ip_fail(err, IMGPAR_E_LIMIT, "%s: too large for this device", k->ops);
        d->scratch_start += (partials + 63) / 64;
    }
    d->scratch_each = each;
    if (!ip_mul_size(items, each, &rings) || rings > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: too large for this device", k->ops);
    d->scratch_bytes = (d->scratch_start + rings + 1) * 64;
    return IMGPAR_OK;
}

/* ---- parameters ---------------------------------------------------------------------- */

static void put_number(int *cell, const ip_expr *p)
{
    switch (p->dtype) {
    case IMGPAR_F32: {
        float f = (float)p->f;
        memcpy(cell, &f, sizeof f);
        break;
    }
    case IMGPAR_F64: memcpy(cell, &p->f, sizeof p->f); break;
    case IMGPAR_U64:
    case IMGPAR_I64: memcpy(cell, &p->i, sizeof p->i); break;
    default: *cell = (int)p->i;
    }
}

static const int64_t *dims_of_slot(const ip_slot *s)
{
    if (s->stage->kind == IP_STAGE_REDUCE || (s->stage->kind == IP_STAGE_HISTOGRAM && s->index < 2))
        return s->stage->over;
    return s->stage->dims;
}

static int ring_offset(const launching *l, const ip_stage *stage)
{
    size_t units = 0;
    for (int i = 0; i < l->kernel->n_placed; i++) {
        const ip_placed *p = &l->kernel->placed[i];
        if (p->stage == stage)
            break;
        units += placed_units(l, p);
    }
    return (int)units;
}

static int sums_offset(const launching *l, const ip_stage *stage, int index)
{
    const ip_placed *p = ip_kernel_placed(l->kernel, stage);
    size_t units = (size_t)ring_offset(l, stage) + placed_units(l, p);
    for (int k = index; k < p->n_running; k++)
        units -= sums_units(l, p, k);
    return (int)units;
}

static size_t table_cells(const ip_stage *table)
{
    return (size_t)table->dims[2] * (ip_dtype(table->dtype)->size_bytes / sizeof(int));
}

/* Tables stand at the end of the parameters, one after the other. */
static int table_start(const launching *l, const ip_stage *table)
{
    size_t start = l->n_params;
    for (int i = 0; i < l->kernel->n_tables; i++)
        start -= table_cells(l->kernel->tables[i]);
    for (int i = 0; i < l->kernel->n_tables && l->kernel->tables[i] != table; i++)
        start += table_cells(l->kernel->tables[i]);
    return (int)start;
}

/* Partial results stand in the order of the outputs. */
static int partial_offset(const launching *l, const ip_stage *fold)
{
    size_t items = (size_t)l->div.items_x * (size_t)l->div.items_y * (size_t)l->div.items_z, units = 0;
    for (int i = 0; i < l->kernel->n_outputs && l->kernel->outputs[i] != fold; i++)
        if (ip_stage_folds(l->kernel->outputs[i]))
            units += (items * partial_bytes(l, l->kernel->outputs[i]) + 63) / 64;
    return (int)units;
}

static int slot_value(const launching *l, const ip_slot *s)
{
    const ip_region *r = l->region;
    const division *d = &l->div;
    const ip_region *b = s->stage && (s->kind == IP_SLOT_ORIGIN || s->kind == IP_SLOT_PITCH) ? &l->bindings[s->stage->id].region : r;
    switch (s->kind) {
    case IP_SLOT_REGION: return (int)((const int64_t[]){ r->z0, r->z1, r->y0, r->y1, r->x0, r->x1 })[s->index];
    case IP_SLOT_STRIP: return (const int[]){ d->strip_rows, d->strip_columns, d->items_x, d->items_y }[s->index];
    case IP_SLOT_DIM: return (int)dims_of_slot(s)[s->index];
    case IP_SLOT_ORIGIN: return (int)((const int64_t[]){ b->z0, b->y0, b->x0 })[s->index];
    case IP_SLOT_PITCH: return (int)((const int64_t[]){ (b->x1 - b->x0) * s->stage->dims[3], b->y1 - b->y0, b->z1 - b->z0 })[s->index];
    case IP_SLOT_RING_OFFSET: return ring_offset(l, s->stage);
    case IP_SLOT_IS_LARGE: return s->index ? (int)d->fetches : d->streams;
    case IP_SLOT_SUMS: return sums_offset(l, s->stage, s->index);
    case IP_SLOT_RING_PITCH: return ring_pitch(l, ip_kernel_placed(l->kernel, s->stage));
    case IP_SLOT_SCRATCH: return (int)(s->index ? d->scratch_start : d->scratch_each);
    case IP_SLOT_PARTIAL: return partial_offset(l, s->stage);
    case IP_SLOT_TABLE: return table_start(l, s->stage);
    case IP_SLOT_ITEMS: return s->index ? 0 : d->items_x * d->items_y * d->items_z;
    case IP_SLOT_SCAN: return d->scan.slots[s->index];
    case IP_SLOT_PARAM: break;
    }
    return 0;
}

static bool is_wide(const ip_slot *s)
{
    return s->kind == IP_SLOT_PARAM && ip_dtype(s->param->dtype)->size_bytes == 8;
}

static imgpar_status make_params(launching *l, ip_error *err)
{
    const ip_kernel *k = l->kernel;
    size_t n = 0, cell = 0;
    for (int i = 0; i < k->n_slots; i++)
        n += is_wide(&k->slots[i]) ? 2 : 1;
    for (int i = 0; i < k->n_tables; i++)
        n += table_cells(k->tables[i]);
    l->n_params = n;
    l->params = ip_alloc_array(n + 1, sizeof *l->params);
    if (!l->params)
        return ip_fail_memory(err, "launching a kernel");
    for (int i = 0; i < k->n_slots; i++) {
        const ip_slot *s = &k->slots[i];
        if (s->kind == IP_SLOT_PARAM)
            put_number(&l->params[cell], s->param);
        else
            l->params[cell] = slot_value(l, s);
        cell += is_wide(s) ? 2 : 1;
    }
    for (int i = 0; i < k->n_tables; i++) {
        size_t count = table_cells(k->tables[i]);
        memcpy(&l->params[cell], k->tables[i]->table, count * sizeof(int));
        cell += count;
    }
    return IMGPAR_OK;
}

/* ---- launching ------------------------------------------------------------------------- */

static imgpar_status get_program(launching *l, ip_error *err)
{
    ip_str source = IP_STR_INIT;
    ip_str_append(&source, ip_shader_text("helpers"));
    ip_str_append(&source, "\n");
    ip_str_append(&source, l->kernel->calls_functions ? ip_shader_text("functions") : "");
    ip_str_append(&source, l->kernel->source);
    if (source.failed) {
        ip_str_free(&source);
        return ip_fail_memory(err, "compiling a kernel");
    }
    bool built = false;
    double start = ip_now_ms();
    bool in_groups = l->kernel->schedule == IP_SCHEDULE_TILES && l->kernel->n_folds > 0;
    bool has_sub_groups = ip_device_facts_of(l->runner->device)->has_sub_groups;
    char options[64];
    snprintf(options, sizeof options, "%s%s%s%s", l->kernel->uses_f64 ? "-DIP_F64" : "", l->kernel->n_checks > 0 ? " -DIP_CHECK" : "",
             in_groups ? " -DIP_GROUPS" : "", in_groups && has_sub_groups ? " -DIP_SUB_GROUPS" : "");
    imgpar_status st = ip_program_get(l->runner->device, source.text, options, &l->program, &built, err);
    if (built)
        ip_runner_event(l->runner, "compile", l->kernel->name, start, 0, 0);
    l->is_fresh = built;
    ip_str_free(&source);
    return st;
}

void ip_kernel_report(const ip_runner *runner, const ip_kernel *k, const ip_binding *bindings, double start_ms,
                      double busy_ms)
{
    const imgpar_options *o = runner->options;
    if (!o || !o->on_event)
        return;
    imgpar_event e = { .kind = "kernel", .name = k->name, .ops = k->ops, .schedule = ip_schedule_name(k->schedule),
                       .device = device_name(runner), .start_ms = start_ms - runner->started_ms, .evaluation_ms = runner->started_ms };
    e.end_ms = e.start_ms + busy_ms;
    for (int i = 0; i < k->n_inputs; i++)
        e.bytes_read += ip_region_bytes(&bindings[k->inputs[i]->id].region, k->inputs[i]);
    for (int i = 0; i < k->n_outputs; i++)
        e.bytes_written += ip_region_bytes(&bindings[k->outputs[i]->id].region, k->outputs[i]);
    o->on_event(o->user, &e);
}

static imgpar_status launch_once(launching *l, const char *name, const size_t global[3], const size_t local[3],
                                 double *busy_ms, ip_error *err)
{
    const ip_kernel *k = l->kernel;
    size_t n = l->n_params * sizeof(int);
    ip_buffer *params = NULL;
    imgpar_status st = ip_buffer_new_with(l->runner->device, l->params, n, &params, err);
    size_t most = (size_t)(k->n_outputs + k->n_inputs + 3);
    ip_buffer **buffers = ip_alloc_array(most, sizeof *buffers);
    bool *writes = ip_zalloc(most * sizeof *writes);
    if (!buffers || !writes)
        st = st ? st : ip_fail_memory(err, "launching a kernel");
    if (st) {
        ip_buffer_release(params);
        ip_free(buffers);
        ip_free(writes);
        return st;
    }
    int at = 0;
    for (int i = 0; i < k->n_outputs; i++) {
        writes[at] = true;
        buffers[at++] = l->bindings[k->outputs[i]->id].buffer;
    }
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_texture *texture = ip_kernel_texture(k, k->inputs[i]);
        buffers[at++] = texture ? l->images[texture - k->textures] : l->bindings[k->inputs[i]->id].buffer;
    }
    if (k->has_scratch) {
        writes[at] = true;
        buffers[at++] = l->scratch;
    }
    buffers[at++] = params;
    if (l->checks) {
        writes[at] = true;
        buffers[at++] = l->checks;
    }
    ip_launch launch = { .program = l->program, .kernel = name, .buffers = buffers, .n_buffers = at, .writes = writes, .dims = 3 };
    memcpy(launch.global, global, sizeof launch.global);
    memcpy(launch.local, local, sizeof launch.local);
    uint64_t start_ns = 0, end_ns = 0;
    bool timed = busy_ms != NULL;
    double began = ip_now_ms(), took_ms;
    st = ip_device_launch(l->runner->device, &launch, timed ? &start_ns : NULL, timed ? &end_ns : NULL, err);
    took_ms = (double)(end_ns - start_ns) / 1e6;
    if (!st && timed)
        *busy_ms += took_ms;
    if (!st && timed && l->is_fresh)
        ip_runner_late_compile(l->runner, name, began, took_ms);
    ip_buffer_release(params);
    ip_free(buffers);
    ip_free(writes);
    return st;
}

static int *region_cell(launching *l, int index)
{
    int cell = 0;
    for (int i = 0; i < l->kernel->n_slots; i++) {
        const ip_slot *s = &l->kernel->slots[i];
        if (s->kind == IP_SLOT_REGION && s->index == index)
            return &l->params[cell];
        cell += is_wide(s) ? 2 : 1;
    }
    return NULL;
}

static void set_items_start(launching *l, int first)
{
    int cell = 0;
    for (int i = 0; i < l->kernel->n_slots; i++) {
        const ip_slot *s = &l->kernel->slots[i];
        if (s->kind == IP_SLOT_ITEMS && s->index == 1)
            l->params[cell] = first;
        cell += is_wide(s) ? 2 : 1;
    }
}

/*
 * Note [Batches]
 * With a poll callback the strips of a launch go out in batches: the first holds what each compute unit can take of
 * STRIP_WORK operations, a strip at least, and each next one grows or shrinks so as to take about BATCH_MS. A batch is a
 * part of one plane, or of whole planes. It moves the region's first plane and row (or, where there is one row of
 * strips, column) and the first item's number.
 */
enum { BATCH_MS = 40, BATCH_GROWTH = 4 };

static int64_t next_batch(int64_t batch, double took_ms)
{
    double wanted = (double)batch * BATCH_MS / (took_ms > 0.1 ? took_ms : 0.1);
    int64_t most = batch < INT32_MAX / BATCH_GROWTH ? batch * BATCH_GROWTH : INT32_MAX;
    return (int64_t)fmin(fmax(wanted, 1), (double)most);
}

/* Waits for the last batch and asks whether to go on; done is the launch's share that is over. */
static imgpar_status poll_batch(const launching *l, double done, ip_error *err)
{
    const ip_poll *poll = &l->runner->poll;
    imgpar_status st = ip_buffer_wait(l->bindings[l->kernel->outputs[0]->id].buffer, err);
    if (!st && poll->stop(poll->user, 0.1 + 0.8 * done))
        st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    return st;
}

static void set_region(launching *l, int index, int64_t value)
{
    int *cell = region_cell(l, index);
    if (cell)
        *cell = (int)value;
}

/* Rows of strips, or single ones. */
static int64_t first_batch(const launching *l, int beside)
{
    const division *d = &l->div;
    int64_t units = (int64_t)ip_device_facts_of(l->runner->device)->info.compute_units;
    int64_t each = operations_per_row(l, (int64_t)d->strip_columns * beside) * d->strip_rows;
    return clamp64(units * STRIP_WORK / (each > 0 ? each : 1), units > 0 ? units : 1, INT32_MAX);
}

static imgpar_status launch_strips(launching *l, double *busy_ms, ip_error *err)
{
    const division *d = &l->div;
    const ip_tiling *t = &l->kernel->tiling;
    bool in_groups = l->kernel->schedule == IP_SCHEDULE_TILES;
    const size_t local[3] = { in_groups ? (size_t)t->group_width : 1, in_groups ? (size_t)t->group_height : 1, 1 };
    bool along_y = d->items_y > 1 || d->items_x <= 1;
    int total = along_y ? d->items_y : d->items_x;
    bool batched = l->runner->poll.stop != NULL;
    int64_t batch = batched ? first_batch(l, along_y ? d->items_x : 1) : (int64_t)total * d->items_z;
    int64_t start = along_y ? l->region->y0 : l->region->x0, step = along_y ? d->strip_rows : d->strip_columns;
    int per_strip = along_y ? d->items_x : 1, planes_each = l->kernel->planes_at_once > 0 ? l->kernel->planes_at_once : 1;
    for (int z = 0, done = 0; z < d->items_z;) {
        int n = total - done < batch ? total - done : (int)batch;
        int planes = n < total ? 1 : (int)clamp64(batch / total, 1, d->items_z - z);
        set_region(l, 0, l->region->z0 + (int64_t)z * planes_each);
        set_region(l, along_y ? 2 : 4, start + done * step);
        set_items_start(l, z * d->items_x * d->items_y + done * per_strip);
        size_t global[3] = { (size_t)(along_y ? d->items_x : n) * local[0], (size_t)(along_y ? n : d->items_y) * local[1],
                             (size_t)planes };
        double began = ip_now_ms();
        imgpar_status st = launch_once(l, l->kernel->name, global, local, busy_ms, err);
        done = (done + n) % total;
        z += done == 0 ? planes : 0;
        if (!st && batched)
            st = poll_batch(l, (z + (double)done / total) / d->items_z, err);
        if (st)
            return st;
        batch = batched ? next_batch(batch, ip_now_ms() - began) : batch;
    }
    return IMGPAR_OK;
}

static imgpar_status launch_pixels(launching *l, double *busy_ms, ip_error *err)
{
    const ip_region *r = l->region;
    size_t side = ip_device_facts_of(l->runner->device)->local_size;
    int64_t columns = r->x1 - r->x0, rows = r->y1 - r->y0;
    const size_t local[3] = { side, 1, 1 };
    int64_t work = columns * (1 + ip_x_cost(l->plan->ir, l->kernel->outputs[0]->body)) * l->kernel->domain[3];
    bool batched = l->runner->poll.stop != NULL;
    int64_t planes = batched ? r->z1 - r->z0 : 1;
    int64_t batch = batched && work > 0 ? clamp64(STRIP_WORK / work, 1, rows) : rows;
    for (int64_t z = 0; z < planes; z++) {
        set_region(l, 0, r->z0 + z);
        for (int64_t done = 0; done < rows;) {
            int64_t n = rows - done < batch ? rows - done : batch;
            const size_t global[3] = { ((size_t)columns + side - 1) / side * side, (size_t)n, (size_t)(batched ? 1 : r->z1 - r->z0) };
            set_region(l, 2, r->y0 + done);
            double began = ip_now_ms();
            imgpar_status st = launch_once(l, l->kernel->name, global, local, busy_ms, err);
            done += n;
            if (!st && batched)
                st = poll_batch(l, ((double)z + (double)done / (double)rows) / (double)planes, err);
            if (st)
                return st;
            batch = batched ? next_batch(batch, ip_now_ms() - began) : batch;
        }
    }
    return IMGPAR_OK;
}

static imgpar_status launch_finish(launching *l, double *busy_ms, ip_error *err)
{
    char name[96];
    size_t n = strlen(l->kernel->name);
    memcpy(name, l->kernel->name, n);
    memcpy(name + n, "_finish", 8);
    size_t elements = 1;
    for (int i = 0; i < l->kernel->n_outputs; i++) {
        const ip_stage *s = l->kernel->outputs[i];
        if (s->kind == IP_STAGE_HISTOGRAM && (size_t)(s->dims[1] * s->dims[2]) > elements)
            elements = (size_t)(s->dims[1] * s->dims[2]);
    }
    const ip_tiling *t = &l->kernel->tiling;
    size_t group = l->kernel->schedule == IP_SCHEDULE_TILES ? (size_t)(t->group_width * t->group_height) : 1;
    const size_t global[3] = { (elements + group - 1) / group * group, (size_t)l->kernel->n_folds, 1 }, local[3] = { group, 1, 1 };
    return launch_once(l, name, global, local, busy_ms, err);
}

typedef struct recurrence { launching *launching; double *busy_ms; } recurrence;

static imgpar_status launch_phase(void *user, const char *suffix, const size_t global[3], const size_t local[3], double done,
                                  ip_error *err)
{
    recurrence *r = user;
    launching *l = r->launching;
    char name[96];
    int cell = 0;
    snprintf(name, sizeof name, "%s%s", l->kernel->name, suffix);
    for (int i = 0; i < l->kernel->n_slots; i++) {
        const ip_slot *s = &l->kernel->slots[i];
        if (s->kind == IP_SLOT_SCAN)
            l->params[cell] = slot_value(l, s);
        cell += is_wide(s) ? 2 : 1;
    }
    imgpar_status st = launch_once(l, name, global, local, r->busy_ms, err);
    if (st || !l->runner->poll.stop)
        return st;
    st = ip_buffer_wait(l->scratch ? l->scratch : l->bindings[l->kernel->outputs[0]->id].buffer, err); /* all phases write it */
    if (!st && l->runner->poll.stop(l->runner->poll.user, 0.1 + 0.8 * done))
        st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    return st;
}

static bool is_empty(const ip_region *r) { return r->z1 <= r->z0 || r->y1 <= r->y0 || r->x1 <= r->x0; }

/* Columns are counted in int on the device, where a strip or tile may begin before its row's end and end behind it. */
static imgpar_status check_row(const ip_kernel *k, const int64_t dims[4], ip_error *err)
{
    enum { LONGEST_ROW = INT32_MAX - (1 << 24) };
    int64_t n = dims[2] * dims[3];
    if (n <= LONGEST_ROW)
        return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_LIMIT, "%s: a row of %lld elements is too long for this device", k->ops, (long long)n);
}

static imgpar_status check_rows(const ip_kernel *k, ip_error *err)
{
    imgpar_status st = check_row(k, k->domain, err);
    for (int i = 0; !st && i < k->n_inputs; i++)
        st = check_row(k, k->inputs[i]->dims, err);
    for (int i = 0; !st && i < k->n_placed; i++)
        st = check_row(k, k->placed[i].stage->dims, err);
    for (int i = 0; !st && i < k->n_outputs; i++)
        st = check_row(k, k->outputs[i]->dims, err);
    return st;
}

imgpar_status ip_kernel_run(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel,
                            const ip_binding *bindings, const ip_region *region, ip_error *err)
{
    launching l = { .runner = runner, .plan = plan, .kernel = kernel, .bindings = bindings, .region = region };
    bool in_strips = ip_kernel_walks_rows(kernel) || kernel->schedule == IP_SCHEDULE_TILES;
    if ((is_empty(region) || kernel->domain[3] == 0) && kernel->n_folds == 0)
        return IMGPAR_OK;
    imgpar_status st = check_rows(kernel, err);
    if (st)
        return st;
    if (kernel->schedule == IP_SCHEDULE_OPAQUE)
        return ip_opaque_run(runner, kernel, bindings, region, err);
    const ip_device_facts *facts = ip_device_facts_of(runner->device);
    if (kernel->is_scan) {
        int64_t operations = ip_x_cost(plan->ir, kernel->outputs[0]->body) + ip_x_cost(plan->ir, kernel->outputs[0]->finish) + 1;
        st = ip_scan_divide(kernel, region, facts, operations, &l.div.scan, err);
        choose_streaming(&l);
        l.div.streams = l.div.streams && l.div.scan.line_bytes > 0;
        l.div.scratch_bytes = l.div.scan.state_bytes + (l.div.streams ? l.div.scan.line_bytes : 0);
    } else if (in_strips) {
        if (kernel->schedule == IP_SCHEDULE_TILES)
            divide_tiles(&l);
        else
            divide(&l);
        st = plan_scratch(&l, err);
    }
    if (!st)
        st = make_params(&l, err);
    if (!st)
        st = get_program(&l, err);
    if (!st && kernel->has_scratch)
        st = ip_buffer_new(runner->device, l.div.scratch_bytes, &l.scratch, err);
    if (!st && kernel->n_checks > 0)
        st = ip_check_begin(runner->device, &l.checks, err);
    bool timed = runner->options && runner->options->on_event;
    double busy_ms = 0, start_ms = ip_now_ms();
    recurrence r = { &l, timed ? &busy_ms : NULL };
    for (int i = 0; !st && i < kernel->n_textures; i++)
        st = ip_texture_make(runner, &kernel->textures[i], &bindings[kernel->textures[i].stage->id], &l.images[i], timed ? &busy_ms : NULL, err);
    if (!st && kernel->is_scan)
        st = ip_scan_launch(&l.div.scan, facts, runner->poll.stop != NULL, launch_phase, &r, err);
    else if (!st && !is_empty(region))
        st = in_strips ? launch_strips(&l, timed ? &busy_ms : NULL, err) : launch_pixels(&l, timed ? &busy_ms : NULL, err);
    if (!st && kernel->n_folds > 0)
        st = launch_finish(&l, timed ? &busy_ms : NULL, err);
    if (!st && l.checks)
        st = ip_check_end(l.checks, kernel, err);
    if (!st)
        ip_kernel_report(runner, kernel, bindings, start_ms, busy_ms);
    /* Whoever gets this memory next waits for the kernel (order.c). */
    for (int i = 0; i < kernel->n_textures; i++)
        ip_buffer_release(l.images[i]);
    ip_buffer_release(l.scratch);
    ip_buffer_release(l.checks);
    ip_program_release(l.program);
    ip_free(l.params);
    return st;
}
