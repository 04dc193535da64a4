/* SPDX-License-Identifier: MIT */
/* Values that come back from their encoded bytes as they went (io/exact.c), and sources that are decoded once
 * (run/decoded.c). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "io_help.h"

#include <imgpar.h>
#include <imgpar_ops.h>
#include <pthread.h>
#include <unistd.h>

/* ---- round trips --------------------------------------------------------------------- */

enum { MOST = 7 * 5 * 4 * 8 };

/* chunk: a PNG of it has ours. */
static const struct {
    ip_format format;
    ip_pixels pixels;
    bool chunk;
} values[] = {
    { IP_FORMAT_PNG,
      { .dtype = IMGPAR_U8, .space = IMGPAR_SPACE_SRGB, .white = 255, .rank = 3, .shape = { 7, 5, 3 } },
      false },
    { IP_FORMAT_PNG,
      { .dtype = IMGPAR_U16, .space = IMGPAR_SPACE_GRAY, .white = 65535, .rank = 3, .shape = { 7, 5, 2 } },
      false },
    { IP_FORMAT_PNG, { .dtype = IMGPAR_U8, .space = IMGPAR_SPACE_GRAY, .rank = 2, .shape = { 7, 5 } }, true },
    { IP_FORMAT_PNG, { .dtype = IMGPAR_U16, .space = IMGPAR_SPACE_DATA, .rank = 2, .shape = { 1, 5 } }, true },
    { IP_FORMAT_PNG, { .dtype = IMGPAR_U8, .space = IMGPAR_SPACE_DATA, .rank = 3, .shape = { 7, 1, 4 } }, true },
    { IP_FORMAT_PNG, { .dtype = IMGPAR_U8, .space = IMGPAR_SPACE_LINEAR, .rank = 3, .shape = { 7, 5, 3 } }, true },
    { IP_FORMAT_PNG, { .dtype = IMGPAR_BOOL, .space = IMGPAR_SPACE_SRGB, .rank = 3, .shape = { 7, 5, 3 } }, true },
    { IP_FORMAT_PNG, { .dtype = IMGPAR_BOOL, .space = IMGPAR_SPACE_GRAY, .rank = 2, .shape = { 1, 1 } }, true },
    { IP_FORMAT_PNG, { .dtype = IMGPAR_BOOL, .space = IMGPAR_SPACE_DATA, .rank = 3, .shape = { 7, 5, 1 } }, true },
    { IP_FORMAT_NPY, { .dtype = IMGPAR_F32, .space = IMGPAR_SPACE_SRGB, .rank = 3, .shape = { 7, 5, 3 } }, false },
    { IP_FORMAT_PNG,
      { .dtype = IMGPAR_U8, .space = IMGPAR_SPACE_SRGB, .white = 1.5, .rank = 3, .shape = { 7, 5, 3 } },
      true },
    { IP_FORMAT_NPY,
      { .dtype = IMGPAR_F32, .space = IMGPAR_SPACE_SRGB, .white = 65535, .rank = 3, .shape = { 7, 5, 3 } },
      false },
    { IP_FORMAT_NPY, { .dtype = IMGPAR_F32, .space = IMGPAR_SPACE_DATA, .rank = 3, .shape = { 7, 5, 3 } }, false },
    { IP_FORMAT_NPY, { .dtype = IMGPAR_I32, .space = IMGPAR_SPACE_GRAY, .rank = 2, .shape = { 7, 5 } }, false },
    { IP_FORMAT_NPY, { .dtype = IMGPAR_U8, .space = IMGPAR_SPACE_DATA, .rank = 2, .shape = { 7, 5 } }, false },
    { IP_FORMAT_NPY, { .dtype = IMGPAR_F64, .space = IMGPAR_SPACE_LINEAR, .rank = 3, .shape = { 2, 2, 4 } }, false },
    { IP_FORMAT_PNG,
      { .dtype = IMGPAR_U16,
        .space = IMGPAR_SPACE_SRGB,
        .white = 65535,
        .alpha_is_number = true,
        .rank = 3,
        .shape = { 3, 2, 4 } },
      true },
    { IP_FORMAT_NPY,
      { .dtype = IMGPAR_I32,
        .space = IMGPAR_SPACE_GRAY,
        .white = 255,
        .alpha_is_number = true,
        .rank = 3,
        .shape = { 3, 2, 2 } },
      false },
};

