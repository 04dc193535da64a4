/* SPDX-License-Identifier: MIT */
/*
 * The loops of the reference interpreter. This file is compiled several times (Makefile.am): IP_REF_LOOPS is the name
 * of what it makes, and its flags say which vector instructions there are. It must be compiled with -ffp-contract=off.
 */
#include "run/ref_loops.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>

typedef uint8_t u8;
typedef int8_t i8;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
typedef float f32;
typedef double f64;

/* A result may stand where an operand did, and nowhere else among them: so all k may be computed at once. */
#if defined __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* powers and the like have loops of their own */
#define EACH(k, n) _Pragma("clang loop vectorize(assume_safety)") for (int k = 0; k < n; k++)
#else
#define EACH(k, n) _Pragma("GCC ivdep") for (int k = 0; k < n; k++)
#endif

/* Loops whose results, of type R, are VALUE of x, y and z: operands of type T, but x of MIXED and TERNARY, which is of
 * type A. */
#define UNARY(NAME, R, T, VALUE)                                                            \
    static void NAME(int n, void *to, const void *a, const void *unused, const void *third) \
    {                                                                                       \
        R *r = to;                                                                          \
        const T *xs = a;                                                                    \
        (void)unused, (void)third;                                                          \
        EACH(k, n)                                                                          \
        {                                                                                   \
            const T x = xs[k];                                                              \
            r[k] = (R)(VALUE);                                                              \
        }                                                                                   \
    }
#define MIXED(NAME, R, A, T, VALUE)                                                    \
    static void NAME(int n, void *to, const void *a, const void *b, const void *third) \
    {                                                                                  \
        R *r = to;                                                                     \
        const A *xs = a;                                                               \
        const T *ys = b;                                                               \
        (void)third;                                                                   \
        EACH(k, n)                                                                     \
        {                                                                              \
            const A x = xs[k];                                                         \
            const T y = ys[k];                                                         \
            r[k] = (R)(VALUE);                                                         \
        }                                                                              \
    }
#define BINARY(NAME, R, T, VALUE) MIXED(NAME, R, T, T, VALUE)
#define TERNARY(NAME, R, A, T, VALUE)                                              \
    static void NAME(int n, void *to, const void *a, const void *b, const void *c) \
    {                                                                              \
        R *r = to;                                                                 \
        const A *xs = a;                                                           \
        const T *ys = b, *zs = c;                                                  \
        EACH(k, n)                                                                 \
        {                                                                          \
            const A x = xs[k];                                                     \
            const T y = ys[k], z = zs[k];                                          \
            r[k] = (R)(VALUE);                                                     \
        }                                                                          \
    }

#include "run/ref_loops_int.def"
#include "run/ref_loops_float.def"
#include "run/ref_loops_convert.def"

/* ---- moving values ------------------------------------------------------------------------------- */

#define MOVES(U)                                                                                 \
    static void splat_##U(int n, void *to, const void *a, const void *unused, const void *third) \
    {                                                                                            \
        U *r = to;                                                                               \
        const U value = *(const U *)a;                                                           \
        (void)unused, (void)third;                                                               \
        for (int k = 0; k < n; k++)                                                              \
            r[k] = value;                                                                        \
    }                                                                                            \
    static inline void repeat_by_##U(int n, int step, U *restrict r, const U *restrict a)        \
    {                                                                                            \
        for (int k = 0; k < n / step; k++)                                                       \
            for (int i = 0; i < step; i++)                                                       \
                r[k * step + i] = a[k];                                                          \
    }                                                                                            \
    static void repeat_##U(int n, int step, void *to, const void *a)                             \
    {                                                                                            \
        if (step == 3)                                                                           \
            repeat_by_##U(n, 3, to, a);                                                          \
        else if (step == 4)                                                                      \
            repeat_by_##U(n, 4, to, a);                                                          \
        else                                                                                     \
            repeat_by_##U(n, step, to, a);                                                       \
    }                                                                                            \
    static inline void stride_by_##U(int n, int step, U *restrict r, const U *restrict a)        \
    {                                                                                            \
        for (int k = 0; k < n; k++)                                                              \
            r[k] = a[(ptrdiff_t)k * step];                                                       \
    }                                                                                            \
    static void stride_##U(int n, int step, void *to, const void *a)                             \
    {                                                                                            \
        if (step == 3)                                                                           \
            stride_by_##U(n, 3, to, a);                                                          \
        else if (step == 4)                                                                      \
            stride_by_##U(n, 4, to, a);                                                          \
        else                                                                                     \
            stride_by_##U(n, step, to, a);                                                       \
    }                                                                                            \
    static inline void gather_by_##U(int n, int channels, U *restrict r, const U *restrict a,    \
                                     const i32 *restrict offsets)                                \
    {                                                                                            \
        for (int k = 0; k < n; k++)                                                              \
            for (int i = 0; i < channels; i++)                                                   \
                r[k * channels + i] = a[(ptrdiff_t)offsets[k] + i];                              \
    }                                                                                            \
    static void gather_##U(int n, int channels, void *to, const void *a, const i32 *offsets)     \
    {                                                                                            \
        if (channels == 1)                                                                       \
            gather_by_##U(n, 1, to, a, offsets);                                                 \
        else if (channels == 3)                                                                  \
            gather_by_##U(n, 3, to, a, offsets);                                                 \
        else                                                                                     \
            gather_by_##U(n, channels, to, a, offsets);                                          \
    }

