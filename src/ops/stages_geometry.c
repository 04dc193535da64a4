/* SPDX-License-Identifier: MIT */
/* Stages that move elements: index maps on loads, and leaves computed from positions. */
#include "ops/complex.h"
#include "ops/coverage.h"
#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/view.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>
#include <stdint.h>

static ip_expr *add(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_ADD, a, b); }
static ip_expr *sub(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_SUB, a, b); }

/* ---- leaves ----------------------------------------------------------------------------- */

ip_stage *ip_stages_number(ip_lower *l)
{
    double v = 0;
    ip_array_is_number(l->node, &v, NULL);
    return ip_lower_map(l, ip_lower_literal(l, l->node->type.dtype, v));
}

ip_stage *ip_stages_coordinate(ip_lower *l)
{
    return ip_lower_map(l, ip_lower_coord(l, (int)ip_param_number(l->node, "dim")));
}

ip_stage *ip_stages_inside(ip_lower *l)
{
    int64_t before = (int64_t)ip_param_number(l->node, "before"), behind = (int64_t)ip_param_number(l->node, "behind");
    ip_expr *inside = ip_inside(l, (int)ip_param_number(l->node, "dim"), before, behind);
    return ip_lower_map(l, inside ? inside : ip_x_int(l->ir, IMGPAR_BOOL, 1));
}

/* ---- plain index maps -------------------------------------------------------------------- */

/* The input's element at an index, which lies inside or is moved there by the border rule; complex numbers stay in
 * their channel. */
static ip_stage *moved(ip_lower *l, ip_expr *const index[4], int border, ip_expr *cval)
{
    if (!ip_type_is_complex(&l->node->type)) return ip_lower_map(l, ip_x_load(l->ir, l->in[0], index, border, cval));
    ip_expr *const of_part[4] = { index[0], index[1], index[2], ip_x_coord(l->ir, 3, 2 * l->dims[3]) };
    if (cval) cval = ip_complex_choose(l, (ip_complex){ .re = cval });
    return ip_complex_map_part(l, ip_x_load(l->ir, l->in[0], of_part, border, cval));
}

ip_stage *ip_stages_crop(ip_lower *l)
{
    const ip_stage *in = l->in[0];
    if (in && in->dims[1] == l->dims[1] && in->dims[2] == l->dims[2]) return l->in[0];
    ip_expr *x = ip_offset(l, (int64_t)ip_param_number(l->node, "x"));
    ip_expr *y = ip_offset(l, (int64_t)ip_param_number(l->node, "y"));
    ip_expr *const index[4] = { ip_lower_coord(l, 0), add(l, ip_lower_coord(l, 1), y), add(l, ip_lower_coord(l, 2), x),
                                ip_lower_coord(l, 3) };
    return moved(l, index, IP_BORDER_NONE, NULL);
}

ip_stage *ip_stages_shift(ip_lower *l)
{
    const ip_param *offsets = ip_param_get(l->node, "offsets");
    ip_expr *index[4], *cval;
    int border = ip_lower_border(l, l->in[0]->dtype, &cval);
    for (int dim = 0; dim < 4; dim++)
        index[dim] = ip_lower_coord(l, dim);
    for (int k = 0; k < offsets->cols; k++) {
        int dim = ip_type_axis_dim(&l->node->type, k);
        index[dim] = add(l, index[dim], ip_lower_i32(l, (int64_t)offsets->numbers[k]));
    }
    return moved(l, index, border, cval);
}

ip_stage *ip_stages_flip(ip_lower *l)
{
    int dim = ip_param_number(l->node, "axis") == 0 ? 2 : 1;
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_lower_coord(l, k);
    ip_expr *last = ip_x_param(l->ir, IMGPAR_I32, (double)(l->dims[dim] - 1), 0, INT32_MAX);
    index[dim] = sub(l, last, index[dim]);
    return moved(l, index, IP_BORDER_NONE, NULL);
}

ip_stage *ip_stages_transpose(ip_lower *l)
{
    ip_expr *const index[4] = { ip_lower_coord(l, 0), ip_lower_coord(l, 2), ip_lower_coord(l, 1),
                                ip_lower_coord(l, 3) };
    return moved(l, index, IP_BORDER_NONE, NULL);
}

/* ---- reads at computed positions ----------------------------------------------------------- */

enum { OWN = -1 };

/* What is read, and how beyond its edges. */
typedef struct reading {
    ip_stage *stage;
    int border;
    ip_expr *cval;
} reading;

static const double far_away = 0x1p30; /* positions are limited to it, so that neighbours stay in 32 bits */

/* Input k's element as an i32 that is not far away; of floats floor(v + shift). */
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

/* In the element's channel, or in one that is given. */
static ip_expr *read_at(ip_lower *l, ip_expr *y, ip_expr *x, int64_t channel, const reading *r)
{
    const ip_stage *a = r->stage;
    ip_expr *z = a->dims[0] == 1 ? ip_lower_i32(l, 0) : ip_lower_coord(l, 0);
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

/* Between the four pixels around y, x. */
static ip_expr *between(ip_lower *l, ip_expr *y, ip_expr *x, int64_t channel, const reading *r)
{
    imgpar_dtype w = ip_float_for(l->in[0]->dtype);
    ip_expr *fy = fraction(l, y, w), *fx = fraction(l, x, w), *y0 = position(l, y, 0), *x0 = position(l, x, 0),
            *v[2][2];
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            ip_expr *t = read_at(l, add(l, y0, ip_lower_i32(l, j)), add(l, x0, ip_lower_i32(l, i)), channel, r);
            v[j][i] = ip_x_cast(l->ir, w, t->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, t) : t);
        }
    ip_expr *left = ip_x_fma(l->ir, sub(l, v[1][0], v[0][0]), fy, v[0][0]);
    ip_expr *right = ip_x_fma(l->ir, sub(l, v[1][1], v[0][1]), fy, v[0][1]);
    return ip_x_fma(l->ir, sub(l, right, left), fx, left);
}

ip_stage *ip_stages_at(ip_lower *l)
{
    ip_expr *y = ip_lower_value(l, 1), *x = ip_lower_value(l, 2);
    reading r = { .stage = ip_coverage_floats(l, false) };
    r.border = ip_lower_border(l, r.stage->dtype, &r.cval);
    bool linear = ip_param_number(l->node, "filter") == IP_AT_LINEAR;
    if (!linear) return ip_lower_map(l, read_at(l, position(l, y, 0.5), position(l, x, 0.5), OWN, &r));
    if (l->coverage) { /* alpha where the colour is read: channels may have positions of their own */
        reading of_alpha = r;
        if (r.cval) of_alpha.cval = ip_lower_argument(l, r.stage->dtype, ip_lower_outside(l).alpha);
        l->coverage->weight = between(l, y, x, l->in[0]->dims[3] - 1, &of_alpha);
    }
    return ip_lower_map(l, between(l, y, x, OWN, &r));
}
