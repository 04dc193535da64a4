/* SPDX-License-Identifier: MIT */
/* Images of the device layer: texels there and back, kernels that sample and write them, and what is refused. */
#include "cl_help.h"

#include <math.h>
#include <stdio.h>

enum { H = 5, W = 7 };

static imgpar_cl_buffer *new_image(imgpar_cl_access access, imgpar_dtype dtype, int channels, int is_normalized)
{
    imgpar_cl_buffer *image;
    OK(imgpar_cl_image_new(
        ctx, access,
        IMGPAR_CL_IMAGE(.width = W, .height = H, .dtype = dtype, .channels = channels, .is_normalized = is_normalized),
        &image));
    return image;
}

/* A device without images says so, and its test is over. */
static bool lacks_images(void)
{
    imgpar_cl_buffer *a;
    const imgpar_cl_image right = { sizeof right, W, H, IMGPAR_U8, 4, 0 };
    if (imgpar_context_device(ctx)->has_images) return false;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &right, &a), IMGPAR_E_UNSUPPORTED, "no images of 4 channels of u8");
    ck_assert_ptr_null(a);
    return true;
}

/* Of four channels there are images on every device that has any; of fewer, where it says so. */
static bool has_images_of(imgpar_dtype dtype, int channels, int is_normalized)
{
    imgpar_cl_buffer *image;
    imgpar_status st = imgpar_cl_image_new(
        ctx, IMGPAR_CL_INOUT,
        IMGPAR_CL_IMAGE(.width = W, .height = H, .dtype = dtype, .channels = channels, .is_normalized = is_normalized),
        &image);
    ck_assert(st == IMGPAR_OK || (st == IMGPAR_E_UNSUPPORTED && channels < 4));
    imgpar_cl_buffer_release(image);
    return st == IMGPAR_OK;
}

/* ---- texels there and back ---------------------------------------------------------------------------- */

static const struct {
    imgpar_dtype dtype;
    int is_normalized, size_bytes;
} kinds[] = { { IMGPAR_U8, 0, 1 },  { IMGPAR_I8, 0, 1 },  { IMGPAR_U16, 0, 2 }, { IMGPAR_I16, 0, 2 },
              { IMGPAR_U32, 0, 4 }, { IMGPAR_I32, 0, 4 }, { IMGPAR_F32, 0, 4 }, { IMGPAR_U8, 1, 1 },
              { IMGPAR_U16, 1, 2 }, { IMGPAR_F16, 0, 2 } };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* A box is written, the whole is copied to a buffer and to a second image, and that is read. */
