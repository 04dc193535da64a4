/* SPDX-License-Identifier: MIT */
/*
 * Running stages on the host: which are needed, in which order, and when their memory goes. The values are made in
 * ref_program.c and ref_eval.c, reductions in ref_reduce.c, recurrences in ref_scan.c.
 */
#include "run/ref_impl.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "graph/array.h"
#include "ir/opaque.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    POLL_MS = 50,
    STAGE_WORK = 1000 /* about a microsecond to begin one, as long as so many operations on an element take */
};

/* ---- progress ----------------------------------------------------------------------------------- */

static double ms_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) * 1e3 + (double)(to->tv_nsec - from->tv_nsec) * 1e-6;
}

imgpar_status ip_ref_ask(ip_ref_progress *progress, ip_error *err)
{
    struct timespec now;
    if (!progress->poll || !progress->poll->stop) return IMGPAR_OK;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (ms_between(&progress->asked, &now) < POLL_MS) return IMGPAR_OK;
    progress->asked = now;
    double done = progress->total > 0 ? progress->done / progress->total : 1;
    if (progress->poll->stop(progress->poll->user, done)) return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    return IMGPAR_OK;
}

imgpar_status ip_ref_each_block(ip_ref_program *program, ip_ref_progress *progress, ip_ref_sink sink, void *user,
                                ip_error *err)
{
    const int64_t *domain = program->domain;
    imgpar_status st = IMGPAR_OK;
    program->progress = progress;
    if (domain[0] > 0 && domain[1] > 0) ip_ref_program_fill_rows(program);
    for (int64_t z = 0; !st && z < domain[0]; z++)
        for (int64_t y = 0; !st && y < domain[1]; y++)
            for (ip_ref_place place = { .z = z, .y = y }; !st && ip_ref_block_at(program, &place);
                 place.first += place.n) {
                st = ip_ref_ask(progress, err);
                if (st) break;
                sink(user, ip_ref_program_run(program, &place), &place);
                progress->done += progress->weight * place.n;
                st = ip_ref_check(program, err);
            }
    return st;
}

/* ---- sizes ---------------------------------------------------------------------------------------- */

/* dims as a number of elements and bytes; coordinates must fit i32 and offsets ptrdiff_t. */
static imgpar_status check_size(const int64_t dims[4], imgpar_dtype dtype, size_t *size_bytes, ip_error *err)
{
    size_t n = ip_dtype(dtype)->size_bytes;
    bool fits = true;
    for (int k = 0; k < 4; k++)
        fits = fits && dims[k] >= 0 && dims[k] <= INT32_MAX && ip_mul_size(n, dims[k] ? (size_t)dims[k] : 1, &n);
    if (!fits || n > PTRDIFF_MAX) return ip_fail(err, IMGPAR_E_LIMIT, "an array is too large for the interpreter");
    *size_bytes = dims[0] && dims[1] && dims[2] && dims[3] ? n : 0;
    return IMGPAR_OK;
}

static imgpar_status check_sizes(const ip_ir *ir, ip_error *err)
{
    for (int k = 0; k < ir->n_stages; k++) {
        size_t size_bytes;
        imgpar_status st = check_size(ir->stages[k]->dims, ir->stages[k]->dtype, &size_bytes, err);
        if (!st) st = check_size(ip_stage_domain(ir->stages[k]), IMGPAR_F64, &size_bytes, err);
        if (st) return st;
    }
    return IMGPAR_OK;
}

/* ---- order and lifetimes ----------------------------------------------------------------------------- */

enum { UNREAD = -1, APART = -2 }; /* of a group: not known, none */

typedef struct ordering {
    int *last_reader; /* by stage; -1: nobody needs it; n_stages: an output */
    int *group;       /* by stage that is computed: the last stage of its group, with which it is computed */
    double *weights;
    double total;
} ordering;

/* What is noted while the loads and windows of a stage are walked. */
typedef struct survey {
    ip_ir *ir;
    const ip_stage *stage; /* that reads */
    int reader;            /* when: with this stage it is computed */
    ordering *order;
    double weight;
} survey;

