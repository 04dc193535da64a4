/* SPDX-License-Identifier: MIT */
/*
 * Results that are saved while they are computed (run/stream.h): their files are those of results that are encoded
 * whole, and whatever fails in the middle leaves no file.
 */
#include "base/alloc.h"

#include <check.h>
#include <dirent.h>
#include <imgpar.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define N(table) (int)(sizeof table / sizeof *table)

static imgpar_context *ctx;
static char folder[] = "/tmp/imgpar-stream-XXXXXX", path[64];
static int n_kernels, n_polls, most_polls;

static void on_event(void *user, const imgpar_event *e)
{
    (void)user;
    n_kernels += !strcmp(e->kind, "kernel");
}

static int on_poll(void *user, double done)
{
    (void)user;
    ck_assert(done >= 0 && done <= 1);
    return ++n_polls > most_polls;
}

static imgpar_array *picture_of(const char *text)
{
    imgpar_array *a = imgpar_apply(ctx, text, NULL, 0);
    ck_assert_str_eq(imgpar_array_message(a), "");
    return a;
}

static void *file_bytes(const char *name, size_t *n)
{
    FILE *f = fopen(name, "rb");
    ck_assert_ptr_nonnull(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    void *bytes = malloc(*n + 1);
    ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

/* Files in the folder, with or without a dot before their names. */
static int count_files(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *entry; (entry = readdir(d));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* ---- the same bytes ----------------------------------------------------------------------------- */

#define PICTURE "make(1501, 1203, 128 + 60 * sin(x / 40.0 + c) + 50 * cos(y * 0.3 + x / 7.0), channels=3)"

static const struct {
    const char *text, *format, *settings;
    bool streams;
} saved[] = {
    { "blur(cast(" PICTURE ", u8), 2)", "jpeg", NULL, true },
    { "blur(cast(" PICTURE ", u8), 2)", "jpeg", "progressive=1", true },
    { "blur(cast(" PICTURE ", u8), 2)", "png", NULL, true },
    { "blur(cast(" PICTURE ", u8), 2)", "png", "bits=16, level=1", true },
    { "blur(cast(" PICTURE ", u8), 2)", "pnm", NULL, true },
    { PICTURE, "npy", NULL, true },
    { PICTURE, "png", "range=200", true },
    { "cast(" PICTURE ", u16)", "png", NULL, true },
    { "cast(make(1501, 1203, x + y + c, channels=4), u8)", "png", NULL, true },
    { "cast(make(1501, 1203, x + y + c, channels=4), u8)", "jpeg", "background=7", true },
    { "make(20, 500003, x * y)", "npy", NULL, true },           /* many rows a piece */
    { "cast(make(700001, 12, x * y), u8)", "png", NULL, true }, /* a strip is a row */
    { "crop(blur(cast(" PICTURE ", u8), 2), 3, 7, 1400, 1100)", "pnm", NULL, true },
    { "transpose(blur(cast(" PICTURE ", u8), 2))", "pnm", NULL, true },
    { "sort(cast(" PICTURE ", u8), axis=0)", "pnm", NULL, false }, /* every row depends on all */
    { "cast(cumsum(" PICTURE ", axis=0), i32)", "npy", NULL, false },
    { "255 * (blur(cast(" PICTURE ", u8), 2) > mean(" PICTURE "))", "pnm", NULL, false },
    { "cast(make(64, 64, x), u8)", "pnm", NULL, false }, /* it is small */
};

START_TEST(a_result_that_streams_is_the_file_of_the_whole)
{
    imgpar_options options = {
        .struct_size = sizeof options, .format = saved[_i].format, .settings = saved[_i].settings, .on_event = on_event
    };
    imgpar_array *a = picture_of(saved[_i].text);
    void *whole;
    size_t n_whole, n;
    const int is_ref = !strcmp(imgpar_context_device(ctx)->selector, "ref");
    n_kernels = 0;
    ck_assert_msg(!imgpar_save(a, path, &options), "%s", imgpar_array_message(a));
    const int n_streamed = n_kernels;
    n_kernels = 0;
    ck_assert_int_eq(imgpar_encode(a, &options, &whole, &n_whole), IMGPAR_OK);
    if (!is_ref) ck_assert_msg((n_streamed >= 4 * n_kernels) == saved[_i].streams, "%d kernels", n_streamed);
    void *bytes = file_bytes(path, &n);
    ck_assert_uint_eq(n, n_whole);
    ck_assert_mem_eq(bytes, whole, n);
    ck_assert_int_eq(count_files(), 1);
    free(bytes);
    imgpar_free(whole);
    imgpar_array_release(a);
}
END_TEST

/* ---- what fails in the middle ------------------------------------------------------------------- */

START_TEST(every_failure_is_told_and_leaves_no_file)
{
    const ip_fault_kind kinds[] = { IP_FAULT_ALLOC, IP_FAULT_FILE, IP_FAULT_CL };
    const char *const formats[] = { "pnm", "jpeg", "png" };
    const ip_fault_kind kind = kinds[_i % 3];
    imgpar_options options = { .struct_size = sizeof options, .format = formats[_i / 3], .settings = NULL };
    if (_i / 3 == 2) options.settings = "level=1";
    bool is_done = false;
    imgpar_array *a = picture_of("invert(cast(make(1501, 1003, x + y, channels=3), u8))");
    ck_assert_int_eq(imgpar_save(a, path, &options), IMGPAR_OK); /* compiles */
    for (unsigned long nth = 1; !is_done; nth += 1 + nth / 12) {
        unlink(path);
        ip_fault_set(kind, nth);
        const imgpar_status st = imgpar_save(a, path, &options);
        is_done = ip_fault_seen(kind) < nth;
        ip_fault_set(kind, 0);
        if (is_done) ck_assert_int_eq(st, IMGPAR_OK);
        ck_assert_int_eq(count_files(), st == IMGPAR_OK);
        if (st) ck_assert_str_ne(imgpar_array_message(a), "");
    }
    imgpar_array_release(a);
}
END_TEST

START_TEST(an_answer_to_stop_leaves_no_file)
{
    imgpar_options options = { .struct_size = sizeof options, .format = "png", .poll = on_poll };
    imgpar_array *a = picture_of("blur(cast(" PICTURE ", u8), 2)");
    imgpar_status st = IMGPAR_E_INTERRUPTED;
    for (most_polls = 0; st == IMGPAR_E_INTERRUPTED; most_polls += 1 + most_polls / 4) {
        n_polls = 0;
        st = imgpar_save(a, path, &options);
        ck_assert_int_eq(st == IMGPAR_OK ? 1 : 0, count_files());
        if (st)
            ck_assert_msg(n_polls == most_polls + 1, "%s",
                          imgpar_array_message(a)); /* nothing is asked after the answer */
    }
    ck_assert_int_eq(st, IMGPAR_OK);
    imgpar_array_release(a);
}
END_TEST

START_TEST(a_disk_that_is_full_leaves_no_file)
{
    imgpar_options options = { .struct_size = sizeof options };
    struct rlimit before, few;
    imgpar_array *a = picture_of("blur(cast(" PICTURE ", u8), 2)");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    few = before;
    few.rlim_cur = 1 << 20;
    char name[80];
    snprintf(name, sizeof name, "%s/a.ppm", folder);
    ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_OK); /* the cache's files are written before */
    imgpar_array_release(a);
    a = picture_of("blur(cast(" PICTURE ", u8), 2)");
    setrlimit(RLIMIT_FSIZE, &few);
    const imgpar_status st = imgpar_save(a, name, &options);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(st, IMGPAR_E_IO);
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "save: "));
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "a.ppm: File too large"));
    ck_assert_int_eq(count_files(), 0);
    imgpar_array_release(a);
}
END_TEST

static void warned(void *user, const char *text) { snprintf(user, 256, "%s", text); }

START_TEST(what_looks_black_or_white_is_told)
{
    char text[256] = "";
    imgpar_options options = { .struct_size = sizeof options, .format = "png", .on_warning = warned, .user = text };
    imgpar_array *a = picture_of("make(1501, 1203, x / 1501.0)");
    ck_assert_int_eq(imgpar_save(a, path, &options), IMGPAR_OK);
    ck_assert_ptr_nonnull(strstr(text, "no value is above 1, which looks black"));
    imgpar_array_release(a);
}
END_TEST

static void set_up(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a", folder);
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}

static void tear_down(void)
{
    imgpar_context_release(ctx);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    Suite *suite = suite_create("stream");
    TCase *tc = tcase_create("stream");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_result_that_streams_is_the_file_of_the_whole, 0, N(saved));
    tcase_add_loop_test(tc, every_failure_is_told_and_leaves_no_file, 0, 9);
    tcase_add_test(tc, an_answer_to_stop_leaves_no_file);
    tcase_add_test(tc, a_disk_that_is_full_leaves_no_file);
    tcase_add_test(tc, what_looks_black_or_white_is_told);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
