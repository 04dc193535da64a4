/* SPDX-License-Identifier: MIT */
/*
 * Lowering: the graph below the requested arrays becomes a list of stages. Nodes are
 * visited inputs first, without recursion, since graphs may be deep. Equal nodes are
 * merged here and only here: two nodes are equal when their rows, parameters and
 * (merged) inputs are.
 * Of a branch that is decided (graph/choices.h) only the input that is taken is visited; it stands for the node.
 *
 * Note [Several steps]
 * Of several steps of a loop the graph is lowered once for each: before the next one, the nodes that the placeholders
 * change are forgotten, and a placeholder stands for what the last step made for it. What no step changes is lowered
 * once. A loop within the step is a leaf, so there may be none that the placeholders change; run/steps.c sees to that.
 */
#include "base/alloc.h"
#include "base/integers.h"
#include "compile/passes.h"
#include "graph/choices.h"
#include "graph/services.h"
#include "ir/opaque.h"
#include "ops/coverage.h"

#include <string.h>

typedef struct entry {
    imgpar_array *node;     /* key */
    ip_stage *stage;        /* NULL: being visited */
    imgpar_array *same_as;  /* the node that stands for it */
    struct ip_value *value; /* kept by an evaluation: pinned until it is the stage's */
    bool changes;           /* by step, Note [Several steps] */
} entry;

typedef struct lowering {
    ip_plan *plan;
    const ip_compile_options *options;
    entry *entries; /* open addressing by node address */
    size_t size, used;
    imgpar_array **by_hash; /* representatives, open addressing by node hash */
    imgpar_array **stack;
    imgpar_array *const *arrays;
    size_t n_arrays, depth, stack_capacity;
    size_t held_capacity;
} lowering;

static entry *find(lowering *l, const imgpar_array *node)
{
    size_t k = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15ull >> 20;
    for (;; k++) {
        entry *e = &l->entries[k & (l->size - 1)];
        if (!e->node || e->node == node) return e;
    }
}

/* Into tables of that size; without what changes by step, if asked for. */
static bool rehash(lowering *l, size_t size, bool forgets)
{
    size_t old_size = l->size;
    entry *old = l->entries;
    l->size = size;
    l->entries = ip_zalloc(l->size * sizeof *l->entries);
    imgpar_array **by_hash = ip_zalloc(l->size * sizeof *by_hash);
    if (!l->entries || !by_hash) {
        ip_free(l->entries);
        ip_free(by_hash);
        l->entries = old;
        l->size = old_size;
        return false;
    }
    for (size_t k = 0; k < old_size; k++) {
        if (!old[k].node || (forgets && old[k].changes)) continue;
        *find(l, old[k].node) = old[k];
    }
    for (size_t k = 0; k < old_size; k++) {
        imgpar_array *node = l->by_hash[k];
        if (!node || !find(l, node)->node) continue;
        size_t at = node->hash;
        while (by_hash[at & (l->size - 1)])
            at++;
        by_hash[at & (l->size - 1)] = node;
    }
    ip_free(old);
    ip_free(l->by_hash);
    l->by_hash = by_hash;
    return true;
}

static bool grow(lowering *l) { return rehash(l, l->size ? l->size * 2 : 64, false); }

static bool push(lowering *l, imgpar_array *node)
{
    if (l->depth == l->stack_capacity) {
        size_t capacity = l->stack_capacity ? l->stack_capacity * 2 : 64;
        imgpar_array **stack = ip_realloc_array(l->stack, capacity, sizeof *stack);
        if (!stack) return false;
        l->stack = stack;
        l->stack_capacity = capacity;
    }
    l->stack[l->depth++] = node;
    return true;
}

static bool hold(lowering *l, imgpar_array *node)
{
    if ((size_t)l->plan->n_held == l->held_capacity) {
        size_t capacity = l->held_capacity ? l->held_capacity * 2 : 64;
        imgpar_array **held = ip_realloc_array(l->plan->held, capacity, sizeof *held);
        if (!held) return false;
        l->plan->held = held;
        l->held_capacity = capacity;
    }
    l->plan->held[l->plan->n_held++] = ip_array_hold(node);
    return true;
}

/* Two leaves with the same pixels: one source, or one unchanged file opened twice. */
static bool same_source(const ip_source *a, const ip_source *b)
{
    if (a == b) return true;
    return a && b && a->kind == IP_SOURCE_FILE && b->kind == IP_SOURCE_FILE && !a->file.stdin_bytes &&
           !b->file.stdin_bytes && a->fail_on == b->fail_on && a->file.device == b->file.device &&
           a->file.inode == b->file.inode && a->file.size_bytes == b->file.size_bytes &&
           a->file.mtime_sec == b->file.mtime_sec && a->file.mtime_nsec == b->file.mtime_nsec;
}

