/* SPDX-License-Identifier: MIT */
/* Fourier transforms on the host: in double, by dividing a line into as many as its smallest prime factor. */
#include "ops/fft.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>

typedef struct number {
    double re, im;
} number;

typedef struct transform {
    int64_t n;
    const number *roots; /* exp(-2 pi i k / n) */
} transform;

static int64_t smallest_factor(int64_t n)
{
    int64_t p = 2;
    while (p * p <= n && n % p)
        p++;
    return n % p ? n : p;
}

/* out = the transform of n of the elements of in, `stride` apart. */
static void transform_line(const transform *t, int64_t n, const number *in, int64_t stride, number *out)
{
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    int64_t p = smallest_factor(n), m = n / p, turn = t->n / n;
    number part[7];
    for (int64_t q = 0; q < p; q++)
        transform_line(t, m, in + q * stride, stride * p, out + q * m);
    for (int64_t k = 0; k < m; k++) {
        for (int64_t q = 0; q < p; q++)
            part[q] = out[q * m + k];
        for (int64_t j = 0; j < p; j++) {
            number sum = { 0, 0 };
            for (int64_t q = 0; q < p; q++) {
                const number w = t->roots[q * (k + j * m) % n * turn];
                sum.re += part[q].re * w.re - part[q].im * w.im;
                sum.im += part[q].re * w.im + part[q].im * w.re;
            }
            out[j * m + k] = sum;
        }
    }
}

static number load(imgpar_dtype dtype, const char *at, size_t size)
{
    return (number){ ip_load_number(dtype, at), ip_load_number(dtype, at + size) };
}

imgpar_status ip_fft_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t n = o->sizes[IP_FFT_N], inner = o->sizes[IP_FFT_INNER], lines = o->sizes[IP_FFT_OUTER] * inner;
    const double sign = o->sizes[IP_FFT_IS_INVERSE] ? -1 : 1, factor = o->sizes[IP_FFT_IS_INVERSE] ? 1 / (double)n : 1;
    const size_t size = ip_dtype(o->dtype)->size_bytes;
    const char *from = in[0];
    char *to = out;
    number *roots = ip_alloc_array((size_t)n, sizeof *roots), *x = ip_alloc_array((size_t)n, sizeof *x);
    number *y = ip_alloc_array((size_t)n, sizeof *y);
    imgpar_status st = roots && x && y ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    for (int64_t k = 0; !st && k < n; k++) { /* errors of angles would add up in sums that have one sign */
        const long double angle = 6.28318530717958647692528676655900577L * (long double)k / (long double)n;
        roots[k] = (number){ (double)cosl(angle), -sign * (double)sinl(angle) };
    }
    for (int64_t line = 0; !st && line < lines; line++) {
        int64_t first = line / inner * n * inner + line % inner;
        for (int64_t k = 0; k < n; k++)
            x[k] = load(o->dtype, from + 2 * size * (size_t)(first + k * inner), size);
        transform_line(&(transform){ n, roots }, n, x, 1, y);
        for (int64_t k = 0; k < n; k++) {
            char *at = to + 2 * size * (size_t)(first + k * inner);
            ip_store_number(o->dtype, at, y[k].re * factor);
            ip_store_number(o->dtype, at + size, y[k].im * factor);
        }
        st = ask(user);
    }
    ip_free(roots);
    ip_free(x);
    ip_free(y);
    return st;
}
