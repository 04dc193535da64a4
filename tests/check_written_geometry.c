/* SPDX-License-Identifier: MIT */
/* Frames, and positions by a formula (ops/written_geometry.def), against plain loops in long double. */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 19, W = 26 };

/* The device computes bytes, of the rest only in the full tier. */
static void expect(const char *text, const picture *a, picture *want, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, &a, 1, want, a->dtype == IMGPAR_U8 || test_tier_is_full());
}

/* Of noise, in which a position's last place is much. */
static real slack_of(imgpar_dtype dtype) { return dtype == IMGPAR_U8 ? 1 : dtype_full(dtype) * 0x1p-12L; }

/* ---- frames ---------------------------------------------------------------------------------- */

/* Where the frame of 31 x 12 begins: 5 columns more, the odd one on the right, 7 rows less, the odd one below. */
static const struct {
    const char *gravity;
    int x, y;
} anchors[] = {
    { "centre", -2, 3 },   { "north", -2, 0 },     { "south", -2, 7 },    { "west", 0, 3 },       { "east", -5, 3 },
    { "northwest", 0, 0 }, { "northeast", -5, 0 }, { "southwest", 0, 7 }, { "southeast", -5, 7 },
};
enum { N_ANCHORS = sizeof anchors / sizeof *anchors };

START_TEST(extents)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int channels = _i % 4 + 1;
    picture a = written_levels(dtype, H, W, channels, 3), want = picture_new(dtype, 12, 31, channels);
    picture repeated = picture_new(dtype, 12, 31, channels);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / channels / 31 + anchors[_i].y, x = k / channels % 31 + anchors[_i].x;
        want.v[k] = x < 0 || x >= W ? 1 : *picture_at(&a, y, x, k % channels);
        repeated.v[k] = written_nearest(&a, y, x, k % channels);
    }
    char text[120];
    snprintf(text, sizeof text, "extent($1, 31, 12, gravity=%s, cval=1)", anchors[_i].gravity);
    expect(text, &a, &want, 0);
    snprintf(text, sizeof text, "extent($1, 31, 12, gravity=%s, border=replicate)", anchors[_i].gravity);
    expect(text, &a, &repeated, 0);
    picture_free(&a);
    picture_free(&want);
    picture_free(&repeated);
}
END_TEST

/* ---- squares of one colour ---------------------------------------------------------------------- */

START_TEST(squares_of_one_colour)
{
    static const int sizes[] = { 1, 2, 5, 40 };
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int n = sizes[_i % 4];
    picture a = written_levels(dtype, H, W, 3, 4), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t y = k / 3 / W / n * n, x = k / 3 % W / n * n;
        real sum = 0;
        for (int dy = 0; dy < n; dy++)
            for (int dx = 0; dx < n; dx++)
                sum += written_nearest(&a, y + dy, x + dx, k % 3);
        want.v[k] = sum / (n * n);
    }
    char text[40];
    snprintf(text, sizeof text, "pixelate($1, %d)", n);
    expect(text, &a, &want, n == 1 ? 0 : dtype == IMGPAR_F32 ? 1e-6L : 1);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- positions by a formula ------------------------------------------------------------------- */

static const real pi = 3.14159265358979323846264338327950288L;

START_TEST(a_swirl)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 5), want = picture_copy(&a), near = picture_copy(&a);
    const real u = (W - 1) / 2.0L, v = (H - 1) / 2.0L;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real x = k / 3 % W - u, y = k / 3 / W - v, r = hypotl(x, y), phi = atan2l(y, x);
        const real s = fmaxl(1 - r / (H / 2.0L), 0), t = fmaxl(1 - r / 6, 0);
        /* what stands there was at a smaller angle, since y goes down and so angles go clockwise */
        const real before = phi - s * s * 130 * pi / 180, less = phi + t * t * 40 * pi / 180;
        want.v[k] = written_between(&a, v + r * sinl(before), u + r * cosl(before), k % 3, IMGPAR_BORDER_CONSTANT);
        near.v[k] = written_between(&a, v + r * sinl(less), u + r * cosl(less), k % 3, IMGPAR_BORDER_CONSTANT);
    }
    expect("swirl($1, 130)", &a, &want, slack_of(dtype));
    expect("swirl($1, -40, radius=6)", &a, &near, slack_of(dtype));
    picture_free(&a);
    picture_free(&want);
    picture_free(&near);
}
END_TEST

