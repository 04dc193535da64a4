/* SPDX-License-Identifier: MIT */
/* Threads of the library. */
#ifndef IP_BASE_THREAD_H
#define IP_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts run(user); to be joined. Signals are the program's: none is delivered to the thread. False: there is none. */
bool ip_thread_start(pthread_t *thread, void *(*run)(void *user), void *user);

/* This process's number among its parents since the library was first used, from 1 on: another one in a child after
 * fork(). Costs no call of the system's, unlike getpid(). */
unsigned ip_process_number(void);

#endif
