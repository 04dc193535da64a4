/* SPDX-License-Identifier: MIT */
/* iterate() on the device: kernels an iteration, memory that does not grow, how often the condition comes back. */
#include "asserts.h"
#include "held.h"

#include <imgpar.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 256, LARGE = 1100 };

static imgpar_context *ctx;
static bool has_device;

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    has_device = strcmp(imgpar_context_device(ctx)->kind, "ref") != 0;
}
static void tear_down(void) { imgpar_context_release(ctx); }

/* An array of side x side f32, element k being k % 100. */
static imgpar_array *square(int side)
{
    const int64_t shape[] = { side, side };
    float *v = malloc(sizeof *v * (size_t)(side * side));
    ck_assert_ptr_nonnull(v);
    for (int k = 0; k < side * side; k++)
        v[k] = (float)(k % 100);
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 2, shape, v);
    free(v);
    return a;
}

static imgpar_array *start(void) { return square(SIDE); }

/* The first elements of text applied to start(), and what the context did for it. */
static imgpar_counters run(const char *text, float *first, int n)
{
    static float all[SIDE * SIDE];
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_array *a = start(), *out = imgpar_apply(ctx, text, &a, 1);
    imgpar_context_counters(ctx, &before);
    imgpar_status st = imgpar_array_read(out, all, sizeof all);
    ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(out));
    imgpar_context_counters(ctx, &after);
    memcpy(first, all, (size_t)n * sizeof *first);
    imgpar_array_release(a);
    imgpar_array_release(out);
    after.kernels -= before.kernels;
    after.programs_built += after.programs_loaded - before.programs_built - before.programs_loaded;
    after.evaluations -= before.evaluations;
    after.bytes_downloaded -= before.bytes_downloaded;
    after.buffers -= before.buffers;
    return after;
}

START_TEST(a_loop_of_500_maps_is_one_kernel_an_iteration)
{
    enum { MAPS = 500, STEPS = 12 };
    char text[32 + 16 * MAPS];
    float got[3], want[3] = { 0, 1, 2 };
    size_t n = (size_t)sprintf(text, "iterate($1, %d, _", STEPS);
    for (int k = 0; k < MAPS; k++) /* exact: quarters */
        n += (size_t)sprintf(text + n, " %c %d%s", k % 2 ? '-' : '+', k % 7, k % 2 ? "" : ".25");
    sprintf(text + n, ")");
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < MAPS; k++)
            for (int e = 0; e < 3; e++)
                want[e] += k % 2 ? -(float)(k % 7) : (float)(k % 7) + 0.25f;
    imgpar_counters did = run(text, got, 3);
    for (int e = 0; e < 3; e++)
        ck_assert_float_eq(got[e], want[e]);
    if (!has_device) return;
    ck_assert_uint_eq(did.kernels, STEPS);
    ck_assert_uint_le(did.programs_built, 1);
}
END_TEST

START_TEST(a_loop_takes_two_buffers_a_carried_array)
{
    static const char *const texts[2][2] = {
        { "iterate($1, 100, boxblur(_, size=3) + 1)", "iterate($1, 300, boxblur(_, size=3) + 1)" },
        { "(u, v) = iterate(($1, $1 * 2), 100, (p, q) -> (boxblur(q, size=3), p + 1))\nu",
          "(u, v) = iterate(($1, $1 * 2), 300, (p, q) -> (boxblur(q, size=3), p + 1))\nu" },
    };
    for (int t = 0; t < 2; t++) {
        float ignored;
        uint64_t peak[2];
        imgpar_counters did = { .struct_size = sizeof did };
        for (int k = 0; k < 2; k++) {
            did = run(texts[t][k], &ignored, 1);
            peak[k] = did.device_bytes_peak;
        }
        if (!has_device) return;
        ck_assert_uint_eq(peak[0], peak[1]);
        ck_assert_uint_eq(did.buffers, 0); /* those of the shorter loop do */
        ck_assert_uint_le(peak[0], (uint64_t)(2 * (t + 1) + 1) * SIDE * SIDE * 4 + 65536); /* and the start */
    }
}
END_TEST

