/* SPDX-License-Identifier: MIT */
/*
 * Rows of another height than the output's.
 *
 * Note [Producer row rates]
 * Where row y of a stage is made of computed rows of another one, the line buffer of that other stage cannot move on by
 * a row for each y. But if the rows never fall, as those of a resize, they can be made when they are first needed: the
 * reader sets the rate. At each y those rows are made that it is to read and that were not made before, by a loop of
 * their own; what they are made of in turn is made in the same loop, at the same rate, ahead by its lead as ever. The
 * line buffer holds what one row of the reader reads. So an enlarged image makes the columns of each row of the source
 * once, however many rows of the result are made of them, and a filter before a resize stays in its kernel. Where rows
 * are left out the loop begins as a strip does, as many rows before as fill the line buffers. Rows beyond the edges are
 * made by nobody; what a border rule reads instead is among the rows that are kept. Stages that are read in the same
 * rows have one rate, and may be made of the same rows.
 */
#include "base/integers.h"
#include "compile/placing.h"

static bool is_row(const ip_expr *x) { return ip_x_is_coord(x, 1); }

static bool is_number(const ip_expr *x) { return x->op == IP_X_CONST || x->op == IP_X_PARAM; }

/* The row y of the reader in a table that never falls, or a multiple of y; either plus an argument. */
static bool is_rising(const ip_expr *x)
{
    if (x->op == IP_X_ADD && x->arg[1]->op == IP_X_PARAM) x = x->arg[0];
    if (x->op == IP_X_MUL) return is_row(x->arg[0]) && is_number(x->arg[1]) && x->arg[1]->i > 0;
    return x->op == IP_X_LOAD && x->source->is_rising && is_row(x->arg[2]);
}

/* index as a row that rises, and what constants and the taps of a window add to it. */
static bool split(ip_expr *index, ip_row_rate *rate)
{
    double lo = 0, hi = 0;
    while (index->op == IP_X_ADD && !is_rising(index)) {
        int k = index->arg[0]->op == IP_X_CONST || index->arg[0]->op == IP_X_TAP ? 0 : 1;
        const ip_expr *by = index->arg[k];
        if (by->op != IP_X_CONST && by->op != IP_X_TAP) return false;
        lo += by->lo;
        hi += by->hi;
        index = index->arg[1 - k];
    }
    *rate = (ip_row_rate){ index, (int)lo, (int)hi };
    return is_rising(index);
}

/* Whether row is inside the source for all rows of the reader: what a border rule then reads lies near it. */
static bool stays_inside(const ip_expr *row, const int64_t domain[4], int64_t n)
{
    const ip_box box = ip_box_of(domain);
    ip_span rows;
    return ip_index_span(row, &box, &rows) && rows.lo >= 0 && rows.hi < n;
}

/* Its border rule keeps what is read within the rows from lo to hi, widened where it is reflected (reach.c, Note
 * [Reading near edges]). */
static bool apply_border(const ip_expr *load, const int64_t domain[4], ip_row_rate *rate)
{
    ip_reach reach = { .y_lo = rate->lo, .y_hi = rate->hi };
    if (load->border == IP_BORDER_NONE) return true;
    ip_reach_contract(&reach, load->border);
    rate->lo = reach.y_lo;
    rate->hi = reach.y_hi;
    return load->border != IMGPAR_BORDER_WRAP && stays_inside(rate->row, domain, load->source->dims[1]);
}

bool ip_load_rate(const ip_expr *load, const int64_t domain[4], ip_row_rate *rate)
{
    const ip_stage *p = load->source;
    ip_index plane = ip_x_classify(load->arg[0]), column = ip_x_classify(load->arg[2]);
    ip_index channel = ip_x_classify(load->arg[3]);
    bool own_plane =
        plane.kind == IP_INDEX_UNIT && plane.axis == 0 && plane.lo == 0 && plane.hi == 0 && p->dims[0] == domain[0];
    bool near_column = column.kind == IP_INDEX_UNIT && column.axis == 2 && p->dims[2] == domain[2];
    bool has_channel = channel.kind == IP_INDEX_FIXED || (channel.kind == IP_INDEX_UNIT && channel.axis == 3);
    return p->kind == IP_STAGE_MAP && own_plane && near_column && has_channel && split(load->arg[1], rate) &&
           apply_border(load, domain, rate);
}

bool ip_rate_leaves_rows_out(const ip_row_rate *rate) { return rate->row->op != IP_X_LOAD; }

int64_t ip_kernel_rows_twice(const ip_kernel *kernel)
{
    enum { DEARER = 2 }; /* rows that are made at a rate of their own take about as long as two of the output */
    int64_t rows = ip_kernel_halo(kernel);
    for (int k = 0; k < kernel->n_placed; k++) {
        const ip_placed *p = &kernel->placed[k];
        int64_t span = p->rate_of < 0 ? 0
                                      : p->lead - p->first + kernel->placed[p->rate_of].rate.hi -
                                            kernel->placed[p->rate_of].rate.lo;
        int64_t of_output = DEARER * span * kernel->domain[1] / (p->stage->dims[1] > 0 ? p->stage->dims[1] : 1);
        rows = of_output > rows ? of_output : rows;
    }
    return rows;
}
