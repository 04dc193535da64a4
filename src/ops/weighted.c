/* SPDX-License-Identifier: MIT */
/* Weighted sums over windows, and exact rounding of their quotients. */
#include "ops/weighted.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/coverage.h"

#include <math.h>
#include <string.h>

/* ---- the sum ------------------------------------------------------------------------- */

typedef struct window {
    const ip_weighted *p;
    ip_stage *table; /* the weights of a large window */
} window;

/* The element under a tap, as it is stored. */
static ip_expr *stored_element(const ip_weighted *p, ip_expr *ty, ip_expr *tx)
{
    ip_lower *l = p->l;
    ip_expr *dy = ip_x_binary(l->ir, IP_X_SUB, ty, ip_lower_i32(l, p->weights.rows / 2));
    ip_expr *dx = ip_x_binary(l->ir, IP_X_SUB, tx, ip_lower_i32(l, p->weights.cols / 2));
    if (!p->at) return ip_lower_read_value(l, p->stage, ip_lower_i32(l, 0), dy, dx, p->border, p->cval);
    ip_expr *index[4] = { p->at[0], ip_x_binary(l->ir, IP_X_ADD, p->at[1], dy),
                          ip_x_binary(l->ir, IP_X_ADD, p->at[2], dx), p->at[3] };
    ip_expr *x = ip_x_load(l->ir, p->stage, index, p->border, p->cval);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}

/* The element under a tap, in the sum's dtype. */
static ip_expr *element(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const ip_weighted *p = ((const window *)user)->p;
    return ip_x_cast(ir, p->dtype, stored_element(p, ty, tx));
}

static bool is_sum_of_whole(const ip_weighted *p) { return !ip_dtype_is_float(p->dtype) && p->weights.are_arguments; }

/*
 * Note [Pairs]
 * In a symmetric line of weights the two elements that share a weight are added before they are weighted, if the input
 * has integers: exactly, so that half of the conversions and products are saved. Floats are an fma() chain each, which
 * takes as many operations; were they paired wherever the range of what computed them keeps sums in the float's, a
 * blurred array would have other bytes than what is read back from a file of it. Of whole weights that are arguments
 * all products are of pairs: the middle element is added to itself.
 */
static bool in_pairs(const ip_weighted *p)
{
    bool is_line = p->weights.rows == 1 || p->weights.cols == 1;
    double lo = p->stage->lo, hi = p->stage->hi;
    if (p->cval) {
        lo = fmin(lo, p->cval->lo);
        hi = fmax(hi, p->cval->hi);
    }
    return p->weights.symmetric && is_line && !ip_dtype_is_float(p->l->node->inputs[0]->type.dtype) &&
           (ip_dtype_is_float(p->dtype) || p->weights.are_arguments) && fabs(lo) < 0x1p100 && fabs(hi) < 0x1p100;
}

/* The element under a tap plus the one under its mirror image. */
static ip_expr *pair(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const ip_weighted *p = ((const window *)user)->p;
    ip_expr *my = ip_x_binary(ir, IP_X_SUB, ip_x_int(ir, IMGPAR_I32, p->weights.rows - 1), ty);
    ip_expr *mx = ip_x_binary(ir, IP_X_SUB, ip_x_int(ir, IMGPAR_I32, p->weights.cols - 1), tx);
    ip_expr *a = stored_element(p, ty, tx), *b = stored_element(p, my, mx);
    const ip_dtype_facts *facts = ip_dtype(a->dtype);
    imgpar_dtype sum = !facts->is_float && facts->size_bytes <= 2 ? IMGPAR_I32 : p->dtype;
    return ip_x_cast(ir, p->dtype, ip_x_binary(ir, IP_X_ADD, ip_x_cast(ir, sum, a), ip_x_cast(ir, sum, b)));
}

static ip_expr *table_weight(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const window *w = user;
    ip_expr *row = ip_x_binary(ir, IP_X_MUL, ty, ip_x_int(ir, IMGPAR_I32, w->p->weights.cols));
    return ip_x_cast(ir, w->p->dtype, ip_table_at(ir, w->table, ip_x_binary(ir, IP_X_ADD, row, tx)));
}

