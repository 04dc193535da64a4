/* SPDX-License-Identifier: MIT */
/* How a kernel's domain is divided among work-items, and what each of them keeps in scratch memory. */
#include "run/launching.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"

enum {
    SMALL_COLUMNS = 4096,  /* a panel narrower than this is not worth a work-item of its own */
    CACHE_BYTES = 1 << 20, /* Note [Strips] */
    VECTOR_COLUMNS = 64,
    TRANSPOSE_COLUMNS = 64,
    PLACES_COLUMNS = 1024,      /* what they read at computed places, and the rows above, stay in the caches */
    TRANSPOSE_BYTES = 48 << 10, /* of rows that are copied together */
    TRANSPOSE_PREFETCHED =
        1 << 20, /* bytes from which columns of other rows are prefetched: processors foresee none of them */
    MIN_ROWS = 16,
    GROUPS_AHEAD = 4,         /* tiles that fold: groups are this many times what keeps the device busy */
    LONG_RUN = 256 << 10,     /* bytes that are worth prefetching from many pages */
    SHORT_ROW = 8 << 10,      /* bytes of a row up to which its next one is prefetched, not its next page */
    WIDE_ROW = 8,             /* times as many columns as what is made of it */
    LEAST_STREAMED = 1 << 10, /* bytes of a row that goes past the caches */
    FAR_CACHE = 128 << 20,    /* bytes of a last cache that is far from its processors */
    LITTLE_WORK = 24,         /* operations a byte up to which a kernel waits for memory rather than computes */
    SOME_WORK = 44            /* the same, up to which it is worth prefetching rows ahead while it computes */
};

/* Rows of a stage that are made for one of the output, at most, about. */
static int64_t rows_a_row(const ip_launching *l, const ip_placed *p)
{
    return p->rate_of < 0 ? 1 : ip_ceil_div(p->stage->dims[1], l->kernel->domain[1] > 0 ? l->kernel->domain[1] : 1);
}

int64_t ip_operations_per_row(const ip_launching *l, int64_t columns)
{
    int64_t n = 1;
    for (int i = 0; i < l->kernel->n_placed; i++)
        n += (1 + l->kernel->placed[i].operations) * rows_a_row(l, &l->kernel->placed[i]);
    return n * columns * l->kernel->domain[3] *
           ip_clamp(l->region->z1 - l->region->z0, 1, l->kernel->planes_at_once > 0 ? l->kernel->planes_at_once : 1);
}

/* Bytes from one row to the next. */
static size_t bytes_a_row(const ip_launching *l, const ip_scratch *s)
{
    int64_t columns = s->columns > 0 ? s->columns : l->div.panel_columns;
    int64_t elements = ip_clamp(columns + s->beside, 0, s->most) * s->channels + s->elements;
    int64_t bytes = elements * s->element_bytes;
    /* an odd number of lines, so that rows lie in places of their own in the cache */
    return (size_t)(s->is_line_buffer ? (ip_ceil_div(bytes, 64) | 1) * 64 : bytes);
}

/* In units of 64 bytes, none of which they share. */
static size_t rows_units(const ip_launching *l, const ip_scratch *s)
{
    return (bytes_a_row(l, s) * (size_t)s->rows + 63) / 64 + (s->is_line ? 2 : 1);
}

/* The same; none if they are not there. */
static size_t scratch_units(const ip_launching *l, const ip_scratch *s)
{
    return s->is_line && !l->div.streams ? 0 : rows_units(l, s);
}

/* Columns of a strip that reads transposed: what is copied of each row of the source, or a line of it, stays in a
 * core's caches. */
