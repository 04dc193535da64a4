/* SPDX-License-Identifier: MIT */
/*
 * Conditions, order and limit of a query on an imgpar table, passed into its SELECT.
 */
#include "develop.h"

#include <stdlib.h>
#include <string.h>

#ifndef SQLITE_INDEX_CONSTRAINT_LIMIT /* SQLite before 3.38 */
#define SQLITE_INDEX_CONSTRAINT_LIMIT 73
#define SQLITE_INDEX_CONSTRAINT_OFFSET 74
#endif

const char ip_sql_cte[] = "\"imgpar of this table\"";

void ip_sql_write_with(sqlite3_str *s, const char *select, int n_columns)
{
    sqlite3_str_appendf(s, "WITH %s(", ip_sql_cte);
    for (int k = 0; k < n_columns; k++)
        sqlite3_str_appendf(s, "%sc%d", k ? "," : "", k);
    sqlite3_str_appendf(s, ") AS (\n%s\n) ", select);
}

/*
 * Note [Passing conditions]
 * The plan is a text, a letter and numbers a line: U the used columns, W column operator, O column descending, L, F
 * (limit, offset). W, L and F each stand for a value of xFilter's. SQLite checks conditions again, so one that cannot
 * be passed on exactly may let more rows through, or is dropped here, and the limit with it.
 *
 * A comparison converts its sides by the types of both, and of the other one we see the value only. A column declared
 * as a number converts either side, in the SELECT too. Beside another column a number means that texts of the column
 * become numbers where they can; and which of two texts is the greater depends on whether the other side was declared
 * as a number. A column at the edge (develop_edge.c) is left to SQLite. Images are compared and sorted when finished.
 */
typedef enum comparison { EQUALITY, ORDER, PATTERN, UNARY } comparison;

static const struct {
    unsigned char op;
    const char *text;
    comparison kind;
} operators[] = {
    { SQLITE_INDEX_CONSTRAINT_EQ, "=", EQUALITY },        { SQLITE_INDEX_CONSTRAINT_NE, "<>", EQUALITY },
    { SQLITE_INDEX_CONSTRAINT_IS, "IS", EQUALITY },       { SQLITE_INDEX_CONSTRAINT_ISNOT, "IS NOT", EQUALITY },
    { SQLITE_INDEX_CONSTRAINT_LT, "<", ORDER },           { SQLITE_INDEX_CONSTRAINT_LE, "<=", ORDER },
    { SQLITE_INDEX_CONSTRAINT_GT, ">", ORDER },           { SQLITE_INDEX_CONSTRAINT_GE, ">=", ORDER },
    { SQLITE_INDEX_CONSTRAINT_LIKE, "LIKE", PATTERN },    { SQLITE_INDEX_CONSTRAINT_GLOB, "GLOB", PATTERN },
    { SQLITE_INDEX_CONSTRAINT_ISNULL, "IS NULL", UNARY }, { SQLITE_INDEX_CONSTRAINT_ISNOTNULL, "IS NOT NULL", UNARY },
};

static int operator_of(unsigned char op)
{
    for (int k = 0; k < (int)(sizeof operators / sizeof operators[0]); k++)
        if (operators[k].op == op) return k;
    return -1;
}

static bool is_binary(sqlite3_index_info *info, int k)
{
    const char *collation = sqlite3_vtab_collation(info, k);
    return !collation || !sqlite3_stricmp(collation, "BINARY");
}

int ip_sql_plan_write(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const ip_sql_developed *v = (const ip_sql_developed *)base;
    int n = 0, limit = -1, offset = -1;
    bool all_passed = true;
    double cost = 1e6;
    sqlite3_str *s = sqlite3_str_new(NULL);
    sqlite3_str_appendf(s, "U%llu", (unsigned long long)info->colUsed);
    for (int k = 0; k < info->nConstraint; k++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[k];
        if (c->op == SQLITE_INDEX_CONSTRAINT_LIMIT || c->op == SQLITE_INDEX_CONSTRAINT_OFFSET) {
            *(c->op == SQLITE_INDEX_CONSTRAINT_LIMIT ? &limit : &offset) = c->usable ? k : -2;
            continue;
        }
        int op = operator_of(c->op);
        if (!c->usable || op < 0 || c->iColumn < 0 || v->edges[c->iColumn].format || !is_binary(info, k)) {
            all_passed = false;
            continue;
        }
        sqlite3_str_appendf(s, "\nW%d %d", c->iColumn, op);
        info->aConstraintUsage[k].argvIndex = ++n;
        cost /= c->op == SQLITE_INDEX_CONSTRAINT_EQ ? 100 : 3;
    }
    bool ordered = true;
    for (int k = 0; k < info->nOrderBy; k++)
        ordered = ordered && info->aOrderBy[k].iColumn >= 0 && !v->edges[info->aOrderBy[k].iColumn].format;
    for (int k = 0; k < info->nOrderBy && ordered; k++)
        sqlite3_str_appendf(s, "\nO%d %d", info->aOrderBy[k].iColumn, info->aOrderBy[k].desc);
    info->orderByConsumed = ordered && info->nOrderBy > 0;
    if (limit >= 0 && offset != -2 && all_passed && ordered) {
        sqlite3_str_appendall(s, "\nL");
        info->aConstraintUsage[limit].argvIndex = ++n;
        if (offset >= 0) {
            sqlite3_str_appendall(s, "\nF");
            info->aConstraintUsage[offset].argvIndex = ++n;
        }
    }
    int rc = sqlite3_str_errcode(s);
    info->idxStr = sqlite3_str_finish(s);
    info->needToFreeIdxStr = 1;
    info->estimatedCost = cost;
    info->estimatedRows = (sqlite3_int64)(cost / 1000) + 1;
    return rc;
}

