/* SPDX-License-Identifier: MIT */
/*
 * Neighbour reads, a[dy, dx], and stencil(expr, border=, cval=, outside=), which
 * sets the rule for the reads written in it. A read is the hidden row "shift".
 * window(a, radius, function) is made of such reads.
 *
 * outside= needs to know where any read leaves its array: each read notes, per
 * axis, the first and last coordinate at which it stays inside, and stencil()
 * chooses by comparing coordinates with what all of them left over.
 */
#include "base/integers.h"
#include "base/plural.h"
#include "lang/eval.h"

#include <string.h>

enum { OFFSET_MAX = 1000000 };

/* Notes for stencil(outside=) where a read by these offsets leaves the array. */
static void note_read(ip_stencil_form *form, imgpar_array *a, const double *offsets, int n)
{
    int64_t dims[4];
    ip_type_dims(&a->type, dims);
    if (!form->read)
        form->read = imgpar_array_retain(a);
    else if (form->read != a)
        form->reads_many = true;
    for (int i = 0; i < n; i++) {
        int dim = ip_type_axis_dim(&a->type, i);
        int64_t offset = (int64_t)offsets[i];
        if (-offset > form->lo[dim]) form->lo[dim] = -offset;
        if (dims[dim] - offset < form->hi[dim]) form->hi[dim] = dims[dim] - offset;
    }
}

/* ---- reads -------------------------------------------------------------------------------------- */

static ip_arg matrix_arg(const char *name, int rows, int cols, const double *numbers)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_MATRIX, .rows = rows, .cols = cols, .numbers = numbers };
}

/* Adds what a value is as a sum of distances and numbers, so many times, to the offset along an axis; false: it is no
 * such sum. */
static bool add_distance(const imgpar_array *a, double times, int axis, ip_offsets *at)
{
    double number;
    const char *symbol = a->op && a->op->symbol ? a->op->symbol : "";
    if (ip_array_is_number(a, &number, NULL)) {
        at->by[axis] += times * number;
        return true;
    }
    if (a->op && strcmp(a->op->info.name, "tap") == 0) {
        bool is_other = at->taps && at->taps != a->inputs[0];
        at->taps = a->inputs[0];
        at->along[axis][(int)ip_param_number(a, "dim")] += times;
        return !is_other;
    }
    if (strcmp(symbol, "+") == 0)
        return add_distance(a->inputs[0], times, axis, at) && add_distance(a->inputs[1], times, axis, at);
    if (strcmp(symbol, "-") == 0)
        return a->n_inputs == 1
                   ? add_distance(a->inputs[0], -times, axis, at)
                   : add_distance(a->inputs[0], times, axis, at) && add_distance(a->inputs[1], -times, axis, at);
    if (strcmp(symbol, "*") != 0) return false;
    if (ip_array_is_number(a->inputs[0], &number, NULL)) return add_distance(a->inputs[1], times * number, axis, at);
    return ip_array_is_number(a->inputs[1], &number, NULL) && add_distance(a->inputs[0], times * number, axis, at);
}

/* The offset along an axis that is written at node. */
static bool eval_offset(ip_eval *ev, const ip_node *node, int axis, ip_offsets *at)
{
    ip_val v;
    int64_t offset;
    bool known;
    if (ev->arounds > 0) {
        if (!ip_eval_value(ev, node, &v)) return false;
        bool is_distance = v.kind == IP_V_ARRAY,
             fits = ev->checking || (is_distance && add_distance(v.u.array, 1, axis, at));
        ip_val_free(&v);
        if (is_distance)
            return fits || ip_eval_fail(
                               ev, node->offset,
                               "an offset is a whole number, or a sum of such and distances of the innermost around()");
    }
    if (!ip_eval_integer(ev, node, "offset", -OFFSET_MAX, OFFSET_MAX, &offset, &known)) return false;
    at->by[axis] = (double)offset;
    return true;
}

/* Neighbours of a neighbour that around() reads are its own: q[0, 1] is a[dy, dx + 1]. */
static imgpar_array *add_offsets_of(imgpar_array *a, ip_offsets *at)
{
    const bool is_read = a->op && strcmp(a->op->info.name, "tap_read") == 0;
    if (!is_read || (at->taps && at->taps != a->inputs[1])) return a;
    const ip_param *by = ip_param_get(a, "offsets"), *along = ip_param_get(a, "along");
    for (int k = 0; k < by->cols; k++) {
        at->by[k] += by->numbers[k];
        for (int dim = 0; dim < 3; dim++)
            at->along[k][dim] += along->numbers[3 * k + dim];
    }
    at->n = by->cols > at->n ? by->cols : at->n;
    at->taps = a->inputs[1];
    return a->inputs[0];
}

