/* SPDX-License-Identifier: MIT */
/* src/io on bad data and bad luck: truncation, flipped bytes, bombs, limits, each call failing in turn. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "io_help.h"
#include "io/codec.h"
#include "io/exif.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- a small image of each kind --------------------------------------------------------- */

enum {
    PNG_RGB,
    PNG_PALETTE,
    PNG_INTERLACED,
    JPEG_BASELINE,
    JPEG_PROGRESSIVE,
    JPEG_INKS,
    NPY_FLAT,
    NPY_FORTRAN,
    PNM_BINARY,
    PNM_TEXT,
    PAM,
    N_SAMPLES
};

static void on_write(png_structp png, png_bytep bytes, size_t n) { blob_add(png_get_io_ptr(png), bytes, n); }

static blob png_made(int type, int depth, int interlace)
{
    blob b = { NULL, 0 };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_color palette[16];
    png_byte alpha[3] = { 0, 100, 200 }, row[400];
    png_set_write_fn(png, &b, on_write, NULL);
    png_set_IHDR(png, info, 11, 9, depth, type, interlace, 0, 0);
    for (int i = 0; i < 16; i++)
        palette[i] = (png_color){ (png_byte)(i * 3), (png_byte)(i * 7), (png_byte)(i * 15) };
    if (type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, 16);
        png_set_tRNS(png, info, alpha, 3, NULL);
    }
    png_write_info(png, info);
    const int n_passes = png_set_interlace_handling(png);
    for (int i = 0; i < n_passes * 9; i++) {
        for (int k = 0; k < 400; k++)
            row[k] = (png_byte)(i % 9 * 17 + k * k);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return b;
}

static blob sample(int kind)
{
    unsigned char *bytes = smooth_bytes(24, 17, 4);
    ip_pixels p = pixels_3d(IMGPAR_U8, 24, 17, 3, bytes);
    blob b = { NULL, 0 };
    switch (kind) {
    case PNG_RGB: {
        unsigned char exif[26];
        b = encode(&p, IP_FORMAT_PNG, NULL);
        png_add(&b, "IDAT", "eXIf", exif, exif_block(exif, true, 6));
        png_add(&b, "IDAT", "tEXt", "Comment\0text", 12);
        break;
    }
    case PNG_PALETTE: b = png_made(PNG_COLOR_TYPE_PALETTE, 4, PNG_INTERLACE_NONE); break;
    case PNG_INTERLACED: b = png_made(PNG_COLOR_TYPE_RGB_ALPHA, 16, PNG_INTERLACE_ADAM7); break;
    case JPEG_BASELINE:
        b = jpeg_of((jpeg_make){ JCS_RGB, JCS_YCbCr, 3, 85, false, false }, bytes, 24, 17);
        jpeg_add_exif(&b, false, 8);
        break;
    case JPEG_PROGRESSIVE: b = jpeg_of((jpeg_make){ JCS_RGB, JCS_YCbCr, 3, 85, true, false }, bytes, 24, 17); break;
    case JPEG_INKS: b = jpeg_of((jpeg_make){ JCS_CMYK, JCS_YCCK, 4, 85, false, false }, bytes, 24, 17); break;
    case NPY_FLAT: b = encode(&p, IP_FORMAT_NPY, NULL); break;
    case NPY_FORTRAN: {
        static const char header[] = "{'descr': '>i4', 'fortran_order': True, 'shape': (3, 4, 5)}";
        const unsigned char start[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, sizeof header - 1, 0 };
        blob_add(&b, start, 10);
        blob_add(&b, header, sizeof header - 1);
        blob_add(&b, bytes, 240);
        break;
    }
    case PNM_BINARY: b = encode(&p, IP_FORMAT_PNM, NULL); break;
    case PNM_TEXT: blob_add(&b, "P3 # c\n3 2 100\n1 2 3 4 5 6 7 8 9\n10 11 12 13 14 15 16 17 100", 61); break;
    case PAM:
        p.shape[2] = 4;
        b = encode(&p, IP_FORMAT_PNM, "bits=16");
        break;
    default: ck_abort();
    }
    free(bytes);
    return b;
}

/* Decodes at every fail_on. Whatever comes: an image of its header's size, or one line and no pixels. A stricter
 * rule never accepts what a laxer one refuses. */
