/* SPDX-License-Identifier: MIT */
/* The device layer but its kernels: devices, queues, events, host tasks, buffers and the commands on them. */
#include "cl_help.h"

#include <pthread.h>
#include <unistd.h>

/* ---- devices ------------------------------------------------------------------------------ */

START_TEST(platforms_and_devices_are_listed)
{
    imgpar_cl_platform **platforms;
    imgpar_device **all, **some;
    size_t n_platforms, n_all, n_some, n_of_kinds = 0, n_there = 0;
    OK(imgpar_cl_platform_list(&platforms, &n_platforms));
    ck_assert_uint_gt(n_platforms, 0);
    for (size_t k = 0; k < n_platforms; k++) {
        ck_assert_str_ne(platforms[k]->name, "");
        ck_assert_int_eq(strncmp(platforms[k]->version, "OpenCL ", 7), 0);
        n_there += platforms[k]->n_devices;
    }
    OK(imgpar_cl_device_list(NULL, &all, &n_all));
    ck_assert_uint_gt(n_all, 0);
    ck_assert_uint_le(n_all, n_there);
    static const char *const kinds[] = { "cpu", "gpu", "accelerator" };
    for (int k = 0; k < 3; k++) {
        OK(imgpar_cl_device_list(kinds[k], &some, &n_some));
        for (size_t i = 0; i < n_some; i++)
            ck_assert_str_eq(some[i]->kind, kinds[k]);
        n_of_kinds += n_some;
        imgpar_device_list_release(some, n_some);
    }
    ck_assert_uint_eq(n_of_kinds, n_all);
    char text[8000];
    size_t n = imgpar_cl_device_summary(all[0], text, sizeof text);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, all[0]->name));
    ck_assert_ptr_nonnull(strstr(text, all[0]->vendor));
    ck_assert_ptr_nonnull(strstr(text, all[0]->extensions));
    ck_assert_uint_eq(imgpar_cl_device_summary(all[0], text, 5), n);
    ck_assert_uint_eq(strlen(text), 4);
    imgpar_device_list_release(all, n_all);
    imgpar_free(platforms);
    FAILS(imgpar_cl_device_list("fpga", &all, &n_all), IMGPAR_E_ARGUMENT,
          "kind=\"fpga\" is none of cpu, gpu, accelerator");
    FAILS(imgpar_cl_device_list(NULL, NULL, &n_all), IMGPAR_E_ARGUMENT, "out is NULL");
    FAILS(imgpar_cl_platform_list(&platforms, NULL), IMGPAR_E_ARGUMENT, "n is NULL");
}
END_TEST

static double by_units(void *user, const imgpar_device *device)
{
    ++*(int *)user;
    return device->compute_units;
}

static double none(void *user, const imgpar_device *device)
{
    (void)user;
    (void)device;
    return -1;
}

START_TEST(a_rule_chooses_a_device)
{
    imgpar_context *chosen;
    int n_asked = 0;
    OK(imgpar_cl_context_choose(by_units, &n_asked, &chosen));
    ck_assert_int_gt(n_asked, 0);
    ck_assert_uint_gt(imgpar_context_device(chosen)->compute_units, 0);
    imgpar_context_release(chosen);
    FAILS(imgpar_cl_context_choose(none, NULL, &chosen), IMGPAR_E_NO_DEVICE, "has a score of 0 or more");
    ck_assert_ptr_null(chosen);
    FAILS(imgpar_cl_context_choose(NULL, NULL, &chosen), IMGPAR_E_ARGUMENT, "score is NULL");
}
END_TEST

static double alike(void *user, const imgpar_device *device)
{
    (void)user;
    (void)device;
    return 1;
}

START_TEST(of_equal_scores_the_first_device_is_taken)
{
    imgpar_device **all;
    size_t n;
    imgpar_context *chosen;
    OK(imgpar_cl_device_list(NULL, &all, &n));
    OK(imgpar_cl_context_choose(alike, NULL, &chosen));
    ck_assert_str_eq(imgpar_context_device(chosen)->name, all[0]->name);
    imgpar_context_release(chosen);
    imgpar_device_list_release(all, n);
}
END_TEST

START_TEST(the_reference_interpreter_has_no_device)
{
    imgpar_context *ref;
    imgpar_cl_queue *q;
    imgpar_cl_buffer *b;
    imgpar_cl_module *m;
    imgpar_cl_layout layout = imgpar_cl_vector(4, 4);
    ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK);
    FAILS(imgpar_cl_queue_new(ref, NULL, &q), IMGPAR_E_NO_DEVICE, "queue_new: this context has no OpenCL device");
    FAILS(imgpar_cl_buffer_new(ref, IMGPAR_CL_IN, &layout, &b), IMGPAR_E_NO_DEVICE, "buffer_new");
    FAILS(imgpar_cl_module_from_text(ref, "", &m), IMGPAR_E_NO_DEVICE, "module_new");
    ck_assert_ptr_null(q);
    ck_assert_ptr_null(b);
    ck_assert_ptr_null(m);
    imgpar_context_release(ref);
}
END_TEST

static imgpar_status triple(void *user, const void *const *inputs, void *result)
{
    const uint8_t *in = inputs[0];
    uint8_t *out = result;
    for (int k = 0; k < 4; k++)
        out[k] = (uint8_t)(in[k] * *(const int *)user);
    return IMGPAR_OK;
}