/* A read of a read of around() that has a rule of its own keeps it. */
static const char *border_of(const imgpar_array *a, const ip_stencil_form *form, double *cval, bool *has_cval)
{
    static const char *const words[] = { "replicate", "reflect", "reflect101", "wrap",
                                         "constant",  "checked", "unchecked" };
    const bool is_read = a->op && strcmp(a->op->info.name, "tap_read") == 0;
    if (form && (form->has_cval || !is_read)) {
        *cval = form->cval;
        *has_cval = form->has_cval;
    }
    if (form && form->border) return form->border;
    if (!is_read) return NULL;
    *cval = ip_param_number(a, "cval");
    *has_cval = true;
    return words[(int)ip_param_number(a, "border")];
}

bool ip_eval_has_neighbours(ip_eval *ev, size_t offset, const imgpar_array *a)
{
    char text[96];
    return !ip_type_is_folded(&a->type) ||
           ip_eval_fail(ev, offset,
                        "neighbours are read along up to %d axes; the array has %d, %s; circshift and "
                        "pad take them all",
                        IP_OWN_DIMS, a->type.rank, ip_shape_text(&a->type, text));
}

bool ip_call_read(ip_eval *ev, size_t offset, imgpar_array *a, const ip_offsets *offsets, ip_val *out)
{
    ip_offsets at = *offsets;
    double cval = 0;
    bool has_cval = false;
    const char *border = border_of(a, ev->stencil, &cval, &has_cval);
    a = add_offsets_of(a, &at);
    ip_arg args[6] = { ip_arg_array(a) };
    int n = 1;
    if (at.taps) args[n++] = ip_arg_array(at.taps);
    args[n++] = matrix_arg("offsets", 1, at.n, at.by);
    if (at.taps) args[n++] = matrix_arg("along", at.n, 3, at.along[0]);
    if (border) args[n++] = (ip_arg){ .name = "border", .kind = IP_ARG_TEXT, .text = border };
    if (has_cval) args[n++] = (ip_arg){ .name = "cval", .kind = IP_ARG_NUMBER, .number = cval };
    return ip_call_args(ev, ip_op_find(at.taps ? "tap_read" : "shift"), offset, args, NULL, n, out);
}

static bool build_read(ip_eval *ev, const ip_node *node, const ip_val *base, const ip_offsets *at, ip_val *out)
{
    ip_stencil_form *form = ev->stencil;
    const bool chooses = form && form->has_outside; /* by the axes of what is read, a record's or a component's */
    const int has = ev->checking ? IMGPAR_MAX_RANK : base->u.array->type.rank;
    if (at->n > has)
        return ip_eval_fail(ev, node->offset, "%d offsets, but the array has %d %s", at->n, has,
                            ip_word_for(has, "axis", "axes"));
    if (form) form->reads = true;
    if (!form && ev->outside_is_chosen) /* it would be left out of the choice, unseen */
        return ip_eval_fail(ev, node->offset,
                            "the stencil(outside=) around the call of this function does not see its neighbour reads; "
                            "write them in the stencil() itself, or within a stencil() in the function");
    if (ev->checking) {
        *out = ip_val_unknown(base->kind == IP_V_ANY ? IP_V_ANY : IP_V_ARRAY);
        return chooses || ip_record_name_read(ev, node->offset, base, at, out);
    }
    if (!ip_eval_has_neighbours(ev, node->offset, base->u.array)) return false;
    if (form && !at->taps) note_read(form, base->u.array, at->by, at->n);
    if (!ip_call_read(ev, node->offset, base->u.array, at, out)) return false;
    if (chooses || ip_record_name_read(ev, node->offset, base, at, out)) return true;
    ip_val_free(out);
    return false;
}

