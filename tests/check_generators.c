/* SPDX-License-Identifier: MIT */
/*
 * Arrays made from numbers. Random ones are compared with a Philox of the test's own, written with
 * 64-bit integers straight from the paper and held to the known answers of its authors' library.
 */
#include "asserts.h"
#include "nd.h"

#include <math.h>
#include <stdio.h>
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
static real waits(const nd *in, const int64_t *i)
{
    (void)in;
    return -2 * logl((real)word(order(i) / 4, (int)(order(i) % 4), SEED, 3) * 0x1p-32L + 0x1p-33L);
}
static real waits_64(const nd *in, const int64_t *i)
{
    (void)in;
    int w = 2 * (int)(order(i) % 2);
    uint64_t a = word(order(i) / 2, w, SEED, 0) >> 5, b = word(order(i) / 2, w + 1, SEED, 0) >> 6;
    return -logl((real)(a << 26 | b) * 0x1p-53L + 0x1p-54L);
}

/* The least number whose cumulative probability, in 2^-32, is above the word: summed up from e^-mean. */
static real count_of(real mean, uint32_t w)
{
    real below = 0;
    for (int k = 0; k < 100000; k++) {
        below += expl((real)k * logl(mean) - mean - lgammal((real)k + 1));
        if ((real)w < rintl(below * 0x1p32L)) return k;
    }
    return -1;
}
static real photons(const nd *in, const int64_t *i)
{
    return (void)in, count_of(3.7L, word(order(i) / 4, (int)(order(i) % 4), SEED, 0));
}
static real many_photons(const nd *in, const int64_t *i)
{
    return (void)in, count_of(1000, word(order(i) / 4, (int)(order(i) % 4), SEED, 0));
}

/* The first points of three dimensions, as the sequence is printed everywhere, and point 1000 of all, in 1 / 1024: what
 * scipy 1.10 gives, whose table is Joe's and Kuo's, too. */
static real even_points(const nd *in, const int64_t *i)
{
    static const real points[8][3] = { { 0, 0, 0 }, { 4, 4, 4 }, { 6, 2, 2 }, { 2, 6, 6 },
                                       { 3, 3, 5 }, { 7, 7, 1 }, { 5, 1, 7 }, { 1, 5, 3 } };
    return (void)in, points[i[0]][i[1]] / 8;
}
static real point_1000(const nd *in, const int64_t *i)
{
    static const real point[21] = { 225, 99,  531, 693, 287, 929, 47,  921,  513, 71, 87,
                                    261, 165, 393, 147, 379, 737, 353, 1015, 743, 535 };
    return (void)in, point[i[1]] / 1024;
}
/* Points 3000000000 and the next one, over 2^32: scipy.stats.qmc.Sobol(3, scramble=False, bits=32). */
static real far_points(const nd *in, const int64_t *i)
{
    static const uint32_t points[2][3] = { { 9313751u, 206004777u, 3953899511u },
                                           { 2156797399u, 2353488425u, 1806415863u } };
    return (void)in, points[i[0]][i[1]] * 0x1p-32L;
}
static real none(const nd *in, const int64_t *i) { return (void)in, (void)i, NAN; }
static real shifted(const nd *in, const int64_t *i)
{
    const uint32_t counter[4] = { (uint32_t)i[1], 0, 0, 0 }, key[2] = { (uint32_t)SEED, (uint32_t)(SEED >> 32) };
    uint32_t words[4];
    philox(counter, key, words);
    return (real)((uint32_t)(even_points(in, i) * 0x1p32L) ^ words[0]) * 0x1p-32L;
}
static real seven(const nd *in, const int64_t *i) { return (void)in, (void)i, 7.5L; }
static real no_number(const nd *in, const int64_t *i) { return (void)in, (void)i, (real)NAN; }
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
    { "full", "full([2 3], nan)", { 0 }, { { 0 } }, 2, { 2, 3 }, no_number, 0, f32 },
    { "full", "full([2 3], nan, dtype=f16)", { 0 }, { { 0 } }, 2, { 2, 3 }, no_number, 0, f16 },
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
    { "exponential",
      "exponential([3 5 7], seed=1234567890123, scale=2, stream=3)",
      { 0 },
      { { 0 } },
      3,
      { 3, 5, 7 },
      waits,
      0x1p-18L,
      f32 },
    { "exponential",
      "exponential([3 5 7], seed=1234567890123, dtype=f64)",
      { 0 },
      { { 0 } },
      3,
      { 3, 5, 7 },
      waits_64,
      0x1p-48L,
      f64 },
    { "poisson", "poisson([3 5 7], 3.7, seed=1234567890123)", { 0 }, { { 0 } }, 3, { 3, 5, 7 }, photons, 0, i32 },
    { "poisson",
      "poisson([3 5 7], 1000, seed=1234567890123, dtype=f64)",
      { 0 },
      { { 0 } },
      3,
      { 3, 5, 7 },
      many_photons,
      0,
      f64 },
    { "poisson", "poisson([3 5 7], 0, dtype=u8)", { 0 }, { { 0 } }, 3, { 3, 5, 7 }, zero, 0, u8 },
    { "sobol", "sobol(8, 3)", { 0 }, { { 0 } }, 2, { 8, 3 }, even_points, 0, f32 },
    { "sobol", "sobol(1, 21, skip=1000)", { 0 }, { { 0 } }, 2, { 1, 21 }, point_1000, 0, f32 },
    { "sobol",
      "sobol(8, 3, scramble=shift, seed=1234567890123, dtype=f64)",
      { 0 },
      { { 0 } },
      2,
      { 8, 3 },
      shifted,
      0,
      f64 },
    { "sobol_at",
      "sobol_at(indices([8 3], 0), indices([8 3], 1))",
      { 0 },
      { { 0 } },
      2,
      { 8, 3 },
      even_points,
      0,
      f32 },
    { "sobol_at",
      "sobol_at(numbers([1000], dtype=i64), indices([1 21], 1, dtype=u8))",
      { 0 },
      { { 0 } },
      2,
      { 1, 21 },
      point_1000,
      0,
      f32 },
    { "sobol_at",
      "sobol_at(numbers([0; 1], dtype=u32) + 3000000000, indices([2 3], 1), dtype=f64)",
      { 0 },
      { { 0 } },
      2,
      { 2, 3 },
      far_points,
      0,
      f64 },
    { "sobol_at",
      "sobol_at(numbers([-1 4294967296 0 0], dtype=i64), numbers([0 0 -1 21], dtype=i32))",
      { 0 },
      { { 0 } },
      1,
      { 4 },
      none,
      0,
      f32 },
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

