/* SPDX-License-Identifier: MIT */
/*
 * From text to done. What is wrong with the text is found before a device or
 * any file but the pipeline's own and a video is opened (exit 2); everything
 * later is exit 1.
 */
#include "run.h"
#include "background.h"
#include "files.h"
#include "inputs.h"
#include "output.h"
#include "profile.h"
#include "progress.h"
#include "report.h"
#include "show.h"
#include "signals.h"
#include "stream.h"
#include "tune.h"
#include "window.h"

#include <errno.h>
#include <imgpar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = (1 << 20) + 1 }; /* one more than the library takes, so that it says so */

/* ---- what the library calls ------------------------------------------------------------------- */

/* Where what the library tells of one pipeline goes. */
typedef struct listener {
    profile *times;
    progress bar;
    double fraction; /* the last that was told */
    FILE *printed;   /* what is printed is kept here, too, unless NULL */
} listener;

static int on_poll(void *user, double done)
{
    listener *l = user;
    l->fraction = done;
    progress_tick(&l->bar, &(progress_state){ .fraction = done });
    return signals_poll(NULL, done);
}

static void on_event(void *user, const imgpar_event *event) { profile_add(((const listener *)user)->times, event); }

static void on_warning(void *user, const char *text)
{
    (void)user;
    complain("warning: %s", text);
}

