/* SPDX-License-Identifier: MIT */
/* Conditions that are waited for a little at a time, by a clock that nobody sets. */
#ifndef IP_BASE_WAIT_H
#define IP_BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>

/* For ip_cond_wait_ms(); false: the system has no room for it. */
bool ip_cond_init(pthread_cond_t *changed);
/* Until the condition changes, at most ms milliseconds; with the lock held. */
void ip_cond_wait_ms(pthread_cond_t *changed, pthread_mutex_t *lock, int ms);

#endif
