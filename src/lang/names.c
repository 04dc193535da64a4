/* SPDX-License-Identifier: MIT */
/* What a name stands for, and what to say when it stands for nothing. */
#include "base/str.h"
#include "lang/parser.h"
#include "lang/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const ip_val *ip_eval_given(const ip_eval *ev, const ip_symbol *name)
{
    for (int i = 0; ev->given && i < ev->given->n; i++)
        if (ev->given->names[i] == name) return &ev->given->vals[i];
    return NULL;
}

const ip_val *ip_eval_lookup(const ip_eval *ev, const ip_symbol *name)
{
    for (const ip_scope *scope = ev->scope; scope; scope = scope->parent)
        for (int i = 0; i < scope->n; i++)
            if (scope->names[i] == name) return &scope->vals[i];
    const ip_val *global = &ev->globals[name->index];
    return global->kind != IP_V_NONE ? global : ip_eval_given(ev, name);
}

const char *ip_eval_word(const ip_eval *ev, const ip_node *node)
{
    if (node->kind == IP_N_TEXT) return node->text;
    if (node->kind != IP_N_NAME) return NULL;
    const ip_val *bound = ip_eval_lookup(ev, node->name);
    return bound && bound->kind == IP_V_TEXT && bound->u.text ? bound->u.text : node->name->name;
}

/* Names that stand for a number unless the program assigns them. */
static bool named_number(const char *name, ip_val *out)
{
    static const struct {
        const char *name;
        double value;
    } constants[] = {
        { "pi", 3.14159265358979323846 },
        { "inf", INFINITY },
        { "nan", NAN },
    };
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strcmp(name, constants[i].name) != 0) continue;
        *out = ip_val_number(constants[i].value, true);
        return true;
    }
    return false;
}

bool ip_is_constant_name(const char *name)
{
    ip_val ignored;
    return named_number(name, &ignored);
}

bool ip_eval_name(ip_eval *ev, const ip_node *node, ip_val *out)
{
    const char *name = node->name->name;
    const ip_val *bound = ip_eval_lookup(ev, node->name);
    if (bound) {
        *out = ip_val_copy(bound);
        return true;
    }
    if (ip_is_coordinate(name)) return ip_eval_coordinate(ev, node, out);
    if (strcmp(name, "_") == 0)
        return ip_eval_fail(ev, node->offset, "_ is the value of an iterate(), and there is none around it");
    if (node->name->assigned_at) return ip_eval_unknown_name(ev, node, false);
    if (named_number(name, out)) return true;
    if (!node->name->op) return ip_eval_unknown_name(ev, node, false);
    *out = (ip_val){ .kind = IP_V_FUNCTION, .u.fn = { .op = node->name->op } };
    return true;
}

/* ---- near names ---------------------------------------------------------------------- */

enum { N_NEAR = 4 };

typedef struct near_list {
    char text[200];
    int n;
} near_list;

static void near_add(near_list *near, const char *name, const char *other)
{
    if (near->n >= N_NEAR || !ip_is_near(name, other)) return;
    size_t used = strlen(near->text);
    int n = snprintf(near->text + used, sizeof near->text - used, "%s%s", near->n ? ", " : "", other);
    if (n < 0 || (size_t)n >= sizeof near->text - used)
        near->text[used] = '\0';
    else
        near->n++;
}

static void near_variables(const ip_eval *ev, const char *name, bool functions, near_list *near)
{
    for (const ip_scope *scope = ev->scope; scope; scope = scope->parent)
        for (int i = 0; i < scope->n; i++)
            near_add(near, name, scope->names[i]->name);
    const ip_symbols *symbols = &ev->program->symbols;
    for (int b = 0; symbols->buckets && b < IP_SYMBOL_BUCKETS; b++)
        for (const ip_symbol *s = symbols->buckets[b]; s; s = s->next) {
            int kind = ev->globals[s->index].kind;
            if (kind != IP_V_NONE && (kind == IP_V_FUNCTION) == functions) near_add(near, name, s->name);
        }
}

bool ip_eval_unknown_name(ip_eval *ev, const ip_node *node, bool is_call)
{
    const ip_symbol *symbol = node->name;
    const char *name = symbol->name;
    if (symbol == ev->defining)
        return ip_eval_fail(ev, node->offset, "%.60s calls itself: there is no recursion; iterate() repeats", name);
    if (symbol->assigned_at)
        return ip_eval_fail(ev, node->offset, "%.60s is used before line %zu, which defines it", name,
                            ip_text_line(&ev->program->text, symbol->assigned_at - 1));
    const char *here = is_call ? ip_operation_elsewhere(name) : ip_name_elsewhere(name);
    if (here)
        return ip_eval_fail(ev, node->offset, "unknown %s %s; that is %s", is_call ? "operation" : "name", name, here);
    near_list near = { "", 0 };
    near_variables(ev, name, is_call, &near);
    for (size_t i = 0; is_call && ip_word_at(i); i++) {
        const imgpar_word *word = &ip_word_at(i)->info;
        const ip_op *row = ip_op_find(word->name);
        bool is_listed = row && !(row->flags & IP_OP_HIDDEN); /* by ip_op_near() */
        if (strcmp(word->category, "name") != 0 && !is_listed) near_add(&near, name, word->name);
    }
    char ops[160] = "";
    if (is_call) ip_op_near(name, ops, sizeof ops);
    bool any = near.n || ops[0];
    return ip_eval_fail(ev, node->offset, "unknown %s %.60s%s%s%s%s%s", is_call ? "operation" : "name", name,
                        any ? " (near: " : "", near.text, near.n && ops[0] ? ", " : "", ops, any ? ")" : "");
}
