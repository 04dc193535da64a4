/* SPDX-License-Identifier: MIT */
/*
 * Loops: iterate() nodes are run before the graph that uses them. The body is an ordinary graph over placeholders; each
 * iteration puts the carried values on the placeholders, evaluates the next ones and, if there is one, the condition.
 * Nothing returns to the caller in between, the graph is planned in the first iteration (ip_step), and the pool hands
 * the same buffers back and forth. Steps are enqueued while earlier ones run; the last one is waited for. Several may
 * be one evaluation (steps.c); where a step has branches, they are decided before each (branches.c).
 *
 * Note [What no step changes]
 * A file that the body opens, and a loop, a kernel of the user, numbers that are looked at (usable.c) or a row with
 * kernels of its own (IP_OP_APART, as sort is) in it that does not use the carried values, are the same in every
 * iteration. They are evaluated before the first one and keep their value to the last, else loops within loops would
 * multiply. What is computed from them stays in the step, where it fuses.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "run/branches.h"
#include "run/evaluate.h"
#include "run/held.h"
#include "run/loop_lock.h"
#include "run/progress.h"
#include "run/walk.h"

#include <string.h>

/* ---- finding loops ----------------------------------------------------------------- */

/* Of a branch that is decided, the side that is taken. */
static imgpar_status push_inputs(ip_walk *w, imgpar_array *node, const ip_choices *choices, ip_error *err)
{
    const int taken = ip_choices_taken(choices, node);
    return ip_walk_push_all(w, node->inputs + taken, taken ? 1 : node->n_inputs, err);
}

/* What is below a node, unless it has a value. */
static imgpar_status pass_by(ip_walk *w, imgpar_array *node, const ip_choices *choices, ip_held *out, ip_error *err)
{
    bool has = ip_array_has_value(node);
    imgpar_status st = has ? ip_held_add(out, node, err) : IMGPAR_OK;
    if (!st && has) has = out->values[out->n - 1] != NULL; /* it may have lost it just now */
    return st || has ? st : push_inputs(w, node, choices, err);
}

/* The loops that can be reached without passing through another one or a kept value; and those values, behind which
 * there may be loops too. */
static imgpar_status find_loops(imgpar_array *const *arrays, size_t n, const ip_choices *choices, ip_held *out,
                                ip_error *err)
{
    ip_walk w = { 0 };
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < n; k++)
        st = ip_walk_push(&w, arrays[k], false, err);
    while (!st && w.depth > 0) {
        imgpar_array *node = w.stack[--w.depth].node;
        bool first = false;
        if (!ip_walk_meet(&w, node, &first))
            st = ip_fail_memory(err, "preparing loops");
        else if (first && node->loop)
            st = ip_held_add(out, node, err);
        else if (first && node->n_inputs > 0)
            st = pass_by(&w, node, choices, out, err);
    }
    ip_walk_free(&w);
    return st;
}

/* ---- what no step changes ------------------------------------------------------------ */

/* All that decides what a node is; of a loop, its body too. */
static imgpar_status push_causes(ip_walk *w, imgpar_array *node, ip_error *err)
{
    const ip_loop *inner = node->loop;
    imgpar_status st = ip_walk_push_all(w, node->inputs, node->n_inputs, err);
    if (!st && inner) st = ip_walk_push_all(w, inner->next, inner->n_carried, err);
    return !st && inner && inner->until ? ip_walk_push(w, inner->until, false, err) : st;
}

static imgpar_status add_loop(ip_loop ***loops, size_t *n, ip_loop *loop, ip_error *err)
{
    for (size_t k = 0; k < *n; k++)
        if ((*loops)[k] == loop) return IMGPAR_OK;
    ip_loop **more = ip_realloc_array(*loops, *n + 1, sizeof *more);
    if (!more) return ip_fail_memory(err, "finding loops");
    *loops = more;
    more[(*n)++] = loop;
    return IMGPAR_OK;
}

