/* SPDX-License-Identifier: MIT */
/* Shared by the files that build nodes: which argument fills which place of a row. */
#ifndef IP_OPS_CHECK_H
#define IP_OPS_CHECK_H

#include "ops/build.h"

enum { IP_MAX_SLOTS = 16 }; /* inputs and parameters of a row */

/* The argument of each input, then of each parameter, by index; -1: not given. */
typedef struct ip_bound {
    int arg[IP_MAX_SLOTS];
} ip_bound;

imgpar_status ip_bind(const ip_op *op, const ip_arg *args, int n, ip_bound *bound, int *bad_arg, ip_error *err);
/* The row that a call is of: NAME_by where NAME is given an array for the matrix that is the last input of NAME_by, as
 * convolve(a, b) is convolve_by(a, b); else op. */
const ip_op *ip_op_taking(const ip_op *op, const ip_arg *args, int n);
/* A message that begins with the name of op, which ip_op_taking() gave for written, begins with that of written. */
void ip_tell_written(const ip_op *written, const ip_op *op, ip_error *err);
/* What the row is called in messages: its symbol, if it has one. */
const char *ip_op_label(const ip_op *op);
/* The index of word among the parameter's choices, border names by any of their aliases, places however spelled; -1:
 * none. */
int ip_choice_find(const imgpar_op_param *p, const char *word);
/* The same of an argument, which may be a number that is a word, depth(a, 8). */
int ip_choice_of(const imgpar_op_param *p, const ip_arg *arg);
/* The number an argument is, also as a leaf made from a literal. */
bool ip_arg_is_number(const ip_arg *arg, double *value);
bool ip_param_is_auto(const imgpar_op_param *p); /* has a computed default */
/* Refuses, with the row's names, the first two inputs that operators would not take together, in their order. */
imgpar_status ip_check_pairs_fit(const imgpar_array *node, ip_error *err);

/* Whether p takes levels, one for each channel or cval for all of them, and arg is a colour in their place, by a name
 * or #rrggbb: rgb from 0 to 255. */
bool ip_arg_is_colour(const imgpar_op_param *p, const ip_arg *arg, unsigned char rgb[3]);
/* Whether p is the value of each channel beyond the edges (ops/beyond.h), which takes #rrggbbaa, too. */
bool ip_param_is_beyond(const imgpar_op_param *p);

#endif
