/* SPDX-License-Identifier: MIT */
/* Reads at places given by arrays and lists, channel matrices, and small matrices a pixel. */
#include "asserts.h"
#include "nd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t wrapped(int64_t i, int64_t n) { return (i % n + n) % n; }
static int64_t cut(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/* The index arrays are written in the texts. */
static real rows_3102(const nd *in, const int64_t *i)
{
    static const int64_t rows[] = { 3, 1, 0, 2 };
    return nd_at(in, rows[i[0]], i[1], 0, 0);
}
static real rotated_lines(const nd *in, const int64_t *i) { return nd_at(in, i[0], (i[0] + i[1]) % 6, i[2], 0); }
static real one_of_each_line(const nd *in, const int64_t *i) { return (void)i[1], nd_at(in, i[0], i[0], 0, 0); }
static real planes_by_table(const nd *in, const int64_t *i) /* take($1, indices([2 3], 1) - 1, axis=1, border=wrap) */
{
    return nd_at(in, i[0], wrapped(i[2] - 1, 4), i[3], 0);
}
static real beyond(const nd *in, const int64_t *i) /* arange(-2, 40, 9) by border=constant, cval=5 */
{
    int64_t at = -2 + 9 * i[0];
    return at >= 0 && at < 24 ? in->v[at] : 5;
}
static real looked_up(const nd *in, const int64_t *i)
{
    return 100 - (real)cut((int64_t)nd_at(in, i[0], i[1], i[2], 0), 50);
}
static real looked_up_by_channel(const nd *in, const int64_t *i) /* indices([40 3], 0) * 3 + indices([40 3], 1) */
{
    return 3 * (real)cut((int64_t)nd_at(in, i[0], i[1], i[2], 0), 40) + (real)i[2];
}

static const int64_t cross[4][2] = { { -1, 0 }, { 1, 0 }, { 0, -2 }, { 2, 1 } };
static real cross_of(const nd *in, const int64_t *i, bool keeps, int fold)
{
    real sum = 0, least = INFINITY, most = -INFINITY;
    for (int k = 0; k < 4; k++) {
        int64_t y = i[0] + cross[k][0], x = i[1] + cross[k][1];
        if (keeps && (y < 0 || x < 0 || y >= in->shape[0] || x >= in->shape[1])) return nd_at(in, i[0], i[1], i[2], 0);
        real v = nd_at(in, cut(y, in->shape[0]), cut(x, in->shape[1]), i[2], 0);
        sum += v;
        least = fminl(least, v);
        most = fmaxl(most, v);
    }
    return fold == 0 ? sum : fold == 1 ? sum / 4 : fold == 2 ? least : most;
}
static real cross_sum(const nd *in, const int64_t *i) { return cross_of(in, i, false, 0); }
static real cross_mean(const nd *in, const int64_t *i) { return cross_of(in, i, true, 1); }
static real cross_min(const nd *in, const int64_t *i) { return cross_of(in, i, true, 2); }
static real cross_max(const nd *in, const int64_t *i) { return cross_of(in, i, false, 3); }

/* Between four pixels of 7 x 9 x 3, by a rule for what is beyond the edges. */
static real between(const nd *in, real y, real x, int64_t c, int64_t (*inside)(int64_t i, int64_t n))
{
    int64_t y0 = (int64_t)floorl(y), x0 = (int64_t)floorl(x);
    real fy = y - (real)y0, fx = x - (real)x0, v[2][2];
    for (int j = 0; j < 2; j++)
        for (int k = 0; k < 2; k++)
            v[j][k] = nd_at(in, inside(y0 + j, 7), inside(x0 + k, 9), c, 0);
    return (1 - fx) * ((1 - fy) * v[0][0] + fy * v[1][0]) + fx * ((1 - fy) * v[0][1] + fy * v[1][1]);
}
static int64_t reflected(int64_t i, int64_t n)
{
    int64_t k = wrapped(i, 2 * n);
    return k < n ? k : 2 * n - 1 - k;
}
static real twice_as_large(const nd *in, const int64_t *i)
{
    return between(in, (real)i[0] / 2, (real)i[1] / 2, i[2], cut);
}
static real turned_over(const nd *in, const int64_t *i) /* at($1, 8.25 - y * 1.5, x * 0.75 - 2, border=reflect) */
{
    return between(in, 8.25L - 1.5L * (real)i[0], 0.75L * (real)i[1] - 2, i[2], reflected);
}
static real moved_by_a_fold(const nd *in, const int64_t *i)
{
    return between(in, (real)i[0] / 2, (real)i[1] + 0.5L, i[2], cut);
}
static real wrapped_around(const nd *in, const int64_t *i) /* at($1, y + x / 4, x * 0.5 + 6, border=wrap) */
{
    return between(in, (real)i[0] + (real)i[1] / 4, 0.5L * (real)i[1] + 6, i[2], wrapped);
}
static real moved(const nd *in, const int64_t *i) /* by 2 rows and 4 columns, border=reflect */
{
    return nd_at(in, reflected(i[0] - 2, 7), reflected(i[1] + 4, 9), i[2], 0);
}
static real few_of_a_row(const nd *in, const int64_t *i) /* three columns of nine */
{
    return between(in, (real)i[0] / 2, 0.25L + 3 * (real)i[1], i[2], cut);
}

/* Volumes of 5 x 7 x 9: what stands next to an element along each axis, or itself where that is outside. */
static real six_around(const nd *in, const int64_t *i)
{
    static const int64_t size[3] = { 5, 7, 9 };
    real sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (i[axis] == 0 || i[axis] == size[axis] - 1) return nd_at(in, i[0], i[1], i[2], 0);
        int64_t a[3] = { i[0], i[1], i[2] }, b[3] = { i[0], i[1], i[2] };
        a[axis]--;
        b[axis]++;
        sum += nd_at(in, a[0], a[1], a[2], 0) + nd_at(in, b[0], b[1], b[2], 0);
    }
    return sum;
}
/* The largest within 1, 2 and 1 of it; behind the edges stands what is on them. */
static real largest_around(const nd *in, const int64_t *i)
{
    real best = nd_at(in, i[0], i[1], i[2], 0);
    for (int64_t z = i[0] - 1; z <= i[0] + 1; z++)
        for (int64_t y = i[1] - 2; y <= i[1] + 2; y++)
            for (int64_t x = i[2] - 1; x <= i[2] + 1; x++) {
                if (z < 0 || z > 4 || y < 0 || y > 6 || x < 0 || x > 8) continue;
                real v = nd_at(in, z, y, x, 0);
                best = v > best ? v : best;
            }
    return best;
}

