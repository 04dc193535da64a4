/* SPDX-License-Identifier: MIT */
/* Filters: what a window around each element says, read beyond the edges by the border's rule. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_TAPS = 4096 };

/* The values of a window of 2 ry + 1 rows and 2 rx + 1 columns around an element, top row first. */
static int window(const call *c, int64_t y, int64_t x, int64_t k, int ry, int rx, real *values)
{
    int n = 0, border = call_border(c);
    real cval = call_number(c, "cval", 0);
    if ((2 * ry + 1) * (2 * rx + 1) > MAX_TAPS) abort();
    for (int dy = -ry; dy <= ry; dy++)
        for (int dx = -rx; dx <= rx; dx++)
            values[n++] = picture_read(c->in[0], y + dy, x + dx, k, border, cval);
    return n;
}

/* One element from its window; *slack starts as 0. */
typedef struct filter {
    const call *call;
    imgpar_dtype dtype; /* of the input */
    int ry, rx;
    const real *weights; /* of the window */
    real scale, offset;
    bool is_exact; /* computed without roundings */
    real left_out; /* the levels, or of floats the share of magnitudes, by which weights may be others */
    int order;
    double percent; /* of the window's values, that are below the one taken */
    enum { SQUARE, DISC, DIAMOND, CROSS, ELEMENT } shape;
    real element[CALL_MAX_NUMBERS];
} filter;
typedef real (*filter_fn)(const filter *f, real *values, int n, real *slack);

static void each(const filter *f, imgpar_dtype dtype, picture *out, filter_fn fn)
{
    const picture *a = f->call->in[0];
    real values[MAX_TAPS];
    *out = picture_new(dtype, a->h, a->w, a->c);
    for (int64_t y = 0; y < a->h; y++)
        for (int64_t x = 0; x < a->w; x++)
            for (int64_t k = 0; k < a->c; k++) {
                int64_t at = (y * a->w + x) * a->c + k;
                int n = window(f->call, y, x, k, f->ry, f->rx, values);
                out->v[at] = fn(f, values, n, &out->slack[at]);
            }
}

static filter square(const call *c, int size)
{
    return (filter){ .call = c, .dtype = c->in[0]->dtype, .ry = size / 2, .rx = size / 2 };
}

/* The relative error of sums of n products. */
static real grain(imgpar_dtype d, int n)
{
    bool is_double = d == IMGPAR_F64 || (!is_float(d) && imgpar_dtype_size(d) >= 4);
    return (is_double ? 0x1p-52L : 0x1p-23L) * (real)(n + 3);
}

/* ---- weighted sums ----------------------------------------------------------------------------- */

static real weighted(const filter *f, real *values, int n, real *slack)
{
    real sum = 0, magnitude = 0;
    for (int k = 0; k < n; k++) {
        if (f->weights[k] == 0) continue; /* as if it were not read: no NaN from 0 * infinity */
        sum += f->weights[k] * values[k];
        magnitude += fabsl(f->weights[k] * values[k]);
    }
    if (!f->is_exact) *slack = (magnitude / fabsl(f->scale) + fabsl(f->offset)) * grain(f->dtype, n);
    *slack += f->left_out * (is_float(f->dtype) ? magnitude / fabsl(f->scale) : 1);
    return sum / f->scale + f->offset;
}

static void boxblur(const call *c, picture *out)
{
    real ones[MAX_TAPS];
    int size = (int)call_number(c, "size", 3);
    for (int k = 0; k < size * size; k++)
        ones[k] = 1;
    filter f = square(c, size);
    f.weights = ones;
    f.scale = (real)(size * size);
    f.is_exact = !is_float(f.dtype);
    each(&f, f.dtype, out, weighted);
}

