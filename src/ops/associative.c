/* SPDX-License-Identifier: MIT */
#include "ops/associative.h"

#include <math.h>
#include <string.h>

/* Associative operators with what leaves the other operand as it is; NAN: any number does once it was folded in. */
static const struct {
    const char *row;
    double identity;
} operators[] = {
    { "plus", 0 },      { "times", 1 }, { "xor", 0 },  { "min", NAN },  { "max", NAN },    { "minimum", NAN },
    { "maximum", NAN }, { "and", NAN }, { "or", NAN }, { "both", NAN }, { "either", NAN },
};

static bool is_row(const imgpar_array *a, const char *name) { return a->op && strcmp(a->op->info.name, name) == 0; }

/* p, q or q, p. */
static bool are_both(imgpar_array *const *inputs, const imgpar_array *p, const imgpar_array *q)
{
    return (inputs[0] == p && inputs[1] == q) || (inputs[0] == q && inputs[1] == p);
}

/* select(p < q, p, q) and its like: the one that an order prefers. */
static bool chooses_by_order(const imgpar_array *p, const imgpar_array *q, const imgpar_array *body)
{
    if (!is_row(body, "select")) return false;
    const imgpar_array *by = body->inputs[0];
    bool compares = is_row(by, "lt") || is_row(by, "le") || is_row(by, "gt") || is_row(by, "ge");
    return compares && are_both(by->inputs, p, q) && are_both(body->inputs + 1, p, q);
}

bool ip_folds_in_any_order(const imgpar_array *p, const imgpar_array *q, const imgpar_array *body, double init)
{
    if (chooses_by_order(p, q, body)) return true;
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++)
        if (is_row(body, operators[k].row) && are_both(body->inputs, p, q))
            return isnan(operators[k].identity) || init == operators[k].identity;
    return false;
}