/* Keys' cubic with a = -1/2, and the tent: how much an element counts at a distance. */
static real keys_cubic(real t)
{
    t = fabsl(t);
    return t < 1 ? (1.5L * t - 2.5L) * t * t + 1 : t < 2 ? ((-0.5L * t + 2.5L) * t - 4) * t + 2 : 0;
}
static real tent(real t) { return fabsl(t) < 1 ? 1 - fabsl(t) : 0; }

/* What is outside is -1, and stands for these values. */
static const real outside[3] = { 40, 7, 90 };
static int64_t bounded(int64_t i, int64_t n) { return i >= 0 && i < n ? i : -1; }

/* A volume of one channel, or one of several, between its elements. */
static real in_volume(const nd *in, const real at[3], int64_t c, real (*weight)(real t),
                      int64_t (*inside)(int64_t i, int64_t n))
{
    real sum = 0;
    for (int k = 0; k < 64; k++) {
        const int step[3] = { k / 16 - 1, k / 4 % 4 - 1, k % 4 - 1 };
        int64_t place[3];
        real w = 1;
        for (int d = 0; d < 3; d++) {
            const int64_t i = (int64_t)floorl(at[d]) + step[d];
            w *= weight(at[d] - (real)i);
            place[d] = inside(i, in->shape[d]);
        }
        const bool is_inside = place[0] >= 0 && place[1] >= 0 && place[2] >= 0;
        if (w != 0)
            sum += w * (is_inside ? nd_at(in, place[0], place[1], place[2], in->rank == 4 ? c : 0) : outside[c]);
    }
    return sum;
}
/* at3d($1, z * 0.75 - 1, y + x * 0.25, 7.5 - x, filter=linear, border=reflect) */
static real volume_linear(const nd *in, const int64_t *i)
{
    const real x = (real)i[2];
    return in_volume(in, (real[]){ 0.75L * (real)i[0] - 1, (real)i[1] + x / 4, 7.5L - x }, 0, tent, reflected);
}
/* at3d($1, x * 0.5 - 1, y * 1.5, z + 2.25, filter=cubic, border=wrap): axes change places */
static real volume_cubic(const nd *in, const int64_t *i)
{
    return in_volume(in, (real[]){ 0.5L * (real)i[2] - 1, 1.5L * (real)i[1], (real)i[0] + 2.25L }, i[3], keys_cubic,
                     wrapped);
}
/* at3d($1, z - 1.5, y + 0.5, x - 2.25, filter=linear, border=constant, cval=[40 7 90]) */
static real volume_framed(const nd *in, const int64_t *i)
{
    return in_volume(in, (real[]){ (real)i[0] - 1.5L, (real)i[1] + 0.5L, (real)i[2] - 2.25L }, i[3], tent, bounded);
}
/* A plane through the volume: at3d($1, y * 0.5 + x * 0.25, y, x) */
static real volume_cut(const nd *in, const int64_t *i)
{
    const real z = floorl((real)i[0] / 2 + (real)i[1] / 4 + 0.5L);
    return nd_at(in, cut((int64_t)z, 5), cut(i[0], 7), cut(i[1], 9), 0);
}

