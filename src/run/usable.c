/* SPDX-License-Identifier: MIT */
/*
 * Note [Usable numbers]
 * A warp by a matrix without an inverse is a picture without anything in it, and nothing would tell. So the input of
 * each node of the row IP_USABLE is computed before what reads it, from the first one to the last, and its elements are
 * looked at from the host. The node keeps the value for what reads it. Where all that it is made of is small, the
 * interpreter computes it: no kernel is planned or compiled for nine numbers, and they are the same on every device.
 * What is in memory already is read from there. What dear rows make on the way, or numbers that were looked at, is held
 * where the rest needs it, too.
 *
 * Of a step of a loop the plan is kept from step to step, and so is what it reads such nodes as: sources that get
 * another value each time, as the carried values do (evaluate.c). Kept plans of graphs do the same (plans.c).
 *
 * An input that gradients are taken by is looked at and computed again, since the way to it must stay in the graph.
 * What stands in a function over single elements is nobody's number and is not looked at.
 */
#include "run/usable.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/usable.h"
#include "run/applied.h"
#include "run/walk.h"

#include <string.h>

enum { SMALL = 4096 }; /* elements of each array on the way; arithmetic on them takes no longer than a launch */

/* Marks of what is below a node, itself included, beside those of applied.h: one that is to be looked at; an array
 * by which is differentiated; too much for the interpreter; one that was looked at. */
enum { HAS_OPEN = 1, IS_VARIED = 2, IS_LARGE = 4, HAS_LOOKED_AT = 8 };

typedef struct looking {
    const ip_request *q;
    ip_walk walk, done; /* done: looked at, and without a value all the same */
    ip_held ready, *held;
} looking;

static bool is_there(imgpar_array *node)
{
    const ip_source *s = node->source;
    return ip_array_has_value(node) || (s && (s->kind == IP_SOURCE_PIXELS || s->kind == IP_SOURCE_BUFFER));
}

static bool is_large(const imgpar_array *node) { return ip_type_count(&node->type) > SMALL; }

static unsigned mark_of_value(const imgpar_array *node)
{
    return (is_large(node) ? IS_LARGE : 0) | (node->op->flags & IP_OP_USABLE ? HAS_LOOKED_AT : 0);
}

/* Of one that has no value. */
static unsigned own_mark(imgpar_array *node)
{
    const bool is_made = !is_there(node) && (node->source || node->loop);
    return ip_applied_begins(node) | (strcmp(node->op->info.name, "variable") == 0 ? IS_VARIED : 0) |
           (is_made || is_large(node) ? IS_LARGE : 0);
}

/* Once what is below it was looked at. */
static imgpar_status leave(looking *l, imgpar_array *node, ip_error *err)
{
    const int taken = ip_choices_taken(l->q->goal.choices, node);
    unsigned mark = own_mark(node);
    imgpar_status st = IMGPAR_OK;
    for (int k = taken; k < (taken ? taken + 1 : node->n_inputs); k++)
        mark |= ip_walk_note(&l->walk, node->inputs[k])->mark;
    mark &= ~ip_applied_ends(node);
    if (node->op->flags & IP_OP_USABLE && !(mark & IP_APPLIED) && !ip_walk_was_met(&l->done, node)) {
        if (!(mark & HAS_OPEN)) st = ip_held_add(&l->ready, node, err);
        mark |= HAS_OPEN;
    }
    ip_walk_note(&l->walk, node)->mark = mark;
    return st;
}

/* A value of numbers that were looked at is held, be it another thread's. */
static imgpar_status has_its_value(looking *l, imgpar_array *node, bool *has, ip_error *err)
{
    *has = ip_array_has_value(node);
    if (!*has || !(node->op->flags & IP_OP_USABLE)) return IMGPAR_OK;
    imgpar_status st = ip_held_add(l->held, node, err);
    *has = !st && l->held->values[l->held->n - 1];
    return st;
}

/* The nodes that are to be looked at and have none below them. */
static imgpar_status find_ready(looking *l, ip_error *err)
{
    ip_walk *w = &l->walk;
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < l->q->n; k++)
        st = ip_walk_push(w, l->q->arrays[k], false, err);
    while (!st && w->depth > 0) {
        imgpar_array *node = w->stack[--w->depth].node;
        bool first = false;
        if (w->stack[w->depth].is_left) {
            st = leave(l, node, err);
            continue;
        }
        bool has_value = false;
        if (!ip_walk_meet(w, node, &first)) return ip_fail_memory(err, "looking at numbers");
        if (first) st = has_its_value(l, node, &has_value, err);
        if (!st && has_value) ip_walk_note(w, node)->mark = mark_of_value(node);
        if (st || !first || has_value) continue;
        const int taken = ip_choices_taken(l->q->goal.choices, node);
        st = ip_walk_push(w, node, true, err);
        if (!st) st = ip_walk_push_all(w, node->inputs + taken, taken ? 1 : node->n_inputs, err);
    }
    return st;
}

