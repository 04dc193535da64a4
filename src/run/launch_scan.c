/* SPDX-License-Identifier: MIT */
#include "run/launch_scan.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"

/*
 * Note [Parts of lines]
 * Lines in blocks are read twice, for totals and for results. Where they are more than half of the last cache, a CPU
 * makes both of some blocks of all lines, as many as a quarter of it holds, before it goes on to the next ones, and
 * finds in the cache what it reads again. Not where these are too few to keep all units busy.
 */
enum {
    LEAST_ELEMENTS = 256, /* a CPU's work-item with fewer elements of a row is not worth its start */
    STATE_BYTES = 32768,  /* states of a work-item on a CPU: they stay in its first cache */
    CPU_ITEMS = 2,        /* work-items a compute unit there: the wider a row's piece, the faster it is fetched */
    ITEM_WORK = 20000000, /* operations of a work-item at most */
    LAUNCH_ITEMS = 16     /* work-items a compute unit, where launches must end soon */
};

/* Neighbouring lines that a work-item walks where they run along z or y; lines: how many there are, times blocks. */
static int64_t lines_of_item(int64_t state_bytes, int64_t lines, int64_t steps, const ip_device_facts *facts,
                             int64_t operations)
{
    bool is_cpu = facts->kind == IP_DEVICE_CPU;
    int64_t units = facts->info.compute_units ? (int64_t)facts->info.compute_units : 1;
    int64_t items = is_cpu ? units * CPU_ITEMS : (int64_t)facts->work_items_per_launch;
    int64_t most = is_cpu ? STATE_BYTES / state_bytes : lines;
    int64_t n = ip_clamp(ip_ceil_div(lines, items), is_cpu ? LEAST_ELEMENTS : 1, most);
    return ip_clamp(ITEM_WORK / (operations * steps), 1, n);
}

/* Rows of a work-item where lines run along x or c. */
static int64_t row_chunk(const ip_kernel *k, int64_t rows, int64_t planes, int64_t elements,
                         const ip_device_facts *facts, int64_t operations)
{
    int64_t lanes = k->walk.lanes > 0 ? k->walk.lanes : 1;
    int64_t chunk = ip_ceil_div(rows, ip_ceil_div((int64_t)facts->work_items_per_launch, planes));
    int64_t quick = ITEM_WORK / (operations * elements);
    chunk = ip_ceil_div(ip_clamp(chunk < quick ? chunk : quick, 1, rows), lanes) * lanes;
    return chunk;
}

/* Behind the states each work-item gets what it makes results in that stream: its part of a row, or a piece of each
 * lane. */
static void give_lines(const ip_kernel *k, const ip_stage *s, int64_t chunk, ip_scan_division *d)
{
    size_t pixel = (size_t)s->dims[3] * ip_dtype(s->dtype)->size_bytes, items, lines;
    size_t bytes =
        s->axis == 2 ? (size_t)k->walk.lanes * (IP_SCAN_PIECE * pixel + IP_SCAN_PIECE_ENDS) : (size_t)chunk * pixel;
    size_t each = (bytes + 63) / 64 + 2, states = d->state_bytes / 64;
    bool has_room = ip_mul_size((size_t)(d->items[0] * d->items[1]), (size_t)d->items[2], &items) &&
                    ip_mul_size(items, each, &lines) && lines < INT32_MAX && states < INT32_MAX;
    if (!has_room) return;
    d->line_bytes = lines * 64;
    d->slots[IP_SCAN_LINES] = (int)states;
    d->slots[IP_SCAN_LINE] = (int)each;
    d->slots[IP_SCAN_ITEMS_X] = (int)d->items[0];
    d->slots[IP_SCAN_ITEMS_Y] = (int)d->items[1];
}

