/* SPDX-License-Identifier: MIT */
/*
 * How far the work is: a line on a terminal that is written over, or lines of JSON, on standard error.
 *
 * Nothing is shown unless standard error is a terminal or --progress asks for it, and on a terminal not before the work
 * has taken a second. progress_tick() is cheap, and may be called as often as one likes; one thread calls it.
 */
#ifndef IMGPAR_CLI_PROGRESS_H
#define IMGPAR_CLI_PROGRESS_H

#include "options.h"

#include <stddef.h>
#include <stdint.h>

/* What there is to do and what is done; of what is not counted in files or frames only the fraction. */
typedef struct progress_state {
    size_t files, of, failed, skipped; /* of: 0: there are no files to count */
    size_t frames;                     /* of a video, of which nobody knows how many there are; 0: there is none */
    uint64_t bytes, of_bytes;          /* of files */
    uint64_t skipped_bytes;            /* in bytes too: they took no time */
    double fraction;                   /* from 0 to 1 */
} progress_state;

typedef enum progress_form { PROGRESS_HIDDEN, PROGRESS_LINE, PROGRESS_LINES, PROGRESS_OBJECTS } progress_form;

typedef struct progress {
    progress_form form;
    double started_s, next_s; /* of the monotonic clock; next: when there is something to show again */
    double fraction;          /* the largest that was told */
} progress;

void progress_begin(progress *p, const options *o);
void progress_tick(progress *p, const progress_state *now);
/* The last one, and where lines are shown a line of what was done. */
void progress_end(progress *p, const progress_state *now);

#endif
