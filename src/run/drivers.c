/* SPDX-License-Identifier: MIT */
/*
 * What OpenCL drivers read from the environment. Nothing here fails loudly: a driver that is told nothing goes by its
 * own defaults.
 */
#include "run/drivers.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#if defined __has_include
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define IP_KNOWS_SINGLE_THREADED 1
#endif
#endif

/* ---- where PoCL keeps its kernels -------------------------------------------------------------- */

/* Whether a disk has too little room for a program of PoCL's, which ends the process where it cannot write one. */
static bool is_full(const char *folder)
{
    static const double least = 4e6; /* the largest of ours takes 2 MB */
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 && disk.f_blocks > 0 && (double)disk.f_bavail * (double)disk.f_frsize < least;
}

/* True when path can be written, or created because the nearest folder above it can. Shortens path. */
static bool could_write(char *path)
{
    for (;;) {
        if (access(path, W_OK | X_OK) == 0) return !is_full(path);
        if (errno != ENOENT) return false;
        char *slash = strrchr(path, '/');
        if (!slash || slash[1] == '\0') return false;
        slash[slash == path] = '\0'; /* keeps the root's own slash */
    }
}

char *ip_drivers_pocl_folder(void)
{
    const char *told = ip_env("POCL_CACHE_DIR"), *xdg = ip_env("XDG_CACHE_HOME"), *home = ip_env("HOME");
    ip_str path = IP_STR_INIT;
    if (told)
        ip_str_append(&path, told);
    else if (xdg)
        ip_str_printf(&path, "%s/pocl/kcache", xdg);
    else if (home)
        ip_str_printf(&path, "%s/.cache/pocl/kcache", home);
    return path.length ? ip_str_take(&path) : NULL;
}

/* False when where PoCL would keep its kernels is no place to write. */
static bool pocl_has_a_folder(void)
{
    char *path = ip_drivers_pocl_folder();
    const bool has = path && could_write(path);
    ip_free(path);
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
    const char *tmp = ip_env("TMPDIR");
    char path[256];
    if (!tmp || *tmp != '/' || strlen(tmp) > 200) tmp = "/tmp";
    snprintf(path, sizeof path, "%s/imgpar-%lu", tmp, (unsigned long)geteuid());
    if (!make_private(path)) { /* somebody else took the name */
        snprintf(path, sizeof path, "%s/imgpar-%lu-XXXXXX", tmp, (unsigned long)geteuid());
        if (!mkdtemp(path)) return;
    }
    setenv("POCL_CACHE_DIR", path, 1);
}

/* Whether the folder that PoCL is told has no room, or is a file or a link to nowhere: PoCL has a device then, but
 * builds nothing. */
static bool is_told_an_unusable_one(void)
{
    const char *folder = ip_env("POCL_CACHE_DIR");
    struct stat s;
    if (!folder) return false;
    if (stat(folder, &s) != 0) return lstat(folder, &s) == 0;
    return !S_ISDIR(s.st_mode) || (access(folder, W_OK | X_OK) == 0 && is_full(folder));
}

/* ---- where PoCL's threads run ------------------------------------------------------------------ */

/* That nobody else can be reading the environment. */
static bool is_single_threaded(void)
{
#ifdef IP_KNOWS_SINGLE_THREADED
    return __libc_single_threaded;
#else
    return false;
#endif
}

/* That the process may run on processors 0..n - 1, which are all there are. */
static bool may_run_everywhere(void)
{
#ifdef CPU_SETSIZE
    cpu_set_t set;
    long n = sysconf(_SC_NPROCESSORS_CONF);
    if (n > CPU_SETSIZE || sched_getaffinity(0, sizeof set, &set) != 0) return false;
    for (long k = 0; k < n; k++)
        if (!CPU_ISSET((size_t)k, &set)) return false;
    return n > 1;
#else
    return false;
#endif
}

/*
 * Note [Pinning]
 * PoCL has a thread for each processor and leaves it to the system where they run. Threads that a kernel wakes together
 * were often seen to share one processor for many kernels on end, while another stood idle: on a virtual machine of
 * two, in four processes of ten. PoCL ties its thread k to processor k when told to. That is what is wanted where it
 * has all processors to itself: not where the process is restricted to some of them, or PoCL to a number of threads.
 */
static void pin_threads_of_pocl(void)
{
    bool is_limited = ip_env("POCL_MAX_PTHREAD_COUNT") || ip_env("POCL_CPU_MAX_CU_COUNT");
    if (!is_limited && is_single_threaded() && may_run_everywhere()) setenv("POCL_AFFINITY", "1", 0);
}

/* ---- which of a kernel PoCL compiles ------------------------------------------------------------ */

/*
 * Note [One machine code a kernel]
 * Even with its cache warm PoCL preprocesses a program's text and reads its bitcode again: 35 ms for each program of
 * each process, where the program from its binary is there within 1 ms. PoCL's binaries hold kernels for any offset,
 * size of group and of grid, but what it launches is specialized for those, so that asking for a binary compiles each
 * kernel a second time, 0.6 s. Told not to specialize, it launches what is in the binary. Our kernels have groups of
 * one item on a CPU and lose nothing by it. A program of many kernels would be compiled whole where perhaps one of
 * them is launched: such are not kept, but those of a fold are, which launches both of its two (run/cache.c).
 */
static void keep_pocl_general(void)
{
    if (is_single_threaded()) setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0);
}

bool ip_drivers_pocl_is_general(void)
{
    const char *specializes = ip_env("POCL_WORK_GROUP_SPECIALIZATION");
    return specializes && strcmp(specializes, "0") == 0;
}

/* ---- all of it --------------------------------------------------------------------------------- */

/* Drivers belong to the process, as the environment does, and no object of a child's could know of them: which one has
 * loaded them. */
static atomic_uint process_of_drivers;

static void prepare(void)
{
    atomic_store(&process_of_drivers, ip_process_number());
    if (ip_env("POCL_CACHE_DIR") ? is_told_an_unusable_one() : !pocl_has_a_folder()) give_pocl_a_folder();
    pin_threads_of_pocl();
    keep_pocl_general();

    if (access("/sys/devices/system/cpu", F_OK) != 0) {
        char processors[32];
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        snprintf(processors, sizeof processors, "pu:%ld", n > 0 ? n : 1);
        setenv("HWLOC_SYNTHETIC", processors, 0);
    }
}

void ip_drivers_prepare(void)
{
    /* The environment belongs to the process, so this is the library's one act that no object can own. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

char *ip_drivers_complaint(void)
{
    const char *folder = ip_env("POCL_CACHE_DIR");
    ip_str path = IP_STR_INIT, text = IP_STR_INIT;
    if (!folder) return NULL;
    ip_str_append(&path, folder);
    if (path.text && !path.failed && !could_write(path.text))
        ip_str_printf(&text, "POCL_CACHE_DIR=%s cannot be written, and PoCL has no device without it", folder);
    ip_str_free(&path);
    return text.length ? ip_str_take(&text) : NULL;
}

bool ip_drivers_are_of_the_parent(void)
{
    unsigned process = atomic_load(&process_of_drivers);
    return process != 0 && process != ip_process_number();
}
