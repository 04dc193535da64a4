/* SPDX-License-Identifier: MIT */
/*
 * Results that are saved while they are computed (run/stream.h): their files are those of results that are encoded
 * whole, and whatever fails in the middle leaves no file.
 */
#include "base/alloc.h"
#include "graph/array.h"
#include "asserts.h"
#include "held.h"
#include "run/context.h"
#include "run/device_impl.h"
#include "run/window.h"

#include <dirent.h>
#include <dlfcn.h>
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
static long n_processors; /* that there seem to be, so that as many threads encode; 0: those there are */

long sysconf(int name)
{
    static long (*of_system)(int name);
    if (name == _SC_NPROCESSORS_ONLN && n_processors) return n_processors;
    if (!of_system) *(void **)&of_system = dlsym(RTLD_NEXT, "sysconf");
    return of_system(name);
}

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

/* Whose PNG is about as large as its pixels. */
#define NOISE "cast(make(1501, 4203, (x * x * 7919 + y * y * 104729 + x * y * 31 + c * 77) % 251, channels=3), u8)"
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

/* ---- sources by rows ---------------------------------------------------------------------------- */

static char files[3][80]; /* of one picture: JPEG, PNM, NPY */

static void make_files(void)
{
    static const char *const formats[] = { "jpeg", "pnm", "npy" };
    imgpar_array *a = picture_of("cast(" PICTURE ", u8)");
    for (int k = 0; k < N(files); k++) {
        imgpar_options options = { .struct_size = sizeof options, .format = formats[k] };
        snprintf(files[k], sizeof files[k], "%s/in.%s", folder, formats[k]);
        ck_assert_int_eq(imgpar_save(a, files[k], &options), IMGPAR_OK);
    }
    imgpar_array_release(a);
}

static void remove_files(void)
{
    for (int k = 0; k < N(files); k++)
        unlink(files[k]);
}

/* $1 is the JPEG, $2 the PNM, $3 the NPY. */
static imgpar_array *of_files(const char *text)
{
    imgpar_array *in[N(files)];
    for (int k = 0; k < N(files); k++)
        in[k] = imgpar_open(ctx, files[k]);
    imgpar_array *a = imgpar_apply(ctx, text, in, N(files));
    ck_assert_str_eq(imgpar_array_message(a), "");
    for (int k = 0; k < N(files); k++)
        imgpar_array_release(in[k]);
    return a;
}

static const char *const of_sources[] = {
    "$1",
    "$2",
    "$3",
    "blur($1, 2)",
    "blur($1, 40)",
    "invert($1) + blur($2, 3) / 2",
    "blend($2, $1, 0.25) - $3",
    "crop(blur($1, 2), 30, 600, 1400, 600)",
    "flip($1, \"y\")",
    "transpose($2)",
    "resize($1, 1300, 900)",
    "resize($2, 2100, 1900)",
    "concatenate($1, $3, axis=0)",
    "circshift($1, [700 0 0])",
    "select($1 > mean($2), $3, $1)",
};

START_TEST(results_of_files_that_are_read_by_rows_are_those_of_the_whole)
{
    const char *const formats[] = { "pnm", "png", "jpeg" };
    imgpar_options options = { .struct_size = sizeof options, .format = formats[_i % 3], .settings = NULL };
    if (_i % 3 == 1) options.settings = "level=1";
    make_files();
    void *whole;
    size_t n_whole, n;
    imgpar_array *a = of_files(of_sources[_i]);
    ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_OK);
    ck_assert_int_eq(imgpar_encode(a, &options, &whole, &n_whole), IMGPAR_OK);
    imgpar_array_release(a);
    imgpar_context_release(ctx); /* which remembers pixels */
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    a = of_files(of_sources[_i]);
    for (int times = 0; times < 3; times++) { /* then the pixels are kept */
        ck_assert_msg(!imgpar_save(a, path, &options), "%s", imgpar_array_message(a));
        void *bytes = file_bytes(path, &n);
        ck_assert_uint_eq(n, n_whole);
        ck_assert_mem_eq(bytes, whole, n);
        free(bytes);
    }
    imgpar_array_release(a);
    imgpar_free(whole);
    remove_files();
}
END_TEST

