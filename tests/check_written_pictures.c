/* SPDX-License-Identifier: MIT */
/* Tables of colours, hashes, local Laplacian filters and lens blur (ops/written_pictures.def), and what sizes and
 * levels have got beside them, against plain loops in long double. */
#include "asserts.h"
#include "tier.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { H = 29, W = 41 };

static void expect(const char *text, const picture *const *in, int n, picture *want, real slack, bool on_device)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = slack;
    written_expect(text, in, n, want, on_device);
}

/* ---- tables of colours ------------------------------------------------------------------------------------ */

enum { N = 5 };

/* A table of N x N x N, as the text makes it, at (blue, green, red). */
#define TABLE \
    "t = make(shape=[5 5 5 3], expr=(c == 0 ? (x * x + y + 1) : c == 1 ? (4 * y + z * x) : (z * 5 + y * x)) / 25)\n"
static real table_at(int64_t b, int64_t g, int64_t r, int64_t c)
{
    const int64_t v = c == 0 ? r * r + g + 1 : c == 1 ? 4 * g + b * r : b * 5 + g * r;
    return v / 25.0L;
}

/* Between the corners of the tetrahedron: from the cell's first corner along the axes, the largest part first. */
static real in_tetrahedron(const int64_t cell[3], const real part[3], int64_t c)
{
    int order[3] = { 0, 1, 2 };
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 2; j++)
            if (part[order[j]] < part[order[j + 1]]) {
                const int first = order[j];
                order[j] = order[j + 1];
                order[j + 1] = first;
            }
    int64_t at[3] = { cell[0], cell[1], cell[2] };
    real value = table_at(at[2], at[1], at[0], c);
    for (int k = 0; k < 3; k++) {
        const real before = table_at(at[2], at[1], at[0], c);
        at[order[k]]++;
        value += part[order[k]] * (table_at(at[2], at[1], at[0], c) - before);
    }
    return value;
}

static real in_cube(const int64_t cell[3], const real part[3], int64_t c)
{
    real value = 0;
    for (int k = 0; k < 8; k++) {
        const int dr = k % 2, dg = k / 2 % 2, db = k / 4;
        value += table_at(cell[2] + db, cell[1] + dg, cell[0] + dr, c) * (dr ? part[0] : 1 - part[0]) *
                 (dg ? part[1] : 1 - part[1]) * (db ? part[2] : 1 - part[2]);
    }
    return value;
}

START_TEST(colours_by_a_table) /* _i: the dtype, alpha, and how */
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int64_t channels = 3 + _i / WRITTEN_DTYPES % 2;
    const bool is_cube = _i / WRITTEN_DTYPES / 2, has_ends = is_cube;
    const real lo[3] = { 0.1L, 0, 0.2L }, hi[3] = { 0.9L, 1, 0.7L }, full = dtype_full(dtype);
    if (dtype == IMGPAR_F32 && channels == 4) return; /* floats that were not decoded have no alpha */
    picture a = written_levels(dtype, H, W, channels, 3), want = picture_new(dtype, H, W, channels);
    for (int64_t p = 0; p < H * W; p++) {
        int64_t cell[3];
        real part[3];
        for (int k = 0; k < 3; k++) {
            real v = a.v[p * channels + k] / full;
            if (has_ends) v = (v - lo[k]) / (hi[k] - lo[k]);
            v = fminl(fmaxl(v, 0), 1) * (N - 1);
            cell[k] = v >= N - 1 ? N - 2 : (int64_t)v;
            part[k] = v - cell[k];
        }
        for (int64_t c = 0; c < channels; c++)
            want.v[p * channels + c] = c == 3
                                           ? a.v[p * channels + 3]
                                           : full * (is_cube ? in_cube(cell, part, c) : in_tetrahedron(cell, part, c));
    }
    expect(is_cube ? TABLE "lut3d($1, t, trilinear, lo=[0.1 0 0.2], hi=[0.9 1 0.7])" : TABLE "lut3d($1, t)",
           (const picture *[]){ &a }, 1, &want, dtype == IMGPAR_F32 ? 0x1p-18L : full * 0x1p-18L, true);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(the_identity_changes_nothing)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 4), want = picture_copy(&a);
    expect("lut3d($1, make(shape=[9 9 9 3], expr=(c == 0 ? x : c == 1 ? y : z) / 8))", (const picture *[]){ &a }, 1,
           &want, dtype == IMGPAR_F32 ? 0x1p-18L : 0, false);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* ---- hashes ------------------------------------------------------------------------------------ */

