/* SPDX-License-Identifier: MIT */
/*
 * Checked mode: kernels that are right compute the same and report nothing; what is not finite, and what lies outside
 * of memory, is an error that tells where. (A user's kernels: check_cl_kernels.c.)
 */
#include "run/context.h"
#include "run/launch.h"

#include "graph/array.h"
#include "asserts.h"
#include "held.h"
#include "tier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W = 37, H = 23, C = 3 };

static imgpar_context *ctx;

static void open_device(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ck_assert_str_ne(imgpar_context_device(ctx)->kind, "ref");
}

static void close_device(void) { imgpar_context_release(ctx); }

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(imgpar_context_set(ctx, name, value), IMGPAR_OK);
}

static imgpar_array *image_of(imgpar_dtype dtype)
{
    static unsigned char bytes[H * W * C];
    static float floats[H * W * C];
    const int64_t shape[] = { H, W, C };
    for (int k = 0; k < H * W * C; k++) {
        bytes[k] = (unsigned char)(k * 7919 % 251);
        floats[k] = (float)bytes[k] / 16;
    }
    return imgpar_array_from_data(ctx, dtype, 3, shape, dtype == IMGPAR_U8 ? (const void *)bytes : floats);
}

static void *read_all(imgpar_array *a, size_t *n)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s", imgpar_array_message(a));
    void *data = malloc(info.size_bytes);
    *n = info.size_bytes;
    ck_assert_msg(imgpar_array_read(a, data, *n) == IMGPAR_OK, "%s", imgpar_array_message(a));
    return data;
}

/* Every way that kernels read and write: maps, stencils by every border, rings, running sums, folds, scans, gathers,
 * views. */
static const struct {
    imgpar_dtype dtype;
    const char *text;
    bool in_pixels;
} right[] = {
    { IMGPAR_U8, "boxblur(boxblur(invert($1), size=3), size=9, border=reflect)", false },
    { IMGPAR_U8, "blur(stencil(($1[-1,0] + $1[1,2]) / 2, border=wrap), sigma=2, border=constant)", true },
    { IMGPAR_U8, "median(erode($1, size=3, border=reflect101), size=3, border=wrap)", false },
    { IMGPAR_U8, "histogram($1)", false },
    { IMGPAR_U8, "reduce($1, \"sum\", axis=1)", false },
    { IMGPAR_U8, "resize($1, width=20, height=31)", true },
    { IMGPAR_U8, "permute(pad($1, [1 2 0], [3 5 0]), [1 0 2])", false },
    { IMGPAR_F32, "scan($1, \"sum\", axis=0)", false },
    { IMGPAR_F32, "cumsum($1, axis=1) / 4", false },
    { IMGPAR_F32, "cast(blur($1, sigma=3) * 2, \"f16\") * 0.5", false },
};

START_TEST(right_kernels_compute_the_same)
{
    static const char *const schedules[] = { "auto", "tiles", "pixels", "texture" };
    const int n_ways = right[_i].in_pixels ? 4 : 2;
    for (int k = 0; k < n_ways; k++) {
        size_t n, n_checked;
        if (k > 0 && k != 1 + _i % (n_ways - 1) && !test_tier_is_full()) continue; /* by turns */
        imgpar_array *image = image_of(right[_i].dtype), *a = imgpar_apply(ctx, right[_i].text, &image, 1);
        set("schedule", "ref");
        void *want = read_all(a, &n);
        set("schedule", schedules[k]);
        set("check", "1");
        void *got = read_all(a, &n_checked);
        ck_assert_uint_eq(n, n_checked);
        ck_assert_msg(memcmp(want, got, n) == 0, "%s: other elements than the reference interpreter has",
                      right[_i].text);
        free(want);
        free(got);
        imgpar_array_release(a);
        imgpar_array_release(image);
    }
}
END_TEST