static void print_line(void *user, const char *line)
{
    const listener *l = user;
    say(line);
    if (l->printed) fprintf(l->printed, "%s\n", line);
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
        complain("%s: %s%s", is_stdin ? "standard input" : path, strerror(error),
                 strchr(path, '(') ? "; -e evaluates an expression" : "");
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

/* Where a text is, and what it is called in messages. */
typedef struct text_source {
    const char *name, *text;
    char *read, *folder;
} text_source;

/* What is run: a pipeline, and the files that it is run for, if any are given. */
typedef struct job {
    const options *o;
    text_source source;
    imgpar_pipeline *p;
    inputs in;
    bool has_files;   /* are any given, or to be listed? Then there is a text for all of them */
    video_kind video; /* what the only one is, if it is a video */
    FILE *frames;     /* which is read from here; of a file it is ours to close */
    size_t n_frames;  /* that the text reads at once */
    char **settings;  /* NAME=VALUE, room for all words */
    int n_settings;
    named_files named; /* for --report */
} job;

/* "NAME=VALUE" to the pipeline. */
static int set_params(const job *j)
{
    for (int i = 0; i < j->n_settings; i++) {
        const char *equals = strchr(j->settings[i], '=');
        char *name = strndup(j->settings[i], (size_t)(equals - j->settings[i]));
        imgpar_status st = name ? imgpar_pipeline_set(j->p, name, equals + 1) : IMGPAR_E_HOST_MEMORY;
        free(name);
        if (!st) continue;
        complain("%s", st == IMGPAR_E_HOST_MEMORY ? "out of memory" : imgpar_pipeline_message(j->p));
        return st == IMGPAR_E_SYNTAX ? EXIT_USAGE : EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Is a word NAME=VALUE rather than a file? Where no files are taken it is; else the text must declare NAME, but what is
 * no file either was meant so. */
static bool is_setting(const job *j, const char *word)
{
    const size_t n = setting_name_length(word);
    if (!takes_files(j->o)) return true;
    for (size_t k = 0; n > 0 && imgpar_pipeline_param(j->p, k); k++)
        if (strlen(imgpar_pipeline_param(j->p, k)) == n && memcmp(imgpar_pipeline_param(j->p, k), word, n) == 0)
            return true;
    return n > 0 && strcspn(word, "/.") > n && access(word, F_OK) != 0;
}

static int sort_words(job *j)
{
    const options *o = j->o;
    j->settings = malloc(((size_t)o->n_words + 1) * sizeof *j->settings);
    if (!j->settings) {
        complain("out of memory");
        return EXIT_FAILED;
    }
    for (int i = 0; i < o->n_words; i++)
        if (is_setting(j, o->words[i])) j->settings[j->n_settings++] = o->words[i];
    if (check_given_once(j->settings, j->n_settings)) return EXIT_USAGE;
    j->has_files = o->listed || j->n_settings < o->n_words;
    if (j->has_files && o->tunes) {
        complain("--tune and files do not go together: --tune only measures; open() one of them");
        return EXIT_USAGE;
    }
    if (j->has_files && o->show && o->output) {
        complain("--show and -o do not go together for files: one shows them, the other writes them");
        return EXIT_USAGE;
    }
    if (j->has_files || !(o->recursive || o->skips_existing || o->stops_on_error)) return EXIT_DONE;
    complain("no files are given: imgpar-run -e 'blur($1, 2)' in/*.jpg -o 'out/{name}.jpg'");
    return EXIT_USAGE;
}

/* The only word that is no setting; NULL: there is none, or several. */
static const char *only_file(const job *j)
{
    const char *only = NULL;
    for (int i = 0; i < j->o->n_words; i++) {
        if (is_setting(j, j->o->words[i])) continue;
        if (only) return NULL;
        only = j->o->words[i];
    }
    return j->o->listed || j->o->recursive ? NULL : only;
}

/* A file that is named *.y4m, and standard input that begins like Y4M or PNM, is a video. */
static int find_video(job *j)
{
    const char *path = only_file(j);
    if (!path || !is_video_name(path)) return EXIT_DONE;
    const bool is_stdin = strcmp(path, "-") == 0;
    if (is_stdin && j->o->file && strcmp(j->o->file, "-") == 0) return EXIT_DONE; /* the text: gather() says so */
    j->frames = is_stdin ? stdin : fopen(path, "rb");
    if (!j->frames) {
        complain("%s: %s", path, strerror(errno));
        return EXIT_FAILED;
    }
    j->video = is_stdin ? video_kind_of(j->frames) : VIDEO_Y4M;
    return EXIT_DONE;
}

/* Does another PNG begin where the first one ends? */
static bool has_another_png(const unsigned char *bytes, size_t n)
{
    static const unsigned char signature[8] = { 137, 'P', 'N', 'G', '\r', '\n', 26, '\n' };
    enum { AROUND = 12 }; /* a chunk's length, name and checksum */
    if (n < sizeof signature || memcmp(bytes, signature, sizeof signature) != 0) return false;
    for (size_t at = sizeof signature; n - at >= AROUND + sizeof signature;) {
        const unsigned char *chunk = bytes + at;
        const size_t length = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (length > n - at - AROUND) return false; /* cut off: the decoder says so */
        at += length + AROUND;
        if (memcmp(chunk + 4, "IEND", 4) == 0)
            return n - at >= sizeof signature && memcmp(bytes + at, signature, sizeof signature) == 0;
    }
    return false;
}

/* What standard input has, where it is no video but was looked at. */
static int read_standard_input(const job *j, input *item)
{
    size_t capacity = 0;
    for (;;) {
        if (item->n_bytes == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            void *bytes = realloc(item->bytes, capacity);
            if (!bytes) {
                complain("standard input: out of memory");
                return EXIT_FAILED;
            }
            item->bytes = bytes;
        }
        const size_t n = fread((char *)item->bytes + item->n_bytes, 1, capacity - item->n_bytes, j->frames);
        item->n_bytes += n;
        if (n > 0) continue;
        if (ferror(j->frames))
            complain("standard input: %s", strerror(errno));
        else if (has_another_png(item->bytes, item->n_bytes))
            complain("standard input: several PNGs; frames behind one another are read of PNM and Y4M");
        else
            return EXIT_DONE;
        return EXIT_FAILED;
    }
}

static int fail_memory(void)
{
    complain("out of memory");
    return EXIT_FAILED;
}

/* What the text may read and write. Paths in settings are relative to the current folder, whatever the text's is. */
static bool name_files_of_text(job *j)
{
    bool ok = named_add_strings(&j->named, j->source.text, j->source.folder);
    for (int k = 0; k < j->n_settings && ok; k++)
        ok = named_add(&j->named, strchr(j->settings[k], '=') + 1);
    return ok;
}

/* What the run may. */
static bool name_files(job *j)
{
    const options *o = j->o;
    const char *names[] = { o->output, o->file, o->trace, j->has_files ? j->in.items[0].path : NULL };
    bool ok = name_files_of_text(j);
    for (size_t k = 0; k < sizeof names / sizeof *names && ok; k++)
        ok = named_add(&j->named, names[k]);
    return ok;
}

/* The files, in the order of the command line; those that are listed follow. */
static int gather(job *j)
{
    const options *o = j->o;
    int status = EXIT_DONE, n_stdin = o->listed + (o->file && strcmp(o->file, "-") == 0);
    for (int i = 0; i < o->n_words && !status; i++) {
        if (is_setting(j, o->words[i])) continue;
        status = inputs_add(&j->in, o, o->words[i]);
        n_stdin += strcmp(o->words[i], "-") == 0;
    }
    if (!status && n_stdin > 1) {
        complain("standard input can be read once");
        status = EXIT_USAGE;
    }
    if (!status && o->listed) status = inputs_add_listed(&j->in, o);
    if (!status && j->in.n == 0 && j->in.has_folders) return EXIT_USAGE;
    if (!status && j->in.n == 0) {
        complain("there is no file to read");
        inputs_tell_left_out(&j->in, o);
        status = EXIT_FAILED;
    }
    if (!status && o->report &&
        (j->video || o->recursive || o->listed || j->in.n != 1 || strcmp(j->in.items[0].path, "-") == 0)) {
        complain("--report is of one picture; of several files, a video or standard input there is none");
        status = EXIT_USAGE;
    }
    if (status) return status;
    if (j->video) return stream_check(o, &j->in, j->video);
    /* of several files a later one would be computed with what an earlier one gave */
    const bool has_later = o->output && j->in.n > 1;
    if (has_later && !name_files_of_text(j)) return fail_memory();
    status = inputs_check(&j->in, o, true, has_later ? &j->named : NULL);
    return !status && j->frames ? read_standard_input(j, &j->in.items[0]) : status;
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

static int find_text(const options *o, text_source *t)
{
    *t = (text_source){ .name = "-e", .text = o->expression };
    if (o->expression) return EXIT_DONE;
    if (is_image(o->file)) {
        complain("%s is an image, not a pipeline: -e 'blur(open(\"%s\"))' -o out.png", o->file, o->file);
        return EXIT_USAGE;
    }
    const bool is_stdin = strcmp(o->file, "-") == 0;
    t->text = t->read = read_text(o->file);
    t->folder = is_stdin ? NULL : folder_of(o->file);
    t->name = is_stdin ? "standard input" : o->file;
    return t->read ? EXIT_DONE : EXIT_FAILED;
}

/* What is wrong with the text itself, with the params as they are set. */
static int check_text(job *j, const char *text)
{
    imgpar_status st = j->video       ? imgpar_pipeline_check_frames(j->p, &j->n_frames)
                       : j->has_files ? imgpar_pipeline_check_apply(j->p, 1)
                                      : imgpar_pipeline_check(j->p);
    if (st) {
        const char *message = imgpar_pipeline_message(j->p);
        complain("%s", message);
        if (j->has_files && strstr(message, ": only 1 argument is given"))
            complain("of several files the text is run once for each, as $1; another one is open(\"FILE\")");
        return exit_of(st);
    }
    if (j->has_files || !(j->o->output || j->o->show) || ends_with_expression(text)) return EXIT_DONE;
    complain("%s needs -e to end with an expression", j->o->output ? "-o" : "--show");
    return EXIT_USAGE;
}

/* Parses, sorts, sets, checks: all that needs no device. */
static int prepare(job *j)
{
    const options *o = j->o;
    text_source *t = &j->source;
    const bool may_have_files = o->listed || o->n_words > 0;
    if (o->output && !may_have_files && check_format(o->output, o)) return EXIT_USAGE;
    int status = find_text(o, t);
    imgpar_status st = status ? IMGPAR_OK : imgpar_pipeline_parse(t->name, t->text, t->folder, &j->p);
    if (st) {
        complain("%s", imgpar_pipeline_message(j->p));
        status = exit_of(st);
    }
    if (!status) status = sort_words(j);
    if (!status && o->output && !j->has_files) status = check_format(o->output, o);
    if (!status) status = set_params(j);
    if (!status) status = find_video(j);
    if (!status) status = check_text(j, t->text);
    if (!status && j->has_files) status = gather(j);
    if (!status && o->report) status = name_files(j) ? report_check(o, &j->named) : fail_memory();
    return status;
}

/* ---- with a device ------------------------------------------------------------------------------ */

/* What is verified and measured are kernels. Else auto, where neither command nor environment says otherwise. */
static imgpar_status set_tier(const options *o, imgpar_context *ctx)
{
    const char *from_environment = getenv("IMGPAR_TIER");
    if (o->verify || o->tunes) return imgpar_context_set(ctx, "tier", "kernels");
    if (o->tier) return imgpar_context_set(ctx, "tier", o->tier);
    return from_environment && *from_environment ? IMGPAR_OK : imgpar_context_set(ctx, "tier", "auto");
}

/* Of each device, and of the host with what a CPU takes as a device. */
static imgpar_status set_memory(const options *o, imgpar_context *ctx)
{
    const imgpar_status st = imgpar_context_set(ctx, "mem_limit", o->mem_limit);
    return st ? st : imgpar_context_set(ctx, "host_limit", o->mem_limit);
}

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
    if (!st && (st = set_tier(o, *ctx))) complain("--tier: %s", imgpar_status_name(st));
    if (!st && o->mem_limit && (st = set_memory(o, *ctx))) {
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
    with_format.settings = o->settings;
    imgpar_status st = imgpar_save(a, o->output, &with_format);
    if (st) complain("%s", imgpar_array_message(a));
    return exit_of(st);
}

static int show(imgpar_array *a, const options *o, const imgpar_options *options_of_run)
{
    char why[400];
    if (o->screen.mode == SHOW_WINDOW) {
        imgpar_status st = window_show(a, o->expression, options_of_run, why, sizeof why);
        if (st && st != IMGPAR_E_INTERRUPTED) complain("--show: %s", why);
        return exit_of(st);
    }
    char *text = show_picture(a, &o->screen, options_of_run, why, sizeof why);
    if (text)
        say(text);
    else
        complain("%s", why);
    free(text);
    return text ? EXIT_DONE : EXIT_FAILED;
}

/* A picture that goes nowhere but into a report: the last of the arrays; what is smaller is printed. */
static bool is_for_report(const job *j, imgpar_array *const *arrays, size_t n)
{
    const options *o = j->o;
    if (!o->report || o->output || o->show || n == 0) return false;
    return !is_few(arrays[n - 1]) && ends_with_expression(j->source.text);
}

static int compute(imgpar_array *a, const imgpar_options *options_of_run)
{
    imgpar_status st = imgpar_array_eval(a, options_of_run);
    if (st) complain("%s", imgpar_array_message(a));
    return exit_of(st);
}

/* What works on the graph: --explain, --verify, and whether a report has a picture that goes nowhere else. */
static int look_at_graph(const job *j, imgpar_context *ctx, const imgpar_options *options_of_run, bool *is_reported)
{
    const options *o = j->o;
    imgpar_array **arrays;
    size_t n;
    imgpar_status st = imgpar_pipeline_build(j->p, ctx, &arrays, &n);
    int status = exit_of(st);
    if (st)
        complain("%s", imgpar_pipeline_message(j->p));
    else if (o->explain)
        status = explain_arrays(arrays, n, o->explain);
    else if (o->verify)
        status = verify(arrays, n, o->tolerance, options_of_run);
    *is_reported = !st && is_for_report(j, arrays, n);
    for (size_t i = 0; i < n; i++)
        imgpar_array_release(arrays[i]);
    imgpar_free(arrays);
    return status;
}

/* Runs the statements; the expression that the text ends in goes to a file, to a screen, or into a report only. */
static int run_to_result(const job *j, imgpar_context *ctx, const imgpar_options *options_of_run, listener *l)
{
    const options *o = j->o;
    imgpar_array *a = NULL;
    imgpar_status st = imgpar_pipeline_run_result(j->p, ctx, print_line, l, options_of_run, &a);
    int status = exit_of(st);
    if (st)
        complain("%s", imgpar_pipeline_message(j->p));
    else if (!o->output && !o->show)
        status = compute(a, options_of_run);
    if (!status && o->output) status = save(a, o, options_of_run);
    if (!status && o->show) status = show(a, o, options_of_run);
    imgpar_array_release(a);
    return status;
}

/* What would be computed for the first file. */
static int explain_file(const job *j, imgpar_context *ctx)
{
    imgpar_array *picture = inputs_open(&j->in, 0, ctx), *a = imgpar_pipeline_apply(j->p, ctx, &picture, 1);
    int status = explain_arrays(&a, 1, j->o->explain);
    imgpar_array_release(a);
    imgpar_array_release(picture);
    return status;
}

static int run_pipeline(const job *j, imgpar_context *ctx, profile *times, FILE *printed)
{
    const options *o = j->o;
    listener l = { .times = times, .printed = printed };
    imgpar_options options_of_run = {
        .struct_size = sizeof options_of_run, .poll = on_poll, .on_warning = on_warning, .user = &l, .format = o->format
    };
    if (o->tunes) { /* which listens to the library itself */
        options_of_run.poll = signals_poll;
        return tune(j->p, ctx, &options_of_run);
    }
    if (o->profile || o->trace || o->report) options_of_run.on_event = on_event;
    bool is_reported = false;
    int status = EXIT_DONE;
    progress_begin(&l.bar, o);
    if (o->explain || o->verify || (o->report && !o->output && !o->show))
        status = look_at_graph(j, ctx, &options_of_run, &is_reported);
    if (!status && !o->explain && (o->output || o->show || is_reported)) {
        status = run_to_result(j, ctx, &options_of_run, &l);
    } else if (!status && !o->explain) {
        imgpar_status st = imgpar_pipeline_run(j->p, ctx, print_line, &l, &options_of_run);
        if (st) complain("%s", imgpar_pipeline_message(j->p));
        status = exit_of(st);
    }
    progress_end(&l.bar, &(progress_state){ .fraction = status ? l.fraction : 1 });
    return status;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* When the command began, had a device, and was done; of the monotonic clock. */
typedef struct moments {
    double began_ms, opened_ms, done_ms;
} moments;

static int report(const job *j, imgpar_context *ctx, const profile *times, const char *printed, const moments *at)
{
    char *path = j->has_files ? realpath(j->in.items[0].path, NULL) : NULL;
    const report_run of = { .name = j->source.name,
                            .text = j->source.text,
                            .folder = j->source.folder,
                            .input = path,
                            .settings = j->settings,
                            .n_settings = j->n_settings,
                            .named = &j->named,
                            .printed = printed,
                            .times = times,
                            .wall_ms = at->done_ms - at->began_ms,
                            .opening_ms = at->opened_ms - at->began_ms };
    int status = EXIT_FAILED;
    if (j->has_files && !path)
        complain("%s: %s", j->in.items[0].path, strerror(errno));
    else
        status = report_write(j->o->report, &of, ctx);
    free(path);
    return status;
}

static int run_with(const job *j, imgpar_context *ctx, moments *at)
{
    const options *o = j->o;
    profile times = { .merges = j->has_files && !o->trace && !o->report };
    char *printed = NULL;
    size_t n_printed = 0;
    FILE *keeps = o->report ? open_memstream(&printed, &n_printed) : NULL;
    int status;
    if (!j->has_files)
        status = run_pipeline(j, ctx, &times, keeps);
    else if (j->video)
        status = stream_run(o, j->p, j->n_frames, ctx, &j->in, j->frames, &times);
    else if (o->explain)
        status = explain_file(j, ctx);
    else
        status = files_run(o, j->p, ctx, &j->in, &times);
    at->done_ms = now_ms();
    if (keeps) fclose(keeps);
    if (o->profile) profile_print(&times, ctx, o->profile == PROFILE_JSON);
    int traced = o->trace ? profile_trace(&times, o->trace) : EXIT_DONE;
    if (o->report && !status) status = report(j, ctx, &times, printed, at);
    free(printed);
    profile_free(&times);
    return status ? status : traced;
}

int run(const options *given)
{
    moments at = { .began_ms = now_ms() };
    options o = *given; /* with the screen */
    job j = { .o = &o };
    imgpar_context *ctx = NULL;
    int status = prepare(&j);
    if (!status && o.show) status = show_choose(o.show, &o.screen);
    if (!status) status = open_context(&o, &ctx);
    at.opened_ms = now_ms();
    if (!status) status = run_with(&j, ctx, &at);
    if (ctx && !j.has_files) background_start(ctx, &(uint64_t){ 0 });
    imgpar_context_release(ctx);
    imgpar_pipeline_release(j.p);
    if (j.frames && j.frames != stdin) fclose(j.frames);
    inputs_free(&j.in);
    named_free(&j.named);
    free(j.settings);
    free(j.source.folder);
    free(j.source.read);
    return status;
}

int compile_pending(void)
{
    imgpar_status st = imgpar_compile_pending(NULL);
    if (st) complain("--compile-pending: %s", imgpar_status_name(st));
    return exit_of(st);
}
