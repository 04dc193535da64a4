/* SPDX-License-Identifier: MIT */
/*
 * What the compiler makes of a graph: how many kernels, why not fewer, how many
 * programs; and that fusing changes no bit. Names of tests are claims. Counts are
 * those of a CPU, which the schedule `rows` is made for.
 */
#include "asserts.h"
#include "held.h"
#include "oracle.h"
#include "tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_IMAGES = 3, N_CHAINS = 40, N_QUICK_CHAINS = 20 };

typedef struct bench {
    imgpar_context *ctx;
    bool is_cpu;
    imgpar_array *image[N_IMAGES];
} bench;

static void add_images(bench *b, imgpar_dtype dtype, int64_t w, int64_t h, int64_t channels)
{
    for (int k = 0; k < N_IMAGES; k++) {
        picture p = picture_new(dtype, h, w, channels);
        picture_fill(&p, FILL_LEVELS, (unsigned)(k + 1));
        imgpar_array_release(b->image[k]);
        b->image[k] = picture_array(b->ctx, &p);
        picture_free(&p);
    }
}

static void set_up(bench *b)
{
    *b = (bench){ .ctx = NULL };
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &b->ctx), IMGPAR_OK);
    b->is_cpu = strcmp(imgpar_context_device(b->ctx)->kind, "cpu") == 0;
    add_images(b, IMGPAR_U8, 61, 47, 3);
}

static void tear_down(bench *b)
{
    for (int k = 0; k < N_IMAGES; k++)
        imgpar_array_release(b->image[k]);
    imgpar_context_release(b->ctx);
}

static imgpar_array *make(bench *b, const char *text)
{
    imgpar_array *a = imgpar_apply(b->ctx, text, b->image, N_IMAGES);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    return a;
}

static void set(bench *b, const char *name, const char *value)
{
    ck_assert_int_eq(imgpar_context_set(b->ctx, name, value), IMGPAR_OK);
}

/* ---- kernel counts --------------------------------------------------------------------------- */

static int occurrences(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

/* The plan as JSON, new. */
static char *plan_of(imgpar_array *const *arrays, size_t n)
{
    char *json;
    imgpar_status st = imgpar_explain(arrays, n, "json", &json);
    ck_assert_msg(st == IMGPAR_OK, "explain: %s", imgpar_array_message(arrays[0]));
    return json;
}

static int kernels_in(imgpar_array *const *arrays, size_t n)
{
    char *json = plan_of(arrays, n);
    int count = occurrences(json, "{\"name\": ");
    imgpar_free(json);
    return count;
}

/* Fails unless text becomes n kernels; in the JSON stands the word, if there is one. */
static void expect_kernels(bench *b, const char *text, int n, const char *word)
{
    if (!b->is_cpu) return;
    imgpar_array *a = make(b, text);
    char *json = plan_of(&a, 1);
    int count = occurrences(json, "{\"name\": ");
    ck_assert_msg(count == n, "%s: %d kernels, must be %d\n%s", text, count, n, json);
    ck_assert_msg(!word || strstr(json, word), "%s: \"%s\" does not stand in\n%s", text, word, json);
    imgpar_free(json);
    imgpar_array_release(a);
}

typedef struct claim {
    const char *text;
    int n_kernels;
    const char *word;
} claim;

static void check_claims(const claim *claims, size_t n)
{
    bench b;
    set_up(&b);
    for (size_t k = 0; k < n; k++)
        expect_kernels(&b, claims[k].text, claims[k].n_kernels, claims[k].word);
    tear_down(&b);
}

#define CLAIM(name, ...)                                      \
    START_TEST(name)                                          \
    {                                                         \
        static const claim claims[] = { __VA_ARGS__ };        \
        check_claims(claims, sizeof claims / sizeof *claims); \
    }                                                         \
    END_TEST

CLAIM(blur_then_blend_is_one_kernel, { "blend(blur($1, sigma=2), $2, 0.3)", 1, "\"rows\"" })
CLAIM(three_boxes_a_blend_and_a_circle_overlay_are_one_kernel,
      { "soft = iterate($1, 3, boxblur(_, size=3))\n"
        "mixed = blend(soft, $2, 0.3)\n"
        "overlay(mixed, invert($3), circle(mixed, radius=height(mixed)/4))",
        1, "\"rows\"" })
CLAIM(a_map_into_a_map_is_one_kernel, { "clamp(linear(invert($1), 1.5, -3), 10, 200)", 1, NULL },
      { "$1 * 0.25 + $2 * 0.5 + sqrt($3)", 1, NULL })
CLAIM(a_map_into_a_stencil_is_one_kernel, { "boxblur(invert($1), size=5)", 1, NULL },
      { "convolve(gray($1), [1 2 1; 2 4 2; 1 2 1], scale=16)", 1, NULL })
CLAIM(a_matrix_of_typed_digits_is_two_passes,
      { "convolve($1, [0.075114 0.123841 0.075114; 0.123841 0.204180 0.123841; 0.075114 0.123841 0.075114])", 1,
        "vertical pass" },
      { "convolve($1, [0.0751 0.1238 0.0751; 0.1238 0.2042 0.1238; 0.0751 0.1238 0.0751])", 1, "vertical pass" })
CLAIM(rows_that_no_cache_keeps_are_written,
      { "blur(blur(make(4000, 1500, x * 0.5, channels=3), 20), 20)", 3, "its rows would not stay in the cache" },
      { "blur(blur(make(4000, 1500, x * 0.5, channels=3), 2), 2)", 1, NULL })
START_TEST(a_map_into_a_stencil_of_a_line_is_one_kernel)
{
    static const struct {
        const char *text;
        int n;
    } claims[] = {
        { "s = $1 * 2 + 1\n(s[-1] + s[0] + s[1]) * 0.5", 1 },
        { "s = $1 * 2 + 1\nstencil(s[-7] - s[2], border=wrap)", 1 },
        { "fn s(g) = (g[-1] + g[0] + g[1]) * 0.25\ns(s(s($1)))", 1 },
    };
    enum { N = 1000003 }; /* a row that no cache keeps */
    float *line = malloc(2 * N * sizeof *line), *got = line + N;
    ck_assert_ptr_nonnull(line);
    bench b;
    set_up(&b);
    for (int k = 0; k < N; k++)
        line[k] = (float)(k * 7 % 13);
    imgpar_array *a = imgpar_array_from_data(b.ctx, IMGPAR_F32, 1, (int64_t[]){ N }, line);
    for (size_t k = 0; k < sizeof claims / sizeof *claims && b.is_cpu; k++) {
        imgpar_array *out = imgpar_apply(b.ctx, claims[k].text, &a, 1);
        char *json = plan_of(&out, 1);
        int n = occurrences(json, "{\"name\": ");
        ck_assert_msg(n == claims[k].n, "%s: %d kernels", claims[k].text, n);
        imgpar_free(json);
        if (k == 0) {
            ck_assert_int_eq(imgpar_array_read(out, got, N * sizeof *got), IMGPAR_OK);
            for (int i = 0; i < N; i++) {
                float want = 0;
                for (int d = -1; d <= 1; d++)
                    want += line[i + d < 0 ? 0 : i + d > N - 1 ? N - 1 : i + d] * 2 + 1;
                ck_assert_float_eq(got[i], want * 0.5f);
            }
        }
        imgpar_array_release(out);
    }
    imgpar_array_release(a);
    free(line);
    tear_down(&b);
}
END_TEST
CLAIM(a_stencil_into_a_map_is_one_kernel, { "threshold(boxblur($1), 100)", 1, NULL },
      { "absdiff($1, dilate($1))", 1, NULL })
CLAIM(a_stencil_into_a_stencil_is_one_kernel, { "erode(dilate($1, size=5), size=3)", 1, NULL },
      { "boxblur(blur($1, sigma=1.5))", 1, NULL }, { "sobel(median($1, size=3))", 1, NULL })
CLAIM(neighbour_reads_are_one_kernel, { "($1[-1, 0] + $1[1, 0] + $1[0, -1] + $1[0, 1]) / 4", 1, NULL })
CLAIM(a_map_into_a_histogram_is_one_kernel, { "histogram(invert($1))", 1, NULL }, { "histogram(gray($1))", 1, NULL })
CLAIM(a_map_into_a_reduction_is_one_kernel, { "sum(threshold($1, 100))", 1, NULL },
      { "mean(absdiff($1, $2))", 1, NULL }, { "maxval(boxblur($1))", 1, NULL })
CLAIM(a_position_is_two_folds_the_extreme_and_where_it_is, { "argmin(gray($1))", 2, "all of its input must be seen" },
      { "argmax($1)", 2, NULL })
CLAIM(equal_nodes_are_computed_once, { "blend(boxblur($1), invert(boxblur($1)), 0.5)", 1, NULL })
CLAIM(a_reduction_ends_a_kernel_with_a_reason,
      { "threshold($1, mean($1))", 2, "all of its input must be seen before a reader can start" })
CLAIM(rows_of_another_width_are_kept_whole, { "resize($1, width=90, height=80)", 1, NULL })
CLAIM(rows_of_another_height_are_made_at_their_readers_rate,
      { "resize(median(invert($1)), width=90, height=80)", 1, NULL },
      { "resize(blur($1, 1), width=15, height=130)", 1, NULL },
      { "resize(cast($1, f32), width=90, height=30)", 2, NULL },
      { "fastblur(resize($1, width=90, height=80), 9)", 2, "it is read at computed places" })
CLAIM(a_level_of_a_pyramid_ends_a_kernel_with_a_reason,
      { "a = cast(resize($1, width=320, height=240), u8)\n"
        "fn down(a) = slice(convsep(a, [1 2 1], [1 2 1], scale=16), step=[2 2])\nd = down(a)\n"
        "fn up(a, n) = make(320, 240, at(a, y / n, x / n, filter=linear))\nup(d, 2) + up(down(d), 4)",
        3, "its reader's rows are made at a rate of their own" })
CLAIM(another_size_ends_a_kernel_with_a_reason,
      { "resize(boxblur($1, size=5), width=30, height=20, filter=nearest)", 2, "its reader has another shape" })

CLAIM(each_reader_that_refuses_tells_its_reason,
      { "a = blur(cast($1, f32), 2)\nboxblur(a, size=9) + cumsum(a, axis=0)", 3,
        "several kernels read it (plus); a recurrence reads it, which keeps no neighbours (cumsum)" })

START_TEST(a_wrap_border_is_cut_with_a_reason)
{
    bench b;
    set_up(&b);
    imgpar_array *a = make(&b, "boxblur(boxblur($1, border=wrap), border=wrap)");
    if (b.is_cpu) {
        char *json = plan_of(&a, 1);
        ck_assert_msg(occurrences(json, "{\"name\": ") > 1, "one kernel\n%s", json);
        ck_assert_msg(occurrences(json, "\"reason\": \"\"") == 1, "a cut without a reason\n%s", json);
        imgpar_free(json);
    }
    imgpar_array_release(a);
    tear_down(&b);
}
END_TEST

START_TEST(fusion_can_be_switched_off)
{
    bench b;
    set_up(&b);
    set(&b, "fuse", "0");
    expect_kernels(&b, "boxblur(invert($1))", 2, "fusion is switched off");
    set(&b, "fuse", "1");
    expect_kernels(&b, "boxblur(invert($1))", 1, NULL);
    tear_down(&b);
}
END_TEST

/* ---- several results ------------------------------------------------------------------------- */

static void *read_all(imgpar_array *a, size_t *size)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    void *bytes = malloc(info.size_bytes);
    ck_assert_ptr_nonnull(bytes);
    imgpar_status st = imgpar_array_read(a, bytes, info.size_bytes);
    ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(a));
    *size = info.size_bytes;
    return bytes;
}

