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
    int n;                            /* states */
    bool in_blocks;                   /* lines are walked in blocks */
    const char *type[IP_SCAN_STATES]; /* of each state */
} ip_scan;

/* A name for each state: of variables or of elements of arrays. */
typedef struct ip_names {
    const char *of[IP_SCAN_STATES];
} ip_names;

/* "state", "state_1", ... */
ip_names ip_scan_named(ip_scan *w, const char *name);
/* "state[i]", "state_1[i]", ... */
ip_names ip_scan_elements(ip_scan *w, const char *name, const char *index);
/*
 * Values of an element, each in a variable of its own. c: the channel, where channels are written out; -1: that of
 * coord[3] or of the flat index.
 */
ip_names ip_scan_init(ip_scan *w, int c);
ip_names ip_scan_combine(ip_scan *w, const ip_names *a, const ip_names *b);
ip_names ip_scan_body(ip_scan *w, int c, const ip_names *before);
/* out[index] = finish over the new states and those before. */
void ip_scan_store(ip_scan *w, int c, const ip_names *state, const ip_names *before, const char *out,
                   const char *index);
void ip_scan_set(ip_scan *w, const ip_names *variables, const ip_names *values);
/* Declares variables or, with IP_S_LET, constants of those values; values NULL: without. */
void ip_scan_declare(ip_scan *w, ip_stmt_kind kind, const ip_names *names, const ip_names *values);

/* Names of arguments. */
const char *ip_scan_slot_name(ip_scan *w, ip_scan_slot slot);
const char *ip_scan_bound(ip_scan *w, ip_bound bound);
/* name = number of the work-item along dimension dim, over all launches. */
void ip_scan_item(ip_scan *w, int dim, const char *name);
/* from, to = the chunk of that number within the region, whose start is slot number `region`. */
void ip_scan_span(ip_scan *w, const char *from, const char *to, const char *item, ip_bound first);
/* name, name_1, ... = pointers to the states of one of the groups' blocks. groups: how many, if there are several
 * states. */
typedef struct ip_scan_cells {
    const char *groups, *group, *block, *unit;
} ip_scan_cells;
void ip_scan_states(ip_scan *w, const char *name, const ip_scan_cells *cells);
/* The coordinate along the axis of a position along the line. */
const char *ip_scan_coordinate(ip_scan *w, const char *position);
/* Declares the row pointers of init, or of what a step reads. */
void ip_scan_row_pointers(ip_scan *w, bool is_init);
/* Declares, in the phase that stores, a pointer to row z, y of the result; returns name. */
const char *ip_scan_out(ip_scan *w, const char *name, const char *z, const char *y);
/* Whether results may stream (emit_stream.c), and then the memory they are made in, as `line`. */
bool ip_scan_streams(const ip_scan *w);
void ip_scan_declare_line(ip_scan *w);
/* Totals to carries, for the states at `index` of the blocks of this launch, and the carry behind them to where there
 * is one for that; first, first_1, ... point to the first block's states. */
void ip_scan_carry(ip_scan *w, const char *first, const char *index, const char *unit);

/* Lines along x and c; fill e->top. */
void ip_emit_scan_x(ip_scan *w);
void ip_emit_scan_c(ip_scan *w);

#endif
