/* SPDX-License-Identifier: MIT */
/*
 * Columns of a SELECT that are calls of a sink: SELECT name, jpeg(blur(img, 2), 80) AS img FROM photos.
 *
 * The statement's own thread would encode them one by one. So the SELECT is written once more with the image and the
 * settings in the call's place, and the table's crew encodes at the edge (crew.h), as it does where there is no sink:
 *
 *     SELECT name, (blur(img, 2)), (80) FROM photos
 *
 * R1. Only where the value is the column's and nobody else sees it: a plain SELECT, neither DISTINCT nor a compound,
 *     whose column is the call and nothing but it, and whose later clauses name the column neither by its alias nor
 *     by its number. Everything else is computed where it stands, as ever: slower, never different.
 * R2. The text is cut at tokens, not parsed. That the columns found are those that SQLite sees, their names tell.
 * R3. Settings become columns behind the others, since they may be any expression.
 */
#include "develop.h"
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

/* A result column: its tokens from first up to end. */
typedef struct result {
    int first, end;
} result;

/* ---- result columns ---------------------------------------------------------------------------- */

/* The result columns of a plain SELECT; *end is the token behind them. 0: it is another statement. */
static int find_results(const ip_sql_tokens *list, result *results, int most, int *end)
{
    static const char *const clauses[] = { "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", NULL };
    static const char *const others[] = { "UNION", "EXCEPT", "INTERSECT", "VALUES", NULL };
    int k = 0, n = 0;
    for (int i = 0; i < list->n; i++)
        if (!list->all[i].depth && ip_sql_is_any(&list->all[i], others)) return 0;
    while (k < list->n && (list->all[k].depth || !ip_sql_is_word(&list->all[k], "SELECT")))
        k++;
    if (++k >= list->n || ip_sql_is_word(&list->all[k], "DISTINCT")) return 0;
    k += ip_sql_is_word(&list->all[k], "ALL");
    for (int first = k; k <= list->n; k++) {
        const ip_sql_token *t = &list->all[k];
        bool ends = k == list->n || (!t->depth && ip_sql_is_any(t, clauses));
        if (!ends && (t->depth || t->kind != ',')) continue;
        if (n == most) return 0;
        results[n++] = (result){ first, k };
        first = k + 1;
        if (ends) break;
    }
    *end = k;
    return n;
}

/* The bracket that closes the one at open. */
static int closing(const ip_sql_tokens *list, int open)
{
    int k = open + 1;
    while (k < list->n && !(list->all[k].kind == ')' && list->all[k].depth == list->all[open].depth))
        k++;
    return k;
}

/* R1: a clause behind the columns speaks of column number k, called name. */
static bool is_mentioned(const ip_sql_tokens *list, int from, int k, const char *name)
{
    static const char *const sorting[] = { "GROUP", "ORDER", NULL }, *const other[] = { "HAVING", "WINDOW", "LIMIT",
                                                                                        NULL };
    bool sorts = false; /* there a number means a column */
    for (int i = from; i < list->n; i++) {
        const ip_sql_token *t = &list->all[i], *before = &list->all[i - 1];
        if (!t->depth) sorts = ip_sql_is_any(t, sorting) || (sorts && !ip_sql_is_any(t, other));
        if (sorts && t->kind == IP_SQL_NUMBER && strtol(t->at, NULL, 10) == k + 1) return true;
        if (ip_sql_is_name(t, name) && before->kind != '.' && !ip_sql_is_word(before, "AS")) return true;
    }
    return false;
}

/* R2: behind the call, which ends at close, stands nothing but the column's name; without one SQLite takes the text. */
static bool has_name(const ip_sql_tokens *list, const result *r, int close, const char *name)
{
    int k = close + 1 + (close + 1 < r->end && ip_sql_is_word(&list->all[close + 1], "AS"));
    if (k < r->end) return k + 1 == r->end && ip_sql_is_name(&list->all[k], name);
    const char *at = list->all[r->first].at;
    size_t n = (size_t)(list->all[close].at + 1 - at);
    return strlen(name) == n && !memcmp(name, at, n);
}

