/* SPDX-License-Identifier: MIT */
/*
 * Constants: numbers, true and false, texts, pi, lists of numbers, and arithmetic of these. A param's default is one,
 * and so is what the command line, SQL and imgpar_op() give for it or for an operation's parameter.
 *
 *     0.3    1 / 3    [1 2 1; 2 4 2; 1 2 1] / 16    "wrap"
 */
#ifndef IP_LANG_CONSTANT_H
#define IP_LANG_CONSTANT_H

#include "graph/services.h"
#include "lang/value.h"

/* An expression that names nothing else. */
bool ip_is_constant(const ip_node *node);
/* The value of one; of kind NONE after an error, as of lists that do not fit each other. A text points into program. */
ip_val ip_constant_value(const ip_program *program, const ip_node *node, ip_error *err);
/* The value of a text that is a number, true or false or a list; of kind NONE after an error. */
ip_val ip_constant_read(const char *text, ip_error *err);
/* The same for lower layers: ip_services.read_constant. */
imgpar_status ip_constant_numbers(const char *text, ip_constant *out, ip_error *err);

#endif
