/* SPDX-License-Identifier: MIT */
/*
 * The works by libvips, as its manual would write them. A result is forced into memory once; the cache of
 * operations is off, so that nothing is remembered between runs.
 */
#include "bench.h"

#ifdef HAVE_VIPS
#include <vips/vips.h>

#include <math.h>
#include <string.h>

enum { MAX_IMAGES = 24 };

/* Images of one run, released together. The last one is the current result. */
typedef struct chain {
    bench_task *task;
    VipsImage *made[MAX_IMAGES];
    int n;
    bool has_failed;
} chain;

/* Where the next operation puts its result, and whether it did. After a failure inputs are NULL, which the next
 * operations refuse too; the first message is the one that is told. */
static VipsImage **next(chain *c)
{
    if (c->n == MAX_IMAGES) g_error("bench: too many images");
    return &c->made[c->n];
}

static VipsImage *made(chain *c, int status)
{
    if (c->has_failed || status || !c->made[c->n]) {
        c->has_failed = true;
        return NULL;
    }
    return c->made[c->n++];
}

/* The last result. */
static VipsImage *now(const chain *c) { return c->has_failed ? NULL : c->made[c->n - 1]; }

static VipsImage *take(chain *c, VipsImage *image)
{
    *next(c) = image;
    return made(c, 0);
}

static VipsImage *source(chain *c, int n)
{
    bench_image *p = &c->task->in[n];
    bool is_line = p->height == 1;
    return take(c, vips_image_new_from_memory(p->data, p->size_bytes, is_line ? 1000 : (int)p->width,
                                              is_line ? (int)(p->width / 1000) : (int)p->height, (int)p->channels,
                                              p->dtype == IMGPAR_F32 ? VIPS_FORMAT_FLOAT : VIPS_FORMAT_UCHAR));
}

static imgpar_dtype dtype_of(VipsBandFormat format)
{
    switch (format) {
    case VIPS_FORMAT_UCHAR: return IMGPAR_U8;
    case VIPS_FORMAT_SHORT: return IMGPAR_I16;
    case VIPS_FORMAT_UINT: return IMGPAR_U32;
    case VIPS_FORMAT_INT: return IMGPAR_I32;
    case VIPS_FORMAT_FLOAT: return IMGPAR_F32;
    case VIPS_FORMAT_DOUBLE: return IMGPAR_F64;
    default: return IMGPAR_N_DTYPES;
    }
}

static void release(chain *c)
{
    while (c->n > 0)
        g_object_unref(c->made[--c->n]);
}

static bool failed(chain *c)
{
    g_strlcpy(c->task->message, vips_error_buffer(), sizeof c->task->message);
    vips_error_clear();
    release(c);
    return false;
}

/* Computes `image` into memory and makes it answer k if answers are wanted. */
static bool compute(chain *c, int k, VipsImage *image)
{
    if (c->has_failed) return false;
    VipsImage *memory = vips_image_new_memory();
    if (vips_image_write(image, memory)) {
        g_object_unref(memory);
        c->has_failed = true;
        return false;
    }
    if (c->task->is_checked) {
        void *to = bench_out(c->task, k, dtype_of(vips_image_get_format(memory)));
        size_t size = VIPS_IMAGE_SIZEOF_IMAGE(memory);
        if (size == c->task->out[k].size_bytes)
            memcpy(to, VIPS_IMAGE_ADDR(memory, 0, 0), size);
        else
            g_snprintf(c->task->message, sizeof c->task->message, "an answer of %zu bytes", size);
    }
    g_object_unref(memory);
    return true;
}

static bool finish(chain *c)
{
    bool is_ok = !c->has_failed && compute(c, 0, now(c));
    if (!is_ok) return failed(c);
    release(c);
    return true;
}

/* ---- steps ---- */

static VipsImage *box(chain *c, VipsImage *from, int size, VipsPrecision precision)
{
    VipsImage *ones = take(c, vips_image_new_matrix(size, 1));
    if (!ones) return NULL;
    for (int i = 0; i < size; i++)
        *VIPS_MATRIX(ones, i, 0) = 1;
    vips_image_set_double(ones, "scale", size);
    return made(c, vips_convsep(from, next(c), ones, "precision", precision, NULL));
}

/* min_ampl cuts the bell where ours is cut: at 3 sigma for 8 bits. Ours goes on to 4 for floats; 0.001 is the least
 * that libvips takes, 3.7 sigma. */
static VipsImage *gauss(chain *c, VipsImage *from, double sigma)
{
    bool is_float = !c->has_failed && vips_image_get_format(from) == VIPS_FORMAT_FLOAT;
    return made(c, vips_gaussblur(from, next(c), sigma, "precision",
                                  is_float ? VIPS_PRECISION_FLOAT : VIPS_PRECISION_INTEGER, "min_ampl",
                                  is_float ? 0.001 : exp(-4.5), NULL));
}

