/* SPDX-License-Identifier: MIT */
/*
 * The forms of the language that are no rows of the operation table, because
 * they bind names or shapes, or give numbers: make, reduce, width, height, channels, white, shape.
 * iterate and stencil have files of their own.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "lang/states.h"
#include "lang/words.h"
#include "ops/associative.h"
#include "ops/check.h"

#include <math.h>
#include <string.h>

/* Of images, and of arrays. */
enum { SIDE_MAX = 1000000, EXTENT_MAX = INT32_MAX };

bool ip_form_args(ip_eval *ev, const ip_node *call, const ip_node **slots)
{
    const ip_word *word = ip_word_find(call->name->name);
    const char *const *names = word->params;
    int n = 0;
    while (n < IP_FORM_MAX_PARAMS && names[n])
        n++;
    memset(slots, 0, (size_t)n * sizeof *slots);
    for (int i = 0; i < call->n_items; i++) {
        int slot = i;
        if (call->names[i])
            for (slot = 0; slot < n && strcmp(names[slot], call->names[i]->name) != 0;)
                slot++;
        if (slot >= n && call->names[i])
            return ip_eval_fail(ev, call->starts[i], "%s has no parameter %.60s", call->name->name,
                                call->names[i]->name);
        if (slot >= n) return ip_eval_fail(ev, call->starts[i], "%s takes at most %d arguments", call->name->name, n);
        if (slots[slot])
            return ip_eval_fail(ev, call->starts[i], "%s: %s is given twice", call->name->name, names[slot]);
        slots[slot] = call->items[i];
    }
    for (int i = 0; i < word->n_required; i++)
        if (!slots[i]) return ip_eval_fail(ev, call->offset, "%s: %s is missing", call->name->name, names[i]);
    return true;
}

/* ---- width, height, channels, white, shape --------------------------------------------------- */

/* The array that a call is about, in *v; of an unknown one *out is an unknown value of that kind. */
static bool measured_array(ip_eval *ev, const ip_node *call, ip_value_kind kind, ip_val *v, ip_val *out)
{
    const ip_node *slot;
    if (!ip_form_args(ev, call, &slot)) return false;
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool ok = ip_eval_value(ev, slot, v);
    ev->place = place;
    if (!ok) return false;
    *out = ip_val_unknown(kind);
    if (v->kind == IP_V_MATRIX && !ip_call_list(ev, slot->offset, v)) {
        ip_val_free(v);
        return false;
    }
    if (v->kind == IP_V_ARRAY || v->kind == IP_V_ANY) return true;
    ip_eval_fail(ev, slot->offset, "%s takes an array, not %s", call->name->name, ip_val_kind_text(v));
    ip_val_free(v);
    return false;
}

bool ip_form_extent(ip_eval *ev, const ip_node *call, ip_val *out)
{
    ip_val v;
    if (!measured_array(ev, call, IP_V_NUMBER, &v, out)) return false;
    if (v.kind == IP_V_ARRAY && !ev->checking) {
        int64_t dims[4];
        ip_type_dims(&v.u.array->type, dims);
        const char *which = call->name->name;
        double number = (double)dims[*which == 'w' ? 2 : *which == 'h' ? 1 : 3];
        if (strcmp(which, "white") == 0) number = ip_type_full(&v.u.array->type);
        *out = ip_val_number(number, number != floor(number));
    }
    ip_val_free(&v);
    return true;
}

bool ip_form_shape(ip_eval *ev, const ip_node *call, ip_val *out)
{
    ip_val v;
    if (!measured_array(ev, call, IP_V_MATRIX, &v, out)) return false;
    const ip_type *type = v.kind == IP_V_ARRAY && !ev->checking ? &v.u.array->type : NULL;
    ip_matrix *m = type ? ip_matrix_new(1, type->rank) : NULL;
    for (int k = 0; m && k < type->rank; k++)
        m->numbers[k] = (double)type->shape[k];
    if (m) *out = (ip_val){ .kind = IP_V_MATRIX, .u.matrix = m };
    ip_val_free(&v);
    return m || !type || ip_eval_fail_memory(ev);
}

