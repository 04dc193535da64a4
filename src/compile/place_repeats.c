/* SPDX-License-Identifier: MIT */
/* Rows of repeated pixels that a stage computes with: emit_repeat.c, Note [Copies side by side], [Interleaved rows]. */
#include "compile/placing.h"

enum { MOST_REPEATS = 4 };

typedef struct repeats {
    const ip_expr *body;
    ip_expr *loads[MOST_REPEATS];
    int n;
} repeats;

/* A load that tells an index stays where it is: ip_put_value() puts values. */
static bool note_repeat(ip_expr *x, void *user)
{
    repeats *r = user;
    if (x->op != IP_X_LOAD) return true;
    bool is_element = !(x->uses & (IP_USES_TAP | IP_USES_ACC));
    if (is_element && x != r->body && r->n < MOST_REPEATS && ip_repeats_pixels(x, x->source->dims[3]))
        r->loads[r->n++] = x;
    return false;
}

void ip_place_repeats(ip_placing *p, const ip_stage *reader, ip_expr **body)
{
    repeats r = { .body = *body };
    ip_ir *ir = p->plan->ir;
    if (reader->kind != IP_STAGE_MAP || ip_interleaves_pixels(*body, reader->dims[3])) return;
    ip_x_descend(ir, *body, note_repeat, &r);
    for (int k = 0; k < r.n; k++) {
        ip_expr *at[4], *load = r.loads[k];
        ip_stage *row = ip_add_row(p, reader, load, load->source->dims[3], "every pixel several times");
        for (int axis = 0; row && axis < 4; axis++)
            at[axis] =
                axis < 3 || row->dims[3] > 1 ? ip_x_coord(ir, axis, row->dims[axis]) : ip_x_int(ir, IMGPAR_I32, 0);
        if (row) *body = ip_put_value(ir, *body, load, ip_x_load(ir, row, at, IP_BORDER_NONE, NULL));
    }
}
