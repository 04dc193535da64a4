/* SPDX-License-Identifier: MIT */
/*
 * How many times as long as kernels the reference interpreter takes, for pipelines of 2 megapixels:
 *
 *     make bench-ref; make bench-ref BENCH="blur median"
 *
 * Both run by turns; the least time of each counts, what compiling takes is not in it. Exit status 1: the geometric
 * mean of the ratios is above its bar.
 */
#include <imgpar.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 1732, HEIGHT = 1155, CHANNELS = 3, TURNS = 15 };
static const double bar = 8;

static const struct {
    const char *name, *text;
} rows[] = {
    { "invert", "invert($1)" },
    { "blur", "blur($1, 2)" },
    { "boxblur", "boxblur($1, 5)" },
    { "median", "median($1, 3)" },
    { "resize", "resize($1, 866, 577)" },
    { "rotate", "rotate($1, 30)" },
    { "sobel", "sobel($1)" },
    { "blend", "blend($1, flip($1), 0.3)" },
    { "gamma", "gamma($1, 2.2)" },
    { "unsharp", "unsharp($1)" },
    { "threshold", "threshold(gray($1), 100)" },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* A context with the picture. */
typedef struct contender {
    imgpar_context *ctx;
    imgpar_array *picture;
} contender;

static void stop(const char *message)
{
    fprintf(stderr, "bench-ref: %s\n", message);
    exit(2);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void start(contender *c, const char *device)
{
    static uint8_t pixels[HEIGHT][WIDTH][CHANNELS];
    const int64_t shape[3] = { HEIGHT, WIDTH, CHANNELS };
    uint32_t state = 1;
    for (size_t k = 0; k < sizeof pixels; k++)
        ((uint8_t *)pixels)[k] = (uint8_t)(k / 97 + ((state = state * 1664525 + 1013904223) >> 28));
    if (imgpar_context_new(device, &c->ctx)) stop("there is no such device");
    c->picture = imgpar_array_from_data(c->ctx, IMGPAR_U8, 3, shape, pixels);
    if (imgpar_array_eval(c->picture, NULL)) stop(imgpar_array_message(c->picture));
}

static void end(contender *c)
{
    imgpar_array_release(c->picture);
    imgpar_context_release(c->ctx);
}

static double time_once(contender *c, const char *text)
{
    imgpar_pipeline *p;
    if (imgpar_pipeline_parse("bench", text, NULL, &p)) stop(imgpar_pipeline_message(p));
    imgpar_array *result = imgpar_pipeline_apply(p, c->ctx, &c->picture, 1);
    const double begin = now_ms();
    if (imgpar_array_eval(result, NULL)) stop(imgpar_array_message(result));
    const double took = now_ms() - begin;
    imgpar_array_release(result);
    imgpar_pipeline_release(p);
    return took;
}

static bool is_asked_for(const char *name, int argc, char **argv)
{
    bool found = argc < 2;
    for (int k = 1; k < argc; k++)
        found = found || strcmp(argv[k], name) == 0;
    return found;
}

int main(int argc, char **argv)
{
    contender kernels, ref;
    double logarithms = 0;
    int n = 0;
    start(&kernels, NULL);
    start(&ref, "ref");
    printf("%-12s %10s %12s %7s\n", "pipeline", "kernels ms", "interpreter", "ratio");
    for (int k = 0; k < N_ROWS; k++) {
        double least = INFINITY, least_ref = INFINITY;
        if (!is_asked_for(rows[k].name, argc, argv)) continue;
        for (int turn = 0; turn < TURNS; turn++) {
            least = fmin(least, time_once(&kernels, rows[k].text));
            least_ref = fmin(least_ref, time_once(&ref, rows[k].text));
        }
        printf("%-12s %10.2f %12.2f %7.1f\n", rows[k].name, least, least_ref, least_ref / least);
        fflush(stdout);
        logarithms += log(least_ref / least);
        n++;
    }
    const double mean = exp(logarithms / (n ? n : 1));
    printf("geometric mean of the ratios: %.1f, at most %.0f\n", mean, bar);
    end(&ref);
    end(&kernels);
    return mean > bar;
}