/* ---- make ------------------------------------------------------------------------------------ */

enum { MOST_CHANNELS = 4 };

/* Whether a value of this type is what make() of width and height, or of want's shape, gives. */
static bool is_made(const ip_type *type, const ip_type *want, bool any_channels)
{
    bool has_channels = any_channels && type->rank == want->rank + 1 && type->shape[want->rank] <= MOST_CHANNELS;
    bool fits = type->rank == want->rank || has_channels;
    return fits && memcmp(type->shape, want->shape, (size_t)want->rank * sizeof *want->shape) == 0;
}

/* A value in the shape of coords, any_channels: or of some channels: as it is, or spread, in its dtype. */
static bool spread(ip_eval *ev, const ip_node *call, const ip_coords *coords, bool any_channels, ip_val *value)
{
    if (ev->checking) {
        *value = (ip_val){ .kind = IP_V_ARRAY, .unknown = true };
        return true;
    }
    const ip_type *want = &coords->type;
    if (value->kind == IP_V_ARRAY && is_made(&value->u.array->type, want, any_channels)) return true;
    const ip_type *has_type = value->kind == IP_V_ARRAY ? &value->u.array->type : NULL;
    if (!has_type || has_type->rank <= want->rank || ip_type_count(has_type) == 1) {
        ip_val out;
        if (!ip_call_spread(ev, call->offset, want, value, value, &out)) return false;
        ip_val_free(value);
        *value = out;
    }
    const ip_type *type = &value->u.array->type;
    if (is_made(type, want, any_channels)) return true;
    char has[96], wants[96];
    return ip_eval_fail(ev, call->offset, "make: the expression has the shape %s, not %s", ip_shape_text(type, has),
                        ip_shape_text(want, wants));
}

enum { WIDTH, HEIGHT, EXPR, CHANNELS, SHAPE, N_MAKE };

/* shape=[depth height width channels], or fewer of them, or more before these. */
static bool make_shape(ip_eval *ev, const ip_node *node, ip_type *type)
{
    ip_val v;
    if (!ip_eval_value(ev, node, &v)) return false;
    const ip_matrix *m = v.kind == IP_V_MATRIX ? v.u.matrix : NULL;
    int n = m ? m->rows * m->cols : 0;
    bool is_known = m && !v.unknown, ok = v.kind == IP_V_MATRIX || v.kind == IP_V_ANY;
    if (is_known) ok = (m->rows == 1 || m->cols == 1) && n >= 1 && n <= IMGPAR_MAX_RANK;
    for (int k = 0; ok && is_known && k < n; k++) {
        ok = m->numbers[k] >= 1 && m->numbers[k] <= EXTENT_MAX && m->numbers[k] == floor(m->numbers[k]);
        type->shape[k] = ok ? (int64_t)m->numbers[k] : 1;
    }
    if (is_known && ok) type->rank = n;
    ip_val_free(&v);
    ip_error err = { .status = IMGPAR_OK };
    if (!ok)
        return ip_eval_fail(ev, node->offset, "make: shape is a vector of 1 to %d whole numbers from 1 to %d",
                            IMGPAR_MAX_RANK, EXTENT_MAX);
    return !ip_type_check_folded(type, "make", &err) || ip_eval_fail(ev, node->offset, "%s", err.message);
}

static bool reads_coordinates(const ip_node *node)
{
    bool reads = node->kind == IP_N_NAME && strlen(node->name->name) == 1 && strchr("zyxc", node->name->name[0]);
    for (int i = 0; i < node->n_items && !reads; i++)
        reads = node->items[i] && reads_coordinates(node->items[i]);
    return reads;
}

