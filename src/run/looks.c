/* SPDX-License-Identifier: MIT */
/*
 * A result that streams, of folds over a picture that is too large to be held: the picture is read once for each look
 * (compile/looks.c, Note [Looks]) and once more for the result. Its bytes are read again from the file, which is
 * refused if it has changed, or are in memory.
 *
 *     st = ip_evaluation_plan_rest(e, q, &rest, err);     (what is left when the folds are there)
 *     if (rest streams) st = ip_evaluation_look(rest, q, err);
 */
#include "run/evaluation_impl.h"

#include "base/alloc.h"

/* Whether a part of the folds reads a part of every source that is read by rows. */
static bool parts_read_little(evaluation *e)
{
    static const double from = 0.5, part = 1.0 / 64;
    enum { LITTLE = 8 }; /* so many parts read as much as all, at most */
    bool is_little = true;
    ip_evaluation_want(e, from, from + part);
    for (int k = 0; is_little && k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (e->is_needed[k] && ip_evaluation_may_window(e, s))
            is_little = (e->needed[k].y1 - e->needed[k].y0) * LITTLE <= s->dims[1];
    }
    ip_evaluation_want(e, 0, 1);
    return is_little;
}

/* The request for the folds of one look, whose values go nowhere else. */
static ip_request request_of_look(const ip_request *q, int look)
{
    ip_request of_look = *q;
    of_look.goal.look = look;
    of_look.taker = NULL;
    of_look.dst = NULL;
    return of_look;
}

/* A plan of the request, for the folds of one look or for what reads them; its sources are those of e. */
static imgpar_status plan_look(const evaluation *e, const ip_request *q, int look, evaluation **out, ip_error *err)
{
    const ip_request of_look = request_of_look(q, look);
    imgpar_status st = ip_evaluation_new(e->ctx, e->runner.device, &of_look, out, err);
    if (!st) ip_evaluation_lend(e, *out);
    return st;
}

imgpar_status ip_evaluation_plan_rest(const evaluation *e, const ip_request *q, evaluation **rest, ip_error *err)
{
    imgpar_status st = plan_look(e, q, IP_LOOK_LAST, rest, err);
    bool is_possible = !st && (*rest)->plan->n_folds > 0;
    for (int look = 1; is_possible && !st && look <= (*rest)->plan->n_looks; look++) {
        evaluation *folds = NULL;
        st = plan_look(e, q, look, &folds, err);
        is_possible = !st && folds->plan->n_folds == (*rest)->plan->n_folds && folds->plan->n_outputs > 0 &&
                      !ip_evaluation_folds_uncut(folds, true) && parts_read_little(folds);
        ip_evaluation_free(folds);
    }
    if (!st && is_possible) return IMGPAR_OK;
    ip_evaluation_free(*rest);
    *rest = NULL;
    return st;
}

/* The value of a fold that was computed becomes that of the source in its place. */
static void give(evaluation *e, const ip_stage *fold, ip_value *value)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (s->kind == IP_STAGE_SOURCE && s->look == fold->look && !e->source_values[k])
            e->source_values[k] = ip_value_retain(value);
    }
}

static imgpar_status look_once(evaluation *rest, const ip_request *q, int look, ip_error *err)
{
    evaluation *folds = NULL;
    const ip_request of_look = request_of_look(q, look);
    imgpar_status st = plan_look(rest, q, look, &folds, err);
    const int n = st ? 0 : folds->plan->n_outputs;
    ip_value **values = ip_zalloc(((size_t)n + 1) * sizeof *values);
    if (!st && !values) st = ip_fail_memory(err, "evaluating");
    if (!st) st = ip_evaluation_run(folds, &of_look, values, err);
    for (int k = 0; k < n && values; k++) {
        if (!st) give(rest, folds->plan->outputs[k], values[k]);
        ip_value_release(values[k]);
    }
    ip_free(values);
    ip_evaluation_free(folds);
    return st;
}

imgpar_status ip_evaluation_look(evaluation *rest, const ip_request *q, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (int look = 1; !st && look <= rest->plan->n_looks; look++)
        st = look_once(rest, q, look, err);
    return st;
}
