/* SPDX-License-Identifier: MIT */
/*
 * More than fits the device: kernel by kernel with what is between them in host memory, kept values that make room,
 * the interpreter in the device's place, and what is said where nobody can. Results are compared with those without a
 * limit and with loops; on the device as it is, and as if it had memory of its own.
 */
#include "base/alloc.h"
#include "asserts.h"
#include "held.h"
#include "run/context.h"
#include "run/evaluation_impl.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { H = 500, W = 611, N = H * W };

static imgpar_context *ctx;

/* What the library believes of the device's memory. Undone by the end of the context. */
static void give_memory_of_its_own(bool own)
{
    ip_device_facts *facts = (ip_device_facts *)ip_device_facts_of(ctx->device);
    facts->info.has_unified_memory = !own;
}

static void set_up(void)
{
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}

static void tear_down(void)
{
    if (ctx->device) give_memory_of_its_own(false);
    imgpar_context_release(ctx);
}

static void limit(const char *bytes) { ck_assert_int_eq(imgpar_context_set(ctx, "mem_limit", bytes), IMGPAR_OK); }

static imgpar_counters counted(void)
{
    imgpar_counters c = { .struct_size = sizeof c };
    ck_assert_int_eq(imgpar_context_counters(ctx, &c), IMGPAR_OK);
    return c;
}

static uint32_t number(int64_t k) { return (uint32_t)k * 2654435761u >> 9; }

static double element(imgpar_dtype dtype, int64_t k)
{
    return dtype == IMGPAR_U8 ? number(k) % 256 : (double)(number(k) % 4096) / 64 - 20;
}

static imgpar_array *new_array(imgpar_dtype dtype, int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int k = 0; k < rank; k++)
        n *= shape[k];
    void *data = malloc((size_t)n * 4);
    ck_assert_ptr_nonnull(data);
    for (int64_t k = 0; k < n; k++)
        if (dtype == IMGPAR_U8)
            ((uint8_t *)data)[k] = (uint8_t)element(dtype, k);
        else
            ((float *)data)[k] = (float)element(dtype, k);
    imgpar_array *a = imgpar_array_from_data(ctx, dtype, rank, shape, data);
    free(data);
    return a;
}

static imgpar_array *new_plane(imgpar_dtype dtype) { return new_array(dtype, 2, (int64_t[]){ H, W }); }

static void *read_all(imgpar_array *a, size_t *n, imgpar_dtype *dtype)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_msg(imgpar_array_info(a, &info) == IMGPAR_OK, "%s", imgpar_array_message(a));
    void *bytes = malloc(info.size_bytes + 1);
    ck_assert_ptr_nonnull(bytes);
    const imgpar_status st = imgpar_array_read(a, bytes, info.size_bytes);
    ck_assert_msg(st == IMGPAR_OK, "%s", imgpar_array_message(a));
    *n = info.size_bytes;
    *dtype = info.dtype;
    return bytes;
}

/* ---- the same as without a limit ------------------------------------------------------------------------ */

typedef struct row {
    const char *text;
    imgpar_dtype dtype;
    int channels;  /* 0: a plane */
    bool is_exact; /* no floats are added up in another order */
} row;

