/* SPDX-License-Identifier: MIT */
/*
 * Note [Damaged files of PoCL's]
 * PoCL has a folder for each program, with its bitcode and the machine code of its kernels. It trusts what is there: of
 * a program.bc or a .so that is empty or cut, as they may be where a machine lost power, it ends the process. A binary
 * of PoCL's names the folder and holds these files, and ours have checksums (run/cachefile.h); so before PoCL gets a
 * binary that we kept, files that differ from those in it are replaced, each at once, as another process may be reading
 * them. Of a program that is built from its text nobody but PoCL knows the folder, and nothing is looked at.
 *
 * A binary is "poclbin", at FOLDER_AT the folder's name below that of the cache, "AB/CDEF", and on, amid others, the
 * files: length of the name, name from the folder on, "/program.bc", length of the content, content; lengths are u32.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "run/pocl_files.h"

#include "run/drivers.h"

#include "base/alloc.h"
#include "base/str.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_AT = 36, FOLDER_ROOM = 64, DEEPEST = 3 };

typedef struct content {
    const unsigned char *bytes;
    size_t n;
} content;

/* Where PoCL's folder of the program begins, "AB/CDEF"; NULL: this is another binary. */
static const char *folder_of(const content *binary)
{
    const char *name = (const char *)binary->bytes + FOLDER_AT;
    if (binary->n < FOLDER_AT + FOLDER_ROOM || memcmp(binary->bytes, "poclbin", 8) != 0) return NULL;
    const size_t length = strnlen(name, FOLDER_ROOM);
    if (length < 4 || length == FOLDER_ROOM || name[2] != '/') return NULL;
    return strspn(name, "ABCDEFGHIJKLMNOP") == 2 && strspn(name + 3, "ABCDEFGHIJKLMNOP") == length - 3 ? name : NULL;
}

/* The file of that name in the binary; false: there is none. */
static bool find_file(const content *binary, const char *name, content *out)
{
    const size_t length = strlen(name);
    const unsigned char *end = binary->bytes + binary->n, *at = binary->bytes + FOLDER_AT;
    for (; (at = memmem(at, (size_t)(end - at), name, length)); at++) {
        uint32_t before, bytes;
        const size_t left = (size_t)(end - at) - length;
        if (left < sizeof bytes) return false;
        memcpy(&before, at - sizeof before, sizeof before);
        memcpy(&bytes, at + length, sizeof bytes);
        if (before != length || bytes > left - sizeof bytes) continue;
        *out = (content){ at + length + sizeof bytes, bytes };
        return true;
    }
    return false;
}

static bool holds(const char *path, const content *want)
{
    unsigned char part[4096];
    size_t at = 0, got;
    FILE *f = fopen(path, "re");
    if (!f) return false;
    while ((got = fread(part, 1, sizeof part, f)) > 0 && got <= want->n - at &&
           memcmp(part, want->bytes + at, got) == 0)
        at += got;
    fclose(f);
    return got == 0 && at == want->n;
}

/* Writes beside path and renames. */
static void replace(const char *path, mode_t mode, const content *with)
{
    ip_str beside = IP_STR_INIT;
    ip_str_printf(&beside, "%s-XXXXXX", path);
    char *name = ip_str_take(&beside);
    const int fd = name ? mkstemp(name) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool is_written = f && fwrite(with->bytes, 1, with->n, f) == with->n && fchmod(fd, mode) == 0;
    if (f)
        is_written &= fclose(f) == 0;
    else if (fd >= 0)
        close(fd);
    if (fd >= 0 && (!is_written || rename(name, path) != 0)) unlink(name);
    ip_free(name);
}

/* What is in the folder of that path, whose files' names in the binary begin behind the first `root` characters. */
static void mend_folder(const content *binary, const char *path, size_t root, int depth)
{
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        struct stat s;
        content want;
        if (d->d_name[0] == '.') continue;
        ip_str text = IP_STR_INIT;
        ip_str_printf(&text, "%s/%s", path, d->d_name);
        char *inside = ip_str_take(&text);
        if (!inside || lstat(inside, &s) != 0) {
            /* it is gone, or there is no memory */
        } else if (S_ISDIR(s.st_mode) && depth < DEEPEST) {
            mend_folder(binary, inside, root, depth + 1);
        } else if (S_ISREG(s.st_mode) && find_file(binary, inside + root, &want) && !holds(inside, &want)) {
            replace(inside, s.st_mode & 0777, &want);
        }
        ip_free(inside);
    }
    if (dir) closedir(dir);
}

void ip_pocl_files_mend(const void *binary, size_t n)
{
    const content all = { binary, n };
    const char *name = folder_of(&all);
    char *cache = name ? ip_drivers_pocl_folder() : NULL;
    ip_str text = IP_STR_INIT;
    if (!cache) return;
    ip_str_printf(&text, "%s/%s", cache, name);
    char *path = ip_str_take(&text);
    if (path) mend_folder(&all, path, strlen(path), 0);
    ip_free(path);
    ip_free(cache);
}
