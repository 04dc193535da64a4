/* SPDX-License-Identifier: MIT */
/*
 * imgpar_array: an immutable node of the graph.
 *
 * A node is created complete (ops/build.h) and never changes, except for the
 * value an evaluation leaves on it, which is guarded by lock. It has two counts:
 * handles are the user's references, edges those of other nodes and of plans. The
 * kept value goes with the last handle; the node goes when both are zero.
 *
 * Invariant: a node without error has op, type and range set, every input is a
 * node without error, and every parameter lies in its row's range.
 */
#ifndef IP_GRAPH_ARRAY_H
#define IP_GRAPH_ARRAY_H

#include "base/account.h"
#include "base/status.h"
#include "graph/op.h"
#include "io/io.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct ip_value; /* run/value.h: a buffer on the device, or host memory */

typedef struct ip_type {
    imgpar_dtype dtype;
    imgpar_space space;
    int rank;
    int64_t shape[IMGPAR_MAX_RANK];
    double white;         /* the number that is white; 0: data, which has none */
    bool is_mask;         /* white is 1, and a factor above 1 raises it (ops/white.h) */
    bool alpha_is_number; /* alpha was computed with, as in a - b: operators go on doing so (ops/coverage.h) */
} ip_type;

/* The value's smallest and largest possible element; -INFINITY, INFINITY: not known. */
typedef struct ip_range {
    double lo, hi;
} ip_range;

/* Pictures that meet in a node, in numbers that do not mean the same. */
typedef enum ip_mixture {
    IP_MIXES_PROFILES = 1, /* their profiles differ */
    IP_MIXES_WHITES = 2    /* their whites do, in a row that takes numbers as they are (IP_OP_ALIKE) */
} ip_mixture;

/* A parameter of a node. Exactly the members of its kind are meaningful. */
typedef struct ip_param {
    int input;       /* >= 0: the number is this input, a one-element array; else -1 */
    double number;   /* number, integer, bool; choice: the index of the word in the row's choices */
    char *text;      /* text; owned */
    int rows, cols;  /* vector (rows 1), matrix */
    double *numbers; /* row-major; owned */
} ip_param;

/* Where a leaf's pixels come from. Shared by reference count. */
typedef enum ip_source_kind {
    IP_SOURCE_FILE,
    IP_SOURCE_BLOB,
    IP_SOURCE_PIXELS,
    IP_SOURCE_BUFFER, /* data is an ip_buffer of run/ */
    IP_SOURCE_KERNEL  /* no leaf: data is what cl/ launches on the inputs */
} ip_source_kind;
typedef struct ip_source {
    atomic_int refs;
    ip_source_kind kind;
    ip_file file; /* FILE */
    void *data;   /* BLOB: encoded bytes, PIXELS: elements */
    size_t size_bytes;
    void (*on_release)(void *user, void *data); /* PIXELS that are borrowed; NULL: ip_free */
    void *user;
    bool borrowed;
    ip_fail_on fail_on;
    ip_format format;      /* FILE, BLOB: as its header says */
    int orientation;       /* the same */
    bool has_rows;         /* the same: it can be read row by row */
    atomic_int n_streamed; /* evaluations that have read it so; whoever comes next keeps its pixels */
    uint64_t file_id;      /* FILE: of this opening, alone in its context; else 0 */
    char *name;            /* for messages and dumps */
    ip_account *account;   /* PIXELS: which the elements count in; NULL: in none */
} ip_source;

/*
 * A loop: next[k] and until are graphs over placeholder[0..n-1]; iteration i+1
 * starts from the values of next[]. Stops after count iterations or, if there is an
 * until, when its one element is not 0 after a step. Shared by the n projections.
 */
typedef struct ip_loop {
    atomic_int refs;
    struct ip_loop_thread *runner; /* that runs it (run/loop_lock.h) and puts values on the placeholders */
    pthread_cond_t is_free;        /* there is no runner any more */
    int n_carried;
    imgpar_array **placeholder, **next; /* each an edge; same type pairwise */
    imgpar_array *until;                /* an edge, or NULL */
    int64_t count, check;               /* steps at most; until is tested after every check-th of them */
} ip_loop;

/* A JPEG decoded at 1/by of its sides, which are full pixels: `before` of the first decoded pixels stand for nothing,
 * where the image was turned. In the order height, width. by 0: not shrunk. */
