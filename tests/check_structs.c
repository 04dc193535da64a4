/* SPDX-License-Identifier: MIT */
/*
 * Every public struct that a function reads or fills, as programs give it that were compiled with an older header
 * (their struct is shorter), with this one, and with a newer one (longer). Structs stand in memory of exactly their
 * size, so that sanitizers and valgrind see what is read or written beyond.
 */
#include "cl_help.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum { NEWER_BYTES = 64, UNTOUCHED = 0xa5 };

static imgpar_context *ref;
static imgpar_array *source, *image, *on_ref;
static imgpar_cl_buffer *buffer;
static imgpar_cl_module *module;
static imgpar_cl_kernel *kernel;
static imgpar_cl_event *done;
static imgpar_pipeline *pipeline;
static char path[32];

static const int64_t shape[] = { 2, 3 };
static const uint8_t pixels[6] = { 1, 2, 3, 4, 5, 6 };
static const char pgm[] = "P5 3 2 255\n\1\2\3\4\5\6";
static const char text[] = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }";

static void open_all(void)
{
    static const int32_t zero = 0;
    open_device();
    source = imgpar_array_from_data(ctx, IMGPAR_U8, 2, shape, pixels);
    image = imgpar_invert(source);
    ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK);
    on_ref = imgpar_array_from_data(ref, IMGPAR_U8, 2, shape, pixels);
    imgpar_cl_layout layout = imgpar_cl_vector(8, 4);
    OK(imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &layout, &buffer));
    OK(imgpar_cl_module_from_text(ctx, text, &module));
    OK(imgpar_cl_kernel_new(module, "twice", &kernel));
    OK(imgpar_cl_fill(queue, buffer, NULL, &zero, IMGPAR_CL_ORDER(.event = &done)));
    ck_assert_int_eq(imgpar_pipeline_parse("-", "print(1)", NULL, &pipeline), IMGPAR_OK);
    strcpy(path, "structs-XXXXXX.pgm");
    int fd = mkstemps(path, 4);
    ck_assert_int_eq(write(fd, pgm, sizeof pgm - 1), sizeof pgm - 1);
    close(fd);
}

static void close_all(void)
{
    unlink(path);
    imgpar_pipeline_release(pipeline);
    imgpar_cl_event_release(done);
    imgpar_cl_kernel_release(kernel);
    imgpar_cl_module_release(module);
    imgpar_cl_buffer_release(buffer);
    imgpar_array_release(on_ref);
    imgpar_context_release(ref);
    imgpar_array_release(image);
    imgpar_array_release(source);
    close_device();
}

/* ---- structs that the library fills ------------------------------------------------------------- */

static imgpar_status fill_info(void *out) { return imgpar_array_info(image, out); }
static imgpar_status fill_probe_of_bytes(void *out) { return imgpar_probe_memory(pgm, sizeof pgm - 1, out, NULL, 0); }
static imgpar_status fill_probe_of_file(void *out) { return imgpar_probe_file(path, out, NULL, 0); }
static imgpar_status fill_counters(void *out) { return imgpar_context_counters(ctx, out); }
static imgpar_status fill_device_counters(void *out) { return imgpar_context_device_counters(ctx, 0, out); }
static imgpar_status fill_word(void *out) { return imgpar_word_get(0, out) ? IMGPAR_OK : IMGPAR_E_ARGUMENT; }
static imgpar_status fill_operator(void *out)
{
    return imgpar_word_get(imgpar_word_count() - 1, out) ? IMGPAR_OK : IMGPAR_E_ARGUMENT;
}
static imgpar_status fill_times(void *out) { return imgpar_cl_event_times(done, out); }
static imgpar_status fill_buffer_info(void *out) { return imgpar_cl_buffer_get_info(buffer, out); }
static imgpar_status fill_kernel_info(void *out) { return imgpar_cl_kernel_get_info(kernel, out); }
static imgpar_status fill_arg_info(void *out) { return imgpar_cl_kernel_get_arg_info(kernel, 0, out); }
static imgpar_status fill_counts(void *out) { return imgpar_cl_count(ctx, out); }
static imgpar_status fill_work(void *out)
{
    return imgpar_cl_divide(kernel, (const size_t[3]){ 8, 1, 1 }, (size_t[3]){ 1, 1, 1 }, out);
}

