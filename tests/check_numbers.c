/* SPDX-License-Identifier: MIT */
/*
 * Numbers as the manual has them: result types of operators, broadcasting, values that loops carry, NaN as a parameter.
 * What is expected is worked out here, in C's own types.
 */
#include "asserts.h"
#include "held.h"

#include <imgpar.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static imgpar_context *ways[2]; /* the best device, and the interpreter */
static const char *const selectors[] = { NULL, "ref" };

static void set_up(void)
{
    hold_driver();
    for (int way = 0; way < 2; way++)
        ck_assert_int_eq(imgpar_context_new(selectors[way], &ways[way]), IMGPAR_OK);
}

static void tear_down(void)
{
    for (int way = 0; way < 2; way++)
        imgpar_context_release(ways[way]);
}

/* ---- quotients --------------------------------------------------------------------------------- */

enum { N_DIVIDED = 96 };
static const struct {
    imgpar_dtype dtype;
    const char *name;
    int64_t least, most;
} divided[] = {
    { IMGPAR_I32, "i32", INT32_MIN, INT32_MAX }, { IMGPAR_U8, "u8", 0, UINT8_MAX },
    { IMGPAR_U16, "u16", 0, UINT16_MAX },        { IMGPAR_I16, "i16", INT16_MIN, INT16_MAX },
    { IMGPAR_U32, "u32", 0, UINT32_MAX },        { IMGPAR_I64, "i64", INT64_MIN, INT64_MAX },
};

/* Those at the ends of the range, around 0 and next to multiples of d, where quotients change, and others. */
static int64_t dividend(int64_t least, int64_t most, int64_t d, int k)
{
    static unsigned state = 7;
    state = state * 1664525u + 1013904223u;
    const int64_t size = most / 2 / d == 0 ? 1 : most / 2 / d, near = k % 3 - 1;
    const int64_t multiple = (int64_t)((uint64_t)state * 2654435761u % (uint64_t)size) * d;
    const int64_t v = k < 8    ? least + k
                      : k < 16 ? most - (k - 8)
                      : k < 32 ? k - 24
                      : k % 2  ? multiple + near
                               : near - multiple;
    return v < least ? least : v > most ? most : v;
}

static int64_t floor_mod(int64_t a, int64_t b) { return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b; }
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

static void check_quotients(imgpar_context *ctx, int t, int64_t d)
{
    static const char *const signs[] = { "div", "%" };
    int64_t v[N_DIVIDED], got[N_DIVIDED];
    for (int k = 0; k < N_DIVIDED; k++)
        v[k] = dividend(divided[t].least, divided[t].most, d < 0 ? -d : d, k);
    for (int sign = 0; sign < 2; sign++) {
        char text[96];
        imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_I64, 1, (const int64_t[]){ N_DIVIDED }, v);
        snprintf(text, sizeof text, "cast(cast($1, %s) %s %lld, i64)", divided[t].name, signs[sign], (long long)d);
        imgpar_array *out = imgpar_apply(ctx, text, &a, 1);
        ck_assert_msg(imgpar_array_read(out, got, sizeof got) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(out));
        for (int k = 0; k < N_DIVIDED; k++) {
            const int64_t want = sign ? floor_mod(v[k], d) : floor_div(v[k], d);
            ck_assert_msg(got[k] == want, "%s of %lld: %lld, not %lld", text, (long long)v[k], (long long)got[k],
                          (long long)want);
        }
        imgpar_array_release(out);
        imgpar_array_release(a);
    }
}

/* On the device a divisor of each class, since it builds a program for each; on the interpreter many. */
START_TEST(quotients_by_literals_floor_and_are_exact) /* _i: the dtype */
{
    static const int64_t divisors[] = { 1,
                                        2,
                                        3,
                                        5,
                                        6,
                                        7,
                                        8,
                                        9,
                                        10,
                                        25,
                                        100,
                                        127,
                                        128,
                                        129,
                                        200,
                                        253,
                                        254,
                                        255,
                                        256,
                                        257,
                                        641,
                                        1000,
                                        -2,
                                        -3,
                                        -8,
                                        -1000,
                                        32767,
                                        32768,
                                        32769,
                                        65535,
                                        65536,
                                        65537,
                                        1000003,
                                        16777216,
                                        1 << 30,
                                        (1 << 30) + 1,
                                        INT32_MAX - 1,
                                        INT32_MAX };
    static const int64_t few[] = { 7, 8, 1001 };
    for (size_t k = 0; k < sizeof divisors / sizeof *divisors; k++)
        if (divisors[k] >= divided[_i].least && divisors[k] <= divided[_i].most)
            check_quotients(ways[1], _i, divisors[k]);
    for (size_t k = 0; k < sizeof few / sizeof *few && _i < 2; k++)
        if (few[k] <= divided[_i].most) check_quotients(ways[0], _i, few[k]);
}
END_TEST

