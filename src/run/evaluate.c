/* SPDX-License-Identifier: MIT */
/*
 * One evaluation:
 *
 *     loops below the arrays are run first (loop.c); their results then count as sources
 *     ip_compile          the graph becomes kernels
 *     demand              backwards from the results: the region of every stage that is needed
 *     for each kernel     sources decoded and uploaded on first use, outputs allocated, launched;
 *                         a stage's memory goes back to the pool after its last reader
 *
 * Where not everything fits the device's budget and one image is asked for, its rows are computed in strips
 * that fit and gathered in host memory.
 */
#include "run/evaluate.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "run/opaque.h"
#include "run/ref.h"

#include <stdio.h>
#include <string.h>

typedef struct ip_evaluation {
    imgpar_context *ctx;
    ip_runner runner;
    ip_plan *plan;
    ip_value **source_values; /* by stage id: decoded once, strips share them */
    ip_binding *bindings;     /* by stage id */
    ip_region *needed;        /* by stage id */
    bool *is_needed;
    int *last_reader;         /* by stage id: the last kernel that reads it; n_kernels: a result */
    void *dst;                /* where the one result is wanted, in memory that the device shares; NULL: anywhere */
} evaluation;

static bool poll_stop(void *user, double done)
{
    const imgpar_options *o = user;
    return o->poll(o->user, done) != 0;
}

