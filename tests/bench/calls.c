/* SPDX-License-Identifier: MIT */
/*
 * What a call takes beyond its kernels: pictures of three sizes, which are resident, by imgpar_apply() of a text and by
 * a pipeline that is parsed once. Of each evaluation the time that the device says its kernels took is subtracted, and
 * then, for each of them, what OpenCL takes to launch a written kernel that reads and writes as many bytes: caches are
 * as cold after that. The least of many evaluations counts: what else the machine does only adds.
 */
#include "bench.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SIZES = 3, TURNS_A_REPETITION = 100, MOST_TURNS = 2000, WARM_UP = 5 };
static const double most_by_text = 60, most_by_pipeline = 20; /* us */

static const struct {
    const char *name;
    int64_t width, height;
} sizes[N_SIZES] = { { "64x64", 64, 64 }, { "512x512", 512, 512 }, { "1080p", 1920, 1080 } };

static const char *const usual[] = { "boxblur-3", "blur-2-u8", "median-3", "sobel-gray", "gray", "unsharp-mask" };

typedef struct call {
    imgpar_context *ctx;
    const bench_row *row;
    imgpar_array *in;
    imgpar_pipeline *pipeline; /* NULL: the text itself */
    double kernels_us;         /* of the last evaluation */
    int n_kernels;
} call;

typedef struct least {
    double total_us, beyond_us;
    int n_kernels;
} least;

/* The middle of the workload's picture. */
static bench_image cut(const bench_image *from, int64_t width, int64_t height)
{
    bench_image p = *from;
    const size_t pixel = (size_t)from->channels * imgpar_dtype_size(from->dtype);
    const int64_t x0 = (from->width - width) / 2, y0 = (from->height - height) / 2;
    p.width = width;
    p.height = height;
    p.size_bytes = (size_t)(width * height) * pixel;
    p.data = bench_alloc(p.size_bytes);
    for (int64_t y = 0; y < height; y++)
        memcpy((char *)p.data + (size_t)(y * width) * pixel,
               (char *)from->data + (size_t)((y + y0) * from->width + x0) * pixel, (size_t)width * pixel);
    return p;
}

static void add_kernel(void *user, const imgpar_event *event)
{
    call *c = user;
    if (strcmp(event->kind, "kernel")) return;
    c->kernels_us += 1e3 * (event->end_ms - event->start_ms);
    c->n_kernels++;
}

/* One evaluation; false: it failed, which is said. */
static bool evaluate(call *c, double *us)
{
    const imgpar_options options = { .struct_size = sizeof options, .on_event = add_kernel, .user = c };
    bench_clock clock;
    c->kernels_us = 0;
    c->n_kernels = 0;
    bench_clock_start(&clock, false);
    imgpar_array *answer = c->pipeline ? imgpar_pipeline_apply(c->pipeline, c->ctx, &c->in, 1)
                                       : imgpar_apply(c->ctx, c->row->ours[0], &c->in, 1);
    const bool is_ok = !imgpar_array_eval(answer, &options);
    if (!is_ok) fprintf(stderr, "bench: %s: %s\n", c->row->name, imgpar_array_message(answer));
    imgpar_array_release(answer);
    *us = 1e3 * bench_clock_ms(&clock);
    return is_ok;
}

static bool measure(call *c, int turns, double launch_us, least *out)
{
    *out = (least){ 0, 0, 0 };
    for (int turn = -WARM_UP; turn < turns; turn++) {
        double us;
        if (!evaluate(c, &us)) return false;
        const double beyond_us = us - c->kernels_us - c->n_kernels * launch_us;
        if (turn <= 0 || us < out->total_us) out->total_us = us;
        if (turn <= 0 || beyond_us < out->beyond_us) out->beyond_us = beyond_us;
        out->n_kernels = c->n_kernels;
    }
    return true;
}

