/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the regions of a mask, or with LB_MARKED those of its regions that have a pixel in another mask. Rows
 * become runs of what is not 0; runs that meet one of the row above, or of a row of the plane before, are joined with
 * it in a forest whose roots are the first runs by rows (union-find).
 *
 *     lb_strips    the runs of a strip of rows and their forest; a work-item for each strip
 *     lb_join      joins two groups of strips where they meet; a work-item for each pair
 *     lb_number    the roots of a strip get their numbers; a work-item for each strip; not with LB_MARKED
 *     lb_write     rows of the result; a work-item computes a run of rows
 *
 * Run k goes from ends[2 k] to below ends[2 k + 1], of type LB_END; those of row y are rows[2 y] to below
 * rows[2 y + 1], and there is room for `most` in each row. parent[k]: a run of the same region that is not behind it, k
 * itself in roots; once they have numbers, less the number. roots[s]: how many there are in strip s. marked[k], of
 * LB_MARKED: in roots, whether a pixel of the region is marked.
 *
 * Of what its kernels take: P_ROWS a strip, P_STRIPS; P_ITEMS, work-items there is work for; P_MOST runs a row;
 * P_CORNERS, 1: pixels that meet at a corner are neighbours; P_EACH, rows of a work-item of lb_write; P_GROUP, strips
 * of a group in lb_join; P_PLANE, rows a plane; P_ACROSS, how elements of neighbouring planes meet: -1 not at all, 0
 * where they share a face, 1 an edge, 2 a corner.
 */
static inline int lb_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

/* A bit for each of 8 bytes, whether it is not 0, the first in bit 0. */
static inline ulong lb_bits(ulong v)
{
    const ulong low = 0x7f7f7f7f7f7f7f7fUL;
    const ulong ones = ((((v & low) + low) | v) & ~low) >> 7;
    return (ones * 0x0102040810204080UL) >> 56;
}

static inline int lb_root(__global int *parent, int k)
{
    while (parent[k] != k) {
        parent[k] = parent[parent[k]];
        k = parent[k];
    }
    return k;
}

/* The ends of a row's runs into *ends; returns how many runs. */
static int lb_runs(__global const uchar *restrict m, int width, __global LB_END *restrict ends)
{
    int n = 0, x = 0;
    ulong last = 0; /* 1: the pixel before is in a run */
    for (; x + 64 <= width; x += 64) {
        ulong bits = 0;
        for (int k = 0; k < 8; k++)
            bits |= lb_bits(as_ulong(vload8(k, m + x))) << 8 * k;
        ulong turns = bits ^ (bits << 1 | last);
        last = bits >> 63;
        for (; turns; turns &= turns - 1)
            ends[n++] = x + 63 - (int)clz(turns & -turns);
    }
    for (; x < width; x++) {
        if ((m[x] != 0) == (last != 0)) continue;
        last = !last;
        ends[n++] = x;
    }
    if (last) ends[n++] = width;
    return n / 2;
}

#ifdef LB_MARKED
#define LB_TALLY uchar
#define LB_RESULT uchar
#define LB_RESULTS uchar16
#else
#define LB_TALLY int
#define LB_RESULT int
#define LB_RESULTS int16
#endif

/* Joins the runs of a row, own.x to below own.y, with those of the row above, above.x to below above.y. tally: with
 * LB_MARKED the marks of runs; else how many roots each strip has, one less where a root is one no longer. Of runs that
 * have no parent yet (is_new) none is counted; returns how many more roots there are. */
static int lb_meet(__global const LB_END *restrict ends, __global int *restrict parent, int2 above, int2 own,
                   int corner, bool is_new, __global LB_TALLY *restrict tally, int runs_a_strip)
{
    int n = 0;
    int p = above.x;
    for (int c = own.x; c < own.y; c++) {
        const int from = ends[2 * c] - corner, to = ends[2 * c + 1] + corner;
        int root = is_new ? -1 : lb_root(parent, c);
        while (p < above.y && (int)ends[2 * p + 1] <= from)
            p++;
        for (int q = p; q < above.y && (int)ends[2 * q] < to; q++) {
            const int other = lb_root(parent, q);
            if (root >= 0 && root != other) {
                parent[max(root, other)] = min(root, other);
#ifdef LB_MARKED
                tally[min(root, other)] |= tally[max(root, other)];
#else
                if (is_new)
                    n--;
                else
                    tally[max(root, other) / runs_a_strip]--;
#endif
            }
            root = root < 0 ? other : min(root, other);
        }
        if (!is_new) continue;
        n += root < 0;
        parent[c] = root < 0 ? c : root;
#ifdef LB_MARKED
        if (root >= 0) tally[root] |= tally[c];
#endif
    }
    return n;
}

#ifndef LB_MARKED
/* Joins the runs of row y with those of rows in the plane before it, of which [first, end) are looked at. */
static void lb_meet_plane(__global const LB_END *restrict ends, __global int *restrict parent,
                          __global const int2 *restrict rows, int y, int first, int end, __global int *restrict tally,
                          __global const int *restrict P)
{
    const int in_plane = y % P_PLANE, reach = min(P_ACROSS, 1);
    for (int by = max(-reach, -in_plane); by <= min(reach, P_PLANE - 1 - in_plane); by++) {
        const int other = y - P_PLANE + by;
        if (other >= first && other < end)
            lb_meet(ends, parent, rows[other], rows[y], P_ACROSS > (by != 0), false, tally, P_ROWS * P_MOST);
    }
}
#endif

