/* SPDX-License-Identifier: MIT */
/*
 * imgpar_cl.h - the device layer: OpenCL for C programs that have kernels of their own.
 *
 *     static const char text[] = "kernel void scale(global float *a, float by) { a[get_global_id(0)] *= by; }";
 *     float data[1000] = { ... };
 *     imgpar_cl_layout layout = imgpar_cl_vector(1000, sizeof(float));
 *     if (imgpar_context_new("gpu", &ctx) || imgpar_cl_queue_new(ctx, NULL, &queue) ||
 *         imgpar_cl_module_from_text(ctx, text, &module) || imgpar_cl_kernel_new(module, "scale", &kernel) ||
 *         imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &layout, &a) ||
 *         imgpar_cl_write(queue, a, NULL, data, NULL) ||
 *         imgpar_cl_launch(queue, kernel, IMGPAR_CL_WORK(.global = { 1000 }),
 *                          IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a), imgpar_cl_arg_real(2)), NULL) ||
 *         imgpar_cl_read(queue, a, NULL, data, NULL) || imgpar_cl_finish(queue))
 *         fprintf(stderr, "%s\n", imgpar_cl_message());
 *
 * Rules, once for the whole layer:
 *
 * Device. A context is a device. One that computes with the reference interpreter has none: IMGPAR_E_NO_DEVICE, but of
 * imgpar_cl_apply() of a node that has a compute function.
 *
 * Errors. A function that can fail returns a status, and imgpar_cl_message() says in a sentence why. An object that
 * could not be made is NULL in *out. A NULL object is IMGPAR_E_ARGUMENT, never a crash; releasing NULL is legal.
 *
 * Ownership. *_new() and *_retain() give a reference that the caller gives back with *_release(). Objects keep what
 * they need alive, so the order of releases does not matter. Texts and data given to a function are copied or used up
 * before it returns, but for the host memory of asynchronous commands, which must stay until the command is over.
 *
 * Order. A command runs after the commands before it that use the same buffer where one of the two writes it, on
 * whatever queue they are, evaluations of arrays included. So nothing needs to be waited for, but by the host before it
 * uses what imgpar_cl_read() brought. Explicit wait lists (imgpar_cl_order) come on top.
 *
 * C++. In C the fields of IMGPAR_CL_WORK(), IMGPAR_CL_REGION(), IMGPAR_CL_ORDER() and IMGPAR_CL_IMAGE() are named,
 * .global = { 1000 }; C++11 has no such names, so there they are given in the order of the struct:
 * IMGPAR_CL_WORK({ 1000 }, { 64 }).
 *
 * Structs are versioned by struct_size as imgpar.h says; the macros and functions of this header that make one set it.
 * Extents are in elements, slowest first as shapes are: [height, width]; work-items are counted as OpenCL does, fastest
 * first: get_global_id(0) is x.
 *
 * Threads. Every function may be called by several threads at once, also on one object.
 */
#ifndef IMGPAR_CL_H
#define IMGPAR_CL_H

#include <imgpar.h>

#ifdef __cplusplus
/* What the macros of this header need in C++11, which has no compound literals: arguments live until the call is
 * over. */
