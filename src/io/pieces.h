/* SPDX-License-Identifier: MIT */
/*
 * Work that falls into pieces: threads make them, on all processors, and the calling thread takes them in their order,
 * so that what it appends is the same however many threads there are. At most two pieces a thread are held at once.
 */
#ifndef IP_IO_PIECES_H
#define IP_IO_PIECES_H

#include "base/status.h"

#include <stddef.h>

/* What a piece is made in, of the maker's own type. */
typedef struct ip_pieces {
    size_t n; /* 1 or more */
    void *user;
    void *(*slot_new)(void *user); /* on the calling thread; NULL: no memory */
    void (*slot_free)(void *slot);
    void (*make)(void *user, size_t piece, void *slot); /* on any thread */
    /* On the calling thread, pieces 0, 1, ... in turn. Anything but IMGPAR_OK ends the work. */
    imgpar_status (*take)(void *user, size_t piece, void *slot, ip_error *err);
} ip_pieces;

/* How many of n pieces are begun at most before the first of them is taken. */
size_t ip_pieces_held(size_t n);
/* Makes and takes all pieces; what take() said where it ended the work. what: for the message, "encoding png". */
imgpar_status ip_pieces_run(const ip_pieces *p, const char *what, ip_error *err);

#endif
