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
 *     strip a = { { .run = run_strip, .share = 0.5 }, 0, 50 }, b = { { .run = run_strip, .share = 0.5 }, 50, 100 };
 *     ip_job *jobs[] = { &a.job, &b.job };
 *     st = ip_jobs_run(jobs, 2, options, err);
 */
#ifndef IP_RUN_JOBS_H
#define IP_RUN_JOBS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ip_job ip_job;
struct ip_job {
    imgpar_status (*run)(ip_job *job, const imgpar_options *options, ip_error *err);
    double share;         /* of all jobs' work, for progress: they sum up to 1 */
    struct ip_crew *crew; /* whom it runs with; ip_jobs_run() sets it */
};

/* Whether another one has failed, or the caller has asked to stop, so that what this one has not begun is not wanted.
 * For a job that is run, on any thread. */
bool ip_job_is_over(const ip_job *job);

/* Runs them and waits for the last. Once one has failed no other one begins; where the caller's options have a poll,
 * the polls of those that run answer to stop, and without it they run on until they are done or ask
 * ip_job_is_over(). Returned is the failure that came first and is not such a stop. options may be NULL. */
imgpar_status ip_jobs_run(ip_job *const *jobs, size_t n, const imgpar_options *options, ip_error *err);

#endif
