/* SPDX-License-Identifier: MIT */
#include "run/held.h"

#include "base/alloc.h"
#include "base/integers.h"

enum { SHARE_KEPT = 4 }; /* a fourth of the memory that is left may be kept */

bool ip_held_pays(const imgpar_array *node, const ip_choices *choices)
{
    bool is_light = node->source && node->source->kind != IP_SOURCE_KERNEL;
    return !is_light && node->n_inputs > 0 &&
           (ip_choices_taken(choices, node) || !(node->op->flags & (IP_OP_ELEMENTWISE | IP_OP_VIEW)));
}

uint64_t ip_held_budget(imgpar_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    const uint64_t limit = ctx->mem_limit;
    pthread_mutex_unlock(&ctx->lock);
    const uint64_t left = ctx->device ? ip_device_budget_left(ctx->device) : limit ? limit : ip_host_memory() / 2;
    return left / SHARE_KEPT;
}

imgpar_status ip_held_add(ip_held *held, imgpar_array *node, ip_error *err)
{
    if (held->n == held->capacity) {
        size_t capacity = held->capacity ? held->capacity * 2 : 8;
        imgpar_array **nodes = ip_realloc_array(held->nodes, capacity, sizeof *nodes);
        if (nodes) held->nodes = nodes;
        ip_value **values = nodes ? ip_realloc_array(held->values, capacity, sizeof *values) : NULL;
        if (!values) return ip_fail_memory(err, "holding values");
        held->values = values;
        held->capacity = capacity;
    }
    pthread_mutex_lock(&node->lock);
    node->n_users++;
    held->values[held->n] = ip_value_retain(node->value);
    pthread_mutex_unlock(&node->lock);
    held->nodes[held->n++] = ip_array_hold(node);
    return IMGPAR_OK;
}

imgpar_status ip_held_compute(imgpar_context *ctx, const ip_held *held, const imgpar_options *options, ip_computing by,
                              const ip_choices *choices, ip_error *err)
{
    if (held->n == 0) return IMGPAR_OK;
    ip_value **values = ip_zalloc(held->n * sizeof *values);
    imgpar_status st = values ? ip_evaluate_decided(ctx, held->nodes, held->n, options, by, choices, values, err)
                              : ip_fail_memory(err, "holding values");
    for (size_t k = 0; !st && k < held->n; k++) {
        ip_array_lend_value(held->nodes[k], values[k]);
        ip_value_release(values[k]);
    }
    ip_free(values);
    return st;
}

void ip_held_release(ip_held *held)
{
    for (size_t k = 0; k < held->n; k++) {
        imgpar_array *node = held->nodes[k];
        /* A value lives as long as the user's handle; inside another graph the node has none. */
        pthread_mutex_lock(&node->lock);
        bool is_last = --node->n_users == 0 && (atomic_load(&node->handles) == 0 || node->is_value_lent);
        ip_value *unused = is_last ? node->value : NULL;
        if (is_last) {
            node->value = NULL;
            node->is_value_lent = false;
        }
        pthread_mutex_unlock(&node->lock);
        ip_value_release(unused);
        ip_value_release(held->values[k]);
        ip_array_drop(node);
    }
    ip_free(held->nodes);
    ip_free(held->values);
    *held = (ip_held){ 0 };
}