void ip_runner_init(ip_runner *runner, imgpar_context *ctx, const imgpar_options *options)
{
    *runner = (ip_runner){ .device = ctx->device, .options = options, .started_ms = ip_now_ms(),
                            .strip_bytes = ip_context_compile_options(ctx).tuning.strip_bytes };
    if (options && options->poll)
        runner->poll = (ip_poll){ poll_stop, (void *)options };
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static ip_region whole(const int64_t dims[4]) { return (ip_region){ 0, dims[0], 0, dims[1], 0, dims[2] }; }

static uint64_t stage_bytes(const ip_stage *s)
{
    ip_region all = whole(s->dims);
    return ip_region_bytes(&all, s);
}

static bool is_empty(const ip_region *r) { return r->z1 <= r->z0 || r->y1 <= r->y0 || r->x1 <= r->x0; }

/* The smallest region that holds both. */
static ip_region hull(const ip_region *a, const ip_region *b)
{
    if (is_empty(a))
        return *b;
    if (is_empty(b))
        return *a;
    return (ip_region){ min64(a->z0, b->z0), max64(a->z1, b->z1), min64(a->y0, b->y0), max64(a->y1, b->y1),
                        min64(a->x0, b->x0), max64(a->x1, b->x1) };
}

/* ---- what is needed ----------------------------------------------------------------- */

static void need(evaluation *e, const ip_stage *s, const ip_region *r)
{
    if (is_empty(r))
        return;
    ip_region all = *r;
    if (s->kind == IP_STAGE_SCAN) { /* its lines are walked whole */
        int64_t *const ends[3][2] = { { &all.z0, &all.z1 }, { &all.y0, &all.y1 }, { &all.x0, &all.x1 } };
        if (s->axis < 3) {
            *ends[s->axis][0] = 0;
            *ends[s->axis][1] = s->dims[s->axis];
        }
        r = &all;
    }
    e->needed[s->id] = hull(&e->needed[s->id], r);
    e->is_needed[s->id] = true;
}

static bool makes_needed(const evaluation *e, const ip_kernel *k)
{
    for (int i = 0; i < k->n_outputs; i++)
        if (e->is_needed[k->outputs[i]->id])
            return true;
    return false;
}

/* The part of its domain that a kernel walks to make what is needed of its outputs. */
static ip_region kernel_region(const evaluation *e, const ip_kernel *k)
{
    ip_region r = { 0, 0, 0, 0, 0, 0 };
    for (int i = 0; i < k->n_outputs; i++) {
        ip_region all = whole(k->domain);
        bool is_fold = ip_stage_folds(k->outputs[i]);
        if (e->is_needed[k->outputs[i]->id])
            r = hull(&r, is_fold ? &all : &e->needed[k->outputs[i]->id]);
    }
    return r;
}

static void infer_demand(evaluation *e, const ip_stage *result, const ip_region *region)
{
    memset(e->is_needed, 0, (size_t)e->plan->ir->n_stages * sizeof *e->is_needed);
    memset(e->needed, 0, (size_t)e->plan->ir->n_stages * sizeof *e->needed);
    for (int k = 0; k < e->plan->n_outputs; k++) {
        ip_region all = whole(e->plan->outputs[k]->dims);
        need(e, e->plan->outputs[k], e->plan->outputs[k] == result ? region : &all);
    }
    for (int k = e->plan->n_kernels - 1; k >= 0; k--) {
        const ip_kernel *kernel = &e->plan->kernels[k];
        if (!makes_needed(e, kernel))
            continue;
        ip_kernel_widen(kernel, &e->needed[kernel->outputs[0]->id]);
        ip_region r = kernel_region(e, kernel);
        for (int i = 0; i < kernel->n_outputs; i++) /* it makes the same region of all its images */
            if (!ip_stage_folds(kernel->outputs[i]))
                need(e, kernel->outputs[i], &r);
        for (int i = 0; i < kernel->n_inputs; i++) {
            ip_region input;
            ip_kernel_demand(e->plan, kernel, kernel->inputs[i], &r, &input);
            need(e, kernel->inputs[i], &input);
        }
    }
}

/* ---- memory ------------------------------------------------------------------------------ */

static imgpar_status source_value(evaluation *e, const ip_stage *s, ip_value **out, ip_error *err)
{
    if (!e->source_values[s->id]) {
        if (s->value)
            e->source_values[s->id] = ip_value_retain(s->value);
        else {
            imgpar_status st = ip_source_value(e->ctx, &e->runner, s->node, &e->source_values[s->id], err);
            if (st)
                return st;
        }
    }
    *out = e->source_values[s->id];
    return IMGPAR_OK;
}

/* The rows of a source that are needed, whole rows of one plane or everything. */
static imgpar_status bind_source(evaluation *e, const ip_stage *s, ip_error *err)
{
    ip_binding *b = &e->bindings[s->id];
    ip_value *v;
    imgpar_status st = source_value(e, s, &v, err);
    if (st || b->buffer)
        return st;
    double start = ip_now_ms();
    ip_region r = whole(s->dims);
    const ip_region *n = &e->needed[s->id];
    bool shares = v->host && ip_device_shares(e->runner.device, v->host), uploads = !shares && !ip_value_is_on_device(v);
    bool in_part = v->host && uploads && s->dims[0] == 1 && n->y1 > n->y0 && n->y1 - n->y0 < s->dims[1];
    if (!in_part) {
        ip_buffer *buffer;
        st = ip_value_on_device(v, e->runner.device, &buffer, err);
        if (st)
            return st;
        b->buffer = buffer;
        b->region = r;
        if (uploads)
            ip_runner_event(&e->runner, "upload", s->node->op->info.name, start, v->size_bytes, v->size_bytes);
        return IMGPAR_OK;
    }
    r.y0 = n->y0;
    r.y1 = n->y1;
    size_t row = (size_t)(s->dims[2] * s->dims[3]) * ip_dtype(s->dtype)->size_bytes, bytes = row * (size_t)(r.y1 - r.y0);
    st = ip_buffer_new(e->runner.device, bytes, &b->buffer, err);
    if (!st)
        st = ip_buffer_write(b->buffer, 0, (const char *)v->host + row * (size_t)r.y0, bytes, err);
    b->region = r;
    ip_runner_event(&e->runner, "upload", s->node->op->info.name, start, bytes, bytes);
    return st;
}

static imgpar_status bind_output(evaluation *e, const ip_stage *s, ip_error *err)
{
    ip_binding *b = &e->bindings[s->id];
    b->region = !ip_stage_folds(s) ? e->needed[s->id] : whole(s->dims); /* folds are never made in part */
    uint64_t bytes = ip_region_bytes(&b->region, s);
    if (e->dst && s == e->plan->outputs[0] && bytes == stage_bytes(s))
        return ip_buffer_wrap(e->runner.device, e->dst, (size_t)bytes, NULL, NULL, &b->buffer, err);
    return ip_buffer_new(e->runner.device, bytes ? (size_t)bytes : 1, &b->buffer, err);
}

static void unbind(ip_binding *b)
{
    ip_buffer_release(b->buffer);
    b->buffer = NULL;
}

static void unbind_all(evaluation *e)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++)
        unbind(&e->bindings[k]);
}

