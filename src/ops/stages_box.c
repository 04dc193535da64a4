/* SPDX-License-Identifier: MIT */
/*
 * Stages of filters that treat all neighbours alike: means, erosions, dilations.
 * They are separable; the vertical pass comes first and its stage is extended by
 * the same border rule, which is what extending the input on both axes gives. Only a
 * constant border needs its value carried through the first pass.
 */
#include "ops/infer.h"
#include "ops/lower.h"

#include "base/dtype.h"
#include "ops/coverage.h"
#include "ops/element.h"

#include <math.h>

enum { Y = 1, X = 2 };

/* One pass along an axis: taps values of stage around the element. */
typedef struct pass {
    ip_lower *l;
    ip_stage *stage;
    int axis, radius, border;
    ip_expr *cval;
    imgpar_dtype dtype; /* values are converted to it before they are folded */
} pass;

static ip_expr *tap(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const pass *p = user;
    ip_expr *zero = ip_lower_i32(p->l, 0);
    ip_expr *offset = ip_x_binary(ir, IP_X_SUB, p->axis == Y ? ty : tx, ip_lower_i32(p->l, p->radius));
    ip_expr *x = ip_lower_read_value(p->l, p->stage, zero, p->axis == Y ? offset : zero, p->axis == X ? offset : zero,
                                     p->border, p->cval);
    return ip_x_cast(ir, p->dtype, x);
}

static ip_expr *fold_pass(const pass *p, ip_fold fold)
{
    int taps = 2 * p->radius + 1;
    return ip_x_window(p->l->ir, fold, p->axis == Y ? taps : 1, p->axis == X ? taps : 1, tap, NULL, (void *)p);
}

/* ---- boxblur ------------------------------------------------------------------------- */

/* n times the same number, one after the other. */
static double added_up(double number, int n, imgpar_dtype dtype)
{
    double in_f64 = 0;
    float in_f32 = 0;
    for (int k = 0; k < n; k++) {
        in_f32 += (float)number;
        in_f64 += number;
    }
    return dtype == IMGPAR_F32 ? (double)in_f32 : in_f64;
}

/* What the vertical sum of a column of cval is: added up in the same order where that rounds. */
static ip_expr *column_of_cval(ip_lower *l, ip_expr *cval, int size, imgpar_dtype dtype)
{
    if (!ip_dtype(dtype)->is_float) {
        if (cval->dtype == IMGPAR_BOOL) cval = ip_x_cast(l->ir, IMGPAR_U8, cval);
        return ip_x_binary(l->ir, IP_X_MUL, ip_x_cast(l->ir, dtype, cval), ip_x_int(l->ir, dtype, size));
    }
    ip_outside outside = ip_lower_outside(l);
    for (int c = 0; c < IP_BEYOND_CHANNELS; c++)
        outside.of[c] = added_up(outside.of[c], size, dtype);
    outside.alpha = added_up(outside.alpha, size, dtype);
    return ip_lower_outside_value(l, dtype, outside);
}

/* A pass of floats over a picture whose colours are multiplied by alpha, times 1 / divisor. */
static void follow_opaque(ip_lower *l, int size, imgpar_dtype dtype, int64_t divisor)
{
    if (!l->coverage) return;
    double sum = added_up(l->coverage->opaque, size, dtype), factor = 1.0 / (double)divisor;
    ip_coverage_pass(l, dtype == IMGPAR_F32 ? (double)((float)sum * (float)factor) : sum * factor);
}

/* The input, with colours times alpha where they are weighed: of bytes exactly while sums fit 31 bits, else floats. */
static ip_stage *input_of(ip_lower *l, int64_t n)
{
    enum { LARGEST = 255 * 255 };
    bool is_exact = l->in[0]->dtype == IMGPAR_U8 && (n + 1) * LARGEST <= INT32_MAX;
    return is_exact ? ip_coverage_whole(l, n) : ip_coverage_floats(l, !ip_dtype(l->in[0]->dtype)->is_float);
}

