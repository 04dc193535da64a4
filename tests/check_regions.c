/* SPDX-License-Identifier: MIT */
/* Distances from the zeros of masks, numbers and measures of regions, what is reached in masks and pictures
 * (ops/regions.def) against searches and floods: on the device, as kernels for GPUs (schedule=pixels) and by the
 * interpreter. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What text, of $1, gives, is want whichever way it is computed. */
static void expect(const char *text, const picture *in, const picture *want)
{
    static const char *const ways[] = { "auto", "pixels", "ref" };
    imgpar_array *of = picture_array(written_context, in);
    char why[256];
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", ways[k]), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(written_context, text, &of, 1);
        ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
        ck_assert_msg(info.dtype == want->dtype && info.size_bytes == picture_size(want), "%s gives %lld x %lld, %d",
                      text, (long long)info.width, (long long)info.height, (int)info.dtype);
        char *data = malloc(info.size_bytes);
        ck_assert_ptr_nonnull(data);
        ck_assert_msg(!imgpar_array_read(a, data, info.size_bytes), "%s: %s", text, imgpar_array_message(a));
        ck_assert_msg(picture_compare(want, data, why), "%s: %s (%s)", text, why, ways[k]);
        free(data);
        imgpar_array_release(a);
    }
    imgpar_array_release(of);
}

/* ---- distances --------------------------------------------------------------------------------------------- */

/* Volumes are pictures of their planes, one below the other. */
static const struct {
    int64_t depth, height, width;
    int rarity; /* one of so many elements is 0; 0: none is */
} shapes[] = {
    { 1, 1, 1, 1 },   { 1, 1, 1, 0 },     { 1, 1, 40, 9 }, { 1, 40, 1, 9 },  { 1, 37, 53, 2 },  { 1, 37, 53, 60 },
    { 1, 53, 37, 0 }, { 1, 29, 31, 899 }, { 6, 7, 9, 30 }, { 9, 6, 5, 200 }, { 3, 11, 70, 90 }, { 5, 5, 5, 0 },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static picture mask_of(int which)
{
    picture m = picture_new(IMGPAR_F32, shapes[which].depth * shapes[which].height, shapes[which].width, 1);
    unsigned seed = 7;
    for (int64_t k = 0; k < picture_count(&m); k++) {
        seed = seed * 1664525u + 1013904223u;
        const int rarity = shapes[which].rarity;
        m.v[k] = rarity > 0 && (seed >> 10) % (unsigned)rarity == 0 ? 0 : k % 3 == 0 ? (real)NAN : 0.25L;
    }
    return m;
}

/* The first of the zeros that are nearest to element k; -1: there is none. *square: of how far. */
static int64_t nearest_of(const picture *m, int which, int64_t k, int64_t *square)
{
    const int64_t width = shapes[which].width, plane = shapes[which].height * width;
    int64_t nearest = -1;
    for (int64_t j = 0; j < picture_count(m); j++) {
        const int64_t z = k / plane - j / plane, y = k % plane / width - j % plane / width, x = k % width - j % width,
                      d = z * z + y * y + x * x;
        if (m->v[j] != 0 || (nearest >= 0 && d >= *square)) continue;
        nearest = j;
        *square = d;
    }
    return nearest;
}

START_TEST(distances_are_those_of_a_search)
{
    char shape[64], text[256];
    picture m = mask_of(_i), far = picture_new(IMGPAR_F32, m.h, m.w, 1), squares = picture_new(IMGPAR_I32, m.h, m.w, 1),
            places = picture_new(IMGPAR_I32, m.h, m.w, 1);
    for (int64_t k = 0; k < picture_count(&m); k++) {
        int64_t square = INT32_MAX;
        places.v[k] = nearest_of(&m, _i, k, &square);
        squares.v[k] = square;
        far.v[k] = places.v[k] < 0 ? (real)INFINITY : sqrtl(square);
    }
    if (shapes[_i].depth > 1)
        snprintf(shape, sizeof shape, "reshape($1, [%d %d %d])", (int)shapes[_i].depth, (int)shapes[_i].height,
                 (int)shapes[_i].width);
    else
        snprintf(shape, sizeof shape, "$1");
    snprintf(text, sizeof text, "distance(%s)", shape);
    expect(text, &m, &far);
    snprintf(text, sizeof text, "distance(cast(isnan(%s) || %s != 0, bool), squared=true)", shape, shape);
    expect(text, &m, &squares);
    snprintf(text, sizeof text, "nearest_zero(cast(%s, f64))", shape);
    expect(text, &m, &places);
    picture *const all[] = { &m, &far, &squares, &places };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        picture_free(all[k]);
}
END_TEST

/* ---- labels ---------------------------------------------------------------------------------------------------- */

enum { H = 211, W = 150, N_MASKS = 5 }; /* several strips, and columns that are no multiple of a word */

/* Noise of two densities, a snake, a comb whose teeth meet in the last row, nested frames. */
static picture winding(int which)
{
    picture p = written_levels(IMGPAR_U16, H, W, 1, 9);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            real *v = picture_at(&p, y, x, 0);
            const int64_t edge = y < x ? (y < W - 1 - x ? y : W - 1 - x) : (x < H - 1 - y ? x : H - 1 - y);
            const bool turns = (y / 2) % 2 ? x == 0 : x == W - 1;
            const bool on = which == 0   ? *v > 26000
                            : which == 1 ? *v > 39000
                            : which == 2 ? y % 2 == 0 || turns
                            : which == 3 ? x % 2 == 0 || y == H - 1
                                         : edge % 2 == 0;
            *v = on ? *v + 1 : 0;
        }
    return p;
}

