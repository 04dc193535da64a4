/* SPDX-License-Identifier: MIT */
/*
 * fold([0 1 2], k -> expr, "sum"): terms made from numbers that are known when the graph is built, and folded. It is
 * what writing the terms out would be, so numbers may stand wherever literals may: as offsets, sizes, parameters.
 *
 *     fold([1 2 4 8], s -> abs(a - blur(a, s)), "max")
 *     fold([-1 0; 1 0; 0 -1; 0 1], (dy, dx) -> a[dy, dx], "mean")     a row of the matrix for each term
 *     fold(5, k -> a[0, k] * 2 ** k)                                  0 to 4
 */
#include "lang/eval.h"

#include <math.h>
#include <string.h>

enum { MOST_TERMS = 1024, MOST_ARGUMENTS = 8 };

typedef struct folding {
    ip_eval *ev;
    const ip_node *call;
    const ip_node *slots[3]; /* values, function, fold */
    ip_val values, fn;
    const char *fold;
    int n_terms, n_args;
} folding;

static bool find_fold(folding *f)
{
    static const char *const words[][2] = { { "sum", "sum" }, { "mean", "mean" },       { "min", "min" },
                                            { "max", "max" }, { "product", "product" }, { "prod", "product" } };
    const ip_node *node = f->slots[2];
    const char *word = node ? ip_eval_word(f->ev, node) : "sum";
    for (size_t k = 0; word && k < sizeof words / sizeof *words; k++)
        if (strcmp(word, words[k][0]) == 0) f->fold = words[k][1];
    return f->fold ||
           ip_eval_fail(f->ev, node->offset, "fold: fold is \"sum\", \"mean\", \"min\", \"max\" or \"product\"");
}

static bool find_function(folding *f)
{
    const ip_node *node = f->slots[1];
    if (!ip_eval_any(f->ev, node, &f->fn)) return false;
    f->n_args = 1;
    if (f->fn.kind == IP_V_ANY) return true;
    if (f->fn.kind != IP_V_FUNCTION)
        return ip_eval_fail(f->ev, node->offset, "fold: a function such as k -> a[0, k] is expected, not %s",
                            ip_val_kind_text(&f->fn));
    if (!f->fn.u.fn.op) f->n_args = f->fn.u.fn.lambda->n_names;
    return (f->n_args > 0 && f->n_args <= MOST_ARGUMENTS) ||
           ip_eval_fail(f->ev, node->offset, "fold: the function takes 1 to %d numbers", MOST_ARGUMENTS);
}

/* How many terms the values make: each number one, or each row of a matrix. */
static bool count_terms(folding *f)
{
    const ip_val *v = &f->values;
    const ip_matrix *m = v->kind == IP_V_MATRIX ? v->u.matrix : NULL;
    const size_t offset = f->slots[0]->offset;
    if (v->kind == IP_V_ANY || v->unknown) return true;
    if (!m && v->kind != IP_V_NUMBER)
        return ip_eval_fail(f->ev, offset, "fold: values are a vector, a matrix or a number, not %s",
                            ip_val_kind_text(v));
    if (m && f->n_args > 1 && m->cols != f->n_args)
        return ip_eval_fail(f->ev, offset, "fold: the function takes %d numbers, and a row has %d", f->n_args, m->cols);
    if (!m && f->n_args > 1)
        return ip_eval_fail(f->ev, offset, "fold: the function of a count takes 1 number, not %d", f->n_args);
    double n = m ? (double)m->rows * m->cols / f->n_args : v->number;
    if (n != floor(n) || n < 1 || n > MOST_TERMS)
        return ip_eval_fail(f->ev, offset, "fold: there are 1 to %d terms", MOST_TERMS);
    f->n_terms = (int)n;
    return true;
}

static bool is_fractional(const ip_matrix *m)
{
    for (int k = 0; k < m->rows * m->cols; k++)
        if (m->numbers[k] != floor(m->numbers[k])) return true;
    return false;
}

/* Term number k; while checking, of numbers that are not known. */
static bool make_term(folding *f, int k, ip_val *out)
{
    ip_val args[MOST_ARGUMENTS];
    const ip_matrix *m = f->values.kind == IP_V_MATRIX ? f->values.u.matrix : NULL;
    for (int i = 0; i < f->n_args; i++)
        args[i] = f->ev->checking ? ip_val_unknown(IP_V_NUMBER)
                                  : ip_val_number(m ? m->numbers[k * f->n_args + i] : k, m && is_fractional(m));
    if (!ip_call_function(f->ev, &f->fn, args, f->n_args, f->slots[1]->offset, out)) return false;
    if (ip_val_is_scalar(out) || out->kind == IP_V_ARRAY || out->kind == IP_V_ANY) return true;
    ip_eval_fail(f->ev, f->slots[1]->offset, "fold: a term is a number or an array, not %s", ip_val_kind_text(out));
    ip_val_free(out);
    return false;
}

/* *acc folded with term, both of which it takes. */
static bool fold_in(folding *f, ip_val *acc, ip_val *term)
{
    ip_val both[2] = { *acc, *term };
    const bool is_extreme = strcmp(f->fold, "min") == 0 || strcmp(f->fold, "max") == 0,
               is_product = strcmp(f->fold, "product") == 0;
    bool ok = is_extreme ? ip_call_op(f->ev, ip_op_find(f->fold), f->call->offset, both, NULL, NULL, 2, acc)
                         : ip_call_operator(f->ev, is_product ? IP_O_MULTIPLY : IP_O_ADD, f->call->offset, both, acc);
    ip_val_free(&both[0]);
    ip_val_free(&both[1]);
    if (!ok) *acc = (ip_val){ .kind = IP_V_NONE };
    return ok;
}

static bool fold_terms(folding *f, ip_val *out)
{
    ip_val term, n = ip_val_number(f->n_terms, false), acc;
    if (!make_term(f, 0, out)) return false;
    if (f->ev->checking) {
        if (out->kind == IP_V_ARRAY || ip_val_is_scalar(out))
            *out = ip_val_unknown(out->kind == IP_V_ARRAY ? IP_V_ARRAY : IP_V_NUMBER);
        return true;
    }
    for (int k = 1; k < f->n_terms; k++)
        if (!make_term(f, k, &term) || !fold_in(f, out, &term)) {
            ip_val_free(out);
            return false;
        }
    if (strcmp(f->fold, "mean") != 0) return true;
    acc = *out;
    bool ok = ip_call_operator(f->ev, IP_O_DIVIDE, f->call->offset, (ip_val[]){ acc, n }, out);
    ip_val_free(&acc);
    return ok;
}

bool ip_form_fold(ip_eval *ev, const ip_node *call, ip_val *out)
{
    folding f = { .ev = ev, .call = call };
    *out = (ip_val){ .kind = IP_V_NONE };
    if (!ip_form_args(ev, call, f.slots)) return false;
    ip_place place = ip_leave_region(ev, ip_inherited_coords(ev));
    bool ok = find_fold(&f) && ip_eval_value(ev, f.slots[0], &f.values) && find_function(&f) && count_terms(&f) &&
              fold_terms(&f, out);
    ip_val_free(&f.values);
    ip_val_free(&f.fn);
    ev->place = place;
    return ok;
}
