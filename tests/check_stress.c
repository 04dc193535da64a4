/* SPDX-License-Identifier: MIT */
/*
 * The C API used hard: evaluations that are interrupted, too little memory, and a small
 * pipeline in which the Nth allocation or OpenCL call fails, for every N. (A leak shows where
 * the tests are built with sanitizers.)
 */
#include "base/alloc.h"
#include "asserts.h"
#include "held.h"
#include "imgpar_cl.h"
#include "run/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static imgpar_context *new_context(void)
{
    imgpar_context *ctx;
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    return ctx;
}

static imgpar_array *new_image(imgpar_context *ctx, int64_t w, int64_t h, int64_t channels)
{
    size_t n = (size_t)(w * h * channels);
    uint8_t *pixels = malloc(n);
    ck_assert_ptr_nonnull(pixels);
    for (size_t k = 0; k < n; k++)
        pixels[k] = (uint8_t)(k * 2654435761u >> 13);
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, 3, (int64_t[]){ h, w, channels }, pixels);
    free(pixels);
    return a;
}

/* The bytes of a, new. */
static uint8_t *read_all(imgpar_array *a, size_t *n)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    uint8_t *bytes = malloc(info.size_bytes);
    ck_assert_ptr_nonnull(bytes);
    imgpar_status st = imgpar_array_read(a, bytes, info.size_bytes);
    ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(a));
    *n = info.size_bytes;
    return bytes;
}

/* ---- interrupting ------------------------------------------------------------------------------ */

typedef struct moment {
    double clock_ms, used_ms;
} moment;

static double ms_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static moment now(void) { return (moment){ ms_of(CLOCK_MONOTONIC), ms_of(CLOCK_PROCESS_CPUTIME_ID) }; }

/* By the clock, but no more than all threads together have computed: on a busy machine we may have to wait for a
 * processor. */
static double ms_since(moment then)
{
    moment t = now();
    return fmin(t.clock_ms - then.clock_ms, t.used_ms - then.used_ms);
}

typedef struct patience {
    int n_polls, stop_after;
    moment last, asked;
    double longest_ms;
    double last_done;
    bool goes_back;
} patience;

static int poll_counting(void *user, double done)
{
    patience *p = user;
    if (p->n_polls++ > 0) p->longest_ms = fmax(p->longest_ms, ms_since(p->last));
    p->goes_back = p->goes_back || done < p->last_done || done > 1;
    p->last_done = done;
    p->last = p->asked = now();
    return p->n_polls >= p->stop_after;
}

/* Computers that run tests are busy, and what others do slows our memory down, too: of some tries the best one must
 * keep what is promised, and none may be far off. */
enum { PROMISED_MS = 100, REFUSED_MS = 5 * PROMISED_MS, N_TRIES = 6 };

/* The longest time between polls, the one after the answer to stop included; 0 where the work was done before it was
 * to stop. */
static double interrupt(imgpar_array *work, const char *schedule)
{
    patience p = { .stop_after = 6 };
    imgpar_options options = { .struct_size = sizeof options, .poll = poll_counting, .user = &p };
    imgpar_status st = imgpar_array_eval(work, &options);
    if (!st && p.n_polls < p.stop_after) return 0;
    double took_ms = ms_since(p.asked);
    ck_assert_int_eq(st, IMGPAR_E_INTERRUPTED);
    ck_assert_int_eq(p.n_polls, p.stop_after); /* not asked again */
    ck_assert_msg(p.longest_ms < REFUSED_MS, "%s: %.0f ms between polls", schedule, p.longest_ms);
    ck_assert_msg(took_ms < REFUSED_MS, "%s: stopped only after %.0f ms", schedule, took_ms);
    ck_assert(!p.goes_back);
    return p.longest_ms > took_ms ? p.longest_ms : took_ms;
}

