/* SPDX-License-Identifier: MIT */
/*
 * Arrays of 1 to 8 axes for tests of array operations: cases that say, element by element, what an
 * expression of the language must give, and a bench that computes all cases of a table at once (one
 * program for many kernels) in every schedule.
 *
 *     static real at_turned(const nd *in, const int64_t *i) { return nd_at(&in[0], i[1], i[0], 0, 0); }
 *     { "permute", "permute($1, [1 0])", { { 6, 8 } }, { 8, 6 }, at_turned },
 */
#ifndef IP_TESTS_ND_H
#define IP_TESTS_ND_H

#include "oracle.h"

enum { ND_INPUTS = 2, ND_CASES = 100 };

typedef struct nd {
    imgpar_dtype dtype;
    int rank;
    int64_t shape[IMGPAR_MAX_RANK];
    int64_t count;
    real *v;
} nd;

typedef struct nd_case {
    const char *op, *text; /* text: with $1 $2 */
    int rank[ND_INPUTS];   /* 0: there is no such input */
    int64_t in[ND_INPUTS][IMGPAR_MAX_RANK];
    int out_rank;
    int64_t out[IMGPAR_MAX_RANK];
    real (*at)(const nd *in, const int64_t *i); /* the element at i before rounding */
    real slack;                                 /* relative to the largest magnitude of the result; 0: exact */
    imgpar_dtype (*dtype)(imgpar_dtype in);     /* NULL: that of the input */
} nd_case;

/* Filled with values of the dtype, the same for a seed. */
nd nd_new(imgpar_dtype dtype, int rank, const int64_t *shape, fill kind, unsigned seed);
void nd_free(nd *a);
imgpar_array *nd_array(imgpar_context *ctx, const nd *a);
/* The element at the first rank indices. */
real nd_at(const nd *a, int64_t i, int64_t j, int64_t k, int64_t l);
/* The same of as many indices as there are axes. */
real nd_here(const nd *a, const int64_t *index);

typedef struct nd_bench {
    imgpar_context *ctx;
    bool has_device, is_cpu, is_full;
} nd_bench;
void nd_open(nd_bench *b);
void nd_close(nd_bench *b);

/* Computes every case for inputs of dtype by a schedule and fails, telling which, unless it is as it must be; in the
 * quick tier every second one, where the schedule is another than "ref" or "auto". */
void nd_check(nd_bench *b, const nd_case *cases, int n, imgpar_dtype dtype, fill kind, const char *schedule);
/* The kernels that text over arrays becomes. */
int nd_kernels(nd_bench *b, const char *text, imgpar_array *const *arrays, size_t n);
/* Fails unless every operation of the category occurs in the table. */
void nd_check_complete(const char *category, const nd_case *cases, int n, const char *elsewhere);

#endif
