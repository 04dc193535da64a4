/* SPDX-License-Identifier: MIT */
/*
 * ip_kernel_run(): the kernel's program is found or built, images, scratch memory and parameters are made, then it is
 * launched as its schedule wants, in batches where somebody polls (Note [Batches]), and a fold's partial results are
 * folded by a last launch. Also what events tell of that.
 */
#include "run/launching.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "run/check.h"
#include "run/opaque.h"
#include "run/shaders.h"
#include "run/texture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

double ip_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The selector of the device at work; "": the host is. */
static const char *device_name(const ip_runner *r)
{
    return r->device ? ip_device_facts_of(r->device)->info.selector : "";
}

void ip_runner_event(const ip_runner *r, const char *kind, const char *name, double start_ms, uint64_t bytes_read,
                     uint64_t bytes_written)
{
    if (!r->options || !r->options->on_event) return;
    imgpar_event e = { .kind = kind,
                       .name = name,
                       .ops = "",
                       .schedule = "",
                       .device = device_name(r),
                       .start_ms = start_ms - r->started_ms,
                       .end_ms = ip_now_ms() - r->started_ms,
                       .bytes_read = bytes_read,
                       .bytes_written = bytes_written,
                       .evaluation_ms = r->started_ms };
    r->options->on_event(r->options->user, &e);
}

void ip_runner_late_compile(const ip_runner *r, const char *name, double began_ms, double busy_ms)
{
    enum { LEAST_MS = 1 };
    if (ip_now_ms() - began_ms - busy_ms >= LEAST_MS) ip_runner_event(r, "compile", name, began_ms + busy_ms, 0, 0);
}

/* ---- launching ------------------------------------------------------------------------- */

/* What a kernel's program is built from. */
typedef struct program_text {
    ip_str source; /* failed: without memory */
    char options[96];
} program_text;

static program_text text_of(const ip_device *device, const ip_kernel *k)
{
    static const char *const shaders[IP_N_HELPERS] = {
        [IP_HELPERS_FUNCTIONS] = "functions", [IP_HELPERS_DOT] = "dot",       [IP_HELPERS_UPSAMPLE] = "upsample",
        [IP_HELPERS_LOOKUP] = "lookup",       [IP_HELPERS_PLACES] = "places", [IP_HELPERS_RANDOM] = "random",
    };
    program_text t = { .source = IP_STR_INIT };
    ip_str_append(&t.source, ip_shader_text("helpers"));
    ip_str_append(&t.source, "\n");
    for (int i = IP_HELPERS_COMMON + 1; i < IP_N_HELPERS; i++)
        ip_str_append(&t.source, k->helpers >> i & 1 ? ip_shader_text(shaders[i]) : "");
    ip_str_append(&t.source, k->source);
    bool in_groups = k->schedule == IP_SCHEDULE_TILES && k->n_folds > 0;
    const ip_device_facts *facts = ip_device_facts_of(device);
    unsigned permuting = 1u << IP_HELPERS_LOOKUP | 1u << IP_HELPERS_UPSAMPLE;
    bool permutes = k->helpers & permuting && facts->permutes_bytes;
    bool adds = k->helpers >> IP_HELPERS_DOT & 1 && facts->adds_products;
    snprintf(t.options, sizeof t.options, "%s%s%s%s%s%s", k->uses_f64 ? "-DIP_F64" : "",
             k->args.n_checks > 0 ? " -DIP_CHECK" : "", in_groups ? " -DIP_GROUPS" : "",
             in_groups && facts->has_sub_groups ? " -DIP_SUB_GROUPS" : "", permutes ? " -DIP_PERMUTES_BYTES" : "",
             adds ? " -DIP_ADDS_PRODUCTS" : "");
    return t;
}

