/* SPDX-License-Identifier: MIT */
/* Edges, templates, lines, corners and measures (ops/written_features.def) against plain loops: in whole numbers where
 * the rows promise that, else in long double. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- edges ----------------------------------------------------------------------------------------------- */

/* Soft blobs and noise, with edges of all directions; floats in multiples of 1/256, so that gradients are exact. */
static picture scene(imgpar_dtype dtype, int64_t h, int64_t w, int64_t c)
{
    picture p = written_levels(IMGPAR_U8, h, w, c, 7);
    p.dtype = dtype;
    for (int64_t k = 0; k < picture_count(&p); k++) {
        const real y = (real)(k / (w * c)), x = (real)(k / c % w);
        const real wave = 128 + 60 * sinl(x * 0.7L + y * 0.2L) + 50 * cosl(y * 0.5L - x * 0.3L * (real)(k % c));
        const real level = fminl(255, fmaxl(0, roundl(wave + (p.v[k] - 128) / 8)));
        p.v[k] = dtype == IMGPAR_U8 ? level : dtype == IMGPAR_U16 ? level * 257 : level / 256;
    }
    return p;
}

/* The luminance as the row gray has it of integers; floats are given gray. */
static real luminance(const picture *a, int64_t y, int64_t x)
{
    const real *v = picture_at(a, y, x, 0);
    return a->c < 3 ? v[0] : floorl((19595 * v[0] + 38470 * v[1] + 7471 * v[2] + 32768) / 65536);
}

static int64_t inside(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

typedef struct slope {
    real x, y, square;
} slope;

static slope slope_at(const picture *a, int64_t y, int64_t x)
{
    static const int weights[3] = { 1, 2, 1 };
    slope s = { 0 };
    if (y < 0 || x < 0 || y >= a->h || x >= a->w) return s; /* nothing beyond the edges */
    for (int k = 0; k < 3; k++)
        for (int side = -1; side <= 1; side += 2) {
            s.x += side * weights[k] * luminance(a, inside(y + k - 1, a->h), inside(x + side, a->w));
            s.y += side * weights[k] * luminance(a, inside(y + side, a->h), inside(x + k - 1, a->w));
        }
    s.square = s.x * s.x + s.y * s.y;
    return s;
}

/* Whether the gradient is the largest along its direction, one of four. */
static bool is_ridge(const picture *a, int64_t y, int64_t x)
{
    const slope s = slope_at(a, y, x);
    const real across = fabsl(s.x), down = fabsl(s.y);
    const bool is_flat = down * 32768 < across * 13573, is_steep = down * 32768 > across * (13573 + 65536);
    const int dy = is_flat ? 0 : 1, dx = is_flat ? 1 : is_steep ? 0 : (s.x < 0) != (s.y < 0) ? -1 : 1;
    const real before = slope_at(a, y - dy, x - dx).square, behind = slope_at(a, y + dy, x + dx).square;
    return s.square > before && (is_flat || is_steep ? s.square >= behind : s.square > behind);
}

static picture edges_of(const picture *a, real low, real high)
{
    picture out = picture_new(IMGPAR_U8, a->h, a->w, 1);
    for (int64_t k = 0; k < a->h * a->w; k++) {
        const real square = slope_at(a, k / a->w, k % a->w).square;
        const bool is_edge = is_ridge(a, k / a->w, k % a->w) && square > low * low;
        out.v[k] = !is_edge ? 0 : square > high * high ? 255 : 1;
    }
    for (bool changes = true; changes;) {
        changes = false;
        for (int64_t k = 0; k < a->h * a->w; k++)
            for (int n = 0; n < 9 && out.v[k] == 1; n++) {
                const int64_t y = k / a->w + n / 3 - 1, x = k % a->w + n % 3 - 1;
                if (y < 0 || x < 0 || y >= a->h || x >= a->w || *picture_at(&out, y, x, 0) != 255) continue;
                out.v[k] = 255;
                changes = true;
            }
    }
    for (int64_t k = 0; k < a->h * a->w; k++)
        out.v[k] = out.v[k] == 255 ? 255 : 0;
    return out;
}

static void expect_edges(const picture *a, const char *options, real low, real high)
{
    char text[96];
    const picture *const in[] = { a };
    picture want = edges_of(a, low, high);
    snprintf(text, sizeof text, "canny($1%s)", options);
    written_expect(text, in, 1, &want, true);
    picture_free(&want);
}

START_TEST(edges_are_those_of_canny) /* _i: the dtype */
{
    const imgpar_dtype dtype = written_dtypes[_i];
    const real full = dtype_full(dtype);
    char options[64];
    for (int64_t c = 1; c <= (dtype == IMGPAR_F32 ? 2 : 4); c++) {
        picture a = scene(dtype, 37, 43, c);
        snprintf(options, sizeof options, ", %.17g, high=%.17g", (double)(full / 2), (double)full);
        expect_edges(&a, options, full / 2, full);
        picture_free(&a);
    }
    static const int64_t sides[][2] = { { 1, 1 }, { 1, 9 }, { 9, 1 }, { 2, 3 } };
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        picture a = written_levels(IMGPAR_U8, sides[k][0], sides[k][1], 1, 3);
        expect_edges(&a, "", 100, 200);
        expect_edges(&a, ", low=200, high=100", 100, 200); /* as OpenCV takes them */
        picture_free(&a);
    }
}
END_TEST

