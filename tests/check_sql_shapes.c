/* SPDX-License-Identifier: MIT */
/*
 * The same SQL with plain images, with deferred ones, with a table of imgpar(SELECT ...) as its source and, where it is
 * a SELECT, inside imgpar(SELECT ...), without png() there and with it: the pixels are equal.
 *
 * A shape is SQL with three words to be filled in: IMG, an image made of t's column img; SRC, where rows come from; and
 * for a script what is asked at its end. The last SELECT has the columns key and img.
 */
#include "sql_help.h"

#include <stdbool.h>

typedef struct shape {
    const char *name;
    int n_rows;         /* that it gives */
    const char *script; /* run before, or NULL: it is a SELECT */
    const char *select;
} shape;

static const shape shapes[] = {
    { "a select", 7, NULL, "SELECT id AS key, IMG AS img FROM SRC" },
    { "a condition on an image", 3, NULL, "SELECT id AS key, IMG AS img FROM SRC WHERE img_mean(IMG) > 129" },
    { "a sub-query in FROM", 6, NULL,
      "SELECT id AS key, img FROM (SELECT id, IMG AS img FROM SRC) WHERE img IS NOT NULL" },
    { "operations on three levels", 7, NULL,
      "SELECT key, flip(img) AS img FROM (SELECT key, erode(img) AS img FROM (SELECT id AS key, IMG AS img FROM "
      "SRC))" },
    { "a common table expression", 7, NULL, "WITH s(key, img) AS (SELECT id, IMG FROM SRC) SELECT key, img FROM s" },
    { "one that is materialised", 14, NULL,
      "WITH s AS MATERIALIZED (SELECT id, IMG AS img FROM SRC)"
      " SELECT id AS key, img FROM s UNION ALL SELECT id + 10, img_invert(img) FROM s" },
    { "one that is not", 14, NULL,
      "WITH s AS NOT MATERIALIZED (SELECT id, IMG AS img FROM SRC)"
      " SELECT id AS key, img FROM s UNION ALL SELECT id + 10, img_invert(img) FROM s" },
    { "a recursive one", 21, NULL,
      "WITH RECURSIVE r(id, n, img) AS (SELECT id, 0, IMG FROM SRC UNION ALL"
      " SELECT id, n + 1, img_invert(boxblur(img, 3)) FROM r WHERE n < 2) SELECT 10 * id + n AS key, img FROM r" },
    { "a correlated sub-query", 7, NULL,
      "SELECT o.id AS key, (SELECT IMG FROM SRC WHERE SRC.id = o.id) AS img FROM t o" },
    { "a scalar sub-query", 7, NULL,
      "SELECT id AS key, (SELECT IMG FROM SRC ORDER BY id DESC LIMIT 1 OFFSET 1) AS img FROM t" },
    { "ORDER BY and LIMIT", 3, NULL, "SELECT id AS key, IMG AS img FROM SRC ORDER BY id DESC LIMIT 3" },
    { "ORDER BY a measure, LIMIT and OFFSET", 2, NULL,
      "SELECT id AS key, IMG AS img FROM SRC WHERE img IS NOT NULL ORDER BY img_maxval(IMG), id LIMIT 2 OFFSET 1" },
    { "ORDER BY a collated name", 7, NULL, "SELECT id AS key, IMG AS img FROM SRC ORDER BY name COLLATE NOCASE DESC" },
    { "GROUP BY with a bare column", 2, NULL,
      "SELECT grp AS key, img FROM (SELECT grp, max(id) AS last, IMG AS img FROM SRC WHERE id < 7 GROUP BY grp)" },
    { "GROUP BY with an aggregate of images", 2, NULL,
      "SELECT grp AS key, img_stack_mean(IMG) AS img FROM SRC GROUP BY grp" },
    { "HAVING", 1, NULL, "SELECT grp AS key, img_stack_min(IMG) AS img FROM SRC GROUP BY grp HAVING min(id) = 1" },
    { "an aggregate with FILTER", 1, NULL,
      "SELECT 1 AS key, img_stack_max(IMG) FILTER (WHERE id < 4) AS img FROM SRC" },
    { "a contact sheet", 1, NULL,
      "SELECT 1 AS key, montage(IMG, 3, 20, 20) AS img FROM (SELECT * FROM SRC ORDER BY id)" },
    { "DISTINCT", 6, NULL, "SELECT DISTINCT grp + 2 * (id > 3) AS key, IMG AS img FROM SRC WHERE id < 7" },
    { "lag() OVER", 7, NULL, "SELECT id AS key, lag(IMG) OVER (ORDER BY id) AS img FROM SRC" },
    { "row_number() OVER", 3, NULL,
      "SELECT key, img FROM (SELECT id AS key, IMG AS img, row_number() OVER (ORDER BY id DESC) AS n FROM SRC) WHERE n "
      "<= 3" },
    { "first_value() OVER a partition", 7, NULL,
      "SELECT id AS key, first_value(IMG) OVER (PARTITION BY grp ORDER BY id) AS img FROM SRC" },
    { "UNION ALL", 8, NULL,
      "SELECT id AS key, IMG AS img FROM SRC WHERE id < 5 UNION ALL SELECT id, IMG FROM SRC WHERE id < 5" },
    { "UNION", 5, NULL,
      "SELECT id AS key, IMG AS img FROM SRC WHERE id < 5 UNION SELECT id, IMG FROM SRC WHERE id IN (3, 4, 5)" },
    { "EXCEPT", 3, NULL,
      "SELECT id AS key, IMG AS img FROM SRC WHERE id < 7 EXCEPT SELECT id, IMG FROM SRC WHERE id > 3" },
    { "INTERSECT", 2, NULL,
      "SELECT id AS key, IMG AS img FROM SRC WHERE id < 4 INTERSECT SELECT id, IMG FROM SRC WHERE id > 1" },
    { "a compound, sorted and cut", 4, NULL,
      "SELECT key, img FROM (SELECT id AS key, IMG AS img FROM SRC UNION ALL SELECT id + 10, IMG FROM SRC) ORDER BY "
      "key DESC LIMIT 4" },
    { "CASE", 7, NULL, "SELECT id AS key, CASE grp WHEN 0 THEN IMG ELSE img_invert(IMG) END AS img FROM SRC" },
    { "coalesce()", 7, NULL, "SELECT id AS key, coalesce(IMG, (SELECT img FROM t WHERE id = 1)) AS img FROM SRC" },
    { "iif() and nullif()", 7, NULL, "SELECT id AS key, iif(id < 3, nullif(IMG, x'00'), IMG) AS img FROM SRC" },
    { "EXISTS", 5, NULL,
      "SELECT id AS key, IMG AS img FROM SRC WHERE EXISTS (SELECT 1 FROM t o WHERE o.id = SRC.id + 2)" },
    { "IN a sub-query", 3, NULL,
      "SELECT id AS key, IMG AS img FROM SRC WHERE id IN (SELECT id / 2 FROM t WHERE id > 1)" },
    { "a join of two images", 5, NULL,
      "SELECT 10 * a.id + b.id AS key, blend(a.img, b.img, 0.3) AS img FROM (SELECT id, IMG AS img FROM SRC) a"
      " JOIN (SELECT id, IMG AS img FROM SRC) b ON b.id = a.id + 1 WHERE b.img IS NOT NULL" },
    { "a left join", 7, NULL,
      "SELECT o.id AS key, s.img FROM t o LEFT JOIN (SELECT id, IMG AS img FROM SRC WHERE id % 2) s ON s.id = o.id" },
    { "a cross join with VALUES", 14, NULL,
      "SELECT id * 10 + column1 AS key, resize(IMG, column1, 3) AS img FROM SRC, (VALUES (2), (5))" },
    { "a table-valued function", 14, NULL,
      "SELECT SRC.id * 10 + j.value AS key, resize(IMG, j.value) AS img FROM SRC, json_each('[3, 7]') j" },
    { "tiles", 24, NULL,
      "SELECT s.id * 100 + g.x * 10 + g.y AS key, g.image AS img FROM (SELECT id, IMG AS img FROM SRC) s, "
      "img_tiles(s.img, 4, 3) g" },
    { "stored pipelines", 14, NULL,
      "SELECT id * 10 + length(p.body) % 7 AS key, apply(p.body, IMG) AS img FROM SRC, pipelines p" },
    { "a view", 7, "CREATE TEMP VIEW v AS SELECT id, name, IMG AS img FROM SRC",
      "SELECT id AS key, img_invert(img) AS img FROM v" },
    { "a view of a view", 3,
      "CREATE TEMP VIEW v AS SELECT id, IMG AS img FROM SRC; CREATE TEMP VIEW w AS SELECT * FROM v WHERE id < 4",
      "SELECT id AS key, boxblur(img, 3) AS img FROM w" },
    { "CREATE TABLE AS", 7, "CREATE TABLE o AS SELECT id, IMG AS img FROM SRC", "SELECT id AS key, img FROM o" },
    { "INSERT ... SELECT", 7, "CREATE TABLE o(id, img); INSERT INTO o SELECT id, IMG FROM SRC",
      "SELECT id AS key, flip(img) AS img FROM o" },
    { "UPDATE", 7,
      "CREATE TABLE o AS SELECT id, name FROM t; ALTER TABLE o ADD img; UPDATE o SET img = (SELECT IMG FROM SRC WHERE "
      "SRC.id = o.id)",
      "SELECT id AS key, img FROM o" },
    { "UPDATE FROM", 7,
      "CREATE TABLE o(id, img); INSERT INTO o(id) SELECT id FROM t; UPDATE o SET img = s.img FROM (SELECT id, IMG AS "
      "img FROM SRC) s WHERE s.id = o.id",
      "SELECT id AS key, img FROM o" },
    { "UPSERT", 7,
      "CREATE TABLE o(id INTEGER PRIMARY KEY, img); INSERT INTO o SELECT id, img FROM t WHERE id < 4;"
      "INSERT INTO o SELECT id, IMG FROM SRC WHERE true ON CONFLICT (id) DO UPDATE SET img = img_invert(excluded.img)",
      "SELECT id AS key, img FROM o" },
    { "REPLACE", 7,
      "CREATE TABLE o(id INTEGER PRIMARY KEY, img); INSERT INTO o SELECT id, 'old' FROM t; REPLACE INTO o SELECT id, "
      "IMG FROM SRC",
      "SELECT id AS key, img FROM o" },
    { "DELETE with a condition on images", 4,
      "CREATE TABLE o AS SELECT id, IMG AS img FROM SRC; DELETE FROM o WHERE img_mean(img) > 129",
      "SELECT id AS key, img FROM o" },
    { "a trigger", 7,
      "CREATE TABLE o(id, img); CREATE TABLE p(id, img); CREATE TRIGGER r AFTER INSERT ON o BEGIN"
      " INSERT INTO p VALUES (new.id, img_invert(new.img)); END; INSERT INTO o SELECT id, IMG FROM SRC",
      "SELECT id AS key, img FROM p" },
    { "an INSTEAD OF trigger", 7,
      "CREATE TABLE o(id, img); CREATE VIEW w AS SELECT * FROM o; CREATE TRIGGER r INSTEAD OF INSERT ON w BEGIN"
      " INSERT INTO o VALUES (new.id, boxblur(new.img, 3)); END; INSERT INTO w SELECT id, IMG FROM SRC",
      "SELECT id AS key, img FROM o" },
    { "a stored generated column", 7,
      "CREATE TABLE o(id, src BLOB, img BLOB AS (img_invert(src)) STORED); INSERT INTO o(id, src) SELECT id, IMG FROM "
      "SRC",
      "SELECT id AS key, img FROM o" },
    { "a virtual generated column", 7,
      "CREATE TABLE o(id, src BLOB, img BLOB AS (erode(src))); INSERT INTO o(id, src) SELECT id, IMG FROM SRC",
      "SELECT id AS key, img FROM o" },
    { "an index on an expression", 3,
      "CREATE TABLE o AS SELECT id, IMG AS img FROM SRC; CREATE INDEX i ON o(img_maxval(img))",
      "SELECT id AS key, img FROM o INDEXED BY i WHERE img_maxval(img) >= 208" },
    { "a partial index", 6,
      "CREATE TABLE o AS SELECT id, IMG AS img FROM SRC; CREATE INDEX i ON o(id) WHERE img IS NOT NULL",
      "SELECT id AS key, img FROM o WHERE img IS NOT NULL ORDER BY id" },
    { "an attached database", 7, "ATTACH ':memory:' AS other; CREATE TABLE other.o AS SELECT id, IMG AS img FROM SRC",
      "SELECT id AS key, img_invert(img) AS img FROM other.o" },
    { "WITHOUT ROWID", 7,
      "CREATE TABLE o(id INTEGER PRIMARY KEY, img) WITHOUT ROWID; INSERT INTO o SELECT id, IMG FROM SRC",
      "SELECT id AS key, img FROM o" },
    { "a STRICT table", 7, "CREATE TABLE o(id INTEGER, img BLOB) STRICT; INSERT INTO o SELECT id, IMG FROM SRC",
      "SELECT id AS key, img FROM o" },
    { "a savepoint rolled back", 7,
      "CREATE TABLE o AS SELECT id, IMG AS img FROM SRC; SAVEPOINT s; UPDATE o SET img = img_invert(img); ROLLBACK TO "
      "s; RELEASE s",
      "SELECT id AS key, img FROM o" },
};

