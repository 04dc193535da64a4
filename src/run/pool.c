/* SPDX-License-Identifier: MIT */
/*
 * Device memory, reused. The policy:
 *
 *  1. A new buffer's capacity is the size asked for, rounded up to a class: 8 to 16 classes for every power of two,
 *     256 bytes the smallest. So images whose sizes differ a little share buffers, and at most an eighth is wasted.
 *  2. A request is served with the idle buffer of the least capacity that holds it, unless that is more than 1.5 times
 *     the size: a large buffer should not be bound by a small value.
 *  3. A released buffer becomes idle at once, even while kernels that use it are waiting: whoever gets it next waits
 *     for them (order.c).
 *  4. Everything made and not yet freed, idle or in use, counts against the budget. Over it, the exact size is tried
 *     instead of the class; then idle buffers are freed, the one that is idle longest first.
 *  5. Before buffers are freed for lack of room the queue is finished, because until then it keeps their memory.
 *  6. If the device itself refuses, all idle buffers are freed and it is asked once more.
 *  7. A CPU's small buffers with contents (ip_buffer_new_with()) are counted, but freed at once when they are released,
 *     even while a kernel uses them: of so few bytes and launches (IP_IN_FLIGHT) the budget does not notice.
 *  8. Idle buffers hold at most half of the budget; what goes beyond is freed, the one that is idle longest first.
 */
#include "base/dtype.h"
#include "run/device_impl.h"

#define SMALLEST_BYTES ((size_t)256)
#define PARAMETERS_BYTES \
    ((size_t)4           \
     << 10) /* of most kernels: a buffer of so many is made anew for each launch, where that needs no command */

imgpar_status ip_pool_start(ip_pool *pool, uint64_t budget_bytes, ip_error *err)
{
    *pool = (ip_pool){ .budget_bytes = budget_bytes };
    if (pthread_mutex_init(&pool->maps, NULL) != 0) return ip_fail_memory(err, "opening a device");
    if (pthread_mutex_init(&pool->lock, NULL) != 0) {
        pthread_mutex_destroy(&pool->maps);
        return ip_fail_memory(err, "opening a device");
    }
    return IMGPAR_OK;
}

/* What new buffers may take; nothing where the budget was lowered below what is in use. The pool is locked. */
static uint64_t budget_left(const ip_pool *pool)
{
    const uint64_t used = pool->held_bytes - pool->idle_bytes, of_host = ip_account_left(pool->host),
                   own = used < pool->budget_bytes ? pool->budget_bytes - used : 0;
    return of_host > own || own - of_host <= pool->idle_bytes ? own : of_host + pool->idle_bytes;
}

static void count_out(ip_pool *pool, size_t capacity_bytes)
{
    pool->held_bytes -= capacity_bytes;
    ip_account_give(pool->host, capacity_bytes);
}

/* Frees what an idle buffer holds; it must be out of the list. */
static void destroy(ip_pool *pool, ip_buffer *buffer)
{
    count_out(pool, buffer->capacity_bytes);
    ip_pending_forget(&buffer->pending); /* nobody else knows the buffer any more */
    clReleaseMemObject(buffer->mem);
    ip_free(buffer);
}

/* Frees the buffer that is idle longest; false when there is none. */
static bool free_oldest(ip_pool *pool)
{
    ip_buffer **link = &pool->idle;
    if (!*link) return false;
    while ((*link)->next)
        link = &(*link)->next;
    ip_buffer *oldest = *link;
    *link = NULL;
    pool->idle_bytes -= oldest->capacity_bytes;
    destroy(pool, oldest);
    return true;
}

void ip_pool_end(ip_pool *pool)
{
    while (free_oldest(pool))
        continue;
    ip_account_release(pool->host);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->maps);
}

void ip_device_trim(ip_device *device)
{
    pthread_mutex_lock(&device->pool.lock);
    while (free_oldest(&device->pool))
        continue;
    pthread_mutex_unlock(&device->pool.lock);
}

