/* SPDX-License-Identifier: MIT */
/*
 * Note [Two deflaters]
 * A piece is deflated by the quickest way that makes no more of it than zlib makes of what libpng would filter; which
 * one that is differs from picture to picture, so it is tried with a sample. libdeflate's level 1 makes 0.49 of
 * libpng's bytes of what repeats from row to row, once that is filtered well (png_write.c, Note [Filters]), at 200 to
 * 370 MB/s a processor, but 1.0 to 1.2 of most photographs; level 2 makes 0.92 of what was blurred, 0.96 to 1.13 of
 * others, at 110 to 230; level 6 0.96 to 1.05 at 43 to 70, level 7 less by a few hundredths at 30 to 43; zlib takes
 * 11 to 25. Of noise (scans, photographs of little compression) nothing but how often each byte occurs can be made
 * use of: zlib's Z_RLE makes 0.99 to 1.00 of it at 105 to 115 MB/s, and libdeflate 1.02 to 1.05 at any level. A way
 * is taken if its code of the sample is smaller than zlib's, quick ones by a margin, because a piece has more to be
 * found than a sample has; what level 6 makes may be larger by as much, for the same reason. If none is, what makes
 * the least. Zlib itself is slow to ask, so it is not asked where the filter alone saves a third, both codes made by
 * level 1. A piece of which runs made less is deflated by level 1, too, which tells whether something repeats outside
 * the sample. Where a sample shrinks to a sixth, what was before the piece may matter, as of screenshots, which zlib
 * can look at and libdeflate cannot: so zlib deflates such a piece where it makes less of its beginning. It deflates
 * tiny ones, too, of which libdeflate stores the shortest as they are. Levels other than the default choose between
 * runs and what they are alone. (Measured on photographs with libdeflate 1.14 and zlib 1.2.13. ISA-L makes 1.04
 * to 1.06; zlib with less effort, deflateTune(4, 8, 32, 4), makes 1.1 to 1.2 of what is smooth.)
 *
 * Note [Joining]
 * libdeflate ends what it makes by a last block. So that more can follow, the bit that says "last" must be cleared, and
 * the end brought to a byte: by an empty stored block, which is 3 bits of zero, zeros up to the byte, and 00 00 FF FF.
 * Where that bit is and where the last code ends, only who walks over all codes of the piece knows (deflate_end.h).
 */
#include "io/deflate.h"

#include "base/alloc.h"
#include "io/deflate_end.h"

#include <libdeflate.h>
#include <string.h>
#include <zlib.h>

enum {
    TINY = 4 << 10, /* a picture of so few bytes */
    MUCH = 6 /* a sample shrinks by */,
    WINDOW_BITS = 15,
    MEMORY_LEVEL = 9,
    LIBPNG_MEMORY_LEVEL = 8, /* of shorter blocks, whose codes follow what changes */
    SURELY = 3 /* what takes a third less than the other form, both made quickly, is less than zlib's */,
    MARGIN = 64 /* a sample is to be smaller by a part of so many, because a piece offers more to find */,
    REPETITIVE = 3 /* a sample shrinks by, and in its piece there is far more to find */,
    WIDE_MARGIN = 7,
    USUAL_LEVEL = 6,
    JOINT = 5 /* bytes of an empty stored block, at most */
};

/* From the quickest on; N_OF_ONE: that deflate a piece by itself. */
typedef enum way { QUICKEST, QUICK, RUNS, FAIR, MATCHES, MORE_MATCHES, N_OF_ONE, GOING_ON = N_OF_ONE } way;

