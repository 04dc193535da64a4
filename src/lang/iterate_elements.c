/* SPDX-License-Identifier: MIT */
/*
 * Note [Elements that stop by themselves]
 * Where until of iterate() has the shape of what is carried, each element takes steps until it holds for that one: a
 * node that is computed by one kernel, in which nothing is carried through memory (ops/stages_iterate.c). What starts
 * from a number becomes an array, of the type that a step makes of it, found by building the step again until nothing
 * changes; what a step leaves a number counts: in i32, i64 where that may be too small, with a fraction f32; or in i64
 * and f64, where it starts from a number that a loop around it carries. The loops in a function of scan() or reduce(),
 * which is applied to one element, are such nodes, too; without until it is 0.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "ir/expr.h"
#include "lang/iterate.h"

#include <math.h>
#include <string.h>

/* Such a loop while it is built. */
typedef struct element_loop {
    ip_iteration *it;
    ip_val *carried, *next, until; /* of the step that was built last */
    ip_type *types;                /* of what is carried */
    bool *are_known;
} element_loop;

static bool build_step(element_loop *l, const ip_val *state)
{
    ip_iteration *it = l->it;
    ip_eval *ev = it->ev;
    ip_iterate_free(l->next, it->n);
    ip_val_free(&l->until);
    for (int k = 0; k < it->n; k++) {
        imgpar_array *a = l->are_known[k] ? ip_build_carried(ev->ctx, &l->types[k], k, ev->element_loops)
                                          : ip_build_loop_value(ev->ctx, state[k].fractional, NULL);
        ip_val_free(&l->carried[k]);
        if (!ip_call_result(ev, it->call->offset, a, &l->carried[k])) return false;
    }
    ev->element_loops++;
    bool ok = ip_iterate_step(it, l->carried, l->next) && ip_iterate_test(it, l->next, &l->until);
    ev->element_loops--;
    if (ok && !it->until) return ip_call_result(ev, it->call->offset, ip_build_number(ev->ctx, 0, false), &l->until);
    if (!ok || it->is_of_elements) return ok;
    return ip_eval_fail(ev, it->until->offset, "iterate: until has the elements of what is carried in some steps only");
}

static bool has_elements(const ip_val *v) { return v->kind == IP_V_ARRAY && !v->u.array->bends; }

/* What a number counts from and to, where a step leaves it one. */
static ip_range range_of_counter(const element_loop *l, int k, const ip_val *state)
{
    const ip_val *next = &l->next[k];
    ip_range range = { -INFINITY, INFINITY };
    if (next->kind == IP_V_ARRAY)
        ip_iterate_counts(l->it, state, l->carried[k].u.array, next->u.array, &range);
    else
        range = (ip_range){ fmin(state->number, next->number), fmax(state->number, next->number) };
    return range;
}

/* The type of what is a number before and behind a step. */
static ip_type type_of_counter(const element_loop *l, int k, const ip_val *state)
{
    const ip_val *next = &l->next[k];
    const ip_type *until = &l->until.u.array->type;
    const ip_range range = range_of_counter(l, k, state);
    const bool becomes_fraction =
        next->kind == IP_V_ARRAY ? ip_dtype(next->u.array->type.dtype)->is_float : next->fractional;
    const bool is_small = range.lo > INT32_MIN && range.hi < INT32_MAX;
    ip_type type = { .space = IMGPAR_SPACE_DATA, .rank = until->rank };
    memcpy(type.shape, until->shape, sizeof type.shape);
    if (state->kind == IP_V_ARRAY) /* what a loop or a fold around this carries: it begins with any number */
        type.dtype = becomes_fraction ? IMGPAR_F64 : state->u.array->type.dtype;
    else
        type.dtype = state->fractional || becomes_fraction ? IMGPAR_F32 : is_small ? IMGPAR_I32 : IMGPAR_I64;
    return type;
}

static bool changes_type(element_loop *l, int k, const ip_val *state)
{
    ip_iteration *it = l->it;
    const ip_type *gets = &l->next[k].u.array->type;
    if (ip_val_is_scalar(state) || ip_iterate_same_elements(&l->types[k], gets)) return false;
    ip_type_text(&l->types[k], it->from);
    ip_type_text(gets, it->to);
    ip_eval_fail(it->ev, it->step->offset, "iterate: a step changes %s to %s; %sstart from that type (cast)", it->from,
                 it->to, it->until ? "with until, " : "");
    return true;
}

/* What the last step tells of types. *again: something that was not known. */
static bool learn_types(element_loop *l, const ip_val *state, bool *again)
{
    bool is_any_array = false;
    *again = false;
    for (int k = 0; k < l->it->n; k++) {
        if (!has_elements(&l->next[k])) continue;
        const ip_type *gets = &l->next[k].u.array->type;
        if (l->are_known[k] && ip_iterate_same_type(&l->types[k], gets)) continue;
        if (l->are_known[k] && changes_type(l, k, state)) return false;
        l->types[k] = *gets;
        *again = l->are_known[k] = is_any_array = true;
    }
    for (int k = 0; k < l->it->n && !is_any_array; k++) {
        if (l->are_known[k]) continue;
        l->types[k] = type_of_counter(l, k, &state[k]);
        *again = l->are_known[k] = true;
    }
    return true;
}

