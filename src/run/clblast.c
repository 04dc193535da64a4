/* SPDX-License-Identifier: MIT */
/*
 * Note [Queue of CLBlast]
 * CLBlast takes a queue and gives the event of the last kernel that it enqueues; it takes no events to wait for, and
 * its kernels follow each other by the queue's order. So it has an in-order queue of its own, where a barrier in front
 * waits for what order.c knows of the buffers. Barrier, kernels and the note of the event are one step under the order
 * lock; that nothing is compiled there, which takes PoCL half a minute, a product of one element comes first, without
 * the lock.
 */
#include "run/clblast.h"

#include "base/dtype.h"
#include "base/library.h"

uint64_t ip_clblast_scratch_bytes(imgpar_dtype dtype, uint64_t m, uint64_t n, uint64_t k, uint64_t count)
{
    enum { LARGEST_TILE = 256 }; /* copies of the three matrices with whole tiles */
    const uint64_t mt = m + LARGEST_TILE - 1, nt = n + LARGEST_TILE - 1, kt = k + LARGEST_TILE - 1;
    return (mt * kt + kt * nt + mt * nt) * count * ip_dtype(dtype)->size_bytes;
}

#ifdef HAVE_CLBLAST

#include "run/device_impl.h"

#include <clblast_c.h>
#include <string.h>

typedef struct functions {
    typeof(CLBlastSgemmWithTempBuffer) *sgemm;
    typeof(CLBlastDgemmWithTempBuffer) *dgemm;
    typeof(CLBlastSGemmTempBufferSize) *sgemm_scratch;
    typeof(CLBlastDGemmTempBufferSize) *dgemm_scratch;
    typeof(CLBlastSgemmStridedBatched) *sgemm_batch;
    typeof(CLBlastDgemmStridedBatched) *dgemm_batch;
    typeof(CLBlastClearCache) *clear_cache;
} functions;

static const ip_library_function symbols[] = {
    { "CLBlastSgemmWithTempBuffer", offsetof(functions, sgemm) },
    { "CLBlastDgemmWithTempBuffer", offsetof(functions, dgemm) },
    { "CLBlastSGemmTempBufferSize", offsetof(functions, sgemm_scratch) },
    { "CLBlastDGemmTempBufferSize", offsetof(functions, dgemm_scratch) },
    { "CLBlastSgemmStridedBatched", offsetof(functions, sgemm_batch) },
    { "CLBlastDgemmStridedBatched", offsetof(functions, dgemm_batch) },
    { "CLBlastClearCache", offsetof(functions, clear_cache) },
};

struct ip_clblast {
    ip_device *device;
    functions call;
    cl_command_queue queue;
    pthread_mutex_t lock;   /* guards what follows */
    bool is_prepared[2][2]; /* by f64, batched */
};

static const CLBlastLayout ROW_MAJOR = CLBlastLayoutRowMajor;
static const CLBlastTranspose STRAIGHT = CLBlastTransposeNo;

/* ---- the library --------------------------------------------------------------------- */

#define SONAME_(major) "libclblast.so." #major
#define SONAME(major) SONAME_(major)

static bool load(functions *out)
{
    return ip_library_load(SONAME(CLBLAST_VERSION_MAJOR), symbols, sizeof symbols / sizeof *symbols, out);
}

bool ip_clblast_is_there(void)
{
    functions found;
    return load(&found);
}

imgpar_status ip_clblast_open(ip_device *device, ip_clblast **out, ip_error *err)
{
    cl_int code;
    *out = NULL;
    ip_clblast *c = ip_zalloc(sizeof *c);
    if (!c || pthread_mutex_init(&c->lock, NULL)) {
        ip_free(c);
        return ip_fail_memory(err, "opening CLBlast");
    }
    c->device = device;
    imgpar_status st = load(&c->call) ? IMGPAR_OK : ip_fail(err, IMGPAR_E_UNSUPPORTED, "CLBlast cannot be loaded");
    if (!st) {
        c->queue = ip_cl_may(&code) ? clCreateCommandQueue(device->context, device->id, 0, &code) : NULL;
        if (code) st = ip_cl_fail(err, code, "clCreateCommandQueue", "CLBlast");
    }
    if (st)
        ip_clblast_close(c);
    else
        *out = c;
    return st;
}

/* CLBlast keeps programs, and so their context, by the context's address: they go before the context does. It forgets
 * those of other devices with them, and compiles them anew. */
void ip_clblast_close(ip_clblast *c)
{
    if (!c) return;
    if (c->queue) {
        clReleaseCommandQueue(c->queue);
        c->call.clear_cache();
    }
    pthread_mutex_destroy(&c->lock);
    ip_free(c);
}

/* ---- calls ------------------------------------------------------------------------------ */

