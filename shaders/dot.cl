/* SPDX-License-Identifier: MIT */
/*
 * Weighted sums of rows of bytes or shorts, exact in 32 bits: src/compile/emit_dot.c, Note [Dot products].
 *
 *     to[i] = saturated(((sum over k < n of weight k * term k + start) >> shift) + offset)
 *
 * A term is an element of a row, rows[k][i], or the sum of two that fits 16 bits, rows[2 k][i] + rows[2 k + 1][i].
 * Weights have 16 bits, and two of them are an int, the first in its lower half. Functions say whether they have made
 * all elements from..end; they make none where there are too few, or where the processor is not known.
 */
static inline int ip_two_weights(int a, int b) { return (a & 0xffff) | (int)((uint)b << 16); }

#if defined(__clang__) && (defined(__AVX512BW__) || defined(__AVX2__))

/* Elements at a time: of bytes a vector. Vectors are two of shorts or four of ints then. */
#ifdef __AVX512BW__
#define IP_DOT_WIDTH 64
#define IP_X86(NAME) __builtin_ia32_##NAME##512
#define IP_BLOCKS(LINE, AT, STEP, BY) \
    LINE(AT, BY), LINE(AT + STEP, BY), LINE(AT + 2 * STEP, BY), LINE(AT + 3 * STEP, BY)
#else
#define IP_DOT_WIDTH 32
#define IP_X86(NAME) __builtin_ia32_##NAME##256
#define IP_BLOCKS(LINE, AT, STEP, BY) LINE(AT, BY), LINE(AT + STEP, BY)
#endif
typedef char ip_dot_bytes __attribute__((ext_vector_type(IP_DOT_WIDTH)));
typedef short ip_dot_shorts __attribute__((ext_vector_type(IP_DOT_WIDTH / 2)));
typedef int ip_dot_ints __attribute__((ext_vector_type(IP_DOT_WIDTH / 4)));
typedef long ip_dot_longs __attribute__((ext_vector_type(IP_DOT_WIDTH / 8)));
#define IP_AT_ONCE 2
/* IP_ADDS_PRODUCTS says that the processor adds products to a sum at once, whatever the compiler takes it for. */
#if defined(__AVX512BW__) && defined(IP_ADDS_PRODUCTS)
#define IP_ADDS __attribute__((target("avx512bw,avx512vnni")))
#else
#define IP_ADDS
#endif
struct __attribute__((packed, may_alias)) ip_any_bytes {
    ip_dot_bytes all;
};
struct __attribute__((packed, may_alias)) ip_any_shorts {
    ip_dot_shorts all;
};

/* Elements of two vectors in turn, within each 16 bytes: of the first eight bytes of these, or the last. */
#define IP_FOUR(A, BY) A, A + BY, A + 1, A + 1 + BY, A + 2, A + 2 + BY, A + 3, A + 3 + BY
#define IP_EIGHT(A, BY) IP_FOUR(A, BY), IP_FOUR(A + 4, BY)
#define IP_BYTES_IN_TURN(A, B, FROM) __builtin_shufflevector(A, B, IP_BLOCKS(IP_EIGHT, FROM, 16, IP_DOT_WIDTH))
#define IP_SHORTS_IN_TURN(A, B, FROM) __builtin_shufflevector(A, B, IP_BLOCKS(IP_FOUR, FROM, 8, IP_DOT_WIDTH / 2))

static inline ip_dot_bytes ip_some_bytes(__global const uchar *at)
{
    return ((__global const struct ip_any_bytes *)at)->all;
}
static inline ip_dot_shorts ip_some_shorts(__global const short *at)
{
    return ((__global const struct ip_any_shorts *)at)->all;
}

/* A term of IP_DOT_WIDTH elements. Of bytes the first vector has the first eight of each sixteen, else it has the first
 * half. */
struct ip_term {
    ip_dot_shorts a, b;
};
/* Sums: each vector of shorts gives two, of four of each eight. */
struct ip_sums {
    ip_dot_ints a, b, c, d;
};

static inline struct ip_term ip_pair_uchar(__global const uchar *const *rows, int i)
{
    const ip_dot_bytes a = ip_some_bytes(rows[0] + i), b = ip_some_bytes(rows[1] + i), one = 1;
    struct ip_term t;
    t.a = __builtin_astype(IP_X86(pmaddubsw)(IP_BYTES_IN_TURN(a, b, 0), one), ip_dot_shorts);
    t.b = __builtin_astype(IP_X86(pmaddubsw)(IP_BYTES_IN_TURN(a, b, 8), one), ip_dot_shorts);
    return t;
}

