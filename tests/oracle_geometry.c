/* SPDX-License-Identifier: MIT */
/* Operations that move elements, that read at computed places, that draw, and the histogram. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>

static int64_t whole(const call *c, const char *name, int64_t otherwise)
{
    return (int64_t)call_number(c, name, (real)otherwise);
}

/* Element (y, x, k) of the answer is a's element at the place that from() tells. */
typedef struct place {
    int64_t y, x;
} place;
typedef place (*from_fn)(const call *c, int64_t y, int64_t x);

static void moved(const call *c, picture *out, int64_t h, int64_t w, from_fn from)
{
    const picture *a = c->in[0];
    *out = picture_new(a->dtype, h, w, a->c);
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            for (int64_t k = 0; k < a->c; k++) {
                place p = from(c, y, x);
                *picture_at(out, y, x, k) = *picture_at(a, p.y, p.x, k);
            }
}

static place from_crop(const call *c, int64_t y, int64_t x)
{
    return (place){ y + whole(c, "y", 0), x + whole(c, "x", 0) };
}

static void crop(const call *c, picture *out) { moved(c, out, whole(c, "height", 1), whole(c, "width", 1), from_crop); }

static place from_flip(const call *c, int64_t y, int64_t x)
{
    bool is_vertical = call_is(c, "axis", "y", "x");
    return is_vertical ? (place){ c->in[0]->h - 1 - y, x } : (place){ y, c->in[0]->w - 1 - x };
}

static void flip(const call *c, picture *out) { moved(c, out, c->in[0]->h, c->in[0]->w, from_flip); }

static place from_transpose(const call *c, int64_t y, int64_t x) { return (void)c, (place){ x, y }; }
static void transpose(const call *c, picture *out) { moved(c, out, c->in[0]->w, c->in[0]->h, from_transpose); }

