/* SPDX-License-Identifier: MIT */
/*
 * Options of an operation.
 *
 * R1. Options go by position, in the order of the operation's row, or in a text that begins with NAME= of one of its
 *     parameters; positions come first. Where the next position must have a text (the words that text() draws), every
 *     text is that one, whatever it begins with.
 * R2. A value given by position can never become a second option: words are checked, other texts quoted.
 * R3. Matrices and vectors are given as '[1 2; 3 4]' or as JSON arrays, or as arithmetic of such: '[1 2 1] / 4'.
 * R4. What a number means, and its range, is the library's to say.
 */
#include "options.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shorter of 15 and 17 digits that reads back equal, with a point whatever the locale. */
static void real_text(double v, char *buf)
{
    snprintf(buf, 32, "%.15g", v);
    if (strtod(buf, NULL) != v) snprintf(buf, 32, "%.17g", v);
    const char *point = localeconv()->decimal_point;
    char *at = *point && strcmp(point, ".") ? strstr(buf, point) : NULL;
    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
    if (isfinite(v) && !strpbrk(buf, ".e")) /* a whole number that SQL calls REAL stays one: 2.0 */
        strcat(buf, ".0");
}

void ip_sql_number_text(sqlite3_value *value, char *buf)
{
    if (sqlite3_value_type(value) == SQLITE_INTEGER)
        snprintf(buf, 32, "%lld", (long long)sqlite3_value_int64(value));
    else
        real_text(sqlite3_value_double(value), buf);
}

static bool is_word(const char *text)
{
    return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* The parameter whose NAME= text begins with, or NULL; R1. */
static const imgpar_op_param *named_in(const imgpar_op_info *op, const char *text)
{
    text += strspn(text, " \t\r\n");
    for (int k = 0; k < op->n_params; k++) {
        size_t n = strlen(op->params[k]->name);
        if (strncmp(text, op->params[k]->name, n)) continue;
        const char *rest = text + n + strspn(text + n, " \t\r\n");
        if (*rest == '=') return op->params[k];
    }
    return NULL;
}

static bool is_required_text(const imgpar_op_param *p) { return strcmp(p->type, "text") == 0 && !p->default_text; }

static void add_quoted(sqlite3_str *s, const char *text)
{
    sqlite3_str_appendchar(s, 1, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') sqlite3_str_appendchar(s, 1, '\\');
        sqlite3_str_appendchar(s, 1, *text);
    }
    sqlite3_str_appendchar(s, 1, '"');
}

/* "[[1, 2], [3, 4]]", "[1 2; 3 4]" or the same without brackets as "[1 2; 3 4]"; false: something else. R2, R3. */
static bool add_matrix(sqlite3_str *s, const char *text)
{
    if (text[strspn(text, "0123456789+-.eE \t\r\n,;[]")]) return false;
    bool row_seen = false;
    int depth = 0;
    sqlite3_str_appendchar(s, 1, '[');
    for (; *text; text++) {
        if (*text == ']')
            depth--;
        else if (*text == '[' && ++depth == 2 && row_seen)
            sqlite3_str_appendchar(s, 1, ';');
        else if (*text == ',' && depth == 1 && row_seen)
            continue; /* between the rows of a JSON array */
        else if (*text != '[')
            sqlite3_str_appendchar(s, 1, *text);
        if (depth < 0 || depth > 2) return false;
        row_seen = row_seen || depth == 2;
    }
    sqlite3_str_appendchar(s, 1, ']');
    return depth == 0;
}

/* Whether lists of numbers in brackets stand in it with signs between or before them, or in them: "[1 2 1] / 4". */
static bool is_arithmetic(const char *text)
{
    int depth = 0;
    if (!strchr(text, '[')) return false;
    for (; *text; text++) {
        depth += (*text == '[') - (*text == ']');
        if (strchr("*/%(p", *text) || (depth == 0 && strchr("+-", *text))) return true;
    }
    return false;
}

/* Such a text, JSON arrays as rows; false: something else. Without a comma outside brackets it is one value. R2, R3. */
static bool add_arithmetic(sqlite3_str *s, const char *text)
{
    bool row_seen = false;
    int depth = 0, round = 0;
    if (text[strspn(text, "0123456789+-.eE \t\r\n,;[]*/%()pi")]) return false;
    for (; *text; text++) {
        const bool is_row = (*text == '[' || *text == ']') && depth + (*text == '[') == 2;
        if (*text == '[' && ++depth == 1) row_seen = false;
        if (*text == '[' && depth == 2 && row_seen) sqlite3_str_appendchar(s, 1, ';');
        if (*text == ']') depth--;
        round += (*text == '(') - (*text == ')');
        if (depth < 0 || depth > 2 || round < 0 || (depth == 0 && strchr(",;", *text))) return false;
        row_seen = row_seen || depth == 2;
        if (!is_row && !(*text == ',' && depth == 1 && row_seen)) sqlite3_str_appendchar(s, 1, *text);
    }
    return depth == 0 && round == 0;
}

/* "sigma, border, cval" */
static char *list_params(const imgpar_op_info *op)
{
    sqlite3_str *s = sqlite3_str_new(NULL);
    for (int k = 0; k < op->n_params; k++)
        sqlite3_str_appendf(s, "%s%s", k ? ", " : "", op->params[k]->name);
    return sqlite3_str_finish(s);
}

/* How long the name is with which "NAME = ..." begins; 0: it is another text. */
static size_t name_length(const char *text)
{
    const size_t n = text ? strcspn(text, "= \t") : 0;
    return n && text[n + strspn(text + n, " \t")] == '=' ? n : 0;
}

/* What is known of the first n characters of text, the name of an option that other libraries have, or NULL. */
static const char *elsewhere(const ip_sql_call *call, const char *text, size_t n)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), text);
    return imgpar_param_elsewhere(call->op->name, name);
}