static const struct {
    const char *name;
    size_t size_bytes;
    imgpar_status (*fill)(void *out);
} filled[] = {
    { "imgpar_array_info", sizeof(imgpar_info), fill_info },
    /* Its info has a size of its own, see below. */
    { "imgpar_probe_memory", offsetof(imgpar_probe, info), fill_probe_of_bytes },
    { "imgpar_probe_file", offsetof(imgpar_probe, info), fill_probe_of_file },
    { "imgpar_context_counters", sizeof(imgpar_counters), fill_counters },
    { "imgpar_context_device_counters", sizeof(imgpar_counters), fill_device_counters },
    { "imgpar_word_get, a word", sizeof(imgpar_word), fill_word },
    { "imgpar_word_get, an operator", sizeof(imgpar_word), fill_operator },
    { "imgpar_cl_event_times", sizeof(imgpar_cl_times), fill_times },
    { "imgpar_cl_buffer_get_info", sizeof(imgpar_cl_buffer_info), fill_buffer_info },
    { "imgpar_cl_kernel_get_info", sizeof(imgpar_cl_kernel_info), fill_kernel_info },
    { "imgpar_cl_kernel_get_arg_info", sizeof(imgpar_cl_arg_info), fill_arg_info },
    { "imgpar_cl_count", sizeof(imgpar_cl_counts), fill_counts },
    { "imgpar_cl_divide", sizeof(imgpar_cl_work), fill_work },
};
enum { N_FILLED = sizeof filled / sizeof *filled };

/* Has row r fill a struct of n bytes that says it has struct_size; it is new memory. */
static unsigned char *fill(int r, size_t n, size_t struct_size, imgpar_status want)
{
    unsigned char *s = malloc(n);
    memset(s, UNTOUCHED, n);
    memcpy(s, &struct_size, sizeof struct_size);
    imgpar_status got = filled[r].fill(s);
    ck_assert_msg(got == want, "%s of %zu bytes: %s", filled[r].name, struct_size, imgpar_status_name(got));
    ck_assert_msg(memcmp(s, &struct_size, sizeof struct_size) == 0, "%s of %zu bytes: another size", filled[r].name,
                  struct_size);
    return s;
}

START_TEST(a_struct_is_filled_as_far_as_its_size_goes)
{
    for (int r = 0; r < N_FILLED; r++) {
        const size_t size = filled[r].size_bytes, least = sizeof(size_t);
        unsigned char *present = fill(r, size, size, IMGPAR_OK);
        for (size_t n = least; n < size; n += sizeof(int)) {
            unsigned char *older = fill(r, n, n, IMGPAR_OK);
            ck_assert_msg(memcmp(older + least, present + least, n - least) == 0, "%s of %zu bytes", filled[r].name, n);
            free(older);
        }
        free(present);
    }
}
END_TEST

START_TEST(what_a_newer_struct_has_behind_is_0)
{
    for (int r = 0; r < N_FILLED; r++) {
        bool is_probe = filled[r].fill == fill_probe_of_bytes || filled[r].fill == fill_probe_of_file;
        const size_t size = is_probe ? sizeof(imgpar_probe) : filled[r].size_bytes;
        unsigned char *newer = fill(r, size + NEWER_BYTES, size + NEWER_BYTES, IMGPAR_OK);
        for (size_t k = size; k < size + NEWER_BYTES; k++)
            ck_assert_msg(newer[k] == 0, "%s: byte %zu", filled[r].name, k);
        free(newer);
    }
}
END_TEST

static const size_t no_sizes[] = { 0, 1, sizeof(size_t) - 1, 4097, (size_t)0xa5a5a5a5a5a5a5a5u };
enum { N_NO_SIZES = sizeof no_sizes / sizeof *no_sizes };

START_TEST(a_size_that_is_none_is_an_error_and_nothing_is_filled)
{
    for (int r = 0; r < N_FILLED; r++) {
        const size_t size = filled[r].size_bytes;
        for (int k = 0; k < N_NO_SIZES; k++) {
            unsigned char *s = fill(r, size, no_sizes[k], IMGPAR_E_ARGUMENT);
            for (size_t b = sizeof(size_t); b < size; b++)
                ck_assert_msg(s[b] == UNTOUCHED, "%s: byte %zu", filled[r].name, b);
            free(s);
        }
    }
}
END_TEST

