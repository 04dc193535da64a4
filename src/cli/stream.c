/* SPDX-License-Identifier: MIT */
/*
 * A frame is read, computed and written before the next one is, and those before it are kept that the text reads by
 * frame(-1), frame(-2) and so on. The first frame stands for those before it.
 *
 * Where the results go:
 *
 *     -o -               PNM behind PNM, or Y4M, as the video is, unless --format says otherwise
 *     -o FILE.y4m        a video, which gets its name when it is whole
 *     -o 'f{n:4}.png'    a picture a frame
 *     -o FILE.png        of a video of one frame
 *     --show             a picture a frame in the terminal
 *     neither            a line of numbers a frame
 */
#include "stream.h"

#include "background.h"
#include "output.h"
#include "progress.h"
#include "show.h"
#include "signals.h"
#include "whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum destination { TO_LINES, TO_FILES, TO_ONE_FILE, TO_PICTURES, TO_Y4M } destination;

typedef struct stream {
    const options *o;
    const imgpar_pipeline *p;
    imgpar_context *ctx;
    const inputs *in;
    profile *times;
    video video;
    imgpar_array **frames; /* the one that is made, and those before it */
    size_t n_frames;       /* that the text reads */
    destination to;
    video_writer writer;
    whole_file made;    /* a file of Y4M */
    double difference;  /* the largest of --verify */
    uint64_t n_pending; /* programs that background_start() knows of */
    progress bar;
    progress_state done; /* frames */
} stream;

static bool ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

static bool is_y4m(const options *o, video_kind kind)
{
    if (o->format) return strcmp(o->format, "y4m") == 0;
    return o->output && (ends_with(o->output, ".y4m") || (strcmp(o->output, "-") == 0 && kind == VIDEO_Y4M));
}

/* Is the name of the second output another than that of the first? */
static bool has_names(const options *o, const inputs *in)
{
    char *first = inputs_name(&in->items[0], 1, o->output), *second = inputs_name(&in->items[0], 2, o->output);
    const bool differ = first && second && strcmp(first, second) != 0;
    free(first);
    free(second);
    return differ;
}

static destination destination_of(const options *o, const inputs *in, video_kind kind)
{
    if (!o->output) return TO_LINES;
    if (is_y4m(o, kind)) return TO_Y4M;
    if (strcmp(o->output, "-") == 0) return TO_PICTURES;
    return has_names(o, in) ? TO_FILES : TO_ONE_FILE;
}

int stream_check(const options *o, inputs *in, video_kind kind)
{
    if (o->skips_existing) {
        complain("--skip-existing goes with files, not with a video");
        return EXIT_USAGE;
    }
    const bool is_video = is_y4m(o, kind);
    if (is_video && o->settings) {
        complain("--save: Y4M has no settings; --matrix tells its colours");
        return EXIT_USAGE;
    }
    if (o->output && strcmp(o->output, "-") == 0 && !o->format && !is_video) return check_settings_of("pnm", o);
    if (!o->output || (strcmp(o->output, "-") == 0 && is_video)) return EXIT_DONE;
    const int status = inputs_check(in, o, !is_video, NULL);
    if (status || !is_video) return status;
    if (has_names(o, in))
        complain("-o %s: a video is one file, and has no {n}", o->output);
    else if (imgpar_path_format(o->output))
        complain("-o %s and --format=y4m contradict each other", o->output);
    else
        return EXIT_DONE;
    return EXIT_USAGE;
}

/* ---- what the library calls ---------------------------------------------------------------------- */

static void on_event(void *user, const imgpar_event *event) { profile_add(((const stream *)user)->times, event); }

static void on_warning(void *user, const char *text)
{
    const stream *s = user;
    if (s->done.frames == 0) complain("warning: %s", text); /* of the others it would be the same */
}

/* ---- one frame -------------------------------------------------------------------------------------- */

static imgpar_status fail_frame_number(const stream *s, uint64_t frame, imgpar_status st, const char *message)
{
    if (st != IMGPAR_E_INTERRUPTED)
        complain("%s: frame %llu: %s", s->video.name, (unsigned long long)frame,
                 message[0] ? message : imgpar_status_name(st));
    return st;
}

