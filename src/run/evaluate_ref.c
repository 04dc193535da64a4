/* SPDX-License-Identifier: MIT */
/* An evaluation by the interpreter (ref.h), which has its values in host memory. */
#include "run/evaluation_impl.h"

#include "base/alloc.h"
#include "run/progress.h"
#include "run/ref.h"

/* Host memory of the value of stage s, which may be on the device only; *copy is to be freed. */
static imgpar_status host_of(ip_value *v, const ip_stage *s, void **host, void **copy, ip_error *err)
{
    *copy = NULL;
    *host = v->host;
    if (v->host) return IMGPAR_OK;
    *host = *copy = ip_alloc(v->size_bytes);
    return *copy ? ip_value_read(v, *copy, err) : ip_fail_memory_for(err, s->node->op->info.name, v->size_bytes);
}

/* As on a CPU device, half of the host's; where the interpreter only checks a device, the limit is none of its. */
static uint64_t ref_limit(imgpar_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    bool computes = !ctx->device || ctx->tuning.schedule == IP_SCHEDULE_REF;
    uint64_t limit = computes ? ctx->mem_limit : 0;
    pthread_mutex_unlock(&ctx->lock);
    limit = limit ? limit : ip_host_memory() / 2;
    const uint64_t left = ip_account_left(ctx->host);
    return left < limit ? left : limit;
}

double ip_ref_work(const ip_ir *ir)
{
    double work = 0;
    for (int k = 0; k < ir->n_stages; k++) {
        if (ir->stages[k]->kind != IP_STAGE_SOURCE) work += IP_WORK_REF * ip_dims_count(ir->stages[k]->dims);
    }
    return work;
}

imgpar_status ip_evaluation_run_on_ref(evaluation *e, ip_value **values, ip_error *err)
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
        st = ip_evaluation_source(e, s, &v, err);
        if (!st) st = host_of(v, s, &memory[k], &copies[k], err);
    }
    double start = ip_now_ms();
    bool ran = !st;
    ip_progress_step(e->runner.options, ip_ref_work(ir));
    if (!st) st = ip_ref_run(ir, memory, ref_limit(e->ctx), &e->runner.poll, err);
    if (!st) ip_runner_event(&e->runner, "kernel", "ref", start, 0, 0);
    for (int k = 0; !st && k < e->plan->n_outputs; k++) {
        const ip_stage *s = e->plan->outputs[k];
        if (s->kind == IP_STAGE_SOURCE) {
            st = ip_evaluation_take(e, s, &values[k], err);
        } else if (memory[s->id]) {
            ip_account_add(e->ctx->host, ip_stage_bytes(s));
            values[k] = ip_value_of_counted(memory[s->id], (size_t)ip_stage_bytes(s), e->ctx->host);
            memory[s->id] = NULL;
            if (!values[k]) st = ip_fail_memory(err, "keeping a result");
        } else { /* the same stage asked for twice */
            for (int j = 0; j < k; j++)
                if (e->plan->outputs[j] == s) values[k] = ip_value_retain(values[j]);
        }
    }
    for (size_t k = 0; memory && ran && k < n; k++)
        if (ir->stages[k]->kind != IP_STAGE_SOURCE) ip_free(memory[k]);
    for (size_t k = 0; copies && k < n; k++)
        ip_free(copies[k]);
    ip_free(memory);
    ip_free(copies);
    return st;
}
