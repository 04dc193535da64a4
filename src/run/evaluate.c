/* SPDX-License-Identifier: MIT */
/*
 * One evaluation:
 *
 *     branches are decided (branches.c); what follows sees the sides that are taken
 *     loops below the arrays are run first (loop.c); their results then count as sources
 *     numbers on which all depends are computed and looked at (usable.c)
 *     ip_compile          the graph becomes kernels
 *     demand              backwards from the results: the region of every stage that is needed
 *     for each kernel     sources decoded and uploaded on first use, outputs allocated, launched;
 *                         a stage's memory goes back to the pool after its last reader
 *
 * strips.c decides how much of the results is computed at once. A context of several devices shares the work out
 * (share.c): each device then has a plan, and a part of the results, of its own.
 */
#include "run/evaluation_impl.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "run/boxes.h"
#include "run/branches.h"
#include "run/held.h"
#include "run/opaque.h"
#include "run/plans.h"
#include "run/progress.h"
#include "run/promises.h"
#include "run/ref.h"
#include "run/share.h"
#include "run/usable.h"

#include <stdio.h>
#include <string.h>

static bool poll_stop(void *user, double done)
{
    const imgpar_options *o = user;
    return o->poll(o->user, done) != 0;
}

void ip_runner_init(ip_runner *runner, ip_device *device, const imgpar_options *options)
{
    *runner = (ip_runner){ .device = device, .options = options, .started_ms = ip_now_ms() };
    if (options && options->poll) runner->poll = (ip_poll){ poll_stop, (void *)options };
}

/* ---- what is needed ----------------------------------------------------------------- */

static ip_region seen_by(const void *user, const ip_stage *fold) { return ip_evaluation_seen(user, fold); }

static ip_bounds bounds_of(const evaluation *e)
{
    return (ip_bounds){
        .plan = e->plan, .wanted = e->wanted, .seen = seen_by, .user = e, .needed = e->needed, .is_needed = e->is_needed
    };
}

bool ip_evaluation_needs(const evaluation *e, const ip_kernel *k)
{
    const ip_bounds bounds = bounds_of(e);
    return ip_bounds_need(&bounds, k);
}

ip_region ip_evaluation_region(const evaluation *e, const ip_kernel *k)
{
    const ip_bounds bounds = bounds_of(e);
    return ip_bounds_region(&bounds, k);
}

static bool was_inferred(const evaluation *e)
{
    bool is_same = e->inferred.is_there && e->inferred.from == e->from && e->inferred.to == e->to;
    for (int k = 0; is_same && k < e->plan->n_outputs; k++)
        is_same = ip_box_is_same(&e->inferred.wanted[k], &e->wanted[k]);
    return is_same;
}

void ip_evaluation_infer(evaluation *e)
{
    if (was_inferred(e)) return;
    const ip_bounds bounds = bounds_of(e);
    ip_bounds_infer(&bounds);
    memcpy(e->inferred.wanted, e->wanted, (size_t)e->plan->n_outputs * sizeof *e->wanted);
    e->inferred.from = e->from;
    e->inferred.to = e->to;
    e->inferred.is_there = !e->plan->ir->failed;
}

/* ---- memory ------------------------------------------------------------------------------ */

imgpar_status ip_evaluation_source(evaluation *e, const ip_stage *s, ip_value **out, ip_error *err)
{
    if (!e->source_values[s->id]) {
        if (s->value)
            e->source_values[s->id] = ip_value_retain(s->value);
        else {
            imgpar_status st = ip_source_value(e->ctx, &e->runner, s->node, &e->source_values[s->id], err);
            if (st) return st;
        }
    }
    *out = e->source_values[s->id];
    return IMGPAR_OK;
}