/* A source whose memory is on the device already, or is shared with it. */
static bool takes_no_room(const evaluation *e, const ip_stage *s)
{
    if (s->kind != IP_STAGE_SOURCE)
        return false;
    if (s->value)
        return ip_value_is_on_device(s->value) || ip_device_shares(e->runner.device, s->value->host);
    const ip_source *source = s->node->source; /* what is decoded comes from malloc() */
    if (source && source->kind == IP_SOURCE_BUFFER)
        return true;
    return source && ip_device_shares(e->runner.device, source->kind == IP_SOURCE_PIXELS ? source->data : NULL);
}

/* An upper bound of what a run with the current demand holds at once. */
static uint64_t bytes_needed(const evaluation *e)
{
    uint64_t total = 0;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (!e->is_needed[k] || takes_no_room(e, s))
            continue;
        total += ip_region_bytes(&e->needed[k], s);
    }
    for (int k = 0; k < e->plan->n_kernels; k++) {
        const ip_stage *root = e->plan->kernels[k].outputs[0];
        if (e->is_needed[root->id])
            total += ip_opaque_scratch_bytes(e->runner.device, &e->plan->kernels[k], &e->needed[root->id]);
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
        if (k->outputs[i]->is_output)
            return true;
    return false;
}

/* What is no source was made before, but where nothing of it is needed: then a reader of nothing gets nothing. */
static imgpar_status bind_input(evaluation *e, const ip_stage *s, ip_error *err)
{
    if (e->bindings[s->id].buffer) return IMGPAR_OK;
    return s->kind == IP_STAGE_SOURCE ? bind_source(e, s, err) : bind_output(e, s, err);
}

static imgpar_status run_kernel(evaluation *e, int index, ip_error *err)
{
    const ip_kernel *k = &e->plan->kernels[index];
    imgpar_status st = IMGPAR_OK;
    if (!makes_needed(e, k) && !is_asked_for(k))
        return IMGPAR_OK;
    for (int i = 0; !st && i < k->n_inputs; i++)
        st = bind_input(e, k->inputs[i], err);
    for (int i = 0; !st && i < k->n_outputs; i++)
        st = bind_output(e, k->outputs[i], err);
    if (!st) {
        ip_region r = kernel_region(e, k);
        st = ip_kernel_run(&e->runner, e->plan, k, e->bindings, &r, err);
    }
    for (int i = 0; i < k->n_inputs; i++)
        if (e->last_reader[k->inputs[i]->id] == index)
            unbind(&e->bindings[k->inputs[i]->id]);
    for (int i = 0; i < k->n_outputs; i++)
        if (e->last_reader[k->outputs[i]->id] < 0)
            unbind(&e->bindings[k->outputs[i]->id]);
    return st;
}

static imgpar_status run_kernels(evaluation *e, ip_error *err)
{
    imgpar_status st = e->plan->ir->failed ? ip_fail_memory(err, "planning a run") : IMGPAR_OK; /* demand walks expressions */
    for (int k = 0; !st && k < e->plan->n_kernels; k++)
        st = run_kernel(e, k, err);
    return st;
}

