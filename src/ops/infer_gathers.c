/* SPDX-License-Identifier: MIT */
/* Types of reads at given places and of small matrices. */
#include "ops/beyond.h"
#include "ops/complex.h"
#include "ops/infer.h"
#include "ops/view.h"

#include "base/dtype.h"
#include "base/plural.h"

#include <math.h>
#include <string.h>

static const char *name_of(const imgpar_array *node) { return node->op->info.name; }

static imgpar_status need_integers(const imgpar_array *node, int k, ip_error *err)
{
    imgpar_dtype dtype = node->inputs[k]->type.dtype;
    if (!ip_dtype(dtype)->is_float) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be an integer; write cast(%s, i32)", name_of(node),
                   node->op->info.input_names[k], ip_dtype(dtype)->name, node->op->info.input_names[k]);
}

imgpar_status ip_infer_take(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *at = &node->inputs[1]->type;
    int64_t shape[2 * IP_MAX_AXES];
    int axis, n = 0;
    imgpar_status st = ip_axis_param(node, a->rank, &axis, err);
    if (!st) st = need_integers(node, 1, err);
    if (st) return st;
    if (isnan(ip_param_number(node, "cval")) && !ip_dtype(a->dtype)->is_float)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "take: cval=nan, and a is %s", ip_dtype(a->dtype)->name);
    for (int k = 0; k < axis; k++)
        shape[n++] = a->shape[k];
    for (int k = 0; k < at->rank; k++)
        shape[n++] = at->shape[k];
    for (int k = axis + 1; k < a->rank; k++)
        shape[n++] = a->shape[k];
    st = ip_infer_view(node, n, shape, err);
    return st ? st : ip_infer_refuse_reads_of_nothing(node, a->shape[axis], err);
}

imgpar_status ip_infer_take_along_axis(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *at = &node->inputs[1]->type;
    int64_t shape[IP_MAX_AXES];
    char text_a[96], text_at[96];
    int axis;
    imgpar_status st = ip_axis_param(node, a->rank, &axis, err);
    if (!st) st = need_integers(node, 1, err);
    if (st) return st;
    bool fits = at->rank == a->rank;
    for (int k = 0; fits && k < a->rank; k++) {
        fits = k == axis || at->shape[k] == a->shape[k] || at->shape[k] == 1;
        shape[k] = k == axis ? at->shape[k] : a->shape[k];
    }
    if (!fits)
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "%s: a is %s, indices is %s; they must have as many axes, and but for axis %d as many elements, "
                       "or indices 1",
                       name_of(node), ip_shape_text(a, text_a), ip_shape_text(at, text_at), axis);
    st = ip_infer_view(node, a->rank, shape, err);
    return st ? st : ip_infer_refuse_reads_of_nothing(node, a->shape[axis], err);
}

imgpar_status ip_infer_lut(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *table = &node->inputs[1]->type;
    int64_t dims[4];
    char text[96];
    imgpar_status st = need_integers(node, 0, err);
    if (st) return st;
    ip_type_dims(a, dims);
    if (table->rank > 2 || table->shape[0] == 0 || (table->rank == 2 && table->shape[1] != dims[3]))
        return ip_fail(err, IMGPAR_E_SHAPE, "lut: table is %s; it must be a vector, or have %lld columns",
                       ip_shape_text(table, text), (long long)dims[3]);
    node->type = *a;
    node->type.dtype = table->dtype;
    const bool levels = table->dtype == IMGPAR_U8 || table->dtype == IMGPAR_U16;
    node->type.white = table->white > 0 ? table->white : a->white > 0 && levels ? ip_dtype(table->dtype)->full : 0;
    node->type.is_mask = table->is_mask;
    node->range = node->inputs[1]->range;
    return IMGPAR_OK;
}

imgpar_status ip_infer_searchsorted(imgpar_array *node, ip_error *err)
{
    const ip_type *edges = &node->inputs[0]->type;
    char text[96];
    if (edges->rank != 1)
        return ip_fail(err, IMGPAR_E_SHAPE, "searchsorted: edges is %s; it must be a vector",
                       ip_shape_text(edges, text));
    node->type = node->inputs[1]->type;
    node->type.dtype = IMGPAR_I32;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = (ip_range){ 0, (double)edges->shape[0] };
    return IMGPAR_OK;
}

