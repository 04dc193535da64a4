/* SPDX-License-Identifier: MIT */
/*
 * Which thread runs a loop. While it runs its placeholders hold the carried values, so others wait.
 *
 *     imgpar_status st = ip_loop_lock(loop, options, err);
 *     if (st) return st;
 *     ...
 *     ip_loop_unlock(loop);
 *
 * Note [Loops and callbacks]
 * A thread may run a loop and evaluate something else, in a callback of the caller. Where that is made of the same
 * loop, it would wait for itself; where it is made of a loop whose thread waits for this one in the same way, both
 * would wait for ever. So every thread that waits says for which loop, and who would close a circle fails instead. A
 * thread that waits for a loop does not count as running where another one waits for memory (turns.h): it goes on only
 * behind the loop, whose thread may be the one that waits for memory.
 */
#ifndef IP_RUN_LOOP_LOCK_H
#define IP_RUN_LOOP_LOCK_H

#include "graph/array.h"

/* Waits while another thread runs the loop. IMGPAR_E_UNSUPPORTED: that one waits for this thread;
 * IMGPAR_E_INTERRUPTED: the poll of options (which may be NULL) wanted so; then there is nothing to unlock. */
imgpar_status ip_loop_lock(ip_loop *loop, const imgpar_options *options, ip_error *err);
void ip_loop_unlock(ip_loop *loop);

#endif
