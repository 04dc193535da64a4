/* SPDX-License-Identifier: MIT */
/* Rows that are made at their reader's rate: place_rates.c, Note [Producer row rates]. */
#include "compile/emit.h"

/* The variable that has the last row that was made at that rate; before the first it is less than any row. */
static const char *last_made(ip_emit *e, int rate)
{
    return ip_text(e->ir, "made_%s", ip_emit_storage(e, e->kernel->placed[rate].stage));
}

void ip_emit_declare_paces(ip_emit *e)
{
    for (int k = 0; k < e->kernel->n_placed; k++)
        if (e->kernel->placed[k].rate_of == k) ip_s_add(e->ir, e->top, IP_S_VAR, "int", last_made(e, k), "-(1 << 30)");
}

/* Rows before a row that is to be made at that rate, to fill the line buffers of what it is made of. */
static int rows_before(const ip_kernel *kernel, int rate)
{
    int rows = 0;
    for (int k = 0; k < kernel->n_placed; k++)
        if (kernel->placed[k].rate_of == rate && kernel->placed[k].lead - kernel->placed[k].first > rows)
            rows = kernel->placed[k].lead - kernel->placed[k].first;
    return rows;
}

/* All that is made at that rate: the rows that the reader is to read, but those that were made before. */
void ip_emit_rate(ip_emit *e, int rate)
{
    const ip_placed *rated = &e->kernel->placed[rate], *reader = &e->kernel->placed[rated->last_reader];
    const char *made = last_made(e, rate), *y = reader->lead == 0 ? "y" : ip_text(e->ir, "(y + %d)", reader->lead);
    const char *needed = ip_text(e->ir, "%s >= %s & %s < %s", y, ip_emit_lowest_row(e, reader, "ya"), y,
                                 ip_emit_dim(e, reader->stage, 1));
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, needed));
    ip_mark in_value = { e->block, e->n_trail, e->n_rows };
    e->domain = reader->stage->dims;
    e->coord[1] = y;
    const char *row = ip_emit_value(e, rated->rate.row);
    ip_emit_let_int(e, "first_row", ip_text(e->ir, "max(%s, 0)", ip_text_plus(e->ir, row, rated->rate.lo)));
    ip_emit_let_int(e, "last_row", ip_text(e->ir, "%s + %d", row, rated->rate.hi));
    e->coord[1] = NULL;
    ip_emit_leave(e, in_value); /* the same expression of y is another one of the rows to come */
    ip_stmt *rows = ip_emit_for(
        e, "row", ip_text(e->ir, "max(%s + 1, first_row - %d)", made, rows_before(e->kernel, rate)), "last_row + 1");
    ip_mark in_rows = ip_emit_enter(e, rows);
    for (int k = 0; k < e->kernel->n_placed; k++)
        if (e->kernel->placed[k].rate_of == rate) ip_emit_stage(e, &e->kernel->placed[k], "row", "first_row");
    ip_emit_leave(e, in_rows);
    ip_emit_set(e, made, "last_row");
    ip_emit_leave(e, mark);
}
