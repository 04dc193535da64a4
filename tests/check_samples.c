/* SPDX-License-Identifier: MIT */
/*
 * The pipelines of samples/ that are after Halide's example apps, against plain loops in long double that follow the
 * same definitions. The samples run as they are, of a small picture; in the quick tier by the interpreter, in the full
 * one on the device, too.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { H = 38, W = 53, MOST = 4 };

/* ---- running them ------------------------------------------------------------------------------------------ */

static char *file_of(const char *name)
{
    static char text[8192];
    char path[1024];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/samples/%s", source ? source : ".", name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "there is no %s", path);
    const size_t n = fread(text, 1, sizeof text - 1, f);
    ck_assert_int_eq(fclose(f), 0);
    text[n] = 0;
    int lines = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    ck_assert_msg(lines <= 40, "%s has %d lines", name, lines);
    return text;
}

/* Steps, noise, and a dark and a light disc. */
static picture drawn(void)
{
    picture p = written_levels(IMGPAR_U8, H, W, 3, 3);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++)
            for (int64_t c = 0; c < 3; c++) {
                const real far = hypotl((real)(y - 15), (real)(x - 20)), noise = *picture_at(&p, y, x, c) / 8;
                const real level = far < 6 ? 20 : far < 11 ? 190 : y > 25 ? 90 + 20 * c : 60 + 2 * x + 10 * c;
                *picture_at(&p, y, x, c) = roundl(level + noise);
            }
    return p;
}

/* A sample that runs: what it saves, and of which picture. */
typedef struct sample {
    picture in, out[MOST];
    size_t n;
} sample;

static real element(const void *bytes, imgpar_dtype dtype, int64_t k)
{
    if (dtype == IMGPAR_U8) return ((const unsigned char *)bytes)[k];
    if (dtype == IMGPAR_I32) return ((const int *)bytes)[k];
    if (dtype == IMGPAR_U64) return (real)((const unsigned long long *)bytes)[k];
    ck_assert_int_eq(dtype, IMGPAR_F32);
    return ((const float *)bytes)[k];
}

static picture taken(imgpar_array *a, const char *name)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", name, imgpar_array_message(a));
    picture p = picture_new(info.dtype, info.height, info.width, info.channels);
    char *bytes = malloc(info.size_bytes);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_msg(!imgpar_array_read(a, bytes, info.size_bytes), "%s: %s", name, imgpar_array_message(a));
    for (int64_t k = 0; k < picture_count(&p); k++)
        p.v[k] = element(bytes, info.dtype, k);
    free(bytes);
    return p;
}

static void set_params(imgpar_pipeline *p, const char *input, const char *params)
{
    char list[256];
    snprintf(list, sizeof list, "%s", params);
    ck_assert_int_eq(imgpar_pipeline_set(p, "input", input), IMGPAR_OK);
    for (char *word = strtok(list, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value = 0;
        ck_assert_msg(!imgpar_pipeline_set(p, word, value + 1), "%s", imgpar_pipeline_message(p));
    }
}

static sample ran(const char *name, const char *params, int way)
{
    char input[64];
    sample s = { .in = drawn() };
    snprintf(input, sizeof input, "check-samples-%d.png", (int)getpid());
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "auto" : "ref"), IMGPAR_OK);
    imgpar_array *a = picture_array(written_context, &s.in), **saved = NULL;
    ck_assert_msg(!imgpar_save(a, input, NULL), "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    imgpar_pipeline *p;
    ck_assert_msg(!imgpar_pipeline_parse(name, file_of(name), NULL, &p), "%s", imgpar_pipeline_message(p));
    set_params(p, input, params);
    ck_assert_msg(!imgpar_pipeline_build(p, written_context, &saved, &s.n), "%s", imgpar_pipeline_message(p));
    ck_assert(s.n <= MOST);
    for (size_t k = 0; k < s.n; k++) {
        s.out[k] = taken(saved[k], name);
        imgpar_array_release(saved[k]);
    }
    imgpar_free(saved);
    imgpar_pipeline_release(p);
    unlink(input);
    return s;
}

static void sample_free(sample *s)
{
    picture_free(&s->in);
    for (size_t k = 0; k < s->n; k++)
        picture_free(&s->out[k]);
}

