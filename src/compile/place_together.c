/* SPDX-License-Identifier: MIT */
/*
 * Note [Rows together]
 * An element of a vertical pass reads as many rows as the pass is high. The rows of a picture that are that many do not
 * stay in the first cache, so the loop waits for the second one: it reads 41 rows, say, to make one. Four rows that are
 * made together read 44. So where a stage adds up floats of many rows of inputs, one loop makes four of its rows, each
 * in its own order of terms, and the line buffer keeps them until they are read. The last four begin earlier where
 * fewer are left; where a strip has fewer than four, rows are made one by one.
 *
 * Sums of bytes are not made so, though a row would be widened once and not for each of three. What four rows of them,
 * and of what they read in a line buffer, take of the first cache costs more: four boxes of three in a row took 1.3
 * times as long, by two rows as by four, and one box 1.5 times (measured, 48 KiB of first cache).
 */
#include "compile/placing.h"

enum { LEAST_ROWS = 7, TOGETHER_OPERATIONS = 400 };

typedef struct row_check {
    const ip_placing *p;
    int n_loads;
    bool fits;
} row_check;

/* Loads of rows above and below, of an input and at the element's own column. */
static void check_load(ip_expr *x, void *user)
{
    row_check *c = user;
    if (x->op == IP_X_WINDOW || x->op == IP_X_LOOP) c->fits = false;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE) return;
    const ip_expr *row = ip_x_offset_from(c->p->plan->ir, x->arg[1], 1);
    c->n_loads++;
    c->fits &= row && row->op == IP_X_CONST && ip_x_is_coord(x->arg[2], 2) && x->n_args == 4 &&
               x->dtype == IMGPAR_F32 && !ip_kernel_placed(c->p->kernel, x->source);
}

void ip_place_together(const ip_placing *p, ip_placed *placed)
{
    const ip_stage *s = placed->stage;
    row_check c = { .p = p, .fits = true };
    bool is_row =
        placed->place == IP_PLACE_LINE_BUFFER && p->kernel->schedule == IP_SCHEDULE_ROWS && s->kind == IP_STAGE_MAP;
    if (!is_row || placed->is_copy || placed->is_stored || placed->is_mask || placed->mask || placed->at_once ||
        placed->rate_of >= 0 || placed->n_running > 0 || placed->pad_is_computed || s->dtype != IMGPAR_F32)
        return;
    ip_x_walk(p->plan->ir, placed->body, check_load, &c);
    if (c.fits && c.n_loads >= LEAST_ROWS && ip_x_size(p->plan->ir, placed->body) <= TOGETHER_OPERATIONS)
        placed->together = IP_TOGETHER;
}
