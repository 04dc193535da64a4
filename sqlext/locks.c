/* SPDX-License-Identifier: MIT */
/*
 * Two locks in front of what writes files, reads them or changes settings: save(), img_setting(), img_files,
 * imgpar_folder.
 *
 * A database file is a program: its constraints, defaults, generated columns, indexes, triggers and views run for
 * whoever opens it. SQLITE_DIRECTONLY is meant to keep such functions out of them, but SQLite 3.40 does not hold it
 * against CHECK, which runs on INSERT and on PRAGMA integrity_check, trusted_schema and the defensive mode
 * notwithstanding. So:
 *
 * R1. A function refuses while the schema of any open database calls it, whichever way that would be run. Temporary
 *     objects do not count: they come with no file, but from statements of this connection.
 * R2. It runs only while the text of a running statement calls it itself. So no name that one database hides can be
 *     called by a statement on another.
 * R3. It refuses while writable_schema is on: then the schema at work need not be the one that is stored.
 * R4. What cannot be looked through is taken for hostile: an error, never a pass.
 * R5. Schemas are looked through once a version. See Note [Versions of a schema].
 *
 * Texts are cut at tokens (tokens.h), so cases, quotes and comments hide nothing, and names of tables or columns are no
 * calls. No function with effects may take a single argument: FTS4 calls what its compress= names, with one, in
 * statements of its own.
 */
#include "tokens.h"

#include <string.h>
#include <sys/stat.h>

static int fail_unread(ip_sql_call *call, int rc)
{
    return ip_sql_call_fail(call, rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT ? rc : SQLITE_ERROR,
                            "refused: the schemas cannot be looked through: %s", sqlite3_errmsg(call->conn->db));
}

