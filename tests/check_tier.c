/* SPDX-License-Identifier: MIT */
/*
 * Who computes what is not compiled yet: the interpreter while little work was spent so on it, kernels where the bytes
 * could differ or somebody asks for them; and who compiles it meanwhile. The folder of programs is empty before each
 * test; what PoCL keeps itself does not count.
 */
#include "base/alloc.h"
#include "asserts.h"

#include <imgpar.h>

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SIDE = 96, COUNT = SIDE * SIDE };

static imgpar_context *ctx;
static char folder[64];
static uint8_t pixels[COUNT];
static const int64_t shape[] = { SIDE, SIDE };

static void open_context(void) { ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK); }

static void setup(void)
{
    strcpy(folder, "/tmp/check_tier-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("IMGPAR_CACHE_DIR", folder, 1);
    setenv("IMGPAR_TIER", "interpret", 1);
    unsetenv("IMGPAR_CACHE");
    for (int k = 0; k < COUNT; k++)
        pixels[k] = (uint8_t)(k * 7 + k / SIDE * 13);
    open_context();
}

static void teardown(void)
{
    char command[80];
    imgpar_context_release(ctx);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static uint64_t launches(void)
{
    imgpar_counters c = { .struct_size = sizeof c };
    ck_assert_int_eq(imgpar_context_counters(ctx, &c), IMGPAR_OK);
    return c.kernels;
}

static imgpar_array *apply(const char *text)
{
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, pixels);
    imgpar_array *out = imgpar_apply(ctx, text, &in, 1);
    imgpar_array_release(in);
    ck_assert_msg(imgpar_array_status(out) == IMGPAR_OK, "%s", imgpar_array_message(out));
    return out;
}

/* The kernels that were launched for what text makes of the pixels. */
static uint64_t launched_for(const char *text, void *out, size_t bytes)
{
    const uint64_t before = launches();
    imgpar_array *a = apply(text);
    ck_assert_msg(imgpar_array_read(a, out, bytes) == IMGPAR_OK, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    return launches() - before;
}

static void expect_inverted(const uint8_t *out)
{
    for (int k = 0; k < COUNT; k++)
        ck_assert_uint_eq(out[k], 255 - pixels[k]);
}

START_TEST(what_is_not_compiled_is_interpreted)
{
    uint8_t out[COUNT];
    imgpar_counters c = { .struct_size = sizeof c };
    ck_assert_uint_eq(launched_for("invert($1)", out, sizeof out), 0);
    expect_inverted(out);
    ck_assert_int_eq(imgpar_context_counters(ctx, &c), IMGPAR_OK);
    ck_assert_uint_eq(c.programs_built + c.programs_loaded, 0);
}
END_TEST

START_TEST(what_is_compiled_is_launched)
{
    uint8_t out[COUNT];
    ck_assert_int_eq(imgpar_context_set(ctx, "tier", "kernels"), IMGPAR_OK);
    ck_assert_uint_gt(launched_for("invert($1)", out, sizeof out), 0);
    expect_inverted(out);
    ck_assert_int_eq(imgpar_context_set(ctx, "tier", "interpret"), IMGPAR_OK);
    ck_assert_uint_gt(launched_for("invert($1)", out, sizeof out), 0); /* it is in memory */
    imgpar_context_release(ctx);
    open_context();
    memset(out, 0, sizeof out);
    ck_assert_uint_gt(launched_for("invert($1)", out, sizeof out), 0); /* it is on disk */
    expect_inverted(out);
}
END_TEST

/* In which order kernels add them up is their affair. */
START_TEST(sums_of_floats_wait_for_the_compiler)
{
    double out;
    float deviation;
    ck_assert_uint_gt(launched_for("sum(sqrt(cast($1, f64)))", &out, sizeof out), 0);
    ck_assert_uint_gt(launched_for("stddev($1)", &deviation, sizeof deviation), 0);
}
END_TEST

/* Of a zero and its negative both give the second. */
START_TEST(signs_of_zeros_are_the_same)
{
    static const char text[] = "1 / max(0 * (cast($1, f32) - 128), 0.0) + 1 / min(0.0, 0 * (128 - cast($1, f32)))";
    float first[COUNT], compiled[COUNT];
    ck_assert_uint_eq(launched_for(text, first, sizeof first), 0);
    ck_assert_int_eq(imgpar_context_set(ctx, "tier", "kernels"), IMGPAR_OK);
    ck_assert_uint_gt(launched_for(text, compiled, sizeof compiled), 0);
    for (int k = 0; k < COUNT; k++)
        ck_assert_msg(first[k] == compiled[k] || (isnan(first[k]) && isnan(compiled[k])), "%d: %g, compiled %g", k,
                      first[k], compiled[k]);
}
END_TEST

/* Their rows promise a tolerance, but what they compute is settled to the bit. */
START_TEST(functions_and_sums_of_integers_are_interpreted)
{
    float out[COUNT], mean;
    uint64_t sum;
    ck_assert_uint_eq(launched_for("sqrt(exp($1 / 100.0))", out, sizeof out), 0);
    ck_assert_uint_eq(launched_for("cast($1, \"f32\") / 3", out, sizeof out), 0);
    ck_assert_uint_eq(launched_for("sum($1)", &sum, sizeof sum), 0);
    ck_assert_uint_eq(launched_for("mean($1)", &mean, sizeof mean), 0);
}
END_TEST

START_TEST(hand_written_kernels_wait_for_the_compiler)
{
    uint8_t out[COUNT];
    ck_assert_uint_gt(launched_for("sort($1, axis=1)", out, sizeof out), 0);
}
END_TEST

/* One sum for all contexts, so that of many processes one compiles. */
START_TEST(much_work_is_worth_compiling)
{
    enum { LARGE = 1400, MOST = 60 };
    const int64_t large[] = { LARGE, LARGE };
    uint8_t *in = malloc(LARGE * LARGE), *first = malloc(LARGE * LARGE), *out = malloc(LARGE * LARGE);
    uint64_t n = 0;
    int times = 0;
    ck_assert(in && first && out);
    for (int k = 0; k < LARGE * LARGE; k++)
        in[k] = (uint8_t)(k * 7 + k / LARGE * 13);
    while (n == 0 && times < MOST) {
        imgpar_context_release(ctx);
        open_context();
        imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, 2, large, in),
                     *b = imgpar_apply(ctx, "blur($1, 9)", &a, 1);
        ck_assert_int_eq(imgpar_array_read(b, times == 0 ? first : out, LARGE * LARGE), IMGPAR_OK);
        if (times > 0) ck_assert_mem_eq(first, out, LARGE * LARGE);
        n = launches();
        ck_assert(times > 0 || n == 0);
        times++;
        imgpar_array_release(a);
        imgpar_array_release(b);
    }
    ck_assert_int_gt(times, 1);
    ck_assert_uint_gt(n, 0);
    free(in);
    free(first);
    free(out);
}
END_TEST

static void *invert_often(void *user)
{
    enum { TIMES = 20 };
    bool *is_right = user;
    uint8_t out[COUNT];
    *is_right = true;
    for (int n = 0; n < TIMES; n++) {
        imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, pixels), *a = imgpar_invert(in);
        if (n == TIMES / 2) imgpar_context_set(ctx, "tier", "kernels");
        *is_right &= imgpar_array_read(a, out, sizeof out) == IMGPAR_OK;
        for (int k = 0; k < COUNT; k++)
            *is_right &= out[k] == 255 - pixels[k];
        imgpar_array_release(a);
        imgpar_array_release(in);
    }
    return NULL;
}

