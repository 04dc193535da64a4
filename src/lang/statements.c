/* SPDX-License-Identifier: MIT */
/* Statements: what may stand on a line of its own, and which names it may bind. */
#include "lang/constant.h"
#include "lang/parser.h"
#include "base/alloc.h"
#include "base/str.h"
#include "lang/words.h"

#include <string.h>

bool ip_is_coordinate(const char *name) { return name[0] && !name[1] && strchr("xyzc", name[0]); }

bool ip_parse_bindable(ip_parser *p, const ip_token *name)
{
    const char *word = name->u.name->name;
    if (ip_is_coordinate(word))
        return ip_parse_fail(p, name, "%s is a coordinate (x y z c) and cannot be another name", word);
    if (strcmp(word, "_") == 0) return ip_parse_fail(p, name, "_ is the value of iterate() and cannot be another name");
    return true;
}

/* Takes a name that this statement assigns. */
static ip_symbol *assigned_name(ip_parser *p, const char *what)
{
    const ip_token *token = ip_peek(p, 0);
    if (!ip_expect(p, IP_T_NAME, what) || !ip_parse_bindable(p, token)) return NULL;
    ip_symbol *name = token->u.name;
    if (name->assigned_at)
        return ip_parse_fail(p, token, "%.60s is assigned already, in line %zu; a name is assigned once", name->name,
                             ip_text_line(p->text, name->assigned_at - 1));
    name->assigned_at = (size_t)token->offset + 1;
    return name;
}

static ip_symbol **new_names(ip_parser *p, ip_statement *s, int n)
{
    s->n_names = n;
    s->names = ip_arena_alloc(&p->program->arena, (size_t)n * sizeof *s->names);
    return s->names ? s->names : ip_parse_no_memory(p);
}

ip_node *ip_parse_constant(ip_parser *p)
{
    const ip_token *start = ip_peek(p, 0);
    ip_node *node = ip_parse_expression(p);
    if (!node || ip_is_constant(node)) return node;
    return ip_parse_fail(p, start,
                         "a constant is expected: a number, \"text\", true, false, a vector or arithmetic of these");
}

static bool parse_param(ip_parser *p, ip_statement *s)
{
    s->kind = IP_S_PARAM;
    if (!new_names(p, s, 1)) return false;
    s->names[0] = assigned_name(p, "the param's name");
    return s->names[0] && ip_expect(p, IP_T_ASSIGN, "'=' and the param's default") &&
           (s->value = ip_parse_constant(p)) != NULL;
}

/* Parameters of fn, the open bracket being next. */
static bool parse_fn_parameters(ip_parser *p, ip_node *fn)
{
    enum { MAX_PARAMETERS = 32 };
    ip_symbol *names[MAX_PARAMETERS];
    int n = 0;
    const ip_token *open = ip_peek(p, 0);
    if (!ip_expect(p, IP_T_OPEN, "'(' and the function's parameters")) return false;
    do {
        const ip_token *name = ip_peek(p, 0);
        if (n == 0 && name->kind == IP_T_CLOSE) break;
        if (!ip_expect(p, IP_T_NAME, "a parameter's name") || !ip_parse_bindable(p, name)) return false;
        if (n == MAX_PARAMETERS) return ip_parse_fail(p, name, "a function has at most %d parameters", MAX_PARAMETERS);
        for (int i = 0; i < n; i++)
            if (names[i] == name->u.name)
                return ip_parse_fail(p, name, "parameter %.60s is given twice", names[i]->name);
        names[n++] = name->u.name;
    } while (ip_accept(p, IP_T_COMMA));
    if (!ip_expect_close(p, IP_T_CLOSE, open)) return false;
    fn->n_names = n;
    fn->names = ip_arena_alloc(&p->program->arena, (size_t)n * sizeof *names);
    if (!fn->names) return ip_parse_no_memory(p);
    memcpy(fn->names, names, (size_t)n * sizeof *names);
    return true;
}

static bool parse_fn(ip_parser *p, ip_statement *s)
{
    s->kind = IP_S_FN;
    const ip_token *name = ip_peek(p, 0);
    if (!new_names(p, s, 1) || !(s->names[0] = assigned_name(p, "the function's name"))) return false;
    if (ip_is_reserved(s->names[0]->name))
        return ip_parse_fail(p, name, "%s is part of the language and cannot be redefined", s->names[0]->name);
    ip_node *fn = ip_parse_node(p, IP_N_LAMBDA, name, 1);
    if (!fn || !parse_fn_parameters(p, fn)) return false;
    if (!ip_expect(p, IP_T_ASSIGN, "'=' and what the function gives")) return false;
    fn->name = s->names[0];
    ip_node *body = ip_parse_expression(p);
    s->value = fn;
    return body && ip_parse_set_item(p, fn, 0, body);
}

/* How many names "(a, b) =" assigns; 0 when something else begins here. */
static int tuple_names(const ip_parser *p)
{
    int n = 0;
    if (ip_peek(p, 0)->kind != IP_T_OPEN) return 0;
    for (size_t i = 1;; i += 2) {
        if (ip_peek(p, i)->kind != IP_T_NAME) return 0;
        n++;
        if (ip_peek(p, i + 1)->kind == IP_T_COMMA) continue;
        return ip_peek(p, i + 1)->kind == IP_T_CLOSE && ip_peek(p, i + 2)->kind == IP_T_ASSIGN ? n : 0;
    }
}

