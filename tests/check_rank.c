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
    const char *shape; /* "holes", "full": an element of `rows` rows and `size` columns that has holes, or none */
    double p;          /* MODE: not a rank but the most frequent one, of several the least */
    int rows;
} filters[] = {
    { "cast(random([600 560], seed=1) * 255, u8)", 600, 560, 1, 9, "square", 50, 0 },
    { "cast(random([40 1130 3], seed=2) * 255, u8)", 40, 1130, 3, 31, "square", 30, 0 },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 41, "disc", 50, 0 },
    { "cast(random([90 600 2], seed=4) * 65535, u16)", 90, 600, 2, 15, "square", 75, 0 },
    { "cast(random([90 300], seed=5), f32) - 0.5", 90, 300, 1, 31, "square", 50, 0 },
    { "round(cast(random([40 130 3], seed=6), f32) * 20)", 40, 130, 3, 255, "square", 25, 0 },
    { "cast(random([280 80], seed=7), f64)", 280, 80, 1, 7, "disc", 100, 0 },
    { "make(25, 25, cast(x + 25 * y, i32))", 25, 25, 1, 25, "square", 5.6, 0 }, /* floor(625 * 5.6 / 100) = 35 */
    { "cast(random([600 560], seed=1) * 9, u8)", 600, 560, 1, 9, "square", MODE, 0 },
    { "cast(random([40 1130 3], seed=2) * 255, u8)", 40, 1130, 3, 31, "square", MODE, 0 },
    { "cast(random([90 600], seed=3) * 20, i8)", 90, 600, 1, 41, "disc", MODE, 0 },
    { "zeros([40 90], dtype=u8) + 201", 40, 90, 1, 255, "square", MODE, 0 },
    { "cast(round(random([90 600 2], seed=4) * 40) * 1600, u16)", 90, 600, 2, 15, "square", MODE, 0 },
    { "cast(random([90 600], seed=8) * 3, i32) * 70000", 90, 600, 1, 3, "disc", MODE, 0 },
    { "round(cast(random([70 300 3], seed=6), f32) * 200) / 7", 70, 300, 3, 61, "square", MODE, 0 },
    { "round(cast(random([280 80], seed=7), f64) * 9)", 280, 80, 1, 13, "disc", MODE, 0 },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 41, "diamond", 40, 0 },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 41, "cross", 50, 0 },
    { "cast(random([90 600 2], seed=4) * 65535, u16)", 90, 600, 2, 15, "diamond", 75, 0 },
    { "cast(random([90 600 2], seed=4) * 65535, u16)", 90, 600, 2, 15, "cross", 20, 0 },
    { "cast(random([90 300], seed=5), f32) - 0.5", 90, 300, 1, 31, "diamond", 50, 0 },
    { "cast(random([90 300], seed=5), f32) - 0.5", 90, 300, 1, 31, "cross", 50, 0 },
    { "cast(random([90 600], seed=3) * 20, i8)", 90, 600, 1, 41, "diamond", MODE, 0 },
    { "cast(round(random([90 600 2], seed=4) * 40) * 1600, u16)", 90, 600, 2, 15, "cross", MODE, 0 },
    { "round(cast(random([70 300 3], seed=6), f32) * 200) / 7", 70, 300, 3, 61, "diamond", MODE, 0 },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 21, "line", 50, 0 },
    { "cast(random([90 600], seed=3) * 255, u8)", 90, 600, 1, 9, "holes", 50, 21 },
    { "cast(random([90 600 3], seed=3) * 255, u8)", 90, 600, 3, 31, "full", 70, 5 },
    { "cast(random([1100 40], seed=3) * 255, u8)", 1100, 40, 1, 1, "full", 50, 41 },
    { "cast(random([90 600], seed=3) * 20, i8)", 90, 600, 1, 33, "full", MODE, 1 },
    { "cast(random([90 600], seed=3) * 20, i8)", 90, 600, 1, 9, "holes", MODE, 7 },
    { "cast(random([90 600 2], seed=4) * 65535, u16)", 90, 600, 2, 31, "holes", 50, 3 },
    { "cast(round(random([90 600 2], seed=4) * 40) * 1600, u16)", 90, 600, 2, 5, "holes", MODE, 41 },
    { "cast(random([300 270], seed=5), f32) - 0.5", 300, 270, 1, 15, "holes", 50, 31 },
    { "cast(random([40 300], seed=5), f32) - 0.5", 40, 300, 1, 255, "holes", 25, 255 },
    { "cast(random([300 90], seed=5), f64)", 300, 90, 1, 1, "full", 50, 255 },
    { "round(cast(random([70 300 3], seed=6), f32) * 200) / 7", 70, 300, 3, 31, "holes", MODE, 9 },
    { "cast(random([90 600], seed=8) * 3, i32) * 70000", 90, 600, 1, 5, "holes", MODE, 3 },
};

