/* SPDX-License-Identifier: MIT */
/*
 * Recurrences (Note [Recurrences] in ir/stage.h): lines along z or y. A work-item owns columns (and along z rows) and
 * walks their rows or planes; the states of a row of lines are a row in scratch memory, so the inner loop is over
 * neighbours and vectorises like that of a map. Lines along x and c are in emit_scan_x.c and emit_scan_c.c.
 *
 * Lines walked in blocks take three kernels: NAME_totals walks each block from init and leaves its state in scratch
 * memory, NAME_carry turns these totals into carries, and NAME walks each block from its carry.
 *
 * A launch may cover some blocks of each line only (run/launch_scan.c); what stands behind the last of them is kept for
 * the next one.
 *
 * Scratch holds states: [group][block][unit], where a unit is what is walked side by side: a row's elements, a plane's,
 * or for lines along x the channels of a pixel; a group is what else tells lines apart. Where there are blocks, each
 * group has one more state, its carry into the next blocks. Of several states each has its own such cells, the largest
 * first.
 */
#include "compile/emit_scan.h"

/* x with its channel put in; c -1: x itself. */
static ip_expr *in_channel(ip_scan *w, ip_expr *x, int c)
{
    if (c < 0) return x;
    return ip_x_put_coords(w->e->ir, x, (ip_expr *const[4]){ [3] = ip_x_int(w->e->ir, IMGPAR_I32, c) });
}

/* ---- one element ---------------------------------------------------------------------------- */

static const char *numbered(ip_scan *w, const char *name, int k)
{
    return k > 0 ? ip_text(w->e->ir, "%s_%d", name, k) : name;
}

ip_names ip_scan_named(ip_scan *w, const char *name)
{
    ip_names names;
    for (int k = 0; k < w->n; k++)
        names.of[k] = numbered(w, name, k);
    return names;
}

ip_names ip_scan_elements(ip_scan *w, const char *name, const char *index)
{
    ip_names names;
    for (int k = 0; k < w->n; k++)
        names.of[k] = ip_text(w->e->ir, "%s[%s]", numbered(w, name, k), index);
    return names;
}

/* The values of n expressions over the states, as variables: states change, so nothing computed from them keeps its
 * name. */
static ip_names valued(ip_scan *w, ip_expr *const *x, int n, const ip_names *acc, const ip_names *other)
{
    ip_emit *e = w->e;
    ip_names names;
    ip_mark mark = ip_emit_enter(e, e->block);
    for (int k = 0; k < w->n; k++) {
        e->acc[k] = acc ? acc->of[k] : NULL;
        e->acc[w->n + k] = other ? other->of[k] : NULL;
    }
    ip_emit_count_uses(e, x, n);
    for (int k = 0; k < n; k++) {
        const char *text = ip_emit_value(e, x[k]);
        names.of[k] = ip_text(e->ir, "n%d", e->n_values++);
        ip_emit_let(e, ip_cl_type(x[k]->dtype), names.of[k], text);
    }
    for (int k = 0; k < 2 * w->n; k++)
        e->acc[k] = NULL;
    ip_emit_leave(e, mark);
    return names;
}

ip_names ip_scan_init(ip_scan *w, int c)
{
    ip_expr *x[IP_SCAN_STATES];
    for (int k = 0; k < w->n; k++)
        x[k] = in_channel(w, ip_stage_state(w->s, k).init, c);
    return valued(w, x, w->n, NULL, NULL);
}

ip_names ip_scan_combine(ip_scan *w, const ip_names *a, const ip_names *b)
{
    ip_expr *x[IP_SCAN_STATES];
    for (int k = 0; k < w->n; k++)
        x[k] = ip_stage_state(w->s, k).combine;
    return valued(w, x, w->n, a, b);
}

ip_names ip_scan_body(ip_scan *w, int c, const ip_names *before)
{
    ip_expr *x[IP_SCAN_STATES];
    for (int k = 0; k < w->n; k++)
        x[k] = in_channel(w, ip_stage_state(w->s, k).body, c);
    return valued(w, x, w->n, before, NULL);
}