static void expect_same(imgpar_array *a, imgpar_array *wanted, const char *what)
{
    size_t n, n_wanted;
    void *bytes = read_all(a, &n), *want = read_all(wanted, &n_wanted);
    ck_assert_msg(n == n_wanted && memcmp(bytes, want, n) == 0, "%s: other bytes", what);
    free(bytes);
    free(want);
}

START_TEST(several_results_share_their_work)
{
    bench b;
    set_up(&b);
    imgpar_array *soft = make(&b, "boxblur($1, size=5)");
    imgpar_array *in[] = { soft, b.image[1] };
    imgpar_array *results[] = { soft, imgpar_apply(b.ctx, "blend($1, $2, 0.25)", in, 2),
                                imgpar_apply(b.ctx, "histogram($1)", in, 1) };
    imgpar_array *alone[] = { make(&b, "boxblur($1, size=5)"), make(&b, "blend(boxblur($1, size=5), $2, 0.25)"),
                              make(&b, "histogram(boxblur($1, size=5))") };
    if (b.is_cpu) ck_assert_int_eq(kernels_in(results, 3), 1);
    ck_assert_int_eq(imgpar_eval(results, 3, NULL), IMGPAR_OK);
    ck_assert_int_eq(kernels_in(results, 3), 0); /* the values are kept */
    set(&b, "schedule", "ref");
    for (int k = 0; k < 3; k++) {
        expect_same(results[k], alone[k], "a result of three");
        imgpar_array_release(results[k]);
        imgpar_array_release(alone[k]);
    }
    tear_down(&b);
}
END_TEST

enum { MAX_TOGETHER = 4 };

