/* SPDX-License-Identifier: MIT */
/*
 * Resampling along an axis: every output position has a first input position and weights from there on. The host makes
 * them, the device reads them from tables. All positions lie inside, so no border rule is needed.
 *
 *     ip_resampling r;
 *     if (!ip_resampling_new(&r, n_in, n_out, 2)) return NULL;
 *     ... fill r.first and r.weight ...
 *     ip_expr *x = ip_resampled(l, in, axis, dims, dtype, &r);
 *     ip_resampling_clear(&r);
 */
#ifndef IP_OPS_RESAMPLE_H
#define IP_OPS_RESAMPLE_H

#include "ops/lower.h"

/* out[i] = sum over k of weight[i taps + k] in[first[i] + k] */
typedef struct ip_resampling {
    int64_t n_in, n_out;
    int taps;
    int32_t *first;
    double *weight;
} ip_resampling;

/* Room for them, the weights 0. False without memory. */
bool ip_resampling_new(ip_resampling *r, int64_t n_in, int64_t n_out, int taps);
void ip_resampling_clear(ip_resampling *r);

/* first as a table; NULL without memory. */
ip_stage *ip_resampling_places(ip_lower *l, const ip_resampling *r);

/* The sum as an element of a domain that differs from in's along axis: an fma() chain in dtype from the first weight to
 * the last, each rounded once. */
ip_expr *ip_resampled(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], imgpar_dtype dtype, const ip_resampling *r);

#endif
