/* SPDX-License-Identifier: MIT */
/* A process that compiles what this one has left to be compiled, and may outlive it. */
#ifndef IMGPAR_CLI_BACKGROUND_H
#define IMGPAR_CLI_BACKGROUND_H

#include <imgpar.h>

/* Starts it if ctx has left more than *n_seen programs to be compiled, and sets *n_seen. Where it cannot be started, or
 * the program is about to stop, nothing happens. */
void background_start(const imgpar_context *ctx, uint64_t *n_seen);

#endif
