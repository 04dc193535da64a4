/* SPDX-License-Identifier: MIT */
/* Structuring elements, patterns, contours, moments (ops/element.c, ops/written_outlines.def) against plain loops. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 29, W = 37 };

static void expect(const char *text, const picture *in, picture *want)
{
    const picture *const one[] = { in };
    written_expect(text, one, 1, want, true);
}

/* ---- structuring elements ------------------------------------------------------------------------------------ */

enum { SIDE = 13 };
typedef struct element {
    int rows, cols;
    int at[SIDE][SIDE];
} element;

static element drawn(const char *shape, int size, int angle)
{
    const int r = size / 2;
    element e = { size, size, { { 0 } } };
    const double pi = 3.14159265358979323846;
    /* sines of 30 degrees and the like are 1/2, which those in double miss */
    const int ex = (int)round(round(1e9 * r * cos(angle * pi / 180)) / 1e9);
    const int ey = (int)round(round(1e9 * r * sin(angle * pi / 180)) / 1e9);
    const int n = abs(ex) > abs(ey) ? abs(ex) : abs(ey);
    for (int y = -r; y <= r; y++)
        for (int x = -r; x <= r; x++)
            e.at[y + r][x + r] = strcmp(shape, "square") == 0    ? 1
                                 : strcmp(shape, "disc") == 0    ? x * x + y * y <= r * r
                                 : strcmp(shape, "diamond") == 0 ? abs(x) + abs(y) <= r
                                                                 : x == 0 || y == 0;
    if (strcmp(shape, "line") != 0) return e;
    memset(e.at, 0, sizeof e.at);
    e.at[r][r] = 1;
    for (int k = -n; k <= n && n > 0; k++)
        e.at[r + (int)round((double)(k * ey) / n)][r + (int)round((double)(k * ex) / n)] = 1;
    return e;
}

static element turned(const element *e)
{
    element t = { e->rows, e->cols, { { 0 } } };
    for (int y = 0; y < e->rows; y++)
        for (int x = 0; x < e->cols; x++)
            t.at[y][x] = e->at[e->rows - 1 - y][e->cols - 1 - x];
    return t;
}

static picture extreme(const picture *a, const element *e, bool largest, imgpar_border border, real cval)
{
    picture out = picture_copy(a);
    for (int64_t k = 0; k < picture_count(a); k++) {
        const int64_t c = k % a->c, x = k / a->c % a->w, y = k / a->c / a->w;
        real best = NAN;
        for (int i = 0; i < e->rows; i++)
            for (int j = 0; j < e->cols; j++) {
                if (!e->at[i][j]) continue;
                const real v = picture_read(a, y + i - e->rows / 2, x + j - e->cols / 2, c, border, cval);
                if (isnan(best) || (largest ? v > best : v < best)) best = v;
            }
        out.v[k] = best;
    }
    return out;
}

static const struct {
    const char *shape;
    int size, angle;
} shapes[] = {
    { "square", 3, 0 }, { "disc", 5, 0 },  { "disc", 13, 0 }, { "diamond", 7, 0 }, { "cross", 9, 0 },
    { "line", 9, 0 },   { "line", 9, 90 }, { "line", 7, 30 }, { "line", 9, -45 },  { "disc", 1, 0 },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };
static const imgpar_border borders[] = { IMGPAR_BORDER_REPLICATE, IMGPAR_BORDER_REFLECT, IMGPAR_BORDER_REFLECT101,
                                         IMGPAR_BORDER_WRAP, IMGPAR_BORDER_CONSTANT };
static const char *const border_names[] = { "replicate", "reflect", "reflect101", "wrap", "constant" };

START_TEST(neighbours_of_a_shape) /* _i: the shape */
{
    const int k = _i, b = _i % 5;
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const element e = drawn(shapes[k].shape, shapes[k].size, shapes[k].angle);
    picture a = written_levels(dtype, H, W, 1 + k % 4, 3u + (unsigned)k);
    for (int largest = 0; largest < 2; largest++) {
        char text[160];
        picture want = extreme(&a, &e, largest, borders[b], 0);
        snprintf(text, sizeof text, "%s($1, %d, border=%s, shape=%s, angle=%d)", largest ? "dilate" : "erode",
                 shapes[k].size, border_names[b], shapes[k].shape, shapes[k].angle);
        expect(text, &a, &want);
        picture_free(&want);
    }
    picture_free(&a);
}
END_TEST

/* No row or column is its own reflection. */
static const element crooked = { 3, 5, { { 0, 1, 1, 0, 1 }, { 0, 0, 0, 1, 1 }, { 1, 0, 0, 0, 0 } } };
#define CROOKED "element=[0 1 1 0 1; 0 0 0 7 -1; 1 0 0 0 0]"

