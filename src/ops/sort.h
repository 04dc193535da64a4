/* SPDX-License-Identifier: MIT */
/* Sorting between its lowering (stages_sort.c) and its meaning on the host (reference_sort.c). */
#ifndef IP_OPS_SORT_H
#define IP_OPS_SORT_H

#include "graph/array.h"
#include "ir/opaque.h"

/* What stands in ip_opaque.sizes: rows of n elements, one after the other. */
enum {
    IP_SORT_ROWS,
    IP_SORT_N,
    IP_SORT_INDICES, /* 1: where the elements stood, i32 */
    IP_SORT_DESCENDING,
    IP_SORT_ROWS_PER_Y /* rows of the domain hold so many; 0: it cannot be cut */
};

/* The axis that the node sorts along, counted from the front. */
int ip_sort_axis(const imgpar_array *node);
struct ip_lower;
/* Where the n elements of a stage, in row-major order, stand in ascending order: a stage of its dims, i32. NULL (and
 * ir->failed) without memory. */
ip_stage *ip_sort_order(struct ip_lower *l, ip_stage *stage, int64_t n);
imgpar_status ip_sort_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask, void *user);

#endif
