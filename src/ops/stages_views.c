/* SPDX-License-Identifier: MIT */
/* Index maps of views; shapes are those that infer_views.c gave. */
#include "ops/slices.h"

#include "base/alloc.h"
#include "graph/services.h"
#include "ops/complex.h"

#include <stdlib.h>
#include <string.h>

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }
static const ip_type *in_type(const ip_lower *l) { return &l->node->inputs[0]->type; }
static int in_dim(const ip_lower *l, int axis) { return ip_type_axis_dim(in_type(l), axis); }
static int out_dim(const ip_lower *l, int axis) { return ip_type_axis_dim(&l->node->type, axis); }

/* Parameters were checked when the node was built. */
static ip_error ignored(void) { return (ip_error){ .status = IMGPAR_OK }; }

/* ---- strides -------------------------------------------------------------------------------- */

/* The index along an axis of the input: offset, plus step times the coordinate along one of the result, if step is
 * not 0. */
typedef struct along {
    int64_t offset, step;
    int axis;
} along;

/*
 * Note [Strides of folded axes]
 * Axes that are folded (graph/array.h) are one stride where the index grows with each of them as it does with z: by
 * lambda times as much as z does. So do whole arrays, and slices and reversals of the outermost long axis.
 */
static bool as_strides(const ip_lower *l, const along axes[IP_MAX_AXES], ip_affine *m)
{
    const ip_type *in = in_type(l), *out = &l->node->type;
    int64_t by[4][IP_MAX_AXES] = { { 0 } }; /* how an index grows with the coordinate along an axis of the result */
    for (int k = 0; k < in->rank; k++) {
        const int64_t step = ip_type_axis_step(in, k);
        m->offset[in_dim(l, k)] += step * axes[k].offset;
        if (axes[k].step) by[in_dim(l, k)][axes[k].axis] += step * axes[k].step;
    }
    for (int d = 0; d < 4; d++) {
        bool has_lambda = false;
        for (int k = 0; k < out->rank; k++) {
            const int64_t step = ip_type_axis_step(out, k);
            const bool shares = ip_type_is_folded(out) && out_dim(l, k) == 0;
            if (step == 0 || (shares && out->shape[k] == 1)) continue; /* ops/view.h, Note [Empty arrays] */
            if (by[d][k] % step || (shares && has_lambda && m->stride[d][0] != by[d][k] / step)) return false;
            m->stride[d][out_dim(l, k)] = by[d][k] / step;
            has_lambda = has_lambda || shares;
        }
    }
    return true;
}

static ip_stage *along_axes(ip_lower *l, const along axes[IP_MAX_AXES])
{
    ip_affine m = { .base = NULL };
    ip_expr *at[IP_MAX_AXES];
    if (as_strides(l, axes, &m)) return ip_view_affine(l, 0, &m);
    for (int k = 0; k < in_type(l)->rank; k++) {
        const along *a = &axes[k];
        const int dim = in_dim(l, k);
        at[k] = ip_extent(l, dim, a->offset);
        if (!a->step) continue;
        ip_expr *by = binary(l, IP_X_MUL, ip_axis_coord(l, a->axis), ip_extent(l, dim, llabs(a->step)));
        at[k] = binary(l, a->step < 0 ? IP_X_SUB : IP_X_ADD, at[k], by);
    }
    return ip_view_stage(l, ip_view_read(l, 0, at));
}

ip_stage *ip_stages_slice(ip_lower *l)
{
    along axes[IP_MAX_AXES];
    ip_slice slices[IP_MAX_AXES];
    ip_error err = ignored();
    ip_slices_of(l->node, slices, &err);
    bool is_all = true; /* from the first on, as many as there are: the array itself */
    for (int k = 0; k < l->node->type.rank; k++)
        is_all = is_all && slices[k].start == 0 && slices[k].step == 1 && slices[k].count == in_type(l)->shape[k];
    if (is_all) return l->in[0];
    for (int k = 0; k < l->node->type.rank; k++)
        axes[k] = (along){ slices[k].start, slices[k].step, k };
    return along_axes(l, axes);
}

