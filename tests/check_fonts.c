/* SPDX-License-Identifier: MIT */
/*
 * Words in fonts from files (ops/typeset.c, io/freetype.c), in a font that is made here: its letters are rectangles, a
 * triangle and a parabola, so what they cover is known.
 */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include "base/alloc.h"
#include "io/freetype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a font ---------------------------------------------------------------------------------------- */

enum { EM = 1000, ASCENT = 800, DESCENT = 200, MOST_BYTES = 4096 };

typedef struct bytes {
    unsigned char at[MOST_BYTES];
    size_t n;
} bytes;

static void put(bytes *b, unsigned v, int n)
{
    while (n--)
        b->at[b->n++] = n < 4 ? (unsigned char)(v >> 8 * n) : 0;
}

static void put16(bytes *b, int v) { put(b, (unsigned)v, 2); }

typedef struct point {
    int x, y;
    bool is_control;
} point;

/* Of a glyph: how many points each contour has, 0 ending them. */
typedef struct drawn {
    int advance, contours[3];
    point points[12];
} drawn;

enum { NOTHING, SQUARE, RING, SPACE, TRIANGLE, PARABOLA, N_GLYPHS };
static const drawn glyphs[N_GLYPHS] = {
    [NOTHING] = { 600, { 0 }, { { 0 } } },
    [SQUARE] = { 600, { 4 }, { { 0, 0, 0 }, { 0, 500, 0 }, { 500, 500, 0 }, { 500, 0, 0 } } },
    [RING] = { 600,
               { 4, 4 },
               { { 100, 0, 0 },
                 { 100, 400, 0 },
                 { 500, 400, 0 },
                 { 500, 0, 0 },
                 { 200, 100, 0 },
                 { 400, 100, 0 },
                 { 400, 300, 0 },
                 { 200, 300, 0 } } },
    [SPACE] = { 250, { 0 }, { { 0 } } },
    [TRIANGLE] = { 500, { 3 }, { { 0, 0, 0 }, { 0, 500, 0 }, { 500, 0, 0 } } },
    [PARABOLA] = { 500, { 4 }, { { 0, 0, 0 }, { 0, 500, 1 }, { 500, 500, 0 }, { 500, 0, 0 } } },
};
static const struct {
    unsigned code;
    int glyph;
} characters[] = { { ' ', SPACE }, { 'A', SQUARE }, { 'O', RING }, { 'p', PARABOLA }, { 0x1f600, TRIANGLE } };
enum { N_CHARACTERS = sizeof characters / sizeof *characters, KERN = -100 /* of A and O */ };

static void put_glyph(bytes *b, const drawn *g)
{
    int n = 0, x = 0, y = 0;
    for (int k = 0; g->contours[k]; k++)
        n++;
    if (n == 0) return;
    put16(b, n);
    for (int k = 0; k < 4; k++)
        put16(b, k < 2 ? 0 : 500);
    int all = 0;
    for (int k = 0; k < n; k++)
        put16(b, (all += g->contours[k]) - 1);
    put16(b, 0); /* instructions */
    for (int k = 0; k < all; k++)
        put(b, !g->points[k].is_control, 1);
    for (int k = 0; k < all; x = g->points[k++].x)
        put16(b, g->points[k].x - x);
    for (int k = 0; k < all; y = g->points[k++].y)
        put16(b, g->points[k].y - y);
    if (b->n % 2) put(b, 0, 1);
}

static void put_head(bytes *b)
{
    put(b, 0x10000, 4);
    put(b, 0x10000, 4);
    put(b, 0, 4);
    put(b, 0x5f0f3cf5, 4);
    put16(b, 0);
    put16(b, EM);
    for (int k = 0; k < 4; k++)
        put(b, 0, 4);
    for (int k = 0; k < 4; k++)
        put16(b, k < 2 ? 0 : 500);
    put16(b, 0);
    put16(b, 8);
    put16(b, 2);
    put16(b, 1); /* loca has 32 bits */
    put16(b, 0);
}

