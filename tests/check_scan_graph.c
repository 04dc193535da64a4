/* SPDX-License-Identifier: MIT */
/*
 * Recurrences in graphs: what must be equal, what fuses with them, their texts and messages. Names of tests are claims.
 */
#include "asserts.h"
#include "held.h"
#include "oracle.h"
#include "tier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static imgpar_context *ctx;

static void open_context(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}

static void close_context(void)
{
    imgpar_context_release(ctx);
    ctx = NULL;
}

static bool has_device(void) { return strcmp(imgpar_context_device(ctx)->kind, "ref") != 0; }

static void schedule(const char *name) { ck_assert_int_eq(imgpar_context_set(ctx, "schedule", name), IMGPAR_OK); }

/* A line of n elements. */
static imgpar_array *line_of(imgpar_dtype dtype, int64_t n)
{
    picture p = picture_new(dtype, 1, n, 1);
    picture_fill(&p, FILL_ANY, 5);
    void *bytes = picture_bytes(&p);
    imgpar_array *a = imgpar_array_from_data(ctx, dtype, 1, &n, bytes);
    free(bytes);
    picture_free(&p);
    return a;
}

/* ---- what the language writes ------------------------------------------------------------------ */

static imgpar_array *apply(const char *text, imgpar_array *a)
{
    imgpar_array *r = imgpar_apply(ctx, text, &a, 1);
    ck_assert_msg(!imgpar_array_status(r), "%s: %s", text, imgpar_array_message(r));
    return r;
}

/* Both texts give the same bytes, by the interpreter and, in the full tier or if it is their turn, on the device. */
static void same(const char *text, const char *other, imgpar_array *a, bool is_their_turn)
{
    static const char *const ways[] = { "ref", "auto" };
    imgpar_array *r = apply(text, a), *s = apply(other, a);
    imgpar_info info = { .struct_size = sizeof info }, info2 = { .struct_size = sizeof info2 };
    imgpar_array_info(r, &info);
    imgpar_array_info(s, &info2);
    ck_assert_msg(info.dtype == info2.dtype && info.size_bytes == info2.size_bytes, "%s and %s have different types",
                  text, other);
    bool on_device = has_device() && (is_their_turn || test_tier_is_full());
    for (int k = 0; k < (on_device ? 2 : 1); k++) {
        void *x = malloc(info.size_bytes + 1), *y = malloc(info.size_bytes + 1);
        schedule(ways[k]);
        ck_assert_msg(!imgpar_array_read(r, x, info.size_bytes), "%s: %s", text, imgpar_array_message(r));
        ck_assert_msg(!imgpar_array_read(s, y, info.size_bytes), "%s: %s", other, imgpar_array_message(s));
        ck_assert_msg(memcmp(x, y, info.size_bytes) == 0, "%s and %s differ by %s", text, other, ways[k]);
        free(x);
        free(y);
    }
    imgpar_array_release(r);
    imgpar_array_release(s);
}

START_TEST(what_must_be_equal_is_equal)
{
    static const struct {
        const char *text, *other;
    } rows[] = {
        { "scan($1, \"sum\", axis=1)", "cumsum($1, axis=1)" },
        { "scan($1, sum, 1)", "scan($1, op=\"sum\", axis=-2)" },
        { "scan(cast($1, i32), 0, (p, q) -> p + q, axis=1)", "cast(cumsum($1, axis=1), i64)" },
        { "scan($1, 255, (p, q) -> min(p, q), axis=2, reverse=true)", "cast(cummin($1, axis=2, reverse=true), i32)" },
        { "scan($1, 0, (p, q) -> max(p, q), exclusive=true)", "cast(cummax($1, exclusive=true), i32)" },
        { "cumsum($1, axis=1, exclusive=true) + $1", "cumsum($1, axis=1)" },
        { "flip(cumsum(flip($1), axis=1))", "cumsum($1, axis=1, reverse=true)" },
        { "transpose(cumsum(transpose($1), axis=1))", "cumsum($1, axis=0)" },
        { "crop(cumsum($1, axis=0), 7, 5, 11, 13)", "crop(cumsum(crop($1, 7, 0, 11, 18), axis=0), 0, 5, 11, 13)" },
        { "crop(cumsum($1, axis=1, reverse=true), 30, 5, 7, 13)",
          "crop(cumsum(crop($1, 30, 5, 31, 13), axis=1, reverse=true), 0, 0, 7, 13)" },
        { "cumsum($1 * 2 + 1, axis=0) - 3", "cumsum($1, axis=0) * 2 + cumsum($1 * 0 + 1, axis=0) - 3" },
        { "boxblur(cummax(boxblur($1, size=3), axis=1), size=3)",
          "boxblur(maximum(cummax(boxblur($1, size=3), axis=1), 0), size=3)" },
        { "recursive($1 * 0 + 77, [0.25], [-0.75], axis=1)", "$1 * 0 + 77" },
        { "cast(cumsum($1, axis=1) * 2 + $1, i32)", "cast(cumsum($1 * 2, axis=1) + $1, i32)" },
        { "cast(recursive($1 * 0.5, [0.25], [-0.75], axis=1) + 0.5, u8)",
          "cast(maximum(recursive($1 * 0.5, [0.25], [-0.75], axis=1), 0) + 0.5, u8)" },
        { "gray(cumsum(cast($1, f32), axis=2))", "gray(crop(cumsum(cast($1, f32), axis=2), 0, 0, 61, 47))" },
        { "recursive($1, [1], [0], axis=0)", "linear($1, 1)" },
        { "recursive(cast($1, i32), [1], [-1], axis=1, start=zero)", "cast(cumsum($1, axis=1), i32)" },
        { "recursive(cast($1, i32), [1 1], [0], axis=1, start=zero)",
          "cast($1, i32) + stencil($1[0, -1], border=zero)" },
    };
    picture p = picture_new(IMGPAR_U8, 47, 61, 3);
    open_context();
    picture_fill(&p, FILL_ANY, 3);
    imgpar_array *a = picture_array(ctx, &p);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        same(rows[k].text, rows[k].other, a, k % 2 == 0);
    imgpar_array_release(a);
    picture_free(&p);
    close_context();
}
END_TEST

