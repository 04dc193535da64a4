/* SPDX-License-Identifier: MIT */
/* Finding linear forms: from the element inwards, first what is done with the sum, then its terms. */
#include "ir/linear.h"

#include "base/dtype.h"
#include "ir/stage.h"

#include <math.h>

/* Whether a cast keeps every value. Ranges of 64-bit integers are rounded, so of those it is not known. */
static bool is_exact(const ip_expr *cast)
{
    const ip_expr *x = cast->arg[0];
    const ip_dtype_facts *from = ip_dtype(x->dtype), *to = ip_dtype(cast->dtype);
    if (x->dtype == IMGPAR_BOOL || cast->dtype == IMGPAR_BOOL) return false;
    if (from->is_float) return to->is_float && to->size_bytes >= from->size_bytes;
    if (to->is_float) return fmax(fabs(x->lo), fabs(x->hi)) <= (to->size_bytes == 4 ? 0x1p24 : 0x1p53);
    return from->size_bytes < 8 && x->lo >= to->minimum && x->hi <= to->maximum;
}

static ip_expr *without_exact_casts(ip_expr *x)
{
    while (x->op == IP_X_CAST && is_exact(x))
        x = x->arg[0];
    return x;
}

/* Whether x, a sum or a product, is what it would be in the form's wide dtype. */
static bool is_as_wide(const ip_linear *form, const ip_expr *x)
{
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    const ip_expr *a = x->arg[0], *b = x->arg[1];
    if (x->dtype == form->wide) return true;
    if (!ip_dtype_is_integer(x->dtype) || facts->size_bytes == 8) return false;
    if (x->op == IP_X_ADD) return a->lo + b->lo >= facts->minimum && a->hi + b->hi <= facts->maximum;
    double least = fmin(fmin(a->lo * b->lo, a->lo * b->hi), fmin(a->hi * b->lo, a->hi * b->hi));
    double most = fmax(fmax(a->lo * b->lo, a->lo * b->hi), fmax(a->hi * b->lo, a->hi * b->hi));
    return least >= facts->minimum && most <= facts->maximum;
}

/* ---- the sum ------------------------------------------------------------------------------------- */

/* The factor of a product that is a weight; -1: neither is. */
static int weight_of(const ip_expr *product)
{
    for (int k = 0; k < 2; k++)
        if (ip_x_is_uniform(product->arg[k])) return k;
    for (int k = 0; k < 2; k++)
        if (ip_x_is_of_table(product->arg[k])) return k;
    return -1;
}

static void find_loads(const ip_linear *form, ip_linear_term *term)
{
    ip_expr *value = without_exact_casts(term->value);
    bool is_pair = value->op == IP_X_ADD && is_as_wide(form, value);
    for (int k = 0; k < 1 + is_pair; k++) {
        ip_expr *x = is_pair ? without_exact_casts(value->arg[k]) : value;
        if (x->op != IP_X_LOAD) {
            term->n_loads = 0;
            return;
        }
        term->load[term->n_loads++] = x;
    }
}

/* What is no sum; a window in place of what it is the sum of. */
static bool add_term(ip_linear *form, ip_expr *x, const ip_expr *window)
{
    if (form->n_terms == IP_LINEAR_TERMS) return false;
    ip_linear_term term = { .value = x, .window = window };
    int weight = x->op == IP_X_MUL && is_as_wide(form, x) ? weight_of(x) : -1;
    if (weight >= 0) {
        term.weight = x->arg[weight];
        term.value = x->arg[1 - weight];
    }
    find_loads(form, &term);
    form->terms[form->n_terms++] = term;
    return true;
}

static void add_start(ip_ir *ir, ip_linear *form, ip_expr *x)
{
    x = ip_x_cast(ir, form->wide, x);
    form->start = form->start ? ip_x_binary(ir, IP_X_ADD, form->start, x) : x;
}

/* Every sum that is taken apart has a part that is not uniform, so there are not many more of them than terms. */
static bool add_terms(ip_ir *ir, ip_linear *form, ip_expr *x)
{
    if (ip_x_is_uniform(x)) {
        add_start(ir, form, x);
        return true;
    }
    x = without_exact_casts(x);
    if (x->op == IP_X_ADD && is_as_wide(form, x))
        return add_terms(ir, form, x->arg[0]) && add_terms(ir, form, x->arg[1]);
    bool is_window = x->op == IP_X_WINDOW && x->fold == IP_FOLD_SUM && x->dtype == form->wide;
    return add_term(form, is_window ? x->arg[0] : x, is_window ? x : NULL);
}

/* ---- what is done with it -------------------------------------------------------------------------- */

/* Of a sum of x and something uniform: x, and that. x itself and NULL: it is none. */
static ip_expr *without_uniform(ip_expr *x, ip_expr **uniform)
{
    *uniform = NULL;
    for (int k = 0; k < 2 && x->op == IP_X_ADD; k++)
        if (ip_x_is_uniform(x->arg[k])) {
            *uniform = x->arg[k];
            return x->arg[1 - k];
        }
    return x;
}

/* Sets shift or divisor, and offset. The sum that is rounded; x itself: none is. */
static ip_expr *rounded(ip_linear *form, ip_expr *x)
{
    ip_expr *offset, *quotient = without_uniform(x, &offset);
    bool is_shifted = quotient->op == IP_X_SHR && ip_x_is_uniform(quotient->arg[1]);
    bool is_divided = quotient->op == IP_X_IDIV && quotient->arg[1]->op == IP_X_CONST && quotient->arg[1]->lo > 0;
    if (!is_shifted && !is_divided) return x;
    *(is_shifted ? &form->shift : &form->divisor) = quotient->arg[1];
    form->offset = offset;
    return quotient->arg[0];
}

bool ip_linear_of(ip_ir *ir, ip_expr *x, ip_linear *out)
{
    *out = (ip_linear){ .dtype = x->dtype, .saturates = x->op == IP_X_SATURATE };
    if (x->dtype == IMGPAR_BOOL || (x->op == IP_X_CAST && !is_exact(x))) return false;
    if (x->op == IP_X_SATURATE || x->op == IP_X_CAST) x = x->arg[0];
    out->wide = x->dtype;
    if (ip_dtype_is_integer(x->dtype)) x = rounded(out, x);
    return add_terms(ir, out, x);
}

bool ip_linear_is_sum(const ip_linear *form)
{
    bool is_rounded = form->shift || form->divisor || form->offset || form->saturates;
    bool is_sum = form->n_terms > 0 && !form->start && !is_rounded;
    for (int k = 0; k < form->n_terms && is_sum; k++)
        is_sum = !form->terms[k].weight && form->terms[k].n_loads == 1 && !form->terms[k].window;
    return is_sum;
}
