/* SPDX-License-Identifier: MIT */
#include "ops/view.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/plural.h"
#include "ops/complex.h"
#include "ops/infer.h"

#include <math.h>
#include <string.h>

enum { C = 3, FEW_CHANNELS = 4, MAX_SIZE = 200 };

/* ---- shapes --------------------------------------------------------------------------- */

imgpar_status ip_no_axis(const char *name, double number, const ip_type *a, ip_error *err)
{
    char shape[96];
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: there is no axis %g; a has %d %s: %s", name, number, a->rank,
                   ip_word_for(a->rank, "axis", "axes"), ip_shape_text(a, shape));
}

imgpar_status ip_axis_of(const imgpar_array *node, double number, int rank, int *axis, ip_error *err)
{
    if (number != floor(number) || number < -rank || number >= rank) {
        const char *name = node->op->info.name;
        const ip_type *a = node->op->info.n_inputs ? &node->inputs[0]->type : NULL;
        return a && a->rank == rank ? ip_no_axis(name, number, a, err)
                                    : ip_fail(err, IMGPAR_E_SHAPE, "%s: there is no axis %g; the result has %d %s",
                                              name, number, rank, ip_word_for(rank, "axis", "axes"));
    }
    *axis = (int)number + (number < 0 ? rank : 0);
    return IMGPAR_OK;
}

imgpar_status ip_axis_param(const imgpar_array *node, int rank, int *axis, ip_error *err)
{
    return ip_axis_of(node, ip_param_number(node, "axis"), rank, axis, err);
}

imgpar_status ip_vector_whole(const imgpar_array *node, const char *param, int max, int64_t *out, int *n, ip_error *err)
{
    const ip_param *p = ip_param_get(node, param);
    *n = p->numbers ? p->cols : 0;
    if (*n > max)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s has %d %s; there %s %d %s", node->op->info.name, param, *n,
                       ip_word_for(*n, "element", "elements"), ip_word_for(max, "is", "are"), max,
                       ip_word_for(max, "axis", "axes"));
    for (int k = 0; k < *n; k++)
        out[k] = (int64_t)fmin(fmax(p->numbers[k], -0x1p53), 0x1p53); /* far beyond any extent */
    return IMGPAR_OK;
}

imgpar_status ip_shape_set(imgpar_array *node, int rank, const int64_t *shape, ip_error *err)
{
    const char *name = node->op->info.name;
    size_t n = ip_dtype(node->type.dtype)->size_bytes;
    if (rank < 1 || rank > IP_MAX_AXES)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: the result would have %d axes; there can be 1 to %d", name, rank,
                       IP_MAX_AXES);
    bool fits = true;
    for (int k = 0; k < rank; k++) {
        if (shape[k] < 0 || shape[k] > INT32_MAX)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: an extent of %lld is not 0 to 2147483647", name,
                           (long long)shape[k]);
        fits = fits && ip_mul_size(n, (size_t)shape[k], &n) && n <= INT64_MAX;
    }
    if (!fits)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: the result would have more elements than any memory holds", name);
    node->type.rank = rank;
    memset(node->type.shape, 0, sizeof node->type.shape);
    memcpy(node->type.shape, shape, (size_t)rank * sizeof *shape);
    return IMGPAR_OK;
}

/* An image stays one as long as its channels do. */
static imgpar_space view_space(const ip_type *in, const ip_type *out)
{
    int64_t from[4], to[4];
    ip_type_dims(in, from);
    ip_type_dims(out, to);
    bool same = from[C] == to[C] && ip_type_axis_dim(in, 0) == ip_type_axis_dim(out, 0);
    if (ip_type_is_folded(in) || ip_type_is_folded(out)) return IMGPAR_SPACE_DATA;
    return same ? in->space : IMGPAR_SPACE_DATA;
}

imgpar_status ip_infer_view(imgpar_array *node, int rank, const int64_t *shape, ip_error *err)
{
    ip_infer_copy(node);
    imgpar_status st = ip_shape_set(node, rank, shape, err);
    if (!st) node->type.space = view_space(&node->inputs[0]->type, &node->type);
    return st;
}