imgpar_status ip_loops_find(imgpar_array *const *arrays, size_t n, ip_loop ***loops, size_t *n_loops, ip_error *err)
{
    ip_walk w = { 0 };
    imgpar_status st = IMGPAR_OK;
    *loops = NULL;
    *n_loops = 0;
    for (size_t k = n; !st && k-- > 0;) /* the first one is on top */
        st = ip_walk_push(&w, arrays[k], false, err);
    while (!st && w.depth > 0) {
        imgpar_array *node = w.stack[--w.depth].node;
        bool first = false;
        if (!ip_walk_meet(&w, node, &first)) st = ip_fail_memory(err, "finding loops");
        if (st || !first || ip_array_has_value(node)) continue;
        if (node->loop) st = add_loop(loops, n_loops, node->loop, err);
        if (!st) st = push_causes(&w, node, err);
    }
    ip_walk_free(&w);
    if (st) {
        ip_free(*loops);
        *loops = NULL;
        *n_loops = 0;
    }
    return st;
}

/* Marks of what is below a node, itself included: what the step carries; an array by which is differentiated. */
enum { CHANGES = 1, IS_VARIED = 2 };

static unsigned marks_of(const ip_walk *w, imgpar_array *const *nodes, int n)
{
    unsigned marks = 0;
    for (int k = 0; k < n; k++)
        marks |= ip_walk_note(w, nodes[k])->mark;
    return marks;
}

static unsigned marks_below(const ip_walk *w, const imgpar_array *node)
{
    const ip_loop *inner = node->loop;
    unsigned marks = marks_of(w, node->inputs, node->n_inputs);
    if (inner) marks |= marks_of(w, inner->next, inner->n_carried);
    return inner && inner->until ? marks | marks_of(w, &inner->until, 1) : marks;
}

static bool is_carried(const ip_loop *loop, const imgpar_array *node)
{
    for (int k = 0; k < loop->n_carried; k++)
        if (loop->placeholder[k] == node) return true;
    return false;
}

/* Starts at what a step evaluates. */
static imgpar_status push_step(ip_walk *w, const ip_loop *loop, ip_error *err)
{
    bool tests = loop->until && loop->check <= loop->count;
    imgpar_status st = ip_walk_push_all(w, loop->next, loop->n_carried, err);
    return !st && tests ? ip_walk_push(w, loop->until, false, err) : st;
}

/* Notes of every node below a step whether the carried values change it: first what is below a node, then the node. */
static imgpar_status find_changing(ip_walk *w, const ip_loop *loop, ip_error *err)
{
    imgpar_status st = push_step(w, loop, err);
    while (!st && w->depth > 0) {
        imgpar_array *node = w->stack[--w->depth].node;
        bool first = false;
        if (w->stack[w->depth].is_left) {
            const bool is_varied = strcmp(node->op->info.name, "variable") == 0;
            ip_walk_note(w, node)->mark = marks_below(w, node) | (is_varied ? IS_VARIED : 0);
            continue;
        }
        ip_visit *v = ip_walk_meet(w, node, &first);
        if (!v) return ip_fail_memory(err, "preparing loops");
        if (is_carried(loop, node)) v->mark |= CHANGES;
        if (!first || v->mark || ip_array_has_value(node)) continue;
        st = ip_walk_push(w, node, true, err);
        if (!st) st = push_causes(w, node, err);
    }
    return st;
}

/* What is made by itself, whoever reads it: an array that is decoded, a kernel of the user, a row with kernels of its
 * own, numbers that are looked at. */
static bool is_made_alone(const imgpar_array *node)
{
    const ip_source *s = node->source;
    if (node->op && node->op->flags & (IP_OP_APART | IP_OP_USABLE)) return true;
    return s && (s->kind == IP_SOURCE_FILE || s->kind == IP_SOURCE_BLOB || s->kind == IP_SOURCE_KERNEL);
}

/* The loops and what else is made alone that a step reads and does not change, but for what is differentiated, which
 * must stay in the graph; of branches, if there are any, those that their conditions read. */