static VipsImage *matrix(chain *c, VipsImage *from, const double *weights, int size, double scale,
                         VipsPrecision precision)
{
    VipsImage *m = take(c, vips_image_new_matrix_from_array(size, size, weights, size * size));
    if (!m) return NULL;
    vips_image_set_double(m, "scale", scale);
    return made(c, vips_conv(from, next(c), m, "precision", precision, NULL));
}

/* sqrt(x^2 + y^2), rounded. vips_sobel() has a coarser formula. */
static VipsImage *gradient(chain *c, VipsImage *from)
{
    static const double across[] = { -1, 0, 1, -2, 0, 2, -1, 0, 1 }, down[] = { -1, -2, -1, 0, 0, 0, 1, 2, 1 };
    VipsImage *wide = made(c, vips_cast_short(from, next(c), NULL));
    VipsImage *x = matrix(c, wide, across, 3, 1, VIPS_PRECISION_INTEGER);
    VipsImage *y = matrix(c, wide, down, 3, 1, VIPS_PRECISION_INTEGER);
    VipsImage *xx = made(c, vips_multiply(x, x, next(c), NULL));
    made(c, vips_multiply(y, y, next(c), NULL));
    made(c, vips_add(xx, now(c), next(c), NULL));
    made(c, vips_math2_const1(now(c), next(c), VIPS_OPERATION_MATH2_POW, 0.5, NULL));
    return made(c, vips_linear1(now(c), next(c), 1, 0.5, "uchar", TRUE, NULL));
}

static VipsImage *blend(chain *c, VipsImage *a, VipsImage *b)
{
    VipsImage *kept = made(c, vips_linear1(a, next(c), 0.7, 0.5, NULL));
    made(c, vips_linear1(b, next(c), 0.3, 0, NULL));
    made(c, vips_add(kept, now(c), next(c), NULL));
    return made(c, vips_cast_uchar(now(c), next(c), NULL));
}

/* ---- filters ---- */

static bool run_box(bench_task *t)
{
    chain c = { .task = t };
    box(&c, source(&c, 0), t->row->size, VIPS_PRECISION_INTEGER);
    return finish(&c);
}

static bool run_gauss(bench_task *t)
{
    chain c = { .task = t };
    gauss(&c, source(&c, 0), t->row->sigma);
    return finish(&c);
}

static bool run_median(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    made(&c, vips_median(in, next(&c), t->row->size, NULL));
    return finish(&c);
}

/* A row and a column: large squares take vips_rank() seconds, and 8.14.1 computes them wrongly. */
static bool run_morph(bench_task *t)
{
    chain c = { .task = t };
    int n = t->row->size, rank = t->row->work == BENCH_ERODE ? 0 : n - 1;
    VipsImage *in = source(&c, 0), *rows = made(&c, vips_rank(in, next(&c), n, 1, rank, NULL));
    made(&c, vips_rank(rows, next(&c), 1, n, rank, NULL));
    return finish(&c);
}

static bool run_sobel(bench_task *t)
{
    chain c = { .task = t };
    gradient(&c, source(&c, 0));
    return finish(&c);
}

static bool run_convolve(bench_task *t)
{
    chain c = { .task = t };
    bool is_separable = t->row->work == BENCH_CONVOLVE_SEPARABLE;
    double weights[25];
    for (int i = 0; i < 25; i++)
        weights[i] = (double)(is_separable ? bench_matrix_separable[i] : bench_matrix[i]);
    matrix(&c, source(&c, 0), weights, 5, is_separable ? 256 : 92, VIPS_PRECISION_INTEGER);
    return finish(&c);
}

static bool run_unsharp(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    gauss(&c, in, t->row->sigma);
    VipsImage *taken = made(&c, vips_linear1(now(&c), next(&c), -0.6, 0.5, NULL));
    made(&c, vips_linear1(in, next(&c), 1.6, 0, NULL));
    made(&c, vips_add(taken, now(&c), next(&c), NULL));
    made(&c, vips_cast_uchar(now(&c), next(&c), NULL));
    return finish(&c);
}

static bool run_local_deviation(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    VipsImage *f = made(&c, vips_cast_float(in, next(&c), NULL));
    box(&c, f, t->row->size, VIPS_PRECISION_FLOAT);
    VipsImage *mean = now(&c);
    made(&c, vips_multiply(f, f, next(&c), NULL));
    box(&c, now(&c), t->row->size, VIPS_PRECISION_FLOAT);
    VipsImage *squares = now(&c);
    made(&c, vips_multiply(mean, mean, next(&c), NULL));
    made(&c, vips_subtract(squares, now(&c), next(&c), NULL));
    made(&c, vips_math2_const1(now(&c), next(&c), VIPS_OPERATION_MATH2_POW, 0.5, NULL));
    return finish(&c);
}