static void put_hhea(bytes *b)
{
    put(b, 0x10000, 4);
    put16(b, ASCENT);
    put16(b, -DESCENT);
    put16(b, 0);
    put16(b, 600);
    for (int k = 0; k < 11; k++)
        put16(b, k == 3 ? 1 : 0);
    put16(b, N_GLYPHS);
}

static void put_maxp(bytes *b)
{
    put(b, 0x10000, 4);
    put16(b, N_GLYPHS);
    put16(b, 12);
    put16(b, 2);
    for (int k = 0; k < 11; k++)
        put16(b, k == 2 ? 2 : 0);
}

static void put_cmap(bytes *b)
{
    put16(b, 0);
    put16(b, 1);
    put16(b, 3);
    put16(b, 10);
    put(b, 12, 4);
    put16(b, 12);
    put16(b, 0);
    put(b, 16 + 12 * N_CHARACTERS, 4);
    put(b, 0, 4);
    put(b, N_CHARACTERS, 4);
    for (int k = 0; k < N_CHARACTERS; k++) {
        put(b, characters[k].code, 4);
        put(b, characters[k].code, 4);
        put(b, (unsigned)characters[k].glyph, 4);
    }
}

static void put_kern(bytes *b)
{
    put16(b, 0);
    put16(b, 1);
    put16(b, 0);
    put16(b, 14 + 6);
    put16(b, 1);
    put16(b, 1); /* pairs, and what binary search wants to know */
    put16(b, 6);
    put16(b, 0);
    put16(b, 0);
    put16(b, SQUARE);
    put16(b, RING);
    put16(b, KERN);
}

/* A font whose squares are wide; of 500 as told above. */
static bytes font_of(int wide)
{
    static const char names[][5] = { "cmap", "glyf", "head", "hhea", "hmtx", "kern", "loca", "maxp" };
    enum { N_TABLES = sizeof names / sizeof *names };
    bytes tables[N_TABLES] = { { { 0 }, 0 } }, font = { { 0 }, 0 };
    put_cmap(&tables[0]);
    put_head(&tables[2]);
    put_hhea(&tables[3]);
    put_kern(&tables[5]);
    put_maxp(&tables[7]);
    for (int k = 0; k < N_GLYPHS; k++) {
        drawn g = glyphs[k];
        for (int i = 0; k == SQUARE && i < 4; i++)
            if (g.points[i].x) g.points[i].x = wide;
        put(&tables[6], (unsigned)tables[1].n, 4);
        put_glyph(&tables[1], &g);
        put16(&tables[4], g.advance);
        put16(&tables[4], 0); /* where its box, as told, begins */
    }
    put(&tables[6], (unsigned)tables[1].n, 4);
    put(&font, 0x10000, 4);
    put16(&font, N_TABLES);
    put(&font, 0, 6);
    size_t at = 12 + 16 * N_TABLES;
    for (int k = 0; k < N_TABLES; k++) {
        memcpy(font.at + font.n, names[k], 4);
        font.n += 4;
        put(&font, 0, 4);
        put(&font, (unsigned)at, 4);
        put(&font, (unsigned)tables[k].n, 4);
        at += (tables[k].n + 3) / 4 * 4;
    }
    for (int k = 0; k < N_TABLES; k++) {
        memcpy(font.at + font.n, tables[k].at, tables[k].n);
        font.n += (tables[k].n + 3) / 4 * 4;
    }
    return font;
}

static imgpar_array *opened(const bytes *font)
{
    imgpar_array *a = imgpar_open_memory(written_context, font->at, font->n);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s", imgpar_array_message(a));
    return a;
}

/* ---- masks ----------------------------------------------------------------------------------------- */