/* The first 1024 points have one in each interval of 1 / 1024, in each dimension. */
START_TEST(points_of_sobol_are_spread_evenly)
{
    enum { N = 1024, DIMENSIONS = 21 };
    nd_bench b;
    float *points = malloc(sizeof *points * N * DIMENSIONS);
    nd_open(&b);
    imgpar_array *a = imgpar_apply(b.ctx, "sobol(1024, 21)", NULL, 0);
    ck_assert_msg(imgpar_array_read(a, points, sizeof *points * N * DIMENSIONS) == IMGPAR_OK, "%s",
                  imgpar_array_message(a));
    for (int d = 0; d < DIMENSIONS; d++) {
        bool met[N] = { false };
        for (int k = 0; k < N; k++) {
            int at = (int)(points[k * DIMENSIONS + d] * N);
            ck_assert_msg(at >= 0 && at < N && !met[at], "dimension %d, point %d", d, k);
            met[at] = true;
        }
    }
    imgpar_array_release(a);
    free(points);
    nd_close(&b);
}
END_TEST

/* Mean and variance of a million counts, to five standard errors, also where no inversion from 0 on would do. */
START_TEST(poisson_numbers_have_mean_and_variance)
{
    static const double means[] = { 0.3, 12.5, 1e6 };
    nd_bench b;
    nd_open(&b);
    for (int k = 0; k < 3; k++) {
        char text[160];
        double moments[2];
        const double m = means[k];
        snprintf(text, sizeof text,
                 "n = poisson([1000 1000], %.1f, seed=5, dtype=f64) - %.1f\nconcat(mean(n), mean(n * n))", m, m);
        imgpar_array *a = imgpar_apply(b.ctx, text, NULL, 0);
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s", imgpar_array_message(a));
        if (info.dtype == IMGPAR_F64) {
            ck_assert_msg(imgpar_array_read(a, moments, sizeof moments) == IMGPAR_OK, "%s", imgpar_array_message(a));
        } else {
            float narrow[2];
            ck_assert_msg(imgpar_array_read(a, narrow, sizeof narrow) == IMGPAR_OK, "%s", imgpar_array_message(a));
            moments[0] = (double)narrow[0];
            moments[1] = (double)narrow[1];
        }
        ck_assert_double_le(fabs(moments[0]), 5 * sqrt(m / 1e6));
        ck_assert_double_le(fabs(moments[1] - m), 5 * sqrt((2 * m * m + m) / 1e6));
        imgpar_array_release(a);
    }
    nd_close(&b);
}
END_TEST

