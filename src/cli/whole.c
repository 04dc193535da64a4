/* SPDX-License-Identifier: MIT */
#include "whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where path is written: *replaced is what is replaced when it is whole, for free(); NULL: in place. 0 or an errno. */
static int find(const char *path, char **replaced, struct stat *found)
{
    struct stat link;
    const bool exists = stat(path, found) == 0;
    *replaced = NULL;
    if (!exists && errno != ENOENT) return errno;
    if (!exists && lstat(path, &link) == 0) return 0; /* a link to what is not there yet */
    if (exists && S_ISDIR(found->st_mode)) return EISDIR;
    if (exists && access(path, W_OK) != 0) return errno; /* rename() would not ask */
    if (exists && !S_ISREG(found->st_mode)) return 0;
    if (!exists) found->st_mode = 0;
    *replaced = exists ? realpath(path, NULL) : strdup(path);
    return *replaced ? 0 : errno;
}

int whole_check(const char *path)
{
    struct stat found;
    char *replaced;
    int why = find(path, &replaced, &found);
    if (!why && replaced) {
        char *slash = strrchr(replaced, '/');
        if (slash) slash[slash == replaced] = '\0';
        if (access(slash ? replaced : ".", W_OK | X_OK) != 0) why = errno;
    }
    free(replaced);
    return why;
}

static FILE *open_part(whole_file *f, mode_t mode)
{
    const size_t n = strlen(f->path) + sizeof ".XXXXXX";
    f->part = malloc(n);
    if (!f->part) return NULL;
    snprintf(f->part, n, "%s.XXXXXX", f->path);
    const int fd = mkstemp(f->part);
    if (fd < 0) return NULL;
    const mode_t mask = umask(0);
    umask(mask);
    FILE *file = fchmod(fd, mode ? mode & 0777 : 0666 & ~mask) == 0 ? fdopen(fd, "wb") : NULL;
    if (file) return file;
    const int why = errno;
    close(fd);
    unlink(f->part);
    errno = why;
    return NULL;
}

FILE *whole_open(whole_file *f, const char *path)
{
    struct stat found;
    *f = (whole_file){ 0 };
    int why = find(path, &f->path, &found);
    if (!why) {
        f->file = f->path ? open_part(f, found.st_mode) : fopen(path, "wb");
        if (f->file) return f->file;
        why = errno;
    }
    free(f->part);
    free(f->path);
    *f = (whole_file){ 0 };
    errno = why;
    return NULL;
}

bool whole_close(whole_file *f, bool is_whole)
{
    int why = 0;
    if (!f->file) return true;
    if (ferror(f->file)) why = EIO;
    if (fclose(f->file) != 0) why = errno;
    if (f->part && is_whole && !why && rename(f->part, f->path) != 0) why = errno;
    if (f->part && (!is_whole || why)) unlink(f->part);
    free(f->part);
    free(f->path);
    *f = (whole_file){ 0 };
    errno = why;
    return why == 0;
}
