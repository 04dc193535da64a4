/* SPDX-License-Identifier: MIT */
#include "run/opaque.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "base/str.h"
#include "run/blas.h"
#include "run/shaders.h"

#include <limits.h>
#include <string.h>

typedef struct running {
    const ip_runner *runner;
    const ip_plan *plan;
    const ip_kernel *kernel;
    const ip_binding *bindings;
    ip_opaque_call call;
    ip_program *program;
    ip_buffer *scratch[IP_OPAQUE_SCRATCH];
    bool is_fresh;    /* the program was built for this */
    bool has_scratch; /* all it needs */
    bool is_measured; /* no polls, no times of its own */
    double busy_ms;
} running;

static ip_opaque_device facts_of(const ip_device *device, const ip_kernel *kernel)
{
    const ip_device_facts *f = ip_device_facts_of(device);
    const bool loops_long = f->most_iterations == 0; /* a CPU's work-items may be few */
    return (ip_opaque_device){ .is_cpu = !kernel->in_groups && loops_long,
                               .compute_units = (int)f->info.compute_units,
                               .vector_bytes = (int)f->vector_bytes,
                               .most_items = (int)ip_min((int64_t)f->info.max_work_group, INT_MAX),
                               .local_bytes = f->info.local_bytes };
}

/* The computation of a region where the buffers of its inputs hold what it reads. */
static ip_opaque_call call_of(const ip_opaque *o, const ip_opaque_device *device, const ip_region *region)
{
    ip_opaque_call call = { .opaque = o, .device = *device, .result = *region };
    for (int k = 0; k < o->n_inputs; k++)
        o->kind->reads(o, k, region, &call.in[k]);
    return call;
}

/* Whether a BLAS library may have part in it: *out tells in what. */
static bool gemm_of(const ip_opaque_call *call, ip_blas_mode mode, ip_device *device, ip_gemm *out)
{
    *out = (ip_gemm){ .m = 0 };
    return call->opaque->kind->gemm && call->opaque->kind->gemm(call, out) && ip_blas_may(mode, device, out);
}

uint64_t ip_opaque_scratch_bytes(const ip_runner *runner, const ip_kernel *kernel, const ip_region *region)
{
    const ip_opaque *o = ip_kernel_opaque(kernel);
    uint64_t bytes[IP_OPAQUE_SCRATCH] = { 0 }, total = 0;
    ip_gemm gemm;
    if (!o) return 0;
    const ip_opaque_device facts = facts_of(runner->device, kernel);
    const ip_opaque_call call = call_of(o, &facts, region);
    if (o->kind->scratch) o->kind->scratch(&call, bytes);
    for (int k = 0; k < IP_OPAQUE_SCRATCH; k++)
        total += bytes[k];
    if (gemm_of(&call, runner->blas, runner->device, &gemm)) total += ip_blas_scratch_bytes(runner->device, &gemm);
    return total;
}

void ip_opaque_explain(ip_blas_mode mode, ip_device *device, ip_kernel *kernel)
{
    const ip_opaque *o = ip_kernel_opaque(kernel);
    ip_gemm gemm;
    if (!o || !device) return;
    const ip_opaque_device facts = facts_of(device, kernel);
    const ip_region whole = ip_stage_region(kernel->outputs[0]);
    const ip_opaque_call call = call_of(o, &facts, &whole);
    if (gemm_of(&call, mode, device, &gemm))
        ip_blas_explain(mode, device, &gemm, kernel->library, sizeof kernel->library);
}

/* ---- what the launches need -------------------------------------------------------------- */

static int params_of(const ip_opaque_kind *kind)
{
    int n = 1;
    for (const char *c = kind->params; c && *c; c++)
        n += *c == ' ';
    return n;
}

/* Names of what P holds, and constants. */
static void define_names(const ip_opaque_kind *kind, ip_str *source)
{
    const char *name = kind->params;
    for (int k = 1; name && *name; k++, name = strchr(name, ' ') + 1)
        ip_str_printf(source, "#define P_%.*s P[%d]\n", (int)strcspn(name, " "), name, k);
    if (kind->has_list) ip_str_printf(source, "#define P_LIST (P + %d)\n", params_of(kind));
    for (const ip_opaque_constant *c = kind->constants; c && c->name; c++)
        ip_str_printf(source, "#define %s %d\n", c->name, c->value);
}

