/* SPDX-License-Identifier: MIT */
/*
 * Pixels of bytes made of two that stand beside each other, of a row that gets longer: src/compile/emit_upsample.c,
 * Note [Upsampling rows].
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
struct __attribute__((packed, may_alias)) ip_any_char64 {
    ip_chars64 all;
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
static inline int16 ip_upsampleed(__global const uchar *from, int16 place, int by, int16 weights)
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

#if defined(__AVX512BW__) && defined(IP_PERMUTES_BYTES)
/*
 * With AVX-512 VBMI (IP_PERMUTES_BYTES: lookup.cl) bytes are taken from 64 at once. The tables are read for 16 pixels;
 * the first of these are made, as many as are VECTORS of 16 elements and read no more than 64 bytes.
 */
#define IP_UPSAMPLES __attribute__((target("avx512bw,avx512vbmi")))

#define IP_SIXTEEN(F, V, C)                                                                                           \
    F(16 * V, C), F(16 * V + 1, C), F(16 * V + 2, C), F(16 * V + 3, C), F(16 * V + 4, C), F(16 * V + 5, C),           \
        F(16 * V + 6, C), F(16 * V + 7, C), F(16 * V + 8, C), F(16 * V + 9, C), F(16 * V + 10, C), F(16 * V + 11, C), \
        F(16 * V + 12, C), F(16 * V + 13, C), F(16 * V + 14, C), F(16 * V + 15, C)
#define IP_PIXEL_OF(E, C) (E) / C
#define IP_TWICE_CHANNEL_OF(E, C) (E) % C * 0x10001

/* Places are of bytes in two lanes of 16 bits, as are weights. */
IP_UPSAMPLES
static inline int16 ip_upsampleed_of_64(ip_chars64 bytes, int16 places, int16 weights)
{
    const ip_chars64 zero = 0;
    const ip_chars64 taken = __builtin_ia32_permvarqi512(bytes, __builtin_astype(places, ip_chars64));
    const ip_chars64 two = __builtin_ia32_selectb_512(0x5555555555555555ul, taken, zero);
    return __builtin_astype(
        __builtin_ia32_pmaddwd512(__builtin_astype(two, ip_shorts32), __builtin_astype(weights, ip_shorts32)), int16);
}

#define IP_UPSAMPLE_VECTOR(V, C, TO)                                                                                 \
    {                                                                                                                \
        const int16 place = __builtin_shufflevector(places, places, IP_SIXTEEN(IP_PIXEL_OF, V, C)) +                 \
                            (int16)(IP_SIXTEEN(IP_TWICE_CHANNEL_OF, V, C));                                          \
        const int16 weight = __builtin_shufflevector(pairs, pairs, IP_SIXTEEN(IP_PIXEL_OF, V, C));                   \
        ip_put16_##TO(to + x * C + 16 * V, ((ip_upsampleed_of_64(bytes, place, weight) + start) >> shift) + offset); \
    }
#define IP_UPSAMPLE_VECTORS_1(C, TO) IP_UPSAMPLE_VECTOR(0, C, TO)
#define IP_UPSAMPLE_VECTORS_2(C, TO) IP_UPSAMPLE_VECTORS_1(C, TO) IP_UPSAMPLE_VECTOR(1, C, TO)
#define IP_UPSAMPLE_VECTORS_3(C, TO) IP_UPSAMPLE_VECTORS_2(C, TO) IP_UPSAMPLE_VECTOR(2, C, TO)

