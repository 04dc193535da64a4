/* SPDX-License-Identifier: MIT */
/*
 * Evaluations of one context at a time on several threads, and the device's memory.
 *
 * Note [Turns]
 * What does not fit the device is cut, or left to the interpreter, or an error. What does not fit beside the
 * evaluations of other threads does when they are over. So each evaluation, until its result is where it is wanted, is
 * a turn. One that ran short of memory beside others begins again when those are over, and none begins beside it. While
 * it waits it holds nothing. Within a turn a thread joins that one: a loop's steps do, and what a caller evaluates in
 * its poll.
 */
#ifndef IP_RUN_TURNS_H
#define IP_RUN_TURNS_H

#include "base/status.h"

#include <imgpar.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ip_turns {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    unsigned n_running; /* turns, but for those that wait to be alone */
    unsigned n_waiting; /* for that */
    bool is_one_alone;
    uint64_t n_begun; /* so far */
} ip_turns;

typedef struct ip_turn {
    ip_turns *turns; /* NULL: within another turn of the thread */
    uint64_t begun;  /* turns->n_begun when it was the newest */
    bool has_met_others, is_alone;
} ip_turn;

/* false: the system has no room for it. */
bool ip_turns_init(ip_turns *turns);
void ip_turns_end(ip_turns *turns);

/* Waits while another turn is alone, or is about to be. IMGPAR_E_INTERRUPTED: the poll of options (which may be NULL)
 * wanted so; then there is no turn to end. */
imgpar_status ip_turn_begin(ip_turns *turns, const imgpar_options *options, ip_turn *turn, ip_error *err);
void ip_turn_end(ip_turn *turn);

/* For the thread's turn, which ran short of memory and holds nothing: waits for the others. IMGPAR_OK: it is alone now,
 * and is worth another try; IMGPAR_E_DEVICE_MEMORY: it was alone all the time. */
imgpar_status ip_turn_alone(const ip_turns *turns, const imgpar_options *options, ip_error *err);

#endif
