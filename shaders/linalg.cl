/* SPDX-License-Identifier: MIT */
/*
 * Linear algebra of many small matrices: one text for devices and, as C (IP_HOST), for the interpreter
 * (ops/reference_linalg.c), so both compute the same.
 *
 *     la_lu         determinant, solution and inverse by elimination with partial pivoting
 *     la_cholesky   the factor of Cholesky, column by column
 *     la_qr         q and r by Householder's reflections; la_lstsq: least squares by them
 *     la_eigh       eigenvalues and vectors of symmetric matrices by Jacobi's rotations
 *     la_svd        singular values and vectors, and the pseudoinverse, by rotations of the columns
 *
 * An element of the work is an la_v: LA_LANES numbers, one of each of as many matrices that are computed side by side,
 * or one number. Choices are made a lane at a time, so what a matrix gives does not depend on those beside it.
 * On a CPU a work-item has some steps of LA_LANES matrices. On a GPU it has one matrix, in private memory, where the
 * sizes are part of the program (LA_N > 0); else a work-group has one matrix in scratch memory: its items share the
 * columns, j of which belongs to item j modulo the group's size, and meet at LA_SYNC.
 *
 * What stands before this text: LA_T, LA_BYTES, LA_EPS (the distance of 1 and the next number), LA_FAR (squares of it
 * and of 1 / LA_FAR are far from the ends of what there is), LA_LITTLE (what is below it is nothing beside 1),
 * LA_METHOD, LA_MANY (1: there are enough matrices for lanes), LA_M, LA_N and LA_K (rows, columns and right-hand sides,
 * or LA_N 0: they are arguments), LA_WORK (la_v that a step works in, where LA_N is not 0).
 *
 * Arguments: P_MATRICES; P_STEPS, of which a work-item has P_STEPS_EACH; P_M rows and P_N columns of a matrix, P_K
 * columns of b at a place; P_SIDES right-hand sides of a matrix, P_AT_ONCE of them in a step, P_BLOCKS steps a group of
 * matrices; P_BEFORE_A matrices that a's buffer holds before the first one, P_BEFORE_B places that b's does; P_WORK
 * la_v that a step works in.
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
/* LA_METHOD, in the order of ip_linalg_method */
#define LA_DET 0
#define LA_SOLVE 1
#define LA_INVERSE 2
#define LA_CHOLESKY 3
#define LA_LSTSQ 4
#define LA_QR 5
#define LA_EIGH 6
#define LA_SVD 7
#define LA_PINV 8
enum { LA_SWEEPS = 40 }; /* of rotations: more than ever are needed */
#endif

/* ---- memory ------------------------------------------------------------------------------------------- */

/* Element (i, j) of count matrices is at i row + j, those of a lane far from those of the one before; in the work it is
 * at i w + j u. */
static inline void LA_NAME(load_some)(LA_AS la_v *A, const int w, const int u, LA_GLOBAL const LA_T *from,
                                      const int rows, const int columns, const int row, const la_long far,
                                      const int count)
{
    (void)far, (void)count; /* of one lane */
    LA_UNROLL
    for (int i = 0; i < rows; i++) {
        LA_UNROLL
        LA_EACH (j, 0, columns) {
            LA_GLOBAL const LA_T *p = from + (la_long)i * row + j;
#if LA_LANES == 1
            A[i * w + j * u] = *p;
#else
            LA_T lane[LA_LANES];
            for (int l = 0; l < LA_LANES; l++)
                lane[l] = p[min(l, count - 1) * far];
            A[i * w + j * u] = *(la_v *)lane;
#endif
        }
    }
}