/* Its codes are OpenCL's and, from -1007 down, its own. */
static imgpar_status fail(ip_error *err, CLBlastStatusCode code, const char *call)
{
    if (code > CLBlastInsufficientMemoryY) return ip_cl_fail(err, (cl_int)code, call, NULL);
    return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: CLBlast refuses it (%d)", call, (int)code);
}

static imgpar_status get_scratch(ip_clblast *c, const ip_clblast_product *p, ip_buffer **out, ip_error *err)
{
    typeof(CLBlastSGemmTempBufferSize) *ask = p->dtype == IMGPAR_F64 ? c->call.dgemm_scratch : c->call.sgemm_scratch;
    size_t bytes = 0;
    if (p->count > 1) { /* it cannot be given any; the budget has to do without */
        uint64_t most = ip_clblast_scratch_bytes(p->dtype, p->m, p->n, p->k, p->count);
        return most <= ip_device_budget_left(c->device)
                   ? IMGPAR_OK
                   : ip_fail(err, IMGPAR_E_DEVICE_MEMORY, "no room for the %llu bytes that CLBlast may take",
                             (unsigned long long)most);
    }
    CLBlastStatusCode code = ask(ROW_MAJOR, STRAIGHT, STRAIGHT, p->m, p->n, p->k, p->a_first, p->k, p->b_first, p->n,
                                 p->c_first, p->n, &c->queue, &bytes);
    if (code) return fail(err, code, "CLBlast's size of scratch memory");
    return bytes ? ip_buffer_new(c->device, bytes, out, err) : IMGPAR_OK;
}

static CLBlastStatusCode call_single(ip_clblast *c, const ip_clblast_product *p, cl_mem scratch, cl_event *event)
{
    cl_mem ma = p->a->mem, mb = p->b->mem, mc = p->c->mem;
    if (p->dtype == IMGPAR_F64)
        return c->call.dgemm(ROW_MAJOR, STRAIGHT, STRAIGHT, p->m, p->n, p->k, 1, ma, p->a_first, p->k, mb, p->b_first,
                             p->n, 0, mc, p->c_first, p->n, &c->queue, event, scratch);
    return c->call.sgemm(ROW_MAJOR, STRAIGHT, STRAIGHT, p->m, p->n, p->k, 1, ma, p->a_first, p->k, mb, p->b_first, p->n,
                         0, mc, p->c_first, p->n, &c->queue, event, scratch);
}

static CLBlastStatusCode call_batch(ip_clblast *c, const ip_clblast_product *p, cl_event *event)
{
    cl_mem ma = p->a->mem, mb = p->b->mem, mc = p->c->mem;
    if (p->dtype == IMGPAR_F64)
        return c->call.dgemm_batch(ROW_MAJOR, STRAIGHT, STRAIGHT, p->m, p->n, p->k, 1, ma, p->a_first, p->k, p->a_next,
                                   mb, p->b_first, p->n, p->b_next, 0, mc, p->c_first, p->n, p->c_next, p->count,
                                   &c->queue, event);
    return c->call.sgemm_batch(ROW_MAJOR, STRAIGHT, STRAIGHT, p->m, p->n, p->k, 1, ma, p->a_first, p->k, p->a_next, mb,
                               p->b_first, p->n, p->b_next, 0, mc, p->c_first, p->n, p->c_next, p->count, &c->queue,
                               event);
}

/* Behind what the buffers wait for. */
static imgpar_status submit(ip_clblast *c, const ip_clblast_product *p, ip_buffer *scratch, const ip_waits *waits,
                            cl_event *event, ip_error *err)
{
    cl_int waited =
        waits->n > 0 ? IP_CL(clEnqueueBarrierWithWaitList(c->queue, waits->n, waits->events, NULL)) : CL_SUCCESS;
    if (waited) return ip_cl_fail(err, waited, "clEnqueueBarrierWithWaitList", "CLBlast");
    CLBlastStatusCode code = ip_fault(IP_FAULT_CL) ? (CLBlastStatusCode)IP_CL_INJECTED
                             : p->count > 1        ? call_batch(c, p, event)
                                                   : call_single(c, p, scratch ? scratch->mem : NULL, event);
    return code ? fail(err, code, p->dtype == IMGPAR_F64 ? "CLBlast's dgemm" : "CLBlast's sgemm") : IMGPAR_OK;
}

/* What the product reads, and, from FIRST_WRITTEN on, writes. */
enum { N_BUFFERS = 4, FIRST_WRITTEN = 2 };
typedef struct uses {
    ip_buffer *buffers[N_BUFFERS];
} uses;

static uses uses_of(const ip_clblast_product *p, ip_buffer *scratch) { return (uses){ { p->a, p->b, p->c, scratch } }; }

