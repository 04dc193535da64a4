/* SPDX-License-Identifier: MIT */
/* Numbers on which all of a result depends are looked at before it is computed: usable.c, Note [Usable numbers]. */
#ifndef IP_RUN_USABLE_H
#define IP_RUN_USABLE_H

#include "run/evaluation.h"
#include "run/held.h"

/* IMGPAR_E_ARGUMENT where what a node of the row IP_USABLE below the request's arrays reads is none of what it must be.
 * *held gets those nodes with their values, and what is dear on the way to them and needed for the rest: to be released
 * after the rest is computed. Loops have run, branches are decided. */
imgpar_status ip_usable_look(imgpar_context *ctx, const ip_request *request, ip_held *held, ip_error *err);

#endif
