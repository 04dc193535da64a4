/* SPDX-License-Identifier: MIT */
/*
 * scan() and reduce() of several states, as a record or as a tuple:
 *
 *     scan(z, zip(x=0, p=1), (s, z) -> zip(x=s.x + gain(s) * (z - s.x), p=(1 - gain(s)) * s.p), axis=1)
 *     (n, sum) = scan(a, (0, 0), (n, s, q) -> (n + 1, s + q))
 *
 * The elements are an array, a record or a tuple of arrays.
 *
 * Note [Types of states]
 * A state that starts from an array has its dtype. One that starts from a number has what the function makes of it,
 * found by applying the function to placeholders until nothing changes: first the number is what it is, and where the
 * function leaves it one it stays one, any, in i64 or with a fraction in f64, which never widens what it meets; else
 * it gets the dtype that the function gives, of sums of integers i64 (ip_fold_dtype()). States of an associative
 * function have their elements' dtypes.
 */
#include "base/dtype.h"
#include "base/str.h"
#include "ir/expr.h"
#include "lang/states.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = IP_SCAN_STATES };

/* What is known of a state. */
typedef struct state {
    imgpar_dtype dtype;
    bool is_number; /* as far as is known the function leaves it one, */
    bool is_open;   /* and no type depends on which one: it may be any */
    bool fractional;
    bool is_fixed; /* starts from an array, or is to have an element's dtype */
    double white;
    bool is_mask;
} state;

typedef struct stating {
    ip_eval *ev;
    const ip_node *call;
    size_t offset; /* of the function */
    const ip_val *fn;
    const ip_record *record;      /* of the states; NULL: they are a tuple */
    const ip_record *of_elements; /* of the elements, the same */
    int n, m;
    const ip_val *inits;
    ip_val elements[MOST]; /* arrays and numbers */
    state of[MOST];
    ip_val p[MOST], q[MOST], body[MOST];
} stating;

static const char *form_of(const stating *s) { return s->call->name->name; }

/* "x" or "state 2". */
static const char *name_of(const stating *s, int k, char text[24])
{
    if (s->record) return s->record->names[k]->name;
    snprintf(text, 24, "state %d", k + 1);
    return text;
}

