/* SPDX-License-Identifier: MIT */
/* Files that a run may read or write: those of which its text, its settings and its command line have the names. */
#ifndef IMGPAR_CLI_NAMED_H
#define IMGPAR_CLI_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct named_file {
    char *path;      /* as it is named, from the current folder */
    char *real;      /* where it was without links; NULL: it was not there */
    struct stat was; /* what it was then */
} named_file;

typedef struct named_files {
    named_file *items;
    size_t n;
} named_files;

/* Adds a name as it is, NULL to add nothing. False: out of memory. */
bool named_add(named_files *list, const char *path);
/* Adds each string in text, relative to folder (NULL: the current one). False: out of memory. */
bool named_add_strings(named_files *list, const char *text, const char *folder);
/* Is path one of them, by name or by what it leads to? */
bool named_has(const named_files *list, const char *path);
/* Is path one that was there, and is it another file now, or one with other bytes, as far as its time tells? */
bool named_is_changed(const named_files *list, const char *path);
void named_free(named_files *list);

#endif
