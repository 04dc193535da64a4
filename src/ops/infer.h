/* SPDX-License-Identifier: MIT */
/* What the rules of types and shapes share: broadcasting, messages about operands. */
#ifndef IP_OPS_INFER_H
#define IP_OPS_INFER_H

#include "graph/array.h"
#include "ops/families.h"
#include "ops/row_functions.h"

/* Sets the node's rank, shape and space by broadcasting its own inputs first..n-1 (infer.c, Note [Broadcasting]). Names
 * the two that do not fit. */
imgpar_status ip_infer_broadcast(imgpar_array *node, int first, ip_error *err);
/* Which axis of the result an operand's axis is. */
int ip_broadcast_axis(const ip_type *operand, const ip_type *result, int axis);
/* Whether all inputs are values that bend, and not all of them literals. */
bool ip_infer_bends(const imgpar_array *node);
/* "640x480", volumes "640x480x10", into buf of at least 64 bytes; returns buf. */
char *ip_size_text(const ip_type *type, char *buf);
/* The dtype of a named element-wise operation: its first input's that is no literal number. */
imgpar_dtype ip_infer_named_dtype(const imgpar_array *node);
/* The dtype in which all inputs of an operator meet. */
imgpar_dtype ip_infer_common_dtype(const imgpar_array *node);
/* That of their products, which is wider for integers of 16 bits. */
imgpar_dtype ip_infer_product_dtype(const imgpar_array *node);
/* Refuses 64-bit integers, which filters do not compute. */
imgpar_status ip_infer_refuse_wide(const imgpar_array *node, ip_error *err);
/* Whether the weights that are input 1 have planes: three axes, and input 0 is a volume. A picture of one channel has
 * none. */
bool ip_convolution_has_planes(const imgpar_array *node);
/* Planes, rows and columns of the weights that are input 1; false: its shape is that of no weights for input 0. */
bool ip_convolution_sides(const imgpar_array *node, int64_t sides[3]);
/* The node's type and range become its first input's, with cval in the range where the border is constant. */
void ip_infer_copy(imgpar_array *node);
/* Refuses to read input 0 along a dim without elements, unless what is made has none or border=constant says what it
 * reads. */
imgpar_status ip_infer_refuse_reads_of_nothing(const imgpar_array *node, int64_t extent, ip_error *err);
/* Refuses arrays that are not of one shape. */
imgpar_status ip_check_one_shape(const imgpar_array *node, ip_error *err);
/* The first input is an image of one channel, or of two of which the second is alpha; another has its height and width,
 * and one channel. */
imgpar_status ip_check_one_channel(const imgpar_array *node, ip_error *err);
/* How many numbers a colour has that a written row is given: its picture's channels but alpha, or those it makes. */
int64_t ip_colours_taken(const imgpar_array *node);
/* Input 0 is an image, the last input a mask of its size; others are images of that size. */
imgpar_status ip_check_masked(const imgpar_array *node, ip_error *err);
/* Refuses two arrays that are not of one shape or, where both have a white, of one white. */
imgpar_status ip_check_alike(const imgpar_array *node, ip_error *err);
/* Refuses a parameter "connectivity" that is neither 4 nor 8, nor, where the row takes volumes and this is one, 6, 18
 * or 26. */
imgpar_status ip_check_connectivity(const imgpar_array *node, ip_error *err);
/* Gives type these extents, keeping its rank where the shape then still means them. */
void ip_type_set_dims(ip_type *type, const int64_t dims[4]);
/* The leaf that decodes an encoded JPEG at 1/shrink of its sides, a handle; NULL: leaf is no such one, or memory is
 * short. */
imgpar_array *ip_leaf_shrunk(const imgpar_array *leaf, int shrink);
/* The range of what is chosen of inputs a and b, each in the node's dtype. */
ip_range ip_infer_chosen_range(const imgpar_array *node, int a, int b);
bool ip_is_wide_integer(imgpar_dtype dtype); /* i64, u64 */

#endif
