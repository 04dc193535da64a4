/* SPDX-License-Identifier: MIT */
/*
 * Words of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011) side
 * by side: src/compile/emit_random.c, Note [Random words].
 */

enum { IP_BLOCKS = 32 }; /* of four words, that are made together */

#define IP_ROUND(A, B)                                                    \
    {                                                                     \
        const ulong product0 = (ulong)x0 * 0xD2511F53u;                   \
        const ulong product1 = (ulong)x2 * 0xCD9E8D57u;                   \
        x0 = (uint)(product1 >> 32) ^ x1 ^ (key0 + (A) * 0x9E3779B9u);    \
        x2 = (uint)(product0 >> 32) ^ x3 ^ (key1 + (B) * 0xBB67AE85u);    \
        x1 = (uint)product1;                                              \
        x3 = (uint)product0;                                              \
    }

/* The words of IP_BLOCKS counters from `block` on. */
static inline void ip_random_blocks(uint *restrict words, uint block, uint stream, uint key0, uint key1)
{
#pragma clang loop vectorize(assume_safety) vectorize_width(8) interleave_count(1)
    for (uint k = 0; k < IP_BLOCKS; k++) {
        uint x0 = block + k, x1 = 0, x2 = stream, x3 = 0;
        IP_ROUND(0u, 0u)
        IP_ROUND(1u, 1u)
        IP_ROUND(2u, 2u)
        IP_ROUND(3u, 3u)
        IP_ROUND(4u, 4u)
        IP_ROUND(5u, 5u)
        IP_ROUND(6u, 6u)
        IP_ROUND(7u, 7u)
        IP_ROUND(8u, 8u)
        IP_ROUND(9u, 9u)
        words[4 * k] = x0;
        words[4 * k + 1] = x1;
        words[4 * k + 2] = x2;
        words[4 * k + 3] = x3;
    }
}

/*
 * Pixels from..end of a row of random words, each of so many, the first word of the row being number `row`. pair 1 has
 * in both places of a pair its first word, pair 2 the second. Returns the pixel behind those that were made.
 */
static inline int ip_random_words(__global uint *restrict to, int from, int end, int channels, uint row, uint stream,
                                  uint key0, uint key1, int pair)
{
    uint words[4 * IP_BLOCKS];
    const long begin = (long)from * channels, last = (long)end * channels;
    for (long at = begin - ((row + (uint)begin) & 3u); at < last; at += 4 * IP_BLOCKS) {
        ip_random_blocks(words, (row + (uint)at) >> 2, stream, key0, key1);
        if (pair)
            for (int k = 0; k < 2 * IP_BLOCKS; k++) {
                const uint word = words[2 * k + pair - 1];
                words[2 * k] = word;
                words[2 * k + 1] = word;
            }
        const int first = at < begin ? (int)(begin - at) : 0;
        const int behind = last - at < 4 * IP_BLOCKS ? (int)(last - at) : 4 * IP_BLOCKS;
        for (int k = first; k < behind; k++)
            to[at + k] = words[k];
    }
    return end;
}