/* The luminance of a u8 picture by areas, whole levels: of sizes that divide, exact means. */
static void small_levels(const picture *a, int h, int w, real *levels)
{
    for (int k = 0; k < h * w; k++) {
        const int64_t sy = a->h / h, sx = a->w / w;
        real sum = 0;
        for (int64_t p = 0; p < sy * sx; p++) {
            const real *v = picture_at(a, k / w * sy + p / sx, k % w * sx + p % sx, 0);
            sum += floorl((19595 * v[0] + 38470 * v[1] + 7471 * v[2] + 32768) / 65536);
        }
        levels[k] = floorl(sum / (real)(sy * sx) + 0.5L);
    }
}

static int compare(const void *p, const void *q)
{
    const real a = *(const real *)p, b = *(const real *)q;
    return (a > b) - (a < b);
}

static void coefficients(const real *levels, real *out)
{
    real waves[8][32];
    for (int u = 0; u < 8; u++)
        for (int x = 0; x < 32; x++)
            waves[u][x] = roundl(16384 * cosl((2 * x + 1) * (u + 1) * acosl(-1) / 64));
    for (int k = 0; k < 64; k++) {
        out[k] = 0;
        for (int p = 0; p < 1024; p++)
            out[k] += waves[k / 8][p / 32] * waves[k % 8][p % 32] * levels[p];
    }
}

static void expect_hash(const char *text, const picture *a, const bool bits[64])
{
    uint64_t want = 0, got = 0;
    imgpar_array *in = picture_array(written_context, a);
    for (int k = 0; k < 64; k++)
        want = want << 1 | bits[k];
    for (int way = 0; way < 2; way++) {
        ck_assert_int_eq(imgpar_context_set(written_context, "schedule", way ? "ref" : "auto"), IMGPAR_OK);
        imgpar_array *h = imgpar_apply(written_context, text, &in, 1);
        ck_assert_msg(!imgpar_array_read(h, &got, sizeof got), "%s: %s", text, imgpar_array_message(h));
        ck_assert_msg(got == want, "%s: %llx, not %llx", text, (unsigned long long)got, (unsigned long long)want);
        imgpar_array_release(h);
    }
    imgpar_array_release(in);
}

static picture sizes_that_divide(void)
{
    picture a = written_levels(IMGPAR_U8, 64, 288, 3, 5);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t y = k / 3 / 288, x = k / 3 % 288;
        a.v[k] = roundl(a.v[k] / 4 + 95 + 40 * sinl(y * 0.2L) + 50 * sinl(x * 0.05L));
    }
    return a;
}

START_TEST(hashes)
{
    real levels[32 * 32], of_32[64], sorted[64], sum = 0;
    bool average[64], difference[64], waves[64];
    picture a = sizes_that_divide();
    small_levels(&a, 8, 8, levels);
    for (int k = 0; k < 64; k++)
        sum += levels[k];
    for (int k = 0; k < 64; k++)
        average[k] = levels[k] * 64 > sum;
    small_levels(&a, 8, 9, levels);
    for (int k = 0; k < 64; k++)
        difference[k] = levels[k / 8 * 9 + k % 8 + 1] > levels[k / 8 * 9 + k % 8];
    small_levels(&a, 32, 32, levels);
    coefficients(levels, of_32);
    memcpy(sorted, of_32, sizeof sorted);
    qsort(sorted, 64, sizeof *sorted, compare);
    for (int k = 0; k < 64; k++)
        waves[k] = of_32[k] > sorted[31];
    expect_hash("ahash($1)", &a, average);
    expect_hash("dhash($1)", &a, difference);
    expect_hash("phash($1)", &a, waves);
    picture_free(&a);
}
END_TEST