START_TEST(the_condition_comes_back_every_k_steps)
{
    float by_one, by_ten;
    imgpar_counters often = run("iterate($1, 1000, _ * 0.5 + 1, until = maxval(_) < 2.001)", &by_one, 1);
    imgpar_counters seldom = run("iterate($1, 1000, _ * 0.5 + 1, until = maxval(_) < 2.001, check = 10)", &by_ten, 1);
    /* 2 - 2^(1-n) after n steps from 0; 97 / 2^n < 0.001 from step 17 on */
    ck_assert_float_eq(by_one, 2 - 2.0f / (1 << 17));
    ck_assert_float_eq(by_ten, 2 - 2.0f / (1 << 20));
    if (!has_device) return;
    ck_assert_uint_eq(often.bytes_downloaded - seldom.bytes_downloaded, 17 - 2); /* of a bool */
}
END_TEST

START_TEST(a_step_may_choose_by_what_it_carries)
{
    float got, want = 0, mean = 0;
    imgpar_counters did = run("iterate($1 * 0, 40, p -> select(mean(p) >= 5, p - 4.5, p + 1))", &got, 1);
    (void)did;
    for (int k = 0; k < 40; k++) {
        want = mean >= 5 ? want - 4.5f : want + 1;
        mean = want;
    }
    ck_assert_float_eq(got, want);
}
END_TEST

/* Halving what is missing to 2 ends at 2, to the bit: so each of these adds 2 to the one before. */
START_TEST(a_loop_is_run_once_wherever_its_value_is_used)
{
    enum { STEPS = 300, LOOPS = 3 };
    static const char *const texts[] = {
        "p = $1 + iterate($1, 300, _ * 0.5 + 1)\nq = p + iterate(p, 300, _ * 0.5 + 1)\nq + iterate(q, 300, _ * 0.5 + "
        "1)",
        "p = iterate($1, 300, _ * 0.5 + 1) + $1\nq = iterate(p, 300, _ * 0.5 + 1) + p\niterate(q, 300, _ * 0.5 + 1) + "
        "q",
    };
    for (int t = 0; t < 2; t++) {
        float got[3];
        imgpar_counters did = run(texts[t], got, 3);
        for (int e = 0; e < 3; e++)
            ck_assert_float_eq(got[e], (float)(e + 2 * LOOPS));
        if (has_device) ck_assert_uint_le(did.kernels, LOOPS * STEPS + 2 * LOOPS);
    }
}
END_TEST

START_TEST(a_loop_that_no_step_changes_is_run_once)
{
    float got[3];
    imgpar_counters did = run("iterate($1, 300, p -> p * 0.5 + iterate($1, 300, _ * 0.5 + 1))", got, 3);
    for (int e = 0; e < 3; e++) /* p / 2 + 2 */
        ck_assert_float_eq(got[e], 4);
    if (has_device) ck_assert_uint_le(did.kernels, 2 * 300 + 2);
    /* this one is changed: q ends at p */
    did = run("iterate($1, 40, p -> iterate(p, 100, q -> (q + p) * 0.5) + 1)", got, 3);
    for (int e = 0; e < 3; e++)
        ck_assert_float_eq(got[e], (float)(e + 40));
    if (has_device) ck_assert_uint_ge(did.kernels, 40 * 100);
}
END_TEST

START_TEST(what_has_kernels_of_its_own_is_run_once)
{
    float got[3];
    imgpar_counters did = run("iterate($1, 300, p -> p * 0.5 + (sort($1 * 0, axis=1) + 2))", got, 3);
    for (int e = 0; e < 3; e++) /* p / 2 + 2 */
        ck_assert_float_eq(got[e], 4);
    if (has_device) ck_assert_uint_le(did.kernels, 300 + 20);
    static const char *const zeros[] = {
        "median($1 * 0, 7)",
        "median($1 * 0, 3)",
        "percentile_filter($1 * 0, 20, size=3)",
        "reshape(text_lines(\" \", 1, 1, 1), [1, 1])",
        "reshape(slice(slice(text_mask(\" \"), 0, 1), 0, 1, axis=1), [1, 1])",
        "0 * reshape(slice(slice(slice(plot($1, kind=heat, width=64, height=64), 0, 1), 0, 1, axis=1), 0, 1, axis=2), "
        "[1, 1])",
    };
    for (size_t k = 0; k < sizeof zeros / sizeof *zeros; k++) {
        char text[200];
        snprintf(text, sizeof text, "iterate($1, 300, p -> p * 0.5 + (%s + 2))", zeros[k]);
        did = run(text, got, 3);
        for (int e = 0; e < 3; e++)
            ck_assert_float_eq(got[e], 4);
        if (has_device) ck_assert_uint_le(did.kernels, 300 + 20);
    }
    /* this one is changed */
    did = run("iterate($1, 40, p -> sort(p * 0, axis=1) + 2)", got, 3);
    for (int e = 0; e < 3; e++)
        ck_assert_float_eq(got[e], 2);
    if (has_device) ck_assert_uint_ge(did.kernels, 2 * 40);
}
END_TEST