static imgpar_status fail_counting(void *user, const void *const *inputs, void *result)
{
    (void)inputs;
    (void)result;
    ++*(int *)user;
    return IMGPAR_E_IO;
}

START_TEST(a_compute_function_that_fails_fails_the_array)
{
    imgpar_context *ref;
    int n_calls = 0;
    uint8_t got[4];
    ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK);
    const imgpar_cl_node node = { .struct_size = sizeof node,
                                  .dtype = IMGPAR_U8,
                                  .rank = 1,
                                  .shape = { 4 },
                                  .compute = fail_counting,
                                  .user = &n_calls };
    imgpar_array *a = imgpar_cl_apply(ref, &node), *b = imgpar_invert(a);
    for (int k = 1; k <= 2; k++) { /* it is asked again */
        ck_assert_int_eq(imgpar_array_read(b, got, sizeof got), IMGPAR_E_IO);
        ck_assert_int_eq(n_calls, k);
    }
    imgpar_array_release(a);
    imgpar_array_release(b);
    imgpar_context_release(ref);
}
END_TEST

START_TEST(on_ref_a_node_is_what_its_compute_function_makes)
{
    static const uint8_t in[4] = { 1, 2, 3, 80 }, want[4] = { 252, 249, 246, 15 }; /* 255 - 3 * in */
    static const int64_t shape[] = { 2, 2 };
    imgpar_context *ref;
    int three = 3;
    uint8_t got[4] = { 0 };
    ck_assert_int_eq(imgpar_context_new("ref", &ref), IMGPAR_OK);
    imgpar_array *a = imgpar_array_from_data(ref, IMGPAR_U8, 2, shape, in);
    imgpar_cl_node node = { .struct_size = sizeof node,
                            .inputs = &a,
                            .n_inputs = 1,
                            .dtype = IMGPAR_U8,
                            .rank = 2,
                            .shape = { 2, 2 },
                            .compute = triple,
                            .user = &three };
    imgpar_array *b = imgpar_cl_apply(ref, &node), *c = imgpar_invert(b);
    ck_assert_msg(imgpar_array_read(c, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(c));
    ck_assert_mem_eq(got, want, sizeof got);
    node.compute = NULL;
    imgpar_array *none = imgpar_cl_apply(ref, &node);
    ck_assert_int_eq(imgpar_array_status(none), IMGPAR_E_NO_DEVICE);
    node.compute = triple;
    node.rank = 9;
    imgpar_array *bad = imgpar_cl_apply(ref, &node);
    ck_assert_str_eq(imgpar_array_message(bad), "apply: rank=9 is not 1 to 8");
    imgpar_array *const all[] = { a, b, c, none, bad };
    for (int k = 0; k < 5; k++)
        imgpar_array_release(all[k]);
    imgpar_context_release(ref);
}
END_TEST

/* ---- buffers -------------------------------------------------------------------------------- */

START_TEST(layouts_are_checked)
{
    imgpar_cl_buffer *b = NULL;
    imgpar_cl_layout l = imgpar_cl_matrix(3, 5, 4);
    l.struct_size = 0;
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, &b), IMGPAR_E_ARGUMENT, "struct_size of layout is not set");
    l = imgpar_cl_matrix(3, 5, 4);
    l.rank = 4;
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, &b), IMGPAR_E_ARGUMENT, "layout.rank=4 is not 1 to 3");
    l = imgpar_cl_matrix(3, 0, 4);
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, &b), IMGPAR_E_ARGUMENT, "layout.extent[1] is 0");
    l = imgpar_cl_vector(3, 0);
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, &b), IMGPAR_E_ARGUMENT, "layout.element_bytes is 0");
    l = imgpar_cl_matrix(3, 5, 4);
    l.row_pitch_bytes = 19;
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, &b), IMGPAR_E_ARGUMENT,
          "layout.row_pitch_bytes=19 is below the 20 bytes");
    l = imgpar_cl_vector(SIZE_MAX / 2, 4);
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, &b), IMGPAR_E_LIMIT, "more bytes than memory can");
    l = imgpar_cl_vector((size_t)1 << 50, 1);
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, &b), IMGPAR_E_DEVICE_MEMORY, "over the device's limit");
    l = imgpar_cl_vector(4, 4);
    FAILS(imgpar_cl_buffer_new(ctx, (imgpar_cl_access)9, &l, &b), IMGPAR_E_ARGUMENT, "access=9 is none of");
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, NULL, &b), IMGPAR_E_ARGUMENT, "the layout is NULL");
    FAILS(imgpar_cl_buffer_new(NULL, IMGPAR_CL_IN, &l, &b), IMGPAR_E_ARGUMENT, "the context is NULL");
    FAILS(imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &l, NULL), IMGPAR_E_ARGUMENT, "out is NULL");
    ck_assert_ptr_null(b);
}
END_TEST

