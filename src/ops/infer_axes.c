/* SPDX-License-Identifier: MIT */
/* Types of measures: which axes are folded, what is left, in which dtype. */
#include "ops/axes.h"
#include "ops/complex.h"
#include "ops/infer.h"
#include "ops/slices.h"

#include "base/dtype.h"

#include <math.h>
#include <string.h>

imgpar_dtype ip_sum_dtype(imgpar_dtype dtype)
{
    if (ip_dtype_is_float(dtype)) return ip_dtype_part(dtype) == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
    return ip_dtype(dtype)->is_signed ? IMGPAR_I64 : IMGPAR_U64;
}

imgpar_dtype ip_dot_dtype(imgpar_dtype a, imgpar_dtype b)
{
    a = ip_sum_dtype(a);
    b = ip_sum_dtype(b);
    if (a == b || (ip_dtype_is_float(a) && !ip_dtype_is_float(b))) return a;
    if (ip_dtype_is_float(a) && ip_dtype_is_float(b)) return IMGPAR_F64;
    return ip_dtype_is_float(b) ? b : IMGPAR_I64;
}

static imgpar_dtype measure_dtype(const imgpar_array *node)
{
    imgpar_dtype dtype = node->inputs[0]->type.dtype;
    switch ((ip_measure)node->op->variant) {
    case IP_MEASURE_SUM:
    case IP_MEASURE_PROD: return ip_type_is_complex(&node->inputs[0]->type) ? dtype : ip_sum_dtype(dtype);
    case IP_MEASURE_DOT: return ip_dot_dtype(dtype, node->inputs[1]->type.dtype);
    case IP_MEASURE_MEAN:
        if (ip_type_is_complex(&node->inputs[0]->type)) return dtype;
        return dtype == IMGPAR_F64 || ip_is_wide_integer(dtype) ? IMGPAR_F64 : IMGPAR_F32;
    case IP_MEASURE_VAR:
    case IP_MEASURE_STD:
    case IP_MEASURE_NORM: return ip_float_for(dtype);
    case IP_MEASURE_ALL:
    case IP_MEASURE_ANY: return IMGPAR_BOOL;
    case IP_MEASURE_ARGMIN:
    case IP_MEASURE_ARGMAX: return IMGPAR_I64;
    default: return dtype;
    }
}

static imgpar_status check_inputs(const imgpar_array *node, unsigned axes, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    const char *name = node->op->info.name;
    int variant = node->op->variant;
    if (variant >= IP_MEASURE_BITS_AND && variant <= IP_MEASURE_BITS_XOR && ip_dtype_is_float(a->dtype))
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; it must be an integer", name, ip_dtype(a->dtype)->name);
    bool needs_one = variant == IP_MEASURE_MIN || variant == IP_MEASURE_MAX || variant == IP_MEASURE_ARGMIN ||
                     variant == IP_MEASURE_ARGMAX;
    for (int k = 0; k < a->rank; k++)
        if (needs_one && axes >> k & 1 && a->shape[k] == 0)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: axis %d has no elements", name, k);
    if (variant != IP_MEASURE_DOT) return IMGPAR_OK;
    const ip_type *b = &node->inputs[1]->type;
    char text_a[96], text_b[96];
    if (a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s, b is %s", name, ip_shape_text(a, text_a),
                   ip_shape_text(b, text_b));
}

imgpar_status ip_infer_measure(imgpar_array *node, ip_error *err)
{
    const ip_type *in = &node->inputs[0]->type;
    bool keeps = ip_param_number(node, "keepdims") != 0;
    int64_t shape[IP_MAX_AXES];
    unsigned axes;
    int n = 0;
    imgpar_status st = ip_axes_of(node, "axis", in->rank, &axes, err);
    if (!st) st = check_inputs(node, axes, err);
    if (st) return st;
    for (int k = 0; k < in->rank; k++)
        if (!(axes >> k & 1) || keeps) shape[n++] = axes >> k & 1 ? 1 : in->shape[k];
    if (n == 0) shape[n++] = 1;
    node->type = (ip_type){ .dtype = measure_dtype(node), .space = IMGPAR_SPACE_DATA };
    int variant = node->op->variant;
    bool is_element = variant == IP_MEASURE_MIN || variant == IP_MEASURE_MAX;
    node->range = is_element ? node->inputs[0]->range : ip_range_of(node->type.dtype);
    return ip_shape_set(node, n, shape, err);
}
