/* SPDX-License-Identifier: MIT */
/*
 * Processes: what a child made by fork() may do with its parent's context, and with one of its own. Whatever it does is
 * over within a second.
 */
#include <imgpar_cl.h>

#include "asserts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the parent has when it forks. */
static imgpar_context *ctx;
static imgpar_array *source, *kept;
static imgpar_cl_queue *queue;
static imgpar_cl_buffer *buffer;
static int has_device;

static const int64_t shape[] = { 4, 4 };
static const uint8_t pixels[16] = { 7 };

static void open_parent(const char *selector)
{
    ck_assert_int_eq(imgpar_context_new(selector, &ctx), IMGPAR_OK);
    has_device = strcmp(imgpar_context_device(ctx)->kind, "ref") != 0;
    source = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, pixels);
    kept = imgpar_invert(source);
    ck_assert_int_eq(imgpar_array_eval(kept, NULL), IMGPAR_OK);
    if (!has_device) return;
    imgpar_cl_layout layout = imgpar_cl_vector(16, 1);
    ck_assert_int_eq(imgpar_cl_queue_new(ctx, NULL, &queue), IMGPAR_OK);
    ck_assert_int_eq(imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &layout, &buffer), IMGPAR_OK);
}

static void close_parent(void)
{
    imgpar_cl_buffer_release(buffer);
    imgpar_cl_queue_release(queue);
    imgpar_array_release(kept);
    imgpar_array_release(source);
    imgpar_context_release(ctx);
    buffer = NULL;
    queue = NULL;
}

/* Runs act in a child, which tells by its exit status that it returned 0; it has a second. */
static void expect_in_child(int (*act)(void))
{
    struct timespec pause = { 0, 10000000 };
    int status, rounds = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) _exit(act());
    while (waitpid(child, &status, WNOHANG) == 0 && rounds++ < 1000)
        nanosleep(&pause, NULL); /* ten seconds on a machine that is busy; a hang has no end */
    if (rounds > 1000) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    ck_assert_int_le(rounds, 1000);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", (unsigned)status);
}

static const char refusal[] = "the context was opened before fork(); a child process opens one of its own";