START_TEST(what_is_not_finite_is_told_with_its_place)
{
    static const struct {
        const char *text, *op, *where;
    } wrong[] = {
        { "log($1 - 100)", "log", "is nan, which is not finite" },
        { "x + 100 * y + 10000 * c == 10511 ? 1.0 / 0 : $1", "select", "the element at z=0, y=5, x=11, c=1 is inf" },
        { "x + 100 * y + 10000 * c == 1203 ? 0.0 / 0 : $1", "select", "the element at z=0, y=12, x=3, c=0 is nan" },
    };
    static const char *const schedules[] = { "rows", "tiles", "pixels", "texture" };
    imgpar_array *image = image_of(IMGPAR_F32);
    float *data = malloc(H * W * C * sizeof *data);
    set("check", "1");
    for (size_t n = 0; n < 4 * sizeof wrong / sizeof *wrong; n++) {
        set("schedule", schedules[n % 4]);
        imgpar_array *a = imgpar_apply(ctx, wrong[n / 4].text, &image, 1);
        ck_assert_msg(imgpar_array_read(a, data, H * W * C * sizeof *data) == IMGPAR_E_CHECK, "%s: %s",
                      wrong[n / 4].text, imgpar_array_message(a));
        const char *said = imgpar_array_message(a);
        ck_assert_msg(strstr(said, wrong[n / 4].op) && strstr(said, wrong[n / 4].where), "%s", said);
        ck_assert_int_eq(strncmp(said, "k_", 2), 0);
        imgpar_array_release(a);
    }
    set("check", "0");
    imgpar_array *a = imgpar_apply(ctx, wrong[0].text, &image, 1);
    ck_assert_int_eq(imgpar_array_read(a, data, H * W * C * sizeof *data), IMGPAR_OK);
    imgpar_array_release(a);
    imgpar_array_release(image);
    free(data);
}
END_TEST

/* A kernel bound to less memory than it was planned for: the only way to have one of ours go astray. */
START_TEST(an_index_outside_of_memory_is_told)
{
    static const struct {
        const char *schedule, *text;
        imgpar_dtype dtype;
        bool is_fold;
    } cases[] = {
        { "rows", "boxblur($1, size=3)", IMGPAR_F32, false },
        { "tiles", "boxblur($1, size=3)", IMGPAR_F32, false },
        { "rows", "sum($1)", IMGPAR_U8, true },
        { "rows", "histogram($1)", IMGPAR_U8, true },
    };
    ip_error err = { .status = IMGPAR_OK };
    ip_plan *plan;
    imgpar_array *image = image_of(cases[_i].dtype), *a = imgpar_apply(ctx, cases[_i].text, &image, 1);
    set("check", "1");
    set("schedule", cases[_i].schedule);
    ip_compile_options options = ip_context_compile_options(ctx, ctx->device);
    ck_assert_int_eq(ip_compile(&a, 1, &options, &plan, &err), IMGPAR_OK);
    ck_assert_int_eq(plan->n_kernels, 1);
    const ip_kernel *k = &plan->kernels[0];
    ip_binding *bindings = calloc((size_t)plan->ir->n_stages, sizeof *bindings);
    const ip_region whole = { 0, 1, 0, H, 0, W }, half = { 0, 1, 0, H / 2, 0, W };
    ip_binding *in = &bindings[k->inputs[0]->id], *out = &bindings[k->outputs[0]->id];
    const size_t bytes = H * W * C * sizeof(float);
    float *zero = calloc(1, bytes);
    ck_assert_int_eq(ip_buffer_new(ctx->device, bytes, &in->buffer, &err), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_new(ctx->device, bytes, &out->buffer, &err), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_write(in->buffer, 0, zero, bytes, &err), IMGPAR_OK);
    const ip_runner runner = { .device = ctx->device };
    in->region = whole;
    const int64_t *made = k->outputs[0]->dims;
    out->region = (ip_region){ 0, made[0], 0, made[1], 0, made[2] };
    ck_assert_msg(ip_kernel_run(&runner, plan, k, bindings, &whole, &err) == IMGPAR_OK, "%s", err.message);
    in->region = half;
    ck_assert_int_eq(ip_kernel_run(&runner, plan, k, bindings, &whole, &err), IMGPAR_E_CHECK);
    ck_assert_msg(strstr(err.message, "is read at z=0, y=") && strstr(err.message, "outside of its memory"), "%s",
                  err.message);
    err = (ip_error){ .status = IMGPAR_OK };
    if (!cases[_i].is_fold) {
        in->region = whole;
        out->region = half;
        ck_assert_int_eq(ip_kernel_run(&runner, plan, k, bindings, &whole, &err), IMGPAR_E_CHECK);
        // Strips run side by side: any of the rows that are missing may be the first told.
        const char *where = strstr(err.message, "is written at z=0, y=");
        ck_assert_msg(strstr(err.message, "boxblur") && where, "%s", err.message);
        ck_assert_int_ge(atoi(where + strlen("is written at z=0, y=")), H / 2);
    }
    ip_buffer_release(in->buffer);
    ip_buffer_release(out->buffer);
    ip_plan_free(plan);
    free(bindings);
    free(zero);
    imgpar_array_release(a);
    imgpar_array_release(image);
}
END_TEST

