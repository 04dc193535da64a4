/* SPDX-License-Identifier: MIT */
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

static bool push(ip_plan *plan, ip_stage ***list, int *n, ip_stage *stage, bool in_front)
{
    ip_stage **grown = ip_realloc_array(*list, (size_t)*n + 1, sizeof *grown);
    if (!grown) {
        plan->ir->failed = true;
        return false;
    }
    *list = grown;
    if (in_front) memmove(grown + 1, grown, (size_t)*n * sizeof *grown);
    grown[in_front ? 0 : *n] = stage;
    ++*n;
    return true;
}

bool ip_grouping_add(ip_grouping *g, int kernel, ip_stage *stage, bool stored)
{
    ip_kernel *k = &g->plan->kernels[kernel];
    if (!push(g->plan, &k->stages, &k->n_stages, stage, true)) return false;
    if (stored && !push(g->plan, &k->outputs, &k->n_outputs, stage, true)) return false;
    k->n_folds += ip_stage_folds(stage);
    g->kernel_of[stage->id] = kernel;
    return true;
}

static void pop_front(ip_stage **list, int *n)
{
    --*n;
    memmove(list, list + 1, (size_t)*n * sizeof *list);
}

void ip_grouping_take_back(ip_grouping *g, int kernel, bool stored)
{
    ip_kernel *k = &g->plan->kernels[kernel];
    g->kernel_of[k->stages[0]->id] = -1;
    k->n_folds -= ip_stage_folds(k->stages[0]);
    pop_front(k->stages, &k->n_stages);
    if (stored) pop_front(k->outputs, &k->n_outputs);
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
    return ip_grouping_add(g, at, root, true) ? at : -1;
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