/* Equal in row, parameters and merged inputs. Placeholders equal nothing but themselves. */
static bool same_node(lowering *l, const imgpar_array *a, const imgpar_array *b)
{
    if (a->hash != b->hash || a->n_inputs != b->n_inputs || a->loop || b->loop || !same_source(a->source, b->source))
        return false;
    if (!a->op->lower && !a->source) return false;
    for (int k = 0; k < a->n_inputs; k++)
        if (find(l, a->inputs[k])->same_as != find(l, b->inputs[k])->same_as) return false;
    return ip_array_same(a, b);
}

static imgpar_array *representative(lowering *l, imgpar_array *node)
{
    size_t k = node->hash;
    for (;; k++) {
        imgpar_array **slot = &l->by_hash[k & (l->size - 1)];
        if (!*slot) return *slot = node;
        if (same_node(l, *slot, node)) return *slot;
    }
}

/* Takes value. */
static ip_stage *source_stage(lowering *l, imgpar_array *node, struct ip_value *value)
{
    int64_t dims[4];
    imgpar_dtype dtype = ip_type_storage(&node->type, dims);
    ip_stage *s = ip_stage_new(l->plan->ir, IP_STAGE_SOURCE, dtype, dims, node);
    if (s) {
        s->lo = node->range.lo;
        s->hi = node->range.hi;
        s->value = value;
    } else {
        ip_services_get()->release_value(value);
    }
    return s;
}

static bool is_leaf(const entry *e) { return e->value || !e->node->op->lower || e->node->loop; }

static void note_part(ip_expr *x, void *user) { *(bool *)user |= x->op == IP_X_LOAD && x->source->of_taps; }

/* Which of a node's new stages are parts of a function of around(): they use its taps, or read such a part. */
static void note_parts(ip_ir *ir, int from, bool reads_parts)
{
    for (int k = from; k < ir->n_stages; k++) {
        ip_stage *s = ir->stages[k];
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            s->of_taps |= s->opaque->inputs[i]->of_taps;
        if (s->kind < IP_STAGE_MAP || !s->body) continue;
        s->of_taps = s->body->uses & IP_USES_TAP;
        if (reads_parts) ip_x_walk(ir, s->body, note_part, &s->of_taps);
    }
}

/* around() has put the function's stages together: nothing reads them any more. */
static void drop_parts(ip_ir *ir)
{
    int n = 0;
    for (int k = 0; k < ir->n_stages; k++) {
        ip_stage *s = ir->stages[k];
        if (s->of_taps || s->window) continue;
        s->id = n;
        ir->stages[n++] = s;
    }
    ir->n_stages = n;
}

static int taken_of(const lowering *l, const imgpar_array *node)
{
    return ip_choices_taken(l->options->goal.choices, node);
}

/* Whether a node's input k is read. */
static bool is_read(const lowering *l, const imgpar_array *node, int k)
{
    const int taken = taken_of(l, node);
    return !taken || k == taken;
}

/* The input that is taken has the elements of the node, as they are stored. */
static bool is_same_as_taken(const imgpar_array *node, int taken)
{
    int64_t dims[4], of_input[4];
    const ip_type *type = &node->inputs[taken]->type;
    return ip_type_storage(&node->type, dims) == ip_type_storage(type, of_input) && type->dtype == node->type.dtype &&
           memcmp(dims, of_input, sizeof dims) == 0;
}

static ip_stage *lower_node(lowering *l, entry *e, ip_error *err)
{
    imgpar_array *node = e->node;
    if (is_leaf(e)) {
        struct ip_value *value = e->value;
        e->value = NULL;
        return source_stage(l, node, value);
    }
    ip_stage *in[64];
    ip_stage **inputs = node->n_inputs <= 64 ? in : ip_alloc_array((size_t)node->n_inputs, sizeof *inputs);
    if (!inputs) return NULL;
    for (int k = 0; k < node->n_inputs; k++)
        inputs[k] = is_read(l, node, k) ? find(l, node->inputs[k])->stage : NULL;
    ip_lower lower = { .ir = l->plan->ir, .node = node, .in = inputs, .dtype = node->type.dtype, .err = err };
    lower.taken = taken_of(l, node);
    lower.asked = l->arrays;
    lower.n_asked = l->n_arrays;
    ip_type_dims(&node->type, lower.dims);
    ip_ir *ir = l->plan->ir;
    const int n_before = ir->n_stages;
    for (int k = 0; k < node->n_inputs; k++)
        ir->keeps_windows |= inputs[k] && inputs[k]->of_taps;
    ip_stage *s = ip_lower_row(&lower);
    note_parts(ir, n_before, ir->keeps_windows);
    ir->keeps_windows = false;
    if (inputs != in) ip_free(inputs);
    if (s && s->kind != IP_STAGE_SOURCE && s->node == node) {
        /* The row's inference may know more of the value than the expression tells. */
        s->lo = s->lo > node->range.lo ? s->lo : node->range.lo;
        s->hi = s->hi < node->range.hi ? s->hi : node->range.hi;
    }
    return s;
}

