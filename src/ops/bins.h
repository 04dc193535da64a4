/* SPDX-License-Identifier: MIT */
/* The bins of histograms. */
#ifndef IP_OPS_BINS_H
#define IP_OPS_BINS_H

#include "ops/lower.h"

/* The bin of the first input's element, i32, by the node's parameters bins, lo and hi; -1: none. */
ip_expr *ip_histogram_bin(ip_lower *l);

#endif
