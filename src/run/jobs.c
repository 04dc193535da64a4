/* SPDX-License-Identifier: MIT */
#include "run/jobs.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "base/wait.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { POLL_MS = 20 };

/* An event or a warning on its way to the calling thread, with the texts that may be gone by then. */
typedef struct note {
    struct note *next;
    bool is_warning;
    imgpar_event event;
    char text[]; /* the warning; the event's name and ops, each terminated */
} note;

typedef struct ip_crew {
    const imgpar_options *options; /* the caller's; may be NULL */
    pthread_mutex_t lock;          /* guards what follows, and the hands' done */
    pthread_cond_t changed;        /* notes or n_running */
    note *notes, **end;
    size_t n_running;
    bool lost_notes;           /* for lack of memory */
    const struct hand *failed; /* the first; one that only followed the caller's answer to stop gives way to another */
    atomic_bool stops;
} crew;

/* A thread with its job. */
typedef struct hand {
    crew *crew;
    ip_job *job;
    imgpar_options options;
    double done;
    imgpar_status status;
    ip_error err;
    bool is_started;
    pthread_t thread;
} hand;

/* ---- on the jobs' threads -------------------------------------------------------------- */

static int poll_crew(void *user, double done)
{
    hand *h = user;
    pthread_mutex_lock(&h->crew->lock);
    h->done = done;
    pthread_mutex_unlock(&h->crew->lock);
    return atomic_load(&h->crew->stops);
}

static void add_note(crew *c, note *n)
{
    pthread_mutex_lock(&c->lock);
    if (n) {
        *c->end = n;
        c->end = &n->next;
    } else {
        c->lost_notes = true;
    }
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void note_event(void *user, const imgpar_event *event)
{
    hand *h = user;
    size_t name = strlen(event->name) + 1, ops = strlen(event->ops) + 1;
    note *n = ip_zalloc(sizeof *n + name + ops);
    if (n) {
        n->event = *event;
        n->event.name = memcpy(n->text, event->name, name);
        n->event.ops = memcpy(n->text + name, event->ops, ops);
    }
    add_note(h->crew, n);
}

static void note_warning(void *user, const char *text)
{
    hand *h = user;
    note *n = ip_zalloc(sizeof *n + strlen(text) + 1);
    if (n) {
        n->is_warning = true;
        memcpy(n->text, text, strlen(text) + 1);
    }
    add_note(h->crew, n);
}

/* With the lock held. */
static void fail(hand *h, imgpar_status st)
{
    crew *c = h->crew;
    h->status = st;
    if (!c->failed || (c->failed->status == IMGPAR_E_INTERRUPTED && st != IMGPAR_E_INTERRUPTED)) c->failed = h;
    atomic_store(&c->stops, true);
}

static void *work(void *user)
{
    hand *h = user;
    crew *c = h->crew;
    imgpar_status st = ip_job_is_over(h->job) ? IMGPAR_OK : h->job->run(h->job, &h->options, &h->err);
    pthread_mutex_lock(&c->lock);
    if (st) fail(h, st);
    h->done = 1;
    c->n_running--;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- on the calling thread ---------------------------------------------------------------- */

/* Passes on what has been noted. The lock is held, but while the caller is called. */
static void tell(crew *c)
{
    while (c->notes) {
        note *n = c->notes;
        c->notes = n->next;
        if (!c->notes) c->end = &c->notes;
        pthread_mutex_unlock(&c->lock);
        if (n->is_warning)
            c->options->on_warning(c->options->user, n->text);
        else
            c->options->on_event(c->options->user, &n->event);
        ip_free(n);
        pthread_mutex_lock(&c->lock);
    }
}

static double progress(const hand *hands, size_t n)
{
    double done = 0;
    for (size_t k = 0; k < n; k++)
        done += hands[k].done * hands[k].job->share;
    return done < 1 ? done : 1;
}

/* Until all have ended; true: the caller's poll has asked to stop. */
static bool attend(crew *c, const hand *hands, size_t n)
{
    bool polls = c->options && c->options->poll, stopped = false;
    pthread_mutex_lock(&c->lock);
    while (c->n_running > 0 || c->notes) {
        if (c->notes) {
            tell(c);
        } else if (!polls || stopped) {
            pthread_cond_wait(&c->changed, &c->lock);
        } else {
            ip_cond_wait_ms(&c->changed, &c->lock, POLL_MS);
            double done = progress(hands, n);
            pthread_mutex_unlock(&c->lock);
            stopped = c->options->poll(c->options->user, done) != 0;
            if (stopped) atomic_store(&c->stops, true);
            pthread_mutex_lock(&c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return stopped;
}

static void start(crew *c, hand *h, ip_job *job)
{
    const imgpar_options *o = c->options;
    h->crew = c;
    h->job = job;
    job->crew = c;
    h->options = o ? *o : (imgpar_options){ .struct_size = sizeof h->options };
    h->options.user = h;
    h->options.poll = o && o->poll ? poll_crew : NULL;
    h->options.on_event = o && o->on_event ? note_event : NULL;
    h->options.on_warning = o && o->on_warning ? note_warning : NULL;
    pthread_mutex_lock(&c->lock);
    c->n_running++;
    pthread_mutex_unlock(&c->lock);
    h->is_started = !ip_fault(IP_FAULT_ALLOC) && ip_thread_start(&h->thread, work, h);
    if (h->is_started) return;
    const imgpar_status st = ip_fail_memory(&h->err, "starting a thread");
    pthread_mutex_lock(&c->lock);
    c->n_running--;
    fail(h, st);
    pthread_mutex_unlock(&c->lock);
}

static bool crew_init(crew *c, const imgpar_options *options)
{
    *c = (crew){ .options = options };
    c->end = &c->notes;
    atomic_init(&c->stops, false);
    if (pthread_mutex_init(&c->lock, NULL) != 0) return false;
    const bool ok = ip_cond_init(&c->changed);
    if (!ok) pthread_mutex_destroy(&c->lock);
    return ok;
}

bool ip_job_is_over(const ip_job *job) { return atomic_load(&job->crew->stops); }

imgpar_status ip_jobs_run(ip_job *const *jobs, size_t n, const imgpar_options *options, ip_error *err)
{
    crew c;
    hand *hands = ip_zalloc(n * sizeof *hands);
    if (!hands || !crew_init(&c, options)) {
        ip_free(hands);
        return ip_fail_memory(err, "starting threads");
    }
    for (size_t k = 0; k < n && !atomic_load(&c.stops); k++)
        start(&c, &hands[k], jobs[k]);
    bool stopped = attend(&c, hands, n);
    for (size_t k = 0; k < n; k++)
        if (hands[k].is_started) pthread_join(hands[k].thread, NULL);
    imgpar_status st = c.failed ? ip_fail(err, c.failed->status, "%s", c.failed->err.message) : IMGPAR_OK;
    if (!st && stopped) st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted");
    if (!st && c.lost_notes) st = ip_fail_memory(err, "reporting an event");
    pthread_cond_destroy(&c.changed);
    pthread_mutex_destroy(&c.lock);
    ip_free(hands);
    return st;
}
