/* SPDX-License-Identifier: MIT */
/*
 * Stages of resize: a resampling along each axis, with weights from exact fractions.
 *
 * Note [Growing bytes]
 * Bytes of which neither side gets smaller are made of two inputs a side. Weights are multiples of 2^-14, sums exact in
 * 32 bits, between the passes values are kept in 16 bits, as multiples of 2^-7 of a level: processors multiply two such
 * numbers and add the products at once (compile/idioms.def).
 */
#include "ops/coverage.h"
#include "ops/infer.h"
#include "ops/interpolation.h"
#include "ops/resample.h"
#include "ops/weighted.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <math.h>

enum { Y = 1, X = 2 };

/* One axis. The outputs share `extent` units from `from` on, of which an input pixel is `unit`: n_in, 0 and 1, but for
 * a JPEG that was decoded smaller. */
typedef struct axis_map {
    ip_resampling r;
    int64_t extent, from, unit;
    const ip_interpolation *kernel; /* of filters that are one beyond linear, else NULL */
} axis_map;

/* Adds weight at a position, which is moved to the nearest one inside. */
static void put(axis_map *m, int64_t i, int64_t at, double weight)
{
    if (at < 0) at = 0;
    if (at >= m->r.n_in) at = m->r.n_in - 1;
    m->r.weight[i * m->r.taps + (at - m->r.first[i])] += weight;
}

static int32_t first_inside(const axis_map *m, int64_t at)
{
    if (at > m->r.n_in - m->r.taps) at = m->r.n_in - m->r.taps;
    return (int32_t)(at < 0 ? 0 : at);
}

/* In units / n_out, output i covers [from n_out + i extent, ... + extent), input pixel at [at unit n_out, ... + unit
 * n_out). */
static void fill_area(axis_map *m, int64_t i)
{
    int64_t from = m->from * m->r.n_out + i * m->extent, to = from + m->extent, pixel = m->unit * m->r.n_out;
    m->r.first[i] = first_inside(m, from / pixel);
    for (int64_t at = from / pixel; at * pixel < to; at++) {
        int64_t a = at * pixel > from ? at * pixel : from;
        int64_t b = (at + 1) * pixel < to ? (at + 1) * pixel : to;
        put(m, i, at, (double)(b - a) / (double)m->extent);
    }
}

/* The position (i + 1/2) in/out - 1/2, which is ((2 i + 1) n_in - n_out) / (2 n_out) for plain units: the pixel before
 * it, and the part behind that. */
static int64_t position_of(const axis_map *m, int64_t i, double *part)
{
    int64_t den = 2 * m->r.n_out * m->unit;
    int64_t num = (2 * i + 1) * m->extent + 2 * m->from * m->r.n_out - m->r.n_out * m->unit;
    int64_t at = ip_floor_div(num, den);
    *part = (double)(num - at * den) / (double)den;
    return at;
}

static void fill_linear(axis_map *m, int64_t i)
{
    double f;
    int64_t at = position_of(m, i, &f);
    m->r.first[i] = first_inside(m, at);
    put(m, i, at, 1 - f);
    put(m, i, at + 1, f);
}

/* How far a kernel is stretched: not along a side that grows. */
static double stretch_of(const axis_map *m) { return fmax(1, (double)m->extent / (double)(m->r.n_out * m->unit)); }

/* The radius of a kernel, in whole pixels. */
static int64_t reach_of(const axis_map *m) { return (int64_t)ceil(m->kernel->radius * stretch_of(m)); }

/* Weights over their sum; the largest makes up for how that was rounded. */
static void normalise(double *w, int n)
{
    double sum = 0, others = 0;
    int largest = 0;
    for (int k = 0; k < n; k++) {
        sum += w[k];
        if (w[k] > w[largest]) largest = k;
    }
    for (int k = 0; k < n; k++) {
        w[k] /= sum;
        if (k != largest) others += w[k];
    }
    w[largest] = 1 - others;
}

static void fill_kernel(axis_map *m, int64_t i)
{
    double f;
    const double stretch = stretch_of(m);
    const int64_t reach = reach_of(m), at = position_of(m, i, &f);
    m->r.first[i] = first_inside(m, at + 1 - reach);
    for (int64_t k = 1 - reach; k <= reach; k++)
        put(m, i, at + k, m->kernel->at((f - (double)k) / stretch));
    normalise(m->r.weight + i * m->r.taps, m->r.taps);
}

