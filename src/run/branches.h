/* SPDX-License-Identifier: MIT */
/* Branches: which side of a select is taken is decided before what it is part of is planned, where that saves work. */
#ifndef IP_RUN_BRANCHES_H
#define IP_RUN_BRANCHES_H

#include "graph/choices.h"
#include "run/evaluate.h"

/* A graph whose branches are looked for. */
typedef struct ip_branching {
    imgpar_array *const *arrays; /* borrowed */
    size_t n;
    imgpar_array *const *placeholders; /* which will have values: of a loop's step; else none */
    int n_placeholders;
} ip_branching;

/*
 * Decides the branches below the arrays of the graph: Note [Branches] in branches.c. *choices, which is empty before,
 * gets those that were decided; *kept, too, the values that the conditions were computed from and the rest needs as
 * well: to be released after the rest is computed. kept NULL: nothing may be kept, the plan of the rest being used
 * again. Loops below decide the branches of their steps themselves.
 */
imgpar_status ip_branches_decide(imgpar_context *ctx, const ip_branching *graph, const imgpar_options *options,
                                 ip_computing by, ip_choices *choices, ip_held *kept, ip_error *err);
/* The branches that are decided first, those in `choices` being decided: *found from ip_alloc, borrowed ones. */
imgpar_status ip_branches_find(const ip_branching *graph, const ip_choices *choices, imgpar_array ***found,
                               size_t *n_found, ip_error *err);
/* What the conditions of branches are computed from by kernels; the interpreter does the rest. */
imgpar_status ip_branches_hold_heads(imgpar_array *const *branches, size_t n, ip_held *held, ip_error *err);

#endif