/* Whether a picture of this side is enough work to be interrupted; that it is, then, as is promised. */
static bool interrupts_side(const char *schedule, int64_t side)
{
    static const char text[] = "invert(boxblur(median(blur($1, sigma=6), size=5), size=11))";
    imgpar_context *ctx = new_context();
    imgpar_array *small = new_image(ctx, 64, 64, 3), *large = new_image(ctx, side, side, 3);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    bool builds = ctx->device && strcmp(schedule, "ref") != 0; /* programs, which nobody can interrupt */
    imgpar_array *warm = imgpar_apply(ctx, text, builds ? &large : &small, 1),
                 *work = imgpar_apply(ctx, text, &large, 1);
    ck_assert_int_eq(imgpar_array_eval(warm, NULL), IMGPAR_OK);
    double best_ms = interrupt(work, schedule);
    bool enough = best_ms > 0;
    for (int k = 1; enough && k < N_TRIES && best_ms > PROMISED_MS; k++)
        best_ms = fmin(best_ms, interrupt(work, schedule));
    ck_assert_msg(best_ms <= PROMISED_MS, "%s: %.0f ms between polls at best", schedule, best_ms);
    ck_assert_int_eq(imgpar_array_status(work), enough ? IMGPAR_E_INTERRUPTED : IMGPAR_OK);
    imgpar_array *again = imgpar_invert(small); /* the context is as good as new */
    ck_assert_int_eq(imgpar_array_eval(again, NULL), IMGPAR_OK);
    imgpar_array *const all[] = { small, large, warm, work, again };
    for (int k = 0; k < 5; k++)
        imgpar_array_release(all[k]);
    imgpar_context_release(ctx);
    return enough;
}

/* How much is enough, the machine tells. */
static void check_interruption(const char *schedule, int64_t side)
{
    const int64_t largest = 16384;
    while (!interrupts_side(schedule, side)) {
        ck_assert_msg(side < largest, "%s: %lld pixels a side are done before it is asked", schedule, (long long)side);
        side = side * 3 / 2;
    }
}

START_TEST(an_evaluation_on_the_device_is_stopped_by_poll) { check_interruption("auto", 4500); }
END_TEST
START_TEST(an_evaluation_by_pixels_is_stopped_by_poll) { check_interruption("pixels", 2500); }
END_TEST
START_TEST(an_evaluation_by_the_interpreter_is_stopped_by_poll) { check_interruption("ref", 1500); }
END_TEST

/* Polling a volume changes nothing. The text: %s stands for the volume. */
static void check_volume(const char *schedule, const char *form, const char *shape, int least_polls)
{
    char volume[120], text[200];
    snprintf(volume, sizeof volume, "make(shape=%s, expr=cast(x * 7 + y * 3 + z * 5 + c, u8))", shape);
    const char *at = strstr(form, "%s");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - form), form, volume, at + 2);
    imgpar_context *ctx = new_context();
    imgpar_array *plain = imgpar_apply(ctx, text, NULL, 0), *polled = imgpar_apply(ctx, text, NULL, 0);
    size_t n, n_polled;
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    uint8_t *want = read_all(plain, &n);
    patience p = { .stop_after = 1 << 30 };
    imgpar_options options = { .struct_size = sizeof options, .poll = poll_counting, .user = &p };
    ck_assert_msg(imgpar_array_eval(polled, &options) == IMGPAR_OK, "%s", imgpar_array_message(polled));
    ck_assert_msg(p.n_polls >= least_polls, "%s, %s: %d polls", schedule, text, p.n_polls);
    uint8_t *got = read_all(polled, &n_polled);
    ck_assert_msg(n == n_polled && memcmp(want, got, n) == 0, "%s, %s: other bytes", schedule, text);
    free(want);
    free(got);
    imgpar_array_release(plain);
    imgpar_array_release(polled);
    imgpar_context_release(ctx);
}

/* Strips in batches of whole planes, which are as many as take a while; pixels plane by plane. */
START_TEST(volumes_are_polled_by_planes)
{
    static const char *const forms[] = { "boxblur(%s)", "sum(%s)", "histogram(%s)" };
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        check_volume("auto", forms[k], "[40 620 571 3]", 3);
        check_volume("auto", forms[k], "[20 31 57 3]", 2);
        check_volume("pixels", forms[k], "[20 31 57 3]", k == 0 ? 20 : 2); /* folds walk strips there, too */
    }
    check_volume("auto", "permute(cummax(%s), [2 1 0])", "[200 300 600]", 3); /* of several planes at once */
}
END_TEST

/* ---- little memory ------------------------------------------------------------------------------- */