START_TEST(a_buffer_tells_what_it_is)
{
    imgpar_cl_layout l = imgpar_cl_volume(2, 3, 5, 4);
    l.row_pitch_bytes = 32;
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_OUT, l);
    imgpar_cl_buffer_info info = { .struct_size = sizeof info };
    OK(imgpar_cl_buffer_get_info(b, &info));
    ck_assert_uint_eq(info.size_bytes, 2 * 3 * 32);
    ck_assert_uint_eq(info.layout->slice_pitch_bytes, 3 * 32);
    ck_assert_int_eq(info.access, IMGPAR_CL_OUT);
    ck_assert_int_eq(info.is_shared, 0);
    ck_assert_uint_gt(info.align_bytes, 0);
    /* of a version before */
    struct {
        size_t struct_size;
        char rest[8];
    } older = { .struct_size = sizeof older.struct_size };
    memset(older.rest, 7, sizeof older.rest);
    OK(imgpar_cl_buffer_get_info(b, (imgpar_cl_buffer_info *)(void *)&older));
    ck_assert_int_eq(older.rest[0], 7);
    FAILS(imgpar_cl_buffer_get_info(b, NULL), IMGPAR_E_ARGUMENT, "out is NULL");
    FAILS(imgpar_cl_buffer_get_info(NULL, &info), IMGPAR_E_ARGUMENT, "the buffer is NULL");
    info.struct_size = 0;
    FAILS(imgpar_cl_buffer_get_info(b, &info), IMGPAR_E_ARGUMENT, "struct_size of out is not set");
    imgpar_cl_buffer_release(b);
    imgpar_cl_buffer_release(NULL);
}
END_TEST

/* Every box of a pitched volume, written, copied elsewhere, read back, compared with loops over plain arrays. */
START_TEST(boxes_are_written_copied_and_read)
{
    enum { D = 3, H = 4, W = 5 };
    imgpar_cl_layout pitched = imgpar_cl_volume(D, H, W, 2);
    pitched.row_pitch_bytes = 16;
    pitched.slice_pitch_bytes = 16 * H + 16;
    imgpar_cl_buffer *a = new_buffer(IMGPAR_CL_INOUT, pitched),
                     *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_volume(D, H, W, 2));
    uint16_t want[D][H][W], got[D][H][W], box[2][2][8], zero = 0;
    for (int i = 0; i < D * H * W; i++)
        (&want[0][0][0])[i] = (uint16_t)(1000 + i);
    OK(imgpar_cl_write(queue, a, NULL, want, NULL));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 8; x++)
                box[z][y][x] = (uint16_t)(z * 100 + y * 10 + x);
    /* two slices, two rows, three elements of rows that are eight apart in the host's memory */
    OK(imgpar_cl_write(queue, a,
                       IMGPAR_CL_REGION(.offset = { 1, 2, 1 }, .extent = { 2, 2, 3 }, .host_row_pitch_bytes = 16), box,
                       NULL));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 3; x++)
                want[1 + z][2 + y][1 + x] = box[z][y][x];
    OK(imgpar_cl_fill(queue, b, NULL, &zero, NULL));
    OK(imgpar_cl_copy(queue, a, NULL, b, NULL, NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_mem_eq(got, want, sizeof want);
    uint16_t corner[1][2][2] = { { { 0 } } };
    OK(imgpar_cl_read(queue, a, IMGPAR_CL_REGION(.offset = { 2, 2, 3 }), corner, NULL)); /* up to the end */
    OK(imgpar_cl_finish(queue));
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 2; x++)
            ck_assert_uint_eq(corner[0][y][x], want[2][2 + y][3 + x]);
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(b);
}
END_TEST

START_TEST(fills_take_any_element_and_box)
{
    enum { H = 6, W = 7 };
    typedef struct {
        unsigned char r, g, b;
    } rgb;
    const rgb sky = { 10, 20, 30 }, sun = { 250, 200, 50 };
    const uint32_t word = 0xdeadbeef;
    imgpar_cl_buffer *image = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_matrix(H, W, sizeof sky));
    imgpar_cl_buffer *words = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(100, 4));
    rgb got[H][W];
    uint32_t got_words[100], zero = 0;
    OK(imgpar_cl_fill(queue, image, NULL, &sky, NULL));
    OK(imgpar_cl_fill(queue, image, IMGPAR_CL_REGION(.offset = { 1, 2 }, .extent = { 3, 4 }), &sun, NULL));
    OK(imgpar_cl_read(queue, image, NULL, got, NULL));
    OK(imgpar_cl_fill(queue, words, NULL, &zero, NULL));
    OK(imgpar_cl_fill(queue, words, IMGPAR_CL_REGION(.offset = { 10 }, .extent = { 50 }), &word, NULL));
    OK(imgpar_cl_read(queue, words, NULL, got_words, NULL));
    OK(imgpar_cl_finish(queue));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            bool inside = y >= 1 && y < 4 && x >= 2 && x < 6;
            ck_assert_mem_eq(&got[y][x], inside ? &sun : &sky, sizeof sky);
        }
    for (int k = 0; k < 100; k++)
        ck_assert_uint_eq(got_words[k], k >= 10 && k < 60 ? word : 0);
    FAILS(imgpar_cl_fill(queue, image, NULL, NULL, NULL), IMGPAR_E_ARGUMENT, "the element is NULL");
    imgpar_cl_buffer *large = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(1, 5000));
    FAILS(imgpar_cl_fill(queue, large, NULL, got, NULL), IMGPAR_E_LIMIT, "an element of 5000 bytes is over 4096");
    imgpar_cl_buffer_release(image);
    imgpar_cl_buffer_release(words);
    imgpar_cl_buffer_release(large);
}
END_TEST