#define IP_UPSAMPLE_MANY(C, VECTORS, TO)                                                             \
    for (; x + 16 <= end && first[x] * C + 64 <= row_bytes; x += 16 * VECTORS / C) {                 \
        const ip_chars64 bytes = ((__global const struct ip_any_char64 *)(row + first[x] * C))->all; \
        const int16 f = ((__global const struct ip_any_int16 *)(first + x))->all;                    \
        const int16 a = ((__global const struct ip_any_int16 *)(weights + 2 * x))->all;              \
        const int16 b = ((__global const struct ip_any_int16 *)(weights + 2 * x + 16))->all;         \
        const int16 low = __builtin_shufflevector(a, b, IP_SIXTEEN(IP_FIRST_OF, 0, 1));              \
        const int16 high = __builtin_shufflevector(a, b, IP_SIXTEEN(IP_SECOND_OF, 0, 1));            \
        const int16 pairs = (low & 0xffff) | high << 16;                                             \
        const int16 places = (f - f.s0) * (C * 0x10001) + (C << 16);                                 \
        IP_UPSAMPLE_VECTORS_##VECTORS(C, TO)                                                         \
    }
#define IP_FIRST_OF(E, C) 2 * (E)
#define IP_SECOND_OF(E, C) 2 * (E) + 1
#else
#define IP_UPSAMPLES
#define IP_UPSAMPLE_MANY(C, VECTORS, TO)
#endif

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

/* PIXELS are made at a time: what they read lies within 16 bytes. Their places are in a vector of READ. Before that
 * VECTORS are made at a time, where processors can. */
#define IP_UPSAMPLE(C, PIXELS, READ, VECTORS, TO)                                                                 \
    IP_UPSAMPLES                                                                                                  \
    IP_APART int ip_upsample_##C##_##TO(__global TO *to, __global const uchar *row, int row_bytes,                \
                                       __global const int *first, __global const int *weights, int from, int end, \
                                       int start, int shift, int offset)                                          \
    {                                                                                                             \
        int x = from;                                                                                             \
        IP_UPSAMPLE_MANY(C, VECTORS, TO)                                                                          \
        for (; x + READ <= end && x * C + 16 <= end * C && first[x] * C + 16 <= row_bytes; x += PIXELS) {         \
            const int##READ f = ((__global const struct ip_any_int##READ *)(first + x))->all;                     \
            const int##READ a = ((__global const struct ip_any_int##READ *)(weights + 2 * x))->all;               \
            const int##READ b = ((__global const struct ip_any_int##READ *)(weights + 2 * x + READ))->all;        \
            const int16 behind = __builtin_shufflevector(f, f, IP_PIXELS_##C(IP_ITSELF)) - f.s0;                  \
            const int16 low = __builtin_shufflevector(a, b, IP_PIXELS_##C(IP_FIRST_WEIGHT));                      \
            const int16 high = __builtin_shufflevector(a, b, IP_PIXELS_##C(IP_SECOND_WEIGHT));                    \
            const int16 place = behind * C + (int16)(IP_CHANNELS_##C);                                            \
            const int16 sums = ip_upsampleed(row + f.s0 * C, place, C, (low & 0xffff) | high << 16);              \
            ip_put16_##TO(to + x * C, ((sums + start) >> shift) + offset);                                        \
        }                                                                                                         \
        return x;                                                                                                 \
    }

#else

#define IP_UPSAMPLE(C, PIXELS, READ, VECTORS, TO)                                                                      \
    static inline int ip_upsample_##C##_##TO(__global TO *to, __global const uchar *row, int row_bytes,                \
                                            __global const int *first, __global const int *weights, int from, int end, \
                                            int start, int shift, int offset)                                          \
    {                                                                                                                  \
        return from;                                                                                                   \
    }

#endif
IP_UPSAMPLE(1, 15, 16, 1, uchar)
IP_UPSAMPLE(2, 7, 8, 2, uchar)
IP_UPSAMPLE(3, 4, 4, 3, uchar)
IP_UPSAMPLE(4, 3, 4, 3, uchar)
IP_UPSAMPLE(1, 15, 16, 1, short)
IP_UPSAMPLE(2, 7, 8, 2, short)
IP_UPSAMPLE(3, 4, 4, 3, short)
IP_UPSAMPLE(4, 3, 4, 3, short)
