/* SPDX-License-Identifier: MIT */
/*
 * The only code of evaluation that calls OpenCL: devices, buffers, programs, launches. (src/cl, the layer for users'
 * own kernels, calls it, too, and stands on this.) Every call is checked; a failure becomes an ip_error that names the
 * CL call, its symbolic error and, for builds, the log.
 *
 * An ip_device has a CL context, which others of the same hardware may have, too (device.c, Note [Shared contexts]),
 * and a queue for kernels and one for copies of its own. Commands are ordered by the buffers they share and by nothing
 * else (order.c). It may be used from several threads.
 */
#ifndef IP_RUN_DEVICE_H
#define IP_RUN_DEVICE_H

#include "base/account.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ip_device_class { IP_DEVICE_CPU, IP_DEVICE_GPU, IP_DEVICE_ACCELERATOR, IP_DEVICE_REF } ip_device_class;

/* One table of facts per device; decisions elsewhere read these and nothing else. */
typedef struct ip_device_facts {
    ip_device_class kind;
    imgpar_device info;            /* for people; strings owned by the device */
    bool is_pocl, is_nvidia;       /* they keep a kernel cache of their own on disk */
    bool declares_builtins;        /* programs are built sooner that declare what they call (Note [Declarations]) */
    bool reports_exact_division;   /* offers -cl-fp32-correctly-rounded-divide-sqrt */
    size_t work_items_per_launch;  /* about how many rows-schedule work-items keep it busy (CPU: 8 x units) */
    size_t local_size;             /* fixed local size of the pixels schedule */
    int group_width, group_height; /* work-items of a tile, powers of two */
    int most_items;                /* of a tile: where its halo is dear the group may be that large */
    uint64_t constant_bytes;       /* of __constant memory, where it is faster than __global; else 0 */
    bool has_sub_groups;
    bool has_sub_group_shuffles;      /* and votes of them, all that cl/ has words for */
    size_t image_width, image_height; /* of the largest 2D image; 0: there are none */
    unsigned texel_channels;          /* bit n: images of n channels (1, 2, 4) exist for all our dtypes */
    unsigned half_channels;           /* the same for f16 */
    int64_t most_iterations;          /* of the loops of a work-item; 0: no limit is known */
    bool walks_rows;                  /* the rows schedule suits it */
    bool fills_new_buffers;           /* a small buffer is best made with its contents, since that takes no command */
    bool works_in_host_memory;        /* needs no map of what a kernel wrote to memory of the host */
    bool permutes_bytes;              /* it is this processor, with AVX-512 VBMI, which its compiler may not know */
    bool adds_products;               /* the same with AVX-512 VNNI */
    bool wants_loop_hints;            /* its compiler vectorises loops that say they may be */
    unsigned base_align_bytes;
    uint64_t cache_bytes;  /* of the last-level cache; 0: none is known */
    unsigned vector_bytes; /* of the widest registers that the device likes: 16, 32 or 64 */
    double speed_guess;    /* compared with another device, before anything was measured */
} ip_device_facts;

typedef struct ip_device ip_device;
typedef struct ip_buffer ip_buffer;   /* device memory */
typedef struct ip_program ip_program; /* compiled kernels; shared by reference count through the cache */

/* All usable devices, best first; *out from ip_alloc with strings owned by each (ip_device_info_clear). */
imgpar_status ip_device_enumerate(imgpar_device ***out, size_t *n, ip_error *err);
void ip_device_info_clear(imgpar_device *info);

enum { IP_MAX_DEVICES = 16 }; /* that are opened together */

/* The devices that selector means, as in imgpar_context_new(), but never "ref": *n of them, at least one; none where it
 * fails. mem_limit_bytes, of each device, 0: 3/4 of the device's memory, and CPUs take at most half of the host's
 * together. */
imgpar_status ip_device_open(const char *selector, uint64_t mem_limit_bytes, ip_device *out[IP_MAX_DEVICES], size_t *n,
                             ip_error *err);
/* Another memory limit, by the same rule; buffers in use stay. */
void ip_device_limit(ip_device *device, uint64_t mem_limit_bytes);
/* From now on what a CPU takes counts in account, too: its memory is the host's. Before it takes any. */
void ip_device_count_in(ip_device *device, ip_account *account);
/* NULL is legal. Buffers and programs still held stay good and keep what they need; the last one frees it. */
void ip_device_close(ip_device *device);
const ip_device_facts *ip_device_facts_of(const ip_device *device);
/* Appends what tells the device with its driver from others: lines of text. */
void ip_facts_identify(const ip_device_facts *facts, ip_str *out);

/* ---- buffers: through a pool with a budget (pool.c) --------------------------- */

/* A buffer of at least size_bytes, uninitialised, with one reference; reused from the pool where one fits. Over the
 * budget: unused pooled buffers are freed, then IMGPAR_E_DEVICE_MEMORY. */
imgpar_status ip_buffer_new(ip_device *device, size_t size_bytes, ip_buffer **out, ip_error *err);
/* A buffer of n bytes that holds a copy of data. A small one on a CPU is made without a command, so nothing waits. */
imgpar_status ip_buffer_new_with(ip_device *device, const void *data, size_t n, ip_buffer **out, ip_error *err);
/* A buffer on host memory of somebody else, size_bytes of it, which the device uses where it stands if it shares memory
 * with the host. host is borrowed until on_release(user, host) (may be NULL): after the last release, when no command
 * uses it any more. Where this fails, it is not called. */
