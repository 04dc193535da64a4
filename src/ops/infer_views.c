/* SPDX-License-Identifier: MIT */
/* Shapes of views, as NumPy has them. */
#include "ops/infer.h"
#include "ops/slices.h"

#include "base/dtype.h"
#include "base/plural.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ip_type *in_type(const imgpar_array *node) { return &node->inputs[0]->type; }
static const char *name_of(const imgpar_array *node) { return node->op->info.name; }

/* ---- parameters ---------------------------------------------------------------------------- */

imgpar_status ip_counts_of(const imgpar_array *node, const char *param, int64_t fill, int64_t out[IP_MAX_AXES],
                           ip_error *err)
{
    int n;
    for (int k = 0; k < IP_MAX_AXES; k++)
        out[k] = fill;
    return ip_vector_whole(node, param, in_type(node)->rank, out, &n, err);
}

imgpar_status ip_axes_of(const imgpar_array *node, const char *param, int rank, unsigned *axes, ip_error *err)
{
    int64_t given[IP_MAX_AXES];
    int n, axis;
    imgpar_status st = ip_vector_whole(node, param, rank, given, &n, err);
    *axes = n ? 0 : (1u << rank) - 1;
    for (int k = 0; !st && k < n; k++) {
        st = ip_axis_of(node, (double)given[k], rank, &axis, err);
        if (st) return st;
        if (*axes >> axis & 1)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: axis %d is named twice", name_of(node), axis);
        *axes |= 1u << axis;
    }
    return st;
}

imgpar_status ip_permutation_of(const imgpar_array *node, int axes[IP_MAX_AXES], ip_error *err)
{
    int64_t given[IP_MAX_AXES];
    int n, rank = in_type(node)->rank;
    unsigned seen;
    imgpar_status st = ip_axes_of(node, "axes", rank, &seen, err);
    if (!st) st = ip_vector_whole(node, "axes", rank, given, &n, err);
    if (st) return st;
    if (n != rank)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: axes names %d %s of %d", name_of(node), n,
                       ip_word_for(n, "axis", "axes"), rank);
    for (int k = 0; k < rank; k++)
        ip_axis_of(node, (double)given[k], rank, &axes[k], err);
    return err->status;
}

/* A bound as Python cuts it: into [low, high], after counting negative ones from the end. */
static int64_t bound(int64_t at, int64_t extent, int64_t low, int64_t high)
{
    if (at < 0) at += extent;
    return at < low ? low : at > high ? high : at;
}

imgpar_status ip_slices_of(const imgpar_array *node, ip_slice out[IP_MAX_AXES], ip_error *err)
{
    const ip_type *in = in_type(node);
    int first, n_from, n_to, n_step;
    int64_t from[IP_MAX_AXES], to[IP_MAX_AXES], step[IP_MAX_AXES];
    imgpar_status st = ip_axis_param(node, in->rank, &first, err);
    if (!st) st = ip_vector_whole(node, "from", in->rank - first, from, &n_from, err);
    if (!st) st = ip_vector_whole(node, "to", in->rank - first, to, &n_to, err);
    if (!st) st = ip_vector_whole(node, "step", in->rank - first, step, &n_step, err);
    for (int axis = 0; !st && axis < in->rank; axis++) {
        int64_t n = in->shape[axis];
        int k = axis - first;
        int64_t s = k >= 0 && k < n_step ? step[k] : 1;
        int64_t low = s > 0 ? 0 : -1, high = s > 0 ? n : n - 1;
        int64_t a = k >= 0 && k < n_from ? bound(from[k], n, low, high) : s > 0 ? 0 : n - 1;
        int64_t b = k >= 0 && k < n_to ? bound(to[k], n, low, high) : s > 0 ? n : -1;
        int64_t span = s > 0 ? b - a : a - b;
        out[axis] = (ip_slice){ a, s, span > 0 ? (span - 1) / llabs(s) + 1 : 0 };
    }
    return st;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

imgpar_status ip_infer_slice(imgpar_array *node, ip_error *err)
{
    ip_slice slices[IP_MAX_AXES];
    int64_t shape[IP_MAX_AXES];
    imgpar_status st = ip_slices_of(node, slices, err);
    for (int k = 0; !st && k < in_type(node)->rank; k++)
        shape[k] = slices[k].count;
    return st ? st : ip_infer_view(node, in_type(node)->rank, shape, err);
}

imgpar_status ip_infer_reshape(imgpar_array *node, ip_error *err)
{
    int64_t shape[IP_MAX_AXES], known = 1, count = ip_type_count(in_type(node));
    int n, open = -1;
    char text[96];
    imgpar_status st = ip_vector_whole(node, "shape", IP_MAX_AXES, shape, &n, err);
    for (int k = 0; !st && k < n; k++) {
        if (shape[k] == -1)
            open = k; /* once, by the row's rule */
        else if (__builtin_mul_overflow(known, shape[k], &known))
            known = INT64_MAX;
    }
    if (st) return st;
    if (open >= 0 && known > 0 && count % known == 0)
        shape[open] = count / known;
    else if (open >= 0 || known != count)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: the %lld elements of %s do not fill that shape", name_of(node),
                       (long long)count, ip_shape_text(in_type(node), text));
    return ip_infer_view(node, n, shape, err);
}

