/* SPDX-License-Identifier: MIT */
/*
 * Plans that a context keeps for graphs that it meets again: what comes out is what the arrays at hand make, whatever
 * was computed before by the same plan, and whatever differs has a plan of its own. The interpreter, which keeps none,
 * tells what is right.
 */
#include "asserts.h"
#include "held.h"
#include "run/context.h"

#include <imgpar.h>
#include <imgpar_ops.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 37, W = 61, C = 3, N = H * W * C, ROUNDS = 4 };
static const int64_t shape[] = { H, W, C };

static imgpar_context *ctx, *ref;

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK);
}

static void tear_down(void)
{
    imgpar_context_release(ctx);
    imgpar_context_release(ref);
}

static void fill(uint8_t *pixels, unsigned seed)
{
    for (int k = 0; k < N; k++) {
        seed = seed * 1664525u + 1013904223u;
        pixels[k] = (uint8_t)(seed >> 24);
    }
}

/* Elements of what text makes of pictures of two seeds into out, which has room for so many bytes; their bytes. */
static size_t compute(imgpar_context *c, const char *text, unsigned first, unsigned second, void *out, size_t room)
{
    static _Thread_local uint8_t pixels[2][N];
    fill(pixels[0], first);
    fill(pixels[1], second);
    imgpar_array *in[2];
    for (int k = 0; k < 2; k++)
        in[k] = imgpar_array_from_data(c, IMGPAR_U8, 3, shape, pixels[k]);
    imgpar_array *a = imgpar_apply(c, text, in, 2);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(!imgpar_array_info(a, &info), "%s: %s", text, imgpar_array_message(a));
    ck_assert_uint_le(info.size_bytes, room);
    ck_assert_msg(!imgpar_array_read(a, out, info.size_bytes), "%s: %s", text, imgpar_array_message(a));
    imgpar_array_release(a);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    return info.size_bytes;
}

static int n_kept(void)
{
    int n = 0;
    while (n < IP_KEPT_PLANS && ctx->plans.kept[n])
        n++;
    return n;
}

static const char *const texts[] = {
    "blur($1, 2)",
    "blend(erode($1, size=3), $2, 0.3)",
    "cast((invert($1) + $2) div 2, u8)",
    "$1 - $1[1, 0] + $2",
    "reshape(reshape($1, [61, 37, 3])[0, 1], [37, 61, 3])", /* the same memory, in another shape */
    "resize(blur($1, 1), 30, 20)",
    "gray($1) > mean(gray($2))",
    "sum($1, axis=1)",
    "histogram($1)",
    "cumsum(cast($1, i32), axis=0)",
    "sort(reshape(gray($2), [2257]))",
    "matmul(reshape(cast(gray($1), i32), [37, 61]), reshape(cast(gray($2), i32), [61, 37]))",
    "convolve($1, [0 0.125 0; 0.125 0.5 0.125; 0 0.125 0])",
    "take(reshape(cumsum(histogram($1), axis=1), [768]), $2)",
    "select($1 > 99, $2, $1)",
    "overlay($1, $2, gray($1) > 128)",
    "crop(boxblur($1, 5), 3, 2, 40, 20)",
    "concatenate($1, reverse($2), axis=1)",
    "cast($1, f16) * 2 - $2",
    "$1 > 100 && $2 < 50",
    "fft(cast(gray($1), f32))[0, 1] * 0 + cast(gray($2), f32)",
};

START_TEST(a_graph_met_again_gives_what_its_own_elements_make) /* _i: the text */
{
    enum { ROOM = 1 << 18 };
    uint8_t *got = malloc(ROOM), *want = malloc(ROOM);
    ck_assert(got && want);
    for (unsigned round = 0; round < ROUNDS; round++) {
        /* the last time both are one picture */
        const unsigned first = 10 + round, second = round + 1 < ROUNDS ? 70 + 3 * round : first;
        const size_t n = compute(ctx, texts[_i], first, second, got, ROOM);
        ck_assert_uint_eq(compute(ref, texts[_i], first, second, want, ROOM), n);
        ck_assert_msg(memcmp(got, want, n) == 0, "%s: round %u", texts[_i], round);
    }
    ck_assert_msg(n_kept() == 1, "%s: %d plans are kept", texts[_i], n_kept());
    free(got);
    free(want);
}
END_TEST

