/* SPDX-License-Identifier: MIT */
/* Types of arrays that are made from numbers. */
#include "ops/infer.h"

#include "base/alloc.h"
#include "ops/poisson.h"
#include "ops/view.h"

#include "base/dtype.h"

#include <math.h>

/* The dtype that was chosen: rows offer all of them, all whole ones (which come first), or f32 and f64. */
static imgpar_dtype dtype_of(const imgpar_array *node)
{
    static const imgpar_dtype floats[] = { IMGPAR_F32, IMGPAR_F64 };
    const ip_param *p = ip_param_get(node, "dtype");
    bool offers_floats = node->op->info.params[p - node->params]->choices[0] == 'f';
    return offers_floats ? floats[(int)p->number] : (imgpar_dtype)p->number;
}

static imgpar_status infer_as(imgpar_array *node, imgpar_dtype dtype, int rank, const int64_t *shape, ip_error *err)
{
    node->type = (ip_type){ .dtype = dtype, .space = IMGPAR_SPACE_DATA };
    node->range = ip_range_of(dtype);
    return ip_shape_set(node, rank, shape, err);
}

static imgpar_status infer(imgpar_array *node, int rank, const int64_t *shape, ip_error *err)
{
    return infer_as(node, dtype_of(node), rank, shape, err);
}

static imgpar_status infer_shape(imgpar_array *node, ip_error *err)
{
    int64_t shape[IP_MAX_AXES];
    int n;
    imgpar_status st = ip_vector_whole(node, "shape", IP_MAX_AXES, shape, &n, err);
    return st ? st : infer(node, n, shape, err);
}

imgpar_status ip_infer_full(imgpar_array *node, ip_error *err)
{
    imgpar_status st = infer_shape(node, err);
    const ip_dtype_facts *dtype = ip_dtype(ip_dtype_part(node->type.dtype));
    if (st || dtype->is_float || !isnan(ip_param_number(node, "value"))) return st;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "full: value=nan is no %s; floats have it", dtype->name);
}

imgpar_status ip_infer_zeros(imgpar_array *node, ip_error *err) { return infer_shape(node, err); }
imgpar_status ip_infer_ones(imgpar_array *node, ip_error *err) { return infer_shape(node, err); }

imgpar_status ip_infer_numbers(imgpar_array *node, ip_error *err)
{
    const ip_param *p = ip_param_get(node, "values");
    bool is_matrix = p->rows > 1;
    return infer(node, 1 + is_matrix, (int64_t[]){ is_matrix ? p->rows : p->cols, p->cols }, err);
}

imgpar_status ip_infer_normal(imgpar_array *node, ip_error *err) { return infer_shape(node, err); }

imgpar_status ip_infer_indices(imgpar_array *node, ip_error *err)
{
    int axis;
    imgpar_status st = infer_shape(node, err);
    return st ? st : ip_axis_param(node, node->type.rank, &axis, err);
}

imgpar_status ip_infer_eye(imgpar_array *node, ip_error *err)
{
    double rows = ip_param_number(node, "rows"), columns = ip_param_number(node, "columns");
    return infer(node, 2, (int64_t[]){ (int64_t)rows, (int64_t)(columns < 0 ? rows : columns) }, err);
}

/* What dtype=auto stands for, of n numbers from `from` on. */
static imgpar_dtype dtype_of_steps(double from, double step, double n)
{
    double last = from + fmax(n - 1, 0) * step;
    if (from != floor(from) || step != floor(step)) return IMGPAR_F32;
    return fmin(from, last) >= INT32_MIN && fmax(from, last) <= INT32_MAX ? IMGPAR_I32 : IMGPAR_I64;
}

imgpar_status ip_infer_arange(imgpar_array *node, ip_error *err)
{
    double from = ip_param_number(node, "from"), to = ip_param_number(node, "to"), step = ip_param_number(node, "step");
    double n = fmin(fmax(ceil((to - from) / step), 0), 0x1p53);
    bool is_auto = ip_param_number(node, "dtype") > IMGPAR_BOOL;
    return infer_as(node, is_auto ? dtype_of_steps(from, step, n) : dtype_of(node), 1, (int64_t[]){ (int64_t)n }, err);
}

imgpar_status ip_infer_linspace(imgpar_array *node, ip_error *err)
{
    return infer(node, 1, (int64_t[]){ (int64_t)ip_param_number(node, "count") }, err);
}

imgpar_status ip_infer_random(imgpar_array *node, ip_error *err)
{
    double lo = ip_param_number(node, "lo"), hi = ip_param_number(node, "hi");
    if (!isfinite(hi - lo)) return ip_fail(err, IMGPAR_E_ARGUMENT, "random: lo=%g and hi=%g are too far apart", lo, hi);
    return infer_shape(node, err);
}

imgpar_status ip_infer_exponential(imgpar_array *node, ip_error *err) { return infer_shape(node, err); }

imgpar_status ip_infer_randint(imgpar_array *node, ip_error *err)
{
    double lo = ip_param_number(node, "lo"), hi = ip_param_number(node, "hi");
    const ip_dtype_facts *facts = ip_dtype(dtype_of(node));
    if (hi - lo > 0x1p32)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "randint: there are more than 2^32 numbers from %g to %g", lo, hi);
    if (lo < facts->minimum || hi - 1 > facts->maximum)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "randint: %s does not hold all numbers from %g to %g", facts->name, lo,
                       hi - 1);
    imgpar_status st = infer_shape(node, err);
    node->range = (ip_range){ lo, hi - 1 };
    return st;
}

imgpar_status ip_infer_poisson(imgpar_array *node, ip_error *err)
{
    const ip_dtype_facts *facts = ip_dtype(dtype_of(node));
    const double mean = ip_param_number(node, "mean");
    ip_poisson p;
    imgpar_status st = ip_poisson_of(mean, &p, err);
    if (st) return st;
    ip_free(p.words);
    const ip_range range = { (double)p.first, (double)(p.first + p.n) };
    if (range.hi > facts->maximum)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "poisson: numbers of the mean %g are up to %.0f, which %s does not hold",
                       mean, range.hi, facts->name);
    st = infer_shape(node, err);
    node->range = range;
    return st;
}

imgpar_status ip_infer_sobol(imgpar_array *node, ip_error *err)
{
    const double count = ip_param_number(node, "count"), skip = ip_param_number(node, "skip");
    if (count + skip > INT32_MAX)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "sobol: count=%.0f and skip=%.0f: the sequence has 2147483647 points",
                       count, skip);
    return infer(node, 2, (int64_t[]){ (int64_t)count, (int64_t)ip_param_number(node, "dimensions") }, err);
}

imgpar_status ip_infer_sobol_at(imgpar_array *node, ip_error *err)
{
    for (int k = 0; k < 2; k++)
        if (ip_dtype(node->inputs[k]->type.dtype)->is_float)
            return ip_fail(err, IMGPAR_E_SHAPE, "sobol_at: %s is %s; it must be an integer",
                           node->op->info.input_names[k], ip_dtype(node->inputs[k]->type.dtype)->name);
    imgpar_status st = ip_infer_broadcast(node, 0, err);
    if (st) return st;
    node->type.dtype = dtype_of(node);
    node->type.space = IMGPAR_SPACE_DATA;
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}