static int64_t transpose_columns(const ip_kernel *k)
{
    int64_t columns = INT64_MAX;
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = &k->placed[i];
        int64_t bytes = p->at_once * p->stage->dims[3] * (int64_t)ip_dtype(p->stage->dtype)->size_bytes;
        if (p->at_once && TRANSPOSE_BYTES / bytes < columns)
            columns = TRANSPOSE_BYTES / bytes / TRANSPOSE_COLUMNS * TRANSPOSE_COLUMNS;
    }
    if (columns == INT64_MAX && k->reads_places) return PLACES_COLUMNS;
    return columns == INT64_MAX || columns < TRANSPOSE_COLUMNS ? TRANSPOSE_COLUMNS : columns;
}

/*
 * Note [Strips]
 * A panel, mostly a whole strip, is as wide as the rows it keeps and reads fit the second-level cache, in whole
 * vectors; in a chain of stages, which mostly reads what it has just written, the first-level one. Where columns are
 * read along rows, as a transpose does, a strip is so narrow that what a row of it reads stays there until the next row
 * reads what lies beside. Taller strips compute fewer rows twice. There are enough strips to keep all units busy to the
 * end, and none takes so long that nobody could poll.
 */
static int64_t cached_columns(const ip_launching *l, int64_t columns)
{
    const ip_kernel *k = l->kernel;
    int64_t each = k->read_bytes + k->line_buffer_bytes;
    bool is_chain = k->line_buffer_bytes * 2 > k->read_bytes * 3;
    int64_t fit = (is_chain ? l->runner->tuning.strip_bytes : CACHE_BYTES) / (each > 0 ? each : 1);
    int64_t least = ip_kernel_least_columns(k);
    if (k->is_transpose && !k->whole_rows) return ip_clamp(columns, 1, transpose_columns(k));
    if (k->whole_rows || fit >= columns || least >= columns) return columns;
    int64_t parts = ip_ceil_div(columns, fit > least ? fit : least);
    return ip_clamp(ip_ceil_div(ip_ceil_div(columns, parts), VECTOR_COLUMNS) * VECTOR_COLUMNS, 1, columns);
}

/* What of its results a kernel of the rows schedule writes row by row. */
static uint64_t bytes_in_rows(const ip_launching *l)
{
    uint64_t bytes = 0;
    for (int i = 0; i < l->kernel->n_placed; i++)
        if (l->kernel->placed[i].is_streamed) bytes += ip_region_bytes(l->region, l->kernel->placed[i].stage);
    return l->kernel->is_scan ? ip_region_bytes(l->region, l->kernel->outputs[0]) : bytes;
}

static uint64_t bytes_read(const ip_launching *l)
{
    uint64_t bytes = 0;
    for (int i = 0; i < l->kernel->n_inputs; i++)
        bytes += ip_region_bytes(&l->bindings[l->kernel->inputs[i]->id].region, l->kernel->inputs[i]);
    return bytes;
}

/* Whether a kernel will read the results soon: another one of the plan, or of the loop's next step. */
static bool is_read_again(const ip_launching *l)
{
    for (int k = 0; k < l->plan->n_kernels; k++)
        for (int i = 0; i < l->plan->kernels[k].n_inputs; i++)
            if (ip_kernel_stores(l->kernel, l->plan->kernels[k].inputs[i])) return true;
    return l->runner->is_step;
}

/* Of a row, before a work-item goes to the next one. */
static int64_t columns_read(const ip_launching *l)
{
    return l->div.strip_rows == 1 ? l->div.strip_columns : l->div.panel_columns;
}

/* Whether a work-item reads its inputs as they stand in memory, many pages one after the other. */
static bool reads_long_runs(const ip_launching *l)
{
    const ip_kernel *k = l->kernel;
    int64_t columns = l->region->x1 - l->region->x0, run = columns_read(l),
            rows = run < columns ? 1 : l->div.strip_rows;
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_stage *s = k->inputs[i];
        int64_t pixel = s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes;
        if (s->dims[2] > columns || (s->dims[2] == columns && rows * run * pixel < LONG_RUN)) return false;
    }
    return true;
}

