/* SPDX-License-Identifier: MIT */
/* Calls of rows of the table: what stands in their parentheses becomes their inputs and parameters. */
#include "base/alloc.h"
#include "lang/program.h"
#include "lang/scalar.h"
#include "ops/check.h"
#include "ops/hints.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether an input says where, not what: a list there is no neighbour of values. */
static bool says_where(const char *input) { return strcmp(input, "mask") == 0 || strcmp(input, "cond") == 0; }

static const imgpar_op_param *parameter_of(const ip_op *op, const ip_symbol *name, int i)
{
    const imgpar_op_info *info = &op->info;
    int index = i - info->n_inputs;
    if (!name) return index >= 0 && index < info->n_params ? info->params[index] : NULL;
    for (int k = 0; k < info->n_params; k++)
        if (strcmp(info->params[k]->name, name->name) == 0) return info->params[k];
    return NULL;
}

static bool is_input(const ip_op *op, const ip_symbol *name, int i)
{
    return name ? !parameter_of(op, name, i) : i < op->info.n_inputs;
}

/* Rows that compare their inputs' elements, as == does, and the one input that takes no part. */
static const struct {
    const char *row, *other;
} comparing[] = { { "isin", NULL }, { "searchsorted", NULL }, { "indexin", NULL }, { "lookup_by", "values" } };

enum { COMPARES_NOTHING = sizeof comparing / sizeof *comparing };

static size_t comparing_row(const ip_op *op)
{
    for (size_t k = 0; k < COMPARES_NOTHING; k++)
        if (strcmp(op->info.name, comparing[k].row) == 0) return k;
    return COMPARES_NOTHING;
}

/* Whether an input's elements are compared with another's. */
static bool is_compared(const ip_op *op, const char *input)
{
    const size_t k = comparing_row(op);
    return k < COMPARES_NOTHING && (!comparing[k].other || strcmp(input, comparing[k].other) != 0);
}

/* Whether an array given for an input says what a list for another one becomes. */
static bool may_stand_beside(const ip_op *op, const char *input)
{
    return !says_where(input) && (comparing_row(op) == COMPARES_NOTHING || is_compared(op, input));
}

/* What an argument needs for as long as the call takes. */
typedef struct made {
    char *path;
    imgpar_array *array;
} made;

/* Places and groups are whole numbers: take(a, [2 0]). */
static bool counts_places(const char *input, const ip_matrix *list)
{
    if (strcmp(input, "indices") != 0 && strcmp(input, "keys") != 0) return false;
    for (int k = 0; k < list->rows * list->cols; k++)
        if (list->numbers[k] != floor(list->numbers[k]) || fabs(list->numbers[k]) > INT32_MAX) return false;
    return true;
}

/* An input is numbers() of a list that is written there: percentiles(a, [5 95]), det([1 2; 3 4]). Computed element by
 * element it bends to what it stands beside, if anything. */
static bool list_to_arg(ip_eval *ev, const ip_op *op, const ip_symbol *name, int i, size_t offset, const ip_val *v,
                        const imgpar_array *beside, ip_arg *arg, made *m)
{
    const char *input = name ? name->name : op->info.input_names[i];
    arg->kind = IP_ARG_ARRAY;
    imgpar_dtype dtype = v->u.matrix && counts_places(input, v->u.matrix) ? IMGPAR_I32 : IMGPAR_F32;
    if (is_compared(op, input)) dtype = ip_list_compared_dtype(v->u.matrix, beside);
    const bool ok = op->flags & IP_OP_ELEMENTWISE && !says_where(input)
                        ? ip_list_beside(ev, offset, v->u.matrix, beside, &m->array)
                        : ip_list_as_array(ev, offset, v->u.matrix, dtype, &m->array);
    arg->array = m->array;
    return ok;
}

