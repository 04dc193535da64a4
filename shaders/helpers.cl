/* SPDX-License-Identifier: MIT */
/*
 * Helpers that every generated program starts with: border rules, divisions that floor, means, folds of a work-group;
 * for CPUs what moves rows (non-temporal stores, prefetches, transposes, strided and repeated pixels), sums of bytes
 * and mixed channels; and the functions of checked mode. Most are small and inlined; those that are not are IP_APART.
 * On PoCL a program has only the sections of which it has a name: they begin with a line of names (src/run/needed.h),
 * and an #if ends in the section where it begins.
 */
#pragma OPENCL FP_CONTRACT OFF
#ifdef IP_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/*
 * A function that is not inlined: src/compile/emit.c, Note [Kernels that call]. Vectors of 512 bits must be asked for;
 * into functions that PoCL makes itself it allows them.
 */
#if defined(__clang__) && defined(__x86_64__)
#define IP_APART static __attribute__((noinline, min_vector_width(512)))
#else
#define IP_APART static __attribute__((noinline))
#endif

/*: ip_replicate */
/* An index moved inside 0..n-1. Mirroring and wrapping work at any distance. */
static inline int ip_replicate(int i, int n) { return min(max(i, 0), n - 1); }

/*: ip_rootn5 */
#define ip_rootn5(x) rootn(x, 5)

/*: ip_wrap */
static inline int ip_wrap(int i, int n)
{
    if (i >= 0 & i < n) return i;
    i %= n;
    return i < 0 ? i + n : i;
}

/*: ip_add_ushort */
/* a + b, saturating: for sums that never do (src/compile/emit_expr.c, Note [Sums of 16 bits]). */
static inline ushort ip_add_ushort(ushort a, ushort b)
{
    const ushort sum = (ushort)(a + b);
    return sum < a ? (ushort)65535 : sum;
}

/*: ip_mean_* */
/* (a + b + 1) >> 1 */
static inline uchar ip_mean_uchar(uchar a, uchar b) { return (uchar)(((uint)a + (uint)b + 1u) >> 1); }
static inline ushort ip_mean_ushort(ushort a, ushort b) { return (ushort)(((uint)a + (uint)b + 1u) >> 1); }

/*: ip_reflect */
/* ba|abcd|dc */
static inline int ip_reflect(int i, int n)
{
    if (i >= 0 & i < n) return i;
    const uint period = 2u * (uint)n, m = (uint)(i < 0 ? ~i : i) % period;
    return (int)(m < (uint)n ? m : period - 1u - m);
}

/*: ip_reflect101 */
/* cb|abcd|cb; of a single element always that one */
static inline int ip_reflect101(int i, int n)
{
    if (i >= 0 & i < n) return i;
    if (n == 1) return 0;
    const uint period = 2u * (uint)n - 2u, m = (i < 0 ? 0u - (uint)i : (uint)i) % period;
    return (int)(m < (uint)n ? m : period - m);
}

/*: ip_div_* ip_mod_* */
/* Quotients and remainders that floor; by zero 0. */
#define IP_FLOOR_DIVISION(T, U)                             \
    static inline T ip_div_##T(T a, T b)                    \
    {                                                       \
        if (b == 0) return 0;                               \
        if (b == (T)-1) return (T)(0 - (U)a);               \
        T q = a / b;                                        \
        return a % b != 0 & (a < 0) != (b < 0) ? q - 1 : q; \
    }                                                       \
    static inline T ip_mod_##T(T a, T b)                    \
    {                                                       \
        if (b == 0 || b == (T)-1) return 0;                 \
        T r = a % b;                                        \
        return r != 0 & (r < 0) != (b < 0) ? r + b : r;     \
    }
IP_FLOOR_DIVISION(int, uint)
IP_FLOOR_DIVISION(long, ulong)

#define IP_PLAIN_DIVISION(T)                                            \
    static inline T ip_div_##T(T a, T b) { return b == 0 ? 0 : a / b; } \
    static inline T ip_mod_##T(T a, T b) { return b == 0 ? 0 : a % b; }
IP_PLAIN_DIVISION(uint)
IP_PLAIN_DIVISION(ulong)

