/* SPDX-License-Identifier: MIT */
/*
 * A context of libimgpar and the inputs of one workload, resident on its device. Each run builds its graph from
 * text, so no value is left from the run before, and ends when the answers are on the device.
 */
#include "bench.h"

#include <imgpar_cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_ours {
    imgpar_context *ctx;
    imgpar_array *in[BENCH_MAX_IN];
    int n_in;
    imgpar_counters before, after;
};

bench_ours *bench_ours_new(const char *selector, bool fuses)
{
    bench_ours *o = calloc(1, sizeof *o);
    char why[256] = "no memory";
    if (!o || imgpar_context_new(selector, &o->ctx)) {
        if (o) imgpar_context_new_error(why, sizeof why);
        fprintf(stderr, "bench: %s\n", why);
        exit(1);
    }
    o->before.struct_size = o->after.struct_size = sizeof o->before;
    imgpar_context_set(o->ctx, "fuse", fuses ? "1" : "0");
    return o;
}

static void drop_inputs(bench_ours *o)
{
    for (int i = 0; i < o->n_in; i++)
        imgpar_array_release(o->in[i]);
    o->n_in = 0;
}

void bench_ours_release(bench_ours *o)
{
    drop_inputs(o);
    imgpar_context_release(o->ctx);
    free(o);
}

imgpar_context *bench_ours_context(bench_ours *o) { return o->ctx; }
int bench_ours_kernels(const bench_ours *o) { return (int)(o->after.kernels - o->before.kernels); }
uint64_t bench_ours_uploaded(const bench_ours *o) { return o->after.bytes_uploaded - o->before.bytes_uploaded; }

/* Copied, not wrapped: a borrowed picture would stay the host's. */
static imgpar_array *resident(imgpar_context *ctx, const bench_image *p)
{
    int64_t shape[3] = { p->height, p->width, p->channels };
    if (p->height == 1) return imgpar_array_from_data(ctx, p->dtype, 1, &p->width, p->data);
    return imgpar_array_from_data(ctx, p->dtype, p->channels > 1 ? 3 : 2, shape, p->data);
}

bool bench_ours_prepare(bench_ours *o, const bench_row *row, bool is_small, char *message, size_t size)
{
    drop_inputs(o);
    for (int i = 0; i < row->n_in; i++) {
        o->in[o->n_in++] = resident(o->ctx, bench_picture(row->input, i, is_small));
        if (imgpar_array_eval(o->in[i], NULL)) {
            snprintf(message, size, "%s", imgpar_array_message(o->in[i]));
            return false;
        }
    }
    return true;
}

/* The answers' shapes stand in out before anybody computes. Complex numbers are compared as two channels. */
static void note_shape(bench_image *p, const imgpar_info *info)
{
    bool is_complex = info->dtype == IMGPAR_COMPLEX64;
    p->dtype = is_complex ? IMGPAR_F32 : info->dtype;
    p->width = info->width;
    p->height = info->height * info->depth;
    p->channels = is_complex ? 2 * info->channels : info->channels;
}

static void add_kernel(void *sum_ms, const imgpar_event *event)
{
    if (!strcmp(event->kind, "kernel")) *(double *)sum_ms += event->end_ms - event->start_ms;
}

bool bench_ours_run(bench_ours *o, bench_task *task)
{
    const imgpar_options counting = { .struct_size = sizeof counting,
                                      .on_event = add_kernel,
                                      .user = &task->kernels_ms };
    const imgpar_options *options = task->counts_kernels ? &counting : NULL;
    imgpar_array *answers[BENCH_MAX_OUT];
    int n = 0;
    bool is_ok = true;
    imgpar_context_counters(o->ctx, &o->before);
    for (; n < BENCH_MAX_OUT && task->row->ours[n]; n++)
        answers[n] = imgpar_apply(o->ctx, task->row->ours[n], o->in, (size_t)o->n_in);
    task->kernels_ms = 0;
    if (n == 1 ? imgpar_array_eval(answers[0], options) : imgpar_eval(answers, (size_t)n, options)) is_ok = false;
    imgpar_context_counters(o->ctx, &o->after);
    for (int k = 0; k < n; k++) {
        imgpar_info info = { .struct_size = sizeof info };
        if (is_ok && task->is_checked) {
            imgpar_array_info(answers[k], &info);
            note_shape(&task->out[k], &info);
            is_ok = !imgpar_array_read(answers[k], bench_out(task, k, task->out[k].dtype), info.size_bytes);
        }
        if (!is_ok && imgpar_array_status(answers[k]))
            snprintf(task->message, sizeof task->message, "%s", imgpar_array_message(answers[k]));
        imgpar_array_release(answers[k]);
    }
    task->n_out = n;
    return is_ok;
}

bool bench_ours_copy(bench_ours *o, bench_task *task)
{
    const imgpar_cl_layout layout = imgpar_cl_vector((int64_t)task->in[0].size_bytes, 1);
    imgpar_cl_buffer *buffers[2] = { NULL, NULL };
    imgpar_cl_queue *queue = NULL;
    imgpar_cl_event *done = NULL;
    imgpar_cl_times times = { .struct_size = sizeof times };
    imgpar_status st = imgpar_cl_queue_new(o->ctx, NULL, &queue);
    for (int k = 0; k < 2 && !st; k++) {
        st = imgpar_cl_buffer_new(o->ctx, IMGPAR_CL_INOUT, &layout, &buffers[k]);
        if (!st) st = imgpar_cl_fill(queue, buffers[k], NULL, &(unsigned char){ 0 }, NULL);
    }
    if (!st) st = imgpar_cl_copy(queue, buffers[0], NULL, buffers[1], NULL, IMGPAR_CL_ORDER(.event = &done));
    if (!st) st = imgpar_cl_event_times(done, &times);
    task->kernels_ms = (double)(times.ended_ns - times.started_ns) / 1e6;
    imgpar_cl_event_release(done);
    for (int k = 0; k < 2; k++)
        imgpar_cl_buffer_release(buffers[k]);
    imgpar_cl_queue_release(queue);
    return !st;
}