/* Whether elements that are so far apart along z, y and x are neighbours. */
static bool is_near(const int64_t by[3], int connectivity)
{
    const int64_t along = by[0] * by[0] + by[1] * by[1] + by[2] * by[2];
    return along <= (connectivity <= 6 ? 1 : connectivity == 18 ? 2 : 3);
}

/* The regions of m's rows as `planes` planes. */
static picture labelled_in(const picture *m, int64_t planes, int connectivity)
{
    static int64_t stack[H * W * 27];
    const int64_t plane = m->h / planes, count = m->h * W;
    picture l = picture_new(IMGPAR_I32, m->h, W, 1);
    real n = 0;
    for (int64_t first = 0; first < count; first++) {
        int64_t depth = 0;
        if (m->v[first] == 0 || l.v[first] != 0) continue;
        n++;
        stack[depth++] = first;
        while (depth > 0) {
            const int64_t at = stack[--depth];
            if (m->v[at] == 0 || l.v[at] != 0) continue;
            l.v[at] = n;
            for (int64_t k = 0; k < 27; k++) {
                const int64_t by[3] = { k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1 };
                const int64_t z = at / W / plane + by[0], y = at / W % plane + by[1], x = at % W + by[2];
                if (z < 0 || z >= planes || y < 0 || y >= plane || x < 0 || x >= W) continue;
                if (is_near(by, connectivity)) stack[depth++] = (z * plane + y) * W + x;
            }
        }
    }
    return l;
}

static picture labelled(const picture *m, int connectivity) { return labelled_in(m, 1, connectivity); }