START_TEST(the_info_in_a_probe_says_how_much_of_it_is_there)
{
    imgpar_probe probe = { .struct_size = sizeof probe };
    ck_assert_int_eq(imgpar_probe_file(path, &probe, NULL, 0), IMGPAR_OK);
    ck_assert_str_eq(probe.format, "pnm");
    ck_assert_uint_eq(probe.info.struct_size, sizeof probe.info);
    ck_assert_int_eq(probe.info.shape[1], 3);
    const size_t older = offsetof(imgpar_info, white), n = offsetof(imgpar_probe, info) + older;
    unsigned char *cut = malloc(n);
    memcpy(cut, &n, sizeof n);
    ck_assert_int_eq(imgpar_probe_memory(pgm, sizeof pgm - 1, (void *)cut, NULL, 0), IMGPAR_OK);
    memcpy(&probe, cut, n);
    ck_assert_uint_eq(probe.info.struct_size, older);
    ck_assert_uint_eq(probe.info.size_bytes, 6);
    free(cut);
    char message[80];
    probe.struct_size = 0;
    ck_assert_int_eq(imgpar_probe_file(path, &probe, message, sizeof message), IMGPAR_E_ARGUMENT);
    ck_assert_str_eq(message, "probe: struct_size of out is not set");
}
END_TEST

START_TEST(a_shape_is_0_from_its_rank_on)
{
    imgpar_info info = { .struct_size = sizeof info };
    ck_assert_int_eq(imgpar_array_info(image, &info), IMGPAR_OK);
    ck_assert_int_eq(info.rank, 2);
    for (int k = 0; k < IMGPAR_SHAPE_ROOM; k++)
        ck_assert_int_eq(info.shape[k], k < 2 ? shape[k] : 0);
    ck_assert_int_ge(IMGPAR_SHAPE_ROOM, IMGPAR_MAX_RANK);
}
END_TEST

START_TEST(an_error_array_has_an_info_of_zeros)
{
    imgpar_info info = { .struct_size = sizeof info, .rank = 7 };
    imgpar_array *bad = imgpar_blur(source, -1, IMGPAR_BORDER_REPLICATE);
    ck_assert_int_eq(imgpar_array_info(bad, &info), IMGPAR_E_ARGUMENT);
    ck_assert_uint_eq(info.struct_size, sizeof info);
    ck_assert_int_eq(info.rank, 0);
    imgpar_array_release(bad);
}
END_TEST

/* ---- structs that the library reads ----------------------------------------------------------------- */

static uint8_t room[6];

static imgpar_status with_eval(const void *s) { return imgpar_eval(&image, 1, s); }
static imgpar_status with_array_eval(const void *s) { return imgpar_array_eval(image, s); }
static imgpar_status with_read(const void *s) { return imgpar_array_read_with(image, room, sizeof room, s); }
static imgpar_status with_verify(const void *s)
{
    double most;
    return imgpar_array_verify(image, &most, s);
}
static imgpar_status with_save(const void *s) { return imgpar_save(image, path, s); }
typedef imgpar_status encode_function(imgpar_array *a, const imgpar_options *o, void **out, size_t *n);
static imgpar_status encoded(encode_function *encode, const void *s)
{
    void *bytes;
    size_t n;
    imgpar_status st = encode(image, s, &bytes, &n);
    imgpar_free(bytes);
    return st;
}
static imgpar_status with_encode(const void *s) { return encoded(imgpar_encode, s); }
static imgpar_status with_encode_exact(const void *s) { return encoded(imgpar_encode_exact, s); }
static imgpar_status with_run(const void *s) { return imgpar_pipeline_run(pipeline, ctx, NULL, NULL, s); }
static imgpar_status with_queue(const void *s)
{
    imgpar_cl_queue *q;
    imgpar_status st = imgpar_cl_queue_new(ctx, s, &q);
    imgpar_cl_queue_release(q);
    return st;
}
static imgpar_status with_order(const void *s) { return imgpar_cl_fill(queue, buffer, NULL, pixels, s); }
static imgpar_status with_layout(const void *s)
{
    imgpar_cl_buffer *b;
    imgpar_status st = imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, s, &b);
    imgpar_cl_buffer_release(b);
    return st;
}
static imgpar_status with_part(const void *s)
{
    imgpar_cl_buffer *b;
    imgpar_status st = imgpar_cl_buffer_part(buffer, 0, s, &b);
    imgpar_cl_buffer_release(b);
    return st;
}
static imgpar_status with_region(const void *s) { return imgpar_cl_fill(queue, buffer, s, pixels, NULL); }
static imgpar_status with_source(const void *s)
{
    imgpar_cl_module *m;
    imgpar_status st = imgpar_cl_module_new(ctx, s, &m);
    imgpar_cl_module_release(m);
    return st;
}
static imgpar_status with_work(const void *s)
{
    return imgpar_cl_launch(queue, kernel, s, IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(buffer)), NULL);
}
static imgpar_status compute(void *user, const void *const *inputs, void *result)
{
    (void)user;
    memcpy(result, inputs[0], sizeof pixels);
    return IMGPAR_OK;
}
static char node_message[400];
static imgpar_status with_node(const void *s)
{
    imgpar_array *a = imgpar_cl_apply(ref, s);
    imgpar_status st = imgpar_array_status(a);
    snprintf(node_message, sizeof node_message, "%s", imgpar_array_message(a));
    imgpar_array_release(a);
    return st;
}

