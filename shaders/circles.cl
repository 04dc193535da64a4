/* SPDX-License-Identifier: MIT */
/*
 * Circles, by the gradient at edges. HC_T, which stands before this text: the type of derivatives. HC_RADII: only the
 * last two of these.
 *
 *     hc_votes     a CPU: a work-item counts the votes for a band of rows, of which edges elsewhere may vote, too
 *     hc_peaks     a CPU: a work-item looks for the peaks of a row of squares
 *     hc_clear     others: counts become 0; a work-item for each
 *     hc_blocks    others: a group adds the votes of a block of pixels
 *     hc_squares   others: a work-item looks for the peak of a square
 *     hc_radii     how many edges lie at each radius around a centre; a CPU: a work-item for each centre; others: for
 *                  each row around it, after hc_clear
 *
 * An edge votes for the places at the radii P_RADIUS to P_RADIUS + P_RADII - 1 along its gradient, up to
 * HC_RADII_AT_ONCE of them a launch, and, on the other side, for those at the negative of each offset. What kernels
 * have of their own: hc_votes P_ROWS of a band and P_CLEARS, 1: counts become 0 first; hc_blocks P_ACROSS, blocks side
 * by side; hc_peaks and hc_squares P_SIDE of a square, P_LEAST votes of a peak and P_APART, how far away it looks;
 * hc_clear P_COUNTS; hc_radii P_CENTRES and P_ROWS_AROUND each.
 */
#if IP_CPU
#define HC_RESTRICT restrict
#define HC_APART IP_APART
#else
#define HC_RESTRICT
#define HC_APART static inline
#endif

/* HC_STEP: pixels of a mask that are looked at together; HC_COLUMNS: of votes. HC_ROUNDS: 1.5 * 2^23, to which adding
 * rounds to the nearest whole number, which then stands in the low bits of HC_BITS. */
enum { HC_STEP = 64, HC_COLUMNS = 1024, HC_BITS = 0x4b400000 };
#define HC_ROUNDS 12582912.0f

static inline int hc_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

#if IP_CPU
/* Whether one of HC_STEP pixels is set. */
static inline bool hc_any(__global const uchar *restrict m)
{
    ulong any = 0;
    for (int k = 0; k < HC_STEP / 8; k++)
        any |= as_ulong(vload8(k, m));
    return any != 0;
}

/* Which of the next pixels of a row, n at most HC_STEP, are set: how many, their columns in xs. */
static inline int hc_set(__global const uchar *restrict m, int n, int *xs)
{
    int found = 0;
    if (n == HC_STEP && !hc_any(m)) return 0;
    for (int k = 0; n == HC_STEP && k < HC_STEP; k += 8)
        for (ulong bytes = as_ulong(vload8(0, m + k)); bytes;) {
            const int byte = (63 - (int)clz(bytes & -bytes)) / 8;
            xs[found++] = k + byte;
            bytes &= ~(0xffUL << 8 * byte);
        }
    for (int k = 0; n < HC_STEP && k < n; k++) {
        xs[found] = k;
        found += m[k] != 0;
    }
    return found;
}
#endif

#ifndef HC_RADII
/* The gradient's direction; false: it has none. What is too long or too short to be squared is scaled. */
static inline bool hc_direction(float s, float q, float *dx, float *dy)
{
    float d = sqrt(s * s + q * q);
    if (!(d >= 1e-15f && d < INFINITY)) {
        const float most = fmax(fabs(s), fabs(q));
        s /= most;
        q /= most;
        d = sqrt(s * s + q * q);
    }
    *dx = s / d;
    *dy = q / d;
    return d > 0 && d < INFINITY;
}

/* The rank of the place y, x with m votes: -1 where one around it has more, or as many and stands before it. */
HC_APART long hc_rank(__global const uint *HC_RESTRICT votes, int height, int width, int y, int x, uint m, int far)
{
    const int x0 = max(x - far, 0), x1 = x < width - far ? x + far : width - 1;
    for (int v = max(y - far, 0); v < height && v - far <= y; v++) {
        __global const uint *row = votes + (long)v * width;
        uint before = 0, behind = 0;
        for (int u = x0; u < x; u++)
            before = max(before, row[u]);
        for (int u = x + 1; u <= x1; u++)
            behind = max(behind, row[u]);
        if (v != y) before = max(before, row[x]);
        if (v < y ? max(before, behind) >= m : v == y ? before >= m || behind > m : max(before, behind) > m) return -1;
    }
    const long pixels = (long)height * width;
    return (long)m * pixels + (pixels - 1 - ((long)y * width + x));
}

/* Of the square from y0, x0 on, whose most votes are m. */
HC_APART long hc_peak(__global const uint *HC_RESTRICT votes, int height, int width, int y0, int x0, int side, uint m,
                      int far)
{
    for (int y = y0; y < height && y - y0 < side; y++)
        for (int x = x0; x < width && x - x0 < side; x++)
            if (votes[(long)y * width + x] == m) return hc_rank(votes, height, width, y, x, m, far);
    return -1;
}