/* The hint as SQL says it, new: "img_unique_counts(a)" for unique_counts(a). It stays as it is from a call on that is
 * none of SQL. */
static char *hint_in_sql(const char *hint)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    sqlite3_str *s = sqlite3_str_new(NULL);
    bool is_sql = true;
    for (size_t n; *hint; hint += n) {
        n = strspn(hint, letters);
        char name[64] = "";
        if (n > 0 && n < sizeof name && hint[n] == '(') memcpy(name, hint, n);
        const imgpar_op_info *op = *name ? imgpar_op_find(name) : NULL;
        if (*name) is_sql = is_sql && op && op->in_sql;
        if (*name && is_sql) sqlite3_str_appendall(s, "img_");
        if (n == 0) n = 1;
        sqlite3_str_append(s, hint, (int)n);
    }
    return sqlite3_str_finish(s);
}

/* There is no option whose name are the first n characters of text. */
static int no_option(ip_sql_call *call, const char *text, size_t n)
{
    char *params = list_params(call->op);
    const char *known = elsewhere(call, text, n);
    char *here = known ? hint_in_sql(known) : NULL;
    ip_sql_call_fail(call, SQLITE_ERROR, "there is no option %.*s; %s%s%s%s", (int)n, text,
                     params ? "there are " : "it takes none", params ? params : "", here ? "; that is " : "",
                     here ? here : "");
    sqlite3_free(here);
    sqlite3_free(params);
    return call->code;
}

static int wrong(ip_sql_call *call, const imgpar_op_param *p, sqlite3_value *value)
{
    const char *article = *p->type == 'i' ? "an" : "a"; /* an integer */
    if (sqlite3_value_type(value) == SQLITE_BLOB)
        return ip_sql_call_fail(call, SQLITE_ERROR, "%s must be %s %s, got a blob", p->name, article, p->type);
    const char *text = (const char *)sqlite3_value_text(value);
    const size_t n = name_length(text);
    if (n == 0)
        return ip_sql_call_fail(call, SQLITE_ERROR, "%s='%s' is not %s %s", p->name, text ? text : "", article,
                                p->type);
    return no_option(call, text, n);
}

