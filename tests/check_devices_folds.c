/* SPDX-License-Identifier: MIT */
/*
 * Reductions and histograms on several devices: each folds rows of its own and the totals are combined. Whatever the
 * sizes, the shares and what is below the fold, the answer is that of a plain loop. And which folds stay on one device.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "devices_help.h"

#include <math.h>
#include <stdio.h>

static const char *const placements[] = { "1:1", "3:1", "1:9", "1" };
enum { N_PLACEMENTS = sizeof placements / sizeof *placements };

static const int64_t sizes[][2] = { { 37, 50 }, { 2, 9 }, { 1, 20 }, { 65, 4 } };
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(imgpar_context_set(ctx, name, value), IMGPAR_OK);
}

static void assert_explained(imgpar_array *a, const char *want)
{
    char *text;
    ck_assert_int_eq(imgpar_array_explain(a, "text", &text), IMGPAR_OK);
    ck_assert_msg(strstr(text, want) != NULL, "\"%s\" is not in:\n%s", want, text);
    imgpar_free(text);
}

/* The one element of a, of whatever integer dtype. */
static int64_t integer_of(imgpar_array *a)
{
    imgpar_info info = { .struct_size = sizeof info };
    int64_t wide = 0;
    ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
    ck_assert_uint_le(info.size_bytes, sizeof wide);
    void *got = elements_of(a);
    memcpy(&wide, got, info.size_bytes); /* little-endian */
    free(got);
    int unused_bits = 64 - 8 * (int)info.size_bytes;
    return ip_dtype(info.dtype)->is_signed ? (int64_t)((uint64_t)wide << unused_bits) >> unused_bits : wide;
}

/* An image of integers, level(i) + offset. */
static imgpar_array *integers(imgpar_dtype dtype, const int64_t size[2], int offset)
{
    size_t each = ip_dtype(dtype)->size_bytes, n = (size_t)(size[0] * size[1]);
    char *data = malloc(n * each);
    for (size_t i = 0; i < n; i++) {
        int64_t v = level((int64_t)i) + offset;
        memcpy(data + i * each, &v, each);
    }
    imgpar_array *a = imgpar_array_from_data(ctx, dtype, 2, size, data);
    free(data);
    return a;
}

/* ---- folds of integers -------------------------------------------------------------------------- */

static int64_t add(int64_t a, int64_t v) { return a + v; }
/* never 0 */
static int64_t multiply_odd(int64_t a, int64_t v) { return (int64_t)((uint64_t)a * (uint64_t)(2 * v + 1)); }
/* order matters */
static int64_t last_positive(int64_t a, int64_t v) { return v > 0 ? v : a; }
static int64_t least(int64_t a, int64_t v) { return v < a ? v : a; }
static int64_t most(int64_t a, int64_t v) { return v > a ? v : a; }
static int64_t all(int64_t a, int64_t v) { return a && v; }
static int64_t any(int64_t a, int64_t v) { return a || v; }
static int64_t and (int64_t a, int64_t v) { return a & v; }
static int64_t or (int64_t a, int64_t v) { return a | v; }
static int64_t xor (int64_t a, int64_t v) { return a ^ v; }

    static const struct fold {
    const char *text;
    imgpar_dtype dtype;
    int offset;
    int64_t begin;
    int64_t (*step)(int64_t, int64_t);
} folds[] = {
    { "sum($1)", IMGPAR_U8, 0, 0, add },
    { "sum($1)", IMGPAR_I16, -200, 0, add },
    { "sum($1)", IMGPAR_U64, 0, 0, add },
    { "prod($1 * 2 + 1)", IMGPAR_I64, 0, 1, multiply_odd },
    { "minval($1)", IMGPAR_I16, -200, 1000, least },
    { "minval($1)", IMGPAR_U64, 9, 1000, least },
    { "maxval($1)", IMGPAR_U8, 0, 0, most },
    { "maxval($1)", IMGPAR_I64, -300, -1000, most },
    { "all($1)", IMGPAR_U8, 0, 1, all },
    { "all($1)", IMGPAR_I32, 1, 1, all },
    { "any($1)", IMGPAR_U16, 1, 0, any },
    { "bits_and($1)", IMGPAR_U16, 4096, 0xFFFF, and},
    { "bits_or($1)", IMGPAR_I32, -300, 0, or },
    { "bits_xor($1)", IMGPAR_U32, 70000, 0, xor},
    { "reduce($1, 0, (p, q) -> p + q)", IMGPAR_I32, -7, 0, add },
    { "reduce($1, 0, (p, q) -> q > 0 ? q : p, associative=true)", IMGPAR_I32, -100, 0, last_positive },
};