static real mixed(const nd *in, const int64_t *i)
{
    static const real m[2][3] = { { 0.5L, -0.25L, 1 }, { 0.1L, 2, 0.3L } };
    real sum = 0;
    for (int k = 0; k < 3; k++)
        sum += m[i[2]][k] * nd_at(in, i[0], i[1], k, 0);
    return sum;
}

static real product(const nd *in, const int64_t *i)
{
    real sum = 0;
    for (int k = 0; k < 3; k++)
        sum += nd_at(&in[0], i[0], i[1], i[2], k) * nd_at(&in[1], i[0], i[1], k, i[3]);
    return sum;
}
static real product_by_one(const nd *in, const int64_t *i)
{
    real sum = 0;
    for (int k = 0; k < 4; k++)
        sum += nd_at(&in[0], i[0], i[1], k, 0) * nd_at(&in[1], k, i[2], 0, 0);
    return sum;
}

/* matprod(m, matinv(m)) of m = $1 / 10 + 2 eye: regular where $1 is small. */
static real unit(const nd *in, const int64_t *i) { return (void)in, i[2] == i[3]; }
static real unit_2(const nd *in, const int64_t *i) { return (void)in, i[1] == i[2]; }
static real one_over(const nd *in, const int64_t *i) { return (void)i, 1 / (in->v[i[0]] / 10 + 2); }

static imgpar_dtype f32(imgpar_dtype d) { return d == IMGPAR_F64 ? d : IMGPAR_F32; }
static imgpar_dtype i32(imgpar_dtype d) { return (void)d, IMGPAR_I32; }
static imgpar_dtype always_f32(imgpar_dtype d) { return (void)d, IMGPAR_F32; }
#define SIX "stencil(v[-1,0,0] + v[1,0,0] + v[0,-1,0] + v[0,1,0] + v[0,0,-1] + v[0,0,1], outside=keep)"
#define CROSS "[-1 0; 1 0; 0 -2; 2 1]"
#define REGULAR(n) "m = cast($1, f32) / 10 + broadcast(eye(" #n ") * 2, "