START_TEST(polar_coordinates)
{
    enum { COLUMNS = 14, ROWS = 40 };
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 6);
    picture linear = picture_new(dtype, ROWS, COLUMNS, 3), logs = picture_new(dtype, ROWS, COLUMNS, 3);
    picture whole = picture_new(dtype, 60, 10, 3);
    const real u = (W - 1) / 2.0L, v = (H - 1) / 2.0L;
    for (int64_t k = 0; k < picture_count(&linear); k++) {
        const real phi = k / 3 / COLUMNS * 2 * pi / ROWS, x = k / 3 % COLUMNS;
        const real r = x * 12 / COLUMNS, s = powl(8, x / COLUMNS);
        linear.v[k] = written_between(&a, v + r * sinl(phi), u + r * cosl(phi), k % 3, IMGPAR_BORDER_REPLICATE);
        logs.v[k] = written_between(&a, v + s * sinl(phi), u + s * cosl(phi), k % 3, IMGPAR_BORDER_CONSTANT);
    }
    for (int64_t k = 0; k < picture_count(&whole); k++) { /* a radius of 9.5: 10 columns, 59.7 rows */
        const real phi = k / 30 * 2 * pi / 60, r = k / 3 % 10 * 0.95L;
        whole.v[k] = written_between(&a, v + r * sinl(phi), u + r * cosl(phi), k % 3, IMGPAR_BORDER_CONSTANT);
    }
    expect("polar($1, 14, 40, radius=12, border=replicate)", &a, &linear, slack_of(dtype));
    expect("polar($1, 14, 40, radius=8, scale=log)", &a, &logs, slack_of(dtype));
    expect("polar($1)", &a, &whole, slack_of(dtype));
    picture_free(&a);
    picture_free(&linear);
    picture_free(&logs);
    picture_free(&whole);
}
END_TEST

/* Between the last angle and the first one, which are neighbours; beyond the last column is that. */
static real rolled_up(const picture *a, real row, real column, int64_t c)
{
    column = fminl(column, a->w - 1);
    const real fy = row - floorl(row), fx = column - floorl(column);
    real sum = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t y = ((int64_t)floorl(row) + k / 2) % a->h, x = (int64_t)floorl(column) + k % 2;
        const real weight = (k / 2 ? fy : 1 - fy) * (k % 2 ? fx : 1 - fx);
        if (weight > 0) sum += weight * *picture_at(a, y, x, c);
    }
    return sum;
}

START_TEST(polar_coordinates_rolled_up)
{
    enum { SIDE = 23 };
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 7);
    picture linear = picture_new(dtype, SIDE, SIDE, 3), logs = picture_new(dtype, SIDE, SIDE, 3);
    for (int64_t k = 0; k < picture_count(&linear); k++) {
        const real x = k / 3 % SIDE - 11, y = k / 3 / SIDE - 11, r = hypotl(x, y);
        real phi = atan2l(y, x);
        if (phi < 0) phi += 2 * pi;
        const real row = phi * H / (2 * pi);
        linear.v[k] = r > 11.5L ? 0 : rolled_up(&a, row, r * W / 11.5L, k % 3);
        logs.v[k] = r > 14 ? 0 : rolled_up(&a, row, r <= 1 ? 0 : logl(r) * W / logl(14), k % 3);
    }
    expect("unpolar($1, 23, 23)", &a, &linear, slack_of(dtype));
    expect("unpolar($1, 23, 23, radius=14, scale=log)", &a, &logs, slack_of(dtype));
    picture_free(&a);
    picture_free(&linear);
    picture_free(&logs);
}
END_TEST

/* ---- filters ------------------------------------------------------------------------------------ */

/* Mitchell and Netravali 1988, equation 8; Catmull and Rom's splines, of Keys 1981, are B = 0, C = 1/2. */
static real spline(real t, real b, real c)
{
    t = fabsl(t);
    if (t < 1) return ((12 - 9 * b - 6 * c) * t * t * t + (-18 + 12 * b + 6 * c) * t * t + 6 - 2 * b) / 6;
    if (t >= 2) return 0;
    return ((-b - 6 * c) * t * t * t + (6 * b + 30 * c) * t * t - (12 * b + 48 * c) * t + 8 * b + 24 * c) / 6;
}

