/* SPDX-License-Identifier: MIT */
/*
 * An evaluation kernel by kernel, where what is between its kernels does not fit the device.
 *
 * Note [Spilling]
 * Strips (strips.c) cut the result, and what it is made of is made anew for every strip: of a cumulative sum, a sort or
 * an axis' mean all of it. Here each kernel of the plan runs before the next one begins. What it makes is kept in host
 * memory, whole, until its last reader has run; the device holds a box of what one kernel makes, and the boxes of its
 * inputs that this box is made of. So no kernel needs to know how it is cut: bounds inference tells what a box reads,
 * and a box that does not fit is halved along the axis that saves most. Hence
 *
 *     maps and stencils    are cut anywhere, and read a halo,
 *     transposes           read columns for rows,
 *     recurrences          are cut across their lines, which are walked whole, in the order that the row states,
 *     folds                are cut anywhere: of each box there is a total, which the host combines (totals.c, Note
 *                          [Totals]); the plan's folds stop at their totals, and a map behind each takes the last step
 *     hand-written kernels are cut as they tell (ir/opaque.h): lines that are sorted or transformed stay whole.
 *
 * Elements are the same as without a limit, but for floats that are added up over boxes. Memory that the device shares
 * is used where it stands, as ever: then kernels run whole, and only what they need beside it counts.
 *
 * What cannot be cut small enough, a line that is longer than the device's memory, is left to the interpreter
 * (evaluate.c).
 */
#include "run/evaluation_impl.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "ir/opaque.h"
#include "run/boxes.h"
#include "run/opaque.h"
#include "run/progress.h"
#include "run/ref.h"

#include <string.h>

typedef struct spilling {
    evaluation *e;
    char **held;            /* by stage id: what is needed of it, in host memory; NULL: it is not there */
    bool *has_total;        /* by stage id: of a fold, of a box at least */
    uint64_t bytes, most;   /* of held, and what they may be */
    const ip_kernel *large; /* the kernel that could not be cut any more, and what its smallest box takes */
    uint64_t large_bytes;
} spilling;

/* ---- what host memory holds ------------------------------------------------------------------------------ */

/* What of a stage is held, where it is. */
static ip_region held_box(const spilling *s, const ip_stage *stage)
{
    return ip_stage_folds(stage) || stage->kind == IP_STAGE_SOURCE ? ip_region_whole(stage->dims)
                                                                   : s->e->needed[stage->id];
}

static imgpar_status hold(spilling *s, const ip_stage *stage, ip_error *err)
{
    const ip_region box = held_box(s, stage);
    const uint64_t n = ip_region_is_empty(&box) ? 0 : ip_region_bytes(&box, stage);
    if (s->held[stage->id]) return IMGPAR_OK;
    imgpar_status st = ip_context_take_host(s->e->ctx, n, stage->node->op->info.name, err);
    if (st) return st;
    if (n <= s->most - s->bytes) s->held[stage->id] = ip_alloc(n ? (size_t)n : 1);
    if (!s->held[stage->id]) {
        ip_account_give(s->e->ctx->host, n);
        return ip_fail_memory_for(err, stage->node->op->info.name, s->bytes + n);
    }
    s->bytes += n;
    return IMGPAR_OK;
}

static void let_go(spilling *s, const ip_stage *stage)
{
    const ip_region box = held_box(s, stage);
    const uint64_t n = s->held[stage->id] && !ip_region_is_empty(&box) ? ip_region_bytes(&box, stage) : 0;
    s->bytes -= n;
    ip_account_give(s->e->ctx->host, n);
    ip_free(s->held[stage->id]);
    s->held[stage->id] = NULL;
}

/* ---- what a box takes ------------------------------------------------------------------------------------ */

static ip_region widened(const ip_kernel *k, const ip_region *r)
{
    ip_region w = *r;
    ip_kernel_widen(k, &w);
    return w;
}

/* The value of a source; NULL: it is made here. A source is decoded before its first reader runs. */
static ip_value *source_of(const spilling *s, const ip_stage *stage)
{
    return stage->kind == IP_STAGE_SOURCE ? s->e->source_values[stage->id] : NULL;
}

