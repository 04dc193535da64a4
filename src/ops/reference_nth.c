/* SPDX-License-Identifier: MIT */
/* Selection by rank on the host (nth.h, Note [Selection]). */
#include "ops/keys.h"
#include "ops/nth.h"

#include "base/alloc.h"

#include <string.h>

enum { ASK_ELEMENTS = 65536 };

/* The prefix of a place's key so far, and its rank among the keys with that. */
typedef struct state {
    uint64_t prefix, rank;
    int first; /* the first state with this prefix: its counts serve both */
} state;

typedef struct search {
    ip_key_format format;
    int bits, above, shift, n_places;
    int64_t n;
    state states[IP_NTH_MOST];
    uint64_t (*counts)[1 << IP_NTH_DIGIT_BITS];
} search;

static void find_first(search *s)
{
    for (int j = 0; j < s->n_places; j++)
        for (s->states[j].first = 0; s->states[s->states[j].first].prefix != s->states[j].prefix;)
            s->states[j].first++;
}

static imgpar_status count(search *s, const unsigned char *from, ip_opaque_ask ask, void *user)
{
    const uint64_t mask = ((uint64_t)1 << (s->above - s->shift)) - 1;
    imgpar_status st = IMGPAR_OK;
    memset(s->counts, 0, sizeof *s->counts * (size_t)s->n_places);
    for (int64_t k = 0; !st && k < s->n; k++) {
        const uint64_t key = ip_key_of(&s->format, ip_key_load(&s->format, from + k * s->format.size_bytes));
        const uint64_t prefix = s->above < s->bits ? key >> s->above : 0;
        for (int j = 0; j < s->n_places; j++)
            if (s->states[j].first == j && s->states[j].prefix == prefix) s->counts[j][key >> s->shift & mask]++;
        if (k % ASK_ELEMENTS == 0) st = ask(user);
    }
    return st;
}

static void choose(search *s)
{
    for (int j = 0; j < s->n_places; j++) {
        const uint64_t *counts = s->counts[s->states[j].first];
        uint64_t digit = 0;
        while (s->states[j].rank >= counts[digit])
            s->states[j].rank -= counts[digit++];
        s->states[j].prefix = s->states[j].prefix << (s->above - s->shift) | digit;
    }
}

bool ip_nth_digit(int bits, int digit_bits, int k, int *above, int *shift)
{
    *above = bits - k * digit_bits;
    *shift = *above > digit_bits ? *above - digit_bits : 0;
    return *above > 0;
}

imgpar_status ip_nth_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    search s = { .format = ip_key_format_of(o->dtype, false, false),
                 .n = (int64_t)ip_dims_count(o->inputs[IP_NTH_A]->dims) };
    const int64_t *places = in[IP_NTH_PLACES];
    imgpar_status st = IMGPAR_OK;
    s.bits = (int)s.format.size_bytes * 8;
    s.n_places = (int)ip_dims_count(o->dims);
    s.counts = ip_alloc_array((size_t)s.n_places, sizeof *s.counts);
    if (!s.counts) return IMGPAR_E_HOST_MEMORY;
    for (int j = 0; j < s.n_places; j++)
        s.states[j].rank = places[j] < 0 ? 0 : (uint64_t)(places[j] < s.n ? places[j] : s.n - 1);
    for (int k = 0; !st && ip_nth_digit(s.bits, IP_NTH_DIGIT_BITS, k, &s.above, &s.shift); k++) {
        find_first(&s);
        st = count(&s, in[IP_NTH_A], ask, user);
        if (!st) choose(&s);
    }
    for (int j = 0; !st && j < s.n_places; j++) {
        const uint64_t bits = ip_key_element(&s.format, s.states[j].prefix);
        memcpy((unsigned char *)out + j * (int)s.format.size_bytes, &bits, s.format.size_bytes);
    }
    ip_free(s.counts);
    return st;
}