/* A box of a source, which is in host memory or on another device. */
static imgpar_status upload_box(ip_value *v, const ip_stage *s, const ip_region *box, ip_device *device,
                                ip_buffer **out, ip_error *err)
{
    const ip_region all = ip_region_whole(s->dims);
    void *mapped = NULL;
    imgpar_status st = v->host ? IMGPAR_OK : ip_buffer_map(v->buffer, &mapped, err);
    if (!st) st = ip_box_upload(device, v->host ? v->host : mapped, &all, box, s, out, err);
    if (mapped) ip_buffer_unmap(v->buffer, mapped);
    return st;
}

/* What is needed of a source in the device's memory: its box, or everything. */
imgpar_status ip_evaluation_bind_source(evaluation *e, const ip_stage *s, ip_error *err)
{
    ip_binding *b = &e->bindings[s->id];
    ip_device *device = e->runner.device;
    ip_value *v;
    imgpar_status st = ip_evaluation_window_for_part(e, s, err);
    if (st || b->buffer) return st;
    if (e->windows[s->id]) return ip_evaluation_bind_window(e, s, err);
    st = ip_evaluation_source(e, s, &v, err);
    if (st) return st;
    double start = ip_now_ms();
    const ip_region all = ip_region_whole(s->dims), n = ip_box_readable(&e->needed[s->id], s);
    bool uploads = !(v->host && ip_device_shares(device, v->host)) && !ip_value_is_on_device(v, device);
    const bool is_part = uploads && !ip_region_is_empty(&e->needed[s->id]) && !ip_box_is_same(&n, &all);
    st = is_part ? upload_box(v, s, &n, device, &b->buffer, err) : ip_value_on_device(v, device, &b->buffer, err);
    if (st) return st;
    b->region = is_part ? n : all;
    if (uploads)
        ip_runner_event(&e->runner, "upload", s->node->op->info.name, start, ip_region_bytes(&b->region, s),
                        ip_region_bytes(&b->region, s));
    return st;
}

/* Where in host memory a region of a result is wanted, if the device can write it there; else NULL. */
static void *wanted_place(const evaluation *e, const ip_stage *s, const ip_region *r)
{
    for (int k = 0; e->hosts && k < e->plan->n_outputs; k++) {
        if (s != e->plan->outputs[k] || !ip_box_is_same(r, &e->wanted[k])) continue;
        char *to = ip_evaluation_place(e, k, r);
        if (ip_device_shares(e->runner.device, to)) return to;
    }
    return NULL;
}

static imgpar_status bind_output(evaluation *e, const ip_stage *s, ip_error *err)
{
    ip_binding *b = &e->bindings[s->id];
    b->region = !ip_stage_folds(s) ? e->needed[s->id] : ip_region_whole(s->dims);
    uint64_t bytes = ip_region_bytes(&b->region, s);
    void *place = bytes > 0 ? wanted_place(e, s, &b->region) : NULL;
    if (place) return ip_buffer_wrap(e->runner.device, place, (size_t)bytes, NULL, NULL, &b->buffer, err);
    return ip_buffer_new(e->runner.device, bytes ? (size_t)bytes : 1, &b->buffer, err);
}

static void unbind(ip_binding *b)
{
    ip_buffer_release(b->buffer);
    b->buffer = NULL;
}

void ip_evaluation_unbind(evaluation *e)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++)
        unbind(&e->bindings[k]);
}

/* A source whose memory is on the device already, or is shared with it. */
static bool takes_no_room(const evaluation *e, const ip_stage *s)
{
    if (s->kind != IP_STAGE_SOURCE) return false;
    if (s->value)
        return ip_value_is_on_device(s->value, e->runner.device) ||
               (s->value->host && ip_device_shares(e->runner.device, s->value->host));
    const ip_source *source = s->node->source; /* what is decoded comes from malloc() */
    if (source && source->kind == IP_SOURCE_BUFFER) return true;
    return source && ip_device_shares(e->runner.device, source->kind == IP_SOURCE_PIXELS ? source->data : NULL);
}