/* Asked for at once: how many kernels they make, and each value as if it were alone. */
static const struct together {
    int kernels;
    const char *texts[MAX_TOGETHER];
} togethers[] = {
    { 1, { "mean($1)", "minval($1)", "maxval($1)", "sum($1)" } },
    { 1, { "histogram(gray(boxblur($1)))", "mean(gray(boxblur($1)))" } },
    { 1, { "histogram($1)", "histogram(gray($1))", "sum($1)" } },
    { 1, { "boxblur($1)", "erode(boxblur($1), 3)", "median(erode(boxblur($1), 3), 3)" } },
    { 1, { "boxblur($1, border=wrap)", "erode($1, 5)", "blend($1, $2, 0.5)" } },
    { 1, { "cast($1, f16)", "boxblur(cast($1, f16))", "mean(cast($1, f16))" } },
    { 1, { "gray($1)", "sobel(gray($1))", "invert($1)" } },
    { 2, { "threshold(boxblur($1), mean(boxblur($1)))" } },
    { 2, { "threshold(boxblur($1), mean(boxblur($1)))", "mean(boxblur($1))", "boxblur($1)" } },
    { 2, { "boxblur($1)", "crop($1, 3, 4, 20, 10)" } },
    { 2, { "invert($1)", "make(61, 47, x + y)" } }, /* nothing in common */
};

static void check_together(bench *b, const struct together *t)
{
    imgpar_array *results[MAX_TOGETHER], *alone[MAX_TOGETHER];
    size_t n = 0;
    for (; n < MAX_TOGETHER && t->texts[n]; n++) {
        results[n] = make(b, t->texts[n]);
        alone[n] = make(b, t->texts[n]);
    }
    int kernels = kernels_in(results, n);
    ck_assert_msg(!b->is_cpu || kernels == t->kernels, "%s and others: %d kernels, not %d", t->texts[0], kernels,
                  t->kernels);
    ck_assert_int_eq(imgpar_eval(results, n, NULL), IMGPAR_OK);
    set(b, "fuse", "0");
    for (size_t k = 0; k < n; k++) {
        expect_same(results[k], alone[k], t->texts[k]);
        imgpar_array_release(results[k]);
        imgpar_array_release(alone[k]);
    }
    set(b, "fuse", "1");
}

START_TEST(results_of_one_source_are_made_in_one_pass)
{
    bench b;
    set_up(&b);
    for (size_t k = 0; k < sizeof togethers / sizeof *togethers; k++)
        check_together(&b, &togethers[k]);
    add_images(&b, IMGPAR_U8, 83, 700, 3); /* several strips */
    for (size_t k = 0; k < sizeof togethers / sizeof *togethers; k++)
        check_together(&b, &togethers[k]);
    tear_down(&b);
}
END_TEST

/* Two levels along these axes. */
static const struct together folds[] = {
    { 2, { "minval($1, axis=0)", "maxval($1, axis=0)", "sum($1, axis=0)" } },
    { 2, { "minval($1, axis=1)", "mean($1, axis=1)", "maxval($1, axis=1)", "sum($1, axis=1)" } },
};

START_TEST(folds_along_an_axis_share_their_levels)
{
    bench b;
    set_up(&b);
    for (size_t k = 0; k < sizeof folds / sizeof *folds; k++)
        check_together(&b, &folds[k]);
    tear_down(&b);
}
END_TEST

/* Folds over the same keys are one kernel, which computes those; behind it counts are brought to their dtype, and
 * extremes of keys without values are NaN. */
#define KEYS "cast(floor($1 / 20), i32)"
static const struct together groups[] = {
    { 1, { "group_sum($1, " KEYS ", 13)", "scatter_add(zeros([13], dtype=i64), " KEYS ", $1)" } },
    { 2, { "group_sum($1, " KEYS ", 13)", "group_count(" KEYS ", 13)" } },
    { 2, { "group_sum($1, " KEYS ", 13)", "group_count(" KEYS ", 13)", "group_min($1, " KEYS ", 13)" } },
};
#undef KEYS

START_TEST(folds_by_the_same_keys_are_one_kernel)
{
    bench b;
    set_up(&b);
    add_images(&b, IMGPAR_U8, 300, 240, 1);
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
        check_together(&b, &groups[k]);
    tear_down(&b);
}
END_TEST

/* Positions take a look at the extremes, deviations one at the mean. */
static const struct together looks[] = {
    { 2, { "argmin($1)", "minval($1)", "argmax($1)", "mean($1)" } },
    { 2, { "mean($1)", "stddev($1)", "variance($1)" } },
    { 3, { "argmax($1, axis=0)", "maxval($1, axis=0)" } }, /* two levels and the positions */
};

START_TEST(folds_share_what_they_look_for_first)
{
    bench b;
    set_up(&b);
    check_together(&b, &looks[0]);
    add_images(&b, IMGPAR_F32, 61, 47, 1);
    for (size_t k = 0; k < sizeof looks / sizeof *looks; k++)
        check_together(&b, &looks[k]);
    tear_down(&b);
}
END_TEST

START_TEST(a_kept_value_is_read_and_not_computed_again)
{
    bench b;
    set_up(&b);
    imgpar_array *soft = make(&b, "blur($1, sigma=1)"), *in[] = { soft };
    imgpar_array *edges = imgpar_apply(b.ctx, "invert($1)", in, 1);
    imgpar_array *wanted = make(&b, "invert(blur($1, sigma=1))");
    ck_assert_int_eq(imgpar_array_eval(soft, NULL), IMGPAR_OK);
    char *json = plan_of(&edges, 1);
    bool is_read = strstr(json, "\"invert\"") && !strstr(json, "\"blur\"");
    ck_assert_msg(!b.is_cpu || is_read, "blur is computed again\n%s", json);
    imgpar_free(json);
    expect_same(edges, wanted, "from a kept value");
    imgpar_array_release(wanted);
    imgpar_array_release(edges);
    imgpar_array_release(soft);
    tear_down(&b);
}
END_TEST

/* ---- forms of loops ---------------------------------------------------------------------------- */

static void check_as_reference(bench *b, const char *text)
{
    imgpar_array *made = make(b, text), *ref = make(b, text);
    ck_assert_int_eq(imgpar_array_eval(made, NULL), IMGPAR_OK);
    set(b, "schedule", "ref");
    expect_same(made, ref, text);
    set(b, "schedule", "auto");
    imgpar_array_release(made);
    imgpar_array_release(ref);
}

START_TEST(running_sums_are_the_sums)
{
    static const char *const texts[] = {
        "boxblur($1, size=9, border=reflect)",
        "boxblur($1, size=15)",
        "boxblur($1, size=15, border=constant, cval=200)",
        "boxblur($1, size=33, border=wrap)",
        "boxblur($1, size=33)",
        "boxblur(invert($1), size=71, border=reflect101)",
        "boxblur(cast($1, i16) - 100, size=21)",
        "boxblur(boxblur($1, size=9), size=33)",
    };
    static const int64_t sizes[][3] = { { 61, 47, 3 },  { 13, 5, 3 }, { 83, 700, 3 },
                                        { 83, 700, 1 }, { 1, 1, 1 },  { 1, 40, 2 } };
    bench b;
    set_up(&b);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        add_images(&b, IMGPAR_U8, sizes[s][0], sizes[s][1], sizes[s][2]);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            check_as_reference(&b, texts[k]);
    }
    tear_down(&b);
}
END_TEST

