/* SPDX-License-Identifier: MIT */
/*
 * Stages of weighted filters: convolve, by numbers or by an array, convsep, sobel.
 *
 * A convolution is computed in integers when input, weights, scale and offset
 * allow the exact result, else in floats. It is two passes when its matrix has rank
 * one. Both are decided here, from the numbers given, and told in the row's formula.
 */
#include "ops/infer.h"
#include "ops/regions.h"
#include "ops/weighted.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/coverage.h"

#include <math.h>
#include <string.h>

/* ---- one or two passes ------------------------------------------------------------------- */

/* A kernel as it is computed: column and row of a separable one, or the matrix. */
typedef struct kernel {
    ip_weights pass[2]; /* the vertical one, or the only one, first */
    int n;
} kernel;

/* The value of a whole two-pass or one-pass sum; dtypes[k] is that of pass k. */
static ip_expr *sum_of(ip_lower *l, ip_stage *stage, const kernel *k, const imgpar_dtype dtypes[2])
{
    ip_expr *cval;
    int border = ip_lower_border(l, stage->dtype, &cval);
    ip_weighted first = {
        .l = l, .stage = stage, .border = border, .cval = cval, .dtype = dtypes[0], .weights = k->pass[0]
    };
    if (k->n == 1) return ip_weighted_sum(&first);
    ip_stage *between = ip_lower_stage(l, ip_weighted_sum(&first), "vertical pass");
    ip_weighted second = { .l = l, .stage = between, .border = border, .dtype = dtypes[1], .weights = k->pass[1] };
    second.cval = ip_weighted_cval(&first);
    return ip_weighted_sum(&second);
}

/* The window of a convolution over alpha alone. */
typedef struct window_of_alpha {
    ip_lower *l;
    ip_stage *stage;
    int rows, cols, border;
    ip_expr *cval;
} window_of_alpha;

/* ---- convolve --------------------------------------------------------------------------------- */

/* What a convolution computes: its weights, and sum / scale + offset. */
typedef struct convolution {
    kernel kernel;
    double scale, offset;
    bool whole; /* all weights are */
    imgpar_dtype dtypes[2];
} convolution;

static double greatest_divisor(double a, double b)
{
    while (b != 0) {
        double r = fmod(a, b);
        a = b;
        b = r;
    }
    return a;
}

/* The largest weight's place, or -1 when all are 0. */
static int pivot_of(const ip_weights *m)
{
    int at = -1;
    for (int k = 0; k < m->rows * m->cols; k++)
        if (m->w[k] != 0 && (at < 0 || fabs(m->w[k]) > fabs(m->w[at]))) at = k;
    return at;
}

/* Writes m as column times row, whole numbers staying whole. False: its rank is above one. An element may differ from
 * the product by 4 units in the last place of a double, since decimal fractions are not exact. */
static bool factor(const ip_weights *m, double *column, double *row, bool whole)
{
    int at = pivot_of(m);
    if (at < 0 || m->rows == 1 || m->cols == 1) return false;
    const double *line = m->w + at / m->cols * m->cols;
    double divisor = 0;
    for (int j = 0; j < m->cols; j++)
        divisor = greatest_divisor(divisor, fabs(line[j]));
    for (int j = 0; j < m->cols; j++)
        row[j] = whole ? line[j] / divisor : line[j];
    for (int i = 0; i < m->rows; i++)
        column[i] = m->w[i * m->cols + at % m->cols] / row[at % m->cols];
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->cols; j++)
            if (fabs(column[i] * row[j] - m->w[i * m->cols + j]) > 0x1p-50 * fabs(m->w[i * m->cols + j])) return false;
    return true;
}

/* The same for digits as people type them: the column and row whose product is nearest to m, by least squares in turn.
 * False: the magnitudes of what is left of m sum to more than `most`. */
