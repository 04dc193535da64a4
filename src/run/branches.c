/* SPDX-License-Identifier: MIT */
/*
 * Note [Branches]
 * `c ? a : b` with one number for c is a branch: one side is the result, and all of the other one would be computed for
 * nothing. So, before a graph is planned, the conditions of its branches are computed, and each branch is then planned
 * as the side that is taken: what only the other side needs is neither decoded nor computed, and what is taken fuses
 * with what reads it, streams and is cut into parts as if it had been written alone. Values are those of a select.
 *
 * A branch with a side that looks at numbers before it is computed (usable.c) is decided whatever that costs: of the
 * other side nothing is an error.
 *
 * A condition that must be known before anything is planned costs a plan, a launch and a look at its value from the
 * host, where the interpreter computes what follows the last fold. It pays where what one side needs and nobody else is
 * much: decoding, a loop, a kernel of the user, or passes over least_work elements and as many as the branch has. A
 * filter is a pass, and so is reading an array; OPERATIONS of arithmetic are as dear as one, which does some on its way
 * for nothing; a sort, a Fourier transform and what else has kernels of its own is APART of them. Else the branch stays
 * a select, in one kernel with the rest.
 *
 * What conditions are computed from and the rest needs as well is kept from the one to the other, where it is more than
 * arithmetic and there is room; else it would be computed twice. The step of a loop is planned once for all steps and
 * can keep nothing, so there a branch that shares such work with its condition stays a select.
 *
 * Branches below a condition are decided before it, those below a side when that side is taken. A condition within a
 * function that around() or reduce() applies, made of what the function is applied to, is nobody's number: that stays a
 * select. A loop decides the branches of its step before each step, with the values that it carries then (loop.c), and
 * keeps a plan for each of the last sets of sides that it took.
 */
#include "run/branches.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "run/applied.h"
#include "run/held.h"
#include "run/value.h"
#include "run/walk.h"

#include <math.h>
#include <string.h>

/* Elements of a pass: half a millisecond of two cores, where a plan and a launch take 0.2 (PoCL 3.1). */
static const double least_work = 1 << 20;
enum {
    DECODED = 4,        /* a decoded element, against a computed one */
    OPERATIONS = 16,    /* of arithmetic on an element, that take as long as a pass */
    APART = 16,         /* an element of a row with kernels of its own: a sort takes 20 ns, a Fourier transform 11 */
    MOST_VISITED = 1024 /* nodes of a side that are looked at */
};

/* Marks, beside those of applied.h: an undecided branch is below. */
enum { HAS_BRANCH = 1 };

typedef struct deciding {
    const ip_branching *graph;
    const ip_choices *choices; /* 0 taken: a branch that stays a select */
    ip_walk walk;
    imgpar_array **open; /* undecided branches */
    size_t n_open, capacity;
    bool keeps; /* values, from conditions to the rest */
} deciding;

static void deciding_free(deciding *d)
{
    ip_walk_free(&d->walk);
    ip_free(d->open);
}

/* What a side depends on is looked at before (usable.c), which is for the side that is taken alone. */
static bool looks_at_side(const imgpar_array *node)
{
    return (node->inputs[1]->promises | node->inputs[2]->promises) & IP_PROMISES_USE;
}

static bool is_open(const deciding *d, const imgpar_array *node)
{
    return node->op->flags & IP_OP_BRANCH && ip_type_count(&node->inputs[0]->type) == 1 &&
           (ip_type_count(&node->type) > 1 || looks_at_side(node)) && !ip_choices_find(d->choices, node);
}

/* What of a node's inputs is read whatever sides will be taken: *n of them. */
static imgpar_array *const *inputs_of(const deciding *d, const imgpar_array *node, int *n)
{
    const int taken = ip_choices_taken(d->choices, node);
    *n = taken || is_open(d, node) ? 1 : node->n_inputs;
    return node->inputs + taken;
}

static imgpar_status add_open(deciding *d, imgpar_array *node, ip_error *err)
{
    if (d->n_open == d->capacity) {
        size_t capacity = d->capacity ? d->capacity * 2 : 8;
        imgpar_array **open = ip_realloc_array(d->open, capacity, sizeof *open);
        if (!open) return ip_fail_memory(err, "deciding branches");
        d->open = open;
        d->capacity = capacity;
    }
    d->open[d->n_open++] = node;
    return IMGPAR_OK;
}