/* An upper bound of what a run with the current demand holds at once. */
uint64_t ip_evaluation_bytes(const evaluation *e)
{
    uint64_t total = 0;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (!e->is_needed[k] || takes_no_room(e, s)) continue;
        total += ip_region_bytes(&e->needed[k], s);
    }
    for (int k = 0; k < e->plan->n_kernels; k++) {
        const ip_stage *root = e->plan->kernels[k].outputs[0];
        if (e->is_needed[root->id])
            total += ip_opaque_scratch_bytes(&e->runner, &e->plan->kernels[k], &e->needed[root->id]);
    }
    return total;
}

/* ---- running --------------------------------------------------------------------------------- */

static void find_last_readers(evaluation *e)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++)
        e->last_reader[k] = -1;
    for (int k = 0; k < e->plan->n_kernels; k++)
        for (int i = 0; i < e->plan->kernels[k].n_inputs; i++)
            e->last_reader[e->plan->kernels[k].inputs[i]->id] = k;
    for (int k = 0; k < e->plan->n_outputs; k++)
        e->last_reader[e->plan->outputs[k]->id] = e->plan->n_kernels;
}

static bool is_asked_for(const ip_kernel *k)
{
    for (int i = 0; i < k->n_outputs; i++)
        if (k->outputs[i]->is_output) return true;
    return false;
}

/* What is no source was made before, but where nothing of it is needed: then a reader of nothing gets nothing. */
static imgpar_status bind_input(evaluation *e, const ip_stage *s, ip_error *err)
{
    if (e->bindings[s->id].buffer) return IMGPAR_OK;
    return s->kind == IP_STAGE_SOURCE ? ip_evaluation_bind_source(e, s, err) : bind_output(e, s, err);
}

/* All folds of a kernel see the same: where others read rows of an image around that, it runs once more for the
 * folds. */
static imgpar_status run_region(evaluation *e, const ip_kernel *k, ip_error *err)
{
    ip_region r = ip_evaluation_region(e, k), seen = r;
    for (int i = 0; i < k->n_outputs; i++)
        if (ip_stage_folds(k->outputs[i])) seen = ip_evaluation_seen(e, k->outputs[i]);
    imgpar_status st = ip_kernel_run(&e->runner, e->plan, k, e->bindings, &r, err);
    return st || ip_box_is_same(&r, &seen) ? st : ip_kernel_run(&e->runner, e->plan, k, e->bindings, &seen, err);
}

double ip_evaluation_kernel_work(const evaluation *e, const ip_kernel *k)
{
    const ip_region r = ip_evaluation_region(e, k);
    return IP_WORK_KERNEL * (double)(r.z1 - r.z0) * (double)(r.y1 - r.y0) * (double)(r.x1 - r.x0) *
           (double)k->domain[3];
}

static imgpar_status run_kernel(evaluation *e, int index, ip_error *err)
{
    const ip_kernel *k = &e->plan->kernels[index];
    imgpar_status st = IMGPAR_OK;
    if (!ip_evaluation_needs(e, k) && !is_asked_for(k)) return IMGPAR_OK;
    for (int i = 0; !st && i < k->n_inputs; i++)
        st = bind_input(e, k->inputs[i], err);
    for (int i = 0; !st && i < k->n_outputs; i++)
        st = bind_output(e, k->outputs[i], err);
    if (!st) {
        ip_progress_step(e->runner.options, ip_evaluation_kernel_work(e, k));
        st = run_region(e, k, err);
    }
    for (int i = 0; i < k->n_inputs; i++)
        if (e->last_reader[k->inputs[i]->id] == index) unbind(&e->bindings[k->inputs[i]->id]);
    for (int i = 0; i < k->n_outputs; i++)
        if (e->last_reader[k->outputs[i]->id] < 0) unbind(&e->bindings[k->outputs[i]->id]);
    return st;
}

