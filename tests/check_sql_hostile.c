/* SPDX-License-Identifier: MIT */
/*
 * Databases and values that mean harm: schemas that would run functions for whoever opens them, recipes that are
 * damaged or ask for too much, limits on memory and time. Errors only; and the connection works on.
 */
#include "sql_help.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

/* ---- schemas -------------------------------------------------------------------------------------- */

static int n_touched;

/* Stands for readfile() and the like: what an attack would like to run. */
static void touch(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    n_touched++;
    sqlite3_result_int(ctx, 1);
}

/* A database file whose schema says what it likes. */
static sqlite3 *hostile(const char *path, const char *name, const char *type, const char *sql)
{
    sqlite3 *db;
    unlink(path);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    run(db, "CREATE TABLE plain(x); INSERT INTO plain VALUES (1); PRAGMA writable_schema = ON");
    char *insert =
        sqlite3_mprintf("INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (%Q, %Q, %Q, 0, %Q)",
                        type, name, strcmp(type, "trigger") ? name : "plain", sql);
    run(db, insert);
    sqlite3_free(insert);
    sqlite3_close(db);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    load(db, "sqlite3_imgpar_init");
    sqlite3_create_function(db, "touch", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, touch, NULL, NULL);
    return db;
}

static const struct {
    const char *type, *sql, *use, *message;
} schemas[] = {
    /* the known attack: a plain SELECT on a table would run the statement in it as if the user had typed it */
    { "table", "CREATE VIRTUAL TABLE bait USING imgpar(SELECT touch() AS x)", "SELECT * FROM bait",
      "imgpar(): may be created in temp only: CREATE VIRTUAL TABLE temp.bait USING imgpar(SELECT ...)" },
    { "table", "CREATE VIRTUAL TABLE bait USING imgpar(SELECT save(x'00', 'bait.png') AS x)",
      "SELECT count(*) FROM bait",
      "imgpar(): may be created in temp only: CREATE VIRTUAL TABLE temp.bait USING imgpar(SELECT ...)" },
    { "table", "CREATE VIRTUAL TABLE bait USING imgpar_folder(dir='/etc')", "SELECT * FROM bait",
      "imgpar_folder(): may be created in temp only: CREATE VIRTUAL TABLE temp.bait USING ..." },
    { "view", "CREATE VIEW bait AS SELECT image AS x FROM img_files('/etc')", "SELECT * FROM bait",
      "unsafe use of virtual table \"img_files\"" },
    { "view", "CREATE VIEW bait AS SELECT save(x'00', 'bait.png') AS x", "SELECT * FROM bait", "unsafe use of save()" },
    { "view", "CREATE VIEW bait AS SELECT img_setting('device', 'ref') AS x", "SELECT * FROM bait",
      "unsafe use of img_setting()" },
    { "view", "CREATE VIEW bait AS SELECT name AS x FROM img_devices", "SELECT * FROM bait",
      "unsafe use of virtual table \"img_devices\"" },
    { "view", "CREATE VIEW bait AS SELECT apply('open(\"/etc/passwd\")') AS x", "SELECT * FROM bait",
      "apply(): 1:1: open is refused here: it reads files\nopen(\"/etc/passwd\")\n^" },
    { "trigger", "CREATE TRIGGER bait AFTER INSERT ON plain BEGIN SELECT save(x'00', 'bait.png'); END",
      "INSERT INTO plain VALUES (2)", "unsafe use of save()" },
    { "trigger", "CREATE TRIGGER bait AFTER INSERT ON plain BEGIN SELECT count(*) FROM img_files('/etc'); END",
      "INSERT INTO plain VALUES (2)", "unsafe use of virtual table \"img_files\"" },
};

START_TEST(a_schema_gets_errors_only)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/imgpar-hostile-%d.db", (int)getpid());
    n_touched = 0;
    unlink("bait.png");
    sqlite3 *db = hostile(path, "bait", schemas[_i].type, schemas[_i].sql);
    expect_error(db, schemas[_i].use, SQLITE_ERROR, schemas[_i].message);
    ck_assert_int_eq(n_touched, 0);
    ck_assert_int_ne(access("bait.png", F_OK), 0);
    expect(db, "SELECT x FROM plain", "1");
    sqlite3_close(db);
    unlink(path);
}
END_TEST

