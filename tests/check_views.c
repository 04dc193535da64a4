/* SPDX-License-Identifier: MIT */
/*
 * Views move elements as NumPy does, on ranks 1 to 4 (of more: check_many_axes.c) and in every schedule; a chain of
 * them is one kernel; and some of them undo each other.
 */
#include "nd.h"

#include "base/dtype.h"
#include "asserts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(name, ...) \
    static real name(const nd *in, const int64_t *i) { return (void)i, nd_at(&in[0], __VA_ARGS__); }

/* The element that stands at that place in row-major order. */
static real in_order(const nd *a, int64_t at) { return a->v[at]; }
static int64_t wrapped(int64_t i, int64_t n) { return (i % n + n) % n; }
static int64_t mirrored(int64_t i, int64_t n) { return i = wrapped(i, 2 * n), i < n ? i : 2 * n - 1 - i; }
static int64_t mirrored101(int64_t i, int64_t n) { return i = wrapped(i, 2 * n - 2), i < n ? i : 2 * n - 2 - i; }

AT(at_same, i[0], i[1], i[2], i[3])
AT(at_3_by_4, 3 + 4 * i[0], 0, 0, 0)
AT(at_end_backwards, 23 - i[0], 0, 0, 0)
AT(at_21_by_minus_2, 21 - 2 * i[0], 0, 0, 0)
AT(at_cut, 1 + i[0], 5 + i[1], 0, 0)
AT(at_three_steps, 2 * i[0], 5 - 2 * i[1], 2 + 3 * i[2], 0)
AT(at_last_1, i[0], i[1], 1 + i[2], 0)
AT(at_third_1, i[0], i[1], 1 + i[2], i[3])
AT(at_turned, i[1], i[0], 0, 0)
AT(at_201, i[1], i[2], i[0], 0)
AT(at_210, i[2], i[1], i[0], 0)
AT(at_3102, i[2], i[1], i[3], i[0])
AT(at_reversed, 1 - i[0], 2 - i[1], 3 - i[2], 4 - i[3])
AT(at_channels_reversed, i[0], i[1], 2 - i[2], 0)
AT(at_only, 0, 0, 0, 0)
AT(at_row_0, 0, i[2], 0, 0)
AT(at_behind_first, i[1], i[2], 0, 0)
AT(at_third_of, i[0] / 3, 0, 0, 0)
AT(at_half_channel, i[0], i[1], i[2] / 2, 0)
AT(at_tiled, i[0] % 6, i[1] % 8, 0, 0)
AT(at_tiled_channels, i[0], i[1], i[2] % 3, 0)
AT(at_centred, wrapped(i[0] - 3, 6), wrapped(i[1] - 4, 8), 0, 0)
AT(at_centred_5, wrapped(i[0] - 2, 5), wrapped(i[1] - 3, 7), i[2], 0)
AT(at_centred_planes, i[0], wrapped(i[1] - 3, 6), wrapped(i[2] - 4, 9), 0)
AT(at_rolled, wrapped(i[0] - 3, 6), wrapped(i[1] + 2, 8), 0, 0)
AT(at_rolled_4, wrapped(i[0] - 1, 2), i[1], wrapped(i[2] + 1, 4), wrapped(i[3] - 7, 5))
AT(at_reflected, mirrored(i[0] - 9, 6), mirrored(i[1] - 9, 8), 0, 0)
AT(at_reflected101, mirrored101(i[0] - 2, 4), mirrored101(i[1] - 3, 6), mirrored101(i[2] - 1, 3), 0)
AT(at_wrapped, wrapped(i[0] - 1, 2), wrapped(i[1] - 1, 3), wrapped(i[2] - 1, 4), wrapped(i[3] - 2, 5))
AT(at_edge, i[0] < 5 ? 0 : i[0] < 29 ? i[0] - 5 : 23, 0, 0, 0)
AT(at_down_2, 2 + i[0], i[0], 0, 0)
AT(at_right_3, i[0], 3 + i[0], 0, 0)
AT(at_plain, wrapped(i[0] - 1, 6), wrapped(i[1] - 1, 8), 0, 0)

