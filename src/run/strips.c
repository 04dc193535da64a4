/* SPDX-License-Identifier: MIT */
/*
 * How much of an evaluation is run at once:
 *
 *     all of it    ip_evaluation_run(): values stay on the device, or are computed where they are wanted
 *     in strips    where that does not fit the device's budget and one image is asked for: its rows in strips that fit,
 *                  gathered in host memory
 *     streaming    where one large image is asked for by somebody who takes its rows as they come (stream.h), and
 *                  strips compute little twice
 *     a part       ip_evaluation_run_part(): for one of several devices (share.c), gathered the same way, in strips if
 *                  it must be
 *     by halves    where a fold does not fit: the totals of both halves are combined (totals.c)
 *     by kernels   where strips would compute much twice, or do not fit: kernel after kernel, inner values in host
 *                  memory (spill.c)
 */
#include "run/evaluation_impl.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "run/progress.h"

#include <string.h>

/* ---- what is wanted ------------------------------------------------------------------- */

enum { ALIGN = 16, FEW = 64 };

/* Results are cut between planes, or between rows where there is one plane: so a part is one piece of memory. This is
 * the plane or row where that fraction of a result ends. In large results parts begin at addresses that suit any device
 * (ip_device_shares()). */
static int64_t cut_at(const int64_t dims[4], int64_t row_bytes, double fraction)
{
    bool is_volume = dims[0] > 1;
    int64_t n = dims[is_volume ? 0 : 1], bytes = row_bytes * (is_volume ? dims[1] : 1), step = 1;
    while (bytes * step % ALIGN != 0)
        step *= 2;
    if (n < FEW * step) step = 1;
    return fraction >= 1 ? n : ip_min((int64_t)(fraction * (double)n / (double)step + 0.5) * step, n);
}

static ip_region part_of(const int64_t dims[4], int64_t row_bytes, double from, double to)
{
    ip_region r = ip_region_whole(dims);
    *(dims[0] > 1 ? &r.z0 : &r.y0) = cut_at(dims, row_bytes, from);
    *(dims[0] > 1 ? &r.z1 : &r.y1) = cut_at(dims, row_bytes, to);
    return r;
}

/* The same of what a result shows of its stage. */
static ip_region part_of_result(const ip_stage *s, double from, double to)
{
    const ip_region all = ip_stage_shown(s);
    const int64_t extents[4] = { all.z1 - all.z0, all.y1 - all.y0, all.x1 - all.x0, s->dims[3] };
    ip_region r = part_of(extents, ip_stage_row_bytes(s), from, to);
    return (ip_region){ r.z0 + all.z0, r.z1 + all.z0, r.y0 + all.y0, r.y1 + all.y0, all.x0, all.x1 };
}

ip_region ip_evaluation_seen(const evaluation *e, const ip_stage *fold)
{
    return fold->is_output ? part_of(fold->over, ALIGN, e->from, e->to) : ip_region_whole(fold->over);
}

void ip_evaluation_want(evaluation *e, double from, double to)
{
    e->from = from;
    e->to = to;
    for (int k = 0; k < e->plan->n_outputs; k++) {
        const ip_stage *s = e->plan->outputs[k];
        e->wanted[k] = ip_stage_folds(s) ? ip_region_whole(s->dims) : part_of_result(s, from, to);
    }
    ip_evaluation_infer(e);
}

/* ---- all of it ------------------------------------------------------------------------- */

/* Where a source's elements lie in host memory, as far as that is known; else NULL. */
static const char *host_of_source(const ip_stage *s)
{
    const ip_source *source = s->node->source;
    if (s->value) return s->value->host ? s->value->host : s->value->buffer ? ip_buffer_host(s->value->buffer) : NULL;
    if (source && source->kind == IP_SOURCE_BUFFER) return ip_buffer_host(source->data);
    return source && source->kind == IP_SOURCE_PIXELS ? source->data : NULL;
}