static imgpar_status fail_frame(const stream *s, imgpar_status st, const char *message)
{
    return fail_frame_number(s, s->done.frames + 1, st, message);
}

/* What the writer of Y4M says, of one of the frames before this one, maybe. */
static imgpar_status fail_writing(const stream *s)
{
    const video_writer *w = &s->writer;
    return fail_frame_number(s, w->frame, w->why[0] ? IMGPAR_E_IO : IMGPAR_E_INTERRUPTED, w->why);
}

static imgpar_status verify(stream *s, imgpar_array *a, const imgpar_options *options_of_run)
{
    double difference = 0;
    char text[100];
    imgpar_status st = imgpar_array_verify(a, &difference, options_of_run);
    if (st) return fail_frame(s, st, imgpar_array_message(a));
    if (!(difference <= s->difference)) s->difference = difference; /* a NaN counts */
    if (difference <= s->o->tolerance) return IMGPAR_OK;
    snprintf(text, sizeof text, "verify: max difference %g, allowed %g", difference, s->o->tolerance);
    return fail_frame(s, IMGPAR_E_CHECK, text);
}

static imgpar_status print_frame(const stream *s, imgpar_array *a, const imgpar_options *options_of_run)
{
    char why[200] = "", *text = NULL;
    imgpar_status st = numbers_as_text(a, options_of_run, &text, why);
    if (!st) say(text);
    imgpar_free(text);
    return st ? fail_frame(s, st, why[0] ? why : imgpar_array_message(a)) : st;
}

static imgpar_status show_frame(const stream *s, imgpar_array *a, const imgpar_options *options_of_run)
{
    char why[400], *text = show_picture(a, &s->o->screen, options_of_run, why, sizeof why);
    if (!text) return fail_frame(s, IMGPAR_E_ARGUMENT, why);
    say(text);
    free(text);
    return IMGPAR_OK;
}

static imgpar_status write_result(stream *s, imgpar_array *a, imgpar_options *options_of_run)
{
    imgpar_status st = IMGPAR_OK;
    switch (s->to) {
    case TO_LINES: return s->o->show ? show_frame(s, a, options_of_run) : print_frame(s, a, options_of_run);
    case TO_Y4M: return video_write(&s->writer, s->ctx, a, options_of_run) ? IMGPAR_OK : fail_writing(s);
    case TO_PICTURES:
        if (!options_of_run->format) options_of_run->format = "pnm";
        st = imgpar_save(a, "-", options_of_run);
        return st ? fail_frame(s, st, imgpar_array_message(a)) : st;
    case TO_FILES:
    case TO_ONE_FILE: break;
    }
    char *path = inputs_name(&s->in->items[0], s->done.frames + 1, s->o->output);
    if (!path || !make_folders(path)) {
        st = fail_frame(s, IMGPAR_E_IO, path ? strerror(errno) : "out of memory");
    } else {
        st = imgpar_save(a, path, options_of_run);
        if (st) fail_frame(s, st, imgpar_array_message(a));
    }
    free(path);
    return st;
}

static imgpar_status make_frame(stream *s)
{
    const options *o = s->o;
    imgpar_options options_of_run = { .struct_size = sizeof options_of_run,
                                      .poll = signals_poll,
                                      .on_warning = on_warning,
                                      .on_event = o->profile || o->trace ? on_event : NULL,
                                      .user = s,
                                      .format = s->to == TO_Y4M ? NULL : o->format,
                                      .settings = s->to == TO_Y4M ? NULL : o->settings };
    imgpar_array *a = imgpar_pipeline_apply_frames(s->p, s->ctx, s->frames, s->n_frames);
    imgpar_status st = imgpar_array_status(a);
    if (st)
        fail_frame(s, st, imgpar_array_message(a));
    else if (o->verify)
        st = verify(s, a, &options_of_run);
    if (!st) st = write_result(s, a, &options_of_run);
    imgpar_array_release(a);
    return st;
}

/* The newest frame, before those that were there; the first one everywhere. Takes it over. */
static void push_frame(stream *s, imgpar_array *frame)
{
    imgpar_array_release(s->frames[s->n_frames - 1]);
    for (size_t k = s->n_frames - 1; k > 0; k--)
        s->frames[k] = s->frames[k - 1];
    s->frames[0] = frame;
    for (size_t k = 1; k < s->n_frames; k++)
        if (!s->frames[k]) s->frames[k] = imgpar_array_retain(frame);
}