static inline struct ip_term ip_single_uchar(__global const uchar *const *rows, int i)
{
    const ip_dot_bytes a = ip_some_bytes(rows[0] + i), zero = 0;
    struct ip_term t;
    t.a = __builtin_astype(IP_BYTES_IN_TURN(a, zero, 0), ip_dot_shorts);
    t.b = __builtin_astype(IP_BYTES_IN_TURN(a, zero, 8), ip_dot_shorts);
    return t;
}

static inline struct ip_term ip_single_short(__global const short *const *rows, int i)
{
    struct ip_term t;
    t.a = ip_some_shorts(rows[0] + i);
    t.b = ip_some_shorts(rows[0] + i + IP_DOT_WIDTH / 2);
    return t;
}

static inline struct ip_term ip_pair_short(__global const short *const *rows, int i)
{
    struct ip_term t = ip_single_short(rows, i);
    const struct ip_term other = ip_single_short(rows + 1, i);
    t.a += other.a;
    t.b += other.b;
    return t;
}

/* Adds the products of two shorts to an int, in one instruction where the processor has it. */
IP_ADDS
static inline ip_dot_ints ip_with_products(ip_dot_ints sum, ip_dot_shorts a, ip_dot_shorts b)
{
#if defined(__AVX512BW__) && defined(IP_ADDS_PRODUCTS)
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
#else
    return sum + __builtin_astype(IP_X86(pmaddwd)(a, b), ip_dot_ints);
#endif
}

/* Adds two terms, each by its weight. */
IP_ADDS
static inline void ip_add_two(struct ip_sums *sums, struct ip_term p, struct ip_term q, int weights)
{
    const ip_dot_shorts w = __builtin_astype((ip_dot_ints)(weights), ip_dot_shorts);
    sums->a = ip_with_products(sums->a, IP_SHORTS_IN_TURN(p.a, q.a, 0), w);
    sums->b = ip_with_products(sums->b, IP_SHORTS_IN_TURN(p.a, q.a, 4), w);
    sums->c = ip_with_products(sums->c, IP_SHORTS_IN_TURN(p.b, q.b, 0), w);
    sums->d = ip_with_products(sums->d, IP_SHORTS_IN_TURN(p.b, q.b, 4), w);
}

static inline ip_dot_shorts ip_to_shorts(ip_dot_ints a, ip_dot_ints b, int shift, int offset)
{
    return __builtin_astype(IP_X86(packssdw)((a >> shift) + offset, (b >> shift) + offset), ip_dot_shorts);
}

static inline ip_dot_bytes ip_to_bytes(struct ip_term t)
{
    return __builtin_astype(IP_X86(packuswb)(t.a, t.b), ip_dot_bytes);
}

