/* SPDX-License-Identifier: MIT */
/*
 * A stage is one value of a plan: a domain of elements and the expression that
 * computes each. A node of the graph lowers to one or more stages. Domains have
 * four extents, depth height width channels, whatever the array's rank.
 *
 * Invariant: stages are listed in an ip_ir with every stage after the ones it
 * loads from.
 */
#ifndef IP_IR_STAGE_H
#define IP_IR_STAGE_H

#include "ir/expr.h"

#include <stddef.h>

/*
 * Note [Recurrences]
 * A SCAN walks every line of its domain along `axis`, from the first element to the last, or where `backward` from the
 * last to the first. It carries n states, each in a dtype of its own, which are never rounded to the stage's dtype:
 *     body     of a state: its new value, over ACC 0 .. n - 1 (all states after the element before) and loads at
 *              coordinates of the element
 *     init     of a state: its value before the first element of the line; its coordinates are that element's
 *     finish   the element that is stored, over ACC 0 .. n - 1 (the new states) and ACC n .. 2 n - 1 (those before: an
 *              exclusive scan is finish = ACC n), and loads at its own place
 * A recurrence of order n has the last n elements for states: body of state k > 0 is ACC k - 1.
 * Lines are independent, so they may be walked in any order; a line is walked as it says, with one exception:
 *     combine  of a state, where all have one: it joins the states after some elements (ACC 0 .. n - 1) with those
 *              after the ones that follow, begun from init (ACC n .. 2 n - 1); the inits are its identity and read
 *              nothing
 * Lines of more than IP_SCAN_LONG elements are then walked in blocks of IP_SCAN_BLOCK: each block is walked from init
 * for its total; the first block's carry is init, the next one's combine(carry, total); then each block is walked
 * from its carry. This order depends on the line's length alone, so floats are the same for all who compute it.
 */
enum { IP_SCAN_LONG = 32768, IP_SCAN_BLOCK = 2000 };

/* A state of a SCAN, in the dtype of its body. */
typedef struct ip_state {
    ip_expr *body, *init, *combine;
} ip_state;

/* The order counts: those before MAP exist already, and "< MAP", "<= MAP" is asked. */
typedef enum ip_stage_kind {
    IP_STAGE_SOURCE,    /* pixels that exist: a leaf, or a value kept by an array */
    IP_STAGE_TABLE,     /* a short constant array of the compiler's own (weights, positions), dims 1 1 n 1 */
    IP_STAGE_MAP,       /* body at every element of dims */
    IP_STAGE_REDUCE,    /* body at every element of `over`, folded to one element */
    IP_STAGE_HISTOGRAM, /* body, an i32 bin, at every element of `over`: counts[c][bin]; bins outside are skipped.
                         * dims 1 channels bins 1, dtype u32 */
    IP_STAGE_BY_KEY,    /* body, a list of a value of acc_dtype and an i32 key, at every element of `over`: of each key
                         * and channel the values folded; made by compile/by_key.c alone, Note [Folds by keys] there */
    IP_STAGE_SCAN,      /* a recurrence along one axis of dims; Note [Recurrences] */
    IP_STAGE_OPAQUE     /* computed by hand-written kernels: ir/opaque.h */
} ip_stage_kind;

typedef struct ip_opaque ip_opaque;

/* A part of a domain; channels are never cut. */
typedef struct ip_region {
    int64_t z0, z1, y0, y1, x0, x1;
} ip_region;

static inline bool ip_region_is_empty(const ip_region *r) { return r->z1 <= r->z0 || r->y1 <= r->y0 || r->x1 <= r->x0; }

typedef enum ip_reduce { IP_REDUCE_SUM, IP_REDUCE_MIN, IP_REDUCE_MAX, IP_REDUCE_CUSTOM } ip_reduce;

/* A random word for each element (ops/stages_generators.c), of which those beside each other share what makes them:
 * compile/emit_random.c. */
typedef struct ip_random {
    ip_expr *body; /* what the stage's was made as; where it is another, nothing is known of the stage */
    ip_expr *row;  /* u32: the place of the first word of the element's row; words follow each other by channels */
    ip_expr *stream, *key[2];
    int pair; /* 0: the word at the element's place; 1, 2: the first, the second one of the two where it stands */
} ip_random;