static const struct {
    const char *text, *as;
} small[] = {
    { "hamming(cast(numbers([5 7 -1]), i64), cast(numbers([5 0 0]), i64))", "[0 3 64]" },
    { "hamming(numbers([255 6], dtype=u8), numbers([255 6], dtype=u8) * 0)", "[8 2]" }, /* bitwise_count */
    { "hamming(numbers([255 1], dtype=u8), numbers([0 3], dtype=u8))", "[8 1]" },
    { "hamming(full([2], 3, dtype=u64) << 62, zeros([2], dtype=u64))", "[2 2]" },
    { "ahash(fill(5, 4, 9))", "0" },
    { "dhash(make(9, 8, x * 20))", "-1" },
    { "dhash(make(1, 1, 7))", "0" },
    { "a = make(64, 48, cast(zip(x * 4, y * 5, x + y), u8))\n"
      "hamming(dhash(a), dhash(concatenate(a, cast(full([48 64 1], 255), u8), axis=2)))",
      "0" },
    { "width(resize(fill(7, 5, 1), scale=0.5)) * 100 + height(resize(fill(7, 5, 1), scale=0.5))", "402" },
    { "width(resize(fill(7, 5, 1), scale=0.01))", "1" },
    { "width(resize(fill(7, 5, 1), filter=nearest, scale=3))", "21" },
    { "resize(numbers([1 2; 3 4]), filter=nearest, scale=2)", "[1 1 2 2; 1 1 2 2; 3 3 4 4; 3 3 4 4]" },
    { "extent(numbers([1 2; 3 4]), 3, 3, gravity=\"NorthWest\")", "[1 2 0; 3 4 0; 0 0 0]" },
    { "extent(numbers([1 2; 3 4]), 3, 3, gravity=\"south-east\")", "[0 0 0; 0 1 2; 0 3 4]" },
    { "extent(numbers([1 2; 3 4]), 2, 3, gravity=South)", "[0 0; 1 2; 3 4]" },
    { "extent(numbers([1 2 3; 4 5 6; 7 8 9]), 1, 1, gravity=Center)", "5" },
    { "autolevel(concatenate(numbers([0.25 0.5 0.75]), zeros([2]) / 0), 0)", "[0 0.5 1 nan nan]" },
    { "autolevel(concatenate(numbers([0 0.25 0.5 0.75 1]), zeros([1]) / 0), 25)", "[0 0 0.5 1 1 nan]" },
    { "autolevel(zeros([2]) / 0, 1)", "[nan nan]" },
    { "lens_blur(fill(3, 2, [9 7 5], channels=3), ones([2 3]))", "[[9 7 5; 9 7 5; 9 7 5] [9 7 5; 9 7 5; 9 7 5]]" },
    { "local_laplacian(fill(1, 1, 100))", "100" },
    /* a ramp stays one: no bands */
    { "r = local_laplacian(set_white(make(256, 8, x / 255.0), 1))\nd = diff(slice(r, [4 20], [5 236]), axis=1) * 255\n"
      "minval(d) > 0.75 && maxval(d) < 1.25",
      "true" },
    { "lut3d(fill(1, 1, [255 0 255], channels=3), make(shape=[2 2 2 3], expr=(c == 0 ? z : c == 1 ? x : y) * 0.2))",
      "[[51 51 0]]" },
};

START_TEST(small_arrays) { written_prints(small[_i].text, small[_i].as); }
END_TEST

static const struct {
    const char *text, *why;
} refused[] = {
    { "lut3d($1, ones([2 2 2 3]))", "lut3d: a is [3, 3] f32; it must have 3 channels" },
    { "lut3d(fill(2, 2, 9, channels=3), $1)", "lut3d: table is [3, 3] f32; it must be [n, n, n, 3], n at least 2" },
    { "lut3d(fill(2, 2, 9, channels=3), ones([2 2 3 3]))", "lut3d: table is [2, 2, 3, 3] f32" },
    { "lut3d(fill(2, 2, 9, channels=3), ones([1 1 1 3]))", "lut3d: table is [1, 1, 1, 3] f32" },
    { "lut3d(fill(2, 2, 9, channels=3), ones([2 2 2 3]), lo=0.5, hi=0.5)", "lut3d: lo=0.5 is not below hi=0.5" },
    { "lut3d(fill(2, 2, 9, channels=3), ones([2 2 2 3]), lo=[0 2 0])", "lut3d: lo=2 is not below hi=1" },
    { "lut3d(fill(2, 2, 9, channels=3), ones([2 2 2 3]), lo=[0 0 0.5], hi=[1 1 0.25])",
      "lut3d: lo=0.5 is not below hi=0.25" },
    { "resize($1, scale=0.5, width=3)", "resize: scale=0.5 stands for both sides; it takes no width" },
    { "resize($1)", "resize: width or height or scale is needed" },
    { "resize($1, scale=-1)", "resize: scale=-1" },
    { "extent($1, 3, 3, gravity=Norwest)", "extent: gravity=Norwest is not one of centre, center, north" },
    { "hamming($1, $1 > 0) + lens_blur(ones([3 3]), ones([2 3]))", "lens_blur" },
    { "ahash(ones([2 2 2 2]))", "ahash: a is [2, 2, 2, 2] f32, which is no image" },
};

