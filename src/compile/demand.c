/* SPDX-License-Identifier: MIT */
/*
 * Demand: the region of an input that a kernel reads to compute a region of its outputs. Streaming in
 * strips, memory budgets and partial reads all follow from it. It is as small as the index maps of the loads tell
 * (ir/index_map.h): a load at constant offsets needs the region and a halo, one at x + an argument, at multiples,
 * quotients or remainders the box that these come to, one at places that are themselves read everything along that
 * axis.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/passes.h"
#include "ir/opaque.h"

typedef struct demand {
    ip_ir *ir;
    const ip_kernel *kernel;
    const ip_stage *input;
    const ip_placed *reader; /* NULL: pixels, the root */
    const ip_region *region;
    ip_region *needed;
    bool any;
} demand;

static void include(demand *d, ip_region r)
{
    const int64_t *dims = d->input->dims;
    r = (ip_region){ ip_max(r.z0, 0),       ip_min(r.z1, dims[0]), ip_max(r.y0, 0),
                     ip_min(r.y1, dims[1]), ip_max(r.x0, 0),       ip_min(r.x1, dims[2]) };
    if (!d->any) {
        *d->needed = r;
        d->any = true;
        return;
    }
    ip_region *n = d->needed;
    *n = (ip_region){ ip_min(n->z0, r.z0), ip_max(n->z1, r.z1), ip_min(n->y0, r.y0),
                      ip_max(n->y1, r.y1), ip_min(n->x0, r.x0), ip_max(n->x1, r.x1) };
}

/* The rows that the kernel makes of what follows the rate of a stage (place_rates.c, Note [Producer row rates]). */
static ip_span rows_at_rate(const demand *d)
{
    const ip_placed *p = d->reader, *rated = &d->kernel->placed[p->rate_of],
                    *sets = &d->kernel->placed[rated->last_reader];
    const int64_t *dims = sets->stage->dims;
    ip_box box = { { { 0, dims[0] - 1 },
                     { ip_max(d->region->y0 + sets->first, 0), ip_min(d->region->y1 + sets->lead, dims[1]) - 1 },
                     { 0, dims[2] - 1 },
                     { 0, dims[3] - 1 } } };
    ip_span row, all = { 0, p->stage->dims[1] - 1 };
    if (box.axis[1].hi < box.axis[1].lo || !ip_index_span(rated->rate.row, &box, &row)) return all;
    return (ip_span){ ip_max(row.lo + rated->rate.lo + p->first, all.lo),
                      ip_min(row.hi + rated->rate.hi + p->lead, all.hi) };
}

/* Along one axis, where rows are made `at_once` the group that holds them. */
static ip_span in_groups(ip_span s, int at_once)
{
    return at_once > 0 && s.lo >= 0 ? (ip_span){ s.lo / at_once * at_once, (s.hi / at_once + 1) * at_once - 1 } : s;
}

/*
 * The elements of the reader that the kernel makes. Copies of a source that goes on beyond its edges may begin before
 * its first row; everything else stays inside its domain.
 */
static ip_box read_by(const demand *d, const int64_t domain[4])
{
    const ip_region *r = d->region;
    const ip_placed *p = d->reader;
    ip_box box = {
        { { r->z0, r->z1 - 1 }, { r->y0, r->y1 - 1 }, { r->x0, r->x1 - 1 }, { 0, ip_max(domain[3], 1) - 1 } }
    };
    bool pad_is_computed = p && p->is_copy && p->pad_border == IMGPAR_BORDER_WRAP;
    if (p) {
        int running = p->n_running > 0; /* the element that leaves: Note [Running sums] in place_running.c */
        box.axis[1] = p->rate_of >= 0 ? rows_at_rate(d) : (ip_span){ r->y0 + p->first - running, r->y1 - 1 + p->lead };
        box.axis[2] = (ip_span){ r->x0 - p->left - running, r->x1 - 1 + p->right };
        box.axis[p->is_deep ? 0 : 1] = in_groups(box.axis[p->is_deep ? 0 : 1], p->at_once);
    }
    if (d->kernel->whole_rows) box.axis[2] = (ip_span){ 0, domain[2] - 1 };
    for (int k = 0; k < 3 && !pad_is_computed; k++)
        box.axis[k] = (ip_span){ ip_clamp(box.axis[k].lo, 0, ip_max(domain[k] - 1, 0)),
                                 ip_clamp(box.axis[k].hi, 0, ip_max(domain[k] - 1, 0)) };
    return box;
}

/* What a load reads that is not at constant offsets of an element of the same domain. */
static void note_map(demand *d, const ip_expr *load, const int64_t domain[4])
{
    const int64_t *dims = d->input->dims;
    ip_box box = read_by(d, domain);
    ip_span read[3];
    bool is_copy = d->reader && d->reader->is_copy; /* copies extend what they copy */
    int border = is_copy ? d->reader->pad_border : load->border;
    for (int k = 0; k < 3; k++) {
        bool is_known = dims[k] > 0 && ip_index_span(load->arg[k], &box, &read[k]);
        read[k] = is_known ? ip_border_span(border, read[k], dims[k]) : (ip_span){ 0, dims[k] - 1 };
    }
    include(d, (ip_region){ read[0].lo, read[0].hi + 1, read[1].lo, read[1].hi + 1, read[2].lo, read[2].hi + 1 });
}