/* Work-items along the blocks whose totals and results are made one after the other; others: beside each of them. */
static int64_t items_of_part(const ip_kernel *k, const ip_device_facts *facts, int64_t items, int64_t others)
{
    enum { PART_OF_CACHE = 4, ITEMS_EACH = 4 /* at least, of a unit */ };
    int64_t bytes = 0, cache = (int64_t)facts->cache_bytes;
    for (int i = 0; i < k->n_inputs; i++) {
        const int64_t *dims = k->inputs[i]->dims;
        bytes += dims[0] * dims[1] * dims[2] * dims[3] * (int64_t)ip_dtype(k->inputs[i]->dtype)->size_bytes;
    }
    int64_t each = ip_ceil_div(bytes, items > 0 ? items : 1), fit = each > 0 ? cache / PART_OF_CACHE / each : items;
    int64_t least = ITEMS_EACH * ip_max((int64_t)facts->info.compute_units, 1);
    bool pays = facts->kind == IP_DEVICE_CPU && bytes > cache / 2 && fit * others >= least;
    return pays ? fit : ip_max(items, 1);
}

imgpar_status ip_scan_divide(const ip_kernel *k, const ip_region *r, const ip_device_facts *facts, int64_t operations,
                             ip_scan_division *d, ip_error *err)
{
    const ip_stage *s = k->stages[k->n_stages - 1];
    int64_t planes = r->z1 - r->z0, rows = r->y1 - r->y0, columns = r->x1 - r->x0, channels = s->dims[3];
    int64_t blocks = s->axis == 3 ? 1 : ip_stage_blocks(s), steps = blocks > 1 ? IP_SCAN_BLOCK : s->dims[s->axis];
    int64_t groups, unit, chunk;
    *d = (ip_scan_division){ .long_dim = 0 };
    if (s->axis <= 1) {
        groups = s->axis == 0 ? 1 : planes;
        unit = columns * channels * (s->axis == 0 ? rows : 1);
        int64_t lines = lines_of_item(k->walk.state_bytes, groups * unit * blocks, steps, facts, operations);
        chunk = ip_clamp(ip_ceil_div(lines, channels), 1, columns);
        int64_t some_rows = s->axis == 0 ? ip_clamp(lines / (columns * channels), 1, rows) : 1;
        d->slots[IP_SCAN_ROWS] = (int)some_rows;
        d->items[0] = d->carry_items[0] = ip_ceil_div(columns, chunk);
        d->items[1] = s->axis == 1 ? blocks : ip_ceil_div(rows, some_rows);
        d->items[2] = s->axis == 0 ? blocks : planes;
        d->carry_items[1] = s->axis == 1 ? 1 : d->items[1];
        d->carry_items[2] = s->axis == 0 ? 1 : planes;
    } else {
        groups = planes * rows;
        unit = s->axis == 2 ? channels : 0;
        chunk = blocks > 1 ? 1 : row_chunk(k, rows, planes, columns * channels, facts, operations);
        d->items[0] = blocks > 1 ? ip_ceil_div(blocks, k->walk.lanes) : 1;
        d->items[1] = ip_ceil_div(rows, chunk);
        d->items[2] = planes;
        d->carry_items[0] = 1;
        d->carry_items[1] = d->items[1];
        d->carry_items[2] = planes;
        d->long_dim = blocks > 1 ? 0 : 1;
        d->carry_long_dim = 1;
    }
    d->block_dim = s->axis <= 1 ? 2 - s->axis : 0;
    d->blocks_each = s->axis <= 1 ? 1 : k->walk.lanes;
    int64_t items = d->items[d->block_dim];
    d->items_at_once = items_of_part(k, facts, items, d->items[0] * d->items[1] * d->items[2] / ip_max(items, 1));
    size_t states;
    bool fits = ip_mul_size((size_t)groups, (size_t)blocks + (blocks > 1), &states) &&
                ip_mul_size(states, (size_t)unit, &states) &&
                ip_mul_size(states, (size_t)k->walk.state_bytes, &d->state_bytes);
    if (!fits || d->items[0] > INT32_MAX || d->items[1] > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: too large for this device", k->ops);
    d->state_bytes += 64;
    d->state_bytes = (d->state_bytes + 63) / 64 * 64;
    d->slots[IP_SCAN_BLOCKS] = (int)blocks;
    d->slots[IP_SCAN_STEPS] = (int)steps;
    d->slots[IP_SCAN_CHUNK] = (int)chunk;
    if (k->args.has_line) give_lines(k, s, chunk, d);
    return IMGPAR_OK;
}

typedef struct scan_launching {
    ip_scan_division *d;
    const ip_device_facts *facts;
    bool is_polled;
    ip_scan_launch_fn launch;
    void *user;
} scan_launching;

/* One kernel for some work-items. */
typedef struct scan_phase {
    const char *suffix;
    const int64_t *from, *items; /* the first of them, and how many: three numbers */
    int wide;                    /* dimension along which there may be more */
    double before, share;        /* of all work, what is done, and what this is */
} scan_phase;

/* In one launch, or in several that end soon. */
static imgpar_status launch_in_batches(const scan_launching *l, const scan_phase *phase, ip_error *err)
{
    const ip_device_facts *facts = l->facts;
    const int64_t *items = phase->items;
    /* A launch covers some work-items along the dimension that has most. */
    int dim = items[1] > items[0] && items[1] >= items[2] ? 1 : items[2] > items[0] ? 2 : 0;
    int64_t others = items[0] * items[1] * items[2] / (items[dim] ? items[dim] : 1);
    int64_t batch = items[dim];
    if (l->is_polled)
        batch = ip_clamp(LAUNCH_ITEMS * (int64_t)facts->info.compute_units / (others ? others : 1), 1, batch);
    for (int64_t first = 0; first < items[dim]; first += batch) {
        size_t local[3] = { 1, 1, 1 }, global[3];
        for (int i = 0; i < 3; i++)
            global[i] = (size_t)items[i];
        global[dim] = (size_t)(items[dim] - first < batch ? items[dim] - first : batch);
        if (facts->kind != IP_DEVICE_CPU && !l->is_polled) {
            local[phase->wide] = facts->local_size;
            global[phase->wide] = (global[phase->wide] + facts->local_size - 1) / facts->local_size * facts->local_size;
        }
        for (int i = 0; i < 3; i++)
            l->d->slots[IP_SCAN_FIRST_X + i] = (int)(phase->from[i] + (i == dim ? first : 0));
        double done = phase->before + phase->share * (double)first / (double)items[dim];
        imgpar_status st = l->launch(l->user, phase->suffix, global, local, done, err);
        if (st) return st;
    }
    return IMGPAR_OK;
}

imgpar_status ip_scan_launch(ip_scan_division *d, const ip_device_facts *facts, bool is_polled,
                             ip_scan_launch_fn launch, void *user, ip_error *err)
{
    static const struct {
        const char *suffix;
        bool is_carry;
        double before, share;
    } phases[] = {
        { "_totals", false, 0, 0.3 },
        { "_carry", true, 0.3, 0.05 },
        { "", false, 0.35, 0.65 },
    };
    static const int64_t zeros[3];
    const scan_launching l = { d, facts, is_polled, launch, user };
    int64_t blocks = d->slots[IP_SCAN_BLOCKS], total = d->items[d->block_dim];
    if (blocks <= 1) return launch_in_batches(&l, &(scan_phase){ "", zeros, d->items, d->long_dim, 0, 1 }, err);
    for (int64_t at = 0; at < total; at += d->items_at_once) {
        int64_t from[3] = { 0, 0, 0 }, items[3] = { d->items[0], d->items[1], d->items[2] };
        from[d->block_dim] = at;
        items[d->block_dim] = ip_min(d->items_at_once, total - at);
        d->slots[IP_SCAN_FROM_BLOCK] = (int)(at * d->blocks_each);
        d->slots[IP_SCAN_TO_BLOCK] = (int)ip_min((at + items[d->block_dim]) * d->blocks_each, blocks);
        double done = (double)at / (double)total, part = (double)items[d->block_dim] / (double)total;
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++) {
            const double before = done + part * phases[k].before, share = part * phases[k].share;
            const scan_phase carry = { phases[k].suffix, zeros, d->carry_items, d->carry_long_dim, before, share };
            const scan_phase walk = { phases[k].suffix, from, items, d->long_dim, before, share };
            imgpar_status st = launch_in_batches(&l, phases[k].is_carry ? &carry : &walk, err);
            if (st) return st;
        }
    }
    return IMGPAR_OK;
}