imgpar_status ip_evaluation_run_kernels(evaluation *e, ip_error *err)
{
    /* demand walks expressions */
    imgpar_status st = e->plan->ir->failed ? ip_fail_memory(err, "planning a run") : IMGPAR_OK;
    for (int k = 0; !st && k < e->plan->n_kernels; k++)
        st = run_kernel(e, k, err);
    return st;
}

/* The value of result k: its buffer, or its source's value. */
imgpar_status ip_evaluation_take(evaluation *e, const ip_stage *s, ip_value **out, ip_error *err)
{
    if (s->kind == IP_STAGE_SOURCE) {
        imgpar_status st = ip_evaluation_source(e, s, out, err);
        *out = st ? NULL : ip_value_retain(*out);
        return st;
    }
    if (s->shown && !ip_box_is_same(&e->bindings[s->id].region, s->shown))
        return ip_fail(err, IMGPAR_E_INTERNAL, "internal: %s was made in another box than is shown",
                       s->node->op->info.name);
    *out = ip_value_of_buffer(ip_buffer_retain(e->bindings[s->id].buffer), (size_t)ip_stage_bytes(s));
    return *out ? IMGPAR_OK : ip_fail_memory(err, "keeping a result");
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static imgpar_status evaluation_init(evaluation *e, ip_error *err)
{
    size_t n = (size_t)e->plan->ir->n_stages + 1;
    e->source_values = ip_zalloc(n * sizeof *e->source_values);
    e->windows = ip_zalloc(n * sizeof *e->windows);
    e->bindings = ip_zalloc(n * sizeof *e->bindings);
    e->programs = ip_zalloc(((size_t)e->plan->n_kernels + 1) * sizeof *e->programs);
    e->needed = ip_zalloc(n * sizeof *e->needed);
    e->is_needed = ip_zalloc(n * sizeof *e->is_needed);
    e->last_reader = ip_zalloc(n * sizeof *e->last_reader);
    e->wanted = ip_zalloc(((size_t)e->plan->n_outputs + 1) * sizeof *e->wanted);
    e->inferred.wanted = ip_zalloc(((size_t)e->plan->n_outputs + 1) * sizeof *e->inferred.wanted);
    if (!e->source_values || !e->windows || !e->bindings || !e->programs || !e->needed || !e->is_needed ||
        !e->last_reader || !e->wanted || !e->inferred.wanted)
        return ip_fail_memory(err, "evaluating");
    e->runner.programs = e->programs;
    find_last_readers(e);
    return IMGPAR_OK;
}

void ip_evaluation_free(evaluation *e)
{
    if (!e) return;
    for (int k = 0; e->source_values && k < e->plan->ir->n_stages; k++)
        ip_value_release(e->source_values[k]);
    if (e->windows) ip_evaluation_drop_windows(e);
    ip_free(e->source_values);
    ip_free(e->windows);
    ip_free(e->bindings);
    for (int k = 0; e->programs && k < e->plan->n_kernels; k++)
        ip_program_release(e->programs[k]);
    ip_free(e->programs);
    ip_free(e->needed);
    ip_free(e->is_needed);
    ip_free(e->last_reader);
    ip_free(e->wanted);
    ip_free(e->inferred.wanted);
    ip_plan_free(e->plan);
    ip_free(e);
}

static imgpar_status compile(imgpar_context *ctx, ip_device *device, const ip_request *q, evaluation *e, ip_error *err)
{
    ip_compile_options options = ip_context_compile_options(ctx, device);
    e->runner.tuning = options.tuning;
    ip_str log = IP_STR_INIT;
    options.goal = q->goal;
    options.goal.keep_stages = q->use_ref;
    if (q->step) {
        options.goal.is_step = true;
        options.goal.steps = q->step->times;
        options.goal.placeholders = q->step->placeholders;
    }
    options.log = options.dump ? &log : NULL;
    imgpar_status st = ip_compile(q->arrays, q->n, &options, &e->plan, err);
    if (log.length > 0) { /* IMGPAR_DUMP is a request to print, the only one there is */
        fputs(log.text, stderr);
    }
    ip_str_free(&log);
    return st;
}

imgpar_status ip_evaluation_new(imgpar_context *ctx, ip_device *device, const ip_request *q, evaluation **out,
                                ip_error *err)
{
    *out = NULL;
    evaluation *e = ip_zalloc(sizeof *e);
    if (!e) return ip_fail_memory(err, "evaluating");
    e->ctx = ctx;
    e->dst = q->dst;
    ip_runner_init(&e->runner, device, q->options);
    e->runner.blas = ip_context_blas(ctx);
    imgpar_status st = compile(ctx, device, q, e, err);
    if (!st) st = evaluation_init(e, err);
    e->runner.is_step = q->step != NULL;
    if (st)
        ip_evaluation_free(e);
    else
        *out = e;
    return st;
}

void ip_evaluation_report_to(evaluation *e, const imgpar_options *options)
{
    const ip_runner before = e->runner;
    ip_runner_init(&e->runner, before.device, options);
    e->runner.started_ms = before.started_ms;
    e->runner.tuning = before.tuning;
    e->runner.blas = before.blas;
    e->runner.programs = before.programs;
    e->runner.is_step = before.is_step;
}

void ip_evaluation_change_source(evaluation *e, ip_stage *s, ip_value *takes)
{
    ip_value_release(e->source_values[s->id]);
    ip_value_release(s->value);
    e->source_values[s->id] = NULL;
    s->value = takes;
}

/* ---- steps of loops ---------------------------------------------------------------------------------- */

/* What a step's plan reads and each step has a value of its own of: a carried value, or what was looked at before. */
static bool is_of_step(const ip_step *step, const ip_stage *s)
{
    bool is = s->kind == IP_STAGE_SOURCE && s->node->op->flags & IP_OP_USABLE;
    for (int i = 0; i < step->n_placeholders; i++)
        is |= s->kind == IP_STAGE_SOURCE && s->node == step->placeholders[i];
    return is;
}

/* Between steps a plan holds none of these values, so that their memory is free for the next ones. */
static void change_placeholders(evaluation *e, const ip_step *step, bool has_values)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        ip_stage *s = e->plan->ir->stages[k];
        if (is_of_step(step, s))
            ip_evaluation_change_source(e, s, has_values ? ip_array_pin((imgpar_array *)s->node) : NULL);
    }
}