START_TEST(neighbours_of_an_element) /* _i: the border */
{
    const int b = _i;
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const real cval = b == 4 ? dtype_high(dtype) / 3 : 0;
    const element back = turned(&crooked);
    picture a = written_levels(dtype, H, W, 1, 11), small = written_levels(dtype, 1, 2, 3, 5);
    const picture *const of[] = { &a, &small };
    for (int k = 0; k < 2; k++) {
        char text[200], with[120];
        snprintf(with, sizeof with, "border=%s, cval=%.9Lg, " CROOKED ")", border_names[b], rounded(dtype, cval));
        picture least = extreme(of[k], &crooked, false, borders[b], rounded(dtype, cval));
        picture most = extreme(of[k], &crooked, true, borders[b], rounded(dtype, cval));
        picture opened = extreme(&least, &back, true, borders[b], rounded(dtype, cval));
        picture closed = extreme(&most, &back, false, borders[b], rounded(dtype, cval));
        expect((snprintf(text, sizeof text, "erode($1, %s", with), text), of[k], &least);
        expect((snprintf(text, sizeof text, "dilate($1, %s", with), text), of[k], &most);
        expect((snprintf(text, sizeof text, "opening($1, %s", with), text), of[k], &opened);
        expect((snprintf(text, sizeof text, "closing($1, %s", with), text), of[k], &closed);
        for (int64_t j = 0; j < picture_count(of[k]); j++) {
            opened.v[j] =
                rounded(dtype, of[k]->v[j] - opened.v[j] < 0 && !is_float(dtype) ? 0 : of[k]->v[j] - opened.v[j]);
            most.v[j] = rounded(dtype, most.v[j] - least.v[j] < 0 && !is_float(dtype) ? 0 : most.v[j] - least.v[j]);
        }
        expect((snprintf(text, sizeof text, "tophat($1, %s", with), text), of[k], &opened);
        expect((snprintf(text, sizeof text, "morphgrad($1, %s", with), text), of[k], &most);
        picture_free(&least);
        picture_free(&most);
        picture_free(&opened);
        picture_free(&closed);
    }
    picture_free(&a);
    picture_free(&small);
}
END_TEST

/* ---- patterns ------------------------------------------------------------------------------------------------ */

START_TEST(patterns_are_found) /* _i: what is beyond the edges */
{
    static const int wanted[3][5] = { { 0, 1, -1, 0, 0 }, { 0, 1, 1, 0, -1 }, { 0, 0, 0, 0, 1 } };
    picture a = written_levels(IMGPAR_U8, H, W, 1, 7), want = picture_new(IMGPAR_BOOL, H, W, 1);
    for (int64_t k = 0; k < H * W; k++)
        a.v[k] = a.v[k] > 100 ? a.v[k] : 0;
    for (int64_t k = 0; k < H * W; k++) {
        bool fits = true;
        for (int j = 0; j < 15; j++) {
            const int64_t y = k / W + j / 5 - 1, x = k % W + j % 5 - 2;
            const bool is_in = y >= 0 && y < H && x >= 0 && x < W, on = is_in && a.v[y * W + x] != 0;
            const int w = wanted[j / 5][j % 5];
            if (w != 0 && (is_in || _i == 1) && on != (w > 0)) fits = false;
        }
        want.v[k] = fits;
    }
    expect(_i ? "hit_or_miss($1, [0 1 -1 0 0; 0 2 1 0 -3; 0 0 0 0 1], off)"
              : "hit_or_miss($1, [0 1 -1 0 0; 0 2 1 0 -3; 0 0 0 0 1])",
           &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- frames ---------------------------------------------------------------------------------------------------- */

START_TEST(what_differs_from_its_frame) /* _i: the channels, and the dtype */
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int64_t c = _i + 1, colours = c - 1 + c % 2;
    const real full = dtype_full(dtype), t = 10 / 255.0L * full;
    int64_t x0 = W, y0 = H, x1 = -1, y1 = -1;
    picture a = written_levels(dtype, H, W, c, 5), want = picture_new(IMGPAR_I32, 1, 4, 1);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t x = k / c % W, y = k / c / W;
        const bool in = y >= 6 && y < 20 && x >= 9 && x < 30;
        if (k % c == colours)
            a.v[k] = x < 20 ? full : 0; /* alpha */
        else
            a.v[k] = in ? a.v[k] : rounded(dtype, full / 5 * (k % c + 1) + (x + y) % 3 * full / 255);
    }
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t x = k / c % W, y = k / c / W;
        const bool seen = colours == c || k % c == colours || *picture_at(&a, y, x, colours) > 0;
        if (!seen || !(fabsl(a.v[k] - a.v[k % c]) > t)) continue;
        x0 = x < x0 ? x : x0, x1 = x > x1 ? x : x1, y0 = y < y0 ? y : y0, y1 = y > y1 ? y : y1;
    }
    const real box[] = { x0, y0, x1 - x0 + 1, y1 - y0 + 1 };
    memcpy(want.v, box, sizeof box);
    expect("reshape(find_trim($1), [1, 4, 1])", &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- hulls and moments ----------------------------------------------------------------------------------------- */

enum { MOST_POINTS = 4 * H * W };

/* Which side of the line from p to q a point lies on; all in half pixels. */
static int64_t turn(const int64_t *p, const int64_t *q, int64_t x, int64_t y)
{
    return (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]);
}

