/* SPDX-License-Identifier: MIT */
/*
 * Nodes that keep the value they have or get, whatever other threads do, from ip_held_add() to ip_held_release(): the
 * loops below a graph, what their steps do not change, what conditions of branches are computed from.
 */
#ifndef IP_RUN_HELD_H
#define IP_RUN_HELD_H

#include "run/evaluate.h"

imgpar_status ip_held_add(ip_held *held, imgpar_array *node, ip_error *err);
/* Evaluates the nodes, by branches that are decided (NULL: nobody looked for any), and lends them their values. */
imgpar_status ip_held_compute(imgpar_context *ctx, const ip_held *held, const imgpar_options *options, ip_computing by,
                              const ip_choices *choices, ip_error *err);
void ip_held_release(ip_held *held);

/* Whether a node that several evaluations need is to be held between them: it is made by more than arithmetic on
 * elements, or a branch that is decided. Computing it again takes long, or, with what its side is, makes programs of
 * its own. */
bool ip_held_pays(const imgpar_array *node, const ip_choices *choices);
/* Bytes that may be held so; of the interpreter's memory as much. */
uint64_t ip_held_budget(imgpar_context *ctx);

#endif