static bool factor_nearly(const ip_weights *m, double *column, double *row, double most)
{
    enum { TURNS = 8 };
    const int at = pivot_of(m);
    if (at < 0 || m->rows == 1 || m->cols == 1) return false;
    double left = 0;
    memcpy(row, m->w + at / m->cols * m->cols, (size_t)m->cols * sizeof *row);
    for (int turn = 0; turn < TURNS; turn++) {
        double square = 0;
        for (int j = 0; j < m->cols; j++)
            square += row[j] * row[j];
        for (int i = 0; i < m->rows; i++) {
            column[i] = 0;
            for (int j = 0; j < m->cols; j++)
                column[i] += m->w[i * m->cols + j] * row[j] / square;
        }
        square = 0;
        for (int i = 0; i < m->rows; i++)
            square += column[i] * column[i];
        for (int j = 0; j < m->cols; j++) {
            row[j] = 0;
            for (int i = 0; i < m->rows; i++)
                row[j] += m->w[i * m->cols + j] * column[i] / square;
        }
    }
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->cols; j++)
            left += fabs(column[i] * row[j] - m->w[i * m->cols + j]);
    return left <= most;
}

/* What magnitudes of weights may be left out, for a share of what the row promises: 1/4 of a level, of floats 2^-20 of
 * the sum of magnitudes. f64 has digits enough to tell what was meant. */
static double negligible(const ip_lower *l, const ip_weights *m, double scale)
{
    const ip_stage *in = l->in[0];
    const ip_range levels = ip_beyond_range(l->node);
    const double beyond = fmax(fabs(levels.lo), fabs(levels.hi));
    double sum = 0;
    for (int k = 0; k < m->rows * m->cols; k++)
        sum += fabs(m->w[k]);
    if (ip_float_for(in->dtype) == IMGPAR_F64) return 0;
    if (ip_dtype_is_float(in->dtype)) return 0x1p-20 * sum;
    return fabs(scale) / 4 / fmax(fmax(fmax(fabs(in->lo), fabs(in->hi)), 1), beyond);
}

/* The power of two, up to 2^16, that makes all weights whole; 0: none. */
static double whole_scale(const ip_weights *m)
{
    for (double k = 1; k <= 65536; k *= 2) {
        bool all = true;
        for (int i = 0; all && i < m->rows * m->cols; i++)
            all = m->w[i] * k == rint(m->w[i] * k) && fabs(m->w[i] * k) <= 0x1p24;
        if (all) return k;
    }
    return 0;
}

/* Whether sum / scale + offset is whole / whole, with all partial sums in a dtype. */
static bool fits_integers(ip_lower *l, const convolution *c, imgpar_dtype dtypes[2])
{
    const ip_stage *in = l->in[0];
    double shift = c->offset * c->scale, least, most;
    if (!c->whole || ip_dtype_is_float(in->dtype) || c->scale != rint(c->scale) || shift != rint(shift)) return false;
    if (fabs(c->scale) > 0x1p30 || fabs(shift) > 0x1p50) return false;
    double lo = in->lo, hi = in->hi;
    if (ip_param_number(l->node, "border") == IMGPAR_BORDER_CONSTANT) {
        const ip_range beyond = ip_beyond_range(l->node);
        const ip_dtype_facts *facts = ip_dtype(in->dtype);
        lo = fmin(lo, fmin(fmax(rint(beyond.lo), facts->minimum), facts->maximum));
        hi = fmax(hi, fmin(fmax(rint(beyond.hi), facts->minimum), facts->maximum));
    }
    for (int k = 0; k < c->kernel.n; k++) {
        dtypes[k] = ip_weighted_dtype(&c->kernel.pass[k], lo, hi, &least, &most);
        if (ip_dtype_is_float(dtypes[k])) return false;
        lo = least;
        hi = most;
    }
    return true;
}