START_TEST(a_scans_last_element_is_the_sum)
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_I16, IMGPAR_I32, IMGPAR_U64 };
    static const int64_t lengths[] = { 1, 97, 33000 };
    open_context();
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            imgpar_array *a = line_of(dtypes[d], lengths[k]);
            char text[80];
            snprintf(text, sizeof text, "crop(cumsum($1), %d, 0, 1, 1)", (int)lengths[k] - 1);
            same(text, "sum($1)", a, d % 2 == 0);
            same("crop(cumsum($1, reverse=true), 0, 0, 1, 1)", "sum($1)", a, d % 2 == 1);
            imgpar_array_release(a);
        }
    close_context();
}
END_TEST

START_TEST(a_function_over_long_lines_is_the_operator)
{
    open_context();
    imgpar_array *a = line_of(IMGPAR_F32, 70001);
    same("scan($1, 0, (p, q) -> p + q)", "cumsum($1)", a, true);
    same("scan($1, 0, (p, q) -> p + q, reverse=true, exclusive=true)", "cumsum($1, reverse=true, exclusive=true)", a,
         true);
    imgpar_array_release(a);
    close_context();
}
END_TEST

/* ---- kernels -------------------------------------------------------------------------------------- */

static int occurrences(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

START_TEST(maps_fuse_into_recurrences)
{
    static const struct {
        const char *text;
        int kernels;
        const char *says;
    } rows[] = {
        { "cumsum($1, axis=0)", 1, "walks   rows, first to last" },
        { "cumsum(sqrt($1 * 2.5 + 1), axis=1, reverse=true)", 1, "walks   columns, last to first" },
        { "recursive(invert($1), [0.25], [-0.75], axis=1)", 1, "walks   columns" },
        { "cumsum(transpose(invert($1)), axis=2)", 1, "walks   channels" },
        { "cumsum($1, axis=0) * 2 + $1", 1, "walks   rows" },
        { "threshold(recursive(cast($1, f32), [0.25], [-0.75], axis=1), 100)", 1, "walks   columns" },
        { "cast(cumsum($1, axis=2) div 3, u8)", 1, "walks   channels" },
        { "cumsum($1, axis=0) + cumsum($1, axis=1)", 3, "a recurrence walks whole lines" },
        { "cumsum(boxblur($1), axis=0)", 2, "a recurrence reads it" },
        { "boxblur(cumsum(cast($1, f32), axis=0))", 2, "a recurrence walks whole lines" },
        { "cumsum(cumsum($1, axis=0), axis=1)", 2, "a recurrence walks whole lines" },
    };
    picture p = picture_new(IMGPAR_U8, 13, 17, 3);
    open_context();
    picture_fill(&p, FILL_ANY, 3);
    imgpar_array *a = picture_array(ctx, &p);
    for (size_t k = 0; k < sizeof rows / sizeof *rows && strcmp(imgpar_context_device(ctx)->kind, "cpu") == 0; k++) {
        imgpar_array *r = apply(rows[k].text, a);
        char *text = NULL;
        ck_assert_int_eq(imgpar_array_explain(r, "text", &text), IMGPAR_OK);
        ck_assert_msg(occurrences(text, "\nkernel ") == rows[k].kernels, "%s: not %d kernels:\n%s", rows[k].text,
                      rows[k].kernels, text);
        ck_assert_msg(strstr(text, rows[k].says) != NULL, "%s: does not say \"%s\":\n%s", rows[k].text, rows[k].says,
                      text);
        imgpar_free(text);
        imgpar_array_release(r);
    }
    imgpar_array_release(a);
    picture_free(&p);
    close_context();
}
END_TEST

/* ---- messages ----------------------------------------------------------------------------------------- */

START_TEST(mistakes_are_told)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "cumsum($1, axis=3)", "cumsum: there is no axis 3; a has 3 axes: [13, 17, 3]" },
        { "cumsum($1, axis=-4)", "cumsum: there is no axis -4; a has 3 axes: [13, 17, 3]" },
        { "cumsum($1, axis=8)", "cumsum: axis=8 is above 7" },
        { "scan($1)", "scan: op is missing" },
        { "scan($1, \"mean\")", "scan: op=mean is not one of sum, prod, min, max, and, or, xor, any, all" },
        { "scan($1, mean)", "scan: op=mean is not one of sum, prod, min, max, and, or, xor, any, all" },
        { "scan($1 * 0.5, \"and\")", "scan: and, or and xor take integers and bool, not f32" },
        { "scan($1, 0)", "scan: function is missing" },
        { "scan($1, 0, 7)", "scan: a function such as (p, q) -> p + q is expected, not a number" },
        { "scan($1, 0, (p, q) -> p + width($1) * p, axis=9)", "scan: axis=9 is above 7" },
        { "scan($1, 0, (p, q) -> max(p, q), axis=-4)", "scan: there is no axis -4; a has 3 axes: [13, 17, 3]" },
        { "scan($1, 0, (p, q) -> max(p, q), exclusive=2)", "scan: exclusive must be true or false, not a number" },
        { "recursive($1, [1 2 3 4 5 6 7 8 9 10], [0])",
          "recursive: feedforward has 10 numbers; at most 9 are possible" },
        { "recursive($1, [1], [0 1 2 3 4 5 6 7 8])", "recursive: feedback has 9 numbers; at most 8 are possible" },
        { "recursive($1, [1], [-1])",
          "recursive: feedback adds up to -1, which has no steady state; write start=zero" },
        { "recursive(cast($1, i64), [1], [0])", "recursive: i64 is not offered; cast it to f64 or i32 first" },
        { "recursive($1, [1])", "recursive: feedback is missing" },
    };
    picture p = picture_new(IMGPAR_U8, 13, 17, 3);
    open_context();
    imgpar_array *a = picture_array(ctx, &p);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        imgpar_array *r = imgpar_apply(ctx, rows[k].text, &a, 1);
        ck_assert_msg(imgpar_array_status(r) != IMGPAR_OK, "%s is accepted", rows[k].text);
        ck_assert_msg(strstr(imgpar_array_message(r), rows[k].message) != NULL, "%s: %s", rows[k].text,
                      imgpar_array_message(r));
        imgpar_array_release(r);
    }
    imgpar_array_release(a);
    picture_free(&p);
    close_context();
}
END_TEST

