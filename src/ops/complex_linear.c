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

/* The name of argument k: its own, or that of the input or parameter in its place. */
static const char *name_of(const ip_op *op, const ip_arg *args, int k)
{
    const imgpar_op_info *info = &op->info;
    const int param = k - info->n_inputs;
    if (args[k].name) return args[k].name;
    return param < 0 ? info->input_names[k] : param < info->n_params ? info->params[param]->name : "";
}

/* The call with parts of its complex arguments; parts[i] is "real" or "imag". The value beyond the border is real as
 * elements of the first input are, and an offset as the product of real ones is: other calls have 0 for them. */
static imgpar_array *of_parts(ip_making *m, const ip_arg *args, int n, const int *at, int n_at,
                              const char *const parts[2])
{
    const ip_op *op = m->call->op;
    bool is_first_imag = false, is_any_imag = false;
    ip_arg real_args[IP_MAX_SLOTS];
    memcpy(real_args, args, (size_t)n * sizeof *args);
    for (int i = 0; i < n_at; i++) {
        const bool is_imag = strcmp(parts[i], "imag") == 0;
        real_args[at[i]].array = ip_make_of(m, parts[i], args[at[i]].array);
        is_any_imag = is_any_imag || is_imag;
        is_first_imag = is_first_imag || (is_imag && strcmp(name_of(op, args, at[i]), op->info.input_names[0]) == 0);
    }
    for (int k = 0; k < n; k++) {
        const char *name = name_of(op, args, k);
        if ((is_first_imag && strcmp(name, "cval") == 0) || (is_any_imag && strcmp(name, "offset") == 0))
            real_args[k] = (ip_arg){ .name = args[k].name, .kind = IP_ARG_NUMBER, .number = 0 };
    }
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