typedef struct ip_stage {
    ip_stage_kind kind;
    int id;             /* position in ir->stages */
    imgpar_dtype dtype; /* as stored */
    int64_t dims[4];
    ip_expr *body; /* MAP, HISTOGRAM (i32), REDUCE (acc_dtype), BY_KEY (a list) */
    double lo, hi; /* range of the elements */
    /* REDUCE, HISTOGRAM, BY_KEY */
    int64_t over[4];
    ip_reduce reduce;
    /* MIN of SELECT(test, place, identity): a lower bound of the places of this element and of all later ones, which
     * never falls. A fold skips a block whose bound is not below the minimum so far. NULL: not known */
    ip_expr *least_place;
    imgpar_dtype acc_dtype; /* U64 I64 F32 F64, or for MIN, MAX, CUSTOM the body's; SCAN: of state 0 */
    ip_expr *init;          /* CUSTOM: the identity; SCAN; BY_KEY: what each result begins with, NULL: nothing */
    int block;              /* BY_KEY: columns that have results of their own; 0: there are none */
    ip_expr *keys;          /* BY_KEY: an argument, how many keys there are; others belong to none */
    ip_expr *combine;       /* CUSTOM: over ACC 0 and ACC 1; SCAN: NULL where the order is fixed */
    ip_expr *finish;        /* over ACC 0: the element, of the stage's dtype; SCAN: over all states */
    /* SCAN; body, init and combine are those of state 0 */
    int axis; /* 0..3: z y x c */
    bool backward;
    int n_more;     /* states 1 and up: */
    ip_state *more; /* in the arena */
    /* TABLE */
    const void *table; /* dims[2] elements, owned by the ir */
    bool is_rising;    /* no element is less than the one before it; of I32 only */
    /* OPAQUE */
    const ip_opaque *opaque;
    /* where it comes from */
    const imgpar_array *node;      /* borrowed; the graph node it belongs to (for SOURCE: whose pixels) */
    struct ip_value *value;        /* SOURCE: its pixels, pinned by the plan; NULL: the run finds them by node */
    const imgpar_array **absorbed; /* nodes whose stages were inlined into this one, in order; in the arena */
    int n_absorbed;
    const struct ip_view *view; /* how a MAP that computes nothing moves elements (ops/view.h), so that a reader that
                                 * moves them again composes both; in the arena; NULL: not known */
    const ip_random *random;    /* of a MAP; in the arena; NULL: its elements are no random words */
    int window;                 /* of the row "taps": 1 + the window that it stands for; 0: none */
    bool of_taps;               /* depends on a tap whose window is not within it: a part of a function of around() */
    bool is_output;             /* asked for: must end in memory */
    int look;               /* of a fold that others read, in plans of looks: its number, from 1 (compile/looks.c) */
    const ip_region *shown; /* of an output: the box of dims that is the result (compile/frame.c); NULL: all of it */
    const char *note;       /* "vertical pass": for readers of generated code; NULL: none */
} ip_stage;

struct ip_ir {
    ip_stage **stages;
    int n_stages, stages_capacity;
    struct ip_arena_chunk *arena; /* stages, expressions, texts: all is freed with the ir */
    ip_expr **table;              /* of all expressions, chained by hash; its size is a power of two */
    size_t table_size, n_exprs;
    int n_windows;                /* numbers of windows and loops that are taken */
    struct ip_loops *loops;       /* those that were made: loop.c */
    struct ip_adjoints *adjoints; /* of losses that were differentiated: ops/adjoint.c */
    bool keeps_promises;          /* of reads that stay inside: expr.h, Note [Promises] */
    bool keeps_windows;           /* around() folds what is lowered now: its own windows are loops, however small */
    bool failed;                  /* memory ran out */
};

/* A new IR, NULL without memory. */
ip_ir *ip_ir_new(void);
void ip_ir_free(ip_ir *ir);
/* Zeroed memory that lives as long as ir; NULL (and ir->failed) without memory. */
void *ip_ir_alloc(ip_ir *ir, size_t count, size_t size_bytes);

/* A new stage at the end of the list; NULL (and ir->failed) without memory. Range starts as the dtype's. */
ip_stage *ip_stage_new(ip_ir *ir, ip_stage_kind kind, imgpar_dtype dtype, const int64_t dims[4],
                       const imgpar_array *node);
