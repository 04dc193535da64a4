/* SPDX-License-Identifier: MIT */
/*
 * A few numbers on which all of a result depends: the weights of a filter, the matrix of a warp. Where they are written
 * in a call, building it refuses what cannot be used. Where they are an array, a node of the row IP_USABLE stands
 * between it and what reads it, and an evaluation refuses the same in the same words (run/usable.c).
 */
#ifndef IP_OPS_USABLE_H
#define IP_OPS_USABLE_H

#include "graph/array.h"

/* Puts such a node before the last input of a row with IP_OP_FINITE. */
imgpar_status ip_usable_guard(imgpar_array *node, ip_error *err);
/* What a node of the row asks of the elements of its input, n of them. */
imgpar_status ip_usable_check(const imgpar_array *node, const double *elements, int64_t n, ip_error *err);
/* A matrix of 2 or 3 rows of 3 numbers, that moves points of the plane, has an inverse. */
imgpar_status ip_check_motion(const char *op, const double *matrix, int rows, ip_error *err);

#endif
