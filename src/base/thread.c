/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

bool ip_thread_start(pthread_t *thread, void *(*run)(void *user), void *user)
{
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own); /* threads inherit it */
    const bool is_started = pthread_create(thread, NULL, run, user) == 0;
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    return is_started;
}
