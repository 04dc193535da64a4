/* SPDX-License-Identifier: MIT */
/*
 * What the files of the reference interpreter share.
 *
 * An expression becomes a program (ref_program.c): its distinct sub-expressions in an order in which arguments come
 * first, each with a slot for a block of values. The program runs over a block of elements of one row at a time
 * (ref_eval.c); what an instruction does to a block is one of the loops of ref_loops.h.
 *
 *     ip_ref_program_make(ir, stage->body, &over, &program, err)
 *     -> ip_ref_each_block()  for every block: ip_ref_program_run(), then a sink takes the values
 *
 * Values stand in the dtype of their expression, BOOL as a byte.
 *
 * Note [Rates]
 * Not every value of a block is computed for every element. What depends on no column is computed once; what depends on
 * the column and not on the channel once a pixel; where an operand has a lower rate than the operation, an instruction
 * BROADCAST copies it to the elements. What depends on columns and channels alone, such as weights and positions of a
 * resize, is computed for a whole row before the first, and kept (`n_kept` instructions).
 */
#ifndef IP_RUN_REF_IMPL_H
#define IP_RUN_REF_IMPL_H

#include "run/ref.h"
#include "run/ref_loops.h"

#include <time.h>

enum {
    IP_REF_BLOCK = 2048,     /* elements: the values of a few operations stay in the nearest cache */
    IP_REF_LOOP_BLOCK = 128, /* where elements stop by themselves: a block goes on as long as one of them does */
    IP_REF_ELEMENT_BYTES = 8 /* of the largest value */
};

/* n consecutive elements of row z, y of a domain; a row's elements are its columns' channels. */
typedef struct ip_ref_place {
    int64_t z, y, first;
    int n;
} ip_ref_place;

/* Note [Rates]; in rising order. */
typedef enum ip_ref_rate { IP_REF_ONCE, IP_REF_PIXELS, IP_REF_ELEMENTS, IP_REF_RATES } ip_ref_rate;

typedef enum ip_ref_kind {
    IP_REF_CONSTANT,
    IP_REF_LOOP,
    IP_REF_BROADCAST,
    IP_REF_COORD,
    IP_REF_TAP,
    IP_REF_ACC,
    IP_REF_BORDER,
    IP_REF_WINDOW,
    IP_REF_LOAD,
    /* loops of an element, ir/expr.h, Note [Loops of an element] */
    IP_REF_GOING, /* which elements go on: all of them */
    IP_REF_START, /* the argument, in memory that steps change */
    IP_REF_STEPS, /* the loop: arguments GOING and until; its body ends with NEXTs */
    IP_REF_STATE, /* what the argument, a START, holds now */
    IP_REF_NEXT   /* arguments value, START, GOING: the value becomes that of the START where elements go on */
} ip_ref_kind;

/* How a load finds the elements that it reads. */
typedef enum ip_ref_reading {
    IP_REF_RUN,    /* of one row, one after the other */
    IP_REF_STRIDE, /* of one row, the same channel of one pixel after the other */
    IP_REF_WHOLE,  /* pixels, with all channels */
    IP_REF_SINGLE  /* elements */
} ip_ref_reading;

/* An index of a load: a coordinate of the block's first element plus a number, or a value. */
typedef struct ip_ref_index {
    int axis;     /* the coordinate; -1: none */
    int64_t by;   /* added to it */
    int arg;      /* which of the arguments is the value; -1: none */
    bool is_once; /* the same for all elements of a block, or that of the first */
} ip_ref_index;

typedef struct ip_ref_instr {
    const ip_expr *x;
    ip_ref_kind kind;
    ip_ref_rate rate;
    int slot, arg[IP_X_MAX_ARGS]; /* slots of the result and of the arguments */
    int n_args;
    ip_ref_loop loop;
    ip_ref_rate from; /* BROADCAST: the rate of its argument */
    int n_body;       /* WINDOW, STEPS: the next so many instructions are its body */
    int window;       /* WINDOW, TAP: its number among windows */
    /* LOAD */
    const void *memory; /* the source's elements */
    int64_t n_rows;     /* that are kept of them, row y at y modulo n_rows; 0: all are */
    ip_ref_reading reading;
    ip_ref_index index[4];
    int outside; /* which of the arguments is what is read outside; -1: none */
} ip_ref_instr;

/* A value of which all of a row is kept. */
typedef struct ip_ref_row {
    int slot;
    ip_ref_rate rate;
    int size_bytes;
    unsigned char *values;
} ip_ref_row;

