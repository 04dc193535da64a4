/* SPDX-License-Identifier: MIT */
/* plot(): ticks, and what stands where in the picture. */
#include "ops/glyphs.h"
#include "ops/plot.h"
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ticks -------------------------------------------------------------------------------------- */

static const struct {
    double lo, hi;
    int most;
    double first, step;
    int n, digits;
} ticks[] = {
    { 0, 10, 10, 0, 1, 11, 0 },
    { 0, 10, 5, 0, 2, 6, 0 },
    { -1, 1, 4, -1, 0.5, 5, 1 },
    { 0.013, 0.027, 3, 0.015, 0.005, 3, 3 },
    { 1e6, 3e6, 4, 1e6, 5e5, 5, 0 },
    { 97, 203, 3, 100, 50, 3, 0 },
    { -3e-9, 3e-9, 6, -3e-9, 1e-9, 7, 9 },
    { 5, 5, 6, 0, 0, 0, 0 },
    { 0, INFINITY, 6, 0, 0, 0, 0 },
};

START_TEST(ticks_are_at_round_numbers)
{
    const ip_ticks t = ip_ticks_of(ticks[_i].lo, ticks[_i].hi, ticks[_i].most);
    ck_assert_msg(fabs(t.first - ticks[_i].first) <= 1e-9 * fabs(t.step), "first %g", t.first);
    ck_assert_msg(fabs(t.step - ticks[_i].step) <= 1e-12 * fabs(t.step), "step %g", t.step);
    ck_assert_int_eq(t.n, ticks[_i].n);
    ck_assert_int_eq(t.digits, ticks[_i].digits);
}
END_TEST

START_TEST(ticks_are_few_and_inside)
{
    unsigned seed = 1;
    for (int k = 0; k < 5000; k++) {
        seed = seed * 1664525u + 1013904223u;
        const double lo = ((int)(seed >> 8) - (1 << 23)) * pow(10, (int)(seed % 13) - 9);
        const double hi = lo + (1 + (seed >> 12) % 9999) * pow(10, (int)(seed % 11) - 9);
        const int most = 2 + (int)(seed >> 20) % 11;
        const ip_ticks t = ip_ticks_of(lo, hi, most);
        if (!(hi - lo > fabs(lo) * 1e-8)) continue;
        ck_assert_msg(t.n <= most + 1, "%g to %g: %d", lo, hi, t.n);
        ck_assert_msg(t.n >= 1 || most < 3, "%g to %g: none", lo, hi);
        ck_assert(t.first >= lo - 1e-5 * t.step && t.first + (t.n - 1) * t.step <= hi + 1e-5 * t.step);
    }
}
END_TEST

/* ---- pictures ------------------------------------------------------------------------------------ */

typedef struct rgb {
    int64_t width, height;
    unsigned char *at;
} rgb;

/* The value of text on the device, which is that of the interpreter. */
static rgb drawn(const char *text)
{
    rgb out[2];
    for (int way = 0; way < 2; way++) {
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(written_context, text, NULL, 0);
        ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
        ck_assert_int_eq(info.dtype, IMGPAR_U8);
        ck_assert_int_eq(info.channels, 3);
        ck_assert(info.white == 255);
        out[way] = (rgb){ info.width, info.height, malloc(info.size_bytes) };
        ck_assert_ptr_nonnull(out[way].at);
        ck_assert_msg(!imgpar_array_read(a, out[way].at, info.size_bytes), "%s: %s", text, imgpar_array_message(a));
        imgpar_array_release(a);
    }
    ck_assert_msg(memcmp(out[0].at, out[1].at, (size_t)(out[0].width * out[0].height * 3)) == 0, "%s", text);
    free(out[1].at);
    return out[0];
}

static bool is_near(const unsigned char *p, int r, int g, int b)
{
    return abs(p[0] - r) + abs(p[1] - g) + abs(p[2] - b) < 60;
}