/* An argument as ip_build() wants it; *m is to be freed afterwards. beside: an array among the arguments, or NULL. */
static bool to_arg(ip_eval *ev, const ip_op *op, const ip_val *v, const ip_symbol *name, int i, size_t offset,
                   const imgpar_array *beside, ip_arg *arg, made *m)
{
    *arg = (ip_arg){ .name = name ? name->name : NULL, .unknown = v->unknown, .number = v->number };
    switch ((ip_value_kind)v->kind) {
    case IP_V_ANY: /* may be whatever is wanted */
        arg->kind = is_input(op, name, i) ? IP_ARG_ARRAY : IP_ARG_NUMBER;
        arg->unknown = true;
        return true;
    case IP_V_NUMBER:
        arg->kind = IP_ARG_NUMBER;
        arg->fractional = v->fractional;
        return true;
    case IP_V_BOOL: arg->kind = is_input(op, name, i) ? IP_ARG_NUMBER : IP_ARG_BOOL; return true;
    case IP_V_ARRAY:
        arg->kind = IP_ARG_ARRAY;
        arg->array = v->u.array;
        return true;
    case IP_V_MATRIX:
        if (is_input(op, name, i)) return list_to_arg(ev, op, name, i, offset, v, beside, arg, m);
        arg->kind = IP_ARG_MATRIX;
        if (!v->u.matrix) return true;
        arg->rows = v->u.matrix->rows;
        arg->cols = v->u.matrix->cols;
        arg->numbers = v->u.matrix->numbers;
        return true;
    case IP_V_TEXT: {
        const imgpar_op_param *param = parameter_of(op, name, i);
        arg->kind = IP_ARG_TEXT;
        arg->text = v->u.text;
        if (!(op->flags & IP_OP_FILE) || !param || ip_param_kind_of(param) != IP_PARAM_TEXT) return true;
        arg->text = m->path = ip_eval_path(ev, v);
        if (!m->path) return ip_eval_fail_memory(ev);
        return v->unknown || !ev->outputs || !ip_outputs_save_to(ev->outputs, m->path) ||
               ip_eval_fail(ev, offset,
                            "%s: %.200s is saved before, and files are read before any is saved; use what was saved",
                            op->info.name, v->u.text);
    }
    default: break;
    }
    return ip_eval_fail(ev, offset, "%s takes no %s as an argument", op->info.name,
                        v->kind == IP_V_FUNCTION ? "function" : "list of values");
}

bool ip_call_result(ip_eval *ev, size_t offset, imgpar_array *takes, ip_val *out)
{
    imgpar_status st = imgpar_array_status(takes);
    if (!st && ++ev->n_nodes > IP_EVAL_MAX_NODES) {
        imgpar_array_release(takes);
        return ip_eval_fail(ev, offset, "this text builds more than %d operations", IP_EVAL_MAX_NODES);
    }
    if (!st) {
        *out = ip_val_array(takes);
        return true;
    }
    ip_text_fail(ev->err, &ev->program->text, offset, st, "%s", imgpar_array_message(takes));
    imgpar_array_release(takes);
    return false;
}

static bool reads_standard_input(const ip_op *op, const ip_arg *args, int n)
{
    bool reads = false;
    for (int i = 0; (op->flags & IP_OP_FILE) && i < n; i++)
        reads = reads || (args[i].kind == IP_ARG_TEXT && args[i].text && strcmp(args[i].text, "-") == 0);
    return reads;
}

/* There is one standard input and it can be read once. What it gave is kept for further builds of the program. */
static bool check_standard_input(ip_eval *ev, size_t offset)
{
    if (ev->is_repeated)
        return ip_eval_fail(
            ev, offset, "open: standard input can be read once, and this text is run for every picture it is given");
    if (ev->defining) return true; /* met again where the function is called */
    bool again = ev->stdin_at && (!ev->checking || ev->stdin_at != offset + 1);
    ev->stdin_at = offset + 1;
    return !again ||
           ip_eval_fail(ev, offset, "open: standard input can be read once; give it a name: in = open(\"-\")");
}

static bool open_standard_input(ip_eval *ev, const ip_op *op, size_t offset, const ip_arg *args, int n, ip_val *out)
{
    imgpar_array **kept = ev->standard_input;
    if (kept && *kept && (*kept)->ctx == ev->ctx) return ip_call_result(ev, offset, imgpar_array_retain(*kept), out);
    if (!ip_call_result(ev, offset, ip_build(ev->ctx, op, args, n), out)) return false;
    if (kept) imgpar_array_replace(kept, imgpar_array_retain(out->u.array));
    return true;
}

