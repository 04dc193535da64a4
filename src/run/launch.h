/* SPDX-License-Identifier: MIT */
/*
 * Launching one kernel of a plan for one region: the parameter buffer filled by the kernel's slots, scratch
 * memory, work sizes, batches short enough to poll between.
 */
#ifndef IP_RUN_LAUNCH_H
#define IP_RUN_LAUNCH_H

#include "compile/plan.h"
#include "io/io.h"
#include "run/blas.h"
#include "run/device.h"

/* A stage's memory during a run: a buffer that holds a region of its domain, rows tightly packed. */
typedef struct ip_binding {
    ip_buffer *buffer;
    ip_region region;
} ip_binding;

typedef struct ip_runner {
    ip_device *device;
    const imgpar_options *options; /* for events; may be NULL */
    ip_poll poll;                  /* stop may be NULL */
    ip_tuning tuning;
    ip_blas_mode blas;
    ip_program **programs; /* by kernel, those found so far, for the evaluation to keep; NULL: it keeps none */
    /* of a loop: the next one reads the results, and may be enqueued while this one runs */
    bool is_step;
    double started_ms; /* of this evaluation, monotonic clock */
} ip_runner;

double ip_now_ms(void);
/* ip_program_absence(), ip_program_charge() and ip_program_leave_pending() of the kernel's program. */
ip_absence ip_kernel_absence(ip_device *device, const ip_kernel *k, double *spent);
bool ip_kernel_charge(ip_device *device, const ip_kernel *k, double work);
bool ip_kernel_leave_pending(ip_device *device, const ip_kernel *k);
/* Where the evaluation keeps the kernel's program; NULL: it keeps none. */
ip_program **ip_kernel_kept_program(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel);
/* Reports a step that took from start_ms until now (monotonic clock). */
void ip_runner_event(const ip_runner *r, const char *kind, const char *name, double start_ms, uint64_t bytes_read,
                     uint64_t bytes_written);
/* Of a launch that began at began_ms, ended now and kept the device for busy_ms, with a program that was just built:
 * the rest of the time was compiling, if it is long. PoCL makes a kernel's machine code when it is first launched. */
void ip_runner_late_compile(const ip_runner *r, const char *name, double began_ms, double busy_ms);

/* Counts what a kernel that ran on region needed and made, and reports it: wall time from start_ms, busy_ms of it on
 * the device. Of opaque kernels the plan is not looked at. */
typedef struct ip_took {
    double start_ms, busy_ms;
} ip_took;
void ip_kernel_report(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel, const ip_region *region,
                      const ip_took *took);
/* bindings[stage->id] must be set for all inputs and outputs of kernel; region is of its domain. */
imgpar_status ip_kernel_run(const ip_runner *runner, const ip_plan *plan, const ip_kernel *kernel,
                            const ip_binding *bindings, const ip_region *region, ip_error *err);

#endif
