/* SPDX-License-Identifier: MIT */
/*
 * Writing behind: what was made is written by a thread while more is made. At most two pieces wait.
 *
 *     behind b;
 *     behind_begin(&b, file);
 *     unsigned char *to = behind_room(&b, n);      NULL: what failed, see below
 *     memcpy(to, piece, n);
 *     behind_put(&b);
 *     if (!behind_end(&b, true)) ...
 *
 * A write error is reported by the next call of behind_room(), or at the end; behind_why() says what it was.
 */
#ifndef IMGPAR_CLI_BEHIND_H
#define IMGPAR_CLI_BEHIND_H

#include "threads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Those that wait, one of which is written. */
enum { BEHIND_PIECES = 2 };

typedef struct behind {
    FILE *file; /* the thread's, until behind_end() */
    struct {
        unsigned char *bytes;
        size_t n, capacity;
    } pieces[BEHIND_PIECES];
    io_thread io;           /* whose lock guards what follows */
    uint64_t n_put, n_done; /* pieces: that were handed over; that the thread is done with */
    uint64_t n_written;     /* that were written */
    int error;              /* errno of the first write that failed; then nothing more is written */
    bool ends;
} behind;

/* Borrows file. False: no thread can be started. */
bool behind_begin(behind *b, FILE *file);
/* Room for a piece of n bytes, as soon as there is; NULL: a write failed, memory ran out, or a signal was seen
 * (signals.h). */
unsigned char *behind_room(behind *b, size_t n);
/* The piece is filled. */
void behind_put(behind *b);
/* errno of the write that failed, and which piece that was, from 0 on; also behind behind_end(). 0: none. */
int behind_why(behind *b, uint64_t *piece);
/* Waits until everything is written, unless !is_whole or a signal is seen. False: it is not. Of a behind of zeros
 * nothing is waited for. */
bool behind_end(behind *b, bool is_whole);

#endif
