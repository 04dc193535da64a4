/* SPDX-License-Identifier: MIT */
/*
 * Rows of the table that are written in the language (ops/written.def): the row's formula is its program. What a call
 * gives is what the text gives, so such a row fuses, and computes in strips and on every device, as if the user had
 * written it.
 *
 *     NAME(a, size=5)  ->  names of inputs and parameters, and what is said of the first input, in a scope
 *                      ->  the formula, parsed and evaluated
 *
 * A mistake in a formula would show at its first call, in any test: nothing is checked beforehand. What fails is the
 * call's fault, so a message names the row and no place in its text.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "base/str.h"
#include "graph/op.h"
#include "lang/parser.h"
#include "lang/program.h"
#include "lang/written.h"
#include "ops/along.h"
#include "ops/axes.h"
#include "ops/check.h"
#include "ops/derived.h"
#include "ops/row_functions.h"
#include "ops/white.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 70, MOST_ELEMENTS = 9 };

typedef struct names {
    ip_program program;
    int n;
    ip_symbol *symbols[MOST_NAMES];
    ip_val vals[MOST_NAMES];
    bool failed; /* no memory */
} names;

/* Takes v over. */
static void bind(names *to, const char *name, ip_val v)
{
    ip_symbol *symbol = ip_symbol_intern(&to->program.symbols, name, strlen(name));
    if (!symbol || v.kind == IP_V_NONE || to->n == MOST_NAMES) {
        to->failed = true;
        ip_val_free(&v);
        return;
    }
    to->symbols[to->n] = symbol;
    to->vals[to->n++] = v;
}

/* The index-th of "reflect|wrap", in the program's arena; NONE without memory. */
static ip_val word(names *to, const char *words, int index)
{
    while (index-- > 0)
        words = strchr(words, '|') + 1;
    size_t n = strcspn(words, "|");
    char *copy = ip_arena_alloc(&to->program.arena, n + 1);
    if (!copy) return (ip_val){ .kind = IP_V_NONE };
    return ip_val_text(memcpy(copy, words, n));
}

static ip_val number_of(const imgpar_array *call, const imgpar_op_param *info, const ip_param *p)
{
    if (p->input >= 0) return ip_val_array(imgpar_array_retain(call->inputs[p->input]));
    if (p->text) return ip_val_text(p->text); /* which lives as long as the call */
    if (ip_param_kind_of(info) == IP_PARAM_BOOL) return ip_val_bool(p->number != 0);
    return ip_val_number(p->number, ip_param_kind_of(info) != IP_PARAM_INTEGER);
}

/* Numbers as a matrix of the language: what numbers(), fold() and parameters take. */
static ip_val matrix_of(const double *numbers, int rows, int cols)
{
    ip_matrix *m = ip_matrix_new(rows, cols);
    if (!m) return (ip_val){ .kind = IP_V_NONE };
    memcpy(m->numbers, numbers, sizeof *numbers * (size_t)rows * (size_t)cols);
    return (ip_val){ .kind = IP_V_MATRIX, .u.matrix = m };
}

/* The sum m_sum, and m_turned by half a turn: of kernels that are convolved with. */
static void bind_turned(names *to, const char *name, const ip_param *p)
{
    char derived[64];
    double sum = 0;
    ip_val turned = matrix_of(p->numbers, p->rows, p->cols);
    const int n = p->rows * p->cols;
    for (int k = 0; k < n && turned.kind == IP_V_MATRIX; k++)
        sum += turned.u.matrix->numbers[k] = p->numbers[n - 1 - k];
    snprintf(derived, sizeof derived, "%.30s_turned", name);
    bind(to, derived, turned);
    snprintf(derived, sizeof derived, "%.30s_sum", name);
    bind(to, derived, ip_val_number(sum, true));
}

/* Two matrices of 0 and 1: where m is above 0, m_on, and where it is below, m_off. */
static void bind_signs(names *to, const char *name, const ip_param *p)
{
    char derived[64];
    ip_val on = matrix_of(p->numbers, p->rows, p->cols), off = matrix_of(p->numbers, p->rows, p->cols);
    for (int k = 0; k < p->rows * p->cols && on.kind == IP_V_MATRIX && off.kind == IP_V_MATRIX; k++) {
        on.u.matrix->numbers[k] = p->numbers[k] > 0;
        off.u.matrix->numbers[k] = p->numbers[k] < 0;
    }
    snprintf(derived, sizeof derived, "%.30s_on", name);
    bind(to, derived, on);
    snprintf(derived, sizeof derived, "%.30s_off", name);
    bind(to, derived, off);
}