bool ip_evaluation_spares(const evaluation *e, const void *dst, size_t n)
{
    const char *begin = dst, *end = begin + n;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (s->kind != IP_STAGE_SOURCE) continue;
        const char *host = host_of_source(s);
        if (host && host < end && begin < host + ip_stage_bytes(s)) return false;
    }
    return true;
}

/* Whether the result can be computed where it is wanted: nothing that is read may lie there. */
static bool is_free(const evaluation *e, const void *dst)
{
    const ip_stage *out = e->plan->outputs[0];
    uint64_t n = ip_stage_bytes(out);
    return n > 0 && out->kind != IP_STAGE_SOURCE && ip_device_shares(e->runner.device, dst) &&
           ip_evaluation_spares(e, dst, (size_t)n);
}

/*
 * Whether what follows may be enqueued while this runs: a step of a loop that fits the device many times, since what it
 * held may not be free yet when the next one begins, of kernels that are counted (IP_IN_FLIGHT) and make no images.
 */
static bool may_be_followed(const evaluation *e)
{
    bool may = e->runner.is_step && ip_evaluation_bytes(e) <= ip_device_budget_left(e->runner.device) / 4;
    for (int k = 0; may && k < e->plan->n_kernels; k++)
        may = e->plan->kernels[k].schedule != IP_SCHEDULE_OPAQUE && e->plan->kernels[k].n_textures == 0;
    return may;
}

static imgpar_status run_whole(evaluation *e, ip_value **values, ip_error *err)
{
    bool waits = !may_be_followed(e);
    imgpar_status st = ip_evaluation_run_kernels(e, err);
    /* Waits, so that a kernel that fails is this evaluation's failure and nobody else's. A loop waits for its last
     * step. */
    for (int k = 0; !st && waits && k < e->plan->n_outputs; k++)
        if (e->bindings[e->plan->outputs[k]->id].buffer)
            st = ip_buffer_wait(e->bindings[e->plan->outputs[k]->id].buffer, err);
    if (st)
        ip_device_finish(e->runner.device, NULL); /* buffers of a run that failed must not be waited for by others */
    for (int k = 0; !st && k < e->plan->n_outputs; k++)
        st = ip_evaluation_take(e, e->plan->outputs[k], &values[k], err);
    ip_evaluation_unbind(e);
    return st;
}

/* ---- in strips ------------------------------------------------------------------------- */

/* Puts what is wanted of result k where it is wanted, unless it was computed there; then the host may look. */
static imgpar_status gather(evaluation *e, int k, ip_error *err)
{
    const ip_stage *s = e->plan->outputs[k];
    const ip_region *r = &e->wanted[k];
    const ip_binding *b = &e->bindings[s->id]; /* an opaque stage, or another reader, may have made more */
    if (ip_region_is_empty(r)) return IMGPAR_OK;
    double start = ip_now_ms();
    char *to = ip_evaluation_place(e, k, r);
    size_t n = (size_t)ip_region_bytes(r, s);
    if (ip_buffer_host(b->buffer) == to) {
        void *mapped;
        imgpar_status st = ip_buffer_map(b->buffer, &mapped, err);
        ip_buffer_unmap(b->buffer, mapped);
        return st;
    }
    int64_t rows_before = (r->z0 - b->region.z0) * (b->region.y1 - b->region.y0) + r->y0 - b->region.y0;
    imgpar_status st = ip_buffer_read(b->buffer, (size_t)(rows_before * ip_stage_row_bytes(s)), to, n, err);
    ip_runner_event(&e->runner, "download", "strip", start, n, n);
    return st;
}

/* Computes what is wanted and gathers it. */
static imgpar_status run_wanted(evaluation *e, ip_error *err)
{
    imgpar_status st = ip_evaluation_run_kernels(e, err);
    for (int k = 0; !st && k < e->plan->n_outputs; k++) {
        if (e->plan->outputs[k]->kind == IP_STAGE_SOURCE) st = ip_evaluation_bind_source(e, e->plan->outputs[k], err);
        if (!st) st = gather(e, k, err);
    }
    if (st)
        ip_device_finish(e->runner.device, NULL); /* buffers of a run that failed must not be waited for by others */
    ip_evaluation_unbind(e);
    return st;
}

