/* SPDX-License-Identifier: MIT */
/*
 * Who computes: kernels, or the interpreter in their place while compiling them would take longer.
 *
 * Note [Tiers]
 * PoCL compiles a program for about a second. The interpreter makes the same bytes where all rows of a graph promise
 * theirs, and takes a few times as long as kernels that are there: so it computes what is not compiled yet, until the
 * work that was spent so on a program, in all processes, is about what compiling it takes (cache.c, Note [Work spent
 * without a program]). Then the program is compiled, once. Operations are counted and no time, so what is done does not
 * depend on how busy the machine is. Graphs with rows that promise only a tolerance wait for the
 * compiler, or the bytes of a command's results would depend on what was run before it. So do steps of loops, which
 * repeat, graphs that read memory of the device, what several devices share, and what is too large to be held, which
 * kernels make in strips. Who asks for a schedule, checks, no fusion, a dump or a limit on memory gets kernels.
 */
#include "run/evaluation_impl.h"

#include "base/dtype.h"
#include "graph/array.h"
#include "run/ref.h"

enum { MOST_HELD = 256 << 20 };          /* bytes of sources and results */
static const double most_spent = 1.5e10; /* operations: a quarter of a second to a few, on 2 cores */

/* The settings leave the choice to us, and the device is one for which compiling is dear and the interpreter close. */
static bool may_choose(imgpar_context *ctx)
{
    if (ctx->devices.n != 1) return false;
    const ip_device_facts *facts = ip_device_facts_of(ctx->device);
    pthread_mutex_lock(&ctx->lock);
    bool may = ctx->tier != IP_TIER_KERNELS && ctx->fuse && !ctx->checks && ctx->mem_limit == 0 &&
               ctx->tuning.schedule == IP_SCHEDULE_AUTO;
    pthread_mutex_unlock(&ctx->lock);
    return may && !ctx->dump && facts->is_pocl && facts->kind == IP_DEVICE_CPU && facts->info.has_f64;
}

/* Every row of the graph promises its bytes; what was computed or decoded before the graph is none of it. */
static bool promises_bytes(const ip_plan *plan)
{
    for (int k = 0; k < plan->n_held; k++) {
        const imgpar_array *node = plan->held[k];
        if (!node->source && !node->op->info.same_bytes) return false;
    }
    return plan->n_held > 0;
}

/* Sources are in host memory or will be decoded there, and they and the results can be held whole. */
static bool is_held_by_host(const evaluation *e)
{
    uint64_t bytes = 0, pixels = 0;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        const ip_source *source = s->node ? s->node->source : NULL;
        if (s->kind == IP_STAGE_SOURCE &&
            ((s->value && !s->value->host) || (source && source->kind == IP_SOURCE_BUFFER)))
            return false;
        if (s->kind != IP_STAGE_SOURCE && !s->is_output) continue;
        bytes += ip_stage_bytes(s);
        pixels += (uint64_t)(s->dims[0] * s->dims[1] * s->dims[2]);
    }
    return bytes <= MOST_HELD && pixels <= ip_context_max_pixels(e->ctx);
}

/* Hand-written kernels have programs of their own (opaque.c), which are not looked for. */
static bool is_all_planned(const ip_plan *plan)
{
    bool all = plan->n_kernels > 0 && !plan->ir->failed;
    for (int k = 0; all && k < plan->n_kernels; k++)
        all = plan->kernels[k].schedule != IP_SCHEDULE_OPAQUE;
    return all;
}

/* That one of the kernels' programs is missing, and that so much work may still be spent on that. */
static bool spends(const evaluation *e, double work)
{
    bool may = false;
    for (int k = 0; k < e->plan->n_kernels; k++)
        may |= ip_kernel_spends(e->runner.device, &e->plan->kernels[k], work, most_spent);
    return may;
}

/* Leaves the kernels' programs to whoever builds them behind, if that is wanted: Note [Built behind] in behind.c. */
static void leave(const evaluation *e)
{
    pthread_mutex_lock(&e->ctx->lock);
    bool is_wanted = e->ctx->tier == IP_TIER_AUTO;
    pthread_mutex_unlock(&e->ctx->lock);
    for (int k = 0; is_wanted && k < e->plan->n_kernels; k++)
        if (ip_kernel_leave(e->runner.device, &e->plan->kernels[k])) atomic_fetch_add(&e->ctx->programs_left, 1);
}

imgpar_status ip_tier_choose(imgpar_context *ctx, ip_request *q, evaluation **e, ip_error *err)
{
    const evaluation *kernels = *e;
    if (!q->may_interpret || q->use_ref || q->step || q->totals || !may_choose(ctx)) return IMGPAR_OK;
    if (!is_all_planned(kernels->plan) || !promises_bytes(kernels->plan)) return IMGPAR_OK;
    if (!is_held_by_host(kernels) || !spends(kernels, 0)) return IMGPAR_OK;
    ip_request by_ref = *q;
    evaluation *ref;
    by_ref.use_ref = true;
    imgpar_status st = ip_evaluation_new(ctx, ctx->device, &by_ref, &ref, err);
    if (st) return st;
    ip_error unknown = { IMGPAR_OK, "" };
    double work = ip_ref_work(ref->plan->ir, &unknown); /* HUGE_VAL where it cannot, or nobody knows */
    if (work > 0 && spends(kernels, work)) {
        leave(kernels);
        ip_evaluation_free(*e);
        *e = ref;
        q->use_ref = true;
    } else {
        ip_evaluation_free(ref);
    }
    return IMGPAR_OK;
}