/* A stage that only one group reads, nearby, goes into it. */
static void note_group(survey *s, const ip_expr *load)
{
    int *group = &s->order->group[load->source->id];
    const bool fits = ip_ref_reads_nearby(s->stage, load) && (*group == UNREAD || *group == s->reader);
    *group = fits ? s->reader : APART;
}

static void note(ip_expr *x, void *user)
{
    survey *s = user;
    s->weight += 1;
    if (x->op == IP_X_WINDOW) s->weight += (double)x->taps_y * x->taps_x * (1 + ip_x_size(s->ir, x->arg[0]));
    if (x->op == IP_X_LOOP)
        s->weight += (double)x->arg[3]->i * (ip_x_size(s->ir, x->arg[1]) + ip_x_size(s->ir, x->arg[2]));
    if (x->op != IP_X_LOAD) return;
    if (s->order->last_reader[x->source->id] < s->reader) s->order->last_reader[x->source->id] = s->reader;
    note_group(s, x);
}

static void survey_opaque(const ip_stage *stage, ordering *order)
{
    for (int i = 0; i < stage->opaque->n_inputs; i++) {
        int input = stage->opaque->inputs[i]->id;
        if (order->last_reader[input] < stage->id) order->last_reader[input] = stage->id;
        order->group[input] = APART;
    }
}

static void survey_stage(ip_ir *ir, const ip_stage *stage, ordering *order)
{
    ip_expr *exprs[IP_STAGE_PARTS];
    const int n = ip_stage_exprs(stage, exprs);
    int *group = &order->group[stage->id];
    if (stage->kind != IP_STAGE_MAP || stage->is_output || *group < 0) *group = stage->id;
    survey s = { .ir = ir, .stage = stage, .reader = *group, .order = order };
    if (stage->opaque) survey_opaque(stage, order);
    for (int i = 0; i < n; i++)
        ip_x_walk(ir, exprs[i], note, &s);
    order->weights[stage->id] = s.weight;
    order->total += s.weight * ip_dims_count(ip_stage_domain(stage));
}

/* Which stages the outputs need, with whom they are computed, who reads each last, and what an element of each costs,
 * roughly. */
static imgpar_status survey_stages(ip_ir *ir, ordering *order, ip_error *err)
{
    for (int k = 0; k < ir->n_stages; k++) {
        order->last_reader[k] = ir->stages[k]->is_output ? ir->n_stages : -1;
        order->group[k] = UNREAD;
    }
    for (int k = ir->n_stages - 1; k >= 0; k--)
        if (order->last_reader[k] >= 0 && ir->stages[k]->kind >= IP_STAGE_MAP) survey_stage(ir, ir->stages[k], order);
    return ir->failed ? ip_fail_memory(err, "interpreting") : IMGPAR_OK;
}

static void order_clear(ordering *order)
{
    ip_free(order->last_reader);
    ip_free(order->group);
    ip_free(order->weights);
}

static imgpar_status order_make(ip_ir *ir, ordering *order, ip_error *err)
{
    const size_t n = (size_t)ir->n_stages + 1;
    *order = (ordering){ .last_reader = ip_alloc_array(n, sizeof(int)) };
    order->group = ip_alloc_array(n, sizeof(int));
    order->weights = ip_alloc_array(n, sizeof(double));
    if (!order->last_reader || !order->group || !order->weights) return ip_fail_memory(err, "interpreting");
    return survey_stages(ir, order, err);
}

static bool is_computed(const ip_stage *stage, const int *last_reader)
{
    bool is_read_in_place = stage->kind == IP_STAGE_SOURCE || (stage->kind == IP_STAGE_TABLE && !stage->is_output);
    return last_reader[stage->id] >= 0 && !is_read_in_place;
}

/* "sum: ", or nothing for what has no name that users know. */
static const char *label_of(const ip_stage *stage, char label[64])
{
    bool is_named = stage->node && !(stage->node->op->flags & IP_OP_HIDDEN);
    snprintf(label, 64, "%s%s", is_named ? stage->node->op->info.name : "", is_named ? ": " : "");
    return label;
}