/* What text gives, $1 being a font. */
static picture mask_of(const char *text, imgpar_array *font, const char *schedule)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", schedule), IMGPAR_OK);
    imgpar_array *a = imgpar_apply(written_context, text, &font, 1);
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    ck_assert(info.dtype == IMGPAR_U8 && info.channels == 1 && info.white == 255);
    unsigned char *data = malloc(info.size_bytes);
    ck_assert_ptr_nonnull(data);
    ck_assert_msg(imgpar_array_read(a, data, info.size_bytes) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    picture p = picture_new(IMGPAR_U8, info.height, info.width, 1);
    for (int64_t k = 0; k < picture_count(&p); k++)
        p.v[k] = data[k];
    free(data);
    imgpar_array_release(a);
    return p;
}

/* In pixels; what is cut out of others counts less than 0. */
typedef struct rectangle {
    real x0, y0, x1, y1;
    int sign;
} rectangle;

static real overlap(real a0, real a1, real b) { return fmaxl(fminl(a1, b + 1) - fmaxl(a0, b), 0); }

static const struct {
    const char *text;
    int64_t w, h;
    int n;
    rectangle r[4];
} exact[] = {
    { "font_mask($1, \"A\", size=20)", 12, 20, 1, { { 0, 6, 10, 16, 1 } } },
    { "font_mask($1, \"A\", 21)", 13, 21, 1, { { 0, 6.5L, 10.5L, 17, 1 } } }, /* the baseline is on a whole row */
    { "font_mask($1, \"OA\", 20)", 24, 20, 3, { { 2, 8, 10, 16, 1 }, { 4, 10, 8, 14, -1 }, { 12, 6, 22, 16, 1 } } },
    { "font_mask($1, \"AO\", 20)", /* kerned: 2 to the left */
      22,
      20,
      3,
      { { 0, 6, 10, 16, 1 }, { 12, 8, 20, 16, 1 }, { 14, 10, 18, 14, -1 } } },
    { "font_mask($1, \"A\\nA A\", 20)",
      29,
      40,
      3,
      { { 0, 6, 10, 16, 1 }, { 0, 26, 10, 36, 1 }, { 17, 26, 27, 36, 1 } } },
    { "font_mask($1, \"A\\nA A\", 20, align=right)",
      29,
      40,
      3,
      { { 17, 6, 27, 16, 1 }, { 0, 26, 10, 36, 1 }, { 17, 26, 27, 36, 1 } } },
    { "font_mask($1, \"A\\nA A\", 20, align=center, spacing=1.5)",
      29,
      60,
      3,
      { { 8.5L, 11, 18.5L, 21, 1 }, { 0, 41, 10, 51, 1 }, { 17, 41, 27, 51, 1 } } },
    { "font_mask($1, \"A\\tA\", 20)", 52, 20, 2, { { 0, 6, 10, 16, 1 }, { 40, 6, 50, 16, 1 } } },
    { "font_mask($1, \"A\", 20, angle=90)", 20, 12, 1, { { 4, 0, 14, 10, 1 } } },
    { "font_mask($1, \"A\", 20, angle=-90)", 20, 12, 1, { { 6, 2, 16, 12, 1 } } },
    { "font_mask($1, \"A\", 20, angle=180)", 12, 20, 1, { { 2, 4, 12, 14, 1 } } },
    { "font_mask($1, \"A\\u200bA\\ufeff\", 20)", 24, 20, 2, { { 0, 6, 10, 16, 1 }, { 12, 6, 22, 16, 1 } } },
    { "font_mask($1, \"z\", 20)", 12, 20, 2, { { 2, 2, 10, 16, 1 }, { 3, 3, 9, 15, -1 } } }, /* it has none */
    { "font_mask($1, \"\", 20)", 1, 20, 0, { { 0, 0, 0, 0, 0 } } },
    { "font_mask($1, \"A\", 20, spacing=0.1)", 12, 10, 1, { { 0, 0, 10, 10, 1 } } }, /* it reaches beyond its line */
};

