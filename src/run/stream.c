/* SPDX-License-Identifier: MIT */
#include "run/stream.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "base/thread.h"
#include "base/wait.h"
#include "run/progress.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum {
    ALIGNMENT = 128, /* of a strip: any device may write there (ip_device_shares()) */
    POLL_MS = 20,    /* between polls while the encoder is waited for */
    LEAST_SLOTS = 3  /* strips in the ring: one computed, one encoded, one between them */
};

struct ip_stream {
    ip_stream_of of;
    ip_row_taker taker;
    ip_runner runner; /* its poll */
    ip_pixels pixels; /* of->pixels, with rows */
    ip_rows rows;
    ip_file_writer *file;
    size_t n_bytes; /* written */
    ip_looker looker;

    int64_t strip_rows, n_slots;
    size_t row_bytes, slot_bytes;
    size_t counted; /* bytes of memory, and those gathered, in of.account */
    char *memory;   /* row y is in slot y / strip_rows % n_slots */

    pthread_t encoder;
    bool is_running; /* encoder is to be joined */
    double started_ms;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    int64_t n_made, n_done; /* rows computed; rows that the encoder is done with */
    bool stops, has_ended;  /* rows are not told of any more; nothing more is encoded */
    int n_waiting;          /* threads that wait for a row, since idle_since */
    double idle_since, waited_ms, busy_ms;
    ip_error failure; /* of the encoder */
};

/* ---- the encoder's side ------------------------------------------------------------------------------------------ */

static char *place_of(const ip_stream *s, int64_t y)
{
    return s->memory + (size_t)(y / s->strip_rows % s->n_slots) * s->slot_bytes +
           (size_t)(y % s->strip_rows) * s->row_bytes;
}

static const void *wait_for_row(void *user, int64_t y)
{
    ip_stream *s = user;
    pthread_mutex_lock(&s->lock);
    if (s->n_made <= y && !s->stops) {
        if (s->n_waiting++ == 0) s->idle_since = ip_now_ms();
        while (s->n_made <= y && !s->stops)
            pthread_cond_wait(&s->changed, &s->lock);
        if (--s->n_waiting == 0) s->waited_ms += ip_now_ms() - s->idle_since;
    }
    const bool is_there = s->n_made > y && !s->stops;
    pthread_mutex_unlock(&s->lock);
    return is_there ? place_of(s, y) : NULL;
}

