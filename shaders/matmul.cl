/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices, c[i][j] = sum over k of a[i][k] b[k][j], for every pair of matrices of a batch. What stands
 * before this text: MM_T, the type of elements and of sums; MM_BYTES, its size; MM_FMA(a, b, c).
 *
 *     mm_reduce   few columns: a long sum for each element; b comes transposed
 *     mm_blocked  everything large; on a CPU after mm_pack, which lays b out in panels, unless it is as wide as one
 *     mm_direct   the rest: little matrices, few rows
 *
 * Of what its kernels take: P_INNER, extent of the inner batch axis; P_A_OUTER to P_B_INNER, how many matrices further
 * a's next one lies along the outer and the inner batch axis, and b's; P_A_FIRST row of a, P_A_ROWS; P_ROWS and
 * P_COLUMNS of a work-item, P_ROW_BLOCKS.
 *
 * Where MM_VIEW is defined, mm_blocked reads a through a view (ops/matmul.h, ip_mm_view): row r of it, the place
 * z, y, x of r in planes of MM_V_HEIGHT rows of MM_V_WIDTH, lies MM_V_STRIDE of it along a, and consists of MM_V_PIECES
 * pieces, of which each may be moved along z, y and x and is 0 where it so leaves a. These numbers stand behind the
 * named ones of P (ops/stages_matmul.c asserts where).
 */
#define MM_JOIN_(a, b) a##b
#define MM_JOIN(a, b) MM_JOIN_(a, b)

/* Where matrix number t of the result finds its operands; sizes in elements. (Remainders are written as differences:
 * where a quotient stands beside %, clang makes an instruction of them that Oclgrind does not know.) */
static inline long mm_a(__global const int *restrict P, int t)
{
    const int outer = t / P_INNER, inner = t - outer * P_INNER;
    return ((long)outer * P_A_OUTER + (long)inner * P_A_INNER) * P_A_ROWS * P_K + (long)P_A_FIRST * P_K;
}

static inline int mm_b(__global const int *restrict P, int t)
{
    const int outer = t / P_INNER, inner = t - outer * P_INNER;
    return outer * P_B_OUTER + inner * P_B_INNER;
}

#if IP_CPU

/* A register holds MM_LANES elements. */
#if IP_VECTOR_BYTES / MM_BYTES == 16
#define MM_LANES 16
#elif IP_VECTOR_BYTES / MM_BYTES == 8
#define MM_LANES 8
#elif IP_VECTOR_BYTES / MM_BYTES == 4
#define MM_LANES 4
#else
#define MM_LANES 2
#endif
typedef MM_JOIN(MM_T, MM_LANES) mm_v;
#define MM_LOAD MM_JOIN(vload, MM_LANES)
#define MM_STORE MM_JOIN(vstore, MM_LANES)

/* A micro-tile of MM_R rows x MM_W columns is summed in registers: 24 of 32, or 12 of 16; half as many where there are
 * no more than MM_MOST_N columns and these fit one register. */
#if defined MM_MOST_N && MM_MOST_N <= MM_LANES
#define MM_ACROSS 1
#else
#define MM_ACROSS 2
#endif
#define MM_W (MM_ACROSS * MM_LANES)
#if IP_VECTOR_BYTES == 64
#define MM_R 12
#else
#define MM_R 6
#endif
/* So many steps along k at a time: MM_KB x MM_W elements of b stay in the first cache. */
#define MM_KB 256

/* b as panels of MM_W columns, each a run of k rows; columns beyond the last are 0. */
__kernel void mm_pack(__global const MM_T *restrict b, __global MM_T *restrict packed, __global const int *restrict P)
{
    const int n = P_N, k = P_K, panel = get_global_id(0), panels = get_global_size(0),
              from = get_global_id(1) * MM_KB;
    const long matrix = get_global_id(2) + P[0];
    __global const MM_T *restrict in = b + matrix * k * n + panel * MM_W;
    __global MM_T *restrict out = packed + (matrix * panels + panel) * k * MM_W;
    const int columns = min(n - panel * MM_W, MM_W), to = min(from + MM_KB, k);
    if (columns == MM_W) {
        for (int i = from; i < to; i++)
            for (int j = 0; j < MM_W; j++)
                out[(long)i * MM_W + j] = in[(long)i * n + j];
        return;
    }
    for (int i = from; i < to; i++)
        for (int j = 0; j < MM_W; j++)
            out[(long)i * MM_W + j] = j < columns ? in[(long)i * n + j] : (MM_T)0;
}