static void blur(const call *c, picture *out)
{
    real weights[MAX_TAPS];
    real sigma = call_number(c, "sigma", 2), sum = 0;
    imgpar_dtype d = c->in[0]->dtype;
    real truncate = call_number(c, "truncate", imgpar_dtype_size(d) == 1 ? 3 : 4);
    int radius = (int)ceill(truncate * sigma), side = 2 * radius + 1;
    if (side * side > MAX_TAPS) abort();
    for (int k = 0; k < side * side; k++) {
        int dy = k / side - radius, dx = k % side - radius;
        weights[k] = sigma == 0 ? 1 : expl(-(real)(dy * dy + dx * dx) / (2 * sigma * sigma));
        sum += weights[k];
    }
    filter f = square(c, side);
    f.weights = weights;
    f.scale = sum;
    each(&f, d, out, weighted);
    bool is_level = d == IMGPAR_U8 || d == IMGPAR_U16; /* promised: under 0.51 of a level */
    for (int64_t k = 0; k < picture_count(out); k++)
        if (is_level || sigma == 0) out->slack[k] = sigma == 0 ? 0 : 0.01L;
}

/* The lowest and the highest value that a filter can read. */
static void spread_of(const call *c, real *low, real *high)
{
    const picture *a = c->in[0];
    *low = *high = call_border(c) == IMGPAR_BORDER_CONSTANT ? rounded(a->dtype, call_number(c, "cval", 0)) : a->v[0];
    for (int64_t k = 0; k < picture_count(a); k++) {
        if (a->v[k] < *low) *low = a->v[k];
        if (a->v[k] > *high) *high = a->v[k];
    }
}

/* Channel k of a, weighted along an axis: down, or across, beyond the border as call_border() says. */
static picture weighted_line(const picture *a, int64_t k, bool is_down, const real *weights, int reach, const call *c)
{
    int64_t n = is_down ? a->h : a->w, n_lines = is_down ? a->w : a->h;
    picture out = picture_new(a->dtype, a->h, a->w, 1);
    real *line = calloc((size_t)(n + 2 * reach), sizeof *line), cval = call_number(c, "cval", 0);
    int border = call_border(c);
    if (!line) abort();
    for (int64_t across = 0; across < n_lines; across++) {
        for (int64_t at = -reach; at < n + reach; at++)
            line[at + reach] = picture_read(a, is_down ? at : across, is_down ? across : at, k, border, cval);
        for (int64_t at = 0; at < n; at++) {
            real v = 0;
            for (int d = 0; d <= 2 * reach; d++)
                v += weights[d] * line[at + d];
            out.v[is_down ? at * a->w + across : across * a->w + at] = v;
        }
    }
    free(line);
    return out;
}

/* The Gaussian itself, to 9 sigma, and how far the row says that fastblur may be from it. */
static void fastblur(const call *c, picture *out)
{
    const picture *a = c->in[0];
    real sigma = call_number(c, "sigma", 2), sum = 0, low, high;
    int reach = (int)ceill(9 * sigma);
    real *weights = calloc((size_t)(2 * reach + 1), sizeof *weights);
    if (!weights) abort();
    for (int k = -reach; k <= reach; k++)
        sum += weights[k + reach] = expl(-(real)k * k / (2 * sigma * sigma));
    for (int k = 0; k <= 2 * reach; k++)
        weights[k] /= sum;
    spread_of(c, &low, &high);
    real magnitude = fabsl(low) > fabsl(high) ? fabsl(low) : fabsl(high);
    *out = picture_new(a->dtype, a->h, a->w, a->c);
    for (int64_t k = 0; k < a->c; k++) {
        picture down = weighted_line(a, k, true, weights, reach, c),
                both = weighted_line(&down, 0, false, weights, reach, c);
        for (int64_t at = 0; at < a->h * a->w; at++) {
            out->v[at * a->c + k] = both.v[at];
            out->slack[at * a->c + k] =
                (high - low) * (imgpar_dtype_size(a->dtype) == 1 ? 0.007L : 0.004L) + magnitude * 0x1p-18L;
        }
        picture_free(&down);
        picture_free(&both);
    }
    free(weights);
}

/* Whether weights in steps of 1/256, scale and offset are such that integers give an exact result. */
static bool stays_exact(const filter *f, const real *weights, int n)
{
    if (is_float(f->dtype) || imgpar_dtype_size(f->dtype) > 4) return false;
    for (int k = 0; k < n; k++)
        if (weights[k] * 256 != floorl(weights[k] * 256) || fabsl(weights[k]) > 127) return false;
    return f->scale == floorl(f->scale) && f->offset * f->scale == floorl(f->offset * f->scale) &&
           fabsl(f->scale) < 32767;
}

