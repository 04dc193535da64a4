/* SPDX-License-Identifier: MIT */
/*
 * A graph as pipeline text, the inverse of lang/: one assignment a node, inputs first, the array's name last.
 * imgpar_apply() reads it back: pixels and blobs from memory are $1, $2, ... in the order in which they first appear.
 *
 *     n1 = open("tower.png")
 *     n2 = boxblur(n1, size=5)
 *     n3 = n2 * 0.5
 *     n3
 *
 * Gradients are written as grad() of what they are gradients of; hidden rows that compute parts of others, as qr_parts,
 * by their names, which texts may call (IP_OP_PART).
 * What has several values inside a step goes through a function that gives one of them, result_0_of_2(iterate(...)).
 * Literals and whatever depends on a placeholder are written where they are used,
 * since a loop's body is one expression; everything else gets a name.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/str.h"
#include "graph/array.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 200, MAX_INLINE_CHARS = 1 << 20, MAX_SIDE = 1000000, NONE = INT_MAX };

typedef struct entry {
    const imgpar_array *node;
    int id;           /* n<id>, $<id>, p<id>_<k>, n<id>_<k> */
    int k;            /* of placeholders and projections; -1: none */
    int outermost;    /* the least id of a placeholder that it depends on and does not bind; NONE */
    bool done, local; /* local: there is one */
    bool written;     /* a loop's first placeholder: the loop is */
} entry;

typedef struct unparsing {
    ip_str out, functions; /* functions: what stands before out */
    entry *entries;        /* open addressing by node address */
    size_t size, used;
    const imgpar_array **stack;
    size_t depth, stack_capacity;
    int n_names, n_leaves;
    bool failed;
} unparsing;

/* ---- what is known of a node ------------------------------------------------------------ */

static entry *slot(entry *entries, size_t size, const imgpar_array *node)
{
    size_t at = ((uintptr_t)node >> 4) * (size_t)0x9E3779B97F4A7C15u >> 20;
    while (entries[at & (size - 1)].node && entries[at & (size - 1)].node != node)
        at++;
    return &entries[at & (size - 1)];
}

static bool grow(unparsing *d)
{
    size_t size = d->size ? d->size * 2 : 64;
    entry *entries = ip_zalloc(size * sizeof *entries);
    if (!entries) return false;
    for (size_t k = 0; k < d->size; k++)
        if (d->entries[k].node) *slot(entries, size, d->entries[k].node) = d->entries[k];
    ip_free(d->entries);
    d->entries = entries;
    d->size = size;
    return true;
}

/* The node's entry, made when there is none. NULL without memory. Valid until a new one is made. */
static entry *look(unparsing *d, const imgpar_array *node)
{
    entry *e = d->size ? slot(d->entries, d->size, node) : NULL;
    if (e && e->node) return e;
    if ((d->used + 1) * 2 > d->size) {
        if (!grow(d)) {
            d->failed = true;
            return NULL;
        }
        e = slot(d->entries, d->size, node);
    }
    *e = (entry){ .node = node, .k = -1, .outermost = NONE };
    d->used++;
    return e;
}

static void push(unparsing *d, const imgpar_array *node)
{
    if (d->depth == d->stack_capacity) {
        size_t capacity = d->stack_capacity ? d->stack_capacity * 2 : 64;
        const imgpar_array **stack = ip_realloc_array(d->stack, capacity, sizeof *stack);
        if (!stack) {
            d->failed = true;
            return;
        }
        d->stack = stack;
        d->stack_capacity = capacity;
    }
    d->stack[d->depth++] = node;
}

static bool is_row(const imgpar_array *a, const char *name) { return strcmp(a->op->info.name, name) == 0; }

/* By what grad() differentiates stands for the array itself. */
static const imgpar_array *without_variables(const imgpar_array *a)
{
    while (is_row(a, "variable"))
        a = a->inputs[0];
    return a;
}

static bool is_loop(const imgpar_array *a) { return a->loop || is_row(a, "settled") || is_row(a, "scanstates"); }

/* What stands for a value that a loop or a function is given. */
static bool is_placeholder(const imgpar_array *a) { return is_row(a, "placeholder") || is_row(a, "carried"); }