START_TEST(a_loop_decodes_a_file_once)
{
    static const char file[] = "P5 2 1 255\n\x01\x03";
    static float all[SIDE * SIDE];
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_array *in[] = { start(), imgpar_open_memory(ctx, file, sizeof file - 1) };
    for (int run = 0; run < 2; run++) { /* and does not keep it for the next one, though there is a handle */
        imgpar_array *out = imgpar_apply(ctx, "iterate($1, 300, _ * 0.5 + set_white(mean($2), 0))", in, 2);
        imgpar_context_counters(ctx, &before);
        ck_assert_msg(imgpar_array_read(out, all, sizeof all) == IMGPAR_OK, "%s", imgpar_array_message(out));
        imgpar_context_counters(ctx, &after);
        ck_assert_float_eq(all[1], 4); /* v / 2 + 2 */
        ck_assert_uint_eq(after.decodes - before.decodes, 1);
        imgpar_array_release(out);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

typedef struct releasing {
    imgpar_array *array;
    int at;
} releasing;

static int release_at(void *user, double done)
{
    releasing *r = user;
    (void)done;
    if (r->at-- == 0) imgpar_array_release(r->array);
    return 0;
}

/* A handle on text, which holds a loop, is released at each call of poll in turn, while what is computed from it is
 * evaluated. */
static void release_while_evaluating(const char *text, bool is_evaluated)
{
    static float all[SIDE * SIDE];
    int at = 0;
    for (bool released = true; released; at++) {
        imgpar_array *a = start(), *held = imgpar_apply(ctx, text, &a, 1), *out = imgpar_apply(ctx, "$1 * 2", &held, 1);
        if (is_evaluated) ck_assert_int_eq(imgpar_array_eval(held, NULL), IMGPAR_OK);
        releasing r = { held, at };
        imgpar_options options = { .struct_size = sizeof options, .poll = release_at, .user = &r };
        imgpar_status st = imgpar_array_eval(out, &options);
        ck_assert_msg(st == IMGPAR_OK, "released at %d: %s", at, imgpar_array_message(out));
        ck_assert_int_eq(imgpar_array_read(out, all, sizeof all), IMGPAR_OK);
        ck_assert_float_eq(all[0], 2);
        released = r.at < 0;
        if (!released) imgpar_array_release(held);
        imgpar_array_release(out);
        imgpar_array_release(a);
    }
    ck_assert_int_gt(at, 2);
}

/* The text of one format; each of `want`, which ends with NULL, stands in it behind the one before. */
static void assert_explained(const char *text, const char *format, const char *const *want)
{
    char *told = NULL;
    imgpar_array *a = start(), *out = imgpar_apply(ctx, text, &a, 1);
    ck_assert_msg(imgpar_array_explain(out, format, &told) == IMGPAR_OK, "%s", imgpar_array_message(out));
    for (const char *at = told; *want; want++) {
        at = strstr(at, *want);
        ck_assert_msg(at, "%s: \"%s\" is not where it should be in: %.2000s", text, *want, told);
        at += strlen(*want);
    }
    imgpar_free(told);
    imgpar_array_release(out);
    imgpar_array_release(a);
}

/* Text applied to a large array, and the kernels that took. From malloc. */
static float *run_large(const char *text, const char *fuse, uint64_t *kernels)
{
    const size_t bytes = sizeof(float) * LARGE * LARGE;
    float *all = malloc(bytes);
    ck_assert_ptr_nonnull(all);
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    ck_assert_int_eq(imgpar_context_set(ctx, "fuse", fuse), IMGPAR_OK);
    imgpar_array *a = square(LARGE), *out = imgpar_apply(ctx, text, &a, 1);
    imgpar_context_counters(ctx, &before);
    ck_assert_msg(imgpar_array_read(out, all, bytes) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(out));
    imgpar_context_counters(ctx, &after);
    *kernels = after.kernels - before.kernels;
    imgpar_array_release(a);
    imgpar_array_release(out);
    return all;
}

/* Not fused, every step is taken by itself. A fold and the end of it are two kernels; a condition is those and a
 * comparison. */
START_TEST(steps_that_wait_for_memory_are_taken_together)
{
    static const struct {
        const char *text;
        uint64_t kernels;
    } rows[] = {
        { "iterate($1, 104, _ * 0.5 + 1)", 104 / 4 },
        { "iterate($1, 107, _ * 0.5 + 1)", 107 / 4 + 107 % 4 },
        { "cast(iterate(cast($1, i64), 104, _ * 7 - 1), f32)", 1 + 104 / 4 + 1 },
        { "cast(iterate(cast($1, u8), 120, cast(_ * 7 + 3, u8)), f32)", 1 + 120 / 4 + 1 }, /* narrow, and wraps */
        { "cast(iterate(cast($1, u8), 40, cast(_ * 7 + 3, u8)), f32)", 1 + 40 + 1 },       /* too little */
        { "iterate($1, 104, reshape(_ * 0.5 + 1, [1100 1100]))", 104 / 4 },
        { "b = $1 * 0.01\niterate($1, 104, _ * 0.5 + b)", 104 / 4 }, /* what no step changes */
        { "(u, v) = iterate(($1, $1 * 2), 104, (p, q) -> (q, p * 0.5))\nu - v", 1 + 104 + 1 },
        { "(u, v) = iterate(($1, $1 * 2), 104, (p, q) -> (p * 0.5 + q, q))\nu - v", 1 + 104 / 4 + 1 },
        { "real(iterate(complex($1 * 0.01, 0.25), 104, _ * _ * 0.5))", 1 + 104 / 4 + 1 },
        { "(u, v) = iterate(($1, $1 * 2), 104, (p, q) -> (q * 0.5, p + 1))\nu - v", 1 + 2 * 104 / 4 + 1 },
        { "(u, k) = iterate(($1, 0), 104, (p, k) -> (select(k % 3 == 1, p * 0.5, p + 1), k + 1))\nu", 1 + 2 * 104 / 4 },
        { "iterate($1, 104, _ * 0.5 + 1, until=maxval(_) < 3, check=4)", 2 * (4 / 4 + 3) },
        { "iterate($1, 104, _ * 0.5 + 1, until=maxval(_) < 3, check=6)", 2 * (6 / 2 + 3) },
        { "iterate($1, 104, _ * 0.5 + 1, until=maxval(_) < 3)", 7 * (1 + 3) },
        { "iterate($1, 104, (_[-1,0] + _[1,0]) * 0.5)", 104 },
        { "iterate($1, 104, (_[0,-1] + _[0,1]) * 0.5)", 104 / 4 }, /* keeps single rows */
        /* and walks a line panel by panel */
        { "reshape(iterate(reshape($1, [1210000]), 104, (_[-1] + _[0] + _[1]) * 0.25), [1100 1100])", 104 / 4 },
        { "iterate($1, 104, cast(cast(_, f16) * 0.75 + 1, f32))", 104 }, /* what is rounded is kept */
        { "iterate($1, 104, _ * 0.5 + mean(_))", 104 * (2 + 1) },        /* all of a step is seen before the next */
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint64_t kernels, ignored;
        float *got = run_large(rows[r].text, "1", &kernels), *want = run_large(rows[r].text, "0", &ignored);
        ck_assert_msg(memcmp(got, want, sizeof(float) * LARGE * LARGE) == 0, "%s: other values than step by step",
                      rows[r].text);
        ck_assert_msg(!has_device || kernels == rows[r].kernels, "%s: %d kernels, not %d", rows[r].text, (int)kernels,
                      (int)rows[r].kernels);
        free(got);
        free(want);
    }
}
END_TEST

START_TEST(steps_of_loops_are_explained)
{
    if (!has_device) return;
    assert_explained("blur(iterate($1, 40, boxblur(_, size=3) * 0.5), 1)", "text",
                     (const char *[]){ "1 kernel", "kernel 1: blur", "\n\nloop 1: 40 steps; a step is\n", "1 kernel",
                                       "kernel 1: boxblur", "carried from the step before", NULL });
    assert_explained(
        "iterate($1, 40, _ + 1, until=maxval(_) > 9, check=4)", "text",
        (const char *[]){ "loop 1: at most 40 steps, until its condition holds, tested after every 4; a step is\n",
                          "kernel 1: arithmetic", "its condition is\n", "kernel 1: maxval", NULL });
    assert_explained(
        "iterate($1, 40, _ + 1, until=maxval(_) > 9)", "json",
        (const char *[]){ "\"step\": {\"nodes\": ", "}, \"check\": 1, \"condition\": {\"nodes\": ", "maxval", NULL });
    /* one within the other */
    assert_explained(
        "iterate($1, 40, iterate(_, 500, erode(_, size=3)) + blur(_, 1))", "json",
        (const char *[]){ "{\"nodes\": ", ", \"loops\": [\n  {\"steps\": 40, \"step\": {\"nodes\": ", "blur",
                          "},\n  {\"steps\": 500, ", "\"step\": {\"nodes\": ", "erode", "\n]}}\n]}\n", NULL });
    static const char *const large = "iterate(fill(1000, 1000, 1.5, dtype=f32), 400, _ * 0.5)";
    assert_explained(large, "text",
                     (const char *[]){ "loop 1: 400 steps, 4 at once; 4 steps are\n", "1 kernel", NULL });
    static const char *const of_constants =
        "a = fill(1000, 1000, 1.5, dtype=f32)\n"
        "(s, n) = iterate((a * 0, 0), 400, (s, n) -> (s + boxblur(at(a, y, x + n % 3), 3), n + 1))\ns";
    assert_explained(of_constants, "text", (const char *[]){ "loop 1: 400 steps, 4 at once; 4 steps are\n", NULL });
    assert_explained("iterate(fill(1000, 1000, 1.5, dtype=f32), 400, boxblur(_, 3) * 0.5)", "text",
                     (const char *[]){ "loop 1: 400 steps; a step is\n", NULL });
    assert_explained(large, "json", (const char *[]){ "{\"steps\": 400, \"at_once\": 4, \"step\": {", NULL });
    assert_explained("iterate($1, 400, _ * 0.5)", "cl",
                     (const char *[]){ "/* loop 1: 400 steps; a step: */\n", "__kernel void", NULL });
    assert_explained("iterate($1, 400, _ * 0.5)", "dot",
                     (const char *[]){ "digraph", "// loop 1: 400 steps; a step:\ndigraph", NULL });
}
END_TEST

/* The elements of text applied to the arrays, by this schedule; how many kernels were launched for them. */
static int read_by(const char *schedule, const char *text, imgpar_array *const *in, size_t n, void *out, size_t size)
{
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    imgpar_context_counters(ctx, &before);
    imgpar_array *a = imgpar_apply(ctx, text, in, n);
    ck_assert_msg(imgpar_array_read(a, out, size) == IMGPAR_OK, "%s", imgpar_array_message(a));
    imgpar_context_counters(ctx, &after);
    imgpar_array_release(a);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "auto"), IMGPAR_OK);
    return (int)(after.kernels - before.kernels);
}

