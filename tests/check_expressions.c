/* SPDX-License-Identifier: MIT */
/* Expressions from C: the same nodes as text makes, one kernel, errors that arrive, nothing that leaks. */
#include "asserts.h"
#include "held.h"

#include <imgpar.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { H = 5, W = 7, N = H * W };

static imgpar_context *ctx;
static imgpar_map *map;
static imgpar_array *array;
static float in[N];

static void setup(void)
{
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    for (int k = 0; k < N; k++)
        in[k] = (float)(k * k % 23) - 7.5f;
    array = imgpar_array_from_data(ctx, IMGPAR_F32, 2, (int64_t[]){ H, W }, in);
    map = imgpar_map_new(ctx);
    ck_assert_ptr_nonnull(map);
}

static void teardown(void)
{
    imgpar_map_release(map);
    imgpar_array_release(array);
    imgpar_context_release(ctx);
}

/* The elements of x; releases what it makes. */
static void read_back(imgpar_x x, imgpar_dtype dtype, void *out, size_t size_bytes)
{
    imgpar_array *a = imgpar_map_array(x);
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s", imgpar_array_message(a));
    ck_assert_int_eq(info.dtype, dtype);
    ck_assert_msg(imgpar_array_read(a, out, size_bytes) == IMGPAR_OK, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
}

START_TEST(calls_nest)
{
    float out[N];
    imgpar_x a = imgpar_x_array(map, array);
    read_back(imgpar_x_sqrt(imgpar_x_plus(imgpar_x_times(a, a), imgpar_x_number(map, 0.25))), IMGPAR_F32, out,
              sizeof out);
    for (int k = 0; k < N; k++)
        ck_assert(fabsf(out[k] - sqrtf(in[k] * in[k] + 0.25f)) <= 1e-6f * fabsf(out[k]));
}
END_TEST

START_TEST(conditions_choose)
{
    float out[N];
    imgpar_x a = imgpar_x_array(map, array), zero = imgpar_x_whole(map, 0);
    read_back(imgpar_x_select(imgpar_x_lt(a, zero), zero, a), IMGPAR_F32, out, sizeof out);
    for (int k = 0; k < N; k++)
        ck_assert(out[k] == (in[k] < 0 ? 0 : in[k]));
}
END_TEST

START_TEST(coordinates_and_neighbours_are_read)
{
    float out[N];
    int32_t at[N];
    imgpar_x a = imgpar_x_array(map, array);
    imgpar_x up = imgpar_x_neighbour(a, (int[]){ -1, 0 }, 2, IMGPAR_BORDER_WRAP);
    imgpar_x right = imgpar_x_neighbour(a, (int[]){ 0, 1 }, 2, IMGPAR_BORDER_CONSTANT);
    read_back(imgpar_x_minus(up, right), IMGPAR_F32, out, sizeof out);
    read_back(imgpar_x_plus(imgpar_x_times(imgpar_x_coord(a, 0), imgpar_x_whole(map, 100)), imgpar_x_coord(a, -1)),
              IMGPAR_I32, at, sizeof at);
    for (int k = 0; k < N; k++) {
        ck_assert(out[k] == in[(k + N - W) % N] - (k % W == W - 1 ? 0 : in[k + 1]));
        ck_assert_int_eq(at[k], k / W * 100 + k % W);
    }
}
END_TEST

START_TEST(dtypes_meet_as_in_the_language)
{
    static const uint8_t bytes[3] = { 200, 7, 0 };
    int32_t sum[3];
    float half[3];
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, 1, (int64_t[]){ 3 }, bytes);
    imgpar_x x = imgpar_x_array(map, a);
    imgpar_array_release(a); /* the map keeps it */
    read_back(imgpar_x_plus(x, imgpar_x_whole(map, 100)), IMGPAR_I32, sum, sizeof sum);
    read_back(imgpar_x_times(x, imgpar_x_number(map, 2)), IMGPAR_F32, half, sizeof half);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(sum[k], bytes[k] + 100);
        ck_assert(half[k] == (float)(2 * bytes[k]));
    }
}
END_TEST

