/* SPDX-License-Identifier: MIT */
/*
 * Read-ahead: the bytes of a video's frames, read by a thread while earlier frames are computed. A pipe holds less than
 * a frame, so that otherwise the process that fills it would wait while we compute. At most two frames are ahead.
 *
 *     frames f;
 *     frames_begin(&f, FRAMES_PNM, file, "standard input", 0);
 *     while ((more = frames_next(&f, &bytes, &n)) > 0) ...
 *     if (more < 0) complain("%s", f.why);
 *     frames_end(&f);
 *
 * What is read grows with what arrives, never with what a header promises.
 */
#ifndef IMGPAR_CLI_FRAMES_H
#define IMGPAR_CLI_FRAMES_H

#include "threads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Pictures one behind another; a line that begins with FRAME, then as many bytes for each frame. */
typedef enum frames_kind { FRAMES_PNM, FRAMES_Y4M } frames_kind;

/* One frame's bytes, and what comes of reading it: 1: they are there; 0: it was the end; -1: why tells. */
typedef struct frame_bytes {
    unsigned char *bytes;
    size_t n, capacity;
    int more;
} frame_bytes;

/* Those that are ahead, the one that is read and the one that is looked at. */
enum { FRAMES_AHEAD = 2, FRAMES_SLOTS = FRAMES_AHEAD + 2 };

typedef struct frames {
    frames_kind kind;
    FILE *file; /* the thread's, until frames_end() */
    const char *name;
    uint64_t n_payload; /* bytes behind FRAME */
    frame_bytes slots[FRAMES_SLOTS];
    uint64_t n_taken; /* by the caller */
    char why[400];    /* what is wrong; the thread's until it is told of */
    io_thread io;     /* whose lock guards what follows */
    uint64_t n_read;  /* frames that are there, or were; the end counts as one */
    bool stops;
} frames;

/* Begins to read. Borrows file and name. False: there is no thread to be had, and f->why tells. frames_end() in any
 * case; of a frames of zeros it does nothing. */
bool frames_begin(frames *f, frames_kind kind, FILE *file, const char *name, uint64_t n_payload);
/* 1: the bytes of the next frame, the caller's until the next call; 0: there is none; -1: f->why tells, unless a signal
 * was seen meanwhile (signals.h). */
int frames_next(frames *f, unsigned char **bytes, size_t *n);
void frames_end(frames *f);

#endif
