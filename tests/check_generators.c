/* SPDX-License-Identifier: MIT */
/*
 * Arrays made from numbers. Random ones are compared with a Philox of the test's own, written with
 * 64-bit integers straight from the paper and held to the known answers of its authors' library.
 */
#include "asserts.h"
#include "nd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Philox ----------------------------------------------------------------------------------- */

static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4], k[2] = { key[0], key[1] };
    memcpy(c, counter, sizeof c);
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)c[0] * 0xD2511F53u, q = (uint64_t)c[2] * 0xCD9E8D57u;
        const uint32_t next[4] = { (uint32_t)(q >> 32) ^ c[1] ^ k[0], (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k[1],
                                   (uint32_t)p };
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

START_TEST(philox_gives_the_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        /* Random123, tests/kat_vectors */
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { ~0u, ~0u, ~0u, ~0u }, { ~0u, ~0u }, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (int k = 0; k < 3; k++) {
        uint32_t words[4];
        philox(known[k].counter, known[k].key, words);
        ck_assert_mem_eq(words, known[k].words, sizeof words);
    }
}
END_TEST

/* Word w of the block. */
static uint32_t word(int64_t block, int w, uint64_t seed, uint32_t stream)
{
    const uint32_t counter[4] = { (uint32_t)block, (uint32_t)((uint64_t)block >> 32), stream, 0 };
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t words[4];
    philox(counter, key, words);
    return words[w];
}

/* ---- the elements -------------------------------------------------------------------------------- */

#define SEED 1234567890123ull /* more than 32 bits */

static int64_t order(const int64_t *i) { return (i[0] * 5 + i[1]) * 7 + i[2]; } /* of [3 5 7] */
static real uniform(const nd *in, const int64_t *i)
{
    (void)in;
    return (real)(word(order(i) / 4, (int)(order(i) % 4), SEED, 0) >> 8) * 0x1p-24L;
}
static real uniform_64(const nd *in, const int64_t *i)
{
    (void)in;
    int w = 2 * (int)(order(i) % 2);
    uint64_t a = word(order(i) / 2, w, SEED, 9) >> 5, b = word(order(i) / 2, w + 1, SEED, 9) >> 6;
    return (real)(a << 26 | b) * 0x1p-53L * 6 - 2;
}
static real die(const nd *in, const int64_t *i)
{
    (void)in;
    return 1 + (real)((uint64_t)word(order(i) / 4, (int)(order(i) % 4), SEED, 0) * 6 >> 32);
}
static real any_word(const nd *in, const int64_t *i)
{
    return (void)in, (real)word(order(i) / 4, (int)(order(i) % 4), 0, 0);
}
static real bell(const nd *in, const int64_t *i)
{
    (void)in;
    int64_t at = order(i);
    int w = 2 * (int)(at % 4 / 2);
    real u = (real)word(at / 4, w, SEED, 0) * 0x1p-32L + 0x1p-33L;
    real v = (real)word(at / 4, w + 1, SEED, 0) * 0x1p-32L * 2 * acosl(-1);
    return 10 + 2 * sqrtl(-2 * logl(u)) * (at % 2 ? sinl(v) : cosl(v));
}
static real seven(const nd *in, const int64_t *i) { return (void)in, (void)i, 7.5L; }
static real zero(const nd *in, const int64_t *i) { return (void)in, (void)i, 0; }
static real one(const nd *in, const int64_t *i) { return (void)in, (void)i, 1; }
static real diagonal(const nd *in, const int64_t *i) { return (void)in, i[0] == i[1]; }
static real diagonal_1(const nd *in, const int64_t *i) { return (void)in, i[1] - i[0] == -1; }
static real index_1(const nd *in, const int64_t *i) { return (void)in, (real)i[1]; }
static real evens(const nd *in, const int64_t *i) { return (void)in, 10 - 3 * (real)i[0]; }
static real thousands_of_millions(const nd *in, const int64_t *i)
{
    return (void)in, 1500000000 * (real)i[0] - 3000000000;
}
static real tenths(const nd *in, const int64_t *i) { return (void)in, 0.1L * (real)i[0] - 1; }
static real line(const nd *in, const int64_t *i) { return (void)in, -1 + 4 * (real)i[0] / 36; }
static real line_64(const nd *in, const int64_t *i) { return (void)in, (real)i[0] / 36; }

static imgpar_dtype u8(imgpar_dtype d) { return (void)d, IMGPAR_U8; }
static imgpar_dtype i32(imgpar_dtype d) { return (void)d, IMGPAR_I32; }
static imgpar_dtype u32(imgpar_dtype d) { return (void)d, IMGPAR_U32; }
static imgpar_dtype i64(imgpar_dtype d) { return (void)d, IMGPAR_I64; }
static imgpar_dtype f16(imgpar_dtype d) { return (void)d, IMGPAR_F16; }
static imgpar_dtype f32(imgpar_dtype d) { return (void)d, IMGPAR_F32; }
static imgpar_dtype f64(imgpar_dtype d) { return (void)d, IMGPAR_F64; }

static const real list[4] = { 3, -1, 4, 1.5L };
static real listed(const nd *in, const int64_t *i) { return (void)in, list[i[0]]; }
static real listed_2(const nd *in, const int64_t *i) { return (void)in, list[i[0] * 2 + i[1]]; }
static real listed_u8(const nd *in, const int64_t *i)
{
    static const real want[2][2] = { { 255, 0 }, { 2, 4 } };
    return (void)in, want[i[0]][i[1]];
}
static real listed_i64(const nd *in, const int64_t *i)
{
    static const real want[3] = { 4294967295.0L, 9007199254740991.0L, -3 };
    return (void)in, want[i[0]];
}

static const nd_case cases[] = {
    { "numbers", "numbers([3 -1 4 1.5], dtype=f16)", { 0 }, { { 0 } }, 1, { 4 }, listed, 0, f16 },
    { "numbers", "numbers([3 -1; 4 1.5], dtype=f64)", { 0 }, { { 0 } }, 2, { 2, 2 }, listed_2, 0, f64 },
    { "numbers", "numbers([300 -1; 2.5 3.5], dtype=u8)", { 0 }, { { 0 } }, 2, { 2, 2 }, listed_u8, 0, u8 },
    { "numbers",
      "numbers([4294967295 9007199254740991 -3], dtype=i64)",
      { 0 },
      { { 0 } },
      1,
      { 3 },
      listed_i64,
      0,
      i64 },
    { "full", "full([2 3 4], 7.5, dtype=f16)", { 0 }, { { 0 } }, 3, { 2, 3, 4 }, seven, 0, f16 },
    { "zeros", "zeros([2 0 3])", { 0 }, { { 0 } }, 3, { 2, 0, 3 }, zero, 0, f32 },
    { "zeros", "zeros(5, dtype=i64)", { 0 }, { { 0 } }, 1, { 5 }, zero, 0, i64 },
    { "ones", "ones([2 3 4 5], dtype=u8)", { 0 }, { { 0 } }, 4, { 2, 3, 4, 5 }, one, 0, u8 },
    { "eye", "eye(7)", { 0 }, { { 0 } }, 2, { 7, 7 }, diagonal, 0, f32 },
    { "eye", "eye(7, 3, k=-1, dtype=i32)", { 0 }, { { 0 } }, 2, { 7, 3 }, diagonal_1, 0, i32 },
    { "indices", "indices([3 5 7], 1)", { 0 }, { { 0 } }, 3, { 3, 5, 7 }, index_1, 0, i32 },
    { "indices", "indices([3 5 2], -2, dtype=u8)", { 0 }, { { 0 } }, 3, { 3, 5, 2 }, index_1, 0, u8 },
    { "arange", "arange(10, -7, -3)", { 0 }, { { 0 } }, 1, { 6 }, evens, 0, i32 },
    { "arange", "arange(-1, 1, 0.1, dtype=f32)", { 0 }, { { 0 } }, 1, { 20 }, tenths, 0x1p-21L, f32 },
    { "arange", "arange(-1, 1, 0.1)", { 0 }, { { 0 } }, 1, { 20 }, tenths, 0x1p-21L, f32 },
    { "arange",
      "arange(-3000000000, 3000000001, 1500000000)",
      { 0 },
      { { 0 } },
      1,
      { 5 },
      thousands_of_millions,
      0,
      i64 },
    { "linspace", "linspace(-1, 3, 37)", { 0 }, { { 0 } }, 1, { 37 }, line, 0x1p-22L, f32 },
    { "linspace", "linspace(0, 1, 37, dtype=f64)", { 0 }, { { 0 } }, 1, { 37 }, line_64, 0x1p-50L, f64 },
    { "random", "random([3 5 7], seed=1234567890123)", { 0 }, { { 0 } }, 3, { 3, 5, 7 }, uniform, 0, f32 },
    { "random",
      "random([3 5 7], seed=1234567890123, lo=-2, hi=4, dtype=f64, stream=9)",
      { 0 },
      { { 0 } },
      3,
      { 3, 5, 7 },
      uniform_64,
      0,
      f64 },
    { "randint", "randint([3 5 7], 1, 7, seed=1234567890123)", { 0 }, { { 0 } }, 3, { 3, 5, 7 }, die, 0, i32 },
    { "randint", "randint([3 5 7], 0, 4294967296, dtype=u32)", { 0 }, { { 0 } }, 3, { 3, 5, 7 }, any_word, 0, u32 },
    { "normal",
      "normal([3 5 7], seed=1234567890123, mean=10, sigma=2)",
      { 0 },
      { { 0 } },
      3,
      { 3, 5, 7 },
      bell,
      0x1p-18L,
      f32 },
};
enum { N_CASES = sizeof cases / sizeof *cases };

START_TEST(arrays_are_made_by_their_formulas_in_every_schedule)
{
    static const char *const schedules[] = { "ref", "auto", "pixels" };
    nd_bench b;
    nd_open(&b);
    for (int k = 0; k < (b.has_device ? 3 : 1); k++)
        nd_check(&b, cases, N_CASES, IMGPAR_F32, FILL_ANY, schedules[k]);
    nd_check_complete("generator", cases, N_CASES, " text_mask text_lines "); /* check_written_text.c */
    nd_close(&b);
}
END_TEST

/* A million numbers have the moments they should, to five standard errors. */
START_TEST(normal_numbers_have_mean_and_deviation)
{
    nd_bench b;
    float moments[3];
    nd_open(&b);
    imgpar_array *a = imgpar_apply(b.ctx,
                                   "n = normal([1000 1000], seed=5)\n"
                                   "concat(concat(mean(n), mean(n * n)), mean(n * n * n))",
                                   NULL, 0);
    ck_assert_msg(imgpar_array_read(a, moments, sizeof moments) == IMGPAR_OK, "%s", imgpar_array_message(a));
    ck_assert_float_le(fabsf(moments[0]), 5e-3f);
    ck_assert_float_le(fabsf(moments[1] - 1), 7.1e-3f);
    ck_assert_float_le(fabsf(moments[2]), 2e-2f);
    imgpar_array_release(a);
    nd_close(&b);
}
END_TEST

START_TEST(what_cannot_be_made_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "zeros([1 2 3 4 5])", "zeros: shape has 5 elements; there are up to 4 axes" },
        { "zeros([2 -1])", "zeros: shape has -1, which is below 0" },
        { "zeros([2 2147483648])", "zeros: shape has 2147483648, which is above 2147483647" },
        { "zeros([2 0.5])", "zeros: shape has 0.5, which is not a whole number" },
        { "zeros(2.5)", "zeros: shape=2.5 is not a whole number" },
        { "arange(0, 5, 0)", "arange: step must not be 0" },
        { "randint([3], 0, 300, dtype=u8)", "randint: u8 does not hold all numbers from 0 to 299" },
        { "randint([3], 5, 5)", "randint: lo=5 is not below hi=5" },
        { "randint([3], 0.5, 5)", "randint: lo=0.5 is not a whole number" },
        { "random([3], seed=0.5)", "random: seed=0.5 is not a whole number" },
        { "random([3], lo=2, hi=1)", "random: lo=2 is above hi=1" },
        { "ones([100000 100000 100000 100000], dtype=f64)",
          "ones: the result would have more elements than any memory holds" },
    };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
        imgpar_array *bad = imgpar_apply(b.ctx, refusals[k].text, NULL, 0);
        ck_assert_msg(strstr(imgpar_array_message(bad), refusals[k].message), "%s: %s", refusals[k].text,
                      imgpar_array_message(bad));
        imgpar_array_release(bad);
    }
    nd_close(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generators");
    TCase *c = tcase_create("generators");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, philox_gives_the_known_answers);
    tcase_add_test(c, arrays_are_made_by_their_formulas_in_every_schedule);
    tcase_add_test(c, normal_numbers_have_mean_and_deviation);
    tcase_add_test(c, what_cannot_be_made_is_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