static real keys(real t) { return spline(t, 0, 0.5L); }
static real mitchell(real t) { return spline(t, 1 / 3.0L, 1 / 3.0L); }
static real sinc(real t) { return t == 0 ? 1 : sinl(pi * t) / (pi * t); }
static real lanczos2(real t) { return fabsl(t) < 2 ? sinc(t) * sinc(t / 2) : 0; }
static real lanczos3(real t) { return fabsl(t) < 3 ? sinc(t) * sinc(t / 3) : 0; }

static const struct {
    const char *name;
    real (*at)(real t);
} filters[] = { { "cubic", keys }, { "mitchell", mitchell }, { "lanczos2", lanczos2 }, { "lanczos3", lanczos3 } };
enum { N_FILTERS = sizeof filters / sizeof *filters };

/* At a place of a picture, colours weighed by alpha where there is one. */
static real sampled(const picture *a, real y, real x, int64_t c, real (*kernel)(real), imgpar_border border)
{
    const bool has_alpha = picture_is_alpha(a, a->c - 1), is_weighed = has_alpha && c < a->c - 1;
    real sum = 0, weights = 0;
    for (int64_t j = (int64_t)floorl(y) - 2; j <= (int64_t)floorl(y) + 3; j++)
        for (int64_t i = (int64_t)floorl(x) - 2; i <= (int64_t)floorl(x) + 3; i++) {
            const real w = kernel(y - (real)j) * kernel(x - (real)i);
            const real alpha = is_weighed ? picture_read(a, j, i, a->c - 1, border, 0) : 1;
            sum += w * alpha * picture_read(a, j, i, c, border, 0);
            weights += w * alpha;
        }
    return weights > 0 ? sum / weights : 0;
}

/* A rotation, at whose places nothing is separable, a slanted reading and one along rows and columns. Alpha is 0 or
 * full in blocks, and what little of it is seen beside them is not looked at. */
START_TEST(filters_of_places)
{
    static const struct {
        const char *text, *behind; /* the filter's name stands between */
        real m[6];
        imgpar_border border;
    } readings[] = {
        { "rotate($1, 90, expand=false, filter=",
          ", border=reflect)",
          { 0, -1, (H + W) / 2.0L - 1, 1, 0, (W - H) / 2.0L },
          IMGPAR_BORDER_REFLECT },
        { "at($1, y * 0.75 + x * 0.25 - 1, x * 1.25 - 2.5, filter=",
          ", border=wrap)",
          { 0.75L, 0.25L, -1, 0, 1.25L, -2.5L },
          IMGPAR_BORDER_WRAP },
        { "at($1, y * 0.75 - 1, x * 0.5 + 0.125, filter=",
          ")",
          { 0.75L, 0, -1, 0, 0.5L, 0.125L },
          IMGPAR_BORDER_REPLICATE },
    };
    const int filter = _i / 3, reading = _i % 3;
    const imgpar_dtype dtype = written_dtypes[(filter + reading) % WRITTEN_DTYPES];
    const int channels = _i % 4 + 1;
    picture a = written_levels(dtype, H, W, channels, 9), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++)
        if (picture_is_alpha(&a, k % channels)) a.v[k] = k / channels % W < 15 ? dtype_full(dtype) : 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real x = (real)(k / channels % W), y = (real)(k / channels / W), *m = readings[reading].m;
        want.v[k] = sampled(&a, m[0] * y + m[1] * x + m[2], m[3] * y + m[4] * x + m[5], k % channels,
                            filters[filter].at, readings[reading].border);
    }
    char text[120];
    snprintf(text, sizeof text, "%s%s%s", readings[reading].text, filters[filter].name, readings[reading].behind);
    expect(text, &a, &want, dtype == IMGPAR_F32 ? 0x1p-18L : 1);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