static void free_all(ip_val *vals, int n)
{
    for (int k = 0; k < n; k++)
        ip_val_free(&vals[k]);
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* n values as one record, or as they are, at args; returns how many there are, -1 where it failed. */
static int put_arguments(stating *s, const ip_record *record, const ip_val *vals, int n, ip_val *args)
{
    for (int k = 0; !record && k < n; k++)
        args[k] = ip_val_copy(&vals[k]);
    if (!record) return n;
    ip_record *packed = ip_record_new(n);
    if (!packed) return ip_eval_fail_memory(s->ev) ? 0 : -1;
    for (int k = 0; k < n; k++) {
        packed->names[k] = record->names[k];
        packed->items[k] = ip_val_copy(&vals[k]);
    }
    return ip_record_pack(s->ev, s->offset, packed, args) ? 1 : -1;
}

static bool refuse_result(stating *s, const ip_val *result)
{
    ip_str names = IP_STR_INIT;
    for (int k = 0; s->record && k < s->n; k++)
        ip_str_printf(&names, "%s%.60s", k ? ", " : "", s->record->names[k]->name);
    if (s->record)
        ip_eval_fail(s->ev, s->offset, "%s: the function must give what init has, a record of %s%s", form_of(s),
                     ip_str_text(&names), result->record ? "; it gives other components" : "");
    else
        ip_eval_fail(s->ev, s->offset, "%s: the function must give as many values as init has, %d", form_of(s), s->n);
    ip_str_free(&names);
    return false;
}

/* What the function gives, a value for each state. Takes the result. */
static bool take_result(stating *s, ip_val *result, ip_val *body)
{
    const ip_val *items = NULL;
    if (s->record && result->kind == IP_V_ARRAY && ip_record_has_names(s->record, result->record))
        items = result->record->items;
    else if (!s->record && result->kind == IP_V_TUPLE && result->u.tuple->n == s->n)
        items = result->u.tuple->items;
    else if (!s->record && s->n == 1 && result->kind != IP_V_TUPLE)
        items = result;
    bool ok = items || result->kind == IP_V_ANY || refuse_result(s, result);
    for (int k = 0; items && k < s->n; k++)
        body[k] = ip_val_copy(&items[s->record ? ip_record_find(result->record, s->record->names[k]) : k]);
    for (int k = 0; ok && items && k < s->n; k++)
        if (body[k].kind != IP_V_ARRAY && body[k].kind != IP_V_ANY && !ip_val_is_scalar(&body[k]))
            ok = ip_eval_fail(s->ev, s->offset, "%s: a state is a number, not %s", form_of(s),
                              ip_val_kind_text(&body[k]));
    if (!ok) free_all(body, s->n);
    ip_val_free(result);
    return ok;
}

/* body[n] = what the function gives for the states p and the element q. */
static bool apply(stating *s, const ip_val *p, const ip_val *q, ip_val *body)
{
    ip_val args[2 * MOST] = { { .kind = IP_V_NONE } }, result;
    const int n_p = put_arguments(s, s->record, p, s->n, args);
    const int n_q = n_p < 0 ? -1 : put_arguments(s, s->of_elements, q, s->m, args + n_p);
    s->ev->folds++;
    bool ok = n_q >= 0 && ip_call_function(s->ev, s->fn, args, n_p + n_q, s->offset, &result);
    s->ev->folds--;
    free_all(args, 2 * MOST);
    return ok && take_result(s, &result, body);
}

/* ---- types --------------------------------------------------------------------------------------- */

static ip_type one_element(imgpar_dtype dtype, double white, bool is_mask)
{
    return (ip_type){
        .dtype = dtype, .space = IMGPAR_SPACE_DATA, .rank = 1, .shape = { 1 }, .white = white, .is_mask = is_mask
    };
}

static bool make_placeholders(stating *s)
{
    ip_eval *ev = s->ev;
    for (int k = 0; k < s->n; k++) {
        const state *of = &s->of[k];
        const ip_type type = one_element(of->dtype, of->white, of->is_mask);
        const ip_range range = { s->inits[k].number, s->inits[k].number };
        imgpar_array *p = of->is_number ? ip_build_loop_value(ev->ctx, of->fractional, of->is_open ? NULL : &range)
                                        : ip_build_placeholder(ev->ctx, &type);
        ip_val_free(&s->p[k]);
        if (!ip_call_result(ev, s->offset, p, &s->p[k])) return false;
    }
    for (int k = 0; k < s->m; k++) {
        ip_val_free(&s->q[k]);
        s->q[k] = ip_val_copy(&s->elements[k]);
        if (s->elements[k].kind != IP_V_ARRAY) continue;
        const ip_type *of = &s->elements[k].u.array->type, type = one_element(of->dtype, of->white, of->is_mask);
        ip_val_free(&s->q[k]);
        if (!ip_call_result(ev, s->offset, ip_build_placeholder(ev->ctx, &type), &s->q[k])) return false;
    }
    return true;
}

static bool cast_to(stating *s, ip_val *a, imgpar_dtype dtype)
{
    ip_val out;
    const ip_arg args[] = { ip_arg_array(a->u.array),
                            { .name = "dtype", .kind = IP_ARG_TEXT, .text = imgpar_dtype_name(dtype) } };
    if (!ip_call_result(s->ev, s->offset, ip_build(s->ev->ctx, ip_op_find("cast"), args, 2), &out)) return false;
    ip_val_free(a);
    *a = out;
    return true;
}

/* What was learnt of state k by what the function gives for it. *again: something new. */
static bool learn(stating *s, int k, bool *again)
{
    state *of = &s->of[k];
    const ip_val *body = &s->body[k];
    char text[24];
    const bool is_number = body->kind != IP_V_ARRAY || body->u.array->bends;
    if (is_number) {
        const bool fractional =
            body->kind == IP_V_ARRAY ? ip_dtype(body->u.array->type.dtype)->is_float : body->fractional;
        if (!of->is_number || of->fractional || !fractional) return true;
        of->fractional = *again = true;
        of->dtype = IMGPAR_F64;
        return true;
    }
    const ip_type *type = &body->u.array->type;
    if (ip_type_count(type) != 1)
        return ip_eval_fail(s->ev, s->offset, "%s: the function gives more than one number for %s", form_of(s),
                            name_of(s, k, text));
    const imgpar_dtype dtype = of->is_fixed ? type->dtype : ip_fold_dtype(body->u.array);
    if (!of->is_number && of->dtype == dtype) return true;
    if (of->is_fixed)
        return ip_eval_fail(s->ev, s->offset, "%s: the function gives %s for %s, which starts as %s; cast either",
                            form_of(s), imgpar_dtype_name(type->dtype), name_of(s, k, text),
                            imgpar_dtype_name(of->dtype));
    of->is_number = false;
    of->dtype = dtype;
    of->white = type->white;
    of->is_mask = type->is_mask;
    *again = true;
    return true;
}

/* Whether the number that state k starts from is one of its dtype; infinities are the dtype's ends. */
static bool holds_init(stating *s, int k)
{
    const ip_dtype_facts *facts = ip_dtype(s->of[k].dtype);
    const ip_val *init = &s->inits[k];
    char text[24];
    if (init->kind == IP_V_ARRAY || facts->is_float || isinf(init->number)) return true;
    const double v = init->number;
    if (v == floor(v) && v >= facts->minimum && v <= facts->maximum) return true;
    return ip_eval_fail(
        s->ev, s->call->items[1]->offset,
        "%s: %s starts from %g, but the function makes it %s; cast what it gives, or start from another "
        "number",
        form_of(s), name_of(s, k, text), v, facts->name);
}

/* What the function gives as an array of the state's dtype. */
static bool settle_body(stating *s, int k)
{
    const state *of = &s->of[k];
    ip_val *body = &s->body[k];
    if (body->kind != IP_V_ARRAY) {
        imgpar_array *number = ip_build_number(s->ev->ctx, body->number, body->fractional);
        if (!ip_call_result(s->ev, s->offset, number, body)) return false;
    }
    return body->u.array->type.dtype == of->dtype || cast_to(s, body, of->dtype);
}

/* The function's graph over placeholders, with all types known. */
static bool settle(stating *s)
{
    enum { EACH = 3 };
    bool again = true, opens = false;
    for (int round = 0; again; round++) {
        if (round > EACH * (s->n + 1))
            return ip_eval_fail(s->ev, s->offset, "%s: the types of the states never settle", form_of(s));
        again = false;
        free_all(s->body, s->n);
        if (!make_placeholders(s) || !apply(s, s->p, s->q, s->body)) return false;
        for (int k = 0; k < s->n; k++)
            if (!learn(s, k, &again)) return false;
        for (int k = 0; !again && k < s->n; k++)
            opens = opens || (s->of[k].is_number && !s->of[k].is_open);
        for (int k = 0; opens && k < s->n; k++)
            s->of[k].is_open = true;
        again = again || opens;
        opens = false;
    }
    for (int k = 0; k < s->n; k++)
        if (!holds_init(s, k) || !settle_body(s, k)) return false;
    return true;
}

/* ---- arguments ----------------------------------------------------------------------------------- */

bool ip_states_are(const ip_val *init)
{
    return init->kind == IP_V_TUPLE || (init->kind == IP_V_ARRAY && init->record);
}

/* What states begin as. */
static bool take_inits(stating *s, const ip_val *init)
{
    s->record = init->kind == IP_V_ARRAY ? init->record : NULL;
    s->n = s->record ? s->record->n : init->u.tuple->n;
    s->inits = s->record ? s->record->items : init->u.tuple->items;
    if (s->n > MOST)
        return ip_eval_fail(s->ev, s->call->items[1]->offset, "%s: there are %d states; at most %d are possible",
                            form_of(s), s->n, MOST);
    for (int k = 0; k < s->n; k++) {
        const ip_val *v = &s->inits[k];
        const imgpar_array *a = v->kind == IP_V_ARRAY ? v->u.array : NULL;
        if (v->kind != IP_V_ARRAY && v->kind != IP_V_ANY && !ip_val_is_scalar(v))
            return ip_eval_fail(s->ev, s->call->items[1]->offset, "%s: init holds numbers and arrays, not %s",
                                form_of(s), ip_val_kind_text(v));
        s->of[k] = (state){ .dtype = a                      ? a->type.dtype
                                     : v->kind == IP_V_BOOL ? IMGPAR_BOOL
                                     : v->fractional        ? IMGPAR_F64
                                                            : IMGPAR_I64,
                            .is_number = v->kind == IP_V_NUMBER,
                            .fractional = v->fractional,
                            .is_fixed = a != NULL };
        if (a) s->of[k].white = a->type.white, s->of[k].is_mask = a->type.is_mask;
    }
    return true;
}

/* What is walked: an array, or those of a record or tuple. */
static bool take_elements(stating *s, const ip_val *a)
{
    s->of_elements = a->kind == IP_V_ARRAY ? a->record : NULL;
    const ip_val *items = s->of_elements ? s->of_elements->items : a->kind == IP_V_TUPLE ? a->u.tuple->items : a;
    s->m = s->of_elements ? s->of_elements->n : a->kind == IP_V_TUPLE ? a->u.tuple->n : 1;
    bool has_array = s->ev->checking;
    if (s->m > MOST)
        return ip_eval_fail(s->ev, s->call->items[0]->offset, "%s: there are %d arrays; at most %d are possible",
                            form_of(s), s->m, MOST);
    for (int k = 0; k < s->m; k++) {
        s->elements[k] = ip_val_copy(&items[k]);
        has_array = has_array || items[k].kind == IP_V_ARRAY;
        if (items[k].kind != IP_V_ARRAY && items[k].kind != IP_V_ANY && !ip_val_is_scalar(&items[k]))
            return ip_eval_fail(s->ev, s->call->items[0]->offset, "%s takes an array, not %s", form_of(s),
                                ip_val_kind_text(&items[k]));
    }
    return has_array || ip_eval_fail(s->ev, s->call->items[0]->offset, "%s takes an array, not numbers", form_of(s));
}

/* An associative function joins states: elements are such, in their order and dtypes. */
static bool join_elements(stating *s)
{
    ip_val ordered[MOST];
    bool fits = s->record ? ip_record_has_names(s->record, s->of_elements) : !s->of_elements && s->m == s->n;
    for (int k = 0; fits && k < s->n; k++)
        fits = s->elements[k].kind == IP_V_ARRAY && s->inits[k].kind != IP_V_ARRAY;
    if (!fits)
        return ip_eval_fail(s->ev, s->offset,
                            "%s: an associative function takes two of what it gives: elements are arrays for the same "
                            "components as init, which are numbers",
                            form_of(s));
    for (int k = 0; k < s->n; k++)
        ordered[k] = s->elements[s->record ? ip_record_find(s->of_elements, s->record->names[k]) : k];
    memcpy(s->elements, ordered, (size_t)s->n * sizeof *ordered);
    s->of_elements = s->record;
    for (int k = 0; k < s->n; k++) {
        const ip_type *type = &s->elements[k].u.array->type, *first = &s->elements[0].u.array->type;
        if (type->rank != first->rank ||
            memcmp(type->shape, first->shape, (size_t)type->rank * sizeof *type->shape) != 0)
            return ip_eval_fail(s->ev, s->call->items[0]->offset, "%s: the arrays have different shapes", form_of(s));
        s->of[k] = (state){ .dtype = type->dtype, .white = type->white, .is_mask = type->is_mask };
    }
    return true;
}

/* Where the function gives other dtypes than elements have, those are cast first. */
static bool settle_joining(stating *s)
{
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES; i++) {
        bool same = true;
        if (!settle(s)) return false;
        for (int k = 0; k < s->n; k++) {
            if (s->elements[k].u.array->type.dtype == s->of[k].dtype) continue;
            same = false;
            if (!cast_to(s, &s->elements[k], s->of[k].dtype)) return false;
        }
        if (same) return true;
    }
    return ip_eval_fail(s->ev, s->offset, "%s: the types of the states never settle", form_of(s));
}