static imgpar_status find_program(ip_launching *l, ip_error *err)
{
    program_text t = text_of(l->runner->device, l->kernel);
    bool built = false;
    double start = ip_now_ms();
    imgpar_status st = t.source.failed
                           ? ip_fail_memory(err, "compiling a kernel")
                           : ip_program_get(l->runner->device, t.source.text, t.options, &l->program, &built, err);
    if (built) ip_runner_event(l->runner, "compile", l->kernel->name, start, 0, 0);
    l->is_fresh = built;
    ip_str_free(&t.source);
    return st;
}

ip_absence ip_kernel_absence(ip_device *device, const ip_kernel *k, double *spent)
{
    program_text t = text_of(device, k);
    ip_absence a = t.source.failed ? IP_PROGRAM_UNKNOWN : ip_program_absence(device, t.source.text, t.options, spent);
    ip_str_free(&t.source);
    return a;
}

bool ip_kernel_charge(ip_device *device, const ip_kernel *k, double work)
{
    program_text t = text_of(device, k);
    bool charged = !t.source.failed && ip_program_charge(device, t.source.text, t.options, work);
    ip_str_free(&t.source);
    return charged;
}

bool ip_kernel_leave_pending(ip_device *device, const ip_kernel *k)
{
    program_text t = text_of(device, k);
    bool left = !t.source.failed && ip_program_leave_pending(device, t.source.text, t.options);
    ip_str_free(&t.source);
    return left;
}

ip_program **ip_kernel_kept_program(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel)
{
    return runner->programs ? &runner->programs[kernel - plan->kernels] : NULL;
}

static ip_program **kept_program(const ip_launching *l)
{
    return ip_kernel_kept_program(l->runner, l->plan, l->kernel);
}

static imgpar_status get_program(ip_launching *l, ip_error *err)
{
    ip_program **kept = kept_program(l);
    if (kept && *kept) {
        l->program = *kept;
        return IMGPAR_OK;
    }
    imgpar_status st = find_program(l, err);
    if (!st && kept) *kept = l->program;
    return st;
}

void ip_kernel_report(const ip_runner *runner, const ip_plan *plan, const ip_kernel *k, const ip_region *region,
                      const ip_took *took)
{
    const imgpar_options *o = runner->options;
    const ip_traffic traffic = ip_kernel_traffic(plan, k, region);
    ip_device_count_traffic(runner->device, traffic.read, traffic.written);
    if (!o || !o->on_event) return;
    imgpar_event e = { .kind = "kernel",
                       .name = k->name,
                       .ops = k->ops,
                       .schedule = ip_schedule_name(k->schedule),
                       .device = device_name(runner),
                       .start_ms = took->start_ms - runner->started_ms,
                       .evaluation_ms = runner->started_ms,
                       .bytes_read = traffic.read,
                       .bytes_written = traffic.written };
    e.end_ms = e.start_ms + took->busy_ms;
    o->on_event(o->user, &e);
}

