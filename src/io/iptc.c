/* SPDX-License-Identifier: MIT */
#include "io/iptc.h"

#include "base/alloc.h"

#include <string.h>

static const char signature[] = "8BIM";
enum { N_SIGNATURE = 4, IPTC_RESOURCE = 0x0404, RECORD_MARK = 0x1c };

/* The bytes of resource 0x0404, which borrow; *is_whole: all resources could be read. */
static ip_blob find_records(const unsigned char *p, size_t n, bool *is_whole)
{
    ip_blob found = { NULL, 0 };
    size_t at = 0;
    *is_whole = true;
    while (n - at >= 12 && memcmp(p + at, signature, N_SIGNATURE) == 0) { /* signature, number, name, size */
        const int number = p[at + 4] << 8 | p[at + 5];
        const size_t name = ((size_t)p[at + 6] + 2) & ~(size_t)1; /* its length, its text, to an even number */
        const size_t size_at = at + 6 + name;
        if (size_at > n - 4) break;
        const unsigned char *q = p + size_at;
        const size_t size = (size_t)q[0] << 24 | (size_t)q[1] << 16 | (size_t)q[2] << 8 | q[3];
        if (size > n - size_at - 4) break;
        if (number == IPTC_RESOURCE && !found.bytes) found = (ip_blob){ (unsigned char *)(uintptr_t)(q + 4), size };
        at = size_at + 4 + size;
        if (size % 2 && at < n) at++;
    }
    for (size_t k = at; k < n; k++) /* padding */
        *is_whole = *is_whole && p[k] == 0;
    return found;
}

/* A preview's format, version and data, or the orientation: they are of another picture once this one is computed. */
static bool is_dropped(const unsigned char *record)
{
    enum { APPLICATION = 2, ORIENTATION = 131, PREVIEW = 200, PREVIEW_DATA = 202 };
    return record[1] == APPLICATION &&
           (record[2] == ORIENTATION || (record[2] >= PREVIEW && record[2] <= PREVIEW_DATA));
}

/* Bytes of the data set at p, of at most n; 0: it cannot be read. */
static size_t record_bytes(const unsigned char *p, size_t n)
{
    if (n < 5 || p[0] != RECORD_MARK) return 0;
    size_t head = 5, size = (size_t)p[3] << 8 | p[4];
    if (size & 0x8000) { /* that many bytes hold the size */
        const size_t count = size & 0x7fff;
        if (count > 4 || count > n - head) return 0;
        size = 0;
        for (size_t k = 0; k < count; k++)
            size = size << 8 | p[head + k];
        head += count;
    }
    return size <= n - head ? head + size : 0;
}

static imgpar_status copy_records(const unsigned char *p, size_t n, ip_blob *iptc, ip_error *err)
{
    unsigned char *copy = ip_alloc(n);
    size_t at = 0, made = 0;
    if (!copy) return ip_fail_memory(err, "reading IPTC");
    while (at < n && p[at] != 0) { /* zeros pad it */
        const size_t size = record_bytes(p + at, n - at);
        if (size == 0) {
            ip_free(copy);
            return ip_fail(err, IMGPAR_E_CORRUPT, "IPTC is damaged");
        }
        if (!is_dropped(p + at)) {
            memcpy(copy + made, p + at, size);
            made += size;
        }
        at += size;
    }
    *iptc = (ip_blob){ made ? copy : NULL, made };
    if (!made) ip_free(copy);
    return IMGPAR_OK;
}

imgpar_status ip_iptc_clean(const unsigned char *bytes, size_t n, ip_blob *iptc, ip_error *err)
{
    bool is_whole = true;
    ip_blob records = { (unsigned char *)(uintptr_t)bytes, n };
    *iptc = (ip_blob){ NULL, 0 };
    if (n == 0 || bytes[0] != RECORD_MARK) records = find_records(bytes, n, &is_whole);
    if (!is_whole || records.n > IP_MAX_BLOB_BYTES) return ip_fail(err, IMGPAR_E_CORRUPT, "IPTC is damaged");
    return records.n ? copy_records(records.bytes, records.n, iptc, err) : IMGPAR_OK;
}

void ip_iptc_append_resource(ip_str *out, const ip_blob *iptc)
{
    const size_t n = iptc->n;
    const char size[4] = { (char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n };
    static const char head[8] = { '8', 'B', 'I', 'M', IPTC_RESOURCE >> 8, IPTC_RESOURCE & 0xff, 0, 0 };
    ip_str_append_n(out, head, sizeof head);
    ip_str_append_n(out, size, sizeof size);
    ip_str_append_n(out, (const char *)iptc->bytes, n);
    if (n % 2) ip_str_putc(out, '\0');
}
