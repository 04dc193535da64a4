/* SPDX-License-Identifier: MIT */
/*
 * Distances from the nearest zero of a mask, exact: along columns by two sweeps, then along rows, then along planes by
 * the lower envelope of parabolas (Felzenszwalb and Huttenlocher 2012, Distance transforms of sampled functions; the
 * start of each parabola's part in whole numbers, as Meijster, Roerdink and Hesselink 2000).
 *
 *     ds_columns    distances within columns; a work-item computes a panel of columns of a plane
 *     ds_rows       squares within planes; a work-item computes a run of rows
 *     ds_planes     squares in a volume; a work-item computes a run of the lines along z
 *
 * What stands before this text: DS_G, of distances within columns, of which the largest is DS_NONE, none; DS_T and
 * DS_U, of squares, of which DS_FAR is none; DS_WANTED: 0 distances, 1 squares, 2 places of zeros; DS_R, of these.
 *
 * Of what its kernels take: P_PANELS of columns, P_PANEL columns each; P_ITEMS, work-items there is work for; P_EACH,
 * rows or lines a work-item; P_LINE, elements of a work-item's lines.
 */
static inline int ds_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

__kernel void ds_columns(__global const uchar *restrict mask, __global DS_G *restrict away,
                         __global const int *restrict P)
{
    const int item = ds_item(P), height = P_HEIGHT, width = P_WIDTH, panels = P_PANELS, panel = P_PANEL;
    if (item >= P_ITEMS) return;
    const int x0 = item % panels * panel, n = min(panel, width - x0);
    const long first = (long)(item / panels) * height * width + x0;
    const DS_G one = 1;
    __global const uchar *m = mask + first;
    __global DS_G *g = away + first;
    for (int x = 0; x < n; x++)
        g[x] = m[x] ? DS_NONE : 0;
    for (int y = 1; y < height; y++) {
        __global const DS_G *above = g;
        int x = 0;
        m += width;
        g += width;
        for (; x + 16 <= n; x += 16) {
            const DS_G16 is = DS_AS_G16(DS_CONVERT_S16(vload16(0, m + x) != (uchar16)(0)));
            vstore16(add_sat(vload16(0, above + x), (DS_G16)(one)) & is, 0, g + x);
        }
        for (; x < n; x++)
            g[x] = m[x] ? add_sat(above[x], one) : 0;
    }
    for (int y = 1; y < height; y++) {
        __global const DS_G *below = g;
        int x = 0;
        g -= width;
        for (; x + 16 <= n; x += 16)
            vstore16(min(vload16(0, g + x), add_sat(vload16(0, below + x), (DS_G16)(one))), 0, g + x);
        for (; x < n; x++)
            g[x] = min(g[x], add_sat(below[x], one));
    }
}

static inline DS_T ds_square(int x) { return (DS_T)x * x; }

/* Which of the parabolas h[i] + (x - i)^2, i and x from `from` to below `to`, are least somewhere: their number; *at
 * gets i, and *start the first x where the one before is not less. Where places are wanted those are among them that
 * others equal; else they are not. */
static int ds_envelope(__global const DS_T *restrict h, int from, int to, __global int *restrict at,
                       __global int *restrict start)
{
    int n = 0;
    for (int u = from; u < to; u++) {
        const DS_T hu = h[u];
        int first = from;
        if (hu == DS_FAR) continue;
        for (; n > 0; n--) {
            const int i = at[n - 1], x = start[n - 1];
            const DS_T own = hu + ds_square(x - u), other = h[i] + ds_square(x - i);
            if (DS_WANTED == 2 ? own < other : own <= other) continue;
            const DS_U twice = 2 * (DS_U)(u - i);
            first = (int)min(((DS_U)(ds_square(u) + hu - ds_square(i) - h[i]) + twice - 1) / twice, (DS_U)to);
            break;
        }
        if (first >= to) continue;
        at[n] = u;
        start[n++] = first;
    }
    return n;
}

/* The square as it is stored. */
static inline DS_R ds_result(DS_T square)
{
#if DS_WANTED == 0
    return square == DS_FAR ? INFINITY : sqrt((float)square);
#else
    return (DS_R)square;
#endif
}

