/* SPDX-License-Identifier: MIT */
/*
 * Helpers that every generated program starts with: border rules, and the
 * divisions that floor. All are small and inlined.
 */
#pragma OPENCL FP_CONTRACT OFF
#ifdef IP_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* An index moved inside 0..n-1. Mirroring and wrapping work at any distance. */
static inline int ip_replicate(int i, int n) { return min(max(i, 0), n - 1); }

static inline int ip_wrap(int i, int n)
{
    if (i >= 0 & i < n)
        return i;
    i %= n;
    return i < 0 ? i + n : i;
}

/* ba|abcd|dc */
static inline int ip_reflect(int i, int n)
{
    if (i >= 0 & i < n)
        return i;
    i = i < 0 ? -1 - i : i;
    i %= 2 * n;
    return i < n ? i : 2 * n - 1 - i;
}

/* cb|abcd|cb; of a single element always that one */
static inline int ip_reflect101(int i, int n)
{
    if (i >= 0 & i < n)
        return i;
    if (n == 1)
        return 0;
    i = i < 0 ? -i : i;
    i %= 2 * n - 2;
    return i < n ? i : 2 * n - 2 - i;
}

/* Quotients and remainders that floor; by zero 0. */
#define IP_FLOOR_DIVISION(T, U)                                                                                       \
    static inline T ip_div_##T(T a, T b)                                                                                     \
    {                                                                                                                 \
        if (b == 0)                                                                                                   \
            return 0;                                                                                                 \
        if (b == (T)-1)                                                                                               \
            return (T)(0 - (U)a);                                                                                     \
        T q = a / b;                                                                                                  \
        return a % b != 0 & (a < 0) != (b < 0) ? q - 1 : q;                                                           \
    }                                                                                                                 \
    static inline T ip_mod_##T(T a, T b)                                                                                     \
    {                                                                                                                 \
        if (b == 0 || b == (T)-1)                                                                                     \
            return 0;                                                                                                 \
        T r = a % b;                                                                                                  \
        return r != 0 & (r < 0) != (b < 0) ? r + b : r;                                                               \
    }
IP_FLOOR_DIVISION(int, uint)
IP_FLOOR_DIVISION(long, ulong)

#define IP_PLAIN_DIVISION(T)                                                                                          \
    static inline T ip_div_##T(T a, T b) { return b == 0 ? 0 : a / b; }                                                      \
    static inline T ip_mod_##T(T a, T b) { return b == 0 ? 0 : a % b; }
IP_PLAIN_DIVISION(uint)
IP_PLAIN_DIVISION(ulong)

/* a - b * floor(a / b), with the sign of b; by zero 0 */
static inline float ip_fmod_float(float a, float b)
{
    if (b == 0.0f)
        return 0.0f;
    float r = fmod(a, b);
    return r != 0.0f & (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
#ifdef IP_F64
static inline double ip_fmod_double(double a, double b)
{
    if (b == 0.0)
        return 0.0;
    double r = fmod(a, b);
    return r != 0.0 & (r < 0.0) != (b < 0.0) ? r + b : r;
}
#endif

/*
 * Checked mode. The first failure of a launch is told in checks: 1, its place in the text, z and y of what was computed, the
 * index in its row and the value's bits, the lower half first.
 */
#ifdef IP_CHECK
static inline void ip_check_failed(volatile __global int *checks, int place, int z, int y, long index, ulong bits)
{
    if (atomic_cmpxchg(&checks[0], 0, 1) != 0)
        return;
    checks[1] = place;
    checks[2] = z;
    checks[3] = y;
    checks[4] = (int)(uint)index;
    checks[5] = (int)(uint)(index >> 32);
    checks[6] = (int)(uint)bits;
    checks[7] = (int)(uint)(bits >> 32);
}

/* An index of the row that begins at `row` of `count` elements, moved inside where it is not. */
static inline long ip_checked_index(volatile __global int *checks, int place, int z, int y, long row, long index, long count)
{
    long at = row + index;
    if (at >= 0 && at < count)
        return index;
    ip_check_failed(checks, place, z, y, index, (ulong)at);
    return clamp(at, (long)0, count - 1) - row;
}

static inline float ip_checked_f32(volatile __global int *checks, int place, int z, int y, long index, float v)
{
    if (!isfinite(v))
        ip_check_failed(checks, place, z, y, index, as_uint(v));
    return v;
}

#ifdef IP_F64
static inline double ip_checked_f64(volatile __global int *checks, int place, int z, int y, long index, double v)
{
    if (!isfinite(v))
        ip_check_failed(checks, place, z, y, index, as_ulong(v));
    return v;
}
#endif
#endif