START_TEST(what_channels_share_is_spread)
{
    static const char *const texts[] = {
        "overlay($1, $2, circle($1, radius=9))",
        "overlay(boxblur($1), invert($2), gray($3))",
        "overlay(cast($1, i16) - 100, cast($2, i16), threshold(gray($3), 90))",
        "select(gray($1) > 100 && x > 5, $1, $2)",
        "absdiff($1, boxblur(gray($2), 5))",
        "$1 * x + y * 0.5",
        "cast($1, f32) * (1 - x / 50) + gray($2) * c",
        "$1[1, 2] * (x div 7) + $2[0, -1] * cast(y, i32)",
        "sum($1 * (gray($2) > 77))",
        "select(x > 20, 3, 8) * $1 + select(x > 20, 0, $2) + select(x > 20, $3, 0)",
    };
    static const int64_t sizes[][3] = { { 61, 47, 3 }, { 83, 700, 3 }, { 13, 5, 3 } };
    bench b;
    set_up(&b);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        add_images(&b, IMGPAR_U8, sizes[s][0], sizes[s][1], sizes[s][2]);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            check_as_reference(&b, texts[k]);
    }
    if (b.is_cpu) {
        char *text;
        imgpar_array *a = make(&b, texts[0]);
        ck_assert_int_eq(imgpar_explain(&a, 1, "cl", &text), IMGPAR_OK);
        ck_assert_msg(strstr(text, "the same for each channel"), "nothing is spread:\n%s", text);
        imgpar_free(text);
        imgpar_array_release(a);
    }
    tear_down(&b);
}
END_TEST

START_TEST(a_mask_of_two_values_is_a_choice)
{
    bench b;
    set_up(&b);
    imgpar_array *mask = make(&b, "overlay($1, $2, circle($1, radius=9))");
    char *text;
    ck_assert_int_eq(imgpar_explain(&mask, 1, "cl", &text), IMGPAR_OK);
    ck_assert_msg(!strstr(text, "/ 255"), "weights of 0 and 255 are multiplied with:\n%s", text);
    imgpar_free(text);
    imgpar_array_release(mask);
    tear_down(&b);
}
END_TEST

/* The text of a's kernels holds part, or does not. */
static void check_text(imgpar_array *a, const char *part, bool is_there)
{
    char *text;
    ck_assert_int_eq(imgpar_explain(&a, 1, "cl", &text), IMGPAR_OK);
    ck_assert_msg((strstr(text, part) != NULL) == is_there, "\"%s\" is %sexpected in\n%s", part, is_there ? "" : "not ",
                  text);
    imgpar_free(text);
}

START_TEST(a_matrix_of_few_digits_is_one_pass)
{
    static const char *const texts[] = {
        "convolve($1, [0.08 0.12 0.08; 0.12 0.2 0.12; 0.08 0.12 0.08])", /* a product of 0.1, 0.2 it is not */
        "convolve(cast($1, f32), [0.0751 0.1238 0.0751; 0.1238 0.2042 0.1238; 0.0751 0.1238 0.0751])",
        "convolve(cast($1, f64), [0.075114 0.123841 0.075114; 0.123841 0.204180 0.123841; 0.075114 0.123841 0.075114])",
        "convolve($1, [0.0751 0.1238 0.0751; 0.1238 0.2042 0.1238; 0.0751 0.1238 0.0751], scale=0.01)",
    };
    bench b;
    set_up(&b);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        imgpar_array *a = make(&b, texts[k]);
        char *json = plan_of(&a, 1);
        ck_assert_msg(!strstr(json, "vertical pass"), "%s is two passes", texts[k]);
        imgpar_free(json);
        imgpar_array_release(a);
    }
    tear_down(&b);
}
END_TEST

START_TEST(a_mask_is_looked_at_a_row_at_a_time)
{
    enum { W = 150, H = 9, C = 3 };
    static const char *const masks[] = {
        "make(150, 9, cast(select(y % 3 == 0, 0, select(y % 3 == 1, 255, x)), u8))",
        "make(150, 9, y % 3 == 1 || (y % 3 == 2 && x > 40))",
    };
    bench b;
    set_up(&b);
    add_images(&b, IMGPAR_U8, W, H, C);
    static uint8_t in[2][H][W][C], got[H][W][C];
    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(imgpar_array_read(b.image[k], in[k], sizeof in[k]), IMGPAR_OK);
    for (int m = 0; m < 2; m++) {
        char text[200];
        snprintf(text, sizeof text, "overlay($1, invert($2), %s)", masks[m]);
        imgpar_array *a = make(&b, text);
        ck_assert_int_eq(imgpar_array_read(a, got, sizeof got), IMGPAR_OK);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int c = 0; c < C; c++) {
                    int mask = y % 3 == 0 ? 0 : y % 3 == 1 ? 255 : m == 0 ? x : x > 40 ? 255 : 0;
                    int want = (in[0][y][x][c] * (255 - mask) + (255 - in[1][y][x][c]) * mask + 127) / 255;
                    ck_assert_msg(got[y][x][c] == want, "%s at %d %d %d: %d, not %d", text, y, x, c, got[y][x][c],
                                  want);
                }
        if (b.is_cpu) check_text(a, "all & ", true);
        imgpar_array_release(a);
    }
    tear_down(&b);
}
END_TEST

START_TEST(a_short_stencil_reads_its_source_in_place)
{
    static const char *const texts[] = {
        "median($1, 3)",
        "stencil($1[-1, -2] * 2 + $1[1, 4] - $1[0, 1], border=wrap)",
        "stencil($1[-1, 1] + $1[1, -1] * 3, border=reflect101)",
        "stencil($1[-1, -1] + $1[2, 1] - $1[0, -2], border=constant, cval=7)",
    };
    static const int64_t widths[] = { 1, 2, 4, 7, 21, 22, 64, 86, 129 };
    bench b;
    set_up(&b);
    for (int channels = 1; channels <= 3; channels += 2)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            add_images(&b, IMGPAR_U8, widths[w], 5, channels);
            for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
                check_as_reference(&b, texts[k]);
        }
    if (b.is_cpu) {
        imgpar_array *near = make(&b, texts[0]), *far = make(&b, "$1[0, -9] + $1[0, 9]");
        check_text(near, "edges filled in", false);
        check_text(far, "edges filled in", true);
        imgpar_array_release(near);
        imgpar_array_release(far);
    }
    tear_down(&b);
}
END_TEST

/* Each link doubles the paths through the expression, not the expression. */
START_TEST(shared_parts_are_looked_at_once)
{
    static char text[4096] = "v0 = cast($1, i32)\n";
    bench b;
    set_up(&b);
    size_t at = strlen(text);
    for (int k = 1; k <= 60; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "v%d = (v%d ^ (v%d div 3)) + %d\n", k, k - 1, k - 1, k);
    snprintf(text + at, sizeof text - at, "select(gray($2) > 9, boxblur(cast(v60, u8), 9), $3)");
    check_as_reference(&b, text);
    tear_down(&b);
}
END_TEST

/* ---- scalars that are computed ----------------------------------------------------------------- */

