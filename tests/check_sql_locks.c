/* SPDX-License-Identifier: MIT */
/*
 * The two locks in front of what writes files, reads them or changes settings (sqlext/locks.c): no schema of a database
 * file gets through, whatever SQLite does about it, and whoever asks for it in a statement of his own does.
 */
#include "sql_help.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of the test's own, which is the current one; removed by close_folder(). */
static char folder[64];

static void open_folder(void)
{
    strcpy(folder, "/tmp/imgpar-locks-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void close_folder(void)
{
    static const char *const made[] = { "evil.db", "good.db", "other.db", "bait.png", "a.png", "b.png", "c.png" };
    for (int k = 0; k < N(made); k++)
        unlink(made[k]);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static sqlite3 *open_with_module(const char *path)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    load(db, "sqlite3_imgpar_init");
    return db;
}

/* Makes evil.db by statements of somebody who has no module but any function he likes: names are not looked up. */
static void noop(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    sqlite3_result_int(ctx, 1);
}

static void make_database(const char *path, const char *sql)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    static const char *const names[] = { "save", "img_setting" };
    for (int k = 0; k < N(names); k++)
        ck_assert_int_eq(
            sqlite3_create_function(db, names[k], -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, noop, NULL, NULL),
            SQLITE_OK);
    run(db, "CREATE TABLE plain(x)");
    run(db, sql);
    sqlite3_close(db);
}

/* Writes another text for table t into a schema, as an editor of files would. */
static void put_into_schema(const char *path, const char *text)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    run(db, "PRAGMA writable_schema = ON");
    char *update = sqlite3_mprintf("UPDATE sqlite_master SET sql = %Q WHERE name = 't'", text);
    run(db, update);
    sqlite3_free(update);
    sqlite3_close(db);
}

#define PIXELS "CAST('P5 1 1 255' || char(10) || 'A' AS BLOB)"
#define BAIT "save(" PIXELS ", 'bait.png')"

/* ---- hostile schemas -------------------------------------------------------------------------------- */

/* Ways to have save() called by a schema, and statements that would run it. */
static const struct {
    const char *schema, *statement;
} attacks[] = {
    { "CREATE TABLE t(x CHECK (" BAIT "))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x, CHECK (SAVE (" PIXELS ", 'bait.png')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (\"save\"(" PIXELS ", 'bait.png')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK ([Save](" PIXELS ", 'bait.png')))",
      "UPDATE OR IGNORE t SET x = 1; INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (`save`(" PIXELS ", 'bait.png')))", "REPLACE INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (save/* ( */(" PIXELS ", 'bait.png')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (save -- '\n\f (" PIXELS ", 'bait.png')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (save \v(" PIXELS ", 'bait.png')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (\xef\xbb\xbfsave(" PIXELS ", 'bait.png')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (\"save\"\xef\xbb\xbf(" PIXELS ", 'bait.png')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK ('/*' < x AND " BAIT " AND '*/' < x))", "INSERT INTO t VALUES ('a')" },
    { "CREATE TABLE t(x CHECK (x COLLATE nocase = 1 OR CASE WHEN 1 THEN " BAIT " END))", "INSERT INTO t VALUES (0)" },
    { "CREATE TABLE t(x, CONSTRAINT save CHECK (x IN (1, " BAIT ")))", "INSERT INTO t VALUES (5)" },
    { "CREATE TABLE t(x CHECK (img_setting('fuse', '0')))", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x CHECK (" BAIT ")); PRAGMA ignore_check_constraints = ON; INSERT INTO t VALUES (1)",
      "PRAGMA integrity_check" },
    { "CREATE TABLE t(x CHECK (" BAIT ")); PRAGMA ignore_check_constraints = ON; INSERT INTO t VALUES (1)",
      "PRAGMA quick_check(t)" },
    { "CREATE TABLE t(x CHECK (" BAIT ")); PRAGMA ignore_check_constraints = ON; INSERT INTO t VALUES (1)",
      "ALTER TABLE t ADD COLUMN y CHECK (y IS NULL); VACUUM; REINDEX" },
    { "CREATE TABLE t(x, y DEFAULT (" BAIT "))", "INSERT INTO t(x) VALUES (1)" },
    { "CREATE TABLE t(x, y AS (save(x, 'bait.png')))", "SELECT y FROM t" },
    { "CREATE TABLE t(x, y AS (save(x, 'bait.png')) STORED)", "INSERT INTO t VALUES (" PIXELS ")" },
    { "CREATE TABLE t(x); CREATE INDEX i ON t(save(x, 'bait.png'))", "INSERT INTO t VALUES (" PIXELS ")" },
    { "CREATE TABLE t(x); CREATE UNIQUE INDEX i ON t(x) WHERE save(x, 'bait.png')",
      "INSERT INTO t VALUES (" PIXELS ")" },
    { "CREATE TABLE t(x); CREATE TRIGGER i AFTER INSERT ON t BEGIN SELECT " BAIT "; END", "INSERT INTO t VALUES (1)" },
    { "CREATE TABLE t(x); CREATE TRIGGER i BEFORE INSERT ON t WHEN " BAIT " BEGIN SELECT 1; END",
      "INSERT INTO t VALUES (1)" },
    { "CREATE VIEW t AS SELECT " BAIT, "SELECT * FROM t" },
    { "CREATE VIEW t AS SELECT 1 FROM plain a JOIN plain b ON " BAIT "; INSERT INTO plain VALUES (1)",
      "SELECT * FROM t" },
    { "CREATE VIEW t(x) AS WITH save(a) AS (SELECT " BAIT ") SELECT a FROM save", "SELECT * FROM t" },
    { "CREATE TABLE t(x CHECK (" BAIT "))", "INSERT INTO t VALUES (1) RETURNING x" },
    { "CREATE TABLE t(x PRIMARY KEY CHECK (" BAIT "))", "INSERT INTO t VALUES (1) ON CONFLICT(x) DO UPDATE SET x = 2" },
};

