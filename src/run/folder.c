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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A variable that is set and not empty, or NULL. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

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
    const char *given = variable("IMGPAR_CACHE_DIR"), *xdg = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    const char *on = getenv("IMGPAR_CACHE");
    if (on && strcmp(on, "0") == 0) return -1;

    ip_str path = IP_STR_INIT;
    if (given) ip_str_append(&path, given);
    else if (xdg && *xdg == '/') ip_str_printf(&path, "%s/imgpar", xdg);
    else if (home && *home == '/') ip_str_printf(&path, "%s/.cache/imgpar", home);

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

/* True when path can be written, or created because the nearest folder above it can. Shortens path. */
static bool could_write(char *path)
{
    for (;;) {
        if (access(path, W_OK | X_OK) == 0) return true;
        if (errno != ENOENT) return false;
        char *slash = strrchr(path, '/');
        if (!slash || slash[1] == '\0') return false;
        slash[slash == path] = '\0'; /* keeps the root's own slash */
    }
}

/* Where PoCL would keep its kernels if nobody told it; false when that is no place to write. */
static bool pocl_has_a_folder(void)
{
    const char *xdg = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    ip_str path = IP_STR_INIT;
    if (xdg) ip_str_printf(&path, "%s/pocl/kcache", xdg);
    else if (home) ip_str_printf(&path, "%s/.cache/pocl/kcache", home);
    bool has = path.text && !path.failed && could_write(path.text);
    ip_str_free(&path);
    return has;
}

/* A folder that is really one, ours, and closed to others; made if it is missing. */
static bool make_private(const char *path)
{
    struct stat s;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() && (s.st_mode & 077) == 0;
}

static void give_pocl_a_folder(void)
{
    const char *tmp = variable("TMPDIR");
    char path[256];
    if (!tmp || *tmp != '/' || strlen(tmp) > 200) tmp = "/tmp";
    snprintf(path, sizeof path, "%s/imgpar-%lu", tmp, (unsigned long)geteuid());
    if (!make_private(path)) { /* somebody else took the name */
        snprintf(path, sizeof path, "%s/imgpar-%lu-XXXXXX", tmp, (unsigned long)geteuid());
        if (!mkdtemp(path)) return;
    }
    setenv("POCL_CACHE_DIR", path, 0);
}

static void prepare_drivers(void)
{
    if (!variable("POCL_CACHE_DIR") && !pocl_has_a_folder()) give_pocl_a_folder();

    if (access("/sys/devices/system/cpu", F_OK) != 0) {
        char processors[32];
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        snprintf(processors, sizeof processors, "pu:%ld", n > 0 ? n : 1);
        setenv("HWLOC_SYNTHETIC", processors, 0);
    }
}

void ip_folder_prepare_drivers(void)
{
    /* The environment belongs to the process, so this is the library's one act that no object can own. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_drivers);
}