START_TEST(threads_choose_by_themselves)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    bool is_right[THREADS];
    for (int k = 0; k < THREADS; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, invert_often, &is_right[k]), 0);
    for (int k = 0; k < THREADS; k++)
        ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
    for (int k = 0; k < THREADS; k++)
        ck_assert(is_right[k]);
    ck_assert_uint_gt(launches(), 0);
}
END_TEST

static const char *const wishes[][2] = {
    { "tier", "kernels" }, { "fuse", "0" }, { "check", "1" }, { "mem_limit", "64M" }, { "schedule", "pixels" }
};

START_TEST(who_asks_for_kernels_gets_them)
{
    uint8_t out[COUNT];
    ck_assert_int_eq(imgpar_context_set(ctx, wishes[_i][0], wishes[_i][1]), IMGPAR_OK);
    ck_assert_uint_gt(launched_for("invert($1)", out, sizeof out), 0);
    expect_inverted(out);
}
END_TEST

START_TEST(kernels_are_verified)
{
    double difference = -1;
    const uint64_t before = launches();
    imgpar_array *a = apply("invert($1)");
    ck_assert_int_eq(imgpar_array_verify(a, &difference, NULL), IMGPAR_OK);
    ck_assert_double_eq(difference, 0);
    ck_assert_uint_gt(launches(), before);
    imgpar_array_release(a);
}
END_TEST