START_TEST(a_plan_is_kept_when_a_graph_is_met_twice)
{
    uint8_t out[N];
    compute(ctx, texts[0], 1, 2, out, N);
    ck_assert_int_eq(n_kept(), 0);
    compute(ctx, texts[0], 3, 4, out, N);
    ck_assert_int_eq(n_kept(), 1);
    const ip_kept_plan *kept = ctx->plans.kept[0];
    compute(ctx, texts[0], 5, 6, out, N);
    ck_assert_ptr_eq(ctx->plans.kept[0], kept);
    for (int sigma = 1; sigma <= 2 * IP_KEPT_PLANS; sigma++) {
        char text[40];
        snprintf(text, sizeof text, "linear($1, 1.5, %d)", sigma);
        compute(ctx, text, 1, 2, out, N);
        compute(ctx, text, 1, 2, out, N);
    }
    ck_assert_int_eq(n_kept(), IP_KEPT_PLANS);
}
END_TEST

/* Each differs from the one before it in one thing. */
static const char *const alike[] = {
    "$1 - $2",
    "$2 - $1",
    "$1 - $1",
    "$1 + $2",
    "linear($1, 2, 5)",
    "linear($1, 2, 6)",
    "boxblur($1, 3)",
    "boxblur($1, 5)",
    "boxblur($1, 5, border=reflect)",
    "convolve($1, [0 0.125 0; 0.125 0.5 0.125; 0 0.125 0])",
    "convolve($1, [0 0.25 0; 0.125 0.375 0.125; 0 0.125 0])",
    "set_white($1, 255)",
    "invert(set_white($1, 100))",
    "invert(set_white($1, 200))",
    "gray($1, weights=bt709)",
    "gray($1, weights=bt601)",
    "crop($1, 1, 2, 30, 30)",
    "crop($1, 2, 2, 30, 30)",
    "$1 + $2 - $1",
    "$1 + $2 - $2",
};

/* A chain of so many operations, computed several times: the graph is listed in few slots or in many, or has too many
 * nodes to be kept. */
START_TEST(graphs_of_any_size_are_met_again) /* _i: the size */
{
    enum { FEW = 64, MOST = 1024, SIDE = 4 };
    static const int lengths[] = { FEW - 2, FEW - 1, FEW, MOST - 1, MOST };
    static const int64_t dims[] = { SIDE };
    imgpar_array *chain[MOST + 1];
    const int n = lengths[_i];
    for (int round = 0; round < ROUNDS; round++) {
        const int32_t from[SIDE] = { round, 7, -3, 1000 * round };
        int32_t got[SIDE];
        chain[0] = imgpar_array_from_data(ctx, IMGPAR_I32, 1, dims, from);
        for (int k = 0; k < n; k++)
            chain[k + 1] = imgpar_apply(ctx, k % 2 ? "$1 - 7" : "$1 + 5", &chain[k], 1);
        ck_assert_int_eq(imgpar_array_read(chain[n], got, sizeof got), IMGPAR_OK);
        for (int k = 0; k < SIDE; k++)
            ck_assert_int_eq(got[k], from[k] + 5 * ((n + 1) / 2) - 7 * (n / 2));
        for (int k = 0; k <= n; k++)
            imgpar_array_release(chain[k]);
        if (round == ROUNDS - 1 && n <= FEW) ck_assert_int_eq(n_kept(), 1);
    }
}
END_TEST