/* A matrix that was not given, and is not turned either: as rows take it. */
static void bind_no_matrix(names *to, const char *name)
{
    char derived[64];
    bind(to, name, ip_val_text("auto"));
    snprintf(derived, sizeof derived, "%.30s_turned", name);
    bind(to, derived, ip_val_text("auto"));
}

/* A vector or a matrix; a small one m as m_rows, m_cols and its elements m11, m12, ..., too. */
static void bind_matrix(names *to, const char *name, const ip_param *p)
{
    char element[64];
    bind(to, name, matrix_of(p->numbers, p->rows, p->cols));
    bind_turned(to, name, p);
    bind_signs(to, name, p);
    snprintf(element, sizeof element, "%.30s_rows", name);
    bind(to, element, ip_val_number(p->rows, false));
    snprintf(element, sizeof element, "%.30s_cols", name);
    bind(to, element, ip_val_number(p->cols, false));
    if (p->rows * p->cols > MOST_ELEMENTS) return;
    for (int k = 0; k < p->rows * p->cols; k++) {
        snprintf(element, sizeof element, "%.30s%d%d", name, k / p->cols + 1, k % p->cols + 1);
        bind(to, element, ip_val_number(p->numbers[k], true));
    }
}

/*
 * Note [Pictures of depth 1]
 * A row of images takes an image in a stack of one, too: [1, height, width, channels], or [1, height, width]. Its text
 * knows that as the image alone, so that axis 2 is always that of channels. What comes of it has the stack's axis
 * again, if it is a picture or a mask, too. A row of volumes takes them as volumes of one plane, which its text knows
 * by is_volume.
 */

/* A new reference to the input as the text knows it. */
static imgpar_array *input_of(const imgpar_array *call, int k)
{
    imgpar_array *a = call->inputs[k];
    return ip_is_stack_of_one(call, k) ? ip_build_reshaped(a, a->type.rank - 1, a->type.shape + 1)
                                       : imgpar_array_retain(a);
}

/* Takes result over. */
static imgpar_array *stacked_again(const imgpar_array *call, imgpar_array *result)
{
    int64_t shape[IMGPAR_MAX_RANK] = { 1 };
    const ip_type *type = &result->type;
    const bool is_picture =
        strcmp(call->op->info.category, "measure") != 0 || ip_white_rule_of(call->op) == IP_WHITE_MASK;
    if (!result->op || !is_picture || !ip_is_stack_of_one(call, 0) || type->rank != call->inputs[0]->type.rank - 1)
        return result;
    memcpy(shape + 1, type->shape, (size_t)type->rank * sizeof *shape);
    imgpar_array *stack = ip_build_reshaped(result, type->rank + 1, shape);
    imgpar_array_release(result);
    return stack;
}

static void bind_arguments(names *to, const imgpar_array *call)
{
    const imgpar_op_info *info = &call->op->info;
    for (int k = 0; k < info->n_inputs; k++) {
        double number;
        bool fractional;
        const bool is_number = ip_array_is_number(call->inputs[k], &number, &fractional); /* and takes others' dtype */
        bind(to, info->input_names[k], is_number ? ip_val_number(number, fractional) : ip_val_array(input_of(call, k)));
    }
    for (int k = 0; k < info->n_params; k++) {
        const imgpar_op_param *p = info->params[k];
        bool is_word = ip_param_kind_of(p) == IP_PARAM_CHOICE;
        if (call->params[k].rows > 0) {
            bind_matrix(to, p->name, &call->params[k]);
            continue;
        }
        if (ip_param_kind_of(p) == IP_PARAM_MATRIX) {
            bind_no_matrix(to, p->name);
            continue;
        }
        if (ip_param_kind_of(p) == IP_PARAM_VECTOR && p->choices && strcmp(p->choices, "whole") == 0) {
            bind(to, p->name, ip_val_text("auto")); /* axes that were not given, as rows take them */
            continue;
        }
        if (p->choices && strcmp(p->choices, "vector") == 0 && call->params[k].input < 0 && !ip_param_is_beyond(p)) {
            const ip_param one = { .rows = 1, .cols = 1, .numbers = (double[]){ call->params[k].number } };
            bind_matrix(to, p->name, &one); /* for all channels */
            continue;
        }
        bind(to, p->name,
             is_word ? word(to, p->choices, (int)call->params[k].number) : number_of(call, p, &call->params[k]));
    }
}

/* Whether f32 is too coarse for an input's elements. */
static bool is_wide(const imgpar_array *input)
{
    const ip_dtype_facts *dtype = ip_dtype(input->type.dtype);
    return input->type.dtype == IMGPAR_F64 || (!dtype->is_float && dtype->size_bytes >= 4);
}

