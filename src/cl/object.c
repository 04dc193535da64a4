/* SPDX-License-Identifier: MIT */
/* What all objects of the device layer have in common: messages, counts of what is alive. */
#include "cl/cl.h"

#include <stdio.h>
#include <string.h>

/* A message belongs to the thread that got the failure, whatever other threads do with the object. */
static _Thread_local char message[sizeof((ip_error *)0)->message];

const char *imgpar_cl_message(void) { return message; }

imgpar_status ip_cl_say(const ip_error *err)
{
    if (err->status) snprintf(message, sizeof message, "%s", err->message);
    return err->status;
}

imgpar_status ip_cl_null(ip_error *err, const char *function, const char *name)
{
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: %s is NULL", function, name);
}

imgpar_status ip_cl_device(imgpar_context *ctx, const char *function, ip_device **out, ip_error *err)
{
    if (!ctx) return ip_cl_null(err, function, "the context");
    if (ip_context_check(ctx, err)) return IMGPAR_E_DEVICE_LOST;
    if (!ctx->device)
        return ip_fail(err, IMGPAR_E_NO_DEVICE,
                       "%s: this context has no OpenCL device, it computes with the reference interpreter", function);
    *out = ctx->device;
    return IMGPAR_OK;
}

/* ---- what is alive --------------------------------------------------------------------- */

void ip_cl_alive(imgpar_context *ctx, ip_live_kind kind, int n)
{
    atomic_fetch_add_explicit(&ctx->live[kind], n, memory_order_relaxed);
}

static uint64_t count(const imgpar_context *ctx, ip_live_kind kind)
{
    return (uint64_t)atomic_load_explicit(&ctx->live[kind], memory_order_relaxed);
}

imgpar_status imgpar_cl_count(const imgpar_context *ctx, imgpar_cl_counts *out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!ctx || !out) ip_cl_null(&err, "count", ctx ? "out" : "the context");
    if (err.status) return ip_cl_say(&err);
    const imgpar_cl_counts now = { .struct_size = sizeof now,
                                   .queues = count(ctx, IP_LIVE_QUEUES),
                                   .events = count(ctx, IP_LIVE_EVENTS),
                                   .buffers = count(ctx, IP_LIVE_BUFFERS),
                                   .modules = count(ctx, IP_LIVE_MODULES),
                                   .kernels = count(ctx, IP_LIVE_KERNELS) };
    ip_struct_out(out, &now, "count", "out", &err);
    return ip_cl_say(&err);
}