#if IP_CPU

/* Where an edge votes: columns, rows and, in elements, both. */
static inline void hc_offsets(float dx, float dy, int first, int n, int width, int *restrict ox, int *restrict oy,
                              int *restrict at)
{
    for (int k = 0; k < n; k += 16) {
        const float16 r =
            convert_float16((int16)(first + k) + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        const int16 x = as_int16(r * dx + HC_ROUNDS) - HC_BITS, y = as_int16(r * dy + HC_ROUNDS) - HC_BITS;
        vstore16(x, 0, ox + k);
        vstore16(y, 0, oy + k);
        vstore16(y * width + x, 0, at + k);
    }
}

/* The votes of the edge y, x for rows from y0 to below y1. */
static inline void hc_vote(__global uint *restrict votes, int height, int width, int y, int x, int first, int n, int y0,
                           int y1, float dx, float dy)
{
    int ox[HC_RADII_AT_ONCE], oy[HC_RADII_AT_ONCE], at[HC_RADII_AT_ONCE];
    const int reach = first + n - 1;
    const bool is_inside = x >= reach && width - x > reach && y - y0 >= reach && y1 - y > reach;
    hc_offsets(dx, dy, first, n, width, ox, oy, at);
    if (is_inside) {
        __global uint *own = votes + ((long)y * width + x);
        for (int k = 0; k < n; k++) {
            own[at[k]]++;
            own[-at[k]]++;
        }
        return;
    }
    for (int k = 0; k < n; k++) {
        const uint right = (uint)x + (uint)ox[k], left = (uint)x - (uint)ox[k];
        const int down = y + oy[k], up = y - oy[k];
        if (right < (uint)width && down >= y0 && down < y1) votes[(long)down * width + right]++;
        if (left < (uint)width && up >= y0 && up < y1) votes[(long)up * width + left]++;
    }
}

HC_APART void hc_band(__global const uchar *restrict mask, __global const HC_T *restrict u,
                      __global const HC_T *restrict w, __global uint *restrict votes, int height, int width, int first,
                      int n, int y0, int y1)
{
    const int reach = first + n - 1;
    int xs[HC_STEP];
    for (int y = max(y0 - reach, 0); y < height && y - reach < y1; y++)
        for (int x0 = 0; x0 < width; x0 += HC_STEP) {
            const long from = (long)y * width + x0;
            const int found = hc_set(mask + from, min(width - x0, (int)HC_STEP), xs);
            for (int i = 0; i < found; i++) {
                float dx, dy;
                if (hc_direction(u[from + xs[i]], w[from + xs[i]], &dx, &dy))
                    hc_vote(votes, height, width, y, x0 + xs[i], first, n, y0, y1, dx, dy);
            }
        }
}

__kernel void hc_votes(__global const uchar *restrict mask, __global const HC_T *restrict u,
                       __global const HC_T *restrict w, __global uint *restrict votes, __global const int *restrict P)
{
    const int height = P_HEIGHT, width = P_WIDTH, y0 = (get_global_id(2) + P[0]) * P_ROWS;
    const int y1 = min(height - y0, P_ROWS) + y0;
    for (long j = (long)y0 * width; P_CLEARS && j < (long)y1 * width; j++)
        votes[j] = 0;
    hc_band(mask, u, w, votes, height, width, P_RADIUS, P_RADII, y0, y1);
}

/* The most votes in each of n columns. */
static inline void hc_columns(__global const uint *restrict votes, int rows, long width, int n, uint *restrict most)
{
    for (int x = 0; x < n; x++)
        most[x] = votes[x];
    for (int y = 1; y < rows; y++)
        for (int x = 0; x < n; x++)
            most[x] = max(most[x], votes[y * width + x]);
}

__kernel void hc_peaks(__global const uint *restrict votes, __global long *restrict ranks,
                       __global const int *restrict P)
{
    const int height = P_HEIGHT, width = P_WIDTH, side = P_SIDE, row = get_global_id(2) + P[0], y0 = row * side;
    const int columns = HC_COLUMNS / side * side, squares = width / side + (width % side != 0);
    __global long *own = ranks + (long)row * squares;
    uint most[HC_COLUMNS];
    for (int x0 = 0; x0 < width; x0 += columns) {
        const int n = min(width - x0, columns);
        hc_columns(votes + ((long)y0 * width + x0), min(height - y0, side), width, n, most);
        for (int x = 0; x < n; x += side) {
            uint m = 0;
            for (int k = x; k < n && k - x < side; k++)
                m = max(m, most[k]);
            *own++ = m < (uint)P_LEAST ? -1 : hc_peak(votes, height, width, y0, x0 + x, side, m, P_APART);
        }
    }
}

#else

/* HC_ROWS x HC_WIDE: a block's pixels. HC_GROUP: a group's work-items. */

static inline void hc_count(__global uint *votes, int height, int width, int y, int x)
{
    if (y >= 0 && y < height && x >= 0 && x < width) atomic_inc(votes + ((long)y * width + x));
}

__kernel void hc_blocks(__global const uchar *restrict mask, __global const HC_T *restrict u,
                        __global const HC_T *restrict w, __global uint *votes, __global const int *restrict P)
{
    const int block = get_group_id(2) + P[0], lane = get_local_id(0), height = P_HEIGHT, width = P_WIDTH;
    const int y0 = block / P_ACROSS * HC_ROWS, x0 = block % P_ACROSS * HC_WIDE;
    __local ushort points[HC_ROWS * HC_WIDE];
    __local int n;
    if (lane == 0) n = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = lane; k < HC_ROWS * HC_WIDE; k += HC_GROUP) {
        const int y = y0 + k / HC_WIDE, x = x0 + k % HC_WIDE;
        if (y < height && x < width && mask[(long)y * width + x] != 0) points[atomic_inc(&n)] = k;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < n && lane < P_RADII; i++) {
        const int y = y0 + points[i] / HC_WIDE, x = x0 + points[i] % HC_WIDE;
        const long from = (long)y * width + x;
        const float r = P_RADIUS + lane;
        float dx, dy;
        if (hc_direction(u[from], w[from], &dx, &dy)) {
            const int right = (int)rint(r * dx), down = (int)rint(r * dy);
            hc_count(votes, height, width, y + down, x + right);
            hc_count(votes, height, width, y - down, x - right);
        }
    }
}