/* (sum + offset scale) / scale, rounded half to even. */
static ip_expr *scaled_integers(ip_lower *l, const convolution *c, ip_expr *sum)
{
    double shift = c->offset * c->scale;
    double reach = fmax(fabs(sum->lo), fabs(sum->hi)) + fabs(shift) + fabs(c->scale);
    imgpar_dtype w = c->scale == 1 && shift == 0 ? sum->dtype : reach < 0x1p31 ? IMGPAR_I32 : IMGPAR_I64;
    sum = ip_x_binary(l->ir, IP_X_ADD, ip_x_cast(l->ir, w, sum), ip_x_int(l->ir, w, (int64_t)shift));
    if (c->scale < 0) sum = ip_x_binary(l->ir, IP_X_SUB, ip_x_int(l->ir, w, 0), sum);
    return ip_lower_divide_even(l, sum, (int64_t)fabs(c->scale));
}

static bool has_negative_weight(const kernel *k)
{
    for (int i = 0; i < k->n; i++)
        for (int at = 0; at < k->pass[i].rows * k->pass[i].cols; at++)
            if (k->pass[i].w[at] < 0) return true;
    return false;
}

/* Alpha of the picture under a tap of the whole matrix. */
static ip_expr *alpha_under(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const window_of_alpha *w = user;
    ip_lower *l = w->l;
    ip_expr *index[4] = { ip_lower_coord(l, 0), NULL, NULL, ip_lower_i32(l, l->dims[3] - 1) };
    index[1] =
        ip_x_binary(ir, IP_X_ADD, ip_lower_coord(l, 1), ip_x_binary(ir, IP_X_SUB, ty, ip_lower_i32(l, w->rows / 2)));
    index[2] =
        ip_x_binary(ir, IP_X_ADD, ip_lower_coord(l, 2), ip_x_binary(ir, IP_X_SUB, tx, ip_lower_i32(l, w->cols / 2)));
    return ip_x_load(ir, w->stage, index, w->border, w->cval);
}

/* Tells what the sum is in a picture whose colours are multiplied by alpha. */
static ip_expr *covered(ip_lower *l, const convolution *c, ip_stage *in, ip_expr *sum)
{
    const ip_weights *first = &c->kernel.pass[0], *last = &c->kernel.pass[c->kernel.n - 1];
    l->coverage->gain = ip_convolution_gain(l->node);
    l->coverage->offset = c->offset;
    if (!has_negative_weight(&c->kernel)) return sum;
    window_of_alpha w = { .l = l, .stage = in, .rows = first->rows, .cols = last->cols };
    w.border = ip_lower_border(l, in->dtype, &w.cval);
    if (w.cval) w.cval = ip_lower_argument(l, in->dtype, ip_lower_outside(l).alpha);
    ip_expr *least = ip_x_window(l->ir, IP_FOLD_MIN, w.rows, w.cols, alpha_under, NULL, &w);
    ip_expr *full = ip_x_number(l->ir, least->dtype, l->coverage->full);
    l->coverage->is_opaque = ip_x_binary(l->ir, IP_X_LE, full, least);
    return sum;
}

static ip_stage *convolve(ip_lower *l, convolution *c)
{
    bool is_whole = fits_integers(l, c, c->dtypes);
    if (is_whole && !l->coverage)
        return ip_lower_map(l, scaled_integers(l, c, sum_of(l, l->in[0], &c->kernel, c->dtypes)));
    /* In floats the last pass's weights are divided by scale before they are rounded. */
    ip_weights *last = &c->kernel.pass[c->kernel.n - 1];
    int n = last->rows * last->cols;
    double *w = ip_alloc_array((size_t)n, sizeof *w);
    if (!w) {
        ip_fail_memory(l->err, "making a convolution");
        return NULL;
    }
    for (int k = 0; k < n; k++)
        w[k] = last->w[k] / c->scale;
    last->w = w;
    c->dtypes[0] = c->dtypes[1] = ip_float_for(l->in[0]->dtype);
    ip_stage *in = ip_coverage_floats(l, is_whole);
    ip_expr *sum = sum_of(l, in, &c->kernel, c->dtypes);
    if (l->coverage) sum = covered(l, c, in, sum);
    ip_free(w);
    if (l->coverage) return ip_lower_map(l, sum);
    if (c->offset != 0) sum = ip_x_binary(l->ir, IP_X_ADD, sum, ip_lower_argument(l, sum->dtype, c->offset));
    return ip_lower_map(l, sum);
}

