/* SPDX-License-Identifier: MIT */
/* Runs a pipeline for every frame of a video, one after another, in memory that does not grow with their number. */
#ifndef IMGPAR_CLI_STREAM_H
#define IMGPAR_CLI_STREAM_H

#include "inputs.h"
#include "profile.h"
#include "video.h"

/* Can what is given to -o be written of a video? EXIT_DONE, or EXIT_USAGE after saying why not. */
int stream_check(const options *o, inputs *in, video_kind kind);
/* in's one input is the video, read from file; the pipeline reads n_frames of it at once. Returns the exit status,
 * after saying on stderr what went wrong. times gets the events where o asks for them. */
int stream_run(const options *o, const imgpar_pipeline *p, size_t n_frames, imgpar_context *ctx, const inputs *in,
               FILE *file, profile *times);

#endif
