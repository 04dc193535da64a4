/* SPDX-License-Identifier: MIT */
/*
 * The kernel IR: what one element of a stage is, as an immutable expression.
 *
 * Expressions are hash-consed: two equal ones are the same pointer. They live in
 * an ip_ir and are freed with it. Builders never return NULL: when memory is
 * short they return a harmless expression and set ir->failed, which the pass
 * checks once at its end.
 *
 * SEMANTICS, which no rewrite may break and which the reference interpreter and
 * every schedule follow to the bit:
 *  - Every expression has a dtype, never f16: loads of f16 give f32, and a stage of
 *    f16 rounds where it is stored. Conditions are BOOL, 0 or 1.
 *  - Integer arithmetic wraps in its dtype (two's complement). The operands of a
 *    binary operation have its dtype (comparisons: their own common one).
 *  - ADD SUB MUL FMA and casts of floats are correctly rounded, to nearest even. DIV (floats)
 *    is as the device does it. Nothing is contracted or reassociated.
 *  - IDIV and MOD floor; by zero they give 0.
 *  - SHL and SHR take their count modulo the width; SHR of signed is arithmetic.
 *  - MEAN of integers is (a + b + 1) >> 1, of a sum that does not wrap.
 *  - MIN and MAX of floats: if one operand is NaN, the other one; of a zero and its negative the second.
 *  - CAST between integers wraps; float to integer truncates, and its operand must be in
 *    range (use SATURATE otherwise); to BOOL: != 0.
 *  - SATURATE converts to an integer dtype: to nearest, ties to even, clamped; NaN gives 0.
 *  - SELECT computes the chosen one of two values; both may be computed.
 *  - Ranges [lo, hi] are sound: no value lies outside. For floats an infinite range also
 *    admits NaN; a finite one does not.
 */
#ifndef IP_IR_EXPR_H
#define IP_IR_EXPR_H

#include "base/dtype.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ip_stage;
typedef struct ip_ir ip_ir;
typedef struct ip_expr ip_expr;

/*
 * The order counts: leaves up to ACC; binary ADD to ATAN2 with operands of the result's dtype, AND to SHR of no
 * floats; comparisons LT to NE; roundings FLOOR to TRUNC; functions between SQRT and ISNAN; and from WINDOW on what has
 * steps of its own. ip_x_is_function(), ip_x_is_repeated(), verify.c, rules.c and narrow.c compare with these ends.
 */
typedef enum ip_xop {
    /* leaves */
    IP_X_CONST, /* a number written into the program: .i for integers and BOOL, .f for floats */
    IP_X_PARAM, /* a number that is an argument of the kernel; its value is in .i or .f, too */
    IP_X_COORD, /* i32; .axis 0..3: z y x c of the element being computed */
    IP_X_TAP,   /* i32; .axis 0, 1: row, column within the enclosing window .window */
    IP_X_STATE, /* value .axis that the enclosing loop .window carries, before a step: Note [Loops of an element] */
    IP_X_ACC,   /* .axis 0 the accumulated, 1 the incoming value of a reduction; states of a recurrence (stage.h) */
    /* reading a stage: arg[0..3] i32 indices z y x c; arg[4] the outside value (border CONSTANT) */
    IP_X_LOAD,
    /* index arithmetic: arg[0] an index, arg[1] the extent; .border tells the rule: the index inside */
    IP_X_BORDER,
    /* binary */
    IP_X_ADD,
    IP_X_SUB,
    IP_X_MUL,
    IP_X_DIV,
    IP_X_IDIV,
    IP_X_MOD,
    IP_X_MIN,
    IP_X_MAX,
    IP_X_AND,
    IP_X_OR,
    IP_X_XOR,
    IP_X_MEAN,
    IP_X_SHL,
    IP_X_SHR,
    IP_X_POW,
    IP_X_NEXTAFTER,
    IP_X_ATAN2,
    IP_X_LT,
    IP_X_LE,
    IP_X_EQ,
    IP_X_NE,
    /* ternary */
    IP_X_SELECT, /* arg[0] ? arg[1] : arg[2] */
    IP_X_FMA,    /* arg[0] * arg[1] + arg[2], rounded once */
    /* unary */
    IP_X_NEG,
    IP_X_ABS,
    IP_X_NOT, /* NOT: bitwise; of BOOL logical */
    IP_X_FLOOR,
    IP_X_CEIL,
    IP_X_RINT,
    IP_X_TRUNC,
    IP_X_SQRT,
#define FUNCTION(OP, NAME, F64) IP_X_##OP,
#include "ir/functions.def"
#undef FUNCTION
    IP_X_ISNAN,
    IP_X_CAST,
    IP_X_SATURATE,
    /* a window too large to write out: folds arg[0] over TAP rows x columns with .fold, top row first, left to
     * right; FMA, of floats: acc = fma(arg[1], arg[0], acc) from -0, so the first product comes out as it is */
    IP_X_WINDOW,
    /* Note [Loops of an element] */
    IP_X_LIST,   /* arg[0], and behind it the list arg[1], where there is one */
    IP_X_LOOP,   /* arg[0] list of starts, arg[1] list of what a step makes of them, arg[2] until, arg[3] count, i32 */
    IP_X_RESULT, /* value .axis that the loop arg[0] ends with */
    IP_X_N
} ip_xop;