START_TEST(regions_of_many_strips) /* _i: the mask, and the connectivity */
{
    char text[64];
    const int connectivity = _i % 2 ? 4 : 8;
    picture m = winding(_i / 2), want = labelled(&m, connectivity);
    snprintf(text, sizeof text, "labels($1, connectivity=%d)", connectivity);
    expect(text, &m, &want);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

/* Strips of a few planes, and planes of several strips; odd and even planes of the snake, comb and frames differ. */
START_TEST(regions_of_volumes) /* _i: the mask, the connectivity, and planes by turns */
{
    static const int near[] = { 6, 18, 26 }, planes[] = { 3, 35, 210 };
    enum { ROWS = 210 };
    char text[160];
    const int connectivity = near[_i % 3], depth = planes[(_i + _i / 3) % 3];
    picture m = winding(_i / 3), rows = picture_new(IMGPAR_U16, ROWS, W, 1);
    memcpy(rows.v, m.v, (size_t)picture_count(&rows) * sizeof *m.v);
    if (_i / 3 < 2) /* few enough for more than one region */
        for (int64_t k = 0; k < picture_count(&rows); k++)
            rows.v[k] = k % 3 ? 0 : rows.v[k];
    picture want = labelled_in(&rows, depth, connectivity);
    snprintf(text, sizeof text, "labels(reshape($1, [%d %d %d]), connectivity=%d)", depth, ROWS / depth, W,
             connectivity);
    expect(text, &rows, &want);
    picture *const pictures[] = { &m, &rows, &want };
    for (size_t k = 0; k < sizeof pictures / sizeof *pictures; k++)
        picture_free(pictures[k]);
}
END_TEST

/* Labels of noise, some of them none's; of one row and one column, too; more of them than there are elements. */
static const struct {
    int64_t h, w;
    int kinds, most;
} labellings[] = { { H, W, 400, 300 }, { H, W, 3, 2 }, { 1, 90, 7, 9 },       { 90, 1, 7, 9 },
                   { 1, 1, 1, 1 },     { 1, 1, 1, 3 }, { 40, 50, 5000, 7000 } };

START_TEST(regions_are_where_their_elements_are)
{
    const int64_t h = labellings[_i].h, w = labellings[_i].w, most = labellings[_i].most;
    char text[64];
    picture m = written_levels(IMGPAR_I32, h, w, 1, 9), want = picture_new(IMGPAR_F64, most, 7, 1);
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            real *v = picture_at(&m, y, x, 0);
            *v = (int64_t)(fabsl(*v) + (real)(y * 7 + x / 5)) % labellings[_i].kinds + (h * w == 1);
            if (*v < 1 || *v > most) continue;
            real *r = picture_at(&want, (int64_t)*v - 1, 0, 0);
            const bool is_first = r[0]++ == 0;
            r[1] += y;
            r[2] += x;
            r[3] = is_first ? y : r[3];
            r[4] = is_first || r[4] > x ? x : r[4];
            r[5] = y;
            r[6] = r[6] > x ? r[6] : x;
        }
    for (int64_t k = 0; k < most; k++)
        for (int c = 1; c < 3; c++)
            want.v[k * 7 + c] = (double)want.v[k * 7 + c] / (double)want.v[k * 7];
    snprintf(text, sizeof text, "regions($1, %d)", (int)most);
    expect(text, &m, &want);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

START_TEST(regions_of_volumes_are_where_their_elements_are) /* _i: planes */
{
    enum { ROWS = 210, KINDS = 40, MOST = 30 };
    static const int planes[] = { 3, 35, 210 };
    char text[64];
    const int depth = planes[_i], plane = ROWS / depth;
    picture m = written_levels(IMGPAR_I32, ROWS, W, 1, 9), want = picture_new(IMGPAR_F64, MOST, 10, 1);
    for (int64_t k = 0; k < picture_count(&m); k++) {
        const int64_t at[3] = { k / W / plane, k / W % plane, k % W };
        m.v[k] = (int64_t)(fabsl(m.v[k]) + (real)(at[0] * 3 + at[1] + at[2] / 5)) % KINDS;
        if (m.v[k] < 1 || m.v[k] > MOST) continue;
        real *r = want.v + ((int64_t)m.v[k] - 1) * 10;
        const bool is_first = r[0]++ == 0;
        for (int d = 0; d < 3; d++) {
            r[1 + d] += at[d];
            r[4 + d] = is_first || r[4 + d] > at[d] ? at[d] : r[4 + d];
            r[7 + d] = r[7 + d] > at[d] ? r[7 + d] : at[d];
        }
    }
    for (int64_t k = 0; k < MOST; k++)
        for (int c = 1; c < 4; c++)
            want.v[k * 10 + c] = (double)want.v[k * 10 + c] / (double)want.v[k * 10];
    snprintf(text, sizeof text, "regions(reshape($1, [%d %d %d]), %d)", depth, plane, W, MOST);
    expect(text, &m, &want);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

/* Steps along equal elements from each element whose number is a multiple of 7001. */
START_TEST(steps_along_what_is_equal) /* _i: the mask, and the connectivity */
{
    static int64_t line[H * W];
    char text[160];
    const int connectivity = _i % 2 ? 4 : 8;
    int64_t first = 0, end = 0;
    picture m = winding(_i / 2), want = picture_new(IMGPAR_I32, H, W, 1);
    for (int64_t k = 0; k < H * W; k++) {
        want.v[k] = k % 7001 == 0 ? 0 : INT32_MAX;
        if (k % 7001 == 0) line[end++] = k;
    }
    while (first < end) {
        const int64_t at = line[first++];
        for (int64_t k = 0; k < 9; k++) {
            const int64_t dy = k / 3 - 1, dx = k % 3 - 1, y = at / W + dy, x = at % W + dx;
            if ((connectivity == 4 && dy != 0 && dx != 0) || y < 0 || y >= H || x < 0 || x >= W) continue;
            const int64_t j = y * W + x;
            if ((m.v[j] == 0) != (m.v[at] == 0) || want.v[j] != INT32_MAX) continue;
            want.v[j] = want.v[at] + 1;
            line[end++] = j;
        }
    }
    snprintf(text, sizeof text,
             "geodesic(make(%d, %d, (y * %d + x) %% 7001 == 0), reshape($1 != 0, [%d %d]), connectivity=%d)", W, H, W,
             H, W, connectivity);
    expect(text, &m, &want);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

/* ---- reconstruction -------------------------------------------------------------------------------------------- */

/* Planes of rows; NaN where a float has none. */
static real spread(real v, real near, bool falls)
{
    return isnan(v) || (!isnan(near) && (falls ? near < v : near > v)) ? near : v;
}

static void spread_once(picture *v, const picture *limit, int64_t plane, int connectivity, bool falls, bool *changes)
{
    for (int64_t k = 0; k < picture_count(v); k++) {
        const int64_t c = k % v->c, x = k / v->c % v->w, y = k / v->c / v->w;
        real most = v->v[k];
        for (int64_t n = 0; n < 9; n++) {
            const int64_t dy = n / 3 - 1, dx = n % 3 - 1;
            if ((connectivity == 4 && dy != 0 && dx != 0) || x + dx < 0 || x + dx >= v->w || y % plane + dy < 0 ||
                y % plane + dy >= plane)
                continue;
            most = spread(most, *picture_at(v, y + dy, x + dx, c), falls);
        }
        most = spread(most, limit->v[k], !falls);
        *changes |= !(most == v->v[k]) && !isnan(most);
        v->v[k] = most;
    }
}

START_TEST(what_is_reached_across_strips) /* _i: the dtype, connectivity, method, channels or planes */
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_I16, IMGPAR_F32, IMGPAR_F64, IMGPAR_U32, IMGPAR_I64 };
    char text[512];
    const imgpar_dtype dtype = dtypes[_i / 8];
    const int connectivity = _i % 2 ? 4 : 8;
    const bool falls = _i / 2 % 2, is_volume = _i / 4 % 2;
    const int64_t h = 140, w = is_volume ? 14 : 9, plane = is_volume ? 70 : h, c = is_volume ? 1 : 3;
    picture a = written_levels(IMGPAR_U8, h, w, c, 21), limit = picture_new(dtype, h, w, c);
    picture want = picture_new(dtype, h, w, c);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const bool is_nan = is_float(dtype) && k % 31 == 7;
        /* snakes of columns, across all rows */
        const int64_t x = k / c % w, y = k / c / w;
        limit.v[k] = is_nan ? (real)NAN : x % 3 == 1 && y % 50 != (x % 2 ? 0 : 49) ? 0 : 100 + (int)a.v[k] % 20;
        if (falls && !is_nan) limit.v[k] = 120 - limit.v[k];
        want.v[k] = k % 501 == 0 ? limit.v[k] : falls ? 120 : 0;
        want.v[k] = spread(want.v[k], limit.v[k], !falls);
    }
    for (bool changes = true; changes;) {
        changes = false;
        spread_once(&want, &limit, plane, connectivity, falls, &changes);
    }
    snprintf(text, sizeof text,
             "b = $1\nn = reshape(arange(0, %d, 1, dtype=i32), [%d %d %d])\n"
             "a = select(n %% 501 == 0, b, cast(b * 0 + %d, %s))\nfn of(p) = %s\n"
             "reconstruct(of(a), of(b), connectivity=%d, method=%s)",
             (int)picture_count(&a), (int)h, (int)w, (int)c, falls ? 120 : 0, imgpar_dtype_name(dtype),
             is_volume ? "reshape(p, [2 70 14])" : "p", connectivity, falls ? "erosion" : "dilation");
    expect(text, &limit, &want);
    picture_free(&a);
    picture_free(&limit);
    picture_free(&want);
}
END_TEST

