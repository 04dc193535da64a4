/* SPDX-License-Identifier: MIT */
/*
 * Walks over graphs, without recursion, since graphs may be deep: the nodes still to be looked at, as a stack, and
 * those that were met, with a note on each.
 *
 *     ip_walk w = { 0 };
 *     st = ip_walk_push(&w, root, false, err);
 *     while (!st && w.depth > 0) {
 *         imgpar_array *node = w.stack[--w.depth].node;
 *         bool first = false;
 *         if (!ip_walk_meet(&w, node, &first)) st = ip_fail_memory(err, "...");
 *         else if (first) st = ip_walk_push_all(&w, node->inputs, node->n_inputs, err);
 *     }
 *     ip_walk_free(&w);
 */
#ifndef IP_RUN_WALK_H
#define IP_RUN_WALK_H

#include "graph/array.h"

typedef struct ip_visit {
    imgpar_array *node; /* NULL: free */
    unsigned mark;      /* by whoever walks */
} ip_visit;

typedef struct ip_walk {
    ip_visit *seen; /* a hash table of a power of two */
    size_t size, used;
    struct {
        imgpar_array *node;
        bool is_left; /* what is below it was looked at */
    } * stack;
    size_t depth, capacity;
} ip_walk;

void ip_walk_free(ip_walk *w);
imgpar_status ip_walk_push(ip_walk *w, imgpar_array *node, bool is_left, ip_error *err);
imgpar_status ip_walk_push_all(ip_walk *w, imgpar_array *const *nodes, int n, ip_error *err);
/* *first: the node was not met before. What is noted of it is returned, until the next call; NULL without memory. */
ip_visit *ip_walk_meet(ip_walk *w, imgpar_array *node, bool *first);
bool ip_walk_was_met(const ip_walk *w, const imgpar_array *node);
/* What was noted of a node that was met; of another one, a free place, until the next call of ip_walk_meet(). */
ip_visit *ip_walk_note(const ip_walk *w, const imgpar_array *node);

#endif
