/* SPDX-License-Identifier: MIT */
/* Stages that fold a whole array by a user's function, and histograms. Sums and the like: stages_axes.c. */
#include "ops/bins.h"
#include "ops/infer.h"
#include "ops/lower.h"

#include "base/dtype.h"

#include <math.h>
#include <string.h>

/* The first input's element at the same place, over its own domain. */
static ip_expr *element(ip_lower *l)
{
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_coord(l->ir, k, l->in[0]->dims[k]);
    ip_expr *x = ip_x_load(l->ir, l->in[0], index, IP_BORDER_NONE, NULL);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}

static ip_stage *fold_stage(ip_lower *l, ip_reduce reduce, ip_expr *body)
{
    ip_stage *s = ip_stage_new(l->ir, IP_STAGE_REDUCE, l->node->type.dtype, l->dims, l->node);
    if (!s) return NULL;
    memcpy(s->over, l->in[0]->dims, sizeof s->over);
    s->body = body;
    s->reduce = reduce;
    s->acc_dtype = body->dtype;
    return s;
}

/* ---- a user's function --------------------------------------------------------------------- */

typedef struct folding {
    ip_lower *l;
    imgpar_dtype acc;
    bool foreign;   /* reads something that is neither p nor q nor computed from them */
    ip_expr **made; /* by stage id: its element, once it is made */
} folding;

ip_expr *ip_lower_of_one(ip_ir *ir, const ip_expr *load, ip_expr *value)
{
    ip_expr *inside = ip_x_int(ir, IMGPAR_BOOL, 1), *zero = ip_x_int(ir, IMGPAR_I32, 0);
    if (load->border != IMGPAR_BORDER_CONSTANT || load->n_args < 5) return value;
    for (int k = 0; k < 4; k++)
        inside = ip_x_binary(ir, IP_X_AND, inside, ip_x_binary(ir, IP_X_EQ, load->arg[k], zero));
    return ip_x_select(ir, inside, value, ip_x_cast(ir, value->dtype, load->arg[4]));
}

/* The function's body was lowered to stages of one element: put together again, with p and q as the accumulators. Each
 * stage once, however many read it: a filter in a loop reads the step before it several times. */
static ip_expr *put_together(ip_ir *ir, ip_expr *x, void *user)
{
    folding *f = user;
    if (x->op == IP_X_COORD) return ip_x_int(ir, IMGPAR_I32, 0);
    if (x->op != IP_X_LOAD) return x;
    for (int k = 0; k < 2; k++)
        if (x->source == f->l->in[1 + k]) return ip_lower_of_one(ir, x, ip_x_acc(ir, k, f->acc));
    if (x->source->kind == IP_STAGE_MAP) {
        ip_expr **made = &f->made[x->source->id];
        if (!*made) *made = ip_x_map(ir, x->source->body, put_together, user);
        return ip_lower_of_one(ir, x, *made);
    }
    f->foreign = true;
    return x;
}

ip_expr *ip_lower_function(ip_lower *l, imgpar_dtype acc)
{
    folding f = { .l = l, .acc = acc, .made = ip_ir_alloc(l->ir, (size_t)l->ir->n_stages + 1, sizeof(ip_expr *)) };
    ip_stage *body = l->in[3];
    ip_expr *combine = NULL;
    if (!f.made) return NULL;
    if (body->kind == IP_STAGE_MAP)
        combine = ip_x_map(l->ir, body->body, put_together, &f);
    else if (body == l->in[1] || body == l->in[2])
        combine = ip_x_acc(l->ir, body == l->in[2], f.acc);
    if (combine && !f.foreign) return combine;
    ip_lower_fail(l, IMGPAR_E_UNSUPPORTED, "the function may use its two arguments and numbers only");
    return NULL;
}

ip_expr *ip_lower_identity(ip_lower *l, imgpar_dtype dtype)
{
    return ip_lower_convert(
        l, dtype, ip_x_number(l->ir, dtype == IMGPAR_BOOL ? IMGPAR_U8 : dtype, ip_param_number(l->node, "init")));
}

ip_stage *ip_stages_fold(ip_lower *l)
{
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_coord(l->ir, k, l->in[0]->dims[k]);
    ip_expr *x = ip_x_load(l->ir, l->in[0], index, IP_BORDER_NONE, NULL);
    ip_expr *combine = ip_lower_function(l, x->dtype);
    ip_stage *s = combine ? fold_stage(l, IP_REDUCE_CUSTOM, x) : NULL;
    if (!s) return NULL;
    s->init = ip_lower_identity(l, x->dtype);
    s->combine = combine;
    s->finish = ip_x_acc(l->ir, 0, x->dtype);
    return s;
}