void ip_scan_store(ip_scan *w, int c, const ip_names *state, const ip_names *before, const char *out, const char *index)
{
    ip_expr *x = in_channel(w, w->s->finish, c);
    ip_emit_store(w->e, w->s, out, index, valued(w, &x, 1, state, before).of[0]);
}

void ip_scan_set(ip_scan *w, const ip_names *variables, const ip_names *values)
{
    for (int k = 0; k < w->n; k++)
        ip_emit_set(w->e, variables->of[k], values->of[k]);
}

void ip_scan_declare(ip_scan *w, ip_stmt_kind kind, const ip_names *names, const ip_names *values)
{
    for (int k = 0; k < w->n; k++)
        ip_s_add(w->e->ir, w->e->block, kind, w->type[k], names->of[k], values ? values->of[k] : NULL);
}

/* ---- shared pieces ----------------------------------------------------------------------------- */

const char *ip_scan_slot_name(ip_scan *w, ip_scan_slot slot)
{
    return ip_emit_slot_at(w->e, IP_SLOT_SCAN, (int)slot, NULL, NULL);
}

const char *ip_scan_bound(ip_scan *w, ip_bound bound) { return ip_emit_bound(w->e, bound); }

void ip_scan_item(ip_scan *w, int dim, const char *name)
{
    ip_emit_let_at_top(w->e, "int", name,
                       ip_text(w->e->ir, "%s + %s", ip_emit_global_id(w->e, dim),
                               ip_scan_slot_name(w, (ip_scan_slot)(IP_SCAN_FIRST_X + dim))));
}

void ip_scan_span(ip_scan *w, const char *from, const char *to, const char *item, ip_bound first)
{
    ip_emit *e = w->e;
    const char *chunk = ip_scan_slot_name(w, IP_SCAN_CHUNK);
    ip_emit_let_at_top(e, "int", from, ip_text(e->ir, "%s + %s * %s", ip_scan_bound(w, first), item, chunk));
    ip_emit_let_at_top(e, "int", to,
                       ip_text(e->ir, "min(%s + %s, %s)", from, chunk, ip_scan_bound(w, (ip_bound)(first + 1))));
}

static int state_size(const ip_scan *w, int k)
{
    return (int)ip_dtype(ip_stage_state(w->s, k).body->dtype)->size_bytes;
}

/* Bytes of the states whose cells are before those of state k: the largest first, so that all are aligned. */
static int bytes_before(const ip_scan *w, int k)
{
    int bytes = 0;
    for (int i = 0; i < w->n; i++)
        if (state_size(w, i) > state_size(w, k) || (state_size(w, i) == state_size(w, k) && i < k))
            bytes += state_size(w, i);
    return bytes;
}

void ip_scan_states(ip_scan *w, const char *name, const ip_scan_cells *cells)
{
    ip_emit *e = w->e;
    e->args.has_scratch = true;
    const char *blocks = w->in_blocks ? ip_text(e->ir, " * (%s + 1)", ip_scan_slot_name(w, IP_SCAN_BLOCKS)) : "",
               *cell = w->in_blocks ? ip_text(e->ir, "((long)%s%s + %s)", cells->group, blocks, cells->block)
                                    : ip_text(e->ir, "(long)%s", cells->group);
    for (int k = 0; k < w->n; k++) {
        const char *type = ip_text(e->ir, "__global %s *", w->type[k]), *base = "scratch";
        const int before = bytes_before(w, k);
        if (before)
            base = ip_text(e->ir, "(scratch + (long)%s%s * %s * %d)", cells->groups, blocks, cells->unit, before);
        ip_emit_let(e, type, numbered(w, name, k), ip_text(e->ir, "(%s)%s + %s * %s", type, base, cell, cells->unit));
    }
}

const char *ip_scan_coordinate(ip_scan *w, const char *position)
{
    const ip_stage *s = w->s;
    if (!s->backward) return position;
    const char *extent = s->axis == 3 ? ip_text(w->e->ir, "%d", (int)s->dims[3]) : ip_emit_dim(w->e, s, s->axis);
    return ip_text(w->e->ir, "(%s - 1 - (%s))", extent, position);
}

