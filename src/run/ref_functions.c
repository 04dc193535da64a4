/* SPDX-License-Identifier: MIT */
/*
 * exp, log, pow, sin and so on in the reference interpreter: the kernels' own definitions, shaders/functions.cl,
 * compiled as C. The file must be compiled with -ffp-contract=off.
 */
#include "run/ref_impl.h"

#include <math.h>
#include <string.h>
#include <tgmath.h>

typedef int64_t ip_long;

static inline int32_t as_int(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline int64_t as_long(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double as_double(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define IP_HOST
#define IP_TABLE static const
#include "../../shaders/functions.cl"

/* Functions of one argument: NAME of f32 and of f64, over n values. */
#define LOOPS(NAME)                                           \
    static void f32_##NAME(int n, float *r, const float *a)   \
    {                                                         \
        for (int k = 0; k < n; k++)                           \
            r[k] = ip_##NAME(a[k]);                           \
    }                                                         \
    static void f64_##NAME(int n, double *r, const double *a) \
    {                                                         \
        for (int k = 0; k < n; k++)                           \
            r[k] = ip_##NAME##64(a[k]);                       \
    }
LOOPS(exp)
LOOPS(log)
LOOPS(sin)
LOOPS(cos)
LOOPS(tan)
LOOPS(asin)
LOOPS(acos)
LOOPS(atan)
LOOPS(sinh)
LOOPS(cosh)
LOOPS(tanh)
#undef LOOPS

typedef struct function {
    void (*f32)(int n, float *r, const float *a);
    void (*f64)(int n, double *r, const double *a);
} function;

#define ROW(NAME)              \
    {                          \
        f32_##NAME, f64_##NAME \
    }
static const function functions[IP_X_N] = {
    [IP_X_EXP] = ROW(exp),   [IP_X_LOG] = ROW(log),   [IP_X_SIN] = ROW(sin),   [IP_X_COS] = ROW(cos),
    [IP_X_TAN] = ROW(tan),   [IP_X_ASIN] = ROW(asin), [IP_X_ACOS] = ROW(acos), [IP_X_ATAN] = ROW(atan),
    [IP_X_SINH] = ROW(sinh), [IP_X_COSH] = ROW(cosh), [IP_X_TANH] = ROW(tanh),
};
#undef ROW

void ip_ref_f32_function(ip_xop op, int n, float *r, const float *a)
{
    if (functions[op].f32) functions[op].f32(n, r, a);
}

void ip_ref_f64_function(ip_xop op, int n, double *r, const double *a)
{
    if (functions[op].f64) functions[op].f64(n, r, a);
}

void ip_ref_f32_pow(int n, float *r, const float *a, const float *b)
{
    for (int k = 0; k < n; k++)
        r[k] = ip_pow(a[k], b[k]);
}

void ip_ref_f64_pow(int n, double *r, const double *a, const double *b)
{
    for (int k = 0; k < n; k++)
        r[k] = ip_pow64(a[k], b[k]);
}

void ip_ref_f32_atan2(int n, float *r, const float *a, const float *b)
{
    for (int k = 0; k < n; k++)
        r[k] = ip_atan2(a[k], b[k]);
}

void ip_ref_f64_atan2(int n, double *r, const double *a, const double *b)
{
    for (int k = 0; k < n; k++)
        r[k] = ip_atan2_64(a[k], b[k]);
}