/* Whether what a work-item reads of a row is so short that the next page is another one's. */
static bool reads_short_rows(const ip_launching *l)
{
    const ip_kernel *k = l->kernel;
    bool is_short = !k->is_scan && columns_read(l) < l->region->x1 - l->region->x0;
    for (int i = 0; i < k->n_inputs; i++)
        is_short =
            is_short &&
            columns_read(l) * k->inputs[i]->dims[3] * (int64_t)ip_dtype(k->inputs[i]->dtype)->size_bytes <= SHORT_ROW;
    return is_short;
}

/* Whether what is made of a row is made of elements that lie all over it, and they are most of what is read: many rows
 * then make a long run. */
static bool reads_rows_in_pieces(const ip_launching *l)
{
    const ip_kernel *k = l->kernel;
    bool is_wide = k->reads_in_pieces;
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_stage *s = k->inputs[i];
        int64_t row = s->dims[2] * s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes;
        is_wide = is_wide && s->dims[2] >= WIDE_ROW * (l->region->x1 - l->region->x0) && row <= LONG_RUN;
    }
    return is_wide;
}

/*
 * Whether inputs are read row by row, each once, and no row is kept for others: a processor foresees such runs by
 * itself, and prefetching takes it a tenth to a third longer (gray, sums, blending of 12 to 48 megapixels). It foresees
 * them less where a row's neighbours are read beside it: erosion takes a fifth longer without. That is said of
 * processors whose last cache has 32 MiB. Those that share hundreds take long to ask it, and foresee too little:
 * blending and gray take 0.7 of the time with prefetching, thresholding and maps of floats 0.8.
 */
static bool foresees_plain_runs(const ip_launching *l)
{
    const ip_kernel *k = l->kernel;
    if (ip_device_facts_of(l->runner->device)->cache_bytes >= FAR_CACHE) return false;
    /* eight lines at once: emit_scan_x.c */
    if (k->is_scan && k->outputs[0]->axis == 2 && ip_stage_blocks(k->outputs[0]) == 1) return false;
    for (int i = 0; i < k->n_placed; i++)
        if (ip_placed_is_kept(&k->placed[i]) && k->placed[i].rows > 1) return false;
    return !k->reads_other_rows && !k->is_transpose && !k->reads_in_pieces;
}

/*
 * What is larger than caches goes past them; not what the next kernel finds in the last one. A loop's next step reads
 * nothing else, so it finds enough of what is up to half as large again (measured: 48 MB, of 32 MB of cache, are read
 * and written 1.2 times as fast).
 */
static void choose_streaming(ip_launching *l)
{
    uint64_t read = bytes_read(l), written = bytes_in_rows(l), least = (uint64_t)l->runner->tuning.stream_bytes;
    uint64_t least_prefetched = l->kernel->is_transpose && least > TRANSPOSE_PREFETCHED ? TRANSPOSE_PREFETCHED : least;
    uint64_t cache = ip_device_facts_of(l->runner->device)->cache_bytes,
             most = l->runner->is_step ? cache / 2 * 3 : cache / 2;
    bool stays = read + written <= most && is_read_again(l);
    int64_t rows = l->region->y1 - l->region->y0,
            planes = ip_ceil_div(l->region->z1 - l->region->z0,
                                 l->kernel->planes_at_once > 0 ? l->kernel->planes_at_once : 1);
    double work = (double)ip_operations_per_row(l, l->region->x1 - l->region->x0) * (double)(rows * planes);
    bool waits = work <= LITTLE_WORK * (double)read,
         computes_beside = l->kernel->n_ahead > 0 && work <= SOME_WORK * (double)read;
    bool is_near = stays && l->runner->is_step;
    l->div.prefetches = read < least_prefetched || is_near || foresees_plain_runs(l) ? IP_PREFETCH_NOTHING
                        : computes_beside                                            ? IP_PREFETCH_BELOW
                        : reads_short_rows(l)                                        ? IP_PREFETCH_ROWS
                        : waits && (reads_long_runs(l) || reads_rows_in_pieces(l))   ? IP_PREFETCH_PAGES
                                                                                     : IP_PREFETCH_AHEAD;
    l->div.streams = written >= least && !stays;
}

