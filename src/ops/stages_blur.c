/* SPDX-License-Identifier: MIT */
/*
 * Stages of Gaussian filters: blur, the truncated kernel at every element, and fastblur.
 *
 * Note [Sampled Gaussians]
 * A Gaussian of large sigma leaves nothing that changes fast, so fastblur computes it in every step-th row alone, with
 * the same weights that blur has, and puts cubics through these samples; step grows with sigma, so an element costs 2
 * truncate sigma / step products in each pass, whatever sigma is. In columns it does the same where step is so large
 * that reading elements which are not neighbours pays: three or four channels in f32 are a vector by themselves, others
 * are gathered one by one. The samples lie at -step, 0, step, ... and reach beyond both edges as far as interpolation
 * asks; what the border rule adds is read there as everywhere else; of columns only where the rule is wrap or constant,
 * else their weights are added to those of the elements they repeat (resampled_columns()). Nothing is carried from
 * element to element: all samples can be computed at once, and no small feedback is lost in f32 as in a recursive
 * Gaussian of large sigma.
 *
 * The cubics are Keys' ("Cubic convolution interpolation for digital image processing", 1981, a = -1/2): what they
 * change shrinks with (step / sigma)^3, and they join without a kink. Below sigma = 4, where step would be 1, there is
 * nothing to save, and fastblur is blur. For sigma >= 2 step the kernel of samples and cubics differs from the exact
 * Gaussian along an axis by at most 0.0066 in the sum of magnitudes, where the weights end at 3 sigma, and by 0.0039
 * where they end at 4. The sum of the difference being 0, it moves a value by at most half of that times the range of
 * the values: by 0.33 % and 0.2 % of it, twice for two axes.
 *
 * Note [Whole weights]
 * Bytes are weighted in whole numbers, which processors multiply and add in pairs, several times as fast as floats. The
 * weights of a pass are multiples of 1 / 2^bits, of 16 bits, and their sum is 1; sums are exact in 32 bits. Between the
 * passes values are kept in 16 bits: their distance from 127.5, rounded to 2^-fraction of a level, so that the sum of
 * two has 16 bits again. What this may be off by is known when the weights are:
 *
 *     2^-(fraction + 1)                                        what is kept, rounded
 *     + 127.5 (sum of |w - real w|, of both passes)            the weights: their errors add up to 0, so only
 *                                                              differences of values count
 *
 * A small fraction leaves more bits to the second pass's weights, whose sums have fraction + bits + 8 of them; the
 * fraction taken is the one with the least sum of both. Where weights end at 3 sigma it is below 0.03 of a level up to
 * sigma 10 and 0.06 up to 85, and below 0.11 up to radius 1023, beyond which floats are used. Images of one colour stay
 * as they are. fastblur's passes are made so up to radius 255: beyond, the rows that a sample reads fit no cache, and
 * sampled columns of floats are quicker.
 */
#include "ops/infer.h"
#include "ops/resample.h"
#include "ops/weighted.h"

#include "base/alloc.h"
#include "ops/coverage.h"

#include <math.h>
#include <string.h>

enum { Y = 1, X = 2 };

enum {
    CUBIC_TAPS = 4,
    CUBIC_BITS = 14,
    LEAST_SIGMA_PER_STEP = 2,
    LEAST_STEP_OF_VECTORS = 9,
    LEAST_STEP_OF_ELEMENTS = 25
};

static double *gaussian(double sigma, int radius)
{
    double sum = 0, *w = ip_alloc_array((size_t)(2 * radius + 1), sizeof *w);
    if (!w) return NULL;
    for (int k = -radius; k <= radius; k++)
        sum += w[k + radius] = k ? exp(-(double)k * k / (2 * sigma * sigma)) : 1; /* also where sigma's square is 0 */
    for (int k = 0; k <= 2 * radius; k++)
        w[k] /= sum;
    return w;
}

/* ---- whole weights --------------------------------------------------------------------------------------------- */