/* Where a source's elements lie in host memory, as far as that is known; else NULL. */
static const char *host_of_source(const ip_stage *s)
{
    const ip_source *source = s->node->source;
    if (s->value)
        return s->value->host ? s->value->host : s->value->buffer ? ip_buffer_host(s->value->buffer) : NULL;
    if (source && source->kind == IP_SOURCE_BUFFER)
        return ip_buffer_host(source->data);
    return source && source->kind == IP_SOURCE_PIXELS ? source->data : NULL;
}

/* Whether the result can be computed where it is wanted: nothing that is read may lie there. */
static bool is_free(const evaluation *e, const char *dst)
{
    const ip_stage *out = e->plan->outputs[0];
    uint64_t n = stage_bytes(out);
    if (n == 0 || out->kind == IP_STAGE_SOURCE || !ip_device_shares(e->runner.device, dst))
        return false;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (s->kind != IP_STAGE_SOURCE)
            continue;
        const char *host = host_of_source(s);
        if (host && host < dst + n && dst < host + stage_bytes(s))
            return false;
    }
    return true;
}

/* The value of result k: its buffer, or its source's value. */
static imgpar_status take_result(evaluation *e, const ip_stage *s, ip_value **out, ip_error *err)
{
    if (s->kind == IP_STAGE_SOURCE) {
        imgpar_status st = source_value(e, s, out, err);
        *out = st ? NULL : ip_value_retain(*out);
        return st;
    }
    *out = ip_value_of_buffer(ip_buffer_retain(e->bindings[s->id].buffer), (size_t)stage_bytes(s));
    return *out ? IMGPAR_OK : ip_fail_memory(err, "keeping a result");
}

static imgpar_status run_whole(evaluation *e, ip_value **values, ip_error *err)
{
    imgpar_status st = run_kernels(e, err);
    /* Waits, so that a kernel that fails is this evaluation's failure and nobody else's. */
    for (int k = 0; !st && k < e->plan->n_outputs; k++)
        if (e->bindings[e->plan->outputs[k]->id].buffer)
            st = ip_buffer_wait(e->bindings[e->plan->outputs[k]->id].buffer, err);
    if (st)
        ip_device_finish(e->runner.device, NULL); /* buffers of a run that failed must not be waited for by others */
    for (int k = 0; !st && k < e->plan->n_outputs; k++)
        st = take_result(e, e->plan->outputs[k], &values[k], err);
    unbind_all(e);
    return st;
}

static imgpar_status run_strip(evaluation *e, const ip_stage *s, const ip_region *r, char *host, ip_error *err)
{
    infer_demand(e, s, r);
    imgpar_status st = run_kernels(e, err);
    size_t row = (size_t)(s->dims[2] * s->dims[3]) * ip_dtype(s->dtype)->size_bytes;
    if (!st) {
        double start = ip_now_ms();
        const ip_binding *b = &e->bindings[s->id]; /* an opaque stage may have made more */
        st = ip_buffer_read(b->buffer, row * (size_t)(r->y0 - b->region.y0), host + row * (size_t)r->y0, row * (size_t)(r->y1 - r->y0), err);
        ip_runner_event(&e->runner, "download", "strip", start, row * (size_t)(r->y1 - r->y0), row * (size_t)(r->y1 - r->y0));
    }
    unbind_all(e);
    return st;
}

/* Fewer rows at a time until they fit the budget. */
static int64_t rows_that_fit(evaluation *e, const ip_stage *s)
{
    uint64_t budget = ip_device_budget_left(e->runner.device);
    int64_t rows = s->dims[1];
    for (;;) {
        /* a strip in the middle has a halo at both ends */
        int64_t y0 = (s->dims[1] - rows) / 2;
        ip_region r = whole(s->dims);
        r.y0 = y0;
        r.y1 = y0 + rows;
        infer_demand(e, s, &r);
        if (bytes_needed(e) <= budget - budget / 8)
            return rows;
        if (rows <= 1)
            return 0;
        rows = (rows + 1) / 2;
    }
}