/* ---- histogram ------------------------------------------------------------------------------- */

typedef struct bins {
    double lo, hi;
    int n;
} bins;

/* Where bins are one value wide, the bin is v - lo: floor(d n / (n - 1)) is d for every whole d below n - 1. */
static ip_expr *bin_of_integer(ip_lower *l, ip_expr *x, const bins *b)
{
    bool plain = b->hi - b->lo == b->n - 1;
    double reach = (fabs(x->lo) + fabs(x->hi) + fabs(b->lo) + fabs(b->hi)) * (plain ? 1 : b->n);
    imgpar_dtype w = reach < 0x1p31 ? IMGPAR_I32 : IMGPAR_I64;
    ip_expr *v = ip_x_cast(l->ir, w, x), *lo = ip_x_number(l->ir, w, b->lo), *hi = ip_x_number(l->ir, w, b->hi);
    ip_expr *bin = ip_x_binary(l->ir, IP_X_SUB, v, lo);
    if (!plain) {
        bin = ip_x_binary(l->ir, IP_X_IDIV, ip_x_binary(l->ir, IP_X_MUL, bin, ip_x_int(l->ir, w, b->n)),
                          ip_x_number(l->ir, w, b->hi - b->lo));
        bin = ip_x_binary(l->ir, IP_X_MIN, bin, ip_x_int(l->ir, w, b->n - 1));
    }
    ip_expr *inside =
        ip_x_binary(l->ir, IP_X_AND, ip_x_binary(l->ir, IP_X_LE, lo, v), ip_x_binary(l->ir, IP_X_LE, v, hi));
    return ip_x_cast(l->ir, IMGPAR_I32, ip_x_select(l->ir, inside, bin, ip_x_int(l->ir, w, -1)));
}

static ip_expr *bin_of_float(ip_lower *l, ip_expr *x, const bins *b)
{
    imgpar_dtype f = ip_float_for(x->dtype);
    ip_expr *v = ip_x_cast(l->ir, f, x);
    ip_expr *lo = ip_x_param(l->ir, f, b->lo, -INFINITY, INFINITY),
            *hi = ip_x_param(l->ir, f, b->hi, -INFINITY, INFINITY);
    ip_expr *per_level = ip_x_param(l->ir, f, b->n / (b->hi - b->lo), -INFINITY, INFINITY);
    ip_expr *t = ip_x_binary(l->ir, IP_X_MUL, ip_x_binary(l->ir, IP_X_SUB, v, lo), per_level);
    t = ip_x_binary(l->ir, IP_X_MIN,
                    ip_x_binary(l->ir, IP_X_MAX, ip_x_unary(l->ir, IP_X_FLOOR, t), ip_x_float(l->ir, f, 0)),
                    ip_x_float(l->ir, f, b->n - 1));
    ip_expr *inside =
        ip_x_binary(l->ir, IP_X_AND, ip_x_binary(l->ir, IP_X_LE, lo, v), ip_x_binary(l->ir, IP_X_LE, v, hi));
    return ip_x_select(l->ir, inside, ip_x_saturate(l->ir, IMGPAR_I32, t), ip_lower_i32(l, -1));
}

ip_expr *ip_histogram_bin(ip_lower *l)
{
    ip_expr *x = element(l);
    const ip_dtype_facts *facts = ip_dtype(l->in[0]->dtype);
    bins b = { .n = (int)ip_param_number(l->node, "bins") };
    ip_histogram_edges(l->node, &b.lo, &b.hi);
    bool integers = !facts->is_float && facts->size_bytes <= 4 && b.lo == rint(b.lo) && b.hi == rint(b.hi) &&
                    fabs(b.lo) < 0x1p32 && fabs(b.hi) <= 0x1p32;
    return integers ? bin_of_integer(l, x, &b) : bin_of_float(l, x, &b);
}

ip_stage *ip_stages_histogram(ip_lower *l)
{
    const int64_t dims[4] = { 1, l->in[0]->dims[3], (int64_t)ip_param_number(l->node, "bins"), 1 };
    ip_stage *s = ip_stage_new(l->ir, IP_STAGE_HISTOGRAM, IMGPAR_U32, dims, l->node);
    if (!s) return NULL;
    memcpy(s->over, l->in[0]->dims, sizeof s->over);
    s->body = ip_histogram_bin(l);
    return s;
}