/* a[dy, dx] */
static void shift(const call *c, picture *out)
{
    const picture *a = c->in[0];
    real offsets[CALL_MAX_NUMBERS];
    int rows, cols, n = call_numbers(c, "offsets", offsets, &rows, &cols);
    int64_t dy = (int64_t)offsets[0], dx = n > 1 ? (int64_t)offsets[1] : 0;
    *out = picture_new(a->dtype, a->h, a->w, a->c);
    for (int64_t y = 0; y < a->h; y++)
        for (int64_t x = 0; x < a->w; x++)
            for (int64_t k = 0; k < a->c; k++)
                *picture_at(out, y, x, k) =
                    picture_read(a, y + dy, x + dx, k, call_border(c), call_number(c, "cval", 0));
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static const real pi = 3.14159265358979323846264338327950288L;

/* Keys 1981, equation 15. */
static real keys(real t)
{
    t = fabsl(t);
    return t < 1 ? (1.5L * t - 2.5L) * t * t + 1 : t < 2 ? ((-0.5L * t + 2.5L) * t - 4) * t + 2 : 0;
}

/* Mitchell and Netravali 1988, equation 8 with B = C = 1/3. */
static real mitchell(real t)
{
    t = fabsl(t);
    if (t < 1) return (21 * t * t * t - 36 * t * t + 16) / 18;
    return t < 2 ? (-7 * t * t * t + 36 * t * t - 60 * t + 32) / 18 : 0;
}

static real sinc(real t) { return t == 0 ? 1 : sinl(pi * t) / (pi * t); }
static real lanczos2(real t) { return fabsl(t) < 2 ? sinc(t) * sinc(t / 2) : 0; }
static real lanczos3(real t) { return fabsl(t) < 3 ? sinc(t) * sinc(t / 3) : 0; }
static real line(real t) { return fmaxl(1 - fabsl(t), 0); }

typedef real (*kernel_fn)(real t);

/* That of the call's filter; NULL: none of these. */
static kernel_fn kernel_of(const call *c)
{
    static const struct {
        const char *name;
        kernel_fn at;
    } all[] = { { "linear", line },
                { "cubic", keys },
                { "mitchell", mitchell },
                { "lanczos2", lanczos2 },
                { "lanczos3", lanczos3 } };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (call_is(c, "filter", all[k].name, "area")) return all[k].at;
    return NULL;
}

/* ---- resize -------------------------------------------------------------------------------------- */

/* How much of source element j the output element i covers: of side n, made m. */
static real cover(int64_t i, int64_t j, int64_t n, int64_t m)
{
    real from = (real)i * (real)n / (real)m, to = (real)(i + 1) * (real)n / (real)m;
    real low = fmaxl(from, (real)j), high = fminl(to, (real)(j + 1));
    return high > low ? (high - low) / (to - from) : 0;
}

/* The weight of source element j in a straight line between the two centres next to output element i. */
static real tent(int64_t i, int64_t j, int64_t n, int64_t m)
{
    real at = ((real)i + 0.5L) * (real)n / (real)m - 0.5L;
    at = at < 0 ? 0 : at > (real)(n - 1) ? (real)(n - 1) : at;
    real d = fabsl(at - (real)j);
    return d < 1 ? 1 - d : 0;
}

/* 1 for the source element in which output element i's centre lies. */
static real hit(int64_t i, int64_t j, int64_t n, int64_t m) { return (2 * i + 1) * n / (2 * m) == j; }

/* The weight of source element j for output element i by a kernel, stretched where the side gets smaller; what lies
 * beyond the edges counts for those. */
static real stretched(kernel_fn kernel, int64_t i, int64_t j, int64_t n, int64_t m)
{
    const real at = ((real)i + 0.5L) * (real)n / (real)m - 0.5L, by = n > m ? (real)n / (real)m : 1;
    const int64_t reach = (int64_t)(3 * by) + 2;
    real sum = 0, weight = 0;
    for (int64_t k = (int64_t)floorl(at) - reach; k <= (int64_t)floorl(at) + reach; k++) {
        const real w = kernel((at - (real)k) / by);
        sum += w;
        if ((k < 0 ? 0 : k >= n ? n - 1 : k) == j) weight += w;
    }
    return weight / sum;
}

typedef real (*weight_fn)(int64_t i, int64_t j, int64_t n, int64_t m);

/* [m, n]: the weight of each of n source elements for each of m output elements; memory for free(). */
static real *weights_along(weight_fn weight, kernel_fn kernel, int64_t n, int64_t m)
{
    real *weights = malloc((size_t)(n * m) * sizeof *weights);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            weights[i * n + j] = !kernel ? weight(i, j, n, m) : n == m ? i == j : stretched(kernel, i, j, n, m);
    return weights;
}

static void resize_to(const call *c, int64_t height, int64_t width, picture *out)
{
    const picture *a = c->in[0];
    bool is_nearest = call_is(c, "filter", "nearest", "area"), is_linear = call_is(c, "filter", "linear", "area");
    const weight_fn weight = is_nearest ? hit : is_linear ? tent : cover;
    const kernel_fn kernel = is_linear ? NULL : kernel_of(c);
    bool is_double = a->dtype == IMGPAR_F64 || (!is_float(a->dtype) && imgpar_dtype_size(a->dtype) >= 4);
    real *down = weights_along(weight, kernel, a->h, height), *across = weights_along(weight, kernel, a->w, width);
    *out = picture_new(a->dtype, height, width, a->c);
    for (int64_t y = 0; y < out->h; y++)
        for (int64_t x = 0; x < out->w; x++)
            for (int64_t k = 0; k < a->c; k++) {
                real sum = 0, magnitude = 0;
                for (int64_t j = 0; j < a->h; j++)
                    for (int64_t i = 0; i < a->w; i++) {
                        real w = down[y * a->h + j] * across[x * a->w + i];
                        if (w == 0) continue;
                        sum += w * *picture_at(a, j, i, k);
                        magnitude += fabsl(w * *picture_at(a, j, i, k));
                    }
                *picture_at(out, y, x, k) = sum;
                if (!is_nearest)
                    out->slack[(y * out->w + x) * out->c + k] = magnitude * (is_double ? 0x1p-44L : 0x1p-15L);
            }
    free(down);
    free(across);
}

static void resize(const call *c, picture *out)
{
    resize_to(c, whole(c, "height", c->in[0]->h), whole(c, "width", c->in[0]->w), out);
}

/* Into a box, never larger; elements, not encoded images, so nothing is decoded smaller. */
static void thumbnail(const call *c, picture *out)
{
    const picture *a = c->in[0];
    int64_t width = whole(c, "width", 0), height = whole(c, "height", 0);
    real ratio = fminl(fminl((real)width / (real)a->w, (real)(height ? height : width) / (real)a->h), 1);
    resize_to(c, (int64_t)fmaxl(rintl((real)a->h * ratio), 1), (int64_t)fmaxl(rintl((real)a->w * ratio), 1), out);
}

/* ---- at ------------------------------------------------------------------------------------------- */

static void at(const call *c, picture *out)
{
    enum { BEFORE = 2, SIDE = 6 }; /* taps */
    const picture *a = c->in[0], *py = c->in[1], *px = c->in[2];
    const kernel_fn kernel = kernel_of(c);
    int border = call_border(c);
    real cval = call_number(c, "cval", 0);
    *out = picture_new(a->dtype, py->h, py->w, a->c);
    for (int64_t y = 0; y < out->h; y++)
        for (int64_t x = 0; x < out->w; x++)
            for (int64_t k = 0; k < a->c; k++) {
                real v = picture_spread(py, y, x, k), u = picture_spread(px, y, x, k), *to = picture_at(out, y, x, k);
                if (call_is(c, "filter", "nearest", "nearest")) {
                    *to = picture_read(a, (int64_t)floorl(v + 0.5L), (int64_t)floorl(u + 0.5L), k, border, cval);
                    continue;
                }
                int64_t j = (int64_t)floorl(v), i = (int64_t)floorl(u);
                const real fv = v - floorl(v), fu = u - floorl(u);
                real magnitude = 0, sum = 0, down[SIDE], across[SIDE];
                for (int n = 0; n < SIDE; n++) {
                    down[n] = kernel(fv - (n - BEFORE));
                    across[n] = kernel(fu - (n - BEFORE));
                }
                for (int n = 0; n < SIDE * SIDE; n++) {
                    const int dy = n / SIDE - BEFORE, dx = n % SIDE - BEFORE;
                    const real w = down[n / SIDE] * across[n % SIDE];
                    if (w == 0) continue;
                    const real value = picture_read(a, j + dy, i + dx, k, border, cval);
                    *to += w * value;
                    sum += w;
                    magnitude += fabsl(value);
                }
                *to /= sum;
                out->slack[to - out->v] = magnitude * 0x1p-18L;
            }
}

/* ---- circle --------------------------------------------------------------------------------------- */

static void circle(const call *c, picture *out)
{
    const picture *like = c->in[0];
    real radius = call_number(c, "radius", 1);
    real cx = call_number(c, "cx", (real)(like->w - 1) / 2), cy = call_number(c, "cy", (real)(like->h - 1) / 2);
    *out = picture_new(IMGPAR_U8, like->h, like->w, 1);
    for (int64_t y = 0; y < like->h; y++)
        for (int64_t x = 0; x < like->w; x++) {
            real dx = (real)x - cx, dy = (real)y - cy;
            *picture_at(out, y, x, 0) = dx * dx + dy * dy <= radius * radius ? 255 : 0;
        }
}

/* ---- histogram ------------------------------------------------------------------------------------ */

/* Exact for integers of up to 32 bits; else the formula step by step. */
static real bin_of(imgpar_dtype dtype, real v, real low, real high, int64_t bins)
{
    if (!is_float(dtype) && imgpar_dtype_size(dtype) <= 4) return floorl((v - low) * (real)bins / (high - low));
    imgpar_dtype f = dtype == IMGPAR_F16 || dtype == IMGPAR_F32 ? IMGPAR_F32 : IMGPAR_F64;
    real k = rounded(f, (real)bins / (high - low)), d = rounded(f, rounded(f, v) - rounded(f, low));
    return floorl(rounded(f, d * k));
}

/* Counts as [channels, bins]. */
static void histogram(const call *c, picture *out)
{
    const picture *a = c->in[0];
    int64_t bins = whole(c, "bins", 256);
    real low = call_number(c, "lo", is_float(a->dtype) ? 0 : dtype_low(a->dtype));
    real high = call_number(c, "hi", is_float(a->dtype) ? 1 : dtype_high(a->dtype));
    *out = picture_new(IMGPAR_U32, a->c, bins, 1);
    for (int64_t n = 0; n < picture_count(a); n++) {
        real bin = a->v[n] == high ? (real)(bins - 1) : bin_of(a->dtype, a->v[n], low, high, bins);
        bool is_inside = a->v[n] >= low && a->v[n] <= high && bin >= 0 && bin < (real)bins;
        if (is_inside) *picture_at(out, n % a->c, (int64_t)bin, 0) += 1;
    }
}

const oracle_row oracle_geometry[] = {
    { "crop", crop },   { "flip", flip },     { "transpose", transpose },
    { "shift", shift }, { "resize", resize }, { "thumbnail", thumbnail },
    { "at", at },       { "circle", circle }, { "histogram", histogram },
    { NULL, NULL },
};
