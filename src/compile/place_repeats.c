/* SPDX-License-Identifier: MIT */
/* Rows of repeated pixels that a stage computes with: emit_repeat.c, Note [Copies side by side]. */
#include "compile/placing.h"

enum { MOST_REPEATS = 4 };

typedef struct repeats {
    const ip_stage *reader;
    ip_expr *loads[MOST_REPEATS];
    int n;
} repeats;

static void note_repeat(ip_expr *load, void *user)
{
    repeats *r = user;
    bool is_element = !(load->uses & (IP_USES_TAP | IP_USES_ACC));
    if (is_element && load != r->reader->body && r->n < MOST_REPEATS && ip_repeats_pixels(load, load->source->dims[3]))
        r->loads[r->n++] = load;
}

void ip_place_repeats(ip_placing *p, ip_stage *reader)
{
    repeats r = { .reader = reader };
    ip_ir *ir = p->plan->ir;
    if (reader->kind != IP_STAGE_MAP) return;
    ip_stage_each_load(ir, reader, note_repeat, &r);
    for (int k = 0; k < r.n; k++) {
        ip_expr *at[4], *load = r.loads[k];
        ip_stage *row = ip_add_row(p, reader, load, load->source->dims[3], "every pixel several times");
        for (int axis = 0; row && axis < 4; axis++)
            at[axis] =
                axis < 3 || row->dims[3] > 1 ? ip_x_coord(ir, axis, row->dims[axis]) : ip_x_int(ir, IMGPAR_I32, 0);
        if (row) reader->body = ip_put_value(ir, reader->body, load, ip_x_load(ir, row, at, IP_BORDER_NONE, NULL));
    }
}
