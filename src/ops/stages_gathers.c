/* SPDX-License-Identifier: MIT */
/* Reads at places given by arrays or lists. */
#include "ops/coverage.h"
#include "ops/infer.h"
#include "ops/view.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <math.h>
#include <string.h>

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }

/* An index of any integer dtype as i32, cut to its range. */
static ip_expr *as_index(ip_lower *l, ip_expr *x)
{
    if (x->dtype == IMGPAR_BOOL) x = ip_x_cast(l->ir, IMGPAR_U8, x);
    return ip_x_saturate(l->ir, IMGPAR_I32, x);
}

/*
 * An index along n elements, read with a border. Where the dtype holds more than i32 and the border repeats the
 * elements, it is taken inside before it is cut: which of them it reads depends on all its bits.
 */
static ip_expr *index_along(ip_lower *l, ip_expr *x, int64_t n, int border)
{
    const bool mirrors = border == IMGPAR_BORDER_REFLECT || border == IMGPAR_BORDER_REFLECT101;
    const bool fits = x->dtype == IMGPAR_BOOL || ip_dtype(x->dtype)->maximum <= INT32_MAX;
    if (fits || (!mirrors && border != IMGPAR_BORDER_WRAP)) return as_index(l, x);
    const int64_t turn = !mirrors ? n : border == IMGPAR_BORDER_REFLECT ? 2 * n : 2 * n - 2;
    ip_expr *period = ip_x_param(l->ir, x->dtype, (double)ip_max(turn, 1), 1, 2.0 * INT32_MAX);
    ip_expr *i = binary(l, IP_X_MOD, x, period), *back = binary(l, IP_X_SUB, period, i);
    if (border == IMGPAR_BORDER_REFLECT) back = binary(l, IP_X_SUB, back, ip_x_int(l->ir, x->dtype, 1));
    return as_index(l, mirrors ? binary(l, IP_X_MIN, i, back) : i);
}

/* ---- take, take_along_axis, lut ---------------------------------------------------------------------------------- */

/* a at indices along an axis. The axes of indices stand in the place of that one; or they are those of a, of which they
 * may have one element for all. */
static ip_stage *taken(ip_lower *l, bool is_along)
{
    const ip_type *a = &l->node->inputs[0]->type, *indices = &l->node->inputs[1]->type;
    ip_expr *at[4], *from[IP_MAX_AXES] = { NULL }, *cval;
    ip_error ignored = { .status = IMGPAR_OK };
    int axis = 0;
    if (!l->in[0] || !l->in[1]) return NULL;
    ip_axis_param(l->node, a->rank, &axis, &ignored);
    const int border = ip_lower_border(l, l->in[0]->dtype, &cval), shift = is_along ? 0 : indices->rank - 1;
    for (int k = 0; k < indices->rank; k++)
        if (!is_along || indices->shape[k] != 1) from[k] = ip_axis_coord(l, is_along ? k : axis + k);
    for (int d = 0; d < 4; d++)
        at[d] = ip_lower_i32(l, 0);
    for (int k = 0; k < a->rank; k++)
        if (k != axis) at[ip_type_axis_dim(a, k)] = ip_axis_coord(l, k < axis ? k : k + shift);
    const int dim = ip_type_axis_dim(a, axis);
    at[dim] = index_along(l, ip_view_read(l, 1, from), l->in[0]->dims[dim], border);
    return ip_lower_map(l, ip_x_load(l->ir, l->in[0], at, border, cval));
}

ip_stage *ip_stages_take(ip_lower *l) { return taken(l, false); }
ip_stage *ip_stages_take_along_axis(ip_lower *l) { return taken(l, true); }

ip_stage *ip_stages_lut(ip_lower *l)
{
    const ip_type *table = &l->node->inputs[1]->type;
    ip_expr *at[4];
    if (!l->in[0] || !l->in[1]) return NULL;
    for (int d = 0; d < 4; d++)
        at[d] = ip_lower_i32(l, 0);
    at[ip_type_axis_dim(table, 0)] = as_index(l, ip_lower_in(l, 0));
    if (table->rank == 2) at[ip_type_axis_dim(table, 1)] = ip_lower_coord(l, 3);
    return ip_lower_map(l, ip_x_load(l->ir, l->in[1], at, IMGPAR_BORDER_REPLICATE, NULL));
}

/* ---- searchsorted ------------------------------------------------------------------------------- */

/* The edge at position minus 1. */
static ip_expr *edge_before(ip_lower *l, ip_expr *position)
{
    ip_expr *at[4];
    for (int d = 0; d < 4; d++)
        at[d] = ip_lower_i32(l, 0);
    at[2] = binary(l, IP_X_SUB, position, ip_lower_i32(l, 1));
    ip_expr *x = ip_x_load(l->ir, l->in[0], at, IMGPAR_BORDER_REPLICATE, NULL);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}

/* Whether a stands before the edge e; NaN behind all numbers. is_left: or beside it. */
static ip_expr *stands_before(ip_lower *l, ip_expr *a, ip_expr *e, imgpar_dtype dtype, bool is_left)
{
    ip_expr *before = is_left ? ip_x_unary(l->ir, IP_X_NOT, ip_lower_compare(l, IP_X_LT, dtype, e, a))
                              : ip_lower_compare(l, IP_X_LT, dtype, a, e);
    if (!ip_dtype(dtype)->is_float) return before;
    a = ip_x_cast(l->ir, dtype, a);
    e = ip_x_cast(l->ir, dtype, e);
    ip_expr *a_number = binary(l, IP_X_EQ, a, a), *e_number = binary(l, IP_X_EQ, e, e);
    ip_expr *e_nan = ip_x_unary(l->ir, IP_X_NOT, e_number);
    if (is_left) return binary(l, IP_X_AND, before, binary(l, IP_X_OR, a_number, e_nan));
    return binary(l, IP_X_OR, before, binary(l, IP_X_AND, a_number, e_nan));
}