ip_stage *ip_stages_convolve(ip_lower *l)
{
    const ip_param *p = ip_param_get(l->node, "matrix");
    int n = p->rows * p->cols;
    convolution c = { .scale = ip_param_number(l->node, "scale"), .offset = ip_param_number(l->node, "offset") };
    ip_weights matrix = { .rows = p->rows, .cols = p->cols, .w = p->numbers };
    double *scaled = ip_alloc_array((size_t)(n + p->rows + p->cols), sizeof *scaled);
    if (!scaled) {
        ip_fail_memory(l->err, "making a convolution");
        return NULL;
    }
    double *column = scaled + n, *row = column + p->rows, k = whole_scale(&matrix);
    if (k != 0) { /* whole weights: (k w) / (k scale) */
        for (int i = 0; i < n; i++)
            scaled[i] = p->numbers[i] * k;
        matrix.w = scaled;
        c.scale *= k;
        c.whole = true;
    }
    c.kernel = (kernel){ { matrix }, 1 };
    if (factor(&matrix, column, row, k != 0) ||
        (k == 0 && factor_nearly(&matrix, column, row, negligible(l, &matrix, c.scale))))
        c.kernel =
            (kernel){ { { .rows = p->rows, .cols = 1, .w = column }, { .rows = 1, .cols = p->cols, .w = row } }, 2 };
    ip_stage *s = convolve(l, &c);
    ip_free(scaled);
    return s;
}

ip_stage *ip_stages_convsep(ip_lower *l)
{
    const ip_param *column = ip_param_get(l->node, "column"), *row = ip_param_get(l->node, "row");
    ip_weights v = { .rows = column->cols, .cols = 1, .w = column->numbers },
               h = { .rows = 1, .cols = row->cols, .w = row->numbers };
    double kv = whole_scale(&v), kh = whole_scale(&h);
    convolution c = { .scale = ip_param_number(l->node, "scale"), .offset = ip_param_number(l->node, "offset") };
    double *w = ip_alloc_array((size_t)(column->cols + row->cols), sizeof *w);
    if (!w) {
        ip_fail_memory(l->err, "making a convolution");
        return NULL;
    }
    c.whole = kv != 0 && kh != 0;
    if (!c.whole) kv = kh = 1;
    for (int i = 0; i < column->cols; i++)
        w[i] = column->numbers[i] * kv;
    for (int i = 0; i < row->cols; i++)
        w[column->cols + i] = row->numbers[i] * kh;
    v.w = w;
    h.w = w + column->cols;
    c.scale *= kv * kh;
    c.kernel = (kernel){ { v, h }, 2 };
    ip_stage *s = convolve(l, &c);
    ip_free(w);
    return s;
}

/* ---- weights that are an array ---------------------------------------------------------------------- */

/* A window of weights that a stage holds. */
typedef struct held_window {
    ip_lower *l;
    ip_stage *stage;
    int64_t sides[3]; /* planes, rows and columns of the weights */
    ip_expr *channel; /* what is read there */
    int border;
    ip_expr *cval;
    imgpar_dtype dtype; /* of the sum */
} held_window;

static int taps_down(const held_window *w) { return (int)(w->sides[0] * w->sides[1]); }