#if MM_ACROSS == 1 && !defined MM_VIEW
/* The whole of a micro-tile whose columns fit one register, from rows of a, k elements apart, as they lie: what is
 * packed would be read once. */
IP_APART void mm_narrow_tile(__global const MM_T *restrict a, int k, __global const MM_T *restrict b, int steps,
                             __global MM_T *restrict c, bool first)
{
    mm_v sum[MM_R];
#pragma unroll
    for (int r = 0; r < MM_R; r++)
        sum[r] = first ? (mm_v)0 : MM_LOAD(r, c);
    for (int i = 0; i < steps; i++) {
        const mm_v across = MM_LOAD(i, b);
#pragma unroll
        for (int r = 0; r < MM_R; r++)
            sum[r] = MM_FMA((mm_v)a[(long)r * k + i], across, sum[r]);
    }
#pragma unroll
    for (int r = 0; r < MM_R; r++)
        MM_STORE(sum[r], r, c);
}
#endif

/* (Without `restrict`: what clang makes of it where a function is inlined, Oclgrind does not know.) */
#define MM_INLINE static inline __attribute__((always_inline))

/* The sums of a micro-tile: nothing at first, then what was stored. */
MM_INLINE void mm_begin(mm_v sum[MM_R][MM_ACROSS], __global const MM_T *c, int n, int rows, int columns,
                        bool first)
{
    MM_T edge[MM_W];
    const bool whole = rows == MM_R && columns == MM_W;
#pragma unroll
    for (int r = 0; r < MM_R; r++)
#pragma unroll
        for (int j = 0; j < MM_ACROSS; j++)
            sum[r][j] = (mm_v)0;
    if (!first && whole) {
#pragma unroll
        for (int r = 0; r < MM_R; r++)
#pragma unroll
            for (int j = 0; j < MM_ACROSS; j++)
                sum[r][j] = MM_LOAD(j, c + (long)r * n);
    } else if (!first) {
#pragma unroll
        for (int r = 0; r < MM_R; r++)
            if (r < rows) {
                for (int j = 0; j < MM_W; j++)
                    edge[j] = j < columns ? c[(long)r * n + j] : (MM_T)0;
#pragma unroll
                for (int j = 0; j < MM_ACROSS; j++)
                    sum[r][j] = MM_LOAD(j, edge);
            }
    }
}

MM_INLINE void mm_end(mm_v sum[MM_R][MM_ACROSS], __global MM_T *c, int n, int rows, int columns)
{
    MM_T edge[MM_W];
    if (rows == MM_R && columns == MM_W) {
#pragma unroll
        for (int r = 0; r < MM_R; r++)
#pragma unroll
            for (int j = 0; j < MM_ACROSS; j++)
                MM_STORE(sum[r][j], j, c + (long)r * n);
        return;
    }
#pragma unroll
    for (int r = 0; r < MM_R; r++)
        if (r < rows) {
#pragma unroll
            for (int j = 0; j < MM_ACROSS; j++)
                MM_STORE(sum[r][j], j, edge);
            for (int j = 0; j < columns; j++)
                c[(long)r * n + j] = edge[j];
        }
}

/* Step i of a micro-tile, which meets row i of a panel of b; ELEMENT is that of row r of a. */
#define MM_SUM_STEP(ELEMENT)                                                                                   \
    {                                                                                                          \
        mm_v across[MM_ACROSS];                                                                                \
        _Pragma("unroll") for (int j = 0; j < MM_ACROSS; j++) across[j] = MM_LOAD(j, b + i * MM_W);            \
        _Pragma("unroll") for (int r = 0; r < MM_R; r++)                                                       \
        {                                                                                                      \
            const mm_v v = (mm_v)(ELEMENT);                                                                    \
            _Pragma("unroll") for (int j = 0; j < MM_ACROSS; j++) sum[r][j] = MM_FMA(v, across[j], sum[r][j]); \
        }                                                                                                      \
    }