static void note_load(ip_expr *load, void *user)
{
    demand *d = user;
    if (load->source != d->input) return;
    const int64_t *dims = d->input->dims, *domain = d->reader ? ip_stage_domain(d->reader->stage) : d->kernel->domain;
    ip_reach reach = ip_load_reach(load, domain);
    bool turns = load->border == IMGPAR_BORDER_WRAP && (reach.y_lo | reach.y_hi | reach.x_lo | reach.x_hi) != 0;
    bool is_other_domain = d->reader && (d->reader->rate_of >= 0 || domain[1] != d->kernel->domain[1] ||
                                         domain[2] != d->kernel->domain[2]);
    bool wraps = d->reader && d->reader->is_copy && d->reader->pad_border == IMGPAR_BORDER_WRAP;
    if (!reach.is_local || turns || wraps || is_other_domain) {
        note_map(d, load, domain);
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
            first -= ip_x_classify(load->arg[1]).uses_tap;
            left += ip_x_classify(load->arg[2]).uses_tap;
        }
    }
    const ip_region *r = d->region;
    include(d, (ip_region){ r->z0, r->z1, r->y0 + first + reach.y_lo, r->y1 + lead + reach.y_hi,
                            d->kernel->whole_rows ? 0 : r->x0 - left + reach.x_lo,
                            d->kernel->whole_rows ? dims[2] : r->x1 + right + reach.x_hi });
}

uint64_t ip_region_bytes(const ip_region *r, const ip_stage *s)
{
    return (uint64_t)(r->z1 - r->z0) * (uint64_t)(r->y1 - r->y0) * (uint64_t)(r->x1 - r->x0) * (uint64_t)s->dims[3] *
           ip_dtype(s->dtype)->size_bytes;
}

void ip_kernel_demand(const ip_plan *plan, const ip_kernel *kernel, const ip_stage *input, const ip_region *region,
                      ip_region *needed)
{
    *needed = (ip_region){ 0, 0, 0, 0, 0, 0 };
    if (kernel->schedule == IP_SCHEDULE_OPAQUE) {
        ip_opaque_demand(ip_kernel_opaque(kernel), input, region, needed);
        return;
    }
    demand d = { .ir = plan->ir, .kernel = kernel, .input = input, .region = region, .needed = needed };
    for (int k = 0; k < kernel->n_placed; k++) {
        d.reader = &kernel->placed[k];
        ip_stage_each_load(plan->ir, d.reader->stage, note_load, &d);
    }
    for (int k = 0; kernel->n_placed == 0 && k < kernel->n_stages; k++)
        ip_stage_each_load(plan->ir, kernel->stages[k], note_load, &d);
}

ip_traffic ip_kernel_traffic(const ip_plan *plan, const ip_kernel *kernel, const ip_region *region)
{
    ip_traffic traffic = { 0, 0 };
    for (int k = 0; k < kernel->n_inputs; k++) {
        ip_region needed;
        ip_kernel_demand(plan, kernel, kernel->inputs[k], region, &needed);
        traffic.read += ip_region_bytes(&needed, kernel->inputs[k]);
    }
    for (int k = 0; k < kernel->n_outputs; k++) {
        const ip_region made = ip_stage_folds(kernel->outputs[k]) ? ip_stage_region(kernel->outputs[k]) : *region;
        traffic.written += ip_region_bytes(&made, kernel->outputs[k]);
    }
    return traffic;
}

/* ---- which inputs a kernel has ---------------------------------------------------------------- */

typedef struct collecting {
    ip_ir *ir;
    ip_kernel *kernel;
} collecting;

static void add_input(const collecting *c, ip_stage *s)
{
    ip_kernel *k = c->kernel;
    for (int i = 0; i < k->n_inputs; i++)
        if (k->inputs[i] == s) return;
    ip_stage **inputs = ip_realloc_array(k->inputs, (size_t)k->n_inputs + 1, sizeof *inputs);
    if (!inputs) {
        c->ir->failed = true;
        return;
    }
    k->inputs = inputs;
    inputs[k->n_inputs++] = s;
}

static void collect_source(ip_expr *load, void *user)
{
    const collecting *c = user;
    if (load->source->kind != IP_STAGE_TABLE && !ip_kernel_placed(c->kernel, load->source)) add_input(c, load->source);
}

imgpar_status ip_pass_inputs(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    (void)options;
    for (int n = 0; n < plan->n_kernels; n++) {
        ip_kernel *k = &plan->kernels[n];
        collecting c = { plan->ir, k };
        const ip_opaque *o = ip_kernel_opaque(k);
        for (int i = 0; o && i < o->n_inputs; i++)
            add_input(&c, o->inputs[i]);
        for (int i = 0; i < k->n_placed; i++)
            ip_stage_each_load(plan->ir, k->placed[i].stage, collect_source, &c);
        for (int i = 0; !o && k->n_placed == 0 && i < k->n_stages; i++)
            ip_stage_each_load(plan->ir, k->stages[i], collect_source, &c);
    }
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