static inline void LA_NAME(load)(LA_AS la_v *A, const int w, const int u, LA_GLOBAL const LA_T *from, const int rows,
                                 const int columns, const int row, const la_long far, const int count)
{
    if (count == LA_LANES) /* the usual one, without a thought at each element */
        LA_NAME(load_some)(A, w, u, from, rows, columns, row, far, LA_LANES);
    else
        LA_NAME(load_some)(A, w, u, from, rows, columns, row, far, count);
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
    part.first = step / P_BLOCKS * LA_LANES;
    part.count = (int)LA_MIN((la_long)LA_LANES, P_MATRICES - part.first);
    part.column = step % P_BLOCKS * P_AT_ONCE;
    part.columns = (int)LA_MIN((la_long)P_AT_ONCE, P_SIDES - part.column);
    return part;
}

/* The right-hand sides of a step behind the n columns of A, from b or (yes) A's solutions to b. Where one matrix serves
 * several places of b they are columns of one system. */
static inline void LA_NAME(load_sides)(LA_AS la_v *A, const int n, const int rows, const int w,
                                       LA_GLOBAL const LA_T *b, LA_GLOBAL const int *P, const LA_NAME(part) part)
{
    const int k = LA_SIZE(LA_K, P_K), columns = w - n;
#if LA_LANES == 1 && LA_N == 0
    if (P_SIDES != k) {
        for (int i = 0; i < rows; i++)
            LA_EACH (j, 0, columns) {
                const la_long c = part.column + j;
                A[i * w + n + j] = b[((c / k + P_BEFORE_B) * rows + i) * k + c % k];
            }
        return;
    }
#endif
    LA_NAME(load)(A + n, w, 1, b + (part.first + P_BEFORE_B) * rows * k + part.column, rows, columns, k,
                  (la_long)rows * k, part.count);
}

