/* SPDX-License-Identifier: MIT */
/* Shared by the files that write the kernels of recurrences: emit_scan.c, emit_scan_x.c, emit_scan_c.c. */
#ifndef IP_COMPILE_EMIT_SCAN_H
#define IP_COMPILE_EMIT_SCAN_H

#include "base/dtype.h"
#include "compile/emit.h"

typedef struct ip_scan {
    ip_emit *e;
    const ip_stage *s;
    ip_scan_phase phase;
    bool is_second;   /* body uses the state two before */
    bool in_blocks;   /* lines are walked in blocks */
    const char *type; /* of a state */
} ip_scan;

/*
 * Values of an element, each in a variable of its own whose name is returned. c: the channel, where channels are
 * written out; -1: that of coord[3] or of the flat index. Names given as states are variables or elements of arrays.
 */
const char *ip_scan_init(ip_scan *w, int c);
const char *ip_scan_combine(ip_scan *w, const char *a, const char *b);
const char *ip_scan_body(ip_scan *w, int c, const char *state, const char *before);
/* out[index] = finish over the new state and the one before it. */
void ip_scan_store(ip_scan *w, int c, const char *state, const char *before, const char *out, const char *index);
/* x with its channel put in; c -1: x itself. */
ip_expr *ip_scan_channel(ip_scan *w, ip_expr *x, int c);
void ip_scan_set(ip_scan *w, const char *variable, const char *value);

/* Names of arguments. */
const char *ip_scan_slot_name(ip_scan *w, ip_scan_slot slot);
const char *ip_scan_region(ip_scan *w, int index);
/* name = number of the work-item along dimension dim of the launch. */
void ip_scan_item(ip_scan *w, int dim, const char *name);
/* from, to = the chunk of that number within the region, whose start is slot number `region`. */
void ip_scan_span(ip_scan *w, const char *from, const char *to, const char *item, int region);
/* name = pointer to the states of a group's block. */
void ip_scan_states(ip_scan *w, const char *name, const char *group, const char *block, const char *unit);
/* The coordinate along the axis of a position along the line. */
const char *ip_scan_coordinate(ip_scan *w, const char *position);
/* Declares the row pointers of init, or of what a step reads. */
void ip_scan_row_pointers(ip_scan *w, bool is_init);
/* Declares, in the phase that stores, a pointer to row z, y of the result; returns name. */
const char *ip_scan_out(ip_scan *w, const char *name, const char *z, const char *y);
/* Whether results may stream (emit_stream.c), and then the memory they are made in, as `line`. */
bool ip_scan_streams(const ip_scan *w);
/* Whether elements may be told by one index for column and channel. */
bool ip_scan_may_be_flat(ip_scan *w);
void ip_scan_declare_line(ip_scan *w);
/* Totals to carries, for state `index` of the blocks of this launch, and the carry behind them to where there is one
 * for that; first points to the first block's states. */
void ip_scan_carry(ip_scan *w, const char *first, const char *index, const char *unit);

/* Lines along x and c; fill e->top. */
void ip_emit_scan_x(ip_scan *w);
void ip_emit_scan_c(ip_scan *w);

#endif