#ifdef LB_MARKED
/* Which runs of a row have a pixel that is marked. */
static void lb_marks(__global const uchar *restrict marks, __global const LB_END *restrict ends, int2 own,
                     __global uchar *restrict marked)
{
    for (int k = own.x; k < own.y; k++) {
        int x = ends[2 * k];
        const int end = ends[2 * k + 1];
        ulong any = 0;
        for (; x + 8 <= end && !any; x += 8)
            any = as_ulong(vload8(0, marks + x));
        for (; x < end && !any; x++)
            any = marks[x];
        marked[k] = any != 0;
    }
}
#endif

__kernel void lb_strips(__global const uchar *restrict mask,
#ifdef LB_MARKED
                        __global const uchar *restrict marks,
#endif
                        __global LB_END *restrict ends, __global int *restrict parent, __global int2 *restrict rows,
                        __global LB_TALLY *restrict tally, __global const int *restrict P)
{
    const int strip = lb_item(P), width = P_WIDTH, most = P_MOST;
    if (strip >= P_ITEMS) return;
    const int y0 = strip * P_ROWS, y1 = min(y0 + P_ROWS, P_HEIGHT), first = y0 * most;
    int2 above = (int2)(first, first);
    int n = 0;
#ifndef LB_MARKED
    tally[strip] = 0;
#endif
    for (int y = y0; y < y1; y++) {
        const int from = above.y;
        const int2 own = (int2)(from, from + lb_runs(mask + (long)y * width, width, ends + 2 * (long)from));
#ifdef LB_MARKED
        lb_marks(marks + (long)y * width, ends, own, tally);
#endif
        if (y % P_PLANE == 0) above.x = above.y;
        n += lb_meet(ends, parent, above, own, P_CORNERS, true, tally, 1);
        rows[y] = above = own;
#ifndef LB_MARKED
        lb_meet_plane(ends, parent, rows, y, y0, y, tally, P);
#endif
    }
    for (int k = first; k < above.y; k++)
        parent[k] = parent[parent[k]];
#ifndef LB_MARKED
    tally[strip] += n;
#endif
}

__kernel void lb_join(__global const LB_END *restrict ends, __global int *restrict parent,
                      __global const int2 *restrict rows, __global LB_TALLY *restrict tally,
                      __global const int *restrict P)
{
    const int item = lb_item(P);
    const long strip = ((long)2 * item + 1) * P_GROUP, y = strip * P_ROWS;
    if (item >= P_ITEMS || strip >= P_STRIPS) return;
    if (y % P_PLANE != 0) lb_meet(ends, parent, rows[y - 1], rows[y], P_CORNERS, false, tally, P_ROWS * P_MOST);
#ifndef LB_MARKED
    if (P_ACROSS < 0) return;
    const int end = (int)min((strip + P_GROUP) * P_ROWS, min(y + P_PLANE + 1, (long)P_HEIGHT));
    for (int k = (int)y; k < end; k++)
        lb_meet_plane(ends, parent, rows, k, (int)(y - (long)P_GROUP * P_ROWS), (int)y, tally, P);
#endif
}

#ifndef LB_MARKED
__kernel void lb_number(__global int *restrict parent, __global const int2 *restrict rows,
                        __global const int *restrict roots, __global const int *restrict P)
{
    const int strip = lb_item(P);
    if (strip >= P_ITEMS) return;
    const int y0 = strip * P_ROWS, y1 = min(y0 + P_ROWS, P_HEIGHT);
    int number = 0;
    for (int s = 0; s < strip; s++)
        number += roots[s];
    for (int k = rows[y0].x; k < rows[y1 - 1].y; k++)
        if (parent[k] == k) parent[k] = -++number;
}
#endif

/* Elements [x, end) of a row are value. What lies behind them may be, too: it is written later. Most runs of noise are
 * one store. */
static inline int lb_fill(__global LB_RESULT *restrict to, int x, int end, int width, LB_RESULT value)
{
    for (; x < end && x + 16 <= width; x += 16)
        vstore16((LB_RESULTS)(value), 0, to + x);
    for (; x < end; x++)
        to[x] = value;
    return end;
}

__kernel void lb_write(__global const LB_END *restrict ends, __global const int *restrict parent,
                       __global const int2 *restrict rows,
#ifdef LB_MARKED
                       __global const uchar *restrict marked,
#endif
                       __global LB_RESULT *restrict result, __global const int *restrict P)
{
    const int item = lb_item(P), width = P_WIDTH, y1 = min((item + 1) * P_EACH, P_HEIGHT);
    if (item >= P_ITEMS) return;
    for (int y = item * P_EACH; y < y1; y++) {
        __global LB_RESULT *restrict to = result + (long)y * width;
        int x = 0;
        for (int k = rows[y].x; k < rows[y].y; k++) {
            const int from = ends[2 * k], end = ends[2 * k + 1];
            int number = parent[k];
#ifdef LB_MARKED
            while (parent[number] != number)
                number = parent[number];
            const LB_RESULT value = marked[number];
#else
            while (number >= 0)
                number = parent[number];
            const LB_RESULT value = -number;
#endif
            x = lb_fill(to, x, from, width, 0);
            x = lb_fill(to, x, end, width, value);
        }
        lb_fill(to, x, width, width, 0);
    }
}
