/* SPDX-License-Identifier: MIT */
/*
 * Branches, `c ? a : b` with one number for c: what comes out is the side that is taken, computed alone, and nothing is
 * done for the other one.
 */
#include "asserts.h"
#include "held.h"

#include <imgpar.h>
#include <imgpar_ops.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { H = 704, W = 500, C = 3, N = H * W * C };
static const int64_t shape[] = { H, W, C };

static const char *const selectors[] = { NULL, "ref", "cpu/2" };
enum { N_SELECTORS = sizeof selectors / sizeof *selectors };

static imgpar_context *ctx;
static bool has_device;

static void open_context(const char *selector)
{
    if (selector && getenv("IMGPAR_DEVICE")) selector = NULL; /* who names a device wants to see no other */
    imgpar_context_release(ctx);
    ctx = NULL;
    if (imgpar_context_new(selector, &ctx)) /* a CPU that is not divided */
        ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    has_device = strcmp(imgpar_context_device(ctx)->kind, "ref") != 0;
}

static void set_up(void)
{
    hold_driver();
    open_context(NULL);
}

static void tear_down(void)
{
    imgpar_context_release(ctx);
    ctx = NULL;
}

/* A picture with a mean near 127 that every filter changes. */
static imgpar_array *picture(void)
{
    uint8_t *pixels = malloc(N);
    ck_assert_ptr_nonnull(pixels);
    unsigned seed = 7;
    for (int k = 0; k < N; k++) {
        seed = seed * 1664525u + 1013904223u;
        pixels[k] = (uint8_t)(seed >> 24);
    }
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, pixels);
    free(pixels);
    return a;
}

/* The elements of what text makes of the picture; the caller frees them. *done: what the context did for it. */
static void *compute(const char *text, size_t *size, imgpar_info *info, imgpar_counters *done)
{
    imgpar_counters before = { .struct_size = sizeof before };
    *done = before;
    imgpar_array *a = picture(), *out = imgpar_apply(ctx, text, &a, 1);
    *info = (imgpar_info){ .struct_size = sizeof *info };
    ck_assert_msg(!imgpar_array_info(out, info), "%s: %s", text, imgpar_array_message(out));
    void *elements = malloc(info->size_bytes);
    ck_assert_ptr_nonnull(elements);
    imgpar_context_counters(ctx, &before);
    ck_assert_msg(!imgpar_array_read(out, elements, info->size_bytes), "%s: %s", text, imgpar_array_message(out));
    imgpar_context_counters(ctx, done);
    done->kernels -= before.kernels;
    done->evaluations -= before.evaluations;
    done->decodes -= before.decodes;
    *size = info->size_bytes;
    imgpar_array_release(a);
    imgpar_array_release(out);
    return elements;
}

static void expect_same(const char *text, const char *as)
{
    size_t n, n_as;
    imgpar_info info, info_as;
    imgpar_counters done;
    void *got = compute(text, &n, &info, &done), *want = compute(as, &n_as, &info_as, &done);
    ck_assert_msg(n == n_as && info.dtype == info_as.dtype && info.white == info_as.white,
                  "%s: %zu bytes, not the %zu of %s", text, n, n_as, as);
    ck_assert_msg(memcmp(got, want, n) == 0, "%s is not %s", text, as);
    free(got);
    free(want);
}

