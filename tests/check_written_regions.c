/* SPDX-License-Identifier: MIT */
/* Groups by keys and regions of masks (ops/written_regions.def) against plain loops: sums in long double, floods. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 23, W = 31, GROUPS = 9 };

static void expect(const char *text, const picture *in, picture *want)
{
    const picture *const one[] = { in };
    written_expect(text, one, 1, want, in->c != 2);
}

/* ---- by keys --------------------------------------------------------------------------------------------- */

/* Of GROUPS + 2 keys the first and the last are of no group; nobody has key 4. */
#define KEYS "k = make(31, 23, (y * 5 + x * 3) % 11 - 1)\nkeys = select(k == 4, 5, k)\n"
static int64_t key_at(int64_t y, int64_t x)
{
    const int64_t k = (y * 5 + x * 3) % 11 - 1;
    return k == 4 ? 5 : k;
}

typedef struct grouped {
    real n, sum, magnitude, least, most; /* NaN: none yet */
} grouped;

static grouped group_of(const picture *a, int64_t key, int64_t c)
{
    grouped g = { .least = NAN, .most = NAN };
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            const real v = *picture_at(a, y, x, c);
            if (key_at(y, x) != key) continue;
            g.n++;
            g.sum += v;
            g.magnitude += fabsl(v);
            g.least = isnan(g.least) || v < g.least ? v : g.least;
            g.most = isnan(g.most) || v > g.most ? v : g.most;
        }
    return g;
}

static imgpar_dtype sums_of(imgpar_dtype dtype) { return dtype == IMGPAR_F32 ? IMGPAR_F32 : IMGPAR_U64; }

/* Expects text, of what GROUPS rows of a picture's channels are. */
static void expect_groups(const char *name, const picture *a, imgpar_dtype dtype, real (*of)(const grouped *g),
                          real (*slack)(const grouped *g))
{
    char text[256];
    picture want = picture_new(dtype, 1, GROUPS, a->c);
    snprintf(text, sizeof text, "%sreshape(%s($1, keys, %d), [1, %d, %d])", KEYS, name, GROUPS, GROUPS, (int)a->c);
    for (int64_t k = 0; k < GROUPS; k++)
        for (int64_t c = 0; c < a->c; c++) {
            const grouped g = group_of(a, k, c);
            const real v = of(&g);
            *picture_at(&want, 0, k, c) = isnan(v) && !(dtype == IMGPAR_F32 || dtype == IMGPAR_F64) ? 0 : v;
            want.slack[k * a->c + c] = a->dtype == IMGPAR_F32 || dtype == IMGPAR_F32 ? slack(&g) : 0;
        }
    expect(text, a, &want);
    picture_free(&want);
}

static real the_sum(const grouped *g) { return g->sum; }
static real the_mean(const grouped *g) { return g->n > 0 ? g->sum / g->n : (real)NAN; }
static real the_least(const grouped *g) { return g->least; }
static real the_most(const grouped *g) { return g->most; }
static real exactly(const grouped *g)
{
    (void)g;
    return 0;
}
static real nearly(const grouped *g) { return g->magnitude * 0x1p-18L; }
static real nearly_mean(const grouped *g) { return g->n > 0 ? g->magnitude / g->n * 0x1p-18L : 0; }

START_TEST(values_are_folded_by_their_keys) /* _i: the dtype, and channels */
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    picture a = written_levels(dtype, H, W, _i / WRITTEN_DTYPES + 1, 5);
    expect_groups("group_sum", &a, sums_of(dtype), the_sum, nearly);
    expect_groups("group_mean", &a, IMGPAR_F32, the_mean, nearly_mean);
    expect_groups("group_min", &a, dtype, the_least, exactly);
    expect_groups("group_max", &a, dtype, the_most, exactly);
    picture_free(&a);
}
END_TEST

