/* SPDX-License-Identifier: MIT */
/*
 * Loops of an element (ir/expr.h, Note [Loops of an element]): one by one where elements are computed one by one, as
 * work-items do; else for a block of a row, whose elements take steps together until the last of them has ended. Those
 * that have ended keep what they carry.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/emit_block.h"

/* A loop's parts, and what it is called: what value k is called is prefix_k. */
typedef struct parts {
    ip_expr *loop, *starts[IP_MOST_CARRIED], *next[IP_MOST_CARRIED + 1];
    int n;
    const char *prefix, *at; /* "[t]" in a block */
} parts;

/* next[n] is until. */
static parts parts_of(ip_emit *e, ip_expr *loop, const char *at)
{
    parts p = { .loop = loop, .at = at, .prefix = ip_text(e->ir, "q%d", e->n_values++) };
    p.n = ip_x_list(loop->arg[0], p.starts, IP_MOST_CARRIED);
    ip_x_list(loop->arg[1], p.next, IP_MOST_CARRIED);
    p.next[p.n] = loop->arg[2];
    return p;
}

static const char *carried(ip_emit *e, const parts *p, int k) { return ip_text(e->ir, "%s_%d%s", p->prefix, k, p->at); }

static const char *is_going(ip_emit *e, const parts *p) { return ip_text(e->ir, "%s_goes%s", p->prefix, p->at); }

/* Enters the loop over steps, which ends where `goes` (text) does not hold. */
static ip_mark enter_steps(ip_emit *e, const parts *p, const char *goes)
{
    const char *step = ip_text(e->ir, "%s_step", p->prefix), *count = ip_emit_value(e, p->loop->arg[3]);
    ip_stmt *steps = ip_emit_for(e, step, "0", ip_text(e->ir, "(%s ? %s : 0)", goes, count));
    steps->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, steps);
    for (int k = 0; k < p->n; k++)
        for (int uses_c = 0; uses_c < 2; uses_c++) {
            ip_expr *state = ip_x_state(e->ir, p->loop->window, k, p->starts[k]->dtype, uses_c);
            ip_emit_name(e, state, carried(e, p, k));
        }
    return mark;
}

/* What a step makes: values of their own, since they are all made of those before it. */
static void declare_next(ip_emit *e, const parts *p, const char **made)
{
    for (int k = 0; k <= p->n; k++) {
        const char *type = k < p->n ? ip_cl_type(p->starts[k]->dtype) : "int", *value = ip_emit_value(e, p->next[k]);
        made[k] = ip_text(e->ir, "v%d", e->n_values++);
        ip_emit_let(e, type, made[k], value);
    }
}

static void name_results(ip_emit *e, const parts *p)
{
    for (int k = 0; k < p->n; k++)
        ip_emit_name(e, ip_x_result(e->ir, p->loop, k), carried(e, p, k));
}

const char *ip_emit_result(ip_emit *e, ip_expr *result)
{
    const char *made[IP_MOST_CARRIED + 1];
    parts p = parts_of(e, result->arg[0], "");
    for (int k = 0; k < p.n; k++) {
        const char *start = ip_emit_value(e, p.starts[k]);
        ip_emit_var(e, ip_cl_type(p.starts[k]->dtype), carried(e, &p, k), start);
    }
    ip_emit_var(e, "int", is_going(e, &p), "1");
    ip_mark mark = enter_steps(e, &p, is_going(e, &p));
    declare_next(e, &p, made);
    for (int k = 0; k < p.n; k++)
        ip_emit_set(e, carried(e, &p, k), made[k]);
    ip_emit_set(e, is_going(e, &p), ip_text(e->ir, "!%s", made[p.n]));
    ip_emit_leave(e, mark);
    name_results(e, &p);
    return ip_emit_name_of(e, result);
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

static int width_of(ip_emit *e, const parts *p, ip_expr *const *values, int n)
{
    const ip_site site = ip_emit_site(e);
    int width = ip_width_of(&site, p->next[p->n], p->starts[0]->dtype);
    for (int k = 0; k < n; k++)
        width = ip_min_int(width, ip_width_of(&site, values[k], p->starts[k]->dtype));
    return width;
}

static void declare_block(ip_blockwise *b, const parts *p)
{
    ip_emit *e = b->e;
    const int size = b->size + b->more;
    for (int k = 0; k < p->n; k++)
        ip_emit_var(e, ip_cl_type(p->starts[k]->dtype), ip_text(e->ir, "%s_%d[%d]", p->prefix, k, size), NULL);
    ip_emit_var(e, "int", ip_text(e->ir, "%s_goes[%d]", p->prefix, size), NULL);
}

static void start_block(ip_blockwise *b, parts *p)
{
    ip_emit *e = b->e;
    ip_emit_block_windows(b, p->starts, p->n);
    ip_mark in_lanes = ip_emit_enter_lanes(b, width_of(e, p, p->starts, p->n));
    ip_emit_count_uses(e, p->starts, p->n);
    for (int k = 0; k < p->n; k++)
        ip_emit_set(e, carried(e, p, k), ip_emit_value(e, p->starts[k]));
    ip_emit_set(e, is_going(e, p), "1");
    ip_emit_leave_lanes(b, in_lanes);
}

/* A step of the elements that have not ended. */
static void step_block(ip_blockwise *b, parts *p)
{
    ip_emit *e = b->e;
    const char *made[IP_MOST_CARRIED + 1], *goes = is_going(e, p);
    for (int k = 0; k <= p->n; k++)
        ip_emit_row_pointers(e, p->next[k]);
    ip_emit_block_windows(b, p->next, p->n + 1);
    ip_mark in_lanes = ip_emit_enter_lanes(b, width_of(e, p, p->next, p->n));
    ip_emit_count_uses(e, p->next, p->n + 1);
    declare_next(e, p, made);
    for (int k = 0; k < p->n; k++) {
        const char *to = carried(e, p, k);
        ip_emit_set(e, to, ip_text(e->ir, "%s ? %s : %s", goes, made[k], to));
    }
    ip_emit_set(e, goes, ip_text(e->ir, "%s & !%s", goes, made[p->n]));
    ip_emit_leave_lanes(b, in_lanes);
}

/* Whether any of the block has not ended. */
static void look_for_going(ip_blockwise *b, const parts *p, const char *any)
{
    ip_emit *e = b->e;
    const char *n = b->more ? ip_text(e->ir, "%s + %d", b->n, b->more) : b->n;
    ip_emit_set(e, any, "0");
    ip_stmt *lanes = ip_emit_for(e, "t", "0", n);
    ip_s_add(e->ir, lanes, IP_S_STORE, any, ip_text(e->ir, "%s | %s", any, is_going(e, p)), NULL);
}

void ip_emit_block_loop(ip_blockwise *b, ip_expr *loop)
{
    ip_emit *e = b->e;
    parts p = parts_of(e, loop, "[t]");
    const char *any = ip_text(e->ir, "%s_any", p.prefix);
    declare_block(b, &p);
    start_block(b, &p);
    ip_emit_var(e, "int", any, "1");
    ip_mark mark = enter_steps(e, &p, any);
    step_block(b, &p);
    look_for_going(b, &p, any);
    ip_emit_leave(e, mark);
    ip_emit_name(e, loop, p.prefix);
    name_results(e, &p);
}