static void is_same(const char *text, const char *as, const picture *a)
{
    imgpar_array *in = picture_array(written_context, a), *both[2];
    const size_t bytes = (size_t)picture_count(a) * imgpar_dtype_size(a->dtype);
    char *data[2];
    for (int k = 0; k < 2; k++) {
        both[k] = imgpar_apply(written_context, k ? as : text, &in, 1);
        data[k] = malloc(bytes);
        ck_assert_ptr_nonnull(data[k]);
        ck_assert_msg(imgpar_array_read(both[k], data[k], bytes) == IMGPAR_OK, "%s", imgpar_array_message(both[k]));
    }
    ck_assert_msg(memcmp(data[0], data[1], bytes) == 0, "%s is not %s", text, as);
    for (int k = 0; k < 2; k++) {
        imgpar_array_release(both[k]);
        free(data[k]);
    }
    imgpar_array_release(in);
}

/* Whole places give the pixels there, but for mitchell; what is constant stays. By the interpreter. */
START_TEST(filters_keep_pixels_and_constants)
{
    static const char *const kept[] = { "nearest", "linear", "cubic", "lanczos2", "lanczos3", "mitchell" };
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const char *filter = kept[_i / WRITTEN_DTYPES];
    picture a = written_levels(dtype, H, W, _i % 4 + 1, 10), flat = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) /* colours that nothing covers are lost */
        if (picture_is_alpha(&a, k % a.c)) a.v[k] = dtype == IMGPAR_U8 ? fmaxl(a.v[k], 1) : dtype_full(dtype);
    for (int64_t k = 0; k < picture_count(&flat); k++)
        flat.v[k] = rounded(dtype, dtype_full(dtype) * 0.7L);
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", "ref"), IMGPAR_OK);
    char text[160];
    if (strcmp(filter, "mitchell") != 0) {
        snprintf(text, sizeof text, "at($1, y + 0.0 * x, x + 0.0, filter=%s, border=checked)", filter);
        is_same(text, "$1", &a);
        snprintf(text, sizeof text, "warp($1, [1 0 0; 0 1 0], filter=%s)", filter);
        is_same(text, "$1", &a);
    }
    snprintf(text, sizeof text, "at($1, y * 0.7 + x * 0.3 - 4, x * 1.3, filter=%s)", filter);
    is_same(text, "$1", &flat);
    snprintf(text, sizeof text, "at($1, y * 0.7, x * 0.9, filter=%s)", filter);
    is_same(text, "$1", &flat);
    picture_free(&a);
    picture_free(&flat);
}
END_TEST

/* Of places that are integers only what has a weight counts; a place that is NaN or infinite is nowhere. */
START_TEST(what_is_no_number_stays_where_it_is)
{
    static const char *const exact[] = { "nearest", "linear", "cubic", "lanczos2", "lanczos3" };
    char text[160];
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
        snprintf(text, sizeof text, "at(numbers([1 2 nan 4 5 6 7 8; 9 8 inf 6 5 4 3 2]), y, x, filter=%s)", exact[k]);
        written_prints(text, "[1 2 nan 4 5 6 7 8; 9 8 inf 6 5 4 3 2]");
        snprintf(text, sizeof text, "at(numbers([1 2 3; 4 5 6]), numbers([0 0 0]), numbers([1 nan 2]), filter=%s)",
                 exact[k]);
        written_prints(text, k == 0 ? "[2 1 3]" : "[2 nan 3]");
        snprintf(text, sizeof text,
                 "at(numbers([1 2 3; 4 5 6], dtype=u8), numbers([0 1 0]), numbers([1 inf 2]), filter=%s)", exact[k]);
        written_prints(text, k == 0 ? "[2 6 3]" : "[2 0 3]");
    }
}
END_TEST

/* Opaque colours are what they are without alpha, and other libraries' words are taken. */
START_TEST(filters_of_what_is_opaque)
{
    static const char *const texts[][3] = {
        { "resize(", ", 26, 31, filter=lanczos3)", ", 26, 31, filter=lanczos3)" },
        { "resize(", ", 13, 38, filter=cubic)", ", 13, 38, filter=catmull_rom)" },
        { "rotate(", ", 20, expand=false, filter=mitchell, border=wrap)",
          ", 20, expand=false, filter=mitchell, border=wrap)" },
        { "at(", ", y * 0.7, x * 0.7, filter=bicubic)", ", y * 0.7, x * 0.7, filter=cubic)" },
    };
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const char *const *t = texts[_i % 4];
    picture a = written_levels(dtype, H, W, 3, 11);
    char text[250], as[120];
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", "ref"), IMGPAR_OK);
    snprintf(text, sizeof text,
             "o = concatenate($1, set_white(make(26, 19, %s, channels=1), %Lg), axis=2)\n"
             "slice(slice(pad(%so%s, [0 0], [20 20]), [0 0], [19 26]), 0, 3, axis=2)",
             dtype == IMGPAR_U8    ? "cast(255, u8)"
             : dtype == IMGPAR_U16 ? "cast(65535, u16)"
                                   : "cast(1, f32)",
             dtype_full(dtype), t[0], t[1]);
    snprintf(as, sizeof as, "slice(pad(%s$1%s, [0 0], [20 20]), [0 0], [19 26])", t[0], t[2]); /* of a's size */
    is_same(text, as, &a);
    picture_free(&a);
}
END_TEST

