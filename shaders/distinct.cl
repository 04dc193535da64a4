/* SPDX-License-Identifier: MIT */
/*
 * The different values of n elements by hash tables: where one of each stands, and how many there are. Keys are those
 * of keys.cl, a slot's place follows from its key, and what is taken already moves on to the next slot.
 *
 * The result R: [0] how many values were found, or INT_MAX: more than `most` of them; from [1] on where one of each
 * stands; from [1 + most] on how many elements have it. What is not needed is 0.
 *
 *     hs_clear     empties tables, and R where all share one
 *     hs_sample    looks at elements that are spread over all, and gives up where these differ too much
 *     hs_judge     decides that where all share one table
 *     hs_count     counts elements
 *     hs_collect   makes R of the tables
 *
 * On a CPU a work-item has a table of its own, of keys and counts, which grows: from level to level it gets four times
 * as large, and each level has memory of its own. Others share one table, whose slots hold where an element stands;
 * keys are compared through it, so that 32 bits are exchanged at a time whatever the keys have.
 *
 * Of what its kernels take: P_ITEMS, work-items there is work for; P_EACH, elements of a work-item, those counted now
 * from P_FROM to below P_TO; P_APART, between elements of the sample, of which there are P_SAMPLE; P_ROOM, slots of a
 * work-item's memory; P_BITS, P_LAST_BITS, of the first and the last level; P_TABLES, how many.
 */
#if S_BITS == 64
#define HS_KEY ulong
#else
#define HS_KEY uint
#endif

static inline int hs_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

static inline uint hs_hash(HS_KEY key, int bits)
{
#if S_BITS == 64
    return (uint)(((key ^ (key >> 32)) * 0x9e3779b97f4a7c15UL) >> (64 - bits));
#else
    return ((key ^ (key >> 16)) * 0x9e3779b1u) >> (32 - bits);
#endif
}

/* Info: what is known of all tables, and of each: its level, its values. */
#define HS_GIVEN_UP 0
#define HS_FOUND 1
#define HS_TABLES 2
#define HS_LONGEST 1024 /* slots that are looked at for a key: keys that cluster are left to the sort */

/* Of s elements, d different: as many pairs are equal among n random ones of s s / 2 (s - d) values. */
static inline bool hs_too_many(ulong s, ulong d, ulong most)
{
    return 10 * s * s > 22 * (s - d) * most; /* a tenth more than there is room for */
}

#if IP_CPU

typedef struct hs_slot {
    HS_KEY key, count; /* 0: empty */
} hs_slot;

typedef struct hs_table {
    __global hs_slot *memory, *slots;
    __global int *firsts_memory, *firsts;
    int bits, last_bits;
    uint used, most; /* at this level */
} hs_table;

/* A level of 2^bits slots lies behind all smaller ones: the first has 2^first_bits, each next four times as many. */
static inline void hs_level(hs_table *t, int bits, int first_bits)
{
    const long offset = ((1L << bits) - (1L << first_bits)) / 3;
    t->bits = bits;
    t->slots = t->memory + offset;
    t->firsts = t->firsts_memory + offset;
    t->most = 1u << (bits - 1);
}

IP_APART void hs_empty(__global hs_slot *slots, long n)
{
    for (long k = 0; k < n; k++)
        slots[k] = (hs_slot){ 0, 0 };
}

/* Twice as many slots as there are values at most are there, so the search ends. */
static inline void hs_move(hs_table *t, hs_slot from, int first)
{
    const uint mask = (1u << t->bits) - 1;
    uint at = hs_hash(from.key, t->bits);
    while (t->slots[at].count)
        at = (at + 1) & mask;
    t->slots[at] = from;
    t->firsts[at] = first;
}

IP_APART void hs_grow(hs_table *t, int first_bits)
{
    __global const hs_slot *slots = t->slots;
    __global const int *firsts = t->firsts;
    const long n = 1L << t->bits;
    hs_level(t, t->bits + 2, first_bits);
    hs_empty(t->slots, 1L << t->bits);
    for (long k = 0; k < n; k++)
        if (slots[k].count) hs_move(t, slots[k], firsts[k]);
}

