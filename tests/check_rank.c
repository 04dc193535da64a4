/* SPDX-License-Identifier: MIT */
/* Rank filters across the strips and tiles that work-items compute, against windows that are sorted. (Small pictures of
 * all dtypes and borders are in check_matrix.c.) */
#include "asserts.h"
#include "held.h"

#include <imgpar.h>
#include <imgpar_ops.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 255 * 255, POINTS = 300, MODE = -1 };

static imgpar_context *ctx;

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}

static void tear_down(void)
{
    imgpar_context_release(ctx);
    ctx = NULL;
}

/* Pictures whose elements come from few levels or many. */
static const struct {
    const char *picture; /* text of what is filtered */
    int64_t h, w, c;
    int size;
    const char *shape;
    double p; /* MODE: not a rank but the most frequent one, of several the least */
} filters[] = {
    { "cast(random([600 560], seed=1) * 255, u8)", 600, 560, 1, 9, "square", 50 },
    { "cast(random([40 1130 3], seed=2) * 255, u8)", 40, 1130, 3, 31, "square", 30 },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 41, "disc", 50 },
    { "cast(random([90 600 2], seed=4) * 65535, u16)", 90, 600, 2, 15, "square", 75 },
    { "cast(random([90 300], seed=5), f32) - 0.5", 90, 300, 1, 31, "square", 50 },
    { "round(cast(random([70 300 3], seed=6), f32) * 20)", 70, 300, 3, 255, "square", 25 },
    { "cast(random([280 80], seed=7), f64)", 280, 80, 1, 7, "disc", 100 },
    { "make(25, 25, cast(x + 25 * y, i32))", 25, 25, 1, 25, "square", 5.6 }, /* floor(625 * 5.6 / 100) = 35 */
    { "cast(random([600 560], seed=1) * 9, u8)", 600, 560, 1, 9, "square", MODE },
    { "cast(random([40 1130 3], seed=2) * 255, u8)", 40, 1130, 3, 31, "square", MODE },
    { "cast(random([90 600], seed=3) * 20, i8)", 90, 600, 1, 41, "disc", MODE },
    { "zeros([270 300], dtype=u8) + 201", 270, 300, 1, 255, "square", MODE },
    { "cast(round(random([90 600 2], seed=4) * 40) * 1600, u16)", 90, 600, 2, 15, "square", MODE },
    { "cast(random([90 600], seed=8) * 3, i32) * 70000", 90, 600, 1, 3, "disc", MODE },
    { "round(cast(random([70 300 3], seed=6), f32) * 200) / 7", 70, 300, 3, 61, "square", MODE },
    { "round(cast(random([280 80], seed=7), f64) * 9)", 280, 80, 1, 13, "disc", MODE },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 41, "diamond", 40 },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 41, "cross", 50 },
    { "cast(random([90 600 2], seed=4) * 65535, u16)", 90, 600, 2, 15, "diamond", 75 },
    { "cast(random([90 600 2], seed=4) * 65535, u16)", 90, 600, 2, 15, "cross", 20 },
    { "cast(random([90 300], seed=5), f32) - 0.5", 90, 300, 1, 31, "diamond", 50 },
    { "cast(random([90 300], seed=5), f32) - 0.5", 90, 300, 1, 31, "cross", 50 },
    { "cast(random([90 600], seed=3) * 20, i8)", 90, 600, 1, 41, "diamond", MODE },
    { "cast(round(random([90 600 2], seed=4) * 40) * 1600, u16)", 90, 600, 2, 15, "cross", MODE },
    { "round(cast(random([70 300 3], seed=6), f32) * 200) / 7", 70, 300, 3, 61, "diamond", MODE },
};

static int64_t inside(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_in(const char *shape, int64_t radius, int64_t dy, int64_t dx)
{
    return strcmp(shape, "disc") == 0      ? dy * dy + dx * dx <= radius * radius
           : strcmp(shape, "diamond") == 0 ? llabs(dy) + llabs(dx) <= radius
           : strcmp(shape, "cross") == 0   ? dy == 0 || dx == 0
                                           : true;
}

/* The element of the window around y, x of channel k. */
static double ranked(const double *v, int row, int64_t y, int64_t x, int64_t k)
{
    static double window[MOST];
    const int64_t h = filters[row].h, w = filters[row].w, c = filters[row].c, radius = filters[row].size / 2;
    int n = 0;
    for (int64_t dy = -radius; dy <= radius; dy++)
        for (int64_t dx = -radius; dx <= radius; dx++)
            if (is_in(filters[row].shape, radius, dy, dx))
                window[n++] = v[(inside(y + dy, h) * w + inside(x + dx, w)) * c + k];
    qsort(window, (size_t)n, sizeof *window, by_value);
    if (filters[row].p == MODE) {
        int most = 0, first = 0;
        for (int from = 0, to; from < n; from = to) {
            for (to = from; to < n && window[to] == window[from]; to++)
                ;
            if (to - from > most) most = to - from, first = from;
        }
        return window[first];
    }
    const int at = (int)floor(n * filters[row].p / 100);
    return window[at < n ? at : n - 1];
}

static double *read_f64(imgpar_array *a, size_t n)
{
    double *v = malloc(n * sizeof *v);
    imgpar_array *wide = imgpar_apply(ctx, "cast($1, f64)", &a, 1);
    ck_assert_ptr_nonnull(v);
    ck_assert_msg(!imgpar_array_read(wide, v, n * sizeof *v), "%s", imgpar_array_message(wide));
    imgpar_array_release(wide);
    return v;
}

static void check_filter(int row, const char *schedule)
{
    const int64_t h = filters[row].h, w = filters[row].w, c = filters[row].c;
    char text[200];
    unsigned seed = 5;
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    imgpar_array *a = imgpar_apply(ctx, filters[row].picture, NULL, 0);
    const char *shape = filters[row].shape;
    if (filters[row].p == MODE)
        snprintf(text, sizeof text, "mode_filter($1, size=%d, shape=%s)", filters[row].size, shape);
    else
        snprintf(text, sizeof text, "percentile_filter($1, %g, size=%d, shape=%s)", filters[row].p, filters[row].size,
                 shape);
    imgpar_array *filtered = imgpar_apply(ctx, text, &a, 1);
    double *v = read_f64(a, (size_t)(h * w * c)), *got = read_f64(filtered, (size_t)(h * w * c));
    const int n = filters[row].size > 100 ? POINTS / 20 : POINTS;
    for (int k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        const int64_t at = (int64_t)((double)seed / 4294967296.0 * (double)(h * w * c));
        const double want = ranked(v, row, at / c / w, at / c % w, at % c);
        ck_assert_msg(got[at] == want, "%s of %s, %s: element %lld is %g, not %g", text, filters[row].picture, schedule,
                      (long long)at, got[at], want);
    }
    free(v);
    free(got);
    imgpar_array_release(filtered);
    imgpar_array_release(a);
}

START_TEST(strips_and_tiles_meet_without_a_seam)
{
    check_filter(_i, "auto");
    check_filter(_i, "ref");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank");
    TCase *c = tcase_create("rank");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, strips_and_tiles_meet_without_a_seam, 0, (int)(sizeof filters / sizeof *filters));
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
