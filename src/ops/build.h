/* SPDX-License-Identifier: MIT */
/*
 * Building nodes: the one door through which C wrappers, the language, SQL and
 * recipes make arrays. Arguments are checked against the row; defaults are filled
 * in; type and range are inferred. Building opens no device and computes nothing.
 *
 *     ip_arg args[] = { ip_arg_array(photo), { .name = "sigma", .kind = IP_ARG_NUMBER, .number = 2 } };
 *     imgpar_array *soft = ip_build(ctx, ip_op_find("blur"), args, 2);
 */
#ifndef IP_OPS_BUILD_H
#define IP_OPS_BUILD_H

#include "graph/array.h"
#include "graph/op.h"

typedef enum ip_arg_kind { IP_ARG_ARRAY, IP_ARG_NUMBER, IP_ARG_BOOL, IP_ARG_TEXT, IP_ARG_MATRIX } ip_arg_kind;

/* One argument of a call. Positional ones (name NULL) come first: the row's inputs, then its params. */
typedef struct ip_arg {
    const char *name;
    ip_arg_kind kind;
    bool unknown;        /* checking only: the value is not known yet (a number or an array to come) */
    imgpar_array *array; /* borrowed */
    double number;       /* NUMBER, BOOL */
    bool fractional;     /* NUMBER: written with a point or exponent, or computed by / : makes integers f32 */
    const char *text;    /* TEXT; also choices */
    int rows, cols;      /* MATRIX; a vector has rows 1 */
    const double *numbers;
} ip_arg;

static inline ip_arg ip_arg_array(imgpar_array *a) { return (ip_arg){ .kind = IP_ARG_ARRAY, .array = a }; }
static inline ip_arg ip_arg_number(double v) { return (ip_arg){ .kind = IP_ARG_NUMBER, .number = v }; }

/* The row called name or having that alias; NULL. Finds hidden rows and operators too. */
const ip_op *ip_op_find(const char *name);
/* The operator row written with this symbol and this many inputs ("-" 1: negation); NULL. */
const ip_op *ip_op_find_symbol(const char *symbol, int n_inputs);
/* Up to three near names for a misspelt one, comma-separated into the size bytes of buf, cut where they do not fit:
 * "blur, boxblur"; "" if there are none. Returns buf. */
char *ip_op_near(const char *name, char *buf, size_t size);
/* Could name be other, misspelt? */
bool ip_is_near(const char *name, const char *other);

/* Names, kinds and ranges of a call, without looking at arrays' types. Messages start with the op's name.
 * *bad_arg (may be NULL) gets the index of the argument at fault, or -1. */
imgpar_status ip_check_call(const ip_op *op, const ip_arg *args, int n, int *bad_arg, ip_error *err);
/* What the row says of the type of a call that ip_check_call() accepts, where that depends on nothing else: of rows
 * without inputs, all of whose arguments are known. IMGPAR_OK for all other calls. */
imgpar_status ip_check_type(const ip_op *op, const ip_arg *args, int n, ip_error *err);
/* A new array, an error array on any failure. The first error among array arguments is passed on. */
imgpar_array *ip_build(imgpar_context *ctx, const ip_op *op, const ip_arg *args, int n);
/* Options as text ("sigma=2, border=wrap") to named arguments; used by imgpar_op() and SQL. */
imgpar_array *ip_build_text(imgpar_context *ctx, const ip_op *op, imgpar_array *const *inputs, size_t n_inputs,
                            const char *options);
/* The same behind up to IP_MAX_SLOTS positional arguments of any kind. */
imgpar_array *ip_build_with_text(imgpar_context *ctx, const ip_op *op, const ip_arg *args, int n, const char *options);

