/* SPDX-License-Identifier: MIT */
/* Resampling along an axis: tables and sums. */
#include "ops/resample.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "ops/coverage.h"

#include <math.h>
#include <string.h>

enum { Y = 1, X = 2, FEW_OUTPUTS = 1 << 15 /* sums of so many are known not to wrap, so that vectors are read */ };

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

/* The first of the taps with a weight, and the one behind the last. */
static void used_taps(const ip_resampling *r, int64_t i, int *from, int *to)
{
    const double *w = r->weight + i * r->taps;
    for (*to = r->taps; *to > 1 && w[*to - 1] == 0;)
        --*to;
    for (*from = 0; *from + 1 < *to && w[*from] == 0;)
        ++*from;
}

void ip_resampling_trim(ip_resampling *r)
{
    int taps = 1, from, to;
    for (int64_t i = 0; i < r->n_out; i++) {
        used_taps(r, i, &from, &to);
        taps = to - from > taps ? to - from : taps;
    }
    for (int64_t i = 0; i < r->n_out && taps < r->taps; i++) { /* rows move to the front, none over one still to come */
        double *w = r->weight + i * r->taps;
        used_taps(r, i, &from, &to);
        if (r->first[i] + from > r->n_in - taps) from = (int)(r->n_in - taps - r->first[i]);
        for (int k = 0; k < taps; k++)
            r->weight[i * taps + k] = from + k < r->taps ? w[from + k] : 0;
        r->first[i] += from;
    }
    r->taps = taps;
}

void ip_resampling_make_whole(ip_resampling *r, int bits)
{
    for (int64_t i = 0; i < r->n_out; i++) {
        double *w = r->weight + i * r->taps, sum = 0, made = 0;
        int largest = 0;
        for (int k = 0; k < r->taps; k++) {
            sum += w[k];
            if (w[k] > w[largest]) largest = k;
        }
        for (int k = 0; k < r->taps; k++)
            made += w[k] = rint(ldexp(w[k], bits));
        w[largest] += rint(ldexp(sum, bits)) - made;
    }
}

/* 1 2 3 4 6 8 12 16 24 32 ..., at most n_in. */
static int64_t rounded_taps(int taps, int64_t n_in)
{
    int64_t power = 1;
    while (2 * power <= taps)
        power *= 2;
    int64_t rounded = taps == power ? power : taps <= power + power / 2 ? power + power / 2 : 2 * power;
    return rounded < n_in ? rounded : n_in;
}

bool ip_resampling_round_up(ip_resampling *r)
{
    int64_t taps = rounded_taps(r->taps, r->n_in);
    size_t n_weights;
    if (taps == r->taps) return true;
    double *weight =
        ip_mul_size((size_t)r->n_out, (size_t)taps, &n_weights) ? ip_alloc_array(n_weights, sizeof *weight) : NULL;
    if (!weight) return false;
    memset(weight, 0, n_weights * sizeof *weight);
    for (int64_t i = 0; i < r->n_out; i++) {
        int64_t first = ip_min(r->first[i], r->n_in - taps);
        memcpy(weight + i * taps + (r->first[i] - first), r->weight + i * r->taps, (size_t)r->taps * sizeof *weight);
        r->first[i] = (int32_t)first;
    }
    ip_free(r->weight);
    r->weight = weight;
    r->taps = (int)taps;
    return true;
}

/* Whether the sizes divide and output i's inputs begin at first[0] + i * *step. Not where they do by chance: programs
 * would depend on sizes. */
static bool is_regular(const ip_resampling *r, int64_t *step)
{
    *step = r->n_out > 0 ? r->n_in / r->n_out : 1;
    for (int64_t i = 0; i < r->n_out; i++)
        if (r->first[i] != r->first[0] + i * *step) return false;
    return *step * r->n_out == r->n_in;
}

bool ip_resampling_is_mean(const ip_resampling *r)
{
    int64_t step;
    for (int64_t k = 0; k < r->n_out * r->taps; k++)
        if (r->weight[k] != 1.0 / r->taps) return false;
    return is_regular(r, &step);
}

/* ---- tables --------------------------------------------------------------------------------- */

static ip_expr *first_in_table(ip_lower *l, const ip_resampling *r, ip_expr *i)
{
    ip_stage *table = ip_stage_table(l->ir, IMGPAR_I32, r->n_out, r->first);
    if (!table) {
        l->ir->failed = true;
        return i;
    }
    table->lo = 0;
    table->hi = (double)(r->n_in - 1);
    return ip_table_at(l->ir, table, i);
}

ip_expr *ip_resampling_first(ip_lower *l, const ip_resampling *r, ip_expr *i)
{
    int64_t step;
    if (!is_regular(r, &step)) return first_in_table(l, r, i);
    ip_expr *from = ip_x_int(l->ir, IMGPAR_I32, r->first[0]);
    return ip_x_binary(l->ir, IP_X_ADD, ip_x_binary(l->ir, IP_X_MUL, i, ip_x_int(l->ir, IMGPAR_I32, step)), from);
}

/* Whether the weights of a tap stand together, those of neighbouring outputs side by side: floats are weighed in
 * vectors of outputs. Whole weights of an output are multiplied at once (compile/idioms.def). */
static bool is_by_tap(imgpar_dtype dtype) { return ip_dtype(dtype)->is_float; }