/* Of elements with holes: about two of five, of which no two rows are alike. */
static bool is_on(int64_t y, int64_t x) { return (y * 7 + x * 3 + y * x) % 5 < 2; }

/* The filter's text behind the picture. */
static void write_filter(int row, char *text, size_t size)
{
    const bool is_full = strcmp(filters[row].shape, "full") == 0;
    size_t n = 0;
    if (filters[row].p == MODE)
        n += (size_t)snprintf(text, size, "mode_filter($1, ");
    else if (filters[row].p == 50 && filters[row].size > 5)
        n += (size_t)snprintf(text, size, "median($1, ");
    else
        n += (size_t)snprintf(text, size, "percentile_filter($1, %g, ", filters[row].p);
    if (filters[row].rows == 0) {
        snprintf(text + n, size - n, "size=%d, shape=%s, angle=-30)", filters[row].size, filters[row].shape);
        return;
    }
    n += (size_t)snprintf(text + n, size - n, "element=[");
    for (int y = 0; y < filters[row].rows; y++) {
        if (y > 0) text[n++] = ';';
        for (int x = 0; x < filters[row].size; x++)
            n += (size_t)snprintf(text + n, size - n, "%s%d", x ? " " : "", is_full || is_on(y, x));
    }
    snprintf(text + n, size - n, "])");
}