/* ---- results -------------------------------------------------------------------------------------- */

/* n values as a record or a tuple. Takes them. */
static bool put_result(stating *s, ip_val *vals, ip_val *out)
{
    if (s->record) {
        ip_val packed;
        bool ok = put_arguments(s, s->record, vals, s->n, &packed) == 1;
        free_all(vals, s->n);
        if (ok) *out = packed;
        return ok;
    }
    *out = ip_val_tuple(s->n);
    if (out->kind == IP_V_NONE) {
        free_all(vals, s->n);
        return ip_eval_fail_memory(s->ev);
    }
    memcpy(out->u.tuple->items, vals, (size_t)s->n * sizeof *vals);
    return true;
}

/* The n scans of elements, each of which is an array or a number, from from[n]; vals[n] are their results. */
static bool build_scans(stating *s, const ip_val *elements, const ip_val *from, const ip_scan_options *options,
                        ip_val *vals)
{
    imgpar_array *arrays[MOST], *inits[MOST], *p[MOST], *q[MOST], *body[MOST], *out[MOST];
    ip_val starts[MOST] = { { .kind = IP_V_NONE } };
    int m = 0;
    bool ok = true;
    for (int k = 0; k < s->m; k++)
        if (elements[k].kind == IP_V_ARRAY) {
            arrays[m] = elements[k].u.array;
            q[m++] = s->q[k].u.array;
        }
    for (int k = 0; ok && k < s->n; k++) {
        const ip_val *init = &from[k];
        if (init->kind == IP_V_ARRAY)
            starts[k] = ip_val_copy(init);
        else
            ok = ip_call_result(s->ev, s->offset, ip_build_number(s->ev->ctx, init->number, init->fractional),
                                &starts[k]);
        if (!ok) break;
        inits[k] = starts[k].u.array;
        p[k] = s->p[k].u.array;
        body[k] = s->body[k].u.array;
    }
    if (ok) {
        const ip_states states = { form_of(s), s->n, m, arrays, inits, p, q, body };
        ip_build_scan_states(s->ev->ctx, &states, options, out);
        for (int k = 0; k < s->n; k++) {
            if (ok)
                ok = ip_call_result(s->ev, s->call->offset, out[k], &vals[k]);
            else
                imgpar_array_release(out[k]);
        }
    }
    free_all(starts, MOST);
    if (!ok) free_all(vals, s->n);
    return ok;
}

