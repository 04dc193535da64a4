/* SPDX-License-Identifier: MIT */
/* Sorting on the host: a stable merge of runs of (key, place), where keys are unsigned numbers in the wanted order. */
#include "ops/keys.h"
#include "ops/sort.h"

#include "base/alloc.h"

#include <string.h>

typedef struct item {
    uint64_t key;
    int32_t place;
} item;

enum { ASK_ITEMS = 65536 }; /* merged between two questions, at least */

/* The sorted items, a or b, in *sorted. */
static imgpar_status sort_items(item *a, item *b, int64_t n, ip_opaque_ask ask, void *user, const item **sorted)
{
    int64_t since = 0;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t from = 0; from < n; from += 2 * run) {
            imgpar_status st = since >= ASK_ITEMS ? ask(user) : IMGPAR_OK;
            if (st) return st;
            since = since >= ASK_ITEMS ? 0 : since + 2 * run;
            int64_t middle = from + run < n ? from + run : n, end = from + 2 * run < n ? from + 2 * run : n;
            int64_t i = from, j = middle;
            for (int64_t out = from; out < end; out++)
                b[out] = j >= end || (i < middle && a[i].key <= a[j].key) ? a[i++] : a[j++];
        }
        item *t = a;
        a = b;
        b = t;
    }
    *sorted = a;
    return IMGPAR_OK;
}

imgpar_status ip_sort_compute(const ip_opaque *o, const void *const *in, void *out, ip_opaque_ask ask, void *user)
{
    const ip_key_format f = ip_key_format_of(o->dtype, o->sizes[IP_SORT_INDICES], o->sizes[IP_SORT_DESCENDING]);
    const int64_t n = o->sizes[IP_SORT_N];
    item *a = ip_alloc_array((size_t)n, sizeof *a), *b = ip_alloc_array((size_t)n, sizeof *b);
    imgpar_status st = a && b ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    for (int64_t row = 0; !st && row < o->sizes[IP_SORT_ROWS]; row++) {
        const unsigned char *from = (const unsigned char *)in[0] + row * n * f.size_bytes;
        const item *sorted = NULL;
        st = ask(user);
        for (int64_t k = 0; !st && k < n; k++)
            a[k] = (item){ ip_key_of(&f, ip_key_load(&f, from + k * f.size_bytes)), (int32_t)k };
        if (!st) st = sort_items(a, b, n, ask, user, &sorted);
        for (int64_t k = 0; !st && f.joins_zeros && k < n; k++)
            ((int32_t *)out)[row * n + k] = sorted[k].place;
        for (int64_t k = 0; !st && !f.joins_zeros && k < n; k++) {
            uint64_t bits = ip_key_load(&f, from + sorted[k].place * f.size_bytes);
            memcpy((unsigned char *)out + (row * n + k) * f.size_bytes, &bits, f.size_bytes);
        }
    }
    ip_free(a);
    ip_free(b);
    return st;
}
