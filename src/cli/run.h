/* SPDX-License-Identifier: MIT */
/* Runs, explains or verifies a pipeline file or the expression of -e. */
#ifndef IMGPAR_CLI_RUN_H
#define IMGPAR_CLI_RUN_H

#include "options.h"

/* Returns the exit status, after saying on stderr what went wrong. */
int run(const options *o);
/* --compile-pending. Returns the exit status. */
int compile_pending(void);

#endif
