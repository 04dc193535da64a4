/* SPDX-License-Identifier: MIT */
/* Words (ops/glyphs.def, written_text.def) against plain loops in long double. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 23, W = 34 };

static int64_t colours(const picture *a) { return a->c - picture_is_alpha(a, a->c - 1); }

/* A picture of what the library makes of text, by the interpreter. */
static picture value_of(const char *text)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", "ref"), IMGPAR_OK);
    imgpar_array *a = imgpar_apply(written_context, text, NULL, 0);
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    ck_assert_int_eq(info.dtype, IMGPAR_U8);
    unsigned char *data = malloc(info.size_bytes);
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(imgpar_array_read(a, data, info.size_bytes), IMGPAR_OK);
    picture p = picture_new(IMGPAR_U8, info.height, info.width, info.channels);
    for (int64_t k = 0; k < picture_count(&p); k++)
        p.v[k] = data[k];
    free(data);
    imgpar_array_release(a);
    return p;
}

/* ---- strokes ------------------------------------------------------------------------------------ */

typedef struct segment {
    real x0, y0, x1, y1;
} segment;

static real to_segment(real x, real y, const segment *s)
{
    const real u = s->x1 - s->x0, v = s->y1 - s->y0, square = u * u + v * v;
    const real t = square > 0 ? fminl(fmaxl(((x - s->x0) * u + (y - s->y0) * v) / square, 0), 1) : 0;
    return hypotl(x - s->x0 - t * u, y - s->y0 - t * v);
}

/* Of a pixel's width, what a line covers. */
static real covered(real d, real half) { return fmaxl(fminl(d + 0.5L, half) - fmaxl(d - 0.5L, -half), 0); }

/* Letters of straight strokes, in hundredths, with what is free to their left and how far they advance. */
typedef struct letter {
    const char *words;
    real left, advance;
    int n;
    segment strokes[3];
} letter;
static const letter letters[] = {
    { "-", 9, 39, 1, { { 0, 25, 21, 25 } } },
    { "I", 12, 24, 1, { { 0, 0, 0, 64 } } },
    { "L", 12, 50, 2, { { 0, 64, 0, 0 }, { 0, 0, 33, 0 } } },
    { "V", 5, 55, 2, { { 0, 64, 22.5L, 0 }, { 22.5L, 0, 45, 64 } } },
    { "z", 7, 45, 3, { { 1, 45, 30, 45 }, { 30, 45, 0, 0 }, { 0, 0, 31, 0 } } },
};
enum { N_LETTERS = sizeof letters / sizeof *letters };

START_TEST(strokes_are_lines_with_round_ends) /* _i: letter; turned, so that nothing is put on the grid */
{
    const letter *l = &letters[_i];
    const real size = 37, weight = 300 + 100 * _i, angle = (20 + 31 * _i) * acosl(-1) / 180, scale = size / 100;
    const real width = l->advance * scale + fmaxl(weight / 50 - 8, 0) * 0.6L * scale, height = 1.2L * size;
    const real c = cosl(angle), s = sinl(angle), grow = _i % 2 ? 1.5L : 0;
    const real across = fabsl(c) * width + fabsl(s) * height + 2 * grow;
    const real along = fabsl(s) * width + fabsl(c) * height + 2 * grow;
    picture want = picture_new(IMGPAR_U8, (int64_t)ceill(along), (int64_t)ceill(across), 1);
    char text[200];
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const real x = k % want.w + 0.5L - across / 2, y = k / want.w + 0.5L - along / 2; /* from the middle */
        const real p = c * x + s * y + width / 2, q = c * y - s * x + height / 2;
        const real u = (p / scale - l->left - fmaxl(weight / 50 - 8, 0) * 0.3L);
        const real v = (size * (0.9L + 0.02L) - q) / scale;
        real d = INFINITY;
        for (int j = 0; j < l->n; j++)
            d = fminl(d, to_segment(u, v, &l->strokes[j]));
        want.v[k] = 255 * covered(d * scale, weight / 100 * scale + grow);
        want.slack[k] = 0.01L;
    }
    snprintf(text, sizeof text, "text_mask(\"%s\", 37, %d, angle=%d, grow=%g)", l->words, 300 + 100 * _i, 20 + 31 * _i,
             (double)grow);
    written_expect(text, NULL, 0, &want, true);
    picture_free(&want);
}
END_TEST