/* Nothing gets through: the statement fails or has no effect; and no statement of the user's that calls the function
 * itself has the schema's call run along with it. */
static void expect_no_effect(sqlite3 *db, const char *statement)
{
    sqlite3_stmt *stmt; /* one that calls both, and goes on */
    static const char both[] =
        "SELECT save(" PIXELS ", 'a.png'), img_setting('schedule', 'auto') FROM (SELECT 1 UNION ALL SELECT 2)";
    sqlite3_exec(db, statement, NULL, NULL, NULL);
    ck_assert_msg(!exists("bait.png"), "%s wrote a file", statement);
    if (sqlite3_exec(db, "SELECT count(*) FROM plain", NULL, NULL, NULL))
        return; /* the schema is malformed to this version */
    ck_assert_int_eq(sqlite3_prepare_v2(db, both, -1, &stmt, NULL), SQLITE_OK);
    expect(db, "SELECT value FROM img_settings WHERE name = 'fuse'", "1");
    sqlite3_step(stmt);
    sqlite3_exec(db, statement, NULL, NULL, NULL);
    sqlite3_finalize(stmt);
    ck_assert_msg(!exists("bait.png"), "%s wrote a file beside a running statement", statement);
    expect(db, "SELECT value FROM img_settings WHERE name = 'fuse'", "1");
}

START_TEST(no_schema_of_a_file_writes_a_file)
{
    open_folder();
    make_database("evil.db", attacks[_i].schema);
    for (int mode = 0; mode < 3; mode++) {
        sqlite3 *db = mode == 2 ? open_with_module(":memory:") : open_with_module("evil.db");
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, mode == 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, mode == 1, NULL);
        if (mode == 2) sqlite3_exec(db, "ATTACH 'evil.db' AS \"e \"\"vil\"", NULL, NULL, NULL);
        expect_no_effect(db, attacks[_i].statement);
        sqlite3_close(db);
    }
    close_folder();
}
END_TEST

START_TEST(what_a_schema_calls_is_refused_to_everybody_and_told)
{
    open_folder();
    make_database("evil.db", "CREATE VIEW t AS SELECT " BAIT "; CREATE VIEW u AS SELECT img_setting('fuse', '0')");
    sqlite3 *db = open_with_module(":memory:");
    run(db, "SELECT save(" PIXELS ", 'a.png')");
    run(db, "ATTACH 'evil.db' AS evil");
    expect_error(db, "SELECT save(" PIXELS ", 'a.png')", SQLITE_ERROR,
                 "save(): refused while the schema of evil calls it (in \"t\")");
    expect_error(db, "SELECT save(" PIXELS ", 'b.png')", SQLITE_ERROR,
                 "save(): refused while the schema of evil calls it (in \"t\")"); /* and the second time */
    expect_error(db, "SELECT img_setting('fuse', '0')", SQLITE_ERROR,
                 "img_setting(): refused while the schema of evil calls it (in \"u\")");
    run(db, "SELECT count(*) FROM img_files('.')"); /* nobody calls that */
    run(db, "DETACH evil");
    expect(db, "SELECT save(" PIXELS ", 'a.png')", "a.png");
    sqlite3_close(db);
    close_folder();
}
END_TEST