imgpar_status ip_infer_neighbours(imgpar_array *node, ip_error *err)
{
    const ip_param *offsets = ip_param_get(node, "offsets");
    if (offsets->cols > node->inputs[0]->type.rank)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %d %s for an array of %d %s", name_of(node), offsets->cols,
                       ip_word_for(offsets->cols, "offset", "offsets"), node->inputs[0]->type.rank,
                       ip_word_for(node->inputs[0]->type.rank, "axis", "axes"));
    if (offsets->rows > 256)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %d neighbours; there can be 256", name_of(node), offsets->rows);
    for (int k = 0; k < offsets->rows * offsets->cols; k++)
        if (offsets->numbers[k] != floor(offsets->numbers[k]) || fabs(offsets->numbers[k]) > 1e6)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: an offset must be a whole number within 1000000",
                           name_of(node));
    const double *levels;
    const bool is_list = ip_beyond_levels(node, &levels) > 1;
    for (int k = 0; is_list && k < offsets->rows * offsets->cols; k++)
        if (offsets->numbers[k] != 0 && ip_type_axis_dim(&node->inputs[0]->type, k % offsets->cols) == 3)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: cval is a colour, and offsets lead to other channels",
                           name_of(node));
    bool is_sum = ip_param_number(node, "fold") <= IP_NEIGHBOURS_MEAN;
    if (!is_sum && ip_type_is_complex(&node->inputs[0]->type)) return ip_complex_refuse(node, 0, err);
    if (ip_infer_refuse_wide(node, err)) return err->status;
    ip_infer_copy(node);
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

imgpar_status ip_infer_recomb(imgpar_array *node, ip_error *err)
{
    const ip_param *m = ip_param_get(node, "matrix");
    int64_t dims[4];
    ip_infer_copy(node);
    ip_type_dims(&node->type, dims);
    bool keeps_alpha = m->cols == dims[3] - 1 && node->type.space != IMGPAR_SPACE_DATA && dims[3] % 2 == 0;
    if (m->cols != dims[3] && !keeps_alpha)
        return ip_fail(err, IMGPAR_E_SHAPE, "recomb: the matrix has %d columns for %lld channels", m->cols,
                       (long long)dims[3]);
    int64_t channels = m->rows + keeps_alpha;
    if (channels != dims[3]) {
        dims[3] = channels;
        ip_type_set_dims(&node->type, dims);
        node->type.space = IMGPAR_SPACE_DATA;
    }
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

/* ---- small matrices --------------------------------------------------------------------------- */

static imgpar_dtype matrix_dtype(const imgpar_array *node)
{
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k]->type.dtype == IMGPAR_F64) return IMGPAR_F64;
    return IMGPAR_F32;
}

static bool is_small(const ip_type *type, int64_t most)
{
    return type->rank >= 2 && type->shape[type->rank - 1] <= most && type->shape[type->rank - 2] <= most;
}

imgpar_status ip_infer_matprod(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
    int64_t shape[IP_MAX_AXES];
    char text_a[96], text_b[96];
    bool fits = is_small(a, 4) && is_small(b, 4) && a->shape[a->rank - 1] == b->shape[b->rank - 2];
    bool one = b->rank == 2 && a->rank > 2;
    fits = fits &&
           (one || (a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)(a->rank - 2) * sizeof *a->shape) == 0));
    if (!fits)
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "matprod: a is %s, b is %s; their last axes must be matrices of up to 4x4 that fit",
                       ip_shape_text(a, text_a), ip_shape_text(b, text_b));
    memcpy(shape, a->shape, sizeof shape);
    shape[a->rank - 1] = b->shape[b->rank - 1];
    node->type = (ip_type){ .dtype = matrix_dtype(node), .space = IMGPAR_SPACE_DATA };
    return ip_shape_set(node, a->rank, shape, err);
}
