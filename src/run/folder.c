/* SPDX-License-Identifier: MIT */
/*
 * Finding and making private folders. Nothing here fails loudly: without a
 * folder there is no cache, and everything else works.
 */
#include "run/folder.h"

#include "base/alloc.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Creates path and the folders above it that are missing; true when path is there afterwards. */
static bool make_folders(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES;
        *p = '/';
        if (failed) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

int ip_folder_open_cache(void)
{
    const char *given = ip_env("IMGPAR_CACHE_DIR"), *xdg = ip_env("XDG_CACHE_HOME"), *home = ip_env("HOME");
    const char *on = getenv("IMGPAR_CACHE");
    if (on && strcmp(on, "0") == 0) return -1;

    ip_str path = IP_STR_INIT;
    if (given)
        ip_str_append(&path, given);
    else if (xdg && *xdg == '/')
        ip_str_printf(&path, "%s/imgpar", xdg);
    else if (home && *home == '/')
        ip_str_printf(&path, "%s/.cache/imgpar", home);

    int folder = -1;
    struct stat s;
    if (path.text && !path.failed && !ip_fault(IP_FAULT_FILE) && make_folders(path.text))
        folder = open(path.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && (fstat(folder, &s) != 0 || s.st_uid != geteuid() || (s.st_mode & 022) != 0)) {
        close(folder);
        folder = -1;
    }
    ip_str_free(&path);
    return folder;
}