/* Rule 1. The size itself where rounding would overflow. */
static size_t class_of(size_t size_bytes)
{
    size_t step = SMALLEST_BYTES;
    while (step < size_bytes / 16)
        step *= 2;
    size_t n = size_bytes ? size_bytes : 1;
    return n > SIZE_MAX - step ? n : (n + step - 1) / step * step;
}

/* Rule 2: takes the best idle buffer out of the list, or gives NULL. */
static ip_buffer *take_idle(ip_pool *pool, size_t size_bytes, size_t class_bytes)
{
    ip_buffer **best = NULL;
    for (ip_buffer **link = &pool->idle; *link; link = &(*link)->next) {
        size_t capacity = (*link)->capacity_bytes;
        if (capacity < size_bytes) continue;
        if (capacity > class_bytes && capacity - size_bytes > size_bytes / 2) continue;
        if (!best || capacity < (*best)->capacity_bytes) best = link;
    }
    if (!best) return NULL;
    ip_buffer *buffer = *best;
    *best = buffer->next;
    buffer->next = NULL;
    pool->idle_bytes -= buffer->capacity_bytes;
    return buffer;
}

/* Rules 4 and 5: counts capacity_bytes as held; false when no room can be made. */
static bool reserve(ip_device *device, size_t capacity_bytes)
{
    ip_pool *pool = &device->pool;
    if (capacity_bytes > budget_left(pool)) return false;
    if (pool->held_bytes > pool->budget_bytes - capacity_bytes) {
        if (IP_CL(clFinish(device->queue))) return false;
        while (pool->held_bytes > pool->budget_bytes - capacity_bytes && free_oldest(pool))
            continue;
    }
    while (!ip_account_take(pool->host, capacity_bytes))
        if (IP_CL(clFinish(device->queue)) || !free_oldest(pool)) return false;
    pool->held_bytes += capacity_bytes;
    if (pool->held_bytes > pool->peak_bytes) pool->peak_bytes = pool->held_bytes;
    return true;
}

static cl_mem create_once(ip_device *device, size_t capacity_bytes, const void *data, cl_int *code)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data ? CL_MEM_COPY_HOST_PTR : 0);
    return ip_cl_may(code) ? clCreateBuffer(device->context, flags, capacity_bytes, (void *)data, code) : NULL;
}

/* Rule 6. data: what it holds; NULL: nothing yet. */
static cl_mem create(ip_device *device, size_t capacity_bytes, const void *data, cl_int *code)
{
    cl_mem mem = create_once(device, capacity_bytes, data, code);
    if (*code != CL_MEM_OBJECT_ALLOCATION_FAILURE && *code != CL_OUT_OF_RESOURCES) return mem;
    IP_CL(clFinish(device->queue)); /* its failure will show again */
    while (free_oldest(&device->pool))
        continue;
    return create_once(device, capacity_bytes, data, code);
}

/* A buffer that did not exist before. The pool is locked. */
static imgpar_status make(ip_device *device, size_t size_bytes, ip_buffer **out, ip_error *err)
{
    ip_pool *pool = &device->pool;
    uint64_t largest = device->facts.info.max_alloc_bytes;
    size_t capacity = class_of(size_bytes);
    cl_int code;
    if (size_bytes > largest)
        return ip_fail(err, IMGPAR_E_DEVICE_MEMORY, "a buffer of %zu bytes is over the device's limit of %llu",
                       size_bytes, (unsigned long long)largest);
    if (capacity > largest) capacity = size_bytes;
    if (!reserve(device, capacity)) {
        capacity = size_bytes ? size_bytes : 1;
        if (!reserve(device, capacity))
            return ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                           "a buffer of %zu bytes is over what is left of the memory limit: %llu of %llu bytes",
                           size_bytes, (unsigned long long)budget_left(pool), (unsigned long long)pool->budget_bytes);
    }
    ip_buffer *buffer = ip_zalloc(sizeof *buffer);
    if (!buffer) {
        count_out(pool, capacity);
        return ip_fail_memory(err, "allocating device memory");
    }
    buffer->mem = create(device, capacity, NULL, &code);
    if (code) {
        count_out(pool, capacity);
        ip_free(buffer);
        if (code == CL_OUT_OF_RESOURCES) code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return ip_cl_fail(err, code, "clCreateBuffer", NULL);
    }
    buffer->capacity_bytes = capacity;
    pool->n_made++;
    *out = buffer;
    return IMGPAR_OK;
}

