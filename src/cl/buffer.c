/* SPDX-License-Identifier: MIT */
/* Buffers: layouts, memory of the pool or of the user, parts. */
#include "cl/cl.h"

#include <string.h>

/* ---- layouts ----------------------------------------------------------------------------------- */

/* *pitch, where it is 0 the least there is, and what n of them take. */
static imgpar_status pitch_of(const char *function, const char *name, size_t least, size_t n, size_t *pitch,
                              size_t *bytes, ip_error *err)
{
    if (*pitch == 0) *pitch = least;
    if (*pitch < least)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: layout.%s=%zu is below the %zu bytes of its elements", function,
                       name, *pitch, least);
    if (!ip_mul_size(*pitch, n, bytes))
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: the layout has more bytes than memory can", function);
    return IMGPAR_OK;
}

imgpar_status ip_cl_layout(const char *function, const imgpar_cl_layout *given, imgpar_cl_layout *out,
                           size_t *size_bytes, ip_error *err)
{
    size_t e[3] = { 1, 1, 1 }, row_bytes, slice_bytes;
    if (!given) return ip_cl_null(err, function, "the layout");
    *out = (imgpar_cl_layout){ .struct_size = sizeof *out };
    if (ip_struct_in(out, given, function, "layout", err)) return err->status;
    if (out->rank < 1 || out->rank > 3)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: layout.rank=%d is not 1 to 3", function, out->rank);
    if (out->element_bytes < 1) return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: layout.element_bytes is 0", function);
    for (int k = 0; k < 3; k++) {
        if (k < out->rank && out->extent[k] < 1)
            return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: layout.extent[%d] is 0", function, k);
        if (k < out->rank)
            e[3 - out->rank + k] = out->extent[k];
        else
            out->extent[k] = 0;
    }
    if (!ip_mul_size(e[2], out->element_bytes, &row_bytes))
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: the layout has more bytes than memory can", function);
    imgpar_status st = pitch_of(function, "row_pitch_bytes", row_bytes, e[1], &out->row_pitch_bytes, &slice_bytes, err);
    return st ? st
              : pitch_of(function, "slice_pitch_bytes", slice_bytes, e[0], &out->slice_pitch_bytes, size_bytes, err);
}

imgpar_status ip_cl_check_access(const char *function, imgpar_cl_access access, ip_error *err)
{
    if (access == IMGPAR_CL_IN || access == IMGPAR_CL_OUT || access == IMGPAR_CL_INOUT) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: access=%d is none of IMGPAR_CL_IN, _OUT, _INOUT", function,
                   (int)access);
}

/* ---- making -------------------------------------------------------------------------------------- */

imgpar_status ip_cl_buffer_of_memory(imgpar_context *ctx, imgpar_cl_access access, const imgpar_cl_layout *layout,
                                     size_t size_bytes, ip_buffer *memory, imgpar_cl_buffer **out, ip_error *err)
{
    imgpar_cl_buffer *b = ip_zalloc(sizeof *b);
    if (!b) {
        ip_buffer_release(memory);
        return ip_fail_memory(err, "making a buffer");
    }
    atomic_init(&b->refs, 1);
    b->ctx = imgpar_context_retain(ctx);
    b->memory = memory;
    b->mem = memory->mem;
    b->layout = *layout;
    b->size_bytes = size_bytes;
    b->access = access;
    b->is_wrapped = memory->host != NULL;
    ip_cl_alive(ctx, IP_LIVE_BUFFERS, 1);
    *out = b;
    return IMGPAR_OK;
}

imgpar_status imgpar_cl_buffer_new(imgpar_context *ctx, imgpar_cl_access access, const imgpar_cl_layout *layout,
                                   imgpar_cl_buffer **out)
{
    static const char function[] = "buffer_new";
    ip_error err = { .status = IMGPAR_OK };
    ip_device *device;
    imgpar_cl_layout l;
    size_t size_bytes;
    ip_buffer *memory;
    if (!out)
        ip_cl_null(&err, function, "out");
    else
        *out = NULL;
    if (!err.status && !ip_cl_device(ctx, function, &device, &err) && !ip_cl_check_access(function, access, &err) &&
        !ip_cl_layout(function, layout, &l, &size_bytes, &err) && !ip_buffer_new(device, size_bytes, &memory, &err))
        ip_cl_buffer_of_memory(ctx, access, &l, size_bytes, memory, out, &err);
    return ip_cl_say(&err);
}

imgpar_status imgpar_cl_buffer_wrap(imgpar_context *ctx, imgpar_cl_access access, const imgpar_cl_layout *layout,
                                    void *user_memory, void (*on_release)(void *user, void *memory), void *user,
                                    imgpar_cl_buffer **out)
{
    static const char function[] = "buffer_wrap";
    ip_error err = { .status = IMGPAR_OK };
    ip_device *device;
    imgpar_cl_layout l;
    size_t size_bytes;
    ip_buffer *memory = NULL;
    if (out) *out = NULL;
    if (!out || !user_memory) ip_cl_null(&err, function, out ? "the memory" : "out");
    if (!err.status && !ip_cl_device(ctx, function, &device, &err) && !ip_cl_check_access(function, access, &err) &&
        !ip_cl_layout(function, layout, &l, &size_bytes, &err) &&
        !ip_buffer_wrap(device, user_memory, size_bytes, on_release, user, &memory, &err))
        ip_cl_buffer_of_memory(ctx, access, &l, size_bytes, memory, out, &err);
    if (!memory && on_release) on_release(user, user_memory);
    return ip_cl_say(&err);
}

