/* SPDX-License-Identifier: MIT */
/* Calls: operators, and functions of the program. Those of rows are call_rows.c. */
#include "base/alloc.h"
#include "base/dtype.h"
#include "lang/program.h"
#include "lang/scalar.h"
#include "ops/check.h"

#include <math.h>
#include <string.h>

/* ---- operators ----------------------------------------------------------------------- */

static bool is_array_like(const ip_val *v) { return v->kind == IP_V_ARRAY || v->kind == IP_V_ANY; }

/* What "-" is called in a message: itself. */
static bool refuse_operand(ip_eval *ev, size_t offset, const char *symbol, const ip_val *v)
{
    return ip_eval_fail(ev, offset, "'%s' takes numbers and arrays, not %s", symbol, ip_val_kind_text(v));
}

bool ip_list_as_array(ip_eval *ev, size_t offset, const ip_matrix *list, imgpar_dtype dtype, imgpar_array **out)
{
    *out = NULL;
    if (!list || ev->checking) return true;
    ip_val array;
    const ip_arg args[2] = {
        { .kind = IP_ARG_MATRIX, .rows = list->rows, .cols = list->cols, .numbers = list->numbers },
        { .name = "dtype", .kind = IP_ARG_TEXT, .text = ip_dtype(dtype)->name }
    };
    const size_t offsets[2] = { offset, offset };
    if (!ip_call_args(ev, ip_op_find("numbers"), offset, args, offsets, 2, &array)) return false;
    *out = array.u.array;
    return true;
}

const imgpar_array *ip_array_beside(const ip_val *vals, int n)
{
    for (int i = 0; i < n; i++)
        if (vals[i].kind == IP_V_ARRAY && vals[i].u.array) return vals[i].u.array;
    return NULL;
}

static imgpar_dtype dtype_beside(const ip_matrix *list, const imgpar_array *beside)
{
    const int n = list ? list->rows * list->cols : 0;
    return list ? ip_list_dtype(list->numbers, n, beside ? beside->type.dtype : IMGPAR_I32) : IMGPAR_I32;
}

imgpar_dtype ip_list_compared_dtype(const ip_matrix *list, const imgpar_array *beside)
{
    const imgpar_dtype dtype = dtype_beside(list, beside);
    const bool has_floats = beside && ip_dtype_is_float(beside->type.dtype);
    for (int k = 0; list && k < list->rows * list->cols; k++) {
        const double v = list->numbers[k], rounded = (float)v;
        if (dtype == IMGPAR_F16 && v == v && fabs(v) > ip_dtype(IMGPAR_F16)->maximum)
            return IMGPAR_F32; /* it would become infinite */
        if (dtype == IMGPAR_F32 && !has_floats && v == v && (floor(rounded) != floor(v) || ceil(rounded) != ceil(v)))
            return IMGPAR_F64; /* it would change sides with a whole number */
    }
    return dtype;
}

static bool list_as(ip_eval *ev, size_t offset, const ip_matrix *list, const imgpar_array *beside, imgpar_dtype dtype,
                    imgpar_array **out)
{
    const int n = list ? list->rows * list->cols : 0;
    if (!list || !beside || list->rows > 1 || !ip_list_is_of_colours(n, &beside->type))
        return ip_list_as_array(ev, offset, list, dtype, out);
    ip_matrix *with_alpha = ip_matrix_new(1, n + 1); /* alpha stays, whatever stands there */
    if (!with_alpha) return ip_eval_fail_memory(ev);
    memcpy(with_alpha->numbers, list->numbers, (size_t)n * sizeof *list->numbers);
    with_alpha->numbers[n] = 1;
    const bool ok = ip_list_as_array(ev, offset, with_alpha, dtype, out);
    ip_free(with_alpha);
    return ok;
}

bool ip_list_beside(ip_eval *ev, size_t offset, const ip_matrix *list, const imgpar_array *beside, imgpar_array **out)
{
    return list_as(ev, offset, list, beside, dtype_beside(list, beside), out);
}

bool ip_call_list(ip_eval *ev, size_t offset, ip_val *v)
{
    imgpar_array *array;
    if (!ip_list_beside(ev, offset, v->u.matrix, NULL, &array)) return false;
    ip_val_free(v);
    *v = array ? ip_val_array(array) : ip_val_unknown(IP_V_ARRAY);
    return true;
}