void ip_scan_row_pointers(ip_scan *w, bool is_init)
{
    for (int k = 0; k < w->n; k++) {
        const ip_state state = ip_stage_state(w->s, k);
        ip_emit_row_pointers(w->e, is_init ? state.init : state.body);
    }
    if (is_init) return;
    if (w->phase == IP_SCAN_RESULT) ip_emit_row_pointers(w->e, w->s->finish);
}

const char *ip_scan_out(ip_scan *w, const char *name, const char *z, const char *y)
{
    ip_emit *e = w->e;
    if (w->phase == IP_SCAN_RESULT)
        ip_emit_let(e, ip_text(e->ir, "__global %s *", ip_dtype(w->s->dtype)->cl), name,
                    ip_emit_buffer_row(e, w->s, z, y));
    return name;
}

bool ip_scan_streams(const ip_scan *w)
{
    return w->phase == IP_SCAN_RESULT && w->e->options->device.has_clang_builtins;
}

void ip_scan_declare_line(ip_scan *w)
{
    ip_emit *e = w->e;
    if (!ip_scan_streams(w)) return;
    e->args.has_scratch = e->args.has_line = true;
    const char *first[3], *item[3];
    for (int k = 0; k < 3; k++) {
        first[k] = ip_scan_slot_name(w, (ip_scan_slot)(IP_SCAN_FIRST_X + k));
        item[k] = ip_text(e->ir, "(%s + %s)", ip_emit_global_id(e, k), first[k]);
    }
    ip_emit_let_at_top(e, "__global uchar *", "line",
                       ip_text(e->ir, "scratch + ((long)%s + ((%s * %s + %s) * %s + %s) * %s) * 64",
                               ip_scan_slot_name(w, IP_SCAN_LINES), item[2], ip_scan_slot_name(w, IP_SCAN_ITEMS_Y),
                               item[1], ip_scan_slot_name(w, IP_SCAN_ITEMS_X), item[0],
                               ip_scan_slot_name(w, IP_SCAN_LINE)));
}

void ip_scan_carry(ip_scan *w, const char *first, const char *index, const char *unit)
{
    ip_emit *e = w->e;
    const char *from = ip_scan_slot_name(w, IP_SCAN_FROM_BLOCK), *to = ip_scan_slot_name(w, IP_SCAN_TO_BLOCK);
    const ip_names carry = ip_scan_named(w, "carry"), total = ip_scan_named(w, "total"), init = ip_scan_init(w, -1),
                   kept = ip_scan_elements(
                       w, first,
                       ip_text(e->ir, "(long)%s * %s + %s", ip_scan_slot_name(w, IP_SCAN_BLOCKS), unit, index)),
                   cell = ip_scan_elements(w, first, ip_text(e->ir, "(long)b * %s + %s", unit, index));
    ip_names start;
    for (int k = 0; k < w->n; k++)
        start.of[k] = ip_text(e->ir, "%s > 0 ? %s : %s", from, kept.of[k], init.of[k]);
    ip_scan_declare(w, IP_S_VAR, &carry, &start);
    ip_stmt *loop = ip_emit_for(e, "b", from, to);
    ip_mark mark = ip_emit_enter(e, loop);
    ip_scan_declare(w, IP_S_LET, &total, &cell);
    ip_scan_set(w, &cell, &carry);
    const ip_names next = ip_scan_combine(w, &carry, &total);
    ip_scan_set(w, &carry, &next);
    ip_emit_leave(e, mark);
    ip_scan_set(w, &kept, &carry);
}

/* ---- lines along z and y -------------------------------------------------------------------------- */

static void row_element(ip_scan *w, int c, const char *index, bool is_init)
{
    ip_emit *e = w->e;
    const ip_names state = ip_scan_elements(w, "state", index);
    if (is_init) {
        const ip_names init = ip_scan_init(w, c);
        ip_scan_set(w, &state, &init);
        return;
    }
    ip_names before;
    for (int k = 0; k < w->n; k++)
        before.of[k] = ip_text(e->ir, "s%d", e->n_values++);
    ip_scan_declare(w, IP_S_LET, &before, &state);
    const ip_names next = ip_scan_body(w, c, &before);
    ip_scan_set(w, &state, &next);
    if (w->phase == IP_SCAN_RESULT) ip_scan_store(w, c, &next, &before, "out", index);
}

