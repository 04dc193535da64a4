/* SPDX-License-Identifier: MIT */
/* Matrices that take points to others (ops/written_motion.def) against least squares in long double. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 40, MOST = 9 };

static double a[N][2], b[N][2];
static bool is_good[N];

static double next(void)
{
    static unsigned seed = 12345;
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24);
}

typedef enum kind { AFFINE, SIMILARITY, HOMOGRAPHY } kind;
static const char *const names[] = { "affine", "similarity", "homography" };
static const real matrices[][9] = { { 1.1L, 0.1L, 20, -0.05L, 0.9L, -10, 0, 0, 1 },
                                    { 0.8L, 0.3L, 20, -0.3L, 0.8L, -10, 0, 0, 1 },
                                    { 1.1L, 0.1L, 20, -0.05L, 0.9L, -10, 1e-4L, -2e-4L, 1 } };

static void move(const real *m, real x, real y, real *out)
{
    const real w = m[6] * x + m[7] * y + m[8];
    out[0] = (m[0] * x + m[1] * y + m[2]) / w;
    out[1] = (m[3] * x + m[4] * y + m[5]) / w;
}

/* Points that the matrix moves, with noise; of the bad ones, two of five, each lies somewhere else. */
static void set_points(const real *m, double noise, bool has_bad)
{
    for (int k = 0; k < N; k++) {
        real to[2];
        a[k][0] = 500 * next();
        a[k][1] = 400 * next();
        move(m, a[k][0], a[k][1], to);
        is_good[k] = !has_bad || k % 5 > 1;
        for (int c = 0; c < 2; c++)
            b[k][c] = (double)to[c] + noise * (next() - 0.5) + (is_good[k] ? 0 : 40 + 90 * next());
    }
}

/* x of m x = r, n x n, by elimination; m and r are lost. */
static void solve(real m[MOST][MOST], real r[MOST], int n, real x[MOST])
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k; i < n; i++)
            if (fabsl(m[i][k]) > fabsl(m[best][k])) best = i;
        for (int j = 0; j < n; j++) {
            const real t = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = t;
        }
        const real t = r[k];
        r[k] = r[best];
        r[best] = t;
        for (int i = k + 1; i < n; i++) {
            const real f = m[i][k] / m[k][k];
            for (int j = k; j < n; j++)
                m[i][j] -= f * m[k][j];
            r[i] -= f * r[k];
        }
    }
    for (int k = n; k-- > 0;) {
        x[k] = r[k];
        for (int j = k + 1; j < n; j++)
            x[k] -= m[k][j] * x[j];
        x[k] /= m[k][k];
    }
}

/* Adds an equation's row to normal equations. */
static void add_row(real m[MOST][MOST], real r[MOST], int n, const real *row, real right)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            m[i][j] += row[i] * row[j];
        r[i] += row[i] * right;
    }
}

static void least_affine(real out[9])
{
    for (int c = 0; c < 2; c++) {
        real m[MOST][MOST] = { { 0 } }, r[MOST] = { 0 };
        for (int k = 0; k < N; k++)
            if (is_good[k]) add_row(m, r, 3, (real[]){ a[k][0], a[k][1], 1 }, b[k][c]);
        solve(m, r, 3, out + 3 * c);
    }
}

static void least_similarity(real out[9])
{
    real m[MOST][MOST] = { { 0 } }, r[MOST] = { 0 }, s[MOST];
    for (int k = 0; k < N; k++) {
        if (!is_good[k]) continue;
        add_row(m, r, 4, (real[]){ a[k][0], -a[k][1], 1, 0 }, b[k][0]);
        add_row(m, r, 4, (real[]){ a[k][1], a[k][0], 0, 1 }, b[k][1]);
    }
    solve(m, r, 4, s);
    const real all[] = { s[0], -s[1], s[2], s[1], s[0], s[3] };
    memcpy(out, all, sizeof all);
}

