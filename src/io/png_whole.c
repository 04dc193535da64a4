/* SPDX-License-Identifier: MIT */
/*
 * Most PNGs are plain and whole, and inflating is most of what reading them takes: libdeflate does it at 3 to 4 times
 * zlib's rate, if it is given all of the stream and room for all that comes out. Nothing is trusted that libpng would
 * not be asked for: a checksum that is wrong, a chunk that has no place here, a byte too few or too many, and libpng
 * reads the picture from the start.
 */
#include "io/png_whole.h"

#include "io/png_filter.h"

#include "base/alloc.h"
#include "base/integers.h"

#include <libdeflate.h>
#include <stdint.h>
#include <string.h>

enum { SIGNATURE_BYTES = 8, CHUNK_BYTES = 12 /* of one without data */, IHDR_BYTES = 13 };

/* The file's structure. */
typedef struct whole {
    const ip_source *s;
    ip_image *image;
    size_t sample_bytes, pixel_bytes, row_bytes, height;
    const unsigned char *first; /* the only IDAT, or the first of several */
    size_t n_chunks, n_code;    /* of IDAT, and their bytes */
    unsigned char *joined;      /* the code of several */
    unsigned char *rows;        /* filtered, then as pixels */
    bool has_no_memory;
} whole;

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

/* The chunk at p, of which `left` bytes follow, has all its bytes and the right sum. */
static bool is_sound(const unsigned char *p, size_t left)
{
    if (left < CHUNK_BYTES) return false;
    const size_t n = ip_get32(p);
    return n <= left - CHUNK_BYTES && libdeflate_crc32(0, p + 4, n + 4) == ip_get32(p + 8 + n);
}

static bool is_named(const unsigned char *p, const char *name) { return memcmp(p + 4, name, 4) == 0; }
static bool is_critical(const unsigned char *p) { return !(p[4] & 0x20); }

/* Of IHDR's 13 bytes: width, height, depth, colour type, compression, filter, interlace. False: it is not plain. */
static bool read_size(whole *w, const unsigned char *ihdr)
{
    static const unsigned char channels[7] = { 1, 0, 3, 0, 2, 0, 4 };
    const int depth = ihdr[8], type = ihdr[9];
    if ((depth != 8 && depth != 16) || type > 6 || channels[type] == 0 || ihdr[10] || ihdr[11] || ihdr[12])
        return false;
    w->sample_bytes = (size_t)depth / 8;
    w->pixel_bytes = channels[type] * w->sample_bytes;
    w->row_bytes = ip_get32(ihdr) * w->pixel_bytes;
    w->height = ip_get32(ihdr + 4);
    return w->row_bytes * w->height == w->image->size_bytes;
}

/* Walks to IEND. Pixels are in chunks that follow each other. */
static bool find_code(whole *w)
{
    const unsigned char *p = w->s->bytes + SIGNATURE_BYTES, *end = w->s->bytes + w->s->n;
    bool was_code = false;
    if (!is_sound(p, (size_t)(end - p)) || !is_named(p, "IHDR") || ip_get32(p) != IHDR_BYTES || !read_size(w, p + 8))
        return false;
    for (p += CHUNK_BYTES + IHDR_BYTES; is_sound(p, (size_t)(end - p)); p += CHUNK_BYTES + ip_get32(p)) {
        const bool is_code = is_named(p, "IDAT");
        if (is_named(p, "IEND")) return ip_get32(p) == 0 && w->n_chunks > 0;
        if (is_named(p, "tRNS") || (is_critical(p) && !is_code) || (is_code && w->n_chunks > 0 && !was_code))
            return false;
        was_code = is_code;
        if (!is_code) continue;
        if (w->n_chunks++ == 0) w->first = p;
        w->n_code += ip_get32(p);
    }
    return false;
}

/* The code in one piece; NULL: no memory. */
static const unsigned char *code_of(whole *w)
{
    if (w->n_chunks == 1) return w->first + 8;
    unsigned char *to = w->joined = ip_alloc(w->n_code);
    const unsigned char *p = w->first;
    for (size_t k = 0; to && k < w->n_chunks; k++, p += CHUNK_BYTES + ip_get32(p)) {
        memcpy(to, p + 8, ip_get32(p));
        to += ip_get32(p);
    }
    return w->joined;
}

static bool inflate_all(whole *w)
{
    const size_t n = w->height * (w->row_bytes + 1);
    size_t n_in = 0, n_out = 0;
    const unsigned char *code = code_of(w);
    w->rows = ip_alloc(n);
    struct libdeflate_decompressor *d =
        code && w->rows && !ip_fault(IP_FAULT_ALLOC) ? libdeflate_alloc_decompressor() : NULL;
    w->has_no_memory = d == NULL;
    const bool is_right =
        d && libdeflate_zlib_decompress_ex(d, code, w->n_code, w->rows, n, &n_in, &n_out) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    return is_right && n_in == w->n_code && n_out == n;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* Samples of 16 bits come with the high byte first. */
static void make_native(const whole *w, unsigned char *row)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (size_t k = 0; w->sample_bytes == 2 && k < w->row_bytes; k += 2) {
        const unsigned char high = row[k];
        row[k] = row[k + 1];
        row[k + 1] = high;
    }
#else
    (void)w;
    (void)row;
#endif
}

/* In place: a row moves to where its pixels belong, and stays as it was stored until the next one has seen it. False: a
 * row names no filter. */
static bool make_rows(whole *w, imgpar_status *status, ip_error *err)
{
    unsigned char *zeros = ip_zalloc(w->row_bytes), *above = zeros;
    bool is_right = zeros != NULL;
    w->has_no_memory = zeros == NULL;
    for (size_t y = 0; y < w->height && is_right && !*status; y++) {
        unsigned char *row = w->rows + y * (w->row_bytes + 1) + 1, *to = w->rows + y * w->row_bytes;
        is_right = row[-1] < IP_PNG_N_FILTERS;
        if (!is_right) break;
        ip_png_unfilter(row[-1], row, above, w->row_bytes, w->pixel_bytes);
        memmove(to, row, w->row_bytes);
        if (y > 0) make_native(w, above);
        above = to;
        *status = ip_source_poll(w->s, (double)y / (double)w->height, err);
    }
    if (is_right && w->height > 0) make_native(w, above);
    ip_free(zeros);
    return is_right;
}

bool ip_png_read_whole(const ip_source *s, ip_image *image, imgpar_status *status, ip_error *err)
{
    whole w = { .s = s, .image = image };
    *status = IMGPAR_OK;
    if (image->size_bytes > IP_PNG_WHOLE_BYTES || s->total > s->n) return false;
    const bool is_read = find_code(&w) && inflate_all(&w) && make_rows(&w, status, err);
    ip_free(w.joined);
    if (is_read) { /* the image's own memory has not been touched */
        unsigned char *untouched = image->pixels;
        image->pixels = w.rows;
        w.rows = untouched;
    }
    ip_free(w.rows);
    if (w.has_no_memory)
        *status = ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    return is_read || w.has_no_memory;
}
