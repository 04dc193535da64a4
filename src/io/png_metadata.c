/* SPDX-License-Identifier: MIT */
/*
 * The chunks of a PNG that tell of more than pixels: cICP iCCP sRGB gAMA cHRM pHYs eXIf, the XMP packet of iTXt, and
 * IPTC and, where no eXIf has it, EXIF as ImageMagick and ExifTool write them: texts of hexadecimal digits. libpng is
 * given none of them (png.c, Note [Chunks dropped]): eXIf and XMP may follow the picture data, where a header must not
 * wait for them, and libpng refuses profiles that others read.
 */
#include "io/png_metadata.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "io/exif.h"
#include "io/icc.h"
#include "io/iptc.h"
#include "io/xmp.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

static const char xmp_keyword[] = "XML:com.adobe.xmp"; /* with its zero */
static const char raw_keyword[] = "Raw profile type "; /* without it: a name of profiles[] follows */
enum { MAX_CHUNK = 0x7fffffff, KEYWORD_BYTES = 80 /* of a profile, with its zero */ };

static void put32(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (char)(v >> (24 - 8 * i));
}

/* ---- reading ------------------------------------------------------------------------------ */

/* What is read, and what has been found. */
typedef struct reader {
    const ip_source *s;
    ip_metadata *contents;
    int *orientation;
    ip_error *err;
    bool is_exif_text; /* what is found of EXIF was written as text; an eXIf counts more */
} reader;