/* A point is outside the hull where a line through two points of it has all of them on one side and it on the other;
 * the lines that have none beyond are found first. */
START_TEST(hulls_of_masks) /* _i: how many pixels are on */
{
    static int64_t points[MOST_POINTS][2];
    static const int counts[] = { 1, 2, 3, 7, 40 };
    picture a = written_levels(IMGPAR_U8, H, W, 1 + _i % 2, 7), want = picture_new(IMGPAR_BOOL, H, W, 1);
    int n = 0;
    unsigned seed = 7u + (unsigned)_i;
    for (int64_t k = 0; k < H * W; k++)
        *picture_at(&a, k / W, k % W, 0) = 0;
    for (int k = 0; k < counts[_i]; k++) {
        seed = seed * 1664525u + 1013904223u;
        const int64_t y = 2 + (seed >> 8) % (H - 6), x = 3 + (seed >> 16) % (W - 4);
        *picture_at(&a, y, x, 0) = 200;
        static const int beside[4][2] = { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } };
        for (int d = 0; d < 4; d++, n++) {
            points[n][0] = 2 * x + beside[d][0];
            points[n][1] = 2 * y + beside[d][1];
        }
    }
    for (int64_t k = 0; k < H * W; k++)
        want.v[k] = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            bool is_edge = points[i][0] != points[j][0] || points[i][1] != points[j][1];
            for (int k = 0; k < n && is_edge; k++)
                is_edge = turn(points[i], points[j], points[k][0], points[k][1]) >= 0;
            for (int64_t k = 0; k < H * W && is_edge; k++)
                if (turn(points[i], points[j], 2 * (k % W), 2 * (k / W)) < 0) want.v[k] = 0;
        }
    expect("convex_hull($1)", &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

static real power_sum(const picture *a, int p, int q, real cx, real cy)
{
    real sum = 0;
    for (int64_t k = 0; k < H * W; k++)
        sum += *picture_at(a, k / W, k % W, 0) * powl((real)(k % W) - cx, p) * powl((real)(k / W) - cy, q);
    return sum;
}

START_TEST(moments_of_levels) /* _i: the dtype */
{
    static const int orders[][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 2, 0 }, { 1, 1 },
                                     { 0, 2 }, { 3, 0 }, { 2, 1 }, { 1, 2 }, { 0, 3 } };
    picture a = written_levels(written_dtypes[_i], H, W, 1 + _i % 2, 7), want = picture_new(IMGPAR_F64, 1, 24, 1);
    picture hu = picture_new(IMGPAR_F64, 1, 7, 1);
    const real m00 = power_sum(&a, 0, 0, 0, 0);
    const real cx = power_sum(&a, 1, 0, 0, 0) / m00, cy = power_sum(&a, 0, 1, 0, 0) / m00;
    for (int k = 0; k < 10; k++) {
        const int p = orders[k][0], q = orders[k][1];
        want.v[k] = power_sum(&a, p, q, 0, 0);
        want.slack[k] = want.v[k] * 0x1p-40L;
        if (k < 3) continue;
        want.v[k + 7] = power_sum(&a, p, q, cx, cy);
        want.v[k + 14] = want.v[k + 7] / powl(m00, (p + q) / 2.0L + 1);
        want.slack[k + 7] = want.slack[k];
        want.slack[k + 14] = want.slack[k] / powl(m00, (p + q) / 2.0L + 1);
    }
    const real *nu = want.v + 17, n20 = nu[0], n11 = nu[1], n02 = nu[2], n30 = nu[3], n21 = nu[4], n12 = nu[5],
               n03 = nu[6], r = n30 + n12, t = n21 + n03;
    const real of[] = {
        n20 + n02,
        (n20 - n02) * (n20 - n02) + 4 * n11 * n11,
        (n30 - 3 * n12) * (n30 - 3 * n12) + (3 * n21 - n03) * (3 * n21 - n03),
        r * r + t * t,
        (n30 - 3 * n12) * r * (r * r - 3 * t * t) + (3 * n21 - n03) * t * (3 * r * r - t * t),
        (n20 - n02) * (r * r - t * t) + 4 * n11 * r * t,
        (3 * n21 - n03) * r * (r * r - 3 * t * t) - (n30 - 3 * n12) * t * (3 * r * r - t * t),
    };
    for (int k = 0; k < 7; k++) {
        hu.v[k] = of[k];
        hu.slack[k] = fabsl(of[k]) * 0x1p-20L + powl(m00, -6) * 1e-9L;
    }
    expect("reshape(moments($1), [1, 24, 1])", &a, &want);
    expect("reshape(hu_moments($1), [1, 7, 1])", &a, &hu);
    picture_free(&a);
    picture_free(&want);
    picture_free(&hu);
}
END_TEST

/* ---- circles ----------------------------------------------------------------------------------------------------- */