/* A step's own placeholders have values when it is decided. */
static bool is_of_step(const deciding *d, const imgpar_array *node)
{
    for (int k = 0; k < d->graph->n_placeholders; k++)
        if (d->graph->placeholders[k] == node) return true;
    return false;
}

/* Once what is below it was looked at. */
static imgpar_status leave(deciding *d, imgpar_array *node, ip_error *err)
{
    int n;
    imgpar_array *const *inputs = inputs_of(d, node, &n);
    unsigned mark = is_of_step(d, node) ? 0 : ip_applied_begins(node);
    for (int k = 0; k < n; k++)
        mark |= ip_walk_note(&d->walk, inputs[k])->mark;
    mark &= ~ip_applied_ends(node);
    imgpar_status st = IMGPAR_OK;
    if (is_open(d, node)) {
        if (!(mark & IP_APPLIED)) st = add_open(d, node, err);
        mark |= HAS_BRANCH;
    }
    ip_walk_note(&d->walk, node)->mark = mark;
    return st;
}

/* From what is on the stack on: the undecided branches that are reached without passing a side of one. */
static imgpar_status walk_on(deciding *d, ip_error *err)
{
    ip_walk *w = &d->walk;
    imgpar_status st = IMGPAR_OK;
    while (!st && w->depth > 0) {
        imgpar_array *node = w->stack[--w->depth].node;
        bool first = false;
        if (w->stack[w->depth].is_left) {
            st = leave(d, node, err);
            continue;
        }
        if (!ip_walk_meet(w, node, &first)) return ip_fail_memory(err, "deciding branches");
        if (!first || ip_array_has_value(node)) continue;
        int n_inputs;
        imgpar_array *const *inputs = inputs_of(d, node, &n_inputs);
        st = ip_walk_push(w, node, true, err);
        if (!st) st = ip_walk_push_all(w, inputs, n_inputs, err);
    }
    return st;
}

static imgpar_status find_open(deciding *d, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t k = d->graph->n; !st && k-- > 0;) /* the first one is on top */
        st = ip_walk_push(&d->walk, d->graph->arrays[k], false, err);
    return st ? st : walk_on(d, err);
}

/* ---- what a branch is worth ------------------------------------------------------------------------------ */

enum { SIDE_1 = 1, SIDE_2 = 2, BOTH = 3 }; /* marks: which sides need a node */

/* Elements of passes that a node takes, of so many of the branch that it is needed for. */
static double work_of(imgpar_array *node, double of_branch)
{
    const ip_source *source = node->source;
    const double count = (double)ip_type_count(&node->type), read = fmin(count, of_branch);
    if (ip_array_has_value(node)) return read;
    if (node->loop || (source && source->kind == IP_SOURCE_KERNEL)) return HUGE_VAL;
    if (source && (source->kind == IP_SOURCE_FILE || source->kind == IP_SOURCE_BLOB)) return DECODED * count;
    if (source) return read;
    if (node->op->flags & IP_OP_VIEW) return 0;
    if (node->op->flags & IP_OP_ELEMENTWISE) return count / OPERATIONS;
    double most = count; /* a fold looks at all that it folds */
    for (int k = 0; k < node->n_inputs; k++)
        most = fmax(most, (double)ip_type_count(&node->inputs[k]->type));
    return node->op->flags & IP_OP_APART ? APART * most : most;
}

/* Marks what a side needs and is not needed elsewhere. */
static imgpar_status mark_side(const deciding *d, ip_walk *w, imgpar_array *side, unsigned mark, ip_error *err)
{
    imgpar_status st = ip_walk_push(w, side, false, err);
    for (int n = 0; !st && w->depth > 0 && n < MOST_VISITED; n++) {
        imgpar_array *node = w->stack[--w->depth].node;
        bool first = false;
        if (ip_walk_was_met(&d->walk, node)) continue;
        ip_visit *v = ip_walk_meet(w, node, &first);
        if (!v) return ip_fail_memory(err, "deciding branches");
        if (v->mark & mark) continue;
        v->mark |= mark;
        if (!ip_array_has_value(node)) st = ip_walk_push_all(w, node->inputs, node->n_inputs, err);
    }
    return st;
}