/* A line that is not in a cache saves nothing. A short row takes longer: its first and last lines, which it shares, are
 * copied. */
static bool may_stream(const ip_launching *l, const ip_scratch *line)
{
    int64_t row = l->div.panel_columns * line->channels * line->element_bytes;
    int64_t least = ip_min(LEAST_STREAMED, (int64_t)l->runner->tuning.stream_bytes);
    return row >= least && rows_units(l, line) <= CACHE_BYTES / 64;
}

/*
 * Note [Panels]
 * A strip that keeps rows is walked panel by panel, each as wide as Note [Strips] says, all in one scratch. Mostly it
 * has one panel. Of a line of millions of elements thousands of strips would have to be that narrow, and all their
 * line buffers together as large as what they save writing.
 */
static int panels_of_strip(const ip_launching *l, int64_t columns)
{
    const ip_division *d = &l->div;
    if (!ip_kernel_walks_panels(l->kernel)) return 1;
    int64_t beside = ip_ceil_div(columns, d->panel_columns);
    int64_t items = beside * d->items_y * ip_max_int(d->items_z, 1);
    int64_t target = (int64_t)ip_device_facts_of(l->runner->device)->work_items_per_launch;
    int64_t work = ip_operations_per_row(l, d->panel_columns) * d->strip_rows;
    int64_t most = ip_min(beside, IP_STRIP_WORK / (work > 0 ? work : 1));
    int64_t each = ip_clamp(items / target, 1, most > 1 ? most : 1);
    return (int)ip_max(ip_ceil_div(beside, ip_ceil_div(beside, each)), 1); /* as many of equal width */
}

/* Strips of whole blocks, where a fold has a table for each: compile/by_key.c, Note [Folds by keys]. */
static void whole_blocks(ip_launching *l)
{
    int64_t block = 1;
    for (int k = 0; k < l->kernel->n_outputs; k++)
        block = ip_max(block, l->kernel->outputs[k]->block);
    if (block == 1) return;
    l->div.strip_columns = (int)(ip_ceil_div(l->div.strip_columns, block) * block);
    if (!ip_kernel_walks_panels(l->kernel)) l->div.panel_columns = l->div.strip_columns;
}

