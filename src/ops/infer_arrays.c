/* SPDX-License-Identifier: MIT */
/* Types of operations on arrays of any rank: products of matrices, sorting. */
#include "ops/complex.h"
#include "ops/fft.h"
#include "ops/infer.h"
#include "ops/matmul.h"
#include "ops/sort.h"
#include "ops/view.h"

#include "base/dtype.h"

#include <math.h>
#include <string.h>

/* Axis k of a shape of n leading axes, counted from their end; 1 beyond them. */
static int64_t leading(const ip_type *type, int k)
{
    int axis = type->rank - 3 - k;
    return axis >= 0 ? type->shape[axis] : 1;
}

bool ip_product_of(const ip_type *a, const ip_type *b, ip_product *p, ip_type *type)
{
    int64_t batch[IP_MAX_AXES] = { 1, 1 }, axes[IP_MAX_AXES];
    int n_leading = (a->rank > b->rank ? a->rank : b->rank) - 2, rank = 0;
    *p = (ip_product){ .m = a->rank > 1 ? a->shape[a->rank - 2] : 1,
                       .n = b->rank > 1 ? b->shape[b->rank - 1] : 1,
                       .k = a->shape[a->rank - 1] };
    if (p->k != (b->rank > 1 ? b->shape[b->rank - 2] : b->shape[0])) return false;
    for (int k = 0; k < n_leading; k++) {
        int64_t of_a = leading(a, k), of_b = leading(b, k);
        if (of_a != of_b && of_a != 1 && of_b != 1) return false;
        batch[k] = of_a == 1 ? of_b : of_a;
    }
    p->inner = batch[0];
    p->outer = batch[1];
    p->a_inner = leading(a, 0) > 1;
    p->b_inner = leading(b, 0) > 1;
    p->a_outer = leading(a, 1) > 1 ? leading(a, 0) : 0;
    p->b_outer = leading(b, 1) > 1 ? leading(b, 0) : 0;
    p->n_b = leading(b, 0) * leading(b, 1);
    for (int k = n_leading - 1; k >= 0; k--)
        axes[rank++] = batch[k];
    if (a->rank > 1) axes[rank++] = p->m;
    if (b->rank > 1) axes[rank++] = p->n;
    if (rank == 0) axes[rank++] = 1;
    *type = (ip_type){ .space = IMGPAR_SPACE_DATA, .rank = rank };
    for (int k = 0; k < rank; k++)
        type->shape[k] = axes[k];
    return true;
}

imgpar_status ip_infer_matmul(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
    char shape_a[96], shape_b[96];
    ip_product p;
    if (!ip_product_of(a, b, &p, &node->type))
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "matmul: a is %s and b is %s; a's columns must be as many as b's rows, and leading "
                       "axes equal or 1",
                       ip_shape_text(a, shape_a), ip_shape_text(b, shape_b));
    node->type.dtype = ip_infer_product_dtype(node);
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

int ip_sort_axis(const imgpar_array *node)
{
    int axis = (int)ip_param_number(node, "axis");
    return axis < 0 ? axis + node->inputs[0]->type.rank : axis;
}

imgpar_status ip_infer_sort(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int axis = ip_sort_axis(node);
    if (axis < 0 || axis >= a->rank) return ip_no_axis(node->op->info.name, ip_param_number(node, "axis"), a, err);
    node->type = *a;
    node->range = node->inputs[0]->range;
    if (node->op->variant == 0) return IMGPAR_OK;
    node->type.dtype = IMGPAR_I32;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = (ip_range){ 0, fmax((double)(a->shape[axis] - 1), 0) };
    return IMGPAR_OK;
}

/* ---- Fourier transforms ------------------------------------------------------------------------ */

