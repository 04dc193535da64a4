/* SPDX-License-Identifier: MIT */
/*
 * Look-ups by key in a hash table of the keys of a vector (ops/key_table.h). A slot of the table is 0, or 1 more than
 * the place of the first of the keys that are equal; what is taken already moves on to the next slot, and at most half
 * of the slots are taken, so a search ends. Keys are those of keys.cl.
 *
 *     kt_clear  empties the slots
 *     kt_add    adds keys; on a CPU one work-item does, since its memory is what it waits for
 *     kt_find   tells for each element where its key stands, -1: nowhere
 *
 * Of what its kernels take: P_N, slots, keys, or elements that are looked up; P_EACH, elements of a work-item; P_FIRST,
 * the first element; P_BITS of the table.
 */
static inline long kt_first(__global const int *P)
{
    return ((get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0)) * (long)P_EACH;
}

/* ip_key_hash() of ops/key_table.h is the same. */
static inline uint kt_hash(S_T of, int bits)
{
    ulong key = of;
    key = (key ^ key >> 32) * 0xff51afd7ed558ccdUL;
    key = (key ^ key >> 29) * 0xc4ceb9fe1a85ec53UL;
    return (uint)(key >> (64 - bits));
}

__kernel void kt_clear(__global int *slots, __global const int *P)
{
    const long from = kt_first(P), to = min(from + P_EACH, (long)P_N);
    for (long k = from; k < to; k++)
        slots[k] = 0;
}

#if IP_CPU

__kernel void kt_add(__global const S_T *keys, __global int *slots, __global const int *P)
{
    const uint mask = (1u << P_BITS) - 1;
    const long first = kt_first(P) + P_FIRST, to = min(first + P_EACH, (long)P_N);
    for (long k = first; k < to; k++) {
        const S_T key = key_of(keys[k], false);
        uint at = kt_hash(key, P_BITS);
        while (slots[at] && key_of(keys[slots[at] - 1], false) != key)
            at = (at + 1) & mask;
        if (!slots[at]) slots[at] = (int)k + 1;
    }
}

#else

/* Of equal keys the first is what stays, whoever comes first. */
__kernel void kt_add(__global const S_T *keys, __global int *slots, __global const int *P)
{
    const long k = kt_first(P);
    if (k >= P_N) return;
    const S_T key = key_of(keys[k], false);
    const uint mask = (1u << P_BITS) - 1;
    uint at = kt_hash(key, P_BITS);
    for (;;) {
        volatile __global int *slot = (volatile __global int *)slots + at;
        int there = *slot;
        if (!there) there = atomic_cmpxchg(slot, 0, (int)k + 1);
        if (!there) return;
        if (key_of(keys[there - 1], false) == key) {
            atomic_min(slot, (int)k + 1);
            return;
        }
        at = (at + 1) & mask;
    }
}

#endif

/* P_FIRST is how many elements the buffer of a has before the first one. */
__kernel void kt_find(__global const S_T *a, __global const S_T *keys, __global const int *slots, __global int *places,
                      __global const int *P)
{
    const uint mask = (1u << P_BITS) - 1;
    const long from = kt_first(P), to = min(from + P_EACH, (long)P_N);
    for (long k = from; k < to; k++) {
        const S_T key = key_of(a[k + P_FIRST], false);
        uint at = kt_hash(key, P_BITS);
        int there = slots[at];
        while (there && key_of(keys[there - 1], false) != key) {
            at = (at + 1) & mask;
            there = slots[at];
        }
        places[k] = there - 1;
    }
}
