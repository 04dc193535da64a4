/* SPDX-License-Identifier: MIT */
/*
 * Stages of Gaussian filters: blur, the truncated kernel at every element, and fastblur.
 *
 * Note [Sampled Gaussians]
 * A Gaussian of large sigma leaves nothing that changes fast, so fastblur computes it in every step-th row alone, with
 * the same weights that blur has, and puts cubics through these samples; step grows with sigma, so an element costs 2 truncate
 * sigma / step products in each pass, whatever sigma is. In columns it does the same where step is so large that reading elements
 * which are not neighbours pays: three or four channels in f32 are a vector by themselves, others are gathered one by one. The samples
 * lie at -step, 0, step, ... and reach beyond both edges as far as interpolation asks; what the border rule adds is read there as everywhere else; of columns only where the rule is wrap or constant, else their weights
 * are added to those of the elements they repeat (resampled_columns()). Nothing is carried from element
 * to element: all samples can be computed at once, and no small feedback is lost in f32 as in a recursive Gaussian of large sigma.
 *
 * The cubics are Keys' ("Cubic convolution interpolation for digital image processing", 1981, a = -1/2): what they
 * change shrinks with (step / sigma)^3, and they join without a kink. Below sigma = 4, where step would be 1, there is nothing to
 * save, and fastblur is blur. For sigma >= 2 step the kernel of samples and cubics differs from the exact Gaussian along an axis
 * by at most 0.0066 in the sum of magnitudes, where the weights end at 3 sigma, and by 0.0039 where they end at 4. The sum of the
 * difference being 0, it moves a value by at most half of that times the range of the values: by 0.33 % and 0.2 % of it, twice
 * for two axes.
 */
#include "ops/infer.h"
#include "ops/resample.h"
#include "ops/weighted.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { Y = 1, X = 2 };

enum { CUBIC_TAPS = 4, LEAST_SIGMA_PER_STEP = 2, LEAST_STEP_OF_VECTORS = 9, LEAST_STEP_OF_ELEMENTS = 25 };

static double *gaussian(double sigma, int radius)
{
    double sum = 0, *w = ip_alloc_array((size_t)(2 * radius + 1), sizeof *w);
    if (!w) return NULL;
    for (int k = -radius; k <= radius; k++)
        sum += w[k + radius] = exp(-(double)k * k / (2 * sigma * sigma));
    for (int k = 0; k <= 2 * radius; k++)
        w[k] /= sum;
    return w;
}

/* The vertical pass over the input, and the horizontal one over its stage, which is not known yet. */
typedef struct passes { ip_weighted vertical, horizontal; } passes;

static passes passes_of(ip_lower *l, const double *w, int taps)
{
    ip_stage *in = l->in[0];
    ip_expr *cval;
    int border = ip_lower_border(l, in->dtype, &cval);
    passes p = { .vertical = { .l = l, .stage = in, .border = border, .cval = cval, .dtype = ip_float_for(in->dtype),
                               .weights = { taps, 1, w, true } } };
    p.horizontal = p.vertical;
    p.horizontal.stage = NULL;
    p.horizontal.cval = ip_weighted_cval(&p.vertical, ip_param_number(l->node, "cval"));
    p.horizontal.weights = (ip_weights){ 1, taps, w, true };
    return p;
}

/* ---- at every element -------------------------------------------------------------------------------- */

static ip_stage *everywhere(ip_lower *l, passes *p)
{
    p->horizontal.stage = ip_lower_stage(l, ip_weighted_sum(&p->vertical), "vertical pass");
    return ip_lower_map(l, ip_weighted_sum(&p->horizontal));
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

static ip_stage *sampled(ip_weighted *p, int axis, int step, const char *note)
{
    ip_lower *l = p->l;
    int64_t dims[4];
    ip_expr *at[4];
    if (!p->stage) return NULL;
    memcpy(dims, p->stage->dims, sizeof dims);
    if (step > 1) dims[axis] = sample_count(dims[axis], step);
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(l->ir, k, dims[k]);
    if (step > 1)
        at[axis] = ip_x_binary(l->ir, IP_X_MUL, ip_x_binary(l->ir, IP_X_SUB, at[axis], ip_lower_i32(l, 1)), ip_lower_i32(l, step));
    p->at = at;
    ip_stage *s = ip_lower_stage_sized(l, dims, p->dtype, ip_weighted_sum(p), note);
    p->at = NULL;
    return s;
}

/*
 * Samples of columns as a resampling, edges in its weights: it reads no column outside, so that rows it reads are kept as they are.
 * Where a border repeats what lies near the edge, that is, and windows are wide enough to hold it.
 */
static bool resamples(const ip_weighted *p, int step)
{
    bool is_near = p->border == IMGPAR_BORDER_REPLICATE || p->border == IMGPAR_BORDER_REFLECT || p->border == IMGPAR_BORDER_REFLECT101;
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

/* The elements of an axis of that extent, from its samples. */
static ip_expr *interpolated(ip_lower *l, ip_stage *samples, int axis, int64_t extent, int step)
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
    ip_expr *x = ip_resampled(l, samples, axis, dims, samples->dtype, &r);
    ip_resampling_clear(&r);
    return x;
}

/* Whether the channels of a pixel are computed as one vector. */
static bool makes_vectors(const passes *p, int64_t channels) { return (channels == 3 || channels == 4) && p->vertical.dtype == IMGPAR_F32; }

/* The samples' rows in full: from samples along them, too, where that is worth it. */
static ip_stage *sampled_rows(ip_lower *l, passes *p, int step)
{
    p->horizontal.stage = sampled(&p->vertical, Y, step, "every step-th row");
    if (step < (makes_vectors(p, l->dims[3]) ? LEAST_STEP_OF_VECTORS : LEAST_STEP_OF_ELEMENTS)) return sampled(&p->horizontal, X, 1, "horizontal pass");
    static const char note[] = "every step-th column";
    ip_stage *samples = resamples(&p->horizontal, step) ? resampled_columns(&p->horizontal, step, note) : sampled(&p->horizontal, X, step, note);
    ip_expr *across = interpolated(l, samples, X, l->dims[X], step);
    if (!across) return NULL;
    int64_t dims[4] = { samples->dims[0], samples->dims[Y], l->dims[X], samples->dims[3] };
    return ip_lower_stage_sized(l, dims, across->dtype, across, "columns between samples");
}

static ip_stage *from_samples(ip_lower *l, passes *p, int step)
{
    ip_expr *value = interpolated(l, sampled_rows(l, p, step), Y, l->dims[Y], step);
    return value ? ip_lower_map(l, value) : NULL;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static ip_stage *gaussian_stages(ip_lower *l, int step)
{
    int radius = ip_blur_radius(l->node);
    if (radius == 0) return l->in[0];
    double *w = gaussian(ip_param_number(l->node, "sigma"), radius);
    if (!w) {
        ip_fail_memory(l->err, "making a Gaussian");
        return NULL;
    }
    passes p = passes_of(l, w, 2 * radius + 1);
    ip_stage *s = step > 1 ? from_samples(l, &p, step) : everywhere(l, &p);
    ip_free(w);
    return s;
}

ip_stage *ip_stages_blur(ip_lower *l) { return gaussian_stages(l, 1); }

ip_stage *ip_stages_fastblur(ip_lower *l)
{
    return gaussian_stages(l, (int)(ip_param_number(l->node, "sigma") / LEAST_SIGMA_PER_STEP));
}