/* ---- the forms --------------------------------------------------------------------------------- */

#define PLAIN "img_invert(boxblur(img, 3))"
#define LAZY "img_invert(boxblur(lazy(img), 3))"

typedef enum form { FORM_PLAIN, FORM_LAZY, FORM_SOURCE, FORM_INSIDE, FORM_SUNK, N_FORMS } form;
static const struct {
    const char *name, *image, *source;
} forms[N_FORMS] = {
    [FORM_PLAIN] = { "plain", PLAIN, "t" },
    [FORM_LAZY] = { "lazy", LAZY, "t" },
    [FORM_SOURCE] = { "imgpar(SELECT ...) as the source", "img", "developed" },
    [FORM_INSIDE] = { "inside imgpar(SELECT ...)", PLAIN, "t" },
    [FORM_SUNK] = { "inside imgpar(SELECT ...), finished there", "png(" PLAIN ", 'level=1')", "t" },
};

/* sql with IMG and SRC filled in; for free(). */
static char *filled(const char *sql, form f)
{
    char *out = malloc(strlen(sql) * 16 + 64), *at = out;
    while (*sql) {
        const char *word = !strncmp(sql, "IMG", 3) ? forms[f].image : !strncmp(sql, "SRC", 3) ? forms[f].source : NULL;
        if (word) {
            at = stpcpy(at, word);
            sql += 3;
        } else {
            *at++ = *sql++;
        }
    }
    *at = 0;
    return out;
}

