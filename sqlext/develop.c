/* SPDX-License-Identifier: MIT */
/*
 * CREATE VIRTUAL TABLE temp.t USING imgpar(SELECT ...): plain SQL whose images are deferred inside and finished
 * at the table's edge.
 *
 *     CREATE VIRTUAL TABLE temp.soft USING imgpar(
 *         SELECT name, blend(blur(img, 2), img_invert(img), 0.3) AS img FROM photos);
 *     SELECT name, img FROM soft ORDER BY name LIMIT 3;          -- computes three images, each at once
 *
 * R1. In temp only: in a database file it would run for whoever opens that, with all that a statement may do.
 * R2. One statement that only reads, a SELECT, with a column at least.
 * R3. While it is stepped, the connection defers: operations take plain images as lazy(), so that a nested form is
 *     one recipe. Sinks and measures inside compute as ever. Inside another imgpar table the images stay deferred.
 * R4. Only columns that are asked for are computed; all of a row in one evaluation, with equal sources read once.
 * R5. Rows are computed by a crew of threads, ahead of the statement, so that reading, computing and writing of
 *     neighbours overlap: two, four and more, as long as each is read; none after a row that SQLite has passed by.
 * R6. Conditions, ORDER BY and LIMIT go into the SELECT: what they drop is not even read. See Note [Passing
 *     conditions] of develop_plan.c.
 * R7. A column that fails is an error when it is read, and not before. A row that fails, in the SELECT, is one behind
 *     the rows before it, however many were fetched ahead.
 * R8. Columns that are calls of png(), jpeg() or npy() are encoded by the crew too; see develop_edge.c.
 */
#include "develop.h"
#include "values.h"

#include <string.h>

static const char table_name[] = "imgpar";
enum { MAX_AHEAD = 64 };

typedef ip_sql_developed vtab;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *stmt;
    char *sql;
    ip_sql_query query;
    ip_sql_crew *crew;
    ip_sql_row rows[MAX_AHEAD]; /* a ring */
    int first, n;               /* n rows from first on are there; the first is the current one */
    int ahead;                  /* how many to have; above 1: and to compute */
    bool at_end;                /* of stmt */
    int code;                   /* with which stmt ended while rows were ready, told behind them; SQLITE_OK: none */
    char *message;              /* of that; owned */
    sqlite3_int64 at;           /* the number of the current row in the scan, from 1 on */
    ip_sql_census census;
} cursor;

/* ---- making the table ------------------------------------------------------------------------------ */

/* SQLite cuts a module's arguments at commas; this puts them together again. */
static char *join_arguments(int argc, const char *const *argv)
{
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (int k = 3; k < argc; k++)
        sqlite3_str_appendf(s, "%s%s", k > 3 ? ", " : "", argv[k]);
    return sqlite3_str_finish(s);
}

static int refuse(char **message, const char *why)
{
    *message = sqlite3_mprintf("%s(): %s", table_name, why);
    return *message ? SQLITE_ERROR : SQLITE_NOMEM;
}

/* SQLite's rules of a declared type: anything but texts, blobs and nothing compares as a number. */
static bool is_numeric_type(const char *type)
{
    return type && *type &&
           (!sqlite3_strlike("%INT%", type, 0) ||
            (sqlite3_strlike("%CHAR%", type, 0) && sqlite3_strlike("%CLOB%", type, 0) &&
             sqlite3_strlike("%TEXT%", type, 0) && sqlite3_strlike("%BLOB%", type, 0)));
}

/* Names and types of the columns as a declaration. */
static char *declaration_of(sqlite3_stmt *stmt, vtab *v)
{
    sqlite3_str *s = sqlite3_str_new(NULL);
    sqlite3_str_appendall(s, "CREATE TABLE x(");
    for (int k = 0; k < sqlite3_column_count(stmt); k++) {
        const char *type = sqlite3_column_decltype(stmt, k);
        sqlite3_str_appendf(s, "%s\"%w\"", k ? ", " : "", sqlite3_column_name(stmt, k));
        if (type && *type) sqlite3_str_appendf(s, " \"%w\"", type);
        v->is_numeric[k] = is_numeric_type(type);
        v->is_plain[k] = type && *type && sqlite3_strlike("%BLOB%", type, 0);
    }
    sqlite3_str_appendchar(s, 1, ')');
    return sqlite3_str_finish(s);
}

