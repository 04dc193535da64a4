/* SPDX-License-Identifier: MIT */
/*
 * Threads take the inputs in their order, each a file at a time: decoding one overlaps with computing another and
 * encoding a third, and all share one context, so that a program is compiled once. The calling thread tells what
 * happened.
 *
 *     take a file      not more than N_SLOTS after the first that is not told of, so that what is remembered has an end
 *     make it          open, apply, save: the library writes a whole file or none
 *     tell it          the calling thread, in the order of the inputs, whatever was done first
 *
 * Pictures that are made at once share a quarter of the machine's memory: where one more would not fit, it waits for
 * others to be done. A picture that alone is more goes by itself.
 *
 * stop_at is the first file that nobody needs any more: none from there on is begun, those that run are interrupted,
 * and nothing is told of them, be they done or not. A signal, a lost device, and a failure under --stop-on-error lower
 * it. What is before it is finished and told, so that --stop-on-error says the same however the threads went, but for a
 * signal, which interrupts everything.
 */
#include "files.h"

#include "background.h"
#include "output.h"
#include "progress.h"
#include "signals.h"
#include "threads.h"
#include "window.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_THREADS = 16, N_SLOTS = 4 * MAX_THREADS, TICK_MS = 100 };

typedef enum outcome { RUNNING, WRITTEN, SKIPPED, FAILED, STOPPED } outcome;

/* A line to be told of a file. */
typedef struct note {
    struct note *next;
    char text[];
} note;

/* A file that was taken and not told of yet. */
typedef struct slot {
    outcome outcome; /* under the lock */
    note *first, **last;
    char *shown;            /* what a terminal shows as the result, for --show without -o; for free() */
    imgpar_array *windowed; /* or what a window shows */
    char *printed;          /* the result, where that is numbers and goes to standard output; for imgpar_free() */
    uint64_t bytes;         /* of the file */
    double difference;      /* of --verify */
    _Atomic double fraction;
} slot;

typedef struct batch {
    const options *o;
    const imgpar_pipeline *p;
    imgpar_context *ctx;
    const inputs *in;
    pthread_mutex_t lock;
    pthread_cond_t changed;          /* a file is done, or one was told of */
    size_t next, head;               /* the file to be taken, and the first that was not told of; under the lock */
    int n_running;                   /* threads; under the lock */
    uint64_t bytes_made, bytes_room; /* of the pictures that are being made, and what they may be; under the lock */
    atomic_size_t stop_at;
    slot slots[N_SLOTS]; /* of file k: k % N_SLOTS */
    pthread_mutex_t event_lock;
    profile *times;    /* under event_lock */
    double difference; /* the largest of --verify; of the calling thread, as what follows */
    uint64_t n_pending;
    progress bar;
    progress_state done;
} batch;

/* What a thread is at. */
typedef struct worker {
    batch *b;
    slot *slot;
    size_t k;
} worker;

/* No file from k on is needed. */
static void stop_from(batch *b, size_t k)
{
    size_t before = atomic_load(&b->stop_at);
    while (k < before && !atomic_compare_exchange_weak(&b->stop_at, &before, k)) {
    }
}

/* ---- one file, on a thread ------------------------------------------------------------------------- */

/* Without memory the line is lost; that the file failed is not. */
static void add_note(slot *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_note(slot *s, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    note *new = n >= 0 ? malloc(sizeof *new + (size_t)n + 1) : NULL;
    if (new) {
        new->next = NULL;
        vsnprintf(new->text, (size_t)n + 1, format, again);
        *s->last = new;
        s->last = &new->next;
    }
    va_end(again);
    va_end(args);
}

static int poll_file(void *user, double done)
{
    const worker *w = user;
    atomic_store(&w->slot->fraction, done);
    return signals_poll(NULL, done) || w->k >= atomic_load(&w->b->stop_at);
}

static void note_warning(void *user, const char *text) { add_note(((const worker *)user)->slot, "warning: %s", text); }

static void note_event(void *user, const imgpar_event *event)
{
    batch *b = ((const worker *)user)->b;
    pthread_mutex_lock(&b->event_lock);
    profile_add(b->times, event);
    pthread_mutex_unlock(&b->event_lock);
}

static bool is_older(const struct stat *a, const struct stat *b)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec) return a->st_mtim.tv_sec < b->st_mtim.tv_sec;
    return a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

/* Is what would be written there, whole, and not older than the file (which found tells of)? */
static bool is_done_before(const struct stat *found, const char *output)
{
    struct stat made;
    return stat(output, &made) == 0 && S_ISREG(made.st_mode) && !is_older(&made, found) && imgpar_file_is_whole(output);
}