static inline void LA_NAME(store_sides)(LA_GLOBAL LA_T *x, LA_AS const la_v *A, const int n, const int w,
                                        LA_GLOBAL const int *P, const LA_NAME(part) part)
{
    const int k = LA_SIZE(LA_K, P_K), columns = w - n;
#if LA_LANES == 1 && LA_N == 0
    if (P_SIDES != k) {
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
    const int n = LA_SIZE(LA_N, P_N), w = n + LA_SIZE(LA_K, part.columns);
    LA_AS la_v *const size = A + n * w;
    la_m singular = (la_m)(0);
    LA_NAME(load)(A, w, 1, a + (part.first + P_BEFORE_A) * n * n, n, n, n, (la_long)n * n, part.count);
    if (method == LA_SOLVE) LA_NAME(load_sides)(A, n, n, w, b, P, part);
    if (method == LA_INVERSE) {
        LA_UNROLL
        for (int i = 0; i < n; i++) {
            LA_UNROLL
            LA_EACH (j, 0, w - n)
                A[i * w + n + j] = i == part.column + j ? LA_C(1) : LA_C(0);
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

/* ---- Cholesky ---------------------------------------------------------------------------------------------- */

static inline void LA_NAME(cholesky)(LA_GLOBAL const LA_T *a, LA_GLOBAL LA_T *out, LA_AS la_v *A,
                                     LA_GLOBAL const int *P, const la_long step)
{
    const LA_NAME(part) part = LA_NAME(part_of)(P, step);
    const int n = LA_SIZE(LA_N, P_N);
    LA_AS la_v *const column = A + n * n;
    la_m bad = (la_m)(0);
    LA_NAME(load)(A, n, 1, a + (part.first + P_BEFORE_A) * n * n, n, n, n, (la_long)n * n, part.count);
    LA_SYNC;
    LA_UNROLL
    for (int j = 0; j < n; j++) {
        const la_v square = A[j * n + j], root = LA_SQRT(square);
        bad |= !(square > LA_C(0));
        LA_SYNC;
        LA_UNROLL
        LA_EACH (i, j, n) {
            column[i] = i == j ? root : A[i * n + j] / root;
            A[i * n + j] = column[i];
        }
        LA_SYNC;
        LA_UNROLL
        for (int i = j + 1; i < n; i++) {
            const la_v f = -column[i];
            LA_UNROLL
            LA_EACH (q, j + 1, i + 1)
                A[i * n + q] = LA_FMA(f, column[q], A[i * n + q]);
        }
        LA_SYNC;
    }
    LA_UNROLL
    for (int i = 0; i < n; i++) {
        LA_UNROLL
        LA_EACH (j, 0, n)
            A[i * n + j] = j > i ? LA_C(0) : LA_PICK(bad, LA_C(NAN), A[i * n + j]);
    }
    LA_NAME(store)(out + part.first * n * n, A, n, n, n, n, (la_long)n * n, part.count);
}

/* ---- Householder ----------------------------------------------------------------------------------------------- */

/* Columns first to below end of X (rows of w; of them row j to below m) become (1 - tau v v') times themselves, v being
 * 1 and then what is below row j in column j of A (rows of u); sums has room for all columns. */
static inline void LA_NAME(mirror)(LA_AS la_v *X, const int w, const int first, const int end, LA_AS const la_v *A,
                                   const int u, const int j, const int m, const la_v tau, LA_AS la_v *sums)
{
    LA_EACH (q, first, end)
        sums[q] = X[j * w + q];
    for (int i = j + 1; i < m; i++) {
        const la_v v = A[i * u + j];
        LA_EACH (q, first, end)
            sums[q] = LA_FMA(v, X[i * w + q], sums[q]);
    }
    LA_EACH (q, first, end) {
        sums[q] *= tau;
        X[j * w + q] -= sums[q];
    }
    for (int i = j + 1; i < m; i++) {
        const la_v v = -A[i * u + j];
        LA_EACH (q, first, end)
            X[i * w + q] = LA_FMA(v, sums[q], X[i * w + q]);
    }
}

/* Brings the first k columns of m rows of w to upper triangular form; below stand the vectors of mirror(), whose
 * factors are tau; sums has room for w. */
static inline void LA_NAME(reflect)(LA_AS la_v *A, LA_AS la_v *tau, LA_AS la_v *sums, const int m, const int k,
                                    const int w)
{
    for (int j = 0; j < k; j++) {
        la_v most = LA_C(0), sum = LA_C(0);
        for (int i = j; i < m; i++) {
            const la_v x = LA_ABS(A[i * w + j]);
            most = LA_PICK((x > most) | (x != x), x, most);
        }
        const la_m is_0 = most == LA_C(0);
        const la_v scale = LA_PICK(is_0, LA_C(1), most);
        const la_v by = LA_PICK(most > LA_C(1), LA_C(0.5), LA_C(1)); /* so that no difference overflows */
        for (int i = j; i < m; i++) {
            const la_v x = A[i * w + j] / scale;
            sum = LA_FMA(x, x, sum);
        }
        const la_v alpha = A[j * w + j], norm = scale * LA_SQRT(sum), beta = LA_PICK(alpha < LA_C(0), norm, -norm),
                   less = beta * by - alpha * by, t = LA_PICK(is_0, LA_C(0), less / (beta * by)),
                   divisor = LA_PICK(is_0, LA_C(1), -less);
        LA_SYNC;
        LA_EACH (i, j, m)
            A[i * w + j] = i == j ? beta : A[i * w + j] * by / divisor;
        LA_EACH (q, j, j + 1)
            tau[q] = t;
        LA_SYNC;
        LA_NAME(mirror)(A, w, j + 1, w, A, w, j, m, t, sums);
        LA_SYNC;
    }
}

static inline void LA_NAME(lstsq)(LA_GLOBAL const LA_T *a, LA_GLOBAL const LA_T *b, LA_GLOBAL LA_T *out,
                                  LA_AS la_v *A, LA_GLOBAL const int *P, const la_long step)
{
    const LA_NAME(part) part = LA_NAME(part_of)(P, step);
    const int m = LA_SIZE(LA_M, P_M), n = LA_SIZE(LA_N, P_N), w = n + LA_SIZE(LA_K, part.columns);
    LA_AS la_v *const tau = A + m * w, *const sums = tau + n;
    la_m bad = (la_m)(0);
    la_v largest = LA_C(0);
    LA_NAME(load)(A, w, 1, a + (part.first + P_BEFORE_A) * m * n, m, n, n, (la_long)m * n, part.count);
    LA_NAME(load_sides)(A, n, m, w, b, P, part);
    LA_SYNC;
    LA_NAME(reflect)(A, tau, sums, m, n, w);
    for (int i = 0; i < n; i++)
        largest = LA_PICK(LA_ABS(A[i * w + i]) > largest, LA_ABS(A[i * w + i]), largest);
    for (int i = 0; i < n; i++)
        bad |= LA_ABS(A[i * w + i]) <= largest * LA_C(m * LA_EPS);
    LA_NAME(substitute)(A, n, w, bad);
    LA_SYNC;
    LA_NAME(store_sides)(out, A, n, w, P, part);
}

/* Gives q (m x k) and r (k x n), k being the lesser, one behind the other; the diagonal of r is not negative. */
static inline void LA_NAME(qr)(LA_GLOBAL const LA_T *a, LA_GLOBAL LA_T *out, LA_AS la_v *A, LA_GLOBAL const int *P,
                               const la_long step)
{
    const LA_NAME(part) part = LA_NAME(part_of)(P, step);
    const int m = LA_SIZE(LA_M, P_M), n = LA_SIZE(LA_N, P_N), k = LA_MIN(m, n);
    const la_long far = (la_long)m * k + (la_long)k * n;
    LA_AS la_v *const tau = A + m * n, *const sums = tau + k, *const Q = sums + n;
    LA_NAME(load)(A, n, 1, a + (part.first + P_BEFORE_A) * m * n, m, n, n, (la_long)m * n, part.count);
    LA_SYNC;
    LA_NAME(reflect)(A, tau, sums, m, k, n);
    for (int i = 0; i < m; i++)
        LA_EACH (j, 0, k)
            Q[i * k + j] = i == j ? LA_C(1) : LA_C(0);
    LA_SYNC;
    for (int j = k - 1; j >= 0; j--)
        LA_NAME(mirror)(Q, k, j, k, A, n, j, m, tau[j], sums);
    LA_SYNC;
    for (int i = 0; i < m; i++)
        LA_EACH (j, 0, k)
            Q[i * k + j] = LA_PICK(A[j * n + j] < LA_C(0), -Q[i * k + j], Q[i * k + j]) + LA_C(0); /* no -0 */
    LA_SYNC;
    for (int i = 0; i < k; i++) {
        const la_m flips = A[i * n + i] < LA_C(0);
        LA_SYNC;
        LA_EACH (j, 0, n)
            A[i * n + j] = j < i ? LA_C(0) : LA_PICK(flips, -A[i * n + j], A[i * n + j]) + LA_C(0);
    }
    LA_SYNC;
    LA_GLOBAL LA_T *const to = out + part.first * far;
    LA_NAME(store)(to, Q, k, m, k, k, far, part.count);
    LA_NAME(store)(to + (la_long)m * k, A, n, k, n, n, far, part.count);
}

/* ---- Jacobi --------------------------------------------------------------------------------------------------- */

/* The rotation that makes two directions independent, of which b has more than a by difference, and which have product
 * in common: c, s. None where not turns. */
static inline void LA_NAME(angle)(const la_v difference, const la_v product, const la_m turns, la_v *c, la_v *s,
                                  la_v *tangent)
{
    const la_v ratio = difference / (LA_C(2) * LA_PICK(turns, product, LA_C(1))),
               root = LA_PICK(LA_ABS(ratio) > LA_C(LA_FAR), LA_ABS(ratio), LA_SQRT(LA_FMA(ratio, ratio, LA_C(1)))),
               size = LA_C(1) / (LA_ABS(ratio) + root),
               t = LA_PICK(turns, LA_PICK(ratio < LA_C(0), -size, size), LA_C(0));
    *tangent = t;
    *c = LA_C(1) / LA_SQRT(LA_FMA(t, t, LA_C(1)));
    *s = t * *c;
}

static inline void LA_NAME(rotate)(LA_AS la_v *x, LA_AS la_v *y, const int n, const la_v c, const la_v s)
{
    LA_EACH (i, 0, n) {
        const la_v u = x[i], v = y[i];
        x[i] = LA_FMA(c, u, -(s * v));
        y[i] = LA_FMA(s, u, c * v);
    }
}

/* Puts k values, and rows of X and of Y with them, in order. */
static inline void LA_NAME(order)(LA_AS la_v *values, const int k, LA_AS la_v *X, const int nx, LA_AS la_v *Y,
                                  const int ny, const int descending)
{
    for (int i = 0; i < k; i++)
        for (int j = i + 1; j < k; j++) {
            const la_v u = values[i], v = values[j];
            const la_m swaps = descending ? v > u : v < u;
            if (!LA_ANY(swaps)) continue;
            LA_SYNC;
            LA_EACH (x, 0, 1) {
                values[i] = LA_PICK(swaps, v, u);
                values[j] = LA_PICK(swaps, u, v);
            }
            LA_EACH (x, 0, nx) {
                const la_v p = X[i * nx + x], q = X[j * nx + x];
                X[i * nx + x] = LA_PICK(swaps, q, p);
                X[j * nx + x] = LA_PICK(swaps, p, q);
            }
            LA_EACH (x, 0, ny) {
                const la_v p = Y[i * ny + x], q = Y[j * ny + x];
                Y[i * ny + x] = LA_PICK(swaps, q, p);
                Y[j * ny + x] = LA_PICK(swaps, p, q);
            }
            LA_SYNC;
        }
}

/* Turns row i of X, of n, and that of Y with it, so that the first of its elements that come within a sixteenth of the
 * largest is positive: which it is does not depend on roundings. */
static inline void LA_NAME(make_positive)(LA_AS la_v *X, const int n, LA_AS la_v *Y, const int ny, const int k)
{
    LA_EACH (i, 0, k) {
        la_v most = LA_C(0);
        la_m found = (la_m)(0), flips = (la_m)(0);
        for (int x = 0; x < n; x++) {
            const la_v size = LA_ABS(X[i * n + x]);
            most = LA_PICK(size > most, size, most);
        }
        most *= LA_C(15) / LA_C(16);
        for (int x = 0; x < n; x++) {
            const la_m is_first = (LA_ABS(X[i * n + x]) >= most) & !found;
            flips |= is_first & (X[i * n + x] < LA_C(0));
            found |= is_first;
        }
        for (int x = 0; x < n; x++)
            X[i * n + x] = LA_PICK(flips, -X[i * n + x], X[i * n + x]) + LA_C(0);
        for (int x = 0; x < ny; x++)
            Y[i * ny + x] = LA_PICK(flips, -Y[i * ny + x], Y[i * ny + x]) + LA_C(0);
    }
}

/* Gives the eigenvalues of a symmetric matrix, of which the lower triangle is read, and behind them the vectors, as
 * columns: Jacobi's rotations row by row until what is beside the diagonal is below rounding. */
static inline void LA_NAME(eigh)(LA_GLOBAL const LA_T *a, LA_GLOBAL LA_T *out, LA_AS la_v *A, LA_GLOBAL const int *P,
                                 const la_long step)
{
    const LA_NAME(part) part = LA_NAME(part_of)(P, step);
    const int n = LA_SIZE(LA_N, P_N);
    const la_long far = (la_long)n + (la_long)n * n;
    LA_AS la_v *const V = A + n * n, *const values = V + n * n;
    la_m bad = (la_m)(0);
    la_v most = LA_C(0);
    LA_NAME(load)(A, n, 1, a + (part.first + P_BEFORE_A) * n * n, n, n, n, (la_long)n * n, part.count);
    LA_SYNC;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const la_v x = LA_ABS(A[i * n + j]);
            bad |= !(x < LA_C(INFINITY));
            most = LA_PICK(x > most, x, most);
        }
    /* so that differences neither overflow nor vanish */
    const la_v scale = LA_PICK((most == LA_C(0)) | ((most < LA_C(LA_FAR)) & (most > LA_C(1 / LA_FAR))), LA_C(1), most);
    LA_SYNC;
    LA_EACH (i, 0, n * n)
        A[i] /= scale;
    LA_SYNC;
    for (int i = 0; i < n; i++)
        LA_EACH (j, 0, n) {
            if (j > i) A[i * n + j] = A[j * n + i];
            V[i * n + j] = i == j ? LA_C(1) : LA_C(0);
        }
    LA_SYNC;
    const la_v least = LA_PICK(bad, LA_C(INFINITY), most / scale * LA_C(LA_EPS / 64));
    for (int sweep = 0; sweep < LA_SWEEPS; sweep++) {
        la_m turned = (la_m)(0);
        for (int p = 0; p < n - 1; p++)
            for (int q = p + 1; q < n; q++) {
                const la_v pq = A[p * n + q], pp = A[p * n + p], qq = A[q * n + q];
                const la_m turns = LA_ABS(pq) > least;
                la_v c, s, t;
                if (!LA_ANY(turns)) continue;
                turned |= turns;
                LA_NAME(angle)(qq - pp, pq, turns, &c, &s, &t);
                LA_SYNC;
                LA_NAME(rotate)(A + p * n, A + q * n, n, c, s);
                LA_NAME(rotate)(V + p * n, V + q * n, n, c, s);
                LA_EACH (i, 0, n) {
                    if (i == p) {
                        A[p * n + p] = LA_FMA(-t, pq, pp);
                        A[q * n + p] = LA_PICK(turns, LA_C(0), pq);
                    } else if (i == q) {
                        A[q * n + q] = LA_FMA(t, pq, qq);
                        A[p * n + q] = LA_PICK(turns, LA_C(0), pq);
                    } else {
                        A[i * n + p] = A[p * n + i];
                        A[i * n + q] = A[q * n + i];
                    }
                }
                LA_SYNC;
            }
        if (!LA_ANY(turned)) break;
    }
    LA_EACH (i, 0, n)
        values[i] = LA_PICK(bad, LA_C(NAN), A[i * n + i] * scale);
    LA_SYNC;
    LA_NAME(order)(values, n, V, n, V, 0, 0);
    LA_SYNC;
    LA_NAME(make_positive)(V, n, V, 0, n);
    LA_SYNC;
    LA_GLOBAL LA_T *const to = out + part.first * far;
    LA_NAME(store)(to, values, n, 1, n, n, far, part.count);
    for (int i = 0; i < n; i++)
        LA_EACH (j, 0, n)
            LA_NAME(put)(to + n + (la_long)i * n + j, LA_PICK(bad, LA_C(NAN), V[j * n + i]), far, part.count);
}

/* Row j of X, of n, where null: a direction at right angles to the rows before it. */
static inline void LA_NAME(complete)(LA_AS la_v *X, const int n, const int j, const la_m null)
{
    la_v best = LA_C(0), room = LA_C(-1);
    for (int x = 0; x < n; x++) { /* of the axes the one that is most outside of what they span */
        la_v rest = LA_C(1);
        for (int r = 0; r < j; r++)
            rest = LA_FMA(-X[r * n + x], X[r * n + x], rest);
        best = LA_PICK(rest > room, LA_C(x), best);
        room = LA_PICK(rest > room, rest, room);
    }
    LA_SYNC;
    LA_EACH (x, 0, n)
        X[j * n + x] = LA_PICK(null, LA_PICK(best == LA_C(x), LA_C(1), LA_C(0)), X[j * n + x]);
    LA_SYNC;
    for (int turn = 0; turn < 2; turn++)
        for (int r = 0; r < j; r++) {
            la_v product = LA_C(0);
            for (int x = 0; x < n; x++)
                product = LA_FMA(X[j * n + x], X[r * n + x], product);
            product = LA_PICK(null, -product, LA_C(0));
            LA_SYNC;
            LA_EACH (x, 0, n)
                X[j * n + x] = LA_FMA(product, X[r * n + x], X[j * n + x]);
            LA_SYNC;
        }
    la_v square = LA_C(0);
    for (int x = 0; x < n; x++)
        square = LA_FMA(X[j * n + x], X[j * n + x], square);
    const la_v divisor = LA_PICK(null, LA_SQRT(square), LA_C(1));
    LA_SYNC;
    LA_EACH (x, 0, n)
        X[j * n + x] /= divisor;
    LA_SYNC;
}

/* Gives the singular values, descending, u (m x k) and the transpose of v (k x n), k being the lesser; or the
 * pseudoinverse. Rotations of the columns (of a wide matrix: rows) until they are at right angles. */
static inline void LA_NAME(svd)(const int method, LA_GLOBAL const LA_T *a, LA_GLOBAL LA_T *out, LA_AS la_v *X,
                                LA_GLOBAL const int *P, const la_long step)
{
    const LA_NAME(part) part = LA_NAME(part_of)(P, step);
    const int m = LA_SIZE(LA_M, P_M), n = LA_SIZE(LA_N, P_N), tall = m >= n, k = LA_MIN(m, n), l = m + n - k;
    LA_GLOBAL const LA_T *const from = a + (part.first + P_BEFORE_A) * m * n;
    LA_AS la_v *const Y = X + k * l, *const values = Y + k * k;
    la_m bad = (la_m)(0);
    la_v most = LA_C(0), size = LA_C(l);
    /* X has the long sides of the matrix as its rows. */
    LA_NAME(load)(X, tall ? 1 : l, tall ? l : 1, from, m, n, n, (la_long)m * n, part.count);
    LA_SYNC;
    for (int i = 0; i < k * l; i++) {
        const la_v x = LA_ABS(X[i]);
        bad |= !(x < LA_C(INFINITY));
        most = LA_PICK(x > most, x, most);
    }
    /* so that squares neither overflow nor vanish */
    const la_v scale = LA_PICK((most == LA_C(0)) | ((most < LA_C(LA_FAR)) & (most > LA_C(1 / LA_FAR))), LA_C(1), most);
    LA_SYNC;
    LA_EACH (i, 0, k * l)
        X[i] /= scale;
    LA_EACH (i, 0, k * k)
        Y[i] = i / k == i % k ? LA_C(1) : LA_C(0);
    LA_SYNC;
    const la_v least = LA_C(LA_EPS) * LA_SQRT(size);
    for (int sweep = 0; sweep < LA_SWEEPS; sweep++) {
        la_m turned = (la_m)(0);
        for (int p = 0; p < k - 1; p++)
            for (int q = p + 1; q < k; q++) {
                la_v pp = LA_C(0), qq = LA_C(0), pq = LA_C(0), c, s, t;
                for (int x = 0; x < l; x++) {
                    const la_v u = X[p * l + x], v = X[q * l + x];
                    pp = LA_FMA(u, u, pp);
                    qq = LA_FMA(v, v, qq);
                    pq = LA_FMA(u, v, pq);
                }
                const la_m turns = (LA_ABS(pq) > least * LA_SQRT(pp) * LA_SQRT(qq)) & !bad;
                if (!LA_ANY(turns)) continue;
                turned |= turns;
                LA_NAME(angle)(qq - pp, pq, turns, &c, &s, &t);
                LA_SYNC;
                LA_NAME(rotate)(X + p * l, X + q * l, l, c, s);
                LA_NAME(rotate)(Y + p * k, Y + q * k, k, c, s);
                LA_SYNC;
            }
        if (!LA_ANY(turned)) break;
    }
    LA_EACH (i, 0, k) {
        la_v square = LA_C(0);
        for (int x = 0; x < l; x++)
            square = LA_FMA(X[i * l + x], X[i * l + x], square);
        values[i] = LA_PICK(bad, LA_C(NAN), LA_SQRT(square));
    }
    LA_SYNC;
    LA_NAME(order)(values, k, X, l, Y, k, 1);
    LA_SYNC;
    for (int i = 0; i < k; i++) {
        const la_v value = values[i];
        const la_m null = (value <= values[0] * LA_C(LA_LITTLE)) & !bad;
        LA_EACH (x, 0, l)
            X[i * l + x] /= LA_PICK(null, LA_C(1), value);
        LA_SYNC;
        if (LA_ANY(null)) LA_NAME(complete)(X, l, i, null);
    }
    if (tall)
        LA_NAME(make_positive)(X, l, Y, k, k);
    else
        LA_NAME(make_positive)(Y, k, X, l, k);
    LA_SYNC;
    LA_AS const la_v *const U = tall ? X : Y, *const V = tall ? Y : X; /* rows of them are columns of u and of v */
    if (method == LA_PINV) {
        const la_v cut = values[0] * (LA_C(LA_EPS) * size);
        for (int i = 0; i < n; i++)
            LA_EACH (j, 0, m) {
                la_v sum = LA_C(0);
                for (int r = 0; r < k; r++) {
                    const la_v term = V[r * n + i] / LA_PICK(values[r] > cut, values[r], LA_C(INFINITY));
                    sum = LA_FMA(term, U[r * m + j], sum);
                }
                sum = LA_PICK(bad, LA_C(NAN), sum / scale);
                LA_NAME(put)(out + part.first * n * m + (la_long)i * m + j, sum, (la_long)n * m, part.count);
            }
        return;
    }
    const la_long far = k + (la_long)m * k + (la_long)k * n;
    LA_GLOBAL LA_T *const to = out + part.first * far;
    LA_EACH (i, 0, k)
        LA_NAME(put)(to + i, values[i] * scale, far, part.count);
    for (int i = 0; i < m; i++)
        LA_EACH (j, 0, k)
            LA_NAME(put)(to + k + (la_long)i * k + j, LA_PICK(bad, LA_C(NAN), U[j * m + i]), far, part.count);
    for (int i = 0; i < k; i++)
        LA_EACH (j, 0, n)
            LA_NAME(put)(to + k + (la_long)m * k + (la_long)i * n + j, LA_PICK(bad, LA_C(NAN), V[i * n + j]), far,
                         part.count);
}

/* ---- kernels ------------------------------------------------------------------------------------------------ */

#ifndef IP_HOST
#if LA_N > 0
#define LA_WORK_OF(scratch, item) la_v work[LA_WORK]
#else
#define LA_WORK_OF(scratch, item) __global la_v *const work = (__global la_v *)(scratch) + (long)(item)*P_WORK
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
        const long item = la_item(P), from = item * P_STEPS_EACH;                                              \
        const long to = min(from + P_STEPS_EACH, (long)P_STEPS);                                               \
        LA_WORK_OF(scratch, item);                                                                             \
        for (long step = from; step < to; step++) {                                                            \
            call;                                                                                              \
            LA_SYNC;                                                                                           \
        }                                                                                                      \
    }
#if LA_METHOD <= LA_INVERSE
LA_KERNEL(la_run, la_lu(LA_METHOD, a, b, out, work, P, step))
#elif LA_METHOD == LA_CHOLESKY
LA_KERNEL(la_run, la_cholesky(a, out, work, P, step))
#elif LA_METHOD == LA_LSTSQ
LA_KERNEL(la_run, la_lstsq(a, b, out, work, P, step))
#elif LA_METHOD == LA_QR
LA_KERNEL(la_run, la_qr(a, out, work, P, step))
#elif LA_METHOD == LA_EIGH
LA_KERNEL(la_run, la_eigh(a, out, work, P, step))
#else
LA_KERNEL(la_run, la_svd(LA_METHOD, a, out, work, P, step))
#endif
#endif
