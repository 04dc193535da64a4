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
 *
 * Where the sizes are multiples, all outputs are means of as many inputs at equal distances: then no tables are needed.
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
/* Leaves taps out that no output has a weight for. */
void ip_resampling_trim(ip_resampling *r);
/* Adds taps of weight 0 until their number is one of a few: programs depend on it, and a folder of pictures would need
 * one for nearly each. Not for floats, since 0 * infinity is none. False without memory. */
bool ip_resampling_round_up(ip_resampling *r);
/* Makes weights multiples of 2^-bits, as whole numbers, whose sums are as they were: the largest of each makes up for
 * what the others lose. */
void ip_resampling_make_whole(ip_resampling *r, int bits);
void ip_resampling_clear(ip_resampling *r);

/* first[i] as an expression of i: by a formula where the sizes divide, from a table else. */
ip_expr *ip_resampling_first(ip_lower *l, const ip_resampling *r, ip_expr *i);

/* Whether every output is the plain mean of as many inputs, and they begin at equal distances. */
bool ip_resampling_is_mean(const ip_resampling *r);

/* For such r: the sum of output i's inputs in dtype, in which it is exact. */
ip_expr *ip_resampled_sum(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], imgpar_dtype dtype,
                          const ip_resampling *r);

/* The least of output i's inputs, those whose weight is 0 among them. */
ip_expr *ip_resampled_least(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], const ip_resampling *r);

/* The sum as an element of a domain that differs from in's along axis: an fma() chain in dtype from the first weight to
 * the last, each rounded once; of integers, whose weights are whole and of 16 bits, a sum of products. */
ip_expr *ip_resampled(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], imgpar_dtype dtype,
                      const ip_resampling *r);

#endif
