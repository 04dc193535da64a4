/* SPDX-License-Identifier: MIT */
/*
 * From nodes to values and arrays. One evaluator serves two passes:
 *
 *   checking   no context, no file: arrays are unknown, calls are checked against
 *              their rows by ip_check_call(). Finds everything that is wrong with the
 *              text itself (IMGPAR_E_SYNTAX).
 *   building   the same walk with ip_build(). What fails now has its own status
 *              (files, shapes), and a place in the text too.
 *
 * Work is bounded: depth, steps and nodes have limits, because a short text can
 * ask for a lot.
 */
#ifndef IP_LANG_EVAL_H
#define IP_LANG_EVAL_H

#include "lang/ast.h"
#include "lang/value.h"
#include "ops/build.h"

enum {
    IP_EVAL_MAX_DEPTH = 1500,     /* evaluations inside each other, through functions too */
    IP_EVAL_MAX_STEPS = 20000000, /* nodes evaluated */
    IP_EVAL_MAX_NODES = 100000,   /* operations built */
    IP_EVAL_MAX_COUNT = 1000000,  /* steps of an iterate() */
    IP_EVAL_UNROLL = 64           /* operations an iterate() may become before it is a loop */
};

/* Offsets of a neighbour read along the first n axes: numbers, and how often the distances of around() along z, y and x
 * are added. */
typedef struct ip_offsets {
    int n;
    double by[IMGPAR_MAX_RANK], along[IMGPAR_MAX_RANK][3];
    imgpar_array *taps; /* whose distances; borrowed; NULL: numbers alone */
} ip_offsets;

/* Names bound by a call. Lives on the C stack: functions never outlive the call they are given to. */
typedef struct ip_scope {
    struct ip_scope *parent;
    int n;
    ip_symbol *const *names;
    const ip_val *vals;
} ip_scope;

/* The shape that coordinates take. */
typedef struct ip_coords {
    bool bound;
    ip_type type; /* nothing while checking */
} ip_coords;

/* What a stencil() says of the reads written in it, and what they tell it. */
typedef struct ip_stencil_form {
    const char *border; /* NULL: the row's default */
    double cval;
    bool has_cval, has_outside;
    imgpar_array *read;   /* the first array that is read; a reference */
    bool reads_many;      /* others too */
    bool reads;           /* checking: there is a read */
    int64_t lo[4], hi[4]; /* per dim: first coordinate that reads inside, and the one after the last */
} ip_stencil_form;

/*
 * Where coordinates x y z c take their shape. An element-wise expression is a
 * region; its leaves (names, other calls) are evaluated first and kept in memo, in
 * the order in which the walk over the region meets them again.
 */
typedef struct ip_region {
    ip_coords coords;
    struct ip_memo {
        const ip_node *node;
        ip_val val;
    } * memo;
    int n, capacity, cursor;
} ip_region;

typedef struct ip_place { /* of the evaluation in the regions around it */
    bool in_region;
    ip_region *region;         /* with leaves to take, or NULL */
    const ip_coords *coords;   /* of the region, or NULL */
    const ip_coords *fallback; /* for a region without arrays: a make(), or the caller's region */
    const ip_coords *make;     /* the innermost make(), or NULL */
} ip_place;

typedef struct ip_eval {
    const ip_program *program;
    imgpar_context *ctx;         /* NULL while checking */
    bool checking, safe;         /* safe: operations that touch files are refused */
    const char *folder;          /* of literal paths, or NULL */
    imgpar_array *const *inputs; /* $1 ... */
    size_t n_inputs;
    imgpar_array *const *frames;      /* of a video, of which $1 is one: frames[1] is frame(-1) */
    size_t n_frames;                  /* 0: there is no video */
    size_t frames_read;               /* one more than the largest k of the frame(-k) that was met */
    ip_val *globals;                  /* by symbol index */
    const ip_scope *given;            /* what the text is told from outside, or NULL; seen in functions too */
    const struct ip_outputs *outputs; /* of the statements before, or NULL */
    imgpar_array **standard_input;    /* where what open("-") gave is kept between builds, or NULL */
    size_t stdin_at;                  /* offset + 1 of the open("-") that was met; 0: none yet */
    bool is_formula;                  /* of a row of the table: nothing is checked beforehand */
    double full;                      /* of a formula: what is white in its first input; else 0 */
    bool is_repeated;     /* run for one input after the other: open("-") is refused, since it can be read once */
    unsigned inputs_read; /* bit k: $k+1 was met */
    ip_error *err;
    ip_scope *scope;
    ip_stencil_form *stencil;
    bool outside_is_chosen; /* this is the body of a function that is called within a stencil(outside=) */
    ip_place place;
    const ip_symbol *defining; /* the fn whose body is being checked */
    int arounds;               /* how many functions of around() are being applied around this */
    int folds;                 /* how many functions of scan() and reduce() are being applied around this to elements */
    int element_loops;         /* how many loops of elements are being built around this */
    int loops;                 /* how many loops' steps over placeholders are being built around this */
    bool trying;               /* one of them only to learn what its counters are: their bounds are not known yet */
    bool dead;                 /* checking a branch that is not taken: no number is known */
    int depth;
    uint64_t steps, n_nodes;
} ip_eval;

