/* SPDX-License-Identifier: MIT */
/*
 * Arrays of five to eight axes: what moves, folds and combines their elements gives what loops over the axes give, in
 * every schedule; what is about places of pictures refuses them by name; element by element they cost what four axes
 * do.
 */
#include "nd.h"

#include "asserts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(name, ...)                                                      \
    static real name(const nd *in, const int64_t *i)                       \
    {                                                                      \
        return (void)i, nd_here(&in[0], (const int64_t[]){ __VA_ARGS__ }); \
    }

static int64_t wrapped(int64_t i, int64_t n) { return (i % n + n) % n; }
static int64_t between(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/* ---- elements in other places ------------------------------------------------------------------ */

AT(at_same, i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7])
AT(at_41302, i[3], i[1], i[4], i[2], i[0])
AT(at_outer, i[1], i[0], i[2], i[3], i[4])
AT(at_inner, i[0], i[1], i[2], i[4], i[3])
AT(at_76543210, i[7], i[6], i[5], i[4], i[3], i[2], i[1], i[0])
AT(at_cut, 1 + i[0], 2 - 2 * i[1], i[2], 1 + i[3], i[4])
AT(at_first_plane, 1, i[1], i[2], i[3], i[4])
AT(at_second_axis, i[0], 1 + i[1], i[2], i[3], i[4])
AT(at_every_second, i[0], i[1], i[2], 2 * i[3], i[4], 2 * i[5])
AT(at_reversed, 1 - i[0], i[1], 3 - i[2], i[3], i[4])
AT(at_reversed_depth, 1 - i[0], 2 - i[1], i[2], i[3], i[4])
AT(at_repeated, i[0], i[1] / 3, i[2], i[3], i[4])
AT(at_tiled, i[0] % 2, i[1], i[2] % 4, i[3], i[4])
AT(at_rolled, wrapped(i[0] - 1, 2), wrapped(i[1] + 1, 3), i[2], wrapped(i[3] - 2, 5), i[4])
AT(at_edge, between(i[0] - 1, 2), i[1], between(i[2] - 1, 4), i[3], i[4])
AT(at_spread, i[2], 0, i[4], i[5], i[6])
AT(at_without_ones, 0, i[0], 0, i[1], i[2], 0)
AT(at_taken, i[0], 2 - i[1] - i[2], i[3], i[4], i[5])

static real at_order(const nd *in, int64_t k) { return in->v[k]; }
static real at_order_3(const nd *in, const int64_t *i) { return at_order(in, (i[0] * 6 + i[1]) * 20 + i[2]); }
static real at_order_5(const nd *in, const int64_t *i)
{
    return at_order(in, (((i[0] * 3 + i[1]) * 4 + i[2]) * 5 + i[3]) * 3 + i[4]);
}
static real at_order_6(const nd *in, const int64_t *i)
{
    return at_order(in, ((((i[0] * 2 + i[1]) * 3 + i[2]) * 2 + i[3]) * 5 + i[4]) * 3 + i[5]);
}
static real at_order_8(const nd *in, const int64_t *i)
{
    return at_order(in, ((((((i[0] * 2 + i[1]) * 3 + i[2]) * 1 + i[3]) * 2 + i[4]) * 2 + i[5]) * 5 + i[6]) * 3 + i[7]);
}
static real at_order_8_reversed(const nd *in, const int64_t *i)
{
    return nd_here(in, (const int64_t[]){ 1 - i[1], i[2], i[3] * 4 + i[4] * 2 + i[5], 4 - i[6], i[7] });
}
static real at_padded(const nd *in, const int64_t *i)
{
    const bool inside = i[0] >= 1 && i[0] < 3 && i[3] < 5;
    return inside ? nd_here(in, (const int64_t[]){ i[0] - 1, i[1], i[2], i[3], i[4] }) : 7;
}
static real at_joined(const nd *in, const int64_t *i)
{
    const int64_t j[] = { i[0], i[1] % 3, i[2], i[3], i[4] };
    return nd_here(&in[i[1] >= 3], j);
}
static real at_stacked(const nd *in, const int64_t *i)
{
    const int64_t j[] = { i[0], i[1], i[3], i[4], i[5] };
    return nd_here(&in[i[2]], j);
}

/* ---- elements together --------------------------------------------------------------------------- */

static real at_smaller(const nd *in, const int64_t *i)
{
    const real a = nd_here(&in[0], i), b = nd_here(&in[1], (const int64_t[]){ 0, i[2], 0, i[4] });
    return a < b ? a : b;
}
static real at_larger(const nd *in, const int64_t *i)
{
    const real a = nd_here(&in[0], (const int64_t[]){ i[0], 0, i[2], i[3], 0, i[5] });
    const real b = nd_here(&in[1], (const int64_t[]){ 0, i[1], 0, i[3], i[4], 0 });
    return a > b ? a : b;
}
static real at_beside_picture(const nd *in, const int64_t *i)
{
    const real a = nd_here(&in[0], i), b = nd_here(&in[1], (const int64_t[]){ i[2], i[3], i[4] });
    return a > b ? a : b;
}
static real at_beside_vector(const nd *in, const int64_t *i)
{
    const real a = nd_here(&in[0], i), b = in[1].v[i[4]];
    return a > b ? a : b;
}

