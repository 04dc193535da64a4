/* SPDX-License-Identifier: MIT */
/*
 * Pixels of bytes made of two that stand beside each other, of a row that gets longer: src/compile/emit_stretch.c, Note
 * [Stretching].
 *
 *     to[x] = saturated(((weights[2 x] * row[first[x]] + weights[2 x + 1] * row[first[x] + 1] + start) >> shift) +
 *     offset)
 *
 * of each channel. row has row_bytes; first[x] grows by at most 1. Functions make pixels from..end, as many as they
 * can, and tell the first that is left.
 */
#if defined(__clang__) && (defined(__AVX512BW__) || defined(__AVX2__))

typedef char ip_chars32 __attribute__((ext_vector_type(32)));
typedef char ip_chars64 __attribute__((ext_vector_type(64)));
typedef short ip_shorts32 __attribute__((ext_vector_type(32)));
struct __attribute__((packed, may_alias)) ip_any_char16 {
    char16 all;
};
struct __attribute__((packed, may_alias)) ip_any_short16 {
    short16 all;
};
struct __attribute__((packed, may_alias)) ip_any_int4 {
    int4 all;
};
struct __attribute__((packed, may_alias)) ip_any_int8 {
    int8 all;
};
struct __attribute__((packed, may_alias)) ip_any_int16 {
    int16 all;
};

/*
 * Of 16 elements two bytes each, from the sixteen at `from`: the lower one is at that place, the higher one `by` behind
 * it. Either becomes 16 bits; what place says 128 of becomes 0. They are multiplied by two weights of 16 bits each, and
 * added.
 */
static inline int16 ip_stretched(__global const uchar *from, int16 place, int by, int16 weights)
{
    const char16 bytes = ((__global const struct ip_any_char16 *)from)->all;
    const int16 places = place + (place << 16) + (int)(((uint)by << 16) + 0x80008000u);
#ifdef __AVX512BW__
    const ip_chars64 four =
        __builtin_shufflevector(bytes, bytes, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6,
                                7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const ip_shorts32 two =
        __builtin_astype(__builtin_ia32_pshufb512(four, __builtin_astype(places, ip_chars64)), ip_shorts32);
    return __builtin_astype(__builtin_ia32_pmaddwd512(two, __builtin_astype(weights, ip_shorts32)), int16);
#else
    const ip_chars32 twice = __builtin_shufflevector(bytes, bytes, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                                     0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const short16 low =
        __builtin_astype(__builtin_ia32_pshufb256(twice, __builtin_astype(places.lo, ip_chars32)), short16);
    const short16 high =
        __builtin_astype(__builtin_ia32_pshufb256(twice, __builtin_astype(places.hi, ip_chars32)), short16);
    int16 sums;
    sums.lo = __builtin_astype(__builtin_ia32_pmaddwd256(low, __builtin_astype(weights.lo, short16)), int8);
    sums.hi = __builtin_astype(__builtin_ia32_pmaddwd256(high, __builtin_astype(weights.hi, short16)), int8);
    return sums;
#endif
}

static inline void ip_put16_uchar(__global uchar *to, int16 v)
{
    ((__global struct ip_any_char16 *)to)->all = __builtin_convertvector(min(max(v, 0), 255), char16);
}

static inline void ip_put16_short(__global short *to, int16 v)
{
    ((__global struct ip_any_short16 *)to)->all = __builtin_convertvector(min(max(v, -32768), 32767), short16);
}

/* Which pixel each of 16 elements belongs to, and its channel. */
#define IP_PIXELS_1(P) \
    P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13), P(14), P(15)
#define IP_PIXELS_2(P) P(0), P(0), P(1), P(1), P(2), P(2), P(3), P(3), P(4), P(4), P(5), P(5), P(6), P(6), P(7), P(7)
#define IP_PIXELS_3(P) P(0), P(0), P(0), P(1), P(1), P(1), P(2), P(2), P(2), P(3), P(3), P(3), P(3), P(3), P(3), P(3)
#define IP_PIXELS_4(P) P(0), P(0), P(0), P(0), P(1), P(1), P(1), P(1), P(2), P(2), P(2), P(2), P(3), P(3), P(3), P(3)
#define IP_CHANNELS_1 0
#define IP_CHANNELS_2 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1
#define IP_CHANNELS_3 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 0, 0
#define IP_CHANNELS_4 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3
#define IP_ITSELF(P) P
#define IP_FIRST_WEIGHT(P) 2 * P
#define IP_SECOND_WEIGHT(P) 2 * P + 1

/* PIXELS are made at a time: what they read lies within 16 bytes. Their places are in a vector of READ. */
#define IP_STRETCH(C, PIXELS, READ, TO)                                                                           \
    IP_APART int ip_stretch_##C##_##TO(__global TO *to, __global const uchar *row, int row_bytes,                 \
                                       __global const int *first, __global const int *weights, int from, int end, \
                                       int start, int shift, int offset)                                          \
    {                                                                                                             \
        int x = from;                                                                                             \
        for (; x + READ <= end && x * C + 16 <= end * C && first[x] * C + 16 <= row_bytes; x += PIXELS) {         \
            const int##READ f = ((__global const struct ip_any_int##READ *)(first + x))->all;                     \
            const int##READ a = ((__global const struct ip_any_int##READ *)(weights + 2 * x))->all;               \
            const int##READ b = ((__global const struct ip_any_int##READ *)(weights + 2 * x + READ))->all;        \
            const int16 behind = __builtin_shufflevector(f, f, IP_PIXELS_##C(IP_ITSELF)) - f.s0;                  \
            const int16 low = __builtin_shufflevector(a, b, IP_PIXELS_##C(IP_FIRST_WEIGHT));                      \
            const int16 high = __builtin_shufflevector(a, b, IP_PIXELS_##C(IP_SECOND_WEIGHT));                    \
            const int16 place = behind * C + (int16)(IP_CHANNELS_##C);                                            \
            const int16 sums = ip_stretched(row + f.s0 * C, place, C, (low & 0xffff) | high << 16);               \
            ip_put16_##TO(to + x * C, ((sums + start) >> shift) + offset);                                        \
        }                                                                                                         \
        return x;                                                                                                 \
    }

#else

#define IP_STRETCH(C, PIXELS, READ, TO)                                                                                \
    static inline int ip_stretch_##C##_##TO(__global TO *to, __global const uchar *row, int row_bytes,                 \
                                            __global const int *first, __global const int *weights, int from, int end, \
                                            int start, int shift, int offset)                                          \
    {                                                                                                                  \
        return from;                                                                                                   \
    }

#endif
IP_STRETCH(1, 15, 16, uchar)
IP_STRETCH(2, 7, 8, uchar)
IP_STRETCH(3, 4, 4, uchar)
IP_STRETCH(4, 3, 4, uchar)
IP_STRETCH(1, 15, 16, short)
IP_STRETCH(2, 7, 8, short)
IP_STRETCH(3, 4, 4, short)
IP_STRETCH(4, 3, 4, short)