/* Upright strokes have their edges where pixels have theirs. */
START_TEST(small_letters_stand_on_the_grid) /* _i: size */
{
    const int size = 10 + 5 * _i;
    char text[200];
    snprintf(text, sizeof text, "text_mask(\"HLTE\", size=%d, weight=%d)", size, 5000 / size * (size / 10));
    picture p = value_of(text); /* strokes of size / 10 whole pixels */
    int n_partly = 0, n_full = 0;
    for (int64_t k = 0; k < picture_count(&p); k++) {
        n_partly += p.v[k] > 0 && p.v[k] < 255;
        n_full += p.v[k] == 255;
    }
    ck_assert_msg(n_full > size && n_partly < n_full * 2 / 3, "%s: %d full, %d partly", text, n_full, n_partly);
    picture_free(&p);
}
END_TEST

/* ---- on pictures -------------------------------------------------------------------------------- */

#define WORDS "\"Ag\\n&\""
static const struct {
    const char *anchor;
    real across, down;
} anchors[] = { { "northwest", 0, 0 }, { "north", 0.5L, 0 },     { "northeast", 1, 0 },
                { "west", 0, 0.5L },   { "center", 0.5L, 0.5L }, { "east", 1, 0.5L },
                { "southwest", 0, 1 }, { "south", 0.5L, 1 },     { "southeast", 1, 1 } };

/* Puts paint over p where the mask, its upper left corner at left, top, says so. */
static void lay(picture *p, const picture *mask, int64_t left, int64_t top, const real *paint, real opacity)
{
    const int64_t n = colours(p);
    const real full = dtype_full(p->dtype);
    for (int64_t y = 0; y < p->h; y++)
        for (int64_t x = 0; x < p->w; x++) {
            const bool is_inside = y >= top && x >= left && y < top + mask->h && x < left + mask->w;
            const real m = is_inside ? *picture_at(mask, y - top, x - left, 0) / 255 * opacity : 0;
            real *at = picture_at(p, y, x, 0), under = n < p->c ? at[n] / full * (1 - m) : 1 - m, both = m + under;
            for (int64_t k = 0; k < n && both > 0; k++)
                at[k] = (paint[k] * m + at[k] * under) / both;
            if (n < p->c) at[n] = both * full;
        }
}

START_TEST(words_on_pictures) /* _i: dtype and channels */
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    picture a = written_levels(dtype, H, W, _i / WRITTEN_DTYPES + 1, 7), want = picture_copy(&a);
    const real full = dtype_full(dtype), some = rounded(dtype, full * 0.75L),
               colour[4] = { some, colours(&a) == 2 ? some : 0, full, 0 };
    picture mask = value_of("text_mask(" WORDS ", size=11)"),
            around = value_of("text_mask(" WORDS ", size=11, grow=2)");
    const real across = anchors[_i % 9].across, down = anchors[_i % 9].down;
    const int64_t left = (int64_t)floorl(20 - mask.w * across + 0.5L), top = (int64_t)floorl(9 - mask.h * down + 0.5L);
    const real edge[4] = { 1, 1, 1, 1 };
    char text[300];
    ck_assert(around.w >= mask.w + 3 && around.w <= mask.w + 4 && around.h >= mask.h + 3);
    lay(&want, &around, left - 2, top - 2, edge, 0.5L);
    lay(&want, &mask, left, top, colour, 0.5L);
    for (int64_t k = 0; k < picture_count(&want); k++)
        want.slack[k] = is_float(dtype) ? 1e-5L : 2; /* both are rounded */
    snprintf(text, sizeof text,
             "text($1, " WORDS ", 20, 9, size=11, color=%s, anchor=%s, opacity=0.5, halo=2, halo_color=1)",
             colours(&a) == 4      ? "[0.75 0 1 0]"
             : colours(&a) == 3    ? dtype == IMGPAR_U8    ? "[191 0 255]"
                                     : dtype == IMGPAR_U16 ? "[49151 0 65535]"
                                                           : "[0.75 0 1]"
             : dtype == IMGPAR_U8  ? "191"
             : dtype == IMGPAR_U16 ? "49151"
                                   : "0.75",
             anchors[_i % 9].anchor);
    written_expect(text, (const picture *const[]){ &a }, 1, &want, true);
    picture_free(&a);
    picture_free(&want);
    picture_free(&mask);
    picture_free(&around);
}
END_TEST