static const nd_case of_small[] = {
    { "take",
      "take($1, concat(concat(full([1], 3, dtype=i32), full([1], 1, dtype=i32)), arange(0, 4, 2)))",
      { 2 },
      { { 5, 8 } },
      2,
      { 4, 8 },
      rows_3102,
      0,
      NULL },
    { "take",
      "take($1, indices([2 3], 1) - 1, axis=1, border=wrap)",
      { 3 },
      { { 3, 4, 7 } },
      4,
      { 3, 2, 3, 7 },
      planes_by_table,
      0,
      NULL },
    { "take", "take($1, arange(-2, 40, 9), border=constant, cval=5)", { 1 }, { { 24 } }, 1, { 5 }, beyond, 0, NULL },
    { "take_along_axis",
      "take_along_axis($1, (indices([5 4 3], 0) + indices([5 4 3], 1)) % 6, axis=1)",
      { 3 },
      { { 5, 6, 3 } },
      3,
      { 5, 4, 3 },
      rotated_lines,
      0,
      NULL },
    { "take_along_axis",
      "take_along_axis($1, indices([5 1], 0))",
      { 2 },
      { { 5, 8 } },
      2,
      { 5, 1 },
      one_of_each_line,
      0,
      NULL },
    { "lut", "lut(cast($1, i16), arange(100, 50, -1))", { 3 }, { { 5, 6, 3 } }, 3, { 5, 6, 3 }, looked_up, 0, i32 },
    { "lut",
      "lut(cast($1, i16), indices([40 3], 0) * 3 + indices([40 3], 1))",
      { 3 },
      { { 5, 6, 3 } },
      3,
      { 5, 6, 3 },
      looked_up_by_channel,
      0,
      i32 },
    { "neighbours",
      "neighbours($1, " CROSS ", fold=sum)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      cross_sum,
      0x1p-20L,
      NULL },
    { "neighbours",
      "neighbours($1, " CROSS ", outside=keep)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      cross_mean,
      0x1p-20L,
      NULL },
    { "neighbours",
      "neighbours($1, " CROSS ", fold=min, outside=keep)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      cross_min,
      0,
      NULL },
    { "neighbours", "neighbors($1, " CROSS ", fold=max)", { 3 }, { { 7, 9, 3 } }, 3, { 7, 9, 3 }, cross_max, 0, NULL },
    { "neighbours",
      "neighbours(cast($1, f32), [-1 0 0; 1 0 0; 0 -1 0; 0 1 0; 0 0 -1; 0 0 1], fold=sum, outside=keep)",
      { 3 },
      { { 5, 7, 9 } },
      3,
      { 5, 7, 9 },
      six_around,
      0x1p-20L,
      always_f32 },
    { "neighbours",
      "v = cast($1, f32)\n" SIX,
      { 3 },
      { { 5, 7, 9 } },
      3,
      { 5, 7, 9 },
      six_around,
      0x1p-20L,
      always_f32 },
    { "neighbours",
      "window(cast($1, f32), [1 2 1], (p, q) -> max(p, q))",
      { 3 },
      { { 5, 7, 9 } },
      3,
      { 5, 7, 9 },
      largest_around,
      0,
      always_f32 },
    { "at",
      "make(18, 14, at($1, y / 2, x / 2, filter=linear), channels=3)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 14, 18, 3 },
      twice_as_large,
      0x1p-20L,
      NULL },
    { "at",
      "at($1, 8.25 - y * 1.5, x * 0.75 - 2, filter=linear, border=reflect)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      turned_over,
      0x1p-20L,
      NULL },
    { "at",
      "at($1, y + x / 4, x * 0.5 + 6, filter=linear, border=wrap)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      wrapped_around,
      0x1p-20L,
      NULL },
    { "at",
      "make(3, 14, at($1, y / 2, 0.25 + x * 3, filter=linear), channels=3)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 14, 3, 3 },
      few_of_a_row,
      0x1p-20L,
      NULL },
    { "at", /* a fold whose levels, written out, would be a million loads */
      "m = maxval(make(1000000, 1, x div 999999), axis=1, keepdims=true)\n"
      "at($1, y / 2, x + m / 2, filter=linear)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      moved_by_a_fold,
      0x1p-20L,
      NULL },
    { "at",
      "n = cast(maxval($1) * 0, i32) + 2\nat($1, y - n, x + n * 2, border=reflect)",
      { 3 },
      { { 7, 9, 3 } },
      3,
      { 7, 9, 3 },
      moved,
      0,
      NULL },
    { "at3d",
      "at3d($1, z * 0.75 - 1, y + x * 0.25, 7.5 - x, filter=linear, border=reflect)",
      { 3 },
      { { 5, 7, 9 } },
      3,
      { 5, 7, 9 },
      volume_linear,
      0x1p-20L,
      NULL },
    { "at3d",
      "at3d($1, x * 0.5 - 1, y * 1.5, z + 2.25, filter=cubic, border=wrap)",
      { 4 },
      { { 3, 4, 5, 3 } },
      4,
      { 3, 4, 5, 3 },
      volume_cubic,
      0x1p-19L,
      NULL },
    { "at3d",
      "at3d($1, z - 1.5, y + 0.5, x - 2.25, filter=linear, border=constant, cval=[40 7 90])",
      { 4 },
      { { 3, 4, 5, 3 } },
      4,
      { 3, 4, 5, 3 },
      volume_framed,
      0x1p-20L,
      NULL },
    { "at3d",
      "p = make(9, 8, y / 2 + x / 4)\nat3d($1, p, make(9, 8, y), make(9, 8, x))",
      { 3 },
      { { 5, 7, 9 } },
      2,
      { 8, 9 },
      volume_cut,
      0,
      NULL },
    { "recomb", "recomb($1, [0.5 -0.25 1; 0.1 2 0.3])", { 3 }, { { 5, 6, 3 } }, 3, { 5, 6, 2 }, mixed, 0x1p-15L, NULL },
    { "matprod",
      "matprod($1, $2)",
      { 4, 4 },
      { { 2, 5, 4, 3 }, { 2, 5, 3, 2 } },
      4,
      { 2, 5, 4, 2 },
      product,
      0x1p-20L,
      f32 },
    { "matprod",
      "matprod($1, $2)",
      { 3, 2 },
      { { 5, 3, 4 }, { 4, 2 } },
      3,
      { 5, 3, 2 },
      product_by_one,
      0x1p-20L,
      f32 },
};
static const nd_case of_floats[] = {
    { "matinv",
      REGULAR(3) "[2 5 3 3])\nmatprod(m, matinv(m))",
      { 4 },
      { { 2, 5, 3, 3 } },
      4,
      { 2, 5, 3, 3 },
      unit,
      0x1p-16L,
      NULL },
    { "matinv",
      REGULAR(2) "[5 2 2])\nmatprod(matinv(m), m)",
      { 3 },
      { { 5, 2, 2 } },
      3,
      { 5, 2, 2 },
      unit_2,
      0x1p-16L,
      NULL },
    { "matinv", REGULAR(1) "[5 1 1])\nmatinv(m)", { 3 }, { { 5, 1, 1 } }, 3, { 5, 1, 1 }, one_over, 0x1p-20L, NULL },
};
enum { N_SMALL = sizeof of_small / sizeof *of_small, N_FLOATS = sizeof of_floats / sizeof *of_floats };