static void go_round(imgpar_dtype dtype, int channels, int is_normalized, size_t texel)
{
    unsigned char all[H * W * 16], want[H * W * 16], got[H * W * 16], box[2 * 48];
    imgpar_cl_buffer *a = new_image(IMGPAR_CL_INOUT, dtype, channels, is_normalized);
    imgpar_cl_buffer *b = new_image(IMGPAR_CL_INOUT, dtype, channels, is_normalized);
    imgpar_cl_buffer *plain = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_matrix(H, W, texel));
    for (size_t k = 0; k < H * W * texel; k++)
        want[k] = all[k] = (unsigned char)(k * 5 % 56);
    for (size_t k = 0; k < sizeof box; k++)
        box[k] = (unsigned char)(k % 50 + 1);
    for (size_t y = 0; y < 2; y++)
        for (size_t k = 0; k < 2 * texel; k++)
            want[((y + 3) * W + 1) * texel + k] = box[y * 40 + k];
    OK(imgpar_cl_write(queue, a, NULL, all, NULL));
    OK(imgpar_cl_write(queue, a, IMGPAR_CL_REGION(.offset = { 3, 1 }, .extent = { 2, 2 }, .host_row_pitch_bytes = 40),
                       box, NULL));
    OK(imgpar_cl_copy(queue, a, NULL, plain, NULL, NULL));
    OK(imgpar_cl_copy(queue, plain, NULL, b, NULL, NULL));
    OK(imgpar_cl_copy(queue, a, IMGPAR_CL_REGION(.extent = { 1, 1 }), b,
                      IMGPAR_CL_REGION(.offset = { 4, 6 }, .extent = { 1, 1 }), NULL));
    memcpy(want + (4 * W + 6) * texel, want, texel);
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_mem_eq(got, want, H * W * texel);
    OK(imgpar_cl_read(queue, b, IMGPAR_CL_REGION(.offset = { 3, 1 }, .extent = { 1, 2 }), got, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_mem_eq(got, box, 2 * texel);
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(b);
    imgpar_cl_buffer_release(plain);
}

START_TEST(texels_come_back)
{
    if (lacks_images()) return;
    for (int k = 0; k < N_KINDS; k++)
        for (int channels = 1; channels <= 4; channels *= 2)
            if (has_images_of(kinds[k].dtype, channels, kinds[k].is_normalized))
                go_round(kinds[k].dtype, channels, kinds[k].is_normalized, (size_t)(channels * kinds[k].size_bytes));
}
END_TEST

START_TEST(fills_set_texels)
{
    if (lacks_images()) return;
    static const unsigned char bytes[4] = { 1, 2, 128, 255 };
    static const int8_t chars[4] = { -128, 77, 0, 127 };
    static const float floats[4] = { -1.5f, 0, 1e30f, 7 };
    static const struct {
        const void *element;
        imgpar_dtype dtype;
        int channels, is_normalized;
        size_t texel;
    } rows[] = { { bytes, IMGPAR_U8, 4, 0, 4 },
                 { bytes, IMGPAR_U8, 4, 1, 4 },
                 { chars, IMGPAR_I8, 4, 0, 4 },
                 { floats, IMGPAR_F32, 4, 0, 16 } };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        unsigned char got[H * W * 16], zero[16] = { 0 };
        imgpar_cl_buffer *a = new_image(IMGPAR_CL_OUT, rows[r].dtype, rows[r].channels, rows[r].is_normalized);
        OK(imgpar_cl_fill(queue, a, NULL, zero, NULL));
        OK(imgpar_cl_fill(queue, a, IMGPAR_CL_REGION(.offset = { 1, 2 }, .extent = { 3, 4 }), rows[r].element, NULL));
        OK(imgpar_cl_read(queue, a, NULL, got, NULL));
        OK(imgpar_cl_finish(queue));
        for (int k = 0; k < H * W; k++) {
            bool inside = k / W >= 1 && k / W < 4 && k % W >= 2 && k % W < 6;
            const size_t n = rows[r].texel;
            ck_assert_msg(memcmp(got + n * (size_t)k, inside ? rows[r].element : zero, n) == 0, "row %zu, texel %d", r,
                          k);
        }
        imgpar_cl_buffer_release(a);
    }
}
END_TEST

/* ---- kernels -------------------------------------------------------------------------------------------- */

#define PLACE "    int x = get_global_id(0), y = get_global_id(1);\n"