static imgpar_status find_unchanged(const ip_loop *loop, imgpar_array *const *branches, size_t n_branches,
                                    const ip_choices *choices, ip_held *out, ip_error *err)
{

    ip_walk all = { 0 }, step = { 0 };
    imgpar_status st = find_changing(&all, loop, err);
    for (size_t k = 0; !st && k < n_branches; k++)
        st = ip_walk_push(&step, branches[k]->inputs[0], false, err);
    if (!st && n_branches == 0) st = push_step(&step, loop, err);
    while (!st && step.depth > 0) {
        imgpar_array *node = step.stack[--step.depth].node;
        const unsigned marks = ip_walk_note(&all, node)->mark;
        const bool is_held = node->loop || (is_made_alone(node) && !(marks & IS_VARIED));
        bool first = false;
        if (!ip_walk_meet(&step, node, &first))
            st = ip_fail_memory(err, "preparing loops");
        else if (first && !(marks & CHANGES) && is_held)
            st = ip_held_add(out, node, err);
        else if (first && !ip_array_has_value(node))
            st = push_inputs(&step, node, choices, err);
    }
    ip_walk_free(&step);
    ip_walk_free(&all);
    return st;
}

bool ip_loop_nests(const ip_loop *loop)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_walk all = { 0 };
    bool nests = find_changing(&all, loop, &err) != IMGPAR_OK;
    for (size_t k = 0; !nests && k < all.size; k++)
        nests = all.seen[k].node && all.seen[k].node->loop && all.seen[k].mark & CHANGES;
    ip_walk_free(&all);
    return nests;
}

/* ---- running one --------------------------------------------------------------------- */

/* The step with some of its branches decided, and what it does not change. Without branches there is one. */
typedef struct variant {
    ip_choices choices;
    ip_step step;    /* next[] */
    ip_step several; /* next[], several times; once, where no steps are taken at once */
    ip_held held;
} variant;

enum { MOST_VARIANTS = 4 }; /* whose plans are kept */

typedef struct looping {
    imgpar_context *ctx;
    const imgpar_options *options;
    bool use_ref, has_branches;
    ip_loop *loop;
    ip_value **carried; /* n_carried */
    ip_step test;       /* until */
    variant variants[MOST_VARIANTS];
    int n_variants;
    ip_held held; /* what conditions of branches read and no step changes */
} looping;

static ip_computing computing(const looping *l) { return l->use_ref ? IP_BY_REF : IP_BY_DEVICE; }

static void put_value(imgpar_array *a, ip_value *value)
{
    pthread_mutex_lock(&a->lock);
    ip_value *old = a->value;
    a->value = ip_value_retain(value);
    pthread_mutex_unlock(&a->lock);
    ip_value_release(old);
}

/* Takes one step, or several. */
static imgpar_status run_iteration(looping *l, ip_step *step, ip_value **values, bool tests, bool *done, ip_error *err)
{
    int n = l->loop->n_carried;
    for (int k = 0; k < n; k++)
        put_value(l->loop->placeholder[k], l->carried[k]);
    imgpar_status st = ip_evaluate_step(l->ctx, step, l->options, l->use_ref, values, err);
    for (int k = 0; k < n; k++) {
        put_value(l->loop->placeholder[k], st ? NULL : values[k]);
        if (st) continue;
        ip_value_release(l->carried[k]);
        l->carried[k] = values[k];
    }
    if (!st && tests) { /* tested after the step, on the new values */
        ip_value *condition = NULL;
        st = ip_evaluate_step(l->ctx, &l->test, l->options, l->use_ref, &condition, err);
        double number = 0;
        if (!st) st = ip_value_read_number(condition, l->loop->until->type.dtype, &number, err);
        *done = !st && number != 0;
        ip_value_release(condition);
    }
    return st;
}

static void end_variant(variant *v)
{
    ip_step_end(&v->step);
    ip_step_end(&v->several);
    ip_held_release(&v->held);
    ip_choices_free(&v->choices);
}

