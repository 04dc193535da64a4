/* SPDX-License-Identifier: MIT */
/*
 * Rows of another height than the output's.
 *
 * Note [Paces]
 * Where row y of a stage is made of computed rows of another one, the ring of that other stage cannot move on by a row for each y. But
 * if the rows never fall, as those of a resize, they can be made when they are first needed: the reader sets the pace. At each y those
 * rows are made that it is to read and that were not made before, by a loop of their own; what they are made of in turn is made in the
 * same loop, at the same pace, ahead by its lead as ever. The ring holds what one row of the reader reads. So an enlarged image makes
 * the columns of each row of the source once, however many rows of the result are made of them, and a filter before a resize stays in
 * its kernel. Where rows are left out the loop begins as a strip does, as many rows before as fill the rings.
 */
#include "base/dtype.h"
#include "compile/passes.h"

static bool is_own_axis(ip_ir *ir, const ip_expr *load, const int64_t domain[4], int axis)
{
    ip_index index = ip_x_classify(ir, load->arg[axis]);
    return index.kind == IP_INDEX_UNIT && index.axis == axis && index.lo == 0 && index.hi == 0 && load->source->dims[axis] == domain[axis];
}

static bool is_row(const ip_expr *x) { return x->op == IP_X_COORD && x->axis == 1; }

/* The row y of the reader in a table that never falls, or a multiple of y. */
static bool is_rising(const ip_expr *x)
{
    if (x->op == IP_X_MUL)
        return is_row(x->arg[0]) && x->arg[1]->op == IP_X_CONST && x->arg[1]->i > 0;
    return x->op == IP_X_LOAD && x->source->is_rising && is_row(x->arg[2]);
}

bool ip_load_pace(ip_ir *ir, const ip_expr *load, const int64_t domain[4], ip_pace *pace)
{
    ip_expr *row = load->arg[1], *by = NULL;
    for (int k = 0; load->arg[1]->op == IP_X_ADD && k < 2; k++)
        if (is_rising(load->arg[1]->arg[k])) {
            row = load->arg[1]->arg[k];
            by = load->arg[1]->arg[1 - k];
        }
    bool is_known = !by || by->op == IP_X_CONST || by->op == IP_X_TAP;
    if (load->border != IP_BORDER_NONE || load->source->kind != IP_STAGE_MAP || !is_rising(row) || !is_known)
        return false;
    *pace = (ip_pace){ row, by ? (int)by->lo : 0, by ? (int)by->hi : 0 };
    ip_index channel = ip_x_classify(ir, load->arg[3]);
    bool channel_ok = channel.kind == IP_INDEX_FIXED || (channel.kind == IP_INDEX_UNIT && channel.axis == 3);
    return channel_ok && is_own_axis(ir, load, domain, 0) && is_own_axis(ir, load, domain, 2);
}

int64_t ip_kernel_rows_twice(const ip_kernel *kernel)
{
    enum { DEARER = 2 }; /* rows that are made at a pace take about as long as two of the output */
    int64_t rows = ip_kernel_halo(kernel);
    for (int k = 0; k < kernel->n_placed; k++) {
        const ip_placed *p = &kernel->placed[k];
        int64_t span = p->pace < 0 ? 0 : p->lead - p->first + kernel->placed[p->pace].paced.hi - kernel->placed[p->pace].paced.lo;
        int64_t of_output = DEARER * span * kernel->domain[1] / (p->stage->dims[1] > 0 ? p->stage->dims[1] : 1);
        rows = of_output > rows ? of_output : rows;
    }
    return rows;
}
