/* SPDX-License-Identifier: MIT */
/*
 * Loops: iterate() nodes are run before the graph that uses them. The body is an
 * ordinary graph over placeholders; each iteration puts the carried values on the placeholders,
 * evaluates the next ones and, if there is one, the condition. Nothing returns to the caller in between,
 * the graph is planned in the first iteration (ip_step), and the pool hands the same
 * buffers back and forth.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "run/evaluate.h"

#include <string.h>

/* ---- finding loops ----------------------------------------------------------------- */

typedef struct node_set {
    const imgpar_array **slots;
    size_t size, used;
} node_set;

static bool set_add(node_set *s, const imgpar_array *node, bool *is_new)
{
    if ((s->used + 1) * 2 > s->size) {
        node_set bigger = { .size = s->size ? s->size * 2 : 64 };
        bigger.slots = ip_zalloc(bigger.size * sizeof *bigger.slots);
        if (!bigger.slots)
            return false;
        for (size_t k = 0; k < s->size; k++)
            if (s->slots[k])
                set_add(&bigger, s->slots[k], is_new);
        ip_free(s->slots);
        *s = bigger;
    }
    size_t k = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15ull >> 20;
    while (s->slots[k & (s->size - 1)] && s->slots[k & (s->size - 1)] != node)
        k++;
    *is_new = s->slots[k & (s->size - 1)] == NULL;
    if (*is_new) {
        s->slots[k & (s->size - 1)] = node;
        s->used++;
    }
    return true;
}

static bool has_value(imgpar_array *a)
{
    ip_value *v = ip_array_pin(a);
    ip_value_release(v);
    return v != NULL;
}

static imgpar_status add_loop(ip_loop_values *out, imgpar_array *node, ip_error *err)
{
    if (out->n == out->capacity) {
        size_t capacity = out->capacity ? out->capacity * 2 : 8;
        imgpar_array **nodes = ip_realloc_array(out->nodes, capacity, sizeof *nodes);
        if (nodes)
            out->nodes = nodes;
        ip_value **values = nodes ? ip_realloc_array(out->values, capacity, sizeof *values) : NULL;
        if (!values)
            return ip_fail_memory(err, "preparing loops");
        out->values = values;
        out->capacity = capacity;
    }
    /* From here to ip_loops_release() the node keeps the value it has or gets, whatever other threads do. */
    pthread_mutex_lock(&node->lock);
    node->n_users++;
    out->values[out->n] = ip_value_retain(node->value);
    pthread_mutex_unlock(&node->lock);
    out->nodes[out->n++] = ip_array_hold(node);
    return IMGPAR_OK;
}

/* The loop nodes reachable without passing through another loop or a kept value. */
static imgpar_status find_loops(imgpar_array *const *arrays, size_t n, ip_loop_values *out, ip_error *err)
{
    node_set seen = { 0 };
    imgpar_array **stack = NULL;
    size_t depth = 0, capacity = 0;
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < n; k++) {
        imgpar_array *next = arrays[k];
        for (;;) {
            bool is_new = false;
            if (!set_add(&seen, next, &is_new)) {
                st = ip_fail_memory(err, "preparing loops");
                break;
            }
            if (is_new && next->loop)
                st = add_loop(out, next, err);
            if (is_new && !next->loop && !has_value(next)) {
                for (int i = 0; i < next->n_inputs; i++) {
                    if (depth == capacity) {
                        capacity = capacity ? capacity * 2 : 64;
                        imgpar_array **longer = ip_realloc_array(stack, capacity, sizeof *stack);
                        if (!longer) {
                            st = ip_fail_memory(err, "preparing loops");
                            break;
                        }
                        stack = longer;
                    }
                    stack[depth++] = next->inputs[i];
                }
            }
            if (st || depth == 0)
                break;
            next = stack[--depth];
        }
    }
    ip_free(stack);
    ip_free(seen.slots);
    return st;
}

/* ---- running one --------------------------------------------------------------------- */

typedef struct looping {
    imgpar_context *ctx;
    const imgpar_options *options;
    bool use_ref;
    ip_loop *loop;
    ip_value **carried;      /* n_carried */
    ip_step step, test;      /* next[], until */
} looping;

static void put_value(imgpar_array *a, ip_value *value)
{
    pthread_mutex_lock(&a->lock);
    ip_value *old = a->value;
    a->value = ip_value_retain(value);
    pthread_mutex_unlock(&a->lock);
    ip_value_release(old);
}

/* The one element of the condition is not 0. */
static imgpar_status is_done(const looping *l, ip_value *condition, bool *done, ip_error *err)
{
    unsigned char element[8];
    imgpar_dtype dtype = l->loop->until->type.dtype;
    if (condition->size_bytes > sizeof element)
        return ip_fail(err, IMGPAR_E_INTERNAL, "internal: a condition of %zu bytes", condition->size_bytes);
    imgpar_status st = ip_value_read(condition, element, err);
    *done = !st && ip_load_number(dtype, element) != 0;
    return st;
}

