/* SPDX-License-Identifier: MIT */
/* Threads of the library. */
#ifndef IP_BASE_THREAD_H
#define IP_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts run(user); to be joined. Signals are the program's: none is delivered to the thread. False: there is none. */
bool ip_thread_start(pthread_t *thread, void *(*run)(void *user), void *user);

#endif