/* Messages about reading a file begin with its name; others get it. */
static bool begins_with_name(const char *message, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(message, name, n) == 0 && (message[n] == ':' || message[n] == ' ');
}

static outcome fail_file(const worker *w, imgpar_status st, const char *message)
{
    const char *path = w->b->in->items[w->k].path, *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (st == IMGPAR_E_INTERRUPTED) return STOPPED;
    if (!message[0]) message = imgpar_status_name(st);
    if (w->b->in->items[w->k].bytes && strncmp(message, "memory: ", 8) == 0) message += 8; /* what was read into it */
    if (begins_with_name(message, name))
        add_note(w->slot, "%s", message);
    else
        add_note(w->slot, "%s: %s", name, message);
    if (st == IMGPAR_E_DEVICE_LOST) stop_from(w->b, w->k + 1); /* the others would fail, too */
    return FAILED;
}

static imgpar_status verify_file(const worker *w, imgpar_array *a, const imgpar_options *options_of_run, bool *is_right)
{
    double difference = 0;
    imgpar_status st = imgpar_array_verify(a, &difference, options_of_run);
    *is_right = difference <= w->b->o->tolerance;
    w->slot->difference = difference;
    if (!st && !*is_right) {
        char text[100];
        snprintf(text, sizeof text, "verify: max difference %g, allowed %g", difference, w->b->o->tolerance);
        fail_file(w, IMGPAR_OK, text);
    }
    return st;
}

/* Waits for room for a picture and its result, and takes it; give_room() gets the bytes back. */
static uint64_t take_room(batch *b, const imgpar_array *picture, const imgpar_array *a)
{
    imgpar_info read = { .struct_size = sizeof read }, made = { .struct_size = sizeof made };
    if (imgpar_array_info(picture, &read) || imgpar_array_info(a, &made)) return 0;
    const uint64_t bytes = (uint64_t)read.size_bytes + made.size_bytes;
    pthread_mutex_lock(&b->lock);
    while (b->bytes_made > 0 && b->bytes_made + bytes > b->bytes_room)
        pthread_cond_wait(&b->changed, &b->lock);
    b->bytes_made += bytes;
    pthread_mutex_unlock(&b->lock);
    return bytes;
}

