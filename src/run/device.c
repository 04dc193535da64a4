/* SPDX-License-Identifier: MIT */
/*
 * Opening a device, launching on it, waiting for it. Choosing is in select.c,
 * memory in pool.c, programs in cache.c.
 */
#include "run/device_impl.h"

#include "base/thread.h"
#include "run/drivers.h"
#include "run/select.h"

/* ---- opening and closing --------------------------------------------------------- */

/*
 * Note [Budget]
 * PoCL aborts the process when the host has no memory left, and other drivers take pages only when they are touched. So
 * we never rely on the device refusing: what we allocate is counted against a budget. A CPU's memory is the host's, of
 * which decoded files and the program around us need their half.
 */
static uint64_t choose_budget(const ip_device *device, uint64_t limit_bytes)
{
    const ip_device_facts *facts = &device->facts;
    uint64_t budget = facts->info.global_bytes / 4 * 3;
    if (limit_bytes) return limit_bytes < facts->info.global_bytes ? limit_bytes : facts->info.global_bytes;
    uint64_t half = ip_host_memory() / 2 / device->n_on_host;
    return facts->kind == IP_DEVICE_CPU && half < budget ? half : budget;
}

/*
 * Note [Shared contexts]
 * Of the 0.5 s of processor time that PoCL 3.1 takes to build a small program, 0.4 s go into reading its library of
 * built-in functions, 10 MB of bitcode, which it keeps with the CL context. So where the same device of PoCL's is open
 * already in this process, its CL context is used again. Buffers, queues, budgets and programs remain each opener's
 * own. Other drivers keep no such thing, and a context of theirs that a kernel of the user's has broken must not be
 * handed on.
 */
static ip_device *newest_open; /* of the process, as the drivers are; guarded by the drivers' lock */

static void list_open(ip_device *device)
{
    device->older = newest_open;
    newest_open = device;
}

static void unlist_open(const ip_device *device)
{
    ip_device **link = &newest_open;
    while (*link && *link != device)
        link = &(*link)->older;
    if (*link) *link = device->older;
}

/* The context of one that is open on the same hardware, with a reference; NULL: there is none. */
static cl_context context_in_use(const ip_device *device)
{
    if (!device->facts.is_pocl) return NULL;
    for (const ip_device *d = newest_open; d; d = d->older)
        if (d->id == device->id && clRetainContext(d->context) == CL_SUCCESS) return d->context;
    return NULL;
}

static imgpar_status open_context(ip_device *device, cl_platform_id platform, ip_error *err)
{
    const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0 };
    cl_int code = CL_SUCCESS;
    device->context = context_in_use(device);
    if (!device->context)
        device->context = ip_cl_may(&code) ? clCreateContext(properties, 1, &device->id, NULL, NULL, &code) : NULL;
    if (code) return ip_cl_fail(err, code, "clCreateContext", device->facts.info.name);
    list_open(device);
    return IMGPAR_OK;
}

