/* SPDX-License-Identifier: MIT */
#include "lang/constant.h"

#include "base/alloc.h"
#include "lang/eval.h"
#include "lang/parser.h"

#include <string.h>

bool ip_is_constant(const ip_node *node)
{
    if (node->kind == IP_N_NAME) return !node->name->assigned_at && ip_is_constant_name(node->name->name);
    if (node->kind != IP_N_MATRIX && node->kind != IP_N_OPERATOR)
        return node->kind == IP_N_NUMBER || node->kind == IP_N_BOOL || node->kind == IP_N_TEXT;
    for (int i = 0; i < node->n_items; i++)
        if (!ip_is_constant(node->items[i])) return false;
    return true;
}

/* Checking knows the numbers of constants, and needs no context. */
ip_val ip_constant_value(const ip_program *program, const ip_node *node, ip_error *err)
{
    ip_val v = { .kind = IP_V_NONE };
    ip_eval ev = { .program = program, .checking = true, .safe = true, .err = err };
    ev.globals = ip_vals_new(program->symbols.count);
    if (!ev.globals)
        ip_eval_fail_memory(&ev);
    else if (!ip_eval_value(&ev, node, &v))
        v.kind = IP_V_NONE;
    ip_eval_free(&ev);
    return v;
}

ip_val ip_constant_read(const char *text, ip_error *err)
{
    ip_val v = { .kind = IP_V_NONE };
    ip_program program = { .text = { .text = text, .length = strlen(text) } };
    program.symbols.arena = &program.arena;
    const ip_node *node = ip_parse_constant_text(&program, &program.text, err);
    if (node && node->kind != IP_N_TEXT) v = ip_constant_value(&program, node, err);
    ip_program_free(&program);
    return v;
}

imgpar_status ip_constant_numbers(const char *text, ip_constant *out, ip_error *err)
{
    ip_val v = ip_constant_read(text, err);
    if (v.kind == IP_V_MATRIX && v.u.matrix) {
        const size_t n = (size_t)v.u.matrix->rows * (size_t)v.u.matrix->cols;
        *out = (ip_constant){ .is_list = true, .rows = v.u.matrix->rows, .cols = v.u.matrix->cols };
        out->numbers = ip_alloc_array(n, sizeof *out->numbers);
        if (out->numbers) memcpy(out->numbers, v.u.matrix->numbers, n * sizeof *out->numbers);
    } else if (ip_val_is_scalar(&v)) {
        *out = (ip_constant){ .is_bool = v.kind == IP_V_BOOL, .fractional = v.fractional, .rows = 1, .cols = 1 };
        out->numbers = ip_alloc_array(1, sizeof *out->numbers);
        if (out->numbers) *out->numbers = v.number;
    } else {
        ip_val_free(&v);
        return err->status ? err->status : ip_fail(err, IMGPAR_E_ARGUMENT, "no number and no list of numbers");
    }
    ip_val_free(&v);
    return out->numbers ? IMGPAR_OK : ip_fail_memory(err, "reading a constant");
}
