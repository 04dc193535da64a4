/* SPDX-License-Identifier: MIT */
/*
 * Laplace's equation where a mask is not 0: each element there is the mean of the four around it, edges of the picture
 * reflect. Grids of half the size each (Brandt 1977, Multi-level adaptive solutions to boundary-value problems;
 * McAdams, Sifakis and Teran 2010 for masks: a coarse cell is looked for where all it is made of are). The first answer
 * comes down from the smallest grid; cycles then take what is left over up to it and its correction down again, until
 * neither is above a share of the largest value. Each channel is by itself and has the box around the mask alone.
 *
 *     hm_copy    the result is the input; a work-item for each row
 *     hm_begin   the box and what is known; a work-group for each channel, of one work-item on a CPU
 *     hm_first   grids and the first answer; as hm_begin
 *     hm_cycle   some cycles, unless there is none to do; as hm_begin
 *     hm_end     the answer into the result; as hm_begin
 *
 * What stands before this text: HM_T, of elements, and HM_LEAST, the share. Of reference_harmonic.c: HM_HOST, all that
 * OpenCL C has and C has not, and HM(), which makes names of a dtype.
 *
 * A grid has a ring of cells around it, which holds what is beyond the edges. Of channel k: state[6 k]: 1 behind a
 * cycle that changed nothing, 2 behind the one after it, the last; then the box: first row and column, rows, columns,
 * and which of its sides are the picture's, bit 0 top, 1 bottom, 2 left, 3 right.
 *
 * Arguments: P_ROWS, P_COLUMNS, P_CHANNELS; P_ITEMS, work-items there is work for; of one channel, P_VALUES, P_BYTES of
 * mask and P_SPANS; P_CYCLES of hm_cycle, at most.
 */
#ifndef HM_HOST
#define HM(name) hm_##name
#if IP_CPU
#define HM_APART IP_APART
#define HM_ITEM 0
#define HM_ITEMS 1
#define HM_SYNC
#else
#define HM_APART static
#define HM_ITEM (int)get_local_id(0)
#define HM_ITEMS (int)get_local_size(0)
#define HM_SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#endif

#ifndef HM_GRIDS
#define HM_GRIDS 32
/* HEAD: values of the work before its grids: the least change that counts. */
/* SMALL: cells of grids that are swept more often. */
enum { HM_SMALLEST = 1, HM_SWEEPS = 2, HM_SMALL = 64, HM_SMALL_SWEEPS = 24, HM_BLOCK = 256 };
enum { HM_STATE = 6, HM_HEAD = 1, HM_DONE = 2 };
#endif

typedef struct HM(grid) {
    __global HM_T *v, *f;   /* values, and four times each less those around it */
    __global uchar *m;      /* 1: looked for */
    __global int *span;     /* of each row: the first column that is looked for, and the one behind the last */
    int h, w, pitch, sides;
    int f_pitch; /* 0: f is a row of zeros */
} HM(grid);

/* The grids of a box, the largest first; returns how many. The second is as large as the first: its corrections have
 * more digits than what they correct. */
static int HM(grids)(HM(grid) *g, __global HM_T *v, __global uchar *m, __global int *span, int h, int w, int sides)
{
    int n = 0;
    for (bool more = true; more && n < HM_GRIDS; n++) {
        const int pitch = w + 2;
        const long size = (long)(h + 2) * pitch;
        const HM(grid) is = { v, v + size, m, span, h, w, pitch, sides, n > 0 ? pitch : 0 };
        g[n] = is;
        v += size + (n > 0 ? size : pitch);
        m += size;
        span += 2 * h;
        if (n == 0) continue;
        more = max(h, w) > HM_SMALLEST;
        h = (h + 1) / 2;
        w = (w + 1) / 2;
    }
    return n;
}

/* The first cell of row y; -1 is above all. */
static inline long HM(at)(const HM(grid) *g, int y) { return (long)(y + 1) * g->pitch + 1; }

