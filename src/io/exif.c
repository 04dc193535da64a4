/* SPDX-License-Identifier: MIT */
/*
 * EXIF blocks. Reading: the orientation, by which pixels are turned, and the resolution.
 * Passing on: ip_exif_clean() copies what the directories of the main picture refer to,
 * each at its old offset, since makers' notes count on theirs, and nothing else. So
 * thumbnails go, which would show what an operation has hidden, and whatever lies between.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif

#include "io/exif.h"
#include "io/tiff.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

enum {
    TAG_WIDTH = 0x0100,
    TAG_HEIGHT = 0x0101,
    TAG_STRIPS = 0x0111,
    TAG_ORIENTATION = 0x0112,
    TAG_STRIP_BYTES = 0x0117,
    TAG_X_RESOLUTION = 0x011a,
    TAG_Y_RESOLUTION = 0x011b,
    TAG_UNIT = 0x0128,
    TAG_TILES = 0x0144,
    TAG_TILE_BYTES = 0x0145,
    TAG_SUB = 0x014a,
    TAG_JPEG = 0x0201,
    TAG_JPEG_BYTES = 0x0202,
    TAG_EXIF = 0x8769,
    TAG_GPS = 0x8825,
    TAG_COLOUR_SPACE = 0xa001,
    TAG_PIXEL_WIDTH = 0xa002,
    TAG_PIXEL_HEIGHT = 0xa003,
    TAG_INTEROPERABILITY = 0xa005,
    TAG_INTEROPERABILITY_INDEX = 1
};
/* ---- reading ------------------------------------------------------------------------------ */

int ip_exif_orientation(const unsigned char *bytes, size_t n)
{
    ip_tiff t;
    uint32_t value;
    bool is_valid = ip_tiff_of(bytes, n, &t) && ip_tiff_integer(&t, ip_tiff_first(&t), TAG_ORIENTATION, &value) &&
                    value >= 1 && value <= 8;
    return is_valid ? (int)value : 1;
}

static double find_rational(const ip_tiff *t, uint32_t tag)
{
    ip_tiff_entry e;
    if (!ip_tiff_find(t, ip_tiff_first(t), tag, &e) || e.type != IP_TIFF_RATIONAL || e.count != 1) return 0;
    const uint32_t below = ip_tiff_get(t->bytes + e.values + 4, 4, t->is_big);
    return below ? (double)ip_tiff_get(t->bytes + e.values, 4, t->is_big) / below : 0;
}

ip_resolution ip_exif_resolution(const ip_blob *exif)
{
    ip_tiff t;
    uint32_t unit = 2;
    if (!ip_tiff_of(exif->bytes, exif->n, &t)) return (ip_resolution){ 0, 0 };
    ip_tiff_integer(&t, ip_tiff_first(&t), TAG_UNIT, &unit);
    const double a_metre = unit == 2 ? 1 / 0.0254 : unit == 3 ? 100 : 0; /* inches, centimetres */
    return (ip_resolution){ find_rational(&t, TAG_X_RESOLUTION) * a_metre,
                            find_rational(&t, TAG_Y_RESOLUTION) * a_metre };
}

/* DCF: cameras tell Adobe RGB by a colour space that is "uncalibrated" and the interoperability index R03. */
bool ip_exif_is_adobe_rgb(const ip_blob *exif)
{
    enum { UNCALIBRATED = 0xffff };
    ip_tiff t;
    ip_tiff_entry index;
    uint32_t details, space, interoperability;
    return ip_tiff_of(exif->bytes, exif->n, &t) && ip_tiff_integer(&t, ip_tiff_first(&t), TAG_EXIF, &details) &&
           ip_tiff_integer(&t, details, TAG_COLOUR_SPACE, &space) && space == UNCALIBRATED &&
           ip_tiff_integer(&t, details, TAG_INTEROPERABILITY, &interoperability) &&
           ip_tiff_find(&t, interoperability, TAG_INTEROPERABILITY_INDEX, &index) && index.n_values >= 3 &&
           memcmp(t.bytes + index.values, "R03", 3) == 0;
}

/* ---- passing on --------------------------------------------------------------------------- */

/* A copy that is being made of a block: what is not copied into it stays 0. */
typedef struct cleaning {
    ip_tiff from;
    unsigned char *to;
    size_t n_used; /* behind the last byte that was copied */
    size_t n_seen; /* bytes of values; more than the block has a few times over is an attack */
} cleaning;

