/* SPDX-License-Identifier: MIT */
/*
 * Linear algebra of many small matrices: one text for devices and, as C (IP_HOST), for the interpreter
 * (ops/reference_linalg.c), so both compute the same.
 *
 *     la_lu         determinant, solution and inverse by elimination with partial pivoting
 *
 * An element of the work is an la_v: LA_LANES numbers, one of each of as many matrices that are computed side by side,
 * or one number. Choices are made a lane at a time, so what a matrix gives does not depend on those beside it.
 * On a CPU a work-item has some steps of LA_LANES matrices. On a GPU it has one matrix, in private memory, where the
 * sizes are part of the program (LA_N > 0); else a work-group has one matrix in scratch memory: its items share the
 * columns, j of which belongs to item j modulo the group's size, and meet at LA_SYNC.
 *
 * What stands before this text: LA_T, LA_BYTES, LA_EPS (what the numbers are), LA_METHOD, LA_MANY (1: there are enough
 * matrices for lanes), LA_M, LA_N and LA_K (rows, columns and right-hand sides, or LA_N 0: they are arguments), LA_WORK
 * (la_v that a step works in, where LA_N is not 0).
 *
 * P: [1] matrices, [2] steps, [3] steps a work-item, [4] rows, [5] columns of a matrix, [6] columns of b at a place,
 * [7] right-hand sides of a matrix, [8] of them in a step, [9] steps a group of matrices, [10] matrices that a's buffer
 * holds before the first one, [11] places that b's does, [12] la_v that a step works in.
 */
#ifndef IP_HOST
typedef long la_long;
#define LA_NAME(name) la_##name
#define LA_GLOBAL __global
#define LA_ABS fabs
#define LA_FMA fma
#define LA_SQRT sqrt
#if IP_CPU && LA_MANY
#define LA_LANES (IP_VECTOR_BYTES / LA_BYTES)
#else
#define LA_LANES 1
#endif
#define LA_JOIN_(a, b) a##b
#define LA_JOIN(a, b) LA_JOIN_(a, b)
#if LA_LANES == 1
typedef LA_T la_v;
typedef int la_m;
#define LA_ANY(mask) (mask)
#else
#if IP_VECTOR_BYTES / LA_BYTES == 16
#define LA_WIDTH 16
#elif IP_VECTOR_BYTES / LA_BYTES == 8
#define LA_WIDTH 8
#elif IP_VECTOR_BYTES / LA_BYTES == 4
#define LA_WIDTH 4
#else
#define LA_WIDTH 2
#endif
typedef LA_JOIN(LA_T, LA_WIDTH) la_v;
#if LA_BYTES == 4
typedef LA_JOIN(int, LA_WIDTH) la_m;
#else
typedef LA_JOIN(long, LA_WIDTH) la_m;
#endif
#define LA_ANY(mask) any(mask)
#endif
#if LA_N > 0
#define LA_AS __private
#define LA_SIZE(constant, argument) (constant)
#else
#define LA_AS __global
#define LA_SIZE(constant, argument) (argument)
#endif
#if IP_CPU || LA_N > 0
#define LA_EACH(j, from, to) for (int j = (from); j < (to); j++)
#define LA_SYNC
#else
#define LA_EACH(j, from, to)                                                                             \
    for (int j = (from) + ((int)get_local_id(0) - (from) % (int)get_local_size(0) + (int)get_local_size(0)) % \
                              (int)get_local_size(0);                                                    \
         j < (to); j += (int)get_local_size(0))
#define LA_SYNC barrier(CLK_GLOBAL_MEM_FENCE)
#endif
#if LA_N > 0 && LA_N <= 4
#define LA_UNROLL _Pragma("unroll")
#else
#define LA_UNROLL
#endif
#define LA_MIN(a, b) min(a, b)
#endif
#ifndef LA_ONCE
#define LA_ONCE
#define LA_PICK(mask, yes, no) ((mask) ? (yes) : (no))
#define LA_C(number) ((la_v)((LA_T)(number)))
enum { LA_DET, LA_SOLVE, LA_INVERSE };
#endif

/* ---- memory ------------------------------------------------------------------------------------------- */

/* From here: element (i, j) of count matrices at i row + j, those of one lane far from the one before. */
static inline void LA_NAME(load_some)(LA_AS la_v *A, const int w, LA_GLOBAL const LA_T *from, const int rows,
                                      const int columns, const int row, const la_long far, const int count)
{
    (void)far, (void)count; /* of one lane */
    LA_UNROLL
    for (int i = 0; i < rows; i++) {
        LA_UNROLL
        LA_EACH (j, 0, columns) {
            LA_GLOBAL const LA_T *p = from + (la_long)i * row + j;
#if LA_LANES == 1
            A[i * w + j] = *p;
#else
            LA_T lane[LA_LANES];
            for (int l = 0; l < LA_LANES; l++)
                lane[l] = p[min(l, count - 1) * far];
            A[i * w + j] = *(la_v *)lane;
#endif
        }
    }
}

