/* SPDX-License-Identifier: MIT */
/*
 * How many bytes of something are held, and how many may be: the host memory of a context. What holds some keeps the
 * account, and may outlive who set the limit. Any thread may call these; a NULL account counts nothing and has no
 * limit.
 *
 *     if (!ip_account_take(a, n)) return ...;     (above the limit: nothing was taken)
 *     ip_account_give(a, n);
 */
#ifndef IP_BASE_ACCOUNT_H
#define IP_BASE_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ip_account {
    atomic_int refs;
    atomic_ullong held_bytes, limit_bytes; /* limit UINT64_MAX: there is none */
} ip_account;

ip_account *ip_account_new(void); /* without a limit; NULL without memory */
ip_account *ip_account_retain(ip_account *a);
void ip_account_release(ip_account *a);
void ip_account_limit(ip_account *a, uint64_t limit_bytes);
bool ip_account_take(ip_account *a, uint64_t n);
/* Of what is there already, whatever the limit. */
void ip_account_add(ip_account *a, uint64_t n);
void ip_account_give(ip_account *a, uint64_t n);
uint64_t ip_account_left(const ip_account *a);
bool ip_account_is_limited(const ip_account *a);

#endif
