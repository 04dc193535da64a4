/* SPDX-License-Identifier: MIT */
/*
 * iterate(x0, n, step, until=, check=): a step repeated.
 *
 *   numbers alone     are computed at once.
 *   few operations    (n times the step's are at most IP_EVAL_UNROLL) are written out.
 *   many              become a loop node: the step is evaluated over placeholders. A
 *                     loop's values keep their type; while a step changes it (u8 becomes
 *                     i32 under +) steps are taken off the front, up to MAX_PEELED.
 *
 * Note [Values that start from numbers]
 * A value that starts from a literal and is made of such alone stays what it is in a loop that is written out, a number
 * that bends to what it meets, but one in the device's memory: i64, or f64 where a step makes a fraction of it. Which
 * one it is, is found by building the step again until nothing changes. Where the step adds a number, its bounds are
 * known: slice() needs them.
 *
 * until is tested after each step, or every check-th: at once where it is a number, else by the loop.
 *
 * Where until is of each element: iterate_elements.c.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "lang/iterate.h"

#include <math.h>
#include <string.h>

enum { MAX_PEELED = 4 };

/* ---- one step -------------------------------------------------------------------------- */

/* A lambda or the name of a function; NONE for an expression in _. */
static bool function_of(ip_iteration *it, const ip_node *node, ip_val *fn)
{
    *fn = (ip_val){ .kind = IP_V_NONE };
    bool name = node->kind == IP_N_NAME && node->name != it->ev->program->underscore;
    if (node->kind != IP_N_LAMBDA && !name) return true;
    if (!ip_eval_any(it->ev, node, fn)) return false;
    if (fn->kind != IP_V_FUNCTION) ip_val_free(fn);
    return true;
}

/* Is _ written in it? (Of an iterate() inside, it may be that one's.) */
static bool uses_underscore(const ip_node *node, const ip_symbol *underscore)
{
    if (node->kind == IP_N_NAME && node->name == underscore) return true;
    for (int i = 0; i < node->n_items; i++)
        if (uses_underscore(node->items[i], underscore)) return true;
    return false;
}

/* The values that a record has for components, as one; copies them. */
static bool pack(ip_iteration *it, size_t offset, const ip_val *vals, ip_val *out)
{
    ip_record *record = ip_record_new(it->n);
    if (!record) return ip_eval_fail_memory(it->ev);
    for (int k = 0; k < it->n; k++) {
        record->names[k] = it->record->names[k];
        record->items[k] = ip_val_copy(&vals[k]);
    }
    return ip_record_pack(it->ev, offset, record, out);
}

/* fn, or the expression at node, of n values. */
static bool apply_to(ip_iteration *it, const ip_node *node, const ip_val *fn, const ip_val *state, int n, ip_val *out)
{
    ip_eval *ev = it->ev;
    if (fn->kind == IP_V_FUNCTION) return ip_call_function(ev, fn, state, n, node->offset, out);
    if (n > 1)
        return ip_eval_fail(ev, node->offset,
                            "iterate carries %d values: a function of as many is expected, such as "
                            "(p, q) -> (q, p)",
                            n);
    ip_scope scope = { .parent = ev->scope, .n = 1, .names = &ev->program->underscore, .vals = state };
    ev->scope = &scope;
    bool ok = ip_eval_any(ev, node, out);
    ev->scope = scope.parent;
    return ok;
}

/* The same, of all that is carried. */
static bool apply(ip_iteration *it, const ip_node *node, const ip_val *fn, const ip_val *state, ip_val *out)
{
    ip_val packed;
    if (!it->record) return apply_to(it, node, fn, state, it->n, out);
    if (!pack(it, node->offset, state, &packed)) return false;
    bool ok = apply_to(it, node, fn, &packed, 1, out);
    ip_val_free(&packed);
    return ok;
}

static bool carries(const ip_val *v) { return v->kind == IP_V_ARRAY || v->kind == IP_V_ANY || ip_val_is_scalar(v); }

