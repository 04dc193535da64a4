/* SPDX-License-Identifier: MIT */
/* Resampling along an axis: tables and sums. */
#include "ops/resample.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>
#include <string.h>

enum { Y = 1, X = 2 };

void ip_resampling_clear(ip_resampling *r)
{
    ip_free(r->first);
    ip_free(r->weight);
}

bool ip_resampling_new(ip_resampling *r, int64_t n_in, int64_t n_out, int taps)
{
    *r = (ip_resampling){ .n_in = n_in, .n_out = n_out, .taps = taps };
    size_t n_weights;
    if (!ip_mul_size((size_t)n_out, (size_t)taps, &n_weights)) return false;
    r->first = ip_alloc_array((size_t)n_out, sizeof *r->first);
    r->weight = ip_alloc_array(n_weights, sizeof *r->weight);
    if (!r->first || !r->weight) {
        ip_resampling_clear(r);
        return false;
    }
    memset(r->weight, 0, n_weights * sizeof *r->weight);
    return true;
}

/* ---- tables --------------------------------------------------------------------------------- */

ip_stage *ip_resampling_places(ip_lower *l, const ip_resampling *r)
{
    ip_stage *table = ip_stage_table(l->ir, IMGPAR_I32, r->n_out, r->first);
    if (!table) return NULL;
    table->lo = 0;
    table->hi = (double)(r->n_in - 1);
    return table;
}

static ip_stage *weight_table(ip_lower *l, const ip_resampling *r, imgpar_dtype dtype)
{
    size_t n = (size_t)r->n_out * (size_t)r->taps, size = ip_dtype(dtype)->size_bytes;
    char *data = ip_alloc_array(n, size);
    double lo = 0, hi = 1;
    if (!data) return NULL;
    for (size_t k = 0; k < n; k++) {
        ip_store_number(dtype, data + k * size, r->weight[k]);
        lo = fmin(lo, ip_load_number(dtype, data + k * size));
        hi = fmax(hi, ip_load_number(dtype, data + k * size));
    }
    ip_stage *table = ip_stage_table(l->ir, dtype, (int64_t)n, data);
    ip_free(data);
    if (!table) return NULL;
    table->lo = lo;
    table->hi = hi;
    return table;
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct pass {
    ip_lower *l;
    ip_stage *in, *first, *weights;
    int axis, taps;
    imgpar_dtype dtype;
    int64_t dims[4];
} pass;

static ip_expr *coord(const pass *p, int dim) { return ip_x_coord(p->l->ir, dim, p->dims[dim]); }

static ip_expr *source(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const pass *p = user;
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = coord(p, k);
    index[p->axis] = ip_x_binary(ir, IP_X_ADD, ip_table_at(ir, p->first, index[p->axis]), p->axis == Y ? ty : tx);
    ip_expr *x = ip_x_load(ir, p->in, index, IP_BORDER_NONE, NULL);
    return ip_x_cast(ir, p->dtype, x->dtype == IMGPAR_BOOL ? ip_x_cast(ir, IMGPAR_U8, x) : x);
}

static ip_expr *weight(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const pass *p = user;
    ip_expr *at = ip_x_binary(ir, IP_X_MUL, coord(p, p->axis), ip_x_int(ir, IMGPAR_I32, p->taps));
    return ip_table_at(ir, p->weights, ip_x_binary(ir, IP_X_ADD, at, p->axis == Y ? ty : tx));
}

ip_expr *ip_resampled(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], imgpar_dtype dtype, const ip_resampling *r)
{
    pass p = { .l = l, .in = in, .axis = axis, .taps = r->taps, .dtype = dtype };
    memcpy(p.dims, dims, sizeof p.dims);
    p.first = ip_resampling_places(l, r);
    p.weights = weight_table(l, r, dtype);
    if (!in || !p.first || !p.weights) {
        l->ir->failed = true;
        return ip_x_number(l->ir, dtype, 0);
    }
    return ip_x_window(l->ir, IP_FOLD_FMA, axis == Y ? p.taps : 1, axis == X ? p.taps : 1, source, weight, &p);
}