static bool is_placeholder(const lowering *l, const imgpar_array *node)
{
    for (size_t k = 0; l->options->goal.steps > 1 && k < l->n_arrays; k++)
        if (l->options->goal.placeholders[k] == node) return true;
    return false;
}

/* The top of the stack: its inputs first, then itself. */
static imgpar_status visit(lowering *l, ip_error *err)
{
    imgpar_array *node = l->stack[l->depth - 1];
    if ((l->used + 1) * 2 > l->size && !grow(l)) return ip_fail_memory(err, "compiling");
    entry *e = find(l, node);
    if (e->node && e->stage) {
        l->depth--;
        return IMGPAR_OK;
    }
    if (!e->node) {
        e->node = node;
        l->used++;
        e->value = ip_services_get()->pin_array(node);
        e->changes = is_placeholder(l, node);
        bool waits = false;
        for (int k = 0; !is_leaf(e) && k < node->n_inputs; k++) {
            if (!is_read(l, node, k)) continue;
            entry *in = find(l, node->inputs[k]);
            if (in->node && in->stage) continue;
            waits = true;
            if (!push(l, node->inputs[k])) return ip_fail_memory(err, "compiling");
        }
        if (waits) return IMGPAR_OK;
    }
    if (!hold(l, node)) return ip_fail_memory(err, "compiling");
    for (int k = 0; !is_leaf(e) && k < node->n_inputs; k++)
        e->changes |= is_read(l, node, k) && find(l, node->inputs[k])->changes;
    const int taken = is_leaf(e) ? 0 : taken_of(l, node);
    e->same_as = taken && is_same_as_taken(node, taken) ? find(l, node->inputs[taken])->same_as
                 : e->value || taken                    ? node
                                                        : representative(l, node);
    if (e->same_as != node) {
        e->stage = find(l, e->same_as)->stage;
    } else {
        l->plan->n_nodes++;
        e->stage = lower_node(l, e, err);
    }
    if (!e->stage) return err->status ? err->status : ip_fail_memory(err, "compiling");
    l->depth--;
    return IMGPAR_OK;
}

/* plan->outputs: the stages of the arrays. */
static imgpar_status lower_once(lowering *l, imgpar_array *const *arrays, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < l->n_arrays; k++) {
        if (!push(l, arrays[k])) st = ip_fail_memory(err, "compiling");
        while (!st && l->depth > 0)
            st = visit(l, err);
        l->plan->outputs[k] = st ? NULL : find(l, arrays[k])->stage;
    }
    return st;
}

/* From what the last step made. */
static bool begin_step(lowering *l)
{
    size_t size = l->size;
    while (size < 4 * (l->used + l->n_arrays))
        size *= 2;
    if (!rehash(l, size, true)) return false;
    l->used = 0;
    for (size_t k = 0; k < l->size; k++)
        l->used += l->entries[k].node != NULL;
    for (size_t k = 0; k < l->n_arrays; k++) {
        imgpar_array *placeholder = l->options->goal.placeholders[k];
        entry *e = find(l, placeholder);
        l->used += !e->node;
        *e = (entry){ .node = placeholder, .stage = l->plan->outputs[k], .same_as = placeholder, .changes = true };
    }
    return true;
}

imgpar_status ip_pass_lower(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    imgpar_array *const *arrays = plan->asked;
    const size_t n = plan->n_asked;
    plan->ir->keeps_promises = options->goal.promises != 0;
    lowering l = { .plan = plan, .options = options, .arrays = arrays, .n_arrays = n };
    imgpar_status st = IMGPAR_OK;
    plan->outputs = ip_zalloc((n + 1) * sizeof *plan->outputs);
    if (!plan->outputs || !grow(&l)) st = ip_fail_memory(err, "compiling");
    for (int step = 0; !st && step < ip_max_int(options->goal.steps, 1); step++) {
        if (step > 0 && !begin_step(&l)) st = ip_fail_memory(err, "compiling");
        if (!st) st = lower_once(&l, arrays, err);
    }
    for (size_t k = 0; !st && k < n; k++) {
        plan->outputs[k]->is_output = true;
        if (plan->outputs[k]->of_taps)
            st = ip_fail(err, IMGPAR_E_UNSUPPORTED,
                         "a loop or a kernel of its own cannot depend on the neighbour that around() gives a function, "
                         "nor on what "
                         "iterate() carries for an element");
    }
    if (!st) drop_parts(plan->ir);
    plan->n_outputs = st ? 0 : (int)n;
    for (size_t k = 0; k < l.size; k++)
        ip_services_get()->release_value(l.entries[k].value);
    ip_free(l.entries);
    ip_free(l.by_hash);
    ip_free(l.stack);
    return st;
}