START_TEST(integers_are_folded_in_parts)
{
    const struct fold *f = &folds[_i];
    for (int s = 0; s < N_SIZES; s++)
        for (int p = 0; p < N_PLACEMENTS; p++) {
            int64_t want = f->begin;
            for (int64_t i = 0; i < sizes[s][0] * sizes[s][1]; i++)
                want = f->step(want, level(i) + f->offset);
            place(placements[p]);
            imgpar_array *image = integers(f->dtype, sizes[s], f->offset), *a = apply(f->text, image);
            const uint64_t before[2] = { kernels_of(0), kernels_of(1) };
            int64_t got = integer_of(a);
            ck_assert_msg(got == want, "%s, %d rows, %s: %lld, not %lld", f->text, (int)sizes[s][0], placements[p],
                          (long long)got, (long long)want);
            ck_assert_int_eq(kernels_of(0) > before[0] && kernels_of(1) > before[1],
                             sizes[s][0] > 1 && strlen(placements[p]) == 3);
            imgpar_array_release(a);
            imgpar_array_release(image);
        }
}
END_TEST

/* A mean is divided once, at the end. */
START_TEST(a_mean_of_integers_is_divided_once)
{
    const int64_t size[2] = { 37, 51 };
    double sum = 0;
    for (int i = 0; i < 37 * 51; i++)
        sum += level(i);
    imgpar_array *image = integers(IMGPAR_U8, size, 0), *mean = apply("mean(cast($1, i32))", image);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(mean, &info), IMGPAR_OK);
    ck_assert(info.dtype == IMGPAR_F64 || info.dtype == IMGPAR_F32);
    for (int p = 0; p < N_PLACEMENTS; p++) {
        place(placements[p]);
        void *got = elements_of(mean);
        double value = info.dtype == IMGPAR_F64 ? *(double *)got : (double)*(float *)got;
        ck_assert_double_eq_tol(value, sum / (37 * 51), 1e-5 * sum / (37 * 51));
        free(got);
    }
    imgpar_array_release(mean);
    imgpar_array_release(image);
}
END_TEST

/* ---- what is below and beside them ---------------------------------------------------------------- */

static int at(const int64_t size[2], int64_t y, int64_t x)
{
    y = y < 0 ? 0 : y >= size[0] ? size[0] - 1 : y;
    return level(y * size[1] + x);
}

/* A fold of a stencil reads rows of its neighbour's part, and folds its own only; in every schedule. */
START_TEST(parts_of_a_stencil_meet)
{
    static const char *const schedules[] = { "rows", "tiles", "pixels" };
    pretend(_i);
    set("schedule", schedules[_i]);
    for (int s = 0; s < N_SIZES; s++)
        for (int p = 0; p < N_PLACEMENTS; p++) {
            uint32_t counts[256] = { 0 };
            int64_t sum = 0;
            place(placements[p]);
            imgpar_array *image = image_of(ctx, sizes[s][0], sizes[s][1]);
            imgpar_array *both[2] = { apply("sum(abs($1[-2, 0] - $1[1, 0]))", image),
                                      apply("histogram(cast(abs($1[-2, 0] - $1[1, 0]), u8))", image) };
            for (int64_t y = 0; y < sizes[s][0]; y++)
                for (int64_t x = 0; x < sizes[s][1]; x++) {
                    int d = abs(at(sizes[s], y - 2, x) - at(sizes[s], y + 1, x));
                    sum += d;
                    counts[d]++;
                }
            ck_assert_int_eq(imgpar_eval(both, 2, NULL), IMGPAR_OK);
            ck_assert_int_eq(integer_of(both[0]), sum);
            uint32_t *got = elements_of(both[1]);
            for (int k = 0; k < 256; k++)
                ck_assert_msg(got[k] == counts[k], "%d rows, %s, bin %d: %u, not %u", (int)sizes[s][0], placements[p],
                              k, got[k], counts[k]);
            free(got);
            for (int k = 0; k < 2; k++)
                imgpar_array_release(both[k]);
            imgpar_array_release(image);
        }
}
END_TEST

