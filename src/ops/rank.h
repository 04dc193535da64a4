/* SPDX-License-Identifier: MIT */
/* Rank filters between their lowering (stages_rank.c) and their meaning on the host (reference_rank.c). */
#ifndef IP_OPS_RANK_H
#define IP_OPS_RANK_H

#include "ir/opaque.h"

/* What stands in ip_opaque.sizes. The input has a margin of the radius on all four sides. */
enum {
    IP_RANK_RADIUS,
    IP_RANK_K,     /* how many elements of the window are below the one that is taken */
    IP_RANK_SHAPE, /* an ip_rank_shape */
    IP_RANK_MODE   /* 1: not the element of a rank but the most frequent one, of several the least */
};
/* The words of RANK_SHAPE in ops.def: a disc is where dx^2 + dy^2 <= radius^2, a diamond where |dx| + |dy| <= radius, a
 * cross where dx or dy is 0. All are symmetric, and as wide as they are high. */
typedef enum ip_rank_shape { IP_RANK_SQUARE, IP_RANK_DISC, IP_RANK_DIAMOND, IP_RANK_CROSS } ip_rank_shape;
enum { IP_RANK_MOST_SIZE = 255 }; /* of a window, whose elements 16 bits count */

/* Half the window's width in the row so far from its middle. */
int ip_rank_span(const int64_t *sizes, int by);
struct ip_lower;
/* The median of node's "size" and "shape". */
ip_stage *ip_stages_rank_median(struct ip_lower *l);
imgpar_status ip_rank_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask, void *user);

#endif