/* While a schema is read, SQLite takes parameters in it for NULL, and Tcl's may hold a comment's beginning. */
START_TEST(a_parameter_in_a_schema_hides_nothing)
{
    open_folder();
    make_database("evil.db", "CREATE TABLE t(x)");
    put_into_schema("evil.db", "CREATE TABLE t(x, y DEFAULT ($a::b(/*) + " BAIT " /* */))");
    sqlite3 *db = open_with_module("evil.db");
    expect_no_effect(db, "INSERT INTO t(x) VALUES (1)");
    expect_error(db, "SELECT save(" PIXELS ", 'a.png')", SQLITE_ERROR,
                 "save(): refused while the schema of main calls it (in \"t\")");
    sqlite3_close(db);
    close_folder();
}
END_TEST

START_TEST(a_writable_schema_refuses)
{
    open_folder();
    sqlite3 *db = open_with_module(":memory:");
    run(db, "PRAGMA writable_schema = ON");
    expect_error(db, "SELECT save(" PIXELS ", 'a.png')", SQLITE_ERROR, "save(): refused while writable_schema is on");
    expect_error(db, "SELECT * FROM img_files('.')", SQLITE_ERROR, "img_files(): refused while writable_schema is on");
    run(db, "PRAGMA writable_schema = RESET");
    expect(db, "SELECT save(" PIXELS ", 'a.png')", "a.png");
    sqlite3_close(db);
    close_folder();
}
END_TEST

/* Everything that may stand between two calls of save() on one connection. */
START_TEST(a_schema_that_changes_is_looked_through_again)
{
    open_folder();
    make_database("good.db", "CREATE VIEW t AS SELECT 1");
    make_database("evil.db", "CREATE VIEW t AS SELECT " BAIT); /* the same number of changes */
    const char *refusal = "save(): refused while the schema of e calls it (in \"t\")",
               *mine = "SELECT save(" PIXELS ", 'a.png')";
    sqlite3 *db = open_with_module(":memory:"), *other;
    run(db, "ATTACH 'good.db' AS e");
    expect(db, mine, "a.png");
    run(db, "DETACH e; ATTACH 'evil.db' AS e");
    expect_error(db, mine, SQLITE_ERROR, refusal); /* another file */
    run(db, "DETACH e; ATTACH 'good.db' AS e");
    expect(db, mine, "a.png");
    run(db, "DETACH e");
    ck_assert_int_eq(rename("evil.db", "good.db"), 0);
    run(db, "ATTACH 'good.db' AS e");
    expect_error(db, mine, SQLITE_ERROR, refusal); /* another file of that name */
    run(db, "DROP VIEW e.t");
    expect(db, mine, "a.png");
    ck_assert_int_eq(sqlite3_open("good.db", &other), SQLITE_OK);
    sqlite3_create_function(other, "save", -1, SQLITE_UTF8, NULL, noop, NULL, NULL);
    run(other, "CREATE VIEW t AS SELECT " BAIT); /* somebody else's change */
    expect_error(db, mine, SQLITE_ERROR, refusal);
    sqlite3_close(other);
    sqlite3_close(db);
    close_folder();
}
END_TEST

/* A server may put one database after another into a connection's memory. */
START_TEST(a_database_put_into_memory_is_looked_through_again)
{
    open_folder();
    sqlite3 *db, *source = open_with_module(":memory:");
    sqlite3_int64 n[2];
    unsigned char *images[2];
    for (int k = 0; k < 2; k++) {
        sqlite3_open(":memory:", &db);
        sqlite3_create_function(db, "save", -1, SQLITE_UTF8, NULL, noop, NULL, NULL);
        run(db, k ? "CREATE VIEW t AS SELECT " BAIT : "CREATE VIEW t AS SELECT 1");
        images[k] = sqlite3_serialize(db, "main", &n[k], 0);
        sqlite3_close(db);
    }
    ck_assert_int_eq(sqlite3_deserialize(source, "main", images[0], n[0], n[0], SQLITE_DESERIALIZE_FREEONCLOSE),
                     SQLITE_OK);
    expect(source, "SELECT save(" PIXELS ", 'a.png')", "a.png");
    ck_assert_int_eq(sqlite3_deserialize(source, "main", images[1], n[1], n[1], SQLITE_DESERIALIZE_FREEONCLOSE),
                     SQLITE_OK);
    expect_error(source, "SELECT save(" PIXELS ", 'a.png')", SQLITE_ERROR,
                 "save(): refused while the schema of main calls it (in \"t\")");
    sqlite3_close(source);
    close_folder();
}
END_TEST

