/* SPDX-License-Identifier: MIT */
/*
 * Evaluations on several threads of one context, where the device's memory is short.
 *
 * Note [Turns]
 * An evaluation that does not fit the device is cut, or left to the interpreter, or fails. One that only does not fit
 * beside the evaluations of other threads would fit once those are over. So this is a readers-writer lock: every
 * evaluation holds it as a reader until its result is where the caller wants it (a turn). One that ran out of memory
 * while others ran gives its turn back, waits until it can hold the lock as the writer (it is alone), and begins again.
 * A waiting writer stops new readers. A thread that has a turn joins it when it evaluates again: steps of loops do, and
 * what a caller's poll evaluates; otherwise it would wait for itself. (A thread has one turn at most, so what a poll
 * evaluates in another context joins it, too, and has no turn there.) What runs short of memory within a turn that
 * waits already does not wait again. What is held while waiting is little: values that a loop carries. A turn gives the
 * lock back, too, while it waits for a loop (loop_lock.h).
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
    unsigned n_running; /* turns that do not wait */
    unsigned n_waiting; /* turns that wait to be alone; others wait, too, for a loop */
    bool is_one_alone;
    uint64_t n_begun; /* turns that ever began, or resumed */
} ip_turns;

typedef struct ip_turn {
    ip_turns *turns; /* NULL: within another turn of the thread */
    uint64_t begun;  /* turns->n_begun when it was the newest */
    bool has_met_others, is_waiting, is_alone;
} ip_turn;

/* false: the system has no room for it. */
bool ip_turns_init(ip_turns *turns);
void ip_turns_end(ip_turns *turns);

/* Waits while another turn is alone, or is about to be. IMGPAR_E_INTERRUPTED: the poll of options (which may be NULL)
 * wanted so; then there is no turn to end. */
imgpar_status ip_turn_begin(ip_turns *turns, const imgpar_options *options, ip_turn *turn, ip_error *err);
void ip_turn_end(ip_turn *turn);

/* For the thread's turn, which ran short of memory: waits for the others. IMGPAR_OK: it is alone now, and is worth
 * another try; IMGPAR_E_DEVICE_MEMORY: it was alone all the time, or waits already. */
imgpar_status ip_turn_alone(const ip_turns *turns, const imgpar_options *options, ip_error *err);

/* Before the thread waits for something else than memory, which another one may give only when it is alone: its turn
 * waits, and is not alone any more, until it resumes. false: it has none, or one that waits, and does not resume. */
bool ip_turn_pause(void);
/* Waits while another turn is alone. The turn runs again in any case; IMGPAR_E_INTERRUPTED: the poll wanted an end. */
imgpar_status ip_turn_resume(const imgpar_options *options, ip_error *err);

#endif