/* ---- numbers in programs ---------------------------------------------------------------- */

ip_expr *ip_extent(ip_lower *l, int dim, int64_t value)
{
    if (value == 0 || value == 1 || (dim == C && l->dims[C] <= FEW_CHANNELS)) return ip_lower_i32(l, value);
    return ip_x_param(l->ir, IMGPAR_I32, (double)value, value < 0 ? INT32_MIN : 1, value < 0 ? -1 : INT32_MAX);
}

/* Two classes, as coordinates have: sums of the smaller ones do not wrap. */
ip_expr *ip_offset(ip_lower *l, int64_t value)
{
    enum { FEW = 1 << 24 };
    return ip_x_param(l->ir, IMGPAR_I32, (double)value, 0, value <= FEW ? FEW : INT32_MAX);
}

ip_expr *ip_inside(ip_lower *l, int dim, int64_t before, int64_t behind)
{
    ip_expr *at = ip_lower_coord(l, dim), *from = NULL, *to = NULL;
    if (before > 0) from = ip_x_binary(l->ir, IP_X_LE, ip_lower_i32(l, before), at);
    if (behind > 0)
        to = ip_x_binary(l->ir, IP_X_LT, ip_x_binary(l->ir, IP_X_ADD, at, ip_lower_i32(l, behind)),
                         ip_extent(l, dim, l->dims[dim]));
    return from && to ? ip_x_binary(l->ir, IP_X_AND, from, to) : from ? from : to;
}

/*
 * Note [Dividing by an argument]
 * Processors divide slowly and not in vectors. For x < 2^31 and 2^(k-1) < d <= 2^k, with m the least whole number not
 * below 2^(31 + k) / d, x div d is (x m) >> (31 + k): m d exceeds 2^(31 + k) by less than d, so the product is too
 * large by less than 2^(31 + k) / d. m has 32 bits, and both m and the shift are arguments.
 */
static ip_expr *multiplied(ip_lower *l, ip_expr *x, uint64_t by)
{
    int k = 0;
    while ((uint64_t)1 << k < by)
        k++;
    uint64_t power = (uint64_t)1 << (31 + k), m = power / by + (power % by != 0);
    ip_expr *factor = ip_x_cast(l->ir, IMGPAR_U64, ip_x_param(l->ir, IMGPAR_U32, (double)m, 0, 4294967295.0));
    ip_expr *count = ip_x_cast(l->ir, IMGPAR_U64, ip_x_param(l->ir, IMGPAR_U32, 31 + k, 0, 63));
    ip_expr *product = ip_x_binary(l->ir, IP_X_MUL, ip_x_cast(l->ir, IMGPAR_U64, x), factor);
    return ip_x_cast(l->ir, x->dtype, ip_x_binary(l->ir, IP_X_SHR, product, count));
}

void ip_extent_divide(ip_lower *l, int dim, ip_expr *x, double most, int64_t by, ip_expr **quotient, ip_expr **rest)
{
    ip_expr *extent = ip_x_cast(l->ir, x->dtype, ip_extent(l, dim, by));
    bool divides = extent->op == IP_X_CONST || most >= 0x1p31 || by < 1;
    ip_expr *q = divides ? ip_x_binary(l->ir, IP_X_IDIV, x, extent) : multiplied(l, x, (uint64_t)by);
    if (quotient) *quotient = q;
    if (!rest) return;
    *rest = divides ? ip_x_binary(l->ir, IP_X_MOD, x, extent)
                    : ip_x_binary(l->ir, IP_X_SUB, x, ip_x_binary(l->ir, IP_X_MUL, q, extent));
}

