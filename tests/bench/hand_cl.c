/* SPDX-License-Identifier: MIT */
/*
 * Kernels as a person writes them for a CPU's OpenCL: a work-item walks many rows, inner loops are plain. What
 * generated kernels are held against. Results are mapped when they are checked, and stay on the device otherwise.
 */
#include "bench.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <string.h>

static const char *const source =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "__kernel void box3(__global const uchar *restrict in, __global uchar *restrict out, __global ushort *restrict "
    "rows,\n"
    "                   int bytes, int height, int strip)\n"
    "{\n"
    "    __global ushort *restrict sums = rows + get_global_id(0) * (bytes + 64) + 32;\n"
    "    const int first = get_global_id(0) * strip, end = min(first + strip, height);\n"
    "    for (int y = first; y < end; y++) {\n"
    "        __global const uchar *a = in + (long)max(y - 1, 0) * bytes, *b = in + (long)y * bytes;\n"
    "        __global const uchar *c = in + (long)min(y + 1, height - 1) * bytes;\n"
    "        __global uchar *restrict to = out + (long)y * bytes;\n"
    "        _Pragma(\"clang loop vectorize(assume_safety) vectorize_width(32)\")\n"
    "        for (int i = 0; i < bytes; i++) sums[i] = (ushort)((ushort)(a[i] + b[i]) + c[i]);\n"
    "        for (int i = 0; i < 3; i++) sums[i - 3] = sums[i], sums[bytes + i] = sums[bytes - 3 + i];\n"
    "        _Pragma(\"clang loop vectorize(assume_safety) vectorize_width(32)\")\n"
    "        for (int i = 0; i < bytes; i++)\n"
    "            to[i] = (uchar)((uint)(ushort)(sums[i - 3] + sums[i] + sums[i + 3] + 4) * 7282u >> 16);\n"
    "    }\n"
    "}\n"
    "__kernel void maps(__global const float *restrict in, __global float *restrict out, int n, int each)\n"
    "{\n"
    "    const int first = get_global_id(0) * each, end = min(first + each, n);\n"
    "    _Pragma(\"clang loop vectorize(assume_safety) vectorize_width(16)\")\n"
    "    for (int i = first; i < end; i++) {\n"
    "        const float b = fabs(in[i] * 1.25f - 0.5f), d = fabs((b * b + 1.0f) * 0.5f - 3.0f) * 0.75f + 0.125f;\n"
    "        out[i] = d * d;\n"
    "    }\n"
    "}\n"
    /* Ikra's programs. Steps of loops: item k computes elements k each and on. */
    "#define FOR(first, end) _Pragma(\"clang loop vectorize(assume_safety) vectorize_width(16)\") for (int i = first; "
    "i < end; i++)\n"
    "#define STEP(name) __kernel void name(__global const float *restrict in, __global float *restrict out, int n, int "
    "each, int step)\n"
    "#define RANGE const int first = get_global_id(0) * each, end = min(first + each, n)\n"
    "#define INNER const int low = max(first, 1), high = min(end, n - 1)\n"
    "#define THREE(a, b, c) ((((a * 2.0f + 1.0f) + (b * 2.0f + 1.0f)) + (c * 2.0f + 1.0f)) * 0.25f * 0.5f - 1.0f)\n"
    "STEP(ikra2) {\n"
    "    RANGE; INNER;\n"
    "    FOR(low, high) out[i] = THREE(in[i - 1], in[i], in[i + 1]);\n"
    "    if (first == 0) out[0] = THREE(in[0], in[0], in[1]);\n"
    "    if (end == n) out[n - 1] = THREE(in[n - 2], in[n - 1], in[n - 1]);\n"
    "}\n"
    "STEP(ikra3) { RANGE; FOR(first, end) out[i] = in[i] * 0.999f; }\n"
    "STEP(ikra4) {\n"
    "    RANGE; INNER;\n"
    "    FOR(low, high) out[i] = ((in[i - 1] + in[i]) + in[i + 1]) * 0.25f;\n"
    "    if (first == 0) out[0] = ((in[0] + in[0]) + in[1]) * 0.25f;\n"
    "    if (end == n) out[n - 1] = ((in[n - 2] + in[n - 1]) + in[n - 1]) * 0.25f;\n"
    "}\n"
    "#define PLANE (65 * 65)\n"
    "STEP(ikra5) { /* each: planes */\n"
    "    const int from = get_global_id(0) * each, to = min(from + each, 129);\n"
    "    for (int z = from; z < to; z++)\n"
    "        for (int y = 0; y < 65; y++) {\n"
    "            __global const float *restrict p = in + z * PLANE + y * 65;\n"
    "            __global float *restrict q = out + z * PLANE + y * 65;\n"
    "            const bool edge = z == 0 || z == 128 || y == 0 || y == 64;\n"
    "            if (edge) for (int i = 0; i < 65; i++) q[i] = p[i];\n"
    "            if (edge) continue;\n"
    "            q[0] = p[0], q[64] = p[64];\n"
    "            FOR(1, 64) q[i] = p[i] + ((((((p[i + PLANE] + p[i + 65]) + p[i + 1]) + p[i - PLANE]) + p[i - 65]) + "
    "p[i - 1])\n"
    "                                       * 0.1666666716337204f - p[i]) * 0.8f;\n"
    "        }\n"
    "}\n"
    "STEP(ikra6) { RANGE; FOR(first, end) out[i] = fabs(in[i] * 1.25f - 0.5f) * 0.75f + 0.125f; }\n"
    "STEP(ikra7) {\n"
    "    RANGE;\n"
    "    if (step % 2 == 0) FOR(first, end) out[i] = (in[i] * 0.5f + 1.0f) * 0.75f;\n"
    "    else FOR(first, end) out[i] = fabs(in[i] - 0.25f) * 0.75f;\n"
    "}\n";