/* got is what it should be, to within slack. Frees want. */
static void expect(const char *name, const picture *got, picture *want, real slack)
{
    ck_assert_msg(got->h == want->h && got->w == want->w && got->c == want->c, "%s is %dx%dx%d", name, (int)got->h,
                  (int)got->w, (int)got->c);
    for (int64_t k = 0; k < picture_count(got); k++)
        ck_assert_msg(fabsl(got->v[k] - want->v[k]) <= slack, "%s: element %d is %.9Lg, not %.9Lg", name, (int)k,
                      got->v[k], want->v[k]);
    picture_free(want);
}

/* ---- what several of them need -------------------------------------------------------------------------------- */

#define EACH_ELEMENT(P, Y, X, C)             \
    for (int64_t Y = 0; Y < (P)->h; Y++)     \
        for (int64_t X = 0; X < (P)->w; X++) \
            for (int64_t C = 0; C < (P)->c; C++)

static picture blank(int64_t h, int64_t w, int64_t c) { return picture_new(IMGPAR_F32, h, w, c); }

/* in / 255 to the power e. */
static picture light_of(const picture *in, real e)
{
    picture p = blank(in->h, in->w, in->c);
    for (int64_t k = 0; k < picture_count(in); k++)
        p.v[k] = powl(in->v[k] / 255, e);
    return p;
}

/* The luminance by the weights of BT.601; whole: of bytes, rounded as gray() does. */
static picture luminance(const picture *in, bool whole)
{
    picture p = blank(in->h, in->w, 1);
    EACH_ELEMENT(&p, y, x, c)
    {
        const real *v = picture_at(in, y, x, 0);
        p.v[y * p.w + x] = whole ? floorl((19595 * v[0] + 38470 * v[1] + 7471 * v[2] + 32768) / 65536)
                                 : 0.299L * v[0] + 0.587L * v[1] + 0.114L * v[2];
        (void)c;
    }
    return p;
}

/* n weights along rows (dx = 1) or columns, over their sum. */
static picture weighed(const picture *a, const real *weights, int n, int dx, int border)
{
    picture p = blank(a->h, a->w, a->c);
    real total = 0;
    for (int k = 0; k < n; k++)
        total += weights[k];
    EACH_ELEMENT(&p, y, x, c)
    for (int k = 0; k < n; k++) {
        const int at = k - n / 2;
        *picture_at(&p, y, x, c) +=
            weights[k] / total * picture_read(a, y + (dx ? 0 : at), x + (dx ? at : 0), c, border, 0);
    }
    return p;
}

/* The same along both axes. Frees nothing. */
static picture weighed_twice(const picture *a, const real *weights, int n, int border)
{
    picture rows = weighed(a, weights, n, 0, border), p = weighed(&rows, weights, n, 1, border);
    picture_free(&rows);
    return p;
}

static picture every_second(const picture *a)
{
    picture p = blank((a->h + 1) / 2, (a->w + 1) / 2, a->c);
    EACH_ELEMENT(&p, y, x, c)
    *picture_at(&p, y, x, c) = *picture_at(a, 2 * y, 2 * x, c);
    return p;
}