START_TEST(kernels_read_and_write_images)
{
    if (lacks_images()) return;
    static const char text[] =
        "constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
        "kernel void turn(read_only image2d_t from, write_only image2d_t to, int add)\n"
        "{\n" PLACE "    uint4 v = read_imageui(from, nearest, (int2)(get_image_width(from) - x, y));\n"
        "    write_imageui(to, (int2)(x, y), v + (uint)add);\n"
        "}\n";
    imgpar_cl_kernel *turn = new_kernel(text, "turn");
    imgpar_cl_buffer *from = new_image(IMGPAR_CL_IN, IMGPAR_U16, 4, 0);
    imgpar_cl_buffer *to = new_image(IMGPAR_CL_OUT, IMGPAR_U16, 4, 0);
    uint16_t all[H * W * 4], got[H * W * 4];
    for (int k = 0; k < H * W * 4; k++)
        all[k] = (uint16_t)(k * 400);
    const imgpar_cl_arg args[] = { imgpar_cl_arg_buffer(from), imgpar_cl_arg_buffer(to), imgpar_cl_arg_int(3) };
    OK(imgpar_cl_write(queue, from, NULL, all, NULL));
    OK(imgpar_cl_launch(queue, turn, IMGPAR_CL_WORK(.global = { W, H }), args, 3, NULL));
    OK(imgpar_cl_read(queue, to, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < 4; c++) /* column W lies beyond the edge, where CLK_ADDRESS_CLAMP reads 0 */
                ck_assert_int_eq(got[(y * W + x) * 4 + c], 3 + (x ? all[(y * W + W - x) * 4 + c] : 0));
    imgpar_cl_arg_info info = { .struct_size = sizeof info };
    OK(imgpar_cl_kernel_get_arg_info(turn, 0, &info));
    ck_assert(info.is_image && info.is_read_only && info.kind == IMGPAR_CL_ARG_BUFFER);
    OK(imgpar_cl_kernel_get_arg_info(turn, 1, &info));
    ck_assert(info.is_image && !info.is_read_only);
    imgpar_cl_kernel_release(turn);
    imgpar_cl_buffer_release(from);
    imgpar_cl_buffer_release(to);
}
END_TEST

/* The place of a texel beyond the edges of n. */
static int clamped(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static int wrapped(int i, int n) { return (i % n + n) % n; }
static int mirrored(int i, int n) { return wrapped(i, 2 * n) < n ? wrapped(i, 2 * n) : 2 * n - 1 - wrapped(i, 2 * n); }

static double mixed(const float *a, double x, double y, int (*at)(int, int))
{
    int x0 = (int)floor(x), y0 = (int)floor(y);
    double u = x - x0, v = y - y0, sum = 0;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++)
            sum += (i ? u : 1 - u) * (j ? v : 1 - v) * (double)a[at(y0 + j, H) * W + at(x0 + i, W)];
    return sum;
}

START_TEST(samplers_filter_and_have_borders)
{
    if (lacks_images()) return;
    static const struct {
        const char *sampler;
        int (*at)(int, int);
    } rows[] = { { "CLK_ADDRESS_CLAMP_TO_EDGE", clamped },
                 { "CLK_ADDRESS_REPEAT", wrapped },
                 { "CLK_ADDRESS_MIRRORED_REPEAT", mirrored } };
    float all[H * W], texels[H * W * 4] = { 0 }, got[H * W];
    imgpar_cl_buffer *from = new_image(IMGPAR_CL_IN, IMGPAR_F32, 4, 0);
    imgpar_cl_buffer *to = new_buffer(IMGPAR_CL_OUT, imgpar_cl_matrix(H, W, sizeof(float)));
    for (int k = 0; k < H * W; k++)
        all[k] = texels[4 * k + 2] = (float)(k * k % 101) / 101;
    OK(imgpar_cl_write(queue, from, NULL, texels, NULL));
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "constant sampler_t smooth = CLK_NORMALIZED_COORDS_TRUE | %s | CLK_FILTER_LINEAR;\n"
                 "kernel void sample(read_only image2d_t from, global float *to)\n"
                 "{\n" PLACE "    float2 at = (float2)(x * 1.75f - 1.9f, y * 1.5f - 0.8f) + 0.5f;\n"
                 "    to[y * %d + x] = read_imagef(from, smooth, at / (float2)(%d, %d)).z;\n"
                 "}\n",
                 rows[r].sampler, W, W, H);
        imgpar_cl_kernel *sample = new_kernel(text, "sample");
        const imgpar_cl_arg args[] = { imgpar_cl_arg_buffer(from), imgpar_cl_arg_buffer(to) };
        OK(imgpar_cl_launch(queue, sample, IMGPAR_CL_WORK(.global = { W, H }), args, 2, NULL));
        OK(imgpar_cl_read(queue, to, NULL, got, NULL));
        OK(imgpar_cl_finish(queue));
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) { /* weights of 8 bits, halved where they are rounded, in both directions */
                double want = mixed(all, x * 1.75 - 1.9, y * 1.5 - 0.8, rows[r].at);
                ck_assert_msg(fabs((double)got[y * W + x] - want) < 1.0 / 256, "%s at %d, %d: %g, not %g",
                              rows[r].sampler, y, x, (double)got[y * W + x], want);
            }
        imgpar_cl_kernel_release(sample);
    }
    imgpar_cl_buffer_release(from);
    imgpar_cl_buffer_release(to);
}
END_TEST

/* ---- what is refused -------------------------------------------------------------------------------------- */

