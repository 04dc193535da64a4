/* SPDX-License-Identifier: MIT */
#include "run/promises.h"

#include "base/alloc.h"
#include "base/str.h"
#include "graph/array.h"
#include "run/evaluation_impl.h"

#include <string.h>

/* What breaks promises of an array: e, freed by the caller, and its result, if it has one. */
static imgpar_status look(imgpar_context *ctx, ip_request *q, ip_evaluation **e, ip_value **value, ip_error *err)
{
    *value = NULL;
    imgpar_status st = ip_evaluation_new(ctx, ctx->device, q, e, err);
    if (st || (*e)->plan->n_outputs == 0) return st;
    ip_tier_choose(ctx, q, e);
    return q->use_ref ? ip_evaluation_run_on_ref(*e, value, err) : ip_evaluation_run(*e, q, value, err);
}

/* The same, where the interpreter takes what does not fit. Its numbers, of the caller; *n 0: there are none. */
static imgpar_status numbers(imgpar_context *ctx, ip_request *q, ip_evaluation **e, int64_t **out, int *n,
                             ip_error *err)
{
    ip_value *value;
    imgpar_status st = look(ctx, q, e, &value, err);
    if (st == IMGPAR_E_DEVICE_MEMORY && !q->use_ref) {
        *err = (ip_error){ IMGPAR_OK, "" };
        ip_evaluation_free(*e);
        q->use_ref = true;
        st = look(ctx, q, e, &value, err);
    }
    *n = st || !value ? 0 : (int)(*e)->plan->outputs[0]->dims[2];
    *out = *n ? ip_alloc_array((size_t)*n, sizeof **out) : NULL;
    if (*n && !*out) st = ip_fail_memory(err, "checking");
    if (!st && *n) st = ip_value_read(value, *out, err);
    ip_value_release(value);
    return st;
}

static void place_of(int64_t number, const int64_t dims[4], int64_t place[4])
{
    for (int d = 3; d >= 0; d--) {
        place[d] = number % dims[d];
        number /= dims[d];
    }
}

static void append_place(ip_str *s, const int64_t dims[4], const int64_t place[4])
{
    const char *before = ", for the element ";
    for (int d = 0; d < 4; d++) {
        if (dims[d] == 1 && d != 2) continue;
        ip_str_printf(s, "%s%c=%lld", before, "zyxc"[d], (long long)place[d]);
        before = ", ";
    }
}

/* Whether the stage's elements are those of the operation, and not of a pass that has more, or fewer. */
static bool is_of_result(const ip_stage *s)
{
    int64_t dims[4];
    ip_type_dims(&s->node->type, dims);
    return memcmp(dims, ip_stage_domain(s), sizeof dims) == 0;
}

static imgpar_status tell(const ip_promise *p, int64_t index, const int64_t place[4], ip_error *err)
{
    const imgpar_array *node = p->stage->node;
    const char *op = node->op->flags & IP_OP_HIDDEN ? "a[dy, dx]" : node->op->info.name;
    ip_str s = IP_STR_INIT;
    ip_str_printf(&s, "%s: ", op);
    if (index != INT32_MIN)
        ip_str_printf(&s, "%c=%lld is read, outside of 0 to %lld", "zyxc"[p->axis], (long long)index,
                      (long long)(p->extent - 1));
    else
        ip_str_printf(&s, "%c is read outside of 0 to %lld", "zyxc"[p->axis], (long long)(p->extent - 1));
    if (is_of_result(p->stage)) append_place(&s, ip_stage_domain(p->stage), place);
    ip_str_printf(&s, "; border=%s",
                  p->border == IMGPAR_BORDER_CHECKED ? "checked" : "unchecked promised that none is");
    imgpar_status st = s.failed ? ip_fail_memory(err, "checking") : ip_fail(err, IMGPAR_E_CHECK, "%s", s.text);
    ip_str_free(&s);
    return st;
}

/* Of the element that was found: which read, and how far. */
static imgpar_status tell_read(imgpar_context *ctx, ip_request *q, const int64_t place[4], ip_error *err)
{
    ip_evaluation *e = NULL;
    int64_t *indices;
    int n;
    q->goal.place = place;
    imgpar_status st = numbers(ctx, q, &e, &indices, &n, err);
    for (int k = 0; !st && k < n; k++)
        if (indices[k] != INT64_MAX) st = tell(&e->plan->promises[k], indices[k], place, err);
    ip_free(indices);
    ip_evaluation_free(e);
    return st ? st : ip_fail(err, IMGPAR_E_INTERNAL, "internal: a read outside was found, and not found again");
}

static imgpar_status keep(imgpar_context *ctx, const ip_request *of, imgpar_array *a, unsigned promises, ip_error *err)
{
    ip_request q = { .arrays = &a,
                     .n = 1,
                     .options = of->options,
                     .use_ref = of->use_ref,
                     .may_interpret = of->may_interpret,
                     .goal = { .choices = of->goal.choices, .promises = promises } };
    ip_evaluation *e = NULL;
    int64_t *first, place[4];
    int n;
    imgpar_status st = numbers(ctx, &q, &e, &first, &n, err);
    for (int k = 0; !st && k < n; k++) {
        if (first[k] == INT64_MAX) continue;
        place_of(first[k], ip_stage_domain(e->plan->promises[k].stage), place);
        q.goal.promise = k;
        st = tell_read(ctx, &q, place, err);
    }
    ip_free(first);
    ip_evaluation_free(e);
    return st;
}

unsigned ip_promises_of(imgpar_context *ctx, imgpar_array *a)
{
    const unsigned checked = 1U << IMGPAR_BORDER_CHECKED, unchecked = 1U << IMGPAR_BORDER_UNCHECKED;
    if (!(a->promises & (checked | unchecked)) || ip_array_has_value(a)) return 0;
    return a->promises & (checked | (ip_context_checks(ctx) ? unchecked : 0));
}

imgpar_status ip_promises_keep(imgpar_context *ctx, const ip_request *q, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && k < q->n; k++) {
        const unsigned promises = ip_promises_of(ctx, q->arrays[k]);
        if (promises) st = keep(ctx, q, q->arrays[k], promises, err);
    }
    return st;
}