START_TEST(circles_are_found) /* _i: channels */
{
    enum { SIDE_PX = 96, CIRCLES = 3 };
    static const int circles[CIRCLES][3] = { { 30, 34, 20 }, { 68, 62, 17 }, { 20, 76, 12 } };
    bool found[CIRCLES] = { false };
    int rows[5][4];
    picture p = picture_new(IMGPAR_U8, SIDE_PX, SIDE_PX, 1 + _i);
    for (int64_t k = 0; k < picture_count(&p); k++) {
        const int64_t c = k % p.c, x = k / p.c % SIDE_PX, y = k / p.c / SIDE_PX;
        for (int j = 0; j < CIRCLES; j++) {
            const real d = hypotl((real)(x - circles[j][0]), (real)(y - circles[j][1])) - circles[j][2];
            if (d < 0.5L) p.v[k] = roundl(200 * fminl(0.5L - d, 1));
        }
        if (c == 1) p.v[k] = 255;
    }
    imgpar_array *in = picture_array(written_context, &p);
    for (int way = 0; way < 2; way++) {
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(written_context, "hough_circles($1, 10, 24, 5, 60)", &in, 1);
        ck_assert_msg(imgpar_array_read(a, rows, sizeof rows) == IMGPAR_OK, "%s", imgpar_array_message(a));
        for (int k = 0; k < CIRCLES; k++)
            for (int j = 0; j < CIRCLES; j++)
                if (abs(rows[k][0] - circles[j][0]) <= 1 && abs(rows[k][1] - circles[j][1]) <= 1 &&
                    abs(rows[k][2] - circles[j][2]) <= 1 && rows[k][3] >= 60)
                    found[j] = true;
        for (int k = 0; k < CIRCLES; k++)
            ck_assert_msg(found[k], "circle %d is missing; the first is %d %d %d of %d votes", k, rows[0][0],
                          rows[0][1], rows[0][2], rows[0][3]);
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(rows[4][k], 0);
            ck_assert(rows[k][3] >= rows[k + 1][3]);
        }
        imgpar_array_release(a);
    }
    imgpar_array_release(in);
    picture_free(&p);
}
END_TEST

/* Of each edge's votes a count, vote by vote; peaks and radii looked for place by place. */
enum { MOST_CIRCLES = 6, MOST_PLACES = 6400, MOST_RADII = 200 };
static const struct voters {
    imgpar_dtype dtype;
    int h, w, least, largest, threshold, apart;
} voters[] = {
    { IMGPAR_U8, 1, 1, 1, 3, 1, 3 },       { IMGPAR_U8, 1, 61, 1, 9, 1, 5 },     { IMGPAR_F32, 70, 1, 2, 9, 1, 9 },
    { IMGPAR_U8, 61, 83, 3, 20, 2, 9 },    { IMGPAR_U16, 47, 131, 5, 20, 2, 3 }, { IMGPAR_F64, 64, 64, 7, 199, 1, 31 },
    { IMGPAR_F32, 90, 40, 1, 64, 3, 255 },
};

typedef struct ballot {
    int h, w, votes[MOST_PLACES];
    real mask[MOST_PLACES], u[MOST_PLACES], v[MOST_PLACES];
} ballot;

static void read_as(const char *text, imgpar_array *in, real *to, int n)
{
    static double numbers[MOST_PLACES];
    imgpar_array *a = imgpar_apply(written_context, text, &in, 1);
    ck_assert_msg(imgpar_array_read(a, numbers, sizeof *numbers * (size_t)n) == IMGPAR_OK, "%s",
                  imgpar_array_message(a));
    for (int k = 0; k < n; k++)
        to[k] = numbers[k];
    imgpar_array_release(a);
}

static void vote(ballot *b, const struct voters *t)
{
    for (int k = 0; k < b->h * b->w; k++) {
        const real d = hypotl(b->u[k], b->v[k]);
        for (int r = t->least; b->mask[k] != 0 && d > 0 && r <= t->largest; r++)
            for (int side = -1; side < 2; side += 2) {
                const real x = k % b->w + side * roundl(r * b->u[k] / d), y = k / b->w + side * roundl(r * b->v[k] / d);
                if (x >= 0 && x < b->w && y >= 0 && y < b->h) b->votes[(int)y * b->w + (int)x]++;
            }
    }
}

/* Whether place k is a peak. */
static bool leads(const ballot *b, int k, int half)
{
    bool is_first = true;
    for (int j = 0; j < b->h * b->w; j++)
        if (abs(j / b->w - k / b->w) <= half && abs(j % b->w - k % b->w) <= half &&
            (b->votes[j] > b->votes[k] || (b->votes[j] == b->votes[k] && j < k)))
            is_first = false;
    return is_first;
}

static int radius_of(const ballot *b, const struct voters *t, int place)
{
    int counts[MOST_RADII] = { 0 }, best = t->least;
    for (int j = 0; j < b->h * b->w; j++) {
        const int r = (int)roundl(hypotl(j / b->w - place / b->w, j % b->w - place % b->w));
        if (b->mask[j] != 0 && r >= t->least && r <= t->largest) counts[r]++;
    }
    for (int r = t->least; r <= t->largest; r++)
        if ((float)counts[r] / (float)r > (float)counts[best] / (float)best) best = r;
    return best;
}