static real at_order_4(const nd *in, const int64_t *i)
{
    return in_order(in, (i[0] * 4 + i[1]) * 3 * 2 + i[2] * 2 + i[3]);
}
static real at_order_3(const nd *in, const int64_t *i) { return in_order(in, (i[0] * 3 + i[1]) * 8 + i[2]); }
static real at_order_2(const nd *in, const int64_t *i) { return in_order(in, i[0] * 12 + i[1]); }
static real at_order_27(const nd *in, const int64_t *i) { return in_order(in, i[0] * 27 + i[1]); }
static real at_order_9(const nd *in, const int64_t *i) { return in_order(in, i[0] * 9 + i[1]); }
static real at_order_1(const nd *in, const int64_t *i) { return in_order(in, i[0]); }

static real at_padded(const nd *in, const int64_t *i)
{
    bool inside = i[0] >= 1 && i[0] < 7 && i[1] >= 2 && i[1] < 10;
    return inside ? nd_at(in, i[0] - 1, i[1] - 2, 0, 0) : 0;
}
static real at_padded_7(const nd *in, const int64_t *i)
{
    bool inside = i[0] >= 1 && i[1] >= 2 && i[1] < 10;
    return inside ? nd_at(in, i[0] - 1, i[1] - 2, 0, 0) : 1;
}
static real at_skewed(const nd *in, const int64_t *i)
{
    return i[1] >= i[0] && i[1] - i[0] < 8 ? nd_at(in, i[0], i[1] - i[0], 0, 0) : 0;
}
static real at_skewed_left(const nd *in, const int64_t *i)
{
    int64_t from = i[1] - 2 * (3 - i[0]);
    return from >= 0 && from < 6 ? nd_at(in, i[0], from, i[2], 0) : 0;
}
static real at_itself(const nd *in, const int64_t *i) { return nd_at(in, i[0], i[1], i[2], 0); }
static real at_stacked(const nd *in, const int64_t *i) { return nd_at(&in[i[0] >= 6], i[0] % 6, i[1], 0, 0); }
static real at_joined(const nd *in, const int64_t *i)
{
    return i[2] < 9 ? nd_at(&in[0], i[0], i[1], i[2], 0) : nd_at(&in[1], i[0], i[1], i[2] - 9, 0);
}
static real at_joined_channels(const nd *in, const int64_t *i)
{
    return i[2] < 3 ? nd_at(&in[0], i[0], i[1], i[2], 0) : nd_at(&in[1], i[0], i[1], i[2] - 3, 0);
}
static real at_diagonal(const nd *in, const int64_t *i) { return i[0] == i[1] ? in->v[i[0]] : 0; }
static real at_diagonal_2(const nd *in, const int64_t *i) { return i[0] + 2 == i[1] ? in->v[i[0]] : 0; }
static real at_blocks(const nd *in, const int64_t *i) /* 2x2 blocks of 6x8 as rows of 4 */
{
    int64_t block = i[0] / 1, y = block / 4 * 2 + i[1] / 2, x = block % 4 * 2 + i[1] % 2;
    return nd_at(in, y, x, 0, 0);
}
static real at_mess(const nd *in, const int64_t *i) /* [roll; tile] backwards */
{
    int64_t y = 17 - i[0], x = 7 - i[1];
    return y < 6 ? nd_at(in, wrapped(y - 1, 6), x, 0, 0) : nd_at(in, (y - 6) % 6, x, 0, 0);
}

