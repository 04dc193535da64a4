/* SPDX-License-Identifier: MIT */
/*
 * Views: rows that move elements and compute nothing. A chain of them is one index map, whatever its
 * length, because each is lowered by reading through the views below it:
 *
 *   - where every index is a sum of coordinates times strides (slice, permute, reverse, broadcast, a
 *     reshape that only splits axes, ...) the strides are multiplied out as numbers: ip_affine;
 *   - else (a reshape that joins axes, repeat, pad, concatenate, ...) the indices are put in for the
 *     coordinates of the view below.
 *
 * Views name axes as their users do, by the array's own shape; ip_type_axis_dim() tells which of the four
 * dims of a stage such an axis is. Strides and extents are arguments of the kernel, except along the
 * channels, which are part of the program.
 *
 * Note [Empty arrays]
 * An extent may be 0. Nothing is computed then, so indices and divisors need no care.
 */
#ifndef IP_OPS_VIEW_H
#define IP_OPS_VIEW_H

#include "ops/lower.h"

/* The element at (z, y, x, c) is base's at index d = offset[d] + sum of stride[d][k] times coordinate k. */
typedef struct ip_affine {
    ip_stage *base;
    int64_t offset[4];
    int64_t stride[4][4];
} ip_affine;

/* What a stage knows of how it moves elements, each part where it holds. */
typedef struct ip_view {
    ip_affine affine;   /* base NULL: its indices are no such sums */
    ip_stage *reshaped; /* the same elements in the same order; NULL: not so */
    ip_type type;       /* of reshaped */
} ip_view;

/* ---- shapes, for infer ---------------------------------------------------------------- */

enum { IP_MAX_AXES = IMGPAR_MAX_RANK };

/* An axis of an array of this rank, -1 being the last, into *axis: 0 and up. */
imgpar_status ip_axis_of(const imgpar_array *node, double number, int rank, int *axis, ip_error *err);
/* The error that a, of an operation of that name, has no such axis. */
imgpar_status ip_no_axis(const char *name, double number, const ip_type *a, ip_error *err);
/* The node's parameter "axis". */
imgpar_status ip_axis_param(const imgpar_array *node, int rank, int *axis, ip_error *err);
/* Whole numbers of a vector parameter, at most max of them; *n 0 where it is not given. */
imgpar_status ip_vector_whole(const imgpar_array *node, const char *param, int max, int64_t *out, int *n,
                              ip_error *err);
/* Sets the node's shape; refuses what has too many axes or elements. */
imgpar_status ip_shape_set(imgpar_array *node, int rank, const int64_t *shape, ip_error *err);
/* Type and range of the first input, with a new shape. Data is what an image becomes when its channels change. */
imgpar_status ip_infer_view(imgpar_array *node, int rank, const int64_t *shape, ip_error *err);

/* ---- index maps, for stages ------------------------------------------------------------- */

/* The coordinate along an axis of the node's shape. */
ip_expr *ip_axis_coord(ip_lower *l, int axis);
/* Into index, along the dims of an array of that type, from one index an axis; NULL, and along what has one element:
 * index stays as it is. */
void ip_axes_index(ip_lower *l, const ip_type *type, ip_expr *const at[IP_MAX_AXES], ip_expr *index[4]);
/* An extent or stride along one of the four dims, as an i32. */
ip_expr *ip_extent(ip_lower *l, int dim, int64_t value);
/* How far something is moved along z, y or x, from 0 up: an i32 that is always an argument. */
ip_expr *ip_offset(ip_lower *l, int64_t value);
/* Whether an element is none of the `before` first and `behind` last ones along a dim; NULL where both are 0. */
ip_expr *ip_inside(ip_lower *l, int dim, int64_t before, int64_t behind);
/* x div by and x mod by of a u32 or u64 x of at most most, along a dim; either may be NULL. */
void ip_extent_divide(ip_lower *l, int dim, ip_expr *x, double most, int64_t by, ip_expr **quotient, ip_expr **rest);
/* The node as an affine map of input k: m is from the node's coordinates to those of the input, its base not set. */
ip_stage *ip_view_affine(ip_lower *l, int k, const ip_affine *m);
/* A place along an axis as an argument, 0 too. */
ip_expr *ip_place(ip_lower *l, int64_t value);
/* The element of input k at one index an axis of its own shape (NULL: 0), all known to be inside; views below are
 * read through. bool stays bool. */
ip_expr *ip_view_read(ip_lower *l, int k, ip_expr *const at[IP_MAX_AXES]);
/* The node's stage with this element, which ip_view_read() made. */
ip_stage *ip_view_stage(ip_lower *l, ip_expr *value);
/* The same for a stage other than an input, of an array of that type. */
ip_expr *ip_view_read_stage(ip_lower *l, ip_stage *stage, const ip_type *type, ip_expr *const at[IP_MAX_AXES]);
ip_stage *ip_view_affine_stage(ip_lower *l, ip_stage *stage, const ip_affine *m);
/* The stage, or that which it is a reshape of: the same elements in the same order, in other dims. For kernels that
 * take elements by their number. */
ip_stage *ip_view_in_order(ip_stage *stage);

#endif
