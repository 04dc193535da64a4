/* SPDX-License-Identifier: MIT */
/* The table of element types, IEEE half, and conversion of one element. */
#include "base/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Rows in the order of imgpar_dtype.
 *               name     cl        size float  signed minimum      maximum      full */
static const ip_dtype_facts facts[IMGPAR_N_DTYPES] = {
    [IMGPAR_U8] = { "u8", "uchar", 1, false, false, 0, UINT8_MAX, UINT8_MAX },
    [IMGPAR_I8] = { "i8", "char", 1, false, true, INT8_MIN, INT8_MAX, 255 },
    [IMGPAR_U16] = { "u16", "ushort", 2, false, false, 0, UINT16_MAX, UINT16_MAX },
    [IMGPAR_I16] = { "i16", "short", 2, false, true, INT16_MIN, INT16_MAX, 255 },
    [IMGPAR_U32] = { "u32", "uint", 4, false, false, 0, UINT32_MAX, 255 },
    [IMGPAR_I32] = { "i32", "int", 4, false, true, INT32_MIN, INT32_MAX, 255 },
    [IMGPAR_U64] = { "u64", "ulong", 8, false, false, 0, 0x1p64, 255 },
    [IMGPAR_I64] = { "i64", "long", 8, false, true, -0x1p63, 0x1p63, 255 },
    [IMGPAR_F16] = { "f16", "half", 2, true, true, -65504.0, 65504.0, 1 },
    [IMGPAR_F32] = { "f32", "float", 4, true, true, -FLT_MAX, FLT_MAX, 1 },
    [IMGPAR_F64] = { "f64", "double", 8, true, true, -DBL_MAX, DBL_MAX, 1 },
    [IMGPAR_BOOL] = { "bool", "uchar", 1, false, false, 0, 1, 1 },
    [IMGPAR_COMPLEX64] = { "complex64", "float2", 8, true, true, -FLT_MAX, FLT_MAX, 1 },     /* of a part */
    [IMGPAR_COMPLEX128] = { "complex128", "double2", 16, true, true, -DBL_MAX, DBL_MAX, 1 }, /* likewise */
};

static bool is_dtype(imgpar_dtype dtype) { return (unsigned)dtype < IMGPAR_N_DTYPES; }

const ip_dtype_facts *ip_dtype(imgpar_dtype dtype) { return is_dtype(dtype) ? &facts[dtype] : NULL; }

bool ip_dtype_is_complex(imgpar_dtype dtype) { return dtype == IMGPAR_COMPLEX64 || dtype == IMGPAR_COMPLEX128; }

imgpar_dtype ip_dtype_part(imgpar_dtype dtype)
{
    return dtype == IMGPAR_COMPLEX128 ? IMGPAR_F64 : dtype == IMGPAR_COMPLEX64 ? IMGPAR_F32 : dtype;
}

imgpar_dtype ip_dtype_complex(imgpar_dtype part) { return part == IMGPAR_F64 ? IMGPAR_COMPLEX128 : IMGPAR_COMPLEX64; }

bool ip_dtype_find(const char *name, imgpar_dtype *dtype)
{
    for (int i = 0; i < IMGPAR_N_DTYPES; i++)
        if (strcmp(name, facts[i].name) == 0) {
            *dtype = (imgpar_dtype)i;
            return true;
        }
    return false;
}

IMGPAR_API const char *imgpar_dtype_name(imgpar_dtype dtype) { return is_dtype(dtype) ? facts[dtype].name : NULL; }

IMGPAR_API size_t imgpar_dtype_size(imgpar_dtype dtype) { return is_dtype(dtype) ? facts[dtype].size_bytes : 0; }

uint16_t ip_half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;

    if (magnitude > 0x7f800000) /* NaN stays one: keep the top of its payload, made quiet */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    if (magnitude >= 0x477ff000) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x33000000) /* below 2^-25 rounds to zero; 2^-25 itself is a tie, to even */
        return (uint16_t)sign;

    uint32_t kept, lost, half_ulp;
    if (magnitude >= 0x38800000) { /* normal: rebias the exponent, drop 13 bits */
        kept = (magnitude - 0x38000000) >> 13;
        lost = magnitude & 0x1fff;
        half_ulp = 0x1000;
    } else { /* subnormal: the mantissa with its hidden bit, in units of 2^-24 */
        uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
        unsigned shift = 126 - (magnitude >> 23);
        kept = mantissa >> shift;
        lost = mantissa & ((1u << shift) - 1);
        half_ulp = 1u << (shift - 1);
    }
    if (lost > half_ulp || (lost == half_ulp && (kept & 1)))
        kept++; /* a carry into the exponent is right: it is the next power of two */
    return (uint16_t)(sign | kept);
}

