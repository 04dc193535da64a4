/* SPDX-License-Identifier: MIT */
/*
 * Note [Two deflaters]
 * Filtered rows of a picture are of two kinds. Of noise (scans, photographs of little compression) nothing but how often each byte
 * occurs can be made use of; zlib's Z_RLE does that at 105 to 115 MB/s a processor, in 0.99 to 1.00 of the bytes that libpng's default takes
 * at 11 to 15 MB/s. Where rows repeat something, looking for it pays: libdeflate of level 6 takes 0.97 of libpng's bytes at 43 to 57 MB/s,
 * against 11 to 21; but of noise it makes 1.02 to 1.05. So the first SAMPLE bytes of a piece are deflated by both, and the smaller one
 * deflates the piece. Where a sample shrinks to an eighth, as of what was blurred, level 6 takes 1.03 of libpng's bytes; the next level 0.97
 * at 44 MB/s, against 36. (Measured on ../shared/photos with libdeflate 1.14 and zlib 1.2.13. ISA-L is quicker still and makes 1.04 to 1.06;
 * zlib with less effort, deflateTune(4, 8, 32, 4), makes 1.1 to 1.2 of what is smooth.) A piece repeats nothing of those before it, which
 * libdeflate cannot look at: what all pieces have in common is stored once in each.
 *
 * Note [Joining]
 * libdeflate ends what it makes by a last block. So that more can follow, the bit that says "last" must be cleared, and the end brought to
 * a byte: by an empty stored block, which is 3 bits of zero, zeros up to the byte, and 00 00 FF FF. Where that bit is and where the last
 * code ends, only who inflates the piece knows; zlib does, and stops at each block.
 */
#include "io/deflate.h"

#include "base/alloc.h"

#include <libdeflate.h>
#include <string.h>
#include <zlib.h>

enum { SAMPLE = 64 << 10, MUCH = 8 /* a sample shrinks by */, WINDOW_BITS = 15, MEMORY_LEVEL = 9, JOINT = 5 /* bytes of an empty stored block, at most */ };

struct ip_deflater {
    int level;
    struct libdeflate_compressor *matching, *matching_more; /* of this level and of the next; NULL at level 0 */
    z_stream runs, inflating;               /* at level 0 `runs` stores */
    bool has_runs, has_inflating;
    size_t n_inflated; /* of `inflated` */
    unsigned char *inflated, *sample;
};

static voidpf zlib_alloc(voidpf user, uInt n, uInt size)
{
    (void)user;
    return ip_alloc_array(n, size);
}

static void zlib_free(voidpf user, voidpf p)
{
    (void)user;
    ip_free(p);
}

static bool begin(ip_deflater *d, size_t most)
{
    d->runs.zalloc = d->inflating.zalloc = zlib_alloc;
    d->runs.zfree = d->inflating.zfree = zlib_free;
    const int level = d->level > 0 ? 6 : 0, strategy = d->level > 0 ? Z_RLE : Z_DEFAULT_STRATEGY;
    d->has_runs = deflateInit2(&d->runs, level, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, strategy) == Z_OK;
    if (!d->has_runs || d->level == 0) return d->has_runs;
    d->has_inflating = inflateInit2(&d->inflating, -WINDOW_BITS) == Z_OK;
    d->n_inflated = most;
    d->inflated = ip_alloc(most);
    d->sample = ip_alloc(ip_deflater_bound(d, SAMPLE));
    d->matching = ip_fault(IP_FAULT_ALLOC) ? NULL : libdeflate_alloc_compressor(d->level);
    d->matching_more = ip_fault(IP_FAULT_ALLOC) ? NULL : libdeflate_alloc_compressor(d->level + 1);
    return d->has_inflating && d->inflated && d->sample && d->matching && d->matching_more;
}