/* One value, a tuple or, where one is carried, a record to vals[n], which are NONE. Takes v. */
static bool spread(ip_iteration *it, const ip_node *node, ip_val *v, ip_val *vals)
{
    const ip_record *record = it->record && v->kind == IP_V_ARRAY ? v->record : NULL;
    int n = v->kind == IP_V_TUPLE ? v->u.tuple->n : record ? record->n : 1;
    bool ok = n == it->n || v->kind == IP_V_ANY;
    if (it->record && v->kind != IP_V_ANY) ok = ip_record_has_names(it->record, record);
    if (!ok && it->record)
        ip_eval_fail(it->ev, node->offset, "iterate carries a record: a step must give one with the same components");
    else if (!ok)
        ip_eval_fail(it->ev, node->offset, "iterate carries %d value%s, this gives %d", it->n, it->n == 1 ? "" : "s",
                     n);
    for (int i = 0; ok && i < it->n; i++) {
        vals[i] = ip_val_copy(v->kind == IP_V_TUPLE ? &v->u.tuple->items[i]
                              : record              ? &record->items[ip_record_find(record, it->record->names[i])]
                                                    : v);
        if (!carries(&vals[i]))
            ok = ip_eval_fail(it->ev, node->offset, "iterate carries numbers and arrays, not %s",
                              ip_val_kind_text(&vals[i]));
    }
    ip_val_free(v);
    return ok;
}

void ip_iterate_free(ip_val *vals, int n)
{
    for (int i = 0; i < n; i++)
        ip_val_free(&vals[i]);
}

bool ip_iterate_step(ip_iteration *it, const ip_val *state, ip_val *next)
{
    ip_val result;
    bool ok = apply(it, it->step, &it->step_fn, state, &result) && spread(it, it->step, &result, next);
    if (!ok) ip_iterate_free(next, it->n);
    return ok;
}

/* Whether until, an array, is one of elements: of several, of none, or of one that is all there is of each array that
 * is carried, as of pictures of one pixel. [1] is one number, but of the element that a fold is at. */
static bool is_of_elements(const ip_iteration *it, const ip_val *next, const ip_type *until)
{
    bool is_all = until->rank > 1 || it->ev->folds > 0;
    for (int k = 0; k < it->n && is_all; k++) {
        const imgpar_array *a = next[k].kind == IP_V_ARRAY && !next[k].u.array->bends ? next[k].u.array : NULL;
        is_all = !a || (a->type.rank == until->rank && ip_type_count(&a->type) == 1);
    }
    return ip_type_count(until) != 1 || is_all;
}

/* The value of until after a step; NONE when there is none. */
bool ip_iterate_test(ip_iteration *it, const ip_val *next, ip_val *out)
{
    *out = (ip_val){ .kind = IP_V_NONE };
    if (!it->until) return true;
    if (!apply(it, it->until, &it->until_fn, next, out)) return false;
    bool is_array = out->kind == IP_V_ARRAY && !it->ev->checking && !ip_type_is_complex(&out->u.array->type);
    it->is_of_elements = is_array && is_of_elements(it, next, &out->u.array->type);
    if (it->is_of_elements) return true;
    bool one = ip_val_is_scalar(out) || out->kind == IP_V_ANY ||
               (out->kind == IP_V_ARRAY && (it->ev->checking || (is_array && ip_type_count(&out->u.array->type) == 1)));
    if (one) return true;
    ip_val_free(out);
    return ip_eval_fail(it->ev, it->until->offset,
                        "iterate: until must be one number, such as mean(_) < 3, or one for each element");
}

/* The step that was just taken is the last one, as far as until tells. */
static bool stops(const ip_iteration *it, const ip_val *stop)
{
    bool holds = ip_val_is_scalar(stop) && !stop->unknown && stop->number != 0;
    return holds && it->done % it->check == 0;
}

static void move_values(ip_val *to, ip_val *from, int n)
{
    ip_iterate_free(to, n);
    memcpy(to, from, (size_t)n * sizeof *to);
    memset(from, 0, (size_t)n * sizeof *from);
}

static bool all_numbers(const ip_iteration *it, const ip_val *state)
{
    for (int i = 0; i < it->n; i++)
        if (!ip_val_is_scalar(&state[i]) || state[i].unknown) return false;
    return true;
}

