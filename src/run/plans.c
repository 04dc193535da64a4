/* SPDX-License-Identifier: MIT */
/*
 * Note [Kept plans]
 * Planning takes a few tenths of a millisecond, of a pyramid some milliseconds: for frames of a film, or small pictures
 * of a table, as long as computing. So a context keeps the plans of the graphs that it met last. Two graphs have one
 * plan if they are the same but for the elements of their arrays: the same rows, parameters, types and edges, under the
 * same settings. Everything is compared, the hash only finds what to compare with. A graph that is met for the first
 * time is planned as ever; once kernels have computed it (tier.c may have chosen the interpreter) its hash is kept. The
 * second time a copy of it is planned, whose leaves hold no elements, so that a kept plan holds neither arrays of the
 * user nor its context. For each evaluation the sources of the plan get the values of the arrays, as the step of a loop
 * gets those of its placeholders. Threads that evaluate one graph at once do not share a plan: the second plans its
 * own.
 *
 * Numbers that were looked at before (usable.c) are leaves, too: what they are made of is not in the plan.
 *
 * Graphs of files and blobs are planned anew, since much is decided by what is known of the file; so are graphs of
 * loops, of branches that were decided, of kernels of the user, of values that were kept within the graph, and large
 * ones.
 */
#include "run/plans.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "run/evaluation_impl.h"

#include <string.h>

/* Slots are four times as many as nodes; few are cleared for what has few. */
enum { FEW_NODES = 64, MOST_NODES = 2048, N_SLOTS = 4 * MOST_NODES };

/* The nodes below the arrays of a request, inputs first; numbers are places in that order. */
typedef struct listing {
    imgpar_array *nodes[MOST_NODES];
    int n_inputs[MOST_NODES]; /* 0: of a leaf */
    int n, most, depth;
    bool fits, is_full; /* it would fit if most were more */
    uint64_t hash;
    struct {
        const imgpar_array *node;
        int number;   /* -1: its inputs are being listed */
    } slots[N_SLOTS]; /* by address */
} listing;

struct ip_kept_plan {
    uint64_t hash;
    uint64_t n_settings;  /* how often settings had been changed when it was planned */
    bool is_doubtful;     /* they were changed meanwhile */
    imgpar_array **nodes; /* a copy of the graph, in the order of a listing; handles */
    int n_nodes;
    int *roots; /* numbers of the arrays that are asked for */
    size_t n_roots;
    imgpar_array **arrays; /* the same */
    ip_value **values;     /* by number: of leaves, while it runs; else NULL */
    ip_evaluation *evaluation;
};

/* ---- listing a graph ------------------------------------------------------------------------------ */

/* What a plan has values of: numbers that were looked at (usable.c) are one, too. */
static bool is_leaf(imgpar_array *a) { return !a->op->lower || (a->op->flags & IP_OP_USABLE && ip_array_has_value(a)); }

static int *slot_of(listing *l, const imgpar_array *node, bool *is_new)
{
    size_t k = ((uintptr_t)node >> 4) * 0x9E3779B97F4A7C15ull >> 20;
    const size_t n_slots = 4 * (size_t)l->most;
    while (l->slots[k % n_slots].node && l->slots[k % n_slots].node != node)
        k++;
    *is_new = !l->slots[k % n_slots].node;
    l->slots[k % n_slots].node = node;
    return &l->slots[k % n_slots].number;
}

static int number_of(listing *l, const imgpar_array *node)
{
    bool is_new;
    return *slot_of(l, node, &is_new);
}

/* Whether the plan of a graph with this node depends on no more than what is compared. */
static bool may_be_planned_once(imgpar_array *a, bool leaf)
{
    if (a->loop) return false;
    if (!leaf) return !a->source && !ip_array_has_value(a);
    if (a->op->lower) return true;
    return a->source && (a->source->kind == IP_SOURCE_PIXELS || a->source->kind == IP_SOURCE_BUFFER);
}

