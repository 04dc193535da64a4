/* SPDX-License-Identifier: MIT */
/*
 * Decimation: rows that nobody reads are not computed.
 *
 * Note [Decimated rows]
 * Where all that read a stage take its rows step * y + offset, one and the same such map with steps of two and more,
 * as slice(step=) does, the map goes from the loads into the stage: it becomes one of as many rows as are read, and
 * its own loads take the rows that the map tells. A load's border rule stands at the edges of what it reads, so it is
 * the same rule as before. What the stage is made of is then read through the map, too, if it is read at the stage's
 * own rows alone. So of a separable filter the last pass is computed for the rows that are left, and by it the first
 * pass, at every column; columns are picked from rows that the kernel keeps (emit_lanes.c, Note [Even steps]).
 *
 * Not where a row is made of the row before: sums that run down the columns (place_running.c), and what reads such a
 * stage row by row. They would be computed anew for each row that is left. A stage that reads several rows of a
 * computed one is decimated, too: the other one is then made at its rate (place_rates.c).
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/passes.h"
#include "ir/opaque.h"

#include <stdlib.h>
#include <string.h>

/* How the rows of a stage are read. */
typedef struct row_map {
    ip_expr *row; /* of the first load */
    ip_index_map map;
    int64_t rows;         /* of the readers */
    bool is_read, is_one; /* is_one: all loads so far read through that map */
    bool is_decimated;    /* it has become the stage's */
} row_map;

typedef struct decimating {
    ip_ir *ir;
    row_map *maps;      /* by stage id, of what is asked for, or read by what is */
    bool *carries_sums; /* by stage id: its rows, or those of what it reads row by row, are made of the one before */
    ip_stage *reader;
} decimating;

static bool is_own_row(const ip_expr *load, const ip_stage *reader)
{
    return ip_reads_own_index(load, 1, ip_stage_domain(reader)[1]);
}

/* ---- sums that are carried down ------------------------------------------------------------- */

static void note_running_sum(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_WINDOW && x->taps_y > 1 && x->fold == IP_FOLD_SUM && !ip_dtype(x->dtype)->is_float;
}

static void note_own_rows(ip_expr *load, void *user)
{
    decimating *d = user;
    d->carries_sums[d->reader->id] |= is_own_row(load, d->reader) && d->carries_sums[load->source->id];
}

static void find_carried_sums(decimating *d)
{
    for (int k = 0; k < d->ir->n_stages; k++) {
        d->reader = d->ir->stages[k];
        if (d->reader->kind != IP_STAGE_MAP) continue;
        ip_x_walk(d->ir, d->reader->body, note_running_sum, &d->carries_sums[k]);
        ip_stage_each_load(d->ir, d->reader, note_own_rows, d);
    }
}

/* ---- which rows are read ---------------------------------------------------------------------- */

/* Whether index is step * y + offset with such a step, and within n rows for those of `rows`. */
static bool leaves_rows_out(const ip_index_map *map, int64_t rows, int64_t n)
{
    int64_t step = map->step[1], last;
    bool is_of_row =
        map->kind == IP_MAP_AFFINE && !map->step[0] && !map->step[2] && !map->step[3] && map->first == map->last;
    if (!is_of_row || step > INT32_MAX || step < -INT32_MAX || llabs(step) < IP_LEAST_STEP || rows < 1) return false;
    last = map->first + step * (rows - 1);
    return map->first >= 0 && map->first < n && last >= 0 && last < n;
}

static void note_rows(ip_expr *load, void *user)
{
    decimating *d = user;
    ip_stage *p = load->source;
    row_map *read = &d->maps[p->id];
    int64_t rows = ip_stage_domain(d->reader)[1];
    if (p->kind != IP_STAGE_MAP) read->is_read = true;
    if (read->is_read && !read->is_one) return;
    ip_index_map map = ip_index_map_of(load->arg[1]);
    bool fits = read->is_read ? ip_index_map_is_same(&map, &read->map) && rows == read->rows
                              : leaves_rows_out(&map, rows, p->dims[1]);
    if (!read->is_read) *read = (row_map){ .row = load->arg[1], .map = map, .rows = rows, .is_read = true };
    read->is_one = fits;
}

