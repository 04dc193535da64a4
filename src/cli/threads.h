/* SPDX-License-Identifier: MIT */
/* What this program's threads have in common: signals are the main thread's, and who waits looks up now and then. */
#ifndef IMGPAR_CLI_THREADS_H
#define IMGPAR_CLI_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread in which signals are blocked. False: there is none to be had. */
bool thread_start(pthread_t *thread, void *(*run)(void *), void *user);
/* A condition for threads_wait(). False: the system has no room for it. */
bool threads_init(pthread_cond_t *changed);
/* Until the condition changes, at most ms milliseconds; with the lock held. */
void threads_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int ms);

#endif