/* The box of what has about a colour, as shares of the picture; none: n is 0. */
typedef struct spread {
    double x0, y0, x1, y1;
    int64_t n;
} spread;
static spread spread_of(const rgb *p, int r, int g, int b)
{
    spread s = { 1, 1, 0, 0, 0 };
    for (int64_t k = 0; k < p->width * p->height; k++) {
        if (!is_near(p->at + 3 * k, r, g, b)) continue;
        const double x = (double)(k % p->width) / (double)p->width, y = (double)(k / p->width) / (double)p->height;
        s.x0 = fmin(s.x0, x);
        s.x1 = fmax(s.x1, x);
        s.y0 = fmin(s.y0, y);
        s.y1 = fmax(s.y1, y);
        s.n++;
    }
    return s;
}
#define FIRST 0, 114, 178
#define SECOND 213, 94, 0
#define THIRD 0, 158, 115

START_TEST(a_line_goes_from_edge_to_edge)
{
    rgb p = drawn("plot(arange(0, 50), thickness=3)");
    const spread s = spread_of(&p, FIRST);
    ck_assert_int_eq(p.width, 640);
    ck_assert_int_eq(p.height, 400);
    ck_assert_msg(s.x1 - s.x0 > 0.85 && s.y1 - s.y0 > 0.7, "%g %g", s.x1 - s.x0, s.y1 - s.y0);
    ck_assert_int_eq(spread_of(&p, SECOND).n, 0);
    free(p.at);
}
END_TEST

/* Each series its colour: columns of a high matrix, rows of a wide one, or as is said. */
START_TEST(series_are_the_shorter_side)
{
    static const struct {
        const char *text;
        bool has_second, has_third;
    } of[] = { { "plot(reshape(arange(0, 60), [20, 3]), thickness=3)", true, true },
               { "plot(reshape(arange(0, 40), [2, 20]), thickness=3)", true, false },
               { "plot(reshape(arange(0, 60), [20, 3]), series=columns, thickness=3)", true, true },
               { "plot(reshape(arange(0, 4), [4, 1]), thickness=3)", false, false },
               { "plot(reshape(arange(0, 40), [20, 2]), kind=scatter, thickness=3)", false, false },
               { "plot(reshape(arange(0, 60), [20, 3]), kind=scatter, thickness=3)", true, false },
               { "plot(histogram(fill(9, 9, [1 200 90], channels=3), bins=8), kind=bars)", true, true } };
    rgb p = drawn(of[_i].text);
    ck_assert_int_gt(spread_of(&p, FIRST).n, 0);
    ck_assert_msg((spread_of(&p, SECOND).n > 0) == of[_i].has_second, "%s", of[_i].text);
    ck_assert_msg((spread_of(&p, THIRD).n > 0) == of[_i].has_third, "%s", of[_i].text);
    free(p.at);
}
END_TEST

/* Of three bars the middle one is missing; they stand on 0. */
START_TEST(what_is_not_finite_is_a_gap)
{
    rgb p = drawn("plot(log(numbers([7, -1, 3])), kind=bars, width=300, height=200)");
    int runs = 0;
    const int64_t row = p.height - 40; /* above the labels */
    for (int64_t x = 1; x < p.width; x++)
        runs += is_near(p.at + 3 * (row * p.width + x), FIRST) && !is_near(p.at + 3 * (row * p.width + x - 1), FIRST);
    ck_assert_int_eq(runs, 2);
    const spread s = spread_of(&p, FIRST);
    ck_assert(s.x0 < 0.3 && s.x1 > 0.8);
    free(p.at);
}
END_TEST