/* The place of a tap within the weights: plane, row and column. */
static void place_of_tap(const held_window *w, ip_expr *ty, ip_expr *tx, ip_expr *place[3])
{
    ip_ir *ir = w->l->ir;
    ip_expr *rows = ip_lower_i32(w->l, w->sides[1]);
    const bool has_planes = w->sides[0] > 1;
    place[0] = has_planes ? ip_x_binary(ir, IP_X_IDIV, ty, rows) : ip_lower_i32(w->l, 0);
    place[1] = has_planes ? ip_x_binary(ir, IP_X_MOD, ty, rows) : ty;
    place[2] = tx;
}

static ip_expr *as_number(ip_ir *ir, imgpar_dtype dtype, ip_expr *x)
{
    return ip_x_cast(ir, dtype, x->dtype == IMGPAR_BOOL ? ip_x_cast(ir, IMGPAR_U8, x) : x);
}

static ip_expr *under_tap(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const held_window *w = user;
    ip_expr *place[3], *index[4];
    place_of_tap(w, ty, tx, place);
    for (int k = 0; k < 3; k++)
        index[k] = ip_x_binary(ir, IP_X_ADD, ip_lower_coord(w->l, k),
                               ip_x_binary(ir, IP_X_SUB, place[k], ip_lower_i32(w->l, w->sides[k] / 2)));
    index[3] = w->channel;
    return as_number(ir, w->dtype, ip_x_load(ir, w->stage, index, w->border, w->cval));
}

static ip_expr *held_weight(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    const held_window *w = user;
    const ip_type *type = &w->l->node->inputs[1]->type;
    ip_expr *place[3], *index[4];
    place_of_tap(w, ty, tx, place);
    for (int k = 0; k < 4; k++)
        index[k] = ip_lower_i32(w->l, 0);
    const bool has_planes = ip_convolution_has_planes(w->l->node);
    for (int k = 0; k < 3; k++)
        index[has_planes ? ip_type_axis_dim(type, k) : k] = place[k];
    return as_number(ir, w->dtype, ip_x_load(ir, w->l->in[1], index, IP_BORDER_NONE, NULL));
}

static ip_expr *held_product(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    return ip_x_binary(ir, IP_X_MUL, under_tap(ir, ty, tx, user), held_weight(ir, ty, tx, user));
}

static ip_expr *held_magnitude(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user)
{
    return ip_x_unary(ir, IP_X_ABS, held_weight(ir, ty, tx, user));
}

/* The dtype of exact sums; a float where there are none. */
static imgpar_dtype held_sum_dtype(ip_lower *l, const held_window *w, const convolution *c)
{
    const ip_stage *in = l->in[0], *weights = l->in[1];
    const double shift = c->offset * c->scale, n = (double)taps_down(w) * (double)w->sides[2];
    const ip_dtype_facts *a = ip_dtype(in->dtype), *b = ip_dtype(weights->dtype);
    const bool is_wide = ip_float_for(weights->dtype) == IMGPAR_F64 || ip_float_for(in->dtype) == IMGPAR_F64;
    const imgpar_dtype f = is_wide ? IMGPAR_F64 : IMGPAR_F32;
    double lo = in->lo, hi = in->hi;
    if (a->is_float || b->is_float || a->size_bytes > 4 || b->size_bytes > 4) return f;
    if (c->scale != rint(c->scale) || shift != rint(shift)) return f;
    if (fabs(c->scale) > 0x1p30 || fabs(shift) > 0x1p50) return f;
    if (w->cval) {
        lo = fmin(lo, w->cval->lo);
        hi = fmax(hi, w->cval->hi);
    }
    const double most = n * fmax(fabs(lo), fabs(hi)) * fmax(fabs(weights->lo), fabs(weights->hi));
    return most < 0x1p31 ? IMGPAR_I32 : most < 0x1p62 ? IMGPAR_I64 : f;
}

