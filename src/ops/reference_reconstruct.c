/* SPDX-License-Identifier: MIT */
/* Reconstruction on the host: sweeps down and up, over and over, until nothing changes (shaders/reconstruct.cl). */
#include "ops/regions.h"

#include <math.h>

typedef struct sweep {
    int64_t rows, plane, n, channels; /* of all planes; rows a plane; elements a row */
    bool corners;
} sweep;

/* One sweep for each dtype and method: FAR(a, b) is which of two spreads, NEAR the other. The elements that come before
 * e in the sweep's direction (sign 1: down; -1: up) are offered to it; returns whether anything changed. */
#define SWEEP(NAME, T, FAR, NEAR)                                                                 \
    static bool NAME(const sweep *s, T *v, const T *limit, int sign)                              \
    {                                                                                             \
        bool changes = false;                                                                     \
        for (int64_t j = 0; j < s->rows; j++) {                                                   \
            const int64_t y = sign > 0 ? j : s->rows - 1 - j;                                     \
            const bool has_row = sign > 0 ? y % s->plane != 0 : (y + 1) % s->plane != 0;          \
            for (int64_t i = 0; i < s->n; i++) {                                                  \
                const int64_t x = sign > 0 ? i : s->n - 1 - i;                                    \
                const bool left = x >= s->channels, right = x + s->channels < s->n;               \
                T *own = v + y * s->n + x, *row = has_row ? own - sign * s->n : own, best = *own; \
                if (sign > 0 ? left : right) best = FAR(best, own[-sign * s->channels]);          \
                best = FAR(best, *row);                                                           \
                if (s->corners && left) best = FAR(best, has_row ? row[-s->channels] : best);     \
                if (s->corners && right) best = FAR(best, has_row ? row[s->channels] : best);     \
                best = NEAR(best, limit[y * s->n + x]);                                           \
                changes |= !(best == *own) && best == best;                                       \
                *own = best;                                                                      \
            }                                                                                     \
        }                                                                                         \
        return changes;                                                                           \
    }                                                                                             \
    static void NAME##_start(T *v, const T *from, const T *limit, int64_t n)                      \
    {                                                                                             \
        for (int64_t k = 0; k < n; k++) {                                                         \
            const T least = NEAR(from[k], limit[k]);                                              \
            v[k] = least == 0 ? (T)0 : least; /* zeros have one sign */                           \
        }                                                                                         \
    }
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define BOTH(NAME, T, MAX, MIN)   \
    SWEEP(NAME##_up, T, MAX, MIN) \
    SWEEP(NAME##_down, T, MIN, MAX)
BOTH(u8, uint8_t, LARGER, SMALLER)
BOTH(i8, int8_t, LARGER, SMALLER)
BOTH(u16, uint16_t, LARGER, SMALLER)
BOTH(i16, int16_t, LARGER, SMALLER)
BOTH(u32, uint32_t, LARGER, SMALLER)
BOTH(i32, int32_t, LARGER, SMALLER)
BOTH(u64, uint64_t, LARGER, SMALLER)
BOTH(i64, int64_t, LARGER, SMALLER)
BOTH(f32, float, fmaxf, fminf)
BOTH(f64, double, fmax, fmin)

imgpar_status ip_reconstruct_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask,
                                     void *user)
{
    const sweep s = { .rows = o->dims[0] * o->dims[1],
                      .plane = o->dims[1],
                      .n = o->dims[2] * o->dims[3],
                      .channels = o->dims[3],
                      .corners = o->sizes[IP_RECONSTRUCT_CONNECTIVITY] == 8 };
    const bool down = o->sizes[IP_RECONSTRUCT_EROSION];
    imgpar_status st = IMGPAR_OK;
#define RUN(DTYPE, NAME)                                                               \
    case DTYPE:                                                                        \
        (down ? NAME##_down_start : NAME##_up_start)(out, in[0], in[1], s.rows * s.n); \
        for (bool changes = true; !st && changes; st = ask(user)) {                    \
            changes = (down ? NAME##_down : NAME##_up)(&s, out, in[1], 1);             \
            changes |= (down ? NAME##_down : NAME##_up)(&s, out, in[1], -1);           \
        }                                                                              \
        break
    switch (o->dtype) {
        RUN(IMGPAR_U8, u8);
        RUN(IMGPAR_I8, i8);
        RUN(IMGPAR_U16, u16);
        RUN(IMGPAR_I16, i16);
        RUN(IMGPAR_U32, u32);
        RUN(IMGPAR_I32, i32);
        RUN(IMGPAR_U64, u64);
        RUN(IMGPAR_I64, i64);
        RUN(IMGPAR_F32, f32);
        RUN(IMGPAR_F64, f64);
    default: return IMGPAR_E_INTERNAL;
    }
#undef RUN
    return st;
}
