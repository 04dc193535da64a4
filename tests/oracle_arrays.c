/* SPDX-License-Identifier: MIT */
/* Operations on arrays of any rank, as far as pictures show them. */
#include "oracle.h"

#include <math.h>

/* Each row of pixels times one matrix [1, channels, columns]. */
static void matmul(const call *c, picture *out)
{
    const picture *a = c->in[0], *b = c->in[1];
    imgpar_dtype dtype = oracle_product(c->in, 2, -1);
    *out = picture_new(dtype, a->h, a->w, b->c);
    for (int64_t n = 0; n < picture_count(out); n++) {
        real sum = 0, magnitude = 0;
        for (int64_t k = 0; k < a->c; k++) {
            real product = a->v[n / b->c * a->c + k] * *picture_at(b, 0, k, n % b->c);
            sum += product;
            magnitude += fabsl(product);
        }
        out->v[n] = sum;
        out->slack[n] =
            is_float(dtype) ? magnitude * (real)(a->c + 1) * (dtype == IMGPAR_F64 ? 0x1p-53L : 0x1p-24L) : 0;
    }
}

/* ---- order ------------------------------------------------------------------------------------ */

/* Of two values along the channels, NaN last; in results -0 before 0. */
static bool comes_before(real u, real v, bool descending)
{
    if (isnan(u) || isnan(v)) return !isnan(u) && isnan(v);
    return descending ? u > v : u < v;
}

/* Along the channels: how many come before an element is its place. */
static void by_rank(const call *c, picture *out, bool indices)
{
    const picture *a = c->in[0];
    bool descending = call_is(c, "descending", "true", "false");
    *out = picture_new(indices ? IMGPAR_I32 : a->dtype, a->h, a->w, a->c);
    for (int64_t n = 0; n < picture_count(a); n++) {
        int64_t base = n / a->c * a->c, rank = 0;
        for (int64_t k = 0; k < a->c; k++)
            rank += comes_before(a->v[base + k], a->v[n], descending) ||
                    (base + k < n && !comes_before(a->v[n], a->v[base + k], descending));
        out->v[base + rank] = indices ? (real)(n - base) : a->v[n];
    }
}

static void sort(const call *c, picture *out) { by_rank(c, out, false); }
static void argsort(const call *c, picture *out) { by_rank(c, out, true); }

/* By the last key first, by the one before it where that is equal. */
static bool comes_before_by_keys(const call *c, int64_t i, int64_t j)
{
    for (int key = c->n_in - 1; key >= 0; key--) {
        const real u = c->in[key]->v[i], v = c->in[key]->v[j];
        if (comes_before(u, v, false)) return true;
        if (comes_before(v, u, false)) return false;
    }
    return i < j;
}

static void lexsort(const call *c, picture *out)
{
    const picture *a = c->in[0];
    *out = picture_new(IMGPAR_I32, a->h, a->w, a->c);
    for (int64_t n = 0; n < picture_count(a); n++) {
        const int64_t base = n / a->c * a->c;
        int64_t rank = 0;
        for (int64_t k = base; k < base + a->c; k++)
            rank += comes_before_by_keys(c, k, n);
        out->v[base + rank] = (real)(n - base);
    }
}

const oracle_row oracle_arrays[] = {
    { "matmul", matmul }, { "sort", sort }, { "argsort", argsort }, { "lexsort", lexsort }, { NULL, NULL }
};
