/* SPDX-License-Identifier: MIT */
/*
 * Discrete Fourier transforms of many lines by Stockham's passes of radix 7 5 4 3 2, which need no reordering. On a CPU
 * a work-item transforms FT_LANES lines side by side, one in each lane of its vectors, in scratch memory that fits the
 * cache; on a GPU a group transforms one line in local memory.
 *
 *     ft_roots    the table: roots of unity of both lengths, and those between the passes of a line that is split
 *     ft_lines    the transforms
 *
 * A line longer than a group's local memory holds (a CPU: 2048 numbers, of doubles 1024) is split: as a matrix of n1
 * rows and n2 columns, whose columns are transformed and multiplied by roots exp(-2 pi i row column / (n1 n2)), then
 * the rows; the result stands in it column by column.
 *
 * Line number L has the parts high = L / P_LOW and low = L % P_LOW. Its elements, complex numbers, are read at high
 * P_READ_HIGH + low + k P_READ_STEP and written at (high / P_MIDDLE) P_WRITE_HIGH + (high % P_MIDDLE) P_WRITE_MIDDLE +
 * low + k P_WRITE_STEP. The rest: P_BATCHES of lines a work-item; P_SWAPS, 1: real and imaginary parts are exchanged
 * before the passes, 2: after them, 3: both, so the inverse is computed; P_FACTOR, the bits of what the result is
 * multiplied by, of doubles the second half in P_FACTOR_HIGH; P_RADICES, three bits each; P_ROOTS, where n's roots
 * start; P_IS_TURNED, 1: multiply by the roots between passes, which start at P_TURNS, where P_LOW_EACH is how many of
 * low a column has; P_BEFORE, elements before the first in the source; P_FIRST, batches before this launch. ft_roots
 * has P_N1, P_N2 and P_IS_SPLIT.
 *
 * FT_DOUBLE: of complex numbers of two doubles. FT_MAX: of so many numbers at most, which a group's local memory holds
 * twice.
 *
 * FT_FAR: parts of lines are longer than local memory holds, so a group of a GPU has scratch memory for a line, too,
 * and takes one after another.
 */
#ifdef FT_DOUBLE
#define FT_T double
#define FT_T2 double2
#define FT_C(c) c
#else
#define FT_T float
#define FT_T2 float2
#define FT_C(c) c##f
#endif
#define FT_LOW 1024 /* the roots between passes: w^(FT_LOW a + b) = w^(FT_LOW a) w^b */

#if IP_CPU
#if IP_VECTOR_BYTES >= 64 && defined(FT_DOUBLE)
#define FT_LANES 8
#define FT_V double8
#elif IP_VECTOR_BYTES >= 32 && defined(FT_DOUBLE)
#define FT_LANES 4
#define FT_V double4
#elif defined(FT_DOUBLE)
#define FT_LANES 2
#define FT_V double2
#elif IP_VECTOR_BYTES >= 64
#define FT_LANES 16
#define FT_V float16
#elif IP_VECTOR_BYTES >= 32
#define FT_LANES 8
#define FT_V float8
#else
#define FT_LANES 4
#define FT_V float4
#endif
#define FT_MEMORY __global
#define FT_FIRST 0
#define FT_STEP 1
#define FT_SYNC
#define FT_APART IP_APART
#else
#define FT_LANES 1
#define FT_V FT_T
#ifdef FT_FAR
#define FT_MEMORY __global
#define FT_SYNC barrier(CLK_GLOBAL_MEM_FENCE)
#else
#define FT_MEMORY __local
#define FT_SYNC barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define FT_FIRST ((int)get_local_id(0))
#define FT_STEP ((int)get_local_size(0))
#define FT_APART static inline
#endif

/* exp(-2 pi i r / n) for 0 <= r < n, from an angle of at most an eighth of a turn. */
static inline FT_T2 ft_root(uint r, uint n)
{
    ulong a = 8 * (ulong)r;
    uint octant = (uint)(a / n), rest = (uint)(a - (ulong)octant * n);
    if (octant & 1) rest = n - rest;
    FT_T angle = FT_C(0.25) * ((FT_T)rest / (FT_T)n), c = cospi(angle), s = sinpi(angle);
    bool turned = ((octant + 1) & 2) != 0;
    FT_T x = turned ? s : c, y = turned ? c : s;
    return (FT_T2)(octant >= 2 && octant < 6 ? -x : x, octant < 4 ? -y : y);
}