static imgpar_status launch_once(ip_launching *l, const char *name, const size_t global[3], const size_t local[3],
                                 ip_error *err)
{
    const ip_kernel *k = l->kernel;
    size_t n = l->n_params * sizeof(int);
    ip_buffer *params = NULL;
    imgpar_status st = ip_buffer_new_with(l->runner->device, l->params, n, &params, err);
    size_t most = (size_t)(k->n_outputs + k->n_inputs + 3);
    ip_buffer **buffers = ip_alloc_array(most, sizeof *buffers);
    bool *writes = ip_zalloc(most * sizeof *writes);
    if (!buffers || !writes) st = st ? st : ip_fail_memory(err, "launching a kernel");
    if (st) {
        ip_buffer_release(params);
        ip_free(buffers);
        ip_free(writes);
        return st;
    }
    int at = 0;
    for (int i = 0; i < k->n_outputs; i++) {
        writes[at] = true;
        buffers[at++] = l->bindings[k->outputs[i]->id].buffer;
    }
    for (int i = 0; i < k->n_inputs; i++) {
        const ip_texture *texture = ip_kernel_texture(k, k->inputs[i]);
        buffers[at++] = texture ? l->images[texture - k->textures] : l->bindings[k->inputs[i]->id].buffer;
    }
    if (k->args.has_scratch) {
        writes[at] = true;
        buffers[at++] = l->scratch;
    }
    buffers[at++] = params;
    if (l->checks) {
        writes[at] = true;
        buffers[at++] = l->checks;
    }
    ip_launch launch = {
        .program = l->program, .kernel = name, .buffers = buffers, .n_buffers = at, .writes = writes, .dims = 3
    };
    memcpy(launch.global, global, sizeof launch.global);
    memcpy(launch.local, local, sizeof launch.local);
    uint64_t start_ns = 0, end_ns = 0;
    double began = ip_now_ms(), took_ms;
    st =
        ip_device_launch(l->runner->device, &launch, l->is_timed ? &start_ns : NULL, l->is_timed ? &end_ns : NULL, err);
    took_ms = (double)(end_ns - start_ns) / 1e6;
    if (!st) l->busy_ms += took_ms;
    if (!st && l->is_timed && l->is_fresh) ip_runner_late_compile(l->runner, name, began, took_ms);
    ip_buffer_release(params);
    ip_free(buffers);
    ip_free(writes);
    return st;
}

/*
 * Note [Batches]
 * With a poll callback the strips of a launch go out in batches: the first holds what each compute unit can take of
 * IP_STRIP_WORK operations, a strip at least, and each next one grows or shrinks so as to take about BATCH_MS. A batch
 * is a part of one plane, or of whole planes. It moves the region's first plane and row (or, where there is one row of
 * strips, column) and the first item's number.
 */
enum { BATCH_MS = 40, BATCH_GROWTH = 4 };

static int64_t next_batch(int64_t batch, double took_ms)
{
    double wanted = (double)batch * BATCH_MS / (took_ms > 0.1 ? took_ms : 0.1);
    int64_t most = batch < INT32_MAX / BATCH_GROWTH ? batch * BATCH_GROWTH : INT32_MAX;
    return (int64_t)fmin(fmax(wanted, 1), (double)most);
}

/* Waits for the last batch and asks whether to go on; done is the launch's share that is over. */
static imgpar_status poll_batch(const ip_launching *l, double done, ip_error *err)
{
    const ip_poll *poll = &l->runner->poll;
    imgpar_status st = ip_buffer_wait(l->bindings[l->kernel->outputs[0]->id].buffer, err);
    if (!st && poll->stop(poll->user, 0.1 + 0.8 * done)) st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    return st;
}

/* Rows of strips, or single ones. */
static int64_t first_batch(const ip_launching *l, int beside)
{
    const ip_division *d = &l->div;
    int64_t units = (int64_t)ip_device_facts_of(l->runner->device)->info.compute_units;
    int64_t each = ip_operations_per_row(l, (int64_t)d->strip_columns * beside) * d->strip_rows;
    return ip_clamp(units * IP_STRIP_WORK / (each > 0 ? each : 1), units > 0 ? units : 1, INT32_MAX);
}