static bool check(stating *s, ip_val *out)
{
    ip_val p[MOST], q[MOST], body[MOST] = { { .kind = IP_V_NONE } };
    for (int k = 0; k < MOST; k++)
        p[k] = q[k] = ip_val_unknown(IP_V_ARRAY);
    if (s->m == 1 && s->elements[0].kind == IP_V_ANY) return put_result(s, p, out); /* a record or a tuple, perhaps */
    for (int k = 0; k < s->m; k++)
        if (ip_val_is_scalar(&s->elements[k])) q[k] = ip_val_copy(&s->elements[k]);
    if (!apply(s, p, q, body)) return false;
    free_all(body, s->n);
    return put_result(s, p, out);
}

/* ---- reduce ---------------------------------------------------------------------------------------- */

/* Lines of no elements: what they are folded into. */
static bool fill_lines(stating *s, const ip_val *line, int k, ip_val *out)
{
    char text[24];
    const int rank = line->u.array->type.rank;
    double none[IMGPAR_MAX_RANK] = { 0 }, one[IMGPAR_MAX_RANK] = { 0 };
    one[rank - 1] = 1;
    if (s->inits[k].kind == IP_V_ARRAY)
        return ip_eval_fail(s->ev, s->call->items[1]->offset, "%s: there are no elements, and %s starts from an array",
                            form_of(s), name_of(s, k, text));
    ip_val typed = ip_val_copy(line);
    ip_arg args[] = { ip_arg_array(NULL),
                      { .name = "before", .kind = IP_ARG_MATRIX, .rows = 1, .cols = rank, .numbers = none },
                      { .name = "after", .kind = IP_ARG_MATRIX, .rows = 1, .cols = rank, .numbers = one },
                      { .name = "cval", .kind = IP_ARG_NUMBER, .number = s->inits[k].number } };
    bool ok = cast_to(s, &typed, s->of[k].dtype);
    if (ok) args[0] = ip_arg_array(typed.u.array);
    ok = ok && ip_call_args(s->ev, ip_op_find("pad"), s->call->offset, args, NULL, 4, out);
    ip_val_free(&typed);
    return ok;
}

