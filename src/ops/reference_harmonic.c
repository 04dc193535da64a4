/* SPDX-License-Identifier: MIT */
/* Harmonic values on the host: the kernels' own text, shaders/harmonic.cl, compiled as C. */
#include "ops/harmonic.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

static inline int least_of(int a, int b) { return a < b ? a : b; }
static inline int most_of(int a, int b) { return a > b ? a : b; }
static inline void to_least(int *of, int v) { *of = least_of(*of, v); }
static inline void to_most(int *of, int v) { *of = most_of(*of, v); }

#define HM_HOST
#define P_ROWS P[IP_HARMONIC_P_ROWS]
#define P_COLUMNS P[IP_HARMONIC_P_COLUMNS]
#define P_CHANNELS P[IP_HARMONIC_P_CHANNELS]
#define P_VALUES P[IP_HARMONIC_P_VALUES]
#define P_BYTES P[IP_HARMONIC_P_BYTES]
#define P_SPANS P[IP_HARMONIC_P_SPANS]
#define __global
#define __local
#define uchar uint8_t
#define long int64_t
#define min least_of
#define max most_of
#define atomic_min to_least
#define atomic_max to_most
#define HM_APART static
#define HM_ITEM 0
#define HM_ITEMS 1
#define HM_SYNC (void)0

#define HM(name) f32_##name
#define HM_T float
#define HM_LEAST IP_HARMONIC_LEAST_F32
#include "../../shaders/harmonic.cl"
#undef HM
#undef HM_T
#undef HM_LEAST
#define HM(name) f64_##name
#define HM_T double
#define HM_LEAST IP_HARMONIC_LEAST_F64
#include "../../shaders/harmonic.cl"
#undef HM
#undef HM_T
#undef HM_LEAST
#undef long

ip_harmonic_memory ip_harmonic_memory_of(int64_t rows, int64_t columns)
{
    ip_harmonic_memory is = { .values = HM_HEAD + columns + 2 };
    for (bool more = true, first = true; more;) {
        const int64_t size = (rows + 2) * (columns + 2);
        is.values += first ? size : 2 * size;
        is.bytes += size;
        is.spans += 2 * rows;
        if (first) {
            first = false;
            continue;
        }
        more = rows > HM_SMALLEST || columns > HM_SMALLEST;
        rows = (rows + 1) / 2;
        columns = (columns + 1) / 2;
    }
    return is;
}

#define SOLVE(NAME, T)                                                                                         \
    static imgpar_status NAME##_solve(const int *P, const T *a, const uint8_t *mask, T *out, T *v, uint8_t *m, \
                                      int *ints, ip_opaque_ask ask, void *user)                                \
    {                                                                                                          \
        imgpar_status st = IMGPAR_OK;                                                                          \
        int box[4];                                                                                            \
        T part[1];                                                                                             \
        for (int k = 0; !st && k < P_CHANNELS; k++) {                                                          \
            const NAME##_work w = NAME##_work_of(v, m, ints, k, P);                                            \
            NAME##_begin_of(a, mask, &w, k, box, part, P);                                                     \
            NAME##_first_of(&w);                                                                               \
            for (int j = 0; !st && j < IP_HARMONIC_CYCLES && w.state[0] < HM_DONE; j++, st = ask(user))        \
                NAME##_cycles_of(&w, 1, box);                                                                  \
            if (!st) NAME##_end_of(out, &w, k, P);                                                             \
        }                                                                                                      \
        return st;                                                                                             \
    }
SOLVE(f32, float)
SOLVE(f64, double)

imgpar_status ip_harmonic_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t rows = o->dims[1], columns = o->dims[2], channels = o->dims[3];
    const ip_harmonic_memory each = ip_harmonic_memory_of(rows, columns);
    const size_t bytes = o->dtype == IMGPAR_F32 ? sizeof(float) : sizeof(double);
    void *v = ip_alloc((size_t)(each.values * channels) * bytes);
    uint8_t *m = ip_alloc((size_t)(each.bytes * channels));
    int *ints = ip_alloc((size_t)((IP_HARMONIC_STATE + each.spans) * channels) * sizeof *ints);
    const int P[IP_HARMONIC_N_P] = {
        [IP_HARMONIC_P_ROWS] = (int)rows,         [IP_HARMONIC_P_COLUMNS] = (int)columns,
        [IP_HARMONIC_P_CHANNELS] = (int)channels, [IP_HARMONIC_P_VALUES] = (int)each.values,
        [IP_HARMONIC_P_BYTES] = (int)each.bytes,  [IP_HARMONIC_P_SPANS] = (int)each.spans
    };
    imgpar_status st = v && m && ints ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    memcpy(out, in[0], (size_t)(rows * columns * channels) * bytes);
    if (!st && o->dtype == IMGPAR_F32) st = f32_solve(P, in[0], in[1], out, v, m, ints, ask, user);
    if (!st && o->dtype == IMGPAR_F64) st = f64_solve(P, in[0], in[1], out, v, m, ints, ask, user);
    ip_free(v);
    ip_free(m);
    ip_free(ints);
    return st;
}
