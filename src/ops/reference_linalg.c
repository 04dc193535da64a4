/* SPDX-License-Identifier: MIT */
/* Linear algebra of small matrices on the host: shaders/linalg.cl, compiled as C for floats and for doubles. */
#include "ops/linalg.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"

#include <math.h>
#include <string.h>

#define IP_HOST
#define P_MATRICES P[IP_LA_P_MATRICES]
#define P_STEPS P[IP_LA_P_STEPS]
#define P_STEPS_EACH P[IP_LA_P_STEPS_EACH]
#define P_M P[IP_LA_P_M]
#define P_N P[IP_LA_P_N]
#define P_K P[IP_LA_P_K]
#define P_SIDES P[IP_LA_P_SIDES]
#define P_AT_ONCE P[IP_LA_P_AT_ONCE]
#define P_BLOCKS P[IP_LA_P_BLOCKS]
#define P_BEFORE_A P[IP_LA_P_BEFORE_A]
#define P_BEFORE_B P[IP_LA_P_BEFORE_B]
#define P_WORK P[IP_LA_P_WORK]
typedef int64_t la_long;
#define LA_GLOBAL
#define LA_AS
#define LA_LANES 1
#define LA_N 0
#define LA_SIZE(constant, argument) (argument)
#define LA_EACH(j, from, to) for (int j = (from); j < (to); j++)
#define LA_SYNC
#define LA_UNROLL
#define LA_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LA_ANY(mask) (mask)
#define la_v LA_T
#define la_m int

#define LA_T float
#define LA_EPS 0x1p-23f
#define LA_FAR 0x1p20f
#define LA_LITTLE 0x1p-40f
#define LA_NAME(name) la_##name##_f32
#define LA_ABS fabsf
#define LA_FMA fmaf
#define LA_SQRT sqrtf
#include "../../shaders/linalg.cl"
#undef LA_T
#undef LA_EPS
#undef LA_FAR
#undef LA_LITTLE
#undef LA_NAME
#undef LA_ABS
#undef LA_FMA
#undef LA_SQRT

#define LA_T double
#define LA_EPS 0x1p-52
#define LA_FAR 0x1p200
#define LA_LITTLE 0x1p-300
#define LA_NAME(name) la_##name##_f64
#define LA_ABS fabs
#define LA_FMA fma
#define LA_SQRT sqrt
#include "../../shaders/linalg.cl"

#define STEP(NAME, F)                                                                                              \
    static void NAME(const ip_opaque *o, const void *const *in, void *out, void *work, const int *P, int64_t step) \
    {                                                                                                              \
        switch ((ip_linalg_method)o->sizes[IP_LA_METHOD]) {                                                        \
        case IP_LINALG_DET:                                                                                        \
        case IP_LINALG_SOLVE:                                                                                      \
        case IP_LINALG_INVERSE: la_lu_##F((int)o->sizes[IP_LA_METHOD], in[0], in[1], out, work, P, step); break;   \
        case IP_LINALG_CHOLESKY: la_cholesky_##F(in[0], out, work, P, step); break;                                \
        case IP_LINALG_LSTSQ: la_lstsq_##F(in[0], in[1], out, work, P, step); break;                               \
        case IP_LINALG_QR: la_qr_##F(in[0], out, work, P, step); break;                                            \
        case IP_LINALG_EIGH: la_eigh_##F(in[0], out, work, P, step); break;                                        \
        case IP_LINALG_SVD:                                                                                        \
        case IP_LINALG_PINV: la_svd_##F((int)o->sizes[IP_LA_METHOD], in[0], out, work, P, step); break;            \
        }                                                                                                          \
    }
STEP(step_f32, f32)
STEP(step_f64, f64)
#undef STEP

imgpar_status ip_linalg_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    enum { ASKED_EVERY = 1 << 26 }; /* operations */
    const int64_t *s = o->sizes, blocks = s[IP_LA_SIDES] ? ip_ceil_div(s[IP_LA_SIDES], s[IP_LA_AT_ONCE]) : 1;
    const int64_t steps = s[IP_LA_MATRICES] * blocks;
    const void *inputs[2] = { in[0], o->n_inputs > 1 ? in[1] : NULL };
    void *work = ip_alloc_array((size_t)s[IP_LA_WORK], ip_dtype(o->dtype)->size_bytes);
    const int P[IP_LA_N_P] = { [IP_LA_P_MATRICES] = (int)s[IP_LA_MATRICES],
                               [IP_LA_P_M] = (int)s[IP_LA_M],
                               [IP_LA_P_N] = (int)s[IP_LA_N],
                               [IP_LA_P_K] = (int)s[IP_LA_K],
                               [IP_LA_P_SIDES] = (int)s[IP_LA_SIDES],
                               [IP_LA_P_AT_ONCE] = (int)s[IP_LA_AT_ONCE],
                               [IP_LA_P_BLOCKS] = (int)blocks };
    const int64_t side = ip_max(s[IP_LA_M], s[IP_LA_N]), operations = side * side * (side + s[IP_LA_AT_ONCE]);
    const int64_t asked_every = ip_max(ASKED_EVERY / ip_max(operations, 1), 1);
    imgpar_status st = work ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    for (int64_t step = 0; !st && step < steps; step++) {
        (o->dtype == IMGPAR_F64 ? step_f64 : step_f32)(o, inputs, out, work, P, step);
        if (step % asked_every == 0) st = ask(user);
    }
    ip_free(work);
    return st;
}