/* Of bars that all are 1 a row of pixels has the colour, however many there are. */
START_TEST(bars_have_their_colour_however_narrow) /* _i: how many */
{
    static const int many[] = { 100, 300, 579, 600, 2000, 65536 };
    const int n = many[_i];
    char text[80];
    snprintf(text, sizeof text, "plot(ones([%d]), kind=bars)", n);
    rgb p = drawn(text);
    const unsigned char *row = p.at + 3 * (p.height / 2) * p.width;
    int64_t first = -1, last = -1;
    for (int64_t x = 0; x < p.width; x++)
        if (is_near(row + 3 * x, FIRST)) {
            if (first < 0) first = x;
            last = x;
        }
    ck_assert_msg(last - first > 500, "%d: from %d to %d", n, (int)first, (int)last);
    const double each = (double)(last + 1 - first) / n;
    for (int k = 0; k < n; k++) {
        const unsigned char *middle = row + 3 * (first + (int64_t)((k + 0.5) * each));
        ck_assert_msg(middle[0] == 0 && middle[1] == 114 && middle[2] == 178, "%d: bar %d", n, k);
    }
    for (int64_t x = first; x <= last && n > 100; x++)
        ck_assert_msg(row[3 * x] == 0 && row[3 * x + 1] == 114 && row[3 * x + 2] == 178, "%d: %d", n, (int)x);
    free(p.at);
}
END_TEST

/* One of many elements is seen, up and down; narrow bars of several series hide none. */
START_TEST(an_extreme_of_many_is_seen)
{
    static const char *const of[] = {
        "plot((arange(0, 65536) == 30000) - 1.0 * (arange(0, 65536) == 50000), kind=bars)",
        "plot((arange(0, 65536) == 30000) - 1.0 * (arange(0, 65536) == 50000))",
        "plot((arange(0, 65536) == 30000) - 1.0 * (arange(0, 65536) == 50000), log=x, dx=2, x0=50, kind=bars)",
    };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        rgb p = drawn(of[k]);
        const spread s = spread_of(&p, FIRST);
        ck_assert_msg(s.y1 - s.y0 > 0.75, "%s: %g to %g", of[k], s.y0, s.y1);
        free(p.at);
    }
    rgb p = drawn("plot(ones([256, 3]), kind=bars)");
    const spread a = spread_of(&p, FIRST), b = spread_of(&p, SECOND), c = spread_of(&p, THIRD);
    ck_assert_msg(llabs(a.n - b.n) < a.n / 20 && llabs(a.n - c.n) < a.n / 20, "%d %d %d", (int)a.n, (int)b.n, (int)c.n);
    ck_assert_msg(a.n + b.n + c.n > p.width * p.height * 3 / 4, "%d", (int)a.n);
    free(p.at);
}
END_TEST

/* With many points a column is drawn once, with the pixels that all of them would have. */
START_TEST(many_points_are_the_line_of_all)
{
    rgb p = drawn("plot(reshape(numbers([0, 1; 0, 1]) + zeros([2, 2]), [4]), width=200, height=120)");
    rgb q = drawn("plot(arange(0, 100000) % 2, width=200, height=120)");
    const spread a = spread_of(&p, FIRST), b = spread_of(&q, FIRST);
    ck_assert(fabs(a.x0 - b.x0) < 0.02 && fabs(a.x1 - b.x1) < 0.02 && fabs(a.y0 - b.y0) < 0.02 &&
              fabs(a.y1 - b.y1) < 0.02);
    const double inside = (b.x1 - b.x0) * (b.y1 - b.y0) * 200 * 120;
    ck_assert_msg((double)b.n > 0.95 * inside, "%d of %g", (int)b.n, inside);
    free(p.at);
    free(q.at);
}
END_TEST

/* ---- who waits ----------------------------------------------------------------------------------- */

static imgpar_status third_time(void *user)
{
    int *n = user;
    return ++*n >= 3 ? IMGPAR_E_INTERRUPTED : IMGPAR_OK;
}

static double some_number(const void *user, int64_t row, int64_t column)
{
    (void)user;
    return (double)((row * 7919 + column * 104729) % 1009);
}