/* Of an image of 23 x 37 pixels; says NULL: all is inside. */
static const struct {
    const char *text, *says;
} promised[] = {
    { "stencil($1[0, -3], border=checked)",
      "a[dy, dx]: x=-3 is read, outside of 0 to 36, for the element y=0, x=0, c=0" },
    { "stencil($1[4], border=checked)", "a[dy, dx]: y=23 is read, outside of 0 to 22, for the element y=19, x=0, c=0" },
    { "crop(stencil($1[0, -3], border=checked), 3, 0, 34, 23)", NULL },
    { "crop(stencil($1[0, -3], border=checked), 2, 5, 34, 10)",
      "x=-1 is read, outside of 0 to 36, for the element y=5, x=2" },
    { "stencil(x >= 3 ? $1[0, -3] : 0, border=checked)", NULL },
    { "stencil(x > 3 || y == 22 ? $1[1, -3] : 0, border=checked)",
      "y=23 is read, outside of 0 to 22, for the element y=22, x=0" },
    { "x > 0 && stencil($1[0, -1], border=checked) > 7", NULL },
    { "x < 9 || stencil($1[0, -9], border=checked) > 7", NULL },
    { "x == 0 || stencil($1[0, -9], border=checked) > 7", "a[dy, dx]: x=-8 is read" },
    { "take(sum($1, axis=[1 2]), cast(sum($1, axis=[1 2]) < 0, i32) + 22, border=checked)", NULL },
    { "at($1, y, 36 - x, border=checked)", NULL },
    { "at($1, y + 0.5, x, border=checked)", "at: y=23 is read, outside of 0 to 22, for the element y=22, x=0" },
    { "at($1, y, 36 - x, filter=linear, border=checked)", NULL },
    { "at($1, y, $1, border=checked)", "at: x=" },
    { "at($1, y, min($1, 36), border=checked)", NULL },
    { "around($1, 2, (p, q, dy, dx) -> q * dx, fold=sum, border=checked)", "y=-2 is read, outside of 0 to 22" },
    { "crop(around($1, 4, (p, q, dy, dx) -> q * dx, fold=sum, border=checked), 4, 4, 29, 15)", NULL },
    { "crop(median($1, 9, border=checked), 4, 4, 29, 15)", NULL },
    { "crop(median($1, 9, border=checked), 3, 4, 29, 15)", "median: x=-1 is read, outside of 0 to 36" },
    { "crop(median($1, 9, shape=line, border=checked), 4, 0, 29, 23)", NULL },
    { "crop(median($1, 9, shape=line, border=checked), 3, 0, 29, 23)", "median: x=-1 is read, outside of 0 to 36" },
    { "crop(dilate($1, 9, border=checked), 4, 4, 29, 15)", NULL },
    { "iterate($1, 2, stencil(x < 36 ? _[0, 1] : 0, border=checked))", NULL },
    { "iterate($1, 2, stencil(_[0, 1], border=checked))",
      "x=37 is read, outside of 0 to 36, for the element y=0, x=36" },
    { "sum($1) < 0 ? stencil($1[1, 0], border=checked) : $1", NULL },
    { "stencil($1[0, -3], border=unchecked)",
      "x=-3 is read, outside of 0 to 36, for the element y=0, x=0, c=0; border=un" },
};