/* The sum of the weights over scale, an element of a stage of its own; 0 where it is a difference. */
static ip_expr *sum_of_held(ip_lower *l, held_window *w, double scale)
{
    static const int64_t one[4] = { 1, 1, 1, 1 };
    ip_ir *ir = l->ir;
    ip_expr *zero = ip_x_number(ir, w->dtype, 0), *index[4];
    ip_expr *sum = ip_x_window(ir, IP_FOLD_SUM, taps_down(w), (int)w->sides[2], held_weight, NULL, w);
    ip_expr *magnitude = ip_x_window(ir, IP_FOLD_SUM, taps_down(w), (int)w->sides[2], held_magnitude, NULL, w);
    ip_expr *least =
        ip_x_binary(ir, IP_X_MUL, magnitude, ip_x_number(ir, w->dtype, w->dtype == IMGPAR_F32 ? 0x1p-18 : 0x1p-40));
    ip_expr *is_none = ip_x_binary(ir, IP_X_LE, ip_x_unary(ir, IP_X_ABS, sum), least);
    sum = ip_x_binary(ir, IP_X_DIV, ip_x_select(ir, is_none, zero, sum), ip_lower_argument(l, w->dtype, scale));
    ip_stage *stage = ip_lower_stage_sized(l, one, w->dtype, sum, "sum of the weights");
    for (int k = 0; k < 4; k++)
        index[k] = ip_lower_i32(l, 0);
    return stage ? ip_x_load(ir, stage, index, IP_BORDER_NONE, NULL) : zero;
}

/* Where all that is read is opaque, and what the weights sum up to. */
static void cover_held(ip_lower *l, const convolution *c, held_window *w)
{
    held_window alpha = *w;
    alpha.channel = ip_lower_i32(l, l->dims[3] - 1);
    if (alpha.cval) alpha.cval = ip_lower_argument(l, w->stage->dtype, ip_lower_outside(l).alpha);
    ip_expr *least = ip_x_window(l->ir, IP_FOLD_MIN, taps_down(w), (int)w->sides[2], under_tap, NULL, &alpha);
    ip_expr *full = ip_x_number(l->ir, least->dtype, l->coverage->full);
    l->coverage->is_opaque = ip_x_binary(l->ir, IP_X_LE, full, least);
    l->coverage->offset = c->offset;
    l->coverage->total = sum_of_held(l, w, c->scale);
}

ip_stage *ip_stages_convolve_by(ip_lower *l)
{
    const convolution c = { .scale = ip_param_number(l->node, "scale"), .offset = ip_param_number(l->node, "offset") };
    held_window w = { .l = l };
    if (!l->in[0] || !l->in[1]) return NULL;
    ip_convolution_sides(l->node, w.sides);
    w.stage = ip_coverage_floats(l, true);
    w.channel = ip_lower_coord(l, 3);
    w.border = ip_lower_border(l, w.stage->dtype, &w.cval);
    w.dtype = held_sum_dtype(l, &w, &c);
    const int down = taps_down(&w), along = (int)w.sides[2];
    if (!ip_dtype_is_float(w.dtype) && !l->coverage) {
        ip_expr *sum = ip_x_window(l->ir, IP_FOLD_SUM, down, along, held_product, NULL, &w);
        return ip_lower_map(l, scaled_integers(l, &c, sum));
    }
    if (!ip_dtype_is_float(w.dtype)) w.dtype = w.stage->dtype;
    ip_expr *sum = ip_x_window(l->ir, IP_FOLD_FMA, down, along, under_tap, held_weight, &w);
    if (c.scale != 1) sum = ip_x_binary(l->ir, IP_X_DIV, sum, ip_lower_argument(l, w.dtype, c.scale));
    if (l->coverage) cover_held(l, &c, &w);
    if (l->coverage) return ip_lower_map(l, sum);
    if (c.offset != 0) sum = ip_x_binary(l->ir, IP_X_ADD, sum, ip_lower_argument(l, w.dtype, c.offset));
    return ip_lower_map(l, sum);
}

/* ---- sobel ---------------------------------------------------------------------------------------- */

