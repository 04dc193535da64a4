/* SPDX-License-Identifier: MIT */
/*
 * Bounds inference: what is needed of every stage, the smallest box of each that holds what all its readers need.
 * Kernels are in the order they run in, so going backwards all readers of a stage come before what makes it.
 */
#include "base/integers.h"
#include "compile/plan.h"
#include "ir/opaque.h"

#include <string.h>

/* The smallest region that holds both. */
static ip_region hull(const ip_region *a, const ip_region *b)
{
    if (ip_region_is_empty(a)) return *b;
    if (ip_region_is_empty(b)) return *a;
    return (ip_region){ ip_min(a->z0, b->z0), ip_max(a->z1, b->z1), ip_min(a->y0, b->y0),
                        ip_max(a->y1, b->y1), ip_min(a->x0, b->x0), ip_max(a->x1, b->x1) };
}

/* A recurrence walks its lines whole. */
static ip_region with_whole_lines(const ip_stage *scan, const ip_region *r)
{
    ip_region all = *r;
    int64_t *const ends[3][2] = { { &all.z0, &all.z1 }, { &all.y0, &all.y1 }, { &all.x0, &all.x1 } };
    if (scan->axis < 3) {
        *ends[scan->axis][0] = 0;
        *ends[scan->axis][1] = scan->dims[scan->axis];
    }
    return all;
}

static void need(const ip_bounds *b, const ip_stage *s, const ip_region *r)
{
    if (ip_region_is_empty(r)) return;
    const ip_region all = s->kind == IP_STAGE_SCAN ? with_whole_lines(s, r) : *r;
    b->needed[s->id] = hull(&b->needed[s->id], &all);
    b->is_needed[s->id] = true;
}

bool ip_bounds_need(const ip_bounds *b, const ip_kernel *k)
{
    for (int i = 0; i < k->n_outputs; i++)
        if (b->is_needed[k->outputs[i]->id]) return true;
    return false;
}

ip_region ip_bounds_region(const ip_bounds *b, const ip_kernel *k)
{
    ip_region r = { 0, 0, 0, 0, 0, 0 };
    for (int i = 0; i < k->n_outputs; i++) {
        const ip_stage *s = k->outputs[i];
        const int64_t *over = ip_stage_domain(s);
        const ip_region whole = { 0, over[0], 0, over[1], 0, over[2] };
        ip_region walked = !ip_stage_folds(s) ? b->needed[s->id] : b->seen ? b->seen(b->user, s) : whole;
        if (b->is_needed[s->id]) r = hull(&r, &walked);
    }
    return r;
}

/* Rows that are kept wrap around only where they are whole. */
static bool wraps_kept_rows(const ip_kernel *k)
{
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].place == IP_PLACE_LINE_BUFFER && k->placed[i].pad > 0 &&
            k->placed[i].pad_border == IMGPAR_BORDER_WRAP)
            return true;
    return false;
}

void ip_kernel_widen(const ip_kernel *k, ip_region *r)
{
    const ip_opaque *o = ip_kernel_opaque(k);
    if (ip_region_is_empty(r)) return;
    if (o) o->kind->widen(o, r);
    if (wraps_kept_rows(k)) {
        r->x0 = 0;
        r->x1 = k->domain[2];
    }
    for (int i = 0; i < k->n_outputs; i++)
        if (k->outputs[i]->kind == IP_STAGE_SCAN) *r = with_whole_lines(k->outputs[i], r);
}

void ip_bounds_infer(const ip_bounds *b)
{
    const ip_plan *plan = b->plan;
    memset(b->is_needed, 0, (size_t)plan->ir->n_stages * sizeof *b->is_needed);
    memset(b->needed, 0, (size_t)plan->ir->n_stages * sizeof *b->needed);
    for (int k = 0; k < plan->n_outputs; k++)
        need(b, plan->outputs[k], &b->wanted[k]);
    for (int k = plan->n_kernels - 1; k >= 0; k--) {
        const ip_kernel *kernel = &plan->kernels[k];
        if (!ip_bounds_need(b, kernel)) continue;
        const ip_opaque *o = ip_kernel_opaque(kernel);
        if (o) o->kind->widen(o, &b->needed[kernel->outputs[0]->id]);
        ip_region r = ip_bounds_region(b, kernel);
        if (wraps_kept_rows(kernel) && !ip_region_is_empty(&r)) {
            r.x0 = 0;
            r.x1 = kernel->domain[2];
        }
        for (int i = 0; i < kernel->n_outputs; i++) /* it makes the same region of all its images */
            if (!ip_stage_folds(kernel->outputs[i])) need(b, kernel->outputs[i], &r);
        for (int i = 0; i < kernel->n_inputs; i++) {
            ip_region input;
            ip_kernel_demand(plan, kernel, kernel->inputs[i], &r, &input);
            need(b, kernel->inputs[i], &input);
        }
    }
}