/* image_channel_data_type 0, which no channel type of OpenCL is: no image has such texels. */
static cl_image_format format_of(const ip_texels *t)
{
    static const cl_channel_order orders[] = { [1] = CL_R, [2] = CL_RG, [4] = CL_RGBA };
    static const cl_channel_type types[IMGPAR_N_DTYPES] = {
        [IMGPAR_U8] = CL_UNSIGNED_INT8,   [IMGPAR_I8] = CL_SIGNED_INT8,   [IMGPAR_U16] = CL_UNSIGNED_INT16,
        [IMGPAR_I16] = CL_SIGNED_INT16,   [IMGPAR_F16] = CL_HALF_FLOAT,   [IMGPAR_F32] = CL_FLOAT,
        [IMGPAR_U32] = CL_UNSIGNED_INT32, [IMGPAR_I32] = CL_SIGNED_INT32,
    };
    static const cl_channel_type normalized[IMGPAR_N_DTYPES] = {
        [IMGPAR_U8] = CL_UNORM_INT8,
        [IMGPAR_I8] = CL_SNORM_INT8,
        [IMGPAR_U16] = CL_UNORM_INT16,
        [IMGPAR_I16] = CL_SNORM_INT16,
    };
    return (cl_image_format){ orders[t->channels], t->is_normalized ? normalized[t->dtype] : types[t->dtype] };
}

imgpar_status ip_image_is_offered(ip_device *device, const ip_texels *texels, bool *out, ip_error *err)
{
    enum { MOST = 256 };
    const cl_image_format wanted = format_of(texels);
    cl_image_format formats[MOST];
    cl_uint n = 0;
    *out = false;
    if (!wanted.image_channel_data_type || !device->facts.info.has_images) return IMGPAR_OK;
    cl_int code =
        IP_CL(clGetSupportedImageFormats(device->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, MOST, formats, &n));
    if (code) return ip_cl_fail(err, code, "clGetSupportedImageFormats", device->facts.info.name);
    for (cl_uint i = 0; i < n && i < MOST; i++)
        *out |= formats[i].image_channel_order == wanted.image_channel_order &&
                formats[i].image_channel_data_type == wanted.image_channel_data_type;
    if (texels->dtype == IMGPAR_F16) *out &= (device->facts.half_channels & 1u << texels->channels) != 0;
    return IMGPAR_OK;
}

static cl_mem create_image(ip_device *device, const ip_texels *t, cl_int *code)
{
    const cl_image_format format = format_of(t);
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
                                 .image_width = t->width,
                                 .image_height = t->height };
    return ip_cl_may(code) ? clCreateImage(device->context, CL_MEM_READ_WRITE, &format, &desc, NULL, code) : NULL;
}

imgpar_status ip_image_new(ip_device *device, const ip_texels *texels, ip_buffer **out, ip_error *err)
{
    ip_pool *pool = &device->pool;
    size_t bytes;
    cl_int code = CL_SUCCESS;
    *out = NULL;
    if (!ip_mul_size(texels->width, texels->height, &bytes) ||
        !ip_mul_size(bytes, (size_t)texels->channels * ip_dtype(texels->dtype)->size_bytes, &bytes))
        return ip_fail_memory(err, "making an image");
    ip_buffer *image = ip_zalloc(sizeof *image);
    if (!image) return ip_fail_memory(err, "making an image");
    pthread_mutex_lock(&pool->lock);
    bool has_room = reserve(device, bytes);
    if (has_room) image->mem = create_image(device, texels, &code);
    if (has_room && code) count_out(pool, bytes);
    pthread_mutex_unlock(&pool->lock);
    if (!has_room || code) {
        ip_free(image);
        if (code == CL_OUT_OF_RESOURCES) code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return code ? ip_cl_fail(err, code, "clCreateImage", NULL)
                    : ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                              "an image of %zu bytes is over what is left of the memory limit", bytes);
    }
    image->device = ip_device_hold(device);
    image->is_single = true;
    image->size_bytes = image->capacity_bytes = bytes;
    atomic_store_explicit(&image->refs, 1, memory_order_relaxed);
    *out = image;
    return IMGPAR_OK;
}

