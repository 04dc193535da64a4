/* SPDX-License-Identifier: MIT */
/* Frames, and positions by a formula (ops/written_geometry.def), against plain loops in long double. */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 19, W = 26 };

/* The device computes bytes, of the rest only in the full tier. */
static void expect(const char *text, const picture *a, picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, &a, 1, want, a->dtype == IMGPAR_U8 || test_tier_is_full());
}

/* Of noise, in which a position's last place is much. */
static real slack_of(imgpar_dtype dtype) { return dtype == IMGPAR_U8 ? 1 : dtype_full(dtype) * 0x1p-12L; }

/* ---- frames ---------------------------------------------------------------------------------- */

/* Where the frame of 31 x 12 begins: 5 columns more, the odd one on the right, 7 rows less, the odd one below. */
static const struct {
    const char *gravity;
    int x, y;
} anchors[] = {
    { "centre", -2, 3 },   { "north", -2, 0 },     { "south", -2, 7 },    { "west", 0, 3 },       { "east", -5, 3 },
    { "northwest", 0, 0 }, { "northeast", -5, 0 }, { "southwest", 0, 7 }, { "southeast", -5, 7 },
};
enum { N_ANCHORS = sizeof anchors / sizeof *anchors };

START_TEST(extents)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int channels = _i % 4 + 1;
    picture a = written_levels(dtype, H, W, channels, 3), want = picture_new(dtype, 12, 31, channels);
    picture repeated = picture_new(dtype, 12, 31, channels);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / channels / 31 + anchors[_i].y, x = k / channels % 31 + anchors[_i].x;
        want.v[k] = x < 0 || x >= W ? 1 : *picture_at(&a, y, x, k % channels);
        repeated.v[k] = written_nearest(&a, y, x, k % channels);
    }
    char text[120];
    snprintf(text, sizeof text, "extent($1, 31, 12, gravity=%s, cval=1)", anchors[_i].gravity);
    expect(text, &a, &want, 0);
    snprintf(text, sizeof text, "extent($1, 31, 12, gravity=%s, border=replicate)", anchors[_i].gravity);
    expect(text, &a, &repeated, 0);
    picture_free(&a);
    picture_free(&want);
    picture_free(&repeated);
}
END_TEST

/* ---- squares of one colour ---------------------------------------------------------------------- */

START_TEST(squares_of_one_colour)
{
    static const int sizes[] = { 1, 2, 5, 40 };
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int n = sizes[_i % 4];
    picture a = written_levels(dtype, H, W, 3, 4), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t y = k / 3 / W / n * n, x = k / 3 % W / n * n;
        real sum = 0;
        for (int dy = 0; dy < n; dy++)
            for (int dx = 0; dx < n; dx++)
                sum += written_nearest(&a, y + dy, x + dx, k % 3);
        want.v[k] = sum / (n * n);
    }
    char text[40];
    snprintf(text, sizeof text, "pixelate($1, %d)", n);
    expect(text, &a, &want, n == 1 ? 0 : dtype == IMGPAR_F32 ? 1e-6L : 1);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- positions by a formula ------------------------------------------------------------------- */

static const real pi = 3.14159265358979323846264338327950288L;

START_TEST(a_swirl)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 5), want = picture_copy(&a), near = picture_copy(&a);
    const real u = (W - 1) / 2.0L, v = (H - 1) / 2.0L;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real x = k / 3 % W - u, y = k / 3 / W - v, r = hypotl(x, y), phi = atan2l(y, x);
        const real s = fmaxl(1 - r / (H / 2.0L), 0), t = fmaxl(1 - r / 6, 0);
        /* what stands there was at a smaller angle, since y goes down and so angles go clockwise */
        const real before = phi - s * s * 130 * pi / 180, less = phi + t * t * 40 * pi / 180;
        want.v[k] = written_between(&a, v + r * sinl(before), u + r * cosl(before), k % 3, IMGPAR_BORDER_CONSTANT);
        near.v[k] = written_between(&a, v + r * sinl(less), u + r * cosl(less), k % 3, IMGPAR_BORDER_CONSTANT);
    }
    expect("swirl($1, 130)", &a, &want, slack_of(dtype));
    expect("swirl($1, -40, radius=6)", &a, &near, slack_of(dtype));
    picture_free(&a);
    picture_free(&want);
    picture_free(&near);
}
END_TEST