static void divide_rows(ip_launching *l)
{
    const ip_kernel *k = l->kernel;
    const ip_region *r = l->region;
    ip_division *d = &l->div;
    bool keeps_rows = k->schedule == IP_SCHEDULE_ROWS;
    int64_t rows = r->y1 - r->y0, columns = r->x1 - r->x0;
    int64_t target = (int64_t)ip_device_facts_of(l->runner->device)->work_items_per_launch;
    int64_t chunk = keeps_rows ? cached_columns(l, columns) : columns;
    if (k->n_folds > 0 && !k->whole_rows && chunk > IP_FOLD_COLUMNS) chunk = IP_FOLD_COLUMNS;
    d->items_z = (int)ip_ceil_div(r->z1 - r->z0, k->planes_at_once > 0 ? k->planes_at_once : 1);
    int64_t beside = ip_ceil_div(columns, chunk > 0 ? chunk : 1) * (d->items_z > 0 ? d->items_z : 1);
    int64_t per_row = ip_operations_per_row(l, chunk);
    int64_t least = keeps_rows ? ip_clamp(4 * ip_kernel_rows_twice(k), MIN_ROWS, 1 << 20) : 1;
    if (k->whole_rows) /* nothing but rows to share */
        least = ip_clamp(least, 1, ip_ceil_div(rows, target / 4 > 0 ? target / 4 : 1));
    int64_t strip = ip_clamp(ip_ceil_div(rows * beside, target), least, rows > 0 ? rows : 1);
    strip = ip_clamp(IP_STRIP_WORK / (per_row > 0 ? per_row : 1), least < strip ? least : strip, strip);
    d->items_y = (int)ip_ceil_div(rows, strip);
    strip = ip_ceil_div(rows, d->items_y > 0 ? d->items_y : 1); /* as many of equal height */
    d->strip_rows = (int)strip;
    if (!k->whole_rows) { /* few rows, but long ones */
        int64_t wanted = ip_ceil_div(target, (int64_t)d->items_y * (d->items_z > 0 ? d->items_z : 1));
        int64_t small = ip_kernel_walks_panels(k) ? ip_max(SMALL_COLUMNS, ip_kernel_least_columns(k)) : SMALL_COLUMNS;
        int64_t narrow = ip_clamp(ip_ceil_div(columns, wanted), ip_min(columns, small), columns);
        int64_t quick = IP_STRIP_WORK / (ip_ceil_div(per_row, chunk > 0 ? chunk : 1) * strip + 1);
        narrow = ip_clamp(quick, ip_min(narrow, small), narrow);
        /* begins with a line */
        chunk = chunk <= narrow ? chunk : ip_min(columns, ip_ceil_div(narrow, VECTOR_COLUMNS) * VECTOR_COLUMNS);
    }
    d->panel_columns = (int)(chunk > 0 ? chunk : 1);
    d->strip_columns = d->panel_columns * panels_of_strip(l, columns);
    whole_blocks(l);
    d->items_x = (int)ip_ceil_div(columns, d->strip_columns);
    choose_streaming(l);
    for (int i = 0; i < k->n_scratch; i++)
        d->streams = d->streams && (!k->scratch[i].is_line || may_stream(l, &k->scratch[i]));
}

/* A work-group a tile; or, where groups walk tiles, a strip of them, as many groups as keep the device busy. */
static void divide_tiles(ip_launching *l)
{
    const ip_tiling *t = &l->kernel->tiling;
    const ip_region *r = l->region;
    ip_division *d = &l->div;
    int64_t tiles_y = ip_ceil_div(r->y1 - r->y0, t->height), tiles_each = 1;
    d->items_x = (int)ip_ceil_div(r->x1 - r->x0, t->width);
    d->items_z = (int)(r->z1 - r->z0);
    if (ip_kernel_walks_tiles(l->kernel)) {
        int64_t items = (int64_t)ip_device_facts_of(l->runner->device)->work_items_per_launch;
        int64_t groups = ip_ceil_div(GROUPS_AHEAD * items, (int64_t)t->group_width * t->group_height);
        int64_t least = t->slides ? IP_STRIP_TILES : 1, most = ip_max(tiles_y, 1);
        tiles_each = ip_clamp(ip_ceil_div(tiles_y * d->items_x * d->items_z, groups), ip_min(least, most), most);
    }
    d->strip_rows = (int)(tiles_each * t->height);
    d->strip_columns = t->width;
    d->items_y = (int)ip_ceil_div(tiles_y, tiles_each);
}

/* ---- scratch memory ----------------------------------------------------------------------- */

static size_t bytes_by_key(const ip_launching *l, const ip_stage *s)
{
    const int64_t tables = s->block ? ip_ceil_div(l->div.strip_columns, s->block) : 1;
    return (size_t)(tables * s->keys->i * ip_by_key_pitch(s)) * ip_dtype(s->acc_dtype)->size_bytes;
}

/* A fold's partial result of one work-item, or one work-group. */
static size_t partial_bytes(const ip_launching *l, const ip_stage *s)
{
    if (s->kind == IP_STAGE_BY_KEY) return bytes_by_key(l, s);
    if (s->kind == IP_STAGE_HISTOGRAM)
        return (size_t)(s->dims[1] * ip_histogram_pitch(l->kernel, s) * ip_histogram_tables(l->kernel, s)) * 4;
    return 2 * (size_t)ip_dtype(s->acc_dtype)->size_bytes;
}

