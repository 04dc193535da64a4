/* SPDX-License-Identifier: MIT */
/*
 * The pictures that a pipeline is run for: named on the command line, found in folders, or listed on standard input;
 * and the name of the output of each, by the template of -o.
 *
 *     out/{name}.jpg      {name} the file's name without its ending, {ext} the ending, {dir} its folder, {n} its number
 *                         from 1
 *     {n:4}               the number in at least four digits;  {{ and }}: a brace
 *
 * Of a picture that was found in a named folder {dir} is what lies between: "a/b" for in/a/b/c.png in in. Of another it
 * is the folder as it was written, without a leading / or ./, so that it is always beneath what stands before it in the
 * template. Nothing is kept for a picture but its name, so that there may be any number.
 */
#ifndef IMGPAR_CLI_INPUTS_H
#define IMGPAR_CLI_INPUTS_H

#include "named.h"
#include "options.h"

#include <imgpar.h>
#include <stddef.h>
#include <stdint.h>

typedef struct input {
    char *path;   /* owned; "-" is standard input */
    size_t below; /* where in path the part below the searched folder begins; 0: no folder was searched */
    void *bytes;  /* what standard input had, where it was looked at before; owned */
    size_t n_bytes;
    bool has_no_format; /* -o names its output by {ext}, which tells none */
} input;

typedef struct inputs {
    input *items;
    size_t n, capacity;
    uint64_t bytes;    /* of all files, as far as they can be seen */
    size_t n_unread;   /* folders that were passed by, which was said */
    size_t n_left_out; /* files in folders whose names tell no format */
    bool has_folders;  /* some of them for want of --recursive */
} inputs;

/* Adds a file, or with o->recursive what is in a folder. EXIT_DONE, or what to exit with after saying why. */
int inputs_add(inputs *in, const options *o, const char *path);
/* Adds the names that standard input lists, each ended by a zero byte. */
int inputs_add_listed(inputs *in, const options *o);
/* Says how many files in folders were passed by, unless it is to be --quiet. */
void inputs_tell_left_out(const inputs *in, const options *o);
/* Is there a mistake in the names of what would be written? Two of one name, one that is an input or the file of the
 * pipeline or in named, if not NULL, and, where it must tell_format, one that tells none. Looks at all of them before
 * anything is written. */
int inputs_check(inputs *in, const options *o, bool tells_format, const named_files *named);
/* What the template makes of an input and a number, for free(); NULL without memory. */
char *inputs_name(const input *item, size_t number, const char *template);
/* The output of the k-th, likewise. */
char *inputs_output(const inputs *in, size_t k, const char *template);
/* The k-th as an array, new. */
imgpar_array *inputs_open(const inputs *in, size_t k, imgpar_context *ctx);
void inputs_free(inputs *in);

#endif
