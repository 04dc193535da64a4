/* SPDX-License-Identifier: MIT */
/* Stages of around(): ops/around.h, Note [Neighbourhoods]. */
#include "ops/around.h"
#include "ops/lower.h"

#include "base/dtype.h"

#include <string.h>

enum { MOST_OPERATIONS = 4096, MOST_EXTENTS = 8 };

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }

/* ---- taps ------------------------------------------------------------------------------------------ */

/* The window's rows count the neighbourhood's planes and rows, plane by plane. */
typedef struct neighbourhood {
    int window, radius[3], taps_y, taps_x;
} neighbourhood;

static neighbourhood neighbourhood_of(const imgpar_array *taps, const ip_stage *stage)
{
    neighbourhood n = { .window = stage->window - 1 };
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

/* ---- the function as one expression ------------------------------------------------------------------- */

typedef struct assembly {
    ip_lower *l;
    int operations;    /* that were put in */
    const char *wrong; /* why it is no such function; NULL: nothing */
    int n_extents;
    struct {
        int64_t size;
        ip_expr *x;
    } extents[MOST_EXTENTS];
} assembly;

/* A stage of the function and the place at which its element is wanted. */
typedef struct placed {
    assembly *a;
    const ip_stage *stage;
    ip_expr *const *at;
} placed;

static ip_expr *element_at(assembly *a, ip_stage *s, ip_expr *const at[4]);

static ip_expr *extent_of(assembly *a, const ip_stage *s, int dim)
{
    ip_ir *ir = a->l->ir;
    if (dim == 3) return ip_x_int(ir, IMGPAR_I32, s->dims[3]);
    for (int k = 0; k < a->n_extents; k++)
        if (a->extents[k].size == s->dims[dim]) return a->extents[k].x;
    ip_expr *x = ip_x_param(ir, IMGPAR_I32, (double)s->dims[dim], 1, INT32_MAX);
    if (a->n_extents < MOST_EXTENTS) {
        a->extents[a->n_extents].size = s->dims[dim];
        a->extents[a->n_extents++].x = x;
    }
    return x;
}

/* What a load of a stage of the function reads, by the load's border. */
static ip_expr *bordered(const placed *p, ip_expr *load)
{
    ip_ir *ir = p->a->l->ir;
    ip_stage *s = load->source;
    const bool is_constant = load->border == IMGPAR_BORDER_CONSTANT;
    ip_expr *at[4], *inside = NULL;
    for (int dim = 0; dim < 4; dim++) {
        at[dim] = load->arg[dim];
        bool is_own = at[dim] == p->at[dim] && s->dims[dim] == p->stage->dims[dim];
        if (load->border == IP_BORDER_NONE || is_own) continue;
        ip_expr *extent = extent_of(p->a, s, dim);
        at[dim] = ip_x_border(ir, is_constant ? IMGPAR_BORDER_REPLICATE : load->border, load->arg[dim], extent);
        ip_expr *is_in =
            ip_x_binary(ir, IP_X_AND, ip_x_binary(ir, IP_X_LE, ip_x_int(ir, IMGPAR_I32, 0), load->arg[dim]),
                        ip_x_binary(ir, IP_X_LT, load->arg[dim], extent));
        inside = inside ? ip_x_binary(ir, IP_X_AND, inside, is_in) : is_in;
    }
    ip_expr *x = element_at(p->a, s, at);
    return is_constant && inside ? ip_x_select(ir, inside, x, load->arg[4]) : x;
}

static ip_expr *put_in(ip_ir *ir, ip_expr *x, void *user)
{
    const placed *p = user;
    (void)ir;
    if (x->op == IP_X_COORD) return p->at[x->axis];
    return x->op == IP_X_LOAD && x->source->of_taps ? bordered(p, x) : x;
}

static ip_expr *refuse(assembly *a, const ip_stage *s, const char *why)
{
    if (!a->wrong) a->wrong = why;
    return ip_x_number(a->l->ir, s->dtype == IMGPAR_F16 ? IMGPAR_F32 : s->dtype, 0);
}

/* An element of a stage: of what depends on the neighbour its expression, of what does not a load. */
static ip_expr *element_at(assembly *a, ip_stage *s, ip_expr *const at[4])
{
    ip_ir *ir = a->l->ir;
    if (!s->of_taps) return ip_x_load(ir, s, at, IP_BORDER_NONE, NULL);
    if (s->kind != IP_STAGE_MAP) return refuse(a, s, "folds or sorts what it makes of a neighbour");
    if (s->dtype == IMGPAR_F16) return refuse(a, s, "makes f16 of a neighbour; write cast(.., f32)");
    a->operations += 1 + ip_x_size(ir, s->body);
    if (a->operations > MOST_OPERATIONS) return refuse(a, s, "is too large");
    return ip_x_map(ir, s->body, put_in, &(placed){ a, s, at });
}

static ip_expr *input_of(assembly *a, int k)
{
    ip_lower *l = a->l;
    ip_expr *at[4], *x;
    if (ip_array_is_number(l->node->inputs[k], NULL, NULL)) return ip_lower_value(l, k);
    ip_lower_place(l, k, at);
    x = element_at(a, l->in[k], at);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}

/* ---- folds ----------------------------------------------------------------------------------------- */

static ip_expr *folded(ip_lower *l, const neighbourhood *n, ip_fold fold, ip_expr *x)
{
    return ip_x_fold_taps(l->ir, fold, n->window, n->taps_y, n->taps_x, x);
}

static double count(const neighbourhood *n) { return (double)n->taps_y * n->taps_x; }

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
    ip_expr *total = folded(l, n, IP_FOLD_SUM, binary(l, IP_X_MUL, ip_x_cast(l->ir, dtype, x), weight));
    return binary(l, IP_X_DIV, total, folded(l, n, IP_FOLD_SUM, weight));
}

ip_stage *ip_stages_around(ip_lower *l)
{
    if (!l->in[0] || !l->in[1] || !l->in[2]) return NULL;
    const bool is_weighted = !ip_array_is_number(l->node->inputs[2], NULL, NULL);
    neighbourhood n = neighbourhood_of(l->node->inputs[0], l->in[0]);
    assembly a = { .l = l };
    ip_expr *x = input_of(&a, 1), *weight = is_weighted ? input_of(&a, 2) : NULL;
    if (a.wrong) {
        ip_fail(l->err, IMGPAR_E_UNSUPPORTED, "around: the function %s", a.wrong);
        return NULL;
    }
    switch ((ip_around)ip_param_number(l->node, "fold")) {
    case IP_AROUND_SUM: x = ip_x_cast(l->ir, l->node->type.dtype, sum(l, &n, x)); break;
    case IP_AROUND_PRODUCT: x = folded(l, &n, IP_FOLD_PRODUCT, ip_x_cast(l->ir, l->node->type.dtype, x)); break;
    case IP_AROUND_MEAN: x = weight ? weighted_mean(l, &n, x, weight) : mean(l, &n, x); break;
    case IP_AROUND_MIN: x = folded(l, &n, IP_FOLD_MIN, x); break;
    case IP_AROUND_MAX: x = folded(l, &n, IP_FOLD_MAX, x); break;
    }
    return ip_lower_map(l, x);
}