static void fill_nearest(axis_map *m, int64_t i)
{
    m->r.first[i] = (int32_t)(((2 * i + 1) * m->extent + 2 * m->from * m->r.n_out) / (2 * m->r.n_out * m->unit));
    m->r.weight[i] = 1;
}

static const ip_interpolation *kernel_of(ip_resize_filter filter)
{
    return filter < IP_RESIZE_CUBIC ? NULL
                                    : ip_interpolation_of((ip_at_filter)(filter - IP_RESIZE_CUBIC + IP_AT_CUBIC));
}

static bool make_map(axis_map *m, const imgpar_array *input, int axis, int64_t n_in, int64_t n_out,
                     ip_resize_filter filter)
{
    static void (*const fill[])(axis_map *, int64_t) = {
        [IP_RESIZE_AREA] = fill_area,       [IP_RESIZE_LINEAR] = fill_linear,   [IP_RESIZE_NEAREST] = fill_nearest,
        [IP_RESIZE_CUBIC] = fill_kernel,    [IP_RESIZE_MITCHELL] = fill_kernel, [IP_RESIZE_LANCZOS2] = fill_kernel,
        [IP_RESIZE_LANCZOS3] = fill_kernel,
    };
    if (filter == IP_RESIZE_AUTO) filter = n_out < n_in ? IP_RESIZE_AREA : IP_RESIZE_LINEAR;
    const ip_shrink *shrink = input->shrink.by && (axis == Y || axis == X) ? &input->shrink : NULL;
    int64_t unit = shrink ? shrink->by : 1, extent = shrink ? shrink->full[axis - Y] : n_in;
    *m = (axis_map){ .extent = extent, .from = shrink ? shrink->before[axis - Y] : 0, .unit = unit };
    m->r.n_out = n_out;
    m->kernel = kernel_of(filter);
    int64_t taps = filter == IP_RESIZE_NEAREST  ? 1
                   : filter == IP_RESIZE_LINEAR ? 2
                   : m->kernel                  ? 2 * reach_of(m)
                                                : (extent + n_out * unit - 1) / (n_out * unit) + 1;
    if (!ip_resampling_new(&m->r, n_in, n_out, (int)(taps < n_in ? taps : n_in))) return false;
    for (int64_t i = 0; i < n_out; i++)
        fill[filter](m, i);
    ip_resampling_trim(&m->r);
    bool is_float = ip_dtype(input->type.dtype)->is_float;
    if (is_float || ip_resampling_is_mean(&m->r) || ip_resampling_round_up(&m->r)) return true;
    ip_resampling_clear(&m->r);
    return false;
}

/* ---- passes ------------------------------------------------------------------------------------ */

static bool make_maps(ip_lower *l, axis_map maps[2])
{
    ip_resize_filter filter = (ip_resize_filter)ip_param_number(l->node, "filter");
    const int64_t *in = l->in[0]->dims;
    if (!make_map(&maps[0], l->node->inputs[0], Y, in[Y], l->dims[Y], filter)) return false;
    if (make_map(&maps[1], l->node->inputs[0], X, in[X], l->dims[X], filter)) return true;
    ip_resampling_clear(&maps[0].r);
    return false;
}

static ip_stage *nearest(ip_lower *l, const ip_resampling *y, const ip_resampling *x)
{
    ip_expr *index[4];
    for (int k = 0; k < 4; k++)
        index[k] = ip_lower_coord(l, k);
    index[Y] = ip_resampling_first(l, y, index[Y]);
    index[X] = ip_resampling_first(l, x, index[X]);
    return ip_lower_map(l, ip_x_load(l->ir, l->in[0], index, IP_BORDER_NONE, NULL));
}

/* The dtype of sums of whole blocks of in, rounding included; I64: none of 32 bits. */
static imgpar_dtype block_dtype(const ip_stage *in, int64_t n)
{
    return ip_lower_sum_dtype(in->dtype, in->lo, in->hi, (double)n, (double)(n / 2));
}

