/* SPDX-License-Identifier: MIT */
/*
 * What this program's threads have in common: signals are the main thread's, and who waits looks up now and then. (As
 * base/wait.h has it for the library, of which this program sees what is public only.)
 */
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

/* A thread that reads or writes beside the main one, with what both wait by. */
typedef struct io_thread {
    bool is_there;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} io_thread;

/* False: there is no thread to be had; then there is nothing to end. */
bool io_thread_begin(io_thread *t, void *(*run)(void *), void *user);
/* Waits until the thread has ended; cancels: what it waits for, where it may be cancelled. */
void io_thread_end(io_thread *t, bool cancels);

#endif
