/* SPDX-License-Identifier: MIT */
/*
 * Normal numbers of mean 0 and deviation 1 from pairs of random words (Box, Muller: A Note on the Generation of Random
 * Normal Deviates, 1958): radius sqrt(-2 log(u)), u = (first + 1/2) / 2^32, and the cosine of 2 pi second / 2^32, or
 * its sine.
 *
 * Logarithm, sine and cosine are written out: a device's own take ten times as long where they are calls that no loop
 * over a row is vectorised with, and words need no reduction of large angles.
 */
#ifndef IP_OPS_BOX_MULLER_H
#define IP_OPS_BOX_MULLER_H

#include "ir/expr.h"

/* f32, within 2^-18 of the exact value; words are U32. is_sine: BOOL. */
ip_expr *ip_box_muller(ip_ir *ir, ip_expr *first, ip_expr *second, ip_expr *is_sine);
/* log((word + 1/2) / 2^32), f32, within 2^-21 of it. */
ip_expr *ip_log_of_word(ip_ir *ir, ip_expr *word);

#endif
