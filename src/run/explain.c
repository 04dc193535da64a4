/* SPDX-License-Identifier: MIT */
/*
 * How arrays would be computed: what compile/explain.c says of a plan, which devices would take part (share.c), and the
 * same of the step of every loop below them, which is a graph of its own.
 *
 * Nothing is computed, so it is not known which sides branches take (branches.c): what is told is the plan where all
 * conditions hold, as if nothing were kept from conditions to the rest, and for each branch the plan of its condition
 * and that where it alone does not hold.
 */
#include "run/explain.h"

#include "base/alloc.h"
#include "run/branches.h"
#include "run/evaluation.h"
#include "run/held.h"
#include "run/opaque.h"
#include "run/promises.h"
#include "run/share.h"

#include <stdio.h>
#include <string.h>

typedef struct explaining {
    imgpar_context *ctx;
    const char *format;
    ip_compile_options options;
    bool is_interpreted;
    imgpar_array **placeholders; /* of all loops: while a step runs those of the loops around it have values */
    int n_placeholders;
} explaining;

static const char *format_of(const explaining *x) { return x->format ? x->format : "text"; }

static bool is_format(const explaining *x, const char *name) { return strcmp(format_of(x), name) == 0; }

/* Which devices would compute it; nothing where the context's one does. */
static imgpar_status explain_devices(const explaining *x, const ip_compile_options *options,
                                     imgpar_array *const *arrays, size_t n, ip_str *out, ip_error *err)
{
    if (x->is_interpreted)
        ip_str_append(
            out, "devices: none, the reference interpreter computes stage by stage; a device would have these kernels");
    else if (x->ctx->devices.n > 1)
        return ip_share_explain(
            x->ctx, &(ip_request){ .arrays = arrays, .n = n, .goal.choices = options->goal.choices }, out, err);
    return IMGPAR_OK;
}

/* How it would be computed where it does not fit the one device; nothing where it does. */
static imgpar_status explain_memory(const explaining *x, const ip_plan *plan, const ip_compile_options *options,
                                    imgpar_array *const *arrays, size_t n, ip_str *out, ip_error *err)
{
    uint64_t most = 0; /* that it may hold at once */
    if (x->is_interpreted || x->ctx->devices.n > 1 || (x->format && strcmp(x->format, "text") != 0)) return IMGPAR_OK;
    for (int k = 0; k < plan->ir->n_stages; k++) {
        const ip_region all = ip_stage_region(plan->ir->stages[k]);
        most += ip_region_bytes(&all, plan->ir->stages[k]);
    }
    if (most <= ip_device_budget_left(x->ctx->device)) return IMGPAR_OK;
    return ip_evaluation_explain_memory(
        x->ctx, &(ip_request){ .arrays = arrays, .n = n, .goal.choices = options->goal.choices }, out, err);
}

/* Of reads that are promised to be inside, how many stages' are looked at first; nothing where nobody promises. */
static imgpar_status explain_promises(const explaining *x, const ip_compile_options *options,
                                      imgpar_array *const *arrays, size_t n, ip_str *out, ip_error *err)
{
    ip_compile_options looking = *options;
    imgpar_status st = IMGPAR_OK;
    int64_t stages = 0;
    bool promises = false;
    if (!is_format(x, "text")) return IMGPAR_OK;
    for (size_t k = 0; !st && k < n; k++) {
        ip_plan *plan = NULL;
        looking.goal.promises = ip_promises_of(x->ctx, arrays[k]);
        if (!looking.goal.promises) continue;
        promises = true;
        st = ip_compile(&arrays[k], 1, &looking, &plan, err);
        if (!st && plan->n_outputs) stages += plan->outputs[0]->dims[2];
        ip_plan_free(plan);
    }
    if (promises && out->length) ip_str_putc(out, '\n');
    if (promises && stages)
        ip_str_printf(out, "borders: a pass before checks the reads of %lld stage%s", (long long)stages,
                      stages > 1 ? "s" : "");
    else if (promises)
        ip_str_append(out, "borders: checked reads are inside, by their places alone");
    return st;
}

