/* SPDX-License-Identifier: MIT */
/*
 * Sorting rows of n elements by their keys (keys.cl). What stands before this text, besides what keys need: S_INDEX, 1:
 * the result is where elements stood, i32, not the elements.
 *
 *     so_rows                          short rows: a work-item sorts some, by merging runs
 *     so_count, so_scan, so_scatter    long rows: 8 bits of the keys at a time, from the lowest
 *
 * Both are stable. Of what its kernels take: P_N elements a row; P_ITEMS, work-items there is work for; P_EACH, rows of
 * a work-item; P_CHUNKS a row, of P_CHUNK elements; P_SHIFT, bits below the digit; P_READS_ELEMENTS, 1: they are read,
 * not keys; P_WRITES_ELEMENTS, 1; P_BEFORE, rows in the source before the first one.
 */
static inline int so_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

#if IP_CPU
#define SO_APART IP_APART
#else
#define SO_APART static inline
#endif

/* ---- short rows ---------------------------------------------------------------------------- */

#define SO_RUN 8

/* Sorted runs of SO_RUN keys. */
SO_APART void so_runs(__global const S_T *x, __global S_T *k, __global int *at, int n, bool descending)
{
    for (int from = 0; from < n; from += SO_RUN) {
        const int to = min(from + SO_RUN, n);
        for (int i = from; i < to; i++) {
            const S_T key = key_of(x[i], descending);
            int j = i;
            for (; j > from && k[j - 1] > key; j--) {
                k[j] = k[j - 1];
#if S_INDEX
                at[j] = at[j - 1];
#endif
            }
            k[j] = key;
#if S_INDEX
            at[j] = i;
#endif
        }
    }
}

/* Runs of length run, two by two, into runs of twice the length. */
SO_APART void so_merge(__global const S_T *k, __global const int *at, __global S_T *to, __global int *at_to, int n,
                       int run)
{
    for (int from = 0; from < n; from += 2 * run) {
        const int middle = min(from + run, n), end = min(from + 2 * run, n);
        int i = from, j = middle, out = from;
        while (i < middle && j < end) {
            const S_T a = k[i], b = k[j];
            const bool second = b < a;
            to[out] = second ? b : a;
#if S_INDEX
            at_to[out] = at[second ? j : i];
#endif
            out++;
            i += !second;
            j += second;
        }
        if (i >= middle) i = j;
        for (; out < end; out++, i++) {
            to[out] = k[i];
#if S_INDEX
            at_to[out] = at[i];
#endif
        }
    }
}

/* The last merge ends in kb, ib. The first runs stand where that makes it so. */
__kernel void so_rows(__global const S_T *source, __global S_T *ka, __global S_T *kb, __global int *ia,
                      __global int *ib, __global const int *P)
{
    const int n = P_N, item = so_item(P);
    const bool descending = P_DESCENDING != 0;
    int levels = 0;
    for (int run = SO_RUN; run < n; run *= 2)
        levels++;
    for (int row = item * P_EACH; item < P_ITEMS && row < min(item * P_EACH + P_EACH, P_ROWS); row++) {
        const long base = (long)row * n;
        bool is_b = (levels & 1) == 0;
        so_runs(source + (long)P_BEFORE * n + base, (is_b ? kb : ka) + base, (is_b ? ib : ia) + base, n, descending);
        for (int run = SO_RUN; run < n; run *= 2) {
            if (is_b)
                so_merge(kb + base, ib + base, ka + base, ia + base, n, run);
            else
                so_merge(ka + base, ia + base, kb + base, ib + base, n, run);
            is_b = !is_b;
        }
#if !S_INDEX
        for (int i = 0; i < n; i++)
            kb[base + i] = key_element(kb[base + i], descending);
#endif
    }
}

/* ---- long rows -------------------------------------------------------------------------------- */

