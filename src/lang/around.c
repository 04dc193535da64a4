/* SPDX-License-Identifier: MIT */
/*
 * around(a, r, (p, q, dy, dx) -> expr, "sum"): a function of each element and each of its neighbours, folded
 * (ops/around.h, Note [Neighbourhoods]).
 *
 *     around(a, 2, (p, q) -> abs(p - q), "max")              the largest difference from a neighbour
 *     around(a, 3, (p, q, dy, dx) -> (q, exp(-(dy * dy + dx * dx) / 18)), "mean")      a weighted mean
 *
 * The function is called once. q is the read a[dy, dx], whose offsets are the neighbour's distances; such reads of any
 * array may be written in it.
 */
#include "lang/eval.h"
#include "ops/around.h"

#include <string.h>

enum { RADIUS_MAX = 1000, MOST_DISTANCES = 3 };

typedef struct surroundings {
    ip_eval *ev;
    const ip_node *call;
    const ip_node *slots[7]; /* array, radius, function, fold, border, cval, shape */
    ip_val a, fn, taps;
    int n_axes, dims[MOST_DISTANCES]; /* the axes with neighbours, and which of z y x each is */
    double radii[3];                  /* of z y x */
    const char *fold, *shape;
    ip_stencil_form form; /* of the reads */
} surroundings;

/* ---- arguments -------------------------------------------------------------------------------- */

static bool find_axes(surroundings *s)
{
    const ip_type *type = s->ev->checking ? NULL : &s->a.u.array->type;
    s->n_axes = type ? 0 : MOST_DISTANCES;
    if (type && !ip_eval_has_neighbours(s->ev, s->slots[0]->offset, s->a.u.array)) return false;
    for (int k = 0; type && k < type->rank; k++) {
        int dim = ip_type_axis_dim(type, k);
        if (dim < 3) s->dims[s->n_axes++] = dim;
    }
    if (!type || !ip_type_is_complex(type)) return true;
    return ip_eval_fail(s->ev, s->slots[0]->offset, "around does not compute with complex numbers");
}

/* One radius for all axes, or one for each. */
static bool find_radii(surroundings *s)
{
    ip_val v;
    if (!ip_eval_value(s->ev, s->slots[1], &v)) return false;
    const ip_matrix *m = v.kind == IP_V_MATRIX ? v.u.matrix : NULL;
    bool ok = m || v.kind == IP_V_ANY || v.kind == IP_V_NUMBER, is_known = ok && !v.unknown && v.kind != IP_V_ANY;
    int n = m ? m->rows * m->cols : s->n_axes;
    for (int k = 0; ok && is_known && k < n; k++) {
        double r = m ? m->numbers[k] : v.number;
        ok = r >= 0 && r <= RADIUS_MAX && r == (double)(int64_t)r;
        if (k < s->n_axes && !s->ev->checking) s->radii[s->dims[k]] = r;
    }
    ip_val_free(&v);
    if (!ok)
        return ip_eval_fail(s->ev, s->slots[1]->offset,
                            "around: radius is a whole number from 0 to %d, or a vector of them", RADIUS_MAX);
    bool fits = n == s->n_axes || (s->ev->checking && n <= s->n_axes);
    return fits ||
           ip_eval_fail(s->ev, s->slots[1]->offset, "around: %d radii, but the array has neighbours along %d ax%s", n,
                        s->n_axes, s->n_axes == 1 ? "is" : "es");
}

/* The word in a slot; "" where there is something else. */
static const char *word_of(const surroundings *s, const ip_node *node)
{
    const char *word = ip_eval_word(s->ev, node);
    return word ? word : "";
}

static bool find_fold(surroundings *s)
{
    static const char *const words[][2] = { { "sum", "sum" }, { "mean", "mean" },       { "min", "min" },
                                            { "max", "max" }, { "product", "product" }, { "prod", "product" } };
    const char *word = s->slots[3] ? word_of(s, s->slots[3]) : "sum";
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strcmp(word, words[k][0]) == 0) s->fold = words[k][1];
    return s->fold || ip_eval_fail(s->ev, s->slots[3]->offset,
                                   "around: fold is \"sum\", \"mean\", \"min\", \"max\" or \"product\"");
}