/* c of a micro-tile += the product of MM_R rows of a, packed step by step, and a panel of b. */
IP_APART void mm_tile(const MM_T *restrict a, __global const MM_T *restrict b, int steps, __global MM_T *restrict c,
                      int n, int rows, int columns, bool first)
{
    mm_v sum[MM_R][MM_ACROSS];
    mm_begin(sum, c, n, rows, columns, first);
    for (int i = 0; i < steps; i++)
        MM_SUM_STEP(a[i * MM_R + r])
    mm_end(sum, c, n, rows, columns);
}

/* The same of rows as they lie, which begin at row[r]: what few panels meet is not worth packing. */
IP_APART void mm_tile_of_rows(__global const MM_T *restrict a, const long *restrict row,
                              __global const MM_T *restrict b, int steps, __global MM_T *restrict c, int n, int columns,
                              bool first)
{
    mm_v sum[MM_R][MM_ACROSS];
    __global const MM_T *from[MM_R];
#pragma unroll
    for (int r = 0; r < MM_R; r++)
        from[r] = a + row[r];
    mm_begin(sum, c, n, MM_R, columns, first);
    for (int i = 0; i < steps; i++)
        MM_SUM_STEP(from[r][i])
    mm_end(sum, c, n, MM_R, columns);
}

/* Element k of so many rows of a, of each of 4 steps, side by side: 4 x MM_TURN elements are turned in registers. */
typedef MM_JOIN(MM_T, 4) mm_4;
#if MM_R % 4 == 0
#define MM_TURN 4
static inline void mm_turn(__global const MM_T *a, const long *row, MM_T *out)
{
    const mm_4 r0 = vload4(0, a + row[0]), r1 = vload4(0, a + row[1]);
    const mm_4 r2 = vload4(0, a + row[2]), r3 = vload4(0, a + row[3]);
    const mm_4 low01 = (mm_4)(r0.s0, r1.s0, r0.s1, r1.s1), high01 = (mm_4)(r0.s2, r1.s2, r0.s3, r1.s3);
    const mm_4 low23 = (mm_4)(r2.s0, r3.s0, r2.s1, r3.s1), high23 = (mm_4)(r2.s2, r3.s2, r2.s3, r3.s3);
    vstore4((mm_4)(low01.lo, low23.lo), 0, out);
    vstore4((mm_4)(low01.hi, low23.hi), 0, out + MM_R);
    vstore4((mm_4)(high01.lo, high23.lo), 0, out + 2 * MM_R);
    vstore4((mm_4)(high01.hi, high23.hi), 0, out + 3 * MM_R);
}
#else
#define MM_TURN 2
static inline void mm_turn(__global const MM_T *a, const long *row, MM_T *out)
{
    const mm_4 r0 = vload4(0, a + row[0]), r1 = vload4(0, a + row[1]);
    const mm_4 low = (mm_4)(r0.s0, r1.s0, r0.s1, r1.s1), high = (mm_4)(r0.s2, r1.s2, r0.s3, r1.s3);
    vstore2(low.lo, 0, out);
    vstore2(low.hi, 0, out + MM_R);
    vstore2(high.lo, 0, out + 2 * MM_R);
    vstore2(high.hi, 0, out + 3 * MM_R);
}
#endif

/* `steps` elements of each of MM_R rows of a from `from` on, which begin at row[r], step by step. */
static inline void mm_pack_rows(__global const MM_T *from, const long *row, int steps, MM_T *block)
{
    int i = 0;
    for (; i + 4 <= steps; i += 4)
#pragma unroll
        for (int r = 0; r < MM_R; r += MM_TURN)
            mm_turn(from + i, row + r, block + i * MM_R + r);
    for (; i < steps; i++)
        for (int r = 0; r < MM_R; r++)
            block[i * MM_R + r] = from[row[r] + i];
}

#ifdef MM_VIEW
#define MM_V_PIECES P[14]
#define MM_V_HEIGHT P[15]
#define MM_V_WIDTH P[16]
#define MM_V_STRIDE(d) P[17 + (d)] /* in a, from a row to the next along z, y, x */
#define MM_V_STEP(d) P[20 + (d)]   /* the same, in planes, rows and columns of a */
#define MM_V_EXTENT(d) P[23 + (d)] /* of a */
/* the step behind its last; planes, rows, columns and elements that it is moved by; whether it may leave a */
#define MM_V_PIECE(p, k) P[26 + 6 * (p) + (k)]

/* Rows y to y + rows of the view; rows beyond the last are the last again. */
typedef struct mm_view {
    int place[MM_R][3];
    long start[MM_R];
} mm_view;

