/* SPDX-License-Identifier: MIT */
/*
 * A result on its way into a file while it is computed: the evaluation puts strips of rows into a ring, a thread
 * encodes them from there, and what is encoded is written as it comes. Nothing holds the whole result; what is written
 * in place ("-", a FIFO, a device) is held encoded until all of it is there. A file appears under its name when all of
 * it is there, or not at all.
 *
 *     ip_stream *s;
 *     st = ip_stream_new(&what, &s, err);
 *     request.taker = ip_stream_taker(s);
 *     st = ... evaluate: with strips it calls the taker, else it gives a value ...
 *     if (request.taker->has_begun) st = ip_stream_end(s, st, &n_bytes, err);
 *     ip_stream_free(s);
 *
 * All of it is called on one thread, on which polls and progress are told.
 */
#ifndef IP_RUN_STREAM_H
#define IP_RUN_STREAM_H

#include "run/evaluation.h"

/* What is saved, and how. All of it is borrowed. */
typedef struct ip_stream_of {
    const char *path, *settings; /* settings may be NULL */
    const ip_pixels *pixels;     /* without elements */
    ip_format format;
    const imgpar_options *options; /* may be NULL */
    double work;                   /* that encoding is (progress.h) */
    bool looks;                    /* ip_stream_look() will be asked */
    ip_account *account;           /* its memory counts there; NULL: nowhere */
} ip_stream_of;

typedef struct ip_stream ip_stream;
imgpar_status ip_stream_new(const ip_stream_of *of, ip_stream **out, ip_error *err);
ip_row_taker *ip_stream_taker(ip_stream *s);
/* computed: how the evaluation ended. Waits for the encoder; the file is there where all went well. */
imgpar_status ip_stream_end(ip_stream *s, imgpar_status computed, size_t *n_bytes, ip_error *err);
/* Why encoding or writing failed; its status is IMGPAR_OK where they did not. After ip_stream_end(). */
const ip_error *ip_stream_failure(const ip_stream *s);
ip_look ip_stream_look(const ip_stream *s);
/* How long the encoder was at work, in ms: while none of its threads waited for a row. */
double ip_stream_busy_ms(const ip_stream *s);
void ip_stream_free(ip_stream *s); /* NULL is legal */

#endif