/* A new variant, of those choices, which are taken over; in place of the oldest one, where there are too many. */
static imgpar_status add_variant(looping *l, ip_choices takes, ip_error *err)
{
    const int n = l->loop->n_carried;
    if (l->n_variants == MOST_VARIANTS) {
        end_variant(&l->variants[0]);
        memmove(&l->variants[0], &l->variants[1], (MOST_VARIANTS - 1) * sizeof l->variants[0]);
        l->n_variants--;
    }
    variant *v = &l->variants[l->n_variants++];
    *v = (variant){ .choices = takes };
    v->step = (ip_step){
        .arrays = l->loop->next, .n = (size_t)n, .placeholders = l->loop->placeholder, .n_placeholders = n, .times = 1
    };
    v->several = v->step;
    imgpar_status st = find_unchanged(l->loop, NULL, 0, &v->choices, &v->held, err);
    return st ? st : ip_held_compute(l->ctx, &v->held, l->options, computing(l), NULL, err);
}

static ip_branching steps_of(const ip_loop *loop)
{
    return (ip_branching){ loop->next, (size_t)loop->n_carried, loop->placeholder, loop->n_carried };
}

/* What the next step is, with the values that are carried now; *out until the next call. */
static imgpar_status choose_variant(looping *l, variant **out, ip_error *err)
{
    ip_choices choices = { 0 };
    const ip_loop *loop = l->loop;
    imgpar_status st = IMGPAR_OK;
    if (l->has_branches) {
        const ip_branching steps = steps_of(loop);
        st = ip_branches_decide(l->ctx, &steps, l->options, computing(l), &choices, NULL, err);
    }
    int at = 0;
    while (!st && at < l->n_variants && !ip_choices_same(&l->variants[at].choices, &choices))
        at++;
    if (st || at < l->n_variants) {
        ip_choices_free(&choices);
    } else {
        st = add_variant(l, choices, err);
        at = l->n_variants - 1;
    }
    if (st) return st;
    *out = &l->variants[at];
    (*out)->step.choices = (*out)->several.choices = &(*out)->choices;
    return IMGPAR_OK;
}

/* Whether steps have branches to decide; then it holds what their conditions read and no step changes. The placeholders
 * have values. */
static imgpar_status find_branches(looping *l, ip_error *err)
{
    imgpar_array **found = NULL;
    size_t n = 0;
    const ip_branching steps = steps_of(l->loop);
    imgpar_status st = ip_branches_find(&steps, NULL, &found, &n, err);
    l->has_branches = n > 0;
    if (!st && n > 0) st = find_unchanged(l->loop, found, n, NULL, &l->held, err);
    ip_free(found);
    return st ? st : ip_held_compute(l->ctx, &l->held, l->options, computing(l), NULL, err);
}

/* Before the first step: who runs them, and how many at once. Of steps with branches each is run by itself. */
static imgpar_status plan_steps(looping *l, ip_error *err)
{
    imgpar_status st = find_branches(l, err);
    variant *v = NULL;
    if (!st && !l->has_branches) st = choose_variant(l, &v, err);
    if (!st && v) {
        l->use_ref = l->use_ref || ip_steps_on_host(l->ctx, l->loop);
        v->several.times = l->use_ref ? 1 : ip_steps_at_once(l->ctx, l->loop);
    }
    return st;
}

/* About what all steps will take; until may end them before. */
static double work_of(const looping *l)
{
    double work = 0;
    for (int k = 0; k < l->loop->n_carried; k++)
        work += (double)ip_type_count(&l->loop->placeholder[k]->type);
    return work * (double)l->loop->count * (l->use_ref ? IP_WORK_REF : IP_WORK_KERNEL);
}

