/* SPDX-License-Identifier: MIT */
/* Of arrays of numbers what NumPy and SciPy have, and figures (ops/written_arrays.def), against plain loops in long
 * double. */
#include "asserts.h"
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { H = 19, W = 26 };

static imgpar_dtype signed_of(imgpar_dtype dtype) { return dtype == IMGPAR_F32 ? IMGPAR_F32 : IMGPAR_I32; }

/* text of a is want, each element but for a part of its magnitude and a number. */
static void expect(const char *text, const picture *a, picture *want, real part, real slack)
{
    for (int64_t k = 0; k < picture_count(want); k++)
        want->slack[k] = fabsl(want->v[k]) * part + slack;
    written_expect(text, &a, 1, want, true);
}

static void expect_number(const char *text, const picture *a, imgpar_dtype dtype, real value, real slack)
{
    picture want = picture_new(dtype, 1, 1, 1);
    want.v[0] = value;
    expect(text, a, &want, 0, slack);
    picture_free(&want);
}

/* ---- along an axis ------------------------------------------------------------------------------ */

static const struct {
    const char *axis;
    int y, x, c;
} axes[] = { { "", 1, 0, 0 }, { ", axis=1", 0, 1, 0 }, { ", axis=-1", 0, 0, 1 } };

START_TEST(differences)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int y = axes[_i / WRITTEN_DTYPES].y, x = axes[_i / WRITTEN_DTYPES].x, c = axes[_i / WRITTEN_DTYPES].c;
    picture a = written_levels(dtype, H, W, 3, 3), want = picture_new(signed_of(dtype), H - y, W - x, 3 - c);
    char text[40];
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t j = k / want.c / want.w, i = k / want.c % want.w, n = k % want.c;
        want.v[k] = *picture_at(&a, j + y, i + x, n + c) - *picture_at(&a, j, i, n);
    }
    snprintf(text, sizeof text, "diff($1%s)", axes[_i / WRITTEN_DTYPES].axis);
    expect(text, &a, &want, 0, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

static int64_t inside(int64_t k, int64_t n) { return k < 0 ? 0 : k >= n ? n - 1 : k; }

START_TEST(slopes)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int y = axes[_i / WRITTEN_DTYPES].y, x = axes[_i / WRITTEN_DTYPES].x, c = axes[_i / WRITTEN_DTYPES].c;
    picture a = written_levels(dtype, H, W, 3, 4), want = picture_new(IMGPAR_F32, H, W, 3);
    char text[40];
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t at[] = { k / 3 / W, k / 3 % W, k % 3 }, n[] = { H, W, 3 }, by[] = { y, x, c };
        int64_t to[3], from[3], apart = 0;
        for (int d = 0; d < 3; d++) {
            to[d] = inside(at[d] + by[d], n[d]);
            from[d] = inside(at[d] - by[d], n[d]);
            apart += to[d] - from[d];
        }
        want.v[k] = (*picture_at(&a, to[0], to[1], to[2]) - *picture_at(&a, from[0], from[1], from[2])) / (real)apart;
    }
    snprintf(text, sizeof text, "gradient($1%s)", axes[_i / WRITTEN_DTYPES].axis);
    expect(text, &a, &want, 0, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

/* Alpha is a channel like others. */
START_TEST(shares_of_exponentials)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int channels = _i / WRITTEN_DTYPES + 3;
    picture a = written_levels(dtype, H, W, channels, 5), all = picture_new(IMGPAR_F32, H, W, channels),
            columns = picture_new(IMGPAR_F32, H, W, channels);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const int64_t y = k / channels / W, x = k / channels % W;
        real sum = 0;
        for (int c = 0; c < channels; c++)
            sum += expl(*picture_at(&a, y, x, c) - a.v[k]);
        all.v[k] = 1 / sum;
        sum = 0;
        for (int i = 0; i < W; i++)
            sum += expl(*picture_at(&a, y, i, k % channels) - a.v[k]);
        columns.v[k] = 1 / sum;
    }
    expect("softmax($1)", &a, &all, 0x1p-18L, 0x1p-126L);
    expect("softmax($1, axis=1)", &a, &columns, 0x1p-18L, 0x1p-126L);
    picture_free(&a);
    picture_free(&all);
    picture_free(&columns);
}
END_TEST

