/* SPDX-License-Identifier: MIT */
#include "run/walk.h"

#include "base/alloc.h"

void ip_walk_free(ip_walk *w)
{
    ip_free(w->seen);
    ip_free(w->stack);
}

imgpar_status ip_walk_push(ip_walk *w, imgpar_array *node, bool is_left, ip_error *err)
{
    if (w->depth == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 64;
        void *longer = ip_realloc_array(w->stack, capacity, sizeof *w->stack);
        if (!longer) return ip_fail_memory(err, "walking a graph");
        w->stack = longer;
        w->capacity = capacity;
    }
    w->stack[w->depth].node = node;
    w->stack[w->depth++].is_left = is_left;
    return IMGPAR_OK;
}

imgpar_status ip_walk_push_all(ip_walk *w, imgpar_array *const *nodes, int n, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (int k = 0; !st && k < n; k++)
        st = ip_walk_push(w, nodes[k], false, err);
    return st;
}

ip_visit *ip_walk_note(const ip_walk *w, const imgpar_array *node)
{
    size_t k = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15ull >> 20;
    while (w->seen[k & (w->size - 1)].node && w->seen[k & (w->size - 1)].node != node)
        k++;
    return &w->seen[k & (w->size - 1)];
}

ip_visit *ip_walk_meet(ip_walk *w, imgpar_array *node, bool *first)
{
    if ((w->used + 1) * 2 > w->size) {
        ip_walk bigger = { .size = w->size ? w->size * 2 : 64 };
        bigger.seen = ip_zalloc(bigger.size * sizeof *bigger.seen);
        if (!bigger.seen) return NULL;
        for (size_t k = 0; k < w->size; k++)
            if (w->seen[k].node) *ip_walk_note(&bigger, w->seen[k].node) = w->seen[k];
        ip_free(w->seen);
        w->seen = bigger.seen;
        w->size = bigger.size;
    }
    ip_visit *v = ip_walk_note(w, node);
    *first = v->node == NULL;
    v->node = node;
    w->used += *first;
    return v;
}

bool ip_walk_was_met(const ip_walk *w, const imgpar_array *node)
{
    return w->size > 0 && ip_walk_note(w, node)->node == node;
}
