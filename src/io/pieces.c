/* SPDX-License-Identifier: MIT */
#include "io/pieces.h"

#include "base/alloc.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum { MOST_THREADS = 16, SLOTS_A_THREAD = 2 };

/* Piece k is made in slot k % n_slots, once the piece that was there before has been taken. */
typedef struct crew {
    const ip_pieces *p;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t made, taken;
    size_t n_begun, n_taken, n_slots;
    bool is_made[MOST_THREADS * SLOTS_A_THREAD], stops;
    void *slot[MOST_THREADS * SLOTS_A_THREAD];
} crew;

/* Begins the next piece, makes it and says so; false: there is none that may be begun. With the lock held. */
static bool make_next(crew *c)
{
    if (c->stops || c->n_begun == c->p->n || c->n_begun >= c->n_taken + c->n_slots) return false;
    const size_t piece = c->n_begun++, slot = piece % c->n_slots;
    pthread_mutex_unlock(&c->lock);
    c->p->make(c->p->user, piece, c->slot[slot]);
    pthread_mutex_lock(&c->lock);
    c->is_made[slot] = true;
    pthread_cond_broadcast(&c->made);
    return true;
}

static void *run_thread(void *arg)
{
    crew *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->stops && c->n_begun < c->p->n)
        if (!make_next(c)) pthread_cond_wait(&c->taken, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Where nobody makes the piece yet, which is so where no thread could be started, the calling thread does. */
static imgpar_status take_all(crew *c, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    pthread_mutex_lock(&c->lock);
    for (size_t piece = 0; piece < c->p->n && !st; piece++) {
        const size_t slot = piece % c->n_slots;
        while (!c->is_made[slot])
            if (c->n_begun > piece || !make_next(c)) pthread_cond_wait(&c->made, &c->lock);
        pthread_mutex_unlock(&c->lock);
        st = c->p->take(c->p->user, piece, c->slot[slot], err);
        pthread_mutex_lock(&c->lock);
        c->is_made[slot] = false;
        c->n_taken++;
        c->stops = st != IMGPAR_OK;
        pthread_cond_broadcast(&c->taken);
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

static size_t count_threads(size_t n_pieces)
{
    const long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = n_processors < 1 ? 1 : n_processors > MOST_THREADS ? MOST_THREADS : (size_t)n_processors;
    return n > n_pieces ? n_pieces : n;
}

size_t ip_pieces_held(size_t n)
{
    const size_t n_slots = SLOTS_A_THREAD * count_threads(n);
    return n < n_slots ? n : n_slots;
}

/* How many threads were started. */
static size_t start_threads(crew *c, pthread_t *thread, size_t n_threads)
{
    size_t n = 0;
    while (n < n_threads && ip_thread_start(&thread[n], run_thread, c))
        n++;
    return n;
}

static imgpar_status run_on_threads(crew *c, size_t n_threads, ip_error *err)
{
    pthread_t thread[MOST_THREADS];
    /* One piece is made without any: starting a thread takes longer than most small pictures. */
    const size_t n_started = n_threads > 1 ? start_threads(c, thread, n_threads) : 0;
    const imgpar_status st = take_all(c, err);
    for (size_t k = 0; k < n_started; k++)
        pthread_join(thread[k], NULL);
    return st;
}

imgpar_status ip_pieces_run(const ip_pieces *p, const char *what, ip_error *err)
{
    crew c = {
        .p = p, .lock = PTHREAD_MUTEX_INITIALIZER, .made = PTHREAD_COND_INITIALIZER, .taken = PTHREAD_COND_INITIALIZER
    };
    const size_t n_wanted = ip_pieces_held(p->n);
    while (c.n_slots < n_wanted && (c.slot[c.n_slots] = p->slot_new(p->user)) != NULL)
        c.n_slots++;
    const bool has_memory = c.n_slots == n_wanted;
    const imgpar_status st = has_memory ? run_on_threads(&c, count_threads(p->n), err) : ip_fail_memory(err, what);
    for (size_t k = 0; k < c.n_slots; k++)
        p->slot_free(c.slot[k]);
    pthread_cond_destroy(&c.made);
    pthread_cond_destroy(&c.taken);
    pthread_mutex_destroy(&c.lock);
    return st;
}