static imgpar_status launch_strips(ip_launching *l, ip_error *err)
{
    const ip_division *d = &l->div;
    const ip_tiling *t = &l->kernel->tiling;
    bool in_groups = l->kernel->schedule == IP_SCHEDULE_TILES;
    const size_t local[3] = { in_groups ? (size_t)t->group_width : 1, in_groups ? (size_t)t->group_height : 1, 1 };
    bool along_y = d->items_y > 1 || d->items_x <= 1;
    int total = along_y ? d->items_y : d->items_x;
    bool batched = l->runner->poll.stop != NULL;
    int64_t batch = batched ? first_batch(l, along_y ? d->items_x : 1) : (int64_t)total * d->items_z;
    int64_t start = along_y ? l->region->y0 : l->region->x0, step = along_y ? d->strip_rows : d->strip_columns;
    int per_strip = along_y ? d->items_x : 1,
        planes_each = l->kernel->planes_at_once > 0 ? l->kernel->planes_at_once : 1;
    for (int z = 0, done = 0; z < d->items_z;) {
        int n = total - done < batch ? total - done : (int)batch;
        int planes = n < total ? 1 : (int)ip_clamp(batch / total, 1, d->items_z - z);
        ip_params_set_region(l, IP_Z0, l->region->z0 + (int64_t)z * planes_each);
        ip_params_set_region(l, along_y ? IP_Y0 : IP_X0, start + done * step);
        ip_params_set_first_item(l, z * d->items_x * d->items_y + done * per_strip);
        size_t global[3] = { (size_t)(along_y ? d->items_x : n) * local[0],
                             (size_t)(along_y ? n : d->items_y) * local[1], (size_t)planes };
        double began = ip_now_ms();
        imgpar_status st = launch_once(l, l->kernel->name, global, local, err);
        done = (done + n) % total;
        z += done == 0 ? planes : 0;
        if (!st && batched) st = poll_batch(l, (z + (double)done / total) / d->items_z, err);
        if (st) return st;
        batch = batched ? next_batch(batch, ip_now_ms() - began) : batch;
    }
    return IMGPAR_OK;
}

static imgpar_status launch_pixels(ip_launching *l, ip_error *err)
{
    const ip_region *r = l->region;
    size_t side = ip_device_facts_of(l->runner->device)->local_size;
    int64_t columns = r->x1 - r->x0, rows = r->y1 - r->y0;
    const size_t local[3] = { side, 1, 1 };
    int64_t work = columns * (1 + ip_x_cost(l->plan->ir, l->kernel->outputs[0]->body)) * l->kernel->domain[3];
    bool batched = l->runner->poll.stop != NULL;
    int64_t planes = batched ? r->z1 - r->z0 : 1;
    int64_t batch = batched && work > 0 ? ip_clamp(IP_STRIP_WORK / work, 1, rows) : rows;
    for (int64_t z = 0; z < planes; z++) {
        ip_params_set_region(l, IP_Z0, r->z0 + z);
        for (int64_t done = 0; done < rows;) {
            int64_t n = rows - done < batch ? rows - done : batch;
            const size_t global[3] = { ((size_t)columns + side - 1) / side * side, (size_t)n,
                                       (size_t)(batched ? 1 : r->z1 - r->z0) };
            ip_params_set_region(l, IP_Y0, r->y0 + done);
            double began = ip_now_ms();
            imgpar_status st = launch_once(l, l->kernel->name, global, local, err);
            done += n;
            if (!st && batched) st = poll_batch(l, ((double)z + (double)done / (double)rows) / (double)planes, err);
            if (st) return st;
            batch = batched ? next_batch(batch, ip_now_ms() - began) : batch;
        }
    }
    return IMGPAR_OK;
}

static imgpar_status launch_finish(ip_launching *l, ip_error *err)
{
    char name[96];
    size_t n = strlen(l->kernel->name);
    memcpy(name, l->kernel->name, n);
    memcpy(name + n, "_finish", 8);
    size_t elements = 1;
    for (int i = 0; i < l->kernel->n_outputs; i++) {
        const ip_stage *s = l->kernel->outputs[i];
        if (s->kind != IP_STAGE_MAP && (size_t)ip_dims_count(s->dims) > elements)
            elements = (size_t)ip_dims_count(s->dims);
    }
    const ip_tiling *t = &l->kernel->tiling;
    size_t group = l->kernel->schedule == IP_SCHEDULE_TILES ? (size_t)(t->group_width * t->group_height) : 1;
    const size_t global[3] = { (elements + group - 1) / group * group, (size_t)l->kernel->n_folds, 1 },
                 local[3] = { group, 1, 1 };
    return launch_once(l, name, global, local, err);
}