/* The cells beyond the picture's edges are as those beside them. */
HM_APART void HM(reflect)(const HM(grid) *g)
{
    const int last = g->h - 1, right = g->w - 1;
    if (g->sides == 0) return;
    for (int x = HM_ITEM; x < g->w; x += HM_ITEMS) {
        if (g->sides & 1) g->v[HM(at)(g, -1) + x] = g->v[HM(at)(g, 0) + x];
        if (g->sides & 2) g->v[HM(at)(g, last + 1) + x] = g->v[HM(at)(g, last) + x];
    }
    HM_SYNC;
    for (int y = HM_ITEM - 1; y <= g->h; y += HM_ITEMS) {
        if (g->sides & 4) g->v[HM(at)(g, y) - 1] = g->v[HM(at)(g, y)];
        if (g->sides & 8) g->v[HM(at)(g, y) + right + 1] = g->v[HM(at)(g, y) + right];
    }
    HM_SYNC;
}

/* Every second cell that is looked for becomes what the four around it ask for, those of one colour of a chessboard. A
 * CPU makes blocks by vectors, whose other cells are thrown away, before it stores them: loads of what was just stored
 * by other vectors wait for it. */
static inline void HM(relax_row)(__global HM_T *v, __global const HM_T *f, __global const uchar *m, int pitch, int from,
                                 int end, int odd)
{
#if defined HM_HOST || IP_CPU
    HM_T block[HM_BLOCK];
    for (; from < end; from += HM_BLOCK) {
        const int n = min(end - from, (int)HM_BLOCK), colour = from ^ odd;
        __global HM_T *at = v + from;
        __global const HM_T *ask = f + from;
        __global const uchar *looked = m + from;
        for (int x = 0; x < n; x++)
            block[x] = (at[x - 1] + at[x + 1] + at[x - pitch] + at[x + pitch] + ask[x]) * (HM_T)0.25;
        for (int x = 0; x < n; x++)
            at[x] = (looked[x] & (x ^ colour) & 1) ? block[x] : at[x];
    }
#else
    for (int x = from + HM_ITEM; x < end; x += HM_ITEMS) {
        const HM_T is = (v[x - 1] + v[x + 1] + v[x - pitch] + v[x + pitch] + f[x]) * (HM_T)0.25;
        if (m[x] & (x ^ odd) & 1) v[x] = is;
    }
#endif
}

/* none: cells that were changed are reflected alone. */
HM_APART void HM(relax)(const HM(grid) *g, int none)
{
    const int sweeps = none ? 0 : (long)g->h * g->w <= HM_SMALL ? HM_SMALL_SWEEPS : HM_SWEEPS;
    for (int k = -1; k < 2 * sweeps; k++) {
        for (int y = 0; k >= 0 && y < g->h; y++) {
            const long at = HM(at)(g, y);
            HM(relax_row)(g->v + at, g->f + (long)(y + 1) * g->f_pitch + 1, g->m + at, g->pitch, g->span[2 * y],
                          g->span[2 * y + 1], y + k);
        }
        HM_SYNC;
        HM(reflect)(g);
    }
}

/* What is left over at a row of a grid is what its correction asks for; returns whether any is above least. */
static inline int HM(refine_row)(const HM(grid) *g, const HM(grid) *to, int y, HM_T least)
{
    const int p = g->pitch, from = g->span[2 * y], end = g->span[2 * y + 1];
    const long at = HM(at)(g, y);
    __global HM_T *restrict f = to->f + at;
    __global const HM_T *restrict v = g->v + at;
    __global const uchar *restrict m = g->m + at;
    int open = 0;
    for (int x = from + HM_ITEM; x < end; x += HM_ITEMS) {
        /* differences of what is nearly equal are exact */
        const HM_T left = (v[x - 1] - v[x]) + (v[x + 1] - v[x]) + ((v[x - p] - v[x]) + (v[x + p] - v[x]));
        const HM_T is = m[x] ? left : (HM_T)0;
        open |= fabs(is) > least;
        f[x] = is;
    }
    return open;
}