static const char *host_of(const spilling *s, const ip_stage *stage)
{
    const ip_value *v = source_of(s, stage);
    return stage->kind != IP_STAGE_SOURCE ? s->held[stage->id] : v ? v->host : NULL;
}

/* An input that is on the device, or in memory that it shares. */
static bool takes_no_room(const spilling *s, const ip_stage *stage)
{
    const ip_device *device = s->e->runner.device;
    ip_value *v = source_of(s, stage);
    const char *host = host_of(s, stage);
    return (v && ip_value_is_on_device(v, device)) || (host && ip_device_shares(device, host));
}

/* What the kernel reads of an input for its box r, as far as that is held. */
static ip_region read_of(const spilling *s, const ip_kernel *k, const ip_stage *input, const ip_region *r)
{
    ip_region read;
    ip_kernel_demand(s->e->plan, k, input, r, &read);
    if (ip_region_is_empty(&read)) return read;
    const ip_region held = held_box(s, input), readable = ip_box_readable(&read, input);
    return ip_box_common(&held, &readable);
}

/* The memory that the device may write a box of the result in by itself; NULL: it may not. */
static char *shared_place(const spilling *s, const ip_stage *stage, const ip_region *r)
{
    const ip_region box = held_box(s, stage), inside = ip_box_common(&box, r);
    if (ip_stage_folds(stage) || !ip_box_is_same(&inside, r) || !ip_box_is_piece(&box, r)) return NULL;
    char *to = s->held[stage->id] + ip_box_place(&box, r, stage);
    return ip_device_shares(s->e->runner.device, to) ? to : NULL;
}

/* Device memory for the box r of what kernel makes, but for scratch that is planned when it is launched. */
static uint64_t bytes_of(const spilling *s, const ip_kernel *k, const ip_region *r)
{
    uint64_t n = ip_opaque_scratch_bytes(&s->e->runner, k, r);
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_region read = read_of(s, k, k->inputs[i], r);
        const uint64_t bytes = ip_region_is_empty(&read) ? 0 : ip_region_bytes(&read, k->inputs[i]);
        if (!takes_no_room(s, k->inputs[i])) n += bytes;
        if (ip_kernel_texture(k, k->inputs[i])) n += bytes;
    }
    for (int i = 0; i < k->n_outputs; i++) {
        const ip_region made = ip_stage_folds(k->outputs[i]) ? ip_region_whole(k->outputs[i]->dims) : *r;
        if (!shared_place(s, k->outputs[i], &made)) n += ip_region_bytes(&made, k->outputs[i]);
    }
    return n;
}

/* Both halves of r along the axis that saves most; false: none does. Rows are halved rather than columns, whose pieces
 * are copied one by one. */
static bool halve(const spilling *s, const ip_kernel *k, const ip_region *r, ip_region halves[2])
{
    static const double as_good = 0.9;
    static const int64_t steps[3] = { 1, 16, 64 }; /* whole rows of tiles, whole lines of memory */
    const ip_region all = widened(k, r);
    const int64_t from[3] = { r->z0, r->y0, r->x0 }, to[3] = { r->z1, r->y1, r->x1 };
    const double whole = (double)bytes_of(s, k, &all);
    double best = whole;
    bool found = false;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = to[axis] - from[axis], middle = from[axis] + (n + 1) / 2;
        if (n < 2) continue;
        if (n > 2 * steps[axis]) middle = from[axis] + ip_ceil_div((n + 1) / 2, steps[axis]) * steps[axis];
        ip_region half[2] = { *r, *r };
        int64_t *const ends[3] = { &half[0].z1, &half[0].y1, &half[0].x1 };
        int64_t *const begins[3] = { &half[1].z0, &half[1].y0, &half[1].x0 };
        *ends[axis] = *begins[axis] = middle;
        const ip_region made[2] = { widened(k, &half[0]), widened(k, &half[1]) };
        const double bytes = (double)ip_max((int64_t)bytes_of(s, k, &made[0]), (int64_t)bytes_of(s, k, &made[1]));
        /* no element is made twice, which folds would count */
        const bool meets = ip_box_is_same(&made[0], &half[0]) && ip_box_is_same(&made[1], &half[1]);
        if (bytes >= (found ? best * as_good : whole) || (k->n_folds > 0 && !meets)) continue;
        best = bytes;
        found = true;
        memcpy(halves, half, sizeof half);
    }
    return found;
}