START_TEST(rectangles_are_covered_exactly)
{
    const bytes font = font_of(500);
    imgpar_array *a = opened(&font);
    for (int way = 0; way < 2; way++) {
        picture got = mask_of(exact[_i].text, a, way ? "auto" : "ref");
        ck_assert_msg(got.w == exact[_i].w && got.h == exact[_i].h, "%s: %d x %d", exact[_i].text, (int)got.w,
                      (int)got.h);
        for (int64_t k = 0; k < got.w * got.h; k++) {
            real want = 0;
            for (int i = 0; i < exact[_i].n; i++) {
                const rectangle *r = &exact[_i].r[i];
                want += r->sign * overlap(r->x0, r->x1, k % got.w) * overlap(r->y0, r->y1, k / got.w);
            }
            ck_assert_msg(fabsl(got.v[k] - 255 * want) <= 0.51L, "%s: at %d, %d: %d, not %g", exact[_i].text,
                          (int)(k % got.w), (int)(k / got.w), (int)got.v[k], (double)(255 * want));
        }
        picture_free(&got);
    }
    imgpar_array_release(a);
}
END_TEST

/* Pixels, of a letter of so many per mille of an em squared, by how much they cover and where their middle is. */
static void check_area(const picture *p, real size, real area, real x, real y)
{
    real sum = 0, sx = 0, sy = 0;
    for (int64_t k = 0; k < p->w * p->h; k++) {
        sum += p->v[k] / 255;
        sx += p->v[k] / 255 * (k % p->w + 0.5L);
        sy += p->v[k] / 255 * (k / p->w + 0.5L);
    }
    area *= size * size;
    ck_assert_msg(fabsl(sum - area) < 0.002L * area, "%g, not %g", (double)sum, (double)area);
    ck_assert_msg(fabsl(sx / sum - x) < 0.02L && fabsl(sy / sum - y) < 0.02L, "%g, %g, not %g, %g", (double)(sx / sum),
                  (double)(sy / sum), (double)x, (double)y);
}

START_TEST(slants_and_curves_are_covered_exactly)
{
    const bytes font = font_of(500);
    imgpar_array *a = opened(&font);
    picture triangle = mask_of("font_mask($1, \"\xf0\x9f\x98\x80\", 40)", a, "ref"); /* beyond 16 bits */
    for (int64_t y = 0; y < 20; y++)
        for (int64_t x = 0; x < 20; x++)
            ck_assert_int_eq((int)*picture_at(&triangle, 12 + y, x, 0), x < y ? 255 : x == y ? 128 : 0);
    check_area(&triangle, 40, 0.125L, 20.0L / 3, 32 - 20.0L / 3);
    picture_free(&triangle);
    /* under a parabola: a triangle, and two thirds of the one over it */
    picture parabola = mask_of("font_mask($1, \"p\", 100)", a, "ref");
    const real part = 0.125L, more = 0.25L / 3, area = part + more;
    const real x = (part * 1 / 3 + more * 0.2L) / area, y = (part * 1 / 6 + more * 0.3L) / area;
    check_area(&parabola, 100, area, 100 * x, 80 - 100 * y);
    picture_free(&parabola);
    picture turned = mask_of("font_mask($1, \"A\", 60, angle=30)", a, "ref");
    const real c = cosl(acosl(-1) / 6), s = 0.5L; /* the square's middle is 3 left of the box's, and 3 below */
    ck_assert(turned.w == ceill(36 * c + 60 * s) && turned.h == ceill(36 * s + 60 * c));
    const real across = 36 * c + 60 * s, along = 36 * s + 60 * c;
    check_area(&turned, 60, 0.25L, ceill(across) / 2 - 3 * c - 3 * s, ceill(along) / 2 - 3 * s + 3 * c);
    picture_free(&turned);
    imgpar_array_release(a);
}
END_TEST