static void give_room(batch *b, uint64_t bytes)
{
    pthread_mutex_lock(&b->lock);
    b->bytes_made -= bytes;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static outcome show_file(const worker *w, imgpar_array *a, const imgpar_options *options_of_run)
{
    char why[400];
    if (w->b->o->screen.mode == SHOW_WINDOW) { /* the calling thread's, one after the other */
        w->slot->windowed = imgpar_array_retain(a);
        return WRITTEN;
    }
    w->slot->shown = show_picture(a, &w->b->o->screen, options_of_run, why, sizeof why);
    return w->slot->shown ? WRITTEN : fail_file(w, IMGPAR_OK, why);
}

/* Without -o a result is printed, if it is numbers and no picture; one of which there is a report may be. */
static outcome print_file(const worker *w, imgpar_array *a, const imgpar_options *options_of_run)
{
    char why[200] = "";
    if (w->b->o->show) return show_file(w, a, options_of_run);
    if (w->b->o->report && !is_few(a)) {
        imgpar_status st = imgpar_array_eval(a, options_of_run);
        return st ? fail_file(w, st, imgpar_array_message(a)) : WRITTEN;
    }
    imgpar_status st = numbers_as_text(a, options_of_run, &w->slot->printed, why);
    return st ? fail_file(w, st, why[0] ? why : imgpar_array_message(a)) : WRITTEN;
}

static imgpar_options options_for(worker *w)
{
    const options *o = w->b->o;
    return (imgpar_options){ .struct_size = sizeof(imgpar_options),
                             .poll = poll_file,
                             .on_warning = note_warning,
                             .user = w,
                             .on_event = o->profile || o->trace || o->report ? note_event : NULL,
                             .format = o->format,
                             .settings = o->settings };
}

/* Computes a picture that was built, and writes it; what it would be written to is NULL where it is printed. */
static outcome write_file(worker *w, imgpar_array *a, char *output)
{
    const options *o = w->b->o;
    const imgpar_options options_of_run = options_for(w);
    bool is_right = true;
    imgpar_status st = imgpar_array_status(a);
    if (!st && o->verify) st = verify_file(w, a, &options_of_run, &is_right);
    if (!is_right) return FAILED;
    if (!st && !output) return print_file(w, a, &options_of_run);
    if (!st && !make_folders(output)) {
        const char *why = strerror(errno);
        add_note(w->slot, "%s: making its folder: %s", output, why);
        return FAILED;
    }
    if (!st) st = imgpar_save(a, output, &options_of_run);
    return st ? fail_file(w, st, imgpar_array_message(a)) : WRITTEN;
}

static outcome make_file(worker *w)
{
    batch *b = w->b;
    const char *path = b->in->items[w->k].path;
    struct stat found;
    char *output = b->o->output ? inputs_output(b->in, w->k, b->o->output) : NULL;
    if (b->o->output && !output) return fail_file(w, IMGPAR_E_HOST_MEMORY, "out of memory");
    if (b->in->items[w->k].has_no_format) {
        free(output);
        return fail_file(w, IMGPAR_E_ARGUMENT, "its ending, {ext} of -o, tells no format");
    }
    const bool is_file = stat(path, &found) == 0 && S_ISREG(found.st_mode);
    outcome what = SKIPPED;
    w->slot->bytes = is_file ? (uint64_t)found.st_size : 0;
    if (!is_file || !b->o->skips_existing || !is_done_before(&found, output)) {
        imgpar_array *picture = inputs_open(b->in, w->k, b->ctx), *a = imgpar_pipeline_apply(b->p, b->ctx, &picture, 1);
        const uint64_t room = take_room(b, picture, a);
        what = write_file(w, a, output);
        give_room(b, room);
        imgpar_array_release(a);
        imgpar_array_release(picture);
    }
    free(output);
    return what;
}

/* ---- the threads ------------------------------------------------------------------------------------- */

/* Takes the next file; false: there is none. */
static bool take(worker *w)
{
    batch *b = w->b;
    while (b->next < b->in->n && b->next < atomic_load(&b->stop_at)) {
        if (b->next - b->head < N_SLOTS) {
            w->k = b->next++;
            w->slot = &b->slots[w->k % N_SLOTS];
            *w->slot = (slot){ .outcome = RUNNING };
            w->slot->last = &w->slot->first;
            return true;
        }
        pthread_cond_wait(&b->changed, &b->lock);
    }
    return false;
}

static void *work(void *user)
{
    worker w = { .b = user };
    pthread_mutex_lock(&w.b->lock);
    while (take(&w)) {
        pthread_mutex_unlock(&w.b->lock);
        const outcome what = make_file(&w);
        if (what == FAILED && w.b->o->stops_on_error) stop_from(w.b, w.k + 1);
        pthread_mutex_lock(&w.b->lock);
        w.slot->outcome = what;
        pthread_cond_broadcast(&w.b->changed);
    }
    w.b->n_running--;
    pthread_cond_broadcast(&w.b->changed);
    pthread_mutex_unlock(&w.b->lock);
    return NULL;
}

static uint64_t room_for_pictures(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 : (uint64_t)1 << 30;
}

static int threads_for(const inputs *in)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t most = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (size_t)n;
    return (int)(in->n < most ? in->n : most);
}

/* Returns how many were started. */
static int start(batch *b, pthread_t *threads)
{
    int n = 0;
    const int wanted = threads_for(b->in);
    pthread_mutex_lock(&b->lock);
    while (n < wanted && thread_start(&threads[n], work, b))
        n++;
    b->n_running = n;
    pthread_mutex_unlock(&b->lock);
    return n;
}

/* ---- the calling thread ------------------------------------------------------------------------------- */

/* "98.61596  in/a.jpg", as wc does it: sort -n puts files in order. Of one file the number is enough. */
static void print_result(const batch *b, const char *text)
{
    const char *path = b->in->items[b->head].path;
    char *line = b->in->n > 1 ? malloc(strlen(text) + strlen(path) + 3) : NULL;
    if (line) sprintf(line, "%s  %s", text, path);
    say(line ? line : text);
    free(line);
}

static void tell_notes(slot *s, bool is_needed)
{
    for (note *n = s->first, *next; n; n = next) {
        next = n->next;
        if (is_needed) complain("%s", n->text);
        free(n);
    }
    s->first = NULL;
    s->last = &s->first;
}

/* Computes a picture and shows it until it is closed. */
static void show_window(batch *b, slot *s)
{
    char why[400], text[420] = "";
    const char *path = b->in->items[b->head].path;
    worker w = { .b = b, .slot = s, .k = b->head };
    const imgpar_options options_of_run = options_for(&w);
    show_status("");
    imgpar_status st = window_show(s->windowed, path, &options_of_run, why, sizeof why);
    if (st && !begins_with_name(why, path)) snprintf(text, sizeof text, "--show: %s", why);
    if (st) s->outcome = fail_file(&w, st, text[0] ? text : why);
    if (s->outcome == FAILED && b->o->stops_on_error) stop_from(b, b->head + 1);
    tell_notes(s, true);
}

