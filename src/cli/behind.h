/* SPDX-License-Identifier: MIT */
/* A process that compiles what this one has left to be compiled, and may outlive it. */
#ifndef IMGPAR_CLI_BEHIND_H
#define IMGPAR_CLI_BEHIND_H

#include <imgpar.h>

/* Starts it if ctx has left something since the last call. Where it cannot be started nothing happens. Not from several
 * threads. */
void behind_start(const imgpar_context *ctx);

#endif
