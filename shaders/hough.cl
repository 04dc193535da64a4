/* SPDX-License-Identifier: MIT */
/*
 * How many pixels of a mask lie on each straight line: of each angle, at each distance x cos + y sin, rounded. Counts
 * lie angle by angle, so that those in which an angle's pixels count are near each other; the middle one is of distance
 * 0.
 *
 *     hg_angles    a CPU: a work-item counts for a run of angles
 *     hg_clear     others: counts become 0; a work-item for each
 *     hg_blocks    others: a group counts for a block of pixels, all angles
 *
 * Pixels that are set are gathered before they count. Of what its kernels take: P_EACH, angles of a work-item of
 * hg_angles; P_COUNTS, to clear; P_ACROSS, blocks side by side.
 */
#if IP_CPU

/* HG_POINTS: that are gathered; HG_STEP: pixels that are looked at together; HG_SIDE: angles that count together, whose
 * additions do not wait for each other. */
enum { HG_POINTS = 512, HG_STEP = 64, HG_SIDE = 4 };

/* Where n pixels count of an angle. Adding 1.5 * 2^52 rounds to the nearest whole number, halves to even, which then
 * stands in the low bits. */
static inline void hg_places(const double *x, const double *y, int n, double p, double q, int middle, int *at)
{
    for (int i = 0; i < n; i++)
        at[i] = (int)as_long(x[i] * p + y[i] * q + 6755399441055744.0) + middle;
}

/* n pixels count, of angles from `first` to below `end`. */
IP_APART void hg_count(const double *x, const double *y, int n, __global const double *restrict cosines,
                       __global const double *restrict sines, int first, int end, int distances,
                       __global uint *counts)
{
    int at[HG_SIDE][HG_POINTS];
    for (int t = first; t < end; t += HG_SIDE) {
        __global uint *a = counts + (long)t * distances, *b = a + distances, *c = b + distances, *d = c + distances;
        const int beside = min(end - t, (int)HG_SIDE);
        for (int k = 0; k < beside; k++)
            hg_places(x, y, n, cosines[t + k], sines[t + k], distances / 2, at[k]);
        for (int i = 0; beside == HG_SIDE && i < n; i++) {
            a[at[0][i]]++;
            b[at[1][i]]++;
            c[at[2][i]]++;
            d[at[3][i]]++;
        }
        for (int k = 0; beside < HG_SIDE && k < beside; k++)
            for (int i = 0; i < n; i++)
                a[(long)k * distances + at[k][i]]++;
    }
}

/* Whether one of HG_STEP pixels is set. */
static inline bool hg_any(__global const uchar *restrict m)
{
    ulong any = 0;
    for (int k = 0; k < HG_STEP / 8; k++)
        any |= as_ulong(vload8(k, m));
    return any != 0;
}

__kernel void hg_angles(__global const uchar *restrict mask, __global const double *restrict cosines,
                        __global const double *restrict sines, __global uint *counts, __global const int *restrict P)
{
    const int width = P_WIDTH, distances = P_DISTANCES, first = (get_global_id(2) + P[0]) * P_EACH;
    const int end = min(first + P_EACH, P_ANGLES);
    double xs[HG_POINTS], ys[HG_POINTS];
    int n = 0;
    for (long j = (long)first * distances; j < (long)end * distances; j++)
        counts[j] = 0;
    for (int y = 0; y < P_HEIGHT; y++) {
        __global const uchar *restrict m = mask + (long)y * width;
        for (int x0 = 0; x0 < width; x0 += HG_STEP) {
            const bool is_whole = x0 + HG_STEP <= width;
            if (is_whole && !hg_any(m + x0)) continue;
            if (n > HG_POINTS - HG_STEP) {
                hg_count(xs, ys, n, cosines, sines, first, end, distances, counts);
                n = 0;
            }
            for (int k = 0; is_whole && k < HG_STEP; k += 8)
                for (ulong bytes = as_ulong(vload8(0, m + x0 + k)); bytes;) {
                    const int byte = (63 - (int)clz(bytes & -bytes)) / 8;
                    xs[n] = x0 + k + byte;
                    ys[n++] = y;
                    bytes &= ~(0xffUL << 8 * byte);
                }
            for (int x = x0; !is_whole && x < width; x++) {
                xs[n] = x;
                ys[n] = y;
                n += m[x] != 0;
            }
        }
    }
    hg_count(xs, ys, n, cosines, sines, first, end, distances, counts);
}

#else

/* HG_ROWS x HG_COLUMNS: a block's pixels. HG_GROUP: a group's work-items. */

__kernel void hg_clear(__global uint *restrict counts, __global const int *restrict P)
{
    const long item = (long)(get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
    if (item < P_COUNTS) counts[item] = 0;
}

__kernel void hg_blocks(__global const uchar *restrict mask, __global const double *restrict cosines,
                        __global const double *restrict sines, __global uint *counts, __global const int *restrict P)
{
    const int block = get_group_id(2) + P[0], lane = get_local_id(0), width = P_WIDTH, distances = P_DISTANCES;
    const int y0 = block / P_ACROSS * HG_ROWS, x0 = block % P_ACROSS * HG_COLUMNS;
    __local ushort points[HG_ROWS * HG_COLUMNS];
    __local int n;
    if (lane == 0) n = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = lane; k < HG_ROWS * HG_COLUMNS; k += HG_GROUP) {
        const int y = y0 + k / HG_COLUMNS, x = x0 + k % HG_COLUMNS;
        if (y < P_HEIGHT && x < width && mask[(long)y * width + x] != 0) points[atomic_inc(&n)] = k;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = lane; t < P_ANGLES; t += HG_GROUP) {
        const double p = cosines[t], q = sines[t];
        __global uint *own = counts + (long)t * distances + distances / 2;
        for (int i = 0; i < n; i++) {
            const int y = y0 + points[i] / HG_COLUMNS, x = x0 + points[i] % HG_COLUMNS;
            atomic_inc(own + (int)rint(x * p + y * q));
        }
    }
}
#endif