/*: ip_fmod_* */
/* a - b * floor(a / b), with the sign of b; by zero 0 */
static inline float ip_fmod_float(float a, float b)
{
    if (b == 0.0f) return 0.0f;
    float r = fmod(a, b);
    return r != 0.0f & (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
#ifdef IP_F64
static inline double ip_fmod_double(double a, double b)
{
    if (b == 0.0) return 0.0;
    double r = fmod(a, b);
    return r != 0.0 & (r < 0.0) != (b < 0.0) ? r + b : r;
}
#endif

/*: ip_group_* */
/*
 * The totals of a work-group's items, combined in any order: integers, whose order does not matter. tree has room for
 * all items; tree[0] is the result for all of them. Sub-groups combine theirs without memory where the device has them,
 * else half as many meet in each step.
 */
#ifdef IP_SUB_GROUPS
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define IP_GROUP_FOLD(T, NAME, COMBINED)                                                    \
    static inline void ip_group_##NAME##_##T(__local T *tree, T total, int lane, int items) \
    {                                                                                       \
        total = sub_group_reduce_##NAME(total);                                             \
        if (get_sub_group_local_id() == 0) tree[get_sub_group_id()] = total;                \
        barrier(CLK_LOCAL_MEM_FENCE);                                                       \
        for (uint k = 1; lane == 0 & k < get_num_sub_groups(); k += 1) {                    \
            const T a = tree[0], b = tree[k];                                               \
            tree[0] = COMBINED;                                                             \
        }                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    }
#else
#define IP_GROUP_FOLD(T, NAME, COMBINED)                                                    \
    static inline void ip_group_##NAME##_##T(__local T *tree, T total, int lane, int items) \
    {                                                                                       \
        tree[lane] = total;                                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                                       \
        for (int n = items / 2; n > 0; n /= 2) {                                            \
            if (lane < n) {                                                                 \
                const T a = tree[lane], b = tree[lane + n];                                 \
                tree[lane] = COMBINED;                                                      \
            }                                                                               \
            barrier(CLK_LOCAL_MEM_FENCE);                                                   \
        }                                                                                   \
    }
#endif
#define IP_GROUP_FOLDS(T)            \
    IP_GROUP_FOLD(T, add, a + b)     \
    IP_GROUP_FOLD(T, min, min(a, b)) \
    IP_GROUP_FOLD(T, max, max(a, b))
#ifdef IP_GROUPS
IP_GROUP_FOLDS(int)
IP_GROUP_FOLDS(uint)
IP_GROUP_FOLDS(long)
IP_GROUP_FOLDS(ulong)
#endif

/*:*/
/* Rows that come from memory and go back to it (src/compile/emit_stream.c), where the device's compiler knows how to
 * say so. */
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define IP_STREAMS
#endif
/* Four bytes or shorts as a word. */
struct __attribute__((packed, may_alias)) ip_word_uchar {
    uint bits;
};
struct __attribute__((packed, may_alias)) ip_word_ushort {
    ulong bits;
};
/*: ip_of_four_* */
/* Channel c of a pixel of four (src/compile/emit_memory.c, Note [Four channels]). */
#if defined(IP_STREAMS) && defined(__ENDIAN_LITTLE__)
#define IP_OF_FOUR(T, BITS)                                                         \
    static inline T ip_of_four_##T(__global const T *pixel, int c)                  \
    {                                                                               \
        return (T)(((__global const struct ip_word_##T *)pixel)->bits >> BITS * c); \
    }
#else
#define IP_OF_FOUR(T, BITS) \
    static inline T ip_of_four_##T(__global const T *pixel, int c) { return pixel[c]; }
#endif
IP_OF_FOUR(uchar, 8)
IP_OF_FOUR(ushort, 16)
/*: ip_broadcast_* ip_sixteen_* */
/* Pixels of 2 or 4 channels that all have one value, or all but the last (src/compile/emit_broadcast.c, Note [Broadcast
 * rows]). Returns end; x where there are too few. */
#define IP_BROADCAST(T)                                                                                                \
    struct __attribute__((packed, may_alias)) ip_sixteen_##T {                                                         \
        T##16 all;                                                                                                     \
    };                                                                                                                 \
    static inline int ip_broadcast_2_##T(__global T *to, __global const T *from, int x, int end, int has_last, T last) \
    {                                                                                                                  \
        if (end - x < 16) return x;                                                                                    \
        for (int at = x; at < end; at += 16) {                                                                         \
            const int i = min(at, end - 16);                                                                           \
            const T##16 v = ((__global const struct ip_sixteen_##T *)(from + i))->all;                                 \
            T##16 a = v.s0011223344556677, b = v.s8899aabbccddeeff;                                                    \
            if (has_last) a.s13579bdf = b.s13579bdf = (T##8)(last);                                                    \
            ((__global struct ip_sixteen_##T *)(to + 2 * i))[0].all = a;                                               \
            ((__global struct ip_sixteen_##T *)(to + 2 * i))[1].all = b;                                               \
        }                                                                                                              \
        return end;                                                                                                    \
    }                                                                                                                  \
    static inline int ip_broadcast_4_##T(__global T *to, __global const T *from, int x, int end, int has_last, T last) \
    {                                                                                                                  \
        if (end - x < 16) return x;                                                                                    \
        for (int at = x; at < end; at += 16) {                                                                         \
            const int i = min(at, end - 16);                                                                           \
            const T##16 v = ((__global const struct ip_sixteen_##T *)(from + i))->all;                                 \
            T##16 a = v.s0000111122223333, b = v.s4444555566667777, c = v.s88889999aaaabbbb, d = v.sccccddddeeeeffff;  \
            if (has_last) a.s37bf = b.s37bf = c.s37bf = d.s37bf = (T##4)(last);                                        \
            ((__global struct ip_sixteen_##T *)(to + 4 * i))[0].all = a;                                               \
            ((__global struct ip_sixteen_##T *)(to + 4 * i))[1].all = b;                                               \
            ((__global struct ip_sixteen_##T *)(to + 4 * i))[2].all = c;                                               \
            ((__global struct ip_sixteen_##T *)(to + 4 * i))[3].all = d;                                               \
        }                                                                                                              \
        return end;                                                                                                    \
    }
IP_BROADCAST(uchar)
IP_BROADCAST(ushort)
IP_BROADCAST(int)
IP_BROADCAST(float)
/*: ip_eight ip_word_4 ip_word_8 ip_copy_bytes ip_stream */
struct __attribute__((packed, may_alias)) ip_eight {
    ulong bits;
};
/* Words of 4 and 8 bytes (src/compile/emit_gather.c, Note [Gathered words]). */
static inline uint ip_word_4(__global const uchar *at) { return ((__global const struct ip_word_uchar *)at)->bits; }
static inline ulong ip_word_8(__global const uchar *at) { return ((__global const struct ip_eight *)at)->bits; }
static inline void ip_copy_bytes(__global uchar *to, __global const uchar *from, int i, int end)
{
#pragma clang loop vectorize(disable) unroll(disable)
    for (; i + 8 <= end; i += 8)
        ((__global struct ip_eight *)(to + i))->bits = ((__global const struct ip_eight *)(from + i))->bits;
#pragma clang loop vectorize(disable) unroll(disable)
    for (; i < end; i += 1)
        to[i] = from[i];
}

/*
 * Bytes first..end of `from` to the same of `to`, both of which begin a line of 64 bytes. Whole lines go past the
 * caches; first is not 0 where others wrote the beginning of its line, less than 0 where they wrote all of it. Of what
 * is left behind the last whole line, no more is to come where is_last; else it is put to the beginning of `from` for
 * the next call. ip_stream_end() follows the last call.
 */
IP_APART void ip_stream(__global uchar *to, __global uchar *from, int end, int first, int is_last)
{
    int i = first ? 64 : 0;
    if (first > 0) ip_copy_bytes(to, from, first, min(end, 64));
    for (; i + 64 <= end; i += 64)
#ifdef IP_STREAMS
        __builtin_nontemporal_store(*(__global const uint16 *)(from + i), (__global uint16 *)(to + i));
#else
        *(__global uint16 *)(to + i) = *(__global const uint16 *)(from + i);
#endif
    if (is_last)
        ip_copy_bytes(to, from, i, end);
    else if (i < end)
        *(__global uint16 *)from = *(__global const uint16 *)(from + i);
}

/*: ip_any_float8 ip_any_float16 */
/* Floats that lie anywhere: compilers take vload16() apart. */
typedef float8 __attribute__((aligned(4))) ip_any_float8;
typedef float16 __attribute__((aligned(4))) ip_any_float16;

/*: ip_are_pairs */
/* Whether four columns are one twice and the next twice: src/compile/emit_lanes.c, Note [Pixels in pairs]. */
static inline bool ip_are_pairs(__global const int *columns)
{
    const ulong each = 0x0000000100000001UL;
    const ulong first = as_ulong(vload2(0, columns)), last = as_ulong(vload2(1, columns));
    return first == (first & 0xffffffffUL) * each && last - first == each;
}

/*: ip_prefetch ip_prefetch_* */
/* n bytes, at least one, will be read soon; they need not be there. */
static inline void ip_prefetch(__global const uchar *from, int n)
{
#ifdef IP_STREAMS
    for (int i = 0; i < n; i += 64)
        __builtin_prefetch(from + i);
    __builtin_prefetch(from + n - 1);
#endif
}

/* The same, into the second-level cache only. */
static inline void ip_prefetch_far(__global const uchar *from, int n)
{
#ifdef IP_STREAMS
    for (int i = 0; i < n; i += 64)
        __builtin_prefetch(from + i, 0, 2);
    __builtin_prefetch(from + n - 1, 0, 2);
#endif
}

/* n bytes will be written soon. A processor reads their lines first. */
static inline void ip_prefetch_to(__global const uchar *to, int n)
{
#ifdef IP_STREAMS
    for (int i = 0; i < n; i += 64)
        __builtin_prefetch(to + i, 1);
#endif
}

/*: ip_turn_* ip_any_uchar ip_any_ushort ip_any_uint ip_four_uints ip_load_four ip_word_of_* */
/*
 * Columns of four rows as rows (src/compile/emit_transpose.c): n elements of each from `column` on, backwards where
 * back is set, go to to[0], to[pitch] and so on, four elements a row. Four by four, since to load and store each by
 * itself takes twice as long; narrow ones as parts of a WORD, since compilers take vectors of them apart. EVEN: its
 * parts 0 and 2. DONE: how many columns are done before.
 */
#define IP_TURN_ROWS(T)                                                                       \
    __global const ip_any_##T *a, __global const ip_any_##T *b, __global const ip_any_##T *c, \
        __global const ip_any_##T *d, int column, int n, int back, __global ip_any_##T *to, int pitch
#define IP_TURN_REST(T)                                                 \
    for (; j < n; j += 1) {                                             \
        const int at = back ? column - j : column + j;                  \
        __global ip_any_##T *const row = to + (long)j * pitch;          \
        row[0] = a[at], row[1] = b[at], row[2] = c[at], row[3] = d[at]; \
    }
/* Elements of whatever type: floats are turned as uints. */
typedef uchar __attribute__((may_alias)) ip_any_uchar;
typedef ushort __attribute__((may_alias)) ip_any_ushort;
typedef uint __attribute__((may_alias)) ip_any_uint;
struct __attribute__((packed, may_alias)) ip_four_uints {
    uint4 v;
};
/* Several columns at a time, where vectors are shuffled quickly. Both return how many are done. */
static inline int ip_turn_bytes(IP_TURN_ROWS(uchar))
{
    int j = 0;
#if defined(IP_STREAMS) && defined(__x86_64__)
    for (; j + 16 <= n; j += 16) {
        const int at = back ? column - j - 15 : column + j;
        const uchar16 p = vload16(0, a + at), q = vload16(0, b + at), r = vload16(0, c + at), s = vload16(0, d + at);
        const ushort8 pq0 = as_ushort8(
            (uchar16)(p.s0, q.s0, p.s1, q.s1, p.s2, q.s2, p.s3, q.s3, p.s4, q.s4, p.s5, q.s5, p.s6, q.s6, p.s7, q.s7));
        const ushort8 pq8 = as_ushort8(
            (uchar16)(p.s8, q.s8, p.s9, q.s9, p.sa, q.sa, p.sb, q.sb, p.sc, q.sc, p.sd, q.sd, p.se, q.se, p.sf, q.sf));
        const ushort8 rs0 = as_ushort8(
            (uchar16)(r.s0, s.s0, r.s1, s.s1, r.s2, s.s2, r.s3, s.s3, r.s4, s.s4, r.s5, s.s5, r.s6, s.s6, r.s7, s.s7));
        const ushort8 rs8 = as_ushort8(
            (uchar16)(r.s8, s.s8, r.s9, s.s9, r.sa, s.sa, r.sb, s.sb, r.sc, s.sc, r.sd, s.sd, r.se, s.se, r.sf, s.sf));
        uint words[16];
        vstore4(as_uint4((ushort8)(pq0.s0, rs0.s0, pq0.s1, rs0.s1, pq0.s2, rs0.s2, pq0.s3, rs0.s3)), 0, words);
        vstore4(as_uint4((ushort8)(pq0.s4, rs0.s4, pq0.s5, rs0.s5, pq0.s6, rs0.s6, pq0.s7, rs0.s7)), 1, words);
        vstore4(as_uint4((ushort8)(pq8.s0, rs8.s0, pq8.s1, rs8.s1, pq8.s2, rs8.s2, pq8.s3, rs8.s3)), 2, words);
        vstore4(as_uint4((ushort8)(pq8.s4, rs8.s4, pq8.s5, rs8.s5, pq8.s6, rs8.s6, pq8.s7, rs8.s7)), 3, words);
        __global uchar *row = to + (long)(back ? j + 15 : j) * pitch;
        for (int k = 0; k < 16; k += 1, row += back ? -pitch : pitch)
            ((__global struct ip_word_uchar *)row)->bits = words[k];
    }
#endif
    return j;
}
static inline uint4 ip_load_four(__global const uint *from) { return ((__global const struct ip_four_uints *)from)->v; }
static inline int ip_turn_uints(IP_TURN_ROWS(uint))
{
    int j = 0;
#if defined(IP_STREAMS) && defined(__x86_64__)
    for (; j + 4 <= n; j += 4) {
        const int at = back ? column - j - 3 : column + j;
        const uint4 p = ip_load_four(a + at), q = ip_load_four(b + at), r = ip_load_four(c + at),
                    s = ip_load_four(d + at);
        __global uint *const first = to + (long)(back ? j + 3 : j) * pitch;
        const long down = back ? -pitch : pitch;
        ((__global struct ip_four_uints *)first)->v = (uint4)(p.s0, q.s0, r.s0, s.s0);
        ((__global struct ip_four_uints *)(first + down))->v = (uint4)(p.s1, q.s1, r.s1, s.s1);
        ((__global struct ip_four_uints *)(first + 2 * down))->v = (uint4)(p.s2, q.s2, r.s2, s.s2);
        ((__global struct ip_four_uints *)(first + 3 * down))->v = (uint4)(p.s3, q.s3, r.s3, s.s3);
    }
#endif
    return j;
}
#define IP_TURN(T, WORD, BITS, EVEN, DONE)                                                                     \
    static inline WORD ip_word_of_##T(__global const T *from)                                                  \
    {                                                                                                          \
        return ((__global const struct ip_word_##T *)from)->bits;                                              \
    }                                                                                                          \
    static inline void ip_turn_##T(IP_TURN_ROWS(T))                                                            \
    {                                                                                                          \
        const WORD low = ((WORD)1 << 2 * BITS) - 1;                                                            \
        int j = DONE;                                                                                          \
        for (; j + 4 <= n; j += 4) {                                                                           \
            const int at = back ? column - j - 3 : column + j, first = back ? j + 3 : j, down = back ? -1 : 1; \
            const WORD p = ip_word_of_##T(a + at), q = ip_word_of_##T(b + at);                                 \
            const WORD r = ip_word_of_##T(c + at), s = ip_word_of_##T(d + at);                                 \
            const WORD pq0 = (p & EVEN) | (q & EVEN) << BITS, pq1 = (p >> BITS & EVEN) | (q & ~EVEN);          \
            const WORD rs0 = (r & EVEN) | (s & EVEN) << BITS, rs1 = (r >> BITS & EVEN) | (s & ~EVEN);          \
            ((__global struct ip_word_##T *)(to + (long)first * pitch))->bits = (pq0 & low) | rs0 << 2 * BITS; \
            ((__global struct ip_word_##T *)(to + (long)(first + down) * pitch))->bits =                       \
                (pq1 & low) | rs1 << 2 * BITS;                                                                 \
            ((__global struct ip_word_##T *)(to + (long)(first + 2 * down) * pitch))->bits =                   \
                pq0 >> 2 * BITS | (rs0 & ~low);                                                                \
            ((__global struct ip_word_##T *)(to + (long)(first + 3 * down) * pitch))->bits =                   \
                pq1 >> 2 * BITS | (rs1 & ~low);                                                                \
        }                                                                                                      \
        IP_TURN_REST(T)                                                                                        \
    }
/*: ip_bytes16 ip_words_of_pixels ip_words_to_pixels ip_turn_* */
/* Reads sixteen bytes, of which twelve are four pixels; each of them in the low three bytes of a word. */
struct __attribute__((packed, may_alias)) ip_bytes16 {
    uchar16 bytes;
};
static inline uint4 ip_words_of_pixels(__global const uchar *from)
{
    return as_uint4(((__global const struct ip_bytes16 *)from)->bytes.s0123345667899abc);
}
/* Writes the low three bytes of four words, and four bytes behind them. */
static inline void ip_words_to_pixels(__global uchar *to, uint4 words)
{
    ((__global struct ip_bytes16 *)to)->bytes = as_uchar16(words).s01245689acde37bf;
}
/*
 * As ip_turn_uchar3(), sixteen pixels at a time where vectors are shuffled quickly: words are turned four by four.
 * Behind a row of what is written there must be room for four bytes. Returns how many elements of each row are done.
 */
static inline int ip_turn_words(IP_TURN_ROWS(uchar))
{
    int j = 0;
#if defined(IP_STREAMS) && defined(__x86_64__)
    for (; j + 4 <= n; j += 4) {
        const long at = (long)(back ? column - j - 3 : column + j) * 3;
        const uint4 p = ip_words_of_pixels(a + at), q = ip_words_of_pixels(b + at);
        const uint4 r = ip_words_of_pixels(c + at), s = ip_words_of_pixels(d + at);
        const int first = back ? j + 3 : j, down = back ? -1 : 1;
        ip_words_to_pixels(to + (long)first * pitch, (uint4)(p.s0, q.s0, r.s0, s.s0));
        ip_words_to_pixels(to + (long)(first + down) * pitch, (uint4)(p.s1, q.s1, r.s1, s.s1));
        ip_words_to_pixels(to + (long)(first + 2 * down) * pitch, (uint4)(p.s2, q.s2, r.s2, s.s2));
        ip_words_to_pixels(to + (long)(first + 3 * down) * pitch, (uint4)(p.s3, q.s3, r.s3, s.s3));
    }
#endif
    return j;
}
/*: ip_take_* */
/*
 * Every second, third or fourth of n pixels of three bytes (src/compile/emit_strided.c), several at a time where
 * vectors are shuffled quickly. Sixteen bytes are read and written at once, none of them behind the last pixel. Returns
 * how many are done.
 */
#if defined(IP_STREAMS) && defined(__x86_64__)
#define IP_TAKE(NAME, SPACE, BY, AT_ONCE, PLACES)                                     \
    static inline int NAME##_##BY(__global uchar *to, SPACE const uchar *from, int n) \
    {                                                                                 \
        int k = 0;                                                                    \
        for (; k + 6 <= n; k += AT_ONCE)                                              \
            ((__global struct ip_bytes16 *)(to + k * 3))->bytes =                     \
                ((SPACE const struct ip_bytes16 *)(from + k * BY))->bytes.PLACES;     \
        return k;                                                                     \
    }
#else
#define IP_TAKE(NAME, SPACE, BY, AT_ONCE, PLACES) \
    static inline int NAME##_##BY(__global uchar *to, SPACE const uchar *from, int n) { return 0; }
#endif
#define IP_TAKE_BY(NAME, SPACE)                   \
    IP_TAKE(NAME, SPACE, 6, 3, s012678cdefffffff) \
    IP_TAKE(NAME, SPACE, 9, 2, s0129abffffffffff) \
    IP_TAKE(NAME, SPACE, 12, 2, s012cdeffffffffff)
IP_TAKE_BY(ip_take, __private)
IP_TAKE_BY(ip_take_row, __global)
/*: ip_strided_* ip_repeat_* */
/* The pixel that a word begins with (src/compile/emit_strided.c, Note [Strided loads]). */
#define IP_WORD_OF(T)                                          \
    struct __attribute__((packed, may_alias)) ip_word_of_##T { \
        T bits;                                                \
    };
IP_WORD_OF(uchar)
IP_WORD_OF(ushort)
IP_WORD_OF(uint)
IP_WORD_OF(ulong)
#ifdef __ENDIAN_LITTLE__
#define IP_BEGINS_WITH(TO, WORD, BITS) ((TO)(BITS))
#else
#define IP_BEGINS_WITH(TO, WORD, BITS) ((TO)((BITS) >> (sizeof(WORD) - sizeof(TO)) * 8))
#endif
#define IP_STRIDED(TO, WORD)                                                                       \
    static inline void ip_strided_##TO##_of_##WORD(__global uchar *to, __global const uchar *from) \
    {                                                                                              \
        const WORD bits = ((__global const struct ip_word_of_##WORD *)from)->bits;                 \
        ((__global struct ip_word_of_##TO *)to)->bits = IP_BEGINS_WITH(TO, WORD, bits);            \
    }
IP_STRIDED(uchar, ushort)
IP_STRIDED(uchar, uint)
IP_STRIDED(ushort, uint)
IP_STRIDED(ushort, ulong)
IP_STRIDED(uint, ulong)
/* A word of as many equal pixels as it holds (src/compile/emit_repeat.c): bits times 1, 257 ... */
#define IP_REPEAT(FROM, WORD)                                                                         \
    static inline void ip_repeat_##FROM##_as_##WORD(__global uchar *to, __global const uchar *from)   \
    {                                                                                                 \
        const WORD bits = ((__global const struct ip_word_of_##FROM *)from)->bits;                    \
        ((__global struct ip_word_of_##WORD *)to)->bits = bits * ((WORD) ~(WORD)0 / (FROM) ~(FROM)0); \
    }
IP_REPEAT(uchar, ushort)
IP_REPEAT(uchar, uint)
IP_REPEAT(ushort, uint)
IP_REPEAT(ushort, ulong)
IP_REPEAT(uint, ulong)
/*: ip_mix_* */
/*
 * Bytes that are weighted sums of the channels of n pixels of three bytes (src/compile/emit_mix.c): (start + red r +
 * green g + blue b) >> shift, clamped. Of a pixel's 16-bit pairs (r, g) and (g, b) each is multiplied by a pair of
 * weights and added up in one step. Reads no more than `room` pixels. Returns how many are done: none where the
 * processor has no such vectors.
 */
#if defined(IP_STREAMS) && defined(__AVX2__)
typedef uchar ip_uchar32 __attribute__((ext_vector_type(32)));
typedef char ip_char32 __attribute__((ext_vector_type(32)));
/* Of four pixels in each half the bytes at these places, each as 16 bits: index 32 is 0. */
#define IP_PAIRS(A, B)                                                                                              \
    A, 32, B, 32, A + 3, 32, B + 3, 32, A + 6, 32, B + 6, 32, A + 9, 32, B + 9, 32, A + 16, 32, B + 16, 32, A + 19, \
        32, B + 19, 32, A + 22, 32, B + 22, 32, A + 25, 32, B + 25, 32
static inline int8 ip_mix_eight(__global const uchar *from, short16 red_green, short16 green_blue, int8 start)
{
    const uchar16 first = ((__global const struct ip_bytes16 *)from)->bytes,
                  later = ((__global const struct ip_bytes16 *)(from + 48))->bytes;
    const ip_uchar32 zero = 0, pixels = __builtin_shufflevector(first, later, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                                                13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
                                                                27, 28, 29, 30, 31);
    const short16 rg = __builtin_astype(__builtin_shufflevector(pixels, zero, IP_PAIRS(0, 1)), short16);
    const short16 gb = __builtin_astype(__builtin_shufflevector(pixels, zero, IP_PAIRS(1, 2)), short16);
    return start + __builtin_astype(__builtin_ia32_pmaddwd256(rg, red_green), int8) +
           __builtin_astype(__builtin_ia32_pmaddwd256(gb, green_blue), int8);
}
struct __attribute__((packed, may_alias)) ip_bytes32 {
    ip_char32 bytes;
};
IP_APART int ip_mix_pixels(__global uchar *to, __global const uchar *from, int n, int room, int r, int g, int b,
                           int start, int shift)
{
    const short16 red_green = as_short16((int8)(r | g / 2 << 16)),
                  green_blue = as_short16((int8)((g - g / 2) | b << 16));
    int k = 0;
    for (; k + 32 <= n & k + 34 <= room; k += 32) {
        __global const uchar *const at = from + k * 3;
        const int8 p = ip_mix_eight(at, red_green, green_blue, start) >> shift,
                   q = ip_mix_eight(at + 12, red_green, green_blue, start) >> shift;
        const int8 s = ip_mix_eight(at + 24, red_green, green_blue, start) >> shift,
                   t = ip_mix_eight(at + 36, red_green, green_blue, start) >> shift;
        ((__global struct ip_bytes32 *)(to + k))->bytes = __builtin_astype(
            __builtin_ia32_packuswb256(__builtin_ia32_packssdw256(p, q), __builtin_ia32_packssdw256(s, t)), ip_char32);
    }
    return k;
}
#else
static inline int ip_mix_pixels(__global uchar *to, __global const uchar *from, int n, int room, int r, int g, int b,
                                int start, int shift)
{
    return 0;
}
#endif
/*: ip_turn_* */
/* As IP_TURN, of pixels of three channels; pitch counts elements. Behind the last pixel that is read there must be two
 * more. DONE: what is done before. */
#define IP_TURN_PIXELS(T, WORD, BITS, DONE)                                                                   \
    static inline void ip_turn_##T##3(IP_TURN_ROWS(T))                                                        \
    {                                                                                                         \
        const WORD pixel = ((WORD)1 << 3 * BITS) - 1;                                                         \
        for (int j = DONE; j < n; j += 1) {                                                                   \
            const long at = (long)(back ? column - j : column + j) * 3;                                       \
            const WORD p = ip_word_of_##T(a + at) & pixel, q = ip_word_of_##T(b + at) & pixel;                \
            const WORD r = ip_word_of_##T(c + at) & pixel, s = ip_word_of_##T(d + at);                        \
            __global struct ip_word_##T *const words = (__global struct ip_word_##T *)(to + (long)j * pitch); \
            words[0].bits = p | q << 3 * BITS;                                                                \
            words[1].bits = q >> BITS | r << 2 * BITS;                                                        \
            words[2].bits = r >> 2 * BITS | s << BITS;                                                        \
        }                                                                                                     \
    }
#ifdef __ENDIAN_LITTLE__
IP_TURN(uchar, uint, 8, 0x00ff00ffu, ip_turn_bytes(a, b, c, d, column, n, back, to, pitch))
IP_TURN(ushort, ulong, 16, 0x0000ffff0000fffful, 0)
IP_TURN_PIXELS(uchar, uint, 8, ip_turn_words(a, b, c, d, column, n, back, to, pitch))
IP_TURN_PIXELS(ushort, ulong, 16, 0)
#else
#define IP_TURN_SIMPLY(T)                                    \
    static inline void ip_turn_##T(IP_TURN_ROWS(T))          \
    {                                                        \
        int j = 0;                                           \
        IP_TURN_REST(T)                                      \
    }                                                        \
    static inline void ip_turn_##T##3(IP_TURN_ROWS(T))       \
    {                                                        \
        for (int j = 0; j < n; j += 1) {                     \
            const int at = back ? column - j : column + j;   \
            vstore3(vload3(at, a), 0, to + (long)j * pitch); \
            vstore3(vload3(at, b), 1, to + (long)j * pitch); \
            vstore3(vload3(at, c), 2, to + (long)j * pitch); \
            vstore3(vload3(at, d), 3, to + (long)j * pitch); \
        }                                                    \
    }
IP_TURN_SIMPLY(uchar)
IP_TURN_SIMPLY(ushort)
#endif
static inline void ip_turn_uint(IP_TURN_ROWS(uint))
{
    int j = ip_turn_uints(a, b, c, d, column, n, back, to, pitch);
    IP_TURN_REST(uint)
}

/*: ip_prefetch_next */
/*
 * n bytes are about to be read. Prefetches as many that come later; how (run/division.c): 1, a page behind them, which
 * will be read after them; 2, of the 32 KiB that come next a line of each page in turn into the second-level cache,
 * since memory serves eight pages at once a third faster than one, and the next n into the first-level one; 3, in the
 * row that is read next, `row` bytes from here; 4, nothing: the kernel's last stage does that (ip_prefetch_far()).
 */
IP_APART void ip_prefetch_next(__global const uchar *from, int n, int how, long row)
{
    if (how == 4) return;
    ip_prefetch(from + (how == 1 ? 4096 : how == 2 ? n : row), n);
    if (how != 2) return;
#ifdef IP_STREAMS
    const ulong end = ((ulong)from + n) / 512;
    for (ulong i = (ulong)from / 512; i < end; i += 1)
        for (int page = 0; page < 8; page += 1)
            __builtin_prefetch((__global const uchar *)((i / 64 + 1) * 32768 + page * 4096 + i % 64 * 64), 0, 2);
#endif
}

/*: ip_stream_end */
/* Orders them before whatever tells that the kernel is done. */
static inline void ip_stream_end(void)
{
#if defined(IP_STREAMS) && defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

/*: ip_sum_bytes */
/*
 * The sum of n bytes, at most 2^24. Bytes of even and of odd places are added apart, four sums of 16 bits to a word and
 * 32 bytes to a sum at most. (Widening each byte to 32 bits costs a processor two and a half times as much.)
 * prefetches: 0, or how ip_prefetch_next() prefetches; 3 as 1.
 */
static inline uint ip_sum_bytes(__global const uchar *from, int n, int prefetches)
{
    const ulong evens = 0x00ff00ff00ff00ffUL, pairs = 0x0000ffff0000ffffUL;
    const int head = min((int)(-(ulong)from & 7), n), groups = (n - head) / 64;
    __global const ulong *const words = (__global const ulong *)(from + head);
    ulong8 total = 0;
    for (int g = 0; g < groups; g += 32) {
        const int end = min(g + 32, groups);
        if (prefetches) ip_prefetch_next((__global const uchar *)(words + g * 8), (end - g) * 64,
                                         prefetches == 2 ? 2 : 1, 0);
        ulong8 even = 0, odd = 0;
        for (int i = g; i < end; i += 1) {
            const ulong8 v = vload8(i, words);
            even += v & evens;
            odd += v >> 8 & evens;
        }
        total += (even & pairs) + (even >> 16 & pairs) + (odd & pairs) + (odd >> 16 & pairs);
    }
    ulong left[8];
    uint sum = 0;
    vstore8(total, 0, left);
#pragma clang loop vectorize(disable) unroll(disable)
    for (int i = 0; i < 8; i += 1)
        sum += (uint)left[i] + (uint)(left[i] >> 32);
    for (int i = 0; i < head; i += 1)
        sum += from[i];
    for (int i = head + groups * 64; i < n; i += 1)
        sum += from[i];
    return sum;
}

/*: ip_check_* ip_checked_* */
/*
 * Checked mode. The first failure of a launch is told in checks: 1, its place in the text, z and y of what was
 * computed, the index in its row and the value's bits, the lower half first.
 */
#ifdef IP_CHECK
static inline void ip_check_failed(volatile __global int *checks, int place, int z, int y, long index, ulong bits)
{
    if (atomic_cmpxchg(&checks[0], 0, 1) != 0) return;
    checks[1] = place;
    checks[2] = z;
    checks[3] = y;
    checks[4] = (int)(uint)index;
    checks[5] = (int)(uint)(index >> 32);
    checks[6] = (int)(uint)bits;
    checks[7] = (int)(uint)(bits >> 32);
}

/* An index of the row that begins at `row` of `count` elements, moved inside where it is not. */
static inline long ip_checked_index(volatile __global int *checks, int place, int z, int y, long row, long index,
                                    long count)
{
    long at = row + index;
    if (at >= 0 && at < count) return index;
    ip_check_failed(checks, place, z, y, index, (ulong)at);
    return clamp(at, (long)0, count - 1) - row;
}

static inline float ip_checked_f32(volatile __global int *checks, int place, int z, int y, long index, float v)
{
    if (!isfinite(v)) ip_check_failed(checks, place, z, y, index, as_uint(v));
    return v;
}

#ifdef IP_F64
static inline double ip_checked_f64(volatile __global int *checks, int place, int z, int y, long index, double v)
{
    if (!isfinite(v)) ip_check_failed(checks, place, z, y, index, as_ulong(v));
    return v;
}
#endif
#endif
/*:*/