START_TEST(what_does_not_fit_is_refused) { written_refuses(refused[_i].text, refused[_i].why); }
END_TEST

/* ---- local Laplacian filters ------------------------------------------------------------------------------------ */

enum { LEVELS = 5 };

static picture level_down(const picture *a)
{
    static const real weights[5] = { 1 / 16.0L, 0.25L, 0.375L, 0.25L, 1 / 16.0L };
    picture p = picture_new(IMGPAR_F32, (a->h + 1) / 2, (a->w + 1) / 2, 1);
    for (int64_t k = 0; k < picture_count(&p); k++)
        for (int t = 0; t < 25; t++)
            p.v[k] += weights[t / 5] * weights[t % 5] *
                      picture_read(a, k / p.w * 2 + t / 5 - 2, k % p.w * 2 + t % 5 - 2, 0, IMGPAR_BORDER_REFLECT101, 0);
    return p;
}

/* a at (y, x) of the level below, by the interpolation of Burt and Adelson. */
static real level_up(const picture *a, int64_t y, int64_t x)
{
    static const real weights[2][3] = { { 0.125L, 0.75L, 0.125L }, { 0, 0.5L, 0.5L } };
    real sum = 0;
    for (int t = 0; t < 9; t++)
        sum +=
            weights[y % 2][t / 3] * weights[x % 2][t % 3] * written_nearest(a, y / 2 + t / 3 - 1, x / 2 + t % 3 - 1, 0);
    return sum;
}

typedef struct remapping {
    real sigma, detail, range;
} remapping;

static real remapped(real v, real level, const remapping *m)
{
    const real u = fabsl(v - level), t = fminl(u / fmaxl(m->sigma, 0.2L), 1);
    real to = m->sigma * powl(u / m->sigma, m->detail);
    if (m->detail < 1) to = u + t * t * (3 - 2 * t) * (to - u);
    if (u >= m->sigma) to = m->sigma + m->range * (u - m->sigma);
    return level + copysignl(to, v - level);
}

/* The luminance g, filtered. */
static picture filtered(const picture *g, const remapping *m)
{
    picture of_g[LEVELS], out[LEVELS];
    for (int n = 0; n < LEVELS; n++) {
        of_g[n] = n ? level_down(&of_g[n - 1]) : picture_copy(g);
        out[n] = n + 1 < LEVELS ? picture_new(IMGPAR_F32, of_g[n].h, of_g[n].w, 1) : picture_copy(&of_g[n]);
    }
    for (int k = 0; k < 8; k++) {
        picture p[LEVELS];
        p[0] = picture_copy(g);
        for (int64_t e = 0; e < picture_count(g); e++)
            p[0].v[e] = remapped(g->v[e], k / 7.0L, m);
        for (int n = 0; n + 1 < LEVELS; n++) {
            p[n + 1] = level_down(&p[n]);
            for (int64_t e = 0; e < picture_count(&p[n]); e++)
                out[n].v[e] += fmaxl(0, 1 - fabsl(7 * of_g[n].v[e] - k)) *
                               (p[n].v[e] - level_up(&p[n + 1], e / p[n].w, e % p[n].w));
        }
        for (int n = 0; n < LEVELS; n++)
            picture_free(&p[n]);
    }
    for (int n = LEVELS - 2; n >= 0; n--)
        for (int64_t e = 0; e < picture_count(&out[n]); e++)
            out[n].v[e] += level_up(&out[n + 1], e / out[n].w, e % out[n].w);
    for (int n = 0; n < LEVELS; n++) {
        picture_free(&of_g[n]);
        if (n) picture_free(&out[n]);
    }
    return out[0];
}