START_TEST(wrong_copies_are_refused)
{
    imgpar_cl_buffer *a = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_matrix(4, 5, 4)),
                     *out = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(20, 4));
    imgpar_context *other;
    imgpar_cl_queue *elsewhere;
    float data[20] = { 0 };
    ck_assert_int_eq(imgpar_context_new(NULL, &other), IMGPAR_OK);
    OK(imgpar_cl_queue_new(other, NULL, &elsewhere));
    FAILS(imgpar_cl_write(queue, a, IMGPAR_CL_REGION(.offset = { 4, 0 }), data, NULL), IMGPAR_E_ARGUMENT,
          "region.offset[0]=4 is not inside 0 to 3");
    FAILS(imgpar_cl_read(queue, a, IMGPAR_CL_REGION(.offset = { 0, 3 }, .extent = { 1, 3 }), data, NULL),
          IMGPAR_E_ARGUMENT, "region.offset[1]=3 + extent[1]=3 is over 5");
    FAILS(imgpar_cl_read(queue, a, IMGPAR_CL_REGION(.offset = { 1, 1 }, .extent = { SIZE_MAX, 2 }), data, NULL),
          IMGPAR_E_ARGUMENT, "is over 4");
    FAILS(imgpar_cl_read(queue, a, IMGPAR_CL_REGION(.host_row_pitch_bytes = 19), data, NULL), IMGPAR_E_ARGUMENT,
          "region.host_row_pitch_bytes=19 is below the 20 bytes");
    FAILS(imgpar_cl_read(queue, a, IMGPAR_CL_REGION(.host_row_pitch_bytes = SIZE_MAX / 2), data, NULL), IMGPAR_E_LIMIT,
          "takes more bytes than memory can have");
    FAILS(imgpar_cl_write(queue, out, NULL, data, NULL), IMGPAR_E_ARGUMENT, "write: the buffer is IMGPAR_CL_OUT");
    FAILS(imgpar_cl_write(queue, a, NULL, NULL, NULL), IMGPAR_E_ARGUMENT, "src is NULL");
    FAILS(imgpar_cl_read(queue, a, NULL, NULL, NULL), IMGPAR_E_ARGUMENT, "dst is NULL");
    FAILS(imgpar_cl_read(NULL, a, NULL, data, NULL), IMGPAR_E_ARGUMENT, "the queue is NULL");
    FAILS(imgpar_cl_read(queue, NULL, NULL, data, NULL), IMGPAR_E_ARGUMENT, "the buffer is NULL");
    FAILS(imgpar_cl_read(elsewhere, a, NULL, data, NULL), IMGPAR_E_ARGUMENT,
          "the buffer is of another context than the queue");
    FAILS(imgpar_cl_copy(queue, a, NULL, out, NULL, NULL), IMGPAR_E_SHAPE, "the regions are 20 x 4 x 1 and 80 x 1 x 1");
    FAILS(imgpar_cl_copy(queue, a, IMGPAR_CL_REGION(.extent = { 2, 2 }), a,
                         IMGPAR_CL_REGION(.offset = { 1, 1 }, .extent = { 2, 2 }), NULL),
          IMGPAR_E_ARGUMENT, "the regions overlap");
    OK(imgpar_cl_copy(queue, a, IMGPAR_CL_REGION(.extent = { 2, 2 }), a,
                      IMGPAR_CL_REGION(.offset = { 0, 2 }, .extent = { 2, 2 }), NULL));
    imgpar_cl_queue_release(elsewhere);
    imgpar_context_release(other);
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(out);
}
END_TEST

START_TEST(a_part_shares_the_bytes)
{
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(4096, 4)), *part, *inner, *bad = NULL;
    imgpar_cl_buffer_info info = { .struct_size = sizeof info };
    imgpar_cl_layout rows = imgpar_cl_matrix(2, 8, 4), whole = imgpar_cl_vector(4096, 4);
    int32_t zero = 0, one = 1, two = 2, got[4096];
    OK(imgpar_cl_buffer_get_info(b, &info));
    size_t at = info.align_bytes;
    OK(imgpar_cl_fill(queue, b, NULL, &zero, NULL));
    FAILS(imgpar_cl_buffer_part(b, at, &whole, &bad), IMGPAR_E_ARGUMENT, "go beyond the buffer's 16384");
    FAILS(imgpar_cl_buffer_part(b, at + 1, &rows, &bad), IMGPAR_E_ARGUMENT, "is not a multiple of");
    ck_assert_ptr_null(bad);
    imgpar_cl_layout some = imgpar_cl_vector(2048, 4);
    OK(imgpar_cl_buffer_part(b, at, &some, &part));
    OK(imgpar_cl_buffer_part(part, at, &rows, &inner)); /* of a part: counted from the part's beginning */
    OK(imgpar_cl_fill(queue, part, NULL, &one, NULL));
    OK(imgpar_cl_fill(queue, inner, NULL, &two, NULL));
    imgpar_cl_buffer_release(part);
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (size_t k = 0; k < 4096; k++) {
        bool in_part = k >= at / 4 && k < at / 4 + 2048, in_inner = k >= at / 2 && k < at / 2 + 16;
        ck_assert_int_eq(got[k], in_inner ? 2 : in_part ? 1 : 0);
    }
    void *memory;
    FAILS(imgpar_cl_map(queue, inner, 1, &memory), IMGPAR_E_ARGUMENT, "is a part of another");
    imgpar_cl_buffer_release(inner);
    imgpar_cl_buffer_release(b);
}
END_TEST

static void count_release(void *user, void *memory)
{
    (void)memory;
    ++*(int *)user;
}

