/* SPDX-License-Identifier: MIT */
/*
 * Arrays of any shape for tests: values of 64 significant bits (oracle.h's, held as a picture of one row), and
 * computing an array in every way there is.
 */
#ifndef IP_TESTS_SHAPED_H
#define IP_TESTS_SHAPED_H

#include "oracle.h"

typedef struct nd {
    int rank;
    int64_t shape[4];
    picture p; /* 1 x count x 1 */
} nd;

/* shape: "3x4x5", zeros allowed. */
nd nd_new(imgpar_dtype dtype, const char *shape);
nd nd_of_shape(imgpar_dtype dtype, int rank, const int64_t *shape);
void nd_fill(nd *a, fill kind, unsigned seed);
void nd_free(nd *a);
imgpar_array *nd_array(imgpar_context *ctx, const nd *a);
/*
 * Fails the test, telling what, unless a has want's dtype and shape and the reference interpreter, the device, the
 * device by pixels and the device without fusion give what want admits; same_bytes: all the same. Releases a.
 */
void nd_check(imgpar_context *ctx, imgpar_array *a, const nd *want, bool same_bytes, const char *what);
/* nd_check() for tables over all dtypes: in the quick tier only some of them run on the device, since each is a
 * program. */
void nd_check_dtype(imgpar_context *ctx, imgpar_array *a, const nd *want, bool same_bytes, imgpar_dtype dtype,
                    const char *what);
/* The elements of a by a schedule, new; fails the test on an error. */
void *nd_read(imgpar_context *ctx, imgpar_array *a, const char *schedule, const char *what);
/* Fails the test unless the plan of a has n kernels and, where given, the word in its JSON. */
void nd_expect_kernels(imgpar_array *a, int n, const char *word, const char *what);

#endif