enum {
    MOST_WHOLE_RADIUS = 1023,
    MOST_SAMPLED_RADIUS = 255,
    LEAST_FRACTION = 3,
    MOST_FRACTION = 7,
    SUM_BITS = 24 /* of fraction and weight */,
    MOST_BITS = 23
};

/* w in multiples of 2^-bits, the middle one halved (ops/weighted.h), into whole. The sum of what they are off by. */
static double make_whole(const double *w, int radius, int most_bits, double *whole, int *bits)
{
    double largest = fmax(w[radius] / 2, radius > 0 ? w[radius - 1] : 0), sum = 0, error = 0;
    for (*bits = most_bits; ldexp(largest, *bits) > INT16_MAX - radius;)
        --*bits;
    for (int k = 0; k < radius; k++) {
        whole[k] = whole[2 * radius - k] = rint(ldexp(w[k], *bits));
        sum += 2 * whole[k];
        error += 2 * fabs(ldexp(whole[k], -*bits) - w[k]);
    }
    whole[radius] = (ldexp(1, *bits) - sum) / 2;
    return error + fabs(ldexp(2 * whole[radius], -*bits) - w[radius]);
}

/* The weights of both passes, vertical and horizontal. */
typedef struct whole_weights {
    double *vertical, *horizontal;
    int vertical_bits, horizontal_bits, fraction;
} whole_weights;

static void free_whole(whole_weights *whole)
{
    ip_free(whole->vertical);
    ip_free(whole->horizontal);
}

static bool whole_weights_of(const double *w, int radius, whole_weights *out)
{
    size_t n = (size_t)(2 * radius + 1);
    *out = (whole_weights){ .vertical = ip_alloc_array(n, sizeof(double)),
                            .horizontal = ip_alloc_array(n, sizeof(double)) };
    if (!out->vertical || !out->horizontal) {
        free_whole(out);
        return false;
    }
    double least = INFINITY;
    for (int fraction = LEAST_FRACTION; fraction <= MOST_FRACTION; fraction++) {
        int bits;
        double error =
            ldexp(1, -fraction - 1) + 127.5 * make_whole(w, radius, SUM_BITS - fraction, out->horizontal, &bits);
        if (error >= least) continue;
        least = error;
        out->fraction = fraction;
    }
    make_whole(w, radius, MOST_BITS, out->vertical, &out->vertical_bits);
    make_whole(w, radius, SUM_BITS - out->fraction, out->horizontal, &out->horizontal_bits);
    return true;
}

/* ---- passes -------------------------------------------------------------------------------------------------- */

/* A pass: a weighted sum, which is kept as it is if it is one of floats. Of bytes in whole numbers `rounding` tells
 * what is kept. */
typedef struct pass {
    ip_weighted sum;
    ip_rounding rounding;
} pass;

/* The vertical pass over the input, and the horizontal one over its stage, which is not known yet; fraction: Note
 * [Whole weights], of floats 0. */
typedef struct passes {
    pass vertical, horizontal;
    int fraction;
} passes;

static bool is_whole(const passes *p) { return p->fraction > 0; }

static passes passes_of(ip_lower *l, ip_stage *in, const double *w, int taps)
{
    ip_expr *cval;
    int border = ip_lower_border(l, in->dtype, &cval);
    passes p = { .vertical.sum = { .l = l,
                                   .stage = in,
                                   .border = border,
                                   .cval = cval,
                                   .dtype = ip_float_for(in->dtype),
                                   .weights = { .rows = taps, .cols = 1, .w = w, .symmetric = true } } };
    p.horizontal = p.vertical;
    p.horizontal.sum.stage = NULL;
    p.horizontal.sum.cval = ip_weighted_cval(&p.vertical.sum);
    p.horizontal.sum.weights = (ip_weights){ .rows = 1, .cols = taps, .w = w, .symmetric = true };
    return p;
}