static bool is_mean_of_blocks(const ip_stage *in, const ip_resampling *y, const ip_resampling *x)
{
    const ip_dtype_facts *facts = ip_dtype(in->dtype);
    return !facts->is_float && facts->size_bytes <= 2 && ip_resampling_is_mean(y) && ip_resampling_is_mean(x) &&
           block_dtype(in, (int64_t)y->taps * x->taps) != IMGPAR_I64;
}

static ip_stage *mean_of_blocks(ip_lower *l, ip_stage *in, const ip_resampling *y, const ip_resampling *x)
{
    const int64_t between[4] = { in->dims[0], l->dims[Y], in->dims[X], in->dims[3] };
    int64_t n = (int64_t)y->taps * x->taps;
    imgpar_dtype column = ip_lower_sum_dtype(in->dtype, in->lo, in->hi, y->taps, 0);
    ip_stage *sums =
        ip_lower_stage_sized(l, between, column, ip_resampled_sum(l, in, Y, between, column, y), "vertical sums");
    ip_expr *sum = ip_resampled_sum(l, sums, X, l->dims, block_dtype(in, n), x);
    return l->coverage ? ip_lower_stage(l, sum, "sums") : ip_lower_map(l, ip_lower_mean(l, sum, n));
}

enum { WEIGHT_BITS = 14, KEPT_BITS = 7 };

static ip_resize_filter filter_of(const ip_lower *l) { return (ip_resize_filter)ip_param_number(l->node, "filter"); }

static bool grows_bytes(const ip_lower *l, const ip_resampling *y, const ip_resampling *x)
{
    return !kernel_of(filter_of(l)) && l->in[0]->dtype == IMGPAR_U8 && l->node->type.dtype == IMGPAR_U8 &&
           y->taps <= 2 && x->taps <= 2 && y->n_out >= y->n_in && x->n_out >= x->n_in;
}

static ip_expr *whole_pass(ip_lower *l, ip_stage *in, int axis, const int64_t dims[4], ip_resampling *r, int shift,
                           imgpar_dtype dtype)
{
    ip_resampling_make_whole(r, WEIGHT_BITS);
    return ip_lower_rounded(l, ip_resampled(l, in, axis, dims, IMGPAR_I32, r),
                            &(ip_rounding){ .start = (int64_t)1 << (shift - 1), .shift = shift, .dtype = dtype });
}

/* Note [Growing bytes]. A side that stays is not filtered. */
static ip_stage *weighted_bytes(ip_lower *l, ip_resampling *y, ip_resampling *x)
{
    ip_stage *in = l->in[0];
    if (y->n_in == y->n_out) return ip_lower_map(l, whole_pass(l, in, X, l->dims, x, WEIGHT_BITS, IMGPAR_U8));
    if (x->n_in == x->n_out) return ip_lower_map(l, whole_pass(l, in, Y, l->dims, y, WEIGHT_BITS, IMGPAR_U8));
    const int64_t between[4] = { in->dims[0], in->dims[Y], l->dims[X], in->dims[3] };
    ip_expr *wide = whole_pass(l, in, X, between, x, WEIGHT_BITS - KEPT_BITS, IMGPAR_I16);
    ip_stage *made = ip_lower_stage_sized(l, between, IMGPAR_I16, wide, "horizontal pass");
    return ip_lower_map(l, whole_pass(l, made, Y, l->dims, y, WEIGHT_BITS + KEPT_BITS, IMGPAR_U8));
}

/* A pixel of a stage of one channel, and such a stage of the least that a pass reads. */
static ip_expr *pixel(ip_lower *l, ip_stage *in, int64_t channel)
{
    ip_expr *const index[4] = { ip_lower_coord(l, 0), ip_x_coord(l->ir, Y, in->dims[Y]),
                                ip_x_coord(l->ir, X, in->dims[X]), ip_lower_i32(l, channel) };
    return ip_x_load(l->ir, in, index, IP_BORDER_NONE, NULL);
}

static ip_stage *least_of(ip_lower *l, ip_stage *in, int axis, const ip_resampling *r)
{
    int64_t dims[4] = { in->dims[0], in->dims[Y], in->dims[X], 1 };
    dims[axis] = l->dims[axis];
    ip_expr *least = ip_resampled_least(l, in, axis, dims, r);
    return ip_lower_stage_sized(l, dims, least->dtype, least, "least alpha");
}