/* The least, or the sum, of the elements along the axes whose bits are set, that are at i along the others in order. */
static real folded(const nd *a, unsigned axes, bool keeps, const int64_t *i, bool is_sum)
{
    int64_t index[IMGPAR_MAX_RANK] = { 0 };
    real total = 0;
    bool is_first = true;
    for (int64_t k = 0; k < a->count; k++) {
        bool is_here = true;
        int64_t rest = k;
        for (int axis = a->rank - 1; axis >= 0; axis--) {
            index[axis] = rest % a->shape[axis];
            rest /= a->shape[axis];
        }
        for (int axis = 0, out = 0; axis < a->rank; axis++) {
            const bool goes = axes >> axis & 1;
            is_here = is_here && (goes || index[axis] == i[out]);
            out += !goes || keeps;
        }
        if (!is_here) continue;
        total = is_sum ? total + a->v[k] : is_first || a->v[k] < total ? a->v[k] : total;
        is_first = false;
    }
    return total;
}
#define FOLDED(name, axes, keeps, is_sum) \
    static real name(const nd *in, const int64_t *i) { return folded(&in[0], axes, keeps, i, is_sum); }
FOLDED(at_least_0, 1, false, false)
FOLDED(at_least_1, 2, false, false)
FOLDED(at_least_depth, 3, false, false)
FOLDED(at_least_last, 16, true, false)
FOLDED(at_least_024, 1 | 4 | 16, false, false)
FOLDED(at_least_1357, 2 | 8 | 32 | 128, false, false)
FOLDED(at_least_0246, 1 | 4 | 16 | 64, true, false)
FOLDED(at_least, 31, false, false)
FOLDED(at_sum_13, 2 | 8, false, true)

static real at_running(const nd *in, const int64_t *i)
{
    real least = 0;
    for (int64_t k = 0; k <= i[1]; k++) {
        const real v = nd_here(in, (const int64_t[]){ i[0], k, i[2], i[3], i[4] });
        least = k == 0 || v < least ? v : least;
    }
    return least;
}
/* The element with as many before it as the index says. */
static real at_sorted(const nd *in, const int64_t *i)
{
    const int64_t n = in->shape[2];
    for (int64_t k = 0; k < n; k++) {
        const real v = nd_here(in, (const int64_t[]){ i[0], i[1], k, i[3], i[4] });
        int64_t before = 0;
        for (int64_t j = 0; j < n; j++) {
            const real w = nd_here(in, (const int64_t[]){ i[0], i[1], j, i[3], i[4] });
            before += w < v || (w == v && j < k);
        }
        if (before == i[2]) return v;
    }
    return 0;
}
static real at_argmin(const nd *in, const int64_t *i)
{
    int64_t least = 0;
    for (int64_t k = 1; k < in->shape[1]; k++) {
        const real v = nd_here(in, (const int64_t[]){ i[0], k, i[1], i[2], i[3] });
        if (v < nd_here(in, (const int64_t[]){ i[0], least, i[1], i[2], i[3] })) least = k;
    }
    return (real)least;
}
static real at_product(const nd *in, const int64_t *i)
{
    real sum = 0;
    for (int64_t k = 0; k < 4; k++)
        sum += nd_here(&in[0], (const int64_t[]){ i[0], i[1], i[2], i[3], k }) *
               nd_here(&in[1], (const int64_t[]){ i[1], 0, k, i[4] });
    return sum;
}
/* Of type II, orthonormal, along the second axis. */
static real at_cosines(const nd *in, const int64_t *i)
{
    const int64_t n = in->shape[1];
    const real pi = acosl(-1);
    real sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += nd_here(in, (const int64_t[]){ i[0], k, i[2], i[3], i[4] }) *
               cosl(pi * (real)((2 * k + 1) * i[1]) / (real)(2 * n));
    return sum * sqrtl((i[1] ? 2 : 1) / (real)n);
}
/* The real part of the discrete Fourier transform along the second axis. */
static real at_half_spectrum(const nd *in, const int64_t *i)
{
    const int64_t n = in->shape[1];
    real sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += nd_here(in, (const int64_t[]){ i[0], k, i[2], i[3], i[4] }) *
               cosl(2 * acosl(-1) * (real)(k * i[1]) / (real)n);
    return sum;
}
/* The element at (y, x) of a plane's discrete Fourier transform, its real part; of the inverse, over their number. */
static real transformed(const nd *in, const int64_t *i, real sign)
{
    const int64_t h = in->shape[2], w = in->shape[3];
    const real turn = 2 * acosl(-1);
    real sum = 0;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            sum += nd_here(in, (const int64_t[]){ i[0], i[1], y, x, i[4] }) *
                   cosl(sign * turn * ((real)(y * i[2]) / (real)h + (real)(x * i[3]) / (real)w));
    return sign < 0 ? sum : sum / (real)(h * w);
}
static real at_spectrum(const nd *in, const int64_t *i) { return transformed(in, i, -1); }
static real at_inverse_spectrum(const nd *in, const int64_t *i) { return transformed(in, i, 1); }
static real at_nothing(const nd *in, const int64_t *i) { return (void)in, (void)i, (real)0; }
static real at_lower(const nd *in, const int64_t *i) { return i[4] - i[3] <= 1 ? nd_here(in, i) : 0; }
static real at_upper(const nd *in, const int64_t *i) { return i[4] >= i[3] ? nd_here(in, i) : 0; }
static real at_trace(const nd *in, const int64_t *i)
{
    real sum = 0;
    (void)i;
    for (int64_t k = 0; k < in->count; k++)
        sum += k / 15 % 4 == k / 3 % 5 ? in->v[k] : 0; /* of [.., 4, 5, 3] */
    return sum;
}
/* scatter_add() of the parts 2, -1, 0, 2, 9, 0 of $2, of which two lie outside. */
static real at_scattered(const nd *in, const int64_t *i)
{
    static const int64_t places[] = { 2, -1, 0, 2, 9, 0 };
    real sum = nd_here(&in[0], i);
    for (int64_t k = 0; k < 6; k++)
        if (places[k] == i[0]) sum += nd_here(&in[1], (const int64_t[]){ k / 2, k % 2, i[1], i[2], i[3], i[4] });
    return sum;
}
static real at_scattered_most(const nd *in, const int64_t *i)
{
    const real v = nd_here(&in[0], i);
    return i[0] == 1 || v > 100 ? v : 100;
}
static real at_counted(const nd *in, const int64_t *i)
{
    real n = 0;
    for (int64_t k = 0; k < in->count; k++)
        n += in->v[k] == (real)i[0];
    return n;
}
static real at_place(const nd *in, const int64_t *i) { return (void)in, (real)(i[0] + 10 * i[1] + 100 * i[2]); }
static real at_coordinates(const nd *in, const int64_t *i) { return (void)in, (real)(i[2] + 10 * i[3] + 100 * i[4]); }