static uint64_t hash_of(listing *l, const imgpar_array *a, int n_inputs)
{
    uint64_t h = ip_hash_u64((uint64_t)(uintptr_t)a->op, (uint64_t)a->type.dtype);
    h = ip_hash_bytes(h, a->type.shape, (size_t)a->type.rank * sizeof *a->type.shape);
    for (int k = 0; k < a->op->info.n_params; k++) {
        const ip_param *p = &a->params[k];
        h = ip_hash_bytes(h, &p->number, sizeof p->number);
        if (p->text) h = ip_hash_text(h, p->text);
        if (p->numbers) h = ip_hash_bytes(h, p->numbers, (size_t)p->rows * (size_t)p->cols * sizeof *p->numbers);
    }
    for (int k = 0; k < n_inputs; k++)
        h = ip_hash_u64(h, (uint64_t)number_of(l, a->inputs[k]));
    return h;
}

static void list(listing *l, imgpar_array *node)
{
    bool is_new;
    int *number = slot_of(l, node, &is_new);
    if (!is_new || !l->fits) return;
    *number = -1;
    l->is_full = ++l->depth >= l->most;
    const bool leaf = is_leaf(node); /* once: a value may come meanwhile */
    const int n_inputs = leaf ? 0 : node->n_inputs;
    l->fits = !l->is_full && may_be_planned_once(node, leaf);
    for (int k = 0; l->fits && k < n_inputs; k++)
        list(l, node->inputs[k]);
    l->depth--;
    l->is_full = l->is_full || l->n >= l->most;
    l->fits = l->fits && !l->is_full;
    if (!l->fits) return;
    l->hash = ip_hash_u64(l->hash, hash_of(l, node, n_inputs));
    *number = l->n;
    l->n_inputs[l->n] = n_inputs;
    l->nodes[l->n++] = node;
}

static bool list_up_to(int most, listing *l, const ip_request *q)
{
    l->n = l->depth = 0;
    l->most = most;
    l->fits = true;
    l->is_full = false;
    l->hash = 0;
    memset(l->slots, 0, 4 * (size_t)most * sizeof *l->slots);
    for (size_t k = 0; k < q->n && l->fits; k++) {
        list(l, q->arrays[k]);
        if (l->fits) l->hash = ip_hash_u64(l->hash, (uint64_t)number_of(l, q->arrays[k]));
    }
    return l->fits && l->n > 1;
}

static bool list_all(listing *l, const ip_request *q)
{
    return list_up_to(FEW_NODES, l, q) || (l->is_full && list_up_to(MOST_NODES, l, q));
}

/* ---- comparing ------------------------------------------------------------------------------------- */

static uint64_t settings_of(imgpar_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    const uint64_t n = ctx->n_settings;
    pthread_mutex_unlock(&ctx->lock);
    return n;
}

static bool is_of(const ip_kept_plan *kept, listing *l, const ip_request *q)
{
    if (kept->hash != l->hash || kept->n_nodes != l->n || kept->n_roots != q->n) return false;
    for (size_t k = 0; k < q->n; k++)
        if (kept->roots[k] != number_of(l, q->arrays[k])) return false;
    for (int k = 0; k < l->n; k++) {
        const imgpar_array *a = l->nodes[k], *b = kept->nodes[k];
        if (!ip_array_same_alone(a, b) || l->n_inputs[k] != b->n_inputs) return false;
        for (int i = 0; i < b->n_inputs; i++)
            if (kept->nodes[number_of(l, a->inputs[i])] != b->inputs[i]) return false;
    }
    return true;
}

/* ---- keeping --------------------------------------------------------------------------------------- */

static void free_kept(ip_kept_plan *kept)
{
    if (!kept) return;
    ip_evaluation_free(kept->evaluation);
    for (int k = 0; kept->values && k < kept->n_nodes; k++)
        ip_value_release(kept->values[k]);
    for (int k = 0; kept->nodes && k < kept->n_nodes; k++)
        imgpar_array_release(kept->nodes[k]);
    ip_free(kept->nodes);
    ip_free(kept->roots);
    ip_free(kept->arrays);
    ip_free(kept->values);
    ip_free(kept);
}

