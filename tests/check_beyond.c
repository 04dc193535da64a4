/* SPDX-License-Identifier: MIT */
/*
 * Colours beyond the edges. A filter whose channels do not interact makes of each what it makes of that channel alone
 * with the channel's number for cval; one that weighs by alpha makes what it makes of a picture with a frame of that
 * colour. So the rows with one number, which tests of their own compare with loops, are what these are compared with.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 13, W = 37, FRAME = 9 };
#define N(table) ((int)(sizeof(table) / sizeof *(table)))

typedef struct device {
    imgpar_context *ctx;
} device;

/* The text's value as numbers of f64; $1 is a picture of levels. */
static double *values_of(const device *d, const char *text, const picture *a, size_t *count)
{
    imgpar_array *stored = picture_array(d->ctx, a), *x = imgpar_apply(d->ctx, text, &stored, 1);
    imgpar_array *numbers = imgpar_apply(d->ctx, "cast($1, f64)", &x, 1);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(x, &info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(x));
    *count = info.size_bytes / imgpar_dtype_size(info.dtype);
    double *values = malloc(*count * sizeof *values + 1);
    ck_assert_ptr_nonnull(values);
    ck_assert_msg(imgpar_array_read(numbers, values, *count * sizeof *values) == IMGPAR_OK, "%s: %s", text,
                  imgpar_array_message(numbers));
    imgpar_array_release(numbers);
    imgpar_array_release(x);
    imgpar_array_release(stored);
    return values;
}

static void expect_values(const char *text, const char *where, const double *is, const double *wanted, size_t n,
                          double within)
{
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(fabs(is[k] - wanted[k]) <= within, "%s, %s: at %zu is %g, not %g", text, where, k, is[k],
                      wanted[k]);
}

/* Of the interpreter. */
static void expect_same(const device *ref, const char *text, const char *as, const picture *a, double within)
{
    size_t n, n_as;
    double *is = values_of(ref, text, a, &n), *wanted = values_of(ref, as, a, &n_as);
    ck_assert_msg(n == n_as, "%s has %zu elements, %s has %zu", text, n, as, n_as);
    expect_values(text, as, is, wanted, n, within);
    free(is);
    free(wanted);
}

static void expect_on_device(const device *ref, const char *text, const picture *a)
{
    const device here = { written_context };
    size_t n;
    double *is = values_of(&here, text, a, &n), *wanted = values_of(ref, text, a, &n);
    expect_values(text, "the device", is, wanted, n, 0);
    free(is);
    free(wanted);
}

static device interpreter(void)
{
    device d = { NULL };
    ck_assert_int_eq(imgpar_context_new("ref", &d.ctx), IMGPAR_OK);
    return d;
}

/* ---- a channel after the other ---------------------------------------------------------------------- */

/* Calls with A for their picture and %s for the border. */
static const char *const forms[] = {
    "pad(A, [2 3]%s)",
    "pad(A, [0 2], [1 0]%s)",
    "boxblur(A, 5%s)",
    "blur(A, 2%s)",
    "blur(A, 40%s)",
    "fastblur(A, 9%s)",
    "convolve(A, [1 2 1; 2 -9 2; 1 2 1], scale=3%s)",
    "convolve(A, [0.1 0.2 0; 0.3 0.5 0.1; 0 0.25 -0.2]%s)",
    "convsep(A, [1 2 1], [1 4 6 4 1], scale=64%s)",
    "erode(A, 5%s)",
    "dilate(A, 3, shape=disc%s)",
    "opening(A, 3%s)",
    "median(A, 3%s)",
    "median(A, 9%s)",
    "percentile_filter(A, 30, 7%s)",
    "sobel(A%s)",
    "sobel(A, axis=x%s)",
    "laplacian(A%s)",
    "emboss(A%s)",
    "unsharp(A%s)",
    "highpass(A%s)",
    "at(A, y - 2.25, x * 1.1 + 0.3, filter=linear%s)",
    "at(A, y - 3, x + 2%s)",
    "at(A, y * 0.9 - 1, x - 1.5, filter=cubic%s)",
    "rotate(A, 30%s)",
    "rotate(A, 12, filter=cubic%s)",
    "warp(A, [1 0.2 -3; 0.1 0.9 2; 0 0 1], filter=linear%s)",
    "extent(A, 45, 17%s)",
    "neighbours(A, [0 1; -2 0; 1 -3], fold=mean%s)",
    "neighbours(A, [0 1; -2 0; 1 -3], fold=max%s)",
    "swirl(A, 90%s)",
};

