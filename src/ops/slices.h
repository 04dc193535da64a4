/* SPDX-License-Identifier: MIT */
/* What the parameters of views mean, for infer_views.c and stages_views.c. */
#ifndef IP_OPS_SLICES_H
#define IP_OPS_SLICES_H

#include "ops/view.h"

/* Elements start, start + step, ... of an axis, count of them. */
typedef struct ip_slice {
    int64_t start, step, count;
} ip_slice;

/* One for each axis of the input, by the rules of Python: negative bounds count from the end, bounds beyond it are
 * cut. */
imgpar_status ip_slices_of(const imgpar_array *node, ip_slice out[IP_MAX_AXES], ip_error *err);
/* Which axes a vector names, as bits; all of them where it is not given. */
imgpar_status ip_axes_of(const imgpar_array *node, const char *param, int rank, unsigned *axes, ip_error *err);
/* Which axis of the input each axis of a permuted one is. */
imgpar_status ip_permutation_of(const imgpar_array *node, int axes[IP_MAX_AXES], ip_error *err);
/* Whole numbers for the leading axes; fill for those that are not given. */
imgpar_status ip_counts_of(const imgpar_array *node, const char *param, int64_t fill, int64_t out[IP_MAX_AXES],
                           ip_error *err);

#endif
