/* SPDX-License-Identifier: MIT */
/*
 * Running stages on the host: which are needed, in which order, and when their memory goes. The values are made in
 * ref_program.c and ref_eval.c, reductions in ref_reduce.c,
 * recurrences in ref_scan.c.
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
    const int64_t *domain = program->domain, row = domain[2] * domain[3];
    for (int64_t z = 0; z < domain[0]; z++)
        for (int64_t y = 0; y < domain[1]; y++)
            for (int64_t first = 0; first < row; first += IP_REF_BLOCK) {
                int64_t left = row - first;
                ip_ref_place place = { .z = z, .y = y, .first = first, .n = IP_REF_BLOCK };
                if (left < IP_REF_BLOCK) place.n = (int)left;
                imgpar_status st = ip_ref_ask(progress, err);
                if (st) return st;
                sink(user, ip_ref_program_run(program, &place), &place);
                progress->done += progress->weight * place.n;
                if (program->bad_source >= 0)
                    return ip_fail(err, IMGPAR_E_INTERNAL,
                                   "internal: interpreter: stage %d is read outside of its domain",
                                   program->bad_source);
            }
    return IMGPAR_OK;
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

/* What is noted while the loads and windows of a stage are walked. */
typedef struct survey {
    ip_ir *ir;
    int reader;
    int *last_reader; /* by stage; -1: nobody needs it; n_stages: an output */
    double weight;
} survey;

static void note(ip_expr *x, void *user)
{
    survey *s = user;
    s->weight += 1;
    if (x->op == IP_X_WINDOW) s->weight += (double)x->taps_y * x->taps_x * (1 + ip_x_size(s->ir, x->arg[0]));
    if (x->op == IP_X_LOAD && s->last_reader[x->source->id] < s->reader) s->last_reader[x->source->id] = s->reader;
}

