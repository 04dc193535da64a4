/* SPDX-License-Identifier: MIT */
/*
 * Folds whose parts are computed apart: on several devices (share.c), or one after the other where all of what is
 * folded does not fit the device.
 *
 * Note [Totals]
 * A part of a fold stops at its total: what was accumulated, of acc_dtype, before `finish` makes the result of it; of a
 * histogram, its counts. The plans of parts are compiled to store that. The host combines the totals in the order of
 * the parts and finishes, as the reference interpreter does (ref_reduce.c).
 *
 * Note [Exact folds]
 * Parts are as large as devices have proved to be fast, so a fold is cut only where its result does not depend on that:
 * counts, sums of integers, extremes, what combines bits, a user's function of integers (which is associative). Floats
 * that are added up, or combined by a function, would have other last bits the next time; they are cut where the user
 * has weighed the devices, since then the parts are always the same, and where they would not fit. A mean of integers
 * is divided by the host, which rounds correctly as its row asks, while a device need not. (An extreme among zeros of
 * both signs may be either, as with other schedules.)
 */
#include "run/evaluation_impl.h"

#include "base/alloc.h"
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
            if (ip_stage_folds(e->plan->kernels[k].inputs[i])) return true;
    return false;
}

const char *ip_evaluation_folds_uncut(const evaluation *e, bool is_placed)
{
    if (is_read(e)) return "a fold is needed for another result";
    for (int k = 0; k < e->plan->n_outputs; k++) {
        const ip_stage *s = e->plan->outputs[k];
        if (!ip_stage_folds(s)) return "a fold is asked for beside an image";
        if (s->kind == IP_STAGE_BY_KEY) return "values are folded by keys";
        if (s->over[0] <= 1 && s->over[1] <= 1) return "what is folded has one row";
        if (!is_exact(s) && !is_placed) return "floats are added up in one order";
    }
    return NULL;
}

bool ip_evaluation_folds(const evaluation *e) { return e->plan->n_outputs > 0 && ip_stage_folds(e->plan->outputs[0]); }

void ip_totals_free(const evaluation *part, void **totals)
{
    for (int k = 0; totals && k < part->plan->n_outputs; k++)
        ip_free(totals[k]);
    ip_free(totals);
}

void **ip_totals_new(const evaluation *part)
{
    size_t n = (size_t)part->plan->n_outputs;
    void **totals = ip_zalloc(n * sizeof *totals);
    bool ok = totals != NULL;
    for (size_t k = 0; ok && k < n; k++)
        ok = (totals[k] = ip_zalloc((size_t)ip_stage_bytes(part->plan->outputs[k]))) != NULL;
    if (ok) return totals;
    ip_totals_free(part, totals);
    return NULL;
}

imgpar_status ip_evaluation_combine(const evaluation *e, size_t k, const void *const *totals, size_t n, void *out,
                                    ip_error *err)
{
    return ip_ref_combine(e->plan->ir, e->plan->outputs[k], totals, n, out, err);
}

/* ---- more than fits ---------------------------------------------------------------------------------- */

imgpar_status ip_evaluation_fold_halves(evaluation *part, double from, double to, void *const *hosts, ip_error *err)
{
    const double middle = (from + to) / 2;
    void **first = ip_totals_new(part), **second = ip_totals_new(part);
    imgpar_status st = first && second ? IMGPAR_OK : ip_fail_memory(err, "folding parts");
    if (!st) st = ip_evaluation_part(part, from, middle, first, err);
    if (!st) st = ip_evaluation_part(part, middle, to, second, err);
    for (int k = 0; !st && k < part->plan->n_outputs; k++)
        st = ip_evaluation_combine(part, (size_t)k, (const void *[]){ first[k], second[k] }, 2, hosts[k], err);
    ip_totals_free(part, first);
    ip_totals_free(part, second);
    return st;
}

/* The k-th result from its total. */
static imgpar_status finish(const evaluation *e, size_t k, const void *total, ip_value **value, ip_error *err)
{
    size_t n = (size_t)ip_stage_bytes(e->plan->outputs[k]);
    void *host = ip_alloc(n);
    imgpar_status st =
        host ? ip_evaluation_combine(e, k, &total, 1, host, err) : ip_fail_memory(err, "keeping a result");
    if (st) {
        ip_free(host);
        return st;
    }
    *value = ip_value_of_host(host, n);
    return *value ? IMGPAR_OK : ip_fail_memory(err, "keeping a result");
}

imgpar_status ip_evaluation_run_folds(evaluation *e, const ip_request *q, ip_value **values, ip_error *err)
{
    ip_request totals_of = *q;
    evaluation *part = NULL;
    void **totals = NULL;
    totals_of.goal.totals = true;
    /* what is too large to be kept is decoded as the parts come */
    imgpar_status st = ip_evaluation_holds_little(e) ? ip_evaluation_decode(e, err) : IMGPAR_OK;
    if (!st) st = ip_evaluation_new(e->ctx, e->runner.device, &totals_of, &part, err);
    if (st) return st;
    ip_evaluation_lend(e, part);
    totals = ip_totals_new(part);
    st = totals ? ip_evaluation_run_part(part, 0, 1, totals, err) : ip_fail_memory(err, "folding parts");
    for (size_t k = 0; !st && k < (size_t)e->plan->n_outputs; k++)
        st = finish(e, k, totals[k], &values[k], err);
    ip_totals_free(part, totals);
    ip_evaluation_free(part);
    return st;
}
