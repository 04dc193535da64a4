/* SPDX-License-Identifier: MIT */
/*
 * What operations do to alpha: every row does what the table says, weighted means weigh colours by it, opaque pictures
 * give the bytes of pictures without alpha. Single calls are compared with loops in long double by check_ops (oracle.c,
 * weigh_by_alpha()). What does not depend on the device runs on the reference interpreter.
 */
#include "held.h"
#include "oracle.h"

#include "ops/build.h"
#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 13, W = 17, FULL = 255 };
#define N(table) ((int)(sizeof(table) / sizeof *(table)))

static imgpar_context *ctx;

static void set_up_ref(void) { ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK); }
static void set_up_device(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}
static void tear_down(void) { imgpar_context_release(ctx); }

/* ---- pictures ------------------------------------------------------------------------------ */

static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_U16, IMGPAR_F32 };
enum { N_DTYPES = 3 };

/* The text's value of pictures that are cast to dtype first, as numbers of f64; NULL and info's status where there is
 * none. */
static double *value_of(const char *text, imgpar_dtype dtype, const picture *const *in, int n, imgpar_info *info)
{
    imgpar_array *arrays[2] = { NULL }, *a, *numbers;
    char casting[64];
    for (int k = 0; k < n; k++) {
        imgpar_array *stored = picture_array(ctx, in[k]);
        snprintf(casting, sizeof casting, "cast($1, %s)", imgpar_dtype_name(dtype));
        arrays[k] = imgpar_apply(ctx, casting, &stored, 1);
        imgpar_array_release(stored);
    }
    a = imgpar_apply(ctx, text, arrays, (size_t)n);
    ck_assert_msg(imgpar_array_info(a, info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    numbers = imgpar_apply(ctx, "cast($1, f64)", &a, 1);
    size_t count = info->size_bytes / imgpar_dtype_size(info->dtype);
    double *values = malloc(count * sizeof *values + 1);
    ck_assert_ptr_nonnull(values);
    ck_assert_msg(imgpar_array_read(numbers, values, count * sizeof *values) == IMGPAR_OK, "%s: %s", text,
                  imgpar_array_message(numbers));
    imgpar_array_release(numbers);
    imgpar_array_release(a);
    for (int k = 0; k < n; k++)
        imgpar_array_release(arrays[k]);
    return values;
}

static size_t pixels_of(const imgpar_info *info) { return (size_t)(info->depth * info->height * info->width); }

enum alphas { OPAQUE, MIXED };

/* Any colours; of MIXED a third of the pixels is transparent, a third opaque. */
static picture any_picture(int channels, enum alphas alphas, unsigned seed)
{
    picture p = picture_new(IMGPAR_U8, H, W, channels);
    picture_fill(&p, FILL_ANY, seed);
    for (int64_t k = channels - 1; k < picture_count(&p); k += channels) {
        int kind = alphas == OPAQUE ? 1 : (int)((k / channels * 7 + k / channels / 5) % 3);
        if (channels % 2 == 0 && kind < 2) p.v[k] = kind ? FULL : 0;
    }
    return p;
}

/* The same without alpha. */
static picture without_alpha(const picture *p)
{
    picture q = picture_new(p->dtype, p->h, p->w, p->c - 1);
    for (int64_t k = 0; k < picture_count(&q); k++)
        q.v[k] = p->v[k / q.c * p->c + k % q.c];
    return q;
}

/* ---- the table --------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *word) { return text && strncmp(text, word, strlen(word)) == 0; }

/* The row's example, of a = $1 and b. */
static void example_of(const imgpar_op_info *info, const char *b, char *text, size_t size)
{
    snprintf(text, size, "a = $1\nb = %s\n%s", b, info->example);
}

static void expect_alpha_stays(const char *text)
{
    picture a = any_picture(4, MIXED, 3);
    const picture *const in[] = { &a };
    imgpar_info info = { .struct_size = sizeof info };
    double *got = value_of(text, IMGPAR_U8, in, 1, &info);
    ck_assert_msg(info.channels % 2 == 0, "%s gives %d channels", text, (int)info.channels);
    for (size_t k = 0; k < pixels_of(&info); k++)
        ck_assert_msg(got[(k + 1) * (size_t)info.channels - 1] == (double)a.v[4 * k + 3], "%s: alpha %Lg became %g",
                      text, a.v[4 * k + 3], got[(k + 1) * (size_t)info.channels - 1]);
    free(got);
    picture_free(&a);
}

/* Other colours where alpha is 0 give the same. */
static void expect_transparent_colours_hidden(const char *text, bool hidden)
{
    picture a = any_picture(4, MIXED, 5), b = any_picture(4, MIXED, 5);
    imgpar_info info = { .struct_size = sizeof info };
    for (int64_t k = 0; k < picture_count(&b); k++)
        if (b.v[k / 4 * 4 + 3] == 0 && k % 4 != 3) b.v[k] = FULL - b.v[k];
    double *of_a = value_of(text, IMGPAR_U8, (const picture *const[]){ &a }, 1, &info);
    double *of_b = value_of(text, IMGPAR_U8, (const picture *const[]){ &b }, 1, &info);
    bool same = memcmp(of_a, of_b, pixels_of(&info) * (size_t)info.channels * sizeof *of_a) == 0;
    ck_assert_msg(same == hidden, "%s: colours of transparent pixels %s", text, same ? "do not count" : "show");
    free(of_a);
    free(of_b);
    picture_free(&a);
    picture_free(&b);
}

/* Red and alpha exchanged before and after. */
static void expect_as_any_channel(const char *text)
{
    picture a = any_picture(4, MIXED, 7), b = picture_copy(&a);
    imgpar_info info = { .struct_size = sizeof info };
    for (int64_t k = 0; k < picture_count(&b); k++)
        if (k % 4 % 3 == 0) b.v[k] = a.v[k / 4 * 4 + 3 - k % 4];
    double *of_a = value_of(text, IMGPAR_U8, (const picture *const[]){ &a }, 1, &info);
    double *of_b = value_of(text, IMGPAR_U8, (const picture *const[]){ &b }, 1, &info);
    for (size_t k = 0; k < pixels_of(&info); k++)
        ck_assert_msg(of_a[4 * k] == of_b[4 * k + 3] && of_a[4 * k + 3] == of_b[4 * k],
                      "%s: alpha differs from a channel", text);
    free(of_a);
    free(of_b);
    picture_free(&a);
    picture_free(&b);
}

START_TEST(every_row_does_to_alpha_what_the_table_says)
{
    char text[512];
    int n_stay = 0, n_weigh = 0, n_any = 0;
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *info = imgpar_op_get(k);
        if (begins(info->alpha, "stays")) {
            example_of(info, "3", text, sizeof text);
            expect_alpha_stays(text);
            n_stay++;
        } else if (begins(info->alpha, "weighs") || begins(info->alpha, "blends")) {
            example_of(info, "flip($1)", text, sizeof text);
            /* A transparent pixel keeps its own colour, but gives none to others. The volume there is no picture. */
            const bool is_own = strcmp(info->name, "unsharp") == 0 || strcmp(info->name, "at3d") == 0;
            if (!is_own) expect_transparent_colours_hidden(text, true);
            n_weigh++;
        } else if (!info->alpha && strcmp(info->category, "filter") == 0) {
            example_of(info, "$1", text, sizeof text);
            expect_as_any_channel(text);
            n_any++;
        }
    }
    ck_assert_int_ge(n_stay, 30);
    ck_assert_int_ge(n_weigh, 12);
    ck_assert_int_ge(n_any, 8);
}
END_TEST

/* Hidden rows, which the table of imgpar.h does not list. */
START_TEST(operators_with_a_number_or_a_channel_leave_alpha_alone)
{
    static const char *const texts[] = {
        "$1 + 20",
        "20 - $1",
        "$1 * 0.5",
        "$1 / 3",
        "$1 div 3",
        "$1 % 7",
        "$1 ** 2",
        "-$1",
        "~$1",
        "$1 & 15",
        "$1 << 1",
        "min($1, 9)",
        "$1 * gray(slice($1, 0, 3, axis=2))",
        "slice($1, 1, 2, axis=2) - $1",
        "sobel($1, axis=x)",
        "sqrt($1)",
        "clamp($1, 10, 20)",
        "multiply($1, 2)",
        "subtract(255, $1)",
        "blend($1, 0, 0.5)",
        "convolve($1, [-1 0 1])",
        "convolve($1, numbers([-1 0 1]))",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        expect_alpha_stays(texts[k]);
}
END_TEST

START_TEST(operators_of_two_pictures_treat_alpha_as_any_channel)
{
    static const char *const texts[] = {
        "$1 + flip($1)",
        "($1 + flip($1)) / 2",
        "($1 - flip($1)) ** 2",
        "abs($1 - flip($1)) * 3 + 1",
        "($1[-1, 0] + $1[1, 0] + $1[0, -1] + $1[0, 1]) / 4",
        "$1 > 100",
        "$1 > flip($1)",
        "!$1",
        "$1 && flip($1)",
        "absdiff($1, flip($1))",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        expect_as_any_channel(texts[k]);
}
END_TEST

/* ---- weighted means ---------------------------------------------------------------------------- */

static const char *const means[] = {
    "blur($1, 0.7)",
    "blur($1, 3, border=wrap)",
    "fastblur($1, 5)",
    "fastblur($1, 60)",
    "boxblur($1, size=3)",
    "boxblur($1, size=31, border=reflect)",
    "resize($1, width=5)",
    "resize($1, width=40, height=29)",
    "resize($1, width=34, height=7)",
    "resize(crop($1, 0, 0, 16, 12), 8, 6)",
    "thumbnail($1, 6)",
    "rotate($1, 90)",
    "rotate($1, 33, border=replicate)",
    "blur($1 / 255, 2)",
    "boxblur($1 / 255, 5)",
    "at($1, y * 0.7, x * 0.9 + 0.3, filter=linear)",
    "convolve($1, [1 2 1; 2 4 2; 1 2 1], scale=16)",
    "convolve($1, [0 -1 0; -1 5 -1; 0 -1 0])",
    "convolve($1, [0.3 0.1 0; 0.2 0.3 0; 0.1 0.4 -0.1])",
    "convolve($1, [1 0 2; 0 3 0; 1 0 0], scale=5, offset=9)",
    "convolve($1, numbers([1 2 1; 2 4 2; 1 2 1]), scale=16)",
    "convolve($1, numbers([0.3 0.1 0; 0.2 0.3 0; 0.1 0.4 -0.1]), scale=0.5, offset=9)",
    "convsep($1, [0.25 0.5 0.25], [0.1 0.8 0.1])",
    "neighbours($1, [-1 0; 1 0; 0 -1])",
    "unsharp($1, sigma=2, amount=0.6)",
    "blend($1, flip($1), 0.3)",
    "overlay($1, flip($1), circle($1, radius=4))",
    "overlay($1, flip($1), make(width($1), height($1), x / 16))",
};
enum { N_MEANS = sizeof means / sizeof *means };

static void expect_opaque_is_rgb(const char *text, imgpar_dtype dtype, int channels)
{
    picture a = any_picture(channels, OPAQUE, 11);
    a.dtype = dtype == IMGPAR_U16 ? dtype : a.dtype;
    for (int64_t k = 0; dtype == IMGPAR_U16 && k < picture_count(&a); k++)
        a.v[k] *= 257;
    picture b = without_alpha(&a);
    imgpar_info info = { .struct_size = sizeof info }, info_b = { .struct_size = sizeof info_b };
    double *with = value_of(text, dtype, (const picture *const[]){ &a }, 1, &info);
    double *plain = value_of(text, dtype, (const picture *const[]){ &b }, 1, &info_b);
    ck_assert_int_eq(info.channels, info_b.channels + 1);
    for (size_t k = 0; k < pixels_of(&info_b) * (size_t)info_b.channels; k++) {
        size_t at = k / (size_t)info_b.channels * (size_t)info.channels + k % (size_t)info_b.channels;
        ck_assert_msg(with[at] == plain[k], "%s of %s: %.17g with alpha, %.17g without", text, imgpar_dtype_name(dtype),
                      with[at], plain[k]);
    }
    free(with);
    free(plain);
    picture_free(&a);
    picture_free(&b);
}

START_TEST(opaque_pictures_give_the_bytes_of_pictures_without_alpha)
{
    for (int k = 0; k < N_MEANS; k++)
        for (int channels = 2; channels <= 4; channels += 2)
            expect_opaque_is_rgb(means[k], dtypes[_i], channels);
}
END_TEST

START_TEST(colours_of_transparent_pixels_do_not_show)
{
    char text[128];
    for (int k = 0; k < N_MEANS; k++) {
        if (strstr(means[k], "90)")) continue;
        if (!strstr(means[k], "unsharp")) expect_transparent_colours_hidden(means[k], true);
        const char *end = strrchr(means[k], ')');
        snprintf(text, sizeof text, "%.*s, alpha=channel)", (int)(end - means[k]), means[k]);
        expect_transparent_colours_hidden(text, false);
    }
}
END_TEST

/* The colour of a mean over n pixels of bytes, halves up. */
static double exact_mean(const picture *a, int64_t y, int64_t x, int64_t c, int size)
{
    int64_t sum = 0, alphas = 0;
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++) {
            int64_t alpha = (int64_t)*picture_at(a, y + i, x + j, a->c - 1);
            alphas += alpha;
            sum += c == a->c - 1 ? alpha : alpha * (int64_t)*picture_at(a, y + i, x + j, c);
        }
    int64_t by = c == a->c - 1 ? size * size : alphas;
    return by ? (double)((2 * sum + by) / (2 * by)) : 0;
}

static void expect_exact_means(const char *text, int size, int step, enum alphas alphas, int most)
{
    picture a = any_picture(4, alphas, 17);
    for (int64_t k = 3; alphas == MIXED && k < picture_count(&a); k += 4)
        a.v[k] = (real)((k / 4 * 5 + k / 4 / 7) % most); /* so few that halves are frequent */
    imgpar_info info = { .struct_size = sizeof info };
    double *got = value_of(text, IMGPAR_U8, (const picture *const[]){ &a }, 1, &info);
    for (int64_t y = 0; y + size <= (step == 1 ? H : size * info.height); y += step)
        for (int64_t x = 0; x + size <= (step == 1 ? W : size * info.width); x += step)
            for (int64_t c = 0; c < 4; c++) {
                int64_t row = step == 1 ? y + size / 2 : y / step, column = step == 1 ? x + size / 2 : x / step;
                double is = got[(row * info.width + column) * 4 + c], want = exact_mean(&a, y, x, c, size);
                ck_assert_msg(is == want, "%s, alpha below %d: channel %d is %g, not %g", text, most, (int)c, is, want);
            }
    free(got);
    picture_free(&a);
}

START_TEST(plain_means_of_bytes_are_exact_quotients)
{
    for (int most = 2; most <= 256; most = most < 9 ? most + 1 : most * 3) {
        expect_exact_means("boxblur($1, 3)", 3, 1, MIXED, most);
        expect_exact_means("boxblur($1, 7)", 7, 1, MIXED, most);
        expect_exact_means("resize(crop($1, 0, 0, 16, 12), 8, 6)", 2, 2, MIXED, most);
        expect_exact_means("resize(crop($1, 0, 0, 16, 12), 4, 3)", 4, 4, MIXED, most);
    }
    expect_exact_means("boxblur($1, 5)", 5, 1, OPAQUE, 0);
}
END_TEST

/* Where 100 is white, alpha of 200 counts twice as much as an opaque one's, but is no more than opaque. */
START_TEST(alpha_above_white_makes_no_colour_brighter)
{
    static const char *const texts[] = {
        "blur(set_white($1, 100), 2)",
        "boxblur(set_white($1, 100), 3)",
        "resize(set_white($1, 100), 6, 5)",
        "resize(set_white($1, 100), 16, 26)",
        "rotate(set_white($1, 100), 20, border=reflect)",
    };
    picture a = any_picture(4, MIXED, 19);
    imgpar_info info = { .struct_size = sizeof info };
    for (int64_t k = 0; k < picture_count(&a); k++)
        a.v[k] = k % 4 == 3 ? 200 : 80;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        for (int d = 0; d < N_DTYPES; d++) {
            double *got = value_of(texts[k], dtypes[d], (const picture *const[]){ &a }, 1, &info);
            for (size_t i = 0; i < pixels_of(&info) * 4; i++)
                ck_assert_msg(fabs(got[i] - (i % 4 == 3 ? 200 : 80)) < 1e-3, "%s: %g", texts[k], got[i]);
            free(got);
        }
    picture_free(&a);
}
END_TEST

/* A yellow disc that fades out, with other colours where it is transparent. */
static picture sprite(void)
{
    static const real yellow[3] = { 255, 200, 0 };
    picture p = picture_new(IMGPAR_U8, 24, 24, 4);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        real dy = (real)(k / 4 / 24) - 11.5L, dx = (real)(k / 4 % 24) - 11.5L, r = sqrtl(dy * dy + dx * dx);
        real alpha = r < 6 ? FULL : r < 9 ? rintl(FULL * (9 - r) / 3) : 0;
        p.v[k] = k % 4 == 3 ? alpha : alpha > 0 ? yellow[k % 4] : (real)(k % 251);
    }
    return p;
}

START_TEST(a_yellow_sprite_has_no_dark_fringe)
{
    static const char *const texts[] = {
        "blur($1, 2)",
        "fastblur($1, 5)",
        "boxblur($1, size=5)",
        "resize($1, width=9)",
        "resize($1, width=50)",
        "rotate($1, 30)",
        "thumbnail($1, 8)",
        "resize($1, 12, 12)",
        "at($1, y + 0.3, x - 0.4, filter=linear)",
        "convolve($1, [1 2 1; 2 4 2; 1 2 1], scale=16)",
    };
    picture a = sprite();
    imgpar_info info = { .struct_size = sizeof info };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        double *got = value_of(texts[k], IMGPAR_U8, (const picture *const[]){ &a }, 1, &info);
        int n_shown = 0;
        for (size_t i = 0; i < pixels_of(&info); i++) {
            const double *p = got + 4 * i;
            if (p[3] == 0) continue;
            n_shown++;
            ck_assert_msg(p[0] == 255 && p[1] == 200 && p[2] == 0, "%s: %g %g %g at alpha %g", texts[k], p[0], p[1],
                          p[2], p[3]);
        }
        ck_assert_int_gt(n_shown, 8);
        free(got);
    }
    picture_free(&a);
}
END_TEST

