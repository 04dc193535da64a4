/* SPDX-License-Identifier: MIT */
/*
 * Linear forms: what an element is, if it is a weighted sum of elements of other stages that may be rounded.
 *
 *     narrowed(((sum over k of weight[k] * value[k] + start) >> shift) + offset)
 *     narrowed(((sum over k of weight[k] * value[k] + start) div divisor) + offset)
 *
 * A value is one load, the sum of two, or (n_loads 0) anything else. One function finds the form, in whatever order
 * terms are added and wherever they are widened, before narrowing and after it. Who wants a kind of form
 * (compile/idioms.c, inline_choice.c, narrow.c, place_sums.c) looks at the fields:
 *
 *     ip_linear form;
 *     if (ip_linear_of(ir, stage->body, &form) && ip_linear_is_sum(&form))
 *         ... the element is form.terms[0].load[0] + form.terms[1].load[0] + ...
 *
 * The form of integers is exact: it is computed in `wide`, modulo 2^n for its n bits, and nothing narrower on the way
 * to it wraps. The form of floats tells what is added, not in which order.
 */
#ifndef IP_IR_LINEAR_H
#define IP_IR_LINEAR_H

#include "ir/expr.h"

enum { IP_LINEAR_TERMS = 128 };

typedef struct ip_linear_term {
    ip_expr *weight;       /* the same for all elements of a row, or an element of a table; NULL: 1 */
    ip_expr *value;        /* what it multiplies */
    ip_expr *load[2];      /* value is the sum of n_loads of these, widened */
    int n_loads;           /* 0: it is something else */
    const ip_expr *window; /* weight and value are summed over its taps; NULL: there is one product */
} ip_linear_term;

/* Start, shift and offset are the same for all elements of a row; NULL: there is none. */
typedef struct ip_linear {
    ip_linear_term terms[IP_LINEAR_TERMS]; /* in the order they are written */
    int n_terms;
    ip_expr *start, *shift, *offset;
    ip_expr *divisor;   /* a constant above 0; NULL: none, as where there is a shift */
    imgpar_dtype wide;  /* of the sum */
    imgpar_dtype dtype; /* of the element: another than wide only where it is narrowed */
    bool saturates;     /* it is narrowed by SATURATE; else by a cast, which all values fit */
} ip_linear;

/* The form of x into *out. False: x is of BOOL, a cast changes its value, or there are too many terms. */
bool ip_linear_of(ip_ir *ir, ip_expr *x, ip_linear *out);
/* Whether it is a sum of single loads and nothing else: no weights, start, rounding. */
bool ip_linear_is_sum(const ip_linear *form);

#endif