/* Alike on the device and on the host; unchecked only where checks are on, else it reads what is next. */
START_TEST(what_is_promised_is_looked_after)
{
    const char *text = promised[_i].text, *says = promised[_i].says;
    const bool is_unchecked = strstr(text, "unchecked") != NULL;
    imgpar_array *image = image_of(IMGPAR_U8);
    size_t n;
    for (int k = 0; k < 2; k++) {
        set("schedule", k ? "ref" : "auto");
        set("check", is_unchecked ? "1" : "0");
        imgpar_array *a = imgpar_apply(ctx, text, &image, 1);
        imgpar_info info = { .struct_size = sizeof info };
        ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
        void *data = malloc(info.size_bytes);
        imgpar_status st = imgpar_array_read(a, data, info.size_bytes);
        ck_assert_msg(st == (says ? IMGPAR_E_CHECK : IMGPAR_OK), "%s: %s", text, imgpar_array_message(a));
        ck_assert_msg(!says || strstr(imgpar_array_message(a), says), "%s: %s", text, imgpar_array_message(a));
        free(data);
        imgpar_array_release(a);
    }
    set("check", "0");
    for (int k = 0; is_unchecked && k < 2; k++) {
        set("schedule", k ? "ref" : "auto");
        imgpar_array *a = imgpar_apply(ctx, "stencil($1[0, -3], border=unchecked) == $1[0, -3]", &image, 1);
        char *same = read_all(a, &n);
        ck_assert_ptr_null(memchr(same, 0, n));
        free(same);
        imgpar_array_release(a);
    }
    imgpar_array_release(image);
}
END_TEST

START_TEST(promises_of_c)
{
    unsigned char data[H * W * C];
    imgpar_array *image = image_of(IMGPAR_U8), *soft = imgpar_blur(image, 1, IMGPAR_BORDER_CHECKED);
    imgpar_map *m = imgpar_map_new(ctx);
    imgpar_array *beside =
        imgpar_map_array(imgpar_x_neighbour(imgpar_x_array(m, image), (int[]){ 0, 2 }, 2, IMGPAR_BORDER_CHECKED));
    ck_assert_int_eq(imgpar_array_read(soft, data, sizeof data), IMGPAR_E_CHECK);
    ck_assert_msg(strstr(imgpar_array_message(soft), "blur: y="), "%s", imgpar_array_message(soft));
    ck_assert_int_eq(imgpar_array_read(beside, data, sizeof data), IMGPAR_E_CHECK);
    ck_assert_msg(strstr(imgpar_array_message(beside), "x=37 is read"), "%s", imgpar_array_message(beside));
    imgpar_map_release(m);
    imgpar_array_release(beside);
    imgpar_array_release(soft);
    imgpar_array_release(image);
}
END_TEST

START_TEST(the_environment_asks_for_it)
{
    imgpar_context *own;
    setenv("IMGPAR_CHECK", "1", 1);
    ck_assert_int_eq(imgpar_context_new(NULL, &own), IMGPAR_OK);
    ck_assert(ip_context_checks(own));
    imgpar_context_release(own);
    setenv("IMGPAR_CHECK", "yes", 1);
    ck_assert_int_eq(imgpar_context_new(NULL, &own), IMGPAR_E_ARGUMENT);
    char why[200];
    imgpar_context_new_error(why, sizeof why);
    ck_assert_str_eq(why, "IMGPAR_CHECK=yes: 0 or 1 is expected");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checked");
    TCase *t = tcase_create("checked");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_loop_test(t, right_kernels_compute_the_same, 0, sizeof right / sizeof *right);
    tcase_add_test(t, what_is_not_finite_is_told_with_its_place);
    tcase_add_loop_test(t, an_index_outside_of_memory_is_told, 0, 4);
    tcase_add_loop_test(t, what_is_promised_is_looked_after, 0, sizeof promised / sizeof *promised);
    tcase_add_test(t, promises_of_c);
    tcase_add_test(t, the_environment_asks_for_it);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