START_TEST(drawing_stops_when_it_is_told) /* _i: kind */
{
    const ip_plot plot = { .kind = (ip_plot_kind)_i,
                           .at = some_number,
                           .rows = 40,
                           .columns = 1 << 20,
                           .by_rows = true,
                           .dx = 1,
                           .lo = NAN,
                           .hi = NAN,
                           .size = 13,
                           .thickness = 1.5,
                           .title = "",
                           .x_label = "",
                           .y_label = "",
                           .legend = "" };
    unsigned char *data = malloc(640 * 400 * 3);
    int n = 0;
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(ip_plot_draw(&plot, data, 640, 400, third_time, &n), IMGPAR_E_INTERRUPTED);
    ck_assert_int_eq(n, 3);
    free(data);
}
END_TEST

START_TEST(words_stop_when_they_are_told)
{
    enum { SIZE = 2000 };
    int n = 0;
    ip_watch watch = { .ask = third_time, .user = &n };
    const ip_canvas canvas = { calloc(SIZE, SIZE), SIZE, SIZE, &watch };
    const ip_lettering l = { .words = "@@@@@@@@@@", .size = 1200, .weight = 1000, .spacing = 1.2 };
    ck_assert_ptr_nonnull(canvas.cover);
    ip_lettering_draw(&l, &canvas, 0, 0);
    ck_assert_int_eq(watch.status, IMGPAR_E_INTERRUPTED);
    ck_assert_int_eq(n, 3);
    free(canvas.cover);
}
END_TEST

/* Dark pixels left of the data: labels, of an axis between two powers of ten, too. */
START_TEST(a_logarithmic_axis_has_labels_between_powers)
{
    rgb p = drawn("plot(linspace(2, 8, 50), log=y, thickness=2)");
    const spread s = spread_of(&p, FIRST);
    int n = 0;
    for (int64_t y = 0; y < p.height * 9 / 10; y++)
        for (int64_t x = 0; x < (int64_t)(s.x0 * (double)p.width) - 8; x++)
            n += p.at[3 * (y * p.width + x)] < 100;
    ck_assert_msg(n > 20, "%d dark pixels", n);
    free(p.at);
}
END_TEST

/* exp is a straight line over a logarithmic axis: in the middle at half of the height. */
START_TEST(an_axis_may_have_logarithms)
{
    rgb p = drawn("plot(exp(linspace(0, 9, 101)), log=y, thickness=2)"), q = drawn("plot(exp(linspace(0, 9, 101)), "
                                                                                   "thickness=2)");
    for (int way = 0; way < 2; way++) {
        const rgb *of = way ? &q : &p;
        const spread s = spread_of(of, FIRST);
        const int64_t x = (int64_t)((s.x0 + s.x1) / 2 * (double)of->width);
        double y = 0, n = 0;
        for (int64_t k = 0; k < of->height; k++)
            if (is_near(of->at + 3 * (k * of->width + x), FIRST)) {
                y += (double)k / (double)of->height;
                n++;
            }
        ck_assert(n > 0);
        const double height = (y / n - s.y0) / (s.y1 - s.y0);
        ck_assert_msg(way ? height > 0.9 : fabs(height - 0.5) < 0.03, "%g", height);
    }
    free(p.at);
    free(q.at);
}
END_TEST

/* Cells of the least and the largest number have the ends' colours, one without a number is gray. */
START_TEST(heat_has_a_cell_for_each_element)
{
    rgb p = drawn("plot(sqrt(numbers([0, 4; -1, 100])), kind=heat, width=300, height=200)");
    const unsigned char *low = p.at + 3 * (60 * 300 + 80), *none = p.at + 3 * (150 * 300 + 80),
                        *high = p.at + 3 * (150 * 300 + 200);
    ck_assert(is_near(low, 24, 16, 72) && is_near(none, 200, 200, 200) && is_near(high, 250, 232, 80));
    free(p.at);
}
END_TEST

