/* SPDX-License-Identifier: MIT */
/*
 * Note [Looks]
 * a > mean(a) has to see all of a before it makes its first row. Of a picture that is read by rows, and is too large to
 * be held, each fold is computed by itself, and what reads it is planned as if the fold were a source (run/looks.c).
 *
 *     look 1, 2, ...     the results are the folds below which there are 0, 1, ... folds; those are sources
 *     IP_LOOK_LAST       the results are the arrays, and all folds that they read are sources
 *
 * All plans of one graph number its folds alike (`look` in ir/stage.h).
 */
#include "base/alloc.h"
#include "compile/passes.h"
#include "ir/opaque.h"

#include <string.h>

typedef struct looking {
    ip_ir *ir;
    const int *n_reads; /* ip_ir_count_reads() */
    int *n_folds;       /* by stage id: folds that are passed from a source to here, at most */
    int most;           /* of what the stage at hand reads */
} looking;

static void note_folds(ip_expr *load, void *user)
{
    looking *l = user;
    const int n = l->n_folds[load->source->id];
    if (n > l->most) l->most = n;
}

/* Numbers the folds that are read, and counts those below each stage. */
static void number_folds(looking *l)
{
    int n = 0;
    for (int k = 0; k < l->ir->n_stages; k++) {
        ip_stage *s = l->ir->stages[k];
        if (!ip_stage_is_live(s, l->n_reads)) continue;
        l->most = 0;
        ip_stage_each_load(l->ir, s, note_folds, l);
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            if (l->n_folds[s->opaque->inputs[i]->id] > l->most) l->most = l->n_folds[s->opaque->inputs[i]->id];
        l->n_folds[k] = l->most + (ip_stage_folds(s) ? 1 : 0);
        if (ip_stage_folds(s) && !s->is_output) s->look = ++n;
    }
}

static void become_source(ip_stage *s)
{
    s->kind = IP_STAGE_SOURCE;
    s->body = s->init = s->combine = s->finish = s->least_place = NULL;
    memcpy(s->over, s->dims, sizeof s->over);
}

/* The folds of one look become the results. */
static bool ask_for_folds(ip_plan *plan, const looking *l, int look)
{
    int n = 0;
    for (int k = 0; k < plan->n_outputs; k++)
        plan->outputs[k]->is_output = false;
    for (int k = 0; k < l->ir->n_stages; k++) {
        l->ir->stages[k]->is_output = l->ir->stages[k]->look > 0 && l->n_folds[k] == look;
        n += l->ir->stages[k]->is_output;
    }
    ip_stage **outputs = ip_alloc_array((size_t)n + 1, sizeof *outputs);
    if (!outputs) return false;
    ip_free(plan->outputs);
    plan->outputs = outputs;
    plan->n_outputs = 0;
    for (int k = 0; k < l->ir->n_stages; k++)
        if (l->ir->stages[k]->is_output) plan->outputs[plan->n_outputs++] = l->ir->stages[k];
    return true;
}

imgpar_status ip_pass_looks(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    const size_t n = (size_t)plan->ir->n_stages + 1;
    looking l = { .ir = plan->ir };
    l.n_reads = ip_ir_count_reads(plan->ir);
    l.n_folds = ip_ir_alloc(plan->ir, n, sizeof *l.n_folds);
    if (plan->ir->failed) return ip_fail_memory(err, "compiling");
    number_folds(&l);
    for (int k = 0; k < plan->ir->n_stages; k++) {
        ip_stage *s = plan->ir->stages[k];
        if (s->look == 0) continue;
        if (l.n_folds[k] > plan->n_looks) plan->n_looks = l.n_folds[k];
        plan->n_folds = s->look;
        if (options->goal.look == IP_LOOK_LAST || l.n_folds[k] < options->goal.look) become_source(s);
    }
    if (options->goal.look != IP_LOOK_LAST && !ask_for_folds(plan, &l, options->goal.look))
        return ip_fail_memory(err, "compiling");
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
