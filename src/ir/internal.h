/* SPDX-License-Identifier: MIT */
/* Shared by the files of src/ir only. */
#ifndef IP_IR_INTERNAL_H
#define IP_IR_INTERNAL_H

#include "ir/expr.h"

/* value reduced to the dtype's width, sign- or zero-extended. */
int64_t ip_wrap_int(imgpar_dtype dtype, int64_t value);
void ip_range_of_dtype(imgpar_dtype dtype, double *lo, double *hi);
/* Sets x->lo, x->hi from op, dtype and arguments. */
void ip_range_infer(ip_expr *x);
/* A simpler expression equal to x, which is not interned yet; NULL: none. */
ip_expr *ip_rules_apply(ip_ir *ir, const ip_expr *x);
/* The value of an operation on constants; false when it is not folded. */
bool ip_fold_constants(ip_ir *ir, const ip_expr *x, ip_expr **result);
/* proto as it is, no rule applied. */
ip_expr *ip_x_make(ip_ir *ir, ip_expr *proto);
/* A fold of body, an expression of the window's taps. */
ip_expr *ip_x_make_window(ip_ir *ir, ip_fold fold, int window, int taps_y, int taps_x, ip_expr *body);
/* The fold by fma(weight, value, sum). */
ip_expr *ip_x_make_products(ip_ir *ir, const ip_window_taps *taps, ip_expr *value, ip_expr *weight);

/* What x is cast from, through casts of whole numbers, or `stop` if that is one of them. */
const ip_expr *ip_x_cast_from(const ip_expr *x, const ip_expr *stop);

#endif
