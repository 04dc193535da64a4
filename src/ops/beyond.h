/* SPDX-License-Identifier: MIT */
/*
 * beyond.h - the parameter cval of rows with borders: the value beyond the edges where the border is constant.
 *
 * It is one number for all channels, alpha too; or one for each channel, or each but alpha, which is opaque then; or a
 * colour by its name, #rrggbb or #rrggbbaa, in the levels of the input that has the edges, the first but for
 * register(). A node has one number, in ip_param.number, or as many as that input has channels, in ip_param.numbers,
 * never several that are the same:
 *
 *     const double *levels;
 *     int n = ip_beyond_levels(node, &levels);     1, or a number for each channel
 */
#ifndef IP_OPS_BEYOND_H
#define IP_OPS_BEYOND_H

#include "graph/array.h"
#include "ops/build.h"

enum { IP_BEYOND_CHANNELS = 4 };

/* Sets parameter k of a node whose inputs are there. */
imgpar_status ip_beyond_set(imgpar_array *node, int k, const ip_arg *arg, ip_error *err);
/* Refuses a list where the node's channels are not those of the input that has the edges; once the type is inferred. */
imgpar_status ip_beyond_check(const imgpar_array *node, ip_error *err);

/* The levels are the node's. Also of rows that take one number alone. */
int ip_beyond_levels(const imgpar_array *node, const double **levels);
ip_range ip_beyond_range(const imgpar_array *node);

#endif