static const nd_case cases[] = {
    { "slice", "slice($1, 3, 20, 4)", { 1 }, { { 24 } }, 1, { 5 }, at_3_by_4, 0, NULL },
    { "slice", "slice($1, step=-1)", { 1 }, { { 24 } }, 1, { 24 }, at_end_backwards, 0, NULL },
    { "slice", "slice($1, -3, -100, -2)", { 1 }, { { 24 } }, 1, { 11 }, at_21_by_minus_2, 0, NULL },
    { "slice", "slice($1, [1 -3], [-1 99])", { 2 }, { { 6, 8 } }, 2, { 4, 3 }, at_cut, 0, NULL },
    { "slice",
      "slice($1, [0 5 2], [4 0 9], [2 -2 3])",
      { 3 },
      { { 4, 6, 9 } },
      3,
      { 2, 3, 3 },
      at_three_steps,
      0,
      NULL },
    { "slice", "slice($1, 1, 2, axis=-1)", { 3 }, { { 4, 6, 9 } }, 3, { 4, 6, 1 }, at_last_1, 0, NULL },
    { "slice", "slice($1, 1, 3, axis=2)", { 4 }, { { 2, 3, 4, 5 } }, 4, { 2, 3, 2, 5 }, at_third_1, 0, NULL },
    { "slice", "slice($1, 5, 2)", { 2 }, { { 6, 8 } }, 2, { 0, 8 }, at_same, 0, NULL },
    { "reshape", "reshape($1, [48])", { 2 }, { { 6, 8 } }, 1, { 48 }, at_order_1, 0, NULL },
    { "reshape", "reshape($1, [4 -1])", { 2 }, { { 6, 8 } }, 2, { 4, 12 }, at_order_2, 0, NULL },
    { "reshape", "reshape($1, [2 3 8])", { 2 }, { { 6, 8 } }, 3, { 2, 3, 8 }, at_order_3, 0, NULL },
    { "reshape", "reshape($1, [2 4 3 2])", { 2 }, { { 6, 8 } }, 4, { 2, 4, 3, 2 }, at_order_4, 0, NULL },
    { "reshape", "reshape($1, [8 27])", { 3 }, { { 4, 6, 9 } }, 2, { 8, 27 }, at_order_27, 0, NULL },
    { "reshape", "reshape($1, [24 9])", { 3 }, { { 4, 6, 9 } }, 2, { 24, 9 }, at_order_9, 0, NULL },
    { "squeeze", "squeeze(expand_dims($1, 1))", { 2 }, { { 6, 8 } }, 2, { 6, 8 }, at_same, 0, NULL },
    { "squeeze", "squeeze($1)", { 3 }, { { 1, 1, 1 } }, 1, { 1 }, at_only, 0, NULL },
    { "expand_dims", "expand_dims($1, 0)", { 2 }, { { 6, 8 } }, 3, { 1, 6, 8 }, at_behind_first, 0, NULL },
    { "expand_dims", "expand_dims($1, -1)", { 3 }, { { 4, 6, 9 } }, 4, { 4, 6, 9, 1 }, at_same, 0, NULL },
    { "permute", "permute($1, [1 0])", { 2 }, { { 6, 8 } }, 2, { 8, 6 }, at_turned, 0, NULL },
    { "permute", "permute($1, [2 0 1])", { 3 }, { { 4, 6, 9 } }, 3, { 9, 4, 6 }, at_201, 0, NULL },
    { "permute", "permute($1, [2 1 0])", { 3 }, { { 4, 6, 3 } }, 3, { 3, 6, 4 }, at_210, 0, NULL },
    { "permute", "permute($1, [3 1 0 2])", { 4 }, { { 2, 3, 4, 5 } }, 4, { 5, 3, 2, 4 }, at_3102, 0, NULL },
    { "reverse", "reverse($1)", { 4 }, { { 2, 3, 4, 5 } }, 4, { 2, 3, 4, 5 }, at_reversed, 0, NULL },
    { "reverse", "reverse($1, -1)", { 3 }, { { 4, 6, 3 } }, 3, { 4, 6, 3 }, at_channels_reversed, 0, NULL },
    { "broadcast", "broadcast($1, [3 4])", { 1 }, { { 1 } }, 2, { 3, 4 }, at_only, 0, NULL },
    { "broadcast", "broadcast(slice($1, 0, 1), [2 6 8])", { 2 }, { { 6, 8 } }, 3, { 2, 6, 8 }, at_row_0, 0, NULL },
    { "broadcast", "broadcast($1, [3 6 8])", { 2 }, { { 6, 8 } }, 3, { 3, 6, 8 }, at_behind_first, 0, NULL },
    { "repeat", "repeat($1, 3)", { 1 }, { { 24 } }, 1, { 72 }, at_third_of, 0, NULL },
    { "repeat", "repeat($1, 2, axis=-1)", { 3 }, { { 4, 6, 9 } }, 3, { 4, 6, 18 }, at_half_channel, 0, NULL },
    { "tile", "tile($1, [2 3])", { 2 }, { { 6, 8 } }, 2, { 12, 24 }, at_tiled, 0, NULL },
    { "tile", "tile($1, [1 1 2])", { 3 }, { { 4, 6, 3 } }, 3, { 4, 6, 6 }, at_tiled_channels, 0, NULL },
    { "circshift", "circshift($1, [3 -2])", { 2 }, { { 6, 8 } }, 2, { 6, 8 }, at_rolled, 0, NULL },
    { "circshift",
      "circshift($1, [6000000000000003 -8000000000000002])",
      { 2 },
      { { 6, 8 } },
      2,
      { 6, 8 },
      at_rolled,
      0,
      NULL },
    { "circshift", "roll($1, [1 0 -1 7])", { 4 }, { { 2, 3, 4, 5 } }, 4, { 2, 3, 4, 5 }, at_rolled_4, 0, NULL },
    { "fftshift", "fftshift($1)", { 2 }, { { 6, 8 } }, 2, { 6, 8 }, at_centred, 0, NULL },
    { "fftshift", "fftshift($1)", { 3 }, { { 5, 7, 3 } }, 3, { 5, 7, 3 }, at_centred_5, 0, NULL },
    { "fftshift", "fftshift($1)", { 3 }, { { 4, 6, 9 } }, 3, { 4, 6, 9 }, at_centred_planes, 0, NULL },
    { "ifftshift", "ifftshift(fftshift($1))", { 3 }, { { 5, 7, 3 } }, 3, { 5, 7, 3 }, at_same, 0, NULL },
    { "ifftshift", "ifftshift(fftshift($1))", { 1 }, { { 9 } }, 1, { 9 }, at_same, 0, NULL },
    { "pad", "pad($1, [1 2])", { 2 }, { { 6, 8 } }, 2, { 8, 12 }, at_padded, 0, NULL },
    { "pad", "pad($1, [1 2], [0 3], cval=1)", { 2 }, { { 6, 8 } }, 2, { 7, 13 }, at_padded_7, 0, NULL },
    { "pad", "pad($1, [9 9], border=reflect)", { 2 }, { { 6, 8 } }, 2, { 24, 26 }, at_reflected, 0, NULL },
    { "pad", "pad($1, [2 3 1], border=reflect101)", { 3 }, { { 4, 6, 3 } }, 3, { 8, 12, 5 }, at_reflected101, 0, NULL },
    { "pad", "pad($1, [1 1 1 2], border=wrap)", { 4 }, { { 2, 3, 4, 5 } }, 4, { 4, 5, 6, 9 }, at_wrapped, 0, NULL },
    { "pad", "pad($1, 5, border=replicate)", { 1 }, { { 24 } }, 1, { 34 }, at_edge, 0, NULL },
    { "skew", "skew($1)", { 2 }, { { 6, 8 } }, 2, { 6, 13 }, at_skewed, 0, NULL },
    { "skew", "skew($1, -2)", { 3 }, { { 4, 6, 3 } }, 3, { 4, 12, 3 }, at_skewed_left, 0, NULL },
    { "skew",
      "slice(skew(skew($1, -2), 2), 6, 12, axis=1)",
      { 3 },
      { { 4, 6, 3 } },
      3,
      { 4, 6, 3 },
      at_itself,
      0,
      NULL },
    { "concatenate", "concatenate($1, $2)", { 2, 2 }, { { 6, 8 }, { 6, 8 } }, 2, { 12, 8 }, at_stacked, 0, NULL },
    { "concatenate",
      "concat($1, $2, axis=2)",
      { 3, 3 },
      { { 4, 6, 9 }, { 4, 6, 2 } },
      3,
      { 4, 6, 11 },
      at_joined,
      0,
      NULL },
    { "concatenate",
      "concat($1, $2, axis=-1)",
      { 3, 3 },
      { { 4, 6, 3 }, { 4, 6, 1 } },
      3,
      { 4, 6, 4 },
      at_joined_channels,
      0,
      NULL },
    { "diag", "diag($1)", { 1 }, { { 24 } }, 2, { 24, 24 }, at_diagonal, 0, NULL },
    { "diag", "diag($1, 2)", { 1 }, { { 3 } }, 2, { 5, 5 }, at_diagonal_2, 0, NULL },
    { "diag", "diag($1, -2)", { 2 }, { { 6, 8 } }, 1, { 4 }, at_down_2, 0, NULL },
    { "diag", "diag($1, 3)", { 2 }, { { 6, 8 } }, 1, { 5 }, at_right_3, 0, NULL },
    { "diag", "diag($1, 99)", { 2 }, { { 6, 8 } }, 1, { 0 }, at_same, 0, NULL },
    /* chains, and views that undo each other */
    { "permute",
      "reshape(permute(reshape($1, [3 2 4 2]), [0 2 1 3]), [12 4])",
      { 2 },
      { { 6, 8 } },
      2,
      { 12, 4 },
      at_blocks,
      0,
      NULL },
    { "permute",
      "permute(permute($1, [3 1 0 2]), [2 1 3 0])",
      { 4 },
      { { 2, 3, 4, 5 } },
      4,
      { 2, 3, 4, 5 },
      at_same,
      0,
      NULL },
    { "reshape",
      "reshape(reshape($1, [6 20]), [2 3 4 5])",
      { 4 },
      { { 2, 3, 4, 5 } },
      4,
      { 2, 3, 4, 5 },
      at_same,
      0,
      NULL },
    { "reverse", "reverse(reverse($1))", { 3 }, { { 4, 6, 9 } }, 3, { 4, 6, 9 }, at_same, 0, NULL },
    { "circshift", "circshift(circshift($1, [5 1]), [-5 -1])", { 2 }, { { 6, 8 } }, 2, { 6, 8 }, at_same, 0, NULL },
    { "slice",
      "slice(pad($1, [2 2], border=wrap), [1 1], [9 11])",
      { 2 },
      { { 6, 8 } },
      2,
      { 8, 10 },
      at_plain,
      0,
      NULL },
    { "concatenate",
      "reverse(concatenate(circshift($1, [1]), tile($1, [2 1])))",
      { 2 },
      { { 6, 8 } },
      2,
      { 18, 8 },
      at_mess,
      0,
      NULL },
};
enum { N_CASES = sizeof cases / sizeof *cases };

