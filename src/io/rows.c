/* SPDX-License-Identifier: MIT */
/* Reading by rows: the file and its first bytes are held here, the codec does the rest. */
#include "io/codec.h"

#include "base/alloc.h"

#include <string.h>
#include <unistd.h>

enum { FIRST_HEAD_BYTES = 64 << 10, HEAD_GROWS = 16 };

struct ip_row_reader {
    ip_source s;
    const ip_file *file; /* NULL: bytes in memory */
    void *head;          /* the file's first bytes */
    const ip_codec *codec;
    ip_header header;
    void *state;    /* the codec's */
    void *unwanted; /* a row that is passed over */
    size_t row_bytes;
};

static imgpar_status fail_memory(const ip_row_reader *r, ip_error *err)
{
    return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", r->s.name);
}

static imgpar_status read_head(ip_row_reader *r, size_t n, ip_error *err)
{
    bool found;
    ip_free(r->head);
    r->s.n = 0;
    r->head = ip_alloc(n);
    if (!r->head) return fail_memory(r, err);
    imgpar_status st = ip_source_peek(&r->s, 0, r->head, n, &found, err);
    if (!st && !found) st = ip_fail(err, IMGPAR_E_IO, "%s: became shorter while it was read", r->s.name);
    r->s.bytes = r->head;
    r->s.n = n;
    return st;
}

static imgpar_status open_codec(ip_row_reader *r, ip_error *err)
{
    imgpar_status st = ip_codec_sniff(&r->s, &r->codec, err);
    return st ? st : r->codec->rows->open(&r->s, &r->header, &r->state, err);
}

/* With as many of its first bytes as its header has. */
static imgpar_status open_file(ip_row_reader *r, ip_error *err)
{
    const size_t most = r->s.total < IP_MAX_HEAD_BYTES ? (size_t)r->s.total : IP_MAX_HEAD_BYTES;
    imgpar_status st = ip_file_reopen(r->file, &r->s.fd, err);
    for (size_t n = FIRST_HEAD_BYTES; !st; n *= HEAD_GROWS) {
        ip_error why = { 0 };
        st = read_head(r, n < most ? n : most, err);
        if (st) return st;
        st = open_codec(r, &why);
        if (st != IMGPAR_E_CORRUPT || n >= most) return st ? ip_fail(err, st, "%s", why.message) : IMGPAR_OK;
        st = IMGPAR_OK;
    }
    return st;
}

static imgpar_status measure(ip_row_reader *r, ip_error *err)
{
    size_t n = imgpar_dtype_size(r->header.dtype);
    bool fits = r->header.has_rows;
    for (int i = 1; i < r->header.rank; i++)
        fits = fits && ip_mul_size(n, (size_t)r->header.shape[i], &n);
    r->row_bytes = n;
    return fits ? IMGPAR_OK : ip_fail(err, IMGPAR_E_INTERNAL, "internal: %s has no rows", r->s.name);
}

imgpar_status ip_row_reader_open(const ip_row_input *in, const ip_read_options *options, ip_row_reader **out,
                                 ip_error *err)
{
    const bool is_file = in->file && !in->file->stdin_bytes;
    const void *bytes = in->file ? in->file->stdin_bytes : in->bytes;
    const size_t n = in->file ? (size_t)in->file->size_bytes : in->n;
    ip_row_reader *r = *out = ip_zalloc(sizeof *r);
    if (!r) return ip_fail_memory(err, "reading rows");
    r->s = ip_source_of(bytes, is_file ? 0 : n, in->file ? ip_file_name(in->file) : in->name, options);
    r->s.total = n;
    r->s.counts_held = true;
    r->s.metadata = NULL;
    r->file = is_file ? in->file : NULL;
    imgpar_status st = is_file ? open_file(r, err) : open_codec(r, err);
    if (!st) st = measure(r, err);
    if (!st) return IMGPAR_OK;
    ip_row_reader_free(r);
    *out = NULL;
    return st;
}

int64_t ip_row_reader_height(const ip_row_reader *r) { return r->header.shape[0]; }
size_t ip_row_reader_row_bytes(const ip_row_reader *r) { return r->row_bytes; }

imgpar_status ip_row_reader_read(ip_row_reader *r, int64_t n, void *dst, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    if (!dst && !r->unwanted && !(r->unwanted = ip_alloc(r->row_bytes))) return fail_memory(r, err);
    for (int64_t k = 0; k < n && !st; k++)
        st = r->codec->rows->read(r->state, dst ? (char *)dst + (size_t)k * r->row_bytes : r->unwanted, err);
    return st;
}

imgpar_status ip_row_reader_end(ip_row_reader *r, ip_error *err)
{
    imgpar_status st = r->codec->rows->end ? r->codec->rows->end(r->state, err) : IMGPAR_OK;
    return st ? st : ip_row_reader_check(r, err);
}

imgpar_status ip_row_reader_check(const ip_row_reader *r, ip_error *err)
{
    return r->file ? ip_file_check_open(r->file, r->s.fd, "while it was read", err) : IMGPAR_OK;
}

void ip_row_reader_free(ip_row_reader *r)
{
    if (!r) return;
    if (r->state) r->codec->rows->close(r->state);
    if (r->file && r->s.fd >= 0) close(r->s.fd);
    ip_free(r->head);
    ip_free(r->unwanted);
    ip_free(r);
}
