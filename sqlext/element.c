/* SPDX-License-Identifier: MIT */
/* Elements as numbers. f16 has no C type: sign, 5 bits of exponent, 10 of fraction. */
#include "element.h"

#include <math.h>
#include <string.h>

typedef union element {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    float f32;
    double f64;
} element;

static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31 ? fraction ? NAN : INFINITY
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return h & 0x8000 ? -v : v;
}

bool ip_sql_dtype_is_complex(imgpar_dtype dtype) { return dtype == IMGPAR_COMPLEX64 || dtype == IMGPAR_COMPLEX128; }

bool ip_sql_dtype_is_float(imgpar_dtype dtype)
{
    return dtype == IMGPAR_F16 || dtype == IMGPAR_F32 || dtype == IMGPAR_F64;
}

void ip_sql_range(const imgpar_info *info, double *lo, double *hi)
{
    static const double ranges[IMGPAR_N_DTYPES][2] = {
        [IMGPAR_BOOL] = { 0, 1 },
        [IMGPAR_F16] = { 0, 1 },
        [IMGPAR_F32] = { 0, 1 },
        [IMGPAR_F64] = { 0, 1 },
        [IMGPAR_U8] = { 0, 255 },
        [IMGPAR_I8] = { -128, 127 },
        [IMGPAR_U16] = { 0, 65535 },
        [IMGPAR_I16] = { -32768, 32767 },
        [IMGPAR_U32] = { 0, 4294967295.0 },
        [IMGPAR_I32] = { -2147483648.0, 2147483647.0 },
        [IMGPAR_U64] = { 0, 18446744073709551615.0 },
        [IMGPAR_I64] = { -9223372036854775808.0, 9223372036854775807.0 },
    };
    *lo = info->white > 0 ? 0 : ranges[info->dtype][0];
    *hi = info->white > 0 ? info->white : ranges[info->dtype][1];
}

__extension__ typedef __int128 wide;

/* What is left of the difference is exact: equal numbers have none. */
double ip_sql_deviation(int64_t n, int64_t sum, int64_t squares)
{
    return sqrt((double)((wide)n * squares - (wide)sum * sum)) / (double)n;
}

double ip_sql_element(imgpar_dtype dtype, const void *p)
{
    element v = { 0 };
    memcpy(&v, p, imgpar_dtype_size(dtype));
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: return v.u8;
    case IMGPAR_I8: return v.i8;
    case IMGPAR_U16: return v.u16;
    case IMGPAR_I16: return v.i16;
    case IMGPAR_U32: return v.u32;
    case IMGPAR_I32: return v.i32;
    case IMGPAR_U64: return (double)v.u64;
    case IMGPAR_I64: return (double)v.i64;
    case IMGPAR_F16: return from_half(v.u16);
    case IMGPAR_F32: return (double)v.f32;
    default: return v.f64;
    }
}

bool ip_sql_whole(imgpar_dtype dtype, const void *p, sqlite3_int64 *whole)
{
    element v = { 0 };
    memcpy(&v, p, imgpar_dtype_size(dtype));
    if (ip_sql_dtype_is_float(dtype) || (dtype == IMGPAR_U64 && v.u64 > INT64_MAX)) return false;
    *whole = dtype == IMGPAR_U64 || dtype == IMGPAR_I64 ? v.i64 : (sqlite3_int64)ip_sql_element(dtype, p);
    return true;
}

void ip_sql_result_element(sqlite3_context *ctx, imgpar_dtype dtype, const void *p)
{
    sqlite3_int64 whole;
    if (ip_sql_whole(dtype, p, &whole))
        sqlite3_result_int64(ctx, whole);
    else
        sqlite3_result_double(ctx, ip_sql_element(dtype, p));
}

void ip_sql_append_element(sqlite3_str *s, imgpar_dtype dtype, const void *p)
{
    element v = { 0 };
    memcpy(&v, p, imgpar_dtype_size(dtype));
    if (ip_sql_dtype_is_float(dtype))
        sqlite3_str_appendf(s, "%!.15g", ip_sql_element(dtype, p));
    else if (dtype == IMGPAR_U64)
        sqlite3_str_appendf(s, "%llu", (unsigned long long)v.u64);
    else
        sqlite3_str_appendf(s, "%lld", dtype == IMGPAR_I64 ? (long long)v.i64 : (long long)ip_sql_element(dtype, p));
}
