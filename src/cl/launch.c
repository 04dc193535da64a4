/* SPDX-License-Identifier: MIT */
/* Launches: work divided into groups, checked, enqueued. */
#include "cl/cl.h"

#include <string.h>

/* ---- groups -------------------------------------------------------------------------------------------- */

/* The largest groups of powers of two that divide global and hold at most `room` work-items, x first. The same for like
 * sizes, because PoCL compiles a kernel anew for every group size. */
static void choose_groups(size_t room, const imgpar_cl_kernel *k, imgpar_cl_work *w)
{
    for (int d = 0; d < 3; d++) {
        size_t n = 1;
        while (n * 2 <= room && n * 2 <= k->max_items[d] && w->global[d] % (n * 2) == 0)
            n *= 2;
        w->local[d] = n;
        room /= n;
    }
}

/* The work-items of a group where nobody says how many; args (NULL: not known) may take local memory. */
static size_t usual_group(const imgpar_cl_kernel *k, const imgpar_cl_arg *args)
{
    const ip_device_facts *facts = &k->module->program->device->facts;
    size_t usual = facts->local_size;
    if (k->max_group && usual > k->max_group) usual = k->max_group;
    if (!k->has_group) return usual;
    uint64_t taken = ip_cl_local_bytes(k, args), there = facts->info.local_bytes;
    uint64_t room = there > taken ? (there - taken) / IP_CL_GROUP_BYTES : 0;
    return room >= usual ? usual : room > 0 ? (size_t)room : 1;
}

static bool is_required(const imgpar_cl_kernel *k) { return k->required[0] > 0; }

static imgpar_status check_groups(const imgpar_cl_kernel *k, const imgpar_cl_work *w, ip_error *err)
{
    size_t group = 1;
    for (int d = 0; d < 3; d++) {
        if (w->local[d] == 0)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: work.local[%d] is 0 and others are not", k->name, d);
        if (w->global[d] % w->local[d] != 0)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: work.local[%d]=%zu does not divide work.global[%d]=%zu",
                           k->name, d, w->local[d], d, w->global[d]);
        if (is_required(k) && w->local[d] != k->required[d])
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: work.local[%d]=%zu; the kernel requires %zu", k->name, d,
                           w->local[d], k->required[d]);
        if (w->local[d] > k->max_items[d])
            return ip_fail(err, IMGPAR_E_LIMIT, "%s: work.local[%d]=%zu is over the device's %zu", k->name, d,
                           w->local[d], k->max_items[d]);
        if (!ip_mul_size(group, w->local[d], &group) || (k->max_group && group > k->max_group))
            return ip_fail(err, IMGPAR_E_LIMIT,
                           "%s: work.local=%zu x %zu x %zu is over the %zu work-items of a group here", k->name,
                           w->local[0], w->local[1], w->local[2], k->max_group);
    }
    return IMGPAR_OK;
}

imgpar_status ip_cl_check_work(const imgpar_cl_kernel *k, const imgpar_cl_work *given, const imgpar_cl_arg *args,
                               imgpar_cl_work *out, ip_error *err)
{
    if (!given) return ip_cl_null(err, k->name, "work");
    *out = (imgpar_cl_work){ .struct_size = sizeof *out };
    if (ip_struct_in(out, given, k->name, "work", err)) return err->status;
    if (out->global[0] == 0) return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: work.global[0] is 0", k->name);
    bool chooses = !out->local[0] && !out->local[1] && !out->local[2];
    for (int d = 1; d < 3; d++) {
        bool is_used = out->global[d] > 0;
        if (!is_used) out->global[d] = 1;
        if (!is_used && !chooses && out->local[d] == 0) out->local[d] = 1;
    }
    for (int d = 0; d < 3; d++)
        if (out->offset[d] > SIZE_MAX - out->global[d])
            return ip_fail(err, IMGPAR_E_LIMIT, "%s: work.offset[%d]=%zu + global[%d]=%zu is more than can be counted",
                           k->name, d, out->offset[d], d, out->global[d]);
    if (chooses && is_required(k))
        memcpy(out->local, k->required, sizeof out->local);
    else if (chooses)
        choose_groups(usual_group(k, args), k, out);
    return check_groups(k, out, err);
}

/* ---- dividing ------------------------------------------------------------------------------------------- */

static size_t ceil_div(size_t a, size_t b) { return a / b + (a % b != 0); }

/* Rows, or parts of rows where there are few, for items that walk alone; one element each where they run in step. */
static void choose_per_item(const ip_device_facts *facts, const size_t e[3], size_t per_item[3])
{
    per_item[0] = per_item[1] = per_item[2] = 1;
    if (facts->kind != IP_DEVICE_CPU) return;
    size_t wanted = facts->work_items_per_launch, rows = e[1] * e[2];
    if (rows >= wanted) {
        per_item[0] = e[0];
        per_item[1] = ceil_div(rows, wanted) < e[1] ? ceil_div(rows, wanted) : e[1];
    } else {
        per_item[0] = ceil_div(e[0], ceil_div(wanted, rows));
    }
}