/* Tells of a file that is done, if it is needed. */
static void tell_file(batch *b, slot *s, bool is_needed)
{
    tell_notes(s, is_needed);
    if (s->printed && is_needed) print_result(b, s->printed);
    imgpar_free(s->printed);
    if (s->shown && is_needed) {
        if (b->in->n > 1) say(b->in->items[b->head].path);
        say(s->shown);
    }
    free(s->shown);
    if (s->windowed && is_needed) show_window(b, s);
    imgpar_array_release(s->windowed);
    if (s->outcome == STOPPED || !is_needed) return;
    if (!(s->difference <= b->difference)) b->difference = s->difference; /* a NaN counts */
    b->done.files++;
    b->done.bytes += s->bytes;
    b->done.failed += s->outcome == FAILED;
    b->done.skipped += s->outcome == SKIPPED;
    b->done.skipped_bytes += s->outcome == SKIPPED ? s->bytes : 0;
}

/* What is done, with the fractions of what runs; under the lock. */
static progress_state state_of(batch *b)
{
    progress_state now = b->done;
    double bytes = (double)now.bytes, files = (double)now.files;
    for (size_t k = b->head; k < b->next; k++) {
        slot *s = &b->slots[k % N_SLOTS];
        const double fraction = s->outcome == RUNNING ? atomic_load(&s->fraction) : 1;
        files += fraction;
        if (s->outcome != RUNNING) bytes += (double)s->bytes;
    }
    now.fraction = now.of_bytes ? bytes / (double)now.of_bytes : files / (double)now.of;
    if (now.fraction > 1) now.fraction = 1;
    return now;
}

/* Until the threads have ended and all is told. */
static void attend(batch *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->n_running > 0 || b->head < b->next) {
        slot *s = &b->slots[b->head % N_SLOTS];
        progress_state now = state_of(b);
        const bool has_news = b->head < b->next && s->outcome != RUNNING;
        if (!has_news) threads_wait(&b->changed, &b->lock, TICK_MS);
        if (signals_poll(NULL, 0)) stop_from(b, b->next);
        pthread_mutex_unlock(&b->lock);
        if (has_news) tell_file(b, s, b->head < atomic_load(&b->stop_at)); /* only this thread changes head */
        if (has_news) background_start(b->ctx, &b->n_pending);
        progress_tick(&b->bar, &now);
        pthread_mutex_lock(&b->lock);
        b->head += has_news;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
}

static bool make_locks(batch *b)
{
    const bool has_lock = pthread_mutex_init(&b->lock, NULL) == 0;
    const bool has_events = pthread_mutex_init(&b->event_lock, NULL) == 0;
    const bool ok = has_lock && has_events && threads_init(&b->changed);
    if (!ok && has_lock) pthread_mutex_destroy(&b->lock);
    if (!ok && has_events) pthread_mutex_destroy(&b->event_lock);
    return ok;
}

static int end(const batch *b)
{
    const progress_state *done = &b->done;
    if (b->o->verify) fprintf(stderr, "verify: max difference %g, allowed %g\n", b->difference, b->o->tolerance);
    char failed[60] = "";
    if (done->failed) snprintf(failed, sizeof failed, ", of which %zu failed", done->failed);
    if (signals_seen())
        complain("interrupted after %zu of %zu files%s", done->files, done->of, failed);
    else if (done->files < done->of)
        complain("stopped after %zu of %zu files", done->files, done->of);
    else if (done->failed && done->of > 1)
        complain("%zu of %zu files failed", done->failed, done->of);
    inputs_tell_left_out(b->in, b->o);
    return done->failed || done->files < done->of || b->in->n_unread ? EXIT_FAILED : EXIT_DONE;
}

int files_run(const options *o, const imgpar_pipeline *p, imgpar_context *ctx, const inputs *in, profile *times)
{
    pthread_t threads[MAX_THREADS];
    batch *b = calloc(1, sizeof *b);
    if (!b || !make_locks(b)) {
        complain("out of memory");
        free(b);
        return EXIT_FAILED;
    }
    b->o = o, b->p = p, b->ctx = ctx, b->in = in, b->times = times;
    b->done = (progress_state){ .of = in->n, .of_bytes = in->bytes };
    b->bytes_room = room_for_pictures();
    atomic_init(&b->stop_at, in->n);
    progress_begin(&b->bar, o);
    const int n = start(b, threads);
    if (n == 0)
        complain("no thread can be started");
    else
        attend(b);
    for (int k = 0; k < n; k++)
        pthread_join(threads[k], NULL);
    progress_state last = state_of(b);
    progress_end(&b->bar, &last);
    const int status = end(b);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    pthread_mutex_destroy(&b->event_lock);
    free(b);
    return status;
}