/* NULL, or why it may not be the SELECT; R2. */
static const char *judge(const vtab *v, sqlite3_stmt *stmt, const char *tail)
{
    if (!stmt || tail[strspn(tail, " \t\r\n")] || (tail > v->select && tail[-1] == ';'))
        return "one SELECT is needed, without a semicolon";
    if (!sqlite3_stmt_readonly(stmt) || sqlite3_stmt_isexplain(stmt) || !v->n_columns) return "a SELECT is needed";
    if (v->n_columns > IP_SQL_MAX_COLUMNS) return "too many columns";
    return sqlite3_bind_parameter_count(stmt) ? "the SELECT may have no parameters" : NULL;
}

/* Whether SQLite takes the SELECT where a scan will put it: in a WITH. */
static int try_in_with(sqlite3 *db, const char *select, int n_columns)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_str *s = sqlite3_str_new(NULL);
    ip_sql_write_with(s, select, n_columns);
    sqlite3_str_appendf(s, "SELECT * FROM %s", ip_sql_cte);
    char *sql = sqlite3_str_finish(s);
    int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc;
}

/* R8 */
static void find_edges(sqlite3 *db, vtab *v, sqlite3_stmt *stmt)
{
    v->edge_select = ip_sql_edges_find(v, stmt);
    if (v->edge_select && !try_in_with(db, v->edge_select, v->n_columns + v->n_settings)) return;
    sqlite3_free(v->edge_select);
    v->edge_select = NULL;
    v->n_settings = 0;
    memset(v->edges, 0, sizeof v->edges);
}

/* Checks the SELECT and declares the table. */
static int declare(sqlite3 *db, vtab *v, char **message)
{
    sqlite3_stmt *stmt = NULL;
    const char *tail = "", *why = NULL;
    char *declaration = NULL;
    int rc = sqlite3_prepare_v2(db, v->select, -1, &stmt, &tail);
    v->n_columns = stmt ? sqlite3_column_count(stmt) : 0;
    if (!rc && (why = judge(v, stmt, tail))) rc = refuse(message, why);
    if (!rc) {
        declaration = declaration_of(stmt, v);
        rc = declaration ? try_in_with(db, v->select, v->n_columns) : SQLITE_NOMEM;
        if (rc == SQLITE_ERROR)
            *message = sqlite3_mprintf("%s(): a SELECT is needed (%s)", table_name, sqlite3_errmsg(db));
    }
    if (!rc) rc = sqlite3_declare_vtab(db, declaration);
    if (rc && !*message) *message = sqlite3_mprintf("%s(): %s", table_name, sqlite3_errmsg(db));
    if (!rc) find_edges(db, v, stmt);
    sqlite3_free(declaration);
    sqlite3_finalize(stmt);
    return rc;
}

