/* SPDX-License-Identifier: MIT */
/*
 * The crew: a queue, its lock, its threads.
 *
 * R1. Tasks are taken in the order they were submitted.
 * R2. A crew that is freed interrupts what runs and forgets what waits.
 * R3. No memory of SQLite's is touched here: workers are not its threads.
 * R4. Signals are the program's: its own threads get them.
 */
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 16, ASK_EVERY_MS = 20 };

struct ip_sql_crew {
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_result;
    ip_sql_task *first, **last; /* waiting; under lock */
    bool quits;                 /* under lock */
    atomic_bool stops;          /* read by evaluations */
    int n_threads;
    pthread_t threads[MAX_THREADS];
};

int ip_sql_crew_size(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

ip_sql_task *ip_sql_task_new(int n)
{
    ip_sql_task *task = calloc(1, sizeof *task + (size_t)n * sizeof task->outputs[0]);
    if (task) task->n = n;
    return task;
}

void ip_sql_task_free(ip_sql_task *task)
{
    for (int k = 0; task && k < task->n; k++) {
        imgpar_array_release(task->outputs[k].array);
        imgpar_free(task->outputs[k].bytes);
        free(task->outputs[k].settings);
    }
    free(task);
}

/* What a thread is at. */
typedef struct working {
    ip_sql_crew *crew;
    ip_sql_task *task;
} working;

static int poll_stops(void *user, double done)
{
    (void)done;
    return atomic_load(&((working *)user)->crew->stops);
}

/* SQLite is not this thread's, so the statement's thread passes warnings on. Images of one row may have the same
 * one. */
static void note_warning(void *user, const char *text)
{
    char *all = ((working *)user)->task->warnings;
    const size_t used = strlen(all), room = sizeof((ip_sql_task *)0)->warnings - used;
    if (!strstr(all, text) && strlen(text) + 2 <= room) snprintf(all + used, room, "%s\n", text);
}

void ip_sql_output_encode(ip_sql_output *o, imgpar_options *options)
{
    options->format = o->format;
    options->settings = o->settings;
    o->status = o->is_exact ? imgpar_encode_exact(o->array, options, &o->bytes, &o->n)
                            : imgpar_encode(o->array, options, &o->bytes, &o->n);
    if (o->status) snprintf(o->message, sizeof o->message, "%s", imgpar_array_message(o->array));
}

/* All images are computed at once. Where one of them fails, each is then tried by itself, so that the others are
 * there. */
static void do_task(ip_sql_crew *crew, ip_sql_task *task)
{
    enum { MOST_AT_ONCE = 64 };
    working at = { crew, task };
    imgpar_options options = {
        .struct_size = sizeof options, .poll = poll_stops, .on_warning = note_warning, .user = &at
    };
    imgpar_array *arrays[MOST_AT_ONCE];
    size_t n = 0;
    for (int k = 0; k < task->n && n < MOST_AT_ONCE; k++)
        if (task->outputs[k].array) arrays[n++] = task->outputs[k].array;
    if (n > 1) imgpar_eval(arrays, n, &options);
    for (int k = 0; k < task->n; k++)
        if (task->outputs[k].array) ip_sql_output_encode(&task->outputs[k], &options);
}

static void *work(void *user)
{
    ip_sql_crew *crew = user;
    pthread_mutex_lock(&crew->lock);
    while (!crew->quits) {
        ip_sql_task *task = crew->first;
        if (!task) {
            pthread_cond_wait(&crew->has_work, &crew->lock);
            continue;
        }
        crew->first = task->next; /* R1 */
        if (!crew->first) crew->last = &crew->first;
        pthread_mutex_unlock(&crew->lock);
        do_task(crew, task);
        pthread_mutex_lock(&crew->lock);
        task->is_done = true;
        pthread_cond_broadcast(&crew->has_result);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Waits are timed by a clock that nobody sets. */
static bool make_locks(ip_sql_crew *crew)
{
    pthread_condattr_t clock;
    if (pthread_condattr_init(&clock)) return false;
    bool ok = !pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) && !pthread_mutex_init(&crew->lock, NULL);
    bool works = ok && !pthread_cond_init(&crew->has_work, NULL);
    bool made = works && !pthread_cond_init(&crew->has_result, &clock);
    if (works && !made) pthread_cond_destroy(&crew->has_work);
    if (ok && !made) pthread_mutex_destroy(&crew->lock);
    pthread_condattr_destroy(&clock);
    return made;
}

static void start_threads(ip_sql_crew *crew, int n)
{
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own); /* R4: threads inherit it */
    for (; crew->n_threads < n && crew->n_threads < MAX_THREADS; crew->n_threads++)
        if (pthread_create(&crew->threads[crew->n_threads], NULL, work, crew)) break;
    pthread_sigmask(SIG_SETMASK, &own, NULL);
}

ip_sql_crew *ip_sql_crew_new(int n_threads)
{
    ip_sql_crew *crew = calloc(1, sizeof *crew);
    if (!crew || !make_locks(crew)) {
        free(crew);
        return NULL;
    }
    crew->last = &crew->first;
    atomic_init(&crew->stops, false);
    start_threads(crew, n_threads);
    if (crew->n_threads) return crew;
    ip_sql_crew_free(crew);
    return NULL;
}

void ip_sql_crew_free(ip_sql_crew *crew)
{
    if (!crew) return;
    atomic_store(&crew->stops, true); /* R2 */
    pthread_mutex_lock(&crew->lock);
    crew->quits = true;
    pthread_cond_broadcast(&crew->has_work);
    pthread_mutex_unlock(&crew->lock);
    for (int k = 0; k < crew->n_threads; k++)
        pthread_join(crew->threads[k], NULL);
    pthread_cond_destroy(&crew->has_work);
    pthread_cond_destroy(&crew->has_result);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

void ip_sql_crew_submit(ip_sql_crew *crew, ip_sql_task *task)
{
    pthread_mutex_lock(&crew->lock);
    task->next = NULL;
    *crew->last = task;
    crew->last = &task->next;
    pthread_cond_signal(&crew->has_work);
    pthread_mutex_unlock(&crew->lock);
}

bool ip_sql_crew_wait(ip_sql_crew *crew, ip_sql_task *task, bool (*stop)(void *user), void *user)
{
    bool stopped = false;
    pthread_mutex_lock(&crew->lock);
    while (!task->is_done && !stopped) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += ASK_EVERY_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (pthread_cond_timedwait(&crew->has_result, &crew->lock, &until) == ETIMEDOUT && !task->is_done) {
            pthread_mutex_unlock(&crew->lock);
            stopped = stop(user);
            pthread_mutex_lock(&crew->lock);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return stopped;
}