START_TEST(details_are_remapped) /* _i: the dtype, and alpha */
{
    static const remapping kinds[] = { { 0.2L, 0.5L, 1 }, { 0.3L, 2, 1 }, { 0.1L, 1, 0.4L } };
    static const char *const texts[] = { "local_laplacian($1)", "local_laplacian($1, sigma=0.3, detail=2)",
                                         "local_laplacian($1, sigma=0.1, detail=1, range=0.4)" };
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int64_t channels = dtype == IMGPAR_U8 ? 4 : 3;
    const real full = dtype_full(dtype);
    const int kind = _i % WRITTEN_DTYPES;
    picture a = written_levels(dtype, H, W, channels, 3), g = picture_new(IMGPAR_F32, H, W, 1),
            want = picture_new(dtype, H, W, channels);
    for (int64_t k = 0; k < H * W; k++) {
        real *v = &a.v[k * channels];
        for (int c = 0; c < 3; c++)
            v[c] = rounded(dtype, full * (0.2L + 0.5L * (k % W) / W) + v[c] / 8 + (k / W > 15 ? full / 5 : 0));
        g.v[k] = (0.299L * v[0] + 0.587L * v[1] + 0.114L * v[2]) / full;
    }
    picture r = filtered(&g, &kinds[kind]);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t p = k / channels;
        want.v[k] = k % channels == 3 ? a.v[k] : a.v[k] * (fmaxl(r.v[p], 0) + 0.01L) / (g.v[p] + 0.01L);
    }
    expect(texts[kind], (const picture *[]){ &a }, 1, &want, full * 0x1p-11L, test_tier_is_full());
    picture_free(&a);
    picture_free(&g);
    picture_free(&r);
    picture_free(&want);
}
END_TEST

/* ---- lens blur ------------------------------------------------------------------------------------ */

START_TEST(discs_of_confusion) /* _i: the dtype, and alpha */
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int64_t channels = 3 + _i / WRITTEN_DTYPES;
    const real full = dtype_full(dtype);
    if (dtype == IMGPAR_F32 && channels == 4) return; /* floats that were not decoded have no alpha */
    picture a = written_levels(dtype, H, W, channels, 3), depth = written_levels(IMGPAR_U8, H, W, 1, 7),
            want = picture_new(dtype, H, W, channels);
    for (int64_t k = 0; k < H * W; k++)
        depth.v[k] = roundl(depth.v[k] / 4 + (k % W > 20 ? 150 : 10));
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            real sum[3] = { 0 }, total = 0;
            for (int64_t dy = -4; dy <= 4; dy++)
                for (int64_t dx = -4; dx <= 4; dx++) {
                    const real here = depth.v[y * W + x] / 255,
                               there = written_nearest(&depth, y + dy, x + dx, 0) / 255;
                    const real mine = 4 * fabsl(here - 0.8L), other = 4 * fabsl(there - 0.8L);
                    const real s = there >= here ? other : fminl(mine, other);
                    real w = fminl(fmaxl(s + 0.5L - hypotl((real)dy, (real)dx), 0), 1) / (s * s + 1);
                    if (channels == 4) w *= written_nearest(&a, y + dy, x + dx, 3) / full;
                    for (int c = 0; c < 3; c++)
                        sum[c] += w * written_nearest(&a, y + dy, x + dx, c);
                    total += w;
                }
            for (int64_t c = 0; c < channels; c++)
                *picture_at(&want, y, x, c) = c == 3 ? *picture_at(&a, y, x, c) : sum[c] / total;
        }
    expect("lens_blur($1, $2, focus=0.8, radius=4)", (const picture *[]){ &a, &depth }, 2, &want,
           dtype == IMGPAR_F32 ? 0x1p-14L : full * 0x1p-14L, true);
    picture_free(&a);
    picture_free(&depth);
    picture_free(&want);
}
END_TEST

int main(void)
{
    TCase *tests = written_case();
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, colours_by_a_table, 0, 4 * WRITTEN_DTYPES);
    tcase_add_loop_test(tests, the_identity_changes_nothing, 0, WRITTEN_DTYPES);
    tcase_add_test(tests, hashes);
    tcase_add_loop_test(tests, small_arrays, 0, (int)(sizeof small / sizeof *small));
    tcase_add_loop_test(tests, what_does_not_fit_is_refused, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(tests, details_are_remapped, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tests, discs_of_confusion, 0, 2 * WRITTEN_DTYPES);
    return written_run("written pictures", tests);
}
