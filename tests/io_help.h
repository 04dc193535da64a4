/* SPDX-License-Identifier: MIT */
/* What check_io.c and check_io_damage.c share: encoded images made here, by libpng and libjpeg themselves. */
#ifndef IO_HELP_H
#define IO_HELP_H

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "io/io.h"
#include "asserts.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

#define N(table) (int)(sizeof table / sizeof *table)

/* Encoded bytes; from malloc. */
typedef struct blob {
    unsigned char *bytes;
    size_t n;
} blob;

static inline void blob_add(blob *b, const void *bytes, size_t n)
{
    b->bytes = realloc(b->bytes, b->n + n + 1);
    if (n) memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

static inline void blob_free(blob *b)
{
    free(b->bytes);
    *b = (blob){ NULL, 0 };
}

/* Puts text of n bytes in at a position. */
static inline void blob_insert(blob *b, size_t at, const void *bytes, size_t n)
{
    blob whole = { NULL, 0 };
    blob_add(&whole, b->bytes, at);
    blob_add(&whole, bytes, n);
    blob_add(&whole, b->bytes + at, b->n - at);
    blob_free(b);
    *b = whole;
}

static inline imgpar_status decode_with(const void *bytes, size_t n, ip_fail_on fail_on, ip_str *warnings,
                                        ip_image *image, ip_error *err)
{
    const ip_read_options o = { .fail_on = fail_on, .warnings = warnings };
    *err = (ip_error){ 0 };
    return ip_io_decode(bytes, n, "x", &o, image, err);
}

/* Decodes what must decode. */
static inline ip_image decode(blob b)
{
    ip_image image;
    ip_error err;
    ck_assert_msg(decode_with(b.bytes, b.n, IP_FAIL_ON_ERROR, NULL, &image, &err) == IMGPAR_OK, "%s", err.message);
    return image;
}

static inline void ck_decode_fails(blob b, imgpar_status status, const char *message)
{
    ip_image image;
    ip_error err;
    ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_ERROR, NULL, &image, &err), status);
    if (message) ck_assert_str_eq(err.message, message);
    ck_assert_ptr_null(image.pixels);
}

/* Encodes what must encode. */
static inline blob encode(const ip_pixels *p, ip_format format, const char *settings)
{
    void *bytes;
    size_t n;
    ip_error err = { 0 };
    ck_assert_msg(ip_io_encode(p, format, settings, NULL, &bytes, &n, &err) == IMGPAR_OK, "%s", err.message);
    blob b = { NULL, 0 };
    blob_add(&b, bytes, n);
    ip_free(bytes);
    return b;
}

static inline ip_pixels pixels_3d(imgpar_dtype dtype, int64_t h, int64_t w, int64_t c, const void *pixels)
{
    return (ip_pixels){ .dtype = dtype, .rank = 3, .shape = { h, w, c }, .pixels = pixels };
}

/* n reproducible bytes. */
static inline void *random_bytes(size_t n)
{
    unsigned char *p = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)ip_hash_u64(n, i);
    return p;
}

/* h x w x c bytes that change slowly, so that JPEG keeps them. */
static inline unsigned char *smooth_bytes(size_t h, size_t w, size_t c)
{
    unsigned char *p = malloc(h * w * c);
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++)
            for (size_t ch = 0; ch < c; ch++)
                p[(y * w + x) * c + ch] = (unsigned char)(40 + y + x * (ch + 1) / 3);
    return p;
}

/* ---- PNG ------------------------------------------------------------------------- */

static inline uint32_t crc32_of(const unsigned char *p, size_t n)
{
    uint32_t c = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
    }
    return ~c;
}

static inline void put32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (24 - 8 * i));
}

static inline blob png_chunk(const char *type, const void *data, size_t n)
{
    blob b = { NULL, 0 };
    unsigned char word[4];
    put32(word, (uint32_t)n);
    blob_add(&b, word, 4);
    blob_add(&b, type, 4);
    blob_add(&b, data, n);
    put32(word, crc32_of(b.bytes + 4, n + 4));
    blob_add(&b, word, 4);
    return b;
}

/* Where the first chunk of a type begins. */
static inline size_t png_find(blob b, const char *type)
{
    for (size_t at = 8; at + 12 <= b.n;) {
        if (memcmp(b.bytes + at + 4, type, 4) == 0) return at;
        at += 12 + ((size_t)b.bytes[at] << 24 | (size_t)b.bytes[at + 1] << 16 | (size_t)b.bytes[at + 2] << 8 |
                    b.bytes[at + 3]);
    }
    ck_abort_msg("no such chunk");
    return 0;
}

/* A chunk of a type put in before another. */
static inline void png_add(blob *b, const char *before, const char *type, const void *data, size_t n)
{
    blob chunk = png_chunk(type, data, n);
    blob_insert(b, png_find(*b, before), chunk.bytes, chunk.n);
    blob_free(&chunk);
}

/* A TIFF block with one SHORT, the orientation. */
static inline size_t exif_block(unsigned char dst[26], bool is_big, int orientation)
{
    static const unsigned char big[26] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 9 };
    static const unsigned char little[26] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 9 };
    memcpy(dst, is_big ? big : little, 26);
    dst[is_big ? 19 : 18] = (unsigned char)orientation;
    return 26;
}

/* ---- JPEG ------------------------------------------------------------------------ */

typedef struct jpeg_make {
    J_COLOR_SPACE in, stored;
    int channels, quality;
    bool is_progressive, has_no_adobe;
} jpeg_make;

static inline blob jpeg_of(jpeg_make m, const unsigned char *pixels, size_t h, size_t w)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    c.err = jpeg_std_error(&errors); /* exits on error, which fails the test */
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &n);
    c.image_width = (JDIMENSION)w;
    c.image_height = (JDIMENSION)h;
    c.input_components = m.channels;
    c.in_color_space = m.in;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, m.stored);
    jpeg_set_quality(&c, m.quality, TRUE);
    if (m.is_progressive) jpeg_simple_progression(&c);
    if (m.has_no_adobe) c.write_Adobe_marker = FALSE;
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < h) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + c.next_scanline * w * (size_t)m.channels);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    blob b = { bytes, n };
    return b;
}

static inline void jpeg_add_exif(blob *b, bool is_big, int orientation)
{
    unsigned char segment[36] = { 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0 };
    blob_insert(b, 2, segment, 10 + exif_block(segment + 10, is_big, orientation));
}

/* Where the first marker of a code stands. */
static inline size_t jpeg_find(blob b, int code)
{
    for (size_t at = 2; at + 4 <= b.n; at += 2 + ((size_t)b.bytes[at + 2] << 8 | b.bytes[at + 3]))
        if (b.bytes[at + 1] == code) return at;
    ck_abort_msg("no such marker");
    return 0;
}

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
