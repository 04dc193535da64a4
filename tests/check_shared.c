/* SPDX-License-Identifier: MIT */
/*
 * Memory that device and host share is used where it stands: no copy in, no copy out, as the counters tell; who owns it
 * keeps it as long as anybody uses it. The same on a device that seems to share nothing, where it is copied.
 */
#include "asserts.h"
#include "held.h"
#include "run/context.h"
#include "run/device_impl.h"

#include <imgpar_cl.h>

#include <stdlib.h>
#include <string.h>

enum { W = 320, H = 240, N = W * H, PARAMETERS = 4096 /* kernels are given numbers, too */ };

static imgpar_context *ctx;
static _Alignas(64) uint8_t pixels[N + 64];

static void open_device(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ck_assert_str_ne(imgpar_context_device(ctx)->kind, "ref");
    for (int k = 0; k < N + 64; k++)
        pixels[k] = (uint8_t)(k * 31 % 251);
}

static void close_device(void) { imgpar_context_release(ctx); }

static void count(void *user, void *data)
{
    (void)data;
    ++*(int *)user;
}

static imgpar_array *wrapped(void *data, int *n_released)
{
    return imgpar_array_wrap(ctx, IMGPAR_U8, 2, (const int64_t[]){ H, W }, data, n_released ? count : NULL, n_released);
}

typedef struct traffic {
    uint64_t in, out;
} traffic;

static traffic traffic_so_far(void)
{
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_context_counters(ctx, &c);
    return (traffic){ c.bytes_uploaded, c.bytes_downloaded };
}

/* 0: shared; 1: the device says that it shares nothing. */
static bool pretend(int which)
{
    if (which) ctx->device->facts.info.has_unified_memory = 0;
    return ctx->device->facts.info.has_unified_memory;
}

START_TEST(nothing_is_copied_in_or_out)
{
    int n_released = 0;
    bool shares = pretend(_i);
    _Alignas(16) static uint8_t got[N];
    imgpar_array *image = wrapped(pixels, &n_released), *inverted = imgpar_invert(image);
    traffic before = traffic_so_far();
    ck_assert_int_eq(imgpar_array_read(inverted, got, N), IMGPAR_OK);
    traffic after = traffic_so_far();
    for (int k = 0; k < N; k++)
        ck_assert_uint_eq(got[k], 255 - pixels[k]);
    ck_assert(shares ? after.in - before.in < PARAMETERS : after.in - before.in >= N);
    ck_assert_uint_eq(after.out - before.out, shares ? 0 : N);
    imgpar_array_release(image);
    ck_assert_int_eq(n_released, 0);
    imgpar_array_release(inverted);
    ck_assert_int_eq(n_released, 1);
}
END_TEST

START_TEST(files_are_encoded_from_the_devices_memory)
{
    bool shares = pretend(_i);
    const imgpar_options pnm = { .struct_size = sizeof pnm, .format = "pnm" };
    imgpar_array *image = wrapped(pixels, NULL), *inverted = imgpar_invert(image);
    void *bytes;
    size_t n;
    traffic before = traffic_so_far();
    ck_assert_int_eq(imgpar_encode(inverted, &pnm, &bytes, &n), IMGPAR_OK);
    imgpar_array *decoded = imgpar_open_memory(ctx, bytes, n), *again = imgpar_invert(decoded);
    uint8_t *got = malloc(N);
    ck_assert_int_eq(imgpar_array_read(again, got, N), IMGPAR_OK);
    traffic after = traffic_so_far();
    ck_assert_mem_eq(got, pixels, N);
    ck_assert(shares ? after.in - before.in < PARAMETERS : after.in - before.in >= 2 * N);
    ck_assert_uint_eq(after.out - before.out, shares ? 0 : 2 * N);
    imgpar_free(bytes);
    free(got);
    imgpar_array *const all[] = { image, inverted, decoded, again };
    for (int k = 0; k < 4; k++)
        imgpar_array_release(all[k]);
}
END_TEST