/* The same onto a coarse grid. */
static inline int HM(restrict_row)(const HM(grid) *g, const HM(grid) *to, int y)
{
    const int two = 2 * y + 1 < g->h, p = g->pitch;
    const int from = min(g->span[4 * y], two ? g->span[4 * y + 2] : g->w) / 2,
              end = (max(g->span[4 * y + 1], two ? g->span[4 * y + 3] : 0) + 1) / 2;
    const long at = HM(at)(to, y), of = HM(at)(g, 2 * y);
    __global HM_T *restrict f = to->f + at;
    __global const HM_T *restrict v = g->v + of, *restrict ask = g->f + (long)(2 * y + 1) * g->f_pitch + 1;
    __global const uchar *restrict m = g->m + of, *restrict looked = to->m + at;
    const int f_pitch = g->f_pitch;
    const HM_T share = (g->h == 1 ? 2 : 1) * (g->w == 1 ? 2 : 1); /* a line becomes a line of as few cells */
#define HM_LEFT(E, F) \
    (m[E] ? ask[F] + v[(E) - 1] + v[(E) + 1] + v[(E) - p] + v[(E) + p] - 4 * v[E] : (HM_T)0)
    for (int x = from + HM_ITEM; x < end; x += HM_ITEMS) {
        const int e = 2 * x;
        const HM_T a = HM_LEFT(e, e), b = HM_LEFT(e + 1, e + 1), c = HM_LEFT(e + p, e + f_pitch),
                   d = HM_LEFT(e + p + 1, e + f_pitch + 1);
        f[x] = looked[x] ? (a + b + c + d) * share : (HM_T)0;
    }
#undef HM_LEFT
    return 0;
}

HM_APART int HM(restrict_to)(const HM(grid) *g, const HM(grid) *to, HM_T least)
{
    int open = 0;
    for (int y = 0; y < to->h; y++)
        open |= to->h == g->h && to->w == g->w ? HM(refine_row)(g, to, y, least) : HM(restrict_row)(g, to, y);
    for (int y = HM_ITEM - 1; y <= to->h; y += HM_ITEMS)
        for (int x = -1; x <= to->w; x++)
            to->v[HM(at)(to, y) + x] = 0;
    HM_SYNC;
    return open;
}

/* Adds the values of a grid to row y of another; returns whether any is above least. */
static inline int HM(correct_row)(const HM(grid) *from, const HM(grid) *g, int y, HM_T least)
{
    const long at = HM(at)(g, y);
    __global HM_T *restrict v = g->v + at;
    __global const HM_T *restrict by = from->v + at;
    __global const uchar *restrict m = g->m + at;
    int open = 0;
    for (int x = g->span[2 * y] + HM_ITEM; x < g->span[2 * y + 1]; x += HM_ITEMS) {
        const HM_T is = m[x] ? by[x] : (HM_T)0;
        open |= fabs(is) > least;
        v[x] += is;
    }
    return open;
}

/* The same of a coarse grid, linear between the middles of its cells. */
static inline int HM(add_row)(const HM(grid) *from, const HM(grid) *g, int y)
{
    const long at = HM(at)(g, y);
    __global HM_T *restrict v = g->v + at;
    __global const uchar *restrict m = g->m + at;
    __global const HM_T *restrict near = from->v + HM(at)(from, y / 2),
                        *restrict far = from->v + HM(at)(from, y / 2 + (y % 2 ? 1 : -1));
    const int end = (g->span[2 * y + 1] + 1) / 2;
    for (int x = g->span[2 * y] / 2 + HM_ITEM; x < end; x += HM_ITEMS) {
        const HM_T here = 3 * near[x] + far[x], left = 3 * near[x - 1] + far[x - 1],
                   right = 3 * near[x + 1] + far[x + 1];
        const HM_T a = m[2 * x] ? (3 * here + left) / 16 : (HM_T)0,
                   b = m[2 * x + 1] ? (3 * here + right) / 16 : (HM_T)0;
        v[2 * x] += a;
        v[2 * x + 1] += b;
    }
    return 0;
}

