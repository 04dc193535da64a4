/* SPDX-License-Identifier: MIT */
/* cl_reduce.c - a sum by trees: each group halves its part in local memory, until one number is left. */
#include <imgpar_cl.h>

#include <stdio.h>

enum { N = 1000003 };

static const char text[] = "kernel void reduce(global const long *in, global long *out, local long *part, uint n)\n"
                           "{\n"
                           "    uint i = get_local_id(0), group = get_local_size(0), at = get_global_id(0);\n"
                           "    part[i] = at < n ? in[at] : 0;\n"
                           "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "    for (uint half_of = group / 2; half_of > 0; half_of /= 2) {\n"
                           "        if (i < half_of) part[i] += part[i + half_of];\n"
                           "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "    }\n"
                           "    if (i == 0) out[get_group_id(0)] = part[0];\n"
                           "}\n";
static int64_t numbers[N];
static size_t group = 64; /* half as many, and so on, where a device has no such groups */

static size_t groups_of(size_t n) { return (n + group - 1) / group; }

int main(void)
{
    imgpar_context *ctx = NULL;
    imgpar_cl_queue *queue = NULL;
    imgpar_cl_module *module = NULL;
    imgpar_cl_kernel *kernel = NULL;
    imgpar_cl_buffer *from = NULL, *to = NULL;
    char *profile = NULL;
    int64_t want = 0, sum = 0;
    const imgpar_cl_layout all = imgpar_cl_vector(N, sizeof *numbers),
                           parts = imgpar_cl_vector(N / 2 + 1, sizeof *numbers);
    for (int k = 0; k < N; k++) want += numbers[k] = k * 7 % 1001 - 500;
    int failed = imgpar_context_new(NULL, &ctx) || imgpar_cl_queue_new(ctx, NULL, &queue) ||
        imgpar_cl_module_from_text(ctx, text, &module) || imgpar_cl_kernel_new(module, "reduce", &kernel) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &all, &from) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &parts, &to) || imgpar_cl_write(queue, from, NULL, numbers, NULL);
    while (!failed && group > 2 && group > imgpar_context_device(ctx)->max_work_group) group /= 2;
    for (size_t n = N; !failed && n > 1; n = groups_of(n)) {
        failed = imgpar_cl_launch(queue, kernel, IMGPAR_CL_WORK(.global = { groups_of(n) * group }, .local = { group }),
            IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(from), imgpar_cl_arg_buffer(to),
                imgpar_cl_arg_local(group * sizeof *numbers), imgpar_cl_arg_int((int64_t)n)),
            NULL);
        imgpar_cl_buffer *swapped = from; /* what was made is what is read next */
        from = to;
        to = swapped;
    }
    if (!failed)
        failed = imgpar_cl_read(queue, from, IMGPAR_CL_REGION(.extent = { 1 }), &sum, NULL) ||
            imgpar_cl_finish(queue) || sum != want || imgpar_cl_profile_text(queue, &profile);
    printf("%s\nsum %lld, by the host %lld\n", failed ? imgpar_cl_message() : profile, (long long)sum, (long long)want);
    imgpar_free(profile);
    imgpar_cl_buffer_release(from);
    imgpar_cl_buffer_release(to);
    imgpar_cl_kernel_release(kernel);
    imgpar_cl_module_release(module);
    imgpar_cl_queue_release(queue);
    imgpar_context_release(ctx);
    return failed;
}