ip_expr *ip_axis_coord(ip_lower *l, int axis)
{
    const ip_type *type = &l->node->type;
    const int dim = ip_type_axis_dim(type, axis);
    const int64_t extent = type->shape[axis], step = ip_type_axis_step(type, axis);
    if (extent == 1) return ip_lower_i32(l, 0);
    if (extent == l->dims[dim]) return ip_lower_coord(l, dim);
    if (l->folded_coords[axis]) return l->folded_coords[axis];
    ip_expr *at = ip_x_cast(l->ir, IMGPAR_U32, ip_lower_coord(l, dim)); /* graph/array.h, Note [Folded axes] */
    if (step > 1) ip_extent_divide(l, dim, at, 0, step, &at, NULL);
    if (extent * step < l->dims[dim]) ip_extent_divide(l, dim, at, 0, extent, NULL, &at);
    return l->folded_coords[axis] = ip_x_cast(l->ir, IMGPAR_I32, at);
}

/* Whether the axes of the type before its last three are those of the node, each read where it lies. */
static bool is_same_depth(ip_lower *l, const ip_type *type, ip_expr *const at[IP_MAX_AXES])
{
    const ip_type *own = &l->node->type;
    const int more = own->rank - type->rank;
    if (more < 0) return false;
    for (int axis = 0; axis < own->rank - C; axis++) {
        const int64_t extent = axis < more ? 1 : type->shape[axis - more];
        if (own->shape[axis] != extent) return false;
        if (extent != 1 && at[axis - more] != ip_axis_coord(l, axis)) return false;
    }
    return true;
}

/* The index along z of an array whose axes are folded. */
static ip_expr *folded_index(ip_lower *l, const ip_type *type, ip_expr *const at[IP_MAX_AXES])
{
    if (is_same_depth(l, type, at)) return ip_lower_coord(l, 0);
    ip_expr *sum = NULL;
    for (int axis = 0; axis < type->rank - C; axis++) {
        if (!at[axis] || type->shape[axis] == 1) continue;
        const int64_t step = ip_type_axis_step(type, axis);
        ip_expr *part = step == 1 ? at[axis] : ip_x_binary(l->ir, IP_X_MUL, at[axis], ip_extent(l, 0, step));
        sum = sum ? ip_x_binary(l->ir, IP_X_ADD, sum, part) : part;
    }
    return sum ? sum : ip_lower_i32(l, 0);
}

void ip_axes_index(ip_lower *l, const ip_type *type, ip_expr *const at[IP_MAX_AXES], ip_expr *index[4])
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    for (int axis = 0; axis < type->rank; axis++) {
        const int d = ip_type_axis_dim(type, axis);
        if (at[axis] && dims[d] != 1) index[d] = at[axis];
    }
    if (ip_type_is_folded(type) && dims[0] != 1) index[0] = folded_index(l, type, at);
}

/* ---- strides ------------------------------------------------------------------------------ */

/* b after a: what a's elements are in b's base. */
static ip_affine composed(const ip_affine *a, const ip_affine *b)
{
    ip_affine r = { .base = b->base };
    for (int d = 0; d < 4; d++) {
        r.offset[d] = b->offset[d];
        for (int j = 0; j < 4; j++) {
            r.offset[d] += b->stride[d][j] * a->offset[j];
            for (int k = 0; k < 4; k++)
                r.stride[d][k] += b->stride[d][j] * a->stride[j][k];
        }
    }
    return r;
}

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }
static ip_expr *plus(ip_lower *l, ip_expr *a, ip_expr *b) { return a ? ip_x_binary(l->ir, IP_X_ADD, a, b) : b; }

/* Index d is coordinate d plus an offset. */
static bool is_moved(const ip_affine *m, int d)
{
    bool is = m->stride[d][d] == 1 && m->offset[d] >= 0;
    for (int k = 0; k < 4; k++)
        is = is && (k == d || m->stride[d][k] == 0);
    return is;
}

/*
 * Note [Cut arrays]
 * Of an array that is cut along any of z, y and x, the indices along all of them are coordinates plus arguments: a
 * slice that begins with the first row, or takes all columns, needs no other program. One that is cut nowhere has plain
 * coordinates.
 */
