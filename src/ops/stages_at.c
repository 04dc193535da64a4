/* SPDX-License-Identifier: MIT */
/*
 * Stages of at() and at3d(): an image, or a volume, read at computed positions, by the kernels of
 * ops/interpolation.h. Of a volume samples are made along z first, then as of an image.
 *
 * Note [Separable positions]
 * Where an element's row follows from its row alone and its column from its column alone, as in at(a, y / 2, x / 2),
 * reading between pixels is resampling along one axis after the other: a pass along columns, then one along rows, which
 * is the order of the formula, so values are the same to the bit. The positions are evaluated here, once for each row
 * and column, into tables. So what is behind lowering sees what it sees of a resize: producers of another height and
 * width, whose rows may be kept, and columns from a list. Of rows that are much longer than what is read of them the
 * first pass would compute too much; then positions are computed where they are read.
 */
#include "ops/coverage.h"
#include "ops/infer.h"
#include "ops/interpolation.h"
#include "ops/lower.h"

#include "base/dtype.h"
#include "ir/index_map.h"

#include <math.h>
#include <string.h>

enum { Y = 1, X = 2 };

static ip_expr *add(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_ADD, a, b); }
static ip_expr *sub(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_SUB, a, b); }

enum { OWN = -1 };

/* What is read, and how beyond its edges. */
typedef struct reading {
    ip_stage *stage;
    int border;
    ip_expr *cval;
} reading;

static const double far_away = 0x1p30; /* positions are limited to it, so that neighbours stay in 32 bits */

/* v as an i32 that is not far away; of floats floor(v + shift). */
static ip_expr *position(ip_lower *l, ip_expr *v, double shift)
{
    imgpar_dtype f = ip_float_for(v->dtype);
    if (!ip_dtype(v->dtype)->is_float) {
        if (ip_dtype(v->dtype)->size_bytes < 4) return ip_x_cast(l->ir, IMGPAR_I32, v);
        v = ip_x_saturate(l->ir, IMGPAR_I32, v);
        v = ip_x_binary(l->ir, IP_X_MAX, v, ip_lower_i32(l, -(int64_t)far_away));
        return ip_x_binary(l->ir, IP_X_MIN, v, ip_lower_i32(l, (int64_t)far_away));
    }
    if (shift != 0) v = add(l, v, ip_x_float(l->ir, f, shift));
    v = ip_x_unary(l->ir, IP_X_FLOOR, v);
    v = ip_x_binary(l->ir, IP_X_MIN, ip_x_binary(l->ir, IP_X_MAX, v, ip_x_float(l->ir, f, -far_away)),
                    ip_x_float(l->ir, f, far_away));
    return ip_x_saturate(l->ir, IMGPAR_I32, v);
}

/* In the element's channel, or in one that is given; z: NULL of a picture, which is read in the element's plane. */
static ip_expr *read_at(ip_lower *l, ip_expr *z, ip_expr *y, ip_expr *x, int64_t channel, const reading *r)
{
    const ip_stage *a = r->stage;
    if (!z) z = a->dims[0] == l->dims[0] ? ip_lower_coord(l, 0) : ip_lower_i32(l, 0);
    ip_expr *c = channel >= 0 ? ip_lower_i32(l, channel) : a->dims[3] == 1 ? ip_lower_i32(l, 0) : ip_lower_coord(l, 3);
    ip_expr *const index[4] = { z, y, x, c };
    return ip_x_load(l->ir, r->stage, index, r->border, r->cval);
}

/* The part of v behind the point, 0 for integers. */
static ip_expr *fraction(ip_lower *l, ip_expr *v, imgpar_dtype w)
{
    if (!ip_dtype(v->dtype)->is_float) return ip_x_number(l->ir, w, 0);
    return ip_x_cast(l->ir, w, sub(l, v, ip_x_unary(l->ir, IP_X_FLOOR, v)));
}

static ip_expr *number_read(ip_lower *l, imgpar_dtype w, ip_expr *x)
{
    return ip_x_cast(l->ir, w, x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x);
}

/* ---- samples ------------------------------------------------------------------------------------ */

enum { MOST_TAPS = 2 * IP_MOST_RADIUS };

/* Taps along an axis, tap 0 first, which has no weight: ops/interpolation.h, Note [Weights of a fraction]. Those whose
 * weight is known to be 0 are left out. */
typedef struct taps {
    int n, number[MOST_TAPS];
    ip_expr *weight[MOST_TAPS];
} taps;