/* Sums of shorts that have more than 16 bits, by numbers that leave 16: at both ends of the range and between. */
START_TEST(means_of_shorts_are_exact) /* _i: the row */
{
    enum { N = 4096, TERMS = 4 };
    static const struct {
        const char *text;
        int n, start, d;
    } rows[] = {
        { "cast((cast($1, i32) + $2) div 3, u16)", 2, 0, 3 },
        { "cast((cast($1, i32) + $2 + $3) div 3, u16)", 3, 0, 3 },
        { "cast(($1 + $2 + $3 + 1) div 3, u16)", 3, 1, 3 },
        { "cast(($1 + $2 + $3 + $4 + 2) div 5, u16)", 4, 2, 5 },
        { "cast(($1 + $2 + $3 + $4) div 77, u16)", 4, 0, 77 },
        { "cast(($1 + $2 + $3 + $4) div 1001, u16)", 4, 0, 1001 }, /* too large for 16 bits */
    };
    uint16_t v[TERMS][N], got[N];
    imgpar_array *in[TERMS];
    unsigned state = 1;
    for (int t = 0; t < TERMS; t++) {
        for (int k = 0; k < N; k++) {
            state = state * 1664525u + 1013904223u;
            const int any = (int)(state >> 16), near = (int)(state >> 28) % 4;
            v[t][k] = (uint16_t)(k % 3 == 0 ? any : k % 3 == 1 ? UINT16_MAX - near : near);
        }
        in[t] = imgpar_array_from_data(ways[0], IMGPAR_U16, 1, (const int64_t[]){ N }, v[t]);
    }
    imgpar_array *out = imgpar_apply(ways[0], rows[_i].text, in, TERMS);
    ck_assert_msg(imgpar_array_read(out, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(out));
    for (int k = 0; k < N; k++) {
        int sum = rows[_i].start;
        for (int t = 0; t < rows[_i].n; t++)
            sum += v[t][k];
        ck_assert_msg(got[k] == sum / rows[_i].d, "%s: %d, not %d", rows[_i].text, got[k], sum / rows[_i].d);
    }
    imgpar_array_release(out);
    for (int t = 0; t < TERMS; t++)
        imgpar_array_release(in[t]);
}
END_TEST

/* A program divides by floats what has 21 bits: each number that has, around multiples and far from them. */
START_TEST(every_number_of_21_bits_is_divided_exactly)
{
    enum { N = 1 << 21 };
    static const int divisors[] = { 3, 7, 25, 33, 641, 65535, 65537, N - 2, N - 1, N + 1, 2000000000 };
    int32_t *v = malloc(N * sizeof *v), *got = malloc(N * sizeof *got);
    ck_assert(v && got);
    for (int x = 0; x < N; x++)
        v[x] = x;
    for (size_t k = 0; k < sizeof divisors / sizeof *divisors; k++) {
        imgpar_array *a = imgpar_array_from_data(ways[0], IMGPAR_I32, 1, (const int64_t[]){ N }, v);
        char text[64];
        snprintf(text, sizeof text, "clamp($1, 0, 2097151) div %d", divisors[k]);
        imgpar_array *out = imgpar_apply(ways[0], text, &a, 1);
        ck_assert_msg(!imgpar_array_read(out, got, N * sizeof *got), "%s: %s", text, imgpar_array_message(out));
        for (int x = 0; x < N; x++)
            ck_assert_msg(got[x] == x / divisors[k], "%d div %d: %d", x, divisors[k], got[x]);
        imgpar_array_release(out);
        imgpar_array_release(a);
    }
    free(v);
    free(got);
}
END_TEST

/* ---- lower bits -------------------------------------------------------------------------------- */

static int64_t polynomial(int64_t a, int64_t b) { return 3 * a - 25 * b + a * b * 7 - 40000; }
static int64_t mixture(int64_t a, int64_t b) { return ((a ^ 77) * (b | 256)) + (-a - (b & 1023)) * 31; }
static int64_t choice(int64_t a, int64_t b) { return (a > b ? a * a : 5 - b * 3) * (a + 1); }
static const struct {
    const char *text;
    int64_t (*value)(int64_t a, int64_t b);
} sums[] = {
    { "3 * a - 25 * b + a * b * 7 - 40000", polynomial },
    { "((a ^ 77) * (b | 256)) + (-a - (b & 1023)) * 31", mixture },
    { "(a > b ? a * a : 5 - b * 3) * (a + 1)", choice },
};

/* Of sums and products that leave 16 bits, and 32, the lower bits are right, whatever they are computed in. */
START_TEST(lower_bits_of_sums_are_those_of_the_whole_sum) /* _i: the sum */
{
    enum { N = 256 };
    static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_I16, IMGPAR_U16 };
    static const int masks[] = { 1, 255, 1023, 65535, 65536, 16777215 };
    for (int way = 0; way < 2; way++)
        for (int t = 0; t < 3; t++) {
            imgpar_array *in[2], *out;
            uint16_t shorts[2][N];
            uint8_t bytes[2][N];
            int64_t v[2][N];
            int32_t got[N];
            for (int k = 0; k < 2; k++) {
                for (int x = 0; x < N; x++) {
                    shorts[k][x] = (uint16_t)(x < 4 ? 0x7ffe + x : x < 8 ? 0xfffc + x - 4 : x * (k ? 40503 : 257));
                    bytes[k][x] = (uint8_t)(k ? x * 7 : 255 - x);
                    v[k][x] = t == 0 ? bytes[k][x] : t == 1 ? (int16_t)shorts[k][x] : shorts[k][x];
                }
                const void *data = t == 0 ? (const void *)bytes[k] : shorts[k];
                in[k] = imgpar_array_from_data(ways[way], dtypes[t], 1, (const int64_t[]){ N }, data);
            }
            for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
                char text[160];
                snprintf(text, sizeof text, "a = cast($1, i32)\nb = cast($2, i32)\n(%s) & %d", sums[_i].text, masks[m]);
                out = imgpar_apply(ways[way], text, in, 2);
                ck_assert_msg(!imgpar_array_read(out, got, sizeof got), "%s: %s", text, imgpar_array_message(out));
                for (int x = 0; x < N; x++) {
                    const int64_t want = sums[_i].value(v[0][x], v[1][x]) & masks[m];
                    ck_assert_msg(got[x] == want, "%s of %lld and %lld: %d, not %lld", text, (long long)v[0][x],
                                  (long long)v[1][x], got[x], (long long)want);
                }
                imgpar_array_release(out);
            }
            for (int k = 0; k < 2; k++)
                imgpar_array_release(in[k]);
        }
}
END_TEST

/* ---- rows that are kept in lower bits ------------------------------------------------------------ */

enum { LOW_ROWS = 9, LOW_COLUMNS = 70 };

/* What is kept of the rows, at (y, x): their borders are replicated. */
static int64_t row_element(const uint16_t (*v)[LOW_COLUMNS], int y, int x)
{
    y = y < 0 ? 0 : y >= LOW_ROWS ? LOW_ROWS - 1 : y;
    const int left = x > 0 ? x - 1 : 0, right = x < LOW_COLUMNS - 1 ? x + 1 : x;
    return (int64_t)v[y][left] + 700 * (int64_t)v[y][x] - 3 * (int64_t)v[y][right];
}

/* Whether what is outside counts as -70001. */
static int64_t column_sum(const uint16_t (*v)[LOW_COLUMNS], int y, int x, bool is_outside)
{
    const int64_t above = is_outside && y == 0 ? -70001 : row_element(v, y - 1, x),
                  below = is_outside && y == LOW_ROWS - 1 ? -70001 : row_element(v, y + 1, x);
    return above + 5 * row_element(v, y, x) - below;
}

static int64_t low_of_both(const uint16_t (*v)[LOW_COLUMNS], int y, int x)
{
    return column_sum(v, y, x, false) & 65535;
}
static int64_t low_and_whole(const uint16_t (*v)[LOW_COLUMNS], int y, int x)
{
    return (column_sum(v, y, x, false) & 65535) + (row_element(v, y, x) >> 5);
}
static int64_t low_of_the_larger(const uint16_t (*v)[LOW_COLUMNS], int y, int x)
{
    const int64_t above = row_element(v, y - 1, x), here = row_element(v, y, x);
    return ((above > here ? above : here) - row_element(v, y + 1, x)) & 65535;
}
static int64_t low_with_outside(const uint16_t (*v)[LOW_COLUMNS], int y, int x)
{
    return column_sum(v, y, x, true) & 65535;
}
static int64_t low_by_a_choice(const uint16_t (*v)[LOW_COLUMNS], int y, int x)
{
    const int64_t here = row_element(v, y, x);
    return (here > 9000000 ? column_sum(v, y, x, false) : 0) & 65535;
}

