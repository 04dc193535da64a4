/* SPDX-License-Identifier: MIT */
/*
 * Expressions, by precedence climbing. Low to high:
 *
 *     ?:   ||   &&   == != < <= > >=   |   ^   &   << >>   + -   * / % div   unary - ! ~   **
 *
 * ?: and ** group from the right, so -a**2 is -(a**2) and 2**-1 is legal;
 * comparisons do not chain. Nesting is counted where the parser calls itself,
 * height where a node is made: hostile text meets a message, not the end of
 * the stack.
 */
#include "lang/parser.h"
#include "base/alloc.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PRECEDENCE_COMPARISON = 3, PRECEDENCE_SUM = 8, PRECEDENCE_POWER = 10 };

const ip_operator_facts ip_operators[IP_N_OPERATORS] = {
    [IP_O_OR_OR] = { "||", 2, 1 },       [IP_O_AND_AND] = { "&&", 2, 2 },
    [IP_O_EQUAL] = { "==", 2, 3 },       [IP_O_UNEQUAL] = { "!=", 2, 3 },
    [IP_O_LESS] = { "<", 2, 3 },         [IP_O_LESS_EQUAL] = { "<=", 2, 3 },
    [IP_O_GREATER] = { ">", 2, 3 },      [IP_O_GREATER_EQUAL] = { ">=", 2, 3 },
    [IP_O_OR] = { "|", 2, 4 },           [IP_O_XOR] = { "^", 2, 5 },
    [IP_O_AND] = { "&", 2, 6 },          [IP_O_SHIFT_LEFT] = { "<<", 2, 7 },
    [IP_O_SHIFT_RIGHT] = { ">>", 2, 7 }, [IP_O_ADD] = { "+", 2, 8 },
    [IP_O_SUBTRACT] = { "-", 2, 8 },     [IP_O_MULTIPLY] = { "*", 2, 9 },
    [IP_O_DIVIDE] = { "/", 2, 9 },       [IP_O_MODULO] = { "%", 2, 9 },
    [IP_O_DIV] = { "div", 2, 9 },        [IP_O_POWER] = { "**", 2, 10 },
    [IP_O_NEGATE] = { "-", 1, 0 },       [IP_O_NOT] = { "!", 1, 0 },
    [IP_O_COMPLEMENT] = { "~", 1, 0 },   [IP_O_SELECT] = { "?:", 3, 0 },
};

/* Tokens that are operators of two operands; 0 elsewhere stands for IP_O_OR_OR, so it is kept one too high. */
static const uint8_t binary_of[IP_N_TOKENS] = {
    [IP_T_OR_OR] = IP_O_OR_OR + 1,
    [IP_T_AND_AND] = IP_O_AND_AND + 1,
    [IP_T_EQUAL] = IP_O_EQUAL + 1,
    [IP_T_UNEQUAL] = IP_O_UNEQUAL + 1,
    [IP_T_LESS] = IP_O_LESS + 1,
    [IP_T_LESS_EQUAL] = IP_O_LESS_EQUAL + 1,
    [IP_T_GREATER] = IP_O_GREATER + 1,
    [IP_T_GREATER_EQUAL] = IP_O_GREATER_EQUAL + 1,
    [IP_T_OR] = IP_O_OR + 1,
    [IP_T_XOR] = IP_O_XOR + 1,
    [IP_T_AND] = IP_O_AND + 1,
    [IP_T_SHIFT_LEFT] = IP_O_SHIFT_LEFT + 1,
    [IP_T_SHIFT_RIGHT] = IP_O_SHIFT_RIGHT + 1,
    [IP_T_PLUS] = IP_O_ADD + 1,
    [IP_T_MINUS] = IP_O_SUBTRACT + 1,
    [IP_T_TIMES] = IP_O_MULTIPLY + 1,
    [IP_T_DIVIDE] = IP_O_DIVIDE + 1,
    [IP_T_MODULO] = IP_O_MODULO + 1,
    [IP_T_DIV] = IP_O_DIV + 1,
};

/* ---- tokens ---------------------------------------------------------------------- */

const ip_token *ip_peek(const ip_parser *p, size_t ahead)
{
    size_t i = p->at + ahead;
    return &p->tokens.token[i < p->tokens.n ? i : p->tokens.n - 1];
}

const ip_token *ip_take(ip_parser *p)
{
    const ip_token *token = ip_peek(p, 0);
    if (token->kind != IP_T_END) p->at++;
    return token;
}