imgpar_status ip_buffer_wrap(ip_device *device, void *host, size_t size_bytes,
                             void (*on_release)(void *user, void *host), void *user, ip_buffer **out, ip_error *err);
/* Whether the device uses memory at host where it stands: it shares the host's memory, and the address suits every
 * element (NULL does). */
bool ip_device_shares(const ip_device *device, const void *host);
/* What a buffer was wrapped around; NULL: it has memory of its own. */
void *ip_buffer_host(const ip_buffer *buffer);
/* The texels of a 2D image. */
typedef struct ip_texels {
    imgpar_dtype dtype; /* of 8, 16 or 32 bits */
    int channels;       /* 1, 2 or 4 */
    bool is_normalized; /* integers of 8 and 16 bits that kernels see as floats of 0 to 1, or -1 to 1 */
    size_t width, height;
} ip_texels;
/* A 2D image as a buffer: an argument of launches, freed with its last reference. */
imgpar_status ip_image_new(ip_device *device, const ip_texels *texels, ip_buffer **out, ip_error *err);
/* Whether there are such texels, and the device's images may have them. */
imgpar_status ip_image_is_offered(ip_device *device, const ip_texels *texels, bool *out, ip_error *err);
/* The device it is on; borrowed. */
ip_device *ip_buffer_device(const ip_buffer *buffer);
ip_buffer *ip_buffer_retain(ip_buffer *buffer);
void ip_buffer_release(ip_buffer *buffer);      /* to the pool; NULL is legal */
size_t ip_buffer_size(const ip_buffer *buffer); /* as asked for; it may have room for more */
/* Blocking copies, after the commands on the buffer so far. */
imgpar_status ip_buffer_write(ip_buffer *buffer, size_t offset, const void *src, size_t n, ip_error *err);
imgpar_status ip_buffer_read(ip_buffer *buffer, size_t offset, void *dst, size_t n, ip_error *err);
/* The buffer's elements in host memory, to be read until ip_buffer_unmap(), after the commands that write it: a device
 * that shares memory copies nothing. */
imgpar_status ip_buffer_map(ip_buffer *buffer, void **host, ip_error *err);
void ip_buffer_unmap(ip_buffer *buffer, void *host); /* host NULL is legal */
/* Waits until what was enqueued to write the buffer has run; a failure of it, or of what it waited for, is returned. */
imgpar_status ip_buffer_wait(ip_buffer *buffer, ip_error *err);
/* Bytes that may still be allocated, counting what the pool could free. */
uint64_t ip_device_budget_left(ip_device *device);
/* Frees pooled buffers that nobody uses. */
void ip_device_trim(ip_device *device);

/* ---- programs: in-memory and on-disk cache (cache.c) --------------------------- */

/* The program built from source (OpenCL C, UTF-8) and options: from memory, from disk, or compiled. Waiting threads
 * share one build. *built (may be NULL) tells whether the device's compiler ran. */
imgpar_status ip_program_get(ip_device *device, const char *source, const char *options, ip_program **out, bool *built,
                             ip_error *err);
void ip_program_release(ip_program *program);
/* Whether a program is there, in memory, on disk or being built. */
typedef enum ip_absence { IP_PROGRAM_UNKNOWN, IP_PROGRAM_PRESENT, IP_PROGRAM_MISSING } ip_absence;
/* Of one that is missing, *spent gets the work that was done without it so far, in all processes. UNKNOWN where nothing
 * can be kept on disk. */
ip_absence ip_program_absence(ip_device *device, const char *source, const char *options, double *spent);
/* Adds work that is done without the program. False: the sum cannot be kept. */
bool ip_program_charge(ip_device *device, const char *source, const char *options, double work);
/* Leaves the program to be compiled by ip_program_compile_pending(). False: it cannot be kept for that, or somebody who
 * is at work comes to it anyway. */
bool ip_program_leave_pending(ip_device *device, const char *source, const char *options);
/* Whether a program that is pending is for such a device. */
bool ip_program_is_for(const imgpar_device *info, const char *identity);
/* Compiles it and keeps it on disk. False: it is for another device, is there already, cannot be compiled, or cannot be
 * kept. */
bool ip_program_compile_pending(ip_device *device, const char *identity);

/* ---- launches ------------------------------------------------------------------ */

typedef struct ip_launch {
    ip_program *program;
    const char *kernel;
    ip_buffer *const *buffers; /* arguments 0..n_buffers-1, in order */
    int n_buffers;
    const bool *writes;         /* by argument: the kernel writes it; NULL: it may write all of them */
    int dims;                   /* 1..3 */
    size_t global[3], local[3]; /* global a multiple of local */
} ip_launch;

/* Enqueues, to run after the commands that its buffers need; a fresh kernel object per launch. start/end of the kernel
 * in nanoseconds of the device's clock when asked for (then it waits), else the launch only. */
imgpar_status ip_device_launch(ip_device *device, const ip_launch *launch, uint64_t *start_ns, uint64_t *end_ns,
                               ip_error *err);
/* Waits for all that was enqueued. */
imgpar_status ip_device_finish(ip_device *device, ip_error *err);

/* ---- counters -------------------------------------------------------------------- */
typedef struct ip_device_counters {
    uint64_t launches, builds, loads, bytes_uploaded, bytes_downloaded, bytes_held, bytes_peak, buffers_made,
        bytes_read, bytes_written;
} ip_device_counters;
/* Adds what a kernel read and wrote. */
void ip_device_count_traffic(ip_device *device, uint64_t read, uint64_t written);
void ip_device_counters_get(ip_device *device, ip_device_counters *out);

#endif
