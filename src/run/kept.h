/* SPDX-License-Identifier: MIT */
/*
 * kept.h - the arrays of a context that keep their values.
 *
 * Note [Kept values]
 * A value that an array keeps stays on the device that computed it, so that the next evaluation finds it there. Where
 * one has no room, kept values that nobody uses at that moment go to host memory, the one that was kept longest ago
 * first; whoever reads them next brings them back, whole or in the boxes that it needs. They are replaced rather than
 * changed, under the lock of their array: who holds a value may rely on where it is.
 *
 * imgpar_eval() keeps what it computes. So do read, save and encode up to the setting "keep", bytes in all: a value
 * that is asked for again, or that another one is made of, is then found, not computed. Over it the oldest of these
 * values goes, to be computed again if it must. It is 0 unless it was set: who reads frame after frame into memory of
 * his own would pay for a copy of each.
 */
#ifndef IP_RUN_KEPT_H
#define IP_RUN_KEPT_H

#include "graph/array.h"
#include "run/device.h"

#include <pthread.h>

typedef struct ip_kept {
    pthread_mutex_t lock; /* guards the list, before the lock of an array in it */
    imgpar_array *newest, *oldest;
    uint64_t bytes, max_bytes; /* of values that were offered; the setting "keep" */
} ip_kept;

/* False: there is no lock to be had. */
bool ip_kept_init(ip_kept *kept);
void ip_kept_end(ip_kept *kept);
/* a, which is no error, keeps value from now on, as long as it has handles; a value that it keeps already stays. */
void ip_kept_add(imgpar_array *a, struct ip_value *value);
/* Whether a value of n bytes may be offered. */
bool ip_kept_takes(imgpar_context *ctx, uint64_t n);
/* The same as ip_kept_add() for a value that need not be kept: within the setting "keep". */
void ip_kept_offer(imgpar_array *a, struct ip_value *value);
/* From now on values that were offered take n bytes at most. */
void ip_kept_limit(ip_kept *kept, uint64_t n);
/* The value that an array keeps which is no leaf, for a plan that is made of it: counted. */
struct ip_value *ip_kept_find(imgpar_array *a);
/* a's last handle goes. */
void ip_kept_forget(imgpar_array *a);
/* Moves kept values from the device to the host until n bytes are free there, or none is left that may be moved; false:
 * none was moved. */
bool ip_kept_make_room(imgpar_context *ctx, ip_device *device, uint64_t n);

#endif