/* Alpha is a channel like others. */
START_TEST(sums_along_axes)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 4, 21), logs = picture_new(IMGPAR_F32, H, W, 1),
            areas = picture_new(IMGPAR_F32, H, 4, 1), units = picture_new(IMGPAR_F32, H, W, 4);
    for (int64_t k = 0; k < H * W; k++) {
        const real *v = &a.v[4 * k], most = fmaxl(fmaxl(v[0], v[1]), fmaxl(v[2], v[3]));
        real sum = 0, squares = 0;
        for (int c = 0; c < 4; c++) {
            sum += expl(v[c] - most);
            squares += v[c] * v[c];
        }
        logs.v[k] = most + logl(sum);
        for (int c = 0; c < 4; c++)
            units.v[4 * k + c] = squares > 0 ? v[c] / sqrtl(squares) : 0;
    }
    for (int64_t k = 0; k < 4 * H; k++)
        for (int x = 1; x < W; x++)
            areas.v[k] += 0.25L * (*picture_at(&a, k / 4, x - 1, k % 4) + *picture_at(&a, k / 4, x, k % 4)) / 2;
    expect("logsumexp($1)", &a, &logs, 0x1p-18L, 0x1p-18L);
    expect("trapezoid($1, axis=1, dx=0.25)", &a, &areas, 0x1p-18L, 0);
    expect("unit($1)", &a, &units, 0x1p-18L, 0);
    picture_free(&a);
    picture_free(&logs);
    picture_free(&areas);
    picture_free(&units);
}
END_TEST

START_TEST(steps_and_curves)
{
    static const real xs[] = { 0.1L, 0.25L, 0.25L, 0.6L, 0.9L }, ys[] = { 20, 50, -30, -30, 7 };
    const imgpar_dtype dtype = written_dtypes[_i];
    const real full = dtype_full(dtype);
    picture a = written_levels(dtype, H, W, 4, 22), smooth = picture_new(IMGPAR_F32, H, W, 4),
            step = picture_new(IMGPAR_F32, H, W, 4), curve = picture_new(IMGPAR_F32, H, W, 4);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        const real v = a.v[k] / full, t = fminl(fmaxl((v - 0.2L) / 0.5L, 0), 1);
        int at = -1;
        while (at < 4 && xs[at + 1] <= v)
            at++;
        smooth.v[k] = t * t * (3 - 2 * t);
        step.v[k] = a.v[k] >= full / 2;
        curve.v[k] = at < 0    ? ys[0]
                     : at == 4 ? ys[4]
                               : ys[at] + (v - xs[at]) / (xs[at + 1] - xs[at]) * (ys[at + 1] - ys[at]);
        if (k % 4 == 3 && dtype != IMGPAR_F32) curve.v[k] = a.v[k]; /* alpha stays */
    }
    char text[160];
    snprintf(text, sizeof text, "smoothstep($1, %.12Lg, %.12Lg)", full * 0.2L, full * 0.7L);
    expect(text, &a, &smooth, 0, 0x1p-20L);
    snprintf(text, sizeof text, "smoothstep($1, %.12Lg, %.12Lg)", full / 2, full / 2);
    expect(text, &a, &step, 0, 0);
    snprintf(text, sizeof text,
             "interp($1, cast(numbers([0.1 0.25 0.25 0.6 0.9]), f64) * %.12Lg, numbers([20 50 -30 -30 7]))", full);
    expect(text, &a, &curve, 0, 100 * 0x1p-18L);
    picture_free(&a);
    picture_free(&smooth);
    picture_free(&step);
    picture_free(&curve);
}
END_TEST

/* ---- tables of sums, matrices --------------------------------------------------------------------- */

START_TEST(a_table_of_sums)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 3, 6);
    picture want = picture_new(dtype == IMGPAR_F32 ? IMGPAR_F32 : IMGPAR_U64, H, W, 3);
    for (int64_t k = 0; k < picture_count(&a); k++)
        for (int64_t y = 0; y <= k / 3 / W; y++)
            for (int64_t x = 0; x <= k / 3 % W; x++)
                want.v[k] += *picture_at(&a, y, x, k % 3);
    expect("integral($1)", &a, &want, dtype == IMGPAR_F32 ? (H + W) * 0x1p-24L : 0, 0);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(products_of_all_with_all)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, 1, 7, 1, 7), b = written_levels(dtype, 1, 12, 1, 8);
    const imgpar_dtype product = dtype == IMGPAR_U16 ? IMGPAR_I64 : signed_of(dtype);
    picture want = picture_new(product, 7, 12, 1);
    for (int64_t k = 0; k < picture_count(&want); k++)
        want.v[k] = a.v[k / 12] * b.v[k % 12];
    written_expect("outer(reshape($1, [-1]), reshape($2, [-1]))", (const picture *[]){ &a, &b }, 2, &want, true);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

