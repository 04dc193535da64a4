/* SPDX-License-Identifier: MIT */
/* Stages of around(): ops/around.h, Note [Neighbourhoods]. */
#include "ops/around.h"
#include "ops/parts.h"

#include "base/dtype.h"

#include <string.h>

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }

/* ---- taps ------------------------------------------------------------------------------------------ */

/* The window's rows count the neighbourhood's planes and rows, plane by plane. */
typedef struct neighbourhood {
    int window, radius[3], taps_y, taps_x;
    bool is_disc;
} neighbourhood;

static neighbourhood neighbourhood_of(const imgpar_array *taps, const ip_stage *stage)
{
    neighbourhood n = { .window = stage->window - 1, .is_disc = ip_around_is_disc(taps) };
    for (int dim = 0; dim < 3; dim++)
        n.radius[dim] = ip_around_radius(taps, dim);
    n.taps_y = (2 * n.radius[0] + 1) * (2 * n.radius[1] + 1);
    n.taps_x = 2 * n.radius[2] + 1;
    return n;
}

/* How far the neighbour lies from the centre along dim: -radius to radius. */
static ip_expr *distance(ip_lower *l, const neighbourhood *n, int dim)
{
    ip_expr *tap = ip_x_tap(l->ir, n->window, dim == 2, dim == 2 ? n->taps_x : n->taps_y);
    ip_expr *rows = ip_lower_i32(l, 2 * n->radius[1] + 1);
    if (n->radius[dim] == 0) return ip_lower_i32(l, 0);
    if (dim == 0) tap = binary(l, IP_X_IDIV, tap, rows);
    if (dim == 1 && n->radius[0] > 0) tap = binary(l, IP_X_MOD, tap, rows);
    return binary(l, IP_X_SUB, tap, ip_lower_i32(l, n->radius[dim]));
}

/* It is read by no expression: what is made of it finds the window in it. */
ip_stage *ip_stages_taps(ip_lower *l)
{
    ip_stage *s = ip_lower_map(l, ip_lower_i32(l, 0));
    if (s) s->window = 1 + ip_x_new_window(l->ir);
    return s;
}

ip_stage *ip_stages_tap(ip_lower *l)
{
    if (!l->in[0]) return NULL;
    neighbourhood n = neighbourhood_of(l->node->inputs[0], l->in[0]);
    return ip_lower_map(l, ip_x_cast(l->ir, IMGPAR_I64, distance(l, &n, (int)ip_param_number(l->node, "dim"))));
}

ip_stage *ip_stages_tap_read(ip_lower *l)
{
    const ip_param *offsets = ip_param_get(l->node, "offsets"), *along = ip_param_get(l->node, "along");
    ip_expr *index[4], *cval;
    if (!l->in[0] || !l->in[1]) return NULL;
    neighbourhood n = neighbourhood_of(l->node->inputs[1], l->in[1]);
    int border = ip_lower_border(l, l->in[0]->dtype, &cval);
    for (int dim = 0; dim < 4; dim++)
        index[dim] = ip_lower_coord(l, dim);
    for (int k = 0; k < offsets->cols; k++) {
        ip_expr **at = &index[ip_type_axis_dim(&l->node->type, k)];
        for (int dim = 0; dim < 3; dim++) {
            int64_t times = (int64_t)along->numbers[3 * k + dim];
            if (times != 0)
                *at = binary(l, IP_X_ADD, *at, binary(l, IP_X_MUL, distance(l, &n, dim), ip_lower_i32(l, times)));
        }
        *at = binary(l, IP_X_ADD, *at, ip_lower_i32(l, (int64_t)offsets->numbers[k]));
    }
    return ip_lower_map(l, ip_x_load(l->ir, l->in[0], index, border, cval));
}

/* ---- folds ----------------------------------------------------------------------------------------- */

static int radius_of(const neighbourhood *n) { return n->radius[n->radius[0] ? 0 : n->radius[1] ? 1 : 2]; }

static ip_expr *is_in_disc(ip_lower *l, const neighbourhood *n)
{
    ip_expr *square = ip_lower_i32(l, 0);
    for (int dim = 0; dim < 3; dim++) {
        ip_expr *d = distance(l, n, dim);
        square = binary(l, IP_X_ADD, square, binary(l, IP_X_MUL, d, d));
    }
    return binary(l, IP_X_LE, square, ip_lower_i32(l, (int64_t)radius_of(n) * radius_of(n)));
}

