/* SPDX-License-Identifier: MIT */
/*
 * Selection by radix: elements of given rank, without a sort (ops/nth.h, Note [Selection]), a digit of the keys
 * (keys.cl) after the other, from the highest.
 *
 *     nt_count   how often each digit occurs in a chunk, among the keys with the prefix of a place's key
 *     nt_sum     the same in all chunks
 *     nt_choose  the digit of a place's key, which makes its prefix longer, and its rank among the keys that have that
 *
 * Of what its kernels take: P_CHUNKS of P_CHUNK elements, the last one of P_REST; P_ITEMS, work-items, or groups, there
 * is work for; P_EACH, digits that a work-item sums; P_PLACES; P_LAST, the last place; P_ABOVE, bits from the top of
 * the digit down; P_SHIFT, bits below it. The state of a place is its prefix, and its rank among the keys with that.
 */
#if IP_CPU
#define NT_BITS NT_CPU_BITS
#else
#define NT_BITS NT_GPU_BITS
#endif
#if S_BITS < NT_BITS
#define NT_DIGITS (1 << S_BITS)
#else
#define NT_DIGITS (1 << NT_BITS)
#endif
#define NT_OF(at, j) (((long)(at)*P_PLACES + (j)) * NT_DIGITS)

static inline int nt_item(__global const int *P)
{
    return (get_global_id(2) + P[0]) * get_global_size(0) + get_global_id(0);
}

/* The first place that has the prefix of place j; its counts serve both. */
static inline int nt_first(__global const ulong *state, int j, __global const int *P)
{
    int first = 0;
    while (P_ABOVE < S_BITS && state[2 * first] != state[2 * j])
        first++;
    return first;
}

static inline int nt_length(int chunk, __global const int *P) { return chunk == P_CHUNKS - 1 ? P_REST : P_CHUNK; }

#if IP_CPU

/* Keys of a block stay in the first cache while the digits of each place are counted. Of NT_TOGETHER keys mostly none
 * has a place's prefix. */
#define NT_BLOCK 2048
#define NT_TOGETHER 16
#define NT_JOINED(T, N) T##N
#define NT_VECTOR(T, N) NT_JOINED(T, N)

IP_APART void nt_keys(__global const S_T *restrict x, S_T *restrict keys, int n)
{
    for (int i = 0; i < n; i++)
        keys[i] = key_of(x[i], false);
}

IP_APART void nt_count_all(const S_T *restrict keys, __global uint *restrict counts, int n, int shift, uint mask)
{
    for (int i = 0; i < n;) {
        const int to = min(i + NT_TOGETHER, n);
        S_T differ = 0;
        for (int k = i; k < to; k++)
            differ |= keys[k] ^ keys[i];
        if (differ == 0) counts[(uint)(keys[i] >> shift) & mask] += to - i; /* one after the other they would wait */
        for (; differ && i < to; i++)
            counts[(uint)(keys[i] >> shift) & mask]++;
        i = to;
    }
}

IP_APART void nt_count_some(const S_T *restrict keys, __global uint *restrict counts, int n, int shift, uint mask,
                            int above, S_T prefix)
{
    for (int i = 0; i < n; i += NT_TOGETHER) {
        const int to = min(i + NT_TOGETHER, n);
        S_T differ = 0;
        if (i + NT_TOGETHER <= n && !any((NT_VECTOR(vload, NT_TOGETHER)(0, keys + i) >> (S_T)above) == prefix))
            continue;
        for (int k = i; k < to; k++)
            differ |= keys[k] ^ keys[i];
        if (differ == 0) counts[(uint)(keys[i] >> shift) & mask] += (S_T)(keys[i] >> above) == prefix ? to - i : 0;
        for (int k = i; differ && k < to; k++)
            if ((S_T)(keys[k] >> above) == prefix) counts[(uint)(keys[k] >> shift) & mask]++;
    }
}

