/* SPDX-License-Identifier: MIT */
/*
 * Of a window around each element the one with k below it, by keys (keys.cl). The source has a margin as wide and as
 * high as the window reaches; its channels are looked at one by one.
 *
 *     rk_bytes    8 bits, rectangles: histograms of columns, which move down, are added up along a row (Perreault and
 *                 Hebert 2007, Median filtering in constant time)
 *     rk_slide    the rest: the window's histogram moves to and fro (Huang, Yang, Tang 1979, A fast two-dimensional
 *                 median filtering algorithm), of elements of up to 16 bits over their keys, of wider ones over their
 *                 ranks among those of a tile
 *     rk_down     for groups of many, 8 bits: a window's histogram moves down a column of the strip
 *     rk_count    likewise, of wider elements: bit by bit, by counting what is less
 *
 * With RK_MODE the most frequent element of the window, of several the least:
 *
 *     rk_bytes_mode   8 bits, rectangles: histograms of columns are added up along a row, all of them
 *     rk_slide_mode   the rest: as rk_slide, under the counts a tree of the largest ones
 *     rk_count_mode   small windows: one value after the other, by counting its like
 *
 * Of what its kernels take: P_COLUMNS, P_ROWS, P_PLANES and P_CHANNELS of the result; P_RX, P_RY, how far the window
 * reaches; P_RUNS, P_COLUMN_RUNS, of how many runs of neighbours side by side its rows and its columns are;
 * P_STRIP_COLUMNS, P_STRIP_ROWS of a strip, which is what a work-item computes of a channel; P_ACROSS, P_DOWN, strips;
 * P_FIRST of them, of P_STRIPS in all; P_BEFORE, rows in the source before the first one; P_PLANE_ROWS of a plane of
 * it; P_WORDS of scratch memory each. P_LIST has the runs of the rows, then those of the columns.
 */

/* A run: of which row or column, from where, how many. Places are counted from the window's first row and column. */
typedef struct rk_run {
    int line, from, length;
} rk_run;

#define RK_RUNS ((__global const rk_run *)(P_LIST))
#define RK_COLUMN_RUNS (RK_RUNS + P_RUNS)

/* What a work-item computes: columns x0..x1, rows y0..y1. source: where the window of the first begins; result: where
 * it is put. */
typedef struct rk_strip {
    int x0, x1, y0, y1;
    long source, result;
} rk_strip;

static inline bool rk_strip_of(int item, __global const int *P, rk_strip *s)
{
    /* Quotients of long: of a quotient and a remainder that belong together compilers make what Oclgrind cannot run. */
    const int number = P_FIRST + item, channel = number % P_CHANNELS, place = (long)number / P_CHANNELS;
    const int across = place % P_ACROSS, line = (long)place / P_ACROSS;
    const int down = line % P_DOWN, plane = (long)line / P_DOWN;
    s->x0 = across * P_STRIP_COLUMNS;
    s->x1 = min(s->x0 + P_STRIP_COLUMNS, P_COLUMNS);
    s->y0 = down * P_STRIP_ROWS;
    s->y1 = min(s->y0 + P_STRIP_ROWS, P_ROWS);
    s->source = (((long)plane * P_PLANE_ROWS + P_BEFORE + s->y0) * (P_COLUMNS + 2 * P_RX) + s->x0) * P_CHANNELS +
                channel;
    s->result = (((long)plane * P_ROWS + s->y0) * P_COLUMNS + s->x0) * P_CHANNELS + channel;
    return number < P_STRIPS;
}

/* ---- bytes ------------------------------------------------------------------------------------------------ */

#if IP_CPU && S_BITS == 8 && !RK_MODE
/* A row enters the histograms of m columns, or leaves them: those of a key's upper 4 bits, and of the lower ones for
 * each of these. */
static inline void rk_add_row(__global ushort16 *restrict high_of, __global ushort16 *restrict low_of, int m,
                              __global const S_T *restrict row, int step, ushort by)
{
    __global ushort *restrict high = (__global ushort *)high_of, *restrict low = (__global ushort *)low_of;
    for (int i = 0; i < m; i++) {
        const int key = key_of(row[(long)i * step], false);
        high[i * 16 + (key >> 4)] += by;
        low[((key >> 4) * m + i) * 16 + (key & 15)] += by;
    }
}

