/* SPDX-License-Identifier: MIT */
/*
 * Rank filters on the host: a histogram of levels moves with the window along each row. Levels are the keys of elements
 * of 8 and 16 bits, and of wider ones their ranks among all of a channel's.
 */
#include "ops/rank.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct keyed {
    uint64_t key;
    uint32_t place;
} keyed;

/* A channel of a plane, with its margin. */
typedef struct channel {
    const ip_opaque *o;
    ip_key_format format;
    int64_t width, height; /* with the margin */
    uint32_t *levels;      /* of each element */
    uint64_t *keys;        /* by level, of wide elements: the key of the elements that have it */
    keyed *sorted;
    uint32_t n_levels, *fine, *coarse; /* histograms of single levels and of 256 of them */
    uint32_t at, less;                 /* a level, and how many of the window are below it */
} channel;

static int compare(const void *a, const void *b)
{
    const keyed *p = a, *q = b;
    return p->key < q->key ? -1 : p->key > q->key;
}

static bool is_wide(const channel *c) { return c->format.size_bytes > 2; }

static void find_levels(channel *c, const unsigned char *in, size_t step)
{
    const int64_t n = c->width * c->height;
    c->n_levels = is_wide(c) ? 0 : 1u << 8 * c->format.size_bytes;
    for (int64_t k = 0; k < n; k++) {
        uint64_t key = ip_key_of(&c->format, ip_key_load(&c->format, in + (size_t)k * step));
        if (is_wide(c))
            c->sorted[k] = (keyed){ key, (uint32_t)k };
        else
            c->levels[k] = (uint32_t)key;
    }
    if (!is_wide(c)) return;
    qsort(c->sorted, (size_t)n, sizeof *c->sorted, compare);
    for (int64_t k = 0; k < n; k++) {
        const keyed *now = &c->sorted[k];
        if (k == 0 || now->key != c->sorted[k - 1].key) c->keys[c->n_levels++] = now->key;
        c->levels[now->place] = c->n_levels - 1;
    }
}

static void count_in(channel *c, int64_t y, int64_t x, uint32_t by)
{
    const uint32_t level = c->levels[y * c->width + x];
    c->fine[level] += by;
    c->coarse[level >> 8] += by;
    if (level < c->at) c->less += by;
}

static void find(channel *c, uint32_t k)
{
    while (c->less > k) {
        const bool is_first = (c->at & 255) == 0;
        if (is_first && c->less - c->coarse[(c->at >> 8) - 1] > k) {
            c->at -= 256;
            c->less -= c->coarse[c->at >> 8];
        } else {
            c->less -= c->fine[--c->at];
        }
    }
    for (;;) {
        const bool is_first = (c->at & 255) == 0;
        if (is_first && c->less + c->coarse[c->at >> 8] <= k) {
            c->less += c->coarse[c->at >> 8];
            c->at += 256;
        } else if (c->less + c->fine[c->at] <= k) {
            c->less += c->fine[c->at++];
        } else {
            return;
        }
    }
}

/* The most frequent level of the window that begins at y, x, of several the least. */
static void find_mode(channel *c, int64_t y, int64_t x)
{
    const ip_element_run *runs = ip_rank_runs(c->o);
    uint32_t most = 0;
    for (int j = 0; j < c->o->sizes[IP_RANK_RUNS]; j++) {
        const uint32_t *levels = c->levels + (y + runs[j].line) * c->width + x + runs[j].from;
        for (int i = 0; i < runs[j].length; i++) {
            const uint32_t n = c->fine[levels[i]];
            if (n > most || (n == most && levels[i] < c->at)) c->at = levels[i];
            if (n > most) most = n;
        }
    }
}

static void put(const channel *c, unsigned char *to)
{
    const uint64_t bits = ip_key_element(&c->format, is_wide(c) ? c->keys[c->at] : c->at);
    memcpy(to, &bits, c->format.size_bytes);
}

static void filter_row(channel *c, int64_t y, unsigned char *out, size_t step)
{
    const ip_element_run *runs = ip_rank_runs(c->o);
    const int64_t n_runs = c->o->sizes[IP_RANK_RUNS];
    const uint32_t k = (uint32_t)c->o->sizes[IP_RANK_K];
    memset(c->fine, 0, c->n_levels * sizeof *c->fine);
    memset(c->coarse, 0, (c->n_levels / 256 + 1) * sizeof *c->coarse);
    c->at = c->less = 0;
    for (int64_t j = 0; j < n_runs; j++)
        for (int i = 0; i < runs[j].length; i++)
            count_in(c, y + runs[j].line, runs[j].from + i, 1);
    for (int64_t x = 0;; x++) {
        if (c->o->sizes[IP_RANK_MODE])
            find_mode(c, y, x);
        else
            find(c, k);
        put(c, out + (size_t)x * step);
        if (x + 1 == c->o->dims[2]) return;
        for (int64_t j = 0; j < n_runs; j++) {
            count_in(c, y + runs[j].line, x + runs[j].from, (uint32_t)-1);
            count_in(c, y + runs[j].line, x + runs[j].from + runs[j].length, 1);
        }
    }
}

static bool allocate(channel *c)
{
    const size_t n = (size_t)(c->width * c->height), n_levels = is_wide(c) ? n : 65536;
    c->levels = ip_alloc_array(n, sizeof *c->levels);
    c->fine = ip_alloc_array(n_levels, sizeof *c->fine);
    c->coarse = ip_alloc_array(n_levels / 256 + 1, sizeof *c->coarse);
    c->sorted = ip_alloc_array(is_wide(c) ? n : 1, sizeof *c->sorted);
    c->keys = ip_alloc_array(is_wide(c) ? n : 1, sizeof *c->keys);
    return c->levels && c->fine && c->coarse && c->sorted && c->keys;
}

imgpar_status ip_rank_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const int64_t *d = o->dims;
    channel c = { .o = o,
                  .format = ip_key_format_of(o->dtype, o->sizes[IP_RANK_MODE], false),
                  .width = d[2] + 2 * o->sizes[IP_RANK_RX],
                  .height = d[1] + 2 * o->sizes[IP_RANK_RY] };
    const size_t size = c.format.size_bytes, step = (size_t)d[3] * size;
    imgpar_status st = allocate(&c) ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    for (int64_t k = 0; !st && k < d[0] * d[3]; k++) {
        const int64_t z = k / d[3], channel_number = k % d[3];
        const size_t first = (size_t)(z * c.width * c.height) * step + (size_t)channel_number * size;
        find_levels(&c, (const unsigned char *)in[0] + first, step);
        for (int64_t y = 0; !st && y < d[1]; y++) {
            const size_t row = (size_t)((z * d[1] + y) * d[2]) * step + (size_t)channel_number * size;
            filter_row(&c, y, (unsigned char *)out + row, step);
            st = ask(user);
        }
    }
    ip_free(c.levels);
    ip_free(c.fine);
    ip_free(c.coarse);
    ip_free(c.sorted);
    ip_free(c.keys);
    return st;
}