/* What the result looks like: from shape, or from width, height and channels. */
static bool make_type(ip_eval *ev, const ip_node *call, const ip_node *const *slots, ip_type *type)
{
    static const char *const whats[] = {
        [WIDTH] = "make: width", [HEIGHT] = "make: height", [CHANNELS] = "make: channels"
    };
    static const int64_t most[] = { [WIDTH] = SIDE_MAX, [HEIGHT] = SIDE_MAX, [CHANNELS] = MOST_CHANNELS };
    int64_t sides[N_MAKE] = { 1, 1, 0, 0 };
    bool known;
    *type = (ip_type){ .dtype = IMGPAR_I32, .space = IMGPAR_SPACE_DATA, .rank = 2, .shape = { 1, 1 } };
    if (slots[SHAPE] && (slots[WIDTH] || slots[HEIGHT] || slots[CHANNELS]))
        return ip_eval_fail(ev, slots[SHAPE]->offset,
                            "make: shape stands for width, height and channels; give it alone");
    if (slots[SHAPE]) return make_shape(ev, slots[SHAPE], type);
    for (int i = 0; i < SHAPE; i++) {
        if (i == EXPR || (i == CHANNELS && !slots[i])) continue;
        if (!slots[i]) return ip_eval_fail(ev, call->offset, "%s is missing", whats[i]);
        if (i == CHANNELS && reads_coordinates(slots[i]))
            return ip_eval_fail(ev, slots[i]->offset,
                                "make: the channels come after the expression: make(width, height, expr, channels=3)");
        if (!ip_eval_integer(ev, slots[i], whats[i], 1, most[i], &sides[i], &known)) return false;
    }
    type->rank = slots[CHANNELS] ? 3 : 2;
    type->shape[0] = sides[HEIGHT];
    type->shape[1] = sides[WIDTH];
    type->shape[2] = sides[CHANNELS];
    return true;
}

bool ip_form_make(ip_eval *ev, const ip_node *call, ip_val *out)
{
    const ip_node *slots[N_MAKE];
    ip_type type;
    if (!ip_form_args(ev, call, slots)) return false;
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool ok = make_type(ev, call, slots, &type);
    if (ok && !slots[EXPR]) ok = ip_eval_fail(ev, call->offset, "make: expr is missing");
    ip_coords coords = { .bound = true, .type = type };
    if (ok) {
        ev->place = (ip_place){ .in_region = true, .coords = &coords, .fallback = &coords, .make = &coords };
        ok = ip_eval_value(ev, slots[EXPR], out);
    }
    ev->place = place;
    if (!ok) return false;
    bool fits = out->kind == IP_V_ARRAY || out->kind == IP_V_ANY || ip_val_is_scalar(out);
    if (!fits)
        ip_eval_fail(ev, slots[EXPR]->offset, "make: expr must be a number or an array, not %s", ip_val_kind_text(out));
    ok = fits && spread(ev, call, &coords, !slots[CHANNELS] && !slots[SHAPE], out);
    if (!ok) ip_val_free(out);
    return ok;
}

/* ---- reduce --------------------------------------------------------------------------------------- */

static const struct {
    const char *word, *op;
} reductions[] = {
    { "sum", "sum" },       { "min", "minval" },    { "max", "maxval" },   { "mean", "mean" },  { "prod", "prod" },
    { "all", "all" },       { "any", "any" },       { "and", "bits_and" }, { "or", "bits_or" }, { "xor", "bits_xor" },
    { "argmin", "argmin" }, { "argmax", "argmax" }, { "var", "variance" }, { "std", "stddev" }, { "norm", "norm" },
};

static const ip_op *reduction_row(ip_eval *ev, const ip_node *word)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        const ip_op *op = strcmp(reductions[i].word, word->text) == 0 ? ip_op_find(reductions[i].op) : NULL;
        if (op) return op;
    }
    char have[160] = "";
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (ip_op_find(reductions[i].op)) strcat(strcat(have, i ? " " : ""), reductions[i].word);
    ip_eval_fail(ev, word->offset, "reduce: unknown reduction \"%.60s\"; there are: %s", word->text, have);
    return NULL;
}