/* ---- parts ------------------------------------------------------------------------------------------ */

static imgpar_status check_part(const imgpar_cl_buffer *b, size_t offset_bytes, size_t size_bytes, ip_error *err)
{
    const size_t align = b->memory->device->facts.base_align_bytes;
    if (align && offset_bytes % align != 0)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "buffer_part: offset_bytes=%zu is not a multiple of %zu, where parts may begin on this device",
                       offset_bytes, align);
    if (offset_bytes > b->size_bytes || size_bytes > b->size_bytes - offset_bytes)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "buffer_part: %zu bytes at %zu go beyond the buffer's %zu", size_bytes,
                       offset_bytes, b->size_bytes);
    return IMGPAR_OK;
}

static imgpar_status make_part(imgpar_cl_buffer *b, size_t offset_bytes, const imgpar_cl_layout *given,
                               imgpar_cl_buffer **out, ip_error *err)
{
    imgpar_cl_layout layout;
    size_t size_bytes;
    cl_int code;
    if (!b) return ip_cl_null(err, "buffer_part", "the buffer");
    if (b->is_image) return ip_fail(err, IMGPAR_E_ARGUMENT, "buffer_part: the buffer is an image, which has no parts");
    if (ip_context_check(b->ctx, err)) return IMGPAR_E_DEVICE_LOST;
    imgpar_status st = ip_cl_layout("buffer_part", given, &layout, &size_bytes, err);
    if (!st) st = check_part(b, offset_bytes, size_bytes, err);
    if (st) return st;
    imgpar_cl_buffer *whole = ip_cl_whole(b), *part = NULL;
    const cl_buffer_region region = { b->offset_bytes + offset_bytes, size_bytes };
    cl_mem mem = ip_cl_may(&code)
                     ? clCreateSubBuffer(whole->mem, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code)
                     : NULL;
    if (code) return ip_cl_fail(err, code, "clCreateSubBuffer", NULL);
    st = ip_cl_buffer_of_memory(b->ctx, b->access, &layout, size_bytes, ip_buffer_retain(whole->memory), &part, err);
    if (st) {
        clReleaseMemObject(mem);
        return st;
    }
    part->whole = imgpar_cl_buffer_retain(whole);
    part->mem = mem;
    part->offset_bytes = region.origin;
    *out = part;
    return IMGPAR_OK;
}

imgpar_status imgpar_cl_buffer_part(imgpar_cl_buffer *buffer, size_t offset_bytes, const imgpar_cl_layout *layout,
                                    imgpar_cl_buffer **out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!out) {
        ip_cl_null(&err, "buffer_part", "out");
    } else {
        *out = NULL;
        make_part(buffer, offset_bytes, layout, out, &err);
    }
    return ip_cl_say(&err);
}

/* ---- their life ---------------------------------------------------------------------------------------- */

imgpar_cl_buffer *imgpar_cl_buffer_retain(imgpar_cl_buffer *b)
{
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

/* A buffer that goes while it is mapped: whoever uses its memory next must find it given back, after what still works
 * on it; a map whose wait failed may do so. Nobody can act on a failure. */
static void unmap(imgpar_cl_buffer *b)
{
    ip_device *device = b->memory->device;
    ip_waits waits = { NULL, 0, 0 };
    pthread_mutex_lock(&device->order);
    bool ok = ip_waits_add(&waits, &b->memory->pending, true) &&
              !clEnqueueUnmapMemObject(device->copies, b->mem, b->mapped, waits.n, waits.events, NULL);
    pthread_mutex_unlock(&device->order);
    ip_waits_clear(&waits);
    if (ok) clFinish(device->copies);
}

void imgpar_cl_buffer_release(imgpar_cl_buffer *b)
{
    if (!b || ip_context_check(b->ctx, NULL) || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (b->mapped) unmap(b);
    if (b->whole) clReleaseMemObject(b->mem); /* commands that use it keep it */
    ip_buffer_release(b->memory);
    imgpar_cl_buffer_release(b->whole);
    ip_cl_alive(b->ctx, IP_LIVE_BUFFERS, -1);
    imgpar_context_release(b->ctx);
    ip_free(b);
}

imgpar_status imgpar_cl_buffer_get_info(const imgpar_cl_buffer *b, imgpar_cl_buffer_info *out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!b || !out) {
        ip_cl_null(&err, "buffer_get_info", b ? "out" : "the buffer");
        return ip_cl_say(&err);
    }
    ip_device *device = b->memory->device;
    pthread_mutex_lock(&device->order);
    bool is_constant = ip_cl_whole((imgpar_cl_buffer *)b)->is_constant;
    pthread_mutex_unlock(&device->order);
    const imgpar_cl_buffer_info info = { .struct_size = sizeof info,
                                         .layout = &b->layout,
                                         .size_bytes = b->size_bytes,
                                         .align_bytes = device->facts.base_align_bytes,
                                         .access = b->access,
                                         .is_shared = b->is_wrapped && device->facts.info.has_unified_memory,
                                         .is_constant = is_constant,
                                         .image = b->is_image ? &b->image : NULL };
    ip_struct_out(out, &info, "buffer_get_info", "out", &err);
    return ip_cl_say(&err);
}
