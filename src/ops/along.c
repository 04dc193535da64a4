/* SPDX-License-Identifier: MIT */
#include "ops/along.h"

#include "ops/check.h"
#include "ops/derived.h"
#include "ops/row_functions.h"
#include "ops/slices.h"

#include <string.h>

bool ip_has_folded(const imgpar_array *node)
{
    bool has = ip_type_is_folded(&node->type);
    for (int k = 0; k < node->n_inputs; k++)
        has = has || ip_type_is_folded(&node->inputs[k]->type);
    return has;
}

/* ---- building ------------------------------------------------------------------------------- */

static imgpar_array *call_with(imgpar_array *a, const char *row, const char *param, int n, const double *numbers)
{
    ip_arg args[] = { ip_arg_array(a),
                      { .name = param, .kind = IP_ARG_MATRIX, .rows = 1, .cols = n, .numbers = numbers } };
    return ip_build(a->ctx, ip_op_find(row), args, 2);
}

static imgpar_array *shaped(imgpar_array *a, const char *row, int rank, const int64_t *shape)
{
    double numbers[IP_MAX_AXES];
    if (!a->op) return imgpar_array_retain(a);
    if (a->type.rank == rank && memcmp(a->type.shape, shape, (size_t)rank * sizeof *shape) == 0)
        return imgpar_array_retain(a);
    for (int k = 0; k < rank; k++)
        numbers[k] = (double)shape[k];
    return call_with(a, row, "shape", rank, numbers);
}

imgpar_array *ip_build_reshaped(imgpar_array *a, int rank, const int64_t *shape)
{
    return shaped(a, "reshape", rank, shape);
}

/* ---- axes together ----------------------------------------------------------------------------- */

/* Which axes become which: axis k of the array, or with `moves` axis order[k], is part of axis to[k]. */
typedef struct plan {
    bool moves;
    int order[IP_MAX_AXES], to[IP_MAX_AXES];
    int rank;      /* of what is made */
    unsigned axes; /* those that are worked along there */
} plan;

/* Neighbours alike are one axis. */
static void join_runs(int rank, unsigned axes, plan *p)
{
    p->rank = 0;
    p->axes = 0;
    for (int k = 0; k < rank; k++) {
        const unsigned is_along = axes >> p->order[k] & 1;
        const bool goes_on = k > 0 && is_along == (axes >> p->order[k - 1] & 1);
        if (!goes_on) p->axes |= is_along << p->rank++;
        p->to[k] = p->rank - 1;
    }
}

/* The dims that the stage has anyway, where those before the last three are alike: nothing is to be done then. */
static bool keeps_dims(int rank, unsigned axes, plan *p)
{
    const int n_depth = rank - (IP_OWN_DIMS - 1);
    if (n_depth < 1) return false;
    const unsigned depth = axes & ((1u << n_depth) - 1);
    if (depth != 0 && depth != (1u << n_depth) - 1) return false;
    p->rank = IP_OWN_DIMS;
    p->axes = (depth != 0) | axes >> n_depth << 1;
    for (int k = 0; k < rank; k++)
        p->to[k] = k < n_depth ? 0 : k - n_depth + 1;
    return true;
}

static void plan_axes(int rank, unsigned axes, plan *p)
{
    for (int k = 0; k < rank; k++)
        p->order[k] = k;
    p->moves = false;
    if (keeps_dims(rank, axes, p)) return;
    join_runs(rank, axes, p);
    if (p->rank <= IP_OWN_DIMS) return;
    int n = 0;
    p->moves = true;
    for (unsigned goes = 0; goes < 2; goes++)
        for (int k = 0; k < rank; k++)
            if ((axes >> k & 1) == goes) p->order[n++] = k;
    join_runs(rank, axes, p);
}

/* An input as the plan has it. */
static imgpar_array *planned(imgpar_array *a, const plan *p)
{
    if (!a->op) return imgpar_array_retain(a);
    double order[IP_MAX_AXES];
    int64_t shape[IP_MAX_AXES];
    for (int k = 0; k < a->type.rank; k++)
        order[k] = p->order[k];
    for (int k = 0; k < p->rank; k++)
        shape[k] = 1;
    for (int k = 0; k < a->type.rank; k++)
        shape[p->to[k]] *= a->type.shape[p->order[k]];
    imgpar_array *moved = p->moves ? call_with(a, "permute", "axes", a->type.rank, order) : imgpar_array_retain(a);
    imgpar_array *joined = ip_build_reshaped(moved, p->rank, shape);
    imgpar_array_release(moved);
    return joined;
}