START_TEST(an_image_tells_what_it_is)
{
    if (lacks_images()) return;
    imgpar_cl_buffer *a = new_image(IMGPAR_CL_IN, IMGPAR_F16, 4, 0), *part;
    imgpar_cl_buffer *plain = new_buffer(IMGPAR_CL_IN, imgpar_cl_vector(4, 4));
    imgpar_cl_buffer_info info = { .struct_size = sizeof info };
    const imgpar_cl_layout inside = imgpar_cl_vector(4, 1);
    void *memory;
    OK(imgpar_cl_buffer_get_info(a, &info));
    ck_assert_ptr_nonnull(info.image);
    ck_assert_uint_eq(info.image->width, W);
    ck_assert_uint_eq(info.image->height, H);
    ck_assert_int_eq(info.image->dtype, IMGPAR_F16);
    ck_assert_uint_eq(info.layout->element_bytes, 8);
    ck_assert_uint_eq(info.size_bytes, H * W * 8);
    OK(imgpar_cl_buffer_get_info(plain, &info));
    ck_assert_ptr_null(info.image);
    FAILS(imgpar_cl_map(queue, a, 0, &memory), IMGPAR_E_ARGUMENT, "map: the buffer is an image");
    FAILS(imgpar_cl_buffer_part(a, 0, &inside, &part), IMGPAR_E_ARGUMENT, "the buffer is an image, which has no parts");
    imgpar_array *array = imgpar_cl_array(a, IMGPAR_F16, 3, (const int64_t[]){ H, W, 4 });
    ck_assert_ptr_nonnull(strstr(imgpar_array_message(array), "array: the buffer is an image"));
    imgpar_array_release(array);
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(plain);
}
END_TEST

START_TEST(wrong_images_are_refused)
{
    if (lacks_images()) return;
    imgpar_cl_buffer *a;
    const imgpar_cl_image right = { sizeof right, W, H, IMGPAR_U8, 4, 0 };
    imgpar_cl_image wrong = right;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, NULL, &a), IMGPAR_E_ARGUMENT, "image_new: image is NULL");
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &right, NULL), IMGPAR_E_ARGUMENT, "image_new: out is NULL");
    FAILS(imgpar_cl_image_new(NULL, IMGPAR_CL_IN, &right, &a), IMGPAR_E_ARGUMENT, "image_new: the context is NULL");
    FAILS(imgpar_cl_image_new(ctx, (imgpar_cl_access)7, &right, &a), IMGPAR_E_ARGUMENT, "image_new: access=7");
    wrong.channels = 3;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &wrong, &a), IMGPAR_E_ARGUMENT, "image.channels=3 is not 1, 2 or 4");
    wrong = right;
    wrong.height = 0;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &wrong, &a), IMGPAR_E_ARGUMENT, "image.height is 0");
    wrong = right;
    wrong.dtype = IMGPAR_F64;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &wrong, &a), IMGPAR_E_UNSUPPORTED, "no images of 4 channels of f64");
    wrong.dtype = (imgpar_dtype)99;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &wrong, &a), IMGPAR_E_ARGUMENT, "image.dtype=99 is no dtype");
    wrong = right;
    wrong.dtype = IMGPAR_F32;
    wrong.is_normalized = 1;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &wrong, &a), IMGPAR_E_UNSUPPORTED, "of normalized f32");
    wrong = right;
    wrong.width = (size_t)1 << 40;
    FAILS(imgpar_cl_image_new(ctx, IMGPAR_CL_IN, &wrong, &a), IMGPAR_E_LIMIT, "texels are over the device's");
    ck_assert_ptr_null(a);
}
END_TEST