/* What was planned for the step, with the values that the placeholders have now; NULL: nothing. */
static evaluation *planned_for(const ip_request *q)
{
    evaluation *e = q->step ? q->step->planned : NULL;
    if (!e) return NULL;
    change_placeholders(e, q->step, true);
    ip_evaluation_report_to(e, q->options);
    e->runner.started_ms = ip_now_ms();
    return e;
}

/* Keeps e for the step's next evaluation; else frees it. */
static void keep_plan(const ip_request *q, evaluation *e, bool may_keep)
{
    bool is_kept = q->step && e && may_keep;
    if (is_kept)
        change_placeholders(e, q->step, false);
    else
        ip_evaluation_free(e);
    if (q->step) {
        q->step->planned = is_kept ? e : NULL;
        q->step->is_for_ref = q->use_ref;
    }
}

void ip_step_end(ip_step *step)
{
    ip_evaluation_free(step->planned);
    step->planned = NULL;
}

/* ---- progress ---------------------------------------------------------------------------------------- */

/* What is to be decoded and computed. A step of a loop is none of it: the loop tells of all its steps. */
static void announce(const evaluation *e, const ip_request *q)
{
    double work = 0;
    if (q->step) return;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        const ip_source *source = s->kind == IP_STAGE_SOURCE && !s->value ? s->node->source : NULL;
        if (source && (source->kind == IP_SOURCE_FILE || source->kind == IP_SOURCE_BLOB))
            work += IP_WORK_DECODE * ip_dims_count(s->dims);
    }
    if (q->use_ref) work += ip_ref_work(e->plan->ir);
    for (int k = 0; k < e->plan->n_kernels && !q->use_ref; k++)
        work += IP_WORK_KERNEL * ip_dims_count(e->plan->kernels[k].domain);
    ip_progress_expect(q->options, work);
}

