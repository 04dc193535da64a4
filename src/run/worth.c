/* SPDX-License-Identifier: MIT */
/* What an evaluation is like: what it takes, whether it can be cut, which devices can run it. share.c decides by
 * that. */
#include "run/evaluation_impl.h"

#include "base/hash.h"
#include "ir/opaque.h"

double ip_evaluation_work(evaluation *e, double from, double to)
{
    double work = 0;
    ip_evaluation_want(e, from, to);
    for (int i = 0; i < e->plan->n_kernels; i++) {
        const ip_kernel *k = &e->plan->kernels[i];
        if (!ip_evaluation_needs(e, k)) continue;
        ip_region r = ip_evaluation_region(e, k);
        work += ip_kernel_cost(e->plan, k) * (double)(r.z1 - r.z0) * (double)(r.y1 - r.y0) * (double)(r.x1 - r.x0) *
                (double)k->domain[3];
    }
    return work;
}

uint64_t ip_evaluation_hash(const evaluation *e)
{
    uint64_t h = 0;
    for (int k = 0; k < e->plan->n_held; k++)
        h = ip_hash_u64(ip_hash_text(h, e->plan->held[k]->op->info.name), e->plan->held[k]->type.dtype);
    return h;
}

const char *ip_evaluation_uncut(const evaluation *e, bool is_placed)
{
    if (e->plan->n_kernels == 0) return "there is nothing to compute";
    for (int k = 0; k < e->plan->n_outputs; k++) {
        const ip_stage *s = e->plan->outputs[k];
        if (s->kind == IP_STAGE_SOURCE) return "a result is there already";
        if (ip_stage_folds(s)) return ip_evaluation_folds_uncut(e, is_placed);
        const ip_region shown = ip_stage_shown(s);
        if (shown.z1 - shown.z0 <= 1 && shown.y1 - shown.y0 <= 1) return "a result has one row";
    }
    return NULL;
}

bool ip_evaluation_loops(const evaluation *e) { return e->runner.is_step; }

/* Kernels and buffers of imgpar_cl.h belong to the first device. */
static bool is_of_first(const evaluation *e)
{
    for (int k = 0; k < e->plan->n_kernels; k++) {
        const ip_opaque *o = ip_kernel_opaque(&e->plan->kernels[k]);
        if (o && o->kind->run) return true;
    }
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        if (s->kind == IP_STAGE_SOURCE && s->node->source && s->node->source->kind == IP_SOURCE_BUFFER) return true;
    }
    return false;
}

imgpar_status ip_evaluation_check_device(const evaluation *e, const ip_device *device, ip_error *err)
{
    const ip_device_facts *facts = ip_device_facts_of(device);
    if (e->plan->uses_f64 && !facts->info.has_f64)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "f64: the device %s has no double precision", facts->info.name);
    if (facts->most_iterations > 0 && e->plan->most_steps > facts->most_iterations)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                       "iterate: the device %s ends a loop after %lld iterations, which is less than %lld steps; the "
                       "device ref has no such limit",
                       facts->info.name, (long long)facts->most_iterations, (long long)e->plan->most_steps);
    return IMGPAR_OK;
}

unsigned ip_evaluation_may(const evaluation *e)
{
    const ip_devices *devices = &e->ctx->devices;
    unsigned may = 0;
    ip_error why;
    if (is_of_first(e)) return 1;
    for (size_t k = 0; k < devices->n; k++)
        may |= (unsigned)!ip_evaluation_check_device(e, devices->list[k], &why) << k;
    return may ? may : 1; /* none can: the first one says so */
}

unsigned ip_evaluation_home(const evaluation *e)
{
    const ip_devices *devices = &e->ctx->devices;
    unsigned home = 0;
    for (int k = 0; k < e->plan->ir->n_stages; k++) {
        const ip_stage *s = e->plan->ir->stages[k];
        const ip_device *device = s->kind == IP_STAGE_SOURCE && s->value ? ip_value_home(s->value) : NULL;
        for (size_t n = 0; device && n < devices->n; n++)
            home |= (unsigned)(devices->list[n] == device) << n;
    }
    return home;
}

imgpar_status ip_evaluation_decode(evaluation *e, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    ip_value *unused;
    ip_evaluation_want(e, 0, 1);
    for (int k = 0; !st && k < e->plan->ir->n_stages; k++)
        if (e->plan->ir->stages[k]->kind == IP_STAGE_SOURCE && e->is_needed[k])
            st = ip_evaluation_source(e, e->plan->ir->stages[k], &unused, err);
    return st;
}

static ip_value *value_like(const evaluation *e, const ip_stage *s)
{
    for (int k = 0; k < e->plan->ir->n_stages; k++)
        if (e->source_values[k] && e->plan->ir->stages[k]->node == s->node && e->plan->ir->stages[k]->look == s->look)
            return e->source_values[k];
    return NULL;
}

void ip_evaluation_lend(const evaluation *from, evaluation *to)
{
    for (int k = 0; k < to->plan->ir->n_stages; k++)
        if (to->plan->ir->stages[k]->kind == IP_STAGE_SOURCE && !to->source_values[k])
            to->source_values[k] = ip_value_retain(value_like(from, to->plan->ir->stages[k]));
}
