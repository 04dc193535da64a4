/* SPDX-License-Identifier: MIT */
/* Primaries: literals, vectors and matrices, calls, reads, brackets, lambdas. */
#include "lang/parser.h"
#include "lang/words.h"
#include "base/alloc.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

/* A list that grows while its length is unknown; copied into the arena at the end. */
typedef struct entry {
    ip_node *item;
    ip_symbol *name;
    uint32_t start;
} entry;
typedef struct list {
    entry *entries;
    int n, capacity;
} list;

static bool list_add_argument(ip_parser *p, list *l, entry e)
{
    if (l->n == l->capacity) {
        int capacity = l->capacity ? l->capacity * 2 : 8;
        entry *grown = ip_realloc_array(l->entries, (size_t)capacity, sizeof *grown);
        if (!grown) return ip_parse_no_memory(p);
        l->entries = grown;
        l->capacity = capacity;
    }
    l->entries[l->n++] = e;
    return true;
}

static bool list_add(ip_parser *p, list *l, ip_node *item) { return list_add_argument(p, l, (entry){ .item = item }); }

/* Tells a call what its arguments are called. */
static ip_node *name_arguments(ip_parser *p, ip_node *call, const list *l)
{
    call->n_names = l->n;
    call->names = ip_arena_alloc(&p->program->arena, (size_t)l->n * sizeof *call->names);
    call->starts = ip_arena_alloc(&p->program->arena, (size_t)l->n * sizeof *call->starts);
    if (!call->names || !call->starts) return ip_parse_no_memory(p);
    for (int i = 0; i < l->n; i++) {
        call->names[i] = l->entries[i].name;
        call->starts[i] = l->entries[i].start;
    }
    return call;
}

static ip_node *list_node(ip_parser *p, list *l, ip_node_kind kind, const ip_token *where)
{
    ip_node *node = p->err->status ? NULL : ip_parse_node(p, kind, where, l->n);
    for (int i = 0; node && i < l->n; i++)
        node = ip_parse_set_item(p, node, i, l->entries[i].item);
    if (node && kind == IP_N_CALL && l->n > 0) node = name_arguments(p, node, l);
    ip_free(l->entries);
    return node;
}

/* ---- vectors and matrices ----------------------------------------------------------- */

/* Does the row that begins here have a comma of its own? */
static bool row_has_comma(const ip_parser *p)
{
    int depth = 0;
    for (size_t i = 0;; i++) {
        switch (ip_peek(p, i)->kind) {
        case IP_T_END:
        case IP_T_NEWLINE: return false;
        case IP_T_OPEN:
        case IP_T_OPEN_SQUARE: depth++; break;
        case IP_T_CLOSE:
        case IP_T_CLOSE_SQUARE:
            if (depth-- == 0) return false;
            break;
        case IP_T_SEMICOLON:
            if (depth == 0) return false;
            break;
        case IP_T_COMMA:
            if (depth == 0) return true;
            break;
        default: break;
        }
    }
}

static bool is_sign(const ip_token *token) { return token->kind == IP_T_MINUS || token->kind == IP_T_PLUS; }

/* nan or inf as the whole of an element: one that more is computed of begins an expression. */
static bool is_not_finite(ip_parser *p, int at, double *value)
{
    const ip_token *name = ip_peek(p, at);
    if (name->kind != IP_T_NAME) return false;
    const ip_token *next = ip_peek(p, at + 1);
    const bool is_nan = strcmp(name->u.name->name, "nan") == 0;
    const bool ends = next->kind == IP_T_CLOSE_SQUARE || next->kind == IP_T_SEMICOLON;
    const bool another =
        next->kind == IP_T_NUMBER || next->kind == IP_T_NAME || (is_sign(next) && !ip_peek(p, at + 2)->space_before);
    *value = is_nan ? (double)NAN : (double)INFINITY;
    return (is_nan || strcmp(name->u.name->name, "inf") == 0) && (ends || (another && next->space_before));
}