/* The side of a result, of operands whose sides are so long; 0: they are neither equal nor 1. */
static int common_side(int a, int b) { return a == b || b == 1 ? a : a == 1 ? b : 0; }

static double element_of(const ip_val *v, int row, int col)
{
    if (v->kind != IP_V_MATRIX) return v->number;
    const ip_matrix *m = v->u.matrix;
    return m->numbers[(m->rows > 1 ? row * m->cols : 0) + (m->cols > 1 ? col : 0)];
}

/* Lists of numbers, or lists and numbers: element by element, as arrays of one and two axes. It stays a list, so it may
 * stand where a parameter wants one. */
static bool call_on_lists(ip_eval *ev, ip_operator op, size_t offset, const ip_val *operands, ip_val *out)
{
    const ip_operator_facts *facts = &ip_operators[op];
    const ip_val *a = &operands[0], *b = &operands[facts->n_operands - 1];
    const ip_matrix *m = a->kind == IP_V_MATRIX ? a->u.matrix : NULL, *n = b->kind == IP_V_MATRIX ? b->u.matrix : NULL;
    *out = ip_val_unknown(IP_V_MATRIX);
    if ((a->kind == IP_V_MATRIX && !m) || (b->kind == IP_V_MATRIX && !n)) return true; /* checking */
    const int rows = common_side(m ? m->rows : 1, n ? n->rows : 1),
              cols = common_side(m ? m->cols : 1, n ? n->cols : 1);
    if (rows == 0 || cols == 0)
        return ip_eval_fail(ev, offset,
                            "'%s': one is %dx%d, the other %dx%d; their rows and columns must be equal or 1",
                            facts->symbol, m->rows, m->cols, n->rows, n->cols);
    ip_matrix *made = ip_matrix_new(rows, cols);
    if (!made) return ip_eval_fail_memory(ev);
    const char *why = NULL;
    out->u.matrix = made;
    out->unknown = a->unknown || b->unknown;
    for (int k = 0; k < rows * cols && !why && !out->unknown; k++) {
        const double x = element_of(a, k / cols, k % cols), y = element_of(b, k / cols, k % cols);
        ip_val of_two;
        why = ip_scalar_operator(op, (ip_val[]){ ip_val_number(x, false), ip_val_number(y, false) }, &of_two);
        made->numbers[k] = why ? 0 : of_two.number;
    }
    if (!why) return true;
    ip_val_free(out);
    return ip_eval_fail(ev, offset, "'%s' %s", facts->symbol, why);
}

/*
 * Note [Light and levels in formulas]
 * A formula of a row (ops/written.def) has levels where its picture has them, and light where they are divided by
 * white, full: the quotient has white 1. Levels are made of light again by a factor full, and have white full then.
 * The operators know that of the whites of depths alone, 255 and 65535 (ops/white.c): of other factors nobody could
 * tell whether they make levels or more light. In a formula the factor is known by its value.
 */

/* Takes product over, which is operands[0] times operands[1]. Returns false after recording an error. */
static bool with_levels(ip_eval *ev, size_t offset, const ip_val *operands, ip_val *product)
{
    for (int k = 0; k < 2; k++) {
        const ip_val *light = &operands[k], *factor = &operands[1 - k];
        if (light->kind != IP_V_ARRAY || factor->kind != IP_V_NUMBER || product->kind != IP_V_ARRAY) continue;
        const ip_type *type = &light->u.array->type;
        if (factor->number != ev->full || type->white != 1 || type->is_mask || product->u.array->type.white != 1)
            continue;
        const ip_arg args[] = { ip_arg_array(product->u.array), ip_arg_number(ev->full) };
        ip_val levels;
        const bool ok = ip_call_args(ev, ip_op_find("set_white"), offset, args, NULL, 2, &levels);
        ip_val_free(product);
        *product = levels;
        return ok;
    }
    return true;
}

static bool is_comparison(ip_operator op) { return op >= IP_O_EQUAL && op <= IP_O_GREATER_EQUAL; }

