/* SPDX-License-Identifier: MIT */
/*
 * Tasks of the host in a queue. OpenCL's native kernels are for CPUs only, so a task is made of what every device has:
 * a marker that is over when the commands before it are, whose callback runs the task, and a user event that says when
 * the task is over. In a queue that runs in order a barrier makes later commands wait for it.
 */
#include "cl/cl.h"

#include <time.h>

typedef struct running {
    imgpar_cl_event *event; /* a reference */
    cl_event over;          /* a reference */
    imgpar_status (*task)(void *user);
    void *user;
} running;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What it waited for may have failed: then it does not run, and the failure is found at the command that has it. */
static void CL_CALLBACK run(cl_event marker, cl_int state, void *argument)
{
    running *r = argument;
    cl_event over = r->over;
    (void)marker;
    atomic_store(&r->event->started_ns, now_ns());
    atomic_store(&r->event->task_status, state < 0 ? IMGPAR_E_DEVICE_LOST : r->task(r->user));
    atomic_store(&r->event->ended_ns, now_ns());
    /* Never the last reference: the queue has one until the event below is over. */
    ip_cl_event_drop(r->event);
    ip_free(r);
    /* also where it failed: a failed event would end all that is queued behind it */
    clSetUserEventStatus(over, CL_COMPLETE);
    clReleaseEvent(over);
}

/* Once this succeeded, the callback owns r. */
static imgpar_status enqueue(imgpar_cl_queue *q, const ip_waits *waits, running *r, ip_error *err)
{
    cl_event marker = NULL;
    cl_int code = IP_CL(
        clEnqueueMarkerWithWaitList(q->queue, q->in_order ? 0 : waits->n, q->in_order ? NULL : waits->events, &marker));
    if (code) return ip_cl_fail(err, code, "clEnqueueMarkerWithWaitList", "task");
    code = IP_CL(clSetEventCallback(marker, CL_COMPLETE, run, r));
    clReleaseEvent(marker);
    /* apart from what comes next: rusticl tells the end of all that is flushed at once, and that waits for us */
    clFlush(q->queue);
    return code ? ip_cl_fail(err, code, "clSetEventCallback", "task") : IMGPAR_OK;
}

/* Commands that come later in a queue that runs in order. */
static imgpar_status hold_back(imgpar_cl_queue *q, cl_uint n, const cl_event *events, ip_error *err)
{
    if (!q->in_order || n == 0) return IMGPAR_OK;
    cl_int code = IP_CL(clEnqueueBarrierWithWaitList(q->queue, n, events, NULL));
    clFlush(q->queue);
    return code ? ip_cl_fail(err, code, "clEnqueueBarrierWithWaitList", "task") : IMGPAR_OK;
}

static imgpar_status start(imgpar_cl_queue *q, running *r, const imgpar_cl_order *given, ip_error *err)
{
    ip_waits waits = { NULL, 0, 0 };
    imgpar_cl_order order;
    cl_int code;
    imgpar_status st = ip_cl_order_read(q, "task", given, &order, &waits, err);
    cl_event over = NULL;
    if (!st) {
        over = ip_cl_may(&code) ? clCreateUserEvent(q->device->context, &code) : NULL;
        st = code ? ip_cl_fail(err, code, "clCreateUserEvent", "task") : IMGPAR_OK;
    }
    imgpar_cl_event *event = over ? ip_cl_event_new(q->ctx, over, "task", 0) : NULL;
    if (over && !event) st = ip_fail_memory(err, "keeping a task");
    if (!st) st = hold_back(q, waits.n, waits.events, err);
    if (!st) {
        event->is_task = true;
        atomic_store(&event->queued_ns, now_ns());
        atomic_fetch_add(&event->refs, 1);
        clRetainEvent(over);
        r->event = event;
        r->over = over;
        st = enqueue(q, &waits, r, err);
        if (st) {
            ip_cl_event_drop(event);
            clReleaseEvent(over);
        }
    }
    if (!st) {
        st = hold_back(q, 1, &over, err);
        imgpar_status recorded = ip_cl_record(q, event, st ? NULL : order.event, err);
        st = st ? st : recorded;
    } else {
        ip_free(r);
        ip_cl_event_drop(event);
    }
    if (over) clReleaseEvent(over);
    ip_waits_clear(&waits);
    return st;
}

imgpar_status imgpar_cl_host_task(imgpar_cl_queue *q, imgpar_status (*task)(void *user), void *user,
                                  const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    running *r = NULL;
    ip_cl_order_begin(order);
    if (!q || !task)
        ip_cl_null(&err, "host_task", q ? "the task" : "the queue");
    else if (!(r = ip_zalloc(sizeof *r)))
        ip_fail_memory(&err, "keeping a task");
    else {
        r->task = task;
        r->user = user;
        start(q, r, order, &err);
    }
    return ip_cl_say(&err);
}