static imgpar_status decode_at_all(const unsigned char *bytes, size_t n)
{
    imgpar_status st[4];
    unsigned char *copy = malloc(n ? n : 1); /* exactly as long, so that the sanitizer sees a read past the end */
    memcpy(copy, bytes, n);
    for (int f = IP_FAIL_ON_NONE; f <= IP_FAIL_ON_WARNING; f++) {
        ip_str warnings = IP_STR_INIT;
        ip_image image;
        ip_error err;
        st[f] = decode_with(copy, n, (ip_fail_on)f, &warnings, &image, &err);
        if (st[f]) {
            ck_assert_ptr_null(image.pixels);
            ck_assert_msg(strncmp(err.message, "x: ", 3) == 0 && !strchr(err.message, '\n'), "%s", err.message);
            ck_assert_int_ne(st[f], IMGPAR_E_INTERNAL);
        } else {
            size_t size = imgpar_dtype_size(image.header.dtype);
            for (int i = 0; i < image.header.rank; i++)
                size *= (size_t)image.header.shape[i];
            ck_assert_uint_eq(size, image.size_bytes);
            ck_assert(f < IP_FAIL_ON_WARNING || warnings.length == 0);
        }
        if (f > 0 && st[f - 1]) ck_assert_int_ne(st[f], IMGPAR_OK);
        ip_image_release(&image);
        ip_str_free(&warnings);
    }
    free(copy);
    return st[IP_FAIL_ON_ERROR];
}

START_TEST(samples_are_good)
{
    blob b = sample(_i);
    ck_assert_int_eq(decode_at_all(b.bytes, b.n), IMGPAR_OK);
    blob_free(&b);
}
END_TEST

START_TEST(every_truncation_is_an_error)
{
    blob b = sample(_i);
    const size_t last = _i == PNM_TEXT ? b.n - 3 : b.n; /* of "100" a 1 or 10 is left */
    for (size_t n = 0; n < last; n++)
        ck_assert_msg(decode_at_all(b.bytes, n) == IMGPAR_E_CORRUPT, "%zu of %zu bytes", n, b.n);
    blob_free(&b);
}
END_TEST

/* Is byte at of a PNG, behind its length, one of a chunk that holds nothing of the picture? */
static bool is_beside_the_pixels(blob b, size_t at)
{
    for (size_t chunk = 8; chunk + 12 <= b.n;) {
        const unsigned char *p = b.bytes + chunk;
        const size_t n = (size_t)p[2] << 8 | p[3];
        if (at < chunk + 12 + n)
            return at >= chunk + 4 && (p[4] & 0x20) && memcmp(p + 4, "tRNS", 4) != 0 && memcmp(p + 4, "imGP", 4) != 0;
        chunk += 12 + n;
    }
    return false;
}

START_TEST(flipped_bytes_do_no_harm)
{
    static const unsigned char flips[] = { 0x01, 0x80, 0xff, 0x10, 0x55 };
    blob b = sample(_i);
    for (size_t at = 0; at < b.n; at++) {
        /* Every byte of a PNG is checked by a CRC; what is wrong beside the pixels is left out. */
        const bool must_fail = _i <= PNG_INTERLACED && !is_beside_the_pixels(b, at);
        for (int k = 0; k < N(flips); k++) {
            b.bytes[at] ^= flips[k];
            imgpar_status st = decode_at_all(b.bytes, b.n);
            if (must_fail) ck_assert_int_ne(st, IMGPAR_OK);
            b.bytes[at] ^= flips[k];
        }
    }
    blob_free(&b);
}
END_TEST

START_TEST(random_damage_does_no_harm)
{
    blob b = sample(_i), c = { NULL, 0 };
    uint64_t r = (uint64_t)_i;
    for (int round = 0; round < 300; round++) {
        blob_add(&c, b.bytes, b.n);
        for (int k = 0; k < 1 + round % 8; k++) {
            r = ip_hash_u64(r, 1);
            c.bytes[r % c.n] = (unsigned char)(r >> 40);
        }
        decode_at_all(c.bytes, c.n);
        blob_free(&c);
    }
    blob_free(&b);
}
END_TEST

/* ---- fail_on ------------------------------------------------------------------------------- */

