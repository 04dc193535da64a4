/* SPDX-License-Identifier: MIT */
/* Sums and extremes at given places on the host: Note [Blocks of a scatter] in scatter.h. */
#include "ops/scatter.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Whether b is to take a's place as the extreme; NaN yields, and takes no place. */
#define TAKES(fold, a, b) ((a) != (a) || ((fold) == IP_SCATTER_MIN ? (b) < (a) : (b) > (a)))

/* *to becomes what fold makes of *to and *from. Integers are added as unsigned ones, which wrap. */
static void join(ip_scatter_fold fold, imgpar_dtype dtype, unsigned char *to, const unsigned char *from)
{
    float f[2];
    double d[2];
    int64_t i[2];
    uint64_t u[2];
    int32_t s[2];
    const bool sums = fold == IP_SCATTER_SUM;
    switch (dtype) {
    case IMGPAR_F32:
        memcpy(&f[0], to, 4);
        memcpy(&f[1], from, 4);
        f[0] = sums ? f[0] + f[1] : TAKES(fold, f[0], f[1]) ? f[1] : f[0];
        memcpy(to, &f[0], 4);
        break;
    case IMGPAR_F64:
        memcpy(&d[0], to, 8);
        memcpy(&d[1], from, 8);
        d[0] = sums ? d[0] + d[1] : TAKES(fold, d[0], d[1]) ? d[1] : d[0];
        memcpy(to, &d[0], 8);
        break;
    case IMGPAR_I32: /* extremes only */
        memcpy(&s[0], to, 4);
        memcpy(&s[1], from, 4);
        s[0] = TAKES(fold, s[0], s[1]) ? s[1] : s[0];
        memcpy(to, &s[0], 4);
        break;
    case IMGPAR_I64:
        memcpy(&i[0], to, 8);
        memcpy(&i[1], from, 8);
        i[0] = sums ? (int64_t)((uint64_t)i[0] + (uint64_t)i[1]) : TAKES(fold, i[0], i[1]) ? i[1] : i[0];
        memcpy(to, &i[0], 8);
        break;
    default:
        memcpy(&u[0], to, 8);
        memcpy(&u[1], from, 8);
        u[0] = sums ? u[0] + u[1] : TAKES(fold, u[0], u[1]) ? u[1] : u[0];
        memcpy(to, &u[0], 8);
    }
}

/* n elements that change nothing they are joined with. */
static void clear(ip_scatter_fold fold, imgpar_dtype dtype, unsigned char *to, int64_t n)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    const float nan_f = NAN;
    const double nan_d = NAN;
    const int64_t signed_end = fold == IP_SCATTER_MIN ? INT64_MAX : INT64_MIN;
    const uint64_t unsigned_end = fold == IP_SCATTER_MIN ? UINT64_MAX : 0;
    const int32_t short_end = fold == IP_SCATTER_MIN ? INT32_MAX : INT32_MIN;
    const void *nothing = dtype == IMGPAR_F32   ? (const void *)&nan_f
                          : dtype == IMGPAR_F64 ? (const void *)&nan_d
                          : dtype == IMGPAR_I64 ? (const void *)&signed_end
                          : dtype == IMGPAR_I32 ? (const void *)&short_end
                                                : (const void *)&unsigned_end;
    for (int64_t k = 0; k < n && fold != IP_SCATTER_SUM; k++)
        memcpy(to + (size_t)k * facts->size_bytes, nothing, facts->size_bytes);
    if (fold == IP_SCATTER_SUM) memset(to, 0, (size_t)n * facts->size_bytes);
}

imgpar_status ip_scatter_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t n = o->sizes[IP_SCATTER_N], rows = o->sizes[IP_SCATTER_ROWS], width = o->sizes[IP_SCATTER_WIDTH];
    const int64_t m = rows * width, block = ip_scatter_block(m);
    const size_t size = ip_dtype(o->dtype)->size_bytes;
    const ip_scatter_fold fold = (ip_scatter_fold)o->sizes[IP_SCATTER_FOLD];
    const int32_t *index = in[IP_SCATTER_INDICES];
    const unsigned char *values = in[IP_SCATTER_VALUES];
    unsigned char *sums = ip_alloc_array((size_t)m, size), *result = out;
    imgpar_status st = sums ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    if (o->sizes[IP_SCATTER_HAS_BASE])
        memcpy(result, in[IP_SCATTER_BASE], (size_t)m * size);
    else
        clear(fold, o->dtype, result, m);
    for (int64_t from = 0; !st && from < n; from += block) {
        clear(fold, o->dtype, sums, m);
        for (int64_t k = from; k < n && k < from + block; k++)
            for (int64_t w = 0; w < width && index[k] >= 0 && index[k] < rows; w++)
                join(fold, o->dtype, sums + (size_t)(index[k] * width + w) * size,
                     values + (o->sizes[IP_SCATTER_ONE_VALUE] ? 0 : (size_t)(k * width + w) * size));
        for (int64_t j = 0; j < m; j++)
            join(fold, o->dtype, result + (size_t)j * size, sums + (size_t)j * size);
        st = ask(user);
    }
    ip_free(sums);
    return st;
}