START_TEST(letters_grow_on_all_sides)
{
    const bytes font = font_of(500);
    imgpar_array *a = opened(&font);
    picture p = mask_of("font_mask($1, \"A\", 20, grow=3)", a, "ref");
    ck_assert(p.w == 12 + 6 && p.h == 20 + 6);
    for (int64_t k = 0; k < p.w * p.h; k++) { /* by the distance of a pixel's middle from the square */
        const real x = k % p.w + 0.5L - 3, y = k / p.w + 0.5L - 3;
        const real d = hypotl(fmaxl(fmaxl(-x, x - 10), 0), fmaxl(fmaxl(6 - y, y - 16), 0));
        ck_assert_int_le(fabsl(p.v[k] - 255 * fminl(fmaxl(3.5L - d, 0), 1)), 1);
    }
    picture_free(&p);
    p = mask_of("font_mask($1, \"A\", 20, grow=0.25)", a, "ref"); /* of whole pixels a quarter around them */
    ck_assert(p.w == 12 + 2 && p.h == 20 + 2);
    ck_assert_int_le(fabsl(*picture_at(&p, 10, 0, 0) - 255 * 0.25L), 64);
    ck_assert_int_eq((int)*picture_at(&p, 10, 1, 0), 255);
    picture_free(&p);
    imgpar_array_release(a);
}
END_TEST

/* ---- fonts as arrays ------------------------------------------------------------------------------- */

/* They differ in nothing but elements, so the later ones meet a plan that was made for the first. */
START_TEST(each_font_has_its_own_letters)
{
    const int wide[] = { 500, 250, 400, 500, 250 };
    for (int k = 0; k < 10; k++) {
        const bytes font = font_of(wide[k / 2]);
        imgpar_array *a =
            k % 2 ? opened(&font)
                  : imgpar_array_from_data(written_context, IMGPAR_U8, 1, (int64_t[]){ (int64_t)font.n }, font.at);
        picture p = mask_of("font_mask($1, \"A\", 20)", a, "auto");
        for (int64_t x = 0; x < p.w; x++)
            ck_assert_int_eq((int)*picture_at(&p, 10, x, 0), x < wide[k / 2] / 50 ? 255 : 0);
        picture_free(&p);
        imgpar_array_release(a);
    }
}
END_TEST

START_TEST(a_font_is_its_bytes)
{
    const bytes font = font_of(500);
    imgpar_info info = { .struct_size = sizeof info };
    unsigned char got[MOST_BYTES];
    imgpar_array *a = opened(&font);
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    ck_assert(info.dtype == IMGPAR_U8 && info.rank == 1 && info.shape[0] == (int64_t)font.n && info.white == 0);
    ck_assert_int_eq(imgpar_array_read(a, got, font.n), IMGPAR_OK);
    ck_assert(memcmp(got, font.at, font.n) == 0);
    imgpar_array_release(a);
}
END_TEST

static void write_font(const char *path, const bytes *font)
{
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(font->at, 1, font->n, f) == font->n && fclose(f) == 0);
}

START_TEST(a_font_that_changes_is_told)
{
    char path[] = "check_fonts_XXXXXX";
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    const bytes first = font_of(500);
    bytes second = font_of(250);
    write_font(path, &first);
    imgpar_array *font = imgpar_open(written_context, path);
    imgpar_array *mask = imgpar_apply(written_context, "font_mask($1, \"A\", 20)", &font, 1);
    picture p = mask_of("font_mask($1, \"A\", 20)", font, "ref");
    ck_assert_int_eq((int)*picture_at(&p, 10, 9, 0), 255);
    second.n += 4;
    write_font(path, &second);
    unsigned char got[12 * 20];
    ck_assert_int_eq(imgpar_array_read(mask, got, sizeof got), IMGPAR_E_IO);
    ck_assert_msg(strstr(imgpar_array_message(mask), "changed since it was opened") != NULL, "%s",
                  imgpar_array_message(mask));
    imgpar_array *late = imgpar_apply(written_context, "font_mask($1, \"A\", 20)", &font, 1);
    ck_assert_msg(strstr(imgpar_array_message(late), "changed since it was opened") != NULL, "%s",
                  imgpar_array_message(late));
    unlink(path);
    picture_free(&p);
    imgpar_array_release(late);
    imgpar_array_release(mask);
    imgpar_array_release(font);
}
END_TEST