bool ip_accept(ip_parser *p, ip_token_kind kind)
{
    if (ip_peek(p, 0)->kind != kind) return false;
    ip_take(p);
    return true;
}

void *ip_parse_fail(ip_parser *p, const ip_token *where, const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    ip_vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ip_text_fail(p->err, p->text, where->offset, IMGPAR_E_SYNTAX, "%s", message);
    return NULL;
}

void *ip_parse_no_memory(ip_parser *p)
{
    ip_fail_memory(p->err, "reading pipeline text");
    return NULL;
}

/* What this language writes instead of a word of another one, which stands here or just before; "" for others. */
static const char *hint_of(const ip_parser *p)
{
    static const struct {
        const char *words, *hint;
    } hints[] = {
        { " let var const set ", "; an assignment is NAME = expr" },
        { " params parameter arg ", "; a parameter is param NAME = constant" },
        { " def function func lambda ", "; a function is fn NAME(p) = expr" },
        { " for while repeat loop ", "; iterate(start, n, expr in _) repeats" },
        { " if then else when ", "; a choice is cond ? yes : no" },
        { " and ", "; that is &&" },
        { " or ", "; that is ||" },
        { " not ", "; that is !" },
    };
    if (ip_peek(p, 0)->kind == IP_T_GREATER && p->at > 0 && p->tokens.token[p->at - 1].kind == IP_T_OR)
        return "; a value is handed on as an argument: blur(invert(a), 2)";
    if (ip_peek(p, 0)->kind == IP_T_CLOSE_SQUARE && p->at > 0 && p->tokens.token[p->at - 1].kind == IP_T_OPEN_SQUARE)
        return "; brackets have one at least, zeros([0]) has none";
    for (size_t back = 0; back < 2; back++) {
        size_t at = p->at - back;
        const ip_token *token = p->at >= back ? &p->tokens.token[at < p->tokens.n ? at : p->tokens.n - 1] : NULL;
        if (!token || token->kind != IP_T_NAME) continue;
        char word[64];
        snprintf(word, sizeof word, " %.60s ", token->u.name->name);
        for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
            if (strstr(hints[k].words, word)) return hints[k].hint;
    }
    return "";
}

void *ip_parse_unexpected(ip_parser *p, const char *expected)
{
    const ip_token *found = ip_peek(p, 0);
    if (found->kind == IP_T_NAME)
        return ip_parse_fail(p, found, "expected %s, found %.60s%s", expected, found->u.name->name, hint_of(p));
    if (found->kind == IP_T_NEWLINE && p->text->text[found->offset] == '\n')
        return ip_parse_fail(p, found, "expected %s, found the end of the line (an open bracket continues a line)",
                             expected);
    return ip_parse_fail(p, found, "expected %s, found %s%s", expected,
                         found->kind == IP_T_NEWLINE ? "';'" : ip_token_kind_text(found->kind), hint_of(p));
}

bool ip_expect(ip_parser *p, ip_token_kind kind, const char *what)
{
    if (ip_accept(p, kind)) return true;
    ip_parse_unexpected(p, what);
    return false;
}

/* The bracket that closes the one at open. */
bool ip_expect_close(ip_parser *p, ip_token_kind kind, const ip_token *open)
{
    if (ip_accept(p, kind)) return true;
    char what[80];
    ip_str text = IP_STR_INIT;
    ip_str_printf(&text, "',' or %s for the %s of line %zu", ip_token_kind_text(kind),
                  ip_token_kind_text((ip_token_kind)open->kind), ip_text_line(p->text, open->offset));
    strncpy(what, ip_str_text(&text), sizeof what - 1);
    what[sizeof what - 1] = '\0';
    ip_str_free(&text);
    ip_parse_unexpected(p, what);
    return false;
}

/* ---- nodes ----------------------------------------------------------------------- */

/* A node with room for n items. */
ip_node *ip_parse_node(ip_parser *p, ip_node_kind kind, const ip_token *where, int n)
{
    ip_node *node = ip_arena_alloc(&p->program->arena, sizeof *node);
    if (!node) return ip_parse_no_memory(p);
    node->kind = (uint8_t)kind;
    node->height = 1;
    node->offset = where->offset;
    node->n_items = n;
    if (n > 0 && !(node->items = ip_arena_alloc(&p->program->arena, (size_t)n * sizeof *node->items)))
        return ip_parse_no_memory(p);
    return node;
}

