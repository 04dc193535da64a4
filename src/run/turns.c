/* SPDX-License-Identifier: MIT */
#include "run/turns.h"

#include "base/wait.h"

static _Thread_local ip_turn *current;

bool ip_turns_init(ip_turns *turns)
{
    *turns = (ip_turns){ .n_running = 0 };
    if (pthread_mutex_init(&turns->lock, NULL) != 0) return false;
    if (ip_cond_init(&turns->changed)) return true;
    pthread_mutex_destroy(&turns->lock);
    return false;
}

void ip_turns_end(ip_turns *turns)
{
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->lock);
}

/* A little, with the lock held, which is not while the caller is asked. */
static imgpar_status wait_a_little(ip_turns *turns, const imgpar_options *options, ip_error *err)
{
    enum { A_LITTLE_MS = 20 };
    bool stops = false;
    ip_cond_wait_ms(&turns->changed, &turns->lock, A_LITTLE_MS);
    if (options && options->poll) {
        pthread_mutex_unlock(&turns->lock);
        stops = options->poll(options->user, 0) != 0;
        pthread_mutex_lock(&turns->lock);
    }
    return stops ? ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted") : IMGPAR_OK;
}

imgpar_status ip_turn_begin(ip_turns *turns, const imgpar_options *options, ip_turn *turn, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    *turn = (ip_turn){ .turns = NULL };
    if (current) return IMGPAR_OK;
    pthread_mutex_lock(&turns->lock);
    while (!st && (turns->is_one_alone || turns->n_waiting > 0))
        st = wait_a_little(turns, options, err);
    if (!st) {
        *turn = (ip_turn){ .turns = turns, .begun = ++turns->n_begun, .has_met_others = turns->n_running > 0 };
        turns->n_running++;
        current = turn;
    }
    pthread_mutex_unlock(&turns->lock);
    return st;
}

void ip_turn_end(ip_turn *turn)
{
    ip_turns *turns = turn->turns;
    if (!turns) return;
    pthread_mutex_lock(&turns->lock);
    turns->n_running--;
    if (turn->is_alone) turns->is_one_alone = false;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
    current = NULL;
}

imgpar_status ip_turn_alone(const ip_turns *turns, const imgpar_options *options, ip_error *err)
{
    ip_turn *turn = current;
    if (!turn || turn->turns != turns || turn->is_alone || turn->is_waiting) return IMGPAR_E_DEVICE_MEMORY;
    ip_turns *t = turn->turns;
    imgpar_status st = IMGPAR_OK;
    pthread_mutex_lock(&t->lock);
    if (!turn->has_met_others && t->n_begun == turn->begun) {
        st = IMGPAR_E_DEVICE_MEMORY;
    } else {
        turn->is_waiting = true;
        t->n_running--;
        t->n_waiting++;
        pthread_cond_broadcast(&t->changed);
        while (!st && (t->n_running > 0 || t->is_one_alone))
            st = wait_a_little(t, options, err);
        turn->is_waiting = false;
        t->n_waiting--;
        t->n_running++;
        if (!st) turn->is_alone = t->is_one_alone = true;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

bool ip_turn_pause(void)
{
    ip_turn *turn = current;
    if (!turn || turn->is_waiting) return false;
    ip_turns *t = turn->turns;
    pthread_mutex_lock(&t->lock);
    t->n_running--;
    if (turn->is_alone) turn->is_alone = t->is_one_alone = false;
    turn->is_waiting = turn->has_met_others = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return true;
}

imgpar_status ip_turn_resume(const imgpar_options *options, ip_error *err)
{
    ip_turns *t = current->turns;
    imgpar_status st = IMGPAR_OK;
    pthread_mutex_lock(&t->lock);
    while (!st && t->is_one_alone)
        st = wait_a_little(t, options, err);
    current->is_waiting = false;
    t->n_running++;
    t->n_begun++; /* whoever began meanwhile has met it */
    pthread_mutex_unlock(&t->lock);
    return st;
}
