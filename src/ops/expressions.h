/* SPDX-License-Identifier: MIT */
/* What the generated functions imgpar_x_NAME() do. */
#ifndef IP_OPS_EXPRESSIONS_H
#define IP_OPS_EXPRESSIONS_H

#include <imgpar.h>

/* The row's operation on n operands, in the first one's map. */
imgpar_x ip_map_call(const char *row, const imgpar_x *operands, int n);

#endif