/* An image that a kernel stores beside its fold, because another needs all of it. */
START_TEST(a_fold_sees_its_part_of_an_image_that_is_made_whole)
{
    const int64_t size[2] = { 40, 30 };
    int64_t sum = 0, column[30], medians = 0;
    pretend(_i);
    place("1:2");
    imgpar_array *image = image_of(ctx, size[0], size[1]), *d = apply("abs($1[-1, 0] - $1[1, 0])", image);
    imgpar_array *both[2] = { apply("sum($1)", d), apply("sum(crop(sort($1, axis=0), 0, 10, 30, 20))", d) };
    for (int64_t x = 0; x < 30; x++) {
        for (int64_t y = 0; y < 40; y++) {
            column[0] = abs(at(size, y - 1, x) - at(size, y + 1, x));
            sum += column[0];
        }
        int64_t sorted[40];
        for (int64_t y = 0; y < 40; y++) {
            int64_t v = abs(at(size, y - 1, x) - at(size, y + 1, x)), k = y;
            for (; k > 0 && sorted[k - 1] > v; k--)
                sorted[k] = sorted[k - 1];
            sorted[k] = v;
        }
        for (int64_t y = 10; y < 30; y++)
            medians += sorted[y];
    }
    const uint64_t before[2] = { kernels_of(0), kernels_of(1) };
    ck_assert_int_eq(imgpar_eval(both, 2, NULL), IMGPAR_OK);
    ck_assert_int_eq(integer_of(both[0]), sum);
    ck_assert_int_eq(integer_of(both[1]), medians);
    ck_assert(kernels_of(0) > before[0] && kernels_of(1) > before[1]);
    for (int k = 0; k < 2; k++)
        imgpar_array_release(both[k]);
    imgpar_array_release(d);
    imgpar_array_release(image);
}
END_TEST

START_TEST(volumes_are_folded_by_planes)
{
    enum { D = 5, H = 7, W = 9, N = D * H * W };
    uint8_t voxels[N];
    int64_t sum = 0;
    place("2:3");
    for (int i = 0; i < N; i++)
        sum += voxels[i] = level(i);
    imgpar_array *volume = imgpar_array_from_data(ctx, IMGPAR_U8, 4, (const int64_t[]){ D, H, W, 1 }, voxels),
                 *a = apply("sum($1)", volume);
    ck_assert_int_eq(integer_of(a), sum);
    ck_assert(kernels_of(0) > 0 && kernels_of(1) > 0);
    imgpar_array_release(a);
    imgpar_array_release(volume);
}
END_TEST

/* Unless told, a large image is folded by both; and each is given its rows alone. */
START_TEST(a_large_image_is_folded_by_both)
{
    enum { H = 2000, W = 3000, PARAMETERS = 8192 };
    const int64_t size[2] = { H, W };
    int64_t sum = 0;
    imgpar_counters counters = { .struct_size = sizeof counters };
    pretend(2);
    imgpar_array *image = integers(IMGPAR_U8, size, 0), *a = apply("sum($1)", image);
    for (int64_t i = 0; i < H * W; i++)
        sum += level(i);
    ck_assert_int_eq(integer_of(a), sum);
    imgpar_context_counters(ctx, &counters);
    ck_assert(kernels_of(0) > 0 && kernels_of(1) > 0);
    ck_assert_uint_lt(counters.bytes_uploaded, H * W + PARAMETERS);
    imgpar_array_release(a);
    imgpar_array_release(image);
}
END_TEST

/* ---- floats ------------------------------------------------------------------------------------------ */

enum { FLOATS_HEIGHT = 900, FLOATS_WIDTH = 1100, N_FLOATS = FLOATS_HEIGHT * FLOATS_WIDTH };

static imgpar_array *floats(double *sum)
{
    float *data = malloc(N_FLOATS * sizeof *data);
    *sum = 0;
    for (int i = 0; i < N_FLOATS; i++)
        *sum += (double)(data[i] = (float)level(i) / 3);
    imgpar_array *a =
        imgpar_array_from_data(ctx, IMGPAR_F32, 2, (const int64_t[]){ FLOATS_HEIGHT, FLOATS_WIDTH }, data);
    free(data);
    return a;
}

/* Where parts follow measured speeds a sum would have other last bits the next time. */
START_TEST(floats_are_added_up_on_one_device_unless_it_is_told)
{
    double want;
    imgpar_array *image = floats(&want), *sum = apply("sum($1)", image);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(sum, &info), IMGPAR_OK);
    assert_explained(sum, " alone: floats are added up in one order\n");
    for (int told = 0; told < 2; told++) {
        if (told) place("2:1");
        const uint64_t before[2] = { kernels_of(0), kernels_of(1) };
        void *first = elements_of(sum);
        ck_assert_int_eq(kernels_of(0) > before[0] && kernels_of(1) > before[1], told);
        double got = info.dtype == IMGPAR_F64 ? *(double *)first : (double)*(float *)first;
        ck_assert_double_eq_tol(got, want, want * 1e-6);
        for (int n = 0; told && n < 5; n++) {
            void *again = elements_of(sum);
            ck_assert_mem_eq(first, again, info.size_bytes);
            free(again);
        }
        free(first);
    }
    imgpar_array_release(sum);
    imgpar_array_release(image);
}
END_TEST