static real inside(real v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

/* ---- bilateral_grid.conf -------------------------------------------------------------------------------- */

enum { CELL = 5, LAYERS = 12, ROWS = (H - 1) / CELL + 2, COLUMNS = (W - 1) / CELL + 2 };

typedef struct grid {
    real v[LAYERS][ROWS][COLUMNS];
} grid;

static real in_grid(const grid *g, int layer, int row, int column)
{
    const bool out = layer < 0 || row < 0 || column < 0 || layer >= LAYERS || row >= ROWS || column >= COLUMNS;
    return out ? 0 : g->v[layer][row][column];
}

static grid blurred_grid(const grid *g)
{
    static const real weights[5] = { 1, 4, 6, 4, 1 };
    grid out = { 0 };
    for (int k = 0; k < LAYERS * ROWS * COLUMNS * 125; k++) {
        const int at = k / 125, a = k % 5, b = k / 5 % 5, c = k / 25 % 5;
        const int layer = at / (ROWS * COLUMNS), row = at / COLUMNS % ROWS, column = at % COLUMNS;
        out.v[layer][row][column] +=
            weights[a] * weights[b] * weights[c] / 4096 * in_grid(g, layer + a - 2, row + b - 2, column + c - 2);
    }
    return out;
}

static real between(const grid *g, real layer, real row, real column)
{
    real sum = 0;
    for (int k = 0; k < 8; k++) {
        const int at[3] = { (int)layer + k / 4, (int)row + k / 2 % 2, (int)column + k % 2 };
        sum += in_grid(g, at[0], at[1], at[2]) * (1 - fabsl(at[0] - layer)) * (1 - fabsl(at[1] - row)) *
               (1 - fabsl(at[2] - column));
    }
    return sum;
}

START_TEST(bilateral_grid)
{
    static grid sums, counts;
    sample s = ran("bilateral_grid.conf", "cell=5 tone=0.1", _i);
    picture g = luminance(&s.in, true), want = blank(H, W, 1);
    memset(&sums, 0, sizeof sums);
    memset(&counts, 0, sizeof counts);
    EACH_ELEMENT(&g, y, x, c)
    {
        const real v = *picture_at(&g, y, x, c) / 255;
        const int at[3] = { (int)(v / 0.1L + 0.5L), (int)(y / (real)CELL + 0.5L), (int)(x / (real)CELL + 0.5L) };
        sums.v[at[0]][at[1]][at[2]] += v;
        counts.v[at[0]][at[1]][at[2]] += 1;
    }
    sums = blurred_grid(&sums);
    counts = blurred_grid(&counts);
    EACH_ELEMENT(&want, y, x, c)
    {
        const real t = *picture_at(&g, y, x, c) / 25.5L, row = y / (real)CELL, column = x / (real)CELL;
        *picture_at(&want, y, x, c) = between(&sums, t, row, column) / between(&counts, t, row, column);
    }
    expect("bilateral_grid.conf", &s.out[0], &want, 1e-5L);
    picture_free(&g);
    sample_free(&s);
}
END_TEST

/* ---- local_laplacian.conf -------------------------------------------------------------------------------- */

static picture pyramid_down(const picture *a)
{
    static const real weights[5] = { 1, 4, 6, 4, 1 };
    picture soft = weighed_twice(a, weights, 5, IMGPAR_BORDER_REFLECT101), p = every_second(&soft);
    picture_free(&soft);
    return p;
}

/* What Burt and Adelson's interpolation makes of a at (y, x) of the next larger level. */
static real pyramid_up(const picture *a, int64_t y, int64_t x)
{
    real sum = 0;
    for (int k = 0; k < 9; k++) {
        const int64_t dy = k / 3 - 1, dx = k % 3 - 1;
        const real wy = y % 2 ? (dy < 0 ? 0 : 0.5L) : dy ? 0.125L : 0.75L;
        const real wx = x % 2 ? (dx < 0 ? 0 : 0.5L) : dx ? 0.125L : 0.75L;
        sum += wy * wx * written_nearest(a, y / 2 + dy, x / 2 + dx, 0);
    }
    return sum;
}

enum { LEVELS = 4 };
typedef struct pyramid {
    picture level[LEVELS];
} pyramid;

static pyramid pyramid_of(picture bottom)
{
    pyramid p = { .level = { bottom } };
    for (int k = 1; k < LEVELS; k++)
        p.level[k] = pyramid_down(&p.level[k - 1]);
    return p;
}

static void pyramid_free(pyramid *p)
{
    for (int k = 0; k < LEVELS; k++)
        picture_free(&p->level[k]);
}

/* Details of level n of a, times how near to k the element of g is. */
static void add_details(picture *sum, const pyramid *a, const picture *g, int n, int k)
{
    EACH_ELEMENT(sum, y, x, c)
    {
        const real near = 1 - fabsl(7 * *picture_at(g, y, x, c) - k);
        if (near > 0)
            *picture_at(sum, y, x, c) +=
                near * (*picture_at(&a->level[n], y, x, c) - pyramid_up(&a->level[n + 1], y, x));
    }
}

static picture remapped(const picture *g, real level, real sigma, real detail)
{
    picture p = blank(g->h, g->w, 1);
    for (int64_t k = 0; k < picture_count(g); k++) {
        const real d = g->v[k] - level, size = fabsl(d);
        p.v[k] = level + copysignl(size < sigma ? sigma * powl(size / sigma, detail) : size, d);
    }
    return p;
}

START_TEST(local_laplacian)
{
    sample s = ran("local_laplacian.conf", "sigma=0.3 detail=0.6", _i);
    picture light = light_of(&s.in, 1), want = blank(H, W, 3);
    pyramid g = pyramid_of(luminance(&light, false)), out = { 0 };
    for (int n = 0; n < LEVELS - 1; n++)
        out.level[n] = blank(g.level[n].h, g.level[n].w, 1);
    for (int k = 0; k < 8; k++) {
        pyramid p = pyramid_of(remapped(&g.level[0], k / 7.0L, 0.3L, 0.6L));
        for (int n = 0; n < LEVELS - 1; n++)
            add_details(&out.level[n], &p, &g.level[n], n, k);
        pyramid_free(&p);
    }
    out.level[LEVELS - 1] = picture_copy(&g.level[LEVELS - 1]);
    for (int n = LEVELS - 2; n >= 0; n--)
        EACH_ELEMENT(&out.level[n], y, x, c)
    *picture_at(&out.level[n], y, x, c) += pyramid_up(&out.level[n + 1], y, x);
    EACH_ELEMENT(&want, y, x, c)
    {
        const real r = out.level[0].v[y * W + x], l = g.level[0].v[y * W + x];
        *picture_at(&want, y, x, c) = inside(*picture_at(&light, y, x, c) * (r + 0.01L) / (l + 0.01L));
    }
    expect("local_laplacian.conf", &s.out[0], &want, 5e-4L);
    pyramid_free(&g);
    pyramid_free(&out);
    picture_free(&light);
    sample_free(&s);
}
END_TEST

/* ---- camera_pipe.conf -------------------------------------------------------------------------------- */

static real larger(real a, real b) { return a > b ? a : b; }

static bool is_green(int64_t y, int64_t x) { return (x + y) % 2 == 1; }

/* The mosaic of light, hot pixels clamped. */
static picture sensor(const picture *light)
{
    picture raw = blank(H, W, 1), p = blank(H, W, 1);
    EACH_ELEMENT(&raw, y, x, c)
    *picture_at(&raw, y, x, c) = *picture_at(light, y, x, is_green(y, x) ? 1 : x % 2 || y % 2 ? 2 : 0);
    EACH_ELEMENT(&p, y, x, c)
    {
        real most = 0;
        for (int k = 0; k < 4; k++)
            most = larger(most, written_nearest(&raw, y + (k < 2 ? 0 : 4 * k - 10), x + (k < 2 ? 4 * k - 2 : 0), 0));
        p.v[y * W + x] = fminl(raw.v[y * W + x], most);
        (void)c;
    }
    picture_free(&raw);
    return p;
}

static picture green(const picture *q)
{
    picture p = blank(H, W, 1);
    EACH_ELEMENT(&p, y, x, c)
    {
        const real left = written_nearest(q, y, x - 1, c), right = written_nearest(q, y, x + 1, c);
        const real up = written_nearest(q, y - 1, x, c), down = written_nearest(q, y + 1, x, c);
        const real mean = fabsl(left - right) < fabsl(up - down) ? (left + right) / 2 : (up + down) / 2;
        p.v[y * W + x] = is_green(y, x) ? q->v[y * W + x] : mean;
    }
    return p;
}

/* Red (odd 0) or blue (odd 1): green, and between the sensor's pixels of the colour the mean difference of these. */
static picture other_colour(const picture *q, const picture *g, int odd)
{
    static const real weights[3] = { 1, 2, 1 };
    picture known = blank(H, W, 1);
    EACH_ELEMENT(&known, y, x, c)
    if (y % 2 == odd && x % 2 == odd) known.v[y * W + x] = q->v[y * W + x] - g->v[y * W + x] + 0 * c;
    picture p = weighed_twice(&known, weights, 3, IMGPAR_BORDER_REPLICATE);
    for (int64_t k = 0; k < picture_count(&p); k++)
        p.v[k] = 4 * p.v[k] + g->v[k];
    picture_free(&known);
    return p;
}

START_TEST(camera_pipe)
{
    static const real matrix[3][3] = { { 1.3L, -0.2L, -0.1L }, { -0.15L, 1.3L, -0.15L }, { -0.05L, -0.25L, 1.3L } };
    static const real weights[3] = { 1, 2, 1 };
    sample s = ran("camera_pipe.conf", "gamma=2 contrast=0.4 sharpen=0.7", _i);
    picture light = light_of(&s.in, 2), q = sensor(&light), g = green(&q);
    picture red = other_colour(&q, &g, 0), blue = other_colour(&q, &g, 1), curved = blank(H, W, 3);
    EACH_ELEMENT(&curved, y, x, c)
    {
        const int64_t at = y * W + x;
        const real t = sqrtl(inside(matrix[c][0] * red.v[at] + matrix[c][1] * g.v[at] + matrix[c][2] * blue.v[at]));
        *picture_at(&curved, y, x, c) = t + 0.4L * (t * t * (3 - 2 * t) - t);
    }
    picture soft = weighed_twice(&curved, weights, 3, IMGPAR_BORDER_REPLICATE), want = blank(H, W, 3);
    for (int64_t k = 0; k < picture_count(&want); k++)
        want.v[k] = inside(curved.v[k] + 0.7L * (curved.v[k] - soft.v[k]));
    expect("camera_pipe.conf", &s.out[0], &want, 2e-4L);
    picture *const used[] = { &light, &q, &g, &red, &blue, &curved, &soft };
    for (int k = 0; k < 7; k++)
        picture_free(used[k]);
    sample_free(&s);
}
END_TEST

/* ---- interpolate.conf -------------------------------------------------------------------------------- */

/* Colours times coverage and, as the fourth, coverage, of p and of what the next smaller picture tells. */
static picture pushed(picture p, int levels)
{
    static const real weights[3] = { 1, 2, 1 };
    if (levels == 0) return p;
    picture soft = weighed_twice(&p, weights, 3, IMGPAR_BORDER_REPLICATE),
            under = pushed(every_second(&soft), levels - 1);
    EACH_ELEMENT(&p, y, x, c)
    if (c < 3)
        *picture_at(&p, y, x, c) +=
            (1 - *picture_at(&p, y, x, 3)) * written_between(&under, y / 2.0L, x / 2.0L, c, IMGPAR_BORDER_REPLICATE);
    for (int64_t y = 0; y < p.h; y++)
        for (int64_t x = 0; x < p.w; x++)
            *picture_at(&p, y, x, 3) += (1 - *picture_at(&p, y, x, 3)) *
                                        written_between(&under, y / 2.0L, x / 2.0L, 3, IMGPAR_BORDER_REPLICATE);
    picture_free(&soft);
    picture_free(&under);
    return p;
}

START_TEST(interpolate)
{
    sample s = ran("interpolate.conf", "", _i);
    picture known = blank(H, W, 4), want = blank(H, W, 3), scattered = blank(H, W, 3);
    EACH_ELEMENT(&known, y, x, c)
    if ((x * x + 5 * y + x * y) % 13 == 0)
        *picture_at(&known, y, x, c) = c == 3 ? 1 : *picture_at(&s.in, y, x, c) / 255;
    EACH_ELEMENT(&scattered, y, x, c)
    *picture_at(&scattered, y, x, c) = *picture_at(&known, y, x, c);
    known = pushed(known, 5);
    EACH_ELEMENT(&want, y, x, c)
    *picture_at(&want, y, x, c) = *picture_at(&known, y, x, c) / *picture_at(&known, y, x, 3);
    expect("interpolate.conf", &s.out[0], &want, 1e-5L);
    expect("interpolate.conf, scattered", &s.out[1], &scattered, 1e-7L);
    picture_free(&known);
    sample_free(&s);
}
END_TEST

/* ---- nl_means.conf -------------------------------------------------------------------------------- */

/* The mean over a patch of 3 x 3 of the squared difference to the neighbour at (dy, dx), all channels' mean. */
static real patch_distance(const picture *a, int64_t y, int64_t x, int64_t dy, int64_t dx)
{
    real sum = 0;
    for (int k = 0; k < 27; k++) {
        int64_t py = y + k / 9 - 1, px = x + k / 3 % 3 - 1; /* what is compared is inside */
        py = py < 0 ? 0 : py >= H ? H - 1 : py;
        px = px < 0 ? 0 : px >= W ? W - 1 : px;
        const real d = *picture_at(a, py, px, k % 3) - written_nearest(a, py + dy, px + dx, k % 3);
        sum += d * d / 27;
    }
    return sum;
}

START_TEST(nl_means)
{
    sample s = ran("nl_means.conf", "noise=0.1 patch=3 search=2", _i);
    const picture *const a = &s.out[1];
    picture want = blank(H, W, 3);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            real sum[3] = { 0 }, total = 0;
            for (int64_t dy = -2; dy <= 2; dy++)
                for (int64_t dx = -2; dx <= 2; dx++) {
                    const real d = larger(patch_distance(a, y, x, dy, dx) - 2 * 0.01L, 0), w = expl(-d / 0.0016L);
                    for (int c = 0; c < 3; c++)
                        sum[c] += w * written_nearest(a, y + dy, x + dx, c);
                    total += w;
                }
            for (int c = 0; c < 3; c++)
                *picture_at(&want, y, x, c) = sum[c] / total;
        }
    expect("nl_means.conf", &s.out[0], &want, 1e-4L);
    for (int64_t k = 0; k < picture_count(a); k++) /* that far is no normal number of the few */
        ck_assert(a->v[k] >= 0 && a->v[k] <= 1 && fabsl(a->v[k] - s.in.v[k] / 255) < 0.6L);
    sample_free(&s);
}
END_TEST

