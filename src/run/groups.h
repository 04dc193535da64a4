/* SPDX-License-Identifier: MIT */
/* The arrays of one evaluation, in groups that have no work in common: each group can be computed by itself,
 * anywhere. */
#ifndef IP_RUN_GROUPS_H
#define IP_RUN_GROUPS_H

#include "graph/array.h"

typedef struct ip_groups {
    imgpar_array **arrays; /* borrowed; those of a group side by side */
    size_t *was;           /* by place in arrays: the place it had before */
    size_t *first;         /* group k is arrays[first[k]] to arrays[first[k + 1] - 1] */
    size_t n;
} ip_groups;

/* Fills *out, to be cleared by ip_groups_clear(), also on failure. */
imgpar_status ip_groups_find(imgpar_array *const *arrays, size_t n, ip_groups *out, ip_error *err);
void ip_groups_clear(ip_groups *groups);

#endif
