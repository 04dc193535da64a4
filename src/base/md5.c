/* SPDX-License-Identifier: MIT */
#include "base/md5.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, SIZE_AT = 56 };

/* 2^32 |sin(i + 1)|, without what is behind the point. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
static const unsigned char turns[4][4] = { { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 } };

/* What a step of a round mixes, and which word of the block it adds. */
static uint32_t mixed(int step, uint32_t b, uint32_t c, uint32_t d, int *word)
{
    switch (step / 16) {
    case 0: *word = step; return (b & c) | (~b & d);
    case 1: *word = (5 * step + 1) % 16; return (d & b) | (~d & c);
    case 2: *word = (3 * step + 5) % 16; return b ^ c ^ d;
    default: *word = 7 * step % 16; return c ^ (b | ~d);
    }
}

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void add_block(uint32_t state[4], const unsigned char *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int step = 0; step < 64; step++) {
        int word;
        const uint32_t f = mixed(step, b, c, d, &word) + a + sines[step] + word_at(block + 4 * word);
        const int turn = turns[step / 16][step % 4];
        a = d;
        d = c;
        c = b;
        b += f << turn | f >> (32 - turn);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void ip_md5(const void *bytes, size_t n, unsigned char digest[IP_MD5_BYTES])
{
    uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    unsigned char end[2 * BLOCK] = { 0 }; /* the bytes that rest, a bit of one, zeros, and how many bits there are */
    const unsigned char *p = bytes;
    const size_t whole = n / BLOCK * BLOCK, rest = n - whole, n_end = rest < SIZE_AT ? BLOCK : 2 * BLOCK;
    for (size_t at = 0; at < whole; at += BLOCK)
        add_block(state, p + at);
    if (rest) memcpy(end, p + whole, rest);
    end[rest] = 0x80;
    for (int k = 0; k < 8; k++)
        end[n_end - 8 + (size_t)k] = (unsigned char)((uint64_t)n << 3 >> 8 * k);
    for (size_t at = 0; at < n_end; at += BLOCK)
        add_block(state, end + at);
    for (int k = 0; k < IP_MD5_BYTES; k++)
        digest[k] = (unsigned char)(state[k / 4] >> k % 4 * 8);
}
