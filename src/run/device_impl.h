/* SPDX-License-Identifier: MIT */
/*
 * What device.c, pool.c and cache.c share: the inside of an ip_device.
 *
 * Lifetime: the opener, every buffer in use and every program handed out hold a
 * reference; the last one to go frees everything, so that ip_device_close() may
 * come before the last ip_buffer_release(). Buffers that lie idle in the pool and
 * programs that lie in the cache hold none.
 *
 * Locks: the pool's, the cache's and the order's are never held together. The counters are atomic.
 */
#ifndef IP_RUN_DEVICE_IMPL_H
#define IP_RUN_DEVICE_IMPL_H

#include "base/account.h"
#include "base/hash.h"
#include "run/clcheck.h"
#include "run/device.h"

#include <pthread.h>
#include <stdatomic.h>

/* Launches that are enqueued and not over, at most: what they hold counts against no budget. They may all read one
 * buffer. */
enum { IP_IN_FLIGHT = 128, IP_PENDING_READS = IP_IN_FLIGHT + 32 };

/* Commands on a buffer that may not have run yet; guarded by the device's order lock. See order.c. */
typedef struct ip_pending {
    cl_event written;                 /* the last one that writes it, or NULL */
    cl_event reads[IP_PENDING_READS]; /* those since then that read it */
    int n_reads;
} ip_pending;

/* Events to wait for; each holds a reference. */
typedef struct ip_waits {
    cl_event *events;
    cl_uint n, capacity;
} ip_waits;

/* A command on the buffer; takes a reference of its own. */
void ip_pending_add(ip_pending *pending, cl_event event, bool writes);
/* Drops what is over, or everything. */
void ip_pending_tidy(ip_pending *pending);
void ip_pending_forget(ip_pending *pending);
/* What a command that reads (or writes) the buffer waits for; false without memory. */
bool ip_waits_add(ip_waits *waits, const ip_pending *pending, bool writes);
void ip_waits_clear(ip_waits *waits);

struct ip_buffer {
    ip_device *device; /* a reference while the buffer is in use */
    atomic_int refs;   /* 0 while it lies in the pool */
    cl_mem mem;
    bool is_single;    /* never lies in the pool: an image, or made of its contents */
    size_t size_bytes; /* asked for */
    size_t capacity_bytes;
    void *host; /* memory of somebody else that it stands on: it never goes to the pool; NULL: its own */
    void (*on_release)(void *user, void *host); /* of host; NULL: nobody waits for it */
    void *user;
    void *mapped; /* where the host looks at it, n_maps times at once: Note [Maps] in pool.c */
    int n_maps;
    ip_pending pending;
    ip_buffer *next; /* in the pool: the one that became idle before this one */
};

typedef struct ip_pool {
    pthread_mutex_t maps; /* guards the maps of all buffers */
    pthread_mutex_t lock; /* guards everything below */
    ip_buffer *idle;      /* the newest first */
    uint64_t budget_bytes, held_bytes, idle_bytes, peak_bytes, n_made;
    ip_account *host; /* which a CPU's memory counts in, too; NULL: in none */
} ip_pool;

typedef enum ip_build_state { IP_BUILD_RUNNING, IP_BUILD_DONE, IP_BUILD_FAILED } ip_build_state;

struct ip_program {
    ip_device *device;
    cl_program program;
    char *identity; /* device, driver, options and source: what decides the code */
    size_t identity_bytes;
    ip_hash128 key; /* of identity */
    ip_build_state state;
    ip_error error;   /* FAILED */
    unsigned refs;    /* handed out or waited for; the cache itself holds none */
    bool is_listed;   /* in the cache; a program that failed or was evicted is not */
    ip_program *next; /* in the cache, the most recently used first */
};

typedef struct ip_cache {
    pthread_mutex_t lock; /* guards everything below and the programs' state, refs, next */
    pthread_cond_t built;
    ip_program *programs;
    size_t n;
} ip_cache;

/* What is known of products of matrices on the device; blas.c. */
typedef struct ip_blas {
    pthread_mutex_t lock; /* guards all but the last */
    pthread_cond_t measured;
    struct ip_clblast *clblast; /* NULL until it is needed */
    struct ip_blas_class *classes;
    size_t n_classes;
    double piece_work; /* constant once the device is open */
} ip_blas;

struct ip_device {
    atomic_int refs;
    unsigned process; /* that opened it: in its children nothing is given back, see Note [Forked processes] */
    ip_device_facts facts;
    cl_device_id id;
    bool is_part;            /* id is a sub-device, to be released */
    unsigned n_on_host;      /* CPUs that were opened together, this one included: they share the host's memory */
    cl_context context;      /* others that are open may have the same: Note [Shared contexts] in device.c */
    struct ip_device *older; /* of all that are open, the one opened before; guarded by the drivers' lock */
    cl_command_queue queue;  /* kernels; any order where the device can */
    cl_command_queue copies; /* blocking copies: they wait for what they need, not for all kernels before them */
    pthread_mutex_t order;   /* guards the buffers' pending commands, and that they are enqueued in the order noted */
    cl_event in_flight[IP_IN_FLIGHT]; /* the last launches, in turn; guarded by order */
    size_t next_in_flight;
    bool keeps_programs_on_disk; /* we keep binaries; false where the driver's own cache is as quick, or asking for one
                                    costs a compile */
    bool keeps_few_kernels;      /* and only of programs with one kernel or two: see Note [One machine code a kernel] */
    atomic_bool needs_header;    /* a text has called what shaders/builtins.cl lacks: cache.c, Note [Declarations] */
    ip_pool pool;
    ip_cache cache;
    ip_blas blas;
    atomic_ullong launches, builds, loads, bytes_uploaded, bytes_downloaded, bytes_read, bytes_written;
};

ip_device *ip_device_hold(ip_device *device);
void ip_device_drop(ip_device *device);
bool ip_device_is_of_the_parent(const ip_device *device);

/* From now on; what is in use stays. */
void ip_pool_limit(ip_pool *pool, uint64_t budget_bytes);
/* 0, or IMGPAR_E_HOST_MEMORY; what failed to start needs no end. */
imgpar_status ip_pool_start(ip_pool *pool, uint64_t budget_bytes, ip_error *err);
void ip_pool_end(ip_pool *pool);
imgpar_status ip_cache_start(ip_cache *cache, ip_error *err);
void ip_cache_end(ip_cache *cache);
imgpar_status ip_blas_start(ip_blas *blas, ip_error *err);
void ip_blas_end(ip_blas *blas);

#endif
