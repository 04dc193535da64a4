/* SPDX-License-Identifier: MIT */
/*
 * The C API used wrongly: errors that travel along a graph, bad arguments, and who owns
 * what. Messages that users read are pinned here where no other test sees them. (The API used
 * hard, with little memory, failing calls and impatient users: check_stress.c.)
 */
#include <imgpar.h>

#include "asserts.h"
#include "held.h"
#include "run/context.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { W = 37, H = 23, C = 3, N_BYTES = W * H * C };

static const int64_t shape[3] = { H, W, C };

static void fill_pixels(uint8_t *pixels, size_t n)
{
    for (size_t k = 0; k < n; k++)
        pixels[k] = (uint8_t)(k * 37 % 251);
}

static imgpar_context *new_context(void)
{
    imgpar_context *ctx;
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    return ctx;
}

static imgpar_array *new_image(imgpar_context *ctx)
{
    uint8_t pixels[N_BYTES];
    fill_pixels(pixels, N_BYTES);
    return imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, pixels);
}

/* Fails unless a is an error array of that status; message: a part of its own, or NULL. Releases a. */
static void expect_error(imgpar_array *a, imgpar_status status, const char *message)
{
    ck_assert_ptr_nonnull(a);
    ck_assert_msg(imgpar_array_status(a) == status, "is \"%s\" (%s), must be \"%s\"",
                  imgpar_status_name(imgpar_array_status(a)), imgpar_array_message(a), imgpar_status_name(status));
    ck_assert_msg(!message || strstr(imgpar_array_message(a), message), "says \"%s\", must say \"%s\"",
                  imgpar_array_message(a), message);
    imgpar_array_release(a);
}

/* ---- errors ------------------------------------------------------------------------------------ */