/* By halves: all edges before `found` are before a; a power of two more are tried at a time. */
ip_stage *ip_stages_searchsorted(ip_lower *l)
{
    const int64_t n = l->in[0]->dims[2];
    const bool is_left = ip_param_number(l->node, "side") == 0;
    imgpar_dtype dtype = ip_infer_common_dtype(l->node);
    if (dtype == IMGPAR_F16) dtype = IMGPAR_F32;
    ip_expr *at[4], *found = ip_lower_i32(l, 0), *count = ip_x_param(l->ir, IMGPAR_I32, (double)n, 0, INT32_MAX);
    for (int d = 0; d < 4; d++)
        at[d] = ip_lower_coord(l, d);
    ip_expr *a = ip_x_load(l->ir, l->in[1], at, IP_BORDER_NONE, NULL);
    if (a->dtype == IMGPAR_BOOL) a = ip_x_cast(l->ir, IMGPAR_U8, a);
    int64_t step = 1;
    while (step <= n / 2)
        step *= 2;
    for (; step > 0 && n > 0; step /= 2) {
        ip_expr *next = binary(l, IP_X_ADD, found, ip_lower_i32(l, step));
        ip_expr *above = stands_before(l, a, edge_before(l, next), dtype, is_left);
        ip_expr *fits = binary(l, IP_X_LE, next, count);
        found = ip_x_select(l->ir, binary(l, IP_X_AND, fits, ip_x_unary(l->ir, IP_X_NOT, above)), next, found);
    }
    return ip_lower_map(l, found);
}

/* ---- neighbours ----------------------------------------------------------------------------------- */

static ip_expr *neighbour(ip_lower *l, ip_stage *in, const double *offsets, int n, int border, ip_expr *cval)
{
    ip_expr *at[4];
    for (int d = 0; d < 4; d++)
        at[d] = ip_lower_coord(l, d);
    for (int k = 0; k < n; k++) {
        int dim = ip_type_axis_dim(&l->node->type, k);
        at[dim] = binary(l, IP_X_ADD, at[dim], ip_lower_i32(l, (int64_t)offsets[k]));
    }
    ip_expr *x = ip_x_load(l->ir, in, at, border, cval);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}

/* Where all neighbours lie inside; NULL: everywhere. */
static ip_expr *inside_of(ip_lower *l, const ip_param *p)
{
    ip_expr *inside = NULL;
    for (int k = 0; k < p->cols; k++) {
        int dim = ip_type_axis_dim(&l->node->type, k);
        double low = 0, high = 0;
        for (int row = 0; row < p->rows; row++) {
            low = fmin(low, p->numbers[row * p->cols + k]);
            high = fmax(high, p->numbers[row * p->cols + k]);
        }
        ip_expr *along = ip_inside(l, dim, (int64_t)-low, (int64_t)high);
        if (along) inside = inside ? binary(l, IP_X_AND, inside, along) : along;
    }
    return inside;
}

ip_stage *ip_stages_neighbours(ip_lower *l)
{
    const ip_param *p = ip_param_get(l->node, "offsets");
    int fold = (int)ip_param_number(l->node, "fold");
    if (!l->in[0]) return NULL;
    const ip_dtype_facts *facts = ip_dtype(l->in[0]->dtype);
    bool has_rounded_sums = !facts->is_float && facts->size_bytes > 1; /* those of bytes are exact in floats, too */
    ip_stage *in = ip_coverage_floats(l, has_rounded_sums);
    ip_expr *cval, *acc = NULL;
    int border = ip_lower_border(l, in->dtype, &cval);
    for (int row = 0; row < p->rows; row++) {
        ip_expr *x = neighbour(l, in, p->numbers + row * p->cols, p->cols, border, cval);
        bool sums = fold == IP_NEIGHBOURS_SUM || fold == IP_NEIGHBOURS_MEAN;
        if (sums && !ip_dtype(x->dtype)->is_float)
            x = ip_x_cast(l->ir, ip_dtype(x->dtype)->size_bytes < 4 ? IMGPAR_I32 : IMGPAR_I64, x);
        acc = !acc ? x : binary(l, sums ? IP_X_ADD : fold == IP_NEIGHBOURS_MIN ? IP_X_MIN : IP_X_MAX, acc, x);
    }
    if (fold == IP_NEIGHBOURS_MEAN) {
        imgpar_dtype f = ip_float_for(l->dtype);
        acc = binary(l, IP_X_DIV, ip_x_cast(l->ir, f, acc), ip_x_float(l->ir, f, p->rows));
    }
    acc = ip_lower_convert(l, l->dtype, acc);
    bool keeps = ip_param_number(l->node, "outside") != 0;
    ip_expr *inside = keeps ? inside_of(l, p) : NULL;
    if (!inside) return ip_lower_map(l, acc);
    ip_expr *own = ip_lower_convert(l, l->dtype, neighbour(l, in, NULL, 0, IP_BORDER_NONE, NULL));
    return ip_lower_map(l, ip_x_select(l->ir, inside, acc, own));
}