static imgpar_dtype as_i64(imgpar_dtype in) { return (void)in, IMGPAR_I64; }
static imgpar_dtype as_f32(imgpar_dtype in) { return (void)in, IMGPAR_F32; }
static imgpar_dtype as_i32(imgpar_dtype in) { return (void)in, IMGPAR_I32; }

#define FIVE              \
    { 5 },                \
    {                     \
        {                 \
            2, 3, 4, 5, 3 \
        }                 \
    }
#define EIGHT                      \
    { 8 },                         \
    {                              \
        {                          \
            2, 1, 3, 2, 1, 2, 3, 2 \
        }                          \
    }
#define OUT(...)    \
    {               \
        __VA_ARGS__ \
    }
#define OF_TWO(rank_a, rank_b, shape_a, shape_b) \
    { rank_a, rank_b }, { shape_a, shape_b }
#define TWO_FIVES                            \
    { 5, 5 },                                \
    {                                        \
        { 2, 3, 4, 5, 3 }, { 2, 3, 4, 5, 3 } \
    }

static const nd_case moved[] = {
    { "reshape", "reshape($1, [2 3 4 5 3])", { 3 }, { { 6, 4, 15 } }, 5, { 2, 3, 4, 5, 3 }, at_order_5, 0, NULL },
    { "permute", "permute($1, [4 1 3 0 2])", FIVE, 5, { 3, 3, 5, 2, 4 }, at_41302, 0, NULL },
    { "permute", "permute($1, [1 0 2 3 4])", FIVE, 5, { 3, 2, 4, 5, 3 }, at_outer, 0, NULL },
    { "permute", "permute($1, [0 1 2 4 3])", FIVE, 5, { 2, 3, 4, 3, 5 }, at_inner, 0, NULL },
    { "permute", "permute($1, [7 6 5 4 3 2 1 0])", EIGHT, 8, { 2, 3, 2, 1, 2, 3, 1, 2 }, at_76543210, 0, NULL },
    { "slice", "slice($1, [1 2 0 1], [2 -4 9 9], [1 -2])", FIVE, 5, { 1, 2, 4, 4, 3 }, at_cut, 0, NULL },
    { "slice", "slice($1, 1, 2)", FIVE, 5, { 1, 3, 4, 5, 3 }, at_first_plane, 0, NULL },
    { "slice", "slice($1, 1, axis=-4)", FIVE, 5, { 2, 2, 4, 5, 3 }, at_second_axis, 0, NULL },
    { "slice",
      "slice($1, step=[2 1 2], axis=3)",
      { 6 },
      { { 2, 1, 3, 4, 5, 6 } },
      6,
      { 2, 1, 3, 2, 5, 3 },
      at_every_second,
      0,
      NULL },
    { "slice", "slice($1, 2, 1, axis=1)", FIVE, 5, { 2, 0, 4, 5, 3 }, at_same, 0, NULL },
    { "reverse", "reverse($1, [0 2])", FIVE, 5, { 2, 3, 4, 5, 3 }, at_reversed, 0, NULL },
    { "reverse", "reverse($1, [0 1])", FIVE, 5, { 2, 3, 4, 5, 3 }, at_reversed_depth, 0, NULL },
    { "repeat", "repeat($1, 3, axis=1)", FIVE, 5, { 2, 9, 4, 5, 3 }, at_repeated, 0, NULL },
    { "tile", "tile($1, [3 1 2])", FIVE, 5, { 6, 3, 8, 5, 3 }, at_tiled, 0, NULL },
    { "circshift", "circshift($1, [1 -1 0 2])", FIVE, 5, { 2, 3, 4, 5, 3 }, at_rolled, 0, NULL },
    { "pad", "pad($1, [1 0 1], border=replicate)", FIVE, 5, { 4, 3, 6, 5, 3 }, at_edge, 0, NULL },
    { "pad", "pad($1, [1], [0 0 0 2], cval=7)", FIVE, 5, { 3, 3, 4, 7, 3 }, at_padded, 0, NULL },
    { "broadcast",
      "broadcast($1, [2 3 2 4 2 5 3])",
      { 5 },
      { { 2, 1, 2, 5, 3 } },
      7,
      { 2, 3, 2, 4, 2, 5, 3 },
      at_spread,
      0,
      NULL },
    { "squeeze", "squeeze($1)", { 6 }, { { 1, 4, 1, 5, 3, 1 } }, 3, { 4, 5, 3 }, at_without_ones, 0, NULL },
    { "concatenate", "concatenate($1, $2, axis=1)", TWO_FIVES, 5, { 2, 6, 4, 5, 3 }, at_joined, 0, NULL },
    { "concatenate",
      "concatenate(expand_dims($1, 2), expand_dims($2, 2), axis=2)",
      TWO_FIVES,
      6,
      { 2, 3, 2, 4, 5, 3 },
      at_stacked,
      0,
      NULL },
    { "take", "take($1, numbers([2 1; 1 0], dtype=i32), axis=1)", FIVE, 6, { 2, 2, 2, 4, 5, 3 }, at_taken, 0, NULL },
    { "reshape", "reshape($1, [3 6 20])", FIVE, 3, { 3, 6, 20 }, at_order_3, 0, NULL },
    { "reshape", "reshape($1, [2 2 3 2 5 3])", FIVE, 6, { 2, 2, 3, 2, 5, 3 }, at_order_6, 0, NULL },
    { "reshape",
      "reshape(reverse($1, [0 3]), [1 2 3 1 2 2 5 3])",
      FIVE,
      8,
      { 1, 2, 3, 1, 2, 2, 5, 3 },
      at_order_8_reversed,
      0,
      NULL },
    { "reshape", "reshape($1, [1 2 3 1 2 2 5 3])", FIVE, 8, { 1, 2, 3, 1, 2, 2, 5, 3 }, at_order_8, 0, NULL },
};

