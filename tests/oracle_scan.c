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
    enum { ORDER = 9 };
    real b[CALL_MAX_NUMBERS] = { 0 }, a[CALL_MAX_NUMBERS] = { 0 }, x[ORDER], y[ORDER], e[ORDER], of_b = 0, of_a = 1;
    int rows, cols;
    call_numbers(c, "feedforward", b, &rows, &cols);
    call_numbers(c, "feedback", a, &rows, &cols);
    for (int i = 0; i < ORDER; i++)
        of_b += b[i], of_a += a[i];
    for (int i = 0; i < ORDER; i++) { /* of i elements ago; y and e of i + 1 ago */
        x[i] = call_is(c, "start", "steady", "steady") ? in[0] : 0;
        y[i] = x[i] * of_b / of_a;
        e[i] = 4 * grain(dtype) * fabsl(y[i]);
    }
    for (int64_t k = 0; k < n; k++) {
        real sum = 0, size = 0, error = 0;
        memmove(x + 1, x, sizeof x - sizeof *x);
        x[0] = in[k * step];
        for (int i = 0; i < ORDER; i++) {
            sum += b[i] * x[i] - a[i] * y[i];
            size += fabsl(b[i] * x[i]) + fabsl(a[i] * y[i]);
            error += fabsl(a[i]) * e[i];
        }
        memmove(y + 1, y, sizeof y - sizeof *y);
        memmove(e + 1, e, sizeof e - sizeof *e);
        out[k * step] = y[0] = sum;
        slack[k * step] = e[0] = error + 8 * grain(dtype) * size;
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