static inline void mm_view_begin(__global const int *P, int y, int rows, mm_view *v)
{
    for (int r = 0; r < MM_R; r++) {
        const int at = y + min(r, rows - 1), line = at / MM_V_WIDTH, x = at - line * MM_V_WIDTH;
        const int plane = line / MM_V_HEIGHT, column_y = line - plane * MM_V_HEIGHT;
        v->place[r][0] = plane * MM_V_STEP(0);
        v->place[r][1] = column_y * MM_V_STEP(1);
        v->place[r][2] = x * MM_V_STEP(2);
        v->start[r] = (long)plane * MM_V_STRIDE(0) + (long)column_y * MM_V_STRIDE(1) + (long)x * MM_V_STRIDE(2);
    }
}

/* Where the rows have their element `from` of piece p; what it returns has a bit for each that is outside of a. */
static inline int mm_view_rows(__global const int *P, const mm_view *v, int p, int from, long *row)
{
    const bool leaves = MM_V_PIECE(p, 5);
    int outside = 0;
    for (int r = 0; r < MM_R; r++) {
        row[r] = v->start[r] + MM_V_PIECE(p, 4) + from;
        for (int d = 0; leaves && d < 3; d++)
            if ((uint)(v->place[r][d] + MM_V_PIECE(p, 1 + d)) >= (uint)MM_V_EXTENT(d)) outside |= 1 << r;
        if (outside >> r & 1) row[r] = 0;
    }
    return outside;
}

/* So many steps of these rows, packed; of those outside 0. */
static inline void mm_pack_piece(__global const MM_T *a, const long *row, int outside, int n, MM_T *block)
{
    mm_pack_rows(a, row, n, block);
    for (int r = 0; outside != 0 && r < MM_R; r++)
        for (int i = 0; (outside >> r & 1) && i < n; i++)
            block[i * MM_R + r] = (MM_T)0;
}

/* The piece that has step s, and the step that it begins with. */
static inline int mm_view_piece(__global const int *P, int s, int *begin)
{
    int p = 0;
    for (*begin = 0; MM_V_PIECE(p, 0) <= s; p++)
        *begin = MM_V_PIECE(p, 0);
    return p;
}

/* Steps s to s + steps of rows y to y + rows of the view. */
static inline void mm_pack_view(__global const MM_T *a, __global const int *P, int y, int rows, int s, int steps,
                                MM_T *block)
{
    mm_view v;
    long row[MM_R];
    int begin, p = mm_view_piece(P, s, &begin);
    mm_view_begin(P, y, rows, &v);
    for (int done = 0; done < steps; p++) {
        const int n = min(MM_V_PIECE(p, 0) - (s + done), steps - done);
        const int outside = mm_view_rows(P, &v, p, s + done - begin, row);
        mm_pack_piece(a, row, outside, n, block + done * MM_R);
        begin = MM_V_PIECE(p, 0);
        done += n;
    }
}

/* The same steps of MM_R rows, piece by piece, meet the panels of columns x0 to x1. */
static inline void mm_view_tiles(__global const MM_T *a, __global const int *P, int y, int s, int steps,
                                 __global const MM_T *b, __global MM_T *c, int x0, int x1, MM_T *block)
{
    const int n = P_N, k = P_K;
    mm_view v;
    long row[MM_R];
    int begin, p = mm_view_piece(P, s, &begin);
    mm_view_begin(P, y, MM_R, &v);
    for (int done = 0; done < steps; p++) {
        const int i = s + done, part = min(MM_V_PIECE(p, 0) - i, steps - done);
        const int outside = mm_view_rows(P, &v, p, i - begin, row);
        if (outside != 0) mm_pack_piece(a, row, outside, part, block);
        for (int x = x0; x < x1; x += MM_W) {
            __global const MM_T *panel = b + ((long)(x / MM_W) * k + i) * MM_W;
            if (outside != 0)
                mm_tile(block, panel, part, c + x, n, MM_R, min(MM_W, x1 - x), i == 0);
            else
                mm_tile_of_rows(a, row, panel, part, c + x, n, min(MM_W, x1 - x), i == 0);
        }
        begin = MM_V_PIECE(p, 0);
        done += part;
    }
}
#endif

/* Rows meet so few panels that they are read as they lie, if so many steps of them lie side by side. */
#define MM_FEW_PANELS 4
#define MM_FEW_STEPS 32