/* Which stages the outputs need, who reads each last, and what an element of each costs, roughly. */
static imgpar_status survey_stages(ip_ir *ir, int *last_reader, double *weights, double *total, ip_error *err)
{
    for (int k = 0; k < ir->n_stages; k++)
        last_reader[k] = ir->stages[k]->is_output ? ir->n_stages : -1;
    *total = 0;
    for (int k = ir->n_stages - 1; k >= 0; k--) {
        const ip_stage *stage = ir->stages[k];
        survey s = { .ir = ir, .reader = k, .last_reader = last_reader };
        ip_expr *const parts[] = { stage->body, stage->init, stage->combine, stage->finish };
        if (last_reader[k] < 0 || stage->kind < IP_STAGE_MAP) continue;
        for (int i = 0; stage->opaque && i < stage->opaque->n_inputs; i++) {
            int input = stage->opaque->inputs[i]->id;
            if (last_reader[input] < k) last_reader[input] = k;
        }
        for (int i = 0; i < 4; i++)
            if (parts[i]) ip_x_walk(ir, parts[i], note, &s);
        const int64_t *domain = ip_stage_domain(stage);
        weights[k] = s.weight;
        *total += s.weight * (double)domain[0] * (double)domain[1] * (double)domain[2] * (double)domain[3];
    }
    return ir->failed ? ip_fail_memory(err, "interpreting") : IMGPAR_OK;
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

/* Fails where the stages hold more than limit_bytes at once. */
static imgpar_status check_memory(const ip_ir *ir, const int *last_reader, uint64_t limit_bytes, ip_error *err)
{
    double held = 0; /* sums of sizes may not fit a size_t */
    char label[64];
    for (int k = 0; k < ir->n_stages; k++) {
        const ip_stage *stage = ir->stages[k];
        size_t size_bytes;
        if (!is_computed(stage, last_reader)) continue;
        imgpar_status st = check_size(stage->dims, stage->dtype, &size_bytes, err);
        if (st) return st;
        held += (double)size_bytes;
        if (held > (double)limit_bytes)
            return ip_fail(err, IMGPAR_E_DEVICE_MEMORY, "%s%.0f bytes are over the memory limit of %llu bytes",
                           label_of(stage, label), held, (unsigned long long)limit_bytes);
        for (int i = 0; i <= k; i++) {
            if (last_reader[i] != k || !is_computed(ir->stages[i], last_reader)) continue;
            check_size(ir->stages[i]->dims, ir->stages[i]->dtype, &size_bytes, NULL);
            held -= (double)size_bytes;
        }
    }
    return IMGPAR_OK;
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

double ip_ref_work(ip_ir *ir, ip_error *err)
{
    double work = HUGE_VAL;
    int *last_reader = ip_alloc_array((size_t)ir->n_stages + 1, sizeof *last_reader);
    double *weights = ip_alloc_array((size_t)ir->n_stages + 1, sizeof *weights);
    if (last_reader && weights && !survey_stages(ir, last_reader, weights, &work, err)) {
        for (int k = 0; k < ir->n_stages; k++) {
            const ip_stage *stage = ir->stages[k];
            if (!is_computed(stage, last_reader)) continue;
            work += STAGE_WORK;
            if (stage->opaque) work += stage->opaque->kind->run ? HUGE_VAL : opaque_work(stage);
        }
    }
    ip_free(weights);
    ip_free(last_reader);
    return work;
}

/* ---- stages -------------------------------------------------------------------------------------------- */

typedef struct writer {
    const ip_stage *stage;
    unsigned char *out;
} writer;

static void write_block(void *user, const ip_ref_values *values, const ip_ref_place *place)
{
    const writer *w = user;
    const int64_t *dims = w->stage->dims;
    size_t at = (size_t)((place->z * dims[1] + place->y) * dims[2] * dims[3] + place->first);
    ip_ref_store(w->stage->dtype, values, place->n, w->out + at * ip_dtype(w->stage->dtype)->size_bytes);
}

static imgpar_status run_map(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress,
                             void *out, ip_error *err)
{
    writer w = { .stage = stage, .out = out };
    ip_ref_program program;
    imgpar_status st = ip_ref_program_make(ir, stage->body, stage->dims, memory, &program, err);
    if (!st) st = ip_ref_each_block(&program, progress, write_block, &w, err);
    ip_ref_program_clear(&program);
    return st;
}

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

/* The elements of a stage into new memory. */
static imgpar_status run_stage(ip_ir *ir, const ip_stage *stage, void **memory, ip_ref_progress *progress,
                               ip_error *err)
{
    size_t size_bytes;
    imgpar_status st = check_size(stage->dims, stage->dtype, &size_bytes, err);
    if (st) return st;
    void *out = ip_alloc(size_bytes);
    if (!out && stage->node) return ip_fail_memory_for(err, stage->node->op->info.name, size_bytes);
    if (!out) return ip_fail_memory(err, "interpreting");
    switch (stage->kind) {
    case IP_STAGE_MAP: st = run_map(ir, stage, memory, progress, out, err); break;
    case IP_STAGE_REDUCE: st = ip_ref_reduce(ir, stage, memory, progress, out, err); break;
    case IP_STAGE_HISTOGRAM: st = ip_ref_histogram(ir, stage, memory, progress, out, err); break;
    case IP_STAGE_SCAN: st = ip_ref_scan(ir, stage, memory, progress, out, err); break;
    case IP_STAGE_TABLE: memcpy(out, stage->table, size_bytes); break;
    case IP_STAGE_OPAQUE: st = run_opaque(stage, memory, progress, out, err); break;
    case IP_STAGE_SOURCE: break;
    }
    if (st)
        ip_free(out);
    else
        memory[stage->id] = out;
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
    int *last_reader = ip_alloc_array((size_t)ir->n_stages + 1, sizeof *last_reader);
    double *weights = ip_alloc_array((size_t)ir->n_stages + 1, sizeof *weights);
    imgpar_status st = IMGPAR_OK;
    if (!last_reader || !weights) {
        st = ip_fail_memory(err, "interpreting");
        goto out;
    }
    clock_gettime(CLOCK_MONOTONIC, &progress.asked);
    st = check_sizes(ir, err);
    if (!st) st = survey_stages(ir, last_reader, weights, &progress.total, err);
    if (!st) st = check_memory(ir, last_reader, limit_bytes, err);
    if (st) goto out;

    for (int k = 0; k < ir->n_stages && !st; k++) {
        const ip_stage *stage = ir->stages[k];
        if (!is_computed(stage, last_reader)) continue;
        progress.weight = weights[k];
        st = run_stage(ir, stage, memory, &progress, err);
        free_read(ir, memory, last_reader, k);
    }
    for (int k = 0; st && k < ir->n_stages; k++) {
        if (ir->stages[k]->kind == IP_STAGE_SOURCE) continue;
        ip_free(memory[k]);
        memory[k] = NULL;
    }
out:
    ip_free(weights);
    ip_free(last_reader);
    return st;
}
