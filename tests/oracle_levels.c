/* SPDX-License-Identifier: MIT */
/*
 * Named operations on one pixel at a time, which keep their first input's dtype, and
 * measures of whole images. Where a result goes through floats, slack is what a few
 * roundings in f32 (f64 for f64 and integers of 32 bits and more) may add up to.
 */
#include "oracle.h"

#include "base/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static imgpar_dtype named_dtype(const call *c)
{
    for (int k = 0; k < c->n_in; k++)
        if (!c->in[k]->is_number) return c->in[k]->dtype;
    return c->in[0]->dtype;
}

/* The relative error of a few operations. */
static real grain(const call *c)
{
    bool is_double = false;
    for (int k = 0; k < c->n_in; k++) {
        imgpar_dtype d = c->in[k]->dtype;
        is_double =
            is_double || (!c->in[k]->is_number && (d == IMGPAR_F64 || (!is_float(d) && imgpar_dtype_size(d) >= 4)));
    }
    return is_double ? 0x1p-50L : 0x1p-22L;
}

static bool all_integers(const call *c)
{
    for (int k = 0; k < c->n_in; k++)
        if (is_float(c->in[k]->dtype)) return false;
    return true;
}

/* Whether the call has two pictures with alpha, and weighs colours by it where its row blends. */
static bool weighs_two(const call *c)
{
    if (c->n_in < 2 || (c->n_in > 2 && c->in[2]->c != 1) || call_is(c, "alpha", "channel", "coverage")) return false;
    return picture_is_alpha(c->in[0], c->in[0]->c - 1) && picture_is_alpha(c->in[1], c->in[1]->c - 1) &&
           c->in[1]->c == c->in[0]->c;
}

/* One element of the answer: v[k] is input k there; alpha tells that the channel is alpha. */
typedef struct element {
    const call *c;
    imgpar_dtype dtype;
    real v[CALL_MAX_INPUTS], slack;
    /* of two pictures whose colours are weighed by them: both have alpha, and nothing else has channels */
    real alphas[2];
    bool is_alpha, is_weighed;
    int channel;
} element;
typedef real (*element_fn)(element *e);