/* ---- lens_blur.conf -------------------------------------------------------------------------------- */

enum { DISPARITIES = 6, FOCUS = 1, DISC = 4 /* ceil(0.8 x 5) */ };

static picture disparity_of(const picture *in)
{
    picture left = luminance(in, true), right = blank(H, W, 1), p = blank(H, W, 1);
    EACH_ELEMENT(&right, y, x, c)
    right.v[y * W + x] = written_nearest(&left, y, x + y * DISPARITIES / H, c);
    EACH_ELEMENT(&p, y, x, c)
    {
        real least = INFINITY;
        for (int d = 0; d < DISPARITIES; d++) {
            real cost = 0;
            for (int k = 0; k < 81; k++) {
                int64_t py = y + k / 9 - 4, px = x + k % 9 - 4;
                py = py < 0 ? 0 : py >= H ? H - 1 : py;
                px = px < 0 ? 0 : px >= W ? W - 1 : px;
                cost += fabsl(left.v[py * W + px] - written_nearest(&right, py, px - d, c));
            }
            if (cost < least) {
                least = cost;
                p.v[y * W + x] = d;
            }
        }
    }
    picture_free(&left);
    picture_free(&right);
    return p;
}

START_TEST(lens_blur)
{
    sample s = ran("lens_blur.conf", "most=6 focus=1 wide=0.8", _i);
    picture near = disparity_of(&s.in), want = blank(H, W, 3);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            real sum[3] = { 0 }, total = 0;
            for (int64_t dy = -DISC; dy <= DISC; dy++)
                for (int64_t dx = -DISC; dx <= DISC; dx++) {
                    const real here = near.v[y * W + x], there = written_nearest(&near, y + dy, x + dx, 0);
                    const real mine = 0.8L * fabsl(here - FOCUS), other = 0.8L * fabsl(there - FOCUS);
                    const real size = there >= here ? other : fminl(mine, other);
                    const real w = inside(size + 0.5L - hypotl((real)dy, (real)dx)) / (size * size + 1);
                    for (int c = 0; c < 3; c++)
                        sum[c] += w * written_nearest(&s.in, y + dy, x + dx, c);
                    total += w;
                }
            for (int c = 0; c < 3; c++)
                *picture_at(&want, y, x, c) = sum[c] / total;
        }
    expect("lens_blur.conf", &s.out[0], &want, 1e-3L); /* of 255 */
    expect("lens_blur.conf, map", &s.out[1], &near, 0);
    sample_free(&s);
}
END_TEST