START_TEST(data_has_no_alpha)
{
    picture a = any_picture(4, MIXED, 13);
    static const char *const pairs[][2] = {
        { "blur(expand_dims($1, 0), 1)", "expand_dims(blur($1, 1, alpha=channel), 0)" },
        { "expand_dims($1, 0) + 20", "expand_dims($1 - flip($1) + flip($1) + 20, 0)" },
    };
    imgpar_info info = { .struct_size = sizeof info };
    for (size_t k = 0; k < 2; k++) {
        double *data = value_of(pairs[k][0], IMGPAR_U8, (const picture *const[]){ &a }, 1, &info);
        double *want = value_of(pairs[k][1], IMGPAR_U8, (const picture *const[]){ &a }, 1, &info);
        ck_assert_msg(memcmp(data, want, pixels_of(&info) * 4 * sizeof *data) == 0, "%s has alpha", pairs[k][0]);
        free(data);
        free(want);
    }
    picture_free(&a);
}
END_TEST

/* Gray and alpha, 2 x 2, and one pixel for all of them. At 0.5 colours are (c1 a1 + c2 a2) / (a1 + a2). */
START_TEST(a_picture_of_one_pixel_blends_with_all)
{
    static const uint8_t many[] = { 100, 255, 100, 0, 60, 128, 255, 64 }, one[] = { 20, 128 };
    static const uint8_t wanted[] = { 73, 192, 20, 64, 40, 128, 98, 96 }; /* of alpha halves to even */
    static const char *const texts[] = { "blend($1, $2, 0.5)", "blend($2, $1, 0.5)", "overlay($1, $2, 0.5)",
                                         "blend($1, repeat($2, 2, axis=0), 0.5)",
                                         "blend($1, repeat($2, 2, axis=1), 0.5)" };
    imgpar_array *in[] = { imgpar_array_from_data(ctx, IMGPAR_U8, 3, (int64_t[]){ 2, 2, 2 }, many),
                           imgpar_array_from_data(ctx, IMGPAR_U8, 3, (int64_t[]){ 1, 1, 2 }, one) };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        uint8_t got[sizeof wanted];
        imgpar_array *a = imgpar_apply(ctx, texts[k], in, 2);
        ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s: %s", texts[k], imgpar_array_message(a));
        for (size_t i = 0; i < sizeof got; i++)
            ck_assert_msg(got[i] == wanted[i], "%s: element %zu is %d, not %d", texts[k], i, got[i], wanted[i]);
        imgpar_array_release(a);
    }
    imgpar_array_release(in[0]);
    imgpar_array_release(in[1]);
}
END_TEST