/* Any mask, of any white, lies on a picture as words do. */
START_TEST(masks_on_pictures) /* _i: dtype and channels */
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    picture a = written_levels(dtype, H, W, _i / WRITTEN_DTYPES + 1, 7), want = picture_copy(&a);
    const bool is_deep = _i % 2;
    picture mask = written_levels(is_deep ? IMGPAR_U16 : IMGPAR_U8, 9, 14, 1, 8), of_255 = picture_copy(&mask);
    for (int64_t k = 0; k < picture_count(&mask); k++)
        of_255.v[k] = mask.v[k] / dtype_full(mask.dtype) * 255;
    const real full = dtype_full(dtype), white[4] = { full, full, full, full };
    const real across = anchors[_i % 9].across, down = anchors[_i % 9].down;
    char text[200];
    lay(&want, &of_255, (int64_t)floorl(30 - mask.w * across + 0.5L), (int64_t)floorl(9 - mask.h * down + 0.5L), white,
        _i % 3 ? 0.5L : 1);
    for (int64_t k = 0; k < picture_count(&want); k++)
        want.slack[k] = is_float(dtype) ? 1e-5L : 1;
    snprintf(text, sizeof text, "stamp($1, $2, 30, 9, anchor=%s, opacity=%g)", anchors[_i % 9].anchor,
             _i % 3 ? 0.5 : 1.0);
    written_expect(text, (const picture *const[]){ &a, &mask }, 2, &want, true);
    picture_free(&a);
    picture_free(&want);
    picture_free(&mask);
    picture_free(&of_255);
}
END_TEST

/* Without a place it is at the anchor's edge; without a colour it is white. */
START_TEST(words_at_edges) /* _i: anchor */
{
    picture a = written_levels(IMGPAR_U8, 41, 57, 1, 5), want = picture_copy(&a);
    picture mask = value_of("text_mask(\"Ij\", size=14)");
    const real white[4] = { 255, 255, 255, 255 }, across = anchors[_i].across, down = anchors[_i].down;
    const real x = 57 * across + 3 * (1 - 2 * across), y = 41 * down + 3 * (1 - 2 * down);
    char text[200];
    lay(&want, &mask, (int64_t)floorl(x - mask.w * across + 0.5L), (int64_t)floorl(y - mask.h * down + 0.5L), white, 1);
    snprintf(text, sizeof text, "text($1, \"Ij\", size=14, anchor=%s, margin=3)", anchors[_i].anchor);
    written_expect(text, (const picture *const[]){ &a }, 1, &want, true);
    picture_free(&a);
    picture_free(&want);
    picture_free(&mask);
}
END_TEST