__kernel void nt_count(__global const S_T *restrict source, __global const ulong *restrict state,
                       __global uint *restrict table, __global const int *restrict P)
{
    S_T keys[NT_BLOCK];
    const int chunk = nt_item(P), above = P_ABOVE, shift = P_SHIFT;
    const uint mask = (1u << (above - shift)) - 1;
    if (chunk >= P_ITEMS) return;
    for (int j = 0; j < P_PLACES; j++)
        for (int d = 0; nt_first(state, j, P) == j && d < NT_DIGITS; d++)
            table[NT_OF(chunk, j) + d] = 0;
    for (int from = 0; from < nt_length(chunk, P); from += NT_BLOCK) {
        const int n = min(NT_BLOCK, nt_length(chunk, P) - from);
        nt_keys(source + (long)chunk * P_CHUNK + from, keys, n);
        for (int j = 0; j < P_PLACES; j++) {
            __global uint *counts = table + NT_OF(chunk, j);
            if (nt_first(state, j, P) < j) continue;
            if (above == S_BITS)
                nt_count_all(keys, counts, n, shift, mask);
            else
                nt_count_some(keys, counts, n, shift, mask, above, (S_T)state[2 * j]);
        }
    }
}

#else

/* A group a chunk. */
__kernel void nt_count(__global const S_T *restrict source, __global const ulong *restrict state,
                       __global uint *restrict table, __global const int *restrict P)
{
    __local uint counts[NT_DIGITS];
    const int chunk = get_global_id(2) + P[0], above = P_ABOVE, shift = P_SHIFT;
    const int me = get_local_id(0), group = get_local_size(0);
    const uint mask = (1u << (above - shift)) - 1;
    const int n = chunk < P_ITEMS ? nt_length(chunk, P) : 0;
    __global const S_T *x = source + (long)chunk * P_CHUNK;
    for (int j = 0; j < P_PLACES; j++) {
        if (nt_first(state, j, P) < j) continue;
        const S_T prefix = above < S_BITS ? (S_T)state[2 * j] : 0;
        for (int d = me; d < NT_DIGITS; d += group)
            counts[d] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = me; i < n; i += group) {
            const S_T key = key_of(x[i], false);
            if (above == S_BITS || (S_T)(key >> (above & (S_BITS - 1))) == prefix)
                atomic_inc(counts + ((uint)(key >> shift) & mask));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = me; d < NT_DIGITS && chunk < P_ITEMS; d += group)
            table[NT_OF(chunk, j) + d] = counts[d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif

__kernel void nt_sum(__global const ulong *restrict state, __global const uint *restrict table,
                     __global ulong *restrict sums, __global const int *restrict P)
{
    const int item = nt_item(P);
    const int end = min(item * P_EACH + P_EACH, P_PLACES * NT_DIGITS);
    for (int at = item * P_EACH; item < P_ITEMS && at < end; at++) {
        const int j = at / NT_DIGITS, first = nt_first(state, j, P);
        ulong sum = 0;
        for (int chunk = 0; chunk < P_CHUNKS && first == j; chunk++)
            sum += table[NT_OF(chunk, j) + at % NT_DIGITS];
        sums[at] = sum;
    }
}

/* One group. All states are read before one of them is written. */
__kernel void nt_choose(__global const long *restrict places, __global const ulong *restrict sums,
                        __global ulong *restrict state, __global S_T *restrict result, __global const int *restrict P)
{
    __local ulong chosen[2 * NT_MOST];
    const ulong last = (ulong)(uint)P_LAST_HIGH << 32 | (uint)P_LAST;
    const int me = get_local_id(0), group = get_local_size(0);
    for (int j = me; j < P_PLACES; j += group) {
        __global const ulong *counts = sums + nt_first(state, j, P) * NT_DIGITS;
        const bool is_start = P_ABOVE == S_BITS;
        ulong rank = is_start ? (places[j] < 0 ? 0 : min((ulong)places[j], last)) : state[2 * j + 1];
        const ulong prefix = is_start ? 0 : state[2 * j];
        uint digit = 0;
        while (digit < NT_DIGITS - 1 && rank >= counts[digit])
            rank -= counts[digit++];
        chosen[2 * j] = prefix << (P_ABOVE - P_SHIFT) | digit;
        chosen[2 * j + 1] = rank;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int j = me; j < P_PLACES; j += group) {
        state[2 * j] = chosen[2 * j];
        state[2 * j + 1] = chosen[2 * j + 1];
        if (P_SHIFT == 0) result[j] = key_element((S_T)chosen[2 * j], false);
    }
}