/* ---- one box --------------------------------------------------------------------------------------------- */

static imgpar_status upload(spilling *s, const ip_stage *stage, const ip_region *box, ip_binding *b, ip_error *err)
{
    const ip_region held = held_box(s, stage);
    const char *host = host_of(s, stage);
    const uint64_t n = ip_region_bytes(box, stage);
    const double start = ip_now_ms();
    b->region = *box;
    const imgpar_status st = ip_box_upload(s->e->runner.device, host, &held, box, stage, &b->buffer, err);
    if (!st) ip_runner_event(&s->e->runner, "upload", stage->node->op->info.name, start, n, n);
    return st;
}

static imgpar_status bind_input(spilling *s, const ip_kernel *k, const ip_stage *stage, const ip_region *r,
                                ip_error *err)
{
    ip_binding *b = &s->e->bindings[stage->id];
    ip_device *device = s->e->runner.device;
    ip_value *v = source_of(s, stage);
    if (b->buffer) return IMGPAR_OK;
    const ip_region read = read_of(s, k, stage, r);
    if (ip_region_is_empty(&read)) {
        b->region = (ip_region){ 0 };
        return ip_buffer_new(device, 1, &b->buffer, err);
    }
    if ((!v || v->host) && !takes_no_room(s, stage)) return upload(s, stage, &read, b, err);
    b->region = held_box(s, stage);
    if (v) return ip_value_on_device(v, device, &b->buffer, err);
    return ip_buffer_wrap(device, s->held[stage->id], (size_t)ip_region_bytes(&b->region, stage), NULL, NULL,
                          &b->buffer, err);
}

static imgpar_status bind_output(spilling *s, const ip_stage *stage, const ip_region *r, ip_error *err)
{
    ip_binding *b = &s->e->bindings[stage->id];
    b->region = ip_stage_folds(stage) ? ip_region_whole(stage->dims) : *r;
    const size_t n = ip_region_is_empty(&b->region) ? 0 : (size_t)ip_region_bytes(&b->region, stage);
    char *place = n > 0 ? shared_place(s, stage, &b->region) : NULL;
    if (place) return ip_buffer_wrap(s->e->runner.device, place, n, NULL, NULL, &b->buffer, err);
    return ip_buffer_new(s->e->runner.device, n ? n : 1, &b->buffer, err);
}

/* The total of a box joins that of the boxes before it. */
static imgpar_status add_total(spilling *s, const ip_stage *fold, const char *total, size_t n, ip_error *err)
{
    char *to = s->held[fold->id];
    char *sum = s->has_total[fold->id] ? ip_alloc(n) : NULL;
    imgpar_status st = IMGPAR_OK;
    if (s->has_total[fold->id])
        st = sum ? ip_ref_combine(s->e->plan->ir, fold, (const void *[]){ to, total }, 2, sum, err)
                 : ip_fail_memory(err, "folding boxes");
    if (!st) memcpy(to, sum ? sum : total, n);
    s->has_total[fold->id] = true;
    ip_free(sum);
    return st;
}

/* What was made goes to host memory, unless it was made there: then the host may look. */
static imgpar_status download(spilling *s, const ip_stage *stage, ip_error *err)
{
    const ip_binding *b = &s->e->bindings[stage->id];
    const ip_region held = held_box(s, stage), box = ip_box_common(&held, &b->region);
    const double start = ip_now_ms();
    if (ip_region_is_empty(&b->region) || ip_region_is_empty(&box)) return IMGPAR_OK;
    if (ip_buffer_host(b->buffer)) {
        void *mapped;
        const imgpar_status st = ip_buffer_map(b->buffer, &mapped, err);
        ip_buffer_unmap(b->buffer, mapped);
        return st;
    }
    const size_t n = (size_t)ip_region_bytes(&b->region, stage);
    const bool is_direct =
        !ip_stage_folds(stage) && ip_box_is_same(&box, &b->region) && ip_box_is_piece(&held, &b->region);
    char *rows = is_direct ? s->held[stage->id] + ip_box_place(&held, &box, stage) : ip_alloc(n);
    if (!rows) return ip_fail_memory(err, "downloading a box");
    imgpar_status st = ip_buffer_read(b->buffer, 0, rows, n, err);
    if (!st) ip_runner_event(&s->e->runner, "download", stage->node->op->info.name, start, n, n);
    if (!st && ip_stage_folds(stage))
        st = add_total(s, stage, rows, n, err);
    else if (!st && !is_direct)
        ip_box_copy(s->held[stage->id], &held, rows, &b->region, &box, stage);
    if (!is_direct) ip_free(rows);
    return st;
}