HM_APART int HM(add_to)(const HM(grid) *from, const HM(grid) *g, HM_T least)
{
    int open = 0;
    for (int y = 0; y < g->h; y++)
        open |= from->h == g->h && from->w == g->w ? HM(correct_row)(from, g, y, least) : HM(add_row)(from, g, y);
    HM_SYNC;
    return open;
}

/* ---- the first answer --------------------------------------------------------------------------- */

/* The first and the last row and column of what is looked for, into box. */
static void HM(find_box)(__global const uchar *mask, int rows, int columns, __local int *box)
{
    if (HM_ITEM == 0) box[0] = rows, box[1] = -1, box[2] = columns, box[3] = -1;
    HM_SYNC;
    for (int y = HM_ITEM; y < rows; y += HM_ITEMS) {
        __global const uchar *row = mask + (long)y * columns;
        int any = 0, left = 0, right = columns - 1;
        for (int x = 0; x < columns; x++)
            any |= row[x];
        if (!any) continue;
        while (!row[left])
            left++;
        while (!row[right])
            right--;
        atomic_min(box, y);
        atomic_max(box + 1, y);
        atomic_min(box + 2, left);
        atomic_max(box + 3, right);
    }
    HM_SYNC;
}

HM_APART void HM(find_spans)(const HM(grid) *g)
{
    for (int y = HM_ITEM; y < g->h; y += HM_ITEMS) {
        __global const uchar *m = g->m + HM(at)(g, y);
        int left = 0, right = g->w;
        while (left < g->w && !m[left])
            left++;
        while (right > left && !m[right - 1])
            right--;
        g->span[2 * y] = left;
        g->span[2 * y + 1] = right;
    }
    HM_SYNC;
}

/* A grid whose cells are zeros, none of them looked for. */
HM_APART void HM(clear)(const HM(grid) *g)
{
    for (int y = HM_ITEM - 1; y <= g->h; y += HM_ITEMS) {
        const long at = HM(at)(g, y) - 1;
        for (int x = 0; x < g->pitch; x++) {
            g->v[at + x] = 0;
            g->m[at + x] = 0;
            if (g->f_pitch > 0 || y < 0) g->f[(long)(y + 1) * g->f_pitch + x] = 0;
        }
    }
    HM_SYNC;
}

/* What a coarse cell is: known where any it is made of is, the mean of those. */
HM_APART void HM(coarsen)(const HM(grid) *g, const HM(grid) *to)
{
    if (to->h == g->h && to->w == g->w) {
        for (int y = HM_ITEM; y < g->h; y += HM_ITEMS)
            for (int x = 0; x < g->w; x++) {
                to->m[HM(at)(to, y) + x] = g->m[HM(at)(g, y) + x];
                to->v[HM(at)(to, y) + x] = g->v[HM(at)(g, y) + x];
            }
        HM_SYNC;
        return;
    }
    for (int y = HM_ITEM; y < to->h; y += HM_ITEMS)
        for (int x = 0; x < to->w; x++) {
            HM_T sum = 0;
            int known = 0;
            for (int k = 0; k < 4; k++) {
                const int yy = 2 * y + k / 2, xx = 2 * x + k % 2;
                const long e = HM(at)(g, yy) + xx;
                if (yy >= g->h || xx >= g->w || g->m[e]) continue;
                sum += g->v[e];
                known++;
            }
            const long e = HM(at)(to, y) + x;
            to->m[e] = known == 0;
            to->v[e] = known > 0 ? sum / known : (HM_T)0;
        }
    HM_SYNC;
}

/* Channel k's part of what there is. */
typedef struct HM(work) {
    __global HM_T *v;
    __global uchar *m;
    __global int *state, *span;
} HM(work);

