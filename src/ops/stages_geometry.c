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