bool ip_call_args(ip_eval *ev, const ip_op *op, size_t offset, const ip_arg *args, const size_t *offsets, int n,
                  ip_val *out)
{
    if (ev->safe && (op->flags & IP_OP_FILE))
        return ip_eval_fail(ev, offset, "%s is refused here: it reads files", op->info.name);
    bool is_stdin = reads_standard_input(op, args, n);
    if (is_stdin && !check_standard_input(ev, offset)) return false;
    if (is_stdin && !ev->checking) return open_standard_input(ev, op, offset, args, n, out);
    ip_error err = { .status = IMGPAR_OK };
    int bad = -1;
    if (ip_check_call(op, args, n, &bad, &err))
        return ip_eval_fail(ev, offsets && bad >= 0 && bad < n ? offsets[bad] : offset, "%s", err.message);
    if (!ev->checking) return ip_call_result(ev, offset, ip_build(ev->ctx, op, args, n), out);
    if (ip_check_type(op, args, n, &err) == IMGPAR_E_ARGUMENT) return ip_eval_fail(ev, offset, "%s", err.message);
    *out = ip_val_unknown(IP_V_ARRAY);
    return true;
}

bool ip_call_op(ip_eval *ev, const ip_op *op, size_t offset, const ip_val *vals, ip_symbol *const *names,
                const size_t *offsets, int n, ip_val *out)
{
    ip_arg *args = ip_alloc_array((size_t)n, sizeof *args);
    made *need = ip_alloc_array((size_t)n, sizeof *need);
    bool ok = (args && need) || ip_eval_fail_memory(ev), scalars = n > 0, any = false;
    const imgpar_array *beside = NULL;
    for (int i = 0; i < n && !beside; i++) {
        const ip_symbol *name = names ? names[i] : NULL;
        if (is_input(op, name, i) && may_stand_beside(op, name ? name->name : op->info.input_names[i]))
            beside = ip_array_beside(&vals[i], 1);
    }
    if (need && n > 0) memset(need, 0, (size_t)n * sizeof *need);
    for (int i = 0; ok && i < n; i++) {
        ok = to_arg(ev, op, &vals[i], names ? names[i] : NULL, i, offsets ? offsets[i] : offset, beside, &args[i],
                    &need[i]);
        scalars = scalars && ip_val_is_scalar(&vals[i]) && !(names && names[i]);
        any = any || vals[i].kind == IP_V_ANY;
    }
    if (ok && scalars && (op->flags & IP_OP_ELEMENTWISE) && ip_scalar_function(op->info.name, vals, n, out)) {
        /* no array takes part */
    } else if (ok) {
        ok = ip_call_args(ev, op, offset, args, offsets, n, out);
        if (ok && any && (op->flags & IP_OP_ELEMENTWISE)) out->kind = ev->checking ? IP_V_ANY : out->kind;
    }
    for (int i = 0; need && i < n; i++) {
        ip_free(need[i].path);
        imgpar_array_release(need[i].array);
    }
    ip_free(need);
    ip_free(args);
    return ok;
}

/* What folds one array where an operation of this name takes two, as NumPy's max(a) does; NULL. */
static const char *fold_of(const char *name)
{
    if (strcmp(name, "max") == 0) return "maxval(a) or reduce(a, \"max\")";
    if (strcmp(name, "min") == 0) return "minval(a) or reduce(a, \"min\")";
    return NULL;
}

/* Names and number of the arguments, before any of them is evaluated. (Not inlined: its vector is no part of the
 * recursion's frames.) */
static __attribute__((noinline)) bool check_names(ip_eval *ev, const ip_node *node, const ip_op *op)
{
    ip_arg args[IP_MAX_ARGS] = { 0 };
    ip_bound bound;
    ip_error err = { .status = IMGPAR_OK };
    int bad = -1;
    bool is_fold = node->n_items == 1;
    for (int i = 0; i < node->n_items; i++) {
        args[i].name = node->names[i] ? node->names[i]->name : NULL;
        is_fold = is_fold || (args[i].name && strcmp(args[i].name, "axis") == 0);
    }
    if (!ip_bind(op, args, node->n_items, &bound, &bad, &err)) return true;
    const char *fold = is_fold ? fold_of(node->name->name) : NULL;
    size_t at = bad >= 0 ? node->starts[bad] : node->offset;
    return fold ? ip_eval_fail(ev, at, "%s; of one array, that is %s", err.message, fold)
                : ip_eval_fail(ev, at, "%s", err.message);
}

/* Whether item is the difference of two names that are unknown, and a choice is spelled so but for the hyphen:
 * color-dodge. Then that is told. */