static const nd_case combined[] = {
    { "min",
      "min($1, $2)",
      OF_TWO(5, 4, OUT(2, 3, 4, 5, 3), OUT(1, 4, 1, 3)),
      5,
      { 2, 3, 4, 5, 3 },
      at_smaller,
      0,
      as_i32 },
    { "maximum",
      "maximum($1, $2)",
      OF_TWO(6, 6, OUT(2, 1, 3, 2, 1, 3), OUT(1, 4, 1, 2, 2, 1)),
      6,
      { 2, 4, 3, 2, 2, 3 },
      at_larger,
      0,
      NULL },
    { "maximum",
      "maximum($1, $2)",
      OF_TWO(5, 3, OUT(2, 3, 4, 5, 3), OUT(4, 5, 3)),
      5,
      { 2, 3, 4, 5, 3 },
      at_beside_picture,
      0,
      NULL },
    { "maximum",
      "maximum($1, $2)",
      OF_TWO(5, 1, OUT(2, 3, 4, 5, 3), OUT(3)),
      5,
      { 2, 3, 4, 5, 3 },
      at_beside_vector,
      0,
      NULL },
    { "minval", "minval($1, axis=0)", FIVE, 4, { 3, 4, 5, 3 }, at_least_0, 0, NULL },
    { "minval", "minval($1, axis=-4)", FIVE, 4, { 2, 4, 5, 3 }, at_least_1, 0, NULL },
    { "minval", "minval($1, axis=[0 1])", FIVE, 3, { 4, 5, 3 }, at_least_depth, 0, NULL },
    { "minval", "minval($1, axis=4, keepdims=true)", FIVE, 5, { 2, 3, 4, 5, 1 }, at_least_last, 0, NULL },
    { "minval", "minval($1, axis=[0 2 4])", FIVE, 2, { 3, 5 }, at_least_024, 0, NULL },
    { "minval", "minval($1, axis=[1 3 5 7])", EIGHT, 4, { 2, 3, 1, 3 }, at_least_1357, 0, NULL },
    { "minval",
      "minval($1, axis=[0 2 4 6], keepdims=true)",
      EIGHT,
      8,
      { 1, 1, 1, 2, 1, 2, 1, 2 },
      at_least_0246,
      0,
      NULL },
    { "minval", "minval($1)", FIVE, 1, { 1 }, at_least, 0, NULL },
    { "cummin", "cummin($1, axis=1)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_running, 0, NULL },
    { "scan", "scan($1, 32767, (p, q) -> minimum(p, q), axis=1)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_running, 0, NULL },
    { "dct", "dct($1, axis=1)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_cosines, 1e-6L, as_f32 },
    { "idct", "dct(idct($1, axis=-3), axis=2)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_same, 1e-6L, as_f32 },
    { "dct2",
      "cast(dct2(cast($1, f64)) - dct(dct(cast($1, f64), axis=2), axis=3), f32)",
      FIVE,
      5,
      { 2, 3, 4, 5, 3 },
      at_nothing,
      0,
      as_f32 },
    { "idct2", "idct2(dct2($1))", FIVE, 5, { 2, 3, 4, 5, 3 }, at_same, 1e-6L, as_f32 },
    { "rfft", "real(rfft($1, axis=1))", FIVE, 5, { 2, 2, 4, 5, 3 }, at_half_spectrum, 1e-6L, as_f32 },
    { "irfft", "irfft(rfft($1, axis=-3), axis=2)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_same, 1e-6L, as_f32 },
    { "fft2", "real(fft2($1))", FIVE, 5, { 2, 3, 4, 5, 3 }, at_spectrum, 1e-6L, as_f32 },
    { "ifft2", "real(ifft2($1))", FIVE, 5, { 2, 3, 4, 5, 3 }, at_inverse_spectrum, 1e-6L, as_f32 },
    { "tril", "tril($1, 1)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_lower, 0, NULL },
    { "triu", "triu($1)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_upper, 0, NULL },
    { "scatter_max",
      "scatter_max($1, numbers([2 0], dtype=i32), numbers([100]))",
      { 5 },
      { { 3, 2, 2, 5, 3 } },
      5,
      { 3, 2, 2, 5, 3 },
      at_scattered_most,
      0,
      NULL },
    { "sort", "sort($1, axis=2)", FIVE, 5, { 2, 3, 4, 5, 3 }, at_sorted, 0, NULL },
    { "take_along_axis",
      "take_along_axis($1, argsort($1, axis=2), axis=2)",
      FIVE,
      5,
      { 2, 3, 4, 5, 3 },
      at_sorted,
      0,
      NULL },
};

static const nd_case counted[] = {
    { "sum", "cast(sum($1, axis=[1 3]), i64)", FIVE, 3, { 2, 4, 3 }, at_sum_13, 0, as_i64 },
    { "argmin", "argmin($1, axis=1)", FIVE, 4, { 2, 4, 5, 3 }, at_argmin, 0, as_i64 },
    { "matmul",
      "cast(matmul($1, $2), i64)",
      OF_TWO(5, 4, OUT(2, 3, 2, 3, 4), OUT(3, 1, 4, 5)),
      5,
      { 2, 3, 2, 3, 5 },
      at_product,
      0,
      as_i64 },
    { "trace", "cast(trace($1), i64)", FIVE, 1, { 1 }, at_trace, 0, as_i64 },
    { "scatter_add",
      "scatter_add(cast($1, i64), numbers([2 -1; 0 2; 9 0], dtype=i32), $2)",
      OF_TWO(5, 6, OUT(3, 2, 2, 5, 3), OUT(3, 2, 2, 2, 5, 3)),
      5,
      { 3, 2, 2, 5, 3 },
      at_scattered,
      0,
      as_i64 },
    { "scatter_add", "scatter_add(zeros([256], dtype=i64), $1, ones([1]))", FIVE, 1, { 256 }, at_counted, 0, as_i64 },
    { "group_count", "cast(group_count($1, 256), i64)", FIVE, 1, { 256 }, at_counted, 0, as_i64 },
    { "indices",
      "indices([2 3 4 5 3], 0) + 10 * indices([2 3 4 5 3], 1) + 100 * indices([2 3 4 5 3], 2) + 0 * $1",
      FIVE,
      5,
      { 2, 3, 4, 5, 3 },
      at_place,
      0,
      as_i32 },
    { "make",
      "make(shape=[2 3 4 5 3], expr=y + 10 * x + 100 * c) + 0 * $1",
      FIVE,
      5,
      { 2, 3, 4, 5, 3 },
      at_coordinates,
      0,
      as_i32 },
};

#define N(table) ((int)(sizeof(table) / sizeof *(table)))

static const char *const schedules[] = { "ref", "auto", "rows", "pixels", "tiles" };

START_TEST(elements_are_where_loops_put_them) /* _i: the schedule */
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_F32, IMGPAR_I16 };
    nd_bench b;
    nd_open(&b);
    for (int k = 0; k < N(dtypes) && (b.has_device || _i == 0); k++) {
        if (k > 0 && _i > 1) continue; /* other dtypes: by the device's own schedule */
        nd_check(&b, moved, N(moved), dtypes[k], FILL_ANY, schedules[_i]);
    }
    nd_close(&b);
}
END_TEST

START_TEST(elements_meet_and_fold_as_loops_have_it) /* _i: the schedule */
{
    nd_bench b;
    nd_open(&b);
    if (b.has_device || _i == 0) {
        nd_check(&b, combined, N(combined), IMGPAR_I16, FILL_ANY, schedules[_i]);
        nd_check(&b, counted, N(counted), IMGPAR_U8, FILL_ANY, schedules[_i]);
    }
    nd_close(&b);
}
END_TEST

static imgpar_array *array_of(imgpar_context *ctx, int rank, const int64_t *shape)
{
    nd a = nd_new(IMGPAR_U8, rank, shape, FILL_ANY, 1);
    imgpar_array *array = nd_array(ctx, &a);
    nd_free(&a);
    return array;
}

/* What is computed element by element, and what keeps whole axes before the last three, is the program of four axes. */
START_TEST(many_axes_cost_what_four_do)
{
    static const char *const texts[][2] = {
        { "$1 + 1", "$1 + 1" },
        { "max($1, reverse($1, [2 4]))", "max($1, reverse($1, [1 3]))" },
        { "slice($1, [1 0], [2 3])", "slice($1, 3, 6)" },
        { "reshape($1 + 1, [6 4 5 3])", "$1 + 1" },
        { "sum(cast($1, i32), axis=3, keepdims=true)", "sum(cast($1, i32), axis=2, keepdims=true)" },
        { "cast(sort($1, axis=3), i16)", "cast(sort($1, axis=2), i16)" },
    };
    nd_bench b;
    nd_open(&b);
    imgpar_array *many = array_of(b.ctx, 5, (int64_t[]){ 2, 3, 4, 5, 3 });
    imgpar_array *four = array_of(b.ctx, 4, (int64_t[]){ 6, 4, 5, 3 });
    for (int k = 0; k < N(texts) && b.is_cpu; k++) {
        char *text[2];
        for (int i = 0; i < 2; i++) {
            imgpar_array *a = imgpar_apply(b.ctx, texts[k][i], i ? &four : &many, 1);
            ck_assert_msg(imgpar_explain(&a, 1, "cl", &text[i]) == IMGPAR_OK, "%s: %s", texts[k][i],
                          imgpar_array_message(a));
            imgpar_array_release(a);
        }
        const char *name[2] = { strstr(text[0], "__kernel void"), strstr(text[1], "__kernel void") };
        ck_assert(name[0] && name[1]);
        size_t n = strcspn(name[0], "(");
        ck_assert_msg(n == strcspn(name[1], "(") && memcmp(name[0] + n - 8, name[1] + n - 8, 8) == 0,
                      "%s: %.*s, not %.*s", texts[k][0], (int)n, name[0], (int)n, name[1]);
        imgpar_free(text[0]);
        imgpar_free(text[1]);
    }
    imgpar_array_release(many);
    imgpar_array_release(four);
    nd_close(&b);
}
END_TEST

/* Every row either takes an array of five axes, whatever else it asks of it, or refuses it by its own name. */
START_TEST(rows_about_pictures_refuse_more_than_four_axes)
{
    nd_bench b;
    int n_taken = 0, n_refused = 0;
    nd_open(&b);
    ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", "ref"), IMGPAR_OK);
    imgpar_array *a = array_of(b.ctx, 5, (int64_t[]){ 2, 3, 4, 5, 3 });
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const imgpar_op_info *op = imgpar_op_get(k);
        char text[600], want[128];
        if (op->n_inputs == 0 || !*op->example) continue;
        snprintf(text, sizeof text, "a = $1\nb = $1\n%s", op->example);
        snprintf(want, sizeof want, "%s: %s has 5 axes, [2, 3, 4, 5, 3]; this operation takes up to 4", op->name,
                 op->input_names[0]);
        imgpar_array *x = imgpar_apply(b.ctx, text, &a, 1);
        const char *message = imgpar_array_message(x);
        const bool is_refused = strstr(message, want) != NULL;
        if (op->takes_many_axes) {
            ck_assert_msg(!is_refused, "%s: %s", op->name, message);
            n_taken++;
        } else if (strstr(op->example, "(a")) {
            /* examples whose own argument is of few axes aside */
            ck_assert_msg(imgpar_array_status(x) == IMGPAR_E_SHAPE || !strstr(message, "5 axes"), "%s: %s", text,
                          message);
            n_refused += is_refused;
        }
        imgpar_array_release(x);
    }
    ck_assert_int_gt(n_taken, 100);
    ck_assert_int_gt(n_refused, 100);
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

START_TEST(what_is_of_four_axes_says_so)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "$1[1, 0]", "neighbours are read along up to 4 axes; the array has 5, [2, 3, 4, 5, 3]" },
        { "around($1, 1, (p, q) -> p - q, \"max\")", "neighbours are read along up to 4 axes" },
        { "window($1, 1, (p, q) -> max(p, q))", "neighbours are read along up to 4 axes" },
        { "$1 + z", "z is a coordinate of arrays of up to 4 axes; indices(shape, axis) has those of 5" },
        { "sum($1, axis=5)", "sum: there is no axis 5; a has 5 axes: [2, 3, 4, 5, 3]" },
        { "zeros([1 1 1 1 1 1 1 1 1])", "zeros: shape has 9 elements; there are up to 8 axes" },
        { "expand_dims(reshape($1, [1 1 1 2 3 4 5 3]), 0)", "expand_dims: the result would have 9 axes" },
        { "broadcast(zeros([1 1 1 1 1]), [65536 65536 1 1 1])",
          "broadcast: the axes before the last three have more than 2147483647 elements together" },
        { "zeros([65536 1 1 1 1]) + zeros([32767 1 1 1])", "" },
        { "zeros([65536 1 1 1 1]) + zeros([65536 1 1 1 1 1])",
          "+: the axes before the last three have more than 2147483647 elements together" },
    };
    nd_bench b;
    nd_open(&b);
    imgpar_array *a = array_of(b.ctx, 5, (int64_t[]){ 2, 3, 4, 5, 3 });
    for (int k = 0; k < N(refusals); k++) {
        imgpar_array *x = imgpar_apply(b.ctx, refusals[k].text, &a, 1);
        const char *message = imgpar_array_message(x);
        ck_assert_msg(*refusals[k].message ? strstr(message, refusals[k].message) != NULL : !*message, "%s: %s",
                      refusals[k].text, message);
        imgpar_array_release(x);
    }
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

/* ---- batches of matrices ------------------------------------------------------------------------------- */

static void check_shape(const imgpar_array *x, int rank, const int64_t *shape)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(x, &info), IMGPAR_OK);
    ck_assert_int_eq(info.rank, rank);
    ck_assert_mem_eq(info.shape, shape, (size_t)rank * sizeof *shape);
}

/* What an expression of $1, $2 and $3 is in the order of its elements, as f64; *n counts them. */
static double *values_of(imgpar_context *ctx, const char *text, imgpar_array *const *in, size_t n_in, size_t *n)
{
    char whole[300];
    snprintf(whole, sizeof whole, "cast(%s, f64)", text);
    imgpar_array *x = imgpar_apply(ctx, whole, in, n_in);
    ck_assert_msg(imgpar_array_status(x) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(x));
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(x, &info), IMGPAR_OK);
    *n = 1;
    for (int k = 0; k < info.rank; k++)
        *n *= (size_t)info.shape[k];
    double *values = malloc((*n + 1) * sizeof *values);
    ck_assert_int_eq(imgpar_array_read(x, values, *n * sizeof *values), IMGPAR_OK);
    imgpar_array_release(x);
    return values;
}