/*
 * Note [Loops of an element]
 * A LOOP carries values, each in its dtype, for one element: from its starts it takes `count` steps, fewer where until
 * holds behind one. What a step makes, and until of what it made, are expressions over STATE, of the loop's own number.
 * Lists are chains. A RESULT is one of the values at the end, so what reads several shares the loop. What is read at a
 * place that depends on a STATE is a gather. Elements next to each other may take steps together, as long as those that
 * have ended keep their values (compile/emit_loop.c).
 */

/*
 * Note [Promises]
 * border=checked and border=unchecked say that nothing beyond the edges is read. Neither is a rule that a kernel has:
 * what is built with one reads by REPLICATE, so that what was promised wrongly reads no foreign memory. Where promises
 * are checked (ip_ir.keeps_promises: compile/promises.c) the LOAD or BORDER has it in its axis, else 0.
 */

/* Whether it is a row of functions.def; these stand between SQRT and ISNAN. */
static inline bool ip_x_is_function(ip_xop op) { return op > IP_X_SQRT && op < IP_X_ISNAN; }

typedef enum ip_fold { IP_FOLD_SUM, IP_FOLD_MIN, IP_FOLD_MAX, IP_FOLD_FMA, IP_FOLD_PRODUCT } ip_fold;

/* A border rule of imgpar_border, or: the index is known to be inside. */
enum { IP_BORDER_NONE = -1 };

/* Whether a rule is one of Note [Promises]. */
static inline bool ip_is_promise(int border)
{
    return border == IMGPAR_BORDER_CHECKED || border == IMGPAR_BORDER_UNCHECKED;
}

#define IP_X_MAX_ARGS 5

/* repeat() so many times, at most, stands in a program's text, which has loops for it (compile/emit_repeat.c). */
enum { IP_FEW_TIMES = 4 };

enum { /* bits 0..3: the coordinates z y x c */
       IP_USES_Z = 1 << 0,
       IP_USES_Y = 1 << 1,
       IP_USES_X = 1 << 2,
       IP_USES_C = 1 << 3,
       IP_USES_COORDS = 15,
       IP_USES_TAP = 16,
       IP_USES_ACC = 32
};

struct ip_expr {
    ip_xop op;
    imgpar_dtype dtype;
    int n_args;
    ip_expr *arg[IP_X_MAX_ARGS];
    int64_t i;               /* CONST, PARAM of integers (u64: the bits) */
    double f;                /* CONST, PARAM of floats */
    int axis;                /* COORD, TAP, ACC, STATE, RESULT; LOAD, BORDER: Note [Promises] */
    int window;              /* TAP, WINDOW, STATE, LOOP: which window or loop; none stands within one of its number */
    int taps_y, taps_x;      /* WINDOW */
    ip_fold fold;            /* WINDOW */
    int border;              /* LOAD, BORDER: imgpar_border or IP_BORDER_NONE */
    struct ip_stage *source; /* LOAD */
    double lo, hi;           /* range */
    unsigned char uses;      /* what it depends on: IP_USES_* */
    unsigned id;             /* dense, in order of creation: arguments have smaller ones */
    uint64_t hash;
    ip_expr *next; /* in the hash table */
};

/* Whether both give the same, with arguments of the kernel that have the same numbers now; NULL is the same as NULL.
 * Large ones may be the same and are not found to be. */
bool ip_x_is_same(const ip_expr *a, const ip_expr *b);

/* ---- builders ---------------------------------------------------------------- */

