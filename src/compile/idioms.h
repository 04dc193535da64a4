/* SPDX-License-Identifier: MIT */
/*
 * Idioms: elements that functions of shaders/ make with instructions that compilers do not find. A row of the table
 * (idioms.def) tells what an element must be and which function makes rows of such; the files emit_dot.c, emit_mix.c
 * and others print its call. The function makes elements from the first one of a row on, as many as it can, which may
 * be none. The loop behind the call makes the rest. Both give the same bytes. inline_choice.c asks the table which
 * stages to keep, segments.c which is called. Functions that kinds of loops call themselves are rows of it, too.
 *
 *     ip_match match;
 *     if (ip_idiom_find(ir, NULL, stage, stage->body, &match))
 *         ... functions whose names begin with match.idiom->helper make rows of the stage
 *
 * A new idiom is a row of the table, a function in shaders/ and a pin in tests/schedules_pins.c: see ARCHITECTURE.md.
 */
#ifndef IP_COMPILE_IDIOMS_H
#define IP_COMPILE_IDIOMS_H

#include "compile/passes.h"
#include "ir/linear.h"

enum { IP_MIXED_CHANNELS = 3 };

typedef struct ip_idiom ip_idiom;

/* What an element of a stage is, and what its idiom wants to know of it beside. */
typedef struct ip_match {
    const ip_idiom *idiom;
    const ip_stage *stage;
    const ip_kernel *kernel; /* that computes it; NULL: it is not known yet */
    ip_expr *body;
    ip_linear form;                       /* of body */
    int scale;                            /* emit_dot.c, Note [Means] */
    long long weights[IP_MIXED_CHANNELS]; /* by channel: emit_mix.c, Note [Mixed channels] */
    ip_expr *value, *last;                /* of all channels, and NULL or of the last: emit_broadcast.c */
    const ip_stage *columns, *factors; /* tables of columns and of weights: emit_upsample.c, Note [Upsampling rows] */
} ip_match;

/* Columns from..to of a row of a stage, as body says, which go to target; text. With `first` target is no row but an
 * array of the work-item, which begins with that element of the row. */
typedef struct ip_columns {
    const ip_stage *stage;
    ip_expr *body;
    const char *target, *from, *to, *first;
    /* where a segment is made, its stage's place in the kernel and what was found of it (segments.h); the row's number
     * and that of the strip's first row; else NULL */
    const ip_placed *placed;
    const ip_segment *segment;
    const char *row, *first_row;
    const ip_elements *elements; /* how a loop that needs nothing of the body makes it */
} ip_columns;

struct ip_idiom {
    const char *name;     /* for --explain, behind "by" */
    const char *helper;   /* the function, or what the names of several begin with */
    ip_helpers file;      /* where it stands */
    bool is_flat;         /* it makes elements, of whatever channel; else pixels */
    bool wants_long_rows; /* short ones are made sooner without it */
    bool stays_apart;     /* is not inlined: as part of a reader's body it takes longer than a row that is read again */
    bool is_any;          /* `fits` is asked of elements that are no linear forms, too, once kernels are known */
    /* Whether an element of match->form is such; fills in the rest of the match. Asked before fusion and after it.
     * NULL: of parts of loops. */
    bool (*fits)(ip_ir *ir, ip_match *match);
};

enum {
#define IDIOM(KIND, ...) IP_IDIOM_##KIND,
#define PART(KIND, ...) IP_IDIOM_##KIND,
#include "compile/idioms.def"
#undef PART
#undef IDIOM
    IP_N_IDIOMS
};
extern const ip_idiom ip_idioms[IP_N_IDIOMS];

/* The first row of the table that fits; false: none. kernel computes the stage, NULL: it is not known yet; body is the
 * stage's, or what that is of one channel. */
bool ip_idiom_find(ip_ir *ir, const ip_kernel *kernel, const ip_stage *stage, ip_expr *body, ip_match *match);

/* Taps of a term's window; 0: it has none. */
static inline int ip_term_taps(const ip_linear_term *term)
{
    return term->window ? term->window->taps_y * term->window->taps_x : 0;
}

#endif
