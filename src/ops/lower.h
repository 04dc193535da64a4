/* SPDX-License-Identifier: MIT */
/*
 * Lowering: from a node to stages. A row's lower() sees the node and its inputs' stages and returns the stage that
 * holds the node's value. The helpers here are what most rows need. Named operations keep their input's dtype, round to
 * nearest even and saturate. Places and extents are those of the array; what they are in a stage of complex numbers is
 * for ops/complex.h and ops/view.h.
 *
 *     static ip_stage *lower_invert(ip_lower *l) {
 *         ip_expr *x = ip_lower_in(l, 0);
 *         return ip_lower_map(l, ip_x_binary(l->ir, IP_X_SUB, ip_x_int(l->ir, x->dtype, 255), x));
 *     }
 */
#ifndef IP_OPS_LOWER_H
#define IP_OPS_LOWER_H

#include "graph/array.h"
#include "ir/stage.h"
#include "ops/row_functions.h"

typedef struct ip_lower {
    ip_ir *ir;
    const imgpar_array *node;
    ip_stage *const *in; /* the stages of node->inputs */
    int64_t dims[4];     /* of the node */
    int taken;           /* of a branch that is decided, the input that is its value (graph/choices.h); else 0 */
    imgpar_dtype dtype;  /* of what is made of it: the node's, but for sums that are not finished (ops/coverage.h) */
    struct ip_coverage *coverage; /* while colours are multiplied by alpha (ip_coverage_floats()); else NULL */
    imgpar_array *const *asked;   /* the arrays that are asked for together */
    size_t n_asked;
    ip_expr *folded_coords[IMGPAR_MAX_RANK]; /* of ip_axis_coord(), made once: equal arguments are not one expression */
    ip_error *err;
} ip_lower;

/* A coordinate of the node's domain, 0..3 = z y x c. */
ip_expr *ip_lower_coord(ip_lower *l, int dim);
/* Where input k is read for an element of the node: at the same place, or where broadcasting has it (infer.c, Note
 * [Broadcasting]). */
void ip_lower_place(ip_lower *l, int k, ip_expr *index[4]);
/* The element of input k at that place. Its own dtype (f16: f32). */
ip_expr *ip_lower_in(ip_lower *l, int k);
/* The element of any stage of the node's size at an offset, read by a border rule (IP_BORDER_*: dtype of cval is the
 * stage's). dz, dy, dx are i32 expressions. A stage with one channel broadcasts. */
ip_expr *ip_lower_read(ip_lower *l, ip_stage *stage, ip_expr *dz, ip_expr *dy, ip_expr *dx, int border, ip_expr *cval);
ip_expr *ip_lower_i32(ip_lower *l, int64_t value);
/* A number parameter as an expression of dtype: a kernel argument, or a load when an array was given for it. */
ip_expr *ip_lower_number(ip_lower *l, const char *param, imgpar_dtype dtype);
/* value converted to l->dtype by saturating, to nearest even, as a stage of the node's shape; of complex
 * it is the real part. */
ip_stage *ip_lower_map(ip_lower *l, ip_expr *value);
/* An intermediate stage of the node's shape with the dtype of value (which is never f16), noted for readers. */
ip_stage *ip_lower_stage(ip_lower *l, ip_expr *value, const char *note);
/* The node's "border" parameter and, for CONSTANT, its "cval" as an expression of dtype (else *cval NULL). */
int ip_lower_border(ip_lower *l, imgpar_dtype dtype, ip_expr **cval);
/* True where the element's channel is alpha (the last of 2 or 4 channels of an image that is not plain data):
 * NULL when the node has no alpha. */
ip_expr *ip_lower_is_alpha(ip_lower *l);

/* ---- further helpers ------------------------------------------------------------------ */

/* As ip_lower_in(), but numbers: bool as u8. */
ip_expr *ip_lower_value(ip_lower *l, int k);
/* As ip_lower_read(), bool as u8. */
ip_expr *ip_lower_read_value(ip_lower *l, ip_stage *stage, ip_expr *dz, ip_expr *dy, ip_expr *dx, int border,
                             ip_expr *cval);
/* A number the user wrote: an argument of the kernel, as ip_lower_argument() and ip_lower_whole() make them. */
ip_expr *ip_lower_literal(ip_lower *l, imgpar_dtype dtype, double value);
/* A white as a number of dtype, rounded to nearest even and saturated: those of depths are part of the program, others
 * arguments. */
ip_expr *ip_lower_white(ip_lower *l, imgpar_dtype dtype, double full);
/* An argument of the kernel, of which the program knows its class: its sign, whether its size is below 1, and the bits
 * that hold it. What is made of classes is what ranges decide, so most of them share a program. */
ip_expr *ip_lower_argument(ip_lower *l, imgpar_dtype dtype, double value);
/* The same of a CONST of an integer dtype, whose class is its sign and its bits, at least so many. */
ip_expr *ip_lower_whole(ip_lower *l, ip_expr *number, int bits);
enum { IP_LEVEL_BITS = 8 }; /* levels of bytes share a program */
/* A number parameter that may be one number a channel, too: the one for the element's channel. */
ip_expr *ip_lower_levels(ip_lower *l, const char *param, imgpar_dtype dtype);
/* value in one channel, else the other. */
ip_expr *ip_lower_of_channel(ip_lower *l, int channel, ip_expr *value, ip_expr *else_value);
/* The level of the element's channel, of up to four; arguments whose class, their sign and bits, is that of all. */
ip_expr *ip_lower_of_channels(ip_lower *l, imgpar_dtype dtype, const double *levels, int n);
/* Whether a op b, a comparison, of what meets in dtype: exact, too, of u64 with a signed integer, which none holds, and
 * of an integer with a float that has not all of its values. */
ip_expr *ip_lower_compare(ip_lower *l, ip_xop op, imgpar_dtype dtype, ip_expr *a, ip_expr *b);
/* value converted to dtype: to nearest even, saturating; bool: above one half. */
ip_expr *ip_lower_convert(ip_lower *l, imgpar_dtype dtype, ip_expr *value);
/* A MAP stage of any size and dtype; value has the dtype (f16: is f32). Coordinates in value are those of dims, which
 * are a stage's. */
ip_stage *ip_lower_stage_sized(ip_lower *l, const int64_t dims[4], imgpar_dtype dtype, ip_expr *value,
                               const char *note);
/* The user's function of reduce() and scan(), over ACC 0 and ACC 1 of dtype acc: inputs 1 and 2 of the node stand for
 * its arguments, input 3 is what it gives. Where it reads anything else: fails, NULL. */
ip_expr *ip_lower_function(ip_lower *l, imgpar_dtype acc);
/* What a load of a stage of one element reads, value being that element: beyond it what the border rule has. */
ip_expr *ip_lower_of_one(ip_ir *ir, const ip_expr *load, ip_expr *value);
/* The smallest of u16 i16 u32 i32 i64 that holds a sum of up to n elements of [lo, hi] and `extra` more; of floats that
 * to compute in. */
imgpar_dtype ip_lower_sum_dtype(imgpar_dtype dtype, double lo, double hi, double n, double extra);
/* sum / n: of integers to the nearest one, halves up; sum has room for n / 2 more. */
ip_expr *ip_lower_mean(ip_lower *l, ip_expr *sum, int64_t n);
/* The node's "init" in dtype, as it is. */
ip_expr *ip_lower_identity(ip_lower *l, imgpar_dtype dtype);
/* Fails with status and message; NULL, for returning. */
ip_stage *ip_lower_fail(ip_lower *l, imgpar_status status, const char *message);

#endif