/* ---- the statement's own text ------------------------------------------------------------------------- */

START_TEST(only_a_statement_that_names_the_function_calls_it)
{
    static const char refusal[] =
        "refused: only a statement that names it itself may call it, no view, trigger or constraint";
    open_folder();
    sqlite3 *db = open_with_module(":memory:");
    char *messages[2] = { sqlite3_mprintf("save(): %s", refusal), sqlite3_mprintf("img_files(): %s", refusal) };
    run(db, "CREATE TABLE t(x); CREATE TEMP VIEW v AS SELECT " BAIT ";"
            "CREATE TEMP VIEW f AS SELECT * FROM img_files('.');"
            "CREATE TEMP TRIGGER g AFTER INSERT ON t BEGIN SELECT " BAIT "; END");
    expect_error(db, "SELECT * FROM v -- save(1, 2)", SQLITE_ERROR, messages[0]);
    expect_error(db, "SELECT *, 'save(1, 2)', \"save\" FROM v, (SELECT 1 AS save)", SQLITE_ERROR, messages[0]);
    expect_error(db, "INSERT INTO t VALUES (1)", SQLITE_ERROR, messages[0]);
    expect_error(db, "SELECT * FROM f", SQLITE_ERROR, messages[1]);
    ck_assert(!exists("bait.png"));
    sqlite3_stmt *stmt; /* one that calls it, but is not running */
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT save(" PIXELS ", 'a.png')", -1, &stmt, NULL), SQLITE_OK);
    expect_error(db, "INSERT INTO t VALUES (1)", SQLITE_ERROR, messages[0]);
    sqlite3_finalize(stmt);
    for (int k = 0; k < 2; k++)
        sqlite3_free(messages[k]);
    sqlite3_close(db);
    close_folder();
}
END_TEST

static const struct {
    const char *setup, *sql, *answer;
} lawful[] = {
    { "", "SELECT save(" PIXELS ", 'a.png')", "a.png" },
    { "", "SELECT\n/* as it should be */ SAVE -- so\n (" PIXELS ", 'a.png')", "a.png" },
    { "", "SELECT \"save\"(" PIXELS ", 'a.png')", "a.png" },
    { "CREATE TABLE u AS SELECT save(" PIXELS ", 'a.png') AS path", "SELECT path FROM u", "a.png" },
    { "CREATE TABLE u(x, y); INSERT INTO u VALUES (" PIXELS ", 1); UPDATE u SET y = save(x, 'a.png')",
      "SELECT y FROM u", "a.png" },
    { "CREATE TABLE u(x); INSERT INTO u SELECT save(" PIXELS ", 'a.png')", "SELECT x FROM u", "a.png" },
    { "CREATE TABLE u(x)", "INSERT INTO u VALUES (" PIXELS ") RETURNING save(x, 'a.png')", "a.png" },
    { "", "WITH s(p) AS (SELECT save(" PIXELS ", 'a.png')) SELECT p FROM s", "a.png" },
    { "", "WITH save(p) AS MATERIALIZED (SELECT save(" PIXELS ", 'a.png')) SELECT p FROM save", "a.png" },
    { "CREATE VIEW u AS SELECT " PIXELS " AS x", "SELECT save(x, 'a.png') FROM u", "a.png" },
    { "CREATE VIRTUAL TABLE temp.u USING imgpar(SELECT save(" PIXELS ", 'a.png') AS p)", "SELECT p FROM u", "a.png" },
    { "CREATE VIRTUAL TABLE temp.u USING imgpar(SELECT img_invert(" PIXELS ") AS x)", "SELECT save(x, 'a.png') FROM u",
      "a.png" },
    { "SELECT 1; SELECT save(" PIXELS ", 'a.png'); SELECT 2", "SELECT 3", "3" },
    { "", "SELECT save(" PIXELS ", 'a.png') WHERE (SELECT count(*) FROM img_files WHERE dir = '.') >= 0", "a.png" },
    /* names of tables and columns are no calls */
    { "CREATE TABLE save(save, b REFERENCES save(save)); CREATE INDEX \"on\" ON save(save); INSERT INTO save(save, b) "
      "VALUES (1, NULL);"
      "CREATE TABLE v(x CONSTRAINT save CHECK (x <> 'save(1)') /* save(1) */)",
      "SELECT save(" PIXELS ", 'a.png') FROM save WHERE save = 1", "a.png" },
    { "CREATE TABLE t(x); CREATE VIEW save(a) AS WITH save(b) AS (SELECT x FROM t) SELECT b FROM save;"
      "CREATE TRIGGER \"save \" AFTER INSERT ON t BEGIN UPDATE t SET x = 1; END",
      "SELECT save(" PIXELS ", 'a.png')", "a.png" },
};