typedef struct ip_ref_program {
    const ip_ref_loops *loops;
    ip_ref_instr *code;
    int n_code, n_kept;            /* the first n_kept are run once for each block of a row */
    unsigned char *memory, *slots; /* what is to be freed; slot k has memory of its own at slots + k * slot_bytes */
    size_t slot_bytes;
    const void **at; /* by slot: where its values are now, there or in what a load reads */
    int n_slots, result;
    ip_ref_row *rows;
    int n_rows;
    bool has_rows;  /* they are filled */
    int (*taps)[2]; /* by window: the tap being computed */
    int64_t domain[4];
    int block;                           /* elements at once, at most */
    const void *acc[2 * IP_SCAN_STATES]; /* ACC of each element of a block */
    /* of a block's gather: where it reads, indices by the border rule, which are outside, elements as stored */
    int32_t *offsets, *mapped;
    uint8_t *outside;
    void *raw;
    int bad_source;                   /* a load without a border rule went outside of this stage; -1: none did */
    struct ip_ref_progress *progress; /* whom steps of elements ask whether to go on; NULL: nobody */
    bool is_stopped;                  /* they were told not to: values are worth nothing */
} ip_ref_program;

/* What a program is made for. */
typedef struct ip_ref_over {
    const int64_t *domain;
    void *const *memory;   /* as in ip_ref_run() */
    bool by_rows;          /* its blocks are those of ip_ref_block_at() */
    const int64_t *n_rows; /* by stage: of how many rows memory is, which are used in turn; 0: of all. NULL: of all */
} ip_ref_over;

/* Compiles x. *out is new also on failure, for ip_ref_program_clear(). */
imgpar_status ip_ref_program_make(ip_ir *ir, ip_expr *x, const ip_ref_over *over, ip_ref_program *out, ip_error *err);
void ip_ref_program_clear(ip_ref_program *program);
/* The values at place; they stay until the next run. */
const void *ip_ref_program_run(ip_ref_program *program, const ip_ref_place *place);
/* The block of a row that begins with element first; false: the row has ended. */
bool ip_ref_block_at(const ip_ref_program *program, ip_ref_place *place);
/* The failure of a program that read outside of a stage without a rule for that, or was stopped. */
imgpar_status ip_ref_check(const ip_ref_program *program, ip_error *err);
/* Computes what is kept of a row: before the first run. */
void ip_ref_program_fill_rows(ip_ref_program *program);
/* How many values an instruction computes of a block of n elements. */
int ip_ref_count(const ip_ref_program *program, ip_ref_rate rate, int n);

/* ---- memory --------------------------------------------------------------------------------- */
int ip_ref_size_log2(imgpar_dtype dtype);
/* The index inside 0..extent-1 that a border rule reads for index; extent 0 gives 0. */
int64_t ip_ref_border(int border, int64_t index, int64_t extent);
/* n elements of a stored dtype from and to values of its computed dtype (f16: F32). */
void ip_ref_fetch(imgpar_dtype dtype, const void *from, int n, void *to);
void ip_ref_store(imgpar_dtype dtype, const void *from, int n, void *to);
void ip_ref_load(ip_ref_program *program, const ip_ref_instr *instr, const ip_ref_place *place);

/* ---- running ---------------------------------------------------------------------------------- */
/* Progress of an ip_ref_run(), and when the poll function is asked next. */
typedef struct ip_ref_progress {
    const ip_poll *poll;
    struct timespec asked;
    double weight; /* of an element of the stage being computed */
    double done, total;
} ip_ref_progress;

/* Asks whether to go on, at most every 50 ms. */
imgpar_status ip_ref_ask(ip_ref_progress *progress, ip_error *err);

/* What is computed together, row by row: MAP stages of as many planes and rows. Only the last is kept whole. */
typedef struct ip_ref_group {
    ip_stage *const *stages;
    int n;
    const double *weights; /* of an element, by stage id */
} ip_ref_group;

/* The elements of the last stage into its memory. */
imgpar_status ip_ref_group_run(ip_ir *ir, const ip_ref_group *group, void *const *memory, ip_ref_progress *progress,
                               ip_error *err);
/* Whether a reader needs only rows nearby of what it loads: then both can be in a group. */
bool ip_ref_reads_nearby(const ip_stage *reader, const ip_expr *load);

/* Takes the values of a block. */
typedef void (*ip_ref_sink)(void *user, const void *values, const ip_ref_place *place);
/* Runs program over its whole domain. */
imgpar_status ip_ref_each_block(ip_ref_program *program, ip_ref_progress *progress, ip_ref_sink sink, void *user,
                                ip_error *err);
/* The elements of a REDUCE or HISTOGRAM stage into out, which has room for them. */
imgpar_status ip_ref_reduce(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress, void *out,
                            ip_error *err);
imgpar_status ip_ref_histogram(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress,
                               void *out, ip_error *err);
/* The elements of a SCAN stage, into out. */
imgpar_status ip_ref_scan(ip_ir *ir, const ip_stage *stage, void *const *memory, ip_ref_progress *progress, void *out,
                          ip_error *err);

#endif