static const struct {
    const char *text;
    int64_t (*value)(const uint16_t (*v)[LOW_COLUMNS], int y, int x);
} low_rows[] = {
    { "(h[-1, 0] + 5 * h - h[1, 0]) % 65536", low_of_both },
    { "((h[-1, 0] + 5 * h - h[1, 0]) & 65535) + (h >> 5)", low_and_whole },
    { "(max(h[-1, 0], h) - h[1, 0]) & 65535", low_of_the_larger },
    { "cast(stencil(h[-1, 0] + 5 * h - h[1, 0], border=constant, cval=-70001) & 65535, u16)", low_with_outside },
    { "(h > 9000000 ? h[-1, 0] + 5 * h - h[1, 0] : 0) & 65535", low_by_a_choice },
};

/* Rows of which all readers want lower bits only may be kept in fewer; no others. */
START_TEST(rows_are_kept_in_lower_bits_where_readers_want_no_more) /* _i: what reads them */
{
    uint16_t v[LOW_ROWS][LOW_COLUMNS];
    char text[160];
    snprintf(text, sizeof text, "a = cast($1, i32)\nh = a[0, -1] + 700 * a - 3 * a[0, 1]\n%s", low_rows[_i].text);
    for (int k = 0; k < LOW_ROWS * LOW_COLUMNS; k++)
        v[k / LOW_COLUMNS][k % LOW_COLUMNS] = (uint16_t)(k % 11 == 0 ? 65535 : k * 40503);
    for (int way = 0; way < 2; way++) {
        int32_t got[LOW_ROWS][LOW_COLUMNS];
        imgpar_array *in =
            imgpar_array_from_data(ways[way], IMGPAR_U16, 2, (const int64_t[]){ LOW_ROWS, LOW_COLUMNS }, v);
        imgpar_array *out = imgpar_apply(ways[way], text, &in, 1);
        imgpar_array *wide = imgpar_apply(ways[way], "cast($1, i32)", &out, 1);
        ck_assert_msg(!imgpar_array_read(wide, got, sizeof got), "%s: %s", text, imgpar_array_message(wide));
        for (int y = 0; y < LOW_ROWS; y++)
            for (int x = 0; x < LOW_COLUMNS; x++) {
                const int64_t want = low_rows[_i].value((const uint16_t(*)[LOW_COLUMNS])v, y, x);
                ck_assert_msg(got[y][x] == want, "%s at %d, %d: %d, not %lld", text, y, x, got[y][x], (long long)want);
            }
        imgpar_array_release(wide);
        imgpar_array_release(out);
        imgpar_array_release(in);
    }
}
END_TEST

/* ---- types ------------------------------------------------------------------------------------- */

static imgpar_dtype result_of(const char *text, const imgpar_dtype *dtypes, int n)
{
    static const uint64_t zeros[4];
    imgpar_array *in[2], *out;
    imgpar_info info = { .struct_size = sizeof info };
    for (int k = 0; k < n; k++)
        in[k] = imgpar_array_from_data(ways[1], dtypes[k], 1, (const int64_t[]){ 4 }, zeros);
    out = imgpar_apply(ways[1], text, in, (size_t)n);
    ck_assert_msg(!imgpar_array_info(out, &info), "%s: %s", text, imgpar_array_message(out));
    for (int k = 0; k < n; k++)
        imgpar_array_release(in[k]);
    imgpar_array_release(out);
    return info.dtype;
}

/* What is printed is what operators do. */
START_TEST(operators_have_the_types_of_the_printed_table)
{
#define TYPES_TOP(TEXT)
#define TYPES_RULE(TEXT)
#define TYPES_ROW(DTYPE, TEXT, B, U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64, LITERAL, FRACTIONAL) \
    { #DTYPE, { #B, #U8, #I8, #U16, #I16, #U32, #I32, #U64, #I64, #F16, #F32, #F64 }, #LITERAL, #FRACTIONAL },
    static const struct {
        const char *name, *pairs[12], *whole, *fraction;
    } table[] = {
#include "ops/types.def"
    };
    static const imgpar_dtype dtypes[] = { IMGPAR_BOOL, IMGPAR_U8,  IMGPAR_I8,  IMGPAR_U16, IMGPAR_I16, IMGPAR_U32,
                                           IMGPAR_I32,  IMGPAR_U64, IMGPAR_I64, IMGPAR_F16, IMGPAR_F32, IMGPAR_F64 };
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 12; k++) {
            const char *got =
                imgpar_dtype_name(result_of("$1 + $2", (const imgpar_dtype[]){ dtypes[i], dtypes[k] }, 2));
            ck_assert_msg(!strcmp(got, table[i].pairs[k]), "%s + %s is %s", table[i].name, table[k].name, got);
        }
        ck_assert_str_eq(table[i].name, imgpar_dtype_name(dtypes[i]));
        ck_assert_str_eq(table[i].whole, imgpar_dtype_name(result_of("$1 + 2", &dtypes[i], 1)));
        ck_assert_str_eq(table[i].fraction, imgpar_dtype_name(result_of("$1 * 0.5", &dtypes[i], 1)));
    }
}
END_TEST

static const struct {
    const char *text;
    imgpar_dtype a, b, result;
} typed[] = {
    { "$1 - $2", IMGPAR_U32, IMGPAR_U32, IMGPAR_I64 },   { "$1 - 1", IMGPAR_U32, IMGPAR_U8, IMGPAR_I64 },
    { "$1 - $2", IMGPAR_U64, IMGPAR_U64, IMGPAR_I64 },   { "-$1", IMGPAR_U64, IMGPAR_U8, IMGPAR_I64 },
    { "$1 - $2", IMGPAR_U8, IMGPAR_U8, IMGPAR_I32 },     { "$1 - $2", IMGPAR_U32, IMGPAR_F32, IMGPAR_F32 },
    { "$1 * $2", IMGPAR_U16, IMGPAR_U16, IMGPAR_I64 },   { "$1 * $2", IMGPAR_U16, IMGPAR_I16, IMGPAR_I32 },
    { "$1 * $2", IMGPAR_U8, IMGPAR_U16, IMGPAR_I32 },    { "$1 * 3", IMGPAR_U16, IMGPAR_U8, IMGPAR_I32 },
    { "$1 * 40000", IMGPAR_U16, IMGPAR_U8, IMGPAR_I64 }, { "$1 ** 2", IMGPAR_U16, IMGPAR_U8, IMGPAR_I64 },
    { "$1 ** 2", IMGPAR_U8, IMGPAR_U8, IMGPAR_I32 },     { "$1 ** 4", IMGPAR_U8, IMGPAR_U8, IMGPAR_I64 },
    { "$1 * $2", IMGPAR_I32, IMGPAR_I32, IMGPAR_I32 },   { "$1 / $2", IMGPAR_U32, IMGPAR_U32, IMGPAR_F32 },
    { "$1 > 0.5", IMGPAR_U32, IMGPAR_U8, IMGPAR_BOOL },  { "$1 << 2", IMGPAR_U16, IMGPAR_U8, IMGPAR_I32 },
};

START_TEST(differences_of_counts_are_signed_and_products_are_wide_enough)
{
    imgpar_dtype got = result_of(typed[_i].text, (const imgpar_dtype[]){ typed[_i].a, typed[_i].b }, 2);
    ck_assert_msg(got == typed[_i].result, "%s is %s", typed[_i].text, imgpar_dtype_name(got));
}
END_TEST

