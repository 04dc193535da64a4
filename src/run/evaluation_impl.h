/* SPDX-License-Identifier: MIT */
/*
 * The inside of an ip_evaluation, which several files share: evaluate.c makes it and runs its kernels, evaluate_ref.c
 * has the interpreter run its stages, plans.c keeps its plan, tier.c decides whether the interpreter begins, strips.c
 * how much is run at once, windows.c reads sources by rows, worth.c tells what it is like, looks.c computes what has
 * to see its source twice, totals.c puts folds together whose parts were computed apart, spill.c runs a plan whose
 * inner values do not fit, promises.c looks for reads that break a border's promise.
 */
#ifndef IP_RUN_EVALUATION_IMPL_H
#define IP_RUN_EVALUATION_IMPL_H

#include "base/dtype.h"
#include "run/evaluation.h"

typedef struct ip_evaluation evaluation;
struct ip_evaluation {
    imgpar_context *ctx;
    ip_runner runner;
    ip_plan *plan;
    ip_value **source_values;   /* by stage id: decoded once, strips share them */
    struct ip_window **windows; /* by stage id: of sources that are read by rows; NULL: of others */
    ip_binding *bindings;       /* by stage id */
    ip_program **programs;      /* by kernel; NULL: not launched yet */
    ip_region *needed;          /* by stage id */
    bool *is_needed;
    int *last_reader;  /* by stage id: the last kernel that reads it; n_kernels: a result */
    ip_region *wanted; /* by output: what is asked for of it */
    double from, to;   /* the same as fractions; folds that are asked for see so much of what they fold */
    /* wanted, from and to that needed was inferred from, so that a plan that runs again infers nothing */
    struct {
        ip_region *wanted; /* by output */
        double from, to;
        bool is_there;
    } inferred;
    void *const *hosts; /* by output: host memory for all of it, where what is wanted goes; NULL: anywhere */
    size_t host_first;  /* byte of the results that hosts begin with */
    void *dst;          /* of the one result, as hosts */
};

static inline ip_region ip_region_whole(const int64_t dims[4])
{
    return (ip_region){ 0, dims[0], 0, dims[1], 0, dims[2] };
}

/* Of a source, or of what a result shows of its stage (compile/frame.c): all of it, a row. */
static inline uint64_t ip_stage_bytes(const ip_stage *s)
{
    ip_region all = ip_stage_shown(s);
    return ip_region_bytes(&all, s);
}

static inline int64_t ip_stage_row_bytes(const ip_stage *s)
{
    ip_region all = ip_stage_shown(s);
    return (all.x1 - all.x0) * s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes;
}

/* Where a region that is one piece of memory, whole planes or whole rows of one plane, begins. */
static inline size_t ip_stage_first_byte(const ip_stage *s, const ip_region *r)
{
    ip_region all = ip_stage_shown(s);
    return (size_t)(((r->z0 - all.z0) * (all.y1 - all.y0) + r->y0 - all.y0) * ip_stage_row_bytes(s));
}

/* Where a region of result k goes in host memory. */
static inline char *ip_evaluation_place(const evaluation *e, int k, const ip_region *r)
{
    return (char *)e->hosts[k] + (ip_stage_first_byte(e->plan->outputs[k], r) - e->host_first);
}

/* ---- evaluate.c -------------------------------------------------------------------------- */

/* From wanted: which stages are needed, and what of them. */
void ip_evaluation_infer(evaluation *e);
bool ip_evaluation_needs(const evaluation *e, const ip_kernel *k);
/* The part of its domain that a kernel walks to make what is needed of its outputs. */
ip_region ip_evaluation_region(const evaluation *e, const ip_kernel *k);
/* What it takes, for whoever tells how far an evaluation is. */
double ip_evaluation_kernel_work(const evaluation *e, const ip_kernel *k);
/* An upper bound of what a run with the current demand holds at once on the device. */
uint64_t ip_evaluation_bytes(const evaluation *e);
/* What is needed of a source in the device's memory, in its binding. */
imgpar_status ip_evaluation_bind_source(evaluation *e, const ip_stage *s, ip_error *err);
/* From now on a source has that value, which is taken over; NULL: none. For plans that are run again. */
void ip_evaluation_change_source(evaluation *e, ip_stage *s, ip_value *takes);
/* A source's value; borrowed. */
imgpar_status ip_evaluation_source(evaluation *e, const ip_stage *s, ip_value **out, ip_error *err);
/* Work that interpreting the stages is, of the unit of progress (progress.h). */
double ip_ref_work(const ip_ir *ir);
/* Its results, computed by the interpreter. */
imgpar_status ip_evaluation_run_on_ref(evaluation *e, ip_value **values, ip_error *err);
/* Runs the kernels that make what is needed; the bindings keep it until ip_evaluation_unbind(). */
imgpar_status ip_evaluation_run_kernels(evaluation *e, ip_error *err);
void ip_evaluation_unbind(evaluation *e);
/* The value of a result that was made, or of a source; new. */
imgpar_status ip_evaluation_take(evaluation *e, const ip_stage *s, ip_value **out, ip_error *err);