/* A number, nan or inf, with a sign that touches it; NULL without an error when there is none here. */
static ip_node *signed_number(ip_parser *p)
{
    const ip_token *sign = is_sign(ip_peek(p, 0)) ? ip_peek(p, 0) : NULL;
    const ip_token *number = ip_peek(p, sign ? 1 : 0);
    double value = 0;
    const bool is_word = is_not_finite(p, sign ? 1 : 0, &value);
    if ((number->kind != IP_T_NUMBER && !is_word) || (sign && number->space_before)) return NULL;
    if (!is_word) value = number->u.number;
    p->at += sign ? 2 : 1;
    ip_node *node = ip_parse_node(p, IP_N_NUMBER, sign ? sign : number, 0);
    if (!node) return NULL;
    node->number = sign && sign->kind == IP_T_MINUS ? -value : value;
    node->fractional = is_word || number->fractional;
    return node;
}

static bool refuse_spaces(ip_parser *p, const ip_token *where)
{
    return ip_parse_fail(p, where,
                         "elements separated by spaces are signed numbers, as in [1 -2]; "
                         "expressions need commas, as in [1 - 2, 3]");
}

/* The elements of a row written with spaces: signed numbers, or one expression. */
static bool spaced_row(ip_parser *p, list *elements)
{
    ip_node *element = signed_number(p);
    if (!element && !p->err->status && (element = ip_parse_expression(p))) {
        const ip_token *next = ip_peek(p, 0);
        bool has_more = next->kind == IP_T_NUMBER || next->kind == IP_T_NAME;
        return list_add(p, elements, element) && !(has_more && !refuse_spaces(p, next));
    }
    while (element) {
        if (!list_add(p, elements, element)) return false;
        const ip_token *next = ip_peek(p, 0);
        if (next->kind == IP_T_CLOSE_SQUARE || next->kind == IP_T_SEMICOLON) return true;
        element = next->space_before ? signed_number(p) : NULL;
        if (!element && !p->err->status) refuse_spaces(p, next);
    }
    return false;
}

static bool comma_row(ip_parser *p, list *elements)
{
    do {
        ip_node *element = ip_parse_expression(p);
        if (!element || !list_add(p, elements, element)) return false;
    } while (ip_accept(p, IP_T_COMMA));
    return true;
}

static ip_node *parse_matrix(ip_parser *p)
{
    const ip_token *open = ip_take(p);
    list elements = { 0 };
    int rows = 0, cols = 0, square = p->square;
    bool ok = true;
    p->square = 1;
    do {
        const ip_token *row = ip_peek(p, 0);
        int before = elements.n;
        ok = row_has_comma(p) ? comma_row(p, &elements) : spaced_row(p, &elements);
        if (!ok) break;
        if (rows > 0 && elements.n - before != cols)
            ok = ip_parse_fail(p, row, "this row has %d element%s, the first one %d", elements.n - before,
                               elements.n - before == 1 ? "" : "s", cols);
        cols = elements.n - before;
        rows++;
    } while (ok && ip_accept(p, IP_T_SEMICOLON));
    p->square = square;
    if (ok) ok = ip_expect_close(p, IP_T_CLOSE_SQUARE, open);
    ip_node *node = list_node(p, &elements, IP_N_MATRIX, open);
    if (!node) return NULL;
    node->rows = rows;
    node->cols = cols;
    return node;
}

/* ---- primaries ----------------------------------------------------------------------- */

static ip_node *parse_lambda(ip_parser *p, const ip_token *arrow, ip_node **params, int n)
{
    ip_node *node = ip_parse_node(p, IP_N_LAMBDA, arrow, 1);
    if (!node) return NULL;
    node->n_names = n;
    node->names = ip_arena_alloc(&p->program->arena, (size_t)n * sizeof *node->names);
    if (!node->names) return ip_parse_no_memory(p);
    for (int i = 0; i < n; i++) {
        ip_token name = { .kind = IP_T_NAME, .offset = params[i]->offset };
        name.u.name = params[i]->name;
        if (params[i]->kind != IP_N_NAME) return ip_parse_fail(p, &name, "a parameter of '->' is a name");
        if (!ip_parse_bindable(p, &name)) return NULL;
        for (int k = 0; k < i; k++)
            if (node->names[k] == params[i]->name)
                return ip_parse_fail(p, &name, "parameter %.60s is given twice", params[i]->name->name);
        node->names[i] = params[i]->name;
    }
    ip_node *body = ip_parse_expression(p);
    return body ? ip_parse_set_item(p, node, 0, body) : NULL;
}