static const struct {
    const char *text;
    imgpar_status status;
    const char *why;
} refused[] = {
    { "font_mask(zeros([3]), \"a\")", IMGPAR_E_ARGUMENT,
      "font_mask: font is [3] f32 and no font; open(\"FILE.ttf\") " },
    { "font_mask(cast($1 + 0, u8), \"a\")", IMGPAR_E_ARGUMENT, "] u8 and no font; open(\"FILE.ttf\") gives one" },
    { "font_mask($1, 5)", IMGPAR_E_SYNTAX, "font_mask: words must be a text" },
    { "font_mask($1, \"A\", 0.5)", IMGPAR_E_SYNTAX, "font_mask: size=0.5 is below 1" },
    { "font_mask($1, \"AAAAAAAAAA\", 10000)", IMGPAR_E_LIMIT, "60000 x 10000 pixels; 268435456 are the limit" },
    { "font_mask($1, \"A\", index=1)", IMGPAR_E_ARGUMENT, "font_mask: index=1: the font has none of that number" },
};

START_TEST(what_does_not_fit_is_refused)
{
    const bytes font = font_of(500);
    imgpar_array *a = opened(&font), *r = imgpar_apply(written_context, refused[_i].text, &a, 1);
    ck_assert_msg(strstr(imgpar_array_message(r), refused[_i].why) != NULL, "%s", imgpar_array_message(r));
    ck_assert_int_eq(imgpar_array_status(r), refused[_i].status);
    imgpar_array_release(r);
    imgpar_array_release(a);
}
END_TEST

