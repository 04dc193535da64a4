/* SPDX-License-Identifier: MIT */
/*
 * reduce(a, init, function, axis=): folds along axes. Where the order is free (ops/associative.h) the function is
 * applied to whole arrays: an axis of n elements becomes one of ceil(n / 16), elements 16 i to 16 i + 15 being combined
 * from the first to the last, then that axis again until one is left; behind the end stands init. Else the result is
 * the last element of a scan, which takes the elements one after the other.
 */
#include "base/plural.h"
#include "ir/expr.h"
#include "lang/states.h"

#include <math.h>
#include <string.h>

enum { WAYS = 16, MOST = IP_SCAN_STATES };

typedef struct folding {
    ip_eval *ev;
    const ip_node *call;
    const ip_val *fn;
    double init;
    const ip_joining *joining;
} folding;

static ip_arg vector(const char *name, const double *v, int n)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_MATRIX, .rows = 1, .cols = n, .numbers = v };
}

/* a with init behind it, so that the axis has n elements. */
static bool fill_up(folding *f, ip_val *a, double init, int axis, int64_t n)
{
    double none[IMGPAR_MAX_RANK] = { 0 }, after[IMGPAR_MAX_RANK] = { 0 };
    ip_val padded;
    after[axis] = (double)(n - a->u.array->type.shape[axis]);
    if (after[axis] == 0) return true;
    ip_arg args[] = { ip_arg_array(a->u.array),
                      vector("before", none, axis + 1),
                      vector("after", after, axis + 1),
                      { .name = "cval", .kind = IP_ARG_NUMBER, .number = init } };
    if (!ip_call_args(f->ev, ip_op_find("pad"), f->call->offset, args, NULL, 4, &padded)) return false;
    ip_val_free(a);
    *a = padded;
    return true;
}

/* Elements first, first + step, ... along the axis. */
static bool every(folding *f, const ip_val *a, int axis, int64_t first, int64_t step, ip_val *out)
{
    const double from = (double)first, to = (double)a->u.array->type.shape[axis], by = (double)step;
    ip_arg args[] = { ip_arg_array(a->u.array),
                      vector("from", &from, 1),
                      vector("to", &to, 1),
                      vector("step", &by, 1),
                      { .name = "axis", .kind = IP_ARG_NUMBER, .number = axis } };
    return ip_call_args(f->ev, ip_op_find("slice"), f->call->offset, args, NULL, 5, out);
}

/* *p becomes fn(*p, *q); takes both. */
static bool combine(void *user, ip_val *p, ip_val *q)
{
    folding *f = user;
    ip_val pq[2] = { *p, *q }, out;
    bool ok = ip_call_function(f->ev, f->fn, pq, 2, f->call->offset, &out);
    ip_val_free(p);
    ip_val_free(q);
    if (!ok) return false;
    *p = out;
    if (out.kind == IP_V_ARRAY) return true;
    ip_val_free(p);
    return ip_eval_fail(f->ev, f->call->offset, "reduce: the function must use its arguments");
}

/* Elements first, first + step, ... along the axis, of all arrays. */
static bool every_of_all(folding *f, const ip_val *a, int axis, int64_t first, int64_t step, ip_val *out)
{
    const int n = f->joining->n;
    int done = 0;
    while (done < n && every(f, &a[done], axis, first, step, &out[done]))
        done++;
    for (int k = 0; done < n && k < done; k++)
        ip_val_free(&out[k]);
    return done == n;
}

/* One level: each of a becomes its fold of runs of up to WAYS elements. */
static bool fold_level(folding *f, ip_val *a, int axis)
{
    const ip_joining *j = f->joining;
    int64_t n = a->u.array->type.shape[axis], ways = n < 2 ? 2 : n < WAYS ? n : WAYS;
    ip_val folded[MOST], next[MOST];
    for (int k = 0; k < j->n; k++)
        if (!fill_up(f, &a[k], j->inits[k], axis, (n < 1 ? 1 : (n + ways - 1) / ways) * ways)) return false;
    bool ok = every_of_all(f, a, axis, 0, ways, folded);
    for (int64_t way = 1; ok && way < ways; way++) {
        ok = every_of_all(f, a, axis, way, ways, next);
        if (ok)
            ok = j->join(j->user, folded, next);
        else
            for (int k = 0; k < j->n; k++)
                ip_val_free(&folded[k]);
    }
    if (!ok) return false;
    for (int k = 0; k < j->n; k++) {
        ip_val_free(&a[k]);
        a[k] = folded[k];
    }
    return true;
}