START_TEST(every_view_has_a_case) { nd_check_complete("array", cases, N_CASES, ""); }
END_TEST

START_TEST(views_of_every_dtype_move_elements_as_numpy_does)
{
    nd_bench b;
    nd_open(&b);
    for (int d = 0; d < IP_N_REAL_DTYPES; d++)
        nd_check(&b, cases, N_CASES, (imgpar_dtype)d, FILL_WILD, "ref");
    nd_close(&b);
}
END_TEST

START_TEST(views_are_the_same_in_every_schedule)
{
    static const struct {
        imgpar_dtype dtype;
        const char *schedule;
    } ways[] = {
        { IMGPAR_F32, "auto" },
        { IMGPAR_F32, "pixels" },
        { IMGPAR_F16, "auto" },
        { IMGPAR_I64, "auto" },
    };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < (b.is_full ? sizeof ways / sizeof *ways : 2) && b.has_device; k++)
        nd_check(&b, cases, N_CASES, ways[k].dtype, FILL_WILD, ways[k].schedule);
    nd_close(&b);
}
END_TEST

/* text with an expression in place of $1, inside a function. */
static char *complex_text(const char *function, const char *first, const char *text)
{
    char *out = calloc(400, 1), *at = out;
    ck_assert(out && strlen(text) < 300);
    at += sprintf(at, "%s(", function);
    for (; *text; text++) {
        bool is_first = text[0] == '$' && text[1] == '1';
        at += is_first ? sprintf(at, "%s", first) : sprintf(at, "%c", *text);
        text += is_first;
    }
    sprintf(at, ")");
    return out;
}