/* What text makes of the same, kernel for kernel. */
static void expect_plan(imgpar_array *made, imgpar_array *told)
{
    char *json[2];
    ck_assert_int_eq(imgpar_array_explain(made, "json", &json[0]), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_explain(told, "json", &json[1]), IMGPAR_OK);
    ck_assert_str_eq(json[0], json[1]);
    for (int k = 0; k < 2; k++)
        imgpar_free(json[k]);
    imgpar_array_release(made);
    imgpar_array_release(told);
}

START_TEST(an_expression_is_one_kernel)
{
    imgpar_context *device;
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &device), IMGPAR_OK);
    imgpar_array *data = imgpar_array_from_data(device, IMGPAR_F32, 2, (int64_t[]){ H, W }, in);
    imgpar_map *m = imgpar_map_new(device);
    imgpar_x a = imgpar_x_array(m, data), left = imgpar_x_neighbour(a, (int[]){ 0, -1 }, 2, IMGPAR_BORDER_REPLICATE);
    imgpar_x x = imgpar_x_min(imgpar_x_abs(imgpar_x_minus(left, a)),
                              imgpar_x_divide(imgpar_x_coord(a, 1), imgpar_x_whole(m, 3)));
    imgpar_x taps = imgpar_x_taps(a, (int[]){ 2, 2 }, 2), q = imgpar_x_tap(taps, a, IMGPAR_BORDER_REPLICATE);
    imgpar_array *made = imgpar_map_array(x),
                 *folded = imgpar_map_array(imgpar_x_fold(taps, imgpar_x_abs(imgpar_x_minus(a, q)), IMGPAR_FOLD_MAX));
    imgpar_map_release(m); /* the arrays live on */
    expect_plan(made, imgpar_apply(device, "min(abs($1[0, -1] - $1), x / 3)", &data, 1));
    expect_plan(folded, imgpar_apply(device, "around($1, 2, (p, q) -> abs(p - q), \"max\")", &data, 1));
    imgpar_array_release(data);
    imgpar_context_release(device);
}
END_TEST

static void expect_error(imgpar_x x, imgpar_status status, const char *message)
{
    imgpar_array *a = imgpar_map_array(x);
    ck_assert_int_eq(imgpar_array_status(a), status);
    ck_assert_msg(strstr(imgpar_array_message(a), message), "%s", imgpar_array_message(a));
    imgpar_array_release(a);
}

/* ---- neighbourhoods ------------------------------------------------------------------------------ */

static double element(int y, int x)
{
    y = y < 0 ? 0 : y < H ? y : H - 1;
    x = x < 0 ? 0 : x < W ? x : W - 1;
    return in[y * W + x];
}

START_TEST(neighbourhoods_are_folded)
{
    float largest[N], sums[N], mean[N];
    imgpar_x a = imgpar_x_array(map, array), taps = imgpar_x_taps(a, (int[]){ 1, 2 }, 2);
    imgpar_x q = imgpar_x_tap(taps, a, IMGPAR_BORDER_REPLICATE), d = imgpar_x_minus(a, q);
    imgpar_x dy = imgpar_x_distance(taps, a, 0), dx = imgpar_x_distance(taps, a, -1);
    imgpar_x weight =
        imgpar_x_plus(imgpar_x_times(dy, imgpar_x_number(map, 2)), imgpar_x_plus(dx, imgpar_x_number(map, 9)));
    read_back(imgpar_x_fold(taps, imgpar_x_abs(d), IMGPAR_FOLD_MAX), IMGPAR_F32, largest, sizeof largest);
    read_back(imgpar_x_fold(taps, imgpar_x_times(d, d), IMGPAR_FOLD_SUM), IMGPAR_F32, sums, sizeof sums);
    read_back(imgpar_x_weighted_mean(taps, q, weight), IMGPAR_F32, mean, sizeof mean);
    for (int k = 0; k < N; k++) {
        double most = 0, squares = 0, sum = 0, weights = 0;
        for (int j = -1; j <= 1; j++)
            for (int i = -2; i <= 2; i++) {
                double v = element(k / W + j, k % W + i), by = in[k] - v, w = 2 * j + i + 9;
                most = fmax(most, fabs(by));
                squares += by * by;
                sum += w * v;
                weights += w;
            }
        ck_assert_double_eq_tol(largest[k], most, 1e-5 * fmax(1, most));
        ck_assert_double_eq_tol(sums[k], squares, 1e-5 * fmax(1, squares));
        ck_assert_double_eq_tol(mean[k], sum / weights, 1e-4);
    }
}
END_TEST

