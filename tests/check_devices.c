/* SPDX-License-Identifier: MIT */
/*
 * A context of several devices: the parts of a result meet, whatever its size and however it is cut; batches, loops,
 * threads, failures. The devices are two halves of the CPU; IMGPAR_TEST_DEVICES names others ("cpu+cpu:1": PoCL beside
 * rusticl).
 */
#include "base/alloc.h"
#include "devices_help.h"
#include "run/groups.h"
#include "run/jobs.h"

#include <pthread.h>
#include <stdio.h>

/* ---- answers ------------------------------------------------------------------------------ */

static int64_t clamped(int64_t v, int64_t n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }

#define CROSS "a = $1[-1,0] + $1[1,0] + $1[0,-1] + 2 * $1[0,1]\n"

/* What CROSS means. New. */
static int *cross(const int *from, int64_t height, int64_t width)
{
    int *to = malloc((size_t)(height * width) * sizeof *to);
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            to[y * width + x] = from[clamped(y - 1, height) * width + x] + from[clamped(y + 1, height) * width + x] +
                                from[y * width + clamped(x - 1, width)] + 2 * from[y * width + clamped(x + 1, width)];
    return to;
}

/* CROSS of CROSS of an image. New. */
static int *cross_twice(int64_t height, int64_t width)
{
    int *levels = calloc((size_t)(height * width), sizeof *levels);
    for (int64_t i = 0; i < height * width; i++)
        levels[i] = level(i);
    int *once = cross(levels, height, width), *twice = cross(once, height, width);
    free(levels);
    free(once);
    return twice;
}

static const char twice_text[] = CROSS "b = a[-1,0] + a[1,0] + a[0,-1] + 2 * a[0,1]\nb";

static void assert_cross_twice(const int *got, int64_t height, int64_t width)
{
    int *want = cross_twice(height, width);
    for (int64_t i = 0; i < height * width; i++)
        ck_assert_msg(got[i] == want[i], "%d x %d at %d: %d, not %d", (int)height, (int)width, (int)i, got[i], want[i]);
    free(want);
}

static void check_cross_twice(int64_t height, int64_t width)
{
    imgpar_array *image = image_of(ctx, height, width), *a = apply(twice_text, image);
    int *got = elements_of(a);
    assert_cross_twice(got, height, width);
    free(got);
    imgpar_array_release(a);
    imgpar_array_release(image);
}

/* ---- cutting ---------------------------------------------------------------------------------- */

START_TEST(parts_meet_at_every_size_and_share)
{
    static const int64_t sizes[][2] = { { 1, 1 },  { 1, 64 }, { 2, 5 },     { 3, 4000 },
                                        { 7, 33 }, { 64, 1 }, { 200, 300 }, { 129, 257 } };
    static const char *const placements[] = { "auto", "1:1", "3:1", "1:9", "0:1", "0", "1" };
    pretend(_i);
    for (size_t p = 0; p < sizeof placements / sizeof *placements; p++) {
        place(placements[p]);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            check_cross_twice(sizes[k][0], sizes[k][1]);
    }
}
END_TEST

START_TEST(both_devices_compute_by_their_weights)
{
    const struct {
        const char *placement;
        bool uses[2];
    } rows[] = {
        { "1:1", { true, true } }, { "0:1", { false, true } }, { "1:0", { true, false } },
        { "1", { false, true } },  { "0", { true, false } },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        place(rows[k].placement);
        const uint64_t before[2] = { kernels_of(0), kernels_of(1) };
        check_cross_twice(40, 30);
        ck_assert_int_eq(kernels_of(0) > before[0], rows[k].uses[0]);
        ck_assert_int_eq(kernels_of(1) > before[1], rows[k].uses[1]);
    }
}
END_TEST

START_TEST(without_being_told_large_images_are_cut_and_small_ones_are_not)
{
    imgpar_array *small = image_of(ctx, 20, 20), *a = apply(twice_text, small);
    uint64_t before[2] = { kernels_of(0), kernels_of(1) };
    free(elements_of(a));
    ck_assert((kernels_of(0) > before[0]) != (kernels_of(1) > before[1]));
    imgpar_array_release(a);
    imgpar_array_release(small);
    before[0] = kernels_of(0), before[1] = kernels_of(1);
    check_cross_twice(1500, 1500);
    ck_assert_uint_gt(kernels_of(0), before[0]);
    ck_assert_uint_gt(kernels_of(1), before[1]);
}
END_TEST

/* A device is given the rows that it needs, and no others. */
START_TEST(a_source_is_uploaded_as_far_as_a_part_reads_it)
{
    enum { H = 400, W = 512, PARAMETERS = 8192 };
    pretend(2);
    place("3:1");
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_context_device_counters(ctx, 1, &before);
    check_cross_twice(H, W);
    imgpar_context_device_counters(ctx, 1, &after);
    uint64_t bytes = after.bytes_uploaded - before.bytes_uploaded;
    ck_assert_uint_ge(bytes, H / 4 * W);
    ck_assert_uint_lt(bytes, (H / 4 + 3) * W + PARAMETERS);
    ck_assert_uint_eq(after.bytes_downloaded - before.bytes_downloaded, H / 4 * W * sizeof(int));
}
END_TEST

START_TEST(devices_that_share_memory_copy_nothing)
{
    if (!ctx->devices.share_host) return;
    enum { H = 400, W = 512, PARAMETERS = 8192 };
    place("1:1");
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_context_counters(ctx, &before);
    check_cross_twice(H, W);
    imgpar_context_counters(ctx, &after);
    ck_assert_uint_lt(after.bytes_uploaded - before.bytes_uploaded, PARAMETERS);
    ck_assert_uint_eq(after.bytes_downloaded, before.bytes_downloaded);
}
END_TEST