/* Rows about the matrices in the last two axes: three axes before them give what one gives, in that one's order. */
START_TEST(batches_of_three_axes_are_as_batches_of_one) /* _i: whether it is computed by kernels */
{
    static const char *const texts[] = {
        "det($1)",           "matinv($1)",
        "pinv($1)",          "qr_q($1)",
        "qr_r($1)",          "svdvals($1)",
        "svd_u($1)",         "svd_vt($1)",
        "matrix_rank($1)",   "solve($1, $2)",
        "lstsq($1, $2)",     "matrix_power($1, 3)",
        "matmul($1, $2)",    "matrix_power($1, -2)",
        "matprod($1, $2)",   "solve(eye(3), $2)",
        "lstsq(eye(3), $2)", "matprod($1, eye(3, dtype=f64))",
        "cholesky($3)",      "eigvalsh($3)",
        "eigvecsh($3)",
    };
    nd_bench b;
    nd_open(&b);
    ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", _i ? "auto" : "ref"), IMGPAR_OK);
    nd a = nd_new(IMGPAR_F64, 5, (int64_t[]){ 2, 3, 2, 3, 3 }, FILL_SMALL, 7),
       c = nd_new(IMGPAR_F64, 5, (int64_t[]){ 2, 3, 2, 3, 2 }, FILL_SMALL, 8);
    for (int64_t k = 0; k < a.count; k += 4) /* far from singular */
        a.v[k] += 20;
    imgpar_array *many[3] = { nd_array(b.ctx, &a), nd_array(b.ctx, &c) }, *one[3];
    many[2] = imgpar_apply(b.ctx, "matmul($1, permute($1, [0 1 2 4 3]))", many, 1);
    for (int k = 0; k < 3; k++)
        one[k] = imgpar_apply(b.ctx, k == 1 ? "reshape($1, [12 3 2])" : "reshape($1, [12 3 3])", &many[k], 1);
    for (int k = 0; k < N(texts); k++) {
        size_t n, n_one;
        double *x = values_of(b.ctx, texts[k], many, 3, &n), *y = values_of(b.ctx, texts[k], one, 3, &n_one);
        ck_assert_uint_eq(n, n_one);
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(x[i] == y[i], "%s: element %zu is %.17g, not %.17g", texts[k], i, x[i], y[i]);
        free(x), free(y);
    }
    for (int k = 0; k < 3; k++)
        imgpar_array_release(many[k]), imgpar_array_release(one[k]);
    nd_free(&a), nd_free(&c);
    nd_close(&b);
}
END_TEST