START_TEST(whoever_asks_himself_is_served)
{
    open_folder();
    sqlite3 *db = open_with_module(_i % 2 ? "good.db" : ":memory:");
    run(db, lawful[_i].setup);
    expect(db, lawful[_i].sql, lawful[_i].answer);
    ck_assert(exists("a.png"));
    sqlite3_close(db);
    close_folder();
}
END_TEST

START_TEST(parameters_and_old_prepare_are_served)
{
    open_folder();
    sqlite3 *db = open_with_module("good.db");
    static const char sql[] = "SELECT save(" PIXELS ", ?1) -- and what lies behind";
    for (int k = 0; k < 2; k++) {
        sqlite3_stmt *stmt;
        int rc = k ? sqlite3_prepare(db, sql, -1, &stmt, NULL)
                   : sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
        ck_assert_int_eq(rc, SQLITE_OK);
        for (const char *path = "a.png"; *path < 'c'; path = "c.png") {
            sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
            ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
            ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), path);
            sqlite3_reset(stmt);
        }
        sqlite3_finalize(stmt);
    }
    ck_assert(exists("a.png"));
    sqlite3_close(db);
    close_folder();
}
END_TEST

/* The application's authorizer is asked about the looking, too; what may not be looked through is not passed. */
static int deny_schema(void *user, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)user, (void)b, (void)c, (void)d;
    return action == SQLITE_READ && !strcmp(a, "sqlite_master") ? SQLITE_DENY : SQLITE_OK;
}

START_TEST(a_schema_that_may_not_be_read_refuses)
{
    open_folder();
    sqlite3 *db = open_with_module(":memory:");
    sqlite3_set_authorizer(db, deny_schema, NULL);
    int rc;
    free(ask_with(db, "SELECT save(" PIXELS ", 'a.png')", NULL, 0, &rc));
    ck_assert_int_eq(rc, SQLITE_ERROR);
    ck_assert_msg(strstr(sqlite3_errmsg(db), "save(): refused: the schemas cannot be looked through: "), "%s",
                  sqlite3_errmsg(db));
    ck_assert(!exists("a.png"));
    sqlite3_close(db);
    close_folder();
}
END_TEST

/* The module is found from the tests' folders, too. */
static void make_absolute(const char *variable, const char *otherwise)
{
    const char *path = getenv(variable) ? getenv(variable) : otherwise;
    char *absolute = path ? realpath(path, NULL) : NULL;
    if (absolute) setenv(variable, absolute, 1);
    free(absolute);
}

int main(void)
{
    make_absolute("builddir", ".");
    make_absolute("IMGPAR_MODULE", NULL);
    setenv("IMGPAR_DEVICE", "ref", 1); /* what is locked does not depend on it */
    Suite *s = suite_create("sql locks");
    TCase *t = tcase_create("schemas");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, no_schema_of_a_file_writes_a_file, 0, N(attacks));
    tcase_add_test(t, what_a_schema_calls_is_refused_to_everybody_and_told);
    tcase_add_test(t, a_parameter_in_a_schema_hides_nothing);
    tcase_add_test(t, a_writable_schema_refuses);
    tcase_add_test(t, a_schema_that_changes_is_looked_through_again);
    tcase_add_test(t, a_database_put_into_memory_is_looked_through_again);
    suite_add_tcase(s, t);
    t = tcase_create("statements");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, only_a_statement_that_names_the_function_calls_it);
    tcase_add_loop_test(t, whoever_asks_himself_is_served, 0, N(lawful));
    tcase_add_test(t, parameters_and_old_prepare_are_served);
    tcase_add_test(t, a_schema_that_may_not_be_read_refuses);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int n = srunner_ntests_failed(r);
    srunner_free(r);
    return n != 0;
}
