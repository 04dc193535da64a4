/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the Poisson distribution by inversion: a random word of 32 bits is looked up among the distribution's
 * cumulative probabilities. Each number's probability is so within 2^-32 of its own, at every mean, and what a number
 * costs is bounded: it is found among n by at most log2(n + 1) comparisons, n about 13 sqrt(mean).
 */
#ifndef IP_OPS_POISSON_H
#define IP_OPS_POISSON_H

#include "base/status.h"

#include <stdint.h>

enum { IP_POISSON_MOST = 10000000 }; /* the largest mean: its table has 42,000 numbers */

/* A word w stands for `first` and one more for each of the n words, ascending, that are below w. All words are less
 * 2^31, as i32 has them. */
typedef struct ip_poisson {
    int64_t first;
    int n;
    int32_t *words; /* the table's own; ip_free() */
} ip_poisson;

imgpar_status ip_poisson_of(double mean, ip_poisson *out, ip_error *err);

#endif
