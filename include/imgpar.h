/* SPDX-License-Identifier: MIT */
/*
 * imgpar.h - lazy images and arrays, computed by fused OpenCL kernels.
 *
 * An operation does not compute. It returns an imgpar_array that remembers the
 * work; when pixels are asked for (imgpar_save, imgpar_array_read, ...) the whole
 * graph is compiled into as few kernels as possible and run.
 *
 *     imgpar_context *ctx;
 *     if (imgpar_context_new(NULL, &ctx)) return 1;
 *     imgpar_array *photo = imgpar_open(ctx, "photo.jpg");
 *     imgpar_array *soft  = imgpar_blur(photo, 2.0, IMGPAR_BORDER_REPLICATE);
 *     if (imgpar_save(soft, "soft.png", NULL))
 *         fprintf(stderr, "%s\n", imgpar_array_message(soft));
 *     imgpar_array_release(soft);
 *     imgpar_array_release(photo);
 *     imgpar_context_release(ctx);
 *
 * Ownership, once for the whole API: functions borrow the arrays they are given
 * and return new references, which the caller releases. No function returning
 * an imgpar_array ever returns NULL: a bad call returns an error array, which
 * carries a status and a message, may be passed on like any other, and is
 * released like any other. Strings returned by imgpar_array_message() and
 * imgpar_status_name() are borrowed.
 *
 * Structs: one that a function reads from its caller or fills in for it begins with struct_size, which the caller sets
 * to sizeof of the struct, as in imgpar_info info = { .struct_size = sizeof info }; a size that is none, as 0, is
 * IMGPAR_E_ARGUMENT. The library reads and writes so many bytes and no more: what an older program's struct lacks
 * counts as 0, of what a newer one has behind zeros are written, and what it asks for there is IMGPAR_E_UNSUPPORTED.
 * Structs that the library hands out by pointer, singly or in a list of pointers, have no size and may grow at their
 * end, so a program neither makes nor copies them; imgpar_x and imgpar_cl_arg, which are passed by value, stay as they
 * are. Of a struct that is only filled in the compiler sets the size (the end of this header).
 *
 * Threads: any number of threads may build and evaluate arrays of one context.
 * The library never prints and never exits. What it keeps beside contexts are
 * the OpenCL drivers that it loaded and, for each thread, a message of its own.
 *
 * Processes: after fork() a child uses nothing of a context of its parent's but to release it, which leaves alone what
 * is the parent's: every function that computes, reads or changes something is IMGPAR_E_DEVICE_LOST at once. A context
 * that the child opens itself works; where the parent had opened a device or listed devices the child's can be the
 * reference interpreter only, since no OpenCL driver survives fork(), and imgpar_context_notice() says so. A child that
 * execs is a process like any other.
 */
#ifndef IMGPAR_H
#define IMGPAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(IMGPAR_API)
/* chosen by whoever includes this */
#elif defined(__GNUC__)
#define IMGPAR_API __attribute__((visibility("default")))
#else
#define IMGPAR_API
#endif

/* ---- status ----------------------------------------------------------------- */

/* What went wrong. Every function that can fail returns one of these. */
typedef enum imgpar_status {
    IMGPAR_OK = 0,
    IMGPAR_E_ARGUMENT,      /* a value is outside its documented range */
    IMGPAR_E_SHAPE,         /* shapes or dtypes of operands do not fit together */
    IMGPAR_E_UNSUPPORTED,   /* well-formed, but not offered (12-bit JPEG, ...) */
    IMGPAR_E_IO,            /* the operating system refused a file */
    IMGPAR_E_CORRUPT,       /* a file or blob is damaged or not what it claims */
    IMGPAR_E_LIMIT,         /* a limit on pixels, memory or work was reached */
    IMGPAR_E_HOST_MEMORY,   /* malloc failed */
    IMGPAR_E_DEVICE_MEMORY, /* the device has no room left, or a limit on memory was reached */
    IMGPAR_E_NO_DEVICE,     /* no OpenCL device fits the selection */
    IMGPAR_E_COMPILE,       /* the device's compiler refused a kernel */
    IMGPAR_E_DEVICE_LOST,   /* an OpenCL call failed while running, or the context is one from before a fork() */
    IMGPAR_E_INTERRUPTED,   /* the poll callback asked to stop */
    IMGPAR_E_SYNTAX,        /* pipeline text is wrong (grammar, unknown name, bad literal) */
    IMGPAR_E_INTERNAL,      /* a defect of this library */
    IMGPAR_E_CHECK          /* a check in a kernel failed (checked mode) */
} imgpar_status;

/* The status as a word, such as "shape mismatch". Never NULL. */
IMGPAR_API const char *imgpar_status_name(imgpar_status status);

/* "MAJOR.MINOR.PATCH" of the library in use. */
IMGPAR_API const char *imgpar_version(void);

/* ---- values ----------------------------------------------------------------- */

/* Element types. BOOL is one byte, 0 or 1. F16 is a storage type: it is computed as F32. COMPLEX64 is a real
 * part and an imaginary part, each F32, as C's float complex, COMPLEX128 two of F64, as double complex; the dtypes
 * before them are real. */
typedef enum imgpar_dtype {
    IMGPAR_U8,
    IMGPAR_I8,
    IMGPAR_U16,
    IMGPAR_I16,
    IMGPAR_U32,
    IMGPAR_I32,
    IMGPAR_U64,
    IMGPAR_I64,
    IMGPAR_F16,
    IMGPAR_F32,
    IMGPAR_F64,
    IMGPAR_BOOL,
    IMGPAR_COMPLEX64,
    IMGPAR_COMPLEX128,
    IMGPAR_N_DTYPES
} imgpar_dtype;

/* The dtype's name ("u8", "f32", "bool") and its size in bytes. NULL and 0 for a bad value. */
IMGPAR_API const char *imgpar_dtype_name(imgpar_dtype dtype);
IMGPAR_API size_t imgpar_dtype_size(imgpar_dtype dtype);

/* What the numbers of an image stand for. */
typedef enum imgpar_space {
    IMGPAR_SPACE_DATA,  /* plain numbers */
    IMGPAR_SPACE_GRAY,  /* gray levels, with or without alpha */
    IMGPAR_SPACE_SRGB,  /* red, green, blue (and alpha), sRGB transfer curve */
    IMGPAR_SPACE_LINEAR /* red, green, blue (and alpha), linear light */
} imgpar_space;

