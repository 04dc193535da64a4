/* SPDX-License-Identifier: MIT */
/*
 * A file that is written whole or not at all: under another name beside it until it is closed. A link stays one, what
 * it points to is replaced and keeps its mode; what is no regular file, as a pipe, is written in place.
 *
 *     whole_file f;
 *     FILE *out = whole_open(&f, "a.html");     NULL: errno says why; nothing is to be closed
 *     fputs("...", out);
 *     if (!whole_close(&f, true)) perror("a.html");
 */
#ifndef IMGPAR_CLI_WHOLE_H
#define IMGPAR_CLI_WHOLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct whole_file {
    FILE *file;
    char *path; /* of what is replaced */
    char *part; /* the name until it is whole; NULL: written in place */
} whole_file;

/* Could path be opened? 0, or the errno that says why not; nothing is written. */
int whole_check(const char *path);
FILE *whole_open(whole_file *f, const char *path);
/* Gives the file its name, or, unless is_whole, removes it. False: errno says what failed, and path is as it was. */
bool whole_close(whole_file *f, bool is_whole);

#endif
