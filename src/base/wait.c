/* SPDX-License-Identifier: MIT */
#include "base/wait.h"

#include <time.h>

bool ip_cond_init(pthread_cond_t *changed)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0) return false;
    const bool ok =
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 && pthread_cond_init(changed, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    return ok;
}

void ip_cond_wait_ms(pthread_cond_t *changed, pthread_mutex_t *lock, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(changed, lock, &until);
}
