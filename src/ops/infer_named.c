/* SPDX-License-Identifier: MIT */
/*
 * Types of named operations, which keep their (first) input's dtype. Ranges are
 * narrowed where a rule is plain; the expression's own range does the rest.
 */
#include "ops/infer.h"

#include "base/dtype.h"
#include "base/plural.h"
#include "ops/beyond.h"
#include "ops/bins.h"
#include "ops/check.h"
#include "ops/complex.h"
#include "ops/regions.h"
#include "ops/white.h"

#include <math.h>
#include <string.h>

/* ---- shared -------------------------------------------------------------------------- */

bool ip_is_wide_integer(imgpar_dtype dtype) { return dtype == IMGPAR_U64 || dtype == IMGPAR_I64; }

imgpar_dtype ip_float_for(imgpar_dtype a)
{
    const ip_dtype_facts *facts = ip_dtype(a);
    return ip_dtype_part(a) == IMGPAR_F64 || (!facts->is_float && facts->size_bytes >= 4) ? IMGPAR_F64 : IMGPAR_F32;
}

imgpar_dtype ip_float_for_inputs(const imgpar_array *node)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (!ip_array_bends(node->inputs[k], NULL) && ip_float_for(node->inputs[k]->type.dtype) == IMGPAR_F64)
            return IMGPAR_F64;
    return IMGPAR_F32;
}

imgpar_dtype ip_infer_named_dtype(const imgpar_array *node)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (!ip_array_bends(node->inputs[k], NULL)) return node->inputs[k]->type.dtype;
    return node->inputs[0]->type.dtype;
}

imgpar_status ip_infer_refuse_wide(const imgpar_array *node, ip_error *err)
{
    imgpar_dtype dtype = node->inputs[0]->type.dtype;
    if (!ip_is_wide_integer(dtype)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: %s is not offered; cast it to f64 or i32 first", node->op->info.name,
                   ip_dtype(dtype)->name);
}

static bool has_param(const imgpar_array *node, const char *name)
{
    for (int k = 0; k < node->op->info.n_params; k++)
        if (strcmp(node->op->info.params[k]->name, name) == 0) return true;
    return false;
}

void ip_infer_copy(imgpar_array *node)
{
    node->type = node->inputs[0]->type;
    node->range = node->inputs[0]->range;
    if (!has_param(node, "cval") || ip_param_number(node, "border") != IMGPAR_BORDER_CONSTANT) return;
    if (ip_dtype(node->type.dtype)->is_float) {
        node->range = ip_range_of(node->type.dtype);
        return;
    }
    ip_range whole = ip_range_of(node->type.dtype);
    const ip_range beyond = ip_beyond_range(node);
    node->range.lo = fmin(node->range.lo, fmin(fmax(rint(beyond.lo), whole.lo), whole.hi));
    node->range.hi = fmax(node->range.hi, fmin(fmax(rint(beyond.hi), whole.lo), whole.hi));
}

void ip_type_set_dims(ip_type *type, const int64_t d[4])
{
    bool planes = type->rank == 3 && type->shape[2] > 4; /* [depth, height, width] */
    int rank = type->rank;
    if (rank == 1 && (d[0] > 1 || d[1] > 1 || d[3] > 1)) rank = 2;
    if (rank == 2 && (d[0] > 1 || d[3] > 1)) rank = 3;
    if (rank == 3 && (planes ? d[2] <= 4 || d[3] > 1 : d[0] > 1)) rank = 4;
    const int64_t shapes[5][IMGPAR_MAX_RANK] = {
        { 0 }, { d[2] }, { d[1], d[2] }, { d[1], d[2], d[3] }, { d[0], d[1], d[2], d[3] }
    };
    const int64_t volume[IMGPAR_MAX_RANK] = { d[0], d[1], d[2] };
    type->rank = rank;
    memcpy(type->shape, rank == 3 && planes ? volume : shapes[rank], sizeof type->shape);
}

/* A per-channel parameter has one number for each channel, or for each but alpha. */
static imgpar_status check_levels(const imgpar_array *node, const char *name, ip_error *err)
{
    const ip_param *p = ip_param_get(node, name);
    int64_t dims[4];
    ip_type_dims(&node->type, dims);
    if (!p->numbers || p->cols == dims[3] || p->cols == 1) return IMGPAR_OK;
    if (p->cols == dims[3] - 1 && node->type.space != IMGPAR_SPACE_DATA && dims[3] % 2 == 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s has %d numbers for %lld %s", node->op->info.name, name, p->cols,
                   (long long)dims[3], ip_word_for(dims[3], "channel", "channels"));
}