/* Non-local means: neighbours by how much what is around them differs. */
START_TEST(a_fold_may_be_part_of_another)
{
    float out[N];
    imgpar_x a = imgpar_x_array(map, array);
    imgpar_x taps = imgpar_x_taps(a, (int[]){ 1, 1 }, 2), patch = imgpar_x_taps(a, (int[]){ 1, 1 }, 2);
    imgpar_x q = imgpar_x_tap(taps, a, IMGPAR_BORDER_REPLICATE);
    imgpar_x d = imgpar_x_minus(imgpar_x_tap(patch, a, IMGPAR_BORDER_REPLICATE),
                                imgpar_x_tap(patch, q, IMGPAR_BORDER_REPLICATE));
    imgpar_x distance = imgpar_x_fold(patch, imgpar_x_times(d, d), IMGPAR_FOLD_SUM);
    imgpar_x weight = imgpar_x_exp(imgpar_x_times(distance, imgpar_x_number(map, -0.001)));
    read_back(imgpar_x_weighted_mean(taps, q, weight), IMGPAR_F32, out, sizeof out);
    for (int y = 1; y < H - 1; y++) /* where neighbours of neighbours at the edge are not its own ones */
        for (int x = 2; x < W - 2; x++) {
            double sum = 0, weights = 0;
            for (int n = 0; n < 9; n++) {
                int j = n / 3 - 1, i = n % 3 - 1;
                double differs = 0;
                for (int k = 0; k < 9; k++) {
                    double by = element(y + k / 3 - 1, x + k % 3 - 1) - element(y + j + k / 3 - 1, x + i + k % 3 - 1);
                    differs += by * by;
                }
                sum += exp(-0.001 * differs) * element(y + j, x + i);
                weights += exp(-0.001 * differs);
            }
            ck_assert_double_eq_tol(out[y * W + x], sum / weights, 1e-4);
        }
}
END_TEST

START_TEST(a_map_may_have_any_number_of_neighbourhoods)
{
    enum { MANY = 1200 };
    float out[N];
    imgpar_x a = imgpar_x_array(map, array), taps = imgpar_x_taps(a, (int[]){ 0, 0 }, 2);
    for (int k = 1; k < MANY; k++)
        taps = imgpar_x_taps(a, (int[]){ 0, 0 }, 2);
    read_back(imgpar_x_fold(taps, imgpar_x_tap(taps, a, IMGPAR_BORDER_REPLICATE), IMGPAR_FOLD_MAX), IMGPAR_F32, out,
              sizeof out);
    for (int k = 0; k < N; k++)
        ck_assert_double_eq(out[k], in[k]);
}
END_TEST

START_TEST(neighbourhoods_that_do_not_fit_are_errors)
{
    imgpar_x a = imgpar_x_array(map, array), taps = imgpar_x_taps(a, (int[]){ 1, 1 }, 2);
    imgpar_map *other = imgpar_map_new(ctx);
    imgpar_x elsewhere = imgpar_x_array(other, array);
    expect_error(imgpar_x_taps(a, (int[]){ 1 }, 1), IMGPAR_E_ARGUMENT, "a radius for each axis");
    expect_error(imgpar_x_taps(a, (int[]){ 1, -1 }, 2), IMGPAR_E_ARGUMENT, "width=-1");
    expect_error(imgpar_x_distance(taps, a, 2), IMGPAR_E_ARGUMENT, "no such axis");
    expect_error(imgpar_x_tap(taps, elsewhere, IMGPAR_BORDER_WRAP), IMGPAR_E_ARGUMENT, "different maps");
    expect_error(imgpar_x_fold(taps, elsewhere, IMGPAR_FOLD_SUM), IMGPAR_E_ARGUMENT, "different maps");
    expect_error(imgpar_x_fold(taps, a, (imgpar_fold)9), IMGPAR_E_ARGUMENT, "fold");
    expect_error(imgpar_x_fold(imgpar_x_taps(a, NULL, 2), a, IMGPAR_FOLD_SUM), IMGPAR_E_ARGUMENT, "a radius");
    imgpar_map_release(other);
    float out[N];
    imgpar_array *unfolded = imgpar_map_array(imgpar_x_tap(taps, a, IMGPAR_BORDER_WRAP));
    ck_assert_int_eq(imgpar_array_read(unfolded, out, sizeof out), IMGPAR_E_UNSUPPORTED);
    imgpar_array_release(unfolded);
}
END_TEST

