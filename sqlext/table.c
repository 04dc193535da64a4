/* SPDX-License-Identifier: MIT */
/*
 * Table-valued functions.
 *
 * R1. A table is eponymous: it is there without CREATE, and cannot be created in a schema. Those with parameters are
 *     made by CREATE VIRTUAL TABLE, in temp only: a table in a database file would run for whoever opens it.
 * R2. A required argument that is missing is an error that names it; a NULL argument gives no rows.
 * R3. Rows made at once live from the beginning of a scan to its end.
 * R4. Tables that tell of devices, settings or files are DIRECTONLY. Those that touch files are behind the locks of
 *     locks.c, too; what was created in temp is called by its own name, so the statement's text tells nothing of it.
 * R5. Argument columns read NULL: they carry images, and nobody needs them back.
 * R6. Bounds on the first columns and the set of columns that are read reach the scan; SQLite checks all rows again.
 */
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMETERS = 8 };

typedef struct module_data {
    ip_sql_connection *conn; /* retained */
    const ip_sql_table *table;
    char *vetted; /* for the locks; owned */
} module_data;

typedef struct vtab {
    sqlite3_vtab base;
    module_data *data; /* borrowed from the registration */
    char *fixed[MAX_PARAMETERS];
} vtab;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    ip_sql_rows rows; /* fill */
    void *state;      /* a scan's */
    bool has_row;
    sqlite3_int64 at; /* rows before this one */
} cursor;

static const ip_sql_table *table_of(const sqlite3_vtab *base) { return ((const vtab *)base)->data->table; }

static ip_sql_call call_of(const sqlite3_vtab *base)
{
    const module_data *data = ((const vtab *)base)->data;
    return (ip_sql_call){ .conn = data->conn, .name = data->table->name };
}

/* Gives the call's message to SQLite; returns its code. */
static int end_call(ip_sql_call *call, sqlite3_vtab *base)
{
    if (call->message) {
        sqlite3_free(base->zErrMsg);
        base->zErrMsg = call->message;
        call->message = NULL;
    }
    return call->code;
}

/* ---- making tables ------------------------------------------------------------------------------ */

static int new_vtab(sqlite3 *db, module_data *data, vtab **out)
{
    char *declaration = sqlite3_mprintf("CREATE TABLE x(%s)", data->table->columns);
    if (!declaration) return SQLITE_NOMEM;
    int rc = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    if (!rc && data->table->risk) rc = sqlite3_vtab_config(db, data->table->risk); /* R4 */
    vtab *v = rc ? NULL : sqlite3_malloc64(sizeof *v);
    if (!v) return rc ? rc : SQLITE_NOMEM;
    memset(v, 0, sizeof *v);
    v->data = data;
    *out = v;
    return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
    vtab *v = (vtab *)base;
    for (int k = 0; k < MAX_PARAMETERS; k++)
        sqlite3_free(v->fixed[k]);
    sqlite3_free(v);
    return SQLITE_OK;
}

static int table_connect(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    vtab *v;
    int rc = new_vtab(db, user, &v);
    if (!rc) *out = &v->base;
    return rc;
}

/* The value in "name = 'it''s'", without its quotes. NULL without memory. */
static char *unquoted(const char *text)
{
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1]))
        n--;
    char quote = n >= 2 && (*text == '\'' || *text == '"') && text[n - 1] == *text ? *text : 0;
    char *value = sqlite3_malloc64(n + 1), *at = value;
    for (size_t k = quote != 0; value && k < n - (quote != 0); k++) {
        *at++ = text[k];
        k += quote && text[k] == quote && text[k + 1] == quote;
    }
    if (value) *at = 0;
    return value;
}