/* Names without a definition of their own: a function's arguments, a loop's carried values. */
static void name_placeholder(unparsing *d, const imgpar_array *p, int id, int k)
{
    entry *e = look(d, p);
    if (!e || e->id) return;
    e->id = id;
    e->outermost = id;
    e->k = k;
    e->done = e->local = true;
}

/* ---- expressions --------------------------------------------------------------------------- */

static void write_expr(unparsing *d, const imgpar_array *a, int depth);

static void write_literal(unparsing *d, double v, bool fractional)
{
    char text[400];
    ip_number_text(v, text);
    if (isinf(v))
        strcpy(text, v < 0 ? "-1.0 / 0" : "1.0 / 0");
    else if (isnan(v))
        strcpy(text, "0.0 / 0");
    else if (fractional && !strpbrk(text, ".e"))
        strcat(text, ".0");
    bool bare = v >= 0 && isfinite(v);
    if (!fractional && strpbrk(text, "e")) {
        ip_str_printf(&d->out, v < 0 ? "(%.0f)" : "%.0f", v);
        return;
    }
    ip_str_printf(&d->out, bare ? "%s" : "(%s)", text);
}

static void write_name(unparsing *d, const entry *e)
{
    const imgpar_array *a = e->node;
    if (a->source && a->source->kind != IP_SOURCE_FILE)
        ip_str_printf(&d->out, "$%d", e->id);
    else if (e->k < 0)
        ip_str_printf(&d->out, "n%d", e->id);
    else
        ip_str_printf(&d->out, "%c%d_%d", e->local ? 'p' : 'n', e->id, e->k);
}

static int n_results(const imgpar_array *a, int *which);

/* "result_0_of_2", which gives one of several values. */
static void write_result_function(unparsing *d, int which, int n)
{
    char start[64];
    snprintf(start, sizeof start, "fn result_%d_of_%d(", which, n);
    ip_str_append(&d->out, start + strlen("fn "));
    if (strstr(ip_str_text(&d->functions), start)) return;
    ip_str_append(&d->functions, start);
    for (int k = 0; k < n; k++)
        ip_str_printf(&d->functions, "%sr%d", k ? ", " : "", k);
    ip_str_printf(&d->functions, ") = r%d\n", which);
}

/* An operand: a name, a literal, or an expression in brackets. */
static void write_operand(unparsing *d, const imgpar_array *a, int depth)
{
    double v;
    bool fractional;
    a = without_variables(a);
    if (ip_array_is_number(a, &v, &fractional)) {
        write_literal(d, v, fractional);
        return;
    }
    const entry *e = look(d, a);
    if (e && e->id) {
        write_name(d, e);
        return;
    }
    int which, n = n_results(a, &which);
    if (n > 1)
        write_result_function(d, which, n);
    else
        ip_str_putc(&d->out, '(');
    write_expr(d, a, depth + 1);
    ip_str_putc(&d->out, ')');
}

static void write_matrix(unparsing *d, const ip_param *p)
{
    ip_str_putc(&d->out, '[');
    for (int k = 0; k < p->rows * p->cols; k++) {
        if (k) ip_str_append(&d->out, k % p->cols ? " " : "; ");
        ip_str_number(&d->out, p->numbers[k]);
    }
    ip_str_putc(&d->out, ']');
}

static void write_quoted(unparsing *d, const char *text)
{
    ip_str_putc(&d->out, '"');
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') ip_str_putc(&d->out, '\\');
        if (c < ' ' || c == 0x7f) /* a line ends with the string */
            ip_str_printf(&d->out, "\\x%02x", c);
        else
            ip_str_putc(&d->out, *text);
    }
    ip_str_putc(&d->out, '"');
}

static void write_word(unparsing *d, const char *choices, int index)
{
    for (; index > 0; index--)
        choices = strchr(choices, '|') + 1;
    ip_str_append_n(&d->out, choices, strcspn(choices, "|"));
}

