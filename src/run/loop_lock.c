/* SPDX-License-Identifier: MIT */
#include "run/loop_lock.h"

#include "base/wait.h"
#include "run/turns.h"

/* A thread that runs loops. */
struct ip_loop_thread {
    const ip_loop *waits_for; /* NULL: for none, or its poll is asked meanwhile */
};

static _Thread_local struct ip_loop_thread self;

/* One for all loops, as those that wait for each other may be of several contexts. It guards their runners and what
 * these wait for. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); } /* so no child finds it locked */

/* Whether the thread that runs the loop waits for this one, or is this one. Threads never wait in a circle, since each
 * asks this before it waits. */
static bool waits_for_self(const ip_loop *loop)
{
    while (loop && loop->runner && loop->runner != &self)
        loop = loop->runner->waits_for;
    return loop && loop->runner;
}

/* With the lock held, which is not while the caller is asked. */
static imgpar_status wait_a_little(ip_loop *loop, const imgpar_options *options, ip_error *err)
{
    enum { A_LITTLE_MS = 20 };
    bool stops = false;
    self.waits_for = loop;
    ip_cond_wait_ms(&loop->is_free, &lock, A_LITTLE_MS);
    self.waits_for = NULL; /* what its poll runs ends without that loop: who waits for it may wait */
    if (options && options->poll) {
        pthread_mutex_unlock(&lock);
        stops = options->poll(options->user, 0) != 0;
        pthread_mutex_lock(&lock);
    }
    return stops ? ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted") : IMGPAR_OK;
}

imgpar_status ip_loop_lock(ip_loop *loop, const imgpar_options *options, ip_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    imgpar_status st = IMGPAR_OK;
    bool is_paused = false; /* the thread's turn, while it waits */
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    while (!st && loop->runner) {
        if (waits_for_self(loop)) {
            st = ip_fail(err, IMGPAR_E_UNSUPPORTED,
                         "iterate: the loop is running and goes on when a callback of its evaluation (poll, on_event, "
                         "on_warning) has returned: a callback cannot evaluate what is made of that loop");
        } else {
            is_paused = is_paused || ip_turn_pause();
            st = wait_a_little(loop, options, err);
        }
    }
    if (!st) loop->runner = &self;
    pthread_mutex_unlock(&lock);
    if (!is_paused) return st;
    ip_error of_turn = { .status = IMGPAR_OK };
    const imgpar_status resumed = ip_turn_resume(options, &of_turn); /* without the lock, as this waits, too */
    if (st || !resumed) return st;
    ip_loop_unlock(loop);
    *err = of_turn;
    return resumed;
}

void ip_loop_unlock(ip_loop *loop)
{
    pthread_mutex_lock(&lock);
    loop->runner = NULL;
    pthread_cond_broadcast(&loop->is_free);
    pthread_mutex_unlock(&lock);
}