/* ---- the door ---------------------------------------------------------------------------------------- */

/* may_keep: no loop had to be run for it, no value within the graph is held for it, and it decided no branch. */
static imgpar_status run_alone(imgpar_context *ctx, ip_request *q, bool may_keep, ip_value **values, ip_error *err)
{
    evaluation *e = planned_for(q);
    uint64_t hash = 0;
    ip_kept_plan *kept = !e && may_keep && q->goal.choices->n == 0 ? ip_plans_take(ctx, q, &hash) : NULL;
    imgpar_status st = kept ? ip_kept_plan_begin(kept, ctx, q, &e, err)
                       : e  ? IMGPAR_OK
                            : ip_evaluation_new(ctx, ctx->device, q, &e, err);
    if (!st && !kept) ip_tier_choose(ctx, q, &e);
    if (!st) announce(e, q);
    if (!st) st = q->use_ref ? ip_evaluation_run_on_ref(e, values, err) : ip_evaluation_run(e, q, values, err);
    if (!st && !q->use_ref) ip_plans_meet(ctx, hash);
    if (kept)
        ip_plans_put(ctx, kept, !st);
    else
        keep_plan(q, e, may_keep && !st);
    return st;
}

static void release_values(const ip_request *q, ip_value **values)
{
    for (size_t k = 0; k < q->n; k++) {
        ip_value_release(values[k]);
        values[k] = NULL;
    }
}

static bool is_shared_out(const imgpar_context *ctx, const ip_request *q) { return !q->use_ref && ctx->devices.n > 1; }

static imgpar_status try_once(imgpar_context *ctx, ip_request *q, bool may_keep, ip_value **values, ip_error *err)
{
    return is_shared_out(ctx, q) ? ip_share(ctx, q, values, err) : run_alone(ctx, q, may_keep, values, err);
}

/* What fits no device is the interpreter's, whose memory is the host's. Where it cannot either, what did not fit is
 * told. */
static imgpar_status fall_back(imgpar_context *ctx, ip_request *q, bool may_keep, ip_value **values, ip_error *err)
{
    ip_error why = { IMGPAR_OK, "" };
    release_values(q, values);
    if (ctx->devices.n > 1) { /* parts that did not fit may, kernel by kernel */
        imgpar_status st = run_alone(ctx, q, may_keep, values, &why);
        *err = why; /* of all devices together, or of one */
        if (st != IMGPAR_E_DEVICE_MEMORY) return st;
        release_values(q, values);
        why = (ip_error){ IMGPAR_OK, "" };
    }
    q->use_ref = true;
    imgpar_status st = run_alone(ctx, q, may_keep, values, &why);
    if (st == IMGPAR_E_INTERRUPTED) *err = why;
    if (st) return st == IMGPAR_E_INTERRUPTED ? st : IMGPAR_E_DEVICE_MEMORY;
    *err = (ip_error){ IMGPAR_OK, "" };
    atomic_fetch_add(&ctx->fallbacks, 1);
    return IMGPAR_OK;
}

/* Where memory is short: once more without the evaluations of other threads, then elsewhere; not when a part of the
 * result was handed out. */
