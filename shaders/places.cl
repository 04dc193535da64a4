/* SPDX-License-Identifier: MIT */
/* Pixels at computed places: src/compile/emit_places.c, Note [Places prefetched]. */

/*
 * Prefetches what the pixels a few rows below will be made of, where these are made of rows[k], columns[k], all below
 * n, of the source `from` with `pitch` bytes from row to row. How places move along the pixels, turned by a right
 * angle, is taken for how they move down.
 */
static inline void ip_prefetch_places(__global const uchar *from, const int *rows, const int *columns, int n,
                                      long pitch, int pixel)
{
#ifdef IP_STREAMS
    enum { ROWS = 5, BYTES = 16, MOST = 8 };
    const long across = (long)columns[n - 1] - columns[0], down = (long)rows[n - 1] - rows[0];
    const ulong ahead = (ulong)from + (ulong)(across * ROWS / n) * (ulong)pitch - (ulong)(down * ROWS / n * pixel);
    const int step = clamp(BYTES / pixel, 1, MOST);
    for (int k = 0; k < n; k += step)
        __builtin_prefetch(
            (__global const uchar *)(ahead + (ulong)rows[k] * (ulong)pitch + (ulong)((long)columns[k] * pixel)), 0, 2);
#endif
}