START_TEST(wrong_arguments_and_copies_are_refused)
{
    if (lacks_images()) return;
    static const char text[] = "kernel void one(read_only image2d_t a) { }\n"
                               "kernel void two(write_only image2d_t a) { }\n"
                               "kernel void three(global int *a) { }\n"
                               "kernel void four(sampler_t s) { }\n"
                               "kernel void five(read_only image3d_t v) { }\n";
    imgpar_cl_module *module;
    imgpar_cl_buffer *in = new_image(IMGPAR_CL_IN, IMGPAR_U8, 4, 0), *out = new_image(IMGPAR_CL_OUT, IMGPAR_U8, 4, 0);
    imgpar_cl_buffer *small = new_image(IMGPAR_CL_INOUT, IMGPAR_U8, 1, 0);
    imgpar_cl_layout padded = imgpar_cl_matrix(H, W, 4);
    padded.row_pitch_bytes = 32;
    imgpar_cl_buffer *plain = new_buffer(IMGPAR_CL_INOUT, padded);
    const imgpar_cl_work *work = IMGPAR_CL_WORK(.global = { 1 });
    OK(imgpar_cl_module_from_text(ctx, text, &module));
    const struct {
        const char *kernel;
        imgpar_cl_buffer *given;
        imgpar_status st;
        const char *message;
    } rows[] = {
        { "one", plain, IMGPAR_E_ARGUMENT, "is an image; a buffer was given that imgpar_cl_image_new() did not make" },
        { "one", out, IMGPAR_E_ARGUMENT, "is read_only; the image is IMGPAR_CL_OUT, which kernels write" },
        { "two", in, IMGPAR_E_ARGUMENT, "is written; the image is IMGPAR_CL_IN, which needs read_only" },
        { "three", out, IMGPAR_E_ARGUMENT, "is a pointer; an image was given" },
        { "four", in, IMGPAR_E_UNSUPPORTED, "is a sampler; declare it in the text" },
        { "five", in, IMGPAR_E_UNSUPPORTED, "is an image that this layer does not have; it has image2d_t" },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const imgpar_cl_arg arg = imgpar_cl_arg_buffer(rows[r].given);
        FAILS(imgpar_cl_module_launch(queue, module, rows[r].kernel, work, &arg, 1, NULL), rows[r].st, rows[r].message);
    }
    FAILS(imgpar_cl_copy(queue, in, NULL, small, NULL, NULL), IMGPAR_E_SHAPE, "copy: the regions are");
    FAILS(imgpar_cl_copy(queue, in, IMGPAR_CL_REGION(.extent = { 1, 1 }), small, IMGPAR_CL_REGION(.extent = { 1, 4 }),
                         NULL),
          IMGPAR_E_ARGUMENT, "copy: the images differ in dtype, channels or normalization");
    FAILS(imgpar_cl_copy(queue, in, NULL, plain, NULL, NULL), IMGPAR_E_ARGUMENT, "rows do not lie one after the other");
    FAILS(imgpar_cl_copy(queue, in, NULL, in, NULL, NULL), IMGPAR_E_ARGUMENT, "copy: the regions overlap");
    FAILS(imgpar_cl_write(queue, out, NULL, text, NULL), IMGPAR_E_ARGUMENT, "write: the buffer is IMGPAR_CL_OUT");
    FAILS(imgpar_cl_read(queue, in, IMGPAR_CL_REGION(.offset = { 0, W }), &padded, NULL), IMGPAR_E_ARGUMENT,
          "region.offset[1]=7 is not inside 0 to 6");
    imgpar_cl_module_release(module);
    imgpar_cl_buffer_release(in);
    imgpar_cl_buffer_release(out);
    imgpar_cl_buffer_release(small);
    imgpar_cl_buffer_release(plain);
}
END_TEST

/* ---- failures ------------------------------------------------------------------------------------------------ */

static imgpar_status walk(void)
{
    imgpar_cl_buffer *a = NULL;
    unsigned char all[H * W * 4] = { 0 };
    imgpar_status st = imgpar_cl_image_new(
        ctx, IMGPAR_CL_INOUT, IMGPAR_CL_IMAGE(.width = W, .height = H, .dtype = IMGPAR_U8, .channels = 4), &a);
    if (!st) st = imgpar_cl_write(queue, a, NULL, all, NULL);
    if (!st) st = imgpar_cl_fill(queue, a, IMGPAR_CL_REGION(.extent = { 1, 1 }), all, NULL);
    if (!st)
        st = imgpar_cl_copy(queue, a, IMGPAR_CL_REGION(.extent = { 1, 1 }), a,
                            IMGPAR_CL_REGION(.offset = { 1, 1 }, .extent = { 1, 1 }), NULL);
    if (!st) st = imgpar_cl_read(queue, a, NULL, all, NULL);
    imgpar_status end = imgpar_cl_finish(queue);
    imgpar_cl_buffer_release(a);
    return st ? st : end;
}

START_TEST(every_failure_is_told_and_leaves_nothing)
{
    if (!lacks_images()) walk_with_failures(walk, faults[_i], 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cl_images");
    TCase *t = tcase_create("cl_images");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_test(t, texels_come_back);
    tcase_add_test(t, fills_set_texels);
    tcase_add_test(t, kernels_read_and_write_images);
    tcase_add_test(t, samplers_filter_and_have_borders);
    tcase_add_test(t, an_image_tells_what_it_is);
    tcase_add_test(t, wrong_images_are_refused);
    tcase_add_test(t, wrong_arguments_and_copies_are_refused);
    tcase_add_loop_test(t, every_failure_is_told_and_leaves_nothing, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