START_TEST(a_parameter_may_be_computed_on_the_device)
{
    static const char *const schedules[] = { "auto", "pixels", "ref" };
    bench b;
    set_up(&b);
    imgpar_array *mean = make(&b, "mean(gray($1))"), *gray = make(&b, "gray($1)");
    imgpar_array *split = make(&b, "threshold(gray($1), mean(gray($1)))");
    for (int s = 0; s < 3; s++) {
        size_t n, n_gray, n_mean;
        set(&b, "schedule", schedules[s]);
        float *level = read_all(mean, &n_mean);
        uint8_t *pixels = read_all(gray, &n_gray), *got = read_all(split, &n);
        ck_assert_uint_eq(n_mean, sizeof *level);
        ck_assert_uint_eq(n, n_gray);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(got[k] == (pixels[k] > *level ? 255 : 0), "%s: pixel %zu", schedules[s], k);
        free(level);
        free(pixels);
        free(got);
    }
    imgpar_array_release(mean);
    imgpar_array_release(gray);
    imgpar_array_release(split);
    tear_down(&b);
}
END_TEST

/* ---- programs ---------------------------------------------------------------------------------- */

/* Built, or found built. */
static uint64_t programs_of(const imgpar_counters *c) { return c->programs_built + c->programs_loaded; }

static uint64_t programs_for(bench *b, const char *text)
{
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    size_t n;
    imgpar_array *a = make(b, text);
    imgpar_context_counters(b->ctx, &before);
    free(read_all(a, &n));
    imgpar_context_counters(b->ctx, &after);
    imgpar_array_release(a);
    return programs_of(&after) - programs_of(&before);
}

START_TEST(values_and_sizes_need_no_new_program)
{
    static const char *const texts[] = {
        "threshold(blend(blur($1, sigma=2), $2, 0.3), 100)",
        "threshold(blend(blur($1, sigma=1.9), $2, 0.3), 100)",
        "threshold(blend(blur($1, sigma=1.7), $2, 0.75), 7)",
    };
    bench b;
    set_up(&b);
    if (b.is_cpu) ck_assert_uint_eq(programs_for(&b, texts[0]), 1);
    for (int k = 0; k < 3; k++)
        ck_assert_msg(programs_for(&b, texts[k]) == 0, "%s builds a program", texts[k]);
    static const int64_t sizes[][2] = { { 1, 1 }, { 640, 3 }, { 7, 200 }, { 2, 1 }, { 1024, 400 } };
    for (int k = 0; k < 5; k++) {
        add_images(&b, IMGPAR_U8, sizes[k][0], sizes[k][1], 3);
        ck_assert_msg(programs_for(&b, texts[0]) == 0, "%dx%d builds a program", (int)sizes[k][0], (int)sizes[k][1]);
    }
    if (b.is_cpu) ck_assert_uint_eq(programs_for(&b, "threshold(blend(blur($1, sigma=3), $2, 0.3), 100)"), 1);
    tear_down(&b);
}
END_TEST

/* Points [n, 3] are folded as the row of a picture is, by the same program, whatever is done to each number. */
START_TEST(few_columns_are_folded_as_channels_are)
{
    static const char *const texts[] = { "sum($1)", "maxval($1 + 0.5)", "sum(($1 * 2) ** 2)",
                                         "norm(select($1 > 0.5, $1, 0))" };
    enum { N = 999, COLUMNS = 3 };
    static float v[N * COLUMNS];
    static const int64_t points[2] = { N, COLUMNS }, line[3] = { 1, N, COLUMNS };
    bench b;
    set_up(&b);
    for (int k = 0; k < N * COLUMNS; k++)
        v[k] = (float)(k % 101) / 101;
    imgpar_array *in[2] = { imgpar_array_from_data(b.ctx, IMGPAR_F32, 3, line, v),
                            imgpar_array_from_data(b.ctx, IMGPAR_F32, 2, points, v) };
    for (size_t k = 0; b.is_cpu && k < sizeof texts / sizeof *texts; k++) {
        char *name[2];
        float got[2];
        for (int i = 0; i < 2; i++) {
            imgpar_array *a = imgpar_apply(b.ctx, texts[k], &in[i], 1);
            char *json = plan_of(&a, 1), *from = strstr(json, "{\"name\": \"");
            ck_assert_ptr_nonnull(from);
            from += strlen("{\"name\": \"");
            name[i] = strndup(from, strcspn(from, "\""));
            ck_assert_int_eq(imgpar_array_read(a, &got[i], sizeof got[i]), IMGPAR_OK);
            imgpar_free(json);
            imgpar_array_release(a);
        }
        ck_assert_msg(strcmp(name[0], name[1]) == 0, "%s of points is %s, of a row %s", texts[k], name[1], name[0]);
        ck_assert_msg(got[0] == got[1], "%s of points is %g, of a row %g", texts[k], got[1], got[0]);
        free(name[0]);
        free(name[1]);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    tear_down(&b);
}
END_TEST

/* A folder of pictures has one of its own for each. */
START_TEST(another_width_needs_no_new_program)
{
    static const char *const texts[] = {
        "resize($1, 161)",
        "thumbnail($1, 48)",
        "resize($1, 700)",
        "resize(median($1, 3), 161)",
        "blur(resize($1, 160), 1)",
        "fastblur($1, 9)",
        "transpose($1)",
        "equalize($1)",
        "rotate($1, 4)",
        "sum($1, axis=1)",
        "concatenate($1, invert($1), axis=1)",
        "stencil($1[0, -1] + $1[1, 1], outside=keep)",
        "select(x < width($1) - 7, $1, 0)",
        "cast($1 * (1 - ((x - (width($1) - 20)) / width($1)) ** 2), u8)",
    };
    static const int64_t widths[] = { 307, 314, 299 };
    bench b;
    set_up(&b);
    for (int k = 0; k < 3; k++) {
        add_images(&b, IMGPAR_U8, widths[k], 110, 3);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            uint64_t n = programs_for(&b, texts[i]);
            ck_assert_msg(k == 0 || n == 0, "%s builds %d programs for a width of %d", texts[i], (int)n,
                          (int)widths[k]);
        }
    }
    tear_down(&b);
}
END_TEST

static unsigned pick(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % n;
}

/* What one call of a random set does, and the element that it must give. */
typedef struct random_call {
    char text[96];
    int kind, x, y, w, h, level;
    double factor;
} random_call;
enum { CALL_CROP, CALL_SLICE, CALL_ABOVE, CALL_TIMES, CALL_THRESHOLD, CALL_FACTOR, CALL_SHIFT, CALL_PAD, N_CALLS };

