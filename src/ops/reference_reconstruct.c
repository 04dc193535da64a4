/* SPDX-License-Identifier: MIT */
/* Reconstruction on the host: sweeps down and up, over and over, until nothing changes (shaders/reconstruct.cl). */
#include "ops/regions.h"

#include <math.h>

typedef struct sweep {
    int64_t rows, plane, n, channels; /* of all planes; rows a plane; elements a row */
    bool corners;
} sweep;

/* One sweep for each dtype and method, of V within limits of L: START(from, limit) is what an element is first,
 * OFFER(own, v, limit, other) what it is where a neighbour is v, whose limit is other. The elements that come before in
 * the sweep's direction (sign 1: down; -1: up) are offered; returns whether anything changed. */
#define SWEEP(NAME, V, L, F, START, OFFER)                                                                             \
    static bool NAME(const sweep *s, V *v, const L *limit, int sign)                                                   \
    {                                                                                                                  \
        bool changes = false;                                                                                          \
        for (int64_t j = 0; j < s->rows; j++) {                                                                        \
            const int64_t y = sign > 0 ? j : s->rows - 1 - j;                                                          \
            const bool has_row = sign > 0 ? y % s->plane != 0 : (y + 1) % s->plane != 0;                               \
            for (int64_t i = 0; i < s->n; i++) {                                                                       \
                const int64_t x = sign > 0 ? i : s->n - 1 - i, e = y * s->n + x, beside = e - sign * s->n;             \
                const bool is_side[] = { x >= s->channels, x + s->channels < s->n };                                   \
                const int64_t from[] = { e - sign * s->channels, beside, beside - s->channels, beside + s->channels }; \
                const bool is_there[] = { is_side[sign < 0], has_row, has_row && s->corners && is_side[0],             \
                                          has_row && s->corners && is_side[1] };                                       \
                V own = v[e];                                                                                          \
                for (int k = 0; k < 4; k++)                                                                            \
                    if (is_there[k]) own = OFFER(own, v[from[k]], limit[e], limit[from[k]]);                           \
                changes |= !(own == v[e]) && own == own;                                                               \
                v[e] = own;                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        return changes;                                                                                                \
    }                                                                                                                  \
    static void NAME##_start(V *v, const F *from, const L *limit, int64_t n)                                           \
    {                                                                                                                  \
        for (int64_t k = 0; k < n; k++)                                                                                \
            v[k] = START(from[k], limit[k]);                                                                           \
    }
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OFFER(own, v, limit, other) SMALLER(LARGER(own, v), limit)
#define MIN_OFFER(own, v, limit, other) LARGER(SMALLER(own, v), limit)
/* Zeros have one sign, those of limits too: of two of either sign fmin() gives any. */
#define ZERO(v) ((v) == 0 ? 0 : (v))
#define FMAX_OFFER(own, v, limit, other) fmin(fmax(own, v), ZERO(limit))
#define FMIN_OFFER(own, v, limit, other) fmax(fmin(own, v), ZERO(limit))
#define STEP_OFFER(own, v, limit, other) ((limit) == (other) && (v) < (own) ? SMALLER(own, (v) + 1) : (own))
#define FMAX_START(from, limit) ZERO(fmin(from, limit))
#define FMIN_START(from, limit) ZERO(fmax(from, limit))
#define STEP_START(from, limit) ((void)(limit), (from) ? 0 : INT32_MAX)
#define WHOLE(NAME, T)                             \
    SWEEP(NAME##_up, T, T, T, SMALLER, MAX_OFFER)  \
    SWEEP(NAME##_down, T, T, T, LARGER, MIN_OFFER) \
    SWEEP(NAME##_steps, int32_t, T, uint8_t, STEP_START, STEP_OFFER)
#define FLOATS(NAME, T)                                 \
    SWEEP(NAME##_up, T, T, T, FMAX_START, FMAX_OFFER)   \
    SWEEP(NAME##_down, T, T, T, FMIN_START, FMIN_OFFER) \
    SWEEP(NAME##_steps, int32_t, T, uint8_t, STEP_START, STEP_OFFER)
WHOLE(u8, uint8_t)
WHOLE(i8, int8_t)
WHOLE(u16, uint16_t)
WHOLE(i16, int16_t)
WHOLE(u32, uint32_t)
WHOLE(i32, int32_t)
WHOLE(u64, uint64_t)
WHOLE(i64, int64_t)
FLOATS(f32, float)
FLOATS(f64, double)

imgpar_status ip_reconstruct_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask,
                                     void *user)
{
    const sweep s = { .rows = o->dims[0] * o->dims[1],
                      .plane = o->dims[1],
                      .n = o->dims[2] * o->dims[3],
                      .channels = o->dims[3],
                      .corners = o->sizes[IP_RECONSTRUCT_CONNECTIVITY] == 8 };
    imgpar_status st = IMGPAR_OK;
#define SETTLE(NAME)                                                \
    {                                                               \
        NAME##_start(out, in[0], in[1], s.rows *s.n);               \
        for (bool changes = true; !st && changes; st = ask(user)) { \
            changes = NAME(&s, out, in[1], 1);                      \
            changes |= NAME(&s, out, in[1], -1);                    \
        }                                                           \
    }
#define RUN(DTYPE, NAME)                                                  \
    case DTYPE:                                                           \
        if (o->sizes[IP_RECONSTRUCT_WHAT] == IP_RECONSTRUCT_DILATION)     \
            SETTLE(NAME##_up)                                             \
        else if (o->sizes[IP_RECONSTRUCT_WHAT] == IP_RECONSTRUCT_EROSION) \
            SETTLE(NAME##_down)                                           \
        else                                                              \
            SETTLE(NAME##_steps)                                          \
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
#undef SETTLE
    return st;
}