START_TEST(parts_of_matrices)
{
    static const int borders[] = { 0, 3, -4, 40, -40 };
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int k = borders[_i / WRITTEN_DTYPES];
    picture a = written_levels(dtype, H, W, 1, 9), lower = picture_copy(&a), upper = picture_copy(&a);
    real sum = 0;
    char text[80];
    for (int64_t n = 0; n < picture_count(&a); n++) {
        const int64_t above = n % W - n / W - k;
        if (above > 0) lower.v[n] = 0;
        if (above < 0) upper.v[n] = 0;
        if (above == 0) sum += a.v[n];
    }
    snprintf(text, sizeof text, "tril(reshape($1, [19, 26]), %d)", k);
    expect(text, &a, &lower, 0, 0);
    snprintf(text, sizeof text, "triu(reshape($1, [19, 26]), %d)", k);
    expect(text, &a, &upper, 0, 0);
    snprintf(text, sizeof text, "trace(reshape($1, [19, 26]), %d)", k);
    if (k > -H && k < W) expect_number(text, &a, dtype == IMGPAR_F32 ? IMGPAR_F32 : IMGPAR_U64, sum, 1e-5L);
    picture_free(&a);
    picture_free(&lower);
    picture_free(&upper);
}
END_TEST

START_TEST(blocks_of_products)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, 3, 5, 1, 23), b = written_levels(dtype, 4, 2, 1, 24);
    const imgpar_dtype product = dtype == IMGPAR_U16 ? IMGPAR_I64 : signed_of(dtype);
    picture want = picture_new(product, 12, 10, 1);
    for (int64_t k = 0; k < picture_count(&want); k++) {
        const int64_t y = k / 10, x = k % 10;
        want.v[k] = *picture_at(&a, y / 4, x / 2, 0) * *picture_at(&b, y % 4, x % 2, 0);
    }
    written_expect("kron(reshape($1, [3 5]), reshape($2, [4 2]))", (const picture *[]){ &a, &b }, 2, &want, true);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

START_TEST(covariances_and_distances)
{
    enum { N = 7 };
    const imgpar_dtype dtype = written_dtypes[_i];
    const real full = dtype_full(dtype);
    picture a = written_levels(dtype, H, N, 1, 25), b = written_levels(dtype, W, N, 1, 26);
    picture covariances = picture_new(IMGPAR_F32, N, N, 1), far = picture_new(IMGPAR_F32, H, W, 1);
    real means[N] = { 0 };
    for (int64_t k = 0; k < H * N; k++)
        means[k % N] += a.v[k] / H;
    for (int64_t k = 0; k < N * N; k++)
        for (int y = 0; y < H; y++)
            covariances.v[k] += (a.v[y * N + k / N] - means[k / N]) * (a.v[y * N + k % N] - means[k % N]) / (H - 1);
    for (int64_t k = 0; k < H * W; k++) {
        for (int n = 0; n < N; n++)
            far.v[k] += powl(a.v[k / W * N + n] - b.v[k % W * N + n], 2);
        far.v[k] = sqrtl(far.v[k]);
    }
    expect("cov(reshape($1, [19 7]))", &a, &covariances, 0, full * full * 0x1p-16L);
    for (int64_t k = 0; k < H * W; k++)
        far.slack[k] = far.v[k] * 0x1p-18L;
    written_expect("cdist(reshape($1, [19 7]), reshape($2, [26 7]))", (const picture *[]){ &a, &b }, 2, &far, true);
    picture_free(&a);
    picture_free(&b);
    picture_free(&covariances);
    picture_free(&far);
}
END_TEST

/* ---- what an array is like ----------------------------------------------------------------------- */