imgpar_status ip_buffer_new(ip_device *device, size_t size_bytes, ip_buffer **out, ip_error *err)
{
    ip_pool *pool = &device->pool;
    imgpar_status st = IMGPAR_OK;
    *out = NULL;
    pthread_mutex_lock(&pool->lock);
    ip_buffer *buffer = take_idle(pool, size_bytes, class_of(size_bytes));
    if (!buffer) st = make(device, size_bytes, &buffer, err);
    pthread_mutex_unlock(&pool->lock);
    if (!buffer) return st;
    ip_pending_tidy(&buffer->pending); /* without the order lock: out of the pool nobody else has the buffer */
    buffer->device = ip_device_hold(device);
    buffer->size_bytes = size_bytes;
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    *out = buffer;
    return IMGPAR_OK;
}

/* A CPU's: copied while it is made, so that nobody waits for a command. Rules 4, 6 and 7. */
static imgpar_status new_with(ip_device *device, const void *data, size_t n, ip_buffer **out, ip_error *err)
{
    ip_pool *pool = &device->pool;
    cl_int code = CL_SUCCESS;
    ip_buffer *buffer = ip_zalloc(sizeof *buffer);
    if (!buffer) return ip_fail_memory(err, "allocating device memory");
    pthread_mutex_lock(&pool->lock);
    bool has_room = reserve(device, n);
    if (has_room) buffer->mem = create(device, n, data, &code);
    if (has_room && code) count_out(pool, n);
    pthread_mutex_unlock(&pool->lock);
    if (!has_room || code) {
        ip_free(buffer);
        if (code == CL_OUT_OF_RESOURCES) code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return code ? ip_cl_fail(err, code, "clCreateBuffer", NULL)
                    : ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                              "a buffer of %zu bytes is over what is left of the memory limit", n);
    }
    buffer->device = ip_device_hold(device);
    buffer->is_single = true;
    buffer->size_bytes = buffer->capacity_bytes = n;
    atomic_init(&buffer->refs, 1);
    atomic_fetch_add_explicit(&device->bytes_uploaded, n, memory_order_relaxed);
    *out = buffer;
    return IMGPAR_OK;
}

imgpar_status ip_buffer_new_with(ip_device *device, const void *data, size_t n, ip_buffer **out, ip_error *err)
{
    *out = NULL;
    if (n > 0 && n <= PARAMETERS_BYTES && device->facts.fills_new_buffers) return new_with(device, data, n, out, err);
    imgpar_status st = ip_buffer_new(device, n ? n : 1, out, err);
    if (!st) st = ip_buffer_write(*out, 0, data, n, err);
    if (st) {
        ip_buffer_release(*out);
        *out = NULL;
    }
    return st;
}

/* Kernels ask for no more than the alignment of an element; this is what malloc() gives, which has all of them. */
enum { SHARED_ALIGN = 16 };

bool ip_device_shares(const ip_device *device, const void *host)
{
    return device->facts.info.has_unified_memory && (uintptr_t)host % SHARED_ALIGN == 0;
}

ip_device *ip_buffer_device(const ip_buffer *buffer) { return buffer->device; }

void *ip_buffer_host(const ip_buffer *buffer) { return buffer->host; }

/* Its memory is not ours, so it counts against no budget. */
imgpar_status ip_buffer_wrap(ip_device *device, void *host, size_t size_bytes,
                             void (*on_release)(void *user, void *host), void *user, ip_buffer **out, ip_error *err)
{
    cl_int code;
    *out = NULL;
    ip_buffer *buffer = ip_zalloc(sizeof *buffer);
    if (!buffer) return ip_fail_memory(err, "wrapping memory");
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
    buffer->mem = ip_cl_may(&code) ? clCreateBuffer(device->context, flags, size_bytes, host, &code) : NULL;
    if (code) {
        ip_free(buffer);
        return ip_cl_fail(err, code, "clCreateBuffer", NULL);
    }
    buffer->device = ip_device_hold(device);
    buffer->size_bytes = buffer->capacity_bytes = size_bytes;
    buffer->host = host;
    buffer->on_release = on_release;
    buffer->user = user;
    atomic_init(&buffer->refs, 1);
    *out = buffer;
    return IMGPAR_OK;
}