__kernel void hc_squares(__global const uint *restrict votes, __global long *restrict ranks,
                         __global const int *restrict P)
{
    const int height = P_HEIGHT, width = P_WIDTH, side = P_SIDE, squares = width / side + (width % side != 0);
    const int item = hc_item(P), y0 = item / squares * side, x0 = item % squares * side;
    uint m = 0;
    if (y0 >= height) return;
    for (int y = y0; y < height && y - y0 < side; y++)
        for (int x = x0; x < width && x - x0 < side; x++)
            m = max(m, votes[(long)y * width + x]);
    ranks[item] = m < (uint)P_LEAST ? -1 : hc_peak(votes, height, width, y0, x0, side, m, P_APART);
}
#endif
#endif

/* ---- radii ---------------------------------------------------------------------------------------------------- */

#if IP_CPU
#ifdef HC_RADII
__kernel void hc_radii(__global const uchar *restrict mask, __global const int *restrict places,
                       __global uint *restrict counts, __global const int *restrict P)
{
    const int height = P_HEIGHT, width = P_WIDTH, least = P_RADIUS, n = P_RADII, centre = get_global_id(2) + P[0];
    const int reach = least + n - 1, place = places[centre];
    __global uint *own = counts + (long)centre * n;
    int xs[HC_STEP];
    for (int k = 0; k < n; k++)
        own[k] = 0;
    if (place < 0 || place / width >= height) return;
    const int cy = place / width, cx = place - cy * width, x1 = width - cx > reach ? cx + reach : width - 1;
    for (int y = max(cy - reach, 0); y < height && y - reach <= cy; y++)
        for (int x0 = max(cx - reach, 0); x0 <= x1; x0 += HC_STEP) {
            const int found = hc_set(mask + ((long)y * width + x0), min(x1 + 1 - x0, (int)HC_STEP), xs);
            for (int i = 0; i < found; i++) {
                const int dx = x0 + xs[i] - cx, dy = y - cy;
                const int r = as_int(sqrt((float)(dx * dx + dy * dy)) + HC_ROUNDS) - HC_BITS - least;
                if (r >= 0 && r < n) own[r]++;
            }
        }
}
#endif
#else
__kernel void hc_clear(__global uint *restrict counts, __global const int *restrict P)
{
    const long item = (long)(get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
    if (item < P_COUNTS) counts[item] = 0;
}

#ifdef HC_RADII
__kernel void hc_radii(__global const uchar *restrict mask, __global const int *restrict places, __global uint *counts,
                       __global const int *restrict P)
{
    const int height = P_HEIGHT, width = P_WIDTH, least = P_RADIUS, n = P_RADII, reach = least + n - 1;
    const int item = hc_item(P);
    const int centre = item / P_ROWS_AROUND;
    if (centre >= P_CENTRES || places[centre] < 0 || places[centre] / width >= height) return;
    const int cy = places[centre] / width, cx = places[centre] - cy * width;
    const int y = max(cy - reach, 0) + (item - centre * P_ROWS_AROUND);
    const int x1 = width - cx > reach ? cx + reach : width - 1;
    if (y >= height || y - reach > cy) return;
    for (int x = max(cx - reach, 0); x <= x1; x++) {
        const int dx = x - cx, dy = y - cy;
        if (mask[(long)y * width + x] == 0) continue;
        const int r = (int)rint(sqrt((float)(dx * dx + dy * dy))) - least;
        if (r >= 0 && r < n) atomic_inc(counts + ((long)centre * n + r));
    }
}
#endif
#endif