ip_node *ip_parse_set_item(ip_parser *p, ip_node *node, int i, ip_node *item)
{
    node->items[i] = item;
    if (item->height >= IP_MAX_HEIGHT) {
        ip_text_fail(p->err, p->text, node->offset, IMGPAR_E_SYNTAX,
                     "this expression is more than %d operators deep; name parts of it", IP_MAX_HEIGHT);
        return NULL;
    }
    if (node->height <= item->height) node->height = (uint16_t)(item->height + 1);
    return node;
}

static ip_node *operator_node(ip_parser *p, ip_operator op, const ip_token *where, ip_node *a, ip_node *b, ip_node *c)
{
    ip_node *items[] = { a, b, c };
    int n = ip_operators[op].n_operands;
    ip_node *node = ip_parse_node(p, IP_N_OPERATOR, where, n);
    if (!node) return NULL;
    node->op = (uint8_t)op;
    for (int i = 0; i < n; i++)
        if (!ip_parse_set_item(p, node, i, items[i])) return NULL;
    return node;
}

/* ---- operators ------------------------------------------------------------------------ */

static bool enter(ip_parser *p)
{
    if (p->nesting++ < IP_MAX_NESTING) return true;
    ip_parse_fail(p, ip_peek(p, 0), "expressions are nested more than %d deep", IP_MAX_NESTING);
    return false;
}

/* Unary operators and **, which binds closer on its left and looser on its right: -a**-b is -(a**(-b)). */
static ip_node *parse_unary(ip_parser *p)
{
    static const ip_operator unary_of[IP_N_TOKENS] = {
        [IP_T_MINUS] = IP_O_NEGATE,
        [IP_T_NOT] = IP_O_NOT,
        [IP_T_COMPLEMENT] = IP_O_COMPLEMENT,
    };
    const ip_token *token = ip_peek(p, 0);
    bool is_unary = unary_of[token->kind] != 0;
    ip_node *node = NULL;
    if (!is_unary && !(node = ip_parse_postfix(p))) return NULL;
    const ip_token *power = ip_peek(p, 0);
    if (!is_unary && power->kind != IP_T_POWER) return node;
    if (!enter(p)) return NULL;
    ip_take(p);
    ip_node *operand = parse_unary(p);
    p->nesting--;
    if (!operand) return NULL;
    return is_unary ? operator_node(p, unary_of[token->kind], token, operand, NULL, NULL)
                    : operator_node(p, IP_O_POWER, power, node, operand, NULL);
}

/* In a vector, "1 -2" is neither clearly a difference nor clearly two elements. */
static bool clear_in_vector(ip_parser *p, const ip_token *sign, int precedence)
{
    if (!p->square || precedence != PRECEDENCE_SUM || !sign->space_before || ip_peek(p, 1)->space_before) return true;
    ip_parse_fail(
        p, sign,
        "write '1 - 2' for a difference and '1, -2' for two elements; between expressions stand commas, as in "
        "[cos(t), -sin(t)]");
    return false;
}

static ip_node *parse_binary(ip_parser *p, int lowest)
{
    ip_node *left = parse_unary(p);
    while (left) {
        const ip_token *token = ip_peek(p, 0);
        int op = binary_of[token->kind] - 1;
        if (op < 0 || ip_operators[op].precedence < lowest) return left;
        int precedence = ip_operators[op].precedence;
        if (!clear_in_vector(p, token, precedence)) return NULL;
        ip_take(p);
        ip_node *right = parse_binary(p, precedence + 1);
        left = right ? operator_node(p, (ip_operator)op, token, left, right, NULL) : NULL;
        int next = binary_of[ip_peek(p, 0)->kind] - 1;
        if (left && precedence == PRECEDENCE_COMPARISON && next >= 0 && ip_operators[next].precedence == precedence)
            return ip_parse_fail(p, ip_peek(p, 0), "comparisons do not chain: write a < b && b < c");
    }
    return NULL;
}

ip_node *ip_parse_expression(ip_parser *p)
{
    if (!enter(p)) return NULL;
    ip_node *node = parse_binary(p, 1);
    const ip_token *question = ip_peek(p, 0);
    if (node && ip_accept(p, IP_T_QUESTION)) {
        ip_node *yes = ip_parse_expression(p);
        ip_node *no = yes && ip_expect(p, IP_T_COLON, "':' and the other value of '?'") ? ip_parse_expression(p) : NULL;
        node = no ? operator_node(p, IP_O_SELECT, question, node, yes, no) : NULL;
    }
    p->nesting--;
    return node;
}