__kernel void rk_bytes(__global const S_T *restrict source, __global uint *restrict scratch,
                       __global S_T *restrict result, __global const int *restrict P)
{
    const int item = get_global_id(2) + P[0], side = 2 * P_RX + 1, rows = 2 * P_RY + 1, k = P_K;
    const int step = P_CHANNELS;
    const long pitch = (long)(P_COLUMNS + 2 * P_RX) * step;
    rk_strip s;
    if (!rk_strip_of(item, P, &s)) return;
    const int n = s.x1 - s.x0, m = n + side - 1;
    __global ushort16 *high = (__global ushort16 *)(scratch + (long)item * P_WORDS), *low = high + m;
    __global const S_T *in = source + s.source;
    __global S_T *out = result + s.result;
    for (int i = 0; i < m * 17; i++)
        high[i] = 0;
    for (int j = 0; j < rows - 1; j++)
        rk_add_row(high, low, m, in + j * pitch, step, 1);
    for (int y = s.y0; y < s.y1; y++, in += pitch, out += (long)P_COLUMNS * step) {
        rk_add_row(high, low, m, in + (rows - 1) * pitch, step, 1);
        ushort16 window = 0, parts[16];
        int last[16]; /* the column that a part was right for */
        for (int i = 0; i < 16; i++)
            last[i] = -side;
        for (int i = 0; i < side - 1; i++)
            window += high[i];
        for (int x = 0; x < n; x++) {
            window += high[x + side - 1];
            const ushort16 counts = window;
            int upper = 0, lower = 0, less = 0;
            while (less + ((const ushort *)&counts)[upper] <= k)
                less += ((const ushort *)&counts)[upper++];
            __global const ushort16 *columns = low + (long)upper * m;
            ushort16 part = parts[upper];
            if (last[upper] <= x - side) {
                part = 0;
                for (int i = x; i < x + side; i++)
                    part += columns[i];
            } else {
                for (int i = last[upper] + 1; i <= x; i++)
                    part += columns[i + side - 1] - columns[i - 1];
            }
            last[upper] = x;
            parts[upper] = part;
            while (less + ((const ushort *)&parts[upper])[lower] <= k)
                less += ((const ushort *)&parts[upper])[lower++];
            out[(long)x * step] = key_element((S_T)(upper << 4 | lower), false);
            window -= high[x];
        }
        rk_add_row(high, low, m, in, step, (ushort)-1);
    }
}
#endif

/* ---- histograms that slide ---------------------------------------------------------------------------------- */

#if (IP_CPU || RK_MODE) && S_BITS > 16
/* The keys and places of n elements in order; they may end in the other memory, which then is swapped. */
static inline void rk_sort(__global S_T **keys, __global S_T **keys_2, __global uint **places,
                           __global uint **places_2, int n)
{
    for (int shift = 0; shift < S_BITS; shift += 8) {
        uint counts[256];
        for (int d = 0; d < 256; d++)
            counts[d] = 0;
        __global S_T *a = *keys, *b = *keys_2;
        __global uint *p = *places, *q = *places_2;
        for (int i = 0; i < n; i++)
            counts[a[i] >> shift & 255]++;
        if (counts[a[0] >> shift & 255] == n) continue;
        for (uint d = 0, sum = 0; d < 256; d++) {
            const uint count = counts[d];
            counts[d] = sum;
            sum += count;
        }
        for (int i = 0; i < n; i++) {
            const uint to = counts[a[i] >> shift & 255]++;
            b[to] = a[i];
            q[to] = p[i];
        }
        *keys = b;
        *keys_2 = a;
        *places = q;
        *places_2 = p;
    }
}

/* The elements of a tile of m columns by their levels, the ranks of their keys: how many levels there are, the key of
 * each, and the level of each element. The memory is for two of both an element. */
static inline int rk_rank(__global const S_T *in, long pitch, int step, int m, int rows, __global S_T *memory,
                          __global S_T **levels_keys, __global uint **levels)
{
    const int all = m * rows;
    __global S_T *keys = memory;
    __global uint *places = (__global uint *)(memory + 2 * all);
    *levels_keys = memory + all;
    *levels = places + all;
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < m; i++) {
            keys[j * m + i] = key_of(in[j * pitch + (long)i * step], false);
            places[j * m + i] = j * m + i;
        }
    rk_sort(&keys, levels_keys, &places, levels, all);
    int n = 0;
    for (int i = 0; i < all; i++) {
        if (i == 0 || keys[i] != keys[i - 1]) (*levels_keys)[n++] = keys[i];
        (*levels)[places[i]] = n - 1;
    }
    return n;
}
#endif