/* ---- element-wise ---------------------------------------------------------------------- */

/* add, subtract, ..., blend, overlay: shape by broadcasting, dtype of the first. */
imgpar_status ip_infer_pair(imgpar_array *node, ip_error *err)
{
    imgpar_status st = ip_infer_broadcast(node, 0, err);
    if (st) return st;
    node->type.dtype = ip_infer_named_dtype(node);
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

/* invert, threshold, clamp: same type. */
imgpar_status ip_infer_pixel(imgpar_array *node, ip_error *err)
{
    (void)err;
    node->type = node->inputs[0]->type;
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

imgpar_status ip_infer_linear(imgpar_array *node, ip_error *err)
{
    ip_infer_pixel(node, err);
    const ip_param *a = ip_param_get(node, "a");
    if (a->input < 0 && !a->numbers) ip_white_times(&node->type, a->number);
    imgpar_status st = check_levels(node, "a", err);
    return st ? st : check_levels(node, "b", err);
}

imgpar_status ip_infer_clamp(imgpar_array *node, ip_error *err) { return ip_infer_pixel(node, err); }

imgpar_status ip_infer_overlay(imgpar_array *node, ip_error *err)
{
    double mask;
    if (ip_array_is_number(node->inputs[2], &mask, NULL) && !(mask >= 0 && mask <= 1))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "overlay: mask=%g: a number is a share, from 0 to 1", mask);
    return ip_infer_pair(node, err);
}

/* Nothing is computed, so nothing is promoted: equal dtypes stay, and a literal that yes or no can hold bends to it. */
imgpar_status ip_infer_select(imgpar_array *node, ip_error *err)
{
    imgpar_status st = ip_infer_broadcast(node, 0, err);
    if (st) return st;
    const imgpar_array *yes = node->inputs[1], *no = node->inputs[2];
    if (ip_type_is_complex(&node->inputs[0]->type)) return ip_complex_refuse(node, 0, err);
    node->bends = ip_infer_bends(node);
    node->type.dtype = node->bends ? ip_infer_common_dtype(node) : ip_select_dtype(yes, no);
    node->range = ip_infer_chosen_range(node, 1, 2);
    return IMGPAR_OK;
}

static ip_range clamped(ip_range r, imgpar_dtype dtype)
{
    ip_range whole = ip_range_of(dtype);
    if (!isfinite(r.lo) || !isfinite(r.hi)) return whole; /* NaN becomes 0: inside whole */
    return (ip_range){ fmin(fmax(rint(r.lo), whole.lo), whole.hi), fmax(fmin(rint(r.hi), whole.hi), whole.lo) };
}

imgpar_status ip_infer_cast(imgpar_array *node, ip_error *err)
{
    const imgpar_array *a = node->inputs[0];
    const ip_dtype_facts *from = ip_dtype(a->type.dtype);
    node->type = a->type;
    node->type.dtype = (imgpar_dtype)ip_param_number(node, "dtype");
    if (ip_type_is_complex(&a->type) && !ip_type_is_complex(&node->type)) return ip_complex_refuse(node, 0, err);
    const ip_dtype_facts *to = ip_dtype(node->type.dtype);
    if (node->type.dtype == a->type.dtype)
        node->range = a->range;
    else if (!to->is_float)
        node->range = clamped(a->range, node->type.dtype);
    else
        node->range = !from->is_float && from->size_bytes < to->size_bytes ? a->range : ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

imgpar_status ip_infer_gray(imgpar_array *node, ip_error *err)
{
    const ip_type *in = &node->inputs[0]->type;
    int64_t dims[4];
    ip_type_dims(in, dims);
    if (dims[3] > 4)
        return ip_fail(err, IMGPAR_E_SHAPE, "gray: an image of 1 to 4 channels is needed, not %lld",
                       (long long)dims[3]);
    dims[3] = dims[3] == 3 ? 1 : dims[3] == 4 ? 2 : dims[3];
    node->type = *in;
    ip_type_set_dims(&node->type, dims);
    if (in->space != IMGPAR_SPACE_DATA) node->type.space = IMGPAR_SPACE_GRAY;
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

imgpar_status ip_infer_circle(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    (void)err;
    node->type = node->inputs[0]->type;
    ip_type_dims(&node->type, dims);
    dims[3] = 1;
    ip_type_set_dims(&node->type, dims);
    node->type.dtype = IMGPAR_U8;
    node->type.space = IMGPAR_SPACE_GRAY;
    node->type.white = 255;
    node->type.is_mask = false;
    node->range = ip_range_of(IMGPAR_U8);
    return IMGPAR_OK;
}

imgpar_status ip_infer_fill(imgpar_array *node, ip_error *err)
{
    (void)err;
    int64_t channels = (int64_t)ip_param_number(node, "channels");
    node->type = (ip_type){ .dtype = (imgpar_dtype)ip_param_number(node, "dtype"),
                            .rank = 3,
                            .shape = { (int64_t)ip_param_number(node, "height"),
                                       (int64_t)ip_param_number(node, "width"), channels } };
    node->type.space = ip_space_guess(&node->type);
    node->type.white = ip_white_guess(&node->type);
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

/* ---- filters ----------------------------------------------------------------------------- */

/* A weighted mean stays within its input's range. */
imgpar_status ip_infer_mean_filter(imgpar_array *node, ip_error *err)
{
    imgpar_status st = ip_infer_refuse_wide(node, err);
    if (st) return st;
    ip_infer_copy(node);
    if (ip_dtype(node->type.dtype)->is_float) node->range = ip_range_of(node->type.dtype); /* rounding may leave it */
    return IMGPAR_OK;
}

bool ip_convolution_has_planes(const imgpar_array *node)
{
    const ip_type *m = &node->inputs[1]->type;
    const bool is_picture = m->space != IMGPAR_SPACE_DATA && !ip_is_volume(m);
    return m->rank == 3 && !is_picture && ip_is_volume(&node->inputs[0]->type);
}

bool ip_convolution_sides(const imgpar_array *node, int64_t sides[3])
{
    const ip_type *m = &node->inputs[1]->type;
    int64_t dims[4];
    ip_type_dims(m, dims);
    if (ip_convolution_has_planes(node)) {
        memcpy(sides, m->shape, 3 * sizeof *sides);
        return true;
    }
    sides[0] = 1;
    sides[1] = dims[1];
    sides[2] = dims[2];
    return !ip_type_is_folded(m) && dims[0] == 1 && dims[3] == 1;
}

imgpar_status ip_infer_convolution(imgpar_array *node, ip_error *err)
{
    imgpar_status st = ip_infer_refuse_wide(node, err);
    if (st) return st;
    return ip_infer_pixel(node, err);
}

/* Weights of an odd number of rows and columns, for volumes of planes, too. */
imgpar_status ip_infer_convolve_by(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *m = &node->inputs[1]->type;
    const char *name = node->op->info.name;
    int64_t sides[3];
    char text[96];
    const bool is_fit = ip_convolution_sides(node, sides);
    if (!is_fit)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: matrix is %s; it must have rows and columns%s", name,
                       ip_type_text(m, text), m->rank == 3 ? ", and planes for a volume alone" : "");
    int64_t n = 1;
    for (int k = 0; k < 3; k++) {
        if (sides[k] % 2 == 0)
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: matrix is %s; its sides must be odd", name, ip_type_text(m, text));
        if (__builtin_mul_overflow(n, sides[k], &n) || n > INT32_MAX)
            return ip_fail(err, IMGPAR_E_LIMIT, "%s: matrix is %s; it has more than %d weights", name,
                           ip_type_text(m, text), INT32_MAX);
    }
    if (ip_type_is_complex(m) && !ip_type_is_complex(a) && !ip_dtype(a->dtype)->is_float)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: a is %s, matrix %s; cast(a, f32) has room for the result", name,
                       ip_dtype(a->dtype)->name, ip_dtype(m->dtype)->name);
    return ip_infer_convolution(node, err);
}

/* Median, erosion, dilation, flip choose one of the values they read. */
imgpar_status ip_infer_same(imgpar_array *node, ip_error *err)
{
    (void)err;
    ip_infer_copy(node);
    return IMGPAR_OK;
}

/* Differences of u8 need a sign and 11 bits: i16; 16 bits: i32; 32 bits: i64. The magnitude keeps the dtype. */
imgpar_status ip_infer_sobel(imgpar_array *node, ip_error *err)
{
    imgpar_status st = ip_infer_refuse_wide(node, err);
    if (st) return st;
    node->type = node->inputs[0]->type;
    const ip_dtype_facts *facts = ip_dtype(node->type.dtype);
    if (ip_param_number(node, "axis") != IP_SOBEL_MAGNITUDE && !facts->is_float)
        node->type.dtype = facts->size_bytes == 1 ? IMGPAR_I16 : facts->size_bytes == 2 ? IMGPAR_I32 : IMGPAR_I64;
    node->range = ip_range_of(node->type.dtype);
    return IMGPAR_OK;
}

imgpar_status ip_infer_blur(imgpar_array *node, ip_error *err)
{
    if (ip_param_number(node, "sigma") != 0) return ip_infer_mean_filter(node, err);
    ip_infer_copy(node);
    return IMGPAR_OK;
}

int ip_blur_radius(const imgpar_array *node)
{
    double sigma = ip_param_number(node, "sigma"), truncate = ip_param_number(node, "truncate");
    if (isnan(truncate)) truncate = ip_dtype(node->inputs[0]->type.dtype)->size_bytes == 1 ? 3 : 4;
    return (int)ceil(truncate * sigma);
}

/* ---- geometry ------------------------------------------------------------------------------ */

imgpar_status ip_infer_crop(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    int64_t x = (int64_t)ip_param_number(node, "x"), y = (int64_t)ip_param_number(node, "y");
    int64_t width = (int64_t)ip_param_number(node, "width"), height = (int64_t)ip_param_number(node, "height");
    ip_infer_copy(node);
    ip_type_dims(&node->type, dims);
    if (x + width > dims[2])
        return ip_fail(err, IMGPAR_E_SHAPE, "crop: x=%lld and width=%lld reach beyond the width %lld", (long long)x,
                       (long long)width, (long long)dims[2]);
    if (y + height > dims[1])
        return ip_fail(err, IMGPAR_E_SHAPE, "crop: y=%lld and height=%lld reach beyond the height %lld", (long long)y,
                       (long long)height, (long long)dims[1]);
    dims[1] = height;
    dims[2] = width;
    ip_type_set_dims(&node->type, dims);
    return IMGPAR_OK;
}

static int64_t scaled(int64_t side, double ratio) { return (int64_t)fmax(1, rint((double)side * ratio)); }

static imgpar_status refuse_empty(const imgpar_array *node, const int64_t dims[4], ip_error *err)
{
    if (dims[1] > 0 && dims[2] > 0) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: the image is empty", node->op->info.name);
}

/* Of a resize: sums of floats are rounded, and negative weights overshoot. */
static void widen_range(imgpar_array *node)
{
    const ip_resize_filter filter = (ip_resize_filter)ip_param_number(node, "filter");
    const bool is_float = ip_dtype(node->type.dtype)->is_float;
    if (filter >= IP_RESIZE_CUBIC || (is_float && filter != IP_RESIZE_NEAREST))
        node->range = ip_range_of(node->type.dtype);
}

imgpar_status ip_infer_resize(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    int64_t width = (int64_t)ip_param_number(node, "width"), height = (int64_t)ip_param_number(node, "height");
    ip_infer_copy(node);
    ip_type_dims(&node->type, dims);
    bool nearest = ip_param_number(node, "filter") == IP_RESIZE_NEAREST;
    if (refuse_empty(node, dims, err)) return err->status;
    if (!nearest && ip_infer_refuse_wide(node, err)) return err->status;
    const double scale = ip_param_number(node, "scale");
    if (scale != 0 && (width || height))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "resize: scale=%g stands for both sides; it takes no %s", scale,
                       width ? "width" : "height");
    if (scale != 0) {
        width = scaled(dims[2], scale);
        height = scaled(dims[1], scale);
    }
    if (!width) width = scaled(dims[2], (double)height / (double)dims[1]);
    if (!height) height = scaled(dims[1], (double)width / (double)dims[2]);
    if (width > 1000000 || height > 1000000)
        return ip_fail(err, IMGPAR_E_LIMIT, "resize: %lldx%lld is larger than 1000000 a side", (long long)width,
                       (long long)height);
    dims[1] = height;
    dims[2] = width;
    ip_type_set_dims(&node->type, dims);
    widen_range(node);
    return IMGPAR_OK;
}

/* The fraction at which a JPEG still has both sides. */
static int shrink_for(const int64_t from[4], int64_t width, int64_t height)
{
    int shrink = 8;
    while (shrink > 1 && (from[2] < width * shrink || from[1] < height * shrink))
        shrink /= 2;
    return shrink;
}

/* Fits the image into a box; an encoded JPEG is replaced by one that is decoded smaller. */
imgpar_status ip_infer_thumbnail(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    int64_t width = (int64_t)ip_param_number(node, "width"), height = (int64_t)ip_param_number(node, "height");
    if (ip_param_number(node, "filter") != IP_RESIZE_NEAREST && ip_infer_refuse_wide(node, err)) return err->status;
    ip_infer_copy(node);
    ip_type_dims(&node->type, dims);
    if (refuse_empty(node, dims, err)) return err->status;
    if (!height) height = width;
    double ratio = fmin(fmin((double)width / (double)dims[2], (double)height / (double)dims[1]), 1);
    int64_t shrunk[4];
    memcpy(shrunk, dims, sizeof shrunk);
    dims[1] = scaled(dims[1], ratio);
    dims[2] = scaled(dims[2], ratio);
    ip_type_set_dims(&node->type, dims);
    widen_range(node);
    int shrink = shrink_for(shrunk, dims[2], dims[1]);
    imgpar_array *leaf = shrink > 1 ? ip_leaf_shrunk(node->inputs[0], shrink) : NULL;
    if (!leaf) return IMGPAR_OK;
    ip_array_drop(node->inputs[0]);
    node->inputs[0] = ip_array_hold(leaf);
    imgpar_array_release(leaf);
    return IMGPAR_OK;
}

imgpar_status ip_infer_transpose(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    (void)err;
    ip_infer_copy(node);
    ip_type_dims(&node->type, dims);
    int64_t height = dims[1];
    dims[1] = dims[2];
    dims[2] = height;
    ip_type_set_dims(&node->type, dims);
    return IMGPAR_OK;
}

imgpar_status ip_infer_shift(imgpar_array *node, ip_error *err)
{
    const ip_param *offsets = ip_param_get(node, "offsets");
    ip_infer_copy(node);
    for (int k = 0; k < offsets->cols; k++)
        if (offsets->numbers[k] != floor(offsets->numbers[k]) || fabs(offsets->numbers[k]) > 1e6)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "a neighbour's offset must be a whole number within 1000000");
    if (offsets->cols > node->type.rank)
        return ip_fail(err, IMGPAR_E_SHAPE, "%d offsets for an array of %d %s", offsets->cols, node->type.rank,
                       ip_word_for(node->type.rank, "axis", "axes"));
    for (int k = 0; k < offsets->cols && ip_type_is_complex(&node->type); k++)
        if (ip_type_axis_dim(&node->type, k) == 3 && offsets->numbers[k] != 0)
            return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                           "complex numbers have no neighbours along the channels; circshift and slice move them");
    return IMGPAR_OK;
}