static const row rows[] = {
    { "sum($1)", IMGPAR_U8, 3, true },
    { "mean($1)", IMGPAR_F32, 0, false },
    { "std($1)", IMGPAR_F32, 0, false },
    { "std($1, axis=0)", IMGPAR_F32, 0, true },
    { "var($1, axis=1)", IMGPAR_U8, 0, true },
    { "mean($1, axis=0)", IMGPAR_F32, 0, true },
    { "sum($1, axis=1)", IMGPAR_U8, 3, true },
    { "minval($1) + maxval($1)", IMGPAR_F32, 0, true },
    { "argmin($1)", IMGPAR_F32, 0, true },
    { "argmax($1, axis=0)", IMGPAR_F32, 0, true },
    { "cumsum($1, axis=0)", IMGPAR_F32, 0, true },
    { "cumsum($1, axis=1)", IMGPAR_U8, 0, true },
    { "scan($1, 0.5, (s, q) -> s * 0.9 + q * 0.1)", IMGPAR_F32, 0, true },
    { "percentile($1, 90, axis=0)", IMGPAR_F32, 0, true },
    { "percentile($1, 25, axis=1)", IMGPAR_U8, 0, true },
    { "percentile($1, 90)", IMGPAR_F32, 0, true },
    { "median($1, size=5)", IMGPAR_U8, 0, true },
    { "histogram($1)", IMGPAR_U8, 0, true },
    { "equalize($1)", IMGPAR_U8, 3, true },
    { "sort($1, axis=0)", IMGPAR_F32, 0, true },
    { "transpose($1)", IMGPAR_U8, 3, true },
    { "sum(transpose($1) + 1)", IMGPAR_U8, 0, true },
    { "$1 - mean($1)", IMGPAR_F32, 0, false },
    { "$1 - mean($1, axis=0)", IMGPAR_F32, 0, true },
    { "normalize($1)", IMGPAR_U8, 3, true },
    { "resize($1, 200, 300)", IMGPAR_U8, 3, true },
    { "sum(blur($1, 2))", IMGPAR_U8, 0, true },
    { "blur(transpose($1), 2)", IMGPAR_U8, 3, true },
    { "boxblur(cumsum($1, axis=0), 5, wrap)", IMGPAR_F32, 0, true },
    { "mean(cumsum($1, axis=1), axis=0)", IMGPAR_F32, 0, true },
    { "crop(cumsum($1, axis=0), 40, 30, 300, 200)", IMGPAR_F32, 0, true },
    { "matmul($1, transpose($1))", IMGPAR_F32, 0, false },
    { "cast(real(ifft(fft(crop($1, 0, 0, 600, 500)))), f32)", IMGPAR_F32, 0, false },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static imgpar_array *made(const row *r)
{
    const int64_t shape[3] = { H, W, r->channels };
    imgpar_array *a = new_array(r->dtype, r->channels ? 3 : 2, shape), *out = imgpar_apply(ctx, r->text, &a, 1);
    imgpar_array_release(a);
    return out;
}

static void compare(const row *r, const char *bytes_limit, bool own, const void *want, const void *got, size_t n,
                    imgpar_dtype dtype)
{
    if (r->is_exact || dtype != IMGPAR_F32) {
        ck_assert_msg(memcmp(want, got, n) == 0, "%s with %s%s: other bytes", r->text, bytes_limit,
                      own ? " of its own" : "");
        return;
    }
    double most = 0;
    for (size_t k = 0; k < n / sizeof(float); k++)
        most = fmax(most, fabs((double)((const float *)want)[k]));
    for (size_t k = 0; k < n / sizeof(float); k++)
        ck_assert_msg(fabs((double)((const float *)want)[k] - (double)((const float *)got)[k]) <= 1e-5 * most,
                      "%s with %s%s: element %zu is %g, not %g", r->text, bytes_limit, own ? " of its own" : "", k,
                      (double)((const float *)got)[k], (double)((const float *)want)[k]);
}

START_TEST(what_does_not_fit_is_the_same)
{
    static const char *const limits[] = { "2M", "600K", "100K" };
    const row *r = &rows[_i];
    imgpar_array *whole = made(r);
    size_t n, n_got;
    imgpar_dtype dtype;
    void *want = read_all(whole, &n, &dtype);
    imgpar_array_release(whole);
    for (int own = 0; own < 2 && ctx->device; own++) {
        give_memory_of_its_own(own);
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            limit(limits[k]);
            imgpar_array *cut = made(r);
            void *got = read_all(cut, &n_got, &dtype);
            ck_assert_uint_eq(n, n_got);
            compare(r, limits[k], own, want, got, n, dtype);
            free(got);
            imgpar_array_release(cut);
        }
    }
    free(want);
}
END_TEST

/* ---- loops -------------------------------------------------------------------------------------------- */

