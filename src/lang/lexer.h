/* SPDX-License-Identifier: MIT */
/*
 * Pipeline text to tokens. All of them at once, in an array, so that the
 * parser may look ahead as far as it likes.
 *
 * Inside brackets a newline is a space; outside it ends the statement, as ';'
 * does. A comment runs from '#' to the end of its line.
 */
#ifndef IP_LANG_LEXER_H
#define IP_LANG_LEXER_H

#include "lang/arena.h"
#include "lang/text.h"

typedef enum ip_token_kind {
    IP_T_END,     /* of the text */
    IP_T_NEWLINE, /* end of a statement */
    IP_T_NUMBER,
    IP_T_STRING,
    IP_T_NAME,
    IP_T_INPUT, /* 0.5  "a"  blur  $1 */
    IP_T_TRUE,
    IP_T_FALSE,
    IP_T_DIV,
    IP_T_PARAM,
    IP_T_FN,
    IP_T_SAVE,
    IP_T_PRINT, /* words */
    IP_T_ARROW,
    IP_T_POWER,
    IP_T_AND_AND,
    IP_T_OR_OR,
    IP_T_EQUAL,
    IP_T_UNEQUAL,
    IP_T_LESS_EQUAL,
    IP_T_GREATER_EQUAL,
    IP_T_SHIFT_LEFT,
    IP_T_SHIFT_RIGHT,
    IP_T_OPEN,
    IP_T_CLOSE,
    IP_T_OPEN_SQUARE,
    IP_T_CLOSE_SQUARE,
    IP_T_DOT,
    IP_T_COMMA,
    IP_T_SEMICOLON,
    IP_T_ASSIGN,
    IP_T_QUESTION,
    IP_T_COLON,
    IP_T_LESS,
    IP_T_GREATER,
    IP_T_OR,
    IP_T_XOR,
    IP_T_AND,
    IP_T_PLUS,
    IP_T_MINUS,
    IP_T_TIMES,
    IP_T_DIVIDE,
    IP_T_MODULO,
    IP_T_NOT,
    IP_T_COMPLEMENT,
    IP_N_TOKENS
} ip_token_kind;

typedef struct ip_token {
    uint8_t kind;
    bool space_before; /* white space, or nothing, stands before it */
    bool fractional;   /* NUMBER: written with a point or an exponent */
    uint32_t offset;
    union {
        double number;    /* NUMBER; INPUT: its digit */
        const char *text; /* STRING: escapes resolved; in the arena */
        ip_symbol *name;  /* NAME */
    } u;
} ip_token;

typedef struct ip_tokens {
    ip_token *token; /* the last one is END; owned: ip_tokens_free() */
    size_t n, capacity;
} ip_tokens;

enum { IP_TEXT_MAX_BYTES = 1 << 20 };

imgpar_status ip_lex(const ip_text *text, ip_symbols *symbols, ip_tokens *tokens, ip_error *err);
void ip_tokens_free(ip_tokens *tokens);
/* How a kind of token is called in a message: "a number", "','". */
const char *ip_token_kind_text(ip_token_kind kind);

#endif