/* init, or a step, for the elements xa..xb of the row at hand. */
static void row_elements(ip_scan *w, bool is_init)
{
    ip_emit *e = w->e;
    bool flat = e->kernel->walk.is_flat;
    ip_stmt *loop =
        flat ? ip_emit_for(e, "i", ip_text(e->ir, "xa * %d", e->channels), ip_text(e->ir, "xb * %d", e->channels))
             : ip_emit_for(e, "x", "xa", "xb");
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = e->kernel->walk.width;
    ip_mark mark = ip_emit_enter(e, loop);
    e->flat = flat ? "i" : NULL;
    e->coord[2] = flat ? NULL : "x";
    if (flat) {
        row_element(w, -1, "i", is_init);
    } else if (e->channels <= IP_WRITTEN_CHANNELS) {
        for (int c = 0; c < e->channels; c++)
            row_element(w, c, ip_emit_pixel_index(e, "x", c), is_init);
    } else {
        ip_mark in_channels = ip_emit_enter(e, ip_emit_for(e, "c", "0", ip_text(e->ir, "%d", e->channels)));
        e->coord[3] = "c";
        row_element(w, -1, ip_emit_pixel_index(e, "x", 0), is_init);
        e->coord[3] = NULL;
        ip_emit_leave(e, in_channels);
    }
    e->flat = e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}

/* Opens what a row is worked on in, with the pointers to its states: along z a loop over the rows. */
static ip_mark enter_row(ip_scan *w)
{
    ip_emit *e = w->e;
    const char *row = "";
    ip_mark mark = ip_emit_enter(e, e->block);
    if (w->s->axis == 0) {
        ip_emit_enter(e, ip_emit_for(e, "y", "ya", "yb"));
        row = ip_text(e->ir, " + (long)(y - %s) * row_elements", ip_scan_bound(w, IP_Y0));
    }
    const ip_names state = ip_scan_named(w, "state"), states = ip_scan_named(w, "states");
    for (int k = 0; k < w->n; k++)
        ip_emit_let(e, ip_text(e->ir, "__global %s *", w->type[k]), state.of[k],
                    ip_text(e->ir, "%s%s - (long)%s * %d", states.of[k], row, ip_scan_bound(w, IP_X0), e->channels));
    return mark;
}

/* What a work-item owns, and where its states are. */
static void declare_rows(ip_scan *w)
{
    ip_emit *e = w->e;
    const char *z0 = ip_scan_bound(w, IP_Z0), *y0 = ip_scan_bound(w, IP_Y0), *y1 = ip_scan_bound(w, IP_Y1);
    ip_scan_item(w, 0, "item_x");
    ip_scan_span(w, "xa", "xb", "item_x", IP_X0);
    ip_emit_let_at_top(
        e, "long", "row_elements",
        ip_text(e->ir, "(long)(%s - %s) * %d", ip_scan_bound(w, IP_X1), ip_scan_bound(w, IP_X0), e->channels));
    if (w->s->axis == 0) {
        const char *rows = ip_scan_slot_name(w, IP_SCAN_ROWS);
        ip_scan_item(w, 1, "item_y");
        ip_emit_let_at_top(e, "int", "ya", ip_text(e->ir, "%s + item_y * %s", y0, rows));
        ip_emit_let_at_top(e, "int", "yb", ip_text(e->ir, "min(ya + %s, %s)", rows, y1));
        ip_emit_let_at_top(e, "long", "unit", ip_text(e->ir, "row_elements * (%s - %s)", y1, y0));
    } else {
        ip_scan_item(w, 2, "group");
        ip_emit_let_at_top(e, "int", "z", ip_text(e->ir, "group + %s", z0));
        ip_emit_let_at_top(e, "long", "unit", "row_elements");
    }
    ip_scan_item(w, w->s->axis == 0 ? 2 : 1, "block");
    const char *groups = w->s->axis == 0 || w->n == 1 ? "1" : ip_text(e->ir, "(%s - %s)", ip_scan_bound(w, IP_Z1), z0);
    ip_scan_states(
        w, "states",
        &(ip_scan_cells){ groups, w->s->axis == 0 ? "0" : "group", w->phase == IP_SCAN_CARRY ? "0" : "block", "unit" });
}