static bool is_cut(const ip_affine *m, const int64_t dims[4])
{
    bool is = false;
    for (int d = 0; d < C; d++)
        is = is || (is_moved(m, d) && m->base->dims[d] != dims[d]);
    return is;
}

/* Index d of the base. A coordinate that is where it was stays as it is, so that readers see the same place. */
static ip_expr *affine_index(ip_lower *l, const ip_affine *m, int d, ip_expr *const at[4], const int64_t dims[4])
{
    ip_expr *sum = NULL;
    bool cuts = d < C && is_moved(m, d) && is_cut(m, dims);
    if (m->base->dims[d] == 1 && !cuts) return dims[d] == 1 ? at[d] : ip_lower_i32(l, 0);
    if (cuts) return ip_x_binary(l->ir, IP_X_ADD, at[d], ip_offset(l, m->offset[d]));
    int64_t offset = m->offset[d];
    for (int k = 0; k < 4; k++)
        if (dims[k] != 1 && m->stride[d][k] > 0)
            sum = plus(l, sum, ip_x_binary(l->ir, IP_X_MUL, at[k], ip_extent(l, k, m->stride[d][k])));
    if (offset) sum = plus(l, sum, ip_extent(l, d, offset));
    for (int k = 0; k < 4; k++)
        if (dims[k] != 1 && m->stride[d][k] < 0)
            sum = ip_x_binary(l->ir, IP_X_SUB, sum ? sum : ip_lower_i32(l, 0),
                              ip_x_binary(l->ir, IP_X_MUL, at[k], ip_extent(l, k, -m->stride[d][k])));
    return sum ? sum : ip_lower_i32(l, 0);
}

static ip_expr *affine_load(ip_lower *l, const ip_affine *m, ip_expr *const at[4], const int64_t dims[4])
{
    ip_expr *index[4];
    for (int d = 0; d < 4; d++)
        index[d] = affine_index(l, m, d, at, dims);
    return ip_x_load(l->ir, m->base, index, IP_BORDER_NONE, NULL);
}

/* ---- reading through views ------------------------------------------------------------------ */

static bool is_view(const ip_stage *s)
{
    return s->kind == IP_STAGE_MAP && s->node && s->node->op && s->node->op->flags & IP_OP_VIEW;
}

/* For --explain and kernel names: the node also does what the view's node did. */
static void note_absorbed(ip_lower *l, ip_stage *reader, const ip_stage *in)
{
    int n = reader->n_absorbed + in->n_absorbed + 1;
    const imgpar_array **nodes = ip_ir_alloc(l->ir, (size_t)n, sizeof *nodes);
    if (!nodes) return;
    if (in->n_absorbed) memcpy(nodes, in->absorbed, (size_t)in->n_absorbed * sizeof *nodes);
    nodes[in->n_absorbed] = in->node;
    if (reader->n_absorbed)
        memcpy(nodes + in->n_absorbed + 1, reader->absorbed, (size_t)reader->n_absorbed * sizeof *nodes);
    reader->absorbed = nodes;
    reader->n_absorbed = n;
}

static bool is_affine(const ip_stage *s) { return s->view && s->view->affine.base; }

static bool can_read_through(ip_lower *l, const ip_stage *in)
{
    return is_view(in) && (is_affine(in) || ip_x_size(l->ir, in->body) <= MAX_SIZE);
}

/* The element of a stage at four indices. */
static ip_expr *read_through(ip_lower *l, ip_stage *in, ip_expr *index[4])
{
    if (!can_read_through(l, in)) return ip_x_load(l->ir, in, index, IP_BORDER_NONE, NULL);
    return is_affine(in) ? affine_load(l, &in->view->affine, index, in->dims) : ip_x_put_coords(l->ir, in->body, index);
}

/* The index of a part of a complex number along the channels, from that of the number. */
static ip_expr *part_index(ip_lower *l, ip_expr *channel)
{
    return binary(l, IP_X_ADD, binary(l, IP_X_MUL, channel, ip_lower_i32(l, 2)), ip_complex_part(l));
}