imgpar_status ip_infer_refuse_reads_of_nothing(const imgpar_array *node, int64_t extent, ip_error *err)
{
    if (extent > 0 || ip_type_count(&node->type) == 0 || ip_param_number(node, "border") == IMGPAR_BORDER_CONSTANT)
        return IMGPAR_OK;
    char text[96];
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, without an element to read; border=constant reads cval",
                   node->op->info.name, node->op->info.input_names[0], ip_shape_text(&node->inputs[0]->type, text));
}

static imgpar_status check_volume(const imgpar_array *node, ip_error *err)
{
    const ip_type *v = &node->inputs[0]->type;
    char text[96];
    if (v->rank == 4 || (v->rank == 3 && ip_type_axis_dim(v, 0) == 0)) return IMGPAR_OK;
    ip_shape_text(v, text);
    if (v->rank != 3)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: v is %s; it must be a volume of three axes, or four with channels",
                       node->op->info.name, text);
    return ip_fail(err, IMGPAR_E_SHAPE,
                   "%s: v is %s, an image of %lld %s; as a volume that is reshape(v, [%lld %lld %lld 1])",
                   node->op->info.name, text, (long long)v->shape[2], ip_word_for(v->shape[2], "channel", "channels"),
                   (long long)v->shape[0], (long long)v->shape[1], (long long)v->shape[2]);
}