/* The next row, which becomes no peak any more. */
static void take_circle(ballot *b, bool *is_taken, const struct voters *t, int row[4])
{
    int best = -1;
    for (int k = 0; k < b->h * b->w; k++)
        if (!is_taken[k] && b->votes[k] >= t->threshold && (best < 0 || b->votes[k] > b->votes[best]) &&
            leads(b, k, t->apart / 2))
            best = k;
    if (best < 0) return;
    is_taken[best] = true;
    row[0] = best % b->w;
    row[1] = best / b->w;
    row[2] = radius_of(b, t, best);
    row[3] = b->votes[best];
}

static imgpar_array *rings(const struct voters *t)
{
    picture p = picture_new(t->dtype, t->h, t->w, 1);
    for (int k = 0; k < t->h * t->w; k++) {
        const int x = k % t->w, y = k / t->w;
        const real d = hypotl(x - t->w / 3, y - t->h / 2), e = hypotl(x - t->w + 9, y - t->h / 3);
        p.v[k] = (d > 9 && d < 16 ? 180 : 20) + (e < 7 ? 40 : 0) + (x * 7 + y * 13) % 11;
    }
    imgpar_array *a = picture_array(written_context, &p);
    picture_free(&p);
    return a;
}

START_TEST(circles_have_the_votes_of_edges)
{
    static ballot b;
    static bool is_taken[MOST_PLACES];
    const struct voters *t = &voters[_i];
    char text[120];
    int want[MOST_CIRCLES][4] = { { 0 } }, got[MOST_CIRCLES][4];
    imgpar_array *in = rings(t);
    b = (ballot){ .h = t->h, .w = t->w };
    memset(is_taken, 0, sizeof is_taken);
    read_as("cast(canny($1, 40, 90), f64)", in, b.mask, t->h * t->w);
    read_as("cast(sobel($1, axis=\"x\"), f64)", in, b.u, t->h * t->w);
    read_as("cast(sobel($1, axis=\"y\"), f64)", in, b.v, t->h * t->w);
    vote(&b, t);
    for (int k = 0; k < MOST_CIRCLES; k++)
        take_circle(&b, is_taken, t, want[k]);
    ck_assert(t->h < 40 || t->w < 40 || want[0][3] > 0);
    snprintf(text, sizeof text, "hough_circles($1, %d, %d, %d, %d, %d, 40, 90)", t->least, t->largest, MOST_CIRCLES,
             t->threshold, t->apart);
    for (int way = 0; way < 2; way++) {
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(written_context, text, &in, 1);
        ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(a));
        for (int k = 0; k < MOST_CIRCLES; k++)
            for (int j = 0; j < 4; j++)
                ck_assert_msg(got[k][j] == want[k][j], "%s: circle %d is %d %d %d %d, not %d %d %d %d", text, k,
                              got[k][0], got[k][1], got[k][2], got[k][3], want[k][0], want[k][1], want[k][2],
                              want[k][3]);
        imgpar_array_release(a);
    }
    imgpar_array_release(in);
}
END_TEST

/* Derivatives whose squares f32 does not hold have a direction, too: a disc has as many votes at any scale. */
START_TEST(circles_of_any_level)
{
    static const char disc[] = "make(61, 61, cast(200 * clamp(12.5 - sqrt((x - 30.5) ** 2 + (y - 30.5) ** 2), 0, 1), "
                               "f64)) * 2.0 ** %d";
    for (int k = -80; k <= 80; k += 160) {
        char text[300];
        int n = snprintf(text, sizeof text, disc, k);
        snprintf(text + n, sizeof text - (size_t)n,
                 "\nhough_circles(a, 6, 20, 1, 10, low=100 * 2.0 ** %d, high=200 * "
                 "2.0 ** %d)",
                 k, k);
        char program[310];
        snprintf(program, sizeof program, "a = %s", text);
        written_prints(program, "[30 30 12 47]");
    }
}
END_TEST

/* ---- contours ---------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 2000, MOST_SEGMENTS = 2000 };
typedef struct segment {
    real from[2], to[2];
    bool is_seen;
} segment;

/* Where the level crosses a side of the square at x, y: 0 top, 1 right, 2 bottom, 3 left. */
static void crossing(const real *v, int64_t x, int64_t y, int side, real level, real out[2])
{
    const int64_t px = x + (side == 1), py = y + (side == 2), dx = side % 2 == 0, dy = side % 2;
    const real v0 = v[py * W + px], v1 = v[(py + dy) * W + px + dx];
    const real part = (level - v0) / (v1 - v0);
    out[0] = px + dx * part;
    out[1] = py + dy * part;
}

/* Of each square with sides that the level crosses: seen from what is above, from the side on its right to that on its
 * left; corners that are above and meet diagonally do not join. */
