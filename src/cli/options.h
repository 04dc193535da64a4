/* SPDX-License-Identifier: MIT */
/* The command line as a struct, from one table that is also what --help prints. */
#ifndef IMGPAR_CLI_OPTIONS_H
#define IMGPAR_CLI_OPTIONS_H

#include "show.h"

#include <stdbool.h>
#include <stddef.h>

/* What the exit status says. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef enum action {
    ACTION_RUN,
    ACTION_HELP,
    ACTION_LIST_OPS,
    ACTION_LIST_DEVICES,
    ACTION_COMPILE_PENDING,
    ACTION_VERSION
} action;

typedef enum profile_format { PROFILE_NONE, PROFILE_TABLE, PROFILE_JSON } profile_format;

typedef enum progress_choice { PROGRESS_ON_TERMINALS, PROGRESS_AS_TEXT, PROGRESS_AS_JSON } progress_choice;

typedef struct options {
    action action;
    const char *help_op;                      /* --help OP, or NULL */
    const char *expression, *output, *format; /* -e, -o, --format */
    const char *settings;                     /* --save: how -o is written; NULL: by default */
    const char *matrix;                       /* of Y4M: "601", "709" or "2020"; NULL: "601" */
    const char *device, *placement, *schedule, *tier, *mem_limit, *max_pixels;
    const char *trace;   /* the file it is written to, or NULL */
    const char *explain; /* its format, or NULL */
    const char *report;  /* the file of HTML, or NULL */
    const char *show;    /* --show's mode, or NULL */
    screen screen;       /* what it is shown on: run() finds out */
    profile_format profile;
    progress_choice progress;
    bool no_fuse, verify, tunes, quiet;
    bool recursive, listed, skips_existing, stops_on_error; /* -0: listed */
    double tolerance;                                       /* of --verify */
    const char *file;                                       /* FILE.conf, "-", or NULL with -e */
    char **words;                                           /* NAME=VALUE, and files where takes_files() */
    int n_words;
} options;

/* EXIT_DONE, or EXIT_USAGE after saying why on stderr. Strings are borrowed from argv. */
int options_parse(int argc, char **argv, options *o);
/* The options, a line each, on stdout. */
void options_print(void);
/* Does the name of -o, or of what is written for a picture, tell its format, or --format do, and does that have what
 * --save says? EXIT_DONE or EXIT_USAGE. */
int check_format(const char *output, const options *o);
/* Does that format have what --save says? EXIT_DONE or EXIT_USAGE. */
int check_settings_of(const char *format, const options *o);
/* Is each NAME of n words NAME=VALUE there once? EXIT_DONE or EXIT_USAGE. */
int check_given_once(char *const *settings, int n);
/* Is it "-", or FILE.y4m? */
bool is_video_name(const char *path);
/* Are words files? With -o, where -e reads $1, and where a pipeline file gets one; without -o results are printed. */
bool takes_files(const options *o);
/* The length of the NAME in NAME=VALUE; 0: the word is none. */
size_t setting_name_length(const char *word);

#endif