static int read_parameter(vtab *v, const char *text, char **message)
{
    const ip_sql_table *table = v->data->table;
    text += strspn(text, " \t\r\n");
    size_t n = strcspn(text, "= \t\r\n");
    const char *value = text + n + strspn(text + n, " \t\r\n");
    for (int k = 0; table->parameters[k]; k++) {
        if (strlen(table->parameters[k]) != n || strncmp(text, table->parameters[k], n) || *value != '=') continue;
        value++;
        sqlite3_free(v->fixed[k]);
        v->fixed[k] = unquoted(value + strspn(value, " \t\r\n"));
        return v->fixed[k] ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_str *s = sqlite3_str_new(NULL);
    sqlite3_str_appendf(s, "%s(): '%s' is none of", table->name, text);
    for (int k = 0; table->parameters[k]; k++)
        sqlite3_str_appendf(s, "%s %s=", k ? "," : "", table->parameters[k]);
    *message = sqlite3_str_finish(s);
    return SQLITE_ERROR;
}

static int connect_created(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out,
                           char **message)
{
    module_data *data = user;
    const ip_sql_table *table = data->table;
    if (strcmp(argv[1], "temp")) { /* R1 */
        *message = sqlite3_mprintf("%s(): may be created in temp only: CREATE VIRTUAL TABLE temp.%s USING ...",
                                   table->name, argv[2]);
        return SQLITE_ERROR;
    }
    vtab *v;
    int rc = new_vtab(db, data, &v);
    if (rc) return rc;
    for (int k = 3; k < argc && !rc; k++)
        rc = read_parameter(v, argv[k], message);
    for (int k = 0; k < table->n_required && !rc; k++)
        if (!v->fixed[k]) {
            *message = sqlite3_mprintf("%s(): %s= is missing", table->name, table->parameters[k]);
            rc = SQLITE_ERROR;
        }
    if (!rc && table->check) {
        ip_sql_call call = call_of(&v->base);
        rc = table->check(&call, (const char *const *)v->fixed);
        *message = call.message;
    }
    if (rc)
        table_disconnect(&v->base);
    else
        *out = &v->base;
    return rc;
}

/* SQLite takes a module whose two functions are the same one for eponymous. */
static int create_created(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out,
                          char **message)
{
    return connect_created(db, user, argc, argv, out, message);
}

/* ---- planning -------------------------------------------------------------------------------------- */

/* How a bound on column k is written in idxStr, or 0. */
static char bound_letter(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
    case SQLITE_INDEX_CONSTRAINT_LT: return '<';
    case SQLITE_INDEX_CONSTRAINT_LE: return 'l';
    case SQLITE_INDEX_CONSTRAINT_GT: return '>';
    case SQLITE_INDEX_CONSTRAINT_GE: return 'g';
    default: return 0;
    }
}

/* idxStr has two letters for each value that xFilter gets: 'A' + argument and '=', or '0' + column and its bound.
 * idxNum is the set of columns that are read. */
static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const ip_sql_table *table = table_of(base);
    int place[IP_SQL_MAX_ARGUMENTS] = { 0 }; /* constraint number + 1 by argument */
    int n = 0, given = 0, unusable = 0;      /* given, unusable: arguments, a bit each */
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (int k = 0; k < info->nConstraint; k++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[k];
        int argument = c->iColumn - table->n_columns;
        char letter = bound_letter(c->op);
        if (c->iColumn >= 0 && c->iColumn < table->n_ranged && letter && c->usable) { /* R6 */
            sqlite3_str_appendf(s, "%c%c", '0' + c->iColumn, letter);
            info->aConstraintUsage[k].argvIndex = ++n;
        } else if (argument >= 0 && letter == '=') {
            if (c->usable)
                place[argument] = k + 1;
            else
                unusable |= 1 << argument;
        }
    }
    for (int k = 0; k < table->n_arguments; k++) {
        if (!place[k]) continue;
        given |= 1 << k;
        sqlite3_str_appendf(s, "%c=", 'A' + k);
        info->aConstraintUsage[place[k] - 1].argvIndex = ++n;
        info->aConstraintUsage[place[k] - 1].omit = 1;
    }
    int rc = sqlite3_str_errcode(s);
    info->idxStr = sqlite3_str_finish(s);
    info->needToFreeIdxStr = 1;
    if (rc) return rc;
    /* The planner has another order. In this one it would compare the argument with its column, which is NULL. */
    if (unusable & ~given) return SQLITE_CONSTRAINT;
    info->idxNum = (int)(info->colUsed & 0x7fffffff);
    info->estimatedRows = 1000; /* bounds make it no cheaper: a scan for each side of an OR would meet R5 */
    info->estimatedCost = 1e5;
    return SQLITE_OK;
}