/* What state k starts from, with the folded axes, of which there is 1 each, as the last one. */
static bool init_to_lines(stating *s, int k, const ip_type *type, unsigned axes, ip_val *out)
{
    *out = ip_val_copy(&s->inits[k]);
    if (out->kind != IP_V_ARRAY || ip_type_count(&out->u.array->type) == 1) return true;
    const ip_type *own = &out->u.array->type;
    bool fits = own->rank == type->rank;
    for (int axis = 0; fits && axis < type->rank; axis++)
        fits = own->shape[axis] == (axes >> axis & 1 ? 1 : type->shape[axis]);
    char text[24];
    if (!fits)
        return ip_eval_fail(s->ev, s->call->items[1]->offset,
                            "%s: %s starts from neither one number nor one for each result, with 1 for the folded axes",
                            form_of(s), name_of(s, k, text));
    return ip_reduce_to_lines(s->ev, s->call, axes, out);
}

static bool reduce_in_order(stating *s, unsigned axes, bool keepdims, ip_val *vals)
{
    ip_val lines[MOST] = { { .kind = IP_V_NONE } }, inits[MOST] = { { .kind = IP_V_NONE } };
    const ip_val *first = NULL;
    ip_type type = { .rank = 0 };
    bool ok = true;
    for (int k = 0; ok && k < s->m; k++) {
        lines[k] = ip_val_copy(&s->elements[k]);
        if (lines[k].kind != IP_V_ARRAY) continue;
        if (!first) type = lines[k].u.array->type;
        if (!first) first = &lines[k];
        ok = ip_reduce_to_lines(s->ev, s->call, axes, &lines[k]);
    }
    const int last = ok ? first->u.array->type.rank - 1 : 0;
    const ip_scan_options options = { .axis = last };
    for (int k = 0; ok && k < s->n; k++)
        ok = init_to_lines(s, k, &type, axes, &inits[k]);
    if (ok && first->u.array->type.shape[last] > 0)
        ok = build_scans(s, lines, inits, &options, vals);
    else
        for (int k = 0; ok && k < s->n; k++)
            ok = fill_lines(s, first, k, &vals[k]);
    for (int k = 0; ok && k < s->n; k++)
        ok = ip_reduce_last(s->ev, s->call, &type, axes, keepdims, &vals[k]);
    if (!ok) free_all(vals, s->n);
    free_all(lines, MOST);
    free_all(inits, MOST);
    return ok;
}