/* What a filter reads beyond an edge of abcd. */
typedef enum imgpar_border {
    IMGPAR_BORDER_REPLICATE,  /* aa|abcd|dd */
    IMGPAR_BORDER_REFLECT,    /* ba|abcd|dc */
    IMGPAR_BORDER_REFLECT101, /* cb|abcd|cb */
    IMGPAR_BORDER_WRAP,       /* cd|abcd|ab */
    IMGPAR_BORDER_CONSTANT,   /* kk|abcd|kk, k is the parameter cval */
    IMGPAR_BORDER_CHECKED,    /* nothing: a read there is an error, IMGPAR_E_CHECK */
    IMGPAR_BORDER_UNCHECKED   /* nothing, as the caller promises; where that is wrong, aa|abcd|dd, or in checked mode
                                 the same error */
} imgpar_border;

#define IMGPAR_MAX_RANK 8   /* axes of an array; imgpar_op_info.takes_many_axes tells which operations take all */
#define IMGPAR_SHAPE_ROOM 8 /* extents that structs have room for */

/*
 * Type and shape of an array, row-major. An image is [height, width, channels]
 * with 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGBA) channels; [height, width]
 * is a gray image; [depth, height, width, channels] is a volume or a video.
 * width, height, channels and depth are filled in for every rank: a rank-1
 * array of n elements has width n, height 1; of an array of more than four axes
 * depth is the product of all extents before the last three.
 */
typedef struct imgpar_info {
    size_t struct_size;
    imgpar_dtype dtype;
    imgpar_space space;
    int rank;                         /* 1 to IMGPAR_MAX_RANK */
    int64_t shape[IMGPAR_SHAPE_ROOM]; /* 0 from rank on */
    int64_t depth, height, width, channels;
    size_t size_bytes; /* of all elements, tightly packed */
    /* the number that is white (full scale, opaque): 255, 65535, 1, ...; 0: plain data, which has none */
    double white;
    int is_mask; /* white is 1, and a factor above 1 becomes the white of the product: what comparisons give */
} imgpar_info;

typedef struct imgpar_context imgpar_context; /* a device with its caches */
typedef struct imgpar_array imgpar_array;     /* a lazy, immutable value */

/* ---- context ---------------------------------------------------------------- */

/*
 * Opens a device. selector: NULL for the best one there is (a discrete GPU,
 * else a CPU, else the built-in reference interpreter), or "cpu", "gpu",
 * "gpu:1", "ref", or a part of a device's or platform's name. Where it is NULL
 * or "", IMGPAR_DEVICE of the environment says which, if it is set; "best" is the best
 * one there is whatever it says. Returns
 * IMGPAR_E_NO_DEVICE when an explicit selector fits nothing, and IMGPAR_E_ARGUMENT
 * where an IMGPAR_* variable holds a bad value of a setting. After any failure
 * *out is NULL, and imgpar_context_new_error() says why.
 *
 * Several devices, at most 16, work for one context: "cpu+gpu" names them, "all" is
 * every OpenCL device there is. "cpu/2" divides a device into two equal parts, which are
 * then devices, "cpu/1:3" into parts of one and three compute units; "cpu/2#0" is
 * the first part alone. Rows of a result or of what is folded, or items of a batch,
 * are shared out by measured speed, or as the setting "placement" says; results are
 * the same bytes as on one device for the operations that promise it. A reduction
 * that combines floats by a sum, a product or a function stays on one device, since
 * where its rows are cut decides its last bits; by weights it is cut, too, always at the
 * same rows. What is more than fits a device is cut where memory decides. A device named twice, or
 * parts that a device does not have, are IMGPAR_E_ARGUMENT; parts of one that cannot
 * be divided are IMGPAR_E_UNSUPPORTED. The device layer, imgpar_cl.h, works with
 * the first of them.
 *
 * Where NULL finds no OpenCL device the context computes with the reference
 * interpreter, and imgpar_context_notice() says so.
 */
IMGPAR_API imgpar_status imgpar_context_new(const char *selector, imgpar_context **out);
/* Takes a further reference, for imgpar_context_release(). Returns ctx; NULL is legal. */
IMGPAR_API imgpar_context *imgpar_context_retain(imgpar_context *ctx);
/* Arrays keep their context alive; releasing NULL is legal. */
IMGPAR_API void imgpar_context_release(imgpar_context *ctx);

/* One sentence the user should see once ("no OpenCL device: ..."), or NULL. Borrowed. */
IMGPAR_API const char *imgpar_context_notice(const imgpar_context *ctx);

/*
 * Why the last imgpar_context_new() of this thread failed, "" if it did not.
 * Writes at most n bytes with the terminator into buf.
 */
IMGPAR_API void imgpar_context_new_error(char *buf, size_t n);

/* What a person wants to know of a device. Only the library makes one; text is borrowed from the context or the
 * list. */
typedef struct imgpar_device {
    const char *kind;     /* "cpu", "gpu", "accelerator" or "ref" */
    const char *selector; /* a selector that picks this device */
    const char *name, *platform, *version, *driver;
    unsigned compute_units;
    uint64_t global_bytes, local_bytes, max_alloc_bytes;
    size_t max_work_group;
    int has_f64, has_f16, has_images, has_unified_memory;
    unsigned max_parts; /* it can be divided into so many at most, "cpu/2"; 0 or 1: it cannot */
    /* What the device says of itself beside that, as it says it; on ref 0, "" and what the host has. */
    const char *vendor, *extensions; /* extensions: names with blanks between them */
    unsigned vendor_id;              /* of PCI, where it has one */
    unsigned address_bits;           /* of its pointers: 32 or 64 */
    unsigned clock_mhz;              /* at most */
    size_t max_work_items[3];        /* of a work-group, along each dimension */
    uint64_t constant_bytes;         /* of a __constant argument at most */
    unsigned max_constant_args;
    size_t max_parameter_bytes;  /* of all arguments of a kernel */
    unsigned buffer_align_bytes; /* that a sub-buffer begins at multiples of */
    unsigned type_align_bytes;   /* that suffice for any type */
    size_t timer_resolution_ns;  /* of the times that profiling tells */
    int is_available, has_compiler, is_little_endian, has_error_correction;
} imgpar_device;

/*
 * Lists the usable OpenCL devices, best first, and the reference interpreter
 * last. *out is a new list of *n pointers for imgpar_device_list_release().
 * No OpenCL at all is no error: the list is the interpreter then. After a
 * failure (no memory, or an OpenCL call failed) *out is NULL and *n 0.
 */
IMGPAR_API imgpar_status imgpar_device_list(imgpar_device ***out, size_t *n);
/* NULL is legal. */
IMGPAR_API void imgpar_device_list_release(imgpar_device **list, size_t n);
/* The context's own device, the first if it has several, or that of ref; NULL where ctx is. Borrowed. */
IMGPAR_API const imgpar_device *imgpar_context_device(const imgpar_context *ctx);
/* Its k-th device, counted from 0 in the order of the selector; NULL beyond the last. Borrowed. */
IMGPAR_API const imgpar_device *imgpar_context_device_at(const imgpar_context *ctx, size_t k);