/* Two texts of one picture that give the same. */
static const struct {
    const char *text, *as;
} alike[] = {
    { "canny($1, sigma=1.4)", "canny(blur(gray($1), 1.4, border=reflect101))" },
    { "canny(depth($1, 16))", "canny($1, 100 / 255 * 255, 200)" },
    { "canny($1 > 128)", "canny(cast($1 > 128, u8), 100 / 255, 200 / 255)" },
    { "canny(cast($1, i32), 100, 200)", "canny($1)" },
    { "canny(cast(gray($1), f64), 100, 200)", "canny(gray($1))" },
};

START_TEST(edges_of_what_is_alike)
{
    char text[200];
    picture a = scene(IMGPAR_U8, 21, 33, 1), want = picture_new(IMGPAR_BOOL, 1, 1, 1);
    const picture *const in[] = { &a };
    want.v[0] = 1;
    snprintf(text, sizeof text, "p = %s\nq = %s\nall(p == q) && any(p)", alike[_i].text, alike[_i].as);
    written_expect(text, in, 1, &want, true);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- templates ------------------------------------------------------------------------------------------- */

static const char *const methods[] = { "sqdiff", "sqdiff_normed", "ccorr", "ccorr_normed", "ccoeff", "ccoeff_normed" };
enum { N_METHODS = sizeof methods / sizeof *methods, CCORR = 2, CCOEFF = 4 };

/* What is below the template at (y, x), colours alone. */
typedef struct overlap {
    real products, squares, energy, difference; /* of the picture times the template, of it, of the template */
    real covariance, spread, variance;          /* the same without means */
} overlap;

static overlap overlap_at(const picture *a, const picture *t, int64_t y, int64_t x)
{
    overlap o = { 0 };
    const int64_t n = t->h * t->w, colours = t->c - (!is_float(t->dtype) && picture_is_alpha(t, t->c - 1));
    for (int64_t c = 0; c < colours; c++) {
        real mean_a = 0, mean_t = 0;
        for (int64_t k = 0; k < n; k++) {
            mean_a += *picture_at(a, y + k / t->w, x + k % t->w, c) / (real)n;
            mean_t += *picture_at(t, k / t->w, k % t->w, c) / (real)n;
        }
        for (int64_t k = 0; k < n; k++) {
            const real p = *picture_at(a, y + k / t->w, x + k % t->w, c), q = *picture_at(t, k / t->w, k % t->w, c);
            o.products += p * q;
            o.squares += p * p;
            o.energy += q * q;
            o.difference += (p - q) * (p - q);
            o.covariance += (p - mean_a) * (q - mean_t);
            o.variance += (p - mean_a) * (p - mean_a);
            o.spread += (q - mean_t) * (q - mean_t);
        }
    }
    return o;
}

static real over(real p, real square, real otherwise) { return square > 0 ? p / sqrtl(square) : otherwise; }

static real measure(const overlap *o, int method)
{
    const real all[] = { o->difference, fminl(1, over(o->difference, o->squares * o->energy, 1)),
                         o->products,   over(o->products, o->squares * o->energy, 0),
                         o->covariance, over(o->covariance, o->variance * o->spread, 0) };
    return all[method];
}

/* The part of a from (y, x) on. */
static picture part_of(const picture *a, int64_t y, int64_t x, int64_t h, int64_t w)
{
    picture t = picture_new(a->dtype, h, w, a->c);
    for (int64_t k = 0; k < picture_count(&t); k++)
        t.v[k] = *picture_at(a, y + k / (w * a->c), x + k / a->c % w, k % a->c);
    return t;
}

/* Methods first, first + step, ... of the same two. */
static void expect_matches(const picture *a, const picture *t, int first, int step, real slack)
{
    const picture *const in[] = { a, t };
    picture want = picture_new(IMGPAR_F32, a->h - t->h + 1, a->w - t->w + 1, 1);
    overlap *all = malloc((size_t)picture_count(&want) * sizeof *all);
    for (int64_t k = 0; k < picture_count(&want); k++)
        all[k] = overlap_at(a, t, k / want.w, k % want.w);
    for (int method = first; method < N_METHODS; method += step) {
        char text[96];
        for (int64_t k = 0; k < picture_count(&want); k++) {
            want.v[k] = measure(&all[k], method);
            want.slack[k] = method % 2 ? (slack > 0 ? 0x1p-16L : 0x1p-23L) : slack * (all[k].squares + all[k].energy);
        }
        snprintf(text, sizeof text, "match_template($1, $2, method=%s)", methods[method]);
        written_expect(text, in, 2, &want, true);
    }
    free(all);
    picture_free(&want);
}

START_TEST(few_products_are_summed_where_they_stand) /* _i: the dtype */
{
    static const int64_t sides[][2] = { { 5, 7 }, { 4, 6 }, { 1, 1 }, { 3, 2 }, { 19, 26 } };
    const imgpar_dtype dtype = written_dtypes[_i];
    const int64_t channels[] = { 1, 3, 4, 2, 1 };
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        picture a = written_levels(dtype, 19, 26, channels[k], 11);
        picture t = part_of(&a, 19 - sides[k][0], 26 - sides[k][1], sides[k][0], sides[k][1]);
        if (k == 1) t.v[3] = 0;
        expect_matches(&a, &t, 0, 1, dtype == IMGPAR_U8 ? 0x1p-50L : 0x1p-20L);
        picture_free(&a);
        picture_free(&t);
    }
}
END_TEST