/* A branch, and what it is. Where types meet, what is taken has the common one. */
static const struct {
    const char *text, *as;
} branches[] = {
    { "mean($1) > 10 ? invert($1) : median($1, 5)", "invert($1)" },
    { "mean($1) < 10 ? invert($1) : median($1, 5)", "median($1, 5)" },
    { "mean($1) > 10 ? $1 : blur($1, 3)", "$1" },
    { "invert(mean($1) > 10 ? blur($1, 3) : median($1, 5))", "invert(blur($1, 3))" },
    { "crop(blur(mean($1) > 10 ? erode($1, 3) : median($1, 5), 2), 100, 90, 300, 200)",
      "crop(blur(erode($1, 3), 2), 100, 90, 300, 200)" },
    { "mean($1) > 10 ? blur($1, 1) : cast($1, f32) * 0.5", "cast(blur($1, 1), f32)" },
    { "mean($1) > 10 ? gray($1) : median($1, 5)",
      "cast(gray($1) + median($1, 5) * 0, u8)" }, /* broadcast to three channels */
    { "mean($1) > 10 ? 7 : median($1, 5)", "cast(median($1, 5) * 0 + 7, u8)" },
    { "mean($1) > 10 ? 7.5 : cast(median($1, 5), f32)", "cast($1, f32) * 0 + 7.5" },
    { "select(mean($1) > 10, complex(cast($1, f32), 1), fft(cast($1, f32)))", "complex(cast($1, f32), 1)" },
    { "real(select(mean($1) < 10, fft(cast($1, f32)), cast($1, f32)))", "cast($1, f32)" },
    { "0.0 / sum($1 * 0) ? invert($1) : median($1, 5)", "invert($1)" }, /* NaN is not 0 */
    { "mean($1) > 10 ? (mean(median($1, 5)) < 10 ? blur($1, 9) : erode($1, 3)) : dilate($1, 3)", "erode($1, 3)" },
    { "mean(mean($1) > 10 ? $1 * 0 : blur($1, 2)) > 10 ? blur($1, 3) : invert($1)", "invert($1)" },
    { "(mean($1) > 10 ? blur($1, 3) : $1) + (mean($1) < 10 ? blur($1, 3) : $1)", "blur($1, 3) + $1" },
    { "m = median($1, 5)\nmean(m) > 10 ? invert(m) : m", "invert(median($1, 5))" },
    { "m = mean($1)\nm > 10 ? cast($1, f32) - m : blur(cast($1, f32), 2)", "cast($1, f32) - mean($1)" },
    { "around($1, 1, (p, q, dy, dx) -> mean($1) > 10 ? max(p, q) : median($1, 5), \"max\")",
      "around($1, 1, (p, q, dy, dx) -> max(p, q), \"max\")" },
    { "around($1, 1, (p, q, dy, dx) -> select(dy < 1 && dx < 1, median(q, 5), 0), \"max\")",
      "around($1, 1, (p, q, dy, dx) -> cast(median(q, 5) * (dy < 1 && dx < 1), u8), \"max\")" },
    { "mean(around($1, 1, (p, q, dy, dx) -> q * (dy < 1), \"max\")) > 0 ? invert($1) : median($1, 5)", "invert($1)" },
    { "take(reshape(mean($1) > 10 ? blur($1, 3) : median($1, 5), [-1]), cast(numbers([5 77 1034567]), i32))",
      "take(reshape(blur($1, 3), [-1]), cast(numbers([5 77 1034567]), i32))" },
    { "sum(mean($1) > 10 ? erode($1, 5) : median($1, 5), axis=1)", "sum(erode($1, 5), axis=1)" },
    { "m = iterate($1, 20, p -> erode(p, 3))\nmean(m) > 100 ? m : invert($1)", "invert($1)" },
};

START_TEST(a_branch_is_the_side_that_is_taken) /* _i: the row, and the device */
{
    open_context(selectors[_i % N_SELECTORS]);
    expect_same(branches[_i / N_SELECTORS].text, branches[_i / N_SELECTORS].as);
}
END_TEST

/* Steps, and the same without branches: a condition as large as the picture is none. */
static const struct {
    const char *text, *as;
} loops[] = {
    { "iterate($1, 8, p -> mean(p) > 127 ? invert(p) : dilate(p, 3))",
      "iterate($1, 8, p -> mean(p) + x * 0 > 127 ? invert(p) : dilate(p, 3))" },
    { "iterate($1, 30, p -> mean(p) > 127 ? invert(p) : dilate(p, 3))",
      "iterate($1, 30, p -> mean(p) + x * 0 > 127 ? invert(p) : dilate(p, 3))" },
    { "(a, b) = iterate(($1, cast(mean($1) * 0, i32)), 24, (p, n) -> ((mean(p) > 127 ? invert(p) : dilate(p, 3)), n + "
      "1))\n"
      "a",
      "(a, b) = iterate(($1, 0), 24, (p, n) -> ((mean(p) + x * 0 > 127 ? invert(p) : dilate(p, 3)), n + 1))\na" },
    /* eight sets of sides, more than plans are kept of */
    { "(a, b) = iterate(($1, cast(mean($1) * 0, i32)), 24, (p, n) -> (((n % 2 == 0 ? erode(p, 3) : $1) div 3 + "
      "(n div 2 % 2 == 0 ? dilate(p, 3) : $1) div 3 + (n div 4 % 2 == 0 ? invert(p) : median($1, 3)) div 3), n + 1))\n"
      "a",
      "(a, b) = iterate(($1, cast(mean($1) * 0, i32)), 24, (p, n) -> (((n + x * 0) % 2 == 0 ? erode(p, 3) : $1) div 3 "
      "+ "
      "((n + x * 0) div 2 % 2 == 0 ? dilate(p, 3) : $1) div 3 + "
      "((n + x * 0) div 4 % 2 == 0 ? invert(p) : median($1, 3)) div 3, n + 1))\na" },
    { "iterate($1, 40, p -> mean(p) > 127 ? invert(p) : dilate(p, 3), until=p -> minval(p) > 200)",
      "iterate($1, 40, p -> mean(p) + x * 0 > 127 ? invert(p) : dilate(p, 3), until=p -> minval(p) > 200)" },
};