/* p becomes f p f' / 2 + q, again and again, where q is a quarter of the unit matrix. */
static void filter_in_double(int steps, const double f[4][4], double p[4][4])
{
    for (int step = 0; step < steps; step++) {
        double fp[4][4] = { { 0 } }, next[4][4] = { { 0 } };
        for (int i = 0; i < 64; i++)
            fp[i / 16][i / 4 % 4] += f[i / 16][i % 4] * p[i % 4][i / 4 % 4];
        for (int i = 0; i < 64; i++)
            next[i / 16][i / 4 % 4] += fp[i / 16][i % 4] * f[i / 4 % 4][i % 4];
        for (int i = 0; i < 16; i++)
            p[i / 4][i % 4] = next[i / 4][i % 4] * 0.5 + (i / 4 == i % 4 ? 0.25 : 0);
    }
}

START_TEST(steps_of_matrices_of_4x4_launch_nothing)
{
    enum { FEW = 4 };
    const double f[4][4] = { { 1, 0, 0.25, 0 }, { 0, 1, 0, 0.25 }, { 0, 0, 1, 0 }, { 0, 0, 0, 1 } };
    double want[4][4] = { { 3, 1, 0, 0 }, { 1, 2, 0, 0 }, { 0, 0, 1, 0 }, { 0, 0, 0, 5 } };
    float start_of[16], f_of[16], got[16];
    for (int k = 0; k < 16; k++) {
        start_of[k] = (float)want[k / 4][k % 4];
        f_of[k] = (float)f[k / 4][k % 4];
    }
    filter_in_double(500, f, want);
    const int64_t shape[] = { 4, 4 };
    imgpar_array *in[] = { imgpar_array_from_data(ctx, IMGPAR_F32, 2, shape, start_of),
                           imgpar_array_from_data(ctx, IMGPAR_F32, 2, shape, f_of) };
    int kernels = read_by("auto", "iterate($1, 500, matmul(matmul($2, _), transpose($2)) * 0.5 + (x == y) * 0.25)", in,
                          2, got, sizeof got);
    ck_assert_int_le(kernels, FEW);
    for (int k = 0; k < 16; k++)
        ck_assert_float_eq_tol(got[k], (float)want[k / 4][k % 4], 1e-4f);
    for (int k = 0; k < 2; k++)
        imgpar_array_release(in[k]);
}
END_TEST