static void each(const call *c, imgpar_dtype dtype, picture *out, element_fn fn)
{
    int64_t dims[3];
    oracle_shape(c, dims);
    *out = picture_new(dtype, dims[0], dims[1], dims[2]);
    for (int64_t y = 0; y < dims[0]; y++)
        for (int64_t x = 0; x < dims[1]; x++)
            for (int64_t k = 0; k < dims[2]; k++) {
                element e = { .c = c,
                              .dtype = dtype,
                              .is_alpha = picture_is_alpha(c->in[0], k),
                              .channel = (int)k,
                              .is_weighed = weighs_two(c) };
                for (int i = 0; i < 2 && e.is_weighed; i++)
                    e.alphas[i] =
                        picture_spread(c->in[i], y, x, c->in[i]->c - 1) *
                        (i && picture_white(c->in[i]) > 0 ? picture_white(c->in[0]) / picture_white(c->in[i]) : 1);
                for (int i = 0; i < c->n_in; i++)
                    e.v[i] = picture_spread(c->in[i], y, x, k);
                int64_t at = (y * dims[1] + x) * dims[2] + k;
                out->v[at] = fn(&e);
                out->slack[at] = e.slack;
            }
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* Operands are converted to one dtype first, unless all are integers. */
static real pair_slack(const element *e, real magnitude)
{
    bool same = e->c->in[0]->dtype == e->c->in[1]->dtype;
    return all_integers(e->c) || same ? 0 : magnitude * grain(e->c);
}

static real e_add(element *e)
{
    e->slack = pair_slack(e, fabsl(e->v[0]) + fabsl(e->v[1]));
    return e->v[0] + e->v[1];
}

static real e_subtract(element *e)
{
    e->slack = pair_slack(e, fabsl(e->v[0]) + fabsl(e->v[1]));
    return e->v[0] - e->v[1];
}

static real e_multiply(element *e)
{
    e->slack = pair_slack(e, fabsl(e->v[0] * e->v[1]));
    return e->v[0] * e->v[1];
}

static real e_absdiff(element *e)
{
    e->slack = pair_slack(e, fabsl(e->v[0]) + fabsl(e->v[1]));
    return fabsl(e->v[0] - e->v[1]);
}

/* The second picture is brought to the white of the first, in the dtype of the result, before they meet. */
static void meet(element *e, int first, int second)
{
    const real white = picture_white(e->c->in[first]), other = picture_white(e->c->in[second]);
    if (white == 0 || other == 0 || white == other) return;
    e->v[second] = rounded(e->dtype, e->v[second] * white / other);
}

static real e_minimum(element *e)
{
    meet(e, 0, 1);
    e->slack = pair_slack(e, fabsl(e->v[0]) + fabsl(e->v[1]));
    return fminl(e->v[0], e->v[1]);
}

static real e_maximum(element *e)
{
    meet(e, 0, 1);
    e->slack = pair_slack(e, fabsl(e->v[0]) + fabsl(e->v[1]));
    return fmaxl(e->v[0], e->v[1]);
}

/* The colour of two pictures, the second one's share being m: weighed by alpha, 0 where nothing covers it. */
static real blended(element *e, real m)
{
    real plain = e->v[0] * (1 - m) + e->v[1] * m;
    if (!e->is_weighed || e->is_alpha) return plain;
    real weights[2] = { (1 - m) * e->alphas[0], m * e->alphas[1] }, sum = weights[0] + weights[1];
    real full = dtype_full(e->c->in[0]->dtype);
    if (e->alphas[0] >= full && e->alphas[1] >= full) return plain;
    real largest = (fabsl(e->v[0]) + fabsl(e->v[1])) * 0x1p-20L;
    e->slack = sum == 0 ? 0 : fabsl(sum) < full * 1e-6L ? INFINITY : e->slack + largest * fmaxl(1, full / fabsl(sum));
    return sum > 0 ? (weights[0] * e->v[0] + weights[1] * e->v[1]) / sum : 0;
}

static real e_blend(element *e)
{
    meet(e, 0, 1);
    real r = call_number(e->c, "ratio", 0.5L);
    e->slack = (fabsl(e->v[0] * (1 - r)) + fabsl(e->v[1] * r)) * grain(e->c);
    return blended(e, r);
}

static real e_overlay(element *e)
{
    meet(e, 0, 1);
    real m = e->v[2] / dtype_full(e->c->in[2]->dtype);
    if (!all_integers(e->c) || grain(e->c) < 0x1p-40L)
        e->slack = (fabsl(e->v[0]) * (1 + fabsl(m)) + fabsl(e->v[1] * m)) * grain(e->c);
    return blended(e, m);
}

static void add(const call *c, picture *out) { each(c, named_dtype(c), out, e_add); }
static void subtract(const call *c, picture *out) { each(c, named_dtype(c), out, e_subtract); }
static void multiply(const call *c, picture *out) { each(c, named_dtype(c), out, e_multiply); }
static void absdiff(const call *c, picture *out) { each(c, named_dtype(c), out, e_absdiff); }
static void minimum(const call *c, picture *out) { each(c, named_dtype(c), out, e_minimum); }
static void maximum(const call *c, picture *out) { each(c, named_dtype(c), out, e_maximum); }
static void blend(const call *c, picture *out) { each(c, named_dtype(c), out, e_blend); }
static void overlay(const call *c, picture *out) { each(c, named_dtype(c), out, e_overlay); }

/* ---- one input ------------------------------------------------------------------------------- */

static real e_invert(element *e) { return e->is_alpha ? e->v[0] : dtype_full(e->dtype) - e->v[0]; }

/* The channel's number of a parameter that may be a vector. */
static real level(const element *e, const char *name, real otherwise)
{
    real numbers[CALL_MAX_NUMBERS];
    int rows, cols;
    if (!call_has_vector(e->c, name)) return call_number(e->c, name, otherwise);
    int n = call_numbers(e->c, name, numbers, &rows, &cols);
    return numbers[n == 1 ? 0 : e->channel];
}

static real e_linear(element *e)
{
    if (e->is_alpha) return e->v[0];
    real a = level(e, "a", 1), b = level(e, "b", 0);
    e->slack = (fabsl(a * e->v[0]) + fabsl(b)) * grain(e->c);
    return a * e->v[0] + b;
}

static real e_clamp(element *e)
{
    real low = rounded(e->dtype, call_number(e->c, "lo", 0)), high = rounded(e->dtype, call_number(e->c, "hi", 1));
    return fminl(fmaxl(e->v[0], low), high);
}

static real e_threshold(element *e)
{
    if (e->is_alpha) return e->v[0];
    return e->v[0] > call_number(e->c, "t", 0) ? dtype_full(e->dtype) : 0;
}

static real e_select(element *e)
{
    meet(e, 1, 2);
    return e->v[0] != 0 ? e->v[1] : e->v[2];
}

static real e_same(element *e) { return e->v[0]; }

/* Floyd and Steinberg's: 7/16 to the right, 3/16, 5/16, 1/16 below. */
static void error_diffusion(const call *c, picture *out)
{
    static const struct {
        int dy, dx, share;
    } to[] = { { 0, 1, 7 }, { 1, -1, 3 }, { 1, 0, 5 }, { 1, 1, 1 } };
    const picture *a = c->in[0];
    const real full = dtype_full(a->dtype), steps = call_number(c, "tones", 2) - 1;
    picture v = picture_copy(a);
    *out = picture_copy(a);
    for (int64_t k = 0; k < picture_count(a); k++)
        v.v[k] = fminl(fmaxl(a->v[k], 0), full);
    for (int64_t k = 0; k < picture_count(a); k++) {
        const int64_t y = k / a->c / a->w, x = k / a->c % a->w;
        if (picture_is_alpha(a, k % a->c)) continue;
        out->v[k] = rounded(a->dtype, full * fminl(fmaxl(floorl(v.v[k] / full * steps + 0.5L), 0), steps) / steps);
        for (int j = 0; j < 4; j++)
            if (y + to[j].dy < a->h && x + to[j].dx >= 0 && x + to[j].dx < a->w)
                *picture_at(&v, y + to[j].dy, x + to[j].dx, k % a->c) += (v.v[k] - out->v[k]) * to[j].share / 16;
    }
    picture_free(&v);
}

static void invert(const call *c, picture *out) { each(c, c->in[0]->dtype, out, e_invert); }
static void linear(const call *c, picture *out) { each(c, c->in[0]->dtype, out, e_linear); }
static void clamp(const call *c, picture *out) { each(c, c->in[0]->dtype, out, e_clamp); }
static void threshold(const call *c, picture *out) { each(c, c->in[0]->dtype, out, e_threshold); }
static void choose(const call *c, picture *out)
{
    each(c, c->in[1]->is_number ? c->in[2]->dtype : c->in[1]->dtype, out, e_select);
}

static imgpar_dtype dtype_option(const call *c, const char *otherwise)
{
    for (int d = 0; d < IP_N_REAL_DTYPES; d++)
        if (call_is(c, "dtype", imgpar_dtype_name((imgpar_dtype)d), otherwise)) return (imgpar_dtype)d;
    abort();
}

static void cast(const call *c, picture *out) { each(c, dtype_option(c, "f32"), out, e_same); }

/* From the white of the picture, or what stands for it, to another. Weights are rounded to f32 at most twice. */
static real from_white_to(element *e, real white)
{
    const real own = picture_white(e->c->in[0]), from = own > 0 ? own : dtype_full(e->c->in[0]->dtype);
    if (is_float(e->c->in[0]->dtype) || is_float(e->dtype) || grain(e->c) < 0x1p-40L)
        e->slack = fabsl(e->v[0] * white / from) * grain(e->c);
    return e->v[0] * white / from;
}

static real e_depth(element *e) { return from_white_to(e, is_float(e->dtype) ? 1 : dtype_full(e->dtype)); }
static real e_rescale(element *e) { return from_white_to(e, call_number(e->c, "white", 1)); }

static void depth(const call *c, picture *out)
{
    const imgpar_dtype real_dtype = c->in[0]->dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
    each(c, call_is(c, "to", "8", "") ? IMGPAR_U8 : call_is(c, "to", "16", "") ? IMGPAR_U16 : real_dtype, out, e_depth);
}

static void rescale(const call *c, picture *out) { each(c, dtype_option(c, "f32"), out, e_rescale); }
static void set_white(const call *c, picture *out) { each(c, c->in[0]->dtype, out, e_same); }

static void flat(const call *c, picture *out)
{
    int64_t h = (int64_t)call_number(c, "height", 1), w = (int64_t)call_number(c, "width", 1);
    int64_t channels = (int64_t)call_number(c, "channels", 1);
    *out = picture_new(dtype_option(c, "u8"), h, w, channels);
    for (int64_t k = 0; k < picture_count(out); k++) {
        element e = { .c = c, .channel = (int)(k % channels) };
        out->v[k] = rounded(out->dtype, level(&e, "value", 0));
    }
}

static void gray(const call *c, picture *out)
{
    const picture *a = c->in[0];
    bool is_709 = call_is(c, "weights", "bt709", "bt601");
    real weights[3] = { is_709 ? 0.2126L : 0.299L, is_709 ? 0.7152L : 0.587L, is_709 ? 0.0722L : 0.114L };
    if (a->c < 3) {
        *out = picture_copy(a);
        return;
    }
    *out = picture_new(a->dtype, a->h, a->w, a->c - 2);
    for (int64_t y = 0; y < a->h; y++)
        for (int64_t x = 0; x < a->w; x++) {
            real sum = 0, magnitude = 0;
            for (int k = 0; k < 3; k++) {
                sum += weights[k] * *picture_at(a, y, x, k);
                magnitude += fabsl(*picture_at(a, y, x, k));
            }
            int64_t at = (y * a->w + x) * out->c;
            bool is_fixed = !is_float(a->dtype) && imgpar_dtype_size(a->dtype) < 8; /* weights in 16 bits */
            out->v[at] = sum;
            out->slack[at] = magnitude * (is_fixed ? 0x1p-17L : grain(c));
            if (a->c == 4) out->v[at + 1] = *picture_at(a, y, x, 3);
        }
}

/* ---- measures -------------------------------------------------------------------------------- */

static picture single(imgpar_dtype dtype, real v, real slack)
{
    picture p = picture_new(dtype, 1, 1, 1);
    p.v[0] = v;
    p.slack[0] = slack;
    return p;
}

/* The sum of all elements; *magnitude that of their sizes. */
static real total(const picture *a, real *magnitude)
{
    real sum = 0;
    *magnitude = 0;
    for (int64_t k = 0; k < picture_count(a); k++) {
        sum += a->v[k];
        *magnitude += fabsl(a->v[k]);
    }
    return sum;
}

/* Integers of 64 bits wrap. */
static real wrapped_sum(const picture *a)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < picture_count(a); k++)
        sum += a->v[k] < 0 ? (uint64_t)(int64_t)a->v[k] : (uint64_t)a->v[k];
    return dtype_low(a->dtype) < 0 ? (real)(int64_t)sum : (real)sum;
}

