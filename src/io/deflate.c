/* SPDX-License-Identifier: MIT */
/*
 * Note [Two deflaters]
 * Filtered rows of a picture are of two kinds. Of noise (scans, photographs of little compression) nothing but how
 * often each byte occurs can be made use of; zlib's Z_RLE does that at 105 to 115 MB/s a processor, in 0.99 to 1.00 of
 * the bytes that libpng's default takes at 11 to 15 MB/s. Where rows repeat something, looking for it pays: libdeflate
 * of level 6 takes 0.97 of libpng's bytes at 43 to 57 MB/s, against 11 to 21; but of noise it makes 1.02 to 1.05. So
 * the first SAMPLE bytes of a piece are deflated by both; if the runs alone take less, the piece is deflated by them
 * and by libdeflate's level 1, which tells whether something repeats farther on. Where a sample shrinks to an eighth,
 * as of what was blurred, level 6 takes 1.03 of libpng's bytes; the next level 0.97 at 44 MB/s, against 36. There what
 * was before the piece may matter, too, as of screenshots, which zlib can look at and libdeflate cannot: so zlib
 * deflates such a piece where it makes less of the sample. It deflates tiny ones, too, of which libdeflate stores the
 * shortest as they are. (Measured on ../shared/photos with libdeflate 1.14 and zlib 1.2.13. ISA-L is quicker still and
 * makes 1.04 to 1.06; zlib with less effort, deflateTune(4, 8, 32, 4), makes 1.1 to 1.2 of what is smooth.)
 *
 * Note [Joining]
 * libdeflate ends what it makes by a last block. So that more can follow, the bit that says "last" must be cleared, and
 * the end brought to a byte: by an empty stored block, which is 3 bits of zero, zeros up to the byte, and 00 00 FF FF.
 * Where that bit is and where the last code ends, only who inflates the piece knows; zlib does, and stops at each
 * block.
 */
#include "io/deflate.h"

#include "base/alloc.h"

#include <libdeflate.h>
#include <string.h>
#include <zlib.h>

enum {
    SAMPLE = 64 << 10,
    TINY = 4 << 10, /* a picture of so few bytes */
    MUCH = 8 /* a sample shrinks by */,
    WINDOW_BITS = 15,
    MEMORY_LEVEL = 9,
    JOINT = 5 /* bytes of an empty stored block, at most */
};

struct ip_deflater {
    int level;
    /* of level 1, of this and of the next; NULL at level 0 */
    struct libdeflate_compressor *quick, *matching, *matching_more;
    z_stream runs, going_on, inflating; /* at level 0 `runs` stores; going_on repeats what was before the piece, too */
    bool has_runs, has_going_on, has_inflating;
    size_t n_inflated;                        /* of `inflated` */
    unsigned char *inflated, *sample, *other; /* other: a second code of a piece */
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
    d->runs.zalloc = d->going_on.zalloc = d->inflating.zalloc = zlib_alloc;
    d->runs.zfree = d->going_on.zfree = d->inflating.zfree = zlib_free;
    const int level = d->level > 0 ? 6 : 0, strategy = d->level > 0 ? Z_RLE : Z_DEFAULT_STRATEGY;
    d->has_runs = deflateInit2(&d->runs, level, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, strategy) == Z_OK;
    if (!d->has_runs || d->level == 0) return d->has_runs;
    d->has_going_on = deflateInit2(&d->going_on, d->level, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, Z_FILTERED) == Z_OK;
    d->has_inflating = inflateInit2(&d->inflating, -WINDOW_BITS) == Z_OK;
    d->n_inflated = most;
    d->inflated = ip_alloc(most);
    d->sample = ip_alloc(ip_deflater_bound(d, SAMPLE));
    d->other = ip_alloc(ip_deflater_bound(d, most));
    if (!d->has_going_on || !d->has_inflating || !d->inflated || !d->sample || !d->other || ip_fault(IP_FAULT_ALLOC))
        return false;
    d->quick = libdeflate_alloc_compressor(1);
    d->matching = libdeflate_alloc_compressor(d->level);
    d->matching_more = libdeflate_alloc_compressor(d->level + 1);
    return d->quick && d->matching && d->matching_more;
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
    if (d->has_going_on) deflateEnd(&d->going_on);
    if (d->has_inflating) inflateEnd(&d->inflating);
    libdeflate_free_compressor(d->quick);
    libdeflate_free_compressor(d->matching);
    libdeflate_free_compressor(d->matching_more);
    ip_free(d->inflated);
    ip_free(d->sample);
    ip_free(d->other);
    ip_free(d);
}