START_TEST(the_entropy_of_few_levels)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    static const int often[] = { 1, 2, 3, 5, 8, 0, 475 };
    picture a = picture_new(dtype, H, W, 1);
    real bits = 0;
    int at = 0;
    for (int k = 0; k < 7; k++) {
        const real part = (real)often[k] / (H * W);
        if (often[k] > 0) bits -= part * log2l(part);
        for (int n = 0; n < often[k]; n++)
            a.v[at++] = dtype_full(dtype) - 13 * k;
    }
    ck_assert_int_eq(at, H * W);
    expect_number("entropy($1)", &a, IMGPAR_F32, bits, 0x1p-12L);
    expect_number("entropy(clamp($1, 9, 9))", &a, IMGPAR_F32, 0, 0);
    picture_free(&a);
}
END_TEST

/* The mean of (a - its mean)^n. */
static real moment(const picture *a, int n)
{
    real mean = 0, sum = 0;
    for (int64_t k = 0; k < picture_count(a); k++)
        mean += a->v[k] / (real)picture_count(a);
    for (int64_t k = 0; k < picture_count(a); k++)
        sum += powl(a->v[k] - mean, n) / (real)picture_count(a);
    return sum;
}

START_TEST(moments_and_correlation)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int channels = _i / WRITTEN_DTYPES + 3; /* alpha is one like others */
    picture a = written_levels(dtype, H, W, channels, 10), b = written_levels(dtype, H, W, channels, 11);
    for (int64_t k = 0; k < picture_count(&a); k++) {
        a.v[k] = rounded(dtype, a.v[k] * a.v[k] / dtype_full(dtype)); /* more dark than light ones */
        b.v[k] = rounded(dtype, (2 * a.v[k] + b.v[k]) / 3);
    }
    const real m = moment(&a, 2);
    expect_number("skewness($1)", &a, IMGPAR_F32, moment(&a, 3) / powl(m, 1.5L), 0x1p-10L);
    expect_number("kurtosis($1)", &a, IMGPAR_F32, moment(&a, 4) / (m * m) - 3, moment(&a, 4) / (m * m) * 0x1p-10L);
    real both = 0, u = 0, v = 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        u += a.v[k] / (real)picture_count(&a);
        v += b.v[k] / (real)picture_count(&a);
    }
    for (int64_t k = 0; k < picture_count(&a); k++)
        both += (a.v[k] - u) * (b.v[k] - v) / (real)picture_count(&a);
    picture want = picture_new(IMGPAR_F32, 1, 1, 1);
    want.v[0] = both / sqrtl(m * moment(&b, 2));
    want.slack[0] = 0x1p-12L;
    written_expect("correlation($1, $2)", (const picture *[]){ &a, &b }, 2, &want, true);
    picture_free(&a);
    picture_free(&b);
    picture_free(&want);
}
END_TEST

/* text of a and b is a number. */
static void expect_of_two(const char *text, const picture *a, const picture *b, real value, real slack)
{
    picture want = picture_new(IMGPAR_F32, 1, 1, 1);
    want.v[0] = value;
    want.slack[0] = slack;
    written_expect(text, (const picture *[]){ a, b }, 2, &want, true);
    picture_free(&want);
}

START_TEST(figures_of_all_elements)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int channels = _i / WRITTEN_DTYPES + 3; /* alpha is one like others */
    picture a = written_levels(dtype, H, W, channels, 27), b = written_levels(dtype, H, W, channels, 28),
            scores = picture_new(IMGPAR_F32, H, W, channels);
    const real n = picture_count(&a), deviation = sqrtl(moment(&a, 2));
    real mean = 0, aa = 0, bb = 0, ab = 0, apart = 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        mean += a.v[k] / n;
        aa += a.v[k] * a.v[k] / n;
        bb += b.v[k] * b.v[k] / n;
        ab += a.v[k] * b.v[k] / n;
        apart += (a.v[k] - b.v[k]) * (a.v[k] - b.v[k]) / n;
    }
    for (int64_t k = 0; k < picture_count(&a); k++)
        scores.v[k] = (a.v[k] - mean) / deviation;
    expect("standardize($1)", &a, &scores, 0, 0x1p-16L);
    expect_number("rms($1)", &a, IMGPAR_F32, sqrtl(aa), sqrtl(aa) * 0x1p-18L);
    expect_of_two("rmse($1, $2)", &a, &b, sqrtl(apart), sqrtl(apart) * 0x1p-20L);
    expect_of_two("cosine_similarity($1, $2)", &a, &b, ab / sqrtl(aa * bb), 0x1p-16L);
    expect_number("nansum($1)", &a, dtype == IMGPAR_F32 ? IMGPAR_F32 : IMGPAR_U64, mean * n,
                  dtype == IMGPAR_F32 ? mean * n * 0x1p-18L : 0);
    expect_number("nanmean($1)", &a, IMGPAR_F32, mean, mean * 0x1p-18L);
    picture_free(&a);
    picture_free(&b);
    picture_free(&scores);
}
END_TEST

