/* SPDX-License-Identifier: MIT */
/* src/io on good data: round trips, the rules of each format, settings. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "io_help.h"
#include "io/codec.h"
#include "io/deflate_end.h"

#include <dirent.h>
#include <libdeflate.h>
#include <math.h>
#include <zlib.h>

/* ---- round trips --------------------------------------------------------------------- */

static const ip_pixels arrays[] = {
    { .rank = 1, .shape = { 1 } },       { .rank = 1, .shape = { 37 } },         { .rank = 2, .shape = { 3, 5 } },
    { .rank = 3, .shape = { 7, 5, 3 } }, { .rank = 4, .shape = { 2, 3, 5, 4 } }, { .rank = 1, .shape = { 0 } },
    { .rank = 3, .shape = { 4, 0, 3 } },
};

START_TEST(npy_keeps_every_dtype_and_shape)
{
    ip_pixels p = arrays[_i % N(arrays)];
    p.dtype = (imgpar_dtype)(_i / N(arrays));
    size_t n = imgpar_dtype_size(p.dtype);
    for (int i = 0; i < p.rank; i++)
        n *= (size_t)p.shape[i];
    unsigned char *bytes = random_bytes(n);
    for (size_t i = 0; i < n && p.dtype == IMGPAR_BOOL; i++)
        bytes[i] &= 1;
    p.pixels = bytes;
    blob b = encode(&p, IP_FORMAT_NPY, NULL);
    ck_assert_uint_eq((b.n - n) % 64, 0);
    ip_image image = decode(b);
    ck_assert_int_eq(image.header.dtype, p.dtype);
    ck_assert_int_eq(image.header.rank, p.rank);
    ck_assert_mem_eq(image.header.shape, p.shape, sizeof p.shape);
    ck_assert_uint_eq(image.size_bytes, n);
    ck_assert(n == 0 || memcmp(image.pixels, bytes, n) == 0);
    ip_image_release(&image);
    blob_free(&b);
    free(bytes);
}
END_TEST

static const struct {
    int64_t h, w;
} sizes[] = { { 1, 1 }, { 1, 9 }, { 9, 1 }, { 7, 5 }, { 33, 64 }, { 70, 100 } };
static const ip_format lossless[] = { IP_FORMAT_PNG, IP_FORMAT_PNM };

START_TEST(png_and_pnm_keep_u8_and_u16)
{
    for (int s = 0; s < N(sizes); s++)
        for (int c = 1; c <= 4; c++)
            for (int wide = 0; wide <= 1; wide++) {
                const imgpar_dtype dtype = wide ? IMGPAR_U16 : IMGPAR_U8;
                const size_t n = (size_t)(sizes[s].h * sizes[s].w * c) << wide;
                void *bytes = random_bytes(n);
                ip_pixels p = pixels_3d(dtype, sizes[s].h, sizes[s].w, c, bytes);
                blob b = encode(&p, lossless[_i], NULL);
                ip_image image = decode(b);
                ck_assert_int_eq(image.header.format, lossless[_i]);
                ck_assert_int_eq(image.header.dtype, dtype);
                ck_assert_int_eq(image.header.space, c <= 2 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB);
                ck_assert_mem_eq(image.header.shape, p.shape, sizeof p.shape);
                ck_assert_mem_eq(image.pixels, bytes, n);
                ip_image_release(&image);
                blob_free(&b);
                free(bytes);
            }
}
END_TEST

/* ---- PNGs of several pieces (png_write.c) -------------------------------------------------------- */

enum { PIECES_H = 430, PIECES_W = 1250 }; /* RGB: four pieces, gray one */

/* Noise, what changes slowly, one value, a piece of noise again and again, noise above that, and waves. */
enum { N_CONTENTS = 6 };
static uint8_t content(int kind, size_t k, const uint8_t *noise)
{
    switch (kind) {
    case 5: {
        const double c = (double)(k % 3), x = (double)(k / 3 % PIECES_W), y = (double)(k / 3 / PIECES_W);
        return (uint8_t)lrint(128 + 60 * sin(x / 40 + c) + 50 * cos(y * 0.3 + x / 7));
    }
    case 4: return k < 150000 ? noise[k] : noise[k % 4001];
    case 0: return noise[k];
    case 1: return (uint8_t)(128 + 100 * sin((double)k / 3000) + noise[k] % 3);
    case 2: return 77;
    default: return noise[k % 4001];
    }
}

static uint8_t *contents(int kind, size_t n)
{
    uint8_t *noise = random_bytes(n), *bytes = malloc(n);
    ck_assert_ptr_nonnull(bytes);
    for (size_t k = 0; k < n; k++)
        bytes[k] = content(kind, k, noise);
    free(noise);
    return bytes;
}

static const char *const piece_levels[] = { NULL, "level=0", "level=1", "level=9" };

/* Each content at each level, and each of them with one and with four channels of 8 and of 16 bits: of these four a
 * pair has one, by turns, since what a level does with bytes does not depend on how wide samples are. */
START_TEST(png_of_several_pieces_is_one_stream)
{
    const int kind = _i / N(piece_levels), level = _i % N(piece_levels), turn = (kind + level) % 4;
    const int c = turn & 1 ? 4 : 1, wide = turn >> 1;
    const size_t n = (size_t)(PIECES_H * PIECES_W * c) << wide;
    uint8_t *bytes = contents(kind, n);
    ip_pixels p = pixels_3d(wide ? IMGPAR_U16 : IMGPAR_U8, PIECES_H, PIECES_W, c, bytes);
    blob b = encode(&p, IP_FORMAT_PNG, piece_levels[level]);
    ip_image image = decode(b);
    ck_assert_mem_eq(image.pixels, bytes, n);
    ip_image_release(&image);
    blob_free(&b);
    free(bytes);
}
END_TEST

/* Above 16 MiB pieces grow, up to 1 MiB. */
START_TEST(png_of_large_pieces_is_one_stream)
{
    static const int heights[] = { 2100, 3600 }; /* of 8400 bytes: 17.6 and 30.2 MB */
    const size_t n = (size_t)heights[_i] * 2800 * 3;
    uint8_t *bytes = contents(3, n);
    ip_pixels p = pixels_3d(IMGPAR_U8, heights[_i], 2800, 3, bytes);
    blob b = encode(&p, IP_FORMAT_PNG, "level=1");
    ip_image image = decode(b);
    ck_assert_mem_eq(image.pixels, bytes, n);
    ip_image_release(&image);
    blob_free(&b);
    free(bytes);
}
END_TEST

/* Where the last block of a code begins and ends, by zlib, which stops at each. */
static ip_deflate_end end_by_zlib(unsigned char *code, size_t n, size_t n_bytes)
{
    ip_deflate_end found = { 0, 0 };
    unsigned char *bytes = malloc(n_bytes + 1);
    z_stream z = { .next_in = code, .avail_in = (uInt)n, .next_out = bytes, .avail_out = (uInt)n_bytes + 1 };
    ck_assert_int_eq(inflateInit2(&z, -15), Z_OK);
    while (found.end == 0) {
        const int status = inflate(&z, Z_BLOCK);
        ck_assert(status == Z_OK || status == Z_BUF_ERROR);
        ck_assert_int_ne(z.data_type & 128, 0);
        const size_t at = 8 * (n - z.avail_in) - (size_t)(z.data_type & 7);
        *(z.data_type & 64 ? &found.end : &found.block) = at;
    }
    ck_assert_uint_eq(z.total_out, n_bytes);
    inflateEnd(&z);
    free(bytes);
    return found;
}

static void check_end(unsigned char *code, size_t n, size_t n_bytes)
{
    const ip_deflate_end expected = end_by_zlib(code, n, n_bytes);
    ip_deflate_end found;
    ck_assert(ip_deflate_find_end(code, n, &found));
    ck_assert_uint_eq(found.block, expected.block);
    ck_assert_uint_eq(found.end, expected.end);
    ck_assert(!ip_deflate_find_end(code, n - 1, &found));
    ck_assert(!ip_deflate_find_end(code, n / 2, &found));
}

