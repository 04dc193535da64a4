/* SPDX-License-Identifier: MIT */
/*
 * How arrays would be computed: what compile/explain.c says of a plan, which devices would take part (share.c), and the
 * same of the step of every loop below them, which is a graph of its own.
 */
#include "run/explain.h"

#include "base/alloc.h"
#include "run/evaluate.h"
#include "run/opaque.h"
#include "run/share.h"

#include <stdio.h>
#include <string.h>

typedef struct explaining {
    imgpar_context *ctx;
    const char *format;
    ip_compile_options options;
    bool is_interpreted;
} explaining;

/* Which devices would compute it; nothing where the context's one does. */
static imgpar_status explain_devices(const explaining *x, imgpar_array *const *arrays, size_t n, ip_str *out,
                                     ip_error *err)
{
    if (x->is_interpreted)
        ip_str_append(
            out, "devices: none, the reference interpreter computes stage by stage; a device would have these kernels");
    else if (x->ctx->devices.n > 1)
        return ip_share_explain(x->ctx, &(ip_request){ .arrays = arrays, .n = n }, out, err);
    return IMGPAR_OK;
}

static imgpar_status explain_graph(const explaining *x, const ip_compile_options *options, imgpar_array *const *arrays,
                                   size_t n, char **text, ip_error *err)
{
    ip_plan *plan = NULL;
    ip_str sharing = IP_STR_INIT;
    imgpar_status st = ip_compile(arrays, n, options, &plan, err);
    if (!st && !options->is_step) st = explain_devices(x, arrays, n, &sharing, err);
    for (int k = 0; !st && k < plan->n_kernels; k++)
        ip_opaque_explain(ip_context_blas(x->ctx), x->ctx->device, &plan->kernels[k]);
    if (!st) st = ip_plan_explain(plan, x->format, sharing.text, text, err);
    ip_str_free(&sharing);
    ip_plan_free(plan);
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

static const char *format_of(const explaining *x) { return x->format ? x->format : "text"; }

/* "loop 2: 100 steps; a step is", or "4 steps are", as a comment where the format has those. */
static void put_heading(const explaining *x, const ip_loop *loop, int number, const running *how, ip_str *out)
{
    char what[32] = "a step";
    if (how->at_once > 1) snprintf(what, sizeof what, "%d steps", how->at_once);
    bool is_text = strcmp(format_of(x), "text") == 0, is_cl = strcmp(format_of(x), "cl") == 0;
    ip_str_printf(out, "\n%sloop %d: ", is_text ? "" : is_cl ? "/* " : "// ", number);
    put_steps(out, loop, how);
    ip_str_printf(out, "; %s%s%s\n", what, !is_text ? ":" : how->at_once > 1 ? " are" : " is", is_cl ? " */" : "");
}

/* The step evaluates what comes next, and then the condition by itself: run_iteration() in loop.c. */
static imgpar_status explain_loop(const explaining *x, const ip_loop *loop, int number, ip_str *out, ip_error *err)
{
    char *step = NULL, *condition = NULL;
    ip_compile_options several = x->options, one = x->options;
    one.is_step = several.is_step = true;
    several.placeholders = loop->placeholder;
    const bool on_host = x->is_interpreted || ip_steps_on_host(x->ctx, loop);
    const running how = { on_host && !x->is_interpreted, on_host ? 1 : ip_steps_at_once(x->ctx, loop) };
    several.steps = how.at_once;
    imgpar_status st = explain_graph(x, &several, loop->next, (size_t)loop->n_carried, &step, err);
    if (!st && loop->until) st = explain_graph(x, &one, &loop->until, 1, &condition, err);
    if (!st && strcmp(format_of(x), "json") == 0) { /* each graph without the end of its last line */
        ip_str_printf(out, "%s\n  {\"steps\": %lld, ", number > 1 ? "," : ", \"loops\": [", (long long)loop->count);
        if (several.steps > 1) ip_str_printf(out, "\"at_once\": %d, ", several.steps);
        if (how.on_host) ip_str_append(out, "\"by\": \"interpreter\", ");
        ip_str_printf(out, "\"step\": %.*s", (int)strlen(step) - 1, step);
        if (condition)
            ip_str_printf(out, ", \"check\": %lld, \"condition\": %.*s", (long long)loop->check,
                          (int)strlen(condition) - 1, condition);
        ip_str_append(out, "}");
    } else if (!st) {
        put_heading(x, loop, number, &how, out);
        ip_str_append(out, step);
        if (condition)
            ip_str_printf(out, "%s%s", strcmp(format_of(x), "text") == 0 ? "its condition is\n" : "", condition);
    }
    ip_free(step);
    ip_free(condition);
    return st;
}

static imgpar_status explain_loops(const explaining *x, imgpar_array *const *arrays, size_t n, ip_str *out,
                                   ip_error *err)
{
    ip_loop **loops = NULL;
    size_t n_loops = 0;
    imgpar_status st = ip_loops_find(arrays, n, &loops, &n_loops, err);
    for (size_t k = 0; !st && k < n_loops; k++)
        st = explain_loop(x, loops[k], (int)k + 1, out, err);
    ip_free(loops);
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
    ip_str loops = IP_STR_INIT, all = IP_STR_INIT;
    imgpar_status st = explain_graph(&x, &x.options, arrays, n, &graph, err);
    if (!st) st = explain_loops(&x, arrays, n, &loops, err);
    if (!st) {
        bool is_json = loops.length > 0 && format && strcmp(format, "json") == 0; /* within the graph's braces */
        ip_str_append_n(&all, graph, strlen(graph) - (is_json ? strlen("}\n") : 0));
        if (strcmp(format_of(&x), "text") == 0) explain_results(arrays, n, &all);
        ip_str_append(&all, loops.text ? loops.text : "");
        ip_str_append(&all, is_json ? "\n]}\n" : "");
        *out = loops.failed ? NULL : ip_str_take(&all);
        st = *out ? IMGPAR_OK : ip_fail_memory(err, "explaining");
    }
    ip_free(graph);
    ip_str_free(&loops);
    ip_str_free(&all);
    return st;
}