/* Of a list that stands beside an array: like literals its numbers bend, so it is the array's where that holds them. */
imgpar_dtype ip_list_dtype(const double *numbers, int n, imgpar_dtype beside);
/* Whether n numbers are those of the colours of a picture that has alpha, too. */
bool ip_list_is_of_colours(int n, const ip_type *beside);
/* Leaves. A number is a one-element array that never widens other operands. */
imgpar_array *ip_build_number(imgpar_context *ctx, double value, bool fractional);
/* metadata: of an encoded image, taken; may be NULL. */
imgpar_array *ip_build_source(imgpar_context *ctx, const ip_op *op, ip_source *takes_source, const ip_header *header,
                              ip_metadata *takes_metadata);
/* A placeholder of the given type, for loop bodies. */
imgpar_array *ip_build_placeholder(imgpar_context *ctx, const ip_type *type);
/* A literal that a loop's carried value starts from, in the widest dtype, and the placeholder of such a value, which
 * bends (array.h); its range where that is known, else NULL. */
imgpar_array *ip_build_loop_start(imgpar_context *ctx, double value, bool fractional);
imgpar_array *ip_build_loop_value(imgpar_context *ctx, bool fractional, const ip_range *range);
/* n projections of a loop into out[] (new arrays; all error arrays on failure). Borrows everything.
 * next[k] must have the type of placeholder[k]; until one element, or NULL; it is
 * tested after every check-th step. */
void ip_build_loop(imgpar_context *ctx, int n, imgpar_array *const *initial, imgpar_array *const *placeholder,
                   imgpar_array *const *next, imgpar_array *until, int64_t count, int64_t check, imgpar_array **out);

/* What stands for value k within the step of iterate() whose until is of each element, `level` such loops deep, and the
 * n values behind it, as out[]. starts are arrays of that type, or numbers, until has its shape: stages_iterate.c. */
imgpar_array *ip_build_carried(imgpar_context *ctx, const ip_type *type, int k, int level);
void ip_build_settled(imgpar_context *ctx, int n, imgpar_array *const *starts, imgpar_array *const *next,
                      imgpar_array *const *carried, imgpar_array *until, int64_t count, int level, imgpar_array **out);

/* Folds every element of a into one with a function whose order is free (associative.h): body is a graph over the
 * one-element placeholders p and q, both of a's dtype, and gives an element of that dtype.
 * associative: the caller says so of it. */
imgpar_array *ip_build_fold(imgpar_context *ctx, imgpar_array *a, double init, imgpar_array *p, imgpar_array *q,
                            imgpar_array *body, bool associative);

/* A scan along axis (its row's params) with any function; the result has a's shape. */
typedef struct ip_scan_options {
    int axis;
    bool exclusive, reverse;
    bool associative; /* the caller says that the function is, and that init is its identity */
} ip_scan_options;
imgpar_array *ip_build_scan_fold(imgpar_context *ctx, imgpar_array *a, double init, const ip_scan_options *options,
                                 imgpar_array *p, imgpar_array *q, imgpar_array *body);

/* The same of n states and elements of m arrays of one shape. inits are numbers, or arrays of the state's dtype, of one
 * element or broadcast to what the axis leaves of the shape; p[n] and q[m] are one-element placeholders of the states
 * and of an element, body[n] graphs over them of the states' dtypes. n arrays as out[] (all error arrays on failure).
 * Borrows everything. An associative function takes other states for elements. */
typedef struct ip_states {
    const char *form; /* for messages: scan or reduce */
    int n, m;
    imgpar_array *const *elements, *const *inits, *const *p, *const *q, *const *body;
} ip_states;
void ip_build_scan_states(imgpar_context *ctx, const ip_states *states, const ip_scan_options *options,
                          imgpar_array **out);

/* A coordinate (axis: dim 0..3 = z y x c) as an i32 array of the given shape (dtype ignored). */
imgpar_array *ip_build_coordinate(imgpar_context *ctx, int dim, const ip_type *shape);
/* Whether an element of this shape is none of the `before` first and `behind` last ones along dim, as bool. */
imgpar_array *ip_build_inside(imgpar_context *ctx, int dim, int64_t before, int64_t behind, const ip_type *shape);

#endif
