/* SPDX-License-Identifier: MIT */
/*
 * Linear rows (IP_OP_LINEAR) of complex numbers, made of the same row on real ones: f(a + b i) = f(a) + f(b) i, and of
 * two complex inputs, in each of which the row is linear, the product's four terms. What a row adds besides, the value
 * beyond a border or an offset, is real: the imaginary part's call has 0 for it.
 */
#include "ops/check.h"
#include "ops/complex.h"
#include "ops/derived.h"

#include <string.h>

/* Indices of the complex arguments, at most two. */
static int complex_args(const ip_arg *args, int n, int found[2])
{
    int count = 0;
    for (int k = 0; k < n && count < 2; k++)
        if (args[k].kind == IP_ARG_ARRAY && ip_type_is_complex(&args[k].array->type)) found[count++] = k;
    return count;
}

static bool adds_a_number(const ip_op *op, const ip_arg *args, int k)
{
    const imgpar_op_info *info = &op->info;
    int param = k - info->n_inputs;
    const char *name = args[k].name                           ? args[k].name
                       : param >= 0 && param < info->n_params ? info->params[param]->name
                                                              : "";
    return strcmp(name, "cval") == 0 || strcmp(name, "offset") == 0;
}

/* The call with parts of its complex arguments; parts[i] is "real" or "imag". */
static imgpar_array *of_parts(ip_making *m, const ip_arg *args, int n, const int *at, int n_at,
                              const char *const parts[2])
{
    const ip_op *op = m->call->op;
    ip_arg real_args[IP_MAX_SLOTS];
    memcpy(real_args, args, (size_t)n * sizeof *args);
    for (int i = 0; i < n_at; i++)
        real_args[at[i]].array = ip_make_of(m, parts[i], args[at[i]].array);
    for (int k = 0; k < n && n_at == 1 && parts[0][0] == 'i'; k++)
        if (adds_a_number(op, args, k)) real_args[k].number = 0;
    return ip_making_keep(m, ip_build(m->call->ctx, op, real_args, n));
}

imgpar_array *ip_complex_linear(const imgpar_array *call, const ip_arg *args, int n)
{
    static const char *const re[2] = { "real", "real" }, *const im[2] = { "imag", "imag" };
    static const char *const cross[2][2] = { { "real", "imag" }, { "imag", "real" } };
    ip_making m = { .call = call };
    int at[2] = { 0, 0 }, n_at = complex_args(args, n, at);
    imgpar_array *first = of_parts(&m, args, n, at, n_at, re), *second;
    if (n_at == 1) {
        second = of_parts(&m, args, n, at, n_at, im);
    } else {
        first = ip_make_pair(&m, "minus", first, of_parts(&m, args, n, at, n_at, im));
        second = ip_make_pair(&m, "plus", of_parts(&m, args, n, at, n_at, cross[0]),
                              of_parts(&m, args, n, at, n_at, cross[1]));
    }
    return ip_made(&m, ip_make_pair(&m, "complex", first, second));
}
