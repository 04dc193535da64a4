/* SPDX-License-Identifier: MIT */
/*
 * Plans that a context keeps for graphs that it meets again: plans.c, Note [Kept plans].
 *
 *     ip_kept_plan *kept = ip_plans_take(ctx, request, &hash);
 *     if (kept) st = ip_kept_plan_begin(kept, ctx, request, &evaluation, err);
 *     ... the evaluation runs ...
 *     ip_plans_put(ctx, kept, may_keep);
 */
#ifndef IP_RUN_PLANS_H
#define IP_RUN_PLANS_H

#include "base/status.h"
#include "graph/array.h"

#include <stdint.h>

struct ip_evaluation;
struct ip_request;

typedef struct ip_kept_plan ip_kept_plan;

/* Of a context, whose lock guards them. */
enum { IP_KEPT_PLANS = 8, IP_MET_GRAPHS = 32 };
typedef struct ip_plans {
    ip_kept_plan *kept[IP_KEPT_PLANS]; /* the one that was used last first; NULL behind the last */
    uint64_t met[IP_MET_GRAPHS];       /* hashes of graphs without a plan, in turn */
    unsigned n_met;
} ip_plans;

/* The plan that is kept for the graph of a request, or a new one, without an evaluation, where the graph is met again;
 * NULL: neither. It is nobody else's until it is put back. *hash: of the graph, 0 where no plan of it may be kept. */
ip_kept_plan *ip_plans_take(imgpar_context *ctx, const struct ip_request *request, uint64_t *hash);
/* Kernels have computed a graph of that hash. */
void ip_plans_meet(imgpar_context *ctx, uint64_t hash);
/* Its evaluation, planned if it has none, with the arrays that the request's graph is made of. It belongs to kept. */
imgpar_status ip_kept_plan_begin(ip_kept_plan *kept, imgpar_context *ctx, const struct ip_request *request,
                                 struct ip_evaluation **evaluation, ip_error *err);
/* Lets go of these arrays and keeps the plan, if it may; else frees it. NULL is legal. */
void ip_plans_put(imgpar_context *ctx, ip_kept_plan *kept, bool may_keep);
/* Frees all that are kept, before the devices are closed. */
void ip_plans_clear(ip_plans *plans);

#endif
