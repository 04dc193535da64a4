/* SPDX-License-Identifier: MIT */
/*
 * table.h - table-valued functions whose rows are made at once.
 *
 * A table is a row of data: its name, its columns, its arguments, and a function that makes all its
 * rows. SELECT * FROM histogram(img, 16) calls it with two arguments.
 */
#ifndef IP_SQL_TABLE_H
#define IP_SQL_TABLE_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

typedef struct ip_sql_cell {
    int type;            /* SQLITE_NULL, SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT */
    sqlite3_int64 integer;
    double real;
    char *text;          /* owned; for sqlite3_free() */
} ip_sql_cell;

typedef struct ip_sql_rows {
    int n_columns, n, capacity;
    ip_sql_cell *cells;
    bool failed;         /* memory ran out; adding on does nothing */
} ip_sql_rows;

typedef struct ip_sql_table {
    const char *name;
    const char *columns; /* as in CREATE TABLE, the arguments last, each HIDDEN */
    int n_columns;       /* without the arguments */
    int n_arguments, n_required;
    int risk;            /* SQLITE_VTAB_INNOCUOUS, SQLITE_VTAB_DIRECTONLY or 0 */
    /* Adds all rows. argv has n_arguments places, NULL where one is not given. */
    int (*fill)(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows);
} ip_sql_table;

/* Adds a row of NULLs. */
void ip_sql_rows_add(ip_sql_rows *rows);
/* Set column k of the newest row. Texts are copied; NULL gives an SQL NULL. */
void ip_sql_set_integer(ip_sql_rows *rows, int k, sqlite3_int64 v);
void ip_sql_set_real(ip_sql_rows *rows, int k, double v);
void ip_sql_set_text(ip_sql_rows *rows, int k, const char *text);
/* Takes text over; NULL: memory ran out. */
void ip_sql_set_owned_text(ip_sql_rows *rows, int k, char *text);

int ip_sql_add_table(const ip_sql_setup *setup, const ip_sql_table *table);

/* The rows of tables.c and catalog.c. */
extern const ip_sql_table ip_sql_table_histogram, ip_sql_table_explain;
extern const ip_sql_table ip_sql_table_ops, ip_sql_table_devices, ip_sql_table_counters, ip_sql_table_settings;
int ip_sql_add_settings(const ip_sql_setup *setup); /* catalog.c: img_setting() */

#pragma GCC visibility pop

#endif