static float *floats_of(const char *text, imgpar_dtype dtype, size_t n_wanted)
{
    imgpar_array *a = new_plane(dtype), *out = imgpar_apply(ctx, text, &a, 1);
    size_t n;
    imgpar_dtype got;
    float *floats = read_all(out, &n, &got);
    ck_assert_int_eq(got, IMGPAR_F32);
    ck_assert_uint_eq(n, n_wanted * sizeof(float));
    imgpar_array_release(out);
    imgpar_array_release(a);
    return floats;
}

static void check_loops(void)
{
    const imgpar_dtype f32 = IMGPAR_F32;
    float *sums = floats_of("cumsum($1, axis=0)", f32, N), *means = floats_of("mean($1, axis=1)", f32, H),
          *centred = floats_of("$1 - mean($1)", f32, N);
    double mean = 0;
    for (int64_t k = 0; k < N; k++)
        mean += element(f32, k) / N;
    for (int x = 0; x < W; x++) {
        float sum = 0; /* in the order of the line */
        for (int y = 0; y < H; y++) {
            sum += (float)element(f32, (int64_t)y * W + x);
            ck_assert_float_eq(sums[y * W + x], sum);
        }
    }
    for (int y = 0; y < H; y++) {
        double sum = 0;
        for (int x = 0; x < W; x++)
            sum += element(f32, (int64_t)y * W + x);
        ck_assert_double_eq_tol((double)means[y], sum / W, 1e-5);
    }
    for (int64_t k = 0; k < N; k++)
        ck_assert_double_eq_tol((double)centred[k], element(f32, k) - mean, 1e-4);
    free(sums);
    free(means);
    free(centred);
}

static int rising(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void check_percentile(void)
{
    float *got = floats_of("percentile($1, 50, axis=0)", IMGPAR_F32, W), column[H];
    for (int x = 0; x < W; x++) {
        for (int y = 0; y < H; y++)
            column[y] = (float)element(IMGPAR_F32, (int64_t)y * W + x);
        qsort(column, H, sizeof *column, rising);
        ck_assert_double_eq_tol((double)got[x], ((double)column[H / 2 - 1] + (double)column[H / 2]) / 2, 1e-5);
    }
    free(got);
}

START_TEST(what_does_not_fit_is_right)
{
    if (!ctx->device) return;
    give_memory_of_its_own(_i);
    limit("300K");
    check_loops();
    check_percentile();
}
END_TEST

/* ---- what it takes ------------------------------------------------------------------------------------- */

START_TEST(the_device_holds_no_more_than_its_limit)
{
    static const char *const texts[] = { "cumsum($1, axis=0)", "$1 - percentile($1, 50, axis=0)",
                                         "transpose(cumsum($1, axis=1)) * 2", "sum(transpose($1) * transpose($1))" };
    if (!ctx->device) return;
    give_memory_of_its_own(true);
    limit("300K");
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        const uint64_t spills = counted().spills;
        imgpar_array *a = new_plane(IMGPAR_F32), *out = imgpar_apply(ctx, texts[k], &a, 1);
        ck_assert_msg(imgpar_array_eval(out, NULL) == IMGPAR_OK, "%s", imgpar_array_message(out));
        ck_assert_uint_le(counted().device_bytes_peak, 300 << 10);
        ck_assert_uint_eq(counted().fallbacks, 0);
        if (k < 3) ck_assert_uint_eq(counted().spills, spills + 1);
        imgpar_array_release(out);
        imgpar_array_release(a);
    }
}
END_TEST

START_TEST(explain_tells_how_it_fits)
{
    static const char *const rows_of[][2] = { { "cumsum($1, axis=0) * 2", "of the device: kernel by kernel" },
                                              { "median(blur($1, 3), size=5)", "of the device: in strips of rows" },
                                              { "sum($1 * 2)", "of the device: folded by halves" } };
    if (!ctx->device) return;
    give_memory_of_its_own(true);
    for (size_t k = 0; k < sizeof rows_of / sizeof *rows_of; k++) {
        imgpar_array *a = new_plane(IMGPAR_F32), *out = imgpar_apply(ctx, rows_of[k][0], &a, 1);
        for (int is_limited = 0; is_limited < 2; is_limited++) {
            char *text;
            limit(is_limited ? "300K" : "0");
            ck_assert_int_eq(imgpar_array_explain(out, NULL, &text), IMGPAR_OK);
            ck_assert_msg(!strstr(text, rows_of[k][1]) == !is_limited, "%s", text);
            ck_assert_msg(!strstr(text, "memory: ") == !is_limited, "%s", text);
            imgpar_free(text);
        }
        imgpar_array_release(out);
        imgpar_array_release(a);
    }
}
END_TEST