static void unbind(spilling *s, const ip_kernel *k)
{
    for (int i = 0; i < k->n_inputs + k->n_outputs; i++) {
        ip_binding *b = &s->e->bindings[(i < k->n_inputs ? k->inputs[i] : k->outputs[i - k->n_inputs])->id];
        ip_buffer_release(b->buffer);
        b->buffer = NULL;
    }
}

static imgpar_status run_box(spilling *s, const ip_kernel *k, const ip_region *r, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (int i = 0; !st && i < k->n_inputs; i++)
        st = bind_input(s, k, k->inputs[i], r, err);
    for (int i = 0; !st && i < k->n_outputs; i++)
        st = bind_output(s, k->outputs[i], r, err);
    if (!st && s->e->plan->ir->failed) st = ip_fail_memory(err, "planning a box"); /* demand walks expressions */
    if (!st) st = ip_kernel_run(&s->e->runner, s->e->plan, k, s->e->bindings, r, err);
    for (int i = 0; !st && i < k->n_outputs; i++)
        st = download(s, k->outputs[i], err);
    if (st)
        ip_device_finish(s->e->runner.device, NULL); /* buffers of a run that failed must not be waited for by others */
    unbind(s, k);
    return st;
}

/* In one piece where it fits, else in halves. */
static imgpar_status run_boxes(spilling *s, const ip_kernel *k, const ip_region *r, ip_error *err)
{
    const uint64_t left = ip_device_budget_left(s->e->runner.device), room = left - left / 8;
    const ip_region all = widened(k, r);
    const uint64_t bytes = bytes_of(s, k, &all);
    ip_region halves[2];
    imgpar_status st = bytes <= room ? run_box(s, k, &all, err) : IMGPAR_E_DEVICE_MEMORY;
    if (st != IMGPAR_E_DEVICE_MEMORY) return st;
    if (halve(s, k, r, halves)) {
        *err = (ip_error){ IMGPAR_OK, "" };
        st = run_boxes(s, k, &halves[0], err);
        return st ? st : run_boxes(s, k, &halves[1], err);
    }
    *err = (ip_error){ IMGPAR_OK, "" };
    st = bytes <= left && bytes > room ? run_box(s, k, &all, err) : IMGPAR_E_DEVICE_MEMORY;
    if (st == IMGPAR_E_DEVICE_MEMORY) {
        s->large = k;
        s->large_bytes = bytes;
    }
    return st;
}

/* ---- kernel by kernel --------------------------------------------------------------------------------------- */

static imgpar_status run_kernel(spilling *s, int index, ip_error *err)
{
    evaluation *e = s->e;
    const ip_kernel *k = &e->plan->kernels[index];
    imgpar_status st = IMGPAR_OK;
    ip_value *unused;
    if (!ip_evaluation_needs(e, k)) return IMGPAR_OK;
    for (int i = 0; !st && i < k->n_inputs; i++) /* nothing is needed of an input that was not made */
        st = k->inputs[i]->kind == IP_STAGE_SOURCE ? ip_evaluation_source(e, k->inputs[i], &unused, err)
                                                   : hold(s, k->inputs[i], err);
    for (int i = 0; !st && i < k->n_outputs; i++)
        st = hold(s, k->outputs[i], err);
    if (!st) {
        const ip_region r = ip_evaluation_region(e, k);
        ip_progress_step(e->runner.options, ip_evaluation_kernel_work(e, k));
        st = run_boxes(s, k, &r, err);
    }
    for (int i = 0; i < k->n_inputs; i++)
        if (k->inputs[i]->kind != IP_STAGE_SOURCE && e->last_reader[k->inputs[i]->id] == index) let_go(s, k->inputs[i]);
    for (int i = 0; i < k->n_outputs; i++)
        if (e->last_reader[k->outputs[i]->id] < 0) let_go(s, k->outputs[i]);
    return st;
}