static imgpar_status explain_graph(const explaining *x, const ip_compile_options *options, imgpar_array *const *arrays,
                                   size_t n, char **text, ip_error *err)
{
    ip_plan *plan = NULL;
    ip_str sharing = IP_STR_INIT;
    imgpar_status st = ip_compile(arrays, n, options, &plan, err);
    if (!st && !options->goal.is_step) st = explain_devices(x, options, arrays, n, &sharing, err);
    if (!st && !options->goal.is_step) st = explain_memory(x, plan, options, arrays, n, &sharing, err);
    if (!st && !options->goal.is_step) st = explain_promises(x, options, arrays, n, &sharing, err);
    for (int k = 0; !st && k < plan->n_kernels; k++)
        ip_opaque_explain(ip_context_blas(x->ctx), x->ctx->device, &plan->kernels[k]);
    if (!st) st = ip_plan_explain(plan, x->format, sharing.text, text, err);
    ip_str_free(&sharing);
    ip_plan_free(plan);
    return st;
}

/* A line between graphs, as a comment where the format has those. */
static void put_line(const explaining *x, const char *line, ip_str *out)
{
    bool is_text = is_format(x, "text"), is_cl = is_format(x, "cl");
    ip_str_printf(out, "%s%s%s\n", is_text ? "" : is_cl ? "/* " : "// ", line, is_cl ? " */" : "");
}

/* A graph without the end of its last line, as JSON that goes on. */
static void put_json(ip_str *out, const char *name, const char *graph)
{
    ip_str_printf(out, "\"%s\": %.*s", name, (int)strlen(graph) - 1, graph);
}

/* ---- branches ---------------------------------------------------------------------------- */

/* Completes choices as if the conditions of all other branches held. */
static imgpar_status hold_all(const ip_branching *graph, ip_choices *choices, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t n = 1; !st && n > 0;) {
        imgpar_array **found = NULL;
        st = ip_branches_find(graph, choices, &found, &n, err);
        for (size_t k = 0; !st && k < n; k++)
            st = ip_choices_add(choices, found[k], 1, err);
        ip_free(found);
    }
    return st;
}

/* What its condition is computed from, by kernels; *text NULL: the interpreter computes all of it. */
static imgpar_status explain_condition(const explaining *x, const ip_compile_options *options, imgpar_array *branch,
                                       char **text, ip_error *err)
{
    ip_held heads = { 0 };
    imgpar_status st = ip_branches_hold_heads(&branch, 1, &heads, err);
    if (!st && heads.n > 0) st = explain_graph(x, options, heads.nodes, heads.n, text, err);
    ip_held_release(&heads);
    return st;
}

static void put_branch(const explaining *x, int number, const char *condition, const char *otherwise, ip_str *out)
{
    char line[96];
    if (is_format(x, "json")) {
        ip_str_append(out, number > 1 ? ",\n  {" : ", \"branches\": [\n  {");
        if (condition) put_json(out, "condition", condition);
        ip_str_append(out, condition ? ", " : "");
        put_json(out, "otherwise", otherwise);
        ip_str_append(out, "}");
        return;
    }
    ip_str_putc(out, '\n');
    snprintf(line, sizeof line, "branch %d: its condition is made of", number);
    if (condition) put_line(x, line, out);
    ip_str_append(out, condition ? condition : "");
    snprintf(line, sizeof line, "branch %d: where its condition does not hold", number);
    put_line(x, line, out);
    ip_str_append(out, otherwise);
}

/* Branch k of those that are decided in choices: as where it alone does not hold. */
static imgpar_status explain_branch(const explaining *x, const ip_compile_options *options, const ip_branching *graph,
                                    const ip_choices *choices, size_t k, ip_str *out, ip_error *err)
{
    char *condition = NULL, *otherwise = NULL;
    ip_choices before = { 0 };
    ip_compile_options o = *options;
    imgpar_status st = IMGPAR_OK;
    for (size_t i = 0; !st && i < k; i++)
        st = ip_choices_add(&before, choices->list[i].node, 1, err);
    o.goal.choices = &before;
    imgpar_array *branch = (imgpar_array *)choices->list[k].node; /* of the graph, which is not const */
    if (!st) st = explain_condition(x, &o, branch, &condition, err);
    if (!st) st = ip_choices_add(&before, branch, 2, err);
    if (!st) st = hold_all(graph, &before, err);
    o.goal.choices = &before;
    if (!st) st = explain_graph(x, &o, graph->arrays, graph->n, &otherwise, err);
    if (!st) put_branch(x, (int)k + 1, condition, otherwise, out);
    ip_choices_free(&before);
    ip_free(condition);
    ip_free(otherwise);
    return st;
}

