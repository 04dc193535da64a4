/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

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

static atomic_bool watches_forks;

static void watch_forks(void) { atomic_store(&watches_forks, pthread_atfork(NULL, NULL, become_child) == 0); }

unsigned ip_process_number(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (!atomic_load_explicit(&watches_forks, memory_order_relaxed)) return (unsigned)getpid();
    return atomic_load_explicit(&process_number, memory_order_relaxed);
}