/* The region stays: what is read may be an element-wise expression itself. */
bool ip_eval_read(ip_eval *ev, const ip_node *node, ip_val *out)
{
    ip_val base;
    ip_offsets at = { .n = node->n_items - 1 };
    if (at.n > IMGPAR_MAX_RANK) return ip_eval_fail(ev, node->offset, "an array has at most %d axes", IMGPAR_MAX_RANK);
    if (!ip_eval_value(ev, node->items[0], &base)) return false;
    bool ok = base.kind == IP_V_ARRAY || base.kind == IP_V_ANY;
    if (!ok) ip_eval_fail(ev, node->offset, "only arrays have neighbours; this is %s", ip_val_kind_text(&base));
    ip_place place = ip_leave_region(ev, ev->place.make);
    for (int k = 0; ok && k < at.n; k++)
        ok = eval_offset(ev, node->items[k + 1], k, &at);
    ev->place = place;
    if (ok) ok = build_read(ev, node, &base, &at, out);
    ip_val_free(&base);
    return ok;
}

/* ---- stencil ------------------------------------------------------------------------------------- */

typedef enum outside { OUTSIDE_BORDER, OUTSIDE_VALUE, OUTSIDE_KEEP } outside;

bool __attribute__((noinline)) ip_check_border(ip_eval *ev, const ip_node *word, const char *border, const char *form)
{
    static const char row[] = "shift";
    const double offset = 0;
    ip_arg args[] = {
        { .kind = IP_ARG_ARRAY, .unknown = true },
        { .name = "offsets", .kind = IP_ARG_MATRIX, .rows = 1, .cols = 1, .numbers = &offset },
        { .name = "border", .kind = IP_ARG_TEXT, .text = border },
    };
    ip_error err = { .status = IMGPAR_OK };
    const ip_op *op = ip_op_find(row);
    if (!op || !ip_check_call(op, args, 3, NULL, &err)) return true;
    bool prefixed = strncmp(err.message, row, sizeof row - 1) == 0; /* as users know it */
    return ip_eval_fail(ev, word->offset, "%s%s%s", form, prefixed ? "" : ": ",
                        err.message + (prefixed ? sizeof row - 1 : 0));
}

/* The options of a stencil() into form. */
static bool stencil_options(ip_eval *ev, const ip_node *const slots[4], ip_stencil_form *form, outside *rule, ip_val *k)
{
    if (slots[1]) {
        const ip_node *word = slots[1];
        form->border = ip_eval_word(ev, word);
        if (!form->border) return ip_eval_fail(ev, word->offset, "stencil: border is a word such as wrap");
        if (!ip_check_border(ev, word, form->border, "stencil")) return false;
    }
    if (slots[2]) {
        ip_val cval;
        if (!ip_eval_number(ev, slots[2], "stencil: cval", &cval)) return false;
        form->cval = cval.number;
        form->has_cval = true;
    }
    if (!slots[3]) return true;
    form->has_outside = true;
    *rule = OUTSIDE_KEEP;
    bool keep = slots[3]->kind == IP_N_NAME && strcmp(slots[3]->name->name, "keep") == 0;
    if (keep || (slots[3]->kind == IP_N_TEXT && strcmp(slots[3]->text, "keep") == 0)) return true;
    *rule = OUTSIDE_VALUE;
    return ip_eval_number(ev, slots[3], "stencil: outside (a number or keep)", k);
}

/* *mask = *mask && condition, both owned; the first one makes the mask. */
static bool and_condition(ip_eval *ev, size_t offset, ip_val *mask, ip_val condition)
{
    if (mask->kind == IP_V_NONE) {
        *mask = condition;
        return true;
    }
    ip_val both;
    bool ok = ip_call_operator(ev, IP_O_AND_AND, offset, (ip_val[]){ *mask, condition }, &both);
    ip_val_free(&condition);
    if (!ok) return false;
    ip_val_free(mask);
    *mask = both;
    return true;
}

/* Where every read lies inside, NONE: everywhere. */
static bool inside_mask(ip_eval *ev, size_t offset, const ip_stencil_form *form, const ip_type *type, ip_val *mask)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    for (int dim = 0; dim < 4; dim++) {
        int64_t before = ip_clamp(form->lo[dim], 0, dims[dim]),
                behind = ip_clamp(dims[dim] - form->hi[dim], 0, dims[dim]);
        ip_val condition;
        if (before == 0 && behind == 0) continue;
        if (!ip_call_result(ev, offset, ip_build_inside(ev->ctx, dim, before, behind, type), &condition)) return false;
        if (!and_condition(ev, offset, mask, condition)) return false;
    }
    return true;
}