bool ip_call_operator(ip_eval *ev, ip_operator op, size_t offset, const ip_val *operands, ip_val *out)
{
    const ip_operator_facts *facts = &ip_operators[op];
    bool arrays = false, any = false, has_list = false;
    for (int i = 0; i < facts->n_operands; i++) {
        arrays = arrays || operands[i].kind == IP_V_ARRAY;
        any = any || operands[i].kind == IP_V_ANY;
        has_list = has_list || operands[i].kind == IP_V_MATRIX;
    }
    if (!arrays && any) {
        *out = ip_val_unknown(IP_V_ANY);
        return true;
    }
    if (!arrays && has_list) return call_on_lists(ev, op, offset, operands, out);
    if (!arrays) {
        const char *why = ip_scalar_operator(op, operands, out);
        return !why || ip_eval_fail(ev, offset, "'%s' %s", facts->symbol, why);
    }
    const ip_op *row = ip_op_find_symbol(facts->symbol, facts->n_operands);
    if (!row) return ip_eval_fail(ev, offset, "'%s' is not offered on arrays", facts->symbol);
    ip_arg args[3];
    imgpar_array *lists[3] = { NULL };
    const int first = op == IP_O_SELECT; /* a condition says nothing of what is chosen */
    const imgpar_array *beside = ip_array_beside(operands + first, facts->n_operands - first);
    bool ok = true;
    for (int i = 0; ok && i < facts->n_operands; i++) {
        const ip_val *v = &operands[i];
        if (v->kind == IP_V_MATRIX) {
            ok = list_as(ev, offset, v->u.matrix, beside,
                         (is_comparison(op) ? ip_list_compared_dtype : dtype_beside)(v->u.matrix, beside), &lists[i]);
            args[i] = ip_arg_array(lists[i]);
        } else {
            args[i] =
                is_array_like(v) ? ip_arg_array(v->kind == IP_V_ARRAY ? v->u.array : NULL) : ip_arg_number(v->number);
        }
        args[i].fractional = v->kind == IP_V_NUMBER && v->fractional;
        args[i].unknown = v->unknown || (v->kind == IP_V_MATRIX && !lists[i]);
    }
    ok = ok && ip_call_args(ev, row, offset, args, NULL, facts->n_operands, out);
    for (int i = 0; i < facts->n_operands; i++)
        imgpar_array_release(lists[i]);
    if (ok && op == IP_O_MULTIPLY && ev->full > 0) ok = with_levels(ev, offset, operands, out);
    return ok;
}

bool ip_call_spread(ip_eval *ev, size_t offset, const ip_type *shape, const ip_val *value, const ip_val *other,
                    ip_val *out)
{
    ip_val x, inside, zero = ip_val_number(0, false);
    *out = (ip_val){ .kind = IP_V_NONE };
    if (!ip_call_result(ev, offset, ip_build_coordinate(ev->ctx, 2, shape), &x)) return false;
    bool ok = ip_call_operator(ev, IP_O_GREATER_EQUAL, offset, (ip_val[]){ x, zero }, &inside);
    ip_val_free(&x);
    if (!ok) return false;
    ok = ip_call_operator(ev, IP_O_SELECT, offset, (ip_val[]){ inside, *value, *other }, out);
    ip_val_free(&inside);
    return ok;
}

/* c ? a : b, c being known: only the chosen one counts; the other is looked through for mistakes while checking. */
static bool eval_choice(ip_eval *ev, const ip_node *node, bool chosen, ip_val *out)
{
    if (!ip_eval_value(ev, node->items[chosen ? 1 : 2], out)) return false;
    if (!ev->checking) return true;
    ip_val other;
    bool dead = ev->dead;
    ev->dead = true;
    bool ok = ip_eval_value(ev, node->items[chosen ? 2 : 1], &other);
    ev->dead = dead;
    if (ok)
        ip_val_free(&other);
    else
        ip_val_free(out);
    return ok;
}

/* Texts are compared with texts, as words that a parameter may be. */
static bool are_compared_texts(ip_operator op, const ip_val *operands)
{
    return (op == IP_O_EQUAL || op == IP_O_UNEQUAL) && operands[0].kind == IP_V_TEXT && operands[1].kind == IP_V_TEXT;
}

static bool eval_operands(ip_eval *ev, const ip_node *node, int from, ip_val *operands)
{
    for (int i = from; i < node->n_items; i++)
        if (!ip_eval_value(ev, node->items[i], &operands[i])) return false;
    if (are_compared_texts((ip_operator)node->op, operands)) return true;
    bool has_array = false;
    for (int i = 0; i < node->n_items; i++)
        has_array = has_array || is_array_like(&operands[i]);
    const bool takes_lists = has_array || !ip_operator_is_logical((ip_operator)node->op);
    for (int i = from; i < node->n_items; i++)
        if (!is_array_like(&operands[i]) && !ip_val_is_scalar(&operands[i]) &&
            !(takes_lists && operands[i].kind == IP_V_MATRIX))
            return refuse_operand(ev, node->items[i]->offset, ip_operators[node->op].symbol, &operands[i]);
    return true;
}

