/* SPDX-License-Identifier: MIT */
/*
 * Demand: the region of an input that a kernel reads to compute a region of its outputs. Streaming in
 * strips, memory budgets and partial reads all follow from it. Loads at constant
 * offsets need the region and a halo; anything else is taken to need the whole input.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/passes.h"

typedef struct demand {
    ip_ir *ir;
    const ip_kernel *kernel;
    const ip_stage *input;
    const ip_placed *reader;  /* NULL: pixels, the root */
    const ip_region *region;
    ip_region *needed;
    bool any;
} demand;


static void include(demand *d, ip_region r)
{
    const int64_t *dims = d->input->dims;
    r = (ip_region){ ip_max(r.z0, 0), ip_min(r.z1, dims[0]), ip_max(r.y0, 0), ip_min(r.y1, dims[1]),
                     ip_max(r.x0, 0), ip_min(r.x1, dims[2]) };
    if (!d->any) {
        *d->needed = r;
        d->any = true;
        return;
    }
    ip_region *n = d->needed;
    *n = (ip_region){ ip_min(n->z0, r.z0), ip_max(n->z1, r.z1), ip_min(n->y0, r.y0), ip_max(n->y1, r.y1),
                      ip_min(n->x0, r.x0), ip_max(n->x1, r.x1) };
}

static void note_load(ip_expr *load, void *user)
{
    demand *d = user;
    if (load->source != d->input)
        return;
    const int64_t *dims = d->input->dims;
    const ip_region whole = { 0, dims[0], 0, dims[1], 0, dims[2] };
    ip_reach reach = ip_load_reach(d->ir, load, d->kernel->domain);
    bool wraps = load->border == IMGPAR_BORDER_WRAP && (reach.y_lo | reach.y_hi | reach.x_lo | reach.x_hi) != 0;
    bool is_paced = d->reader && d->reader->pace >= 0; /* its rows are others than the output's */
    if ((!reach.is_local && !reach.is_in_rows) || wraps || is_paced) {
        include(d, whole);
        return;
    }
    ip_reach_contract(&reach, load->border);
    int lead = 0, first = 0, left = 0, right = 0;
    if (d->reader) {
        lead = d->reader->lead;
        first = d->reader->first;
        left = d->reader->left;
        right = d->reader->right;
        if (d->reader->n_running > 0) { /* the element that leaves: Note [Running sums] in place_running.c */
            first -= ip_x_classify(d->ir, load->arg[1]).uses_tap;
            left += ip_x_classify(d->ir, load->arg[2]).uses_tap;
        }
    }
    const ip_region *r = d->region;
    bool all_columns = d->kernel->whole_rows || reach.is_in_rows;
    include(d, (ip_region){ r->z0, r->z1, r->y0 + first + reach.y_lo, r->y1 + lead + reach.y_hi,
                            all_columns ? 0 : r->x0 - left + reach.x_lo, all_columns ? dims[2] : r->x1 + right + reach.x_hi });
}

uint64_t ip_region_bytes(const ip_region *r, const ip_stage *s)
{
    return (uint64_t)(r->z1 - r->z0) * (uint64_t)(r->y1 - r->y0) * (uint64_t)(r->x1 - r->x0) * (uint64_t)s->dims[3]
        * ip_dtype(s->dtype)->size_bytes;
}

void ip_kernel_demand(const ip_plan *plan, const ip_kernel *kernel, const ip_stage *input, const ip_region *region,
                      ip_region *needed)
{
    demand d = { .ir = plan->ir, .kernel = kernel, .input = input, .region = region, .needed = needed };
    *needed = (ip_region){ 0, 0, 0, 0, 0, 0 };
    if (kernel->schedule == IP_SCHEDULE_OPAQUE) {
        ip_opaque_demand(ip_kernel_opaque(kernel), input, region, needed);
        return;
    }
    for (int k = 0; k < kernel->n_placed; k++) {
        d.reader = &kernel->placed[k];
        ip_stage_each_load(plan->ir, d.reader->stage, note_load, &d);
    }
    for (int k = 0; kernel->n_placed == 0 && k < kernel->n_stages; k++)
        ip_stage_each_load(plan->ir, kernel->stages[k], note_load, &d);
}