START_TEST(small_steps_give_the_bytes_that_kernels_give)
{
    enum { N = 60, STEPS = 300, FEW = 4 };
    static const char *const texts[] = {
        "iterate($1, 300, (_ * 1664525 + 1013904223) & 4294967295)",
        "iterate($1, 1000, (_ * 5 + 1) % 8192, until=maxval(_) % 97 == 3, check=2)",
        "(a, b, i) = iterate(($1, $1 * 0, 0), 300, (p, q, i) -> ((p ^ q) % 65536, q + i, i + 1))\na + b * 3 + i",
        "cast(iterate($1 * 0.5, 300, sqrt(_ * _[1] + 1) * 0.75) * 1000000, i64)",
    };
    int64_t v[N], small[N], want[N], lcg[N];
    for (int k = 0; k < N; k++)
        v[k] = lcg[k] = k * k + 1;
    for (int k = 0; k < N * STEPS; k++)
        lcg[k % N] = (lcg[k % N] * 1664525 + 1013904223) & 4294967295;
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_I64, 1, (int64_t[]){ N }, v);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        ck_assert_int_le(read_by("auto", texts[t], &a, 1, small, sizeof small), FEW);
        int kernels = read_by("pixels", texts[t], &a, 1, want, sizeof want);
        ck_assert_msg(!has_device || kernels > FEW, "%s: %d kernels", texts[t], kernels);
        ck_assert_msg(memcmp(small, want, sizeof want) == 0, "%s", texts[t]);
        if (t == 0) ck_assert_msg(memcmp(small, lcg, sizeof lcg) == 0, "%s", texts[t]);
    }
    imgpar_array_release(a);
}
END_TEST