/*
 * Settings of a context, as text: "schedule" (auto rows tiles texture pixels
 * ref), "fuse" (0 or 1), "check" (0 or 1: checked mode, slow: a kernel that
 * reads or writes outside of its memory, or stores a float that is not finite,
 * is IMGPAR_E_CHECK), "max_pixels" (limit on the pixels of a picture
 * that are held at once: of a file whose rows are read as they are needed those few, else, and
 * of imgpar_open_memory() always, all of them; PNG, JPEG and PNM are written of up to 64 times as many, or
 * 2^34 if that is more), "mem_limit"
 * (bytes on each device, suffixes K M G; 0 or auto: 3/4 of its memory, on CPUs at most half of
 * the host's; on ref, half of the host's; what does not fit is computed in pieces, with
 * what is between them in host memory, and else by the interpreter), "host_limit" (bytes
 * of host memory for pixels, suffixes K M G; 0 or auto: there is no limit: for decoded pictures,
 * rows on their way from and into files, results, what is between kernels, and what a CPU
 * takes as a device; what can be computed row by row is, and what has to be held whole,
 * as for a sort, is IMGPAR_E_DEVICE_MEMORY where it is larger; programs, encoded files and
 * the caller's own memory do not count), "keep" (bytes that values may take, 0
 * unless it is set, which imgpar_array_read(), imgpar_save() and
 * imgpar_encode() keep with their arrays as imgpar_eval() does, so that what is asked for
 * again is not computed again; the oldest ones go), "placement" (which of several devices
 * works: auto, by measured speed; a device's number, from 0; or weights such as
 * 2:1, one for each device, by which whatever can be cut is cut, sums of floats
 * included: their last bits follow the weights), "blas" (who
 * multiplies large matrices of floats: own, our kernels; clblast, the library
 * CLBlast; or auto, where one GPU computes: whichever of the two took less time when
 * a product of about that size was first computed there, else own. CLBlast keeps to
 * the tolerance of matmul, but gives other bytes), "tier" (who computes what is
 * not compiled yet: kernels, the default, which wait for the compiler; interpret, where
 * PoCL computes on a CPU and the cache folder can be written, the interpreter, for a while
 * and where its bytes are the kernels' (not of folds of floats, nor of operations
 * that are kernels written by hand); auto, the same, and it is left to
 * imgpar_compile_pending() to be compiled).
 * Four more decide how fast something is
 * computed, never what (but sums of floats may be added up in another order):
 * "vector_bytes" (of the vectors that loops are written for, 8 to 256, a power
 * of two), "strip_bytes" (what a strip of rows keeps in the cache, 1K to 16M),
 * "stream_bytes" (from this size on what a kernel reads is fetched ahead and
 * what it writes goes past the caches, 1 to 1G), "max_stages" (in a kernel,
 * 1 to 32). These and "schedule" start from what was kept for the (first)
 * device, the others and then "schedule" from the IMGPAR_* variables of the
 * environment.
 * Returns IMGPAR_E_ARGUMENT for an unknown name or bad value, IMGPAR_E_UNSUPPORTED for a
 * library that is not there; the setting then stays as it was. Any thread may set one; an
 * evaluation that has begun may still go by the value before.
 */
IMGPAR_API imgpar_status imgpar_context_set(imgpar_context *ctx, const char *name, const char *value);
/* What a setting takes, for a message about a bad value: "0 or 1 is expected". NULL for an unknown name. */
IMGPAR_API const char *imgpar_setting_expected(const char *name);
/*
 * Keeps "schedule" (auto for ref), "vector_bytes", "strip_bytes", "stream_bytes" and "max_stages" as they are in ctx,
 * beside the cached programs, for contexts to come on this device with this driver. IMGPAR_E_NO_DEVICE on ref,
 * IMGPAR_E_IO where nothing can be kept.
 */
IMGPAR_API imgpar_status imgpar_context_keep_tuning(imgpar_context *ctx);
/*
 * Compiles what evaluations have left to be compiled (the setting "tier"), in any process that has the same cache
 * folder, on the devices that are here, and keeps it in that folder; what is for other devices is dropped. *n, unless n
 * is NULL, gets how many programs were compiled and kept. The library starts no process for that; imgpar-run does. One
 * process at a time compiles so: where another one is at it, or there is no folder, nothing is done, and that is no
 * error, nor is a device that cannot be opened: what is for it is dropped. Errors are those of imgpar_device_list(),
 * and IMGPAR_E_HOST_MEMORY.
 */
IMGPAR_API imgpar_status imgpar_compile_pending(size_t *n);

/* Work done by a context so far, and what it holds now; of several devices, the sums. */
typedef struct imgpar_counters {
    size_t struct_size;
    uint64_t evaluations;    /* plans run */
    uint64_t kernels;        /* kernel launches */
    uint64_t programs_built; /* programs given to the device's compiler */
    uint64_t decodes, encodes;
    uint64_t bytes_uploaded, bytes_downloaded;
    uint64_t device_bytes, device_bytes_peak; /* held by buffers, also by those kept for later evaluations */
    uint64_t buffers;                         /* device buffers allocated */
    uint64_t programs_loaded; /* programs whose binaries were found in the cache folder instead of being built */
    /* By kernels: the boxes of their inputs that they need, the boxes that they make. */
    uint64_t bytes_read, bytes_written;
    uint64_t programs_pending; /* programs that were left to imgpar_compile_pending() */
    /* Where a device had no room: evaluations that ran kernel by kernel, what is between them in host memory; those
     * that the interpreter ran in its place; kept values that were moved to host memory, and their bytes. */
    uint64_t spills, fallbacks, values_moved, bytes_moved;
    uint64_t values_found; /* kept values that were asked for again, or that a plan was made of */
} imgpar_counters;
/* Fills *out; all 0 where ctx is NULL, which is IMGPAR_E_ARGUMENT, or of a parent process, IMGPAR_E_DEVICE_LOST. */
IMGPAR_API imgpar_status imgpar_context_counters(const imgpar_context *ctx, imgpar_counters *out);
/* The part of the k-th device in them; evaluations, decodes and encodes are not counted by device, and 0. Beyond the
 * last device all are 0. */
IMGPAR_API imgpar_status imgpar_context_device_counters(const imgpar_context *ctx, size_t k, imgpar_counters *out);

/* ---- options of an evaluation ------------------------------------------------ */

/* One timed step of an evaluation; times in milliseconds since it began. */
typedef struct imgpar_event {
    const char *kind; /* "decode" "compile" "upload" "kernel" "download" "encode" "write" */
    /* compile, kernel: the kernel's ("ref": the interpreter); decode, write: the path, or "memory"; upload, download:
     * the operation's, or "strip", of rows of a result; encode: the format's */
    const char *name;
    const char *ops;      /* kernels: the operations in it, "boxblur,blend"; else "" */
    const char *schedule; /* kernels: "rows", "pixels", ...; else "" */
    double start_ms, end_ms;
    uint64_t bytes_read, bytes_written;
    double evaluation_ms; /* when the evaluation began, in milliseconds of the monotonic clock */
    const char *device;   /* the selector of the device that did it; "": the host */
} imgpar_event;