START_TEST(keys_are_counted)
{
    picture a = written_levels(IMGPAR_U8, H, W, 1, 5), want = picture_new(IMGPAR_U32, 1, GROUPS, 1);
    for (int64_t k = 0; k < GROUPS; k++)
        want.v[k] = group_of(&a, k, 0).n;
    expect(KEYS "reshape(group_count(keys, 9), [1, 9, 1])", &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* What texts of small arrays give, as print() writes it. */
static const struct {
    const char *text, *as;
} small[] = {
    { "group_min(select(numbers([0 1 1 1]) == 0, nan, numbers([3 5 4 9])), cast(numbers([0 0 1 1]), i32), 3)",
      "[5 4 nan]" },
    { "group_max(select(numbers([0 0 1]) == 0, nan, numbers([3 5 4])), cast(numbers([0 0 1]), i32), 2)", "[nan 4]" },
    { "group_min(numbers([-3 -5 7], dtype=i64), cast(numbers([0 0 2]), i32), 3)", "[-5 0 7]" },
    { "group_max(numbers([-3 -5 7], dtype=i8), cast(numbers([0 0 2]), u8), 3)", "[-3 0 7]" },
    { "group_sum(numbers([200 200 200], dtype=u8), cast(numbers([1 1 1]), i32), 2)", "[0 600]" },
    { "group_sum(numbers([-200 1 5], dtype=i16), cast(numbers([1 1 -1]), i32), 2)", "[0 -199]" },
    { "group_mean(numbers([1 2; 3 4; 7 8]), cast(numbers([0 1 1]), i32), 3)", "[1 2; 5 6; nan nan]" },
    { "group_sum(fill(2, 2, [1 2 3], channels=3), cast(fill(2, 2, 1), i32), 2)", "[0 0 0; 4 8 12]" },
    { "group_sum(ones([2 3 2 5]), cast(ones([2 3 2]), i32), 2)", "[0 0 0 0 0; 12 12 12 12 12]" },
    { "scatter_min(numbers([9 9 9]), cast(numbers([0 1 1 5]), i32), numbers([4 5 3 2]))", "[4 3 9]" },
    { "scatter_max(numbers([9 9 9], dtype=u8), cast(numbers([0 1 1 5]), i32), numbers([4 5 300 2]))", "[9 255 9]" },
    { "scatter_min(zeros([3]) / 0, cast(numbers([0 1]), i32), numbers([4]))", "[4 4 nan]" },
    { "labels(numbers([1 0 1 1; 0 0 0 0; 1 1 0 1; 0 1 1 1]))", "[1 0 2 2; 0 0 0 0; 3 3 0 3; 0 3 3 3]" },
    { "labels(numbers([1 0 1; 0 1 0; 1 0 1]))", "[1 0 1; 0 1 0; 1 0 1]" },
    { "labels(numbers([1 0 1; 0 1 0; 1 0 1]), connectivity=4)", "[1 0 2; 0 3 0; 4 0 5]" },
    { "scatter_min(full([1], 200, dtype=u8), cast(numbers([0 0 0]), i32), sqrt(numbers([-1 5 7]) * 4 - 4))", "4" },
    { "scatter_max(full([1], -5, dtype=i32), cast(numbers([0 0]), i32), sqrt(numbers([-1 -7])))", "-5" },
    { "scatter_max(full([1], 3, dtype=u64), cast(numbers([0 0]), i32), sqrt(numbers([-1 -7])))", "3" },
    { "fill_holes(numbers([1 1 1; 1 0 1; 1 1 1], dtype=i32))", "[1 1 1; 1 1 1; 1 1 1]" },
    { "labels(zeros([1 3]))", "[0 0 0]" },
    { "labels(fill(3, 1, [5 255], channels=2))", "[1 1 1]" }, /* alpha is no mask */
    { "fill_holes(fill(2, 1, [5 255], channels=2))", "[[5; 5]]" },
    { "labels(ones([2 1]))", "[1; 1]" },
    { "fill_holes(ones([3 3]) - (x == 1 && y == 1))", "[1 1 1; 1 1 1; 1 1 1]" },
    { "region_shapes(numbers([-3 0; 9 9], dtype=i16), 2)",
      "[nan nan nan nan nan nan nan; nan nan nan nan nan nan nan]" },
    { "region_shapes(fill(1, 1, [1 0], channels=2), 1)", "[0 0 0 0 0 1 1.1283791670955126]" },
    { "slice(region_shapes(numbers([1 1; 2.6 0; 3 3]), 3), 0, 2, axis=1)",
      "[0 1.5707963267948966; nan nan; 3.414213562373095 0.7853981633974483]" },
    { "reconstruct(numbers([0 9 0 0 0]), numbers([3 4 5 0 7]))", "[3 4 4 0 0]" },
    { "a = zeros([2 3]) / 0\nreconstruct(a, a)", "[nan nan nan; nan nan nan]" },
    { "regions(labels(numbers([1 0 1 1; 0 0 0 0; 1 1 0 1; 0 1 1 1])), 4)",
      "[1 0 0 0 0 0 0; 2 0 2.5 0 2 0 3; 6 2.5 1.6666666666666667 2 0 3 3; 0 nan nan 0 0 0 0]" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "group_sum($1, $1, 3)", "group_sum: keys is f32; it must be an integer; write cast(keys, i32)" },
    { "group_sum(numbers([1 2 3]), numbers([1 2], dtype=u8), 3)",
      "group_sum: values is [3] f32, keys is [2] u8; keys must have its axes, or all but the last" },
    { "scatter_min($1, $1, $1)", "scatter_min: indices is f32; it must be an integer; write cast(indices, i32)" },
    { "labels(zeros([0, 4]))", "labels: a is [0, 4] f32, which has no elements" },
    { "group_count(zeros([0], dtype=i32), 4)", "group_count: keys is [0] i32, which has no elements" },
    { "labels($1, connectivity=6)", "labels: connectivity=6 is neither 4 nor 8" },
    { "fill_holes(ones([3 4 9]), connectivity=5)",
      "fill_holes: connectivity=5 is none of 6, 18 and 26, as a volume has them" },
    { "fill_holes(ones([1 4 9 1]), connectivity=7)",
      "fill_holes: connectivity=7 is none of 6, 18 and 26, as a volume has them" },
    { "fill_holes(ones([4 9 1]), connectivity=26)", "fill_holes: connectivity=26 is neither 4 nor 8" },
    { "labels(fill(4, 4, 0, channels=3))",
      "labels: a is [4, 4, 3] u8; it must be an image of 1 channel; gray() makes one" },
    { "reconstruct(zeros([3 4]), zeros([4 3]))", "they must have one shape" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

/* ---- regions --------------------------------------------------------------------------------------------- */

enum { N_MASKS = 4 };

/* Noise, a snake, a frame with rooms, a chequered ground. */
static picture mask(int which)
{
    picture p = written_levels(IMGPAR_U8, H, W, 1, 9);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            real *v = picture_at(&p, y, x, 0);
            const bool turns = (y / 2) % 2 ? x == 0 : x == W - 1;
            const bool on = which == 0   ? *v > 110
                            : which == 1 ? y % 2 == 0 || turns
                            : which == 2 ? y % 7 == 1 || x % 8 == 3
                                         : (x + y) % 2 == 0;
            *v = on ? 255 : 0;
        }
    return p;
}

/* Gives what is joined to (y, x), and is on, number n. */
static void flood(const picture *m, picture *out, int64_t y, int64_t x, real n, int connectivity)
{
    static int64_t stack[H * W * 9];
    int depth = 0;
    stack[depth++] = y * W + x;
    while (depth > 0) {
        const int64_t at = stack[--depth], py = at / W, px = at % W;
        if (m->v[at] == 0 || out->v[at] != 0) continue;
        out->v[at] = n;
        for (int64_t dy = -1; dy <= 1; dy++)
            for (int64_t dx = -1; dx <= 1; dx++)
                if ((connectivity == 8 || dy == 0 || dx == 0) && py + dy >= 0 && py + dy < H && px + dx >= 0 &&
                    px + dx < W)
                    stack[depth++] = (py + dy) * W + px + dx;
    }
}

static picture labelled(const picture *m, int connectivity, real *most)
{
    picture l = picture_new(IMGPAR_I32, H, W, 1);
    *most = 0;
    for (int64_t k = 0; k < H * W; k++)
        if (m->v[k] != 0 && l.v[k] == 0) flood(m, &l, k / W, k % W, ++*most, connectivity);
    return l;
}

START_TEST(regions_are_numbered_by_their_first_pixels) /* _i: the mask, and the connectivity */
{
    char text[64];
    real most;
    const int connectivity = _i % 2 ? 4 : 8;
    picture m = mask(_i / 2), want = labelled(&m, connectivity, &most);
    snprintf(text, sizeof text, "labels($1, connectivity=%d)", connectivity);
    expect(text, &m, &want);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

static bool is_on_frame(int64_t k) { return k / W == 0 || k % W == 0 || k / W == H - 1 || k % W == W - 1; }

/* 1 where what is on in m is joined to the frame. */
static picture joined_to_frame(const picture *m, int connectivity)
{
    picture out = picture_new(IMGPAR_U8, H, W, 1);
    for (int64_t k = 0; k < H * W; k++)
        if (is_on_frame(k)) flood(m, &out, k / W, k % W, 1, connectivity);
    return out;
}

START_TEST(holes_are_filled_and_what_touches_the_frame_goes)
{
    char text[64];
    const int connectivity = _i % 2 ? 4 : 8;
    picture m = mask(_i / 2), ground = picture_copy(&m), filled = picture_copy(&m), cleared = picture_copy(&m);
    for (int64_t k = 0; k < H * W; k++)
        ground.v[k] = m.v[k] == 0;
    picture outside = joined_to_frame(&ground, 12 - connectivity), touching = joined_to_frame(&m, connectivity);
    for (int64_t k = 0; k < H * W; k++) {
        filled.v[k] = outside.v[k] == 0 ? 255 : m.v[k];
        cleared.v[k] = touching.v[k] != 0 ? 0 : m.v[k];
    }
    snprintf(text, sizeof text, "fill_holes($1, connectivity=%d)", connectivity);
    expect(text, &m, &filled);
    snprintf(text, sizeof text, "clear_border($1, connectivity=%d)", connectivity);
    expect(text, &m, &cleared);
    picture *const all[] = { &m, &ground, &filled, &cleared, &outside, &touching };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        picture_free(all[k]);
}
END_TEST

/* ---- regions of volumes ------------------------------------------------------------------------------------ */

enum { V_COLS = 11, ELEMENTS = 36 * V_COLS };
static int v_rows = 9; /* of a plane: 36 where there is one alone */

/* Two elements apart by no more than 1 along each axis, and along as many axes as the connectivity allows. */
static bool are_near(int i, int j, int connectivity)
{
    const int dz = abs(i / (v_rows * V_COLS) - j / (v_rows * V_COLS)),
              dy = abs(i / V_COLS % v_rows - j / V_COLS % v_rows), dx = abs(i % V_COLS - j % V_COLS),
              most = connectivity == 6    ? 1
                     : connectivity == 18 ? 2
                                          : 3;
    return dz <= 1 && dy <= 1 && dx <= 1 && dz + dy + dx <= most;
}

/* The number of each element's region in number, 0 where on is 0; returns how many regions there are. */
static int number_regions(const picture *on, bool value, int connectivity, int *number)
{
    int n = 0;
    for (int k = 0; k < ELEMENTS; k++)
        number[k] = 0;
    for (int k = 0; k < ELEMENTS; k++) {
        if ((on->v[k] != 0) != value || number[k] != 0) continue;
        number[k] = ++n;
        for (bool grows = true; grows;) {
            grows = false;
            for (int i = 0; i < ELEMENTS; i++)
                for (int j = 0; j < ELEMENTS && number[i] == n; j++) {
                    if ((on->v[j] != 0) != value || number[j] != 0 || !are_near(i, j, connectivity)) continue;
                    number[j] = n;
                    grows = true;
                }
        }
    }
    return n;
}

/* One plane alone has no faces in front and behind. */
static bool is_at_a_face(int k)
{
    const int z = k / (v_rows * V_COLS), y = k / V_COLS % v_rows, x = k % V_COLS;
    return (v_rows < 36 && (z == 0 || z == 36 / v_rows - 1)) || y == 0 || x == 0 || y == v_rows - 1 || x == V_COLS - 1;
}

/* One of 64 numbers, without a pattern in k. */
static unsigned scattered(unsigned k)
{
    k = (k ^ k >> 3) * 0x9e3779b1u;
    k = (k ^ k >> 15) * 0x85ebca77u;
    return (k ^ k >> 13) % 64;
}

/* What a row gives of the volume, of three axes or of four. */
static void expect_volume(const char *name, const char *more, const picture *m, int connectivity, const picture *want)
{
    char text[160];
    const picture *const one[] = { m };
    const bool has_four = strcmp(name, "clear_border") == 0;
    snprintf(text, sizeof text, "reshape(%s(reshape($1, [%d %d 11%s])%s, connectivity=%d), [36, 11, 1])", name,
             36 / v_rows, v_rows, has_four ? " 1" : "", more, connectivity);
    written_expect(text, one, 1, want, true);
}

START_TEST(regions_of_volumes_by_size_and_place) /* _i: the connectivity, of four planes and of one */
{
    static const int near[] = { 6, 18, 26 };
    const int connectivity = near[_i % 3], behind = _i < 3 ? 1 : 0;
    v_rows = _i < 3 ? 9 : 36;
    int number[ELEMENTS], size[ELEMENTS + 1] = { 0 }, most = 0, kept = 0, filled = 0;
    bool touches[ELEMENTS + 1] = { false };
    picture m = picture_new(IMGPAR_U8, 36, V_COLS, 1), want = picture_copy(&m);
    for (unsigned k = 0; k < ELEMENTS; k++) /* a few that meet */
        m.v[k] = scattered(k) < (connectivity == 26 ? 5 : 9) ? 1 + k % 200 : 0;
    const int n = number_regions(&m, true, connectivity, number);
    for (int k = 0; k < ELEMENTS; k++) {
        size[number[k]]++;
        touches[number[k]] |= is_at_a_face(k);
    }
    for (int k = n; k > 0; k--)
        if (most == 0 || size[k] >= size[most]) most = k;
    for (int k = 0; k < ELEMENTS; k++)
        kept += (want.v[k] = number[k] && size[number[k]] >= 3 ? m.v[k] : 0) != 0;
    ck_assert(n > 8 && kept > 3);
    expect_volume("remove_small", ", 3", &m, connectivity, &want);
    for (int k = 0; k < ELEMENTS; k++)
        want.v[k] = number[k] == most ? m.v[k] : 0;
    expect_volume("largest_region", "", &m, connectivity, &want);
    for (int k = 0; k < ELEMENTS; k++)
        want.v[k] = touches[number[k]] ? 0 : m.v[k];
    expect_volume("clear_border", "", &m, connectivity, &want);

    /* More than half, and a block in which two holes meet at an edge. */
    for (unsigned k = 0; k < ELEMENTS; k++) {
        const int z = (int)k / (v_rows * V_COLS), y = (int)k / V_COLS % v_rows, x = (int)k % V_COLS;
        const bool is_in_block = y >= 2 && y <= 5 && x >= 2 && x <= 6;
        const bool is_hole = (z == behind && y == 3 && (x == 3 || x == 4)) || (z == 2 * behind && y == 4 && x == 4);
        m.v[k] = (is_in_block ? !is_hole : scattered(k) < (connectivity == 6 ? 58 : 36)) ? 200 : 0;
    }
    number_regions(&m, false, connectivity == 6 ? 26 : 6, number);
    memset(touches, 0, sizeof touches);
    for (int k = 0; k < ELEMENTS; k++)
        touches[number[k]] |= is_at_a_face(k);
    for (int k = 0; k < ELEMENTS; k++)
        filled += (want.v[k] = number[k] && !touches[number[k]] ? 200 : m.v[k]) != m.v[k];
    ck_assert(filled > 2);
    expect_volume("fill_holes", "", &m, connectivity, &want);
    picture_free(&m);
    picture_free(&want);
}
END_TEST

START_TEST(what_can_be_reached_from_below) /* _i: the dtype, and the connectivity */
{
    char text[96];
    const imgpar_dtype dtype = written_dtypes[_i / 2];
    const int connectivity = _i % 2 ? 4 : 8;
    picture a = written_levels(dtype, H, W, 3, 21), want = picture_copy(&a);
    for (int64_t k = 0; k < picture_count(&a); k++) /* a peak here and there */
        want.v[k] = k % 89 == 0 ? a.v[k] : 0;
    for (bool changes = true; changes;) {
        changes = false;
        for (int64_t y = 0; y < H; y++)
            for (int64_t x = 0; x < W; x++)
                for (int64_t c = 0; c < 3; c++)
                    for (int64_t n = 0; n < 9; n++) {
                        const int64_t dy = n / 3 - 1, dx = n % 3 - 1;
                        real *v = picture_at(&want, y, x, c), near = written_nearest(&want, y + dy, x + dx, c);
                        if ((connectivity == 4 && dy != 0 && dx != 0) || near <= *v) continue;
                        const real above = fminl(near, *picture_at(&a, y, x, c));
                        changes |= above > *v;
                        *v = above > *v ? above : *v;
                    }
    }
    snprintf(text, sizeof text, "reconstruct(cast($1 * (((y * 31 + x) * 3 + c) %% 89 == 0), %s), $1, connectivity=%d)",
             imgpar_dtype_name(dtype), connectivity);
    expect(text, &a, &want);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(areas_centroids_and_boxes)
{
    enum { ROWS = 60, COLUMNS = 7 };
    real most;
    picture m = mask(0), l = labelled(&m, 4, &most), want = picture_new(IMGPAR_F64, ROWS, COLUMNS, 1);
    for (int64_t k = 0; k < ROWS; k++) {
        real *row = &want.v[k * COLUMNS];
        real n = 0, sum[2] = { 0 }, low[2] = { H, W }, high[2] = { 0 };
        for (int64_t at = 0; at < H * W; at++) {
            const real place[2] = { (real)(at / W), (real)(at % W) };
            if (l.v[at] != k + 1) continue;
            n++;
            for (int d = 0; d < 2; d++) {
                sum[d] += place[d];
                low[d] = fminl(low[d], place[d]);
                high[d] = fmaxl(high[d], place[d]);
            }
        }
        row[0] = n;
        for (int d = 0; d < 2; d++) {
            row[1 + d] = n > 0 ? sum[d] / n : (real)NAN;
            row[3 + d] = n > 0 ? low[d] : 0;
            row[5 + d] = n > 0 ? high[d] : 0;
            want.slack[k * COLUMNS + 1 + d] = 0x1p-20L * W;
        }
    }
    ck_assert(most > 5 && most < ROWS); /* some rows are of no label */
    expect("regions(labels($1, connectivity=4), 60)", &m, &want);
    picture_free(&m);
    picture_free(&l);
    picture_free(&want);
}
END_TEST

/* ---- shapes of regions ----------------------------------------------------------------------------------- */

enum { SHAPES_ROWS = 60, SHAPES_COLUMNS = 7, MOMENTS_COLUMNS = 24 };

static real label_at(const picture *l, int64_t y, int64_t x)
{
    return y < 0 || x < 0 || y >= H || x >= W ? 0 : l->v[y * W + x];
}

static bool is_on_edge(const picture *l, int64_t y, int64_t x, real own)
{
    return label_at(l, y, x) == own && (label_at(l, y - 1, x) != own || label_at(l, y + 1, x) != own ||
                                        label_at(l, y, x - 1) != own || label_at(l, y, x + 1) != own);
}

/* Benkrid's and Crookes' weights of codes, 1 for the pixel itself, 2 and 10 for each neighbour on the edge. */
static real perimeter_weight(int code)
{
    switch (code) {
    case 5:
    case 7:
    case 15:
    case 17:
    case 25:
    case 27: return 1;
    case 21:
    case 33: return sqrtl(2);
    case 13:
    case 23: return (1 + sqrtl(2)) / 2;
    default: return 0;
    }
}

static real perimeter_of(const picture *l, real own)
{
    real sum = 0;
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            int code = 1;
            if (!is_on_edge(l, y, x, own)) continue;
            for (int64_t dy = -1; dy <= 1; dy++)
                for (int64_t dx = -1; dx <= 1; dx++)
                    if ((dy != 0 || dx != 0) && is_on_edge(l, y + dy, x + dx, own)) code += dy != 0 && dx != 0 ? 10 : 2;
            sum += perimeter_weight(code);
        }
    return sum;
}

/* The sum of (x - u)^p (y - v)^q over a region; magnitude: of their magnitudes. */
static real moment_of(const picture *l, real own, int p, int q, real u, real v, real *magnitude)
{
    real sum = 0, all = 0;
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            const real term = powl((real)x - u, p) * powl((real)y - v, q);
            if (label_at(l, y, x) != own) continue;
            sum += term;
            all += fabsl(term);
        }
    if (magnitude) *magnitude = all;
    return sum;
}

static void shape_of(const picture *l, real own, real n, real *row)
{
    const real cx = moment_of(l, own, 1, 0, 0, 0, NULL) / n, cy = moment_of(l, own, 0, 1, 0, 0, NULL) / n;
    const real xx = moment_of(l, own, 2, 0, cx, cy, NULL) / n, yy = moment_of(l, own, 0, 2, cx, cy, NULL) / n;
    const real xy = moment_of(l, own, 1, 1, cx, cy, NULL) / n;
    const real apart = sqrtl((xx - yy) * (xx - yy) / 4 + xy * xy);
    const real most = (xx + yy) / 2 + apart, least = fmaxl((xx + yy) / 2 - apart, 0);
    int64_t low[2] = { H, W }, high[2] = { -1, -1 };
    for (int64_t k = 0; k < H * W; k++)
        for (int d = 0; d < 2; d++) {
            const int64_t at = d ? k % W : k / W;
            if (l->v[k] != own) continue;
            low[d] = at < low[d] ? at : low[d];
            high[d] = at > high[d] ? at : high[d];
        }
    row[0] = perimeter_of(l, own);
    row[1] = apart < 1e-15L ? 0 : atan2l(2 * xy, yy - xx) / 2;
    row[2] = most < 1e-15L ? 0 : sqrtl(1 - least / most);
    row[3] = 4 * sqrtl(most);
    row[4] = least < 1e-15L ? 0 : 4 * sqrtl(least);
    row[5] = n / (real)((high[0] - low[0] + 1) * (high[1] - low[1] + 1));
    row[6] = sqrtl(4 * n / 3.14159265358979323846264L);
}

static picture shapes_mask(int which)
{
    picture m = mask(which % N_MASKS);
    for (int64_t k = 0; k < H * W && which == N_MASKS; k++) /* an L, a square, a diagonal, a bar; all on the frame */
        m.v[k] = (k / W < 2 && k % W < 2 && k != W + 1) || (k / W > 19 && k % W > 27) ||
                 (k / W - 5 == k % W && k / W < 15) || (k / W == H - 1 && k % W < 20);
    return m;
}

START_TEST(shapes_are_those_of_the_same_moments) /* _i: the mask */
{
    real most;
    picture m = shapes_mask(_i), l = labelled(&m, 4, &most);
    picture want = picture_new(IMGPAR_F64, SHAPES_ROWS, SHAPES_COLUMNS, 1);
    for (int64_t k = 0; k < SHAPES_ROWS; k++) {
        const real own = (real)(k + 1), n = moment_of(&l, own, 0, 0, 0, 0, NULL);
        real *row = &want.v[k * SHAPES_COLUMNS];
        for (int c = 0; c < SHAPES_COLUMNS; c++) {
            row[c] = NAN;
            want.slack[k * SHAPES_COLUMNS + c] = 0x1p-38L * W;
        }
        if (n > 0) shape_of(&l, own, n, row);
        want.slack[k * SHAPES_COLUMNS + 4] = 1e-6L; /* the root of what is left of two that are alike */
    }
    expect("region_shapes(labels($1, connectivity=4), 60)", &m, &want);
    picture_free(&m);
    picture_free(&l);
    picture_free(&want);
}
END_TEST

START_TEST(moments_of_regions_are_those_of_their_masks) /* _i: the mask */
{
    static const int orders[10][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 2, 0 }, { 1, 1 },
                                       { 0, 2 }, { 3, 0 }, { 2, 1 }, { 1, 2 }, { 0, 3 } };
    real most;
    picture m = shapes_mask(_i), l = labelled(&m, 8, &most);
    picture want = picture_new(IMGPAR_F64, SHAPES_ROWS, MOMENTS_COLUMNS, 1);
    for (int64_t k = 0; k < SHAPES_ROWS; k++) {
        const real own = (real)(k + 1), n = moment_of(&l, own, 0, 0, 0, 0, NULL);
        const real cx = moment_of(&l, own, 1, 0, 0, 0, NULL) / n, cy = moment_of(&l, own, 0, 1, 0, 0, NULL) / n;
        for (int c = 0; c < MOMENTS_COLUMNS && n > 0; c++) {
            const int which = c < 10 ? c : (c - 10) % 7 + 3, p = orders[which][0], q = orders[which][1];
            const real by = c < 17 ? 1 : powl(n, (real)(p + q) / 2 + 1);
            real all;
            want.v[k * MOMENTS_COLUMNS + c] = moment_of(&l, own, p, q, c < 10 ? 0 : cx, c < 10 ? 0 : cy, &all) / by;
            want.slack[k * MOMENTS_COLUMNS + c] = (all + 1) / by * 0x1p-36L;
        }
    }
    expect("region_moments(labels($1), 60)", &m, &want);
    picture_free(&m);
    picture_free(&l);
    picture_free(&want);
}
END_TEST

int main(void)
{
    TCase *tc = written_case();
    tcase_add_loop_test(tc, values_are_folded_by_their_keys, 0, 4 * WRITTEN_DTYPES);
    tcase_add_test(tc, keys_are_counted);
    tcase_add_loop_test(tc, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tc, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(tc, regions_are_numbered_by_their_first_pixels, 0, 2 * N_MASKS);
    tcase_add_loop_test(tc, holes_are_filled_and_what_touches_the_frame_goes, 0, 2 * N_MASKS);
    tcase_add_loop_test(tc, regions_of_volumes_by_size_and_place, 0, 6);
    tcase_add_loop_test(tc, what_can_be_reached_from_below, 0, 2 * WRITTEN_DTYPES);
    tcase_add_test(tc, areas_centroids_and_boxes);
    tcase_add_loop_test(tc, shapes_are_those_of_the_same_moments, 0, N_MASKS + 1);
    tcase_add_loop_test(tc, moments_of_regions_are_those_of_their_masks, 0, N_MASKS + 1);
    return written_run("written regions", tc);
}
