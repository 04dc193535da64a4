/* SPDX-License-Identifier: MIT */
/* Sorting on the host: a stable merge of runs of (key, place), where keys are unsigned numbers in the wanted order. */
#include "ops/sort.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

typedef struct item {
    uint64_t key;
    int32_t place;
} item;

typedef struct format {
    unsigned size_bytes;
    bool is_float, is_signed, is_bool, indices, descending;
    uint64_t infinity, nan;
} format;

static format format_of(const ip_opaque *o)
{
    const ip_dtype_facts *facts = ip_dtype(o->dtype);
    format f = { .size_bytes = facts->size_bytes,
                 .is_float = facts->is_float,
                 .is_signed = facts->is_signed,
                 .is_bool = o->dtype == IMGPAR_BOOL,
                 .indices = o->sizes[IP_SORT_INDICES],
                 .descending = o->sizes[IP_SORT_DESCENDING] };
    f.infinity = f.size_bytes == 2 ? 0x7c00 : f.size_bytes == 4 ? 0x7f800000 : 0x7ff0000000000000;
    f.nan = f.infinity + (f.infinity & -f.infinity) / 2; /* the highest bit of the fraction */
    return f;
}

/* The element's bits; all NaN become one. */
static uint64_t load(const format *f, const unsigned char *from)
{
    uint64_t bits = 0, top = (uint64_t)1 << (8 * f->size_bytes - 1);
    memcpy(&bits, from, f->size_bytes);
    if (f->is_bool) return bits != 0;
    return f->is_float && (bits & ~top) > f->infinity ? f->nan : bits;
}

static uint64_t key_of(const format *f, uint64_t bits)
{
    uint64_t top = (uint64_t)1 << (8 * f->size_bytes - 1), all = top | (top - 1), key = bits;
    if (f->is_float && bits == f->nan) return all;          /* last in either direction */
    if (f->is_float && f->indices && bits == top) bits = 0; /* -0 is equal to 0 */
    if (f->is_float)
        key = bits & top ? ~bits & all : bits | top;
    else if (f->is_signed)
        key = bits ^ top;
    return f->descending ? ~key & all : key;
}

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
    const format f = format_of(o);
    const int64_t n = o->sizes[IP_SORT_N];
    item *a = ip_alloc_array((size_t)n, sizeof *a), *b = ip_alloc_array((size_t)n, sizeof *b);
    imgpar_status st = a && b ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
    for (int64_t row = 0; !st && row < o->sizes[IP_SORT_ROWS]; row++) {
        const unsigned char *from = (const unsigned char *)in[0] + row * n * f.size_bytes;
        const item *sorted = NULL;
        st = ask(user);
        for (int64_t k = 0; !st && k < n; k++)
            a[k] = (item){ key_of(&f, load(&f, from + k * f.size_bytes)), (int32_t)k };
        if (!st) st = sort_items(a, b, n, ask, user, &sorted);
        for (int64_t k = 0; !st && f.indices && k < n; k++)
            ((int32_t *)out)[row * n + k] = sorted[k].place;
        for (int64_t k = 0; !st && !f.indices && k < n; k++) {
            uint64_t bits = load(&f, from + sorted[k].place * f.size_bytes);
            memcpy((unsigned char *)out + (row * n + k) * f.size_bytes, &bits, f.size_bytes);
        }
    }
    ip_free(a);
    ip_free(b);
    return st;
}
