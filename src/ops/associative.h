/* SPDX-License-Identifier: MIT */
/* Which functions of two elements may fold them grouped in any way. */
#ifndef IP_OPS_ASSOCIATIVE_H
#define IP_OPS_ASSOCIATIVE_H

#include "graph/array.h"

/* Whether folding with the function body of p and q gives the same however elements are grouped, and wherever init is
 * put between them: sums (init 0), products (init 1), exclusive or (init 0), and what is its own identity: extremes,
 * and, or. Floats are summed and multiplied as if rounding did not count. Other functions are not known to. */
bool ip_folds_in_any_order(const imgpar_array *p, const imgpar_array *q, const imgpar_array *body, double init);

#endif