ip_stage *ip_stages_permute(ip_lower *l)
{
    along axes[IP_MAX_AXES];
    int order[IP_MAX_AXES];
    ip_error err = ignored();
    ip_permutation_of(l->node, order, &err);
    for (int k = 0; k < l->node->type.rank; k++)
        axes[order[k]] = (along){ 0, 1, k };
    return along_axes(l, axes);
}

ip_stage *ip_stages_reverse(ip_lower *l)
{
    along axes[IP_MAX_AXES];
    unsigned turned;
    ip_error err = ignored();
    ip_axes_of(l->node, "axis", l->node->type.rank, &turned, &err);
    for (int k = 0; k < l->node->type.rank; k++)
        axes[k] = turned >> k & 1 ? (along){ l->node->type.shape[k] - 1, -1, k } : (along){ 0, 1, k };
    return along_axes(l, axes);
}

ip_stage *ip_stages_broadcast_to(ip_lower *l)
{
    along axes[IP_MAX_AXES];
    int more = l->node->type.rank - in_type(l)->rank;
    for (int k = 0; k < in_type(l)->rank; k++)
        axes[k] = (along){ 0, in_type(l)->shape[k] != 1, k + more };
    return along_axes(l, axes);
}

/* ---- reshape --------------------------------------------------------------------------------- */

/* Axes from..to-1 of the one shape and the other that hold as many elements, in the same order. */
typedef struct group {
    int from[2], to[2];
} group;

/* Cuts two shapes with equally many elements into the smallest groups; returns their number. */
static int groups_of(const ip_type *a, const ip_type *b, group groups[IP_MAX_AXES])
{
    const ip_type *const type[2] = { a, b };
    int at[2] = { 0, 0 }, n = 0;
    while (at[0] < a->rank && at[1] < b->rank) {
        group g = { { at[0], at[1] }, { at[0] + 1, at[1] + 1 } };
        int64_t count[2] = { a->shape[at[0]], b->shape[at[1]] };
        while (count[0] != count[1]) {
            int side = count[0] > count[1];
            if (g.to[side] == type[side]->rank) break; /* Note [Empty arrays] */
            count[side] *= type[side]->shape[g.to[side]++];
        }
        groups[n++] = g;
        for (int side = 0; side < 2; side++)
            at[side] = g.to[side];
    }
    return n; /* what is left has extents of 1 */
}

/* How many axes of the group have more than one element. */
static int n_long(const ip_type *type, int from, int to)
{
    int n = 0;
    for (int k = from; k < to; k++)
        n += type->shape[k] != 1;
    return n;
}

/* The position within a group of the result's axes, counted in its order, in dtype. */
static ip_expr *position(ip_lower *l, const ip_type *out, const group *g, imgpar_dtype dtype)
{
    ip_expr *at = ip_x_int(l->ir, dtype, 0);
    for (int k = g->from[1]; k < g->to[1]; k++) {
        const int dim = ip_type_axis_dim(out, k);
        ip_expr *extent = ip_extent(l, dim, out->shape[k]),
                *here = out->shape[k] == 1 ? ip_lower_i32(l, 0) : ip_lower_coord(l, dim);
        at = binary(l, IP_X_ADD, binary(l, IP_X_MUL, at, ip_x_cast(l->ir, dtype, extent)),
                    ip_x_cast(l->ir, dtype, here));
    }
    return at;
}