static void copy(cleaning *c, size_t at, size_t n)
{
    memcpy(c->to + at, c->from.bytes + at, n);
    if (at + n > c->n_used) c->n_used = at + n;
}

/* Other pictures than this one: what points at them, and what holds a JPEG, as some makers' notes do. */
static bool is_picture(const cleaning *c, const ip_tiff_entry *e)
{
    static const uint32_t tags[] = { TAG_STRIPS, TAG_STRIP_BYTES, TAG_TILES,     TAG_TILE_BYTES,
                                     TAG_SUB,    TAG_JPEG,        TAG_JPEG_BYTES };
    for (size_t k = 0; k < sizeof tags / sizeof *tags; k++)
        if (e->tag == tags[k]) return true;
    return e->n_values > 4 && memmem(c->from.bytes + e->values, e->n_values, "\xff\xd8\xff", 3);
}

/* Copies a directory with the entries that are good, one behind the other, and no next directory. */
static bool copy_directory(cleaning *c, size_t at)
{
    const size_t n = ip_tiff_count(&c->from, at);
    size_t n_kept = 0;
    for (size_t k = 0; k < n; k++) {
        ip_tiff_entry e;
        if (!ip_tiff_entry_at(&c->from, at, k, &e)) continue;
        c->n_seen += e.n_values;
        if (c->n_seen > 4 * c->from.n) return false;
        if (is_picture(c, &e)) continue;
        memcpy(c->to + at + 2 + n_kept++ * IP_TIFF_ENTRY_BYTES, c->from.bytes + e.at, IP_TIFF_ENTRY_BYTES);
        if (e.n_values > 4) copy(c, e.values, e.n_values);
    }
    if (n == 0) return true;
    ip_tiff_put(c->to + at, 2, c->from.is_big, (uint32_t)n_kept);
    size_t end = at + 2 + n * IP_TIFF_ENTRY_BYTES;
    end = c->from.n - end < 4 ? c->from.n : end + 4;
    if (end > c->n_used) c->n_used = end;
    return true;
}

/* Sets the one SHORT or LONG of a tag wherever the directory has it; what needs more bits becomes a LONG. */
static void set_integer(ip_blob *exif, size_t directory, uint32_t tag, uint32_t value)
{
    const ip_tiff t = { exif->bytes, exif->n, exif->bytes[0] == 'M' };
    const size_t n = ip_tiff_count(&t, directory);
    for (size_t k = 0; k < n; k++) {
        ip_tiff_entry e;
        if (!ip_tiff_entry_at(&t, directory, k, &e) || e.tag != tag || e.count != 1 ||
            (e.type != IP_TIFF_SHORT && e.type != IP_TIFF_LONG))
            continue;
        if (value > 0xffff) e.type = IP_TIFF_LONG;
        ip_tiff_put(exif->bytes + e.at + 2, 2, t.is_big, e.type);
        ip_tiff_put(exif->bytes + e.values, e.type == IP_TIFF_SHORT ? 2 : 4, t.is_big, value);
    }
}

imgpar_status ip_exif_clean(const unsigned char *bytes, size_t n, ip_blob *exif, ip_error *err)
{
    static const uint32_t below_first[] = { TAG_EXIF, TAG_GPS };
    cleaning c = { .n_used = IP_TIFF_HEAD_BYTES };
    uint32_t at;
    *exif = (ip_blob){ NULL, 0 };
    if (!ip_tiff_of(bytes, n, &c.from)) return ip_fail(err, IMGPAR_E_CORRUPT, "no TIFF block");
    c.to = ip_zalloc(c.from.n);
    if (!c.to) return ip_fail_memory(err, "reading EXIF");
    memcpy(c.to, c.from.bytes, IP_TIFF_HEAD_BYTES);
    const size_t first = ip_tiff_first(&c.from);
    bool is_good = ip_tiff_count(&c.from, first) > 0 && copy_directory(&c, first);
    for (int k = 0; k < 2 && is_good; k++)
        if (ip_tiff_integer(&c.from, first, below_first[k], &at)) is_good = copy_directory(&c, at);
    if (is_good && ip_tiff_integer(&c.from, first, TAG_EXIF, &at) &&
        ip_tiff_integer(&c.from, at, TAG_INTEROPERABILITY, &at))
        is_good = copy_directory(&c, at);
    if (!is_good) {
        ip_free(c.to);
        return ip_fail(err, IMGPAR_E_CORRUPT, "its directories are damaged");
    }
    *exif = (ip_blob){ c.to, c.n_used };
    set_integer(exif, first, TAG_ORIENTATION, 1);
    return IMGPAR_OK;
}