START_TEST(figures_of_numbers_among_others)
{
    picture a = written_levels(IMGPAR_F32, H, W, 1, 29);
    real sum = 0;
    int n = 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        if (k % 5 == 3) a.v[k] = NAN;
        if (k % 5 == 3) continue;
        sum += a.v[k];
        n++;
    }
    expect_number("nansum($1)", &a, IMGPAR_F32, sum, sum * 0x1p-18L);
    expect_number("nanmean($1)", &a, IMGPAR_F32, sum / n, sum / n * 0x1p-18L);
    picture_free(&a);
}
END_TEST

START_TEST(masks_in_common)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 1, 30), b = written_levels(dtype, H, W, 1, 31);
    real of_a = 0, of_b = 0, both = 0;
    for (int64_t k = 0; k < picture_count(&a); k++) {
        a.v[k] = k % 7 < 3 ? 0 : a.v[k] + dtype_full(dtype) / 1000;
        b.v[k] = k % 5 < 2 ? 0 : b.v[k] + dtype_full(dtype) / 1000;
        a.v[k] = rounded(dtype, a.v[k]), b.v[k] = rounded(dtype, b.v[k]);
        of_a += a.v[k] != 0;
        of_b += b.v[k] != 0;
        both += a.v[k] != 0 && b.v[k] != 0;
    }
    expect_of_two("iou($1, $2)", &a, &b, both / (of_a + of_b - both), 0x1p-20L);
    expect_of_two("dice($1, $2)", &a, &b, 2 * both / (of_a + of_b), 0x1p-20L);
    expect_of_two("iou($1 - $1, $2 - $2)", &a, &b, 1, 0);
    expect_of_two("dice($1 - $1, $2 - $2)", &a, &b, 1, 0);
    picture_free(&a);
    picture_free(&b);
}
END_TEST

START_TEST(the_middle_of_the_light)
{
    const imgpar_dtype dtype = written_dtypes[_i];
    picture a = written_levels(dtype, H, W, 1, 32), want = picture_new(IMGPAR_F32, 1, 2, 1);
    real sum = 0, y = 0, x = 0;
    for (int64_t k = 0; k < H * W; k++) {
        a.v[k] = rounded(dtype, a.v[k] * (real)(k % W) / W);
        sum += a.v[k];
        y += a.v[k] * (real)(k / W);
        x += a.v[k] * (real)(k % W);
    }
    want.v[0] = y / sum;
    want.v[1] = x / sum;
    expect("centroid($1)", &a, &want, 0, W * 0x1p-16L);
    picture_free(&a);
    picture_free(&want);
}
END_TEST

START_TEST(how_colourful)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int channels = _i / WRITTEN_DTYPES + 3;
    picture a = written_levels(dtype, H, W, channels, 33), rg = picture_new(IMGPAR_F32, H, W, 1),
            yb = picture_new(IMGPAR_F32, H, W, 1);
    real of_rg = 0, of_yb = 0;
    for (int64_t k = 0; k < H * W; k++) {
        real *v = &a.v[k * channels];
        v[0] = rounded(dtype, v[0] / 2); /* more blue than red */
        rg.v[k] = (v[0] - v[1]) * 255 / dtype_full(dtype);
        yb.v[k] = ((v[0] + v[1]) / 2 - v[2]) * 255 / dtype_full(dtype);
        of_rg += rg.v[k] / (H * W);
        of_yb += yb.v[k] / (H * W);
    }
    const real want = sqrtl(moment(&rg, 2) + moment(&yb, 2)) + 0.3L * sqrtl(of_rg * of_rg + of_yb * of_yb);
    expect_number("colorfulness($1)", &a, IMGPAR_F32, want, want * 0x1p-14L);
    picture_free(&a);
    picture_free(&rg);
    picture_free(&yb);
}
END_TEST