/* Indices of the input's axes in a group from the position in it. */
static void join_axes(ip_lower *l, const ip_type *type, const ip_type *out, const group *g, ip_expr *at[IP_MAX_AXES])
{
    double count = 1;
    for (int k = g->from[0]; k < g->to[0]; k++)
        count *= (double)type->shape[k];
    imgpar_dtype dtype = count < 0x1p32 ? IMGPAR_U32 : IMGPAR_U64;
    ip_expr *rest = position(l, out, g, dtype);
    int n = n_long(type, g->from[0], g->to[0]);
    for (int k = g->to[0] - 1; k >= g->from[0]; k--) {
        if (type->shape[k] == 1) continue;
        ip_expr *index = rest;
        if (--n > 0) ip_extent_divide(l, ip_type_axis_dim(type, k), rest, count, type->shape[k], &rest, &index);
        at[k] = ip_x_cast(l->ir, IMGPAR_I32, index);
    }
}

/* A group with one long axis of the input: its index is a sum of strides. */
static void split_axis(const ip_type *type, const ip_type *out, const group *g, ip_affine *m)
{
    int axis = g->from[0];
    while (axis < g->to[0] && type->shape[axis] == 1)
        axis++;
    int64_t stride = 1;
    for (int k = g->to[1] - 1; axis < g->to[0] && k >= g->from[1]; k--) {
        m->stride[ip_type_axis_dim(type, axis)][ip_type_axis_dim(out, k)] = stride;
        stride *= out->shape[k];
    }
}

/* type is of up to four axes: elements lie so, however many there are (Note [Folded axes]). */
static ip_stage *reshaped(ip_lower *l, ip_stage *from, const ip_type *type)
{
    group groups[IP_MAX_AXES];
    ip_affine m = { .base = NULL };
    ip_expr *at[IP_MAX_AXES] = { NULL };
    const ip_type out = ip_type_folded(&l->node->type);
    int n = groups_of(type, &out, groups);
    bool splits_only = true;
    for (int k = 0; k < n; k++)
        splits_only = splits_only && n_long(type, groups[k].from[0], groups[k].to[0]) <= 1;
    for (int k = 0; k < n; k++) {
        if (splits_only)
            split_axis(type, &out, &groups[k], &m);
        else
            join_axes(l, type, &out, &groups[k], at);
    }
    if (splits_only) return ip_view_affine_stage(l, from, &m);
    return ip_view_stage(l, ip_view_read_stage(l, from, type, at));
}

/* Elements that lie in memory do so in every shape: the source again, as one of the result's shape. NULL: from is none,
 * or is decoded when it is needed, once for each source. */
static ip_stage *same_memory(ip_lower *l, const ip_stage *from)
{
    const ip_source *source = from->node ? from->node->source : NULL;
    bool is_there = from->value || (source && (source->kind == IP_SOURCE_PIXELS || source->kind == IP_SOURCE_BUFFER));
    if (from->kind != IP_STAGE_SOURCE || !is_there) return NULL;
    int64_t dims[4];
    imgpar_dtype dtype = ip_type_storage(&l->node->type, dims);
    ip_stage *s = ip_stage_new(l->ir, IP_STAGE_SOURCE, dtype, dims, from->node);
    if (!s) return NULL;
    s->lo = from->lo;
    s->hi = from->hi;
    s->value = from->value ? ip_services_get()->retain_value(from->value) : NULL;
    return s;
}

/* Whether the result's elements lie as those of the stage do, axis by axis. */
static bool has_dims(const ip_lower *l, const ip_stage *from)
{
    int64_t dims[4];
    imgpar_dtype dtype = ip_type_storage(&l->node->type, dims);
    return from->dtype == dtype && memcmp(dims, from->dims, sizeof dims) == 0;
}

/* reshape, squeeze and expand_dims: the elements in their order. Of a reshaped array, that which was reshaped; to the
 * dims that they have, the argument itself. */
ip_stage *ip_stages_reshape(ip_lower *l)
{
    ip_stage *in = l->in[0];
    if (!in) return NULL;
    if (has_dims(l, in)) return in;
    ip_stage *same = same_memory(l, in);
    if (same) return same;
    bool again = in->view && in->view->reshaped;
    ip_stage *from = again ? in->view->reshaped : in;
    const ip_type type = again ? in->view->type : ip_type_folded(in_type(l));
    ip_stage *s = reshaped(l, from, &type);
    ip_view *view = ip_ir_alloc(l->ir, 1, sizeof *view);
    if (!s || !view) return NULL;
    if (s->view) *view = *s->view;
    view->reshaped = from;
    view->type = type;
    s->view = view;
    return s;
}

