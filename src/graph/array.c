/* SPDX-License-Identifier: MIT */
/*
 * The life of a node: making, counting, freeing, and the failure it may carry.
 *
 * Counting. edges counts the holders of the node; all handles together hold it
 * once more. So the step from 0 to 1 handles adds an edge and the step back drops
 * one, and the node is freed in exactly one place: where edges reaches 0.
 *
 * Freeing a chain of 100,000 nodes must not recurse that deep: nodes that lost
 * their last edge wait in a list threaded through dead_next, and each is taken
 * apart in turn.
 */
#include "graph/array.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/structs.h"
#include "graph/services.h"

#include <assert.h>
#include <string.h>

/* The answer when there is no memory even for an error; release leaves it alone. */
static char no_memory_text[] = "out of host memory";
static imgpar_array no_memory = {
    .handles = 1,
    .edges = 1,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .status = IMGPAR_E_HOST_MEMORY,
    .message = no_memory_text,
};

/* ---- making -------------------------------------------------------------------- */

static imgpar_array *new_array(imgpar_context *ctx)
{
    imgpar_array *a = ip_zalloc(sizeof *a);
    if (!a) return NULL;
    if (pthread_mutex_init(&a->lock, NULL)) {
        ip_free(a);
        return NULL;
    }
    atomic_init(&a->handles, 1);
    atomic_init(&a->edges, 1);
    a->ctx = ctx ? ip_services_get()->retain_context(ctx) : NULL;
    return a;
}

imgpar_array *ip_array_new(imgpar_context *ctx, const ip_op *op, int n_inputs)
{
    imgpar_array *a = new_array(ctx);
    if (!a) return NULL;
    a->op = op;
    a->inputs = ip_zalloc((size_t)n_inputs * sizeof *a->inputs);
    a->params = ip_zalloc((size_t)op->info.n_params * sizeof *a->params);
    if (!a->inputs || !a->params) {
        imgpar_array_release(a);
        return NULL;
    }
    a->n_inputs = n_inputs;
    for (int k = 0; k < op->info.n_params; k++)
        a->params[k].input = -1;
    return a;
}

imgpar_array *ip_array_copy(const imgpar_array *a) { return ip_array_copy_in(NULL, a); }

imgpar_array *ip_array_copy_in(imgpar_context *ctx, const imgpar_array *a)
{
    imgpar_array *copy = ip_array_new(ctx, a->op, a->n_inputs);
    if (!copy) return NULL;
    copy->type = a->type;
    copy->range = a->range;
    copy->bends = a->bends;
    bool done = true;
    for (int k = 0; done && k < a->op->info.n_params; k++) {
        const ip_param *from = &a->params[k];
        ip_param *to = &copy->params[k];
        const size_t n = (size_t)from->rows * (size_t)from->cols;
        *to = (ip_param){ .input = from->input, .number = from->number, .rows = from->rows, .cols = from->cols };
        if (from->text) to->text = ip_strdup(from->text);
        if (from->numbers) to->numbers = ip_alloc_array(n > 0 ? n : 1, sizeof *to->numbers);
        if (to->numbers) memcpy(to->numbers, from->numbers, n * sizeof *to->numbers);
        done = !from->text == !to->text && !from->numbers == !to->numbers;
    }
    if (done) return copy;
    imgpar_array_release(copy);
    return NULL;
}

imgpar_array *ip_array_error(imgpar_context *ctx, imgpar_status status, const char *message)
{
    imgpar_array *a = status == IMGPAR_E_HOST_MEMORY ? NULL : new_array(ctx);
    if (!a) return &no_memory;
    a->status = status;
    a->message = ip_strdup(message);
    if (!a->message) {
        imgpar_array_release(a);
        return &no_memory;
    }
    return a;
}

/* ---- freeing ------------------------------------------------------------------- */

/* Takes one edge away; the node joins the list of the dead when it was the last. */
static void drop_into(imgpar_array **dead, imgpar_array *a)
{
    if (!a || a == &no_memory || atomic_fetch_sub(&a->edges, 1) != 1) return;
    a->dead_next = *dead;
    *dead = a;
}

static void drop_loop_into(imgpar_array **dead, ip_loop *loop)
{
    if (!loop || atomic_fetch_sub(&loop->refs, 1) != 1) return;
    for (int k = 0; k < loop->n_carried; k++) {
        if (loop->placeholder) drop_into(dead, loop->placeholder[k]);
        if (loop->next) drop_into(dead, loop->next[k]);
    }
    drop_into(dead, loop->until);
    ip_free(loop->placeholder);
    ip_free(loop->next);
    pthread_cond_destroy(&loop->is_free);
    ip_free(loop);
}