/* What changes no fold; of extremes the centre's value, which is one of those that are folded. */
static ip_expr *neutral(ip_lower *l, const neighbourhood *n, ip_fold fold, ip_expr *x)
{
    if (fold == IP_FOLD_PRODUCT) return ip_x_number(l->ir, x->dtype, 1);
    if (fold == IP_FOLD_SUM) return ip_x_number(l->ir, x->dtype, ip_dtype(x->dtype)->is_float ? -0.0 : 0);
    ip_expr *row = ip_lower_i32(l, n->taps_y / 2), *column = ip_lower_i32(l, n->taps_x / 2);
    return ip_x_put_tap(l->ir, ip_x_put_tap(l->ir, x, n->window, 0, row), n->window, 1, column);
}

static ip_expr *folded(ip_lower *l, const neighbourhood *n, ip_fold fold, ip_expr *x)
{
    if (n->is_disc) x = ip_x_select(l->ir, is_in_disc(l, n), x, neutral(l, n, fold, x));
    return ip_x_fold_taps(l->ir, fold, n->window, n->taps_y, n->taps_x, x);
}

static double count(const neighbourhood *n)
{
    const int radius = radius_of(n), *r = n->radius;
    int64_t inside = 0;
    for (int z = -r[0]; z <= r[0] && n->is_disc; z++)
        for (int y = -r[1]; y <= r[1]; y++)
            for (int x = -r[2]; x <= r[2]; x++)
                inside += z * z + y * y + x * x <= radius * radius;
    return n->is_disc ? (double)inside : (double)n->taps_y * n->taps_x;
}

/* In the narrowest integers that hold it; what is added up in 64 bits wraps. */
static ip_expr *sum(ip_lower *l, const neighbourhood *n, ip_expr *x)
{
    imgpar_dtype dtype = ip_dtype(x->dtype)->is_float || x->dtype == IMGPAR_U64
                             ? x->dtype
                             : ip_lower_sum_dtype(x->dtype, x->lo, x->hi, count(n), 0);
    return folded(l, n, IP_FOLD_SUM, ip_x_cast(l->ir, dtype, x));
}

static ip_expr *mean(ip_lower *l, const neighbourhood *n, ip_expr *x)
{
    imgpar_dtype dtype = l->node->type.dtype;
    bool is_exact = !ip_dtype(x->dtype)->is_float && ip_dtype(x->dtype)->size_bytes < 8;
    ip_expr *total = is_exact ? ip_x_cast(l->ir, dtype, sum(l, n, x)) : sum(l, n, ip_x_cast(l->ir, dtype, x));
    return binary(l, IP_X_DIV, total, ip_x_number(l->ir, dtype, count(n)));
}

static ip_expr *weighted_mean(ip_lower *l, const neighbourhood *n, ip_expr *x, ip_expr *weight)
{
    imgpar_dtype dtype = l->node->type.dtype;
    weight = ip_x_cast(l->ir, dtype, weight);
    const ip_window_taps taps = { n->window, n->taps_y, n->taps_x };
    ip_expr *inside = n->is_disc ? is_in_disc(l, n) : NULL;
    ip_expr *total = ip_x_fold_products(l->ir, &taps, inside, ip_x_cast(l->ir, dtype, x), weight);
    return binary(l, IP_X_DIV, total, folded(l, n, IP_FOLD_SUM, weight));
}

ip_stage *ip_stages_around(ip_lower *l)
{
    if (!l->in[0] || !l->in[1] || !l->in[2]) return NULL;
    const bool is_weighted = !ip_array_is_number(l->node->inputs[2], NULL, NULL);
    neighbourhood n = neighbourhood_of(l->node->inputs[0], l->in[0]);
    ip_parts parts;
    if (!ip_parts_begin(&parts, l, "a neighbour")) return NULL;
    ip_expr *x = ip_parts_input(&parts, 1), *weight = is_weighted ? ip_parts_input(&parts, 2) : NULL;
    if (!ip_parts_fit(&parts, "around: the function", "")) return NULL;
    switch ((ip_around)ip_param_number(l->node, "fold")) {
    case IP_AROUND_SUM: x = ip_x_cast(l->ir, l->node->type.dtype, sum(l, &n, x)); break;
    case IP_AROUND_PRODUCT: x = folded(l, &n, IP_FOLD_PRODUCT, ip_x_cast(l->ir, l->node->type.dtype, x)); break;
    case IP_AROUND_MEAN: x = weight ? weighted_mean(l, &n, x, weight) : mean(l, &n, x); break;
    case IP_AROUND_MIN: x = folded(l, &n, IP_FOLD_MIN, x); break;
    case IP_AROUND_MAX: x = folded(l, &n, IP_FOLD_MAX, x); break;
    }
    return ip_lower_map(l, x);
}