static imgpar_status find_program(running *r, ip_error *err)
{
    const ip_opaque *o = r->call.opaque;
    ip_str source = IP_STR_INIT;
    bool built = false;
    double start = ip_now_ms();
    ip_str_append(&source, ip_shader_text("helpers"));
    ip_str_printf(&source, "\n#define IP_CPU %d\n#define IP_VECTOR_BYTES %d\n", r->call.device.is_cpu,
                  r->call.device.vector_bytes);
    define_names(o->kind, &source);
    ip_str_append(&source, o->defines);
    if (o->kind->specialise) o->kind->specialise(&r->call, &source);
    if (o->kind->before) ip_str_append(&source, ip_shader_text(o->kind->before));
    ip_str_append(&source, ip_shader_text(o->kind->shader));
    char *text = ip_str_take(&source);
    if (!text) return ip_fail_memory(err, "compiling a kernel");
    imgpar_status st = ip_program_get(r->runner->device, text, o->uses_f64 ? "-DIP_F64" : "", &r->program, &built, err);
    if (built) ip_runner_event(r->runner, "compile", r->kernel->name, start, 0, 0);
    r->is_fresh = built;
    ip_free(text);
    return st;
}

/* What is specialised may be another program for another region. */
static ip_program **kept_program(const running *r)
{
    return r->call.opaque->kind->specialise ? NULL : ip_kernel_kept_program(r->runner, r->plan, r->kernel);
}

static imgpar_status get_program(running *r, ip_error *err)
{
    ip_program **kept = kept_program(r);
    if (kept && *kept) {
        r->program = *kept;
        return IMGPAR_OK;
    }
    imgpar_status st = find_program(r, err);
    if (!st && kept) *kept = r->program;
    return st;
}

static imgpar_status get_scratch(running *r, ip_error *err)
{
    const ip_opaque *o = r->call.opaque;
    uint64_t bytes[IP_OPAQUE_SCRATCH] = { 0 };
    if (o->kind->scratch) o->kind->scratch(&r->call, bytes);
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; !st && k < IP_OPAQUE_SCRATCH; k++)
        if (bytes[k] && !r->scratch[k]) /* it may be there from a try that failed */
            st = ip_buffer_new(r->runner->device, (size_t)bytes[k], &r->scratch[k], err);
    r->has_scratch = !st;
    return st;
}

static ip_buffer *buffer_of(const running *r, int number)
{
    if (number == IP_BUFFER_RESULT) return r->bindings[r->kernel->outputs[0]->id].buffer;
    if (number >= IP_BUFFER_SCRATCH) return r->scratch[number - IP_BUFFER_SCRATCH];
    return r->bindings[r->call.opaque->inputs[number - IP_BUFFER_INPUT]->id].buffer;
}

/* Scratch may be. */
static bool is_written(int number) { return number == IP_BUFFER_RESULT || number >= IP_BUFFER_SCRATCH; }

static int written_by(const ip_opaque_launch *l)
{
    for (int k = 0; k < l->n_buffers; k++)
        if (is_written(l->buffers[k])) return l->buffers[k];
    return IP_BUFFER_RESULT;
}

static bool is_timed(const running *r) { return r->runner->options && r->runner->options->on_event; }

/* ---- launching ----------------------------------------------------------------------------- */

/* P: the launch's params, and the stage's list behind them. */
static imgpar_status params_buffer(const running *r, const ip_opaque_launch *l, ip_buffer **out, ip_error *err)
{
    const ip_opaque *o = r->call.opaque;
    const size_t n = (size_t)l->n_params, n_list = (size_t)o->n_list;
    if (n_list == 0) return ip_buffer_new_with(r->runner->device, l->params, n * sizeof(int), out, err);
    int *all = ip_alloc_array(n + n_list, sizeof *all);
    if (!all) return ip_fail_memory(err, "launching a kernel");
    memcpy(all, l->params, n * sizeof *all);
    memcpy(all + n, o->list, n_list * sizeof *all);
    imgpar_status st = ip_buffer_new_with(r->runner->device, all, (n + n_list) * sizeof *all, out, err);
    ip_free(all);
    return st;
}