static bool fails_as_hyphen(ip_eval *ev, const ip_op *op, const imgpar_op_param *param, const ip_node *item)
{
    char word[80], buf[32];
    if (item->kind != IP_N_OPERATOR || item->op != IP_O_SUBTRACT) return false;
    const ip_node *const *sides = (const ip_node *const *)item->items;
    for (int k = 0; k < 2; k++)
        if (sides[k]->kind != IP_N_NAME || ip_eval_lookup(ev, sides[k]->name)) return false;
    snprintf(word, sizeof word, "%.30s-%.30s", sides[0]->name->name, sides[1]->name->name);
    const char *hint = ip_hint_word(op, param, word, buf, sizeof buf);
    if (hint) ip_eval_fail(ev, item->offset, "%s: %s=%s; that is %s", op->info.name, param->name, word, hint);
    return hint != NULL;
}

/*
 * A word of a parameter's fixed list is that word, never a variable, but where it is given from outside; another one
 * may be a variable with a text. So is auto where that is the default, unless it names a value. Coordinates in the
 * arguments of an operation that is not element-wise belong to a make() around it; the positions of at(a, y, x) have
 * a's shape where nothing else says one.
 */
static bool eval_argument(ip_eval *ev, const ip_op *op, const ip_node *node, int i, const ip_val *first, ip_val *out)
{
    const ip_node *item = node->items[i];
    const imgpar_op_param *param = parameter_of(op, node->names[i], i);
    const bool is_choice = param && ip_param_kind_of(param) == IP_PARAM_CHOICE;
    const bool is_word = is_choice && item->kind == IP_N_NAME && !ip_eval_given(ev, item->name);
    if (is_choice && fails_as_hyphen(ev, op, param, item)) return false;
    const bool is_auto = param && ip_param_is_auto(param) && item->kind == IP_N_NAME && !is_choice &&
                         strcmp(item->name->name, "auto") == 0 && !ip_eval_lookup(ev, item->name);
    if (is_auto || (is_word && (ip_choice_find(param, item->name->name) >= 0 || !ip_eval_lookup(ev, item->name)))) {
        *out = ip_val_text(item->name->name);
        return true;
    }
    bool inside = (op->flags & IP_OP_ELEMENTWISE) && !node->names[i] && (i < op->info.n_inputs || op->info.takes_more);
    if (inside) return ip_eval_value(ev, item, out);
    ip_coords own = { .bound = true };
    bool positions = i > 0 && first->kind == IP_V_ARRAY && (op->flags & IP_OP_PLACES);
    if (positions && !ev->checking) own.type = first->u.array->type;
    const ip_coords *inherited = positions ? ip_inherited_coords(ev) : ev->place.make;
    ip_place place = ip_leave_region(ev, positions && !inherited ? &own : inherited);
    bool ok = ip_gradient_takes_several(op, i) ? ip_eval_any(ev, item, out) : ip_eval_value(ev, item, out);
    ev->place = place;
    return ok;
}

/* ---- rows that take any number of arrays ------------------------------------------------------ */

/* A call of two arrays and what else was given: slots 0 and 1 are filled for each pair in turn. */
typedef struct pair_call {
    ip_val args[2 + IP_MAX_ARGS];
    ip_symbol *names[2 + IP_MAX_ARGS];
    size_t offsets[2 + IP_MAX_ARGS];
    int n;
} pair_call;

/* How many arguments stand without a name. */
static int count_unnamed(const ip_node *node)
{
    int n = 0;
    while (n < node->n_items && !node->names[n])
        n++;
    return n;
}

/* Whether a tuple is the only one of these: concatenate((a, b, c), axis=1). */
static bool takes_tuple(const ip_op *op, const ip_node *node)
{
    return op->info.takes_more && count_unnamed(node) == 1 && node->items[0]->kind == IP_N_TUPLE;
}

/* Whether a call gives more arguments by position than its row has arrays, or a tuple of them. */
static bool gives_more(const ip_op *op, const ip_node *node)
{
    return op->info.takes_more && (count_unnamed(node) > op->info.n_inputs || takes_tuple(op, node));
}

/* The names of what was given by name. */
static __attribute__((noinline)) bool check_more_names(ip_eval *ev, const ip_node *node, const ip_op *op)
{
    ip_arg args[2 + IP_MAX_ARGS] = { 0 };
    ip_bound bound;
    ip_error err = { .status = IMGPAR_OK };
    int bad = -1, first = count_unnamed(node), n = op->info.n_inputs;
    const int before = n;
    for (int i = first; i < node->n_items; i++)
        args[n++].name = node->names[i] ? node->names[i]->name : NULL;
    if (!ip_bind(op, args, n, &bound, &bad, &err)) return true;
    return ip_eval_fail(ev, bad >= before ? node->starts[first + bad - before] : node->offset, "%s", err.message);
}

