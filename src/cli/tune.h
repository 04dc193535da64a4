/* SPDX-License-Identifier: MIT */
/* --tune: measures a pipeline with other settings of its context, and keeps the fastest for the device. */
#ifndef IMGPAR_CLI_TUNE_H
#define IMGPAR_CLI_TUNE_H

#include <imgpar.h>

/* Says what it finds on stdout; nothing is saved or printed by the pipeline. Returns an exit status. */
int tune(imgpar_pipeline *p, imgpar_context *ctx, const imgpar_options *options_of_run);

#endif
