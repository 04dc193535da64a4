/* SPDX-License-Identifier: MIT */
/* Rank filters between their lowering (stages_rank.c) and their meaning on the host (reference_rank.c). */
#ifndef IP_OPS_RANK_H
#define IP_OPS_RANK_H

#include "ir/opaque.h"
#include "ops/element.h"

/* What stands in ip_opaque.sizes. The input has a margin, as far as the window reaches on each side. The list is of
 * ip_element_run: the runs of the window's rows, then those of its columns. */
enum {
    IP_RANK_RX, /* how far the window reaches to the left and to the right, */
    IP_RANK_RY, /* up and down */
    IP_RANK_RUNS,
    IP_RANK_COLUMN_RUNS,
    IP_RANK_COUNT, /* elements of the window */
    IP_RANK_K,     /* how many of them are below the one that is taken */
    IP_RANK_MODE   /* 1: not the element of a rank but the most frequent one, of several the least */
};
enum { IP_RANK_MOST_SIDE = 255 }; /* of a window, whose elements 16 bits count */

/* Runs of the window's rows. */
static inline const ip_element_run *ip_rank_runs(const ip_opaque *o) { return (const ip_element_run *)o->list; }
/* Whether all elements around are in the window. */
static inline bool ip_rank_is_full(const ip_opaque *o)
{
    return o->sizes[IP_RANK_COUNT] == (2 * o->sizes[IP_RANK_RX] + 1) * (2 * o->sizes[IP_RANK_RY] + 1);
}
struct ip_lower;
/* The median of a window that is no square, or a large one. */
ip_stage *ip_stages_rank_median(struct ip_lower *l);
imgpar_status ip_rank_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask, void *user);

#endif
