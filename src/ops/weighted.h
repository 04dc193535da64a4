/* SPDX-License-Identifier: MIT */
/*
 * A weighted sum over a window: what convolutions, Gaussians and derivatives are
 * made of. One pass is one stage; separable kernels are two passes.
 */
#ifndef IP_OPS_WEIGHTED_H
#define IP_OPS_WEIGHTED_H

#include "ops/lower.h"

typedef struct ip_weights {
    int rows, cols;  /* odd; the middle one belongs to the element itself */
    const double *w; /* row-major */
    bool symmetric;  /* equal weights at both ends are one kernel argument */
    /* of integers, from 0 to 32767: as those of floats, not part of the program. A symmetric line of them has its
     * middle weight halved, since that element is added to itself */
    bool are_arguments;
} ip_weights;

typedef struct ip_weighted {
    ip_lower *l;
    ip_stage *stage;
    int border;
    ip_expr *cval; /* of the stage's dtype, where the border is constant */
    /* of the sum. Integers: the weights are whole and, unless they are arguments, part of the program; the caller chose
     * a dtype that holds every partial sum. Floats: an fma() chain, top row first, left to right; weights are arguments
     * of the kernel, or a table above IP_UNROLLED_TAPS */
    imgpar_dtype dtype;
    ip_weights weights;
    ip_expr *const *at; /* z y x c of the element under the middle; NULL: the node's own */
} ip_weighted;

ip_expr *ip_weighted_sum(const ip_weighted *p);
/* The sum where every element is the node's cval: what lies beyond the edges of a first pass. NULL without cval. */
ip_expr *ip_weighted_cval(const ip_weighted *p);
/* The smallest of u16 i16 i32 i64 that holds every partial sum of elements within [lo, hi]; *least, *most get the
 * bounds. F64: none. */
imgpar_dtype ip_weighted_dtype(const ip_weights *weights, double lo, double hi, double *least, double *most);
/* What becomes of a sum of whole numbers, of I32: ((sum + start) >> shift) + offset, saturating. */
typedef struct ip_rounding {
    int64_t start, offset;
    int shift;
    imgpar_dtype dtype;
} ip_rounding;
/* All of r are arguments of the kernel but the dtype. */
ip_expr *ip_lower_rounded(ip_lower *l, ip_expr *sum, const ip_rounding *r);
/* n / d for whole d > 0, rounded half to even. */
ip_expr *ip_lower_divide_even(ip_lower *l, ip_expr *n, int64_t d);

#endif