/* A work-item makes P_ROWS rows x P_COLUMNS columns: for MM_KB steps at a time, MM_R rows of a are packed and meet
 * every panel of b. An element's sum runs from the first step to the last, whatever the sizes are. */
__kernel void mm_blocked(__global MM_T *restrict c, __global const MM_T *restrict a,
                         __global const MM_T *restrict packed, __global const int *restrict P)
{
    const int m = P_M, n = P_N, k = P_K, panels = (n + MM_W - 1) / MM_W;
    const int item = get_global_id(2) + P[0], t = item / P_ROW_BLOCKS;
    const int y0 = (item - t * P_ROW_BLOCKS) * P_ROWS, y1 = min(y0 + P_ROWS, m);
    const int x0 = get_global_id(0) * P_COLUMNS, x1 = min(x0 + P_COLUMNS, n);
    __global const MM_T *restrict pb = packed + (long)mm_b(P, t) * panels * k * MM_W;
    __global MM_T *restrict pc = c + (long)t * m * n;
    MM_T block[MM_KB * MM_R];
#ifdef MM_VIEW
    const bool is_narrow = panels <= MM_FEW_PANELS && k >= MM_FEW_STEPS * MM_V_PIECES;
#else
    const bool is_narrow = panels <= MM_FEW_PANELS;
#endif
    for (int s = 0; s < k; s += MM_KB) {
        const int steps = min(MM_KB, k - s);
        for (int y = y0; y < y1; y += MM_R) {
            const int rows = min(MM_R, y1 - y);
#if MM_ACROSS == 1 && !defined MM_VIEW
            if (rows == MM_R && n == MM_W) {
                mm_narrow_tile(a + mm_a(P, t) + (long)y * k + s, k, pb + (long)s * MM_W, steps, pc + (long)y * n,
                               s == 0);
                continue;
            }
#endif
#ifdef MM_VIEW
            if (is_narrow && rows == MM_R) {
                mm_view_tiles(a, P, y, s, steps, pb, pc + (long)y * n, x0, x1, block);
                continue;
            }
            mm_pack_view(a, P, y, rows, s, steps, block);
#else
            long row[MM_R];
            for (int r = 0; r < MM_R; r++)
                row[r] = (long)min(r, rows - 1) * k;
            if (is_narrow && rows == MM_R) {
                for (int x = x0; x < x1; x += MM_W)
                    mm_tile_of_rows(a + mm_a(P, t) + (long)y * k + s, row, pb + ((long)(x / MM_W) * k + s) * MM_W,
                                    steps, pc + (long)y * n + x, n, min(MM_W, x1 - x), s == 0);
                continue;
            }
            mm_pack_rows(a + mm_a(P, t) + (long)y * k + s, row, steps, block);
#endif
            for (int x = x0; x < x1; x += MM_W)
                mm_tile(block, pb + ((long)(x / MM_W) * k + s) * MM_W, steps, pc + (long)y * n + x, n, rows,
                        min(MM_W, x1 - x), s == 0);
        }
    }
}

/* A work-item makes one row's P_COLUMNS columns, MM_SPAN registers of them at a time while there are so many: rows
 * of b are long, and much of each should be used when it is there. */