/* reduce(a, "sum", axis=1): the row of that reduction, with whatever else is given. */
static bool reduce_named(ip_eval *ev, const ip_node *call, ip_val *out)
{
    int n = call->n_items;
    const ip_op *op = reduction_row(ev, call->items[1]);
    if (!op) return false;
    ip_val *args = ip_vals_new(n);
    ip_symbol **names = ip_alloc_array((size_t)n, sizeof *names);
    size_t *offsets = ip_alloc_array((size_t)n, sizeof *offsets);
    bool ok = (args && names && offsets) || ip_eval_fail_memory(ev);
    int used = 0;
    for (int i = 0; ok && i < n; i++) {
        if (i == 1) continue;
        names[used] = call->names[i];
        offsets[used] = call->items[i]->offset;
        ok = ip_eval_value(ev, call->items[i], &args[used++]);
    }
    if (ok) ok = ip_call_op(ev, op, call->offset, args, names, offsets, used, out);
    ip_vals_free(args, n);
    ip_free(names);
    ip_free(offsets);
    return ok;
}

/* Calls fn on two one-element placeholders of a's dtype. */
static bool fold_body(ip_eval *ev, const char *form, const ip_val *fn, const imgpar_array *a, size_t offset,
                      ip_val pq[2], ip_val *body)
{
    ip_type type = { .dtype = a->type.dtype,
                     .space = IMGPAR_SPACE_DATA,
                     .rank = 1,
                     .shape = { 1 },
                     .white = a->type.white,
                     .is_mask = a->type.is_mask };
    for (int i = 0; i < 2; i++)
        if (!ip_call_result(ev, offset, ip_build_placeholder(ev->ctx, &type), &pq[i])) return false;
    ev->folds++;
    bool ok = ip_call_function(ev, fn, pq, 2, offset, body);
    ev->folds--;
    if (!ok) return false;
    if (ip_val_is_scalar(body)) { /* a constant: legal, if odd */
        double number = body->number;
        bool fractional = body->fractional;
        return ip_call_result(ev, offset, ip_build_number(ev->ctx, number, fractional), body);
    }
    return body->kind == IP_V_ARRAY || ip_eval_fail(ev, offset, "%s: the function must give one number", form);
}

static bool cast_to(ip_eval *ev, size_t offset, ip_val *a, imgpar_dtype dtype)
{
    ip_val out;
    ip_arg args[] = { ip_arg_array(a->u.array), { .kind = IP_ARG_TEXT, .text = imgpar_dtype_name(dtype) } };
    if (!ip_call_result(ev, offset, ip_build(ev->ctx, ip_op_find("cast"), args, 2), &out)) return false;
    ip_val_free(a);
    *a = out;
    return true;
}

static void fold_function_free(ip_fold_function *f)
{
    ip_val_free(&f->p);
    ip_val_free(&f->q);
    ip_val_free(&f->body);
}

/* Integers are folded into whole numbers; infinities are the dtype's ends. */
static bool check_init(ip_eval *ev, const ip_node *call, const ip_val *a, double init)
{
    const imgpar_dtype dtype = a->u.array->type.dtype;
    if (ip_dtype(dtype)->is_float || isinf(init) || init == floor(init)) return true;
    return ip_eval_fail(ev, call->items[1]->offset,
                        "%s: init is %g, but elements are %s; cast(a, f32) makes them floats", call->name->name, init,
                        imgpar_dtype_name(dtype));
}

imgpar_dtype ip_fold_dtype(const imgpar_array *body)
{
    const char *symbol = body->op && body->op->symbol && body->n_inputs == 2 ? body->op->symbol : "";
    const imgpar_dtype dtype = body->type.dtype;
    const bool adds = strlen(symbol) == 1 && strchr("+-*", *symbol);
    return adds && (dtype == IMGPAR_I32 || dtype == IMGPAR_U32) ? IMGPAR_I64 : dtype;
}