START_TEST(where_nothing_is_kept_kernels_compute)
{
    uint8_t out[COUNT];
    setenv("IMGPAR_CACHE", "0", 1);
    ck_assert_uint_gt(launched_for("invert($1)", out, sizeof out), 0);
    unsetenv("IMGPAR_CACHE");
    expect_inverted(out);
}
END_TEST

START_TEST(a_bad_tier_is_told)
{
    char why[200];
    imgpar_context *none = NULL;
    ck_assert_int_eq(imgpar_context_set(ctx, "tier", "fast"), IMGPAR_E_ARGUMENT);
    setenv("IMGPAR_TIER", "fast", 1);
    ck_assert_int_eq(imgpar_context_new(NULL, &none), IMGPAR_E_ARGUMENT);
    imgpar_context_new_error(why, sizeof why);
    ck_assert_str_eq(why, "IMGPAR_TIER=fast: one of auto|interpret|kernels is expected");
}
END_TEST

/* 9000 x 9000 numbers, 324 MB, are held by the interpreter between the two, and none by a kernel. */
START_TEST(what_the_interpreter_would_hold_counts)
{
    double least = 0;
    ck_assert_uint_gt(launched_for("minval(fill(9000, 9000, 3) * 2)", &least, sizeof(int32_t)), 0);
}
END_TEST

START_TEST(several_results_are_interpreted_together)
{
    imgpar_array *in = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, pixels);
    imgpar_array *both[] = { imgpar_invert(in), imgpar_apply(ctx, "transpose($1)", &in, 1) };
    uint8_t inverted[COUNT], turned[COUNT];
    const uint64_t before = launches();
    ck_assert_int_eq(imgpar_eval(both, 2, NULL), IMGPAR_OK);
    ck_assert_uint_eq(launches(), before);
    ck_assert_int_eq(imgpar_array_read(both[0], inverted, sizeof inverted), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(both[1], turned, sizeof turned), IMGPAR_OK);
    expect_inverted(inverted);
    for (int k = 0; k < COUNT; k++)
        ck_assert_uint_eq(turned[k % SIDE * SIDE + k / SIDE], pixels[k]);
    for (int k = 0; k < 2; k++)
        imgpar_array_release(both[k]);
    imgpar_array_release(in);
}
END_TEST

static int asked;
static int ask_once(void *user, double done)
{
    (void)user, (void)done;
    return ++asked > 0;
}