START_TEST(wrapped_memory_is_used_where_it_stands)
{
    _Alignas(4096) static int32_t data[1024];
    int n_released = 0;
    imgpar_cl_layout l = imgpar_cl_vector(1024, 4);
    imgpar_cl_buffer *b;
    imgpar_cl_buffer_info info = { .struct_size = sizeof info };
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    for (int k = 0; k < 1024; k++)
        data[k] = k;
    imgpar_context_counters(ctx, &before);
    OK(imgpar_cl_buffer_wrap(ctx, IMGPAR_CL_INOUT, &l, data, count_release, &n_released, &b));
    OK(imgpar_cl_buffer_get_info(b, &info));
    ck_assert_int_eq(info.is_shared, imgpar_context_device(ctx)->has_unified_memory);
    imgpar_cl_kernel *k = new_kernel("kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }", "twice");
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 1024 }), IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b)), NULL));
    void *memory, *again;
    OK(imgpar_cl_map(queue, b, 1, &memory));
    ck_assert_ptr_eq(memory, data);
    for (int i = 0; i < 1024; i++)
        ck_assert_int_eq(data[i], 2 * i);
    FAILS(imgpar_cl_map(queue, b, 1, &again), IMGPAR_E_ARGUMENT, "mapped by the host");
    FAILS(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 1024 }), IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b)), NULL),
          IMGPAR_E_ARGUMENT, "mapped by the host; unmap it first");
    OK(imgpar_cl_unmap(queue, b, NULL));
    FAILS(imgpar_cl_unmap(queue, b, NULL), IMGPAR_E_ARGUMENT, "is not mapped");
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 1024 }), IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b)), NULL));
    imgpar_cl_kernel_release(k);
    imgpar_cl_buffer_release(b); /* waits for the kernel: the memory is ours again */
    ck_assert_int_eq(n_released, 1);
    ck_assert_int_eq(data[10], 40);
    imgpar_context_counters(ctx, &after);
    ck_assert_uint_eq(after.bytes_uploaded, before.bytes_uploaded);
    ck_assert_uint_eq(after.bytes_downloaded, before.bytes_downloaded);
    l.rank = 0;
    FAILS(imgpar_cl_buffer_wrap(ctx, IMGPAR_CL_IN, &l, data, count_release, &n_released, &b), IMGPAR_E_ARGUMENT,
          "rank=0");
    ck_assert_int_eq(n_released, 2);
    FAILS(imgpar_cl_buffer_wrap(ctx, IMGPAR_CL_IN, &l, NULL, NULL, NULL, &b), IMGPAR_E_ARGUMENT, "the memory is NULL");
}
END_TEST

START_TEST(wrapped_memory_is_given_back_at_the_last_use)
{
    _Alignas(4096) static uint8_t data[4096];
    const int64_t shape[] = { 4096 };
    int n_released = 0;
    const imgpar_cl_layout l = imgpar_cl_vector(4096, 1), half = imgpar_cl_vector(2048, 1);
    imgpar_cl_buffer *b, *part;
    uint8_t got[4096], three = 3;
    OK(imgpar_cl_buffer_wrap(ctx, IMGPAR_CL_INOUT, &l, data, count_release, &n_released, &b));
    OK(imgpar_cl_buffer_part(b, 0, &half, &part));
    OK(imgpar_cl_fill(queue, b, NULL, &three, NULL));
    imgpar_array *a = imgpar_cl_array(b, IMGPAR_U8, 1, shape), *inverted = imgpar_invert(a);
    imgpar_cl_buffer_release(imgpar_cl_buffer_retain(b));
    imgpar_cl_buffer_release(b);
    imgpar_array_release(a);
    ck_assert_int_eq(n_released, 0);
    ck_assert_msg(imgpar_array_read(inverted, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(inverted));
    ck_assert_int_eq(got[4095], 252);
    imgpar_array_release(inverted);
    ck_assert_int_eq(n_released, 0); /* the part is left */
    imgpar_cl_buffer_release(part);
    ck_assert_int_eq(n_released, 1);
}
END_TEST

/* ---- queues and events ----------------------------------------------------------------------------- */

START_TEST(events_tell_the_end_and_the_times)
{
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(100000, 4));
    float one = 1, *got = calloc(100000, sizeof *got);
    imgpar_cl_event *filled, *read, *none_of_it = NULL;
    imgpar_cl_times t = { .struct_size = sizeof t };
    int done = 0;
    OK(imgpar_cl_fill(queue, b, NULL, &one, IMGPAR_CL_ORDER(.event = &filled)));
    OK(imgpar_cl_read(queue, b, NULL, got, IMGPAR_CL_ORDER(.after = &filled, .n_after = 1, .event = &read)));
    OK(imgpar_cl_wait((imgpar_cl_event *[]){ read, filled }, 2));
    ck_assert_float_eq(got[99999], 1);
    OK(imgpar_cl_event_is_done(read, &done));
    ck_assert_int_eq(done, 1);
    OK(imgpar_cl_event_times(read, &t));
    ck_assert(t.queued_ns <= t.submitted_ns && t.submitted_ns <= t.started_ns && t.started_ns <= t.ended_ns);
    imgpar_cl_counts c = { .struct_size = sizeof c };
    OK(imgpar_cl_count(ctx, &c));
    ck_assert_uint_eq(c.events, 2);
    imgpar_cl_event_retain(read);
    imgpar_cl_event_release(read);
    imgpar_cl_event_release(read);
    imgpar_cl_event_release(filled);
    FAILS(imgpar_cl_fill(queue, b, NULL, &one, IMGPAR_CL_ORDER(.after = &none_of_it, .n_after = 1)), IMGPAR_E_ARGUMENT,
          "an event of order->after is NULL");
    FAILS(imgpar_cl_fill(queue, b, NULL, &one, IMGPAR_CL_ORDER(.n_after = 1)), IMGPAR_E_ARGUMENT,
          "order->after is NULL");
    FAILS(imgpar_cl_fill(queue, b, NULL, &one, &(imgpar_cl_order){ 0 }), IMGPAR_E_ARGUMENT,
          "struct_size of order is not set");
    FAILS(imgpar_cl_wait(&none_of_it, 1), IMGPAR_E_ARGUMENT, "an event is NULL");
    FAILS(imgpar_cl_event_times(NULL, &t), IMGPAR_E_ARGUMENT, "the event is NULL");
    FAILS(imgpar_cl_event_is_done(NULL, &done), IMGPAR_E_ARGUMENT, "the event is NULL");
    imgpar_cl_buffer_release(b);
    OK(imgpar_cl_finish(queue));
    free(got);
}
END_TEST

