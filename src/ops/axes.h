/* SPDX-License-Identifier: MIT */
/* The dtypes in which sums and products of elements are taken. */
#ifndef IP_OPS_AXES_H
#define IP_OPS_AXES_H

#include <imgpar.h>

imgpar_dtype ip_sum_dtype(imgpar_dtype dtype);
imgpar_dtype ip_dot_dtype(imgpar_dtype a, imgpar_dtype b);

#endif