START_TEST(steps_of_loops_take_sides_as_selects_do)
{
    open_context(selectors[_i % N_SELECTORS]);
    expect_same(loops[_i / N_SELECTORS].text, loops[_i / N_SELECTORS].as);
}
END_TEST

/* What is launched for a graph. */
static const struct {
    const char *text;
    int kernels, evaluations;
} counts[] = {
    { "mean($1) > 10 ? $1 : blur($1, 3)", 2, 3 }, /* the fold is two launches */
    { "invert(mean($1) > 10 ? blur($1, 3) : median($1, 5))", 3, 3 },
    { "m = median($1, 5)\nmean(m) > 10 ? blur(m, 2) : m", 3, 3 }, /* what both need is computed once */
    { "m = mean($1)\nm > 10 ? cast($1, f32) - m : blur(cast($1, f32), 2)", 3, 3 },
    { "p = crop($1, 0, 0, 64, 64)\nmean(p) > 10 ? invert(p) : blur(p, 2)", 3, 1 }, /* small ones stay selects */
    { "mean($1) > 10 ? invert($1) : $1 / 2 + 7", 3, 1 },                           /* so does arithmetic */
    { "p = crop($1, 0, 0, 300, 200)\nmean(p) > 10 ? sort(p, axis=0) : sort(p, axis=1)", 5, 3 }, /* a sort is dear */
};

START_TEST(only_the_side_that_is_taken_is_launched)
{
    size_t n;
    imgpar_info info;
    imgpar_counters done;
    if (!has_device || strcmp(imgpar_context_device(ctx)->kind, "cpu") != 0) return;
    free(compute(counts[_i].text, &n, &info, &done));
    ck_assert_msg(done.kernels == (uint64_t)counts[_i].kernels, "%s: %d kernels", counts[_i].text, (int)done.kernels);
    ck_assert_msg(done.evaluations == (uint64_t)counts[_i].evaluations, "%s: %d evaluations", counts[_i].text,
                  (int)done.evaluations);
}
END_TEST

/* Loops near branches, and the same with selects, which launch as many kernels at least. */
#define LOOP(OF) "iterate(" OF ", 9, q -> blur(q, 1), until=q -> maxval(q) < 1, check=1)"
static const struct {
    const char *text, *as;
} loops_once[] = {
    /* of a loop that starts from a branch */
    { "b = mean(" LOOP("$1") ") > 10 ? invert($1) : median($1, 5)\n" LOOP("b"),
      "b = mean(" LOOP("$1") ") + x * 0 > 10 ? invert($1) : median($1, 5)\n" LOOP("b") },
    /* a condition of a step that no step changes */
    { "iterate($1, 12, p -> mean(" LOOP("$1") ") > 10 ? invert(p) : median(p, 5))",
      "iterate($1, 12, p -> mean(" LOOP("$1") ") + x * 0 > 10 ? invert(p) : median(p, 5))" },
    /* a condition and a side of one loop */
    { "(p, n) = iterate(($1, 0), 9, (p, n) -> (blur(p, 1), n + 1), until=(p, n) -> maxval(p) < 1, check=1)\n"
      "n > 5 ? invert(p) : median(p, 5)",
      "(p, n) = iterate(($1, 0), 9, (p, n) -> (blur(p, 1), n + 1), until=(p, n) -> maxval(p) < 1, check=1)\n"
      "n + x * 0 > 5 ? invert(p) : median(p, 5)" },
    { "b = scan($1, 0, (p, q) -> max(p, q))\nmean(b) > 10 ? blur($1, 1) : median($1, 5)",
      "b = scan($1, 0, (p, q) -> max(p, q))\nmean(b) + x * 0 > 10 ? blur($1, 1) : median($1, 5)" },
};

START_TEST(no_loop_is_run_twice)
{
    enum { OWN = 4 }; /* kernels of a condition by itself */
    size_t n;
    imgpar_info info;
    imgpar_counters done, as_select;
    free(compute(loops_once[_i].text, &n, &info, &done));
    free(compute(loops_once[_i].as, &n, &info, &as_select));
    ck_assert_msg(done.kernels <= as_select.kernels + OWN, "%s: %d kernels, %d as a select", loops_once[_i].text,
                  (int)done.kernels, (int)as_select.kernels);
    expect_same(loops_once[_i].text, loops_once[_i].as);
}
END_TEST

START_TEST(many_small_branches_stay_selects)
{
    enum { MANY = 400 };
    static char text[MANY * 64];
    int length = snprintf(text, sizeof text, "a = crop($1, 0, 0, 32, 32)\nm = mean(a)\nv0 = a + 0\n");
    for (int k = 0; k < MANY; k++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "v%d = m > %d ? v%d + 1 : v%d\n", k + 1, k, k, k);
    snprintf(text + length, sizeof text - (size_t)length, "v%d", MANY);
    size_t n;
    imgpar_info info;
    imgpar_counters done;
    free(compute(text, &n, &info, &done));
    ck_assert_uint_eq(done.evaluations, 1);
}
END_TEST