/* The order lock is held. */
static bool add_waits(const uses *u, ip_waits *waits)
{
    bool ok = true;
    for (int k = 0; ok && k < N_BUFFERS; k++)
        ok = !u->buffers[k] || ip_waits_add(waits, &u->buffers[k]->pending, k >= FIRST_WRITTEN);
    return ok;
}

/* The order lock is held. */
static void note(const uses *u, cl_event event)
{
    for (int k = 0; k < N_BUFFERS; k++)
        if (u->buffers[k]) ip_pending_add(&u->buffers[k]->pending, event, k >= FIRST_WRITTEN);
}

/* is_shared: others use the buffers too, so that waiting and noting must be one step. */
static imgpar_status enqueue(ip_clblast *c, const ip_clblast_product *p, ip_buffer *scratch, bool is_shared,
                             ip_error *err)
{
    const uses u = uses_of(p, scratch);
    ip_waits waits = { NULL, 0, 0 };
    cl_event event = NULL;
    pthread_mutex_lock(&c->device->order);
    bool ok = add_waits(&u, &waits);
    if (!is_shared) pthread_mutex_unlock(&c->device->order);
    imgpar_status st = ok ? submit(c, p, scratch, &waits, &event, err) : ip_fail_memory(err, "multiplying matrices");
    if (!is_shared) pthread_mutex_lock(&c->device->order);
    if (!st) note(&u, event);
    pthread_mutex_unlock(&c->device->order);
    ip_waits_clear(&waits);
    if (st)
        clFinish(c->queue); /* what it had enqueued when it failed is noted nowhere */
    else
        clFlush(c->queue);
    if (event) clReleaseEvent(event);
    return st;
}

/* ---- the door ------------------------------------------------------------------------------ */

/* On buffers of its own, so that everything is compiled without the order lock. */
static imgpar_status multiply_ones(ip_clblast *c, imgpar_dtype dtype, bool is_batch, ip_error *err)
{
    ip_buffer *buffers[3] = { NULL };
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; !st && k < 3; k++)
        st = ip_buffer_new(c->device, 2 * ip_dtype(dtype)->size_bytes, &buffers[k], err);
    const ip_clblast_product p = { .dtype = dtype,
                                   .m = 1,
                                   .n = 1,
                                   .k = 1,
                                   .count = is_batch ? 2 : 1,
                                   .a = buffers[0],
                                   .b = buffers[1],
                                   .c = buffers[2],
                                   .a_next = 1,
                                   .b_next = 1,
                                   .c_next = 1 };
    if (!st) st = enqueue(c, &p, NULL, false, err);
    if (!st) st = ip_buffer_wait(p.c, err);
    for (int k = 0; k < 3; k++)
        ip_buffer_release(buffers[k]);
    return st;
}

imgpar_status ip_clblast_prepare(ip_clblast *c, imgpar_dtype dtype, bool is_batch, ip_error *err)
{
    pthread_mutex_lock(&c->lock);
    bool *is_prepared = &c->is_prepared[dtype == IMGPAR_F64][is_batch];
    imgpar_status st = *is_prepared ? IMGPAR_OK : multiply_ones(c, dtype, is_batch, err);
    *is_prepared = !st;
    pthread_mutex_unlock(&c->lock);
    return st;
}

imgpar_status ip_clblast_multiply(ip_clblast *c, const ip_clblast_product *p, ip_error *err)
{
    ip_buffer *scratch = NULL;
    imgpar_status st = ip_clblast_prepare(c, p->dtype, p->count > 1, err);
    if (!st) st = get_scratch(c, p, &scratch, err);
    if (!st) st = enqueue(c, p, scratch, true, err);
    if (!st) atomic_fetch_add_explicit(&c->device->launches, 1, memory_order_relaxed);
    ip_buffer_release(scratch);
    return st;
}

#else /* built without it */

bool ip_clblast_is_there(void) { return false; }

imgpar_status ip_clblast_open(ip_device *device, ip_clblast **out, ip_error *err)
{
    (void)device;
    *out = NULL;
    return ip_fail(err, IMGPAR_E_UNSUPPORTED, "this build has no CLBlast");
}

void ip_clblast_close(ip_clblast *clblast) { (void)clblast; }

imgpar_status ip_clblast_prepare(ip_clblast *clblast, imgpar_dtype dtype, bool is_batch, ip_error *err)
{
    (void)clblast;
    (void)dtype;
    (void)is_batch;
    return ip_fail(err, IMGPAR_E_UNSUPPORTED, "this build has no CLBlast");
}

imgpar_status ip_clblast_multiply(ip_clblast *clblast, const ip_clblast_product *product, ip_error *err)
{
    (void)clblast;
    (void)product;
    return ip_fail(err, IMGPAR_E_UNSUPPORTED, "this build has no CLBlast");
}

#endif