/* How far counts are from the distribution: the sum of (observed - expected)^2 / expected over bins that are expected
 * at least 50 times, less what it is on average, in its standard deviations. */
static double surprise(const float *counts, int n, double mean)
{
    enum { LEAST = 50 };
    const int end = (int)(mean + 12 * sqrt(mean) + 30);
    int *seen = calloc((size_t)end + 1, sizeof *seen);
    ck_assert_ptr_nonnull(seen);
    for (int k = 0; k < n; k++) {
        ck_assert_msg(counts[k] >= 0 && counts[k] == floorf(counts[k]), "%g is no count", (double)counts[k]);
        seen[counts[k] < (float)end ? (int)counts[k] : end]++;
    }
    double sum = 0, expected = 0, observed = 0, left = n;
    int bins = 0;
    for (int k = 0; k <= end; k++) {
        const double p = mean > 0 ? exp(k * log(mean) - mean - lgamma(k + 1.0)) : k == 0;
        expected += n * p;
        observed += seen[k];
        if (k < end && (expected < LEAST || left - expected < LEAST)) continue;
        if (k == end) expected = left; /* all that is beyond */
        if (expected > 0) sum += (observed - expected) * (observed - expected) / expected;
        ck_assert_msg(expected > 0 || observed == 0, "more than %d of mean %g", k, mean);
        left -= expected;
        expected = observed = 0;
        bins++;
    }
    free(seen);
    return bins > 1 ? (sum - (bins - 1)) / sqrt(2.0 * (bins - 1)) : 0;
}

START_TEST(poisson_noise_has_the_exact_distribution)
{
    enum { N = 300000 };
    static const double means[] = { 0, 0.01, 0.7, 4, 15.75, 16, 16.5, 21.25, 50, 300, 1e4, 1e6 };
    nd_bench b;
    nd_open(&b);
    float *counts = malloc(N * sizeof *counts);
    ck_assert_ptr_nonnull(counts);
    for (int k = 0; k < 12; k++)
        for (int is_wide = 0; is_wide < 2; is_wide++) {
            char text[120];
            snprintf(text, sizeof text, "cast(poisson_noise(full([300 1000], %g, dtype=%s), seed=%d), f32)", means[k],
                     is_wide ? "f64" : "f32", 11 + k);
            imgpar_array *a = imgpar_apply(b.ctx, text, NULL, 0);
            ck_assert_msg(!imgpar_array_read(a, counts, N * sizeof *counts), "%s: %s", text, imgpar_array_message(a));
            const double sigmas = surprise(counts, N, means[k]);
            ck_assert_msg(fabs(sigmas) < 4, "%s: %g standard deviations too far from the distribution", text, sigmas);
            imgpar_array_release(a);
        }
    free(counts);
    nd_close(&b);
}
END_TEST

/* Each element has a mean of its own; what is none gives NaN, and alpha stays. The same seed gives the same counts,
 * whatever is computed of them and wherever. */
START_TEST(poisson_noise_is_of_each_element)
{
    static const char *const claims[] = {
        "all(isnan(poisson_noise(numbers([nan -1 -inf])))) && all(poisson_noise(numbers([inf inf])) == inf)",
        "all(poisson_noise(zeros([5 7])) == 0) && all(poisson_noise(zeros([3 4 0])) == 7)",
        "p = poisson_noise(full([60 50], 9), seed=4)\nq = poisson_noise(full([60 50], 900), seed=4)\n"
        "all(poisson_noise(select(x < y, full([60 50], 9), 900), seed=4) == select(x < y, p, q))",
        "p = poisson_noise(full([60 50], 20), seed=4)\n"
        "all(slice(p, [31 7], [20 30]) == slice(poisson_noise(full([60 50], 20), seed=4), [31 7], [20 30])) && "
        "any(p != poisson_noise(full([60 50], 20), seed=5)) && "
        "any(p != poisson_noise(full([60 50], 20), seed=4, stream=1))",
        "a = fill(9, 8, [200 100 50 30], channels=4)\np = poisson_noise(a, seed=1)\n"
        "all(slice(p, [0 0 3], [8 9 1]) == 30) && any(slice(p, [0 0 0], [8 9 1]) != 200)",
    };
    static const char *const schedules[] = { "ref", "rows", "pixels", "tiles" };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof claims / sizeof *claims; k++)
        for (int s = 0; s < (b.has_device ? 4 : 1); s++) {
            uint8_t holds = 0;
            ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", schedules[s]), IMGPAR_OK);
            imgpar_array *a = imgpar_apply(b.ctx, claims[k], NULL, 0);
            ck_assert_msg(!imgpar_array_read(a, &holds, 1), "%s: %s", claims[k], imgpar_array_message(a));
            ck_assert_msg(holds, "%s, %s", claims[k], schedules[s]);
            imgpar_array_release(a);
        }
    nd_close(&b);
}
END_TEST