/* Every row that reads between pixels has the same words for how, and every row that resizes; volumes are read by some
 * of them. */
START_TEST(filters_have_the_same_words)
{
    static const char *const words[] = { "nearest|linear|cubic|mitchell|lanczos2|lanczos3",
                                         "auto|area|linear|nearest|cubic|mitchell|lanczos2|lanczos3" };
    int n[2] = { 0, 0 };
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        for (int p = 0; p < op->n_params; p++) {
            if (strcmp(op->params[p]->name, "filter") != 0) continue;
            const char *choices = op->params[p]->choices;
            const bool resizes = strcmp(choices, words[1]) == 0, is_3d = strcmp(op->name, "at3d") == 0;
            ck_assert_msg(resizes || strcmp(choices, is_3d ? "nearest|linear|cubic" : words[0]) == 0, "%s: %s",
                          op->name, choices);
            n[resizes]++;
        }
    }
    ck_assert_int_ge(n[0], 9);
    ck_assert_int_ge(n[1], 5);
    written_refuses("rotate($1, 3, filter=quintic)",
                    "filter=quintic is not one of nearest, linear, cubic, mitchell, lanczos2, lanczos3");
}
END_TEST

/* Matrices stay matrices, and one pixel, or a radius of one, is no reason to fail. */
START_TEST(what_is_small_or_flat)
{
    static const struct {
        const char *text;
        int64_t h, w;
    } flat[] = {
        { "extent(squeeze($1), 30, 10)", 10, 30 },
        { "pixelate(squeeze($1), 4)", H, W },
        { "swirl(squeeze($1), 30)", H, W },
        { "polar(squeeze($1), 9, 8)", 8, 9 },
        { "unpolar(squeeze($1), 9, 8)", 8, 9 },
        { "kuwahara(squeeze($1))", H, W },
        { "squeeze(polar(crop($1, 3, 3, 1, 1), 5, 7))", 7, 5 },
        { "squeeze(unpolar($1, 9, 8, radius=1, scale=log))", 8, 9 },
        { "squeeze(swirl(crop($1, 3, 3, 9, 2), 90))", 2, 9 },
    };
    picture a = written_levels(IMGPAR_U8, H, W, 1, 8);
    imgpar_array *in = picture_array(written_context, &a);
    for (size_t k = 0; k < sizeof flat / sizeof *flat; k++) {
        imgpar_array *out = imgpar_apply(written_context, flat[k].text, &in, 1);
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(imgpar_array_info(out, &info) == IMGPAR_OK, "%s", imgpar_array_message(out));
        ck_assert_msg(info.rank == 2 && info.shape[0] == flat[k].h && info.shape[1] == flat[k].w, "%s", flat[k].text);
        ck_assert_msg(imgpar_array_eval(out, NULL) == IMGPAR_OK, "%s", imgpar_array_message(out));
        imgpar_array_release(out);
    }
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, extents, 0, N_ANCHORS);
    tcase_add_loop_test(tc, squares_of_one_colour, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_swirl, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, polar_coordinates, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, polar_coordinates_rolled_up, 0, WRITTEN_DTYPES);
    tcase_add_test(tc, what_is_small_or_flat);
    tcase_add_loop_test(tc, filters_of_places, 0, 3 * N_FILTERS);
    tcase_add_test(tc, what_is_no_number_stays_where_it_is);
    tcase_add_loop_test(tc, filters_keep_pixels_and_constants, 0, 6 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, filters_of_what_is_opaque, 0, 4 * WRITTEN_DTYPES);
    tcase_add_test(tc, filters_have_the_same_words);
    return written_run("written_geometry", tc);
}