static bool parse_assign(ip_parser *p, ip_statement *s, int n)
{
    bool tuple = ip_accept(p, IP_T_OPEN);
    s->kind = IP_S_ASSIGN;
    if (!new_names(p, s, n)) return false;
    for (int i = 0; i < n; i++) {
        s->names[i] = assigned_name(p, "a name");
        if (!s->names[i]) return false;
        if (i + 1 < n) ip_take(p);
    }
    if (tuple) ip_take(p);
    ip_take(p); /* '=' */
    return (s->value = ip_parse_expression(p)) != NULL;
}

static bool parse_statement(ip_parser *p, ip_parse_mode mode, ip_statement *s)
{
    const ip_token *token = ip_peek(p, 0);
    s->offset = token->offset;
    bool file_only = token->kind == IP_T_PARAM || token->kind == IP_T_SAVE || token->kind == IP_T_PRINT;
    if (file_only && mode == IP_PARSE_APPLY)
        return ip_parse_fail(p, token,
                             "%s is a statement of pipeline files; this text is assignments ended by one "
                             "expression",
                             token->u.name->name);
    switch (token->kind) {
    case IP_T_PARAM: ip_take(p); return parse_param(p, s);
    case IP_T_FN: ip_take(p); return parse_fn(p, s);
    case IP_T_SAVE:
    case IP_T_PRINT:
        ip_take(p);
        s->kind = token->kind == IP_T_SAVE ? IP_S_SAVE : IP_S_PRINT;
        return (s->value = ip_parse_call(p, token)) != NULL;
    default: break;
    }
    if (token->kind == IP_T_NAME && ip_peek(p, 1)->kind == IP_T_ASSIGN) return parse_assign(p, s, 1);
    int n = tuple_names(p);
    if (n > 0) return parse_assign(p, s, n);
    s->kind = IP_S_EXPR;
    return (s->value = ip_parse_expression(p)) != NULL;
}

static bool add_statement(ip_parser *p, const ip_statement *s, int *capacity)
{
    ip_program *program = p->program;
    if (program->n_statements == *capacity) {
        int grown = *capacity ? *capacity * 2 : 16;
        ip_statement *statements = ip_arena_alloc(&program->arena, (size_t)grown * sizeof *statements);
        if (!statements) return ip_parse_no_memory(p);
        if (*capacity) memcpy(statements, program->statements, (size_t)*capacity * sizeof *statements);
        program->statements = statements;
        *capacity = grown;
    }
    program->statements[program->n_statements++] = *s;
    return true;
}

static bool parse_statements(ip_parser *p, ip_parse_mode mode)
{
    int capacity = 0;
    for (;;) {
        while (ip_accept(p, IP_T_NEWLINE)) {
        }
        if (ip_peek(p, 0)->kind == IP_T_END) break;
        ip_statement s = { 0 };
        const ip_statement *last =
            p->program->n_statements ? &p->program->statements[p->program->n_statements - 1] : NULL;
        if (last && last->kind == IP_S_EXPR) {
            ip_token where = { .offset = last->offset };
            return ip_parse_fail(p, &where, "an expression is the last statement; name this one: NAME = ...");
        }
        if (!parse_statement(p, mode, &s)) return false;
        if (ip_peek(p, 0)->kind != IP_T_NEWLINE && ip_peek(p, 0)->kind != IP_T_END)
            return ip_parse_unexpected(p, "an operator or the end of the line");
        if (!add_statement(p, &s, &capacity)) return false;
    }
    int n = p->program->n_statements;
    if (mode == IP_PARSE_APPLY && (n == 0 || p->program->statements[n - 1].kind != IP_S_EXPR))
        return ip_parse_unexpected(p, "an expression, whose value is the result");
    return true;
}

imgpar_status ip_parse(ip_program *program, ip_parse_mode mode, ip_error *err)
{
    ip_parser p = { .program = program, .text = &program->text, .err = err };
    program->symbols.arena = &program->arena;
    program->underscore = ip_symbol_intern(&program->symbols, "_", 1);
    if (!program->underscore) return ip_fail_memory(err, "reading pipeline text");
    imgpar_status st = ip_lex(p.text, &program->symbols, &p.tokens, err);
    if (!st && !parse_statements(&p, mode)) st = err->status;
    ip_tokens_free(&p.tokens);
    return st;
}

ip_node *ip_parse_constant_text(ip_program *program, const ip_text *text, ip_error *err)
{
    ip_parser p = { .program = program, .text = text, .err = err };
    ip_node *node = NULL;
    if (!ip_lex(text, &program->symbols, &p.tokens, err)) {
        node = ip_parse_constant(&p);
        if (node && ip_peek(&p, 0)->kind != IP_T_END) node = ip_parse_unexpected(&p, "the end of the value");
    }
    ip_tokens_free(&p.tokens);
    return node;
}

void ip_program_free(ip_program *program)
{
    ip_arena_free(&program->arena);
    program->n_statements = 0;
}
