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

bool io_thread_begin(io_thread *t, void *(*run)(void *), void *user)
{
    *t = (io_thread){ .is_there = false };
    const bool has_lock = pthread_mutex_init(&t->lock, NULL) == 0, has_both = has_lock && threads_init(&t->changed);
    t->is_there = has_both && thread_start(&t->thread, run, user);
    if (t->is_there) return true;
    if (has_both) pthread_cond_destroy(&t->changed);
    if (has_lock) pthread_mutex_destroy(&t->lock);
    return false;
}

void io_thread_end(io_thread *t, bool cancels)
{
    if (cancels) pthread_cancel(t->thread);
    pthread_join(t->thread, NULL);
    t->is_there = false;
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
}