/* ---- windows.c --------------------------------------------------------------------------- */

/* Whether rows of the source may be read as they are needed, rather than all of it decoded. */
bool ip_evaluation_may_window(const evaluation *e, const ip_stage *s);
/* What strips need of a source. */
typedef struct ip_needed_rows {
    int64_t end;    /* one past the last row that any strip needs */
    int64_t most;   /* the most rows that one strip needs */
    bool goes_back; /* a strip begins before the one before it */
} ip_needed_rows;
/* Opens a window, whose rows are decoded ahead of who asks for them. */
imgpar_status ip_evaluation_open_window(evaluation *e, const ip_stage *s, const ip_needed_rows *rows, ip_error *err);
/* Decodes the source whole, in place of a window, unless that is above the limit on pixels. */
imgpar_status ip_evaluation_decode_whole(evaluation *e, const ip_stage *s, ip_error *err);
/* Of sources that are too large to be kept, and may be read by rows, few are needed at once. */
bool ip_evaluation_holds_little(const evaluation *e);
/* Puts the rows that are needed of a source with a window into its binding. */
imgpar_status ip_evaluation_bind_window(evaluation *e, const ip_stage *s, ip_error *err);
/* Of a source that is too large to be kept, of which few rows are needed: gives it a window, or takes it back where
 * rows before it are needed. */
imgpar_status ip_evaluation_window_for_part(evaluation *e, const ip_stage *s, ip_error *err);
/* Closes all windows, whose sources are to be decoded again. */
void ip_evaluation_drop_windows(evaluation *e);
/* Closes all windows; run: how the evaluation went. What they warn of is told. */
imgpar_status ip_evaluation_end_windows(evaluation *e, imgpar_status run, ip_error *err);

/* ---- strips.c ---------------------------------------------------------------------------- */

/* Wants the results from one fraction to another, and infers what is needed for them. */
void ip_evaluation_want(evaluation *e, double from, double to);
/* As ip_evaluation_run_part(), but that windows of sources stay open for the parts behind it. */
imgpar_status ip_evaluation_part(evaluation *e, double from, double to, void *const *hosts, ip_error *err);
/* What a fold then sees of what it folds: a part where it is asked for, everything where others need it. */
ip_region ip_evaluation_seen(const evaluation *e, const ip_stage *fold);

/* ---- looks.c ----------------------------------------------------------------------------- */

/* What is left of the request when its folds are known, where these can be computed in parts of what they see; *rest is
 * NULL where they cannot. */
imgpar_status ip_evaluation_plan_rest(const evaluation *e, const ip_request *q, evaluation **rest, ip_error *err);
/* Computes the folds that rest reads. */
imgpar_status ip_evaluation_look(evaluation *rest, const ip_request *q, ip_error *err);

/* ---- spill.c ----------------------------------------------------------------------------- */

/* Kernel by kernel, in boxes that fit; what they make is kept in host memory. */
imgpar_status ip_evaluation_run_spilled(evaluation *e, const ip_request *q, ip_value **values, ip_error *err);

/* ---- tier.c ------------------------------------------------------------------------------ */

/* Before *e, which is planned for kernels, is run: puts one that is planned for the interpreter in its place, and sets
 * use_ref, where that is to compute. */
void ip_tier_choose(imgpar_context *ctx, ip_request *q, ip_evaluation **e);

/* ---- totals.c ---------------------------------------------------------------------------- */

/* Why the folds that are asked for cannot be computed in parts; NULL: they can. */
const char *ip_evaluation_folds_uncut(const evaluation *e, bool is_placed);
/* The results, which are folds, of more than fits the device. */
imgpar_status ip_evaluation_run_folds(evaluation *e, const ip_request *q, ip_value **values, ip_error *err);
/* As ip_evaluation_run_part(): each half by itself. part is an evaluation of totals. */
imgpar_status ip_evaluation_fold_halves(evaluation *part, double from, double to, void *const *hosts, ip_error *err);

#endif