START_TEST(volumes_are_cut_between_planes)
{
    enum { D = 5, H = 7, W = 9, C = 2, N = D * H * W * C };
    static int16_t voxels[N];
    pretend(_i);
    place("2:3");
    for (int i = 0; i < N; i++)
        voxels[i] = level(i);
    imgpar_array *volume = imgpar_array_from_data(ctx, IMGPAR_I16, 4, (const int64_t[]){ D, H, W, C }, voxels);
    imgpar_array *a = apply("$1 * 3 + 1", volume);
    int *got = elements_of(a);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(got[i], voxels[i] * 3 + 1);
    ck_assert_uint_gt(kernels_of(0), 0);
    ck_assert_uint_gt(kernels_of(1), 0);
    free(got);
    imgpar_array_release(a);
    imgpar_array_release(volume);
}
END_TEST

START_TEST(several_results_of_one_plan_are_cut_alike)
{
    enum { H = 37, W = 50 };
    pretend(_i);
    place("1:2");
    imgpar_array *image = image_of(ctx, H, W), *twice = apply(twice_text, image);
    imgpar_array *all[] = { twice, apply("$1 + 1", twice), apply("flip($1, axis=y)", twice), twice };
    ck_assert_int_eq(imgpar_eval(all, 4, NULL), IMGPAR_OK);
    int *got[3], *want = cross_twice(H, W);
    for (int k = 0; k < 3; k++)
        got[k] = elements_of(all[k]);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            ck_assert_int_eq(got[0][y * W + x], want[y * W + x]);
            ck_assert_int_eq(got[1][y * W + x], want[y * W + x] + 1);
            ck_assert_int_eq(got[2][y * W + x], want[(H - 1 - y) * W + x]);
        }
    for (int k = 0; k < 3; k++) {
        free(got[k]);
        imgpar_array_release(all[k]);
    }
    free(want);
    imgpar_array_release(image);
}
END_TEST

/* Parts of what needs everything: each device then computes what it needs, and the rows are the same. */
START_TEST(what_needs_all_rows_is_the_same_in_parts)
{
    enum { H = 33, W = 20 };
    pretend(_i);
    place("1:1");
    imgpar_array *image = image_of(ctx, H, W);
    imgpar_array *folded = apply("cast($1, i32) - cast(sum($1), i32)", image),
                 *down = apply("cast(scan(cast($1, i32), \"sum\", axis=0), i32)", image),
                 *along = apply("cast(scan(cast($1, i32), \"sum\", axis=1), i32)", image),
                 *sorted = apply("sort($1, axis=0)", image),
                 *product = apply("matmul(cast($1, f32), transpose(cast($1, f32)))", image),
                 *turned = apply("transpose($1)", image);
    imgpar_array *total = apply("sum($1)", image);
    int64_t sum = 0, *sums = elements_of(total);
    for (int i = 0; i < H * W; i++)
        sum += level(i);
    ck_assert_int_eq((int64_t)sums[0], sum);
    int *f = elements_of(folded), *d = elements_of(down), *a = elements_of(along);
    uint8_t *s = elements_of(sorted), *t = elements_of(turned);
    float *p = elements_of(product);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int column = 0, row = 0;
            for (int k = 0; k <= y; k++)
                column += level(k * W + x);
            for (int k = 0; k <= x; k++)
                row += level(y * W + k);
            ck_assert_int_eq(f[y * W + x], level(y * W + x) - (int)sum);
            ck_assert_int_eq(d[y * W + x], column);
            ck_assert_int_eq(a[y * W + x], row);
            ck_assert_uint_eq(t[x * H + y], level(y * W + x));
            ck_assert(y == 0 || s[(y - 1) * W + x] <= s[y * W + x]);
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < H; x++) {
            double want = 0; /* whole numbers: exact */
            for (int k = 0; k < W; k++)
                want += (double)level(y * W + k) * level(x * W + k);
            ck_assert(p[y * H + x] == (float)want);
        }
    free(f), free(d), free(a), free(s), free(t), free(p), free(sums);
    imgpar_array *const all[] = { image, folded, down, along, sorted, product, turned, total };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        imgpar_array_release(all[k]);
}
END_TEST

/* Reading into what is still being read must not change what is read. */
START_TEST(a_result_may_take_the_place_of_its_source)
{
    enum { H = 64, W = 100 };
    static _Alignas(64) int pixels[H * W], before[H * W];
    pretend(_i);
    place("1:1");
    for (int i = 0; i < H * W; i++)
        before[i] = pixels[i] = level(i);
    imgpar_array *image = imgpar_array_wrap(ctx, IMGPAR_I32, 2, (const int64_t[]){ H, W }, pixels, NULL, NULL);
    imgpar_array *flipped = apply("flip($1, axis=y) + 1", image);
    ck_assert_int_eq(imgpar_array_read(flipped, pixels, sizeof pixels), IMGPAR_OK);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            ck_assert_int_eq(pixels[y * W + x], before[(H - 1 - y) * W + x] + 1);
    imgpar_array_release(flipped);
    imgpar_array_release(image);
}
END_TEST

/* ---- values ------------------------------------------------------------------------------------- */

/* Wherever a value was made, whole or in parts, and wherever it is needed next. */
START_TEST(a_kept_value_goes_where_it_is_needed)
{
    static const char *const placements[] = { "0", "1", "1:1" };
    enum { H = 50, W = 60 };
    pretend(_i);
    for (int first = 0; first < 3; first++)
        for (int second = 0; second < 3; second++) {
            imgpar_array *image = image_of(ctx, H, W), *once = apply(CROSS "a", image), *twice = apply(CROSS "a", once);
            place(placements[first]);
            ck_assert_int_eq(imgpar_array_eval(once, NULL), IMGPAR_OK);
            place(placements[second]);
            const uint64_t before[2] = { kernels_of(0), kernels_of(1) };
            int *got = elements_of(twice);
            assert_cross_twice(got, H, W);
            ck_assert_int_eq(kernels_of(0) > before[0], second != 1);
            ck_assert_int_eq(kernels_of(1) > before[1], second != 0);
            free(got);
            imgpar_array_release(twice);
            imgpar_array_release(once);
            imgpar_array_release(image);
        }
}
END_TEST