MOVES(u8)
MOVES(u16)
MOVES(u32)
MOVES(u64)

static bool offsets(int n, i32 *r, const i32 *index, i32 extent, i32 step, bool first)
{
    i32 bad = 0;
    if (first) memset(r, 0, (size_t)n * sizeof *r);
    EACH(k, n)
    {
        const i32 i = index[k], low = i < 0 ? 0 : i, inside = low < extent ? low : extent - 1;
        bad |= inside ^ i;
        r[k] += inside * step;
    }
    return bad != 0;
}

static void outside(int n, u8 *r, const i32 *index, i32 extent)
{
    EACH(k, n)
    r[k] |= (u32)index[k] >= (u32)extent;
}

static void count_up(int n, i32 *r, i32 first)
{
    for (int k = 0; k < n; k++)
        r[k] = first + k;
}

/* ---- tables ------------------------------------------------------------------------------------------ */

/* Columns of a row: integers whatever their sign, by it, and floats. */
/* clang-format off */
#define ALIKE(DO)                                                                                  \
    [IMGPAR_U8] = DO##_u8, [IMGPAR_I8] = DO##_u8, [IMGPAR_U16] = DO##_u16, [IMGPAR_I16] = DO##_u16, \
    [IMGPAR_U32] = DO##_u32, [IMGPAR_I32] = DO##_u32, [IMGPAR_U64] = DO##_u64, [IMGPAR_I64] = DO##_u64
#define SIGNED(DO)                                                                                 \
    [IMGPAR_U8] = DO##_u8, [IMGPAR_I8] = DO##_i8, [IMGPAR_U16] = DO##_u16, [IMGPAR_I16] = DO##_i16, \
    [IMGPAR_U32] = DO##_u32, [IMGPAR_I32] = DO##_i32, [IMGPAR_U64] = DO##_u64, [IMGPAR_I64] = DO##_i64
#define REALS(DO) [IMGPAR_F32] = DO##_f32, [IMGPAR_F64] = DO##_f64
#define BOOL(LOOP) [IMGPAR_BOOL] = LOOP
#define BY_SIZE(DO) { DO##_u8, DO##_u16, DO##_u32, DO##_u64 }

/* Of operations that leave integers alone. */
#define ROUNDING(DO) { ALIKE(copy), REALS(DO), BOOL(copy_u8) }
#define OF_FLOATS(DO) { REALS(DO) }
#define CAST_TO(DO, BITS) { SIGNED(cast_##BITS), REALS(cast_##DO), BOOL(cast_##BITS##_u8) }
#define SATURATE_TO(DO) { SIGNED(saturate_##DO), REALS(saturate_##DO), BOOL(saturate_##DO##_u8) }
#define CAST_TO_F32 { SIGNED(cast_f32), BOOL(cast_f32_u8), [IMGPAR_F32] = copy_u32, [IMGPAR_F64] = cast_f32_f64 }
#define CAST_TO_F64 { SIGNED(cast_f64), BOOL(cast_f64_u8), [IMGPAR_F32] = cast_f64_f32, [IMGPAR_F64] = copy_u64 }
#define CAST_TO_BOOL { SIGNED(cast_bool), REALS(cast_bool), BOOL(copy_u8) }
#define BYTES(DO, BITS) [IMGPAR_U8] = DO##_##BITS##_u8, [IMGPAR_I8] = DO##_##BITS##_i8
#define SHORTS(DO, BITS) [IMGPAR_U16] = DO##_##BITS##_u16, [IMGPAR_I16] = DO##_##BITS##_i16
#define WIDENING(DO)                                                          \
    {                                                                         \
        [IMGPAR_U16] = { BYTES(DO, u16) }, [IMGPAR_I16] = { BYTES(DO, u16) }, \
        [IMGPAR_U32] = { BYTES(DO, u32), SHORTS(DO, u32) },                   \
        [IMGPAR_I32] = { BYTES(DO, u32), SHORTS(DO, u32) },                   \
        [IMGPAR_F32] = { BYTES(DO, f32), SHORTS(DO, f32) },                   \
    }