static const char *message_of_image(void) { return imgpar_array_message(image); }
static const char *message_of_pipeline(void) { return imgpar_pipeline_message(pipeline); }
static const char *message_of_node(void) { return node_message; }

static int go_on(void *user, double so_far)
{
    (void)user;
    (void)so_far;
    return 0;
}
static const imgpar_options options = {
    .struct_size = sizeof options, .poll = go_on, .format = "png", .settings = "no=setting"
};
static const imgpar_options nothing = { .struct_size = sizeof nothing, .poll = go_on };
static const imgpar_cl_queue_options of_queue = { .struct_size = sizeof of_queue, .blocks = 1 };
static const imgpar_cl_order order = { .struct_size = sizeof order, .n_after = 7 };
static const imgpar_cl_layout layout = { sizeof layout, 1, { 4, 0, 0 }, 4, 0, 1 };
static const imgpar_cl_region region = { .struct_size = sizeof region, .extent = { 4 } };
static const char *const texts[] = { text, NULL };
static const imgpar_cl_source program = { .struct_size = sizeof program, .texts = texts, .options = "-no-such-option" };
static const imgpar_cl_work work = { .struct_size = sizeof work, .global = { 4 }, .local = { 3 } };
static imgpar_cl_node node = { .struct_size = sizeof node,
                               .inputs = &on_ref,
                               .n_inputs = 1,
                               .dtype = IMGPAR_U8,
                               .rank = 2,
                               .shape = { 2, 3 },
                               .compute = compute,
                               .user = &room };

/*
 * A struct, the function that reads it, and how many bytes of it a program of an older version gives. Where what stands
 * behind those is bad, so that the whole is refused, the shorter one shows that it is not read.
 */
static const struct given {
    const char *name, *message;
    const void *given;
    size_t size_bytes, older_bytes;
    imgpar_status (*with)(const void *s);
    const char *(*said)(void);
    bool is_refused;
} read_from[] = {
    { "imgpar_eval", "eval: struct_size of options is not set", &nothing, sizeof nothing,
      offsetof(imgpar_options, on_event), with_eval, message_of_image, false },
    { "imgpar_array_eval", "eval: struct_size of options is not set", &nothing, sizeof nothing,
      offsetof(imgpar_options, poll), with_array_eval, message_of_image, false },
    { "imgpar_array_read_with", "read: struct_size of options is not set", &nothing, sizeof nothing,
      offsetof(imgpar_options, poll), with_read, message_of_image, false },
    { "imgpar_array_verify", "verify: struct_size of options is not set", &nothing, sizeof nothing,
      offsetof(imgpar_options, poll), with_verify, message_of_image, false },
    { "imgpar_save", "save: struct_size of options is not set", &options, sizeof options,
      offsetof(imgpar_options, settings), with_save, message_of_image, true },
    { "imgpar_encode", "encode: struct_size of options is not set", &options, sizeof options,
      offsetof(imgpar_options, settings), with_encode, message_of_image, true },
    { "imgpar_encode_exact", "encode: struct_size of options is not set", &options, sizeof options,
      offsetof(imgpar_options, settings), with_encode_exact, message_of_image, true },
    { "imgpar_pipeline_run", "run: struct_size of options is not set", &nothing, sizeof nothing,
      offsetof(imgpar_options, poll), with_run, message_of_pipeline, false },
    { "imgpar_cl_queue_new", "queue_new: struct_size of options is not set", &of_queue, sizeof of_queue,
      offsetof(imgpar_cl_queue_options, out_of_order), with_queue, imgpar_cl_message, false },
    { "imgpar_cl_fill, order", "fill: struct_size of order is not set", &order, sizeof order,
      offsetof(imgpar_cl_order, n_after), with_order, imgpar_cl_message, true },
    { "imgpar_cl_buffer_new", "buffer_new: struct_size of layout is not set", &layout, sizeof layout,
      offsetof(imgpar_cl_layout, slice_pitch_bytes), with_layout, imgpar_cl_message, true },
    { "imgpar_cl_buffer_part", "buffer_part: struct_size of layout is not set", &layout, sizeof layout,
      offsetof(imgpar_cl_layout, slice_pitch_bytes), with_part, imgpar_cl_message, true },
    { "imgpar_cl_fill, region", "fill: struct_size of region is not set", &region, sizeof region,
      offsetof(imgpar_cl_region, host_row_pitch_bytes), with_region, imgpar_cl_message, false },
    { "imgpar_cl_module_new", "module_new: struct_size of source is not set", &program, sizeof program,
      offsetof(imgpar_cl_source, options), with_source, imgpar_cl_message, true },
    { "imgpar_cl_launch", "twice: struct_size of work is not set", &work, sizeof work, offsetof(imgpar_cl_work, local),
      with_work, imgpar_cl_message, true },
    { "imgpar_cl_apply", "apply: struct_size of node is not set", &node, sizeof node, offsetof(imgpar_cl_node, user),
      with_node, message_of_node, false },
};
enum { N_READ = sizeof read_from / sizeof *read_from };