/* The mean, and what makes the mean distance from it sqrt(2). */
static void about(double (*p)[2], real middle[2], real *scale)
{
    int n = 0;
    real far = 0;
    middle[0] = middle[1] = 0;
    for (int k = 0; k < N; k++)
        if (is_good[k]) middle[0] += p[k][0], middle[1] += p[k][1], n++;
    middle[0] /= n, middle[1] /= n;
    for (int k = 0; k < N; k++)
        if (is_good[k]) far += hypotl(p[k][0] - middle[0], p[k][1] - middle[1]) / n;
    *scale = sqrtl(2) / far;
}

/* The eigenvector of the least eigenvalue by inverse iteration, then without the normalisation. */
static void least_homography(real out[9])
{
    real m[MOST][MOST] = { { 0 } }, none[MOST] = { 0 }, x[MOST] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, ma[2], mb[2], sa, sb;
    about(a, ma, &sa);
    about(b, mb, &sb);
    for (int k = 0; k < N; k++) {
        if (!is_good[k]) continue;
        const real u = (a[k][0] - ma[0]) * sa, v = (a[k][1] - ma[1]) * sa;
        const real s = (b[k][0] - mb[0]) * sb, t = (b[k][1] - mb[1]) * sb;
        add_row(m, none, 9, (real[]){ u, v, 1, 0, 0, 0, -s * u, -s * v, -s }, 0);
        add_row(m, none, 9, (real[]){ 0, 0, 0, u, v, 1, -t * u, -t * v, -t }, 0);
    }
    for (int k = 0; k < 9; k++)
        m[k][k] += 1e-15L; /* data without noise */
    for (int step = 0; step < 60; step++) {
        real copy[MOST][MOST], r[MOST], l = 0;
        memcpy(copy, m, sizeof copy);
        memcpy(r, x, sizeof r);
        solve(copy, r, 9, x);
        for (int k = 0; k < 9; k++)
            l += x[k] * x[k];
        for (int k = 0; k < 9; k++)
            x[k] /= sqrtl(l);
    }
    for (int j = 0; j < 9; j++) { /* back_b x to_a, one element after the other */
        const real to_a[3][3] = { { sa, 0, -sa * ma[0] }, { 0, sa, -sa * ma[1] }, { 0, 0, 1 } };
        const real back[3][3] = { { 1 / sb, 0, mb[0] }, { 0, 1 / sb, mb[1] }, { 0, 0, 1 } };
        out[j] = 0;
        for (int k = 0; k < 9; k++)
            out[j] += back[j / 3][k / 3] * x[k] * to_a[k % 3][j % 3];
    }
    for (int j = 0; j < 9; j++)
        out[j] /= out[8];
}