static imgpar_status launch_once(running *r, ip_opaque_launch *l, ip_error *err)
{
    ip_buffer *buffers[IP_OPAQUE_BUFFERS + 1];
    bool writes[IP_OPAQUE_BUFFERS + 1] = { false };
    bool timed = is_timed(r) && !r->is_measured;
    uint64_t start_ns = 0, end_ns = 0;
    ip_buffer *params;
    imgpar_status st = params_buffer(r, l, &params, err);
    if (st) return st;
    for (int k = 0; k < l->n_buffers; k++) {
        buffers[k] = buffer_of(r, l->buffers[k]);
        writes[k] = is_written(l->buffers[k]);
    }
    buffers[l->n_buffers] = params;
    ip_launch launch = { .program = r->program,
                         .kernel = l->kernel,
                         .buffers = buffers,
                         .n_buffers = l->n_buffers + 1,
                         .writes = writes,
                         .dims = 3 };
    for (int d = 0; d < 3; d++) {
        launch.global[d] = l->global[d];
        launch.local[d] = l->local[d];
    }
    double began = ip_now_ms(), took_ms;
    st = ip_device_launch(r->runner->device, &launch, timed ? &start_ns : NULL, timed ? &end_ns : NULL, err);
    took_ms = (double)(end_ns - start_ns) / 1e6;
    if (!st && timed && r->is_fresh) ip_runner_late_compile(r->runner, r->kernel->name, began, took_ms);
    ip_buffer_release(params);
    r->busy_ms += took_ms;
    return st;
}

/* With a poll callback, in batches that take about BATCH_MS: Note [Batches] in launch.c. */
enum { BATCH_MS = 40 };

static imgpar_status launch_step(running *r, const ip_opaque_launch *step, ip_error *err)
{
    const ip_opaque_kind *kind = r->call.opaque->kind;
    if (step->n_params < params_of(kind)) /* more there may be, without names: of views */
        return ip_fail(err, IMGPAR_E_INTERNAL, "internal: %s has %d parameters, not %d", step->kernel, step->n_params,
                       params_of(kind));
    const ip_poll none = { NULL, NULL }, *poll = r->is_measured ? &none : &r->runner->poll;
    size_t total = step->global[2], batch = poll->stop ? 1 : total;
    for (size_t done = 0; done < total;) {
        ip_opaque_launch l = *step;
        l.global[2] = total - done < batch ? total - done : batch;
        l.params[0] = (int)done;
        double began = ip_now_ms();
        imgpar_status st = launch_once(r, &l, err);
        done += l.global[2];
        if (!st && poll->stop) st = ip_buffer_wait(buffer_of(r, written_by(step)), err);
        if (!st && poll->stop && poll->stop(poll->user, 0.1 + 0.8 * (double)done / (double)total))
            st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
        if (st) return st;
        double took = ip_now_ms() - began;
        batch = took < BATCH_MS / 4 ? batch * 4 : took > BATCH_MS * 1.5 && batch > 1 ? batch / 2 : batch;
    }
    return IMGPAR_OK;
}

/* Kernels that launch by themselves. */
static imgpar_status run_by_itself(running *r, ip_error *err)
{
    ip_buffer *inputs[IP_OPAQUE_INPUTS] = { NULL };
    for (int k = 0; k < r->call.opaque->n_inputs; k++)
        inputs[k] = buffer_of(r, IP_BUFFER_INPUT + k);
    return r->call.opaque->kind->run(&r->call, buffer_of(r, IP_BUFFER_RESULT), inputs, is_timed(r) ? &r->busy_ms : NULL,
                                     err);
}

/* Kinds without kernels: the host computes, on the device's memory. */
static imgpar_status ask_to_stop(void *user)
{
    const ip_poll *poll = user;
    return poll->stop && poll->stop(poll->user, 0.5) ? IMGPAR_E_INTERRUPTED : IMGPAR_OK;
}