/* ---- looks ------------------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    int decodes; /* of $1, a JPEG */
} looks[] = {
    { "255 * ($1 > mean($1))", 2 },
    { "255 * (blur($1, 2) > mean($1))", 2 },
    { "normalize($1)", 2 },
    { "equalize($1)", 2 },
    { "abs($1 - mean($1)) < stddev($1)", 3 },
    { "$1 - minval(abs(cast($1, i32) - mean($1)))", 3 },
    { "select($1 > 100, $1 - minval($1), maxval($1) - $1)", 2 },
    { "sort($1, axis=0) > mean($1)", 1 }, /* held, as a sort has to */
    { "$1 > mean(sort($1, axis=0))", 1 },
};

/* Nothing is held of a file of which folds are read: it is decoded again. */
START_TEST(folds_of_what_is_too_large_to_be_held_are_looked_for_first)
{
    imgpar_options options = { .struct_size = sizeof options, .format = "npy" };
    size_t n_whole, n;
    void *whole;
    make_files();
    imgpar_array *a = of_files(looks[_i].text);
    ck_assert_msg(!imgpar_encode(a, &options, &whole, &n_whole), "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    imgpar_context_release(ctx); /* which remembers pixels */
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ctx->decoded.max_bytes = 1 << 20;
    a = of_files(looks[_i].text);
    ck_assert_msg(!imgpar_save(a, path, &options), "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    if (ctx->device) ck_assert_int_eq(atomic_load(&ctx->decodes), looks[_i].decodes);
    void *bytes = file_bytes(path, &n);
    ck_assert_uint_eq(n, n_whole);
    ck_assert_mem_eq(bytes, whole, n);
    free(bytes);
    imgpar_free(whole);
    remove_files();
}
END_TEST

static void add_warning(void *user, const char *text) { strncat(user, text, 200); }

/* Half of a file: as an evaluation of the whole has it, for each fail_on. */
START_TEST(damage_in_the_middle_is_what_it_is_to_the_whole)
{
    static const char *const fail_on[] = { "none", "truncated", "error", "warning" };
    char open[40], text[2][1000] = { "", "" };
    void *whole = NULL;
    size_t n_whole = 0, n;
    make_files();
    ck_assert_int_eq(truncate(files[_i / 4], _i / 4 ? 2500003 : 60001), 0);
    snprintf(open, sizeof open, "fail_on=%s", fail_on[_i % 4]);
    imgpar_options options = {
        .struct_size = sizeof options, .format = "pnm", .on_warning = add_warning, .user = text[0]
    };
    imgpar_array *in = imgpar_open_with(ctx, files[_i / 4], open), *a = imgpar_blur(in, 2, IMGPAR_BORDER_REFLECT101);
    ck_assert_str_eq(imgpar_array_message(a), "");
    const imgpar_status streamed = imgpar_save(a, path, &options);
    char message[400];
    snprintf(message, sizeof message, "%s", imgpar_array_message(a));
    options.user = text[1];
    ck_assert_int_eq(imgpar_encode(a, &options, &whole, &n_whole), streamed);
    ck_assert_str_eq(imgpar_array_message(a), message);
    ck_assert_str_eq(text[0], text[1]);
    ck_assert_int_eq(streamed == IMGPAR_OK, _i % 4 == 0);
    ck_assert_int_eq(access(path, F_OK) == 0, streamed == IMGPAR_OK);
    if (!streamed) {
        void *bytes = file_bytes(path, &n);
        ck_assert_uint_eq(n, n_whole);
        ck_assert_mem_eq(bytes, whole, n);
        free(bytes);
        ck_assert_str_ne(text[0], "");
    }
    imgpar_free(whole);
    imgpar_array_release(a);
    imgpar_array_release(in);
    remove_files();
    ck_assert_int_eq(count_files(), streamed == IMGPAR_OK);
}
END_TEST

START_TEST(every_failure_with_a_source_by_rows_leaves_no_file)
{
    const ip_fault_kind kinds[] = { IP_FAULT_ALLOC, IP_FAULT_FILE };
    imgpar_options options = { .struct_size = sizeof options, .format = "pnm" };
    bool is_done = false;
    static const char *const texts[] = { "invert($1)", "invert($2)", "255 * ($1 > mean($1))" };
    make_files();
    if (_i / 2 == 2) ctx->decoded.max_bytes = 1 << 20; /* it is looked at twice */
    for (unsigned long nth = 1; !is_done; nth += 1 + nth / 12) {
        imgpar_array *a = of_files(texts[_i / 2]);
        ip_fault_set(kinds[_i % 2], nth);
        const imgpar_status st = imgpar_save(a, path, &options);
        is_done = ip_fault_seen(kinds[_i % 2]) < nth;
        ip_fault_set(kinds[_i % 2], 0);
        if (is_done) ck_assert_int_eq(st, IMGPAR_OK);
        ck_assert_int_eq(count_files(), N(files) + (st == IMGPAR_OK));
        if (st) ck_assert_str_ne(imgpar_array_message(a), "");
        imgpar_array_release(a);
        unlink(path);
    }
    remove_files();
}
END_TEST

/* A sparse PGM of 400 megapixels, with one line of white; its pixels are too many to be kept. */
START_TEST(a_crop_of_a_huge_picture_reads_its_rows)
{
    enum { SIDE = 20000, LINE = 15000 };
    char huge[80], white[SIDE];
    snprintf(huge, sizeof huge, "%s/huge.pgm", folder);
    FILE *f = fopen(huge, "wb");
    const int n_head = fprintf(f, "P5 %d %d 255\n", SIDE, SIDE);
    memset(white, 255, sizeof white);
    fseek(f, n_head + (long)LINE * SIDE, SEEK_SET);
    fwrite(white, 1, SIDE, f);
    fclose(f);
    ck_assert_int_eq(truncate(huge, n_head + (long)SIDE * SIDE), 0);
    imgpar_array *in = imgpar_open(ctx, huge), *a = imgpar_apply(ctx, "crop(blur($1, 2), 40, 14990, 30, 20)", &in, 1);
    unsigned char pixels[20 * 30];
    ck_assert_msg(!imgpar_array_read(a, pixels, sizeof pixels), "%s", imgpar_array_message(a));
    for (int y = 0; y < 20; y++) {
        const double d = y - 10, g = exp(-d * d / 8) / sqrt(8 * 3.14159265358979);
        ck_assert_msg(fabs(pixels[y * 30] - 255 * g) < 1.01, "row %d: %d, not %g", y, pixels[y * 30], 255 * g);
        for (int x = 1; x < 30; x++)
            ck_assert_int_eq(pixels[y * 30 + x], pixels[y * 30]);
    }
    imgpar_array_release(a);
    a = imgpar_apply(ctx, "sum($1)", &in, 1); /* part after part */
    uint64_t sum = 0;
    ck_assert_msg(!imgpar_array_read(a, &sum, sizeof sum), "%s", imgpar_array_message(a));
    ck_assert_uint_eq(sum, 255 * SIDE);
    imgpar_array_release(a);
    a = imgpar_apply(ctx, "sum($1 > mean($1))", &in, 1); /* sees it twice */
    ck_assert_msg(!imgpar_array_read(a, &sum, sizeof sum), "%s", imgpar_array_message(a));
    ck_assert_uint_eq(sum, SIDE);
    imgpar_array_release(a);
    a = imgpar_apply(ctx, "transpose(sort($1, axis=0))", &in, 1); /* which has to see all of it at once */
    ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_E_LIMIT); /* of pixels that are held */
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "20000 x 20000 pixels are above the limit of 268435456"));
    imgpar_array_release(a);
    imgpar_array_release(in);
    unlink(huge);
}
END_TEST

