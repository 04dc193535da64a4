/* SPDX-License-Identifier: MIT */
/* Shared by the files of iterate(). */
#ifndef IP_LANG_ITERATE_H
#define IP_LANG_ITERATE_H

#include "lang/eval.h"

typedef struct ip_iteration {
    ip_eval *ev;
    const ip_node *call, *step, *until;
    ip_val step_fn, until_fn; /* FUNCTION, or NONE: the node is an expression in _ */
    int n;                    /* values carried */
    const ip_record *record;  /* of which they are components; NULL: of none */
    int64_t count;            /* steps left */
    int64_t done, check;      /* steps taken; until is tested after every check-th */
    bool known;               /* checking: count is known */
    int n_adopted;            /* times that values took the white a step gives them */
    bool is_of_elements;      /* until has many elements: Note [Elements that stop by themselves] */
    char from[96], to[96];    /* the type that a step changed last, and to what */
} ip_iteration;

/* A step of the values; next[n] are NONE before, and where it fails. */
bool ip_iterate_step(ip_iteration *it, const ip_val *state, ip_val *next);
/* The value of until after a step; NONE when there is none. */
bool ip_iterate_test(ip_iteration *it, const ip_val *next, ip_val *out);
/* The bounds of a counter over all steps, where next is holder + number; else false. */
bool ip_iterate_counts(const ip_iteration *it, const ip_val *state, const imgpar_array *holder,
                       const imgpar_array *next, ip_range *range);
bool ip_iterate_same_elements(const ip_type *a, const ip_type *b);
bool ip_iterate_same_type(const ip_type *a, const ip_type *b);
/* The arrays of n values; borrowed. */
void ip_iterate_arrays(const ip_val *vals, int n, imgpar_array **arrays);
void ip_iterate_free(ip_val *vals, int n);
/* Fails: the type of what is carried never settles. */
bool ip_iterate_never_settles(ip_iteration *it);

/* All steps of values whose until is of each element; state[n] becomes what they end with. */
bool ip_iterate_elements(ip_iteration *it, ip_val *state);

#endif
