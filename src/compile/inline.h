/* SPDX-License-Identifier: MIT */
/* Between inline.c, which puts stages into their readers, and inline_choice.c, which tells which. Facts are found anew
 * for each round of the pass, and lie in the ir's arena. */
#ifndef IP_COMPILE_INLINE_H
#define IP_COMPILE_INLINE_H

#include "compile/passes.h"

enum { IP_INLINED_SIZE = 1500 /* operations of a stage that others went into, at most */ };

/* What is known of a stage and of those that read it. */
typedef struct ip_inline_facts {
    int n_readers;            /* stages that load it */
    int last_reader;          /* 1 + the one that was counted last */
    int size;                 /* of its body, after inlining */
    int n_loads;              /* reads in its expressions, after inlining */
    int read_around;          /* 1 + the last reader that also looks at neighbours */
    int read_in_window;       /* 1 + the last reader that reads it for every tap or step */
    bool has_neighbours_read; /* some reader looks at neighbours in it */
    bool is_in_line_buffer;   /* a map of its size, of all elements and not folded, looks at neighbours */
    bool is_thinned_out;      /* some reader leaves elements out of it */
    bool is_taken_apart;      /* some reader takes its channels one by one, or folds it */
    bool is_folded;           /* a fold reads it, or reads what is made of it */
} ip_inline_facts;

typedef struct ip_inlining {
    ip_ir *ir;
    const ip_compile_options *options;
    const int *n_reads;  /* ip_ir_count_reads() */
    ip_inline_facts *of; /* by stage id */
    bool *was_shared;    /* by stage id: several read it before anything was put into them */
    ip_stage *reader;    /* the stage being rewritten: */
    int reader_size, reader_loads;
    bool reader_is_flat;
    int round, n_inlined;
} ip_inlining;

/* Whether the reader's load becomes what the stage that it reads is made of. */
bool ip_may_inline(const ip_inlining *in, const ip_expr *load);
/* Whether a neighbour that it reads is made anew there: inline_choice.c, Note [Lines], Note [Products of kept rows],
 * Note [Widened elements]. */
bool ip_is_made_where_read(const ip_inlining *in, const ip_expr *load);
/* Whether it reads the element at the reader's own place, in whatever channel. */
bool ip_reads_own_place(const ip_expr *load, const ip_stage *reader);
/* Whether it takes one channel of a pixel, or the reader folds. */
bool ip_takes_apart(const ip_stage *reader, const ip_expr *load);
/* No load of the stage has a border to apply, and it has no window and no loop: an element is made of elements that
 * are known to be there. */
bool ip_is_pointwise(ip_ir *ir, const ip_stage *stage);

#endif