/* Steps as long as the values are numbers. */
static bool run_numbers(ip_iteration *it, ip_val *state, ip_val *next)
{
    while (it->known && it->count > 0 && all_numbers(it, state)) {
        ip_val stop;
        if (!ip_iterate_step(it, state, next) || !ip_iterate_test(it, next, &stop)) return false;
        if (it->is_of_elements) {
            ip_iterate_free(next, it->n);
            ip_val_free(&stop);
            return true;
        }
        it->count--;
        it->done++;
        move_values(state, next, it->n);
        bool decided = stop.kind == IP_V_NONE || (ip_val_is_scalar(&stop) && !stop.unknown);
        if (it->ev->checking && !decided) it->known = false;
        bool array = stop.kind == IP_V_ARRAY;
        if (stops(it, &stop)) it->count = 0;
        ip_val_free(&stop);
        if (array && !it->ev->checking)
            return ip_eval_fail(it->ev, it->until->offset,
                                "iterate: until is computed from arrays, the "
                                "values are not");
    }
    return true;
}

/* ---- loops ------------------------------------------------------------------------------ */

static bool same_shape(const ip_type *a, const ip_type *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

bool ip_iterate_same_elements(const ip_type *a, const ip_type *b)
{
    return a->dtype == b->dtype && a->space == b->space && same_shape(a, b);
}

bool ip_iterate_same_type(const ip_type *a, const ip_type *b)
{
    return ip_iterate_same_elements(a, b) && a->white == b->white && a->is_mask == b->is_mask &&
           a->alpha_is_number == b->alpha_is_number;
}

/* The first of n values whose types differ, or -1. Numbers have no white, whatever comparisons they are made of. */
static int differing(const ip_val *a, const ip_val *b, int n)
{
    for (int i = 0; i < n; i++) {
        const imgpar_array *has = a[i].u.array, *gets = b[i].u.array;
        bool same = has->bends ? gets->bends && ip_iterate_same_elements(&has->type, &gets->type)
                               : ip_iterate_same_type(&has->type, &gets->type);
        if (!same || has->bends != gets->bends) return i;
    }
    return -1;
}

/* The number v as an array of one element of that dtype. */
static bool number_array(ip_iteration *it, imgpar_dtype dtype, ip_val *v)
{
    bool fractional = ip_dtype(dtype)->is_float;
    imgpar_array *a = ip_build_loop_start(it->ev->ctx, v->number, fractional || v->fractional);
    ip_arg args[] = { ip_arg_array(a), { .name = "dtype", .kind = IP_ARG_TEXT, .text = ip_dtype(dtype)->name } };
    if (!imgpar_array_status(a) && a->type.dtype != dtype)
        imgpar_array_replace(&a, ip_build(it->ev->ctx, ip_op_find("cast"), args, 2));
    return ip_call_result(it->ev, it->call->offset, a, v);
}

/* What a step made of a loop's value in the placeholder's dtype: a number, or what still bends. Takes *v. */
static bool to_loop_value(ip_iteration *it, const imgpar_array *holder, ip_val *v)
{
    bool fractional = ip_dtype(holder->type.dtype)->is_float;
    if (ip_val_is_scalar(v)) return number_array(it, holder->type.dtype, v);
    if (!v->u.array->bends || v->u.array->type.dtype == holder->type.dtype) return true;
    ip_val sum, zero = ip_val_number(0, fractional);
    if (!ip_call_operator(it->ev, IP_O_ADD, it->call->offset, (ip_val[]){ *v, zero }, &sum)) return false;
    ip_val_free(v);
    *v = sum;
    return true;
}

/* Does a step make a fraction of a value that was whole? Then *state is one. */
static bool becomes_fraction(ip_val *state, const ip_val *next)
{
    bool fractional = ip_val_is_scalar(next) ? next->fractional
                                             : next->u.array->bends && ip_dtype(next->u.array->type.dtype)->is_float;
    if (!ip_val_is_scalar(state) || state->fractional || !fractional) return false;
    *state = ip_val_number(state->number, true);
    return true;
}

/* The bounds of a counter over all steps, where next is holder + number; else false. */
bool ip_iterate_counts(const ip_iteration *it, const ip_val *state, const imgpar_array *holder,
                       const imgpar_array *next, ip_range *range)
{
    const char *symbol = next->op && next->op->symbol ? next->op->symbol : "";
    bool adds = strcmp(symbol, "+") == 0, subtracts = strcmp(symbol, "-") == 0 && next->n_inputs == 2;
    double by = 0;
    if (next == holder)
        by = 0;
    else if (!adds && !subtracts)
        return false;
    else if (next->inputs[0] != holder || !ip_array_is_number(next->inputs[1], &by, NULL))
        if (!adds || next->inputs[1] != holder || !ip_array_is_number(next->inputs[0], &by, NULL)) return false;
    double last = state->number + (subtracts ? -by : by) * (double)(it->count - 1);
    *range = (ip_range){ fmin(state->number, last), fmax(state->number, last) };
    return fabs(last) < 0x1p53 && fabs(state->number) < 0x1p53;
}

void ip_iterate_arrays(const ip_val *vals, int n, imgpar_array **arrays)
{
    for (int i = 0; i < n; i++)
        arrays[i] = vals[i].u.array;
}

/* Numbers to start from become arrays of their placeholders' dtype. */
static bool to_arrays(ip_iteration *it, ip_val *state, const ip_val *holders)
{
    for (int i = 0; i < it->n; i++)
        if (ip_val_is_scalar(&state[i]) && !to_loop_value(it, holders[i].u.array, &state[i])) return false;
    return true;
}

/* Builds the loop node from arrays; results replace state. vectors: 4 n arrays to work in. */
static bool build_loop(ip_iteration *it, ip_val *state, const ip_val *holders, const ip_val *next, const ip_val *stop,
                       imgpar_array **vectors)
{
    int n = it->n;
    imgpar_array **initial = vectors, **placeholder = initial + n, **result = placeholder + n, **out = result + n;
    ip_iterate_arrays(state, n, initial);
    ip_iterate_arrays(holders, n, placeholder);
    ip_iterate_arrays(next, n, result);
    ip_build_loop(it->ev->ctx, n, initial, placeholder, result, stop->kind == IP_V_ARRAY ? stop->u.array : NULL,
                  it->count, it->check, out);
    bool ok = true;
    for (int i = 0; i < n; i++) {
        ip_val_free(&state[i]);
        if (ok)
            ok = ip_call_result(it->ev, it->call->offset, out[i], &state[i]);
        else
            imgpar_array_release(out[i]);
    }
    return ok;
}

/* The values with the white that a step gives them, and with alpha as it takes it; they may differ in nothing else.
 * Where until is a graph no step can be taken before the loop, which would find it. */
static bool adopt_white(ip_iteration *it, ip_val *state, const ip_val *next)
{
    for (int i = 0; i < it->n; i++) {
        if (ip_val_is_scalar(&state[i])) continue;
        const ip_type *has = &state[i].u.array->type, *gets = &next[i].u.array->type;
        ip_val told;
        if (ip_iterate_same_type(has, gets)) continue;
        if (!ip_iterate_same_elements(has, gets)) return false;
        ip_arg args[] = { ip_arg_array(state[i].u.array),
                          { .name = "white", .kind = IP_ARG_NUMBER, .number = gets->white },
                          { .name = "mask", .kind = IP_ARG_BOOL, .number = gets->is_mask },
                          { .name = "alpha_is_number", .kind = IP_ARG_BOOL, .number = gets->alpha_is_number } };
        if (!ip_call_args(it->ev, ip_op_find("set_white"), it->call->offset, args, NULL, 4, &told)) return false;
        ip_val_free(&state[i]);
        state[i] = told;
    }
    return true;
}

/* A loop while it is built. */
typedef struct attempt {
    ip_val *holders, *next, stop;
    ip_range *ranges; /* of the counters */
    bool *bounded;    /* whether ranges[i] is known */
} attempt;

static bool make_holders(ip_iteration *it, const ip_val *state, attempt *at)
{
    imgpar_context *ctx = it->ev->ctx;
    for (int i = 0; i < it->n; i++) {
        ip_val_free(&at->holders[i]);
        imgpar_array *holder = ip_val_is_scalar(&state[i]) ? ip_build_loop_value(ctx, state[i].fractional,
                                                                                 at->bounded[i] ? &at->ranges[i] : NULL)
                                                           : ip_build_placeholder(ctx, &state[i].u.array->type);
        if (!ip_call_result(it->ev, it->call->offset, holder, &at->holders[i])) return false;
    }
    return true;
}

/* Takes a step over new placeholders. *again: something was learnt of the numbers that the loop starts from. */
static bool try_step(ip_iteration *it, ip_val *state, attempt *at, bool *again)
{
    ip_iterate_free(at->next, it->n);
    *again = false;
    if (!make_holders(it, state, at) || !ip_iterate_step(it, at->holders, at->next)) return false;
    for (int i = 0; i < it->n; i++)
        *again = becomes_fraction(&state[i], &at->next[i]) || *again;
    for (int i = 0; i < it->n && !*again; i++) {
        ip_val *next = &at->next[i];
        const imgpar_array *holder = at->holders[i].u.array;
        if (holder->bends || ip_val_is_scalar(next))
            if (!to_loop_value(it, holder, next)) return false;
    }
    for (int i = 0; i < it->n && !*again; i++) {
        const imgpar_array *holder = at->holders[i].u.array;
        if (at->bounded[i] || !holder->bends || state[i].fractional) continue;
        at->bounded[i] = ip_iterate_counts(it, &state[i], holder, at->next[i].u.array, &at->ranges[i]);
    }
    return true;
}

/* Steps over placeholders until their types and bounds are known, the last of them with all that is. */
static bool settle(ip_iteration *it, ip_val *state, attempt *at)
{
    bool again = true, ok = true, trying = it->ev->trying, any_number = false;
    for (int i = 0; i < it->n; i++)
        any_number = any_number || ip_val_is_scalar(&state[i]);
    it->ev->loops++;
    it->ev->trying = true;
    while (ok && again && any_number)
        ok = try_step(it, state, at, &again);
    it->ev->trying = trying;
    ok = ok && try_step(it, state, at, &again);
    /* In a loop node until is a graph of the placeholders too, which stand for the new values when it is tested. */
    ok = ok && ip_iterate_test(it, at->holders, &at->stop);
    it->ev->loops--;
    return ok;
}

/* With until no step can be taken off the front: a number that a step makes an array of one element starts as such. */
static bool start_typed(ip_iteration *it, ip_val *state, const ip_type *type)
{
    bool fits = ip_val_is_scalar(state) && type->rank == 1 && type->shape[0] == 1 && !ip_type_is_complex(type);
    return fits && number_array(it, type->dtype, state);
}

/* One attempt at a loop. *again: state has changed, and it wants another; *changed: which value's type the step
 * changes, or -1. */
static bool attempt_loop(ip_iteration *it, ip_val *state, attempt *at, int *changed, bool *again)
{
    *again = false;
    if (!settle(it, state, at)) return false;
    *changed = differing(at->holders, at->next, it->n);
    if (*changed < 0) {
        imgpar_array **vectors = ip_alloc_array((size_t)it->n * 4, sizeof *vectors);
        bool ok = (vectors || ip_eval_fail_memory(it->ev)) && to_arrays(it, state, at->holders) &&
                  build_loop(it, state, at->holders, at->next, &at->stop, vectors);
        ip_free(vectors);
        return ok;
    }
    const ip_type *to = &at->next[*changed].u.array->type;
    ip_type_text(&at->holders[*changed].u.array->type, it->from);
    ip_type_text(to, it->to);
    if (at->stop.kind != IP_V_ARRAY) return true;
    *again =
        (it->n_adopted++ < MAX_PEELED && adopt_white(it, state, at->next)) || start_typed(it, &state[*changed], to);
    return *again || it->ev->err->status ||
           ip_eval_fail(it->ev, it->step->offset,
                        "iterate: a step changes %s to %s; with until, start from that type (cast)", it->from, it->to);
}

/* Evaluates the step over placeholders. *changed: which value's type the step changes, or -1: state is the result. */
static bool try_loop(ip_iteration *it, ip_val *state, int *changed)
{
    bool ok = true, again = true;
    while (ok && again) {
        attempt at = { .holders = ip_vals_new(it->n),
                       .next = ip_vals_new(it->n),
                       .stop = { .kind = IP_V_NONE },
                       .ranges = ip_alloc_array((size_t)it->n, sizeof *at.ranges),
                       .bounded = ip_zalloc((size_t)it->n * sizeof *at.bounded) };
        ok = (at.holders && at.next && at.ranges && at.bounded) || ip_eval_fail_memory(it->ev);
        ok = ok && attempt_loop(it, state, &at, changed, &again);
        ip_val_free(&at.stop);
        ip_vals_free(at.next, it->n);
        ip_vals_free(at.holders, it->n);
        ip_free(at.ranges);
        ip_free(at.bounded);
    }
    return ok && !it->ev->err->status;
}

bool ip_iterate_never_settles(ip_iteration *it)
{
    return ip_eval_fail(it->ev, it->step->offset, "iterate: the type never settles, a step still changes %s to %s",
                        it->from, it->to);
}

/* ---- the whole --------------------------------------------------------------------------- */

/* Steps over arrays: written out, or as a loop. */
static bool run_arrays(ip_iteration *it, ip_val *state, ip_val *next)
{
    for (int peeled = 0; it->count > 0;) {
        ip_val stop;
        uint64_t before = it->ev->n_nodes;
        if (!ip_iterate_step(it, state, next) || !ip_iterate_test(it, next, &stop)) return false;
        uint64_t built = it->ev->n_nodes - before;
        if (it->is_of_elements) {
            ip_iterate_free(next, it->n);
            ip_val_free(&stop);
            return ip_iterate_elements(it, state);
        }
        it->done++;
        bool stops_now = stops(it, &stop), by_loop = stop.kind == IP_V_ARRAY;
        ip_val_free(&stop);
        if (stops_now || (!by_loop && built * (uint64_t)it->count <= IP_EVAL_UNROLL)) {
            move_values(state, next, it->n);
            it->count = stops_now ? 0 : it->count - 1;
            continue;
        }
        if (it->ev->folds > 0) return ip_iterate_elements(it, state);
        int changed = -1;
        ip_val *after = ip_vals_new(it->n);
        bool ok = after || ip_eval_fail_memory(it->ev);
        if (ok) move_values(after, next, it->n);
        ok = ok && try_loop(it, state, &changed);
        if (ok && changed >= 0 && ++peeled > MAX_PEELED) ok = ip_iterate_never_settles(it);
        if (ok && changed >= 0) {
            move_values(state, after, it->n);
            it->count--;
        } else {
            it->count = 0;
        }
        ip_vals_free(after, it->n);
        if (!ok) return false;
    }
    return true;
}

/* Checking: one step on values that are not known. */
static bool check_step(ip_iteration *it, ip_val *state, ip_val *next)
{
    ip_val stop;
    if (it->known && it->count == 0) return true;
    for (int i = 0; i < it->n; i++)
        if (ip_val_is_scalar(&state[i])) state[i].unknown = true;
    if (!ip_iterate_step(it, state, next) || !ip_iterate_test(it, next, &stop)) return false;
    const bool may_be_of_elements = stop.kind == IP_V_ARRAY || stop.kind == IP_V_ANY;
    for (int i = 0; i < it->n; i++) {
        bool are_numbers = ip_val_is_scalar(&state[i]) && ip_val_is_scalar(&next[i]);
        bool same = state[i].kind == next[i].kind && !ip_val_is_scalar(&state[i]);
        same = same || (are_numbers && !may_be_of_elements);
        state[i] = ip_val_unknown(same ? (ip_value_kind)state[i].kind : IP_V_ANY);
    }
    ip_iterate_free(next, it->n);
    return true;
}

/* Takes the values. */
static bool result_of(ip_iteration *it, ip_val *state, ip_val *out)
{
    if (it->record) {
        bool ok = pack(it, it->call->offset, state, out);
        ip_iterate_free(state, it->n);
        return ok;
    }
    if (it->n == 1) {
        *out = state[0];
    } else {
        *out = ip_val_tuple(it->n);
        if (out->kind == IP_V_NONE) return ip_eval_fail_memory(it->ev);
        memcpy(out->u.tuple->items, state, (size_t)it->n * sizeof *state);
    }
    memset(state, 0, (size_t)it->n * sizeof *state);
    return true;
}

/* A record is carried by its components, but where a step makes a picture of the picture that it is as a whole. While
 * checking, *is_whole tells that a step may. */
static bool choose_parts(ip_iteration *it, const ip_val *start, bool *is_whole)
{
    *is_whole = false;
    ip_val result;
    it->record = start->kind == IP_V_ARRAY ? start->record : NULL;
    if (!it->record || (it->known && it->count == 0)) return true;
    const bool trying = it->ev->trying;
    it->ev->trying = true;
    bool ok = apply_to(it, it->step, &it->step_fn, start, 1, &result);
    it->ev->trying = trying;
    if (!ok) return false;
    if (result.kind == IP_V_ARRAY && !result.record)
        *is_whole = it->ev->checking || same_shape(&result.u.array->type, &start->u.array->type);
    if (*is_whole) it->record = NULL;
    ip_val_free(&result);
    return true;
}

static bool run(ip_iteration *it, ip_val *start, ip_val *out)
{
    if (start->kind == IP_V_TUPLE) it->n = start->u.tuple->n;
    ip_val kept = start->kind == IP_V_ARRAY && start->record ? ip_val_copy(start) : ip_val_number(0, false);
    bool is_whole;
    const bool chosen = choose_parts(it, &kept, &is_whole);
    if (chosen && is_whole && it->ev->checking) {
        ip_val_free(start);
        ip_val_free(&kept);
        *out = ip_val_unknown(IP_V_ARRAY);
        return true;
    }
    if (it->record) it->n = it->record->n;
    ip_val *state = ip_vals_new(it->n), *next = ip_vals_new(it->n);
    bool ok = chosen && ((state && next) || ip_eval_fail_memory(it->ev));
    if (!ok)
        ip_val_free(start);
    else
        ok = spread(it, it->call, start, state);
    if (ok && is_whole) { /* what is carried has no names */
        ip_record_release(state[0].record);
        state[0].record = NULL;
    }
    ok = ok && run_numbers(it, state, next);
    if (ok) ok = it->ev->checking ? check_step(it, state, next) : run_arrays(it, state, next);
    if (ok) ok = result_of(it, state, out);
    ip_vals_free(state, it->n);
    ip_vals_free(next, it->n);
    ip_val_free(&kept);
    return ok;
}

static bool check_step_use(const ip_iteration *it)
{
    bool may_be_function = it->step->kind == IP_N_NAME || it->step->kind == IP_N_LAMBDA;
    if (may_be_function || it->n > 1 || uses_underscore(it->step, it->ev->program->underscore)) return true;
    return ip_eval_fail(it->ev, it->step->offset, "iterate: the step does not use _, the value before it");
}

static bool read_check(ip_iteration *it, const ip_node *node)
{
    bool known = true;
    if (node && !ip_eval_integer(it->ev, node, "iterate: check", 1, IP_EVAL_MAX_COUNT, &it->check, &known))
        return false;
    if (!known) it->check = 1;
    return true;
}

bool ip_form_iterate(ip_eval *ev, const ip_node *call, ip_val *out)
{
    const ip_node *slots[5];
    if (!ip_form_args(ev, call, slots)) return false;
    if (slots[4] && !slots[3])
        return ip_eval_fail(ev, slots[4]->offset,
                            "iterate: check tells how often until is tested, and there is no until");
    ip_iteration it = { .ev = ev, .call = call, .step = slots[2], .until = slots[3], .n = 1, .check = 1 };
    ip_val start = { .kind = IP_V_NONE };
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool ok = ip_eval_any(ev, slots[0], &start) &&
              ip_eval_integer(ev, slots[1], "iterate: count", 0, IP_EVAL_MAX_COUNT, &it.count, &it.known) &&
              read_check(&it, slots[4]) && function_of(&it, it.step, &it.step_fn) && check_step_use(&it) &&
              (!it.until || function_of(&it, it.until, &it.until_fn));
    ok = ok ? run(&it, &start, out) : false;
    ip_val_free(&start);
    ip_val_free(&it.step_fn);
    ip_val_free(&it.until_fn);
    ev->place = place;
    return ok;
}
