/* SPDX-License-Identifier: MIT */
/*
 * Blocks of a row whose elements are computed together, step by step: windows (emit_window.c) and loops of an element
 * (emit_loop.c). What a step carries stands in arrays of the block, an element's part at [t]; loops over t are what is
 * vectorised.
 */
#ifndef IP_COMPILE_EMIT_BLOCK_H
#define IP_COMPILE_EMIT_BLOCK_H

#include "compile/emit.h"

/* From start on, n elements. */
typedef struct ip_blockwise {
    ip_emit *e;
    bool flat;
    const char *start, *n;
    int size;        /* n at most */
    int more;        /* elements behind these that are made, too, for taps that slide over them */
    bool may_repeat; /* what lanes do reads nothing that they write: emit_row.c, Note [Whole vectors] */
} ip_blockwise;

/* The lane loop over t, with i or x as the element's index. */
ip_mark ip_emit_enter_lanes(ip_blockwise *b, int width);
void ip_emit_leave_lanes(ip_blockwise *b, ip_mark mark);
/* The windows and loops of n values, for the lanes to come. */
void ip_emit_block_windows(ip_blockwise *b, ip_expr *const *roots, int n);
void ip_emit_block_loop(ip_blockwise *b, ip_expr *loop);

#endif