static void expect_motion(const char *text, const real want[9])
{
    const int64_t shape[] = { N, 2 };
    imgpar_array *in[] = { imgpar_array_from_data(written_context, IMGPAR_F64, 2, shape, a),
                           imgpar_array_from_data(written_context, IMGPAR_F64, 2, shape, b) };
    for (int way = 0; way < 2; way++) {
        double got[9];
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *m = imgpar_apply(written_context, text, in, 2);
        ck_assert_msg(imgpar_array_read(m, got, sizeof got) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(m));
        for (int k = 0; k < 5; k++) { /* corners and the middle */
            const real x = 500 * (k % 2), y = k == 4 ? 200 : 400 * (real)(k / 2),
                       of[9] = { got[0], got[1], got[2], got[3], got[4], got[5], got[6], got[7], got[8] };
            real p[2], q[2];
            move(of, x, y, p);
            move(want, x, y, q);
            for (int c = 0; c < 2; c++)
                ck_assert_msg(fabsl(p[c] - q[c]) <= 0x1p-30L * 600, "%s: %Lg %Lg goes to %.12Lg, not %.12Lg", text, x,
                              y, p[c], q[c]);
        }
        imgpar_array_release(m);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}

START_TEST(the_nearest_motion) /* _i: the kind, noise, points that lie somewhere else */
{
    char text[120];
    const kind k = (kind)(_i / 3);
    const bool has_noise = _i % 3 > 0, has_bad = _i % 3 == 2;
    real want[9] = { 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    set_points(matrices[k], has_noise ? 0.4 : 0, has_bad);
    snprintf(text, sizeof text, "estimate_%s($1, $2%s)", names[k], has_bad ? ", ransac, seed=3" : "");
    if (!has_noise)
        memcpy(want, matrices[k], sizeof want);
    else if (k == AFFINE)
        least_affine(want);
    else if (k == SIMILARITY)
        least_similarity(want);
    else
        least_homography(want);
    expect_motion(text, want);
}
END_TEST

START_TEST(pictures_move_by_an_array) /* _i: the matrix */
{
    static const char *const literals[] = { "[1.1 0.1 2; -0.05 0.9 -1]", "[0.8 0.3 2; -0.3 0.8 5; 0 0 1]",
                                            "[1.1 0.1 2; -0.05 0.9 -1; 0.001 -0.002 1]" };
    char text[160];
    picture p = written_levels(IMGPAR_F32, 31, 43, _i % 2 ? 3 : 4, 5), want = picture_copy(&p);
    const picture *const in[] = { &p };
    imgpar_array *of = picture_array(written_context, &p);
    snprintf(text, sizeof text, "warp($1, %s, border=reflect)", literals[_i]);
    imgpar_array *warped = imgpar_apply(written_context, text, &of, 1); /* check_written_shapes */
    static float got[31 * 43 * 4];
    ck_assert_int_eq(imgpar_array_read(warped, got, sizeof(float) * (size_t)picture_count(&p)), IMGPAR_OK);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        want.v[k] = got[k];
        want.slack[k] = 0x1p-12L; /* positions are rounded elsewhere */
    }
    snprintf(text, sizeof text, "warp%s($1, numbers(%s), border=reflect)", _i == 1 ? "" : "_by", literals[_i]);
    written_expect(text, in, 1, &want, true);
    imgpar_array_release(warped);
    imgpar_array_release(of);
    picture_free(&p);
    picture_free(&want);
}
END_TEST

static const struct {
    const char *text, *as;
} small[] = {
    { "transform_points(numbers([0 0; 1 2]), numbers([1 0 5; 0 2 7]))", "[5 7; 6 11]" },
    { "transform_points(numbers([1 2]) * ones([1 2]), numbers([2 0 0; 0 2 0; 0 1 2]))", "[0.5 1]" },
    { "inliers(numbers([0 0; 1 0; 9 9]), numbers([5 7; 6 9; 5 5]), numbers([1 0 5; 0 1 7]), 2)", "[1 1 0]" },
    { "abs(round(estimate_affine(numbers([0 0; 1 0; 0 1]), numbers([5 5; 7 5; 5 8]))))", "[2 0 5; 0 3 5; 0 0 1]" },
    { "abs(round(estimate_similarity(numbers([0 0; 1 0]), numbers([5 5; 5 7]))))", "[0 2 5; 2 0 5; 0 0 1]" },
    { "abs(round(estimate_homography(numbers([0 0; 2 0; 0 2; 2 2]), numbers([0 0; 2 0; 0 2; 4 4]) * 3) * 6))",
      "[12 0 0; 0 12 0; 1 1 6]" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "estimate_affine($1, $1)",
      "estimate_affine: a is [3, 3] f32; it must be [n, 2], x and y in each row, n at least 3" },
    { "estimate_homography(ones([3 2]), ones([3 2]))", "it must be [n, 2], x and y in each row, n at least 4" },
    { "estimate_similarity(ones([3 2]), ones([4 2]))", "they must have as many points" },
    { "transform_points($1, $1)",
      "transform_points: a is [3, 3] f32; it must be [n, 2], x and y in each row, n at least 1" },
    { "warp_by($1, ones([2 2]))", "warp_by: matrix is [2, 2] f32; it must be [2, 3] or [3, 3]" },
    { "inliers(ones([3 2]), ones([3 2]), $1, -1)", "inliers: threshold=-1 is below 0" },
};

/* What the numbers are is known once they are computed. $1: zeros of 3 x 3. */
#define NO_INVERSE "warp: the matrix has no inverse: its determinant is 0"
#define NOT_FINITE "has an element that is not finite"
#define STEPS(N, F) "(p, q) = iterate((ones([4 4]), eye(3)), " #N ", (a, m) -> (" F ", m - eye(3) * 0.25))\nsum(p)"
static const struct {
    const char *text, *why;
} computed[] = {
    { "warp(ones([4 4]), $1)", NO_INVERSE },
    { "warp(ones([4 4]), slice($1 * 2, 0, 2))", NO_INVERSE },
    { "warp(ones([4 4]), matinv($1))", "warp: matrix " NOT_FINITE "; what it is computed from may have no inverse" },
    { "warp(ones([4 4]), eye(3) / sum($1))",
      "warp: matrix " NOT_FINITE "; what it is computed from may have no inverse" },
    { "warp(ones([4 4]), eye(3, dtype=f64) * 1e-60)",
      "warp: the matrix has no inverse in f32: its elements would go up to 1e+60" },
    { "blur(warp(ones([4 4]), $1) + 1, 2)", NO_INVERSE },
    { "a = warp(ones([4 4]), eye(3) + $1)\nwarp(a, eye(3) * (mean(a) - 1))", NO_INVERSE },
    { "sum($1) == 0 ? warp(ones([4 4]), $1) : ones([4 4])", NO_INVERSE },
    { STEPS(5, "warp(a, m)"), NO_INVERSE },
    { STEPS(2, "warp(a, eye(3) * 0)"), NO_INVERSE },
    { "m = eye(3) * sum($1)\ngrad(sum(warp(ones([4 4]), m)), m)", NO_INVERSE },
    { "warp(ones([4 4]), estimate_affine(numbers([0 0; 1 1; 2 2]), numbers([0 0; 1 0; 0 1])))", "warp: " },
    /* what a function was applied to is somebody's number again */
    { "a = around(ones([4 4]), 1, (p, q) -> q, \"mean\")\nwarp(ones([4 4]), eye(3) * (mean(a) - 1))", NO_INVERSE },
    { "a = reduce(ones([4 4]), 0, (p, q) -> max(p, q))\nwarp(ones([4 4]), eye(3) * (a - 1))", NO_INVERSE },
    { "a = scan(ones([4 4]), 0, (p, q) -> max(p * p, q))\nwarp(ones([4 4]), eye(3) * (mean(a) - 1))", NO_INVERSE },
    { "a = bilateral(ones([9 9]))\nwarp(ones([4 4]), eye(3) * (mean(a) - 1))", NO_INVERSE },
    { "convolve(cast(ones([4 4]), u8), $1 / sum($1))", "convolve: matrix " NOT_FINITE },
    { "convolve(ones([4 4]), complex($1 / sum($1), 0))", NOT_FINITE },
};

START_TEST(what_is_computed_and_unusable_is_an_error) /* _i: the text, by the device and by the interpreter */
{
    const int k = _i / 2;
    const float zeros[9] = { 0 };
    char *got = NULL;
    imgpar_array *in = imgpar_array_from_data(written_context, IMGPAR_F32, 2, (int64_t[]){ 3, 3 }, zeros);
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", _i % 2 ? "ref" : "auto"), IMGPAR_OK);
    imgpar_array *made = imgpar_apply(written_context, computed[k].text, &in, 1);
    ck_assert_msg(imgpar_array_status(made) == IMGPAR_OK, "%s: %s", computed[k].text, imgpar_array_message(made));
    ck_assert_msg(imgpar_array_text(made, NULL, &got) == IMGPAR_E_ARGUMENT, "%s is taken", computed[k].text);
    ck_assert_msg(strstr(imgpar_array_message(made), computed[k].why) != NULL, "%s: %s", computed[k].text,
                  imgpar_array_message(made));
    imgpar_array_release(made);
    imgpar_array_release(in);
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", "auto"), IMGPAR_OK);
}
END_TEST

/* Sides that are not taken, steps that are not run, and steps that each have a matrix of their own. */
static const struct {
    const char *text, *as;
} usable[] = {
    { "sum(warp(ones([4 4]), eye(3) * 1e30))", "16" },
    { "a = reduce(ones([4 4]), 0, (p, q) -> max(p, q))\nsum(a > 3 ? warp(ones([4 4]), eye(3) * (a - 1)) : ones([4 4]))",
      "16" },
    /* a step does not change what it is differentiated by */
    { "m = eye(3) * 1.5\na = make(9, 9, x * y * 0.1)\nfn g(m, a) = sum(grad(sum(warp(a, m)), m))\n"
      "abs(iterate(0.0, 200, v -> v + g(m, a)) / g(m, a) - 200) < 0.01",
      "true" },
    { "a = make(70, 70, x)\nb = warp(a, eye(3) * mean(a))\nd = warp(b, eye(3) * mean(b))\nsum(d) - sum(a)", "0" },
    { "m = eye(3) * 0\nsum(det(m) != 0 ? warp(ones([4 4]), m) : ones([4 4]))", "16" },
    { "m = eye(3) * 0\ndet(m) != 0 ? sum(warp(ones([4 4]), m)) : 7", "7" },
    { STEPS(4, "warp(a, m)"), "16" },
    { STEPS(6, "det(m) == 0 ? a : warp(a, m)"), "16" },
    { STEPS(0, "warp(a, eye(3) * 0)"), "16" },
    { "s = numbers([0 0 1; 0 0 0; 0 0 0])\n(p, q) = iterate((cast(make(9, 1, x == 0), f32), eye(3)), 3, (a, m) -> "
      "(warp(a, m + s), m + s))\nsum(p * x)",
      "6" },
    { "sum(warp(ones([4 4]), eye(3) * -1))", "16" },
    { "sum(warp(ones([4 4]), eye(3) * 1e-20))", "16" },
};

START_TEST(what_is_usable_is_computed) { written_prints(usable[_i].text, usable[_i].as); }
END_TEST

/* A graph that is met again has a plan that is kept, and numbers of its own each time. */
START_TEST(each_call_looks_at_its_own_numbers)
{
    static const char *const texts[] = { "warp($1, $2)", "warp($1, $2 * 2)" };
    float pixels[16] = { 0 }, out[16];
    for (int k = 0; k < 10; k++) {
        const float factor = k == 7 ? 0 : 1, matrix[9] = { factor, 0, (float)(k % 4), 0, 1, 0, 0, 0, 1 };
        pixels[0] = 5;
        for (size_t i = 0; i < 2; i++) {
            imgpar_array *in[] = { imgpar_array_from_data(written_context, IMGPAR_F32, 2, (int64_t[]){ 4, 4 }, pixels),
                                   imgpar_array_from_data(written_context, IMGPAR_F32, 2, (int64_t[]){ 3, 3 },
                                                          matrix) };
            imgpar_array *made = imgpar_apply(written_context, texts[i], in, 2);
            ck_assert_int_eq(imgpar_array_read(made, out, sizeof out), k == 7 ? IMGPAR_E_ARGUMENT : IMGPAR_OK);
            if (k != 7) ck_assert_float_eq(out[k % 4], 5);
            imgpar_array_release(made);
            imgpar_array_release(in[0]);
            imgpar_array_release(in[1]);
        }
    }
}
END_TEST

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, the_nearest_motion, 0, 9);
    tcase_add_loop_test(tc, pictures_move_by_an_array, 0, 3);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(tc, what_is_computed_and_unusable_is_an_error, 0,
                        2 * (int)(sizeof computed / sizeof *computed));
    tcase_add_loop_test(tc, what_is_usable_is_computed, 0, (int)(sizeof usable / sizeof *usable));
    tcase_add_test(tc, each_call_looks_at_its_own_numbers);
    return written_run("written motion", tc);
}