static random_call random_call_of(unsigned *state, int w, int h)
{
    random_call c = { .kind = (int)pick(state, N_CALLS),
                      .x = (int)pick(state, (unsigned)w),
                      .y = (int)pick(state, (unsigned)h),
                      .level = (int)pick(state, 256),
                      .factor = (1 + pick(state, 2999)) / 1000.0 };
    if (c.kind >= CALL_SHIFT && (w < 2 || h < 2)) c.kind = CALL_CROP; /* a line's are programs of their own */
    c.w = 1 + (int)pick(state, (unsigned)(w - c.x));
    c.h = 1 + (int)pick(state, (unsigned)(h - c.y));
    switch (c.kind) {
    case CALL_CROP: snprintf(c.text, sizeof c.text, "crop($1, %d, %d, %d, %d)", c.x, c.y, c.w, c.h); break;
    case CALL_SLICE:
        snprintf(c.text, sizeof c.text, "slice($1, [%d %d], [%d %d])", c.y, c.x, c.y + c.h, c.x + c.w);
        break;
    case CALL_ABOVE: snprintf(c.text, sizeof c.text, "$1 > %d", c.level); break;
    case CALL_TIMES: snprintf(c.text, sizeof c.text, "$1 * %d", c.level); break;
    case CALL_THRESHOLD: snprintf(c.text, sizeof c.text, "threshold($1, %d)", c.level); break;
    case CALL_SHIFT: snprintf(c.text, sizeof c.text, "circshift($1, [%d %d])", c.y, c.x); break;
    case CALL_PAD: snprintf(c.text, sizeof c.text, "pad($1, [%d %d], [%d %d])", c.y, c.x, c.h, c.w); break;
    default: snprintf(c.text, sizeof c.text, "$1 * %.3f", c.factor); break;
    }
    return c;
}

/* The element of the picture that element i of row y of the result is; -1: none is. */
static int moved_from(const random_call *c, const picture *p, int64_t y, int64_t i)
{
    int64_t x = i / p->c;
    switch (c->kind) {
    case CALL_CROP:
    case CALL_SLICE: x += c->x, y += c->y; break;
    case CALL_SHIFT: x = (x + p->w - c->x) % p->w, y = (y + p->h - c->y) % p->h; break;
    case CALL_PAD: x -= c->x, y -= c->y; break;
    default: break;
    }
    return x >= 0 && x < p->w && y >= 0 && y < p->h ? (int)((y * p->w + x) * p->c + i % p->c) : -1;
}

/* Whether element k of the result, which starts at bytes, is what the call makes of the picture. */
static bool is_right(const random_call *c, const picture *p, const uint8_t *bytes, size_t k)
{
    bool is_part = c->kind == CALL_CROP || c->kind == CALL_SLICE;
    int64_t columns = (is_part ? c->w : c->kind == CALL_PAD ? p->w + c->x + c->w : p->w) * p->c;
    int from = moved_from(c, p, (int64_t)k / columns, (int64_t)k % columns), v = from < 0 ? 0 : (int)p->v[from];
    int32_t whole;
    float scaled;
    memcpy(&whole, bytes + 4 * k, c->kind == CALL_TIMES ? 4 : 0);
    memcpy(&scaled, bytes + 4 * k, c->kind == CALL_FACTOR ? 4 : 0);
    switch (c->kind) {
    case CALL_ABOVE: return bytes[k] == (v > c->level);
    case CALL_TIMES: return whole == v * c->level;
    case CALL_THRESHOLD: return bytes[k] == (v > c->level ? 255 : 0);
    case CALL_FACTOR: return scaled == (float)v * (float)c->factor;
    default: return bytes[k] == v;
    }
}

/* Offsets, sizes, thresholds and factors are arguments; more calls only repeat it. */
START_TEST(a_thousand_random_crops_shifts_paddings_and_factors_build_few_programs)
{
    enum { N = 1000, MOST_PROGRAMS = 6, MOST_OF_SHIFTS = 3 };
    unsigned state = 20261124;
    uint64_t n_programs = 0, n_of_shifts = 0;
    bench b;
    set_up(&b);
    for (int k = 0; k < N; k++) {
        imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
        imgpar_context_counters(b.ctx, &before);
        int w = 1 + (int)pick(&state, k % 4 ? 90 : 6), h = 1 + (int)pick(&state, k % 4 ? 60 : 6);
        picture p = picture_new(IMGPAR_U8, h, w, 3);
        picture_fill(&p, FILL_LEVELS, (unsigned)k);
        imgpar_array_release(b.image[0]);
        b.image[0] = picture_array(b.ctx, &p);
        random_call c = random_call_of(&state, w, h);
        imgpar_array *a = make(&b, c.text);
        size_t n_bytes, wide = c.kind == CALL_TIMES || c.kind == CALL_FACTOR ? 4 : 1;
        uint8_t *bytes = read_all(a, &n_bytes);
        for (size_t i = 0; i < n_bytes / wide; i++)
            ck_assert_msg(is_right(&c, &p, bytes, i), "%s of %dx%d: element %zu is wrong", c.text, w, h, i);
        free(bytes);
        imgpar_array_release(a);
        picture_free(&p);
        imgpar_context_counters(b.ctx, &after);
        *(c.kind >= CALL_SHIFT ? &n_of_shifts : &n_programs) += programs_of(&after) - programs_of(&before);
    }
    ck_assert_msg(!b.is_cpu || n_programs <= MOST_PROGRAMS, "%d programs", (int)n_programs);
    ck_assert_msg(!b.is_cpu || n_of_shifts <= MOST_OF_SHIFTS, "%d programs of shifts and paddings", (int)n_of_shifts);
    tear_down(&b);
}
END_TEST

/* How much of the text of a kernel depends on numbers in a text: no device compiles anything here. */
static void expect_one_text(bench *b, const char *const texts[], int n)
{
    char *first = NULL;
    for (int k = 0; k < n; k++) {
        imgpar_array *a = make(b, texts[k]);
        char *cl;
        ck_assert_int_eq(imgpar_array_explain(a, "cl", &cl), IMGPAR_OK);
        ck_assert_msg(!first || strcmp(first, cl) == 0, "%s and %s are different programs", texts[0], texts[k]);
        if (!first)
            first = cl;
        else
            imgpar_free(cl);
        imgpar_array_release(a);
    }
    imgpar_free(first);
}

