/* SPDX-License-Identifier: MIT */
/*
 * Kernels by which samples between pixels are weighed: the parameter filter of rows that read at places (stages_at.c)
 * or resample along an axis (stages_resize.c).
 *
 *     linear    1 - |t|
 *     cubic     the cubics of Keys 1981 (Cubic convolution interpolation for digital image processing) with a = -1/2,
 *               which are the splines of Catmull and Rom 1974
 *     mitchell  the cubics of Mitchell and Netravali 1988 (Reconstruction filters in computer graphics) with B = C =
 *               1/3: they smooth a little, and so change what lies on a pixel, too
 *     lanczos   sinc(t) sinc(t / n), n being 2 or 3, sinc(t) = sin(pi t) / (pi t) (Duchon 1979, Lanczos filtering in
 *               one and two dimensions)
 *
 * Note [Weights of a fraction]
 * A position with the fraction f behind the point lies between tap 0 and tap 1. The weight of tap k, K(f - k) over the
 * sum of all taps', is made as
 *
 *     w_k(f) = from + (to - from) f + f (1 - f) s_k(f - 1/2)
 *
 * where from and to are its values on the pixels and s_k is a polynomial: of degree 1 for cubics, which it is exactly;
 * for Lanczos the one through Chebyshev's points, off by less than the dtype rounds. So a weight takes a few fma(), no
 * device computes another one, and on a pixel weights are 0 and 1, exactly. A sample is
 *
 *     p_0 + sum over k of w_k (p_k - p_0)
 *
 * so that what is constant stays what it is, whatever the weights add up to when they are rounded.
 */
#ifndef IP_OPS_INTERPOLATION_H
#define IP_OPS_INTERPOLATION_H

#include "ir/expr.h"
#include "ops/families.h"

enum { IP_MOST_RADIUS = 3 };

typedef struct ip_interpolation {
    double (*at)(double t); /* the kernel; 0 from the radius on */
    int radius;             /* taps 1 - radius to radius */
    bool has_negatives;     /* sums may be greater than all that was summed, or less */
    bool is_cubic;          /* s_k are of degree 1 */
} ip_interpolation;

/* That of a filter; NULL of nearest. */
const ip_interpolation *ip_interpolation_of(ip_at_filter filter);
/* The weight of tap k at fraction f, in 0 .. 1, in double. */
double ip_interpolation_weight(const ip_interpolation *kernel, int k, double f);
/* The same as an expression, f being a float: Note [Weights of a fraction]. A constant where f is 0, so that taps of
 * weight 0 can be left out, NaN or not. */
ip_expr *ip_interpolation_weight_at(ip_ir *ir, const ip_interpolation *kernel, int k, ip_expr *f);

#endif