/* Makes room for one more; false: there is none. */
static inline bool hs_room(hs_table *t, int first_bits)
{
    if (t->used < t->most) return true;
    if (t->bits == t->last_bits) return false;
    hs_grow(t, first_bits);
    return true;
}

/* Adds count elements; false: there are too many values. */
static inline bool hs_add(hs_table *t, HS_KEY key, HS_KEY count, int first, int first_bits)
{
    __global hs_slot *slots = t->slots;
    const uint mask = (1u << t->bits) - 1;
    uint at = hs_hash(key, t->bits);
    for (int looked = 0; looked < HS_LONGEST; looked++, at = (at + 1) & mask) {
        const hs_slot slot = slots[at];
        if (slot.count && slot.key == key) {
            slots[at].count = slot.count + count;
            return true;
        }
        if (slot.count) continue;
        const int bits = t->bits;
        if (!hs_room(t, first_bits)) return false;
        t->used++;
        if (bits != t->bits) {
            hs_move(t, (hs_slot){ key, count }, first);
        } else {
            slots[at] = (hs_slot){ key, count };
            t->firsts[at] = first;
        }
        return true;
    }
    return false;
}

static inline hs_table hs_table_of(__global hs_slot *slots, __global int *firsts, __global const int *info, int item,
                                   __global const int *P)
{
    hs_table t;
    t.memory = slots + (long)item * P_ROOM;
    t.firsts_memory = firsts + (long)item * P_ROOM;
    t.last_bits = P_LAST_BITS;
    hs_level(&t, info[HS_TABLES + 2 * item], P_BITS);
    t.used = info[HS_TABLES + 2 * item + 1];
    return t;
}

static inline void hs_keep(__global int *info, int item, hs_table t)
{
    info[HS_TABLES + 2 * item] = t.bits;
    info[HS_TABLES + 2 * item + 1] = t.used;
}

__kernel void hs_clear(__global hs_slot *slots, __global int *info, __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS) return;
    hs_empty(slots + (long)item * P_ROOM, 1L << P_BITS);
    info[HS_TABLES + 2 * item] = P_BITS;
    info[HS_TABLES + 2 * item + 1] = 0;
    if (item == 0) info[HS_GIVEN_UP] = 0;
}

/* In the memory of table 0, whose first level is emptied again; others are emptied when the table grows. */
IP_APART bool hs_spread(__global const S_T *a, hs_table *t, __global const int *P)
{
    for (int k = 0; k < P_SAMPLE; k++)
        if (!hs_add(t, key_of(a[(long)k * P_APART], false), 1, 0, P_BITS)) return false;
    return !hs_too_many(P_SAMPLE, t->used, P_MOST);
}

__kernel void hs_sample(__global const S_T *a, __global hs_slot *slots, __global int *firsts, __global int *info,
                        __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS) return;
    hs_table t = hs_table_of(slots, firsts, info, 0, P);
    if (!hs_spread(a, &t, P)) info[HS_GIVEN_UP] = 1;
    hs_empty(slots, 1L << P_BITS);
}

IP_APART bool hs_run(__global const S_T *a, hs_table *t, int from, int to, int first_bits)
{
    for (int k = from; k < to; k++)
        if (!hs_add(t, key_of(a[k], false), 1, k, first_bits)) return false;
    return true;
}

__kernel void hs_count(__global const S_T *a, __global hs_slot *slots, __global int *firsts, __global int *info,
                       __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS || info[HS_GIVEN_UP]) return;
    const long begin = (long)item * P_EACH;
    const int from = min(begin + P_FROM, (long)P_N), to = min(begin + min(P_TO, P_EACH), (long)P_N);
    hs_table t = hs_table_of(slots, firsts, info, item, P);
    if (!hs_run(a, &t, from, to, P_BITS)) info[HS_GIVEN_UP] = 1;
    hs_keep(info, item, t);
}

/* What the table `from` has goes into t. */
IP_APART bool hs_join(hs_table *t, const hs_table *from, int first_bits)
{
    const long n = 1L << from->bits;
    for (long k = 0; k < n; k++)
        if (from->slots[k].count &&
            !hs_add(t, from->slots[k].key, from->slots[k].count, from->firsts[k], first_bits))
            return false;
    return true;
}