/* How often each digit occurs in a chunk: table[row][chunk][digit]. */
SO_APART void so_count_chunk(__global const S_T *restrict source, __global const S_T *restrict keys,
                             __global int *restrict table, __global const int *restrict P, int item)
{
    const int n = P_N, row = item / P_CHUNKS, from = item % P_CHUNKS * P_CHUNK, to = from + min(P_CHUNK, n - from);
    const int shift = P_SHIFT;
    const bool descending = P_DESCENDING != 0;
    int counts[SO_DIGITS];
    if (item >= P_ITEMS) return;
    for (int d = 0; d < SO_DIGITS; d++)
        counts[d] = 0;
    if (P_READS_ELEMENTS) {
        __global const S_T *restrict x = source + ((long)P_BEFORE + row) * n;
        for (int i = from; i < to; i++)
            counts[key_of(x[i], descending) >> shift & 255]++;
    } else {
        __global const S_T *restrict k = keys + (long)row * n;
        for (int i = from; i < to; i++)
            counts[k[i] >> shift & 255]++;
    }
    for (int d = 0; d < SO_DIGITS; d++)
        table[(long)item * SO_DIGITS + d] = counts[d];
}

__kernel void so_count(__global const S_T *restrict source, __global const S_T *restrict keys,
                       __global int *restrict table, __global const int *restrict P)
{
    so_count_chunk(source, keys, table, P, so_item(P));
}

/* A work-item a digit of a row: its counts become how many stand in chunks before; their sum goes behind the table. */
__kernel void so_scan(__global int *restrict table, __global const int *restrict P)
{
    const int item = so_item(P), row = item / SO_DIGITS, d = item % SO_DIGITS, chunks = P_CHUNKS;
    if (item >= P_ROWS * SO_DIGITS) return;
    __global int *restrict t = table + (long)row * chunks * SO_DIGITS + d;
    int sum = 0;
    for (int c = 0; c < chunks; c++) {
        const int count = t[(long)c * SO_DIGITS];
        t[(long)c * SO_DIGITS] = sum;
        sum += count;
    }
    table[(long)P_ROWS * chunks * SO_DIGITS + item] = sum;
}

#if S_INDEX
#define SO_PUT(key, index)                         \
    {                                              \
        const S_T put = key;                       \
        const int at = next[put >> shift & 255]++; \
        if (!last) to_k[at] = put;                 \
        to_i[at] = index;                          \
    }
#else
#define SO_PUT(key, index)                                   \
    {                                                        \
        const S_T put = key;                                 \
        const int at = next[put >> shift & 255]++;           \
        to_k[at] = last ? key_element(put, descending) : put; \
    }
#endif

/* Every element of a chunk to its place: behind lower digits of the row, and equal ones before it. */
SO_APART void so_scatter_chunk(__global const S_T *source, __global const S_T *from_k, __global S_T *to_k,
                               __global const int *from_i, __global int *to_i, __global const int *restrict table,
                               __global const int *restrict P, int item)
{
    const int n = P_N, row = item / P_CHUNKS, from = item % P_CHUNKS * P_CHUNK, to = from + min(P_CHUNK, n - from);
    const int shift = P_SHIFT;
    const bool last = P_WRITES_ELEMENTS != 0, descending = P_DESCENDING != 0;
    int next[SO_DIGITS], sum = 0;
    if (item >= P_ITEMS) return;
    __global const int *restrict before = table + (long)item * SO_DIGITS;
    __global const int *restrict totals = table + (long)P_ROWS * P_CHUNKS * SO_DIGITS + (long)row * SO_DIGITS;
    for (int d = 0; d < SO_DIGITS; d++) {
        next[d] = sum + before[d];
        sum += totals[d];
    }
    source += ((long)P_BEFORE + row) * n;
    from_k += (long)row * n;
    to_k += (long)row * n;
    from_i += (long)row * n;
    to_i += (long)row * n;
    if (P_READS_ELEMENTS) {
        for (int i = from; i < to; i++)
            SO_PUT(key_of(source[i], descending), i)
    } else {
        for (int i = from; i < to; i++)
            SO_PUT(from_k[i], from_i[i])
    }
}

__kernel void so_scatter(__global const S_T *source, __global const S_T *from_k, __global S_T *to_k,
                         __global const int *from_i, __global int *to_i, __global const int *restrict table,
                         __global const int *restrict P)
{
    so_scatter_chunk(source, from_k, to_k, from_i, to_i, table, P, so_item(P));
}
