/* SPDX-License-Identifier: MIT */
/* The different values of a vector on the host: a table of keys, the place of a key following from it. */
#include "ops/distinct.h"
#include "ops/keys.h"

#include "base/alloc.h"

#include <string.h>

enum { ASK_ELEMENTS = 65536 };

typedef struct slot {
    uint64_t key;
    int32_t entry; /* in the result, from 1 on; 0: empty */
} slot;

imgpar_status ip_distinct_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const ip_key_format f = ip_key_format_of(o->dtype, false, false);
    const int64_t n = o->sizes[IP_DISTINCT_N], most = o->sizes[IP_DISTINCT_MOST], n_slots = 2 * most;
    int32_t *found = out, *places = found + 1, *counts = places + most;
    slot *slots = ip_alloc_array((size_t)n_slots, sizeof *slots);
    imgpar_status st = slots ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    if (slots) memset(slots, 0, (size_t)n_slots * sizeof *slots);
    memset(out, 0, (size_t)(2 * most + 1) * sizeof *found);
    for (int64_t k = 0; !st && *found <= most && k < n; k++) {
        const uint64_t key = ip_key_of(&f, ip_key_load(&f, (const unsigned char *)in[0] + k * f.size_bytes));
        int64_t at = (int64_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32) & (n_slots - 1);
        if (k % ASK_ELEMENTS == 0) st = ask(user);
        while (slots[at].entry && slots[at].key != key)
            at = (at + 1) & (n_slots - 1);
        if (!slots[at].entry) {
            if (++*found > most) break;
            slots[at] = (slot){ key, *found };
            places[*found - 1] = (int32_t)k;
        }
        counts[slots[at].entry - 1]++;
    }
    if (*found > most) *found = INT32_MAX;
    ip_free(slots);
    return st;
}