/* A graph and its branches: *text has the first where all conditions hold, out is what is to stand behind it. */
static imgpar_status explain_branching(const explaining *x, const ip_compile_options *options,
                                       const ip_branching *graph, char **text, ip_str *out, ip_error *err)
{
    ip_choices choices = { 0 };
    ip_compile_options o = *options;
    imgpar_status st = hold_all(graph, &choices, err);
    o.goal.choices = &choices;
    if (!st) st = explain_graph(x, &o, graph->arrays, graph->n, text, err);
    if (!st && choices.n > 0 && !is_format(x, "json"))
        put_line(x, "branches are decided before the rest is planned; above is the plan where all conditions hold",
                 out);
    for (size_t k = 0; !st && k < choices.n; k++)
        st = explain_branch(x, options, graph, &choices, k, out, err);
    if (!st && choices.n > 0 && is_format(x, "json")) ip_str_append(out, "]");
    ip_choices_free(&choices);
    return st;
}

/* ---- loops ------------------------------------------------------------------------------- */

/* How its steps are run: by the interpreter, or so many at once. */
typedef struct running {
    bool on_host;
    int at_once;
} running;

/* "100 steps", "100 steps, 4 at once", "at most 500 steps, until its condition holds, tested after every 4". */
static void put_steps(ip_str *out, const ip_loop *loop, const running *how)
{
    ip_str_printf(out, "%s%lld step%s", loop->until ? "at most " : "", (long long)loop->count,
                  loop->count == 1 ? "" : "s");
    if (loop->until && loop->check > 1)
        ip_str_printf(out, ", until its condition holds, tested after every %lld", (long long)loop->check);
    else if (loop->until)
        ip_str_append(out, ", until its condition holds");
    if (how->at_once > 1) ip_str_printf(out, ", %d at once", how->at_once);
    if (how->on_host)
        ip_str_append(out, ", by the interpreter since they are small (a device would have these kernels)");
}

/* "loop 2: 100 steps; a step is", or "4 steps are", as a comment where the format has those. */
static void put_heading(const explaining *x, const ip_loop *loop, int number, const running *how, ip_str *out)
{
    char what[32] = "a step";
    if (how->at_once > 1) snprintf(what, sizeof what, "%d steps", how->at_once);
    bool is_text = is_format(x, "text"), is_cl = is_format(x, "cl");
    ip_str_printf(out, "\n%sloop %d: ", is_text ? "" : is_cl ? "/* " : "// ", number);
    put_steps(out, loop, how);
    ip_str_printf(out, "; %s%s%s\n", what, !is_text ? ":" : how->at_once > 1 ? " are" : " is", is_cl ? " */" : "");
}

static imgpar_status how_it_runs(const explaining *x, const ip_loop *loop, const ip_branching *graph, running *how,
                                 ip_error *err)
{
    imgpar_array **branches = NULL;
    size_t n = 0;
    imgpar_status st = ip_branches_find(graph, NULL, &branches, &n, err);
    ip_free(branches);
    if (st || n > 0) return st; /* with branches each step is run by itself */
    const bool on_host = x->is_interpreted || ip_steps_on_host(x->ctx, loop);
    *how = (running){ on_host && !x->is_interpreted, on_host ? 1 : ip_steps_at_once(x->ctx, loop) };
    return IMGPAR_OK;
}

/* The step evaluates what comes next, and then the condition by itself: run_iteration() in loop.c. */
static imgpar_status explain_loop(const explaining *x, const ip_loop *loop, int number, ip_str *out, ip_error *err)
{
    char *step = NULL, *condition = NULL;
    ip_str branches = IP_STR_INIT;
    const ip_branching graph = { loop->next, (size_t)loop->n_carried, x->placeholders, x->n_placeholders };
    ip_compile_options several = x->options, one = x->options;
    one.goal.is_step = several.goal.is_step = true;
    several.goal.placeholders = loop->placeholder;
    running how = { .at_once = 1 };
    imgpar_status st = how_it_runs(x, loop, &graph, &how, err);
    several.goal.steps = how.at_once;
    if (!st) st = explain_branching(x, &several, &graph, &step, &branches, err);

    if (!st && loop->until) st = explain_graph(x, &one, &loop->until, 1, &condition, err);
    if (!st && branches.failed) st = ip_fail_memory(err, "explaining");
    if (!st && is_format(x, "json")) { /* each graph without the end of its last line */
        ip_str_printf(out, "%s\n  {\"steps\": %lld, ", number > 1 ? "," : ", \"loops\": [", (long long)loop->count);
        if (several.goal.steps > 1) ip_str_printf(out, "\"at_once\": %d, ", several.goal.steps);
        if (how.on_host) ip_str_append(out, "\"by\": \"interpreter\", ");
        put_json(out, "step", step);
        ip_str_append(out, branches.text ? branches.text : "");
        if (condition)
            ip_str_printf(out, ", \"check\": %lld, \"condition\": %.*s", (long long)loop->check,
                          (int)strlen(condition) - 1, condition);
        ip_str_append(out, "}");
    } else if (!st) {
        put_heading(x, loop, number, &how, out);
        ip_str_append(out, step);
        ip_str_append(out, branches.text ? branches.text : "");
        if (condition) ip_str_printf(out, "%s%s", is_format(x, "text") ? "its condition is\n" : "", condition);
    }
    ip_str_free(&branches);
    ip_free(step);
    ip_free(condition);
    return st;
}

