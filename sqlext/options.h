/* SPDX-License-Identifier: MIT */
/*
 * options.h - an operation's options, from SQL arguments to the text that imgpar_op() reads.
 *
 *     blur(img, 2, 'wrap')              "sigma=2, border=wrap"
 *     blur(img, 'sigma=2, border=wrap') the same
 *     convolve(img, '[[1,2],[3,4]]')    "matrix=[1 2;3 4]"
 */
#ifndef IP_SQL_OPTIONS_H
#define IP_SQL_OPTIONS_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

/* The options of call's operation as a new string for sqlite3_free(), "" for none; NULL: call has the error.
 * n_before arguments stand before argv[0]. */
char *ip_sql_options_read(ip_sql_call *call, int n_before, int argc, sqlite3_value **argv);
/* A number in the language's own writing, into 32 bytes. */
void ip_sql_number_text(sqlite3_value *value, char *buf);

#pragma GCC visibility pop

#endif
