/* SPDX-License-Identifier: MIT */
/* Outlines, sheets and frames (ops/written_shapes.def) against plain loops in long double. */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 19, W = 26 };

static void expect(const char *text, const picture *const *in, int n, picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, in, n, want, (in[0]->dtype == IMGPAR_U8 && in[0]->c != 2) || test_tier_is_full());
}

static int64_t colours(const picture *a) { return a->c - picture_is_alpha(a, a->c - 1); }

/* Channels 1 to 4 of three dtypes. */
static picture any(int which, unsigned seed)
{
    return written_levels(written_dtypes[which % WRITTEN_DTYPES], H, W, which / WRITTEN_DTYPES + 1, seed);
}

/* ---- outlines ----------------------------------------------------------------------------------- */

enum { CORNERS = 6 };
static const real corners[CORNERS][2] = { { 3.25L, 1.5L }, { 22, 3 }, { 5, 15.75L }, { 12, -3 }, { 20, 17 }, { 1, 7 } };
#define CORNERS_TEXT "[3.25 1.5; 22 3; 5 15.75; 12 -3; 20 17; 1 7]"

static real to_segment(real x, real y, const real *p, const real *q)
{
    const real u = q[0] - p[0], v = q[1] - p[1];
    const real t = fminl(fmaxl(((x - p[0]) * u + (y - p[1]) * v) / (u * u + v * v), 0), 1);
    return hypotl(x - p[0] - t * u, y - p[1] - t * v);
}

/* By the turns that the corners make around a point: twice is outside, as an even number of crossings is. */
static bool is_inside(real x, real y)
{
    int crossings = 0;
    for (int k = 0; k < CORNERS; k++) {
        const real *p = corners[k], *q = corners[(k + 1) % CORNERS];
        if ((p[1] > y) == (q[1] > y)) continue;
        crossings += x < p[0] + (y - p[1]) / (q[1] - p[1]) * (q[0] - p[0]);
    }
    return crossings % 2 == 1;
}

START_TEST(outlines)
{
    picture a = any(0, 3), filled = picture_new(IMGPAR_U8, H, W, 1), smooth = picture_copy(&filled);
    picture open = picture_copy(&filled), closed = picture_copy(&filled);
    for (int64_t k = 0; k < H * W; k++) {
        const real x = k % W, y = k / W;
        real near = INFINITY, around = INFINITY;
        for (int j = 0; j < CORNERS; j++) {
            around = fminl(around, to_segment(x, y, corners[j], corners[(j + 1) % CORNERS]));
            if (j < CORNERS - 1) near = fminl(near, to_segment(x, y, corners[j], corners[j + 1]));
        }
        ck_assert(fabsl(near - 1.3L) > 1e-5L);
        filled.v[k] = is_inside(x, y) ? 255 : 0;
        smooth.v[k] = 255 * fminl(fmaxl(0.5L + (is_inside(x, y) ? around : -around), 0), 1);
        open.v[k] = near <= 1.3L ? 255 : 0;
        closed.v[k] = 255 * fminl(fmaxl(0.5L + 1.3L - around, 0), 1);
    }
    const picture *const in[] = { &a };
    expect("polygon($1, " CORNERS_TEXT ")", in, 1, &filled, 0);
    expect("polygon($1, " CORNERS_TEXT ", antialias=true)", in, 1, &smooth, 0.01L);
    expect("polyline($1, " CORNERS_TEXT ", 2.6)", in, 1, &open, 0);
    expect("polyline($1, " CORNERS_TEXT ", 2.6, closed=true, antialias=true)", in, 1, &closed, 0.01L);
    picture_free(&a);
    picture_free(&filled);
    picture_free(&smooth);
    picture_free(&open);
    picture_free(&closed);
}
END_TEST

/* ---- sheets and frames -------------------------------------------------------------------------- */