START_TEST(a_graphs_text_can_be_read_again)
{
    static const char *const texts[] = {
        "scan($1, 5, (p, q) -> max(p, q), axis=1, exclusive=true)",
        "scan($1, \"xor\", axis=2, reverse=true)",
        "recursive($1, [0.5 0.25], [-0.5], axis=1, start=zero)",
        /* one state, as a record, alone and in a step */
        "scan(zip(s=$1), zip(s=0), (p, q) -> zip(s=p.s + q.s), associative=true).s",
        "scan(zip(s=$1), zip(s=0), (p, q) -> zip(s=p.s + q.s), axis=1, exclusive=true, reverse=true, "
        "associative=true).s",
        "scan($1, zip(s=0), (p, q) -> zip(s=p.s % 7 + q), axis=1).s",
        "iterate($1, 2, b -> scan(b, zip(s=0), (p, q) -> zip(s=p.s % 9 + q % 7), axis=1).s)",
        "iterate($1 * 0.5, 2, b -> b * 0.5 + scan(zip(s=b), zip(s=1), (p, q) -> zip(s=p.s * q.s), axis=2, "
        "associative=true).s)",
        /* several */
        "scan(zip(s=$1, m=$1), zip(s=0, m=0), (p, q) -> zip(s=p.s + q.s, m=max(p.m, q.m)), axis=1, associative=true).m",
        "scan($1, zip(n=0, s=1.5), (p, q) -> zip(n=p.n + 1, s=p.s * 0.5 + q), reverse=true).s",
        "iterate($1 * 0.5, 2, b -> scan(b, zip(s=0, m=1), (p, q) -> zip(s=p.s * 0.5 + q, m=p.m * 0.5 + p.s), "
        "axis=1).m)",
        "iterate($1 * 0.5, 2, b -> scan(zip(s=b, m=b), zip(s=0, m=0), (p, q) -> zip(s=p.s + q.s, m=max(p.m, q.m)), "
        "associative=true).m * 0.1)",
        "iterate($1 * 0.5, 2, b -> scan((b, b + 1), zip(s=0, m=1), (p, q, r) -> zip(s=p.s * 0.5 + q, m=p.s + r), "
        "axis=2).s + scan(b, zip(s=0, m=1), (p, q) -> zip(s=p.s * 0.5 + q, m=p.s), axis=1).m)",
        "iterate($1 * 0.5, 2, b -> iterate(b, 2, d -> d * 0.5 + scan(b, zip(s=0, m=1), (p, q) -> zip(s=p.s * 0.5 + q, "
        "m=p.s), axis=1).m))",
        "scan($1, zip(s=slice($1, 0, 1, axis=1), m=1), (p, q) -> zip(s=max(p.s, q), m=p.m % 5 + q), axis=1).m",
        /* folds and loops */
        "reduce($1, zip(s=0, m=1), (p, q) -> zip(s=p.s * 0.5 + q, m=p.m * 0.5 + p.s), axis=0).m",
        "reduce(zip(s=$1, m=$1), zip(s=0, m=0), (p, q) -> zip(s=p.s + q.s, m=max(p.m, q.m)), associative=true).m",
        "iterate($1 * 0.5, 2, b -> b + reduce(b, zip(s=0, m=1), (p, q) -> zip(s=p.s * 0.5 + q, m=p.s), axis=0, "
        "keepdims=true).m)",
        "iterate(zip(u=$1 * 0.5, v=$1 * 2.0), 3, s -> zip(u=s.v * 0.5, v=s.u + 1)).v",
        "iterate($1 * 0.5, 2, b -> iterate(zip(u=b, v=b + 1), 3, s -> zip(u=s.v * 0.5, v=s.u + 1)).v)",
        "iterate($1 * 0.5, 9, b -> b * 0.5 + scan(b, zip(s=0, m=1), (p, q) -> zip(s=p.s * 0.5 + q, m=p.s), axis=1).m * "
        "0.01, until=b -> maxval(b) < 20)",
        "iterate($1 * 0.5, 2, b -> b * 0.5 + recursive(b, [0.5 0.25], [-0.5], axis=1, start=zero))",
    };
    picture p = picture_new(IMGPAR_I32, 13, 17, 3);
    open_context();
    picture_fill(&p, FILL_SMALL, 1);
    imgpar_array *a = picture_array(ctx, &p);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        imgpar_array *r = apply(texts[k], a);
        char *text = NULL;
        ck_assert_int_eq(imgpar_array_explain(r, "graph", &text), IMGPAR_OK);
        same(texts[k], text, a, k % 3 == 0);
        imgpar_free(text);
        imgpar_array_release(r);
    }
    imgpar_array_release(a);
    picture_free(&p);
    close_context();
}
END_TEST