ip_expr *ip_view_read_stage(ip_lower *l, ip_stage *in, const ip_type *type, ip_expr *const at[IP_MAX_AXES])
{
    ip_expr *index[4];
    bool is_complex = ip_type_is_complex(type);
    if (!in) return ip_x_load(l->ir, NULL, NULL, IP_BORDER_NONE, NULL);
    for (int d = 0; d < 4; d++)
        index[d] = in->dims[d] == 1 && l->dims[d] == 1 ? ip_lower_coord(l, d) : ip_lower_i32(l, 0);
    ip_axes_index(l, type, at, index);
    if (is_complex) index[C] = part_index(l, index[C]);
    ip_expr *x = read_through(l, in, index);
    if (!ip_type_is_complex(&l->node->type)) return x;
    x = ip_lower_convert(l, ip_dtype_part(l->node->type.dtype), x);
    return is_complex ? x : ip_complex_choose(l, (ip_complex){ .re = x });
}

ip_expr *ip_view_read(ip_lower *l, int k, ip_expr *const at[IP_MAX_AXES])
{
    return ip_view_read_stage(l, l->in[k], &l->node->inputs[k]->type, at);
}

ip_stage *ip_view_stage(ip_lower *l, ip_expr *value)
{
    ip_stage *s = ip_type_is_complex(&l->node->type) ? ip_complex_map_part(l, value) : ip_lower_map(l, value);
    for (int k = 0; s && k < l->node->n_inputs; k++)
        if (l->in[k] && can_read_through(l, l->in[k])) note_absorbed(l, s, l->in[k]);
    return s;
}

/*
 * A map of complex numbers as one of their parts: part p of number c is channel 2c + p. Where c is always 0, p is the
 * stage's own channel coordinate; where numbers keep their order along the channels, 2c + p is; else both are needed
 * apart, which are no strides: false.
 */
static bool of_parts(const ip_lower *l, ip_affine *m)
{
    for (int d = 0; d < 4; d++) {
        if (m->stride[d][C] != (d == C) && l->dims[C] != 1) return false;
        m->stride[d][C] = d == C;
    }
    m->offset[C] *= 2;
    for (int k = 0; k < C; k++)
        m->stride[C][k] *= 2;
    return true;
}

ip_stage *ip_view_affine_stage(ip_lower *l, ip_stage *in, const ip_affine *m)
{
    ip_view *view = ip_ir_alloc(l->ir, 1, sizeof *view);
    ip_expr *coords[4], *index[4];
    int64_t dims[4];
    if (!view || !in) return NULL;
    ip_affine map = *m;
    map.base = in;
    bool is_complex = ip_type_is_complex(&l->node->type), is_sum = !is_complex || of_parts(l, &map);
    bool through = is_view(in);
    ip_type_storage(&l->node->type, dims);
    for (int d = 0; d < 4; d++)
        coords[d] = is_sum ? ip_x_coord(l->ir, d, dims[d]) : ip_lower_coord(l, d);
    if (is_sum && (!through || is_affine(in))) {
        view->affine = through ? composed(&map, &in->view->affine) : map;
        ip_stage *s = ip_view_stage(l, affine_load(l, &view->affine, coords, dims));
        if (s) s->view = view;
        return s;
    }
    for (int d = 0; d < 4; d++) /* strides of indices that are no strides themselves */
        index[d] = affine_index(l, &map, d, coords, is_sum ? dims : l->dims);
    if (!is_sum) index[C] = part_index(l, index[C]);
    return ip_view_stage(l, read_through(l, in, index));
}

ip_stage *ip_view_affine(ip_lower *l, int k, const ip_affine *m) { return ip_view_affine_stage(l, l->in[k], m); }

ip_stage *ip_view_in_order(ip_stage *stage)
{
    return stage && stage->view && stage->view->reshaped ? stage->view->reshaped : stage;
}
