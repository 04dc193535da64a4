/* SPDX-License-Identifier: MIT */
/*
 * A walk over deflated bytes (RFC 1951) that makes nothing of them. Most of what stands there are codes of single
 * bytes, which have few bits: one look at a table passes over all of them that lie in its index, and over what follows
 * them. zlib, which makes the bytes as well, takes 2.7 times as long.
 */
#include "io/deflate_end.h"

#include <stdint.h>
#include <string.h>

enum {
    MOST_BITS = 15, /* of a code */
    N_BYTES = 256,
    END_OF_BLOCK = 256,
    N_LENGTHS = 288,
    N_DISTANCES = 32,
    N_ORDER = 19, /* of codes of lengths of codes */
    INDEX_BITS = 10,
    N_INDICES = 1 << INDEX_BITS,
    N_LOOKS = 3 /* that the bits of one peek are enough for: 10 + 13 (a distance), 10 + 5 (a length), 10 */
};

/* What comes next. END and LONG_* take no bits, so the other looks of a peek leave them as they are. */
typedef enum state { CODE, DISTANCE, END, LONG_CODE, LONG_DISTANCE, NONE, N_STATES = NONE } state;

typedef struct entry {
    uint8_t n_bits, next;
} entry;

/* A code by itself: its bits, 0: the index holds none; how many follow it. */
typedef struct single {
    uint8_t n_bits, n_more, next;
} single;

typedef struct code {
    uint16_t n_of[MOST_BITS + 1], symbol[N_LENGTHS]; /* symbols in the order of their codes */
    single by_itself[N_INDICES];
} code;

typedef struct walk {
    const unsigned char *bytes;
    size_t n, at; /* n: bytes, at: bits */
    code lengths, distances;
    entry looks[N_STATES][N_INDICES];
} walk;

/* 57 bits from `at` on, or more; zeros behind the end. */
static inline uint64_t peek(const walk *w)
{
    const size_t byte = w->at >> 3;
    uint64_t bits = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (byte + sizeof bits <= w->n) {
        memcpy(&bits, w->bytes + byte, sizeof bits);
        return bits >> (w->at & 7);
    }
#endif
    for (size_t k = 0; k < sizeof bits && byte + k < w->n; k++)
        bits |= (uint64_t)w->bytes[byte + k] << (8 * k);
    return bits >> (w->at & 7);
}

static unsigned take(walk *w, unsigned n_bits)
{
    const unsigned bits = (unsigned)(peek(w) & ((1u << n_bits) - 1));
    w->at += n_bits;
    return bits;
}

/* ---- codes ------------------------------------------------------------------------------------------------------ */

/* Bits that follow the code of a length or of a distance (3.2.5). */
static unsigned bits_of_length(unsigned symbol) { return symbol < 265 || symbol >= 285 ? 0 : (symbol - 261) / 4; }
static unsigned bits_of_distance(unsigned symbol) { return symbol < 4 ? 0 : symbol / 2 - 1; }

static unsigned reversed(unsigned bits, unsigned n)
{
    unsigned out = 0;
    for (unsigned k = 0; k < n; k++)
        out |= (bits >> k & 1) << (n - 1 - k);
    return out;
}

static single single_of(unsigned symbol, unsigned n_bits, bool is_distance)
{
    const unsigned n_more = is_distance ? bits_of_distance(symbol) : symbol > END_OF_BLOCK ? bits_of_length(symbol) : 0;
    const state next = is_distance || symbol < N_BYTES ? CODE : symbol == END_OF_BLOCK ? END : DISTANCE;
    return (single){ (uint8_t)n_bits, (uint8_t)n_more, (uint8_t)next };
}

/* Codes are numbered by their lengths (3.2.2), and stand with their first bit lowest. False: there are too many. */
static bool make_code(code *c, const uint8_t *length, unsigned n, bool is_distance)
{
    uint32_t first[MOST_BITS + 2] = { 0 }, number[MOST_BITS + 2] = { 0 };
    memset(c->n_of, 0, sizeof c->n_of);
    for (unsigned k = 0; k < n; k++)
        if (length[k] > 0) c->n_of[length[k]]++;
    for (unsigned bits = 1; bits <= MOST_BITS; bits++) {
        first[bits + 1] = first[bits] + c->n_of[bits];
        number[bits + 1] = (number[bits] + c->n_of[bits]) << 1;
        if (number[bits] + c->n_of[bits] > 1u << bits) return false;
    }
    memset(c->by_itself, 0, sizeof c->by_itself);
    for (unsigned k = 0; k < n; k++) {
        const unsigned bits = length[k];
        if (bits == 0) continue;
        c->symbol[first[bits]++] = (uint16_t)k;
        const unsigned begin = reversed(number[bits]++, bits);
        for (unsigned at = begin; bits <= INDEX_BITS && at < N_INDICES; at += 1u << bits)
            c->by_itself[at] = single_of(k, bits, is_distance);
    }
    return true;
}

/* The codes that lie in an index, one behind the other, up to the first that is not a byte's. */
static entry look_of(const code *c, unsigned index)
{
    unsigned used = 0;
    for (;;) {
        const single s = c->by_itself[index >> used];
        const bool is_there = s.n_bits > 0 && used + s.n_bits <= INDEX_BITS;
        if (!is_there) return (entry){ (uint8_t)used, used > 0 ? CODE : LONG_CODE };
        used += s.n_bits;
        if (s.next != CODE) return (entry){ (uint8_t)(used + s.n_more), s.next };
    }
}

