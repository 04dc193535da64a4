/* SPDX-License-Identifier: MIT */
/*
 * Stages of iterate() whose until is of each element: lang/iterate_elements.c, Note [Elements that stop by themselves].
 *
 * The step was applied once, to nodes "carried" that stand for the values before it. A node "settled" is one of the
 * values behind the loop. Its inputs are what all begin with, what the step made of each, the nodes that stood for
 * them, and until.
 */
#include "ops/parts.h"

#include "base/dtype.h"

/* The number of a loop's states until it has one of its own: by how many loops are around it. */
static int own_number(const imgpar_array *node) { return -1 - (int)ip_param_number(node, "level"); }

ip_stage *ip_stages_carried(ip_lower *l)
{
    const int k = (int)ip_param_number(l->node, "number");
    return ip_lower_map(l, ip_x_state(l->ir, own_number(l->node), k, l->node->type.dtype, l->dims[3] > 1));
}

/* Inputs `from` on in the dtypes of what is carried. */
static void take(ip_parts *p, int from, int n, ip_expr **values)
{
    const imgpar_array *node = p->l->node;
    for (int k = 0; k < n; k++)
        values[k] = ip_x_cast(p->l->ir, node->inputs[2 * n + k]->type.dtype, ip_parts_input(p, from + k));
}

ip_stage *ip_stages_settled(ip_lower *l)
{
    ip_parts parts;
    ip_expr *starts[IP_MOST_CARRIED], *next[IP_MOST_CARRIED];
    const int n = l->node->n_inputs / 3;
    for (int k = 0; k < l->node->n_inputs; k++)
        if (!l->in[k]) return NULL;
    if (!ip_parts_begin(&parts, l, "what it carries")) return NULL;
    take(&parts, 0, n, starts);
    take(&parts, n, n, next);
    ip_expr *until = ip_parts_input(&parts, 3 * n);
    until = ip_x_binary(l->ir, IP_X_NE, until, ip_x_number(l->ir, until->dtype, 0));
    const bool has_until = !ip_array_is_number(l->node->inputs[3 * n], NULL, NULL);
    if (!ip_parts_fit(&parts,
                      has_until ? "iterate: until is of each element, but a step"
                                : "iterate: in a function of scan or reduce a loop of so many steps is of numbers, "
                                  "but a step",
                      has_until ? "; write until=all(...)" : ""))
        return NULL;
    ip_expr *loop =
        ip_x_loop(l->ir, own_number(l->node), n, starts, next, until, (int64_t)ip_param_number(l->node, "count"));
    return ip_lower_map(l, ip_x_result(l->ir, loop, (int)ip_param_number(l->node, "number")));
}
