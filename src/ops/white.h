/* SPDX-License-Identifier: MIT */
/*
 * White: the number that is white, full or opaque in a picture. It belongs to the array (ip_type) and follows from the
 * graph by a rule of each row (imgpar_op_info.white), so it never depends on pixels.
 *
 *     gray(a)                kept      that of a, 255
 *     gray(a) > 60           mask      1, and a mask
 *     (gray(a) > 60) * 255   larger    255: a factor above 1 raises a mask's white
 *     blend(a, b, 0.5)       meet a b  that of a; b is brought to it first, by a node of the row "rescale"
 *
 * What an operation needs is ip_type_full(): the white, or what stands for one that is missing.
 */
#ifndef IP_OPS_WHITE_H
#define IP_OPS_WHITE_H

#include "graph/array.h"

/* What a row's rule starts with; the words are those of imgpar_op_info.white. */
typedef enum ip_white_rule {
    IP_WHITE_KEPT,
    IP_WHITE_NONE,
    IP_WHITE_ONE,
    IP_WHITE_MASK,
    IP_WHITE_FIRST,
    IP_WHITE_LARGER,
    IP_WHITE_MEET,
    IP_WHITE_OWN /* infer() sets it; the words are for people */
} ip_white_rule;
ip_white_rule ip_white_rule_of(const ip_op *op);

/* Sets white and is_mask of *type, which has its dtype, by the rule of the node's row. */
void ip_white_infer(const imgpar_array *node, ip_type *type);
/* What becomes of the white of numbers that are multiplied by a factor known when the graph is built. */
void ip_white_times(ip_type *type, double factor);
/* Brings inputs of another white to the one where they meet: they become nodes of the row "rescale". *changed: there
 * were some. */
imgpar_status ip_white_meet(imgpar_array *node, bool *changed, ip_error *err);

#endif
