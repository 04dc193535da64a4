/* SPDX-License-Identifier: MIT */
/* Commands on buffers: copies, fills, maps. Copies of boxes are the rectangular ones of OpenCL, which do straight ones
 * too. Buffers that are images have calls of their own, which count in texels. */
#include "cl/cl.h"

#include "base/dtype.h"
#include "run/shaders.h"

#include <math.h>
#include <string.h>

static imgpar_status check_objects(const char *name, const imgpar_cl_queue *q, const imgpar_cl_buffer *b, ip_error *err)
{
    if (!q || !b) return ip_cl_null(err, name, q ? "the buffer" : "the queue");
    if (q->ctx != b->ctx)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: the buffer is of another context than the queue", name);
    return ip_context_check(q->ctx, err);
}

/* ---- between host and buffer ------------------------------------------------------------------------ */

typedef struct transfer {
    const imgpar_cl_buffer *buffer;
    ip_cl_box box;
    const void *src;
    void *dst;
} transfer;

/* A box of an image, in texels. */
typedef struct texel_box {
    size_t origin[3], extent[3];
} texel_box;

static texel_box texels_of(const imgpar_cl_buffer *b, const ip_cl_box *box)
{
    const size_t n = b->layout.element_bytes;
    return (texel_box){ { box->offset[0] / n, box->offset[1], 0 }, { box->extent[0] / n, box->extent[1], 1 } };
}

static cl_int enqueue_write(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    static const size_t zero[3] = { 0, 0, 0 };
    const transfer *t = argument;
    const imgpar_cl_layout *l = &t->buffer->layout;
    const texel_box at = texels_of(t->buffer, &t->box);
    if (t->buffer->is_image)
        return clEnqueueWriteImage(queue, t->buffer->mem, CL_FALSE, at.origin, at.extent, t->box.host_row_pitch, 0,
                                   t->src, w->n, w->events, event);
    return clEnqueueWriteBufferRect(queue, t->buffer->mem, CL_FALSE, t->box.offset, zero, t->box.extent,
                                    l->row_pitch_bytes, l->slice_pitch_bytes, t->box.host_row_pitch,
                                    t->box.host_slice_pitch, t->src, w->n, w->events, event);
}

static cl_int enqueue_read(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    static const size_t zero[3] = { 0, 0, 0 };
    const transfer *t = argument;
    const imgpar_cl_layout *l = &t->buffer->layout;
    const texel_box at = texels_of(t->buffer, &t->box);
    if (t->buffer->is_image)
        return clEnqueueReadImage(queue, t->buffer->mem, CL_FALSE, at.origin, at.extent, t->box.host_row_pitch, 0,
                                  t->dst, w->n, w->events, event);
    return clEnqueueReadBufferRect(queue, t->buffer->mem, CL_FALSE, t->box.offset, zero, t->box.extent,
                                   l->row_pitch_bytes, l->slice_pitch_bytes, t->box.host_row_pitch,
                                   t->box.host_slice_pitch, t->dst, w->n, w->events, event);
}

imgpar_status imgpar_cl_write(imgpar_cl_queue *q, imgpar_cl_buffer *b, const imgpar_cl_region *region, const void *src,
                              const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    transfer t = { .buffer = b, .src = src };
    ip_cl_order_begin(order);
    if (check_objects("write", q, b, &err)) return ip_cl_say(&err);
    if (!src)
        ip_cl_null(&err, "write", "src");
    else if (b->access == IMGPAR_CL_OUT)
        ip_fail(&err, IMGPAR_E_ARGUMENT, "write: the buffer is IMGPAR_CL_OUT: kernels write it, the host reads");
    if (!err.status && !ip_cl_box_of("write", b, region, &t.box, &err)) {
        const ip_cl_use use = { b->memory, b, true };
        const ip_cl_command c = { .queue = q,
                                  .name = "write",
                                  .call = b->is_image ? "clEnqueueWriteImage" : "clEnqueueWriteBufferRect",
                                  .order = order,
                                  .uses = &use,
                                  .n_uses = 1,
                                  .bytes = t.box.bytes,
                                  .enqueue = enqueue_write,
                                  .argument = &t };
        if (!ip_cl_submit(&c, &err))
            atomic_fetch_add_explicit(&q->device->bytes_uploaded, t.box.bytes, memory_order_relaxed);
    }
    return ip_cl_say(&err);
}