/* Random numbers of which no shape is given have that of what is around them. */
START_TEST(random_numbers_take_the_shape_around_them)
{
    static const struct {
        const char *text, *same;
    } pairs[] = {
        { "make(3, 2, random())", "random([2 3])" },
        { "make(3, 2, random(seed=4), channels=3)", "random([2 3 3], seed=4)" },
        { "make(shape=[7], expr=normal(seed=2, sigma=3) + x)", "normal([7], seed=2, sigma=3) + arange(0, 7)" },
        { "a = ones([4 5])\na * 2 + poisson(mean=3)", "2 + poisson([4 5], 3)" },
        { "fn noisy(v) = v + exponential(seed=1)\nnoisy(zeros([4 5]))", "exponential([4 5], seed=1)" },
        { "make(3, 2, max(randint(lo=1, hi=7), 2))", "max(randint([2 3], 1, 7), 2)" },
        { "make(4, 4, select(random() < 0.5, x, y))",
          "select(random([4 4]) < 0.5, indices([4 4], 1), indices([4 4], 0))" },
    };
    nd_bench b;
    nd_open(&b);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        char text[400];
        bool same = false;
        const char *last = strrchr(pairs[k].text, '\n');
        int head = last ? (int)(last + 1 - pairs[k].text) : 0;
        snprintf(text, sizeof text, "%.*sall((%s) == (%s))", head, pairs[k].text, pairs[k].text + head, pairs[k].same);
        imgpar_array *a = imgpar_apply(b.ctx, text, NULL, 0);
        ck_assert_msg(imgpar_array_read(a, &same, sizeof same) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
        ck_assert_msg(same, "%s", text);
        imgpar_array_release(a);
    }
    nd_close(&b);
}
END_TEST

START_TEST(what_cannot_be_made_is_refused)
{
    static const struct {
        const char *text, *message;
    } refusals[] = {
        { "zeros([1 2 3 4 5 6 7 8 9])", "zeros: shape has 9 elements; there are up to 8 axes" },
        { "zeros([2 -1])", "zeros: shape has -1, which is below 0" },
        { "zeros([2 2147483648])", "zeros: shape has 2147483648, which is above 2147483647" },
        { "zeros([2 0.5])", "zeros: shape has 0.5, which is not a whole number" },
        { "zeros(2.5)", "zeros: shape=2.5 is not a whole number" },
        { "arange(0, 5, 0)", "arange: step must not be 0" },
        { "randint([3], 0, 300, dtype=u8)", "randint: u8 does not hold all numbers from 0 to 299" },
        { "randint([3], 5, 5)", "randint: lo=5 is not below hi=5" },
        { "randint([3], 0.5, 5)", "randint: lo=0.5 is not a whole number" },
        { "random([3], seed=0.5)", "random: seed=0.5 is not a whole number" },
        { "random()", "random: shape is missing, and nothing here says which: write random([height width])" },
        { "2 * normal(sigma=3)", "normal: shape is missing, and nothing here says which" },
        { "poisson([3], 200, dtype=u8)", "poisson: numbers of the mean 200 are up to " },
        { "poisson([3], -1)", "poisson: mean=-1 is below 0" },
        { "sobol(8, 22)", "sobol: dimensions=22 is above 21" },
        { "sobol(2147483647, 2, skip=1)", "sobol: count=2147483647 and skip=1: the sequence has 2147483647 points" },
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
    tcase_add_test(c, points_of_sobol_are_spread_evenly);
    tcase_add_test(c, poisson_numbers_have_mean_and_variance);
    tcase_add_test(c, poisson_noise_has_the_exact_distribution);
    tcase_add_test(c, poisson_noise_is_of_each_element);
    tcase_add_test(c, random_numbers_take_the_shape_around_them);
    tcase_add_test(c, what_cannot_be_made_is_refused);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