static imgpar_status run_strips_of(evaluation *e, const ip_stage *s, int64_t rows, char *host, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (int64_t y = 0; !st && y < s->dims[1]; y += rows) {
        ip_region r = whole(s->dims);
        r.y0 = y;
        r.y1 = min64(y + rows, s->dims[1]);
        st = run_strip(e, s, &r, host, err);
    }
    return st;
}

static imgpar_status run_strips(evaluation *e, ip_value **values, ip_error *err)
{
    const ip_stage *s = e->plan->outputs[0];
    int64_t rows = e->plan->n_outputs == 1 && (s->kind == IP_STAGE_MAP || s->opaque) && s->dims[0] == 1 ? rows_that_fit(e, s) : 0;
    if (rows == 0)
        return ip_fail(err, IMGPAR_E_DEVICE_MEMORY, "%s: needs more than the %llu kB that are left for it on the device",
                       s->node->op->info.name, (unsigned long long)(ip_device_budget_left(e->runner.device) >> 10));
    char *host = ip_alloc((size_t)stage_bytes(s));
    if (!host)
        return ip_fail_memory(err, "gathering a result");
    imgpar_status st = run_strips_of(e, s, rows, host, err);
    while (st == IMGPAR_E_DEVICE_MEMORY && rows > 1) { /* rings and other scratch took what was left */
        rows = (rows + 1) / 2;
        *err = (ip_error){ IMGPAR_OK, "" };
        st = run_strips_of(e, s, rows, host, err);
    }
    if (st) {
        ip_free(host);
        return st;
    }
    values[0] = ip_value_of_host(host, (size_t)stage_bytes(s));
    return values[0] ? IMGPAR_OK : ip_fail_memory(err, "keeping a result");
}

static imgpar_status run_on_device(evaluation *e, ip_value **values, ip_error *err)
{
    const ip_device_facts *facts = ip_device_facts_of(e->runner.device);
    if (e->plan->uses_f64 && !facts->info.has_f64)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "f64: the device %s has no double precision", facts->info.name);
    find_last_readers(e);
    infer_demand(e, NULL, NULL);
    if (e->dst && !is_free(e, e->dst))
        e->dst = NULL;
    bool fits = e->plan->n_kernels == 0 || bytes_needed(e) <= ip_device_budget_left(e->runner.device);
    imgpar_status st = fits ? run_whole(e, values, err) : IMGPAR_E_DEVICE_MEMORY;
    if (st != IMGPAR_E_DEVICE_MEMORY)
        return st;
    *err = (ip_error){ IMGPAR_OK, "" };
    e->dst = NULL;
    for (int k = 0; k < e->plan->ir->n_stages; k++)
        if (e->source_values[k])
            ip_value_leave_device(e->source_values[k]);
    return run_strips(e, values, err);
}

/* ---- the reference interpreter ------------------------------------------------------------------ */

/* Host memory of a value that may be on the device only; *copy is to be freed. */
static imgpar_status host_of(ip_value *v, void **host, void **copy, ip_error *err)
{
    *copy = NULL;
    *host = v->host;
    if (v->host)
        return IMGPAR_OK;
    *host = *copy = ip_alloc(v->size_bytes);
    return *copy ? ip_value_read(v, *copy, err) : ip_fail_memory(err, "reading a value");
}

