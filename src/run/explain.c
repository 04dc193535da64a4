/* SPDX-License-Identifier: MIT */
/*
 * How arrays would be computed: what compile/explain.c says of a plan, which devices would take part (share.c), and the same of the
 * step of every loop below them, which is a graph of its own.
 */
#include "run/explain.h"

#include "base/alloc.h"
#include "run/evaluate.h"
#include "run/opaque.h"
#include "run/share.h"

#include <string.h>

typedef struct explaining {
    imgpar_context *ctx;
    const char *format;
    ip_compile_options options;
    bool is_interpreted;
} explaining;

/* Which devices would compute it; nothing where the context's one does. */
static imgpar_status explain_devices(const explaining *x, imgpar_array *const *arrays, size_t n, ip_str *out, ip_error *err)
{
    if (x->is_interpreted)
        ip_str_append(out, "devices: none, the reference interpreter computes stage by stage; a device would have these kernels");
    else if (x->ctx->devices.n > 1)
        return ip_share_explain(x->ctx, &(ip_request){ .arrays = arrays, .n = n }, out, err);
    return IMGPAR_OK;
}

static imgpar_status explain_graph(const explaining *x, imgpar_array *const *arrays, size_t n, bool with_devices, char **text, ip_error *err)
{
    ip_plan *plan = NULL;
    ip_str sharing = IP_STR_INIT;
    imgpar_status st = ip_compile(arrays, n, &x->options, &plan, err);
    if (!st && with_devices)
        st = explain_devices(x, arrays, n, &sharing, err);
    for (int k = 0; !st && k < plan->n_kernels; k++)
        ip_opaque_explain(ip_context_blas(x->ctx), x->ctx->device, &plan->kernels[k]);
    if (!st)
        st = ip_plan_explain(plan, x->format, sharing.text, text, err);
    ip_str_free(&sharing);
    ip_plan_free(plan);
    return st;
}

/* ---- loops ------------------------------------------------------------------------------- */

/* "100 steps", "at most 500 steps, until its condition holds, tested after every 4". */
static void put_steps(ip_str *out, const ip_loop *loop)
{
    ip_str_printf(out, "%s%lld step%s", loop->until ? "at most " : "", (long long)loop->count, loop->count == 1 ? "" : "s");
    if (loop->until && loop->check > 1)
        ip_str_printf(out, ", until its condition holds, tested after every %lld", (long long)loop->check);
    else if (loop->until)
        ip_str_append(out, ", until its condition holds");
}

static void put_step(const explaining *x, const ip_loop *loop, int number, const char *text, ip_str *out)
{
    const char *format = x->format ? x->format : "text";
    if (strcmp(format, "json") == 0) {
        ip_str_printf(out, "%s\n  {\"steps\": %lld, ", number > 1 ? "," : ", \"loops\": [", (long long)loop->count);
        if (loop->until)
            ip_str_printf(out, "\"check\": %lld, ", (long long)loop->check);
        ip_str_printf(out, "\"step\": %.*s}", (int)strlen(text) - 1, text); /* without the last line's end */
        return;
    }
    const char *const frames[][3] = { { "text", "\nloop ", "; a step is\n" }, { "cl", "\n/* loop ", "; a step: */\n" }, { "dot", "\n// loop ", "; a step:\n" } };
    for (int k = 0; k < 3; k++)
        if (strcmp(format, frames[k][0]) == 0) {
            ip_str_printf(out, "%s%d: ", frames[k][1], number);
            put_steps(out, loop);
            ip_str_append(out, frames[k][2]);
        }
    ip_str_append(out, text);
}

/* All that a step evaluates. */
static imgpar_status explain_step(const explaining *x, const ip_loop *loop, int number, ip_str *out, ip_error *err)
{
    char *text = NULL;
    size_t n = (size_t)loop->n_carried;
    imgpar_array **arrays = ip_alloc_array(n + 1, sizeof *arrays);
    if (!arrays)
        return ip_fail_memory(err, "explaining");
    memcpy(arrays, loop->next, n * sizeof *arrays);
    if (loop->until)
        arrays[n++] = loop->until;
    imgpar_status st = explain_graph(x, arrays, n, false, &text, err);
    if (!st)
        put_step(x, loop, number, text, out);
    ip_free(text);
    ip_free(arrays);
    return st;
}

static imgpar_status explain_loops(const explaining *x, imgpar_array *const *arrays, size_t n, ip_str *out, ip_error *err)
{
    ip_loop **loops = NULL;
    size_t n_loops = 0;
    imgpar_status st = ip_loops_find(arrays, n, &loops, &n_loops, err);
    for (size_t k = 0; !st && k < n_loops; k++)
        st = explain_step(x, loops[k], (int)k + 1, out, err);
    ip_free(loops);
    return st;
}

/* ---- everything --------------------------------------------------------------------------- */

imgpar_status ip_explain(imgpar_array *const *arrays, size_t n, const char *format, char **out, ip_error *err)
{
    imgpar_context *ctx = arrays[0]->ctx;
    explaining x = { .ctx = ctx, .format = format, .options = ip_context_compile_options(ctx, ctx->device) };
    x.is_interpreted = !ctx->device || x.options.tuning.schedule == IP_SCHEDULE_REF;
    x.options.dump = NULL;
    if (x.is_interpreted)
        x.options.tuning.schedule = IP_SCHEDULE_AUTO;
    char *graph = NULL;
    ip_str loops = IP_STR_INIT, all = IP_STR_INIT;
    imgpar_status st = explain_graph(&x, arrays, n, true, &graph, err);
    if (!st)
        st = explain_loops(&x, arrays, n, &loops, err);
    if (!st) {
        bool is_json = loops.length > 0 && format && strcmp(format, "json") == 0; /* within the graph's braces */
        ip_str_append_n(&all, graph, strlen(graph) - (is_json ? strlen("}\n") : 0));
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
