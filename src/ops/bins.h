/* SPDX-License-Identifier: MIT */
/* The bins of histograms. */
#ifndef IP_OPS_BINS_H
#define IP_OPS_BINS_H

#include "ops/lower.h"

/* The edges of a histogram: those of the parameters lo and hi, else what the input's white and dtype tell. */
void ip_histogram_edges(const imgpar_array *node, double *lo, double *hi);

/* The bin of the first input's element, i32, by the node's parameters bins, lo and hi; -1: none. */
ip_expr *ip_histogram_bin(ip_lower *l);

#endif
