/* SPDX-License-Identifier: MIT */
/*
 * Queues: submitting commands, waiting for them, and what is kept of them.
 *
 * A command waits for the events that the caller names and for those that its buffers' pending commands ask for
 * (run/order.c). The device's order lock is held from asking to noting, so that two threads see each other's commands.
 * Each command is flushed at once: what waits for it may be on another queue.
 *
 * A queue keeps the events of its commands until they are over, for the profile and for failures; when there are
 * TIDY_EVERY more of them, or their reports hold much memory, it looks which are. Of those it fetches the reports, and
 * keeps what has to be delivered, on the host.
 */
#include "cl/cl.h"

#include "base/str.h"

#include <string.h>

enum { TIDY_EVERY = 64, REPORT_BYTES = 16 << 20 };

/* ---- making -------------------------------------------------------------------------------- */

static imgpar_status open_queue(imgpar_cl_queue *q, ip_error *err)
{
    cl_command_queue_properties offered = 0, wanted = CL_QUEUE_PROFILING_ENABLE;
    cl_int code = IP_CL(clGetDeviceInfo(q->device->id, CL_DEVICE_QUEUE_PROPERTIES, sizeof offered, &offered, NULL));
    if (code) return ip_cl_fail(err, code, "clGetDeviceInfo", NULL);
    if (!q->in_order && !(offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                       "queue_new: out_of_order: the device %s runs the commands of a queue in order only",
                       q->device->facts.info.name);
    if (!q->in_order) wanted |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    q->queue = ip_cl_may(&code) ? clCreateCommandQueue(q->device->context, q->device->id, wanted, &code) : NULL;
    return code ? ip_cl_fail(err, code, "clCreateCommandQueue", NULL) : IMGPAR_OK;
}

static imgpar_status make(imgpar_context *ctx, const imgpar_cl_queue_options *given, imgpar_cl_queue **out,
                          ip_error *err)
{
    imgpar_cl_queue_options options = { .struct_size = sizeof options };
    ip_device *device;
    imgpar_status st = ip_cl_device(ctx, "queue_new", &device, err);
    if (st) return st;
    if (given && ip_struct_in(&options, given, "queue_new", "options", err)) return err->status;
    const size_t print_bytes = options.print_buffer_bytes;
    if (print_bytes && (print_bytes < IP_CL_LEAST_REPORT_BYTES || print_bytes > INT32_MAX))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "queue_new: print_buffer_bytes=%zu is not %d to %d", print_bytes,
                       IP_CL_LEAST_REPORT_BYTES, INT32_MAX);
    imgpar_cl_queue *q = ip_zalloc(sizeof *q);
    if (!q || pthread_mutex_init(&q->lock, NULL)) {
        ip_free(q);
        return ip_fail_memory(err, "making a queue");
    }
    if (pthread_mutex_init(&q->settling, NULL)) {
        pthread_mutex_destroy(&q->lock);
        ip_free(q);
        return ip_fail_memory(err, "making a queue");
    }
    atomic_init(&q->refs, 1);
    q->ctx = imgpar_context_retain(ctx);
    q->device = device;
    q->blocks = options.blocks;
    q->in_order = !options.out_of_order;
    q->on_print = options.on_print;
    q->user = options.user;
    q->print_buffer_bytes = print_bytes;
    q->most_report_bytes = REPORT_BYTES;
    ip_cl_alive(ctx, IP_LIVE_QUEUES, 1);
    st = open_queue(q, err);
    if (st)
        imgpar_cl_queue_release(q);
    else
        *out = q;
    return st;
}

imgpar_status imgpar_cl_queue_new(imgpar_context *ctx, const imgpar_cl_queue_options *options, imgpar_cl_queue **out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!out) {
        ip_cl_null(&err, "queue_new", "out");
    } else {
        *out = NULL;
        make(ctx, options, out, &err);
    }
    return ip_cl_say(&err);
}

imgpar_cl_queue *imgpar_cl_queue_retain(imgpar_cl_queue *q)
{
    if (q) atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
    return q;
}

void imgpar_cl_queue_release(imgpar_cl_queue *q)
{
    if (!q || ip_context_check(q->ctx, NULL) || atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) != 1)
        return;
    ip_cl_queue_settle(q);
    if (q->queue) clReleaseCommandQueue(q->queue);
    ip_cl_alive(q->ctx, IP_LIVE_QUEUES, -1);
    pthread_mutex_destroy(&q->settling);
    pthread_mutex_destroy(&q->lock);
    ip_free(q->records);
    ip_free(q->rows);
    imgpar_context_release(q->ctx);
    ip_free(q);
}