static bool find_shape(surroundings *s)
{
    s->shape = s->slots[6] ? word_of(s, s->slots[6]) : "square";
    return strcmp(s->shape, "square") == 0 || strcmp(s->shape, "disc") == 0 ||
           ip_eval_fail(s->ev, s->slots[6]->offset, "around: shape is \"square\" or \"disc\"");
}

static bool find_border(surroundings *s)
{
    ip_val cval;
    s->form = (ip_stencil_form){ .hi = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX } };
    if (s->slots[4]) s->form.border = word_of(s, s->slots[4]);
    if (s->form.border && !ip_check_border(s->ev, s->slots[4], s->form.border, "around")) return false;
    if (!s->slots[5]) return true;
    if (!ip_eval_number(s->ev, s->slots[5], "around: cval", &cval)) return false;
    s->form.cval = cval.number;
    s->form.has_cval = true;
    return true;
}

static bool find_array(surroundings *s)
{
    if (!ip_eval_value(s->ev, s->slots[0], &s->a)) return false;
    if (s->a.kind == IP_V_ARRAY || s->a.kind == IP_V_ANY) return true;
    return ip_eval_fail(s->ev, s->slots[0]->offset, "around takes an array, not %s", ip_val_kind_text(&s->a));
}

/* How many arguments it takes: p and q, or the distances too. */
static bool find_function(surroundings *s, int *n_args)
{
    const ip_node *node = s->slots[2];
    if (!ip_eval_any(s->ev, node, &s->fn)) return false;
    *n_args = 2;
    if (s->fn.kind == IP_V_ANY) return true;
    if (s->fn.kind != IP_V_FUNCTION)
        return ip_eval_fail(s->ev, node->offset, "around: a function such as (p, q) -> abs(p - q) is expected, not %s",
                            ip_val_kind_text(&s->fn));
    if (!s->fn.u.fn.op) *n_args = s->fn.u.fn.lambda->n_names;
    if (node->kind == IP_N_LAMBDA && (s->form.border || s->form.has_cval)) s->fn.u.fn.stencil = &s->form;
    bool fits =
        *n_args == 2 || (s->ev->checking ? *n_args > 2 && *n_args <= 2 + MOST_DISTANCES : *n_args == 2 + s->n_axes);
    static const char *const distances[] = { "", ", dx", ", dy, dx", ", dz, dy, dx" };
    return fits || ip_eval_fail(s->ev, node->offset, "around: the function takes (p, q) or (p, q%s), not %d arguments",
                                distances[s->ev->checking ? 2 : s->n_axes], *n_args);
}

/* ---- the function's arguments ------------------------------------------------------------------ */

static bool make_taps(surroundings *s)
{
    ip_arg args[5];
    static const char *const names[] = { "depth", "height", "width" };
    for (int k = 0; k < 3; k++)
        args[k] = (ip_arg){ .name = names[k], .kind = IP_ARG_NUMBER, .number = s->radii[k] };
    args[3] = (ip_arg){ .name = "level", .kind = IP_ARG_NUMBER, .number = s->ev->arounds };
    args[4] = (ip_arg){ .name = "shape", .kind = IP_ARG_TEXT, .text = s->shape };
    return ip_call_result(s->ev, s->call->offset, ip_build(s->ev->ctx, ip_op_find("taps"), args, 5), &s->taps);
}

static bool make_distance(surroundings *s, int axis, ip_val *out)
{
    ip_arg args[] = { ip_arg_array(s->taps.u.array),
                      { .name = "dim", .kind = IP_ARG_NUMBER, .number = s->dims[axis] } };
    return ip_call_args(s->ev, ip_op_find("tap"), s->call->offset, args, NULL, 2, out);
}

static bool make_neighbour(surroundings *s, ip_val *out)
{
    ip_offsets at = { .n = s->a.u.array->type.rank, .taps = s->taps.u.array };
    for (int k = 0; k < at.n; k++) {
        int dim = ip_type_axis_dim(&s->a.u.array->type, k);
        if (dim < 3) at.along[k][dim] = 1;
    }
    ip_stencil_form *before = s->ev->stencil;
    s->ev->stencil = &s->form;
    bool ok = ip_call_read(s->ev, s->call->offset, s->a.u.array, &at, out);
    s->ev->stencil = before;
    return ok;
}