/* Quasar's loop: im[m, n, p] = 0.3 im[m-1, n-1, p] + 0.4 im[m-2, n-2, p] + 0.3 im[m, n, p]. */
START_TEST(a_wavefront_is_the_loop_over_its_diagonals)
{
    enum { M = 37, N = 23, P = 3 };
    static float x[M][N][P], got[M][N][P];
    static double y[M][N][P];
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            for (int p = 0; p < P; p++) {
                x[m][n][p] = (float)((m * 31 + n * 17 + p * 7) % 101);
                y[m][n][p] = 0.3 * (double)x[m][n][p];
                if (m >= 1 && n >= 1) y[m][n][p] += 0.3 * y[m - 1][n - 1][p];
                if (m >= 2 && n >= 2) y[m][n][p] += 0.4 * y[m - 2][n - 2][p];
            }
    imgpar_context *own;
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &own), IMGPAR_OK);
    imgpar_array *a = imgpar_array_from_data(own, IMGPAR_F32, 3, (int64_t[]){ M, N, P }, x);
    for (int k = 0; k < 2; k++) {
        imgpar_array *w = imgpar_wavefront(a, (double[]){ 0.3 }, 1, (double[]){ -0.3, -0.4 }, 2);
        ck_assert_int_eq(imgpar_context_set(own, "schedule", k ? "ref" : "auto"), IMGPAR_OK);
        ck_assert_msg(imgpar_array_read(w, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(w));
        imgpar_array_release(w);
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++)
                for (int p = 0; p < P; p++)
                    ck_assert_msg(fabs((double)got[m][n][p] - y[m][n][p]) < 1e-4, "at %d %d %d: %g, not %g", m, n, p,
                                  (double)got[m][n][p], y[m][n][p]);
    }
    imgpar_array_release(a);
    imgpar_context_release(own);
}
END_TEST