START_TEST(sheets) /* _i: dtype and channels */
{
    picture a = any(_i, 3), b = any(_i, 4), want = picture_new(a.dtype, 2 * H + 3, 2 * W + 3, a.c);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / want.c / want.w, x = k / want.c % want.w;
        const bool is_gap = (y >= H && y < H + 3) || (x >= W && x < W + 3) || (y > H && x > W);
        const picture *of = y < H && x > W ? &b : &a;
        want.v[k] = is_gap ? 1 : *picture_at(of, y % (H + 3), x % (W + 3), k % want.c);
    }
    const char *text = "s = concatenate(expand_dims($1), expand_dims($2))\n"
                       "montage(concatenate(s, expand_dims($1)), columns=2, gap=3, cval=1)";
    expect(text, (const picture *const[]){ &a, &b }, 2, &want, 0);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

START_TEST(frames) /* _i: dtype and channels */
{
    picture a = any(_i, 3), want = picture_new(a.dtype, H + 6, W + 6, a.c);
    const real full = dtype_full(a.dtype), paint[4] = { 1, 0, 0.75L, 0.5L };
    const bool each = colours(&a) >= 3;
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / want.c / want.w - 3, x = k / want.c % want.w - 3, c = k % want.c;
        const real outside = picture_is_alpha(&a, c) ? full : each ? paint[c] : 1;
        want.v[k] = y >= 0 && x >= 0 && y < H && x < W ? *picture_at(&a, y, x, c) : rounded(a.dtype, outside);
    }
    expect(colours(&a) == 4 ? "frame($1, 3, [1 0 0.75 0.5])"
           : each           ? "frame($1, 3, [1 0 0.75])"
                            : "frame($1, 3, 1)",
           (const picture *const[]){ &a }, 1, &want, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* What is round, and soft shadows: pictures of bytes and shorts, 1 to 4 channels. */
static picture picture_of(int which, unsigned seed)
{
    return written_levels(written_dtypes[which % 2], H, W, which / 2 + 1, seed);
}

START_TEST(round_corners) /* _i: dtype and channels */
{
    picture a = picture_of(_i, 3), want = picture_new(a.dtype, H, W, colours(&a) + 1);
    const real full = dtype_full(a.dtype), radius = 5.5L;
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / want.c / W, x = k / want.c % W, c = k % want.c;
        const real across = fmaxl(fmaxl(radius - (x + 0.5L), x + 0.5L - (W - radius)), 0);
        const real along = fmaxl(fmaxl(radius - (y + 0.5L), y + 0.5L - (H - radius)), 0);
        const real cover = fminl(fmaxl(radius + 0.5L - hypotl(across, along), 0), 1);
        want.v[k] = c < want.c - 1                  ? *picture_at(&a, y, x, c)
                    : picture_is_alpha(&a, a.c - 1) ? cover * *picture_at(&a, y, x, a.c - 1)
                                                    : cover * full;
    }
    expect("rounded_corners($1, 5.5)", (const picture *const[]){ &a }, 1, &want, 0.05L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(shadows_behind) /* _i: dtype and channels */
{
    enum { FAR = 6, DX = 3, DY = -2 }; /* 3 sigma */
    picture a = picture_of(_i, 3), want = picture_new(a.dtype, H + 2 * FAR + 2, W + 2 * FAR + 3, colours(&a) + 1);
    const real full = dtype_full(a.dtype), sigma = 2;
    const int64_t left = FAR, top = FAR + 2, n = colours(&a);
    real bell[2 * 8 + 1], sum = 0;
    for (int k = -8; k <= 8; k++)
        sum += bell[k + 8] = expl(-k * k / (2 * sigma * sigma));
    for (int64_t k = 0; k < want.h * want.w; k++) {
        const int64_t y = k / want.w - top, x = k % want.w - left;
        real shadow = 0, own = 0;
        for (int j = 0; j < 17 * 17; j++) {
            const int64_t from_y = y - DY + j / 17 - 8, from_x = x - DX + j % 17 - 8;
            if (from_y < 0 || from_x < 0 || from_y >= H || from_x >= W) continue;
            const real alpha = n < a.c ? *picture_at(&a, from_y, from_x, n) / full : 1;
            shadow += alpha * bell[j / 17] * bell[j % 17] / sum / sum;
        }
        const bool is_inside = y >= 0 && x >= 0 && y < H && x < W;
        if (is_inside) own = n < a.c ? *picture_at(&a, y, x, n) / full : 1;
        const real behind = 0.6L * shadow * (1 - own), both = own + behind;
        for (int64_t c = 0; c < n; c++) {
            const real paint = n == 3 ? 40 * c : 40;
            const real v = is_inside ? *picture_at(&a, y, x, c) : 0;
            want.v[k * want.c + c] = both > 0 ? (v * own + paint * behind) / both : 0;
            /* where nearly nothing is seen it is nearly undefined */
            want.slack[k * want.c + c] = both > 0.02L ? 0.01L * full : full;
        }
        want.v[k * want.c + n] = both * full;
        want.slack[k * want.c + n] = 0.002L * full + 1;
    }
    const char *text = n == 3 ? "drop_shadow($1, 3, -2, 2, 0.6, [0 40 80])" : "drop_shadow($1, 3, -2, 2, 0.6, 40)";
    written_expect(text, (const picture *const[]){ &a }, 1, &want, a.dtype == IMGPAR_U8 && a.c == 3);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(marks) /* _i: dtype and channels of the mark */
{
    const imgpar_dtype dtype = written_dtypes[_i % 2];
    picture a = written_levels(dtype, H, W, 3, 3), b = written_levels(dtype, 5, 7, _i / 2 ? 4 : 3, 4);
    picture want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / 3 / W - (H - 5 - 2), x = k / 3 % W - (W - 7 - 2);
        if (y < 0 || x < 0 || y >= 5 || x >= 7) continue;
        const real alpha = 0.6L * (b.c == 4 ? *picture_at(&b, y, x, 3) / dtype_full(dtype) : 1);
        want.v[k] = a.v[k] * (1 - alpha) + *picture_at(&b, y, x, k % 3) * alpha;
    }
    /* alpha is a level of its own */
    expect("watermark($1, $2, opacity=0.6, scale=0, margin=2)", (const picture *const[]){ &a, &b }, 2, &want, 1);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* What texts give, as print() writes it. */
static const struct {
    const char *text, *as;
} small[] = {
    { "fit(fill(4, 2, 9), 2, 2)", "[[9; 9]]" },
    { "fit(fill(2, 1, 9), 4, 9)", "[[9; 9]]" },
    { "fit(fill(2, 1, 9), 4, 9, enlarge=true)", "[[9; 9; 9; 9] [9; 9; 9; 9]]" },
    { "fit(fill(1, 9, 9), 1, 1)", "9" },
    { "polygon(fill(3, 1, 0), [0 0])", "[[0; 0; 0]]" },
    { "polyline(fill(3, 1, 0), [1 0])", "[[0; 255; 0]]" },
    { "polyline(fill(3, 1, 0), [-5 0; 0 0; 0 0])", "[[255; 0; 0]]" },
    { "frame(fill(1, 1, 9), 0, 3)", "9" },
    { "frame(numbers([1.5 2.5; 3 4]), 1)", "[0 0 0 0; 0 1.5 2.5 0; 0 3 4 0; 0 0 0 0]" },
    { "montage(expand_dims(fill(1, 1, 9)), columns=3)", "[[9; 0; 0]]" },
    { "channels(frame(rounded_corners(fill(5, 5, 9, channels=3), 2), 1, [1 2 3]))", "4" },
    { "channels(composite(fill(9, 9, 9, channels=3), drop_shadow(fill(5, 5, 9, channels=3), sigma=0)))", "3" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "polygon($1, [1 2 3])", "polygon: points is a matrix of 1x3; it must have two columns, and 64 rows at most" },
    { "montage($1, columns=2)", "montage: a is [3, 3] f32; it must be a stack of images" },
    { "frame(fill(2, 2, 0, channels=3), 1, [1 2])", "frame: color has 2 numbers; it must be one, or 3" },
    { "rounded_corners(zeros([3]), 1)", "rounded_corners: a is [3] f32, which is no image" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_test(tc, outlines);
    tcase_add_loop_test(tc, sheets, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, frames, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, round_corners, 0, 8);
    tcase_add_loop_test(tc, shadows_behind, 0, 8);
    tcase_add_loop_test(tc, marks, 0, 4);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("written_drawing", tc);
}