/* Where functions with effects may not stand at all. */
START_TEST(expressions_of_tables_take_no_function_with_effects)
{
    static const char *const refused[] = {
        "CREATE INDEX i ON t(save(img, 'bait.png'))",
        "CREATE INDEX i ON t(img_blur(lazy(img), 2))",
        "CREATE TABLE u(a, b AS (img_setting('fuse', a)))",
        "INSERT INTO v(a) VALUES (1)",
    };
    sqlite3 *db = open_db();
    run(db, "CREATE TABLE t(img); CREATE TABLE v(a, b DEFAULT (img_setting('fuse', '0')))");
    for (int k = 0; k < N(refused); k++) {
        int rc;
        free(ask_with(db, refused[k], NULL, 0, &rc));
        const char *got = sqlite3_errmsg(db); /* the words depend on the version */
        bool is_refused = strstr(got, "unsafe use of ") || strstr(got, "non-deterministic functions prohibited");
        ck_assert_msg(rc == SQLITE_ERROR && is_refused, "%s: %d %s", refused[k], rc, got);
    }
    sqlite3_close(db);
}
END_TEST

START_TEST(the_safe_entry_has_no_files)
{
    sqlite3 *db;
    sqlite3_open(":memory:", &db);
    load(db, "sqlite3_imgparsafe_init");
    expect_error(db, "SELECT * FROM img_files('/etc')", SQLITE_ERROR, "no such table: img_files");
    expect_error(db, "CREATE VIRTUAL TABLE temp.a USING imgpar_folder(dir='/etc')", SQLITE_ERROR,
                 "no such module: imgpar_folder");
    expect(db, "SELECT count(*) FROM pixels(" RGB ")", "2");
    sqlite3_close(db);
}
END_TEST

/* ---- recipes in all consumers ---------------------------------------------------------------------------- */

static const char *const consumers[] = {
    "SELECT img_info(?1)",
    "SELECT length(png(?1))",
    "SELECT img_exif(?1, 'GPSLatitude')",
    "SELECT count(value) FROM img_exif(?1)",
    "SELECT img_std(?1)",
    "SELECT img_equal(?1, ?1)",
    "SELECT phash(?1)",
    "SELECT count(*) FROM histogram(?1)",
    "SELECT count(v) FROM pixels(?1)",
    "SELECT count(*) FROM img_stats_of(?1)",
    "SELECT count(hex(raw(image))) FROM img_tiles(?1, 2, 2)",
    "SELECT count(*), sum(mean + perimeter) FROM img_regions(?1, ?1)",
    "SELECT count(*) FROM img_explain(?1)",
    "SELECT length(montage(?1, 2, 8))",
    "SELECT length(img_stack_mean(?1))",
    "SELECT length(img_stack(?1))",
    "SELECT length(blend(?1, ?1, 0.5))",
    "SELECT length(apply('$1', ?1))",
    "SELECT length(img_develop(?1))",
    "SELECT length(img_try(?1)) IS img_error(?1)",
};

/* A change anywhere, or a cut: an answer or an error, in every function, and none of the two is a crash. */
START_TEST(damaged_recipes_are_errors_in_every_function)
{
    sqlite3 *db = open_db();
    int n, rc;
    unsigned seed = (unsigned)_i + 1;
    run(db, "SELECT img_setting('device', 'ref')");
    unsigned char *bytes = make_blob(db,
                                     "SELECT blend(img_invert(boxblur(lazy(" GRAY "), 3)), "
                                     "apply('$1 + $2', lazy(" GRAY "), 3), 0.5)",
                                     &n);
    for (int round = 0; round < 150; round++) {
        unsigned char *copy = malloc((size_t)n);
        memcpy(copy, bytes, (size_t)n);
        int length = n;
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * 1103515245u + 12345u;
            copy[(seed >> 8) % (unsigned)n] = (unsigned char)(seed >> 24);
        }
        if (round % 5 == 0) length = (int)((seed >> 8) % (unsigned)n);
        free(ask_with(db, consumers[_i], copy, length, &rc));
        ck_assert_msg(rc == SQLITE_OK || rc == SQLITE_ERROR, "%s, round %d: %d", consumers[_i], round, rc);
        free(copy);
    }
    free(bytes);
    expect(db, "SELECT hex(raw(img_invert(" RGB ")))", "ADB8BD8D989D");
    sqlite3_close(db);
}
END_TEST

