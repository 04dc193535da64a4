/* SPDX-License-Identifier: MIT */
/* Loops of an element: expr.h, Note [Loops of an element]. */
#include "ir/internal.h"
#include "ir/stage.h"

#include <string.h>

/* The loops of an IR by what they do: the values of one array of the graph and of another are found to be those of one
 * loop. `does` is the list of starts, steps and until, over states of the loop's own number. */
typedef struct ip_loops {
    const ip_expr *does;
    ip_expr *loop;
    struct ip_loops *next;
} ip_loops;

static ip_expr *pair(ip_ir *ir, ip_expr *first, ip_expr *rest)
{
    ip_expr x = {
        .op = IP_X_LIST, .dtype = first->dtype, .n_args = rest ? 2 : 1, .arg = { first, rest }, .border = IP_BORDER_NONE
    };
    return ip_x_make(ir, &x);
}

static ip_expr *list_of(ip_ir *ir, int n, ip_expr *const *values, ip_expr *rest)
{
    for (int k = n - 1; k >= 0; k--)
        rest = pair(ir, values[k], rest);
    return rest;
}

ip_expr *ip_x_pair(ip_ir *ir, ip_expr *a, ip_expr *b) { return pair(ir, a, pair(ir, b, NULL)); }

int ip_x_list(ip_expr *list, ip_expr **out, int most)
{
    int n = 0;
    for (; list && list->op == IP_X_LIST && n<most; list = list->n_args> 1 ? list->arg[1] : NULL)
        out[n++] = list->arg[0];
    return n;
}

ip_expr *ip_x_state(ip_ir *ir, int loop, int k, imgpar_dtype dtype, bool uses_c)
{
    ip_expr x = { .op = IP_X_STATE, .dtype = dtype, .axis = k, .window = loop, .i = uses_c, .border = IP_BORDER_NONE };
    return ip_x_make(ir, &x);
}

/* Another number for a loop's states. */
typedef struct renumbering {
    int from, to;
} renumbering;

static ip_expr *renumber(ip_ir *ir, ip_expr *x, void *user)
{
    const renumbering *r = user;
    const bool is_own = x->op == IP_X_STATE && x->window == r->from;
    return is_own ? ip_x_state(ir, r->to, x->axis, x->dtype, x->i) : x;
}

static ip_expr *new_loop(ip_ir *ir, int own, int n, ip_expr *const *starts, ip_expr *steps, int64_t count)
{
    renumbering r = { own, ip_x_new_window(ir) };
    ip_expr *parts[IP_MOST_CARRIED + 1];
    if (ip_x_list(ip_x_map(ir, steps, renumber, &r), parts, n + 1) <= n) return steps; /* memory ran out */
    ip_expr x = { .op = IP_X_LOOP,
                  .dtype = IMGPAR_BOOL,
                  .n_args = 4,
                  .arg = { list_of(ir, n, starts, NULL), list_of(ir, n, parts, NULL), parts[n],
                           ip_x_param(ir, IMGPAR_I32, (double)count, 0, INT32_MAX) },
                  .window = r.to,
                  .border = IP_BORDER_NONE };
    return ip_x_make(ir, &x);
}

ip_expr *ip_x_loop(ip_ir *ir, int own, int n, ip_expr *const *starts, ip_expr *const *next, ip_expr *until,
                   int64_t count)
{
    ip_expr *steps = list_of(ir, n, next, pair(ir, until, NULL));
    const ip_expr *does = list_of(ir, n, starts, steps);
    for (const ip_loops *known = ir->loops; known; known = known->next)
        if (known->does == does && known->loop->arg[3]->i == count) return known->loop;
    ip_loops *made = ip_ir_alloc(ir, 1, sizeof *made);
    ip_expr *loop = new_loop(ir, own, n, starts, steps, count);
    if (!made || loop->op != IP_X_LOOP) return loop;
    *made = (ip_loops){ .does = does, .loop = loop, .next = ir->loops };
    ir->loops = made;
    return loop;
}

ip_expr *ip_x_result(ip_ir *ir, ip_expr *loop, int k)
{
    ip_expr *starts[IP_MOST_CARRIED];
    const int n = loop->op == IP_X_LOOP ? ip_x_list(loop->arg[0], starts, IP_MOST_CARRIED) : 0;
    if (n <= k) return loop; /* memory ran out */
    ip_expr x = {
        .op = IP_X_RESULT, .dtype = starts[k]->dtype, .n_args = 1, .arg = { loop }, .axis = k, .border = IP_BORDER_NONE
    };
    return ip_x_make(ir, &x);
}
