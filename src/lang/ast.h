/* SPDX-License-Identifier: MIT */
/*
 * A parsed program: statements over expression nodes. Everything lives in the
 * program's arena and is constant after parsing.
 *
 * Invariant: no node is higher than IP_MAX_HEIGHT, so that walking one by
 * recursion is safe whatever text it came from.
 */
#ifndef IP_LANG_AST_H
#define IP_LANG_AST_H

#include "lang/arena.h"
#include "lang/text.h"

enum { IP_MAX_NESTING = 200, IP_MAX_HEIGHT = 1000, IP_MAX_ARGS = 64 };

typedef enum ip_node_kind {
    IP_N_NUMBER,    /* number, fractional */
    IP_N_BOOL,      /* number */
    IP_N_TEXT,      /* text */
    IP_N_NAME,      /* name */
    IP_N_INPUT,     /* number: 1 for $1 */
    IP_N_FRAME,     /* number: 1 for frame(-1) */
    IP_N_MATRIX,    /* items, row-major; rows, cols */
    IP_N_OPERATOR,  /* op; items: operands */
    IP_N_CALL,      /* name; items: arguments, names[i]: NULL for positional ones */
    IP_N_READ,      /* items[0]: what is read; the others: offsets */
    IP_N_COMPONENT, /* items[0]: the record; name */
    IP_N_LAMBDA,    /* names: parameters; items[0]: body. Also the function of an fn statement */
    IP_N_TUPLE      /* items */
} ip_node_kind;

/* What the language's operators are called in nodes; ip_operators[] has their facts. */
typedef enum ip_operator {
    IP_O_OR_OR,
    IP_O_AND_AND,
    IP_O_EQUAL,
    IP_O_UNEQUAL,
    IP_O_LESS,
    IP_O_LESS_EQUAL,
    IP_O_GREATER,
    IP_O_GREATER_EQUAL,
    IP_O_OR,
    IP_O_XOR,
    IP_O_AND,
    IP_O_SHIFT_LEFT,
    IP_O_SHIFT_RIGHT,
    IP_O_ADD,
    IP_O_SUBTRACT,
    IP_O_MULTIPLY,
    IP_O_DIVIDE,
    IP_O_MODULO,
    IP_O_DIV,
    IP_O_POWER,
    IP_O_NEGATE,
    IP_O_NOT,
    IP_O_COMPLEMENT, /* one operand */
    IP_O_SELECT,     /* three: ?: */
    IP_N_OPERATORS
} ip_operator;

typedef struct ip_operator_facts {
    const char *symbol; /* as in the rows of the operation table */
    int n_operands;
    int precedence; /* of those with two; a higher one binds closer */
} ip_operator_facts;
extern const ip_operator_facts ip_operators[IP_N_OPERATORS];

typedef struct ip_node {
    uint8_t kind;
    bool fractional;
    uint8_t op; /* OPERATOR: an ip_operator */
    uint16_t height;
    uint32_t offset; /* where errors point */
    int n_items, n_names, rows, cols;
    double number;
    const char *text;
    ip_symbol *name;
    struct ip_node **items;
    ip_symbol **names;
    uint32_t *starts; /* CALL: where each argument begins, at its name if it has one */
} ip_node;

typedef enum ip_statement_kind {
    IP_S_PARAM,  /* names[0], value: a constant */
    IP_S_ASSIGN, /* names, value */
    IP_S_FN,     /* names[0], value: a LAMBDA */
    IP_S_SAVE,   /* value: a CALL */
    IP_S_PRINT,  /* value: a CALL */
    IP_S_EXPR    /* value; only the last statement */
} ip_statement_kind;

typedef struct ip_statement {
    ip_statement_kind kind;
    uint32_t offset;
    int n_names;
    ip_symbol **names;
    ip_node *value;
} ip_statement;

typedef struct ip_program {
    ip_text text;
    ip_arena arena;
    ip_symbols symbols;
    int n_statements;
    ip_statement *statements;
    ip_symbol *underscore; /* the name _ */
} ip_program;

#endif