static void want_rows(evaluation *e, int64_t y0, int64_t y1)
{
    e->wanted[0].y0 = y0;
    e->wanted[0].y1 = y1;
    ip_evaluation_infer(e);
}

/* Fewer rows at a time, of those from y0 to y1, until they fit the budget. */
static int64_t rows_that_fit(evaluation *e, int64_t y0, int64_t y1)
{
    uint64_t budget = ip_device_budget_left(e->runner.device);
    int64_t rows = y1 - y0;
    for (;;) {
        /* a strip in the middle has a halo at both ends */
        int64_t first = y0 + (y1 - y0 - rows) / 2;
        want_rows(e, first, first + rows);
        if (ip_evaluation_bytes(e) <= budget - budget / 8 && ip_evaluation_holds_little(e)) return rows;
        if (rows <= 1) return 0;
        rows = (rows + 1) / 2;
    }
}

static imgpar_status run_strips_of(evaluation *e, int64_t y0, int64_t y1, int64_t rows, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (int64_t y = y0; !st && y < y1; y += rows) {
        want_rows(e, y, ip_min(y + rows, y1));
        st = run_wanted(e, err);
    }
    return st;
}

/* Whether one image is asked for. */
static bool can_be_strips(const evaluation *e)
{
    const ip_stage *s = e->plan->outputs[0];
    const ip_region *r = &e->wanted[0];
    return e->plan->n_outputs == 1 && (s->kind == IP_STAGE_MAP || s->opaque) && r->z1 - r->z0 == 1;
}

/* The rows from y0 to y1 of the one image that is asked for, into e->hosts. */
static imgpar_status run_strips(evaluation *e, int64_t y0, int64_t y1, ip_error *err)
{
    const ip_stage *s = e->plan->outputs[0];
    int64_t rows = can_be_strips(e) ? rows_that_fit(e, y0, y1) : 0;
    if (rows == 0)
        return ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                       "%s: needs more than the %llu kB that are left for it on the device", s->node->op->info.name,
                       (unsigned long long)(ip_device_budget_left(e->runner.device) >> 10));
    imgpar_status st = run_strips_of(e, y0, y1, rows, err);
    while (st == IMGPAR_E_DEVICE_MEMORY && rows > 1) { /* line buffers and other scratch took what was left */
        rows = (rows + 1) / 2;
        *err = (ip_error){ IMGPAR_OK, "" };
        st = run_strips_of(e, y0, y1, rows, err);
    }
    return st;
}

/* ---- streaming --------------------------------------------------------------------------- */

/*
 * Note [Strips that stream]
 * A strip is large enough that launches and halos cost little, and small enough for the last cache. What strips compute
 * twice is counted before, by inferring the demand of each of them: where a sort, a long recurrence or a fold needs all
 * of what it reads for every row, the result is computed whole.
 */
enum { STREAMED_STRIP_BYTES = 1 << 20, LEAST_STREAMED_BYTES = 4 << 20, LEAST_STREAMED_STRIPS = 4 };
static const double most_computed_twice = 0.25; /* of the work */

/* Elements to be computed for what is wanted; below 0: a fold is needed, which sees everything for every strip. */
static double needed_elements(const evaluation *e)
{
    double n = 0;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        const ip_region *r = &e->needed[k];
        if (!e->is_needed[k] || s->kind == IP_STAGE_SOURCE) continue;
        if (ip_stage_folds(s)) return -1;
        n += (double)(r->z1 - r->z0) * (double)(r->y1 - r->y0) * (double)(r->x1 - r->x0) * (double)s->dims[3];
    }
    return n;
}