#if DS_WANTED == 2
/* The zero that is `away` rows from row y in column x. */
static inline int ds_zero(__global const uchar *restrict mask, int row, int y, int width, int x, int away)
{
    const bool is_above = away <= y && mask[(long)(row - away) * width + x] == 0;
    return (is_above ? row - away : row + away) * width + x;
}
#endif

/* squares: of volumes, else unused; places: those within planes, of pictures the result. */
__kernel void ds_rows(__global const uchar *restrict mask, __global const DS_G *restrict away,
                      __global DS_T *restrict lines, __global DS_T *restrict squares, __global int *restrict places,
                      __global DS_R *restrict result, __global const int *restrict P)
{
    const int item = ds_item(P), depth = P_DEPTH, height = P_HEIGHT, width = P_WIDTH;
    const int to = min((item + 1) * P_EACH, depth * height);
    if (item >= P_ITEMS) return;
    __global DS_T *restrict h = lines + (long)item * P_LINE * 4, *restrict own = h + P_LINE;
    __global int *restrict at = (__global int *)(own + P_LINE), *restrict start = at + P_LINE;
    for (int row = item * P_EACH; row < to; row++) {
        __global const DS_G *restrict g = away + (long)row * width;
        __global DS_T *restrict d = depth > 1 ? squares + (long)row * width : own;
        for (int x = 0; x < width;) {
            if (g[x] == 0) {
                d[x] = 0;
#if DS_WANTED == 2
                places[(long)row * width + x] = row * width + x;
#endif
                x++;
                continue;
            }
            /* Between two zeros of a row no other column beyond them is nearer. */
            const int begin = x, from = max(x - 1, 0);
            h[from] = 0;
            for (; x < width && g[x] != 0; x++)
                h[x] = g[x] == DS_NONE ? DS_FAR : (DS_T)g[x] * g[x];
            if (x < width) h[x] = 0;
            const int n = ds_envelope(h, from, min(x + 1, width), at, start);
            for (int p = begin, k = 0; p < x; p++) {
                while (k + 1 < n && start[k + 1] <= p)
                    k++;
                d[p] = n ? h[at[k]] + ds_square(p - at[k]) : DS_FAR;
#if DS_WANTED == 2
                int place = n ? ds_zero(mask, row, row % height, width, at[k], g[at[k]]) : -1;
                for (int j = k - 1; j >= 0 && h[at[j]] + ds_square(p - at[j]) == d[p]; j--)
                    place = min(place, ds_zero(mask, row, row % height, width, at[j], g[at[j]]));
                places[(long)row * width + p] = place;
#endif
            }
        }
#if DS_WANTED != 2
        for (int x = 0; depth == 1 && x < width; x++)
            result[(long)row * width + x] = ds_result(d[x]);
#endif
    }
}

__kernel void ds_planes(__global const DS_T *restrict squares, __global const int *restrict places,
                        __global DS_T *restrict lines, __global DS_R *restrict result, __global const int *restrict P)
{
    const int item = ds_item(P), depth = P_DEPTH, plane = P_HEIGHT * P_WIDTH, to = min((item + 1) * P_EACH, plane);
    if (item >= P_ITEMS) return;
    __global DS_T *restrict h = lines + (long)item * P_LINE * 4;
    __global int *restrict at = (__global int *)(h + 2 * P_LINE), *restrict start = at + P_LINE;
    for (int line = item * P_EACH; line < to; line++) {
        for (int z = 0; z < depth; z++)
            h[z] = squares[(long)z * plane + line];
        const int n = ds_envelope(h, 0, depth, at, start);
        for (int z = 0, k = 0; z < depth; z++) {
            while (k + 1 < n && start[k + 1] <= z)
                k++;
            const DS_T least = n ? h[at[k]] + ds_square(z - at[k]) : DS_FAR;
#if DS_WANTED == 2
            int j = k; /* the first of equals */
            while (j > 0 && h[at[j - 1]] + ds_square(z - at[j - 1]) == least)
                j--;
            result[(long)z * plane + line] = n ? places[(long)at[j] * plane + line] : -1;
#else
            result[(long)z * plane + line] = ds_result(least);
#endif
        }
    }
}