START_TEST(queues_share_buffers_in_order)
{
    static const imgpar_cl_queue_options out_of_order = { .struct_size = sizeof out_of_order, .out_of_order = 1 };
    static const imgpar_cl_queue_options blocks = { .struct_size = sizeof blocks, .blocks = 1 };
    imgpar_cl_queue *queues[3];
    OK(imgpar_cl_queue_new(ctx, &blocks, &queues[0]));
    imgpar_status st = imgpar_cl_queue_new(ctx, &out_of_order, &queues[1]);
    if (st) { /* the documented refusal of a device without such queues */
        FAILS(st, IMGPAR_E_UNSUPPORTED, "runs the commands of a queue in order only");
        queues[1] = imgpar_cl_queue_retain(queues[0]);
    }
    queues[2] = imgpar_cl_queue_retain(queue);
    imgpar_cl_kernel *k = new_kernel(
        "kernel void advance(global int *a, int by) { int i = get_global_id(0); a[i] = a[i] * 3 + by; }", "advance");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(4096, 4));
    uint32_t zero = 0, want = 0, got[4096];
    OK(imgpar_cl_fill(queues[1], b, NULL, &zero, NULL));
    for (int n = 0; n < 60; n++) { /* each step needs the one before, on whatever queue */
        OK(imgpar_cl_launch(queues[n % 3], k, IMGPAR_CL_WORK(.global = { 4096 }),
                            IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_int(n)), NULL));
        want = want * 3 + (uint32_t)n;
    }
    OK(imgpar_cl_read(queues[0], b, NULL, got, NULL)); /* blocks */
    for (int i = 0; i < 4096; i++)
        ck_assert_uint_eq(got[i], want);
    for (int n = 0; n < 3; n++)
        imgpar_cl_queue_release(queues[n]);
    imgpar_cl_kernel_release(k);
    imgpar_cl_buffer_release(b);
    imgpar_cl_queue *bad;
    FAILS(imgpar_cl_queue_new(ctx, &(imgpar_cl_queue_options){ 0 }, &bad), IMGPAR_E_ARGUMENT,
          "struct_size of options is not set");
    FAILS(imgpar_cl_queue_new(NULL, NULL, &bad), IMGPAR_E_ARGUMENT, "the context is NULL");
    FAILS(imgpar_cl_finish(NULL), IMGPAR_E_ARGUMENT, "the queue is NULL");
    imgpar_cl_queue_release(NULL);
}
END_TEST

typedef struct job {
    const float *seen;
    float value;
} job;

static imgpar_status look(void *user)
{
    job *j = user;
    usleep(20000); /* so that what does not wait would be too early */
    j->value = j->seen[7];
    return IMGPAR_OK;
}

static imgpar_status refuse(void *user)
{
    (void)user;
    return IMGPAR_E_IO;
}