bool ip_stage_folds(const ip_stage *stage);      /* REDUCE, HISTOGRAM, BY_KEY: all of `over` makes few elements */
ip_region ip_stage_shown(const ip_stage *stage); /* what of dims is the result, where it is one */
/* Elements of a domain. */
static inline double ip_dims_count(const int64_t dims[4])
{
    return (double)dims[0] * (double)dims[1] * (double)dims[2] * (double)dims[3];
}
/* the extents of what body is computed for: `over` of those, else `dims` */
const int64_t *ip_stage_domain(const ip_stage *stage);
/* Common subexpressions: where an earlier stage computes the same as the last one that was added, the last one is
 * removed and the earlier one returned; else the last one. Nothing may read the last one yet. For MAP and REDUCE. */
ip_stage *ip_stage_once(ip_ir *ir, ip_stage *last);
/* Moves a stage that was made later to place: before what shall read it. */
void ip_stage_move(ip_ir *ir, ip_stage *stage, int place);
/* A table of n f32, f64 or i32 elements; copies data. */
ip_stage *ip_stage_table(ip_ir *ir, imgpar_dtype dtype, int64_t n, const void *data);
/* Whether x is an element of a table. */
static inline bool ip_x_is_of_table(const ip_expr *x)
{
    return x->op == IP_X_LOAD && x->source->kind == IP_STAGE_TABLE;
}
/* table[index], index an i32 expression inside 0..n-1. */
ip_expr *ip_table_at(ip_ir *ir, ip_stage *table, ip_expr *index);
/* Whether what is known of a stage of random words holds. */
static inline bool ip_stage_is_random(const ip_stage *stage)
{
    return stage->random && stage->random->body == stage->body && stage->dtype == IMGPAR_U32;
}
/* The states of a SCAN: how many, and one of them. */
static inline int ip_stage_states(const ip_stage *scan) { return 1 + scan->n_more; }
ip_state ip_stage_state(const ip_stage *scan, int k);
/* Sets a SCAN's states, or all that it carries along which axis. */
void ip_stage_set_states(ip_ir *ir, ip_stage *scan, const ip_state *states, int n);
void ip_stage_take_states(ip_ir *ir, ip_stage *scan, const ip_stage *from);
/* Whether two carry the same. */
bool ip_stage_has_same_states(const ip_stage *a, const ip_stage *b);
/* Leaves out of a SCAN the states on which its elements do not depend. */
void ip_stage_drop_states(ip_ir *ir, ip_stage *scan);
/* All expressions of a stage but least_place, body first; returns how many. */
enum { IP_STAGE_PARTS = 1 + 3 * IP_SCAN_STATES };
int ip_stage_parts(ip_stage *stage, ip_expr **parts[IP_STAGE_PARTS]);
int ip_stage_exprs(const ip_stage *stage, ip_expr *exprs[IP_STAGE_PARTS]);
bool ip_stage_computes(const ip_stage *stage); /* MAP, SCAN, folds */
/* Every load of a MAP, a SCAN's or a fold's expressions. */
void ip_stage_each_load(ip_ir *ir, const ip_stage *stage, void (*fn)(ip_expr *load, void *user), void *user);
/* By stage id, how often it is read by what is asked for and what that is made of: loads, and inputs of opaque stages.
 * In the arena; NULL (and ir->failed) without memory. */
int *ip_ir_count_reads(ip_ir *ir);
/* Whether a stage is asked for, or read by what is. Others are left behind by views, which are composed. */
static inline bool ip_stage_is_live(const ip_stage *stage, const int *n_reads)
{
    return stage->is_output || n_reads[stage->id] > 0;
}
/* Operations of an element: of its body, of a SCAN's of all states. */
int ip_stage_size(ip_ir *ir, const ip_stage *stage);
/* In how many blocks the lines of a SCAN are walked; 1: none are. */
int64_t ip_stage_blocks(const ip_stage *scan);

/* Whether kernels and the interpreter give the same bits (but for the signs and payloads of NaNs) on a device that is
 * as exact in DIV and has our functions. What expressions mean is settled to the bit; left open are the order in which
 * a REDUCE takes floats (of a sum its last bits, of an extreme the sign of zero), the last bits of their floored
 * remainders, and what opaque stages do. */
bool ip_ir_is_exact(ip_ir *ir);

/* Checks types, ranges and order of everything; the first violation as a message in err. */
imgpar_status ip_ir_verify(ip_ir *ir, ip_error *err);
/* Text of the whole list, for IMGPAR_DUMP and tests. */
struct ip_str;
void ip_ir_print(const ip_ir *ir, struct ip_str *out);

#endif