/* The level of an element of a strip, and the element that a level stands for. */
#if S_BITS > 16
#define RK_LEVEL(Y, X) ((int)levels[(Y) * m + (X)])
#define RK_ELEMENT(LEVEL) key_element(levels_keys[LEVEL], false)
#else
#define RK_LEVEL(Y, X) ((int)key_of(in[(Y) * pitch + (long)(X) * step], false))
#define RK_ELEMENT(LEVEL) key_element((S_T)(LEVEL), false)
#endif

#if IP_CPU && !RK_MODE

/* The window's histogram, of single levels and of 256 of them; how many are less than the level `at`. */
typedef struct rk_window {
    __global ushort *fine, *coarse;
    int at, less;
} rk_window;

static inline void rk_count_in(rk_window *w, int level, int by)
{
    w->fine[level] += by;
    w->coarse[level >> 8] += by;
    w->less += level < w->at ? by : 0;
}

/* Moves to the level that has k below it. */
static inline void rk_find(rk_window *w, int k)
{
    while (w->less > k) {
        if ((w->at & 255) == 0 && w->less - w->coarse[(w->at >> 8) - 1] > k) {
            w->at -= 256;
            w->less -= w->coarse[w->at >> 8];
        } else {
            w->at--;
            w->less -= w->fine[w->at];
        }
    }
    for (;;) {
        if ((w->at & 255) == 0 && w->less + w->coarse[w->at >> 8] <= k) {
            w->less += w->coarse[w->at >> 8];
            w->at += 256;
        } else if (w->less + w->fine[w->at] <= k) {
            w->less += w->fine[w->at];
            w->at++;
        } else {
            return;
        }
    }
}

__kernel void rk_slide(__global const S_T *restrict source, __global uint *restrict scratch,
                       __global S_T *restrict result, __global const int *restrict P)
{
    const int item = get_global_id(2) + P[0], k = P_K, step = P_CHANNELS;
    const long pitch = (long)(P_COLUMNS + 2 * P_RX) * step, out_pitch = (long)P_COLUMNS * step;
    rk_strip s;
    if (!rk_strip_of(item, P, &s)) return;
    const int n = s.x1 - s.x0, rows = s.y1 - s.y0, m = n + 2 * P_RX;
    __global const S_T *in = source + s.source;
    __global S_T *out = result + s.result;
    __global uint *own = scratch + (long)item * P_WORDS;
#if S_BITS > 16
    const int all = m * (rows + 2 * P_RY);
    __global S_T *memory = (__global S_T *)own, *levels_keys;
    __global uint *levels;
    __global ushort *counts = (__global ushort *)((__global uint *)(memory + 2 * all) + 2 * all);
    const int n_levels = rk_rank(in, pitch, step, m, rows + 2 * P_RY, memory, &levels_keys, &levels);
    rk_window w = { counts, counts + all + 256, 0, 0 };
#else
    const int n_levels = 1 << S_BITS;
    rk_window w = { (__global ushort *)own, (__global ushort *)own + n_levels, 0, 0 };
#endif
    for (int i = 0; i < n_levels; i++)
        w.fine[i] = 0;
    for (int i = 0; i <= n_levels >> 8; i++)
        w.coarse[i] = 0;
    for (int j = 0; j < P_RUNS; j++)
        for (int i = 0; i < RK_RUNS[j].length; i++)
            rk_count_in(&w, RK_LEVEL(RK_RUNS[j].line, RK_RUNS[j].from + i), 1);
    /* Along a row, down, and back along the next one. */
    int x = 0, by = 1;
    for (int y = 0; y < rows; y++) {
        for (int left = n;;) {
            rk_find(&w, k);
            out[y * out_pitch + (long)x * step] = RK_ELEMENT(w.at);
            if (--left == 0) break;
            for (int j = 0; j < P_RUNS; j++) {
                const rk_run run = RK_RUNS[j];
                const int first = x + run.from, last = first + run.length - 1;
                rk_count_in(&w, RK_LEVEL(y + run.line, by > 0 ? first : last), -1);
                rk_count_in(&w, RK_LEVEL(y + run.line, by > 0 ? last + 1 : first - 1), 1);
            }
            x += by;
        }
        by = -by;
        for (int i = 0; y + 1 < rows && i < P_COLUMN_RUNS; i++) {
            const rk_run run = RK_COLUMN_RUNS[i];
            rk_count_in(&w, RK_LEVEL(y + run.from, x + run.line), -1);
            rk_count_in(&w, RK_LEVEL(y + run.from + run.length, x + run.line), 1);
        }
    }
}
#endif