/* The first n of vals, folded from the left. */
static bool fold_pairs(ip_eval *ev, const ip_node *node, const ip_op *op, ip_val *vals, int n, pair_call *pair)
{
    bool ok = true;
    for (int i = 1; ok && i < n; i++) {
        ip_val both = { .kind = IP_V_NONE };
        pair->args[0] = vals[0];
        pair->args[1] = vals[i];
        const bool scalars = pair->n == 2 && ip_val_is_scalar(&vals[0]) && ip_val_is_scalar(&vals[i]);
        if (!scalars || !ip_scalar_function(node->name->name, pair->args, 2, &both))
            ok = ip_call_op(ev, op, node->offset, pair->args, pair->names, pair->offsets, pair->n, &both);
        ip_val_free(&vals[0]);
        vals[0] = both;
    }
    return ok;
}

/* vals[0] becomes the n keys of a row that takes more of its one array. */
static bool join_keys(ip_eval *ev, const ip_node *node, ip_val *vals, int n)
{
    bool ok = true;
    for (int i = 1; ok && i < n; i++) {
        ip_val both = { .kind = IP_V_NONE };
        ok = ip_call_op(ev, ip_op_find(IP_KEYS), node->offset, (ip_val[]){ vals[0], vals[i] },
                        (ip_symbol *[]){ NULL, NULL }, (size_t[]){ node->offset, node->offset }, 2, &both);
        ip_val_free(&vals[0]);
        vals[0] = both;
    }
    return ok;
}

/* The call of a row that takes keys, which vals begins with. */
static bool call_of_keys(ip_eval *ev, const ip_node *node, const ip_op *op, ip_val *vals, int n, pair_call *call)
{
    ip_val result = { .kind = IP_V_NONE };
    if (!join_keys(ev, node, vals, n)) return false;
    call->args[0] = vals[0];
    const bool ok = ip_call_op(ev, op, node->offset, call->args, call->names, call->offsets, call->n, &result);
    ip_val_free(&vals[0]);
    vals[0] = result;
    return ok;
}

/* The values of a tuple, which are its only argument by position. */
static bool take_tuple(ip_eval *ev, const ip_node *node, ip_val *vals)
{
    ip_val tuple = { .kind = IP_V_NONE };
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = ip_eval_any(ev, node->items[0], &tuple);
    ev->place = place;
    for (int i = 0; ok && i < tuple.u.tuple->n; i++)
        vals[i] = ip_val_copy(&tuple.u.tuple->items[i]);
    if (ok) ip_val_free(&tuple);
    return ok;
}

/* A slot behind the two arrays; borrows v. */
static void add_slot(pair_call *pair, const ip_val *v, ip_symbol *name, size_t offset)
{
    pair->args[pair->n] = *v;
    pair->names[pair->n] = name;
    pair->offsets[pair->n++] = offset;
}

/*
 * concatenate(a, b, c, axis=1), min(a, b, c): the row's call of two arrays, for each further one again. A number at
 * the end of the arguments by position is the row's first parameter, as in concatenate(a, b, c, 1). A row of one array
 * is called once, with all of them: lexsort(a, b, c).
 */
static bool call_more(ip_eval *ev, const ip_node *node, const ip_op *op, ip_val *out)
{
    const bool is_tuple = takes_tuple(op, node);
    const int first = count_unnamed(node), n_named = node->n_items - first;
    int n = is_tuple ? node->items[0]->n_items : first;
    if (!check_more_names(ev, node, op)) return false;
    ip_val *vals = ip_vals_new(n_named + n), *by_place = vals + n_named;
    pair_call *pair = ip_alloc(sizeof *pair);
    bool ok = (vals && pair) || ip_eval_fail_memory(ev);
    if (ok && is_tuple) ok = take_tuple(ev, node, by_place);
    for (int i = is_tuple ? first : 0; ok && i < node->n_items; i++)
        ok = eval_argument(ev, op, node, i, by_place, i < first ? &by_place[i] : &vals[i - first]);
    if (ok) {
        *pair = (pair_call){ .n = op->info.n_inputs };
        pair->offsets[0] = pair->offsets[1] = node->offset;
        if (!is_tuple && op->info.n_params > 0 && ip_val_is_scalar(&by_place[n - 1])) {
            n--;
            add_slot(pair, &by_place[n], NULL, node->items[n]->offset);
        }
        for (int i = 0; i < n_named; i++)
            add_slot(pair, &vals[i], node->names[first + i], node->items[first + i]->offset);
        ok = op->info.n_inputs == 1 ? call_of_keys(ev, node, op, by_place, n, pair)
                                    : fold_pairs(ev, node, op, by_place, n, pair);
    }
    if (ok) {
        *out = by_place[0];
        by_place[0] = (ip_val){ .kind = IP_V_NONE };
    }
    if (vals) ip_vals_free(vals, n_named + (is_tuple ? node->items[0]->n_items : first));
    ip_free(pair);
    return ok;
}