imgpar_status imgpar_cl_read(imgpar_cl_queue *q, imgpar_cl_buffer *b, const imgpar_cl_region *region, void *dst,
                             const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    transfer t = { .buffer = b, .dst = dst };
    ip_cl_order_begin(order);
    if (check_objects("read", q, b, &err)) return ip_cl_say(&err);
    if (!dst) ip_cl_null(&err, "read", "dst");
    if (!err.status && !ip_cl_box_of("read", b, region, &t.box, &err)) {
        const ip_cl_use use = { b->memory, b, false };
        const ip_cl_command c = { .queue = q,
                                  .name = "read",
                                  .call = b->is_image ? "clEnqueueReadImage" : "clEnqueueReadBufferRect",
                                  .order = order,
                                  .uses = &use,
                                  .n_uses = 1,
                                  .bytes = t.box.bytes,
                                  .enqueue = enqueue_read,
                                  .argument = &t };
        if (!ip_cl_submit(&c, &err))
            atomic_fetch_add_explicit(&q->device->bytes_downloaded, t.box.bytes, memory_order_relaxed);
    }
    return ip_cl_say(&err);
}

/* ---- between buffers ------------------------------------------------------------------------------------- */

typedef struct copying {
    const imgpar_cl_buffer *from, *to;
    ip_cl_box from_box, to_box;
} copying;

/* Where the first byte of a box lies in its buffer. */
static size_t first_byte(const imgpar_cl_buffer *b, const ip_cl_box *box)
{
    const imgpar_cl_layout *l = &b->layout;
    return box->offset[0] + box->offset[1] * l->row_pitch_bytes + box->offset[2] * l->slice_pitch_bytes;
}

static cl_int enqueue_copy_of_image(cl_command_queue queue, const copying *c, const ip_waits *w, cl_event *event)
{
    const texel_box from = texels_of(c->from, &c->from_box), to = texels_of(c->to, &c->to_box);
    if (!c->from->is_image)
        return clEnqueueCopyBufferToImage(queue, c->from->mem, c->to->mem, first_byte(c->from, &c->from_box), to.origin,
                                          to.extent, w->n, w->events, event);
    if (!c->to->is_image)
        return clEnqueueCopyImageToBuffer(queue, c->from->mem, c->to->mem, from.origin, from.extent,
                                          first_byte(c->to, &c->to_box), w->n, w->events, event);
    return clEnqueueCopyImage(queue, c->from->mem, c->to->mem, from.origin, to.origin, from.extent, w->n, w->events,
                              event);
}

static bool is_of_image(const copying *c) { return c->from->is_image || c->to->is_image; }

static cl_int enqueue_copy(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    const copying *c = argument;
    const imgpar_cl_layout *f = &c->from->layout, *t = &c->to->layout;
    if (is_of_image(c)) return enqueue_copy_of_image(queue, c, w, event);
    return clEnqueueCopyBufferRect(queue, c->from->mem, c->to->mem, c->from_box.offset, c->to_box.offset,
                                   c->from_box.extent, f->row_pitch_bytes, f->slice_pitch_bytes, t->row_pitch_bytes,
                                   t->slice_pitch_bytes, w->n, w->events, event);
}

static bool overlap(size_t a, size_t n_a, size_t b, size_t n_b) { return a < b + n_b && b < a + n_a; }

/* Whether any byte may be in both boxes: exactly, where both have the pitches of one buffer; else by their spans. */
static bool boxes_overlap(const copying *c)
{
    const imgpar_cl_layout *f = &c->from->layout, *t = &c->to->layout;
    if (c->from->memory != c->to->memory) return false;
    bool same_pitches = f->row_pitch_bytes == t->row_pitch_bytes && f->slice_pitch_bytes == t->slice_pitch_bytes;
    if (same_pitches && c->from->offset_bytes == c->to->offset_bytes) {
        for (int d = 0; d < 3; d++)
            if (!overlap(c->from_box.offset[d], c->from_box.extent[d], c->to_box.offset[d], c->to_box.extent[d]))
                return false;
        return true;
    }
    return overlap(c->from->offset_bytes, c->from->size_bytes, c->to->offset_bytes, c->to->size_bytes);
}