static size_t bytes_of(const ip_pixels *p)
{
    size_t n = imgpar_dtype_size(p->dtype);
    for (int i = 0; i < p->rank; i++)
        n *= (size_t)p->shape[i];
    return n;
}

/* Value number k with elements at bytes. */
static ip_pixels value_of(int k, unsigned char *bytes)
{
    ip_pixels p = values[k].pixels;
    for (size_t i = 0; i < bytes_of(&p); i++)
        bytes[i] = p.dtype == IMGPAR_BOOL ? i % 3 == 0 : (unsigned char)(i * 11);
    p.pixels = bytes;
    p.is_exact = true;
    return p;
}

START_TEST(an_exact_value_comes_back)
{
    unsigned char bytes[MOST];
    ip_pixels p = value_of(_i, bytes);
    blob b = encode(&p, values[_i].format, NULL);
    ck_assert_int_eq(memmem(b.bytes, b.n, "imGP", 4) != NULL, values[_i].chunk);
    ip_image image = decode(b);
    ck_assert_int_eq(image.header.dtype, p.dtype);
    ck_assert_int_eq(image.header.space, p.space);
    ck_assert_msg(!image.header.tells_white || image.header.white == p.white, "white is %g", image.header.white);
    ck_assert_int_eq(image.header.alpha_is_number, p.alpha_is_number);
    ck_assert_int_eq(image.header.rank, p.rank);
    ck_assert_mem_eq(image.header.shape, p.shape, (size_t)p.rank * sizeof *p.shape);
    ck_assert_uint_eq(image.size_bytes, bytes_of(&p));
    ck_assert_mem_eq(image.pixels, bytes, image.size_bytes);
    ip_image_release(&image);
    blob_free(&b);
    p.is_exact = false;
    b = encode(&p, values[_i].format, NULL);
    ck_assert_msg(!memmem(b.bytes, b.n, "imGP", 4) && !memmem(b.bytes, b.n, "imgpar", 6),
                  "something private in what is saved");
    blob_free(&b);
}
END_TEST

/* ---- chunks that lie -------------------------------------------------------------------- */

/* Where a byte of the chunk's data is changed, and to what. All of these are passed by: the picture is an ordinary
 * one. */
static const struct {
    int at;
    unsigned char value;
} lies[] = {
    { 0, 2 }, { 2, 1 }, { 2, 4 }, { 3, 4 }, { 3, 255 }, { 1, 8 }, { 4, 0xff }, { 12, 0x55 },
};

/* The picture with the data of its chunk (behind IHDR) in place of which data stand, with a right sum. */
static void put_chunk(blob *b, const char *type, const unsigned char *data, size_t n)
{
    blob chunk = png_chunk(type, data, n), made = { NULL, 0 };
    blob_add(&made, b->bytes, 33);
    blob_add(&made, chunk.bytes, chunk.n);
    blob_add(&made, b->bytes + 33 + 28, b->n - 33 - 28);
    blob_free(&chunk);
    blob_free(b);
    *b = made;
}

static void expect_ordinary(blob b)
{
    ip_image image = decode(b);
    ck_assert_int_eq(image.header.dtype, IMGPAR_U8);
    ck_assert_int_eq(image.header.rank, 3);
    ck_assert_int_eq(image.header.space, IMGPAR_SPACE_GRAY);
    ck_assert_uint_eq(image.size_bytes, 12);
    ck_assert_int_eq(((unsigned char *)image.pixels)[0], 255);
    ip_image_release(&image);
}

/* A mask of 3 x 4 with our chunk; *data is where the chunk's data stand. */
static blob make_mask(unsigned char data[16])
{
    static const unsigned char ones[12] = { 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1 };
    ip_pixels p = {
        .dtype = IMGPAR_BOOL, .rank = 2, .shape = { 3, 4 }, .space = IMGPAR_SPACE_GRAY, .pixels = ones, .is_exact = true
    };
    blob b = encode(&p, IP_FORMAT_PNG, NULL);
    ck_assert_mem_eq(b.bytes + 37, "imGP", 4);
    memcpy(data, b.bytes + 41, 16);
    return b;
}