/* Whether a parameter has its default, to leave out what is not said. NaN stands for auto, which no number is. */
static bool is_default(const imgpar_op_param *facts, const ip_param *p)
{
    if (!facts->default_text || p->input >= 0 || p->numbers) return false;
    if (p->text) return strcmp(facts->default_text, p->text) == 0;
    if (ip_param_kind_of(facts) == IP_PARAM_BOOL) return (strcmp(facts->default_text, "true") == 0) == (p->number != 0);
    if (ip_param_kind_of(facts) == IP_PARAM_CHOICE) {
        const char *word = facts->choices;
        for (int k = (int)p->number; k > 0; k--)
            word = strchr(word, '|') + 1;
        size_t n = strcspn(word, "|");
        return strlen(facts->default_text) == n && memcmp(word, facts->default_text, n) == 0;
    }
    if (isnan(p->number)) return true;
    return strcmp(facts->default_text, "auto") != 0 && ip_parse_number(facts->default_text, NULL) == p->number;
}

static void write_param(unparsing *d, const imgpar_array *a, int k, int depth)
{
    const imgpar_op_param *facts = a->op->info.params[k];
    const ip_param *p = &a->params[k];
    if (p->input >= 0)
        write_operand(d, a->inputs[p->input], depth);
    else if (p->numbers)
        write_matrix(d, p);
    else if (p->text)
        write_quoted(d, p->text);
    else if (ip_param_kind_of(facts) == IP_PARAM_CHOICE)
        write_word(d, facts->choices, (int)p->number);
    else if (ip_param_kind_of(facts) == IP_PARAM_BOOL)
        ip_str_append(&d->out, p->number != 0 ? "true" : "false");
    else
        ip_str_number(&d->out, p->number);
}

static void write_call(unparsing *d, const imgpar_array *a, int depth)
{
    const imgpar_op_info *info = &a->op->info;
    const char *separator = "";
    ip_str_printf(&d->out, "%s(", info->name);
    for (int k = 0; k < info->n_inputs; k++, separator = ", ") {
        ip_str_append(&d->out, separator);
        write_operand(d, a->inputs[k], depth);
    }
    for (int k = 0; k < info->n_params; k++) {
        if (is_default(info->params[k], &a->params[k])) continue;
        ip_str_printf(&d->out, "%s%s=", separator, info->params[k]->name);
        separator = ", ";
        write_param(d, a, k, depth);
    }
    ip_str_putc(&d->out, ')');
}

static void write_operator(unparsing *d, const imgpar_array *a, int depth)
{
    int n = a->op->info.n_inputs;
    for (int k = 0; k < n; k++) {
        if (n == 1)
            ip_str_append(&d->out, a->op->symbol);
        else if (k)
            ip_str_printf(&d->out, " %s ", n == 2 ? a->op->symbol : k == 1 ? "?" : ":");
        write_operand(d, a->inputs[k], depth);
    }
}

/* c ? a : b where c is a number, which the language decides at once: only select() makes a row of it. */
static bool is_decided(const imgpar_array *a)
{
    return a->op->flags & IP_OP_BRANCH && ip_array_is_number(a->inputs[0], NULL, NULL);
}

/* What a distance of around() is called: the argument behind p and q. */
static void write_distance(unparsing *d, const imgpar_array *taps, int dim)
{
    const entry *e = look(d, taps);
    ip_str_printf(&d->out, "p%d_%d", e ? e->id : 0, 2 + dim);
}

/* An offset along an axis: distances of around(), so many times each, and a number. */
static void write_offset(unparsing *d, const imgpar_array *a, int axis)
{
    const double by = ip_param_get(a, "offsets")->numbers[axis];
    const char *separator = "";
    for (int dim = 0; is_row(a, "tap_read") && dim < 3; dim++) {
        double times = ip_param_get(a, "along")->numbers[3 * axis + dim];
        if (times == 0) continue;
        ip_str_append(&d->out, separator);
        separator = " + ";
        write_distance(d, a->inputs[1], dim);
        if (times != 1) ip_str_append(&d->out, " * ");
        if (times != 1) write_literal(d, times, false);
    }
    if (*separator && by == 0) return;
    ip_str_append(&d->out, separator);
    if (*separator)
        write_literal(d, by, false);
    else
        ip_str_number(&d->out, by);
}