/* What only one side needs is much. Of sides of very many nodes nobody knows. */
static imgpar_status is_worth(const deciding *d, const imgpar_array *branch, bool *worth, ip_error *err)
{
    const double of_branch = (double)ip_type_count(&branch->type);
    double work = 0;
    ip_walk w = { 0 };
    imgpar_status st = mark_side(d, &w, branch->inputs[1], SIDE_1, err);
    bool is_known = w.depth == 0;
    if (!st && is_known) st = mark_side(d, &w, branch->inputs[2], SIDE_2, err);
    is_known = is_known && w.depth == 0;
    for (size_t k = 0; k < w.size && is_known; k++)
        if (w.seen[k].node && w.seen[k].mark != BOTH) work += work_of(w.seen[k].node, of_branch);
    ip_walk_free(&w);
    *worth = work >= fmax(least_work, of_branch);
    return st;
}

/* ---- what conditions are made of -------------------------------------------------------------------------- */

/* Of one element, made of such: arithmetic behind the last fold, which the interpreter does while a launch begins. */
static bool is_tail(const imgpar_array *node)
{
    bool is_small =
        !node->loop && ip_type_count(&node->type) == 1 &&
        !(node->source && (node->source->kind == IP_SOURCE_KERNEL || node->source->kind == IP_SOURCE_BUFFER));
    for (int k = 0; is_small && k < node->n_inputs; k++)
        is_small = ip_type_count(&node->inputs[k]->type) == 1;
    return is_small;
}

imgpar_status ip_branches_hold_heads(imgpar_array *const *branches, size_t n, ip_held *held, ip_error *err)
{
    ip_walk w = { 0 };
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < n; k++)
        st = ip_walk_push(&w, branches[k]->inputs[0], false, err);
    while (!st && w.depth > 0) {
        imgpar_array *node = w.stack[--w.depth].node;
        bool first = false;
        if (!ip_walk_meet(&w, node, &first)) st = ip_fail_memory(err, "deciding branches");
        if (st || !first || ip_array_has_value(node)) continue; /* the interpreter finds it */
        st = is_tail(node) ? ip_walk_push_all(&w, node->inputs, node->n_inputs, err) : ip_held_add(held, node, err);
    }
    ip_walk_free(&w);
    return st;
}

/* What is needed beside the conditions of the open branches, whatever sides are taken. */
static imgpar_status walk_rest(const deciding *d, ip_walk *rest, ip_error *err)
{
    imgpar_status st = ip_walk_push_all(rest, d->graph->arrays, (int)d->graph->n, err);
    while (!st && rest->depth > 0) {
        imgpar_array *node = rest->stack[--rest->depth].node;
        bool first = false;
        if (!ip_walk_meet(rest, node, &first)) st = ip_fail_memory(err, "deciding branches");
        if (st || !first || ip_array_has_value(node)) continue;
        int n;
        imgpar_array *const *inputs = inputs_of(d, node, &n);
        st = is_open(d, node) ? ip_walk_push_all(rest, node->inputs + 1, node->n_inputs - 1, err)
                              : ip_walk_push_all(rest, inputs, n, err);
    }
    return st;
}

/* Appends to *held what the heads in it are made of and the rest needs, too: of dear rows the last ones. budget: bytes
 * that it may take. */
static imgpar_status hold_shared(const deciding *d, const ip_walk *rest, uint64_t budget, ip_held *held, ip_error *err)
{
    ip_walk w = { 0 };
    const size_t n_heads = held->n;
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < n_heads; k++)
        st = ip_walk_push(&w, held->nodes[k], false, err);
    while (!st && w.depth > 0) {
        imgpar_array *node = w.stack[--w.depth].node;
        bool first = false, is_head = false;
        if (!ip_walk_meet(&w, node, &first)) st = ip_fail_memory(err, "deciding branches");
        if (st || !first || ip_array_has_value(node)) continue;
        for (size_t k = 0; k < n_heads; k++)
            is_head |= held->nodes[k] == node;
        const uint64_t bytes = (uint64_t)ip_type_count(&node->type) * ip_dtype(node->type.dtype)->size_bytes;
        int n;
        imgpar_array *const *inputs = inputs_of(d, node, &n);
        if (!is_head && ip_held_pays(node, d->choices) && ip_walk_was_met(rest, node) && bytes <= budget) {
            budget -= bytes;
            st = ip_held_add(held, node, err);
        } else {
            st = ip_walk_push_all(&w, inputs, n, err);
        }
    }
    ip_walk_free(&w);
    return st;
}