/* ( expr ), ( expr, expr, ... ) or the parameters of a lambda. */
static ip_node *parse_parenthesis(ip_parser *p)
{
    const ip_token *open = ip_take(p);
    list items = { 0 };
    int square = p->square;
    p->square = 0;
    do {
        ip_node *item = ip_parse_expression(p);
        if (!item || !list_add(p, &items, item)) break;
    } while (ip_accept(p, IP_T_COMMA));
    p->square = square;
    if (!p->err->status) ip_expect_close(p, IP_T_CLOSE, open);
    ip_node *tuple = list_node(p, &items, IP_N_TUPLE, open);
    if (!tuple) return NULL;
    const ip_token *arrow = ip_peek(p, 0);
    if (ip_accept(p, IP_T_ARROW)) return parse_lambda(p, arrow, tuple->items, tuple->n_items);
    return tuple->n_items == 1 ? tuple->items[0] : tuple;
}

/* One more argument of a call. */
static bool parse_argument(ip_parser *p, list *args)
{
    const ip_token *token = ip_peek(p, 0);
    const ip_symbol *last = args->n > 0 ? args->entries[args->n - 1].name : NULL;
    entry e = { .start = token->offset };
    if (token->kind == IP_T_NAME && ip_peek(p, 1)->kind == IP_T_ASSIGN) {
        e.name = token->u.name;
        p->at += 2;
        for (int i = 0; i < args->n; i++)
            if (args->entries[i].name == e.name)
                return ip_parse_fail(p, token, "argument %.60s is given twice", e.name->name);
    } else if (last) {
        return ip_parse_fail(p, token, "an argument without a name cannot follow %.60s=", last->name);
    }
    if (args->n == IP_MAX_ARGS) return ip_parse_fail(p, token, "a call has at most %d arguments", IP_MAX_ARGS);
    e.item = ip_parse_expression(p);
    return e.item && list_add_argument(p, args, e);
}

ip_node *ip_parse_call(ip_parser *p, const ip_token *name)
{
    const ip_token *open = ip_peek(p, 0);
    if (!ip_expect(p, IP_T_OPEN, "'('")) return NULL;
    list args = { 0 };
    int square = p->square;
    p->square = 0;
    bool more = ip_peek(p, 0)->kind != IP_T_CLOSE;
    while (more)
        more = parse_argument(p, &args) && ip_accept(p, IP_T_COMMA);
    p->square = square;
    if (!p->err->status) ip_expect_close(p, IP_T_CLOSE, open);
    ip_node *node = list_node(p, &args, IP_N_CALL, name);
    if (node) node->name = name->u.name;
    return node;
}

static ip_node *leaf(ip_parser *p, ip_node_kind kind)
{
    const ip_token *token = ip_take(p);
    ip_node *node = ip_parse_node(p, kind, token, 0);
    if (!node) return NULL;
    switch (kind) {
    case IP_N_NUMBER:
    case IP_N_INPUT:
        node->number = token->u.number;
        node->fractional = kind == IP_N_NUMBER && token->fractional;
        break;
    case IP_N_BOOL: node->number = token->kind == IP_T_TRUE; break;
    case IP_N_TEXT: node->text = token->u.text; break;
    default: node->name = token->u.name; break;
    }
    return node;
}

/* frame(-k) with a whole number alone is a frame of a video; frame() of an array is an operation. */
static ip_node *frame_of(ip_parser *p, const ip_token *name, ip_node *call)
{
    if (!call || strcmp(call->name->name, "frame") != 0 || call->n_items != 1 || call->names[0]) return call;
    const ip_node *k = call->items[0];
    const bool is_negated = k->kind == IP_N_OPERATOR && k->op == IP_O_NEGATE;
    if (is_negated) k = k->items[0];
    if (k->kind != IP_N_NUMBER) return call;
    if (k->fractional || (k->number > 0 && !is_negated))
        return ip_parse_fail(p, name, "frame(-k) takes a whole number: frame(-1) is the frame before $1");
    call->kind = IP_N_FRAME;
    call->number = k->number;
    return call;
}