/* a[dy, dx], in a stencil() when its border is not the default one. */
static void write_shift(unparsing *d, const imgpar_array *a, int depth)
{
    const ip_param *offsets = ip_param_get(a, "offsets");
    int border = (int)ip_param_number(a, "border");
    if (border) ip_str_append(&d->out, "stencil(");
    write_operand(d, a->inputs[0], depth);
    for (int k = 0; k < offsets->cols; k++) {
        ip_str_append(&d->out, k ? ", " : "[");
        write_offset(d, a, k);
    }
    ip_str_putc(&d->out, ']');
    if (!border) return;
    ip_str_append(&d->out, ", border=");
    write_word(d, "replicate|reflect|reflect101|wrap|constant|checked|unchecked", border);
    if (border == IMGPAR_BORDER_CONSTANT) {
        ip_str_append(&d->out, ", cval=");
        ip_str_number(&d->out, ip_param_number(a, "cval"));
    }
    ip_str_putc(&d->out, ')');
}

/* What is made of coordinates stands on its own as an image made from them. */
static void write_made(unparsing *d, const imgpar_array *a, const char *expr)
{
    int64_t dims[4];
    ip_type_dims(&a->type, dims);
    bool is_image = a->type.rank == 2 || (a->type.rank == 3 && a->type.shape[2] <= 4);
    is_image = is_image && dims[1] <= MAX_SIDE && dims[2] <= MAX_SIDE;
    if (ip_type_count(&a->type) == 0) { /* make() takes no extent of 0 */
        for (int k = 0; k < a->type.rank; k++)
            ip_str_printf(&d->out, "%s%lld", k ? " " : "zeros(shape=[", (long long)a->type.shape[k]);
        const bool is_mask = a->type.dtype == IMGPAR_BOOL;
        ip_str_printf(&d->out, "], dtype=%s)%s", is_mask ? "u8" : ip_dtype(a->type.dtype)->name, is_mask ? " > 0" : "");
    } else if (is_image && a->type.rank == 3) {
        ip_str_printf(&d->out, "make(%lld, %lld, %s, channels=%lld)", (long long)dims[2], (long long)dims[1], expr,
                      (long long)dims[3]);
    } else if (is_image) {
        ip_str_printf(&d->out, "make(%lld, %lld, %s)", (long long)dims[2], (long long)dims[1], expr);
    } else {
        for (int k = 0; k < a->type.rank; k++)
            ip_str_printf(&d->out, "%s%lld", k ? " " : "make(shape=[", (long long)a->type.shape[k]);
        ip_str_printf(&d->out, "], expr=%s)", expr);
    }
}

static void write_coordinate(unparsing *d, const imgpar_array *a)
{
    write_made(d, a, (const char[]){ "zyxc"[(int)ip_param_number(a, "dim")], '\0' });
}

static void write_inside(unparsing *d, const imgpar_array *a)
{
    int dim = (int)ip_param_number(a, "dim");
    int64_t dims[4], before = (int64_t)ip_param_number(a, "before"), behind = (int64_t)ip_param_number(a, "behind");
    ip_type_dims(&a->type, dims);
    char expr[80], name = "zyxc"[dim];
    snprintf(expr, sizeof expr, "%c >= %lld && %c < %lld", name, (long long)before, name,
             (long long)(dims[dim] - behind));
    write_made(d, a, expr);
}

static bool is_fold(const imgpar_array *a) { return is_row(a, "fold") || is_row(a, "scanfold"); }

static void write_fold(unparsing *d, const imgpar_array *a, int depth)
{
    ip_str_append(&d->out, is_row(a, "scanfold") ? "scan(" : "reduce(");
    write_operand(d, a->inputs[0], depth);
    ip_str_append(&d->out, ", ");
    write_literal(d, ip_param_number(a, "init"), false);
    ip_str_append(&d->out, ", (");
    write_operand(d, a->inputs[1], depth);
    ip_str_append(&d->out, ", ");
    write_operand(d, a->inputs[2], depth);
    ip_str_append(&d->out, ") -> ");
    write_operand(d, a->inputs[3], depth);
    for (int k = 1; k < a->op->info.n_params; k++) {
        if (is_default(a->op->info.params[k], &a->params[k])) continue;
        ip_str_printf(&d->out, ", %s=", a->op->info.params[k]->name);
        write_param(d, a, k, depth);
    }
    ip_str_putc(&d->out, ')');
}

static bool is_around(const imgpar_array *a) { return is_row(a, "around"); }