static taps taps_of(ip_lower *l, const ip_interpolation *kernel, ip_expr *fraction)
{
    taps t = { .n = 1 };
    for (int k = 1 - kernel->radius; k <= kernel->radius; k++) {
        double known;
        ip_expr *weight = k == 0 ? NULL : ip_interpolation_weight_at(l->ir, kernel, k, fraction);
        if (!weight || (ip_x_is_const(weight, &known) && known == 0)) continue;
        t.number[t.n] = k;
        t.weight[t.n++] = weight;
    }
    return t;
}

/* Of the values of the taps. */
static ip_expr *sample(ip_lower *l, const taps *t, ip_expr *const *values)
{
    ip_expr *sum = values[0];
    for (int k = 1; k < t->n; k++)
        sum = ip_x_fma(l->ir, sub(l, values[k], values[0]), t->weight[k], sum);
    return sum;
}

/* From the pixel before a position to a tap. On a pixel those that have no weight are not needed, so that where it is
 * promised that nothing outside is read, pixels at the edges keep it. */
static ip_expr *step_to(ip_lower *l, const ip_interpolation *kernel, int tap, ip_expr *fraction, const reading *r)
{
    ip_expr *step = ip_lower_i32(l, tap);
    if (!ip_is_promise(r->border) || ip_interpolation_weight(kernel, tap, 0) != 0) return step;
    ip_expr *zero = ip_x_number(l->ir, fraction->dtype, 0);
    ip_expr *is_between = ip_x_cast(l->ir, IMGPAR_I32, ip_x_binary(l->ir, IP_X_LT, zero, fraction));
    return tap == 1 ? is_between : ip_x_binary(l->ir, IP_X_MUL, is_between, step);
}

/* Where the taps of a position lie. */
static taps taps_at(ip_lower *l, const ip_interpolation *kernel, ip_expr *v, const reading *r, ip_expr *at[MOST_TAPS])
{
    ip_expr *f = fraction(l, v, ip_float_for(l->in[0]->dtype));
    taps t = taps_of(l, kernel, f);
    at[0] = position(l, v, 0);
    for (int k = 1; k < t.n; k++)
        at[k] = add(l, at[0], step_to(l, kernel, t.number[k], f, r));
    return t;
}

/* The sample along z, at what is given of y and x; *least, where it is asked for: the least of what is read. */
static ip_expr *of_planes(ip_lower *l, const taps *planes, ip_expr *const *plane, ip_expr *y, ip_expr *x,
                          int64_t channel, const reading *r, ip_expr **least)
{
    imgpar_dtype w = ip_float_for(l->in[0]->dtype);
    ip_expr *values[MOST_TAPS];
    for (int i = 0; i < planes->n; i++) {
        values[i] = number_read(l, w, read_at(l, plane[i], y, x, channel, r));
        if (least) *least = *least ? ip_x_binary(l->ir, IP_X_MIN, *least, values[i]) : values[i];
    }
    return sample(l, planes, values);
}

/* Between the elements around a place, of which z is NULL in pictures; *least, where it is asked for: the least of
 * these. */
static ip_expr *between(ip_lower *l, const ip_interpolation *kernel, ip_expr *const place[3], int64_t channel,
                        const reading *r, ip_expr **least)
{
    ip_expr *plane[MOST_TAPS] = { NULL }, *row[MOST_TAPS], *column[MOST_TAPS], *of_rows[MOST_TAPS],
            *of_columns[MOST_TAPS];
    const taps own = { .n = 1 }, planes = place[0] ? taps_at(l, kernel, place[0], r, plane) : own,
               rows = taps_at(l, kernel, place[Y], r, row), columns = taps_at(l, kernel, place[X], r, column);
    for (int i = 0; i < columns.n; i++) {
        for (int j = 0; j < rows.n; j++)
            of_rows[j] = of_planes(l, &planes, plane, row[j], column[i], channel, r, least);
        of_columns[i] = sample(l, &rows, of_rows);
    }
    return sample(l, &columns, of_columns);
}

/* ---- separable positions ----------------------------------------------------------------------- */

/* The positions of n elements along one axis: at[i] and, as a table, the parts behind the point. */
typedef struct positions {
    int64_t n;
    int32_t *at;
    ip_span span;
    ip_stage *fraction;
} positions;

/* Maps that are read are written out, as inlining would, `depth` of them one within the other. A fold along an axis is
 * levels of maps, 16 loads in each, so all of them share a budget of expressions: 0 where something is left that is
 * not known before it runs. */
typedef struct writing {
    int depth, *budget;
} writing;