static ip_val compare_texts(ip_operator op, const ip_val *operands)
{
    if (operands[0].unknown || operands[1].unknown) return ip_val_unknown(IP_V_BOOL);
    return ip_val_bool((strcmp(operands[0].u.text, operands[1].u.text) == 0) == (op == IP_O_EQUAL));
}

bool ip_eval_operator(ip_eval *ev, const ip_node *node, ip_val *out)
{
    ip_val operands[3] = { { .kind = IP_V_NONE }, { .kind = IP_V_NONE }, { .kind = IP_V_NONE } };
    int from = 0;
    bool ok;
    if (node->op == IP_O_SELECT) {
        if (!ip_eval_value(ev, node->items[0], &operands[0])) return false;
        if (ip_val_is_scalar(&operands[0]) && !operands[0].unknown)
            return eval_choice(ev, node, operands[0].number != 0, out);
        if (!is_array_like(&operands[0]) && !ip_val_is_scalar(&operands[0])) {
            refuse_operand(ev, node->items[0]->offset, "?:", &operands[0]);
            ip_val_free(&operands[0]);
            return false;
        }
        from = 1;
    }
    if (from && ip_val_is_scalar(&operands[0])) { /* checking: either */
        ok = ip_eval_value(ev, node->items[1], &operands[1]) && ip_eval_value(ev, node->items[2], &operands[2]);
        if (ok && ip_record_may_select(operands))
            ok = ip_record_select(ev, node->offset, operands, out);
        else if (ok)
            *out = ip_val_unknown(operands[1].kind == operands[2].kind && operands[1].kind != IP_V_TEXT
                                      ? (ip_value_kind)operands[1].kind
                                      : IP_V_ANY);
    } else {
        const ip_operator op = (ip_operator)node->op;
        ok = eval_operands(ev, node, from, operands);
        if (ok && are_compared_texts(op, operands))
            *out = compare_texts(op, operands);
        else if (ok && op == IP_O_SELECT && ip_record_may_select(operands))
            ok = ip_record_select(ev, node->offset, operands, out);
        else
            ok = ok && ip_call_operator(ev, op, node->offset, operands, out);
    }
    for (int i = 0; i < 3; i++)
        ip_val_free(&operands[i]);
    return ok;
}

/* ---- functions of the program ---------------------------------------------------------- */

static const char *function_name(const ip_function *fn)
{
    return fn->op ? fn->op->info.name : fn->lambda->name ? fn->lambda->name->name : "the function '->'";
}

bool ip_call_function(ip_eval *ev, const ip_val *fn, const ip_val *args, int n, size_t offset, ip_val *out)
{
    if (fn->kind == IP_V_ANY) {
        *out = ip_val_unknown(IP_V_ANY);
        return true;
    }
    const ip_function *f = &fn->u.fn;
    if (f->op) return ip_call_op(ev, f->op, offset, args, NULL, NULL, n, out);
    if (n != f->lambda->n_names)
        return ip_eval_fail(ev, offset, "%.60s takes %d argument%s, here are %d", function_name(f), f->lambda->n_names,
                            f->lambda->n_names == 1 ? "" : "s", n);
    ip_scope scope = { .parent = f->scope, .n = n, .names = f->lambda->names, .vals = args };
    ip_scope *outer = ev->scope;
    ip_stencil_form *stencil = ev->stencil;
    const bool outside_is_chosen = ev->outside_is_chosen;
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    ev->scope = &scope;
    ev->outside_is_chosen |= stencil && stencil->has_outside;
    ev->stencil = f->stencil;
    bool ok = ip_eval_any(ev, f->lambda->items[0], out);
    ev->scope = outer;
    ev->outside_is_chosen = outside_is_chosen;
    ev->stencil = stencil;
    ev->place = place;
    if (ok && out->kind == IP_V_FUNCTION) {
        out->kind = IP_V_NONE;
        return ip_eval_fail(ev, offset, "%.60s gives a function; a value is expected", function_name(f));
    }
    return ok;
}

/* Which parameter a named argument means, or -1. */
static int parameter_index(const ip_function *fn, const ip_symbol *name)
{
    for (int i = 0; i < fn->lambda->n_names; i++)
        if (fn->lambda->names[i] == name) return i;
    return -1;
}

