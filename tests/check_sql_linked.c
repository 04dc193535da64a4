/* SPDX-License-Identifier: MIT */
/*
 * The module linked into a program (SQLITE_CORE), and two connections in two threads, with SQLite's shared cache off
 * and on. CI runs this under ThreadSanitizer on the ref device.
 */
#include "asserts.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sqlite3_api_routines;
int sqlite3_imgpar_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* See tests/check_sql.c. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "intercept_tls_get_addr=0"; }

static sqlite3 *open_db(const char *path)
{
    sqlite3 *db;
    char *message = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    ck_assert_int_eq(sqlite3_open_v2(path, &db, flags, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_imgpar_init(db, &message, NULL) & 0xff, SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    return db;
}

static int run(sqlite3 *db, const char *sql) { return sqlite3_exec(db, sql, NULL, NULL, NULL); }

START_TEST(a_program_that_links_the_module_needs_no_loading)
{
    sqlite3 *db = open_db(":memory:");
    sqlite3_stmt *stmt;
    ck_assert_int_eq(
        sqlite3_prepare_v2(db, "SELECT hex(raw(img_invert(lazy(CAST('P6 2 1 255' || char(10) || 'RGBrgb' AS BLOB)))))",
                           -1, &stmt, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), "ADB8BD8D989D");
    sqlite3_finalize(stmt);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}
END_TEST

static int from_auto_extension(sqlite3 *db, char **message, const struct sqlite3_api_routines *api)
{
    return sqlite3_imgpar_init(db, message, api) & 0xff;
}

START_TEST(an_auto_extension_is_in_every_connection)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))from_auto_extension), SQLITE_OK);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
        ck_assert_int_eq(run(db, "SELECT img_valid(x'00')"), SQLITE_OK);
        sqlite3_close(db);
    }
    sqlite3_reset_auto_extension();
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------------------- */

typedef struct worker {
    sqlite3 *db;
    pthread_t thread;
    int n_good;
} worker;
enum { N_ROUNDS = 6 };

/* One row of one column, as a number; -1: an error. */
static long long ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    long long answer = -1;
    int rc;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) return -1;
    while ((rc = sqlite3_step(stmt)) == SQLITE_LOCKED) { /* the shared cache does not wait */
        sqlite3_reset(stmt);
        usleep(1000);
    }
    if (rc == SQLITE_ROW) answer = sqlite3_column_int64(stmt, 0);
    return sqlite3_finalize(stmt) ? -1 : answer;
}

static void *work(void *user)
{
    static const struct {
        const char *sql;
        long long answer;
    } questions[] = {
        { "SELECT sum(img_maxval(img_invert(boxblur(lazy(img), 3)))) FROM t", 6 * 205 },
        { "SELECT count(*) FROM d WHERE img_format(img) = 'png' AND img_format(j) = 'jpeg'", 6 },
        { "SELECT sum(v) FROM t, pixels(img) WHERE y = 0", 6 * 8 * 50 },
        { "SELECT img_width(montage(img, 3, 10)) FROM t", 62 },
    };
    worker *w = user;
    for (int k = 0; k < N_ROUNDS; k++)
        for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++)
            w->n_good += ask(w->db, questions[q].sql) == questions[q].answer;
    return NULL;
}

START_TEST(two_connections_in_two_threads)
{
    char path[128];
    snprintf(path, sizeof path, _i ? "file:imgpar%d?mode=memory&cache=shared" : "/tmp/imgpar-linked-%d.db",
             (int)getpid());
    sqlite3 *first = open_db(path);
    ck_assert_int_eq(
        run(first, "DROP TABLE IF EXISTS t; CREATE TABLE t(img); INSERT INTO t SELECT apply('cast(make(8, 6, 50), u8)')"
                   " FROM json_each('[1, 2, 3, 4, 5, 6]')"),
        SQLITE_OK);
    worker workers[2];
    for (int k = 0; k < 2; k++) {
        workers[k] = (worker){ .db = open_db(path) };
        ck_assert_int_eq(run(workers[k].db, "CREATE VIRTUAL TABLE temp.d USING imgpar("
                                            "SELECT blur(img, 1) AS img, jpeg(blur(img, 1), 60) AS j FROM t)"),
                         SQLITE_OK);
    }
    for (int k = 0; k < 2; k++)
        pthread_create(&workers[k].thread, NULL, work, &workers[k]);
    for (int k = 0; k < 2; k++) {
        pthread_join(workers[k].thread, NULL);
        ck_assert_int_eq(workers[k].n_good, N_ROUNDS * 4);
        ck_assert_int_eq(sqlite3_close(workers[k].db), SQLITE_OK);
    }
    sqlite3_close(first);
    if (!_i) unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linked SQL");
    TCase *tc = tcase_create("linked");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_program_that_links_the_module_needs_no_loading);
    tcase_add_test(tc, an_auto_extension_is_in_every_connection);
    tcase_add_loop_test(tc, two_connections_in_two_threads, 0, 2);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
