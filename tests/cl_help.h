/* SPDX-License-Identifier: MIT */
/* What the tests of the device layer share: a context and a queue for each test, and a look for leaks behind it. */
#ifndef CL_HELP_H
#define CL_HELP_H

#include "asserts.h"
#include "held.h"

#include "base/alloc.h"

#include <imgpar_cl.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) ck_assert_msg((call) == IMGPAR_OK, "%s: %s", #call, imgpar_cl_message())
/* The call fails so, and the message has the text in it. */
#define FAILS(call, status, text)                                                                                      \
    do {                                                                                                               \
        ck_assert_int_eq(call, status);                                                                                \
        ck_assert_msg(strstr(imgpar_cl_message(), text), "%s: \"%s\" lacks \"%s\"", #call, imgpar_cl_message(), text); \
    } while (0)

static imgpar_context *ctx;
static imgpar_cl_queue *queue;

static void open_device(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ck_assert_str_ne(imgpar_context_device(ctx)->kind, "ref");
    OK(imgpar_cl_queue_new(ctx, NULL, &queue));
}

static void close_device(void)
{
    imgpar_cl_counts c = { .struct_size = sizeof c };
    imgpar_cl_queue_release(queue);
    OK(imgpar_cl_count(ctx, &c));
    ck_assert_msg(c.queues + c.events + c.buffers + c.modules + c.kernels == 0,
                  "alive: %d queues, %d events, %d buffers, %d modules, %d kernels", (int)c.queues, (int)c.events,
                  (int)c.buffers, (int)c.modules, (int)c.kernels);
    imgpar_context_release(ctx);
}

static inline imgpar_cl_buffer *new_buffer(imgpar_cl_access access, imgpar_cl_layout layout)
{
    imgpar_cl_buffer *b;
    OK(imgpar_cl_buffer_new(ctx, access, &layout, &b));
    return b;
}

/* A kernel of a module of its own. */
static inline imgpar_cl_kernel *new_kernel(const char *text, const char *name)
{
    imgpar_cl_module *module;
    imgpar_cl_kernel *kernel;
    OK(imgpar_cl_module_from_text(ctx, text, &module));
    OK(imgpar_cl_kernel_new(module, name, &kernel));
    imgpar_cl_module_release(module);
    return kernel;
}

/* What is alive besides the fixture's queue. */
static inline uint64_t n_alive(void)
{
    imgpar_cl_counts c = { .struct_size = sizeof c };
    OK(imgpar_cl_count(ctx, &c));
    return c.queues - 1 + c.events + c.buffers + c.modules + c.kernels;
}

static const ip_fault_kind faults[] = { IP_FAULT_CL, IP_FAULT_ALLOC };

/* Makes each step of a walk fail once; at least so many of them are noticed, all say why, and nothing is left alive. */
static inline void walk_with_failures(imgpar_status (*walk)(void), ip_fault_kind kind, unsigned long least)
{
    unsigned long n_failed = 0, n_seen;
    ck_assert_msg(walk() == IMGPAR_OK, "%s", imgpar_cl_message());
    for (unsigned long nth = 1;; nth++) {
        ip_fault_set(kind, nth);
        imgpar_status st = walk();
        n_seen = ip_fault_seen(kind);
        ip_fault_set(kind, 0);
        n_failed += st != IMGPAR_OK;
        if (st) ck_assert_str_ne(imgpar_cl_message(), "");
        ck_assert_msg(n_alive() == 0, "call %lu left something alive", nth);
        if (n_seen < nth) break; /* nothing was left to fail */
    }
    ck_assert_uint_gt(n_failed, least);
    ck_assert_msg(walk() == IMGPAR_OK, "%s", imgpar_cl_message());
}

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#endif