/* The function names what it reads itself, so any array with the same axes stands for the one that was given. */
static void write_around(unparsing *d, const imgpar_array *a, int depth)
{
    static const char *const radii[] = { "depth", "height", "width" };
    const entry *e = look(d, a->inputs[0]);
    const bool has_weight = !ip_array_is_number(a->inputs[2], NULL, NULL);
    const int id = e ? e->id : 0;
    ip_str_append(&d->out, "around(");
    write_made(d, a, "0");
    const char *separator = ", [";
    for (int k = 0; k < a->type.rank; k++) {
        int dim = ip_type_axis_dim(&a->type, k);
        if (dim == 3) continue;
        ip_str_append(&d->out, separator);
        separator = " ";
        ip_str_number(&d->out, ip_param_number(a->inputs[0], radii[dim]));
    }
    ip_str_printf(&d->out, "], (p%d_0, p%d_1", id, id);
    for (int k = 0; k < a->type.rank; k++) {
        int dim = ip_type_axis_dim(&a->type, k);
        if (dim < 3) ip_str_printf(&d->out, ", p%d_%d", id, 2 + dim);
    }
    ip_str_append(&d->out, has_weight ? ") -> (" : ") -> ");
    write_operand(d, a->inputs[1], depth);
    if (has_weight) ip_str_append(&d->out, ", ");
    if (has_weight) write_operand(d, a->inputs[2], depth);
    ip_str_append(&d->out, has_weight ? "), \"" : ", \"");
    write_word(d, a->op->info.params[0]->choices, (int)a->params[0].number);
    ip_str_append(&d->out, ip_param_number(a->inputs[0], "shape") != 0 ? "\", shape=disc)" : "\")");
}

/* What a node of a loop carries, or of a scan of several states; not for long. */
typedef struct carrying {
    int n, projection;
    imgpar_array *const *starts, *const *placeholder, *const *next;
    const imgpar_array *until; /* NULL: none */
    int64_t count, check;
    int m; /* arrays that are scanned, before starts; the placeholders of their elements are behind those of states */
} carrying;

static bool carries(const imgpar_array *a, carrying *c)
{
    const ip_loop *loop = a->loop;
    const int n = a->n_inputs / 3;
    if (loop)
        *c = (carrying){ loop->n_carried,
                         (int)a->params[0].number,
                         a->inputs,
                         loop->placeholder,
                         loop->next,
                         loop->until,
                         loop->count,
                         loop->check,
                         0 };
    else if (is_row(a, "settled"))
        *c = (carrying){ n,
                         (int)a->params[0].number,
                         a->inputs,
                         a->inputs + 2 * n,
                         a->inputs + n,
                         a->inputs[3 * n],
                         (int64_t)ip_param_number(a, "count"),
                         1,
                         0 };
    else if (is_row(a, "scanstates")) {
        const int states = (int)ip_param_number(a, "states"), m = (a->n_inputs - 3 * states) / 2;
        *c = (carrying){ .n = states,
                         .projection = (int)a->params[0].number,
                         .starts = a->inputs + m,
                         .placeholder = a->inputs + m + states,
                         .next = a->inputs + 2 * m + 2 * states,
                         .m = m };
    }
    return is_loop(a);
}

/* A scan of one state is written with another one, which nobody asks for: a tuple has two or more. */
static bool has_idle_state(const carrying *c) { return c->m > 0 && c->n == 1; }

/* How many values the text of a gives, and which of them is a. */
static int n_results(const imgpar_array *a, int *which)
{
    carrying c;
    *which = 0;
    if (is_row(a, "adjoint")) *which = (int)a->params[0].number;
    if (is_row(a, "adjoint")) return a->n_inputs - 1;
    if (!carries(a, &c)) return 1;
    *which = c.projection;
    return c.n + has_idle_state(&c);
}

/* All results of one loop inside another, in their order: the loop itself stands for them. */
static bool is_whole_loop(unparsing *d, int n, imgpar_array *const *arrays)
{
    carrying first, c;
    if (n < 2 || !carries(arrays[0], &first) || first.n != n) return false;
    for (int k = 0; k < n; k++) {
        const entry *e = look(d, arrays[k]);
        if (!e || e->id || !carries(arrays[k], &c) || c.placeholder[0] != first.placeholder[0] || c.projection != k)
            return false;
    }
    return true;
}