/* fn on elements of a's dtype, as a graph. Where it gives a wider dtype a is cast to that first, once or twice. */
static bool fold_function(ip_eval *ev, const ip_node *call, ip_val *a, double init, const ip_val *fn,
                          ip_fold_function *f)
{
    size_t offset = call->items[2]->offset;
    enum { TRIES = 3 };
    for (int i = 0;; i++) {
        ip_val pq[2] = { { .kind = IP_V_NONE }, { .kind = IP_V_NONE } };
        *f = (ip_fold_function){ .body = { .kind = IP_V_NONE } };
        bool ok = fold_body(ev, call->name->name, fn, a->u.array, offset, pq, &f->body);
        f->p = pq[0];
        f->q = pq[1];
        const imgpar_dtype dtype = ok ? ip_fold_dtype(f->body.u.array) : IMGPAR_U8, given = a->u.array->type.dtype;
        if (ok && dtype == given && check_init(ev, call, a, init)) return true;
        fold_function_free(f);
        if (ok && dtype == given) return false;
        if (ok && i == TRIES)
            return ip_eval_fail(ev, offset, "%s: the function gives %s for elements of %s", call->name->name,
                                imgpar_dtype_name(dtype), imgpar_dtype_name(given));
        if (!ok || !cast_to(ev, call->offset, a, dtype)) return false;
    }
}

/* Whether a value may be another one as an element of dtype `to`. What operators would do to an integer beside a float
 * is no loss here. */
static bool loses_values(imgpar_dtype from, imgpar_dtype to)
{
    const ip_dtype_facts *a = ip_dtype(from), *b = ip_dtype(to);
    if (from == to || ip_dtype_is_complex(from) || ip_dtype_is_complex(to)) return false;
    if (b->is_float) return a->is_float && b->size_bytes < a->size_bytes;
    return a->is_float || to == IMGPAR_BOOL || a->minimum < b->minimum || a->maximum > b->maximum;
}

/* Whether elements must not be cast to what the function f gives: it is told each as it is, unless it joins them in any
 * order, and so has no other arguments than what it gives. */
static bool takes_elements_as_they_are(const ip_val *a, double init, const ip_fold_function *f, bool associative)
{
    const imgpar_array *p = f->p.u.array;
    return !associative && loses_values(a->u.array->type.dtype, p->type.dtype) &&
           !ip_folds_in_any_order(p, f->q.u.array, f->body.u.array, init);
}

/* The fold as one with a tuple of states, of one: then elements keep their dtype. Gives that state's result. */
static bool as_one_state(ip_eval *ev, const ip_states_call *c, const ip_scan_options *scan, const ip_reducing *reducing,
                         ip_val *out)
{
    ip_val init = ip_val_tuple(1), results;
    if (init.kind == IP_V_NONE) return ip_eval_fail_memory(ev);
    init.u.tuple->items[0] = ip_val_copy(c->init);
    const ip_states_call states = { .call = c->call, .a = c->a, .init = &init, .fn = c->fn };
    const bool ok =
        scan ? ip_states_scan(ev, &states, scan, &results) : ip_states_reduce(ev, &states, reducing, &results);
    ip_val_free(&init);
    if (!ok) return false;
    *out = ip_val_copy(&results.u.tuple->items[0]);
    ip_val_free(&results);
    return true;
}

static bool scan_build(ip_eval *ev, const ip_states_call *c, const ip_scan_options *options, ip_val *out)
{
    const double init = c->init->number;
    ip_fold_function f;
    ip_val elements = ip_val_copy(c->a);
    bool ok = fold_function(ev, c->call, &elements, init, c->fn, &f);
    if (!ok) {
        ip_val_free(&elements);
        return false;
    }
    if (takes_elements_as_they_are(c->a, init, &f, options->associative))
        ok = as_one_state(ev, c, options, NULL, out);
    else
        ok = ip_call_result(
            ev, c->call->offset,
            ip_build_scan_fold(ev->ctx, elements.u.array, init, options, f.p.u.array, f.q.u.array, f.body.u.array),
            out);
    fold_function_free(&f);
    ip_val_free(&elements);
    return ok;
}

/* true or false at a node that may be NULL: false. */
static bool flag_of(ip_eval *ev, const ip_node *node, const char *form, const char *name, bool *flag)
{
    ip_val v;
    *flag = false;
    if (!node) return true;
    if (!ip_eval_value(ev, node, &v)) return false;
    const bool fits = v.kind == IP_V_BOOL || v.kind == IP_V_ANY;
    *flag = fits && v.number != 0;
    if (!fits) ip_eval_fail(ev, node->offset, "%s: %s must be true or false, not %s", form, name, ip_val_kind_text(&v));
    ip_val_free(&v);
    return fits;
}

