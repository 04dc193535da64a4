/* SPDX-License-Identifier: MIT */
/*
 * memo.h - the last few deferred images that were computed, with their pixels.
 *
 *     SELECT png(l), img_mean(l) FROM (SELECT blur(lazy(img), 2) AS l FROM photos);
 *
 * png(l) computes the image and leaves it here; img_mean(l), given the same bytes again, wherever SQL carried them,
 * finds its pixels.
 */
#ifndef IP_SQL_MEMO_H
#define IP_SQL_MEMO_H

#include "recipe.h"

#pragma GCC visibility push(hidden)

/* Computes the recipe's value, which keeps its pixels, and remembers it. What is too large is left to the caller. */
int ip_sql_memo_compute(ip_sql_call *call, const ip_sql_recipe *r);
/* Gives r the arrays of an equal recipe that is remembered; false: there is none. */
bool ip_sql_memo_attach(ip_sql_connection *conn, ip_sql_recipe *r);
void ip_sql_memo_clear(ip_sql_connection *conn);

#pragma GCC visibility pop

#endif
