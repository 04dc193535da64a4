/* SPDX-License-Identifier: MIT */
/* Threads of the library. */
#ifndef IP_BASE_THREAD_H
#define IP_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts run(user); to be joined. Signals are the program's: none is delivered to the thread. False: there is none. */
bool ip_thread_start(pthread_t *thread, void *(*run)(void *user), void *user);

/* A number of this process, never 0: another one in a child after fork(). pthread_atfork() counts it, which takes no
 * call of the system, as getpid() would; children made by clone() alone are not told apart. */
unsigned ip_process_number(void);

#endif