/* ---- indices that are no strides ---------------------------------------------------------------- */

/* All coordinates as they are. */
static void same_place(ip_lower *l, ip_expr *at[IP_MAX_AXES])
{
    for (int k = 0; k < IP_MAX_AXES; k++)
        at[k] = k < l->node->type.rank ? ip_axis_coord(l, k) : NULL;
}

static ip_expr *extent_of(ip_lower *l, int axis) { return ip_extent(l, in_dim(l, axis), in_type(l)->shape[axis]); }

ip_stage *ip_stages_repeat(ip_lower *l)
{
    ip_expr *at[IP_MAX_AXES];
    ip_error err = ignored();
    int axis;
    ip_axis_param(l->node, in_type(l)->rank, &axis, &err);
    same_place(l, at);
    ip_expr *x = ip_x_cast(l->ir, IMGPAR_U32, at[axis]), *q;
    int64_t times = (int64_t)ip_param_number(l->node, "times");
    if (times <= IP_FEW_TIMES)
        q = binary(l, IP_X_IDIV, x, ip_x_int(l->ir, IMGPAR_U32, times));
    else
        ip_extent_divide(l, out_dim(l, axis), x, 0, times, &q, NULL);
    at[axis] = ip_x_cast(l->ir, IMGPAR_I32, q);
    return ip_view_stage(l, ip_view_read(l, 0, at));
}

ip_stage *ip_stages_tile(ip_lower *l)
{
    ip_expr *at[IP_MAX_AXES];
    same_place(l, at);
    for (int k = 0; k < in_type(l)->rank; k++) {
        if (l->node->type.shape[k] == in_type(l)->shape[k]) continue;
        ip_expr *x = ip_x_cast(l->ir, IMGPAR_U32, at[k]), *rest;
        ip_extent_divide(l, in_dim(l, k), x, 0, in_type(l)->shape[k], NULL, &rest);
        at[k] = ip_x_cast(l->ir, IMGPAR_I32, rest);
    }
    return ip_view_stage(l, ip_view_read(l, 0, at));
}

/*
 * Note [Axes that stay]
 * What is shifted along some of z, y and x is shifted along each of them by an argument, which may be 0: a shift down
 * needs no other program than one to the side, and takes no longer (0.20 ms of 4 million bytes, 0.63 ms of 12, both
 * ways). What is padded is padded along z and y by arguments, too, but rows that stay as they are have a program of
 * their own, which copies them: 0.23 ms of 4 million bytes, where one that looks for the ends of each row takes 1.4.
 * Channels are part of the program.
 */
/* The element at k comes from k - offset, or from behind the end: + extent. */
static ip_stage *shifted_round(ip_lower *l, int64_t offsets[IP_MAX_AXES])
{
    ip_expr *at[IP_MAX_AXES];
    bool moves = false;
    same_place(l, at);
    for (int k = 0; k < in_type(l)->rank; k++) {
        int64_t n = in_type(l)->shape[k];
        offsets[k] = n ? (offsets[k] % n + n) % n : 0;
        moves = moves || (offsets[k] && in_dim(l, k) != 3);
    }
    for (int k = 0; k < in_type(l)->rank; k++) {
        bool is_channel = in_dim(l, k) == 3;
        if (is_channel ? !offsets[k] : !moves || in_type(l)->shape[k] <= 1) continue;
        ip_expr *by = is_channel ? ip_extent(l, 3, offsets[k]) : ip_offset(l, offsets[k]);
        ip_expr *ends = binary(l, IP_X_SUB, extent_of(l, k), by);
        at[k] = binary(l, IP_X_ADD, at[k],
                       ip_x_select(l->ir, binary(l, IP_X_LT, at[k], by), ends, ip_x_unary(l->ir, IP_X_NEG, by)));
    }
    return ip_view_stage(l, ip_view_read(l, 0, at));
}