/* ---- what is hidden ---------------------------------------------------------------------------------------------- */

enum { HIDING_MASKS = 6, FH = 37, FW = 53 };

/* A hole within, one at a corner, all but one pixel, all but a lattice, a band from side to side, few. */
static bool is_hidden(int which, int64_t y, int64_t x)
{
    switch (which) {
    case 0: return x > 5 && x < 40 && y > 3 && y < 30;
    case 1: return x > 20 && y > 9;
    case 2: return x != 30 || y != 9;
    case 3: return x % 9 != 0 || y % 7 != 0;
    case 4: return x > 10 && x < 45;
    default: return (x * 7 + y * 3) % 11 == 0;
    }
}

static const char *const hiding[HIDING_MASKS] = {
    "x > 5 && x < 40 && y > 3 && y < 30", "x > 20 && y > 9",  "x != 30 || y != 9",
    "x % 9 != 0 || y % 7 != 0",           "x > 10 && x < 45", "(x * 7 + y * 3) % 11 == 0",
};

/* Means of neighbours, overshot, until none moves. */
static void become_harmonic(picture *p, int which)
{
    real moves = 1;
    int64_t hidden[FH * FW * 3], n_hidden = 0;
    for (int64_t k = 0; k < picture_count(p); k++)
        if (is_hidden(which, k / p->c / FW, k / p->c % FW)) {
            p->v[k] = 0;
            hidden[n_hidden++] = k;
        }
    while (moves > 1e-11L) {
        moves = 0;
        for (int64_t h = 0; h < n_hidden; h++) {
            const int64_t k = hidden[h], x = k / p->c % FW, y = k / p->c / FW, c = p->c, row = FW * c;
            real sum = 0;
            int n = 0;
            if (y > 0) sum += p->v[k - row], n++;
            if (y < FH - 1) sum += p->v[k + row], n++;
            if (x > 0) sum += p->v[k - c], n++;
            if (x < FW - 1) sum += p->v[k + c], n++;
            moves = fmaxl(moves, fabsl(sum / n - p->v[k]));
            p->v[k] += 1.9L * (sum / n - p->v[k]);
        }
    }
}

