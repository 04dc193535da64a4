/* SPDX-License-Identifier: MIT */
/* Arithmetic of extents, and numbers as files have them. */
#ifndef IP_BASE_INTEGERS_H
#define IP_BASE_INTEGERS_H

#include <stdbool.h>
#include <stdint.h>

/* a * by into *a; false: the product is too large. */
static inline bool ip_scale(int64_t *a, int64_t by) { return !__builtin_mul_overflow(*a, by, a); }

/* a / b rounded up, of a >= 0; 0 if b is not positive. */
static inline int64_t ip_ceil_div(int64_t a, int64_t b) { return b > 0 ? a / b + (a % b != 0) : 0; }

/* a / b rounded down; b is not 0. */
static inline int64_t ip_floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* Where low > high: low. */
static inline int64_t ip_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}
static inline int64_t ip_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ip_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int ip_min_int(int a, int b) { return a < b ? a : b; }
static inline int ip_max_int(int a, int b) { return a > b ? a : b; }

/* The number that four bytes are, the highest first. */
static inline uint32_t ip_get32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#endif
