/* SPDX-License-Identifier: MIT */
/* Between the two halves of making a program: ref_program.c gives values numbers, ref_layout.c gives them memory. */
#ifndef IP_RUN_REF_PROGRAM_H
#define IP_RUN_REF_PROGRAM_H

#include "run/ref_impl.h"

/* What a program is made of, besides its code: values from 0 on, of which the constants' are never computed. */
typedef struct ip_ref_made {
    const ip_ref_instr *constants;
    int n_constants, n_values, n_windows;
    int result; /* a value */
} ip_ref_made;

/* Replaces the value numbers in p's code by slots, and allocates those. */
imgpar_status ip_ref_lay_out(ip_ref_program *p, const ip_ref_made *made, ip_error *err);

#endif