/* 127.5 levels, as multiples of 2^-fraction. */
static int64_t middle_level(int fraction) { return (int64_t)255 << (fraction - 1); }
static int64_t half(int shift) { return (int64_t)1 << (shift - 1); }

/* Levels from sums of kept values, which weights of `bits` multiplied: the half that rounding adds, and 127.5, are the
 * whole offset. */
static ip_rounding to_levels(int fraction, int bits)
{
    return (ip_rounding){ .offset = 128, .shift = fraction + bits, .dtype = IMGPAR_U8 };
}

/* Kept values from kept ones. */
static ip_rounding to_kept(int bits)
{
    return (ip_rounding){ .start = half(bits), .shift = bits, .dtype = IMGPAR_I16 };
}

/* The passes over bytes in whole numbers. is_last: the horizontal one makes levels. */
static passes whole_passes_of(ip_lower *l, const whole_weights *whole, int taps, bool is_last)
{
    int fraction = whole->fraction, first_shift = whole->vertical_bits - fraction;
    ip_stage *in = l->in[0];
    ip_expr *cval;
    int border = ip_lower_border(l, in->dtype, &cval);
    passes p = { .fraction = fraction };
    p.vertical.sum = (ip_weighted){
        .l = l,
        .stage = in,
        .border = border,
        .cval = cval,
        .dtype = IMGPAR_I32,
        .weights = { .rows = taps, .cols = 1, .w = whole->vertical, .symmetric = true, .are_arguments = true }
    };
    p.vertical.rounding = (ip_rounding){
        .start = half(first_shift), .offset = -middle_level(fraction), .shift = first_shift, .dtype = IMGPAR_I16
    };
    p.horizontal.sum = p.vertical.sum;
    p.horizontal.sum.stage = NULL;
    p.horizontal.sum.weights =
        (ip_weights){ .rows = 1, .cols = taps, .w = whole->horizontal, .symmetric = true, .are_arguments = true };
    p.horizontal.rounding = is_last ? to_levels(fraction, whole->horizontal_bits) : to_kept(whole->horizontal_bits);
    if (cval) { /* what a constant becomes, exactly */
        const double *levels;
        const int n = ip_beyond_levels(l->node, &levels);
        const double middle = (double)middle_level(fraction), most = (double)middle_level(MOST_FRACTION);
        for (int c = 0; c < n; c++) {
            const double level = ldexp(fmin(fmax(rint(levels[c]), 0), 255), fraction) - middle;
            ip_expr *beyond = ip_x_param(l->ir, IMGPAR_I16, level, -most, most);
            p.horizontal.sum.cval = c == 0 ? beyond : ip_lower_of_channel(l, c, beyond, p.horizontal.sum.cval);
        }
    }
    return p;
}

/* The value of a pass. */
static ip_expr *passed(const pass *p)
{
    ip_expr *sum = ip_weighted_sum(&p->sum);
    return p->rounding.shift ? ip_lower_rounded(p->sum.l, sum, &p->rounding) : sum;
}

/* A stage of kept values, which lie within 127.5 levels. */
static ip_stage *kept(ip_stage *s)
{
    if (s && s->dtype == IMGPAR_I16) {
        s->lo = -(double)middle_level(MOST_FRACTION);
        s->hi = -s->lo;
    }
    return s;
}

/* ---- at every element -------------------------------------------------------------------------------- */

static ip_stage *everywhere(ip_lower *l, passes *p)
{
    p->horizontal.sum.stage = kept(ip_lower_stage(l, passed(&p->vertical), "vertical pass"));
    return ip_lower_map(l, passed(&p->horizontal));
}

/* ---- at samples ------------------------------------------------------------------------------------------ */

/* Sample i lies at (i - 1) step. A place between samples i and i + 1 takes those from i - 1 to i + 2. */
static int64_t sample_count(int64_t extent, int step) { return (extent - 1) / step + CUBIC_TAPS; }

