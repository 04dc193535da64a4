/* SPDX-License-Identifier: MIT */
/*
 * The operations of the reference interpreter as loops over n values, one for each operation and dtype. Values stand in
 * their own dtype (BOOL as a byte, 0 or 1), so integers wrap by being stored, and a vector holds as many as it can.
 *
 * ref_loops.c is compiled once for each set of vector instructions that the compiler knows; ip_ref_loops_here()
 * (ref_choose.c) chooses by the processor. All of them give the same bytes.
 *
 *     loop = ip_ref_loops_here()->op[IP_X_ADD][IMGPAR_I32];
 *     loop(n, sums, a, b, NULL)
 */
#ifndef IP_RUN_REF_LOOPS_H
#define IP_RUN_REF_LOOPS_H

#include "ir/expr.h"

/* n values r of a, b and c, of which it reads as many as the operation has operands; r may be one of them. */
typedef void (*ip_ref_loop)(int n, void *r, const void *a, const void *b, const void *c);

enum { IP_REF_SIZES = 4 /* 1, 2, 4 and 8 bytes, by their logarithm */ };

typedef struct ip_ref_loops {
    ip_ref_loop op[IP_X_N][IMGPAR_COMPLEX64];             /* by the dtype of the last operand */
    ip_ref_loop cast[IMGPAR_COMPLEX64][IMGPAR_COMPLEX64]; /* to, from */
    ip_ref_loop saturate[IMGPAR_COMPLEX64][IMGPAR_COMPLEX64];
    ip_ref_loop add_cast[IMGPAR_COMPLEX64][IMGPAR_COMPLEX64];  /* a + CAST of b, to, from; NULL: none */
    ip_ref_loop add_casts[IMGPAR_COMPLEX64][IMGPAR_COMPLEX64]; /* CAST of a + CAST of b, likewise */
    ip_ref_loop splat[IP_REF_SIZES];                           /* the first value of a, n times */
    /* Each of n / step values of a, step times one after the other. */
    void (*repeat[IP_REF_SIZES])(int n, int step, void *r, const void *a);
    /* Values of a at multiples of step, and at offsets, at each of these so many as there are channels. */
    void (*stride[IP_REF_SIZES])(int n, int step, void *r, const void *a);
    void (*gather[IP_REF_SIZES])(int n, int channels, void *r, const void *a, const int32_t *offsets);
    /* offsets (where first) = or += step times index, clamped to 0..extent - 1; true: some of them were outside. */
    bool (*offsets)(int n, int32_t *offsets, const int32_t *index, int32_t extent, int32_t step, bool first);
    /* outside[k] |= index[k] is not in 0..extent - 1 */
    void (*outside)(int n, uint8_t *outside, const int32_t *index, int32_t extent);
    void (*count_up)(int n, int32_t *r, int32_t first);
} ip_ref_loops;

enum { IP_REF_LOOPS_MOST = 3 };
/* All that the processor can run, the quickest last; how many. */
int ip_ref_loops_list(const ip_ref_loops *list[IP_REF_LOOPS_MOST]);
/* The quickest. */
const ip_ref_loops *ip_ref_loops_here(void);

/* What ref_loops.c is compiled to: of the last two, what the compiler knows instructions for. */
extern const ip_ref_loops ip_ref_loops_any, ip_ref_loops_avx2, ip_ref_loops_avx512;

#endif