START_TEST(determinants_of_many_axes_are_what_cofactors_give)
{
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_F64, 6, (int64_t[]){ 2, 1, 3, 2, 3, 3 }, FILL_SMALL, 9);
    imgpar_array *in = nd_array(b.ctx, &a), *x = imgpar_apply(b.ctx, "det($1)", &in, 1);
    double got[12];
    check_shape(x, 4, a.shape);
    ck_assert_int_eq(imgpar_array_read(x, got, sizeof got), IMGPAR_OK);
    for (int k = 0; k < 12; k++) {
        const real *m = a.v + 9 * k;
        const real want = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                          m[2] * (m[3] * m[7] - m[4] * m[6]);
        ck_assert_msg(fabsl(want - got[k]) <= 1e-9L * (1 + fabsl(want)), "%d: %g, not %Lg", k, got[k], want);
    }
    imgpar_array_release(x), imgpar_array_release(in);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

/* Stages that read one another, none of which has an element. */
START_TEST(empty_arrays_of_many_axes_have_their_shape) /* _i: whether it is computed by kernels */
{
    static const char *const texts[] = { "reverse($1, 0) * 2", "svd_u($1) * 2", "solve($1, $1)", "matinv($1)" };
    nd_bench b;
    nd_open(&b);
    ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", _i ? "auto" : "ref"), IMGPAR_OK);
    nd a = nd_new(IMGPAR_F32, 5, (int64_t[]){ 2, 0, 2, 3, 3 }, FILL_SMALL, 3);
    imgpar_array *in = nd_array(b.ctx, &a);
    for (int k = 0; k < N(texts); k++) {
        imgpar_array *x = imgpar_apply(b.ctx, texts[k], &in, 1);
        float none;
        ck_assert_msg(imgpar_array_read(x, &none, 0) == IMGPAR_OK, "%s: %s", texts[k], imgpar_array_message(x));
        check_shape(x, 5, a.shape);
        imgpar_array_release(x);
    }
    imgpar_array_release(in);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

/* In memory, in a file and out again; the depth is what is before the last three axes. */
START_TEST(arrays_of_eight_axes_go_in_and_out)
{
    static const int64_t shape[] = { 2, 1, 3, 2, 1, 2, 5, 3 };
    enum { COUNT = 2 * 3 * 2 * 2 * 5 * 3 };
    uint8_t in[COUNT], out[COUNT];
    nd_bench b;
    void *bytes;
    size_t size;
    imgpar_info info = { .struct_size = sizeof info };
    nd_open(&b);
    for (int k = 0; k < COUNT; k++)
        in[k] = (uint8_t)(k * 7);
    imgpar_array *a = imgpar_array_from_data(b.ctx, IMGPAR_U8, 8, shape, in);
    const imgpar_options as_npy = { .struct_size = sizeof as_npy, .format = "npy" };
    const imgpar_options as_png = { .struct_size = sizeof as_png, .format = "png" };
    ck_assert_int_eq(imgpar_encode(a, &as_npy, &bytes, &size), IMGPAR_OK);
    imgpar_array *back = imgpar_open_memory(b.ctx, bytes, size);
    imgpar_free(bytes);
    ck_assert_int_eq(imgpar_array_info(back, &info), IMGPAR_OK);
    ck_assert_int_eq(info.rank, 8);
    ck_assert_mem_eq(info.shape, shape, sizeof shape);
    ck_assert_int_eq(info.space, IMGPAR_SPACE_DATA); /* though its last axis has three elements */
    ck_assert(info.white == 0);
    ck_assert_int_eq(info.depth, 12);
    ck_assert_int_eq(info.height, 2);
    ck_assert_int_eq(info.width, 5);
    ck_assert_int_eq(info.channels, 3);
    ck_assert_uint_eq(info.size_bytes, COUNT);
    ck_assert_int_eq(imgpar_array_read(back, out, sizeof out), IMGPAR_OK);
    ck_assert_mem_eq(in, out, sizeof in);
    ck_assert_int_ne(imgpar_encode(a, &as_png, &bytes, &size), IMGPAR_OK);
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "png holds [height, width, 1-4 channels]"));
    imgpar_array *bad = imgpar_array_from_data(b.ctx, IMGPAR_U8, 9, shape, in);
    ck_assert_str_eq(imgpar_array_message(bad), "data: rank=9 is not 1 to 8");
    imgpar_array_release(bad);
    imgpar_array_release(back);
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

