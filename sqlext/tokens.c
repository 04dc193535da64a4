/* SPDX-License-Identifier: MIT */
#include "tokens.h"

#include <string.h>

/* ---- cutting ---------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (c & 0x80);
}

static const char *skip_blanks(const char *p)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf"; /* a blank to SQLite where a token may begin */
    for (;;) {
        p += strspn(p, " \t\r\n\f\v");
        if (p[0] == '-' && p[1] == '-')
            p += strcspn(p, "\n");
        else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end ? end + 2 : p + strlen(p);
        } else if (!strncmp(p, byte_order_mark, 3))
            p += 3;
        else
            return p;
    }
}

/* Behind the quoted text at p; a doubled quote is part of it. */
static const char *skip_quoted(const char *p)
{
    char quote = *p == '[' ? ']' : *p;
    for (p++; *p; p++)
        if (*p == quote && (quote == ']' || *++p != quote)) return quote == ']' ? p + 1 : p;
    return p;
}

/* Behind the parameter at p: :a, @a, #1, $a, and Tcl's $a::b(c), whose brackets may hold what would begin a comment. */
static const char *skip_parameter(const char *p)
{
    const char *name = p + 1;
    for (p = name; is_name_char(*p) || (p[0] == ':' && p[1] == ':'); p++)
        p += *p == ':';
    if (p == name || *p != '(') return p;
    p += strcspn(p, ") \t\r\n\f\v");
    return p + (*p == ')');
}

bool ip_sql_token_next(const char **p, ip_sql_token *t)
{
    const char *at = skip_blanks(*p), *end = at + 1;
    *p = at;
    if (!*at) return false;
    *t = (ip_sql_token){ .at = at, .kind = (unsigned char)*at };
    if (strchr("\"'`[", *at)) {
        t->kind = IP_SQL_QUOTED;
        end = skip_quoted(at);
    } else if (strchr("$:@#", *at)) {
        end = skip_parameter(at);
    } else if (is_name_char(*at)) {
        t->kind = *at >= '0' && *at <= '9' ? IP_SQL_NUMBER : IP_SQL_WORD;
        while (is_name_char(*end))
            end++;
    }
    t->n = (size_t)(end - at);
    *p = end;
    return true;
}

ip_sql_tokens ip_sql_tokens_read(const char *sql)
{
    ip_sql_tokens list = { .all = sqlite3_malloc64((strlen(sql) + 1) * sizeof *list.all) };
    int depth = 0;
    for (const char *p = sql; list.all && ip_sql_token_next(&p, &list.all[list.n]); list.n++) {
        ip_sql_token *t = &list.all[list.n];
        depth -= t->kind == ')';
        t->depth = depth;
        depth += t->kind == '(';
    }
    return list;
}

/* ---- comparing ---------------------------------------------------------------------------------- */

bool ip_sql_is_word(const ip_sql_token *t, const char *word)
{
    return t->kind == IP_SQL_WORD && strlen(word) == t->n && !sqlite3_strnicmp(t->at, word, (int)t->n);
}

bool ip_sql_is_any(const ip_sql_token *t, const char *const *words)
{
    for (; *words; words++)
        if (ip_sql_is_word(t, *words)) return true;
    return false;
}

bool ip_sql_is_name(const ip_sql_token *t, const char *name)
{
    size_t quotes = t->kind == IP_SQL_QUOTED;
    return (t->kind == IP_SQL_WORD || quotes) && t->n == strlen(name) + 2 * quotes &&
           !sqlite3_strnicmp(t->at + quotes, name, (int)strlen(name));
}

/* ---- calls ---------------------------------------------------------------------------------------- */

/* True where the text is CREATE INDEX: the name behind its first ON is a table's. */
static bool creates_index(const char *sql)
{
    ip_sql_token t;
    return ip_sql_token_next(&sql, &t) && ip_sql_is_word(&t, "CREATE") && ip_sql_token_next(&sql, &t) &&
           (!ip_sql_is_word(&t, "UNIQUE") || ip_sql_token_next(&sql, &t)) && ip_sql_is_word(&t, "INDEX");
}

/* True where p, behind an opening bracket, leads past its closing one to AS (, AS MATERIALIZED ( or AS NOT MATERIALIZED
 * (: what stands before is a common table expression. No call can be followed by these. */
static bool is_common_table(const char *p)
{
    ip_sql_token t = { 0 };
    int depth = 1;
    while (depth && ip_sql_token_next(&p, &t))
        depth += (t.kind == '(') - (t.kind == ')');
    if (depth || !ip_sql_token_next(&p, &t) || !ip_sql_is_word(&t, "AS") || !ip_sql_token_next(&p, &t)) return false;
    if (ip_sql_is_word(&t, "NOT") && !ip_sql_token_next(&p, &t)) return false;
    if (ip_sql_is_word(&t, "MATERIALIZED") && !ip_sql_token_next(&p, &t)) return false;
    return t.kind == '(';
}

bool ip_sql_calls(const char *sql, const char *name)
{
    /* TABLE, INTO and REFERENCES are reserved words that no expression follows in a schema. VIEW is one only behind
     * these. */
    static const char *const before_tables[] = { "TABLE", "INTO", "REFERENCES", NULL };
    static const char *const before_view[] = { "CREATE", "TEMP", "TEMPORARY", NULL };
    ip_sql_token t, last = { 0 }, before = { 0 }; /* t, the one in front of it, the one in front of that */
    bool awaits_on = creates_index(sql);
    for (const char *p = sql; ip_sql_token_next(&p, &t); before = last, last = t) {
        bool is_on = awaits_on && ip_sql_is_word(&last, "ON");
        awaits_on = awaits_on && !is_on;
        if (!ip_sql_is_name(&t, name) || is_on || ip_sql_is_any(&last, before_tables) ||
            (ip_sql_is_word(&last, "VIEW") && ip_sql_is_any(&before, before_view)))
            continue;
        ip_sql_token bracket;
        const char *behind = p;
        if (ip_sql_token_next(&behind, &bracket) && bracket.kind == '(' && !is_common_table(behind)) return true;
    }
    return false;
}