START_TEST(other_numbers_are_the_same_program)
{
    static const char *const sets[][3] = {
        { "$1 > 100", "$1 > 7", "$1 > 0" },
        { "$1 == 3", "$1 == 255", "$1 == 0" },
        { "$1 * 20", "$1 * 255", "$1 * 16" },
        { "$1 * 3", "$1 * 2", "$1 * 0" },
        { "$1 + 1", "$1 + 200", "$1 + 16" },
        { "9 - $1", "200 - $1", "2 - $1" },
        { "$1 & 15", "$1 & 3", "$1 & 1" },
        { "min($1, 9)", "min($1, 200)", "min($1, 16)" },
        { "$1 / 4", "$1 / 2", "$1 / 0.5" },
        { "$1 * 1.5", "$1 * 2.5", "$1 * 1.25" },
        { "add($1, 1)", "add($1, 77)", "add($1, 128)" },
        { "multiply($1, 2)", "multiply($1, 100)", "multiply($1, 31)" },
        { "select($1 > 9, $1, 7)", "select($1 > 8, $1, 99)", "select($1 > 0, $1, 4)" },
        { "$1 * 3 + $2 * 2", "$1 * 2 + $2 * 9", "$1 * 7 + $2 * 1" },
        { "x < 9 ? $1 : 0", "x < 30 ? $1 : 0", "x < 3000 ? $1 : 0" },
        { "composite($1, $2, left=5, top=3)", "composite($1, $2, left=0, top=30)",
          "composite($1, $2, left=40, top=0)" },
        { "crop($1, 0, 0, 5, 5)", "crop($1, 3, 0, 58, 5)", "crop($1, 0, 7, 61, 40)" },
        { "boxblur(crop($1, 0, 0, 5, 5), 3)", "boxblur(crop($1, 3, 0, 58, 5), 3)",
          "boxblur(crop($1, 0, 7, 61, 40), 3)" },
        { "$1 div 3", "$1 div 7", "$1 div 200" },
        { "$1 div 4", "$1 div 64", "$1 div 2" },
        { "$1 % 3", "$1 % 7", "$1 % 200" },
        { "$1 % 4", "$1 % 64", "$1 % 2" },
        { "$1 << 1", "$1 << 5", "$1 << 0" },
        { "$1 >> 1", "$1 >> 5", "$1 >> 0" },
        { "(cast($1, i32) - 99) div 1000", "(cast($1, i32) - 99) div 70001", "(cast($1, i32) - 99) div 3" },
        { "slice($1, [0 1], [9 9])", "slice($1, 3)", "slice($1, [0 2])" },
        { "circshift($1, [1 3])", "circshift($1, [7 1])", "circshift($1, [30 60])" },
        { "circshift($1, [0 3])", "circshift($1, [7 0])", "circshift($1, [30 60])" },
        { "pad($1, [1 3])", "pad($1, [0 5])", "pad($1, [9 2], [0 0])" },
        { "pad($1, [1 0])", "pad($1, [9 0], [0 0])", "pad($1, [0 0], [4 0])" },
        { "pad($1, [1 3], border=reflect)", "pad($1, [0 5], border=reflect)", "pad($1, [9 0], [0 1], border=reflect)" },
    };
    bench b;
    set_up(&b);
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        expect_one_text(&b, sets[k], 3);
    tear_down(&b);
}
END_TEST

/* ---- random chains ----------------------------------------------------------------------------- */

/* %1$s is the value so far, %2$s one before it or an image. All give the same bytes everywhere. */
static const char *const links[] = {
    "invert(%1$s)",
    "boxblur(%1$s, size=3)",
    "boxblur(%1$s, size=5, border=reflect)",
    "blur(%1$s, sigma=1)",
    "erode(%1$s, size=3, border=reflect101)",
    "dilate(%1$s, size=3)",
    "linear(%1$s, 1.5, -20)",
    "threshold(%1$s, 99)",
    "blend(%1$s, %2$s, 0.3)",
    "add(%1$s, %2$s)",
    "absdiff(%1$s, %2$s)",
    "maximum(%1$s, %2$s)",
    "boxblur(%1$s, size=3, border=wrap)",
    "boxblur(%1$s, size=3, border=constant, cval=9)",
    "convolve(%1$s, [1 0 -1; 2 0 -2; 1 0 -1], offset=128)",
    "median(%1$s, size=3)",
    "cast((%1$s[-1, 0] + %1$s[1, 0] + %1$s[0, -2] + %1$s[0, 2]) div 4, u8)",
    "overlay(%1$s, %2$s, circle(%1$s, radius=9))",
};