START_TEST(what_differs_has_a_plan_of_its_own)
{
    int32_t got[N], want[N];
    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t k = 0; k < sizeof alike / sizeof *alike; k++) {
            const size_t n = compute(ctx, alike[k], round, 50 + round, got, sizeof got);
            ck_assert_uint_eq(compute(ref, alike[k], round, 50 + round, want, sizeof want), n);
            ck_assert_msg(memcmp(got, want, n) == 0, "%s: round %u", alike[k], round);
        }
}
END_TEST

START_TEST(a_setting_that_plans_depend_on_makes_another_plan)
{
    uint8_t got[N], want[N];
    static const char *const settings[][2] = { { "schedule", "pixels" }, { "schedule", "auto" }, { "fuse", "0" } };
    compute(ref, texts[1], 1, 2, want, N);
    for (int k = 0; k < 3; k++) {
        for (int round = 0; round < 3; round++) {
            compute(ctx, texts[1], 1, 2, got, N);
            ck_assert_int_eq(memcmp(got, want, N), 0);
        }
        ck_assert_int_eq(n_kept(), k + 1);
        ck_assert_int_eq(imgpar_context_set(ctx, settings[k][0], settings[k][1]), IMGPAR_OK);
    }
    imgpar_counters before = { .struct_size = sizeof before }, after = before;
    ck_assert_int_eq(imgpar_context_counters(ctx, &before), IMGPAR_OK);
    compute(ctx, texts[1], 1, 2, got, N);
    ck_assert_int_eq(imgpar_context_counters(ctx, &after), IMGPAR_OK);
    ck_assert_uint_gt(after.kernels - before.kernels, 1);
    ck_assert_int_eq(memcmp(got, want, N), 0);
}
END_TEST

static void note_release(void *user, void *data)
{
    (void)data;
    ++*(int *)user;
}

START_TEST(a_kept_plan_holds_none_of_the_users_memory)
{
    static uint8_t pixels[N], out[N];
    int n_released = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fill(pixels, (unsigned)round);
        imgpar_array *in = imgpar_array_wrap(ctx, IMGPAR_U8, 3, shape, pixels, note_release, &n_released);
        imgpar_array *a = imgpar_invert(in);
        ck_assert_int_eq(imgpar_array_read(a, out, N), IMGPAR_OK);
        imgpar_array_release(a);
        imgpar_array_release(in);
        ck_assert_int_eq(n_released, round + 1);
        for (int k = 0; k < N; k++)
            ck_assert_uint_eq(out[k], 255 - pixels[k]);
    }
    ck_assert_int_eq(n_kept(), 1);
}
END_TEST

START_TEST(a_result_may_go_where_its_source_lies)
{
    static _Alignas(64) uint8_t pixels[N];
    uint8_t want[N];
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(pixels, round);
        for (int y = 0; y < H; y++)
            memcpy(want + y * W * C, pixels + (H - 1 - y) * W * C, W * C);
        imgpar_array *in = imgpar_array_wrap(ctx, IMGPAR_U8, 3, shape, pixels, NULL, NULL);
        imgpar_array *a = imgpar_apply(ctx, "reverse($1, 0)", &in, 1);
        ck_assert_msg(!imgpar_array_read(a, pixels, N), "%s", imgpar_array_message(a));
        ck_assert_int_eq(memcmp(pixels, want, N), 0);
        imgpar_array_release(a);
        imgpar_array_release(in);
    }
}
END_TEST