static void sum(const call *c, picture *out)
{
    const picture *a = c->in[0];
    real magnitude, v = total(a, &magnitude);
    if (is_float(a->dtype))
        *out = single(a->dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32, v, magnitude * grain(c));
    else
        *out = single(dtype_low(a->dtype) < 0 ? IMGPAR_I64 : IMGPAR_U64, wrapped_sum(a), 0);
}

static void mean(const call *c, picture *out)
{
    const picture *a = c->in[0];
    bool is_wide = a->dtype == IMGPAR_I64 || a->dtype == IMGPAR_U64;
    real n = (real)picture_count(a), magnitude, v = total(a, &magnitude);
    if (is_float(a->dtype))
        *out = single(a->dtype == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32, v / n, magnitude / n * grain(c));
    else if (is_wide)
        *out = single(IMGPAR_F64, v / n, magnitude / n * grain(c)); /* summed as f64, which do not wrap */
    else
        *out = single(IMGPAR_F32, v / n, fabsl(v / n) * 0x1p-22L);
}

/* NaN is left out. */
static void extreme(const call *c, picture *out, bool is_max)
{
    const picture *a = c->in[0];
    real v = (real)NAN;
    for (int64_t k = 0; k < picture_count(a); k++)
        v = is_max ? fmaxl(v, a->v[k]) : fminl(v, a->v[k]);
    *out = single(a->dtype, v, 0);
}

static void minval(const call *c, picture *out) { extreme(c, out, false); }
static void maxval(const call *c, picture *out) { extreme(c, out, true); }

const oracle_row oracle_levels[] = {
    { "add", add },
    { "subtract", subtract },
    { "multiply", multiply },
    { "absdiff", absdiff },
    { "minimum", minimum },
    { "maximum", maximum },
    { "blend", blend },
    { "overlay", overlay },
    { "invert", invert },
    { "linear", linear },
    { "clamp", clamp },
    { "depth", depth },
    { "rescale", rescale },
    { "set_white", set_white },
    { "threshold", threshold },
    { "select", choose },
    { "cast", cast },
    { "fill", flat },
    { "gray", gray },
    { "sum", sum },
    { "mean", mean },
    { "minval", minval },
    { "maxval", maxval },
    { "error_diffusion", error_diffusion },
    { NULL, NULL },
};