START_TEST(many_products_come_from_the_fourier_transform) /* _i: the dtype */
{
    const imgpar_dtype dtype = written_dtypes[_i];
    for (int is_normed = 0; is_normed < 2; is_normed++) {
        picture a = written_levels(dtype, 97, 99, is_normed ? 3 : 1, 5), t = part_of(&a, 11, 20, 40, 41);
        for (int64_t k = 0; k < picture_count(&t); k += 3)
            t.v[k] = a.v[k];
        expect_matches(&a, &t, is_normed, 2, 0x1p-18L);
        picture_free(&a);
        picture_free(&t);
    }
}
END_TEST

/* ---- shifts -------------------------------------------------------------------------------------------------- */

/* A scene and the same scene seen from elsewhere. */
static real seen(real y, real x)
{
    return 128 + 50 * sinl(x * 0.31L + y * 0.17L) + 40 * cosl(y * 0.43L - x * 0.23L) * sinl(x * y * 0.011L);
}

static picture view_of(imgpar_dtype dtype, int64_t h, int64_t w, int64_t c, real dy, real dx)
{
    picture p = picture_new(dtype, h, w, c);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        const real v = seen((real)(k / (w * c)) - dy, (real)(k / c % w) - dx) / 256 * dtype_full(dtype);
        p.v[k] = is_float(dtype) ? rounded(dtype, v) : roundl(v);
    }
    return p;
}

