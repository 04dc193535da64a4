/* SPDX-License-Identifier: MIT */
/*
 * From text to done. What is wrong with the text is found before a device or
 * any file but the pipeline's own is opened (exit 2); everything later is exit 1.
 */
#include "run.h"
#include "output.h"
#include "profile.h"
#include "signals.h"
#include "tune.h"

#include <errno.h>
#include <imgpar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_BYTES = (1 << 20) + 1 }; /* one more than the library takes, so that it says so */

/* ---- what the library calls ------------------------------------------------------------------- */

static void on_event(void *user, const imgpar_event *event)
{
    profile_add(user, event);
}

static void on_warning(void *user, const char *text)
{
    (void)user;
    complain("warning: %s", text);
}

static void print_line(void *user, const char *line)
{
    (void)user;
    say(line);
}

static int exit_of(imgpar_status st)
{
    if (st == IMGPAR_E_SYNTAX) return EXIT_USAGE;
    return st == IMGPAR_OK ? EXIT_DONE : EXIT_FAILED;
}

/* ---- text ------------------------------------------------------------------------------------- */

/* The whole of path, terminated, for free(); NULL after saying why. */
static char *read_text(const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    char *text = malloc(TEXT_MAX_BYTES + 1);
    size_t n = file && text ? fread(text, 1, TEXT_MAX_BYTES, file) : 0;
    int error = !file || ferror(file) ? errno : !text ? ENOMEM : 0;
    if (file && !is_stdin) fclose(file);
    if (error) {
        complain("%s: %s", is_stdin ? "standard input" : path, strerror(error));
        free(text);
        return NULL;
    }
    text[n] = '\0';
    if (strlen(text) == n) return text;
    complain("%s: a pipeline is text, this has a zero byte", path);
    free(text);
    return NULL;
}

static bool is_image(const char *path)
{
    imgpar_probe probe = { .struct_size = sizeof probe };
    return imgpar_path_format(path) && imgpar_probe_file(path, &probe, NULL, 0) == IMGPAR_OK;
}

/* The folder a path lies in, for free(); NULL: the current one (or no memory). */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return NULL;
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* "NAME=VALUE" to the pipeline. */
static int set_params(imgpar_pipeline *p, const options *o)
{
    for (int i = 0; i < o->n_settings; i++) {
        const char *equals = strchr(o->settings[i], '=');
        char *name = strndup(o->settings[i], (size_t)(equals - o->settings[i]));
        imgpar_status st = name ? imgpar_pipeline_set(p, name, equals + 1) : IMGPAR_E_HOST_MEMORY;
        free(name);
        if (!st) continue;
        complain("%s", st == IMGPAR_E_HOST_MEMORY ? "out of memory" : imgpar_pipeline_message(p));
        return st == IMGPAR_E_SYNTAX ? EXIT_USAGE : EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Does the text end with an expression? Then, and only then, nothing can follow it. */
static bool ends_with_expression(const char *text)
{
    size_t n = strlen(text);
    char *longer = malloc(n + 3);
    imgpar_pipeline *p = NULL;
    if (!longer) return true;
    memcpy(longer, text, n);
    memcpy(longer + n, "\n0", 3);
    bool ends = imgpar_pipeline_parse("-e", longer, NULL, &p) != IMGPAR_OK;
    imgpar_pipeline_release(p);
    free(longer);
    return ends;
}

/* Does -o with --format tell what to write? Where it does not, that is said before anything is read. */
static int check_output(const options *o)
{
    char as_path[32];
    if (!o->output) return EXIT_DONE;
    snprintf(as_path, sizeof as_path, "x.%s", o->format ? o->format : "");
    const char *format = imgpar_path_format(as_path), *ending = imgpar_path_format(o->output);
    if (format && ending && strcmp(format, ending) != 0)
        complain("-o %s and --format=%s contradict each other", o->output, o->format);
    else if (format || ending)
        return EXIT_DONE;
    else if (strcmp(o->output, "-") == 0)
        complain("-o - needs a format: --format=png, jpeg, npy or pnm");
    else
        complain("-o %s: its ending tells no format; .png .jpg .npy .pnm .ppm .pgm .pam do, or --format", o->output);
    return EXIT_USAGE;
}

/* Parses, sets, checks: all that needs no device. */
static int prepare(const options *o, imgpar_pipeline **p)
{
    if (check_output(o)) return EXIT_USAGE;
    if (!o->expression && is_image(o->file)) {
        complain("%s is an image, not a pipeline: -e 'blur(open(\"%s\"))' -o out.png", o->file, o->file);
        return EXIT_USAGE;
    }
    char *read = o->expression ? NULL : read_text(o->file);
    if (!o->expression && !read) return EXIT_FAILED;
    const char *text = o->expression ? o->expression : read;
    char *folder = o->expression || strcmp(o->file, "-") == 0 ? NULL : folder_of(o->file);
    const char *name = o->expression ? "-e" : strcmp(o->file, "-") == 0 ? "standard input" : o->file;
    imgpar_status st = imgpar_pipeline_parse(name, text, folder, p);
    int status = EXIT_DONE;
    if (!st) status = set_params(*p, o);
    if (!st && !status) st = imgpar_pipeline_check(*p);
    if (st) {
        complain("%s", imgpar_pipeline_message(*p));
        status = st == IMGPAR_E_SYNTAX ? EXIT_USAGE : EXIT_FAILED;
    } else if (!status && o->output && !ends_with_expression(text)) {
        complain("-o needs -e to end with an expression");
        status = EXIT_USAGE;
    }
    free(folder);
    free(read);
    return status;
}

/* ---- with a device ------------------------------------------------------------------------------ */

static int open_context(const options *o, imgpar_context **ctx)
{
    imgpar_status st = imgpar_context_new(o->device, ctx);
    if (st) {
        char why[500];
        imgpar_context_new_error(why, sizeof why);
        complain("%s", why);
        return st == IMGPAR_E_ARGUMENT ? EXIT_USAGE : EXIT_FAILED; /* badly written, or not there */
    }
    if (imgpar_context_notice(*ctx)) complain("%s", imgpar_context_notice(*ctx));
    if (o->schedule) st = imgpar_context_set(*ctx, "schedule", o->schedule);
    if (!st && o->no_fuse) st = imgpar_context_set(*ctx, "fuse", "0");
    if (st) complain("--schedule: %s", imgpar_status_name(st));
    if (!st && o->mem_limit && (st = imgpar_context_set(*ctx, "mem_limit", o->mem_limit))) {
        complain("--mem-limit=%s: %s", o->mem_limit, imgpar_setting_expected("mem_limit"));
        return EXIT_USAGE;
    }
    if (!st && o->max_pixels && (st = imgpar_context_set(*ctx, "max_pixels", o->max_pixels))) {
        complain("--max-pixels=%s: %s", o->max_pixels, imgpar_setting_expected("max_pixels"));
        return EXIT_USAGE;
    }
    if (!st && o->placement && (st = imgpar_context_set(*ctx, "placement", o->placement))) {
        complain("--placement=%s: %s", o->placement, imgpar_setting_expected("placement"));
        return EXIT_USAGE;
    }
    return st ? EXIT_FAILED : EXIT_DONE;
}

static int explain(imgpar_array **arrays, size_t n, const char *format)
{
    char *text = NULL;
    imgpar_status st = imgpar_explain(arrays, n, format, &text);
    for (size_t i = 0; st && i < n; i++)
        if (imgpar_array_status(arrays[i])) {
            complain("%s", imgpar_array_message(arrays[i]));
            return EXIT_FAILED;
        }
    if (!st && text[0] && text[strlen(text) - 1] == '\n') text[strlen(text) - 1] = '\0'; /* say() ends the line */
    if (st) complain("--explain: %s", imgpar_status_name(st));
    else say(text);
    imgpar_free(text);
    return exit_of(st);
}

static int verify(imgpar_array **arrays, size_t n, double tolerance, const imgpar_options *options_of_run)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = 0;
        imgpar_status st = imgpar_array_verify(arrays[i], &difference, options_of_run);
        if (st) {
            complain("%s", imgpar_array_message(arrays[i]));
            return exit_of(st);
        }
        if (!(difference <= largest)) largest = difference; /* a NaN counts */
    }
    fprintf(stderr, "verify: max difference %g, allowed %g\n", largest, tolerance);
    return largest <= tolerance ? EXIT_DONE : EXIT_FAILED;
}

