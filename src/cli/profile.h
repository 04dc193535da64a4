/* SPDX-License-Identifier: MIT */
/* --profile: collects the events of an evaluation and prints them on stderr. */
#ifndef IMGPAR_CLI_PROFILE_H
#define IMGPAR_CLI_PROFILE_H

#include <imgpar.h>
#include <stdbool.h>

typedef struct profile_row {
    char *kind, *name, *ops, *schedule;
    double ms;
    uint64_t bytes;
} profile_row;

typedef struct profile {
    profile_row *rows;
    size_t n, capacity;
    bool failed; /* memory ran out: some events are missing */
} profile;

/* Adds an event; what it points to is copied. */
void profile_add(profile *p, const imgpar_event *event);
/* Prints the table, or JSON. What kernels move is compared with a copy in the memory of ctx's device. */
void profile_print(const profile *p, imgpar_context *ctx, bool json);
void profile_free(profile *p);

#endif
