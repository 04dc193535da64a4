/* SPDX-License-Identifier: MIT */
/* cl_himeno.c - the Himeno benchmark: Poisson's equation by Jacobi's method, 19 neighbours, on 129x65x65. */
#include <imgpar_cl.h>

#include <stdio.h>
#include <stdlib.h>

enum { I = 65, J = 65, K = 129, N = I * J * K, N_COEFFICIENTS = 12, A3 = 3, C0 = 7, BOUND = 11 };

static const char text[] =
    "#define P(i, j, k) p[at + ((i) * J + (j)) * K + (k)]\n"
    "#define M(m) c[(m) * I * J * K + at]\n" /* a0 a1 a2 a3, b0 b1 b2, c0 c1 c2, work, boundary */
    "kernel void jacobi(global const float *p, global const float *c, global float *next, global float *error)\n"
    "{\n    int k = get_global_id(0), j = get_global_id(1), i = get_global_id(2), at = (i * J + j) * K + k;\n"
    "    float change = 0;\n"
    "    if (i > 0 && i < I - 1 && j > 0 && j < J - 1 && k > 0 && k < K - 1) {\n"
    "        float s = M(0) * P(1, 0, 0) + M(1) * P(0, 1, 0) + M(2) * P(0, 0, 1)\n"
    "            + M(4) * (P(1, 1, 0) - P(1, -1, 0) - P(-1, 1, 0) + P(-1, -1, 0))\n"
    "            + M(5) * (P(0, 1, 1) - P(0, -1, 1) - P(0, 1, -1) + P(0, -1, -1))\n"
    "            + M(6) * (P(1, 0, 1) - P(-1, 0, 1) - P(1, 0, -1) + P(-1, 0, -1))\n"
    "            + M(7) * P(-1, 0, 0) + M(8) * P(0, -1, 0) + M(9) * P(0, 0, -1) + M(10);\n"
    "        change = (s * M(3) - P(0, 0, 0)) * M(11);\n"
    "    }\n"
    "    next[at] = P(0, 0, 0) + OMEGA * change;\n"
    "    error[at] = change * change;\n}\n";
static const char *const texts[] = { text, NULL }, *const constants[] = { "I=65", "J=65", "K=129", "OMEGA=0.8f", NULL };
static const imgpar_cl_source source = { .struct_size = sizeof source, .texts = texts, .constants = constants };
static float c[N_COEFFICIENTS * N], p[N], error[N], want[N], kept[N];

static double step_by_hand(void) /* a = c = boundary = 1, b = work = 0, a3 = 1/6 */
{
    double sum = 0;
    for (int at = 0; at < N; at++) kept[at] = want[at];
    for (int i = 1; i < I - 1; i++)
        for (int j = 1; j < J - 1; j++)
            for (int k = 1; k < K - 1; k++) {
                const float *q = &kept[(i * J + j) * K + k];
                double change = ((double)q[J * K] + q[K] + q[1] + q[-J * K] + q[-K] + q[-1]) / 6 - *q;
                want[(i * J + j) * K + k] = (float)(*q + 0.8 * change);
                sum += change * change;
            }
    return sum;
}

int main(int argc, char **argv)
{
    imgpar_context *ctx = NULL;
    imgpar_cl_queue *queue = NULL;
    imgpar_cl_module *module = NULL;
    imgpar_cl_kernel *kernel = NULL;
    imgpar_cl_buffer *b[4] = { NULL };
    char *profile = NULL;
    double gosa = 0, by_hand = 0;
    const int n_steps = argc > 1 ? atoi(argv[1]) : 8;
    const imgpar_cl_layout volume = imgpar_cl_volume(I, J, K, sizeof(float)),
                           coefficients = imgpar_cl_vector(N_COEFFICIENTS * N, sizeof(float));
    for (int at = 0; at < N; at++) p[at] = want[at] = (float)((at / J / K) * (at / J / K)) / ((I - 1) * (I - 1));
    for (int at = 0; at < N_COEFFICIENTS * N; at++)
        c[at] = at / N == A3 ? 1.0f / 6 : at / N < A3 || (at / N >= C0 && at / N != BOUND - 1);
    int failed = imgpar_context_new(NULL, &ctx) || imgpar_cl_queue_new(ctx, NULL, &queue) ||
        imgpar_cl_module_new(ctx, &source, &module) || imgpar_cl_kernel_new(module, "jacobi", &kernel) ||
        imgpar_cl_buffer_new(ctx, IMGPAR_CL_IN, &coefficients, &b[3]);
    for (int k = 0; !failed && k < 3; k++) failed = imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &volume, &b[k]);
    failed = failed || imgpar_cl_write(queue, b[0], NULL, p, NULL) || imgpar_cl_write(queue, b[3], NULL, c, NULL);
    const size_t max = failed ? 1 : imgpar_context_device(ctx)->max_work_group, group = max < 43 ? 1 : max < K ? 43 : K;
    for (int n = 0; !failed && n < n_steps; n++, by_hand = step_by_hand())
        failed = imgpar_cl_launch(queue, kernel, IMGPAR_CL_WORK(.global = { K, J, I }, .local = { group, 1, 1 }),
            IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b[n % 2]), imgpar_cl_arg_buffer(b[3]),
                imgpar_cl_arg_buffer(b[1 - n % 2]), imgpar_cl_arg_buffer(b[2])),
            NULL);
    failed = failed || imgpar_cl_read(queue, b[2], NULL, error, NULL) || imgpar_cl_profile_text(queue, &profile);
    for (int at = 0; at < N; at++) gosa += error[at];
    failed = failed || !(gosa > 0.999 * by_hand && gosa < 1.001 * by_hand);
    printf("%s\ngosa %g, by hand %g after %d steps\n", failed ? imgpar_cl_message() : profile, gosa, by_hand, n_steps);
    for (int k = 0; k < 4; k++) imgpar_cl_buffer_release(b[k]);
    imgpar_cl_kernel_release(kernel), imgpar_cl_module_release(module), imgpar_cl_queue_release(queue);
    imgpar_context_release(ctx), imgpar_free(profile);
    return failed;
}
