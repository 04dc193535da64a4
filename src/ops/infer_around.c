/* SPDX-License-Identifier: MIT */
/* Types of neighbourhoods that are folded: around(). */
#include "ops/around.h"
#include "ops/infer.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <math.h>

enum { MOST_TAPS = 65536 };

static const ip_type one_number = { .dtype = IMGPAR_I64, .space = IMGPAR_SPACE_DATA, .rank = 1, .shape = { 1 } };

imgpar_status ip_infer_taps(imgpar_array *node, ip_error *err)
{
    node->type = one_number;
    double taps = 1;
    int most = 0;
    for (int dim = 0; dim < 3; dim++)
        most = ip_max_int(most, ip_around_radius(node, dim));
    for (int dim = 0; dim < 3; dim++) {
        const int radius = ip_around_radius(node, dim);
        if (ip_around_is_disc(node) && radius != 0 && radius != most)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "around: a disc has one radius");
    }
    for (int dim = 0; dim < 3; dim++)
        taps *= 2.0 * ip_around_radius(node, dim) + 1;
    if (taps > MOST_TAPS)
        return ip_fail(err, IMGPAR_E_LIMIT, "around: %.0f neighbours; there can be %d", taps, MOST_TAPS);
    return IMGPAR_OK;
}

imgpar_status ip_infer_tap(imgpar_array *node, ip_error *err)
{
    (void)err;
    const double radius = ip_around_radius(node->inputs[0], (int)ip_param_number(node, "dim"));
    node->type = one_number;
    node->range = (ip_range){ -radius, radius };
    node->bends = true;
    return IMGPAR_OK;
}

imgpar_status ip_infer_tap_read(imgpar_array *node, ip_error *err)
{
    ip_infer_copy(node);
    if (node->type.dtype == IMGPAR_F16) node->type.dtype = IMGPAR_F32; /* nothing is stored that could be rounded */
    int64_t dims[4];
    ip_type_dims(&node->type, dims);
    for (int dim = 0; dim < 4; dim++)
        if (ip_infer_refuse_reads_of_nothing(node, dims[dim], err)) return err->status;
    return IMGPAR_OK;
}

static imgpar_dtype mean_dtype(const imgpar_array *value)
{
    imgpar_dtype dtype = value->type.dtype;
    bool is_wide = dtype == IMGPAR_F64 || ip_is_wide_integer(dtype);
    return is_wide && !ip_array_bends(value, NULL) ? IMGPAR_F64 : IMGPAR_F32;
}

static imgpar_dtype around_dtype(const imgpar_array *node)
{
    const imgpar_array *value = node->inputs[1], *weight = node->inputs[2];
    const ip_dtype_facts *facts = ip_dtype(value->type.dtype);
    switch ((ip_around)ip_param_number(node, "fold")) {
    case IP_AROUND_MEAN: return mean_dtype(value) == IMGPAR_F64 ? IMGPAR_F64 : mean_dtype(weight);
    case IP_AROUND_MIN:
    case IP_AROUND_MAX: return value->type.dtype;
    default:
        if (facts->is_float) return value->type.dtype == IMGPAR_F16 ? IMGPAR_F32 : value->type.dtype;
        return facts->is_signed ? IMGPAR_I64 : IMGPAR_U64;
    }
}

imgpar_status ip_infer_around(imgpar_array *node, ip_error *err)
{
    const imgpar_array *value = node->inputs[1];
    double weight;
    if (ip_array_is_number(node->inputs[2], &weight, NULL) && (weight == 0 || !isfinite(weight)))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "around: a weight of %g for all neighbours makes no mean", weight);
    ip_around fold = (ip_around)ip_param_number(node, "fold");
    bool is_element = fold == IP_AROUND_MIN || fold == IP_AROUND_MAX;
    if (ip_infer_broadcast(node, 1, err)) return err->status;
    node->type.dtype = around_dtype(node);
    node->range = is_element ? value->range : ip_range_of(node->type.dtype);
    if (fold == IP_AROUND_SUM || fold == IP_AROUND_PRODUCT) {
        node->type.space = IMGPAR_SPACE_DATA;
        return IMGPAR_OK;
    }
    node->type.white = value->type.white;
    node->type.is_mask = value->type.is_mask;
    return IMGPAR_OK;
}