START_TEST(polar_coordinates)
{
    enum { COLUMNS = 14, ROWS = 40 };
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 6);
    picture linear = picture_new(dtype, ROWS, COLUMNS, 3), logs = picture_new(dtype, ROWS, COLUMNS, 3);
    picture whole = picture_new(dtype, 60, 10, 3);
    const real u = (W - 1) / 2.0L, v = (H - 1) / 2.0L;
    for (int64_t k = 0; k < picture_count(&linear); k++) {
        const real phi = k / 3 / COLUMNS * 2 * pi / ROWS, x = k / 3 % COLUMNS;
        const real r = x * 12 / COLUMNS, s = powl(8, x / COLUMNS);
        linear.v[k] = written_between(&a, v + r * sinl(phi), u + r * cosl(phi), k % 3, IMGPAR_BORDER_REPLICATE);
        logs.v[k] = written_between(&a, v + s * sinl(phi), u + s * cosl(phi), k % 3, IMGPAR_BORDER_CONSTANT);
    }
    for (int64_t k = 0; k < picture_count(&whole); k++) { /* a radius of 9.5: 10 columns, 59.7 rows */
        const real phi = k / 30 * 2 * pi / 60, r = k / 3 % 10 * 0.95L;
        whole.v[k] = written_between(&a, v + r * sinl(phi), u + r * cosl(phi), k % 3, IMGPAR_BORDER_CONSTANT);
    }
    expect("polar($1, 14, 40, radius=12, border=replicate)", &a, &linear, slack_of(dtype));
    expect("polar($1, 14, 40, radius=8, scale=log)", &a, &logs, slack_of(dtype));
    expect("polar($1)", &a, &whole, slack_of(dtype));
    picture_free(&a);
    picture_free(&linear);
    picture_free(&logs);
    picture_free(&whole);
}
END_TEST

/* Between the last angle and the first one, which are neighbours; beyond the last column is that. */
static real rolled_up(const picture *a, real row, real column, int64_t c)
{
    column = fminl(column, a->w - 1);
    const real fy = row - floorl(row), fx = column - floorl(column);
    real sum = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t y = ((int64_t)floorl(row) + k / 2) % a->h, x = (int64_t)floorl(column) + k % 2;
        const real weight = (k / 2 ? fy : 1 - fy) * (k % 2 ? fx : 1 - fx);
        if (weight > 0) sum += weight * *picture_at(a, y, x, c);
    }
    return sum;
}

START_TEST(polar_coordinates_rolled_up)
{
    enum { SIDE = 23 };
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 7);
    picture linear = picture_new(dtype, SIDE, SIDE, 3), logs = picture_new(dtype, SIDE, SIDE, 3);
    for (int64_t k = 0; k < picture_count(&linear); k++) {
        const real x = k / 3 % SIDE - 11, y = k / 3 / SIDE - 11, r = hypotl(x, y);
        real phi = atan2l(y, x);
        if (phi < 0) phi += 2 * pi;
        const real row = phi * H / (2 * pi);
        linear.v[k] = r > 11.5L ? 0 : rolled_up(&a, row, r * W / 11.5L, k % 3);
        logs.v[k] = r > 14 ? 0 : rolled_up(&a, row, r <= 1 ? 0 : logl(r) * W / logl(14), k % 3);
    }
    expect("unpolar($1, 23, 23)", &a, &linear, slack_of(dtype));
    expect("unpolar($1, 23, 23, radius=14, scale=log)", &a, &logs, slack_of(dtype));
    picture_free(&a);
    picture_free(&linear);
    picture_free(&logs);
}
END_TEST

/* Matrices stay matrices, and one pixel, or a radius of one, is no reason to fail. */
START_TEST(what_is_small_or_flat)
{
    static const struct {
        const char *text;
        int64_t h, w;
    } flat[] = {
        { "extent(squeeze($1), 30, 10)", 10, 30 },
        { "pixelate(squeeze($1), 4)", H, W },
        { "swirl(squeeze($1), 30)", H, W },
        { "polar(squeeze($1), 9, 8)", 8, 9 },
        { "unpolar(squeeze($1), 9, 8)", 8, 9 },
        { "kuwahara(squeeze($1))", H, W },
        { "squeeze(polar(crop($1, 3, 3, 1, 1), 5, 7))", 7, 5 },
        { "squeeze(unpolar($1, 9, 8, radius=1, scale=log))", 8, 9 },
        { "squeeze(swirl(crop($1, 3, 3, 9, 2), 90))", 2, 9 },
    };
    picture a = written_levels(IMGPAR_U8, H, W, 1, 8);
    imgpar_array *in = picture_array(written_context, &a);
    for (size_t k = 0; k < sizeof flat / sizeof *flat; k++) {
        imgpar_array *out = imgpar_apply(written_context, flat[k].text, &in, 1);
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(imgpar_array_info(out, &info) == IMGPAR_OK, "%s", imgpar_array_message(out));
        ck_assert_msg(info.rank == 2 && info.shape[0] == flat[k].h && info.shape[1] == flat[k].w, "%s", flat[k].text);
        ck_assert_msg(imgpar_array_eval(out, NULL) == IMGPAR_OK, "%s", imgpar_array_message(out));
        imgpar_array_release(out);
    }
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, extents, 0, N_ANCHORS);
    tcase_add_loop_test(tc, squares_of_one_colour, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_swirl, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, polar_coordinates, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, polar_coordinates_rolled_up, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, what_is_small_or_flat);
    return written_run("written_geometry", tc);
}