START_TEST(values_that_are_kept_within_a_graph_change_no_result)
{
    uint8_t pixels[N], got[N];
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(pixels, round);
        imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, pixels);
        imgpar_array *inner = imgpar_invert(in), *outer = imgpar_invert(inner);
        imgpar_array *both[] = { inner, outer };
        if (round % 2) ck_assert_int_eq(imgpar_array_eval(inner, NULL), IMGPAR_OK);
        ck_assert_int_eq(imgpar_eval(both, 2, NULL), IMGPAR_OK);
        ck_assert_int_eq(imgpar_array_read(outer, got, N), IMGPAR_OK);
        ck_assert_int_eq(memcmp(got, pixels, N), 0);
        ck_assert_int_eq(imgpar_array_read(inner, got, N), IMGPAR_OK);
        for (int k = 0; k < N; k++)
            ck_assert_uint_eq(got[k], 255 - pixels[k]);
        imgpar_array_release(outer);
        imgpar_array_release(inner);
        imgpar_array_release(in);
    }
}
END_TEST

/* A value that another evaluation has left on a generator is used, not computed again by a plan that was kept. */
START_TEST(values_of_generators_are_used)
{
    static float numbers[N], got[N];
    uint8_t pixels[N];
    fill(pixels, 3);
    imgpar_array *noise = imgpar_apply(ctx, "normal([37 61 3])", NULL, 0);
    ck_assert_msg(!imgpar_array_eval(noise, NULL), "%s", imgpar_array_message(noise));
    ck_assert_int_eq(imgpar_array_read(noise, numbers, sizeof numbers), IMGPAR_OK);
    for (int round = 0; round < ROUNDS; round++) {
        imgpar_array *in[] = { noise, imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, pixels) };
        imgpar_array *sum = imgpar_apply(ctx, "$1 + $2", in, 2);
        ck_assert_msg(!imgpar_array_read(sum, got, sizeof got), "%s", imgpar_array_message(sum));
        for (int k = 0; k < N; k++)
            ck_assert_float_eq(got[k], numbers[k] + (float)pixels[k]);
        imgpar_array_release(sum);
        imgpar_array_release(in[1]);
    }
    ck_assert_int_eq(n_kept(), 0);
    imgpar_array_release(noise);
}
END_TEST

START_TEST(several_results_of_which_one_is_asked_for_twice)
{
    uint8_t pixels[N], got[3][N];
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(pixels, round);
        imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, pixels);
        imgpar_array *twice = imgpar_apply(ctx, "cast($1 div 2, u8)", &in, 1),
                     *dark = imgpar_apply(ctx, "cast($1 div 3, u8)", &in, 1);
        imgpar_array *all[] = { twice, dark, twice };
        ck_assert_int_eq(imgpar_eval(all, 3, NULL), IMGPAR_OK);
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(imgpar_array_read(all[k], got[k], N), IMGPAR_OK);
        for (int k = 0; k < N; k++) {
            ck_assert_uint_eq(got[0][k], pixels[k] / 2);
            ck_assert_uint_eq(got[1][k], pixels[k] / 3);
            ck_assert_uint_eq(got[2][k], pixels[k] / 2);
        }
        imgpar_array_release(twice);
        imgpar_array_release(dark);
        imgpar_array_release(in);
    }
    ck_assert_int_eq(n_kept(), 1);
}
END_TEST

START_TEST(a_limit_on_memory_holds_for_plans_that_are_kept)
{
    static const char *const parts[] = { "boxblur($1, 5)", "histogram($1)" };
    uint32_t got[N], want[N];
    for (unsigned round = 0; round < 2 * ROUNDS; round++)
        for (int k = 0; k < 2; k++) {
            ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", round % 4 < 2 ? "0" : "24K"), IMGPAR_OK);
            const size_t n = compute(ctx, parts[k], round, 0, got, sizeof got);
            compute(ctx, parts[k], round, 0, got, sizeof got);
            compute(ctx, parts[k], round, 0, got, sizeof got);
            ck_assert_uint_eq(compute(ref, parts[k], round, 0, want, sizeof want), n);
            ck_assert_int_eq(memcmp(got, want, n), 0);
        }
}
END_TEST

static void *change_settings(void *stop)
{
    for (int k = 0; !atomic_load((atomic_bool *)stop); k++)
        imgpar_context_set(ctx, "fuse", k % 2 ? "1" : "0");
    return NULL;
}