/* Whoever computes waits for whole strips. */
static void rows_done(void *user, int64_t y)
{
    ip_stream *s = user;
    pthread_mutex_lock(&s->lock);
    const bool is_news = y / s->strip_rows > s->n_done / s->strip_rows;
    if (y > s->n_done) s->n_done = y;
    if (is_news) pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The encoder gets no more rows. */
static void stop(ip_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->stops = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static imgpar_status count(ip_stream *s, size_t n, ip_error *err)
{
    if (!ip_account_take(s->of.account, n))
        return ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                       "%zu kB are above what is left of the limit on host memory, %llu kB", (n + 1023) >> 10,
                       (unsigned long long)(ip_account_left(s->of.account) >> 10));
    s->counted += n;
    return IMGPAR_OK;
}

static imgpar_status put(void *user, const void *bytes, size_t n, ip_error *err)
{
    ip_stream *s = user;
    s->n_bytes += n;
    imgpar_status st = ip_file_writer_gathers(s->file) ? count(s, n, err) : IMGPAR_OK;
    if (!st) st = ip_file_writer_put(s->file, bytes, n, err);
    if (st) stop(s); /* threads of the encoder may wait for rows */
    return st;
}

static void *run_encoder(void *arg)
{
    ip_stream *s = arg;
    const ip_poll no_poll = { 0 }; /* polls are told on the thread that computes, which stops us */
    ip_error err = { 0 };
    ip_io_encode_to(&s->pixels, s->of.format, s->of.settings, &no_poll, put, s, &err);
    pthread_mutex_lock(&s->lock);
    s->failure = err;
    s->has_ended = true;
    s->busy_ms = ip_now_ms() - s->started_ms - s->waited_ms;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the side that computes ------------------------------------------------------------------------------------- */

/* Waits a little for the encoder; the lock is held, but not while the caller is asked. */
static imgpar_status wait_polled(ip_stream *s, ip_error *err)
{
    const ip_poll *poll = &s->runner.poll;
    ip_cond_wait_ms(&s->changed, &s->lock, POLL_MS);
    pthread_mutex_unlock(&s->lock);
    const bool stops = poll->stop && poll->stop(poll->user, 1);
    pthread_mutex_lock(&s->lock);
    return stops ? ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while encoding %s", ip_format_name(s->of.format))
                 : IMGPAR_OK;
}

static bool start_encoder(ip_stream *s)
{
    s->started_ms = ip_now_ms();
    s->is_running = ip_thread_start(&s->encoder, run_encoder, s);
    return s->is_running;
}

static void let_go(ip_stream *s)
{
    ip_file_writer_free(s->file);
    ip_free(s->memory);
    s->file = NULL;
    s->memory = NULL;
    ip_account_give(s->of.account, s->counted);
    s->counted = 0;
}

static imgpar_status set_up(ip_stream *s, int64_t n_rows, size_t row_bytes, int64_t strip_rows, ip_error *err)
{
    size_t n_held;
    assert(!s->file); /* a stream begins once */
    imgpar_status st = ip_io_rows_held(s->of.pixels, s->of.format, s->of.settings, &n_held, err);
    if (!st) st = ip_file_writer_new(s->of.path, &s->file, err);
    if (st) return st;
    s->rows = (ip_rows){ wait_for_row, rows_done, s, n_rows, row_bytes };
    s->pixels = *s->of.pixels;
    s->pixels.rows = &s->rows;
    s->row_bytes = row_bytes;
    s->strip_rows = strip_rows;
    /* Rows that the encoder holds, in strips that they fill in part at both ends, must leave room for one more. */
    s->n_slots = ip_max(LEAST_SLOTS, ((int64_t)n_held + strip_rows - 1) / strip_rows + 2);
    s->n_slots = ip_min(s->n_slots, (n_rows + strip_rows - 1) / strip_rows);
    s->slot_bytes = ((size_t)strip_rows * row_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t n;
    if (!ip_mul_size((size_t)s->n_slots, s->slot_bytes, &n)) return ip_fail_memory(err, "saving");
    st = count(s, n, err);
    if (st) return st;
    s->memory = ip_alloc_aligned(ALIGNMENT, n);
    if (!s->memory) return ip_fail_memory(err, "saving");
    s->taker.has_begun = start_encoder(s);
    if (!s->taker.has_begun) let_go(s); /* the result is computed whole */
    return IMGPAR_OK;
}

static imgpar_status begin(void *user, int64_t n_rows, size_t row_bytes, int64_t strip_rows, ip_error *err)
{
    ip_stream *s = user;
    s->failure = (ip_error){ 0 }; /* of an attempt that did not fit */
    imgpar_status st = set_up(s, n_rows, row_bytes, strip_rows, &s->failure);
    if (st) let_go(s);
    return st ? ip_fail(err, st, "%s", s->failure.message) : IMGPAR_OK;
}

static imgpar_status place(void *user, int64_t y, void **memory, ip_error *err)
{
    ip_stream *s = user;
    const int64_t first_free = (y / s->strip_rows - s->n_slots + 1) * s->strip_rows;
    imgpar_status st = IMGPAR_OK;
    pthread_mutex_lock(&s->lock);
    while (!st && !s->has_ended && s->n_done < first_free)
        st = wait_polled(s, err);
    if (!st && s->failure.status) st = ip_fail(err, s->failure.status, "%s", s->failure.message);
    pthread_mutex_unlock(&s->lock);
    *memory = place_of(s, y);
    return st;
}

static imgpar_status made(void *user, int64_t y, ip_error *err)
{
    ip_stream *s = user;
    const int64_t begin = (y - 1) / s->strip_rows * s->strip_rows;
    const ip_poll *poll = &s->runner.poll;
    if (s->of.looks) ip_look_at(&s->looker, place_of(s, begin), (size_t)(y - begin) * s->row_bytes);
    pthread_mutex_lock(&s->lock);
    s->n_made = y;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    ip_progress_step(s->of.options, s->of.work * (double)(y - begin) / (double)s->rows.n);
    if (!poll->stop || !poll->stop(poll->user, 1)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while encoding %s", ip_format_name(s->of.format));
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool make_locks(ip_stream *s)
{
    if (pthread_mutex_init(&s->lock, NULL) != 0) return false;
    const bool ok = ip_cond_init(&s->changed);
    if (!ok) pthread_mutex_destroy(&s->lock);
    return ok;
}

imgpar_status ip_stream_new(const ip_stream_of *of, ip_stream **out, ip_error *err)
{
    ip_stream *s = *out = ip_zalloc(sizeof *s);
    if (!s || !make_locks(s)) {
        ip_free(s);
        *out = NULL;
        return ip_fail_memory(err, "saving");
    }
    s->of = *of;
    s->taker = (ip_row_taker){ .begin = begin, .place = place, .made = made, .user = s };
    ip_runner_init(&s->runner, NULL, of->options);
    imgpar_status st = of->looks ? ip_look_begin(of->pixels, of->format, of->settings, &s->looker, err) : IMGPAR_OK;
    if (!st) return IMGPAR_OK;
    ip_stream_free(s);
    *out = NULL;
    return st;
}

ip_row_taker *ip_stream_taker(ip_stream *s) { return &s->taker; }

static void join(ip_stream *s)
{
    if (s->is_running) pthread_join(s->encoder, NULL);
    s->is_running = false;
}

imgpar_status ip_stream_end(ip_stream *s, imgpar_status computed, size_t *n_bytes, ip_error *err)
{
    imgpar_status st = computed;
    pthread_mutex_lock(&s->lock);
    while (!st && !s->has_ended)
        st = wait_polled(s, err);
    pthread_mutex_unlock(&s->lock);
    stop(s);
    join(s);
    if (!st && s->failure.status) st = ip_fail(err, s->failure.status, "%s", s->failure.message);
    if (!st) {
        st = ip_file_writer_end(s->file, &s->runner.poll, &s->failure);
        if (st) ip_fail(err, st, "%s", s->failure.message);
    } else if (s->failure.status == IMGPAR_E_INTERRUPTED) {
        s->failure = (ip_error){ 0 }; /* it ended since nothing was computed any more */
    }
    *n_bytes = s->n_bytes;
    return st;
}

const ip_error *ip_stream_failure(const ip_stream *s) { return &s->failure; }
ip_look ip_stream_look(const ip_stream *s) { return s->of.looks ? ip_look_told(&s->looker) : IP_LOOKS_FINE; }
double ip_stream_busy_ms(const ip_stream *s) { return s->busy_ms; }

void ip_stream_free(ip_stream *s)
{
    if (!s) return;
    stop(s);
    join(s);
    let_go(s);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    ip_free(s);
}