float ip_float_from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ff;
    uint32_t bits;
    float value;
    if (exponent == 0) {
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | mantissa << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Going through float would round twice; a float rounded to odd keeps the half's rounding right. */
static uint16_t half_from_double(double value)
{
    float f = (float)value;
    if ((double)f != value && !isnan(value) && !isinf(f)) {
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        if (fabs((double)f) > fabs(value)) bits--;
        bits |= 1;
        memcpy(&f, &bits, sizeof f);
    }
    return ip_half_from_float(f);
}

void ip_store_number(imgpar_dtype dtype, void *dst, double value)
{
    const ip_dtype_facts *f = &facts[dtype];
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32, c64[2];
        double f64, c128[2];
    } e = { 0 };
    if (!f->is_float) {
        value = isnan(value) ? 0 : rint(value);
        if (value < f->minimum) value = f->minimum;
        if (value > f->maximum) value = f->maximum;
    }
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: e.u8 = (uint8_t)value; break;
    case IMGPAR_I8: e.i8 = (int8_t)value; break;
    case IMGPAR_U16: e.u16 = (uint16_t)value; break;
    case IMGPAR_I16: e.i16 = (int16_t)value; break;
    case IMGPAR_U32: e.u32 = (uint32_t)value; break;
    case IMGPAR_I32: e.i32 = (int32_t)value; break;
    /* The maximum of 64-bit types is no double; the next one up stands for it. */
    case IMGPAR_U64: e.u64 = value >= 0x1p64 ? UINT64_MAX : (uint64_t)value; break;
    case IMGPAR_I64: e.i64 = value >= 0x1p63 ? INT64_MAX : (int64_t)value; break;
    case IMGPAR_F16: e.u16 = half_from_double(value); break;
    case IMGPAR_F32: e.f32 = (float)value; break;
    case IMGPAR_F64: e.f64 = value; break;
    case IMGPAR_COMPLEX64: e.c64[0] = (float)value; break;
    case IMGPAR_COMPLEX128: e.c128[0] = value; break;
    case IMGPAR_N_DTYPES: return;
    }
    memcpy(dst, &e, f->size_bytes);
}

double ip_load_number(imgpar_dtype dtype, const void *src)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32, c64[2];
        double f64, c128[2];
    } e = { 0 };
    if (!is_dtype(dtype)) return 0;
    memcpy(&e, src, facts[dtype].size_bytes);
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: return e.u8;
    case IMGPAR_I8: return e.i8;
    case IMGPAR_U16: return e.u16;
    case IMGPAR_I16: return e.i16;
    case IMGPAR_U32: return e.u32;
    case IMGPAR_I32: return e.i32;
    case IMGPAR_U64: return (double)e.u64;
    case IMGPAR_I64: return (double)e.i64;
    case IMGPAR_F16: return (double)ip_float_from_half(e.u16);
    case IMGPAR_F32: return (double)e.f32;
    case IMGPAR_F64: return e.f64;
    case IMGPAR_COMPLEX64: return (double)e.c64[0];
    case IMGPAR_COMPLEX128: return e.c128[0];
    case IMGPAR_N_DTYPES: break;
    }
    return 0;
}

double ip_number_difference(imgpar_dtype dtype, const void *a, const void *b)
{
    if (ip_dtype_is_complex(dtype)) {
        const imgpar_dtype part = ip_dtype_part(dtype);
        const size_t size = facts[part].size_bytes;
        return fmax(ip_number_difference(part, a, b),
                    ip_number_difference(part, (const char *)a + size, (const char *)b + size));
    }
    if (dtype == IMGPAR_U64 || dtype == IMGPAR_I64) {
        uint64_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        bool is_more = dtype == IMGPAR_U64 ? x > y : (int64_t)x > (int64_t)y;
        return (double)(is_more ? x - y : y - x);
    }
    double x = ip_load_number(dtype, a), y = ip_load_number(dtype, b);
    if (x == y || (isnan(x) && isnan(y))) return 0;
    return isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
}
