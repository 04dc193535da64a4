/* SPDX-License-Identifier: MIT */
/*
 * thumbnail(): its sizes, that a JPEG is decoded smaller, and that the result is near to the mean of the areas.
 */
#include "asserts.h"

#include <imgpar.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (int)(sizeof table / sizeof *table)

static imgpar_context *ctx;
static uint64_t decoded_bytes;

static void on_event(void *user, const imgpar_event *e)
{
    (void)user;
    if (!strcmp(e->kind, "decode")) decoded_bytes += e->bytes_written;
}

/* The encoded JPEG with an EXIF block that turns it. */
static imgpar_array *turned(const unsigned char *jpeg, size_t n, int orientation)
{
    unsigned char exif[36] = "\xff\xe1\0\x22"
                             "Exif\0\0"
                             "II*\0\x08\0\0\0"
                             "\x01\0"
                             "\x12\x01\x03\0\x01\0\0\0";
    unsigned char *copy = malloc(n + sizeof exif);
    exif[28] = (unsigned char)orientation;
    memcpy(copy, jpeg, 2);
    memcpy(copy + 2, exif, sizeof exif);
    memcpy(copy + 2 + sizeof exif, jpeg + 2, n - 2);
    imgpar_array *a = imgpar_open_memory(ctx, copy, n + sizeof exif);
    free(copy);
    return a;
}

/* A smooth RGB image, encoded, of a JPEG with an orientation. */
static imgpar_array *encoded(int width, int height, const char *format, int orientation)
{
    char text[256];
    void *bytes;
    size_t n;
    imgpar_options options = { .struct_size = sizeof options, .format = format };
    snprintf(text, sizeof text, "cast(make(%d, %d, 128 + 60 * sin(x / 40.0 + c) + 50 * cos(y / 31.0), channels=3), u8)",
             width, height);
    imgpar_array *a = imgpar_apply(ctx, text, NULL, 0);
    ck_assert_int_eq(imgpar_encode(a, &options, &bytes, &n), IMGPAR_OK);
    imgpar_array_release(a);
    a = orientation > 1 ? turned(bytes, n, orientation) : imgpar_open_memory(ctx, bytes, n);
    imgpar_free(bytes);
    return a;
}

static unsigned char *pixels_of(imgpar_array *a, imgpar_info *info)
{
    imgpar_options options = { .struct_size = sizeof options, .on_event = on_event };
    ck_assert_int_eq(imgpar_array_info(a, info), IMGPAR_OK);
    unsigned char *p = malloc(info->size_bytes);
    decoded_bytes = 0;
    ck_assert_msg(imgpar_array_read_with(a, p, info->size_bytes, &options) == IMGPAR_OK, "%s", imgpar_array_message(a));
    return p;
}

static const struct {
    int width, height, box_width, box_height, out_width, out_height, shrink;
} cases[] = {
    { 801, 600, 100, 0, 100, 75, 8 }, /* the smallest scale that is not below the result */
    { 801, 600, 101, 0, 101, 76, 4 },    { 800, 600, 300, 100, 133, 100, 4 }, /* the lower side decides */
    { 800, 600, 400, 400, 400, 300, 2 }, { 800, 600, 401, 0, 401, 301, 1 },
    { 800, 600, 900, 0, 800, 600, 1 }, /* never enlarged */
    { 16, 600, 8, 8, 1, 8, 8 },        /* at least one pixel; 16 x 8/600 rounds to 0 */
};

START_TEST(a_jpeg_is_decoded_no_larger_than_needed)
{
    imgpar_array *photo = encoded(cases[_i].width, cases[_i].height, "jpeg", 1);
    imgpar_array *small = imgpar_thumbnail(photo, cases[_i].box_width, cases[_i].box_height);
    imgpar_info info = { .struct_size = sizeof info };
    free(pixels_of(small, &info));
    ck_assert_int_eq(info.width, cases[_i].out_width);
    ck_assert_int_eq(info.height, cases[_i].out_height);
    int shrink = cases[_i].shrink;
    uint64_t wanted =
        (uint64_t)((cases[_i].width + shrink - 1) / shrink) * (uint64_t)((cases[_i].height + shrink - 1) / shrink) * 3;
    ck_assert_uint_eq(decoded_bytes, wanted);
    imgpar_array_release(small);
    imgpar_array_release(photo);
}
END_TEST

