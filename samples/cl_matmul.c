/* SPDX-License-Identifier: MIT */
/* cl_matmul.c - the product of two matrices: each element by itself, then by tiles in local memory. */
#include <imgpar_cl.h>

#include <math.h>
#include <stdio.h>

enum { N = 256 };
static char tile_text[24] = "TILE=16";

static const char text[] =
    "kernel void naive(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < N; k++) sum += a[y * N + k] * b[k * N + x];\n"
    "    c[y * N + x] = sum;\n"
    "}\n"
    "kernel void tiled(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    local float left[TILE][TILE], right[TILE][TILE];\n"
    "    int x = get_global_id(0), y = get_global_id(1), i = get_local_id(0), j = get_local_id(1);\n"
    "    float sum = 0;\n"
    "    for (int t = 0; t < N; t += TILE) {\n"
    "        left[j][i] = a[y * N + t + i];\n"
    "        right[j][i] = b[(t + j) * N + x];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (int k = 0; k < TILE; k++) sum += left[j][k] * right[k][i];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    c[y * N + x] = sum;\n"
    "}\n";
static const imgpar_cl_source source = { .struct_size = sizeof source,
    .texts = (const char *const[]){ text, NULL },
    .constants = (const char *const[]){ "N=256", tile_text, NULL } };
static float a[N * N], b[N * N], c[N * N];

static int is_right(void) /* one element in a hundred, by hand */
{
    double worst = 0;
    for (int at = 0; at < N * N; at += 101) {
        double sum = 0;
        for (int k = 0; k < N; k++) sum += (double)a[at / N * N + k] * b[k * N + at % N];
        worst = fmax(worst, fabs(c[at] - sum));
    }
    return worst < 1e-3;
}

int main(void)
{
    imgpar_context *ctx = NULL;
    imgpar_cl_queue *queue = NULL;
    imgpar_cl_module *module = NULL;
    imgpar_cl_kernel *kernels[2] = { NULL, NULL };
    imgpar_cl_buffer *m[3] = { NULL, NULL, NULL };
    char *profile = NULL;
    const imgpar_cl_layout matrix = imgpar_cl_matrix(N, N, sizeof(float));
    for (int k = 0; k < N * N; k++) a[k] = (float)(k % 17) / 17, b[k] = (float)(k % 13) / 13;
    int failed = imgpar_context_new(NULL, &ctx), tile = 16; /* elements of a side; fewer where groups are small */
    while (!failed && (size_t)(tile * tile) > imgpar_context_device(ctx)->max_work_group) tile /= 2;
    snprintf(tile_text, sizeof tile_text, "TILE=%d", tile);
    failed = failed || imgpar_cl_queue_new(ctx, NULL, &queue) || imgpar_cl_module_new(ctx, &source, &module) ||
        imgpar_cl_kernel_new(module, "naive", &kernels[0]) || imgpar_cl_kernel_new(module, "tiled", &kernels[1]) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &matrix, &m[0]) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &matrix, &m[1]) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_OUT, &matrix, &m[2]) || imgpar_cl_write(queue, m[0], NULL, a, NULL) ||
        imgpar_cl_write(queue, m[1], NULL, b, NULL);
    for (int k = 0; !failed && k < 2; k++)
        failed = imgpar_cl_launch(queue, kernels[k], IMGPAR_CL_WORK(.global = { N, N }, .local = { tile, tile }),
                     IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(m[0]), imgpar_cl_arg_buffer(m[1]), imgpar_cl_arg_buffer(m[2])),
                     NULL) ||
            imgpar_cl_read(queue, m[2], NULL, c, NULL) || imgpar_cl_finish(queue) || !is_right();
    if (!failed) failed = imgpar_cl_profile_text(queue, &profile);
    puts(failed ? imgpar_cl_message() : profile);
    for (int k = 0; k < 3; k++) imgpar_cl_buffer_release(m[k]), imgpar_cl_kernel_release(k < 2 ? kernels[k] : NULL);
    imgpar_cl_module_release(module), imgpar_cl_queue_release(queue);
    imgpar_free(profile), imgpar_context_release(ctx);
    return failed;
}
