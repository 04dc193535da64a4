/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>

bool ip_thread_start(pthread_t *thread, void *(*run)(void *user), void *user)
{
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own); /* threads inherit it */
    const bool is_started = pthread_create(thread, NULL, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    return is_started;
}

static atomic_uint process_number = 1;

static void become_child(void) { atomic_fetch_add_explicit(&process_number, 1, memory_order_relaxed); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, become_child); }

unsigned ip_process_number(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return atomic_load_explicit(&process_number, memory_order_relaxed);
}