static imgpar_status compute_mapped(running *r, const void *const *in, ip_error *err)
{
    const ip_opaque *o = r->call.opaque;
    ip_buffer *result = buffer_of(r, IP_BUFFER_RESULT);
    const size_t n = (size_t)ip_dims_count(o->dims) * ip_dtype(r->kernel->outputs[0]->dtype)->size_bytes;
    void *out = ip_alloc(n);
    if (!out) return ip_fail_memory(err, "computing on the host");
    ip_poll poll = r->runner->poll;
    imgpar_status st = o->kind->compute(o, in, out, ask_to_stop, &poll);
    if (st == IMGPAR_E_INTERRUPTED)
        ip_fail(err, st, "interrupted");
    else if (st)
        ip_fail(err, st, "%s: %s", o->kind->name, imgpar_status_name(st));
    if (!st) st = ip_buffer_write(result, 0, out, n, err);
    ip_free(out);
    return st;
}

static imgpar_status run_on_host(running *r, ip_error *err)
{
    void *in[IP_OPAQUE_INPUTS] = { NULL };
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; !st && k < r->call.opaque->n_inputs; k++)
        st = ip_buffer_map(buffer_of(r, IP_BUFFER_INPUT + k), &in[k], err);
    if (!st) st = compute_mapped(r, (const void *const *)in, err);
    for (int k = 0; k < r->call.opaque->n_inputs; k++)
        ip_buffer_unmap(buffer_of(r, IP_BUFFER_INPUT + k), in[k]);
    return st;
}

static imgpar_status run_steps(running *r, ip_error *err)
{
    imgpar_status st = r->program ? IMGPAR_OK : get_program(r, err); /* a product may be measured before */
    if (!st && !r->has_scratch) st = get_scratch(r, err);
    for (int step = 0; !st; step++) {
        ip_opaque_launch l = { .local = { 1, 1, 1 }, .n_params = 1 };
        if (!r->call.opaque->kind->step(&r->call, step, &l)) break;
        st = launch_step(r, &l, err);
    }
    return st;
}

static imgpar_status run_own_gemm(void *user, bool is_measured, ip_error *err)
{
    running *r = user;
    r->is_measured = is_measured;
    return run_steps(r, err);
}

static imgpar_status run_gemm(running *r, const ip_gemm *gemm, ip_error *err)
{
    const ip_blas_job job = { .device = r->runner->device,
                              .mode = r->runner->blas,
                              .poll = &r->runner->poll,
                              .gemm = gemm,
                              .a = buffer_of(r, IP_BUFFER_INPUT),
                              .b = buffer_of(r, IP_BUFFER_INPUT + 1),
                              .c = buffer_of(r, IP_BUFFER_RESULT),
                              .own = run_own_gemm,
                              .user = r,
                              .busy_ms = is_timed(r) ? &r->busy_ms : NULL };
    return ip_blas_run(&job, err);
}

static imgpar_status run(running *r, ip_error *err)
{
    ip_gemm gemm;
    if (r->call.opaque->kind->run) return run_by_itself(r, err);
    if (!r->call.opaque->kind->shader) return run_on_host(r, err);
    return gemm_of(&r->call, r->runner->blas, r->runner->device, &gemm) ? run_gemm(r, &gemm, err) : run_steps(r, err);
}

imgpar_status ip_opaque_run(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel,
                            const ip_binding *bindings, const ip_region *region, ip_error *err)
{
    const ip_opaque *o = ip_kernel_opaque(kernel);
    running r = { .runner = runner,
                  .plan = plan,
                  .kernel = kernel,
                  .bindings = bindings,
                  .call = { .opaque = o, .device = facts_of(runner->device, kernel), .result = *region } };
    if (ip_region_is_empty(region)) return IMGPAR_OK;
    for (int k = 0; k < o->n_inputs; k++)
        r.call.in[k] = bindings[o->inputs[k]->id].region;
    double start_ms = ip_now_ms();
    imgpar_status st = run(&r, err);
    if (!st) ip_kernel_report(runner, NULL, kernel, region, &(ip_took){ start_ms, r.busy_ms });
    for (int k = 0; k < IP_OPAQUE_SCRATCH; k++)
        ip_buffer_release(r.scratch[k]);
    if (!kept_program(&r)) ip_program_release(r.program);
    return st;
}