/* A file that only the other side needs: neither decoded nor, where it is damaged, complained of. */
START_TEST(the_other_side_is_not_decoded)
{
    char path[] = "/tmp/check_branches-XXXXXX", text[256];
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    imgpar_array *a = picture();
    void *png = NULL;
    size_t n = 0;
    ck_assert_int_eq(
        imgpar_encode(a, &(imgpar_options){ .struct_size = sizeof(imgpar_options), .format = "png" }, &png, &n),
        IMGPAR_OK);
    ck_assert_int_eq(write(fd, png, n / 2), (ssize_t)(n / 2));
    close(fd);
    imgpar_free(png);
    snprintf(text, sizeof text, "mean($1) > 10 ? $1 : open(\"%s\")", path);
    imgpar_info info;
    imgpar_counters done;
    free(compute(text, &n, &info, &done));
    ck_assert_uint_eq(done.decodes, 0);
    snprintf(text, sizeof text, "mean($1) < 10 ? $1 : open(\"%s\")", path);
    imgpar_array *out = imgpar_apply(ctx, text, &a, 1);
    uint8_t *elements = malloc(N);
    ck_assert_ptr_nonnull(elements);
    ck_assert_int_ne(imgpar_array_read(out, elements, N), IMGPAR_OK);
    free(elements);
    imgpar_array_release(out);
    imgpar_array_release(a);
    unlink(path);
}
END_TEST

static char *explained(const char *text, const char *format)
{
    char *told = NULL;
    imgpar_array *a = picture(), *out = imgpar_apply(ctx, text, &a, 1);
    ck_assert_msg(!imgpar_explain(&out, 1, format, &told), "%s", imgpar_array_message(out));
    imgpar_array_release(out);
    imgpar_array_release(a);
    return told;
}

START_TEST(explaining_tells_of_both_sides)
{
    const char *text = "invert(mean($1) > 10 ? blur($1, 3) : median($1, 5))";
    const char *const in_order[] = { "blur,invert",
                                     "result: ",
                                     "branches are decided before",
                                     "branch 1: its condition is made of",
                                     "mean",
                                     "branch 1: where its condition does not",
                                     "median,invert" };
    char *told = explained(text, "text");
    const char *at = told;
    for (size_t k = 0; k < sizeof in_order / sizeof *in_order; k++) {
        at = strstr(at, in_order[k]);
        ck_assert_msg(at != NULL, "%s is not told, or earlier:\n%s", in_order[k], told);
    }
    imgpar_free(told);
    told = explained(text, "json");
    ck_assert_msg(strstr(told, "\"branches\": [\n  {\"condition\": {") && strstr(told, "\"otherwise\": {"), "%s", told);
    imgpar_free(told);
    told = explained("iterate($1, 30, p -> mean(p) > 127 ? invert(p) : dilate(p, 3))", "text");
    at = strstr(told, "loop 1: 30 steps; a step is\n");
    ck_assert_msg(at && strstr(at, "branch 1: where its condition does not"), "%s", told);
    imgpar_free(told);
    /* the step of a loop within a step, with what the outer one carries */
    told = explained("iterate($1, 20, p -> iterate(p, 20, q -> mean(p) > 100 ? erode(q, 3) : dilate(q, 3), "
                     "until=q -> maxval(q) < 1), until=p -> maxval(p) < 1)",
                     "text");
    ck_assert_msg(strstr(told, "branch 1: where its condition does not"), "%s", told);
    imgpar_free(told);
    told = explained("$1 > mean($1) ? $1[0, 1] : 3", "text");
    ck_assert_msg(!strstr(told, "branch"), "%s", told);
    imgpar_free(told);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("branches");
    TCase *t = tcase_create("branches");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_branch_is_the_side_that_is_taken, 0,
                        N_SELECTORS * (int)(sizeof branches / sizeof *branches));
    tcase_add_loop_test(t, steps_of_loops_take_sides_as_selects_do, 0,
                        N_SELECTORS * (int)(sizeof loops / sizeof *loops));
    tcase_add_loop_test(t, only_the_side_that_is_taken_is_launched, 0, (int)(sizeof counts / sizeof *counts));
    tcase_add_loop_test(t, no_loop_is_run_twice, 0, (int)(sizeof loops_once / sizeof *loops_once));
    tcase_add_test(t, many_small_branches_stay_selects);
    tcase_add_test(t, the_other_side_is_not_decoded);
    tcase_add_test(t, explaining_tells_of_both_sides);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