ip_expr *ip_x_int(ip_ir *ir, imgpar_dtype dtype, int64_t value);  /* integers, BOOL */
ip_expr *ip_x_float(ip_ir *ir, imgpar_dtype dtype, double value); /* F32 (rounded), F64 */
/* Either, by dtype; the value is rounded to it. */
ip_expr *ip_x_number(ip_ir *ir, imgpar_dtype dtype, double value);
/* An argument of the kernel: the program does not depend on value, only on [lo, hi], but where it decides a comparison
 * of columns (compile/pieces.c, Note [Deciding by arguments]). Never merged with another expression; stages with equal
 * arguments may be (ip_stage_once()), since a plan is kept for equal parameters only (run/plans.c). */
ip_expr *ip_x_param(ip_ir *ir, imgpar_dtype dtype, double value, double lo, double hi);
/* As ip_x_param() for an i64 given exactly. */
ip_expr *ip_x_param_i64(ip_ir *ir, int64_t value);
/* The number of a CONST as an argument in [lo, hi], cut to what the dtype holds. */
ip_expr *ip_x_param_of(ip_ir *ir, const ip_expr *number, double lo, double hi);
/* extent is the domain's size along axis, for the range only. Of z, y and x that is a class, since programs depend on
 * it: up to 32768, up to 2^24, more. Channels are few and have their own number. */
ip_expr *ip_x_coord(ip_ir *ir, int axis, int64_t extent);
ip_expr *ip_x_acc(ip_ir *ir, int which, imgpar_dtype dtype);
/* The border rule is left out, and the value outside, where ranges tell that all indices are inside. So a program may
 * depend on the size of what it reads: a[i] of bytes i is one program for 256 elements or more, another for fewer. */
ip_expr *ip_x_load(ip_ir *ir, struct ip_stage *source, ip_expr *const index[4], int border, ip_expr *outside);
/* The element of source that is so many columns beside the own one. */
ip_expr *ip_x_beside(ip_ir *ir, struct ip_stage *source, int by, int border);
ip_expr *ip_x_border(ip_ir *ir, int border, ip_expr *index, ip_expr *extent);
/* Operands must have one dtype; comparisons give BOOL. Constants are folded. */
ip_expr *ip_x_binary(ip_ir *ir, ip_xop op, ip_expr *a, ip_expr *b);
ip_expr *ip_x_unary(ip_ir *ir, ip_xop op, ip_expr *a);
ip_expr *ip_x_cast(ip_ir *ir, imgpar_dtype dtype, ip_expr *a);     /* a itself when it has the dtype */
ip_expr *ip_x_saturate(ip_ir *ir, imgpar_dtype dtype, ip_expr *a); /* to F32/F64: a cast */
ip_expr *ip_x_select(ip_ir *ir, ip_expr *condition, ip_expr *yes, ip_expr *no);
ip_expr *ip_x_fma(ip_ir *ir, ip_expr *a, ip_expr *b, ip_expr *c);

/* A fold over rows x columns of taps. Small windows are written out, larger ones become IP_X_WINDOW.
 * body(ir, ty, tx, user) gives the value at a tap, weight(...) the weight (FMA; else NULL); ty and tx are i32
 * expressions from 0. */
typedef ip_expr *(*ip_tap_fn)(ip_ir *ir, ip_expr *ty, ip_expr *tx, void *user);
ip_expr *ip_x_window(ip_ir *ir, ip_fold fold, int taps_y, int taps_x, ip_tap_fn body, ip_tap_fn weight, void *user);
/* Windows of up to this many taps are written out; sums of integers along one axis, which can be carried from one
 * element to the next, up to fewer. */
enum { IP_UNROLLED_TAPS = 64, IP_UNROLLED_ROWS = 8, IP_UNROLLED_COLUMNS = 31 };
/* A function of around() is, up to so many operations in all; windows within it, up to so many taps. */
enum { IP_UNROLLED_OPERATIONS = 128, IP_UNROLLED_INSIDE = 3 };
/* The operation that folds one more value in: FMA takes a weight, too. */
ip_xop ip_fold_op(ip_fold fold);

/* A window that several expressions share: its number, the row (axis 0) or column (1) of its tap, 0 where there is one
 * only, and the fold of body, an expression of these taps, over it. A window of one tap is its body. */