/* ---- windows that go back ----------------------------------------------------------------------- */

enum { WIDTH = 1501, HEIGHT = 1203 };

static imgpar_status open_on(const imgpar_array *in, ip_window **w, ip_error *err)
{
    const ip_window_of of = { .source = in->source,
                              .shrink = 1,
                              .n_rows = HEIGHT,
                              .end = HEIGHT,
                              .row_bytes = 3 * WIDTH,
                              .most_rows = 8,
                              .runs_ahead = true };
    return ip_window_open(&of, w, err);
}

static imgpar_status rows_of(ip_window *w, int64_t y0, int64_t y1, unsigned char **row, ip_error *err)
{
    void *memory;
    int64_t first;
    const imgpar_status st = ip_window_rows(w, y0, y1, &memory, &first, err);
    *row = st ? NULL : (unsigned char *)memory + (y0 - first) * 3 * WIDTH;
    return st;
}

START_TEST(a_window_goes_back_while_rows_are_decoded)
{
    unsigned char *all = malloc(3 * WIDTH * HEIGHT), *row;
    make_files();
    imgpar_array *in = imgpar_open(ctx, files[0]);
    ck_assert_int_eq(imgpar_array_read(in, all, 3 * WIDTH * HEIGHT), IMGPAR_OK);
    for (int times = 0; times < 20; times++) {
        ip_error err = { 0 };
        ip_window *w;
        ck_assert_int_eq(open_on(in, &w, &err), IMGPAR_OK);
        for (int y = 100; y >= 0; y -= 50) {
            ck_assert_msg(!rows_of(w, y, y + 8, &row, &err), "%s", err.message);
            ck_assert_mem_eq(row, all + y * 3 * WIDTH, 8 * 3 * WIDTH);
        }
        ck_assert_msg(!rows_of(w, 300, 308, &row, &err), "%s", err.message);
        ck_assert_mem_eq(row, all + 300 * 3 * WIDTH, 8 * 3 * WIDTH);
        ck_assert_msg(!ip_window_end(w, &err), "%s", err.message);
        ip_window_free(w);
    }
    imgpar_array_release(in);
    free(all);
    remove_files();
}
END_TEST