/* Narrows column k's range by one bound. A value that is no number bounds nothing here. */
static void narrow(ip_sql_ask *ask, int k, char letter, sqlite3_value *value)
{
    int type = sqlite3_value_numeric_type(value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
    double v = sqlite3_value_double(value);
    if (!(fabs(v) < 1e15)) return;
    int64_t up = (int64_t)ceil(v), down = (int64_t)floor(v), lo = INT64_MIN, hi = INT64_MAX;
    switch (letter) {
    case '=': lo = up, hi = down; break;
    case '<': hi = up - 1; break;
    case 'l': hi = down; break;
    case '>': lo = down + 1; break;
    default: lo = up; break;
    }
    if (lo > ask->range[k].lo) ask->range[k].lo = lo;
    if (hi < ask->range[k].hi) ask->range[k].hi = hi;
}

char *ip_sql_table_arguments(const ip_sql_table *table)
{
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (const char *at = table->columns; (at = strstr(at, " HIDDEN")); at++) {
        const char *from = at;
        while (from > table->columns && from[-1] != ' ')
            from--;
        sqlite3_str_appendf(s, "%s%.*s", sqlite3_str_length(s) ? ", " : "", (int)(at - from), from);
    }
    char *text = sqlite3_str_finish(s);
    return text ? text : sqlite3_mprintf("%s", "");
}

/* ---- scanning ------------------------------------------------------------------------------------------ */

static int table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    cursor *c = sqlite3_malloc64(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    memset(c, 0, sizeof *c);
    *out = &c->base;
    return SQLITE_OK;
}

static void forget_rows(cursor *c)
{
    ip_sql_rows_clear(&c->rows);
    if (c->state) table_of(c->base.pVtab)->end(c->state);
    c->state = NULL;
    c->has_row = false;
    c->at = 0;
}

static int table_close(sqlite3_vtab_cursor *base)
{
    forget_rows((cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* False: an argument is NULL, so there are no rows. */
static bool read_ask(ip_sql_ask *ask, int used, const char *letters, int argc, sqlite3_value **argv)
{
    ask->used = (uint64_t)(unsigned)used;
    for (int k = 0; k < IP_SQL_MAX_RANGED; k++) {
        ask->range[k].lo = INT64_MIN;
        ask->range[k].hi = INT64_MAX;
    }
    for (int k = 0; k < argc; k++, letters += 2) {
        if (sqlite3_value_type(argv[k]) == SQLITE_NULL) return false;
        if (*letters >= 'A')
            ask->argv[*letters - 'A'] = argv[k];
        else
            narrow(ask, *letters - '0', letters[1], argv[k]);
    }
    return true;
}

/* R2 */
static bool has_required(ip_sql_call *call, const ip_sql_table *table, const ip_sql_ask *ask)
{
    int n = 0;
    while (n < table->n_required && (ask->argv[n] || table->parameters))
        n++;
    if (n == table->n_required) return true;
    char *names = ip_sql_table_arguments(table);
    ip_sql_call_fail(call, SQLITE_ERROR, "argument %d is missing; takes (%s), at least %d", n + 1, names ? names : "",
                     table->n_required);
    sqlite3_free(names);
    return false;
}

static int table_filter(sqlite3_vtab_cursor *base, int used, const char *letters, int argc, sqlite3_value **argv)
{
    cursor *c = (cursor *)base;
    const ip_sql_table *table = table_of(base->pVtab);
    ip_sql_call call = call_of(base->pVtab);
    ip_sql_ask ask = { .fixed = (const char *const *)((vtab *)base->pVtab)->fixed };
    forget_rows(c);
    c->rows.n_columns = table->n_columns;
    ip_sql_lock lock = table->parameters ? IP_SQL_LOCK_CREATED : IP_SQL_LOCK_TABLE;
    if (table->files && ip_sql_locks_pass(&call, lock, &((vtab *)base->pVtab)->data->vetted)) /* R4 */
        return end_call(&call, base->pVtab);
    if (!read_ask(&ask, used, letters, argc, argv)) return SQLITE_OK;
    if (!has_required(&call, table, &ask)) return end_call(&call, base->pVtab);
    if (table->fill) {
        table->fill(&call, ask.argv, &c->rows); /* R3 */
        if (c->rows.failed) ip_sql_call_fail(&call, SQLITE_NOMEM, NULL);
        c->has_row = c->rows.n > 0;
    } else if (!table->begin(&call, &ask, &c->state) && c->state) {
        c->has_row = table->next(&call, c->state);
    }
    return end_call(&call, base->pVtab);
}

static int table_next(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    c->at++;
    if (table_of(base->pVtab)->fill) {
        c->has_row = c->at < c->rows.n;
        return SQLITE_OK;
    }
    ip_sql_call call = call_of(base->pVtab);
    c->has_row = table_of(base->pVtab)->next(&call, c->state);
    return end_call(&call, base->pVtab);
}

static int table_eof(sqlite3_vtab_cursor *base) { return !((const cursor *)base)->has_row; }

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int k)
{
    const cursor *c = (cursor *)base;
    const ip_sql_table *table = table_of(base->pVtab);
    if (k >= table->n_columns) return SQLITE_OK; /* R5 */
    if (!table->fill) {
        ip_sql_call call = call_of(base->pVtab);
        table->column(&call, c->state, ctx, k);
        ip_sql_call_end(&call, ctx);
        return SQLITE_OK;
    }
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

static const sqlite3_module eponymous_module = {
    /* R1: no xCreate */
    .xConnect = table_connect,
    .xDisconnect = table_disconnect,
    .xBestIndex = table_best_index,
    .xOpen = table_open,
    .xClose = table_close,
    .xFilter = table_filter,
    .xNext = table_next,
    .xEof = table_eof,
    .xColumn = table_column,
    .xRowid = table_rowid,
};

static const sqlite3_module created_module = {
    .xCreate = create_created,
    .xConnect = connect_created,
    .xDisconnect = table_disconnect,
    .xDestroy = table_disconnect,
    .xBestIndex = table_best_index,
    .xOpen = table_open,
    .xClose = table_close,
    .xFilter = table_filter,
    .xNext = table_next,
    .xEof = table_eof,
    .xColumn = table_column,
    .xRowid = table_rowid,
};

/* ---- registration ---------------------------------------------------------------------------------------- */

static void module_destroy(void *user)
{
    module_data *data = user;
    ip_sql_connection_unregister(data->conn);
    sqlite3_free(data->vetted);
    sqlite3_free(data);
}

static int add_module(const ip_sql_setup *setup, const ip_sql_table *table, const char *name)
{
    module_data *data = sqlite3_malloc64(sizeof *data);
    if (!data) return SQLITE_NOMEM;
    data->conn = ip_sql_connection_register(setup->conn);
    data->table = table;
    data->vetted = NULL;
    return sqlite3_create_module_v2(setup->db, name, table->parameters ? &created_module : &eponymous_module, data,
                                    module_destroy);
}

int ip_sql_add_table(const ip_sql_setup *setup, const ip_sql_table *table)
{
    const int rc = add_module(setup, table, table->name);
    return rc || !table->alias ? rc : add_module(setup, table, table->alias);
}

static const ip_sql_table *const all[] = {
    &ip_sql_table_histogram, &ip_sql_table_pixels,  &ip_sql_table_regions,  &ip_sql_table_stats,
    &ip_sql_table_tiles,     &ip_sql_table_files,   &ip_sql_table_folder,   &ip_sql_table_explain,
    &ip_sql_table_ops,       &ip_sql_table_devices, &ip_sql_table_counters, &ip_sql_table_settings,
    &ip_sql_table_reference, &ip_sql_table_exif,
};

const ip_sql_table *ip_sql_table_get(int k) { return k >= 0 && k < (int)(sizeof all / sizeof all[0]) ? all[k] : NULL; }

int ip_sql_add_tables(const ip_sql_setup *setup)
{
    int rc = SQLITE_OK;
    for (int k = 0; ip_sql_table_get(k) && !rc; k++)
        if (!setup->safe || !ip_sql_table_get(k)->files) rc = ip_sql_add_table(setup, ip_sql_table_get(k));
    return rc ? rc : ip_sql_add_settings(setup);
}