/* out = inside ? out : (k or what is read). */
static bool apply_outside(ip_eval *ev, const ip_node *call, const ip_stencil_form *form, outside rule, const ip_val *k,
                          ip_val *out)
{
    if (rule == OUTSIDE_BORDER || ev->checking) return true;
    if (rule == OUTSIDE_KEEP && form->reads_many)
        return ip_eval_fail(ev, call->offset, "stencil: outside=keep needs all reads to be of one array");
    if (out->kind != IP_V_ARRAY || !form->read) return true;
    ip_val mask = { .kind = IP_V_NONE }, chosen;
    bool ok = inside_mask(ev, call->offset, form, &out->u.array->type, &mask);
    if (ok && mask.kind != IP_V_NONE) {
        ip_val other = rule == OUTSIDE_KEEP ? (ip_val){ .kind = IP_V_ARRAY, .u.array = form->read } : *k;
        ok = ip_call_operator(ev, IP_O_SELECT, call->offset, (ip_val[]){ mask, *out, other }, &chosen);
        if (ok) {
            ip_val_free(out);
            *out = chosen;
        }
    }
    ip_val_free(&mask);
    return ok;
}

bool ip_form_stencil(ip_eval *ev, const ip_node *call, ip_val *out)
{
    const ip_node *slots[4];
    if (!ip_form_args(ev, call, slots)) return false;
    ip_stencil_form form = { .hi = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX } }, *before = ev->stencil;
    outside rule = OUTSIDE_BORDER;
    ip_val k = { .kind = IP_V_NONE };
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = stencil_options(ev, slots, &form, &rule, &k);
    if (ok) {
        ev->stencil = &form;
        ok = ip_eval_value(ev, slots[0], out);
        ev->stencil = before;
    }
    ev->place = place;
    if (ok && (ev->checking || ev->is_formula) && !form.reads)
        ok = ip_eval_fail(ev, call->offset,
                          "stencil: no neighbour read a[dy, dx] is written in it; around those of a function it "
                          "stands in the function");
    if (ok) ok = apply_outside(ev, call, &form, rule, &k, out);
    if (!ok) ip_val_free(out);
    imgpar_array_release(form.read);
    return ok;
}

/* ---- window -------------------------------------------------------------------------------- */

enum { RADIUS_MAX = 100 };

/* a, shifted by d along an axis. */
static bool shifted(ip_eval *ev, const ip_node *call, const ip_val *a, int axis, int64_t d, const char *border,
                    ip_val *out)
{
    double offsets[IMGPAR_MAX_RANK] = { 0 };
    offsets[axis] = (double)d;
    ip_arg args[] = {
        ip_arg_array(a->u.array),
        { .name = "offsets", .kind = IP_ARG_MATRIX, .rows = 1, .cols = axis + 1, .numbers = offsets },
        { .name = "border", .kind = IP_ARG_TEXT, .text = border },
    };
    return ip_call_args(ev, ip_op_find("shift"), call->offset, args, NULL, 3, out);
}

/* a becomes its fold along an axis: fn(.. fn(a[-r], a[1 - r]) .., a[r]). */
static bool fold_axis(ip_eval *ev, const ip_node *call, ip_val *a, int axis, int64_t radius, const ip_val *fn,
                      const char *border)
{
    ip_val folded;
    bool ok = shifted(ev, call, a, axis, -radius, border, &folded);
    for (int64_t d = 1 - radius; ok && d <= radius; d++) {
        ip_val pq[2] = { folded, { .kind = IP_V_NONE } };
        ok = shifted(ev, call, a, axis, d, border, &pq[1]) && ip_call_function(ev, fn, pq, 2, call->offset, &folded);
        ip_val_free(&pq[0]);
        ip_val_free(&pq[1]);
        if (ok && folded.kind != IP_V_ARRAY) {
            ip_val_free(&folded);
            ok = ip_eval_fail(ev, call->offset, "window: the function must use its arguments");
        }
    }
    if (!ok) return false;
    ip_val_free(a);
    *a = folded;
    return true;
}