/* By columns, as NumPy saves what it transposed. */
START_TEST(columns_of_six_axes_are_read)
{
    static const char dict[] = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 1, 2, 2, 3), }";
    enum { HEADER = 128, COUNT = 72 };
    unsigned char file[HEADER + COUNT], out[COUNT];
    nd_bench b;
    memset(file, ' ', HEADER);
    memcpy(file, "\x93NUMPY\1\0", 8);
    file[8] = HEADER - 10;
    file[9] = 0;
    memcpy(file + 10, dict, sizeof dict - 1);
    file[HEADER - 1] = '\n';
    for (int k = 0; k < COUNT; k++)
        file[HEADER + k] = (unsigned char)k;
    nd_open(&b);
    imgpar_array *a = imgpar_open_memory(b.ctx, file, sizeof file);
    ck_assert_msg(imgpar_array_read(a, out, sizeof out) == IMGPAR_OK, "%s", imgpar_array_message(a));
    for (int k = 0; k < COUNT; k++) {
        static const int shape[] = { 2, 3, 1, 2, 2, 3 };
        int rest = k, at = 0, by = COUNT;
        for (int axis = 5; axis >= 0; axis--) {
            by /= shape[axis];
            at += rest % shape[axis] * by;
            rest /= shape[axis];
        }
        ck_assert_int_eq(out[k], at);
    }
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

