/* SPDX-License-Identifier: MIT */
/*
 * What the files of the reference interpreter share.
 *
 * An expression becomes a program (ref_program.c): its distinct sub-expressions in an order in which arguments come
 * first, each with a slot for a block of values. The program runs over a block of elements of one row at a time
 * (ref_eval.c), so that every operation is a plain loop over arrays.
 *
 *     ip_ref_program_make(ir, stage->body, domain, memory, &program, err)
 *     -> ip_ref_each_block()  for every block: ip_ref_program_run(), then a sink takes the values
 *
 * Values: integers and BOOL are int64_t, already wrapped to their dtype (u64: the bits); F32 is float, F64 double.
 */
#ifndef IP_RUN_REF_IMPL_H
#define IP_RUN_REF_IMPL_H

#include "run/ref.h"

#include <time.h>

enum { IP_REF_BLOCK = 256 };

typedef union ip_ref_values {
    int64_t i[IP_REF_BLOCK];
    float f[IP_REF_BLOCK];
    double d[IP_REF_BLOCK];
} ip_ref_values;

/* n consecutive elements of row z, y of a domain; a row's elements are its columns' channels. */
typedef struct ip_ref_place {
    int64_t z, y, first;
    int n;
} ip_ref_place;

typedef struct ip_ref_instr {
    const ip_expr *x;
    int slot, arg[IP_X_MAX_ARGS]; /* slots of the result and of the arguments */
    int n_body;                   /* WINDOW: the next so many instructions are its body */
    int tap[2];                   /* WINDOW: the tap being computed */
    int window;                   /* TAP: the position of its WINDOW */
    const void *memory;           /* LOAD: the source's elements */
    bool is_run;                  /* LOAD: neighbouring elements read neighbouring elements */
} ip_ref_instr;

typedef struct ip_ref_program {
    ip_ref_instr *code;
    int n_code;
    ip_ref_values *slots;
    int n_slots, result;
    int64_t domain[4];
    double acc_d[2];             /* ACC of floats */
    int64_t acc_i[2];            /* ACC of integers */
    const ip_ref_values *acc[2]; /* where not NULL: ACC of each element of a block */
    int bad_source;              /* a load without a border rule went outside of this stage; -1: none did */
} ip_ref_program;

/* Compiles x for a domain; memory as in ip_ref_run(). *out is new also on failure, for ip_ref_program_clear(). */
imgpar_status ip_ref_program_make(ip_ir *ir, ip_expr *x, const int64_t domain[4], void *const *memory,
                                  ip_ref_program *out, ip_error *err);
void ip_ref_program_clear(ip_ref_program *program);
/* The values at place; they stay until the next run. */
const ip_ref_values *ip_ref_program_run(ip_ref_program *program, const ip_ref_place *place);

/* ---- one operation on n values; r may be an argument ---------------------------------------- */
void ip_ref_int_binary(ip_xop op, imgpar_dtype dtype, int n, int64_t *r, const int64_t *a, const int64_t *b);
void ip_ref_int_unary(ip_xop op, imgpar_dtype dtype, int n, int64_t *r, const int64_t *a);
void ip_ref_f32_binary(ip_xop op, int n, float *r, const float *a, const float *b);
void ip_ref_f32_unary(ip_xop op, int n, float *r, const float *a);
void ip_ref_f64_binary(ip_xop op, int n, double *r, const double *a, const double *b);
void ip_ref_f64_unary(ip_xop op, int n, double *r, const double *a);
/* exp, log, sin and so on, as kernels define them (shaders/functions.cl). */
void ip_ref_f32_function(ip_xop op, int n, float *r, const float *a);
void ip_ref_f64_function(ip_xop op, int n, double *r, const double *a);
void ip_ref_f32_pow(int n, float *r, const float *a, const float *b);
void ip_ref_f64_pow(int n, double *r, const double *a, const double *b);
void ip_ref_f32_atan2(int n, float *r, const float *a, const float *b);
void ip_ref_f64_atan2(int n, double *r, const double *a, const double *b);
/* LT LE EQ NE of values of dtype. */
void ip_ref_compare(ip_xop op, imgpar_dtype dtype, int n, int64_t *r, const ip_ref_values *a, const ip_ref_values *b);
/* CAST and SATURATE; r is no argument. */
void ip_ref_convert(bool saturate, imgpar_dtype to, imgpar_dtype from, int n, ip_ref_values *r, const ip_ref_values *a);
/* Values wrapped to the dtype's width. */
void ip_ref_wrap(imgpar_dtype dtype, int n, int64_t *v);

/* ---- memory --------------------------------------------------------------------------------- */
/* The index inside 0..extent-1 that a border rule reads for index; extent 0 gives 0. */
int64_t ip_ref_border(int border, int64_t index, int64_t extent);
/* n elements of a stored dtype from and to values of its computed dtype (f16: F32). */
void ip_ref_fetch(imgpar_dtype dtype, const void *from, int n, ip_ref_values *to, int at);
void ip_ref_store(imgpar_dtype dtype, const ip_ref_values *from, int n, void *to);
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

/* Takes the values of a block. */
typedef void (*ip_ref_sink)(void *user, const ip_ref_values *values, const ip_ref_place *place);
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