static double bytes_of(const ip_stage *stage)
{
    return ip_dims_count(stage->dims) * (double)ip_dtype(stage->dtype)->size_bytes;
}

/* The first stage with which more than limit_bytes are held at once, NULL: there is none; *most: the most that are, up
 * to that one. Of a group its last stage is held; group NULL: each stage is. */
static const ip_stage *stage_beyond(const ip_ir *ir, const int *last_reader, const int *group, double limit_bytes,
                                    double *most)
{
    double held = 0; /* sums of sizes may not fit a size_t */
    *most = 0;
    for (int k = 0; k < ir->n_stages; k++) {
        if (!is_computed(ir->stages[k], last_reader) || (group && group[k] != k)) continue;
        held += bytes_of(ir->stages[k]);
        if (held > *most) *most = held;
        if (held > limit_bytes) return ir->stages[k];
        for (int i = 0; i <= k; i++)
            if (last_reader[i] == k && is_computed(ir->stages[i], last_reader) && !(group && group[i] != i))
                held -= bytes_of(ir->stages[i]);
    }
    return NULL;
}

/* Fails where the stages hold more than limit_bytes at once. */
static imgpar_status check_memory(const ip_ir *ir, const int *last_reader, uint64_t limit_bytes, ip_error *err)
{
    double most;
    char label[64];
    for (int k = 0; k < ir->n_stages; k++) {
        size_t size_bytes;
        if (!is_computed(ir->stages[k], last_reader)) continue;
        imgpar_status st = check_size(ir->stages[k]->dims, ir->stages[k]->dtype, &size_bytes, err);
        if (st) return st;
    }
    const ip_stage *stage = stage_beyond(ir, last_reader, NULL, (double)limit_bytes, &most);
    if (!stage) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_DEVICE_MEMORY, "%s%.0f bytes are over the memory limit of %llu bytes",
                   label_of(stage, label), most, (unsigned long long)limit_bytes);
}

/* ---- work ------------------------------------------------------------------------------------------------ */

/* At most what an opaque stage does, in operations on an element: products of matrices are most, n^3 of 3 n^2
 * elements. */
static double opaque_work(const ip_stage *stage)
{
    double n = ip_dims_count(stage->dims);
    for (int i = 0; i < stage->opaque->n_inputs; i++)
        n += ip_dims_count(stage->opaque->inputs[i]->dims);
    return n * sqrt(n);
}

ip_ref_cost ip_ref_cost_of(ip_ir *ir, ip_error *err)
{
    ordering o;
    ip_ref_cost cost = { HUGE_VAL, HUGE_VAL };
    if (!order_make(ir, &o, err)) {
        cost.work = o.total;
        for (int k = 0; k < ir->n_stages; k++) {
            const ip_stage *stage = ir->stages[k];
            if (!is_computed(stage, o.last_reader)) continue;
            cost.work += STAGE_WORK;
            if (stage->opaque) cost.work += stage->opaque->kind->run ? HUGE_VAL : opaque_work(stage);
        }
        stage_beyond(ir, o.last_reader, o.group, HUGE_VAL, &cost.bytes);
    }
    order_clear(&o);
    return cost;
}

/* ---- stages -------------------------------------------------------------------------------------------- */

typedef struct asking {
    ip_ref_progress *progress;
    ip_error *err;
} asking;

static imgpar_status ask_for_opaque(void *user)
{
    asking *a = user;
    return ip_ref_ask(a->progress, a->err);
}

static imgpar_status run_opaque(const ip_stage *stage, void *const *memory, ip_ref_progress *progress, void *out,
                                ip_error *err)
{
    const ip_opaque *o = stage->opaque;
    const void *in[IP_OPAQUE_INPUTS] = { NULL };
    asking a = { progress, err };
    for (int k = 0; k < o->n_inputs; k++)
        in[k] = memory[o->inputs[k]->id];
    imgpar_status st = o->kind->compute(o, in, out, ask_for_opaque, &a);
    if (st == IMGPAR_E_HOST_MEMORY) return ip_fail_memory(err, "interpreting");
    if (st == IMGPAR_E_UNSUPPORTED)
        return ip_fail(err, st, "%s: the reference interpreter has no function for it",
                       o->variant ? o->variant : o->kind->name);
    return st ? ip_fail(err, st, "%s: its function for the host failed", o->kind->name) : st;
}