static imgpar_status launch_phase(void *user, const char *suffix, const size_t global[3], const size_t local[3],
                                  double done, ip_error *err)
{
    ip_launching *l = user;
    char name[96];
    snprintf(name, sizeof name, "%s%s", l->kernel->name, suffix);
    ip_params_set_scan(l);
    imgpar_status st = launch_once(l, name, global, local, err);
    if (st || !l->runner->poll.stop) return st;
    /* all phases write it */
    st = ip_buffer_wait(l->scratch ? l->scratch : l->bindings[l->kernel->outputs[0]->id].buffer, err);
    if (!st && l->runner->poll.stop(l->runner->poll.user, 0.1 + 0.8 * done))
        st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    return st;
}

static imgpar_status check_row(const ip_kernel *k, const int64_t dims[4], ip_error *err)
{
    int64_t n = dims[2] * dims[3];
    if (n <= IP_LONGEST_ROW) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_LIMIT, "%s: a row of %lld elements is too long for this device", k->ops, (long long)n);
}

static imgpar_status check_rows(const ip_kernel *k, ip_error *err)
{
    imgpar_status st = check_row(k, k->domain, err);
    for (int i = 0; !st && i < k->n_inputs; i++)
        st = check_row(k, k->inputs[i]->dims, err);
    for (int i = 0; !st && i < k->n_placed; i++)
        st = check_row(k, k->placed[i].stage->dims, err);
    for (int i = 0; !st && i < k->n_outputs; i++)
        st = check_row(k, k->outputs[i]->dims, err);
    return st;
}

imgpar_status ip_kernel_run(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel,
                            const ip_binding *bindings, const ip_region *region, ip_error *err)
{
    ip_launching l = { .runner = runner,
                       .plan = plan,
                       .kernel = kernel,
                       .bindings = bindings,
                       .region = region,
                       .is_timed = runner->options && runner->options->on_event };
    bool in_strips = ip_kernel_walks_rows(kernel) || kernel->schedule == IP_SCHEDULE_TILES;
    if ((ip_region_is_empty(region) || kernel->domain[3] == 0) && kernel->n_folds == 0) return IMGPAR_OK;
    imgpar_status st = check_rows(kernel, err);
    if (st) return st;
    if (kernel->schedule == IP_SCHEDULE_OPAQUE) return ip_opaque_run(runner, plan, kernel, bindings, region, err);
    if (kernel->is_scan || in_strips) st = ip_divide(&l, err);
    if (!st) st = ip_params_make(&l, err);
    if (!st) st = get_program(&l, err);
    if (!st && kernel->args.has_scratch) st = ip_buffer_new(runner->device, l.div.scratch_bytes, &l.scratch, err);
    if (!st && kernel->args.n_checks > 0) st = ip_check_begin(runner->device, &l.checks, err);
    double start_ms = ip_now_ms();
    for (int i = 0; !st && i < kernel->n_textures; i++)
        st = ip_texture_make(runner, &kernel->textures[i], &bindings[kernel->textures[i].stage->id], &l.images[i],
                             l.is_timed ? &l.busy_ms : NULL, err);
    if (!st && kernel->is_scan)
        st = ip_scan_launch(&l.div.scan, ip_device_facts_of(runner->device), runner->poll.stop != NULL, launch_phase,
                            &l, err);
    else if (!st && !ip_region_is_empty(region))
        st = in_strips ? launch_strips(&l, err) : launch_pixels(&l, err);
    if (!st && kernel->n_folds > 0) st = launch_finish(&l, err);
    if (!st && l.checks) st = ip_check_end(l.checks, kernel, err);
    if (!st) ip_kernel_report(runner, plan, kernel, region, &(ip_took){ start_ms, l.busy_ms });
    /* Whoever gets this memory next waits for the kernel (order.c). */
    for (int i = 0; i < kernel->n_textures; i++)
        ip_buffer_release(l.images[i]);
    ip_buffer_release(l.scratch);
    ip_buffer_release(l.checks);
    if (!kept_program(&l)) ip_program_release(l.program);
    ip_free(l.params);
    return st;
}
