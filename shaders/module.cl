/* SPDX-License-Identifier: MIT */
/*
 * What stands before every user's module: extensions, random numbers, and the words that kernels print and check with.
 * The host's half is src/cl/report.c, which reads the records that are written here.
 *
 * A report is an array of ints:
 *     [0] ints that records take, which may be more than there is room for   [1] room   [2] 1: a check failed
 *     [3...] records: kind, ints of the record, global id x y z, line, arguments, chars, chars in fours, arguments of
 *     three ints
 * An argument is its type (0 signed, 1 unsigned, 2 float, 3 double) and its bits, 64 of them, the lower half first.
 */
#if IMGPAR_HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if IMGPAR_HAS_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

/* ---- random numbers: Philox4x32-10, Salmon, Moraes, Dror and Shaw, SC 2011 ------------------ */

/* Four random words for an index of a sequence: the words that random(seed=) has for its elements 4 index to 4 index +
 * 3. */
static inline uint4 imgpar_random(ulong seed, ulong index)
{
    uint4 x = (uint4)((uint)index, (uint)(index >> 32), 0, 0);
    uint2 key = (uint2)((uint)seed, (uint)(seed >> 32));
    for (int round = 0; round < 10; round++) {
        uint high0 = mul_hi(0xD2511F53u, x.x), high1 = mul_hi(0xCD9E8D57u, x.z);
        x = (uint4)(high1 ^ x.y ^ key.x, 0xCD9E8D57u * x.z, high0 ^ x.w ^ key.y, 0xD2511F53u * x.x);
        key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
    }
    return x;
}

/* ---- reports ------------------------------------------------------------------------------------ */

#define IMGPAR_REPORT volatile global int *imgpar_report

enum { ip_report_print, ip_report_assert, ip_report_index, ip_report_finite };

static inline int ip_report_length(constant const char *text)
{
    int n = 0;
    while (text[n])
        n++;
    return n;
}

/* Begins a record; the place of its first argument, or 0 where there is no room. */
static inline int ip_report_begin(volatile global int *r, int kind, int line, constant const char *text, int n_args)
{
    int chars = ip_report_length(text), n = 8 + (chars + 3) / 4 + 3 * n_args;
    int at = atomic_add(&r[0], n) + 3;
    if (at < 3 || at + n > r[1]) return 0;
    r[at] = kind;
    r[at + 1] = n;
    for (int d = 0; d < 3; d++)
        r[at + 2 + d] = (int)get_global_id(d);
    r[at + 5] = line;
    r[at + 6] = n_args;
    r[at + 7] = chars;
    at += 8;
    for (int k = 0; k < chars; k += 4) {
        int four = 0;
        for (int i = 0; i < 4 && k + i < chars; i++)
            four |= (int)(uchar)text[k + i] << 8 * i;
        r[at++] = four;
    }
    return at;
}

static inline int ip_report_word(volatile global int *r, int at, int type, ulong bits)
{
    if (at == 0) return 0;
    r[at] = type;
    r[at + 1] = (int)(uint)bits;
    r[at + 2] = (int)(uint)(bits >> 32);
    return at + 3;
}

#define IP_REPORT_TYPE(T, TYPE, BITS)                                                                  \
    static inline int __attribute__((overloadable)) ip_report_arg(volatile global int *r, int at, T v) \
    {                                                                                                  \
        return ip_report_word(r, at, TYPE, BITS);                                                      \
    }
IP_REPORT_TYPE(char, 0, (ulong)(long)v)
IP_REPORT_TYPE(short, 0, (ulong)(long)v)
IP_REPORT_TYPE(int, 0, (ulong)(long)v)
IP_REPORT_TYPE(long, 0, (ulong)v)
IP_REPORT_TYPE(uchar, 1, v)
IP_REPORT_TYPE(ushort, 1, v)
IP_REPORT_TYPE(uint, 1, v)
IP_REPORT_TYPE(ulong, 1, v)
IP_REPORT_TYPE(float, 2, as_uint(v))
#if IMGPAR_HAS_F64
IP_REPORT_TYPE(double, 3, as_ulong(v))
#endif

