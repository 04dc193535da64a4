/* SPDX-License-Identifier: MIT */
/* imgpar_context: a device (or none: then the reference interpreter computes) with settings and counters. */
#ifndef IP_RUN_CONTEXT_H
#define IP_RUN_CONTEXT_H

#include "compile/plan.h"
#include "run/blas.h"
#include "run/decoded.h"
#include "run/devices.h"
#include "run/kept.h"
#include "run/plans.h"
#include "run/turns.h"

#include <pthread.h>
#include <stdatomic.h>

/* Objects of the device layer (cl/) that are alive. */
typedef enum ip_live_kind {
    IP_LIVE_QUEUES,
    IP_LIVE_EVENTS,
    IP_LIVE_BUFFERS,
    IP_LIVE_MODULES,
    IP_LIVE_KERNELS,
    IP_N_LIVE
} ip_live_kind;

/* The setting "tier". */
typedef enum ip_tier { IP_TIER_KERNELS, IP_TIER_INTERPRET, IP_TIER_AUTO, IP_N_TIERS } ip_tier;

struct imgpar_context {
    atomic_int refs;
    unsigned process; /* that opened it; see Note [Forked processes] */
    ip_devices devices;
    ip_device *device;  /* the first of them; NULL: ref */
    imgpar_device info; /* of ref; else the device's facts have it */
    char *notice;       /* NULL: nothing to say */
    char *dump;         /* IMGPAR_DUMP; NULL */
    /* Guards n_settings to mem_limit, and plans. It is taken before the locks of devices, their pools, decoded and
     * kept, and while none of these is held. */
    pthread_mutex_t lock;
    uint64_t n_settings; /* how often one was changed */
    bool fuse;
    ip_tuning tuning;
    bool checks; /* kernels are compiled with checks */
    ip_blas_mode blas;
    ip_tier tier;
    uint64_t max_pixels;
    uint64_t mem_limit; /* 0: the device's own */
    ip_account *host;   /* host memory that pixels take: Note [Host memory] in context.c */
    ip_decoded decoded; /* sources that were decoded last */
    ip_kept kept;       /* arrays that keep their values */
    ip_turns turns;     /* of evaluations, where memory is short */
    ip_plans plans;     /* of the graphs that were met last; guarded by lock */
    atomic_ullong spills, fallbacks, values_moved, bytes_moved, values_found;
    atomic_ullong evaluations, decodes, encodes, files, programs_pending;
    atomic_llong live[IP_N_LIVE];
};

/* A consistent copy of the settings, as compile options for one of its devices; NULL: for the reference interpreter. */
ip_compile_options ip_context_compile_options(imgpar_context *ctx, const ip_device *device);
/* Who computes products of matrices. On several devices nothing is left to measuring. */
ip_blas_mode ip_context_blas(imgpar_context *ctx);
/* imgpar_context_new() */
imgpar_status ip_context_new(const char *selector, imgpar_context **out);
/* IMGPAR_E_DEVICE_LOST in a process that was forked after ctx was opened. */
imgpar_status ip_context_check(const imgpar_context *ctx, ip_error *err);
uint64_t ip_context_max_pixels(const imgpar_context *ctx);
/* Counts n bytes of host memory for what, a file or an operation; IMGPAR_E_DEVICE_MEMORY above the limit. To be given
 * back to ctx->host. */
imgpar_status ip_context_take_host(imgpar_context *ctx, uint64_t n, const char *what, ip_error *err);
uint64_t ip_context_next_file(imgpar_context *ctx);
/* Whether kernels are to check what they do. */
bool ip_context_checks(imgpar_context *ctx);

#endif