static const char *positions_of(const imgpar_array *node) { return node->n_inputs == 4 ? "z, y and x" : "y and x"; }

/* The shape of the positions, with a's channels. */
imgpar_status ip_infer_at(imgpar_array *node, ip_error *err)
{
    const imgpar_array *a = node->inputs[0];
    const char *name = node->op->info.name, *input = node->op->info.input_names[0];
    int64_t dims[4], dims_a[4];
    const bool is_between = ip_param_number(node, "filter") != IP_AT_NEAREST, is_volume = node->n_inputs == 4;
    for (int k = 1; k < node->n_inputs; k++)
        if (ip_type_is_complex(&node->inputs[k]->type)) return ip_complex_refuse(node, k, err);
    if (is_between && ip_infer_refuse_wide(node, err)) return err->status;
    imgpar_status st = is_volume ? check_volume(node, err) : IMGPAR_OK;
    if (!st) st = ip_infer_broadcast(node, 1, err);
    if (st) return st;
    ip_type_dims(&node->type, dims);
    ip_type_dims(&a->type, dims_a);
    if (!is_volume && dims_a[0] != dims[0] && dims_a[0] != 1)
        return ip_fail(err, IMGPAR_E_SHAPE, "at: a has %lld slices, y and x have %lld; at3d() reads between slices",
                       (long long)dims_a[0], (long long)dims[0]);
    if (dims[3] != 1 && dims_a[3] != 1 && dims[3] != dims_a[3])
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s has %lld channels, %s have %lld", name, input, (long long)dims_a[3],
                       positions_of(node), (long long)dims[3]);
    if (dims_a[3] > dims[3]) {
        dims[3] = dims_a[3];
        ip_type_set_dims(&node->type, dims);
    }
    node->type.dtype = a->type.dtype;
    node->type.space = dims[3] == dims_a[3] ? a->type.space : IMGPAR_SPACE_DATA;
    node->range = ip_range_of(a->type.dtype);
    return ip_infer_refuse_reads_of_nothing(node, dims_a[1] * dims_a[2] * (is_volume ? dims_a[0] : 1), err);
}