/* ---- all of them -------------------------------------------------------------------------------------- */

/* Of a picture that has one name there may not be a second: which is known before the first is written. */
static imgpar_status check_single(stream *s)
{
    imgpar_array *second = NULL;
    const int more = s->to == TO_ONE_FILE ? video_next(&s->video, s->ctx, &second) : 0;
    imgpar_array_release(second);
    if (more == 0) return IMGPAR_OK;
    if (more < 0 && !signals_seen())
        complain("%s", s->video.why);
    else if (more > 0)
        complain("%s has more than one picture: -o 'out{n}.png' names each, -o - writes one behind another",
                 s->video.name);
    return IMGPAR_E_IO;
}

static bool open_output(stream *s)
{
    FILE *file = stdout;
    if (s->to != TO_Y4M) return true;
    if (strcmp(s->o->output, "-") != 0) {
        char *path = inputs_name(&s->in->items[0], 1, s->o->output);
        file = path && make_folders(path) ? whole_open(&s->made, path) : NULL;
        if (!file) complain("%s: %s", s->o->output, strerror(errno));
        free(path);
        if (!file) return false;
    }
    video_writer_begin(&s->writer, file, &s->video, s->o->matrix);
    return true;
}

/* The video gets its name, or, where it is not whole, goes. */
static bool close_output(stream *s, bool is_whole)
{
    const bool is_written = video_writer_end(&s->writer, is_whole);
    if (!is_written) fail_writing(s);
    const bool ok = whole_close(&s->made, is_whole && is_written);
    if (!ok) complain("%s: %s", s->o->output, strerror(errno));
    return ok && is_written;
}

static bool explain(stream *s)
{
    imgpar_array *a = imgpar_pipeline_apply_frames(s->p, s->ctx, s->frames, s->n_frames);
    const int status = explain_arrays(&a, 1, s->o->explain);
    imgpar_array_release(a);
    return status == EXIT_DONE;
}

/* Every frame; false after saying why not. */
static bool make_all(stream *s)
{
    imgpar_array *frame;
    int more;
    while ((more = video_next(&s->video, s->ctx, &frame)) > 0) {
        push_frame(s, frame);
        if (s->o->explain) return explain(s);
        if (s->done.frames == 0 && check_single(s)) return false;
        if (make_frame(s)) return false;
        s->done.frames++;
        background_start(s->ctx, &s->n_pending); /* what is interpreted now is compiled for later frames */
        progress_tick(&s->bar, &s->done);
        if (s->to == TO_ONE_FILE) return true;
        if (signals_poll(NULL, 0)) return false;
    }
    if (more < 0 && !signals_seen())
        complain("%s", s->video.why);
    else if (more == 0 && s->done.frames == 0)
        complain("%s has no frame", s->video.name);
    return more == 0 && s->done.frames > 0;
}

int stream_run(const options *o, const imgpar_pipeline *p, size_t n_frames, imgpar_context *ctx, const inputs *in,
               FILE *file, profile *times)
{
    const char *path = in->items[0].path;
    stream s = { .o = o, .p = p, .ctx = ctx, .in = in, .times = times, .n_frames = n_frames };
    bool ok = video_open(&s.video, file, strcmp(path, "-") == 0 ? "standard input" : path, o->matrix);
    if (!ok) complain("%s", s.video.why);
    s.to = destination_of(o, in, s.video.kind);
    s.frames = calloc(n_frames, sizeof *s.frames);
    if (ok && !s.frames) complain("out of memory");
    ok = ok && s.frames && (o->explain || open_output(&s));
    progress_begin(&s.bar, o);
    ok = ok && make_all(&s);
    progress_end(&s.bar, &s.done);
    ok = close_output(&s, ok) && ok;
    if (o->verify) fprintf(stderr, "verify: max difference %g, allowed %g\n", s.difference, o->tolerance);
    if (signals_seen()) complain("interrupted after %zu frames", s.done.frames);
    for (size_t k = 0; s.frames && k < n_frames; k++)
        imgpar_array_release(s.frames[k]);
    free(s.frames);
    video_close(&s.video);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
