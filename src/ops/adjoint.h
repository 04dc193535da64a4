/* SPDX-License-Identifier: MIT */
/*
 * Adjoints of stages: what each element of a stage counts for in one number, the loss. They are stages themselves, made
 * behind the others from the loss down to what is asked for, so a gradient is planned, fused and differentiated like
 * anything else, and one mechanism serves every row. Which loads a stage has, and their cotangents, are told by its
 * expressions (ir/derivative.h); what that means for the stage that is read depends on where it is read:
 *
 *     at the element's own place                    a product, in the adjoint's own expression
 *     at offsets, multiples, other axes, fixed      the same inverted: a stencil becomes the stencil transposed, a
 *     places                                        broadcast a sum (adjoint_loads.c, Note [Inverted places])
 *     beyond edges, by a border rule                an adjoint with a margin, whose margin is folded back
 *     anywhere else                                 scatter_add
 *
 * Folds hand their cotangent to all that they fold, recurrences are recurrences the other way round, and some of the
 * hand-written kernels have an adjoint (adjoint_opaque.c); the rest is refused by name.
 */
#ifndef IP_OPS_ADJOINT_H
#define IP_OPS_ADJOINT_H

#include "ir/derivative.h"
#include "ir/opaque.h"
#include "ops/lower.h"

enum { IP_ADJOINT_FRAMES = 4 };

/* A load of a stage, and what it counts for at each element of a domain. */
typedef struct ip_reading {
    ip_expr *load, *cotangent;
    int n_frames;
    ip_frame frames[IP_ADJOINT_FRAMES]; /* windows around it, the innermost first */
    int64_t domain[4];
    struct ip_reading *next;
} ip_reading;

typedef struct ip_adjoints {
    ip_lower *l;
    ip_stage *loss;
    int n_stages;           /* when it was begun: the stages that may be differentiated */
    unsigned char *depends; /* by id, on what is asked for, in any way; in the arena */
    unsigned char *smooth;  /* by id, whether by more than steps, where that was asked (adjoint.c) */
    ip_reading **readings;  /* by id, of what was emitted so far */
    ip_stage **parts;       /* by id, a sum of adjoints that are whole already; NULL: none */
    ip_stage **adjoints;    /* by id, once it is made; NULL: the loss does not depend on it */
    const ip_stage *cut;    /* the last stage through which nothing went; NULL: none was met */
    int n_variables;
    ip_stage **variables;
    struct ip_adjoints *next; /* of another loss, or by other variables */
} ip_adjoints;

/* Fails, naming the operation of stage s. */
void ip_adjoint_fail(ip_adjoints *a, const ip_stage *s, const char *what);
bool ip_adjoint_failed(const ip_adjoints *a);
/* Whether the value of a stage matters and may change smoothly. */
bool ip_adjoint_wants(const ip_adjoints *a, const ip_stage *s);
/* A MAP of these dims and the dtype of value. */
ip_stage *ip_adjoint_stage(ip_adjoints *a, const int64_t dims[4], ip_expr *value, const char *note);
/* stage at these indices; at its own coordinates; at its first element. */
ip_expr *ip_adjoint_load(ip_adjoints *a, ip_stage *stage, ip_expr *const at[4]);
ip_expr *ip_adjoint_here(ip_adjoints *a, ip_stage *stage);
ip_expr *ip_adjoint_first(ip_adjoints *a, ip_stage *stage);
/* A whole number as an i32: small ones are part of the program, others arguments. */
ip_expr *ip_adjoint_i32(ip_adjoints *a, int64_t value);
/* s counts for this stage of its own dims, too. */
void ip_adjoint_add(ip_adjoints *a, const ip_stage *s, ip_stage *part);
/* The adjoint of s from all that was emitted for it; NULL: nothing was, or it failed. */
ip_stage *ip_adjoint_of_readings(ip_adjoints *a, ip_stage *s);
/* stage without a dim: the sum along it. */
ip_stage *ip_adjoint_summed(ip_adjoints *a, ip_stage *stage, int dim);
/* The adjoints of what an opaque stage reads, from its own. */
void ip_adjoint_opaque(ip_adjoints *a, const ip_stage *s, ip_stage *own);
/* The same of linear algebra (adjoint_linalg.c). */
void ip_adjoint_of_linalg(ip_adjoints *a, const ip_stage *s, ip_stage *own);
/* The place in dims of the element of that number, in row-major order; and the number of a place. Both i32. */
void ip_adjoint_place(ip_adjoints *a, ip_expr *number, const int64_t dims[4], ip_expr *at[4]);
ip_expr *ip_adjoint_number(ip_adjoints *a, const int64_t dims[4], ip_expr *const at[4]);

#endif