ip_stage *ip_stages_boxblur(ip_lower *l)
{
    int size = (int)ip_param_number(l->node, "size");
    int64_t n = (int64_t)size * size;
    ip_expr *cval;
    if (size == 1) return l->in[0];
    ip_stage *in = input_of(l, n);
    int border = ip_lower_border(l, in->dtype, &cval);
    /* with what is beyond the edges */
    double lo = cval ? fmin(in->lo, cval->lo) : in->lo, hi = cval ? fmax(in->hi, cval->hi) : in->hi;
    imgpar_dtype between = ip_lower_sum_dtype(in->dtype, lo, hi, size, 0);
    imgpar_dtype w = ip_lower_sum_dtype(in->dtype, lo, hi, (double)n, (double)(n / 2));
    bool is_whole = l->coverage && l->coverage->is_whole;
    if (!is_whole) follow_opaque(l, size, between, 1);
    if (!is_whole) follow_opaque(l, size, w, n);
    pass vertical = { l, in, Y, size / 2, border, cval, between };
    ip_stage *sums = ip_lower_stage(l, fold_pass(&vertical, IP_FOLD_SUM), "vertical sums");
    pass horizontal = { l, sums, X, size / 2, border, cval ? column_of_cval(l, cval, size, between) : NULL, w };
    ip_expr *sum = fold_pass(&horizontal, IP_FOLD_SUM);
    return is_whole ? ip_lower_stage(l, sum, "sums") : ip_lower_map(l, ip_lower_mean(l, sum, n));
}

/* ---- erode, dilate ---------------------------------------------------------------------- */

/*
 * Note [Extremes in steps]
 * Let e(s) at i be the extreme over the elements within s of i that lie inside the
 * array. Then e(s + d) at i is the extreme of e(s) at i - d, i and i + d, as long as
 * d <= s + 1, so a window of size n takes log2(n) steps of three reads. At an edge
 * the read of i - d may lie outside: clamped to the edge it reads elements that
 * belong to the window anyway, and the read of i covers what it misses. So every step
 * reads with border replicate. And the replicated, reflected or reflected101 border
 * adds nothing to a window's elements: those rules map a position to one that is no
 * farther from i. With border wrap each step is periodic, so it reads with wrap. A
 * constant border adds its value wherever the window leaves the array: one select at
 * the end.
 */
static ip_expr *reach(ip_lower *l, ip_stage *stage, int axis, int distance, int border)
{
    ip_expr *zero = ip_lower_i32(l, 0), *d = ip_lower_i32(l, distance);
    return ip_lower_read_value(l, stage, zero, axis == Y ? d : zero, axis == X ? d : zero, border, NULL);
}

static ip_expr *step(ip_lower *l, ip_xop op, ip_stage *stage, int axis, int d, int border)
{
    ip_expr *outer = ip_x_binary(l->ir, op, reach(l, stage, axis, -d, border), reach(l, stage, axis, d, border));
    return ip_x_binary(l->ir, op, outer, reach(l, stage, axis, 0, border));
}

/* All steps along an axis; the last one is left as an expression. */
static ip_expr *extreme_along(ip_lower *l, ip_xop op, ip_stage *stage, int axis, int radius, int border)
{
    int have = 0;
    for (;;) {
        int d = have + 1 <= radius - have ? have + 1 : radius - have;
        ip_expr *x = step(l, op, stage, axis, d, border);
        have += d;
        if (have == radius) return x;
        stage = ip_lower_stage(l, x, axis == Y ? "vertical extremes" : "horizontal extremes");
    }
}

/* True where the window reaches beyond an edge along dim. */
static ip_expr *leaves(ip_lower *l, int dim, int radius)
{
    ip_expr *at = ip_lower_coord(l, dim);
    ip_expr *last = ip_x_param(l->ir, IMGPAR_I32, (double)(l->dims[dim] - 1 - radius), INT32_MIN, INT32_MAX);
    ip_expr *before = ip_x_binary(l->ir, IP_X_LT, at, ip_lower_i32(l, radius));
    return ip_x_binary(l->ir, IP_X_OR, before, ip_x_binary(l->ir, IP_X_LT, last, at));
}

ip_stage *ip_stages_extreme(ip_lower *l)
{
    ip_xop op = (ip_xop)l->node->op->variant; /* IP_X_MIN, IP_X_MAX */
    int radius = (int)ip_param_number(l->node, "size") / 2;
    ip_expr *cval;
    if (!ip_element_is_square(l->node)) return ip_stages_element(l, op);
    if (radius == 0) return l->in[0];
    int border = ip_lower_border(l, l->in[0]->dtype, &cval);
    int inner = border == IMGPAR_BORDER_WRAP || ip_is_promise(border) ? border : IMGPAR_BORDER_REPLICATE;
    ip_stage *columns = ip_lower_stage(l, extreme_along(l, op, l->in[0], Y, radius, inner), "vertical extremes");
    ip_expr *x = extreme_along(l, op, columns, X, radius, inner);
    if (cval) {
        if (cval->dtype != x->dtype) cval = ip_x_cast(l->ir, x->dtype, cval);
        ip_expr *outside = ip_x_binary(l->ir, IP_X_OR, leaves(l, Y, radius), leaves(l, X, radius));
        x = ip_x_select(l->ir, outside, ip_x_binary(l->ir, op, x, cval), x);
    }
    return ip_lower_map(l, x);
}