static imgpar_status open_queues(ip_device *device, ip_error *err)
{
    cl_command_queue_properties offered = 0;
    cl_int code = IP_CL(clGetDeviceInfo(device->id, CL_DEVICE_QUEUE_PROPERTIES, sizeof offered, &offered, NULL));
    if (code) return ip_cl_fail(err, code, "clGetDeviceInfo", device->facts.info.name);
    cl_command_queue_properties wanted = CL_QUEUE_PROFILING_ENABLE | (offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    device->queue = ip_cl_may(&code) ? clCreateCommandQueue(device->context, device->id, wanted, &code) : NULL;
    if (!code) device->copies = ip_cl_may(&code) ? clCreateCommandQueue(device->context, device->id, 0, &code) : NULL;
    if (code) return ip_cl_fail(err, code, "clCreateCommandQueue", device->facts.info.name);
    return IMGPAR_OK;
}

/* Which images there are. Those of 4 channels must be, else there are none. */
static imgpar_status read_formats(ip_device *device, ip_error *err)
{
    enum { N_TYPES = 6, N_ORDERS = 3, MOST = 256 };
    static const cl_channel_type types[N_TYPES] = { CL_UNSIGNED_INT8, CL_SIGNED_INT8, CL_UNSIGNED_INT16,
                                                    CL_SIGNED_INT16,  CL_HALF_FLOAT,  CL_FLOAT };
    static const struct {
        cl_channel_order order;
        unsigned channels;
    } orders[N_ORDERS] = { { CL_R, 1 }, { CL_RG, 2 }, { CL_RGBA, 4 } };
    ip_device_facts *facts = &device->facts;
    cl_image_format formats[MOST];
    cl_uint n = 0;
    if (!facts->info.has_images) return IMGPAR_OK;
    cl_int code =
        IP_CL(clGetSupportedImageFormats(device->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, MOST, formats, &n));
    if (code) return ip_cl_fail(err, code, "clGetSupportedImageFormats", facts->info.name);
    for (int o = 0; o < N_ORDERS; o++) {
        unsigned found = 0;
        for (cl_uint i = 0; i < n && i < MOST; i++)
            for (int t = 0; t < N_TYPES; t++)
                if (formats[i].image_channel_order == orders[o].order && formats[i].image_channel_data_type == types[t])
                    found |= 1u << t;
        if (found == (1u << N_TYPES) - 1) facts->texel_channels |= 1u << orders[o].channels;
    }
    /* PoCL 3.1 misreads CL_R of halves. */
    facts->half_channels = facts->is_pocl ? facts->texel_channels & 1u << 4 : facts->texel_channels;
    if (!(facts->texel_channels & 1u << 4)) facts->image_width = facts->image_height = 0;
    return IMGPAR_OK;
}

/* Opens what candidate describes and takes over what it owns, also on failure. */
static imgpar_status open_candidate(ip_candidate *candidate, uint64_t limit_bytes, unsigned n_on_host, ip_device **out,
                                    ip_error *err)
{
    ip_device *device = ip_zalloc(sizeof *device);
    if (!device) return ip_fail_memory(err, "opening a device");
    atomic_init(&device->refs, 1);
    device->process = ip_process_number();
    device->id = candidate->id;
    device->facts = candidate->facts;
    device->n_on_host = n_on_host;
    device->keeps_programs_on_disk =
        candidate->facts.is_pocl ? ip_drivers_pocl_is_general() : !candidate->facts.is_nvidia;
    device->keeps_few_kernels = candidate->facts.is_pocl;
    device->is_part = candidate->is_part;
    candidate->facts.info = (imgpar_device){ .kind = NULL };
    candidate->is_part = false;

    imgpar_status st = pthread_mutex_init(&device->order, NULL) ? ip_fail_memory(err, "opening a device") : IMGPAR_OK;
    if (st) goto no_order;
    st = ip_pool_start(&device->pool, choose_budget(device, limit_bytes), err);
    if (st) goto no_pool;
    st = ip_cache_start(&device->cache, err);
    if (st) goto no_cache;
    st = ip_blas_start(&device->blas, err);
    if (st) goto no_blas;
    st = open_context(device, candidate->platform, err);
    if (!st) st = open_queues(device, err);
    if (!st) st = read_formats(device, err);
    if (st) {
        ip_device_drop(device);
        return st;
    }
    *out = device;
    return IMGPAR_OK;

no_blas:
    ip_cache_end(&device->cache);
no_cache:
    ip_pool_end(&device->pool);
no_pool:
    pthread_mutex_destroy(&device->order);
no_order:
    if (device->is_part) clReleaseDevice(device->id);
    ip_device_info_clear(&device->facts.info);
    ip_free(device);
    return st;
}

static imgpar_status open_selection(ip_selection *selection, uint64_t limit_bytes, ip_device *out[IP_MAX_DEVICES],
                                    size_t *n, ip_error *err)
{
    unsigned n_on_host = 0;
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; k < selection->n; k++)
        n_on_host += selection->list[k].facts.kind == IP_DEVICE_CPU;
    for (*n = 0; !st && *n < selection->n; *n += !st)
        st = open_candidate(&selection->list[*n], limit_bytes, n_on_host, &out[*n], err);
    while (st && *n > 0)
        ip_device_close(out[--*n]);
    return st;
}

imgpar_status ip_device_open(const char *selector, uint64_t mem_limit_bytes, ip_device *out[IP_MAX_DEVICES], size_t *n,
                             ip_error *err)
{
    ip_candidates found;
    ip_selection selection;
    *n = 0;
    ip_drivers_lock();
    imgpar_status st = ip_candidates_find(&found, err);
    if (!st) {
        st = ip_selection_make(&found, selector, &selection, err);
        if (!st) {
            st = open_selection(&selection, mem_limit_bytes, out, n, err);
            ip_selection_clear(&selection);
        }
        ip_candidates_clear(&found);
    }
    ip_drivers_unlock();
    return st;
}