/* Of noise the part that begins at (y, x), which may lie between pixels. */
static picture part_between(const picture *noise, real y, real x)
{
    picture p = picture_new(noise->dtype, 61, 83, noise->c);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        const real at_y = y + (real)(k / (83 * p.c)), at_x = x + (real)(k / p.c % 83);
        p.v[k] = rounded(p.dtype, written_between(noise, at_y, at_x, k % p.c, IMGPAR_BORDER_REPLICATE));
    }
    return p;
}

START_TEST(a_shift_is_found) /* _i: the dtype */
{
    static const struct {
        real dy, dx;
        const char *options;
        real slack;
    } shifts[] = { { 3, -5, "", 0.15L }, { -2.5L, 1.5L, "", 0.5L }, { 4, 2, ", window=hann", 0.15L } };
    const imgpar_dtype dtype = written_dtypes[_i];
    char text[128];
    picture noise = written_levels(dtype, 81, 103, _i == 0 ? 3 : 1, 77);
    for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++) {
        picture a = part_between(&noise, 10, 10), want = picture_new(IMGPAR_F32, 1, 2, 1);
        picture b = part_between(&noise, 10 - shifts[k].dy, 10 - shifts[k].dx);
        const picture *const in[] = { &a, &b };
        for (int n = 0; n < 2; n++) {
            want.v[n] = n ? shifts[k].dx : shifts[k].dy;
            want.slack[n] = shifts[k].slack;
        }
        snprintf(text, sizeof text, "reshape(slice(phase_correlation($1, $2%s), 0, 2), [1 2])", shifts[k].options);
        written_expect(text, in, 2, &want, true);
        picture_free(&a);
        picture_free(&b);
        picture_free(&want);
    }
    picture_free(&noise);
}
END_TEST

START_TEST(a_flow_is_found) /* _i: the dtype */
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = view_of(dtype, 70, 90, _i == 0 ? 3 : 1, 0, 0), b = view_of(dtype, 70, 90, _i == 0 ? 3 : 1, 1.75L, -3);
    picture want = picture_new(IMGPAR_F32, 30, 50, 2);
    const picture *const in[] = { &a, &b };
    for (int64_t k = 0; k < picture_count(&want); k++) {
        want.v[k] = k % 2 ? -3 : 1.75L;
        want.slack[k] = 0.5L;
    }
    picture near = picture_new(IMGPAR_BOOL, 1, 1, 1);
    near.v[0] = 1;
    written_expect("slice(optical_flow($1, $2, levels=2), [20 20], [50 70])", in, 2, &want, true);
    written_expect("f = slice(optical_flow($1, $2, levels=2), [20 20], [50 70])\n"
                   "mean(abs(f - select(c == 0, 1.75, -3))) < 0.08",
                   in, 2, &near, true);
    picture_free(&near);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

START_TEST(what_is_turned_round_has_a_peak_of_1) /* and is brought back */
{
    picture a = written_levels(IMGPAR_U8, 30, 42, 3, 3), shift = picture_new(IMGPAR_F32, 1, 3, 1);
    const picture *const in[] = { &a };
    static const real wanted[] = { -4, 9, 1 };
    for (int n = 0; n < 3; n++) {
        shift.v[n] = wanted[n];
        shift.slack[n] = 0x1p-10L;
    }
    written_expect("reshape(phase_correlation($1, circshift($1, [-4 9])), [1 3])", in, 1, &shift, true);
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.slack[k] = 1;
    written_expect("register($1, circshift($1, [-4 9]), border=wrap)", in, 1, &a, true);
    picture_free(&a);
    picture_free(&shift);
}
END_TEST

/* ---- lines and corners --------------------------------------------------------------------------------------- */

