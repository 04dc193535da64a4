/* SPDX-License-Identifier: MIT */
/*
 * Who computes: kernels, or the interpreter in their place while compiling them would take longer.
 *
 * Note [Tiers]
 * PoCL compiles a program for about a second. The interpreter makes the same bytes (but for the signs and payloads of
 * NaNs) where all rows of a graph promise theirs, or where none of its stages leaves them open (ip_ir_is_exact()), as
 * sums of floats do, and takes a few times as long as kernels that are there: so it computes what is not compiled yet,
 * until the work that was spent so on a program, in all processes, is some times what compiling it takes (cache.c, Note
 * [Work spent without a program]). Then the program is compiled, once; with "tier" auto it is left to be compiled
 * before (pending.c).
 *
 * Other graphs wait for the compiler, or the bytes of a command's results would depend on what was run before it. So do
 * steps of loops, which repeat, graphs that read memory of the device, what several devices share, what is too large to
 * be held, which kernels make in strips, and sources of which not all is needed, which the interpreter would decode
 * whole and find damages in that kernels do not meet. Who asks for a schedule, checks, no fusion, a dump or a limit on
 * memory gets kernels.
 */
#include "run/evaluation_impl.h"

#include "base/dtype.h"
#include "graph/array.h"
#include "run/ref.h"

enum { MOST_HELD = 256 << 20 }; /* bytes, sources included */
/* Operations on an element, of which two cores make some 10 in a nanosecond of bytes, 1 or 2 of doubles: a blur of 13
 * megapixels, radius 2, takes 7e9 of them and 0.6 s. */
static const double most_spent = 1.5e10;

/* The settings leave the choice to us, and the device is one for which compiling is dear and the interpreter close. */
static bool may_choose(imgpar_context *ctx)
{
    if (ctx->devices.n != 1) return false;
    const ip_device_facts *facts = ip_device_facts_of(ctx->device);
    pthread_mutex_lock(&ctx->lock);
    bool may = ctx->tier != IP_TIER_KERNELS && ctx->fuse && !ctx->checks && ctx->mem_limit == 0 &&
               ctx->tuning.schedule == IP_SCHEDULE_AUTO;
    pthread_mutex_unlock(&ctx->lock);
    return may && !ctx->dump && facts->is_pocl && facts->kind == IP_DEVICE_CPU && facts->info.has_f64 &&
           facts->reports_exact_division;
}

/* Kernels and interpreter compute the same bytes, by every row's promise or by what the stages are. */
static bool has_its_bytes(const ip_plan *plan)
{
    if (ip_ir_is_exact(plan->ir)) return true;
    for (int k = 0; k < plan->n_held; k++) {
        const imgpar_array *node = plan->held[k];
        if (!node->source && !node->op->info.same_bytes) return false;
    }
    return plan->n_held > 0;
}

/* All of the source is needed, and it is in host memory or will be decoded there. */
static bool is_source_of_host(const evaluation *e, const ip_stage *s)
{
    const ip_source *source = s->node ? s->node->source : NULL;
    const ip_region *n = &e->needed[s->id];
    if (s->value) return s->value->host != NULL;
    if (source && source->kind == IP_SOURCE_BUFFER) return false;
    return e->is_needed[s->id] && n->z1 - n->z0 == s->dims[0] && n->y1 - n->y0 == s->dims[1];
}

/* Whether the sources are the host's; *bytes: what they take. */
static bool has_sources_of_host(evaluation *e, double *bytes)
{
    uint64_t pixels = 0;
    *bytes = 0;
    ip_evaluation_want(e, 0, 1);
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (s->kind != IP_STAGE_SOURCE) continue;
        if (!is_source_of_host(e, s)) return false;
        *bytes += (double)ip_stage_bytes(s);
        pixels += (uint64_t)(s->dims[0] * s->dims[1] * s->dims[2]);
    }
    return *bytes <= MOST_HELD && pixels <= ip_context_max_pixels(e->ctx);
}

/* Hand-written kernels have programs of their own (opaque.c), which are not looked for. */
static bool is_all_planned(const ip_plan *plan)
{
    bool all = plan->n_kernels > 0 && !plan->ir->failed;
    for (int k = 0; all && k < plan->n_kernels; k++)
        all = plan->kernels[k].schedule != IP_SCHEDULE_OPAQUE;
    return all;
}

/* That a program is missing, and that so much work may still be done without each that is. */
static bool lacks_programs(const evaluation *e, double work)
{
    bool lacks = false;
    for (int k = 0; k < e->plan->n_kernels; k++) {
        double spent = 0;
        const ip_absence a = ip_kernel_absence(e->runner.device, &e->plan->kernels[k], &spent);
        if (a == IP_PROGRAM_UNKNOWN || spent + work > most_spent) return false;
        lacks |= a == IP_PROGRAM_MISSING;
    }
    return lacks;
}

/* Does without the programs that are missing: charges them with the work and leaves them to be compiled, if that is
 * wanted. False: nothing can be kept of it. */
static bool do_without(const evaluation *e, double work)
{
    pthread_mutex_lock(&e->ctx->lock);
    const bool is_left = e->ctx->tier == IP_TIER_AUTO;
    pthread_mutex_unlock(&e->ctx->lock);
    bool done = true;
    for (int k = 0; done && k < e->plan->n_kernels; k++) {
        const ip_kernel *kernel = &e->plan->kernels[k];
        double spent;
        if (ip_kernel_absence(e->runner.device, kernel, &spent) != IP_PROGRAM_MISSING) continue;
        done = ip_kernel_charge(e->runner.device, kernel, work);
        if (done && is_left && ip_kernel_leave_pending(e->runner.device, kernel))
            atomic_fetch_add(&e->ctx->programs_pending, 1);
    }
    return done;
}

void ip_tier_choose(imgpar_context *ctx, ip_request *q, evaluation **e)
{
    evaluation *kernels = *e, *ref;
    ip_request by_ref = *q;
    ip_error ignored = { IMGPAR_OK, "" }; /* kernels compute */
    double source_bytes;
    if (!q->may_interpret || q->use_ref || q->step || q->goal.totals || !may_choose(ctx)) return;
    if (!is_all_planned(kernels->plan) || !has_sources_of_host(kernels, &source_bytes)) return;
    if (!lacks_programs(kernels, 0) || !has_its_bytes(kernels->plan)) return;
    by_ref.use_ref = true;
    if (ip_evaluation_new(ctx, ctx->device, &by_ref, &ref, &ignored)) return;
    const ip_ref_cost cost = ip_ref_cost_of(ref->plan->ir, &ignored);
    if (cost.work > 0 && cost.bytes + source_bytes <= MOST_HELD && lacks_programs(kernels, cost.work) &&
        do_without(kernels, cost.work)) {
        ip_evaluation_free(kernels);
        *e = ref;
        q->use_ref = true;
    } else {
        ip_evaluation_free(ref);
    }
}