void ip_device_limit(ip_device *device, uint64_t mem_limit_bytes)
{
    ip_pool_limit(&device->pool, choose_budget(device, mem_limit_bytes));
}

void ip_device_count_in(ip_device *device, ip_account *account)
{
    if (device->facts.kind == IP_DEVICE_CPU) device->pool.host = ip_account_retain(account);
}

ip_device *ip_device_hold(ip_device *device)
{
    atomic_fetch_add_explicit(&device->refs, 1, memory_order_relaxed);
    return device;
}

bool ip_device_is_of_the_parent(const ip_device *device) { return device->process != ip_process_number(); }

void ip_device_drop(ip_device *device)
{
    if (ip_device_is_of_the_parent(device)) return;
    if (atomic_fetch_sub_explicit(&device->refs, 1, memory_order_acq_rel) != 1) return;
    ip_blas_end(&device->blas);
    ip_cache_end(&device->cache);
    ip_pool_end(&device->pool);
    ip_drivers_lock();
    for (int k = 0; k < IP_IN_FLIGHT && device->in_flight[k]; k++)
        clReleaseEvent(device->in_flight[k]);
    if (device->queue) clReleaseCommandQueue(device->queue);
    if (device->copies) clReleaseCommandQueue(device->copies);
    unlist_open(device);
    if (device->context) clReleaseContext(device->context);
    if (device->is_part) clReleaseDevice(device->id);
    ip_drivers_unlock();
    pthread_mutex_destroy(&device->order);
    ip_device_info_clear(&device->facts.info);
    ip_free(device);
}

void ip_device_close(ip_device *device)
{
    if (!device) return;
    ip_device_trim(device); /* what is idle need not wait for the last buffer in use */
    ip_device_drop(device);
}

const ip_device_facts *ip_device_facts_of(const ip_device *device) { return &device->facts; }

/* ---- launching ------------------------------------------------------------------- */

static imgpar_status check_sizes(const ip_launch *launch, ip_error *err)
{
    bool fits = launch->dims >= 1 && launch->dims <= 3;
    for (int d = 0; fits && d < launch->dims; d++)
        fits = launch->local[d] > 0 && launch->global[d] > 0 && launch->global[d] % launch->local[d] == 0;
    return fits
               ? IMGPAR_OK
               : ip_fail(err, IMGPAR_E_INTERNAL, "%s: global size is not a multiple of the local size", launch->kernel);
}

static imgpar_status set_arguments(cl_kernel kernel, const ip_launch *launch, ip_error *err)
{
    for (int i = 0; i < launch->n_buffers; i++) {
        cl_int code = IP_CL(clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &launch->buffers[i]->mem));
        if (code) return ip_cl_fail(err, code, "clSetKernelArg", launch->kernel);
    }
    return IMGPAR_OK;
}

/* Waits for the launch and reads its clock. */
static imgpar_status read_times(cl_event event, const char *kernel, uint64_t *start_ns, uint64_t *end_ns, ip_error *err)
{
    cl_ulong start = 0, end = 0;
    cl_int code = IP_CL(clWaitForEvents(1, &event));
    if (code) return ip_cl_fail(err, code, "clWaitForEvents", kernel);
    code = IP_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    if (!code) code = IP_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    if (code) return ip_cl_fail(err, code, "clGetEventProfilingInfo", kernel);
    if (start_ns) *start_ns = start;
    if (end_ns) *end_ns = end;
    return IMGPAR_OK;
}

static bool writes(const ip_launch *launch, int argument) { return !launch->writes || launch->writes[argument]; }

/* Notes a launch in place of the oldest one, which is returned with its reference: whoever launched waits for it. */
static cl_event replace_oldest(ip_device *device, cl_event event)
{
    cl_event *slot = &device->in_flight[device->next_in_flight++ % IP_IN_FLIGHT], oldest = *slot;
    clRetainEvent(event);
    *slot = event;
    return oldest;
}

/*
 * What the driver said of a launch. A kernel's registers may leave it fewer work-items in a group than the device has,
 * and a device may have fewer than the 64 that hand-written kernels want: like memory that is not there, this leaves
 * the work to others, the interpreter at last. (CL_KERNEL_WORK_GROUP_SIZE is not asked before: llvmpipe tells 32 there,
 * and takes 128.)
 */