/* By libdeflate's levels 0 to 12, and by what else zlib knows: runs, no repetitions, fixed codes. */
START_TEST(last_block_of_a_code_is_found)
{
    static const size_t lengths[] = { 0, 1, 2, 300, 20000, 200001 };
    static const int strategies[] = { Z_RLE, Z_HUFFMAN_ONLY, Z_FIXED };
    uint8_t *bytes = contents(_i, 200001), *code = malloc(400000);
    for (int k = 0; k < N(lengths); k++) {
        for (int level = 0; level <= 12; level++) {
            struct libdeflate_compressor *by = libdeflate_alloc_compressor(level);
            check_end(code, libdeflate_deflate_compress(by, bytes, lengths[k], code, 400000), lengths[k]);
            libdeflate_free_compressor(by);
        }
        for (int s = 0; s < N(strategies); s++) {
            z_stream z = { .next_in = bytes, .avail_in = (uInt)lengths[k], .next_out = code, .avail_out = 400000 };
            ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, strategies[s]), Z_OK);
            ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
            check_end(code, z.total_out, lengths[k]);
            deflateEnd(&z);
        }
    }
    free(code);
    free(bytes);
}
END_TEST

/* A kind of block that there is not, stored bytes whose number is told in two ways, codes that are all ones. */
START_TEST(what_is_no_code_has_no_last_block)
{
    static const unsigned char bad[][4] = { { 7, 0, 0, 0 }, { 1, 5, 0, 0 }, { 0xfd, 0xff, 0xff, 0xff } };
    ip_deflate_end found;
    ck_assert(!ip_deflate_find_end(bad[_i], sizeof bad[_i], &found));
    ck_assert(!ip_deflate_find_end(bad[_i], 0, &found));
}
END_TEST

static void count_bytes(png_structp png, png_bytep bytes, size_t n)
{
    (void)bytes;
    *(size_t *)png_get_io_ptr(png) += n;
}

static void flush_nothing(png_structp png) { (void)png; }