/* Unless told, work goes where its data are, as far as copying would take time. */
START_TEST(work_goes_where_its_data_are)
{
    pretend(2);
    imgpar_array *image = image_of(ctx, 1500, 1500), *once = apply(CROSS "a", image), *twice = apply(CROSS "a", once);
    char *text, want[200];
    place("1");
    ck_assert_int_eq(imgpar_array_eval(once, NULL), IMGPAR_OK);
    place("auto");
    snprintf(want, sizeof want, "\ndevices: %s alone: it has what is read\n",
             imgpar_context_device_at(ctx, 1)->selector);
    ck_assert_int_eq(imgpar_array_explain(twice, "text", &text), IMGPAR_OK);
    ck_assert_msg(strstr(text, want) != NULL, "%s", text);
    uint64_t before = kernels_of(0);
    int *got = elements_of(twice);
    assert_cross_twice(got, 1500, 1500);
    ck_assert_uint_eq(kernels_of(0), before);
    free(got);
    imgpar_free(text);
    imgpar_array_release(twice);
    imgpar_array_release(once);
    imgpar_array_release(image);
}
END_TEST

START_TEST(loops_give_the_same)
{
    enum { H = 40, W = 30, STEPS = 4 };
    pretend(_i % 3);
    place(_i < 3 ? "1:1" : "auto");
    imgpar_array *image = image_of(ctx, H, W);
    imgpar_array *looped =
        apply("iterate(cast($1, i32), 4, _[-1,0] + _[1,0] + _[0,-1] + 2 * _[0,1], until = sum(_) < 0)", image);
    int *got = elements_of(looped), *levels = calloc(H * W, sizeof *levels);
    for (int i = 0; i < H * W; i++)
        levels[i] = level(i);
    for (int n = 0; n < STEPS; n++) {
        int *next = cross(levels, H, W);
        free(levels);
        levels = next;
    }
    for (int i = 0; i < H * W; i++)
        ck_assert_int_eq(got[i], levels[i]);
    free(levels);
    free(got);
    imgpar_array_release(looped);
    imgpar_array_release(image);
}
END_TEST

/* ---- batches --------------------------------------------------------------------------------- */

enum { N_ITEMS = 9 };

static void check_batch(void)
{
    imgpar_array *images[N_ITEMS], *results[N_ITEMS];
    for (int k = 0; k < N_ITEMS; k++) {
        images[k] = image_of(ctx, 20 + k, 30);
        results[k] = apply(twice_text, images[k]);
    }
    ck_assert_int_eq(imgpar_eval(results, N_ITEMS, NULL), IMGPAR_OK);
    for (int k = 0; k < N_ITEMS; k++) {
        int *got = elements_of(results[k]);
        assert_cross_twice(got, 20 + k, 30);
        free(got);
        imgpar_array_release(results[k]);
        imgpar_array_release(images[k]);
    }
}

START_TEST(items_are_shared_out)
{
    pretend(_i);
    place("auto");
    check_batch();
    const uint64_t before[2] = { kernels_of(0), kernels_of(1) };
    place("2:1");
    check_batch();
    uint64_t n[2] = { kernels_of(0) - before[0], kernels_of(1) - before[1] };
    ck_assert_uint_eq(n[0] + n[1], N_ITEMS);
    ck_assert_uint_eq(n[1], 3);
}
END_TEST

/* Nothing was measured yet: both are taken to be as fast. */
static void pretend_equal_speeds(void)
{
    for (size_t k = 0; k < 2; k++)
        ctx->devices.usual[k] = 0.5;
}

START_TEST(an_item_as_large_as_all_others_is_cut)
{
    pretend_equal_speeds();
    imgpar_array *images[2] = { image_of(ctx, 1500, 1500), image_of(ctx, 20, 20) }, *results[2];
    for (int k = 0; k < 2; k++)
        results[k] = apply(twice_text, images[k]);
    ck_assert_int_eq(imgpar_eval(results, 2, NULL), IMGPAR_OK);
    ck_assert_uint_eq(kernels_of(0) + kernels_of(1), 3);
    for (int k = 0; k < 2; k++) {
        int *got = elements_of(results[k]);
        assert_cross_twice(got, k ? 20 : 1500, k ? 20 : 1500);
        free(got);
        imgpar_array_release(results[k]);
        imgpar_array_release(images[k]);
    }
}
END_TEST

static size_t groups_of(imgpar_array *const *arrays, size_t n)
{
    ip_groups groups;
    ck_assert_int_eq(ip_groups_find(arrays, n, &groups, NULL), IMGPAR_OK);
    size_t n_groups = groups.n;
    ck_assert_uint_eq(groups.first[groups.n], n);
    ip_groups_clear(&groups);
    return n_groups;
}

START_TEST(arrays_that_share_work_are_one_item)
{
    imgpar_array *x = image_of(ctx, 5, 5), *y = image_of(ctx, 5, 5);
    imgpar_array *ax = apply("$1 * 2 + 1", x), *ay = apply("$1 * 2 + 1", y), *bx = apply("$1 * 2 + 3", x),
                 *cx = apply("($1 * 2 + 1) * 7", x);
    imgpar_array *both = imgpar_apply(ctx, "$1 + $2", (imgpar_array *[]){ ay, cx }, 2);
    ck_assert_uint_eq(groups_of((imgpar_array *[]){ ax, ay }, 2), 2); /* data alone is no work */
    ck_assert_uint_eq(groups_of((imgpar_array *[]){ ax, bx }, 2), 1); /* x * 2 is in both */
    ck_assert_uint_eq(groups_of((imgpar_array *[]){ ax, ay, cx }, 3), 2);
    ck_assert_uint_eq(groups_of((imgpar_array *[]){ ax, ay, cx, both }, 4), 1);
    ck_assert_uint_eq(groups_of((imgpar_array *[]){ ay, ay }, 2), 1);
    imgpar_array *const all[] = { x, y, ax, ay, bx, cx, both };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        imgpar_array_release(all[k]);
}
END_TEST