/* ---- harris.conf -------------------------------------------------------------------------------- */

static picture corner_response(const picture *in)
{
    picture g = luminance(in, true), p = blank(H, W, 1), products = blank(H, W, 3);
    EACH_ELEMENT(&g, y, x, c)
    {
        real gx = 0, gy = 0;
        for (int k = -1; k <= 1; k++) {
            gx += (2 - k * k) * (written_nearest(&g, y + k, x + 1, c) - written_nearest(&g, y + k, x - 1, c));
            gy += (2 - k * k) * (written_nearest(&g, y + 1, x + k, c) - written_nearest(&g, y - 1, x + k, c));
        }
        *picture_at(&products, y, x, 0) = gx * gx;
        *picture_at(&products, y, x, 1) = gy * gy;
        *picture_at(&products, y, x, 2) = gx * gy;
    }
    EACH_ELEMENT(&p, y, x, c)
    {
        real s[3] = { 0 };
        for (int k = 0; k < 27; k++)
            s[k % 3] += written_nearest(&products, y + k / 9 - 1, x + k / 3 % 3 - 1, k % 3);
        *picture_at(&p, y, x, c) = 25 * (s[0] * s[1] - s[2] * s[2]) - (s[0] + s[1]) * (s[0] + s[1]);
    }
    picture_free(&g);
    picture_free(&products);
    return p;
}