START_TEST(pixels_on_lines_are_counted) /* _i: channels, less 1; more than 4096 pixels */
{
    enum { ANGLES = 36 };
    char text[64];
    picture a = written_levels(IMGPAR_U8, 67, 91, _i + 1, 9);
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.v[k] = k % (_i + 1) == 0 && a.v[k] < 80 ? 0 : a.v[k];
    const int64_t middle = (int64_t)ceill(sqrtl(67 * 67 + 91 * 91));
    picture want = picture_new(IMGPAR_U32, 2 * middle + 1, ANGLES, 1);
    for (int64_t k = 0; k < 67 * 91; k++)
        for (int t = 0; t < ANGLES && a.v[k * (_i + 1)] != 0; t++) {
            const double angle = t * (M_PI / ANGLES) - M_PI / 2;
            const double far = (double)(k % 91) * cos(angle) + (double)(k / 91) * sin(angle);
            const bool is_near = fabs(fabs(far - trunc(far)) - 0.5) < 1e-9; /* either row */
            const int64_t row = (int64_t)nearbyint(far) + middle;
            *picture_at(&want, row, t, 0) += 1;
            for (int64_t r = row - 1; is_near && r <= row + 1; r++)
                want.slack[r * ANGLES + t] += 1;
        }
    snprintf(text, sizeof text, "hough_lines($1, angles=%d)", ANGLES);
    written_expect(text, (const picture *const[]){ &a }, 1, &want, true);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

static const int ring[16][2] = { { -3, 0 }, { -3, 1 },  { -2, 2 },  { -1, 3 }, { 0, 3 },  { 1, 3 },
                                 { 2, 2 },  { 3, 1 },   { 3, 0 },   { 3, -1 }, { 2, -2 }, { 1, -3 },
                                 { 0, -3 }, { -1, -3 }, { -2, -2 }, { -3, -1 } };

/* The largest difference that arc neighbours in a row have at least, all of one sign. */
static real corner_score(const picture *a, int64_t y, int64_t x, int arc)
{
    real score = -INFINITY;
    for (int first = 0; first < 16; first++) {
        real lighter = INFINITY, darker = INFINITY;
        for (int k = 0; k < arc; k++) {
            const int *at = ring[(first + k) % 16];
            const real d = luminance(a, y + at[0], x + at[1]) - luminance(a, y, x);
            lighter = fminl(lighter, d);
            darker = fminl(darker, -d);
        }
        score = fmaxl(score, fmaxl(lighter, darker));
    }
    return score;
}

START_TEST(corners_are_those_of_fast) /* _i: the dtype, and the arc */
{
    static const int arcs[] = { 9, 12, 5 };
    const imgpar_dtype dtype = written_dtypes[_i / 3];
    const int arc = arcs[_i % 3];
    const real least = dtype_full(dtype) / 16;
    char text[96];
    picture a = scene(dtype, 25, 37, dtype == IMGPAR_F32 ? 1 : 3), want = picture_new(dtype, 25, 37, 1);
    int n = 0;
    for (int64_t y = 3; y < 22; y++)
        for (int64_t x = 3; x < 34; x++) {
            const real score = corner_score(&a, y, x, arc);
            *picture_at(&want, y, x, 0) = score > least ? score : 0;
            n += score > least;
        }
    ck_assert_int_gt(n, 0);
    snprintf(text, sizeof text, "fast($1, %.17g, arc=%d)", (double)least, arc);
    written_expect(text, (const picture *const[]){ &a }, 1, &want, true);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- what two pictures have in common -------------------------------------------------------------------------- */

static real weight_of(int k) { return expl(-(real)(k * k) / 4.5L); }

/* The mean over all windows of contrast and structure, times luminance where with_light; p and q of one channel. */
static real similarity(const picture *p, const picture *q, bool with_light)
{
    real sum = 0, total = 0;
    for (int k = -5; k <= 5; k++)
        total += weight_of(k);
    for (int64_t y = 5; y < p->h - 5; y++)
        for (int64_t x = 5; x < p->w - 5; x++) {
            real m = 0, n = 0, u = 0, v = 0, w = 0;
            for (int k = 0; k < 121; k++) {
                const real weight = weight_of(k / 11 - 5) * weight_of(k % 11 - 5) / (total * total);
                const real a = *picture_at(p, y + k / 11 - 5, x + k % 11 - 5, 0),
                           b = *picture_at(q, y + k / 11 - 5, x + k % 11 - 5, 0);
                m += weight * a;
                n += weight * b;
                u += weight * a * a;
                v += weight * b * b;
                w += weight * a * b;
            }
            u -= m * m;
            v -= n * n;
            w -= m * n;
            const real light = (2 * m * n + 6.5025L) / (m * m + n * n + 6.5025L);
            sum += (2 * w + 58.5225L) / (u + v + 58.5225L) * (with_light ? light : 1);
        }
    return sum / (real)((p->h - 10) * (p->w - 10));
}

/* Means of 2 x 2; an odd last row or column counts twice. */
static picture halved(const picture *p)
{
    picture out = picture_new(p->dtype, (p->h + 1) / 2, (p->w + 1) / 2, 1);
    for (int64_t k = 0; k < picture_count(&out); k++)
        for (int n = 0; n < 4; n++)
            out.v[k] += written_nearest(p, k / out.w * 2 + n / 2, k % out.w * 2 + n % 2, 0) / 4;
    return out;
}

START_TEST(similarity_over_five_scales) /* _i: the dtype */
{
    static const real weights[] = { 0.0448L, 0.2856L, 0.3001L, 0.2363L, 0.1333L };
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = view_of(dtype, 163, 170, 1, 0, 0), b = view_of(dtype, 163, 170, 1, 0.4L, 0.3L);
    picture p = picture_copy(&a), q = picture_copy(&b), want = picture_new(IMGPAR_F64, 1, 1, 1);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        p.v[k] *= 255 / dtype_full(dtype);
        q.v[k] *= 255 / dtype_full(dtype);
    }
    want.v[0] = 1;
    for (int scale = 0; scale < 5; scale++) {
        want.v[0] *= powl(similarity(&p, &q, scale == 4), weights[scale]);
        picture next_p = halved(&p), next_q = halved(&q);
        picture_free(&p);
        picture_free(&q);
        p = next_p;
        q = next_q;
    }
    want.slack[0] = 0x1p-20L;
    written_expect("ms_ssim($1, $2)", (const picture *const[]){ &a, &b }, 2, &want, true);
    picture *const all[] = { &a, &b, &p, &q, &want };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        picture_free(all[k]);
}
END_TEST

static int64_t bin_of(real v, real full, int bins)
{
    const int64_t bin = (int64_t)floorl(v * bins / full);
    return bin == bins ? bins - 1 : bin;
}

START_TEST(levels_are_counted_together) /* _i: the dtype, and channels */
{
    enum { BINS = 12 };
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int64_t c = _i % 2 ? 3 : 1;
    picture a = scene(dtype, 23, 31, c), b = written_levels(dtype, 23, 31, c, 4);
    picture want = picture_new(IMGPAR_U32, BINS, BINS, 1), bits = picture_new(IMGPAR_F64, 1, 1, 1);
    real rows[BINS] = { 0 }, columns[BINS] = { 0 };
    const int64_t n = picture_count(&a);
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = bin_of(a.v[k], dtype_full(dtype), BINS), column = bin_of(b.v[k], dtype_full(dtype), BINS);
        *picture_at(&want, row, column, 0) += 1;
        rows[row] += 1;
        columns[column] += 1;
    }
    for (int64_t k = 0; k < BINS * BINS; k++)
        if (want.v[k] > 0)
            bits.v[0] += want.v[k] / (real)n * log2l(want.v[k] * (real)n / (rows[k / BINS] * columns[k % BINS]));
    bits.slack[0] = 0x1p-20L;
    const picture *const in[] = { &a, &b };
    written_expect("histogram2d($1, $2, 12)", in, 2, &want, true);
    written_expect("mutual_information($1, $2, bins=12)", in, 2, &bits, true);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
    picture_free(&bits);
}
END_TEST