static imgpar_status run_steps(looping *l, ip_value **values, ip_error *err)
{
    ip_loop *loop = l->loop;
    imgpar_status st = IMGPAR_OK;
    bool done = false;
    for (int k = 0; k < loop->n_carried; k++) /* as when a step is planned */
        put_value(loop->placeholder[k], l->carried[k]);
    if (loop->count > 0) st = plan_steps(l, err);
    ip_progress_expect(l->options, work_of(l));
    for (int64_t i = 0; !st && !done && i < loop->count;) {
        int64_t left = loop->count - i;
        variant *v = NULL;
        st = choose_variant(l, &v, err);
        if (st) break;
        if (loop->until) left = ip_min(left, loop->check - i % loop->check);
        ip_step *step = left >= v->several.times ? &v->several : &v->step;
        i += step->times;
        st = run_iteration(l, step, values, loop->until && i % loop->check == 0, &done, err);
    }
    for (int k = 0; !st && k < loop->n_carried; k++)
        st = ip_value_wait(l->carried[k], err);
    for (size_t k = 0; st && k < l->ctx->devices.n; k++)
        /* what was enqueued, so that nobody else waits for what failed */
        ip_device_finish(l->ctx->devices.list[k], NULL);
    for (int k = 0; k < loop->n_carried; k++)
        put_value(loop->placeholder[k], NULL);
    for (int k = 0; k < l->n_variants; k++)
        end_variant(&l->variants[k]);
    ip_step_end(&l->test);
    ip_held_release(&l->held);
    return st;
}

static imgpar_status run_loop(imgpar_context *ctx, imgpar_array *node, const imgpar_options *options, bool use_ref,
                              const ip_choices *choices, ip_value **results, ip_error *err)
{
    ip_loop *loop = node->loop;
    int n = loop->n_carried;
    looping l = { .ctx = ctx, .options = options, .use_ref = use_ref, .loop = loop, .carried = results };
    l.test =
        (ip_step){ .arrays = &loop->until, .n = 1, .placeholders = loop->placeholder, .n_placeholders = n, .times = 1 };
    ip_value **values = ip_zalloc((size_t)n * sizeof *values);
    imgpar_status st = values ? IMGPAR_OK : ip_fail_memory(err, "running a loop");
    if (!st) st = ip_evaluate_decided(ctx, node->inputs, (size_t)n, options, computing(&l), choices, results, err);
    if (!st) st = ip_loop_lock(loop, options, err);
    if (!st) {
        st = run_steps(&l, values, err);
        ip_loop_unlock(loop);
    }
    for (int k = 0; st && k < n; k++) {
        ip_value_release(results[k]);
        results[k] = NULL;
    }
    ip_free(values);
    return st;
}

/* Every projection of one loop gets its value from one run. */
static imgpar_status run_found(imgpar_context *ctx, const imgpar_options *options, bool use_ref,
                               const ip_choices *choices, ip_held *out, size_t first, ip_error *err)
{
    ip_loop *loop = out->nodes[first]->loop;
    ip_value **results = ip_zalloc((size_t)loop->n_carried * sizeof *results);
    if (!results) return ip_fail_memory(err, "running a loop");
    imgpar_status st = run_loop(ctx, out->nodes[first], options, use_ref, choices, results, err);
    for (size_t k = first; !st && k < out->n; k++) {
        imgpar_array *node = out->nodes[k];
        if (node->loop != loop || out->values[k]) continue;
        out->values[k] = ip_value_retain(results[(int)node->params[0].number]);
        ip_array_keep_value(node, out->values[k]);
    }
    for (int k = 0; k < loop->n_carried; k++)
        ip_value_release(results[k]);
    ip_free(results);
    return st;
}

imgpar_status ip_loops_run(imgpar_context *ctx, imgpar_array *const *arrays, size_t n, const imgpar_options *options,
                           bool use_ref, const ip_choices *choices, ip_held *out, ip_error *err)
{
    imgpar_status st = find_loops(arrays, n, choices, out, err);
    for (size_t k = 0; !st && k < out->n; k++) {
        if (!out->values[k]) /* one that was run since may have needed this one */
            out->values[k] = ip_array_pin(out->nodes[k]);
        if (!out->values[k] && out->nodes[k]->loop) st = run_found(ctx, options, use_ref, choices, out, k, err);
    }
    return st;
}