/* Gives a struct of n bytes that says it has struct_size: those of the row, then bytes of value rest. */
static imgpar_status give(const struct given *g, size_t n, size_t struct_size, int rest)
{
    unsigned char *s = malloc(n);
    memset(s, rest, n);
    memcpy(s, g->given, n < g->size_bytes ? n : g->size_bytes);
    memcpy(s, &struct_size, sizeof struct_size);
    imgpar_status st = g->with(s);
    free(s);
    return st;
}

START_TEST(no_more_of_a_struct_is_read_than_its_size)
{
    for (int r = 0; r < N_READ; r++) {
        const struct given *g = &read_from[r];
        const size_t n = g->size_bytes;
        imgpar_status present = give(g, n, n, 0), older = give(g, g->older_bytes, g->older_bytes, 0);
        ck_assert_msg(older == IMGPAR_OK, "%s, older: %s", g->name, g->said());
        ck_assert_msg((present != IMGPAR_OK) == g->is_refused, "%s: %s", g->name, imgpar_status_name(present));
        ck_assert_msg(give(g, n, g->older_bytes, 0) == IMGPAR_OK, "%s, cut: %s", g->name, g->said());
    }
}
END_TEST

START_TEST(what_a_newer_struct_sets_behind_is_unsupported)
{
    for (int r = 0; r < N_READ; r++) {
        const struct given *g = &read_from[r];
        const size_t n = g->size_bytes + NEWER_BYTES;
        imgpar_status present = give(g, g->size_bytes, g->size_bytes, 0);
        ck_assert_msg(give(g, n, n, 0) == present, "%s: %s", g->name, g->said());
        ck_assert_int_eq(give(g, n, n, UNTOUCHED), IMGPAR_E_UNSUPPORTED);
        char want[200];
        snprintf(want, sizeof want, "has %zu bytes and sets some beyond the %zu that libimgpar %s knows", n,
                 g->size_bytes, imgpar_version());
        ck_assert_msg(strstr(g->said(), want) != NULL, "%s: %s", g->name, g->said());
    }
}
END_TEST

START_TEST(a_size_that_is_none_is_told)
{
    for (int r = 0; r < N_READ; r++) {
        const struct given *g = &read_from[r];
        for (int k = 0; k < N_NO_SIZES; k++) {
            ck_assert_int_eq(give(g, g->size_bytes, no_sizes[k], 0), IMGPAR_E_ARGUMENT);
            ck_assert_str_eq(g->said(), g->message);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("structs");
    TCase *tc = tcase_create("structs");
    tcase_add_checked_fixture(tc, open_all, close_all);
    tcase_add_test(tc, a_struct_is_filled_as_far_as_its_size_goes);
    tcase_add_test(tc, what_a_newer_struct_has_behind_is_0);
    tcase_add_test(tc, a_size_that_is_none_is_an_error_and_nothing_is_filled);
    tcase_add_test(tc, the_info_in_a_probe_says_how_much_of_it_is_there);
    tcase_add_test(tc, a_shape_is_0_from_its_rank_on);
    tcase_add_test(tc, an_error_array_has_an_info_of_zeros);
    tcase_add_test(tc, no_more_of_a_struct_is_read_than_its_size);
    tcase_add_test(tc, what_a_newer_struct_sets_behind_is_unsupported);
    tcase_add_test(tc, a_size_that_is_none_is_told);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
