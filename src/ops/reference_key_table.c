/* SPDX-License-Identifier: MIT */
/* Tables of keys and look-ups in them on the host. */
#include "ops/keys.h"
#include "ops/key_table.h"

#include <string.h>

enum { ASK_ELEMENTS = 65536 };

/* The slot of a key: its own, or the free one where it would stand. */
static int64_t slot_of(const ip_key_format *f, const unsigned char *keys, const int32_t *slots, int bits, uint64_t key)
{
    const int64_t mask = (INT64_C(1) << bits) - 1;
    int64_t at = (int64_t)ip_key_hash(key, bits);
    while (slots[at] && ip_key_of(f, ip_key_load(f, keys + (int64_t)(slots[at] - 1) * f->size_bytes)) != key)
        at = (at + 1) & mask;
    return at;
}

imgpar_status ip_key_table_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const ip_key_format f = ip_key_format_of(o->dtype, true, false);
    const int bits = (int)o->sizes[IP_KEY_TABLE_BITS];
    int32_t *slots = out;
    imgpar_status st = IMGPAR_OK;
    memset(out, 0, sizeof *slots << bits);
    for (int64_t k = 0; !st && k < o->sizes[IP_KEY_TABLE_N]; k++) {
        const uint64_t key = ip_key_of(&f, ip_key_load(&f, (const unsigned char *)in[0] + k * f.size_bytes));
        const int64_t at = slot_of(&f, in[0], slots, bits, key);
        if (!slots[at]) slots[at] = (int32_t)k + 1;
        if (k % ASK_ELEMENTS == 0) st = ask(user);
    }
    return st;
}

imgpar_status ip_key_places_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const ip_key_format f = ip_key_format_of(o->dtype, true, false);
    const int64_t n = o->dims[0] * o->dims[1] * o->dims[2] * o->dims[3];
    const int32_t *slots = in[IP_PLACES_TABLE];
    int32_t *places = out;
    imgpar_status st = IMGPAR_OK;
    for (int64_t k = 0; !st && k < n; k++) {
        const uint64_t bits = ip_key_load(&f, (const unsigned char *)in[IP_PLACES_A] + k * f.size_bytes);
        places[k] =
            slots[slot_of(&f, in[IP_PLACES_KEYS], slots, (int)o->sizes[IP_KEY_TABLE_BITS], ip_key_of(&f, bits))] - 1;
        if (k % ASK_ELEMENTS == 0) st = ask(user);
    }
    return st;
}