static imgpar_status check(const imgpar_array *node, ip_value *value, ip_error *err)
{
    const ip_dtype_facts *facts = ip_dtype(node->type.dtype);
    const size_t size = facts->size_bytes / (ip_type_is_complex(&node->type) ? 2 : 1);
    int64_t dims[4];
    const imgpar_dtype dtype = ip_type_storage(&node->type, dims);
    const size_t n = value->size_bytes / size;
    char *bytes = ip_alloc(value->size_bytes ? value->size_bytes : 1);
    double *elements = ip_alloc_array(n ? n : 1, sizeof *elements);
    imgpar_status st = bytes && elements ? ip_value_read(value, bytes, err) : ip_fail_memory(err, "looking at numbers");
    for (size_t k = 0; !st && k < n; k++)
        elements[k] = ip_load_number(dtype, bytes + k * size);
    if (!st) st = ip_usable_check(node, elements, (int64_t)n, err);
    ip_free(bytes);
    ip_free(elements);
    return st;
}

/* Of nodes that read what is there already. */
static imgpar_status look_at_there(looking *l, imgpar_array *node, ip_error *err)
{
    bool first;
    ip_value *value = ip_array_pin(node->inputs[0]);
    if (!value && !node->inputs[0]->source) return IMGPAR_OK; /* it was, a moment ago: the next walk finds it so */
    imgpar_status st = value ? IMGPAR_OK : ip_source_value(NULL, NULL, node->inputs[0], &value, err);
    if (!st) st = check(node, value, err);
    ip_value_release(value);
    return st || ip_walk_meet(&l->done, node, &first) ? st : ip_fail_memory(err, "looking at numbers");
}

static imgpar_status take_value(looking *l, imgpar_array *node, ip_value *value, ip_error *err)
{
    bool first;
    imgpar_status st = check(node, value, err);
    if (st) return st;
    if (ip_walk_note(&l->walk, node->inputs[0])->mark & IS_VARIED)
        return ip_walk_meet(&l->done, node, &first) ? IMGPAR_OK : ip_fail_memory(err, "looking at numbers");
    st = ip_held_add(l->held, node, err);
    if (!st) ip_array_lend_value(node, value);
    return st;
}

/* What is needed beside what the ready nodes read. */
static imgpar_status walk_rest(const looking *l, ip_walk *rest, ip_error *err)
{
    bool first;
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < l->ready.n; k++)
        if (!ip_walk_meet(rest, l->ready.nodes[k], &first)) st = ip_fail_memory(err, "looking at numbers");
    if (!st) st = ip_walk_push_all(rest, l->q->arrays, (int)l->q->n, err);
    while (!st && rest->depth > 0) {
        imgpar_array *node = rest->stack[--rest->depth].node;
        if (!ip_walk_meet(rest, node, &first)) st = ip_fail_memory(err, "looking at numbers");
        if (st || !first || ip_array_has_value(node)) continue;
        const int taken = ip_choices_taken(l->q->goal.choices, node);
        st = ip_walk_push_all(rest, node->inputs + taken, taken ? 1 : node->n_inputs, err);
    }
    return st;
}

/* Appends to what is held what n arrays are made of and the rest needs, too: what a warp or a convolution by numbers
 * that were looked at comes to, so that each of a row of them is computed once, and of dear rows the last ones; nothing
 * that is differentiated. */
static imgpar_status hold_shared(imgpar_context *ctx, looking *l, imgpar_array *const *arrays, size_t n, ip_error *err)
{
    ip_walk rest = { 0 }, w = { 0 };
    uint64_t budget = ip_held_budget(ctx);
    imgpar_status st = walk_rest(l, &rest, err);
    if (!st) st = ip_walk_push_all(&w, arrays, (int)n, err);
    while (!st && w.depth > 0) {
        imgpar_array *node = w.stack[--w.depth].node;
        bool first = false;
        if (!ip_walk_meet(&w, node, &first)) st = ip_fail_memory(err, "looking at numbers");
        if (st || !first || ip_array_has_value(node)) continue;
        const uint64_t bytes = (uint64_t)ip_type_count(&node->type) * ip_dtype(node->type.dtype)->size_bytes;
        const int taken = ip_choices_taken(l->q->goal.choices, node);
        const unsigned mark = ip_walk_note(&l->walk, node)->mark;
        const bool pays = mark & HAS_LOOKED_AT || ip_held_pays(node, l->q->goal.choices);
        if (pays && !(mark & IS_VARIED) && ip_walk_was_met(&rest, node) && bytes <= budget) {
            budget -= bytes;
            st = ip_held_add(l->held, node, err);
        } else {
            st = ip_walk_push_all(&w, node->inputs + taken, taken ? 1 : node->n_inputs, err);
        }
    }
    ip_walk_free(&w);
    ip_walk_free(&rest);
    return st;
}