START_TEST(the_interpreter_is_interrupted)
{
    const imgpar_options options = { .struct_size = sizeof options, .poll = ask_once };
    imgpar_array *a = apply("invert($1)");
    uint8_t out[COUNT];
    const uint64_t before = launches();
    ck_assert_int_eq(imgpar_array_read_with(a, out, sizeof out, &options), IMGPAR_E_INTERRUPTED);
    ck_assert_uint_eq(launches(), before);
    imgpar_array_release(a);
}
END_TEST

/* ---- compiled in the background -------------------------------------------------------------------------------- */

/* The files of the folder whose names end so. */
static int files_that_end_in(const char *ending)
{
    DIR *dir = opendir(folder);
    int n = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        const size_t length = strlen(d->d_name), m = strlen(ending);
        n += length > m && strcmp(d->d_name + length - m, ending) == 0;
    }
    closedir(dir);
    return n;
}

/* Leaves the programs of a text; nobody builds them yet. */
static void leave(const char *text)
{
    uint8_t out[COUNT];
    ck_assert_int_eq(imgpar_context_set(ctx, "tier", "auto"), IMGPAR_OK);
    ck_assert_uint_eq(launched_for(text, out, sizeof out), 0);
}

START_TEST(what_is_left_is_built_by_whoever_is_asked)
{
    uint8_t out[COUNT];
    size_t n = 7;
    imgpar_counters c = { .struct_size = sizeof c };
    leave("invert($1)");
    leave("invert($1)"); /* it is left once */
    leave("transpose($1)");
    ck_assert_int_eq(files_that_end_in(".pending"), 2);
    ck_assert_int_eq(imgpar_context_counters(ctx, &c), IMGPAR_OK);
    ck_assert_uint_eq(c.programs_pending, 3); /* nobody is at work, so who leaves it again starts somebody */
    ck_assert_int_eq(imgpar_compile_pending(&n), IMGPAR_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(files_that_end_in(".pending"), 0);
    ck_assert_uint_gt(launched_for("invert($1)", out, sizeof out), 0); /* kernels, without another context */
    expect_inverted(out);
    ck_assert_int_eq(imgpar_context_counters(ctx, &c), IMGPAR_OK);
    ck_assert_uint_eq(c.programs_built, 0);
    ck_assert_uint_eq(c.programs_loaded, 1);
    ck_assert_int_eq(imgpar_compile_pending(&n), IMGPAR_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(imgpar_compile_pending(NULL), IMGPAR_OK);
}
END_TEST

START_TEST(who_computes_alone_leaves_nothing)
{
    uint8_t out[COUNT];
    ck_assert_uint_eq(launched_for("invert($1)", out, sizeof out), 0);
    ck_assert_int_eq(files_that_end_in(".pending"), 0);
}
END_TEST

START_TEST(one_process_builds)
{
    char path[100];
    size_t n = 7;
    leave("invert($1)");
    snprintf(path, sizeof path, "%s/pending.lock", folder);
    const int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
    ck_assert_int_eq(imgpar_compile_pending(&n), IMGPAR_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(files_that_end_in(".pending"), 1);
    close(lock);
    ck_assert_int_eq(imgpar_compile_pending(&n), IMGPAR_OK);
    ck_assert_uint_eq(n, 1);
}
END_TEST

/* Whatever bytes are changed or missing: it is dropped, or built as it was meant. */
START_TEST(what_is_left_may_be_damaged)
{
    char command[300];
    size_t n = 7;
    leave("invert($1)");
    static const char *const damages[] = {
        "truncate -s 40 $f", "truncate -s 0 $f", "truncate -s -1 $f", "sed -i s/kernel/kernal/ $f", "chmod 666 $f",
        /* an identity of 2^64 - 1 bytes: with its head and one byte more it has the size of the head */
        "truncate -s 48 $f; printf '\\377\\377\\377\\377\\377\\377\\377\\377\\1\\0\\0\\0\\0\\0\\0\\0' "
        "| dd of=$f bs=1 seek=16 conv=notrunc status=none"
    };
    snprintf(command, sizeof command, "for f in %s/*.pending; do %s; done", folder, damages[_i]);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(imgpar_compile_pending(&n), IMGPAR_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(files_that_end_in(".pending"), 0);
    ck_assert_int_eq(files_that_end_in(".bin"), 0);
}
END_TEST

/* Whichever call fails: an error that says so, or the right bytes. */
START_TEST(each_call_may_fail)
{
    static const ip_fault_kind kinds[] = { IP_FAULT_ALLOC, IP_FAULT_FILE };
    unsigned long seen = 0, most_seen = 0, n_failed = 0;
    for (unsigned long nth = 1; nth < 2000; nth++) {
        uint8_t out[COUNT] = { 0 };
        teardown(); /* a failure may have led to kernels, which are there then */
        setup();
        imgpar_array *a = apply("invert($1)");
        ip_fault_set(kinds[_i], nth);
        imgpar_status st = imgpar_array_read(a, out, sizeof out);
        seen = ip_fault_seen(kinds[_i]);
        ip_fault_set(kinds[_i], 0);
        if (st)
            ck_assert(imgpar_array_message(a)[0] != '\0');
        else
            expect_inverted(out);
        most_seen = seen > most_seen ? seen : most_seen;
        n_failed += st != IMGPAR_OK;
        imgpar_array_release(a);
        if (seen < nth) break;
    }
    ck_assert_uint_gt(most_seen, 3);
    if (kinds[_i] == IP_FAULT_FILE) ck_assert_uint_eq(n_failed, 0); /* kernels compute instead */
}
END_TEST

/* PoCL's binaries are kept where it was told before it was loaded (run/drivers.c), as tests/common.sh does. */
static bool has_tiers(void)
{
    imgpar_context *c;
    const char *general = getenv("POCL_WORK_GROUP_SPECIALIZATION");
    if (imgpar_context_new(NULL, &c)) return false;
    const imgpar_device *d = imgpar_context_device(c);
    bool has = strcmp(d->kind, "cpu") == 0 && d->has_f64 && strstr(d->platform, "Portable") && general &&
               strcmp(general, "0") == 0 && imgpar_context_device_at(c, 1) == NULL;
    imgpar_context_release(c);
    return has;
}

int main(void)
{
    if (!has_tiers()) return 77;
    Suite *suite = suite_create("tier");
    TCase *tc = tcase_create("tiers");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_not_compiled_is_interpreted);
    tcase_add_test(tc, what_is_compiled_is_launched);
    tcase_add_test(tc, sums_of_floats_wait_for_the_compiler);
    tcase_add_test(tc, functions_and_sums_of_integers_are_interpreted);
    tcase_add_test(tc, signs_of_zeros_are_the_same);
    tcase_add_test(tc, hand_written_kernels_wait_for_the_compiler);
    tcase_add_test(tc, much_work_is_worth_compiling);
    tcase_add_test(tc, threads_choose_by_themselves);
    tcase_add_loop_test(tc, who_asks_for_kernels_gets_them, 0, sizeof wishes / sizeof *wishes);
    tcase_add_test(tc, what_the_interpreter_would_hold_counts);
    tcase_add_test(tc, several_results_are_interpreted_together);
    tcase_add_test(tc, the_interpreter_is_interrupted);
    tcase_add_test(tc, kernels_are_verified);
    tcase_add_test(tc, where_nothing_is_kept_kernels_compute);
    tcase_add_test(tc, a_bad_tier_is_told);
    tcase_add_test(tc, what_is_left_is_built_by_whoever_is_asked);
    tcase_add_test(tc, who_computes_alone_leaves_nothing);
    tcase_add_test(tc, one_process_builds);
    tcase_add_loop_test(tc, what_is_left_may_be_damaged, 0, 6);
    tcase_add_loop_test(tc, each_call_may_fail, 0, 2);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK); /* has_tiers() has loaded the driver */
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