int ip_x_new_window(ip_ir *ir);
ip_expr *ip_x_tap(ip_ir *ir, int window, int axis, int taps);
ip_expr *ip_x_fold_taps(ip_ir *ir, ip_fold fold, int window, int taps_y, int taps_x, ip_expr *body);
typedef struct ip_window_taps {
    int window, taps_y, taps_x;
} ip_window_taps;
/* The sum of value * weight at the taps that are inside (NULL: all are): of many floats a fold by fma(). */
ip_expr *ip_x_fold_products(ip_ir *ir, const ip_window_taps *taps, ip_expr *inside, ip_expr *value, ip_expr *weight);
/* Whether a tap further along an axis (1 y, 2 x) is an element further: ir/window.c, Note [Sliding windows]. */
bool ip_x_slides(ip_ir *ir, ip_expr *x, int window, int axis);
/* x with another expression for the window's tap along its axis 0 or 1. */
ip_expr *ip_x_put_tap(ip_ir *ir, ip_expr *x, int window, int axis, ip_expr *tap);

/* Value k of the loop of that number within its step; until ip_x_loop() has made one the number is an own one below 0.
 * uses_c: it differs from channel to channel. */
ip_expr *ip_x_state(ip_ir *ir, int loop, int k, imgpar_dtype dtype, bool uses_c);
/* The loop that carries n values, the same for the same expressions and count. next and until are over the STATEs of
 * number `own`, below 0, which become its. */
ip_expr *ip_x_loop(ip_ir *ir, int own, int n, ip_expr *const *starts, ip_expr *const *next, ip_expr *until,
                   int64_t count);
ip_expr *ip_x_result(ip_ir *ir, ip_expr *loop, int k);
/* The list of a and b. */
ip_expr *ip_x_pair(ip_ir *ir, ip_expr *a, ip_expr *b);
/* The expressions of a list, up to `most`; how many there are. */
int ip_x_list(ip_expr *list, ip_expr **out, int most);
enum { IP_MOST_CARRIED = 16 }; /* values of a loop */
enum { IP_SCAN_STATES = 16 };  /* of a recurrence, at most: stage.h */

/* ---- reading ----------------------------------------------------------------- */

bool ip_x_is_const(const ip_expr *x, double *value);
const char *ip_xop_name(ip_xop op);

/* Rebuilds root bottom-up: fn sees each expression with its arguments rebuilt already and returns it or another
 * one. Shared sub-expressions are visited once, and no leaf and no load that fn returned is given to it again. */
typedef ip_expr *(*ip_x_map_fn)(ip_ir *ir, ip_expr *x, void *user);
ip_expr *ip_x_map(ip_ir *ir, ip_expr *root, ip_x_map_fn fn, void *user);
/* The same, but the indices of loads stay as they are. */
ip_expr *ip_x_map_values(ip_ir *ir, ip_expr *root, ip_x_map_fn fn, void *user);
/* x at another place: with these expressions for the coordinates z y x c; one that is NULL stays. */
ip_expr *ip_x_put_coords(ip_ir *ir, ip_expr *x, ip_expr *const at[4]);
/* Calls fn once for every distinct expression below root, arguments first. */
void ip_x_walk(ip_ir *ir, ip_expr *root, void (*fn)(ip_expr *x, void *user), void *user);
/* From root downwards, every distinct expression once: fn says whether to go on to its arguments. */
void ip_x_descend(ip_ir *ir, ip_expr *root, bool (*fn)(ip_expr *x, void *user), void *user);
/* A copy of x with other arguments (folded as the builders do). */
ip_expr *ip_x_with_args(ip_ir *ir, const ip_expr *x, ip_expr *const *args);
/* Whether there is a WINDOW or a LOOP below root; a LOOP. */
bool ip_x_has_window(ip_ir *ir, ip_expr *root);
bool ip_x_has_loop(ip_ir *ir, ip_expr *root);
/* Whether x is computed by steps of its own: a WINDOW or a LOOP, its lists and its RESULT. */
static inline bool ip_x_is_repeated(const ip_expr *x) { return x->op >= IP_X_WINDOW; }
/* Number of distinct expressions below root that compute something. */
int ip_x_size(ip_ir *ir, ip_expr *root);
/* About how many operations an element takes: as ip_x_size(), with every tap of a window counted. */
int64_t ip_x_cost(ip_ir *ir, ip_expr *root);

/* Whether x is the same for all elements of a row. */
static inline bool ip_x_is_uniform(const ip_expr *x) { return !(x->uses & (IP_USES_X | IP_USES_C)); }
/* Whether a load reads the same row for all of them. */
static inline bool ip_x_reads_uniform_row(const ip_expr *load)
{
    return ip_x_is_uniform(load->arg[0]) && ip_x_is_uniform(load->arg[1]);
}
static inline bool ip_x_is_coord(const ip_expr *x, int axis) { return x->op == IP_X_COORD && x->axis == axis; }

static inline bool ip_x_is_float(const ip_expr *x) { return ip_dtype(x->dtype)->is_float; }

#endif