#define MAX_PIXELS_HINT "(max_pixels; IMGPAR_MAX_PIXELS or img_setting() raises it)"

START_TEST(a_recipe_of_too_much_work_is_refused)
{
    sqlite3 *db = open_db();
    expect_error(db, "SELECT img_width(resize(lazy(" GRAY "), 1000000, 1000000))", SQLITE_ERROR,
                 "resize(): 1000000 x 1000000 pixels are above the limit of 268435456 " MAX_PIXELS_HINT);
    expect_error(db, "SELECT length(apply('make(100000, 100000, x)'))", SQLITE_ERROR,
                 "apply(): 100000 x 100000 pixels are above the limit of 268435456 " MAX_PIXELS_HINT);
    expect(db, "SELECT img_setting('max_pixels', '100')", "100");
    expect_error(db, "SELECT img_width(resize(lazy(" GRAY "), 20, 20))", SQLITE_ERROR,
                 "resize(): 20 x 20 pixels are above the limit of 100 " MAX_PIXELS_HINT);
    expect(db, "SELECT img_width(resize(lazy(" GRAY "), 10, 10))", "10");
    expect(db, "SELECT img_setting('max_pixels', '11')", "11");
    expect_error(db, "SELECT img_width(" GRAY "), blur(" GRAY ", 2)", SQLITE_ERROR,
                 "blur(): argument 1: 4 x 3 pixels are above the limit of 11 " MAX_PIXELS_HINT);
    static const char *const as_many[] = { "0.09765625k", "1e2", "+.1E3", "1000e-1", "0x64", "100" };
    for (size_t k = 0; k < sizeof as_many / sizeof *as_many; k++) {
        char sql[80], message[120];
        snprintf(sql, sizeof sql, "SELECT img_setting('max_pixels', '%s')", as_many[k]);
        expect(db, sql, as_many[k]);
        expect(db, "SELECT img_width(resize(lazy(" GRAY "), 10, 10))", "10");
        snprintf(message, sizeof message, "resize(): 11 x 10 pixels are above the limit of %s " MAX_PIXELS_HINT,
                 as_many[k]);
        expect_error(db, "SELECT img_width(resize(lazy(" GRAY "), 11, 10))", SQLITE_ERROR, message);
    }
    expect(db, "SELECT img_setting('max_pixels', '1G')", "1G");
    expect(db, "SELECT img_width(resize(lazy(" GRAY "), 30000, 30000))", "30000");
    expect(db, "SELECT img_setting('mem_limit', '64M')", "64M");
    expect(db, "SELECT img_setting('mem_limit', 'auto')", "auto");
    expect(db, "SELECT img_setting('host_limit', '64M')", "64M");
    expect(db, "SELECT img_setting('host_limit', 'auto')", "auto");
    expect(db, "SELECT img_setting('host_limit', '64M')", "64M");
    expect(db, "SELECT value || origin FROM img_settings WHERE name = 'host_limit'", "64Mimg_setting");
    sqlite3_close(db);
}
END_TEST

START_TEST(a_recipe_has_a_greatest_number_of_sources)
{
    sqlite3 *db = open_db();
    expect_error(db,
                 "WITH RECURSIVE r(n, l) AS (SELECT 0, lazy(" GRAY ") UNION ALL SELECT n + 1, maximum(l,"
                 " CAST('P5 4 3 255' || char(10) || printf('%012d', n) AS BLOB)) FROM r WHERE n < 1000)"
                 " SELECT max(n), count(length(l)) FROM r",
                 SQLITE_ERROR, "maximum(): a deferred image holds at most 1000 sources; finish it with png()");
    sqlite3_close(db);
}
END_TEST

/* ---- limits ------------------------------------------------------------------------------------------------ */

START_TEST(a_hard_heap_limit_is_an_error_and_passes)
{
    sqlite3 *db = open_db();
    int n, rc;
    unsigned char *image = big_image(1500, &n); /* 2.25 MB */
    sqlite3_int64 before = sqlite3_hard_heap_limit64(sqlite3_memory_used() + 1000000);
    static const char *const statements[] = {
        "SELECT length(lazy(?1))",
        "SELECT length(raw(?1))",
        "SELECT count(*) FROM pixels(?1)",
        "SELECT length(img_stack_max(lazy(?1)))",
    };
    for (int k = 0; k < N(statements); k++) {
        free(ask_with(db, statements[k], image, n, &rc));
        ck_assert_msg(rc == SQLITE_NOMEM, "%s: %d", statements[k], rc);
    }
    sqlite3_hard_heap_limit64(before);
    for (int k = 0; k < N(statements); k++) {
        free(ask_with(db, statements[k], image, n, &rc));
        ck_assert_msg(rc == SQLITE_OK, "%s: %d", statements[k], rc);
    }
    free(image);
    sqlite3_close(db);
}
END_TEST