/* ---- the rewrite ------------------------------------------------------------------------------- */

static void decimate(decimating *d, ip_stage *p)
{
    row_map *read = &d->maps[p->id];
    p->body = ip_x_put_coords(d->ir, p->body, (ip_expr *const[4]){ [1] = read->row });
    p->dims[1] = read->rows;
    p->view = NULL;
    read->is_decimated = true;
}

/* Steps of columns stand in the text, for which it has loops of their own. */
static ip_expr *write_step(ip_ir *ir, ip_expr *x, void *user)
{
    (void)user;
    bool is_step = x->op == IP_X_MUL && x->dtype == IMGPAR_I32 && ip_x_is_coord(x->arg[0], 2) &&
                   x->arg[1]->op == IP_X_PARAM && x->arg[1]->i >= IP_LEAST_STEP && x->arg[1]->i <= IP_MOST_STEP;
    return is_step ? ip_x_binary(ir, IP_X_MUL, x->arg[0], ip_x_int(ir, IMGPAR_I32, x->arg[1]->i)) : x;
}

/* A load at steps, or of a stage that has become one of fewer rows. */
static ip_expr *read_at_steps(ip_ir *ir, ip_expr *x, void *user)
{
    decimating *d = user;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE) return x;
    ip_expr *row = d->maps[x->source->id].is_decimated ? ip_x_coord(ir, 1, x->source->dims[1]) : x->arg[1];
    ip_expr *at[4] = { x->arg[0], row, ip_x_map(ir, x->arg[2], write_step, NULL), x->arg[3] };
    return ip_x_load(ir, x->source, at, x->border, x->n_args == 5 ? x->arg[4] : NULL);
}

static bool is_live(const decimating *d, const ip_stage *s) { return s->is_output || d->maps[s->id].is_read; }

static void read_all_at_steps(decimating *d)
{
    for (int k = 0; k < d->ir->n_stages; k++) {
        ip_stage *s = d->ir->stages[k];
        ip_expr **parts[IP_STAGE_PARTS];
        const int n = is_live(d, s) && ip_stage_computes(s) ? ip_stage_parts(s, parts) : 0;
        for (int i = 0; i < n; i++)
            *parts[i] = ip_x_map(d->ir, *parts[i], read_at_steps, d);
    }
}

/* Readers come after what they read: going backwards all of them are known. */
static bool decimate_all(decimating *d)
{
    bool any = false;
    find_carried_sums(d);
    for (int k = d->ir->n_stages - 1; k >= 0; k--) {
        ip_stage *s = d->reader = d->ir->stages[k];
        if (!is_live(d, s)) continue;
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            d->maps[s->opaque->inputs[i]->id] = (row_map){ .is_read = true };
        if (!ip_stage_computes(s)) continue;
        if (d->maps[k].is_one && !s->is_output && !d->carries_sums[k]) {
            decimate(d, s);
            any = true;
        }
        ip_stage_each_load(d->ir, s, note_rows, d);
    }
    read_all_at_steps(d);
    return any;
}

imgpar_status ip_pass_decimate(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    size_t n = (size_t)plan->ir->n_stages + 1;
    decimating d = { .ir = plan->ir };
    bool any = false;
    if (!options->fuse) return IMGPAR_OK;
    d.maps = ip_zalloc(n * sizeof *d.maps);
    d.carries_sums = ip_zalloc(n * sizeof *d.carries_sums);
    if (d.maps && d.carries_sums)
        any = decimate_all(&d);
    else
        plan->ir->failed = true;
    ip_free(d.maps);
    ip_free(d.carries_sums);
    if (plan->ir->failed) return ip_fail_memory(err, "compiling");
    return any ? ip_pass_inline(plan, options, err) : IMGPAR_OK; /* what was elsewhere may be at its own place now */
}