static bool may_be_written(ip_ir *ir, const ip_expr *load, const writing *w)
{
    enum { LARGE = 64 };
    return load->border == IP_BORDER_NONE && load->source->kind == IP_STAGE_MAP && load->source->dtype != IMGPAR_F16 &&
           w->depth > 0 && ip_x_size(ir, load->source->body) <= LARGE;
}

static ip_expr *written_out(ip_ir *ir, ip_expr *x, void *user)
{
    const writing *w = user;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || *w->budget == 0) return x;
    int size = may_be_written(ir, x, w) ? ip_x_size(ir, x->source->body) : *w->budget;
    *w->budget -= size < *w->budget ? size : *w->budget;
    if (*w->budget == 0) return x;
    ip_expr *body = ip_x_put_coords(ir, x->source->body, x->arg);
    return ip_x_map(ir, body, written_out, &(writing){ w->depth - 1, w->budget });
}

static ip_span hull(ip_span a, int64_t i) { return (ip_span){ i < a.lo ? i : a.lo, i > a.hi ? i : a.hi }; }

/* Evaluates v, floats that depend on the axis alone; false: they depend on more, or on what is not known before it
 * runs. */
static bool list_positions(ip_lower *l, ip_expr *v, int axis, positions *p)
{
    enum { DEPTH = 8, MOST_EXPRESSIONS = 4000 };
    imgpar_dtype w = ip_float_for(l->in[0]->dtype);
    int budget = MOST_EXPRESSIONS;
    if (!ip_dtype(v->dtype)->is_float) return false;
    v = ip_x_map(l->ir, v, written_out, &(writing){ DEPTH, &budget });
    if (budget == 0 || v->uses & ~(1u << axis)) return false;
    *p = (positions){ .n = l->dims[axis], .span = { INT32_MAX, INT32_MIN } };
    p->at = ip_ir_alloc(l->ir, (size_t)p->n, sizeof *p->at);
    char *fractions = ip_ir_alloc(l->ir, (size_t)p->n, ip_dtype(w)->size_bytes);
    for (int64_t i = 0; i < p->n && !l->ir->failed; i++) {
        int64_t place[4] = { 0 };
        double at;
        place[axis] = i;
        if (!ip_index_number(v, place, &at)) return false;
        p->at[i] = (int32_t)fmin(fmax(floor(at), -far_away), far_away);
        p->span = hull(p->span, p->at[i]);
        ip_store_number(w, fractions + (size_t)i * ip_dtype(w)->size_bytes,
                        v->dtype == IMGPAR_F32 ? (double)(float)(at - floor(at)) : at - floor(at));
    }
    p->fraction = p->n > 0 && !l->ir->failed ? ip_stage_table(l->ir, w, p->n, fractions) : NULL;
    if (!p->fraction) return false;
    p->fraction->lo = 0;
    p->fraction->hi = 1;
    return true;
}

static ip_expr *in_table(ip_lower *l, const int32_t *values, int64_t n, ip_span range, ip_expr *i)
{
    ip_stage *table = ip_stage_table(l->ir, IMGPAR_I32, n, values);
    if (!table) return i;
    table->lo = (double)range.lo;
    table->hi = (double)range.hi;
    return ip_table_at(l->ir, table, i);
}

/* The pass along columns: each is read between rows. */
static ip_stage *between_rows(ip_lower *l, const ip_interpolation *kernel, const positions *p, const reading *r)
{
    const ip_stage *a = r->stage;
    const int64_t dims[4] = { a->dims[0] == 1 ? 1 : l->dims[0], l->dims[Y], a->dims[X], a->dims[3] };
    const bool is_inside = p->span.lo + 1 - kernel->radius >= 0 && p->span.hi + kernel->radius < a->dims[Y];
    const ip_span range =
        is_inside ? (ip_span){ 0, a->dims[Y] - 1 } : (ip_span){ -(int64_t)far_away, (int64_t)far_away };
    imgpar_dtype w = ip_float_for(l->in[0]->dtype);
    ip_expr *index[4], *v[MOST_TAPS];
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_coord(l->ir, k, dims[k]);
    ip_expr *y = index[Y], *first = in_table(l, p->at, p->n, range, y);
    const taps t = taps_of(l, kernel, ip_table_at(l->ir, p->fraction, y));
    for (int k = 0; k < t.n; k++) {
        index[Y] = add(l, first, ip_lower_i32(l, k == 0 ? 0 : t.number[k]));
        v[k] = number_read(l, w, ip_x_load(l->ir, r->stage, index, is_inside ? IP_BORDER_NONE : r->border, NULL));
    }
    return ip_lower_stage_sized(l, dims, w, sample(l, &t, v), "vertical pass");
}