static ip_expr *table_product(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    return ip_x_binary(ir, IP_X_MUL, element(ir, ty, tx, user), table_weight(ir, ty, tx, user));
}

static ip_expr *pair_product(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    return ip_x_binary(ir, IP_X_MUL, pair(ir, ty, tx, user), table_weight(ir, ty, tx, user));
}

static int tap_count(const ip_weights *w) { return w->rows * w->cols; }

/* The weights as a table of f32, f64 or i32. */
static ip_stage *make_table(const ip_weighted *p)
{
    imgpar_dtype dtype = ip_dtype_is_float(p->dtype) ? p->dtype : IMGPAR_I32;
    int n = tap_count(&p->weights);
    size_t size = ip_dtype(dtype)->size_bytes;
    char *data = ip_alloc_array((size_t)n, size);
    double lo = 0, hi = 0;
    if (!data) {
        p->l->ir->failed = true;
        return NULL;
    }
    for (int k = 0; k < n; k++) {
        ip_store_number(dtype, data + (size_t)k * size, p->weights.w[k]);
        double stored = ip_load_number(dtype, data + (size_t)k * size);
        lo = fmin(lo, stored);
        hi = fmax(hi, stored);
    }
    if (is_sum_of_whole(p)) hi = INT16_MAX;
    ip_stage *table = ip_stage_table(p->l->ir, dtype, n, data);
    ip_free(data);
    if (table) {
        table->lo = lo;
        table->hi = hi;
    }
    return table;
}

static ip_expr *argument(const ip_weighted *p, int k)
{
    double w = p->weights.w[k];
    return ip_dtype_is_float(p->dtype) ? ip_lower_argument(p->l, p->dtype, w)
                                       : ip_x_param(p->l->ir, p->dtype, w, 0, INT16_MAX);
}

/* The kernel argument or constant of tap k; that of its mirror image when they are known to be equal. */
static ip_expr *weight(const ip_weighted *p, ip_expr **made, int k)
{
    int mirror = tap_count(&p->weights) - 1 - k;
    if (!ip_dtype_is_float(p->dtype) && !p->weights.are_arguments)
        return ip_x_int(p->l->ir, p->dtype, (int64_t)p->weights.w[k]);
    if (p->weights.symmetric && mirror < k) return made[mirror];
    return made[k] = argument(p, k);
}

/* sum + v * weight; sum may be NULL. */
static ip_expr *plus_product(ip_ir *ir, ip_expr *sum, ip_expr *v, ip_expr *weight)
{
    if (!sum) return ip_x_binary(ir, IP_X_MUL, v, weight);
    return ip_dtype_is_float(v->dtype) ? ip_x_fma(ir, weight, v, sum)
                                       : ip_x_binary(ir, IP_X_ADD, sum, ip_x_binary(ir, IP_X_MUL, v, weight));
}

static ip_expr *written_out(const ip_weighted *p)
{
    ip_ir *ir = p->l->ir;
    window w = { p, NULL };
    ip_expr *made[IP_UNROLLED_TAPS], *sum = NULL;
    for (int k = 0; k < tap_count(&p->weights); k++) {
        if (p->weights.w[k] == 0) continue;
        ip_expr *ty = ip_x_int(ir, IMGPAR_I32, k / p->weights.cols),
                *tx = ip_x_int(ir, IMGPAR_I32, k % p->weights.cols);
        ip_expr *v = element(ir, ty, tx, &w), *f = weight(p, made, k);
        sum = plus_product(ir, sum, v, f);
    }
    return sum ? sum : ip_x_number(ir, p->dtype, 0);
}

static ip_expr *middle(const ip_weighted *p, const window *w, ip_expr *sum)
{
    ip_ir *ir = p->l->ir;
    int n = tap_count(&p->weights);
    ip_expr *ty = ip_x_int(ir, IMGPAR_I32, p->weights.rows / 2), *tx = ip_x_int(ir, IMGPAR_I32, p->weights.cols / 2);
    ip_expr *f = w->table ? table_weight(ir, ty, tx, (void *)w) : argument(p, n / 2);
    return plus_product(ir, sum, element(ir, ty, tx, (void *)w), f);
}