/* What is known of numbers that are computed, and is not of the same ones in memory, changes no byte of a weighted sum;
 * alpha is above white in places. */
START_TEST(computed_floats_are_weighed_as_those_in_memory)
{
    static const char *const computed[] = { "abs($1)", "min($1, 0.5)", "clamp($1, -2, 2) / 7" };
    static const char *const weighed[] = {
        "blur($1, 1.2)", "blur($1, 9)",      "boxblur($1, 5)", "unsharp($1, 1)", "convolve($1, [1 2 1; 2 4 2; 1 2 1])",
        "dog($1)",       "resize($1, 9, 20)"
    };
    for (int channels = 3; channels <= 4; channels++) {
        const int64_t shape[] = { H, W, channels };
        float numbers[H * W * 4], computed_values[H * W * 4], values[2][20 * W * 4];
        for (int k = 0; k < N(numbers); k++)
            numbers[k] = (float)(k * 7919 % 1000) / 400 - 0.6f;
        imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 3, shape, numbers);
        for (int k = 0; k < N(computed) * N(weighed); k++) {
            imgpar_array *lazy = imgpar_apply(ctx, computed[k / N(weighed)], &a, 1), *stored;
            imgpar_info info = { .struct_size = sizeof info };
            ck_assert_int_eq(imgpar_array_read(lazy, computed_values, sizeof *numbers * H * W * (size_t)channels),
                             IMGPAR_OK);
            stored = imgpar_array_from_data(ctx, IMGPAR_F32, 3, shape, computed_values);
            for (int way = 0; way < 2; way++) {
                imgpar_array *x = imgpar_apply(ctx, weighed[k % N(weighed)], way ? &stored : &lazy, 1);
                ck_assert_int_eq(imgpar_array_info(x, &info), IMGPAR_OK);
                ck_assert_msg(imgpar_array_read(x, values[way], info.size_bytes) == IMGPAR_OK, "%s",
                              imgpar_array_message(x));
                imgpar_array_release(x);
            }
            ck_assert_msg(memcmp(values[0], values[1], info.size_bytes) == 0, "%s of %s, %d channels",
                          weighed[k % N(weighed)], computed[k / N(weighed)], channels);
            imgpar_array_release(lazy);
            imgpar_array_release(stored);
        }
        imgpar_array_release(a);
    }
}
END_TEST