/* Of OpenCV's call; below 0: it has none, or fails. */
static double measure_opencv(const bench_row *row, const bench_image *picture, int turns)
{
    const bench_run run = bench_opencv(row);
    bench_task task = { .row = row, .in = { *picture }, .n_in = 1, .out = { *picture }, .n_out = 1 };
    double best = -1;
    task.out[0].data = NULL;
    if (row->work == BENCH_TO_GRAY) task.out[0].channels = 1;
    for (int turn = 0; run && turn < turns; turn++) {
        bench_clock clock;
        bench_clock_start(&clock, false);
        const bool is_ok = run(&task);
        const double us = 1e3 * bench_clock_ms(&clock);
        if (!is_ok) break;
        if (best < 0 || us < best) best = us;
    }
    bench_task_clear(&task);
    return best;
}

static bool measure_row(imgpar_context *ctx, const bench_row *row, int turns)
{
    call by_text = { .ctx = ctx, .row = row };
    bool is_ok = true;
    if (imgpar_pipeline_parse(row->name, row->ours[0], NULL, &by_text.pipeline)) {
        fprintf(stderr, "bench: %s: %s\n", row->name, imgpar_pipeline_message(by_text.pipeline));
        is_ok = false;
    }
    imgpar_pipeline *const pipeline = by_text.pipeline;
    by_text.pipeline = NULL;
    for (int k = 0; is_ok && k < N_SIZES; k++) {
        bench_image picture = cut(bench_picture(row->input, 0, false), sizes[k].width, sizes[k].height);
        const int64_t shape[3] = { picture.height, picture.width, picture.channels };
        const double launch_us = bench_launch_us(picture.size_bytes);
        least text, parsed;
        by_text.in = imgpar_array_from_data(ctx, picture.dtype, picture.channels > 1 ? 3 : 2, shape, picture.data);
        call by_pipeline = by_text;
        by_pipeline.pipeline = pipeline;
        is_ok = !imgpar_array_eval(by_text.in, NULL) && measure(&by_text, turns, launch_us, &text) &&
                measure(&by_pipeline, turns, launch_us, &parsed);
        const double opencv_us = is_ok ? measure_opencv(row, &picture, turns) : -1;
        if (is_ok) {
            printf("%-16s %-8s %8d %9.1f %9.1f %9.1f %9.1f %9.1f", row->name, sizes[k].name, text.n_kernels, launch_us,
                   text.total_us, text.beyond_us, parsed.total_us, parsed.beyond_us);
            if (opencv_us >= 0) printf(" %9.1f", opencv_us);
            printf("%s\n",
                   text.beyond_us > most_by_text || parsed.beyond_us > most_by_pipeline ? "  above the bar" : "");
        }
        imgpar_array_release(by_text.in);
        free(picture.data);
    }
    imgpar_pipeline_release(pipeline);
    return is_ok;
}

static bool is_wanted(const bench_row *row, char **patterns, int n_patterns)
{
    bool is_one = false;
    for (int k = 0; n_patterns == 0 && k < (int)(sizeof usual / sizeof *usual); k++)
        is_one |= !strcmp(row->name, usual[k]);
    for (int k = 0; k < n_patterns; k++)
        is_one |= !fnmatch(patterns[k], row->name, 0);
    const bench_image *p = is_one && row->n_in == 1 && !row->ours[1] ? bench_picture(row->input, 0, false) : NULL;
    return p && p->width >= sizes[N_SIZES - 1].width && p->height >= sizes[N_SIZES - 1].height;
}

int bench_calls(const bench_options *options, char **patterns, int n_patterns)
{
    bench_ours *ours = bench_ours_new(options->device, true);
    const int wanted = options->repetitions * TURNS_A_REPETITION, turns = wanted < MOST_TURNS ? wanted : MOST_TURNS;
    bool is_ok = true;
    printf("us; beyond: without kernels and their launches, at most %g by text, %g by a pipeline\n", most_by_text,
           most_by_pipeline);
    printf("%-16s %-8s %8s %9s %9s %9s %9s %9s %9s\n", "call", "picture", "launches", "launch", "text", "beyond",
           "pipeline", "beyond", "OpenCV");
    for (int i = 0; is_ok && i < bench_n_rows; i++)
        if (is_wanted(&bench_rows[i], patterns, n_patterns))
            is_ok = measure_row(bench_ours_context(ours), &bench_rows[i], turns);
    bench_ours_release(ours);
    return is_ok ? 0 : 1;
}
