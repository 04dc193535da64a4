/* SPDX-License-Identifier: MIT */
/* Sums at given places on the host: Note [Blocks of a scatter] in scatter.h. */
#include "ops/scatter.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

/* *to += *from. Integers as unsigned ones, which wrap. */
static void add(imgpar_dtype dtype, unsigned char *to, const unsigned char *from)
{
    float f[2];
    double d[2];
    uint64_t i[2];
    switch (dtype) {
    case IMGPAR_F32:
        memcpy(&f[0], to, 4);
        memcpy(&f[1], from, 4);
        f[0] += f[1];
        memcpy(to, &f[0], 4);
        break;
    case IMGPAR_F64:
        memcpy(&d[0], to, 8);
        memcpy(&d[1], from, 8);
        d[0] += d[1];
        memcpy(to, &d[0], 8);
        break;
    default:
        memcpy(&i[0], to, 8);
        memcpy(&i[1], from, 8);
        i[0] += i[1];
        memcpy(to, &i[0], 8);
    }
}

imgpar_status ip_scatter_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t n = o->sizes[IP_SCATTER_N], rows = o->sizes[IP_SCATTER_ROWS], width = o->sizes[IP_SCATTER_WIDTH];
    const int64_t m = rows * width, block = ip_scatter_block(m);
    const size_t size = ip_dtype(o->dtype)->size_bytes;
    const int32_t *index = in[IP_SCATTER_INDICES];
    const unsigned char *values = in[IP_SCATTER_VALUES];
    unsigned char *sums = ip_alloc_array((size_t)m, size), *result = out;
    imgpar_status st = sums ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    if (o->sizes[IP_SCATTER_HAS_BASE])
        memcpy(result, in[IP_SCATTER_BASE], (size_t)m * size);
    else
        memset(result, 0, (size_t)m * size);
    for (int64_t from = 0; !st && from < n; from += block) {
        memset(sums, 0, (size_t)m * size);
        for (int64_t k = from; k < n && k < from + block; k++)
            for (int64_t w = 0; w < width && index[k] >= 0 && index[k] < rows; w++)
                add(o->dtype, sums + (size_t)(index[k] * width + w) * size,
                    values + (o->sizes[IP_SCATTER_ONE_VALUE] ? 0 : (size_t)(k * width + w) * size));
        for (int64_t j = 0; j < m; j++)
            add(o->dtype, result + (size_t)j * size, sums + (size_t)j * size);
        st = ask(user);
    }
    ip_free(sums);
    return st;
}