imgpar_status ip_infer_squeeze(imgpar_array *node, ip_error *err)
{
    const ip_type *in = in_type(node);
    const bool is_given = ip_param_get(node, "axis")->numbers != NULL;
    int64_t shape[IP_MAX_AXES];
    unsigned axes;
    int n = 0;
    imgpar_status st = ip_axes_of(node, "axis", in->rank, &axes, err);
    for (int k = 0; !st && k < in->rank; k++) {
        bool goes = axes >> k & 1 && in->shape[k] == 1;
        if (is_given && axes >> k & 1 && !goes)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: axis %d has %lld elements, not 1", name_of(node), k,
                           (long long)in->shape[k]);
        if (!goes) shape[n++] = in->shape[k];
    }
    if (n == 0) shape[n++] = 1;
    return st ? st : ip_infer_view(node, n, shape, err);
}

imgpar_status ip_infer_expand_dims(imgpar_array *node, ip_error *err)
{
    const ip_type *in = in_type(node);
    int64_t shape[IP_MAX_AXES + 1];
    int axis;
    imgpar_status st = ip_axis_param(node, in->rank + 1, &axis, err);
    if (st) return st;
    for (int k = 0; k <= in->rank; k++)
        shape[k] = k == axis ? 1 : in->shape[k - (k > axis)];
    return ip_infer_view(node, in->rank + 1, shape, err);
}

imgpar_status ip_infer_permute(imgpar_array *node, ip_error *err)
{
    const ip_type *in = in_type(node);
    int64_t shape[IP_MAX_AXES];
    int axes[IP_MAX_AXES];
    imgpar_status st = ip_permutation_of(node, axes, err);
    for (int k = 0; !st && k < in->rank; k++)
        shape[k] = in->shape[axes[k]];
    return st ? st : ip_infer_view(node, in->rank, shape, err);
}

imgpar_status ip_infer_reverse(imgpar_array *node, ip_error *err)
{
    unsigned axes;
    imgpar_status st = ip_axes_of(node, "axis", in_type(node)->rank, &axes, err);
    if (!st) ip_infer_copy(node);
    return st;
}

imgpar_status ip_infer_circshift(imgpar_array *node, ip_error *err)
{
    int64_t offsets[IP_MAX_AXES];
    imgpar_status st = ip_counts_of(node, "offsets", 0, offsets, err);
    if (!st) ip_infer_copy(node);
    return st;
}

imgpar_status ip_infer_fftshift(imgpar_array *node, ip_error *err)
{
    (void)err;
    ip_infer_copy(node);
    return IMGPAR_OK;
}

imgpar_status ip_infer_broadcast_to(imgpar_array *node, ip_error *err)
{
    const ip_type *in = in_type(node);
    int64_t shape[IP_MAX_AXES];
    char from[96], to[96];
    int n;
    imgpar_status st = ip_vector_whole(node, "shape", IP_MAX_AXES, shape, &n, err);
    if (st) return st;
    bool fits = n >= in->rank;
    for (int k = 0; fits && k < in->rank; k++)
        fits = in->shape[k] == 1 || in->shape[k] == shape[n - in->rank + k];
    if (fits) return ip_infer_view(node, n, shape, err);
    ip_type wanted = { .rank = n };
    memcpy(wanted.shape, shape, (size_t)n * sizeof *shape);
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: an array of shape %s does not spread to %s", name_of(node),
                   ip_shape_text(in, from), ip_shape_text(&wanted, to));
}

