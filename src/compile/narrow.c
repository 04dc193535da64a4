/* SPDX-License-Identifier: MIT */
/*
 * Narrowing: integer arithmetic moves to the narrowest dtype that holds its operands
 * and its result by their ranges, since a vector unit does twice the work per
 * instruction at half the width. Sound because nothing can wrap: every value fits.
 */
#include "base/dtype.h"
#include "compile/passes.h"

#include <math.h>

static bool fits(const ip_expr *x, imgpar_dtype dtype)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    return x->lo >= facts->minimum && x->hi <= facts->maximum;
}

static const bool is_narrowable[IP_X_N] = {
    [IP_X_ADD] = true, [IP_X_SUB] = true,    [IP_X_MUL] = true, [IP_X_IDIV] = true, [IP_X_MOD] = true,
    [IP_X_MIN] = true, [IP_X_MAX] = true,    [IP_X_AND] = true, [IP_X_OR] = true,   [IP_X_XOR] = true,
    [IP_X_SHR] = true, [IP_X_SELECT] = true, [IP_X_ABS] = true, [IP_X_NEG] = true,  [IP_X_LT] = true,
    [IP_X_LE] = true,  [IP_X_EQ] = true,     [IP_X_NE] = true,
};

static bool is_comparison(ip_xop op) { return op >= IP_X_LT && op <= IP_X_NE; }

/* True when x in dtype costs nothing: it is a number or was widened from at most that dtype. */
static bool comes_from(const ip_expr *x, imgpar_dtype dtype)
{
    return x->op == IP_X_CONST || x->op == IP_X_PARAM ||
           (x->op == IP_X_CAST && ip_dtype(x->arg[0]->dtype)->size_bytes <= ip_dtype(dtype)->size_bytes);
}

/* Counts are taken modulo the width. */
static bool shifts_alike(const ip_expr *x, imgpar_dtype to)
{
    return x->arg[1]->lo >= 0 && x->arg[1]->hi < (double)ip_dtype(to)->size_bytes * 8;
}

static ip_expr *narrow_one(ip_ir *ir, ip_expr *x, void *user)
{
    (void)user;
    /* 8 bits pay for choosing only: sums of bytes rarely fit in a byte. */
    static const imgpar_dtype ladder[] = { IMGPAR_U8, IMGPAR_I8, IMGPAR_U16, IMGPAR_I16, IMGPAR_U32, IMGPAR_I32 };
    if (!is_narrowable[x->op]) return x;
    int first = x->op == IP_X_SELECT ? 1 : 0;
    ip_expr *operand = x->arg[first];
    if (ip_dtype(operand->dtype)->is_float || operand->dtype == IMGPAR_BOOL) return x;
    bool chooses = x->op == IP_X_MIN || x->op == IP_X_MAX || x->op == IP_X_SELECT || is_comparison(x->op);
    for (size_t k = chooses ? 0 : 2; k < sizeof ladder / sizeof *ladder; k++) {
        imgpar_dtype to = ladder[k];
        if (ip_dtype(to)->size_bytes >= ip_dtype(operand->dtype)->size_bytes) break;
        bool ok = (is_comparison(x->op) || fits(x, to)) && (x->op != IP_X_SHR || shifts_alike(x, to));
        for (int a = first; a < x->n_args; a++)
            ok = ok && fits(x->arg[a], to) && comes_from(x->arg[a], to);
        if (!ok) continue;
        ip_expr *args[IP_X_MAX_ARGS];
        for (int a = 0; a < x->n_args; a++)
            args[a] = a < first ? x->arg[a] : ip_x_cast(ir, to, x->arg[a]);
        ip_expr *y = x->op == IP_X_SELECT ? ip_x_select(ir, args[0], args[1], args[2])
                     : x->n_args == 1     ? ip_x_unary(ir, x->op, args[0])
                                          : ip_x_binary(ir, x->op, args[0], args[1]);
        return is_comparison(x->op) ? y : ip_x_cast(ir, x->dtype, y);
    }
    return x;
}

imgpar_status ip_pass_narrow(ip_plan *plan, ip_error *err)
{
    ip_ir *ir = plan->ir;
    for (int k = 0; k < ir->n_stages && !ir->failed; k++) {
        ip_stage *s = ir->stages[k];
        if (ip_stage_computes(s) && s->body) s->body = ip_x_map(ir, s->body, narrow_one, NULL);
    }
    return ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