static void carry_rows(ip_scan *w)
{
    ip_emit *e = w->e;
    ip_mark mark = enter_row(w);
    ip_stmt *loop = ip_emit_for(e, "i", ip_text(e->ir, "xa * %d", e->channels), ip_text(e->ir, "xb * %d", e->channels));
    ip_emit_enter(e, loop);
    ip_scan_carry(w, "state", "i", "unit");
    ip_emit_leave(e, mark);
}

/* init, or a step, of all rows at the position of that name. */
static void rows_at(ip_scan *w, const char *position, bool is_init)
{
    static const char *const names[] = { "z", "y" };
    ip_emit *e = w->e;
    ip_emit_let_int(e, names[w->s->axis], ip_scan_coordinate(w, position));
    ip_mark mark = enter_row(w);
    ip_scan_row_pointers(w, is_init);
    bool streams = !is_init && ip_scan_streams(w);
    if (!is_init) ip_scan_out(w, streams ? "stored" : "out", "z", "y");
    if (streams)
        ip_emit_let(e, ip_text(e->ir, "__global %s *", ip_dtype(w->s->dtype)->cl), "out",
                    ip_emit_line(e, w->s, "stored", "xa"));
    row_elements(w, is_init);
    if (streams) ip_emit_stream(e, w->s, "stored", "xa", "xb", "xa", "xb", NULL);
    ip_emit_leave(e, mark);
}

static void walk_rows(ip_scan *w)
{
    ip_emit *e = w->e;
    declare_rows(w);
    ip_scan_declare_line(w);
    if (w->phase == IP_SCAN_CARRY) {
        carry_rows(w);
        return;
    }
    e->coord[0] = "z";
    e->coord[1] = "y";
    const char *extent = ip_emit_dim(e, w->s, w->s->axis), *steps = ip_scan_slot_name(w, IP_SCAN_STEPS), *from = "0",
               *to = extent;
    if (w->in_blocks) {
        from = ip_text(e->ir, "block * %s", steps);
        to = ip_text(e->ir, "min((block + 1) * %s, %s)", steps, extent);
    }
    if (w->phase == IP_SCAN_TOTALS || !w->in_blocks) {
        ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->top, IP_S_IF, "xa < xb", NULL, NULL));
        rows_at(w, "0", true);
        ip_emit_leave(e, mark);
    }
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->top, IP_S_FOR, "p", from, to));
    rows_at(w, "p", false);
    ip_emit_leave(e, mark);
    e->coord[0] = e->coord[1] = NULL;
}

void ip_emit_scan(ip_emit *e, ip_scan_phase phase)
{
    const ip_stage *s = e->kernel->stages[e->kernel->n_stages - 1];
    ip_scan w = { .e = e, .s = s, .phase = phase, .n = ip_stage_states(s), .in_blocks = ip_stage_blocks(s) > 1 };
    ip_expr *exprs[IP_STAGE_PARTS];
    e->channels = (int)s->dims[3];
    for (int k = 0; k < w.n; k++)
        w.type[k] = ip_cl_type(ip_stage_state(s, k).body->dtype);
    const int n_exprs = ip_stage_exprs(s, exprs);
    for (int k = 0; k < n_exprs; k++)
        ip_emit_uniforms(e, exprs[k]);
    if (s->axis <= 1)
        walk_rows(&w);
    else if (s->axis == 2)
        ip_emit_scan_x(&w);
    else
        ip_emit_scan_c(&w);
    if (phase == IP_SCAN_RESULT) ip_emit_stream_end(e);
}