/* Images are copied to images of the same texels; of other buffers OpenCL takes rows that lie one after the other. */
static imgpar_status check_images(const copying *c, ip_error *err)
{
    const imgpar_cl_image *f = &c->from->image, *t = &c->to->image;
    bool both = c->from->is_image && c->to->is_image;
    if (both && (f->dtype != t->dtype || f->channels != t->channels || !f->is_normalized != !t->is_normalized))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "copy: the images differ in dtype, channels or normalization");
    if (!both && !(c->from->is_image ? c->to_box : c->from_box).is_straight)
        return ip_fail(err, IMGPAR_E_ARGUMENT,
                       "copy: the buffer's rows do not lie one after the other, as a copy with an image wants");
    return IMGPAR_OK;
}

static imgpar_status check_copy(const copying *c, ip_error *err)
{
    for (int d = 0; d < 3; d++)
        if (c->from_box.extent[d] != c->to_box.extent[d])
            return ip_fail(err, IMGPAR_E_SHAPE,
                           "copy: the regions are %zu x %zu x %zu and %zu x %zu x %zu (bytes, rows, slices)",
                           c->from_box.extent[0], c->from_box.extent[1], c->from_box.extent[2], c->to_box.extent[0],
                           c->to_box.extent[1], c->to_box.extent[2]);
    if (is_of_image(c) && check_images(c, err)) return err->status;
    if (boxes_overlap(c)) return ip_fail(err, IMGPAR_E_ARGUMENT, "copy: the regions overlap");
    return IMGPAR_OK;
}

imgpar_status imgpar_cl_copy(imgpar_cl_queue *q, imgpar_cl_buffer *from, const imgpar_cl_region *from_region,
                             imgpar_cl_buffer *to, const imgpar_cl_region *to_region, const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    copying c = { .from = from, .to = to };
    ip_cl_order_begin(order);
    if (check_objects("copy", q, from, &err) || check_objects("copy", q, to, &err) ||
        ip_cl_box_of("copy", from, from_region, &c.from_box, &err) ||
        ip_cl_box_of("copy", to, to_region, &c.to_box, &err) || check_copy(&c, &err))
        return ip_cl_say(&err);
    const ip_cl_use uses[] = { { from->memory, from, false }, { to->memory, to, true } };
    const ip_cl_command command = { .queue = q,
                                    .name = "copy",
                                    .call = is_of_image(&c) ? "a copy of an image" : "clEnqueueCopyBufferRect",
                                    .order = order,
                                    .uses = uses,
                                    .n_uses = 2,
                                    .bytes = c.from_box.bytes,
                                    .enqueue = enqueue_copy,
                                    .argument = &c };
    ip_cl_submit(&command, &err);
    return ip_cl_say(&err);
}

/* ---- fills -------------------------------------------------------------------------------------------------- */

/* OpenCL fills straight ranges with patterns of 1, 2, 4 ... 128 bytes; boxes and other elements are filled by a
 * kernel. */
enum { MAX_PATTERN = 128, MAX_ELEMENT = 4096 };

typedef struct filling {
    const imgpar_cl_buffer *buffer;
    ip_cl_box box;
    const void *element;
    cl_kernel kernel; /* NULL: by OpenCL */
} filling;

/* A texel as OpenCL wants it: four floats, ints or uints. */
static cl_int enqueue_fill_of_image(cl_command_queue queue, const filling *f, const ip_waits *w, cl_event *event)
{
    const imgpar_cl_image *image = &f->buffer->image;
    const ip_dtype_facts *facts = ip_dtype(image->dtype);
    const texel_box at = texels_of(f->buffer, &f->box);
    union {
        cl_float real[4];
        cl_int integer[4];
        cl_uint natural[4];
    } color = { .natural = { 0 } };
    for (int c = 0; c < image->channels; c++) {
        double v = ip_load_number(image->dtype, (const unsigned char *)f->element + facts->size_bytes * (unsigned)c);
        if (facts->is_float || image->is_normalized)
            color.real[c] = (cl_float)(facts->is_float ? v : fmax(v / facts->maximum, -1.0));
        else if (facts->is_signed)
            color.integer[c] = (cl_int)v;
        else
            color.natural[c] = (cl_uint)v;
    }
    return clEnqueueFillImage(queue, f->buffer->mem, &color, at.origin, at.extent, w->n, w->events, event);
}