static int segments_of(const real *v, real level, segment *out)
{
    static const int corner[4][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 } }; /* before each side, clockwise */
    int n = 0;
    for (int64_t y = 0; y + 1 < H; y++)
        for (int64_t x = 0; x + 1 < W; x++) {
            bool above[4], is_number = true;
            for (int k = 0; k < 4; k++) {
                const real e = v[(y + corner[k][1]) * W + x + corner[k][0]];
                above[k] = e > level;
                is_number = is_number && !isnan(e);
            }
            for (int k = 0; k < 4 && is_number; k++) { /* a run of corners above, clockwise, ends with corner k */
                int first = k;
                if (!above[k] || above[(k + 1) % 4]) continue;
                while (above[(first + 3) % 4])
                    first = (first + 3) % 4;
                ck_assert_int_lt(n, MOST_SEGMENTS);
                crossing(v, x, y, k, level, out[n].from);
                crossing(v, x, y, (first + 3) % 4, level, out[n].to);
                out[n].is_seen = false;
                n += out[n].from[0] != out[n].to[0] || out[n].from[1] != out[n].to[1]; /* at a pixel with the level */
            }
        }
    return n;
}

static bool is_same(const real p[2], const double *q)
{
    return fabsl(p[0] - q[0]) <= 0x1p-40L && fabsl(p[1] - q[1]) <= 0x1p-40L;
}

/* Each line of the result is one of the segments, each segment is one line, and a contour ends where none goes on. */
static void check_contours(const double (*rows)[3], segment *all, int n)
{
    int lines = 0;
    for (int k = 0; k < MOST_ROWS && !isnan(rows[k][0]); k++) {
        const bool goes_on = k + 1 < MOST_ROWS && rows[k + 1][0] == rows[k][0];
        int found = -1;
        for (int j = 0; j < n; j++)
            if (is_same(all[j].from, rows[k] + 1)) found = j;
        if (!goes_on) {
            ck_assert_msg(found < 0 || all[found].is_seen, "contour %g ends in the middle", rows[k][0]);
            ck_assert_msg(isnan(rows[k + 1][0]) || rows[k + 1][0] == rows[k][0] + 1, "%g", rows[k + 1][0]);
            continue;
        }
        ck_assert_msg(found >= 0 && !all[found].is_seen && is_same(all[found].to, rows[k + 1] + 1),
                      "row %d, from %g %g to %g %g, is no segment", k, rows[k][1], rows[k][2], rows[k + 1][1],
                      rows[k + 1][2]);
        all[found].is_seen = true;
        lines++;
    }
    ck_assert_int_eq(lines, n);
}

START_TEST(contours_of_a_level) /* _i: smooth hills, noise, what is no number, a level that is found */
{
    static segment all[MOST_SEGMENTS];
    static double rows[MOST_ROWS][3];
    picture a = written_levels(IMGPAR_F32, H, W, 1, 7);
    real level = 0.5L, least = INFINITY, most = -INFINITY;
    for (int64_t k = 0; k < H * W; k++) {
        const real x = k % W, y = k / W;
        if (_i != 1) a.v[k] = (real)(float)(0.5 + 0.5 * sin((double)(x / 4 + y / 9)) * cos((double)(y / 5 - x / 13)));
        least = fminl(least, a.v[k]);
        most = fmaxl(most, a.v[k]);
    }
    if (_i == 2) a.v[5 * W + 9] = a.v[20 * W + 30] = NAN;
    if (_i == 3) level = (least + most) / 2;
    const int n = segments_of(a.v, level, all);
    imgpar_array *in = picture_array(written_context, &a);
    for (int way = 0; way < 2; way++) {
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *c = imgpar_apply(
            written_context, _i == 3 ? "find_contours($1, most=2000)" : "find_contours($1, 0.5, most=2000)", &in, 1);
        ck_assert_msg(imgpar_array_read(c, rows, sizeof rows) == IMGPAR_OK, "%s", imgpar_array_message(c));
        for (int k = 0; k < n; k++)
            all[k].is_seen = false;
        check_contours(rows, all, n);
        imgpar_array_release(c);
    }
    imgpar_array_release(in);
    picture_free(&a);
}
END_TEST

