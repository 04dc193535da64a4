/* SPDX-License-Identifier: MIT */
#include "io/tiff.h"

#include <string.h>

uint32_t ip_tiff_get(const unsigned char *p, int n, bool is_big)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[is_big ? i : n - 1 - i];
    return v;
}

void ip_tiff_put(unsigned char *p, int n, bool is_big, uint32_t v)
{
    for (int i = 0; i < n; i++, v >>= 8)
        p[is_big ? n - 1 - i : i] = (unsigned char)v;
}

bool ip_tiff_of(const unsigned char *bytes, size_t n, ip_tiff *t)
{
    if (n >= 6 && memcmp(bytes, "Exif\0\0", 6) == 0) {
        bytes += 6;
        n -= 6;
    }
    if (n < IP_TIFF_HEAD_BYTES) return false;
    *t = (ip_tiff){ bytes, n, bytes[0] == 'M' };
    return memcmp(bytes, t->is_big ? "MM\0*" : "II*\0", 4) == 0;
}

size_t ip_tiff_count(const ip_tiff *t, size_t at)
{
    if (at < IP_TIFF_HEAD_BYTES || at > t->n - 2) return 0;
    const size_t n = ip_tiff_get(t->bytes + at, 2, t->is_big), room = (t->n - at - 2) / IP_TIFF_ENTRY_BYTES;
    return n < room ? n : room;
}

size_t ip_tiff_first(const ip_tiff *t) { return ip_tiff_get(t->bytes + 4, 4, t->is_big); }

bool ip_tiff_entry_at(const ip_tiff *t, size_t directory, size_t k, ip_tiff_entry *e)
{
    static const unsigned char sizes[] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4 };
    const size_t at = directory + 2 + k * IP_TIFF_ENTRY_BYTES;
    *e = (ip_tiff_entry){ .tag = ip_tiff_get(t->bytes + at, 2, t->is_big),
                          .type = ip_tiff_get(t->bytes + at + 2, 2, t->is_big),
                          .count = ip_tiff_get(t->bytes + at + 4, 4, t->is_big),
                          .at = at };
    const uint64_t n = e->type < sizeof sizes ? (uint64_t)sizes[e->type] * e->count : 0;
    e->values = n <= 4 ? at + 8 : ip_tiff_get(t->bytes + at + 8, 4, t->is_big);
    e->n_values = (size_t)n;
    return n > 0 && e->values <= t->n && n <= t->n - e->values;
}

bool ip_tiff_find(const ip_tiff *t, size_t directory, uint32_t tag, ip_tiff_entry *e)
{
    const size_t n = ip_tiff_count(t, directory);
    for (size_t k = 0; k < n; k++)
        if (ip_tiff_get(t->bytes + directory + 2 + k * IP_TIFF_ENTRY_BYTES, 2, t->is_big) == tag)
            return ip_tiff_entry_at(t, directory, k, e);
    return false;
}

bool ip_tiff_integer(const ip_tiff *t, size_t directory, uint32_t tag, uint32_t *value)
{
    ip_tiff_entry e;
    if (!ip_tiff_find(t, directory, tag, &e) || e.count != 1 || (e.type != IP_TIFF_SHORT && e.type != IP_TIFF_LONG))
        return false;
    *value = ip_tiff_get(t->bytes + e.values, e.type == IP_TIFF_SHORT ? 2 : 4, t->is_big);
    return true;
}