static imgpar_status run_on_ref(evaluation *e, ip_value **values, ip_error *err)
{
    ip_ir *ir = e->plan->ir;
    size_t n = (size_t)ir->n_stages;
    void **memory = ip_zalloc((n + 1) * sizeof *memory), **copies = ip_zalloc((n + 1) * sizeof *copies);
    imgpar_status st = memory && copies ? IMGPAR_OK : ip_fail_memory(err, "interpreting");
    for (size_t k = 0; !st && k < n; k++) {
        ip_value *v;
        const ip_stage *s = ir->stages[k];
        bool has_pixels = s->kind == IP_STAGE_SOURCE && (s->value || s->node->source);
        if (!has_pixels) /* a function's placeholder is a source that nothing needed reads */
            continue;
        st = source_value(e, s, &v, err);
        if (!st)
            st = host_of(v, &memory[k], &copies[k], err);
    }
    double start = ip_now_ms();
    bool ran = !st;
    if (!st)
        st = ip_ref_run(ir, memory, &e->runner.poll, err);
    if (!st)
        ip_runner_event(&e->runner, "kernel", "ref", start, 0, 0);
    for (int k = 0; !st && k < e->plan->n_outputs; k++) {
        const ip_stage *s = e->plan->outputs[k];
        if (s->kind == IP_STAGE_SOURCE) {
            st = take_result(e, s, &values[k], err);
        } else if (memory[s->id]) {
            values[k] = ip_value_of_host(memory[s->id], (size_t)stage_bytes(s));
            memory[s->id] = NULL;
            if (!values[k])
                st = ip_fail_memory(err, "keeping a result");
        } else { /* the same stage asked for twice */
            for (int j = 0; j < k; j++)
                if (e->plan->outputs[j] == s)
                    values[k] = ip_value_retain(values[j]);
        }
    }
    for (size_t k = 0; memory && ran && k < n; k++)
        if (ir->stages[k]->kind != IP_STAGE_SOURCE)
            ip_free(memory[k]);
    for (size_t k = 0; copies && k < n; k++)
        ip_free(copies[k]);
    ip_free(memory);
    ip_free(copies);
    return st;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static imgpar_status evaluation_init(evaluation *e, ip_error *err)
{
    size_t n = (size_t)e->plan->ir->n_stages + 1;
    e->source_values = ip_zalloc(n * sizeof *e->source_values);
    e->bindings = ip_zalloc(n * sizeof *e->bindings);
    e->needed = ip_zalloc(n * sizeof *e->needed);
    e->is_needed = ip_zalloc(n * sizeof *e->is_needed);
    e->last_reader = ip_zalloc(n * sizeof *e->last_reader);
    bool ok = e->source_values && e->bindings && e->needed && e->is_needed && e->last_reader;
    return ok ? IMGPAR_OK : ip_fail_memory(err, "evaluating");
}

static void evaluation_free(evaluation *e)
{
    for (int k = 0; e && e->source_values && k < e->plan->ir->n_stages; k++)
        ip_value_release(e->source_values[k]);
    if (!e)
        return;
    ip_free(e->source_values);
    ip_free(e->bindings);
    ip_free(e->needed);
    ip_free(e->is_needed);
    ip_free(e->last_reader);
    ip_plan_free(e->plan);
    ip_free(e);
}

static imgpar_status compile(imgpar_context *ctx, imgpar_array *const *arrays, size_t n, bool use_ref, ip_plan **plan,
                             ip_error *err)
{
    ip_compile_options options = ip_context_compile_options(ctx);
    ip_str log = IP_STR_INIT;
    options.keep_stages = use_ref;
    options.log = options.dump ? &log : NULL;
    imgpar_status st = ip_compile(arrays, n, &options, plan, err);
    if (log.length > 0) { /* IMGPAR_DUMP is a request to print, the only one there is */
        fputs(log.text, stderr);
    }
    ip_str_free(&log);
    return st;
}

/* What is asked of an evaluation; dst as in evaluation; step: its plan is kept there. */
typedef struct request {
    imgpar_array *const *arrays;
    size_t n;
    const imgpar_options *options;
    bool use_ref;
    void *dst;
    ip_step *step;
} request;

/* A new evaluation whose loops have been run and which is planned. */
static imgpar_status plan(imgpar_context *ctx, const request *q, bool by_ref, ip_loop_values *loops, evaluation **out, ip_error *err)
{
    evaluation *e = *out = ip_zalloc(sizeof *e);
    if (!e)
        return ip_fail_memory(err, "evaluating");
    e->ctx = ctx;
    e->dst = q->dst;
    imgpar_status st = ip_loops_run(ctx, q->arrays, q->n, q->options, by_ref, loops, err);
    if (!st)
        st = compile(ctx, q->arrays, q->n, by_ref, &e->plan, err);
    return st ? st : evaluation_init(e, err);
}

/* Between steps a plan holds none of the carried values, so that their memory is free for the next ones. */
static void change_placeholders(evaluation *e, const ip_step *step, bool has_values)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        ip_stage *s = e->plan->ir->stages[k];
        for (int i = 0; i < step->n_placeholders; i++) {
            if (s->kind != IP_STAGE_SOURCE || s->node != step->placeholders[i])
                continue;
            ip_value_release(e->source_values[k]);
            ip_value_release(s->value);
            e->source_values[k] = NULL;
            s->value = has_values ? ip_array_pin(step->placeholders[i]) : NULL;
        }
    }
}

