/* SPDX-License-Identifier: MIT */
/*
 * reference.h - everything the module offers, described: the table img_reference and the manual page.
 *
 * Operations come from the operation table, tables from their own declarations; the functions that are neither are
 * described here, and a test compares them with what is registered.
 */
#ifndef IP_SQL_REFERENCE_H
#define IP_SQL_REFERENCE_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

typedef struct ip_sql_entry {
    const char *kind; /* "function", "aggregate" */
    const char *name;
    const char *arguments; /* "img, x, y [, channel]" */
    const char *about;
    const char *example; /* an expression, or a SELECT; img is a column of images in it */
} ip_sql_entry;

/* The functions that are no operations; NULL behind the last. */
const ip_sql_entry *ip_sql_entry_get(int k);
/* The arguments of an operation's function, "a [, sigma=2 [, border=replicate]]", new; NULL without memory. */
char *ip_sql_op_arguments(const imgpar_op_info *op);
/* An operation's example as SQL: "img_blur(img, 'sigma=2')", new; NULL: it has none that is a call of it, or no
 * memory. */
char *ip_sql_op_example(const imgpar_op_info *op);

#pragma GCC visibility pop

#endif