/* ---- what is kept of commands ---------------------------------------------------------------- */

/* The row of a name; NULL without memory. The queue is locked. */
static imgpar_cl_profile_row *row_of(imgpar_cl_queue *q, const char *name)
{
    for (size_t k = 0; k < q->n_rows; k++)
        if (strcmp(q->rows[k].name, name) == 0) return &q->rows[k];
    imgpar_cl_profile_row *rows = ip_realloc_array(q->rows, q->n_rows + 1, sizeof *rows);
    if (!rows) return NULL;
    q->rows = rows;
    rows[q->n_rows] = (imgpar_cl_profile_row){ .name = "" };
    memcpy(rows[q->n_rows].name, name, strlen(name) + 1);
    return &rows[q->n_rows++];
}

static imgpar_status add_to_profile(imgpar_cl_queue *q, const imgpar_cl_event *e, ip_error *err)
{
    imgpar_cl_times t;
    imgpar_status st = ip_cl_event_clock(e, &t, err);
    imgpar_cl_profile_row *row = st ? NULL : row_of(q, e->name);
    if (!row) return st ? st : ip_fail_memory(err, "profiling");
    double ms = t.ended_ns > t.started_ns ? (double)(t.ended_ns - t.started_ns) / 1e6 : 0;
    row->least_ms = row->count == 0 || ms < row->least_ms ? ms : row->least_ms;
    row->most_ms = ms > row->most_ms ? ms : row->most_ms;
    row->total_ms += ms;
    row->bytes += e->bytes;
    row->count++;
    return IMGPAR_OK;
}

/* Waits for a command; then its report, its times, and its failure, which is returned. Takes e. */
static imgpar_status settle(imgpar_cl_queue *q, imgpar_cl_event *e, ip_error *err)
{
    imgpar_status st = ip_cl_event_finish(e, err);
    ip_cl_report *report = e->report; /* nobody else touches it: settling is what takes an event out of the records */
    e->report = NULL;
    if (report && !st)
        st = ip_cl_report_deliver(report, q->on_print, q->user, err);
    else
        ip_cl_report_free(report);
    pthread_mutex_lock(&q->lock);
    if (!st) st = add_to_profile(q, e, err);
    pthread_mutex_unlock(&q->lock);
    ip_cl_event_drop(e);
    return st;
}

void ip_cl_queue_settle(imgpar_cl_queue *q)
{
    pthread_mutex_lock(&q->settling);
    pthread_mutex_lock(&q->lock);
    imgpar_cl_event **records = q->records;
    size_t n = q->n_records;
    q->records = NULL;
    q->n_records = q->records_capacity = 0;
    q->report_bytes = 0;
    pthread_mutex_unlock(&q->lock);
    for (size_t k = 0; k < n; k++) {
        ip_error err = { .status = IMGPAR_OK };
        if (!settle(q, records[k], &err)) continue;
        pthread_mutex_lock(&q->lock);
        ip_fail(&q->first, err.status, "%s", err.message);
        pthread_mutex_unlock(&q->lock);
    }
    ip_free(records);
    pthread_mutex_unlock(&q->settling);
}

imgpar_status imgpar_cl_finish(imgpar_cl_queue *q)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!q) {
        ip_cl_null(&err, "finish", "the queue");
        return ip_cl_say(&err);
    }
    if (ip_context_check(q->ctx, &err)) return ip_cl_say(&err);
    ip_cl_queue_settle(q);
    pthread_mutex_lock(&q->lock);
    err = q->first;
    q->first = (ip_error){ .status = IMGPAR_OK };
    pthread_mutex_unlock(&q->lock);
    return ip_cl_say(&err);
}

static bool is_over(const imgpar_cl_event *e)
{
    cl_int state;
    return !IP_CL(clGetEventInfo(e->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL)) &&
           state == CL_COMPLETE;
}

/* Whether a record that is over has nothing left to deliver, once its report is on the host. */
static bool is_told(const imgpar_cl_queue *q, imgpar_cl_event *e)
{
    return !e->report || (!ip_cl_report_fetch(e->report, NULL) && !ip_cl_report_tells(e->report, q->on_print != NULL));
}