static inline void LA_NAME(load)(LA_AS la_v *A, const int w, LA_GLOBAL const LA_T *from, const int rows,
                                 const int columns, const int row, const la_long far, const int count)
{
    if (count == LA_LANES) /* the usual one, without a thought at each element */
        LA_NAME(load_some)(A, w, from, rows, columns, row, far, LA_LANES);
    else
        LA_NAME(load_some)(A, w, from, rows, columns, row, far, count);
}

static inline void LA_NAME(put)(LA_GLOBAL LA_T *p, const la_v v, const la_long far, const int count)
{
#if LA_LANES == 1
    (void)far, (void)count;
    *p = v;
#else
    LA_T lane[LA_LANES];
    *(la_v *)lane = v;
    for (int l = 0; l < count; l++)
        p[l * far] = lane[l];
#endif
}

static inline void LA_NAME(store_some)(LA_GLOBAL LA_T *to, LA_AS const la_v *A, const int w, const int rows,
                                       const int columns, const int row, const la_long far, const int count)
{
    LA_UNROLL
    for (int i = 0; i < rows; i++) {
        LA_UNROLL
        LA_EACH (j, 0, columns)
            LA_NAME(put)(to + (la_long)i * row + j, A[i * w + j], far, count);
    }
}

static inline void LA_NAME(store)(LA_GLOBAL LA_T *to, LA_AS const la_v *A, const int w, const int rows,
                                  const int columns, const int row, const la_long far, const int count)
{
    if (count == LA_LANES)
        LA_NAME(store_some)(to, A, w, rows, columns, row, far, LA_LANES);
    else
        LA_NAME(store_some)(to, A, w, rows, columns, row, far, count);
}

/* What of the matrices a step has: count of them from the first one, and right-hand sides. */
typedef struct LA_NAME(part) {
    la_long first, column;
    int count, columns;
} LA_NAME(part);

static inline LA_NAME(part) LA_NAME(part_of)(LA_GLOBAL const int *P, const la_long step)
{
    LA_NAME(part) part;
    part.first = step / P[9] * LA_LANES;
    part.count = (int)LA_MIN((la_long)LA_LANES, P[1] - part.first);
    part.column = step % P[9] * P[8];
    part.columns = (int)LA_MIN((la_long)P[8], P[7] - part.column);
    return part;
}

/* The right-hand sides of a step behind the n columns of A, from b or (yes) A's solutions to b. Where one matrix serves
 * several places of b they are columns of one system. */
static inline void LA_NAME(load_sides)(LA_AS la_v *A, const int n, const int rows, const int w,
                                       LA_GLOBAL const LA_T *b, LA_GLOBAL const int *P, const LA_NAME(part) part)
{
    const int k = LA_SIZE(LA_K, P[6]), columns = w - n;
#if LA_LANES == 1 && LA_N == 0
    if (P[7] != k) {
        for (int i = 0; i < rows; i++)
            LA_EACH (j, 0, columns) {
                const la_long c = part.column + j;
                A[i * w + n + j] = b[((c / k + P[11]) * rows + i) * k + c % k];
            }
        return;
    }
#endif
    LA_NAME(load)(A + n, w, b + (part.first + P[11]) * rows * k + part.column, rows, columns, k, (la_long)rows * k,
                  part.count);
}

static inline void LA_NAME(store_sides)(LA_GLOBAL LA_T *x, LA_AS const la_v *A, const int n, const int w,
                                        LA_GLOBAL const int *P, const LA_NAME(part) part)
{
    const int k = LA_SIZE(LA_K, P[6]), columns = w - n;
#if LA_LANES == 1 && LA_N == 0
    if (P[7] != k) {
        for (int i = 0; i < n; i++)
            LA_EACH (j, 0, columns) {
                const la_long c = part.column + j;
                x[((c / k) * n + i) * k + c % k] = A[i * w + n + j];
            }
        return;
    }
#endif
    LA_NAME(store)(x + part.first * n * k + part.column, A + n, w, n, columns, k, (la_long)n * k, part.count);
}

/* ---- elimination ----------------------------------------------------------------------------------------- */

/* Brings the first n columns of n rows of w to upper triangular form, with the largest pivot of each column; size has
 * room for n. Returns the determinant; *singular: where a pivot is 0. A 0 below a pivot changes nothing, so one of 0
 * leaves what is right of it as it is. */