/* ---- in order --------------------------------------------------------------------------------- */

/* What text makes of a, n numbers of i64, by the interpreter and on the device. */
static void gives(const char *text, imgpar_array *a, const int64_t *want, size_t n)
{
    int64_t *got = malloc(n * sizeof *got);
    ck_assert_ptr_nonnull(got);
    for (int k = 0; k < (has_device() ? 2 : 1); k++) {
        imgpar_array *r = apply(text, a);
        schedule(k ? "auto" : "ref");
        ck_assert_msg(!imgpar_array_read(r, got, n * sizeof *got), "%s: %s", text, imgpar_array_message(r));
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(got[i] == want[i], "%s: element %zu is %lld, not %lld (%s)", text, i, (long long)got[i],
                          (long long)want[i], k ? "device" : "ref");
        imgpar_array_release(r);
    }
    free(got);
}

/* Lines of more than a block, and more elements than a fold has work-items: the function is not associative, and the
 * sums do not start from their identity. */
START_TEST(elements_are_folded_in_order)
{
    enum { ROWS = 3, COLUMNS = 33001 };
    static int32_t a[ROWS][COLUMNS];
    static int64_t scanned[ROWS][COLUMNS], of_rows[ROWS], of_columns[COLUMNS];
    int64_t of_all = 1, sum = 10;
    open_context();
    for (int y = 0; y < ROWS; y++) {
        of_rows[y] = 1;
        for (int x = 0; x < COLUMNS; x++) {
            a[y][x] = (x * 31 + y * 7) % 101;
            scanned[y][x] = of_rows[y] = a[y][x] - of_rows[y];
            of_columns[x] = a[y][x] - (y ? of_columns[x] : 1);
            of_all = a[y][x] - of_all;
            sum += a[y][x];
        }
    }
    imgpar_array *lines = imgpar_array_from_data(ctx, IMGPAR_I32, 2, (int64_t[]){ ROWS, COLUMNS }, a);
    gives("scan($1, 1, (p, q) -> q - p, axis=1)", lines, scanned[0], (size_t)ROWS * COLUMNS);
    gives("reduce($1, 1, (p, q) -> q - p, axis=1)", lines, of_rows, ROWS);
    gives("reduce($1, 1, (p, q) -> q - p, axis=0)", lines, of_columns, COLUMNS);
    gives("reduce($1, 1, (p, q) -> q - p, axis=[0 1])", lines, &of_all, 1);
    gives("reduce($1, 1, (p, q) -> q - p)", lines, &of_all, 1);
    gives("reduce($1, 10, (p, q) -> p + q)", lines, &sum, 1);
    gives("slice(scan(reshape($1, [-1]), 10, (p, q) -> q + p), 99002)", lines, &sum, 1);
    gives("reduce($1, 0, (p, q) -> q * 1 + p, associative=true) + 10", lines, &sum, 1);
    gives("reduce(slice($1, 0, 0), 5, (p, q) -> q - p)", lines, (int64_t[]){ 5 }, 1);
    gives("reduce($1 + 1000000000, 0, (p, q) -> p + q) - sum($1 + 1000000000) + 7", lines, (int64_t[]){ 7 }, 1);
    imgpar_array_release(lines);
    close_context();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scan graphs");
    TCase *c = tcase_create("scan graphs");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, what_must_be_equal_is_equal);
    tcase_add_test(c, a_scans_last_element_is_the_sum);
    tcase_add_test(c, a_function_over_long_lines_is_the_operator);
    tcase_add_test(c, elements_are_folded_in_order);
    tcase_add_test(c, maps_fuse_into_recurrences);
    tcase_add_test(c, mistakes_are_told);
    tcase_add_test(c, a_graphs_text_can_be_read_again);
    tcase_add_test(c, a_wavefront_is_the_loop_over_its_diagonals);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
