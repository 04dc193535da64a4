/* SPDX-License-Identifier: MIT */
/*
 * What was decided before a graph is planned: of branches, nodes of a row with IP_OP_BRANCH whose condition is one
 * number, which input stands for the node. Planned is then that input alone (run/branches.c, Note [Branches]).
 */
#ifndef IP_GRAPH_CHOICES_H
#define IP_GRAPH_CHOICES_H

#include "graph/array.h"

typedef struct ip_choice {
    const imgpar_array *node; /* borrowed */
    int taken;                /* the number of an input, above 0: input 0 is the condition; 0: it stays a select */
} ip_choice;

typedef struct ip_choices {
    ip_choice *list; /* in the order of their deciding */
    size_t n, capacity;
} ip_choices;

imgpar_status ip_choices_add(ip_choices *choices, const imgpar_array *node, int taken, ip_error *err);
/* NULL: the node is not listed. choices NULL is legal. */
const ip_choice *ip_choices_find(const ip_choices *choices, const imgpar_array *node);
/* The same as the number of the input; 0: nothing was decided. */
int ip_choices_taken(const ip_choices *choices, const imgpar_array *node);
bool ip_choices_same(const ip_choices *a, const ip_choices *b);
void ip_choices_free(ip_choices *choices);

#endif