START_TEST(a_task_runs_between_commands)
{
    float data[64], later[64], three = 3, four = 4;
    job j = { .seen = data };
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(64, 4));
    imgpar_cl_event *ran;
    imgpar_cl_times t = { .struct_size = sizeof t };
    OK(imgpar_cl_fill(queue, b, NULL, &three, NULL));
    OK(imgpar_cl_read(queue, b, NULL, data, NULL));
    OK(imgpar_cl_host_task(queue, look, &j, IMGPAR_CL_ORDER(.event = &ran)));
    OK(imgpar_cl_fill(queue, b, NULL, &four, NULL)); /* comes after the task */
    OK(imgpar_cl_read(queue, b, NULL, data, NULL));
    OK(imgpar_cl_read(queue, b, NULL, later, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_float_eq(j.value, 3);
    ck_assert_float_eq(data[7], 4);
    OK(imgpar_cl_event_times(ran, &t));
    ck_assert_uint_ge(t.ended_ns - t.started_ns, 19000000);
    imgpar_cl_event_release(ran);
    OK(imgpar_cl_host_task(queue, refuse, NULL, IMGPAR_CL_ORDER(.event = &ran)));
    FAILS(imgpar_cl_finish(queue), IMGPAR_E_IO, "task: the task returned");
    OK(imgpar_cl_finish(queue)); /* it was told */
    FAILS(imgpar_cl_wait(&ran, 1), IMGPAR_E_IO, "task: the task returned");
    OK(imgpar_cl_fill(queue, b, NULL, &three, IMGPAR_CL_ORDER(.after = &ran, .n_after = 1))); /* runs all the same */
    OK(imgpar_cl_read(queue, b, NULL, data, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_float_eq(data[7], 3);
    imgpar_cl_event_release(ran);
    FAILS(imgpar_cl_host_task(queue, NULL, NULL, NULL), IMGPAR_E_ARGUMENT, "the task is NULL");
    FAILS(imgpar_cl_host_task(NULL, look, &j, NULL), IMGPAR_E_ARGUMENT, "the queue is NULL");
    imgpar_cl_buffer_release(b);
}
END_TEST

START_TEST(out_of_order_a_task_runs_behind_what_it_waits_for)
{
    imgpar_cl_queue *q;
    imgpar_cl_queue_options options = { .struct_size = sizeof options, .out_of_order = 1 };
    if (imgpar_cl_queue_new(ctx, &options, &q)) return; /* a device without such queues */
    float data[64] = { 0 }, three = 3;
    job j = { .seen = data };
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(64, 4));
    imgpar_cl_event *is_read, *ran;
    OK(imgpar_cl_fill(q, b, NULL, &three, NULL));
    OK(imgpar_cl_read(q, b, NULL, data, IMGPAR_CL_ORDER(.event = &is_read)));
    OK(imgpar_cl_host_task(q, look, &j, IMGPAR_CL_ORDER(.after = &is_read, .n_after = 1, .event = &ran)));
    OK(imgpar_cl_wait(&ran, 1));
    ck_assert_float_eq(j.value, 3);
    imgpar_cl_event_release(is_read);
    imgpar_cl_event_release(ran);
    imgpar_cl_buffer_release(b);
    imgpar_cl_queue_release(q);
}
END_TEST

START_TEST(a_call_that_fails_leaves_no_event)
{
    static char none;
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(64, 4));
    imgpar_cl_kernel *k = new_kernel("kernel void one(global int *a) { a[get_global_id(0)] = 1; }", "one");
    imgpar_cl_event *const somewhere = (imgpar_cl_event *)(void *)&none;
    for (int call = 0; call < 7; call++) {
        imgpar_cl_event *event = somewhere;
        const imgpar_cl_order *order = IMGPAR_CL_ORDER(.event = &event);
        imgpar_status st = call == 0   ? imgpar_cl_write(queue, b, NULL, NULL, order)
                           : call == 1 ? imgpar_cl_read(queue, NULL, NULL, &none, order)
                           : call == 2 ? imgpar_cl_copy(queue, b, NULL, b, NULL, order)
                           : call == 3 ? imgpar_cl_fill(queue, b, NULL, NULL, order)
                           : call == 4 ? imgpar_cl_unmap(queue, b, order)
                           : call == 5 ? imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 64 }), NULL, 0, order)
                                       : imgpar_cl_host_task(queue, NULL, NULL, order);
        ck_assert_int_ne(st, IMGPAR_OK);
        ck_assert_msg(!event, "call %d", call);
    }
    imgpar_cl_kernel_release(k);
    imgpar_cl_buffer_release(b);
}
END_TEST

/* Its memory goes to whoever asks next, on this device or another one, where a map that was never undone would hold
 * it. */