/* ---- speeds ---------------------------------------------------------------------------------------- */

static void measured(uint64_t plan, double ms0, double ms1)
{
    const ip_work work = { .plan = plan, .amount = 100, .may = 3 };
    const double ms[2] = { ms0, ms1 };
    for (size_t k = 0; k < 2; k++) {
        ip_devices_begin(&ctx->devices, k, work.amount);
        ip_devices_end(&ctx->devices, k, &work, work.amount, ms[k]);
    }
}

START_TEST(shares_follow_what_was_measured)
{
    double shares[IP_MAX_DEVICES];
    const ip_work one = { .plan = 1, .amount = 100, .may = 3 }, other = { .plan = 2, .amount = 100, .may = 3 };
    measured(1, 1, 4);
    ip_devices_shares(&ctx->devices, &one, shares);
    ck_assert_double_eq_tol(shares[0], 0.8, 1e-9);
    ck_assert_double_eq_tol(shares[1], 0.2, 1e-9);
    for (int k = 0; k < 20; k++) /* old measurements fade */
        measured(1, 4, 1);
    ip_devices_shares(&ctx->devices, &one, shares);
    ck_assert_double_eq_tol(shares[1], 0.8, 1e-4);
    ip_devices_shares(&ctx->devices, &other, shares); /* nothing known: as usual */
    ck_assert_double_eq_tol(shares[1], 0.8, 1e-3);
    ip_devices_shares(&ctx->devices, &(ip_work){ .plan = 1, .amount = 100, .may = 1 }, shares);
    ck_assert(shares[0] == 1);
    place("1:3");
    ip_devices_shares(&ctx->devices, &one, shares);
    ck_assert_double_eq_tol(shares[1], 0.75, 1e-9);
}
END_TEST

START_TEST(a_slow_device_is_left_out_and_tried_again)
{
    double shares[IP_MAX_DEVICES];
    const ip_work work = { .plan = 3, .amount = 100, .may = 3 };
    measured(3, 1, 500);
    ip_devices_shares(&ctx->devices, &work, shares);
    ck_assert(shares[1] == 0);
    int n = 0;
    while (shares[1] <= 0 && ++n < 100) {
        ip_devices_begin(&ctx->devices, 0, work.amount);
        ip_devices_end(&ctx->devices, 0, &work, work.amount, 1);
        ip_devices_shares(&ctx->devices, &work, shares);
    }
    ck_assert_int_gt(n, 5);
    ck_assert_int_lt(n, 100);
}
END_TEST

START_TEST(the_quickest_device_is_the_one_done_first)
{
    const ip_work work = { .plan = 4, .amount = 100, .may = 3 };
    measured(4, 1, 2);
    ck_assert_uint_eq(ip_devices_quickest(&ctx->devices, &work), 0);
    ip_devices_begin(&ctx->devices, 0, 150);
    ck_assert_uint_eq(ip_devices_quickest(&ctx->devices, &work), 1);
    ip_devices_end(&ctx->devices, 0, &work, 150, 0);
    ck_assert_uint_eq(ip_devices_quickest(&ctx->devices, &(ip_work){ .plan = 4, .amount = 100, .may = 2 }), 1);
}
END_TEST

/* ---- what is told ------------------------------------------------------------------------------------ */

typedef struct seen_events {
    pthread_t thread;
    int kernels[2], elsewhere, polls;
} seen_events;

static void note(void *user, const imgpar_event *event)
{
    seen_events *seen = user;
    seen->elsewhere += !pthread_equal(seen->thread, pthread_self());
    for (size_t k = 0; k < 2; k++)
        seen->kernels[k] += strcmp(event->kind, "kernel") == 0 &&
                            strcmp(event->device, imgpar_context_device_at(ctx, k)->selector) == 0;
}

static int count_polls(void *user, double done)
{
    seen_events *seen = user;
    seen->elsewhere += !pthread_equal(seen->thread, pthread_self()) || !(done >= 0 && done <= 1);
    seen->polls++;
    return 0;
}

START_TEST(events_tell_the_device_and_come_on_the_callers_thread)
{
    seen_events seen = { .thread = pthread_self() };
    const imgpar_options options = {
        .struct_size = sizeof options, .poll = count_polls, .on_event = note, .user = &seen
    };
    place("1:1");
    imgpar_array *image = image_of(ctx, 60, 60), *a = apply(twice_text, image);
    int *got = elements_with(a, &options);
    assert_cross_twice(got, 60, 60);
    ck_assert_int_eq(seen.kernels[0], 1);
    ck_assert_int_eq(seen.kernels[1], 1);
    ck_assert_int_gt(seen.polls, 0);
    ck_assert_int_eq(seen.elsewhere, 0);
    free(got);
    imgpar_array_release(a);
    imgpar_array_release(image);
}
END_TEST

static void assert_explained(imgpar_array *const *arrays, size_t n, const char *want)
{
    char *text;
    ck_assert_int_eq(imgpar_explain(arrays, n, "text", &text), IMGPAR_OK);
    ck_assert_msg(strstr(text, want) != NULL, "\"%s\" is not in:\n%s", want, text);
    imgpar_free(text);
    ck_assert_int_eq(imgpar_explain(arrays, n, "json", &text), IMGPAR_OK);
    ck_assert_msg(strstr(text, "\"sharing\": \"devices: ") != NULL, "%s", text);
    imgpar_free(text);
}