static const char setup_sql[] =
    "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, grp INTEGER, img BLOB);"
    "INSERT INTO t SELECT value, substr('aBcDeFg', value, 1), value % 2,"
    " CASE WHEN value < 7 THEN apply('cast(make(8, 6, (x * 37 + y * 11 + ' || value || ' * 23) % 255), u8)') END"
    " FROM json_each('[1, 2, 3, 4, 5, 6, 7]');"
    "CREATE TABLE pipelines(body TEXT); INSERT INTO pipelines VALUES ('invert($1)'), ('blend($1, flip($1), 0.25)');"
    "CREATE VIRTUAL TABLE temp.developed USING imgpar(SELECT id, name, grp, " PLAIN " AS img FROM t)";

static int compare_lines(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* A connection that has a device and stays open, for what PoCL sets up once for all that are open (held.h). */
static void hold_driver(void)
{
    static sqlite3 *held;
    if (held) return;
    held = open_db();
    run(held, "SELECT hex(raw(img_invert(" GRAY ")))");
}

/* The rows of a shape in one form, sorted, a line each; for free(). */
static char *rows_of(const shape *s, form f, int *n_rows)
{
    hold_driver();
    sqlite3 *db = open_db();
    sqlite3_stmt *stmt;
    char *lines[64], *all = calloc(1, 1 << 20), *message = NULL;
    char *script = s->script ? filled(s->script, f) : NULL, *select = filled(s->select, f);
    run(db, setup_sql);
    if (script) run(db, script);
    bool inside = f == FORM_INSIDE || f == FORM_SUNK;
    if (inside) {
        char *create = sqlite3_mprintf("CREATE VIRTUAL TABLE temp.inside USING imgpar(%s)", select);
        ck_assert_msg(sqlite3_exec(db, create, NULL, NULL, &message) == SQLITE_OK, "%s\n%s", create, message);
        sqlite3_free(create);
    }
    char *sql = inside ? sqlite3_mprintf("SELECT key, hex(raw(img)), img_format(img) FROM inside")
                       : sqlite3_mprintf("SELECT key, hex(raw(img)), img_format(img) FROM (%s)", select);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s\n%s", forms[f].name, sql,
                  sqlite3_errmsg(db));
    *n_rows = 0;
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && *n_rows < 64) {
        const char *pixels = (const char *)sqlite3_column_text(stmt, 1),
                   *format = (const char *)sqlite3_column_text(stmt, 2);
        ck_assert_msg(!inside || !format || strcmp(format, "deferred"), "%s: not finished", s->name);
        char *line = sqlite3_mprintf("%lld %s\n", sqlite3_column_int64(stmt, 0), pixels ? pixels : "NULL");
        lines[(*n_rows)++] = line;
    }
    ck_assert_msg(rc == SQLITE_DONE, "%s: %s\n%s", forms[f].name, sql, sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    qsort(lines, (size_t)*n_rows, sizeof lines[0], compare_lines);
    for (int k = 0; k < *n_rows; k++) {
        strcat(all, lines[k]);
        sqlite3_free(lines[k]);
    }
    sqlite3_free(sql);
    free(script);
    free(select);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    return all;
}