/* v1 = ...; v2 = ...; the last one. */
static void chain_text(unsigned seed, char *text, size_t size)
{
    unsigned state = seed * 7919u + 17u, n = 2 + pick(&state, 5);
    char last[16] = "$1", other[16];
    int at = 0;
    for (unsigned k = 1; k <= n; k++) {
        unsigned choice = pick(&state, k + 2); /* an image, or a value before the last one */
        if (choice < 3)
            snprintf(other, sizeof other, "$%u", choice + 1);
        else
            snprintf(other, sizeof other, "v%u", choice - 2);
        char link[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(link, sizeof link, links[pick(&state, sizeof links / sizeof *links)], last, other);
#pragma GCC diagnostic pop
        at += snprintf(text + at, size - (size_t)at, "v%u = %s\n", k, link);
        snprintf(last, sizeof last, "v%u", k);
    }
    snprintf(text + at, size - (size_t)at, "%s", last);
}

START_TEST(fusing_a_random_chain_changes_no_bit)
{
    static const struct {
        const char *schedule, *fuse;
    } ways[] = { { "ref", "1" }, { "auto", "1" }, { "auto", "0" } };
    static const int64_t sizes[][2] = { { 61, 47 }, { 1, 31 }, { 37, 1 }, { 5, 130 }, { 200, 9 } };
    static char text[2048];
    bench b;
    set_up(&b);
    for (int seed = _i * 10; seed < (_i + 1) * 10; seed++) {
        const int64_t *size = sizes[seed % 5];
        add_images(&b, IMGPAR_U8, size[0], size[1], 3);
        chain_text((unsigned)seed, text, sizeof text);
        imgpar_array *a = make(&b, text);
        void *want = NULL, *got;
        size_t n;
        for (int k = 0; k < (test_tier_is_full() || seed % 4 == 0 ? 3 : 2); k++) { /* unfused: a program a link */
            set(&b, "schedule", ways[k].schedule);
            set(&b, "fuse", ways[k].fuse);
            got = read_all(a, &n);
            if (!want) want = got;
            ck_assert_msg(memcmp(want, got, n) == 0, "seed %d, schedule %s, fuse %s: other bytes than of ref:\n%s",
                          seed, ways[k].schedule, ways[k].fuse, text);
            if (want != got) free(got);
        }
        free(want);
        imgpar_array_release(a);
    }
    tear_down(&b);
}
END_TEST

/* ---- rows that are left out ---------------------------------------------------------------- */

/* Of a filter those elements that a slice with steps takes; expected of the oracle's filter, element by element. */
typedef struct slicing {
    const char *op, *options;
    imgpar_dtype dtype;
    int64_t h, w, c;
    int64_t from[2], step[2]; /* of negative steps, from the last element on */
} slicing;

static const slicing slicings[] = {
    { "blur", "sigma=2", IMGPAR_U8, 133, 67, 3, { 0, 0 }, { 2, 2 } },
    { "blur", "sigma=1.5, border=reflect", IMGPAR_U8, 150, 131, 1, { 1, 3 }, { 2, 3 } },
    { "blur", "sigma=1, border=reflect101", IMGPAR_U16, 135, 64, 2, { 0, 0 }, { -2, -2 } },
    { "blur", "sigma=1, border=wrap", IMGPAR_F32, 200, 31, 3, { 1, 0 }, { 3, 2 } },
    { "blur", "sigma=2, border=constant, cval=7", IMGPAR_U16, 129, 77, 3, { 1, 1 }, { 2, 1 } },
    { "blur", "sigma=2", IMGPAR_U8, 140, 1, 1, { 1, 0 }, { 2, 1 } },
    { "blur", "sigma=1", IMGPAR_F32, 9, 30, 1, { 2, 1 }, { 5, 7 } },
    { "median", "size=3", IMGPAR_U8, 131, 40, 3, { 1, 0 }, { 2, 2 } },
    { "boxblur", "size=5, border=reflect", IMGPAR_U8, 131, 40, 2, { 0, 1 }, { 2, 2 } },
    { "blur", "sigma=1", IMGPAR_U8, 130, 139, 1, { 0, 1 }, { 2, 2 } },
    { "blur", "sigma=1", IMGPAR_U16, 130, 139, 1, { 0, 0 }, { 1, 4 } },
    { "blur", "sigma=1", IMGPAR_F32, 130, 75, 1, { 0, 0 }, { 2, 2 } },
};

static int64_t n_taken(int64_t n, int64_t from, int64_t step)
{
    return step > 0 ? (n - from + step - 1) / step : (n - step - 1) / -step;
}

static int64_t taken_at(int64_t n, int64_t from, int64_t step, int64_t k)
{
    return step > 0 ? from + step * k : n - 1 + step * k;
}

static picture taken_from(const picture *all, const slicing *s)
{
    int64_t rows = n_taken(all->h, s->from[0], s->step[0]), columns = n_taken(all->w, s->from[1], s->step[1]);
    picture part = picture_new(all->dtype, rows, columns, all->c);
    for (int64_t y = 0; y < part.h; y++)
        for (int64_t x = 0; x < part.w; x++)
            for (int64_t c = 0; c < part.c; c++) {
                int64_t row = taken_at(all->h, s->from[0], s->step[0], y);
                int64_t column = taken_at(all->w, s->from[1], s->step[1], x);
                *picture_at(&part, y, x, c) = *picture_at(all, row, column, c);
                if (all->slack)
                    part.slack[(y * part.w + x) * part.c + c] = all->slack[(row * all->w + column) * all->c + c];
            }
    return part;
}

START_TEST(every_nth_row_of_a_filter_is_what_all_rows_have)
{
    const slicing *s = &slicings[_i];
    picture in = picture_new(s->dtype, s->h, s->w, s->c), all;
    char text[200], from[64] = "", why[256] = "";
    picture_fill(&in, FILL_LEVELS, 3);
    call filter = { .op = s->op, .in = { &in }, .n_in = 1, .options = s->options };
    oracle_answer(&filter, &all);
    picture want = taken_from(&all, s);
    if (s->step[0] > 0) snprintf(from, sizeof from, "[%d %d], ", (int)s->from[0], (int)s->from[1]);
    snprintf(text, sizeof text, "slice(%s($1, %s), %sstep=[%d %d])", s->op, s->options, from, (int)s->step[0],
             (int)s->step[1]);
    for (int k = 0; k < 2; k++) { /* the device, the interpreter */
        imgpar_context *ctx;
        size_t n;
        hold_driver();
        ck_assert_int_eq(imgpar_context_new(k ? "ref" : NULL, &ctx), IMGPAR_OK);
        imgpar_array *a = picture_array(ctx, &in), *b = imgpar_apply(ctx, text, &a, 1);
        void *bytes = read_all(b, &n);
        ck_assert_msg(picture_compare(&want, bytes, why), "%s on %s: %s", text, k ? "ref" : "the device", why);
        free(bytes);
        imgpar_array_release(a);
        imgpar_array_release(b);
        imgpar_context_release(ctx);
    }
    picture_free(&in);
    picture_free(&all);
    picture_free(&want);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fusion");
    TCase *c = tcase_create("fusion");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, blur_then_blend_is_one_kernel);
    tcase_add_test(c, three_boxes_a_blend_and_a_circle_overlay_are_one_kernel);
    tcase_add_test(c, a_map_into_a_map_is_one_kernel);
    tcase_add_test(c, a_map_into_a_stencil_is_one_kernel);
    tcase_add_test(c, a_matrix_of_typed_digits_is_two_passes);
    tcase_add_test(c, a_matrix_of_few_digits_is_one_pass);
    tcase_add_test(c, a_map_into_a_stencil_of_a_line_is_one_kernel);
    tcase_add_test(c, rows_that_no_cache_keeps_are_written);
    tcase_add_test(c, a_stencil_into_a_map_is_one_kernel);
    tcase_add_test(c, a_stencil_into_a_stencil_is_one_kernel);
    tcase_add_test(c, neighbour_reads_are_one_kernel);
    tcase_add_test(c, a_map_into_a_histogram_is_one_kernel);
    tcase_add_test(c, a_map_into_a_reduction_is_one_kernel);
    tcase_add_test(c, a_position_is_two_folds_the_extreme_and_where_it_is);
    tcase_add_test(c, equal_nodes_are_computed_once);
    tcase_add_test(c, a_reduction_ends_a_kernel_with_a_reason);
    tcase_add_test(c, rows_of_another_width_are_kept_whole);
    tcase_add_test(c, rows_of_another_height_are_made_at_their_readers_rate);
    tcase_add_loop_test(c, every_nth_row_of_a_filter_is_what_all_rows_have, 0, sizeof slicings / sizeof *slicings);
    tcase_add_test(c, a_level_of_a_pyramid_ends_a_kernel_with_a_reason);
    tcase_add_test(c, another_size_ends_a_kernel_with_a_reason);
    tcase_add_test(c, each_reader_that_refuses_tells_its_reason);
    tcase_add_test(c, a_wrap_border_is_cut_with_a_reason);
    tcase_add_test(c, fusion_can_be_switched_off);
    tcase_add_test(c, several_results_share_their_work);
    tcase_add_test(c, results_of_one_source_are_made_in_one_pass);
    tcase_add_test(c, folds_along_an_axis_share_their_levels);
    tcase_add_test(c, folds_by_the_same_keys_are_one_kernel);
    tcase_add_test(c, folds_share_what_they_look_for_first);
    tcase_add_test(c, running_sums_are_the_sums);
    tcase_add_test(c, what_channels_share_is_spread);
    tcase_add_test(c, a_mask_of_two_values_is_a_choice);
    tcase_add_test(c, a_mask_is_looked_at_a_row_at_a_time);
    tcase_add_test(c, a_short_stencil_reads_its_source_in_place);
    tcase_add_test(c, shared_parts_are_looked_at_once);
    tcase_add_test(c, a_kept_value_is_read_and_not_computed_again);
    tcase_add_test(c, a_parameter_may_be_computed_on_the_device);
    tcase_add_test(c, values_and_sizes_need_no_new_program);
    tcase_add_test(c, few_columns_are_folded_as_channels_are);
    tcase_add_test(c, another_width_needs_no_new_program);
    tcase_add_test(c, a_thousand_random_crops_shifts_paddings_and_factors_build_few_programs);
    tcase_add_test(c, other_numbers_are_the_same_program);
    tcase_add_loop_test(c, fusing_a_random_chain_changes_no_bit, 0,
                        (test_tier_is_full() ? N_CHAINS : N_QUICK_CHAINS) / 10);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