/* The next symbol, bit by bit; -1: there is no such code. */
static int take_symbol(walk *w, const code *c)
{
    const uint64_t bits = peek(w);
    int number = 0, first = 0, at = 0; /* of the codes of that many bits, and where their symbols begin */
    for (unsigned n = 1; n <= MOST_BITS; n++) {
        number = number << 1 | (int)(bits >> (n - 1) & 1);
        first <<= 1;
        if (number - first < c->n_of[n]) {
            w->at += n;
            return c->symbol[at + number - first];
        }
        at += c->n_of[n];
        first += c->n_of[n];
    }
    return -1;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static bool begin_fixed(walk *w)
{
    uint8_t length[N_LENGTHS];
    memset(length, 8, 144);
    memset(length + 144, 9, 112);
    memset(length + 256, 7, 24);
    memset(length + 280, 8, 8);
    if (!make_code(&w->lengths, length, N_LENGTHS, false)) return false;
    memset(length, 5, N_DISTANCES);
    return make_code(&w->distances, length, N_DISTANCES, true);
}

/* The lengths of n codes, of which repetitions have codes of their own (3.2.7). */
static bool take_lengths(walk *w, uint8_t *length, unsigned n)
{
    for (unsigned k = 0; k < n;) {
        const int symbol = take_symbol(w, &w->distances);
        if (symbol < 0 || (symbol == 16 && k == 0)) return false;
        if (symbol < 16) {
            length[k++] = (uint8_t)symbol;
            continue;
        }
        const uint8_t repeated = symbol == 16 ? length[k - 1] : 0;
        const unsigned n_times = symbol == 16 ? 3 + take(w, 2) : symbol == 17 ? 3 + take(w, 3) : 11 + take(w, 7);
        if (n_times > n - k) return false;
        memset(length + k, repeated, n_times);
        k += n_times;
    }
    return true;
}

static bool begin_dynamic(walk *w)
{
    static const uint8_t order[N_ORDER] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
    uint8_t length[N_LENGTHS + N_DISTANCES] = { 0 };
    const unsigned n_lengths = 257 + take(w, 5), n_distances = 1 + take(w, 5), n_order = 4 + take(w, 4);
    for (unsigned k = 0; k < n_order; k++)
        length[order[k]] = (uint8_t)take(w, 3);
    if (!make_code(&w->distances, length, N_ORDER, true)) return false;
    memset(length, 0, N_ORDER);
    return take_lengths(w, length, n_lengths + n_distances) && make_code(&w->lengths, length, n_lengths, false) &&
           make_code(&w->distances, length + n_lengths, n_distances, true);
}

/* What no index holds. */
static state pass_long(walk *w, state at)
{
    const int symbol = take_symbol(w, at == LONG_DISTANCE ? &w->distances : &w->lengths);
    if (symbol < 0) return NONE;
    const single s = single_of((unsigned)symbol, 0, at == LONG_DISTANCE);
    w->at += s.n_more;
    return s.next;
}

static void make_looks(walk *w)
{
    for (unsigned k = 0; k < N_INDICES; k++) {
        const single d = w->distances.by_itself[k];
        w->looks[CODE][k] = look_of(&w->lengths, k);
        w->looks[DISTANCE][k] = (entry){ (uint8_t)(d.n_bits + d.n_more), d.n_bits > 0 ? CODE : LONG_DISTANCE };
        for (state stays = END; stays < N_STATES; stays++)
            w->looks[stays][k] = (entry){ 0, (uint8_t)stays };
    }
}

static bool pass_codes(walk *w)
{
    state at = CODE;
    make_looks(w);
    while (at != END && at != NONE && w->at < 8 * w->n) {
        uint64_t bits = peek(w);
        for (int k = 0; k < N_LOOKS; k++) {
            const entry e = w->looks[at][bits & (N_INDICES - 1)];
            bits >>= e.n_bits;
            w->at += e.n_bits;
            at = e.next;
        }
        if (at == LONG_CODE || at == LONG_DISTANCE) at = pass_long(w, at);
    }
    return at == END;
}

static bool pass_stored(walk *w)
{
    w->at = (w->at + 7) / 8 * 8;
    const unsigned n = take(w, 16), inverse = take(w, 16);
    w->at += 8 * (size_t)n;
    return (n ^ inverse) == 0xffff;
}

bool ip_deflate_find_end(const unsigned char *bytes, size_t n, ip_deflate_end *out)
{
    walk w = { .bytes = bytes, .n = n };
    for (bool is_last = false, is_right = true; !is_last; out->end = w.at) {
        out->block = w.at;
        is_last = take(&w, 1);
        switch (take(&w, 2)) {
        case 0: is_right = pass_stored(&w); break;
        case 1: is_right = begin_fixed(&w) && pass_codes(&w); break;
        case 2: is_right = begin_dynamic(&w) && pass_codes(&w); break;
        default: return false;
        }
        if (!is_right || w.at > 8 * n) return false;
    }
    return true;
}
