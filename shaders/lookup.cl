/* SPDX-License-Identifier: MIT */
/*
 * Bytes that are looked up in a small table: src/compile/emit_lookup.c, Note [Tables in registers].
 *
 *     to[k] = table[at[k]]
 *
 * of n elements. The table has `entries` bytes; nothing behind them is read. Functions make as many elements as they
 * can, from the first one on, and tell how many: none where the processor has no such instructions or the table is too
 * large. IP_PERMUTES_BYTES says that it has those of AVX-512, whatever the compiler takes it for; with those of AVX2
 * indices are bytes.
 */
#if defined(__clang__) && defined(__AVX512BW__) && defined(IP_PERMUTES_BYTES)

#define IP_PERMUTES __attribute__((target("avx512bw,avx512vbmi")))

enum { IP_LANES_LOOKED_UP = 64 };
typedef char ip_looked_up __attribute__((ext_vector_type(64)));
typedef short ip_looked_up_pairs __attribute__((ext_vector_type(32)));
struct __attribute__((packed, may_alias)) ip_any_looked_up {
    ip_looked_up all;
};

/* Where bits of `last` are set, b, else a. */
IP_PERMUTES
static inline ip_looked_up ip_look_chosen(ulong last, ip_looked_up a, ip_looked_up b)
{
    return __builtin_ia32_selectb_512(last, b, a);
}

/* Of each element the entry that the lowest 7 bits of its index tell, of two vectors. */
IP_PERMUTES
static inline ip_looked_up ip_look_in_128(ip_looked_up index, const ip_looked_up *table)
{
    return __builtin_ia32_vpermi2varqi512(table[0], index, table[1]);
}

/* The same of four vectors and all bits. */
IP_PERMUTES
static inline ip_looked_up ip_look_in_256(ip_looked_up index, const ip_looked_up *table)
{
    return ip_look_chosen(__builtin_ia32_cvtb2mask512(index), ip_look_in_128(index, table),
                          ip_look_in_128(index, table + 2));
}

/* A bit of each element, the highest of a byte that is moved up by so many bits. */
IP_PERMUTES
static inline ulong ip_look_bit(ip_looked_up bytes, int up)
{
    return __builtin_ia32_cvtb2mask512(
        __builtin_astype(__builtin_astype(bytes, ip_looked_up_pairs) << (short)up, ip_looked_up));
}

IP_PERMUTES
static inline ip_looked_up ip_look_at(const uchar *from) { return ((const struct ip_any_looked_up *)from)->all; }

IP_PERMUTES
static inline void ip_look_read(__global const uchar *table, int entries, int vectors, ip_looked_up *read)
{
    for (int v = 0; v < vectors; v += 1) {
        __global const uchar *const from = table + v * IP_LANES_LOOKED_UP;
        const int left = entries - v * IP_LANES_LOOKED_UP;
        if (left >= IP_LANES_LOOKED_UP) {
            read[v] = ((__global const struct ip_any_looked_up *)from)->all;
        } else {
            uchar end[IP_LANES_LOOKED_UP] = { 0 };
            for (int k = 0; k < left; k += 1)
                end[k] = from[k];
            read[v] = ip_look_at(end);
        }
    }
}

IP_PERMUTES
IP_APART int ip_look_up_uchar(__global uchar *to, const uchar *at, int n, __global const uchar *table, int entries)
{
    ip_looked_up of[4];
    int k = 0;
    if (n < IP_LANES_LOOKED_UP) return 0;
    ip_look_read(table, entries, 4, of);
    for (; k + IP_LANES_LOOKED_UP <= n; k += IP_LANES_LOOKED_UP)
        ((__global struct ip_any_looked_up *)(to + k))->all = ip_look_in_256(ip_look_at(at + k), of);
    return k;
}