/* The strictest fail_on that still reads, or -1; the line it gives. */
static int tolerated(blob b, ip_str *warnings, ip_image *image)
{
    ip_error err;
    for (int f = IP_FAIL_ON_WARNING; f >= 0; f--) {
        ip_str_clear(warnings);
        if (!decode_with(b.bytes, b.n, (ip_fail_on)f, warnings, image, &err)) return f;
    }
    return -1;
}

static void ck_tolerated(blob *b, int fail_on, const char *line)
{
    ip_str warnings = IP_STR_INIT;
    ip_image image;
    ck_assert_int_eq(tolerated(*b, &warnings, &image), fail_on);
    if (line) ck_assert_str_eq(ip_str_text(&warnings), line);
    ip_image_release(&image);
    ip_str_free(&warnings);
    blob_free(b);
}

START_TEST(each_rule_is_stricter_than_the_one_before)
{
    blob b = sample(PNG_RGB);
    b.n = png_find(b, "IDAT") + 40;
    ck_tolerated(&b, IP_FAIL_ON_NONE, "x: PNG: the data ends early\n");

    b = sample(PNG_RGB);
    b.bytes[png_find(b, "IEND") - 1] ^= 1; /* IDAT's CRC */
    ck_tolerated(&b, IP_FAIL_ON_TRUNCATED, "x: PNG: IDAT: CRC error\n");

    b = sample(JPEG_BASELINE);
    b.n -= 20;
    ck_tolerated(&b, IP_FAIL_ON_NONE, "x: JPEG: the data ends early\n");

    b = sample(JPEG_BASELINE);
    for (int i = 0; i < 10; i++)
        blob_insert(&b, b.n - 2, "abcdefgh", 8);
    ck_tolerated(&b, IP_FAIL_ON_TRUNCATED, NULL);

    b = sample(NPY_FLAT);
    b.n -= 7;
    ck_tolerated(&b, IP_FAIL_ON_NONE, "x: NPY: the data ends after 1217 of 1224 bytes\n");

    b = sample(NPY_FLAT);
    blob_add(&b, "ab", 2);
    ck_tolerated(&b, IP_FAIL_ON_ERROR, "x: NPY: 2 bytes follow the data\n");

    b = sample(PNM_BINARY);
    b.n -= 7;
    ck_tolerated(&b, IP_FAIL_ON_NONE, "x: PNM: the data ends early\n");

    b = (blob){ NULL, 0 };
    blob_add(&b, "P2 2 1 9 5 10", 13);
    ck_tolerated(&b, IP_FAIL_ON_TRUNCATED, "x: PNM: a sample is above the maximum\n");

    b = sample(PNG_PALETTE);
    ck_tolerated(&b, IP_FAIL_ON_WARNING, "");
}
END_TEST

START_TEST(what_was_not_decoded_is_zero)
{
    static const int kinds[] = { NPY_FLAT, PNM_BINARY };
    for (int k = 0; k < N(kinds); k++) {
        blob b = sample(kinds[k]);
        b.n -= 24 * 17;
        ip_image image;
        ip_error err;
        ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_NONE, NULL, &image, &err), IMGPAR_OK);
        for (size_t i = 0; i < image.size_bytes; i++)
            ck_assert(!((unsigned char *)image.pixels)[i] == (i >= 24 * 17 * 2));
        ip_image_release(&image);
        blob_free(&b);
    }
}
END_TEST

/* ---- bombs and limits ------------------------------------------------------------------------ */

static const struct {
    const char *type;
    const char *data;
    size_t n;
} bombs[] = {
    { "iTXt", "a\0\1\0\0\0x\x9c\x63\x60\x60", 11 },
    { "zTXt", "a\0\0x\x9c\x63\x60\x60", 8 },
    { "iCCP", "a\0\0x\x9c\x63\x60", 7 },
    { "tEXt", "", 0 },
    { "sRGB", "\7", 1 },
    { "gAMA", "", 0 },
    { "sPLT", "a", 1 },
    { "pCAL", "a", 1 },
    { "hIST", "a", 1 },
    { "vpAg", "abc", 3 },
};

