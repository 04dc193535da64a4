/* SPDX-License-Identifier: MIT */
/*
 * Each 8-byte word is xored into the state, which is then multiplied by an odd
 * constant to 128 bits and folded to 64 (the step of wyhash). The 128-bit hash
 * is two such states with different constants that see the words differently
 * rotated.
 */
#include "base/hash.h"

#include <string.h>

#define K0 UINT64_C(0x9e3779b97f4a7c15)
#define K1 UINT64_C(0xe7037ed1a0b428db)
#define K2 UINT64_C(0x8ebc6af09c88c6e3)
#define K3 UINT64_C(0x589965cc75374cc3)

__extension__ typedef unsigned __int128 wide;

static uint64_t mix(uint64_t a, uint64_t b)
{
    wide p = (wide)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Up to 8 bytes as a little-endian number, so that hashes do not depend on the host. Whole words are one load. */
static inline uint64_t word_at(const unsigned char *bytes, size_t n)
{
    uint64_t w = 0;
    if (n >= 8)
        memcpy(&w, bytes, 8);
    else
        memcpy(&w, bytes, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

static uint64_t finish(uint64_t h)
{
    h ^= h >> 32;
    h *= K2;
    return h ^ h >> 29;
}

uint64_t ip_hash_bytes(uint64_t seed, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = mix(seed ^ K0, K1) + n;
    for (size_t i = 0; i < n; i += 8)
        h = mix(h ^ word_at(p + i, n - i), K1) + K3;
    return finish(h);
}

uint64_t ip_hash_u64(uint64_t seed, uint64_t value) { return finish(mix(seed ^ K0, K1) + mix(value ^ K3, K2)); }

uint64_t ip_hash_text(uint64_t seed, const char *text) { return ip_hash_bytes(seed, text, strlen(text)); }

ip_hash128 ip_hash128_bytes(ip_hash128 seed, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t a = mix(seed.a ^ K0, K1) + n;
    uint64_t b = mix(seed.b ^ K1, K2) ^ n;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = word_at(p + i, n - i);
        a = mix(a ^ w, K1) + K3;
        b = mix(b ^ (w << 32 | w >> 32), K2) + a;
    }
    return (ip_hash128){ finish(a), finish(b) };
}
