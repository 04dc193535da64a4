/* SPDX-License-Identifier: MIT */
/*
 * The compiler on one screen: each pass is a line of passes[]; its result is logged when IMGPAR_DUMP
 * asks for it, and verified before the next one starts.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/segments.h"
#include "graph/array.h"
#include "graph/services.h"
#include "ir/opaque.h"

#include <string.h>

/* A reduction that is asked for, without its last step. */
static void store_total(ip_ir *ir, ip_stage *s)
{
    if (s->kind != IP_STAGE_REDUCE) return;
    s->finish = ip_x_acc(ir, 0, s->acc_dtype);
    s->dtype = s->acc_dtype;
    s->lo = s->finish->lo;
    s->hi = s->finish->hi;
}

static ip_expr *put_total(ip_ir *ir, ip_expr *x, void *user)
{
    return x->op == IP_X_ACC ? ip_table_at(ir, user, ip_x_int(ir, IMGPAR_I32, 0)) : x;
}

/* A reduction becomes one that stores its total, and a map of one element behind it that takes the last step, so that
 * the total may be put together of parts: run/spill.c. */
static void part_from_total(ip_ir *ir, ip_stage *s)
{
    ip_stage *total = ip_stage_new(ir, IP_STAGE_REDUCE, s->dtype, s->dims, s->node);
    if (!total) return;
    const int id = total->id;
    *total = *s;
    total->id = id;
    total->is_output = false;
    store_total(ir, total);
    ip_stage_move(ir, total, s->id);
    s->kind = IP_STAGE_MAP;
    s->body = ip_x_map(ir, s->finish, put_total, total);
    s->finish = s->init = s->combine = s->least_place = NULL;
    memcpy(s->over, s->dims, sizeof s->over);
}

static imgpar_status pass_totals(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    (void)options;
    for (int k = 0; k < plan->n_outputs; k++)
        store_total(plan->ir, plan->outputs[k]);
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}

static imgpar_status pass_spills(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    ip_ir *ir = plan->ir;
    (void)options;
    /* The total is put into the list before the stage: k++ steps over it, the loop over the map. */
    for (int k = 0; k < ir->n_stages && !ir->failed; k++)
        if (ir->stages[k]->kind == IP_STAGE_REDUCE) part_from_total(ir, ir->stages[k++]);
    return ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}

static void note_f64(ip_expr *x, void *user)
{
    if (x->dtype == IMGPAR_F64 || (x->op == IP_X_LOAD && x->source->dtype == IMGPAR_F64)) *(bool *)user = true;
}

static void note_steps(ip_expr *x, void *user)
{
    int64_t *most = user;
    if (x->op == IP_X_LOOP && x->arg[3]->i > *most) *most = x->arg[3]->i;
}

/* What a device must be able to do. */
static imgpar_status pass_demands(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    (void)options, (void)err;
    for (int i = 0; i < plan->n_kernels; i++) {
        ip_kernel *k = &plan->kernels[i];
        for (int s = 0; s < k->n_stages; s++) {
            ip_stage *stage = k->stages[s];
            if (stage->opaque) {
                k->uses_f64 |= stage->opaque->uses_f64;
                continue;
            }
            const bool has_acc =
                stage->kind == IP_STAGE_REDUCE || stage->kind == IP_STAGE_BY_KEY || stage->kind == IP_STAGE_SCAN;
            ip_expr *exprs[IP_STAGE_PARTS];
            const int n = ip_stage_exprs(stage, exprs);
            k->uses_f64 |= stage->dtype == IMGPAR_F64 || (has_acc && stage->acc_dtype == IMGPAR_F64);
            for (int e = 0; e < n; e++) {
                ip_x_walk(plan->ir, exprs[e], note_f64, &k->uses_f64);
                ip_x_walk(plan->ir, exprs[e], note_steps, &plan->most_steps);
            }
        }
        k->uses_f64 |= (k->helpers >> IP_HELPERS_FUNCTIONS & 1) != 0; /* which compute in it */
        plan->uses_f64 |= k->uses_f64;
    }
    return IMGPAR_OK;
}

/* For whoever divides the work of a launch. */
static imgpar_status pass_operations(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    (void)options, (void)err;
    for (int i = 0; i < plan->n_kernels; i++)
        for (int p = 0; p < plan->kernels[i].n_placed; p++) {
            ip_placed *placed = &plan->kernels[i].placed[p];
            placed->operations = ip_x_cost(plan->ir, placed->stage->body);
        }
    return IMGPAR_OK;
}

static imgpar_status verify_ir(ip_plan *plan, ip_error *err) { return ip_ir_verify(plan->ir, err); }
static imgpar_status verify_kernels(ip_plan *plan, ip_error *err) { return ip_plan_verify(plan, false, err); }
static imgpar_status verify_rows(ip_plan *plan, ip_error *err) { return ip_plan_verify(plan, true, err); }

/* For what a pass runs; the interpreter takes stages as they were lowered. */
static bool always(const ip_compile_options *options) { return options != NULL; }
static bool for_promises(const ip_compile_options *options) { return options->goal.promises != 0; }
static bool for_looks(const ip_compile_options *options) { return options->goal.look != 0; }
static bool for_totals(const ip_compile_options *options) { return options->goal.totals; }
static bool for_spills(const ip_compile_options *options) { return options->goal.spills; }
static bool for_kernels(const ip_compile_options *options) { return !options->goal.keep_stages; }

