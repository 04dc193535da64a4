/* SPDX-License-Identifier: MIT */
/*
 * Sums, or extremes, at given places. What stands before this text: SC_T, their type; SC_JOIN(a, b), what becomes of
 * two; SC_NOTHING, which changes nothing that it is joined with.
 *
 *     sc_add    a work-item sums a block of values into its part of the block's table: rows [r0, r1) of the result
 *     sc_sum    the blocks' sums in their order, onto the base; a work-item computes a run of elements
 *
 * SC_COUNTS, 1: what is added is one integer for all, so tables, of uint, count how often, which is as much memory as
 * it takes and no more; sc_sum multiplies.
 *
 * Which blocks there are is fixed by the sizes; parts only share a block's work, and each reads all of its indices.
 *
 * Of what its kernels take: P_N indices; P_ROWS of the result, of P_WIDTH elements; P_BLOCK indices a block, P_BLOCKS,
 * P_PARTS a block; P_ITEMS, work-items there is work for; P_EACH, elements of a work-item of sc_sum; P_ONE_VALUE, 1:
 * one serves all; P_HAS_BASE.
 */
static inline int sc_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

#if IP_CPU
#define SC_APART IP_APART
#define SC_RESTRICT restrict
#else
#define SC_APART static inline
#define SC_RESTRICT /* compilers make marks of it where a function is inlined, which not every device knows */
#endif

#ifdef SC_COUNTS
#define SC_TABLE uint
#define SC_ADD(t, value) ((t)++)
#define SC_SUM(sum, counted) ((sum) + (SC_T)(counted) * values[0])
#define SC_EMPTY 0
#else
#define SC_TABLE SC_T
#define SC_ADD(t, value) ((t) = SC_JOIN(t, value))
#define SC_SUM(sum, joined) SC_JOIN(sum, joined)
#define SC_EMPTY SC_NOTHING
#endif

/* What rows [r0, r1) of a table get of a block's values; a row is an element. */
SC_APART void sc_elements(__global const int *SC_RESTRICT index, long n, __global const SC_T *SC_RESTRICT values,
                          int one, __global SC_TABLE *SC_RESTRICT t, int r0, int r1)
{
    for (long k = 0; k < n; k++) {
        const int row = index[k];
        if (row >= r0 && row < r1) SC_ADD(t[row], values[one ? 0 : k]);
    }
}

SC_APART void sc_rows(__global const int *SC_RESTRICT index, long n, __global const SC_T *SC_RESTRICT values,
                      int one, int width, __global SC_TABLE *SC_RESTRICT t, int r0, int r1)
{
    for (long k = 0; k < n; k++) {
        const int row = index[k];
        /* Four at a time: work-items of llvmpipe leave their loops after 65535 turns, inner ones counted. */
        for (int w = 0; w < width && row >= r0 && row < r1; w += 4) {
            __global SC_TABLE *to = t + ((long)row * width + w);
            __global const SC_T *value = values + (one ? 0 : k * width + w);
            const int step = one ? 0 : 1;
            SC_ADD(to[0], value[0]);
            if (w + 1 < width) SC_ADD(to[1], value[step]);
            if (w + 2 < width) SC_ADD(to[2], value[2 * step]);
            if (w + 3 < width) SC_ADD(to[3], value[3 * step]);
        }
    }
}

SC_APART void sc_clear(__global SC_TABLE *t, long n)
{
    for (long j = 0; j < n; j++)
        t[j] = SC_EMPTY;
}

__kernel void sc_add(__global const int *restrict index, __global const SC_T *restrict values,
                     __global SC_TABLE *restrict tables, __global const int *restrict P)
{
    const int item = sc_item(P), width = P_WIDTH, parts = P_PARTS, block = item / parts, part = item % parts;
    const int one = P_ONE_VALUE;
    const long m = (long)P_ROWS * width, from = (long)block * P_BLOCK, to = min(from + P_BLOCK, (long)P_N);
    if (item >= P_ITEMS) return;
    /* Whole rows, so that a part finds out once for an index whether it is its own. */
    const int r0 = (int)((long)P_ROWS * part / parts), r1 = (int)((long)P_ROWS * (part + 1) / parts);
    __global SC_TABLE *t = tables + block * m;
    __global const SC_T *own = values + (one ? 0 : from * width);
    sc_clear(t + (long)r0 * width, (long)(r1 - r0) * width);
    if (width == 1)
        sc_elements(index + from, to - from, own, one, t, r0, r1);
    else
        sc_rows(index + from, to - from, own, one, width, t, r0, r1);
}

/* Elements [from, to) of the result, of blocks of m elements each. */
SC_APART void sc_join(__global const SC_T *SC_RESTRICT base, __global const SC_T *SC_RESTRICT values,
                      __global const SC_TABLE *SC_RESTRICT tables, __global SC_T *SC_RESTRICT result, long from,
                      long to, long m, int blocks, int has_base)
{
    for (long j = from; j < to; j++) {
        SC_T sum = has_base ? base[j] : SC_NOTHING;
        for (int b = 0; b < blocks; b++)
            sum = SC_SUM(sum, tables[b * m + j]);
        result[j] = sum;
    }
}

__kernel void sc_sum(__global const SC_T *restrict base, __global const SC_T *restrict values,
                     __global const SC_TABLE *restrict tables, __global SC_T *restrict result,
                     __global const int *restrict P)
{
    const int item = sc_item(P);
    const long m = (long)P_ROWS * P_WIDTH, from = (long)item * P_EACH, to = min(from + P_EACH, m);
    if (item < P_ITEMS) sc_join(base, values, tables, result, from, to, m, P_BLOCKS, P_HAS_BASE);
}