#define IP_ARGS_0(r, at) at
#define IP_ARGS_1(r, at, a) ip_report_arg(r, at, a)
#define IP_ARGS_2(r, at, a, ...) IP_ARGS_1(r, ip_report_arg(r, at, a), __VA_ARGS__)
#define IP_ARGS_3(r, at, a, ...) IP_ARGS_2(r, ip_report_arg(r, at, a), __VA_ARGS__)
#define IP_ARGS_4(r, at, a, ...) IP_ARGS_3(r, ip_report_arg(r, at, a), __VA_ARGS__)
#define IP_ARGS_5(r, at, a, ...) IP_ARGS_4(r, ip_report_arg(r, at, a), __VA_ARGS__)
#define IP_ARGS_6(r, at, a, ...) IP_ARGS_5(r, ip_report_arg(r, at, a), __VA_ARGS__)
#define IP_ARGS_7(r, at, a, ...) IP_ARGS_6(r, ip_report_arg(r, at, a), __VA_ARGS__)
#define IP_ARGS_8(r, at, a, ...) IP_ARGS_7(r, ip_report_arg(r, at, a), __VA_ARGS__)
#define IP_PRINT_0(f) ((void)ip_report_begin(imgpar_report, ip_report_print, __LINE__, f, 0))
#define IP_PRINT_N(n, f, ...) \
    ((void)IP_ARGS_##n(imgpar_report, ip_report_begin(imgpar_report, ip_report_print, __LINE__, f, n), __VA_ARGS__))
#define IP_PRINT_1(f, ...) IP_PRINT_N(1, f, __VA_ARGS__)
#define IP_PRINT_2(f, ...) IP_PRINT_N(2, f, __VA_ARGS__)
#define IP_PRINT_3(f, ...) IP_PRINT_N(3, f, __VA_ARGS__)
#define IP_PRINT_4(f, ...) IP_PRINT_N(4, f, __VA_ARGS__)
#define IP_PRINT_5(f, ...) IP_PRINT_N(5, f, __VA_ARGS__)
#define IP_PRINT_6(f, ...) IP_PRINT_N(6, f, __VA_ARGS__)
#define IP_PRINT_7(f, ...) IP_PRINT_N(7, f, __VA_ARGS__)
#define IP_PRINT_8(f, ...) IP_PRINT_N(8, f, __VA_ARGS__)
#define IP_CHOOSE(f, a, b, c, d, e, g, h, i, chosen, ...) chosen
#define imgpar_printf(...)                                                                                     \
    IP_CHOOSE(__VA_ARGS__, IP_PRINT_8, IP_PRINT_7, IP_PRINT_6, IP_PRINT_5, IP_PRINT_4, IP_PRINT_3, IP_PRINT_2, \
              IP_PRINT_1, IP_PRINT_0)                                                                          \
    (__VA_ARGS__)

/* ---- checks: the first that fails is told ---------------------------------------------------------- */

#if IMGPAR_CHECKED
static inline void ip_check_assert(volatile global int *r, bool holds, int line, constant const char *text)
{
    if (!holds && atomic_cmpxchg(&r[2], 0, 1) == 0) ip_report_begin(r, ip_report_assert, line, text, 0);
}

static inline long ip_check_index(volatile global int *r, long i, long n, int line, constant const char *text)
{
    if (i >= 0 && i < n) return i;
    if (atomic_cmpxchg(&r[2], 0, 1) == 0)
        ip_report_arg(r, ip_report_arg(r, ip_report_begin(r, ip_report_index, line, text, 2), i), n);
    return clamp(i, (long)0, max(n - 1, (long)0));
}

#define IP_CHECK_FINITE(T)                                                            \
    static inline T __attribute__((overloadable))                                     \
    ip_check_finite(volatile global int *r, T v, int line, constant const char *text) \
    {                                                                                 \
        if (!isfinite(v) && atomic_cmpxchg(&r[2], 0, 1) == 0)                         \
            ip_report_arg(r, ip_report_begin(r, ip_report_finite, line, text, 1), v); \
        return v;                                                                     \
    }
IP_CHECK_FINITE(float)
#if IMGPAR_HAS_F64
IP_CHECK_FINITE(double)
#endif

#define imgpar_assert(condition) ip_check_assert(imgpar_report, condition, __LINE__, __FILE__ "\n" #condition)
#define imgpar_check_index(i, n) ip_check_index(imgpar_report, i, n, __LINE__, __FILE__ "\n" #i)
#define imgpar_check_finite(x) ip_check_finite(imgpar_report, x, __LINE__, __FILE__ "\n" #x)
#else
#define imgpar_assert(condition) ((void)0)
#define imgpar_check_index(i, n) (i)
#define imgpar_check_finite(x) (x)
#endif