START_TEST(every_failure_of_a_window_that_goes_back_is_told)
{
    const ip_fault_kind kinds[] = { IP_FAULT_ALLOC, IP_FAULT_FILE };
    bool is_done = false;
    make_files();
    imgpar_array *in = imgpar_open(ctx, files[0]);
    for (unsigned long nth = 1; !is_done; nth++) {
        ip_error err = { 0 }, unheard = { 0 };
        ip_window *w;
        unsigned char *row;
        ip_fault_set(kinds[_i], nth);
        imgpar_status st = open_on(in, &w, &err);
        if (!st) st = rows_of(w, 100, 108, &row, &err);
        if (!st) st = rows_of(w, 0, 8, &row, &err);
        if (w) st = ip_window_end(w, st ? &unheard : &err);
        is_done = ip_fault_seen(kinds[_i]) < nth;
        ip_fault_set(kinds[_i], 0);
        if (is_done) ck_assert_msg(!st, "%s", err.message);
        if (st) ck_assert_str_ne(err.message, "");
        ip_window_free(w);
    }
    imgpar_array_release(in);
    remove_files();
}
END_TEST

START_TEST(what_the_furthest_row_warned_of_is_told_after_going_back)
{
    ip_error err = { 0 };
    ip_window *w;
    unsigned char *row;
    make_files();
    ck_assert_int_eq(truncate(files[0], 60001), 0);
    imgpar_array *in = imgpar_open_with(ctx, files[0], "fail_on=none");
    ck_assert_int_eq(open_on(in, &w, &err), IMGPAR_OK);
    for (int y = HEIGHT - 8; y >= 0; y -= HEIGHT - 8)
        ck_assert_msg(!rows_of(w, y, y + 8, &row, &err), "%s", err.message);
    ck_assert_msg(!ip_window_end(w, &err), "%s", err.message);
    ck_assert_ptr_nonnull(strstr(ip_str_text(ip_window_warnings(w)), "the data ends early"));
    ip_window_free(w);
    imgpar_array_release(in);
    remove_files();
}
END_TEST