static bool drop_axes(folding *f, ip_val *a, unsigned axes)
{
    double shape[IMGPAR_MAX_RANK];
    const ip_type *type = &a->u.array->type;
    int n = 0;
    for (int k = 0; k < type->rank; k++)
        if (!(axes >> k & 1)) shape[n++] = (double)type->shape[k];
    if (n == 0) shape[n++] = 1;
    ip_arg args[] = { ip_arg_array(a->u.array), vector("shape", shape, n) };
    ip_val out;
    if (!ip_call_args(f->ev, ip_op_find("reshape"), f->call->offset, args, NULL, 2, &out)) return false;
    ip_val_free(a);
    *a = out;
    return true;
}

/* A number or a vector as bits; 0 and up while checking, where the rank is not known. */
static bool axes_of(ip_eval *ev, const ip_node *node, int rank, unsigned *axes)
{
    ip_val v;
    if (!ip_eval_value(ev, node, &v)) return false;
    const ip_matrix *m = v.kind == IP_V_MATRIX ? v.u.matrix : NULL;
    bool ok = m || v.kind == IP_V_NUMBER || v.kind == IP_V_ANY;
    int n = m ? m->rows * m->cols : 1;
    double bad = 0;
    *axes = 0;
    for (int k = 0; ok && !ev->checking && k < n; k++) {
        double axis = m ? m->numbers[k] : v.number;
        if (axis < 0) axis += rank;
        ok = axis == floor(axis) && axis >= 0 && axis < rank;
        bad = m ? m->numbers[k] : v.number;
        if (ok) *axes |= 1u << (int)axis;
    }
    ip_val_free(&v);
    if (ok) return true;
    return ev->checking ? ip_eval_fail(ev, node->offset, "reduce: axis is a number or a vector")
                        : ip_eval_fail(ev, node->offset, "reduce: there is no axis %g; a has %d %s", bad, rank,
                                       ip_word_for(rank, "axis", "axes"));
}

/* The axes in another order, and another shape. */
static bool rearrange(folding *f, ip_val *a, const double *order, int rank, const double *shape, int n)
{
    ip_val moved, out;
    ip_arg axes[] = { ip_arg_array(a->u.array), vector("axes", order, rank) };
    if (!ip_call_args(f->ev, ip_op_find("permute"), f->call->offset, axes, NULL, 2, &moved)) return false;
    ip_arg extents[] = { ip_arg_array(moved.u.array), vector("shape", shape, n) };
    bool ok = ip_call_args(f->ev, ip_op_find("reshape"), f->call->offset, extents, NULL, 2, &out);
    ip_val_free(&moved);
    if (!ok) return false;
    ip_val_free(a);
    *a = out;
    return true;
}

/* *a, whose last axis is folded: the last element of a scan of at least one. */
static bool fold_lines(folding *f, ip_val *a, const ip_fold_function *function)
{
    const int last = a->u.array->type.rank - 1;
    const int64_t n = a->u.array->type.shape[last];
    ip_val scanned, end;
    if (n == 0) return fill_up(f, a, f->init, last, 1);
    const ip_scan_options options = { .axis = last };
    imgpar_array *scan = ip_build_scan_fold(f->ev->ctx, a->u.array, f->init, &options, function->p.u.array,
                                            function->q.u.array, function->body.u.array);
    if (!ip_call_result(f->ev, f->call->offset, scan, &scanned)) return false;
    bool ok = every(f, &scanned, last, n - 1, 1, &end);
    ip_val_free(&scanned);
    if (!ok) return false;
    ip_val_free(a);
    *a = end;
    return true;
}

/* Where the axes of an array go: the folded ones behind the others, as one. */
typedef struct layout {
    double order[IMGPAR_MAX_RANK], lines[IMGPAR_MAX_RANK], result[IMGPAR_MAX_RANK];
    int n_lines, n_result;
} layout;