START_TEST(ancillary_chunks_cost_nothing)
{
    static const unsigned char ihdr[13] = { 0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0 };
    /* The classic: a signature, a header, a chunk of text that claims two gigabytes, and no more. */
    blob bomb = { NULL, 0 }, head = png_chunk("IHDR", ihdr, 13), text = png_chunk("iTXt", "a\0\1\0\0\0x\x9c", 8);
    put32(text.bytes, 0x7fffffff);
    blob_add(&bomb, "\x89PNG\r\n\x1a\n", 8);
    blob_add(&bomb, head.bytes, head.n);
    blob_add(&bomb, text.bytes, text.n - 4);
    ck_assert_uint_le(bomb.n, 57);
    ck_assert_int_eq(decode_at_all(bomb.bytes, bomb.n), IMGPAR_E_CORRUPT);
    blob_free(&bomb);
    blob_free(&head);
    blob_free(&text);

    for (int i = 0; i < N(bombs); i++)
        for (int late = 0; late <= 1; late++) {
            blob b = sample(PNG_RGB);
            png_add(&b, late ? "IEND" : "IDAT", bombs[i].type, bombs[i].data, bombs[i].n);
            ck_assert_msg(decode_at_all(b.bytes, b.n) == IMGPAR_OK, "%s", bombs[i].type);
            blob_free(&b);
        }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    ck_assert_int_lt(used.ru_maxrss, 400 * 1024); /* sanitizers included */
}
END_TEST

/* What stands beside the pixels: with a wrong sum it is left out, and they are whole. */
static const char *const beside[] = { "eXIf", "tEXt", "zTXt", "iCCP", "gAMA", "pHYs", "vpAg" };

START_TEST(a_chunk_beside_the_pixels_with_a_wrong_sum_is_left_out)
{
    const char *type = beside[_i];
    for (int late = 0; late <= 1; late++) {
        blob b = sample(PNG_INTERLACED), whole = sample(PNG_INTERLACED);
        ip_str warnings = IP_STR_INIT;
        ip_image image, as_it_was;
        ip_error err;
        char line[96], strict[64];
        png_add(&b, late ? "IEND" : "IDAT", type, "Raw profile type exif", 22);
        b.bytes[png_find(b, type) + 12] ^= 1;
        snprintf(strict, sizeof strict, "x: PNG: %s: CRC error, and left out", type);
        snprintf(line, sizeof line, "%s\n", strict);
        ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_ERROR, &warnings, &image, &err), IMGPAR_OK);
        ck_assert_str_eq(ip_str_text(&warnings), line);
        ck_assert_int_eq(decode_with(whole.bytes, whole.n, IP_FAIL_ON_WARNING, NULL, &as_it_was, &err), IMGPAR_OK);
        ck_assert_mem_eq(image.pixels, as_it_was.pixels, as_it_was.size_bytes);
        ip_image_release(&image);
        ip_image_release(&as_it_was);
        ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_WARNING, NULL, &image, &err), IMGPAR_E_CORRUPT);
        ck_assert_str_eq(err.message, strict);
        ip_str_free(&warnings);
        blob_free(&b);
        blob_free(&whole);
    }
}
END_TEST

START_TEST(transparency_with_a_wrong_sum_is_damage)
{
    blob b = sample(PNG_PALETTE);
    b.bytes[png_find(b, "tRNS") + 8] ^= 1;
    ck_tolerated(&b, IP_FAIL_ON_TRUNCATED, "x: PNG: tRNS: CRC error\n");
    /* nor is a damaged name one of a chunk that nobody needs */
    b = sample(PNG_PALETTE);
    b.bytes[png_find(b, "tRNS") + 7] ^= 0x20;
    ck_tolerated(&b, IP_FAIL_ON_TRUNCATED, "x: PNG: tRNs: CRC error\n");
}
END_TEST

START_TEST(a_critical_chunk_unknown_to_us_is_an_error)
{
    blob b = sample(PNG_RGB);
    png_add(&b, "IDAT", "XYzZ", "abc", 3);
    ck_assert_int_eq(decode_at_all(b.bytes, b.n), IMGPAR_E_CORRUPT);
    blob_free(&b);
}
END_TEST

