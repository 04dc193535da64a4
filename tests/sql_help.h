/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the programs that load the SQLite module themselves, so that it may be sanitized: connections, and
 * statements with their answers. The module is $IMGPAR_MODULE, else $builddir/imgpar.so.
 */
#ifndef TESTS_SQL_HELP_H
#define TESTS_SQL_HELP_H

#include "asserts.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELPER static __attribute__((unused))

#define N(table) (int)(sizeof table / sizeof *table)

/* AddressSanitizer guesses where a loaded library keeps its thread-local memory, and a wrong guess crashes
 * its search for leaks. This is its hook for a program's own options. */
__attribute__((used)) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "intercept_tls_get_addr=0"; }

/* Images as SQL: 4x3 gray, 2x1 RGB. */
#define GRAY "CAST('P5 4 3 255' || char(10) || 'AZaz09!~mnop' AS BLOB)"
#define RGB "CAST('P6 2 1 255' || char(10) || 'RGBrgb' AS BLOB)"

/* ---- a connection with the module -------------------------------------------------- */

HELPER void load(sqlite3 *db, const char *entry)
{
    char path[1024], *message = NULL;
    const char *module = getenv("IMGPAR_MODULE"), *folder = getenv("builddir");
    if (module)
        snprintf(path, sizeof path, "%s", module);
    else
        snprintf(path, sizeof path, "%s/imgpar.so", folder ? folder : ".");
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    int rc = sqlite3_load_extension(db, path, entry, &message);
    ck_assert_msg(rc == SQLITE_OK, "%s: %s", path, message ? message : "");
}

HELPER sqlite3 *open_db(void)
{
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    load(db, "sqlite3_imgpar_init");
    return db;
}

HELPER void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    int rc = sqlite3_exec(db, sql, NULL, NULL, &message);
    ck_assert_msg(rc == SQLITE_OK, "%s\n%s", sql, message ? message : "");
    sqlite3_free(message);
}

/* The first column of the first row as text, with blob bound to ?1 (NULL: nothing); for free(). NULL: *rc says why. */
HELPER char *ask_with(sqlite3 *db, const char *sql, const void *blob, int n, int *rc)
{
    sqlite3_stmt *stmt = NULL;
    char *answer = NULL;
    *rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (*rc) return NULL;
    if (blob) sqlite3_bind_blob(stmt, 1, blob, n, SQLITE_STATIC);
    *rc = sqlite3_step(stmt);
    if (*rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        answer = strdup(text ? text : "NULL");
    }
    *rc = sqlite3_finalize(stmt);
    return answer;
}

HELPER void expect(sqlite3 *db, const char *sql, const char *wanted)
{
    int rc;
    char *got = ask_with(db, sql, NULL, 0, &rc);
    ck_assert_msg(got && !strcmp(got, wanted), "%s\nwanted %s\ngot    %s", sql, wanted, got ? got : sqlite3_errmsg(db));
    free(got);
}

HELPER void expect_error(sqlite3 *db, const char *sql, int code, const char *message)
{
    int rc;
    char *got = ask_with(db, sql, NULL, 0, &rc);
    ck_assert_msg(!got, "%s\nwanted an error: %s\ngot %s", sql, message, got);
    ck_assert_msg(rc == code && !strcmp(sqlite3_errmsg(db), message), "%s\nwanted %d %s\ngot    %d %s", sql, code,
                  message, rc, sqlite3_errmsg(db));
}

/* The blob that sql makes; for free(). */
HELPER unsigned char *make_blob(sqlite3 *db, const char *sql, int *n)
{
    sqlite3_stmt *stmt;
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    ck_assert_msg(sqlite3_step(stmt) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
    *n = sqlite3_column_bytes(stmt, 0);
    unsigned char *bytes = malloc((size_t)*n + 1);
    memcpy(bytes, sqlite3_column_blob(stmt, 0), (size_t)*n);
    sqlite3_finalize(stmt);
    return bytes;
}

/* A gray image of side x side as PNM. */
HELPER unsigned char *big_image(int side, int *n)
{
    unsigned char *bytes = malloc((size_t)side * (size_t)side + 32);
    int head = sprintf((char *)bytes, "P5 %d %d 255\n", side, side);
    for (int k = 0; k < side * side; k++)
        bytes[head + k] = (unsigned char)(k * 7 + k / side * 13);
    *n = head + side * side;
    return bytes;
}

#endif