template <class T> inline const T *imgpar_cl_address(const T &object) { return &object; }
template <class T, size_t N> inline const T *imgpar_cl_first(const T (&&list)[N]) { return list; }
template <class T, size_t N> char (&imgpar_cl_places(const T (&&list)[N]))[N];
extern "C" {
#endif

/* ---- errors -------------------------------------------------------------------- */

/* Why the last call of this thread that failed did so. Borrowed until the thread's next call that fails; "" before
 * the first. */
IMGPAR_API const char *imgpar_cl_message(void);

/* ---- platforms and devices ---------------------------------------------------- */

/* An OpenCL platform, the driver of a vendor. */
typedef struct imgpar_cl_platform {
    const char *name, *vendor, *version;
    unsigned n_devices; /* of any kind, usable by this library or not */
} imgpar_cl_platform;

/* Lists the platforms. *out is a new list of *n pointers for imgpar_free(), which frees all behind them too; none: *n
 * is 0, IMGPAR_OK. */
IMGPAR_API imgpar_status imgpar_cl_platform_list(imgpar_cl_platform ***out, size_t *n);

/* Lists the usable devices, best first: of a kind ("cpu", "gpu", "accelerator"), or of all (NULL). *out is a new
 * list for imgpar_device_list_release(). An unknown kind is IMGPAR_E_ARGUMENT. */
IMGPAR_API imgpar_status imgpar_cl_device_list(const char *kind, imgpar_device ***out, size_t *n);

/* A device in a few lines of text. It goes into the n bytes of buf with a terminator. Returns the length
 * of the whole text, as snprintf() does. */
IMGPAR_API size_t imgpar_cl_device_summary(const imgpar_device *device, char *buf, size_t n);

/* Opens the device with the highest score. score(user, device) is below 0 where the device will not do; of equal ones
 * the first in the list is taken. IMGPAR_E_NO_DEVICE where none will. (By name: imgpar_context_new().) */
IMGPAR_API imgpar_status imgpar_cl_context_choose(double (*score)(void *user, const imgpar_device *device), void *user,
                                                  imgpar_context **out);

/* ---- queues ------------------------------------------------------------------- */

typedef struct imgpar_cl_queue imgpar_cl_queue;   /* commands on their way to a device */
typedef struct imgpar_cl_event imgpar_cl_event;   /* one command: whether it is over, and when it ran */
typedef struct imgpar_cl_buffer imgpar_cl_buffer; /* memory of a device, as an array of elements */
typedef struct imgpar_cl_module imgpar_cl_module; /* compiled OpenCL C: kernels, functions, constants */
typedef struct imgpar_cl_kernel imgpar_cl_kernel; /* an entry of a module; it has no state */

/* What a queue may be told. NULL instead of it: commands are asynchronous and run in order. */
typedef struct imgpar_cl_queue_options {
    size_t struct_size;
    int blocks; /* each command returns when it is over, with its own failure */
    /* commands that need not wait for each other may run together; IMGPAR_E_UNSUPPORTED where the device has no such
     * queues */
    int out_of_order;
    /* Called with each text that imgpar_printf() printed in a kernel, by one thread at a time: the one that is in
     * imgpar_cl_finish(), imgpar_cl_profile() or the last imgpar_cl_queue_release(), or, where the queue blocks, in the
     * launch. It must not call these, nor, where the queue blocks, anything that gives the queue a command. What
     * launches printed is kept by the host until then. NULL: dropped. */
    void (*on_print)(void *user, const char *text);
    void *user;
    /* Memory for what one launch prints, 256 to 2^31 - 1; 0: 65536. 16 bytes are the header's. A text takes 32 bytes,
     * 12 for each argument and its format; each string 32 bytes and its chars; formats and strings are rounded up to
     * 4 bytes. What does not fit is dropped, and a last text says how many were. The launch of a check that failed
     * fails all the same. */
    size_t print_buffer_bytes;
} imgpar_cl_queue_options;

/* A new queue of the context's device. */
IMGPAR_API imgpar_status imgpar_cl_queue_new(imgpar_context *ctx, const imgpar_cl_queue_options *options,
                                             imgpar_cl_queue **out);
IMGPAR_API imgpar_cl_queue *imgpar_cl_queue_retain(imgpar_cl_queue *queue);
/* NULL is legal. The last release waits until all commands are over. */
IMGPAR_API void imgpar_cl_queue_release(imgpar_cl_queue *queue);

/* Waits until all commands of the queue are over; then what kernels printed is delivered. Returns the failure of the
 * first command that failed since the last call; IMGPAR_E_CHECK where a check in a kernel failed. */
IMGPAR_API imgpar_status imgpar_cl_finish(imgpar_cl_queue *queue);

/* When, in the order of the queue, a command runs. NULL instead of it: as the rules above say, and no event. */
typedef struct imgpar_cl_order {
    size_t struct_size;
    imgpar_cl_event *const *after; /* the command waits for these; events of the same context */
    size_t n_after;
    imgpar_cl_event **event; /* gets a new event for the command; NULL: none. NULL in it where the call fails */
} imgpar_cl_order;
/* IMGPAR_CL_ORDER(.event = &done) */
#ifdef __cplusplus
#define IMGPAR_CL_ORDER(...) imgpar_cl_address(imgpar_cl_order{ sizeof(imgpar_cl_order), __VA_ARGS__ })
#else
#define IMGPAR_CL_ORDER(...) (&(imgpar_cl_order){ .struct_size = sizeof(imgpar_cl_order), __VA_ARGS__ })
#endif

/* Runs task(user) on the host in its turn: on a thread of the driver, or the caller's, when the commands before it in
 * the queue are over, and later ones after it; in a queue that runs out of order, when order->after is over. task must
 * not call functions of the library. Where it returns anything but IMGPAR_OK the command failed, as imgpar_cl_wait()
 * and imgpar_cl_finish() tell; commands that wait for it run all the same. */
IMGPAR_API imgpar_status imgpar_cl_host_task(imgpar_cl_queue *queue, imgpar_status (*task)(void *user), void *user,
                                             const imgpar_cl_order *order);

/* ---- events and the profile ----------------------------------------------------- */

IMGPAR_API imgpar_cl_event *imgpar_cl_event_retain(imgpar_cl_event *event);
IMGPAR_API void imgpar_cl_event_release(imgpar_cl_event *event);

/* Waits until n commands are over; returns the failure of the first one that failed. */
IMGPAR_API imgpar_status imgpar_cl_wait(imgpar_cl_event *const *events, size_t n);

/* Whether a command is over (1 or 0), without waiting. Where it failed, its failure is returned. */
IMGPAR_API imgpar_status imgpar_cl_event_is_done(imgpar_cl_event *event, int *done);

/* When a command ran, in nanoseconds of the device's clock; tasks of the host: of the host's monotonic clock. */
typedef struct imgpar_cl_times {
    size_t struct_size;
    uint64_t queued_ns, submitted_ns, started_ns, ended_ns;
} imgpar_cl_times;
/* When a command ran. Waits for it, then fills *out, whose struct_size is set by the caller. */
IMGPAR_API imgpar_status imgpar_cl_event_times(imgpar_cl_event *event, imgpar_cl_times *out);

/* The commands of a queue that have one name: a kernel's, or "write", "read", "copy", "fill", "map", "unmap",
 * "task". */
typedef struct imgpar_cl_profile_row {
    char name[64];
    uint64_t count;
    double total_ms, least_ms, most_ms; /* on the device */
    uint64_t bytes;                     /* moved; of kernels 0 */
} imgpar_cl_profile_row;
/* The commands of a queue by name, with their times: one row a name in the order of their first use. Waits until all
 * commands are over. *rows is a new list of *n pointers for imgpar_free(), which frees all behind them too. */
IMGPAR_API imgpar_status imgpar_cl_profile(imgpar_cl_queue *queue, imgpar_cl_profile_row ***rows, size_t *n);
/* The same as a table to be printed; *out is new, for imgpar_free(). */
IMGPAR_API imgpar_status imgpar_cl_profile_text(imgpar_cl_queue *queue, char **out);

/* ---- buffers -------------------------------------------------------------------- */

/* Which way data goes through a buffer, as kernels see it. A kernel's argument says by const (or the constant address
 * space) that it reads only; launches are checked against it. */
typedef enum imgpar_cl_access {
    IMGPAR_CL_IN,   /* kernels read it: only const and constant arguments take it */
    IMGPAR_CL_OUT,  /* kernels write it, the host reads: imgpar_cl_write() refuses it; const arguments do */
    IMGPAR_CL_INOUT /* both */
} imgpar_cl_access;

/* The elements of a buffer: extents and how far rows are apart. */
typedef struct imgpar_cl_layout {
    size_t struct_size;
    int rank;                 /* 1 to 3 */
    size_t extent[3];         /* elements: [n], [height, width], [depth, height, width] */
    size_t element_bytes;     /* of a number, a pixel or a struct; 1 or more */
    size_t row_pitch_bytes;   /* from a row to the next; 0: width * element_bytes, the least there is */
    size_t slice_pitch_bytes; /* from a slice to the next; 0: height * row_pitch_bytes, the least there is */
} imgpar_cl_layout;

/* Layouts without padding of a vector, a matrix and a volume. */
static inline imgpar_cl_layout imgpar_cl_vector(size_t n, size_t element_bytes)
{
    imgpar_cl_layout l = { sizeof(imgpar_cl_layout), 1, { n, 0, 0 }, element_bytes, 0, 0 };
    return l;
}
static inline imgpar_cl_layout imgpar_cl_matrix(size_t height, size_t width, size_t element_bytes)
{
    imgpar_cl_layout l = { sizeof(imgpar_cl_layout), 2, { height, width, 0 }, element_bytes, 0, 0 };
    return l;
}
static inline imgpar_cl_layout imgpar_cl_volume(size_t depth, size_t height, size_t width, size_t element_bytes)
{
    imgpar_cl_layout l = { sizeof(imgpar_cl_layout), 3, { depth, height, width }, element_bytes, 0, 0 };
    return l;
}

/* A new buffer, its elements not set. It counts against the context's memory limit: IMGPAR_E_DEVICE_MEMORY. */
IMGPAR_API imgpar_status imgpar_cl_buffer_new(imgpar_context *ctx, imgpar_cl_access access,
                                              const imgpar_cl_layout *layout, imgpar_cl_buffer **out);
/*
 * A buffer on memory of the user, which lies there as layout says. It is borrowed until on_release(user, memory) is
 * called (may be NULL), at the last use or when the call fails. Between imgpar_cl_map() and imgpar_cl_unmap() it
 * belongs to the host, else to the device. A device that shares memory with the host (info.is_shared) uses it where it
 * stands, without a copy; a driver may want page-aligned memory for that.
 */
IMGPAR_API imgpar_status imgpar_cl_buffer_wrap(imgpar_context *ctx, imgpar_cl_access access,
                                               const imgpar_cl_layout *layout, void *memory,
                                               void (*on_release)(void *user, void *memory), void *user,
                                               imgpar_cl_buffer **out);
/*
 * A part of a buffer as a buffer of its own: layout, beginning offset_bytes in, which is a multiple of
 * imgpar_cl_buffer_info.align_bytes. Its access is the buffer's. A command on either waits for those on the other.
 */
IMGPAR_API imgpar_status imgpar_cl_buffer_part(imgpar_cl_buffer *buffer, size_t offset_bytes,
                                               const imgpar_cl_layout *layout, imgpar_cl_buffer **out);
IMGPAR_API imgpar_cl_buffer *imgpar_cl_buffer_retain(imgpar_cl_buffer *buffer);
/* NULL is legal. Commands that use the buffer need no reference to it. */
IMGPAR_API void imgpar_cl_buffer_release(imgpar_cl_buffer *buffer);

typedef struct imgpar_cl_buffer_info {
    size_t struct_size;
    const imgpar_cl_layout *layout; /* with its pitches; borrowed from the buffer */
    size_t size_bytes;              /* on the device, padding included */
    size_t align_bytes;             /* where parts may begin */
    imgpar_cl_access access;
    int is_shared;                       /* memory of the user that the device uses where it stands */
    int is_constant;                     /* an array's value: it cannot be written any more */
    const struct imgpar_cl_image *image; /* its texels; borrowed from the buffer; NULL: it is none */
} imgpar_cl_buffer_info;
/* What a buffer is. Fills *out, whose struct_size is set by the caller. */
IMGPAR_API imgpar_status imgpar_cl_buffer_get_info(const imgpar_cl_buffer *buffer, imgpar_cl_buffer_info *out);

/* ---- images --------------------------------------------------------------------- */

/* The texels of a two-dimensional image. */
typedef struct imgpar_cl_image {
    size_t struct_size;
    size_t width, height;
    imgpar_dtype dtype; /* of a channel: u8, i8, u16, i16, u32, i32, f16 or f32 */
    int channels;       /* 1, 2 or 4; of others kernels read 0, of a missing fourth 1 */
    int is_normalized;  /* integers of 8 and 16 bits that kernels read and write as floats: 255 of u8 is 1.0f */
} imgpar_cl_image;
/* IMGPAR_CL_IMAGE(.width = w, .height = h, .dtype = IMGPAR_F32, .channels = 4) */
#ifdef __cplusplus
#define IMGPAR_CL_IMAGE(...) imgpar_cl_address(imgpar_cl_image{ sizeof(imgpar_cl_image), __VA_ARGS__ })
#else
#define IMGPAR_CL_IMAGE(...) (&(imgpar_cl_image){ .struct_size = sizeof(imgpar_cl_image), __VA_ARGS__ })
#endif

/*
 * A new image in the device's texture memory, its texels not set. It is a buffer of height x width elements, a texel
 * each, and the commands below take it; between an image and another buffer imgpar_cl_copy() takes rows that lie one
 * after the other there. A kernel's parameter image2d_t takes it with imgpar_cl_arg_buffer(): a read_only one as const
 * pointers take buffers, write_only and read_write ones as others do. Parts, maps and imgpar_cl_array() refuse it.
 * IMGPAR_E_UNSUPPORTED where the device has no such images, IMGPAR_E_LIMIT where it is larger than they may be.
 *
 * Samplers are declared in the text of the kernels, and are the device's hardware:
 *     constant sampler_t smooth = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
 *     float4 v = read_imagef(image, smooth, (float2)(x + 0.5f, y + 0.5f));
 * CLK_FILTER_LINEAR takes floats and normalized integers. Its weights are as fine as the device has them, on many
 * 1/256; at() and warp() of arrays compute theirs, which are the same on every device. CLK_ADDRESS_REPEAT and
 * CLK_ADDRESS_MIRRORED_REPEAT want CLK_NORMALIZED_COORDS_TRUE.
 */
IMGPAR_API imgpar_status imgpar_cl_image_new(imgpar_context *ctx, imgpar_cl_access access, const imgpar_cl_image *image,
                                             imgpar_cl_buffer **out);

/* ---- commands on buffers ---------------------------------------------------------- */

/* A box of a buffer's elements, and how far rows and slices are apart in the host's memory. NULL instead of it: all of
 * the buffer, tightly packed in the host's memory. */
typedef struct imgpar_cl_region {
    size_t struct_size;
    size_t offset[3];              /* as in layout.extent: of a matrix { y, x } */
    size_t extent[3];              /* 0: up to the end */
    size_t host_row_pitch_bytes;   /* 0: extent's width * element_bytes */
    size_t host_slice_pitch_bytes; /* 0: extent's height * host_row_pitch_bytes */
} imgpar_cl_region;
/* IMGPAR_CL_REGION(.offset = { 10 }, .extent = { 100 }) */
#ifdef __cplusplus
#define IMGPAR_CL_REGION(...) imgpar_cl_address(imgpar_cl_region{ sizeof(imgpar_cl_region), __VA_ARGS__ })
#else
#define IMGPAR_CL_REGION(...) (&(imgpar_cl_region){ .struct_size = sizeof(imgpar_cl_region), __VA_ARGS__ })
#endif

/* Copies host memory into a region of a buffer. src is used until the command is over. */
IMGPAR_API imgpar_status imgpar_cl_write(imgpar_cl_queue *queue, imgpar_cl_buffer *buffer,
                                         const imgpar_cl_region *region, const void *src, const imgpar_cl_order *order);
/* Copies a region of a buffer to host memory. dst is used until the command is over. */
IMGPAR_API imgpar_status imgpar_cl_read(imgpar_cl_queue *queue, imgpar_cl_buffer *buffer,
                                        const imgpar_cl_region *region, void *dst, const imgpar_cl_order *order);
/* Copies between buffers. Both regions have one extent in bytes; those of one buffer must not overlap. */
IMGPAR_API imgpar_status imgpar_cl_copy(imgpar_cl_queue *queue, imgpar_cl_buffer *from,
                                        const imgpar_cl_region *from_region, imgpar_cl_buffer *to,
                                        const imgpar_cl_region *to_region, const imgpar_cl_order *order);
/* Sets every element of a region. Of what, is told by the element_bytes bytes at element, which are copied. */
IMGPAR_API imgpar_status imgpar_cl_fill(imgpar_cl_queue *queue, imgpar_cl_buffer *buffer,
                                        const imgpar_cl_region *region, const void *element,
                                        const imgpar_cl_order *order);

/* Gives a buffer's memory to the host at *memory. It is laid out as the buffer is; waits until it may be used. writes
 * 0: to be read only. Other commands on the buffer before imgpar_cl_unmap() are refused. Of a shared buffer nothing is
 * copied. */
IMGPAR_API imgpar_status imgpar_cl_map(imgpar_cl_queue *queue, imgpar_cl_buffer *buffer, int writes, void **memory);
/* Gives it back to the device. What the host wrote there is the buffer's. */
IMGPAR_API imgpar_status imgpar_cl_unmap(imgpar_cl_queue *queue, imgpar_cl_buffer *buffer,
                                         const imgpar_cl_order *order);

/* ---- modules and kernels ------------------------------------------------------------ */

/*
 * OpenCL C to be compiled as one: constants, then files, then texts. Each list ends with NULL; NULL instead of one:
 * none. Before them stand, in every module,
 *     IMGPAR_CL 1, IMGPAR_HAS_F64 and IMGPAR_HAS_F16 (0 or 1; double and half are enabled where the device has them)
 *     imgpar_random(seed, index): uint4, four random words (Philox 4x32-10), the same on every device
 *
 * and words for parameters that launches fill in by themselves. They stand behind a kernel's other parameters, in any
 * order; functions that a kernel calls take them as parameters, too, under the same names.
 *
 * IMGPAR_SYMBOL(name): a global or a constant of the module, as a pointer of that name. Between the functions
 *     IMGPAR_GLOBAL(T, name, n);     n elements of a type in global memory, which kernels read and write
 *     IMGPAR_CONSTANT(T, name, n);   the same in constant memory, which they read
 * declare them. They are 0 until something is written there, and stay from launch to launch as long as the module
 * does. imgpar_cl_module_symbol() gives them to the host. Their names are reserved: a parameter that is a pointer to
 * global or constant memory and has the name of one is that one, and of its type. Names have 200 characters at most.
 * Names of kernels that begin with imgpar_ are the library's.
 *
 * IMGPAR_GROUP: local memory, 8 bytes a work-item, by which the work-items of a group tell each other something. All of
 * the group call these together, as they call barrier(), imgpar_sub_group_*() too. Where a work-item has returned, or
 * skips the call by a branch, by && or ?:, or by a loop of another length, the results are undefined. So work-items
 * past the end stay and bring a neutral value: int v = i < n ? a[i] : 0; for a sum. v is an int, uint, long, ulong,
 * float or double; work-items are counted from 0, x first; if the source work-item does not exist, the caller's own v
 * is returned.
 *     imgpar_work_group_any(b), _all(b), _count(b)       bool, bool, uint: whether, and in how many, b is true
 *     imgpar_work_group_reduce_add(v), _min(v), _max(v)  of all; floats are added in an order of the device's
 *     imgpar_work_group_broadcast(v, i), _shuffle(v, i)  v of work-item i, the same for all or each its own
 *     imgpar_work_group_shuffle_up(v, n), _down(v, n)    v of the work-item n before, n behind
 *     imgpar_work_group_shuffle_xor(v, mask)             v of the work-item whose number is the own ^ mask
 *     imgpar_work_group_size(), _local_id()              work-items, and the own number
 * With sub_group instead of work_group they are about a part of the group: a sub-group of the device where it has
 * cl_khr_subgroups with shuffles and ballots, else 32 work-items in the order of their numbers (the last part has what
 * is left). They have imgpar_sub_group_ballot(b), too: uint4, bit i is b of work-item i; imgpar_sub_group_id(),
 * imgpar_num_sub_groups(). Which work-items a sub-group has differs from device to device.
 *
 * IMGPAR_REPORT: memory by which kernels print and check.
 *     imgpar_printf(format, ...) prints to the queue's on_print: up to 119 numbers (%d %u %x %f %g ..., half and bool
 *     too), chars (%c), pointers (%p) and strings (%s: literals and others in constant memory, which end with a 0; of
 *     a bool "true" or "false"), with flags, widths and precisions, * among them, as printf() of C has them. Arguments
 *     tell themselves how wide they are: h and hh cut them, l, ll, z, j and t may stand and say nothing. A conversion
 *     that there is not takes its argument and is printed as it stands. Vectors (%v4f) are not taken: print their
 *     components. What kernels of imgpar_cl_apply() print is dropped.
 *     imgpar_assert(condition), imgpar_check_index(i, n) and imgpar_check_finite(x) make the launch fail, naming
 *     kernel, file, line, work-item and value. The checks are compiled in checked mode only: imgpar_context_set(ctx,
 *     "check", "1") before the module is made, or IMGPAR_CHECK=1; else they do nothing. check_index() gives an index
 *     inside 0..n-1.
 */
typedef struct imgpar_cl_source {
    size_t struct_size;
    const char *const *constants; /* "TILE=16": #define TILE 16; "FAST": #define FAST 1 */
    const char *const *files;     /* paths */
    const char *const *texts;
    const char *options; /* of the device's compiler: "-cl-mad-enable"; NULL: none */
} imgpar_cl_source;

/* Compiles a module. It is one handle for kernels, the functions they call, globals and constants, and lives on one
 * device, the context's. Where that compiled the same before, the code is taken from there; globals and constants are
 * this module's own. IMGPAR_E_COMPILE with the compiler's words in the message. */
IMGPAR_API imgpar_status imgpar_cl_module_new(imgpar_context *ctx, const imgpar_cl_source *source,
                                              imgpar_cl_module **out);
/* The same of a single text. */
IMGPAR_API imgpar_status imgpar_cl_module_from_text(imgpar_context *ctx, const char *text, imgpar_cl_module **out);
IMGPAR_API imgpar_cl_module *imgpar_cl_module_retain(imgpar_cl_module *module);
IMGPAR_API void imgpar_cl_module_release(imgpar_cl_module *module);
/* The names of its kernels in alphabetical order, "scale;sum". Borrowed from the module. */
IMGPAR_API const char *imgpar_cl_module_kernels(const imgpar_cl_module *module);

/* The names of its globals and constants in alphabetical order, "hits;weights"; "": it has none. Borrowed from the
 * module. */
IMGPAR_API const char *imgpar_cl_module_symbols(const imgpar_cl_module *module);
/* A global or constant as a buffer, a vector of its elements. imgpar_cl_write() sets it, imgpar_cl_read() reads it
 * back, before, between and after launches; launches wait for these commands, and these for launches. The host lays
 * elements out as the device does: a float3 takes 16 bytes, and structs have the paddings of OpenCL C. *out is a new
 * reference to the module's buffer; of a constant its access is IMGPAR_CL_IN. */
IMGPAR_API imgpar_status imgpar_cl_module_symbol(imgpar_cl_module *module, const char *name, imgpar_cl_buffer **out);

/* A kernel of the module. A name that is none is IMGPAR_E_ARGUMENT, and the message lists those there are. */
IMGPAR_API imgpar_status imgpar_cl_kernel_new(imgpar_cl_module *module, const char *name, imgpar_cl_kernel **out);
IMGPAR_API imgpar_cl_kernel *imgpar_cl_kernel_retain(imgpar_cl_kernel *kernel);
IMGPAR_API void imgpar_cl_kernel_release(imgpar_cl_kernel *kernel);

typedef struct imgpar_cl_kernel_info {
    size_t struct_size;
    unsigned n_args;       /* those of a launch: what launches fill in is not counted */
    size_t max_work_group; /* work-items that a group of it may have here */
    size_t preferred_multiple;
    size_t required_local[3]; /* reqd_work_group_size(); 0: free */
    uint64_t local_bytes;     /* of local memory, arguments not counted */
    uint64_t private_bytes;   /* a work-item */
} imgpar_cl_kernel_info;
/* What a kernel needs and may have. Fills *out, whose struct_size is set by the caller. */
IMGPAR_API imgpar_status imgpar_cl_kernel_get_info(const imgpar_cl_kernel *kernel, imgpar_cl_kernel_info *out);

/* ---- launching ------------------------------------------------------------------------ */

/* One argument of a launch; made by the functions below. Passed by value and in arrays, so it stays as it is. */
typedef struct imgpar_cl_arg {
    int kind;            /* IMGPAR_CL_ARG_* */
    size_t size_bytes;   /* of local memory or a struct; else 0 */
    const void *pointer; /* a buffer, or a struct; else NULL */
    int64_t integer;     /* a whole number, or which input */
    double real;
} imgpar_cl_arg;

enum {
    IMGPAR_CL_ARG_BUFFER = 1,
    IMGPAR_CL_ARG_LOCAL,
    IMGPAR_CL_ARG_STRUCT,
    IMGPAR_CL_ARG_INT,
    IMGPAR_CL_ARG_REAL,
    IMGPAR_CL_ARG_INPUT,
    IMGPAR_CL_ARG_RESULT
};

/* A parameter of a kernel. */
typedef struct imgpar_cl_arg_info {
    size_t struct_size;
    const char *name, *type; /* "by", "float"; borrowed from the kernel */
    /* which imgpar_cl_arg_*() it takes: IMGPAR_CL_ARG_BUFFER, _LOCAL, _INT, _REAL, or _STRUCT for any other value; 0:
     * a sampler, or an image that is not two-dimensional */
    int kind;
    int is_read_only;  /* a pointer to const, or to constant memory; an image that is read_only */
    int is_constant;   /* a pointer to constant memory */
    size_t size_bytes; /* of a value; 0: the compiler does not tell */
    int is_image;      /* an image2d_t, which takes what imgpar_cl_image_new() made */
} imgpar_cl_arg_info;
/* What a parameter of a kernel takes. index is below n_args of imgpar_cl_kernel_info. Fills *out, whose struct_size is
 * set by the caller. IMGPAR_E_UNSUPPORTED where the driver does not tell. */
IMGPAR_API imgpar_status imgpar_cl_kernel_get_arg_info(const imgpar_cl_kernel *kernel, unsigned index,
                                                       imgpar_cl_arg_info *out);

/* A buffer, for a global or constant pointer. */
static inline imgpar_cl_arg imgpar_cl_arg_buffer(const imgpar_cl_buffer *buffer)
{
    imgpar_cl_arg a = { IMGPAR_CL_ARG_BUFFER, 0, buffer, 0, 0 };
    return a;
}
/* size_bytes of local memory for each group, for a local pointer. */
static inline imgpar_cl_arg imgpar_cl_arg_local(size_t size_bytes)
{
    imgpar_cl_arg a = { IMGPAR_CL_ARG_LOCAL, size_bytes, NULL, 0, 0 };
    return a;
}
/* A struct or a vector by value, as it lies in the host's memory; borrowed until the launch returns. Its size is
 * checked where the parameter is a type of OpenCL C; of the user's own structs the compiler tells no size. */
static inline imgpar_cl_arg imgpar_cl_arg_struct(const void *bytes, size_t size_bytes)
{
    imgpar_cl_arg a = { IMGPAR_CL_ARG_STRUCT, size_bytes, bytes, 0, 0 };
    return a;
}
/* A whole number, for a parameter of any integer type that holds it, or of type float or double. */
static inline imgpar_cl_arg imgpar_cl_arg_int(int64_t value)
{
    imgpar_cl_arg a = { IMGPAR_CL_ARG_INT, 0, NULL, value, 0 };
    return a;
}
/* A number, for a parameter of type float or double. */
static inline imgpar_cl_arg imgpar_cl_arg_real(double value)
{
    imgpar_cl_arg a = { IMGPAR_CL_ARG_REAL, 0, NULL, 0, value };
    return a;
}
/* The elements of inputs[k], for a pointer to const. Of imgpar_cl_apply() only, as the next. */
static inline imgpar_cl_arg imgpar_cl_arg_input(size_t k)
{
    imgpar_cl_arg a = { IMGPAR_CL_ARG_INPUT, 0, NULL, (int64_t)k, 0 };
    return a;
}
/* The elements of the result, for a pointer that is written. */
static inline imgpar_cl_arg imgpar_cl_arg_result(void)
{
    imgpar_cl_arg a = { IMGPAR_CL_ARG_RESULT, 0, NULL, 0, 0 };
    return a;
}

/* IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a), ...): the arguments of a launch in the kernel's order, and their number. */
#ifdef __cplusplus
#define IMGPAR_CL_ARGS(...) \
    imgpar_cl_first<imgpar_cl_arg>({ __VA_ARGS__ }), sizeof(imgpar_cl_places<imgpar_cl_arg>({ __VA_ARGS__ }))
#else
#define IMGPAR_CL_ARGS(...) \
    ((imgpar_cl_arg[]){ __VA_ARGS__ }), (sizeof((imgpar_cl_arg[]){ __VA_ARGS__ }) / sizeof(imgpar_cl_arg))
#endif

/* How many work-items. Dimension 0 is x, get_global_id(0). */
typedef struct imgpar_cl_work {
    size_t struct_size;
    size_t global[3]; /* work-items; global[1] and [2] of 0 are 1 */
    size_t local[3];  /* of a group, each a divisor of global; all 0: the library chooses */
    size_t offset[3]; /* of the first work-item's get_global_id() */
} imgpar_cl_work;
/* IMGPAR_CL_WORK(.global = { width, height }, .local = { 16, 16 }) */
#ifdef __cplusplus
#define IMGPAR_CL_WORK(...) imgpar_cl_address(imgpar_cl_work{ sizeof(imgpar_cl_work), __VA_ARGS__ })
#else
#define IMGPAR_CL_WORK(...) (&(imgpar_cl_work){ .struct_size = sizeof(imgpar_cl_work), __VA_ARGS__ })
#endif

/*
 * Divides elements among work-items. There are elements[0] x [1] x [2] of them (x first; 0 is 1), and a work-item
 * computes per_item[] of them along x, y and z; where per_item[0] is 0 the library chooses: per_item gets 1 on a GPU,
 * and on a CPU, which likes long loops, rows that keep every core busy a few times. *work gets groups for this kernel
 * and device and enough work-items for all elements, rounded up to whole groups: the kernel tells the last ones by the
 * extents. One with IMGPAR_GROUP must not return there: its words want all of the group (int v = i < n ? a[i] : 0;).
 */
IMGPAR_API imgpar_status imgpar_cl_divide(const imgpar_cl_kernel *kernel, const size_t elements[3], size_t per_item[3],
                                          imgpar_cl_work *work);

/*
 * Launches a kernel. Everything is checked before: the number of arguments, the kind of each (buffer, local memory,
 * size and range of numbers), its direction, the groups (local divides global, the kernel's and the device's limits)
 * and the local memory that is needed. IMGPAR_E_ARGUMENT or IMGPAR_E_LIMIT tells kernel, argument, value and rule.
 * (Where a driver tells nothing of arguments, it checks them itself.)
 */
IMGPAR_API imgpar_status imgpar_cl_launch(imgpar_cl_queue *queue, const imgpar_cl_kernel *kernel,
                                          const imgpar_cl_work *work, const imgpar_cl_arg *args, size_t n_args,
                                          const imgpar_cl_order *order);

/* Launches a kernel by its name. The module makes the kernel at the first call and keeps it. */
IMGPAR_API imgpar_status imgpar_cl_module_launch(imgpar_cl_queue *queue, imgpar_cl_module *module, const char *name,
                                                 const imgpar_cl_work *work, const imgpar_cl_arg *args, size_t n_args,
                                                 const imgpar_cl_order *order);

/* ---- kernels and buffers among arrays ------------------------------------------------- */

/* A kernel as a node of a lazy graph. */
typedef struct imgpar_cl_node {
    size_t struct_size;
    /* NULL where the context is ref: then compute is all that counts, and args and work are not read */
    const imgpar_cl_kernel *kernel;
    imgpar_array *const *inputs; /* up to IMGPAR_CL_MAX_INPUTS, else IMGPAR_E_LIMIT; each whole and tightly packed for
                                  * the kernel */
    size_t n_inputs;
    imgpar_dtype dtype; /* of the result, whose elements the kernel sets all */
    int rank;
    int64_t shape[IMGPAR_SHAPE_ROOM];
    const imgpar_cl_arg *args; /* imgpar_cl_arg_input(), _result(), _int(), _real(), _struct(), _local(); copied */
    size_t n_args;
    const imgpar_cl_work *work; /* copied */
    /* The same on the host, for the reference interpreter (whose context has no kernels: IMGPAR_E_NO_DEVICE without
     * this) and for imgpar_array_verify(), which refuses the node where this is NULL. */
    imgpar_status (*compute)(void *user, const void *const *inputs, void *result);
    void *user; /* for compute; lives as long as the array */
} imgpar_cl_node;
#define IMGPAR_CL_MAX_INPUTS 4

/*
 * A new array that a kernel computes when it is asked for. It runs between the kernels of the graph, what it reads and
 * makes stays on the device. It is not fused with its neighbours. A kernel with a module's globals is refused, since a
 * node has no state; constants are read when it runs. Never NULL; errors as those of any operation, checks as those of
 * imgpar_cl_launch().
 */
IMGPAR_API imgpar_array *imgpar_cl_apply(imgpar_context *ctx, const imgpar_cl_node *node);

/* A buffer without padding as a new array, without a copy. From then on nothing may write the buffer. Never NULL. */
IMGPAR_API imgpar_array *imgpar_cl_array(imgpar_cl_buffer *buffer, imgpar_dtype dtype, int rank, const int64_t *shape);

/* Computes an array and gives its elements as a new buffer. It has access IMGPAR_CL_IN and is a vector; nothing is
 * copied where they are on the device, so it cannot be written. The failure of the array is returned. */
IMGPAR_API imgpar_status imgpar_cl_buffer_of(imgpar_array *array, imgpar_cl_buffer **out);

/* ---- what is alive ------------------------------------------------------------------------ */

/* Objects of this layer that a context has and that are not released yet; all 0 where nothing leaks. A module's globals
 * and constants count as buffers. */
typedef struct imgpar_cl_counts {
    size_t struct_size;
    uint64_t queues, events, buffers, modules, kernels;
} imgpar_cl_counts;
/* How many objects of each kind are alive. Fills *out, whose struct_size is set by the caller. */
IMGPAR_API imgpar_status imgpar_cl_count(const imgpar_context *ctx, imgpar_cl_counts *out);

#ifdef __cplusplus
}
#endif

#endif