/* Stores of terms of bytes, and of shorts. */
static inline void ip_put_uchar_short(__global short *to, struct ip_term t)
{
#ifdef __AVX512BW__
    ((__global struct ip_any_shorts *)to)[0].all =
        __builtin_shufflevector(t.a, t.b, 0, 1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35, 36, 37, 38, 39, 8, 9, 10, 11, 12, 13,
                                14, 15, 40, 41, 42, 43, 44, 45, 46, 47);
    ((__global struct ip_any_shorts *)to)[1].all =
        __builtin_shufflevector(t.a, t.b, 16, 17, 18, 19, 20, 21, 22, 23, 48, 49, 50, 51, 52, 53, 54, 55, 24, 25, 26,
                                27, 28, 29, 30, 31, 56, 57, 58, 59, 60, 61, 62, 63);
#else
    ((__global struct ip_any_shorts *)to)[0].all =
        __builtin_shufflevector(t.a, t.b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    ((__global struct ip_any_shorts *)to)[1].all =
        __builtin_shufflevector(t.a, t.b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
#endif
}

static inline void ip_put_short_short(__global short *to, struct ip_term t)
{
    ((__global struct ip_any_shorts *)to)[0].all = t.a;
    ((__global struct ip_any_shorts *)to)[1].all = t.b;
}

static inline void ip_put_uchar_uchar(__global uchar *to, struct ip_term t)
{
    ((__global struct ip_any_bytes *)to)->all = ip_to_bytes(t);
}

static inline void ip_put_short_uchar(__global uchar *to, struct ip_term t)
{
    const ip_dot_longs eights = __builtin_astype(ip_to_bytes(t), ip_dot_longs);
#ifdef __AVX512BW__
    const ip_dot_longs in_order = __builtin_shufflevector(eights, eights, 0, 2, 4, 6, 1, 3, 5, 7);
#else
    const ip_dot_longs in_order = __builtin_shufflevector(eights, eights, 0, 2, 1, 3);
#endif
    ((__global struct ip_any_bytes *)to)->all = __builtin_astype(in_order, ip_dot_bytes);
}

/* Makes elements i.., U times IP_DOT_WIDTH of them. EACH: rows a term. */
#define IP_DOT_SOME(U, TERM, EACH, FROM, TO)                                                                 \
    {                                                                                                        \
        struct ip_sums sums[U];                                                                              \
        struct ip_term made;                                                                                 \
        made.a = made.b = 0;                                                                                 \
        _Pragma("unroll") for (int u = 0; u < U; u++) sums[u].a = sums[u].b = sums[u].c = sums[u].d = start; \
        for (int k = 0; k + 1 < n; k += 2)                                                                   \
            _Pragma("unroll") for (int u = 0; u < U; u++)                                                    \
                ip_add_two(&sums[u], ip_##TERM##_##FROM(rows + EACH * k, i + u * IP_DOT_WIDTH),              \
                           ip_##TERM##_##FROM(rows + EACH * (k + 1), i + u * IP_DOT_WIDTH), weights[k / 2]); \
        _Pragma("unroll") for (int u = 0; u < U; u++)                                                        \
        {                                                                                                    \
            if (n % 2)                                                                                       \
                ip_add_two(&sums[u], ip_##TERM##_##FROM(rows + EACH * (n - 1), i + u * IP_DOT_WIDTH), zero,  \
                           weights[n / 2]);                                                                  \
            made.a = ip_to_shorts(sums[u].a, sums[u].b, shift, offset);                                      \
            made.b = ip_to_shorts(sums[u].c, sums[u].d, shift, offset);                                      \
            ip_put_##FROM##_##TO(to + i + u * IP_DOT_WIDTH, made);                                           \
        }                                                                                                    \
    }

/* The last vector begins early. */
#define IP_DOT(TERM, EACH, FROM, TO)                                                                                 \
    IP_ADDS                                                                                                          \
    IP_APART int ip_dot_##TERM##_##FROM##_##TO(__global TO *to, __global const FROM *const *rows,                    \
                                                 const int *weights, int n, int from, int end, int start, int shift, \
                                                 int offset)                                                         \
    {                                                                                                                \
        struct ip_term zero;                                                                                         \
        zero.a = zero.b = 0;                                                                                         \
        if (end - from < IP_DOT_WIDTH) return 0;                                                                     \
        int i = from;                                                                                                \
        for (; i + IP_AT_ONCE * IP_DOT_WIDTH <= end; i += IP_AT_ONCE * IP_DOT_WIDTH)                                 \
            IP_DOT_SOME(IP_AT_ONCE, TERM, EACH, FROM, TO)                                                            \
        for (int at = i; at < end; at += IP_DOT_WIDTH) {                                                             \
            i = min(at, end - IP_DOT_WIDTH);                                                                         \
            IP_DOT_SOME(1, TERM, EACH, FROM, TO)                                                                     \
        }                                                                                                            \
        return 1;                                                                                                    \
    }

/* to[i] = saturated((sum over k < n of rows[k][i] * scale + 2^14) >> 15), where the sum has 15 bits. n is written in
 * the program. */
static inline __attribute__((always_inline)) int ip_mean(__global uchar *to, __global const ushort *const *rows, int n,
                                                         int from, int end, short scale)
{
    if (end - from < IP_DOT_WIDTH) return 0;
    const ip_dot_shorts s = scale;
#pragma clang loop unroll(disable)
    for (int at = from; at < end; at += IP_DOT_WIDTH) {
        const int i = min(at, end - IP_DOT_WIDTH);
        struct ip_term sum = ip_single_short((__global const short *const *)rows, i);
#pragma unroll
        for (int k = 1; k < n; k++) {
            const struct ip_term next = ip_single_short((__global const short *const *)(rows + k), i);
            sum.a += next.a;
            sum.b += next.b;
        }
        sum.a = __builtin_astype(IP_X86(pmulhrsw)(sum.a, s), ip_dot_shorts);
        sum.b = __builtin_astype(IP_X86(pmulhrsw)(sum.b, s), ip_dot_shorts);
        ip_put_short_uchar(to + i, sum);
    }
    return 1;
}

#else

static inline int ip_mean(__global uchar *to, __global const ushort *const *rows, int n, int from, int end, short scale)
{
    return 0;
}
#define IP_DOT(TERM, EACH, FROM, TO)                                                                           \
    static inline int ip_dot_##TERM##_##FROM##_##TO(__global TO *to, __global const FROM *const *rows,         \
                                                      const int *weights, int n, int from, int end, int start, \
                                                      int shift, int offset)                                   \
    {                                                                                                          \
        return 0;                                                                                              \
    }

#endif
IP_DOT(pair, 2, uchar, uchar)
IP_DOT(pair, 2, uchar, short)
IP_DOT(pair, 2, short, uchar)
IP_DOT(pair, 2, short, short)
IP_DOT(single, 1, uchar, uchar)
IP_DOT(single, 1, uchar, short)
IP_DOT(single, 1, short, uchar)
IP_DOT(single, 1, short, short)