/* The weights of the samples at -1, 0, 1 and 2, for a place t after that at 0. */
static void keys_cubic(double t, double w[CUBIC_TAPS])
{
    w[0] = ((-0.5 * t + 1) * t - 0.5) * t;
    w[1] = (1.5 * t - 2.5) * t * t + 1;
    w[2] = ((-1.5 * t + 2) * t + 0.5) * t;
    w[3] = (0.5 * t - 0.5) * t * t;
}

static ip_stage *sampled(pass *p, int axis, int step, const char *note)
{
    ip_lower *l = p->sum.l;
    int64_t dims[4];
    ip_expr *at[4];
    if (!p->sum.stage) return NULL;
    memcpy(dims, p->sum.stage->dims, sizeof dims);
    if (step > 1) dims[axis] = sample_count(dims[axis], step);
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(l->ir, k, dims[k]);
    if (step > 1)
        at[axis] = ip_x_binary(l->ir, IP_X_MUL, ip_x_binary(l->ir, IP_X_SUB, at[axis], ip_lower_i32(l, 1)),
                               ip_lower_i32(l, step));
    p->sum.at = at;
    ip_expr *value = passed(p);
    p->sum.at = NULL;
    return kept(ip_lower_stage_sized(l, dims, value->dtype, value, note));
}

/*
 * Samples of columns as a resampling, edges in its weights: it reads no column outside, so that rows it reads are kept
 * as they are. Where a border repeats what lies near the edge, that is, and windows are wide enough to hold it.
 */
static bool resamples(const ip_weighted *p, int step)
{
    bool is_near = p->border == IMGPAR_BORDER_REPLICATE || p->border == IMGPAR_BORDER_REFLECT ||
                   p->border == IMGPAR_BORDER_REFLECT101;
    return is_near && 2 * step <= p->weights.cols / 2 && p->stage && p->stage->dims[X] >= p->weights.cols;
}

/* The column inside that stands for one outside, of a row at least as long as it is away. */
static int64_t column_inside(int border, int64_t x, int64_t n)
{
    int mirror = border == IMGPAR_BORDER_REFLECT101 ? 0 : 1; /* the edge is repeated */
    if (border == IMGPAR_BORDER_REPLICATE) return x < 0 ? 0 : x >= n ? n - 1 : x;
    return x < 0 ? -x - mirror : x >= n ? 2 * n - 2 + mirror - x : x;
}

static ip_stage *resampled_columns(ip_weighted *p, int step, const char *note)
{
    ip_lower *l = p->l;
    int taps = p->weights.cols;
    int64_t n = p->stage->dims[X], dims[4];
    memcpy(dims, p->stage->dims, sizeof dims);
    dims[X] = sample_count(n, step);
    ip_resampling r;
    if (!ip_resampling_new(&r, n, dims[X], taps)) {
        l->ir->failed = true;
        return NULL;
    }
    for (int64_t i = 0; i < dims[X]; i++) {
        int64_t from = (i - 1) * step - taps / 2;
        r.first[i] = (int32_t)(from < 0 ? 0 : from > n - taps ? n - taps : from);
        for (int k = 0; k < taps; k++)
            r.weight[i * taps + column_inside(p->border, from + k, n) - r.first[i]] += p->weights.w[k];
    }
    ip_stage *s = ip_lower_stage_sized(l, dims, p->dtype, ip_resampled(l, p->stage, X, dims, p->dtype, &r), note);
    ip_resampling_clear(&r);
    return s;
}

/* What cubics make of samples along an axis of that extent: sums of floats, or of kept values times 2^CUBIC_BITS. */
static ip_expr *interpolated(ip_lower *l, ip_stage *samples, int axis, int64_t extent, int step, bool is_whole)
{
    ip_resampling r;
    if (!samples || !ip_resampling_new(&r, samples->dims[axis], extent, CUBIC_TAPS)) {
        l->ir->failed = true;
        return NULL;
    }
    int64_t dims[4];
    memcpy(dims, samples->dims, sizeof dims);
    dims[axis] = extent;
    for (int64_t i = 0; i < extent; i++) {
        r.first[i] = (int32_t)(i / step);
        keys_cubic((double)(i % step) / step, r.weight + i * CUBIC_TAPS);
    }
    if (is_whole) ip_resampling_make_whole(&r, CUBIC_BITS);
    ip_expr *x = ip_resampled(l, samples, axis, dims, is_whole ? IMGPAR_I32 : samples->dtype, &r);
    ip_resampling_clear(&r);
    return x;
}