/* ---- values ------------------------------------------------------------------------------------ */

/* The n_out elements of text over in, as doubles; what is wrong, or "". A text of several lines gives f64 itself. */
static const char *values_of(imgpar_context *ctx, const char *text, imgpar_array *const *in, size_t n, double *out,
                             size_t n_out)
{
    char wide[2048];
    snprintf(wide, sizeof wide, "out = %s\ncast(out, f64)", text);
    if (strchr(text, '\n')) snprintf(wide, sizeof wide, "%s", text);
    imgpar_array *a = imgpar_apply(ctx, wide, in, n);
    imgpar_info info = { .struct_size = sizeof info };
    static char message[512];
    *message = '\0';
    if (!imgpar_array_info(a, &info) && info.size_bytes != n_out * sizeof *out)
        snprintf(message, sizeof message, "%zu bytes of %s", info.size_bytes, imgpar_dtype_name(info.dtype));
    else if (imgpar_array_read(a, out, n_out * sizeof *out))
        snprintf(message, sizeof message, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    return message;
}

START_TEST(no_count_and_no_product_wraps)
{
    static const uint16_t large[] = { 65535, 65535, 0, 40000 }, factors[] = { 65535, 1, 65535, 60000 };
    static const uint32_t few[] = { 1, 0, 7, 4294967295u }, many[] = { 3, 4294967295u, 7, 0 };
    for (int way = 0; way < 2; way++) {
        double got[4];
        imgpar_array *u16[] = { imgpar_array_from_data(ways[way], IMGPAR_U16, 1, (const int64_t[]){ 4 }, large),
                                imgpar_array_from_data(ways[way], IMGPAR_U16, 1, (const int64_t[]){ 4 }, factors) };
        imgpar_array *u32[] = { imgpar_array_from_data(ways[way], IMGPAR_U32, 1, (const int64_t[]){ 4 }, few),
                                imgpar_array_from_data(ways[way], IMGPAR_U32, 1, (const int64_t[]){ 4 }, many) };
        ck_assert_str_eq(values_of(ways[way], "$1 * $2", u16, 2, got, 4), "");
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq(got[k], (double)large[k] * factors[k]);
        ck_assert_str_eq(values_of(ways[way], "$1 ** 2 - $2 * 65535", u16, 2, got, 4), "");
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq(got[k], (double)large[k] * large[k] - (double)factors[k] * 65535);
        ck_assert_str_eq(values_of(ways[way], "$1 - $2", u32, 2, got, 4), "");
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq(got[k], (double)few[k] - many[k]);
        ck_assert_str_eq(values_of(ways[way], "reshape(histogram($1, 2, 0, 120000) - histogram($2, 2, 0, 120000), [2])",
                                   u16, 2, got, 2),
                         "");
        ck_assert_double_eq(got[0], 1); /* below 60000 lie two numbers and one */
        ck_assert_double_eq(got[1], -1);
        ck_assert_str_eq(values_of(ways[way], "count_nonzero($1 > 50000) - count_nonzero($2 > 50000)", u16, 2, got, 1),
                         "");
        ck_assert_double_eq(got[0], -1); /* 2 - 3 */
        for (int k = 0; k < 2; k++) {
            imgpar_array_release(u16[k]);
            imgpar_array_release(u32[k]);
        }
    }
}
END_TEST

/* Where u64 meets signed numbers, in i64, what is too large wraps: as an index it is outside, whatever its range. */
START_TEST(the_least_of_what_wraps_is_not_taken_for_what_it_was)
{
    static const uint64_t large[] = { 0, UINT64_C(18000000000000000000), 2, UINT64_C(1) << 63 };
    static const int64_t small[] = { 3, 3, 3, 4 };
    static const double want[] = { 10, 10, 30, 10 };
    for (int way = 0; way < 2; way++) {
        double got[4];
        imgpar_array *in[] = { imgpar_array_from_data(ways[way], IMGPAR_U64, 1, (const int64_t[]){ 4 }, large),
                               imgpar_array_from_data(ways[way], IMGPAR_I64, 1, (const int64_t[]){ 4 }, small) };
        ck_assert_str_eq(
            values_of(ways[way], "lut(min($1, clamp($2, 0, 4)), numbers([10 20 30 40 50]))", in, 2, got, 4), "");
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq(got[k], want[k]);
        ck_assert_str_eq(values_of(ways[way], /* 2^63 + 400, though 2^62 + 200 is no double */
                                   "b = min(max(ones([4], dtype=i64) << 62, 0), 4611686018427387904) + 200\n"
                                   "cast(lut(min(b + b, 3), numbers([10 20 30 40])), f64)",
                                   NULL, 0, got, 4),
                         "");
        for (int k = 0; k < 4; k++)
            ck_assert_double_eq(got[k], 10);
        imgpar_array_release(in[0]);
        imgpar_array_release(in[1]);
    }
}
END_TEST

/* What is read at indices of dtypes that hold more than i32, and at the least i32: [10 20 30 40 50 60][i]. */
static const struct {
    const char *text;
    imgpar_dtype dtype;
    int64_t index[4];
    double want[4];
} far[] = {
    { "take($1, cast($2, u32), border=wrap)", IMGPAR_I64, { 3000000000, 4294967295, 7, 5 }, { 10, 40, 20, 60 } },
    { "take_along_axis($1, cast($2, u32), border=reflect)",
      IMGPAR_I64,
      { 3000000000, 4294967295, 7, 5 },
      { 10, 40, 50, 60 } },
    { "take($1, cast($2, u32), border=reflect101)", IMGPAR_I64, { 3000000000, 4294967295, 7, 5 }, { 10, 60, 40, 60 } },
    { "take($1, cast($2, u32))", IMGPAR_I64, { 3000000000, 4294967295, 7, 4 }, { 60, 60, 60, 50 } },
    { "take($1, $2, border=wrap)",
      IMGPAR_I64,
      { 1099511627777, 2147483648, -2147483649, 4294967296 },
      { 60, 30, 40, 50 } },
    { "take($1, $2, border=reflect)",
      IMGPAR_I64,
      { 1099511627777, 2147483648, INT64_MIN, INT64_MAX },
      { 60, 40, 50, 50 } },
    { "take($1, $2, border=reflect101)",
      IMGPAR_I64,
      { 1099511627777, 2147483648, -2147483649, INT64_MIN },
      { 40, 30, 20, 30 } },
    { "take($1, $2, border=wrap)", IMGPAR_U64, { -1, -2, INT64_MIN, 7 }, { 40, 30, 30, 20 } },
    { "take($1, $2, border=reflect)", IMGPAR_U64, { -1, -2, INT64_MIN, 7 }, { 40, 30, 40, 50 } },
    { "take(slice($1, 0, 1), $2, border=reflect101)", IMGPAR_U64, { -1, -2, INT64_MIN, 7 }, { 10, 10, 10, 10 } },
    { "take($1, cast($2, i32), border=reflect101)",
      IMGPAR_I64,
      { INT32_MIN, INT32_MIN + 1, INT32_MAX, -1 },
      { 30, 40, 40, 20 } },
};

START_TEST(a_border_takes_indices_inside_however_far_away_they_are) /* _i: a text */
{
    static const float a[] = { 10, 20, 30, 40, 50, 60 };
    for (int way = 0; way < 2; way++) {
        double got[4];
        imgpar_array *in[] = { imgpar_array_from_data(ways[way], IMGPAR_F32, 1, (const int64_t[]){ 6 }, a),
                               imgpar_array_from_data(ways[way], far[_i].dtype, 1, (const int64_t[]){ 4 },
                                                      far[_i].index) };
        ck_assert_str_eq(values_of(ways[way], far[_i].text, in, 2, got, 4), "");
        for (int k = 0; k < 4; k++)
            ck_assert_msg(got[k] == far[_i].want[k], "%s, element %d: %g", far[_i].text, k, got[k]);
        imgpar_array_release(in[0]);
        imgpar_array_release(in[1]);
    }
}
END_TEST

/* ---- saturating, signed with unsigned ------------------------------------------------------------------- */

__extension__ typedef __int128 whole; /* holds every result, of whose products the largest is below 2^127 */

static const int64_t with_sign[] = { INT64_MIN, INT64_MIN + 1, -3, -1, 0, 1, INT64_C(1) << 60, INT64_MAX };
static const uint64_t without[] = {
    0, 1, 5, INT64_MAX, UINT64_C(1) << 63, UINT64_C(3) << 62, UINT64_MAX - 1, UINT64_MAX
};
enum { N_EACH = 8, N_MET = N_EACH * N_EACH };

static const char *const saturating[] = { "add", "subtract", "absdiff", "multiply", "maximum" };

static whole of_wholes(int op, whole a, whole b)
{
    const whole of[] = { a + b, a - b, a < b ? b - a : a - b, a * b, a < b ? b : a };
    return of[op];
}

/* The result has the dtype of the first: the exact number, or the nearest it holds. */
START_TEST(signed_and_unsigned_numbers_of_64_bits_saturate_exactly) /* _i: an operation */
{
    int64_t s[N_MET];
    uint64_t u[N_MET], got[N_MET];
    char text[2][48];
    snprintf(text[0], sizeof text[0], "%s($1, $2)", saturating[_i]);
    snprintf(text[1], sizeof text[1], "%s($2, $1)", saturating[_i]);
    for (int k = 0; k < N_MET; k++) {
        s[k] = with_sign[k / N_EACH];
        u[k] = without[k % N_EACH];
    }
    for (int t = 0; t < 4; t++) {
        const int way = t / 2;
        const bool is_unsigned = t % 2;
        const whole least = is_unsigned ? 0 : INT64_MIN, most = is_unsigned ? (whole)UINT64_MAX : INT64_MAX;
        imgpar_array *in[] = { imgpar_array_from_data(ways[way], IMGPAR_I64, 1, (const int64_t[]){ N_MET }, s),
                               imgpar_array_from_data(ways[way], IMGPAR_U64, 1, (const int64_t[]){ N_MET }, u) };
        imgpar_array *out = imgpar_apply(ways[way], text[is_unsigned], in, 2);
        ck_assert_msg(imgpar_array_read(out, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(out));
        for (int k = 0; k < N_MET; k++) {
            whole want = is_unsigned ? of_wholes(_i, u[k], s[k]) : of_wholes(_i, s[k], u[k]);
            want = want < least ? least : want > most ? most : want;
            ck_assert_msg(got[k] == (uint64_t)want, "%s of %lld and %llu: %llx", text[is_unsigned], (long long)s[k],
                          (unsigned long long)u[k], (unsigned long long)got[k]);
        }
        imgpar_array_release(out);
        imgpar_array_release(in[0]);
        imgpar_array_release(in[1]);
    }
}
END_TEST

START_TEST(a_literal_of_another_sign_is_added_as_it_is)
{
    static const uint64_t v[] = { 5, 2, 900, UINT64_MAX };
    static const uint64_t more[] = { 8, 5, 903, UINT64_MAX }, less[] = { 2, 0, 897, UINT64_MAX - 3 };
    for (int way = 0; way < 2; way++) {
        uint64_t got[4];
        imgpar_array *a = imgpar_array_from_data(ways[way], IMGPAR_U64, 1, (const int64_t[]){ 4 }, v);
        for (int k = 0; k < 2; k++) {
            imgpar_array *out = imgpar_apply(ways[way], k ? "add($1, -3)" : "subtract($1, -3)", &a, 1);
            ck_assert_msg(imgpar_array_read(out, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(out));
            ck_assert_mem_eq(got, k ? less : more, sizeof got);
            imgpar_array_release(out);
        }
        imgpar_array_release(a);
    }
}
END_TEST

START_TEST(slopes_of_integers_of_64_bits_are_exact_or_rounded_once)
{
    static const int64_t s[] = { INT64_C(1) << 60, (INT64_C(1) << 60) + 1, (INT64_C(1) << 60) + 6, INT64_MIN,
                                 INT64_MAX };
    static const uint64_t u[] = { UINT64_MAX, 0, UINT64_MAX - 2, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1 };
    static const double of_s[] = { 1, 3, -0x1.2p62, 0x1.cp61, 0x1p64 }, of_u[] = { -0x1p64, -1, 0x1p62, -0x1p62, 1 };
    for (int t = 0; t < 4; t++) {
        double got[5];
        imgpar_array *a = imgpar_array_from_data(ways[t / 2], t % 2 ? IMGPAR_U64 : IMGPAR_I64, 1,
                                                 (const int64_t[]){ 5 }, t % 2 ? (const void *)u : s);
        ck_assert_str_eq(values_of(ways[t / 2], "gradient($1)", &a, 1, got, 5), "");
        for (int k = 0; k < 5; k++)
            ck_assert_double_eq(got[k], t % 2 ? of_u[k] : of_s[k]);
        imgpar_array_release(a);
    }
}
END_TEST

/* ---- comparisons ------------------------------------------------------------------------------- */

/* Around what a float of 24 and of 53 bits holds, and at the ends of the dtypes. */
static const int64_t signed_numbers[] = {
    INT64_MIN,
    INT64_MIN + 1,
    -(INT64_C(1) << 53) - 1,
    INT32_MIN,
    INT32_MIN + 1,
    -16777217,
    -1,
    0,
    1,
    16777216,
    16777217,
    INT32_MAX,
    UINT32_MAX,
    (INT64_C(1) << 53) + 1,
    INT64_MAX,
};
static const double reals[] = {
    -INFINITY, -0x1p64,      -0x1p63, -0x1p31 - 256, -0x1p31, -16777216, -0.5,   0,      0.5,      1,   16777216,
    16777218,  0x1p31 - 128, 0x1p31,  0x1p32 - 256,  0x1p32,  0x1p53,    0x1p63, 0x1p64, INFINITY, NAN,
};
enum { N_INTEGERS = sizeof signed_numbers / sizeof *signed_numbers, N_REALS = sizeof reals / sizeof *reals };

/* a < b, a <= b, a > b, a >= b, a == b, a != b as bits, and then with b on the left. */
static int comparisons_of(long double a, long double b)
{
    const int lt = a<b, le = a <= b, gt = a> b, ge = a >= b, eq = a == b, ne = a != b;
    return lt + 2 * le + 4 * gt + 8 * ge + 16 * eq + 32 * ne + 64 * (gt + 2 * ge + 4 * lt + 8 * le + 16 * eq + 32 * ne);
}

#define COMPARISONS                                                                                       \
    "fn of(a, b) = (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b)\n" \
    "fn all(a, b) = cast(of(a, b) + 64 * of(b, a), f64)\n"

static const struct {
    const char *name;
    const char *real;
    imgpar_dtype via;
} compared[] = {
    { "i32", "f32", IMGPAR_I64 }, { "u32", "f32", IMGPAR_I64 }, { "i64", "f32", IMGPAR_I64 },
    { "u64", "f64", IMGPAR_U64 }, { "i64", "f64", IMGPAR_I64 }, { "u64", "f32", IMGPAR_U64 },
};

static bool is_of(const char *name, int64_t v)
{
    if (strcmp(name, "i32") == 0) return v >= INT32_MIN && v <= INT32_MAX;
    return strcmp(name, "u32") != 0 || (v >= 0 && v <= UINT32_MAX);
}

static long double number_of(imgpar_dtype dtype, int64_t v)
{
    return dtype == IMGPAR_U64 ? (long double)(uint64_t)v : (long double)v;
}

/* Whether a long double holds any integer here; under valgrind none does. */
static bool holds_integers(void)
{
    volatile long double v = 0x1p63L;
    v += 1;
    return v - 0x1p63L == 1;
}

/* The first four on the device, too. */
START_TEST(an_integer_is_compared_with_floats_as_the_number_it_is)
{
    int64_t v[N_INTEGERS];
    int n = 0;
    if (!holds_integers()) return;
    for (int k = 0; k < N_INTEGERS; k++)
        if (is_of(compared[_i].name, signed_numbers[k])) v[n++] = signed_numbers[k];
    for (int way = _i < 4 ? 0 : 1; way < 2; way++) {
        char text[1024];
        double got[N_INTEGERS * N_REALS];
        imgpar_array *in[] = { imgpar_array_from_data(ways[way], compared[_i].via, 2, (const int64_t[]){ n, 1 }, v),
                               imgpar_array_from_data(ways[way], IMGPAR_F64, 1, (const int64_t[]){ N_REALS }, reals) };
        snprintf(text, sizeof text, COMPARISONS "all(cast($1, %s), cast($2, %s))", compared[_i].name,
                 compared[_i].real);
        ck_assert_str_eq(values_of(ways[way], text, in, 2, got, (size_t)n * N_REALS), "");
        for (int k = 0; k < n * N_REALS; k++) {
            const double real =
                strcmp(compared[_i].real, "f32") == 0 ? (double)(float)reals[k % N_REALS] : reals[k % N_REALS];
            ck_assert_msg(got[k] == comparisons_of(number_of(compared[_i].via, v[k / N_REALS]), (long double)real),
                          "%s %lld beside %s %.17g: %g", compared[_i].name, (long long)v[k / N_REALS],
                          compared[_i].real, real, got[k]);
        }
        imgpar_array_release(in[0]);
        imgpar_array_release(in[1]);
    }
}
END_TEST

/* So are literals, whatever dtype would hold them. */
START_TEST(an_integer_is_compared_with_a_literal_as_the_number_it_is)
{
    static const char *const literals[] = {
        "16777216.5",           "2147483647.5", "-2147483648.5", "0.5", "-0.5", "1.0", "9223372036854775808",
        "18446744073709551616", "1e30",         "-1e30",         "inf", "-inf", "nan", "-9223372036854775808",
    };
    int64_t v[N_INTEGERS];
    int n = 0;
    if (!holds_integers()) return;
    for (int k = 0; k < N_INTEGERS; k++)
        if (is_of(compared[_i].name, signed_numbers[k])) v[n++] = signed_numbers[k];
    for (size_t t = 0; t < sizeof literals / sizeof *literals; t++) {
        char text[1024];
        double got[N_INTEGERS];
        const bool is_on_device = _i == 0 && t == 0;
        imgpar_context *ctx = ways[is_on_device ? 0 : 1];
        imgpar_array *a = imgpar_array_from_data(ctx, compared[_i].via, 1, (const int64_t[]){ n }, v);
        snprintf(text, sizeof text, COMPARISONS "all(cast($1, %s), %s)", compared[_i].name, literals[t]);
        ck_assert_str_eq(values_of(ctx, text, &a, 1, got, (size_t)n), "");
        for (int k = 0; k < n; k++)
            ck_assert_msg(got[k] == comparisons_of(number_of(compared[_i].via, v[k]), strtold(literals[t], NULL)),
                          "%s %lld beside %s: %g", compared[_i].name, (long long)v[k], literals[t], got[k]);
        imgpar_array_release(a);
    }
}
END_TEST

/* ---- broadcasting ------------------------------------------------------------------------------- */

typedef struct pair {
    int rank[2];
    int64_t shape[2][4];
    int out_rank;
    int64_t out[4];
} pair;

static const pair pairs[] = {
    { { 2, 1 }, { { 4, 6 }, { 6 } }, 2, { 4, 6 } },
    { { 2, 2 }, { { 4, 1 }, { 1, 6 } }, 2, { 4, 6 } },
    { { 3, 1 }, { { 4, 6, 3 }, { 3 } }, 3, { 4, 6, 3 } },
    { { 2, 3 }, { { 4, 6 }, { 4, 6, 3 } }, 3, { 4, 6, 3 } }, /* a matrix beside a picture: [h w 1] */
    { { 2, 3 }, { { 4, 1 }, { 1, 6, 3 } }, 3, { 4, 6, 3 } },
    { { 3, 3 }, { { 4, 6, 1 }, { 4, 6, 9 } }, 3, { 4, 6, 9 } },
    { { 3, 3 }, { { 1, 6, 3 }, { 4, 1, 1 } }, 3, { 4, 6, 3 } },
    { { 3, 2 }, { { 2, 5, 7 }, { 5, 7 } }, 3, { 2, 5, 7 } }, /* beside a volume: its last axes */
    { { 4, 3 }, { { 2, 4, 6, 3 }, { 4, 6, 3 } }, 4, { 2, 4, 6, 3 } },
    { { 4, 1 }, { { 2, 4, 1, 1 }, { 3 } }, 4, { 2, 4, 1, 3 } },
    { { 1, 3 }, { { 1 }, { 1, 1, 1 } }, 3, { 1, 1, 1 } },
};

/* The element of an operand for place i of the result, by the rule in words: from the last axis, a matrix beside a
 * picture first. */
static int64_t place_of(const pair *p, int k, const int64_t *i)
{
    int ahead = p->rank[k] == 2 && p->out_rank == 3 && p->out[2] <= 4 ? 0 : p->out_rank - p->rank[k];
    int64_t at = 0;
    for (int axis = 0; axis < p->rank[k]; axis++)
        at = at * p->shape[k][axis] + (p->shape[k][axis] == 1 ? 0 : i[axis + ahead]);
    return at;
}

/* Operators and functions, named ones too, on the device and by the interpreter, alone and behind a stencil. */
START_TEST(shapes_broadcast_as_numpys_do)
{
    static const char *const texts[] = { "$1 * 100 + $2", "max($1 * 100, $1 * 100 + $2)",
                                         "select($1 >= 0, $1 * 100 + $2, 7.0)", "add($1 * 100, $2)",
                                         "($1 + $1[0]) * 50 + $2" };
    const pair *p = &pairs[_i];
    for (int way = 0; way < 2; way++) {
        float v[256];
        double got[256];
        int64_t count = 1;
        imgpar_array *in[2];
        for (int k = 0; k < 256; k++)
            v[k] = (float)k;
        for (int k = 0; k < 2; k++)
            in[k] = imgpar_array_from_data(ways[way], IMGPAR_F32, p->rank[k], p->shape[k], v);
        for (int axis = 0; axis < p->out_rank; axis++)
            count *= p->out[axis];
        ck_assert_int_le(count, 256);
        for (size_t t = 0; t < (way ? sizeof texts / sizeof *texts : 1); t++) {
            ck_assert_msg(!*values_of(ways[way], texts[t], in, 2, got, (size_t)count), "%s, pair %d", texts[t], _i);
            int64_t i[4] = { 0 };
            for (int64_t e = 0; e < count; e++) {
                double want = 100.0 * (double)place_of(p, 0, i) + (double)place_of(p, 1, i);
                ck_assert_msg(got[e] == want, "%s, pair %d, element %d: %g, not %g", texts[t], _i, (int)e, got[e],
                              want);
                for (int axis = p->out_rank - 1; axis >= 0 && ++i[axis] == p->out[axis]; axis--)
                    i[axis] = 0;
            }
        }
        imgpar_array_release(in[0]);
        imgpar_array_release(in[1]);
    }
}
END_TEST

/* ---- loops --------------------------------------------------------------------------------------- */

/* x[n] of Numerical Recipes' generator, from 1. */
static double lcg(int n)
{
    uint64_t x = 1;
    for (int k = 0; k < n; k++)
        x = (1664525 * x + 1013904223) % 4294967296u;
    return (double)x;
}

static double sum_of(double step, int n)
{
    double t = 0;
    for (int k = 0; k < n; k++)
        t += step;
    return t;
}

static imgpar_dtype dtype_of(imgpar_context *ctx, const char *text, imgpar_array *a)
{
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_array *out = imgpar_apply(ctx, text, &a, 1);
    ck_assert_msg(!imgpar_array_info(out, &info), "%s", imgpar_array_message(out));
    imgpar_array_release(out);
    return info.dtype;
}

static const int turns[] = { 3, 64, 200, 10000 };

START_TEST(a_value_that_starts_from_a_literal_is_the_same_in_loops_of_any_length) /* _i: a way and a number of turns */
{
    imgpar_context *ctx = ways[_i / 4];
    int n = turns[_i % 4];
    const uint8_t pixels[] = { 1, 2, 250 };
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, 1, (const int64_t[]){ 3 }, pixels);
    char text[512];
    double got[3];
    snprintf(text, sizeof text, "(t, b) = iterate((0, $1), %d, (t, b) -> (t + 0.001, invert(b)))\ncast(t, f64)", n);
    if (n > 64) {
        ck_assert_str_eq(values_of(ctx, text, &a, 1, got, 1), "");
        ck_assert_double_eq_tol(got[0], sum_of(0.001, n), 1e-12);
    }
    snprintf(text, sizeof text,
             "(s, b) = iterate((1, $1), %d, (s, b) -> ((1664525 * s + 1013904223) %% 4294967296, invert(b)))\ncast($1, "
             "f64) + s",
             n);
    ck_assert_str_eq(values_of(ctx, text, &a, 1, got, 3), "");
    ck_assert_double_eq(got[2], 250 + lcg(n));
    /* It never widens what it meets. */
    snprintf(text, sizeof text, "(i, b) = iterate((0, $1), %d, (i, b) -> (i + 1, cast(b + i - i, u8)))\nb + i", n);
    ck_assert_int_eq(dtype_of(ctx, text, a), IMGPAR_I32);
    imgpar_array_release(a);
}
END_TEST

START_TEST(slice_follows_the_counter_of_any_loop) /* _i: the same */
{
    enum { ROWS = 10000, COLUMNS = 2 };
    imgpar_context *ctx = ways[_i / 4];
    int n = turns[_i % 4];
    static int32_t v[ROWS * COLUMNS];
    char text[512];
    double got[2], want[2] = { 0, 0 };
    for (int k = 0; k < ROWS * COLUMNS; k++)
        v[k] = k * 7919 % 1000;
    for (int k = 0; k < n * COLUMNS; k++)
        want[k % COLUMNS] = fmod(want[k % COLUMNS] * 3 + v[k], 100003);
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_I32, 2, (const int64_t[]){ ROWS, COLUMNS }, v);
    snprintf(text, sizeof text,
             "(i, s) = iterate((0, zeros([1 2], dtype=i32)), %d, (i, s) -> (i + 1, (s * 3 + slice($1, i, i + 1)) %% "
             "100003))\ncast(s, f64)",
             n);
    ck_assert_str_eq(values_of(ctx, text, &a, 1, got, 2), "");
    ck_assert_double_eq(got[0], want[0]);
    ck_assert_double_eq(got[1], want[1]);
    imgpar_array_release(a);
}
END_TEST

static const struct {
    const char *text, *message;
} sliced[] = {
    { "(i, s) = iterate((0, 0 * $1), 90, (i, s) -> (i + 1, s + slice($1, i, i + 1)))\ns",
      "slice: in the loop elements from 0 to 89 are read, and the axis has 80" },
    { "(i, s) = iterate((0, 0 * $1), 70, (i, s) -> (i + 1, s + slice($1, i, 2 * i + 1)))\ns",
      "slice: in a loop to must be from plus a number, as in slice(a, i, i + 1)" },
    { "(i, s) = iterate((1, 0 * $1), 70, (i, s) -> (i * 3, s + slice($1, i, i + 1)))\ns",
      "slice: from is computed while the loop runs and has no bounds" },
};

START_TEST(a_slice_outside_is_refused_before_anything_runs)
{
    static const float v[80];
    char wide[512];
    imgpar_array *a = imgpar_array_from_data(ways[1], IMGPAR_F32, 1, (const int64_t[]){ 80 }, v);
    snprintf(wide, sizeof wide, "%s", sliced[_i].text);
    imgpar_array *out = imgpar_apply(ways[1], wide, &a, 1);
    ck_assert_msg(strstr(imgpar_array_message(out), sliced[_i].message), "%s", imgpar_array_message(out));
    imgpar_array_release(out);
    imgpar_array_release(a);
}
END_TEST

/* ---- the rest ------------------------------------------------------------------------------------- */

/* A picture of one channel in three axes stays one, a matrix stays a matrix, whatever the angle. */
START_TEST(rotate_keeps_the_rank)
{
    static const uint8_t v[12] = { 9 };
    static const int64_t shape[] = { 3, 4, 1 };
    static const int angles[] = { 90, 30, 180, -45 };
    for (int rank = 2; rank <= 3; rank++) {
        for (int k = 0; k < 4; k++) {
            char text[64];
            imgpar_info info = { .struct_size = sizeof info };
            imgpar_array *a = imgpar_array_from_data(ways[1], IMGPAR_U8, rank, shape, v);
            snprintf(text, sizeof text, "rotate($1, %d)", angles[k]);
            imgpar_array *out = imgpar_apply(ways[1], text, &a, 1);
            ck_assert_msg(!imgpar_array_info(out, &info), "%s", imgpar_array_message(out));
            ck_assert_msg(info.rank == rank, "rank %d by %d degrees: %d", rank, angles[k], info.rank);
            imgpar_array_release(out);
            imgpar_array_release(a);
        }
    }
}
END_TEST

static const struct {
    const char *text, *message;
} nans[] = {
    { "histogram($1, lo=nan)", "histogram: lo=nan is not a number" },
    { "circle($1, radius=3, cx=0/0)", "circle: cx=nan is not a number" },
    { "blur($1, truncate=nan)", "blur: truncate=nan is not a number" },
    { "threshold($1, nan)", "threshold: t=nan is not a number" },
    { "clamp($1, nan, 3)", "clamp: lo=nan is not a number" },
};

START_TEST(nan_is_no_parameter_of_a_text)
{
    static const uint8_t v[12] = { 9 };
    imgpar_array *a = imgpar_array_from_data(ways[1], IMGPAR_U8, 2, (const int64_t[]){ 3, 4 }, v);
    imgpar_array *out = imgpar_apply(ways[1], nans[_i].text, &a, 1),
                 *same = imgpar_blur(a, NAN, IMGPAR_BORDER_REPLICATE);
    ck_assert_msg(strstr(imgpar_array_message(out), nans[_i].message), "%s: %s", nans[_i].text,
                  imgpar_array_message(out));
    ck_assert_int_eq(imgpar_array_status(same), IMGPAR_OK); /* in C it is the default, as the header says */
    imgpar_array_release(same);
    imgpar_array_release(out);
    imgpar_array_release(a);
}
END_TEST

/* The range of a negative number as a mask is nothing but 0, which takes no bits at all. */
static const char *const of_zeros[] = {
    "gray($1)",
    "gray($1, weights=bt709)",
    "boxblur($1, size=3)",
    "blur($1, 1)",
    "resize($1, 3)",
    "convolve($1, [1 2 1; 2 4 2; 1 2 1], scale=16)",
    "convolve($1, [1 1 1; 1 1 1; 1 1 1], scale=70000)",
};

START_TEST(sums_of_what_is_always_0_are_0) /* _i: a text */
{
    static const uint16_t v[4 * 5 * 3] = { 0, 1, 2, 65535, 5 };
    for (int way = 0; way < 2; way++) {
        uint8_t got[4 * 5 * 3] = { 0 };
        imgpar_info info = { .struct_size = sizeof info };
        imgpar_array *a = imgpar_array_from_data(ways[way], IMGPAR_U16, 3, (const int64_t[]){ 4, 5, 3 }, v);
        imgpar_array *mask = imgpar_apply(ways[way], "cast(-$1, bool)", &a, 1);
        imgpar_array *out = imgpar_apply(ways[way], of_zeros[_i], &mask, 1);
        ck_assert_msg(!imgpar_array_info(out, &info), "%s", imgpar_array_message(out));
        ck_assert_int_eq(info.dtype, IMGPAR_BOOL);
        memset(got, 7, sizeof got);
        ck_assert_int_eq(imgpar_array_read(out, got, info.size_bytes), IMGPAR_OK);
        for (size_t k = 0; k < info.size_bytes; k++)
            ck_assert_msg(got[k] == 0, "%s: %d", of_zeros[_i], got[k]);
        imgpar_array_release(out);
        imgpar_array_release(mask);
        imgpar_array_release(a);
    }
}
END_TEST

#define N(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *s = suite_create("numbers");
    TCase *c = tcase_create("numbers");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, means_of_shorts_are_exact, 0, 6);
    tcase_add_loop_test(c, quotients_by_literals_floor_and_are_exact, 0, (int)(sizeof divided / sizeof *divided));
    tcase_add_test(c, every_number_of_21_bits_is_divided_exactly);
    tcase_add_loop_test(c, lower_bits_of_sums_are_those_of_the_whole_sum, 0, N(sums));
    tcase_add_loop_test(c, rows_are_kept_in_lower_bits_where_readers_want_no_more, 0, N(low_rows));
    tcase_add_test(c, operators_have_the_types_of_the_printed_table);
    tcase_add_loop_test(c, differences_of_counts_are_signed_and_products_are_wide_enough, 0, N(typed));
    tcase_add_test(c, no_count_and_no_product_wraps);
    tcase_add_test(c, the_least_of_what_wraps_is_not_taken_for_what_it_was);
    tcase_add_loop_test(c, a_border_takes_indices_inside_however_far_away_they_are, 0, N(far));
    tcase_add_loop_test(c, signed_and_unsigned_numbers_of_64_bits_saturate_exactly, 0, N(saturating));
    tcase_add_test(c, a_literal_of_another_sign_is_added_as_it_is);
    tcase_add_test(c, slopes_of_integers_of_64_bits_are_exact_or_rounded_once);
    tcase_add_loop_test(c, an_integer_is_compared_with_floats_as_the_number_it_is, 0, N(compared));
    tcase_add_loop_test(c, an_integer_is_compared_with_a_literal_as_the_number_it_is, 0, N(compared));
    tcase_add_loop_test(c, shapes_broadcast_as_numpys_do, 0, N(pairs));
    tcase_add_loop_test(c, a_value_that_starts_from_a_literal_is_the_same_in_loops_of_any_length, 0, 2 * N(turns));
    tcase_add_loop_test(c, slice_follows_the_counter_of_any_loop, 0, 2 * N(turns));
    tcase_add_loop_test(c, a_slice_outside_is_refused_before_anything_runs, 0, N(sliced));
    tcase_add_test(c, rotate_keeps_the_rank);
    tcase_add_loop_test(c, nan_is_no_parameter_of_a_text, 0, N(nans));
    tcase_add_loop_test(c, sums_of_what_is_always_0_are_0, 0, N(of_zeros));
    tcase_set_timeout(c, 300);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
