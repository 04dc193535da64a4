/* SPDX-License-Identifier: MIT */
/* Extremes, basins, sizes and skeletons of regions (ops/written_masks.def) against floods and plain loops. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 43, W = 37, N = H * W };

static void expect(const char *text, const picture *in, picture *want)
{
    const picture *const one[] = { in };
    written_expect(text, one, 1, want, true);
}

/* Few levels, so that there are plateaus. */
static picture hills(imgpar_dtype dtype, int levels)
{
    picture p = written_levels(IMGPAR_U8, H, W, 1, 5), out = picture_new(dtype, H, W, 1);
    for (int64_t k = 0; k < N; k++) {
        const int64_t y = k / W, x = k % W;
        const int64_t v = ((int)p.v[k] % 3 + (y / 4 * 5 + x / 5 * 3) % 7) % levels;
        out.v[k] = is_float(dtype) ? v * 0.5L - 1 : v * 9;
    }
    picture_free(&p);
    return out;
}

/* The d-th neighbour of k, or -1. */
enum { NEIGHBOURS = 8 };
static int64_t neighbour(int64_t k, int d, int connectivity)
{
    static const int dy[] = { -1, -1, -1, 0, 0, 1, 1, 1 }, dx[] = { -1, 0, 1, -1, 1, -1, 0, 1 };
    const int64_t y = k / W + dy[d], x = k % W + dx[d];
    if ((connectivity == 4 && dy[d] != 0 && dx[d] != 0) || y < 0 || y >= H || x < 0 || x >= W) return -1;
    return y * W + x;
}

/* Whether a path from `from`, whose elements are above `floor`, leads to one above `top`. */
static bool climbs(const real *v, int64_t from, real above, real top, int connectivity)
{
    static bool seen[N];
    static int64_t stack[N];
    int64_t n = 0;
    memset(seen, 0, sizeof seen);
    stack[n++] = from;
    seen[from] = true;
    while (n > 0) {
        const int64_t k = stack[--n];
        if (v[k] > top) return true;
        for (int d = 0; d < NEIGHBOURS; d++) {
            const int64_t j = neighbour(k, d, connectivity);
            if (j < 0 || seen[j] || !(v[j] > above)) continue;
            seen[j] = true;
            stack[n++] = j;
        }
    }
    return false;
}

START_TEST(extremes_that_no_path_leaves) /* _i: the dtype, connectivity, minima */
{
    char text[96];
    const imgpar_dtype dtype = written_dtypes[_i / 4];
    const int connectivity = _i % 2 ? 4 : 8;
    const bool minima = _i / 2 % 2;
    const real h = is_float(dtype) ? 0.75L : 13;
    picture a = hills(dtype, 12), plateaus = picture_new(IMGPAR_BOOL, H, W, 1), high = picture_copy(&plateaus);
    real v[N];
    for (int64_t k = 0; k < N; k++)
        v[k] = minima ? -a.v[k] : a.v[k];
    for (int64_t k = 0; k < N; k++) {
        /* above what is next below */
        plateaus.v[k] = !climbs(v, k, v[k] - 0.25L, v[k], connectivity);
        const bool fits = is_float(dtype) || (minima ? a.v[k] + h <= dtype_high(dtype) : a.v[k] >= h);
        high.v[k] = fits && !climbs(v, k, v[k] - h, v[k], connectivity);
    }
    snprintf(text, sizeof text, "regional_%s($1, connectivity=%d)", minima ? "minima" : "maxima", connectivity);
    expect(text, &a, &plateaus);
    snprintf(text, sizeof text, "h_%s($1, %s, connectivity=%d)", minima ? "minima" : "maxima",
             is_float(dtype) ? "0.75" : "12.5", connectivity);
    expect(text, &a, &high);
    picture_free(&a);
    picture_free(&plateaus);
    picture_free(&high);
}
END_TEST