START_TEST(reads_at_given_places_are_right_in_every_schedule)
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8,  IMGPAR_I8,  IMGPAR_U16, IMGPAR_I16,
                                           IMGPAR_I32, IMGPAR_F16, IMGPAR_F32, IMGPAR_F64 };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
        nd_check(&b, of_small, N_SMALL, dtypes[k], FILL_SMALL, "ref");
    if (b.has_device) {
        nd_check(&b, of_small, N_SMALL, IMGPAR_F32, FILL_SMALL, "auto");
        nd_check(&b, of_small, N_SMALL, IMGPAR_U8, FILL_SMALL, "pixels");
    }
    nd_close(&b);
}
END_TEST

START_TEST(a_matrix_times_its_inverse_is_the_unit)
{
    nd_bench b;
    nd_open(&b);
    nd_check(&b, of_floats, N_FLOATS, IMGPAR_F32, FILL_SMALL, "ref");
    if (b.has_device) nd_check(&b, of_floats, N_FLOATS, IMGPAR_F32, FILL_SMALL, "auto");
    nd_close(&b);
}
END_TEST

START_TEST(every_row_has_a_case)
{
    nd_check_complete("gather", of_small, N_SMALL, "");
    ck_assert(imgpar_op_find("recomb") && imgpar_op_find("matprod") && imgpar_op_find("matinv"));
}
END_TEST