IP_APART void hs_write(const hs_table *t, __global int *R, int most)
{
    const long n = 1L << t->bits;
    int found = 0;
    for (long k = 0; k < n; k++)
        if (t->slots[k].count) {
            R[1 + found] = t->firsts[k];
            R[1 + most + found++] = (int)t->slots[k].count;
        }
    R[0] = found;
    for (int k = found; k < most; k++)
        R[1 + k] = R[1 + most + k] = 0;
}

__kernel void hs_collect(__global hs_slot *slots, __global int *firsts, __global int *info, __global int *R,
                         __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS) return;
    hs_table t = hs_table_of(slots, firsts, info, 0, P);
    bool fits = !info[HS_GIVEN_UP];
    for (int k = 1; fits && k < P_TABLES; k++) {
        const hs_table other = hs_table_of(slots, firsts, info, k, P);
        fits = hs_join(&t, &other, P_BITS);
    }
    if (fits)
        hs_write(&t, R, P_MOST);
    else
        for (int k = 0; k <= 2 * P_MOST; k++)
            R[k] = k == 0 ? INT_MAX : 0;
}

#else

__kernel void hs_clear(__global int *slots, __global int *counts, __global int *info, __global int *R,
                       __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS) return;
    slots[item] = counts[item] = 0; /* as many as R has, but for one */
    R[item] = 0;
    if (item > 0) return;
    R[P_ITEMS] = 0;
    info[HS_GIVEN_UP] = info[HS_FOUND] = info[HS_TABLES] = 0;
}

/* The slot of the value of element k; -1: there are too many values. */
static inline int hs_slot_of(__global const S_T *a, int k, __global int *slots, __global int *info, int bits, int most)
{
    const S_T key = key_of(a[k], false);
    const int mask = (1 << bits) - 1;
    int at = hs_hash(key, bits);
    for (int looked = 0; looked < HS_LONGEST; looked++, at = (at + 1) & mask) {
        int there = slots[at];
        if (!there) there = atomic_cmpxchg((volatile __global int *)&slots[at], 0, k + 1);
        if (!there) return atomic_inc((volatile __global int *)&info[HS_FOUND]) < most ? at : -1;
        if (key_of(a[there - 1], false) == key) return at;
    }
    return -1;
}

__kernel void hs_sample(__global const S_T *a, __global int *slots, __global int *info, __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS) return;
    if (hs_slot_of(a, item * P_APART, slots, info, P_LAST_BITS, P_MOST) < 0) info[HS_GIVEN_UP] = 1;
}

__kernel void hs_judge(__global int *info, __global const int *P)
{
    if (hs_item(P) >= P_ITEMS) return;
    if (hs_too_many(P_SAMPLE, info[HS_FOUND], P_MOST)) info[HS_GIVEN_UP] = 1;
}

__kernel void hs_count(__global const S_T *a, __global int *slots, __global int *counts, __global int *info,
                       __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS) return;
    int last = -1, count = 0; /* equal elements one after the other are added at once */
    for (long k = item; k < P_N && !*(volatile __global int *)&info[HS_GIVEN_UP]; k += P_ITEMS) {
        const int at = hs_slot_of(a, (int)k, slots, info, P_LAST_BITS, P_MOST);
        if (at < 0) info[HS_GIVEN_UP] = 1;
        if (at != last) {
            if (count) atomic_add((volatile __global int *)&counts[last], count);
            count = 0;
            last = at;
        }
        count++;
    }
    if (count && last >= 0) atomic_add((volatile __global int *)&counts[last], count);
}

__kernel void hs_collect(__global const int *slots, __global const int *counts, __global int *info, __global int *R,
                         __global const int *P)
{
    const int item = hs_item(P);
    if (item >= P_ITEMS) return;
    if (item == 0) R[0] = info[HS_GIVEN_UP] ? INT_MAX : info[HS_FOUND];
    if (info[HS_GIVEN_UP] || !slots[item]) return;
    const int to = atomic_inc((volatile __global int *)&info[HS_TABLES]);
    R[1 + to] = slots[item] - 1;
    R[1 + P_MOST + to] = counts[item];
}

#endif