/* Evaluates n arrays, whose values are the caller's then, and what is held from first_held on, which is lent its
 * own. */
static imgpar_status evaluate_with_held(imgpar_context *ctx, looking *l, imgpar_array *const *arrays, size_t n,
                                        size_t first_held, ip_computing by, ip_value **values, ip_error *err)
{
    const ip_request *q = l->q;
    const size_t n_held = l->held->n - first_held;
    imgpar_array **all = ip_alloc_array(n + n_held, sizeof *all);
    ip_value **made = ip_zalloc((n + n_held) * sizeof *made);
    imgpar_status st = all && made ? IMGPAR_OK : ip_fail_memory(err, "looking at numbers");
    for (size_t k = 0; !st && k < n + n_held; k++)
        all[k] = k < n ? arrays[k] : l->held->nodes[first_held + k - n];
    if (!st) st = ip_evaluate_looked_at(ctx, all, n + n_held, q->options, by, q->goal.choices, made, err);
    for (size_t k = 0; !st && k < n; k++)
        values[k] = made[k];
    for (size_t k = n; !st && k < n + n_held; k++) {
        ip_array_lend_value(all[k], made[k]);
        ip_value_release(made[k]);
    }
    ip_free(all);
    ip_free(made);
    return st;
}

/* Computes together what the ready nodes read that the interpreter computes, or the device. */
static imgpar_status compute(imgpar_context *ctx, looking *l, bool large, ip_error *err)
{
    const ip_request *q = l->q;
    const ip_computing by = q->use_ref || !large ? IP_BY_REF : q->may_interpret ? IP_BY_EITHER : IP_BY_DEVICE;
    imgpar_array **nodes = ip_alloc_array(l->ready.n, sizeof *nodes);
    imgpar_array **inputs = ip_alloc_array(l->ready.n, sizeof *inputs);
    ip_value **values = ip_zalloc(l->ready.n * sizeof *values);
    size_t n = 0;
    imgpar_status st = nodes && inputs && values ? IMGPAR_OK : ip_fail_memory(err, "looking at numbers");
    for (size_t k = 0; !st && k < l->ready.n; k++) {
        imgpar_array *node = l->ready.nodes[k], *input = node->inputs[0];
        if (is_there(input) || !(ip_walk_note(&l->walk, input)->mark & IS_LARGE) == large) continue;
        nodes[n] = node;
        inputs[n++] = input;
    }
    const size_t first_held = l->held->n;
    if (!st && n > 0 && large) st = hold_shared(ctx, l, inputs, n, err);
    if (!st && n > 0) st = evaluate_with_held(ctx, l, inputs, n, first_held, by, values, err);
    for (size_t k = 0; k < n; k++) {
        if (!st) st = take_value(l, nodes[k], values[k], err);
        ip_value_release(values[k]);
    }
    ip_free(nodes);
    ip_free(inputs);
    ip_free(values);
    return st;
}

static imgpar_status look_at_ready(imgpar_context *ctx, looking *l, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < l->ready.n; k++)
        if (is_there(l->ready.nodes[k]->inputs[0])) st = look_at_there(l, l->ready.nodes[k], err);
    if (!st) st = compute(ctx, l, false, err);
    return st ? st : compute(ctx, l, true, err);
}

static void forget_walk(looking *l)
{
    ip_held_release(&l->ready);
    ip_walk_free(&l->walk);
    l->walk = (ip_walk){ 0 };
}

imgpar_status ip_usable_look(imgpar_context *ctx, const ip_request *q, ip_held *held, ip_error *err)
{
    unsigned promises = 0;
    for (size_t k = 0; k < q->n; k++)
        promises |= q->arrays[k]->promises;
    if (!(promises & IP_PROMISES_USE)) return IMGPAR_OK;
    looking l = { .q = q, .held = held };
    imgpar_status st = find_ready(&l, err);
    while (!st && l.ready.n > 0) {
        st = look_at_ready(ctx, &l, err);
        forget_walk(&l);
        if (!st) st = find_ready(&l, err);
    }
    forget_walk(&l);
    ip_walk_free(&l.done);
    return st;
}
