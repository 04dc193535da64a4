/* SPDX-License-Identifier: MIT */
/*
 * develop.h - what the files of the imgpar table share: develop.c (the table and its cursor), develop_edge.c (sinks in
 * its SELECT), develop_plan.c (how a query on it becomes a SELECT) and develop_row.c (what a row of that becomes).
 */
#ifndef IP_SQL_DEVELOP_H
#define IP_SQL_DEVELOP_H

#include "crew.h"

#pragma GCC visibility push(hidden)

enum { IP_SQL_MAX_COLUMNS = 500, IP_SQL_MAX_VALUES = 1000 };

/* A column that is a sink's call, whose image and settings the SELECT gives instead. */
typedef struct ip_sql_edge {
    const char *format; /* constant; NULL: the column is no such call */
    int settings;       /* their column, behind those of the table; 0: it has none */
} ip_sql_edge;

typedef struct ip_sql_developed {
    sqlite3_vtab base;
    ip_sql_connection *conn; /* borrowed from the registration */
    char *select;            /* the SELECT */
    int n_columns;
    char *edge_select; /* the same with sinks taken apart as edges tell; NULL: there are none */
    int n_settings;    /* columns that it has more */
    ip_sql_edge edges[IP_SQL_MAX_COLUMNS];
    bool is_numeric[IP_SQL_MAX_COLUMNS]; /* declared with a numeric type */
    bool is_plain[IP_SQL_MAX_COLUMNS];   /* declared with a type that images do not have */
} ip_sql_developed;

/* What the plan's text becomes for one scan. */
typedef struct ip_sql_query {
    sqlite3_value *values[IP_SQL_MAX_VALUES]; /* to bind, borrowed from xFilter */
    int n_values;
    uint64_t used; /* a bit a column that is read; the last one stands for all from 63 on */
    sqlite3_str *where, *order;
    bool develops;       /* finishes deferred images: not inside another imgpar table */
    bool at_edge;        /* develops, and the SELECT is edge_select */
    bool is_whole;       /* no condition was passed on, and no limit */
    bool inexact;        /* SQLite's own check drops rows of ours: a limit may not be passed on */
    sqlite3_int64 limit; /* with the offset; -1: none */
} ip_sql_query;

/* ---- develop_edge.c ---- */

/* v's SELECT, which stmt is, with its sinks at the edge taken apart, new; fills in edges and n_settings. NULL: there
 * are none, or no memory. */
char *ip_sql_edges_find(ip_sql_developed *v, sqlite3_stmt *stmt);

/* ---- develop_plan.c ---- */

/* The SELECT with its columns renamed c0, c1, ...; the caller goes on with "SELECT ... FROM ip_sql_cte". */
void ip_sql_write_with(sqlite3_str *s, const char *select, int n_columns);
extern const char ip_sql_cte[];

/* xBestIndex. */
int ip_sql_plan_write(sqlite3_vtab *base, sqlite3_index_info *info);
/* The SELECT of one scan, new; NULL without memory. Its columns are the table's, then settings. Fills in all of q; what
 * it has to bind is borrowed from argv. */
char *ip_sql_plan_sql(const ip_sql_developed *v, bool develops, const char *plan, sqlite3_value **argv,
                      ip_sql_query *q);
static inline bool ip_sql_is_used(uint64_t used, int k) { return used >> (k < 63 ? k : 63) & 1; }

/* ---- develop_row.c ---- */

/* A column of a row: a value, an image of the row's task, what building that failed with, or nothing at all: NULL. */
typedef struct ip_sql_row_cell {
    sqlite3_value *value; /* owned; or NULL */
    int output;           /* its place in the task, or -1 */
    uint64_t hash;        /* of the image's recipe */
    int code;             /* what building it failed with, or SQLITE_OK */
    char *message;        /* of that; owned; NULL: the code says it all */
} ip_sql_row_cell;

typedef struct ip_sql_row {
    ip_sql_row_cell *cells;      /* owned, one a column */
    ip_sql_task *task;           /* owned; NULL: no image */
    bool is_submitted, was_read; /* the task */
    sqlite3_int64 number;        /* 0: nobody has asked yet */
} ip_sql_row;

/* How often each row was met in a scan, by hash. */
typedef struct ip_sql_census {
    struct ip_sql_met {
        uint64_t hash, n;
    } * slots;              /* owned; n 0: empty */
    size_t n_slots, n_used; /* a power of two, at most half full */
} ip_sql_census;

/* Takes over what stmt's current row holds for the query. row is to be cleared in any case. */
int ip_sql_row_take(ip_sql_call *call, const ip_sql_developed *v, const ip_sql_query *q, sqlite3_stmt *stmt,
                    ip_sql_row *row);
void ip_sql_row_clear(ip_sql_row *row, int n_columns);
/* row's number, see Note [Row numbers]. */
int ip_sql_row_number(ip_sql_call *call, const ip_sql_developed *v, ip_sql_census *census, ip_sql_row *row,
                      sqlite3_int64 *out);
void ip_sql_census_clear(ip_sql_census *census);

#pragma GCC visibility pop

#endif
