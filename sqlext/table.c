/* SPDX-License-Identifier: MIT */
/*
 * Table-valued functions whose rows are made at once.
 *
 * R1. A table is eponymous: it is there without CREATE, and cannot be created in a schema.
 * R2. A required argument that is missing is an error that names it; a NULL argument gives no rows.
 * R3. Rows are made when the scan begins and freed when it ends.
 * R4. Tables that tell of devices or settings are DIRECTONLY.
 * R5. Argument columns read NULL: they carry images, and nobody needs them back.
 */
#include "table.h"

#include <string.h>

typedef struct module_data {
    ip_sql_connection *conn; /* retained */
    const ip_sql_table *table;
} module_data;

typedef struct vtab {
    sqlite3_vtab base;
    const module_data *data; /* borrowed from the registration */
} vtab;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    ip_sql_rows rows;
    int at;
} cursor;

/* ---- rows ---- */

void ip_sql_rows_add(ip_sql_rows *rows)
{
    if (rows->failed)
        return;
    if (rows->n == rows->capacity) {
        int capacity = rows->capacity ? 2 * rows->capacity : 16;
        ip_sql_cell *cells = sqlite3_realloc64(rows->cells, (sqlite3_uint64)capacity * (unsigned)rows->n_columns *
                                                                sizeof *cells);
        rows->failed = !cells;
        if (!cells)
            return;
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
    if (cell)
        *cell = (ip_sql_cell){ .type = SQLITE_INTEGER, .integer = v };
}

void ip_sql_set_real(ip_sql_rows *rows, int k, double v)
{
    ip_sql_cell *cell = newest(rows, k);
    if (cell)
        *cell = (ip_sql_cell){ .type = SQLITE_FLOAT, .real = v };
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
    if (text)
        ip_sql_set_owned_text(rows, k, sqlite3_mprintf("%s", text));
}

static void rows_clear(ip_sql_rows *rows)
{
    for (int k = 0; k < rows->n * rows->n_columns; k++)
        sqlite3_free(rows->cells[k].text);
    sqlite3_free(rows->cells);
    memset(rows, 0, sizeof *rows);
}

/* ---- the methods of the module ---- */

static int table_connect(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    const module_data *data = user;
    char *declaration = sqlite3_mprintf("CREATE TABLE x(%s)", data->table->columns);
    if (!declaration)
        return SQLITE_NOMEM;
    int rc = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    if (!rc && data->table->risk)
        rc = sqlite3_vtab_config(db, data->table->risk); /* R4 */
    if (rc)
        return rc;
    vtab *v = sqlite3_malloc64(sizeof *v);
    if (!v)
        return SQLITE_NOMEM;
    memset(v, 0, sizeof *v);
    v->data = data;
    *out = &v->base;
    return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

/* idxNum is the set of arguments given, a bit each; xFilter gets their values in order. */
static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const ip_sql_table *table = ((vtab *)base)->data->table;
    int place[16] = { 0 }; /* constraint number + 1 by argument */
    bool unusable = false;
    for (int k = 0; k < info->nConstraint; k++) {
        int argument = info->aConstraint[k].iColumn - table->n_columns;
        if (argument < 0 || info->aConstraint[k].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (info->aConstraint[k].usable)
            place[argument] = k + 1;
        else
            unusable = true;
    }
    int n = 0;
    info->idxNum = 0;
    for (int k = 0; k < table->n_arguments; k++) {
        if (!place[k])
            continue;
        info->idxNum |= 1 << k;
        info->aConstraintUsage[place[k] - 1].argvIndex = ++n;
        info->aConstraintUsage[place[k] - 1].omit = 1;
    }
    int required = (1 << table->n_required) - 1;
    if (unusable && (info->idxNum & required) != required)
        return SQLITE_CONSTRAINT; /* the planner has another order */
    info->estimatedRows = 256;
    info->estimatedCost = 1e4;
    return SQLITE_OK;
}

static int table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    cursor *c = sqlite3_malloc64(sizeof *c);
    if (!c)
        return SQLITE_NOMEM;
    memset(c, 0, sizeof *c);
    *out = &c->base;
    return SQLITE_OK;
}

static int table_close(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    rows_clear(&c->rows);
    sqlite3_free(c);
    return SQLITE_OK;
}

/* Spreads the values given over the table's arguments. False: one is NULL. */
static bool spread_arguments(const ip_sql_table *table, int given, sqlite3_value **argv, sqlite3_value **spread)
{
    for (int k = 0, n = 0; k < table->n_arguments; k++) {
        spread[k] = given >> k & 1 ? argv[n++] : NULL;
        if (spread[k] && sqlite3_value_type(spread[k]) == SQLITE_NULL)
            return false;
    }
    return true;
}

static int table_filter(sqlite3_vtab_cursor *base, int given, const char *text, int argc, sqlite3_value **argv)
{
    (void)text, (void)argc;
    cursor *c = (cursor *)base;
    const module_data *data = ((vtab *)base->pVtab)->data;
    const ip_sql_table *table = data->table;
    sqlite3_value *spread[16];
    rows_clear(&c->rows);
    c->at = 0;
    c->rows.n_columns = table->n_columns;
    ip_sql_call call = { .conn = data->conn, .name = table->name };
    int required = (1 << table->n_required) - 1;
    if ((given & required) != required) /* R2 */
        ip_sql_call_fail(&call, SQLITE_ERROR, "takes at least %d argument%s", table->n_required,
                         table->n_required == 1 ? "" : "s");
    else if (spread_arguments(table, given, argv, spread))
        table->fill(&call, spread, &c->rows); /* R3 */
    if (c->rows.failed)
        ip_sql_call_fail(&call, SQLITE_NOMEM, NULL);
    if (call.message) {
        sqlite3_free(base->pVtab->zErrMsg);
        base->pVtab->zErrMsg = call.message;
    }
    return call.code;
}

static int table_next(sqlite3_vtab_cursor *base)
{
    ((cursor *)base)->at++;
    return SQLITE_OK;
}

static int table_eof(sqlite3_vtab_cursor *base)
{
    const cursor *c = (cursor *)base;
    return c->at >= c->rows.n;
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int k)
{
    const cursor *c = (cursor *)base;
    if (k >= c->rows.n_columns)
        return SQLITE_OK; /* R5 */
    const ip_sql_cell *cell = c->rows.cells + (size_t)c->at * (size_t)c->rows.n_columns + k;
    if (cell->type == SQLITE_INTEGER)
        sqlite3_result_int64(ctx, cell->integer);
    else if (cell->type == SQLITE_FLOAT)
        sqlite3_result_double(ctx, cell->real);
    else if (cell->type == SQLITE_TEXT)
        sqlite3_result_text(ctx, cell->text, -1, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = ((cursor *)base)->at + 1;
    return SQLITE_OK;
}

static const sqlite3_module table_module = { /* R1: no xCreate */
    .xConnect = table_connect, .xDisconnect = table_disconnect, .xBestIndex = table_best_index, .xOpen = table_open,
    .xClose = table_close, .xFilter = table_filter, .xNext = table_next, .xEof = table_eof, .xColumn = table_column,
    .xRowid = table_rowid,
};

static void module_destroy(void *user)
{
    module_data *data = user;
    ip_sql_connection_release(data->conn);
    sqlite3_free(data);
}

int ip_sql_add_table(const ip_sql_setup *setup, const ip_sql_table *table)
{
    module_data *data = sqlite3_malloc64(sizeof *data);
    if (!data)
        return SQLITE_NOMEM;
    data->conn = ip_sql_connection_retain(setup->conn);
    data->table = table;
    return sqlite3_create_module_v2(setup->db, table->name, &table_module, data, module_destroy);
}

int ip_sql_add_tables(const ip_sql_setup *setup)
{
    static const ip_sql_table *const all[] = {
        &ip_sql_table_histogram, &ip_sql_table_explain, &ip_sql_table_ops,
        &ip_sql_table_devices, &ip_sql_table_counters, &ip_sql_table_settings,
    };
    int rc = SQLITE_OK;
    for (size_t k = 0; k < sizeof all / sizeof all[0] && !rc; k++)
        rc = ip_sql_add_table(setup, all[k]);
    return rc ? rc : ip_sql_add_settings(setup);
}