/* Results that are one stage, or a source, and one that shows a part of its stage. */
START_TEST(several_results_that_do_not_fit_together)
{
    if (!ctx->device) return;
    give_memory_of_its_own(_i);
    limit("300K");
    imgpar_array *a = new_plane(IMGPAR_F32), *sums = imgpar_apply(ctx, "cumsum($1, axis=0)", &a, 1),
                 *again = imgpar_apply(ctx, "cumsum($1, axis=0)", &a, 1),
                 *part = imgpar_apply(ctx, "crop(cumsum($1, axis=0), 5, 7, 100, 90)", &a, 1),
                 *total = imgpar_apply(ctx, "sum(cumsum($1, axis=0))", &a, 1);
    imgpar_array *const all[] = { sums, again, part, total, a };
    ck_assert_msg(imgpar_eval(all, 5, NULL) == IMGPAR_OK, "%s", imgpar_array_message(sums));
    size_t n;
    imgpar_dtype dtype;
    float *whole = read_all(sums, &n, &dtype), *same = read_all(again, &n, &dtype), *cut = read_all(part, &n, &dtype),
          *sum = read_all(total, &n, &dtype);
    ck_assert_mem_eq(whole, same, N * sizeof(float));
    double want = 0;
    for (int k = 0; k < N; k++)
        want += (double)whole[k];
    ck_assert_double_eq_tol((double)*sum, want, fabs(want) * 1e-5);
    for (int y = 0; y < 90; y++)
        ck_assert_mem_eq(cut + y * 100, whole + (y + 7) * W + 5, 100 * sizeof(float));
    free(whole);
    free(same);
    free(cut);
    free(sum);
    for (int k = 0; k < 5; k++)
        imgpar_array_release(all[k]);
}
END_TEST

/* ---- kept values --------------------------------------------------------------------------------------- */

START_TEST(kept_values_make_room_and_come_back)
{
    enum { N_KEPT = 6 };
    imgpar_array *a = new_plane(IMGPAR_F32), *kept[N_KEPT];
    size_t n;
    imgpar_dtype dtype;
    if (!ctx->device) {
        imgpar_array_release(a);
        return;
    }
    give_memory_of_its_own(_i);
    limit("5M");
    for (int k = 0; k < N_KEPT; k++) {
        char text[40];
        snprintf(text, sizeof text, "$1 * 2 + %d", k);
        kept[k] = imgpar_apply(ctx, text, &a, 1);
        ck_assert_msg(imgpar_array_eval(kept[k], NULL) == IMGPAR_OK, "%s", imgpar_array_message(kept[k]));
    }
    imgpar_counters c = counted();
    ck_assert_uint_ge(c.values_moved, 2);
    ck_assert_uint_ge(c.bytes_moved, 2 * N * sizeof(float));
    ck_assert_uint_eq(c.spills + c.fallbacks, 0);
    ck_assert_uint_le(c.device_bytes_peak, 5 << 20);
    for (int k = 0; k < N_KEPT; k++) {
        imgpar_array *sum = imgpar_apply(ctx, "$1 - 1", &kept[k], 1);
        float *got = read_all(sum, &n, &dtype), *same = read_all(kept[k], &n, &dtype);
        for (int i = 0; i < N; i++) {
            ck_assert_float_eq(got[i], (float)(element(IMGPAR_F32, i) * 2 + k - 1));
            ck_assert_float_eq(same[i], got[i] + 1);
        }
        free(got);
        free(same);
        imgpar_array_release(sum);
    }
    ck_assert_uint_eq(counted().evaluations, c.evaluations + N_KEPT); /* none of the kept ones was computed again */
    for (int k = 0; k < N_KEPT; k++)
        imgpar_array_release(kept[k]);
    imgpar_array_release(a);
}
END_TEST