/* Bytes of the same number, of which the width of the words is told. */
START_TEST(a_pipeline_looks_at_each_font)
{
    static const int wide[] = { 500, 900, 500 };
    int64_t widths[3];
    imgpar_pipeline *p;
    ck_assert_int_eq(imgpar_pipeline_parse("t", "font_mask($1, \"A\", 20)", NULL, &p), IMGPAR_OK);
    for (int k = 0; k < 3; k++) {
        const bytes font = font_of(wide[k]);
        const int64_t n = (int64_t)font.n;
        imgpar_array *a = imgpar_array_from_data(written_context, IMGPAR_U8, 1, &n, font.at);
        imgpar_array *again = imgpar_pipeline_apply(p, written_context, &a, 1);
        imgpar_array *once = imgpar_apply(written_context, "font_mask($1, \"A\", 20)", &a, 1);
        imgpar_info got = { .struct_size = sizeof got }, wanted = { .struct_size = sizeof wanted };
        ck_assert_int_eq(imgpar_array_info(again, &got), IMGPAR_OK);
        ck_assert_int_eq(imgpar_array_info(once, &wanted), IMGPAR_OK);
        ck_assert_int_eq(got.shape[1], wanted.shape[1]);
        widths[k] = got.shape[1];
        imgpar_array_release(once);
        imgpar_array_release(again);
        imgpar_array_release(a);
    }
    ck_assert_int_eq(widths[0], widths[2]);
    ck_assert_int_lt(widths[0], widths[1]);
    imgpar_pipeline_release(p);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------ */

static imgpar_status set_in(const bytes *font, unsigned char *to, size_t n)
{
    imgpar_array *a = imgpar_open_memory(written_context, font->at, font->n);
    imgpar_array *r =
        imgpar_apply(written_context, "font_mask($1, \"AOp\\nz\xf0\x9f\x98\x80\", 9, angle=20, grow=1)", &a, 1);
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_status st = imgpar_array_info(r, &info);
    if (!st && info.size_bytes <= n) st = imgpar_array_read(r, to, info.size_bytes);
    imgpar_array_release(r);
    imgpar_array_release(a);
    return st;
}

/* Each byte in turn: a font is drawn or refused, and nothing else happens. */
START_TEST(damaged_fonts_are_refused)
{
    static unsigned char to[1 << 20];
    int n_refused = 0;
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", "ref"), IMGPAR_OK);
    const bytes whole = font_of(500);
    for (size_t k = 4; k < whole.n; k++)
        for (int way = 0; way < 3; way++) {
            bytes font = whole;
            font.at[k] = way == 0 ? 0xff : way == 1 ? 0x80 : font.at[k] + 1;
            const imgpar_status st = set_in(&font, to, sizeof to);
            ck_assert(st == IMGPAR_OK || st == IMGPAR_E_CORRUPT || st == IMGPAR_E_UNSUPPORTED || st == IMGPAR_E_LIMIT);
            n_refused += st != IMGPAR_OK;
        }
    for (size_t n = 0; n < whole.n; n += 7) {
        bytes font = whole;
        font.n = n;
        ck_assert(set_in(&font, to, sizeof to) != IMGPAR_OK || n > whole.n - 64);
    }
    ck_assert_int_gt(n_refused, 20);
}
END_TEST

START_TEST(memory_may_end_anywhere)
{
    static unsigned char to[1 << 20];
    const bytes font = font_of(500);
    bool is_done = false;
    ck_assert_int_eq(imgpar_context_set(written_context, "schedule", "ref"), IMGPAR_OK);
    ck_assert_int_eq(set_in(&font, to, sizeof to), IMGPAR_OK);
    for (unsigned long n = 1; !is_done; n += n < 400 || test_tier_is_full() ? 1 : 7) {
        ip_fault_set(IP_FAULT_ALLOC, n);
        const imgpar_status st = set_in(&font, to, sizeof to);
        is_done = ip_fault_seen(IP_FAULT_ALLOC) < n;
        ip_fault_set(IP_FAULT_ALLOC, 0);
        ck_assert_msg(st == IMGPAR_OK || st == IMGPAR_E_HOST_MEMORY, "%lu: %d", n, (int)st);
    }
}
END_TEST

/* ---- without FreeType -------------------------------------------------------------------------------- */

START_TEST(without_freetype_it_is_told)
{
    const bytes font = font_of(500);
    imgpar_array *a = opened(&font), *r = imgpar_apply(written_context, "font_mask($1, \"A\", 20)", &a, 1);
    ck_assert_int_eq(imgpar_array_status(r), IMGPAR_E_UNSUPPORTED);
    ck_assert_msg(strstr(imgpar_array_message(r), "font_mask: ") && strstr(imgpar_array_message(r), "FreeType"), "%s",
                  imgpar_array_message(r));
    imgpar_array_release(r);
    imgpar_array_release(a);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_test(tc, a_font_is_its_bytes);
    if (!ip_font_is_known()) {
        tcase_add_test(tc, without_freetype_it_is_told);
        return written_run("fonts", tc);
    }
    tcase_add_loop_test(tc, rectangles_are_covered_exactly, 0, (int)(sizeof exact / sizeof *exact));
    tcase_add_test(tc, slants_and_curves_are_covered_exactly);
    tcase_add_test(tc, letters_grow_on_all_sides);
    tcase_add_test(tc, each_font_has_its_own_letters);
    tcase_add_test(tc, a_font_that_changes_is_told);
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_test(tc, a_pipeline_looks_at_each_font);
    tcase_add_test(tc, damaged_fonts_are_refused);
    tcase_add_test(tc, memory_may_end_anywhere);
    return written_run("fonts", tc);
}