static int64_t inside(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The pixels of the line of size 21 and -30 degrees, r = 10: dx = 9, dy = -5. */
static bool is_in_line(int64_t dy, int64_t dx) { return llabs(dx) <= 9 && dy == -llround((double)dx * 5 / 9); }

static bool is_in(int row, int64_t dy, int64_t dx)
{
    const char *shape = filters[row].shape;
    const int64_t radius = filters[row].size / 2;
    if (filters[row].rows > 0) return strcmp(shape, "full") == 0 || is_on(dy + filters[row].rows / 2, dx + radius);
    if (strcmp(shape, "line") == 0) return is_in_line(dy, dx);
    return strcmp(shape, "disc") == 0      ? dy * dy + dx * dx <= radius * radius
           : strcmp(shape, "diamond") == 0 ? llabs(dy) + llabs(dx) <= radius
           : strcmp(shape, "cross") == 0   ? dy == 0 || dx == 0
                                           : true;
}

/* The element of the window around y, x of channel k. */
static double ranked(const double *v, int row, int64_t y, int64_t x, int64_t k)
{
    static double window[MOST];
    const int64_t h = filters[row].h, w = filters[row].w, c = filters[row].c, rx = filters[row].size / 2;
    const int64_t ry = filters[row].rows > 0 ? filters[row].rows / 2 : rx;
    int n = 0;
    for (int64_t dy = -ry; dy <= ry; dy++)
        for (int64_t dx = -rx; dx <= rx; dx++)
            if (is_in(row, dy, dx)) window[n++] = v[(inside(y + dy, h) * w + inside(x + dx, w)) * c + k];
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
    static char text[MOST * 2 + 100];
    unsigned seed = 5;
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    imgpar_array *a = imgpar_apply(ctx, filters[row].picture, NULL, 0);
    write_filter(row, text, sizeof text);
    imgpar_array *filtered = imgpar_apply(ctx, text, &a, 1);
    double *v = read_f64(a, (size_t)(h * w * c)), *got = read_f64(filtered, (size_t)(h * w * c));
    const int n = filters[row].size > 100 ? POINTS / 20 : POINTS;
    for (int k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        const int64_t at = (int64_t)((double)seed / 4294967296.0 * (double)(h * w * c));
        const double want = ranked(v, row, at / c / w, at / c % w, at % c);
        ck_assert_msg(got[at] == want, "%.99s of %s, %s: element %lld is %g, not %g", text, filters[row].picture,
                      schedule, (long long)at, got[at], want);
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
    if (filters[_i].rows > 0 && filters[_i].size < 100) check_filter(_i, "tiles"); /* as on a GPU */
}
END_TEST

/* Elements that are too large, empty, or without a middle. */
START_TEST(an_element_that_is_none_is_refused)
{
    static const struct {
        const char *text, *message;
    } refused[] = {
        { "median(zeros([3 4]), element=[0 0 0])", "median: element has nothing but 0" },
        { "mode_filter(zeros([3 4]), element=[1 1])", "mode_filter: element is 1x2; both sides must be odd" },
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        imgpar_array *a = imgpar_apply(ctx, refused[k].text, NULL, 0);
        ck_assert_msg(strstr(imgpar_array_message(a), refused[k].message) != NULL, "%s", imgpar_array_message(a));
        imgpar_array_release(a);
    }
    char text[700] = "percentile_filter(zeros([3 4]), 20, element=[1";
    for (int k = 1; k < 257; k++)
        strcat(text, " 1");
    imgpar_array *a = imgpar_apply(ctx, strcat(text, "])"), NULL, 0);
    ck_assert_ptr_nonnull(
        strstr(imgpar_array_message(a), "percentile_filter: element is 1x257; its sides are at most 255"));
    imgpar_array_release(a);
}
END_TEST

/* Of four elements the one with two before it; what is not in the element, even NaN, is not looked at. */
START_TEST(elements_are_even_or_beside_the_middle)
{
    static const struct {
        const char *text;
        float want[4];
    } rows[] = {
        { "median(cast(numbers([1 2 3 4]), f32), element=[0 0 1 1 1], border=constant, cval=9)", { 2, 3, 4, 9 } },
        { "median(cast(numbers([1 2 3 4]), f32), element=[1 0 1])", { 2, 3, 4, 4 } },
        { "percentile_filter(cast(numbers([4 2 1 3]), f32), 0, element=[1 0 0])", { 4, 4, 2, 1 } },
        { "a = cast(numbers([4 2 1 3]), f32)\nmedian(select(a == 2, nan, a), element=[1 0 1], border=wrap)",
          { NAN, 4, NAN, 4 } },
        { "mode_filter(cast(numbers([5 2 2 3]), f32), element=[1 1 0 0 0])", { 5, 5, 2, 2 } },
        /* a line of 30 degrees and of 210, from (-3, -2) to (3, 2): its neighbours of rows */
        { "a = make(7, 7, x == 3 && y == 3)\ncast(slice(squeeze(sum(dilate(a, 7, shape=line, angle=30), axis=1)), [1], "
          "[5]), f32)",
          { 1, 2, 1, 2 } },
        { "a = make(7, 7, x == 3 && y == 3)\ncast(slice(squeeze(sum(dilate(a, 7, shape=line, angle=210), axis=1)), "
          "[1], [5]), f32)",
          { 1, 2, 1, 2 } },
    };
    static const char *const schedules[] = { "auto", "ref" };
    for (size_t k = 0; k < sizeof rows / sizeof *rows * 2; k++) {
        float got[4];
        ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[k % 2]), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(ctx, rows[k / 2].text, NULL, 0);
        ck_assert_msg(!imgpar_array_read(a, got, sizeof got), "%s", imgpar_array_message(a));
        for (int i = 0; i < 4; i++) {
            const float want = rows[k / 2].want[i];
            ck_assert_msg(got[i] == want || (isnan(got[i]) && isnan(want)), "%s: element %d is %g, not %g",
                          rows[k / 2].text, i, (double)got[i], (double)want);
        }
        imgpar_array_release(a);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank");
    TCase *c = tcase_create("rank");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, strips_and_tiles_meet_without_a_seam, 0, (int)(sizeof filters / sizeof *filters));
    tcase_add_test(c, an_element_that_is_none_is_refused);
    tcase_add_test(c, elements_are_even_or_beside_the_middle);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