static imgpar_dtype becomes_f32(imgpar_dtype in) { return (void)in, IMGPAR_F32; }

/* Each part of a view of complex numbers is the view of that part; a constant beyond the edges is real. */
START_TEST(views_move_both_parts_of_complex_numbers)
{
    static const struct {
        const char *function, *first;
    } parts[] = {
        { "real", "complex($1, $1 * 2 + 1)" },
        { "imag", "complex($1 + 1, $1)" },
    };
    nd_bench b;
    nd_open(&b);
    for (int part = 0; part < 2; part++) {
        nd_case complex[N_CASES];
        bool is_on_device[N_CASES]; /* in the quick tier a view is one of either part */
        int n = 0;
        for (int k = 0; k < N_CASES; k++) {
            bool is_real = strstr(cases[k].text, "cval") || cases[k].rank[1]; /* what is outside, or $2 */
            if (part == 1 && is_real) continue;
            is_on_device[n] = b.is_full || is_real || k % 2 == part;
            complex[n] = cases[k];
            complex[n].dtype = becomes_f32;
            complex[n++].text = complex_text(parts[part].function, parts[part].first, cases[k].text);
        }
        nd_check(&b, complex, n, IMGPAR_F32, FILL_LEVELS, "ref");
        /* One by one, since of several nd_check() leaves half to the full tier. */
        for (int k = 0; k < n && b.has_device; k++)
            if (is_on_device[k]) nd_check(&b, &complex[k], 1, IMGPAR_F32, FILL_LEVELS, part ? "pixels" : "auto");
        for (int k = 0; k < n; k++)
            free((char *)complex[k].text);
    }
    nd_close(&b);
}
END_TEST