/* Whether strips of so many rows compute little twice. */
static bool strips_are_cheap(evaluation *e, int64_t y0, int64_t y1, int64_t rows)
{
    want_rows(e, y0, y1);
    const double all = needed_elements(e);
    double sum = 0;
    for (int64_t y = y0; all >= 0 && sum >= 0 && y < y1; y += rows) {
        want_rows(e, y, ip_min(y + rows, y1));
        sum += needed_elements(e);
        if (sum > all * (1 + most_computed_twice)) return false;
    }
    return all >= 0;
}

/* Bytes a row of the result is made of, and has, about: of the result and of the sources that are read by rows. */
static int64_t bytes_a_row(const evaluation *e, int64_t n_rows)
{
    uint64_t n = ip_stage_bytes(e->plan->outputs[0]);
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (e->is_needed[k] && ip_evaluation_may_window(e, s)) n = n < ip_stage_bytes(s) ? ip_stage_bytes(s) : n;
    }
    return (int64_t)(n / (uint64_t)n_rows) + 1;
}

/* Kept values make room, if they must. */
static bool fits_device(const evaluation *e)
{
    const uint64_t n = e->plan->n_kernels == 0 ? 0 : ip_evaluation_bytes(e);
    ip_device *device = e->runner.device;
    return n <= ip_device_budget_left(device) ||
           (ip_kept_make_room(e->ctx, device, n) && n <= ip_device_budget_left(device));
}

/* Rows of a strip in which the result streams; 0: it does not. */
static int64_t streamed_rows(evaluation *e)
{
    const ip_stage *s = e->plan->outputs[0];
    const ip_region all = e->wanted[0];
    const int64_t n = all.y1 - all.y0;
    const bool is_computed = s->kind == IP_STAGE_MAP || s->opaque;
    if (e->plan->n_outputs != 1 || all.z1 - all.z0 != 1 || n < LEAST_STREAMED_STRIPS) return 0;
    if (!is_computed && !ip_evaluation_may_window(e, s)) return 0;
    const int64_t row_bytes = bytes_a_row(e, n);
    if (row_bytes * n < LEAST_STREAMED_BYTES) return 0;
    int64_t rows = ip_max(STREAMED_STRIP_BYTES / row_bytes, 1);
    while (rows * LEAST_STREAMED_STRIPS <= n && !strips_are_cheap(e, all.y0, all.y1, rows))
        rows *= 2;
    if (rows * LEAST_STREAMED_STRIPS > n) return 0;
    want_rows(e, all.y0, all.y0 + rows);
    if (!fits_device(e) && rows_that_fit(e, all.y0, all.y1) == 0) rows = 0;
    want_rows(e, all.y0, all.y1);
    return rows;
}

/* What strips of so many rows need of a source. */
static ip_needed_rows rows_needed_of(evaluation *e, const ip_stage *s, const ip_region *all, int64_t strip_rows)
{
    ip_needed_rows rows = { 0 };
    int64_t before = 0;
    for (int64_t y = all->y0; y < all->y1; y += strip_rows) {
        want_rows(e, y, ip_min(y + strip_rows, all->y1));
        const ip_region *r = &e->needed[s->id];
        if (!e->is_needed[s->id] || r->y1 <= r->y0) continue;
        rows.goes_back |= r->y0 < before;
        before = r->y0;
        rows.end = ip_max(rows.end, r->y1);
        rows.most = ip_max(rows.most, r->y1 - r->y0);
    }
    return rows;
}

/* Gives a window to each source of which strips need few rows at once, one after the other. */
static imgpar_status open_windows(evaluation *e, const ip_region *all, int64_t strip_rows, ip_error *err)
{
    enum { LEAST_WINDOWS = 3 }; /* that the source is larger than a strip's rows of it */
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; !st && k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (!ip_evaluation_may_window(e, s)) continue;
        const ip_needed_rows rows = rows_needed_of(e, s, all, strip_rows);
        if (rows.goes_back)
            st = ip_evaluation_decode_whole(e, s, err);
        else if (rows.end > 0 && rows.most * LEAST_WINDOWS <= s->dims[1])
            st = ip_evaluation_open_window(e, s, &rows, err);
    }
    return st;
}