/* "(a, b)" or, where there is one, "a". */
static void write_tuple(unparsing *d, int n, imgpar_array *const *arrays, int depth)
{
    if (is_whole_loop(d, n, arrays)) {
        write_expr(d, arrays[0], depth + 1);
        return;
    }
    if (n > 1) ip_str_putc(&d->out, '(');
    for (int k = 0; k < n; k++) {
        if (k) ip_str_append(&d->out, ", ");
        write_operand(d, arrays[k], depth);
    }
    if (n > 1) ip_str_putc(&d->out, ')');
}

/* until is tested on the new values, which the graph has as the step's results: they are written as the arguments. */
static void write_until(unparsing *d, const carrying *loop, int depth)
{
    ip_str_append(&d->out, ", until=");
    write_tuple(d, loop->n, loop->placeholder, depth);
    ip_str_append(&d->out, " -> ");
    for (int k = 0; k < loop->n; k++) {
        entry *next = look(d, loop->next[k]), *p = look(d, loop->placeholder[k]);
        if (!next || !p || next->id) continue;
        next->id = p->id;
        next->k = k;
    }
    write_operand(d, loop->until, depth);
    for (int k = 0; k < loop->n; k++) {
        entry *next = look(d, loop->next[k]);
        if (!next || !next->local || is_placeholder(next->node)) continue;
        next->id = 0;
        next->k = -1;
    }
}

/* "(a, b)", or a itself. */
static void write_list(unparsing *d, int n, imgpar_array *const *arrays, int depth)
{
    for (int k = 0; k < n; k++) {
        ip_str_append(&d->out, k ? ", " : n > 1 ? "(" : "");
        write_operand(d, arrays[k], depth);
    }
    if (n > 1) ip_str_putc(&d->out, ')');
}

static bool is_associative(const imgpar_array *scan) { return ip_param_number(scan, "associative") != 0; }

/* The arguments and results of the function: states, then elements. An associative one joins states, so that the idle
 * one has elements, too. */
static void write_step(unparsing *d, const imgpar_array *a, const carrying *scan, int depth)
{
    const entry *p = look(d, scan->placeholder[0]);
    const int id = p ? p->id : 0;
    if (!has_idle_state(scan)) {
        write_list(d, scan->n + scan->m, scan->placeholder, depth);
        ip_str_append(&d->out, " -> ");
        write_list(d, scan->n, scan->next, depth);
        return;
    }
    ip_str_putc(&d->out, '(');
    write_operand(d, scan->placeholder[0], depth);
    ip_str_printf(&d->out, ", p%d_idle", id);
    for (int k = 0; k < scan->m; k++) {
        ip_str_append(&d->out, ", ");
        write_operand(d, scan->placeholder[1 + k], depth);
    }
    if (is_associative(a)) ip_str_printf(&d->out, ", p%d_joined", id);
    ip_str_append(&d->out, ") -> (");
    write_operand(d, scan->next[0], depth);
    if (is_associative(a))
        ip_str_printf(&d->out, ", p%d_idle)", id);
    else
        ip_str_append(&d->out, ", 0)");
}

static void write_states(unparsing *d, const imgpar_array *a, const carrying *scan, int depth)
{
    enum { FIRST_OPTION = 2 };
    const bool is_idle = has_idle_state(scan), joins = is_idle && is_associative(a);
    ip_str_append(&d->out, joins ? "scan((" : "scan(");
    write_list(d, scan->m, a->inputs, depth);
    if (joins) {
        ip_str_append(&d->out, ", ");
        write_operand(d, a->inputs[0], depth);
        ip_str_putc(&d->out, ')');
    }
    ip_str_append(&d->out, is_idle ? ", (" : ", ");
    write_list(d, scan->n, scan->starts, depth);
    ip_str_append(&d->out, is_idle ? ", 0), " : ", ");
    write_step(d, a, scan, depth);
    for (int k = FIRST_OPTION; k < a->op->info.n_params; k++) {
        if (is_default(a->op->info.params[k], &a->params[k])) continue;
        ip_str_printf(&d->out, ", %s=", a->op->info.params[k]->name);
        write_param(d, a, k, depth);
    }
    ip_str_putc(&d->out, ')');
}