START_TEST(tables_keep_to_the_length_limit)
{
    sqlite3 *db = open_db();
    int n, rc;
    unsigned char *image = big_image(300, &n);
    sqlite3_stmt *stmt;
    run(db, "CREATE TABLE t(img)");
    sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?)", -1, &stmt, NULL);
    sqlite3_bind_blob(stmt, 1, image, n, SQLITE_STATIC);
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    run(db, "CREATE VIRTUAL TABLE temp.wide USING imgpar(SELECT img_cast(img, 'f64') AS img FROM t)");
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, n + 200);
    free(ask_with(db, "SELECT length(img) FROM wide", NULL, 0, &rc));
    ck_assert_int_eq(rc, SQLITE_TOOBIG);
    free(image);
    sqlite3_close(db);
}
END_TEST

static int stop(void *counter) { return ++*(int *)counter > 2; }

/* Of one image, in SQL: slow enough to be stopped, a thousand medians by the interpreter. */
#define SLOW(IMAGE) "apply('iterate($1, 1000, median(_, size=5))', " IMAGE ")"

/* Again and again, since one that comes before the statement has begun is of no effect. */
typedef struct interrupter {
    sqlite3 *db;
    atomic_bool is_over;
} interrupter;

static void *interrupt_soon(void *user)
{
    interrupter *i = user;
    while (!i->is_over) {
        usleep(20000);
        sqlite3_interrupt(i->db);
    }
    return NULL;
}

/* A long statement over an imgpar table, wherever its time goes. */
static const char *const long_statements[] = {
    "SELECT count(length(img)) FROM slow",                  /* images that are read */
    "SELECT count(CASE n WHEN 1 THEN img END) FROM uneven", /* images that are made ahead, and then passed by */
    "SELECT n FROM slow ORDER BY img",
    "SELECT n FROM slow WHERE img = x'00'",
    "SELECT count(length(img)) FROM outer_one", /* a table on a table */
    "SELECT level FROM measured",
    "SELECT length(img) FROM sunk", /* functions that compute inside */
    "SELECT n FROM counting",
    "SELECT count(*) FROM counting a, counting b",                 /* the SELECT itself */
    "SELECT length(img_stack_mean(" SLOW("lazy(img)") ")) FROM t", /* and without such a table */
    "SELECT count(*) FROM t, pixels(" SLOW("lazy(img)") ")",
};

static sqlite3 *open_slow_db(void)
{
    sqlite3 *db = open_db();
    sqlite3_stmt *stmt;
    int n;
    unsigned char *image = big_image(2000, &n);
    run(db, "SELECT img_setting('device', 'ref'); CREATE TABLE t(img)");
    sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?)", -1, &stmt, NULL);
    sqlite3_bind_blob(stmt, 1, image, n, SQLITE_STATIC);
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    free(image);
    run(db, "CREATE VIRTUAL TABLE temp.slow USING imgpar(SELECT value AS n, " SLOW(
                "img") " AS img "
                       "FROM t, json_each('[1,2,3,4]'));"
                       "CREATE VIRTUAL TABLE temp.uneven USING imgpar(SELECT value AS n, " SLOW(
                           "iif(value = 1, " GRAY
                           ", img)") " AS img FROM t, json_each('[1,2,3,4]'));"
                                     "CREATE VIRTUAL TABLE temp.outer_one USING imgpar(SELECT n, img_invert(img) AS "
                                     "img FROM slow);"
                                     "CREATE VIRTUAL TABLE temp.measured USING imgpar("
                                     "SELECT img_mean(" SLOW(
                                         "img") ") AS level FROM t);"
                                                "CREATE VIRTUAL TABLE temp.sunk USING imgpar("
                                                "SELECT jpeg(" SLOW(
                                                    "img") ", 50) AS img FROM t);"
                                                           "CREATE VIRTUAL TABLE temp.counting USING imgpar(WITH "
                                                           "RECURSIVE c(i) AS "
                                                           "(VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < "
                                                           "1000000000) SELECT i AS n FROM c WHERE i < 0);"
                                                           "CREATE VIRTUAL TABLE temp.quick USING imgpar("
                                                           "SELECT value AS n, img_invert(" RGB
                                                           ") AS img FROM json_each('[1,2,3,4]'))");
    return db;
}

