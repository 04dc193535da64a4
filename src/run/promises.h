/* SPDX-License-Identifier: MIT */
/* Whether what is asked for reads only what it promised to read: compile/promises.c, Note [Promises kept]. */
#ifndef IP_RUN_PROMISES_H
#define IP_RUN_PROMISES_H

#include "run/evaluation.h"

/* 1 << border, of an array's promises that are to be checked: border=checked, in checked mode border=unchecked. */
unsigned ip_promises_of(imgpar_context *ctx, imgpar_array *a);
/* IMGPAR_E_CHECK where an array of the request reads outside of one with border=checked, in checked mode also with
 * border=unchecked: the operation, the place, the extent. Loops have run, branches are decided. */
imgpar_status ip_promises_keep(imgpar_context *ctx, const ip_request *request, ip_error *err);

#endif
