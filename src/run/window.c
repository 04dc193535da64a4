/* SPDX-License-Identifier: MIT */
/*
 * Two threads share a window: the one that decodes, and the one that computes, which owns it. While the first runs it
 * alone uses the reader, and writes memory behind row `filled` without the lock, with `reads` set. The owner moves or
 * replaces memory only with `moves` set and `reads` not: no batch begins then, and none is on its way. Where no thread
 * was started the owner decodes itself, when rows are asked for.
 */
#include "run/window.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "base/thread.h"
#include "base/wait.h"
#include "run/launch.h"

#include <pthread.h>
#include <string.h>

enum {
    ALIGNMENT = 128,         /* of the memory: any device may read there (ip_device_shares()) */
    AHEAD_BYTES = 6 << 20,   /* decoded before they are asked for, at most */
    BATCH_BYTES = 128 << 10, /* decoded between two looks at what is wanted */
    POLL_MS = 20
};

struct ip_window {
    ip_window_of of;
    ip_row_reader *reader; /* NULL: it could not be opened again, as failure says */
    ip_str warnings;       /* the reader's */
    ip_str told;           /* those of the reader that came furthest, */
    int64_t furthest;      /* so many rows */
    char *memory;          /* rows base to filled, and room for `room` of them */
    int64_t room, batch;
    size_t size_bytes; /* of memory */

    pthread_t thread;
    bool is_running;      /* thread is to be joined */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    int64_t base, filled;
    int64_t skipped;          /* rows before are not wanted, so they are not kept */
    bool reads, moves, stops; /* rows are being decoded; memory is to be moved; the thread ends */
    double busy_ms;
    ip_error failure;
};

/* ---- decoding --------------------------------------------------------------------------------------------------- */

/* How many rows may be decoded now, and where to; the lock is held. */
static int64_t next_batch(const ip_window *w, char **to)
{
    const bool skips = w->filled < w->skipped;
    const int64_t last = skips ? w->skipped : ip_min(w->of.end, w->base + w->room);
    *to = skips ? NULL : w->memory + (size_t)(w->filled - w->base) * w->of.row_bytes;
    return ip_clamp(last - w->filled, 0, w->batch);
}

/* Decodes rows; the lock is held, but not meanwhile. */
static void decode_batch(ip_window *w, int64_t n, char *to)
{
    ip_error err = { 0 };
    const double start = ip_now_ms();
    w->reads = true;
    pthread_mutex_unlock(&w->lock);
    ip_row_reader_read(w->reader, n, to, &err);
    pthread_mutex_lock(&w->lock);
    w->reads = false;
    w->busy_ms += ip_now_ms() - start;
    if (err.status) {
        w->failure = err;
    } else {
        w->filled += n;
        if (!to) w->base = w->filled;
    }
    pthread_cond_broadcast(&w->changed);
}

static void *run_thread(void *arg)
{
    ip_window *w = arg;
    char *to;
    pthread_mutex_lock(&w->lock);
    while (!w->stops && !w->failure.status) {
        const int64_t n = w->moves ? 0 : next_batch(w, &to);
        if (n > 0)
            decode_batch(w, n, to);
        else
            pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* The thread is told to stop by the reader's poll, too. */
static bool is_stopped(void *user, double done)
{
    ip_window *w = user;
    (void)done;
    pthread_mutex_lock(&w->lock);
    const bool stops = w->stops;
    pthread_mutex_unlock(&w->lock);
    return stops;
}

static void start_thread(ip_window *w)
{
    w->is_running = ip_thread_start(&w->thread, run_thread, w); /* without it rows wait to be asked for */
}

static void end_thread(ip_window *w)
{
    pthread_mutex_lock(&w->lock);
    w->stops = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->is_running) pthread_join(w->thread, NULL);
    w->is_running = w->stops = false;
    if (w->failure.status == IMGPAR_E_INTERRUPTED) w->failure = (ip_error){ 0 }; /* is_stopped() ended a batch */
}

/* ---- the window ------------------------------------------------------------------------------------------------- */

static imgpar_status open_reader(ip_window *w, ip_error *err)
{
    const ip_source *s = w->of.source;
    const ip_row_input in = { .file = s->kind == IP_SOURCE_FILE ? &s->file : NULL,
                              .bytes = s->data,
                              .n = s->size_bytes,
                              .name = s->name ? s->name : "image" };
    const ip_read_options options = {
        .fail_on = s->fail_on, .shrink = w->of.shrink, .warnings = &w->warnings, .poll = { is_stopped, w }
    };
    imgpar_status st = ip_row_reader_open(&in, &options, &w->reader, err);
    if (st) return st;
    if (ip_row_reader_height(w->reader) == w->of.n_rows && ip_row_reader_row_bytes(w->reader) == w->of.row_bytes)
        return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_IO, "%s changed since it was opened", in.name);
}