/* Whether a matrix is nearly the product of the column and the row through its largest number. */
static bool is_nearly_product(const real *m, int rows, int cols)
{
    real sum = 0, left = 0;
    int at = 0;
    for (int k = 0; k < rows * cols; k++)
        if (fabsl(m[k]) > fabsl(m[at])) at = k;
    for (int k = 0; k < rows * cols; k++) {
        sum += fabsl(m[k]);
        left += fabsl(m[k] - m[k / cols * cols + at % cols] * m[at / cols * cols + k % cols] / m[at]);
    }
    return left < sum / 256;
}

static void convolve(const call *c, picture *out)
{
    real matrix[CALL_MAX_NUMBERS];
    int rows, cols, n = call_numbers(c, "matrix", matrix, &rows, &cols);
    filter f = { .call = c, .dtype = c->in[0]->dtype, .ry = rows / 2, .rx = cols / 2, .weights = matrix };
    f.scale = call_number(c, "scale", 1);
    f.offset = call_number(c, "offset", 0);
    f.is_exact = stays_exact(&f, matrix, n);
    if (!f.is_exact && grain(f.dtype, 0) > 0x1p-40L && is_nearly_product(matrix, rows, cols))
        f.left_out = is_float(f.dtype) ? 0x1p-20L : 0.25L;
    each(&f, f.dtype, out, weighted);
}

/* Exact where no sum of whole numbers can pass 2^62, as those of two arrays of 32 bits may. */
static void convolve_by(const call *c, picture *out)
{
    const picture *m = c->in[1];
    filter f = { .call = c, .dtype = c->in[0]->dtype, .ry = (int)m->h / 2, .rx = (int)m->w / 2, .weights = m->v };
    f.scale = call_number(c, "scale", 1);
    f.offset = call_number(c, "offset", 0);
    f.is_exact = !is_float(f.dtype) && imgpar_dtype_size(f.dtype) < 4;
    each(&f, f.dtype, out, weighted);
}

static void convsep(const call *c, picture *out)
{
    real matrix[CALL_MAX_NUMBERS];
    real across[CALL_MAX_NUMBERS], down[CALL_MAX_NUMBERS];
    int rows, cols;
    int n_across = call_numbers(c, "row", across, &rows, &cols), n_down = call_numbers(c, "column", down, &rows, &cols);
    for (int k = 0; k < n_across * n_down; k++)
        matrix[k] = down[k / n_across] * across[k % n_across];
    filter f = { .call = c, .dtype = c->in[0]->dtype, .ry = n_down / 2, .rx = n_across / 2, .weights = matrix };
    f.scale = call_number(c, "scale", 1);
    f.offset = call_number(c, "offset", 0);
    f.is_exact = stays_exact(&f, across, n_across) && stays_exact(&f, down, n_down);
    each(&f, f.dtype, out, weighted);
}

/* ---- sobel ------------------------------------------------------------------------------------- */

static const real sobel_x[9] = { -1, 0, 1, -2, 0, 2, -1, 0, 1 }, sobel_y[9] = { -1, -2, -1, 0, 0, 0, 1, 2, 1 };

static real gradient(const filter *f, real *values, int n, real *slack)
{
    real sum_x = 0, sum_y = 0, magnitude = 0;
    for (int k = 0; k < n; k++) {
        if (sobel_x[k] != 0) sum_x += sobel_x[k] * values[k];
        if (sobel_y[k] != 0) sum_y += sobel_y[k] * values[k];
        magnitude += 2 * fabsl(values[k]);
    }
    if (is_float(f->dtype)) *slack = magnitude * grain(f->dtype, 9);
    if (f->order == 1) return sum_x;
    if (f->order == 2) return sum_y;
    if (!is_float(f->dtype) && imgpar_dtype_size(f->dtype) > 2) /* exact for fewer bits */
        *slack = sqrtl(sum_x * sum_x + sum_y * sum_y) * grain(f->dtype, 5);
    return sqrtl(sum_x * sum_x + sum_y * sum_y);
}

/* Differences of integers need a sign and more bits than the input. */
static void sobel(const call *c, picture *out)
{
    filter f = square(c, 3);
    f.order = call_is(c, "axis", "x", "magnitude") ? 1 : call_is(c, "axis", "y", "magnitude") ? 2 : 0;
    imgpar_dtype d = f.dtype;
    size_t size = imgpar_dtype_size(d);
    if (f.order && !is_float(d)) d = size == 1 ? IMGPAR_I16 : size == 2 ? IMGPAR_I32 : IMGPAR_I64;
    each(&f, d, out, gradient);
}