static blob png_of_size(uint32_t width, uint32_t height)
{
    unsigned char ihdr[13] = { 0, 0, 0, 0, 0, 0, 0, 0, 16, 6, 0, 0, 0 };
    put32(ihdr, width);
    put32(ihdr + 4, height);
    blob b = { NULL, 0 }, head = png_chunk("IHDR", ihdr, 13), data = png_chunk("IDAT", "x\x9c\x63", 3);
    blob_add(&b, "\x89PNG\r\n\x1a\n", 8);
    blob_add(&b, head.bytes, head.n);
    blob_add(&b, data.bytes, data.n);
    blob_free(&head);
    blob_free(&data);
    return b;
}

START_TEST(sizes_are_checked_before_memory_is_taken)
{
    blob b = png_of_size(2000000, 1);
    ck_decode_fails(b, IMGPAR_E_LIMIT, "x: PNG: a side is above the limit of 1000000");
    blob_free(&b);
    b = png_of_size(1000000, 1000000);
    ck_decode_fails(b, IMGPAR_E_LIMIT,
                    "x: 1000000 x 1000000 pixels are above the limit of 268435456 " IP_MAX_PIXELS_HINT);
    blob_free(&b);
    b = sample(JPEG_BASELINE);
    const size_t sof = jpeg_find(b, 0xc0);
    memcpy(b.bytes + sof + 5, "\xff\xdc\xff\xdc", 4);
    ck_decode_fails(b, IMGPAR_E_LIMIT, "x: 65500 x 65500 pixels are above the limit of 268435456 " IP_MAX_PIXELS_HINT);
    blob_free(&b);

    for (int kind = 0; kind < N_SAMPLES; kind++) { /* the option, and the limit itself, is honoured */
        b = sample(kind);
        ip_image image = decode(b);
        uint64_t n = 1;
        for (int i = 0; i < image.header.rank - (kind != NPY_FLAT && kind != NPY_FORTRAN); i++)
            n *= (uint64_t)image.header.shape[i];
        ip_image_release(&image);
        for (int below = 0; below <= 1; below++) {
            ip_error err = { 0 };
            const ip_read_options o = { .max_pixels = n - (uint64_t)below, .fail_on = IP_FAIL_ON_ERROR };
            ck_assert_int_eq(ip_io_decode(b.bytes, b.n, "x", &o, &image, &err), below ? IMGPAR_E_LIMIT : IMGPAR_OK);
            ip_image_release(&image);
        }
        blob_free(&b);
    }
}
END_TEST

START_TEST(a_hundred_scans_are_enough)
{
    blob b = sample(JPEG_PROGRESSIVE), scan = { NULL, 0 };
    /* The last scan, a refinement, again and again. */
    size_t at = b.n - 2;
    while (!(b.bytes[at] == 0xff && b.bytes[at + 1] == 0xda))
        at--;
    blob_add(&scan, b.bytes + at, b.n - 2 - at);
    for (int i = 0; i < 150; i++)
        blob_insert(&b, b.n - 2, scan.bytes, scan.n);
    ip_image image;
    ip_error err;
    ck_assert_int_eq(decode_with(b.bytes, b.n, IP_FAIL_ON_NONE, NULL, &image, &err), IMGPAR_E_LIMIT);
    ck_assert_str_eq(err.message, "x: JPEG: more than 100 scans");
    blob_free(&scan);
    blob_free(&b);
}
END_TEST

static const struct {
    int code, precision;
    const char *message;
} processes[] = {
    { 0xc0, 12, "x: JPEG: samples of 12 bits are not supported, only 8" },
    { 0xc1, 16, "x: JPEG: samples of 16 bits are not supported, only 8" },
    { 0xc3, 8, "x: JPEG: lossless compression is not supported" },
    { 0xc5, 8, "x: JPEG: hierarchical compression is not supported" },
    { 0xcb, 8, "x: JPEG: lossless compression is not supported" },
};

START_TEST(other_kinds_of_jpeg_are_unsupported)
{
    blob b = sample(JPEG_BASELINE);
    const size_t sof = jpeg_find(b, 0xc0);
    b.bytes[sof + 1] = (unsigned char)processes[_i].code;
    b.bytes[sof + 4] = (unsigned char)processes[_i].precision;
    ck_decode_fails(b, IMGPAR_E_UNSUPPORTED, processes[_i].message);
    blob_free(&b);
}
END_TEST