/* The shape that coordinates have here, as a parameter. */
static bool shape_here(ip_eval *ev, const ip_node *node, ip_val *out)
{
    const ip_coords *coords = ip_inherited_coords(ev);
    const char *name = node->name->name;
    *out = ip_val_unknown(IP_V_MATRIX);
    if (!coords && !ev->dead)
        return ip_eval_fail(ev, node->offset,
                            "%s: shape is missing, and nothing here says which: write %s([height width]), or use it "
                            "with an array, or in make(width, height, expr)",
                            name, name);
    if (ev->checking || !coords) return true;
    ip_matrix *m = ip_matrix_new(1, coords->type.rank);
    if (!m) return ip_eval_fail_memory(ev);
    for (int k = 0; k < coords->type.rank; k++)
        m->numbers[k] = (double)coords->type.shape[k];
    *out = (ip_val){ .kind = IP_V_MATRIX, .u.matrix = m };
    return true;
}

/* A call that ip_lacks_shape(): all its arguments have names, the shape is put behind them. */
static bool call_shaped(ip_eval *ev, const ip_node *node, const ip_op *op, ip_val *out)
{
    ip_symbol shape = { .name = "shape" };
    const int n = node->n_items;
    ip_val *args = ip_vals_new(n + 1);
    size_t *offsets = ip_alloc_array((size_t)n + 1, sizeof *offsets);
    ip_symbol **names = ip_alloc_array((size_t)n + 1, sizeof *names);
    bool ok = (args && offsets && names) || ip_eval_fail_memory(ev);
    for (int i = 0; ok && i < n; i++) {
        offsets[i] = node->items[i]->offset;
        names[i] = node->names[i];
        ok = eval_argument(ev, op, node, i, &args[0], &args[i]);
    }
    if (ok) {
        offsets[n] = node->offset;
        names[n] = &shape;
        ok = shape_here(ev, node, &args[n]) && ip_call_op(ev, op, node->offset, args, names, offsets, n + 1, out);
    }
    ip_vals_free(args, n + 1);
    ip_free(offsets);
    ip_free(names);
    return ok;
}

bool ip_call_row(ip_eval *ev, const ip_node *node, const ip_op *op, ip_val *out)
{
    int n = node->n_items;
    if (gives_more(op, node)) return call_more(ev, node, op, out);
    if (ip_lacks_shape(ev, node)) return call_shaped(ev, node, op, out);
    if (!check_names(ev, node, op)) return false;
    if (ev->loops > 0 && strcmp(op->info.name, "slice") == 0) {
        bool is_done;
        if (!ip_slice_in_loop(ev, node, out, &is_done)) return false;
        if (is_done) return true;
    }
    ip_val *args = ip_vals_new(n);
    size_t *offsets = ip_alloc_array((size_t)n, sizeof *offsets);
    bool ok = (args && offsets) || ip_eval_fail_memory(ev), scalars = true;
    for (int i = 0; ok && i < n; i++) {
        offsets[i] = node->items[i]->offset;
        ok = eval_argument(ev, op, node, i, &args[0], &args[i]);
        scalars = scalars && ok && ip_val_is_scalar(&args[i]) && !node->names[i];
    }
    if (ok && n == 2 && args[1].kind == IP_V_TUPLE && ip_gradient_takes_several(op, 1)) {
        ok = ip_gradients_of_several(ev, node->offset, args, out);
        ip_vals_free(args, n);
        ip_free(offsets);
        return ok;
    }
    if (ok) op = ip_gradient_row(op, args, node->names, n);
    /* As it was written: "min" of two numbers, whatever the row of that alias is called. */
    if (ok && !(scalars && n > 0 && ip_scalar_function(node->name->name, args, n, out)))
        ok = ip_call_op(ev, op, node->offset, args, node->names, offsets, n, out);
    ip_vals_free(args, n);
    ip_free(offsets);
    return ok;
}
