/* SPDX-License-Identifier: MIT */
/*
 * Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3" (SC 2011): four random words for a counter of four and a key of two. Exact integer
 * arithmetic, so the same words on every device.
 */
#ifndef IP_OPS_PHILOX_H
#define IP_OPS_PHILOX_H

#include "ir/expr.h"

/* All u32. */
void ip_philox(ip_ir *ir, ip_expr *const counter[4], ip_expr *const key[2], ip_expr *out[4]);

#endif