START_TEST(what_runs_small_steps_is_explained)
{
    if (!has_device) return;
    assert_explained("iterate(slice($1, 0, 4), 400, _ * 0.5)", "text",
                     (const char *[]){ "loop 1: 400 steps, by the interpreter since they are small", NULL });
    assert_explained("iterate(slice($1, 0, 4), 400, _ * 0.5)", "json",
                     (const char *[]){ "{\"steps\": 400, \"by\": \"interpreter\", \"step\": {", NULL });
}
END_TEST

START_TEST(a_handle_on_a_loop_may_go_while_others_compute_with_it)
{
    release_while_evaluating("iterate($1, 300, _ * 0.5 + 1, until = maxval(_) < 60)", false);
    release_while_evaluating("iterate($1, 300, _ * 0.5 + 1, until = maxval(_) < 60)", true);
    /* the loop is below it */
    release_while_evaluating("iterate($1, 300, _ * 0.5 + 1, until = maxval(_) < 60) + 0", true);
}
END_TEST

/* ---- callbacks that evaluate what is made of a loop ------------------------------------------------------ */

#define LOOP "iterate($1, 40, _ * 0.5 + 1)"

typedef struct within {
    imgpar_array *loop;
    int at;                /* the callback that evaluates; in every one where it is below 0 */
    int n_right, n_errors; /* of what was evaluated */
    char wrong[256];       /* what is neither; callbacks of other threads assert nothing */
} within;

static void evaluate_within(within *w)
{
    static const char want[] = "goes on when a callback of its evaluation (poll, on_event, on_warning) has returned";
    float got[1];
    if (w->at >= 0 && w->at-- != 0) return;
    imgpar_array *a = imgpar_apply(ctx, "crop($1, 0, 0, 1, 1) * 3", &w->loop, 1);
    const imgpar_status st = imgpar_array_read(a, got, sizeof got);
    if (st && (st != IMGPAR_E_UNSUPPORTED || !strstr(imgpar_array_message(a), want)))
        snprintf(w->wrong, sizeof w->wrong, "%s", imgpar_array_message(a));
    else if (!st && !(fabsf(got[0] - 6) <= 1e-5f))
        snprintf(w->wrong, sizeof w->wrong, "%g, not 6", (double)got[0]);
    *(st ? &w->n_errors : &w->n_right) += 1;
    imgpar_array_release(a);
}