/* EXIF of every length with every offset stays in its bounds; the sanitizer watches. */
START_TEST(exif_is_bounded)
{
    unsigned char exif[26];
    for (int big = 0; big <= 1; big++)
        for (size_t n = 0; n <= sizeof exif; n++)
            for (int at = 0; at < 26; at++)
                for (int value = 0; value < 256; value += 51) {
                    exif_block(exif, big, 3);
                    exif[at] = (unsigned char)value;
                    unsigned char *exact = malloc(n ? n : 1);
                    memcpy(exact, exif, n);
                    int got = ip_exif_orientation(exact, n);
                    ck_assert(got >= 1 && got <= 8);
                    free(exact);
                }
}
END_TEST

/* ---- interruption ------------------------------------------------------------------------------ */

typedef struct counter {
    int left, asked;
    double last;
} counter;

static bool count_down(void *user, double done)
{
    counter *c = user;
    ck_assert(done >= 0 && done <= 1);
    c->last = done;
    c->asked++;
    return c->left-- == 0;
}

START_TEST(polling_stops_reading_and_writing)
{
    for (int kind = 0; kind < N_SAMPLES; kind++) {
        blob b = sample(kind);
        int n_stopped = 0;
        for (int left = 0;; left++) {
            counter c = { left, 0, 0 };
            ip_image image;
            ip_error err = { 0 };
            const ip_read_options o = { .fail_on = IP_FAIL_ON_NONE, .poll = { count_down, &c } };
            imgpar_status st = ip_io_decode(b.bytes, b.n, "x", &o, &image, &err);
            ip_image_release(&image);
            if (st == IMGPAR_OK) break;
            ck_assert_int_eq(st, IMGPAR_E_INTERRUPTED);
            ck_assert_str_eq(err.message, "x: interrupted while reading");
            n_stopped++;
        }
        ck_assert_int_ge(n_stopped, 1);
        blob_free(&b);
    }
    unsigned char bytes[30 * 30] = { 0 };
    const ip_pixels p = pixels_3d(IMGPAR_U8, 30, 30, 1, bytes);
    for (int f = 0; f < IP_N_WRITTEN_FORMATS; f++) {
        counter c = { f == IP_FORMAT_NPY ? 0 : 20, 0, 0 };
        const ip_poll poll = { count_down, &c };
        void *out;
        size_t n;
        ip_error err = { 0 };
        ck_assert_int_eq(ip_io_encode(&p, (ip_format)f, NULL, &poll, &out, &n, &err), IMGPAR_E_INTERRUPTED);
        ck_assert_ptr_null(out);
    }
}
END_TEST

/* How much lies between two polls is bounded: a row, or a piece of what has no rows. */
START_TEST(polls_come_between_bounded_pieces)
{
    enum { SIDE = 2048, N_BYTES = SIDE * SIDE * 8, N_PIECES = N_BYTES / IP_PIECE_BYTES, N_ROWS = 200 };
    double *numbers = calloc(SIDE * SIDE, sizeof *numbers);
    ck_assert_int_ge(N_PIECES, 8);
    for (int f = 0; f < IP_N_WRITTEN_FORMATS; f++) {
        const bool has_rows = f != IP_FORMAT_NPY;
        const int side = has_rows ? N_ROWS : SIDE, least = has_rows ? N_ROWS : N_PIECES;
        const ip_pixels p = pixels_3d(IMGPAR_F64, side, side, 1, numbers);
        counter encoding = { -1, 0, 0 }, decoding = { -1, 0, 0 };
        const ip_poll poll = { count_down, &encoding };
        const ip_read_options o = { .poll = { count_down, &decoding } };
        void *out;
        size_t n;
        ip_image image;
        ck_assert_int_eq(ip_io_encode(&p, (ip_format)f, NULL, &poll, &out, &n, NULL), IMGPAR_OK);
        ck_assert_msg(encoding.asked >= least, "%s: %d polls while encoding", ip_format_name((ip_format)f),
                      encoding.asked);
        ck_assert_int_eq(ip_io_decode(out, n, "x", &o, &image, NULL), IMGPAR_OK);
        const int rows = f == IP_FORMAT_JPEG ? N_ROWS / 16 : least;
        ck_assert_msg(decoding.asked >= rows, "%s: %d polls while decoding", ip_format_name((ip_format)f),
                      decoding.asked);
        ip_image_release(&image);
        ip_free(out);
    }
    counter writing = { -1, 0, 0 };
    const ip_poll poll = { count_down, &writing };
    ck_assert_int_eq(ip_io_write("/dev/null", numbers, N_BYTES, &poll, NULL), IMGPAR_OK);
    ck_assert_int_ge(writing.asked, N_PIECES);
    free(numbers);
}
END_TEST