static ip_expr *sum_of_pairs(const ip_weighted *p)
{
    ip_ir *ir = p->l->ir;
    int half = tap_count(&p->weights) / 2, n_pairs = is_sum_of_whole(p) ? half + 1 : half;
    window w = { p, NULL };
    ip_expr *sum = NULL;
    if (half > IP_UNROLLED_TAPS / 2) {
        w.table = make_table(p);
        if (!w.table) return ip_x_number(ir, p->dtype, 0);
        int down = p->weights.cols == 1 ? n_pairs : 1, along = p->weights.cols == 1 ? 1 : n_pairs;
        if (is_sum_of_whole(p)) return ip_x_window(ir, IP_FOLD_SUM, down, along, pair_product, NULL, &w);
        return middle(p, &w, ip_x_window(ir, IP_FOLD_FMA, down, along, pair, table_weight, &w));
    }
    for (int k = 0; k < n_pairs; k++) {
        ip_expr *ty = ip_x_int(ir, IMGPAR_I32, k / p->weights.cols),
                *tx = ip_x_int(ir, IMGPAR_I32, k % p->weights.cols);
        sum = plus_product(ir, sum, pair(ir, ty, tx, &w), argument(p, k));
    }
    return is_sum_of_whole(p) ? sum : middle(p, &w, sum);
}

/* The chain as the device computes it, on one value. */
static double chain(const ip_weighted *p, double value)
{
    bool pairs = in_pairs(p);
    int n = pairs ? tap_count(&p->weights) / 2 : tap_count(&p->weights);
    float c = (float)value, f = 0;
    double d = 0;
    for (int k = 0; k < n; k++) {
        f = fmaf((float)p->weights.w[k], pairs ? c + c : c, f);
        d = fma(p->weights.w[k], pairs ? value + value : value, d);
    }
    if (pairs) {
        f = fmaf((float)p->weights.w[n], c, f);
        d = fma(p->weights.w[n], value, d);
    }
    return p->dtype == IMGPAR_F32 ? (double)f : d;
}

/* Whether a function of around() adds up the elements of a window as they are. Times 1 they are what they were, so the
 * sum is the chain's to the bit; and sums within such a function are made once for many taps (ir/window.c, Note
 * [Sliding windows]). */
static bool is_plain_sum(const ip_weighted *p)
{
    bool is_plain =
        p->l->ir->keeps_windows && ip_dtype_is_float(p->dtype) && tap_count(&p->weights) > IP_UNROLLED_INSIDE;
    for (int k = 0; k < tap_count(&p->weights) && is_plain; k++)
        is_plain = p->weights.w[k] == 1;
    return is_plain;
}

ip_expr *ip_weighted_sum(const ip_weighted *p)
{
    if (p->l->coverage) ip_coverage_pass(p->l, chain(p, p->l->coverage->opaque));
    if (is_plain_sum(p))
        return ip_x_window(p->l->ir, IP_FOLD_SUM, p->weights.rows, p->weights.cols, element, NULL,
                           &(window){ p, NULL });
    if (in_pairs(p)) return sum_of_pairs(p);
    if (tap_count(&p->weights) <= IP_UNROLLED_TAPS) return written_out(p);
    window w = { p, make_table(p) };
    if (!w.table) return ip_x_number(p->l->ir, p->dtype, 0);
    if (ip_dtype_is_float(p->dtype))
        return ip_x_window(p->l->ir, IP_FOLD_FMA, p->weights.rows, p->weights.cols, element, table_weight, &w);
    return ip_x_window(p->l->ir, IP_FOLD_SUM, p->weights.rows, p->weights.cols, table_product, NULL, &w);
}

static double stored_as(imgpar_dtype dtype, double value)
{
    const ip_dtype_facts *stored = ip_dtype(dtype);
    return stored->is_float ? value : fmin(fmax(rint(value), stored->minimum), stored->maximum);
}