/* The line of the first check that fails, for the message. */
#define REQUIRE(condition)                                                 \
    do {                                                                   \
        if (!(condition)) {                                                \
            fprintf(stderr, "child, line %d: %s\n", __LINE__, #condition); \
            return 1;                                                      \
        }                                                                  \
    } while (0)

static int use_context_of_the_parent(void)
{
    uint8_t out[16];
    void *bytes;
    size_t n;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    imgpar_array *made = imgpar_invert(source), *opened = imgpar_open_memory(ctx, "P5 1 1 255\na", 12),
                 *data = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, pixels),
                 *text = imgpar_apply(ctx, "$1 + 1", &source, 1);
    imgpar_array *const all[] = { made, opened, data, text };
    for (int k = 0; k < 4; k++) {
        REQUIRE(imgpar_array_status(all[k]) == IMGPAR_E_DEVICE_LOST);
        REQUIRE(strstr(imgpar_array_message(all[k]), refusal));
        imgpar_array_release(all[k]);
    }
    REQUIRE(imgpar_array_read(kept, out, sizeof out) == IMGPAR_E_DEVICE_LOST);
    REQUIRE(!strcmp(imgpar_array_message(kept), refusal));
    REQUIRE(imgpar_array_eval(source, NULL) == IMGPAR_E_DEVICE_LOST);
    REQUIRE(imgpar_save(kept, "/nonexistent/x.png", NULL) == IMGPAR_E_DEVICE_LOST);
    imgpar_options options = { .struct_size = sizeof options, .format = "png" };
    REQUIRE(imgpar_encode(kept, &options, &bytes, &n) == IMGPAR_E_DEVICE_LOST);
    REQUIRE(imgpar_context_set(ctx, "fuse", "1") == IMGPAR_E_DEVICE_LOST);
    imgpar_counters counters = { .struct_size = sizeof counters };
    imgpar_context_counters(ctx, &counters);
    if (has_device) {
        REQUIRE(imgpar_cl_write(queue, buffer, NULL, pixels, NULL) == IMGPAR_E_DEVICE_LOST);
        REQUIRE(!strcmp(imgpar_cl_message(), refusal));
        REQUIRE(imgpar_cl_read(queue, buffer, NULL, out, NULL) == IMGPAR_E_DEVICE_LOST);
        REQUIRE(imgpar_cl_fill(queue, buffer, NULL, "", NULL) == IMGPAR_E_DEVICE_LOST);
        REQUIRE(imgpar_cl_finish(queue) == IMGPAR_E_DEVICE_LOST);
    }
    close_parent();
    clock_gettime(CLOCK_MONOTONIC, &to);
    REQUIRE((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9 < 1);
    return 0;
}

START_TEST(a_child_gets_an_error_of_its_parents_context_at_once)
{
    open_parent(_i ? "ref" : NULL);
    expect_in_child(use_context_of_the_parent);
    uint8_t out[16]; /* and the parent works on */
    ck_assert_int_eq(imgpar_array_read(kept, out, sizeof out), IMGPAR_OK);
    ck_assert_int_eq(out[0], 248);
    close_parent();
}
END_TEST

static int open_a_context(void)
{
    imgpar_context *own;
    imgpar_device **devices;
    size_t n;
    uint8_t out[16];
    char why[500];
    REQUIRE(imgpar_context_new(NULL, &own) == IMGPAR_OK);
    REQUIRE(!strcmp(imgpar_context_device(own)->kind, "ref"));
    REQUIRE(!strcmp(imgpar_context_notice(own),
                    "this process was forked from one that had loaded an OpenCL driver, which cannot be "
                    "used here: computing with the reference interpreter, which is slow"));
    imgpar_array *a = imgpar_array_from_data(own, IMGPAR_U8, 2, shape, pixels), *b = imgpar_invert(a);
    REQUIRE(imgpar_array_read(b, out, sizeof out) == IMGPAR_OK && out[0] == 248 && out[1] == 255);
    imgpar_array_release(a);
    imgpar_array_release(b);
    imgpar_context_release(own);
    REQUIRE(imgpar_context_new("cpu", &own) == IMGPAR_E_NO_DEVICE && !own);
    imgpar_context_new_error(why, sizeof why);
    REQUIRE(!strcmp(
        why, "cpu: this process was forked from one that had loaded an OpenCL driver, which cannot be used here"));
    REQUIRE(imgpar_device_list(&devices, &n) == IMGPAR_OK && n == 1);
    imgpar_device_list_release(devices, n);
    return 0;
}

START_TEST(a_child_of_a_process_with_a_driver_computes_on_ref)
{
    unsetenv("IMGPAR_DEVICE");
    open_parent(NULL);
    expect_in_child(open_a_context);
    close_parent();
}
END_TEST

static int open_the_best(void)
{
    imgpar_context *own;
    REQUIRE(imgpar_context_new(NULL, &own) == IMGPAR_OK);
    REQUIRE(!imgpar_context_notice(own) || strstr(imgpar_context_notice(own), "no OpenCL device"));
    imgpar_context_release(own);
    return 0;
}

START_TEST(a_child_of_a_process_without_a_driver_opens_any_device)
{
    open_parent("ref");
    expect_in_child(open_the_best);
    close_parent();
}
END_TEST

/* ---- parents with threads ------------------------------------------------------------------------ */

static atomic_int has_ended;

/* Builds, evaluates, sets and opens, so that locks of all kinds are held when the process forks. */
static void *compute_on(void *unused)
{
    while (!atomic_load(&has_ended)) {
        imgpar_context *own;
        uint8_t out[16];
        imgpar_array *a = imgpar_apply(ctx, "invert($1) + 1", &source, 1), *b = imgpar_cast(a, "u8");
        imgpar_array_read(b, out, sizeof out);
        imgpar_context_set(ctx, "fuse", "1");
        imgpar_array_release(a);
        imgpar_array_release(b);
        if (!imgpar_context_new("ref", &own)) imgpar_context_release(own);
    }
    return unused;
}

static int use_both(void)
{
    uint8_t out[16];
    imgpar_context *own;
    imgpar_array *made = imgpar_invert(source);
    REQUIRE(imgpar_array_status(made) == IMGPAR_E_DEVICE_LOST && strstr(imgpar_array_message(made), refusal));
    REQUIRE(imgpar_array_read(kept, out, sizeof out) == IMGPAR_E_DEVICE_LOST);
    REQUIRE(imgpar_context_set(ctx, "fuse", "1") == IMGPAR_E_DEVICE_LOST);
    REQUIRE(imgpar_context_new("ref", &own) == IMGPAR_OK);
    imgpar_array *a = imgpar_array_from_data(own, IMGPAR_U8, 2, shape, pixels),
                 *b = imgpar_apply(own, "invert($1)", &a, 1);
    REQUIRE(imgpar_array_read(b, out, sizeof out) == IMGPAR_OK && out[0] == 248);
    imgpar_array_release(a);
    imgpar_array_release(b);
    imgpar_context_release(own);
    imgpar_array_release(made);
    return 0;
}

START_TEST(a_child_of_a_process_whose_threads_compute_is_told_or_computes)
{
    enum { N_FORKS = 40 };
    pthread_t threads[2];
    open_parent(_i ? "ref" : NULL);
    atomic_store(&has_ended, 0);
    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, compute_on, NULL), 0);
    for (int k = 0; k < N_FORKS; k++)
        expect_in_child(use_both);
    atomic_store(&has_ended, 1);
    for (int k = 0; k < 2; k++)
        pthread_join(threads[k], NULL);
    close_parent();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fork");
    TCase *tc = tcase_create("children");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_child_gets_an_error_of_its_parents_context_at_once, 0, 2);
    tcase_add_test(tc, a_child_of_a_process_with_a_driver_computes_on_ref);
    tcase_add_test(tc, a_child_of_a_process_without_a_driver_opens_any_device);
    const char *sanitized = getenv("IMGPAR_SANITIZED");
    /* whose allocator, unlike glibc's, stays locked in the child where another thread allocates */
    if (!sanitized || !*sanitized)
        tcase_add_loop_test(tc, a_child_of_a_process_whose_threads_compute_is_told_or_computes, 0, 2);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK); /* a child must have a parent that opened nothing */
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
