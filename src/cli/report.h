/* SPDX-License-Identifier: MIT */
/* --report: what a run was made of, and what it made, as one file of HTML. */
#ifndef IMGPAR_CLI_REPORT_H
#define IMGPAR_CLI_REPORT_H

#include "named.h"
#include "options.h"
#include "profile.h"

#include <imgpar.h>

/* The run that is told of. */
typedef struct report_run {
    const char *name, *text, *folder; /* of the pipeline, as they were parsed */
    const char *input;                /* what $1 is; NULL: there is none */
    char *const *settings;            /* NAME=VALUE */
    int n_settings;
    const named_files *named; /* as they were before the run */
    const char *printed;      /* what it printed */
    const profile *times;
    double wall_ms, opening_ms; /* of the whole, and until there was a device */
} report_run;

/* Can the page be written, and is it no file that the run reads or writes? An exit status, after saying why. */
int report_check(const options *o, const named_files *named);
/* Computes what is shown, and writes path whole or not at all. An exit status, after saying why. */
int report_write(const char *path, const report_run *run, imgpar_context *ctx);

#endif