void ip_exif_set_size(ip_blob *exif, uint32_t width, uint32_t height)
{
    const ip_tiff t = { exif->bytes, exif->n, exif->bytes[0] == 'M' };
    const size_t first = ip_tiff_first(&t);
    uint32_t details;
    set_integer(exif, first, TAG_WIDTH, width);
    set_integer(exif, first, TAG_HEIGHT, height);
    if (!ip_tiff_integer(&t, first, TAG_EXIF, &details)) return;
    set_integer(exif, details, TAG_PIXEL_WIDTH, width);
    set_integer(exif, details, TAG_PIXEL_HEIGHT, height);
}

/* ---- turning ------------------------------------------------------------------------------- */

/* The stored pixel of upright (y, x) is at first + y * per_y + x * per_x, in pixels. */
typedef struct turn {
    ptrdiff_t first, per_y, per_x;
} turn;

/* w and h as stored. */
static turn turn_for(int orientation, ptrdiff_t w, ptrdiff_t h)
{
    const ptrdiff_t right = w - 1, below = (h - 1) * w;
    switch (orientation) {
    case 2: return (turn){ right, w, -1 };          /* mirrored */
    case 3: return (turn){ below + right, -w, -1 }; /* upside down */
    case 4: return (turn){ below, -w, 1 };          /* mirrored upside down */
    case 5: return (turn){ 0, 1, w };               /* transposed */
    case 6: return (turn){ below, 1, -w };          /* to be turned a quarter clockwise */
    case 7: return (turn){ below + right, -1, -w }; /* transposed along the other diagonal */
    case 8: return (turn){ right, -1, w };          /* a quarter counter-clockwise */
    default: return (turn){ 0, w, 1 };
    }
}

/* Inlined with a constant size, the memcpy is a move. */
static inline __attribute__((always_inline)) void copy_block(unsigned char *dst, const unsigned char *src, turn t,
                                                             size_t y0, size_t y1, size_t x0, size_t x1, size_t width,
                                                             size_t size)
{
    for (size_t y = y0; y < y1; y++)
        for (size_t x = x0; x < x1; x++)
            memcpy(dst + (y * width + x) * size,
                   src + (t.first + (ptrdiff_t)y * t.per_y + (ptrdiff_t)x * t.per_x) * (ptrdiff_t)size, size);
}

static void turn_block(unsigned char *dst, const unsigned char *src, turn t, size_t y0, size_t y1, size_t x0, size_t x1,
                       size_t width, size_t size)
{
    switch (size) {
    case 1: copy_block(dst, src, t, y0, y1, x0, x1, width, 1); break;
    case 3: copy_block(dst, src, t, y0, y1, x0, x1, width, 3); break;
    case 4: copy_block(dst, src, t, y0, y1, x0, x1, width, 4); break;
    default: copy_block(dst, src, t, y0, y1, x0, x1, width, size); break;
    }
}

imgpar_status ip_exif_turn(const ip_source *s, ip_image *image, ip_error *err)
{
    enum { BLOCK = 32 }; /* both sides of a transposed block stay in the cache */
    const ip_header *h = &image->header;
    if (h->orientation <= 1) return IMGPAR_OK;

    const size_t height = (size_t)h->shape[0], width = (size_t)h->shape[1];
    const size_t size = imgpar_dtype_size(h->dtype) * (size_t)h->shape[2];
    const bool is_turned = h->orientation >= 5;
    const turn t =
        turn_for(h->orientation, (ptrdiff_t)(is_turned ? height : width), (ptrdiff_t)(is_turned ? width : height));
    unsigned char *upright = ip_alloc(image->size_bytes);
    if (!upright) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory for turning it", s->name);

    imgpar_status st = IMGPAR_OK;
    for (size_t y = 0; y < height && !st; y += BLOCK) {
        size_t y1 = height - y < BLOCK ? height : y + BLOCK;
        for (size_t x = 0; x < width; x += BLOCK)
            turn_block(upright, image->pixels, t, y, y1, x, width - x < BLOCK ? width : x + BLOCK, width, size);
        st = ip_source_poll(s, 1.0, err);
    }
    if (st) {
        ip_free(upright);
        return st;
    }
    ip_free(image->pixels);
    image->pixels = upright;
    return IMGPAR_OK;
}