static const char budget_text[] =
    "overlay(blend(boxblur($1, size=5), erode($2, size=3, border=reflect), 0.3), invert($1), "
    "circle($1, radius=200))";

static imgpar_array *budget_work(imgpar_context *ctx)
{
    imgpar_array *in[] = { new_image(ctx, 900, 701, 3), new_image(ctx, 900, 701, 3) };
    imgpar_array *work = imgpar_apply(ctx, budget_text, in, 2);
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
    return work;
}

/* by_setting: through imgpar_context_set(), else through the environment. */
static void check_budget(bool by_setting)
{
    imgpar_counters counters = { .struct_size = sizeof counters };
    size_t n, n_limited;
    imgpar_context *ctx = new_context();
    imgpar_array *work = budget_work(ctx);
    uint8_t *want = read_all(work, &n);
    imgpar_array_release(work);
    imgpar_context_release(ctx);
    if (!by_setting) setenv("IMGPAR_MEM_LIMIT", "3M", 1);
    ctx = new_context();
    if (by_setting) ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "3M"), IMGPAR_OK);
    unsetenv("IMGPAR_MEM_LIMIT");
    work = budget_work(ctx);
    uint8_t *got = read_all(work, &n_limited);
    imgpar_context_counters(ctx, &counters);
    ck_assert_msg(counters.device_bytes_peak <= 3 << 20, "held %llu bytes",
                  (unsigned long long)counters.device_bytes_peak);
    ck_assert_msg(n == n_limited && memcmp(want, got, n) == 0, "other bytes in strips");
    free(want);
    free(got);
    imgpar_array_release(work);
    imgpar_context_release(ctx);
}

START_TEST(under_a_memory_limit_strips_give_the_same_bytes) { check_budget(false); }
END_TEST
START_TEST(the_memory_limit_is_a_setting) { check_budget(true); }
END_TEST

START_TEST(what_cannot_be_cut_into_strips_is_computed_all_the_same)
{
    setenv("IMGPAR_MEM_LIMIT", "100K", 1);
    imgpar_context *ctx = new_context();
    unsetenv("IMGPAR_MEM_LIMIT");
    imgpar_array *image = new_image(ctx, 900, 701, 3), *sorted = imgpar_op(ctx, "sort", &image, 1, "axis=0"),
                 *mean = imgpar_mean(sorted);
    float value; /* what is sorted lies in memory, and its mean needs all of it */
    size_t n;
    double sum = 0;
    uint8_t *pixels = read_all(image, &n);
    for (size_t k = 0; k < n; k++)
        sum += pixels[k];
    ck_assert_msg(imgpar_array_read(mean, &value, sizeof value) == IMGPAR_OK, "%s", imgpar_array_message(mean));
    ck_assert_double_eq_tol((double)value, sum / (double)n, 1e-3); /* sorting changes no mean */
    free(pixels);
    imgpar_array_release(mean);
    imgpar_array_release(sorted);
    imgpar_array_release(image);
    imgpar_context_release(ctx);
}
END_TEST

/* A kernel of the user's, which nobody cuts and no interpreter knows. */
static imgpar_array *copy_by_a_kernel(imgpar_context *ctx, imgpar_array *image, int w, int h)
{
    imgpar_cl_module *module;
    imgpar_cl_kernel *kernel;
    ck_assert_int_eq(imgpar_cl_module_from_text(ctx,
                                                "kernel void copy(global const uchar *a, global uchar *out) { size_t i "
                                                "= get_global_id(0); out[i] = a[i]; }",
                                                &module),
                     IMGPAR_OK);
    ck_assert_int_eq(imgpar_cl_kernel_new(module, "copy", &kernel), IMGPAR_OK);
    const imgpar_cl_arg args[] = { imgpar_cl_arg_input(0), imgpar_cl_arg_result() };
    const imgpar_cl_node node = { .struct_size = sizeof node,
                                  .kernel = kernel,
                                  .inputs = &image,
                                  .n_inputs = 1,
                                  .dtype = IMGPAR_U8,
                                  .rank = 3,
                                  .shape = { h, w, 3 },
                                  .args = args,
                                  .n_args = 2,
                                  .work = IMGPAR_CL_WORK(.global = { (size_t)(w * h * 3) }) };
    imgpar_array *a = imgpar_cl_apply(ctx, &node);
    imgpar_cl_kernel_release(kernel);
    imgpar_cl_module_release(module);
    return a;
}