static bool scan_options(ip_eval *ev, const ip_node *const *slots, ip_scan_options *options)
{
    int64_t axis = 0;
    bool known = true;
    *options = (ip_scan_options){ .axis = 0 };
    if (slots[3] && !ip_eval_integer(ev, slots[3], "scan: axis", -IMGPAR_MAX_RANK, IMGPAR_MAX_RANK - 1, &axis, &known))
        return false;
    options->axis = (int)axis;
    return flag_of(ev, slots[4], "scan", "exclusive", &options->exclusive) &&
           flag_of(ev, slots[5], "scan", "reverse", &options->reverse) &&
           flag_of(ev, slots[6], "scan", "associative", &options->associative);
}

/* The first array of what is folded. */
static const ip_val *first_array(const ip_val *a)
{
    const ip_record *record = a->kind == IP_V_ARRAY ? a->record : NULL;
    const ip_val *items = record ? record->items : a->kind == IP_V_TUPLE ? a->u.tuple->items : a;
    const int n = record ? record->n : a->kind == IP_V_TUPLE ? a->u.tuple->n : 1;
    for (int k = 0; k < n; k++)
        if (items[k].kind == IP_V_ARRAY) return &items[k];
    return a;
}

static bool reduce_options_of(ip_eval *ev, const ip_node *const *slots, const ip_val *a, ip_reducing *options)
{
    *options = (ip_reducing){ .has_axes = slots[3] != NULL };
    if (slots[4] && !slots[3]) return ip_eval_fail(ev, slots[4]->offset, "reduce: keepdims needs axis");
    if (slots[3] && !ip_reduce_options(ev, slots[3], slots[4], a, &options->axes, &options->keepdims)) return false;
    return flag_of(ev, slots[5], "reduce", "associative", &options->associative);
}

/* reduce(a, init, (p, q) -> expr). */
static bool reduce_build(ip_eval *ev, const ip_states_call *c, const ip_reducing *options, ip_val *out)
{
    const ip_node *call = c->call;
    const double init = c->init->number;
    ip_fold_function f;
    ip_val elements = ip_val_copy(c->a);
    *out = (ip_val){ .kind = IP_V_NONE };
    bool ok = fold_function(ev, call, &elements, init, c->fn, &f);
    if (!ok) {
        ip_val_free(&elements);
        return false;
    }
    imgpar_array *p = f.p.u.array, *q = f.q.u.array, *body = f.body.u.array;
    if (takes_elements_as_they_are(c->a, init, &f, options->associative)) {
        ok = as_one_state(ev, c, NULL, options, out);
    } else if (!options->associative && !ip_folds_in_any_order(p, q, body, init)) {
        unsigned all = (1u << elements.u.array->type.rank) - 1;
        ok = ip_reduce_in_order(ev, call, &elements, options->has_axes ? options->axes : all, options->keepdims, init,
                                &f);
        if (ok) *out = ip_val_copy(&elements);
    } else if (options->has_axes) {
        ok = ip_reduce_axes(ev, call, &elements, options->axes, options->keepdims, init, c->fn, out);
    } else {
        imgpar_array *folded = ip_build_fold(ev->ctx, elements.u.array, init, p, q, body, options->associative);
        ok = ip_call_result(ev, call->offset, folded, out);
    }
    fold_function_free(&f);
    ip_val_free(&elements);
    return ok;
}