static void take_apart(imgpar_array **dead, imgpar_array *a)
{
    for (int k = 0; k < a->n_inputs; k++)
        drop_into(dead, a->inputs[k]);
    drop_loop_into(dead, a->loop);
    ip_source_release(a->source);
    ip_metadata_release(a->metadata);
    for (int k = 0; a->params && k < a->op->info.n_params; k++) {
        ip_free(a->params[k].text);
        ip_free(a->params[k].numbers);
    }
    if (a->value) ip_services_get()->release_value(a->value);
    ip_free(a->inputs);
    ip_free(a->params);
    ip_free(a->message);
    pthread_mutex_destroy(&a->lock);
    if (a->ctx) ip_services_get()->release_context(a->ctx);
    ip_free(a);
}

static void bury(imgpar_array *dead)
{
    while (dead) {
        imgpar_array *a = dead;
        dead = a->dead_next;
        take_apart(&dead, a);
    }
}

void ip_array_drop(imgpar_array *a)
{
    imgpar_array *dead = NULL;
    drop_into(&dead, a);
    bury(dead);
}

void ip_loop_release(ip_loop *loop)
{
    imgpar_array *dead = NULL;
    drop_loop_into(&dead, loop);
    bury(dead);
}

imgpar_array *ip_array_hold(imgpar_array *a)
{
    if (a && a != &no_memory) atomic_fetch_add(&a->edges, 1);
    return a;
}

IMGPAR_API imgpar_array *imgpar_array_retain(imgpar_array *a)
{
    if (a && a != &no_memory && atomic_fetch_add(&a->handles, 1) == 0) ip_array_hold(a);
    return a;
}

IMGPAR_API void imgpar_array_release(imgpar_array *a)
{
    if (!a || a == &no_memory || atomic_fetch_sub(&a->handles, 1) != 1) return;
    if (a->ctx) ip_services_get()->forget_kept(a);
    pthread_mutex_lock(&a->lock);
    struct ip_value *value = a->n_users == 0 ? a->value : NULL; /* else the last of those gives it up */
    if (value) a->value = NULL;
    pthread_mutex_unlock(&a->lock);
    if (value) ip_services_get()->release_value(value);
    ip_array_drop(a);
}

IMGPAR_API void imgpar_array_replace(imgpar_array **slot, imgpar_array *a)
{
    if (!slot) {
        imgpar_array_release(a);
        return;
    }
    imgpar_array *old = *slot;
    *slot = a;
    imgpar_array_release(old);
}

/* ---- failure ------------------------------------------------------------------- */

void ip_array_set_error(imgpar_array *a, imgpar_status status, const char *message)
{
    if (!a || !a->op) return; /* an error array keeps the first cause */
    char *copy = status && message ? ip_strdup(message) : NULL;
    pthread_mutex_lock(&a->lock);
    char *old = a->message;
    a->status = status;
    a->message = copy;
    pthread_mutex_unlock(&a->lock);
    ip_free(old);
}

IMGPAR_API imgpar_status imgpar_array_status(const imgpar_array *a)
{
    if (!a) return IMGPAR_E_ARGUMENT;
    pthread_mutex_t *lock = (pthread_mutex_t *)&a->lock;
    pthread_mutex_lock(lock);
    imgpar_status status = a->status;
    pthread_mutex_unlock(lock);
    return status;
}

IMGPAR_API const char *imgpar_array_message(const imgpar_array *a)
{
    if (!a) return "the array is NULL";
    pthread_mutex_t *lock = (pthread_mutex_t *)&a->lock;
    pthread_mutex_lock(lock);
    const char *message = a->message ? a->message : a->status ? imgpar_status_name(a->status) : "";
    pthread_mutex_unlock(lock);
    return message;
}

IMGPAR_API imgpar_status imgpar_array_info(const imgpar_array *a, imgpar_info *out)
{
    imgpar_info info = { .struct_size = sizeof info };
    if (!out) return IMGPAR_E_ARGUMENT;
    if (a && a->op) ip_type_info(&a->type, &info);
    imgpar_status st = ip_struct_out(out, &info, "info", "out", NULL);
    return st || (a && a->op) ? st : imgpar_array_status(a);
}

/* ---- parameters ---------------------------------------------------------------- */

const ip_param *ip_param_get(const imgpar_array *a, const char *name)
{
    for (int k = 0; k < a->op->info.n_params; k++)
        if (strcmp(a->op->info.params[k]->name, name) == 0) return &a->params[k];
    assert(!"the row has this parameter");
    return NULL;
}

double ip_param_number(const imgpar_array *a, const char *name) { return ip_param_get(a, name)->number; }
