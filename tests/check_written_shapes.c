/* SPDX-License-Identifier: MIT */
/*
 * Masks, frames, warps and measures of two pictures (ops/written_shapes.def) against plain loops in long double.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 23, W = 31 };
#define PI 3.14159265358979323846264338327950288L

static void expect(const char *text, const picture *const *in, int n, picture *want, real slack, bool on_device)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, in, n, want, on_device || test_tier_is_full());
}

/* ---- masks ----------------------------------------------------------------------------------- */

static real of_rectangle(real x, real y) { return x >= -3 && x < 7 && y >= 4 && y < 15 ? 255 : 0; }
static real of_ellipse(real x, real y)
{
    const real u = (x - 12) / 9.7L, v = (y - 10.5L) / 4.3L;
    return u * u + v * v <= 1 ? 255 : 0;
}
static real of_middle(real x, real y)
{
    const real u = (x - (W - 1) / 2.0L) / 9.7L, v = (y - (H - 1) / 2.0L) / 4.3L;
    return u * u + v * v <= 1 ? 255 : 0;
}
/* The distance to the nearest of many points of the line. */
static real of_line(real x, real y)
{
    const real length = hypotl(17, 9.3L), along = ((x - 4) * 17 + (y - 3) * 9.3L) / length;
    const real t = fminl(fmaxl(along, 0), length);
    return hypotl(x - 4 - t * 17 / length, y - 3 - t * 9.3L / length) <= 1.65L ? 255 : 0;
}
static real of_point(real x, real y) { return hypotl(x - 4, y - 3) <= 2.1L ? 255 : 0; }
static real of_squares(real x, real y) { return ((int)x / 5 + (int)y / 5) % 2 ? 255 : 0; }
static real of_slope(real x, real y)
{
    const real p = cosl(30 * PI / 180), q = sinl(30 * PI / 180);
    return ((x - (W - 1) / 2.0L) * p + (y - (H - 1) / 2.0L) * q) / (p * (W - 1) + q * (H - 1)) + 0.5L;
}
static real of_left(real x, real y) { return (void)y, (W - 1 - x) / (W - 1); }
static real of_disc(real x, real y) { return fminl(hypotl(x - 8, y - 11) / 9.5L, 1); }
static real of_corners(real x, real y)
{
    return hypotl(x - (W - 1) / 2.0L, y - (H - 1) / 2.0L) / (hypotl(W - 1, H - 1) / 2);
}

static const struct {
    const char *text;
    real (*of)(real x, real y);
    imgpar_dtype dtype;
} masks[] = {
    { "rectangle($1, -3, 4, 10, 11)", of_rectangle, IMGPAR_U8 },
    { "ellipse($1, 9.7, 4.3, cx=12, cy=10.5)", of_ellipse, IMGPAR_U8 },
    { "ellipse($1, 9.7, 4.3)", of_middle, IMGPAR_U8 },
    { "line($1, 4, 3, 21, 12.3, thickness=3.3)", of_line, IMGPAR_U8 },
    { "line($1, 4, 3, 4, 3, thickness=4.2)", of_point, IMGPAR_U8 },
    { "checkerboard($1, 5)", of_squares, IMGPAR_U8 },
    { "linear_gradient($1, 30)", of_slope, IMGPAR_F32 },
    { "linear_gradient($1, 180)", of_left, IMGPAR_F32 },
    { "radial_gradient($1, radius=9.5, cx=8, cy=11)", of_disc, IMGPAR_F32 },
    { "radial_gradient($1)", of_corners, IMGPAR_F32 },
};
enum { N_MASKS = sizeof masks / sizeof *masks };

START_TEST(masks_by_their_formulas)
{
    picture like = picture_new(IMGPAR_U8, H, W, 3), want = picture_new(masks[_i].dtype, H, W, 1);
    for (int64_t k = 0; k < H * W; k++)
        want.v[k] = masks[_i].of(k % W, k / W);
    expect(masks[_i].text, (const picture *const[]){ &like }, 1, &want, masks[_i].dtype == IMGPAR_F32 ? 0x1p-20L : 0,
           _i % 3 == 0);
    picture_free(&like);
    picture_free(&want);
}
END_TEST

/* ---- frames ---------------------------------------------------------------------------------- */

/* Boxes of whole pixels: 31 x 23 is made 4 times as large and cut, or put into a frame. */
START_TEST(frames)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 3);
    picture covered = picture_new(dtype, 4 * H, 100, 3), contained = picture_new(dtype, 4 * H + 9, 4 * W, 3);
    for (int64_t k = 0; k < picture_count(&covered); k++)
        covered.v[k] = *picture_at(&a, k / 300 / 4, (k / 3 % 100 + 12) / 4, k % 3);
    for (int64_t k = 0; k < picture_count(&contained); k++) {
        const int64_t y = k / 3 / (4 * W) - 4, x = k / 3 % (4 * W);
        contained.v[k] = y < 0 || y >= 4 * H ? 1 : *picture_at(&a, y / 4, x / 4, k % 3);
    }
    expect("cover($1, 100, 92, filter=nearest)", (const picture *const[]){ &a }, 1, &covered, 0, false);
    expect("contain($1, 124, 101, filter=nearest, cval=1)", (const picture *const[]){ &a }, 1, &contained, 0, false);
    picture_free(&a);
    picture_free(&covered);
    picture_free(&contained);
}
END_TEST

