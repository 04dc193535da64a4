/* SPDX-License-Identifier: MIT */
/* Facts about element types, and conversions of one element. */
#ifndef IP_BASE_DTYPE_H
#define IP_BASE_DTYPE_H

#include <imgpar.h>
#include <stdbool.h>

enum { IP_N_REAL_DTYPES = IMGPAR_COMPLEX64 }; /* those that expressions and stages have: they come first */

typedef struct ip_dtype_facts {
    const char *name; /* "u8" */
    const char *cl;   /* OpenCL C: "uchar"; bool is stored as uchar, f16 as half */
    unsigned size_bytes;
    bool is_float, is_signed;
    double minimum, maximum; /* of integers: the representable range; of floats: the largest finite */
    double full;             /* white where an array has none: the maximum of u8 and u16, 1 for floats and bool, 255 */
} ip_dtype_facts;

/* The row of dtype; NULL for a bad value. */
const ip_dtype_facts *ip_dtype(imgpar_dtype dtype);
/* True and *dtype for a name ("u8"). */
bool ip_dtype_find(const char *name, imgpar_dtype *dtype);

/* Of a real dtype; bool is neither. */
static inline bool ip_dtype_is_float(imgpar_dtype dtype) { return ip_dtype(dtype)->is_float; }
static inline bool ip_dtype_is_integer(imgpar_dtype dtype)
{
    return !ip_dtype(dtype)->is_float && dtype != IMGPAR_BOOL;
}
bool ip_dtype_is_complex(imgpar_dtype dtype);
/* The dtype of a complex one's parts, F32 or F64; a real one itself. */
imgpar_dtype ip_dtype_part(imgpar_dtype dtype);
/* The complex dtype whose parts hold real numbers of a dtype as floats: COMPLEX128 of F64, else COMPLEX64. */
imgpar_dtype ip_dtype_complex(imgpar_dtype part);

/* IEEE half, rounded to nearest even. */
uint16_t ip_half_from_float(float value);
float ip_float_from_half(uint16_t half);

/* A double to an element of dtype at dst: to nearest, ties to even, saturating; NaN becomes 0 in
 * integers. Floats overflow to infinity, as on the device. u64 and i64 lose digits above 2^53. Of complex
 * dtypes the number is the real part, and the imaginary one 0. */
void ip_store_number(imgpar_dtype dtype, void *dst, double value);
double ip_load_number(imgpar_dtype dtype, const void *src);
/* How far two elements are apart: exact for integers of 64 bits too, 0 for two NaN, INFINITY for one; for
 * complex dtypes in that part where they are farther apart. */
double ip_number_difference(imgpar_dtype dtype, const void *a, const void *b);

#endif