static imgpar_status run(imgpar_context *ctx, ip_request *q, bool may_keep, ip_value **values, ip_error *err)
{
    imgpar_status st = try_once(ctx, q, may_keep, values, err);
    if (st != IMGPAR_E_DEVICE_MEMORY || q->use_ref || (q->taker && q->taker->has_begun)) return st;
    const imgpar_status alone = ip_turn_alone(&ctx->turns, q->options, err);
    if (alone == IMGPAR_E_INTERRUPTED) return alone;
    if (!alone) {
        *err = (ip_error){ IMGPAR_OK, "" };
        release_values(q, values);
        st = try_once(ctx, q, may_keep, values, err);
        if (st != IMGPAR_E_DEVICE_MEMORY) return st;
    }
    return fall_back(ctx, q, may_keep, values, err);
}

static imgpar_status decide_branches(imgpar_context *ctx, const ip_request *q, ip_choices *choices, ip_held *kept,
                                     ip_error *err)
{
    ip_computing by = q->use_ref ? IP_BY_REF : q->may_interpret ? IP_BY_EITHER : IP_BY_DEVICE;
    const ip_branching graph = { .arrays = q->arrays, .n = q->n };
    return ip_branches_decide(ctx, &graph, q->options, by, choices, kept, err);
}

static imgpar_status evaluate(imgpar_context *ctx, ip_request *q, ip_value **values, ip_error *err)
{
    const size_t n = q->n;
    const evaluation *planned = q->step ? q->step->planned : NULL;
    ip_turn turn;
    memset(values, 0, n * sizeof *values);
    if (n == 0) return IMGPAR_OK;
    imgpar_status st = ip_turn_begin(&ctx->turns, q->options, &turn, err);
    if (st) return st;
    pthread_mutex_lock(&ctx->lock);
    q->use_ref = q->use_ref || !ctx->device || ctx->tuning.schedule == IP_SCHEDULE_REF;
    pthread_mutex_unlock(&ctx->lock);
    if (planned) q->use_ref = q->step->is_for_ref;
    ip_held loops = { 0 }, kept = { 0 }, looked_at = { 0 };
    ip_choices own = { 0 };
    st = planned || q->goal.choices ? IMGPAR_OK : decide_branches(ctx, q, &own, &kept, err);
    if (!q->goal.choices) q->goal.choices = &own;
    if (!st && !planned) st = ip_loops_run(ctx, q->arrays, n, q->options, q->use_ref, q->goal.choices, &loops, err);
    if (!st && q->options && q->options->poll && q->options->poll(q->options->user, 0))
        st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    if (!st && !q->is_looked_at) st = ip_usable_look(ctx, q, &looked_at, err);
    if (!st) st = ip_promises_keep(ctx, q, err);
    for (size_t k = 0; !st && is_shared_out(ctx, q) && k < n;
         k++) { /* its devices' threads tell how far they are, all together */
        const double work = IP_WORK_KERNEL * (double)ip_type_count(&q->arrays[k]->type);
        ip_progress_expect(q->options, work);
        ip_progress_step(q->options, work);
    }
    if (!st) st = run(ctx, q, loops.n == 0 && own.n == 0, values, err);
    ip_held_release(&loops);
    ip_held_release(&kept);
    ip_held_release(&looked_at);
    ip_choices_free(&own);
    if (st) release_values(q, values);
    ip_turn_end(&turn);
    atomic_fetch_add(&ctx->evaluations, 1);
    return st;
}

imgpar_status ip_evaluate_step(imgpar_context *ctx, ip_step *step, const imgpar_options *options, bool use_ref,
                               ip_value **values, ip_error *err)
{
    ip_request q = { .arrays = step->arrays,
                     .n = step->n,
                     .options = options,
                     .use_ref = use_ref,
                     .step = step,
                     .goal.choices = step->choices };
    return evaluate(ctx, &q, values, err);
}

static void warn_of_mixtures(imgpar_array *const *arrays, size_t n, const imgpar_options *options)
{
    static const ip_mixture all[] = { IP_MIXES_PROFILES, IP_MIXES_WHITES };
    char text[IP_WARNING_BYTES];
    if (!options || !options->on_warning) return;
    for (size_t k = 0; k < n * 2; k++)
        if (*ip_mixture_warning(arrays[k / 2], all[k % 2], text)) options->on_warning(options->user, text);
}

