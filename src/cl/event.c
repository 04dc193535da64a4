/* SPDX-License-Identifier: MIT */
/* Events: one command of a queue, its end and its times. */
#include "cl/cl.h"

#include <stdio.h>

imgpar_cl_event *ip_cl_event_new(imgpar_context *ctx, cl_event event, const char *name, uint64_t bytes)
{
    imgpar_cl_event *e = ip_zalloc(sizeof *e);
    if (!e) return NULL;
    atomic_init(&e->refs, 1);
    e->ctx = imgpar_context_retain(ctx);
    clRetainEvent(event);
    e->event = event;
    e->bytes = bytes;
    snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

void ip_cl_event_drop(imgpar_cl_event *e)
{
    if (!e || ip_context_check(e->ctx, NULL) || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    ip_cl_report_free(e->report);
    clReleaseEvent(e->event);
    imgpar_context_release(e->ctx);
    ip_free(e);
}

/* The user's references are counted apart, since a queue keeps events that nobody asked for. */
imgpar_cl_event *imgpar_cl_event_retain(imgpar_cl_event *e)
{
    if (!e) return NULL;
    if (atomic_fetch_add_explicit(&e->handles, 1, memory_order_relaxed) == 0) ip_cl_alive(e->ctx, IP_LIVE_EVENTS, 1);
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void imgpar_cl_event_release(imgpar_cl_event *e)
{
    if (!e) return;
    if (atomic_fetch_sub_explicit(&e->handles, 1, memory_order_acq_rel) == 1) ip_cl_alive(e->ctx, IP_LIVE_EVENTS, -1);
    ip_cl_event_drop(e);
}

/* ---- its end --------------------------------------------------------------------------------- */

/* The failure of a command whose state is known. */
static imgpar_status failure_of(const imgpar_cl_event *e, cl_int state, ip_error *err)
{
    imgpar_status st = (imgpar_status)atomic_load(&e->task_status);
    if (st) return ip_fail(err, st, "%s: the task returned \"%s\"", e->name, imgpar_status_name(st));
    return state < 0 ? ip_cl_fail(err, state, e->name, "the command failed") : IMGPAR_OK;
}

static imgpar_status read_state(const imgpar_cl_event *e, cl_int *state, ip_error *err)
{
    if (ip_context_check(e->ctx, err)) return IMGPAR_E_DEVICE_LOST;
    cl_int code = IP_CL(clGetEventInfo(e->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL));
    return code ? ip_cl_fail(err, code, "clGetEventInfo", e->name) : IMGPAR_OK;
}

imgpar_status ip_cl_event_finish(const imgpar_cl_event *e, ip_error *err)
{
    if (ip_context_check(e->ctx, err)) return IMGPAR_E_DEVICE_LOST;
    cl_int state = CL_QUEUED, code = IP_CL(clWaitForEvents(1, &e->event));
    if (code && code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        return ip_cl_fail(err, code, "clWaitForEvents", e->name);
    imgpar_status st = read_state(e, &state, err);
    return st ? st : failure_of(e, state, err);
}

imgpar_status imgpar_cl_wait(imgpar_cl_event *const *events, size_t n)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!events && n > 0) ip_cl_null(&err, "wait", "events");
    for (size_t k = 0; events && k < n; k++) {
        if (events[k])
            ip_cl_event_finish(events[k], &err);
        else
            ip_cl_null(&err, "wait", "an event");
    }
    return ip_cl_say(&err);
}

imgpar_status imgpar_cl_event_is_done(imgpar_cl_event *e, int *done)
{
    ip_error err = { .status = IMGPAR_OK };
    cl_int state = CL_QUEUED;
    if (!e || !done)
        ip_cl_null(&err, "event_is_done", e ? "done" : "the event");
    else if (!read_state(e, &state, &err)) {
        *done = state <= CL_COMPLETE;
        if (*done) failure_of(e, state, &err);
    }
    return ip_cl_say(&err);
}

/* ---- its times --------------------------------------------------------------------------------- */

imgpar_status ip_cl_event_clock(const imgpar_cl_event *e, imgpar_cl_times *out, ip_error *err)
{
    static const cl_profiling_info infos[] = { CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                               CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END };
    cl_ulong times[4];
    *out = (imgpar_cl_times){ .struct_size = sizeof *out,
                              .queued_ns = atomic_load(&e->queued_ns),
                              .submitted_ns = atomic_load(&e->queued_ns),
                              .started_ns = atomic_load(&e->started_ns),
                              .ended_ns = atomic_load(&e->ended_ns) };
    if (e->is_task) return IMGPAR_OK;
    for (int k = 0; k < 4; k++) {
        cl_int code = IP_CL(clGetEventProfilingInfo(e->event, infos[k], sizeof times[k], &times[k], NULL));
        if (code) return ip_cl_fail(err, code, "clGetEventProfilingInfo", e->name);
    }
    out->queued_ns = times[0];
    out->submitted_ns = times[1];
    out->started_ns = times[2];
    out->ended_ns = times[3];
    return IMGPAR_OK;
}

imgpar_status imgpar_cl_event_times(imgpar_cl_event *e, imgpar_cl_times *out)
{
    ip_error err = { .status = IMGPAR_OK };
    imgpar_cl_times times = { .struct_size = sizeof times };
    if (!e || !out)
        ip_cl_null(&err, "event_times", e ? "out" : "the event");
    else if (!ip_cl_event_finish(e, &err) && !ip_cl_event_clock(e, &times, &err))
        ip_struct_out(out, &times, "event_times", "out", &err);
    return ip_cl_say(&err);
}
