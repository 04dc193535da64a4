/* SPDX-License-Identifier: MIT */
/*
 * slice() at a loop's counter. In a loop that is not written out from and to are one-element arrays, whose values are
 * known when the loop runs and not before; shapes are known now. So
 *
 *     slice(a, i, i + 2)   is   take(a, arange(0, 2) + i, axis=0)
 *
 * where to is from plus a number, and from has bounds that lie in the array (those of a counter are found in
 * iterate.c). Axes whose bounds are numbers are sliced as always.
 */
#include "base/alloc.h"
#include "base/plural.h"
#include "lang/eval.h"

#include <math.h>
#include <string.h>

enum { SLICED, FROM, TO, STEP, AXIS, N_SLOTS };

/* Element k of a bound: number is it, or what is added to the array base; is_given: it has one. */
typedef struct bound {
    bool is_given;
    imgpar_array *base;
    double number;
} bound;

/* What a bound is made of: a + 2 - 1 is base a and number 1. Borrows. */
static bound bound_of(const ip_val *v)
{
    bound b = { .is_given = v->kind != IP_V_NONE };
    if (v->kind != IP_V_ARRAY) {
        b.number = v->number;
        return b;
    }
    for (b.base = v->u.array; b.base->op && b.base->n_inputs == 2;) {
        const char *symbol = b.base->op->symbol ? b.base->op->symbol : "";
        double right, left;
        bool adds = strcmp(symbol, "+") == 0, has_right = ip_array_is_number(b.base->inputs[1], &right, NULL);
        if (has_right && (adds || strcmp(symbol, "-") == 0)) {
            b.number += adds ? right : -right;
            b.base = b.base->inputs[0];
        } else if (adds && ip_array_is_number(b.base->inputs[0], &left, NULL)) {
            b.number += left;
            b.base = b.base->inputs[1];
        } else {
            break;
        }
    }
    return b;
}

/* The slots' nodes by position or name; false where a name is unknown, which the call itself will tell. */
static bool find_slots(const ip_node *call, const ip_node **slots)
{
    static const char *const names[N_SLOTS] = { "a", "from", "to", "step", "axis" };
    memset(slots, 0, N_SLOTS * sizeof *slots);
    for (int i = 0; i < call->n_items; i++) {
        int k = i;
        if (call->names[i])
            for (k = 0; k < N_SLOTS && strcmp(names[k], call->names[i]->name) != 0;)
                k++;
        if (k >= N_SLOTS) return false;
        slots[k] = call->items[i];
    }
    return slots[SLICED] && slots[FROM];
}

/* The elements of a bound as written, up to IMGPAR_MAX_RANK; returns their number, -1: failed. */
static int eval_bounds(ip_eval *ev, const ip_node *node, ip_val vals[IMGPAR_MAX_RANK])
{
    memset(vals, 0, IMGPAR_MAX_RANK * sizeof *vals);
    if (!node) return 0;
    bool is_list = node->kind == IP_N_MATRIX;
    int n = is_list ? node->n_items : 1;
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool ok = true;
    for (int i = 0; ok && i < n && i < IMGPAR_MAX_RANK; i++)
        ok = ip_eval_value(ev, is_list ? node->items[i] : node, &vals[i]);
    ev->place = place;
    return ok ? n : -1;
}

static bool any_array(const ip_val *vals)
{
    for (int k = 0; k < IMGPAR_MAX_RANK; k++)
        if (vals[k].kind == IP_V_ARRAY) return true;
    return false;
}

/* A call of a row with ready arguments; replaces *a. */
static bool replace(ip_eval *ev, const ip_node *call, const char *row, const ip_arg *args, int n, ip_val *a)
{
    ip_val out = { .kind = IP_V_NONE };
    bool ok = ip_call_args(ev, ip_op_find(row), call->offset, args, NULL, n, &out);
    if (!ok) return false;
    ip_val_free(a);
    *a = out;
    return true;
}

/* One axis by numbers, or whole. */
static bool slice_plainly(ip_eval *ev, const ip_node *call, int axis, const bound bounds[2], double step, ip_val *a)
{
    if (!bounds[0].is_given && !bounds[1].is_given && step == 1) return true;
    ip_arg args[5] = { ip_arg_array(a->u.array) };
    int n = 1;
    for (int k = 0; k < 2; k++) {
        if (!bounds[k].is_given) continue;
        args[n] = ip_arg_number(bounds[k].number);
        args[n++].name = k ? "to" : "from";
    }
    args[n] = ip_arg_number(step);
    args[n++].name = "step";
    args[n] = ip_arg_number(axis);
    args[n++].name = "axis";
    return replace(ev, call, "slice", args, n, a);
}

/* The first element lies in [lo, hi], and last - first of them are passed: all inside, or counted from the end. *shift
 * is added. */
static bool check_bounds(ip_eval *ev, const ip_node *call, const bound *from, double reach, int64_t extent,
                         double *shift)
{
    double lo = from->base->range.lo + from->number, hi = from->base->range.hi + from->number;
    *shift = from->number;
    if (!(hi - lo < 0x1p53))
        return ev->trying ||
               ip_eval_fail(ev, call->offset,
                            "slice: from is computed while the loop runs and has no bounds; a counter that "
                            "grows by a number has, and i %% n and min(max(i, 0), n) have");
    if (hi < 0) {
        *shift += (double)extent;
        lo += (double)extent;
        hi += (double)extent;
    }
    if (lo >= 0 && hi + reach < (double)extent) return true;
    return ip_eval_fail(ev, call->offset,
                        "slice: in the loop elements from %.0f to %.0f are read, and the axis has %lld", lo, hi + reach,
                        (long long)extent);
}