static cl_int enqueue_fill(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    const filling *f = argument;
    if (f->buffer->is_image) return enqueue_fill_of_image(queue, f, w, event);
    if (f->kernel)
        return clEnqueueNDRangeKernel(queue, f->kernel, 3, NULL, f->box.extent, (const size_t[]){ 1, 1, 1 }, w->n,
                                      w->events, event);
    return clEnqueueFillBuffer(queue, f->buffer->mem, f->element, f->buffer->layout.element_bytes,
                               first_byte(f->buffer, &f->box), f->box.bytes, w->n, w->events, event);
}

static bool opencl_fills(const filling *f)
{
    size_t n = f->buffer->layout.element_bytes;
    bool is_pattern = n <= MAX_PATTERN && (n & (n - 1)) == 0;
    return is_pattern && f->box.is_straight && first_byte(f->buffer, &f->box) % n == 0;
}

/* The kernel's own copy of the element goes with its last argument: memory of the pool, written before. */
static imgpar_status prepare_kernel(imgpar_cl_queue *q, filling *f, ip_program **program, ip_buffer **element,
                                    ip_error *err)
{
    const imgpar_cl_layout *l = &f->buffer->layout;
    const cl_ulong numbers[] = { first_byte(f->buffer, &f->box), l->row_pitch_bytes, l->slice_pitch_bytes,
                                 l->element_bytes };
    cl_int code;
    imgpar_status st = ip_program_get(q->device, ip_shader_text("fill"), "", program, NULL, err);
    if (!st) st = ip_buffer_new(q->device, l->element_bytes, element, err);
    if (!st) st = ip_buffer_write(*element, 0, f->element, l->element_bytes, err);
    if (st) return st;
    f->kernel = ip_cl_may(&code) ? clCreateKernel((*program)->program, "fill", &code) : NULL;
    if (code) return ip_cl_fail(err, code, "clCreateKernel", "fill");
    code = IP_CL(clSetKernelArg(f->kernel, 0, sizeof(cl_mem), &f->buffer->mem));
    if (!code) code = IP_CL(clSetKernelArg(f->kernel, 1, sizeof(cl_mem), &(*element)->mem));
    for (cl_uint k = 0; !code && k < 4; k++)
        code = IP_CL(clSetKernelArg(f->kernel, k + 2, sizeof numbers[k], &numbers[k]));
    return code ? ip_cl_fail(err, code, "clSetKernelArg", "fill") : IMGPAR_OK;
}

static imgpar_status fill(imgpar_cl_queue *q, filling *f, const imgpar_cl_order *order, ip_error *err)
{
    ip_program *program = NULL;
    ip_buffer *element = NULL;
    bool is_image = f->buffer->is_image, by_kernel = !is_image && !opencl_fills(f);
    imgpar_status st = by_kernel ? prepare_kernel(q, f, &program, &element, err) : IMGPAR_OK;
    if (!st) {
        const ip_cl_use uses[] = { { f->buffer->memory, (imgpar_cl_buffer *)f->buffer, true },
                                   { element, NULL, false } };
        const ip_cl_command c = { .queue = q,
                                  .name = "fill",
                                  .call = by_kernel  ? "clEnqueueNDRangeKernel"
                                          : is_image ? "clEnqueueFillImage"
                                                     : "clEnqueueFillBuffer",
                                  .order = order,
                                  .uses = uses,
                                  .n_uses = by_kernel ? 2 : 1,
                                  .bytes = f->box.bytes,
                                  .enqueue = enqueue_fill,
                                  .argument = f };
        st = ip_cl_submit(&c, err);
    }
    if (f->kernel) clReleaseKernel(f->kernel);
    ip_buffer_release(element);
    ip_program_release(program);
    return st;
}

