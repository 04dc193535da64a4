/* SPDX-License-Identifier: MIT */
/* 64-bit and 128-bit hashes for tables and cache keys. Not cryptographic. */
#ifndef IP_BASE_HASH_H
#define IP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct ip_hash128 {
    uint64_t a, b;
} ip_hash128;

uint64_t ip_hash_bytes(uint64_t seed, const void *bytes, size_t n);
uint64_t ip_hash_u64(uint64_t seed, uint64_t value);
uint64_t ip_hash_text(uint64_t seed, const char *text);
ip_hash128 ip_hash128_bytes(ip_hash128 seed, const void *bytes, size_t n);

#endif