ip_expr *ip_weighted_cval(const ip_weighted *p)
{
    if (!p->cval) return NULL;
    double sum = 0;
    if (ip_dtype_is_float(p->dtype)) {
        ip_outside outside = ip_lower_outside(p->l);
        for (int c = 0; c < IP_BEYOND_CHANNELS; c++)
            outside.of[c] = chain(p, stored_as(p->stage->dtype, outside.of[c]));
        outside.alpha = chain(p, stored_as(p->stage->dtype, outside.alpha));
        return ip_lower_outside_value(p->l, p->dtype, outside);
    }
    for (int k = 0; k < tap_count(&p->weights); k++)
        sum += p->weights.w[k];
    ip_expr *c = p->cval->dtype == IMGPAR_BOOL ? ip_x_cast(p->l->ir, IMGPAR_U8, p->cval) : p->cval;
    return ip_x_binary(p->l->ir, IP_X_MUL, ip_x_cast(p->l->ir, p->dtype, c),
                       ip_x_int(p->l->ir, p->dtype, (int64_t)sum));
}

imgpar_dtype ip_weighted_dtype(const ip_weights *weights, double lo, double hi, double *least, double *most)
{
    static const imgpar_dtype ladder[] = { IMGPAR_U16, IMGPAR_I16, IMGPAR_I32, IMGPAR_I64 };
    bool negative = false;
    *least = fmin(lo, 0);
    *most = fmax(hi, 0);
    double low = 0, high = 0;
    for (int k = 0; k < tap_count(weights); k++) {
        low += fmin(fmin(weights->w[k] * lo, weights->w[k] * hi), 0);
        high += fmax(fmax(weights->w[k] * lo, weights->w[k] * hi), 0);
        negative = negative || weights->w[k] < 0;
    }
    *least = fmin(*least, low);
    *most = fmax(*most, high);
    for (size_t k = negative ? 1 : 0; k < sizeof ladder / sizeof *ladder; k++)
        if (*least >= ip_dtype(ladder[k])->minimum && *most <= ip_dtype(ladder[k])->maximum && *most < 0x1p62)
            return ladder[k];
    return IMGPAR_F64;
}

/* ---- rounding whole numbers ------------------------------------------------------------------ */

ip_expr *ip_lower_rounded(ip_lower *l, ip_expr *sum, const ip_rounding *r)
{
    ip_ir *ir = l->ir;
    ip_expr *start = ip_x_param(ir, IMGPAR_I32, (double)r->start, 0, INT32_MAX),
            *shift = ip_x_param(ir, IMGPAR_I32, r->shift, 0, 31);
    ip_expr *shifted = ip_x_binary(ir, IP_X_SHR, ip_x_binary(ir, IP_X_ADD, sum, start), shift);
    ip_expr *offset = ip_x_param(ir, IMGPAR_I32, (double)r->offset, INT16_MIN, INT16_MAX);
    return ip_x_saturate(ir, r->dtype, ip_x_binary(ir, IP_X_ADD, shifted, offset));
}

/* ---- rounding a quotient -------------------------------------------------------------------- */

ip_expr *ip_lower_divide_even(ip_lower *l, ip_expr *n, int64_t d)
{
    ip_ir *ir = l->ir;
    imgpar_dtype w = n->dtype;
    if (d == 1) return n;
    ip_expr *one = ip_x_int(ir, w, 1);
    if ((d & (d - 1)) == 0) { /* (n + d/2 - 1 + the quotient's low bit) >> log2 d */
        ip_expr *shift = ip_x_int(ir, w, __builtin_ctzll((unsigned long long)d));
        ip_expr *odd = ip_x_binary(ir, IP_X_AND, ip_x_binary(ir, IP_X_SHR, n, shift), one);
        ip_expr *up = ip_x_binary(ir, IP_X_ADD, ip_x_int(ir, w, d / 2 - 1), odd);
        return ip_x_binary(ir, IP_X_SHR, ip_x_binary(ir, IP_X_ADD, n, up), shift);
    }
    ip_expr *shifted = ip_x_binary(ir, IP_X_ADD, n, ip_x_int(ir, w, d / 2));
    ip_expr *q = ip_x_binary(ir, IP_X_IDIV, shifted, ip_x_int(ir, w, d));
    if (d % 2) return q; /* no ties */
    ip_expr *tie = ip_x_binary(ir, IP_X_EQ, ip_x_binary(ir, IP_X_MUL, q, ip_x_int(ir, w, d)), shifted);
    ip_expr *down = ip_x_binary(ir, IP_X_SUB, q, ip_x_binary(ir, IP_X_AND, q, one));
    return ip_x_select(ir, tie, down, q);
}
