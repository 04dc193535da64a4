/* SPDX-License-Identifier: MIT */
/*
 * tokens.h - the text of an SQL statement, cut as SQLite's own tokenizer cuts it: blanks and comments left out, quoted
 * names and texts whole. Not a parser: nothing is known of a token but its kind and the brackets around it.
 *
 *     ip_sql_token t;
 *     for (const char *p = sql; ip_sql_token_next(&p, &t);)
 *         ...
 */
#ifndef IP_SQL_TOKENS_H
#define IP_SQL_TOKENS_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

/* A name, a number, a quoted name or text, or the first character of anything else. */
typedef enum ip_sql_token_kind { IP_SQL_WORD = 'w', IP_SQL_QUOTED = 'q', IP_SQL_NUMBER = 'n' } ip_sql_token_kind;

typedef struct ip_sql_token {
    const char *at;
    size_t n;
    int kind;  /* an ip_sql_token_kind or the character */
    int depth; /* brackets around it; 0 from ip_sql_token_next() */
} ip_sql_token;

typedef struct ip_sql_tokens {
    ip_sql_token *all;
    int n;
} ip_sql_tokens;

/* Reads the token at *p and moves *p behind it; false: there is none. */
bool ip_sql_token_next(const char **p, ip_sql_token *t);
/* All of them; all is for sqlite3_free(), NULL without memory. */
ip_sql_tokens ip_sql_tokens_read(const char *sql);

/* The token is that word, in whatever case, without quotes. */
bool ip_sql_is_word(const ip_sql_token *t, const char *word);
/* The same for any of several words, NULL behind the last. */
bool ip_sql_is_any(const ip_sql_token *t, const char *const *words);
/* The token names name, with quotes of any kind or without. */
bool ip_sql_is_name(const ip_sql_token *t, const char *name);

/* True where the text calls the function name, or a table of that name with arguments. Names of tables and columns are
 * no calls, though brackets may follow them: CREATE TABLE save(x), INSERT INTO save(x), WITH save(x) AS (...). In
 * doubt: true. */
bool ip_sql_calls(const char *sql, const char *name);

#pragma GCC visibility pop

#endif