/* ---- histograms of a group's work-items ------------------------------------------------------------------------ */

#if !IP_CPU && S_BITS == 8 && !RK_MODE
/* RK_ITEMS of a group: at 32, 16 KiB of local memory. */

/* The strip of an element is P_STRIP_ROWS rows below it. Counts of one key lie side by side, so work-items rarely
 * meet in one bank of local memory. */
__kernel __attribute__((reqd_work_group_size(RK_ITEMS, 1, 1)))
void rk_down(__global const S_T *restrict source, __global S_T *restrict result, __global const int *restrict P)
{
    __local ushort counts[256 * RK_ITEMS];
    __local ushort *own = counts + get_local_id(0);
    const long item = (get_global_id(2) + P[0]) * (long)get_global_size(0) + get_global_id(0);
    const long row = (long)P_COLUMNS * P_CHANNELS;
    const int k = P_K, step = P_CHANNELS, at = item % row;
    const int y0 = (int)(item / row % P_DOWN) * P_STRIP_ROWS;
    const int y1 = min(y0 + P_STRIP_ROWS, P_ROWS);
    const long plane = item / row / P_DOWN, pitch = (long)(P_COLUMNS + 2 * P_RX) * step;
    if (plane >= P_PLANES) return;
    __global const S_T *in = source + ((plane * P_PLANE_ROWS + P_BEFORE + y0) * pitch + at);
    __global S_T *out = result + (plane * P_ROWS + y0) * row + at;
    for (int i = 0; i < 256; i++)
        own[i * RK_ITEMS] = 0;
    for (int j = 0; j < P_RUNS; j++) {
        __global const S_T *run = in + RK_RUNS[j].line * pitch + (long)RK_RUNS[j].from * step;
        for (int i = 0; i < RK_RUNS[j].length; i++)
            own[key_of(run[(long)i * step], false) * RK_ITEMS]++;
    }
    int level = 0, less = 0; /* how many are below the level */
    for (int y = y0;; in += pitch) {
        while (less > k)
            less -= own[--level * RK_ITEMS];
        while (less + own[level * RK_ITEMS] <= k)
            less += own[level++ * RK_ITEMS];
        *out = key_element((S_T)level, false);
        out += row;
        if (++y >= y1) return;
        for (int i = 0; i < P_COLUMN_RUNS; i++) {
            __global const S_T *run = in + RK_COLUMN_RUNS[i].from * pitch + (long)RK_COLUMN_RUNS[i].line * step;
            const int leaves = key_of(*run, false), enters = key_of(run[RK_COLUMN_RUNS[i].length * pitch], false);
            own[leaves * RK_ITEMS]--;
            own[enters * RK_ITEMS]++;
            less += (enters < level) - (leaves < level);
        }
    }
}
#endif

/* ---- counting ------------------------------------------------------------------------------------------------- */

#if !RK_MODE
__kernel void rk_count(__global const S_T *restrict source, __global S_T *restrict result,
                       __global const int *restrict P)
{
    const long item = (get_global_id(2) + P[0]) * (long)get_global_size(0) + get_global_id(0);
    const long row = (long)P_COLUMNS * P_CHANNELS;
    const int step = P_CHANNELS, y = item / row % P_ROWS, at = item % row;
    const long plane = item / row / P_ROWS, pitch = (long)(P_COLUMNS + 2 * P_RX) * step;
    if (plane >= P_PLANES) return;
    __global const S_T *in = source + ((plane * P_PLANE_ROWS + P_BEFORE + y) * pitch + at);
    S_T key = 0;
    for (int bit = S_BITS - 1; bit >= 0; bit--) {
        const S_T higher = key | (S_T)1 << bit;
        int less = 0;
        for (int j = 0; j < P_RUNS; j++) {
            __global const S_T *run = in + RK_RUNS[j].line * pitch + (long)RK_RUNS[j].from * step;
            for (int i = 0; i < RK_RUNS[j].length; i++)
                less += key_of(run[(long)i * step], false) < higher;
        }
        if (less <= P_K) key = higher;
    }
    result[item] = key_element(key, false);
}
#endif

/* ---- the most frequent one -------------------------------------------------------------------------------------- */