static int disconnect(sqlite3_vtab *base)
{
    sqlite3_free(((vtab *)base)->select);
    sqlite3_free(((vtab *)base)->edge_select);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int connect(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    if (strcmp(argv[1], "temp")) { /* R1 */
        *message =
            sqlite3_mprintf("%s(): may be created in temp only: CREATE VIRTUAL TABLE temp.%s USING imgpar(SELECT ...)",
                            table_name, argv[2]);
        return SQLITE_ERROR;
    }
    char *select = join_arguments(argc, argv);
    if (!select) return argc > 3 ? SQLITE_NOMEM : refuse(message, "a SELECT is needed");
    vtab *v = sqlite3_malloc64(sizeof *v);
    if (!v) {
        sqlite3_free(select);
        return SQLITE_NOMEM;
    }
    memset(v, 0, sizeof *v);
    v->conn = user;
    v->select = select;
    int rc = declare(db, v, message);
    if (rc)
        disconnect(&v->base);
    else
        *out = &v->base;
    return rc;
}

static int create(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    return connect(db, user, argc, argv, out, message); /* another function than connect: not eponymous */
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static void forget_failure(cursor *c)
{
    sqlite3_free(c->message);
    c->message = NULL;
    c->code = SQLITE_OK;
}

static void forget_rows(cursor *c)
{
    forget_failure(c);
    int n_columns = ((vtab *)c->base.pVtab)->n_columns;
    ip_sql_crew_free(c->crew); /* before the tasks it may be working on */
    c->crew = NULL;
    for (; c->n; c->n--, c->first = (c->first + 1) % MAX_AHEAD)
        ip_sql_row_clear(&c->rows[c->first], n_columns);
    c->first = 0;
}

/* Steps stmt once, deferring; R3. */
static int step(ip_sql_call *call, cursor *c)
{
    call->conn->deferring++;
    int rc = sqlite3_step(c->stmt);
    call->conn->deferring--;
    c->at_end = rc != SQLITE_ROW;
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) return SQLITE_OK;
    call->message = sqlite3_mprintf("%s", sqlite3_errmsg(call->conn->db)); /* it names its function already */
    return call->code = rc & 0xff;
}

/* Gives the images of row r to the crew, once. */
static void submit(cursor *c, ip_sql_row *r)
{
    if (!r->task || r->is_submitted) return;
    if (!c->crew) c->crew = ip_sql_crew_new(ip_sql_crew_size());
    if (c->crew) ip_sql_crew_submit(c->crew, r->task);
    r->is_submitted = c->crew != NULL;
}

/* A failure of rows ahead waits until the ready ones have been read: a LIMIT may never get there. */
static void put_failure_off(ip_sql_call *call, cursor *c)
{
    if (!call->code || !c->n) return;
    c->code = call->code;
    c->message = call->message;
    call->code = SQLITE_OK;
    call->message = NULL;
}

/* The failure that was put off becomes the call's. */
static int fail_late(ip_sql_call *call, cursor *c)
{
    call->code = c->code;
    call->message = c->message;
    c->message = NULL;
    forget_failure(c);
    return call->code;
}

/* Has as many rows as are wanted ahead, the current one at least; R5. */
static int fetch(ip_sql_call *call, cursor *c)
{
    if (!c->n && c->code) return fail_late(call, c);
    while (c->n < c->ahead && !c->at_end) {
        ip_sql_row *r = &c->rows[(c->first + c->n) % MAX_AHEAD];
        if (step(call, c)) put_failure_off(call, c);
        if (call->code || c->at_end) break;
        c->n++;
        if (ip_sql_row_take(call, (vtab *)c->base.pVtab, &c->query, c->stmt, r)) break;
    }
    for (int k = 0; k < c->n && c->ahead > 1 && !call->code; k++)
        submit(c, &c->rows[(c->first + k) % MAX_AHEAD]);
    return call->code;
}

/* ---- the cursor ------------------------------------------------------------------------------------------------- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    cursor *c = sqlite3_malloc64(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    memset(c, 0, sizeof *c);
    *out = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    forget_rows(c);
    ip_sql_census_clear(&c->census);
    sqlite3_finalize(c->stmt);
    sqlite3_free(c->sql);
    sqlite3_free(c);
    return SQLITE_OK;
}

static int end_call(ip_sql_call *call, sqlite3_vtab *base)
{
    if (call->message) {
        sqlite3_free(base->zErrMsg);
        base->zErrMsg = call->message;
        call->message = NULL;
    }
    return call->code;
}

/* Prepares sql (taken over), or takes the statement that is there for the same text. */
static int prepare(ip_sql_call *call, cursor *c, char *sql)
{
    if (c->stmt && !strcmp(c->sql, sql)) {
        sqlite3_free(sql);
        return SQLITE_OK;
    }
    sqlite3_finalize(c->stmt);
    sqlite3_free(c->sql);
    c->stmt = NULL;
    c->sql = sql;
    int rc = sqlite3_prepare_v2(call->conn->db, sql, -1, &c->stmt, NULL);
    return rc ? ip_sql_call_fail(call, rc & 0xff, "%s", sqlite3_errmsg(call->conn->db)) : SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc, sqlite3_value **argv)
{
    (void)number, (void)argc;
    cursor *c = (cursor *)base;
    const vtab *v = (vtab *)base->pVtab;
    ip_sql_call call = { .conn = v->conn, .name = table_name };
    ip_sql_query *q = &c->query;
    forget_rows(c);
    sqlite3_reset(c->stmt);
    char *sql = ip_sql_plan_sql(v, !v->conn->deferring, plan, argv, q);
    c->at_end = false;
    c->ahead = 1;
    c->at = 1;
    ip_sql_census_clear(&c->census);
    if (!sql)
        ip_sql_call_fail(&call, SQLITE_NOMEM, NULL);
    else if (!prepare(&call, c, sql)) {
        for (int k = 0; k < q->n_values; k++)
            sqlite3_bind_value(c->stmt, k + 1, q->values[k]);
        q->n_values = 0; /* they were borrowed */
        fetch(&call, c);
    }
    return end_call(&call, base->pVtab);
}

static bool stop(void *user)
{
    ip_sql_run *run = user;
    return run->options.poll(run, 0) != 0;
}

/* Tells the warnings of a task, which is over, once. */
static void pass_on(ip_sql_connection *conn, char *warnings)
{
    for (char *line = warnings, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        ip_sql_warn(conn, line);
    }
    *warnings = '\0';
}

/* Waits for the row's images where the crew has them, which SQLite may interrupt. */
static int wait_for(ip_sql_call *call, cursor *c, const ip_sql_row *r)
{
    ip_sql_run run;
    ip_sql_run_begin(&run, call);
    if (r->is_submitted && ip_sql_crew_wait(c->crew, r->task, stop, &run))
        ip_sql_call_fail(call, SQLITE_INTERRUPT, NULL);
    else if (r->is_submitted)
        pass_on(call->conn, r->task->warnings);
    ip_sql_run_end(&run);
    return call->code;
}

static int next(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    const vtab *v = (vtab *)base->pVtab;
    ip_sql_call call = { .conn = v->conn, .name = table_name };
    int most = 2 * ip_sql_crew_size() < MAX_AHEAD ? 2 * ip_sql_crew_size() : MAX_AHEAD;
    ip_sql_row *r = &c->rows[c->first];
    if (wait_for(&call, c, r)) /* where its images were not read after all */
        return end_call(&call, base->pVtab);
    if (r->task) /* R5 */
        c->ahead = !r->was_read ? 1 : c->ahead * 2 < most ? c->ahead * 2 : most;
    ip_sql_row_clear(r, v->n_columns);
    c->first = (c->first + 1) % MAX_AHEAD;
    c->n--;
    c->at++;
    fetch(&call, c);
    return end_call(&call, base->pVtab);
}

static int eof(sqlite3_vtab_cursor *base) { return !((cursor *)base)->n; }

static void return_image(ip_sql_call *call, sqlite3_context *ctx, cursor *c, ip_sql_row *r, ip_sql_output *o)
{
    r->was_read = true;
    submit(c, r);
    if (wait_for(call, c, r)) return;
    if (!r->is_submitted && !o->bytes && !o->status) { /* no threads to be had */
        ip_sql_run run;
        ip_sql_run_begin(&run, call);
        ip_sql_output_encode(o, &run.options);
        ip_sql_run_end(&run);
    }
    memcpy(call->path, o->path, sizeof call->path);
    if (o->status)
        ip_sql_call_fail_status(call, o->status, NULL, o->message);
    else if (o->n > ip_sql_max_bytes(call->conn))
        ip_sql_call_fail(call, SQLITE_TOOBIG, NULL);
    else
        sqlite3_result_blob64(ctx, o->bytes, o->n, SQLITE_TRANSIENT);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int k)
{
    cursor *c = (cursor *)base;
    const vtab *v = (vtab *)base->pVtab;
    ip_sql_row *r = &c->rows[c->first];
    const ip_sql_row_cell *cell = &r->cells[k];
    const char *format = c->query.at_edge ? v->edges[k].format : NULL;
    ip_sql_call call = { .conn = v->conn, .name = format ? format : table_name };
    if (cell->value)
        sqlite3_result_value(ctx, cell->value);
    else if (cell->code) { /* R7 */
        call.code = cell->code;
        call.message = cell->message ? sqlite3_mprintf("%s", cell->message) : NULL;
    } else if (cell->output >= 0)
        return_image(&call, ctx, c, r, &r->task->outputs[cell->output]);
    ip_sql_call_end(&call, ctx);
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    cursor *c = (cursor *)base;
    const vtab *v = (vtab *)base->pVtab;
    ip_sql_call call = { .conn = v->conn, .name = table_name };
    if (!c->query.is_whole) return ip_sql_row_number(&call, v, &c->census, &c->rows[c->first], out);
    *out = c->at;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xCreate = create,
    .xConnect = connect,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xBestIndex = ip_sql_plan_write,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = eof,
    .xColumn = column,
    .xRowid = rowid,
};

/* ---- img_develop(x): of a deferred image the finished one, of anything else itself ---------------------------- */

static void develop_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    bool is_image = sqlite3_value_type(argv[0]) == SQLITE_BLOB &&
                    ip_sql_recipe_is(sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0]));
    if (!is_image) {
        sqlite3_result_value(ctx, argv[0]);
        return;
    }
    ip_sql_call call = ip_sql_call_begin(ctx);
    ip_sql_inputs in;
    if (!ip_sql_inputs_read(&call, 1, argv, &in)) ip_sql_result_encoded(&call, ctx, in.arrays[0], NULL, NULL);
    ip_sql_inputs_free(&in);
    ip_sql_call_end(&call, ctx);
}

static void release_connection(void *user) { ip_sql_connection_unregister(user); }

int ip_sql_add_develop(const ip_sql_setup *setup)
{
    int rc = ip_sql_add_function(setup, "img_develop", 1, 0, develop_function, NULL, 0);
    return rc ? rc
              : sqlite3_create_module_v2(setup->db, table_name, &module, ip_sql_connection_register(setup->conn),
                                         release_connection);
}