START_TEST(extremes_of_floats_are_found_in_parts)
{
    enum { H = 50, W = 8, N = H * W };
    float data[N];
    for (int p = 0; p < N_PLACEMENTS; p++)
        for (int all_nan = 0; all_nan < 2; all_nan++) {
            float low = INFINITY, high = -INFINITY;
            for (int i = 0; i < N; i++) {
                data[i] = all_nan || i % 7 == 0 ? NAN : (float)level(i) - 100.5f;
                low = fminf(low, data[i]);
                high = fmaxf(high, data[i]);
            }
            place(placements[p]);
            imgpar_array *image = imgpar_array_from_data(ctx, IMGPAR_F32, 2, (const int64_t[]){ H, W }, data);
            imgpar_array *both[2] = { apply("minval($1)", image), apply("maxval($1)", image) };
            ck_assert_int_eq(imgpar_eval(both, 2, NULL), IMGPAR_OK);
            for (int k = 0; k < 2; k++) {
                float *got = elements_of(both[k]);
                ck_assert(all_nan ? isnan(*got) : *got == (k ? high : low));
                free(got);
                imgpar_array_release(both[k]);
            }
            imgpar_array_release(image);
        }
}
END_TEST

/* ---- what is not cut ------------------------------------------------------------------------------------ */