/* P_IS_SPLIT, 1: there are roots between, too. */
__kernel void ft_roots(__global FT_T2 *table, __global const int *P)
{
    int j = get_global_id(2) + P[0], n1 = P_N1, n2 = P_N2;
    uint n = (uint)n1 * (uint)n2;
    if (j < n1)
        table[j] = ft_root(j, n1);
    else if (j < n1 + n2)
        table[j] = ft_root(j - n1, n2);
    else if (P_IS_SPLIT && j < n1 + n2 + FT_LOW)
        table[j] = ft_root((uint)(j - n1 - n2) % n, n);
    else if (P_IS_SPLIT && j < n1 + n2 + FT_LOW + (int)((n + FT_LOW - 1) / FT_LOW))
        table[j] = ft_root((uint)(j - n1 - n2 - FT_LOW) * FT_LOW, n);
}

/* ---- butterflies ------------------------------------------------------------------------- */

static inline void ft_dft2(FT_V *re, FT_V *im)
{
    FT_V a = re[1], b = im[1];
    re[1] = re[0] - a;
    im[1] = im[0] - b;
    re[0] += a;
    im[0] += b;
}

static inline void ft_dft4(FT_V *re, FT_V *im)
{
    FT_V ar = re[0] + re[2], ai = im[0] + im[2], br = re[0] - re[2], bi = im[0] - im[2];
    FT_V cr = re[1] + re[3], ci = im[1] + im[3], dr = re[1] - re[3], di = im[1] - im[3];
    re[0] = ar + cr;
    im[0] = ai + ci;
    re[1] = br + di;
    im[1] = bi - dr;
    re[2] = ar - cr;
    im[2] = ai - ci;
    re[3] = br - di;
    im[3] = bi + dr;
}

/* cos and sin of 2 pi k / r for r = 3, 5, 7 */
__constant FT_T ft_cos3[3] = { 1, -FT_C(0.5), -FT_C(0.5) };
__constant FT_T ft_sin3[3] = { 0, FT_C(0.86602540378443864676), -FT_C(0.86602540378443864676) };
__constant FT_T ft_cos5[5] = {
    1, FT_C(0.3090169943749474241), -FT_C(0.8090169943749474241), -FT_C(0.8090169943749474241),
    FT_C(0.3090169943749474241)
};
__constant FT_T ft_sin5[5] = {
    0, FT_C(0.95105651629515357212), FT_C(0.58778525229247312917), -FT_C(0.58778525229247312917),
    -FT_C(0.95105651629515357212)
};
__constant FT_T ft_cos7[7] = {
    1, FT_C(0.62348980185873353053), -FT_C(0.22252093395631440429), -FT_C(0.90096886790241912624),
    -FT_C(0.90096886790241912624), -FT_C(0.22252093395631440429), FT_C(0.62348980185873353053)
};
__constant FT_T ft_sin7[7] = {
    0, FT_C(0.78183148246802980871), FT_C(0.97492791218182360702), FT_C(0.43388373911755812048),
    -FT_C(0.43388373911755812048), -FT_C(0.97492791218182360702), -FT_C(0.78183148246802980871)
};

/* Elements k and r - k are conjugate in their weights: their sum meets cosines, their difference sines. */
#define FT_ODD(R)                                                                      \
    static inline void ft_dft##R(FT_V *re, FT_V *im)                                   \
    {                                                                                  \
        FT_V sum_r[R], sum_i[R], gap_r[R], gap_i[R], first_r = re[0], first_i = im[0]; \
        for (int m = 1; m <= R / 2; m++) {                                             \
            sum_r[m] = re[m] + re[R - m];                                              \
            sum_i[m] = im[m] + im[R - m];                                              \
            gap_r[m] = re[m] - re[R - m];                                              \
            gap_i[m] = im[m] - im[R - m];                                              \
            re[0] += sum_r[m];                                                         \
            im[0] += sum_i[m];                                                         \
        }                                                                              \
        for (int k = 1; k <= R / 2; k++) {                                             \
            FT_V ar = first_r, ai = first_i, br = 0, bi = 0;                           \
            for (int m = 1; m <= R / 2; m++) {                                         \
                FT_T c = ft_cos##R[k * m % R], s = ft_sin##R[k * m % R];               \
                ar += c * sum_r[m];                                                    \
                ai += c * sum_i[m];                                                    \
                br += s * gap_i[m];                                                    \
                bi += s * gap_r[m];                                                    \
            }                                                                          \
            re[k] = ar + br;                                                           \
            im[k] = ai - bi;                                                           \
            re[R - k] = ar - br;                                                       \
            im[R - k] = ai + bi;                                                       \
        }                                                                              \
    }
FT_ODD(3)
FT_ODD(5)
FT_ODD(7)

/* ---- passes ---------------------------------------------------------------------------------- */

