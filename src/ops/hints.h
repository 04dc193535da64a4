/* SPDX-License-Identifier: MIT */
/*
 * What other libraries call parameters and the words of choices, for messages: a mistake that is a word of theirs is
 * answered with ours. (What they call operations is lang/elsewhere.def.) All give NULL where nothing is known.
 */
#ifndef IP_OPS_HINTS_H
#define IP_OPS_HINTS_H

#include "graph/op.h"

/* What stands for a parameter that the row does not have: "sigma" for sigmaX of blur, "color" for colour. */
const char *ip_hint_param(const ip_op *op, const char *name);
/* What stands for a word that is no choice of the parameter: "u8" for uint8, "color_dodge" for color-dodge; in buf or
 * constant. */
const char *ip_hint_word(const ip_op *op, const imgpar_op_param *p, const char *word, char *buf, size_t size);
/* What may be meant where a required parameter is not given: "arange(0, n) counts to n" for arange(n). */
const char *ip_hint_missing(const ip_op *op, const char *name);
/* What takes a list where the row takes a number p: of the row NAME that is NAMEs(), where that has such an input. */
const char *ip_hint_several(const ip_op *op, const imgpar_op_param *p, char *buf, size_t size);

#endif