ip_buffer *ip_buffer_retain(ip_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

/* The end of a buffer on memory of somebody else. */
static void unwrap(ip_buffer *buffer)
{
    ip_device *device = buffer->device;
    if (buffer->pending.written) IP_CL(clWaitForEvents(1, &buffer->pending.written));
    if (buffer->pending.n_reads > 0) IP_CL(clWaitForEvents((cl_uint)buffer->pending.n_reads, buffer->pending.reads));
    ip_pending_forget(&buffer->pending); /* nobody else knows the buffer any more */
    clReleaseMemObject(buffer->mem);
    if (buffer->on_release) buffer->on_release(buffer->user, buffer->host);
    ip_free(buffer);
    ip_device_drop(device);
}

void ip_buffer_release(ip_buffer *buffer)
{
    if (!buffer || (buffer->device && ip_device_is_of_the_parent(buffer->device))) return;
    if (atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1) return;
    if (buffer->host) {
        unwrap(buffer);
        return;
    }
    ip_device *device = buffer->device;
    ip_pool *pool = &device->pool;
    pthread_mutex_lock(&pool->lock);
    buffer->device = NULL;
    if (buffer->is_single) {
        destroy(pool, buffer);
    } else {
        buffer->next = pool->idle;
        pool->idle = buffer;
        pool->idle_bytes += buffer->capacity_bytes;
    }
    while (pool->idle_bytes > pool->budget_bytes / 2 && free_oldest(pool))
        continue;
    pthread_mutex_unlock(&pool->lock);
    ip_device_drop(device);
}

size_t ip_buffer_size(const ip_buffer *buffer) { return buffer->size_bytes; }

void ip_pool_limit(ip_pool *pool, uint64_t budget_bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->budget_bytes = budget_bytes;
    while (pool->held_bytes > pool->budget_bytes && free_oldest(pool))
        continue;
    pthread_mutex_unlock(&pool->lock);
}

uint64_t ip_device_budget_left(ip_device *device)
{
    ip_pool *pool = &device->pool;
    pthread_mutex_lock(&pool->lock);
    uint64_t left = budget_left(pool);
    pthread_mutex_unlock(&pool->lock);
    return left;
}

/* ---- copies ------------------------------------------------------------------------ */

static imgpar_status check_bounds(const ip_buffer *buffer, size_t offset, size_t n, ip_error *err)
{
    if (offset <= buffer->size_bytes && n <= buffer->size_bytes - offset) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_INTERNAL, "copy of %zu bytes at %zu goes beyond a buffer of %zu", n, offset,
                   buffer->size_bytes);
}

/* What a copy to or from buffer has to wait for. */
static imgpar_status find_waits(ip_buffer *buffer, bool writes, ip_waits *waits, ip_error *err)
{
    pthread_mutex_lock(&buffer->device->order);
    bool ok = ip_waits_add(waits, &buffer->pending, writes);
    pthread_mutex_unlock(&buffer->device->order);
    return ok ? IMGPAR_OK : ip_fail_memory(err, "copying a buffer");
}

imgpar_status ip_buffer_write(ip_buffer *buffer, size_t offset, const void *src, size_t n, ip_error *err)
{
    ip_device *device = buffer->device;
    ip_waits waits = { NULL, 0, 0 };
    imgpar_status st = check_bounds(buffer, offset, n, err);
    if (st || n == 0) return st;
    st = find_waits(buffer, true, &waits, err);
    if (!st) {
        cl_int code = IP_CL(
            clEnqueueWriteBuffer(device->copies, buffer->mem, CL_TRUE, offset, n, src, waits.n, waits.events, NULL));
        if (code) st = ip_cl_fail(err, code, "clEnqueueWriteBuffer", NULL);
    }
    ip_waits_clear(&waits);
    if (!st) atomic_fetch_add_explicit(&device->bytes_uploaded, n, memory_order_relaxed);
    return st;
}

