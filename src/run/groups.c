/* SPDX-License-Identifier: MIT */
/*
 * Nodes are told apart by their hashes, as equal nodes are computed once; two that are equal in it by chance only put
 * arrays together that need not be. Pixels that exist already, numbers and coordinates are no work: any kernel has them
 * at hand.
 */
#include "run/groups.h"

#include "base/alloc.h"
#include "run/value.h"

#include <string.h>

/* Which array came upon a node first, by the node's hash; open addressing. */
typedef struct seen {
    uint64_t hash;
    size_t by; /* index + 1; 0: empty */
} seen;

typedef struct search {
    seen *table;
    size_t size, used;
    imgpar_array **stack;
    size_t depth, capacity;
    size_t *joined; /* by array: one of a lower index of the same group, or itself */
} search;

static seen *find(const search *s, uint64_t hash)
{
    size_t k = hash * 0x9E3779B97F4A7C15ull >> 20;
    while (s->table[k & (s->size - 1)].by && s->table[k & (s->size - 1)].hash != hash)
        k++;
    return &s->table[k & (s->size - 1)];
}

static bool grow(search *s)
{
    search bigger = { .size = s->size ? s->size * 2 : 256 };
    bigger.table = ip_zalloc(bigger.size * sizeof *bigger.table);
    if (!bigger.table) return false;
    for (size_t k = 0; k < s->size; k++)
        if (s->table[k].by) *find(&bigger, s->table[k].hash) = s->table[k];
    ip_free(s->table);
    s->table = bigger.table;
    s->size = bigger.size;
    return true;
}

static bool push(search *s, imgpar_array *node)
{
    if (s->depth == s->capacity) {
        size_t capacity = s->capacity ? s->capacity * 2 : 64;
        imgpar_array **longer = ip_realloc_array(s->stack, capacity, sizeof *longer);
        if (!longer) return false;
        s->stack = longer;
        s->capacity = capacity;
    }
    s->stack[s->depth++] = node;
    return true;
}

static size_t root_of(const search *s, size_t k)
{
    while (s->joined[k] != k)
        k = s->joined[k];
    return k;
}

static void join(search *s, size_t a, size_t b)
{
    a = root_of(s, a);
    b = root_of(s, b);
    s->joined[a > b ? a : b] = a < b ? a : b;
}

static bool is_work(imgpar_array *node)
{
    bool is_decoded = node->source && (node->source->kind == IP_SOURCE_FILE || node->source->kind == IP_SOURCE_BLOB);
    if (node->n_inputs == 0 && !is_decoded) return false;
    struct ip_value *value = ip_array_pin(node);
    ip_value_release(value);
    return !value;
}

/* Notes everything below array, which is the index-th, and joins it with those that were there before. */
static bool walk(search *s, imgpar_array *array, size_t index)
{
    if (!push(s, array)) return false;
    while (s->depth > 0) {
        imgpar_array *node = s->stack[--s->depth];
        if (!is_work(node)) continue;
        if ((s->used + 1) * 2 > s->size && !grow(s)) return false;
        seen *at = find(s, node->hash);
        if (at->by) {
            join(s, at->by - 1, index);
            continue;
        }
        *at = (seen){ node->hash, index + 1 };
        s->used++;
        for (int k = 0; k < node->n_inputs; k++)
            if (!push(s, node->inputs[k])) return false;
    }
    return true;
}

/* Puts the arrays of a group side by side, in the order that they had. */
static void collect(const search *s, imgpar_array *const *arrays, size_t n, ip_groups *out)
{
    size_t at = 0;
    for (size_t g = 0; g < n; g++) {
        if (s->joined[g] != g) continue;
        out->first[out->n++] = at;
        for (size_t k = g; k < n; k++)
            if (root_of(s, k) == g) {
                out->arrays[at] = arrays[k];
                out->was[at++] = k;
            }
    }
    out->first[out->n] = at;
}

imgpar_status ip_groups_find(imgpar_array *const *arrays, size_t n, ip_groups *out, ip_error *err)
{
    search s = { .joined = ip_alloc_array(n, sizeof *s.joined) };
    *out = (ip_groups){ .arrays = ip_alloc_array(n, sizeof *out->arrays),
                        .was = ip_alloc_array(n, sizeof *out->was),
                        .first = ip_alloc_array(n + 1, sizeof *out->first) };
    bool ok = s.joined && out->arrays && out->was && out->first;
    for (size_t k = 0; ok && k < n; k++)
        s.joined[k] = k;
    for (size_t k = 0; ok && k < n; k++)
        ok = walk(&s, arrays[k], k);
    if (ok) collect(&s, arrays, n, out);
    ip_free(s.table);
    ip_free(s.stack);
    ip_free(s.joined);
    return ok ? IMGPAR_OK : ip_fail_memory(err, "finding what can be computed apart");
}

void ip_groups_clear(ip_groups *g)
{
    ip_free(g->arrays);
    ip_free(g->was);
    ip_free(g->first);
    *g = (ip_groups){ .n = 0 };
}