static int save(imgpar_array *a, const options *o, const imgpar_options *options_of_run)
{
    imgpar_options with_format = *options_of_run;
    with_format.format = o->format;
    imgpar_status st = imgpar_save(a, o->output, &with_format);
    if (st) complain("%s", imgpar_array_message(a));
    return exit_of(st);
}

/* What works on the graph: --explain, --verify, -o. *done: nothing is left to run. */
static int run_graph(const options *o, imgpar_pipeline *p, imgpar_context *ctx, const imgpar_options *options_of_run,
                     bool *done)
{
    imgpar_array **arrays;
    size_t n;
    imgpar_status st = imgpar_pipeline_build(p, ctx, &arrays, &n);
    int status = exit_of(st);
    *done = o->explain || o->output;
    if (st) complain("%s", imgpar_pipeline_message(p));
    else if (o->explain) status = explain(arrays, n, o->explain);
    else if (o->verify) status = verify(arrays, n, o->tolerance, options_of_run);
    if (!status && o->output && !o->explain) status = save(arrays[n - 1], o, options_of_run);
    for (size_t i = 0; i < n; i++)
        imgpar_array_release(arrays[i]);
    imgpar_free(arrays);
    return status;
}

static int run_with(const options *o, imgpar_pipeline *p, imgpar_context *ctx)
{
    profile times = { 0 };
    imgpar_options options_of_run = { .struct_size = sizeof options_of_run, .poll = signals_poll,
                                      .on_warning = on_warning, .user = &times, .format = o->format };
    if (o->tunes) return tune(p, ctx, &options_of_run);
    if (o->profile || o->trace) options_of_run.on_event = on_event;
    bool done = false;
    int status = EXIT_DONE;
    if (o->explain || o->verify || o->output) status = run_graph(o, p, ctx, &options_of_run, &done);
    if (!status && !done) {
        imgpar_status st = imgpar_pipeline_run(p, ctx, print_line, NULL, &options_of_run);
        if (st) complain("%s", imgpar_pipeline_message(p));
        status = exit_of(st);
    }
    if (o->profile) profile_print(&times, ctx, o->profile == PROFILE_JSON);
    int traced = o->trace ? profile_trace(&times, o->trace) : EXIT_DONE;
    profile_free(&times);
    return status ? status : traced;
}

int run(const options *o)
{
    imgpar_pipeline *p = NULL;
    imgpar_context *ctx = NULL;
    int status = prepare(o, &p);
    if (!status) status = open_context(o, &ctx);
    if (!status) status = run_with(o, p, ctx);
    imgpar_context_release(ctx);
    imgpar_pipeline_release(p);
    return status;
}