static bool run_edges(bench_task *t)
{
    chain c = { .task = t };
    gauss(&c, source(&c, 0), t->row->sigma);
    gradient(&c, now(&c));
    made(&c, vips_relational_const1(now(&c), next(&c), VIPS_OPERATION_RELATIONAL_MORE, 100, NULL));
    return finish(&c);
}

static bool run_four_boxes(bench_task *t)
{
    chain c = { .task = t };
    source(&c, 0);
    for (int i = 0; i < 4; i++)
        box(&c, now(&c), 3, VIPS_PRECISION_INTEGER);
    return finish(&c);
}

static bool run_four_filters(bench_task *t)
{
    chain c = { .task = t };
    gauss(&c, source(&c, 0), t->row->sigma);
    box(&c, now(&c), 3, VIPS_PRECISION_INTEGER);
    made(&c, vips_median(now(&c), next(&c), 3, NULL));
    made(&c, vips_rank(now(&c), next(&c), 3, 3, 0, NULL));
    return finish(&c);
}

/* ---- element by element ---- */

static bool run_sunset(bench_task *t)
{
    chain c = { .task = t };
    source(&c, 0);
    for (int i = 0; i < 3; i++)
        box(&c, now(&c), 3, VIPS_PRECISION_INTEGER);
    VipsImage *soft = now(&c);
    blend(&c, soft, source(&c, 1));
    VipsImage *mixed = now(&c), *forest = source(&c, 2);
    VipsImage *inverted = made(&c, vips_invert(forest, next(&c), NULL));
    int w = (int)t->in[0].width, h = (int)t->in[0].height;
    made(&c, vips_black(next(&c), w, h, NULL));
    take(&c, vips_image_copy_memory(now(&c)));
    if (!c.has_failed && vips_draw_circle1(now(&c), 255, w / 2, h / 2, h / 4, "fill", TRUE, NULL)) c.has_failed = true;
    made(&c, vips_ifthenelse(now(&c), inverted, mixed, next(&c), NULL));
    return finish(&c);
}

static bool run_blend(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *a = source(&c, 0), *b = source(&c, 1);
    blend(&c, a, b);
    return finish(&c);
}