static ip_request request_by(imgpar_array *const *arrays, size_t n, const imgpar_options *options, ip_computing by,
                             const ip_choices *choices)
{
    return (ip_request){ .arrays = arrays,
                         .n = n,
                         .options = options,
                         .use_ref = by == IP_BY_REF,
                         .may_interpret = by == IP_BY_EITHER,
                         .goal.choices = choices };
}

imgpar_status ip_evaluate_decided(imgpar_context *ctx, imgpar_array *const *arrays, size_t n,
                                  const imgpar_options *options, ip_computing by, const ip_choices *choices,
                                  ip_value **values, ip_error *err)
{
    ip_request q = request_by(arrays, n, options, by, choices);
    return evaluate(ctx, &q, values, err);
}

imgpar_status ip_evaluate_looked_at(imgpar_context *ctx, imgpar_array *const *arrays, size_t n,
                                    const imgpar_options *options, ip_computing by, const ip_choices *choices,
                                    ip_value **values, ip_error *err)
{
    ip_request q = request_by(arrays, n, options, by, choices);
    q.is_looked_at = true;
    return evaluate(ctx, &q, values, err);
}

imgpar_status ip_evaluate(imgpar_context *ctx, imgpar_array *const *arrays, size_t n, const imgpar_options *options,
                          ip_computing by, ip_value **values, ip_error *err)
{
    warn_of_mixtures(arrays, n, options);
    return ip_evaluate_decided(ctx, arrays, n, options, by, NULL, values, err);
}

/* The elements of a value in dst, unless they were computed there: then the host may look. */
static imgpar_status fetch(imgpar_context *ctx, const imgpar_array *a, ip_value *value, void *dst,
                           const imgpar_options *options, ip_error *err)
{
    ip_runner runner;
    if (value->host == dst) /* parts were gathered there */
        return IMGPAR_OK;
    ip_runner_init(&runner, value->host ? ctx->device : ip_buffer_device(value->buffer), options);
    if (!value->host && ip_buffer_host(value->buffer) == dst) {
        void *mapped;
        imgpar_status st = ip_buffer_map(value->buffer, &mapped, err);
        ip_buffer_unmap(value->buffer, mapped);
        return st;
    }
    double start = ip_now_ms();
    imgpar_status st = ip_value_read_polled(value, dst, &runner.poll, err);
    if (!value->host)
        ip_runner_event(&runner, "download", a->op->info.name, start, value->size_bytes, value->size_bytes);
    return st;
}

imgpar_status ip_evaluate_rows(imgpar_context *ctx, imgpar_array *a, const imgpar_options *options, ip_row_taker *taker,
                               ip_value **value, ip_error *err)
{
    warn_of_mixtures(&a, 1, options);
    ip_request q = { .arrays = &a, .n = 1, .options = options, .taker = taker, .may_interpret = true };
    return evaluate(ctx, &q, value, err);
}

imgpar_status ip_evaluate_into(imgpar_context *ctx, imgpar_array *a, void *dst, const imgpar_options *options,
                               ip_computing by, ip_error *err)
{
    ip_request q = { .arrays = &a,
                     .n = 1,
                     .options = options,
                     .use_ref = by == IP_BY_REF,
                     .may_interpret = by == IP_BY_EITHER,
                     .dst = dst };
    ip_turn turn; /* until the result has left the device */
    imgpar_status st = ip_turn_begin(&ctx->turns, options, &turn, err);
    if (st) return st;
    ip_value *value = q.use_ref ? NULL : ip_array_pin(a);
    if (!value) warn_of_mixtures(&a, 1, options);
    if (!value) st = evaluate(ctx, &q, &value, err);
    if (!st) st = fetch(ctx, a, value, dst, options, err);
    ip_value_release(value);
    ip_turn_end(&turn);
    return st;
}
