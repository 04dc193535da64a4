/* SPDX-License-Identifier: MIT */
/*
 * Sums, or extremes, at given places. What stands before this text: SC_T, their type; SC_JOIN(a, b), what becomes of
 * two; SC_NOTHING, which changes nothing that it is joined with.
 *
 *     sc_add    a work-item sums a block of values into its part of the block's table: elements [j0, j1) of the result
 *     sc_sum    the blocks' sums in their order, onto the base; a work-item computes a run of elements
 *
 * Which blocks there are is fixed by the sizes; parts only share a block's work, and each reads all of its indices. P:
 * [1] indices, [2] rows of the result, [3] elements a row, [4] indices a block, [5] blocks, [6] parts a block, [7]
 * work-items there is work for, [8] elements a work-item of sc_sum, [9] 1: one value serves all, [10] 1: there is a
 * base.
 */
static inline int sc_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

__kernel void sc_add(__global const int *restrict index, __global const SC_T *restrict values,
                     __global SC_T *restrict tables, __global const int *restrict P)
{
    const int item = sc_item(P), width = P[3], parts = P[6], block = item / parts, part = item % parts, one = P[9];
    const long m = (long)P[2] * width, from = (long)block * P[4], to = min(from + P[4], (long)P[1]);
    if (item >= P[7]) return;
    /* Whole rows, so that a part finds out once for an index whether it is its own. */
    const int r0 = (int)((long)P[2] * part / parts), r1 = (int)((long)P[2] * (part + 1) / parts);
    __global SC_T *restrict t = tables + block * m;
    for (long j = (long)r0 * width; j < (long)r1 * width; j++)
        t[j] = SC_NOTHING;
    if (width == 1) {
        for (long k = from; k < to; k++) {
            const int row = index[k];
            if (row >= r0 && row < r1) t[row] = SC_JOIN(t[row], values[one ? 0 : k]);
        }
        return;
    }
    for (long k = from; k < to; k++) {
        const int row = index[k];
        /* Four at a time: work-items of llvmpipe leave their loops after 65535 turns, inner ones counted. */
        for (int w = 0; w < width && row >= r0 && row < r1; w += 4) {
            __global SC_T *to = t + ((long)row * width + w);
            __global const SC_T *value = values + (one ? 0 : k * width + w);
            const int step = one ? 0 : 1;
            to[0] = SC_JOIN(to[0], value[0]);
            if (w + 1 < width) to[1] = SC_JOIN(to[1], value[step]);
            if (w + 2 < width) to[2] = SC_JOIN(to[2], value[2 * step]);
            if (w + 3 < width) to[3] = SC_JOIN(to[3], value[3 * step]);
        }
    }
}

__kernel void sc_sum(__global const SC_T *restrict base, __global const SC_T *restrict tables,
                     __global SC_T *restrict result, __global const int *restrict P)
{
    const int item = sc_item(P);
    const long m = (long)P[2] * P[3], from = (long)item * P[8], to = min(from + P[8], m);
    for (long j = from; item < P[7] && j < to; j++) {
        SC_T sum = P[10] ? base[j] : SC_NOTHING;
        for (int b = 0; b < P[5]; b++)
            sum = SC_JOIN(sum, tables[b * m + j]);
        result[j] = sum;
    }
}