/* Notes where all alpha that a pass, or two, read is opaque: weights may be negative. Those that are 0 count, too. */
static void note_opaque(ip_lower *l, int first, const ip_resampling *before, const ip_resampling *behind)
{
    ip_stage *in = l->in[0];
    const int64_t dims[4] = { in->dims[0], in->dims[Y], in->dims[X], 1 };
    ip_expr *alpha = pixel(l, in, in->dims[3] - 1);
    ip_stage *least = least_of(l, ip_lower_stage_sized(l, dims, alpha->dtype, alpha, "alpha"), first, before);
    if (behind) least = least_of(l, least, first == X ? Y : X, behind);
    ip_expr *full = ip_x_number(l->ir, least->dtype, l->coverage->full);
    l->coverage->is_opaque = ip_x_binary(l->ir, IP_X_LE, full, pixel(l, least, 0));
}

/* The pass of an axis that gets longer comes last: it is fewer elements to make, and columns, which are the dearer
 * ones, most of all. */
static ip_stage *weighted(ip_lower *l, ip_stage *in, const ip_resampling *y, const ip_resampling *x)
{
    imgpar_dtype f = ip_float_for(in->dtype);
    const bool counts_alpha = l->coverage && kernel_of(filter_of(l));
    if (y->n_in == y->n_out || x->n_in == x->n_out) {
        const int only = y->n_in == y->n_out ? X : Y;
        if (counts_alpha) note_opaque(l, only, only == X ? x : y, NULL);
        return ip_lower_map(l, ip_resampled(l, in, only, l->dims, f, only == X ? x : y));
    }
    int first = y->n_out > y->n_in ? X : Y, last = first == X ? Y : X;
    if (counts_alpha) note_opaque(l, first, first == X ? x : y, first == X ? y : x);
    int64_t between[4] = { in->dims[0], in->dims[Y], in->dims[X], in->dims[3] };
    between[first] = l->dims[first];
    ip_expr *half = ip_resampled(l, in, first, between, f, first == X ? x : y);
    ip_stage *made = ip_lower_stage_sized(l, between, f, half, first == X ? "horizontal pass" : "vertical pass");
    return ip_lower_map(l, ip_resampled(l, made, last, l->dims, f, last == X ? x : y));
}

/* Means of as many bytes each whose sums, times alpha, have 31 bits; colours are weighed exactly then. */
static bool may_weigh_blocks(const ip_stage *in, const ip_resampling *y, const ip_resampling *x)
{
    enum { LARGEST = 255 * 255 };
    return in->dtype == IMGPAR_U8 && ((int64_t)y->taps * x->taps + 1) * LARGEST <= INT32_MAX;
}

/* By linear weights, or by areas. */
static ip_stage *filtered(ip_lower *l, ip_resampling *y, ip_resampling *x)
{
    ip_stage *in = l->in[0];
    bool are_blocks = is_mean_of_blocks(in, y, x), is_whole = are_blocks || grows_bytes(l, y, x);
    if (are_blocks && (!l->coverage || may_weigh_blocks(in, y, x)))
        return mean_of_blocks(l, ip_coverage_whole(l, (int64_t)y->taps * x->taps), y, x);
    return is_whole && !l->coverage ? weighted_bytes(l, y, x) : weighted(l, ip_coverage_floats(l, is_whole), y, x);
}

ip_stage *ip_stages_resize(ip_lower *l)
{
    ip_stage *in = l->in[0], *result;
    axis_map maps[2];
    if (in->dims[Y] == l->dims[Y] && in->dims[X] == l->dims[X]) return in;
    if (!make_maps(l, maps)) {
        l->ir->failed = true;
        return NULL;
    }
    ip_resampling *y = &maps[0].r, *x = &maps[1].r;
    result = ip_param_number(l->node, "filter") == IP_RESIZE_NEAREST ? nearest(l, y, x) : filtered(l, y, x);
    ip_resampling_clear(&maps[0].r);
    ip_resampling_clear(&maps[1].r);
    return result;
}
