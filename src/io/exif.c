/* SPDX-License-Identifier: MIT */
/*
 * EXIF orientation, and nothing else of EXIF: the tag is looked up in the first
 * directory of the TIFF block, and pixels are turned accordingly.
 */
#include "io/codec.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <string.h>

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT 3

static uint32_t get(const unsigned char *p, int n, bool is_big)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[is_big ? i : n - 1 - i];
    return v;
}

int ip_exif_orientation(const unsigned char *bytes, size_t n)
{
    if (n >= 6 && memcmp(bytes, "Exif\0\0", 6) == 0) {
        bytes += 6;
        n -= 6;
    }
    if (n < 8) return 1;
    bool is_big = bytes[0] == 'M';
    if (memcmp(bytes, is_big ? "MM\0*" : "II*\0", 4) != 0) return 1;

    uint32_t directory = get(bytes + 4, 4, is_big);
    if (directory > n - 2) return 1;
    uint32_t n_entries = get(bytes + directory, 2, is_big);
    const unsigned char *entry = bytes + directory + 2;
    for (size_t room = n - directory - 2; n_entries > 0 && room >= 12; n_entries--, room -= 12, entry += 12) {
        if (get(entry, 2, is_big) != TAG_ORIENTATION) continue;
        uint32_t value = get(entry + 8, 2, is_big);
        bool is_valid = get(entry + 2, 2, is_big) == TYPE_SHORT && get(entry + 4, 4, is_big) == 1 &&
                        value >= 1 && value <= 8;
        return is_valid ? (int)value : 1;
    }
    return 1;
}

/* The stored pixel of upright (y, x) is at first + y * per_y + x * per_x, in pixels. */
typedef struct turn { ptrdiff_t first, per_y, per_x; } turn;

/* w and h as stored. */
static turn turn_for(int orientation, ptrdiff_t w, ptrdiff_t h)
{
    const ptrdiff_t right = w - 1, below = (h - 1) * w;
    switch (orientation) {
    case 2: return (turn){ right, w, -1 };             /* mirrored */
    case 3: return (turn){ below + right, -w, -1 };    /* upside down */
    case 4: return (turn){ below, -w, 1 };             /* mirrored upside down */
    case 5: return (turn){ 0, 1, w };                  /* transposed */
    case 6: return (turn){ below, 1, -w };             /* to be turned a quarter clockwise */
    case 7: return (turn){ below + right, -1, -w };    /* transposed along the other diagonal */
    case 8: return (turn){ right, -1, w };             /* a quarter counter-clockwise */
    default: return (turn){ 0, w, 1 };
    }
}

/* Inlined with a constant size, the memcpy is a move. */
static inline __attribute__((always_inline)) void copy_block(unsigned char *dst, const unsigned char *src, turn t,
                                                             size_t y0, size_t y1, size_t x0, size_t x1,
                                                             size_t width, size_t size)
{
    for (size_t y = y0; y < y1; y++)
        for (size_t x = x0; x < x1; x++)
            memcpy(dst + (y * width + x) * size,
                   src + (t.first + (ptrdiff_t)y * t.per_y + (ptrdiff_t)x * t.per_x) * (ptrdiff_t)size, size);
}

static void turn_block(unsigned char *dst, const unsigned char *src, turn t, size_t y0, size_t y1, size_t x0,
                       size_t x1, size_t width, size_t size)
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
    const turn t = turn_for(h->orientation, (ptrdiff_t)(is_turned ? height : width),
                            (ptrdiff_t)(is_turned ? width : height));
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