/* Of adjoints by several arrays, all of them. */
static void write_gradients(unparsing *d, const imgpar_array *a, int depth)
{
    ip_str_append(&d->out, "grad(");
    write_operand(d, a->inputs[0], depth);
    ip_str_append(&d->out, ", ");
    write_list(d, a->n_inputs - 1, a->inputs + 1, depth);
    ip_str_putc(&d->out, ')');
}

static void write_loop(unparsing *d, const carrying *loop, int depth)
{
    int n = loop->n;
    ip_str_append(&d->out, "iterate(");
    write_tuple(d, n, loop->starts, depth);
    ip_str_printf(&d->out, ", %lld, ", (long long)loop->count);
    write_tuple(d, n, loop->placeholder, depth);
    ip_str_append(&d->out, " -> ");
    write_tuple(d, n, loop->next, depth);
    if (loop->until) write_until(d, loop, depth);
    if (loop->until && loop->check > 1) ip_str_printf(&d->out, ", check=%lld", (long long)loop->check);
    ip_str_putc(&d->out, ')');
}

static void write_expr(unparsing *d, const imgpar_array *a, int depth)
{
    if (depth > MAX_DEPTH || d->out.length > MAX_INLINE_CHARS) {
        ip_str_append(&d->out, "...");
        return;
    }
    carrying loop;
    if (carries(a, &loop) && loop.m > 0)
        write_states(d, a, &loop, depth);
    else if (is_loop(a))
        write_loop(d, &loop, depth);
    else if (is_fold(a))
        write_fold(d, a, depth);
    else if (is_around(a))
        write_around(d, a, depth);
    else if (is_row(a, "tap"))
        write_distance(d, a->inputs[0], (int)ip_param_number(a, "dim"));
    else if (is_row(a, "shift") || is_row(a, "tap_read"))
        write_shift(d, a, depth);
    else if (is_row(a, "adjoint"))
        write_gradients(d, a, depth);
    else if (is_row(a, "coordinate"))
        write_coordinate(d, a);
    else if (is_row(a, "inside"))
        write_inside(d, a);
    else if (is_placeholder(a))
        ip_str_putc(&d->out, '_'); /* of no loop we know */
    else if (a->op->symbol && !is_decided(a))
        write_operator(d, a, depth);
    else
        write_call(d, a, depth);
}

/* ---- the walk ---------------------------------------------------------------------------------- */

/* Pushes what a is computed from; true when something waits. */
static bool push_inputs(unparsing *d, const imgpar_array *a)
{
    size_t before = d->depth;
    int id = d->n_names + 1;
    carrying loop = { .n = 0 };
    carries(a, &loop);
    for (int k = 0; k < loop.n + loop.m; k++)
        name_placeholder(d, loop.placeholder[k], id, k);
    if (is_fold(a)) {
        name_placeholder(d, a->inputs[1], id, 0);
        name_placeholder(d, a->inputs[2], id, 1);
    }
    if (is_around(a)) name_placeholder(d, a->inputs[0], id, 0);
    if (is_loop(a) || is_fold(a) || is_around(a)) d->n_names++;
    for (int k = a->n_inputs - 1; k >= 0; k--)
        push(d, a->inputs[k]);
    for (int k = 0; a->loop && k < a->loop->n_carried; k++)
        push(d, a->loop->next[k]);
    if (a->loop && a->loop->until) push(d, a->loop->until);
    return d->depth > before;
}

/*
 * What a loop or a fold binds is free inside its body only, and what it takes from loops around it has a lesser id:
 * they were met first.
 */
static int outermost_of(unparsing *d, const imgpar_array *a)
{
    bool folds = is_fold(a) || is_around(a);
    carrying loop = { .n = 0 };
    carries(a, &loop);
    const imgpar_array *bound = is_loop(a) ? loop.placeholder[0] : folds ? a->inputs[is_fold(a)] : NULL;
    const entry *e = bound ? look(d, bound) : NULL;
    int own = e ? e->id : NONE, least = NONE;
    for (int k = 0; k < a->n_inputs; k++) {
        bool is_body = (folds && (k > 0 || !is_fold(a))) || (is_loop(a) && k >= loop.m + loop.n);
        e = look(d, a->inputs[k]);
        if (e && e->outermost < least && (!is_body || e->outermost < own)) least = e->outermost;
    }
    for (int k = 0; a->loop && k <= a->loop->n_carried; k++) {
        const imgpar_array *part = k < a->loop->n_carried ? a->loop->next[k] : a->loop->until;
        e = part ? look(d, part) : NULL;
        if (e && e->outermost < own && e->outermost < least) least = e->outermost;
    }
    return least;
}