#define MM_SPAN 16
IP_APART void mm_direct_row(__global MM_T *restrict c, __global const MM_T *restrict a, __global const MM_T *restrict b,
                            __global const int *restrict P, int item, int x)
{
    const int m = P_M, n = P_N, k = P_K, t = item / m, y = item - t * m;
    const int x1 = min(x + P_COLUMNS, n);
    __global const MM_T *restrict row = a + mm_a(P, t) + (long)y * k;
    __global const MM_T *restrict pb = b + (long)mm_b(P, t) * k * n;
    __global MM_T *restrict out = c + ((long)t * m + y) * n;
    for (; x + MM_SPAN * MM_LANES <= x1; x += MM_SPAN * MM_LANES) {
        mm_v s[MM_SPAN];
#pragma unroll
        for (int j = 0; j < MM_SPAN; j++)
            s[j] = (mm_v)0;
        for (int i = 0; i < k; i++) {
            __global const MM_T *restrict from = pb + (long)i * n + x;
            const mm_v v = (mm_v)row[i];
#pragma unroll
            for (int j = 0; j < MM_SPAN; j++)
                s[j] = MM_FMA(v, MM_LOAD(j, from), s[j]);
        }
#pragma unroll
        for (int j = 0; j < MM_SPAN; j++)
            MM_STORE(s[j], j, out + x);
    }
    for (; x + 4 * MM_LANES <= x1; x += 4 * MM_LANES) {
        mm_v s0 = (mm_v)0, s1 = s0, s2 = s0, s3 = s0;
        for (int i = 0; i < k; i++) {
            __global const MM_T *restrict from = pb + (long)i * n + x;
            const mm_v v = (mm_v)row[i];
            s0 = MM_FMA(v, MM_LOAD(0, from), s0);
            s1 = MM_FMA(v, MM_LOAD(1, from), s1);
            s2 = MM_FMA(v, MM_LOAD(2, from), s2);
            s3 = MM_FMA(v, MM_LOAD(3, from), s3);
        }
        MM_STORE(s0, 0, out + x);
        MM_STORE(s1, 1, out + x);
        MM_STORE(s2, 2, out + x);
        MM_STORE(s3, 3, out + x);
    }
    for (; x + MM_LANES <= x1; x += MM_LANES) {
        mm_v s = (mm_v)0;
        for (int i = 0; i < k; i++)
            s = MM_FMA((mm_v)row[i], MM_LOAD(0, pb + (long)i * n + x), s);
        MM_STORE(s, 0, out + x);
    }
    for (; x < x1; x++) {
        MM_T s = 0;
        for (int i = 0; i < k; i++)
            s = MM_FMA(row[i], pb[(long)i * n + x], s);
        out[x] = s;
    }
}

__kernel void mm_direct(__global MM_T *restrict c, __global const MM_T *restrict a, __global const MM_T *restrict b,
                        __global const int *restrict P)
{
    mm_direct_row(c, a, b, P, get_global_id(2) + P[0], get_global_id(0) * P_COLUMNS);
}

/* A work-item makes P_ROWS rows. A sum is 4 registers of partial sums, then the rest, then the lanes in order. */
IP_APART void mm_reduce_rows(__global MM_T *restrict c, __global const MM_T *restrict a,
                             __global const MM_T *restrict b, __global const int *restrict P, int item)
{
    const int m = P_M, n = P_N, k = P_K, t = item / P_ROW_BLOCKS;
    const int y0 = (item - t * P_ROW_BLOCKS) * P_ROWS, y1 = min(y0 + P_ROWS, m);
    __global const MM_T *restrict pa = a + mm_a(P, t);
    __global const MM_T *restrict pb = b + (long)mm_b(P, t) * k * n;
    __global MM_T *restrict out = c + (long)t * m * n;
    for (int y = y0; y < y1; y++)
        for (int x = 0; x < n; x++) {
            __global const MM_T *restrict u = pa + (long)y * k, *restrict v = pb + (long)x * k;
            mm_v s0 = (mm_v)0, s1 = s0, s2 = s0, s3 = s0;
            int i = 0;
            for (; i + 4 * MM_LANES <= k; i += 4 * MM_LANES) {
                s0 = MM_FMA(MM_LOAD(0, u + i), MM_LOAD(0, v + i), s0);
                s1 = MM_FMA(MM_LOAD(1, u + i), MM_LOAD(1, v + i), s1);
                s2 = MM_FMA(MM_LOAD(2, u + i), MM_LOAD(2, v + i), s2);
                s3 = MM_FMA(MM_LOAD(3, u + i), MM_LOAD(3, v + i), s3);
            }
            MM_T lanes[MM_LANES], s = 0;
            for (; i < k; i++)
                s = MM_FMA(u[i], v[i], s);
            MM_STORE((s0 + s1) + (s2 + s3), 0, lanes);
            for (int l = 0; l < MM_LANES; l++)
                s += lanes[l];
            out[(long)y * n + x] = s;
        }
}

__kernel void mm_reduce(__global MM_T *restrict c, __global const MM_T *restrict a, __global const MM_T *restrict b,
                        __global const int *restrict P)
{
    mm_reduce_rows(c, a, b, P, get_global_id(2) + P[0]);
}

#else /* a GPU */

/* A group of 16 x 16 makes 64 x 64 elements, each work-item 4 x 4 of them, from tiles in local memory. */
#define MM_SIDE 16
#define MM_TILE 64