static ip_stage *weight_table(ip_lower *l, const ip_resampling *r, imgpar_dtype dtype)
{
    size_t n = (size_t)r->n_out * (size_t)r->taps, size = ip_dtype(dtype)->size_bytes;
    char *data = ip_alloc_array(n, size);
    double lo = 0, hi = 1;
    if (!data) return NULL;
    for (size_t k = 0; k < n; k++) {
        size_t i = k / (size_t)r->taps, tap = k % (size_t)r->taps;
        char *at = data + (is_by_tap(dtype) ? tap * (size_t)r->n_out + i : k) * size;
        ip_store_number(dtype, at, r->weight[k]);
        lo = fmin(lo, ip_load_number(dtype, at));
        hi = fmax(hi, ip_load_number(dtype, at));
    }
    ip_stage *table = ip_stage_table(l->ir, dtype, (int64_t)n, data);
    ip_free(data);
    if (!table) return NULL;
    if (!ip_dtype(dtype)->is_float) { /* classes, not weights: programs depend on it */
        lo = lo < 0 ? INT16_MIN : 0;
        hi = INT16_MAX;
    }
    table->lo = lo;
    table->hi = hi;
    return table;
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct pass {
    ip_lower *l;
    ip_stage *in, *weights; /* weights: NULL for means */
    ip_expr *first;         /* the element's first input */
    ip_expr *n_out;         /* of weights by tap */
    int axis, taps;
    bool is_mean;
    imgpar_dtype dtype;
    int64_t dims[4];
} pass;

static pass pass_of(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], imgpar_dtype dtype,
                    const ip_resampling *r)
{
    pass p = { .l = l, .in = in, .axis = axis, .taps = r->taps, .dtype = dtype };
    memcpy(p.dims, dims, sizeof p.dims);
    p.is_mean = ip_resampling_is_mean(r);
    p.first = (p.is_mean ? ip_resampling_first : first_in_table)(l, r, ip_x_coord(l->ir, axis, dims[axis]));
    return p;
}

static ip_expr *source(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const pass *p = user;
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_coord(ir, k, p->dims[k]);
    index[p->axis] = ip_x_binary(ir, IP_X_ADD, p->first, p->axis == Y ? ty : tx);
    ip_expr *x = ip_x_load(ir, p->in, index, IP_BORDER_NONE, NULL);
    return ip_x_cast(ir, p->dtype, x->dtype == IMGPAR_BOOL ? ip_x_cast(ir, IMGPAR_U8, x) : x);
}

static ip_expr *weight(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const pass *p = user;
    if (!p->weights) return ip_x_float(ir, p->dtype, 1.0 / p->taps);
    ip_expr *i = ip_x_coord(ir, p->axis, p->dims[p->axis]), *tap = p->axis == Y ? ty : tx;
    ip_expr *at = is_by_tap(p->dtype)
                      ? ip_x_binary(ir, IP_X_ADD, ip_x_binary(ir, IP_X_MUL, tap, p->n_out), i)
                      : ip_x_binary(ir, IP_X_ADD, ip_x_binary(ir, IP_X_MUL, i, ip_x_int(ir, IMGPAR_I32, p->taps)), tap);
    return ip_table_at(ir, p->weights, at);
}

static ip_expr *product(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    return ip_x_binary(ir, IP_X_MUL, source(ir, ty, tx, user), weight(ir, ty, tx, user));
}

static ip_expr *folded(pass *p, ip_fold fold)
{
    if (!p->in || p->l->ir->failed) {
        p->l->ir->failed = true;
        return ip_x_number(p->l->ir, p->dtype, 0);
    }
    bool are_products = fold == IP_FOLD_SUM && p->weights;
    return ip_x_window(p->l->ir, fold, p->axis == Y ? p->taps : 1, p->axis == X ? p->taps : 1,
                       are_products ? product : source, weight, p);
}

/* What a chain makes of an opaque pixel's alpha where it makes least of it. */
static double least_of_opaque(const ip_resampling *r, imgpar_dtype dtype, double opaque)
{
    double least = INFINITY;
    for (int64_t i = 0; i < r->n_out; i++) {
        float in_f32 = 0;
        double in_f64 = 0;
        for (int k = 0; k < r->taps; k++) {
            in_f32 = fmaf((float)r->weight[i * r->taps + k], (float)opaque, in_f32);
            in_f64 = fma(r->weight[i * r->taps + k], opaque, in_f64);
        }
        least = fmin(least, dtype == IMGPAR_F32 ? (double)in_f32 : in_f64);
    }
    return least;
}

ip_expr *ip_resampled(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], imgpar_dtype dtype,
                      const ip_resampling *r)
{
    pass p = pass_of(l, in, axis, dims, dtype, r);
    if (!p.is_mean) {
        p.weights = weight_table(l, r, dtype);
        p.n_out = ip_x_param(l->ir, IMGPAR_I32, (double)r->n_out, 1, r->n_out <= FEW_OUTPUTS ? FEW_OUTPUTS : INT32_MAX);
        l->ir->failed |= !p.weights;
    }
    if (l->coverage) ip_coverage_pass(l, least_of_opaque(r, dtype, l->coverage->opaque));
    return folded(&p, ip_dtype(dtype)->is_float ? IP_FOLD_FMA : IP_FOLD_SUM);
}

ip_expr *ip_resampled_least(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], const ip_resampling *r)
{
    pass p = pass_of(l, in, axis, dims, in && in->dtype != IMGPAR_F16 ? in->dtype : IMGPAR_F32, r);
    return folded(&p, IP_FOLD_MIN);
}

ip_expr *ip_resampled_sum(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], imgpar_dtype dtype,
                          const ip_resampling *r)
{
    pass p = pass_of(l, in, axis, dims, dtype, r);
    return folded(&p, IP_FOLD_SUM);
}