/* ---- each call failing in turn --------------------------------------------------------------------- */

START_TEST(decoding_survives_each_failing_allocation)
{
    blob b = sample(_i);
    for (int f = IP_FAIL_ON_NONE; f <= IP_FAIL_ON_WARNING; f++) {
        bool is_done = false;
        for (unsigned long nth = 1; !is_done; nth++) {
            ip_image image;
            ip_error err = { 0 };
            const ip_read_options o = { .fail_on = (ip_fail_on)f };
            ip_fault_set(IP_FAULT_ALLOC, nth);
            imgpar_status st = ip_io_decode(b.bytes, b.n, "x", &o, &image, &err);
            is_done = ip_fault_seen(IP_FAULT_ALLOC) < nth;
            ip_fault_set(IP_FAULT_ALLOC, 0);
            ck_assert_msg(st == (is_done ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY), "allocation %lu: %d %s", nth, st,
                          err.message);
            ip_image_release(&image);
            ck_assert_uint_lt(nth, 1000);
        }
    }
    blob_free(&b);
}
END_TEST

START_TEST(encoding_survives_each_failing_allocation)
{
    unsigned char *bytes = random_bytes(100 * 100 * 3);
    const ip_pixels p = pixels_3d(IMGPAR_U8, 100, 100, 3, bytes);
    bool is_done = false;
    for (unsigned long nth = 1; !is_done; nth++) {
        void *out;
        size_t n;
        ip_error err = { 0 };
        ip_fault_set(IP_FAULT_ALLOC, nth);
        imgpar_status st = ip_io_encode(&p, (ip_format)(_i % IP_N_WRITTEN_FORMATS), _i == 5 ? "progressive=1" : NULL,
                                        NULL, &out, &n, &err);
        is_done = ip_fault_seen(IP_FAULT_ALLOC) < nth;
        ip_fault_set(IP_FAULT_ALLOC, 0);
        ck_assert_msg(st == (is_done ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY), "allocation %lu: %d %s", nth, st,
                      err.message);
        ip_free(out);
        ck_assert_uint_lt(nth, 1000);
    }
    free(bytes);
}
END_TEST

static char folder[] = "/tmp/imgpar-check-XXXXXX";
static char target[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/imgpar-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(target, sizeof target, "%s/a", folder);
}

static void remove_folder(void)
{
    unlink(target);
    ck_assert_int_eq(rmdir(folder), 0); /* fails when a temporary file was left */
}

/* Opens, copies and decodes a file; the kinds of fault alternate. */
START_TEST(reading_files_survives_each_failing_call)
{
    const ip_fault_kind kind = _i % 2 ? IP_FAULT_ALLOC : IP_FAULT_FILE;
    blob b = sample(_i / 2 ? JPEG_BASELINE : PNG_RGB);
    unsigned char *filler = random_bytes(90000); /* the header is not in the first 64 KiB */
    if (_i / 2 == 0) png_add(&b, "IDAT", "prVt", filler, 90000);
    ck_assert_int_eq(ip_io_write(target, b.bytes, b.n, NULL, NULL), IMGPAR_OK);
    bool is_done = false;
    for (unsigned long nth = 1; !is_done; nth++) {
        ip_file file, copy = { 0 };
        ip_header header;
        ip_image image = { 0 };
        ip_error err = { 0 };
        ip_fault_set(kind, nth);
        imgpar_status st = ip_file_open(target, NULL, &file, &header, &err);
        if (!st) st = ip_file_copy(&file, &copy, &err);
        if (!st) st = ip_file_decode(&copy, NULL, &image, &err);
        is_done = ip_fault_seen(kind) < nth;
        ip_fault_set(kind, 0);
        imgpar_status want = is_done ? IMGPAR_OK : kind == IP_FAULT_FILE ? IMGPAR_E_IO : IMGPAR_E_HOST_MEMORY;
        ck_assert_msg(st == want, "call %lu: %d %s", nth, st, err.message);
        ip_image_release(&image);
        ip_file_release(&copy);
        ip_file_release(&file);
        ck_assert_uint_lt(nth, 1000);
    }
    free(filler);
    blob_free(&b);
}
END_TEST

