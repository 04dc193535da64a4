/* SPDX-License-Identifier: MIT */
/*
 * Prints the manual page imgpar-sql.7, from the module's own table img_reference. The module is linked in: this is also
 * how a program does without loading it.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

int sqlite3_imgpar_init(sqlite3 *db, char **message, const void *api);

/* Text as troff takes it. */
static void print_text(const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '"') /* in .B it would open an argument */
            fputs("\\(dq", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
}

static void print_section(sqlite3 *db, const char *title, const char *kind)
{
    sqlite3_stmt *stmt = NULL;
    printf(".SH %s\n", title);
    if (sqlite3_prepare_v2(db, "SELECT name, arguments, about, columns, example FROM img_reference WHERE kind = ?", -1,
                           &stmt, NULL))
        return;
    sqlite3_bind_text(stmt, 1, kind, -1, SQLITE_STATIC);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *text[5];
        for (int k = 0; k < 5; k++)
            text[k] = (const char *)sqlite3_column_text(stmt, k);
        printf(".TP\n.B ");
        print_text(text[0]);
        printf("(");
        print_text(text[1] ? text[1] : "");
        printf(")\n");
        print_text(text[2] ? text[2] : "");
        printf(".\n");
        if (text[3]) {
            printf(".br\nColumns: ");
            print_text(text[3]);
            printf("\n");
        }
        if (text[4]) {
            printf(".br\n.I ");
            print_text(text[4]);
            printf("\n");
        }
    }
    sqlite3_finalize(stmt);
}

static const char head[] =
    ".TH IMGPAR-SQL 7 \"\" \"libimgpar\" \"Images in SQLite\"\n"
    ".SH NAME\nimgpar\\-sql \\- images and pipelines in SQLite\n"
    ".SH DESCRIPTION\n"
    "Give a function ordinary image bytes and it returns a finished PNG, wherever you use it. Give it lazy(img) and "
    "it\n"
    "returns a deferred image that only remembers the work; png(), save(), img_mean(), img_histogram() then do all of\n"
    "it at once, fused. NULL in gives NULL out; a failure is an SQL error, never NULL.\n"
    ".PP\n"
    "Every operation is there as img_NAME. Those of pictures are there as NAME, too, unless SQL or some version of\n"
    "SQLite has a function of that name, as it has median(), or it is too plain a word, as text is: img_median(img), "
    "but blur(img, 2) as well\nas img_blur(img, 2). Options go by position, or as a text that starts with a name:\n"
    "blur(img, 2, \\(aqwrap\\(aq) and blur(img, \\(aqsigma=2, border=wrap\\(aq) are the same. A finished image\n"
    "is the same value as the deferred one: dtype, shape and what its numbers stand for come back with it. A mask is a "
    "PNG that\n"
    "looks black and white and counts 0 and 1 for functions; what PNG cannot hold comes back as NPY, which every "
    "function takes.\n"
    "(What PNG does not tell itself stands in a private chunk, imGP, that viewers pass by, and in NPY in a comment of "
    "the header;\n"
    "png(), npy(), jpeg() and save() write nothing private.) An image table may be indexed by functions whose row in "
    "img_ops has same_bytes, and\n"
    "by what headers say (img_width() and its like); PNG bytes depend on zlib, so REINDEX after it is upgraded.\n"
    ".SH LOADING\n"
    "In the sqlite3 shell:  .load imgpar\n.br\n"
    "In C: sqlite3_load_extension(db, \"imgpar\", NULL, &message), after sqlite3_db_config(db,\n"
    "SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL).\n.br\n"
    "Linked in: compile sqlext/*.c with \\-DSQLITE_CORE, link with imgpar and sqlite3, and call\n"
    "sqlite3_imgpar_init(db, &message, NULL), or give it to sqlite3_auto_extension().\n.br\n"
    "Python: db.enable_load_extension(True); db.load_extension(\"imgpar\") (as Debian builds it; without\n"
    "\\-\\-enable\\-loadable\\-sqlite\\-extensions it has no such method)\n.br\n"
    "node, better\\-sqlite3: db.loadExtension(\"imgpar\")\n.br\n"
    "Without an absolute path the module has to lie where the loader looks; make install prints its place. The entry "
    "point\n"
    "sqlite3_imgparsafe_init leaves out all that touches files and settings: for SQL that is not trusted.\n"
    ".SH SAFETY\n"
    "A database file is a program: its views, triggers, constraints, defaults, generated columns and indexes run for "
    "whoever\n"
    "opens it. What writes files, reads them or changes settings, save(), img_setting() and img_files(), runs only\n"
    "where the text of a running statement names it itself, so not from a temporary view or trigger either; and it is "
    "refused while\n"
    "the schema of any open database, main or attached, calls it, and while PRAGMA writable_schema is on. Names of "
    "tables and\n"
    "columns are no calls. SQLite\\(aqs own lock, SQLITE_DIRECTONLY, would not do: SQLite 3.40 runs such functions, "
    "and its shell\\(aqs\n"
    "own writefile(), in a CHECK constraint, on INSERT and on PRAGMA integrity_check. Tables of imgpar and "
    "imgpar_folder exist in temp only,\n"
    "and are refused in a file.\n";

int main(void)
{
    sqlite3 *db;
    char *message = NULL;
    if (sqlite3_open(":memory:", &db) || (sqlite3_imgpar_init(db, &message, NULL) & 0xff)) {
        fprintf(stderr, "mkreference: %s\n", message ? message : sqlite3_errmsg(db));
        return 1;
    }
    fputs(head, stdout);
    print_section(db, "OPERATIONS", "operation");
    print_section(db, "OTHER FUNCTIONS", "function");
    print_section(db, "AGGREGATES", "aggregate");
    print_section(db, "TABLES", "table");
    printf(".SH SEE ALSO\nimgpar\\-run(1), imgpar\\-ops(7)\n");
    return sqlite3_close(db) != SQLITE_OK || fflush(stdout);
}