struct ip_deflater {
    int level;
    struct libdeflate_compressor *by[N_OF_ONE]; /* NULL at level 0, and of RUNS */
    z_stream runs, going_on; /* at level 0 `runs` stores; going_on repeats what was before the piece, too */
    bool has_runs, has_going_on;
    unsigned char *sample, *other; /* other: a second code of a piece */
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

static bool begin_matching(ip_deflater *d)
{
    const int level[N_OF_ONE] = {
        [QUICKEST] = 1, [QUICK] = 2, [FAIR] = 4, [MATCHES] = d->level, [MORE_MATCHES] = d->level + 1
    };
    bool has_all = true;
    for (way k = QUICKEST; k < N_OF_ONE; k++)
        if (level[k] > 0) has_all = (d->by[k] = libdeflate_alloc_compressor(level[k])) != NULL && has_all;
    return has_all;
}

static bool begin(ip_deflater *d, size_t most)
{
    d->runs.zalloc = d->going_on.zalloc = zlib_alloc;
    d->runs.zfree = d->going_on.zfree = zlib_free;
    const int level = d->level > 0 ? 6 : 0, strategy = d->level > 0 ? Z_RLE : Z_DEFAULT_STRATEGY;
    d->has_runs = deflateInit2(&d->runs, level, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, strategy) == Z_OK;
    if (!d->has_runs || d->level == 0) return d->has_runs;
    d->has_going_on =
        deflateInit2(&d->going_on, d->level, Z_DEFLATED, -WINDOW_BITS, LIBPNG_MEMORY_LEVEL, Z_FILTERED) == Z_OK;
    d->sample = ip_alloc(ip_deflater_bound(d, IP_DEFLATE_SAMPLE));
    d->other = ip_alloc(ip_deflater_bound(d, most));
    if (!d->has_going_on || !d->sample || !d->other || ip_fault(IP_FAULT_ALLOC)) return false;
    return begin_matching(d);
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
    for (way k = QUICKEST; k < N_OF_ONE; k++)
        libdeflate_free_compressor(d->by[k]);
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

/* Note [Joining]. n bytes of code; how many there are then, 0: they are not deflated data. */
static size_t make_joinable(unsigned char *out, size_t n)
{
    ip_deflate_end last;
    if (!ip_deflate_find_end(out, n, &last)) return 0;
    out[last.block >> 3] &= (unsigned char)~(1u << (last.block & 7));
    memset(out + n, 0, JOINT);
    const size_t joint = (last.end + 3 + 7) / 8;
    out[joint + 2] = out[joint + 3] = 0xff;
    return joint + 4;
}

/* ---- choosing: Note [Two deflaters] ------------------------------------------------------------------------ */

/* By zlib, which repeats what is in the n_before bytes before, too. */
static size_t deflate_going_on(ip_deflater *d, const ip_deflate_input *in, unsigned char *out)
{
    deflateReset(&d->going_on);
    if (in->n_before > 0) deflateSetDictionary(&d->going_on, in->bytes - in->n_before, (uInt)in->n_before);
    return deflate_by(&d->going_on, in->bytes, in->n, in->is_last, out, ip_deflater_bound(d, in->n));
}

/* Of a sample, by itself but for the n_before bytes of GOING_ON. */
static size_t size_of(ip_deflater *d, way by, const unsigned char *bytes, size_t n_before, size_t n)
{
    const ip_deflate_input in = { .bytes = bytes, .n = n, .n_before = n_before, .is_last = true };
    if (by == GOING_ON) return deflate_going_on(d, &in, d->sample);
    if (by == RUNS) return deflate_runs(d, bytes, n, true, d->sample);
    return libdeflate_deflate_compress(d->by[by], bytes, n, d->sample, ip_deflater_bound(d, n));
}

size_t ip_deflater_quick_size(ip_deflater *d, const unsigned char *bytes, size_t n)
{
    return size_of(d, n > TINY ? QUICKEST : GOING_ON, bytes, 0, n);
}

bool ip_deflater_looks_back(const ip_deflate_sample *sample, size_t n)
{
    return n <= TINY || sample->n_quick < sample->n / MUCH;
}

/* Of what a piece begins with, because that may repeat what is before it. */
static way least_way(ip_deflater *d, const ip_deflate_input *in)
{
    const size_t n = in->n < IP_DEFLATE_SAMPLE ? in->n : IP_DEFLATE_SAMPLE;
    const size_t by_runs = size_of(d, RUNS, in->bytes, 0, n), by_more = size_of(d, MORE_MATCHES, in->bytes, 0, n);
    const size_t by_zlib = size_of(d, GOING_ON, in->bytes, in->n_before, n);
    if (by_zlib < by_more && by_zlib < by_runs) return GOING_ON;
    return by_runs <= by_more ? RUNS : MORE_MATCHES;
}

/* The quickest way whose code is small enough; where none is, the one that makes the least. */
static way quickest_way(ip_deflater *d, const ip_deflate_sample *s)
{
    const size_t surely = s->n_other_quick - s->n_other_quick / SURELY;
    size_t size[GOING_ON + 1] = { [QUICKEST] = s->n_quick };
    if (s->n_quick <= surely) return QUICKEST;
    size[QUICK] = size_of(d, QUICK, s->bytes, 0, s->n);
    if (size[QUICK] <= surely) return QUICK;
    const size_t by_zlib = size_of(d, GOING_ON, s->other, 0, s->n);
    way best = QUICKEST;
    for (way k = QUICKEST; k <= GOING_ON; k++) {
        if (size[k] == 0) size[k] = k == GOING_ON && s->bytes == s->other ? by_zlib : size_of(d, k, s->bytes, 0, s->n);
        if (size[k] < size[best]) best = k;
        const size_t margin = by_zlib / (size[best] < s->n / REPETITIVE ? WIDE_MARGIN : MARGIN);
        if (size[best] <= by_zlib - (best < MATCHES ? margin : 0)) break;
        if (k == MATCHES && best == MATCHES && size[best] <= by_zlib + by_zlib / MARGIN) break;
    }
    return best;
}

static way way_of_sample(ip_deflater *d, const ip_deflate_input *in)
{
    const ip_deflate_sample *s = in->sample;
    if (ip_deflater_looks_back(s, in->n)) return least_way(d, in);
    if (d->level == USUAL_LEVEL) return quickest_way(d, s);
    return size_of(d, MATCHES, s->bytes, 0, s->n) < size_of(d, RUNS, s->bytes, 0, s->n) ? MATCHES : RUNS;
}

/* Something repeats in a piece of which runs make n_runs. */
static bool repeats(ip_deflater *d, const unsigned char *bytes, size_t n, size_t n_runs)
{
    const size_t n_quick = libdeflate_deflate_compress(d->by[QUICKEST], bytes, n, d->other, ip_deflater_bound(d, n));
    return n_quick < n_runs;
}

static size_t deflate_matches(ip_deflater *d, way by, const ip_deflate_input *in, unsigned char *out)
{
    const size_t n_out = libdeflate_deflate_compress(d->by[by], in->bytes, in->n, out, ip_deflater_bound(d, in->n));
    return in->is_last ? n_out : make_joinable(out, n_out);
}

size_t ip_deflate_piece(ip_deflater *d, const ip_deflate_input *in, unsigned char *out)
{
    if (d->level == 0) return deflate_runs(d, in->bytes, in->n, in->is_last, out);
    const way chosen = in->n > TINY ? way_of_sample(d, in) : GOING_ON;
    if (chosen == GOING_ON) return deflate_going_on(d, in, out);
    if (chosen != RUNS) return deflate_matches(d, chosen, in, out);
    const size_t n_runs = deflate_runs(d, in->bytes, in->n, in->is_last, out);
    return in->n > in->sample->n && repeats(d, in->bytes, in->n, n_runs) ? deflate_matches(d, MATCHES, in, out)
                                                                         : n_runs;
}