/* One pass: p transforms of length `done` become transforms of length done R. x is read, y written. */
#define FT_PASS(R)                                                                                         \
    static inline void ft_pass##R(int n, int done, __global const FT_T2 *roots, FT_MEMORY const FT_V *xr,  \
                                  FT_MEMORY const FT_V *xi, FT_MEMORY FT_V *yr, FT_MEMORY FT_V *yi)        \
    {                                                                                                      \
        int m = n / R, step = m / done;                                                                    \
        for (int j = FT_FIRST; j < m; j += FT_STEP) {                                                      \
            int k = j % done, to = (j - k) * R + k;                                                        \
            FT_V re[R], im[R];                                                                             \
            re[0] = xr[j];                                                                                 \
            im[0] = xi[j];                                                                                 \
            for (int q = 1; q < R; q++) {                                                                  \
                FT_V a = xr[j + q * m], b = xi[j + q * m];                                                 \
                FT_T2 w = roots[q * k * step];                                                             \
                re[q] = a * w.x - b * w.y;                                                                 \
                im[q] = a * w.y + b * w.x;                                                                 \
            }                                                                                              \
            ft_dft##R(re, im);                                                                             \
            for (int q = 0; q < R; q++) {                                                                  \
                yr[to + q * done] = re[q];                                                                 \
                yi[to + q * done] = im[q];                                                                 \
            }                                                                                              \
        }                                                                                                  \
    }
FT_PASS(2)
FT_PASS(3)
FT_PASS(4)
FT_PASS(5)
FT_PASS(7)

/* All passes over a line, or lines, in x: two parts of n each, followed by as many for the passes between. Returns
 * where the result is. */
FT_APART FT_MEMORY FT_V *ft_transform(FT_MEMORY FT_V *x, int n, int radices, __global const FT_T2 *restrict roots)
{
    FT_MEMORY FT_V *y = x + 2 * n;
    for (int done = 1; radices; radices >>= 3) {
        int r = radices & 7;
        FT_SYNC;
        if (r == 4)
            ft_pass4(n, done, roots, x, x + n, y, y + n);
        else if (r == 2)
            ft_pass2(n, done, roots, x, x + n, y, y + n);
        else if (r == 3)
            ft_pass3(n, done, roots, x, x + n, y, y + n);
        else if (r == 5)
            ft_pass5(n, done, roots, x, x + n, y, y + n);
        else
            ft_pass7(n, done, roots, x, x + n, y, y + n);
        done *= r;
        FT_MEMORY FT_V *t = x;
        x = y;
        y = t;
    }
    FT_SYNC;
    return x;
}

/* ---- lines ------------------------------------------------------------------------------------- */

static inline FT_T ft_factor(__global const int *P)
{
#ifdef FT_DOUBLE
    return as_double((int2)(P_FACTOR, P_FACTOR_HIGH));
#else
    return as_float(P_FACTOR);
#endif
}

static inline long ft_from(int line, __global const int *P)
{
    return (long)(line / P_LOW) * P_READ_HIGH + line % P_LOW + P_BEFORE;
}

static inline long ft_to(int line, __global const int *P)
{
    int high = line / P_LOW;
    return (long)(high / P_MIDDLE) * P_WRITE_HIGH + (long)(high % P_MIDDLE) * P_WRITE_MIDDLE + line % P_LOW;
}

