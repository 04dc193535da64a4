/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices on the host, in the order in which the blocked and the direct kernels add: from the first
 * product to the last, each by one fma(). Integers wrap.
 */
#include "ops/matmul.h"

#include <math.h>
#include <string.h>

/* One matrix of the result. b's element (i, x) is at i b_step + x b_side. Memory of users may not be aligned. */
typedef struct operands {
    const unsigned char *a, *b;
    unsigned char *c;
    int64_t m, n, k, b_step, b_side;
} operands;

typedef imgpar_status (*product_fn)(const operands *o, ip_opaque_ask ask, void *user);

#define PRODUCT(NAME, T, ADD)                                                                        \
    static imgpar_status NAME(const operands *o, ip_opaque_ask ask, void *user)                      \
    {                                                                                                \
        for (int64_t y = 0; y < o->m; y++) {                                                         \
            T *out = (T *)(void *)o->c + y * o->n;                                                   \
            imgpar_status st = ask(user);                                                            \
            if (st) return st;                                                                       \
            for (int64_t x = 0; x < o->n; x++)                                                       \
                out[x] = 0;                                                                          \
            for (int64_t i = 0; i < o->k; i++) {                                                     \
                T u, v;                                                                              \
                memcpy(&u, o->a + (size_t)(y * o->k + i) * sizeof u, sizeof u);                      \
                for (int64_t x = 0; x < o->n; x++) {                                                 \
                    memcpy(&v, o->b + (size_t)(i * o->b_step + x * o->b_side) * sizeof v, sizeof v); \
                    out[x] = ADD;                                                                    \
                }                                                                                    \
            }                                                                                        \
        }                                                                                            \
        return IMGPAR_OK;                                                                            \
    }
PRODUCT(product_f32, float, fmaf(u, v, out[x]))
PRODUCT(product_f64, double, fma(u, v, out[x]))
PRODUCT(product_32, uint32_t, out[x] + u * v)
PRODUCT(product_64, uint64_t, out[x] + u * v)
#undef PRODUCT

imgpar_status ip_matmul_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                void *user)
{
    const int64_t *s = opaque->sizes;
    bool is_wide = opaque->dtype == IMGPAR_I64 || opaque->dtype == IMGPAR_U64 || opaque->dtype == IMGPAR_F64;
    bool is_transposed = s[IP_MM_METHOD] == IP_MM_REDUCE;
    int64_t size = is_wide ? 8 : 4, a_bytes = s[IP_MM_M] * s[IP_MM_K] * size, b_bytes = s[IP_MM_K] * s[IP_MM_N] * size;
    product_fn product = is_wide ? product_64 : product_32;
    if (opaque->dtype == IMGPAR_F32) product = product_f32;
    if (opaque->dtype == IMGPAR_F64) product = product_f64;
    for (int64_t t = 0; t < s[IP_MM_OUTER] * s[IP_MM_INNER]; t++) {
        int64_t outer = t / s[IP_MM_INNER], inner = t % s[IP_MM_INNER];
        operands o = { .a = in[0], .b = in[1], .c = out, .m = s[IP_MM_M], .n = s[IP_MM_N], .k = s[IP_MM_K] };
        o.a += (outer * s[IP_MM_A_OUTER] + inner * s[IP_MM_A_INNER]) * a_bytes;
        o.b += (outer * s[IP_MM_B_OUTER] + inner * s[IP_MM_B_INNER]) * b_bytes;
        o.c += t * o.m * o.n * size;
        o.b_step = is_transposed ? 1 : o.n;
        o.b_side = is_transposed ? o.k : 1;
        imgpar_status st = product(&o, ask, user);
        if (st) return st;
    }
    return IMGPAR_OK;
}
