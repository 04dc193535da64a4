/* SPDX-License-Identifier: MIT */
/*
 * One setting after the other, each with the best of those before it. A value is chosen over the one that was there if
 * it is faster by more than chance is.
 */
#include "tune.h"
#include "options.h"
#include "output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPETITIONS = 5 };
static const double least_gain = 0.03, hopeless = 3; /* of the best time: whatever takes longer is not measured again */

/* The first value of each is the one that a context has where nothing was kept. */
static const struct setting {
    const char *name, *values[6];
} settings[] = {
    { "schedule", { "auto", "rows", "tiles", "texture", "pixels" } },
    { "vector_bytes", { "64", "32", "16" } },
    { "strip_bytes", { "24K", "12K", "48K", "192K", "1M" } },
    { "stream_bytes", { "8M", "2M", "32M", "1G" } },
    { "max_stages", { "32", "8", "4", "2", "1" } },
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

typedef struct measuring {
    imgpar_pipeline *pipeline;
    imgpar_context *ctx;
    imgpar_options options;
    double kernels_ms;
} measuring;

static void add_kernel(void *user, const imgpar_event *event)
{
    measuring *m = user;
    if (strcmp(event->kind, "kernel") == 0) m->kernels_ms += event->end_ms - event->start_ms;
}

/* The least time that the pipeline's kernels took, of some runs after one that compiles, to be compared with the best
 * so far; negative after saying why. */
static double measure(measuring *m, double best_ms)
{
    double least = INFINITY;
    for (int k = 0; k <= REPETITIONS && !(k > 1 && least > hopeless * best_ms); k++) {
        imgpar_array **arrays;
        size_t n;
        m->kernels_ms = 0;
        imgpar_status st = imgpar_pipeline_build(m->pipeline, m->ctx, &arrays, &n);
        if (st)
            complain("%s", imgpar_pipeline_message(m->pipeline));
        else if ((st = imgpar_eval(arrays, n, &m->options)))
            for (size_t i = 0; i < n; i++)
                if (imgpar_array_status(arrays[i])) complain("%s", imgpar_array_message(arrays[i]));
        for (size_t i = 0; i < n; i++)
            imgpar_array_release(arrays[i]);
        imgpar_free(arrays);
        if (st) return -1;
        if (k > 0 && m->kernels_ms < least) least = m->kernels_ms;
    }
    return least;
}

static int cannot_set(const char *name, const char *value, imgpar_status st)
{
    complain("--tune: %s %s cannot be set: %s", name, value, imgpar_status_name(st));
    return EXIT_FAILED;
}

/* Leaves the best value of a setting in ctx. */
static int tune_setting(measuring *m, const struct setting *s)
{
    const char *best = s->values[0];
    double best_ms = INFINITY;
    for (int k = 0; k < 6 && s->values[k]; k++) {
        char line[80];
        imgpar_status st = imgpar_context_set(m->ctx, s->name, s->values[k]);
        if (st) return cannot_set(s->name, s->values[k], st);
        const double ms = measure(m, best_ms);
        if (ms < 0) return EXIT_FAILED;
        snprintf(line, sizeof line, "%s %s: %.3f ms", s->name, s->values[k], ms);
        say(line);
        if (ms < best_ms * (1 - least_gain) || k == 0) {
            best = s->values[k];
            best_ms = ms;
        }
    }
    const imgpar_status st = imgpar_context_set(m->ctx, s->name, best);
    return st ? cannot_set(s->name, best, st) : EXIT_DONE;
}

int tune(imgpar_pipeline *p, imgpar_context *ctx, const imgpar_options *options_of_run)
{
    measuring m = { .pipeline = p, .ctx = ctx, .options = *options_of_run };
    m.options.on_event = add_kernel;
    m.options.user = &m;
    if (strcmp(imgpar_context_device(ctx)->kind, "ref") == 0) {
        complain("--tune: there is no OpenCL device to tune for");
        return EXIT_FAILED;
    }
    for (int k = 0; k < N_SETTINGS; k++)
        if (tune_setting(&m, &settings[k])) return EXIT_FAILED;
    imgpar_status st = imgpar_context_keep_tuning(ctx);
    if (st) complain("--tune: nothing can be kept (%s); IMGPAR_CACHE_DIR names a folder", imgpar_status_name(st));
    return st ? EXIT_FAILED : EXIT_DONE;
}