/* Words change the picture, and nothing else where the data is. */
START_TEST(words_stand_beside_the_data)
{
    rgb p = drawn("plot(arange(0, 9))"), q = drawn("plot(arange(0, 9), title=\"T\", xlabel=\"X\", ylabel=\"\\u00c4\", "
                                                   "legend=\"one\")");
    const spread a = spread_of(&p, FIRST), b = spread_of(&q, FIRST);
    ck_assert(b.y0 > a.y0 && b.x0 > a.x0);
    rgb above_p = { p.width, 8, p.at }, above_q = { q.width, 8, q.at };
    ck_assert_int_eq(spread_of(&above_p, 32, 32, 32).n, 0);
    ck_assert_int_gt(spread_of(&above_q, 32, 32, 32).n, 0);
    free(p.at);
    free(q.at);
}
END_TEST

/* Nothing to see, or too much. */
START_TEST(any_numbers_have_a_picture)
{
    static const char *const of[] = {
        "plot(zeros([1]))",
        "plot(sqrt(zeros([5]) - 1))",
        "plot(full([5], 7))",
        "plot(full([5], 1e300, dtype=f64))",
        "plot(numbers([-1e308, 1e308], dtype=f64))",
        "plot(zeros([5]), log=both)",
        "plot(arange(0, 5) > 2, kind=bars)",
        "plot(arange(0, 1000), kind=bars, width=64, height=64, title=\"a title that is too long for it\")",
        "plot(zeros([3, 1]), kind=heat)",
        "plot(zeros([4]), kind=scatter)",
        "plot(1 / zeros([4]), kind=heat)",
        "plot(arange(0, 9), lo=5)",
        "plot(arange(0, 9) + 2e-310, log=y)",
        "plot(arange(0, 9), dx=-2, x0=100)",
        "plot(arange(0, 9, dtype=u8), size=300)",
        "plot(fill(9, 4, 3))",
        "plot(zeros([0]))",
        "plot(zeros([0, 3]), kind=heat)",
    };
    rgb p = drawn(of[_i]);
    ck_assert_int_gt(spread_of(&p, 255, 255, 255).n, 0);
    free(p.at);
}
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "plot(fill(4, 4, 1, channels=3))", "plot: a is [4, 4, 3] u8; it must be a vector or a matrix of numbers" },
    { "plot(zeros([2, 2, 2, 2]))", "plot: a is [2, 2, 2, 2] f32; it must be a vector or a matrix of numbers" },
    { "plot($1, kind=pie)", "plot: kind=pie is not one of line, bars, scatter, heat" },
    { "plot($1, dx=0)", "plot: dx must not be 0" },
    { "plot($1, lo=5, hi=2)", "plot: lo=5 is not below hi=2" },
    { "plot($1, lo=2, hi=2)", "plot: lo=2 is not below hi=2" },
    { "plot(zeros([65, 65]))", "plot: a is [65, 65] f32, which has 65 series; 64 are the limit, but of kind=heat" },
    { "plot($1, title=5)", "plot: title must be a text" },
    { "plot(fft($1))", "complex" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, ticks_are_at_round_numbers, 0, (int)(sizeof ticks / sizeof *ticks));
    tcase_add_test(tc, ticks_are_few_and_inside);
    tcase_add_test(tc, a_line_goes_from_edge_to_edge);
    tcase_add_loop_test(tc, series_are_the_shorter_side, 0, 7);
    tcase_add_test(tc, what_is_not_finite_is_a_gap);
    tcase_add_loop_test(tc, bars_have_their_colour_however_narrow, 0, 6);
    tcase_add_test(tc, an_extreme_of_many_is_seen);
    tcase_add_test(tc, many_points_are_the_line_of_all);
    tcase_add_loop_test(tc, drawing_stops_when_it_is_told, 0, 4);
    tcase_add_test(tc, words_stop_when_they_are_told);
    tcase_add_test(tc, an_axis_may_have_logarithms);
    tcase_add_test(tc, a_logarithmic_axis_has_labels_between_powers);
    tcase_add_test(tc, heat_has_a_cell_for_each_element);
    tcase_add_test(tc, words_stand_beside_the_data);
    tcase_add_loop_test(tc, any_numbers_have_a_picture, 0, 17);
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("plot", tc);
}
