/* SPDX-License-Identifier: MIT */
/* Operations on arrays of any rank, as far as pictures show them. */
#include "oracle.h"

#include <math.h>

/* Each row of pixels times one matrix [1, channels, columns]. */
static void matmul(const call *c, picture *out)
{
    const picture *a = c->in[0], *b = c->in[1];
    imgpar_dtype dtype = oracle_common(c->in, 2);
    *out = picture_new(dtype, a->h, a->w, b->c);
    for (int64_t n = 0; n < picture_count(out); n++) {
        real sum = 0, magnitude = 0;
        for (int64_t k = 0; k < a->c; k++) {
            real product = a->v[n / b->c * a->c + k] * *picture_at(b, 0, k, n % b->c);
            sum += product;
            magnitude += fabsl(product);
        }
        out->v[n] = sum;
        out->slack[n] = is_float(dtype) ? magnitude * (real)(a->c + 1) * (dtype == IMGPAR_F64 ? 0x1p-53L : 0x1p-24L) : 0;
    }
}

const oracle_row oracle_arrays[] = { { "matmul", matmul }, { NULL, NULL } };