__kernel __attribute__((reqd_work_group_size(MM_SIDE, MM_SIDE, 1))) void mm_blocked(__global MM_T *restrict c,
                                                                                    __global const MM_T *restrict a,
                                                                                    __global const MM_T *restrict b,
                                                                                    __global const int *restrict P)
{
    __local MM_T la[MM_SIDE][MM_TILE + 1], lb[MM_SIDE][MM_TILE];
    const int m = P_M, n = P_N, k = P_K, t = get_global_id(2) + P[0];
    const int lx = get_local_id(0), ly = get_local_id(1), l = ly * MM_SIDE + lx;
    const int x0 = get_group_id(0) * MM_TILE, y0 = get_group_id(1) * MM_TILE;
    __global const MM_T *restrict pa = a + mm_a(P, t);
    __global const MM_T *restrict pb = b + (long)mm_b(P, t) * k * n;
    MM_T sum[4][4];
    for (int r = 0; r < 4; r++)
        for (int j = 0; j < 4; j++)
            sum[r][j] = 0;
    for (int s = 0; s < k; s += MM_SIDE) {
        for (int i = l; i < MM_SIDE * MM_TILE; i += MM_SIDE * MM_SIDE) {
            const int ay = i / MM_SIDE, ax = i % MM_SIDE, by = i / MM_TILE, bx = i % MM_TILE;
            la[ax][ay] = y0 + ay < m && s + ax < k ? pa[(long)(y0 + ay) * k + s + ax] : (MM_T)0;
            lb[by][bx] = x0 + bx < n && s + by < k ? pb[(long)(s + by) * n + x0 + bx] : (MM_T)0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int steps = min(MM_SIDE, k - s);
        for (int i = 0; i < steps; i++) {
            MM_T va[4], vb[4];
            for (int r = 0; r < 4; r++) {
                va[r] = la[i][ly + r * MM_SIDE];
                vb[r] = lb[i][lx + r * MM_SIDE];
            }
            for (int r = 0; r < 4; r++)
                for (int j = 0; j < 4; j++)
                    sum[r][j] = MM_FMA(va[r], vb[j], sum[r][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < 4; r++)
        for (int j = 0; j < 4; j++) {
            const int y = y0 + ly + r * MM_SIDE, x = x0 + lx + j * MM_SIDE;
            if (y < m && x < n) c[((long)t * m + y) * n + x] = sum[r][j];
        }
}

/* A work-item an element. */
__kernel void mm_direct(__global MM_T *restrict c, __global const MM_T *restrict a, __global const MM_T *restrict b,
                        __global const int *restrict P)
{
    const int m = P_M, n = P_N, k = P_K, item = get_global_id(2) + P[0], t = item / m, y = item - t * m;
    const int x = get_global_id(0);
    if (x >= n) return;
    __global const MM_T *restrict row = a + mm_a(P, t) + (long)y * k;
    __global const MM_T *restrict column = b + (long)mm_b(P, t) * k * n + x;
    MM_T s = 0;
    for (int i = 0; i < k; i++)
        s = MM_FMA(row[i], column[(long)i * n], s);
    c[((long)t * m + y) * n + x] = s;
}

/* A group of MM_GROUP an element: each work-item sums every MM_GROUP-th product, then the sums are added by halves. */
#define MM_GROUP 64

__kernel __attribute__((reqd_work_group_size(MM_GROUP, 1, 1))) void mm_reduce(__global MM_T *restrict c,
                                                                              __global const MM_T *restrict a,
                                                                              __global const MM_T *restrict b,
                                                                              __global const int *restrict P)
{
    __local MM_T part[MM_GROUP];
    const int m = P_M, n = P_N, k = P_K, item = get_global_id(2) + P[0], t = item / m, y = item - t * m;
    const int l = get_local_id(0), x = get_group_id(0);
    __global const MM_T *restrict u = a + mm_a(P, t) + (long)y * k;
    __global const MM_T *restrict v = b + (long)mm_b(P, t) * k * n + (long)x * k;
    MM_T s = 0;
    for (int i = l; i < k; i += MM_GROUP)
        s = MM_FMA(u[i], v[i], s);
    part[l] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_ = MM_GROUP / 2; half_ > 0; half_ /= 2) {
        if (l < half_) part[l] += part[l + half_];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) c[((long)t * m + y) * n + x] = part[0];
}

#endif
