/* SPDX-License-Identifier: MIT */
/*
 * Gradients as the language writes them: grad(loss, a), or gradient(loss, a), which numpy.gradient's row is where its
 * second argument is an axis; and (ga, gb) = grad(loss, (a, b)), which shares what both are made of.
 */
#include "lang/program.h"
#include "ops/gradient.h"

#include <string.h>

static bool is_array_like(const ip_val *v) { return v->kind == IP_V_ARRAY || v->kind == IP_V_ANY; }

static bool is_gradient(const ip_op *op)
{
    return strcmp(op->info.name, "grad") == 0 || strcmp(op->info.name, "gradient") == 0;
}

bool ip_gradient_takes_several(const ip_op *op, int i) { return i == 1 && is_gradient(op); }

const ip_op *ip_gradient_row(const ip_op *op, const ip_val *args, ip_symbol *const *names, int n)
{
    return is_gradient(op) && n == 2 && !names[1] && args[1].kind == IP_V_ARRAY ? ip_op_find("grad") : op;
}

/* The arrays of a tuple. */
static bool take_arrays(ip_eval *ev, size_t offset, const ip_tuple *by, imgpar_array **arrays)
{
    if (by->n > IP_MOST_VARIABLES)
        return ip_eval_fail(ev, offset, "grad: %d arrays are too many; at most %d are possible", by->n,
                            IP_MOST_VARIABLES);
    for (int k = 0; k < by->n; k++) {
        if (!is_array_like(&by->items[k]))
            return ip_eval_fail(ev, offset, "grad: a must be arrays, not %s", ip_val_kind_text(&by->items[k]));
        arrays[k] = by->items[k].kind == IP_V_ARRAY ? by->items[k].u.array : NULL;
    }
    return true;
}

bool ip_gradients_of_several(ip_eval *ev, size_t offset, const ip_val *args, ip_val *out)
{
    const ip_tuple *by = args[1].u.tuple;
    imgpar_array *arrays[IP_MOST_VARIABLES], *gradients[IP_MOST_VARIABLES];
    if (!is_array_like(&args[0]))
        return ip_eval_fail(ev, offset, "grad: loss must be an array, not %s", ip_val_kind_text(&args[0]));
    if (!take_arrays(ev, offset, by, arrays)) return false;
    ip_val all = ip_val_tuple(by->n);
    if (all.kind == IP_V_NONE) return ip_eval_fail_memory(ev);
    bool ok = true;
    if (!ev->checking) ip_build_gradients(ev->ctx, args[0].u.array, arrays, by->n, gradients);
    for (int k = 0; k < by->n; k++) {
        if (ev->checking)
            all.u.tuple->items[k] = ip_val_unknown(IP_V_ARRAY);
        else if (ok)
            ok = ip_call_result(ev, offset, gradients[k], &all.u.tuple->items[k]);
        else
            imgpar_array_release(gradients[k]);
    }
    if (ok)
        *out = all;
    else
        ip_val_free(&all);
    return ok;
}