/* ---- sources that are too large to be kept ------------------------------------------------------ */

/* How often files are asked for bytes while the result, of 3 * WIDTH * HEIGHT bytes, is made. */
static unsigned long reads_of(const char *text, bool is_saved)
{
    const imgpar_options options = { .struct_size = sizeof options, .format = "pnm" };
    unsigned char *pixels = malloc(3 * WIDTH * HEIGHT);
    imgpar_array *a = of_files(text);
    ip_fault_set(IP_FAULT_FILE, 1000000);
    const imgpar_status st =
        is_saved ? imgpar_save(a, path, &options) : imgpar_array_read(a, pixels, 3 * WIDTH * HEIGHT);
    const unsigned long n = ip_fault_seen(IP_FAULT_FILE);
    ip_fault_set(IP_FAULT_FILE, 0);
    ck_assert_msg(!st, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    free(pixels);
    return n;
}

START_TEST(what_is_needed_backwards_is_decoded_once_or_twice)
{
    make_files();
    ctx->decoded.max_bytes = 1 << 19;
    const unsigned long forwards = reads_of("invert($2)", _i), backwards = reads_of("flip($2, \"y\")", _i);
    ck_assert_uint_gt(forwards, 10);
    ck_assert_msg(backwards <= 2 * forwards + 20, "%lu reads, %lu forwards", backwards, forwards);
    remove_files();
}
END_TEST

/* 0: decoded whole; 1: that would be above the limit on pixels. */
START_TEST(damage_is_told_of_what_is_needed_backwards)
{
    char text[1000] = "";
    imgpar_options options = {
        .struct_size = sizeof options, .format = "pnm", .on_warning = add_warning, .user = text
    };
    make_files();
    ck_assert_int_eq(truncate(files[0], 60001), 0);
    ctx->decoded.max_bytes = 1 << 19;
    imgpar_array *in = imgpar_open_with(ctx, files[0], "fail_on=none"),
                 *a = imgpar_apply(ctx, "flip($1, \"y\")", &in, 1);
    if (_i) ctx->max_pixels = WIDTH * HEIGHT / 2;
    ck_assert_msg(!imgpar_save(a, path, &options), "%s", imgpar_array_message(a));
    const char *told = strstr(text, "the data ends early");
    ck_assert_ptr_nonnull(told);
    ck_assert_ptr_null(strstr(told + 1, "the data ends early"));
    imgpar_array_release(a);
    imgpar_array_release(in);
    remove_files();
}
END_TEST

static void add_uploaded(void *user, const imgpar_event *e)
{
    if (!strcmp(e->kind, "upload")) *(uint64_t *)user += e->bytes_read;
}

START_TEST(rows_are_uploaded_once_but_for_what_strips_share)
{
    uint64_t n = 0;
    const imgpar_options options = {
        .struct_size = sizeof options, .format = "pnm", .on_event = add_uploaded, .user = &n
    };
    make_files();
    if (ctx->device) ctx->device->facts.info.has_unified_memory = 0;
    imgpar_array *a = of_files("blur($1, 2)");
    ck_assert_msg(!imgpar_save(a, path, &options), "%s", imgpar_array_message(a));
    if (ctx->device) ck_assert_uint_ge(n, 3 * WIDTH * HEIGHT);
    ck_assert_uint_lt(n, 3 * WIDTH * HEIGHT / 4 * 5);
    imgpar_array_release(a);
    remove_files();
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

/* With PNG's threads waiting for rows beyond the ring. */
START_TEST(a_disk_that_is_full_leaves_no_file)
{
    static const char *const endings[] = { "ppm", "png" };
    imgpar_options options = { .struct_size = sizeof options };
    struct rlimit before, few;
    imgpar_array *a = picture_of(NOISE);
    n_processors = 16;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    few = before;
    few.rlim_cur = 1 << 20;
    char name[80];
    snprintf(name, sizeof name, "%s/a.%s", folder, endings[_i]);
    ck_assert_int_eq(imgpar_array_eval(a, NULL), IMGPAR_OK); /* the cache's files are written before */
    imgpar_array_release(a);
    a = picture_of(NOISE);
    setrlimit(RLIMIT_FSIZE, &few);
    const imgpar_status st = imgpar_save(a, name, &options);
    setrlimit(RLIMIT_FSIZE, &before);
    n_processors = 0;
    ck_assert_int_eq(st, IMGPAR_E_IO);
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "save: "));
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), ": File too large"));
    ck_assert_int_eq(count_files(), 0);
    imgpar_array_release(a);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_told_as_of_what_is_small)
{
    static const char *const texts[] = { "cast(make(64, 64, x), u8)", "cast(" PICTURE ", u8)" };
    imgpar_array *a = picture_of(texts[_i]);
    ck_assert_int_eq(imgpar_save(a, "/nodir/a.png", NULL), IMGPAR_E_IO);
    ck_assert_str_eq(imgpar_array_message(a), "save: /nodir/a.png: there is no folder /nodir");
    imgpar_array_release(a);
}
END_TEST

