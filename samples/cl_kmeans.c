/* SPDX-License-Identifier: MIT */
/* cl_kmeans.c - k-means of colours: each group sums its pixels by cluster in a table in local memory. */
#include <imgpar_cl.h>

#include <stdio.h>
#include <string.h>

enum { N = 200000, CLUSTERS = 8, STEPS = 5 };

static const char text[] =
    "int square(int3 d) { return d.x * d.x + d.y * d.y + d.z * d.z; }\n"
    "int nearest(int3 v, constant int4 *centre)\n{\n    int best = 0;\n"
    "    for (int k = 1; k < CLUSTERS; k++) if (square(v - centre[k].xyz) < square(v - centre[best].xyz)) best = k;\n"
    "    return best;\n}\n"
    "kernel void assign(global const uchar *pixels, constant int4 *centre, global int *sums, local int *table, int n)\n"
    "{\n    for (int k = get_local_id(0); k < 4 * CLUSTERS; k += get_local_size(0)) table[k] = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int at = get_global_id(0); at < n; at += get_global_size(0)) {\n"
    "        int3 v = convert_int3(vload3(at, pixels));\n        local int *row = table + 4 * nearest(v, centre);\n"
    "        atomic_add(&row[0], v.x), atomic_add(&row[1], v.y), atomic_add(&row[2], v.z), atomic_inc(&row[3]);\n"
    "    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int k = get_local_id(0); k < 4 * CLUSTERS; k += get_local_size(0)) atomic_add(&sums[k], table[k]);\n}\n";
static const char *const texts[] = { text, NULL }, *const constants[] = { "CLUSTERS=8", NULL };
static const imgpar_cl_source source = { .struct_size = sizeof source, .texts = texts, .constants = constants };
static unsigned char pixels[N][3];

static void by_hand(int centre[CLUSTERS][4], int sums[CLUSTERS][4])
{
    memset(sums, 0, sizeof(int[CLUSTERS][4]));
    for (int at = 0; at < N; at++) {
        int best = 0, least = 1 << 30;
        for (int k = 0; k < CLUSTERS; k++) {
            int r = pixels[at][0] - centre[k][0], g = pixels[at][1] - centre[k][1], b = pixels[at][2] - centre[k][2];
            int d = r * r + g * g + b * b;
            if (d < least) best = k, least = d;
        }
        for (int i = 0; i < 4; i++) sums[best][i] += i < 3 ? pixels[at][i] : 1;
    }
}

int main(void)
{
    imgpar_context *ctx = NULL;
    imgpar_cl_queue *queue = NULL;
    imgpar_cl_module *module = NULL;
    imgpar_cl_kernel *kernel = NULL;
    imgpar_cl_buffer *image = NULL, *table = NULL, *centres = NULL;
    char *profile = NULL;
    int centre[CLUSTERS][4], sums[CLUSTERS][4], want[CLUSTERS][4], zero = 0;
    const imgpar_cl_layout colours = imgpar_cl_vector(N, 3), rows = imgpar_cl_matrix(CLUSTERS, 4, sizeof(int));
    for (int at = 0, seed = 1; at < 3 * N; at++)
        pixels[at / 3][at % 3] = (unsigned char)((seed = (int)(seed * 1103515245u + 12345u)) >> 16);
    for (int k = 0; k < 4 * CLUSTERS; k++) centre[k / 4][k % 4] = pixels[k / 4 * 997][k % 4 % 3];
    int failed = imgpar_context_new(NULL, &ctx) || imgpar_cl_queue_new(ctx, NULL, &queue) ||
        imgpar_cl_module_new(ctx, &source, &module) || imgpar_cl_kernel_new(module, "assign", &kernel) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &colours, &image) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &rows, &table) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &rows, &centres) || imgpar_cl_write(queue, image, NULL, pixels, NULL);
    size_t most = failed ? 0 : imgpar_context_device(ctx)->max_work_group, group = most < 64 ? most : 64;
    for (int step = 0; !failed && step < STEPS; step++) {
        failed = imgpar_cl_write(queue, centres, NULL, centre, NULL) ||
            imgpar_cl_fill(queue, table, NULL, &zero, NULL) ||
            imgpar_cl_launch(queue, kernel, IMGPAR_CL_WORK(.global = { 32 * group }, .local = { group }),
                IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(image), imgpar_cl_arg_buffer(centres), imgpar_cl_arg_buffer(table),
                    imgpar_cl_arg_local(sizeof sums), imgpar_cl_arg_int(N)),
                NULL) ||
            imgpar_cl_read(queue, table, NULL, sums, NULL) || imgpar_cl_finish(queue);
        by_hand(centre, want);
        failed = failed || memcmp(sums, want, sizeof sums) != 0; /* whole numbers: the same to the last bit */
        for (int k = 0; k < 4 * CLUSTERS; k++)
            if (k % 4 < 3 && sums[k / 4][3] > 0) centre[k / 4][k % 4] = sums[k / 4][k % 4] / sums[k / 4][3];
    }
    failed = failed || imgpar_cl_profile_text(queue, &profile);
    printf("%s\n", failed ? imgpar_cl_message() : profile);
    imgpar_cl_buffer_release(image), imgpar_cl_buffer_release(table), imgpar_cl_buffer_release(centres);
    imgpar_cl_kernel_release(kernel), imgpar_cl_module_release(module), imgpar_cl_queue_release(queue);
    imgpar_free(profile), imgpar_context_release(ctx);
    return failed;
}
