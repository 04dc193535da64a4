/* SPDX-License-Identifier: MIT */
/*
 * One operation: the public facts of its row (names, parameters, formula,
 * tolerance, example) and the two functions behind it. infer() is called when a
 * node is built, lower() when a plan is made. Rows are written in ops/ops.def.
 * lang/ builds syntax of its own from some by name: lists are numbers() there.
 */
#ifndef IP_GRAPH_OP_H
#define IP_GRAPH_OP_H

#include <imgpar.h>
#include "base/status.h"

struct ip_lower;
struct ip_stage;

typedef struct ip_op ip_op;

enum {
    IP_OP_ELEMENTWISE = 1, /* inputs broadcast, and may be numbers; coordinates x y z c take its shape */
    IP_OP_OPERATOR = 2,    /* promotes as operators do (ops/types.def); written as symbol, where it has one */
    IP_OP_HIDDEN = 4,      /* made by the library itself; not in lists, not callable by name from text */
    IP_OP_FILE = 8,        /* touches files: refused in SQL, recipes and imgpar_apply_safe() */
    IP_OP_VIEW = 16,       /* moves elements and computes nothing: a chain of such is one index map (ops/view.h) */
    IP_OP_COMPLEX = 32,    /* computes with complex numbers; the others refuse them */
    /* linear in each of its inputs that may be complex: made of the parts (ops/complex_linear.c) */
    IP_OP_LINEAR = 64,
    IP_OP_BRANCH = 128, /* input 0 tells which of the others is the value; where it is one number: run/branches.c */
    IP_OP_APART = 256,  /* has kernels of its own (ir/opaque.h): what it computes is in memory, whoever reads it */
    IP_OP_ALIKE = 512, /* adds, subtracts or compares its inputs, which are to be on one scale: graph/inherit.c warns */
    IP_OP_ANY_RANK = 1024, /* computes wherever elements lie: takes as many axes as there can be, as views do */
    IP_OP_ALONG = 2048,    /* works along the axes that its parameter axis names, or along the first (ops/along.h) */
    IP_OP_PLACES = 4096,   /* element-wise, but of places of a picture: takes up to four axes */
    IP_OP_BATCH = 8192,    /* computes with matrices in the last two axes, those before are a batch (ops/along.h) */
    IP_OP_PART = 16384,    /* hidden, but texts may call it: those of written rows, and of graphs (graph/unparse.c) */
    IP_OP_LOOKS = 32768,   /* its type is told by elements of an input, not by the input's type alone */
    IP_OP_FINITE = 65536,  /* the elements of its last input must be finite, as a node of the row IP_USABLE checks */
    IP_OP_USABLE = 131072  /* that row: run/usable.c looks at its input before what reads it is computed */
};
/* What info.takes_complex is, and info.takes_many_axes. */
#define IP_OP_TAKES_COMPLEX(flags) (((flags) & (IP_OP_COMPLEX | IP_OP_LINEAR)) != 0)
#define IP_OP_TAKES_MANY_AXES(flags)                                                                   \
    (((flags) & (IP_OP_ELEMENTWISE | IP_OP_VIEW | IP_OP_ANY_RANK | IP_OP_ALONG | IP_OP_BATCH)) != 0 && \
     ((flags)&IP_OP_PLACES) == 0)

/* The row whose input everything behind it depends on: a few numbers that must be usable (ops/usable.h). */
#define IP_USABLE "usable"
/* The row that joins the arrays of a row that takes more than its one (lexsort), which takes them apart. */
#define IP_KEYS "keys"
/* The row that tells where the different values of a vector stand (ops/distinct.h). */
#define IP_DISTINCT "distinct"
/* The rows that make a hash table of keys and look elements up in it (ops/key_table.h). */
#define IP_KEY_TABLE "key_table"
#define IP_KEY_PLACES "key_places"
/* The row that tells the elements at some places of the order (ops/nth.h). */
#define IP_NTH "nth"

struct ip_op {
    imgpar_op_info info;
    unsigned flags;
    int variant;        /* tells the members of a family apart, for infer and lower */
    const char *symbol; /* operators: how the language writes it ("+", "<", "?:"); else NULL */
    /* Sets node->type and node->range from its inputs and parameters, or fails. */
    imgpar_status (*infer)(imgpar_array *node, ip_error *err);
    /* Makes the stages that compute the node and returns the one holding its value; NULL: failed (l->err). */
    struct ip_stage *(*lower)(struct ip_lower *l);
    /* Derived rows, which have no lower: a new array that stands for a node that infer() has accepted, made of other
     * rows. */
    imgpar_array *(*expand)(const imgpar_array *call);
};

/* The kind of a parameter, from the first letter of its public type. */
typedef enum ip_param_kind {
    IP_PARAM_NUMBER = 'n',
    IP_PARAM_INTEGER = 'i',
    IP_PARAM_BOOL = 'b',
    IP_PARAM_TEXT = 't',
    IP_PARAM_CHOICE = 'c',
    IP_PARAM_VECTOR = 'v',
    IP_PARAM_MATRIX = 'm'
} ip_param_kind;
static inline ip_param_kind ip_param_kind_of(const imgpar_op_param *p) { return (ip_param_kind)p->type[0]; }

#endif