START_TEST(a_chunk_that_does_not_fit_is_passed_by)
{
    unsigned char data[17] = { 0 };
    blob b = make_mask(data);
    data[lies[_i].at] = lies[_i].value;
    put_chunk(&b, "imGP", data, 16);
    expect_ordinary(b);
    blob_free(&b);
}
END_TEST

START_TEST(a_chunk_of_another_length_name_or_place_is_passed_by)
{
    unsigned char data[17] = { 0 };
    for (size_t n = 0; n <= 17; n += n == 0 ? 15 : 2) {
        blob b = make_mask(data);
        put_chunk(&b, "imGP", data, n);
        expect_ordinary(b);
        blob_free(&b);
    }
    blob b = make_mask(data);
    put_chunk(&b, "imGp", data, 16);
    expect_ordinary(b);
    png_add(&b, "IDAT", "imGP", data, 16);
    expect_ordinary(b);
    blob_free(&b);
}
END_TEST

START_TEST(a_chunk_with_a_wrong_sum_and_odd_samples_are_damage)
{
    static const unsigned char levels[12] = { 0, 255, 255, 0, 7 };
    unsigned char data[16];
    blob b = make_mask(data);
    b.bytes[33 + 8 + 3] ^= 1;
    ck_decode_fails(b, IMGPAR_E_CORRUPT, NULL);
    blob_free(&b);
    ip_pixels p = {
        .dtype = IMGPAR_U8, .rank = 2, .shape = { 3, 4 }, .space = IMGPAR_SPACE_GRAY, .pixels = levels, .is_exact = true
    };
    b = encode(&p, IP_FORMAT_PNG, NULL);
    memcpy(data, b.bytes + 41, 16);
    data[1] = 1; /* a bool */
    put_chunk(&b, "imGP", data, 16);
    ck_decode_fails(b, IMGPAR_E_CORRUPT, "x: PNG: samples of a bool are neither 0 nor 255");
    blob_free(&b);
}
END_TEST

static blob read_whole(const char *path)
{
    blob b = { NULL, 0 };
    char part[4096];
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        blob_add(&b, part, n);
    fclose(f);
    return b;
}

/* ---- decoded once ------------------------------------------------------------------------- */

static imgpar_context *new_context(void)
{
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    return ctx;
}

static uint64_t decodes_of(imgpar_context *ctx)
{
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_context_counters(ctx, &c);
    return c.decodes;
}