static bool has_alpha_param(const char *form)
{
    static const char *const rows[] = { "boxblur", "blur",   "fastblur", "convolve",   "convsep", "unsharp",
                                        "at",      "rotate", "warp",     "neighbours", "swirl" };
    const size_t n = strcspn(form, "(");
    for (int k = 0; k < N(rows); k++)
        if (strlen(rows[k]) == n && memcmp(rows[k], form, n) == 0) return true;
    return false;
}

/* The form with `of` for A and cval beyond the edges. */
static void call_of(char *text, size_t size, const char *form, const char *of, const char *cval, bool is_by_channel)
{
    char rest[160], with[400];
    snprintf(rest, sizeof rest, ", border=constant, cval=%s%s", cval,
             is_by_channel && has_alpha_param(form) ? ", alpha=channel" : "");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(with, sizeof with, form, rest);
#pragma GCC diagnostic pop
    const char *at = strstr(with, "(A") + 1;
    snprintf(text, size, "%.*s%s%s", (int)(at - with), with, of, at + 1);
}

/* part: what the first level has beyond whole ones, which integers leave out. */
static void list_of(char *list, size_t size, int channels, double full, double part)
{
    const double levels[] = { 200 + part, 0, 90, 31 };
    size_t n = (size_t)snprintf(list, size, "[");
    for (int c = 0; c < channels; c++)
        n += (size_t)snprintf(list + n, size - n, "%s%.9g", c ? " " : "", levels[c] * full / 255);
    snprintf(list + n, size - n, "]");
}

/* highpass weighs, whatever is said. */
static bool is_by_channel(const char *form, int channels)
{
    return has_alpha_param(form) || (channels == 3 || strncmp(form, "highpass", 8) != 0);
}

START_TEST(each_channel_has_its_own)
{
    const char *form = forms[_i % N(forms)];
    const imgpar_dtype dtype = written_dtypes[_i / N(forms) % WRITTEN_DTYPES];
    const int channels = 3 + _i / N(forms) / WRITTEN_DTYPES;
    const double full = (double)dtype_full(dtype);
    const device ref = interpreter();
    picture a = written_levels(dtype, H, W, channels, 7);
    char list[120], number[40], text[400], of_one[400], one[60], channel[500];
    list_of(list, sizeof list, channels, full, 0.25);
    call_of(text, sizeof text, form, "$1", list, true);
    for (int c = 0; is_by_channel(form, channels) && c < (has_alpha_param(form) ? channels : 3); c++) {
        snprintf(one, sizeof one, "slice($1, %d, %d, axis=2)", c, c + 1);
        snprintf(number, sizeof number, "%.9g", ((const double[]){ 200.25, 0, 90, 31 })[c] * full / 255);
        call_of(of_one, sizeof of_one, form, one, number, true);
        snprintf(channel, sizeof channel, "slice(%s, %d, %d, axis=2)", text, c, c + 1);
        expect_same(&ref, channel, of_one, &a, 0);
    }
    if (test_tier_is_full() || (dtype == IMGPAR_U8 && channels == 3)) expect_on_device(&ref, text, &a);
    imgpar_context_release(ref.ctx);
    picture_free(&a);
}
END_TEST

/* ---- colours that alpha weighs ----------------------------------------------------------------------- */

static const char *const weighing[] = {
    "boxblur(A, 5%s)",
    "blur(A, 2%s)",
    "convolve(A, [1 2 1; 2 4 2; 1 2 1], scale=16%s)",
    "convolve(A, [0.1 0.2 0; 0.3 0.5 0.1; 0 0.25 -0.2]%s)",
    "convsep(A, [1 2 1], [1 4 6 4 1], scale=64%s)",
    "unsharp(A, 1%s)",
    "highpass(A, 1%s)",
    "neighbours(A, [0 1; -2 0; 1 -3], fold=mean%s)",
    "at(A, y - 2.25, x + 3.5, filter=linear%s)",
    "at(A, y - 3.5, x + 4.75, filter=cubic%s)",
};

