/* SPDX-License-Identifier: MIT */
/* What the tests of several devices share: a context of two for each test, images, and where kernels ran. */
#ifndef DEVICES_HELP_H
#define DEVICES_HELP_H

#include "run/context.h"
#include "run/device_impl.h"
#include "asserts.h"

#include <imgpar.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static imgpar_context *ctx;

static const char *selector(void)
{
    const char *given = getenv("IMGPAR_TEST_DEVICES");
    return given ? given : "cpu/2";
}

static imgpar_context *open_context(const char *devices)
{
    imgpar_context *c;
    char why[500];
    imgpar_status st = imgpar_context_new(devices, &c);
    imgpar_context_new_error(why, sizeof why);
    ck_assert_msg(st == IMGPAR_OK, "%s", why);
    return c;
}

static void open_devices(void)
{
    ctx = open_context(selector());
    ck_assert_ptr_nonnull(imgpar_context_device_at(ctx, 1));
    ck_assert_ptr_null(imgpar_context_device_at(ctx, 2));
}

static void close_devices(void) { imgpar_context_release(ctx); }

static void place(const char *placement)
{
    ck_assert_int_eq(imgpar_context_set(ctx, "placement", placement), IMGPAR_OK);
}

/* 0: as it is; 1: the second device says that it shares no memory with the host; 2: neither does. */
static void pretend(int which)
{
    for (size_t k = 0; k < 2; k++)
        if (which == 2 || (which == 1 && k == 1)) {
            ctx->devices.list[k]->facts.info.has_unified_memory = 0;
            ctx->devices.share_host = false;
        }
}

static uint64_t kernels_of(size_t device)
{
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_context_device_counters(ctx, device, &c);
    return c.kernels;
}

/* ---- images and what is computed of them ------------------------------------------------------ */

/* Levels without a pattern that a shifted row could meet again. */
static uint8_t level(int64_t i) { return (uint8_t)((uint64_t)i * 2654435761u >> 13); }

static imgpar_array *image_of(imgpar_context *c, int64_t height, int64_t width)
{
    uint8_t *pixels = malloc((size_t)(height * width));
    for (int64_t i = 0; i < height * width; i++)
        pixels[i] = level(i);
    imgpar_array *a = imgpar_array_from_data(c, IMGPAR_U8, 2, (const int64_t[]){ height, width }, pixels);
    free(pixels);
    return a;
}

static imgpar_array *apply(const char *text, imgpar_array *input)
{
    imgpar_array *a = imgpar_apply(ctx, text, &input, 1);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s", imgpar_array_message(a));
    return a;
}

static void *elements_with(imgpar_array *a, const imgpar_options *options)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    void *got = malloc(info.size_bytes);
    imgpar_status st = imgpar_array_read_with(a, got, info.size_bytes, options);
    ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(a));
    return got;
}

static void *elements_of(imgpar_array *a) { return elements_with(a, NULL); }

/* One processor cannot be divided in two: then the program is skipped. */
static bool has_no_devices(void) { return sysconf(_SC_NPROCESSORS_ONLN) < 2 && !getenv("IMGPAR_TEST_DEVICES"); }

/* Each test in a process of its own, as threads of PoCL outlive contexts of several devices and touch what was freed.
 * Where sanitizers keep that for a while it does no harm, and processes are dear: there as CK_FORK says. */
static enum fork_status devices_fork_status(void)
{
    const char *sanitized = getenv("IMGPAR_SANITIZED");
    return sanitized && *sanitized ? CK_FORK_GETENV : CK_FORK;
}

#endif