/*
 * Everything an evaluation may be told. What is 0 is the default: imgpar_options o = { .struct_size = sizeof o };
 * NULL instead of it means all defaults. poll, on_event and on_warning are called with user, one at a time, on the
 * thread that called the function, of several devices too; they may call functions of this header, and evaluate other
 * arrays of the context. What is made of a loop (iterate() of the language) cannot be evaluated there while this
 * thread runs the loop, or while the thread that does waits for this one: that is IMGPAR_E_UNSUPPORTED. What an event
 * or a warning points to is borrowed until the call returns. After an answer to stop nothing is asked again: the arrays
 * stay as they were and may be evaluated again, and imgpar_save() leaves no file.
 */
typedef struct imgpar_options {
    size_t struct_size;
    /* Called at least every 100 ms with the fraction done (0..1) of all that the function does, reading, computing and
     * writing, which never goes back; a non-zero answer stops the evaluation with IMGPAR_E_INTERRUPTED. It is asked
     * between launches that are kept short, between rows of decoding and encoding, and between pieces of what is
     * copied, read and written. Nobody can interrupt the device's compiler: where a kernel is built for the first time,
     * that takes as long as it takes, a second or so on a CPU. */
    int (*poll)(void *user, double done);
    /* Called for every timed step. */
    void (*on_event)(void *user, const imgpar_event *event);
    /* Called with one line, without its end, for every warning (a damaged file read with fail_on=none, floats of
     * 0 to 1 saved as a picture without range=1, ...). */
    void (*on_warning)(void *user, const char *text);
    void *user;
    const char *format;   /* save, encode: "png" "jpeg" "npy" "pnm"; NULL: from the path */
    const char *settings; /* save, encode: "quality=90, bits=16"; NULL: defaults */
} imgpar_options;

/* ---- arrays ------------------------------------------------------------------ */

/* A new array with a copy of data: rank (1 to IMGPAR_MAX_RANK) extents in shape, each 0 to 2^31 - 1, row-major, tightly
 * packed. Where an extent is 0 data may be NULL. Where a value is outside of this an error array of IMGPAR_E_ARGUMENT,
 * of more elements than any memory holds one of IMGPAR_E_LIMIT. */
IMGPAR_API imgpar_array *imgpar_array_from_data(imgpar_context *ctx, imgpar_dtype dtype, int rank, const int64_t *shape,
                                                const void *data);
/*
 * The same without a copy: data is borrowed, and must not change, until
 * on_release(user, data) is called (with the array's last use; may be NULL).
 * A device that shares memory with the host reads data where it stands, if its address is a multiple of 16.
 * on_release is called also when an error array is returned, and on whatever thread the last use ends.
 */
IMGPAR_API imgpar_array *imgpar_array_wrap(imgpar_context *ctx, imgpar_dtype dtype, int rank, const int64_t *shape,
                                           void *data, void (*on_release)(void *user, void *data), void *user);

/* Takes a further reference, for imgpar_array_release(). Returns a; NULL is legal. */
IMGPAR_API imgpar_array *imgpar_array_retain(imgpar_array *a);
/* NULL is legal. With the last release the value kept by an evaluation goes too. */
IMGPAR_API void imgpar_array_release(imgpar_array *a);
/* Releases *slot, stores a (taken over) in it: imgpar_array_replace(&a, imgpar_blur(a, 2, 0)). */
IMGPAR_API void imgpar_array_replace(imgpar_array **slot, imgpar_array *a);

/* Type and shape, known without computing. An error array gives its status, and all of *out but struct_size is 0. */
IMGPAR_API imgpar_status imgpar_array_info(const imgpar_array *a, imgpar_info *out);
/* IMGPAR_OK, or why a is an error array, or why its last evaluation failed. */
IMGPAR_API imgpar_status imgpar_array_status(const imgpar_array *a);
/* The message belonging to imgpar_array_status(), "" if there is none. Borrowed until the
 * next evaluation of a or its release. */
IMGPAR_API const char *imgpar_array_message(const imgpar_array *a);
/*
 * What print() of the pipeline language says of a: the elements of up to 64, computed and as short as they read back,
 * 98.61596 or [1 2; 3 4]; of more than that, and then nothing is computed, dtype and shape. *out is a new string for
 * imgpar_free(), NULL where this fails; the reason then is in imgpar_array_message(a). options may be NULL.
 */
IMGPAR_API imgpar_status imgpar_array_text(imgpar_array *a, const imgpar_options *options, char **out);

/* Computes a and keeps its value on the device until the last release of a; in host memory
 * what several devices computed parts of. */
IMGPAR_API imgpar_status imgpar_array_eval(imgpar_array *a, const imgpar_options *options);
/* Computes n arrays of one context at once, shared work done once, and keeps their values as imgpar_array_eval() does.
 * The message is on the array that failed. Arrays of several contexts are IMGPAR_E_ARGUMENT. */
IMGPAR_API imgpar_status imgpar_eval(imgpar_array *const *arrays, size_t n, const imgpar_options *options);
/* Computes a into dst; bytes must be info.size_bytes, else IMGPAR_E_ARGUMENT. Keeps no value, unless the setting "keep"
 * says so. A device that shares memory with the host writes dst itself, so that nothing is copied; where this fails,
 * dst may hold anything. */
IMGPAR_API imgpar_status imgpar_array_read(imgpar_array *a, void *dst, size_t bytes);
/* The same with options. */
IMGPAR_API imgpar_status imgpar_array_read_with(imgpar_array *a, void *dst, size_t bytes,
                                                const imgpar_options *options);
/* Computes a with the context's device and with the reference interpreter and compares.
 * *max_difference gets the largest absolute difference of two elements. */
IMGPAR_API imgpar_status imgpar_array_verify(imgpar_array *a, double *max_difference, const imgpar_options *options);

/*
 * How a would be computed: format "text", "dot", "json" or "cl" (the OpenCL
 * source), or the graph in the pipeline language, "graph". The step of each loop
 * below a, a graph of its own, follows. *out is a new string for imgpar_free(), NULL of no arrays.
 * Compiles nothing on the device. Of several arrays, which are of one context: how they
 * would be computed together.
 */
IMGPAR_API imgpar_status imgpar_array_explain(imgpar_array *a, const char *format, char **out);
IMGPAR_API imgpar_status imgpar_explain(imgpar_array *const *arrays, size_t n, const char *format, char **out);
/* Gives back what a function of this header or of imgpar_cl.h says is for it. NULL is legal. */
IMGPAR_API void imgpar_free(void *memory);