static imgpar_status fail_launch(const ip_launch *launch, cl_int code, ip_error *err)
{
    size_t group = 1;
    for (int d = 0; d < launch->dims; d++)
        group *= launch->local[d];
    if (code == CL_INVALID_WORK_GROUP_SIZE && group > 1)
        return ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                       "%s: a group of %zu work-items is more than the kernel may have on this device", launch->kernel,
                       group);
    return ip_cl_fail(err, code, "clEnqueueNDRangeKernel", launch->kernel);
}

/* Enqueues kernel after the commands that its buffers need, and notes it with them. */
static imgpar_status enqueue(ip_device *device, cl_kernel kernel, const ip_launch *launch, cl_event *event,
                             ip_error *err)
{
    ip_waits waits = { NULL, 0, 0 };
    bool ok = true;
    cl_int code = CL_SUCCESS;
    cl_event oldest = NULL;
    pthread_mutex_lock(&device->order);
    for (int i = 0; ok && i < launch->n_buffers; i++)
        ok = ip_waits_add(&waits, &launch->buffers[i]->pending, writes(launch, i));
    if (ok)
        code = IP_CL(clEnqueueNDRangeKernel(device->queue, kernel, (cl_uint)launch->dims, NULL, launch->global,
                                            launch->local, waits.n, waits.events, event));
    for (int i = 0; ok && !code && i < launch->n_buffers; i++)
        ip_pending_add(&launch->buffers[i]->pending, *event, writes(launch, i));
    if (ok && !code) oldest = replace_oldest(device, *event);
    pthread_mutex_unlock(&device->order);
    ip_waits_clear(&waits);
    if (oldest) {
        IP_CL(clWaitForEvents(1, &oldest)); /* its failure shows where its results are wanted */
        clReleaseEvent(oldest);
    }
    if (!ok) return ip_fail_memory(err, "launching a kernel");
    return code ? fail_launch(launch, code, err) : IMGPAR_OK;
}

imgpar_status ip_device_launch(ip_device *device, const ip_launch *launch, uint64_t *start_ns, uint64_t *end_ns,
                               ip_error *err)
{
    cl_event event = NULL;
    cl_int code;
    imgpar_status st = check_sizes(launch, err);
    if (st) return st;

    /* Arguments are state of a kernel object, so two threads must not share one. */
    cl_kernel kernel = ip_cl_may(&code) ? clCreateKernel(launch->program->program, launch->kernel, &code) : NULL;
    if (code) return ip_cl_fail(err, code, "clCreateKernel", launch->kernel);
    st = set_arguments(kernel, launch, err);
    if (!st) st = enqueue(device, kernel, launch, &event, err);
    if (!st) {
        atomic_fetch_add_explicit(&device->launches, 1, memory_order_relaxed);
        /* what waits for it may be on the other queue; a failure shows where it is waited for */
        clFlush(device->queue);
    }
    if (!st && (start_ns || end_ns)) st = read_times(event, launch->kernel, start_ns, end_ns, err);
    if (event) clReleaseEvent(event);
    clReleaseKernel(kernel);
    return st;
}

imgpar_status ip_device_finish(ip_device *device, ip_error *err)
{
    cl_int code = IP_CL(clFinish(device->queue));
    return code ? ip_cl_fail(err, code, "clFinish", NULL) : IMGPAR_OK;
}

/* ---- counters ---------------------------------------------------------------------- */

void ip_device_count_traffic(ip_device *device, uint64_t read, uint64_t written)
{
    atomic_fetch_add_explicit(&device->bytes_read, read, memory_order_relaxed);
    atomic_fetch_add_explicit(&device->bytes_written, written, memory_order_relaxed);
}

void ip_device_counters_get(ip_device *device, ip_device_counters *out)
{
    *out = (ip_device_counters){
        .launches = atomic_load_explicit(&device->launches, memory_order_relaxed),
        .builds = atomic_load_explicit(&device->builds, memory_order_relaxed),
        .loads = atomic_load_explicit(&device->loads, memory_order_relaxed),
        .bytes_uploaded = atomic_load_explicit(&device->bytes_uploaded, memory_order_relaxed),
        .bytes_downloaded = atomic_load_explicit(&device->bytes_downloaded, memory_order_relaxed),
        .bytes_read = atomic_load_explicit(&device->bytes_read, memory_order_relaxed),
        .bytes_written = atomic_load_explicit(&device->bytes_written, memory_order_relaxed),
    };
    pthread_mutex_lock(&device->pool.lock);
    out->bytes_held = device->pool.held_bytes;
    out->bytes_peak = device->pool.peak_bytes;
    out->buffers_made = device->pool.n_made;
    pthread_mutex_unlock(&device->pool.lock);
}
