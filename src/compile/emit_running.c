/* SPDX-License-Identifier: MIT */
/* Rows whose windows are sums that are carried along: place_running.c, Note [Running sums]. */
#include "base/dtype.h"
#include "compile/emit.h"

const char *ip_emit_sums(ip_emit *e, const ip_placed *p, int k)
{
    const char *storage = ip_emit_storage(e, p->stage);
    return ip_placed_is_sums(p) ? storage : ip_text(e->ir, "s%d_%s", k, storage);
}

static ip_expr *put_tap(ip_ir *ir, ip_expr *x, void *user)
{
    return x->op == IP_X_TAP ? ip_x_int(ir, IMGPAR_I32, *(int *)user) : x;
}

/* The element under tap number t of window w, which may be -1: the one that leaves. */
static ip_expr *at_tap(ip_emit *e, const ip_expr *w, int t) { return ip_x_map(e->ir, w->arg[0], put_tap, &t); }

static int taps(const ip_expr *w) { return w->taps_y * w->taps_x; }

/* sum + enters - leaves: wraps in between, so without signs. */
static const char *moved_on(ip_emit *e, const ip_expr *w, const char *sum, const char *enters, const char *leaves)
{
    const char *type = ip_cl_type(w->dtype), *wide = ip_dtype(w->dtype)->size_bytes == 8 ? "ulong" : "uint";
    return ip_text(e->ir, "(%s)((%s)%s + (%s)%s - (%s)%s)", type, wide, sum, wide, enters, wide, leaves);
}

/* What the loop over the elements of a row runs over. */
typedef struct line {
    const char *var, *from, *to;
    bool flat;
} line;

static line line_of(ip_emit *e, const char *xa, const char *xb, bool flat)
{
    if (!flat) return (line){ "x", xa, xb, false };
    return (line){ "i", ip_text(e->ir, "%s * %d", xa, e->channels), ip_text(e->ir, "%s * %d", xb, e->channels), true };
}

static ip_mark enter_line(ip_emit *e, const line *l, int width)
{
    ip_stmt *loop = ip_emit_for(e, l->var, l->from, l->to);
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = width;
    e->flat = l->flat ? l->var : NULL;
    e->coord[2] = l->flat ? NULL : l->var;
    e->coord[3] = l->flat ? NULL : "0";
    return ip_emit_enter(e, loop);
}

static void leave_line(ip_emit *e, ip_mark mark)
{
    e->flat = NULL;
    e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

/* In a strip's first row: what the sums would be in the row above it. */
static void start_columns(ip_emit *e, const ip_columns *c, int k, const line *l)
{
    const ip_expr *w = c->placed->running[k];
    const int width = c->segment->sums_width[k];
    const char *at = ip_text(e->ir, "%s[%s]", ip_emit_sums(e, c->placed, k), l->var), *type = ip_cl_type(w->dtype);
    ip_mark in_first = ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "%s == %s", c->row, c->first_row)));
    ip_mark zeroing = enter_line(e, l, width);
    ip_emit_set(e, at, "0");
    leave_line(e, zeroing);
    ip_mark in_taps = ip_emit_enter(e, ip_emit_for(e, "j", "-1", ip_text(e->ir, "%d", taps(w) - 1)));
    ip_emit_name_tap(e, w, 0, "j");
    ip_emit_row_pointers(e, w->arg[0]);
    ip_mark adding = enter_line(e, l, width);
    ip_emit_count_uses(e, (ip_expr *const[]){ w->arg[0] }, 1);
    ip_emit_set(e, at, ip_text(e->ir, "(%s)(%s + %s)", type, at, ip_emit_value(e, w->arg[0])));
    leave_line(e, adding);
    ip_emit_leave(e, in_taps);
    ip_emit_leave(e, in_first);
}