typedef struct ip_shrink {
    int by;
    int64_t full[2], before[2];
} ip_shrink;

struct imgpar_array {
    atomic_int handles, edges;
    imgpar_context *ctx; /* retained; NULL in the constant error array */
    const ip_op *op;     /* NULL in error arrays */
    int n_inputs;
    imgpar_array **inputs; /* edges; params given as arrays come after the row's own inputs */
    ip_param *params;      /* op->info.n_params of them */
    ip_type type;
    ip_range range;
    /* a loop's literal-started value, or made of such and literals alone: as a literal it never widens what it meets */
    bool bends;
    ip_source *source;     /* leaves "open" and "data"; else NULL */
    ip_shrink shrink;      /* leaves that decode a JPEG smaller */
    ip_metadata *metadata; /* what is written with it where it is a picture; NULL: nothing */
    unsigned promises;     /* its own and those below it: 1 << border (ir/expr.h, Note [Promises]), IP_PROMISES_USE */
    bool is_from_file;     /* some of its pixels were decoded: without a profile they are taken for sRGB */
    unsigned mixes;        /* ip_mixture, of it or of what is below it */
    ip_loop *loop;         /* op "iterate"; param 0 is the projection; else NULL */
    uint64_t hash;         /* of op, params and the inputs' hashes: equal nodes are equal in it */

    pthread_mutex_t lock; /* guards what follows */
    struct ip_value *value;
    int n_users;        /* evaluations that rely on value, handles or not: loops (run/loop.c) */
    bool is_value_lent; /* value is there for those only, and goes with the last of them */
    imgpar_status status;
    char *message; /* owned; NULL: "" */

    /* among the arrays that keep a value, guarded by the lock of that list (run/kept.h) */
    imgpar_array *kept_older, *kept_newer;
    bool is_listed;
    uint64_t offered_bytes; /* of a value that may go when others need its room; 0: it may not */

    imgpar_array *dead_next; /* while being freed: the next one to free */
};

/* An array of the given row with room for its inputs and params; type unset. NULL without memory. One handle. */
imgpar_array *ip_array_new(imgpar_context *ctx, const ip_op *op, int n_inputs);
/* A new error array; the constant one when memory is short. Never NULL. */
imgpar_array *ip_array_error(imgpar_context *ctx, imgpar_status status, const char *message);
/* An edge to a: keeps the node, not its value. NULL is legal for release. */
imgpar_array *ip_array_hold(imgpar_array *a);
void ip_array_drop(imgpar_array *a);
/* Puts the failure of an evaluation on a (the newest replaces the one before). */
void ip_array_set_error(imgpar_array *a, imgpar_status status, const char *message);
/* What its inputs hand on, and the hash; called once when the node is complete but for these. */
void ip_array_complete(imgpar_array *a);
/*
 * Metadata of a node that has none of its own, from its inputs (inherit.c): the first picture of the same kind, gray or
 * coloured, that tells a profile hands its metadata on, else the first that has any. Numbers have none, masks yield to
 * pictures.
 */
void ip_array_inherit(imgpar_array *a);
/* What is written with a: NULL where a is no picture. Borrowed. */
const ip_metadata *ip_array_metadata(const imgpar_array *a);
enum { IP_WARNING_BYTES = 512 };
/* The warning of a or, first, of what is below it into buf, of IP_WARNING_BYTES: "blend: profiles differ: ..."; ""
 * where there is none. */
char *ip_mixture_warning(const imgpar_array *a, ip_mixture mixture, char *buf);
/* Among an array's promises: it, or what is below it, is of the row IP_USABLE. */
#define IP_PROMISES_USE (1U << 31)
/* What a loop or a function is made over: nothing but a value that an evaluation gives it. */
bool ip_array_is_placeholder(const imgpar_array *a);
/* The same in all that evaluations depend on but inputs and elements: row, parameters, type, range, loop; metadata may
 * differ. */
bool ip_array_same_alone(const imgpar_array *a, const imgpar_array *b);
/* A node of the same row, parameters, type and range with room for its inputs, of no context, with no elements and no
 * metadata; to be completed. NULL without memory. One handle. */
imgpar_array *ip_array_copy(const imgpar_array *a);
imgpar_array *ip_array_copy_in(imgpar_context *ctx, const imgpar_array *a); /* of that context */
/* Structural equality of two complete nodes whose inputs are pairwise identical pointers. */
bool ip_array_same(const imgpar_array *a, const imgpar_array *b);