/* By a progress handler or from another thread: the statement ends, and everything works as before it. */
static void check_that_it_stops(int which, bool from_a_thread)
{
    sqlite3 *db = open_slow_db();
    sqlite3_stmt *stmt;
    pthread_t thread;
    interrupter i = { .db = db };
    int count = 0;
    ck_assert_msg(sqlite3_prepare_v2(db, long_statements[which], -1, &stmt, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    if (from_a_thread)
        pthread_create(&thread, NULL, interrupt_soon, &i);
    else
        sqlite3_progress_handler(db, 1000, stop, &count);
    int rc = sqlite3_step(stmt);
    i.is_over = true;
    ck_assert_msg(rc == SQLITE_INTERRUPT && !strcmp(sqlite3_errmsg(db), "interrupted"), "%s: %d %s",
                  long_statements[which], rc, sqlite3_errmsg(db));
    sqlite3_reset(stmt);
    if (from_a_thread) pthread_join(thread, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    expect(db, "SELECT sum(img_format(img) = 'png') || hex(raw(img)) FROM quick", "4ADB8BD8D989D");
    expect(db, "SELECT img_format(img_invert(" RGB "))", "png"); /* nothing is deferred outside */
    count = 2;
    sqlite3_progress_handler(db, 1000, stop, &count); /* the same statement again, from its beginning */
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_INTERRUPT);
    sqlite3_finalize(stmt);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

START_TEST(a_progress_handler_stops_a_table) { check_that_it_stops(_i, false); }
END_TEST

START_TEST(an_interrupt_stops_a_table) { check_that_it_stops(_i, true); }
END_TEST

/* ---- the log -------------------------------------------------------------------------------------------------- */

static char logged[4096];

static void log_line(void *user, int code, const char *message)
{
    (void)user, (void)code;
    if (strlen(logged) + strlen(message) + 2 < sizeof logged) strcat(strcat(logged, message), "\n");
}

START_TEST(the_log_hints_at_lazy_once)
{
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOG, log_line, NULL);
    sqlite3 *db = open_db();
    expect(db, "SELECT length(boxblur(lazy(" GRAY "), 3)) > 0", "1");
    expect(db, "SELECT img_format(img_invert(png(" GRAY ")))", "png");
    expect(db, "SELECT length(png(img_invert(boxblur(lazy(" GRAY "), 3)))) > 0", "1");
    ck_assert_msg(!strstr(logged, "lazy"), "%s", logged);
    expect(db, "SELECT length(img_invert(boxblur(" GRAY ", 3))) > 0", "1");
    expect(db, "SELECT length(img_invert(boxblur(" GRAY ", 3))) > 0", "1");
    const char *hint =
        "imgpar: img_invert() decodes what an inner function has just encoded; with lazy(image) inside and png()"
        " around it all is computed at once\n";
    const char *at = strstr(logged, hint);
    ck_assert_msg(at && !strstr(at + 1, "imgpar: "), "%s", logged);
    sqlite3_close(db);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile SQL");
    TCase *tc = tcase_create("hostile");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_schema_gets_errors_only, 0, N(schemas));
    tcase_add_test(tc, expressions_of_tables_take_no_function_with_effects);
    tcase_add_test(tc, the_safe_entry_has_no_files);
    tcase_add_loop_test(tc, damaged_recipes_are_errors_in_every_function, 0, N(consumers));
    tcase_add_test(tc, a_recipe_of_too_much_work_is_refused);
    tcase_add_test(tc, a_recipe_has_a_greatest_number_of_sources);
    tcase_add_test(tc, a_hard_heap_limit_is_an_error_and_passes);
    tcase_add_test(tc, tables_keep_to_the_length_limit);
    tcase_add_loop_test(tc, a_progress_handler_stops_a_table, 0, N(long_statements));
    tcase_add_loop_test(tc, an_interrupt_stops_a_table, 0, N(long_statements));
    tcase_add_test(tc, the_log_hints_at_lazy_once);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
