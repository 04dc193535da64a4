/* SPDX-License-Identifier: MIT */
/*
 * Jobs that run at once, each on a thread of its own, for an evaluation of the calling thread. That thread waits; what
 * the caller's options ask to be called (poll, events, warnings) is called on it and on no other, as imgpar.h promises,
 * so jobs are given options of their own, which pass everything on to it.
 *
 *     typedef struct strip {
 *         ip_job job;
 *         int first, end;
 *     } strip;
 *     static imgpar_status run_strip(ip_job *job, const imgpar_options *options, ip_error *err)
 *     {
 *         strip *s = (strip *)job;
 *         ...
 *     }
 *
 *     strip a = { { run_strip, 0.5 }, 0, 50 }, b = { { run_strip, 0.5 }, 50, 100 };
 *     ip_job *jobs[] = { &a.job, &b.job };
 *     st = ip_jobs_run(jobs, 2, options, err);
 */
#ifndef IP_RUN_JOBS_H
#define IP_RUN_JOBS_H

#include "base/status.h"

#include <stddef.h>

typedef struct ip_job ip_job;
struct ip_job {
    imgpar_status (*run)(ip_job *job, const imgpar_options *options, ip_error *err);
    double share; /* of all jobs' work, for progress: they sum up to 1 */
};

/* Runs them and waits for the last. Where one fails and the caller's options have a poll, the polls of the others
 * answer to stop; without it nobody polls, and they run to their ends. Returned is the first failure in the order of
 * jobs that is not such a stop. options may be NULL. */
imgpar_status ip_jobs_run(ip_job *const *jobs, size_t n, const imgpar_options *options, ip_error *err);

#endif
