/* SPDX-License-Identifier: MIT */
/*
 * Complex numbers as pairs of real expressions (graph/array.h, Note [Complex numbers]). A lowering function of
 * complex numbers computes both parts of an element from those of its inputs:
 *
 *     ip_complex a = ip_complex_in(l, 0);
 *     return ip_complex_map(l, (ip_complex){ .re = a.re, .im = negative(l, a.im) });
 */
#ifndef IP_OPS_COMPLEX_H
#define IP_OPS_COMPLEX_H

#include "ops/build.h"
#include "ops/lower.h"

typedef struct ip_complex {
    ip_expr *re, *im;
} ip_complex; /* both of the dtype of the numbers' parts; im NULL: a real number */

/* In a stage that holds a node of complex numbers: which part of its number an element is, i32: 0 real, 1 imaginary. */
ip_expr *ip_complex_part(ip_lower *l);
/* That part of z. */
ip_expr *ip_complex_choose(ip_lower *l, ip_complex z);
/* The element of input k at the same place, its parts of the dtype in which the node computes; one channel, or one
 * element, broadcasts. */
ip_complex ip_complex_in(ip_lower *l, int k);
/* A stage of the node, which is complex, of z, or of that part of it which an element is. */
ip_stage *ip_complex_map(ip_lower *l, ip_complex z);
ip_stage *ip_complex_map_part(ip_lower *l, ip_expr *part);

/* Both as operators and abs() have them. */
ip_complex ip_complex_product(ip_lower *l, ip_complex a, ip_complex b);
ip_expr *ip_complex_length(ip_lower *l, ip_complex a);

/* ---- operators and functions -------------------------------------------------------------- */

/* Whether one of its inputs is complex. */
bool ip_complex_has_input(const imgpar_array *node);
/* Whether an operator or element-wise function computes with complex numbers: it has a complex input, or makes some. */
bool ip_complex_is_call(const imgpar_array *node);
/* Sets its dtype and range: COMPLEX128 or F64 where an operand is one of these, else COMPLEX64 or F32; or BOOL. */
void ip_complex_infer(imgpar_array *node);
ip_stage *ip_complex_stage(ip_lower *l);
/* ---- linear rows ------------------------------------------------------------------------------ */

/* A new array that stands for a call of a row with IP_OP_LINEAR, which has complex inputs and infer() has accepted. */
imgpar_array *ip_complex_linear(const imgpar_array *call, const ip_arg *args, int n);

/* Fails: input k of the node is complex, and nothing to it. */
imgpar_status ip_complex_refuse(const imgpar_array *node, int k, ip_error *err);

#endif