/* ---- measures -------------------------------------------------------------------------------- */

void ip_histogram_edges(const imgpar_array *node, double *lo, double *hi)
{
    const ip_type *a = &node->inputs[0]->type;
    const ip_dtype_facts *facts = ip_dtype(a->dtype);
    *lo = ip_param_number(node, "lo");
    *hi = ip_param_number(node, "hi");
    if (isnan(*lo)) *lo = facts->is_float || a->white > 0 ? 0 : facts->minimum;
    if (isnan(*hi)) *hi = a->white > 0 ? a->white : facts->is_float ? 1 : facts->maximum;
}

/* Whether a bin has a width, and a level its share of a bin, in the float of the input. */
static bool is_bin_width(const imgpar_array *node, double lo, double hi)
{
    const double bins = ip_param_number(node, "bins");
    if (ip_float_for(node->inputs[0]->type.dtype) == IMGPAR_F64) {
        const double width = hi - lo, k = bins / width;
        return isfinite(width) && width > 0 && isfinite(k) && k > 0;
    }
    const float width = (float)hi - (float)lo, k = (float)(bins / (hi - lo));
    return isfinite(width) && width > 0 && isfinite(k) && k > 0;
}

/* The row's rule holds for edges that are given; here it does for those that the input tells, too. */
imgpar_status ip_infer_histogram(imgpar_array *node, ip_error *err)
{
    int64_t dims[4];
    double lo, hi;
    ip_histogram_edges(node, &lo, &hi);
    if (!(lo < hi))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: lo=%g%s is not below hi=%g%s", ip_op_label(node->op), lo,
                       isnan(ip_param_number(node, "lo")) ? " by default" : "", hi,
                       isnan(ip_param_number(node, "hi")) ? " by default" : "");
    if (!is_bin_width(node, lo, hi))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: lo=%g and hi=%g are too far apart, or too near, for bins of %s",
                       ip_op_label(node->op), lo, hi, ip_dtype(ip_float_for(node->inputs[0]->type.dtype))->name);
    ip_type_dims(&node->inputs[0]->type, dims);
    node->type = (ip_type){ .dtype = IMGPAR_U32,
                            .space = IMGPAR_SPACE_DATA,
                            .rank = 2,
                            .shape = { dims[3], (int64_t)ip_param_number(node, "bins") } };
    node->range = (ip_range){ 0, fmin(4294967295.0, (double)ip_type_count(&node->inputs[0]->type)) };
    return IMGPAR_OK;
}

/* Hidden rows are made by ops/build.c, which knows their types. */
imgpar_status ip_infer_hidden(imgpar_array *node, ip_error *err)
{
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s cannot be called", node->op->info.name);
}