/* Floats are cast from bytes, since pictures of floats are data. */
START_TEST(a_colour_is_a_frame)
{
    static const char *const colours[] = { "", "\"#c80a5a\"", "\"#c80a5a60\"" };
    const char *form = weighing[_i % N(weighing)], *colour = colours[_i % N(colours)];
    const imgpar_dtype dtype = written_dtypes[_i / N(weighing) % WRITTEN_DTYPES];
    const imgpar_dtype stored = dtype == IMGPAR_F32 ? IMGPAR_U8 : dtype;
    const char *of = dtype == IMGPAR_F32 ? "cast($1, f32)" : "$1";
    const int channels = _i / N(weighing) < WRITTEN_DTYPES ? 4 : 2;
    const double full = (double)dtype_full(stored);
    const bool has_places = strncmp(form, "at(", 3) == 0; /* which are rounded elsewhere in a frame */
    const device ref = interpreter();
    picture a = written_levels(stored, H, W, channels, 9);
    char list[120], text[400], framed[200], as[600], of_frame[700];
    list_of(list, sizeof list, channels, full, 0);
    if (channels == 4 && *colour) snprintf(list, sizeof list, "%s", colour);
    call_of(text, sizeof text, form, of, list, false);
    snprintf(framed, sizeof framed, "pad(%s, [%d %d], cval=%s)", of, FRAME, FRAME, list);
    call_of(as, sizeof as, form, framed, "0", false);
    snprintf(of_frame, sizeof of_frame, "crop(%s, %d, %d, %d, %d)", as, FRAME, FRAME, W, H);
    expect_same(&ref, text, of_frame, &a, !has_places ? 0 : dtype == IMGPAR_F32 ? 0.01 : 1);
    if (test_tier_is_full() || (dtype == IMGPAR_U8 && channels == 4)) expect_on_device(&ref, text, &a);
    imgpar_context_release(ref.ctx);
    picture_free(&a);
}
END_TEST

/* ---- gradients, and C ------------------------------------------------------------------------------- */

START_TEST(gradients_are_those_of_the_channels)
{
    static const char *const of[] = { "erode(a, 3, border=constant, cval=%s)", "blur(a, 1, border=constant, cval=%s)" };
    const device ref = interpreter();
    picture a = written_levels(IMGPAR_F32, H, W, 3, 5);
    const char *const cvals[] = { "0.25", "0.5", "1" };
    char value[80], text[300], as[300];
    for (int c = 0; c < 3; c++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(value, sizeof value, of[_i], "[0.25 0.5 1]");
        snprintf(text, sizeof text, "a = $1\nslice(grad(sum(%s ** 3), a), %d, %d, axis=2)", value, c, c + 1);
        snprintf(value, sizeof value, of[_i], cvals[c]);
        snprintf(as, sizeof as, "a = slice($1, %d, %d, axis=2)\ngrad(sum(%s ** 3), a)", c, c + 1, value);
#pragma GCC diagnostic pop
        expect_same(&ref, text, as, &a, 1e-5);
    }
    imgpar_context_release(ref.ctx);
    picture_free(&a);
}
END_TEST

/* register() moves its second picture, whose white may be another where none is told. */
START_TEST(a_colour_has_the_levels_of_what_moves)
{
    const char *const moved = "a = set_white($1, 0)\nregister(a, circshift(cast(a, u16), [3 2]), cval=%s)";
    const device ref = interpreter();
    picture a = written_levels(IMGPAR_U8, H, W, 3, 5);
    char text[120], as[120];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, moved, "\"#ff8000\"");
    snprintf(as, sizeof as, moved, "[65535 32896 0]");
#pragma GCC diagnostic pop
    expect_same(&ref, text, as, &a, 0);
    imgpar_context_release(ref.ctx);
    picture_free(&a);
}
END_TEST

START_TEST(options_of_c_take_colours)
{
    static const unsigned char pixel[] = { 1, 2, 3 }, want[] = { 210, 180, 140, 1, 2, 3, 210, 180, 140 };
    unsigned char is[sizeof want];
    const device ref = interpreter();
    picture a = picture_new(IMGPAR_U8, 1, 1, 3);
    for (int c = 0; c < 3; c++)
        a.v[c] = pixel[c];
    imgpar_array *one = picture_array(ref.ctx, &a);
    imgpar_array *padded = imgpar_op(ref.ctx, "pad", &one, 1, "before=[0 1], cval=\"tan\"");
    ck_assert_msg(imgpar_array_read(padded, is, sizeof is) == IMGPAR_OK, "%s", imgpar_array_message(padded));
    ck_assert_mem_eq(is, want, sizeof want);
    imgpar_array_release(padded);
    imgpar_array_release(one);
    imgpar_context_release(ref.ctx);
    picture_free(&a);
}
END_TEST

int main(void)
{
    TCase *tests = written_case();
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, each_channel_has_its_own, 0, N(forms) * WRITTEN_DTYPES * 2);
    tcase_add_loop_test(tests, a_colour_is_a_frame, 0, N(weighing) * WRITTEN_DTYPES * 2);
    tcase_add_loop_test(tests, gradients_are_those_of_the_channels, 0, 2);
    tcase_add_test(tests, a_colour_has_the_levels_of_what_moves);
    tcase_add_test(tests, options_of_c_take_colours);
    return written_run("beyond", tests);
}