/* A run did not fit: without its leftovers, and with kept values in host memory, the next one may. */
static void make_room(evaluation *e, ip_error *err)
{
    *err = (ip_error){ IMGPAR_OK, "" };
    ip_kept_make_room(e->ctx, e->runner.device, UINT64_MAX);
    for (int k = 0; k < e->plan->ir->n_stages; k++)
        if (e->source_values[k]) ip_value_leave_device(e->source_values[k], e->runner.device);
}

/* One strip, in parts where it does not fit: then *rows at a time. */
static imgpar_status run_streamed_strip(evaluation *e, int64_t y0, int64_t y1, int64_t *rows, ip_error *err)
{
    imgpar_status st = run_strips_of(e, y0, y1, *rows, err);
    if (st == IMGPAR_E_DEVICE_MEMORY) {
        make_room(e, err);
        st = run_strips_of(e, y0, y1, *rows, err);
    }
    while (st == IMGPAR_E_DEVICE_MEMORY && *rows > 1) {
        *rows = (*rows + 1) / 2;
        *err = (ip_error){ IMGPAR_OK, "" };
        st = run_strips_of(e, y0, y1, *rows, err);
    }
    return st;
}

static double decode_work(const evaluation *e)
{
    double work = 0;
    for (int k = 0; k < e->plan->ir->n_stages; k++)
        if (e->windows[k]) work += IP_WORK_DECODE * ip_dims_count(e->plan->ir->stages[k]->dims);
    return work;
}

static imgpar_status run_streamed_strips(evaluation *e, ip_row_taker *t, const ip_region *all, int64_t strip_rows,
                                         ip_error *err)
{
    const int64_t row_bytes = ip_stage_row_bytes(e->plan->outputs[0]), n = all->y1 - all->y0;
    const double work = decode_work(e);
    int64_t rows = strip_rows;
    imgpar_status st = IMGPAR_OK;
    for (int64_t y = t->n_made; !st && y < n; y += strip_rows) {
        void *host;
        const int64_t end = ip_min(y + strip_rows, n);
        st = t->place(t->user, y, &host, err);
        e->hosts = &host;
        e->host_first = (size_t)(y * row_bytes);
        ip_progress_step(e->runner.options, work * (double)(end - y) / (double)n);
        if (!st) st = run_streamed_strip(e, all->y0 + y, all->y0 + end, &rows, err);
        if (!st) st = t->made(t->user, end, err);
        if (!st) t->n_made = end;
    }
    e->hosts = NULL;
    e->host_first = 0;
    return st;
}

static imgpar_status run_streamed(evaluation *e, ip_row_taker *t, int64_t strip_rows, ip_error *err)
{
    const ip_stage *s = e->plan->outputs[0];
    const ip_region all = ip_stage_shown(s);
    imgpar_status st = IMGPAR_OK;
    t->strip_rows = strip_rows;
    st = open_windows(e, &all, strip_rows, err); /* what does not fit here may, alone, as long as nothing has begun */
    if (!st && !t->has_begun) st = t->begin(t->user, all.y1 - all.y0, (size_t)ip_stage_row_bytes(s), strip_rows, err);
    if (!st && !t->has_begun) ip_evaluation_drop_windows(e);
    return st || !t->has_begun ? st : run_streamed_strips(e, t, &all, strip_rows, err);
}

/* ---- what is done ------------------------------------------------------------------------ */

static imgpar_status run_strips_to_host(evaluation *e, ip_value **values, ip_error *err)
{
    const ip_stage *s = e->plan->outputs[0];
    const size_t n = (size_t)ip_stage_bytes(s);
    imgpar_status st = ip_context_take_host(e->ctx, n, s->node->op->info.name, err);
    if (st) return st;
    void *host = ip_alloc(n);
    if (!host) st = ip_fail_memory_for(err, s->node->op->info.name, n);
    e->hosts = &host;
    if (!st) st = run_strips(e, e->wanted[0].y0, e->wanted[0].y1, err);
    e->hosts = NULL;
    if (st) {
        ip_free(host);
        ip_account_give(e->ctx->host, n);
        return st;
    }
    values[0] = ip_value_of_counted(host, n, e->ctx->host);
    return values[0] ? IMGPAR_OK : ip_fail_memory(err, "keeping a result");
}