/* One radius an axis into radii, their number into *n; nothing while they are not known. */
static bool window_radii(ip_eval *ev, const ip_node *node, int rank, int64_t radii[IMGPAR_MAX_RANK], int *n)
{
    ip_val v;
    if (!ip_eval_value(ev, node, &v)) return false;
    const ip_matrix *m = v.kind == IP_V_MATRIX ? v.u.matrix : NULL;
    bool ok = m || v.kind == IP_V_ANY || v.kind == IP_V_NUMBER, is_known = !v.unknown && v.kind != IP_V_ANY;
    *n = !is_known ? 0 : m ? m->rows * m->cols : 2;
    if (m && *n > IP_OWN_DIMS) ok = false;
    if (!ev->checking && !m && *n > rank) *n = rank;
    for (int k = 0; ok && k < *n; k++) {
        double r = m ? m->numbers[k] : v.number;
        ok = r >= 0 && r <= RADIUS_MAX && r == (double)(int64_t)r;
        radii[k] = ok ? (int64_t)r : 0;
    }
    ip_val_free(&v);
    if (ok && !ev->checking && *n > rank)
        return ip_eval_fail(ev, node->offset, "window: %d radii, but the array has %d %s", *n, rank,
                            ip_word_for(rank, "axis", "axes"));
    return ok ||
           ip_eval_fail(ev, node->offset, "window: radius is a whole number from 0 to %d, or a vector of up to %d",
                        RADIUS_MAX, IP_OWN_DIMS);
}

static bool window_border(ip_eval *ev, const ip_node *word, const char **border)
{
    *border = "replicate";
    if (!word) return true;
    *border = ip_eval_word(ev, word);
    if (!*border) return ip_eval_fail(ev, word->offset, "window: border is a word such as wrap");
    if (strcmp(*border, "constant") == 0 || strcmp(*border, "zero") == 0)
        return ip_eval_fail(ev, word->offset, "window: border=%s would be folded along one axis only", *border);
    return ip_check_border(ev, word, *border, "stencil");
}

static bool fold_window(ip_eval *ev, const ip_node *call, const ip_node *const slots[4], const ip_val *a,
                        const ip_val *fn, ip_val *out)
{
    int64_t radii[IMGPAR_MAX_RANK] = { 0 };
    const char *border;
    int n;
    if (a->kind != IP_V_ARRAY && a->kind != IP_V_ANY)
        return ip_eval_fail(ev, slots[0]->offset, "window takes an array, not %s", ip_val_kind_text(a));
    if (fn->kind != IP_V_FUNCTION && fn->kind != IP_V_ANY)
        return ip_eval_fail(ev, slots[2]->offset, "window: a function such as (p, q) -> max(p, q) is expected, not %s",
                            ip_val_kind_text(fn));
    int rank = ev->checking ? IMGPAR_MAX_RANK : a->u.array->type.rank;
    if (!window_radii(ev, slots[1], rank, radii, &n) || !window_border(ev, slots[3], &border)) return false;
    if (ev->checking) {
        ip_val pq[2] = { ip_val_unknown(IP_V_ARRAY), ip_val_unknown(IP_V_ARRAY) }, ignored;
        if (fn->kind == IP_V_FUNCTION && !ip_call_function(ev, fn, pq, 2, slots[2]->offset, &ignored)) return false;
        if (fn->kind == IP_V_FUNCTION) ip_val_free(&ignored);
        *out = ip_val_unknown(IP_V_ARRAY);
        return true;
    }
    if (!ip_eval_has_neighbours(ev, slots[0]->offset, a->u.array)) return false;
    *out = ip_val_copy(a);
    bool ok = true;
    for (int axis = 0; ok && axis < n; axis++)
        ok = radii[axis] == 0 || fold_axis(ev, call, out, axis, radii[axis], fn, border);
    if (!ok) ip_val_free(out);
    return ok;
}

bool ip_form_window(ip_eval *ev, const ip_node *call, ip_val *out)
{
    const ip_node *slots[4];
    ip_val a, fn = { .kind = IP_V_NONE };
    if (!ip_form_args(ev, call, slots)) return false;
    ip_place place = ip_leave_region(ev, ev->place.make);
    bool ok = ip_eval_value(ev, slots[0], &a);
    if (ok) {
        ok = ip_eval_any(ev, slots[2], &fn) && fold_window(ev, call, slots, &a, &fn, out);
        ip_val_free(&a);
        ip_val_free(&fn);
    }
    ev->place = place;
    return ok;
}