static imgpar_status make_room(ip_window *w, int64_t most_rows, ip_error *err)
{
    size_t n;
    w->room = most_rows + ip_max(AHEAD_BYTES / (int64_t)w->of.row_bytes, w->batch);
    w->room = ip_min(w->room, w->of.n_rows);
    if (!ip_mul_size((size_t)w->room, w->of.row_bytes, &n)) return ip_fail_memory(err, "decoding");
    if (!ip_account_take(w->of.account, n))
        return ip_fail(err, IMGPAR_E_DEVICE_MEMORY, "%s: %zu kB for rows of it are above the limit on host memory",
                       w->of.source->name ? w->of.source->name : "image", (n + 1023) >> 10);
    w->memory = ip_alloc_aligned(ALIGNMENT, n);
    w->size_bytes = w->memory ? n : 0;
    if (w->memory) return IMGPAR_OK;
    ip_account_give(w->of.account, n);
    return ip_fail_memory(err, "decoding");
}

static bool make_locks(ip_window *w)
{
    if (pthread_mutex_init(&w->lock, NULL) != 0) return false;
    const bool ok = ip_cond_init(&w->changed);
    if (!ok) pthread_mutex_destroy(&w->lock);
    return ok;
}

imgpar_status ip_window_open(const ip_window_of *of, ip_window **out, ip_error *err)
{
    ip_window *w = *out = ip_zalloc(sizeof *w);
    if (!w || !make_locks(w)) {
        ip_free(w);
        *out = NULL;
        return ip_fail_memory(err, "decoding");
    }
    w->of = *of;
    w->batch = ip_max(BATCH_BYTES / (int64_t)of->row_bytes, 1);
    imgpar_status st = open_reader(w, err);
    if (!st) st = make_room(w, of->most_rows, err);
    if (!st && of->runs_ahead) start_thread(w);
    if (!st) return IMGPAR_OK;
    ip_window_free(w);
    *out = NULL;
    return st;
}

/* No more rows are read with this reader. */
static void end_reader(ip_window *w)
{
    if (!w->failure.status && w->filled == w->of.n_rows)
        ip_row_reader_end(w->reader, &w->failure);
    else if (!w->failure.status)
        ip_row_reader_check(w->reader, &w->failure);
    if (w->filled >= w->furthest) {
        const ip_str before = w->told;
        w->furthest = w->filled;
        w->told = w->warnings;
        w->warnings = before;
    }
    ip_str_clear(&w->warnings);
    ip_row_reader_free(w->reader);
    w->reader = NULL;
}

static imgpar_status tell_failure(const ip_window *w, ip_error *err)
{
    return w->failure.status ? ip_fail(err, w->failure.status, "%s", w->failure.message) : IMGPAR_OK;
}

/* From the first row again. A row that could not be read fails again if it is reached. */
static imgpar_status rewind_reader(ip_window *w, ip_error *err)
{
    end_thread(w);
    const bool has_failed = w->failure.status != IMGPAR_OK;
    end_reader(w);
    if (has_failed) w->failure = (ip_error){ 0 };
    w->base = w->filled = w->skipped = 0;
    if (!w->failure.status) open_reader(w, &w->failure);
    if (!w->failure.status && w->of.runs_ahead) start_thread(w);
    return tell_failure(w, err);
}