/* Copies the graph; NULL without memory. */
static ip_kept_plan *new_kept(listing *l, const ip_request *q)
{
    ip_kept_plan *kept = ip_zalloc(sizeof *kept);
    if (!kept) return NULL;
    kept->hash = l->hash;
    kept->n_nodes = l->n;
    kept->n_roots = q->n;
    kept->nodes = ip_zalloc((size_t)l->n * sizeof *kept->nodes);
    kept->values = ip_zalloc((size_t)l->n * sizeof *kept->values);
    kept->roots = ip_zalloc(q->n * sizeof *kept->roots);
    kept->arrays = ip_zalloc(q->n * sizeof *kept->arrays);
    bool done = kept->nodes && kept->values && kept->roots && kept->arrays;
    for (int k = 0; done && k < l->n; k++) {
        const imgpar_array *a = l->nodes[k];
        kept->nodes[k] = ip_array_copy(a);
        done = kept->nodes[k] != NULL;
        if (done) kept->nodes[k]->n_inputs = l->n_inputs[k];
        for (int i = 0; done && i < kept->nodes[k]->n_inputs; i++)
            kept->nodes[k]->inputs[i] = ip_array_hold(kept->nodes[number_of(l, a->inputs[i])]);
        if (done) ip_array_complete(kept->nodes[k]);
    }
    for (size_t k = 0; done && k < q->n; k++) {
        kept->roots[k] = number_of(l, q->arrays[k]);
        kept->arrays[k] = kept->nodes[kept->roots[k]];
    }
    if (done) return kept;
    free_kept(kept);
    return NULL;
}

static bool kept_leaf(const ip_kept_plan *kept, int k)
{
    const imgpar_array *node = kept->nodes[k];
    return !node->op->lower || (node->op->flags & IP_OP_USABLE && node->n_inputs == 0);
}

/* Gives leaves the values of those of l; false without memory. */
static bool give_values(ip_kept_plan *kept, listing *l)
{
    for (int k = 0; k < l->n; k++) {
        if (!kept_leaf(kept, k)) continue;
        ip_error ignored = { IMGPAR_OK, "" };
        kept->values[k] = ip_array_pin(l->nodes[k]);
        if (!kept->values[k] && ip_source_value(NULL, NULL, l->nodes[k], &kept->values[k], &ignored)) return false;
    }
    return true;
}

static bool was_met(const ip_plans *plans, uint64_t hash)
{
    for (int k = 0; k < IP_MET_GRAPHS; k++)
        if (plans->met[k] == hash) return true;
    return false;
}

void ip_plans_meet(imgpar_context *ctx, uint64_t hash)
{
    pthread_mutex_lock(&ctx->lock);
    ip_plans *plans = &ctx->plans;
    if (hash && !was_met(plans, hash)) plans->met[plans->n_met++ % IP_MET_GRAPHS] = hash;
    pthread_mutex_unlock(&ctx->lock);
}

/* Of this graph under these settings, out of what is kept; NULL: none. */
static ip_kept_plan *take_out(ip_plans *plans, uint64_t n_settings, listing *l, const ip_request *q)
{
    for (int k = 0; k < IP_KEPT_PLANS && plans->kept[k]; k++) {
        ip_kept_plan *kept = plans->kept[k];
        if (kept->n_settings != n_settings || !is_of(kept, l, q)) continue;
        memmove(&plans->kept[k], &plans->kept[k + 1], (size_t)(IP_KEPT_PLANS - 1 - k) * sizeof *plans->kept);
        plans->kept[IP_KEPT_PLANS - 1] = NULL;
        return kept;
    }
    return NULL;
}

/* Of a graph that was listed. */
static ip_kept_plan *take_listed(imgpar_context *ctx, listing *l, const ip_request *q)
{
    const uint64_t n_settings = settings_of(ctx);
    l->hash = ip_hash_u64(l->hash, n_settings);
    pthread_mutex_lock(&ctx->lock);
    ip_kept_plan *kept = take_out(&ctx->plans, n_settings, l, q);
    const bool is_worth_it = kept || was_met(&ctx->plans, l->hash);
    pthread_mutex_unlock(&ctx->lock);
    if (!kept && is_worth_it) kept = new_kept(l, q);
    if (!kept) return NULL;
    kept->n_settings = n_settings;
    if (give_values(kept, l)) return kept;
    free_kept(kept);
    return NULL;
}

