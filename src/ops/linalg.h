/* SPDX-License-Identifier: MIT */
/* Linear algebra of small matrices, one for each place, between its shapes (infer_linalg.c), its lowering
 * (stages_linalg.c), its kernels (shaders/linalg.cl) and its meaning on the host (reference_linalg.c). */
#ifndef IP_OPS_LINALG_H
#define IP_OPS_LINALG_H

#include "graph/array.h"
#include "ir/opaque.h"
#include "ops/families.h"

struct ip_lower;

/* Of one matrix, at most: what is factored by reflections and rotations, and by elimination. */
enum { IP_LINALG_COLUMNS = 64, IP_LINALG_SIDE = 1024, IP_LINALG_ELEMENTS = 1 << 20 };

/* Systems a x = b: at each place an m x n matrix and k right-hand sides, or one matrix for all places. */
typedef struct ip_systems {
    int64_t places, m, n, k;
    bool one_matrix;
} ip_systems;

/* b has an axis less than a: vectors, as many; or it has matrices of m rows. False where the shapes do not fit. */
bool ip_systems_of(const ip_type *a, const ip_type *b, ip_systems *out);

/* What stands in ip_opaque.sizes. */
enum {
    IP_LA_METHOD,
    IP_LA_MATRICES,
    IP_LA_M,
    IP_LA_N,
    IP_LA_K,       /* columns of b at a place */
    IP_LA_SIDES,   /* right-hand sides of a matrix: more than K where it serves several places */
    IP_LA_AT_ONCE, /* of them in a step */
    IP_LA_RESULT,  /* elements of the result at a place */
    IP_LA_WORK,    /* elements that a step works in */
    IP_LA_IS_FIXED,
    IP_LA_IS_MANY,
    IP_LA_PER_CUT,    /* places for each index of the first axis */
    IP_LA_CUT,        /* the dim that this axis is of the result, z or y, else -1: it is computed whole */
    IP_LA_CUT_INPUTS, /* and of each input, -1: it is read whole */
    IP_LA_N_SIZES = IP_LA_CUT_INPUTS + 2
};

/* What the kernels take: shaders/linalg.cl. */
#define IP_LA_PARAMS(NAME) \
    NAME(MATRICES)         \
    NAME(STEPS)            \
    NAME(STEPS_EACH)       \
    NAME(M)                \
    NAME(N)                \
    NAME(K)                \
    NAME(SIDES)            \
    NAME(AT_ONCE)          \
    NAME(BLOCKS)           \
    NAME(BEFORE_A)         \
    NAME(BEFORE_B)         \
    NAME(WORK)
#define IP_LA_PARAM_NUMBER(name) IP_LA_P_##name,
enum { IP_LA_P_FIRST_ITEM, IP_LA_PARAMS(IP_LA_PARAM_NUMBER) IP_LA_N_P };

/* The stage of a node that is computed so. */
struct ip_stage *ip_lower_linalg(struct ip_lower *l, ip_linalg_method method);

imgpar_status ip_linalg_compute(const ip_opaque *opaque, const void *const *in, void *out, ip_opaque_ask ask,
                                void *user);

#endif
