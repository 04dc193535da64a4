/* SPDX-License-Identifier: MIT */
/* cl_transform.c - the vector transform as a module: constants, a device function and a kernel compiled once, launched
 * by hand, and the same kernel as a node of a lazy graph between two operations of the library. */
#include <imgpar_cl.h>

#include <math.h>
#include <stdio.h>

enum { N = 1 << 20 };

static const char functions[] = "constant float shift = SHIFT;\nfloat bend(float v) { return v * v + shift; }\n";
static const char kernels[] =
    "kernel void transform(global const float *in, global float *out, uint n, uint per_item)\n"
    "{\n    uint begin = get_global_id(0) * per_item, end = min(begin + per_item, n);\n"
    "    for (uint i = begin; i < end; i++) out[i] = bend(in[i]);\n"
    "}\n";
static const imgpar_cl_source source = { .struct_size = sizeof source,
    .constants = (const char *const[]){ "SHIFT=0.25f", NULL },
    .texts = (const char *const[]){ functions, kernels, NULL } };
static float in[N], out[N];

/* (v + 1) transformed, then doubled: the middle is ours, and nothing comes back to the host in between. */
static imgpar_array *in_a_graph(
    imgpar_context *ctx, imgpar_cl_kernel *kernel, const imgpar_cl_work *work, size_t per_item)
{
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 1, (const int64_t[]){ N }, in),
                 *more = imgpar_apply(ctx, "$1 + 1", &a, 1);
    const imgpar_cl_arg args[] = { imgpar_cl_arg_input(0), imgpar_cl_arg_result(), imgpar_cl_arg_int(N),
        imgpar_cl_arg_int((int64_t)per_item) };
    const imgpar_cl_node node = { .struct_size = sizeof node,
        .kernel = kernel,
        .inputs = &more,
        .n_inputs = 1,
        .dtype = IMGPAR_F32,
        .rank = 1,
        .shape = { N },
        .args = args,
        .n_args = 4,
        .work = work };
    imgpar_array *bent = imgpar_cl_apply(ctx, &node), *result = imgpar_apply(ctx, "$1 * 2", &bent, 1);
    imgpar_array_release(a), imgpar_array_release(more), imgpar_array_release(bent);
    return result;
}

int main(void)
{
    imgpar_context *ctx = NULL;
    imgpar_cl_queue *queue = NULL;
    imgpar_cl_module *module = NULL;
    imgpar_cl_kernel *kernel = NULL;
    imgpar_cl_buffer *from = NULL, *to = NULL;
    char *profile = NULL;
    size_t per_item[3] = { 0 };
    imgpar_cl_work work = { .struct_size = sizeof work };
    const imgpar_cl_layout vector = imgpar_cl_vector(N, sizeof(float));
    for (int k = 0; k < N; k++) in[k] = (float)k / N;
    int failed = imgpar_context_new(NULL, &ctx) || imgpar_cl_queue_new(ctx, NULL, &queue) ||
        imgpar_cl_module_new(ctx, &source, &module) || imgpar_cl_kernel_new(module, "transform", &kernel) ||
        imgpar_cl_divide(kernel, (const size_t[3]){ N }, per_item, &work) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &vector, &from) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_OUT, &vector, &to) || imgpar_cl_write(queue, from, NULL, in, NULL) ||
        imgpar_cl_launch(queue, kernel, &work,
            IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(from), imgpar_cl_arg_buffer(to), imgpar_cl_arg_int(N),
                imgpar_cl_arg_int((int64_t)per_item[0])),
            NULL) ||
        imgpar_cl_read(queue, to, NULL, out, NULL) || imgpar_cl_profile_text(queue, &profile);
    for (int k = 0; !failed && k < N; k++) failed = fabsf(out[k] - (in[k] * in[k] + 0.25f)) > 1e-6f;
    imgpar_array *lazy = failed ? NULL : in_a_graph(ctx, kernel, &work, per_item[0]);
    if (!failed) failed = imgpar_array_read(lazy, out, sizeof out);
    for (int k = 0; !failed && k < N; k++) failed = fabsf(out[k] - 2 * ((in[k] + 1) * (in[k] + 1) + 0.25f)) > 1e-5f;
    printf("%s%zu elements a work-item\n", failed ? imgpar_cl_message() : profile, per_item[0]);
    imgpar_free(profile), imgpar_array_release(lazy);
    imgpar_cl_buffer_release(from), imgpar_cl_buffer_release(to);
    imgpar_cl_kernel_release(kernel), imgpar_cl_module_release(module), imgpar_cl_queue_release(queue);
    imgpar_context_release(ctx);
    return failed;
}