/* ---- files and blobs --------------------------------------------------------- */

/*
 * Opens a PNG, JPEG, NPY, PNM or .cube file or a font (the content decides, not the name). Reads
 * the header at once and decodes when pixels are needed; a file that changed in
 * between is an error. Same as imgpar_op(ctx, "open", ...).
 */
IMGPAR_API imgpar_array *imgpar_open(imgpar_context *ctx, const char *path);
/* options: "fail_on=none|truncated|error|warning, white=1" or NULL. white is the number that is white in what is read,
 * as of an NPY file of floats, 0 of data; arrays from memory get one by imgpar_set_white(). */
IMGPAR_API imgpar_array *imgpar_open_with(imgpar_context *ctx, const char *path, const char *options);
/* The same from memory, which is copied. */
IMGPAR_API imgpar_array *imgpar_open_memory(imgpar_context *ctx, const void *bytes, size_t n);
/* The same without a copy, as imgpar_array_wrap(): bytes are borrowed, and must not change, until
 * on_release(user, bytes) is called (may be NULL), which it is also when an error array is returned. */
IMGPAR_API imgpar_array *imgpar_open_wrap(imgpar_context *ctx, void *bytes, size_t n,
                                          void (*on_release)(void *user, void *bytes), void *user);

/* An error array of your own: operations on it pass it on as they do theirs, so that one check at the end finds it. */
IMGPAR_API imgpar_array *imgpar_array_error(imgpar_context *ctx, imgpar_status status, const char *message);

/*
 * Evaluates a and writes it to path: to a temporary file beside it, renamed when
 * complete. The first error of the whole graph comes back here; the message is
 * in imgpar_array_message(a). options->format and ->settings: png: bits=8|16,
 * level=0..9; jpeg: quality=1..100, subsample=420|422|444, background=0..255 or a colour under alpha (under gray a
 * colour makes it RGB, without a profile for gray); pnm: bits.
 * All three: range=R, the number that becomes white; without it that is the array's white (imgpar_info), one above
 * 255 in 16 bits where the format has them. Of data without white u8, u16 and bool keep their look, and other numbers
 * are rounded as they are. .pgm is for gray and .ppm for RGB, as their readers expect; both and alpha are saved as
 * .pnm, alpha as .pam.
 *
 * What a picture's file told beside its pixels goes with it through every operation, and png and jpeg write it: the ICC
 * profile (or PNG's cICP, sRGB, gAMA, cHRM; a JPEG gets a profile that says the same), resolution, EXIF (upright, with
 * the new size, without thumbnails), XMP (as extended XMP where it is more than a JPEG's segment holds) and IPTC. What
 * is damaged, or has more than 16 MB, is left out with a warning. metadata=none leaves all out but what tells of
 * colours. Gray drops a profile for RGB, data has none. A CMYK JPEG becomes RGB when it is read, each colour as (1 -
 * ink) (1 - black), without its profile, which is left out, since it tells of inks. No numbers are converted: pictures
 * of different profiles that meet, and formats without profiles (npy, pnm), give a warning.
 */
IMGPAR_API imgpar_status imgpar_save(imgpar_array *a, const char *path, const imgpar_options *options);
/* The same into memory: *out is new, for imgpar_free(). options->format is required. */
IMGPAR_API imgpar_status imgpar_encode(imgpar_array *a, const imgpar_options *options, void **out, size_t *n);

/*
 * The same so that imgpar_open_memory() of the bytes is an array of equal elements, dtype, shape and space, as values
 * between programs need it: options->format is "npy", or for u8, u16 and bool of rank 2 or 3 that are pictures "png";
 * no settings. What PNG and NPY do not tell themselves goes into a private chunk of PNG, which viewers pass by, or into
 * a comment of NPY's header, which NumPy does. The context then remembers the elements for a while, so that opening the
 * bytes decodes nothing. imgpar_encode() and imgpar_save() write nothing private.
 */
IMGPAR_API imgpar_status imgpar_encode_exact(imgpar_array *a, const imgpar_options *options, void **out, size_t *n);

/* The format that a path's ending tells, "png" for "a.PNG"; constant; NULL: none that is known. */
IMGPAR_API const char *imgpar_path_format(const char *path);

/* What the header of an encoded image says. */
typedef struct imgpar_probe {
    size_t struct_size;
    const char *format; /* "png" "jpeg" "npy" "pnm", or "cube" and "font", which are read only; constant */
    /* after EXIF orientation. Its struct_size is set by the library; it stays the last member, since it may grow */
    imgpar_info info;
} imgpar_probe;
/* Reads the header only. message (may be NULL, message_size bytes) receives the reason of a failure; *out is not
 * changed then. */
IMGPAR_API imgpar_status imgpar_probe_memory(const void *bytes, size_t n, imgpar_probe *out, char *message,
                                             size_t message_size);
IMGPAR_API imgpar_status imgpar_probe_file(const char *path, imgpar_probe *out, char *message, size_t message_size);

/* 1: there is a file at path whose header is good and which ends where its format says, so that nobody stopped while
 * writing it: a JPEG with its end marker, a PNG after IEND, NPY and binary PNM after the last element. What lies
 * between is not looked at. Else 0. */
IMGPAR_API int imgpar_file_is_whole(const char *path);

/*
 * A value of EXIF, as people ask for it. Only the library makes one.
 *
 * Numbers: integers, and rationals as real numbers (ExposureTime 0.004). GPSLatitude, GPSLongitude and their like are
 * in degrees, north and east above 0 (left out where a file does not tell which); GPSAltitude is in metres, below the
 * sea below 0. Texts: up to the first zero, without blanks and control characters around them, in UTF-8; Copyright's
 * two with "; " between them. Dates as "2024-05-06 07:08:09", or "2024-05-06" where the time is not known, as
 * GPSDateStamp is, GPSTimeStamp as "07:08:09" or, to the nearest millisecond, "07:08:09.500". What is not known (a
 * rational divided by 0, an empty text, a date or time that none is) is left out, and so are makers' notes, pointers,
 * thumbnails and other bytes or numbers, if they are more than 64.
 */
typedef struct imgpar_exif_value {
    const char *name;      /* the standard's: "DateTimeOriginal"; of a tag without one its number, "0xc4a5" */
    const char *directory; /* where it stands: "image", "photo", "gps" or "interoperability" */
    unsigned tag;
    const char *text;      /* the value as text, several numbers with blanks between them. Never NULL */
    size_t n_numbers;      /* 0: it is a text */
    const double *numbers; /* NaN: not known */
    int is_whole;          /* the numbers are integers */
} imgpar_exif_value;

