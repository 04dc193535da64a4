/* SPDX-License-Identifier: MIT */
/* Recurrences along c: a work-item walks the channels of each pixel of its rows. */
#include "compile/emit_scan.h"

/* One step; the states are the variables state, state_1, ... */
static void step(ip_scan *w, int c, const char *index)
{
    const ip_names state = ip_scan_named(w, "state"), next = ip_scan_body(w, c, &state);
    ip_scan_store(w, c, &next, &state, "out", index);
    ip_scan_set(w, &state, &next);
}

/* What a line walked in blocks does besides: its blocks are walked one after the other, total and result at once. */
static void step_block(ip_scan *w)
{
    ip_emit *e = w->e;
    const ip_names state = ip_scan_named(w, "state"), carry = ip_scan_named(w, "carry"),
                   total = ip_scan_named(w, "total");
    ip_stmt *turn = ip_emit_if(e, ip_text(e->ir, "p > 0 & p %% %d == 0", IP_SCAN_BLOCK));
    ip_mark mark = ip_emit_enter(e, turn);
    const ip_names joined = ip_scan_combine(w, &carry, &total);
    ip_scan_set(w, &carry, &joined);
    ip_scan_set(w, &state, &carry);
    const ip_names init = ip_scan_init(w, -1);
    ip_scan_set(w, &total, &init);
    ip_emit_leave(e, mark);
    const ip_names next = ip_scan_body(w, -1, &total);
    ip_scan_set(w, &total, &next);
}

static void written_channels(ip_scan *w)
{
    for (int p = 0; p < w->e->channels; p++) {
        int c = w->s->backward ? w->e->channels - 1 - p : p;
        step(w, c, ip_emit_pixel_index(w->e, "x", c));
    }
}

static void looped_channels(ip_scan *w)
{
    ip_emit *e = w->e;
    if (w->in_blocks) {
        const ip_names state = ip_scan_named(w, "state"), carry = ip_scan_named(w, "carry"),
                       total = ip_scan_named(w, "total");
        ip_scan_declare(w, IP_S_VAR, &carry, &state);
        ip_scan_declare(w, IP_S_VAR, &total, &state);
    }
    ip_stmt *loop = ip_emit_for(e, "p", "0", ip_text(e->ir, "%d", e->channels));
    ip_mark mark = ip_emit_enter(e, loop);
    ip_emit_let_int(e, "c", ip_scan_coordinate(w, "p"));
    e->coord[3] = "c";
    if (w->in_blocks) step_block(w);
    step(w, -1, ip_emit_pixel_index(e, "x", 0));
    e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

void ip_emit_scan_c(ip_scan *w)
{
    ip_emit *e = w->e;
    bool is_written = e->channels <= IP_WRITTEN_CHANNELS;
    const char *first = ip_scan_coordinate(w, "0");
    ip_scan_item(w, 1, "item_y");
    ip_scan_item(w, 2, "item_z");
    ip_scan_span(w, "ya", "yb", "item_y", IP_Y0);
    ip_emit_let_at_top(e, "int", "z", ip_text(e->ir, "item_z + %s", ip_scan_bound(w, IP_Z0)));
    ip_mark in_rows = ip_emit_enter(e, ip_s_add(e->ir, e->top, IP_S_FOR, "y", "ya", "yb"));
    e->coord[0] = "z";
    e->coord[1] = "y";
    ip_scan_row_pointers(w, true);
    ip_scan_row_pointers(w, false);
    ip_scan_out(w, "out", "z", "y");
    ip_stmt *loop = ip_emit_for(e, "x", ip_scan_bound(w, IP_X0), ip_scan_bound(w, IP_X1));
    if (is_written) {
        loop->parallel = IP_INDEPENDENT;
        loop->vector_width = e->kernel->walk.width;
    }
    ip_mark in_columns = ip_emit_enter(e, loop);
    e->coord[2] = "x";
    e->coord[3] = first;
    const ip_names state = ip_scan_named(w, "state"), init = ip_scan_init(w, -1);
    ip_scan_declare(w, IP_S_VAR, &state, &init);
    e->coord[3] = NULL;
    if (is_written)
        written_channels(w);
    else
        looped_channels(w);
    e->coord[0] = e->coord[1] = e->coord[2] = NULL;
    ip_emit_leave(e, in_columns);
    ip_emit_leave(e, in_rows);
}