START_TEST(expressions_in_c_know_every_axis)
{
    static const int64_t shape[] = { 2, 3, 2, 4, 5 };
    enum { COUNT = 240 };
    int32_t out[COUNT];
    nd_bench b;
    nd_open(&b);
    imgpar_array *a = array_of(b.ctx, 5, shape);
    imgpar_map *m = imgpar_map_new(b.ctx);
    imgpar_x x = imgpar_x_array(m, a), sum = imgpar_x_whole(m, 0);
    for (int axis = 0; axis < 5; axis++)
        sum = imgpar_x_plus(imgpar_x_times(sum, imgpar_x_whole(m, 10)), imgpar_x_coord(x, axis - 5));
    imgpar_array *digits = imgpar_map_array(sum);
    ck_assert_msg(imgpar_array_read(digits, out, sizeof out) == IMGPAR_OK, "%s", imgpar_array_message(digits));
    for (int k = 0; k < COUNT; k++)
        ck_assert_int_eq(out[k], k / 120 * 10000 + k / 40 % 3 * 1000 + k / 20 % 2 * 100 + k / 5 % 4 * 10 + k % 5);
    imgpar_array *bad[] = {
        imgpar_map_array(imgpar_x_neighbour(x, (int[]){ 1 }, 1, IMGPAR_BORDER_WRAP)),
        imgpar_map_array(imgpar_x_taps(x, (int[]){ 1, 1, 1, 1 }, 4)),
    };
    for (int k = 0; k < N(bad); k++) {
        ck_assert_ptr_nonnull(strstr(imgpar_array_message(bad[k]), "4 axes"));
        imgpar_array_release(bad[k]);
    }
    imgpar_array_release(digits);
    imgpar_map_release(m);
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

/* The sum of the squares of differences from the mean along an axis that is folded: twice the differences. */
START_TEST(gradients_have_every_axis)
{
    static const int64_t shape[] = { 2, 3, 2, 2, 5 };
    enum { COUNT = 120, ALONG = 20 };
    float in[COUNT], out[COUNT];
    nd_bench b;
    nd_open(&b);
    for (int k = 0; k < COUNT; k++)
        in[k] = (float)(k * k % 31) / 8;
    imgpar_array *a = imgpar_array_from_data(b.ctx, IMGPAR_F32, 5, shape, in);
    imgpar_array *g = imgpar_apply(b.ctx, "a = $1\ngrad(sum((a - mean(a, axis=1, keepdims=true)) ** 2), a)", &a, 1);
    ck_assert_msg(imgpar_array_read(g, out, sizeof out) == IMGPAR_OK, "%s", imgpar_array_message(g));
    for (int k = 0; k < COUNT; k++) {
        const int first = k / (3 * ALONG) * 3 * ALONG + k % ALONG;
        const float mean = (in[first] + in[first + ALONG] + in[first + 2 * ALONG]) / 3;
        ck_assert_float_eq_tol(out[k], 2 * (in[k] - mean), 1e-5);
    }
    imgpar_array_release(g);
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("many axes");
    TCase *tcase = tcase_create("arrays of five to eight axes");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, elements_are_where_loops_put_them, 0, N(schedules));
    tcase_add_loop_test(tcase, elements_meet_and_fold_as_loops_have_it, 0, N(schedules));
    tcase_add_test(tcase, many_axes_cost_what_four_do);
    tcase_add_test(tcase, rows_about_pictures_refuse_more_than_four_axes);
    tcase_add_test(tcase, what_is_of_four_axes_says_so);
    tcase_add_loop_test(tcase, batches_of_three_axes_are_as_batches_of_one, 0, 2);
    tcase_add_test(tcase, determinants_of_many_axes_are_what_cofactors_give);
    tcase_add_loop_test(tcase, empty_arrays_of_many_axes_have_their_shape, 0, 2);
    tcase_add_test(tcase, arrays_of_eight_axes_go_in_and_out);
    tcase_add_test(tcase, columns_of_six_axes_are_read);
    tcase_add_test(tcase, expressions_in_c_know_every_axis);
    tcase_add_test(tcase, gradients_have_every_axis);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
