/* SPDX-License-Identifier: MIT */
/* The different values of a vector by hash tables, between their lowering (stages_distinct.c), their meaning on the
 * host (reference_distinct.c) and the rows that are made with them (derived.c). */
#ifndef IP_OPS_DISTINCT_H
#define IP_OPS_DISTINCT_H

#include "ir/opaque.h"

/*
 * Note [Few values]
 * The hidden row "distinct" of a vector of n elements is a vector, i32: how many values there are, of each the place
 * of an element that has it, and how many have it. The values stand in no order. There is room for up to `most` values;
 * where there are more, their number is INT32_MAX, and what follows says nothing. Which elements are one value is what
 * sorting says of their bits: all NaN are one, -0 and 0 are two. */

/* What stands in ip_opaque.sizes. */
enum { IP_DISTINCT_N, IP_DISTINCT_MOST };
/* Tables have a power of 4 times 2^IP_DISTINCT_BITS slots, half of which are used. */
enum { IP_DISTINCT_BITS = 11, IP_DISTINCT_MOST_BITS = 17 };

/* How many values there is room for; 0: so few elements are sorted. */
int64_t ip_distinct_most(int64_t n);
imgpar_status ip_distinct_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                  void *user);

#endif