/* The root between passes for a line's element k. */
static inline FT_T2 ft_between(int line, int k, __global const FT_T2 *table, __global const int *P)
{
    int r = line % P_LOW / P_LOW_EACH * k;
    FT_T2 a = table[P_TURNS + FT_LOW + r / FT_LOW], b = table[P_TURNS + r % FT_LOW];
    return (FT_T2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* A line's element k times that root. */
static inline FT_T2 ft_turned(FT_T2 z, int line, int k, __global const FT_T2 *table, __global const int *P)
{
    FT_T2 w = ft_between(line, k, table, P);
    return (FT_T2)(z.x * w.x - z.y * w.y, z.x * w.y + z.y * w.x);
}

#if IP_CPU
enum { FT_BLOCK = 16 }; /* elements of one line that are moved before those of the next */

FT_APART void ft_load(__global const FT_T2 *restrict source, int first, __global FT_T *restrict x,
                      __global const int *restrict P)
{
    int n = P_N, last = P_LINES - 1;
    long stride = P_READ_STEP, from = ft_from(first, P);
    const bool is_swapped = P_SWAPS & 1;
    __global FT_T *re = is_swapped ? x + n * FT_LANES : x, *im = is_swapped ? x : x + n * FT_LANES;
    if (first + FT_LANES - 1 <= last && ft_from(first + FT_LANES - 1, P) - from == FT_LANES - 1) {
        for (int k = 0; k < n; k++)
            for (int lane = 0; lane < FT_LANES; lane++) {
                FT_T2 z = source[from + k * stride + lane];
                re[k * FT_LANES + lane] = z.x;
                im[k * FT_LANES + lane] = z.y;
            }
        return;
    }
    for (int start = 0; start < n; start += FT_BLOCK)
        for (int lane = 0; lane < FT_LANES; lane++) {
            __global const FT_T2 *line = source + ft_from(min(first + lane, last), P);
            for (int k = start; k < min(start + FT_BLOCK, n); k++) {
                FT_T2 z = line[k * stride];
                re[k * FT_LANES + lane] = z.x;
                im[k * FT_LANES + lane] = z.y;
            }
        }
}

FT_APART void ft_store(__global FT_T2 *restrict out, int first, __global const FT_T *restrict x,
                       __global const FT_T2 *restrict table, __global const int *restrict P)
{
    int n = P_N, last = P_LINES - 1;
    long stride = P_WRITE_STEP, to = ft_to(first, P);
    const bool is_swapped = P_SWAPS & 2, is_turned = P_IS_TURNED;
    const FT_T factor = ft_factor(P);
    __global const FT_T *re = is_swapped ? x + n * FT_LANES : x, *im = is_swapped ? x : x + n * FT_LANES;
    if (!is_turned && first + FT_LANES - 1 <= last && ft_to(first + FT_LANES - 1, P) - to == FT_LANES - 1) {
        for (int k = 0; k < n; k++)
            for (int lane = 0; lane < FT_LANES; lane++)
                out[to + k * stride + lane] = (FT_T2)(re[k * FT_LANES + lane], im[k * FT_LANES + lane]) * factor;
        return;
    }
    for (int start = 0; start < n; start += FT_BLOCK)
        for (int lane = 0; lane < FT_LANES && first + lane <= last; lane++) {
            __global FT_T2 *line = out + ft_to(first + lane, P);
            for (int k = start; k < min(start + FT_BLOCK, n); k++) {
                FT_T2 z = (FT_T2)(re[k * FT_LANES + lane], im[k * FT_LANES + lane]) * factor;
                line[k * stride] = is_turned ? ft_turned(z, first + lane, k, table, P) : z;
            }
        }
}

__kernel void ft_lines(__global const FT_T2 *restrict source, __global FT_T2 *restrict out,
                       __global const FT_T2 *restrict table, __global FT_V *restrict work,
                       __global const int *restrict P)
{
    int item = get_global_id(2) + P[0], n = P_N;
    __global FT_V *x = work + (long)item * 4 * n;
    for (int batch = 0; batch < P_BATCHES; batch++) {
        long first = ((long)P_FIRST + (long)item * P_BATCHES + batch) * FT_LANES;
        if (first >= P_LINES) return;
        ft_load(source, (int)first, (__global FT_T *)x, P);
        __global FT_V *y = ft_transform(x, n, P_RADICES, table + P_ROOTS);
        ft_store(out, (int)first, (__global const FT_T *)y, table, P);
    }
}
#else
/* A group's work on one line; work: room for four times its n parts. */
static inline void ft_line(int line, FT_MEMORY FT_T *work, __global const FT_T2 *source, __global FT_T2 *out,
                           __global const FT_T2 *table, __global const int *P)
{
    int n = P_N;
    __global const FT_T2 *from = source + ft_from(line, P);
    __global FT_T2 *to = out + ft_to(line, P);
    for (int k = FT_FIRST; k < n; k += FT_STEP) {
        FT_T2 z = from[(long)k * P_READ_STEP];
        work[k] = P_SWAPS & 1 ? z.y : z.x;
        work[n + k] = P_SWAPS & 1 ? z.x : z.y;
    }
    FT_MEMORY FT_T *y = ft_transform(work, n, P_RADICES, table + P_ROOTS);
    for (int k = FT_FIRST; k < n; k += FT_STEP) {
        FT_T2 z = (FT_T2)(y[k], y[n + k]) * ft_factor(P);
        if (P_SWAPS & 2) z = z.yx;
        to[(long)k * P_WRITE_STEP] = P_IS_TURNED ? ft_turned(z, line, k, table, P) : z;
    }
}

#ifdef FT_FAR
__kernel void ft_lines(__global const FT_T2 *source, __global FT_T2 *out, __global const FT_T2 *table,
                       __global FT_T *work, __global const int *P)
{
    int item = get_global_id(2) + P[0];
    for (int batch = 0; batch < P_BATCHES; batch++) {
        int line = P_FIRST + item * P_BATCHES + batch;
        if (line >= P_LINES) return;
        ft_line(line, work + (long)item * 4 * P_N, source, out, table, P);
        FT_SYNC; /* what is left of this line is read before the next one is written there */
    }
}
#else
__kernel void ft_lines(__global const FT_T2 *source, __global FT_T2 *out, __global const FT_T2 *table,
                       __global const int *P)
{
    __local FT_T work[4 * FT_MAX];
    ft_line(get_global_id(2) + P[0], work, source, out, table, P);
}
#endif
#endif