static void divide(const imgpar_cl_kernel *k, const size_t e[3], const size_t per_item[3], imgpar_cl_work *w)
{
    bool is_cpu = k->module->program->device->facts.kind == IP_DEVICE_CPU;
    bool are_long = per_item[0] * per_item[1] * per_item[2] > 1;
    for (int d = 0; d < 3; d++)
        w->global[d] = ceil_div(e[d], per_item[d]);
    if (is_required(k)) {
        memcpy(w->local, k->required, sizeof w->local);
    } else {
        w->local[0] = is_cpu && are_long ? 1 : usual_group(k, NULL);
        w->local[1] = w->local[2] = 1;
    }
    for (int d = 0; d < 3; d++)
        w->global[d] = ceil_div(w->global[d], w->local[d]) * w->local[d];
}

imgpar_status imgpar_cl_divide(const imgpar_cl_kernel *k, const size_t elements[3], size_t per_item[3],
                               imgpar_cl_work *work)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!k || !elements || !per_item || !work) {
        ip_cl_null(&err, "divide", !k ? "the kernel" : !elements ? "elements" : !per_item ? "per_item" : "work");
        return ip_cl_say(&err);
    }
    const size_t e[3] = { elements[0], elements[1] ? elements[1] : 1, elements[2] ? elements[2] : 1 };
    size_t total;
    if (e[0] == 0)
        ip_fail(&err, IMGPAR_E_ARGUMENT, "divide: elements[0] is 0");
    else if (!ip_mul_size(e[0], e[1], &total) || !ip_mul_size(total, e[2], &total))
        ip_fail(&err, IMGPAR_E_LIMIT, "divide: more elements than can be counted");
    if (err.status) return ip_cl_say(&err);
    if (per_item[0] == 0) choose_per_item(&k->module->program->device->facts, e, per_item);
    for (int d = 1; d < 3; d++)
        if (per_item[d] == 0) per_item[d] = 1;
    imgpar_cl_work w = { .struct_size = sizeof w };
    divide(k, e, per_item, &w);
    ip_struct_out(work, &w, "divide", "work", &err);
    return ip_cl_say(&err);
}

/* ---- launching -------------------------------------------------------------------------------------------- */

typedef struct enqueuing {
    cl_kernel kernel;
    const imgpar_cl_work *work;
} enqueuing;

static cl_int enqueue(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    const enqueuing *e = argument;
    return clEnqueueNDRangeKernel(queue, e->kernel, 3, e->work->offset, e->work->global, e->work->local, w->n,
                                  w->events, event);
}

imgpar_status ip_cl_launch_run(const ip_cl_launch *launch, const ip_cl_target *target, ip_error *err)
{
    const imgpar_cl_kernel *k = launch->kernel;
    ip_device *device = k->module->program->device;
    enqueuing e = { .work = &launch->work };
    ip_cl_report *report = NULL;
    int n_uses = 0;
    ip_cl_use *uses = ip_alloc_array(k->n_params + k->n_filled + 1u, sizeof *uses);
    imgpar_status st = uses ? IMGPAR_OK : ip_fail_memory(err, "launching a kernel");
    if (!st && k->reports)
        st = ip_cl_report_new(device, k, target->queue ? target->queue->print_buffer_bytes : 0, &report, err);
    if (!st) st = ip_cl_bind(launch, report, &e.kernel, uses, &n_uses, err);
    ip_cl_command c = { .queue = target->queue,
                        .name = k->name,
                        .call = "clEnqueueNDRangeKernel",
                        .order = target->order,
                        .uses = uses,
                        .n_uses = n_uses,
                        .takes_report = report,
                        .enqueue = enqueue,
                        .argument = &e };
    if (!st) {
        st = target->queue ? ip_cl_submit(&c, err) : ip_cl_run_alone(device, &c, target->busy_ms, err);
        report = NULL;
        if (!st) atomic_fetch_add_explicit(&device->launches, 1, memory_order_relaxed);
    }
    ip_cl_report_free(report);
    if (e.kernel) clReleaseKernel(e.kernel);
    ip_free(uses);
    return st;
}

imgpar_status imgpar_cl_launch(imgpar_cl_queue *q, const imgpar_cl_kernel *k, const imgpar_cl_work *work,
                               const imgpar_cl_arg *args, size_t n_args, const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    ip_cl_launch launch = { .kernel = k, .args = args };
    const ip_cl_target target = { .queue = q, .order = order };
    ip_cl_order_begin(order);
    if (!q || !k)
        ip_cl_null(&err, "launch", q ? "the kernel" : "the queue");
    else if (q->ctx != k->module->ctx)
        ip_fail(&err, IMGPAR_E_ARGUMENT, "%s: the kernel is of another context than the queue", k->name);
    else if (!ip_context_check(q->ctx, &err) && !ip_cl_check_args(k, args, n_args, -1, &err) &&
             !ip_cl_check_work(k, work, args, &launch.work, &err) && !ip_cl_check_local(k, args, &launch.work, &err))
        ip_cl_launch_run(&launch, &target, &err);
    return ip_cl_say(&err);
}

imgpar_status imgpar_cl_module_launch(imgpar_cl_queue *q, imgpar_cl_module *m, const char *name,
                                      const imgpar_cl_work *work, const imgpar_cl_arg *args, size_t n_args,
                                      const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    imgpar_cl_kernel *k = NULL;
    ip_cl_order_begin(order);
    if (!q || !m || !name)
        ip_cl_null(&err, "module_launch", !q ? "the queue" : m ? "the name" : "the module");
    else
        ip_cl_entry(m, name, &k, &err);
    return k ? imgpar_cl_launch(q, k, work, args, n_args, order) : ip_cl_say(&err);
}
