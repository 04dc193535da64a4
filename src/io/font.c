/* SPDX-License-Identifier: MIT */
/*
 * Fonts: TrueType and OpenType, one or a collection of them. Read only, as their bytes, an array [n] of u8, which
 * font_mask() takes: what they mean is looked up when letters are asked for (freetype.h).
 */
#include "io/codec.h"

#include <string.h>

enum { HEAD = 12 };

/* A word that tells the format, then how many tables follow, of which no font has many. */
bool ip_font_sniff(const unsigned char *bytes, size_t n)
{
    static const char words[][5] = { { "\0\1\0\0" }, { "OTTO" }, { "true" } };
    if (n < HEAD) return false;
    if (memcmp(bytes, "ttcf", 4) == 0) return bytes[4] == 0 && (bytes[5] == 1 || bytes[5] == 2);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (memcmp(bytes, words[k], 4) == 0) return bytes[4] == 0 && bytes[5] > 0;
    return false;
}

imgpar_status ip_font_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err)
{
    if (s->total > s->max_pixels || s->total > INT32_MAX)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: font: %llu bytes are more than %llu " IP_MAX_PIXELS_HINT, s->name,
                       (unsigned long long)s->total, (unsigned long long)s->max_pixels);
    *header = (ip_header){ .format = IP_FORMAT_FONT,
                           .dtype = IMGPAR_U8,
                           .space = IMGPAR_SPACE_DATA,
                           .orientation = 1,
                           .rank = 1,
                           .shape = { (int64_t)s->total },
                           .tells_white = true }; /* none */
    if (!image) return IMGPAR_OK;
    image->header = *header;
    imgpar_status st = ip_image_alloc(s, image, err);
    if (!st) memcpy(image->pixels, s->bytes, s->n);
    return st;
}