START_TEST(settings_that_another_thread_changes_do_no_harm)
{
    atomic_bool stop = false;
    pthread_t thread;
    uint8_t got[N], want[N];
    ck_assert_int_eq(pthread_create(&thread, NULL, change_settings, &stop), 0);
    for (unsigned round = 0; round < 40; round++) {
        compute(ctx, texts[round % 3], round % 5, 1, got, N);
        compute(ref, texts[round % 3], round % 5, 1, want, N);
        ck_assert_int_eq(memcmp(got, want, N), 0);
    }
    atomic_store(&stop, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

static int stop_at_once(void *user, double done)
{
    (void)user;
    (void)done;
    return 1;
}

START_TEST(an_evaluation_that_is_stopped_leaves_the_next_one_alone)
{
    uint8_t pixels[N], got[N], want[N];
    const imgpar_options options = { .struct_size = sizeof options, .poll = stop_at_once };
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        compute(ctx, texts[0], round, 0, got, N);
        compute(ref, texts[0], round, 0, want, N);
        ck_assert_int_eq(memcmp(got, want, N), 0);
        fill(pixels, round);
        imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, pixels);
        imgpar_array *a = imgpar_apply(ctx, texts[0], &in, 1);
        ck_assert_int_eq(imgpar_array_read_with(a, got, N, &options), IMGPAR_E_INTERRUPTED);
        imgpar_array_release(a);
        imgpar_array_release(in);
    }
}
END_TEST

static uint8_t expected[3][8][N];

static void *compute_often(void *number)
{
    const unsigned first = *(const unsigned *)number;
    uint8_t got[N];
    for (unsigned round = 0; round < 48; round++) {
        const unsigned text = round % 3, seed = (first + round / 3) % 8;
        compute(ctx, texts[text], seed, seed + 1, got, N);
        if (memcmp(got, expected[text][seed], N) != 0) return number;
    }
    return NULL;
}

START_TEST(threads_that_compute_one_graph_do_not_meet)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    for (unsigned text = 0; text < 3; text++)
        for (unsigned seed = 0; seed < 8; seed++)
            compute(ref, texts[text], seed, seed + 1, expected[text][seed], N);
    for (unsigned k = 0; k < THREADS; k++) {
        numbers[k] = k;
        ck_assert_int_eq(pthread_create(&threads[k], NULL, compute_often, &numbers[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        void *failed;
        ck_assert_int_eq(pthread_join(threads[k], &failed), 0);
        ck_assert_ptr_null(failed);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kept_plans");
    TCase *c = tcase_create("kept_plans");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, a_graph_met_again_gives_what_its_own_elements_make, 0, sizeof texts / sizeof *texts);
    tcase_add_test(c, a_plan_is_kept_when_a_graph_is_met_twice);
    tcase_add_loop_test(c, graphs_of_any_size_are_met_again, 0, 5);
    tcase_add_test(c, what_differs_has_a_plan_of_its_own);
    tcase_add_test(c, a_setting_that_plans_depend_on_makes_another_plan);
    tcase_add_test(c, a_kept_plan_holds_none_of_the_users_memory);
    tcase_add_test(c, a_result_may_go_where_its_source_lies);
    tcase_add_test(c, values_that_are_kept_within_a_graph_change_no_result);
    tcase_add_test(c, values_of_generators_are_used);
    tcase_add_test(c, several_results_of_which_one_is_asked_for_twice);
    tcase_add_test(c, a_limit_on_memory_holds_for_plans_that_are_kept);
    tcase_add_test(c, settings_that_another_thread_changes_do_no_harm);
    tcase_add_test(c, an_evaluation_that_is_stopped_leaves_the_next_one_alone);
    tcase_add_test(c, threads_that_compute_one_graph_do_not_meet);
    suite_add_tcase(s, c);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