/* Puts records that are over into the profile. Those with something to tell wait for somebody who finishes. The queue
 * is locked. */
static void tidy(imgpar_cl_queue *q)
{
    size_t kept = 0;
    q->report_bytes = 0;
    for (size_t k = 0; k < q->n_records; k++) {
        imgpar_cl_event *e = q->records[k];
        bool failed = atomic_load(&e->task_status) != IMGPAR_OK;
        if (failed || !is_over(e) || !is_told(q, e) || add_to_profile(q, e, NULL)) {
            q->records[kept++] = e;
            q->report_bytes += ip_cl_report_bytes(e->report);
        } else {
            ip_cl_event_drop(e);
        }
    }
    q->n_records = kept;
    q->most_report_bytes = q->report_bytes > REPORT_BYTES / 2 ? 2 * q->report_bytes : REPORT_BYTES;
}

/* Room for a record more. The queue is locked. */
static imgpar_status reserve(imgpar_cl_queue *q, ip_error *err)
{
    bool is_full = q->n_records == q->records_capacity && q->n_records >= TIDY_EVERY;
    if (is_full || q->report_bytes > q->most_report_bytes) tidy(q);
    if (q->n_records < q->records_capacity) return IMGPAR_OK;
    size_t capacity = q->records_capacity + TIDY_EVERY;
    imgpar_cl_event **records = ip_realloc_array(q->records, capacity, sizeof *records);
    if (!records) return ip_fail_memory(err, "keeping a command");
    q->records = records;
    q->records_capacity = capacity;
    return IMGPAR_OK;
}

imgpar_status ip_cl_record(imgpar_cl_queue *q, imgpar_cl_event *takes, imgpar_cl_event **handle, ip_error *err)
{
    imgpar_status st;
    imgpar_cl_event *kept = handle ? imgpar_cl_event_retain(takes) : NULL;
    if (q->blocks) {
        const bool may_print = takes->report != NULL; /* texts are delivered by one thread at a time */
        if (may_print) {
            ip_cl_event_finish(takes, NULL);
            pthread_mutex_lock(&q->settling);
        }
        st = settle(q, takes, err);
        if (may_print) pthread_mutex_unlock(&q->settling);
    } else {
        pthread_mutex_lock(&q->lock);
        st = reserve(q, err);
        if (!st) q->report_bytes += ip_cl_report_bytes(takes->report);
        if (!st) q->records[q->n_records++] = takes;
        pthread_mutex_unlock(&q->lock);
        if (st) { /* it runs all the same, and what it uses must stay until it is over */
            ip_cl_event_finish(takes, NULL);
            ip_cl_event_drop(takes);
        }
    }
    if (st)
        imgpar_cl_event_release(kept);
    else if (handle)
        *handle = kept;
    return st;
}

/* ---- submitting ------------------------------------------------------------------------------- */

static bool add_wait(ip_waits *waits, cl_event event)
{
    return ip_waits_add(waits, &(ip_pending){ .written = event }, false);
}

void ip_cl_order_begin(const imgpar_cl_order *given)
{
    imgpar_cl_order order = { .struct_size = sizeof order };
    if (!given) return;
    ip_struct_in(&order, given, "", "order", NULL); /* ip_cl_order_read() tells what is wrong with it */
    if (order.event) *order.event = NULL;
}

imgpar_status ip_cl_order_read(imgpar_cl_queue *q, const char *name, const imgpar_cl_order *given, imgpar_cl_order *out,
                               ip_waits *waits, ip_error *err)
{
    *out = (imgpar_cl_order){ .struct_size = sizeof *out };
    if (ip_context_check(q->ctx, err)) return IMGPAR_E_DEVICE_LOST;
    if (!given) return IMGPAR_OK;
    if (ip_struct_in(out, given, name, "order", err)) return err->status;
    if (out->n_after > 0 && !out->after) return ip_cl_null(err, name, "order->after");
    for (size_t k = 0; k < out->n_after; k++) {
        if (!out->after[k]) return ip_cl_null(err, name, "an event of order->after");
        if (out->after[k]->ctx != q->ctx)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: order->after[%zu] is an event of another context", name, k);
        if (!add_wait(waits, out->after[k]->event)) return ip_fail_memory(err, "waiting for events");
    }
    return IMGPAR_OK;
}

