/* SPDX-License-Identifier: MIT */
/* Sums and extremes at given places, between their lowering (stages_scatter.c) and their meaning on the host
 * (reference_scatter.c). */
#ifndef IP_OPS_SCATTER_H
#define IP_OPS_SCATTER_H

#include "ir/opaque.h"
#include "ops/families.h"

struct ip_lower;

/*
 * Note [Blocks of a scatter]
 * n values, or rows of them, are added to m elements, each where its index says. The values are cut into blocks; each
 * block is summed by itself from 0, one value after the other; then the blocks' sums are added to the base in their
 * order. How long a block is depends on n and m alone, so floats are the same for all who compute it.
 * Extremes are taken in the same way; NaN counts for nothing, and is what there is of floats before the first one. */
enum { IP_SCATTER_BLOCK = 16384, IP_SCATTER_PER_ELEMENT = 2 };
static inline int64_t ip_scatter_block(int64_t m)
{
    return m < IP_SCATTER_BLOCK / IP_SCATTER_PER_ELEMENT ? IP_SCATTER_BLOCK : m * IP_SCATTER_PER_ELEMENT;
}

/* What stands in ip_opaque.sizes. */
enum {
    IP_SCATTER_N,         /* indices */
    IP_SCATTER_ROWS,      /* rows of the result */
    IP_SCATTER_WIDTH,     /* elements of a row */
    IP_SCATTER_ONE_VALUE, /* 1: one value serves all */
    IP_SCATTER_HAS_BASE,  /* 1: input 2 is what is added to, else zeros */
    IP_SCATTER_FOLD       /* an ip_scatter_fold */
};
enum { IP_SCATTER_INDICES, IP_SCATTER_VALUES, IP_SCATTER_BASE }; /* inputs: i32; of the opaque's dtype */

/* A stage of these dims and the dtype of values, f32 or f64: each of values, a stage of the size of places, added to 0
 * where places, i32 in row-major order, tells; beyond the end it is not added. */
ip_stage *ip_scatter_sum(struct ip_lower *l, const int64_t dims[4], ip_stage *places, ip_stage *values);

/* What such stages are; compile/by_key.c makes folds of some. */
extern const ip_opaque_kind ip_scatter_kind;

imgpar_status ip_scatter_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                 void *user);

#endif
