/* SPDX-License-Identifier: MIT */
/*
 * Keys: unsigned numbers in the order of the elements of a dtype, or in the opposite one. shaders/keys.cl makes them on
 * devices; these make the same on the host. All NaN become one, the last in either order; -0 is before 0, or equal to
 * it.
 */
#ifndef IP_OPS_KEYS_H
#define IP_OPS_KEYS_H

#include "ir/expr.h"

typedef struct ip_key_format {
    unsigned size_bytes;
    bool is_float, is_signed, is_bool, joins_zeros /* -0 and 0 have one key */, descending;
    uint64_t infinity, nan;
} ip_key_format;

ip_key_format ip_key_format_of(imgpar_dtype dtype, bool joins_zeros, bool descending);
/* The bits of the element at from; of NaN those that all have. */
uint64_t ip_key_load(const ip_key_format *f, const unsigned char *from);
uint64_t ip_key_of(const ip_key_format *f, uint64_t bits);
/* The bits of the element that has such a key: of joined zeros 0. */
uint64_t ip_key_element(const ip_key_format *f, uint64_t key);
/* What stands before shaders/keys.cl. */
const char *ip_key_defines(imgpar_dtype dtype, bool joins_zeros);

#endif