/* ---- warps ----------------------------------------------------------------------------------- */

/* The point that the matrix moves to x, y, by Cramer's rule; false where it lies behind the horizon. */
static bool moved_from(const real m[9], real x, real y, real *u, real *v)
{
    /* (m0 - x m6) u + (m1 - x m7) v = x m8 - m2, and the same of y */
    const real a = m[0] - x * m[6], b = m[1] - x * m[7], c = m[3] - y * m[6], d = m[4] - y * m[7];
    const real e = x * m[8] - m[2], f = y * m[8] - m[5], det = a * d - b * c;
    *u = (e * d - b * f) / det;
    *v = (a * f - e * c) / det;
    return m[6] * *u + m[7] * *v + m[8] > 0;
}

static const struct {
    const char *text;
    real matrix[9];
    int64_t w, h;
} warps[] = {
    { "warp($1, [1.2 0.3 -2.5; -0.2 0.9 4])", { 1.2L, 0.3L, -2.5L, -0.2L, 0.9L, 4, 0, 0, 1 }, W, H },
    { "warp($1, [0.5 0 3; 0 2 1.25], width=40, height=17)", { 0.5L, 0, 3, 0, 2, 1.25L, 0, 0, 1 }, 40, 17 },
    { "warp($1, [1 0.1 1; 0.05 1.1 -2; 0.004 0.01 1])", { 1, 0.1L, 1, 0.05L, 1.1L, -2, 0.004L, 0.01L, 1 }, W, H },
    { "warp($1, [0.9 0 1; 0 0.9 1; 0 0.06 0.5])", { 0.9L, 0, 1, 0, 0.9L, 1, 0, 0.06L, 0.5L }, W, H },
};
enum { N_WARPS = sizeof warps / sizeof *warps };