START_TEST(explain_says_who_would_do_what)
{
    pretend_equal_speeds();
    const char *first = imgpar_context_device_at(ctx, 0)->selector,
               *second = imgpar_context_device_at(ctx, 1)->selector;
    imgpar_array *image = image_of(ctx, 60, 60), *other = image_of(ctx, 6, 6);
    imgpar_array *twice = apply(twice_text, image), *sum = apply("sum($1)", image), *more = apply("$1 + 1", other);
    char want[200];
    assert_explained((imgpar_array *[]){ twice, more }, 2,
                     "\ndevices: 2 items in turn, one of them too large to be given out whole\n");
    place("3:1");
    snprintf(want, sizeof want, "\ndevices: %s 75%%, %s 25%% of the rows\n", first, second);
    assert_explained(&twice, 1, want);
    assert_explained(&sum, 1, want);
    snprintf(want, sizeof want, "\ndevices: %s 75%%, %s 25%% of the items, 2 of them\n", first, second);
    assert_explained((imgpar_array *[]){ twice, more }, 2, want);
    place("1");
    snprintf(want, sizeof want, "\ndevices: %s alone: it is placed there\n", second);
    assert_explained(&twice, 1, want);
    imgpar_array *const all[] = { image, other, twice, sum, more };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        imgpar_array_release(all[k]);
}
END_TEST