START_TEST(a_chain_of_views_is_one_kernel)
{
    static const char *const chains[] = {
        "reverse(permute(slice($1, 1, -1), [2 0 1]))",
        "reshape(permute(reshape($1, [3 2 4 2 ]), [0 2 1 3]), [12 4])",
        "pad(pad(pad($1, [1 2]), [2 1], border=reflect), [3 3], border=wrap)",
        "concatenate(concatenate(reverse($1), tile($1, [2 1])), circshift(repeat($1, 2), [1 1]))",
        "slice(circshift(pad(reshape(permute($1, [1 0]), [-1]), [5], border=wrap), [3]), 1, 20, 3) * 2 + 1",
        "sum(pad(reshape(concatenate($1, reverse($1)), [-1]), [5], border=wrap))",
        "diag(reshape(slice(broadcast(expand_dims($1, 0), [3 6 8]), 1, 2), [6 8]), 1)",
    };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof chains / sizeof *chains; k++) {
        nd a = nd_new(IMGPAR_F32, k == 0 ? 3 : 2, k == 0 ? (int64_t[]){ 6, 8, 9 } : (int64_t[]){ 6, 8 }, FILL_ANY, 1);
        imgpar_array *array = nd_array(b.ctx, &a);
        int n = b.is_cpu ? nd_kernels(&b, chains[k], &array, 1) : 1;
        ck_assert_msg(n == 1, "%s: %d kernels", chains[k], n);
        imgpar_array_release(array);
        nd_free(&a);
    }
    nd_close(&b);
}
END_TEST

START_TEST(a_view_fuses_with_what_reads_it_and_what_it_reads)
{
    static const struct {
        const char *text;
        int n_kernels;
    } claims[] = {
        { "boxblur(reverse($1))", 1 },
        { "circshift($1 * 2 + 1, [1 2]) - $1", 1 },
        { "mean(permute($1, [1 0]))", 1 },
        { "squeeze(expand_dims(boxblur($1), -1)) + 1", 1 },
        { "reverse(boxblur($1))", 2 },
        { "zip($1, $1 + 1, $1 * 2) * 3", 1 },
        { "p = zip(r=$1, g=boxblur($1))\np.g - p.r", 1 },
        { "sum(zip($1, $1 + 1), axis=-1)", 1 },
        { "reshape($1 + 1, [41 53]) - $1", 1 },
        { "squeeze(reshape($1, [1 41 53]))", 0 },
        /* each of its inputs, and the scatter: what is only reshaped is no kernel of its own */
        { "scatter_add(zeros([9]), reshape(cumsum(cast($1, i32), axis=0), [-1]), ones([1]))", 4 },
        { "group_sum(cumsum(cast($1, f32), axis=0), cumsum(cast($1, i32), axis=1), 9)", 4 },
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 2, (int64_t[]){ 41, 53 }, FILL_ANY, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof claims / sizeof *claims && b.is_cpu; k++) {
        int n = nd_kernels(&b, claims[k].text, &array, 1);
        ck_assert_msg(n == claims[k].n_kernels, "%s: %d kernels", claims[k].text, n);
    }
    imgpar_array_release(array);
    nd_free(&a);
    nd_close(&b);
}
END_TEST

/* Extents, offsets and steps are arguments: they cost no program. */
START_TEST(other_shapes_and_bounds_cost_no_program)
{
    nd_bench b;
    imgpar_counters counters = { .struct_size = sizeof counters };
    uint64_t first = 0;
    nd_open(&b);
    for (int k = 0; k < 4; k++) {
        nd a = nd_new(IMGPAR_F32, 2, (int64_t[]){ 20 + k, 30 + 2 * k }, FILL_ANY, 1);
        imgpar_array *array = nd_array(b.ctx, &a);
        static const char *const texts[] = {
            "reshape(slice($1, [2 3], [-2 -3], [2 3]), [-1])",
            "reshape(slice($1, [3 4], [-1 -4], [3 2]), [-1])",
        };
        imgpar_array *view = imgpar_apply(b.ctx, texts[k % 2], &array, 1);
        ck_assert_msg(imgpar_array_eval(view, NULL) == IMGPAR_OK, "%s", imgpar_array_message(view));
        imgpar_context_counters(b.ctx, &counters);
        if (k == 0) first = counters.programs_built + counters.programs_loaded;
        ck_assert_uint_eq(counters.programs_built + counters.programs_loaded, first);
        imgpar_array_release(view);
        imgpar_array_release(array);
        nd_free(&a);
    }
    nd_close(&b);
}
END_TEST

