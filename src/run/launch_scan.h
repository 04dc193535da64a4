/* SPDX-License-Identifier: MIT */
/* How the lines of a recurrence are divided among work-items, and the order of its kernels' launches. */
#ifndef IP_RUN_LAUNCH_SCAN_H
#define IP_RUN_LAUNCH_SCAN_H

#include "compile/plan.h"
#include "run/device.h"

typedef struct ip_scan_division {
    int slots[IP_N_SCAN_SLOTS];   /* by ip_scan_slot; those of the first items change from launch to launch */
    int64_t items[3];             /* work-items that walk blocks */
    int64_t carry_items[3];       /* work-items that turn totals into carries */
    int block_dim;                /* dimension of items[] along which blocks lie */
    int blocks_each;              /* blocks of a work-item */
    int64_t items_at_once;        /* along block_dim, in a launch: launch_scan.c, Note [Parts of lines] */
    int long_dim, carry_long_dim; /* along these there may be more work-items than needed: they find nothing to do */
    size_t state_bytes;           /* scratch memory of the states */
    size_t line_bytes;            /* behind it what results are made in that stream; 0: they may not */
} ip_scan_division;

/* operations: of an element, about. */
imgpar_status ip_scan_divide(const ip_kernel *kernel, const ip_region *region, const ip_device_facts *facts,
                             int64_t operations, ip_scan_division *out, ip_error *err);

/* One launch of the kernel whose name ends in suffix; done: the share of the work before it. Called with division's
 * slots set. */
typedef imgpar_status (*ip_scan_launch_fn)(void *user, const char *suffix, const size_t global[3],
                                           const size_t local[3], double done, ip_error *err);
/* All launches of the division; is_polled: none takes long. */
imgpar_status ip_scan_launch(ip_scan_division *division, const ip_device_facts *facts, bool is_polled,
                             ip_scan_launch_fn launch, void *user, ip_error *err);

#endif