/* All projections of a loop are named together, with the first of them: (n4_0, n4_1) = iterate(...). */
static void define_projection(unparsing *d, const imgpar_array *a, const carrying *loop)
{
    entry *first = look(d, loop->placeholder[0]), *e = look(d, a);
    int n = loop->n;
    e->id = first->id;
    e->k = loop->projection;
    if (first->written) return;
    first->written = true;
    const int n_named = n + has_idle_state(loop);
    if (n_named > 1) ip_str_putc(&d->out, '(');
    for (int k = 0; k < n_named; k++)
        ip_str_printf(&d->out, "%sn%d_%d", k ? ", " : "", e->id, k);
    ip_str_append(&d->out, n_named > 1 ? ") = " : " = ");
    write_expr(d, a, 0);
    ip_str_putc(&d->out, '\n');
}

/* So are all gradients of one grad(), whose first variable is theirs alone: (n4_0, n4_1) = grad(n3, (n1, n2)). */
static void define_gradient(unparsing *d, const imgpar_array *a)
{
    const int n = a->n_inputs - 1;
    entry *first = look(d, a->inputs[1]), *e = look(d, a);
    const bool is_written = first->written;
    if (!is_written) first->id = ++d->n_names;
    first->written = true;
    e->id = first->id;
    e->k = (int)a->params[0].number;
    if (is_written) return;
    for (int k = 0; k < n; k++)
        ip_str_printf(&d->out, "%sn%d_%d", k ? ", " : "(", e->id, k);
    ip_str_append(&d->out, ") = ");
    write_expr(d, a, 0);
    ip_str_putc(&d->out, '\n');
}

/* The assignment of a node whose inputs are done. */
static void define(unparsing *d, const imgpar_array *a)
{
    int outermost = outermost_of(d, a);
    carrying loop;
    bool local = outermost != NONE || is_placeholder(a);
    entry *e = look(d, a);
    if (!e) return;
    e->outermost = outermost;
    e->done = true;
    e->local = local;
    if (local || is_row(a, "variable") || ip_array_is_number(a, NULL, NULL)) return;
    if (a->source && a->source->kind != IP_SOURCE_FILE) {
        e->id = ++d->n_leaves;
        return;
    }
    if (carries(a, &loop)) {
        define_projection(d, a, &loop);
        return;
    }
    if (is_row(a, "adjoint") && a->n_inputs > 2) {
        define_gradient(d, a);
        return;
    }
    e->id = ++d->n_names;
    ip_str_printf(&d->out, "n%d = ", e->id);
    write_expr(d, a, 0);
    ip_str_putc(&d->out, '\n');
}

static void walk(unparsing *d, const imgpar_array *root)
{
    push(d, root);
    while (d->depth && !d->failed) {
        const imgpar_array *a = d->stack[d->depth - 1];
        entry *e = look(d, a);
        if (!e) return;
        if (e->done) {
            d->depth--;
        } else if (e->local) { /* seen before: its inputs are done */
            d->depth--;
            define(d, a);
        } else {
            e->local = true; /* seen; set anew by define() */
            if (!push_inputs(d, a)) {
                d->depth--;
                define(d, a);
            }
        }
    }
}

char *ip_graph_unparse(imgpar_array *const *arrays, size_t n)
{
    unparsing d = { .out = IP_STR_INIT, .functions = IP_STR_INIT };
    for (size_t k = 0; k < n && !d.failed; k++) {
        if (arrays[k]->op) walk(&d, arrays[k]);
    }
    for (size_t k = 0; k < n && !d.failed; k++) {
        if (!arrays[k]->op) continue;
        if (k + 1 < n) ip_str_append(&d.out, "# also wanted: ");
        write_operand(&d, arrays[k], 0);
        ip_str_putc(&d.out, '\n');
    }
    ip_free(d.entries);
    ip_free(d.stack);
    ip_str_append(&d.functions, ip_str_text(&d.out));
    if (d.failed || d.out.failed) ip_str_free(&d.functions);
    ip_str_free(&d.out);
    return d.failed ? NULL : ip_str_take(&d.functions);
}