START_TEST(hidden_pixels_are_means_of_those_around) /* _i: dtype, the mask, channels */
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_I16, IMGPAR_F32, IMGPAR_F64 };
    const imgpar_dtype dtype = dtypes[_i % 4];
    const int which = _i / 4 % HIDING_MASKS;
    picture a = written_levels(dtype, FH, FW, 1 + _i / 4 / HIDING_MASKS * 2, 3), want = picture_copy(&a);
    const bool is_float = dtype == IMGPAR_F32 || dtype == IMGPAR_F64;
    real most = 0;
    char text[200];
    for (int64_t k = 0; k < picture_count(&a); k++)
        most = fmaxl(most, fabsl(a.v[k]));
    become_harmonic(&want, which);
    snprintf(text, sizeof text, "harmonic($1, make(%d, %d, %s))", FW, FH, hiding[which]);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        want.slack[k] = is_float ? most * (dtype == IMGPAR_F32 ? 1e-4L : 1e-8L) : 1;
        if (!is_float) want.v[k] = roundl(want.v[k]);
    }
    /* PoCL takes a minute for the kernels for GPUs: once is enough */
    if (dtype == IMGPAR_F64)
        written_expect(text, (const picture *const[]){ &a }, 1, &want, true);
    else
        expect(text, &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- regions that are reached ------------------------------------------------------------------------------------ */

/* Of the regions of m within rows [y0, y1) those that have a mark, 1 in `want`: every 701st pixel is one. */
static void mark_regions(const picture *m, int64_t y0, int64_t y1, int connectivity, picture *want)
{
    static bool is_marked[H * W + 1];
    picture part = picture_new(IMGPAR_U8, H, W, 1);
    for (int64_t k = y0 * W; k < y1 * W; k++)
        part.v[k] = m->v[k] != 0;
    picture l = labelled(&part, connectivity);
    memset(is_marked, 0, sizeof is_marked);
    for (int64_t k = y0 * W; k < y1 * W; k++)
        if (k % 701 == 0) is_marked[(int)l.v[k]] = true;
    for (int64_t k = y0 * W; k < y1 * W; k++)
        want->v[k] = l.v[k] > 0 && is_marked[(int)l.v[k]];
    picture_free(&part);
    picture_free(&l);
}

START_TEST(masks_are_reached_by_regions) /* _i: the mask, connectivity, planes */
{
    enum { PLANE = 70 };
    char text[400];
    const int connectivity = _i % 2 ? 4 : 8;
    const bool is_volume = _i / 2 % 2;
    const int64_t rows = is_volume ? 3 * PLANE : H;
    picture m = winding(_i / 4), all = picture_new(IMGPAR_U8, H, W, 1), want = picture_new(IMGPAR_U8, rows, W, 1);
    for (int64_t y = 0; y < rows; y += is_volume ? PLANE : H)
        mark_regions(&m, y, y + (is_volume ? PLANE : H), connectivity, &all);
    memcpy(want.v, all.v, (size_t)picture_count(&want) * sizeof *want.v);
    static const char *const as[] = { /* bytes, bits, and what shrinks; numbers that are no masks for all one knows */
                                      "reconstruct(cast(m && n, u8), cast(m, u8), connectivity=near)",
                                      "cast(reconstruct(m && n, m, connectivity=near), u8)",
                                      "cast(1 - reconstruct(cast(!(m && n), u8), cast(!m, u8), connectivity=near, "
                                      "method=erosion), u8)",
                                      "cast(reconstruct(cast(m && n, i16), cast(m, i16), connectivity=near), u8)"
    };
    for (size_t k = 0; k < sizeof as / sizeof *as; k++) {
        snprintf(text, sizeof text,
                 "fn of(p) = reshape(slice(p, 0, %d), [%d %d %d])\nm = of(reshape($1, [%d %d])) != 0\n"
                 "n = of(make(%d, %d, (y * %d + x) %% 701 == 0))\nnear = %d\n%s",
                 (int)rows, is_volume ? 3 : 1, (int)rows / (is_volume ? 3 : 1), W, H, W, W, H, W, connectivity, as[k]);
        expect(text, &m, &want);
    }
    picture *const pictures[] = { &m, &all, &want };
    for (size_t k = 0; k < sizeof pictures / sizeof *pictures; k++)
        picture_free(pictures[k]);
}
END_TEST

/* ---- small arrays, errors ------------------------------------------------------------------------------------- */

/* What texts of small arrays give, as print() writes it. */
static const struct {
    const char *text, *as;
} small[] = {
    { "distance(numbers([1 1 0 1]))", "[2 1 0 1]" },
    { "distance(fill(3, 1, [0 255], channels=2))", "[0 0 0]" }, /* alpha is no mask */
    { "distance(fill(2, 1, [7 0], channels=2))", "[inf inf]" },
    { "distance(numbers([1; 1; 0]))", "[2; 1; 0]" },
    { "distance(ones([1 2]), squared=true)", "[2147483647 2147483647]" },
    { "nearest_zero(numbers([0 1 0]))", "[0 0 2]" },
    { "nearest_zero(numbers([1 0 1; 0 1 0; 1 0 1]))", "[1 1 1; 3 1 5; 3 7 5]" },
    { "nearest_zero(ones([2 2]))", "[-1 -1; -1 -1]" },
    { "nearest_zero(reshape(numbers([1 0 0 1 1 0]), [1 1 3 2]))", "[[[1; 1; 1]]]" }, /* alpha is dropped */
    { "m = numbers([0 5 5 0])\ntake(numbers([10 20 30 40]), nearest_zero(m))", "[10 10 40 40]" },
    { "reconstruct(numbers([9 0 0 0]), numbers([3 4 0 7]))", "[3 3 0 0]" },
    { "reconstruct(numbers([0 9 9 9]), numbers([3 4 9 7]), method=erosion)", "[3 4 9 9]" },
    { "reconstruct(numbers([1 0 0 0; 0 0 0 0], dtype=bool), numbers([1 1 0 1; 0 0 1 0], dtype=bool))",
      "[1 1 0 1; 0 0 1 0]" },
    { "reconstruct(numbers([2.5 0 0], dtype=f16), numbers([3 1.5 2]))", "[2.5 1.5 1.5]" },
    /* zeros have one sign, those of the limit too */
    { "1 / reconstruct(reshape([-3.0, 0.0], [1, 2]), reshape([-0.0, 6.0], [1, 2]))", "[inf inf]" },
    { "1 / reconstruct(reshape([3.0, 0.0], [1, 2]), reshape([-0.0, -6.0], [1, 2]), method=erosion)", "[inf inf]" },
    { "reconstruct(zeros([0 3]), zeros([0 3]))", "[]" },
    { "reconstruct(numbers([1], dtype=bool), numbers([1], dtype=bool))", "true" },
    { "reconstruct(numbers([1], dtype=bool), numbers([0], dtype=bool))", "false" },
    { "m = numbers([1; 1; 0; 1]) > 0\nreconstruct(numbers([0; 1; 1; 0]) > 0, m)", "[1; 1; 0; 0]" },
    { "m = numbers([1 1 1 0 1 1]) > 0\nreconstruct(numbers([0 0 1 1 0 0]) > 0, m)", "[1 1 1 0 0 0]" },
    { "m = ones([2 70]) > 0\nall(reconstruct(make(70, 2, x + y == 70), m))", "true" },
    { "m = ones([2 70]) > 0\nany(reconstruct(m, m && false))", "false" },
    { "m = ones([3 3]) > 0\nany(reconstruct(m && false, m))", "false" },
    { "m = numbers([0 1 1; 0 1 0]) > 0\nreconstruct(m || numbers([1 0 0; 0 0 1]) > 0, m, method=erosion)",
      "[0 1 1; 0 1 1]" },
    /* channels by themselves */
    { "reconstruct(fill(3, 1, [1 0 1], channels=3) > 0, fill(3, 1, [1 1 0], channels=3) > 0)",
      "[[1 0 0; 1 0 0; 1 0 0]]" },
    { "labels(numbers([3 0 -1], dtype=i16) * ones([1 3]))", "[1 0 2]" },
    { "a = reshape(numbers([1 0 0 0 0; 0 1 0 0 0; 0 0 0 0 1; 0 0 0 1 0; 0 0 1 0 0; 0 0 0 0 1]), [2 3 5])\n"
      "reshape(labels(a), [6 5])",
      "[1 0 0 0 0; 0 1 0 0 0; 0 0 0 0 2; 0 0 0 1 0; 0 0 1 0 0; 0 0 0 0 2]" },
    { "regions(reshape(numbers([1 1 0 0 0; 0 0 0 2 0; 1 0 0 0 0; 0 0 0 0 2]), [2 2 5]), 2)",
      "[3 0.3333333333333333 0 0.3333333333333333 0 0 0 1 0 1; 2 0.5 1 3.5 0 1 3 1 1 4]" },
    { "shape(labels(zeros([3 4 5 1])))", "[3 4 5 1]" },
    { "shape(labels(zeros([3 4 1])))", "[3 4]" },
    { "labels(ones([1 1 6]), connectivity=18)", "[[1 1 1 1 1 1]]" },
    { "harmonic(numbers([1 0 0 4]) * ones([1 4]), numbers([0 1 1 0]) * ones([1 4]))", "[1 2 3 4]" },
    { "harmonic(numbers([7; 0; 0]) * ones([3 1]), numbers([0; 5; 5]) * ones([3 1]))", "[7; 7; 7]" },
    { "harmonic(fill(3, 1, 9), fill(3, 1, 1))", "[[0; 0; 0]]" }, /* nothing is known */
    { "harmonic(fill(2, 2, 9), fill(2, 2, 0))", "[[9; 9] [9; 9]]" },
    /* what is not a number counts where it is beside what is hidden: the hole at the right is not beside it */
    { "b = make(40, 40, select(x == 10 && y == 20, 0.0 / 0.0, x))\nm = make(40, 40, (x >= 14 && x < 36 && y > 2 && y < "
      "38) || (x == 2 && y == 2))\nh = harmonic(b, m)\nsum(isnan(h)) == 1 && maxval(abs(select(isnan(h), x, h) - x)) < "
      "1e-3",
      "true" },
    { "b = make(40, 40, select(x == 10 && y == 20, 1.0 / 0.0, x))\nm = make(40, 40, (x >= 14 && x < 36 && y > 2 && y < "
      "38) || (x == 2 && y == 2))\nh = harmonic(b, m)\nsum(isinf(h)) == 1 && maxval(abs(select(isinf(h), x, h) - x)) < "
      "1e-3",
      "true" },
    { "sum(isnan(harmonic(make(5, 1, select(x == 1, 0.0 / 0.0, x)), make(5, 1, x == 2 || x == 3))))", "3" },
    { "sum(isnan(harmonic(make(5, 1, 0.0 / 0.0), make(5, 1, x == 2))))", "5" },
    /* 64-bit integers that are not hidden are not computed */
    { "a = cast(ones([3 3]), i64) * 9007199254740991 * 901\nharmonic(a, numbers([0 0 0; 0 1 0; 0 0 0])) - a == 0",
      "[1 1 1; 1 0 1; 1 1 1]" },
    { "harmonic(fill(1, 1, 9), fill(1, 1, 1))", "0" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "distance(fill(4, 4, 0, channels=3))",
      "distance: a is [4, 4, 3] u8; it must be an image of 1 channel; gray() makes one" },
    { "nearest_zero(zeros([0, 4]))", "nearest_zero: a is [0, 4] f32, which has no elements" },
    { "distance(zeros([3, 50000], dtype=u8), squared=true)",
      "distance: squares of distances of so large an array do not fit i32" },
    { "reconstruct(zeros([3 4]), zeros([3 4]), connectivity=5)", "reconstruct: connectivity=5 is neither 4 nor 8" },
    { "labels(zeros([4 5 6]), connectivity=5)",
      "labels: connectivity=5 is none of 6, 18 and 26, as a volume has them" },
    { "labels(zeros([4 5]), connectivity=26)", "labels: connectivity=26 is neither 4 nor 8" },
    { "labels(zeros([4 5 6 3]))", "labels: a is [4, 5, 6, 3] f32; it must be an image of 1 channel; gray() makes one" },
    { "regions(zeros([4]))", "regions: a is [4] f32; it must be an image of 1 channel" },
    { "harmonic(zeros([3 4]), zeros([4 3]))",
      "harmonic: a is [3, 4] f32, mask is [4, 3] f32; they must be images of one size, and the mask of one channel" },
    { "labels(zeros([4]))", "labels: a is [4] f32; it must be an image of 1 channel" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, distances_are_those_of_a_search, 0, N_SHAPES);
    tcase_add_loop_test(tc, regions_of_many_strips, 0, 2 * N_MASKS);
    tcase_add_loop_test(tc, regions_of_volumes, 0, 3 * N_MASKS);
    tcase_add_loop_test(tc, regions_of_volumes_are_where_their_elements_are, 0, 3);
    tcase_add_loop_test(tc, regions_are_where_their_elements_are, 0, (int)(sizeof labellings / sizeof *labellings));
    tcase_add_loop_test(tc, steps_along_what_is_equal, 0, 2 * N_MASKS);
    tcase_add_loop_test(tc, what_is_reached_across_strips, 0, 48);
    tcase_add_loop_test(tc, hidden_pixels_are_means_of_those_around, 0, 4 * HIDING_MASKS * 2);
    tcase_add_loop_test(tc, masks_are_reached_by_regions, 0, 4 * N_MASKS);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    return written_run("regions", tc);
}
