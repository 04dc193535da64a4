/* SPDX-License-Identifier: MIT */
#include "base/account.h"

#include "base/alloc.h"

ip_account *ip_account_new(void)
{
    ip_account *a = ip_zalloc(sizeof *a);
    if (!a) return NULL;
    atomic_init(&a->refs, 1);
    atomic_init(&a->limit_bytes, UINT64_MAX);
    return a;
}

ip_account *ip_account_retain(ip_account *a)
{
    if (a) atomic_fetch_add(&a->refs, 1);
    return a;
}

void ip_account_release(ip_account *a)
{
    if (a && atomic_fetch_sub(&a->refs, 1) == 1) ip_free(a);
}

void ip_account_limit(ip_account *a, uint64_t limit_bytes) { atomic_store(&a->limit_bytes, limit_bytes); }

bool ip_account_take(ip_account *a, uint64_t n)
{
    if (!a) return true;
    unsigned long long held = atomic_load(&a->held_bytes);
    do {
        const uint64_t limit = atomic_load(&a->limit_bytes);
        if (held > limit || n > limit - held) return false;
    } while (!atomic_compare_exchange_weak(&a->held_bytes, &held, held + n));
    return true;
}

void ip_account_add(ip_account *a, uint64_t n)
{
    if (a) atomic_fetch_add(&a->held_bytes, n);
}

void ip_account_give(ip_account *a, uint64_t n)
{
    if (a) atomic_fetch_sub(&a->held_bytes, n);
}

uint64_t ip_account_left(const ip_account *a)
{
    if (!a) return UINT64_MAX;
    const uint64_t limit = atomic_load(&a->limit_bytes), held = atomic_load(&a->held_bytes);
    return limit == UINT64_MAX ? limit : held < limit ? limit - held : 0;
}

bool ip_account_is_limited(const ip_account *a) { return a && atomic_load(&a->limit_bytes) != UINT64_MAX; }