/* One device, one program; what is set up stays for the life of the process. */
static struct {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    const char *input; /* the picture that is in `in` */
    cl_mem in, out, rows;
    size_t in_bytes, rows_bytes;
} cl;

static cl_device_id find_device(void)
{
    cl_platform_id platforms[8];
    cl_uint n = 0;
    if (clGetPlatformIDs(8, platforms, &n)) return NULL;
    for (cl_uint i = 0; i < n && i < 8; i++) {
        cl_device_id device;
        if (!clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL)) return device;
    }
    return NULL;
}

static bool set_up(void)
{
    static bool was_tried;
    cl_int e = 0;
    if (was_tried) return cl.program;
    was_tried = true;
    cl_device_id device = find_device();
    if (!device || !(cl.context = clCreateContext(NULL, 1, &device, NULL, NULL, &e)) ||
        !(cl.queue = clCreateCommandQueue(cl.context, device, 0, &e)))
        return false;
    const char *text = source;
    cl_program program = clCreateProgramWithSource(cl.context, 1, &text, NULL, &e);
    if (!program || clBuildProgram(program, 1, &device, "", NULL, NULL)) {
        char log[2000] = "";
        if (program) clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "bench: the hand-written kernels do not build: %.*s\n", 1999, log);
        return false;
    }
    cl.program = program;
    return true;
}

static void drop(cl_mem *m)
{
    if (*m) clReleaseMemObject(*m);
    *m = NULL;
}

/* Makes in, out and rows. The input is uploaded once for all runs. */
static bool place(bench_task *t, size_t rows_bytes)
{
    const bench_image *p = &t->in[0];
    cl_int e = 0;
    if (cl.input == p->data && cl.rows_bytes >= rows_bytes) return true;
    drop(&cl.in), drop(&cl.out), drop(&cl.rows);
    cl.input = NULL;
    cl.in = clCreateBuffer(cl.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, p->size_bytes, p->data, &e);
    if (!e) cl.out = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, p->size_bytes, NULL, &e);
    if (!e) cl.rows = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, rows_bytes, NULL, &e);
    cl.in_bytes = p->size_bytes;
    cl.rows_bytes = rows_bytes;
    cl.input = e ? NULL : p->data;
    return !e;
}

static bool finish(bench_task *t, cl_kernel kernel, size_t n_items)
{
    const size_t one = 1;
    cl_int e = clEnqueueNDRangeKernel(cl.queue, kernel, 1, NULL, &n_items, &one, 0, NULL, NULL);
    if (!e) e = clFinish(cl.queue);
    if (!e && t->is_checked)
        e = clEnqueueReadBuffer(cl.queue, cl.out, CL_TRUE, 0, cl.in_bytes, bench_out(t, 0, t->in[0].dtype), 0, NULL,
                                NULL);
    if (e) snprintf(t->message, sizeof t->message, "OpenCL says %d", e);
    clReleaseKernel(kernel);
    return !e;
}

static bool run_box3(bench_task *t)
{
    cl_int e, bytes = (cl_int)(t->in[0].width * 3), height = (cl_int)t->in[0].height, strip = 64;
    size_t n_items = (size_t)((height + strip - 1) / strip);
    if (!place(t, n_items * (size_t)(bytes + 64) * 2)) return false;
    cl_kernel k = clCreateKernel(cl.program, "box3", &e);
    if (e) return false;
    clSetKernelArg(k, 0, sizeof cl.in, &cl.in);
    clSetKernelArg(k, 1, sizeof cl.out, &cl.out);
    clSetKernelArg(k, 2, sizeof cl.rows, &cl.rows);
    clSetKernelArg(k, 3, sizeof bytes, &bytes);
    clSetKernelArg(k, 4, sizeof height, &height);
    clSetKernelArg(k, 5, sizeof strip, &strip);
    return finish(t, k, n_items);
}

static bool run_maps(bench_task *t)
{
    cl_int e, n = (cl_int)t->in[0].width, each = 1 << 20;
    if (!place(t, 64)) return false;
    cl_kernel k = clCreateKernel(cl.program, "maps", &e);
    if (e) return false;
    clSetKernelArg(k, 0, sizeof cl.in, &cl.in);
    clSetKernelArg(k, 1, sizeof cl.out, &cl.out);
    clSetKernelArg(k, 2, sizeof n, &n);
    clSetKernelArg(k, 3, sizeof each, &each);
    return finish(t, k, (size_t)((n + each - 1) / each));
}