/* Kernels read whole elements; memory at odd addresses is copied. */
START_TEST(memory_at_any_address_gives_the_same)
{
    for (int at = 1; at < 16; at += 7) {
        uint8_t *got = malloc(N + 16);
        imgpar_array *image = wrapped(pixels + at, NULL), *inverted = imgpar_invert(image);
        ck_assert_int_eq(imgpar_array_read(inverted, got + at, N), IMGPAR_OK);
        for (int k = 0; k < N; k++)
            ck_assert_uint_eq(got[at + k], 255 - pixels[at + k]);
        imgpar_array_release(image);
        imgpar_array_release(inverted);
        free(got);
    }
}
END_TEST

/* Reading into what is still being read must not change what is read: a flip would meet its own results. */
START_TEST(a_result_may_take_the_place_of_its_source)
{
    static uint8_t want[N];
    imgpar_array *image = wrapped(pixels, NULL), *flipped = imgpar_apply(ctx, "boxblur(flip($1), size=5)", &image, 1);
    ck_assert_msg(imgpar_array_status(flipped) == IMGPAR_OK, "%s", imgpar_array_message(flipped));
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "ref"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(flipped, want, N), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "auto"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(flipped, pixels, N), IMGPAR_OK);
    ck_assert_mem_eq(pixels, want, N);
    imgpar_array_release(image);
    imgpar_array_release(flipped);
}
END_TEST

START_TEST(memory_stays_as_long_as_it_is_used)
{
    int n_released = 0;
    imgpar_array *image = wrapped(pixels, &n_released);
    imgpar_cl_buffer *b;
    imgpar_cl_queue *queue;
    static uint8_t got[N];
    ck_assert_int_eq(imgpar_cl_buffer_of(image, &b), IMGPAR_OK); /* the user's memory itself, where it is shared */
    imgpar_array_release(image);
    imgpar_cl_buffer_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_cl_buffer_get_info(b, &info), IMGPAR_OK);
    if (info.is_shared) ck_assert_int_eq(n_released, 0);
    ck_assert_int_eq(imgpar_cl_queue_new(ctx, NULL, &queue), IMGPAR_OK);
    ck_assert_int_eq(imgpar_cl_read(queue, b, NULL, got, NULL), IMGPAR_OK);
    imgpar_cl_buffer_release(b); /* the command needs it still */
    ck_assert_int_eq(imgpar_cl_finish(queue), IMGPAR_OK);
    ck_assert_mem_eq(got, pixels, N);
    ck_assert_int_eq(n_released, 1);
    imgpar_cl_queue_release(queue);
}
END_TEST

/* A kept value is read, and read again, by whatever way it came. */
START_TEST(kept_values_are_read_twice)
{
    pretend(_i);
    static uint8_t got[N];
    imgpar_array *image = wrapped(pixels, NULL), *inverted = imgpar_invert(image), *twice = imgpar_invert(inverted);
    ck_assert_int_eq(imgpar_array_eval(inverted, NULL), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_eval(image, NULL), IMGPAR_OK);
    for (int n = 0; n < 2; n++) {
        ck_assert_int_eq(imgpar_array_read(twice, got, N), IMGPAR_OK);
        ck_assert_mem_eq(got, pixels, N);
        ck_assert_int_eq(imgpar_array_read(image, got, N), IMGPAR_OK);
        ck_assert_mem_eq(got, pixels, N);
        ck_assert_int_eq(imgpar_array_read(inverted, got, N), IMGPAR_OK);
        ck_assert_uint_eq(got[77], 255 - pixels[77]);
    }
    imgpar_array_release(twice);
    imgpar_array_release(inverted);
    imgpar_array_release(image);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared");
    TCase *t = tcase_create("shared");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_loop_test(t, nothing_is_copied_in_or_out, 0, 2);
    tcase_add_loop_test(t, files_are_encoded_from_the_devices_memory, 0, 2);
    tcase_add_test(t, memory_at_any_address_gives_the_same);
    tcase_add_test(t, a_result_may_take_the_place_of_its_source);
    tcase_add_test(t, memory_stays_as_long_as_it_is_used);
    tcase_add_loop_test(t, kept_values_are_read_twice, 0, 2);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
