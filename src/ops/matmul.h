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

/* A left factor that is read where it lies in a stage a: its rows are places of a box, planes of height x width, and
 * each row consists of pieces, runs of elements of a. The place [z y x] reads a, from plane z step[0] on, row y step[1]
 * and column x step[2], which is `stride` elements further; a piece begins `offset` elements behind that. What `leaves`
 * is 0 where plane, row or column, moved by the piece, is not within a. (compile/products.c) */
enum { IP_MM_PIECES = 64 };
typedef struct ip_mm_piece {
    int64_t steps; /* its elements of the row */
    int64_t move[3], offset;
    bool leaves;
} ip_mm_piece;
typedef struct ip_mm_view {
    int64_t height, width, stride[3], step[3], extent[3];
    int n_pieces;
    ip_mm_piece pieces[IP_MM_PIECES];
} ip_mm_view;

/* Whether a stage is a product that the blocked kernel may make, of all rows of a left factor and one matrix. */
bool ip_stage_may_read_view(const ip_stage *stage);
/* The left factor of a product in the shape that it had before it was reshaped; NULL: it was not. */
const ip_stage *ip_product_reshaped_left(const ip_opaque *product);
/* The product of a view of `from` with k rows of `right`, in place of `product`, with its m and n, as a stage of these
 * dims. NULL: k is too little, or (and ir->failed) memory is. */
ip_stage *ip_stage_product_of_view(ip_ir *ir, const ip_stage *product, const int64_t dims[4], ip_stage *from,
                                   const ip_mm_view *view, ip_stage *right, int64_t k);

imgpar_status ip_matmul_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                void *user);

#endif