/* Where argument i of a call goes. */
static int place_argument(ip_eval *ev, const ip_node *node, int i, const ip_val *fn, const ip_val *args)
{
    if (!node->names[i] || fn->kind != IP_V_FUNCTION || fn->u.fn.op) return i;
    int index = parameter_index(&fn->u.fn, node->names[i]);
    if (index >= 0 && args[index].kind == IP_V_NONE) return index;
    ip_eval_fail(ev, node->starts[i], index < 0 ? "%.60s has no parameter %.60s" : "%.60s: %.60s is given twice",
                 function_name(&fn->u.fn), node->names[i]->name);
    return -1;
}

/* f(g(a)), where g gives several values and f takes as many: they are its arguments. */
static bool call_with_values(ip_eval *ev, const ip_node *node, const ip_val *fn, ip_val *out)
{
    ip_val v;
    const int n = fn->u.fn.lambda->n_names;
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = ip_eval_any(ev, node->items[0], &v);
    ev->place = place;
    if (!ok) return false;
    if (v.kind == IP_V_ANY)
        *out = ip_val_unknown(IP_V_ANY);
    else if (v.kind == IP_V_TUPLE && v.u.tuple->n == n)
        ok = ip_call_function(ev, fn, v.u.tuple->items, n, node->offset, out);
    else /* says how many it takes */
        ok = ip_call_function(ev, fn, NULL, v.kind == IP_V_TUPLE ? v.u.tuple->n : 1, node->offset, out);
    ip_val_free(&v);
    return ok;
}

static bool call_user(ip_eval *ev, const ip_node *node, const ip_val *fn, ip_val *out)
{
    int n = node->n_items;
    const bool has_lambda = fn->kind == IP_V_FUNCTION && !fn->u.fn.op;
    if (has_lambda && n == 1 && fn->u.fn.lambda->n_names > 1 && !node->names[0])
        return call_with_values(ev, node, fn, out);
    if (has_lambda && n != fn->u.fn.lambda->n_names)
        return ip_call_function(ev, fn, NULL, n, node->offset, out); /* says how many it takes */
    ip_val *args = ip_vals_new(n);
    size_t *offsets = ip_alloc_array((size_t)n, sizeof *offsets);
    bool ok = (args && offsets) || ip_eval_fail_memory(ev);
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    for (int i = 0; ok && i < n; i++) {
        int at = place_argument(ev, node, i, fn, args);
        ok = at >= 0 && ip_eval_any(ev, node->items[i], &args[at]);
        if (ok) offsets[at] = node->items[i]->offset;
    }
    ev->place = place;
    if (ok && fn->kind == IP_V_FUNCTION && fn->u.fn.op)
        ok = ip_call_op(ev, fn->u.fn.op, node->offset, args, node->names, offsets, n, out);
    else if (ok)
        ok = ip_call_function(ev, fn, args, n, node->offset, out);
    ip_vals_free(args, n);
    ip_free(offsets);
    return ok;
}

/* ---- calls by name -------------------------------------------------------------------- */

/* A function on numbers that no row offers on arrays. */
static bool call_scalar(ip_eval *ev, const ip_node *node, ip_val *out)
{
    ip_val args[3];
    int n = node->n_items;
    for (int i = 0; i < n; i++) {
        if (node->names[i])
            return ip_eval_fail(ev, node->starts[i], "%s has no parameter %.60s", node->name->name,
                                node->names[i]->name);
        if (!ip_eval_number(ev, node->items[i], "the argument", &args[i])) return false;
    }
    return ip_scalar_function(node->name->name, args, n, out);
}

bool ip_eval_call(ip_eval *ev, const ip_node *node, ip_val *out)
{
    const ip_val *bound = ip_eval_lookup(ev, node->name);
    if (bound && (bound->kind == IP_V_FUNCTION || bound->kind == IP_V_ANY)) return call_user(ev, node, bound, out);
    ip_form form = ip_form_find(node->name->name);
    if (form) return form(ev, node, out);
    if (node->name == ev->defining) return ip_eval_unknown_name(ev, node, true);
    if (node->name->op) return ip_call_row(ev, node, node->name->op, out);
    if (ip_scalar_function_exists(node->name->name, node->n_items)) return call_scalar(ev, node, out);
    if (bound)
        return ip_eval_fail(ev, node->offset, "%.60s is %s, not a function", node->name->name, ip_val_kind_text(bound));
    return ip_eval_unknown_name(ev, node, true);
}