static void save_picture(imgpar_context *ctx, const char *path, const char *text)
{
    imgpar_array *a = imgpar_apply(ctx, text, NULL, 0);
    ck_assert_msg(imgpar_save(a, path, NULL) == IMGPAR_OK, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
}

/* The gray level at x, y of a. */
static int level_at(imgpar_array *a, int x, int y)
{
    unsigned char level = 0;
    imgpar_array *one = imgpar_crop(a, x, y, 1, 1);
    ck_assert_msg(imgpar_array_read(one, &level, 1) == IMGPAR_OK, "%s", imgpar_array_message(one));
    imgpar_array_release(one);
    return level;
}

START_TEST(regions_of_an_open_file_decode_it_once)
{
    imgpar_context *ctx = new_context();
    save_picture(ctx, "once.png", "cast(make(20, 10, x + 20 * y), u8)");
    imgpar_array *a = imgpar_open(ctx, "once.png"), *same = imgpar_open(ctx, "once.png");
    for (int k = 0; k < 20; k++)
        ck_assert_int_eq(level_at(k & 1 ? a : same, k, 3), k + 60);
    ck_assert_uint_eq(decodes_of(ctx), 1);
    imgpar_array_release(a);
    imgpar_array_release(same);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(another_picture_in_a_file_is_never_taken_for_the_old_one)
{
    imgpar_context *ctx = new_context();
    for (int k = 0; k < 50; k++) { /* of one size, within one tick of the file system's clock */
        char text[64];
        snprintf(text, sizeof text, "cast(make(4, 4, %d + x), u8)", k);
        save_picture(ctx, "turns.png", text);
        imgpar_array *a = imgpar_open(ctx, "turns.png");
        ck_assert_int_eq(level_at(a, 2, 0), k + 2);
        imgpar_array_release(a);
    }
    imgpar_array *a = imgpar_open(ctx, "turns.png");
    ck_assert_int_eq(level_at(a, 0, 0), 49);
    save_picture(ctx, "turns.png", "cast(make(5, 4, 1), u8)");
    imgpar_array *one = imgpar_crop(a, 0, 0, 1, 1);
    unsigned char level;
    ck_assert_int_eq(imgpar_array_read(one, &level, 1), IMGPAR_E_IO);
    ck_assert_str_eq(imgpar_array_message(one), "turns.png changed since it was opened");
    imgpar_array_release(one);
    imgpar_array_release(a);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(what_is_decoded_with_a_warning_warns_again)
{
    imgpar_context *ctx = new_context();
    save_picture(ctx, "cut.png", "cast(make(40, 40, x * y), u8)");
    blob b = read_whole("cut.png");
    FILE *f = fopen("cut.png", "wb");
    fwrite(b.bytes, 1, b.n * 2 / 3, f);
    fclose(f);
    imgpar_array *a = imgpar_open_with(ctx, "cut.png", "fail_on=none");
    for (int k = 0; k < 2; k++)
        level_at(a, 0, 0);
    ck_assert_uint_eq(decodes_of(ctx), 2);
    imgpar_array_release(a);
    blob_free(&b);
    imgpar_context_release(ctx);
}
END_TEST

typedef struct reader {
    imgpar_context *ctx;
    blob pictures[4];
    int id;
} reader;

static void *read_many(void *user)
{
    reader *r = user;
    for (int k = 0; k < 200; k++) {
        int which = (k + r->id) % 4;
        imgpar_array *a = imgpar_open_memory(r->ctx, r->pictures[which].bytes, r->pictures[which].n);
        ck_assert_int_eq(level_at(a, which, 1), 50 * which + which);
        imgpar_array_release(a);
    }
    return NULL;
}

START_TEST(threads_share_what_is_decoded)
{
    imgpar_context *ctx = new_context();
    pthread_t threads[4];
    reader readers[4];
    blob pictures[4];
    for (int k = 0; k < 4; k++) {
        char text[64];
        snprintf(text, sizeof text, "cast(make(9, 9, x + %d), u8)", 50 * k);
        save_picture(ctx, "thread.png", text);
        pictures[k] = read_whole("thread.png");
    }
    for (int k = 0; k < 4; k++) {
        readers[k] = (reader){ .ctx = ctx, .id = k };
        memcpy(readers[k].pictures, pictures, sizeof pictures);
        ck_assert_int_eq(pthread_create(&threads[k], NULL, read_many, &readers[k]), 0);
    }
    for (int k = 0; k < 4; k++)
        pthread_join(threads[k], NULL);
    ck_assert_uint_le(decodes_of(ctx), 16); /* each once a thread, where all come at the same time */
    for (int k = 0; k < 4; k++)
        blob_free(&pictures[k]);
    imgpar_context_release(ctx);
}
END_TEST

/* Both contexts take it for what it was: the one that made it, which need not decode it, and another one. */
static void expect_again(const char *text, const char *format)
{
    imgpar_options options = { .struct_size = sizeof options, .format = format };
    imgpar_context *const contexts[] = { new_context(), new_context() };
    imgpar_array *a = imgpar_apply(contexts[0], text, NULL, 0);
    imgpar_info was = { .struct_size = sizeof was }, is = { .struct_size = sizeof is };
    void *bytes;
    size_t n;
    ck_assert_msg(imgpar_array_info(a, &was) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    ck_assert_msg(imgpar_encode_exact(a, &options, &bytes, &n) == IMGPAR_OK, "%s", imgpar_array_message(a));
    for (int k = 0; k < 2; k++) {
        imgpar_array *again = imgpar_open_memory(contexts[k], bytes, n);
        ck_assert_msg(imgpar_array_info(again, &is) == IMGPAR_OK, "%s", imgpar_array_message(again));
        ck_assert_msg(is.space == was.space && is.dtype == was.dtype && is.rank == was.rank && is.white == was.white,
                      "%s of %s: space %d, white %g, not %d, %g", format, text, is.space, is.white, was.space,
                      was.white);
        imgpar_array_release(again);
    }
    imgpar_free(bytes);
    imgpar_array_release(a);
    for (int k = 0; k < 2; k++)
        imgpar_context_release(contexts[k]);
}

/* Gray, colours and data of each dtype, with the usual white and without. */
START_TEST(every_space_comes_back)
{
    static const char *const dtypes[] = { "u8", "u16", "bool", "i32", "f32" };
    static const char *const shapes[] = { "[3, 4]", "[3, 4, 1]", "[3, 4, 2]", "[3, 4, 3]", "[3, 4, 4]" };
    static const char *const whites[] = { "set_white(a, 0)", "set_white(a, 0, picture=true)",
                                          "set_white(a, 255, picture=true)", "set_white(a, 1, picture=true)",
                                          "set_white(a, 1, mask=true, picture=true)" };
    char text[160];
    for (int s = 0; s < N(shapes); s++)
        for (int w = 0; w < N(whites); w++) {
            snprintf(text, sizeof text, "a = cast(zeros(%s), %s)\n%s", shapes[s], dtypes[_i], whites[w]);
            if (_i < 3) expect_again(text, "png"); /* what a PNG holds */
            expect_again(text, "npy");
        }
}
END_TEST

START_TEST(an_encoded_picture_is_open_without_decoding)
{
    imgpar_context *ctx = new_context();
    imgpar_options options = { .struct_size = sizeof options, .format = "png" };
    imgpar_array *a = imgpar_apply(ctx, "make(6, 4, x > 2)", NULL, 0);
    void *bytes;
    size_t n;
    unsigned char ones[24];
    ck_assert_msg(imgpar_encode_exact(a, &options, &bytes, &n) == IMGPAR_OK, "%s", imgpar_array_message(a));
    imgpar_array *again = imgpar_open_memory(ctx, bytes, n);
    ck_assert_int_eq(imgpar_array_read(again, ones, sizeof ones), IMGPAR_OK);
    for (int k = 0; k < 24; k++)
        ck_assert_int_eq(ones[k], k % 6 > 2);
    ck_assert_uint_eq(decodes_of(ctx), 0);
    imgpar_free(bytes);
    options.settings = "level=1";
    ck_assert_int_eq(imgpar_encode_exact(again, &options, &bytes, &n), IMGPAR_E_ARGUMENT);
    ck_assert_str_eq(imgpar_array_message(again), "exact values take no settings, not \"level=1\"");
    options = (imgpar_options){ .struct_size = sizeof options, .format = "jpeg" };
    ck_assert_int_eq(imgpar_encode_exact(again, &options, &bytes, &n), IMGPAR_E_UNSUPPORTED);
    imgpar_array_release(a);
    imgpar_array_release(again);
    imgpar_context_release(ctx);
}
END_TEST

int main(void)
{
    char folder[] = "/tmp/check_exact-XXXXXX", command[64];
    if (!mkdtemp(folder) || chdir(folder) != 0) return EXIT_FAILURE;
    Suite *suite = suite_create("exact");
    TCase *c = tcase_create("exact");
    tcase_add_loop_test(c, an_exact_value_comes_back, 0, N(values));
    tcase_add_loop_test(c, a_chunk_that_does_not_fit_is_passed_by, 0, N(lies));
    tcase_add_test(c, a_chunk_of_another_length_name_or_place_is_passed_by);
    tcase_add_test(c, a_chunk_with_a_wrong_sum_and_odd_samples_are_damage);
    tcase_add_test(c, regions_of_an_open_file_decode_it_once);
    tcase_add_test(c, another_picture_in_a_file_is_never_taken_for_the_old_one);
    tcase_add_test(c, what_is_decoded_with_a_warning_warns_again);
    tcase_add_test(c, threads_share_what_is_decoded);
    tcase_add_loop_test(c, every_space_comes_back, 0, 5);
    tcase_add_test(c, an_encoded_picture_is_open_without_decoding);
    suite_add_tcase(suite, c);
    int status = run_suite(suite);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? status : EXIT_FAILURE;
}