/* How many of a channel's values are below v, or at it. */
static real at_or_below(const picture *p, int64_t c, real v)
{
    real n = 0;
    for (int64_t k = c; k < picture_count(p); k += p->c)
        n += p->v[k] <= v;
    return n / (real)(p->h * p->w);
}

/* The level of b at the share of pixels, between the levels that it has. */
static real level_at(const picture *b, int64_t c, real share)
{
    real lo = -1, lo_share = 0;
    for (real v = 0;; v++) {
        const real here = at_or_below(b, c, v);
        if (here == lo_share) continue; /* b has no such level */
        if (here >= share) return lo < 0 ? v : lo + (share - lo_share) / (here - lo_share) * (v - lo);
        lo = v;
        lo_share = here;
    }
}

START_TEST(levels_become_as_frequent_as_others) /* _i: channels, less 1 */
{
    picture a = scene(IMGPAR_U8, 13, 19, _i + 1), b = written_levels(IMGPAR_U8, 9, 11, _i + 1, 4);
    picture want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        if (picture_is_alpha(&a, k % a.c)) continue;
        want.v[k] = level_at(&b, k % a.c, at_or_below(&a, k % a.c, a.v[k]));
        want.slack[k] = 0.001L;
    }
    written_expect("histogram_match($1, $2)", (const picture *const[]){ &a, &b }, 2, &want, true);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* What texts of small arrays give, as print() writes it. */
