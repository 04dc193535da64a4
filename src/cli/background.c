/* SPDX-License-Identifier: MIT */
/*
 * The process is `imgpar-run --compile-pending`, which see: of lowest priority, for a minute at most, in a session of
 * its own, with nothing of this one open (where the C library can do that), no signal blocked and the environment of
 * this one. A shell between us and it lets it be nobody's child, so that nobody waits for it. Where a process is at
 * work already, it sees to what was left and the new one ends at once.
 */
#include "background.h"

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Standard input, output and errors are nowhere, and nothing else is open. */
static bool open_nothing(posix_spawn_file_actions_t *files)
{
    for (int fd = 0; fd <= 2; fd++)
        if (posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0)) return false;
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 34)
    if (posix_spawn_file_actions_addclosefrom_np(files, 3)) return false;
#endif
#endif
    return true;
}

static bool be_apart(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    return !posix_spawnattr_setsigmask(attributes, &none) && !posix_spawnattr_setsigdefault(attributes, &all) &&
           !posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* path: this program. */
static void start(char *path)
{
    char shell[] = "sh", flag[] = "-c", script[] = "timeout 60 nice -n 19 \"$0\" --compile-pending &";
    char *const arguments[] = { shell, flag, script, path, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child;
    if (posix_spawn_file_actions_init(&files)) return;
    if (!posix_spawnattr_init(&attributes)) {
        if (open_nothing(&files) && be_apart(&attributes) &&
            !posix_spawn(&child, "/bin/sh", &files, &attributes, arguments, environ)) {
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                continue;
        }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
}

void background_start(const imgpar_context *ctx, uint64_t *n_seen)
{
    char path[4096];
    imgpar_counters c = { .struct_size = sizeof c };
    if (signals_seen() || imgpar_context_counters(ctx, &c) || c.programs_pending == *n_seen) return;
    *n_seen = c.programs_pending;
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0 || n == sizeof path - 1) return;
    path[n] = '\0';
    start(path);
}
