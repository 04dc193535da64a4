/* SPDX-License-Identifier: MIT */
/* Runs a pipeline for every file it is given, several at a time. */
#ifndef IMGPAR_CLI_FILES_H
#define IMGPAR_CLI_FILES_H

#include "inputs.h"
#include "profile.h"

/* Writes what the pipeline makes of each input to the name that o->output gives it. A file that fails is told, in the
 * order of the inputs, and passed by. Returns the exit status. times gets the events where o asks for them. */
int files_run(const options *o, const imgpar_pipeline *p, imgpar_context *ctx, const inputs *in, profile *times);

#endif