/* Each picture of a sheet gets its line below, white where gaps are black; alpha is opaque there. */
START_TEST(labels_of_a_sheet) /* _i: dtype and channels */
{
    enum { H2 = 9, W2 = 31, HIGH = 14, GAP = 2 };
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int64_t n = _i / WRITTEN_DTYPES + 1;
    picture a = written_levels(dtype, H2, W2, n, 3), b = written_levels(dtype, H2, W2, n, 4);
    picture want = picture_new(dtype, H2 + HIGH, 2 * W2 + GAP, n);
    const char *const words[] = { "one", "x\\u00e9" };
    for (int k = 0; k < 2; k++) {
        char text[200];
        snprintf(text, sizeof text, "reshape(text_lines(\"%s\", 1, %d, %d, size=10), [%d, %d, 1])", words[k], W2, HIGH,
                 HIGH, W2);
        picture mask = value_of(text);
        for (int64_t y = 0; y < want.h; y++)
            for (int64_t x = 0; x < W2; x++)
                for (int64_t c = 0; c < n; c++) {
                    const bool is_opaque = n % 2 == 0 && c == n - 1;
                    *picture_at(&want, y, x + k * (W2 + GAP), c) =
                        y < H2      ? *picture_at(k ? &b : &a, y, x, c)
                        : is_opaque ? dtype_full(dtype)
                                    : *picture_at(&mask, y - H2, x, 0) / 255 * dtype_full(dtype);
                }
        picture_free(&mask);
    }
    for (int64_t k = 0; k < picture_count(&want); k++)
        want.slack[k] = is_float(dtype) ? 1e-6L : 0.51L;
    written_expect("montage(concatenate(expand_dims($1), expand_dims($2)), 2, gap=2, labels=\"one\\nx\\u00e9\", "
                   "label_size=10)",
                   (const picture *const[]){ &a, &b }, 2, &want, true);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* What texts give, as print() writes it. */
static const struct {
    const char *text, *as;
} small[] = {
    { "width(text_mask(\"\"))", "1" },
    { "height(text_mask(\"\", size=10))", "12" },
    { "maxval(text_mask(\" \"))", "0" },
    { "width(text_mask(\"I\", size=100))", "24" },
    { "height(text_mask(\"a\\nb\\n\", size=10))", "36" },
    { "height(text_mask(\"a\\nb\", size=10, spacing=1.5))", "30" },
    { "width(text_mask(\"00\", size=100)) - 2 * width(text_mask(\"1\", size=100))", "0" },
    { "width(text_mask(\"\\u00e9\", size=100)) - width(text_mask(\"e\", size=100))", "0" },
    { "maxval(absdiff(text_mask(\"\\u6f22\"), text_mask(\"\\ufffd\")))", "0" },     /* none of the font's */
    { "maxval(absdiff(text_mask(\"\\xc3\\x28\"), text_mask(\"\\ufffd(\")))", "0" }, /* no UTF-8 */
    { "maxval(absdiff(text_mask(\"\\u03bc\"), text_mask(\"\\u00b5\")))", "0" },     /* two characters, one drawing */
    { "width(text_mask(\"a\\tb\", size=50)) - width(text_mask(\"        b\", size=50))", "0" },
    { "width(text_mask(\"IIII\", size=100, angle=90))", "120" },
    { "height(text_mask(\"IIII\", size=100, angle=-90))", "96" },
    { "width(text_mask(\"AV\", size=100)) < width(text_mask(\"A\", size=100)) + width(text_mask(\"V\", size=100))",
      "1" },
    { "maxval(slice(slice(text_mask(\"X\\nWWW\", align=right), 0, 16, axis=0), 0, 16, axis=1))", "0" },
    { "maxval(slice(text_lines(\"a\\nb\", 3, 20, 20), 2, 3))", "0" },
    { "maxval(absdiff(slice(text_lines(\"a\\nb\", 3, 20, 20), 1, 2), text_lines(\"b\", 1, 20, 20)))", "0" },
    { "text(fill(1, 1, 9), \"\")", "9" },
    { "maxval(absdiff(text(zeros([20 30]), \"M\", 9, 5, color=0.5), stamp(zeros([20 30]), text_mask(\"M\"), 9, 5, "
      "color=0.5)))",
      "0" },
    { "stamp(fill(3, 1, 9), fill(2, 1, 255), 1, 0, color=7)", "[[9; 7; 7]]" },
    { "stamp(fill(3, 1, 9), fill(9, 9, 255), -1000, 0)", "[[9; 9; 9]]" },
    { "maxval(absdiff(text(zeros([20 30]), \"M\", 20, 15, anchor=SouthEast), text(zeros([20 30]), \"M\", 20, 15, "
      "anchor=southeast)))",
      "0" },
    { "maxval(absdiff(text(zeros([20 30]), \"M\", anchor=\"north-west\"), text(zeros([20 30]), \"M\")))", "0" },
    { "maxval(absdiff(text(zeros([20 30]), \"M\", anchor=Center), text(zeros([20 30]), \"M\", anchor=centre)))", "0" },
    { "text(fill(3, 1, 9), \"M\", 900, 900)", "[[9; 9; 9]]" },
    { "text(fill(1, 1, 9), \"M\", 0, 0, size=1000, weight=1000)", "9" },
    { "channels(text(fill(5, 5, 9, channels=4), \"M\"))", "4" },
    /* colours by name: levels of the picture's white; gray pictures take grays */
    { "stamp(fill(2, 1, 9, channels=3), fill(1, 1, 255), 1, 0, color=\"orange\")", "[[9 9 9; 255 165 0]]" },
    { "stamp(fill(1, 1, 9, channels=4), fill(1, 1, 255), 0, 0, color=\"#0af\")", "[[0 170 255 255]]" },
    { "stamp(depth(fill(1, 1, 9, channels=3), 16), fill(1, 1, 255), 0, 0, color=\"#010203\")", "[[257 514 771]]" },
    { "stamp(depth(fill(1, 1, 9, channels=3), float), fill(1, 1, 255), 0, 0, color=\"Aqua\")", "[[0 1 1]]" },
    { "stamp(fill(1, 1, 9), fill(1, 1, 255), 0, 0, color=\"gray\")", "128" },
    { "maxval(absdiff(text(fill(20, 20, 9, channels=3), \"M\", halo=2, halo_color=\"lime\"), text(fill(20, 20, 9, "
      "channels=3), \"M\", halo=2, halo_color=[0 255 0])))",
      "0" },
    { "frame(fill(1, 1, 7), 1, \"#1d1d1d\")", "[[29; 29; 29] [29; 7; 29] [29; 29; 29]]" },
    { "frame(fill(1, 1, [7 7], channels=2), 1, \"#1d1d1d\") == frame(fill(1, 1, [7 7], channels=2), 1, 29)",
      "[[1 1; 1 1; 1 1] [1 1; 1 1; 1 1] [1 1; 1 1; 1 1]]" },
    { "duotone(fill(1, 1, 51), \"black\", \"#ff8000\")", "[[51 26 0]]" }, /* 255, 128 and 0 over 5 */
    { "flood_fill(fill(2, 1, 5, channels=3), 0, 0, \"teal\")", "[[0 128 128; 0 128 128]]" },
    { "find_trim(fill(3, 1, \"teal\", channels=3), background=\"teal\")", "[0 0 0 0]" },
    { "find_trim(fill(3, 1, \"teal\", channels=3), background=\"tan\")", "[0 0 3 1]" },
    { "fill(1, 1, \"orange\", channels=3)", "[[255 165 0]]" },
    /* a stack of one picture is that picture, in a stack */
    { "all(vibrance(reshape(fill(4, 2, \"tan\", channels=3), [1 2 4 3]), 1) == reshape(vibrance(fill(4, 2, \"tan\", "
      "channels=3), 1), [1 2 4 3]))",
      "true" },
    { "shape(frame(zeros([1 4 5 3]), 1, 0))", "[1 6 7 3]" },
    { "shape(frame(zeros([1 4 5]), 1, 0))", "[1 6 7]" },
    { "shape(canny(zeros([1 7 6 4])))", "[1 7 6 1]" },
    { "shape(pyr_down(zeros([1 7 6 4])))", "[1 4 3 4]" },
    { "shape(opaque(zeros([1 4 5])))", "[4 5 2]" },
    { "shape(palette(zeros([1 4 5 3]), 2))", "[2 3]" },
    { "temperature(fill(1, 1, 100), 5000)", "[[92 101 115]]" },
    { "pad(fill(1, 1, 7, dtype=u16), [0 1], cval=\"white\")", "[[65535; 7; 65535]]" },
    { "pad(fill(1, 1, \"teal\", channels=3), [0 1], cval=\"#404040\")", "[[64 64 64; 0 128 128; 64 64 64]]" },
    { "pad(opaque(fill(1, 1, 7)), [0 1], cval=\"white\")", "[[255 255; 7 255; 255 255]]" },
    { "pad(opaque(fill(1, 1, 7)), [0 1], cval=\"black\")", "[[0 255; 7 255; 0 255]]" },
    { "pad(opaque(fill(1, 1, 7)), [0 1], cval=0)", "[[0 0; 7 255; 0 0]]" },
    { "pad(opaque(fill(1, 1, 7)), [0 1], cval=[3 9])", "[[3 9; 7 255; 3 9]]" },
    { "pad(fill(1, 1, \"teal\", channels=3, dtype=u16), [0 1], cval=\"#0a0\")",
      "[[0 43690 0; 0 32896 32896; 0 43690 0]]" },
    { "pad(fill(1, 1, \"teal\", channels=4), [0 1], cval=\"red\")", "[[255 0 0 255; 0 128 128 255; 255 0 0 255]]" },
    { "pad(fill(1, 1, \"teal\", channels=4), [0 1], cval=[1 2 3])", "[[1 2 3 255; 0 128 128 255; 1 2 3 255]]" },
    { "pad(fill(1, 1, \"teal\", channels=4), [0 1], cval=\"#F008\")", "[[255 0 0 136; 0 128 128 255; 255 0 0 136]]" },
    { "boxblur(fill(1, 1, 90, channels=3), 3, border=constant, cval=[90 0 900])", "[[90 10 237]]" },
    { "crop(rotate(fill(4, 4, 7, channels=3), 45, cval=\"red\"), 0, 0, 1, 1)", "[[255 0 0]]" },
    { "extent(fill(1, 1, 7, channels=3), 2, 1, gravity=west, cval=\"tan\")", "[[7 7 7; 210 180 140]]" },
    { "fill(1, 1, \"#Fa0\", channels=4)", "[[255 170 0 255]]" },
    { "fill(1, 1, \"#4c4c4c\", channels=2)", "[[76 255]]" },
    { "fill(1, 1, \"#4c4c4c\")", "76" },
    { "fill(1, 1, \"#010203\", channels=3, dtype=u16)", "[[257 514 771]]" },
    { "fill(1, 1, \"yellow\", channels=3, dtype=f32)", "[[1 1 0]]" },
    { "fill(1, 1, \"yellow\", channels=3, dtype=i32)", "[[255 255 0]]" },
    { "text(sqrt(numbers([-1 1; 4 9])), \"\")", "[nan 1; 2 3]" },
};

START_TEST(small_texts) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "text($1, 5)", "text: words must be a text" },
    { "text($1)", "text: words" },
    { "text(zeros([3]), \"a\")", "text: a is [3] f32, which is no image" },
    { "text($1, \"a\", size=0)", "text: size=0 is below 1" },
    { "text(fill(2, 2, 0, channels=3), \"a\", color=[1 2])", "text: color has 2 numbers; it must be one, or 3" },
    { "text($1, \"a\", anchor=up)", "anchor" },
    { "text_lines(\"a\", 100, 100000, 100)", "100 masks of 100000 x 100 pixels; 268435456 pixels are the limit" },
    { "text_mask(\"MMMMMMMMMM\", size=10000)", "pixels; 268435456 are the limit" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, strokes_are_lines_with_round_ends, 0, N_LETTERS);
    tcase_add_loop_test(tc, small_letters_stand_on_the_grid, 0, 5);
    tcase_add_loop_test(tc, words_on_pictures, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, masks_on_pictures, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, words_at_edges, 0, 9);
    tcase_add_loop_test(tc, labels_of_a_sheet, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, small_texts, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("written_text", tc);
}
