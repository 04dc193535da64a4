/* SPDX-License-Identifier: MIT */
/*
 * around(a, r, (p, q, dy, dx) -> expr, "sum"): folds what a function makes of each element and its neighbours.
 *
 * Note [Neighbourhoods]
 * The function was applied once, when the graph was built: to p, which is a itself, to q, a node "tap_read" of a, and
 * to dy and dx, nodes "tap". These stand on one node "taps", the neighbourhood, and so do all that have its radii: a
 * function that is used in two around() is computed once. What it gave is the input "value" of the node "around", whose
 * lowering puts the stages of the function together as one expression and folds that over the window
 * (ip_x_fold_taps()). So accumulators are in registers or beside them, whatever the number of neighbours, and the text
 * of the kernel holds the function once. Nothing of the function's stages is left.
 *
 * around() within the function of another one has taps of its own level: windows of one number never stand within each
 * other. In C every imgpar_x_taps() has (expressions.c), since nobody knows there what will be folded within what.
 */
#ifndef IP_OPS_AROUND_H
#define IP_OPS_AROUND_H

#include "graph/array.h"

typedef enum ip_around {
    IP_AROUND_SUM,
    IP_AROUND_MEAN,
    IP_AROUND_MIN,
    IP_AROUND_MAX,
    IP_AROUND_PRODUCT
} ip_around; /* the row's choices */

/* The radius of a node "taps" along dim 0, 1 or 2: z, y, x. */
static inline int ip_around_radius(const imgpar_array *taps, int dim)
{
    static const char *const names[] = { "depth", "height", "width" };
    return (int)ip_param_number(taps, names[dim]);
}

/* Whether neighbours that are farther away than the radius are left out. */
static inline bool ip_around_is_disc(const imgpar_array *taps) { return ip_param_number(taps, "shape") != 0; }

#endif
