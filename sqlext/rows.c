/* SPDX-License-Identifier: MIT */
/* Rows that are made at once: a growing matrix of cells. */
#include "table.h"

#include <string.h>

void ip_sql_rows_add(ip_sql_rows *rows)
{
    if (rows->failed) return;
    if (rows->n == rows->capacity) {
        int capacity = rows->capacity ? 2 * rows->capacity : 16;
        ip_sql_cell *cells =
            sqlite3_realloc64(rows->cells, (sqlite3_uint64)capacity * (unsigned)rows->n_columns * sizeof *cells);
        rows->failed = !cells;
        if (!cells) return;
        rows->cells = cells;
        rows->capacity = capacity;
    }
    ip_sql_cell *row = rows->cells + (size_t)rows->n++ * (size_t)rows->n_columns;
    for (int k = 0; k < rows->n_columns; k++)
        row[k] = (ip_sql_cell){ .type = SQLITE_NULL };
}

/* Column k of the newest row; NULL when memory ran out. */
static ip_sql_cell *newest(ip_sql_rows *rows, int k)
{
    return rows->failed ? NULL : rows->cells + (size_t)(rows->n - 1) * (size_t)rows->n_columns + k;
}

void ip_sql_set_integer(ip_sql_rows *rows, int k, sqlite3_int64 v)
{
    ip_sql_cell *cell = newest(rows, k);
    if (cell) *cell = (ip_sql_cell){ .type = SQLITE_INTEGER, .integer = v };
}

void ip_sql_set_real(ip_sql_rows *rows, int k, double v)
{
    ip_sql_cell *cell = newest(rows, k);
    if (cell) *cell = (ip_sql_cell){ .type = SQLITE_FLOAT, .real = v };
}

void ip_sql_set_owned_text(ip_sql_rows *rows, int k, char *text)
{
    ip_sql_cell *cell = newest(rows, k);
    if (!cell || !text) {
        rows->failed = true;
        sqlite3_free(text);
        return;
    }
    *cell = (ip_sql_cell){ .type = SQLITE_TEXT, .text = text };
}

void ip_sql_set_text(ip_sql_rows *rows, int k, const char *text)
{
    if (text) ip_sql_set_owned_text(rows, k, sqlite3_mprintf("%s", text));
}

void ip_sql_rows_clear(ip_sql_rows *rows)
{
    for (int k = 0; k < rows->n * rows->n_columns; k++)
        sqlite3_free(rows->cells[k].text);
    sqlite3_free(rows->cells);
    memset(rows, 0, sizeof *rows);
}