static imgpar_status evaluate(imgpar_context *ctx, const request *q, ip_value **values, ip_error *err)
{
    memset(values, 0, q->n * sizeof *values);
    if (q->n == 0)
        return IMGPAR_OK;
    pthread_mutex_lock(&ctx->lock);
    bool by_ref = q->use_ref || !ctx->device || ctx->schedule == IP_SCHEDULE_REF;
    pthread_mutex_unlock(&ctx->lock);
    ip_loop_values loops = { 0 };
    evaluation *e = q->step ? q->step->planned : NULL;
    imgpar_status st = IMGPAR_OK;
    if (e)
        change_placeholders(e, q->step, true);
    else
        st = plan(ctx, q, by_ref, &loops, &e, err);
    if (!st) {
        ip_runner_init(&e->runner, ctx, q->options);
        if (e->runner.poll.stop && e->runner.poll.stop(e->runner.poll.user, 0))
            st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    }
    if (!st)
        st = by_ref ? run_on_ref(e, values, err) : run_on_device(e, values, err);
    bool is_kept = q->step && !st && loops.n == 0;
    if (is_kept)
        change_placeholders(e, q->step, false);
    else
        evaluation_free(e);
    if (q->step)
        q->step->planned = is_kept ? e : NULL;
    ip_loops_release(&loops);
    for (size_t k = 0; st && k < q->n; k++) {
        ip_value_release(values[k]);
        values[k] = NULL;
    }
    atomic_fetch_add(&ctx->evaluations, 1);
    return st;
}

imgpar_status ip_evaluate_step(imgpar_context *ctx, ip_step *step, const imgpar_options *options, bool use_ref, ip_value **values,
                               ip_error *err)
{
    const request q = { .arrays = step->arrays, .n = step->n, .options = options, .use_ref = use_ref, .step = step };
    return evaluate(ctx, &q, values, err);
}

void ip_step_end(ip_step *step)
{
    evaluation_free(step->planned);
    step->planned = NULL;
}

imgpar_status ip_evaluate(imgpar_context *ctx, imgpar_array *const *arrays, size_t n, const imgpar_options *options,
                          bool use_ref, ip_value **values, ip_error *err)
{
    const request q = { .arrays = arrays, .n = n, .options = options, .use_ref = use_ref };
    return evaluate(ctx, &q, values, err);
}

/* The elements of a value in dst, unless they were computed there: then the host may look. */
static imgpar_status fetch(imgpar_context *ctx, const imgpar_array *a, ip_value *value, void *dst, const imgpar_options *options, ip_error *err)
{
    ip_runner runner;
    ip_runner_init(&runner, ctx, options);
    if (value->buffer && ip_buffer_host(value->buffer) == dst) {
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

imgpar_status ip_evaluate_into(imgpar_context *ctx, imgpar_array *a, void *dst, const imgpar_options *options, bool use_ref, ip_error *err)
{
    const request q = { .arrays = &a, .n = 1, .options = options, .use_ref = use_ref, .dst = dst };
    ip_value *value = use_ref ? NULL : ip_array_pin(a);
    imgpar_status st = value ? IMGPAR_OK : evaluate(ctx, &q, &value, err);
    if (!st)
        st = fetch(ctx, a, value, dst, options, err);
    ip_value_release(value);
    return st;
}
