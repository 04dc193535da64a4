/* SPDX-License-Identifier: MIT */
/* Stages that put an array's axes in another order, for operations whose kernels want them so. */
#ifndef IP_OPS_PERMUTE_H
#define IP_OPS_PERMUTE_H

#include "ops/lower.h"

/* The shape whose axis k is axis order[k] of type. */
ip_type ip_type_permuted(const ip_type *type, const int *order);
/* The elements of stage, an array of the shape of type, as dtype and as an array of the shape of
 * ip_type_permuted(type, order): its element at i[0], i[1], ... is the one whose index along axis order[k] is i[k].
 * stage itself where nothing moves and dtype is its own. */
ip_stage *ip_lower_permuted(ip_lower *l, ip_stage *stage, const ip_type *type, const int *order, imgpar_dtype dtype,
                            const char *note);

#endif