imgpar_array *ip_build_joined(imgpar_array *a, int *axis)
{
    plan p;
    plan_axes(a->type.rank, 1u << *axis, &p);
    *axis = p.to[*axis];
    return planned(a, &p);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

/* The axes that the call names: one number, or a list of them, none for all. */
static unsigned axes_of(const imgpar_array *call)
{
    const ip_param *p = ip_param_get(call, "axis");
    const imgpar_op_param *facts = call->op->info.params[p - call->params];
    const int rank = call->inputs[0]->type.rank;
    ip_error ignored = { .status = IMGPAR_OK };
    unsigned axes = 0;
    int axis = 0;
    if (ip_param_kind_of(facts) == IP_PARAM_VECTOR) {
        ip_axes_of(call, "axis", rank, &axes, &ignored);
        return axes;
    }
    ip_axis_param(call, rank, &axis, &ignored);
    return 1u << axis;
}

static bool takes_anywhere(const imgpar_array *call) { return call->op->infer == ip_infer_take; }

/* Input k for the call of few axes. Indices of take() are a list there; those of take_along_axis() may have one element
 * for all along an axis, which has as many as the others before it is joined with them. */
static imgpar_array *input_of(const imgpar_array *call, int k, unsigned axes, const plan *p)
{
    imgpar_array *a = call->inputs[k];
    int64_t shape[IP_MAX_AXES], count = ip_type_count(&a->type);
    if (k > 0 && takes_anywhere(call)) return ip_build_reshaped(a, 1, &count);
    for (int axis = 0; axis < a->type.rank; axis++)
        shape[axis] = axes >> axis & 1 ? a->type.shape[axis] : call->inputs[0]->type.shape[axis];
    imgpar_array *spread = shaped(a, "broadcast", a->type.rank, shape);
    imgpar_array *input = planned(spread, p);
    imgpar_array_release(spread);
    return input;
}

/* ---- batches ------------------------------------------------------------------------------------- */

/* matmul() of batches of more axes: they are one, along which both have as many matrices, or one has no axis for it. */
static imgpar_array *matrices_of(const imgpar_array *call, int k)
{
    imgpar_array *a = call->inputs[k];
    const int rank = a->type.rank,
              n_batch = call->type.rank - (call->inputs[0]->type.rank > 1) - (call->inputs[1]->type.rank > 1);
    int64_t shape[IP_MAX_AXES], joined[3] = { 1, 0, 0 };
    if (rank <= 2) return imgpar_array_retain(a);
    memcpy(shape, call->type.shape, sizeof shape);
    for (int i = 0; i < 2; i++)
        shape[n_batch + i] = joined[1 + i] = a->type.shape[rank - 2 + i];
    for (int i = 0; i < n_batch; i++)
        joined[0] *= shape[i];
    imgpar_array *spread = shaped(a, "broadcast", n_batch + 2, shape);
    imgpar_array *matrices = ip_build_reshaped(spread, 3, joined);
    imgpar_array_release(spread);
    return matrices;
}

static imgpar_array *product_of_batches(const imgpar_array *call)
{
    ip_making m = { .call = call };
    imgpar_array *a = ip_making_keep(&m, matrices_of(call, 0)), *b = ip_making_keep(&m, matrices_of(call, 1));
    imgpar_array *product = ip_make_pair(&m, call->op->info.name, a, b);
    return ip_made(&m, ip_making_keep(&m, ip_build_reshaped(product, call->type.rank, call->type.shape)));
}

/* An input of other rows, whose batches are alike: the first n_batch axes are one. What has no batch serves all. */
static imgpar_array *batch_of(imgpar_array *a, int n_batch)
{
    const int rank = a->type.rank;
    int64_t joined[IP_MAX_AXES] = { 1 };
    if (rank <= 2) return imgpar_array_retain(a);
    for (int k = 0; k < rank; k++)
        joined[k < n_batch ? 0 : k - n_batch + 1] = (k < n_batch ? joined[0] : 1) * a->type.shape[k];
    return ip_build_reshaped(a, rank - n_batch + 1, joined);
}

imgpar_array *ip_expand_batch(const imgpar_array *call)
{
    if (call->op->infer == ip_infer_matmul) return product_of_batches(call);
    const imgpar_op_info *info = &call->op->info;
    const int rank = call->inputs[0]->type.rank,
              n_batch = (rank > 2 ? rank : call->inputs[info->n_inputs - 1]->type.rank) - 2;
    ip_making m = { .call = call };
    ip_arg few[IP_MAX_SLOTS];
    for (int k = 0; k < info->n_inputs; k++)
        few[k] = ip_arg_array(ip_making_keep(&m, batch_of(call->inputs[k], n_batch)));
    imgpar_array *made = ip_making_keep(&m, ip_build(call->ctx, call->op, few, info->n_inputs));
    return ip_made(&m, ip_making_keep(&m, ip_build_reshaped(made, call->type.rank, call->type.shape)));
}

/* ---- along axes ----------------------------------------------------------------------------------- */

/* scatter_add() and its like: indices are a list, base is a row for each of them, values a row for each index. */
static imgpar_array *scattered_rows(const imgpar_array *call)
{
    ip_making m = { .call = call };
    const ip_type *base = &call->inputs[0]->type, *values = &call->inputs[2]->type;
    const int64_t n = ip_type_count(&call->inputs[1]->type);
    int64_t rows[] = { base->shape[0], 1 };
    for (int k = 1; k < base->rank; k++)
        rows[1] *= base->shape[k];
    const int64_t added[] = { ip_type_count(values) == 1 ? 1 : n, ip_type_count(values) == 1 ? 1 : rows[1] };
    const int64_t *const shapes[] = { rows, &n, added };
    ip_arg few[3];
    for (int k = 0; k < 3; k++)
        few[k] = ip_arg_array(
            ip_making_keep(&m, ip_build_reshaped(call->inputs[k], k == 1 || base->rank == 1 ? 1 : 2, shapes[k])));
    imgpar_array *made = ip_making_keep(&m, ip_build(call->ctx, call->op, few, 3));
    return ip_made(&m, ip_making_keep(&m, ip_build_reshaped(made, call->type.rank, call->type.shape)));
}

imgpar_array *ip_expand_along(const imgpar_array *call, const ip_arg *args, int n)
{
    if (call->op->infer == ip_infer_scatter) return scattered_rows(call);
    const imgpar_op_info *info = &call->op->info;
    const int axis_slot = info->n_inputs + (int)(ip_param_get(call, "axis") - call->params);
    const unsigned axes = axes_of(call);
    ip_making m = { .call = call };
    ip_arg few[IP_MAX_SLOTS + 1];
    double numbers[IP_MAX_AXES];
    ip_error ignored = { .status = IMGPAR_OK };
    ip_bound bound;
    int bad;
    plan p;
    plan_axes(call->inputs[0]->type.rank, axes, &p);
    ip_bind(call->op, args, n, &bound, &bad, &ignored);
    memcpy(few, args, (size_t)n * sizeof *args);
    for (int k = 0; k < info->n_inputs; k++) {
        const char *name = args[bound.arg[k]].name;
        few[bound.arg[k]] = ip_arg_array(ip_making_keep(&m, input_of(call, k, axes, &p)));
        few[bound.arg[k]].name = name;
    }
    const int at = bound.arg[axis_slot] >= 0 ? bound.arg[axis_slot] : n++;
    int n_axes = 0;
    for (int k = 0; k < p.rank; k++)
        if (p.axes >> k & 1) numbers[n_axes++] = k;
    few[at] = (ip_arg){ .name = "axis", .kind = IP_ARG_MATRIX, .rows = 1, .cols = n_axes, .numbers = numbers };
    if (ip_param_kind_of(info->params[axis_slot - info->n_inputs]) == IP_PARAM_INTEGER)
        few[at] = (ip_arg){ .name = "axis", .kind = IP_ARG_NUMBER, .number = numbers[0] };
    imgpar_array *made = ip_making_keep(&m, ip_build(call->ctx, call->op, few, n));
    return ip_made(&m, ip_making_keep(&m, ip_build_reshaped(made, call->type.rank, call->type.shape)));
}
