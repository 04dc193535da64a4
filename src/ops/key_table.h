/* SPDX-License-Identifier: MIT */
/* Look-ups by key, between their lowering (stages_key_table.c), their meaning on the host (reference_key_table.c) and
 * the rows that are made with them (derived_keys.c, derived.c). */
#ifndef IP_OPS_KEY_TABLE_H
#define IP_OPS_KEY_TABLE_H

#include "ir/opaque.h"
#include "ops/derived.h"

/*
 * Note [Tables of keys]
 * The hidden row "key_table" of a vector of keys is a hash table, a vector of 2^bits slots, i32: 0, or 1 more than the
 * place of the first key of those that are equal. Which slot a key has besides depends on who comes first; what is
 * found does not. The hidden row "key_places" of a, the keys and their table tells for each element of a the place of
 * the first key that is equal, or -1. All NaN are one key, and so are -0 and 0. A table is a stage of its own, so it is
 * made once for all that look into it, and for all strips. */

/* What stands in ip_opaque.sizes; of key_places only the first. */
enum { IP_KEY_TABLE_BITS, IP_KEY_TABLE_N };
enum { IP_PLACES_A, IP_PLACES_KEYS, IP_PLACES_TABLE }; /* inputs of key_places */

/* Keys that have a table at most: of more it would have more slots than an i32 counts. */
enum { IP_KEY_TABLE_MOST = 1 << 29 };
/* The bits of the table of n keys: at most half of its slots are taken. */
int ip_key_table_bits(int64_t n);
/* As kt_hash() of shaders/key_table.cl. */
static inline uint64_t ip_key_hash(uint64_t key, int bits)
{
    key = (key ^ key >> 32) * 0xff51afd7ed558ccdu;
    key = (key ^ key >> 29) * 0xc4ceb9fe1a85ec53u;
    return key >> (64 - bits);
}

imgpar_status ip_key_table_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                   void *user);
imgpar_status ip_key_places_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                    void *user);

/* Of each element of a the place of the first element of a sorted vector that is not before it. */
imgpar_array *ip_make_first_place(ip_making *m, imgpar_array *sorted, imgpar_array *a);

#endif
