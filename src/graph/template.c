/* SPDX-License-Identifier: MIT */
/*
 * A template is a list of nodes without a context, inputs first, in which the arrays come before all others: they are
 * copies without elements. Making the graph copies the rest, with edges to the arrays that are given.
 */
#include "graph/template.h"

#include "base/alloc.h"
#include "graph/services.h"

/* Slots of the table that finds a node's number are four times as many as nodes. */
enum { MOST_ARRAYS = 16, MOST_NODES = 256, MOST_EDGES = 1024, N_SLOTS = 4 * MOST_NODES };

struct ip_template {
    atomic_int refs;
    int n_arrays, n_nodes; /* nodes[0 .. n_arrays - 1] are the arrays */
    int same[MOST_ARRAYS]; /* the first of the arrays that is the same one */
    imgpar_array *nodes[MOST_NODES];
    int n_edges, edges[MOST_EDGES]; /* numbers of the inputs of the nodes behind the arrays, one after the other */
};

/* While it is made. */
typedef struct listing {
    const imgpar_array *listed[N_SLOTS]; /* by address */
    int numbers[N_SLOTS];
    ip_template *t;
    bool fits, has_memory;
} listing;

/* ---- which arrays, and which graphs ------------------------------------------------------------------ */

static bool is_plain_leaf(const imgpar_array *a)
{
    return a && a->op && !a->op->lower && !a->loop && !a->metadata && !a->is_from_file && !a->mixes && a->source &&
           (a->source->kind == IP_SOURCE_PIXELS || a->source->kind == IP_SOURCE_BUFFER);
}

static bool is_repeatable(const imgpar_array *a)
{
    return a->op && a->op->lower && !a->loop && !a->source && !(a->op->flags & (IP_OP_LOOKS | IP_OP_FILE));
}

static int first_like(imgpar_array *const *arrays, int k)
{
    int first = 0;
    while (arrays[first] != arrays[k])
        first++;
    return first;
}

/* ---- making a template ------------------------------------------------------------------------------- */

static size_t slot_of(const listing *l, const imgpar_array *node)
{
    size_t k = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15ull >> 20;
    while (l->listed[k % N_SLOTS] && l->listed[k % N_SLOTS] != node)
        k++;
    return k % N_SLOTS;
}

/* Appends a copy of a node whose inputs are listed. */
static void append(listing *l, const imgpar_array *node)
{
    ip_template *t = l->t;
    l->fits = t->n_nodes < MOST_NODES && node->n_inputs <= MOST_EDGES - t->n_edges;
    imgpar_array *copy = l->fits ? ip_array_copy(node) : NULL;
    l->has_memory = copy || !l->fits;
    l->fits = copy != NULL;
    if (!copy) return;
    for (int k = 0; k < node->n_inputs; k++)
        t->edges[t->n_edges++] = l->numbers[slot_of(l, node->inputs[k])];
    const size_t slot = slot_of(l, node);
    if (!l->listed[slot]) l->numbers[slot] = t->n_nodes; /* an array that is given twice is the first */
    l->listed[slot] = node;
    t->nodes[t->n_nodes++] = copy;
}

static void list(listing *l, const imgpar_array *node, int depth)
{
    if (!l->fits || l->listed[slot_of(l, node)]) return;
    l->fits = is_repeatable(node) && depth < MOST_NODES;
    for (int k = 0; l->fits && k < node->n_inputs; k++)
        list(l, node->inputs[k], depth + 1);
    if (l->fits) append(l, node);
}

bool ip_template_new(imgpar_array *made, imgpar_array *const *arrays, size_t n, ip_template **out)
{
    listing l = { .fits = made->op && n <= MOST_ARRAYS, .has_memory = true };
    *out = NULL;
    for (size_t k = 0; k < n && l.fits; k++)
        l.fits = is_plain_leaf(arrays[k]);
    if (!l.fits) return true;
    l.t = ip_zalloc(sizeof *l.t);
    if (!l.t) return false;
    atomic_init(&l.t->refs, 1);
    l.t->n_arrays = (int)n;
    for (int k = 0; k < (int)n && l.fits; k++) {
        l.t->same[k] = first_like(arrays, k);
        append(&l, arrays[k]);
    }
    list(&l, made, 0);
    if (l.fits && l.t->n_nodes > l.t->n_arrays)
        *out = l.t;
    else
        ip_template_release(l.t);
    return l.has_memory;
}

ip_template *ip_template_retain(ip_template *t)
{
    if (t) atomic_fetch_add(&t->refs, 1);
    return t;
}

void ip_template_release(ip_template *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1) return;
    for (int k = t->n_nodes - 1; k >= 0; k--)
        imgpar_array_release(t->nodes[k]);
    ip_free(t);
}

/* ---- making the graph -------------------------------------------------------------------------------- */

static bool is_for(const ip_template *t, const imgpar_context *ctx, imgpar_array *const *arrays, size_t n)
{
    if (n != (size_t)t->n_arrays) return false;
    for (int k = 0; k < (int)n; k++)
        if (!is_plain_leaf(arrays[k]) || arrays[k]->ctx != ctx || first_like(arrays, k) != t->same[k] ||
            !ip_array_same_alone(arrays[k], t->nodes[k]))
            return false;
    return true;
}

imgpar_array *ip_template_make(const ip_template *t, imgpar_context *ctx, imgpar_array *const *arrays, size_t n)
{
    imgpar_array *nodes[MOST_NODES], *made = NULL;
    ip_error ignored = { .status = IMGPAR_OK };
    if (!is_for(t, ctx, arrays, n) || ip_services_get()->check_context(ctx, &ignored)) return NULL;
    const int *edge = t->edges;
    int k = t->n_arrays;
    for (; k < t->n_nodes; k++) {
        imgpar_array *node = nodes[k] = ip_array_copy_in(ctx, t->nodes[k]);
        if (!node) break;
        for (int i = 0; i < node->n_inputs; i++, edge++)
            node->inputs[i] = ip_array_hold(*edge < t->n_arrays ? arrays[*edge] : nodes[*edge]);
        ip_array_complete(node);
        made = node;
    }
    if (k < t->n_nodes)
        made = ip_array_error(NULL, IMGPAR_E_HOST_MEMORY, "out of host memory");
    else
        imgpar_array_retain(made);
    while (--k >= t->n_arrays) /* those that read it keep it */
        imgpar_array_release(nodes[k]);
    return made;
}