imgpar_status ip_buffer_read(ip_buffer *buffer, size_t offset, void *dst, size_t n, ip_error *err)
{
    ip_device *device = buffer->device;
    ip_waits waits = { NULL, 0, 0 };
    imgpar_status st = check_bounds(buffer, offset, n, err);
    if (st || n == 0) return st;
    st = find_waits(buffer, false, &waits, err);
    if (!st) {
        cl_int code = IP_CL(
            clEnqueueReadBuffer(device->copies, buffer->mem, CL_TRUE, offset, n, dst, waits.n, waits.events, NULL));
        if (code) st = ip_cl_fail(err, code, "clEnqueueReadBuffer", NULL);
    }
    ip_waits_clear(&waits);
    if (!st) atomic_fetch_add_explicit(&device->bytes_downloaded, n, memory_order_relaxed);
    return st;
}

/*
 * Note [Maps]
 * Several threads may look at a buffer at once, to encode it for one. They share one map of OpenCL's: PoCL frees what
 * it mapped for one thread while another one maps the same buffer. So the first look maps, and the last one unmaps.
 * Memory of the host that a device works in by itself needs no map: two commands fewer, each of which wakes a thread of
 * the driver's, were 80 us of the 170 that an evaluation of 64 x 64 pixels took.
 */
static bool needs_map(const ip_buffer *buffer) { return !buffer->host || !buffer->device->facts.works_in_host_memory; }

static imgpar_status map(ip_buffer *buffer, ip_error *err)
{
    ip_device *device = buffer->device;
    cl_int code = CL_SUCCESS;
    if (ip_cl_may(&code))
        buffer->mapped = clEnqueueMapBuffer(device->copies, buffer->mem, CL_TRUE, CL_MAP_READ, 0, buffer->size_bytes, 0,
                                            NULL, NULL, &code);
    if (code) return ip_cl_fail(err, code, "clEnqueueMapBuffer", NULL);
    if (!device->facts.info.has_unified_memory)
        atomic_fetch_add_explicit(&device->bytes_downloaded, buffer->size_bytes, memory_order_relaxed);
    return IMGPAR_OK;
}

imgpar_status ip_buffer_map(ip_buffer *buffer, void **host, ip_error *err)
{
    ip_pool *pool = &buffer->device->pool;
    *host = NULL;
    imgpar_status st = ip_buffer_wait(buffer, err); /* before the lock: others' buffers may be ready */
    if (st) return st;
    if (!needs_map(buffer)) {
        *host = buffer->host;
        return IMGPAR_OK;
    }
    pthread_mutex_lock(&pool->maps);
    if (buffer->n_maps == 0) st = map(buffer, err);
    if (!st) {
        buffer->n_maps++;
        *host = buffer->mapped;
    }
    pthread_mutex_unlock(&pool->maps);
    return st;
}

/* Whoever uses the memory next must find it given back, so this waits; nobody can act on a failure. */
void ip_buffer_unmap(ip_buffer *buffer, void *host)
{
    if (!host || !needs_map(buffer)) return;
    cl_command_queue copies = buffer->device->copies;
    pthread_mutex_lock(&buffer->device->pool.maps);
    if (--buffer->n_maps == 0 && !clEnqueueUnmapMemObject(copies, buffer->mem, host, 0, NULL, NULL)) clFinish(copies);
    pthread_mutex_unlock(&buffer->device->pool.maps);
}

imgpar_status ip_buffer_wait(ip_buffer *buffer, ip_error *err)
{
    ip_waits waits = { NULL, 0, 0 };
    imgpar_status st = find_waits(buffer, false, &waits, err);
    if (!st && waits.n > 0) {
        cl_int code = IP_CL(clWaitForEvents(waits.n, waits.events));
        if (code) st = ip_cl_fail(err, code, "clWaitForEvents", NULL);
    }
    ip_waits_clear(&waits);
    return st;
}