/* Whether a number that a value starts from is one of its dtype. */
static bool holds_start(const element_loop *l, int k, const ip_val *state)
{
    const ip_iteration *it = l->it;
    const ip_dtype_facts *facts = ip_dtype(l->types[k].dtype);
    if (!ip_val_is_scalar(state) || facts->is_float) return true;
    const double v = state->number;
    if (v == floor(v) && v >= facts->minimum && v <= facts->maximum) return true;
    return ip_eval_fail(it->ev, it->step->offset, "iterate: a step makes %s of what starts from %g", facts->name, v);
}

static bool have_one_shape(const element_loop *l)
{
    const ip_iteration *it = l->it;
    const ip_type *until = &l->until.u.array->type;
    for (int k = 0; k < it->n; k++) {
        const ip_type *type = &l->types[k];
        char of_until[96], of_value[96];
        if (type->dtype == IMGPAR_F16 || ip_type_is_complex(type))
            return ip_eval_fail(it->ev, it->step->offset, "iterate: with an until of each element %s cannot be carried",
                                ip_dtype(type->dtype)->name);
        if (type->rank == until->rank && memcmp(type->shape, until->shape, sizeof type->shape) == 0) continue;
        ip_type_text(until, of_until);
        ip_type_text(type, of_value);
        if (!it->until)
            return ip_eval_fail(
                it->ev, it->step->offset,
                "iterate: so long a loop within a function of scan or reduce carries one number, not %s", of_value);
        return ip_eval_fail(it->ev, it->until->offset,
                            "iterate: until is one number, or has the shape of all that is carried, not %s for %s",
                            of_until, of_value);
    }
    return true;
}

static bool to_array(ip_iteration *it, ip_val *v)
{
    if (!ip_val_is_scalar(v)) return true;
    return ip_call_result(it->ev, it->call->offset, ip_build_number(it->ev->ctx, v->number, v->fractional), v);
}

static bool build_elements(element_loop *l, ip_val *state)
{
    ip_iteration *it = l->it;
    imgpar_array *starts[IP_MOST_CARRIED], *next[IP_MOST_CARRIED], *carried[IP_MOST_CARRIED], *out[IP_MOST_CARRIED];
    bool ok = true;
    for (int k = 0; ok && k < it->n; k++)
        ok = to_array(it, &state[k]) && to_array(it, &l->next[k]);
    if (!ok) return false;
    ip_iterate_arrays(state, it->n, starts);
    ip_iterate_arrays(l->next, it->n, next);
    ip_iterate_arrays(l->carried, it->n, carried);
    ip_build_settled(it->ev->ctx, it->n, starts, next, carried, l->until.u.array, it->count, it->ev->element_loops,
                     out);
    for (int k = 0; k < it->n; k++) {
        ip_val_free(&state[k]);
        if (ok)
            ok = ip_call_result(it->ev, it->call->offset, out[k], &state[k]);
        else
            imgpar_array_release(out[k]);
    }
    return ok;
}

static bool settle_elements(element_loop *l, ip_val *state)
{
    enum { MOST_ROUNDS = 16 };
    ip_iteration *it = l->it;
    for (int k = 0; k < it->n; k++) {
        l->are_known[k] = has_elements(&state[k]);
        if (l->are_known[k]) l->types[k] = state[k].u.array->type;
    }
    bool again = true;
    for (int round = 0; again; round++) {
        if (round == MOST_ROUNDS) return ip_iterate_never_settles(it);
        if (!build_step(l, state) || !learn_types(l, state, &again)) return false;
    }
    for (int k = 0; k < it->n; k++)
        if (!holds_start(l, k, &state[k])) return false;
    return have_one_shape(l) && build_elements(l, state);
}

bool ip_iterate_elements(ip_iteration *it, ip_val *state)
{
    if (it->check > 1)
        return ip_eval_fail(it->ev, it->until->offset, "iterate: check goes with an until that is one number");
    if (it->n > IP_MOST_CARRIED)
        return ip_eval_fail(it->ev, it->step->offset,
                            "iterate: with an until of each element %d values are carried; "
                            "there can be %d",
                            it->n, IP_MOST_CARRIED);
    element_loop l = { .it = it,
                       .carried = ip_vals_new(it->n),
                       .next = ip_vals_new(it->n),
                       .until = { .kind = IP_V_NONE },
                       .types = ip_zalloc((size_t)it->n * sizeof *l.types),
                       .are_known = ip_zalloc((size_t)it->n * sizeof *l.are_known) };
    bool ok = (l.carried && l.next && l.types && l.are_known) || ip_eval_fail_memory(it->ev);
    ok = ok && settle_elements(&l, state);
    ip_val_free(&l.until);
    ip_vals_free(l.next, it->n);
    ip_vals_free(l.carried, it->n);
    ip_free(l.types);
    ip_free(l.are_known);
    it->count = 0;
    return ok && !it->ev->err->status;
}