/* The column of a tap, of those that an element lies between: inside, by the border rule. */
static ip_expr *column(ip_lower *l, const positions *p, int tap, const reading *r)
{
    const int64_t n = r->stage->dims[X];
    int32_t *inside = ip_ir_alloc(l->ir, (size_t)p->n, sizeof *inside);
    for (int64_t i = 0; inside && i < p->n; i++)
        inside[i] = (int32_t)ip_border_span(r->border, (ip_span){ p->at[i] + tap, p->at[i] + tap }, n).lo;
    ip_expr *x = ip_x_coord(l->ir, X, l->dims[X]);
    return inside ? in_table(l, inside, p->n, (ip_span){ 0, n - 1 }, x) : x;
}

/* Both passes; false: they do not fit, or do not pay. */
static bool read_in_passes(ip_lower *l, const ip_interpolation *kernel, ip_expr *y, ip_expr *x, const reading *r,
                           ip_expr *result[2])
{
    enum { PART = 2 };
    positions rows, columns;
    if (r->border == IMGPAR_BORDER_CONSTANT || ip_is_promise(r->border) || !list_positions(l, y, Y, &rows) ||
        !list_positions(l, x, X, &columns) || columns.span.hi - columns.span.lo + 1 > PART * columns.n)
        return false;
    if (l->coverage && kernel->has_negatives) return false; /* the least alpha is asked for */
    reading made = { .stage = between_rows(l, kernel, &rows, r), .border = IP_BORDER_NONE };
    if (!made.stage) return false;
    ip_expr *own = ip_lower_coord(l, Y), *part = ip_table_at(l->ir, columns.fraction, ip_x_coord(l->ir, X, l->dims[X]));
    ip_expr *at[MOST_TAPS], *v[MOST_TAPS];
    const taps t = taps_of(l, kernel, part);
    const int64_t channels[2] = { OWN, r->stage->dims[3] - 1 };
    for (int k = 0; k < t.n; k++)
        at[k] = column(l, &columns, k == 0 ? 0 : t.number[k], r);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < t.n; k++)
            v[k] = read_at(l, NULL, own, at[k], channels[i], &made);
        result[i] = sample(l, &t, v);
    }
    return true;
}

/* ---- the row ------------------------------------------------------------------------------------ */

/* In the own channel, and alpha, where that counts. */
static void read_at_once(ip_lower *l, const ip_interpolation *kernel, ip_expr *const place[3], const reading *r,
                         ip_expr *result[2])
{
    reading of_alpha = *r;
    ip_expr *least = NULL;
    result[0] = between(l, kernel, place, OWN, r, NULL);
    if (!l->coverage) return;
    if (r->cval) of_alpha.cval = ip_lower_argument(l, r->stage->dtype, ip_lower_outside(l).alpha);
    result[1] = between(l, kernel, place, l->in[0]->dims[3] - 1, &of_alpha, kernel->has_negatives ? &least : NULL);
    if (!least) return;
    l->coverage->is_opaque = ip_x_binary(l->ir, IP_X_LE, ip_x_number(l->ir, least->dtype, l->coverage->full), least);
}

/* The element that is nearest to a place. */
static ip_expr *nearest(ip_lower *l, ip_expr *const place[3], const reading *r)
{
    ip_expr *z = place[0] ? position(l, place[0], 0.5) : NULL;
    return read_at(l, z, position(l, place[Y], 0.5), position(l, place[X], 0.5), OWN, r);
}

ip_stage *ip_stages_at(ip_lower *l)
{
    const int n = l->node->n_inputs;
    ip_expr *place[3] = { NULL }, *values[2]; /* of the own channel, and of the last */
    const ip_interpolation *kernel = ip_interpolation_of((ip_at_filter)ip_param_number(l->node, "filter"));
    reading r = { .stage = ip_coverage_floats(l, false) };
    for (int k = 1; k < n; k++)
        if (!l->in[k]) return NULL;
    if (!r.stage) return NULL;
    for (int k = 1; k < n; k++)
        place[3 - n + k] = ip_lower_value(l, k);
    r.border = ip_lower_border(l, r.stage->dtype, &r.cval);
    if (!kernel) return ip_lower_map(l, nearest(l, place, &r));
    if (place[0] || !read_in_passes(l, kernel, place[Y], place[X], &r, values))
        read_at_once(l, kernel, place, &r, values);
    if (l->coverage)
        l->coverage->weight = values[1]; /* alpha where the colour is read: channels may have places of their own */
    return ip_lower_map(l, values[0]);
}