/* Each returns false after recording an error, and then leaves *out NONE. */

/* Any value, functions and tuples included. */
bool ip_eval_any(ip_eval *ev, const ip_node *node, ip_val *out);
/* A value that can be stored and computed with. */
bool ip_eval_value(ip_eval *ev, const ip_node *node, ip_val *out);
/* A number (or bool) that is known when building; unknown while checking it may be. what: "make: width". */
bool ip_eval_number(ip_eval *ev, const ip_node *node, const char *what, ip_val *out);
/* A whole number lo..hi; 0 is given for one that is not known yet. */
bool ip_eval_integer(ip_eval *ev, const ip_node *node, const char *what, int64_t lo, int64_t hi, int64_t *out,
                     bool *known);

/* IMGPAR_E_SYNTAX while checking, IMGPAR_E_ARGUMENT while building. Return false. */
bool ip_eval_fail(ip_eval *ev, size_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool ip_eval_fail_memory(ip_eval *ev);

/* names.c: a variable, constant, coordinate or function. */
bool ip_eval_name(ip_eval *ev, const ip_node *node, ip_val *out);
/* What ev->given binds to name, borrowed, or NULL. */
const ip_val *ip_eval_given(const ip_eval *ev, const ip_symbol *name);
/* What a scope or the program binds to name, or it is given; borrowed, or NULL. */
const ip_val *ip_eval_lookup(const ip_eval *ev, const ip_symbol *name);
/* pi, inf and nan. */
bool ip_is_constant_name(const char *name);
/* The word of an argument such as border=wrap: written bare or quoted, or a variable's text; NULL: it is none. */
const char *ip_eval_word(const ip_eval *ev, const ip_node *node);
bool ip_eval_unknown_name(ip_eval *ev, const ip_node *node, bool is_call);

/* call.c */
bool ip_eval_operator(ip_eval *ev, const ip_node *node, ip_val *out);
bool ip_eval_call(ip_eval *ev, const ip_node *node, ip_val *out);
/* Calls a function value with n positional arguments, borrowed. */
bool ip_call_function(ip_eval *ev, const ip_val *fn, const ip_val *args, int n, size_t offset, ip_val *out);
/* Builds (or checks) an operation from values; names may be NULL, offsets[i] is where args[i] stands. */
bool ip_call_op(ip_eval *ev, const ip_op *op, size_t offset, const ip_val *args, ip_symbol *const *names,
                const size_t *offsets, int n, ip_val *out);
/* The same for ready ip_args. */
bool ip_call_args(ip_eval *ev, const ip_op *op, size_t offset, const ip_arg *args, const size_t *offsets, int n,
                  ip_val *out);
bool ip_call_operator(ip_eval *ev, ip_operator op, size_t offset, const ip_val *operands, ip_val *out);
/* value in this shape and in the dtype in which it meets other: select(x >= 0, value, other). Not while checking. */
bool ip_call_spread(ip_eval *ev, size_t offset, const ip_type *shape, const ip_val *value, const ip_val *other,
                    ip_val *out);
/* Takes the array if it is not an error; else records the error, placed at offset. */
bool ip_call_result(ip_eval *ev, size_t offset, imgpar_array *takes, ip_val *out);

/* region.c */
bool ip_eval_elementwise(ip_eval *ev, const ip_node *node, ip_val *out);
/* Is it a call of an element-wise row (not of a function of that name)? Returns the row. */
const ip_op *ip_elementwise_op(const ip_eval *ev, const ip_node *node);
/* Whether it is a call of random numbers of which no shape is given: random(), normal(sigma=2). Within a make(), or
 * beside an array, they take the shape that coordinates have there. */
bool ip_lacks_shape(const ip_eval *ev, const ip_node *node);
bool ip_eval_coordinate(ip_eval *ev, const ip_node *node, ip_val *out);
/* Evaluates outside the region; fallback for coordinates. Put the returned place back afterwards. */
ip_place ip_leave_region(ip_eval *ev, const ip_coords *fallback);
/* What coordinates fall back on in a function called here. */
const ip_coords *ip_inherited_coords(const ip_eval *ev);

/* special.c, stencil.c, iterate.c, record.c: the forms of the language, listed in words.c. NULL: no such form. */
typedef bool (*ip_form)(ip_eval *ev, const ip_node *call, ip_val *out);
ip_form ip_form_find(const char *name);
/* record.c: a.r */
bool ip_eval_component(ip_eval *ev, const ip_node *node, ip_val *out);
/* The value of a record: its components side by side, and what they are. Takes it, where it fails, too. */
bool ip_record_pack(ip_eval *ev, size_t offset, ip_record *takes, ip_val *out);
/* Gives read, what was read of neighbours of base, the names of base's components, if it has some: the same reads of
 * those. *read stays the caller's. */
bool ip_record_name_read(ip_eval *ev, size_t offset, const ip_val *base, const ip_offsets *at, ip_val *read);
int ip_record_find(const ip_record *record, const ip_symbol *name); /* which component; -1: none; record may be NULL */
/* Whether both are records with the same components; NULL: no record. */
bool ip_record_has_names(const ip_record *a, const ip_record *b);
/* c ? a : b of records with the same components, c being of elements: one, too. */
bool ip_record_may_select(const ip_val operands[3]);
bool ip_record_select(ip_eval *ev, size_t offset, const ip_val operands[3], ip_val *out);
bool ip_eval_read(ip_eval *ev, const ip_node *node, ip_val *out);
/* Fails where an array has more axes than neighbours are read along. */
bool ip_eval_has_neighbours(ip_eval *ev, size_t offset, const imgpar_array *a);
/* stencil.c: the read of a at offsets, by the rule of the stencil() around it. Not while checking. */
bool ip_call_read(ip_eval *ev, size_t offset, imgpar_array *a, const ip_offsets *at, ip_val *out);
/* Is it a word of the row that reads? Messages begin with form. */
bool ip_check_border(ip_eval *ev, const ip_node *word, const char *border, const char *form);
/* *v, a list, becomes the array of its numbers, which have the dtypes of literals. */
bool ip_call_list(ip_eval *ev, size_t offset, ip_val *v);
/* numbers() of a list, *out being the array; unknown where the list is. */
bool ip_list_as_array(ip_eval *ev, size_t offset, const ip_matrix *list, imgpar_dtype dtype, imgpar_array **out);
/* What a list is computed beside: the first array among the values, or NULL. */
const imgpar_array *ip_array_beside(const ip_val *vals, int n);
/* A list beside an array is an array of numbers that bend as literals do: photo * [1.1 1 0.9]. Beside none they are
 * what literals are by themselves. */
bool ip_list_beside(ip_eval *ev, size_t offset, const ip_matrix *list, const imgpar_array *beside, imgpar_array **out);
/* The dtype of a list whose numbers are compared with an array's elements: one that has all of them, but beside floats
 * theirs. */
imgpar_dtype ip_list_compared_dtype(const ip_matrix *list, const imgpar_array *beside);
bool ip_form_extent(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_shape(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_iterate(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_make(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_reduce(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_scan(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_zip(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_fold(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_einsum(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_around(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_stencil(ip_eval *ev, const ip_node *call, ip_val *out);
bool ip_form_window(ip_eval *ev, const ip_node *call, ip_val *out);
/* A function of two elements as a graph over the placeholders p and q, one element each. */
typedef struct ip_fold_function {
    ip_val p, q, body;
} ip_fold_function;
/* reduce.c: the axes (as bits) and keepdims of a reduce(); keepdims may be NULL. While checking a is not looked at. */
bool ip_reduce_options(ip_eval *ev, const ip_node *axis, const ip_node *keepdims, const ip_val *a, unsigned *axes,
                       bool *keeps);
/* a folded along axes with fn, whose order is free. */
bool ip_reduce_axes(ip_eval *ev, const ip_node *call, const ip_val *a, unsigned axes, bool keepdims, double init,
                    const ip_val *fn, ip_val *out);
/* *a becomes its elements folded one after the other, row-major along the axes. */
bool ip_reduce_in_order(ip_eval *ev, const ip_node *call, ip_val *a, unsigned axes, bool keepdims, double init,
                        const ip_fold_function *function);
/* Whether argument i of a row may be several arrays; the row that a call with these arguments means; the gradients of
 * several arrays, args[1] being a tuple: lang/gradients.c. */
bool ip_gradient_takes_several(const ip_op *op, int i);
const ip_op *ip_gradient_row(const ip_op *op, const ip_val *args, ip_symbol *const *names, int n);
bool ip_gradients_of_several(ip_eval *ev, size_t offset, const ip_val *args, ip_val *out);
/* A call of a row of the table, as it is written. */
bool ip_call_row(ip_eval *ev, const ip_node *node, const ip_op *op, ip_val *out);
/* slice.c: slice() at values that are known when a loop runs; *is_mine: it is such a one, and *out is set. False:
 * failed. */
bool ip_slice_in_loop(ip_eval *ev, const ip_node *call, ip_val *out, bool *is_mine);
/* Sorts a form's arguments into slots, one for each of its params in words.c, by position or name; required ones
 * must be there. */
bool ip_form_args(ip_eval *ev, const ip_node *call, const ip_node **slots);
/* A path as written (relative to the program's folder unless it came from the caller): new, NULL without memory. */
char *ip_eval_path(const ip_eval *ev, const ip_val *text);

/* Frees what the evaluator holds. */
void ip_eval_free(ip_eval *ev);

#endif