/* No rounding of a mean makes numbers of them; what is very large or small is no different. */
START_TEST(moments_of_equal_elements_are_no_numbers)
{
    static const char *const texts[] = {
        "isnan(skewness(full([77, 33], 0.1)))",
        "isnan(kurtosis(full([300, 333, 1], 0.7)))",
        "isnan(correlation(full([77, 33], 0.1), random([77, 33], seed=1)))",
        "abs(correlation(numbers([1e-15 2e-15 5e-15]), numbers([1e30 2e30 5e30])) - 1) < 1e-6",
        "abs(skewness(numbers([1e30 2e30 5e30])) - 0.5280049) < 1e-5",
        "gradient(numbers([5])) == 0",
        "trapezoid(numbers([5])) == 0",
        "abs(logsumexp(numbers([1000 1000])) - 1000.6931) < 1e-3",
        "all(standardize(full([3, 5], 0.1)) == 0)",
        "all(unit(zeros([4 3])) == 0)",
        "all(isnan(standardize(concatenate(numbers([5 5]), zeros([1]) / 0))))",
        "all(isnan(standardize(ones([3]) / 0)))",
        "all(abs(standardize(numbers([-3e38 3e38 0])) - numbers([-1.2247449 1.2247449 0])) < 1e-5)",
        "all(interp(numbers([-1 0 0.5 1 2]), numbers([0 1]), concatenate(numbers([5]), ones([1]) / 0)) == "
        "concatenate(numbers([5 5]), ones([3]) / 0))",
        "interp(numbers([0]), numbers([-3e38 3e38]), numbers([-1 1])) == 0",
        "trapezoid(numbers([3e38 3e38])) == cast(3e38, f32)",
        "trapezoid(concatenate(ones([1]) / 0, numbers([1 2 4]))) == inf",
        "rms(ones([2]) / 0) == inf",
        "isnan(rms(concatenate(ones([1]) / 0, zeros([1]) / 0)))",
        "all(isnan(unit(concatenate(zeros([1]) / 0, zeros([1])))))",
        "iou(numbers([1 0 2]) > 0, cast(numbers([255 255 0]), u8)) == cast(1 / 3, f32)",
        "abs(rmse(numbers([1e30]), numbers([0])) / 1e30 - 1) < 1e-5",
        "isnan(smoothstep(zeros([1]) / 0, 1, 3))",
        "isnan(noise_level(ones([2 2 1])))",
        "colorfulness(ones([4 4])) == 0",
        "all(centroid(ones([1 5])) == numbers([0 2]))",
        "noise_level(numbers([1 2 3; 3 4 9; 1 7 2])) > 3.968",
        "interp(numbers([4]), numbers([7]), numbers([9])) == 9",
        "all(isnan(interp(zeros([2]) / 0, numbers([0 7]), numbers([9 1]))))",
        "isnan(cosine_similarity(zeros([3]), ones([3])))",
        "isnan(nanmean(zeros([3]) / 0))",
        "rms(full([3, 5], 1e30)) == cast(1e30, f32)",
        "trace(numbers([1 2; 3 4]), 1) == 2",
        "trace(zeros([0 0 3])) == 0",
        "sum(tril(zeros([0 3]))) == 0",
        "all(tril(ones([2 2 3])) == reshape(numbers([1 0 0 1 1 0 1 0 0 1 1 0]), [2 2 3]))",
        "all(triu(ones([1 2 2 3]), 1) == reshape(numbers([0 1 1 0 0 1 0 1 1 0 0 1]), [1 2 2 3]))",
    };
    picture a = picture_new(IMGPAR_U8, 1, 1, 1);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        expect_number(texts[k], &a, IMGPAR_BOOL, 1, 0);
    picture_free(&a);
}
END_TEST