START_TEST(what_cannot_be_folded_in_parts_says_why)
{
    const int64_t size[2] = { 40, 30 };
    int64_t sum = 0;
    place("1:1");
    imgpar_array *image = integers(IMGPAR_I32, size, 0), *total = apply("sum($1)", image);
    imgpar_array *line = apply("sum(reshape($1, [1200]))", image), *less = apply("$1 - sum($1)", image);
    imgpar_array *mixed[2] = { apply("sum(abs($1))", image), apply("abs($1)", image) }, *needed[2] = { total, less };
    const struct {
        imgpar_array **arrays;
        size_t n;
        const char *why;
    } rows[] = {
        { &line, 1, "what is folded has one row" },
        { mixed, 2, "a fold is asked for beside an image" },
        { needed, 2, "a fold is needed for another result" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char *text, want[100];
        snprintf(want, sizeof want, " alone: %s\n", rows[k].why);
        ck_assert_int_eq(imgpar_explain(rows[k].arrays, rows[k].n, "text", &text), IMGPAR_OK);
        ck_assert_msg(strstr(text, want) != NULL, "\"%s\" is not in:\n%s", want, text);
        imgpar_free(text);
    }
    for (int i = 0; i < 1200; i++)
        sum += level(i);
    ck_assert_int_eq(imgpar_eval(needed, 2, NULL), IMGPAR_OK);
    ck_assert_int_eq(integer_of(total), sum);
    ck_assert_int_eq(integer_of(line), sum);
    int64_t *got = elements_of(less);
    for (int i = 0; i < 1200; i++)
        ck_assert_int_eq(got[i], level(i) - sum);
    free(got);
    imgpar_array *const every[] = { image, total, line, less, mixed[0], mixed[1] };
    for (size_t k = 0; k < sizeof every / sizeof *every; k++)
        imgpar_array_release(every[k]);
}
END_TEST

/* ---- failures -------------------------------------------------------------------------------------------- */

START_TEST(a_part_without_room_is_folded_elsewhere)
{
    const int64_t size[2] = { 300, 300 };
    int64_t sum = 0;
    pretend(2);
    place("1:1");
    for (int64_t i = 0; i < size[0] * size[1]; i++)
        sum += level(i);
    ip_device_limit(ctx->devices.list[1], 256);
    imgpar_array *image = integers(IMGPAR_U8, size, 0), *a = apply("sum($1)", image);
    ck_assert_int_eq(integer_of(a), sum);
    imgpar_array_release(a);
    imgpar_array_release(image);
}
END_TEST

/* On one device and on two, neither of which has room for its part. */
START_TEST(what_does_not_fit_is_folded_by_halves)
{
    const int64_t size[2] = { 1500, 1501 };
    int64_t sum = 0;
    uint32_t counts[256] = { 0 };
    pretend(2);
    place((const char *const[]){ "0", "1:2" }[_i]);
    for (int64_t i = 0; i < size[0] * size[1]; i++) {
        sum += level(i);
        counts[level(i)]++;
    }
    imgpar_array *image = integers(IMGPAR_U8, size, 0), *total = apply("sum($1)", image),
                 *levels = apply("histogram($1)", image);
    imgpar_array *stencil = apply("sum(abs($1[-2, 0] - $1[1, 0]))", image),
                 *floats_too = apply("sum(cast($1, f32))", image);
    for (size_t k = 0; k < 2; k++)
        ip_device_limit(ctx->devices.list[k], 300000);
    ck_assert_int_eq(integer_of(total), sum);
    uint32_t *got = elements_of(levels);
    ck_assert_mem_eq(got, counts, sizeof counts);
    free(got);
    sum = 0;
    for (int64_t y = 0; y < size[0]; y++)
        for (int64_t x = 0; x < size[1]; x++)
            sum += abs(at(size, y - 2, x) - at(size, y + 1, x));
    ck_assert_int_eq(integer_of(stencil), sum);
    ck_assert_int_eq(imgpar_array_eval(floats_too, NULL), IMGPAR_OK);
    for (size_t k = 0; k < 2; k++)
        ip_device_limit(ctx->devices.list[k], 200); /* no row does */
    imgpar_array *again = apply("sum($1 + 1)", image);
    sum = 0;
    for (int64_t i = 0; i < size[0] * size[1]; i++)
        sum += level(i) + 1;
    ck_assert_int_eq(integer_of(again), sum); /* the interpreter's */
    imgpar_array *const every[] = { image, total, levels, stencil, floats_too, again };
    for (size_t k = 0; k < sizeof every / sizeof *every; k++)
        imgpar_array_release(every[k]);
}
END_TEST

START_TEST(any_call_may_fail)
{
    static const ip_fault_kind kinds[] = { IP_FAULT_CL, IP_FAULT_ALLOC };
    const int64_t size[2] = { 40, 40 };
    int64_t sum = 0;
    pretend(2);
    place("1:1");
    for (int64_t i = 0; i < size[0] * size[1]; i++)
        sum += level(i);
    imgpar_array *image = integers(IMGPAR_U8, size, 0), *warm = apply("sum($1)", image);
    ck_assert_int_eq(integer_of(warm), sum);
    if (_i >= 2) { /* by halves */
        place("0");
        ip_device_limit(ctx->devices.list[0], 1500);
        ip_device_limit(ctx->devices.list[1], 1);
    }
    bool failed = true;
    for (unsigned long n = 1; failed; n++) {
        imgpar_array *a = apply("sum($1)", image);
        ip_fault_set(kinds[_i % 2], n);
        imgpar_status st = imgpar_array_eval(a, NULL);
        failed = ip_fault_seen(kinds[_i % 2]) >= n;
        ip_fault_set(kinds[_i % 2], 0);
        if (!failed) ck_assert_int_eq(st, IMGPAR_OK);
        if (st)
            ck_assert_str_ne(imgpar_array_message(a), "");
        else
            ck_assert_int_eq(integer_of(a), sum);
        imgpar_array_release(a);
    }
    imgpar_array_release(warm);
    imgpar_array_release(image);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("folds on several devices");
    TCase *t = tcase_create("folds");
    if (has_no_devices()) {
        puts("SKIP: one processor cannot be divided in two");
        return 77;
    }
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_devices, close_devices);
    tcase_add_loop_test(t, integers_are_folded_in_parts, 0, sizeof folds / sizeof *folds);
    tcase_add_test(t, a_mean_of_integers_is_divided_once);
    tcase_add_loop_test(t, parts_of_a_stencil_meet, 0, 3);
    tcase_add_loop_test(t, a_fold_sees_its_part_of_an_image_that_is_made_whole, 0, 3);
    tcase_add_test(t, volumes_are_folded_by_planes);
    tcase_add_test(t, a_large_image_is_folded_by_both);
    tcase_add_test(t, floats_are_added_up_on_one_device_unless_it_is_told);
    tcase_add_test(t, extremes_of_floats_are_found_in_parts);
    tcase_add_test(t, what_cannot_be_folded_in_parts_says_why);
    tcase_add_test(t, a_part_without_room_is_folded_elsewhere);
    tcase_add_loop_test(t, what_does_not_fit_is_folded_by_halves, 0, 2);
    tcase_add_loop_test(t, any_call_may_fail, 0, 4);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, devices_fork_status());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
