/* SPDX-License-Identifier: MIT */
/*
 * develop.h - how a query on an imgpar table becomes a SELECT: between develop.c (the table) and develop_plan.c.
 */
#ifndef IP_SQL_DEVELOP_H
#define IP_SQL_DEVELOP_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

enum { IP_SQL_MAX_COLUMNS = 500, IP_SQL_MAX_VALUES = 1000 };

typedef struct ip_sql_developed {
    sqlite3_vtab base;
    ip_sql_connection *conn; /* borrowed from the registration */
    char *select;            /* the SELECT */
    int n_columns;
    bool is_numeric[IP_SQL_MAX_COLUMNS]; /* declared with a numeric type */
    bool is_plain[IP_SQL_MAX_COLUMNS];   /* declared with a type that images do not have */
} ip_sql_developed;

/* What the plan's text becomes for one scan. */
typedef struct ip_sql_query {
    sqlite3_value *values[IP_SQL_MAX_VALUES]; /* to bind, borrowed from xFilter */
    int n_values;
    uint64_t used;       /* a bit a column that is read; the last one stands for all from 63 on */
    sqlite3_str *where, *order;
    bool inexact;        /* SQLite's own check drops rows of ours: a limit may not be passed on */
    sqlite3_int64 limit; /* with the offset; -1: none */
} ip_sql_query;

/* The SELECT with its columns renamed c0, c1, ...; the caller goes on with "SELECT ... FROM ip_sql_cte". */
void ip_sql_write_with(sqlite3_str *s, const char *select, int n_columns);
extern const char ip_sql_cte[];

/* xBestIndex. */
int ip_sql_plan_write(sqlite3_vtab *base, sqlite3_index_info *info);
/* The SELECT of one scan, new; NULL without memory. */
char *ip_sql_plan_sql(const ip_sql_developed *v, const char *plan, sqlite3_value **argv, ip_sql_query *q);
static inline bool ip_sql_is_used(uint64_t used, int k) { return used >> (k < 63 ? k : 63) & 1; }

#pragma GCC visibility pop

#endif