size_t ip_deflater_bound(ip_deflater *d, size_t n)
{
    const size_t by_runs = deflateBound(&d->runs, (uLong)n), matching = libdeflate_deflate_compress_bound(NULL, n);
    return (by_runs > matching ? by_runs : matching) + 2 * JOINT; /* of zlib's flush, too */
}

/* By zlib; how many bytes the code has. */
static size_t deflate_by(z_stream *z, const unsigned char *bytes, size_t n, bool is_last, unsigned char *out,
                         size_t room)
{
    z->next_in = (Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)n;
    z->next_out = out;
    z->avail_out = (uInt)room;
    deflate(z, is_last ? Z_FINISH : Z_SYNC_FLUSH);
    return room - z->avail_out;
}

static size_t deflate_runs(ip_deflater *d, const unsigned char *bytes, size_t n, bool is_last, unsigned char *out)
{
    deflateReset(&d->runs);
    return deflate_by(&d->runs, bytes, n, is_last, out, ip_deflater_bound(d, n));
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

/* ---- choosing: Note [Two deflaters]
 * --------------------------------------------------------------------------------- */

typedef enum way { RUNS, MATCHES, MORE_MATCHES, GOING_ON } way;

static size_t deflate_going_on(ip_deflater *d, const unsigned char *bytes, size_t n_before, size_t n, bool is_last,
                               unsigned char *out)
{
    deflateReset(&d->going_on);
    if (n_before > 0) deflateSetDictionary(&d->going_on, bytes - n_before, (uInt)n_before);
    return deflate_by(&d->going_on, bytes, n, is_last, out, ip_deflater_bound(d, n));
}

static way way_of_sample(ip_deflater *d, const unsigned char *bytes, size_t n_before, size_t n)
{
    const size_t by_runs = deflate_runs(d, bytes, n, true, d->sample);
    const size_t by_matches = libdeflate_deflate_compress(d->matching, bytes, n, d->sample, ip_deflater_bound(d, n));
    if (by_matches >= by_runs) return RUNS;
    if (by_matches >= n / MUCH) return MATCHES;
    const size_t by_more = libdeflate_deflate_compress(d->matching_more, bytes, n, d->sample, ip_deflater_bound(d, n));
    return deflate_going_on(d, bytes, n_before, n, true, d->sample) < by_more ? GOING_ON : MORE_MATCHES;
}

/* Something repeats in a piece of which runs make n_runs. */
static bool repeats(ip_deflater *d, const unsigned char *bytes, size_t n, size_t n_runs)
{
    const size_t n_quick = libdeflate_deflate_compress(d->quick, bytes, n, d->other, ip_deflater_bound(d, n));
    return n_quick < n_runs;
}

static size_t deflate_matches(ip_deflater *d, bool more, const unsigned char *bytes, size_t n, bool is_last,
                              unsigned char *out)
{
    struct libdeflate_compressor *matching = more ? d->matching_more : d->matching;
    const size_t n_out = libdeflate_deflate_compress(matching, bytes, n, out, ip_deflater_bound(d, n));
    return is_last ? n_out : make_joinable(d, out, n_out);
}

size_t ip_deflate_piece(ip_deflater *d, const unsigned char *bytes, size_t n_before, size_t n, bool is_last,
                        unsigned char *out)
{
    if (d->level == 0) return deflate_runs(d, bytes, n, is_last, out);
    if (n <= TINY) return deflate_going_on(d, bytes, n_before, n, is_last, out);
    const way chosen = way_of_sample(d, bytes, n_before, n < SAMPLE ? n : SAMPLE);
    if (chosen == GOING_ON) return deflate_going_on(d, bytes, n_before, n, is_last, out);
    if (chosen != RUNS) return deflate_matches(d, chosen == MORE_MATCHES, bytes, n, is_last, out);
    const size_t n_runs = deflate_runs(d, bytes, n, is_last, out);
    return n > SAMPLE && repeats(d, bytes, n, n_runs) ? deflate_matches(d, false, bytes, n, is_last, out) : n_runs;
}