int ip_fft_axes(const imgpar_array *node, int axes[2])
{
    const ip_type *a = &node->inputs[0]->type;
    if (node->op->variant <= IP_FFT_INVERSE) {
        axes[0] = (int)ip_param_number(node, "axis");
        if (axes[0] < 0) axes[0] += a->rank;
        return 1;
    }
    for (int k = 0; k < a->rank; k++)
        if (ip_type_axis_dim(a, k) == 1)
            axes[0] = k;
        else if (ip_type_axis_dim(a, k) == 2)
            axes[1] = k;
    return 2;
}

/* Lines that are padded must fit, too. */
static imgpar_status check_length(const imgpar_array *node, int axis, ip_error *err)
{
    const int64_t n = node->type.shape[axis], most = (int64_t)IP_FFT_MAX * IP_FFT_MAX;
    if (n == 0 || ip_fft_is_direct(n)) return IMGPAR_OK;
    const int64_t longer = n <= most / 2 ? ip_fft_longer(n) : 0;
    if (!longer)
        return ip_fail(err, IMGPAR_E_LIMIT,
                       "%s: axis %d has %lld elements; up to %lld are transformed, beyond them products of two lengths "
                       "up to %d of "
                       "factors 2, 3, 5 and 7",
                       node->op->info.name, axis, (long long)n, (long long)most / 2, IP_FFT_MAX);
    if (ip_type_count(&node->type) / n > INT32_MAX / longer)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: more than 2147483647 elements with lines of %lld padded to %lld",
                       node->op->info.name, (long long)n, (long long)longer);
    return IMGPAR_OK;
}

/* Real numbers, transformed along an axis to as many. */
imgpar_status ip_infer_cosines(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int axis = 0;
    if (ip_axis_param(node, a->rank, &axis, err)) return err->status;
    node->type = *a;
    node->type.dtype = a->dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

/* The type that an axis of n elements makes of a; refuses none. */
static imgpar_status set_transformed(imgpar_array *node, int axis, int64_t n, imgpar_dtype dtype, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t shape[IP_MAX_AXES];
    char text[96];
    if (n < 1 || a->shape[axis] == 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; there must be an element along axis %d, and in the result",
                       node->op->info.name, ip_shape_text(a, text), axis);
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] = n;
    node->type = (ip_type){ .dtype = dtype, .space = IMGPAR_SPACE_DATA };
    node->range = ip_range_of(dtype);
    return ip_shape_set(node, a->rank, shape, err);
}

imgpar_status ip_infer_rfft(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int axis = 0;
    if (ip_axis_param(node, a->rank, &axis, err)) return err->status;
    if (ip_type_is_complex(a)) return ip_complex_refuse(node, 0, err);
    return set_transformed(node, axis, a->shape[axis] / 2 + 1, ip_dtype_complex(ip_dtype_part(a->dtype)), err);
}

imgpar_status ip_infer_irfft(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    const int64_t given = (int64_t)ip_param_number(node, "length");
    int axis = 0;
    if (ip_axis_param(node, a->rank, &axis, err)) return err->status;
    return set_transformed(node, axis, given > 0 ? given : 2 * (a->shape[axis] - 1),
                           a->dtype == IMGPAR_F64 || a->dtype == IMGPAR_COMPLEX128 ? IMGPAR_F64 : IMGPAR_F32, err);
}

imgpar_status ip_infer_fft(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    bool is_2d = node->op->variant > IP_FFT_INVERSE;
    char shape[96];
    int axes[2] = { 0, 0 };
    if (is_2d && a->rank < 2)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; it must have rows and columns", node->op->info.name,
                       ip_shape_text(a, shape));
    int n = ip_fft_axes(node, axes);
    if (axes[0] < 0 || axes[0] >= a->rank)
        return ip_no_axis(node->op->info.name, ip_param_number(node, "axis"), a, err);
    node->type = *a;
    node->type.dtype = ip_dtype_complex(ip_dtype_part(a->dtype));
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = ip_range_of(node->type.dtype);
    if (ip_type_count(a) > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: more than 2147483647 elements", node->op->info.name);
    imgpar_status st = check_length(node, axes[0], err);
    return st || n == 1 ? st : check_length(node, axes[1], err);
}