/* Whether the buffers may be used so now. The order lock is held. */
static imgpar_status check_uses(const ip_cl_command *c, ip_error *err)
{
    for (int k = 0; k < c->n_uses; k++) {
        const imgpar_cl_buffer *whole = c->uses[k].buffer ? ip_cl_whole(c->uses[k].buffer) : NULL;
        if (whole && c->unmaps && !c->uses[k].buffer->mapped)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the buffer is not mapped", c->name);
        if (whole && whole->mapped && !c->unmaps)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the buffer is mapped by the host; unmap it first", c->name);
        if (whole && whole->is_constant && c->uses[k].writes)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the buffer is the value of an array and cannot be written",
                           c->name);
    }
    return IMGPAR_OK;
}

imgpar_status ip_cl_enqueue(ip_device *device, cl_command_queue queue, const ip_cl_command *c, ip_waits *waits,
                            cl_event *event, ip_error *err)
{
    pthread_mutex_lock(&device->order);
    imgpar_status st = check_uses(c, err);
    bool ok = true;
    for (int k = 0; !st && ok && k < c->n_uses; k++)
        ok = ip_waits_add(waits, &c->uses[k].memory->pending, c->uses[k].writes);
    if (!ok) st = ip_fail_memory(err, "waiting for events");
    if (!st) {
        cl_int code = ip_fault(IP_FAULT_CL) ? IP_CL_INJECTED : c->enqueue(queue, c->argument, waits, event);
        if (code) st = ip_cl_fail(err, code, c->call, c->name);
    }
    for (int k = 0; !st && k < c->n_uses; k++)
        ip_pending_add(&c->uses[k].memory->pending, *event, c->uses[k].writes);
    pthread_mutex_unlock(&device->order);
    if (!st) clFlush(queue); /* a failure shows where it is waited for */
    return st;
}

imgpar_status ip_cl_submit(const ip_cl_command *c, ip_error *err)
{
    ip_waits waits = { NULL, 0, 0 };
    cl_event event = NULL;
    ip_cl_report *report = c->takes_report;
    imgpar_cl_order order;
    imgpar_status st = ip_cl_order_read(c->queue, c->name, c->order, &order, &waits, err);
    if (!st) st = ip_cl_enqueue(c->queue->device, c->queue->queue, c, &waits, &event, err);
    imgpar_cl_event *e = st ? NULL : ip_cl_event_new(c->queue->ctx, event, c->name, c->bytes);
    if (!st && !e) {
        st = ip_fail_memory(err, "keeping a command");
        IP_CL(clWaitForEvents(1, &event)); /* what it uses must stay until it is over */
    }
    if (e) {
        e->report = report;
        report = NULL;
        st = ip_cl_record(c->queue, e, order.event, err);
    }
    ip_cl_report_free(report);
    if (event) clReleaseEvent(event);
    ip_waits_clear(&waits);
    return st;
}

/* ---- in an evaluation ---------------------------------------------------------------------------- */

/* Waits for the launch, reads its clock. */
static imgpar_status time_of(cl_event event, const char *name, double *busy_ms, ip_error *err)
{
    cl_ulong start = 0, end = 0;
    cl_int code = IP_CL(clWaitForEvents(1, &event));
    if (code) return ip_cl_fail(err, code, "clWaitForEvents", name);
    if (!busy_ms) return IMGPAR_OK;
    code = IP_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    if (!code) code = IP_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    *busy_ms = (double)(end - start) / 1e6;
    return code ? ip_cl_fail(err, code, "clGetEventProfilingInfo", name) : IMGPAR_OK;
}

imgpar_status ip_cl_run_alone(ip_device *device, const ip_cl_command *c, double *busy_ms, ip_error *err)
{
    ip_waits waits = { NULL, 0, 0 };
    cl_event event = NULL;
    imgpar_status st = ip_cl_enqueue(device, device->queue, c, &waits, &event, err);
    if (!st && (c->takes_report || busy_ms)) st = time_of(event, c->name, busy_ms, err);
    if (!st && c->takes_report)
        st = ip_cl_report_deliver(c->takes_report, NULL, NULL, err);
    else
        ip_cl_report_free(c->takes_report);
    if (event) clReleaseEvent(event);
    ip_waits_clear(&waits);
    return st;
}