/* repeat: n times along one axis; tile: counts of times along the leading axes. */
imgpar_status ip_infer_repeat(imgpar_array *node, ip_error *err)
{
    int64_t shape[IP_MAX_AXES];
    int axis;
    imgpar_status st = ip_axis_param(node, in_type(node)->rank, &axis, err);
    if (st) return st;
    memcpy(shape, in_type(node)->shape, sizeof shape);
    shape[axis] *= (int64_t)ip_param_number(node, "times");
    return ip_infer_view(node, in_type(node)->rank, shape, err);
}

imgpar_status ip_infer_tile(imgpar_array *node, ip_error *err)
{
    int64_t shape[IP_MAX_AXES];
    imgpar_status st = ip_counts_of(node, "counts", 1, shape, err);
    for (int k = 0; !st && k < in_type(node)->rank; k++)
        shape[k] *= in_type(node)->shape[k];
    return st ? st : ip_infer_view(node, in_type(node)->rank, shape, err);
}

imgpar_status ip_infer_pad(imgpar_array *node, ip_error *err)
{
    const ip_type *in = in_type(node);
    int64_t before[IP_MAX_AXES], after[IP_MAX_AXES], shape[IP_MAX_AXES];
    bool given = ip_param_get(node, "after")->numbers != NULL;
    imgpar_status st = ip_counts_of(node, "before", 0, before, err);
    if (!st) st = ip_counts_of(node, given ? "after" : "before", 0, after, err);
    for (int k = 0; !st && k < in->rank; k++) {
        if (in->shape[k] == 0 && before[k] + after[k] > 0 && ip_param_number(node, "border") != IMGPAR_BORDER_CONSTANT)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: axis %d has no elements to repeat", name_of(node), k);
        shape[k] = before[k] + in->shape[k] + after[k];
    }
    return st ? st : ip_infer_view(node, in->rank, shape, err);
}

imgpar_status ip_infer_skew(imgpar_array *node, ip_error *err)
{
    const ip_type *in = in_type(node);
    int64_t shape[IP_MAX_AXES];
    char text[96];
    if (in->rank < 2)
        return ip_fail(err, IMGPAR_E_SHAPE, "skew: a is %s; it must have two axes", ip_shape_text(in, text));
    memcpy(shape, in->shape, sizeof shape);
    if (shape[0] > 0) shape[1] += (int64_t)fabs(ip_param_number(node, "step")) * (shape[0] - 1);
    imgpar_status st = ip_infer_view(node, in->rank, shape, err);
    node->range = (ip_range){ fmin(node->range.lo, 0), fmax(node->range.hi, 0) };
    return st;
}

imgpar_status ip_infer_concatenate(imgpar_array *node, ip_error *err)
{
    const ip_type *a = in_type(node), *b = &node->inputs[1]->type;
    int64_t shape[IP_MAX_AXES];
    int axis;
    char text_a[96], text_b[96];
    imgpar_status st = ip_axis_param(node, a->rank, &axis, err);
    if (st) return st;
    bool fits = a->rank == b->rank;
    for (int k = 0; fits && k < a->rank; k++)
        fits = k == axis || a->shape[k] == b->shape[k];
    if (!fits)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s, b is %s; they may differ along axis %d only", name_of(node),
                       ip_shape_text(a, text_a), ip_shape_text(b, text_b), axis);
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] += b->shape[axis];
    st = ip_infer_view(node, a->rank, shape, err);
    node->type.dtype = ip_select_dtype(node->inputs[0], node->inputs[1]);
    node->range = ip_infer_chosen_range(node, 0, 1);
    return st;
}

/* Of a vector the matrix with it on a diagonal, of a matrix the diagonal. */
imgpar_status ip_infer_diag(imgpar_array *node, ip_error *err)
{
    const ip_type *in = in_type(node);
    int64_t k = (int64_t)ip_param_number(node, "k");
    if (in->rank > 2)
        return ip_fail(err, IMGPAR_E_SHAPE, "diag: a has %d axes; it must be a vector or a matrix", in->rank);
    if (in->rank == 1) {
        int64_t side = in->shape[0] + llabs(k);
        imgpar_status st = ip_infer_view(node, 2, (int64_t[]){ side, side }, err);
        node->range.lo = fmin(node->range.lo, 0);
        node->range.hi = fmax(node->range.hi, 0);
        return st;
    }
    int64_t rows = in->shape[0] - (k < 0 ? -k : 0), columns = in->shape[1] - (k > 0 ? k : 0);
    int64_t n = rows < columns ? rows : columns;
    return ip_infer_view(node, 1, (int64_t[]){ n > 0 ? n : 0 }, err);
}