START_TEST(between_planes_of_a_volume_of_pictures_colours_are_weighed)
{
    static const uint8_t planes[2][4] = { { 10, 20, 30, 255 }, { 200, 200, 200, 0 } };
    static const uint8_t want[4] = { 10, 20, 30, 128 };
    uint8_t got[4] = { 0 };
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, 4, (const int64_t[]){ 2, 1, 1, 4 }, planes);
    imgpar_array *x = imgpar_apply(ctx, "at3d($1, 0.5, 0, 0, filter=linear)", &a, 1);
    ck_assert_msg(imgpar_array_read(x, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(x));
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(got[k], want[k]);
    imgpar_array_release(x);
    imgpar_array_release(a);
}
END_TEST

static Suite *alpha_suite(void)
{
    Suite *s = suite_create("alpha");
    TCase *t = tcase_create("ref"), *d = tcase_create("device");
    tcase_add_checked_fixture(t, set_up_ref, tear_down);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, every_row_does_to_alpha_what_the_table_says);
    tcase_add_test(t, operators_with_a_number_or_a_channel_leave_alpha_alone);
    tcase_add_test(t, operators_of_two_pictures_treat_alpha_as_any_channel);
    tcase_add_loop_test(t, opaque_pictures_give_the_bytes_of_pictures_without_alpha, 0, N_DTYPES);
    tcase_add_test(t, colours_of_transparent_pixels_do_not_show);
    tcase_add_test(t, plain_means_of_bytes_are_exact_quotients);
    tcase_add_test(t, alpha_above_white_makes_no_colour_brighter);
    tcase_add_test(t, between_planes_of_a_volume_of_pictures_colours_are_weighed);
    tcase_add_test(t, a_yellow_sprite_has_no_dark_fringe);
    tcase_add_test(t, data_has_no_alpha);
    tcase_add_test(t, computed_floats_are_weighed_as_those_in_memory);
    tcase_add_test(t, a_picture_of_one_pixel_blends_with_all);
    tcase_add_checked_fixture(d, set_up_device, tear_down);
    tcase_set_timeout(d, 300);
    tcase_add_test(d, plain_means_of_bytes_are_exact_quotients);
    tcase_add_test(d, alpha_above_white_makes_no_colour_brighter);
    tcase_add_test(d, a_yellow_sprite_has_no_dark_fringe);
    tcase_add_test(d, a_picture_of_one_pixel_blends_with_all);
    suite_add_tcase(s, t);
    suite_add_tcase(s, d);
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(alpha_suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
