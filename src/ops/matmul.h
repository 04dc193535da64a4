/* SPDX-License-Identifier: MIT */
/* The product of matrices between its shapes (infer_arrays.c), its lowering (stages_matmul.c) and its meaning on the
 * host (reference_matmul.c). */
#ifndef IP_OPS_MATMUL_H
#define IP_OPS_MATMUL_H

#include "graph/array.h"
#include "ir/opaque.h"

/* A product of batches: outer x inner products of an m x k with a k x n matrix, row-major, one after the other. */
typedef struct ip_product {
    int64_t m, n, k;
    int64_t outer, inner;     /* extents of the two batch axes */
    int64_t a_outer, a_inner; /* matrices from one of a's to the next along them; 0 where a broadcasts */
    int64_t b_outer, b_inner;
    int64_t n_b; /* matrices of b */
} ip_product;

/* By NumPy's rules: an array of one axis is a row on the left and a column on the right. The result's type but for its
 * dtype in *type; false where the shapes do not fit. */
bool ip_product_of(const ip_type *a, const ip_type *b, ip_product *product, ip_type *type);

/* What stands in ip_opaque.sizes. */
enum {
    IP_MM_M,
    IP_MM_N,
    IP_MM_K,
    IP_MM_OUTER,
    IP_MM_INNER,
    IP_MM_A_OUTER,
    IP_MM_A_INNER,
    IP_MM_B_OUTER,
    IP_MM_B_INNER,
    IP_MM_N_B,
    IP_MM_METHOD, /* ip_mm_method */
    IP_MM_BY_ROWS /* 1: rows of the domain are rows of the product, so that it can be cut */
};
typedef enum ip_mm_method { IP_MM_REDUCE, IP_MM_BLOCKED, IP_MM_DIRECT } ip_mm_method;

imgpar_status ip_matmul_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                void *user);

#endif