/*
 * The EXIF values of an encoded image, of which only the header is read. *out is a new list of *n pointers, one for
 * each tag, for imgpar_exif_release(); a picture without EXIF, or whose EXIF is damaged, has none. After an error they
 * are NULL and 0. message as for imgpar_probe_memory().
 *
 *     imgpar_exif_value **exif;
 *     size_t n;
 *     if (imgpar_exif_file("photo.jpg", &exif, &n, NULL, 0)) return 1;
 *     const imgpar_exif_value *taken = imgpar_exif_find(exif, n, "DateTimeOriginal");
 *     if (taken) puts(taken->text);
 *     imgpar_exif_release(exif, n);
 */
IMGPAR_API imgpar_status imgpar_exif_memory(const void *bytes, size_t n_bytes, imgpar_exif_value ***out, size_t *n,
                                            char *message, size_t message_size);
IMGPAR_API imgpar_status imgpar_exif_file(const char *path, imgpar_exif_value ***out, size_t *n, char *message,
                                          size_t message_size);
/* Those that saving an array writes: of the picture that it was made of, with Orientation 1, since its pixels are
 * upright, and its own size. The status of an error array. Computes nothing. */
IMGPAR_API imgpar_status imgpar_array_exif(const imgpar_array *a, imgpar_exif_value ***out, size_t *n);
/* NULL is legal. */
IMGPAR_API void imgpar_exif_release(imgpar_exif_value **list, size_t n);
/* The value of a tag by its name, as imgpar_exif_name() knows it, or by its number, "0xc4a5"; NULL: there is none. */
IMGPAR_API const imgpar_exif_value *imgpar_exif_find(imgpar_exif_value *const *list, size_t n, const char *name);
/* The standard name of a tag, in any case of letters, with blanks, behind what other programs put before it, or under
 * another name: "DateTimeOriginal" for "Date/Time Original" and for "Exif.Photo.DateTimeOriginal",
 * "PhotographicSensitivity" for "ISO". NULL: no tag is called so, or none of the directory that stands before it, as in
 * "GPS:Make". Constant. */
IMGPAR_API const char *imgpar_exif_name(const char *name);
/* 1: imgpar_exif_find() may find a value by it: it is the name of a tag, also of one that is always left out, as
 * "MakerNote", or a number of up to 16 bits. Else 0: it is misspelt. */
IMGPAR_API int imgpar_exif_is_tag(const char *name);

/* ---- operations -------------------------------------------------------------- */

/* One parameter of an operation, from the operation table. */
typedef struct imgpar_op_param {
    const char *name;
    const char *type;         /* "number" "integer" "bool" "text" "choice" "vector" "matrix" */
    const char *default_text; /* NULL: required */
    const char *choices;      /* of choices: "replicate|reflect|..."; else a further rule, "odd" (only odd numbers or
                                 extents), "whole" (only whole numbers, in vectors up to 8), "free" (NaN and infinities,
                                 too), "vector" (also one number a channel) or "volume" (more for volumes); or NULL */
    double minimum, maximum;  /* of numbers, and of the elements of whole vectors; -INFINITY, INFINITY: free */
    const char *unit;         /* "px", "levels", or "" */
    const char *help;
    int in_c;         /* has a place in the C prototype */
    int may_be_array; /* a one-element array may stand for the number: threshold(a, mean(a)) */
} imgpar_op_param;

/* One row of the operation table. Constant for the life of the process. */
typedef struct imgpar_op_info {
    const char *name;
    const char *aliases;     /* space-separated, or "" */
    const char *category;    /* "filter", "arithmetic", ... */
    const char *summary;     /* one line */
    const char *formula;     /* what it computes, exactly */
    const char *tolerance;   /* against the exact mathematical result, in words */
    double tolerance_levels; /* the same as a number for 8-bit results; 0: exact */
    const char *example;     /* in the pipeline language */
    int n_inputs;            /* arrays it takes; inputs are positional */
    const char *const *input_names;
    int n_params;
    const imgpar_op_param *const *params;
    int in_sql;         /* offered as an SQL function img_NAME */
    int sql_bare_name;  /* offered in SQL under its bare name too */
    int returns_number; /* its result is one number */
    int same_bytes;     /* the same bytes on every device and schedule */
    int takes_complex;  /* computes with complex numbers; the others refuse them */
    const char *rule;   /* what must hold between parameters, or NULL: "lo <= hi", "lo < hi", "scale != 0",
                           * "width or height" (one of them not 0), "value per channels" (as many numbers),
                           * "shape once -1" (among its numbers at most) */
    /* the result's white (imgpar_info); NULL: that of its first array. "none", "1", "mask" (1, and a mask), "first" (of
     * the first that has one and is no mask), "larger" (as operators), "meet yes no" (of the first of these inputs that
     * has one, to which the others are brought), or a phrase */
    const char *white;
    /* what happens to alpha, the last of 2 or 4 channels of a picture (space not data), in words. NULL: as any channel.
     * "stays": it is the input's; of operators of two arrays of several channels, and of what is made of their result,
     * it is as any channel. "weighs: ...", "blends: ...": colours are weighed by it. "dropped" */
    const char *alpha;
    int takes_more; /* any number of arrays, n_inputs at least; where that is two: the row of the first two, of that and
                     * the third, ... */
    int takes_many_axes; /* arrays of up to IMGPAR_MAX_RANK axes; the others take up to 4, and refuse more */
} imgpar_op_info;

/* The table: every operation by index, or by name or alias (NULL if there is none). */
IMGPAR_API size_t imgpar_op_count(void);
IMGPAR_API const imgpar_op_info *imgpar_op_get(size_t index);
IMGPAR_API const imgpar_op_info *imgpar_op_find(const char *name);

/*
 * Any operation by name with options as text ("sigma=2, border=wrap") or NULL:
 * imgpar_op(ctx, "blur", &photo, 1, "sigma=2"). Of a row that takes_more, n_inputs may be more than its own:
 * imgpar_op(ctx, "concatenate", parts, 5, "axis=1").
 */
IMGPAR_API imgpar_array *imgpar_op(imgpar_context *ctx, const char *name, imgpar_array *const *inputs, size_t n_inputs,
                                   const char *options);

/* ---- expressions ---------------------------------------------------------------- */

/*
 * Element-wise expressions without text: values of imgpar_x, made by one function for each operator and element-wise
 * function of the operation table (imgpar_x_plus, imgpar_x_lt, imgpar_x_sqrt, imgpar_x_select, ... in imgpar_ops.h),
 * which mean what the language means by them. A map owns all of its expressions, so calls may be nested:
 *
 *     imgpar_map *m = imgpar_map_new(ctx);
 *     imgpar_x a = imgpar_x_array(m, photo), b = imgpar_x_array(m, other), d = imgpar_x_minus(a, b);
 *     imgpar_array *distance = imgpar_map_array(imgpar_x_sqrt(imgpar_x_times(d, d)));
 *     imgpar_map_release(m);
 *
 * An expression is lazy and fuses like any array. A bad one is an error, which the expressions on it pass on and
 * imgpar_map_array() returns as an error array. A map is for one thread at a time.
 */