static HM(work) HM(work_of)(__global HM_T *v, __global uchar *m, __global int *ints, int k, __global const int *P)
{
    const HM(work) is = { v + (long)k * P_VALUES, m + (long)k * P_BYTES, ints + HM_STATE * k,
                          ints + HM_STATE * P_CHANNELS + (long)k * P_SPANS };
    return is;
}

static int HM(grids_of)(const HM(work) *w, HM(grid) *g)
{
    __global const int *s = w->state;
    return HM(grids)(g, w->v + HM_HEAD, w->m, w->span, s[3], s[4], s[5]);
}

/* Whether one of the four around a pixel is looked for. */
static inline bool HM(is_beside)(__global const uchar *mask, int rows, int columns, int y, int x)
{
    __global const uchar *at = mask + (long)y * columns + x;
    return (y > 0 && at[-columns]) || (y < rows - 1 && at[columns]) || (x > 0 && at[-1]) || (x < columns - 1 && at[1]);
}

/* What is not finite becomes 0 beside nothing that is looked for: no answer depends on it, but the first one would. */
static void HM(begin_of)(__global const HM_T *in, __global const uchar *mask, const HM(work) *w, int k,
                         __local int *box, __local HM_T *part, __global const int *P)
{
    const int rows = P_ROWS, columns = P_COLUMNS, channels = P_CHANNELS;
    HM(grid) g[HM_GRIDS];
    HM(find_box)(mask, rows, columns, box);
    const int top = box[0], bottom = box[1], left = box[2], right = box[3], y0 = max(top - 1, 0), x0 = max(left - 1, 0);
    const int h = min(bottom + 2, rows) - y0, wide = min(right + 2, columns) - x0;
    const int sides = (top == 0) + 2 * (bottom == rows - 1) + 4 * (left == 0) + 8 * (right == columns - 1);
    if (HM_ITEM == 0) {
        const int state[HM_STATE] = { bottom < 0 ? HM_DONE : 0, y0, x0, bottom < 0 ? 0 : h, wide, sides };
        for (int i = 0; i < HM_STATE; i++)
            w->state[i] = state[i];
    }
    if (bottom < 0) return;
    const int n = HM(grids)(g, w->v + HM_HEAD, w->m, w->span, h, wide, sides);
    HM_T most = -1;
    for (int j = 0; j < n; j++)
        HM(clear)(g + j);
    for (int y = HM_ITEM; y < h; y += HM_ITEMS)
        for (int x = 0; x < wide; x++) {
            const long e = (long)(y0 + y) * columns + x0 + x, to = HM(at)(g, y) + x;
            const HM_T v = mask[e] ? (HM_T)0 : in[e * channels + k];
            const bool is_finite = isfinite(v);
            most = !mask[e] ? fmax(most, is_finite ? fabs(v) : (HM_T)0) : most;
            g->v[to] = is_finite || HM(is_beside)(mask, rows, columns, y0 + y, x0 + x) ? v : (HM_T)0;
            g->m[to] = mask[e] != 0;
        }
    part[HM_ITEM] = most;
    HM_SYNC;
    if (HM_ITEM == 0) {
        for (int i = 0; i < HM_ITEMS; i++)
            most = fmax(most, part[i]);
        w->v[0] = most * (HM_T)HM_LEAST;
        if (most < 0) w->state[0] = HM_DONE; /* nothing is known */
    }
}

/* The spans, the coarse grids and what comes down from the smallest. */
static void HM(first_of)(const HM(work) *w)
{
    HM(grid) g[HM_GRIDS];
    if (w->state[0]) return;
    const int n = HM(grids_of)(w, g);
    for (int j = 0; j < n; j++) {
        if (j > 0) HM(coarsen)(g + j - 1, g + j);
        HM(find_spans)(g + j);
    }
    for (int j = n - 1; j >= 0; j--) {
        if (j + 1 < n) HM(add_to)(g + j + 1, g + j, 0);
        HM(relax)(g + j, j == 0);
    }
}