/* The exact mean of areas is resize's business; a scaled JPEG comes near to it on a smooth image. */
START_TEST(the_result_is_near_to_the_mean_of_the_areas)
{
    /* 0: PNG; 1 to 8: JPEG with that orientation */
    imgpar_array *photo = encoded(803, 601, _i ? "jpeg" : "png", _i),
                 *copy = encoded(803, 601, _i ? "jpeg" : "png", _i);
    imgpar_array *small = imgpar_thumbnail(photo, 100, 0),
                 *exact = imgpar_op(ctx, "resize", &copy, 1,
                                    _i < 5 ? "width=100, height=75, filter=area" : "width=75, height=100, filter=area");
    imgpar_info info = { .struct_size = sizeof info };
    unsigned char *p = pixels_of(small, &info), *q = pixels_of(exact, &info);
    double sum = 0;
    int most = 0;
    ck_assert_int_eq(info.width, _i < 5 ? 100 : 75);
    for (size_t k = 0; k < info.size_bytes; k++) {
        int d = abs(p[k] - q[k]);
        sum += d;
        most = d > most ? d : most;
    }
    ck_assert_msg(most <= (_i ? 3 : 0) && sum / (double)info.size_bytes < 0.8, "%d, mean %g", most,
                  sum / (double)info.size_bytes);
    free(p);
    free(q);
    imgpar_array_release(small);
    imgpar_array_release(exact);
    imgpar_array_release(photo);
    imgpar_array_release(copy);
}
END_TEST

/* Only what is decoded at once may be scaled: a blurred JPEG is not. And the whole image beside it stays whole. */
START_TEST(other_readers_see_the_whole_image)
{
    imgpar_array *photo = encoded(800, 600, "jpeg", 1);
    imgpar_array *inputs[2] = { photo, imgpar_thumbnail(photo, 100, 0) };
    imgpar_array *both = imgpar_apply(ctx, "mean($1) - mean($2)", inputs, 2),
                 *soft = imgpar_apply(ctx, "thumbnail(invert($1), 100)", inputs, 1);
    imgpar_info info = { .struct_size = sizeof info };
    float *difference = (float *)(void *)pixels_of(both, &info);
    ck_assert_msg(fabsf(*difference) < 0.5f, "%g", (double)*difference);
    ck_assert_uint_eq(decoded_bytes, 800 * 600 * 3 + 100 * 75 * 3);
    free(difference);
    free(pixels_of(soft, &info));
    ck_assert_uint_eq(decoded_bytes, 0); /* what was decoded whole is kept */
    imgpar_array_release(both);
    imgpar_array_release(soft);
    imgpar_array_release(inputs[1]);
    imgpar_array_release(photo);
}
END_TEST

START_TEST(an_empty_array_is_refused)
{
    unsigned char npy[128];
    memset(npy, ' ', sizeof npy);
    static const char head[] = "\x93NUMPY\1\0\x76\0{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 0), }";
    memcpy(npy, head, sizeof head - 1);
    npy[127] = '\n';
    imgpar_array *a = imgpar_open_memory(ctx, npy, sizeof npy), *small = imgpar_thumbnail(a, 8, 8);
    ck_assert_str_eq(imgpar_array_message(a), "");
    ck_assert_str_eq(imgpar_array_message(small), "thumbnail: the image is empty");
    imgpar_array_replace(&small, imgpar_op(ctx, "resize", &a, 1, "width=3, height=2"));
    ck_assert_str_eq(imgpar_array_message(small), "resize: the image is empty");
    imgpar_array_release(small);
    imgpar_array_release(a);
}
END_TEST

/* In each test's process: a context is for the process that opened it. */
static void open_context(void) { ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK); }
static void close_context(void) { imgpar_context_release(ctx); }

int main(void)
{
    Suite *suite = suite_create("thumbnail");
    TCase *tc = tcase_create("thumbnail");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, open_context, close_context);
    tcase_add_loop_test(tc, a_jpeg_is_decoded_no_larger_than_needed, 0, N(cases));
    tcase_add_loop_test(tc, the_result_is_near_to_the_mean_of_the_areas, 0, 9);
    tcase_add_test(tc, an_empty_array_is_refused);
    tcase_add_test(tc, other_readers_see_the_whole_image);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