const ip_ref_loops IP_REF_LOOPS = {
    .op = {
        [IP_X_ADD] = { ALIKE(add), REALS(add), BOOL(add_bool) },
        [IP_X_SUB] = { ALIKE(sub), REALS(sub), BOOL(sub_bool) },
        [IP_X_MUL] = { ALIKE(mul), REALS(mul), BOOL(and_u8) },
        [IP_X_DIV] = { REALS(div) },
        [IP_X_IDIV] = { SIGNED(idiv), BOOL(idiv_bool) },
        [IP_X_MOD] = { SIGNED(mod), REALS(mod), BOOL(zero_u8) },
        [IP_X_MIN] = { SIGNED(min), REALS(min), BOOL(min_u8) },
        [IP_X_MAX] = { SIGNED(max), REALS(max), BOOL(max_u8) },
        [IP_X_AND] = { ALIKE(and), BOOL(and_u8) },
        [IP_X_OR] = { ALIKE(or), BOOL(or_u8) },
        [IP_X_XOR] = { ALIKE(xor), BOOL(xor_u8) },
        [IP_X_SHL] = { ALIKE(shl), BOOL(shl_bool) },
        [IP_X_SHR] = { SIGNED(shr), BOOL(shr_u8) },
        [IP_X_MEAN] = { SIGNED(mean), BOOL(or_u8) },
        [IP_X_POW] = { SIGNED(pow), REALS(pow), BOOL(pow_bool) },
        [IP_X_ATAN2] = { REALS(atan2) },
        [IP_X_NEXTAFTER] = { REALS(nextafter) },
        [IP_X_LT] = { SIGNED(lt), REALS(lt), BOOL(lt_u8) },
        [IP_X_LE] = { SIGNED(le), REALS(le), BOOL(le_u8) },
        [IP_X_EQ] = { ALIKE(eq), REALS(eq), BOOL(eq_u8) },
        [IP_X_NE] = { ALIKE(ne), REALS(ne), BOOL(ne_u8) },
        [IP_X_SELECT] = { ALIKE(select), [IMGPAR_F32] = select_u32, [IMGPAR_F64] = select_u64, BOOL(select_u8) },
        [IP_X_FMA] = { ALIKE(fma), REALS(fma) },
        [IP_X_NEG] = { ALIKE(neg), REALS(neg), BOOL(copy_u8) },
        [IP_X_ABS] = { [IMGPAR_U8] = copy_u8, [IMGPAR_I8] = abs_i8, [IMGPAR_U16] = copy_u16, [IMGPAR_I16] = abs_i16,
                       [IMGPAR_U32] = copy_u32, [IMGPAR_I32] = abs_i32, [IMGPAR_U64] = copy_u64,
                       [IMGPAR_I64] = abs_i64, REALS(abs), BOOL(copy_u8) },
        [IP_X_NOT] = { ALIKE(not), BOOL(not_bool) },
        [IP_X_FLOOR] = ROUNDING(floor),
        [IP_X_CEIL] = ROUNDING(ceil),
        [IP_X_RINT] = ROUNDING(rint),
        [IP_X_TRUNC] = ROUNDING(trunc),
        [IP_X_SQRT] = OF_FLOATS(sqrt),
#define FUNCTION(OP, NAME, F64) [IP_X_##OP] = OF_FLOATS(NAME),
#include "ir/functions.def"
#undef FUNCTION
        [IP_X_ISNAN] = { [IMGPAR_U8] = zero_u8, [IMGPAR_I8] = zero_u8, [IMGPAR_U16] = zero_u8, [IMGPAR_I16] = zero_u8,
                         [IMGPAR_U32] = zero_u8, [IMGPAR_I32] = zero_u8, [IMGPAR_U64] = zero_u8,
                         [IMGPAR_I64] = zero_u8, REALS(isnan), BOOL(zero_u8) },
    },
    .cast = {
        [IMGPAR_U8] = CAST_TO(u8, u8),
        [IMGPAR_I8] = CAST_TO(i8, u8),
        [IMGPAR_U16] = CAST_TO(u16, u16),
        [IMGPAR_I16] = CAST_TO(i16, u16),
        [IMGPAR_U32] = CAST_TO(u32, u32),
        [IMGPAR_I32] = CAST_TO(i32, u32),
        [IMGPAR_U64] = CAST_TO(u64, u64),
        [IMGPAR_I64] = CAST_TO(i64, u64),
        [IMGPAR_F32] = CAST_TO_F32,
        [IMGPAR_F64] = CAST_TO_F64,
        [IMGPAR_BOOL] = CAST_TO_BOOL,
    },
    .saturate = {
        [IMGPAR_U8] = SATURATE_TO(u8),
        [IMGPAR_I8] = SATURATE_TO(i8),
        [IMGPAR_U16] = SATURATE_TO(u16),
        [IMGPAR_I16] = SATURATE_TO(i16),
        [IMGPAR_U32] = SATURATE_TO(u32),
        [IMGPAR_I32] = SATURATE_TO(i32),
        [IMGPAR_U64] = SATURATE_TO(u64),
        [IMGPAR_I64] = SATURATE_TO(i64),
        [IMGPAR_F32] = CAST_TO_F32,
        [IMGPAR_F64] = CAST_TO_F64,
        [IMGPAR_BOOL] = CAST_TO_BOOL,
    },
    .add_cast = WIDENING(add),
    .add_casts = WIDENING(add_casts),
    .splat = BY_SIZE(splat),
    .repeat = BY_SIZE(repeat),
    .stride = BY_SIZE(stride),
    .gather = BY_SIZE(gather),
    .offsets = offsets,
    .outside = outside,
    .count_up = count_up,
};
/* clang-format on */
