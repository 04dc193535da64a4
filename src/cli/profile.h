/* SPDX-License-Identifier: MIT */
/* --profile and --trace: collect the events of evaluations, print them on stderr, write them to a file. */
#ifndef IMGPAR_CLI_PROFILE_H
#define IMGPAR_CLI_PROFILE_H

#include <imgpar.h>
#include <stdbool.h>

typedef struct profile_row {
    char *kind, *name, *ops, *schedule, *device;
    double start_ms, ms; /* start: of the monotonic clock */
    uint64_t bytes;      /* read and written */
    size_t count;        /* steps that are this row */
} profile_row;

typedef struct profile {
    profile_row *rows;
    size_t n, capacity;
    bool merges; /* steps of one kind, or one kernel, are a row, so that their number does not matter */
    bool failed; /* memory ran out: some events are missing */
} profile;

/* Adds an event; what it points to is copied. */
void profile_add(profile *p, const imgpar_event *event);
/* Prints the table, or JSON. What kernels move is compared with a copy in the memory of ctx's device. */
void profile_print(const profile *p, imgpar_context *ctx, bool json);
/* GB/s that a copy in that memory reads and writes, if a kernel is to be compared with it; 0: not known. */
double profile_copy_gb_per_s(const profile *p, imgpar_context *ctx);
/* Writes the events to path ("-": standard output) in the Trace Event Format of Chromium. EXIT_DONE, or EXIT_FAILED
 * after saying why. */
int profile_trace(const profile *p, const char *path);
void profile_free(profile *p);

#endif