static bool is_corner(const picture *r, int64_t y, int64_t x)
{
    const real v = r->v[y * W + x];
    bool is = v > 500000;
    for (int k = 0; k < 9; k++)
        is = is && written_nearest(r, y + k / 3 - 1, x + k % 3 - 1, 0) <= v;
    return is;
}

START_TEST(harris)
{
    sample s = ran("harris.conf", "least=500000", _i);
    picture r = corner_response(&s.in), want = blank(H, W, 3);
    int corners = 0;
    EACH_ELEMENT(&want, y, x, c)
    {
        bool near = false;
        for (int k = 0; k < 25; k++) {
            const int64_t py = y + k / 5 - 2, px = x + k % 5 - 2;
            near = near || (py >= 0 && py < H && px >= 0 && px < W && is_corner(&r, py, px));
        }
        *picture_at(&want, y, x, c) = near ? (c == 0 ? 255 : 0) : floorl(*picture_at(&s.in, y, x, c) / 2);
        corners += c == 0 && is_corner(&r, y, x);
    }
    ck_assert(corners > 10);
    ck_assert(s.out[0].v[0] == corners);
    expect("harris.conf", &s.out[1], &want, 0);
    picture_free(&r);
    sample_free(&s);
}
END_TEST

/* ---- unsharp.conf -------------------------------------------------------------------------------- */