START_TEST(what_is_asked_for_twice_is_computed_once)
{
    char path[] = "memory-kept-XXXXXX.npy";
    float got[3][2000], mean, again;
    close(mkstemps(path, 4));
    ck_assert_int_eq(imgpar_context_set(ctx, "keep", "20K"), IMGPAR_OK);
    imgpar_array *a = new_array(IMGPAR_F32, 2, (int64_t[]){ 40, 50 }),
                 *work = imgpar_apply(ctx, "cumsum($1, axis=0)", &a, 1), *total = imgpar_mean(work);
    const imgpar_options npy = { .struct_size = sizeof npy, .format = "npy" };
    void *bytes;
    size_t n;
    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(imgpar_array_read(work, got[k], sizeof *got), IMGPAR_OK);
    ck_assert_uint_eq(counted().evaluations, 1);
    ck_assert_int_eq(imgpar_save(work, path, NULL), IMGPAR_OK);
    ck_assert_int_eq(imgpar_encode(work, &npy, &bytes, &n), IMGPAR_OK);
    imgpar_free(bytes);
    ck_assert_uint_eq(counted().evaluations, 1);
    ck_assert_uint_eq(counted().values_found, 3);
    ck_assert_int_eq(imgpar_array_read(total, &mean, sizeof mean), IMGPAR_OK); /* of what is kept */
    ck_assert_uint_eq(counted().values_found, 4);
    double want = 0;
    for (int k = 0; k < 2000; k++)
        want += (double)got[0][k] / 2000;
    ck_assert_double_eq_tol((double)mean, want, 1e-3);
    ck_assert_mem_eq(got[0], got[1], sizeof *got);
    imgpar_array *more[3];
    for (int k = 0; k < 3; k++) { /* 8000 bytes each: the oldest goes */
        char text[40];
        snprintf(text, sizeof text, "cumsum($1 + %d, axis=0)", k);
        more[k] = imgpar_apply(ctx, text, &a, 1);
        ck_assert_int_eq(imgpar_array_read(more[k], got[2], sizeof *got), IMGPAR_OK);
    }
    uint64_t before = counted().evaluations;
    ck_assert_int_eq(imgpar_array_read(more[2], got[2], sizeof *got), IMGPAR_OK);
    ck_assert_uint_eq(counted().evaluations, before);
    ck_assert_int_eq(imgpar_array_read(work, got[2], sizeof *got), IMGPAR_OK);
    ck_assert_uint_eq(counted().evaluations, before + 1);
    ck_assert_mem_eq(got[0], got[2], sizeof *got);
    ck_assert_int_eq(imgpar_context_set(ctx, "keep", "0"), IMGPAR_OK); /* all go */
    before = counted().evaluations;
    ck_assert_int_eq(imgpar_array_read(more[2], got[2], sizeof *got), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(total, &again, sizeof again), IMGPAR_OK);
    ck_assert_uint_eq(counted().evaluations, before + 2);
    ck_assert_float_eq(mean, again);
    ck_assert_int_eq(imgpar_context_set(ctx, "keep", "much"), IMGPAR_E_ARGUMENT);
    for (int k = 0; k < 3; k++)
        imgpar_array_release(more[k]);
    imgpar_array_release(total);
    imgpar_array_release(work);
    imgpar_array_release(a);
    unlink(path);
}
END_TEST

/* ---- who else computes ----------------------------------------------------------------------------------- */

