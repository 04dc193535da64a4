/* SPDX-License-Identifier: MIT */
/* Recurrences: every line walked element by element. */
#include "oracle.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static bool has_op(const call *c, const char *op)
{
    static const char *const rows[][2] = {
        { "cumsum", "sum" }, { "cumprod", "prod" }, { "cummin", "min" }, { "cummax", "max" }
    };
    for (int k = 0; k < 4; k++)
        if (strcmp(c->op, rows[k][0]) == 0) return strcmp(op, rows[k][1]) == 0;
    return call_is(c, "op", op, "none");
}

static bool is_signed(imgpar_dtype dtype) { return dtype_low(dtype) < 0; }
static uint64_t bits_of(imgpar_dtype dtype, real v) { return is_signed(dtype) ? (uint64_t)(int64_t)v : (uint64_t)v; }
static real of_bits(imgpar_dtype dtype, uint64_t bits) { return is_signed(dtype) ? (real)(int64_t)bits : (real)bits; }

/* A rounding in the dtype that is computed in. */
static real grain(imgpar_dtype dtype)
{
    bool wide = dtype == IMGPAR_F64 || (!is_float(dtype) && imgpar_dtype_size(dtype) >= 4);
    return wide ? 0x1p-53L : 0x1p-24L;
}

imgpar_dtype oracle_scan_dtype(const call *c, imgpar_dtype dtype)
{
    if (strcmp(c->op, "recursive") == 0) return dtype;
    if (has_op(c, "any") || has_op(c, "all")) return IMGPAR_BOOL;
    if (is_float(dtype) || !(has_op(c, "sum") || has_op(c, "prod"))) return dtype;
    return is_signed(dtype) ? IMGPAR_I64 : IMGPAR_U64;
}

/* ---- scans ---------------------------------------------------------------------------------- */

static real identity(const call *c, imgpar_dtype dtype)
{
    if (has_op(c, "prod") || has_op(c, "all")) return 1;
    if (has_op(c, "and")) return is_signed(dtype) ? -1 : dtype_high(dtype);
    if (has_op(c, "min")) return is_float(dtype) ? NAN : dtype_high(dtype);
    if (has_op(c, "max")) return is_float(dtype) ? NAN : dtype_low(dtype);
    return 0;
}

static real combined(const call *c, imgpar_dtype dtype, real a, real b)
{
    bool floats = is_float(dtype);
    uint64_t x = floats ? 0 : bits_of(dtype, a), y = floats ? 0 : bits_of(dtype, b);
    if (has_op(c, "min") || has_op(c, "max")) {
        if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
        return has_op(c, "min") ? fminl(a, b) : fmaxl(a, b);
    }
    if (has_op(c, "any")) return a != 0 || b != 0;
    if (has_op(c, "all")) return a != 0 && b != 0;
    if (floats) return has_op(c, "sum") ? a + b : a * b;
    if (has_op(c, "and")) return of_bits(dtype, x & y);
    if (has_op(c, "or")) return of_bits(dtype, x | y);
    if (has_op(c, "xor")) return of_bits(dtype, x ^ y);
    imgpar_dtype wide = is_signed(dtype) ? IMGPAR_I64 : IMGPAR_U64;
    return of_bits(wide, has_op(c, "sum") ? x + y : x * y);
}

/* Element k of the line stands at in[k * step]. */
static void scan_line(const call *c, imgpar_dtype dtype, const real *in, int64_t n, int64_t step, real *out,
                      real *slack)
{
    bool exclusive = call_is(c, "exclusive", "true", "false");
    bool rounds = is_float(dtype) && (has_op(c, "sum") || has_op(c, "prod"));
    imgpar_dtype acc = oracle_scan_dtype(c, dtype);
    real state = identity(c, dtype), magnitude = 0;
    for (int64_t k = 0; k < n; k++) {
        real before = state, before_magnitude = magnitude, v = in[k * step];
        /* Integers accumulate in 64 bits; the other operators in the dtype itself. */
        state = combined(c, is_float(dtype) || acc == IMGPAR_BOOL || acc == dtype ? dtype : acc, state, v);
        magnitude = has_op(c, "sum") ? magnitude + fabsl(v) : fabsl(state);
        out[k * step] = exclusive ? before : state;
        if (rounds)
            slack[k * step] = (real)(k + 1) * 2 * grain(dtype) * (exclusive ? before_magnitude : magnitude) + 0x1p-130L;
    }
}

/* ---- recursive filters --------------------------------------------------------------------------- */

static void recursive_line(const call *c, imgpar_dtype dtype, const real *in, int64_t n, int64_t step, real *out,
                           real *slack)
{
    real b[CALL_MAX_NUMBERS] = { 0 }, a[CALL_MAX_NUMBERS] = { 0 };
    int rows, cols;
    call_numbers(c, "feedforward", b, &rows, &cols);
    call_numbers(c, "feedback", a, &rows, &cols);
    bool steady = call_is(c, "start", "steady", "steady");
    real gain = (b[0] + b[1] + b[2]) / (1 + a[0] + a[1]);
    real x1 = steady ? in[0] : 0, x2 = x1, y1 = x1 * gain, y2 = y1, e1 = 4 * grain(dtype) * fabsl(y1), e2 = e1;
    for (int64_t k = 0; k < n; k++) {
        real x = in[k * step], y = b[0] * x + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2;
        real size = fabsl(b[0] * x) + fabsl(b[1] * x1) + fabsl(b[2] * x2) + fabsl(a[0] * y1) + fabsl(a[1] * y2);
        real e = fabsl(a[0]) * e1 + fabsl(a[1]) * e2 + 8 * grain(dtype) * size;
        out[k * step] = y;
        slack[k * step] = e;
        x2 = x1, x1 = x, y2 = y1, y1 = y, e2 = e1, e1 = e;
    }
}

/* ---- lines ------------------------------------------------------------------------------------------ */

void oracle_scan_lines(const call *c, imgpar_dtype dtype, const real *in, int64_t outer, int64_t n, int64_t inner,
                       real *out, real *slack)
{
    bool reverse = call_is(c, "reverse", "true", "false");
    for (int64_t o = 0; n > 0 && o < outer; o++)
        for (int64_t k = 0; k < inner; k++) {
            int64_t at = o * n * inner + k + (reverse ? (n - 1) * inner : 0), step = reverse ? -inner : inner;
            if (strcmp(c->op, "recursive") == 0)
                recursive_line(c, dtype, in + at, n, step, out + at, slack + at);
            else
                scan_line(c, dtype, in + at, n, step, out + at, slack + at);
        }
}

static void lines(const call *c, picture *out)
{
    const picture *a = c->in[0];
    int axis = (int)call_number(c, "axis", 0);
    int64_t dims[3] = { a->h, a->w, a->c };
    if (axis < 0) axis += 3;
    *out = picture_new(oracle_scan_dtype(c, a->dtype), a->h, a->w, a->c);
    oracle_scan_lines(c, a->dtype, a->v,
                      axis == 0   ? 1
                      : axis == 1 ? a->h
                                  : a->h * a->w,
                      dims[axis],
                      axis == 0   ? a->w * a->c
                      : axis == 1 ? a->c
                                  : 1,
                      out->v, out->slack);
}

const oracle_row oracle_scans[] = {
    { "scan", lines },   { "cumsum", lines },    { "cumprod", lines }, { "cummin", lines },
    { "cummax", lines }, { "recursive", lines }, { NULL, NULL },
};
