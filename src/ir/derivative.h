/* SPDX-License-Identifier: MIT */
/*
 * Derivatives of expressions, in reverse mode: from the cotangent of the result, which is how much it counts for, to
 * that of each of its loads. Cotangents are expressions again, simplified, fused and differentiated like anything else.
 *
 *     x = a[y, x] * a[y, x + 1],  cotangent g
 *  -> emit(a[y, x], g a[y, x + 1]) and emit(a[y, x + 1], g a[y, x])
 *
 * Whole numbers are taken for the numbers that they are: sums, differences and products of them have the derivatives of
 * real ones. Where a value does not change smoothly (comparisons, rounding, quotients of whole numbers, bits) its
 * derivative is 0, and nothing is emitted for its operands. Where a derivative is infinite (the root of 0) 0 is
 * taken for it, since what stands before it is mostly 0 too. Of equal operands of a minimum or a maximum each has half,
 * of those of a network in one stage, as a median's, an equal part (derivative.c, Note [Networks of extremes]).
 */
#ifndef IP_IR_DERIVATIVE_H
#define IP_IR_DERIVATIVE_H

#include "ir/stage.h"

/* A window around a load: the cotangent is that at one of its taps. */
typedef struct ip_frame {
    int window, taps_y, taps_x;
    const struct ip_frame *outer; /* the window around it; NULL: none */
} ip_frame;

typedef struct ip_derivation {
    ip_ir *ir;
    /* Whether the value of a leaf, a LOAD or an ACC, is asked for. */
    bool (*wants)(const ip_expr *leaf, void *user);
    /* What a leaf's value counts for, in ip_x_smooth_dtype() of it; may be called several times for one. */
    void (*emit)(ip_expr *leaf, ip_expr *cotangent, const ip_frame *frame, void *user);
    /* x, of the element's own place, as a load of a stage that holds it. */
    ip_expr *(*keep)(ip_expr *x, void *user);
    void *user;
    const char *failure; /* what has no derivative here, a constant text; NULL: nothing failed */
} ip_derivation;

/* Emits for all leaves of root, seed being what root counts for. */
void ip_x_reverse(ip_derivation *d, ip_expr *root, ip_expr *seed);
/* In what cotangents of a dtype are computed: F64 for F64 and integers of 64 bits, else F32. */
imgpar_dtype ip_x_smooth_dtype(imgpar_dtype dtype);
/* Whether x depends on the taps of a window that is around it. */
bool ip_x_uses_window(ip_ir *ir, ip_expr *x, int window);

#endif