START_TEST(a_line_longer_than_the_device_is_sorted_by_the_interpreter)
{
    if (!ctx->device) return;
    const int64_t n_line = N;
    imgpar_array *a = new_array(IMGPAR_F32, 1, &n_line), *sorted = imgpar_apply(ctx, "sort($1)", &a, 1);
    size_t n;
    imgpar_dtype dtype;
    limit("100K");
    float *got = read_all(sorted, &n, &dtype), *want = malloc(N * sizeof *want);
    ck_assert_ptr_nonnull(want);
    for (int k = 0; k < N; k++)
        want[k] = (float)element(IMGPAR_F32, k);
    qsort(want, N, sizeof *want, rising);
    ck_assert_mem_eq(got, want, n);
    ck_assert_uint_eq(counted().fallbacks, 1);
    free(got);
    free(want);
    imgpar_array_release(sorted);
    imgpar_array_release(a);
}
END_TEST

static imgpar_status run_on_device(imgpar_array *a, ip_error *err)
{
    const ip_request request = { .arrays = &a, .n = 1 };
    ip_evaluation *e = NULL;
    ip_value *value = NULL;
    imgpar_status st = ip_evaluation_new(ctx, ctx->device, &request, &e, err);
    if (!st) st = ip_evaluation_run(e, &request, &value, err);
    ip_evaluation_free(e);
    ip_value_release(value);
    return st;
}

START_TEST(what_no_cut_makes_small_enough_is_told)
{
    if (!ctx->device) return;
    const int64_t n_line = N;
    imgpar_array *a = new_array(IMGPAR_F32, 1, &n_line), *work = imgpar_apply(ctx, "sum(sort($1) * 2)", &a, 1);
    ip_error err = { IMGPAR_OK, "" };
    unsigned long long left = 0, enough = 0;
    limit("100K");
    ck_assert_int_eq(run_on_device(work, &err), IMGPAR_E_DEVICE_MEMORY);
    const char *at = strstr(err.message, "sum: sort needs more than the ");
    ck_assert_msg(at && sscanf(at, "sum: sort needs more than the %llu kB", &left) == 1 && left == 100, "%s",
                  err.message);
    at = strstr(err.message, "about ");
    ck_assert_msg(at && sscanf(at, "about %llu kB would do", &enough) == 1 && enough > left, "%s", err.message);
    char wide[32];
    snprintf(wide, sizeof wide, "%lluK", enough);
    limit(wide);
    err = (ip_error){ IMGPAR_OK, "" };
    ck_assert_msg(run_on_device(work, &err) == IMGPAR_OK, "%s", err.message);
    imgpar_array_release(work);
    imgpar_array_release(a);
}
END_TEST

/* ---- several threads ------------------------------------------------------------------------------------- */

enum { N_THREADS = 4, N_TIMES = 8 };

static bool sorts(imgpar_array *a, const imgpar_options *options)
{
    float least = NAN;
    imgpar_array *work = imgpar_apply(ctx, "minval(sort($1) * 2)", &a, 1);
    const imgpar_status st = imgpar_array_read_with(work, &least, sizeof least, options);
    imgpar_array_release(work);
    return !st && least == -40;
}

/* A poll that evaluates, too, now and then. */
static int sort_meanwhile(void *user, double done)
{
    static atomic_int calls;
    (void)done;
    return atomic_fetch_add(&calls, 1) % 16 == 0 && !sorts(user, NULL);
}

/* A line that is sorted, again and again: there is memory for one thread at a time. */
static void *sort_again(void *user)
{
    for (int k = 0; k < N_TIMES; k++)
        if (!sorts(user, NULL)) return user;
    return NULL;
}

static void *sort_again_and_poll(void *user)
{
    const imgpar_options options = { .struct_size = sizeof options, .poll = sort_meanwhile, .user = user };
    for (int k = 0; k < N_TIMES; k++)
        if (!sorts(user, &options)) return user;
    return NULL;
}

START_TEST(threads_wait_for_the_memory_of_others) /* _i: with polls that evaluate, which may fall back */
{
    pthread_t threads[N_THREADS];
    const int64_t n_line = N;
    if (!ctx->device) return;
    give_memory_of_its_own(true);
    imgpar_array *a = new_array(IMGPAR_F32, 1, &n_line);
    limit("6M");
    ck_assert_ptr_null(sort_again(a));
    ck_assert_uint_eq(counted().fallbacks, 0);
    for (int k = 0; k < N_THREADS; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, _i ? sort_again_and_poll : sort_again, a), 0);
    for (int k = 0; k < N_THREADS; k++) {
        void *failed = a;
        ck_assert_int_eq(pthread_join(threads[k], &failed), 0);
        ck_assert_msg(!failed, "%s", imgpar_array_message(a));
    }
    if (_i == 0) ck_assert_uint_eq(counted().fallbacks, 0);
    imgpar_array_release(a);
}
END_TEST