/* What a condition becomes: a format of column, operator, number of the value and column again. NULL: it is not
 * passed. */
static const char *form_of(const ip_sql_developed *v, int column, comparison kind, int type, bool *exact)
{
    *exact = true;
    if (kind == UNARY) return "c%d %s";
    if (kind == PATTERN) return v->is_plain[column] ? "c%d %s ?%d" : NULL;
    if (type == SQLITE_BLOB) return "img_develop(c%d) %s ?%d";
    if (type == SQLITE_NULL || v->is_numeric[column]) return "c%d %s ?%d";
    if (type == SQLITE_TEXT && kind == ORDER) return NULL;
    if (type == SQLITE_TEXT) return "c%d COLLATE BINARY %s ?%d";
    *exact = false;
    return "(c%d %s ?%d OR typeof(c%d) = 'text')";
}

static void add_condition(const ip_sql_developed *v, ip_sql_query *q, int column, int op, sqlite3_value *value)
{
    bool exact;
    const char *form = form_of(v, column, operators[op].kind, sqlite3_value_type(value), &exact);
    q->inexact = q->inexact || !form || !exact || q->n_values == IP_SQL_MAX_VALUES;
    if (!form || q->n_values == IP_SQL_MAX_VALUES) return;
    sqlite3_str_appendall(q->where, sqlite3_str_length(q->where) ? " AND " : "WHERE ");
    if (operators[op].kind != UNARY) q->values[q->n_values++] = value;
    sqlite3_str_appendf(q->where, form, column, operators[op].text, q->n_values, column);
}

static void read_plan(const ip_sql_developed *v, ip_sql_query *q, const char *plan, sqlite3_value **argv)
{
    for (const char *line = plan; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char *rest;
        unsigned long long a = strtoull(line + 1, &rest, 10);
        int b = *line == 'W' || *line == 'O' ? atoi(rest) : 0;
        if (*line == 'U')
            q->used = a;
        else if (*line == 'W')
            add_condition(v, q, (int)a, b, *argv++);
        else if (*line == 'O')
            sqlite3_str_appendf(q->order,
                                v->is_plain[a] ? "%s c%d COLLATE BINARY%s" : "%s img_develop(c%d) COLLATE BINARY%s",
                                sqlite3_str_length(q->order) ? "," : "ORDER BY", (int)a, b ? " DESC" : "");
        else {
            sqlite3_int64 n = sqlite3_value_int64(*argv++);
            if (*line == 'L')
                q->limit = n;
            else if (q->limit >= 0 && n > 0) /* SQLite skips the rows of the offset itself */
                q->limit = n > INT64_MAX - q->limit ? -1 : q->limit + n;
        }
    }
    if (q->inexact) q->limit = -1;
    q->is_whole = !sqlite3_str_length(q->where) && q->limit < 0;
}

/* A column where it is used; R4 of develop.c. */
static void add_column(sqlite3_str *s, int k, bool used)
{
    sqlite3_str_appendall(s, k ? ", " : "SELECT ");
    if (used)
        sqlite3_str_appendf(s, "c%d", k);
    else
        sqlite3_str_appendall(s, "NULL");
}

char *ip_sql_plan_sql(const ip_sql_developed *v, bool develops, const char *plan, sqlite3_value **argv, ip_sql_query *q)
{
    *q = (ip_sql_query){ .where = sqlite3_str_new(NULL),
                         .order = sqlite3_str_new(NULL),
                         .limit = -1,
                         .develops = develops,
                         .at_edge = develops && v->edge_select };
    read_plan(v, q, plan, argv);
    sqlite3_str *s = sqlite3_str_new(NULL);
    char *where = sqlite3_str_finish(q->where), *order = sqlite3_str_finish(q->order);
    q->where = q->order = NULL;
    if (q->at_edge)
        ip_sql_write_with(s, v->edge_select, v->n_columns + v->n_settings);
    else
        ip_sql_write_with(s, v->select, v->n_columns);
    for (int k = 0; k < v->n_columns; k++)
        add_column(s, k, ip_sql_is_used(q->used, k));
    for (int k = 0; k < v->n_columns && q->at_edge; k++)
        if (v->edges[k].settings) add_column(s, v->edges[k].settings, ip_sql_is_used(q->used, k));
    sqlite3_str_appendf(s, " FROM %s %s %s", ip_sql_cte, where ? where : "", order ? order : "");
    if (q->limit >= 0) sqlite3_str_appendf(s, " LIMIT %lld", (long long)q->limit);
    sqlite3_free(where);
    sqlite3_free(order);
    return sqlite3_str_finish(s);
}
