/* SPDX-License-Identifier: MIT */
/*
 * JPEG to pixels, with libjpeg: 8-bit gray, RGB, and CMYK as RGB. Decoding is
 * the library's exact default (slow integer DCT, smooth chroma upsampling).
 *
 * Limits. Pixels are counted right after the header. A progressive picture may
 * have 100 scans: each costs a pass over all coefficients and as little as a
 * few bytes of file. Coefficients get the memory the size asks for and no more.
 *
 * EXIF, profiles and the process (lossless, 12 bit) are found by a walk of our own over
 * the markers, so libjpeg skips them and the refusal is one plain sentence.
 */
#include "io/exif.h"
#include "io/jpeg_metadata.h"

#include "base/alloc.h"

#include <jerror.h>
#include <string.h>

enum { MAX_SCANS = 100, MEMORY_BASE = 64 << 20 };

/* What the markers before the first scan say. */
typedef struct markers {
    int orientation, process, precision;
    bool has_scan; /* all of them were seen */
    ip_jpeg_segments segments;
} markers;

typedef struct reader {
    ip_jpeg_guard guard; /* first: see jpeg_guard.h */
    struct jpeg_decompress_struct c;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    const ip_source *s;
    ip_image *image;
    ip_error *err;
    unsigned char *row; /* CMYK */
    bool is_in_pixels;  /* the header is read: damage may be tolerated */
    bool has_ended;     /* the data ended early, and was told so */
    ip_feed feed;       /* of what is read by rows */
    int channels;
    unsigned char *to; /* where the next row goes */
    bool is_over;      /* by rows: after damage that is tolerated there are no more */
} reader;

bool ip_jpeg_sniff(const unsigned char *bytes, size_t n)
{
    return n >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

static markers walk_markers(const unsigned char *p, size_t n)
{
    markers m = { .orientation = 1, .process = -1, .precision = 8 };
    for (size_t at = 2; at < n;) {
        if (p[at] != 0xff) { /* junk, which libjpeg reports */
            at++;
            continue;
        }
        while (at < n && p[at] == 0xff)
            at++;
        if (at >= n) break;
        const int code = p[at++];
        if (code == 0 || code == 1 || (code >= 0xd0 && code <= 0xd8)) continue; /* no parameters */
        m.has_scan |= code == 0xda;
        if (code == 0xda || code == 0xd9 || n - at < 2) break; /* scan, end */
        const size_t length = (size_t)p[at] << 8 | p[at + 1];
        if (length < 2 || length > n - at) break;
        const unsigned char *body = p + at + 2;
        if (code >= 0xe0 && code <= 0xef) ip_jpeg_note_segment(&m.segments, code, body, length - 2);
        if (code >= 0xc0 && code <= 0xcf && code != 0xc4 && code != 0xc8 && code != 0xcc && length >= 3) {
            m.process = code & 15;
            m.precision = body[0];
        }
        at += length;
    }
    if (m.segments.exif.bytes) m.orientation = ip_exif_orientation(m.segments.exif.bytes, m.segments.exif.n);
    return m;
}

static imgpar_status check_process(const ip_source *s, const markers *m, ip_error *err)
{
    static const char *const refused[16] = {
        [3] = "lossless",  [5] = "hierarchical",  [6] = "hierarchical",  [7] = "lossless",
        [11] = "lossless", [13] = "hierarchical", [14] = "hierarchical", [15] = "lossless",
    };
    if (m->process >= 0 && refused[m->process])
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: JPEG: %s compression is not supported", s->name,
                       refused[m->process]);
    if (m->precision != 8)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: JPEG: samples of %d bits are not supported, only 8", s->name,
                       m->precision);
    return IMGPAR_OK;
}

