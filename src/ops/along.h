/* SPDX-License-Identifier: MIT */
/*
 * Rows that work along axes (IP_OP_ALONG), or with matrices in the last two (IP_OP_BATCH), of arrays of more axes than
 * a stage has dims (graph/array.h, Note [Folded axes]): a call is the same row of arrays of up to four axes, between
 * reshapes. Neighbouring axes that are all worked along, or all not, are one axis there, as those of a batch are, which
 * a reshape does without moving anything; where that leaves too many, as of a sum along every second axis, those that
 * stay are moved to the front first.
 */
#ifndef IP_OPS_ALONG_H
#define IP_OPS_ALONG_H

#include "ops/build.h"

/* Whether the node, of any row, takes or gives more axes than a stage has dims. */
bool ip_has_folded(const imgpar_array *node);
/* A new array that stands for a call that infer() has accepted, of a row with IP_OP_ALONG. */
imgpar_array *ip_expand_along(const imgpar_array *call, const ip_arg *args, int n);
/* The same of a row with IP_OP_BATCH, which has no parameters: the axes before the last two are one. */
imgpar_array *ip_expand_batch(const imgpar_array *call);
/* a with its axes joined to up to four, of which *axis is the one of that number then; a new reference. */
imgpar_array *ip_build_joined(imgpar_array *a, int *axis);
/* a, its elements in the same order, in another shape; a new reference. */
imgpar_array *ip_build_reshaped(imgpar_array *a, int rank, const int64_t *shape);

#endif