ip_stage *ip_stages_circshift(ip_lower *l)
{
    int64_t offsets[IP_MAX_AXES];
    ip_error err = ignored();
    ip_counts_of(l->node, "offsets", 0, offsets, &err);
    return shifted_round(l, offsets);
}

/* Of variant 1 back again. */
ip_stage *ip_stages_fftshift(ip_lower *l)
{
    int64_t offsets[IP_MAX_AXES] = { 0 };
    for (int k = 0; k < in_type(l)->rank; k++) {
        const int dim = in_dim(l, k);
        const int64_t half = in_type(l)->shape[k] / 2;
        if (dim == 1 || dim == 2) offsets[k] = l->node->op->variant ? -half : half;
    }
    return shifted_round(l, offsets);
}

static ip_expr *both(ip_lower *l, ip_expr *a, ip_expr *b) { return a ? binary(l, IP_X_AND, a, b) : b; }

ip_stage *ip_stages_pad(ip_lower *l)
{
    ip_expr *at[IP_MAX_AXES], *inside = NULL, *cval;
    int64_t before[IP_MAX_AXES];
    bool moves = false;
    ip_error err = ignored();
    same_place(l, at);
    ip_counts_of(l->node, "before", 0, before, &err);
    int border = ip_lower_border(l, l->in[0]->dtype, &cval);
    if (cval && ip_type_is_complex(in_type(l))) cval = ip_complex_choose(l, (ip_complex){ .re = cval });
    for (int k = 0; k < in_type(l)->rank; k++)
        moves = moves || (in_dim(l, k) != 3 && l->node->type.shape[k] != in_type(l)->shape[k]);
    for (int k = 0; k < in_type(l)->rank; k++) {
        bool is_channel = in_dim(l, k) == 3, stays = l->node->type.shape[k] == in_type(l)->shape[k];
        bool is_row = in_dim(l, k) == 2 || in_type(l)->shape[k] <= 1;
        if (stays && (is_channel || is_row || !moves)) continue; /* Note [Axes that stay] */
        ip_expr *n = extent_of(l, k), *zero = ip_lower_i32(l, 0);
        bool begins = before[k] || !is_channel;
        if (begins)
            at[k] = binary(l, IP_X_SUB, at[k], is_channel ? ip_extent(l, 3, before[k]) : ip_offset(l, before[k]));
        if (border == IMGPAR_BORDER_CONSTANT) {
            if (begins) inside = both(l, inside, binary(l, IP_X_LE, zero, at[k]));
            inside = both(l, inside, binary(l, IP_X_LT, at[k], n));
        }
        at[k] = ip_x_border(l->ir, border == IMGPAR_BORDER_CONSTANT ? IMGPAR_BORDER_REPLICATE : border, at[k], n);
    }
    if (ip_type_count(in_type(l)) == 0) return ip_view_stage(l, cval ? cval : ip_view_read(l, 0, at));
    ip_expr *value = ip_view_read(l, 0, at);
    return ip_view_stage(l, inside ? ip_x_select(l->ir, inside, value, cval) : value);
}

