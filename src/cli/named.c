/* SPDX-License-Identifier: MIT */
#include "named.h"
#include "stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes path. */
static bool add(named_files *list, char *path)
{
    named_file *grown = path ? realloc(list->items, (list->n + 1) * sizeof *grown) : NULL;
    if (grown) list->items = grown;
    if (!grown) {
        free(path);
        return false;
    }
    named_file *f = &grown[list->n++];
    *f = (named_file){ .path = path };
    if (stat(path, &f->was) == 0) f->real = realpath(path, NULL);
    return true;
}

bool named_add(named_files *list, const char *path) { return !path || add(list, strdup(path)); }

bool named_add_strings(named_files *list, const char *text, const char *folder)
{
    bool ok = true;
    for (char *name; ok && (name = stages_next_string(&text)); free(name)) {
        const size_t n = strlen(name) + (folder ? strlen(folder) : 0) + 2;
        char *path = malloc(n);
        const bool is_relative = folder && name[0] != '/';
        if (path) snprintf(path, n, "%s%s%s", is_relative ? folder : "", is_relative ? "/" : "", name);
        ok = add(list, path);
    }
    return ok;
}

bool named_has(const named_files *list, const char *path)
{
    struct stat found;
    const bool exists = stat(path, &found) == 0;
    for (size_t k = 0; k < list->n; k++) {
        const named_file *f = &list->items[k];
        if (strcmp(f->path, path) == 0) return true;
        if (exists && f->real && f->was.st_dev == found.st_dev && f->was.st_ino == found.st_ino) return true;
    }
    return false;
}

static bool is_other(const struct stat *a, const struct stat *b)
{
    return a->st_dev != b->st_dev || a->st_ino != b->st_ino || a->st_size != b->st_size ||
           a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}

bool named_is_changed(const named_files *list, const char *path)
{
    struct stat found;
    char *real = stat(path, &found) == 0 ? realpath(path, NULL) : NULL;
    bool is_changed = false;
    for (size_t k = 0; real && k < list->n && !is_changed; k++) {
        const named_file *f = &list->items[k];
        is_changed = f->real && strcmp(f->real, real) == 0 && is_other(&f->was, &found);
    }
    free(real);
    return is_changed;
}

void named_free(named_files *list)
{
    for (size_t k = 0; k < list->n; k++) {
        free(list->items[k].path);
        free(list->items[k].real);
    }
    free(list->items);
    *list = (named_files){ 0 };
}