static imgpar_status plan_scratch(ip_launching *l, ip_error *err)
{
    const ip_kernel *k = l->kernel;
    ip_division *d = &l->div;
    size_t items = (size_t)d->items_x * (size_t)d->items_y * (size_t)d->items_z;
    size_t each = 0, partials, buffers = 0;
    d->scratch_start = 0;
    for (int i = 0; i < k->n_scratch; i++)
        each += scratch_units(l, &k->scratch[i]);
    for (int i = 0; i < k->n_outputs; i++) {
        if (!ip_stage_folds(k->outputs[i])) continue;
        if (!ip_mul_size(items, partial_bytes(l, k->outputs[i]), &partials) ||
            partials / 64 > INT32_MAX - d->scratch_start)
            return ip_fail(err, IMGPAR_E_LIMIT, "%s: too large for this device", k->ops);
        d->scratch_start += (partials + 63) / 64;
    }
    d->scratch_each = each;
    if (!ip_mul_size(items, each, &buffers) || buffers > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: too large for this device", k->ops);
    d->scratch_bytes = (d->scratch_start + buffers + 1) * 64;
    return IMGPAR_OK;
}

static imgpar_status divide_scan(ip_launching *l, ip_error *err)
{
    const ip_kernel *k = l->kernel;
    const ip_stage *s = k->outputs[0];
    ip_division *d = &l->div;
    int64_t operations = ip_x_cost(l->plan->ir, s->finish) + 1;
    for (int i = 0; i < ip_stage_states(s); i++)
        operations += ip_x_cost(l->plan->ir, ip_stage_state(s, i).body);
    imgpar_status st = ip_scan_divide(k, l->region, ip_device_facts_of(l->runner->device), operations, &d->scan, err);
    choose_streaming(l);
    d->streams = d->streams && d->scan.line_bytes > 0;
    d->scratch_bytes = d->scan.state_bytes + (d->streams ? d->scan.line_bytes : 0);
    return st;
}

imgpar_status ip_divide(ip_launching *l, ip_error *err)
{
    if (l->kernel->is_scan) return divide_scan(l, err);
    if (l->kernel->schedule == IP_SCHEDULE_TILES)
        divide_tiles(l);
    else
        divide_rows(l);
    return plan_scratch(l, err);
}

static const ip_scratch *find_scratch(const ip_launching *l, const ip_stage *stage, const ip_expr *sums)
{
    const ip_scratch *s = l->kernel->scratch, *end = s + l->kernel->n_scratch;
    while (s < end && (s->stage != stage || s->sums != sums))
        s++;
    return s;
}

int ip_scratch_offset(const ip_launching *l, const ip_stage *stage, const ip_expr *sums)
{
    const ip_scratch *end = find_scratch(l, stage, sums);
    size_t units = 0;
    for (const ip_scratch *s = l->kernel->scratch; s < end; s++)
        units += scratch_units(l, s);
    return (int)units;
}

int ip_line_buffer_pitch(const ip_launching *l, const ip_stage *stage)
{
    const ip_scratch *buffer = find_scratch(l, stage, NULL);
    return (int)(bytes_a_row(l, buffer) / (size_t)buffer->element_bytes);
}

/* Partial results stand in the order of the outputs. */
int ip_partial_offset(const ip_launching *l, const ip_stage *fold)
{
    size_t items = (size_t)l->div.items_x * (size_t)l->div.items_y * (size_t)l->div.items_z, units = 0;
    for (int i = 0; i < l->kernel->n_outputs && l->kernel->outputs[i] != fold; i++)
        if (ip_stage_folds(l->kernel->outputs[i])) units += (items * partial_bytes(l, l->kernel->outputs[i]) + 63) / 64;
    return (int)units;
}