/* Tells whether there is another to do; open is shared by the work-items. */
static void HM(cycle_of)(const HM(work) *w, const HM(grid) *g, int n, __local int *open)
{
    const HM_T least = w->v[0];
    int more = 0;
    if (HM_ITEM == 0) *open = 0;
    HM_SYNC;
    for (int k = 0; k < 2 * n - 1; k++) {
        const int up = k >= n, j = up ? 2 * n - 2 - k : k;
        int open_here = 0;
        if (up) open_here = HM(add_to)(g + j + 1, g + j, least);
        HM(relax)(g + j, j == 0);
        if (j + 1 < n && !up) open_here = HM(restrict_to)(g + j, g + j + 1, least);
        more |= j == 0 && open_here;
    }
    if (more) *open = 1;
    HM_SYNC;
    if (HM_ITEM == 0 && (w->state[0] || !*open)) w->state[0]++;
    HM_SYNC;
}

/* So many cycles at most. */
static void HM(cycles_of)(const HM(work) *w, int most, __local int *open)
{
    HM(grid) g[HM_GRIDS];
    if (w->state[0] == HM_DONE) return;
    const int n = HM(grids_of)(w, g);
    for (int k = 0; k < most && w->state[0] < HM_DONE; k++)
        HM(cycle_of)(w, g, n, open);
}

static void HM(end_of)(__global HM_T *out, const HM(work) *w, int k, __global const int *P)
{
    HM(grid) g[HM_GRIDS];
    __global const int *s = w->state;
    if (s[3] == 0) return;
    HM(grids_of)(w, g);
    for (int y = HM_ITEM; y < g->h; y += HM_ITEMS)
        for (int x = 0; x < g->w; x++)
            if (g->m[HM(at)(g, y) + x])
                out[((long)(s[1] + y) * P_COLUMNS + s[2] + x) * P_CHANNELS + k] = g->v[HM(at)(g, y) + x];
}

#ifndef HM_HOST
static inline int hm_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

__kernel void hm_copy(__global const HM_T *restrict in, __global HM_T *restrict out, __global const int *P)
{
    const int y = hm_item(P), n = P_COLUMNS * P_CHANNELS;
    if (y >= P_ITEMS) return;
    for (int e = 0; e < n; e++)
        out[(long)y * n + e] = in[(long)y * n + e];
}

__kernel void hm_begin(__global const HM_T *in, __global const uchar *mask, __global HM_T *v, __global uchar *m,
                       __global int *ints, __global const int *P)
{
    __local int box[4];
    __local HM_T part[HM_GROUP];
    const int k = hm_item(P) / (int)get_local_size(0);
    if (k >= P_CHANNELS) return;
    const hm_work w = hm_work_of(v, m, ints, k, P);
    hm_begin_of(in, mask, &w, k, box, part, P);
}

__kernel void hm_first(__global HM_T *v, __global uchar *m, __global int *ints, __global const int *P)
{
    const int k = hm_item(P) / (int)get_local_size(0);
    if (k >= P_CHANNELS) return;
    const hm_work w = hm_work_of(v, m, ints, k, P);
    hm_first_of(&w);
}

__kernel void hm_cycle(__global HM_T *v, __global uchar *m, __global int *ints, __global const int *P)
{
    __local int open;
    const int k = hm_item(P) / (int)get_local_size(0);
    if (k >= P_CHANNELS) return;
    const hm_work w = hm_work_of(v, m, ints, k, P);
    hm_cycles_of(&w, P_CYCLES, &open);
}

__kernel void hm_end(__global HM_T *out, __global HM_T *v, __global uchar *m, __global int *ints, __global const int *P)
{
    const int k = hm_item(P) / (int)get_local_size(0);
    if (k >= P_CHANNELS) return;
    const hm_work w = hm_work_of(v, m, ints, k, P);
    hm_end_of(out, &w, k, P);
}
#endif