START_TEST(errors_travel_and_keep_the_first_cause)
{
    imgpar_context *ctx = new_context();
    imgpar_array *image = new_image(ctx);
    imgpar_array *a = imgpar_blur(image, -1, IMGPAR_BORDER_REPLICATE);
    imgpar_array *b = imgpar_invert(a), *c = imgpar_blend(image, b, 7), *d = imgpar_op(ctx, "nonsense", &c, 1, NULL);
    imgpar_array *e = imgpar_apply(ctx, "boxblur($1)", &c, 1);
    uint8_t bytes[N_BYTES];
    imgpar_info info = { .struct_size = sizeof info };
    char *text = NULL;
    void *encoded = NULL;
    size_t n;
    imgpar_options png = { .struct_size = sizeof png, .format = "png" };
    ck_assert_str_eq(imgpar_array_message(a), "blur: sigma=-1 is below 0");
    ck_assert_str_eq(imgpar_array_message(b), "blur: sigma=-1 is below 0");
    ck_assert_str_eq(imgpar_array_message(c), "blur: sigma=-1 is below 0");
    ck_assert_int_eq(imgpar_array_info(c, &info), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_eval(c, NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_read(c, bytes, sizeof bytes), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_save(c, "/nonexistent/x.png", NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_encode(c, &png, &encoded, &n), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_explain(c, "text", &text), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_verify(c, NULL, NULL), IMGPAR_E_ARGUMENT);
    ck_assert_str_eq(imgpar_array_message(c), "blur: sigma=-1 is below 0");
    ck_assert_ptr_null(text);
    ck_assert_ptr_null(encoded);
    ck_assert_int_ne(imgpar_array_status(d), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_status(e), IMGPAR_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(e), "blur: sigma=-1 is below 0"));
    imgpar_array *const all[] = { a, b, c, d, e, image };
    for (int k = 0; k < 6; k++)
        imgpar_array_release(all[k]);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(bad_arguments_are_told_apart)
{
    imgpar_context *ctx = new_context(), *other = new_context();
    imgpar_array *image = new_image(ctx), *foreign = new_image(other);
    imgpar_array *small = imgpar_crop(image, 0, 0, 5, 5), *gray = imgpar_op(ctx, "gray", &image, 1, NULL);
    imgpar_array *pair[] = { image, small };
    expect_error(imgpar_boxblur(image, 4, IMGPAR_BORDER_WRAP), IMGPAR_E_ARGUMENT,
                 "boxblur: size=4 is even; it must be odd");
    expect_error(imgpar_boxblur(image, -3, IMGPAR_BORDER_WRAP), IMGPAR_E_ARGUMENT, "boxblur: size=-3 is below 1");
    expect_error(imgpar_boxblur(image, 3, (imgpar_border)77), IMGPAR_E_ARGUMENT, "border");
    expect_error(imgpar_boxblur(NULL, 3, IMGPAR_BORDER_WRAP), IMGPAR_E_ARGUMENT, "boxblur: an array is NULL");
    expect_error(imgpar_blend(image, small, 0.5), IMGPAR_E_SHAPE, "blend: a is 37x23, b is 5x5");
    expect_error(imgpar_blend(image, foreign, 0.5), IMGPAR_E_ARGUMENT, "different contexts");
    expect_error(imgpar_blend(image, image, 1.5), IMGPAR_E_ARGUMENT, "blend: ratio=1.5 is above 1");
    expect_error(imgpar_crop(image, 30, 0, 8, 3), IMGPAR_E_SHAPE, "crop: x=30 and width=8 reach beyond the width 37");
    expect_error(imgpar_convolve(image, NULL, 3, 3, 1, 0, IMGPAR_BORDER_WRAP), IMGPAR_E_ARGUMENT, "convolve: matrix");
    expect_error(imgpar_convolve(image, (double[]){ 1, 2 }, 1, 2, 1, 0, IMGPAR_BORDER_WRAP), IMGPAR_E_ARGUMENT, "odd");
    expect_error(imgpar_op(ctx, "blurr", &image, 1, NULL), IMGPAR_E_ARGUMENT, "blur");
    expect_error(imgpar_op(ctx, NULL, &image, 1, NULL), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_op(ctx, "blur", NULL, 1, NULL), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_op(ctx, "blur", &image, 0, NULL), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_op(ctx, "blur", pair, 2, "border=wrap"), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_op(ctx, "blur", &image, 1, "sigma"), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_op(ctx, "blur", &image, 1, "sigma=2, sigma=3"), IMGPAR_E_ARGUMENT, "sigma is given twice");
    expect_error(imgpar_op(ctx, "blur", &image, 1, "border=mirror"), IMGPAR_E_ARGUMENT, "reflect101");
    expect_error(imgpar_op(ctx, "shift", &image, 1, "offsets=[1 1]"), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_apply(ctx, "$2", &image, 1), IMGPAR_E_SYNTAX, NULL);
    expect_error(imgpar_apply(ctx, NULL, &image, 1), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_apply(ctx, "$1 + $2", (imgpar_array *[]){ image, NULL }, 2), IMGPAR_E_ARGUMENT,
                 "$2: the array is NULL");
    expect_error(imgpar_apply_safe(ctx, "$1", (imgpar_array *[]){ NULL }, 1), IMGPAR_E_ARGUMENT,
                 "$1: the array is NULL");
    expect_error(imgpar_apply(ctx, "save($1, \"x.png\")", &image, 1), IMGPAR_E_SYNTAX, NULL);
    expect_error(imgpar_apply_safe(ctx, "open(\"x.png\")", NULL, 0), IMGPAR_E_SYNTAX, NULL);
    expect_error(imgpar_open(ctx, "/nonexistent/x.png"), IMGPAR_E_IO, "/nonexistent/x.png");
    expect_error(imgpar_open(ctx, NULL), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_open_memory(ctx, "not an image", 12), IMGPAR_E_CORRUPT, NULL);
    expect_error(imgpar_open_memory(ctx, NULL, 0), IMGPAR_E_ARGUMENT, NULL);
    imgpar_array *const all[] = { image, foreign, small, gray };
    for (int k = 0; k < 4; k++)
        imgpar_array_release(all[k]);
    imgpar_context_release(ctx);
    imgpar_context_release(other);
}
END_TEST

START_TEST(arrays_of_no_elements_are_arrays)
{
    static const int64_t none_of_5[] = { 0, 5 };
    imgpar_context *ctx = new_context();
    imgpar_array *none = imgpar_array_from_data(ctx, IMGPAR_F32, 2, none_of_5, NULL);
    imgpar_array *wrapped = imgpar_array_wrap(ctx, IMGPAR_F32, 2, none_of_5, NULL, NULL, NULL);
    imgpar_array *sum = imgpar_apply(ctx, "sum($1 + $2)", (imgpar_array *[]){ none, wrapped }, 2);
    imgpar_array *beside = imgpar_apply(ctx, "concatenate($1, ones([1 5]))", &none, 1);
    float total = 7, row[5] = { 0 };
    ck_assert_int_eq(imgpar_array_eval(none, NULL), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(wrapped, NULL, 0), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(sum, &total, sizeof total), IMGPAR_OK);
    ck_assert(total == 0);
    ck_assert_int_eq(imgpar_array_read(beside, row, sizeof row), IMGPAR_OK);
    ck_assert(row[0] == 1 && row[4] == 1);
    imgpar_array *const all[] = { none, wrapped, sum, beside };
    for (int k = 0; k < 4; k++)
        imgpar_array_release(all[k]);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(null_is_refused_or_harmless)
{
    imgpar_context *ctx = new_context();
    imgpar_array *image = new_image(ctx);
    imgpar_counters counters = { .struct_size = sizeof counters };
    char *text;
    void *encoded;
    size_t n;
    ck_assert_int_eq(imgpar_context_new(NULL, NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(NULL, "fuse", "1"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, NULL, "1"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "fuse", NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "fuse", "2"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "nothing", "1"), IMGPAR_E_ARGUMENT);
    ck_assert_ptr_null(imgpar_context_retain(NULL));
    ck_assert_ptr_null(imgpar_context_notice(NULL));
    imgpar_context_release(NULL);
    imgpar_context_counters(ctx, &counters);
    imgpar_array_release(NULL);
    imgpar_free(NULL);
    ck_assert_int_eq(imgpar_array_info(image, NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_eval(NULL, 0, NULL), IMGPAR_OK);
    ck_assert_int_eq(imgpar_eval((imgpar_array *[]){ NULL }, 1, NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_read(NULL, &n, sizeof n), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_read(image, NULL, N_BYTES), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_explain(image, "text", NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_array_explain(image, "prose", &text), IMGPAR_E_ARGUMENT);
    ck_assert_ptr_null(text);
    ck_assert_int_eq(imgpar_save(image, NULL, NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_save(image, "no-ending", NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_encode(image, NULL, NULL, NULL), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_encode(image, NULL, &encoded, &n), IMGPAR_E_ARGUMENT); /* no format */
    ck_assert_int_eq(imgpar_array_status(NULL), IMGPAR_E_ARGUMENT);
    ck_assert_ptr_nonnull(imgpar_array_message(NULL));
    ck_assert_ptr_nonnull(imgpar_status_name((imgpar_status)999));
    ck_assert_ptr_null(imgpar_dtype_name((imgpar_dtype)99));
    ck_assert_uint_eq(imgpar_dtype_size((imgpar_dtype)99), 0);
    ck_assert_ptr_null(imgpar_op_get(imgpar_op_count()));
    ck_assert_ptr_null(imgpar_op_find("nothing"));
    ck_assert_ptr_null(imgpar_op_find(NULL));
    imgpar_array_release(image);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(shapes_that_cannot_be_are_refused)
{
    imgpar_context *ctx = new_context();
    uint8_t byte = 0;
    const int64_t huge = (int64_t)1 << 30;
    expect_error(imgpar_array_from_data(NULL, IMGPAR_U8, 3, shape, &byte), IMGPAR_E_ARGUMENT, NULL);
    expect_error(imgpar_array_from_data(ctx, (imgpar_dtype)99, 3, shape, &byte), IMGPAR_E_ARGUMENT, "dtype=99");
    expect_error(imgpar_array_from_data(ctx, IMGPAR_U8, 0, shape, &byte), IMGPAR_E_ARGUMENT, "rank=0");
    expect_error(imgpar_array_from_data(ctx, IMGPAR_U8, 9, shape, &byte), IMGPAR_E_ARGUMENT, "rank=9");
    expect_error(imgpar_array_from_data(ctx, IMGPAR_U8, 3, NULL, &byte), IMGPAR_E_ARGUMENT, "NULL");
    expect_error(imgpar_array_from_data(ctx, IMGPAR_U8, 3, shape, NULL), IMGPAR_E_ARGUMENT, "NULL");
    expect_error(imgpar_array_from_data(ctx, IMGPAR_U8, 2, (int64_t[]){ -1, 5 }, &byte), IMGPAR_E_ARGUMENT,
                 "shape[0]=-1");
    expect_error(imgpar_array_from_data(ctx, IMGPAR_U8, 2, (int64_t[]){ 5, -1 }, &byte), IMGPAR_E_ARGUMENT,
                 "shape[1]=-1");
    expect_error(imgpar_array_from_data(ctx, IMGPAR_F64, 3, (int64_t[]){ huge, huge, huge }, &byte), IMGPAR_E_LIMIT,
                 NULL);
    expect_error(imgpar_array_from_data(ctx, IMGPAR_F64, 4, (int64_t[]){ huge, huge, 2, 4 }, &byte), IMGPAR_E_LIMIT,
                 NULL);
    expect_error(imgpar_array_from_data(ctx, IMGPAR_U8, 1, (int64_t[]){ INT64_MAX }, &byte), IMGPAR_E_ARGUMENT, NULL);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(a_wrong_size_is_told_and_nothing_is_written)
{
    imgpar_context *ctx = new_context();
    imgpar_array *image = new_image(ctx), *a = imgpar_invert(image);
    uint8_t bytes[N_BYTES + 1];
    memset(bytes, 77, sizeof bytes);
    ck_assert_int_eq(imgpar_array_read(a, bytes, N_BYTES - 1), IMGPAR_E_ARGUMENT);
    ck_assert_str_eq(imgpar_array_message(a), "read: the array has 2553 bytes, the destination 2552");
    ck_assert_int_eq(imgpar_array_read(a, bytes, N_BYTES + 1), IMGPAR_E_ARGUMENT);
    for (size_t k = 0; k < sizeof bytes; k++)
        ck_assert_int_eq(bytes[k], 77);
    ck_assert_int_eq(imgpar_array_read(a, bytes, N_BYTES), IMGPAR_OK);
    ck_assert_int_eq(bytes[N_BYTES], 77);
    imgpar_array_release(a);
    imgpar_array_release(image);
    imgpar_context_release(ctx);
}
END_TEST

/* ---- ownership --------------------------------------------------------------------------------- */

START_TEST(the_order_of_releases_is_free)
{
    uint8_t bytes[N_BYTES], pixels[N_BYTES];
    imgpar_context *ctx = new_context();
    imgpar_array *image = new_image(ctx), *a = imgpar_invert(image), *b = imgpar_boxblur(a, 3, IMGPAR_BORDER_WRAP);
    fill_pixels(pixels, N_BYTES);
    imgpar_context_release(ctx);
    imgpar_array_release(image);
    ck_assert_ptr_eq(imgpar_array_retain(a), a);
    imgpar_array_release(a);
    ck_assert_int_eq(imgpar_array_read(a, bytes, N_BYTES), IMGPAR_OK);
    ck_assert_int_eq(bytes[10], 255 - pixels[10]);
    imgpar_array_release(a);
    ck_assert_int_eq(imgpar_array_eval(b, NULL), IMGPAR_OK);
    imgpar_array_replace(&b, imgpar_invert(b));
    ck_assert_int_eq(imgpar_array_read(b, bytes, N_BYTES), IMGPAR_OK);
    imgpar_array_release(b);
}
END_TEST

/* What live values hold on the device; the pool's idle buffers are freed first. */
static uint64_t device_bytes(imgpar_context *ctx)
{
    imgpar_counters counters = { .struct_size = sizeof counters };
    if (ctx->device) ip_device_trim(ctx->device);
    imgpar_context_counters(ctx, &counters);
    ck_assert_uint_ge(counters.device_bytes_peak, counters.device_bytes);
    return counters.device_bytes;
}

START_TEST(kept_values_go_with_the_last_handle)
{
    imgpar_context *ctx = new_context();
    imgpar_array *image = new_image(ctx), *a = imgpar_invert(image);
    uint8_t bytes[N_BYTES];
    ck_assert_int_eq(imgpar_array_read(a, bytes, N_BYTES), IMGPAR_OK);
    ck_assert_uint_eq(device_bytes(ctx), 0); /* reading keeps none */
    imgpar_array *soft = imgpar_boxblur(a, 3, IMGPAR_BORDER_REPLICATE), *twice = imgpar_array_retain(soft);
    ck_assert_int_eq(imgpar_array_eval(soft, NULL), IMGPAR_OK);
    uint64_t kept = device_bytes(ctx);
    if (ctx->device) ck_assert_uint_ge(kept, N_BYTES);
    imgpar_array_release(soft);
    ck_assert_uint_eq(device_bytes(ctx), kept);
    imgpar_array *later = imgpar_invert(twice); /* stands on the node, not on its value */
    imgpar_array_release(twice);
    ck_assert_uint_eq(device_bytes(ctx), 0);
    ck_assert_int_eq(imgpar_array_read(later, bytes, N_BYTES), IMGPAR_OK);
    imgpar_array_release(later);
    imgpar_array_release(a);
    imgpar_array_release(image);
    ck_assert_uint_eq(device_bytes(ctx), 0);
    imgpar_context_release(ctx);
}
END_TEST

static void count_release(void *user, void *data)
{
    (void)data;
    ++*(int *)user;
}

START_TEST(wrapped_memory_is_given_back_once)
{
    imgpar_context *ctx = new_context();
    static uint8_t pixels[N_BYTES];
    uint8_t bytes[N_BYTES];
    int n_released = 0;
    fill_pixels(pixels, N_BYTES);
    imgpar_array *image = imgpar_array_wrap(ctx, IMGPAR_U8, 3, shape, pixels, count_release, &n_released);
    imgpar_array *a = imgpar_invert(image), *plain = imgpar_array_wrap(ctx, IMGPAR_U8, 3, shape, pixels, NULL, NULL);
    imgpar_array_release(image);
    ck_assert_int_eq(n_released, 0);
    ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(a, bytes, N_BYTES), IMGPAR_OK);
    ck_assert_int_eq(bytes[100], 255 - pixels[100]);
    imgpar_array_release(a);
    ck_assert_int_eq(n_released, 1);
    expect_error(imgpar_array_wrap(ctx, IMGPAR_U8, 9, shape, pixels, count_release, &n_released), IMGPAR_E_ARGUMENT,
                 NULL);
    ck_assert_int_eq(n_released, 2);
    expect_error(imgpar_array_wrap(NULL, IMGPAR_U8, 3, shape, pixels, count_release, &n_released), IMGPAR_E_ARGUMENT,
                 NULL);
    ck_assert_int_eq(n_released, 3);
    imgpar_array_release(plain);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(a_wrapped_file_is_given_back_once)
{
    imgpar_context *ctx = new_context();
    imgpar_array *image = new_image(ctx);
    imgpar_options png = { .struct_size = sizeof png, .format = "png" };
    void *file;
    size_t n;
    uint8_t bytes[N_BYTES], want[N_BYTES];
    int n_released = 0;
    fill_pixels(want, N_BYTES);
    ck_assert_int_eq(imgpar_encode(image, &png, &file, &n), IMGPAR_OK);
    imgpar_array_release(image);
    imgpar_array *wrapped = imgpar_open_wrap(ctx, file, n, count_release, &n_released), *a = imgpar_invert(wrapped);
    imgpar_array *plain = imgpar_open_wrap(ctx, file, n, NULL, NULL), *copied = imgpar_open_memory(ctx, file, n);
    ck_assert_int_eq(imgpar_array_read(wrapped, bytes, N_BYTES), IMGPAR_OK);
    ck_assert_mem_eq(bytes, want, N_BYTES);
    imgpar_array_release(wrapped);
    ck_assert_int_eq(n_released, 0);
    ck_assert_int_eq(imgpar_array_read(a, bytes, N_BYTES), IMGPAR_OK);
    ck_assert_int_eq(bytes[100], 255 - want[100]);
    imgpar_array_release(a);
    ck_assert_int_eq(n_released, 1);
    imgpar_array_release(plain);
    expect_error(imgpar_open_wrap(ctx, file, 9, count_release, &n_released), IMGPAR_E_CORRUPT, NULL);
    expect_error(imgpar_open_wrap(ctx, NULL, 0, count_release, &n_released), IMGPAR_E_ARGUMENT, "the bytes are NULL");
    expect_error(imgpar_open_wrap(NULL, file, n, count_release, &n_released), IMGPAR_E_ARGUMENT, NULL);
    ck_assert_int_eq(n_released, 4);
    memset(file, 0, n); /* a copy is a copy */
    imgpar_free(file);
    ck_assert_int_eq(imgpar_array_read(copied, bytes, N_BYTES), IMGPAR_OK);
    ck_assert_mem_eq(bytes, want, N_BYTES);
    imgpar_array_release(copied);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(what_cannot_be_saved_is_not_computed)
{
    static const struct {
        int rank;
        int64_t shape[4];
        const char *path, *settings;
        const char *message;
    } rows[] = {
        { 4, { 2, 2, 2, 3 }, "a.png", NULL, "png holds [height, width, 1-4 channels], not [2, 2, 2, 3]" },
        { 3, { 2, 2, 6 }, "a.jpg", NULL, "jpeg holds [height, width, 1-4 channels], not [2, 2, 6]" },
        { 2, { 2, 70000 }, "a.jpg", NULL, "jpeg: sides reach 65500 pixels at most" },
        { 3, { 2, 2, 4 }, "a.PPM", NULL, "PPM holds no alpha, and the image has 4 channels" },
        { 3, { 2, 2, 3 }, "a.png", "quality=3", "png: unknown setting quality" },
        { 3, { 2, 2, 3 }, "a.xyz", NULL, "the name tells no format" },
    };
    static const uint8_t zeros[140000];
    imgpar_context *ctx = new_context();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        imgpar_options options = { .struct_size = sizeof options, .settings = rows[k].settings };
        imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, rows[k].rank, rows[k].shape, zeros),
                     *b = imgpar_invert(a);
        imgpar_counters counters = { .struct_size = sizeof counters };
        ck_assert_int_ne(imgpar_save(b, rows[k].path, &options), IMGPAR_OK);
        ck_assert_msg(strstr(imgpar_array_message(b), rows[k].message), "%s", imgpar_array_message(b));
        imgpar_context_counters(ctx, &counters);
        ck_assert_uint_eq(counters.evaluations, 0);
        imgpar_array_release(a);
        imgpar_array_release(b);
    }
    ck_assert_str_eq(imgpar_path_format("x/y.JPG"), "jpeg");
    ck_assert_ptr_null(imgpar_path_format("x.png/y"));
    ck_assert_ptr_null(imgpar_path_format(NULL));
    imgpar_context_release(ctx);
}
END_TEST

/* ---- callbacks --------------------------------------------------------------------------------- */

/* What callbacks see; stop_at: the poll that answers to stop, 0: none. */
typedef struct seen {
    pthread_t thread;
    imgpar_array *other;
    int polls, stop_at, events, warnings, depth, n_within;
    double done;
} seen;

static seen *checked(void *user)
{
    seen *s = user;
    ck_assert(pthread_equal(s->thread, pthread_self()));
    ck_assert_int_eq(s->depth, 0); /* one at a time */
    return s;
}

/* Evaluates another array of the context. */
static void compute_within(seen *s)
{
    enum { MOST = 5 };
    uint8_t got[N_BYTES];
    if (s->polls + s->events > MOST) return;
    s->depth++;
    s->n_within++;
    imgpar_array *a = imgpar_invert(s->other);
    ck_assert_int_eq(imgpar_array_read(a, got, N_BYTES), IMGPAR_OK);
    ck_assert_int_eq(got[1], 255 - 37);
    imgpar_array_release(a);
    s->depth--;
}

static int on_poll(void *user, double done)
{
    seen *s = checked(user);
    ck_assert(s->done <= done && done <= 1); /* never goes back */
    s->done = done;
    s->polls++;
    ck_assert_msg(!s->stop_at || s->polls <= s->stop_at, "asked again after the answer to stop");
    compute_within(s);
    return s->polls == s->stop_at;
}

static void on_event(void *user, const imgpar_event *event)
{
    seen *s = checked(user);
    ck_assert(event->kind && event->name && event->start_ms <= event->end_ms);
    s->events++;
    compute_within(s);
}

static void on_warning(void *user, const char *text)
{
    seen *s = checked(user);
    ck_assert(*text && !strchr(text, '\n'));
    s->warnings++;
    compute_within(s);
}

static const char *const selectors[] = { NULL, "ref", "cpu/2" };
static const char *const computed[] = {
    "invert(blur(make(shape=[300 200], expr=cast(x + y, u8)), 3))",
    "iterate(make(shape=[90 80], expr=cast(x + y, u8)), 40, boxblur(_, size=3))",
    "sum(make(shape=[900 800], expr=x * 3 + y))",
};
enum { N_COMPUTED = sizeof computed / sizeof *computed };

/* Evaluates text, or saves it at path; stop_at: the poll that stops it. Device memory that is held behind that. */
static uint64_t watch(imgpar_context *ctx, const char *text, const char *path, seen *s)
{
    imgpar_options options = {
        .struct_size = sizeof options, .poll = on_poll, .on_event = on_event, .on_warning = on_warning, .user = s
    };
    imgpar_array *a = imgpar_apply(ctx, text, NULL, 0);
    imgpar_counters counters = { .struct_size = sizeof counters };
    s->polls = s->events = s->warnings = 0;
    s->done = 0;
    imgpar_status st = path ? imgpar_save(a, path, &options) : imgpar_array_eval(a, &options);
    bool is_stopped = s->stop_at > 0 && s->polls == s->stop_at;
    ck_assert_msg(st == (is_stopped ? IMGPAR_E_INTERRUPTED : IMGPAR_OK), "%s: %s", text, imgpar_array_message(a));
    ck_assert_int_gt(s->polls, 0);
    if (is_stopped && !path) { /* it may be evaluated again */
        s->stop_at = 0;
        ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_OK);
    }
    imgpar_array_release(a);
    imgpar_context_counters(ctx, &counters);
    return counters.device_bytes;
}

START_TEST(callbacks_come_one_at_a_time_on_the_callers_thread_and_may_compute)
{
    imgpar_context *ctx;
    if (selectors[_i] && getenv("IMGPAR_DEVICE")) return; /* who names a device wants to see no other */
    if (imgpar_context_new(selectors[_i], &ctx)) return;  /* a CPU that is not divided */
    seen s = { .thread = pthread_self(), .other = new_image(ctx) };
    for (int k = 0; k < N_COMPUTED; k++) {
        s.stop_at = 0;
        uint64_t held = watch(ctx, computed[k], NULL, &s);
        ck_assert_int_gt(s.events, 0);
        ck_assert_int_eq(s.warnings, 0);
        for (int stop_at = 1; stop_at <= 3; stop_at++) {
            s.stop_at = stop_at;
            uint64_t after = watch(ctx, computed[k], NULL, &s);
            bool has_one_device = _i < 2; /* of several, each keeps buffers */
            ck_assert_msg(after <= held + N_BYTES || !has_one_device, "%s: %lu bytes are held after a stop, %lu before",
                          computed[k], (unsigned long)after, (unsigned long)held);
        }
    }
    imgpar_array_release(s.other);
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(a_save_warns_in_a_line_and_leaves_no_file_when_it_is_stopped)
{
    imgpar_context *ctx;
    char path[] = "api-stopped-XXXXXX.png";
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    seen s = { .thread = pthread_self(), .other = new_image(ctx) };
    int file = mkstemps(path, 4);
    ck_assert_int_ge(file, 0);
    close(file);
    for (int stop_at = 1; stop_at <= 31; stop_at += 5) {
        unlink(path);
        s.stop_at = stop_at;
        watch(ctx, "make(shape=[30 30], expr=x / 30)", path, &s);
        ck_assert_int_eq(s.polls, stop_at);
        ck_assert_int_ne(access(path, F_OK), 0);
    }
    s.stop_at = 0;
    watch(ctx, "make(shape=[30 30], expr=x / 30)", path, &s);
    ck_assert_int_eq(s.warnings, 1);
    ck_assert_int_eq(access(path, F_OK), 0);
    unlink(path);
    imgpar_array_release(s.other);
    imgpar_context_release(ctx);
}
END_TEST

/* A picture whose last rows are missing, at path, which is filled in. */
static void save_cut(imgpar_context *ctx, char *path)
{
    imgpar_array *a = imgpar_apply(ctx, "make(shape=[600 700 3], expr=cast(x * y + c, u8))", NULL, 0);
    imgpar_options options = { .struct_size = sizeof options, .format = "png" };
    void *bytes;
    size_t n;
    ck_assert_int_eq(imgpar_encode(a, &options, &bytes, &n), IMGPAR_OK);
    int file = mkstemps(path, 4);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, bytes, n - n / 3), (ssize_t)(n - n / 3));
    close(file);
    imgpar_free(bytes);
    imgpar_array_release(a);
}

/* The launches that saving text at path takes, but for one in each callback that computes. The busier the machine, the
 * more batches a kernel is launched in. */
static uint64_t kernels_of(imgpar_context *ctx, const char *text, const char *path, seen *s)
{
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_context_counters(ctx, &before);
    s->n_within = 0;
    watch(ctx, text, path, s);
    imgpar_context_counters(ctx, &after);
    return after.kernels - before.kernels - (uint64_t)s->n_within;
}

enum { CUT_LIMIT = 300 << 10, N_STRIPS = 8 };

/* The interpreter cuts nothing: it says what is over the limit. */
static bool cuts_into_strips(const imgpar_context *ctx) { return strcmp(imgpar_context_device(ctx)->kind, "ref") != 0; }

START_TEST(callbacks_hold_where_a_memory_limit_cuts_a_run_into_strips)
{
    imgpar_context *ctx = new_context();
    if (!cuts_into_strips(ctx)) {
        imgpar_context_release(ctx);
        return;
    }
    imgpar_context *limited = new_context();
    imgpar_counters counters = { .struct_size = sizeof counters };
    char from[] = "api-cut-XXXXXX.png", to[] = "api-strips-XXXXXX.npy", text[120];
    ck_assert_int_eq(imgpar_context_set(limited, "mem_limit", "300K"), IMGPAR_OK);
    save_cut(ctx, from);
    close(mkstemps(to, 4));
    snprintf(text, sizeof text, "boxblur(median(open(\"%s\", fail_on=none), size=5), size=9)", from);
    seen s = { .thread = pthread_self(), .other = new_image(ctx) };
    seen in_strips = { .thread = pthread_self(), .other = new_image(limited) };
    kernels_of(ctx, text, to, &s);
    ck_assert_uint_ge(kernels_of(limited, text, to, &in_strips), N_STRIPS);
    ck_assert_int_eq(s.warnings, 1);
    ck_assert_int_eq(in_strips.warnings, 1);                /* not one a strip */
    for (int stop_at = 1; stop_at <= N_STRIPS; stop_at++) { /* each polls, however quick it is */
        unlink(to);
        in_strips.stop_at = stop_at;
        watch(limited, text, to, &in_strips);
        ck_assert_int_eq(in_strips.polls, stop_at);
        ck_assert_int_ne(access(to, F_OK), 0);
    }
    in_strips.stop_at = 0;
    ck_assert_uint_ge(kernels_of(limited, text, to, &in_strips), N_STRIPS); /* as good as new */
    imgpar_context_counters(limited, &counters);
    ck_assert_uint_le(counters.device_bytes_peak, CUT_LIMIT);
    unlink(from);
    unlink(to);
    imgpar_array_release(s.other);
    imgpar_array_release(in_strips.other);
    imgpar_context_release(ctx);
    imgpar_context_release(limited);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api");
    TCase *c = tcase_create("api");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, errors_travel_and_keep_the_first_cause);
    tcase_add_test(c, bad_arguments_are_told_apart);
    tcase_add_test(c, arrays_of_no_elements_are_arrays);
    tcase_add_test(c, null_is_refused_or_harmless);
    tcase_add_test(c, shapes_that_cannot_be_are_refused);
    tcase_add_test(c, a_wrong_size_is_told_and_nothing_is_written);
    tcase_add_test(c, the_order_of_releases_is_free);
    tcase_add_test(c, kept_values_go_with_the_last_handle);
    tcase_add_test(c, wrapped_memory_is_given_back_once);
    tcase_add_test(c, a_wrapped_file_is_given_back_once);
    tcase_add_test(c, what_cannot_be_saved_is_not_computed);
    tcase_add_loop_test(c, callbacks_come_one_at_a_time_on_the_callers_thread_and_may_compute, 0, 3);
    tcase_add_test(c, callbacks_hold_where_a_memory_limit_cuts_a_run_into_strips);
    tcase_add_test(c, a_save_warns_in_a_line_and_leaves_no_file_when_it_is_stopped);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