/* ---- the Nth call fails ---------------------------------------------------------------------------------- */

static imgpar_status small_spill(float *got, char why[256])
{
    imgpar_array *a = new_array(IMGPAR_F32, 2, (int64_t[]){ 40, 50 }),
                 *work = imgpar_apply(ctx, "transpose(cumsum($1, axis=0) - mean($1, axis=1, keepdims=true))", &a, 1);
    const imgpar_status st = imgpar_array_read(work, got, 2000 * sizeof *got);
    snprintf(why, 256, "%.200s", imgpar_array_message(work));
    imgpar_array_release(work);
    imgpar_array_release(a);
    return st;
}

START_TEST(any_call_may_fail_kernel_by_kernel)
{
    static const ip_fault_kind kinds[] = { IP_FAULT_ALLOC, IP_FAULT_CL };
    float want[2000], got[2000];
    char why[256];
    if (!ctx->device) return;
    give_memory_of_its_own(true);
    limit("6K");
    ck_assert_msg(small_spill(want, why) == IMGPAR_OK, "%s", why);
    ck_assert_uint_ge(counted().spills, 1);
    for (unsigned long nth = 1;; nth++) {
        ck_assert_uint_lt(nth, 20000);
        memset(got, 0x55, sizeof got);
        ip_fault_set(kinds[_i], nth);
        const imgpar_status st = small_spill(got, why);
        const unsigned long seen = ip_fault_seen(kinds[_i]);
        ip_fault_set(kinds[_i], 0);
        ck_assert_msg(st != IMGPAR_OK || memcmp(want, got, sizeof got) == 0, "call %lu fails: other elements", nth);
        ck_assert_msg(st != IMGPAR_E_INTERNAL, "call %lu fails: %s", nth, why);
        if (seen < nth) break;
    }
    ip_device_trim(ctx->device);
    ck_assert_uint_eq(counted().device_bytes, 0);
    ck_assert_uint_eq(atomic_load(&ctx->host->held_bytes), 0);
}
END_TEST

/* ---- the host's memory ------------------------------------------------------------------------- */

static uint64_t host_bytes(void)
{
    ip_decoded_trim(&ctx->decoded);
    if (ctx->device) ip_device_trim(ctx->device);
    return atomic_load(&ctx->host->held_bytes);
}

static const struct {
    const char *text;
    bool fits;
} of_file[] = {
    { "blur($1, 2)", true },         { "255 * ($1 > mean($1))", true },         { "mean($1)", true },
    { "flip($1, \"y\")", true },     { "crop($1, 100, 2000, 300, 200)", true }, { "sort($1, axis=0)", false },
    { "cumsum($1, axis=0)", false },
};

/* A picture of 36 MB within 24. */
START_TEST(a_limit_on_host_memory_holds)
{
    char in[] = "/tmp/imgpar-memory-XXXXXX", out[] = "/tmp/imgpar-memory-XXXXXX";
    const imgpar_options as_jpeg = { .struct_size = sizeof as_jpeg, .format = "jpeg" },
                         as_npy = { .struct_size = sizeof as_npy, .format = "npy" };
    close(mkstemp(in));
    close(mkstemp(out));
    unlink(out);
    imgpar_array *made = imgpar_apply(ctx, "cast(make(4000, 3000, (x + y) % 200, channels=3), u8)", NULL, 0);
    ck_assert_msg(!imgpar_save(made, in, &as_jpeg), "%s", imgpar_array_message(made));
    imgpar_array_release(made);
    ck_assert_uint_eq(host_bytes(), 0);
    ck_assert_int_eq(imgpar_context_set(ctx, "host_limit", "24M"), IMGPAR_OK);
    imgpar_array *file = imgpar_open(ctx, in), *a = imgpar_apply(ctx, of_file[_i].text, &file, 1);
    const imgpar_status st = imgpar_save(a, out, &as_npy);
    if (ctx->device) ck_assert_msg((st == IMGPAR_OK) == of_file[_i].fits, "%s", imgpar_array_message(a));
    if (st) {
        ck_assert_int_eq(st, ctx->device ? IMGPAR_E_DEVICE_MEMORY : st);
        ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "has to be held whole, which takes 35157 kB; "));
        ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), " kB are left of the limit on host memory"));
    }
    ck_assert_int_eq(access(out, F_OK) == 0, st == IMGPAR_OK);
    imgpar_array_release(a);
    imgpar_array_release(file);
    ck_assert_uint_eq(host_bytes(), 0);
    unlink(in);
    unlink(out);
}
END_TEST

