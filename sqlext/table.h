/* SPDX-License-Identifier: MIT */
/*
 * table.h - table-valued functions.
 *
 * A table is a row of data: its name, its columns, its arguments, and functions that make its rows, either all at
 * once (fill) or one by one (begin, next, column, end):
 *
 *     SELECT * FROM histogram(img, 16)                 fill, with two arguments
 *     SELECT * FROM pixels(img) WHERE y < 10           a scan, which is told the bounds of y
 */
#ifndef IP_SQL_TABLE_H
#define IP_SQL_TABLE_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

typedef struct ip_sql_cell {
    int type; /* SQLITE_NULL, SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT */
    sqlite3_int64 integer;
    double real;
    char *text; /* owned; for sqlite3_free() */
} ip_sql_cell;

typedef struct ip_sql_rows {
    int n_columns, n, capacity;
    ip_sql_cell *cells;
    bool failed; /* memory ran out; adding on does nothing */
} ip_sql_rows;

enum { IP_SQL_MAX_ARGUMENTS = 16, IP_SQL_MAX_RANGED = 4 };

/* What a scan is asked for. */
typedef struct ip_sql_ask {
    sqlite3_value *argv[IP_SQL_MAX_ARGUMENTS]; /* borrowed until begin() returns; NULL: not given */
    const char *const *fixed;                  /* values of the parameters, NULL: not given */
    uint64_t used;                             /* a bit for each column that may be read */
    struct {
        int64_t lo, hi;
    } range[IP_SQL_MAX_RANGED]; /* no row outside is wanted */
} ip_sql_ask;

typedef struct ip_sql_table {
    const char *name, *alias; /* the latter: the same under another name, or NULL */
    const char *columns;      /* as in CREATE TABLE, the arguments last, each HIDDEN */
    const char *about;        /* for the reference: what a row is, and an example */
    const char *example;
    int n_columns; /* without the arguments */
    int n_arguments, n_required;
    int n_ranged; /* the first columns, whole numbers, whose bounds are pushed down */
    int risk;     /* SQLITE_VTAB_INNOCUOUS, SQLITE_VTAB_DIRECTONLY or 0 */
    bool files;   /* touches files: absent from the safe module */
    /* made by CREATE VIRTUAL TABLE temp.t USING this(parameter=value, ...): their names, NULL behind the last, the
     * first n_required of them needed; NULL: is there without CREATE */
    const char *const *parameters;
    int (*check)(ip_sql_call *call, const char *const *fixed); /* of their values; NULL: any will do */
    /* Adds all rows. argv has n_arguments places, NULL where one is not given. */
    int (*fill)(ip_sql_call *call, sqlite3_value **argv, ip_sql_rows *rows);
    /* Or a scan: *state is new, for end(), also on failure; NULL: no rows. */
    int (*begin)(ip_sql_call *call, const ip_sql_ask *ask, void **state);
    bool (*next)(ip_sql_call *call, void *state); /* moves to the first or next row; false: none, or call failed */
    void (*column)(ip_sql_call *call, void *state, sqlite3_context *ctx, int k);
    void (*end)(void *state);
} ip_sql_table;

/* Adds a row of NULLs. */
void ip_sql_rows_add(ip_sql_rows *rows);
/* Set column k of the newest row. Texts are copied; NULL gives an SQL NULL. */
void ip_sql_set_integer(ip_sql_rows *rows, int k, sqlite3_int64 v);
void ip_sql_set_real(ip_sql_rows *rows, int k, double v);
void ip_sql_set_text(ip_sql_rows *rows, int k, const char *text);
/* Takes text over; NULL: memory ran out. */
void ip_sql_set_owned_text(ip_sql_rows *rows, int k, char *text);
void ip_sql_rows_clear(ip_sql_rows *rows);

int ip_sql_add_table(const ip_sql_setup *setup, const ip_sql_table *table);
/* The names of a table's arguments, its hidden columns: "source, bins, only_channel", new. NULL without memory. */
char *ip_sql_table_arguments(const ip_sql_table *table);
/* The tables there are; NULL behind the last. */
const ip_sql_table *ip_sql_table_get(int k);

/* The rows of catalog.c, exif.c, files.c, pixels.c, regions.c, stats.c, tables.c and tiles.c. */
extern const ip_sql_table ip_sql_table_histogram, ip_sql_table_explain;
extern const ip_sql_table ip_sql_table_pixels, ip_sql_table_regions, ip_sql_table_stats, ip_sql_table_tiles,
    ip_sql_table_files, ip_sql_table_folder;
extern const ip_sql_table ip_sql_table_exif, ip_sql_table_ops, ip_sql_table_devices, ip_sql_table_counters,
    ip_sql_table_settings, ip_sql_table_reference;
int ip_sql_add_settings(const ip_sql_setup *setup); /* catalog.c: img_setting() */

#pragma GCC visibility pop

#endif
