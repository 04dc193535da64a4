/* SPDX-License-Identifier: MIT */
/*
 * What stands in a function that a row applies: around() to neighbours, a fold or a scan to what it carries, iterate()
 * to each element. Below such a row, values within the function are nobody's until it is applied; what is above it has
 * values again.
 */
#ifndef IP_RUN_APPLIED_H
#define IP_RUN_APPLIED_H

#include "graph/array.h"

/* Marks of walks, as bits that a walk's own may stand beside. */
enum {
    IP_APPLIED_FOLDED = 1 << 8,   /* what a fold or a scan carries, or an element of it */
    IP_APPLIED_AROUND = 1 << 9,   /* a neighbour, or its distance */
    IP_APPLIED_CARRIED = 1 << 10, /* what an element carries from step to step */
    IP_APPLIED = IP_APPLIED_FOLDED | IP_APPLIED_AROUND | IP_APPLIED_CARRIED
};

/* The node's own marks; of what stands for a value, one that has none yet. */
unsigned ip_applied_begins(const imgpar_array *node);
/* Those of what is below it that do not reach further up. */
unsigned ip_applied_ends(const imgpar_array *node);

#endif