START_TEST(a_context_that_was_out_of_memory_works_on)
{
    imgpar_context *ctx = new_context();
    if (!ctx->device) {
        imgpar_context_release(ctx);
        return;
    }
    int *shares = &((ip_device_facts *)ip_device_facts_of(ctx->device))->info.has_unified_memory;
    const int shared = *shares;
    *shares = 0;
    size_t n;
    ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "100K"), IMGPAR_OK);
    imgpar_array *image = new_image(ctx, 900, 701, 3), *small = new_image(ctx, 30, 20, 3),
                 *inverted = imgpar_invert(small);
    imgpar_array *copy = copy_by_a_kernel(ctx, image, 900, 701), *mean = imgpar_mean(copy);
    float value = 0, want = 0;
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(imgpar_array_read(mean, &value, sizeof value), IMGPAR_E_DEVICE_MEMORY);
        const char *why = imgpar_array_message(mean);
        ck_assert_msg(strstr(why, "mean: ") && strstr(why, "copy") && strstr(why, " would do"), "%s", why);
    }
    uint8_t *pixels = read_all(small, &n), *got = read_all(inverted, &n); /* what fits is computed */
    for (size_t k = 0; k < n; k++)
        ck_assert_int_eq(got[k], 255 - pixels[k]);
    ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", "100M"), IMGPAR_OK);
    ck_assert_msg(imgpar_array_read(mean, &value, sizeof value) == IMGPAR_OK, "%s", imgpar_array_message(mean));
    ck_assert_int_eq(imgpar_array_status(mean), IMGPAR_OK);
    imgpar_array *plain = imgpar_mean(image);
    ck_assert_int_eq(imgpar_array_read(plain, &want, sizeof want), IMGPAR_OK);
    ck_assert_float_eq_tol(value, want, 1e-3);
    imgpar_array *const all[] = { image, small, inverted, copy, mean, plain };
    for (int k = 0; k < 6; k++)
        imgpar_array_release(all[k]);
    free(pixels);
    free(got);
    *shares = shared;
    imgpar_context_release(ctx);
}
END_TEST

/* ---- the Nth call fails ---------------------------------------------------------------------------- */

enum { W = 37, H = 23, C = 3, N_BYTES = W * H * C };

/* Builds, computes, reads and encodes a small graph; the first failure, or IMGPAR_OK with the pixels in bytes.
 * why gets the messages. */
static imgpar_status small_pipeline(imgpar_context *ctx, uint8_t *bytes, char why[256])
{
    static uint8_t pixels[N_BYTES];
    const int64_t shape[3] = { H, W, C };
    void *encoded = NULL;
    size_t n_encoded;
    imgpar_options png = { .struct_size = sizeof png, .format = "png", .settings = "level=1" };
    imgpar_array *image = imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, pixels);
    imgpar_array *soft = imgpar_boxblur(image, 3, IMGPAR_BORDER_WRAP);
    imgpar_array *in[] = { soft, image };
    imgpar_array *work = imgpar_apply(ctx, "threshold(blend($1, $2, 0.3), mean($2)) + 1", in, 2);
    imgpar_array *result = imgpar_op(ctx, "cast", &work, 1, "dtype=u8");
    imgpar_status st = imgpar_array_eval(soft, NULL);
    if (!st) st = imgpar_array_read(result, bytes, N_BYTES);
    if (!st) st = imgpar_encode(result, &png, &encoded, &n_encoded);
    snprintf(why, 256, "%.120s %.120s", imgpar_array_message(soft), imgpar_array_message(result));
    imgpar_free(encoded);
    imgpar_array *const all[] = { image, soft, work, result };
    for (int k = 0; k < 4; k++)
        imgpar_array_release(all[k]);
    return st;
}