/* Whether columns are sampled too: the channels of a pixel are then computed as one vector, where they are three or
 * four floats. */
static bool samples_columns(const passes *p, int64_t channels, int step)
{
    bool makes_vectors = (channels == 3 || channels == 4) && p->vertical.sum.dtype == IMGPAR_F32;
    return !is_whole(p) && step >= (makes_vectors ? LEAST_STEP_OF_VECTORS : LEAST_STEP_OF_ELEMENTS);
}

/* The samples' rows in full: from samples along them, too, where that is worth it. */
static ip_stage *sampled_rows(ip_lower *l, passes *p, int step)
{
    p->horizontal.sum.stage = sampled(&p->vertical, Y, step, "every step-th row");
    if (!samples_columns(p, l->dims[3], step)) return sampled(&p->horizontal, X, 1, "horizontal pass");
    static const char note[] = "every step-th column";
    ip_weighted *sum = &p->horizontal.sum;
    ip_stage *samples =
        resamples(sum, step) ? resampled_columns(sum, step, note) : sampled(&p->horizontal, X, step, note);
    ip_expr *across = interpolated(l, samples, X, l->dims[X], step, false);
    if (!across) return NULL;
    int64_t dims[4] = { samples->dims[0], samples->dims[Y], l->dims[X], samples->dims[3] };
    return ip_lower_stage_sized(l, dims, across->dtype, across, "columns between samples");
}

static ip_stage *from_samples(ip_lower *l, passes *p, int step)
{
    ip_expr *value = interpolated(l, sampled_rows(l, p, step), Y, l->dims[Y], step, is_whole(p));
    const ip_rounding r = to_levels(p->fraction, CUBIC_BITS);
    if (value && is_whole(p)) value = ip_lower_rounded(l, value, &r);
    return value ? ip_lower_map(l, value) : NULL;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static ip_stage *of_passes(ip_lower *l, passes *p, int step)
{
    return step > 1 ? from_samples(l, p, step) : everywhere(l, p);
}

static ip_stage *gaussian_stages(ip_lower *l, int step)
{
    int radius = ip_blur_radius(l->node);
    if (radius == 0) return l->in[0];
    double *w = gaussian(ip_param_number(l->node, "sigma"), radius);
    bool are_bytes = l->in[0]->dtype == IMGPAR_U8 && l->node->type.dtype == IMGPAR_U8;
    bool is_whole = are_bytes && radius <= (step > 1 ? MOST_SAMPLED_RADIUS : MOST_WHOLE_RADIUS);
    whole_weights whole = { .fraction = 0 };
    ip_stage *in = ip_coverage_floats(l, is_whole);
    is_whole = is_whole && !l->coverage;
    if (!w || (is_whole && !whole_weights_of(w, radius, &whole))) {
        ip_free(w);
        ip_fail_memory(l->err, "making a Gaussian");
        return NULL;
    }
    passes p = is_whole ? whole_passes_of(l, &whole, 2 * radius + 1, step <= 1) : passes_of(l, in, w, 2 * radius + 1);
    ip_stage *s = of_passes(l, &p, step);
    free_whole(&whole);
    ip_free(w);
    return s;
}

ip_stage *ip_stages_blur(ip_lower *l) { return gaussian_stages(l, 1); }

ip_stage *ip_stages_fastblur(ip_lower *l)
{
    return gaussian_stages(l, (int)(ip_param_number(l->node, "sigma") / LEAST_SIGMA_PER_STEP));
}