/* Of gray pictures, in one channel or three, with and without alpha, which does not count. */
START_TEST(sharpness_is_that_of_the_luminance)
{
    const imgpar_dtype dtype = written_dtypes[_i % WRITTEN_DTYPES];
    const int channels = _i / WRITTEN_DTYPES + 1, colours = channels > 2 ? 3 : 1;
    if (dtype == IMGPAR_F32 && channels % 2 == 0) return; /* floats that were not decoded have no alpha */
    picture gray = written_levels(dtype, H, W, 1, 12), a = written_levels(dtype, H, W, channels, 13),
            edges = picture_copy(&gray);
    for (int64_t k = 0; k < H * W; k++) {
        const int64_t y = k / W, x = k % W;
        for (int c = 0; c < colours; c++)
            *picture_at(&a, y, x, c) = gray.v[k];
        edges.v[k] = written_nearest(&gray, y - 1, x, 0) + written_nearest(&gray, y + 1, x, 0) +
                     written_nearest(&gray, y, x - 1, 0) + written_nearest(&gray, y, x + 1, 0) - 4 * gray.v[k];
    }
    const real want = moment(&edges, 2);
    real noise = 0;
    for (int64_t y = 1; y < H - 1; y++)
        for (int64_t x = 1; x < W - 1; x++) {
            real n = 0;
            for (int k = 0; k < 9; k++)
                n +=
                    (k / 3 == 1 ? -2 : 1) * (k % 3 == 1 ? -2 : 1) * *picture_at(&gray, y + k / 3 - 1, x + k % 3 - 1, 0);
            noise += fabsl(n) / ((H - 2) * (W - 2));
        }
    noise *= sqrtl(acosl(0)) / 6;
    expect_number("noise_level($1)", &a, IMGPAR_F32, noise, noise * 0x1p-16L);
    expect_number("sharpness($1)", &a, dtype == IMGPAR_U16 ? IMGPAR_F64 : IMGPAR_F32, want, want * 0x1p-18L);
    picture_free(&gray);
    picture_free(&a);
    picture_free(&edges);
}
END_TEST

/* In the words of the row, not of those that it is made of. */
static const struct {
    const char *text, *why;
} misshapen[] = {
    { "cov(numbers([1 2 3]))", "cov: a is [3] f32; it must be a matrix, which reshape() makes" },
    { "cov(zeros([0, 3]))", "cov: a is [0, 3] f32; it must be a matrix, which reshape() makes" },
    { "kron(eye(2), ones([2 2 3]))", "kron: b is [2, 2, 3] f32; it must be a matrix" },
    { "cdist(eye(2), eye(3))", "cdist: a is [2, 2] f32, b is [3, 3] f32; they must have as many columns" },
    { "interp(numbers([5]), numbers([1 2]), numbers([1 2 3]))",
      "interp: xs is [2] f32, ys is [3] f32; they must have as many elements, one at least" },
};

START_TEST(shapes_that_do_not_fit_are_told)
{
    imgpar_array *a = imgpar_apply(written_context, misshapen[_i].text, NULL, 0);
    ck_assert_int_eq(imgpar_array_status(a), IMGPAR_E_SHAPE);
    ck_assert_msg(strstr(imgpar_array_message(a), misshapen[_i].why) != NULL, "%s: %s", misshapen[_i].text,
                  imgpar_array_message(a));
    imgpar_array_release(a);
}
END_TEST

int main(void)
{
    enum { N_AXES = sizeof axes / sizeof *axes };
    TCase *tc = written_case();
    tcase_add_loop_test(tc, differences, 0, N_AXES * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, slopes, 0, N_AXES * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, shares_of_exponentials, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, sums_along_axes, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, steps_and_curves, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, blocks_of_products, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, covariances_and_distances, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, shapes_that_do_not_fit_are_told, 0, (int)(sizeof misshapen / sizeof *misshapen));
    tcase_add_loop_test(tc, figures_of_all_elements, 0, 2 * WRITTEN_DTYPES);
    tcase_add_test(tc, figures_of_numbers_among_others);
    tcase_add_loop_test(tc, masks_in_common, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, the_middle_of_the_light, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, how_colourful, 0, 2 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, a_table_of_sums, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, products_of_all_with_all, 0, WRITTEN_DTYPES);
    tcase_add_loop_test(tc, parts_of_matrices, 0, 5 * WRITTEN_DTYPES);
    tcase_add_loop_test(tc, the_entropy_of_few_levels, 0, 2);
    tcase_add_loop_test(tc, moments_and_correlation, 0, 2 * WRITTEN_DTYPES);
    tcase_add_test(tc, moments_of_equal_elements_are_no_numbers);
    tcase_add_loop_test(tc, sharpness_is_that_of_the_luminance, 0, 4 * WRITTEN_DTYPES);
    return written_run("written_arrays", tc);
}
