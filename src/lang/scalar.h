/* SPDX-License-Identifier: MIT */
/* Arithmetic of plain numbers, in double: what operators and element-wise functions give when no array takes part. */
#ifndef IP_LANG_SCALAR_H
#define IP_LANG_SCALAR_H

#include "lang/value.h"

/* Why a number has no result under an operator ("& takes whole numbers"), or NULL and *out. */
const char *ip_scalar_operator(ip_operator op, const ip_val *operands, ip_val *out);
/* Whether the operator compares or joins truth values: it gives true or false. */
bool ip_operator_is_logical(ip_operator op);
/* Is there a function of that name on n numbers? Sets *out (unknown when an argument is). */
bool ip_scalar_function(const char *name, const ip_val *args, int n, ip_val *out);
/* False: there is none of that name and number of arguments, whatever they are. */
bool ip_scalar_function_exists(const char *name, int n);

#endif