#if RK_MODE
#define RK_FOUR(f, a, b, c, d) f(f(a, b), f(c, d))
#define RK_SIXTEEN(f, v) \
    RK_FOUR(f, RK_FOUR(f, v.s0, v.s1, v.s2, v.s3), RK_FOUR(f, v.s4, v.s5, v.s6, v.s7), \
            RK_FOUR(f, v.s8, v.s9, v.sa, v.sb), RK_FOUR(f, v.sc, v.sd, v.se, v.sf))

static inline ushort rk_most(ushort16 v) { return RK_SIXTEEN(max, v); }

static inline ushort rk_least(ushort16 v) { return RK_SIXTEEN(min, v); }

/* The least of the numbers whose count is the largest one. */
static inline int rk_first_most(ushort16 counts, ushort16 numbers)
{
    return rk_least(select((ushort16)0xffff, numbers, counts == (ushort16)rk_most(counts)));
}

#define RK_LANES (ushort16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

#if IP_CPU && S_BITS == 8
/* A row enters the histograms of m columns, or leaves them. */
static inline void rk_add_keys(__global ushort16 *restrict columns, int m, __global const S_T *restrict row, int step,
                               ushort by)
{
    __global ushort *restrict counts = (__global ushort *)columns;
    for (int i = 0; i < m; i++)
        counts[i * 256 + key_of(row[(long)i * step], false)] += by;
}

__kernel void rk_bytes_mode(__global const S_T *restrict source, __global uint *restrict scratch,
                            __global S_T *restrict result, __global const int *restrict P)
{
    const int item = get_global_id(2) + P[0], side = 2 * P_RX + 1, rows = 2 * P_RY + 1, step = P_CHANNELS;
    const long pitch = (long)(P_COLUMNS + 2 * P_RX) * step;
    rk_strip s;
    if (!rk_strip_of(item, P, &s)) return;
    const int n = s.x1 - s.x0, m = n + side - 1;
    __global ushort16 *columns = (__global ushort16 *)(scratch + (long)item * P_WORDS);
    __global const S_T *in = source + s.source;
    __global S_T *out = result + s.result;
    for (int i = 0; i < m * 16; i++)
        columns[i] = 0;
    for (int j = 0; j < rows - 1; j++)
        rk_add_keys(columns, m, in + j * pitch, step, 1);
    for (int y = s.y0; y < s.y1; y++, in += pitch, out += (long)P_COLUMNS * step) {
        rk_add_keys(columns, m, in + (rows - 1) * pitch, step, 1);
        ushort16 window[16];
        for (int k = 0; k < 16; k++)
            window[k] = 0;
        for (int i = 0; i < side - 1; i++)
            for (int k = 0; k < 16; k++)
                window[k] += columns[i * 16 + k];
        for (int x = 0; x < n; x++) {
            __global const ushort16 *leaves = columns + x * 16, *enters = leaves + (side - 1) * 16;
            ushort16 most = 0, part = 0; /* of each lane: its largest count, and which of the 16 has it first */
            for (ushort k = 0; k < 16; k++) {
                const ushort16 counts = window[k] + enters[k];
                part = select(part, (ushort16)k, counts > most);
                most = max(most, counts);
                window[k] = counts - leaves[k];
            }
            out[(long)x * step] = key_element((S_T)rk_first_most(most, part * (ushort16)16 + RK_LANES), false);
        }
        rk_add_keys(columns, m, in, step, (ushort)-1);
    }
}
#endif

/* The counts of levels, then of each 16 of these the largest, of each 16 of those, and so on to a last 16. */
enum { RK_DEPTH = 6 }; /* 16^6 levels are more than a tile has elements */
typedef struct rk_tree {
    __global ushort *counts[RK_DEPTH];
    int depth;
} rk_tree;

/* Makes it of zeros; where it ends. */
static inline __global uint *rk_plant(rk_tree *t, __global uint *at, int n_levels)
{
    __global ushort *counts = (__global ushort *)at;
    t->depth = 0;
    do {
        n_levels = (n_levels + 15) / 16;
        t->counts[t->depth++] = counts;
        for (int i = 0; i < n_levels * 16; i++)
            counts[i] = 0;
        counts += n_levels * 16;
    } while (n_levels > 1);
    return (__global uint *)counts;
}

static inline void rk_enter(const rk_tree *t, int level)
{
    const ushort count = ++t->counts[0][level];
    for (int d = 1; d < t->depth; d++) {
        level >>= 4;
        if (t->counts[d][level] >= count) return;
        t->counts[d][level] = count;
    }
}