static imgpar_status run_iteration(looping *l, ip_value **values, bool tests, bool *done, ip_error *err)
{
    int n = l->loop->n_carried;
    for (int k = 0; k < n; k++)
        put_value(l->loop->placeholder[k], l->carried[k]);
    imgpar_status st = ip_evaluate_step(l->ctx, &l->step, l->options, l->use_ref, values, err);
    for (int k = 0; k < n; k++) {
        put_value(l->loop->placeholder[k], st ? NULL : values[k]);
        if (st)
            continue;
        ip_value_release(l->carried[k]);
        l->carried[k] = values[k];
    }
    if (!st && tests) { /* tested after the step, on the new values */
        ip_value *condition = NULL;
        st = ip_evaluate_step(l->ctx, &l->test, l->options, l->use_ref, &condition, err);
        if (!st)
            st = is_done(l, condition, done, err);
        ip_value_release(condition);
    }
    return st;
}

static imgpar_status run_loop(imgpar_context *ctx, imgpar_array *node, const imgpar_options *options, bool use_ref,
                              ip_value **results, ip_error *err)
{
    ip_loop *loop = node->loop;
    int n = loop->n_carried;
    looping l = { .ctx = ctx, .options = options, .use_ref = use_ref, .loop = loop, .carried = results };
    l.step = (ip_step){ .arrays = loop->next, .n = (size_t)n, .placeholders = loop->placeholder, .n_placeholders = n };
    l.test = (ip_step){ .arrays = &loop->until, .n = 1, .placeholders = loop->placeholder, .n_placeholders = n };
    ip_value **values = ip_zalloc((size_t)n * sizeof *values);
    imgpar_status st = values ? IMGPAR_OK : ip_fail_memory(err, "running a loop");
    if (!st)
        st = ip_evaluate(ctx, node->inputs, (size_t)n, options, use_ref, results, err);
    if (!st) {
        bool done = false;
        pthread_mutex_lock(&loop->running);
        for (int64_t i = 0; !st && !done && i < loop->count; i++)
            st = run_iteration(&l, values, loop->until && (i + 1) % loop->check == 0, &done, err);
        for (int k = 0; k < n; k++)
            put_value(loop->placeholder[k], NULL);
        ip_step_end(&l.step);
        ip_step_end(&l.test);
        pthread_mutex_unlock(&loop->running);
    }
    for (int k = 0; st && k < n; k++) {
        ip_value_release(results[k]);
        results[k] = NULL;
    }
    ip_free(values);
    return st;
}

/* Every projection of one loop gets its value from one run. */
static imgpar_status run_found(imgpar_context *ctx, const imgpar_options *options, bool use_ref, ip_loop_values *out,
                               size_t first, ip_error *err)
{
    ip_loop *loop = out->nodes[first]->loop;
    ip_value **results = ip_zalloc((size_t)loop->n_carried * sizeof *results);
    if (!results)
        return ip_fail_memory(err, "running a loop");
    imgpar_status st = run_loop(ctx, out->nodes[first], options, use_ref, results, err);
    for (size_t k = first; !st && k < out->n; k++) {
        imgpar_array *node = out->nodes[k];
        if (node->loop != loop || out->values[k])
            continue;
        out->values[k] = ip_value_retain(results[(int)node->params[0].number]);
        ip_array_keep_value(node, out->values[k]);
    }
    for (int k = 0; k < loop->n_carried; k++)
        ip_value_release(results[k]);
    ip_free(results);
    return st;
}

imgpar_status ip_loops_run(imgpar_context *ctx, imgpar_array *const *arrays, size_t n, const imgpar_options *options,
                           bool use_ref, ip_loop_values *out, ip_error *err)
{
    imgpar_status st = find_loops(arrays, n, out, err);
    for (size_t k = 0; !st && k < out->n; k++)
        if (!out->values[k])
            st = run_found(ctx, options, use_ref, out, k, err);
    return st;
}

void ip_loops_release(ip_loop_values *values)
{
    for (size_t k = 0; k < values->n; k++) {
        imgpar_array *node = values->nodes[k];
        /* A value lives as long as the user's handle; inside another graph the node has none. */
        pthread_mutex_lock(&node->lock);
        bool is_last = --node->n_users == 0 && atomic_load(&node->handles) == 0;
        ip_value *unused = is_last ? node->value : NULL;
        if (is_last)
            node->value = NULL;
        pthread_mutex_unlock(&node->lock);
        ip_value_release(unused);
        ip_value_release(values->values[k]);
        ip_array_drop(node);
    }
    ip_free(values->nodes);
    ip_free(values->values);
    *values = (ip_loop_values){ 0 };
}