START_TEST(writing_files_survives_each_failing_call)
{
    const ip_fault_kind kind = _i % 2 ? IP_FAULT_ALLOC : IP_FAULT_FILE;
    static const char old[] = "what was there";
    char real[80];
    snprintf(real, sizeof real, "%s/b", folder);
    const char *file = _i / 2 == 2 ? real : target;
    if (_i / 2 == 2) ck_assert_int_eq(symlink("b", target), 0); /* written through a link */
    for (unsigned long nth = 1;; nth++) {
        if (_i / 2 > 0) ck_assert_int_eq(ip_io_write(file, old, sizeof old, NULL, NULL), IMGPAR_OK);
        ip_error err = { 0 };
        ip_fault_set(kind, nth);
        imgpar_status st = ip_io_write(target, "new", 3, NULL, &err);
        const bool is_done = ip_fault_seen(kind) < nth;
        ip_fault_set(kind, 0);
        struct stat info;
        const bool exists = stat(file, &info) == 0;
        ck_assert_msg(!st == is_done, "call %lu: %d %s", nth, st, err.message);
        if (is_done)
            ck_assert_int_eq(info.st_size, 3);
        else if (_i / 2 > 0)
            ck_assert(exists && info.st_size == sizeof old);
        else
            ck_assert(!exists);
        if (is_done) break;
        ck_assert_uint_lt(nth, 1000);
    }
    unlink(real);
}
END_TEST

START_TEST(an_interrupted_write_leaves_nothing)
{
    unsigned char *bytes = calloc(3, IP_PIECE_BYTES);
    counter c = { 1, 0, 0 };
    const ip_poll poll = { count_down, &c };
    ip_error err = { 0 };
    ck_assert_int_eq(ip_io_write(target, bytes, 3 * (size_t)IP_PIECE_BYTES, &poll, &err), IMGPAR_E_INTERRUPTED);
    ck_assert_int_eq(access(target, F_OK), -1); /* and remove_folder() finds no temporary file */
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("io, damaged");
    TCase *c = tcase_create("damage");
    tcase_set_timeout(c, 600);
    /* the first: it looks at the most memory that the process has had */
    tcase_add_test(c, ancillary_chunks_cost_nothing);
    tcase_add_loop_test(c, samples_are_good, 0, N_SAMPLES);
    tcase_add_loop_test(c, every_truncation_is_an_error, 0, N_SAMPLES);
    tcase_add_loop_test(c, flipped_bytes_do_no_harm, 0, N_SAMPLES);
    tcase_add_loop_test(c, random_damage_does_no_harm, 0, N_SAMPLES);
    tcase_add_test(c, each_rule_is_stricter_than_the_one_before);
    tcase_add_test(c, what_was_not_decoded_is_zero);
    tcase_add_loop_test(c, a_chunk_beside_the_pixels_with_a_wrong_sum_is_left_out, 0, N(beside));
    tcase_add_test(c, transparency_with_a_wrong_sum_is_damage);
    tcase_add_test(c, a_critical_chunk_unknown_to_us_is_an_error);
    tcase_add_test(c, sizes_are_checked_before_memory_is_taken);
    tcase_add_test(c, a_hundred_scans_are_enough);
    tcase_add_loop_test(c, other_kinds_of_jpeg_are_unsupported, 0, N(processes));
    tcase_add_test(c, exif_is_bounded);
    tcase_add_test(c, polling_stops_reading_and_writing);
    tcase_add_test(c, polls_come_between_bounded_pieces);
    tcase_add_loop_test(c, decoding_survives_each_failing_allocation, 0, N_SAMPLES);
    tcase_add_loop_test(c, encoding_survives_each_failing_allocation, 0, 6);
    suite_add_tcase(suite, c);
    c = tcase_create("files");
    tcase_add_checked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, an_interrupted_write_leaves_nothing);
    tcase_add_loop_test(c, reading_files_survives_each_failing_call, 0, 4);
    tcase_add_loop_test(c, writing_files_survives_each_failing_call, 0, 6);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