static void note_encoding(void *user, const imgpar_event *e)
{
    if (strcmp(e->kind, "encode") != 0) return;
    ck_assert_msg(e->start_ms <= e->end_ms, "from %g to %g ms", e->start_ms, e->end_ms);
    ++*(int *)user;
}

/* Several threads wait for rows at once. */
START_TEST(encoding_begins_before_it_ends)
{
    int n = 0;
    imgpar_options options = {
        .struct_size = sizeof options, .format = "png", .settings = "level=1", .on_event = note_encoding, .user = &n
    };
    imgpar_array *a = picture_of("median(cast(make(2501, 2203, x * y, channels=3), u8), size=5)");
    n_processors = 16;
    const imgpar_status st = imgpar_save(a, path, &options);
    n_processors = 0;
    ck_assert_int_eq(st, IMGPAR_OK);
    ck_assert_int_eq(n, 1);
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
    hold_driver();
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a", folder);
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
}

static void tear_down(void)
{
    ip_decoded_trim(&ctx->decoded);
    if (ctx->device) ip_device_trim(ctx->device);
    ck_assert_uint_eq(atomic_load(&ctx->host->held_bytes), 0);
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
    tcase_add_loop_test(tc, results_of_files_that_are_read_by_rows_are_those_of_the_whole, 0, N(of_sources));
    tcase_add_loop_test(tc, folds_of_what_is_too_large_to_be_held_are_looked_for_first, 0, N(looks));
    tcase_add_loop_test(tc, damage_in_the_middle_is_what_it_is_to_the_whole, 0, 4 * N(files));
    tcase_add_loop_test(tc, every_failure_with_a_source_by_rows_leaves_no_file, 0, 6);
    tcase_add_test(tc, a_crop_of_a_huge_picture_reads_its_rows);
    tcase_add_test(tc, a_window_goes_back_while_rows_are_decoded);
    tcase_add_loop_test(tc, every_failure_of_a_window_that_goes_back_is_told, 0, 2);
    tcase_add_test(tc, what_the_furthest_row_warned_of_is_told_after_going_back);
    tcase_add_loop_test(tc, what_is_needed_backwards_is_decoded_once_or_twice, 0, 2);
    tcase_add_loop_test(tc, damage_is_told_of_what_is_needed_backwards, 0, 2);
    tcase_add_test(tc, rows_are_uploaded_once_but_for_what_strips_share);
    tcase_add_loop_test(tc, every_failure_is_told_and_leaves_no_file, 0, 9);
    tcase_add_test(tc, an_answer_to_stop_leaves_no_file);
    tcase_add_loop_test(tc, a_disk_that_is_full_leaves_no_file, 0, 2);
    tcase_add_loop_test(tc, a_folder_that_is_not_there_is_told_as_of_what_is_small, 0, 2);
    tcase_add_test(tc, encoding_begins_before_it_ends);
    tcase_add_test(tc, what_looks_black_or_white_is_told);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
