/* SPDX-License-Identifier: MIT */
/* Which windows of a stage are sliding sums, carried from row to row or from column to column. emit_running.c prints
 * their rows. */
#include "compile/placing.h"

#include "base/dtype.h"

/*
 * Note [Running sums]
 * The sum of n elements along an axis is the sum at the element before, plus the element that enters, less the one that
 * leaves. For integers that is exact, and wrapping does no harm. It holds for any border rule, since what is added at
 * one place and taken away at another is the same read. Down the rows the sums of all columns are kept from row to
 * row; along a row the sum is carried from column to column. The element that leaves lies one before the window, so
 * one more of the source is kept; without a border rule there may be none.
 *
 * Where the stage is such a sum down the rows, and its line buffer has one row, that row has what the sums of the next
 * one are made of: no others are kept, nor written beside it.
 */
typedef struct tap_check {
    int axis;
    bool moves;
} tap_check;

static bool load_moves_with_tap(const ip_expr *load, int axis)
{
    ip_index index = ip_x_classify(load->arg[axis]);
    bool is_moving = index.kind == IP_INDEX_UNIT && index.axis == axis && index.uses_tap;
    if (load->source->kind == IP_STAGE_TABLE || load->border == IP_BORDER_NONE || !is_moving) return false;
    for (int k = 0; k < load->n_args; k++)
        if (k != axis && load->arg[k]->uses & (IP_USES_TAP | 1 << axis)) return false;
    return true;
}

static bool check_moving(ip_expr *x, void *user)
{
    tap_check *t = user;
    if (x->op == IP_X_TAP || ip_x_is_coord(x, t->axis) || x->op == IP_X_WINDOW)
        t->moves = false;
    else if (x->op == IP_X_LOAD)
        t->moves = t->moves && load_moves_with_tap(x, t->axis);
    return t->moves && x->op != IP_X_LOAD;
}

static bool moves_with_tap(ip_ir *ir, ip_expr *x, int axis)
{
    tap_check t = { axis, true };
    ip_x_descend(ir, x, check_moving, &t);
    return t.moves && !ir->failed;
}

typedef struct finding {
    ip_ir *ir;
    ip_placed *p;
    bool all;
} finding;

static void note_window(ip_expr *x, void *user)
{
    finding *f = user;
    if (x->op != IP_X_WINDOW) return;
    bool is_line = (x->taps_y == 1) != (x->taps_x == 1);
    bool fits = x->fold == IP_FOLD_SUM && !ip_dtype(x->dtype)->is_float && is_line &&
                f->p->n_running < IP_MAX_RUNNING && f->p->stage->dims[3] <= 4 &&
                moves_with_tap(f->ir, x->arg[0], x->taps_x == 1 ? 1 : 2);
    f->all = f->all && fits;
    if (fits) f->p->running[f->p->n_running++] = x;
}

/* All windows of the body, or none. */
void ip_place_running(ip_ir *ir, ip_placed *p)
{
    finding f = { ir, p, true };
    if (p->stage->kind == IP_STAGE_MAP) ip_x_walk(ir, p->body, note_window, &f);
    if (!f.all) p->n_running = 0;
}

bool ip_placed_is_sums(const ip_placed *p)
{
    return p->place == IP_PLACE_LINE_BUFFER && p->rows == 1 && p->n_running == 1 && p->body == p->running[0] &&
           p->running[0]->taps_x == 1 && p->running[0]->dtype == p->stage->dtype && !p->is_stored && !p->mask;
}
