/* SPDX-License-Identifier: MIT */
/* Which results have the same bytes from kernels and from the interpreter (src/run/tier.c, Note [Tiers]). */
#ifndef IP_TESTS_EXACT_H
#define IP_TESTS_EXACT_H

#include "compile/plan.h"
#include "ir/stage.h"
#include "run/context.h"

/* Whether nothing that the context's device computes for a leaves its bits open. */
static inline bool has_exact_bytes(imgpar_context *ctx, imgpar_array *a)
{
    if (!ctx->device) return false;
    const ip_compile_options options = ip_context_compile_options(ctx, ctx->device);
    ip_error err = { .status = IMGPAR_OK };
    ip_plan *plan;
    if (!options.device.uses_own_functions || ip_compile(&a, 1, &options, &plan, &err)) return false;
    const bool is_exact = ip_ir_is_exact(plan->ir);
    ip_plan_free(plan);
    return is_exact;
}

#endif