/* Whether the one image that is asked for may be made in strips that fit and compute little twice. */
static bool fits_cheap_strips(evaluation *e)
{
    const ip_region all = e->wanted[0];
    const int64_t rows = can_be_strips(e) ? rows_that_fit(e, all.y0, all.y1) : 0;
    const bool fits = rows > 0 && strips_are_cheap(e, all.y0, all.y1, rows);
    want_rows(e, all.y0, all.y1);
    return fits;
}

static bool folds_in_parts(const evaluation *e) { return ip_evaluation_folds(e) && !ip_evaluation_uncut(e, true); }

/* The one image that is asked for, or folds, of sources too large to be kept. */
static imgpar_status run_in_pieces(evaluation *e, const ip_request *q, ip_value **values, ip_error *err)
{
    return folds_in_parts(e) ? ip_evaluation_run_folds(e, q, values, err) : run_strips_to_host(e, values, err);
}

/* What did not fit: folds by halves, an image in strips where these compute little twice; all else, and what does not
 * fit so either, kernel by kernel. */
static imgpar_status run_what_did_not_fit(evaluation *e, const ip_request *q, ip_value **values, ip_error *err)
{
    imgpar_status st = folds_in_parts(e)      ? ip_evaluation_run_folds(e, q, values, err)
                       : fits_cheap_strips(e) ? run_strips_to_host(e, values, err)
                                              : IMGPAR_E_DEVICE_MEMORY;
    if (st != IMGPAR_E_DEVICE_MEMORY) return st;
    make_room(e, err);
    ip_evaluation_drop_windows(e);
    ip_evaluation_want(e, 0, 1);
    atomic_fetch_add(&e->ctx->spills, 1);
    return ip_evaluation_run_spilled(e, q, values, err);
}

/* Everything at once where it fits, else in pieces. */
static imgpar_status run_to_values(evaluation *e, const ip_request *q, ip_value **values, ip_error *err)
{
    ip_evaluation_want(e, 0, 1);
    if (!ip_evaluation_holds_little(e)) {
        imgpar_status st = run_in_pieces(e, q, values, err);
        if (st != IMGPAR_E_DEVICE_MEMORY) return st;
        *err = (ip_error){ IMGPAR_OK, "" };
        ip_evaluation_drop_windows(e);
        ip_evaluation_want(e, 0, 1);
    }
    e->hosts = e->dst && is_free(e, e->dst) ? &e->dst : NULL;
    imgpar_status st = fits_device(e) ? run_whole(e, values, err) : IMGPAR_E_DEVICE_MEMORY;
    e->hosts = NULL;
    if (st != IMGPAR_E_DEVICE_MEMORY) return st;
    make_room(e, err);
    return run_what_did_not_fit(e, q, values, err);
}

/* What reads folds of sources too large to be held: streamed, or folded in parts, behind looks at them. */
static imgpar_status run_looks(evaluation *e, const ip_request *q, ip_value **values, bool *is_done, ip_error *err)
{
    evaluation *rest = NULL;
    ip_request of_rest = *q;
    of_rest.goal.look = IP_LOOK_LAST;
    ip_evaluation_want(e, 0, 1);
    if (ip_evaluation_holds_little(e) || needed_elements(e) >= 0) return IMGPAR_OK;
    imgpar_status st = ip_evaluation_plan_rest(e, q, &rest, err);
    if (st || !rest) return st;
    ip_evaluation_want(rest, 0, 1);
    const int64_t rows = q->taker ? streamed_rows(rest) : 0;
    *is_done = !q->taker && folds_in_parts(rest);
    if (rows > 0 || *is_done) st = ip_evaluation_look(rest, q, err);
    if (!st && *is_done) st = ip_evaluation_run_folds(rest, &of_rest, values, err);
    if (!st && rows > 0) st = run_streamed(rest, q->taker, rows, err);
    *is_done |= q->taker && q->taker->has_begun;
    st = ip_evaluation_end_windows(rest, st, err);
    ip_evaluation_free(rest);
    return st;
}

