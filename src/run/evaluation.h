/* SPDX-License-Identifier: MIT */
/*
 * One evaluation on one device: a plan and what it needs to run. evaluate.c makes and runs them; where a context has
 * several devices, share.c asks what an evaluation is like and has several of them run parts of the same results.
 *
 *     ip_evaluation *e;
 *     st = ip_evaluation_new(ctx, device, &request, &e, err);
 *     if (!st) st = ip_evaluation_run(e, values, err);
 *     ip_evaluation_free(e);
 *
 * An evaluation belongs to one thread at a time.
 */
#ifndef IP_RUN_EVALUATION_H
#define IP_RUN_EVALUATION_H

#include "compile/plan.h"
#include "run/evaluate.h"

typedef struct ip_evaluation ip_evaluation;

/* Where the rows of one result go, a strip after the other, where it is computed so. */
typedef struct ip_row_taker {
    /* Before the first strip. Where has_begun is not set then, the taker cannot, and the result is to be a value. */
    imgpar_status (*begin)(void *user, int64_t n_rows, size_t row_bytes, int64_t strip_rows, ip_error *err);
    /* Waits until there is room for the strip whose first row is y: *memory. */
    imgpar_status (*place)(void *user, int64_t y, void **memory, ip_error *err);
    /* The rows before y are there. */
    imgpar_status (*made)(void *user, int64_t y, ip_error *err);
    void *user;
    bool has_begun; /* rows go there, and there is no value */
    /* Of one that has begun, where an evaluation on another device goes on. */
    int64_t strip_rows, n_made;
} ip_row_taker;

/* What is asked for: arrays, none of them an error. */
typedef struct ip_request {
    imgpar_array *const *arrays;
    size_t n;
    const imgpar_options *options;
    bool use_ref;
    bool may_interpret;   /* not only because use_ref says so: Note [Tiers] in tier.c */
    bool is_looked_at;    /* all numbers below the arrays: usable.c */
    void *dst;            /* where the one result is wanted in host memory; NULL: anywhere */
    struct ip_step *step; /* where its plan is kept (evaluate.h); NULL: nowhere */
    ip_row_taker *taker;  /* where the rows of the one result may go instead; NULL: nowhere */
    /* What of the arrays; keep_stages and steps are told by use_ref and step. choices NULL: nobody looked for any. */
    ip_goal goal;
} ip_request;

/* Compiles the request for device, which may be NULL: for the reference interpreter. The loops below the arrays have
 * been run. */
imgpar_status ip_evaluation_new(imgpar_context *ctx, ip_device *device, const ip_request *request, ip_evaluation **out,
                                ip_error *err);
void ip_evaluation_free(ip_evaluation *e); /* NULL is legal */
/* From now on polls, warnings and events go there. */
void ip_evaluation_report_to(ip_evaluation *e, const imgpar_options *options);

/* Computes everything that was requested; values[k] gets the value of the k-th array, a new reference, or stays NULL
 * where its rows went to the taker. */
imgpar_status ip_evaluation_run(ip_evaluation *e, const ip_request *request, ip_value **values, ip_error *err);
/* Computes the results from one fraction of their rows (volumes: of their planes) to another, into hosts[k], which has
 * room for all of the k-th one. Neighbouring parts meet exactly. Folds see these rows of what they fold. */
imgpar_status ip_evaluation_run_part(ip_evaluation *e, double from, double to, void *const *hosts, ip_error *err);

/* Operations on elements that such a part takes, about; from 0 to 1: that everything takes. */
double ip_evaluation_work(ip_evaluation *e, double from, double to);
/* A number for the nodes of the graph, the same for all sizes and parameters. */
uint64_t ip_evaluation_hash(const ip_evaluation *e);
/* Why the results cannot be cut into parts, as "a result has one row"; NULL: they can. is_placed: by the user, by
 * weights. */
const char *ip_evaluation_uncut(const ip_evaluation *e, bool is_placed);
/* Whether its results are folds, so that parts of them, of requests with `totals`, are put together by
 * ip_evaluation_combine(). */
bool ip_evaluation_folds(const ip_evaluation *e);
/* Host memory for the results of such a part, by array; NULL without memory. */
void **ip_totals_new(const ip_evaluation *part);
void ip_totals_free(const ip_evaluation *part, void **totals); /* NULL is legal */
/* The k-th result from those of n parts, in their order. */
imgpar_status ip_evaluation_combine(const ip_evaluation *e, size_t k, const void *const *totals, size_t n, void *out,
                                    ip_error *err);
/* Whether the device can do what the plan asks for: IMGPAR_E_UNSUPPORTED where not. */
imgpar_status ip_evaluation_check_device(const ip_evaluation *e, const ip_device *device, ip_error *err);
/* The devices that can run it, as bits by their number in the context. */
unsigned ip_evaluation_may(const ip_evaluation *e);
/* Those, likewise, that alone have something that it reads, in memory which they share with nobody. */
unsigned ip_evaluation_home(const ip_evaluation *e);
/* Whether it is a step of a loop: the values that it reads were made by the step before. */
bool ip_evaluation_loops(const ip_evaluation *e);
/* Decodes the sources that are needed. */
imgpar_status ip_evaluation_decode(ip_evaluation *e, ip_error *err);
/* What from has decoded is to's too; they are of the same request. */
void ip_evaluation_lend(const ip_evaluation *from, ip_evaluation *to);
/* A line on how the request is computed where it does not fit the context's one device; none where it does. */
imgpar_status ip_evaluation_explain_memory(imgpar_context *ctx, const ip_request *request, ip_str *out, ip_error *err);
/* Whether nothing that is read lies in the n bytes from dst on. */
bool ip_evaluation_spares(const ip_evaluation *e, const void *dst, size_t n);

#endif
