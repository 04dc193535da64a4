/* SPDX-License-Identifier: MIT */
/*
 * The order of commands. A queue may run them in any order (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, where the device
 * offers it), so each names the events it has to wait for. Those follow from the buffers it uses: who reads a buffer
 * waits for the last command that writes it; who writes it waits for all that read it since, or for that where nobody
 * did. So the kernels of a plan form a graph of events by the values they exchange, kernels of different evaluations
 * too, and a buffer may go back to the pool while commands that use it are waiting.
 */
#include "base/alloc.h"
#include "run/device_impl.h"

static bool is_over(cl_event event)
{
    cl_int state;
    return !IP_CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL)) &&
           state <= CL_COMPLETE;
}

static void forget_reads(ip_pending *p, bool only_what_is_over)
{
    int kept = 0;
    for (int k = 0; k < p->n_reads; k++) {
        if (only_what_is_over && !is_over(p->reads[k]))
            p->reads[kept++] = p->reads[k];
        else
            clReleaseEvent(p->reads[k]);
    }
    p->n_reads = kept;
}

void ip_pending_forget(ip_pending *p)
{
    forget_reads(p, false);
    if (p->written) clReleaseEvent(p->written);
    p->written = NULL;
}

void ip_pending_tidy(ip_pending *p)
{
    forget_reads(p, true);
    if (p->written && is_over(p->written)) {
        clReleaseEvent(p->written);
        p->written = NULL;
    }
}

void ip_pending_add(ip_pending *p, cl_event event, bool writes)
{
    if (writes) {
        ip_pending_forget(p);
        clRetainEvent(event);
        p->written = event;
        return;
    }
    if (p->n_reads == IP_PENDING_READS) forget_reads(p, true);
    if (p->n_reads == IP_PENDING_READS) { /* rare: so many readers at once; the queue runs them anyway */
        IP_CL(clWaitForEvents((cl_uint)p->n_reads, p->reads));
        forget_reads(p, false);
    }
    clRetainEvent(event);
    p->reads[p->n_reads++] = event;
}

static bool add(ip_waits *w, cl_event event)
{
    for (cl_uint k = 0; k < w->n; k++)
        if (w->events[k] == event) return true;
    if (w->n == w->capacity) {
        cl_uint capacity = w->capacity ? w->capacity * 2 : 16;
        cl_event *events = ip_realloc_array(w->events, capacity, sizeof *events);
        if (!events) return false;
        w->events = events;
        w->capacity = capacity;
    }
    clRetainEvent(event);
    w->events[w->n++] = event;
    return true;
}

/* Those that read have waited for the one that wrote before them. */
bool ip_waits_add(ip_waits *w, const ip_pending *p, bool writes)
{
    bool ok = true;
    if (p->written && !(writes && p->n_reads > 0)) ok = add(w, p->written);
    for (int k = 0; ok && writes && k < p->n_reads; k++)
        ok = add(w, p->reads[k]);
    return ok;
}

void ip_waits_clear(ip_waits *w)
{
    for (cl_uint k = 0; k < w->n; k++)
        clReleaseEvent(w->events[k]);
    ip_free(w->events);
    *w = (ip_waits){ NULL, 0, 0 };
}