static int poll_within(void *user, double done)
{
    (void)done;
    evaluate_within(user);
    return 0;
}

static void event_within(void *user, const imgpar_event *event)
{
    (void)event;
    evaluate_within(user);
}

START_TEST(a_callback_that_evaluates_the_running_loop_is_refused)
{
    for (int of_events = 0; of_events < 2; of_events++) {
        int n_errors = 0, n_right = 0, at = 0;
        for (bool called = true; called && at < 40; at++) {
            float got[1];
            imgpar_array *a = start(), *loop = imgpar_apply(ctx, LOOP, &a, 1),
                         *out = imgpar_apply(ctx, "crop($1, 0, 0, 1, 1) * 2", &loop, 1);
            within w = { .loop = loop, .at = at };
            const imgpar_options options = { .struct_size = sizeof options,
                                             .poll = of_events ? NULL : poll_within,
                                             .on_event = of_events ? event_within : NULL,
                                             .user = &w };
            const imgpar_status st = imgpar_array_read_with(out, got, sizeof got, &options);
            ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(out));
            ck_assert_float_eq_tol(got[0], 4, 1e-5f);
            ck_assert_str_eq(w.wrong, "");
            called = w.at < 0;
            n_errors += w.n_errors;
            n_right += w.n_right;
            imgpar_array_release(out);
            imgpar_array_release(loop);
            imgpar_array_release(a);
        }
        ck_assert_int_gt(n_errors, of_events && !has_device ? -1 : 0); /* the interpreter has no events within */
        ck_assert_int_gt(n_right, 0);
    }
}
END_TEST

/* Evaluates loops[0], and in callbacks what is made of loops[1]. NULL: the first was not refused, and the others are as
 * they must be. */
static void *run_one_of_two(void *user)
{
    imgpar_array **loops = user;
    within w = { .loop = loops[1], .at = -1 };
    const imgpar_options options = { .struct_size = sizeof options, .poll = poll_within, .user = &w };
    return imgpar_array_eval(loops[0], &options) || w.wrong[0] ? user : NULL;
}

START_TEST(loops_whose_callbacks_evaluate_each_other_end)
{
    for (int k = 0; k < 20; k++) {
        imgpar_array *a = start(), *one = imgpar_apply(ctx, LOOP, &a, 1), *two = imgpar_apply(ctx, LOOP, &a, 1);
        imgpar_array *of[2][2] = { { one, two }, { two, one } };
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, run_one_of_two, of[i]), 0);
        for (int i = 0; i < 2; i++) {
            void *refused = NULL;
            ck_assert_int_eq(pthread_join(threads[i], &refused), 0);
            ck_assert_ptr_null(refused);
        }
        imgpar_array_release(one);
        imgpar_array_release(two);
        imgpar_array_release(a);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *c = tcase_create("loop");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, a_loop_of_500_maps_is_one_kernel_an_iteration);
    tcase_add_test(c, a_loop_takes_two_buffers_a_carried_array);
    tcase_add_test(c, the_condition_comes_back_every_k_steps);
    tcase_add_test(c, a_step_may_choose_by_what_it_carries);
    tcase_add_test(c, a_loop_is_run_once_wherever_its_value_is_used);
    tcase_add_test(c, a_loop_that_no_step_changes_is_run_once);
    tcase_add_test(c, what_has_kernels_of_its_own_is_run_once);
    tcase_add_test(c, a_loop_decodes_a_file_once);
    tcase_add_test(c, steps_that_wait_for_memory_are_taken_together);
    tcase_add_test(c, steps_of_loops_are_explained);
    tcase_add_test(c, steps_of_matrices_of_4x4_launch_nothing);
    tcase_add_test(c, small_steps_give_the_bytes_that_kernels_give);
    tcase_add_test(c, what_runs_small_steps_is_explained);
    tcase_add_test(c, a_handle_on_a_loop_may_go_while_others_compute_with_it);
    tcase_add_test(c, a_callback_that_evaluates_the_running_loop_is_refused);
    tcase_add_test(c, loops_whose_callbacks_evaluate_each_other_end);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