static imgpar_status fail_memory(const reader *r)
{
    return ip_fail(r->err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", r->s->name);
}

static imgpar_status damaged(const reader *r, const char *text)
{
    return ip_source_damaged(r->s, IP_DAMAGE_WARNING, "PNG", text, r->err);
}

static void *z_alloc(void *user, unsigned count, unsigned size)
{
    (void)user;
    return ip_alloc_array(count, size);
}

static void z_free(void *user, void *memory)
{
    (void)user;
    ip_free(memory);
}

/* Up to IP_MAX_BLOB_BYTES of what n bytes of zlib's stream stand for; *out is empty where they are damaged, or stand
 * for more. */
static imgpar_status inflate_all(const reader *r, const unsigned char *bytes, size_t n, ip_blob *out)
{
    z_stream z = {
        .next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (unsigned)n, .zalloc = z_alloc, .zfree = z_free
    };
    size_t room = 0;
    int code = inflateInit(&z);
    *out = (ip_blob){ NULL, 0 };
    if (code != Z_OK) return fail_memory(r);
    while (code == Z_OK && room < IP_MAX_BLOB_BYTES) {
        room = room ? 2 * room : 4096;
        unsigned char *more = ip_realloc(out->bytes, room);
        code = more ? Z_OK : Z_MEM_ERROR;
        if (!more) break;
        out->bytes = more;
        z.next_out = more + out->n;
        z.avail_out = (unsigned)(room - out->n);
        code = inflate(&z, Z_NO_FLUSH);
        out->n = room - z.avail_out;
    }
    inflateEnd(&z);
    if (code == Z_STREAM_END) return IMGPAR_OK;
    ip_free(out->bytes);
    *out = (ip_blob){ NULL, 0 };
    return code == Z_MEM_ERROR ? fail_memory(r) : IMGPAR_OK;
}

static imgpar_status read_cicp(reader *r, const unsigned char *p, size_t n)
{
    ip_colour *c = &r->contents->colour;
    if (n != 4 || p[2] != 0) return damaged(r, "cICP is none of a picture of red, green and blue, and left out");
    c->has_cicp = true;
    memcpy(c->cicp, p, 4);
    return IMGPAR_OK;
}

static imgpar_status read_iccp(reader *r, const unsigned char *p, size_t n)
{
    const unsigned char *zero = memchr(p, 0, n < KEYWORD_BYTES ? n : KEYWORD_BYTES);
    const size_t start = zero ? (size_t)(zero - p) + 2 : n; /* behind the method */
    ip_blob icc = { NULL, 0 };
    if (r->contents->colour.icc.bytes) return IMGPAR_OK;
    imgpar_status st = start < n && zero[1] == 0 ? inflate_all(r, p + start, n - start, &icc) : IMGPAR_OK;
    return st ? st : ip_source_take_icc(r->s, "PNG", icc, r->contents, r->err);
}

static imgpar_status read_srgb(reader *r, const unsigned char *p, size_t n)
{
    if (n != 1 || p[0] > 3) return damaged(r, "sRGB has no known intent, and is left out");
    r->contents->colour.has_srgb = true;
    r->contents->colour.srgb_intent = p[0];
    return IMGPAR_OK;
}

static imgpar_status read_gama(reader *r, const unsigned char *p, size_t n)
{
    enum { LEAST = 1000, MOST = 10000000 }; /* exponents from 1/100 to 100 */
    const uint32_t gamma = n == 4 ? ip_get32(p) : 0;
    if (gamma < LEAST || gamma > MOST) return damaged(r, "gAMA is no exponent, and left out");
    r->contents->colour.has_gamma = true;
    r->contents->colour.gamma = gamma;
    return IMGPAR_OK;
}

static imgpar_status read_chrm(reader *r, const unsigned char *p, size_t n)
{
    uint32_t xy[8] = { 0 };
    for (size_t k = 0; n == 32 && k < 8; k++)
        xy[k] = ip_get32(p + 4 * k);
    if (!ip_icc_is_possible(xy)) return damaged(r, "cHRM spans no colours, and is left out");
    r->contents->colour.has_primaries = true;
    memcpy(r->contents->colour.primaries, xy, sizeof xy);
    return IMGPAR_OK;
}

static imgpar_status read_phys(reader *r, const unsigned char *p, size_t n)
{
    if (n == 9 && p[8] == 1) r->contents->resolution = (ip_resolution){ ip_get32(p), ip_get32(p + 4) };
    return IMGPAR_OK;
}

/* A block of EXIF that is whole takes the place of one that stood in a text. */
static imgpar_status take_exif_block(reader *r, const unsigned char *p, size_t n, bool is_text)
{
    ip_metadata taken = { 0 };
    imgpar_status st = ip_source_take_exif(r->s, "PNG", p, n, &taken, r->err);
    if (!taken.exif.bytes && r->contents->exif.bytes) return st;
    ip_free(r->contents->exif.bytes);
    r->contents->exif = taken.exif;
    r->is_exif_text = is_text;
    *r->orientation = ip_exif_orientation(p, n);
    return st;
}

static imgpar_status read_exif(reader *r, const unsigned char *p, size_t n)
{
    if (r->contents->exif.bytes && !r->is_exif_text) return IMGPAR_OK;
    return take_exif_block(r, p, n, false);
}

/* keyword, zero, is compressed, method, language, zero, translated keyword, zero, text */
static imgpar_status read_xmp(reader *r, const unsigned char *p, size_t n)
{
    size_t at = sizeof xmp_keyword + 2;
    if (n < at || memcmp(p, xmp_keyword, sizeof xmp_keyword) != 0 || r->contents->xmp.bytes) return IMGPAR_OK;
    for (int k = 0; k < 2; k++) {
        const unsigned char *zero = at < n ? memchr(p + at, 0, n - at) : NULL;
        if (!zero) return damaged(r, "XMP is damaged, and left out");
        at = (size_t)(zero - p) + 1;
    }
    if (!p[sizeof xmp_keyword]) return ip_source_take_xmp(r->s, p + at, n - at, r->contents, r->err);
    ip_blob text;
    imgpar_status st = inflate_all(r, p + at, n - at, &text);
    if (!st)
        st = text.bytes ? ip_source_take_xmp(r->s, text.bytes, text.n, r->contents, r->err)
                        : damaged(r, "XMP is damaged or too large, and left out");
    ip_free(text.bytes);
    return st;
}

static int digit(int c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Turns a new line, a name, a new line, the number of bytes, and their digits, with new lines anywhere, into the bytes,
 * in place. Their number; 0: it is no such text. */
static size_t read_digits(unsigned char *text, size_t n)
{
    size_t at = 0, made = 0, count = 0;
    while (at < n && text[at] == '\n')
        at++;
    while (at < n && text[at] != '\n')
        at++;
    while (at < n && (text[at] == '\n' || text[at] == ' '))
        at++;
    for (; at < n && text[at] >= '0' && text[at] <= '9' && count <= IP_MAX_BLOB_BYTES; at++)
        count = 10 * count + (size_t)(text[at] - '0');
    for (int half = -1; at < n; at++) {
        const int d = digit(text[at]);
        if (d < 0 && text[at] != '\n' && text[at] != ' ') return 0;
        if (d < 0) continue;
        if (half >= 0) text[made++] = (unsigned char)(half << 4 | d);
        half = half >= 0 ? -1 : d;
    }
    return made == count ? count : 0;
}

/* What a JPEG's APP1 would hold: behind "Exif" and two zeros, a TIFF block. Counts where there is no eXIf. */
static imgpar_status take_exif(reader *r, const unsigned char *p, size_t n)
{
    static const unsigned char head[6] = { 'E', 'x', 'i', 'f' };
    const size_t start = n >= sizeof head && memcmp(p, head, sizeof head) == 0 ? sizeof head : 0;
    if (start == 0 && (n < 4 || (memcmp(p, "II*", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))) return IMGPAR_OK;
    return take_exif_block(r, p + start, n - start, true);
}

static imgpar_status take_iptc(reader *r, const unsigned char *p, size_t n)
{
    return ip_source_take_iptc(r->s, "PNG", p, n, r->contents, r->err);
}

/* By what stands behind raw_keyword, with its zero. */
static const struct profile {
    char name[5];
    const char *damage;
    imgpar_status (*take)(reader *r, const unsigned char *p, size_t n);
} profiles[] = {
    { "iptc", "IPTC is damaged or too large, and left out", take_iptc },
    { "exif", "EXIF is damaged or too large, and left out", take_exif },
    { "APP1", "EXIF is damaged or too large, and left out", take_exif },
};

static const struct profile *find_profile(const reader *r, const char *name)
{
    for (size_t k = 0; k < sizeof profiles / sizeof *profiles; k++) {
        const bool is_there = profiles[k].take == take_iptc ? r->contents->iptc.bytes : r->contents->exif.bytes;
        if (memcmp(name, profiles[k].name, sizeof profiles[k].name) == 0 && !is_there) return &profiles[k];
    }
    return NULL;
}

/* Text of a tEXt or, compressed, a zTXt; with its digits taken for bytes. */
static imgpar_status read_profile(reader *r, const unsigned char *p, size_t n, bool is_packed)
{
    const size_t name = sizeof raw_keyword - 1, head = name + sizeof profiles->name + (is_packed ? 1 : 0); /* method */
    const struct profile *profile = n > head ? find_profile(r, (const char *)p + name) : NULL;
    ip_blob text = { NULL, 0 };
    if (!profile) return IMGPAR_OK;
    imgpar_status st = is_packed                                 ? inflate_all(r, p + head, n - head, &text)
                       : ip_blob_copy(&text, p + head, n - head) ? IMGPAR_OK
                                                                 : fail_memory(r);
    if (st) return st;
    const size_t n_bytes = text.bytes ? read_digits(text.bytes, text.n) : 0;
    st = n_bytes ? profile->take(r, text.bytes, n_bytes) : damaged(r, profile->damage);
    ip_free(text.bytes);
    return st;
}

static imgpar_status read_text(reader *r, const unsigned char *p, size_t n) { return read_profile(r, p, n, false); }
static imgpar_status read_packed_text(reader *r, const unsigned char *p, size_t n)
{
    return read_profile(r, p, n, true);
}

static const struct chunk {
    char type[5];
    bool is_colour;      /* counts only before the picture data, as the specification has it */
    const char *keyword; /* which texts begin with; others of that type are not read */
    size_t n_keyword;
    imgpar_status (*read)(reader *r, const unsigned char *p, size_t n);
} chunks[] = {
    { "cICP", true, NULL, 0, read_cicp },
    { "iCCP", true, NULL, 0, read_iccp },
    { "sRGB", true, NULL, 0, read_srgb },
    { "gAMA", true, NULL, 0, read_gama },
    { "cHRM", true, NULL, 0, read_chrm },
    { "pHYs", true, NULL, 0, read_phys },
    { "eXIf", false, NULL, 0, read_exif },
    { "iTXt", false, xmp_keyword, sizeof xmp_keyword, read_xmp },
    { "tEXt", false, raw_keyword, sizeof raw_keyword - 1, read_text },
    { "zTXt", false, raw_keyword, sizeof raw_keyword - 1, read_packed_text },
};

static const struct chunk *find_chunk(const unsigned char *type)
{
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++)
        if (memcmp(type, chunks[k].type, 4) == 0) return &chunks[k];
    return NULL;
}

/* Whether the chunk whose data begin at `at` is one that tells something. */
static imgpar_status has_keyword(const reader *r, const struct chunk *chunk, uint64_t at, bool *has)
{
    char begin[sizeof xmp_keyword > sizeof raw_keyword ? sizeof xmp_keyword : sizeof raw_keyword];
    char name[sizeof profiles->name];
    const size_t n = chunk->n_keyword;
    *has = true;
    imgpar_status st = n ? ip_source_peek(r->s, at, begin, n, has, r->err) : IMGPAR_OK;
    *has = *has && (!n || memcmp(begin, chunk->keyword, n) == 0);
    if (st || !*has || chunk->keyword != raw_keyword) return st;
    st = ip_source_peek(r->s, at + n, name, sizeof name, has, r->err);
    *has = *has && find_profile(r, name);
    return st;
}

/* The chunk whose data begin at `at`, if its sum is right; of one that is wrong libpng tells. */
static imgpar_status read_chunk(reader *r, const struct chunk *chunk, uint64_t at, size_t n)
{
    bool found;
    imgpar_status st = has_keyword(r, chunk, at, &found);
    if (st || !found) return st;
    if (n > IP_MAX_BLOB_BYTES) {
        char text[64] = "????: more than 16 MB, and left out";
        memcpy(text, chunk->type, 4);
        return damaged(r, text);
    }
    unsigned char *bytes = ip_alloc(n + 8); /* type, data, sum */
    if (!bytes) return fail_memory(r);
    st = ip_source_peek(r->s, at - 4, bytes, n + 8, &found, r->err);
    if (!st && found && crc32(0, bytes, (uInt)(n + 4)) == ip_get32(bytes + n + 4)) st = chunk->read(r, bytes + 4, n);
    ip_free(bytes);
    return st;
}

imgpar_status ip_png_read_metadata(const ip_source *s, ip_metadata *contents, int *orientation, ip_error *err)
{
    reader r = { .s = s, .contents = contents, .orientation = orientation, .err = err };
    bool is_behind = false; /* the picture data */
    *orientation = 1;
    for (uint64_t at = 8;;) {
        unsigned char head[8];
        bool found;
        imgpar_status st = ip_source_peek(s, at, head, sizeof head, &found, err);
        if (st || !found) return st;
        const uint32_t n = ip_get32(head);
        if (n > MAX_CHUNK || memcmp(head + 4, "IEND", 4) == 0) return IMGPAR_OK;
        const struct chunk *chunk = find_chunk(head + 4);
        is_behind = is_behind || memcmp(head + 4, "IDAT", 4) == 0;
        if (chunk && !(chunk->is_colour && is_behind)) st = read_chunk(&r, chunk, at + 8, n);
        if (st) return st;
        at += 12 + (uint64_t)n;
    }
}

/* ---- writing ------------------------------------------------------------------------------ */

/* A chunk of n bytes that are already at the end of out, behind 8 bytes that were kept for its head. */
static void finish_chunk(ip_str *out, size_t start, const char *type)
{
    char sum[4];
    if (out->failed) return;
    const size_t n = out->length - start - 8;
    put32(out->text + start, (uint32_t)n);
    memcpy(out->text + start + 4, type, 4);
    put32(sum, (uint32_t)crc32(0, (const unsigned char *)out->text + start + 4, (uInt)(n + 4)));
    ip_str_append_n(out, sum, sizeof sum);
}

static size_t begin_chunk(ip_str *out)
{
    static const char head[8] = { 0 };
    const size_t start = out->length;
    ip_str_append_n(out, head, sizeof head);
    return start;
}

static void append_chunk(ip_str *out, const char *type, const void *bytes, size_t n)
{
    const size_t start = begin_chunk(out);
    ip_str_append_n(out, bytes, n);
    finish_chunk(out, start, type);
}

static void append_numbers(ip_str *out, const char *type, const uint32_t *numbers, size_t n)
{
    char bytes[32];
    for (size_t k = 0; k < n; k++)
        put32(bytes + 4 * k, numbers[k]);
    append_chunk(out, type, bytes, 4 * n);
}

/* A chunk of head and, compressed, n bytes. */
typedef struct packed {
    const char *type, *head;
    size_t n_head;
    const void *bytes;
    size_t n;
} packed;

static imgpar_status append_packed(ip_str *out, const packed *chunk, ip_error *err)
{
    z_stream z = { .zalloc = z_alloc, .zfree = z_free };
    if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK) return ip_fail_memory(err, "encoding png");
    const size_t room = deflateBound(&z, (uLong)chunk->n), start = begin_chunk(out);
    unsigned char *small = ip_alloc(room);
    z.next_in = (unsigned char *)(uintptr_t)chunk->bytes;
    z.avail_in = (unsigned)chunk->n;
    z.next_out = small;
    z.avail_out = (unsigned)room;
    const bool is_packed = small && deflate(&z, Z_FINISH) == Z_STREAM_END;
    ip_str_append_n(out, chunk->head, chunk->n_head);
    if (is_packed) ip_str_append_n(out, (const char *)small, room - z.avail_out);
    finish_chunk(out, start, chunk->type);
    deflateEnd(&z);
    ip_free(small);
    return is_packed ? IMGPAR_OK : ip_fail_memory(err, "encoding png");
}

static imgpar_status append_icc(ip_str *out, const ip_blob *icc, ip_error *err)
{
    static const char head[] = "ICC profile\0"; /* keyword, zero, method, which is the text's own zero */
    return append_packed(out, &(packed){ "iCCP", head, sizeof head, icc->bytes, icc->n }, err);
}

/* The image resource, 36 bytes a line. */
static imgpar_status append_iptc(ip_str *out, const ip_blob *iptc, ip_error *err)
{
    static const char head[] = "Raw profile type iptc\0"; /* keyword, zero, method */
    enum { LINE = 36 };
    ip_str resource = IP_STR_INIT, text = IP_STR_INIT;
    ip_iptc_append_resource(&resource, iptc);
    ip_str_printf(&text, "\niptc\n%8zu", resource.length);
    for (size_t k = 0; k < resource.length; k++) {
        if (k % LINE == 0) ip_str_putc(&text, '\n');
        ip_str_putc(&text, "0123456789abcdef"[resource.text[k] >> 4 & 15]);
        ip_str_putc(&text, "0123456789abcdef"[resource.text[k] & 15]);
    }
    ip_str_putc(&text, '\n');
    imgpar_status st = resource.failed || text.failed
                           ? ip_fail_memory(err, "encoding png")
                           : append_packed(out, &(packed){ "zTXt", head, sizeof head, text.text, text.length }, err);
    ip_str_free(&resource);
    ip_str_free(&text);
    return st;
}

static imgpar_status append_colour(ip_str *out, const ip_colour *c, bool is_gray, ip_error *err)
{
    const bool has_icc = c->icc.bytes && c->is_icc_gray == is_gray;
    imgpar_status st = IMGPAR_OK;
    if (c->has_cicp) append_chunk(out, "cICP", c->cicp, sizeof c->cicp);
    if (has_icc)
        st = append_icc(out, &c->icc, err);
    else if (c->has_srgb)
        append_chunk(out, "sRGB", &c->srgb_intent, 1);
    if (c->has_gamma) append_numbers(out, "gAMA", &c->gamma, 1);
    if (c->has_primaries && !is_gray) append_numbers(out, "cHRM", c->primaries, 8);
    return st;
}

static void append_resolution(ip_str *out, const ip_resolution *r)
{
    char bytes[9] = { [8] = 1 };
    if (!(r->x >= 1 && r->y >= 1 && r->x < MAX_CHUNK && r->y < MAX_CHUNK)) return;
    put32(bytes, (uint32_t)lround(r->x));
    put32(bytes + 4, (uint32_t)lround(r->y));
    append_chunk(out, "pHYs", bytes, sizeof bytes);
}

static void append_xmp(ip_str *out, const ip_metadata *m)
{
    static const char no_words[4] = { 0 }; /* not compressed, method, language, translation */
    const size_t start = begin_chunk(out);
    ip_str_append_n(out, xmp_keyword, sizeof xmp_keyword);
    ip_str_append_n(out, no_words, sizeof no_words);
    ip_xmp_append_merged(out, &m->xmp, &m->xmp_extension);
    finish_chunk(out, start, "iTXt");
}

imgpar_status ip_png_append_metadata(ip_str *out, const ip_picture *picture, bool is_all, ip_error *err)
{
    const ip_metadata *m = picture->source->metadata;
    if (!m) return IMGPAR_OK;
    imgpar_status st = append_colour(out, &m->colour, picture->channels <= 2, err);
    if (st || !is_all) return st;
    append_resolution(out, &m->resolution);
    if (m->exif.bytes) {
        const size_t start = begin_chunk(out);
        ip_str_append_n(out, (const char *)m->exif.bytes, m->exif.n);
        ip_blob exif = { (unsigned char *)out->text + start + 8, m->exif.n };
        if (!out->failed) ip_exif_set_size(&exif, (uint32_t)picture->width, (uint32_t)picture->height);
        finish_chunk(out, start, "eXIf");
    }
    if (m->xmp.bytes) append_xmp(out, m);
    return m->iptc.bytes ? append_iptc(out, &m->iptc, err) : IMGPAR_OK;
}