/* ---- order ------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

static real middle(const filter *f, real *values, int n, real *slack)
{
    (void)f;
    for (int k = 0; k < n; k++)
        if (isnan(values[k])) *slack = (real)NAN; /* left open */
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static real lowest(const filter *f, real *values, int n, real *slack)
{
    real v = (real)NAN;
    (void)f, (void)slack;
    for (int k = 0; k < n; k++)
        v = fminl(v, values[k]);
    return v;
}

static real highest(const filter *f, real *values, int n, real *slack)
{
    real v = (real)NAN;
    (void)f, (void)slack;
    for (int k = 0; k < n; k++)
        v = fmaxl(v, values[k]);
    return v;
}

/* Numbers in their order, NaN behind them. */
static int by_rank(const void *a, const void *b)
{
    real x = *(const real *)a, y = *(const real *)b;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return by_value(a, b);
}

/* Those in the window's shape, or its element, come first; how many they are. */
static int in_shape(const filter *f, real *values, int n)
{
    const int radius = f->rx, size = 2 * radius + 1;
    int count = 0;
    for (int k = 0; k < n; k++) {
        const int dy = k / size - radius, dx = k % size - radius;
        const bool is_in = f->shape == DISC      ? dy * dy + dx * dx <= radius * radius
                           : f->shape == DIAMOND ? abs(dy) + abs(dx) <= radius
                           : f->shape == CROSS   ? dy == 0 || dx == 0
                           : f->shape == ELEMENT ? f->element[k] != 0
                                                 : true;
        if (is_in) values[count++] = values[k];
    }
    return count;
}

static real ranked(const filter *f, real *values, int n, real *slack)
{
    const int count = in_shape(f, values, n);
    (void)slack;
    qsort(values, (size_t)count, sizeof *values, by_rank);
    const int k = (int)floor(count * f->percent / 100);
    return values[k < count ? k : count - 1];
}

/* The first of the longest runs of equal ones in order. */
static real frequent(const filter *f, real *values, int n, real *slack)
{
    const int count = in_shape(f, values, n);
    int most = 0, first = 0;
    (void)slack;
    qsort(values, (size_t)count, sizeof *values, by_rank);
    for (int from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && by_rank(&values[from], &values[to]) == 0; to++)
            ;
        if (to - from > most) most = to - from, first = from;
    }
    return values[first];
}

static void by_order(const call *c, picture *out, filter_fn fn)
{
    filter f = square(c, (int)call_number(c, "size", 3));
    f.percent = (double)call_number(c, "p", 50);
    f.shape = call_is(c, "shape", "disc", "square")      ? DISC
              : call_is(c, "shape", "diamond", "square") ? DIAMOND
              : call_is(c, "shape", "cross", "square")   ? CROSS
                                                         : SQUARE;
    int rows, cols;
    if (call_has_vector(c, "element")) {
        call_numbers(c, "element", f.element, &rows, &cols);
        f.shape = ELEMENT;
        f.ry = rows / 2;
        f.rx = cols / 2;
    }
    if (f.shape != SQUARE && fn == middle) fn = ranked;
    each(&f, f.dtype, out, fn);
}

static void percentile_filter(const call *c, picture *out) { by_order(c, out, ranked); }
static void mode_filter(const call *c, picture *out) { by_order(c, out, frequent); }
static void median(const call *c, picture *out) { by_order(c, out, middle); }
static void erode(const call *c, picture *out) { by_order(c, out, lowest); }
static void dilate(const call *c, picture *out) { by_order(c, out, highest); }

const oracle_row oracle_filters[] = {
    { "boxblur", boxblur },
    { "blur", blur },
    { "fastblur", fastblur },
    { "convolve", convolve },
    { "convolve_by", convolve_by },
    { "convsep", convsep },
    { "sobel", sobel },
    { "median", median },
    { "erode", erode },
    { "dilate", dilate },
    { "percentile_filter", percentile_filter },
    { "mode_filter", mode_filter },
    { NULL, NULL },
};