/* The value of result k, which was made. */
static imgpar_status take(spilling *s, int k, ip_value **values, ip_error *err)
{
    const ip_stage *stage = s->e->plan->outputs[k];
    if (stage->kind == IP_STAGE_SOURCE) return ip_evaluation_take(s->e, stage, &values[k], err);
    for (int i = 0; i < k; i++)
        if (s->e->plan->outputs[i] == stage) values[k] = ip_value_retain(values[i]);
    if (values[k]) return IMGPAR_OK;
    const ip_region held = held_box(s, stage), shown = ip_stage_shown(stage);
    const size_t n = (size_t)ip_stage_bytes(stage);
    char *host = NULL;
    if (ip_region_is_empty(&shown) || ip_box_is_same(&held, &shown)) {
        imgpar_status st = hold(s, stage, err); /* of nothing, nothing was made */
        if (st) return st;
        host = s->held[stage->id];
        s->held[stage->id] = NULL;
    } else if ((host = ip_alloc(n ? n : 1))) {
        ip_account_add(s->e->ctx->host, n);
        ip_box_copy(host, &shown, s->held[stage->id], &held, &shown, stage);
    }
    values[k] = host ? ip_value_of_counted(host, n, s->e->ctx->host) : NULL;
    return values[k] ? IMGPAR_OK : ip_fail_memory(err, "keeping a result");
}

/* Says what did not fit, and with how much it would. */
static imgpar_status fail_large(const spilling *s, const evaluation *e, ip_error *err)
{
    const uint64_t left = ip_device_budget_left(e->runner.device), needs = s->large_bytes + s->large_bytes / 4;
    const ip_opaque *o = ip_kernel_opaque(s->large);
    const char *name = s->large->ops[0] ? s->large->ops : o && o->variant ? o->variant : s->large->name;
    *err = (ip_error){ IMGPAR_OK, "" };
    return ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                   "%s: %s needs more than the %llu kB that are left for it on the device, cut as small as it can be; "
                   "about %llu kB would do",
                   e->plan->outputs[0]->node->op->info.name, name, (unsigned long long)(left >> 10),
                   (unsigned long long)(ip_max((int64_t)needs, (int64_t)left * 2) >> 10));
}

static imgpar_status run_plan(spilling *s, ip_value **values, ip_error *err)
{
    evaluation *e = s->e;
    const size_t n = (size_t)e->plan->ir->n_stages + 1;
    s->held = ip_zalloc(n * sizeof *s->held);
    s->has_total = ip_zalloc(n * sizeof *s->has_total);
    s->most = ip_host_memory() / 2;
    imgpar_status st = s->held && s->has_total ? IMGPAR_OK : ip_fail_memory(err, "evaluating");
    if (!st) ip_evaluation_want(e, 0, 1);
    if (!st && e->plan->ir->failed) st = ip_fail_memory(err, "planning a run");
    for (int k = 0; !st && k < e->plan->n_kernels; k++)
        st = run_kernel(s, k, err);
    for (int k = 0; !st && k < e->plan->n_outputs; k++)
        st = take(s, k, values, err);
    for (int k = 0; s->held && k < e->plan->ir->n_stages; k++)
        let_go(s, e->plan->ir->stages[k]);
    ip_free(s->held);
    ip_free(s->has_total);
    return st;
}

imgpar_status ip_evaluation_run_spilled(evaluation *e, const ip_request *q, ip_value **values, ip_error *err)
{
    ip_request by_kernels = *q;
    spilling s = { .most = 0 };
    by_kernels.goal.spills = true;
    imgpar_status st = ip_evaluation_new(e->ctx, e->runner.device, &by_kernels, &s.e, err);
    if (st) return st;
    ip_evaluation_lend(e, s.e);
    st = run_plan(&s, values, err);
    if (st == IMGPAR_E_DEVICE_MEMORY && s.large) st = fail_large(&s, s.e, err);
    ip_evaluation_free(s.e);
    return st;
}