/* What libpng makes of an RGB picture by itself. */
static size_t size_by_libpng(uint8_t *bytes, png_uint_32 h, png_uint_32 w)
{
    size_t n = 0;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (setjmp(png_jmpbuf(png))) ck_abort_msg("libpng");
    png_set_write_fn(png, &n, count_bytes, flush_nothing);
    png_set_IHDR(png, info, w, h, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (png_uint_32 y = 0; y < h; y++)
        png_write_row(png, bytes + (size_t)y * w * 3);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return n;
}

/* Of what repeats from piece to piece a little more: the first one has nothing to repeat. */
START_TEST(png_is_no_larger_than_libpng_makes_it)
{
    static const double most_of_libpng[N_CONTENTS] = { 1.002, 1.002, 1.002, 1.1, 1.05, 1 };
    uint8_t *bytes = contents(_i, PIECES_H * PIECES_W * 3);
    ip_pixels p = pixels_3d(IMGPAR_U8, PIECES_H, PIECES_W, 3, bytes);
    blob b = encode(&p, IP_FORMAT_PNG, NULL);
    const size_t most = size_by_libpng(bytes, PIECES_H, PIECES_W);
    ck_assert_msg((double)b.n <= (double)most * most_of_libpng[_i] + 100, "%zu bytes, %zu by libpng", b.n, most);
    blob_free(&b);
    free(bytes);
}
END_TEST

static void append_bytes(png_structp png, png_bytep bytes, size_t n)
{
    ip_str_append_n(png_get_io_ptr(png), (const char *)bytes, n);
}

/* By libpng, each row with the filter that its number tells, in chunks of some hundred bytes. */
static void filtered_by_libpng(ip_str *out, uint8_t *bytes, png_uint_32 h, png_uint_32 w, int channels, int bits)
{
    static const int types[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA };
    static const int filters[] = { PNG_FILTER_PAETH, PNG_FILTER_NONE, PNG_FILTER_SUB,
                                   PNG_FILTER_UP,    PNG_FILTER_AVG,  PNG_FILTER_PAETH };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (setjmp(png_jmpbuf(png))) ck_abort_msg("libpng");
    png_set_write_fn(png, out, append_bytes, flush_nothing);
    png_set_IHDR(png, info, w, h, bits, types[channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS);
    png_set_compression_buffer_size(png, 300);
    png_write_info(png, info);
    png_set_swap(png);
    for (png_uint_32 y = 0; y < h; y++) {
        png_set_filter(png, PNG_FILTER_TYPE_BASE, filters[y % 6]);
        png_write_row(png, bytes + (size_t)y * w * (size_t)channels * (size_t)(bits / 8));
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
}

/* What png_whole.c reads, unless something is wrong with it: then libpng does. */
START_TEST(png_of_every_filter_is_read)
{
    const int channels = _i % 4 + 1, bits = _i < 4 ? 8 : 16;
    enum { H = 31, W = 45 };
    const size_t n = (size_t)(H * W * channels * bits / 8);
    uint8_t *bytes = random_bytes(n);
    ip_str out = { 0 };
    filtered_by_libpng(&out, bytes, H, W, channels, bits);
    blob b = { .bytes = (unsigned char *)(uintptr_t)ip_str_text(&out), .n = out.length };
    ip_image image = decode(b);
    ck_assert_mem_eq(image.pixels, bytes, n);
    ip_image_release(&image);
    ip_str_free(&out);
    free(bytes);
}
END_TEST

static double mean_error(const unsigned char *a, const unsigned char *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    return sum / (double)n;
}

static const char *const jpeg_settings[] = {
    "quality=95",
    "quality=95 subsample=422",
    "quality=100, subsample=444",
    "quality=95,progressive=1",
};

START_TEST(jpeg_keeps_the_look)
{
    for (int s = 0; s < N(sizes); s++)
        for (int c = 1; c <= 3; c += 2) {
            const size_t h = (size_t)sizes[s].h, w = (size_t)sizes[s].w;
            unsigned char *bytes = smooth_bytes(h, w, (size_t)c);
            ip_pixels p = pixels_3d(IMGPAR_U8, sizes[s].h, sizes[s].w, c, bytes);
            blob b = encode(&p, IP_FORMAT_JPEG, jpeg_settings[_i]);
            ip_image image = decode(b);
            ck_assert_mem_eq(image.header.shape, p.shape, sizeof p.shape);
            ck_assert(mean_error(image.pixels, bytes, h * w * (size_t)c) < 6);
            ip_image_release(&image);
            blob_free(&b);
            free(bytes);
        }
}
END_TEST

START_TEST(jpeg_decodes_as_libjpeg_does)
{
    unsigned char *bytes = random_bytes(45 * 67 * 3);
    ip_pixels p = pixels_3d(IMGPAR_U8, 45, 67, 3, bytes);
    blob b = encode(&p, IP_FORMAT_JPEG, jpeg_settings[_i]);
    ip_image image = decode(b);
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, b.bytes, b.n);
    jpeg_read_header(&c, TRUE);
    ck_assert_int_eq(c.progressive_mode, _i == 3);
    ck_assert_int_eq(c.comp_info[0].h_samp_factor * 10 + c.comp_info[0].v_samp_factor, _i == 1   ? 21
                                                                                       : _i == 2 ? 11
                                                                                                 : 22);
    jpeg_start_decompress(&c);
    unsigned char row[67 * 3];
    for (int y = 0; y < 45; y++) {
        JSAMPROW rows = row;
        jpeg_read_scanlines(&c, &rows, 1);
        ck_assert_mem_eq(row, (unsigned char *)image.pixels + y * 67 * 3, sizeof row);
    }
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
    ip_image_release(&image);
    blob_free(&b);
    free(bytes);
}
END_TEST

/* ---- what is written of other dtypes --------------------------------------------------- */

static const struct {
    imgpar_dtype dtype;
    double value;
    const char *settings;
    int bits;
    int sample;
} written[] = {
    { IMGPAR_F32, 123.4, "", 8, 123 },
    { IMGPAR_F32, 2.5, "", 8, 2 },
    { IMGPAR_F32, -1, "", 8, 0 },
    { IMGPAR_F32, 300, "", 8, 255 },
    { IMGPAR_F32, NAN, "", 8, 0 },
    { IMGPAR_F32, 300.5, "bits=16", 16, 300 },
    { IMGPAR_F32, 1e6, "bits=16", 16, 65535 },
    { IMGPAR_F64, 3.5, "", 8, 4 },
    { IMGPAR_F16, 77.5, "", 8, 78 },
    { IMGPAR_BOOL, 1, "", 8, 255 },
    { IMGPAR_BOOL, 1, "bits=16", 16, 65535 },
    { IMGPAR_BOOL, 0, "", 8, 0 },
    { IMGPAR_U8, 200, "", 8, 200 },
    { IMGPAR_U8, 200, "bits=16", 16, 51400 },
    { IMGPAR_U16, 1000, "", 16, 1000 },
    { IMGPAR_U16, 1000, "bits=8", 8, 4 },
    { IMGPAR_U16, 65535, "bits=8", 8, 255 },
    { IMGPAR_U16, 128, "bits=8", 8, 0 },
    { IMGPAR_U16, 129, "bits=8", 8, 1 },
    { IMGPAR_I8, -5, "", 8, 0 },
    { IMGPAR_I16, 300, "", 8, 255 },
    { IMGPAR_I32, 40000, "bits=16", 16, 40000 },
    { IMGPAR_U64, 1e15, "bits=16", 16, 65535 },
    { IMGPAR_I64, 9, "bits=8", 8, 9 },
};

START_TEST(samples_are_scaled_or_rounded)
{
    unsigned char element[8];
    ip_store_number(written[_i].dtype, element, written[_i].value);
    for (int f = 0; f < N(lossless); f++) {
        ip_pixels p = pixels_3d(written[_i].dtype, 1, 1, 1, element);
        blob b = encode(&p, lossless[f], written[_i].settings);
        ip_image image = decode(b);
        ck_assert_int_eq(image.header.dtype, written[_i].bits == 16 ? IMGPAR_U16 : IMGPAR_U8);
        ck_assert_int_eq((int)ip_load_number(image.header.dtype, image.pixels), written[_i].sample);
        ip_image_release(&image);
        blob_free(&b);
    }
}
END_TEST

START_TEST(jpeg_composes_alpha_on_the_background)
{
    static const struct {
        int c;
        const char *settings;
        int want[3];
        int channels;
    } cases[] = {
        { 2, "quality=100", { 100 }, 1 },
        { 2, "quality=100, background=255", { 228 }, 1 },
        { 4, "quality=100 subsample=444 background=50", { 125, 75, 25 }, 3 },
        { 4, "quality=100 subsample=444 background=orange", { 227, 132, 0 }, 3 }, /* 255 165 0 */
        { 4, "background=[255 165 0], quality=100 subsample=444", { 227, 132, 0 }, 3 },
        { 4, "background=#00FF80 subsample=444 quality=100", { 100, 177, 64 }, 3 },
        { 2, "quality=100 subsample=444 background=#f00", { 228, 100, 100 }, 3 }, /* gray no more */
    };
    for (int k = 0; k < N(cases); k++) {
        unsigned char bytes[64 * 4];
        for (int i = 0; i < 64; i++)
            memcpy(bytes + i * cases[k].c,
                   cases[k].c == 2 ? (unsigned char[]){ 200, 128 } : (unsigned char[]){ 200, 100, 0, 128 },
                   (size_t)cases[k].c);
        ip_pixels p = pixels_3d(IMGPAR_U8, 8, 8, cases[k].c, bytes);
        blob b = encode(&p, IP_FORMAT_JPEG, cases[k].settings);
        ip_image image = decode(b);
        ck_assert_int_eq(image.header.shape[2], cases[k].channels);
        for (int ch = 0; ch < cases[k].channels; ch++) {
            int got = ((unsigned char *)image.pixels)[ch];
            ck_assert_msg(abs(got - cases[k].want[ch]) <= 2, "%d: %d, not %d", k, got, cases[k].want[ch]);
        }
        ip_image_release(&image);
        blob_free(&b);
    }
}
END_TEST

static const struct {
    ip_format format;
    ip_pixels p;
    const char *message;
} refused[] = {
    { IP_FORMAT_PNG,
      { .rank = 4, .shape = { 1, 2, 2, 3 } },
      "png holds [height, width, 1-4 channels], not [1, 2, 2, 3]; npy holds any shape" },
    { IP_FORMAT_PNG,
      { .rank = 3, .shape = { 2, 2, 5 } },
      "png holds [height, width, 1-4 channels], not [2, 2, 5]; npy holds any shape" },
    { IP_FORMAT_JPEG,
      { .rank = 3, .shape = { 0, 2, 3 } },
      "jpeg holds [height, width, 1-4 channels], not [0, 2, 3]; npy holds any shape" },
    { IP_FORMAT_PNM,
      { .rank = 1, .shape = { 0 } },
      "pnm holds [height, width, 1-4 channels], not [0]; npy holds any shape" },
    { IP_FORMAT_JPEG, { .rank = 2, .shape = { 1, 70000 } }, "jpeg: sides reach 65500 pixels at most, not 70000 x 1" },
    { IP_FORMAT_PNG,
      { .rank = 2, .shape = { 1000001, 1 } },
      "png: sides reach 1000000 pixels at most, not 1 x 1000001" },
};

START_TEST(shapes_that_do_not_fit_are_refused)
{
    void *bytes;
    size_t n;
    ip_error err = { 0 };
    ck_assert_int_eq(ip_io_encode(&refused[_i].p, refused[_i].format, NULL, NULL, &bytes, &n, &err),
                     IMGPAR_E_UNSUPPORTED);
    ck_assert_str_eq(err.message, refused[_i].message);
    ck_assert_ptr_null(bytes);
}
END_TEST

START_TEST(vectors_and_matrices_are_gray_pictures)
{
    static const unsigned char bytes[6] = { 1, 2, 3, 4, 5, 6 };
    const ip_pixels p[] = { { .rank = 1, .shape = { 6 }, .pixels = bytes },
                            { .rank = 2, .shape = { 3, 2 }, .pixels = bytes } };
    for (int i = 0; i < 2; i++) {
        blob b = encode(&p[i], IP_FORMAT_PNG, "level=9");
        ip_image image = decode(b);
        const int64_t want[4] = { i ? 3 : 1, i ? 2 : 6, 1 };
        ck_assert_mem_eq(image.header.shape, want, sizeof want);
        ck_assert_mem_eq(image.pixels, bytes, 6);
        ip_image_release(&image);
        blob_free(&b);
    }
}
END_TEST

static const struct {
    ip_format format;
    const char *text, *message;
} settings[] = {
    { IP_FORMAT_JPEG, "quality=90, progressive=1,, background = 7 subsample=444", NULL },
    { IP_FORMAT_JPEG, NULL, NULL },
    { IP_FORMAT_JPEG, " ", NULL },
    { IP_FORMAT_JPEG, "quality=101", "jpeg: quality=101 is above 100" },
    { IP_FORMAT_JPEG, "quality=99999999999999", "jpeg: quality=2147483647 is above 100" },
    { IP_FORMAT_JPEG, "quality=0", "jpeg: quality=0 is below 1" },
    { IP_FORMAT_JPEG, "quality=-3", "jpeg: quality=-3 is below 1" },
    { IP_FORMAT_JPEG, "quality=9x", "jpeg: quality=9x is not a whole number" },
    { IP_FORMAT_JPEG, "quality=", "jpeg: quality= is not a whole number" },
    { IP_FORMAT_JPEG, "quality", "jpeg: quality has no value" },
    { IP_FORMAT_JPEG, "quality=1 quality=2", "jpeg: quality is given twice" },
    { IP_FORMAT_JPEG, "background=256", "jpeg: background=256 is above 255" },
    { IP_FORMAT_JPEG, "background=99999999999999", "jpeg: background=2147483647 is above 255" },
    { IP_FORMAT_JPEG, "background = Teal, quality=3", NULL },
    { IP_FORMAT_JPEG, "background=#12345", "jpeg: background=#12345 is neither a gray from 0 to 255 nor a colour" },
    { IP_FORMAT_JPEG, "background=[ 1,2 , 255 ] quality=3", NULL },
    { IP_FORMAT_JPEG, "background=[1 2]", "jpeg: background=[1 2] is neither a gray from 0 to 255 nor a colour" },
    { IP_FORMAT_JPEG, "background=[1 2 256]",
      "jpeg: background=[1 2 256] is neither a gray from 0 to 255 nor a colour" },
    { IP_FORMAT_JPEG, "background=[1 2 3", "jpeg: background=[1 is neither a gray from 0 to 255 nor a colour" },
    { IP_FORMAT_JPEG, "background=[1 2 3]4",
      "jpeg: unknown setting 4; there are quality, subsample, progressive, background, metadata, range" },
    { IP_FORMAT_JPEG, "background=tea", "jpeg: background=tea is neither a gray from 0 to 255 nor a colour" },
    { IP_FORMAT_JPEG, "quality=teal", "jpeg: quality=teal is not a whole number" },
    { IP_FORMAT_JPEG, "subsample=411", "jpeg: subsample=411 is not 420, 422 or 444" },
    { IP_FORMAT_JPEG, "bits=16",
      "jpeg: unknown setting bits; there are quality, subsample, progressive, background, metadata, range" },
    { IP_FORMAT_PNG, "bits=12", "png: bits=12 is not 8 or 16" },
    { IP_FORMAT_PNG, "level=10", "png: level=10 is above 9" },
    { IP_FORMAT_PNG, "metadata=some", "png: metadata=some is not none or all" },
    { IP_FORMAT_JPEG, "metadata=", "jpeg: metadata= is not none or all" },
    { IP_FORMAT_PNG, "=4", "png: unknown setting ; there are bits, level, metadata, range" },
    { IP_FORMAT_NPY, "bits=8", "npy: unknown setting bits; it has none" },
    { IP_FORMAT_PNM, "bits=16", NULL },
};

START_TEST(settings_are_checked)
{
    ip_error err = { 0 };
    imgpar_status st = ip_io_check_settings(settings[_i].format, settings[_i].text, &err);
    ck_assert_int_eq(st, settings[_i].message ? IMGPAR_E_ARGUMENT : IMGPAR_OK);
    ck_assert_str_eq(err.message, settings[_i].message ? settings[_i].message : "");
}
END_TEST

START_TEST(formats_are_found_by_name_and_suffix)
{
    static const struct {
        const char *path;
        int format;
    } paths[] = {
        { "a.png", IP_FORMAT_PNG },
        { "A.JPG", IP_FORMAT_JPEG },
        { "x/y.jpeg", IP_FORMAT_JPEG },
        { "a.b.npy", IP_FORMAT_NPY },
        { "a.ppm", IP_FORMAT_PNM },
        { "a.pgm", IP_FORMAT_PNM },
        { "a.pam", IP_FORMAT_PNM },
        { "png", -1 },
        { "a.png/b", -1 },
        { "a.tif", -1 },
        { "", -1 },
        { "-", -1 },
    };
    ip_format f;
    for (int i = 0; i < N(paths); i++)
        ck_assert_int_eq(ip_format_from_path(paths[i].path, &f) ? (int)f : -1, paths[i].format);
    ck_assert(ip_format_find("jpg", &f) && f == IP_FORMAT_JPEG && !ip_format_find("", &f));
    ck_assert_str_eq(ip_format_name(IP_FORMAT_PNM), "pnm");
}
END_TEST

/* ---- NPY and PNM: texts ------------------------------------------------------------------ */

static blob npy_of(int version, const char *header, const void *data, size_t n)
{
    blob b = { NULL, 0 };
    const size_t length = strlen(header);
    const unsigned char start[12] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0, (unsigned char)length, (unsigned char)(length >> 8)
    };
    blob_add(&b, start, version == 1 ? 10 : 12);
    blob_add(&b, header, length);
    blob_add(&b, data, n);
    return b;
}

#define NPY(descr, fortran, shape) "{'descr': " descr ", 'fortran_order': " fortran ", 'shape': " shape ", }\n"

static const struct {
    int version;
    const char *header, *data;
    size_t n;
    imgpar_dtype dtype;
    int rank;
    double want[6];
} npy_good[] = {
    { 1, NPY("'<u2'", "False", "(2,)"), "\1\0\0\1", 4, IMGPAR_U16, 1, { 1, 256 } },
    { 2, NPY("'>u2'", "False", "(2,)"), "\1\0\0\1", 4, IMGPAR_U16, 1, { 256, 1 } },
    { 3, NPY("\"|u1\"", "True", "(2, 3)"), "\1\2\3\4\5\6", 6, IMGPAR_U8, 2, { 1, 3, 5, 2, 4, 6 } },
    { 1, NPY("'>i2'", "True", "(3, 1, 2)"), "\0\1\0\2\0\3\0\4\0\5\377\377", 12, IMGPAR_I16, 3, { 1, 4, 2, 5, 3, -1 } },
    { 1, NPY("'|b1'", "False", "(3,)"), "\0\1\7", 3, IMGPAR_BOOL, 1, { 0, 1, 1 } },
    { 1, NPY("'>f4'", "False", "()"), "\x3f\x80\0\0", 4, IMGPAR_F32, 1, { 1 } },
    { 1, NPY("'<f2'", "False", "(1L, 1L)"), "\0\x3c", 2, IMGPAR_F16, 2, { 1 } },
    { 1, NPY("'>f8'", "False", "(1, 1, 1, 1)"), "\x40\0\0\0\0\0\0\0", 8, IMGPAR_F64, 4, { 2 } },
    { 1, NPY("'>f8'", "False", "(1, 1, 1, 1, 1, 1, 1, 1)"), "\x40\0\0\0\0\0\0\0", 8, IMGPAR_F64, 8, { 2 } },
    { 1,
      NPY("'>u4'", "True", "(1, 2, 1, 3)"),
      "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6",
      24,
      IMGPAR_U32,
      4,
      { 1, 3, 5, 2, 4, 6 } },
    { 1,
      NPY("'>i8'", "False", "(2,)"),
      "\377\377\377\377\377\377\377\376\0\0\0\1\0\0\0\0",
      16,
      IMGPAR_I64,
      1,
      { -2, 4294967296.0 } },
    { 1, NPY("'<u8'", "True", "(3, 0)"), "", 0, IMGPAR_U64, 2, { 0 } },
    { 1, "{'shape':(1,),'fortran_order':False,'descr':'<i4'}", "\376\377\377\377", 4, IMGPAR_I32, 1, { -2 } },
};

/* 1 + 2i, 3 + 4i, 5 + 6i, 7 + 8i in memory, whatever the order in the file. */
START_TEST(npy_holds_complex_numbers)
{
    static const struct {
        const char *header;
        float floats[8];
        bool is_big;
    } files[] = {
        { NPY("'<c8'", "False", "(2, 2)"), { 1, 2, 3, 4, 5, 6, 7, 8 }, false },
        { NPY("'<c8'", "True", "(2, 2)"), { 1, 2, 5, 6, 3, 4, 7, 8 }, false },
        { NPY("'>c8'", "False", "(2, 2)"), { 1, 2, 3, 4, 5, 6, 7, 8 }, true },
        { NPY("'>c8'", "True", "(2, 2)"), { 1, 2, 5, 6, 3, 4, 7, 8 }, true },
    };
    static const float want[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    unsigned char data[sizeof want];
    for (int k = 0; k < 32; k++)
        data[k] = ((const unsigned char *)files[_i].floats)[files[_i].is_big ? k / 4 * 4 + 3 - k % 4 : k];
    blob b = npy_of(1, files[_i].header, (const char *)data, sizeof data);
    ip_image image = decode(b);
    ck_assert_int_eq(image.header.dtype, IMGPAR_COMPLEX64);
    ck_assert_int_eq(image.header.rank, 2);
    ck_assert_mem_eq(image.pixels, want, sizeof want);
    ip_image_release(&image);
    blob_free(&b);
}
END_TEST

/* 1 + 2i and 3 + 4i of two doubles each, either byte order. */
START_TEST(npy_holds_complex_numbers_of_doubles)
{
    static const double want[4] = { 1, 2, 3, 4 };
    unsigned char data[sizeof want];
    for (int k = 0; k < 32; k++)
        data[k] = ((const unsigned char *)want)[_i ? k / 8 * 8 + 7 - k % 8 : k];
    blob b = npy_of(1, _i ? NPY("'>c16'", "False", "(2,)") : NPY("'<c16'", "False", "(2,)"), (const char *)data,
                    sizeof data);
    ip_image image = decode(b);
    ck_assert_int_eq(image.header.dtype, IMGPAR_COMPLEX128);
    ck_assert_mem_eq(image.pixels, want, sizeof want);
    ip_image_release(&image);
    blob_free(&b);
}
END_TEST

START_TEST(npy_versions_orders_and_types)
{
    blob b = npy_of(npy_good[_i].version, npy_good[_i].header, npy_good[_i].data, npy_good[_i].n);
    ip_image image = decode(b);
    ck_assert_int_eq(image.header.dtype, npy_good[_i].dtype);
    ck_assert_int_eq(image.header.rank, npy_good[_i].rank);
    const size_t size = imgpar_dtype_size(image.header.dtype);
    for (size_t i = 0; i < image.size_bytes / size; i++)
        ck_assert(ip_load_number(image.header.dtype, (char *)image.pixels + i * size) == npy_good[_i].want[i]);
    ip_image_release(&image);
    blob_free(&b);
}
END_TEST

static const struct {
    imgpar_status status;
    const char *header, *message;
} npy_bad[] = {
    { IMGPAR_E_UNSUPPORTED, NPY("'|O'", "False", "(1,)"), "x: NPY: elements of type |O are not supported" },
    { IMGPAR_E_UNSUPPORTED, NPY("'<c32'", "False", "(1,)"), "x: NPY: elements of type <c32 are not supported" },
    { IMGPAR_E_UNSUPPORTED, NPY("'<U5'", "False", "(1,)"), "x: NPY: elements of type <U5 are not supported" },
    { IMGPAR_E_UNSUPPORTED, NPY("'|u2'", "False", "(1,)"), "x: NPY: elements of type |u2 are not supported" },
    { IMGPAR_E_UNSUPPORTED, NPY("[('a', '<i4'), ('b', '<f8')]", "False", "(1,)"),
      "x: NPY: structured arrays (records of fields) are not supported; save each field as an array of its own" },
    { IMGPAR_E_UNSUPPORTED, NPY("'|u1'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"),
      "x: NPY: more than 8 dimensions are not supported" },
    { IMGPAR_E_LIMIT, NPY("'|u1'", "False", "(300000, 300000)"),
      "x: NPY: more than the limit of 268435456 elements " IP_MAX_PIXELS_HINT },
    { IMGPAR_E_LIMIT, NPY("'|u1'", "False", "(0, 9000000000000000000)"), NULL },
    { IMGPAR_E_CORRUPT, NPY("'|u1'", "False", "(99999999999999999999,)"),
      "x: NPY: the header has an extent that fits no integer" },
    { IMGPAR_E_CORRUPT, NPY("'|u1'", "False", "(-1,)"),
      "x: NPY: the header has a shape that is not a tuple of numbers" },
    { IMGPAR_E_CORRUPT, NPY("'|u1'", "False", "(1 2)"),
      "x: NPY: the header has a shape that is not a tuple of numbers" },
    { IMGPAR_E_CORRUPT, NPY("'|u1'", "False", "4"), "x: NPY: the header has no tuple after 'shape'" },
    { IMGPAR_E_CORRUPT, NPY("'|u1'", "0", "(1,)"),
      "x: NPY: the header has neither True nor False for 'fortran_order'" },
    { IMGPAR_E_CORRUPT, NPY("5", "False", "(1,)"), "x: NPY: the header has no text after 'descr'" },
    { IMGPAR_E_CORRUPT, "{'descr': '|u1', 'shape': (1,)}",
      "x: NPY: the header lacks 'descr', 'fortran_order' or 'shape'" },
    { IMGPAR_E_CORRUPT, "{'descr': '|u1', 'descr': '|u1'}", "x: NPY: the header has an unknown or a repeated key" },
    { IMGPAR_E_CORRUPT, "{'a': 1}", "x: NPY: the header has an unknown or a repeated key" },
    { IMGPAR_E_CORRUPT, NPY("'|u1'", "False", "(1,)") "x", "x: NPY: the header goes on after its dict" },
    { IMGPAR_E_CORRUPT, "", "x: NPY: the header ends early" },
    { IMGPAR_E_CORRUPT, "[1, 2]", "x: NPY: the header is not a dict" },
    { IMGPAR_E_CORRUPT, "{'descr", "x: NPY: the header is not a dict of names and values" },
};

START_TEST(npy_headers_are_checked)
{
    blob b = npy_of(1, npy_bad[_i].header, "", 0);
    ck_decode_fails(b, npy_bad[_i].status, npy_bad[_i].message);
    blob_free(&b);
}
END_TEST

#define TEXT(t) t, sizeof t - 1

static const struct {
    const char *text;
    size_t n;
    imgpar_dtype dtype;
    int64_t shape[3];
    int want[8];
} pnm_good[] = {
    { TEXT("P1\n# bits\n3 2\n010\n1 1 1"), IMGPAR_U8, { 2, 3, 1 }, { 255, 0, 255, 0, 0, 0 } },
    { TEXT("P4 3 2\n\x40\xe0"), IMGPAR_U8, { 2, 3, 1 }, { 255, 0, 255, 0, 0, 0 } },
    { TEXT("P4 9 1 \x00\x80"), IMGPAR_U8, { 1, 9, 1 }, { 255, 255, 255, 255, 255, 255, 255, 255 } },
    { TEXT("P2 2 1 15 0 #end\n15"), IMGPAR_U8, { 1, 2, 1 }, { 0, 255 } },
    { TEXT("P2#c\n3 1 4 0 1 2"), IMGPAR_U8, { 1, 3, 1 }, { 0, 64, 128 } },
    { TEXT("P2 2 1 65535 300 65535"), IMGPAR_U16, { 1, 2, 1 }, { 300, 65535 } },
    { TEXT("P3 1 2 255\n1 2 3\n4 5 6\n"), IMGPAR_U8, { 2, 1, 3 }, { 1, 2, 3, 4, 5, 6 } },
    { TEXT("P5 2 1 255\n\n#"), IMGPAR_U8, { 1, 2, 1 }, { 10, 35 } },
    { TEXT("P5 2 1 255#comment\nab"), IMGPAR_U8, { 1, 2, 1 }, { 97, 98 } },
    { TEXT("P5 2 1 1000 \x03\xe8\x01\xf4"), IMGPAR_U16, { 1, 2, 1 }, { 65535, 32768 } },
    { TEXT("P6 1 1 127\n\x00\x40\x7f"), IMGPAR_U8, { 1, 1, 3 }, { 0, 129, 255 } },
    { TEXT("P7\n# c\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\nabcd"),
      IMGPAR_U8,
      { 1, 2, 2 },
      { 97, 98, 99, 100 } },
    { TEXT("P7\nHEIGHT 1\nWIDTH 2\nDEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE\nENDHDR\n\1\0"),
      IMGPAR_U8,
      { 1, 2, 1 },
      { 255, 0 } },
};

START_TEST(pnm_kinds_comments_and_maxima)
{
    blob b = { NULL, 0 };
    blob_add(&b, pnm_good[_i].text, pnm_good[_i].n);
    ip_image image = decode(b);
    ck_assert_int_eq(image.header.dtype, pnm_good[_i].dtype);
    ck_assert_mem_eq(image.header.shape, pnm_good[_i].shape, sizeof pnm_good[_i].shape);
    const size_t size = imgpar_dtype_size(image.header.dtype);
    for (size_t i = 0; i < image.size_bytes / size && i < 8; i++)
        ck_assert_int_eq((int)ip_load_number(image.header.dtype, (char *)image.pixels + i * size),
                         pnm_good[_i].want[i]);
    ip_image_release(&image);
    blob_free(&b);
}
END_TEST

static const struct {
    const char *text;
    imgpar_status status;
    const char *message;
} pnm_bad[] = {
    { "P5 0 1 255\n", IMGPAR_E_CORRUPT, "x: PNM: its header lacks a size, or has one of 0" },
    { "P5 a 1 255\n", IMGPAR_E_CORRUPT, "x: PNM: its header is not the numbers it must be" },
    { "P5 1 1 65536\n", IMGPAR_E_CORRUPT, "x: PNM: its maximum is above 65535" },
    { "P5 1 1 0\n", IMGPAR_E_CORRUPT, "x: PNM: its header lacks a maximum, or has one of 0" },
    { "P5 99999999999 1 255\n", IMGPAR_E_CORRUPT, "x: PNM: its header is not the numbers it must be" },
    { "P5 2000000 1 255\n", IMGPAR_E_LIMIT, "x: 2000000 x 1 pixels: a side is above the limit of 1000000" },
    { "P5 100000 100000 255\n", IMGPAR_E_LIMIT,
      "x: 100000 x 100000 pixels are above the limit of 268435456 " IP_MAX_PIXELS_HINT },
    { "P5 2 1 255\na", IMGPAR_E_CORRUPT, "x: PNM: the data ends early" },
    { "P5 2 1 9\n\1\12", IMGPAR_E_CORRUPT, "x: PNM: a sample is above the maximum" },
    { "P2 2 1 9 1 x", IMGPAR_E_CORRUPT, "x: PNM: a sample is not a number" },
    { "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\nabcde", IMGPAR_E_UNSUPPORTED,
      "x: PNM: 5 channels are not supported, only 1-4" },
    { "P7\nWIDTH x\n", IMGPAR_E_CORRUPT, "x: PNM: its header has a line without a number" },
    { "P7\nWIDTH 1\n", IMGPAR_E_CORRUPT, "x: PNM: its header ends early" },
    { "P8 1 1 255\na", IMGPAR_E_CORRUPT, "x: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font" },
    { "Pretty text", IMGPAR_E_CORRUPT, "x: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font" },
    { "", IMGPAR_E_CORRUPT, "x: it is empty, not an image" },
};

START_TEST(pnm_texts_are_checked)
{
    blob b = { NULL, 0 };
    blob_add(&b, pnm_bad[_i].text, strlen(pnm_bad[_i].text));
    ck_decode_fails(b, pnm_bad[_i].status, pnm_bad[_i].message);
    blob_free(&b);
}
END_TEST

/* ---- .cube ------------------------------------------------------------------------------ */

START_TEST(a_cube_is_a_table_of_floats)
{
    static const char text[] =
        "\xef\xbb\xbf\n  # a comment\r\nTITLE \"two\"\nDOMAIN_MIN 0 0.0 0\n\nLUT_3D_SIZE 2\r\nDOMAIN_MAX 1 1 1.0\n"
        "0 0 0\n1 0 0 \n\t0 1 0\n# in between\n1 1 0\n0 0 1\n1 0 1\n-0.5 1.5e0 1\n1 1 1";
    ip_image image;
    ip_header header;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_msg(!ip_io_probe(text, sizeof text - 1, "x", NULL, &header, &err), "%s", err.message);
    ck_assert(header.rank == 4 && header.dtype == IMGPAR_F32 && header.space == IMGPAR_SPACE_DATA);
    ck_assert_msg(!ip_io_decode(text, sizeof text - 1, "x", NULL, &image, &err), "%s", err.message);
    ck_assert_int_eq((int)image.size_bytes, 2 * 2 * 2 * 3 * 4);
    for (int k = 0; k < 8; k++)
        for (int c = 0; c < 3; c++)
            if (k != 6) ck_assert(((float *)image.pixels)[3 * k + c] == (float)(k >> c & 1));
    ck_assert(((float *)image.pixels)[18] == -0.5F && ((float *)image.pixels)[19] == 1.5F);
    ip_image_release(&image);
}
END_TEST

#define EIGHT "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 1\n"
static const struct {
    const char *text;
    imgpar_status status;
    const char *message;
} cube_bad[] = {
    { "TITLE \"none\"\n", IMGPAR_E_CORRUPT, "x: CUBE: line 1: LUT_3D_SIZE is missing" },
    { "TITLE a\n" EIGHT, IMGPAR_E_CORRUPT, "x: CUBE: line 2: LUT_3D_SIZE is missing" },
    { "LUT_3D_SIZE 1\n0 0 0\n", IMGPAR_E_CORRUPT, "x: CUBE: line 1: LUT_3D_SIZE is a whole number from 2 to 256" },
    { "LUT_3D_SIZE 257\n", IMGPAR_E_CORRUPT, "x: CUBE: line 1: LUT_3D_SIZE is a whole number from 2 to 256" },
    { "LUT_3D_SIZE 2.5\n", IMGPAR_E_CORRUPT, "x: CUBE: line 1: LUT_3D_SIZE is a whole number from 2 to 256" },
    { "LUT_3D_SIZE nan\n", IMGPAR_E_CORRUPT, "x: CUBE: line 1: LUT_3D_SIZE is a whole number from 2 to 256" },
    { "LUT_3D_SIZE 2\nLUT_3D_SIZE 2\n", IMGPAR_E_CORRUPT, "x: CUBE: line 2: LUT_3D_SIZE a second time" },
    { "LUT_1D_SIZE 2\n0 0 0\n1 1 1\n", IMGPAR_E_UNSUPPORTED, "x: CUBE: a table of one dimension is not read" },
    { "LUT_3D_SIZE 2\n0 0 0\n1 0 0\n", IMGPAR_E_CORRUPT, "x: CUBE: it ends after 2 of 8 colours" },
    { "LUT_3D_SIZE 2\n", IMGPAR_E_CORRUPT, "x: CUBE: it ends after 0 of 8 colours" },
    { "LUT_3D_SIZE 2\n" EIGHT "1 1 1", IMGPAR_E_CORRUPT,
      "x: CUBE: line 10: there are more colours than LUT_3D_SIZE tells" },
    { "LUT_3D_SIZE 2\n0 0\n", IMGPAR_E_CORRUPT, "x: CUBE: line 2: a colour is three numbers" },
    { "LUT_3D_SIZE 2\n0 0 0 0\n", IMGPAR_E_CORRUPT, "x: CUBE: line 2: a colour is three numbers" },
    { "LUT_3D_SIZE 2\n0 0 red\n", IMGPAR_E_CORRUPT, "x: CUBE: line 2: a colour is three numbers" },
    { "LUT_3D_SIZE 2\n0 0 0\n0 nan 0\n", IMGPAR_E_CORRUPT,
      "x: CUBE: line 3: a number is not finite, or too large for a float" },
    { "LUT_3D_SIZE 2\n0 0 1e39\n", IMGPAR_E_CORRUPT,
      "x: CUBE: line 2: a number is not finite, or too large for a float" },
    { "LUT_3D_SIZE 2\nDOMAIN_MAX 1 1 255\n" EIGHT, IMGPAR_E_UNSUPPORTED,
      "x: CUBE: line 2: the domain is not 0 to 1, which an array cannot tell; without its lines the file can be read, "
      "and lut3d(a, table, lo=..., hi=...) be told" },
    { "LUT_3D_SIZE 2\nDOMAIN_MIN 0 0\n" EIGHT, IMGPAR_E_CORRUPT, "x: CUBE: line 2: a domain is told by numbers" },
};

START_TEST(cube_texts_are_checked)
{
    blob b = { NULL, 0 };
    blob_add(&b, cube_bad[_i].text, strlen(cube_bad[_i].text));
    ck_decode_fails(b, cube_bad[_i].status, cube_bad[_i].message);
    blob_free(&b);
}
END_TEST

/* ---- EXIF ------------------------------------------------------------------------------- */

/* The first bytes of files that people take for pictures, and what the message calls them. */
#define FOREIGN(bytes, what)                                                                                           \
    {                                                                                                                  \
        bytes, sizeof bytes - 1, "x: cannot read it: it is " what " and neither PNG, JPEG, NPY, PNM, .cube nor a font" \
    }
static const struct {
    const char *bytes;
    size_t n;
    const char *message;
} foreign[] = {
    FOREIGN("GIF89a\1\0\1\0", "a GIF"),
    FOREIGN("GIF87a\1\0\1\0", "a GIF"),
    FOREIGN("II*\0\10\0\0\0", "a TIFF"),
    FOREIGN("MM\0*\0\0\0\10", "a TIFF"),
    FOREIGN("II+\0\10\0\0\0", "a TIFF"),
    FOREIGN("RIFF\x24\0\0\0WEBPVP8 ", "a WebP"),
    FOREIGN("BM\x46\0\0\0\0\0\0\0\x36\0\0\0", "a BMP"),
    FOREIGN("\0\0\0\x18"
            "ftypheic",
            "an HEIC"),
    FOREIGN("\0\0\0\x1c"
            "ftypmif1",
            "an HEIC"),
    FOREIGN("\0\0\0\x1c"
            "ftypavif",
            "an AVIF"),
    FOREIGN("\0\0\0\x0cJXL \r\n\x87\n", "a JPEG XL"),
    FOREIGN("\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000"),
    FOREIGN("%PDF-1.7\n", "a PDF"),
    FOREIGN("<svg xmlns=\"http://www.w3.org/2000/svg\">", "an SVG"),
    FOREIGN("<?xml version=\"1.0\"?><svg/>", "an XML text, perhaps an SVG,"),
    FOREIGN("\x1f\x8b\x08\0", "compressed by gzip"),
    FOREIGN("PK\3\4\x14\0", "a ZIP, perhaps an NPZ,"),
    FOREIGN("imgpar deferred image, from", "a deferred image of SQL, which png() finishes,"),
    { "YUV4MPEG2 W2", 12,
      "x: cannot read it: it is a video, which imgpar-run reads: imgpar-run -e '... $1 ...' FILE.y4m" },
};

START_TEST(foreign_formats_are_named)
{
    ip_header header;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_int_eq(ip_io_probe(foreign[_i].bytes, foreign[_i].n, "x", NULL, &header, &err), IMGPAR_E_UNSUPPORTED);
    ck_assert_str_eq(err.message, foreign[_i].message);
    for (size_t n = 0; n < foreign[_i].n; n++) { /* what is cut is what it is, or no image */
        ip_error cut = { .status = IMGPAR_OK };
        ck_assert_int_ne(ip_io_probe(foreign[_i].bytes, n, "x", NULL, &header, &cut), IMGPAR_OK);
    }
}
END_TEST

/* abc over def, turned upright. */
static const struct {
    int h, w;
    const char *pixels;
} upright[9] = {
    { 2, 3, "abcdef" }, { 2, 3, "abcdef" }, { 2, 3, "cbafed" }, { 2, 3, "fedcba" }, { 2, 3, "defabc" },
    { 3, 2, "adbecf" }, { 3, 2, "daebfc" }, { 3, 2, "fcebda" }, { 3, 2, "cfbead" },
};

START_TEST(png_is_turned_upright)
{
    const int orientation = _i / 3;
    unsigned char exif[26];
    for (int c = 1; c <= 4; c++) {
        unsigned char bytes[24];
        for (int i = 0; i < 6 * c; i++)
            bytes[i] = (unsigned char)("abcdef"[i / c] + i % c);
        ip_pixels p = pixels_3d(IMGPAR_U8, 2, 3, c, bytes);
        blob b = encode(&p, IP_FORMAT_PNG, NULL);
        exif_block(exif, _i % 3 == 1, orientation);
        png_add(&b, _i % 3 == 2 ? "IEND" : "IDAT", "eXIf", exif, sizeof exif);
        ip_image image = decode(b);
        ck_assert_int_eq(image.header.orientation, orientation ? orientation : 1);
        ck_assert_int_eq(image.header.shape[0], upright[orientation].h);
        ck_assert_int_eq(image.header.shape[1], upright[orientation].w);
        for (int i = 0; i < 6 * c; i++)
            ck_assert_int_eq(((unsigned char *)image.pixels)[i], upright[orientation].pixels[i / c] + i % c);
        ip_header header;
        ip_error err = { 0 };
        ck_assert_int_eq(ip_io_probe(b.bytes, b.n, "x", NULL, &header, &err), IMGPAR_OK);
        ck_assert_mem_eq(&header, &image.header, sizeof header);
        ip_image_release(&image);
        blob_free(&b);
    }
}
END_TEST

START_TEST(jpeg_is_turned_upright)
{
    enum { B = 40 }; /* a side of a letter's block; more than the turning's own block of 32 */
    unsigned char *bytes = malloc(6 * B * B);
    for (int i = 0; i < 6 * B * B; i++)
        bytes[i] = (unsigned char)(30 * (i / (3 * B) / B * 3 + i % (3 * B) / B + 1));
    blob b = jpeg_of((jpeg_make){ JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 95, _i % 2, false }, bytes, 2 * B, 3 * B);
    jpeg_add_exif(&b, _i % 2, _i);
    ip_image image = decode(b);
    const int w = upright[_i].w;
    ck_assert_int_eq(image.header.shape[0], upright[_i].h * B);
    ck_assert_int_eq(image.header.shape[1], w * B);
    for (int k = 0; k < 6; k++) {
        int got = ((unsigned char *)image.pixels)[(k / w * B + B / 2) * w * B + k % w * B + B / 2];
        ck_assert_int_le(abs(got - 30 * (upright[_i].pixels[k] - 'a' + 1)), 3);
    }
    ip_image_release(&image);
    blob_free(&b);
    free(bytes);
}
END_TEST

/* ---- JPEG inks ---------------------------------------------------------------------------- */

START_TEST(cmyk_becomes_rgb)
{
    static const struct {
        jpeg_make make;
        unsigned char ink[4];
        int want[3];
    } cases[] = {
        /* Adobe: 255 is no ink. */
        { { JCS_CMYK, JCS_CMYK, 4, 100, false, false }, { 255, 128, 0, 255 }, { 255, 128, 0 } },
        { { JCS_CMYK, JCS_CMYK, 4, 100, false, false }, { 255, 255, 255, 100 }, { 100, 100, 100 } },
        { { JCS_CMYK, JCS_YCCK, 4, 100, true, false }, { 200, 100, 50, 128 }, { 100, 50, 25 } },
        /* Without the marker: 255 is full ink. */
        { { JCS_CMYK, JCS_CMYK, 4, 100, false, true }, { 0, 127, 255, 0 }, { 255, 128, 0 } },
    };
    for (int k = 0; k < N(cases); k++) {
        unsigned char bytes[16 * 16 * 4];
        for (int i = 0; i < 256; i++)
            memcpy(bytes + 4 * i, cases[k].ink, 4);
        blob b = jpeg_of(cases[k].make, bytes, 16, 16);
        ip_image image = decode(b);
        ck_assert_int_eq(image.header.shape[2], 3);
        for (int ch = 0; ch < 3; ch++) {
            int got = ((unsigned char *)image.pixels)[3 * 100 + ch];
            ck_assert_msg(abs(got - cases[k].want[ch]) <= 3, "%d: %d, not %d", k, got, cases[k].want[ch]);
        }
        ip_image_release(&image);
        blob_free(&b);
    }
}
END_TEST

/* ---- PngSuite ----------------------------------------------------------------------------- */

static blob read_whole(const char *path)
{
    blob b = { NULL, 0 };
    FILE *f = fopen(path, "rb");
    char buf[4096];
    for (size_t n; f && (n = fread(buf, 1, sizeof buf, f)) > 0;)
        blob_add(&b, buf, n);
    if (f) fclose(f);
    return b;
}

/* The folder, or NULL. */
static DIR *open_suite(char *folder, size_t n)
{
    const char *shared = getenv("IMGPAR_SHARED"), *source = getenv("srcdir");
    const char *const roots[][2] = { { shared ? shared : "", "" },
                                     { "", "../shared" },
                                     { source ? source : "", "/../shared" },
                                     { source ? source : "", "/../../shared" } };
    for (int i = 0; i < N(roots); i++) {
        snprintf(folder, n, "%s%s/pngsuite", roots[i][0], roots[i][1]);
        DIR *dir = opendir(folder);
        if (dir) return dir;
    }
    return NULL;
}

typedef struct cursor {
    blob b;
    size_t at;
} cursor;

static void read_cursor(png_structp png, png_bytep dst, size_t n)
{
    cursor *c = png_get_io_ptr(png);
    if (n > c->b.n - c->at) png_error(png, "end");
    memcpy(dst, c->b.bytes + c->at, n);
    c->at += n;
}

/* libpng's own high-level reading as RGBA of 8 or 16 bits against our channels of it. */
static void compare_with_libpng(blob b, const ip_image *image, const char *name)
{
    cursor c = { b, 0 };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (setjmp(png_jmpbuf(png))) ck_abort_msg("%s: libpng", name);
    png_set_read_fn(png, &c, read_cursor);
    png_set_add_alpha(png, 0xffff, PNG_FILLER_AFTER);
    png_read_png(png, info, PNG_TRANSFORM_EXPAND | PNG_TRANSFORM_GRAY_TO_RGB | PNG_TRANSFORM_SWAP_ENDIAN, NULL);
    const size_t size = png_get_bit_depth(png, info) / 8, height = png_get_image_height(png, info);
    const size_t width = png_get_image_width(png, info), channels = (size_t)image->header.shape[2];
    ck_assert_uint_eq(png_get_channels(png, info), 4);
    ck_assert_uint_eq(imgpar_dtype_size(image->header.dtype), size);
    ck_assert_uint_eq((size_t)image->header.shape[0], height);
    ck_assert_uint_eq((size_t)image->header.shape[1], width);
    for (size_t i = 0; i < height * width; i++) {
        const unsigned char *want = png_get_rows(png, info)[i / width] + i % width * 4 * size;
        const unsigned char *got = (const unsigned char *)image->pixels + i * channels * size;
        const unsigned char *alpha = channels % 2 ? (const unsigned char *)"\377\377" : got + (channels - 1) * size;
        for (size_t ch = 0; ch < 3; ch++)
            ck_assert_msg(memcmp(want + ch * size, got + (channels > 2 ? ch : 0) * size, size) == 0, "%s: pixel %zu",
                          name, i);
        ck_assert_msg(memcmp(want + 3 * size, alpha, size) == 0, "%s: alpha of pixel %zu", name, i);
    }
    png_destroy_read_struct(&png, &info, NULL);
}

START_TEST(pngsuite_decodes_as_libpng_does)
{
    char folder[512], path[1024];
    DIR *dir = open_suite(folder, sizeof folder);
    if (!dir) {
        fprintf(stderr, "pngsuite is absent: skipped\n");
        return;
    }
    int n_good = 0, n_bad = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        const size_t n = strlen(e->d_name);
        if (n < 4 || strcmp(e->d_name + n - 4, ".png") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        blob b = read_whole(path);
        ip_image image;
        ip_error err;
        imgpar_status st = decode_with(b.bytes, b.n, IP_FAIL_ON_ERROR, NULL, &image, &err);
        if (e->d_name[0] == 'x') {
            ck_assert_msg(st == IMGPAR_E_CORRUPT && strncmp(err.message, "x: ", 3) == 0 && !strchr(err.message, '\n'),
                          "%s: %s", e->d_name, err.message);
            n_bad++;
        } else {
            ck_assert_msg(st == IMGPAR_OK, "%s: %s", e->d_name, err.message);
            compare_with_libpng(b, &image, e->d_name);
            n_good++;
        }
        ip_image_release(&image);
        blob_free(&b);
    }
    closedir(dir);
    ck_assert_int_ge(n_good, 150);
    ck_assert_int_ge(n_bad, 14);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("io");
    TCase *c = tcase_create("formats");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, npy_keeps_every_dtype_and_shape, 0, N(arrays) * IMGPAR_N_DTYPES);
    tcase_add_loop_test(c, png_and_pnm_keep_u8_and_u16, 0, N(lossless));
    tcase_add_loop_test(c, png_of_several_pieces_is_one_stream, 0, N_CONTENTS * N(piece_levels));
    tcase_add_loop_test(c, png_of_large_pieces_is_one_stream, 0, 2);
    tcase_add_loop_test(c, last_block_of_a_code_is_found, 0, N_CONTENTS);
    tcase_add_loop_test(c, what_is_no_code_has_no_last_block, 0, 3);
    tcase_add_loop_test(c, png_of_every_filter_is_read, 0, 8);
    tcase_add_loop_test(c, png_is_no_larger_than_libpng_makes_it, 0, N_CONTENTS);
    tcase_add_loop_test(c, jpeg_keeps_the_look, 0, N(jpeg_settings));
    tcase_add_loop_test(c, jpeg_decodes_as_libjpeg_does, 0, N(jpeg_settings));
    tcase_add_loop_test(c, samples_are_scaled_or_rounded, 0, N(written));
    tcase_add_test(c, jpeg_composes_alpha_on_the_background);
    tcase_add_loop_test(c, shapes_that_do_not_fit_are_refused, 0, N(refused));
    tcase_add_test(c, vectors_and_matrices_are_gray_pictures);
    tcase_add_loop_test(c, settings_are_checked, 0, N(settings));
    tcase_add_test(c, formats_are_found_by_name_and_suffix);
    tcase_add_loop_test(c, npy_versions_orders_and_types, 0, N(npy_good));
    tcase_add_loop_test(c, npy_holds_complex_numbers, 0, 4);
    tcase_add_loop_test(c, npy_holds_complex_numbers_of_doubles, 0, 2);
    tcase_add_loop_test(c, npy_headers_are_checked, 0, N(npy_bad));
    tcase_add_loop_test(c, pnm_kinds_comments_and_maxima, 0, N(pnm_good));
    tcase_add_loop_test(c, pnm_texts_are_checked, 0, N(pnm_bad));
    tcase_add_test(c, a_cube_is_a_table_of_floats);
    tcase_add_loop_test(c, cube_texts_are_checked, 0, N(cube_bad));
    tcase_add_loop_test(c, foreign_formats_are_named, 0, N(foreign));
    tcase_add_loop_test(c, png_is_turned_upright, 0, 27);
    tcase_add_loop_test(c, jpeg_is_turned_upright, 1, 9);
    tcase_add_test(c, cmyk_becomes_rgb);
    tcase_add_test(c, pngsuite_decodes_as_libpng_does);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