/* The last columns of arrays with nearly 2^31 elements, none of which is ever made: quotients are exact to the end. */
START_TEST(positions_are_exact_up_to_the_last_element)
{
    static const int64_t shapes[][2] = { { 43000, 49919 },  { 3, 715827882 }, { 65535, 32767 },
                                         { 1073741823, 2 }, { 32768, 65535 }, { 46341, 46340 } };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes && b.is_cpu; k++) {
        char text[200];
        int32_t v[5];
        int64_t h = shapes[k][0], w = shapes[k][1];
        snprintf(text, sizeof text, "v = indices([%d %d], 0)\nu = indices([%d %d], 1)\nslice(reshape(v ^ u, [-1]), -5)",
                 (int)h, (int)w, (int)h, (int)w);
        imgpar_array *a = imgpar_apply(b.ctx, text, NULL, 0);
        ck_assert_msg(imgpar_array_read(a, v, sizeof v) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
        for (int i = 0; i < 5; i++) {
            int64_t at = h * w - 5 + i;
            ck_assert_msg(v[i] == ((at / w) ^ (at % w)), "%dx%d: element %d from the end", (int)h, (int)w, 5 - i);
        }
        imgpar_array_release(a);
    }
    nd_close(&b);
}
END_TEST

START_TEST(what_fits_no_shape_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "reshape($1, [5 -1])", "reshape: the 48 elements of [6, 8] do not fill that shape" },
        { "reshape($1, [-1 -1])", "reshape: shape has -1 more than once" },
        { "reshape($1, [1 1 1 1 1 1 1 1 48])", "reshape: shape has 9 elements; there are up to 8 axes" },
        { "slice($1, step=0)", "slice: step must not be 0" },
        { "slice($1, [0 0], [2 2], [1 0])", "slice: step must not be 0" },
        { "slice($1, 0.5)", "slice: from=0.5 is not a whole number" },
        { "slice($1, [0 0.5])", "slice: from has 0.5, which is not a whole number" },
        { "slice($1, 1, axis=2)", "slice: there is no axis 2; a has 2 axes: [6, 8]" },
        { "permute($1, [0 0])", "permute: axis 0 is named twice" },
        { "permute($1, [1])", "permute: axes names 1 axis of 2" },
        { "squeeze($1, 0)", "squeeze: axis 0 has 6 elements, not 1" },
        { "broadcast($1, [6 9])", "broadcast: an array of shape [6, 8] does not spread to [6, 9]" },
        { "pad($1, [-1])", "pad: before has -1, which is below 0" },
        { "concatenate($1, slice($1, 0, 2, axis=1))",
          "concatenate: a is [6, 8], b is [6, 2]; they may differ along axis 0 only" },
        { "repeat(repeat($1, 1000000), 1000000)", "repeat: an extent of 6000000000000 is not 0 to 2147483647" },
        { "diag(expand_dims($1, 0))", "diag: a has 3 axes; it must be a vector or a matrix" },
    };
    nd_bench b;
    nd_open(&b);
    nd a = nd_new(IMGPAR_U8, 2, (int64_t[]){ 6, 8 }, FILL_ANY, 1);
    imgpar_array *array = nd_array(b.ctx, &a);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(b.ctx, refusals[k].text, &array, 1);
        ck_assert_msg(imgpar_array_status(bad) != IMGPAR_OK, "%s is taken", refusals[k].text);
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
    Suite *suite = suite_create("views");
    TCase *c = tcase_create("views");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, every_view_has_a_case);
    tcase_add_test(c, views_of_every_dtype_move_elements_as_numpy_does);
    tcase_add_test(c, views_are_the_same_in_every_schedule);
    tcase_add_test(c, views_move_both_parts_of_complex_numbers);
    tcase_add_test(c, a_chain_of_views_is_one_kernel);
    tcase_add_test(c, a_view_fuses_with_what_reads_it_and_what_it_reads);
    tcase_add_test(c, other_shapes_and_bounds_cost_no_program);
    tcase_add_test(c, positions_are_exact_up_to_the_last_element);
    tcase_add_test(c, what_fits_no_shape_is_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