/* More rows are wanted together than was said. */
static imgpar_status grow(ip_window *w, int64_t rows, ip_error *err)
{
    char *before = w->memory;
    const int64_t room = w->room;
    const size_t n = w->size_bytes;
    const imgpar_status st = make_room(w, rows, err);
    if (!st) {
        memcpy(w->memory, before, (size_t)(w->filled - w->base) * w->of.row_bytes);
        ip_free(before);
        ip_account_give(w->of.account, n);
        return IMGPAR_OK;
    }
    w->memory = before;
    w->room = room;
    w->size_bytes = n;
    return st;
}

/* Waits a little for the thread; the lock is held, but not while the caller is asked. */
static imgpar_status wait_polled(ip_window *w, ip_error *err)
{
    ip_cond_wait_ms(&w->changed, &w->lock, POLL_MS);
    const double done = (double)w->filled / (double)w->of.n_rows;
    pthread_mutex_unlock(&w->lock);
    const bool stops = w->of.poll.stop && w->of.poll.stop(w->of.poll.user, done);
    pthread_mutex_lock(&w->lock);
    return stops ? ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while reading") : IMGPAR_OK;
}

/* Where the rows that are kept leave too little room for those to come, they move to the front. The lock is held. */
static imgpar_status move_rows(ip_window *w, int64_t y0, int64_t y1, ip_error *err)
{
    const int64_t n = y1 - y0, left = w->base + w->room - w->filled;
    imgpar_status st = IMGPAR_OK;
    if (y0 >= w->filled) w->skipped = y0;
    const bool is_full = y1 > w->base + w->room || n > w->room;
    if (y0 == w->base && !is_full) return IMGPAR_OK;
    if (!is_full && (left >= n || w->filled == w->of.n_rows)) return IMGPAR_OK;
    w->moves = true;
    while (w->reads)
        pthread_cond_wait(&w->changed, &w->lock);
    const int64_t kept = ip_max(w->filled - y0, 0);
    memmove(w->memory, w->memory + (size_t)(w->filled - kept - w->base) * w->of.row_bytes,
            (size_t)kept * w->of.row_bytes);
    w->base = w->filled - kept;
    if (n > w->room) st = grow(w, n, err);
    w->moves = false;
    pthread_cond_broadcast(&w->changed);
    return st;
}

/* The lock is held. */
static imgpar_status wait_for(ip_window *w, int64_t y1, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    while (!st && w->filled < y1 && !w->failure.status) {
        const ip_poll *poll = &w->of.poll;
        if (w->is_running) {
            st = wait_polled(w, err);
            continue;
        }
        char *to;
        const int64_t n = next_batch(w, &to);
        decode_batch(w, to ? ip_min(n, y1 - w->filled) : n, to);
        if (poll->stop && poll->stop(poll->user, (double)w->filled / (double)w->of.n_rows))
            st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while reading");
    }
    return st;
}

imgpar_status ip_window_rows(ip_window *w, int64_t y0, int64_t y1, void **memory, int64_t *first, ip_error *err)
{
    imgpar_status st = y0 < ip_window_first(w) ? rewind_reader(w, err) : IMGPAR_OK;
    if (st) return st;
    pthread_mutex_lock(&w->lock);
    st = move_rows(w, y0, y1, err);
    if (!st) st = wait_for(w, y1, err);
    if (!st && w->filled < y1) st = tell_failure(w, err);
    *memory = w->memory;
    *first = w->base;
    pthread_mutex_unlock(&w->lock);
    return st;
}

imgpar_status ip_window_end(ip_window *w, ip_error *err)
{
    end_thread(w);
    if (w->reader) end_reader(w);
    return tell_failure(w, err);
}

ip_str *ip_window_warnings(ip_window *w) { return &w->told; }

int64_t ip_window_first(ip_window *w)
{
    pthread_mutex_lock(&w->lock);
    const int64_t first = w->base;
    pthread_mutex_unlock(&w->lock);
    return first;
}

double ip_window_busy_ms(const ip_window *w) { return w->busy_ms; }

void ip_window_free(ip_window *w)
{
    if (!w) return;
    end_thread(w);
    ip_row_reader_free(w->reader);
    ip_free(w->memory);
    ip_account_give(w->of.account, w->size_bytes);
    ip_str_free(&w->warnings);
    ip_str_free(&w->told);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    ip_free(w);
}