/* Writes the value of parameter p; R4. */
static int add_value(ip_sql_call *call, sqlite3_str *s, const imgpar_op_param *p, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_BLOB) return wrong(call, p, value);
    bool is_text = type == SQLITE_TEXT;
    bool takes_numbers = !strcmp(p->type, "number") || !strcmp(p->type, "integer");
    if (is_text && takes_numbers) is_text = sqlite3_value_numeric_type(value) == SQLITE_TEXT;
    if (!is_text) {
        char number[32];
        ip_sql_number_text(value, number);
        if (!strcmp(p->type, "bool"))
            snprintf(number, sizeof number, "%s", sqlite3_value_double(value) != 0 ? "true" : "false");
        bool is_list = !strcmp(p->type, "vector") || !strcmp(p->type, "matrix");
        sqlite3_str_appendf(s, is_list ? "[%s]" : "%s", number);
        return SQLITE_OK;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    const bool may_be_list = p->choices && !strcmp(p->choices, "vector") && text[0] == '['; /* a number, or several */
    const bool may_be_colour = p->choices && !strcmp(p->choices, "vector") && !strcmp(p->unit, "levels");
    if (takes_numbers && may_be_colour && !may_be_list && !strchr(text, '=')) {
        add_quoted(s, text); /* the library knows their names */
        return SQLITE_OK;
    }
    if (!strcmp(text, "auto") && p->default_text && !strcmp(p->default_text, "auto")) {
        sqlite3_str_appendall(s, text);
        return SQLITE_OK;
    }
    if (takes_numbers && !may_be_list) return wrong(call, p, value);
    if (!strcmp(p->type, "choice") && name_length(text)) return wrong(call, p, value);
    if (takes_numbers || !strcmp(p->type, "vector") || !strcmp(p->type, "matrix")) {
        if (!(is_arithmetic(text) ? add_arithmetic(s, text) : add_matrix(s, text))) return wrong(call, p, value);
    } else if (strcmp(p->type, "text") && is_word(text)) {
        sqlite3_str_appendall(s, text);
    } else {
        add_quoted(s, text); /* R2 */
    }
    return SQLITE_OK;
}

/* text is the one too many, or NULL. */
static int too_many(ip_sql_call *call, int given, const char *text)
{
    const imgpar_op_info *op = call->op;
    const size_t n = name_length(text);
    if (n && elsewhere(call, text, n)) return no_option(call, text, n);
    char *params = list_params(op);
    if (op->n_params)
        ip_sql_call_fail(call, SQLITE_ERROR, "got %d options, takes at most %d (%s)", given, op->n_params,
                         params ? params : "");
    else
        ip_sql_call_fail(call, SQLITE_ERROR, "got %d option%s, takes none", given, given == 1 ? "" : "s");
    sqlite3_free(params);
    return call->code;
}

char *ip_sql_options_read(ip_sql_call *call, int n_before, int argc, sqlite3_value **argv)
{
    const imgpar_op_info *op = call->op;
    sqlite3_str *s = sqlite3_str_new(call->conn->db);
    int n_positional = 0;
    bool named = false;
    for (int k = 0; k < argc && !call->code; k++) {
        bool is_text = sqlite3_value_type(argv[k]) == SQLITE_TEXT;
        const char *text = is_text ? ip_sql_text_read(call, argv[k], n_before + k + 1, "an option is text") : NULL;
        if (call->code) break;
        bool is_words = text && !named && n_positional < op->n_params && is_required_text(op->params[n_positional]);
        bool is_named = text && !is_words && named_in(op, text); /* R1 */
        if (sqlite3_str_length(s)) sqlite3_str_appendall(s, ", ");
        if (is_named)
            sqlite3_str_appendall(s, text);
        else if (named)
            ip_sql_call_fail(call, SQLITE_ERROR, "argument %d: an option by position cannot follow one with a name",
                             n_before + k + 1);
        else if (n_positional == op->n_params)
            too_many(call, argc, text);
        else {
            const imgpar_op_param *p = op->params[n_positional++];
            sqlite3_str_appendf(s, "%s=", p->name);
            add_value(call, s, p, argv[k]);
        }
        named = named || is_named;
    }
    int rc = sqlite3_str_errcode(s);
    char *text = sqlite3_str_finish(s);
    if (rc) ip_sql_call_fail(call, rc, NULL);
    if (!call->code && !text) /* an empty string is returned as NULL */
        text = sqlite3_mprintf("%s", "");
    if (!text) ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    if (!call->code) return text;
    sqlite3_free(text);
    return NULL;
}