static imgpar_status run(evaluation *e, const ip_request *q, ip_value **values, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    bool is_done = false;
    ip_evaluation_want(e, 0, 1);
    const int64_t rows = !q->taker ? 0 : q->taker->has_begun ? q->taker->strip_rows : streamed_rows(e);
    if (rows > 0)
        st = run_streamed(e, q->taker, rows, err);
    else if (q->goal.look == 0)
        st = run_looks(e, q, values, &is_done, err);
    return st || is_done || (rows > 0 && q->taker->has_begun) ? st : run_to_values(e, q, values, err);
}

imgpar_status ip_evaluation_explain_memory(imgpar_context *ctx, const ip_request *q, ip_str *out, ip_error *err)
{
    evaluation *e = NULL;
    imgpar_status st = ip_evaluation_new(ctx, ctx->device, q, &e, err);
    if (st) return st;
    ip_evaluation_want(e, 0, 1);
    const uint64_t bytes = e->plan->n_kernels == 0 ? 0 : ip_evaluation_bytes(e),
                   left = ip_device_budget_left(ctx->device);
    if (bytes > left)
        ip_str_printf(out, "memory: %llu kB at once are more than the %llu kB of the device: %s",
                      (unsigned long long)(bytes >> 10), (unsigned long long)(left >> 10),
                      folds_in_parts(e)      ? "folded by halves, and if these do not fit kernel by kernel"
                      : fits_cheap_strips(e) ? "in strips of rows"
                                             : "kernel by kernel, what is between them in host memory");
    ip_evaluation_free(e);
    return IMGPAR_OK;
}

imgpar_status ip_evaluation_run(evaluation *e, const ip_request *q, ip_value **values, ip_error *err)
{
    imgpar_status st = ip_evaluation_check_device(e, e->runner.device, err);
    if (!st) st = run(e, q, values, err);
    return ip_evaluation_end_windows(e, st, err);
}

/* Whether folds are asked for, one of which sees more than one row, or plane. */
static bool has_halves(const evaluation *e)
{
    bool found = false;
    for (int k = 0; k < e->plan->n_outputs && ip_evaluation_folds(e); k++) {
        const ip_stage *s = e->plan->outputs[k];
        ip_region seen = ip_evaluation_seen(e, s);
        found |= s->over[0] > 1 ? seen.z1 - seen.z0 > 1 : seen.y1 - seen.y0 > 1;
    }
    return found;
}

imgpar_status ip_evaluation_part(evaluation *e, double from, double to, void *const *hosts, ip_error *err)
{
    imgpar_status st = ip_evaluation_check_device(e, e->runner.device, err);
    if (st) return st;
    ip_evaluation_want(e, from, to);
    e->hosts = hosts;
    st = fits_device(e) && ip_evaluation_holds_little(e) ? run_wanted(e, err) : IMGPAR_E_DEVICE_MEMORY;
    if (st == IMGPAR_E_DEVICE_MEMORY) {
        make_room(e, err);
        ip_evaluation_want(e, from, to);
        const ip_region all = e->wanted[0];
        st = has_halves(e) ? ip_evaluation_fold_halves(e, from, to, hosts, err) : run_strips(e, all.y0, all.y1, err);
    }
    e->hosts = NULL;
    return st;
}

imgpar_status ip_evaluation_run_part(evaluation *e, double from, double to, void *const *hosts, ip_error *err)
{
    imgpar_status st = ip_evaluation_part(e, from, to, hosts, err);
    return ip_evaluation_end_windows(e, st, err);
}