static ip_node *parse_name(ip_parser *p)
{
    const ip_token *name = ip_peek(p, 0);
    if (ip_peek(p, 1)->kind == IP_T_OPEN) {
        ip_take(p);
        return frame_of(p, name, ip_parse_call(p, name));
    }
    ip_node *node = leaf(p, IP_N_NAME);
    const ip_token *arrow = ip_peek(p, 0);
    return node && ip_accept(p, IP_T_ARROW) ? parse_lambda(p, arrow, &node, 1) : node;
}

static ip_node *parse_primary(ip_parser *p)
{
    const ip_token *token = ip_peek(p, 0);
    switch (token->kind) {
    case IP_T_NUMBER: return leaf(p, IP_N_NUMBER);
    case IP_T_STRING: return leaf(p, IP_N_TEXT);
    case IP_T_INPUT: return leaf(p, IP_N_INPUT);
    case IP_T_TRUE:
    case IP_T_FALSE: return leaf(p, IP_N_BOOL);
    case IP_T_NAME: return parse_name(p);
    case IP_T_OPEN: return parse_parenthesis(p);
    case IP_T_OPEN_SQUARE: return parse_matrix(p);
    case IP_T_PARAM:
    case IP_T_FN:
    case IP_T_SAVE:
    case IP_T_PRINT:
        return ip_parse_fail(p, token, "%s is a statement and cannot stand in an expression", token->u.name->name);
    default: return ip_parse_unexpected(p, "a value");
    }
}

/* a.blur(2) and np.zeros(3): how the operation is called here. */
static void *refuse_member_call(ip_parser *p, const ip_token *dot, const ip_symbol *name)
{
    const char *here = name->op ? NULL : ip_operation_elsewhere(name->name);
    if (here) return ip_parse_fail(p, dot, "'.' means nothing here; %.60s is %s", name->name, here);
    if (name->op && name->op->info.n_inputs == 0) /* it makes an array, of a shape */
        return ip_parse_fail(p, dot, "'.' means nothing here; operations are called: %.200s", name->op->info.example);
    return ip_parse_fail(p, dot, "'.' means nothing here; operations are called: %.60s(a)", name->name);
}

/* The component behind a value: a.r. */
static ip_node *parse_component(ip_parser *p, ip_node *of)
{
    const ip_token *dot = ip_take(p), *name = ip_peek(p, 0);
    list items = { 0 };
    if (!ip_expect(p, IP_T_NAME, "the name of a component")) return NULL;
    if (ip_peek(p, 0)->kind == IP_T_OPEN) return refuse_member_call(p, dot, name->u.name);
    if (!list_add(p, &items, of)) return NULL;
    ip_node *node = list_node(p, &items, IP_N_COMPONENT, dot);
    if (node) node->name = name->u.name;
    return node;
}

/* A primary, and the neighbour reads and components behind it: a[-1, 0], a.r. */
ip_node *ip_parse_postfix(ip_parser *p)
{
    ip_node *node = parse_primary(p);
    for (;;) {
        const ip_token *next = ip_peek(p, 0);
        if (node && next->kind == IP_T_DOT && !next->space_before) {
            node = parse_component(p, node);
            continue;
        }
        if (!node || next->kind != IP_T_OPEN_SQUARE || (p->square && next->space_before)) return node;
        const ip_token *open = ip_take(p);
        list items = { 0 };
        int square = p->square;
        p->square = 0;
        bool ok = list_add(p, &items, node);
        do {
            ip_node *offset = ok ? ip_parse_expression(p) : NULL;
            ok = offset && list_add(p, &items, offset);
        } while (ok && ip_accept(p, IP_T_COMMA));
        p->square = square;
        if (ok && ip_peek(p, 0)->kind == IP_T_COLON)
            ip_parse_fail(p, ip_peek(p, 0), "brackets read neighbours, a[dy, dx]; a part is slice(a, from, to, step)");
        else if (ok)
            ip_expect_close(p, IP_T_CLOSE_SQUARE, open);
        node = list_node(p, &items, IP_N_READ, open);
    }
}