static bool join(void *user, ip_val *p, ip_val *q)
{
    stating *s = user;
    ip_val body[MOST] = { { .kind = IP_V_NONE } };
    bool ok = apply(s, p, q, body);
    free_all(p, s->n);
    free_all(q, s->n);
    for (int k = 0; ok && k < s->n; k++)
        ok = body[k].kind == IP_V_ARRAY ||
             ip_eval_fail(s->ev, s->offset, "%s: the function must use its arguments", form_of(s));
    if (ok)
        memcpy(p, body, (size_t)s->n * sizeof *p);
    else
        free_all(body, s->n);
    return ok;
}

static bool reduce_joining(stating *s, unsigned axes, bool keepdims, ip_val *vals)
{
    double inits[MOST];
    for (int k = 0; k < s->n; k++) {
        vals[k] = ip_val_copy(&s->elements[k]);
        inits[k] = s->inits[k].number;
    }
    const ip_joining joining = { .n = s->n, .inits = inits, .join = join, .user = s };
    return ip_reduce_levels(s->ev, s->call, &joining, axes, keepdims, vals);
}

/* ---- the forms --------------------------------------------------------------------------------------- */

static void free_stating(stating *s)
{
    free_all(s->elements, MOST);
    free_all(s->p, MOST);
    free_all(s->q, MOST);
    free_all(s->body, MOST);
}

/* Everything until the function's graph is known; where it is only checked, *out, and *is_done. */
static bool begin(stating *s, const ip_states_call *c, bool associative, bool *is_done, ip_val *out)
{
    *is_done = s->ev->checking;
    if (!take_inits(s, c->init) || !take_elements(s, c->a)) return false;
    if (s->ev->checking) return check(s, out);
    return associative ? join_elements(s) && settle_joining(s) : settle(s);
}

bool ip_states_scan(ip_eval *ev, const ip_states_call *c, const ip_scan_options *options, ip_val *out)
{
    stating s = { .ev = ev, .call = c->call, .offset = c->call->items[2]->offset, .fn = c->fn };
    ip_val vals[MOST] = { { .kind = IP_V_NONE } };
    bool is_done;
    bool ok = begin(&s, c, options->associative, &is_done, out);
    if (ok && !is_done) ok = build_scans(&s, s.elements, s.inits, options, vals) && put_result(&s, vals, out);
    free_stating(&s);
    return ok;
}

bool ip_states_reduce(ip_eval *ev, const ip_states_call *c, const ip_reducing *options, ip_val *out)
{
    stating s = { .ev = ev, .call = c->call, .offset = c->call->items[2]->offset, .fn = c->fn };
    ip_val vals[MOST] = { { .kind = IP_V_NONE } };
    bool is_done;
    bool ok = begin(&s, c, options->associative, &is_done, out);
    for (int k = 0; ok && !is_done && k < s.m; k++) {
        if (s.elements[k].kind != IP_V_ARRAY) continue;
        const unsigned all = (1u << s.elements[k].u.array->type.rank) - 1,
                       axes = options->has_axes ? options->axes : all;
        ok = (axes & all) || ip_eval_fail(ev, c->call->offset, "reduce: axis names no axis");
        ok = ok &&
             (options->associative ? reduce_joining(&s, axes, options->keepdims, vals)
                                   : reduce_in_order(&s, axes, options->keepdims, vals)) &&
             put_result(&s, vals, out);
        break;
    }
    free_stating(&s);
    return ok;
}