static inline la_v LA_NAME(eliminate)(LA_AS la_v *A, LA_AS la_v *size, const int n, const int w, la_m *singular)
{
    la_v det = LA_C(1);
    LA_UNROLL
    for (int k = 0; k < n; k++) {
        LA_EACH (i, k, n)
            size[i] = LA_ABS(A[i * w + k]);
        LA_SYNC;
        la_v best = size[k];
        LA_UNROLL
        for (int i = k + 1; i < n; i++) {
            const la_m larger = size[i] > best;
            if (!LA_ANY(larger)) continue;
            best = LA_PICK(larger, size[i], best);
            det = LA_PICK(larger, -det, det);
            LA_UNROLL
            LA_EACH (j, k, w) {
                const la_v upper = A[k * w + j], lower = A[i * w + j];
                A[k * w + j] = LA_PICK(larger, lower, upper);
                A[i * w + j] = LA_PICK(larger, upper, lower);
            }
        }
        LA_SYNC;
        const la_v pivot = A[k * w + k];
        *singular |= pivot == LA_C(0);
        det *= pivot;
        LA_UNROLL
        for (int i = k + 1; i < n; i++) {
            const la_v x = A[i * w + k], f = LA_PICK(x == LA_C(0), x, x / pivot);
            LA_UNROLL
            LA_EACH (j, k + 1, w)
                A[i * w + j] = LA_FMA(-f, A[k * w + j], A[i * w + j]);
        }
        LA_SYNC;
    }
    return det;
}

/* The columns behind the first n, which are an upper triangle, become what it gives them when multiplied; NaN where
 * bad. */
static inline void LA_NAME(substitute)(LA_AS la_v *A, const int n, const int w, const la_m bad)
{
    LA_UNROLL
    for (int i = n - 1; i >= 0; i--) {
        const la_v pivot = LA_PICK(bad, LA_C(NAN), A[i * w + i]);
        LA_UNROLL
        for (int p = i + 1; p < n; p++) {
            const la_v f = -A[i * w + p];
            LA_UNROLL
            LA_EACH (j, n, w)
                A[i * w + j] = LA_FMA(f, A[p * w + j], A[i * w + j]);
        }
        LA_UNROLL
        LA_EACH (j, n, w)
            A[i * w + j] /= pivot;
    }
}

static inline void LA_NAME(lu)(const int method, LA_GLOBAL const LA_T *a, LA_GLOBAL const LA_T *b,
                               LA_GLOBAL LA_T *out, LA_AS la_v *A, LA_GLOBAL const int *P, const la_long step)
{
    const LA_NAME(part) part = LA_NAME(part_of)(P, step);
    const int n = LA_SIZE(LA_N, P[5]), w = n + LA_SIZE(LA_K, part.columns);
    LA_AS la_v *const size = A + n * w;
    la_m singular = (la_m)(0);
    LA_NAME(load)(A, w, a + (part.first + P[10]) * n * n, n, n, n, (la_long)n * n, part.count);
    if (method == LA_SOLVE) LA_NAME(load_sides)(A, n, n, w, b, P, part);
    if (method == LA_INVERSE) {
        LA_UNROLL
        for (int i = 0; i < n; i++) {
            LA_UNROLL
            LA_EACH (j, 0, n)
                A[i * w + n + j] = i == j ? LA_C(1) : LA_C(0);
        }
    }
    LA_SYNC;
    const la_v det = LA_NAME(eliminate)(A, size, n, w, &singular);
    if (method == LA_DET) {
        LA_EACH (j, 0, 1)
            LA_NAME(put)(out + part.first, det + LA_C(0), 1, part.count); /* no -0 */
        return;
    }
    LA_NAME(substitute)(A, n, w, singular);
    LA_SYNC;
    LA_NAME(store_sides)(out, A, n, w, P, part);
}

/* ---- kernels ------------------------------------------------------------------------------------------------ */

#ifndef IP_HOST
#if LA_N > 0
#define LA_WORK_OF(scratch, P, item) la_v work[LA_WORK]
#else
#define LA_WORK_OF(scratch, P, item) __global la_v *const work = (__global la_v *)(scratch) + (long)(item)*P[12]
#endif

static inline long la_item(__global const int *P)
{
#if !IP_CPU && LA_N > 0
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
#else
    return get_global_id(2) + P[0];
#endif
}

#define LA_KERNEL(name, call)                                                                                  \
    __kernel void name(__global const LA_T *restrict a, __global const LA_T *restrict b,                       \
                       __global LA_T *restrict out, __global LA_T *restrict scratch, __global const int *restrict P) \
    {                                                                                                          \
        const long item = la_item(P), from = item * P[3], to = min(from + P[3], (long)P[2]);                   \
        LA_WORK_OF(scratch, P, item);                                                                          \
        for (long step = from; step < to; step++) {                                                            \
            call;                                                                                              \
            LA_SYNC;                                                                                           \
        }                                                                                                      \
    }
LA_KERNEL(la_lu_kernel, la_lu(LA_METHOD, a, b, out, work, P, step))
#endif