static const struct pass {
    const char *name; /* for messages; and the word of IMGPAR_DUMP that shows its result */
    const char *dump; /* another word that does; NULL: there is none */
    bool (*applies)(const ip_compile_options *);
    imgpar_status (*run)(ip_plan *, const ip_compile_options *, ip_error *);
    imgpar_status (*verify)(ip_plan *, ip_error *); /* its result */
} passes[] = {
    { "lower", "graph", always, ip_pass_lower, verify_ir },
    { "promises", NULL, for_promises, ip_pass_promises, verify_ir },
    { "looks", NULL, for_looks, ip_pass_looks, verify_ir },
    { "totals", NULL, for_totals, pass_totals, verify_ir },
    { "spills", NULL, for_spills, pass_spills, verify_ir },
    { "levels", NULL, for_kernels, ip_pass_levels, verify_ir },
    { "lookups", NULL, for_kernels, ip_pass_lookups, verify_ir },
    { "products", NULL, for_kernels, ip_pass_products, verify_ir },
    { "inline", NULL, for_kernels, ip_pass_inline, verify_ir },
    { "by_key", NULL, for_kernels, ip_pass_by_key, verify_ir },
    { "turn", NULL, for_kernels, ip_pass_turn, verify_ir },
    { "decimate", NULL, for_kernels, ip_pass_decimate, verify_ir },
    { "frame", "rules", for_kernels, ip_pass_frame, verify_ir },
    { "narrow", "expr", for_kernels, ip_pass_narrow, verify_ir },
    { "fuse", NULL, for_kernels, ip_pass_fuse, verify_kernels }, /* from here on added rows stand at the list's end */
    { "segments", "plan", for_kernels, ip_pass_segments, verify_rows },
    { "inputs", NULL, for_kernels, ip_pass_inputs, verify_rows },
    { "emit", "cl", for_kernels, ip_pass_emit, NULL },
    { "demands", NULL, for_kernels, pass_demands, NULL },
    { "operations", NULL, for_kernels, pass_operations, NULL },
};

static bool wants_dump(const ip_compile_options *options, const char *word)
{
    const char *list = options->dump;
    size_t n = word ? strlen(word) : 0;
    while (word && list && options->log) {
        if (strncmp(list, word, n) == 0 && (list[n] == ',' || list[n] == '\0')) return true;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return false;
}

/* Stages, as long as these are what is verified; then kernels, and behind emit their text. */
static void dump(const ip_plan *plan, const struct pass *pass, ip_str *log)
{
    ip_str_printf(log, "---- after %s ----\n", pass->name);
    if (pass->verify == verify_ir) {
        ip_ir_print(plan->ir, log);
        return;
    }
    bool is_emitted = plan->n_kernels > 0 && plan->kernels[0].source;
    char *text = NULL;
    if (!ip_plan_explain(plan, is_emitted ? "cl" : "text", NULL, &text, NULL)) ip_str_append(log, text);
    ip_free(text);
    if (pass->run == ip_pass_segments) ip_segments_print(plan, log);
}

static imgpar_status run_pass(ip_plan *plan, const struct pass *pass, const ip_compile_options *options, ip_error *err)
{
    if (!pass->applies(options)) return IMGPAR_OK;
    imgpar_status st = pass->run(plan, options, err);
    if (!st && (wants_dump(options, pass->name) || wants_dump(options, pass->dump))) dump(plan, pass, options->log);
    return !st && pass->verify ? pass->verify(plan, err) : st;
}

/* The rules between options, applied once. */
static ip_compile_options settled(const ip_compile_options *asked)
{
    ip_compile_options options = *asked;
    options.schedule = asked->tuning.schedule;
    if (options.schedule == IP_SCHEDULE_AUTO)
        options.schedule = asked->device.prefers_rows ? IP_SCHEDULE_ROWS : IP_SCHEDULE_TILES;
    options.device.has_loop_hints &= !asked->checks;     /* what checks does not vectorise */
    options.device.has_clang_builtins &= !asked->checks; /* elements are checked where they are stored */
    return options;
}

imgpar_status ip_compile(imgpar_array *const *arrays, size_t n, const ip_compile_options *asked, ip_plan **out,
                         ip_error *err)
{
    const ip_compile_options options = settled(asked);
    *out = NULL;
    ip_plan *plan = ip_zalloc(sizeof *plan);
    if (!plan || !(plan->ir = ip_ir_new())) {
        ip_free(plan);
        return ip_fail_memory(err, "compiling");
    }
    imgpar_status st = IMGPAR_OK;
    plan->asked = arrays;
    plan->n_asked = n;
    for (size_t k = 0; !st && k < sizeof passes / sizeof *passes; k++) {
        st = run_pass(plan, &passes[k], &options, err);
        /* No read can leave (promises.c): there is nothing to make kernels of. */
        if (options.goal.promises && plan->n_outputs == 0) break;
    }
    plan->asked = NULL;
    plan->n_asked = 0;
    if (st) {
        ip_plan_free(plan);
        return st;
    }
    *out = plan;
    return IMGPAR_OK;
}

void ip_plan_free(ip_plan *plan)
{
    if (!plan) return;
    for (int k = 0; k < plan->n_kernels; k++) {
        ip_kernel *kernel = &plan->kernels[k];
        ip_free(kernel->stages);
        ip_free(kernel->placed);
        ip_free(kernel->inputs);
        ip_free(kernel->outputs);
        ip_free(kernel->args.tables);
        ip_free(kernel->args.checks);
        ip_free(kernel->args.slots);
        ip_free(kernel->source);
    }
    for (int k = 0; k < plan->ir->n_stages; k++)
        ip_services_get()->release_value(plan->ir->stages[k]->value);
    for (int k = 0; k < plan->n_held; k++)
        ip_array_drop(plan->held[k]);
    ip_free(plan->kernels);
    ip_free(plan->outputs);
    ip_free(plan->held);
    ip_ir_free(plan->ir);
    ip_free(plan);
}