ip_stage *ip_stages_skew(ip_lower *l)
{
    ip_expr *at[IP_MAX_AXES], *zero = ip_lower_i32(l, 0);
    const int64_t step = (int64_t)ip_param_number(l->node, "step"), rows = in_type(l)->shape[0];
    same_place(l, at);
    if (step == 0) return ip_view_stage(l, ip_view_read(l, 0, at));
    if (ip_type_count(in_type(l)) == 0) /* lines without elements become lines of 0 */
        return ip_view_stage(l, ip_x_number(l->ir, ip_view_read(l, 0, at)->dtype, 0));
    ip_expr *shift = binary(l, IP_X_MUL, at[0], ip_lower_i32(l, step)),
            *last = binary(l, IP_X_SUB, extent_of(l, 1), ip_lower_i32(l, 1));
    if (step < 0) shift = binary(l, IP_X_SUB, shift, ip_extent(l, in_dim(l, 1), step * (rows - 1)));
    ip_expr *from = binary(l, IP_X_SUB, at[1], shift);
    ip_expr *inside = binary(l, IP_X_AND, binary(l, IP_X_LE, zero, from), binary(l, IP_X_LE, from, last));
    at[1] = binary(l, IP_X_MIN, binary(l, IP_X_MAX, from, zero), last);
    ip_expr *value = ip_view_read(l, 0, at);
    return ip_view_stage(l, ip_x_select(l->ir, inside, value, ip_x_number(l->ir, value->dtype, 0)));
}

/* Where u64 meets a signed integer what i64 does not hold wraps, as in select. */
static ip_expr *joined(ip_lower *l, imgpar_dtype dtype, ip_expr *x)
{
    return dtype == IMGPAR_I64 && x->dtype == IMGPAR_U64 ? ip_x_cast(l->ir, dtype, x) : ip_lower_convert(l, dtype, x);
}

ip_stage *ip_stages_concatenate(ip_lower *l)
{
    ip_expr *at_a[IP_MAX_AXES], *at_b[IP_MAX_AXES];
    const ip_type *b = &l->node->inputs[1]->type;
    imgpar_dtype dtype = l->node->type.dtype;
    ip_error err = ignored();
    int axis;
    ip_axis_param(l->node, in_type(l)->rank, &axis, &err);
    same_place(l, at_a);
    same_place(l, at_b);
    int64_t n = in_type(l)->shape[axis];
    if (n == 0 || b->shape[axis] == 0) {
        int k = n == 0;
        return ip_view_stage(l, joined(l, dtype, ip_view_read(l, k, at_a)));
    }
    ip_expr *extent = extent_of(l, axis), *here = at_a[axis];
    at_a[axis] = binary(l, IP_X_MIN, here, binary(l, IP_X_SUB, extent, ip_lower_i32(l, 1)));
    at_b[axis] = binary(l, IP_X_MAX, binary(l, IP_X_SUB, here, extent), ip_lower_i32(l, 0));
    ip_expr *of_a = joined(l, dtype, ip_view_read(l, 0, at_a));
    ip_expr *of_b = joined(l, dtype, ip_view_read(l, 1, at_b));
    return ip_view_stage(l, ip_x_select(l->ir, binary(l, IP_X_LT, here, extent), of_a, of_b));
}

ip_stage *ip_stages_diag(ip_lower *l)
{
    int64_t k = (int64_t)ip_param_number(l->node, "k"), down = k < 0 ? -k : 0, right = k > 0 ? k : 0;
    if (in_type(l)->rank == 2) {
        ip_affine m = { .base = NULL };
        m.offset[1] = down;
        m.offset[2] = right;
        m.stride[1][2] = 1;
        m.stride[2][2] = 1;
        return ip_view_affine(l, 0, &m);
    }
    ip_expr *y = ip_axis_coord(l, 0), *x = ip_axis_coord(l, 1), *at[IP_MAX_AXES] = { NULL };
    if (down) y = binary(l, IP_X_SUB, y, ip_extent(l, 1, down));
    if (right) x = binary(l, IP_X_SUB, x, ip_extent(l, 2, right));
    ip_expr *value, *zero = ip_x_number(l->ir, l->in[0]->dtype == IMGPAR_F16 ? IMGPAR_F32 : l->in[0]->dtype, 0);
    if (in_type(l)->shape[0] == 0) return ip_view_stage(l, zero);
    at[0] = ip_x_border(l->ir, IMGPAR_BORDER_REPLICATE, x, extent_of(l, 0));
    value = ip_view_read(l, 0, at);
    return ip_view_stage(l, ip_x_select(l->ir, binary(l, IP_X_EQ, y, x), value, zero));
}