/* One axis from a computed element on. */
static bool take_along(ip_eval *ev, const ip_node *call, int axis, const bound bounds[2], double step, ip_val *a)
{
    const ip_type *type = &a->u.array->type;
    double shift, n = ceil((bounds[1].number - bounds[0].number) / step);
    if (!bounds[0].base || bounds[0].base != bounds[1].base)
        return ip_eval_fail(ev, call->offset,
                            "slice: in a loop to must be from plus a number, as in slice(a, i, i + 1)");
    if (step < 1 || n < 1)
        return ip_eval_fail(ev, call->offset, "slice: at a loop's value step and to - from must be 1 or more");
    if (axis < 0 || axis >= type->rank)
        return ip_eval_fail(ev, call->offset, "slice: axis=%d: the shape has %d %s", axis, type->rank,
                            ip_word_for(type->rank, "axis", "axes"));
    if (!check_bounds(ev, call, &bounds[0], (n - 1) * step, type->shape[axis], &shift)) return false;
    ip_val steps, indices = { .kind = IP_V_NONE }, start = { .kind = IP_V_ARRAY, .u.array = bounds[0].base };
    ip_arg list[] = { ip_arg_number(shift),
                      ip_arg_number(shift + n * step),
                      ip_arg_number(step),
                      { .name = "dtype", .kind = IP_ARG_TEXT, .text = "i32" } };
    if (!ip_call_args(ev, ip_op_find("arange"), call->offset, list, NULL, 4, &steps)) return false;
    bool ok = ip_call_operator(ev, IP_O_ADD, call->offset, (ip_val[]){ steps, start }, &indices);
    ip_val_free(&steps);
    if (!ok) return false;
    ip_arg args[] = { ip_arg_array(a->u.array),
                      ip_arg_array(indices.u.array),
                      { .name = "axis", .kind = IP_ARG_NUMBER, .number = axis } };
    ok = replace(ev, call, "take", args, 3, a);
    ip_val_free(&indices);
    return ok;
}

static bool slice_axes(ip_eval *ev, const ip_node *call, const ip_node *const *slots,
                       const ip_val (*bounds)[IMGPAR_MAX_RANK], ip_val *a)
{
    int64_t axis = 0;
    bool known;
    ip_val steps[IMGPAR_MAX_RANK];
    if (slots[AXIS] &&
        !ip_eval_integer(ev, slots[AXIS], "slice: axis", -IMGPAR_MAX_RANK, IMGPAR_MAX_RANK - 1, &axis, &known))
        return false;
    if (axis < 0) axis += a->u.array->type.rank;
    bool ok = eval_bounds(ev, slots[STEP], steps) >= 0;
    for (int k = 0; ok && k < IMGPAR_MAX_RANK; k++) {
        const bound both[2] = { bound_of(&bounds[0][k]), bound_of(&bounds[1][k]) };
        double step = steps[k].kind == IP_V_NONE ? 1 : steps[k].number;
        if (steps[k].kind != IP_V_NONE && !ip_val_is_scalar(&steps[k]))
            ok = ip_eval_fail(ev, call->offset, "slice: step must be a number");
        else
            ok = both[0].base || both[1].base ? take_along(ev, call, (int)axis + k, both, step, a)
                                              : slice_plainly(ev, call, (int)axis + k, both, step, a);
    }
    for (int k = 0; k < IMGPAR_MAX_RANK; k++)
        ip_val_free(&steps[k]);
    return ok;
}

bool ip_slice_in_loop(ip_eval *ev, const ip_node *call, ip_val *out, bool *is_mine)
{
    const ip_node *slots[N_SLOTS];
    ip_val bounds[2][IMGPAR_MAX_RANK] = { { { .kind = IP_V_NONE } } }, a = { .kind = IP_V_NONE };
    *is_mine = false;
    if (!find_slots(call, slots)) return true;
    bool ok = eval_bounds(ev, slots[FROM], bounds[0]) >= 0 && eval_bounds(ev, slots[TO], bounds[1]) >= 0;
    *is_mine = !ok || any_array(bounds[0]) || any_array(bounds[1]);
    if (ok && *is_mine) {
        ip_place place = ip_leave_region(ev, ev->place.make);
        ok = ip_eval_value(ev, slots[SLICED], &a);
        ev->place = place;
        if (ok && a.kind != IP_V_ARRAY)
            ok = ip_eval_fail(ev, call->offset, "slice: a must be an array, not %s", ip_val_kind_text(&a));
        ok = ok && slice_axes(ev, call, slots, (const ip_val(*)[IMGPAR_MAX_RANK])bounds, &a);
    }
    for (int k = 0; k < 2 * IMGPAR_MAX_RANK; k++)
        ip_val_free(&bounds[k / IMGPAR_MAX_RANK][k % IMGPAR_MAX_RANK]);
    if (ok && *is_mine)
        *out = a;
    else
        ip_val_free(&a);
    return ok;
}