START_TEST(unsharp)
{
    sample s = ran("unsharp.conf", "sigma=1.2 amount=2", _i);
    real weights[9];
    for (int k = 0; k < 9; k++)
        weights[k] = expl(-(k - 4) * (k - 4) / 2.88L);
    picture light = light_of(&s.in, 1), g = luminance(&light, false), want = blank(H, W, 3);
    picture soft = weighed_twice(&g, weights, 9, IMGPAR_BORDER_REPLICATE);
    EACH_ELEMENT(&want, y, x, c)
    {
        const real l = g.v[y * W + x], sharp = l + 2 * (l - soft.v[y * W + x]);
        *picture_at(&want, y, x, c) = inside(*picture_at(&light, y, x, c) * (sharp + 0.001L) / (l + 0.001L));
    }
    expect("unsharp.conf", &s.out[0], &want, 1e-5L);
    picture_free(&light);
    picture_free(&g);
    picture_free(&soft);
    sample_free(&s);
}
END_TEST

/* ---- max_filter.conf -------------------------------------------------------------------------------- */

START_TEST(max_filter)
{
    sample s = ran("max_filter.conf", "radius=9", _i);
    picture want = blank(H, W, 3);
    EACH_ELEMENT(&want, y, x, c)
    for (int64_t dy = -9; dy <= 9; dy++)
        for (int64_t dx = -9; dx <= 9; dx++)
            if (dy * dy + dx * dx <= 81)
                *picture_at(&want, y, x, c) =
                    larger(*picture_at(&want, y, x, c), written_nearest(&s.in, y + dy, x + dx, c));
    expect("max_filter.conf", &s.out[0], &want, 0);
    sample_free(&s);
}
END_TEST

