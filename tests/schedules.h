/* SPDX-License-Identifier: MIT */
/* What check_schedules.c and its table of pins share. */
#ifndef IMGPAR_TESTS_SCHEDULES_H
#define IMGPAR_TESTS_SCHEDULES_H

#include "imgpar.h"

typedef struct shape {
    const char *text; /* of $1 and $2 */
    imgpar_dtype dtype;
    int channels, width, height;
    double tolerance; /* relative; 0: the same bytes */
} shape;

/*
 * What the text of a row's kernels says by a schedule, for a device that is written down (check_schedules.c): that an
 * idiom is used where it was made for. The row is one of check_schedules.c, so what is pinned is run, too.
 */
typedef struct pin {
    const char *claim;
    const char *schedule;
    shape row;
    int n_kernels;
    const char *stands;  /* words, separated by |, all of which stand in the text, or in what --explain says */
    const char *missing; /* words of which none does; NULL */
} pin;

extern const pin pins[];
extern const int n_pins;

#endif