ip_kept_plan *ip_plans_take(imgpar_context *ctx, const ip_request *q, uint64_t *hash)
{
    *hash = 0;
    if (ctx->dump || q->step || q->goal.totals || q->use_ref || q->taker) return NULL;
    listing *l = ip_alloc(sizeof *l); /* some 77 KB: too much for the stack of a caller's thread */
    if (!l) return NULL;
    ip_kept_plan *kept = NULL;
    if (list_all(l, q)) {
        kept = take_listed(ctx, l, q);
        *hash = l->hash;
    }
    ip_free(l);
    return kept;
}

/* What leaves of the copy have while it is planned: a reshape of elements that are there is decided by it. */
static void lend_to_leaves(ip_kept_plan *kept, bool lends)
{
    for (int k = 0; k < kept->n_nodes; k++) {
        imgpar_array *leaf = kept->nodes[k];
        if (!kept->values[k]) continue;
        pthread_mutex_lock(&leaf->lock);
        ip_value *before = leaf->value;
        leaf->value = lends ? ip_value_retain(kept->values[k]) : NULL;
        pthread_mutex_unlock(&leaf->lock);
        ip_value_release(before);
    }
}

static ip_value *value_of(const ip_kept_plan *kept, const imgpar_array *node)
{
    for (int k = 0; k < kept->n_nodes; k++)
        if (kept->nodes[k] == node) return kept->values[k];
    return NULL;
}

/* Sources of the plan get their values, or lose them. */
static void change_sources(ip_kept_plan *kept, bool has_values)
{
    evaluation *e = kept->evaluation;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        ip_stage *s = e->plan->ir->stages[k];
        ip_value *value = s->kind == IP_STAGE_SOURCE ? value_of(kept, s->node) : NULL;
        if (value) ip_evaluation_change_source(e, s, has_values ? ip_value_retain(value) : NULL);
    }
}

imgpar_status ip_kept_plan_begin(ip_kept_plan *kept, imgpar_context *ctx, const ip_request *q, evaluation **out,
                                 ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    if (kept->evaluation) {
        change_sources(kept, true);
        ip_evaluation_report_to(kept->evaluation, q->options);
        kept->evaluation->runner.started_ms = ip_now_ms();
        kept->evaluation->runner.blas = ip_context_blas(ctx);
        kept->evaluation->dst = q->dst;
    } else {
        ip_request copy = *q;
        copy.arrays = kept->arrays;
        lend_to_leaves(kept, true);
        st = ip_evaluation_new(ctx, ctx->device, &copy, &kept->evaluation, err);
        lend_to_leaves(kept, false);
        kept->is_doubtful = settings_of(ctx) != kept->n_settings;
    }
    *out = kept->evaluation;
    return st;
}

void ip_plans_put(imgpar_context *ctx, ip_kept_plan *kept, bool may_keep)
{
    if (!kept) return;
    if (!may_keep || !kept->evaluation || kept->is_doubtful) {
        free_kept(kept);
        return;
    }
    change_sources(kept, false);
    for (int k = 0; k < kept->n_nodes; k++) {
        ip_value_release(kept->values[k]);
        kept->values[k] = NULL;
    }
    pthread_mutex_lock(&ctx->lock);
    ip_plans *plans = &ctx->plans;
    int at = 0; /* of what goes: the last one, or that of another thread for the same graph */
    while (at < IP_KEPT_PLANS - 1 && plans->kept[at] && plans->kept[at]->hash != kept->hash)
        at++;
    ip_kept_plan *last = plans->kept[at];
    memmove(&plans->kept[1], &plans->kept[0], (size_t)at * sizeof *plans->kept);
    plans->kept[0] = kept;
    pthread_mutex_unlock(&ctx->lock);
    free_kept(last);
}

void ip_plans_clear(ip_plans *plans)
{
    for (int k = 0; k < IP_KEPT_PLANS; k++)
        free_kept(plans->kept[k]);
    memset(plans, 0, sizeof *plans);
}