static const double smooth[] = { 1, 2, 1 }, slope[] = { -1, 0, 1 };

/* The derivative along x: smoothed vertically, then differences horizontally; along y the other way round. */
static ip_expr *derivative(ip_lower *l, bool along_x)
{
    ip_stage *in = l->in[0];
    imgpar_dtype dtypes[2];
    kernel k = { { { .rows = 3, .cols = 1, .w = along_x ? smooth : slope },
                   { .rows = 1, .cols = 3, .w = along_x ? slope : smooth } },
                 2 };
    convolution c = { .kernel = k, .scale = 1, .whole = true };
    if (ip_dtype_is_float(in->dtype) || !fits_integers(l, &c, dtypes)) dtypes[0] = dtypes[1] = ip_float_for(in->dtype);
    return sum_of(l, in, &k, dtypes);
}

/* n to the nearest whole root, for whole n: k where k k - k < n <= k k + k. The device's sqrt is within one. */
static ip_expr *whole_root(ip_lower *l, ip_expr *n)
{
    ip_ir *ir = l->ir;
    ip_expr *near = ip_x_saturate(ir, IMGPAR_I32, ip_x_unary(ir, IP_X_SQRT, ip_x_cast(ir, IMGPAR_F32, n)));
    ip_expr *k = ip_x_cast(ir, IMGPAR_I64, near), *one = ip_x_int(ir, IMGPAR_I64, 1),
            *zero = ip_x_int(ir, IMGPAR_I64, 0);
    ip_expr *square = ip_x_binary(ir, IP_X_MUL, k, k);
    ip_expr *above = ip_x_binary(ir, IP_X_LT, ip_x_binary(ir, IP_X_ADD, square, k), n);
    ip_expr *below = ip_x_binary(ir, IP_X_AND, ip_x_binary(ir, IP_X_LT, zero, k),
                                 ip_x_binary(ir, IP_X_LE, n, ip_x_binary(ir, IP_X_SUB, square, k)));
    ip_expr *lower = ip_x_select(ir, below, ip_x_binary(ir, IP_X_SUB, k, one), k);
    return ip_x_select(ir, above, ip_x_binary(ir, IP_X_ADD, k, one), lower);
}

static ip_expr *magnitude(ip_lower *l, ip_expr *dx, ip_expr *dy)
{
    ip_ir *ir = l->ir;
    size_t size = ip_dtype(l->in[0]->dtype)->size_bytes;
    if (ip_dtype_is_float(dx->dtype) || size > 2) {
        imgpar_dtype f = ip_float_for(l->in[0]->dtype);
        ip_expr *x = ip_x_cast(ir, f, dx), *y = ip_x_cast(ir, f, dy);
        return ip_x_unary(ir, IP_X_SQRT, ip_x_fma(ir, x, x, ip_x_binary(ir, IP_X_MUL, y, y)));
    }
    imgpar_dtype w = size == 1 ? IMGPAR_I32 : IMGPAR_I64;
    ip_expr *x = ip_x_cast(ir, w, dx), *y = ip_x_cast(ir, w, dy);
    ip_expr *n = ip_x_binary(ir, IP_X_ADD, ip_x_binary(ir, IP_X_MUL, x, x), ip_x_binary(ir, IP_X_MUL, y, y));
    /* Below 2^22 no root of a whole number lies so near to a half that 3 units in the last place matter. */
    return size == 1 ? ip_x_unary(ir, IP_X_SQRT, ip_x_cast(ir, IMGPAR_F32, n)) : whole_root(l, n);
}

ip_stage *ip_stages_sobel(ip_lower *l)
{
    int axis = (int)ip_param_number(l->node, "axis");
    if (axis != IP_SOBEL_MAGNITUDE) return ip_lower_map(l, derivative(l, axis == IP_SOBEL_X));
    return ip_lower_map(l, magnitude(l, derivative(l, true), derivative(l, false)));
}