/* p, q and the distances, of which there are n in all. */
static bool make_arguments(surroundings *s, ip_val *args, int n)
{
    for (int k = 0; s->ev->checking && k < n; k++)
        args[k] = ip_val_unknown(IP_V_ARRAY);
    if (s->ev->checking) return true;
    args[0] = ip_val_copy(&s->a);
    bool ok = make_taps(s) && make_neighbour(s, &args[1]);
    for (int k = 2; ok && k < n; k++)
        ok = make_distance(s, k - 2, &args[k]);
    return ok;
}

/* ---- the result ---------------------------------------------------------------------------------- */

static bool is_foldable(const ip_val *v)
{
    bool is_of_array = v->kind == IP_V_ARRAY && !(v->u.array && ip_array_bends(v->u.array, NULL));
    return is_of_array || v->kind == IP_V_ANY;
}

/* Of what the function gave: the value, and the weight or a number. */
static bool split_result(surroundings *s, const ip_val *result, ip_val *value, ip_val *weight)
{
    const bool is_pair = result->kind == IP_V_TUPLE && result->u.tuple->n == 2;
    *value = is_pair ? result->u.tuple->items[0] : *result;
    *weight = is_pair ? result->u.tuple->items[1] : ip_val_number(1, false);
    if (is_pair && strcmp(s->fold, "mean") != 0)
        return ip_eval_fail(s->ev, s->slots[2]->offset, "around: a value and its weight make a \"mean\", not a \"%s\"",
                            s->fold);
    bool has_weight = weight->kind == IP_V_ARRAY || weight->kind == IP_V_ANY || ip_val_is_scalar(weight);
    return (is_foldable(value) && has_weight) ||
           ip_eval_fail(s->ev, s->slots[2]->offset,
                        "around: what the function gives must be made of p, the element, or q, a neighbour of it%s",
                        strcmp(s->fold, "mean") == 0 ? ", or be such a value and its weight" : "");
}

static bool make_fold(surroundings *s, const ip_val *result, ip_val *out)
{
    ip_val value, weight;
    if (!split_result(s, result, &value, &weight)) return false;
    if (s->ev->checking) {
        *out = ip_val_unknown(IP_V_ARRAY);
        return true;
    }
    ip_arg args[] = { ip_arg_array(s->taps.u.array),
                      ip_arg_array(value.u.array),
                      weight.kind == IP_V_ARRAY ? ip_arg_array(weight.u.array) : ip_arg_number(weight.number),
                      { .name = "fold", .kind = IP_ARG_TEXT, .text = s->fold } };
    return ip_call_args(s->ev, ip_op_find("around"), s->call->offset, args, NULL, 4, out);
}

static bool fold_around(surroundings *s, ip_val *out)
{
    ip_val args[2 + MOST_DISTANCES] = { { .kind = IP_V_NONE } }, result;
    int n_args = 0;
    if (!find_array(s) || !find_axes(s) || !find_radii(s) || !find_fold(s) || !find_shape(s) || !find_border(s) ||
        !find_function(s, &n_args))
        return false;
    bool ok = make_arguments(s, args, n_args);
    s->ev->arounds++;
    ok = ok && ip_call_function(s->ev, &s->fn, args, n_args, s->slots[2]->offset, &result);
    s->ev->arounds--;
    if (ok) {
        ok = make_fold(s, &result, out);
        ip_val_free(&result);
    }
    for (int k = 0; k < n_args; k++)
        ip_val_free(&args[k]);
    return ok;
}

bool ip_form_around(ip_eval *ev, const ip_node *call, ip_val *out)
{
    surroundings s = { .ev = ev, .call = call };
    *out = (ip_val){ .kind = IP_V_NONE };
    if (!ip_form_args(ev, call, s.slots)) return false;
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool ok = fold_around(&s, out);
    ip_val_free(&s.a);
    ip_val_free(&s.fn);
    ip_val_free(&s.taps);
    imgpar_array_release(s.form.read);
    ev->place = place;
    return ok;
}