/* Prepares a formatted statement; what was formatted is freed. */
static int prepare(ip_sql_call *call, char *sql, sqlite3_stmt **out)
{
    *out = NULL;
    int rc = sql ? sqlite3_prepare_v2(call->conn->db, sql, -1, out, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc ? fail_unread(call, rc & 0xff) : SQLITE_OK;
}

/* Ends a statement of which all rows that were wanted have been read. Returns the call's first error. */
static int finish(ip_sql_call *call, sqlite3_stmt *stmt)
{
    int rc = sqlite3_finalize(stmt) & 0xff;
    return rc ? fail_unread(call, rc) : call->code;
}

/* ---- the statement's own text, R2 ------------------------------------------------------------------ */

static bool names(const char *sql, const char *name)
{
    ip_sql_token t;
    while (ip_sql_token_next(&sql, &t))
        if (ip_sql_is_name(&t, name)) return true;
    return false;
}

/* A table may be read without arguments in brackets: FROM img_files WHERE dir = '.'. */
static bool a_running_statement_calls(sqlite3 *db, const char *name, bool is_table)
{
    for (sqlite3_stmt *s = sqlite3_next_stmt(db, NULL); s; s = sqlite3_next_stmt(db, s)) {
        const char *sql = sqlite3_stmt_busy(s) ? sqlite3_sql(s) : NULL;
        if (sql && (is_table ? names(sql, name) : ip_sql_calls(sql, name))) return true;
    }
    return false;
}

/* ---- the schemas, R1 --------------------------------------------------------------------------------- */

/* Fails the call if the schema of that database calls its name. */
static int look_through(ip_sql_call *call, const char *database, const char *file, sqlite3_str *key)
{
    (void)file, (void)key;
    sqlite3_stmt *stmt;
    /* sqlite_schema is the same from SQLite 3.33 on. */
    if (prepare(call, sqlite3_mprintf("SELECT name, sql FROM \"%w\".sqlite_master", database), &stmt))
        return call->code;
    while (!call->code && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *sql = (const char *)sqlite3_column_text(stmt, 1);
        if (!sql && sqlite3_column_type(stmt, 1) != SQLITE_NULL)
            ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
        else if (sql && ip_sql_calls(sql, call->name))
            ip_sql_call_fail(call, SQLITE_ERROR, "refused while the schema of %s calls it (in \"%.64s\")", database,
                             (const char *)sqlite3_column_text(stmt, 0));
    }
    return finish(call, stmt);
}

/*
 * Note [Versions of a schema]
 * SQLite counts the changes of a schema in the file (schema_version), and those that other connections make to it
 * (data_version). Both may be the same after DETACH and ATTACH of another file under the same name, or where the file
 * itself was replaced, so the file's own identity goes into the key with them. A database without a file has none:
 * sqlite3_deserialize() can put anything in its place, so it is looked through at every call, which takes some 20 us.
 */

/* Adds the database's version to key, or resets key where it has none that could be trusted. */
static int add_version(ip_sql_call *call, const char *database, const char *file, sqlite3_str *key)
{
    static const char *const versions[] = { "schema_version", "data_version" };
    struct stat facts;
    if (!file || !*file || stat(file, &facts)) {
        sqlite3_str_reset(key);
        return SQLITE_DONE;
    }
    sqlite3_str_appendf(key, "%Q %Q %lld %lld %lld %lld %ld", database, file, (long long)facts.st_dev,
                        (long long)facts.st_ino, (long long)facts.st_size, (long long)facts.st_ctim.tv_sec,
                        facts.st_ctim.tv_nsec);
    for (size_t k = 0; k < sizeof versions / sizeof versions[0]; k++) {
        sqlite3_stmt *stmt;
        if (prepare(call, sqlite3_mprintf("PRAGMA \"%w\".%s", database, versions[k]), &stmt)) return call->code;
        if (sqlite3_step(stmt) == SQLITE_ROW)
            sqlite3_str_appendf(key, " %lld", (long long)sqlite3_column_int64(stmt, 0));
        if (finish(call, stmt)) return call->code;
    }
    sqlite3_str_appendchar(key, 1, '\n');
    return SQLITE_OK;
}

typedef int visitor(ip_sql_call *call, const char *database, const char *file, sqlite3_str *key);

/* Calls visit for each database but temp, until one returns anything but SQLITE_OK. */
static int visit_databases(ip_sql_call *call, visitor *visit, sqlite3_str *key)
{
    enum { TEMP = 1 };
    sqlite3_stmt *stmt;
    int rc = SQLITE_OK;
    if (prepare(call, sqlite3_mprintf("PRAGMA database_list"), &stmt)) return call->code;
    while (!rc && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *database = (const char *)sqlite3_column_text(stmt, 1);
        if (sqlite3_column_int(stmt, 0) != TEMP)
            rc = visit(call, database ? database : "", (const char *)sqlite3_column_text(stmt, 2), key);
    }
    return finish(call, stmt) ? call->code : rc;
}

static int vet_schemas(ip_sql_call *call, char **vetted)
{
    sqlite3_str *s = sqlite3_str_new(call->conn->db);
    visit_databases(call, add_version, s);
    char *key = sqlite3_str_finish(s); /* NULL: there is none */
    if (!call->code && key && *vetted && !strcmp(key, *vetted)) {
        sqlite3_free(key);
        return SQLITE_OK;
    }
    sqlite3_free(*vetted);
    *vetted = NULL;
    if (!call->code && !visit_databases(call, look_through, NULL))
        *vetted = key;
    else
        sqlite3_free(key);
    return call->code;
}

int ip_sql_locks_pass(ip_sql_call *call, ip_sql_lock lock, char **vetted)
{
    sqlite3 *db = call->conn->db;
    int is_writable = 1;
    sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, -1, &is_writable);
    if (is_writable) /* R3 */
        return ip_sql_call_fail(call, SQLITE_ERROR, "refused while writable_schema is on");
    if (lock != IP_SQL_LOCK_CREATED && !a_running_statement_calls(db, call->name, lock == IP_SQL_LOCK_TABLE))
        return ip_sql_call_fail(
            call, SQLITE_ERROR,
            "refused: only a statement that names it itself may call it, no view, trigger or constraint");
    return vet_schemas(call, vetted);
}