typedef struct imgpar_map imgpar_map; /* expressions that are being made */
/* Copied freely; dead with its map. Passed by value, so it stays as it is. */
typedef struct imgpar_x {
    imgpar_map *map;
    imgpar_array *array;
} imgpar_x;

/* NULL without memory or context; expressions of it then are errors. */
IMGPAR_API imgpar_map *imgpar_map_new(imgpar_context *ctx);
/* Releases all of its expressions, not the arrays made of them. NULL is legal. */
IMGPAR_API void imgpar_map_release(imgpar_map *map);
/* What an expression stands for, a new reference. */
IMGPAR_API imgpar_array *imgpar_map_array(imgpar_x x);

/* The elements of an array, which the map keeps alive. */
IMGPAR_API imgpar_x imgpar_x_array(imgpar_map *map, imgpar_array *a);
/* A literal: whole ones bend to the dtype they meet; others make integers f32, but u32, i64
 * and u64 f64, as 2.0 does in text. */
IMGPAR_API imgpar_x imgpar_x_whole(imgpar_map *map, int64_t value);
IMGPAR_API imgpar_x imgpar_x_number(imgpar_map *map, double value);
/* The position of each element of like along an axis of its shape (-1: the last), i32. */
IMGPAR_API imgpar_x imgpar_x_coord(imgpar_x like, int axis);
/* The neighbour of each element at constant offsets along the first n axes: a[dy, dx] of the language. What lies
 * beyond the edges follows border; with IMGPAR_BORDER_CONSTANT it is 0. */
IMGPAR_API imgpar_x imgpar_x_neighbour(imgpar_x a, const int *offsets, int n, imgpar_border border);

/*
 * Folds of neighbourhoods, around() of the language: what an expression makes of each element and each of its
 * neighbours is folded within one kernel. The largest difference from a neighbour at most two pixels away:
 *
 *     imgpar_x taps = imgpar_x_taps(a, (int[]){ 2, 2 }, 2), q = imgpar_x_tap(taps, a, IMGPAR_BORDER_REPLICATE);
 *     imgpar_x largest = imgpar_x_fold(taps, imgpar_x_abs(imgpar_x_minus(a, q)), IMGPAR_FOLD_MAX);
 *
 * What is made of taps is of no use until it is folded over them. Folds over the same taps share their loops; a fold
 * may be part of what another one folds.
 */
typedef enum imgpar_fold {
    IMGPAR_FOLD_SUM,
    IMGPAR_FOLD_MEAN,
    IMGPAR_FOLD_MIN,
    IMGPAR_FOLD_MAX,
    IMGPAR_FOLD_PRODUCT
} imgpar_fold;

/* The neighbours, itself among them, of an element of a: up to radii[k] elements away along each of its n axes, of
 * which channels are none. */
IMGPAR_API imgpar_x imgpar_x_taps(imgpar_x a, const int *radii, int n);
/* The neighbour of each element of a: a may be another array than that of the taps. Edges as imgpar_x_neighbour() has
 * them. */
IMGPAR_API imgpar_x imgpar_x_tap(imgpar_x taps, imgpar_x a, imgpar_border border);
/* How far away the neighbour is along an axis of like's shape, a whole number from -radius to radius. */
IMGPAR_API imgpar_x imgpar_x_distance(imgpar_x taps, imgpar_x like, int axis);
/* value of all neighbours, folded: as around() does it, in its dtype. */
IMGPAR_API imgpar_x imgpar_x_fold(imgpar_x taps, imgpar_x value, imgpar_fold fold);
/* The mean of value, weighted by weight. */
IMGPAR_API imgpar_x imgpar_x_weighted_mean(imgpar_x taps, imgpar_x value, imgpar_x weight);

/* ---- the pipeline language ---------------------------------------------------- */

/*
 * A word or a sign of the language that is no row of the operation table: a statement ("save"), a form
 * ("make"), an operator ("**"), a name ("x"). Its texts are constant for the life of the process.
 */
typedef struct imgpar_word {
    size_t struct_size;
    const char *name;
    const char *category; /* "statement", "form", "operator" or "name" */
    const char *usage;    /* "make(width, height, expr, channels=)" */
    const char *summary;  /* one line */
    const char *help;     /* more lines, or "" */
    const char *example;
} imgpar_word;
/* All of them by index; "-" is there twice. imgpar_word_get() fills *out and returns 1; 0 where there is none, or
 * out->struct_size is not set. */
IMGPAR_API size_t imgpar_word_count(void);
IMGPAR_API int imgpar_word_get(size_t index, imgpar_word *out);
/* The operations and words a misspelt name could mean, "blur, boxblur", into the n bytes of buf, the terminator among
 * them, as far as they fit; "" if there are none. Returns the length of the text in buf. */
IMGPAR_API size_t imgpar_near_names(const char *name, char *buf, size_t n);
/* What is written here for an operation that NumPy or OpenCV call so, "clamp(a, lo, hi)" for "clip"; NULL if
 * none is known to have another name. Constant for the life of the process. */
IMGPAR_API const char *imgpar_name_elsewhere(const char *name);
/* What is written here for a parameter that other libraries have: "sigma" for "sigmaX" of "blur", "unique_counts(a)"
 * for "return_counts" of "unique"; NULL if nothing is known. Constant for the life of the process. */
IMGPAR_API const char *imgpar_param_elsewhere(const char *op, const char *name);

/* Evaluates pipeline text to an array: $1..$n are arrays[0..n-1]. Refuses save, print and param;
 * imgpar_apply_safe() refuses open too, for text that is not trusted. */
IMGPAR_API imgpar_array *imgpar_apply(imgpar_context *ctx, const char *text, imgpar_array *const *arrays, size_t n);
IMGPAR_API imgpar_array *imgpar_apply_safe(imgpar_context *ctx, const char *text, imgpar_array *const *arrays,
                                           size_t n);

/* a parsed text for imgpar_apply_safe(), which any number of threads may use */
typedef struct imgpar_formula imgpar_formula;

/*
 * Parses once what is applied often. text is copied. Where it is wrong, IMGPAR_E_SYNTAX is returned and *out, still a
 * formula, gives error arrays that say why; *out is NULL without memory.
 */
IMGPAR_API imgpar_status imgpar_formula_parse(const char *text, imgpar_formula **out);
/* As imgpar_apply_safe() of the text. */
IMGPAR_API imgpar_array *imgpar_formula_apply_safe(const imgpar_formula *formula, imgpar_context *ctx,
                                                   imgpar_array *const *arrays, size_t n);
/* NULL is legal. */
IMGPAR_API void imgpar_formula_release(imgpar_formula *formula);

