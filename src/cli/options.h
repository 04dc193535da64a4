/* SPDX-License-Identifier: MIT */
/* The command line as a struct, from one table that is also what --help prints. */
#ifndef IMGPAR_CLI_OPTIONS_H
#define IMGPAR_CLI_OPTIONS_H

#include <stdbool.h>

/* What the exit status says. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef enum action { ACTION_RUN, ACTION_HELP, ACTION_LIST_OPS, ACTION_LIST_DEVICES, ACTION_VERSION } action;

typedef enum profile_format { PROFILE_NONE, PROFILE_TABLE, PROFILE_JSON } profile_format;

typedef struct options {
    action action;
    const char *help_op;   /* --help OP, or NULL */
    const char *expression, *output, *format; /* -e, -o, --format */
    const char *device, *placement, *schedule, *mem_limit, *max_pixels;
    const char *trace;     /* the file it is written to, or NULL */
    const char *explain;   /* its format, or NULL */
    profile_format profile;
    bool no_fuse, verify, tunes;
    double tolerance;      /* of --verify */
    const char *file;      /* FILE.conf, "-", or NULL with -e */
    char **settings;       /* NAME=VALUE */
    int n_settings;
} options;

/* EXIT_DONE, or EXIT_USAGE after saying why on stderr. Strings are borrowed from argv. */
int options_parse(int argc, char **argv, options *o);
/* The options, a line each, on stdout. */
void options_print(void);

#endif