START_TEST(counters_add_up)
{
    imgpar_counters all = { .struct_size = sizeof all },
                    each[2] = { { .struct_size = sizeof all }, { .struct_size = sizeof all } };
    place("1:1");
    check_cross_twice(30, 30);
    imgpar_context_counters(ctx, &all);
    for (size_t k = 0; k < 2; k++)
        imgpar_context_device_counters(ctx, k, &each[k]);
    ck_assert_uint_eq(all.kernels, each[0].kernels + each[1].kernels);
    ck_assert_uint_eq(all.buffers, each[0].buffers + each[1].buffers);
    ck_assert_uint_eq(all.programs_built, each[0].programs_built + each[1].programs_built);
    ck_assert_uint_eq(all.programs_loaded, each[0].programs_loaded + each[1].programs_loaded);
    imgpar_context_device_counters(ctx, 2, &each[0]);
    ck_assert_uint_eq(each[0].kernels, 0);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------------------ */

START_TEST(a_placement_that_fits_nothing_is_refused)
{
    static const char *const bad[] = { "",   "2",  "-1",   "x",     "0.5",   "1:2:3", "0:0",
                                       "1:", ":1", "1:-1", "1 : 1", "1:nan", "1;1" };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ck_assert_msg(imgpar_context_set(ctx, "placement", bad[k]) == IMGPAR_E_ARGUMENT, "\"%s\"", bad[k]);
    imgpar_context *one = open_context("cpu"), *ref = open_context("ref");
    ck_assert_int_eq(imgpar_context_set(one, "placement", "0"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(one, "placement", "auto"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(one, "placement", "1"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(one, "placement", "1:1"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ref, "placement", "0"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ref, "placement", "2:1"), IMGPAR_OK); /* there is nothing to place */
    ck_assert_int_eq(imgpar_context_set(ref, "placement", "x"), IMGPAR_E_ARGUMENT);
    imgpar_context_release(one);
    imgpar_context_release(ref);
}
END_TEST

/* WHO stands for the first device as messages name it. */
static const struct {
    const char *selector;
    imgpar_status status;
    const char *message;
} bad_selectors[] = {
    { "cpu+cpu", IMGPAR_E_ARGUMENT, "device: WHO is named twice" },
    { "cpu/2+cpu", IMGPAR_E_ARGUMENT, "device: WHO is named twice" },
    { "cpu+", IMGPAR_E_ARGUMENT, "device: a device is missing beside a plus sign" },
    { "+cpu", IMGPAR_E_ARGUMENT, "device: a device is missing beside a plus sign" },
    { "cpu+ref", IMGPAR_E_ARGUMENT,
      "device \"ref\": the reference interpreter computes alone, beside no other device" },
    { "cpu+gpu:77", IMGPAR_E_NO_DEVICE, "device \"gpu:77\": no such device; there are: " },
    { "nothing/2", IMGPAR_E_NO_DEVICE, "device \"nothing\": no such device; there are: " },
    { "cpu/1", IMGPAR_E_ARGUMENT,
      "device \"cpu/1\": parts are written as cpu/2, cpu/1:3 or cpu/2#0, 16 of them at most" },
    { "cpu/0", IMGPAR_E_ARGUMENT, "device \"cpu/0\": parts are written as" },
    { "cpu/17", IMGPAR_E_ARGUMENT, "device \"cpu/17\": parts are written as" },
    { "cpu/x", IMGPAR_E_ARGUMENT, "device \"cpu/x\": parts are written as" },
    { "cpu/", IMGPAR_E_ARGUMENT, "device \"cpu/\": parts are written as" },
    { "cpu/2#2", IMGPAR_E_ARGUMENT, "device \"cpu/2#2\": parts are written as" },
    { "cpu/2#", IMGPAR_E_ARGUMENT, "device \"cpu/2#\": parts are written as" },
    { "cpu/2x", IMGPAR_E_ARGUMENT, "device \"cpu/2x\": parts are written as" },
    { "cpu/1:0", IMGPAR_E_ARGUMENT, "device \"cpu/1:0\": parts are written as" },
    { "cpu/1:99999", IMGPAR_E_ARGUMENT, "device \"cpu/1:99999\": WHO has " },
};

START_TEST(a_bad_selector_is_one_clear_line)
{
    const imgpar_device *whole;
    imgpar_context *cpu = open_context("cpu"), *none = cpu;
    char want[600], got[600];
    whole = imgpar_context_device(cpu);
    const char *text = bad_selectors[_i].message, *who = strstr(text, "WHO");
    if (who)
        snprintf(want, sizeof want, "%.*scpu (%s)%s", (int)(who - text), text, whole->name, who + 3);
    else
        snprintf(want, sizeof want, "%s", text);
    ck_assert_int_eq(imgpar_context_new(bad_selectors[_i].selector, &none), bad_selectors[_i].status);
    ck_assert_ptr_null(none);
    imgpar_context_new_error(got, sizeof got);
    ck_assert_msg(strncmp(got, want, strlen(want)) == 0, "%s", got);
    imgpar_context_release(cpu);
}
END_TEST

START_TEST(parts_are_devices_of_their_own)
{
    if (strcmp(selector(), "cpu/2") != 0) return; /* the devices are no halves of one */
    imgpar_context *counts = open_context("cpu/1:1"), *second = open_context("cpu/2#1"), *cpu = open_context("cpu");
    ck_assert_str_eq(imgpar_context_device_at(ctx, 0)->selector, "cpu/2#0");
    ck_assert_str_eq(imgpar_context_device_at(ctx, 1)->selector, "cpu/2#1");
    ck_assert_str_eq(imgpar_context_device_at(counts, 1)->selector, "cpu/1:1#1");
    ck_assert_uint_eq(imgpar_context_device_at(counts, 0)->compute_units, 1);
    ck_assert_str_eq(imgpar_context_device(second)->selector, "cpu/2#1");
    ck_assert_ptr_null(imgpar_context_device_at(second, 1));
    ck_assert_uint_ge(imgpar_context_device(cpu)->max_parts, 2);
    ck_assert_uint_eq(imgpar_context_device(second)->max_parts, 0);
    ck_assert_uint_eq(imgpar_context_device_at(ctx, 0)->compute_units + imgpar_context_device_at(ctx, 1)->compute_units,
                      imgpar_context_device(cpu)->compute_units);
    imgpar_context_release(counts);
    imgpar_context_release(second);
    imgpar_context_release(cpu);
}
END_TEST

START_TEST(all_is_every_device)
{
    imgpar_device **list;
    size_t n;
    imgpar_context *all = open_context("all");
    ck_assert_int_eq(imgpar_device_list(&list, &n), IMGPAR_OK);
    for (size_t k = 0; k + 1 < n; k++) /* ref is the last of the list */
        ck_assert_str_eq(imgpar_context_device_at(all, k)->selector, list[k]->selector);
    ck_assert_ptr_null(imgpar_context_device_at(all, n - 1));
    imgpar_device_list_release(list, n);
    imgpar_context_release(all);
}
END_TEST

/* ---- failures ---------------------------------------------------------------------------------------- */

static uint64_t bytes_in_use(size_t device)
{
    ip_device_trim(ctx->devices.list[device]);
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_context_device_counters(ctx, device, &c);
    return c.device_bytes;
}

START_TEST(what_one_device_has_no_room_for_another_does)
{
    pretend(2);
    check_cross_twice(40, 40); /* programs are there */
    ip_device_limit(ctx->devices.list[1], 256);
    static const char *const placements[] = { "1:1", "0:1", "1" };
    for (size_t k = 0; k < 3; k++) {
        place(placements[k]);
        check_cross_twice(300, 300);
    }
    place("1:1");
    check_batch();
    ip_device_limit(ctx->devices.list[0], 256);
    imgpar_array *image = image_of(ctx, 300, 300), *a = apply(twice_text, image);
    check_cross_twice(300, 300); /* nor the interpreter, where no device has */
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_context_counters(ctx, &c);
    ck_assert_uint_ge(c.fallbacks, 1);
    ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_OK);
    ip_device_limit(ctx->devices.list[0], 0);
    ip_device_limit(ctx->devices.list[1], 0);
    imgpar_array_release(a);
    imgpar_array_release(image);
}
END_TEST

static void *file_bytes(const char *name, size_t *n)
{
    FILE *f = fopen(name, "rb");
    ck_assert_ptr_nonnull(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    void *bytes = malloc(*n);
    ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

/* Placed on the second one, which may not have room for a row; enough bytes to stream (run/strips.c). */
START_TEST(a_file_that_one_device_begins_another_ends)
{
    enum { H = 1100, W = 2200 };
    static const uint64_t limits[][2] = { { 0, 0 }, { 256, 0 }, { 0, 256 }, { 256, 256 } };
    const imgpar_options options = { .struct_size = sizeof options, .format = "npy" };
    char path[] = "/tmp/imgpar-devices-XXXXXX";
    void *whole;
    size_t n_whole, n;
    close(mkstemp(path));
    pretend(2);
    place("1");
    imgpar_array *image = image_of(ctx, H, W), *a = apply("cast($1, f32)", image);
    ck_assert_int_eq(imgpar_encode(a, &options, &whole, &n_whole), IMGPAR_OK);
    imgpar_array_release(a);
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        a = apply("cast($1, f32)", image);
        for (size_t device = 0; device < 2; device++)
            ip_device_limit(ctx->devices.list[device], limits[k][device]);
        unlink(path);
        ck_assert_msg(imgpar_save(a, path, &options) == IMGPAR_OK, "%s", imgpar_array_message(a));
        void *bytes = file_bytes(path, &n); /* of the interpreter, where no device had room */
        ck_assert_uint_eq(n, n_whole);
        ck_assert_mem_eq(bytes, whole, n);
        free(bytes);
        imgpar_array_release(a);
    }
    imgpar_free(whole);
    imgpar_array_release(image);
    unlink(path);
}
END_TEST

static int lose_room(void *user, double done)
{
    (void)user;
    if (done > 0.5) ip_device_limit(ctx->devices.list[1], 256);
    return 0;
}

START_TEST(a_file_goes_on_with_the_row_at_which_room_was_lost)
{
    enum { H = 3100, W = 2200 };
    const imgpar_options options = { .struct_size = sizeof options, .format = "npy", .poll = lose_room };
    char path[] = "/tmp/imgpar-devices-XXXXXX";
    void *whole;
    size_t n_whole, n;
    close(mkstemp(path));
    pretend(2);
    imgpar_array *image = image_of(ctx, H, W), *a = apply("cast($1, f32)", image);
    place("0");
    ck_assert_int_eq(
        imgpar_encode(a, &(imgpar_options){ .struct_size = sizeof options, .format = "npy" }, &whole, &n_whole),
        IMGPAR_OK);
    imgpar_array_release(a);
    place("1");
    const uint64_t before[] = { kernels_of(0), kernels_of(1) };
    a = apply("cast($1, f32)", image);
    ck_assert_msg(!imgpar_save(a, path, &options), "%s", imgpar_array_message(a));
    ck_assert_uint_gt(kernels_of(0), before[0]);
    ck_assert_uint_gt(kernels_of(1), before[1]);
    void *bytes = file_bytes(path, &n);
    ck_assert_uint_eq(n, n_whole);
    ck_assert_mem_eq(bytes, whole, n);
    free(bytes);
    imgpar_free(whole);
    imgpar_array_release(a);
    imgpar_array_release(image);
    unlink(path);
}
END_TEST

/* Parts are put together in host memory: 9 MB, of which the limit leaves 4. */
START_TEST(a_limit_on_host_memory_holds_for_parts)
{
    enum { SIDE = 1500, BYTES = 4 * SIDE * SIDE };
    place("1:1");
    pretend(_i);
    int *got = malloc(BYTES);
    for (int is_limited = 0; is_limited < 2; is_limited++) {
        ck_assert_int_eq(imgpar_context_set(ctx, "host_limit", is_limited ? "4M" : "64M"), IMGPAR_OK);
        imgpar_array *a = imgpar_apply(ctx, "make(1500, 1500, cast(x * 3 + y, i32))", NULL, 0);
        const imgpar_status st = imgpar_array_eval(a, NULL);
        const unsigned long long held = atomic_load(&ctx->host->held_bytes);
        if (is_limited) {
            ck_assert_int_eq(st, IMGPAR_E_DEVICE_MEMORY);
            ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "limit on host memory"));
            ck_assert_uint_le(held, 4 << 20);
        } else {
            ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(a));
            ck_assert_uint_ge(held, BYTES);
            ck_assert_int_eq(imgpar_array_read(a, got, BYTES), IMGPAR_OK);
            ck_assert_int_eq(got[1400 * SIDE + 7], 7 * 3 + 1400);
        }
        imgpar_array_release(a);
        for (size_t k = 0; k < 2; k++)
            ip_device_trim(ctx->devices.list[k]);
        ck_assert_uint_eq(atomic_load(&ctx->host->held_bytes), 0);
    }
    free(got);
}
END_TEST

static int stop_at_once(void *user, double done)
{
    (void)done;
    return ++*(int *)user > 1; /* the first is asked before anything begins */
}

START_TEST(an_interrupted_evaluation_stops_on_all_devices)
{
    static const char *const placements[] = { "1:1", "0" };
    for (int k = 0; k < 2; k++) {
        int n = 0;
        const imgpar_options options = { .struct_size = sizeof options, .poll = stop_at_once, .user = &n };
        place(placements[k]);
        imgpar_array *image = image_of(ctx, 3000, 3000), *a = apply("median($1, size=5)", image);
        ck_assert_int_eq(imgpar_array_eval(a, &options), IMGPAR_E_INTERRUPTED);
        ck_assert_str_eq(imgpar_array_message(a), "interrupted");
        imgpar_array_release(a);
        imgpar_array_release(image);
    }
    place("1:1");
    check_cross_twice(40, 40);
    ck_assert_uint_eq(bytes_in_use(0), 0);
    ck_assert_uint_eq(bytes_in_use(1), 0);
}
END_TEST

/* The Nth call fails, whichever thread it is on: the result is right or there is a message; nothing is left behind. */
START_TEST(any_call_may_fail)
{
    enum { H = 40, W = 40, MOST = 4000 };
    static const ip_fault_kind kinds[] = { IP_FAULT_CL, IP_FAULT_ALLOC };
    bool is_batch = _i >= 2;
    place("1:1");
    pretend(2);
    check_batch();
    imgpar_array *images[2] = { image_of(ctx, H, W), image_of(ctx, H + 1, W) }, *results[2];
    unsigned long step = 1;
    for (unsigned long n = 1; n < MOST; n += step) {
        for (int k = 0; k < 2; k++)
            results[k] = apply(twice_text, images[k]);
        ip_fault_set(kinds[_i % 2], n);
        imgpar_status st = imgpar_eval(results, is_batch ? 2 : 1, NULL);
        bool failed = ip_fault_seen(kinds[_i % 2]) >= n;
        ip_fault_set(kinds[_i % 2], 0);
        if (st)
            ck_assert_str_ne(imgpar_array_message(results[0]), "");
        else
            for (int k = 0; k < (is_batch ? 2 : 1); k++) {
                int *got = elements_of(results[k]);
                assert_cross_twice(got, H + k, W);
                free(got);
            }
        for (int k = 0; k < 2; k++)
            imgpar_array_release(results[k]);
        if (!failed) break;
        step = n < 300 ? 1 : 23; /* the later ones are alike */
    }
    for (int k = 0; k < 2; k++)
        imgpar_array_release(images[k]);
    ck_assert_uint_eq(bytes_in_use(0), 0);
    ck_assert_uint_eq(bytes_in_use(1), 0);
}
END_TEST

START_TEST(opening_may_fail_at_any_call)
{
    static const ip_fault_kind kinds[] = { IP_FAULT_CL, IP_FAULT_ALLOC };
    for (unsigned long n = 1, failed = 1; failed; n++) {
        imgpar_context *c;
        char why[500];
        ip_fault_set(kinds[_i], n);
        imgpar_status st = imgpar_context_new(selector(), &c);
        failed = ip_fault_seen(kinds[_i]) >= n;
        ip_fault_set(kinds[_i], 0);
        imgpar_context_new_error(why, sizeof why);
        ck_assert((st == IMGPAR_OK) == (c != NULL));
        ck_assert((st == IMGPAR_OK) == (why[0] == '\0'));
        imgpar_context_release(c);
    }
    check_cross_twice(30, 30);
}
END_TEST

/* ---- threads ---------------------------------------------------------------------------------------------- */

enum { N_THREADS = 4, N_TURNS = 6 };

static void *evaluate_in_turns(void *user)
{
    const int *number = user;
    for (int n = 0; n < N_TURNS; n++) {
        check_cross_twice(20 + 7 * *number + n, 50);
        if (n % 3 == 0) check_batch();
    }
    return NULL;
}

START_TEST(threads_share_the_devices)
{
    static const char *const placements[] = { "auto", "1:1" };
    pthread_t threads[N_THREADS];
    int numbers[N_THREADS];
    place(placements[_i % 2]);
    pretend(_i / 2);
    for (int k = 0; k < N_THREADS; k++) {
        numbers[k] = k;
        ck_assert_int_eq(pthread_create(&threads[k], NULL, evaluate_in_turns, &numbers[k]), 0);
    }
    for (int k = 0; k < N_THREADS; k++)
        pthread_join(threads[k], NULL);
    ck_assert_int_eq(ctx->devices.n_running, 0);
}
END_TEST

/* ---- jobs ------------------------------------------------------------------------------------------------- */

/* Fails by itself, after the others have failed, or never. */
typedef struct failing {
    ip_job job;
    const char *message; /* NULL: it does not fail */
    bool waits;
} failing;

static imgpar_status fail_in_turn(ip_job *job, const imgpar_options *options, ip_error *err)
{
    const failing *f = (const failing *)job;
    (void)options;
    while (f->waits && !ip_job_is_over(job)) /* as what takes item after item does */
        usleep(100);
    return f->message ? ip_fail(err, IMGPAR_E_IO, "%s", f->message) : IMGPAR_OK;
}

START_TEST(the_first_failure_in_time_ends_all_jobs_and_is_told)
{
    enum { MOST = 3 };
    static const failing rows[][MOST] = {
        { { .message = "late", .waits = true }, { .message = "first" }, { .waits = true } },
        { { .waits = true }, { .message = "late", .waits = true }, { .message = "first" } },
        { { .message = "first" }, { .waits = true }, { .message = "late", .waits = true } },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        failing jobs[MOST];
        ip_job *list[MOST];
        ip_error err = { IMGPAR_OK, "" };
        for (int i = 0; i < MOST; i++) {
            jobs[i] = rows[k][i];
            jobs[i].job = (ip_job){ .run = fail_in_turn, .share = 1.0 / MOST };
            list[i] = &jobs[i].job;
        }
        ck_assert_int_eq(ip_jobs_run(list, MOST, NULL, &err), IMGPAR_E_IO);
        ck_assert_str_eq(err.message, "first");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("devices");
    TCase *t = tcase_create("devices");
    if (has_no_devices()) {
        puts("SKIP: one processor cannot be divided in two");
        return 77;
    }
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_devices, close_devices);
    tcase_add_loop_test(t, parts_meet_at_every_size_and_share, 0, 3);
    tcase_add_test(t, both_devices_compute_by_their_weights);
    tcase_add_test(t, without_being_told_large_images_are_cut_and_small_ones_are_not);
    tcase_add_test(t, a_source_is_uploaded_as_far_as_a_part_reads_it);
    tcase_add_test(t, devices_that_share_memory_copy_nothing);
    tcase_add_loop_test(t, volumes_are_cut_between_planes, 0, 3);
    tcase_add_loop_test(t, several_results_of_one_plan_are_cut_alike, 0, 3);
    tcase_add_loop_test(t, what_needs_all_rows_is_the_same_in_parts, 0, 3);
    tcase_add_loop_test(t, a_result_may_take_the_place_of_its_source, 0, 3);
    tcase_add_loop_test(t, a_kept_value_goes_where_it_is_needed, 0, 3);
    tcase_add_test(t, work_goes_where_its_data_are);
    tcase_add_loop_test(t, loops_give_the_same, 0, 6);
    tcase_add_loop_test(t, items_are_shared_out, 0, 3);
    tcase_add_test(t, an_item_as_large_as_all_others_is_cut);
    tcase_add_test(t, arrays_that_share_work_are_one_item);
    tcase_add_test(t, shares_follow_what_was_measured);
    tcase_add_test(t, a_slow_device_is_left_out_and_tried_again);
    tcase_add_test(t, the_quickest_device_is_the_one_done_first);
    tcase_add_test(t, events_tell_the_device_and_come_on_the_callers_thread);
    tcase_add_test(t, explain_says_who_would_do_what);
    tcase_add_test(t, counters_add_up);
    tcase_add_test(t, a_placement_that_fits_nothing_is_refused);
    tcase_add_loop_test(t, a_bad_selector_is_one_clear_line, 0, (int)(sizeof bad_selectors / sizeof *bad_selectors));
    tcase_add_test(t, parts_are_devices_of_their_own);
    tcase_add_test(t, all_is_every_device);
    tcase_add_test(t, what_one_device_has_no_room_for_another_does);
    tcase_add_test(t, a_file_that_one_device_begins_another_ends);
    tcase_add_test(t, a_file_goes_on_with_the_row_at_which_room_was_lost);
    tcase_add_loop_test(t, a_limit_on_host_memory_holds_for_parts, 0, 3);
    tcase_add_test(t, an_interrupted_evaluation_stops_on_all_devices);
    tcase_add_test(t, the_first_failure_in_time_ends_all_jobs_and_is_told);
    tcase_add_loop_test(t, any_call_may_fail, 0, 4);
    tcase_add_loop_test(t, opening_may_fail_at_any_call, 0, 2);
    tcase_add_loop_test(t, threads_share_the_devices, 0, 6);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, devices_fork_status());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
