/* SPDX-License-Identifier: MIT */
/*
 * Folds whose parts are computed apart: on several devices (share.c).
 *
 * Note [Totals]
 * A part of a fold stops at its total: what was accumulated, of acc_dtype, before `finish` makes the result of it; of a histogram,
 * its counts. The plans of parts are compiled to store that. The host combines the totals in the order of the parts and
 * finishes, as the reference interpreter does (ref_reduce.c).
 *
 * Note [Exact folds]
 * Parts are as large as devices have proved to be fast, so a fold is cut only where its result does not depend on that: counts,
 * sums of integers, extremes, what combines bits, a user's function of integers (which is associative). Floats that are added
 * up, or combined by a function, would have other last bits the next time; they are cut where the user has weighed the
 * devices, since then the parts are always the same.
 */
#include "run/evaluation_impl.h"

#include "run/ref.h"

static bool is_exact(const ip_stage *fold)
{
    bool is_extreme = fold->reduce == IP_REDUCE_MIN || fold->reduce == IP_REDUCE_MAX;
    return fold->kind == IP_STAGE_HISTOGRAM || is_extreme || !ip_dtype(fold->acc_dtype)->is_float;
}

static bool is_read(const evaluation *e)
{
    for (int k = 0; k < e->plan->n_kernels; k++)
        for (int i = 0; i < e->plan->kernels[k].n_inputs; i++)
            if (ip_stage_folds(e->plan->kernels[k].inputs[i]))
                return true;
    return false;
}

const char *ip_evaluation_folds_uncut(const evaluation *e, bool is_placed)
{
    if (is_read(e))
        return "a fold is needed for another result";
    for (int k = 0; k < e->plan->n_outputs; k++) {
        const ip_stage *s = e->plan->outputs[k];
        if (!ip_stage_folds(s))
            return "a fold is asked for beside an image";
        if (s->over[0] <= 1 && s->over[1] <= 1)
            return "what is folded has one row";
        if (!is_exact(s) && !is_placed)
            return "floats are added up in one order";
    }
    return NULL;
}

bool ip_evaluation_folds(const evaluation *e) { return e->plan->n_outputs > 0 && ip_stage_folds(e->plan->outputs[0]); }

size_t ip_evaluation_total_bytes(const evaluation *part, size_t k) { return (size_t)ip_stage_bytes(part->plan->outputs[k]); }

imgpar_status ip_evaluation_combine(const evaluation *e, size_t k, const void *const *totals, size_t n, void *out, ip_error *err)
{
    return ip_ref_combine(e->plan->ir, e->plan->outputs[k], totals, n, out, err);
}