static inline void rk_leave(const rk_tree *t, int level)
{
    ushort before = t->counts[0][level]--;
    for (int d = 1; d < t->depth; d++) {
        level >>= 4;
        if (t->counts[d][level] > before) return;
        const ushort most = rk_most(vload16(level, t->counts[d - 1]));
        if (most == before) return;
        t->counts[d][level] = most;
    }
}

/* The least of the levels whose count is the largest one. */
static inline int rk_mode(const rk_tree *t)
{
    int level = 0;
    for (int d = t->depth - 1; d >= 0; d--)
        level = level * 16 + rk_first_most(vload16(level, t->counts[d]), RK_LANES);
    return level;
}

__kernel void rk_slide_mode(__global const S_T *restrict source, __global uint *restrict scratch,
                            __global S_T *restrict result, __global const int *restrict P)
{
    const int item = get_global_id(2) + P[0], step = P_CHANNELS;
    const long pitch = (long)(P_COLUMNS + 2 * P_RX) * step, out_pitch = (long)P_COLUMNS * step;
    rk_strip s;
    if (!rk_strip_of(item, P, &s)) return;
    const int n = s.x1 - s.x0, rows = s.y1 - s.y0;
    __global const S_T *in = source + s.source;
    __global S_T *out = result + s.result;
    __global uint *own = scratch + (long)item * P_WORDS;
    rk_tree tree;
#if S_BITS > 16
    const int m = n + 2 * P_RX;
    __global S_T *memory = (__global S_T *)rk_plant(&tree, own, m * (rows + 2 * P_RY));
    __global S_T *levels_keys;
    __global uint *levels;
    rk_rank(in, pitch, step, m, rows + 2 * P_RY, memory, &levels_keys, &levels);
#else
    rk_plant(&tree, own, 1 << S_BITS);
#endif
    for (int j = 0; j < P_RUNS; j++)
        for (int i = 0; i < RK_RUNS[j].length; i++)
            rk_enter(&tree, RK_LEVEL(RK_RUNS[j].line, RK_RUNS[j].from + i));
    /* Along a row, down, and back along the next one. */
    int x = 0, by = 1;
    for (int y = 0; y < rows; y++) {
        for (int left = n;;) {
            out[y * out_pitch + (long)x * step] = RK_ELEMENT(rk_mode(&tree));
            if (--left == 0) break;
            for (int j = 0; j < P_RUNS; j++) {
                const rk_run run = RK_RUNS[j];
                const int first = x + run.from, last = first + run.length - 1;
                rk_leave(&tree, RK_LEVEL(y + run.line, by > 0 ? first : last));
                rk_enter(&tree, RK_LEVEL(y + run.line, by > 0 ? last + 1 : first - 1));
            }
            x += by;
        }
        by = -by;
        for (int i = 0; y + 1 < rows && i < P_COLUMN_RUNS; i++) {
            const rk_run run = RK_COLUMN_RUNS[i];
            rk_leave(&tree, RK_LEVEL(y + run.from, x + run.line));
            rk_enter(&tree, RK_LEVEL(y + run.from + run.length, x + run.line));
        }
    }
}

__kernel void rk_count_mode(__global const S_T *restrict source, __global S_T *restrict result,
                            __global const int *restrict P)
{
    const long item = (get_global_id(2) + P[0]) * (long)get_global_size(0) + get_global_id(0);
    const long row = (long)P_COLUMNS * P_CHANNELS;
    const long line = item / row, plane = line / P_ROWS;
    const int step = P_CHANNELS, y = line - plane * P_ROWS, at = item - line * row;
    const long pitch = (long)(P_COLUMNS + 2 * P_RX) * step;
    if (plane >= P_PLANES) return;
    __global const S_T *in = source + ((plane * P_PLANE_ROWS + P_BEFORE + y) * pitch + at);
    S_T mode = 0, from = 0;
    int most = 0;
    for (;;) {
        /* Of the keys that are left the least, and how many have it. */
        S_T key = S_ALL;
        int count = 0, left = 0;
        for (int j = 0; j < P_RUNS; j++) {
            __global const S_T *run = in + RK_RUNS[j].line * pitch + (long)RK_RUNS[j].from * step;
            for (int i = 0; i < RK_RUNS[j].length; i++) {
                const S_T now = key_of(run[(long)i * step], false);
                if (now < from) continue;
                left++;
                count = now < key ? 1 : count + (now == key);
                key = min(key, now);
            }
        }
        if (count > most) mode = key;
        most = max(most, count);
        if (left - count <= most) break;
        from = key + 1;
    }
    result[item] = key_element(mode, false);
}
#endif