/* The sums of a whole row, each channel's carried from pixel to pixel. */
static void run_along(ip_emit *e, const ip_expr *w, const char *sums, const char *xa, const char *xb, bool flat)
{
    const char *type = ip_cl_type(w->dtype), *index = flat ? "i" : "x";
    ip_expr *enters = at_tap(e, w, taps(w) - 1), *leaves = at_tap(e, w, -1);
    int n = flat ? e->channels : 1;
    ip_emit_row_pointers(e, enters);
    ip_emit_row_pointers(e, leaves);
    for (int c = 0; c < n; c++)
        ip_emit_var(e, type, ip_text(e->ir, "carried%d", c), "0");
    for (int part = 0; part < 2; part++) { /* the window before the row's first, then the row */
        const char *var = part == 0 ? "k" : flat ? "p" : "x";
        ip_stmt *loop = ip_emit_for(e, var, part == 0 ? "-1" : xa, part == 0 ? ip_text(e->ir, "%d", taps(w) - 1) : xb);
        ip_mark in_loop = ip_emit_enter(e, loop);
        for (int c = 0; c < n; c++) {
            const char *carried = ip_text(e->ir, "carried%d", c);
            ip_mark channel = ip_emit_enter(e, e->block);
            const char *own = flat ? ip_text(e->ir, "i%d", c) : "x";
            if (flat) ip_emit_let_int(e, own, ip_text(e->ir, "%s * %d + %d", part == 0 ? xa : "p", e->channels, c));
            e->flat = flat ? own : NULL;
            e->coord[2] = flat ? NULL : part == 0 ? xa : index;
            e->coord[3] = flat ? NULL : "0";
            if (part == 0) {
                ip_emit_name_tap(e, w, 1, "k");
                ip_emit_count_uses(e, (ip_expr *const[]){ w->arg[0] }, 1);
                ip_emit_set(e, carried, ip_text(e->ir, "(%s)(%s + %s)", type, carried, ip_emit_value(e, w->arg[0])));
            } else {
                ip_emit_count_uses(e, (ip_expr *const[]){ enters, leaves }, 2);
                const char *in = ip_emit_value(e, enters), *out = ip_emit_value(e, leaves);
                ip_emit_set(e, carried, moved_on(e, w, carried, in, out));
                ip_emit_set(e, ip_text(e->ir, "%s[%s]", sums, own), carried);
            }
            ip_emit_leave(e, channel);
        }
        e->flat = NULL;
        e->coord[2] = e->coord[3] = NULL;
        ip_emit_leave(e, in_loop);
    }
}

void ip_emit_running_row(ip_emit *e, const ip_columns *c)
{
    const ip_site site = ip_emit_site(e);
    const ip_placed *p = c->placed;
    const char *xa = c->from, *xb = c->to;
    bool flat = ip_is_flat(&site, c->body);
    line l = line_of(e, xa, xb, flat);
    ip_expr *enters[IP_MAX_RUNNING], *leaves[IP_MAX_RUNNING];
    for (int k = 0; k < p->n_running; k++) {
        const ip_expr *w = p->running[k];
        const char *sums = ip_emit_sums(e, p, k);
        if (w->taps_y == 1) {
            ip_mark block = ip_emit_enter(e, ip_emit_if(e, "true")); /* a scope */
            run_along(e, w, sums, xa, xb, flat);
            ip_emit_leave(e, block);
            continue;
        }
        start_columns(e, c, k, &l);
        enters[k] = at_tap(e, w, taps(w) - 1);
        leaves[k] = at_tap(e, w, -1);
        ip_emit_row_pointers(e, enters[k]);
        ip_emit_row_pointers(e, leaves[k]);
    }
    ip_mark in_row = { e->block, e->n_trail, e->n_rows };
    for (int k = 0; k < p->n_running; k++)
        if (p->running[k]->taps_x == 1 && ip_emit_enter_prefetched(e, enters[k], &xa, &xb)) {
            l = line_of(e, xa, xb, flat);
            break;
        }
    ip_mark mark = enter_line(e, &l, c->segment->width);
    ip_emit_count_uses(e, (ip_expr *const[]){ c->body }, 1);
    for (int k = 0; k < p->n_running; k++) {
        const ip_expr *w = p->running[k];
        const char *at = ip_text(e->ir, "%s[%s]", ip_emit_sums(e, p, k), l.var), *sum = at;
        if (w->taps_x == 1) {
            sum = ip_text(e->ir, "sum%d", k);
            const char *in = ip_emit_value(e, enters[k]), *out = ip_emit_value(e, leaves[k]);
            ip_emit_let(e, ip_cl_type(w->dtype), sum, moved_on(e, w, at, in, out));
            if (!ip_placed_is_sums(p)) ip_emit_set(e, at, sum);
        }
        ip_emit_name(e, w, sum);
    }
    ip_emit_store(e, c->stage, c->target, l.var, ip_emit_value(e, c->body));
    leave_line(e, mark);
    ip_emit_leave(e, in_row);
}