START_TEST(a_mapped_buffer_may_be_released)
{
    void *memory;
    float data[64], five = 5;
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(64, 4)), *part;
    const imgpar_cl_layout half = imgpar_cl_vector(32, 4);
    OK(imgpar_cl_map(queue, b, 1, &memory));
    OK(imgpar_cl_buffer_part(b, 0, &half, &part));
    FAILS(imgpar_cl_unmap(queue, part, NULL), IMGPAR_E_ARGUMENT, "is not mapped");
    imgpar_cl_buffer_release(part);
    imgpar_cl_buffer_release(b);
    b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(64, 4));
    OK(imgpar_cl_fill(queue, b, NULL, &five, NULL));
    OK(imgpar_cl_read(queue, b, NULL, data, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_float_eq(data[63], 5);
    imgpar_cl_buffer_release(b);
}
END_TEST

START_TEST(the_profile_counts_commands)
{
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(1000, 4));
    int32_t zero = 0, got[1000];
    imgpar_cl_profile_row **rows;
    size_t n;
    char *text;
    for (int k = 0; k < 200; k++) /* more than are kept at once */
        OK(imgpar_cl_fill(queue, b, NULL, &zero, NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_profile(queue, &rows, &n));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(rows[0]->name, "fill");
    ck_assert_uint_eq(rows[0]->count, 200);
    ck_assert_uint_eq(rows[0]->bytes, 200 * 4000);
    ck_assert_str_eq(rows[1]->name, "read");
    ck_assert(rows[0]->least_ms <= rows[0]->most_ms && rows[0]->most_ms <= rows[0]->total_ms);
    imgpar_free(rows);
    OK(imgpar_cl_profile_text(queue, &text));
    ck_assert_ptr_nonnull(strstr(text, "fill"));
    imgpar_free(text);
    FAILS(imgpar_cl_profile(NULL, &rows, &n), IMGPAR_E_ARGUMENT, "the queue is NULL");
    FAILS(imgpar_cl_profile(queue, NULL, &n), IMGPAR_E_ARGUMENT, "rows is NULL");
    FAILS(imgpar_cl_profile_text(queue, NULL), IMGPAR_E_ARGUMENT, "out is NULL");
    imgpar_cl_buffer_release(b);
}
END_TEST

START_TEST(objects_outlive_what_they_were_made_from)
{
    imgpar_context *own;
    imgpar_cl_queue *q;
    imgpar_cl_buffer *b;
    imgpar_cl_layout l = imgpar_cl_vector(16, 4);
    imgpar_cl_event *filled;
    int32_t five = 5, got[16];
    ck_assert_int_eq(imgpar_context_new(NULL, &own), IMGPAR_OK);
    OK(imgpar_cl_queue_new(own, NULL, &q));
    OK(imgpar_cl_buffer_new(own, IMGPAR_CL_INOUT, &l, &b));
    imgpar_context_release(own);
    OK(imgpar_cl_fill(q, b, NULL, &five, IMGPAR_CL_ORDER(.event = &filled)));
    OK(imgpar_cl_read(q, b, NULL, got, NULL));
    imgpar_cl_buffer_release(b);
    OK(imgpar_cl_finish(q));
    ck_assert_int_eq(got[15], 5);
    imgpar_cl_queue_release(q);
    OK(imgpar_cl_wait(&filled, 1));
    imgpar_cl_event_release(filled);
    imgpar_cl_counts c = { 0 };
    FAILS(imgpar_cl_count(ctx, &c), IMGPAR_E_ARGUMENT, "struct_size of out is not set");
    FAILS(imgpar_cl_count(NULL, &c), IMGPAR_E_ARGUMENT, "the context is NULL");
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------------------- */

enum { N_THREADS = 6, N_STEPS = 40, N = 512 };

typedef struct worker {
    pthread_t thread;
    imgpar_cl_kernel *kernel;
    imgpar_cl_buffer *shared;
    imgpar_status st;
    int32_t sum;
} worker;

/* A buffer of its own on a shared queue and kernel, and one that all add to. */
static void *work(void *user)
{
    worker *w = user;
    imgpar_cl_layout l = imgpar_cl_vector(N, 4);
    imgpar_cl_buffer *own = NULL;
    int32_t zero = 0, got[N];
    w->st = imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &l, &own);
    if (!w->st) w->st = imgpar_cl_fill(queue, own, NULL, &zero, NULL);
    for (int k = 0; !w->st && k < N_STEPS; k++) {
        w->st = imgpar_cl_launch(queue, w->kernel, IMGPAR_CL_WORK(.global = { N }),
                                 IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(own), imgpar_cl_arg_int(k)), NULL);
        if (!w->st)
            w->st = imgpar_cl_launch(queue, w->kernel, IMGPAR_CL_WORK(.global = { N }),
                                     IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(w->shared), imgpar_cl_arg_int(1)), NULL);
    }
    imgpar_cl_event *read = NULL;
    if (!w->st) w->st = imgpar_cl_read(queue, own, NULL, got, IMGPAR_CL_ORDER(.event = &read));
    if (!w->st) w->st = imgpar_cl_wait(&read, 1);
    imgpar_cl_event_release(read);
    w->sum = w->st ? -1 : got[N - 1];
    imgpar_cl_buffer_release(own);
    return NULL;
}

START_TEST(threads_share_everything)
{
    imgpar_cl_kernel *k = new_kernel("kernel void add(global int *a, int by) { a[get_global_id(0)] += by; }", "add");
    imgpar_cl_buffer *shared = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(N, 4));
    worker workers[N_THREADS];
    int32_t zero = 0, got[N];
    OK(imgpar_cl_fill(queue, shared, NULL, &zero, NULL));
    for (int t = 0; t < N_THREADS; t++) {
        workers[t] = (worker){ .kernel = k, .shared = shared };
        ck_assert_int_eq(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < N_THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        ck_assert_int_eq(workers[t].st, IMGPAR_OK);
        ck_assert_int_eq(workers[t].sum, N_STEPS * (N_STEPS - 1) / 2);
    }
    OK(imgpar_cl_read(queue, shared, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(got[i], N_THREADS * N_STEPS);
    imgpar_cl_kernel_release(k);
    imgpar_cl_buffer_release(shared);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cl");
    TCase *t = tcase_create("cl");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_test(t, platforms_and_devices_are_listed);
    tcase_add_test(t, a_rule_chooses_a_device);
    tcase_add_test(t, of_equal_scores_the_first_device_is_taken);
    tcase_add_test(t, a_compute_function_that_fails_fails_the_array);
    tcase_add_test(t, the_reference_interpreter_has_no_device);
    tcase_add_test(t, on_ref_a_node_is_what_its_compute_function_makes);
    tcase_add_test(t, layouts_are_checked);
    tcase_add_test(t, a_buffer_tells_what_it_is);
    tcase_add_test(t, boxes_are_written_copied_and_read);
    tcase_add_test(t, fills_take_any_element_and_box);
    tcase_add_test(t, wrong_copies_are_refused);
    tcase_add_test(t, a_part_shares_the_bytes);
    tcase_add_test(t, wrapped_memory_is_used_where_it_stands);
    tcase_add_test(t, events_tell_the_end_and_the_times);
    tcase_add_test(t, queues_share_buffers_in_order);
    tcase_add_test(t, a_task_runs_between_commands);
    tcase_add_test(t, wrapped_memory_is_given_back_at_the_last_use);
    tcase_add_test(t, out_of_order_a_task_runs_behind_what_it_waits_for);
    tcase_add_test(t, a_call_that_fails_leaves_no_event);
    tcase_add_test(t, a_mapped_buffer_may_be_released);
    tcase_add_test(t, the_profile_counts_commands);
    tcase_add_test(t, objects_outlive_what_they_were_made_from);
    tcase_add_test(t, threads_share_everything);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