START_TEST(an_account_gives_no_more_than_its_limit)
{
    ip_account *a = ip_account_new();
    ck_assert(!ip_account_is_limited(a));
    ck_assert_uint_eq(ip_account_left(a), UINT64_MAX);
    ck_assert(ip_account_take(a, 100));
    ip_account_limit(a, 150);
    ck_assert(ip_account_is_limited(a));
    ck_assert_uint_eq(ip_account_left(a), 50);
    ck_assert(!ip_account_take(a, 51));
    ck_assert(ip_account_take(a, 50));
    ck_assert(!ip_account_take(a, UINT64_MAX));
    ip_account_add(a, 10); /* is there already */
    ck_assert_uint_eq(ip_account_left(a), 0);
    ip_account_limit(a, 20);
    ck_assert(!ip_account_take(a, 0));
    ip_account_give(a, 150);
    ck_assert_uint_eq(ip_account_left(a), 10);
    ip_account_release(ip_account_retain(a));
    ip_account_release(a);
    ck_assert(ip_account_take(NULL, UINT64_MAX));
}
END_TEST

/* A poll stops it, and it may be computed again. */
static int stop_late(void *user, double done)
{
    (void)done;
    return ++*(int *)user > 3;
}

START_TEST(a_poll_stops_it)
{
    if (!ctx->device) return;
    give_memory_of_its_own(true);
    limit("300K");
    int n_polls = 0;
    const imgpar_options options = { .struct_size = sizeof options, .poll = stop_late, .user = &n_polls };
    imgpar_array *a = new_plane(IMGPAR_F32), *work = imgpar_apply(ctx, "transpose(cumsum($1, axis=0)) * 3", &a, 1);
    ck_assert_int_eq(imgpar_array_eval(work, &options), IMGPAR_E_INTERRUPTED);
    ck_assert_msg(imgpar_array_eval(work, NULL) == IMGPAR_OK, "%s", imgpar_array_message(work));
    imgpar_array_release(work);
    imgpar_array_release(a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *c = tcase_create("memory");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, an_account_gives_no_more_than_its_limit);
    tcase_add_loop_test(c, a_limit_on_host_memory_holds, 0, sizeof of_file / sizeof *of_file);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, what_does_not_fit_is_the_same, 0, N_ROWS);
    tcase_add_loop_test(c, what_does_not_fit_is_right, 0, 2);
    tcase_add_test(c, the_device_holds_no_more_than_its_limit);
    tcase_add_test(c, explain_tells_how_it_fits);
    tcase_add_loop_test(c, several_results_that_do_not_fit_together, 0, 2);
    tcase_add_loop_test(c, kept_values_make_room_and_come_back, 0, 2);
    tcase_add_test(c, what_is_asked_for_twice_is_computed_once);
    tcase_add_test(c, a_line_longer_than_the_device_is_sorted_by_the_interpreter);
    tcase_add_test(c, what_no_cut_makes_small_enough_is_told);
    tcase_add_loop_test(c, threads_wait_for_the_memory_of_others, 0, 2);
    tcase_add_loop_test(c, any_call_may_fail_kernel_by_kernel, 0, 2);
    tcase_add_test(c, a_poll_stops_it);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
