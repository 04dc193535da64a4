/* SPDX-License-Identifier: MIT */
/* scan() and reduce() of several states. */
#ifndef IP_LANG_STATES_H
#define IP_LANG_STATES_H

#include "lang/eval.h"
#include "ops/build.h"

/* The arguments, evaluated; borrowed. */
typedef struct ip_states_call {
    const ip_node *call;
    const ip_val *a, *init, *fn;
} ip_states_call;

/* Of a reduce() with a function. */
typedef struct ip_reducing {
    bool has_axes, keepdims, associative;
    unsigned axes; /* as bits */
} ip_reducing;

/* The dtype in which a fold carries what its function gives: that, but of sums, differences and products of integers
 * i64, as sum() has it, so that they do not wrap. */
imgpar_dtype ip_fold_dtype(const imgpar_array *body);
/* Whether init is a record or a tuple. */
bool ip_states_are(const ip_val *init);
/* Records or tuples of results. */
bool ip_states_scan(ip_eval *ev, const ip_states_call *c, const ip_scan_options *options, ip_val *out);
bool ip_states_reduce(ip_eval *ev, const ip_states_call *c, const ip_reducing *options, ip_val *out);

/* reduce.c: *a, an array, with the folded axes as the last one; and from it, once its last elements are the results of
 * an array of that type, these in their shape. */
bool ip_reduce_to_lines(ip_eval *ev, const ip_node *call, unsigned axes, ip_val *a);
bool ip_reduce_last(ip_eval *ev, const ip_node *call, const ip_type *type, unsigned axes, bool keepdims, ip_val *a);
/* n arrays folded together along axes, in an order that is free: join() makes p[n] of p[n] and the ones that follow,
 * q[n], and takes both. inits are what it does not change. */
typedef struct ip_joining {
    int n;
    const double *inits;
    bool (*join)(void *user, ip_val *p, ip_val *q);
    void *user;
} ip_joining;
bool ip_reduce_levels(ip_eval *ev, const ip_node *call, const ip_joining *joining, unsigned axes, bool keepdims,
                      ip_val *vals);

#endif