/* What ops/written.def says that formulas may know of the inputs. */
static void bind_facts(names *to, const imgpar_array *call)
{
    const ip_type *type = &call->inputs[0]->type, *last = &call->inputs[call->op->info.n_inputs - 1]->type;
    const ip_dtype_facts *dtype = ip_dtype(type->dtype);
    bool is_one_wide = false;
    for (int k = 0; k < call->op->info.n_inputs; k++)
        is_one_wide = is_one_wide || (is_wide(call->inputs[k]) && !ip_array_is_number(call->inputs[k], NULL, NULL));
    int64_t dims[4];
    ip_type_dims(type, dims);
    bool has_alpha = type->space != IMGPAR_SPACE_DATA && dims[3] % 2 == 0;
    bind(to, "type", ip_val_text(dtype->name));
    bind(to, "real", ip_val_text(is_wide(call->inputs[0]) ? "f64" : "f32"));
    bind(to, "wider", ip_val_text(is_one_wide ? "f64" : "f32"));
    bind(to, "each", ip_val_number((double)(ip_type_count(type) / ip_max(ip_type_count(last), 1)), false));
    bind(to, "sums", ip_val_text(ip_dtype(ip_sum_dtype(type->dtype))->name));
    const bool has_levels = type->dtype == IMGPAR_U8 || type->dtype == IMGPAR_U16;
    bind(to, "full", ip_val_number(ip_type_full(type), false));
    bind(to, "levels", ip_val_number(has_levels ? dtype->maximum : -1, false));
    bind(to, "rank", ip_val_number(type->rank - ip_is_stack_of_one(call, 0), false));
    bind(to, "depth", ip_val_number((double)dims[0], false));
    bind(to, "is_volume", ip_val_bool(ip_is_of_volume(call)));
    if (call->op->flags & IP_OP_ALONG) {
        const int given = (int)ip_param_number(call, "axis"), axis = given < 0 ? given + type->rank : given;
        bind(to, "here", ip_val_number(axis, false));
        bind(to, "n", ip_val_number((double)type->shape[axis], false));
    }
    for (int k = 0; k < to->n; k++) /* rows with a parameter of that name need no number */
        if (strcmp(to->symbols[k]->name, "alpha") == 0) return;
    bind(to, "alpha", ip_val_number(has_alpha ? (double)dims[3] - 1 : -1, false));
}

/* Whether a message is an operator's, or an operation's that works element by element: "*: a is ..., b is ...". */
static bool is_elementwise(const char *message)
{
    char name[32];
    const size_t n = strcspn(message, ":");
    if (n == 0 || n >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)n, message);
    const ip_op *op = ip_op_find(name);
    return op ? (op->flags & IP_OP_ELEMENTWISE) != 0 : ip_op_find_symbol(name, 2) != NULL;
}

/*
 * What the caller is told where the formula fails. Inputs of which an operator in it says that their sizes do not fit
 * are told by the row's own name, names and order.
 */
static imgpar_status tell(const imgpar_array *call, const ip_error *inner, ip_error *err)
{
    if (inner->status == IMGPAR_E_SHAPE && is_elementwise(inner->message)) ip_check_pairs_fit(call, err);
    return ip_fail(err, inner->status ? inner->status : IMGPAR_E_INTERNAL, "%s: %s", call->op->info.name,
                   inner->message);
}

imgpar_array *ip_written_expand(const imgpar_array *call)
{
    ip_error err = { .status = IMGPAR_OK }, named = { .status = IMGPAR_OK };
    names to = { .program = { .text = { .text = call->op->info.formula, .length = strlen(call->op->info.formula) } } };
    ip_eval ev = { .program = &to.program, .is_formula = true, .ctx = call->ctx, .err = &err };
    imgpar_array *result = NULL;
    if (!ip_parse(&to.program, IP_PARSE_APPLY, &err)) {
        bind_arguments(&to, call);
        bind_facts(&to, call);
        const ip_scope given = { .n = to.n, .names = to.symbols, .vals = to.vals };
        ev.given = &given;
        ev.full = ip_type_full(&call->inputs[0]->type); /* Note [Light and levels in formulas] */
        result = to.failed ? NULL : ip_program_value(&ev, NULL);
        if (result) result = stacked_again(call, result);
    }
    for (int k = 0; k < to.n; k++)
        ip_val_free(&to.vals[k]);
    ip_program_free(&to.program);
    if (result) return result;
    if (to.failed) ip_fail_memory(&err, "building an operation");
    tell(call, &err, &named);
    return ip_array_error(call->ctx, named.status, named.message);
}