/* The group whose last stage this is. */
static imgpar_status run_group(ip_ir *ir, const ip_stage *last, const ordering *o, void *const *memory,
                               ip_ref_progress *progress, ip_error *err)
{
    ip_stage **stages = ip_alloc_array((size_t)last->id + 1, sizeof *stages);
    ip_ref_group group = { .stages = stages, .weights = o->weights };
    for (int k = 0; stages && k <= last->id; k++)
        if (is_computed(ir->stages[k], o->last_reader) && o->group[k] == last->id) stages[group.n++] = ir->stages[k];
    imgpar_status st =
        stages ? ip_ref_group_run(ir, &group, memory, progress, err) : ip_fail_memory(err, "interpreting");
    ip_free(stages);
    return st;
}

/* The elements of a stage into new memory. */
static imgpar_status run_stage(ip_ir *ir, const ip_stage *stage, const ordering *o, void **memory,
                               ip_ref_progress *progress, ip_error *err)
{
    size_t size_bytes;
    imgpar_status st = check_size(stage->dims, stage->dtype, &size_bytes, err);
    if (st) return st;
    void *out = ip_alloc(size_bytes);
    if (!out && stage->node) return ip_fail_memory_for(err, stage->node->op->info.name, size_bytes);
    if (!out) return ip_fail_memory(err, "interpreting");
    memory[stage->id] = out;
    switch (stage->kind) {
    case IP_STAGE_MAP: st = run_group(ir, stage, o, memory, progress, err); break;
    case IP_STAGE_REDUCE: st = ip_ref_reduce(ir, stage, memory, progress, out, err); break;
    case IP_STAGE_HISTOGRAM: st = ip_ref_histogram(ir, stage, memory, progress, out, err); break;
    case IP_STAGE_SCAN: st = ip_ref_scan(ir, stage, memory, progress, out, err); break;
    case IP_STAGE_TABLE: memcpy(out, stage->table, size_bytes); break;
    case IP_STAGE_OPAQUE: st = run_opaque(stage, memory, progress, out, err); break;
    case IP_STAGE_BY_KEY: /* the compiler alone makes these */
    case IP_STAGE_SOURCE: break;
    }
    if (st) {
        ip_free(out);
        memory[stage->id] = NULL;
    }
    return st;
}

/* Frees what was computed and is not needed after stage k. */
static void free_read(ip_ir *ir, void **memory, const int *last_reader, int k)
{
    for (int i = 0; i <= k; i++) {
        if (ir->stages[i]->kind == IP_STAGE_SOURCE || last_reader[i] > k) continue;
        ip_free(memory[i]);
        memory[i] = NULL;
    }
}

imgpar_status ip_ref_run(ip_ir *ir, void **memory, uint64_t limit_bytes, const ip_poll *poll, ip_error *err)
{
    ip_ref_progress progress = { .poll = poll };
    ordering o = { .total = 0 };
    clock_gettime(CLOCK_MONOTONIC, &progress.asked);
    imgpar_status st = check_sizes(ir, err);
    if (!st) st = order_make(ir, &o, err);
    if (!st) st = check_memory(ir, o.last_reader, limit_bytes, err);
    progress.total = o.total;
    for (int k = 0; k < ir->n_stages && !st; k++) {
        if (!is_computed(ir->stages[k], o.last_reader) || o.group[k] != k) continue;
        progress.weight = o.weights[k];
        st = run_stage(ir, ir->stages[k], &o, memory, &progress, err);
        free_read(ir, memory, o.last_reader, k);
    }
    for (int k = 0; st && k < ir->n_stages; k++) {
        if (ir->stages[k]->kind == IP_STAGE_SOURCE) continue;
        ip_free(memory[k]);
        memory[k] = NULL;
    }
    order_clear(&o);
    return st;
}