void ip_source_release(ip_source *source);
/* A new PIXELS source that owns memory from ip_alloc; takes it over, also where the answer is NULL: without memory. */
ip_source *ip_source_of_pixels(void *takes, size_t size_bytes);
/* The space of an array that comes without one: u8 and u16 with 1 to 4 channels are images, the rest is data. */
imgpar_space ip_space_guess(const ip_type *type);
void ip_loop_release(ip_loop *loop);

/* The parameter called name; asserts that the row has it. */
const ip_param *ip_param_get(const imgpar_array *a, const char *name);
double ip_param_number(const imgpar_array *a, const char *name);

/* Every array as depth x height x width x channels: rank 1 is width; rank 2 height, width; rank 3 with
 * a last extent of 1..4 height, width, channels, else depth, height, width. */
void ip_type_dims(const ip_type *type, int64_t dims[4]);
/*
 * Note [Folded axes]
 * A stage has four dims. Of an array of five to eight axes the last three are height, width and channels, as of four
 * axes, and all before them are the depth together: in row-major order, so that elements lie in memory as those of the
 * array of four axes do that ip_type_folded() gives. Rows that compute element by element need not know. Views read and
 * make indices axis by axis (ip_axis_coord(), ip_view_read()): along a folded axis the index is z div step mod extent.
 * Rows that work along axes are made of themselves over reshaped arrays (ops/along.h). What places of pictures mean is
 * defined for four axes; rows that use them refuse more, by name (ip_op.info.takes_many_axes).
 */
enum { IP_OWN_DIMS = 4 }; /* so many axes have a dim each */
bool ip_type_is_folded(const ip_type *type);
/* How far apart neighbours along an axis are along its dim: 1 but for folded axes. */
int64_t ip_type_axis_step(const ip_type *type, int axis);
/* The same elements in the same order as an array of four axes; one of up to four as it is. */
ip_type ip_type_folded(const ip_type *type);
/* Refuses more elements along the depth than coordinates count, of an operation of that name. */
imgpar_status ip_type_check_folded(const ip_type *type, const char *name, ip_error *err);
/*
 * Note [Complex numbers]
 * complex64 and complex128 are dtypes of arrays; expressions and stages are real. What holds an array of them is a
 * stage of f32, or of f64, with twice as many channels, which in every pixel counts real part, imaginary part, real
 * part, ... as memory does. So fusion, narrowing, schedules and interpreter see floats, and a view or a stencil of
 * complex numbers moves pairs (ops/complex.h, ops/view.c). Where a part does not depend on the other one, the other one
 * is never computed.
 */
/* The dtype and the four dims of what holds an array's elements. */
imgpar_dtype ip_type_storage(const ip_type *type, int64_t dims[4]);
bool ip_type_is_complex(const ip_type *type);
/* Which of the four dims a shape's axis is, or is part of (Note [Folded axes]). */
int ip_type_axis_dim(const ip_type *type, int axis);
int64_t ip_type_count(const ip_type *type);
void ip_type_info(const ip_type *type, imgpar_info *out);
/* The number that means white, full or opaque in an array: its white or, where it has none, 1 for bool and floats, the
 * maximum of u8 and u16, and 255. */
double ip_type_full(const ip_type *type);
/* The white of an array that comes without one: that of its depth where ip_space_guess() finds a picture, else 0. */
double ip_white_guess(const ip_type *type);
/* "[480, 640, 3] u8" into buf (at least 96 bytes); returns buf. */
char *ip_type_text(const ip_type *type, char *buf);
char *ip_shape_text(const ip_type *type, char *buf);
/* The dtype's whole range. */
ip_range ip_range_of(imgpar_dtype dtype);
/* True for a leaf made from a literal number; *value is it. */
bool ip_array_is_number(const imgpar_array *a, double *value, bool *fractional);
/* True for that, and for what the carried values of loops that start from literals are: i64, f64 (fractional), or bool,
 * which bend to what they meet. */
bool ip_array_bends(const imgpar_array *a, bool *fractional);

/* The graph below n arrays as assignments of the pipeline language. New string, NULL without memory. */
char *ip_graph_unparse(imgpar_array *const *arrays, size_t n);

#endif
