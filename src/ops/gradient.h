/* SPDX-License-Identifier: MIT */
/*
 * Gradients as nodes. What is between the loss and the arrays it is differentiated by is copied, over nodes "variable"
 * that stand for those: so no view is read through them, no value that was kept cuts the way, and two arrays that are
 * equal stay two. What the copies share with the graph, and with other copies, is merged as all equal nodes are. A
 * node "adjoint" is lowered to the adjoints of the stages of the copy (ops/adjoint.h).
 */
#ifndef IP_OPS_GRADIENT_H
#define IP_OPS_GRADIENT_H

#include "graph/array.h"

enum { IP_MOST_VARIABLES = 64 };

/* The gradients of loss by n arrays into out: new references; all of them error arrays where something fails. */
void ip_build_gradients(imgpar_context *ctx, imgpar_array *loss, imgpar_array *const *by, int n, imgpar_array **out);

#endif