/* A parsed pipeline file. It is for one thread at a time, but for imgpar_pipeline_apply() and
 * imgpar_pipeline_apply_frames(). */
typedef struct imgpar_pipeline imgpar_pipeline;

/*
 * Parses text, which is copied, named name in messages; literal paths are relative to folder
 * (NULL: the current one). Opens no file and needs no device. Where the text is wrong returns
 * IMGPAR_E_SYNTAX, and *out is still a pipeline, which only carries imgpar_pipeline_message();
 * IMGPAR_E_HOST_MEMORY may leave NULL there. Releasing is the caller's in either case.
 */
IMGPAR_API imgpar_status imgpar_pipeline_parse(const char *name, const char *text, const char *folder,
                                               imgpar_pipeline **out);
/* Sets a param from text as on the command line ("0.5", "tower.png"; paths relative to the
 * current folder). IMGPAR_E_SYNTAX for an unknown param or a bad value. */
IMGPAR_API imgpar_status imgpar_pipeline_set(imgpar_pipeline *p, const char *name, const char *value);
/* Checks everything that can be checked before any file is opened (operation names and
 * parameters, literals and params out of range). Called by run as well. */
IMGPAR_API imgpar_status imgpar_pipeline_check(imgpar_pipeline *p);
/*
 * Runs the statements: all saves and prints are computed in one evaluation. print receives
 * what print() statements say, a line each, without newline. IMGPAR_E_SYNTAX comes back
 * before any file is opened.
 */
IMGPAR_API imgpar_status imgpar_pipeline_run(imgpar_pipeline *p, imgpar_context *ctx,
                                             void (*print)(void *user, const char *line), void *print_user,
                                             const imgpar_options *options);
/* As imgpar_pipeline_run(), but the value of a last expression is neither printed nor refused: *result (may be NULL) is
 * a new reference to it, which is not computed yet; NULL where the text ends in another statement. */
IMGPAR_API imgpar_status imgpar_pipeline_run_result(imgpar_pipeline *p, imgpar_context *ctx,
                                                    void (*print)(void *user, const char *line), void *print_user,
                                                    const imgpar_options *options, imgpar_array **result);
/*
 * Builds the graph without computing. *arrays receives new references to the arrays the
 * statements save or print, in their order, *n_arrays their number; release each, then
 * imgpar_free(*arrays).
 */
IMGPAR_API imgpar_status imgpar_pipeline_build(imgpar_pipeline *p, imgpar_context *ctx, imgpar_array ***arrays,
                                               size_t *n_arrays);
/* The name of the index-th param that the text declares; NULL beyond the last. Borrowed from p. */
IMGPAR_API const char *imgpar_pipeline_param(const imgpar_pipeline *p, size_t index);
/*
 * A pipeline as a function of the arrays that it calls $1, $2, ...: its last statement is an expression, whose value is
 * the result, and it saves and prints nothing, nor does it open("-"). imgpar_pipeline_check_apply() checks that for n
 * arrays, each of which the text must read, and what imgpar_pipeline_check() does; imgpar_pipeline_message() tells the
 * mistake.
 */
IMGPAR_API imgpar_status imgpar_pipeline_check_apply(imgpar_pipeline *p, size_t n);
/* The result for these arrays, with the params as they are set. Parses nothing, and any number of threads may call it
 * at once while none sets a param. */
IMGPAR_API imgpar_array *imgpar_pipeline_apply(const imgpar_pipeline *p, imgpar_context *ctx,
                                               imgpar_array *const *arrays, size_t n);
/*
 * A pipeline as a function of the frames of a video: $1 is a frame, frame(-1) the one before it, and so on, up to
 * IMGPAR_MAX_FRAMES - 1 back. imgpar_pipeline_check_frames() checks it as imgpar_pipeline_check_apply() does; *n (n may
 * be NULL) gets how many frames it reads, $1 and those before it, at least 1. imgpar_pipeline_apply_frames() takes
 * these n, the newest first.
 */
#define IMGPAR_MAX_FRAMES 64
IMGPAR_API imgpar_status imgpar_pipeline_check_frames(imgpar_pipeline *p, size_t *n);
IMGPAR_API imgpar_array *imgpar_pipeline_apply_frames(const imgpar_pipeline *p, imgpar_context *ctx,
                                                      imgpar_array *const *frames, size_t n);
/* Why the last function that takes p (not const) failed, "" if it did not: the first error; of a mistake in the text
 * "FILE:LINE:COLUMN: message", the line and a caret below it. Never NULL. Borrowed until the next such call. */
IMGPAR_API const char *imgpar_pipeline_message(const imgpar_pipeline *p);
/* NULL is legal. */
IMGPAR_API void imgpar_pipeline_release(imgpar_pipeline *p);

/* ---- sizes of structs that are only filled in ---------------------------------- */

/*
 * The compiler knows the size of a struct that a function fills in, so a program need not set it:
 *
 *     imgpar_info info;
 *     if (imgpar_array_info(a, &info) == IMGPAR_OK) ...
 *
 * (imgpar_array_info)(a, &info) is the function itself, to which struct_size must have been told. IMGPAR_NO_SIZES,
 * defined before this header is included, leaves all sizes to the program.
 */
#ifndef IMGPAR_NO_SIZES
static inline imgpar_info *imgpar_sized_info(imgpar_info *out)
{
    if (out) out->struct_size = sizeof *out;
    return out;
}
static inline imgpar_counters *imgpar_sized_counters(imgpar_counters *out)
{
    if (out) out->struct_size = sizeof *out;
    return out;
}
static inline imgpar_probe *imgpar_sized_probe(imgpar_probe *out)
{
    if (out) out->struct_size = sizeof *out;
    return out;
}
static inline imgpar_word *imgpar_sized_word(imgpar_word *out)
{
    if (out) out->struct_size = sizeof *out;
    return out;
}
#define imgpar_array_info(a, out) imgpar_array_info(a, imgpar_sized_info(out))
#define imgpar_context_counters(ctx, out) imgpar_context_counters(ctx, imgpar_sized_counters(out))
#define imgpar_context_device_counters(ctx, k, out) imgpar_context_device_counters(ctx, k, imgpar_sized_counters(out))
#define imgpar_probe_memory(bytes, n, out, message, message_size) \
    imgpar_probe_memory(bytes, n, imgpar_sized_probe(out), message, message_size)
#define imgpar_probe_file(path, out, message, message_size) \
    imgpar_probe_file(path, imgpar_sized_probe(out), message, message_size)
#define imgpar_word_get(index, out) imgpar_word_get(index, imgpar_sized_word(out))
#endif

#ifdef __cplusplus
}
#endif

#ifndef IMGPAR_NO_OPS /* only the generator of imgpar_ops.h sets it */
#include <imgpar_ops.h>
#endif

#endif