/* ---- small and wrong ------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *as;
} small[] = {
    { "find_trim(numbers([0 0; nan 1]), 0)", "[1 1 1 1]" },
    { "find_trim(numbers([0 1 0], dtype=i64) * ones([1 1], dtype=i64) + (cast(1, i64) << 60), 0)", "[1 0 1 1]" },
    { "dilate(make(7, 5, cast(x == 3 && y == 2, u8)), 5, shape=line, angle=45)",
      "[0 0 0 0 0 0 0; 0 0 1 0 0 0 0; 0 0 0 1 0 0 0; 0 0 0 0 1 0 0; 0 0 0 0 0 0 0]" },
    { "dilate(make(5, 3, cast(x == 2 && y == 1, u8)), 3, shape=cross)", "[0 0 1 0 0; 0 1 1 1 0; 0 0 1 0 0]" },
    { "dilate(numbers([1 5 2]), element=[1 0 0])", "[1 1 5]" },
    { "dilate(numbers([1 5 2]), 3, shape=square, element=[1 0 0])", "[1 1 5]" },
    { "dilate(numbers([1 5 2]), element=auto)", "[5 5 5]" },
    { "erode(numbers([3 5 2]), 5, shape=disc)", "[2 2 2]" },
    { "erode(numbers([3 5 2]) > 2, element=[1 0 1])", "[1 0 0]" },
    { "a = select(numbers([0 1 0]) > 0, nan, numbers([3 5 2]))\ndilate(a, element=[1 1 0])", "[3 3 2]" },
    { "dilate(ones([1 1]), 9, shape=diamond)", "1" },
    { "erode(ones([2 2]) * 3, element=[1 0 1], border=constant, cval=inf)", "[3 3; 3 3]" },
    { "hit_or_miss(make(3, 1, x == 1), [-1 1 -1])", "[0 1 0]" },
    { "hit_or_miss(ones([1 1]), [0 1 0; -1 0 -1; 0 -1 0])", "true" },
    { "hit_or_miss(ones([1 1]), [0 1 0; -1 0 -1; 0 -1 0], off)", "false" },
    { "convex_hull(zeros([1 3]))", "[0 0 0]" },
    { "convex_hull(ones([1 1]))", "true" },
    { "convex_hull(numbers([1 0 0; 0 0 0; 0 0 1]))", "[1 0 0; 0 1 0; 0 0 1]" },
    { "hull_points(numbers([0 0; 2 0; 1 1; 2 2; 0 2; 1 0]))", "[0 0; 2 0; 2 2; 0 2; nan nan; nan nan]" },
    { "hull_points(numbers([1 1; 3 3; 2 2; 1 1]))", "[1 1; 3 3; nan nan; nan nan]" },
    { "hull_points(numbers([5 7; 5 9; 5 8]))", "[5 7; 5 9; nan nan]" },
    { "hull_points(numbers([5 7; 5 7]))", "[5 7; nan nan]" },
    { "hull_points(numbers([0 3; 4 1; 2 9; 2 4; 4 6]))", "[0 3; 4 1; 4 6; 2 9; nan nan]" },
    { "find_contours(numbers([0 0 0; 0 4 0; 0 0 0]), 1, 6)",
      "[0 0.25 1; 0 1 0.25; 0 1.75 1; 0 1 1.75; 0 0.25 1; nan nan nan]" },
    { "find_contours(numbers([0 0 0 0 0; 0 4 0 4 0; 0 0 0 0 0]), 1, 9)",
      "[0 0.25 1; 0 1 0.25; 0 1.75 1; 0 1 1.75; 0 0.25 1; nan nan nan; nan nan nan; nan nan nan; nan nan nan]" },
    { "sum(isnan(find_contours(random([40 40]), 0.5, 2)))", "6" },
    { "find_contours(numbers([2 2 2; 2 1 2; 2 2 2]), 1, 2)", "[nan nan nan; nan nan nan]" },
    { "find_contours(numbers([0 0 0; 1 1 1; 2 2 2]), 1, 4)", "[0 0 1; 0 1 1; 0 2 1; nan nan nan]" },
    { "find_contours(numbers([1 1 1; 1 2 1; 1 1 1]), 1, 6)", "[0 0 1; 0 1 0; 0 2 1; 0 1 2; 0 0 1; nan nan nan]" },
    { "find_contours(numbers([0 4; 0 4]), 1, 4)", "[0 0.25 1; 0 0.25 0; nan nan nan; nan nan nan]" },
    { "find_contours(ones([1 3]), 0.5, 2)", "[nan nan nan; nan nan nan]" },
    { "hough_circles(zeros([9 9]), 2, 3, 2)", "[0 0 0 0; 0 0 0 0]" },
    { "a = make(61, 61, cast(200 * clamp(12.5 - sqrt((x - 30.5) ** 2 + (y - 30.5) ** 2), 0, 1), u8))\n"
      "slice(hough_circles(a, 6, 20, 3, 10), [0 0], [3 3])",
      "[30 30 12; 0 0 0; 0 0 0]" },
    { "fn disc(px) = make(61, 45, cast(200 * clamp(12.5 - sqrt((x - px) ** 2 + (y - 40) ** 2), 0, 1), u8))\n"
      "fn found(a) = slice(hough_circles(a, 6, 20, 2, 10), [0 0], [2 3])\n"
      "concatenate(found(disc(55)), found(disc(4)))", /* near corners, where votes have margins */
      "[55 40 12; 0 0 0; 4 40 12; 0 0 0]" },
    { "hough_radii(ones([3 3]), numbers([4 0 -1 8 9]), 1, 2)", "[8 0; 3 4; 0 0; 3 4; 0 0]" },
    { "hough_radii(ones([3 3]), numbers([0 0 1 -1]) / numbers([1 0 0 0]), 1, 2)", /* NaN is 0 */
      "[3 4; 3 4; 0 0; 0 0]" },
    { "hough_radii(ones([1 1]), cast([-1 4294967296 2147483647], i64), 1, 9)", /* in 32 bits, saturated */
      "[0 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0 0]" },
    { "slice(moments(zeros([2 2])), 0, 4)", "[0 0 0 0]" },
    { "hu_moments(zeros([2 2]))", "[0 0 0 0 0 0 0]" },
    { "find_trim(make(5, 4, x == 2 && y == 1))", "[2 1 1 1]" },
    { "find_trim(make(1, 1, x))", "[0 0 0 0]" },
    { "find_trim(numbers([16777217 16777216], dtype=i32) + zeros([2 1], dtype=i32), 0, 16777217)", "[1 0 1 2]" },
    { "find_trim(numbers([16777217 16777216], dtype=u32) + zeros([2 1], dtype=u32), 0, 16777217)", "[1 0 1 2]" },
    { "find_trim(numbers([16777217 16777220], dtype=u32) + zeros([2 1], dtype=u32), 2, 16777217)", "[1 0 1 2]" },
    { "find_trim(numbers([0 1], dtype=i64) + zeros([2 1], dtype=i64) + 9007199254740992, 0, 9007199254740992)",
      "[1 0 1 2]" },
    { "find_trim(fill(3, 2, [9 0 0], channels=3), 5, [0 0 0])", "[0 0 3 2]" },
    { "find_trim(fill(3, 2, [9 0 0], channels=3), 5, [9 0 3])", "[0 0 0 0]" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "erode($1, element=[0 0 0])", "erode: element has nothing but 0" },
    { "dilate($1, 5, element=[1 1 1])",
      "dilate: size and element contradict each other: an element stands in place of size, shape and angle" },
    { "dilate($1, shape=disc, element=[1 1 1])", "dilate: shape and element contradict each other" },
    { "median($1, angle=90, element=[1 1 1])", "median: angle and element contradict each other" },
    { "median($1, element=numbers([1 1 1]))",
      "median: element must be a matrix, not an array; write its numbers, as in [1 2 1]: print(ARRAY) shows them" },
    { "dilate($1, element=[1 1])", "dilate: element is 1x2; both sides must be odd" },
    { "dilate($1, 3, shape=blob)", "dilate: shape=blob is not one of square, disc, diamond, cross, line" },
    { "hit_or_miss($1, [1 1])", "hit_or_miss: element is 1x2; both sides must be odd" },
    { "hit_or_miss(fill(4, 4, 0, channels=3), [1])", "it must be an image of 1 channel; gray() makes one" },
    { "hough_circles($1, 4, 3)", "hough_circles: least=4" },
    { "hull_points($1)", "hull_points: a is [3, 3] f32; it must be [n, 2], x and y in each row, n at least 1" },
    { "find_trim($1, -1)", "find_trim: threshold=-1 is below 0" },
    { "find_trim(fill(4, 4, 0, channels=3), 5, [1 2])", "find_trim: background has 2 numbers" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

/* A call with an element of n ones, in a row or a column; what it says is freed by the caller. */
static char *long_element(const char *begin, size_t n, char between)
{
    const size_t head = strlen(begin);
    char *text = malloc(head + 2 * n + 3);
    ck_assert_ptr_nonnull(text);
    memcpy(text, begin, head);
    for (size_t k = 0; k < n; k++) {
        text[head + 2 * k] = k ? between : '[';
        text[head + 2 * k + 1] = '1';
    }
    memcpy(text + head + 2 * n, "])", 3);
    return text;
}

START_TEST(elements_have_bounds)
{
    static const struct {
        const char *call;
        size_t n;
        char between;
        const char *why;
    } beyond[] = {
        { "erode($1, element=", 32769, ' ', "erode: element is 1x32769; its sides are at most 32767" },
        { "dilate($1, element=", 32769, ';', "dilate: element is 32769x1; its sides are at most 32767" },
        { "erode($1, element=", 65537, ' ', "erode: element is 1x65537; its sides are at most 32767" },
        { "hit_or_miss($1, ", 257, ' ', "hit_or_miss: element is 1x257; its sides are at most 255" },
        { "hit_or_miss($1, ", 257, ';', "hit_or_miss: element is 257x1; its sides are at most 255" },
    };
    for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
        char *text = long_element(beyond[k].call, beyond[k].n, beyond[k].between);
        written_refuses(text, beyond[k].why);
        free(text);
    }
    char *text = long_element("dilate(numbers([1 9 3; 7 2 4]), element=", 32767, ' ');
    written_prints(text, "[9 9 9; 7 7 7]");
    free(text);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, neighbours_of_a_shape, 0, N_SHAPES);
    tcase_add_loop_test(tc, neighbours_of_an_element, 0, 5);
    tcase_add_loop_test(tc, patterns_are_found, 0, 2);
    tcase_add_loop_test(tc, what_differs_from_its_frame, 0, 4);
    tcase_add_loop_test(tc, hulls_of_masks, 0, 5);
    tcase_add_loop_test(tc, moments_of_levels, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, circles_are_found, 0, 2);
    tcase_add_loop_test(tc, circles_have_the_votes_of_edges, 0, (int)(sizeof voters / sizeof *voters));
    tcase_add_test(tc, circles_of_any_level);
    tcase_add_loop_test(tc, contours_of_a_level, 0, 4);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_test(tc, elements_have_bounds);
    return written_run("written outlines", tc);
}
