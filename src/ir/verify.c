/* SPDX-License-Identifier: MIT */
/* What a legal IR is, checked after every pass: a violation is a defect of the pass that ran before. */
#include "base/dtype.h"
#include "ir/opaque.h"

typedef struct checker {
    const ip_stage *stage;
    ip_error *err;
} checker;

static void complain(checker *c, const ip_expr *x, const char *rule)
{
    ip_fail(c->err, IMGPAR_E_INTERNAL, "internal: stage %d, %s: %s", c->stage->id, ip_xop_name(x->op), rule);
}

static void check_expr(ip_expr *x, void *user)
{
    checker *c = user;
    bool is_float = ip_dtype(x->dtype)->is_float;
    if (x->dtype == IMGPAR_F16) complain(c, x, "f16 is a storage type");
    if (!(x->lo <= x->hi)) complain(c, x, "empty range");
    for (int k = 0; k < x->n_args; k++)
        if (x->op == IP_X_LOAD ? k < 4 && x->arg[k]->dtype != IMGPAR_I32 : false) complain(c, x, "indices are i32");
    if (x->op == IP_X_LOAD && x->source->id >= c->stage->id) complain(c, x, "reads a later stage");
    if (x->op == IP_X_LOAD && (x->border == IMGPAR_BORDER_CONSTANT) != (x->n_args == 5))
        complain(c, x, "a constant border needs its value, others have none");
    if (x->op >= IP_X_ADD && x->op <= IP_X_ATAN2 && (x->arg[0]->dtype != x->dtype || x->arg[1]->dtype != x->dtype))
        complain(c, x, "operands have another dtype");
    if (x->op >= IP_X_LT && x->op <= IP_X_NE && x->arg[0]->dtype != x->arg[1]->dtype)
        complain(c, x, "compares different dtypes");
    if (x->op == IP_X_SELECT &&
        (x->arg[0]->dtype != IMGPAR_BOOL || x->arg[1]->dtype != x->dtype || x->arg[2]->dtype != x->dtype))
        complain(c, x, "dtypes of condition or values");
    if ((x->op == IP_X_DIV || x->op == IP_X_FMA || x->op == IP_X_SQRT || ip_x_is_function(x->op)) && !is_float)
        complain(c, x, "needs floats");
    if ((x->op == IP_X_IDIV || (x->op >= IP_X_AND && x->op <= IP_X_SHR)) && is_float) complain(c, x, "needs integers");
}

static imgpar_dtype loaded(imgpar_dtype dtype) { return dtype == IMGPAR_F16 ? IMGPAR_F32 : dtype; }

static bool scan_is_right(const ip_stage *s)
{
    bool typed = s->body->dtype == s->acc_dtype && s->finish && s->finish->dtype == loaded(s->dtype) && s->axis >= 0 &&
                 s->axis < 4 && s->n_more < IP_SCAN_STATES;
    for (int k = 0; typed && k < ip_stage_states(s); k++) {
        const ip_state state = ip_stage_state(s, k);
        typed = state.body && state.init && state.init->dtype == state.body->dtype && !state.combine == !s->combine;
        if (typed && state.combine) typed = state.combine->dtype == state.body->dtype && !state.init->uses;
    }
    return typed;
}

static bool by_key_is_right(const ip_stage *s)
{
    ip_expr *parts[2];
    return ip_x_list(s->body, parts, 2) == 2 && parts[0]->dtype == s->acc_dtype && parts[1]->dtype == IMGPAR_I32 &&
           s->keys && (!s->init || s->init->dtype == s->acc_dtype);
}

static bool body_dtype_right(const ip_stage *s)
{
    if (s->kind == IP_STAGE_BY_KEY) return by_key_is_right(s);
    if (s->kind == IP_STAGE_SCAN) return scan_is_right(s);
    if (s->kind == IP_STAGE_HISTOGRAM) return s->body->dtype == IMGPAR_I32;
    if (s->kind == IP_STAGE_REDUCE)
        return s->body->dtype == s->acc_dtype && s->finish && s->finish->dtype == loaded(s->dtype);
    return s->body->dtype == loaded(s->dtype);
}

imgpar_status ip_ir_verify(ip_ir *ir, ip_error *err)
{
    if (ir->failed) return ip_fail_memory(err, "compiling");
    ip_error local = { IMGPAR_OK, "" };
    checker c = { .err = err ? err : &local };
    for (int k = 0; k < ir->n_stages && c.err->status == IMGPAR_OK; k++) {
        const ip_stage *s = c.stage = ir->stages[k];
        if (s->id != k) return ip_fail(err, IMGPAR_E_INTERNAL, "internal: stage %d stands at %d", s->id, k);
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            if (s->opaque->inputs[i]->id >= k)
                return ip_fail(err, IMGPAR_E_INTERNAL, "internal: stage %d reads a later stage", k);
        if (s->kind < IP_STAGE_MAP || s->kind == IP_STAGE_OPAQUE) continue;
        if (!s->body || !body_dtype_right(s))
            return ip_fail(err, IMGPAR_E_INTERNAL, "internal: stage %d: its body has the wrong dtype", k);
        ip_expr *exprs[IP_STAGE_PARTS];
        const int n = ip_stage_exprs(s, exprs);
        for (int i = 0; i < n; i++)
            ip_x_walk(ir, exprs[i], check_expr, &c);
    }
    return ir->failed ? ip_fail_memory(err, "compiling") : c.err->status;
}