static bool fold(ip_eval *ev, const ip_node *call, bool is_scan, ip_val *out)
{
    const char *form = call->name->name;
    const ip_node *slots[IP_FORM_MAX_PARAMS] = { NULL };
    ip_scan_options options;
    ip_reducing reducing;
    ip_val a, init = { .kind = IP_V_NONE }, fn = init;
    if (!ip_form_args(ev, call, slots)) return false;
    if (!ip_eval_any(ev, slots[0], &a)) return false;
    bool ok = (a.kind != IP_V_MATRIX || ip_call_list(ev, slots[0]->offset, &a)) && ip_eval_any(ev, slots[1], &init);
    const bool has_states = ok && ip_states_are(&init), may_have_states = ok && init.kind == IP_V_ANY;
    const bool is_one_state = ok && !has_states && init.kind == IP_V_ARRAY; /* a number for each line, or one */
    if (ok && !has_states && !is_one_state && !ip_val_is_scalar(&init)) {
        ip_val_free(&init);
        ok = ip_eval_number(ev, slots[1], is_scan ? "scan: init" : "reduce: init", &init);
    }
    ok = ok && ip_eval_any(ev, slots[2], &fn) && (!is_scan || scan_options(ev, slots, &options));
    if (ok && a.kind != IP_V_ARRAY && a.kind != IP_V_ANY && !(has_states && a.kind == IP_V_TUPLE))
        ok = ip_eval_fail(ev, slots[0]->offset, "%s takes an array, not %s", form, ip_val_kind_text(&a));
    if (ok && fn.kind != IP_V_FUNCTION && fn.kind != IP_V_ANY)
        ok = ip_eval_fail(ev, slots[2]->offset, "%s: a function such as (p, q) -> p + q is expected, not %s", form,
                          ip_val_kind_text(&fn));
    if (ok && !is_scan) ok = reduce_options_of(ev, slots, has_states ? first_array(&a) : &a, &reducing);
    const ip_states_call states = { .call = call, .a = &a, .init = &init, .fn = &fn };
    if (ok && has_states) {
        ok = is_scan ? ip_states_scan(ev, &states, &options, out) : ip_states_reduce(ev, &states, &reducing, out);
    } else if (ok && ev->checking) {
        ip_val pq[2] = { ip_val_unknown(IP_V_ARRAY), ip_val_unknown(IP_V_ARRAY) }, body;
        ok = may_have_states || ip_call_function(ev, &fn, pq, 2, slots[2]->offset, &body);
        if (ok && !may_have_states) ip_val_free(&body);
        *out = ok ? ip_val_unknown(may_have_states ? IP_V_ANY : IP_V_ARRAY) : *out;
    } else if (ok && is_one_state) {
        ok = as_one_state(ev, &states, is_scan ? &options : NULL, is_scan ? NULL : &reducing, out);
    } else if (ok && is_scan) {
        ok = scan_build(ev, &states, &options, out);
    } else if (ok) {
        ok = reduce_build(ev, &states, &reducing, out);
    }
    ip_val_free(&a);
    ip_val_free(&init);
    ip_val_free(&fn);
    return ok;
}

bool ip_form_reduce(ip_eval *ev, const ip_node *call, ip_val *out)
{
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool named = call->n_items >= 2 && call->items[1]->kind == IP_N_TEXT && !call->names[1];
    bool ok = named ? reduce_named(ev, call, out) : fold(ev, call, false, out);
    ev->place = place;
    return ok;
}

/* scan(a, "sum", axis=1) is the row of that name; scan(a, init, function, axis=1) a fold that keeps what it passes. */
bool ip_form_scan(ip_eval *ev, const ip_node *call, ip_val *out)
{
    const ip_op *op = ip_op_find("scan");
    const ip_node *second = call->n_items >= 2 ? call->items[1] : NULL;
    bool is_function = second && !call->names[1] && second->kind != IP_N_TEXT;
    if (is_function && second->kind == IP_N_NAME) {
        bool has_third = call->n_items > 2 && !call->names[2] && call->items[2]->kind != IP_N_NUMBER;
        is_function = has_third && ip_choice_find(op->info.params[0], second->name->name) < 0;
    }
    for (int i = 1; i < call->n_items; i++)
        is_function = is_function || (call->names[i] && (strcmp(call->names[i]->name, "init") == 0 ||
                                                         strcmp(call->names[i]->name, "function") == 0));
    if (!is_function) return ip_call_row(ev, call, op, out);
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool ok = fold(ev, call, true, out);
    ev->place = place;
    return ok;
}
