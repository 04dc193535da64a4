/* SPDX-License-Identifier: MIT */
/*
 * Float operations of the reference interpreter, comparisons and conversions. F32 is computed in float, each operation
 * rounded; the file must be compiled with -ffp-contract=off. exp, pow and the like are in ref_functions.c.
 */
#include "run/ref_impl.h"

#include "base/dtype.h"

#include <math.h>

/* Floored remainder, the exact fmod() but for the last sum; by zero 0. */
static double floor_mod(double a, double b)
{
    double m = fmod(a, b);
    if (b == 0) return 0;
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

void ip_ref_f32_binary(ip_xop op, int n, float *r, const float *a, const float *b)
{
    /* clang-format off */
    switch (op) {
    case IP_X_ADD:   for (int k = 0; k < n; k++) r[k] = a[k] + b[k]; break;
    case IP_X_SUB:   for (int k = 0; k < n; k++) r[k] = a[k] - b[k]; break;
    case IP_X_MUL:   for (int k = 0; k < n; k++) r[k] = a[k] * b[k]; break;
    case IP_X_DIV:   for (int k = 0; k < n; k++) r[k] = a[k] / b[k]; break;
    case IP_X_MIN:   for (int k = 0; k < n; k++) r[k] = fminf(a[k], b[k]); break;
    case IP_X_MAX:   for (int k = 0; k < n; k++) r[k] = fmaxf(a[k], b[k]); break;
    /* fmod of two floats is a float, and the sum of two floats in double rounds to the same float. */
    case IP_X_MOD:   for (int k = 0; k < n; k++) r[k] = (float)floor_mod((double)a[k], (double)b[k]); break;
    case IP_X_POW:   ip_ref_f32_pow(n, r, a, b); break;
    case IP_X_ATAN2: ip_ref_f32_atan2(n, r, a, b); break;
    default: break;
    }
    /* clang-format on */
}

void ip_ref_f64_binary(ip_xop op, int n, double *r, const double *a, const double *b)
{
    /* clang-format off */
    switch (op) {
    case IP_X_ADD:   for (int k = 0; k < n; k++) r[k] = a[k] + b[k]; break;
    case IP_X_SUB:   for (int k = 0; k < n; k++) r[k] = a[k] - b[k]; break;
    case IP_X_MUL:   for (int k = 0; k < n; k++) r[k] = a[k] * b[k]; break;
    case IP_X_DIV:   for (int k = 0; k < n; k++) r[k] = a[k] / b[k]; break;
    case IP_X_MIN:   for (int k = 0; k < n; k++) r[k] = fmin(a[k], b[k]); break;
    case IP_X_MAX:   for (int k = 0; k < n; k++) r[k] = fmax(a[k], b[k]); break;
    case IP_X_MOD:   for (int k = 0; k < n; k++) r[k] = floor_mod(a[k], b[k]); break;
    case IP_X_POW:   ip_ref_f64_pow(n, r, a, b); break;
    case IP_X_ATAN2: ip_ref_f64_atan2(n, r, a, b); break;
    default: break;
    }
    /* clang-format on */
}

void ip_ref_f32_unary(ip_xop op, int n, float *r, const float *a)
{
    /* clang-format off */
    switch (op) {
    case IP_X_NEG:   for (int k = 0; k < n; k++) r[k] = -a[k]; break;
    case IP_X_ABS:   for (int k = 0; k < n; k++) r[k] = fabsf(a[k]); break;
    case IP_X_FLOOR: for (int k = 0; k < n; k++) r[k] = floorf(a[k]); break;
    case IP_X_CEIL:  for (int k = 0; k < n; k++) r[k] = ceilf(a[k]); break;
    case IP_X_RINT:  for (int k = 0; k < n; k++) r[k] = rintf(a[k]); break;
    case IP_X_TRUNC: for (int k = 0; k < n; k++) r[k] = truncf(a[k]); break;
    case IP_X_SQRT:  for (int k = 0; k < n; k++) r[k] = sqrtf(a[k]); break;
    default:         ip_ref_f32_function(op, n, r, a); break;
    }
    /* clang-format on */
}

void ip_ref_f64_unary(ip_xop op, int n, double *r, const double *a)
{
    /* clang-format off */
    switch (op) {
    case IP_X_NEG:   for (int k = 0; k < n; k++) r[k] = -a[k]; break;
    case IP_X_ABS:   for (int k = 0; k < n; k++) r[k] = fabs(a[k]); break;
    case IP_X_FLOOR: for (int k = 0; k < n; k++) r[k] = floor(a[k]); break;
    case IP_X_CEIL:  for (int k = 0; k < n; k++) r[k] = ceil(a[k]); break;
    case IP_X_RINT:  for (int k = 0; k < n; k++) r[k] = rint(a[k]); break;
    case IP_X_TRUNC: for (int k = 0; k < n; k++) r[k] = trunc(a[k]); break;
    case IP_X_SQRT:  for (int k = 0; k < n; k++) r[k] = sqrt(a[k]); break;
    default:         ip_ref_f64_function(op, n, r, a); break;
    }
    /* clang-format on */
}

/* ---- comparisons ------------------------------------------------------------------------- */

static void compare_i64(ip_xop op, int n, int64_t *r, const int64_t *a, const int64_t *b)
{
    /* clang-format off */
    switch (op) {
    case IP_X_LT: for (int k = 0; k < n; k++) r[k] = a[k] < b[k]; break;
    case IP_X_LE: for (int k = 0; k < n; k++) r[k] = a[k] <= b[k]; break;
    case IP_X_EQ: for (int k = 0; k < n; k++) r[k] = a[k] == b[k]; break;
    default:      for (int k = 0; k < n; k++) r[k] = a[k] != b[k]; break;
    }
    /* clang-format on */
}

static void compare_u64(ip_xop op, int n, int64_t *r, const int64_t *a, const int64_t *b)
{
    switch (op) {
    case IP_X_LT:
        for (int k = 0; k < n; k++)
            r[k] = (uint64_t)a[k] < (uint64_t)b[k];
        break;
    case IP_X_LE:
        for (int k = 0; k < n; k++)
            r[k] = (uint64_t)a[k] <= (uint64_t)b[k];
        break;
    default: compare_i64(op, n, r, a, b); break;
    }
}

static void compare_f64(ip_xop op, int n, int64_t *r, const double *a, const double *b)
{
    /* clang-format off */
    switch (op) {
    case IP_X_LT: for (int k = 0; k < n; k++) r[k] = a[k] < b[k]; break;
    case IP_X_LE: for (int k = 0; k < n; k++) r[k] = a[k] <= b[k]; break;
    case IP_X_EQ: for (int k = 0; k < n; k++) r[k] = a[k] == b[k]; break;
    default:      for (int k = 0; k < n; k++) r[k] = a[k] != b[k]; break;
    }
    /* clang-format on */
}

static void compare_f32(ip_xop op, int n, int64_t *r, const float *a, const float *b)
{
    /* clang-format off */
    switch (op) {
    case IP_X_LT: for (int k = 0; k < n; k++) r[k] = a[k] < b[k]; break;
    case IP_X_LE: for (int k = 0; k < n; k++) r[k] = a[k] <= b[k]; break;
    case IP_X_EQ: for (int k = 0; k < n; k++) r[k] = a[k] == b[k]; break;
    default:      for (int k = 0; k < n; k++) r[k] = a[k] != b[k]; break;
    }
    /* clang-format on */
}

void ip_ref_compare(ip_xop op, imgpar_dtype dtype, int n, int64_t *r, const ip_ref_values *a, const ip_ref_values *b)
{
    switch (dtype) {
    case IMGPAR_F32: compare_f32(op, n, r, a->f, b->f); break;
    case IMGPAR_F64: compare_f64(op, n, r, a->d, b->d); break;
    case IMGPAR_U64: compare_u64(op, n, r, a->i, b->i); break;
    default: compare_i64(op, n, r, a->i, b->i); break;
    }
}

/* ---- conversions ------------------------------------------------------------------------- */

/* A whole number to an integer dtype, clamped; NaN gives 0. A CAST's operand is promised to be in range, but what is
 * computed for the branch that a SELECT does not take need not be. */
static int64_t whole_to_int(const ip_dtype_facts *facts, double v)
{
    if (isnan(v)) return 0;
    if (facts->size_bytes == 8) {
        if (facts->is_signed) return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
        return v >= 0x1p64 ? (int64_t)UINT64_MAX : v <= 0 ? 0 : (int64_t)(uint64_t)v;
    }
    return (int64_t)fmin(fmax(v, facts->minimum), facts->maximum);
}

static void float_to_int(bool saturate, imgpar_dtype to, int n, int64_t *r, const double *a)
{
    const ip_dtype_facts *facts = ip_dtype(to);
    if (to == IMGPAR_BOOL)
        for (int k = 0; k < n; k++)
            r[k] = a[k] != 0;
    else
        for (int k = 0; k < n; k++)
            r[k] = whole_to_int(facts, saturate ? rint(a[k]) : trunc(a[k]));
}

/* An integer clamped to another integer dtype. */
static int64_t clamp_int(const ip_dtype_facts *to, bool from_u64, int64_t v)
{
    bool is_large = from_u64 && v < 0; /* above INT64_MAX */
    if (to->size_bytes == 8) {
        if (to->is_signed) return is_large ? INT64_MAX : v;
        return from_u64 || v > 0 ? v : 0;
    }
    if (is_large || v > (int64_t)to->maximum) return (int64_t)to->maximum;
    return v < (int64_t)to->minimum ? (int64_t)to->minimum : v;
}

static void int_to_int(bool saturate, imgpar_dtype to, imgpar_dtype from, int n, int64_t *r, const int64_t *a)
{
    const ip_dtype_facts *facts = ip_dtype(to);
    if (saturate && to != IMGPAR_BOOL) {
        for (int k = 0; k < n; k++)
            r[k] = clamp_int(facts, from == IMGPAR_U64, a[k]);
        return;
    }
    for (int k = 0; k < n; k++)
        r[k] = a[k];
    ip_ref_wrap(to, n, r);
}

void ip_ref_convert(bool saturate, imgpar_dtype to, imgpar_dtype from, int n, ip_ref_values *r, const ip_ref_values *a)
{
    double wide[IP_REF_BLOCK];
    if (to == from) {
        *r = *a;
    } else if (to == IMGPAR_F32 && from == IMGPAR_F64) {
        for (int k = 0; k < n; k++)
            r->f[k] = (float)a->d[k];
    } else if (to == IMGPAR_F64 && from == IMGPAR_F32) {
        for (int k = 0; k < n; k++)
            r->d[k] = (double)a->f[k];
    } else if (to == IMGPAR_F32 && from == IMGPAR_U64) {
        for (int k = 0; k < n; k++)
            r->f[k] = (float)(uint64_t)a->i[k];
    } else if (to == IMGPAR_F32) {
        for (int k = 0; k < n; k++)
            r->f[k] = (float)a->i[k];
    } else if (to == IMGPAR_F64 && from == IMGPAR_U64) {
        for (int k = 0; k < n; k++)
            r->d[k] = (double)(uint64_t)a->i[k];
    } else if (to == IMGPAR_F64) {
        for (int k = 0; k < n; k++)
            r->d[k] = (double)a->i[k];
    } else if (from == IMGPAR_F64) {
        float_to_int(saturate, to, n, r->i, a->d);
    } else if (from == IMGPAR_F32) {
        for (int k = 0; k < n; k++)
            wide[k] = (double)a->f[k];
        float_to_int(saturate, to, n, r->i, wide);
    } else {
        int_to_int(saturate, to, from, n, r->i, a->i);
    }
}
