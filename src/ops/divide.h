/* SPDX-License-Identifier: MIT */
/* divide.h - whole numbers divided, and shifted, by a number the user wrote. */
#ifndef IP_OPS_DIVIDE_H
#define IP_OPS_DIVIDE_H

#include "ops/lower.h"

/* x div d, or x % d, of x's dtype; d is a CONST of an integer dtype and not 0. The program knows whether d is a power
 * of two and its bits (ip_lower_whole()), not its value. */
ip_expr *ip_lower_quotient(ip_lower *l, ip_expr *x, const ip_expr *divisor, bool modulo);

/* A CONST between 0 and one less than its bits, as an argument. */
ip_expr *ip_lower_shift_count(ip_lower *l, const ip_expr *count);

#endif
