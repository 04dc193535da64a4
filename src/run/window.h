/* SPDX-License-Identifier: MIT */
/*
 * The rows of a source that strips need: a window over a picture that is decoded once, from its first row on, by a
 * thread that runs ahead of who computes.
 *
 *     ip_window_of of = { .source = node->source, .n_rows = h, .end = h, .row_bytes = n, .most_rows = 64 };
 *     st = ip_window_open(&of, &w, err);
 *     st = ip_window_rows(w, 0, 50, &memory, &first, err);     (memory begins with row `first`, which is 0 or below y0)
 *     st = ip_window_rows(w, 44, 94, &memory, &first, err);    (the rows before 44 may be gone)
 *     st = ip_window_end(w, err);                              (the picture must end as it should)
 *     ip_window_free(w);
 *
 * Rows before the window are decoded again from the start. What ip_window_rows() gave holds until the next call.
 */
#ifndef IP_RUN_WINDOW_H
#define IP_RUN_WINDOW_H

#include "graph/array.h"

typedef struct ip_window_of {
    ip_source *source; /* FILE or BLOB, has_rows; borrowed */
    int shrink;
    int64_t n_rows, end; /* of the picture; rows from end on are never asked for */
    size_t row_bytes;
    int64_t most_rows;   /* that will be asked for together, about */
    bool runs_ahead;     /* else rows are decoded when they are asked for, on the caller's thread */
    ip_poll poll;        /* asked on the caller's thread */
    ip_account *account; /* its memory counts there; NULL: nowhere */
} ip_window_of;

typedef struct ip_window ip_window;
imgpar_status ip_window_open(const ip_window_of *of, ip_window **out, ip_error *err);
imgpar_status ip_window_rows(ip_window *w, int64_t y0, int64_t y1, void **memory, int64_t *first, ip_error *err);
/* Rows before it are decoded again if they are asked for; of use once ip_window_rows() has given some. */
int64_t ip_window_first(ip_window *w);
/* All rows before of.end have been asked for. */
imgpar_status ip_window_end(ip_window *w, ip_error *err);
/* Warnings, a line each, of all rows that were decoded; after ip_window_end(). */
ip_str *ip_window_warnings(ip_window *w);
double ip_window_busy_ms(const ip_window *w); /* the same; how long decoding took */
void ip_window_free(ip_window *w);            /* NULL is legal */

#endif
