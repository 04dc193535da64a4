/* SPDX-License-Identifier: MIT */
/*
 * Integer operations of the reference interpreter, as ir/expr.h defines them. Sums and products are taken in 64 bits
 * without sign, where C defines them for all operands, and wrapped to the dtype afterwards.
 */
#include "run/ref_impl.h"

#include "base/dtype.h"

void ip_ref_wrap(imgpar_dtype dtype, int n, int64_t *v)
{
    /* clang-format off */
    switch (dtype) {
    case IMGPAR_U8:   for (int k = 0; k < n; k++) v[k] = (uint8_t)v[k]; break;
    case IMGPAR_I8:   for (int k = 0; k < n; k++) v[k] = (int8_t)v[k]; break;
    case IMGPAR_U16:  for (int k = 0; k < n; k++) v[k] = (uint16_t)v[k]; break;
    case IMGPAR_I16:  for (int k = 0; k < n; k++) v[k] = (int16_t)v[k]; break;
    case IMGPAR_U32:  for (int k = 0; k < n; k++) v[k] = (uint32_t)v[k]; break;
    case IMGPAR_I32:  for (int k = 0; k < n; k++) v[k] = (int32_t)v[k]; break;
    case IMGPAR_BOOL: for (int k = 0; k < n; k++) v[k] = v[k] != 0; break;
    default: break;
    }
    /* clang-format on */
}

static bool is_signed(imgpar_dtype dtype) { return ip_dtype(dtype)->is_signed; }

/* Floored quotient and remainder; by zero both are 0. */
static int64_t floor_div(imgpar_dtype dtype, int64_t a, int64_t b)
{
    if (b == 0) return 0;
    if (!is_signed(dtype)) return (int64_t)((uint64_t)a / (uint64_t)b);
    if (b == -1) return (int64_t)(0 - (uint64_t)a); /* INT64_MIN / -1 traps */
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(imgpar_dtype dtype, int64_t a, int64_t b)
{
    if (b == 0) return 0;
    if (!is_signed(dtype)) return (int64_t)((uint64_t)a % (uint64_t)b);
    if (b == -1) return 0;
    int64_t m = a % b;
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

/* By squaring, wrapping; 1 / a^|b| truncated for negative exponents (0 ** -1 gives 0). */
static int64_t power(imgpar_dtype dtype, int64_t a, int64_t b)
{
    uint64_t result = 1, base = (uint64_t)a;
    if (is_signed(dtype) && b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (uint64_t e = (uint64_t)b; e; e >>= 1) {
        if (e & 1) result *= base;
        base *= base;
    }
    return (int64_t)result;
}

static int64_t smaller(imgpar_dtype dtype, int64_t a, int64_t b)
{
    return (dtype == IMGPAR_U64 ? (uint64_t)a < (uint64_t)b : a < b) ? a : b;
}

static int64_t larger(imgpar_dtype dtype, int64_t a, int64_t b)
{
    return (dtype == IMGPAR_U64 ? (uint64_t)a < (uint64_t)b : a < b) ? b : a;
}

/* Of a dtype without sign the value is not negative, so one shift of 64 bits serves all but u64. */
static int64_t shift_right(imgpar_dtype dtype, int64_t a, int count)
{
    return dtype == IMGPAR_U64 ? (int64_t)((uint64_t)a >> count) : a >> count;
}

void ip_ref_int_binary(ip_xop op, imgpar_dtype dtype, int n, int64_t *r, const int64_t *a, const int64_t *b)
{
    const int width = (int)ip_dtype(dtype)->size_bytes * 8;
    /* clang-format off */
    switch (op) {
    case IP_X_ADD:  for (int k = 0; k < n; k++) r[k] = (int64_t)((uint64_t)a[k] + (uint64_t)b[k]); break;
    case IP_X_SUB:  for (int k = 0; k < n; k++) r[k] = (int64_t)((uint64_t)a[k] - (uint64_t)b[k]); break;
    case IP_X_MUL:  for (int k = 0; k < n; k++) r[k] = (int64_t)((uint64_t)a[k] * (uint64_t)b[k]); break;
    case IP_X_IDIV: for (int k = 0; k < n; k++) r[k] = floor_div(dtype, a[k], b[k]); break;
    case IP_X_MOD:  for (int k = 0; k < n; k++) r[k] = floor_mod(dtype, a[k], b[k]); break;
    case IP_X_POW:  for (int k = 0; k < n; k++) r[k] = power(dtype, a[k], b[k]); break;
    case IP_X_MIN:  for (int k = 0; k < n; k++) r[k] = smaller(dtype, a[k], b[k]); break;
    case IP_X_MAX:  for (int k = 0; k < n; k++) r[k] = larger(dtype, a[k], b[k]); break;
    case IP_X_AND:  for (int k = 0; k < n; k++) r[k] = a[k] & b[k]; break;
    case IP_X_OR:   for (int k = 0; k < n; k++) r[k] = a[k] | b[k]; break;
    case IP_X_XOR:  for (int k = 0; k < n; k++) r[k] = a[k] ^ b[k]; break;
    case IP_X_SHL:  for (int k = 0; k < n; k++) r[k] = (int64_t)((uint64_t)a[k] << (b[k] & (width - 1))); break;
    case IP_X_SHR:  for (int k = 0; k < n; k++) r[k] = shift_right(dtype, a[k], (int)(b[k] & (width - 1))); break;
    default: break;
    }
    /* clang-format on */
    ip_ref_wrap(dtype, n, r);
}

void ip_ref_int_unary(ip_xop op, imgpar_dtype dtype, int n, int64_t *r, const int64_t *a)
{
    const bool may_be_negative = is_signed(dtype);
    /* clang-format off */
    switch (op) {
    case IP_X_NEG: for (int k = 0; k < n; k++) r[k] = (int64_t)(0 - (uint64_t)a[k]); break;
    case IP_X_ABS: for (int k = 0; k < n; k++)
                       r[k] = may_be_negative && a[k] < 0 ? (int64_t)(0 - (uint64_t)a[k]) : a[k];
                   break;
    case IP_X_NOT: for (int k = 0; k < n; k++) r[k] = dtype == IMGPAR_BOOL ? !a[k] : ~a[k]; break;
    case IP_X_ISNAN: for (int k = 0; k < n; k++) r[k] = 0; break;
    default:       for (int k = 0; k < n; k++) r[k] = a[k]; break; /* FLOOR and its like leave integers alone */
    }
    /* clang-format on */
    ip_ref_wrap(dtype, n, r);
}