ip_deflater *ip_deflater_new(int level, size_t most)
{
    ip_deflater *d = ip_zalloc(sizeof *d);
    if (!d) return NULL;
    d->level = level;
    if (begin(d, most)) return d;
    ip_deflater_free(d);
    return NULL;
}

void ip_deflater_free(ip_deflater *d)
{
    if (!d) return;
    if (d->has_runs) deflateEnd(&d->runs);
    if (d->has_inflating) inflateEnd(&d->inflating);
    libdeflate_free_compressor(d->matching);
    libdeflate_free_compressor(d->matching_more);
    ip_free(d->inflated);
    ip_free(d->sample);
    ip_free(d);
}

size_t ip_deflater_bound(ip_deflater *d, size_t n)
{
    const size_t by_runs = deflateBound(&d->runs, (uLong)n), matching = libdeflate_deflate_compress_bound(NULL, n);
    return (by_runs > matching ? by_runs : matching) + 2 * JOINT; /* of zlib's flush, too */
}

static size_t deflate_runs(ip_deflater *d, const unsigned char *bytes, size_t n, bool is_last, unsigned char *out)
{
    const size_t room = ip_deflater_bound(d, n);
    deflateReset(&d->runs);
    d->runs.next_in = (Bytef *)(uintptr_t)bytes;
    d->runs.avail_in = (uInt)n;
    d->runs.next_out = out;
    d->runs.avail_out = (uInt)room;
    deflate(&d->runs, is_last ? Z_FINISH : Z_SYNC_FLUSH);
    return room - d->runs.avail_out;
}

/* Note [Joining]. n bytes of code, of at most d->n_inflated bytes; how many there are then, 0: no memory. */
static size_t make_joinable(ip_deflater *d, unsigned char *out, size_t n)
{
    z_stream *z = &d->inflating;
    size_t last = 0, end = 0; /* bits: where the last block begins, where its code ends */
    inflateReset(z);
    z->next_in = out;
    z->avail_in = (uInt)n;
    z->next_out = d->inflated;
    z->avail_out = (uInt)d->n_inflated;
    for (bool is_last = false; !is_last;) {
        const int status = inflate(z, Z_BLOCK); /* Z_BUF_ERROR: an end that was in its buffer */
        if ((status != Z_OK && status != Z_BUF_ERROR) || !(z->data_type & 128)) return 0;
        const size_t at = 8 * (n - z->avail_in) - (size_t)(z->data_type & 7);
        is_last = z->data_type & 64;
        *(is_last ? &end : &last) = at;
    }
    out[last >> 3] &= (unsigned char)~(1u << (last & 7));
    memset(out + n, 0, JOINT);
    const size_t joint = (end + 3 + 7) / 8;
    out[joint + 2] = out[joint + 3] = 0xff;
    return joint + 4;
}

/* The one that finds matches, as hard as pays; NULL: `runs` makes less. Note [Two deflaters] */
static struct libdeflate_compressor *choose(ip_deflater *d, const unsigned char *bytes, size_t n)
{
    if (d->level == 0) return NULL;
    const size_t n_sample = n < SAMPLE ? n : SAMPLE, room = ip_deflater_bound(d, n_sample);
    const size_t by_runs = deflate_runs(d, bytes, n_sample, true, d->sample);
    const size_t by_matches = libdeflate_deflate_compress(d->matching, bytes, n_sample, d->sample, room);
    if (by_matches >= by_runs) return NULL;
    return by_matches < n_sample / MUCH ? d->matching_more : d->matching;
}

size_t ip_deflate_piece(ip_deflater *d, const unsigned char *bytes, size_t n, bool is_last, unsigned char *out)
{
    struct libdeflate_compressor *matching = choose(d, bytes, n);
    if (!matching) return deflate_runs(d, bytes, n, is_last, out);
    const size_t n_out = libdeflate_deflate_compress(matching, bytes, n, out, ip_deflater_bound(d, n));
    return is_last ? n_out : make_joinable(d, out, n_out);
}