START_TEST(what_is_the_largest_around_it)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = hills(dtype, 40), want = picture_new(IMGPAR_BOOL, H, W, 1);
    const real threshold = is_float(dtype) ? 1.5L : 40;
    for (int64_t k = 0; k < N; k++) {
        bool is_peak = a.v[k] > threshold;
        for (int64_t n = 0; n < 25; n++)
            is_peak &= written_nearest(&a, k / W + n / 5 - 2, k % W + n % 5 - 2, 0) <= a.v[k];
        want.v[k] = is_peak;
    }
    expect(is_float(dtype) ? "peaks($1, size=5, threshold=1.5)" : "peaks($1, size=5, threshold=40)", &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- watershed --------------------------------------------------------------------------------------------- */

#define MARKERS "select((y * 37 + x) %% 211 == 100, (y * 37 + x) div 211 + 1, 0)"
static int64_t marker(int64_t k) { return k % 211 == 100 ? k / 211 + 1 : 0; }

typedef struct wave {
    real pass;
    int64_t steps, from;
} wave;

static bool is_less(const wave *a, const wave *b)
{
    return a->pass < b->pass || (a->pass == b->pass && a->steps < b->steps);
}

/* pass and steps of each element, first one, then the other, until nothing changes. */
static void flood(const picture *a, wave *w, int connectivity)
{
    for (int64_t k = 0; k < N; k++)
        w[k] = (wave){ .pass = marker(k) ? a->v[k] : (real)INFINITY, .steps = N };
    for (bool changes = true; changes;) {
        changes = false;
        for (int64_t k = 0; k < N; k++)
            for (int d = 0; d < NEIGHBOURS; d++) {
                const int64_t j = neighbour(k, d, connectivity);
                const real pass = j < 0 ? (real)INFINITY : fmaxl(w[j].pass, a->v[k]);
                if (!(pass < w[k].pass)) continue;
                w[k].pass = pass;
                changes = true;
            }
    }
    for (bool changes = true; changes;) {
        changes = false;
        for (int64_t k = 0; k < N; k++)
            for (int d = 0; d < NEIGHBOURS; d++) {
                const int64_t j = neighbour(k, d, connectivity);
                const bool comes_in = j >= 0 && w[j].pass < w[k].pass;
                int64_t steps = marker(k) || comes_in ? 0 : w[k].steps;
                if (j >= 0 && w[j].pass == w[k].pass && w[j].steps + 1 < steps) steps = w[j].steps + 1;
                changes |= steps < w[k].steps;
                w[k].steps = steps;
            }
    }
    for (int64_t k = 0; k < N; k++) {
        w[k].from = k;
        for (int d = 0; d < NEIGHBOURS && !marker(k); d++) {
            const int64_t j = neighbour(k, d, connectivity);
            if (j >= 0 && (w[k].from == k || is_less(&w[j], &w[w[k].from]))) w[k].from = j;
        }
    }
}

START_TEST(basins_of_markers) /* _i: the dtype, the connectivity */
{
    static wave w[N];
    char text[160];
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int connectivity = _i % 2 ? 4 : 8;
    picture a = hills(dtype, 25), want = picture_new(IMGPAR_I32, H, W, 1);
    flood(&a, w, connectivity);
    for (int64_t k = 0; k < N; k++) {
        int64_t at = k;
        while (!marker(at))
            at = w[at].from;
        want.v[k] = marker(at);
    }
    snprintf(text, sizeof text, "watershed($1, make(37, 43, " MARKERS "), connectivity=%d)", connectivity);
    expect(text, &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- sizes ----------------------------------------------------------------------------------------------------- */

/* Spots of several sizes. */
static picture spots(imgpar_dtype dtype)
{
    picture p = written_levels(IMGPAR_U8, H, W, 1, 11), out = picture_new(dtype, H, W, 1);
    for (int64_t k = 0; k < N; k++)
        out.v[k] = p.v[k] > 150 ? (real)((int)p.v[k] % 5 + 1) : 0;
    picture_free(&p);
    return out;
}

/* Numbers k's region in mark; returns its size. */
static int64_t colour(const picture *m, int64_t from, real *mark, real n, int connectivity)
{
    static int64_t stack[N];
    int64_t depth = 0, size = 0;
    stack[depth++] = from;
    mark[from] = n;
    while (depth > 0) {
        const int64_t k = stack[--depth];
        size++;
        for (int d = 0; d < NEIGHBOURS; d++) {
            const int64_t j = neighbour(k, d, connectivity);
            if (j < 0 || m->v[j] == 0 || mark[j] != 0) continue;
            mark[j] = n;
            stack[depth++] = j;
        }
    }
    return size;
}

START_TEST(regions_that_are_large) /* _i: the dtype, the connectivity */
{
    char text[96];
    real mark[N] = { 0 }, size[N + 1] = { 0 };
    const int connectivity = _i % 2 ? 4 : 8;
    picture m = spots(written_dtypes[_i / 2]), large = picture_copy(&m), largest = picture_copy(&m);
    int64_t n = 0, most = 0;
    for (int64_t k = 0; k < N; k++)
        if (m.v[k] != 0 && mark[k] == 0) {
            n++;
            size[n] = colour(&m, k, mark, n, connectivity);
            if (size[n] > size[most]) most = n;
        }
    ck_assert(n > 20 && size[most] > 6);
    for (int64_t k = 0; k < N; k++) {
        large.v[k] = m.v[k] != 0 && size[(int64_t)mark[k]] >= 4 ? m.v[k] : 0;
        largest.v[k] = m.v[k] != 0 && (int64_t)mark[k] == most ? m.v[k] : 0;
    }
    snprintf(text, sizeof text, "remove_small($1, 4, connectivity=%d)", connectivity);
    expect(text, &m, &large);
    snprintf(text, sizeof text, "largest_region($1, connectivity=%d)", connectivity);
    expect(text, &m, &largest);
    picture_free(&m);
    picture_free(&large);
    picture_free(&largest);
}
END_TEST

/* ---- floods ------------------------------------------------------------------------------------------------------ */

START_TEST(what_paths_join_to_a_seed) /* _i: the dtype, the connectivity */
{
    char text[128];
    const int connectivity = _i % 2 ? 4 : 8, left = 7, top = 5;
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const real tolerance = is_float(dtype) ? 0.5L : 40;
    static const char *const colours[] = { "5", "[5 6]", "[5 6 7]", "[5 6 7 8]" };
    for (int channels = 1; channels <= 4; channels++) {
        picture a = picture_new(dtype, H, W, channels), near = picture_new(IMGPAR_BOOL, H, W, 1);
        picture flooded = picture_new(IMGPAR_U8, H, W, 1);
        const bool has_alpha = channels % 2 == 0 && !is_float(dtype); /* floats of no known white have none */
        real mark[N] = { 0 };
        picture random = written_levels(IMGPAR_U8, H, W, channels, 3);
        for (int64_t k = 0; k < N * channels; k++) /* of three levels, the middle one near both others */
            a.v[k] = (is_float(dtype) ? 0.375L : 30) * ((int64_t)random.v[k] % 3);
        picture_free(&random);
        const real *seed = a.v + (top * W + left) * channels;
        for (int64_t k = 0; k < N; k++) {
            near.v[k] = 1;
            for (int c = 0; c < channels; c++)
                near.v[k] *= fabsl(a.v[k * channels + c] - seed[c]) <= tolerance;
        }
        colour(&near, top * W + left, mark, 1, connectivity);
        picture filled = picture_copy(&a);
        for (int64_t k = 0; k < N; k++) {
            flooded.v[k] = mark[k] != 0 ? 255 : 0;
            for (int c = 0; mark[k] != 0 && c < channels; c++)
                filled.v[k * channels + c] = has_alpha && c == channels - 1 ? dtype_high(dtype) : 5 + c;
        }
        snprintf(text, sizeof text, "flood($1, %d, %d, tolerance=%s, connectivity=%d)", left, top,
                 is_float(dtype) ? "0.5" : "40", connectivity);
        expect(text, &a, &flooded);
        snprintf(text, sizeof text, "flood_fill($1, %d, %d, %s, tolerance=%s, connectivity=%d)", left, top,
                 colours[channels - has_alpha - 1], is_float(dtype) ? "0.5" : "40", connectivity);
        expect(text, &a, &filled);
        picture_free(&a);
        picture_free(&near);
        picture_free(&flooded);
        picture_free(&filled);
    }
}
END_TEST

/* ---- thinning ---------------------------------------------------------------------------------------------------- */

/* One of Zhang and Suen's two passes; whether anything went. */
static bool thin_once(bool *m, int pass)
{
    static const int dy[] = { -1, -1, 0, 1, 1, 1, 0, -1 }, dx[] = { 0, 1, 1, 1, 0, -1, -1, -1 };
    bool goes[N] = { false }, any = false;
    for (int64_t k = 0; k < N; k++) {
        bool p[8];
        int on = 0, turns = 0;
        for (int d = 0; d < 8; d++) {
            const int64_t y = k / W + dy[d], x = k % W + dx[d];
            p[d] = y >= 0 && y < H && x >= 0 && x < W && m[y * W + x];
            on += p[d];
        }
        for (int d = 0; d < 8; d++)
            turns += !p[d] && p[(d + 1) % 8];
        const bool joins = pass == 0 ? (p[0] && p[2] && p[4]) || (p[2] && p[4] && p[6])
                                     : (p[0] && p[2] && p[6]) || (p[0] && p[4] && p[6]);
        goes[k] = m[k] && on >= 2 && on <= 6 && turns == 1 && !joins;
        any |= goes[k];
    }
    for (int64_t k = 0; k < N; k++)
        m[k] = m[k] && !goes[k];
    return any;
}

START_TEST(masks_become_lines) /* _i: the dtype */
{
    picture m = picture_new(written_dtypes[_i], H, W, 1), two = picture_copy(&m), lines = picture_copy(&m);
    bool left[N];
    for (int64_t k = 0; k < N; k++) { /* a ring, a bar to the edge, a blot */
        const int64_t y = k / W, x = k % W, r = (y - 15) * (y - 15) + (x - 15) * (x - 15);
        const bool on = (r > 30 && r < 150) || (y > 18 && y < 26 && x > 10) || (y > 32 && x < 20 && (x * y) % 11 != 0);
        m.v[k] = on ? (real)(k % 3 + 1) : 0;
        left[k] = on;
    }
    for (int step = 0; step < 1000; step++) {
        for (int64_t k = 0; step == 2 && k < N; k++)
            two.v[k] = left[k] ? m.v[k] : 0;
        const bool first = thin_once(left, 0), second = thin_once(left, 1);
        if (step > 2 && !first && !second) break;
    }
    for (int64_t k = 0; k < N; k++)
        lines.v[k] = left[k] ? m.v[k] : 0;
    expect("thin($1, 2)", &m, &two);
    expect("skeleton($1)", &m, &lines);
    picture_free(&m);
    picture_free(&two);
    picture_free(&lines);
}
END_TEST

/* ---- small arrays, errors ------------------------------------------------------------------------------------- */

/* Integers of which doubles hold no differences. */
#define BEYOND_DOUBLES "large = numbers([0 1 0; 0 0 0], dtype=i64) + (cast(1, i64) << 60)\n"

/* What texts of small arrays give, as print() writes it. */
static const struct {
    const char *text, *as;
} small[] = {
    { "regional_maxima(numbers([1 1; 1 1]))", "[0 0; 0 0]" }, /* of one level */
    { "regional_maxima(zeros([2 2], dtype=u8))", "[0 0; 0 0]" },
    { "regional_minima(numbers([3 1 2 0]) * ones([1 1]))", "[0 1 0 1]" },
    { "h_maxima(numbers([1 3 1 9 8 9 1]) * ones([1 1]), 2)", "[0 1 0 1 0 1 0]" },
    { "h_maxima(reshape(numbers([0 255 0], dtype=u8), [1 3]), 300)", "[0 0 0]" },
    { BEYOND_DOUBLES "h_maxima(large, 1)", "[0 1 0; 0 0 0]" },
    { BEYOND_DOUBLES "h_minima(-large, 1)", "[0 1 0; 0 0 0]" },
    { BEYOND_DOUBLES "flood(large, 0, 0)", "[255 0 255; 255 255 255]" },
    { "flood(reshape(numbers([inf inf 0 nan]), [1 4]), 0, 0)", "[255 255 0 0]" },
    { "flood(reshape(numbers([inf inf 0 nan]), [1 4]), 0, 0, 5)", "[255 255 0 0]" },
    { BEYOND_DOUBLES "flood_fill(large, 1, 0, 5) - (cast(1, i64) << 60)", "[0 -1152921504606846971 0; 0 0 0]" },
    { "h_maxima(numbers([0 3 0 9 8 9 0], dtype=u8) * ones([1 1], dtype=u8), 4)", "[0 0 0 1 0 1 0]" },
    { "peaks(numbers([1 5 1 1 7 7]) * ones([1 1]))", "[0 1 0 0 1 1]" },
    { "watershed(zeros([1 5]), numbers([1 0 0 0 2]) * ones([1 1]))", "[1 1 1 2 2]" },
    { "watershed(zeros([1 1]), ones([1 1]))", "1" },
    { "watershed(zeros([1 3]), zeros([1 3]))", "[0 0 0]" },
    { "geodesic(numbers([1 0 0 0 0]), numbers([2 2 2 3 2]))", "[0 1 2 2147483647 2147483647]" },
    { "geodesic(numbers([1 0 0; 0 0 0]), ones([2 3]), connectivity=4)", "[0 1 2; 1 2 3]" },
    { "remove_small(numbers([1 0 1 1]) * ones([1 1]), 2)", "[0 0 1 1]" },
    { "largest_region(zeros([1 3]))", "[0 0 0]" },
    { "largest_region(numbers([1 0 1 0]) * ones([1 1]))", "[1 0 0 0]" },
    { "flood(numbers([1 nan 1]) * ones([1 1]), 1, 0)", "[0 0 0]" }, /* what is no number is near nothing */
    { "flood(numbers([1 1 2 1]) * ones([1 1]), 3, 0)", "[0 0 0 255]" },
    { "flood_fill(numbers([1 0; 0 1]), 0, 0, 9)", "[9 0; 0 1]" },
    { "flood_fill(numbers([5 6; 5 7], dtype=i32), 0, 0, 16777217)", "[16777217 6; 16777217 7]" },
    { "flood_fill(numbers([5 6; 5 7], dtype=u32), 0, 0, 4294967295)", "[4294967295 6; 4294967295 7]" },
    { "flood_fill(numbers([5 6; 5 7], dtype=i64), 0, 0, 9007199254740991)",
      "[9007199254740991 6; 9007199254740991 7]" },
    { "flood_fill(numbers([5 6; 5 7], dtype=u64), 0, 0, 18446744073709549568)",
      "[18446744073709549568 6; 18446744073709549568 7]" },
    { "flood_fill(numbers([1 0; 0 1]), 0, 0, 9, connectivity=8)", "[9 0; 0 9]" },
    { "skeleton(ones([1 1]))", "1" },
    { "skeleton(fill(1, 1, [9 255], channels=2))", "9" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "regional_maxima(fill(4, 4, 0, channels=3))",
      "regional_maxima: a is [4, 4, 3] u8; it must be an image of 1 channel; gray() makes one" },
    { "h_maxima(zeros([3 3]), 0)", "h_maxima: h must not be 0" },
    { "watershed(zeros([3 3]), zeros([2 3]))",
      "watershed: a is [3, 3] f32, markers is [2, 3] f32; it must have one channel of the same size" },
    { "skeleton(zeros([0 4]))", "skeleton: a is [0, 4] f32, which has no elements" },
    { "remove_small(zeros([3 3]), connectivity=6)", "remove_small: connectivity=6 is neither 4 nor 8" },
    { "flood(zeros([3 3]), 3, 0)", "crop: x=3 and width=1 reach beyond the width 3" },
    { "flood_fill(zeros([3 3 3]), 0, 0, [1 2])", "flood_fill: colour has 2 numbers" },
    { "geodesic(zeros([3 3]), zeros([3 4]))", "they must have one shape" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

/* ---- stacks of one ------------------------------------------------------------------------------------------- */

static const char *const of_pictures[] = {
    "fill_holes(v)",
    "fill_holes(v, connectivity=4)",
    "clear_border(v)",
    "clear_border(v, connectivity=4)",
    "remove_small(v, 3)",
    "largest_region(v)",
    "thin(v, 1)",
    "skeleton(v)",
    "regional_maxima(v)",
    "regional_minima(v)",
    "h_maxima(v, 1)",
    "h_minima(v, 1)",
    "peaks(v, 3)",
    "hit_or_miss(v, [0 -1 0; 1 1 1; 0 1 0])",
    "convex_hull(v)",
    "inpaint(v, v == 2)",
    "seamless_clone(v, v * 2, v == 2)",
    "blend_pyramid(v, v * 2, v)",
};

/* What is made of a picture is made of it in a stack of one, or in a volume of one plane, and has that axis, too. */
START_TEST(a_plane_by_itself_is_a_picture)
{
    static const char *const shapes[] = { "[1 9 7]", "[1 9 7 1]" };
    char text[400];
    for (int k = 0; k < 2; k++) {
        const char *const begun = "q = cast(make(7, 9, (x * x + 3 * x + y * y * x) % 5), u8)\np = select(q > 2, 2, q)\n"
                                  "fn made(v) = ";
        snprintf(text, sizeof text, "%s%s\nshape(made(reshape(p, %s)))", begun, of_pictures[_i], shapes[k]);
        written_prints(text, shapes[k]);
        snprintf(text, sizeof text, "%s%s\nsum(cast(reshape(made(reshape(p, %s)), [9 7]) != made(p), i32))", begun,
                 of_pictures[_i], shapes[k]);
        written_prints(text, "0");
    }
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, extremes_that_no_path_leaves, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, what_is_the_largest_around_it, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, basins_of_markers, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, regions_that_are_large, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, what_paths_join_to_a_seed, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, masks_become_lines, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(tc, a_plane_by_itself_is_a_picture, 0, (int)(sizeof of_pictures / sizeof *of_pictures));
    return written_run("written masks", tc);
}