/* Appends to *held what the rest needs of the loops in it: one run of a loop makes all that comes of it. */
static imgpar_status hold_of_loops(const ip_walk *rest, ip_held *held, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    const size_t n = held->n;
    for (size_t k = 0; !st && k < rest->size; k++) {
        imgpar_array *node = rest->seen[k].node;
        bool is_of_one = false, is_held = false;
        for (size_t i = 0; i < n && node && node->loop; i++) {
            is_of_one |= held->nodes[i]->loop == node->loop;
            is_held |= held->nodes[i] == node;
        }
        if (is_of_one && !is_held && !ip_array_has_value(node)) st = ip_held_add(held, node, err);
    }
    return st;
}

/* Whether a branch's condition and the rest are made of the same dear rows. */
static imgpar_status shares_work(const deciding *d, imgpar_array *branch, bool *shares, ip_error *err)
{
    ip_walk rest = { 0 };
    ip_held held = { 0 };
    imgpar_status st = ip_branches_hold_heads(&branch, 1, &held, err);
    const size_t n_heads = held.n;
    if (!st) st = walk_rest(d, &rest, err);
    if (!st) st = hold_shared(d, &rest, UINT64_MAX, &held, err);
    *shares = held.n > n_heads;
    ip_held_release(&held);
    ip_walk_free(&rest);
    return st;
}

/* ---- deciding ------------------------------------------------------------------------------- */

/* Of the open branches from *from on those that are worth it stay; the others are listed as such that stay selects, and
 * what is below their sides is looked at in their place. */
static imgpar_status decline(deciding *d, size_t *from, ip_choices *choices, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    const size_t end = d->n_open;
    for (; !st && *from < end; ++*from) {
        imgpar_array *branch = d->open[*from];
        bool worth = false, shares = false;
        if (looks_at_side(branch)) continue;
        st = is_worth(d, branch, &worth, err);
        if (!st && worth && !d->keeps) st = shares_work(d, branch, &shares, err);
        if (st || (worth && !shares)) continue;
        st = ip_choices_add(choices, branch, 0, err);
        if (!st) st = ip_walk_push_all(&d->walk, branch->inputs + 1, branch->n_inputs - 1, err);
    }
    return st ? st : walk_on(d, err);
}

static void drop_declined(ip_choices *choices)
{
    size_t n = 0;
    for (size_t k = 0; k < choices->n; k++)
        if (choices->list[k].taken) choices->list[n++] = choices->list[k];
    choices->n = n;
}

/* Branches that are worth deciding and have no such branch below their conditions. Once more where some stay selects:
 * what is above those has marks of branches that are none. */
static imgpar_status find_ready(deciding *d, const ip_branching *graph, ip_choices *choices, bool keeps, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (bool again = true; !st && again;) {
        const size_t n_listed = choices->n;
        size_t from = 0;
        deciding_free(d);
        *d = (deciding){ .graph = graph, .choices = choices, .keeps = keeps };
        st = find_open(d, err);
        while (!st && from < d->n_open)
            st = decline(d, &from, choices, err);
        again = choices->n > n_listed;
    }
    size_t n_ready = 0;
    for (size_t k = 0; !st && k < d->n_open; k++)
        if (!(ip_walk_note(&d->walk, d->open[k]->inputs[0])->mark & HAS_BRANCH)) d->open[n_ready++] = d->open[k];
    d->n_open = n_ready;
    return st;
}

typedef struct request {
    imgpar_context *ctx;
    const imgpar_options *options;
    ip_computing by;
    ip_choices *choices;
    ip_held *kept; /* NULL: nothing may be */
} request;

