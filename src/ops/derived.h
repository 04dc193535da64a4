/* SPDX-License-Identifier: MIT */
/*
 * Derived rows: operations made of other rows when they are built. The node of the call is checked and typed as any;
 * then its row's expand() gives the array that stands for it, and the node goes. Equal parts are merged later as all
 * nodes are, so unique(a) and unique_counts(a) sort once.
 *
 *     ip_making m = { .call = call };
 *     imgpar_array *sorted = ip_make(&m, "sort", 1, (ip_arg[]){ ip_arg_array(a) });
 *     return ip_made(&m, ip_make(&m, "negative", 1, (ip_arg[]){ ip_arg_array(sorted) }));
 */
#ifndef IP_OPS_DERIVED_H
#define IP_OPS_DERIVED_H

#include "ops/build.h"

enum { IP_MAKING_ARRAYS = 160 };

typedef struct ip_making {
    const imgpar_array *call;
    imgpar_array *arrays[IP_MAKING_ARRAYS]; /* everything that was made; released by ip_made() */
    int n;
} ip_making;

/* Whether the call's row is one of images, and this input an image in a stack of one: [1, height, width, channels], or
 * without channels. */
bool ip_is_stack_of_one(const imgpar_array *call, int input);
/* Whether the first input is a volume, be it of one plane, and not a stack of one. */
bool ip_is_of_volume(const imgpar_array *call);

/* An array by a row, owned by m. Never NULL: errors pass through as they do for users. */
imgpar_array *ip_make(ip_making *m, const char *row, int n, const ip_arg *args);
/* Of one array, and of two; a may be of any row. */
imgpar_array *ip_make_of(ip_making *m, const char *row, imgpar_array *a);
imgpar_array *ip_make_pair(ip_making *m, const char *row, imgpar_array *a, imgpar_array *b);
imgpar_array *ip_make_number(ip_making *m, double value);
/* a as a vector, in row-major order. */
imgpar_array *ip_make_flat(ip_making *m, imgpar_array *a);
/* m owns array from here on; returns it. */
imgpar_array *ip_making_keep(ip_making *m, imgpar_array *array);
/* A new reference to result; releases what was made. */
imgpar_array *ip_made(ip_making *m, imgpar_array *result);

#endif