/* The comma between the call's two arguments, or its end where there is one; -1: there are more, or none. */
static int find_comma(const ip_sql_tokens *list, int open, int close)
{
    int comma = close;
    for (int k = open + 1; k < close; k++) {
        if (list->all[k].kind != ',' || list->all[k].depth != list->all[open].depth + 1) continue;
        if (comma != close) return -1;
        comma = k;
    }
    return comma > open + 1 && comma + 1 != close ? comma : -1;
}

/* The call that column k is, as its brackets and comma; R1. */
typedef struct sink_call {
    const char *format;
    int open, comma, close;
} sink_call;

static bool find_call(const ip_sql_tokens *list, const result *r, int behind, int k, const char *name, sink_call *out)
{
    static const char *const formats[] = { "png", "jpeg", "npy", NULL };
    const ip_sql_token *t = &list->all[r->first];
    const char *const *format = formats;
    while (*format && !ip_sql_is_word(t, *format))
        format++;
    if (!*format || r->end - r->first < 4 || t[1].kind != '(') return false;
    int open = r->first + 1, close = closing(list, open);
    *out = (sink_call){ *format, open, find_comma(list, open, close), close };
    return close < r->end && out->comma > 0 && has_name(list, r, close, name) && !is_mentioned(list, behind, k, name);
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* ", (" and the tokens behind from, up to end; a comment may be the last of them, so a new line stands before the
 * bracket. */
static void add_argument(sqlite3_str *s, const char *before, const ip_sql_tokens *list, int from, int end)
{
    const char *at = list->all[from + 1].at;
    sqlite3_str_appendf(s, "%s(%.*s\n)", before, (int)(list->all[end].at - at), at);
}

/* The SELECT with what is at the edge taken apart; the columns it has are noted in v. */
static char *write_select(ip_sql_developed *v, sqlite3_stmt *stmt, const ip_sql_tokens *list, const result *results,
                          int n, int behind)
{
    int n_found = 0, sure = 0; /* the first column whose number is known: * may stand for any number */
    for (int k = 0; k < n; k++)
        if (list->all[results[k].end - 1].kind == '*') sure = k + 1;
    if (!sure && n != v->n_columns) return NULL;
    sqlite3_str *s = sqlite3_str_new(NULL), *settings = sqlite3_str_new(NULL);
    const char *at = v->select;
    for (int k = sure; k < n; k++) {
        sink_call call;
        int column = v->n_columns - n + k;
        const char *name = column < 0 ? NULL : sqlite3_column_name(stmt, column);
        if (!name || !find_call(list, &results[k], behind, column, name, &call)) continue;
        const char *from = list->all[results[k].first].at;
        sqlite3_str_append(s, at, (int)(from - at));
        add_argument(s, "", list, call.open, call.comma);
        at = list->all[results[k].end - 1].at + list->all[results[k].end - 1].n;
        n_found++;
        v->edges[column] = (ip_sql_edge){ call.format, call.comma < call.close ? v->n_columns + v->n_settings++ : 0 };
        if (call.comma < call.close) add_argument(settings, ", ", list, call.comma, call.close);
    }
    const char *end = list->all[behind - 1].at + list->all[behind - 1].n; /* R3 */
    char *more = sqlite3_str_finish(settings);
    sqlite3_str_appendf(s, "%.*s%s%s", (int)(end - at), at, more ? more : "", end);
    char *select = sqlite3_str_finish(s);
    if (!n_found || (!more && v->n_settings)) { /* without memory */
        sqlite3_free(select);
        select = NULL;
    }
    sqlite3_free(more);
    return select;
}

char *ip_sql_edges_find(ip_sql_developed *v, sqlite3_stmt *stmt)
{
    ip_sql_tokens list = ip_sql_tokens_read(v->select);
    result *results = sqlite3_malloc64(IP_SQL_MAX_COLUMNS * sizeof *results);
    int behind, n = list.all && results ? find_results(&list, results, IP_SQL_MAX_COLUMNS, &behind) : 0;
    char *select = n ? write_select(v, stmt, &list, results, n, behind) : NULL;
    sqlite3_free(list.all);
    sqlite3_free(results);
    return select;
}