START_TEST(warps_by_matrices)
{
    const int row = _i / WRITTEN_DTYPES;
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const real full = dtype_full(dtype);
    picture a = written_levels(dtype, H, W, 3, 5), want = picture_new(dtype, warps[row].h, warps[row].w, 3);
    for (int64_t k = 0; k < picture_count(&a); k++) /* slopes, which forgive what positions in f32 miss */
        a.v[k] = rounded(dtype, full * (0.2L + 0.02L * (k / 3 % W) + 0.005L * (k / 3 / W) + 0.03L * (k % 3)));
    for (int64_t k = 0; k < picture_count(&want); k++) {
        real u, v;
        if (moved_from(warps[row].matrix, k / 3 % want.w, k / 3 / want.w, &u, &v))
            want.v[k] = written_between(&a, v, u, k % 3, IMGPAR_BORDER_CONSTANT);
    }
    expect(warps[row].text, (const picture *const[]){ &a }, 1, &want, fmaxl(dtype == IMGPAR_F32 ? 0 : 1, full * 2e-5L),
           row == 2 && dtype == IMGPAR_U8);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* A volume of 3 planes of 5 rows, and weights of any planes, in long double; beyond the edges it is 2. */
START_TEST(volumes_are_convolved_with_volumes)
{
    enum { D = 3, ROWS = 5, COLS = 7 };
    static const int sides[][3] = { { 3, 3, 3 }, { 1, 3, 5 }, { 3, 1, 1 } };
    const int *n = sides[_i];
    picture v = picture_new(IMGPAR_F32, D * ROWS, COLS, 1), m = picture_new(IMGPAR_F32, n[0] * n[1], n[2], 1);
    picture_fill(&v, FILL_LEVELS, 5);
    picture_fill(&m, FILL_LEVELS, 6);
    picture want = picture_new(IMGPAR_F32, D * ROWS, COLS, 1);
    for (int k = 0; k < D * ROWS * COLS; k++)
        for (int t = 0; t < n[0] * n[1] * n[2]; t++) {
            const int z = k / (ROWS * COLS) + t / (n[1] * n[2]) - n[0] / 2,
                      y = k / COLS % ROWS + t / n[2] % n[1] - n[1] / 2, x = k % COLS + t % n[2] - n[2] / 2;
            const bool is_inside = z >= 0 && z < D && y >= 0 && y < ROWS && x >= 0 && x < COLS;
            const real value = is_inside ? v.v[(z * ROWS + y) * COLS + x] : 2;
            want.v[k] += m.v[t] * value / 3;
        }
    char text[160];
    snprintf(text, sizeof text,
             "reshape(convolve(reshape($1, [3 5 7]), reshape($2, [%d %d %d]), scale=3, border=constant, cval=2), "
             "[15 7 1])",
             n[0], n[1], n[2]);
    expect(text, (const picture *const[]){ &v, &m }, 2, &want, 0x1p-15L, _i == 0);
    picture_free(&v);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

/* Weights that are a picture of one channel are rows and columns, of a picture and of each plane of a volume. */
START_TEST(pictures_are_weights_of_rows_and_columns)
{
    enum { ALL_ROWS = 15, COLS = 7, M_ROWS = 5, M_COLS = 3 };
    const int rows = _i ? 5 : ALL_ROWS;
    picture v = picture_new(IMGPAR_F32, ALL_ROWS, COLS, 1), m = picture_new(IMGPAR_U8, M_ROWS, M_COLS, 1);
    picture_fill(&v, FILL_LEVELS, 5);
    picture_fill(&m, FILL_LEVELS, 6);
    picture want = picture_new(IMGPAR_F32, ALL_ROWS, COLS, 1);
    for (int k = 0; k < ALL_ROWS * COLS; k++)
        for (int t = 0; t < M_ROWS * M_COLS; t++) {
            const int y = k / COLS % rows + t / M_COLS - M_ROWS / 2, x = k % COLS + t % M_COLS - M_COLS / 2;
            const bool is_inside = y >= 0 && y < rows && x >= 0 && x < COLS;
            want.v[k] += m.v[t] * (is_inside ? v.v[k - k % (rows * COLS) + y * COLS + x] : 2) / 3;
        }
    char text[160];
    snprintf(text, sizeof text, "reshape(convolve(%s, $2, scale=3, border=constant, cval=2), [15 7 1])",
             _i ? "reshape($1, [3 5 7])" : "$1");
    expect(text, (const picture *const[]){ &v, &m }, 2, &want, 0x1p-8L, _i == 1);
    picture_free(&v);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

START_TEST(matrices_that_do_not_move_are_told)
{
    static const char *const wrong[][2] = {
        { "warp($1, [1 2 0; 2 4 1])", "warp: the matrix has no inverse: its determinant is 0" },
        { "warp($1, [1 0; 0 1])", "warp: the matrix is 2x2; it must be 2x3 or 3x3" },
        { "warp($1, ones([2 2]))", "warp: matrix is [2, 2] f32; it must be [2, 3] or [3, 3]" },
        { "warp($1, [1e300 0 0; 0 1e300 0])", "has no inverse" },
        { "convolve($1, ones([3 4]))", "convolve: matrix is [3, 4] f32; its sides must be odd" },
        { "convolve($1, ones([3 3 3]))",
          "convolve: matrix is [3, 3, 3] f32; it must have rows and columns, and planes for a volume alone" },
        { "convolve(zeros([3 5 7]), ones([2049 1025 1025]))",
          "convolve: matrix is [2049, 1025, 1025] f32; it has more than 2147483647 weights" },
        { "convolve($1, complex(ones([3 3]), 0))",
          "convolve: a is u8, matrix complex64; cast(a, f32) has room for the result" },
        { "convsep($1, ones([3]), [1 2 1])", "convsep: column must be a vector, not an array; write its numbers" },
        { "numbers([[1, 2], [3, 4]])", "rows of a matrix end in semicolons, as in [1 2; 3 4]" },
    };
    picture a = written_levels(IMGPAR_U8, H, W, 1, 7);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        imgpar_array *in = picture_array(written_context, &a),
                     *out = imgpar_apply(written_context, wrong[k][0], &in, 1);
        ck_assert_msg(strstr(imgpar_array_message(out), wrong[k][1]) != NULL, "%s", imgpar_array_message(out));
        imgpar_array_release(out);
        imgpar_array_release(in);
    }
    picture_free(&a);
}
END_TEST

/* ---- measures -------------------------------------------------------------------------------- */

START_TEST(how_alike_two_pictures_are)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 9), b = written_levels(dtype, H, W, 3, 10);
    real squares = 0, sizes = 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        squares += (a.v[k] - b.v[k]) * (a.v[k] - b.v[k]) / picture_count(&a);
        sizes += fabsl(a.v[k] - b.v[k]) / picture_count(&a);
    }
    picture want = picture_new(IMGPAR_F32, 1, 1, 1);
    want.v[0] = squares;
    expect("mse($1, $2)", (const picture *const[]){ &a, &b }, 2, &want, squares * 0x1p-20L, dtype == IMGPAR_U8);
    want.v[0] = sizes;
    expect("mae($1, $2)", (const picture *const[]){ &a, &b }, 2, &want, sizes * 0x1p-20L, false);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, masks_by_their_formulas, 0, N_MASKS);
    tcase_add_loop_test(tc, frames, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, warps_by_matrices, 0, N_WARPS * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, volumes_are_convolved_with_volumes, 0, 3);
    tcase_add_loop_test(tc, pictures_are_weights_of_rows_and_columns, 0, 2);
    tcase_add_test(tc, matrices_that_do_not_move_are_told);
    tcase_add_loop_test(tc, how_alike_two_pictures_are, 0, WRITTEN_DTYPES);
    return written_run("written_shapes", tc);
}
