/* SPDX-License-Identifier: MIT */
/* Harmonic values where a mask is set: what their lowering (stages_harmonic.c) shares with what they mean on the host
 * (reference_harmonic.c). */
#ifndef IP_OPS_HARMONIC_H
#define IP_OPS_HARMONIC_H

#include "ir/opaque.h"

/* The answer is improved in cycles, this many at most: each leaves about a third of the error, more of it where hardly
 * anything is known. LEAST: after a cycle in which neither a change nor a residual was above this share of the largest
 * known value one more follows, the last. */
enum { IP_HARMONIC_CYCLES = 240 };
#define IP_HARMONIC_LEAST_F32 5e-6
#define IP_HARMONIC_LEAST_F64 3e-10

/* What a channel takes. */
typedef struct ip_harmonic_memory {
    int64_t values, bytes, spans;
} ip_harmonic_memory;

enum { IP_HARMONIC_STATE = 6 }; /* numbers of a channel: HM_STATE of shaders/harmonic.cl */

/* What the kernels take: shaders/harmonic.cl. */
#define IP_HARMONIC_PARAMS(NAME) \
    NAME(ROWS)                   \
    NAME(COLUMNS)                \
    NAME(CHANNELS)               \
    NAME(ITEMS)                  \
    NAME(VALUES)                 \
    NAME(BYTES)                  \
    NAME(SPANS)                  \
    NAME(CYCLES)
#define IP_HARMONIC_PARAM_NUMBER(name) IP_HARMONIC_P_##name,
enum { IP_HARMONIC_P_FIRST_ITEM, IP_HARMONIC_PARAMS(IP_HARMONIC_PARAM_NUMBER) IP_HARMONIC_N_P };

ip_harmonic_memory ip_harmonic_memory_of(int64_t rows, int64_t columns);

imgpar_status ip_harmonic_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                  void *user);

#endif
