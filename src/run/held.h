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

#endif