START_TEST(a_lookup_and_a_channel_matrix_fuse_with_their_neighbours)
{
    static const char *const texts[] = {
        "lut(invert($1), arange(255, -1, -1, dtype=u8))",
        "recomb(blur($1, 1), [0 0 1; 0 1 0; 1 0 0]) / 2",
        "neighbours(invert($1), " CROSS ", outside=keep) + 1",
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 3, (int64_t[]){ 41, 53, 3 }, FILL_ANY, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof texts / sizeof *texts && b.is_cpu; k++) {
        int n = nd_kernels(&b, texts[k], &array, 1), want = k == 0 ? 2 : 1; /* the table is a kernel of its own */
        ck_assert_msg(n <= want, "%s: %d kernels", texts[k], n);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

START_TEST(reads_beyond_an_array_without_elements_give_cval)
{
    static const char *const texts[] = {
        "take(ones([0 4]), arange(0, 3, dtype=i32), border=constant, cval=5)",
        "at(ones([4 0]), ones([2 6]), ones([2 6]), border=constant, cval=5)",
        "at3d(ones([4 0 5]), ones([2 6]), 0, 1, border=constant, cval=5)",
    };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        float got[12] = { 0 };
        imgpar_array *a = imgpar_apply(b.ctx, texts[k], NULL, 0);
        ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s: %s", texts[k], imgpar_array_message(a));
        for (int i = 0; i < 12; i++)
            ck_assert_msg(got[i] == 5, "%s: %g at %d", texts[k], got[i], i);
        imgpar_array_release(a);
    }
    nd_close(&b);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "take($1, $1 / 2)", "take: indices is f32; it must be an integer" },
        { "take(expand_dims($1, 0), reshape($1, [1 1 6 8 3 1]), axis=1)",
          "take: the result would have 9 axes; there can be 1 to 8" },
        { "take(ones([0 4]), arange(0, 2, dtype=i32))",
          "take: a is [0, 4], without an element to read; border=constant reads cval" },
        { "at(ones([4 0]), ones([2 2]), ones([2 2]))",
          "at: a is [4, 0], without an element to read; border=constant reads cval" },
        { "at3d($1, z, y, x)",
          "at3d: v is [6, 8, 3], an image of 3 channels; as a volume that is reshape(v, [6 8 3 1])" },
        { "at3d(ones([6 8]), 0, y, x)", "at3d: v is [6, 8]; it must be a volume of three axes, or four with channels" },
        { "at3d(ones([2 3 5 3]), ones([2 3 5 2]), 0, 0)", "at3d: v has 3 channels, z, y and x have 2" },
        { "at3d(ones([0 3 5]), ones([2 3]), 0, 0)",
          "at3d: v is [0, 3, 5], without an element to read; border=constant reads cval" },
        { "at(ones([2 3 5]), ones([2 3]), ones([2 3]))",
          "at: a has 2 slices, y and x have 1; at3d() reads between slices" },
        { "lut($1, ones([3 4]))", "lut: table is [3, 4]; it must be a vector, or have 3 columns" },
        { "neighbours($1, [0 0 0 1])", "neighbours: 4 offsets for an array of 3 axes" },
        { "recomb($1, [1 2])", "recomb: the matrix has 2 columns for 3 channels" },
        { "matprod($1, $1)",
          "matprod: a is [6, 8, 3], b is [6, 8, 3]; their last axes must be matrices of up to 4x4 that fit" },
        { "matinv($1)", "matinv: a is [6, 8, 3]; its last axes must be square matrices of up to 1024x1024" },
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 3, (int64_t[]){ 6, 8, 3 }, FILL_ANY, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(b.ctx, refusals[k].text, &array, 1);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s: %s", refusals[k].text,
                      imgpar_array_message(bad));
        imgpar_array_release(bad);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gathers");
    TCase *c = tcase_create("gathers");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, every_row_has_a_case);
    tcase_add_test(c, reads_at_given_places_are_right_in_every_schedule);
    tcase_add_test(c, a_matrix_times_its_inverse_is_the_unit);
    tcase_add_test(c, a_lookup_and_a_channel_matrix_fuse_with_their_neighbours);
    tcase_add_test(c, reads_beyond_an_array_without_elements_give_cval);
    tcase_add_test(c, what_does_not_fit_is_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
