/* SPDX-License-Identifier: MIT */
/*
 * One kernel on its way to the device, as launch.c sends it there: how its domain is divided and what the division
 * keeps in scratch memory (division.c), and its parameters (params.c).
 */
#ifndef IP_RUN_LAUNCHING_H
#define IP_RUN_LAUNCHING_H

#include "run/launch.h"
#include "run/launch_scan.h"

enum { IP_STRIP_WORK = 20000000 }; /* operations in a strip at most, so that a batch of strips ends soon */

/* How the domain's region is divided among work-items of the rows schedule, or work-groups of tiles. */
typedef struct ip_division {
    int strip_rows, strip_columns;
    int panel_columns;                  /* of a strip, walked at once: division.c, Note [Panels] */
    int items_x, items_y, items_z;      /* work-items; of tiles: work-groups */
    size_t scratch_start, scratch_each; /* in units of 64 bytes */
    size_t scratch_bytes;
    bool streams;           /* what is written is large: emit_stream.c, Note [Streaming] */
    ip_prefetch prefetches; /* how what is read is prefetched */
    ip_scan_division scan;  /* recurrences: this and scratch_bytes instead */
} ip_division;

typedef struct ip_launching {
    const ip_runner *runner;
    const ip_plan *plan;
    const ip_kernel *kernel;
    const ip_binding *bindings;
    const ip_region *region;
    ip_division div;
    int *params; /* the parameter buffer's contents */
    size_t n_params;
    ip_program *program;
    bool is_fresh; /* it was built for this launch */
    ip_buffer *scratch;
    ip_buffer *checks;                  /* checked mode */
    ip_buffer *images[IP_MAX_TEXTURES]; /* by the kernel's list of textures */
    bool is_timed;                      /* somebody listens */
    double busy_ms;                     /* of the device, by launches so far; 0 unless is_timed */
} ip_launching;

/* ---- division.c --------------------------------------------------------------------------- */

/* Sets div, of a kernel of any schedule but pixels and opaque ones. */
imgpar_status ip_divide(ip_launching *l, ip_error *err);
/* Of one row of so many columns of the domain, all stages counted, about. */
int64_t ip_operations_per_row(const ip_launching *l, int64_t columns);

/* The layout of scratch memory: folds' partial results of all work-items, then what each work-item keeps. The offsets
 * are in units of 64 bytes; a stage's are of a work-item's part. */
int ip_partial_offset(const ip_launching *l, const ip_stage *fold);
/* Of a stage's rows, or of those of one of its running sums. */
int ip_scratch_offset(const ip_launching *l, const ip_stage *stage, const ip_expr *sums);
/* Elements from one row of a line buffer to the next. */
int ip_line_buffer_pitch(const ip_launching *l, const ip_stage *stage);

/* ---- params.c ----------------------------------------------------------------------------- */

/* Makes params for the division. */
imgpar_status ip_params_make(ip_launching *l, ip_error *err);
/* One bound of the region. */
void ip_params_set_region(ip_launching *l, ip_bound bound, int64_t value);
/* The number of the launch's first work-item. */
void ip_params_set_first_item(ip_launching *l, int first);
/* What differs among the launches of a recurrence. */
void ip_params_set_scan(ip_launching *l);

#endif