/* Walks N until nothing fails. Every N gives a status or, where the library helped itself, the right pixels. */
static void walk(imgpar_context *ctx, ip_fault_kind kind)
{
    uint8_t want[N_BYTES], got[N_BYTES];
    char why[256];
    ck_assert_int_eq(small_pipeline(ctx, want, why), IMGPAR_OK);
    for (unsigned long nth = 1;; nth++) {
        ck_assert_uint_lt(nth, 20000);
        memset(got, 0x55, sizeof got);
        ip_fault_set(kind, nth);
        imgpar_status st = small_pipeline(ctx, got, why);
        unsigned long seen = ip_fault_seen(kind);
        ip_fault_set(kind, 0);
        ck_assert_msg(st != IMGPAR_OK || memcmp(want, got, sizeof got) == 0, "call %lu fails: other pixels", nth);
        ck_assert_msg(st != IMGPAR_E_INTERNAL, "call %lu fails: %s", nth, why);
        ck_assert_msg(st == IMGPAR_OK || kind != IP_FAULT_ALLOC || st == IMGPAR_E_HOST_MEMORY,
                      "allocation %lu fails: \"%s\" %s", nth, imgpar_status_name(st), why);
        if (seen < nth) break;
    }
    ck_assert_int_eq(small_pipeline(ctx, got, why), IMGPAR_OK);
    ck_assert_int_eq(memcmp(want, got, sizeof got), 0);
    if (ctx->device) {
        imgpar_counters counters = { .struct_size = sizeof counters };
        ip_device_trim(ctx->device);
        imgpar_context_counters(ctx, &counters);
        ck_assert_uint_eq(counters.device_bytes, 0);
    }
}

static void walk_on(const char *schedule, ip_fault_kind kind)
{
    imgpar_context *ctx = new_context();
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", schedule), IMGPAR_OK);
    walk(ctx, kind);
    imgpar_context_release(ctx);
}

START_TEST(every_allocation_may_fail_on_the_device) { walk_on("auto", IP_FAULT_ALLOC); }
END_TEST
START_TEST(every_allocation_may_fail_in_the_interpreter) { walk_on("ref", IP_FAULT_ALLOC); }
END_TEST
START_TEST(every_opencl_call_may_fail) { walk_on("auto", IP_FAULT_CL); }
END_TEST

/* A context is opened anew each time, its programs are built anew. */
static void walk_opening(const char *selector, ip_fault_kind kind)
{
    uint8_t bytes[N_BYTES];
    char why[256];
    for (unsigned long nth = 1;; nth++) {
        imgpar_context *ctx = NULL;
        ip_fault_set(kind, nth);
        imgpar_status st = imgpar_context_new(selector, &ctx);
        ck_assert_msg((st == IMGPAR_OK) == (ctx != NULL), "call %lu fails: a context that is none", nth);
        if (!st) small_pipeline(ctx, bytes, why);
        imgpar_context_release(ctx);
        unsigned long seen = ip_fault_seen(kind);
        ip_fault_set(kind, 0);
        if (seen < nth) break;
    }
}

START_TEST(opening_a_context_may_fail_anywhere)
{
    imgpar_context *ctx = new_context();
    bool is_device = ctx->device != NULL;
    imgpar_context_release(ctx);
    walk_opening("ref", IP_FAULT_ALLOC);
    if (is_device) walk_opening(NULL, IP_FAULT_CL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stress");
    TCase *c = tcase_create("stress");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, an_evaluation_on_the_device_is_stopped_by_poll);
    tcase_add_test(c, an_evaluation_by_pixels_is_stopped_by_poll);
    tcase_add_test(c, an_evaluation_by_the_interpreter_is_stopped_by_poll);
    if (strcmp(getenv("IMGPAR_DEVICE") ? getenv("IMGPAR_DEVICE") : "", "ref") != 0)
        tcase_add_test(c, volumes_are_polled_by_planes);
    tcase_add_test(c, under_a_memory_limit_strips_give_the_same_bytes);
    tcase_add_test(c, the_memory_limit_is_a_setting);
    tcase_add_test(c, what_cannot_be_cut_into_strips_is_computed_all_the_same);
    tcase_add_test(c, a_context_that_was_out_of_memory_works_on);
    tcase_add_test(c, every_allocation_may_fail_on_the_device);
    tcase_add_test(c, every_allocation_may_fail_in_the_interpreter);
    tcase_add_test(c, every_opencl_call_may_fail);
    tcase_add_test(c, opening_a_context_may_fail_anywhere);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