START_TEST(a_shape_gives_the_same_pixels_in_all_forms)
{
    const shape *s = &shapes[_i];
    int n;
    char *plain = rows_of(s, FORM_PLAIN, &n);
    ck_assert_msg(n == s->n_rows, "%s: %d rows, not %d:\n%s", s->name, n, s->n_rows, plain);
    for (int f = FORM_LAZY; f < N_FORMS; f++) {
        if ((f == FORM_INSIDE || f == FORM_SUNK) && s->script) continue;
        char *rows = rows_of(s, (form)f, &n);
        ck_assert_msg(!strcmp(plain, rows), "%s, %s:\n%s\nplain:\n%s", s->name, forms[f].name, rows, plain);
        free(rows);
    }
    free(plain);
}
END_TEST

/* RETURNING gives its rows while it writes. */
START_TEST(returning_gives_the_same_pixels)
{
    static const char *const inserts[] = {
        "INSERT INTO o SELECT id, " PLAIN " FROM t WHERE id = 1 RETURNING hex(raw(img))",
        "INSERT INTO o SELECT id, " LAZY " FROM t WHERE id = 1 RETURNING hex(raw(img))",
        "INSERT INTO o SELECT id, img FROM developed WHERE id = 1 RETURNING hex(raw(img))",
    };
    sqlite3 *db = open_db();
    char *first = NULL;
    int rc;
    run(db, setup_sql);
    run(db, "CREATE TABLE o(id, img)");
    for (int k = 0; k < N(inserts); k++) {
        char *got = ask_with(db, inserts[k], NULL, 0, &rc);
        ck_assert_msg(got && strlen(got) == 96, "%s: %s", inserts[k], sqlite3_errmsg(db));
        ck_assert(!first || !strcmp(first, got));
        free(first);
        first = got;
    }
    free(first);
    sqlite3_close(db);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sql shapes");
    TCase *tc = tcase_create("shapes");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, a_shape_gives_the_same_pixels_in_all_forms, 0, N(shapes));
    tcase_add_test(tc, returning_gives_the_same_pixels);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