imgpar_status imgpar_cl_fill(imgpar_cl_queue *q, imgpar_cl_buffer *b, const imgpar_cl_region *region,
                             const void *element, const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    filling f = { .buffer = b, .element = element };
    ip_cl_order_begin(order);
    if (check_objects("fill", q, b, &err)) return ip_cl_say(&err);
    if (!element)
        ip_cl_null(&err, "fill", "the element");
    else if (b->layout.element_bytes > MAX_ELEMENT)
        ip_fail(&err, IMGPAR_E_LIMIT, "fill: an element of %zu bytes is over %d", b->layout.element_bytes, MAX_ELEMENT);
    if (!err.status && !ip_cl_box_of("fill", b, region, &f.box, &err)) fill(q, &f, order, &err);
    return ip_cl_say(&err);
}

/* ---- maps ------------------------------------------------------------------------------------------------------ */

typedef struct mapping {
    imgpar_cl_buffer *buffer;
    cl_map_flags flags;
    void *memory;
} mapping;

static cl_int enqueue_map(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    mapping *m = argument;
    cl_int code;
    m->memory = clEnqueueMapBuffer(queue, m->buffer->mem, CL_FALSE, m->flags, 0, m->buffer->size_bytes, w->n, w->events,
                                   event, &code);
    if (!code) { /* the order lock is held */
        m->buffer->mapped = m->memory;
        m->buffer->mapped_writes = m->flags & CL_MAP_WRITE;
    }
    return code;
}

static cl_int enqueue_unmap(cl_command_queue queue, void *argument, const ip_waits *w, cl_event *event)
{
    imgpar_cl_buffer *b = argument;
    cl_int code = clEnqueueUnmapMemObject(queue, b->mem, b->mapped, w->n, w->events, event);
    if (!code) /* the order lock is held: of two threads that unmap one does */
        b->mapped = NULL;
    return code;
}

static imgpar_status map(imgpar_cl_queue *q, imgpar_cl_buffer *b, bool writes, void **memory, ip_error *err)
{
    mapping m = { .buffer = b, .flags = CL_MAP_READ | (writes ? CL_MAP_WRITE : 0) };
    imgpar_cl_event *event = NULL;
    const ip_cl_use use = { b->memory, b, writes };
    const ip_cl_command c = { .queue = q,
                              .name = "map",
                              .call = "clEnqueueMapBuffer",
                              .order = IMGPAR_CL_ORDER(.event = &event),
                              .uses = &use,
                              .n_uses = 1,
                              .enqueue = enqueue_map,
                              .argument = &m };
    imgpar_status st = ip_cl_submit(&c, err);
    if (!st) st = ip_cl_event_finish(event, err);
    imgpar_cl_event_release(event);
    if (!st) *memory = m.memory;
    return st;
}

imgpar_status imgpar_cl_map(imgpar_cl_queue *q, imgpar_cl_buffer *b, int writes, void **memory)
{
    ip_error err = { .status = IMGPAR_OK };
    if (memory) *memory = NULL;
    if (!memory)
        ip_cl_null(&err, "map", "memory");
    else if (!check_objects("map", q, b, &err)) {
        if (b->is_image)
            ip_fail(&err, IMGPAR_E_ARGUMENT, "map: the buffer is an image; write and read it");
        else if (b->whole)
            ip_fail(&err, IMGPAR_E_ARGUMENT, "map: the buffer is a part of another; map that one");
        else
            map(q, b, writes != 0, memory, &err);
    }
    return ip_cl_say(&err);
}

imgpar_status imgpar_cl_unmap(imgpar_cl_queue *q, imgpar_cl_buffer *b, const imgpar_cl_order *order)
{
    ip_error err = { .status = IMGPAR_OK };
    ip_cl_order_begin(order);
    if (check_objects("unmap", q, b, &err)) return ip_cl_say(&err);
    pthread_mutex_lock(&q->device->order);
    const ip_cl_use use = { b->memory, b, b->mapped_writes };
    pthread_mutex_unlock(&q->device->order);
    const ip_cl_command c = { .queue = q,
                              .name = "unmap",
                              .call = "clEnqueueUnmapMemObject",
                              .order = order,
                              .uses = &use,
                              .n_uses = 1,
                              .unmaps = true,
                              .enqueue = enqueue_unmap,
                              .argument = b };
    ip_cl_submit(&c, &err);
    return ip_cl_say(&err);
}
