/* SPDX-License-Identifier: MIT */
/*
 * The list of kernels, and who reads what: a flat list of pairs, each once. Fusion goes from the results towards the
 * sources, so a stage that joins a kernel stands before all that the kernel has: at the front of its lists.
 */
#include "compile/kernels.h"

#include "base/alloc.h"

#include <string.h>

bool ip_grouping_begin(ip_grouping *g, ip_plan *plan)
{
    size_t n = (size_t)plan->ir->n_stages + 1;
    *g = (ip_grouping){ .plan = plan };
    g->kernel_of = ip_alloc_array(n, sizeof *g->kernel_of);
    g->visited = ip_zalloc(n * sizeof *g->visited);
    if (!g->kernel_of || !g->visited) return false;
    memset(g->kernel_of, -1, n * sizeof *g->kernel_of);
    return true;
}

void ip_grouping_end(ip_grouping *g)
{
    ip_free(g->kernel_of);
    ip_free(g->visited);
    ip_free(g->readings);
}

/* The list with a stage in front, if there is one: a new list; NULL (and ir->failed) without memory. */
static ip_stage **with_first(ip_ir *ir, ip_stage *first, ip_stage *const *list, int n)
{
    ip_stage **grown = ip_alloc_array((size_t)n + 1, sizeof *grown);
    const size_t at = first != NULL;
    if (!grown) {
        ir->failed = true;
        return NULL;
    }
    if (first) grown[0] = first;
    if (n > 0) memcpy(grown + at, list, (size_t)n * sizeof *grown);
    return grown;
}

void ip_grouping_drop(ip_kernel *trial)
{
    ip_free(trial->stages);
    ip_free(trial->outputs);
    ip_free(trial->placed);
}

bool ip_grouping_try(const ip_grouping *g, int kernel, ip_stage *stage, bool stored, ip_kernel *trial)
{
    const ip_kernel *k = &g->plan->kernels[kernel];
    *trial = *k;
    trial->placed = NULL;
    trial->n_placed = 0;
    trial->stages = with_first(g->plan->ir, stage, k->stages, k->n_stages);
    trial->outputs = with_first(g->plan->ir, stored ? stage : NULL, k->outputs, k->n_outputs);
    if (!trial->stages || !trial->outputs) {
        ip_grouping_drop(trial);
        return false;
    }
    trial->n_stages++;
    trial->n_outputs += stored;
    trial->n_folds += ip_stage_folds(stage);
    return true;
}

void ip_grouping_adopt(ip_grouping *g, int kernel, const ip_kernel *trial)
{
    ip_grouping_drop(&g->plan->kernels[kernel]);
    g->plan->kernels[kernel] = *trial;
    g->kernel_of[trial->stages[0]->id] = kernel; /* the one that has joined: with_first() */
}

int ip_grouping_new(ip_grouping *g, ip_stage *root, ip_schedule schedule)
{
    ip_plan *plan = g->plan;
    ip_kernel *kernels = ip_realloc_array(plan->kernels, (size_t)plan->n_kernels + 1, sizeof *kernels);
    if (!kernels) {
        plan->ir->failed = true;
        return -1;
    }
    plan->kernels = kernels;
    int at = plan->n_kernels++;
    ip_kernel *k = &kernels[at];
    memset(k, 0, sizeof *k);
    k->schedule = schedule;
    k->is_scan = root->kind == IP_STAGE_SCAN;
    memcpy(k->domain, ip_stage_domain(root), sizeof k->domain);
    ip_kernel first;
    if (!ip_grouping_try(g, at, root, true, &first)) return -1;
    ip_grouping_adopt(g, at, &first);
    return at;
}

bool ip_grouping_is_read_by(const ip_grouping *g, const ip_stage *stage, int kernel)
{
    for (int r = 0; r < g->n_readings; r++)
        if (g->readings[r].stage == stage->id && g->readings[r].kernel == kernel) return true;
    return false;
}

void ip_grouping_reads(ip_grouping *g, int kernel, const ip_stage *stage)
{
    if (ip_grouping_is_read_by(g, stage, kernel)) return;
    if (g->n_readings == g->readings_capacity) {
        int capacity = g->readings_capacity ? g->readings_capacity * 2 : 32;
        ip_reading *readings = ip_realloc_array(g->readings, (size_t)capacity, sizeof *readings);
        if (!readings) {
            g->plan->ir->failed = true;
            return;
        }
        g->readings = readings;
        g->readings_capacity = capacity;
    }
    g->readings[g->n_readings++] = (ip_reading){ stage->id, kernel };
}

/* Whether kernel, which is `first` or which first needs, needs the stage; that first itself reads it does not count. */
static bool needs(ip_grouping *g, int kernel, int first, int stage)
{
    if (g->visited[kernel] == g->visit) return false;
    g->visited[kernel] = g->visit;
    for (int r = 0; r < g->n_readings; r++) {
        if (g->readings[r].kernel != kernel) continue;
        int from = g->kernel_of[g->readings[r].stage];
        if (g->readings[r].stage == stage ? kernel != first : from >= 0 && needs(g, from, first, stage)) return true;
    }
    return false;
}

bool ip_grouping_needs_through_others(ip_grouping *g, int kernel, const ip_stage *stage)
{
    g->visit++;
    return needs(g, kernel, kernel, stage->id);
}

/* Appends kernel to order after all it reads. */
static void visit_in_order(ip_grouping *g, int kernel, ip_kernel *sorted, int *n)
{
    if (g->visited[kernel] == g->visit) return;
    g->visited[kernel] = g->visit;
    for (int r = 0; r < g->n_readings; r++)
        if (g->readings[r].kernel == kernel && g->kernel_of[g->readings[r].stage] >= 0)
            visit_in_order(g, g->kernel_of[g->readings[r].stage], sorted, n);
    sorted[(*n)++] = g->plan->kernels[kernel];
}

void ip_grouping_sort(ip_grouping *g)
{
    ip_plan *plan = g->plan;
    ip_kernel *sorted = ip_alloc_array((size_t)plan->n_kernels + 1, sizeof *sorted);
    int n = 0;
    if (!sorted) {
        plan->ir->failed = true;
        return;
    }
    g->visit++;
    for (int k = plan->n_kernels - 1; k >= 0; k--) /* they were made from the results backwards */
        visit_in_order(g, k, sorted, &n);
    ip_free(plan->kernels);
    plan->kernels = sorted;
}
