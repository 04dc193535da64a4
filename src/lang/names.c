/* SPDX-License-Identifier: MIT */
/* What a name stands for, and what to say when it stands for nothing. */
#include "base/str.h"
#include "lang/eval.h"
#include "lang/parser.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const ip_val *ip_eval_lookup(const ip_eval *ev, const ip_symbol *name)
{
    for (const ip_scope *scope = ev->scope; scope; scope = scope->parent)
        for (int i = 0; i < scope->n; i++)
            if (scope->names[i] == name) return &scope->vals[i];
    const ip_val *global = &ev->globals[name->index];
    return global->kind == IP_V_NONE ? NULL : global;
}

/* Names that stand for a number unless the program assigns them. */
static bool constant(const char *name, ip_val *out)
{
    static const struct { const char *name; double value; } constants[] = {
        { "pi", 3.14159265358979323846 }, { "inf", INFINITY }, { "nan", NAN },
    };
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strcmp(name, constants[i].name) != 0) continue;
        *out = ip_val_number(constants[i].value, true);
        return true;
    }
    return false;
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
    if (constant(name, out)) return true;
    if (!node->name->op) return ip_eval_unknown_name(ev, node, false);
    *out = (ip_val){ .kind = IP_V_FUNCTION, .u.fn = { .op = node->name->op } };
    return true;
}

/* ---- near names ---------------------------------------------------------------------- */

enum { NAME_MAX_BYTES = 32, N_NEAR = 4 };

/* Insertions, deletions, replacements and swaps of neighbours that make a into b. */
static int distance(const char *a, const char *b)
{
    int rows[3][NAME_MAX_BYTES + 1];
    int n = (int)strlen(a), m = (int)strlen(b);
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (int j = 0; j <= m; j++)
        above[j] = j;
    for (int i = 1; i <= n; i++) {
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int d = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < d) d = above[j] + 1;
            if (row[j - 1] + 1 < d) d = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            row[j] = d;
        }
        int *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[m];
}

static bool is_near(const char *name, const char *other)
{
    size_t n = strlen(name), m = strlen(other);
    if (n == 0 || n > NAME_MAX_BYTES || m > NAME_MAX_BYTES || strcmp(name, other) == 0) return false;
    return distance(name, other) <= (n < 2 ? 0 : n < 4 ? 1 : 2);
}

typedef struct near_list { char text[200]; int n; } near_list;

static void near_add(near_list *near, const char *name, const char *other)
{
    if (near->n >= N_NEAR || !is_near(name, other)) return;
    size_t used = strlen(near->text);
    int n = snprintf(near->text + used, sizeof near->text - used, "%s%s", near->n ? ", " : "", other);
    if (n < 0 || (size_t)n >= sizeof near->text - used) near->text[used] = '\0';
    else near->n++;
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
    static const char *const forms[] = { "make", "iterate", "reduce", "stencil", "width", "height", "channels" };
    near_list near = { "", 0 };
    near_variables(ev, name, is_call, &near);
    for (size_t i = 0; is_call && i < sizeof forms / sizeof *forms; i++)
        near_add(&near, name, forms[i]);
    char ops[160] = "";
    if (is_call) ip_op_near(name, ops, sizeof ops);
    bool any = near.n || ops[0];
    return ip_eval_fail(ev, node->offset, "unknown %s %.60s%s%s%s%s%s", is_call ? "operation" : "name", name,
                        any ? " (near: " : "", near.text, near.n && ops[0] ? ", " : "", ops, any ? ")" : "");
}