static bool run_maps(bench_task *t)
{
    static const struct {
        double factor, offset;
    } steps[] = { /* NAN: |a|, INFINITY: a^2 */
                  { 1.25, 0 }, { 1, -0.5 }, { NAN, 0 },  { INFINITY, 0 }, { 1, 1 },       { 0.5, 0 },
                  { 1, -3 },   { NAN, 0 },  { 0.75, 0 }, { 1, 0.125 },    { INFINITY, 0 }
    };
    chain c = { .task = t };
    source(&c, 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (isnan(steps[i].factor))
            made(&c, vips_abs(now(&c), next(&c), NULL));
        else if (isinf(steps[i].factor))
            made(&c, vips_multiply(now(&c), now(&c), next(&c), NULL));
        else
            made(&c, vips_linear1(now(&c), next(&c), steps[i].factor, steps[i].offset, NULL));
    return finish(&c);
}

static bool run_to_gray(bench_task *t)
{
    static const double weights[] = { 0.299, 0.587, 0.114 };
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    take(&c, vips_image_new_matrix_from_array(3, 1, weights, 3));
    made(&c, vips_recomb(in, next(&c), now(&c), NULL));
    made(&c, vips_linear1(now(&c), next(&c), 1, 0.5, "uchar", TRUE, NULL));
    return finish(&c);
}

static bool run_resize_area(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    made(&c, vips_shrink(in, next(&c), 2, 2, NULL));
    return finish(&c);
}

/* Output i is read at (i + 1/2) / scale - 1/2, without smoothing. */
static bool run_resize_linear(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    double scale = t->row->sigma;
    VipsInterpolate *bilinear = vips_interpolate_new("bilinear");
    VipsArrayInt *area = vips_array_int_newv(4, 0, 0, (int)t->out[0].width, (int)t->out[0].height);
    made(&c, vips_affine(in, next(&c), scale, 0, 0, scale, "interpolate", bilinear, "oarea", area, "idx", 0.5, "idy",
                         0.5, "odx", -0.5, "ody", -0.5, "extend", VIPS_EXTEND_COPY, NULL));
    bool is_ok = finish(&c);
    vips_area_unref(VIPS_AREA(area));
    g_object_unref(bilinear);
    return is_ok;
}

static bool run_threshold(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    made(&c, vips_relational_const1(in, next(&c), VIPS_OPERATION_RELATIONAL_MORE, 128, NULL));
    return finish(&c);
}

/* ---- measures ---- */

static void number(bench_task *t, int k, double v) { *(double *)bench_out(t, k, IMGPAR_F64) = v; }

/* vips_avg() would do for the mean; the sum stands in the table of vips_stats(), which takes longer. */
static bool run_sum(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    double mean;
    if (!in || vips_avg(in, &mean, NULL)) return failed(&c);
    number(t, 0, rint(mean * (double)(t->in[0].width * t->in[0].height * t->in[0].channels)));
    release(&c);
    return true;
}

static bool run_statistics(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    made(&c, vips_stats(in, next(&c), NULL));
    if (c.has_failed) return failed(&c);
    /* The first row is for all bands: minimum, maximum, sum, sum of squares, mean, deviation. */
    number(t, 0, *VIPS_MATRIX(now(&c), 4, 0));
    number(t, 1, *VIPS_MATRIX(now(&c), 5, 0));
    number(t, 2, *VIPS_MATRIX(now(&c), 0, 0));
    number(t, 3, *VIPS_MATRIX(now(&c), 1, 0));
    release(&c);
    return true;
}

/* libvips has the channels of a bin side by side. */
static void put_counts(bench_task *t, VipsImage *hist)
{
    uint32_t *counts = bench_out(t, 0, IMGPAR_U32);
    int bands = vips_image_get_bands(hist);
    for (int b = 0; b < bands; b++)
        for (int i = 0; i < 256; i++)
            counts[b * 256 + i] =
                i < vips_image_get_width(hist) ? ((const uint32_t *)VIPS_IMAGE_ADDR(hist, i, 0))[b] : 0;
}

static bool run_histogram(bench_task *t)
{
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    made(&c, vips_hist_find(in, next(&c), NULL));
    take(&c, vips_image_copy_memory(now(&c)));
    if (c.has_failed) return failed(&c);
    put_counts(t, now(&c));
    release(&c);
    return true;
}

static bool run_histogram_mean(bench_task *t)
{
    static const double weights[] = { 0.299, 0.587, 0.114 };
    chain c = { .task = t };
    VipsImage *in = source(&c, 0);
    double mean = 0;
    take(&c, vips_image_new_matrix_from_array(3, 1, weights, 3));
    made(&c, vips_recomb(in, next(&c), now(&c), NULL));
    made(&c, vips_linear1(now(&c), next(&c), 1, 0.5, "uchar", TRUE, NULL));
    gauss(&c, now(&c), t->row->sigma);
    take(&c, vips_image_copy_memory(now(&c))); /* else everything is computed twice */
    VipsImage *soft = now(&c);
    if (c.has_failed || vips_avg(soft, &mean, NULL)) c.has_failed = true;
    made(&c, vips_hist_find(soft, next(&c), NULL));
    take(&c, vips_image_copy_memory(now(&c)));
    if (c.has_failed) return failed(&c);
    put_counts(t, now(&c));
    number(t, 1, mean);
    release(&c);
    return true;
}

static const bench_run works[BENCH_N_WORKS] = {
    [BENCH_SUNSET] = run_sunset,
    [BENCH_BOX] = run_box,
    [BENCH_GAUSS] = run_gauss,
    [BENCH_MEDIAN] = run_median,
    [BENCH_ERODE] = run_morph,
    [BENCH_DILATE] = run_morph,
    [BENCH_SOBEL] = run_sobel,
    [BENCH_CONVOLVE] = run_convolve,
    [BENCH_CONVOLVE_SEPARABLE] = run_convolve,
    [BENCH_BLEND] = run_blend,
    [BENCH_MAPS] = run_maps,
    [BENCH_TO_GRAY] = run_to_gray,
    [BENCH_RESIZE_AREA] = run_resize_area,
    [BENCH_RESIZE_LINEAR] = run_resize_linear,
    [BENCH_THRESHOLD] = run_threshold,
    [BENCH_SUM] = run_sum,
    [BENCH_STATISTICS] = run_statistics,
    [BENCH_HISTOGRAM] = run_histogram,
    [BENCH_HISTOGRAM_MEAN] = run_histogram_mean,
    [BENCH_UNSHARP] = run_unsharp,
    [BENCH_LOCAL_DEVIATION] = run_local_deviation,
    [BENCH_EDGES] = run_edges,
    [BENCH_FOUR_BOXES] = run_four_boxes,
    [BENCH_FOUR_FILTERS] = run_four_filters,
};

bench_run bench_vips(const bench_row *row)
{
    static bool is_ready;
    if (!is_ready) {
        if (VIPS_INIT("bench")) return NULL;
        vips_concurrency_set(BENCH_THREADS);
        vips_cache_set_max(0);
        is_ready = true;
    }
    return works[row->work];
}

const char *bench_vips_version(void) { return vips_version_string(); }

#else

bench_run bench_vips(const bench_row *row)
{
    (void)row;
    return NULL;
}
const char *bench_vips_version(void) { return NULL; }

#endif
