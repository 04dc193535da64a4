/* SPDX-License-Identifier: MIT */
/*
 * Pipeline text to a program. Finds what is wrong with the grammar, names
 * assigned twice and reserved names; knows nothing of operations and values.
 */
#ifndef IP_LANG_PARSER_H
#define IP_LANG_PARSER_H

#include "lang/ast.h"
#include "lang/lexer.h"

/* What kind of text it is: a file's, or that of apply(), which is assignments ended by one expression. */
typedef enum ip_parse_mode { IP_PARSE_FILE, IP_PARSE_APPLY } ip_parse_mode;

/* program->text is set by the caller and outlives the program; the rest is filled in. ip_program_free() in any case. */
imgpar_status ip_parse(ip_program *program, ip_parse_mode mode, ip_error *err);
void ip_program_free(ip_program *program);
/* One constant (lang/constant.h) that is the whole text; into program's arena. */
ip_node *ip_parse_constant_text(ip_program *program, const ip_text *text, ip_error *err);
bool ip_is_coordinate(const char *name);

/* ---- between parser.c (operators), primary.c and statements.c ----------------------- */

typedef struct ip_parser {
    ip_program *program;
    const ip_text *text;
    ip_tokens tokens;
    size_t at; /* next token */
    int nesting;
    int square; /* > 0: inside an element of a vector, where "1 -2" would be unclear */
    ip_error *err;
} ip_parser;

/* Each returns NULL (or false) after an error, which is recorded. */
ip_node *ip_parse_expression(ip_parser *p);
/* A primary and the neighbour reads behind it: a[-1, 0]. */
ip_node *ip_parse_postfix(ip_parser *p);
/* The arguments of a call of name, the open bracket being next. */
ip_node *ip_parse_call(ip_parser *p, const ip_token *name);
ip_node *ip_parse_constant(ip_parser *p);
/* May name be bound by an assignment, fn or lambda? */
bool ip_parse_bindable(ip_parser *p, const ip_token *name);

const ip_token *ip_peek(const ip_parser *p, size_t ahead);
const ip_token *ip_take(ip_parser *p);
/* Takes the next token if it is of that kind. */
bool ip_accept(ip_parser *p, ip_token_kind kind);
/* The same, or fails with "expected WHAT, found ...". */
bool ip_expect(ip_parser *p, ip_token_kind kind, const char *what);
/* The bracket that closes the one at open. */
bool ip_expect_close(ip_parser *p, ip_token_kind kind, const ip_token *open);

/* These record an error and return NULL. */
void *ip_parse_fail(ip_parser *p, const ip_token *where, const char *format, ...) __attribute__((format(printf, 3, 4)));
void *ip_parse_unexpected(ip_parser *p, const char *expected);
void *ip_parse_no_memory(ip_parser *p);

/* A node with room for n items. */
ip_node *ip_parse_node(ip_parser *p, ip_node_kind kind, const ip_token *where, int n);
/* Stores item and keeps count of the height; returns node. */
ip_node *ip_parse_set_item(ip_parser *p, ip_node *node, int i, ip_node *item);

#endif