IP_PERMUTES
IP_APART int ip_look_up_ushort(__global uchar *to, const ushort *at, int n, __global const uchar *table, int entries)
{
    ip_looked_up of[16], even;
    int k = 0;
    if (n < IP_LANES_LOOKED_UP || entries > 1024) return 0;
    ip_look_read(table, entries, 16, of);
    for (int j = 0; j < IP_LANES_LOOKED_UP; j += 1)
        even[j] = 2 * j;
    for (; k + IP_LANES_LOOKED_UP <= n; k += IP_LANES_LOOKED_UP) {
        const ip_looked_up a = ip_look_at((const uchar *)(at + k)), b = ip_look_at((const uchar *)(at + k + 32));
        const ip_looked_up low = __builtin_ia32_vpermi2varqi512(a, even, b);
        const ip_looked_up high = __builtin_ia32_vpermi2varqi512(a, even + (char)1, b);
        const ulong odd = ip_look_bit(high, 7), upper = ip_look_bit(high, 6);
        const ip_looked_up first = ip_look_chosen(odd, ip_look_in_256(low, of), ip_look_in_256(low, of + 4));
        const ip_looked_up last = ip_look_chosen(odd, ip_look_in_256(low, of + 8), ip_look_in_256(low, of + 12));
        ((__global struct ip_any_looked_up *)(to + k))->all = ip_look_chosen(upper, first, last);
    }
    return k;
}

#elif defined(__clang__) && defined(__AVX2__)

enum {
    IP_LANES_LOOKED_UP = 32,
    IP_ROWS_LOOKED_UP = 16, /* of as many entries */
    IP_LEAST_LOOKED_UP = 128 /* elements for which the rows are worth making */
};
typedef char ip_looked_up __attribute__((ext_vector_type(32)));
struct __attribute__((packed, may_alias)) ip_any_looked_up {
    ip_looked_up all;
};
struct __attribute__((packed, may_alias)) ip_any_row_looked_up {
    char16 all;
};

/* Rows of 16 entries, twice each: the first and the ninth as they are, of the others what is not as in the one before.
 */
static inline void ip_look_read(__global const uchar *table, int entries, ip_looked_up *read)
{
    uchar all[IP_ROWS_LOOKED_UP * 16] = { 0 };
    for (int k = 0; k < entries && k < IP_ROWS_LOOKED_UP * 16; k += 1)
        all[k] = table[k];
    for (int r = 0; r < IP_ROWS_LOOKED_UP; r += 1) {
        const char16 row = ((const struct ip_any_row_looked_up *)(all + r * 16))->all;
        const char16 before = ((const struct ip_any_row_looked_up *)(all + (r % 8 ? r - 1 : r) * 16))->all;
        const char16 other = r % 8 ? row ^ before : row;
        read[r] = __builtin_shufflevector(other, other, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2,
                                          3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
}

/*
 * Of each element the entry of eight rows that its index tells; 0 where that is negative. The instruction takes the
 * lowest four bits, and makes 0 of what is negative: of row r it is asked for the index less 16 r. So the rows up to
 * the index's own are met, and their differences come to that one. Of -1 no more than 112 is taken, so nothing wraps.
 */
static inline ip_looked_up ip_look_in_128(ip_looked_up index, const ip_looked_up *rows)
{
    ip_looked_up left = index | (ip_looked_up)(index < (char)0);
    ip_looked_up found = __builtin_ia32_pshufb256(rows[0], left);
#pragma unroll
    for (int r = 1; r < 8; r += 1) {
        left -= (char)16;
        found ^= __builtin_ia32_pshufb256(rows[r], left);
    }
    return found;
}

IP_APART int ip_look_up_uchar(__global uchar *to, const uchar *at, int n, __global const uchar *table, int entries)
{
    ip_looked_up rows[IP_ROWS_LOOKED_UP];
    int k = 0;
    if (n < IP_LEAST_LOOKED_UP) return 0;
    ip_look_read(table, entries, rows);
    for (; k + IP_LANES_LOOKED_UP <= n; k += IP_LANES_LOOKED_UP) {
        const ip_looked_up index = ((const struct ip_any_looked_up *)(at + k))->all;
        ((__global struct ip_any_looked_up *)(to + k))->all =
            ip_look_in_128(index, rows) ^ ip_look_in_128(index ^ (char)-128, rows + 8);
    }
    return k;
}

static inline int ip_look_up_ushort(__global uchar *to, const ushort *at, int n, __global const uchar *table,
                                    int entries)
{
    return 0;
}

#else

static inline int ip_look_up_uchar(__global uchar *to, const uchar *at, int n, __global const uchar *table, int entries)
{
    return 0;
}

static inline int ip_look_up_ushort(__global uchar *to, const ushort *at, int n, __global const uchar *table,
                                    int entries)
{
    return 0;
}

#endif