/* What Ikra's programs do in a loop: a kernel a step, between two buffers. */
static const struct looped {
    bench_work work;
    const char *kernel;
    int steps;
    bool by_plane;
} loops[] = {
    { BENCH_IKRA_2, "ikra2", 1, false },  { BENCH_IKRA_3, "ikra3", 100, false }, { BENCH_IKRA_4, "ikra4", 100, false },
    { BENCH_IKRA_5, "ikra5", 100, true }, { BENCH_IKRA_6, "ikra6", 100, false }, { BENCH_IKRA_7, "ikra7", 200, false },
};

static const struct looped *loop_of(bench_work work)
{
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++)
        if (loops[k].work == work) return &loops[k];
    return NULL;
}

/* The last step ends in cl.out. */
static bool run_loop(bench_task *t)
{
    const struct looped *loop = loop_of(t->row->work);
    const size_t one = 1;
    cl_int e, n = (cl_int)t->in[0].width, each = loop->by_plane ? 8 : 1 << 20;
    size_t n_items = (size_t)(((loop->by_plane ? 129 : n) + each - 1) / each);
    if (!place(t, t->in[0].size_bytes)) return false;
    cl_kernel k = clCreateKernel(cl.program, loop->kernel, &e);
    if (e) return false;
    clSetKernelArg(k, 2, sizeof n, &n);
    clSetKernelArg(k, 3, sizeof each, &each);
    for (cl_int step = 0; !e && step < loop->steps; step++) {
        bool to_out = (loop->steps - step) % 2 == 1;
        clSetKernelArg(k, 0, sizeof cl.in, step == 0 ? &cl.in : to_out ? &cl.rows : &cl.out);
        clSetKernelArg(k, 1, sizeof cl.out, to_out ? &cl.out : &cl.rows);
        clSetKernelArg(k, 4, sizeof step, &step);
        if (step + 1 == loop->steps) return finish(t, k, n_items);
        e = clEnqueueNDRangeKernel(cl.queue, k, 1, NULL, &n_items, &one, 0, NULL, NULL);
    }
    clReleaseKernel(k);
    return false;
}

bench_run bench_hand_cl(const bench_row *row)
{
    bench_run run = row->work == BENCH_BOX && row->size == 3 ? run_box3
                    : row->work == BENCH_MAPS                ? run_maps
                    : loop_of(row->work)                     ? run_loop
                                                             : NULL;
    return run && set_up() ? run : NULL;
}

/* One launch of maps over n floats of in, and what it took beyond the time that the device says. */
static cl_int launch_maps(cl_command_queue queue, cl_kernel k, cl_int n, double *beyond_us)
{
    const size_t n_items = 8;
    const cl_int each = (n + (cl_int)n_items - 1) / (cl_int)n_items;
    cl_ulong from = 0, to = 0;
    cl_event event = NULL;
    bench_clock clock;
    bench_clock_start(&clock, false);
    cl_int e = clSetKernelArg(k, 2, sizeof n, &n);
    if (!e) e = clSetKernelArg(k, 3, sizeof each, &each);
    if (!e) e = clEnqueueNDRangeKernel(queue, k, 1, NULL, &n_items, &(size_t){ 1 }, 0, NULL, &event);
    if (!e) e = clFinish(queue);
    const double us = 1e3 * bench_clock_ms(&clock);
    if (!e) e = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL);
    if (!e) e = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL);
    if (event) clReleaseEvent(event);
    *beyond_us = us - (double)(to - from) / 1e3;
    return e;
}

double bench_launch_us(size_t bytes)
{
    enum { TURNS = 1000 };
    const cl_int n = (cl_int)(bytes / sizeof(float));
    cl_device_id device = find_device();
    double best = -1;
    cl_int e;
    if (!set_up()) return 0;
    cl_command_queue queue = clCreateCommandQueue(cl.context, device, CL_QUEUE_PROFILING_ENABLE, &e);
    cl_mem in = e ? NULL : clCreateBuffer(cl.context, CL_MEM_READ_WRITE, bytes, NULL, &e);
    cl_mem out = e ? NULL : clCreateBuffer(cl.context, CL_MEM_READ_WRITE, bytes, NULL, &e);
    cl_kernel k = e ? NULL : clCreateKernel(cl.program, "maps", &e);
    if (!e) e = clEnqueueFillBuffer(queue, in, &(float){ 0.5f }, sizeof(float), 0, bytes, 0, NULL, NULL);
    if (!e) e = clSetKernelArg(k, 0, sizeof in, &in);
    if (!e) e = clSetKernelArg(k, 1, sizeof out, &out);
    for (int turn = 0; !e && turn < TURNS; turn++) {
        double us;
        e = launch_maps(queue, k, n, &us);
        if (best < 0 || us < best) best = us;
    }
    if (k) clReleaseKernel(k);
    drop(&in), drop(&out);
    if (queue) clReleaseCommandQueue(queue);
    return e || best < 0 ? 0 : best;
}
