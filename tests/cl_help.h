/* SPDX-License-Identifier: MIT */
/* What the tests of the device layer share: a context and a queue for each test, and a look for leaks behind it. */
#ifndef CL_HELP_H
#define CL_HELP_H

#include "asserts.h"
#include "held.h"

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

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#endif