static layout layout_of(const ip_type *type, unsigned axes, bool keepdims)
{
    layout l = { .n_lines = 0 };
    double n = 1;
    int n_order = 0;
    for (int k = 0; k < type->rank; k++) {
        const bool folded = axes >> k & 1;
        if (!folded) l.order[n_order++] = k, l.lines[l.n_lines++] = (double)type->shape[k];
        if (!folded || keepdims) l.result[l.n_result++] = folded ? 1 : (double)type->shape[k];
        if (folded) n *= (double)type->shape[k];
    }
    for (int k = 0; k < type->rank; k++)
        if (axes >> k & 1) l.order[n_order++] = k;
    if (l.n_lines < IMGPAR_MAX_RANK) l.lines[l.n_lines++] = n;
    if (l.n_result == 0) l.result[l.n_result++] = 1;
    return l;
}

static bool reshape(folding *f, ip_val *a, const double *shape, int n)
{
    ip_val out;
    ip_arg extents[] = { ip_arg_array(a->u.array), vector("shape", shape, n) };
    if (!ip_call_args(f->ev, ip_op_find("reshape"), f->call->offset, extents, NULL, 2, &out)) return false;
    ip_val_free(a);
    *a = out;
    return true;
}

bool ip_reduce_to_lines(ip_eval *ev, const ip_node *call, unsigned axes, ip_val *a)
{
    folding f = { .ev = ev, .call = call };
    const layout l = layout_of(&a->u.array->type, axes, false);
    return rearrange(&f, a, l.order, a->u.array->type.rank, l.lines, l.n_lines);
}

bool ip_reduce_last(ip_eval *ev, const ip_node *call, const ip_type *type, unsigned axes, bool keepdims, ip_val *a)
{
    folding f = { .ev = ev, .call = call };
    const layout l = layout_of(type, axes, keepdims);
    const int last = a->u.array->type.rank - 1;
    ip_val end;
    if (!every(&f, a, last, a->u.array->type.shape[last] - 1, 1, &end)) return false;
    ip_val_free(a);
    *a = end;
    return reshape(&f, a, l.result, l.n_result);
}

bool ip_reduce_in_order(ip_eval *ev, const ip_node *call, ip_val *a, unsigned axes, bool keepdims, double init,
                        const ip_fold_function *function)
{
    folding f = { .ev = ev, .call = call, .init = init };
    const ip_type type = a->u.array->type;
    const layout l = layout_of(&type, axes, keepdims);
    if (!(axes & ((1u << type.rank) - 1))) return true; /* no axes */
    return rearrange(&f, a, l.order, type.rank, l.lines, l.n_lines) && fold_lines(&f, a, function) &&
           reshape(&f, a, l.result, l.n_result);
}

bool ip_reduce_options(ip_eval *ev, const ip_node *axis, const ip_node *keepdims, const ip_val *a, unsigned *axes,
                       bool *keeps)
{
    ip_val v = { .kind = IP_V_NONE };
    if (!axes_of(ev, axis, ev->checking ? IMGPAR_MAX_RANK : a->u.array->type.rank, axes)) return false;
    if (keepdims && !ip_eval_number(ev, keepdims, "reduce: keepdims", &v)) return false;
    *keeps = v.number != 0;
    return true;
}

bool ip_reduce_levels(ip_eval *ev, const ip_node *call, const ip_joining *joining, unsigned axes, bool keepdims,
                      ip_val *vals)
{
    folding f = { .ev = ev, .call = call, .joining = joining };
    bool ok = true;
    for (int k = 0; ok && k < vals->u.array->type.rank; k++)
        while (axes >> k & 1) {
            ok = fold_level(&f, vals, k);
            if (!ok || vals->u.array->type.shape[k] == 1) break;
        }
    for (int k = 0; ok && !keepdims && k < joining->n; k++)
        ok = drop_axes(&f, &vals[k], axes);
    for (int k = 0; !ok && k < joining->n; k++)
        ip_val_free(&vals[k]);
    return ok;
}

bool ip_reduce_axes(ip_eval *ev, const ip_node *call, const ip_val *a, unsigned axes, bool keepdims, double init,
                    const ip_val *fn, ip_val *out)
{
    folding f = { .ev = ev, .call = call, .fn = fn };
    const ip_joining joining = { .n = 1, .inits = &init, .join = combine, .user = &f };
    *out = ip_val_copy(a);
    return ip_reduce_levels(ev, call, &joining, axes, keepdims, out);
}
