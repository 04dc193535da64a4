/* SPDX-License-Identifier: MIT */
/*
 * Eight threads build and evaluate on one context: graphs of their own, and one graph that
 * all of them share and evaluate at the same time. Results are compared with the oracle. CI
 * runs this under ThreadSanitizer, with IMGPAR_DEVICE=ref too.
 */
#include "asserts.h"
#include "oracle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_THREADS = 8, N_ROUNDS = 6, W = 61, H = 43, C = 3 };

typedef struct worker {
    pthread_t thread;
    imgpar_context *ctx;
    imgpar_array *shared; /* a graph that all workers evaluate */
    const picture *shared_want;
    int index;
    char why[512]; /* the first thing that went wrong; "" */
} worker;

static void compare(worker *w, imgpar_array *a, const picture *want, const char *what)
{
    char why[256];
    void *bytes = malloc(picture_size(want));
    imgpar_status st = bytes ? imgpar_array_read(a, bytes, picture_size(want)) : IMGPAR_E_HOST_MEMORY;
    if (st)
        snprintf(w->why, sizeof w->why, "%s: %s", what, imgpar_array_message(a));
    else if (!picture_compare(want, bytes, why))
        snprintf(w->why, sizeof w->why, "%s: %s", what, why);
    free(bytes);
}

/* An operation of its own on an image of its own. */
static void own_work(worker *w, int round)
{
    static const struct {
        const char *op, *options;
    } work[] = {
        { "boxblur", "size=5, border=reflect" },
        { "invert", "" },
        { "blur", "sigma=1" },
        { "erode", "size=3" },
        { "linear", "a=1.5, b=-7" },
    };
    int k = (w->index + round) % 5;
    picture in = picture_new(IMGPAR_U8, H + w->index, W + round, C), want;
    picture_fill(&in, FILL_ANY, (unsigned)(w->index * N_ROUNDS + round));
    call c = { .op = work[k].op, .in = { &in }, .n_in = 1, .options = work[k].options };
    oracle_answer(&c, &want);
    imgpar_array *image = picture_array(w->ctx, &in), *a = imgpar_op(w->ctx, c.op, &image, 1, c.options);
    imgpar_array_release(image);
    if (round % 2) imgpar_array_eval(a, NULL);
    compare(w, a, &want, c.op);
    imgpar_array_release(a);
    picture_free(&in);
    picture_free(&want);
}

static void *work(void *user)
{
    worker *w = user;
    for (int round = 0; round < N_ROUNDS && !w->why[0]; round++) {
        own_work(w, round);
        imgpar_array *mine = imgpar_array_retain(w->shared);
        if (round == w->index % N_ROUNDS) imgpar_array_eval(mine, NULL);
        compare(w, mine, w->shared_want, "the shared graph");
        imgpar_counters counters = { .struct_size = sizeof counters };
        imgpar_context_counters(w->ctx, &counters);
        char *text = NULL;
        if (imgpar_array_explain(mine, "text", &text)) snprintf(w->why, sizeof w->why, "explain fails");
        imgpar_free(text);
        imgpar_array_release(mine);
    }
    return NULL;
}

START_TEST(threads_share_a_context)
{
    static const char *const schedules[] = { "auto", "ref" };
    worker workers[N_THREADS];
    imgpar_context *ctx;
    picture in = picture_new(IMGPAR_U8, H, W, C), want;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedules[_i]), IMGPAR_OK);
    picture_fill(&in, FILL_ANY, 999);
    call c = { .op = "dilate", .in = { &in }, .n_in = 1, .options = "size=5" };
    ck_assert(oracle_answer(&c, &want));
    imgpar_array *image = picture_array(ctx, &in), *shared = imgpar_op(ctx, c.op, &image, 1, c.options);
    imgpar_array_release(image);
    for (int k = 0; k < N_THREADS; k++) {
        workers[k] = (worker){ .ctx = ctx, .shared = shared, .shared_want = &want, .index = k };
        ck_assert_int_eq(pthread_create(&workers[k].thread, NULL, work, &workers[k]), 0);
    }
    for (int k = 0; k < N_THREADS; k++)
        ck_assert_int_eq(pthread_join(workers[k].thread, NULL), 0);
    for (int k = 0; k < N_THREADS; k++)
        ck_assert_msg(workers[k].why[0] == '\0', "thread %d: %s", k, workers[k].why);
    imgpar_array_release(shared);
    imgpar_context_release(ctx);
    picture_free(&in);
    picture_free(&want);
}
END_TEST

/* The same program is wanted by all at once, and built once. */
static void *same_work(void *user)
{
    worker *w = user;
    compare(w, w->shared, w->shared_want, "the same program");
    return NULL;
}

START_TEST(a_program_wanted_by_all_threads_is_built_once)
{
    worker workers[N_THREADS];
    imgpar_counters counters = { .struct_size = sizeof counters };
    imgpar_context *ctx;
    picture in = picture_new(IMGPAR_U8, H, W, C), want;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    picture_fill(&in, FILL_ANY, 5);
    call c = { .op = "invert", .in = { &in }, .n_in = 1 };
    ck_assert(oracle_answer(&c, &want));
    imgpar_array *image = picture_array(ctx, &in);
    for (int k = 0; k < N_THREADS; k++) {
        workers[k] = (worker){ .ctx = ctx, .shared = imgpar_invert(image), .shared_want = &want, .index = k };
        ck_assert_int_eq(pthread_create(&workers[k].thread, NULL, same_work, &workers[k]), 0);
    }
    for (int k = 0; k < N_THREADS; k++) {
        ck_assert_int_eq(pthread_join(workers[k].thread, NULL), 0);
        ck_assert_msg(workers[k].why[0] == '\0', "thread %d: %s", k, workers[k].why);
        imgpar_array_release(workers[k].shared);
    }
    imgpar_context_counters(ctx, &counters);
    ck_assert_uint_le(counters.programs_built + counters.programs_loaded, 1);
    imgpar_array_release(image);
    imgpar_context_release(ctx);
    picture_free(&in);
    picture_free(&want);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *c = tcase_create("threads");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, threads_share_a_context, 0, 2);
    tcase_add_test(c, a_program_wanted_by_all_threads_is_built_once);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