/* Of what is held the rest needs some, too: that is kept. */
static imgpar_status keep_shared(imgpar_context *ctx, const deciding *d, ip_held *held, ip_held *kept, ip_error *err)
{
    ip_walk rest = { 0 };
    imgpar_status st = walk_rest(d, &rest, err);
    if (!st) st = hold_shared(d, &rest, ip_held_budget(ctx), held, err);
    if (!st) st = hold_of_loops(&rest, held, err);
    for (size_t k = 0; !st && k < held->n; k++)
        if (ip_walk_was_met(&rest, held->nodes[k])) st = ip_held_add(kept, held->nodes[k], err);
    ip_walk_free(&rest);
    return st;
}

/* Computes what conditions are made of, and lends it its values. */
static imgpar_status compute_heads(const request *q, const deciding *d, ip_held *held, ip_error *err)
{
    imgpar_status st = ip_branches_hold_heads(d->open, d->n_open, held, err);
    if (!st && q->kept) st = keep_shared(q->ctx, d, held, q->kept, err);
    return st ? st : ip_held_compute(q->ctx, held, q->options, q->by, q->choices, err);
}

/* Computes the conditions of the open branches. */
static imgpar_status decide_open(const request *q, const deciding *d, ip_error *err)
{
    const size_t n = d->n_open;
    ip_held held = { 0 };
    imgpar_array **conditions = ip_alloc_array(n, sizeof *conditions);
    ip_value **values = ip_zalloc(n * sizeof *values);
    imgpar_status st = conditions && values ? IMGPAR_OK : ip_fail_memory(err, "deciding branches");
    for (size_t k = 0; !st && k < n; k++)
        conditions[k] = d->open[k]->inputs[0];
    if (!st) st = compute_heads(q, d, &held, err);
    if (!st) st = ip_evaluate_decided(q->ctx, conditions, n, q->options, IP_BY_REF, q->choices, values, err);
    for (size_t k = 0; !st && k < n; k++) {
        double condition = 0;
        st = ip_value_read_number(values[k], conditions[k]->type.dtype, &condition, err);
        if (!st) st = ip_choices_add(q->choices, d->open[k], condition != 0 ? 1 : 2, err);
    }
    ip_held_release(&held);
    for (size_t k = 0; values && k < n; k++)
        ip_value_release(values[k]);
    ip_free(conditions);
    ip_free(values);
    return st;
}

/* Lets go of what was kept and nothing that is to be computed needs any more. */
static imgpar_status drop_unneeded(const deciding *d, ip_held *kept, ip_error *err)
{
    ip_walk rest = { 0 };
    ip_held needed = { 0 };
    if (kept->n == 0) return IMGPAR_OK;
    imgpar_status st = walk_rest(d, &rest, err);
    for (size_t k = 0; !st && k < kept->n; k++)
        if (ip_walk_was_met(&rest, kept->nodes[k]) || ip_walk_was_met(&d->walk, kept->nodes[k]))
            st = ip_held_add(&needed, kept->nodes[k], err);
    ip_walk_free(&rest);
    if (st) {
        ip_held_release(&needed);
        return st;
    }
    ip_held_release(kept);
    *kept = needed;
    return IMGPAR_OK;
}

imgpar_status ip_branches_decide(imgpar_context *ctx, const ip_branching *graph, const imgpar_options *options,
                                 ip_computing by, ip_choices *choices, ip_held *kept, ip_error *err)
{
    const request q = { ctx, options, by, choices, kept };
    deciding d = { 0 };
    imgpar_status st = find_ready(&d, graph, choices, kept != NULL, err);
    while (!st && d.n_open > 0) {
        st = decide_open(&q, &d, err);
        if (!st) st = find_ready(&d, graph, choices, kept != NULL, err);
        if (!st && kept) st = drop_unneeded(&d, kept, err);
    }
    deciding_free(&d);
    drop_declined(choices);
    return st;
}

imgpar_status ip_branches_find(const ip_branching *graph, const ip_choices *choices, imgpar_array ***found,
                               size_t *n_found, ip_error *err)
{
    deciding d = { 0 };
    ip_choices listed = { 0 };
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && choices && k < choices->n; k++)
        st = ip_choices_add(&listed, choices->list[k].node, choices->list[k].taken, err);
    if (!st) st = find_ready(&d, graph, &listed, graph->n_placeholders == 0, err);
    *found = st ? NULL : d.open;
    *n_found = st ? 0 : d.n_open;
    if (!st) d.open = NULL;
    deciding_free(&d);
    ip_choices_free(&listed);
    return st;
}