START_TEST(errors_are_passed_on)
{
    float three[3] = { 1, 2, 3 };
    imgpar_array *other = imgpar_array_from_data(ctx, IMGPAR_F32, 1, (int64_t[]){ 3 }, three);
    imgpar_map *second = imgpar_map_new(ctx);
    imgpar_x a = imgpar_x_array(map, array), bad = imgpar_x_plus(a, imgpar_x_array(map, other));
    expect_error(bad, IMGPAR_E_SHAPE, "+: a is [5, 7], b is [3]; extents must be equal or 1");
    expect_error(imgpar_x_sqrt(imgpar_x_times(bad, a)), IMGPAR_E_SHAPE,
                 "+: a is [5, 7], b is [3]; extents must be equal or 1");
    expect_error(imgpar_x_coord(bad, 0), IMGPAR_E_SHAPE, "+: a is [5, 7], b is [3]; extents must be equal or 1");
    expect_error(imgpar_x_and(a, a), IMGPAR_E_SHAPE, "&: a is f32; it must be an integer");
    expect_error(imgpar_x_plus(a, imgpar_x_array(second, array)), IMGPAR_E_ARGUMENT, "belong to different maps");
    expect_error(imgpar_x_array(map, NULL), IMGPAR_E_ARGUMENT, "array is NULL");
    expect_error(imgpar_x_coord(a, 2), IMGPAR_E_ARGUMENT, "no such axis");
    expect_error(imgpar_x_neighbour(a, (int[]){ 1 }, 0, IMGPAR_BORDER_WRAP), IMGPAR_E_ARGUMENT, "1 to 8 offsets");
    expect_error(imgpar_x_neighbour(a, (int[]){ 1 }, 1, (imgpar_border)9), IMGPAR_E_ARGUMENT, "border");
    expect_error(imgpar_x_plus(imgpar_x_array(NULL, array), imgpar_x_whole(NULL, 1)), IMGPAR_E_HOST_MEMORY, "memory");
    ck_assert_ptr_null(imgpar_map_new(NULL));
    imgpar_map_release(NULL);
    imgpar_map_release(second);
    imgpar_array_release(other);
}
END_TEST

/* As many as a program may want; all are released with the map. */
START_TEST(a_map_holds_any_number_of_expressions)
{
    float out[N];
    imgpar_x a = imgpar_x_array(map, array), sum = a;
    for (int k = 1; k < 1000; k++)
        sum = k % 2 ? imgpar_x_minus(sum, a) : imgpar_x_plus(sum, a);
    read_back(sum, IMGPAR_F32, out, sizeof out);
    for (int k = 0; k < N; k++)
        ck_assert(out[k] == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expressions");
    TCase *c = tcase_create("expressions");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, calls_nest);
    tcase_add_test(c, conditions_choose);
    tcase_add_test(c, coordinates_and_neighbours_are_read);
    tcase_add_test(c, dtypes_meet_as_in_the_language);
    tcase_add_test(c, an_expression_is_one_kernel);
    tcase_add_test(c, neighbourhoods_are_folded);
    tcase_add_test(c, a_fold_may_be_part_of_another);
    tcase_add_test(c, a_map_may_have_any_number_of_neighbourhoods);
    tcase_add_test(c, neighbourhoods_that_do_not_fit_are_errors);
    tcase_add_test(c, errors_are_passed_on);
    tcase_add_test(c, a_map_holds_any_number_of_expressions);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
