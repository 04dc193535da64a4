/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include <signal.h>
#include <time.h>

/* A thread inherits that signals are blocked. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *user)
{
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own);
    const bool ok = pthread_create(thread, NULL, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    return ok;
}

/* A clock that nobody sets. */
bool threads_init(pthread_cond_t *changed)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic)) return false;
    const bool ok = !pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) && !pthread_cond_init(changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return ok;
}

void threads_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(changed, lock, &until);
}