static imgpar_status collect_placeholders(explaining *x, ip_loop *const *loops, size_t n_loops, ip_error *err)
{
    size_t n = 0;
    for (size_t k = 0; k < n_loops; k++)
        n += (size_t)loops[k]->n_carried;
    x->placeholders = n ? ip_alloc_array(n, sizeof *x->placeholders) : NULL;
    if (n && !x->placeholders) return ip_fail_memory(err, "explaining");
    for (size_t k = 0; k < n_loops; k++)
        for (int i = 0; i < loops[k]->n_carried; i++)
            x->placeholders[x->n_placeholders++] = loops[k]->placeholder[i];
    return IMGPAR_OK;
}

static imgpar_status explain_loops(explaining *x, imgpar_array *const *arrays, size_t n, ip_str *out, ip_error *err)
{
    ip_loop **loops = NULL;
    size_t n_loops = 0;
    imgpar_status st = ip_loops_find(arrays, n, &loops, &n_loops, err);
    if (!st) st = collect_placeholders(x, loops, n_loops, err);
    for (size_t k = 0; !st && k < n_loops; k++)
        st = explain_loop(x, loops[k], (int)k + 1, out, err);
    ip_free(loops);
    ip_free(x->placeholders);
    return st;
}

/* ---- results ------------------------------------------------------------------------------ */

/* "result 1: [480, 640, 3] u8, white 255". */
static void explain_results(imgpar_array *const *arrays, size_t n, ip_str *out)
{
    for (size_t k = 0; k < n; k++) {
        const ip_type *type = &arrays[k]->type;
        char text[96];
        ip_str_append(out, "result");
        if (n > 1) ip_str_printf(out, " %zu", k + 1);
        ip_str_printf(out, ": %s", ip_type_text(type, text));
        if (type->white > 0) ip_str_printf(out, ", white %.10g%s", type->white, type->is_mask ? ", a mask" : "");
        ip_str_putc(out, '\n');
    }
}

/* ---- everything --------------------------------------------------------------------------- */

imgpar_status ip_explain(imgpar_array *const *arrays, size_t n, const char *format, char **out, ip_error *err)
{
    imgpar_context *ctx = arrays[0]->ctx;
    explaining x = { .ctx = ctx, .format = format, .options = ip_context_compile_options(ctx, ctx->device) };
    x.is_interpreted = !ctx->device || x.options.tuning.schedule == IP_SCHEDULE_REF;
    x.options.dump = NULL;
    if (x.is_interpreted) x.options.tuning.schedule = IP_SCHEDULE_AUTO;
    char *graph = NULL;
    ip_str parts = IP_STR_INIT, loops = IP_STR_INIT, all = IP_STR_INIT;
    imgpar_status st =
        explain_branching(&x, &x.options, &(ip_branching){ .arrays = arrays, .n = n }, &graph, &parts, err);
    if (!st) st = explain_loops(&x, arrays, n, &loops, err);
    if (!st) {
        bool has_more = loops.length > 0 || parts.length > 0;
        bool is_json = has_more && is_format(&x, "json"); /* within the graph's braces */
        ip_str_append_n(&all, graph, strlen(graph) - (is_json ? strlen("}\n") : 0));
        if (is_format(&x, "text")) explain_results(arrays, n, &all);
        ip_str_append(&all, parts.text ? parts.text : "");
        ip_str_append(&all, loops.text ? loops.text : "");
        ip_str_append(&all, is_json && loops.length > 0 ? "\n]" : "");
        ip_str_append(&all, is_json ? "}\n" : "");
        *out = loops.failed || parts.failed ? NULL : ip_str_take(&all);
        st = *out ? IMGPAR_OK : ip_fail_memory(err, "explaining");
    }
    ip_free(graph);
    ip_str_free(&parts);
    ip_str_free(&loops);
    ip_str_free(&all);
    return st;
}