/* ---- wavelet.conf -------------------------------------------------------------------------------- */

enum { LONGEST = 64 };

/* A line of n elements: half of it low, half of it high, and back. */
static void forward_line(real *v, int n)
{
    const real root = sqrtl(3), norm = sqrtl(32);
    const real h[4] = { (1 + root) / norm, (3 + root) / norm, (3 - root) / norm, (1 - root) / norm };
    real out[LONGEST] = { 0 };
    for (int k = 0; k < n / 2; k++)
        for (int j = 0; j < 4; j++) {
            out[k] += h[j] * v[(2 * k + j) % n];
            out[n / 2 + k] += (j % 2 ? -1 : 1) * h[3 - j] * v[(2 * k + j) % n];
        }
    memcpy(v, out, (size_t)n * sizeof *v);
}

static void backward_line(real *v, int n)
{
    const real root = sqrtl(3), norm = sqrtl(32);
    const real h[4] = { (1 + root) / norm, (3 + root) / norm, (3 - root) / norm, (1 - root) / norm };
    real out[LONGEST] = { 0 };
    for (int k = 0; k < n / 2; k++)
        for (int j = 0; j < 4; j++)
            out[(2 * k + j) % n] += h[j] * v[k] + (j % 2 ? -1 : 1) * h[3 - j] * v[n / 2 + k];
    memcpy(v, out, (size_t)n * sizeof *v);
}

/* All rows and columns of the upper left h x w. */
static void lines(picture *p, int h, int w, void (*line)(real *, int))
{
    real v[LONGEST];
    for (int x = 0; x < w; x++) {
        for (int y = 0; y < h; y++)
            v[y] = *picture_at(p, y, x, 0);
        line(v, h);
        for (int y = 0; y < h; y++)
            *picture_at(p, y, x, 0) = v[y];
    }
    for (int y = 0; y < h; y++)
        line(picture_at(p, y, 0, 0), w);
}

START_TEST(wavelet)
{
    enum { EVEN_H = H / 4 * 4, EVEN_W = W / 4 * 4 };
    sample s = ran("wavelet.conf", "noise=0.05", _i);
    picture want = picture_copy(&s.out[1]);
    ck_assert(want.h == EVEN_H && want.w == EVEN_W && want.c == 1);
    lines(&want, EVEN_H, EVEN_W, forward_line);
    lines(&want, EVEN_H / 2, EVEN_W / 2, forward_line);
    EACH_ELEMENT(&want, y, x, c)
    if (y >= EVEN_H / 4 || x >= EVEN_W / 4) {
        real *v = picture_at(&want, y, x, c);
        *v = copysignl(larger(fabsl(*v) - 0.1L, 0), *v);
    }
    lines(&want, EVEN_H / 2, EVEN_W / 2, backward_line);
    lines(&want, EVEN_H, EVEN_W, backward_line);
    expect("wavelet.conf", &s.out[0], &want, 1e-5L);
    sample_free(&s);
}
END_TEST

int main(void)
{
    TCase *tests = written_case();
    const int ways = test_tier_is_full() ? 2 : 1;
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, bilateral_grid, 0, ways);
    tcase_add_loop_test(tests, local_laplacian, 0, ways);
    tcase_add_loop_test(tests, camera_pipe, 0, ways);
    tcase_add_loop_test(tests, interpolate, 0, ways);
    tcase_add_loop_test(tests, nl_means, 0, ways);
    tcase_add_loop_test(tests, lens_blur, 0, ways);
    tcase_add_loop_test(tests, harris, 0, ways);
    tcase_add_loop_test(tests, unsharp, 0, ways);
    tcase_add_loop_test(tests, max_filter, 0, ways);
    tcase_add_loop_test(tests, wavelet, 0, ways);
    return written_run("samples", tests);
}
