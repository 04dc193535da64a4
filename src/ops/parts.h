/* SPDX-License-Identifier: MIT */
/*
 * A function of the user as one expression. around() and the steps of an element apply a function once, to nodes that
 * stand for a neighbour or for what is carried. The stages that lowering makes of it are parts (`of_taps` in
 * ir/stage.h): they are put together here, and dropped when all is lowered.
 */
#ifndef IP_OPS_PARTS_H
#define IP_OPS_PARTS_H

#include "ops/lower.h"

enum { IP_PARTS_EXTENTS = 8 };

typedef struct ip_parts {
    ip_lower *l;
    const char *of;           /* what the parts are made of, for messages: "a neighbour" */
    const char *before, *end; /* why it is no such function, around `of` or without; NULL: it is one */
    int operations;           /* that were put in */
    ip_expr *home[4];         /* the element's place */
    ip_expr **made;           /* by stage id: what is wanted there, once it is made */
    int n_extents;
    struct {
        int64_t size;
        ip_expr *x;
    } extents[IP_PARTS_EXTENTS];
} ip_parts;

/* Without memory false. */
bool ip_parts_begin(ip_parts *p, ip_lower *l, const char *of);
/* The node's input k at the element's place, as broadcasting has it; bool as u8. */
ip_expr *ip_parts_input(ip_parts *p, int k);
/* Whether it is such a function; else fails: "<who> folds or sorts what it makes of a neighbour<advice>". */
bool ip_parts_fit(const ip_parts *p, const char *who, const char *advice);

#endif