static void on_error(ip_jpeg_guard *guard, int code, const char *text)
{
    reader *r = (reader *)guard;
    if (code == JERR_OUT_OF_MEMORY)
        ip_fail(r->err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", r->s->name);
    else if (code == JERR_NO_BACKING_STORE)
        ip_fail(r->err, IMGPAR_E_LIMIT, "%s: JPEG: decoding takes more memory than its size allows", r->s->name);
    else if (code == JERR_SOF_UNSUPPORTED || code == JERR_ARITH_NOTIMPL || code == JERR_CONVERSION_NOTIMPL)
        ip_fail(r->err, IMGPAR_E_UNSUPPORTED, "%s: JPEG: %s", r->s->name, text);
    else if (r->is_in_pixels)
        ip_source_damaged(r->s, IP_DAMAGE_MISSING, "JPEG", text, r->err);
    else
        ip_fail(r->err, IMGPAR_E_CORRUPT, "%s: JPEG: %s", r->s->name, text);
}

static bool on_warning(ip_jpeg_guard *guard, int code, const char *text)
{
    reader *r = (reader *)guard;
    switch (code) {
    case JWRN_JPEG_EOF:
        r->has_ended = true;
        return ip_source_damaged(r->s, IP_DAMAGE_MISSING, "JPEG", "the data ends early", r->err);
    case JWRN_HIT_MARKER: /* follows from the end */
        if (r->has_ended) return false;
        /* fall through */
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_BOGUS_PROGRESSION: return ip_source_damaged(r->s, IP_DAMAGE_READABLE, "JPEG", text, r->err);
    default: return ip_source_damaged(r->s, IP_DAMAGE_WARNING, "JPEG", text, r->err);
    }
}

static void no_op(j_decompress_ptr c) { (void)c; }

/* False: there are no more bytes. */
static bool fill(reader *r)
{
    const unsigned char *bytes;
    size_t n;
    if (ip_feed_next(&r->feed, &bytes, &n, r->err)) longjmp(r->guard.jump, 1);
    if (n == 0) return false;
    r->source.next_input_byte = bytes;
    r->source.bytes_in_buffer = n;
    return true;
}

/* libjpeg asks only when all bytes are used up; it gets an end marker until it stops. */
static boolean on_fill(j_decompress_ptr c)
{
    static const JOCTET end[] = { 0xff, JPEG_EOI };
    reader *r = c->client_data;
    if (fill(r)) return TRUE;
    if (!r->is_in_pixels) {
        ip_fail(r->err, IMGPAR_E_CORRUPT, "%s: JPEG: the data ends early", r->s->name);
        longjmp(r->guard.jump, 1);
    }
    if (!r->has_ended) WARNMS(c, JWRN_JPEG_EOF);
    c->src->next_input_byte = end;
    c->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void on_skip(j_decompress_ptr c, long n)
{
    if (n <= 0) return;
    for (size_t left = c->src->bytes_in_buffer; (size_t)n > left; left = c->src->bytes_in_buffer)
        if (fill(c->client_data))
            n -= (long)left;
        else
            break;
    size_t step = (size_t)n < c->src->bytes_in_buffer ? (size_t)n : c->src->bytes_in_buffer;
    c->src->next_input_byte += step;
    c->src->bytes_in_buffer -= step; /* a skip past the end meets on_fill() */
}

static void stop(reader *r) { longjmp(r->guard.jump, 1); }

/* Called for every row of blocks, while scans are collected and while rows come out. */
static void on_progress(j_common_ptr common)
{
    reader *r = common->client_data;
    if (r->c.input_scan_number > MAX_SCANS) {
        ip_fail(r->err, IMGPAR_E_LIMIT, "%s: JPEG: more than %d scans", r->s->name, MAX_SCANS);
        stop(r);
    }
    const struct jpeg_progress_mgr *p = &r->progress;
    double part = p->pass_limit > 0 ? (double)p->pass_counter / (double)p->pass_limit : 0;
    double done = p->total_passes > 0 ? (p->completed_passes + part) / p->total_passes : part;
    if (ip_source_poll(r->s, done < 1 ? done : 1, r->err)) stop(r);
}

static void read_header(reader *r)
{
    jpeg_create_decompress(&r->c);
    ip_jpeg_guard_memory(&r->guard, (j_common_ptr)&r->c);
    r->source = (struct jpeg_source_mgr){
        .next_input_byte = r->s->bytes,
        .bytes_in_buffer = r->s->n,
        .init_source = no_op,
        .fill_input_buffer = on_fill,
        .skip_input_data = on_skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = no_op,
    };
    r->c.src = &r->source;
    r->progress.progress_monitor = on_progress;
    jpeg_read_header(&r->c, TRUE);
    r->c.scale_denom = r->s->shrink > 1 ? (unsigned)r->s->shrink : 1;
    jpeg_calc_output_dimensions(&r->c);
}

static bool is_cmyk(const reader *r) { return r->c.jpeg_color_space == JCS_CMYK || r->c.jpeg_color_space == JCS_YCCK; }

/*
 * Ink on paper, naively: what is not absorbed by the colour and not by black.
 * Adobe writes all four inverted (255 is no ink), which is what the product needs.
 */
static void rgb_from_cmyk(const unsigned char *src, unsigned char *dst, size_t n, bool is_inverted)
{
    const unsigned flip = is_inverted ? 0 : 255;
    for (size_t i = 0; i < n; i++, src += 4, dst += 3) {
        unsigned k = src[3] ^ flip;
        for (int ch = 0; ch < 3; ch++)
            dst[ch] = (unsigned char)(((src[ch] ^ flip) * k + 127) / 255);
    }
}

static void start(reader *r)
{
    j_decompress_ptr c = &r->c;
    r->channels = c->num_components == 1 ? 1 : 3;
    c->progress = &r->progress;
    c->mem->max_memory_to_use = (long)(MEMORY_BASE + 8 * ((size_t)c->image_width + 64) * (c->image_height + 64));
    c->dct_method = JDCT_ISLOW;
    c->do_fancy_upsampling = TRUE;
    c->out_color_space = is_cmyk(r) ? JCS_CMYK : c->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (is_cmyk(r)) r->row = c->mem->alloc_large((j_common_ptr)c, JPOOL_IMAGE, (size_t)c->output_width * 4);
    jpeg_start_decompress(c);
}

static void read_row(reader *r)
{
    j_decompress_ptr c = &r->c;
    JSAMPROW row = r->row ? r->row : r->to;
    jpeg_read_scanlines(c, &row, 1);
    if (r->row) rgb_from_cmyk(row, r->to, c->output_width, c->saw_Adobe_marker);
}

static void finish(reader *r) { jpeg_finish_decompress(&r->c); }

static void read_pixels(reader *r)
{
    j_decompress_ptr c = &r->c;
    start(r);
    for (r->to = r->image->pixels; c->output_scanline < c->output_height;
         r->to += (size_t)c->output_width * (size_t)r->channels)
        read_row(r);
    finish(r);
}

static bool guarded(reader *r, void (*step)(reader *r))
{
    if (setjmp(r->guard.jump)) return false;
    step(r);
    return true;
}

static imgpar_status give_metadata(const reader *r, const markers *m)
{
    ip_metadata contents = { .colour = { .has_srgb = false } };
    imgpar_status st = ip_jpeg_read_metadata(r->s, &m->segments, &contents, r->err);
    if (is_cmyk(r)) { /* what tells of inks does not tell of the colours that they have become */
        ip_free(contents.colour.icc.bytes);
        contents.colour = (ip_colour){ .has_srgb = false };
    }
    if (!st) return ip_source_give_metadata(r->s, &contents, m->orientation >= 5, r->err);
    ip_metadata_clear(&contents);
    return st;
}

static imgpar_status fill_header(reader *r, const markers *m, ip_header *header)
{
    const int n = r->c.num_components;
    const bool has_rows = m->orientation == 1 && !jpeg_has_multiple_scans(&r->c);
    imgpar_status st = ip_source_check_size(r->s, r->c.image_width, r->c.image_height, has_rows, r->err);
    if (st) return st;
    if (n != 1 && n != 3 && !is_cmyk(r))
        return ip_fail(r->err, IMGPAR_E_UNSUPPORTED, "%s: JPEG: %d components are not supported", r->s->name, n);
    ip_header_picture(header, IP_FORMAT_JPEG, IMGPAR_U8, r->c.output_width, r->c.output_height, n == 1 ? 1 : 3,
                      m->orientation);
    header->has_rows = has_rows;
    return give_metadata(r, m);
}

imgpar_status ip_jpeg_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err)
{
    const markers m = walk_markers(s->bytes, s->n);
    imgpar_status st = check_process(s, &m, err);
    if (st) return st;

    ip_error local = { 0 };
    reader r = { .guard = { .on_error = on_error, .on_warning = on_warning }, .s = s, .image = image, .err = &local };
    ip_jpeg_guard_errors(&r.guard, (j_common_ptr)&r.c);
    if (!guarded(&r, read_header) || fill_header(&r, &m, header) || !image) goto out;

    image->header = *header;
    if (ip_image_alloc(s, image, &local)) goto out;
    r.is_in_pixels = true;
    guarded(&r, read_pixels); /* a jump with no failure recorded is tolerated damage */
    if (!local.status) ip_exif_turn(s, image, &local);
out:
    jpeg_destroy_decompress(&r.c);
    return local.status ? ip_fail(err, local.status, "%s", local.message) : IMGPAR_OK;
}

/* ---- by rows --------------------------------------------------------------------------------- */

static void close_rows(void *state)
{
    reader *r = state;
    jpeg_destroy_decompress(&r->c);
    ip_feed_end(&r->feed);
    ip_free(r);
}

/* Takes what a step recorded, and what comes of it. */
static imgpar_status step(reader *r, void (*function)(reader *r), ip_error *err)
{
    ip_error local = { 0 };
    r->err = &local;
    if (!guarded(r, function)) r->is_over = true;
    r->err = NULL;
    return local.status ? ip_fail(err, local.status, "%s", local.message) : IMGPAR_OK;
}

static imgpar_status open_rows(const ip_source *s, ip_header *header, void **state, ip_error *err)
{
    const markers m = walk_markers(s->bytes, s->n);
    imgpar_status st = check_process(s, &m, err);
    if (st) return st;
    if (!m.has_scan && s->total > s->n) return ip_fail(err, IMGPAR_E_CORRUPT, "%s: JPEG: the data ends early", s->name);
    reader *r = ip_zalloc(sizeof *r);
    if (!r) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    *r = (reader){ .guard = { .on_error = on_error, .on_warning = on_warning }, .s = s, .feed = ip_feed_of(s) };
    ip_jpeg_guard_errors(&r->guard, (j_common_ptr)&r->c);
    st = step(r, read_header, err);
    r->err = err;
    if (!st) st = fill_header(r, &m, header);
    r->is_in_pixels = true;
    if (!st) st = step(r, start, err);
    if (st)
        close_rows(r);
    else
        *state = r;
    return st;
}

static imgpar_status next_row(void *state, void *dst, ip_error *err)
{
    reader *r = state;
    r->to = dst;
    imgpar_status st = r->is_over ? IMGPAR_OK : step(r, read_row, err);
    if (r->is_over) memset(dst, 0, (size_t)r->c.output_width * (size_t)r->channels);
    return st;
}

static imgpar_status end_rows(void *state, ip_error *err)
{
    reader *r = state;
    return r->is_over ? IMGPAR_OK : step(r, finish, err);
}

const ip_row_codec ip_jpeg_rows = { open_rows, next_row, end_rows, close_rows };