static const struct {
    const char *text, *as;
} small[] = {
    { "histogram2d(numbers([1.05 0.5 1.0]), numbers([0.1 0.5 1.0]), 2)", "[0 0; 0 2]" },
    { "a = cast(random([20 30], seed=1) * 255, u8)\n"
      "numbers([1 0]) * sum(cast(canny(a, high=50) != canny(a, 50, 50), i32))",
      "[0 0]" }, /* the threshold that is given holds */
    { "percentiles(numbers([3 1 2 0 0]) / numbers([1 1 1 0 0]), numbers([0 50 100]))", "[1 3 nan]" },
    { "nanpercentile(numbers([3 1 2 0 0]) / numbers([1 1 1 0 0]), 50)", "2" },
    { "nanpercentile(numbers([3 1 2 9 0], dtype=f64) / numbers([1 1 1 1 0]), 50)", "2.5" },
    { "nanpercentile(numbers([3 0; 0 1]) / numbers([1 0; 0 1]), 100)", "3" },
    { "nanpercentile(numbers([0 0]) / numbers([0 0]), 50)", "nan" },
    { "nanpercentile(numbers([7 5 9], dtype=u8), 0)", "5" },
    { "percentiles(select(numbers([1 2 3 0 0]) == 0, inf, numbers([1 2 3 0 0])), numbers([25 50 75]))", "[2 3 inf]" },
    { "match_template(numbers([1 2 3; 4 5 6; 7 8 9]), numbers([1 2; 4 5]), sqdiff)", "[0 4; 36 64]" },
    { "p = numbers([1 2 0 4 5; 1 1 1 1 1])\nmatch_template(select(p == 0, nan, p), numbers([1 2; 1 1]), ccorr)",
      "[7 nan nan 16]" },
    { "match_template(ones([2 3]), ones([1 2]))", "[0 0; 0 0]" }, /* nothing varies */
    { "match_template(zeros([2 3]), ones([1 2]), sqdiff_normed)", "[1 1; 1 1]" },
    { "match_template(zeros([2 3]), ones([1 2]), ccorr_normed)", "[0 0; 0 0]" },
    { "match_template(numbers([1 2 4; 3 1 0], dtype=f64), numbers([1 2; 3 1], dtype=f64))", "[1 0.1528941574312877]" },
    { "match_template(fill(2, 2, [3 9], channels=2), fill(1, 1, [3 7], channels=2), sqdiff)", "[0 0; 0 0]" },
    { "match_template(fill(2, 2, [3 4 5 9], channels=4), fill(1, 1, [3 4 6], channels=3), sqdiff)", "[1 1; 1 1]" },
    { "p = numbers([0 1 0.5 7])\nhistogram2d(select(p == 7, nan, p), numbers([0 1 0.25 0]), 2)", "[1 0; 1 1]" },
    { "histogram2d(numbers([-1 2 1]), numbers([0 0 1]), 2)", "[0 0; 0 1]" },
    { "mutual_information(numbers([0 1 0 1]), numbers([1 0 1 0]), 2)", "1" },
    { "mutual_information(numbers([0 1 0 1]), numbers([1 1 1 1]), 2)", "0" },
    { "percentiles(numbers([4 1 3 2 5]), numbers([0 50 100 10]))", "[1 3 5 1.4]" },
    { "percentiles(numbers([7]), numbers([0 30; -5 200]))", "[7 7; 7 7]" },
    { "percentiles(numbers([4 1 3 2 5]), [0 50 100 10])", "[1 3 5 1.4]" },
    { "percentiles(numbers([4 1 3 2 5]), numbers([0 0 50]) / numbers([1 0 1]))", "[1 nan 3]" },
    { "percentiles(p=[0; 50], a=numbers([4 1 3 2 5]))", "[1; 3]" },
    { "take(numbers([1 2 3]), [2 0])", "[3 1]" },
    { "group_sum(numbers([1 2 3]), [0 1 0], 2)", "[4 2]" },
    { "scatter_add(zeros([3]), [0 1], [5 6.5])", "[5 6.5 0]" },
    { "percentiles(numbers([1 2 4], dtype=u8), numbers([75], dtype=u8))", "3" },
    { "sum(hough_lines(zeros([3 4])))", "0" },
    { "slice(hough_lines(ones([1 1]), 2), 1, 4)", "[0 0; 1 1; 0 0]" },
    { "sum(hough_lines(zeros([1 2]) / 0, 3))", "6" }, /* NaN is not 0 */
    { "fast(ones([2 5]))", "[0 0 0 0 0; 0 0 0 0 0]" },
    { "phase_correlation(ones([1 1]), ones([1 1]))", "[0 0 1]" },
    { "optical_flow(ones([1 1]), ones([1 1]))", "[[0 0]]" },
    { "canny(zeros([2 3]) / 0)", "[0 0 0; 0 0 0]" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "canny(zeros([5]))", "canny: a is [5] f32, which is no image" },
    { "canny(ones([3 3]), low=-1)", "canny: low=-1 is below 0" },
    { "percentile(ones([3]), [10 90])",
      "percentile: p must be a number, not a list of numbers; percentiles() takes several" },
    { "ms_ssim(zeros([160 200]), zeros([160 200]))",
      "ms_ssim: a is [160, 200] f32; five scales need 161x161 pixels at least" },
    { "phase_correlation(zeros([3 4]), zeros([4 3]))",
      "phase_correlation: a is [3, 4] f32, b is [4, 3] f32; they must have one shape" },
    { "phase_correlation(zeros([3]), zeros([3]))", "phase_correlation: a is [3] f32, which is no image" },
    { "hough_lines(fill(4, 4, 0, channels=3))",
      "hough_lines: a is [4, 4, 3] u8; it must be an image of 1 channel; gray() makes one" },
    { "fast(ones([9 9]), arc=17)", "fast: arc=17 is above 16" },
    { "match_template(zeros([3 4]), zeros([4 3]))",
      "match_template: a is [3, 4] f32, t is [4, 3] f32; it must fit into that" },
    { "match_template(zeros([3 4]), zeros([2 2], dtype=u8))",
      "match_template: a is [3, 4] f32, t is [2, 2] u8; they must have one dtype, which cast() or depth() gives" },
    { "match_template(fill(4, 4, 0, channels=3), fill(2, 2, 0))",
      "match_template: a is [4, 4, 3] u8, t is [2, 2, 1] u8; they must have as many channels without alpha" },
    { "match_template(zeros([3 4]), zeros([2]))", "match_template: t is [2] f32, which is no image" },
    { "match_template(zeros([3 4]), zeros([0 2]))", "match_template: t is [0, 2] f32, which is no image" },
    { "match_template(set_white(zeros([3 4]), 1), set_white(zeros([2 2]), 9))",
      "match_template: a has white 1, t has 9; depth() makes them alike" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, edges_are_those_of_canny, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, edges_of_what_is_alike, 0, (int)(sizeof alike / sizeof *alike));
    tcase_add_loop_test(tc, few_products_are_summed_where_they_stand, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, many_products_come_from_the_fourier_transform, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_shift_is_found, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_flow_is_found, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, what_is_turned_round_has_a_peak_of_1);
    tcase_add_loop_test(tc, pixels_on_lines_are_counted, 0, 2);
    tcase_add_loop_test(tc, corners_are_those_of_fast, 0, 3 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, similarity_over_five_scales, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, levels_are_counted_together, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, levels_become_as_frequent_as_others, 0, 4);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("written_features", tc);
}
