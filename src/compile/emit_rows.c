/* SPDX-License-Identifier: MIT */
/*
 * The rows schedule, second half (the first is place.c): a kernel whose work-items each walk a strip of rows.
 *
 *     for each panel of its columns (mostly there is one):
 *         for y in strip, starting early enough to fill the line buffers:
 *             for each stage: if its row y + lead is needed:
 *                 for x in columns: compute an element from rows of earlier stages
 *                 fill in the columns beyond the edges
 *
 * Rows of a producer of another height are made by a loop of their own before the reader that sets their rate
 * (emit_rates.c). A row is made by emit_row.c.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/emit.h"
#include "graph/array.h"

#include <string.h>

/* ---- edges of a line buffer ----------------- */

static void pad_side(ip_emit *e, const ip_placed *p, const char *target, const char *test, const char *at)
{
    const ip_stage *s = p->stage;
    const char *width = ip_emit_dim(e, s, 2);
    ip_stmt *when = ip_emit_if(e, test);
    ip_stmt *loop = ip_s_add(e->ir, when, IP_S_FOR, "k", "0", ip_text(e->ir, "%d", p->pad));
    ip_mark mark = ip_emit_enter(e, loop);
    ip_s_add(e->ir, loop, IP_S_LET, "int", "to", at);
    if (p->pad_border != IMGPAR_BORDER_CONSTANT)
        ip_s_add(e->ir, loop, IP_S_LET, "int", "from", ip_emit_border(e, p->pad_border, "to", width));
    ip_channels channels = ip_emit_enter_channels(e, s->body); /* the copies are not used, only the loop */
    for (int c = 0; c < channels.n; c++) {
        const char *from = ip_emit_pixel_index(e, "from", c);
        const char *value = p->pad_border == IMGPAR_BORDER_CONSTANT
                                ? ip_emit_value(e, ip_emit_of_channel(e, p->pad_outside, c))
                            : s->dtype == IMGPAR_F16 ? ip_text(e->ir, "vload_half(%s, %s)", from, target)
                                                     : ip_text(e->ir, "%s[%s]", target, from);
        ip_emit_store(e, s, target, ip_emit_pixel_index(e, "to", c), value);
    }
    ip_emit_leave_channels(e, &channels);
    ip_emit_leave(e, mark);
}

static void pad_row(ip_emit *e, const ip_placed *p, const char *target, const char *xa, const char *xb)
{
    if (p->pad == 0 || p->pad_is_computed) return;
    pad_side(e, p, target, ip_text(e->ir, "%s == 0", xa), "-1 - k");
    pad_side(e, p, target, ip_text(e->ir, "%s == %s", xb, ip_emit_dim(e, p->stage, 2)),
             ip_text(e->ir, "%s + k", ip_emit_dim(e, p->stage, 2)));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static const char *column_start(ip_emit *e, const ip_placed *p)
{
    return p->left == 0 ? "xa" : p->left >= IP_ALL_COLUMNS ? "0" : ip_text(e->ir, "max(xa - %d, 0)", p->left);
}

static void declare_line_buffers(ip_emit *e)
{
    for (int k = 0; k < e->kernel->n_placed; k++) {
        const ip_placed *p = &e->kernel->placed[k];
        if (p->place != IP_PLACE_LINE_BUFFER) continue;
        e->args.has_scratch = true;
        const char *type = ip_text(e->ir, "__global %s *", ip_dtype(p->stage->dtype)->cl);
        const char *base = ip_text(e->ir, "(%s)(mine + (long)%s * 64)", type,
                                   ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_OFFSET, p->stage));
        ip_emit_let_at_top(
            e, type, ip_emit_storage(e, p->stage),
            ip_text(e->ir, "%s + %d - %s * %d", base, ip_placed_before(p), column_start(e, p), (int)p->stage->dims[3]));
    }
}

/* The strip's own part of a row that was made in a line buffer, to the stage's buffer. */
static void store_row(ip_emit *e, const ip_stage *s, const char *r)
{
    const char *type = s->dtype == IMGPAR_F16 ? "ushort" : ip_dtype(s->dtype)->cl; /* bits are copied, not values */
    ip_stmt *when = ip_emit_if(e, ip_text(e->ir, "%s >= ya & %s < yb", r, r));
    ip_mark mark = ip_emit_enter(e, when);
    ip_emit_let(e, ip_text(e->ir, "__global %s *", type), "stored",
                ip_text(e->ir, "(__global %s *)(%s)", type, ip_emit_buffer_row(e, s, "z", r)));
    ip_emit_let(e, ip_text(e->ir, "__global const %s *", type), "made",
                ip_text(e->ir, "(__global const %s *)out", type));
    ip_stmt *loop = ip_emit_for(e, "i", ip_text(e->ir, "xa * %d", e->channels), ip_text(e->ir, "xb * %d", e->channels));
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = 64 / (int)ip_dtype(s->dtype)->size_bytes;
    ip_s_add(e->ir, loop, IP_S_STORE, "stored[i]", "made[i]", NULL);
    ip_emit_leave(e, mark);
}

/* Rows of running sums, addressed as the stage's own columns are. */
static void declare_sums(ip_emit *e)
{
    for (int k = 0; k < e->kernel->n_placed; k++) {
        const ip_placed *p = &e->kernel->placed[k];
        for (int i = 0; i < p->n_running && !ip_placed_is_sums(p); i++) {
            e->args.has_scratch = true;
            const char *type = ip_text(e->ir, "__global %s *", ip_cl_type(p->running[i]->dtype));
            ip_emit_let_at_top(e, type, ip_emit_sums(e, p, i),
                               ip_text(e->ir, "(%s)(mine + (long)%s * 64) - %s * %d", type,
                                       ip_emit_slot_at(e, IP_SLOT_SUMS, i, p->stage, NULL), column_start(e, p),
                                       (int)p->stage->dims[3]));
        }
    }
}

/* ---- masks: place_broadcast.c, Note [Masks] ----------------------------------------------------------- */

static const char *mask_state(ip_emit *e, const ip_stage *mask)
{
    return ip_text(e->ir, "is_%s", ip_emit_storage(e, mask));
}

/* What a row of the mask is, looking through its values before they are broadcast: all channels', where they differ. */
static void look_through(ip_emit *e, const ip_placed *p, const char *xa, const char *xb)
{
    const ip_stage *s = p->stage;
    const char *maximum = ip_text(e->ir, "%d", (int)ip_dtype(s->dtype)->maximum);
    ip_emit_var(e, "uchar", "any", "0");
    ip_emit_var(e, "uchar", "all", maximum);
    ip_emit_row_pointers(e, s->body);
    ip_stmt *loop = ip_emit_for(e, "x", xa, xb);
    loop->parallel = IP_REDUCTION;
    loop->vector_width = 64;
    ip_mark mark = ip_emit_enter(e, loop);
    e->coord[2] = "x";
    e->coord[3] = "0";
    for (int c = 0; c < (s->body->uses & IP_USES_C ? e->channels : 1); c++) {
        const char *value = ip_emit_value(e, ip_emit_of_channel(e, s->body, c));
        ip_emit_set(e, "any", ip_text(e->ir, "any | %s", value));
        ip_emit_set(e, "all", ip_text(e->ir, "all & %s", value));
    }
    e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
    ip_emit_set(
        e, mask_state(e, s),
        ip_text(e->ir, "any == 0 ? %d : all == %s ? %d : %d", IP_MASK_CLEAR, maximum, IP_MASK_SET, IP_MASK_MIXED));
}

/* A row of a stage that has a mask, and is computed without it where it can be. */
static void compute_masked_row(ip_emit *e, const ip_placed *p, const char *xa, const char *xb, const char *row,
                               const char *first)
{
    for (int state = IP_MASK_CLEAR; state <= IP_MASK_MIXED; state++) {
        const ip_segment *segment = p->row_of[state];
        const char *test = ip_text(e->ir, "%s == %d", mask_state(e, p->mask->source), state);
        ip_mark mark = ip_emit_enter(e, ip_emit_if(e, test));
        ip_emit_row_pointers(e, segment->body);
        ip_emit_prefetch(e, segment->body, xa, xb);
        ip_emit_row(e, p, segment, xa, xb, row, first);
        ip_emit_leave(e, mark);
    }
}

/* Columns xa..xb of row r, in blocks if the stage is made so; to `out`, or to what is `stored`. */
static void fill_row(ip_emit *e, const ip_placed *p, const char *xa, const char *xb, const char *r, const char *first,
                     bool in_blocks)
{
    const ip_stage *s = p->stage;
    const char *from = xa, *to = xb;
    if (in_blocks) ip_emit_enter_block(e, p, &from, &to);
    if (p->is_streamed)
        ip_emit_let(e, ip_text(e->ir, "__global %s *", ip_dtype(s->dtype)->cl), "out",
                    in_blocks ? ip_emit_line(e, s, "stored", from) : "stored");
    if (p->mask)
        compute_masked_row(e, p, from, to, r, first);
    else
        ip_emit_row(e, p, p->row_of[IP_MASK_MIXED], from, to, r, first);
    if (p->is_streamed && in_blocks)
        ip_emit_stream(e, s, "stored", xa, xb, from, to,
                       p->lead == 0 && p->rate_of < 0 && !e->kernel->planes_at_once ? r : NULL);
}

/* What is stored two rows later: emit_transpose.c, Note [Walking planes]. Rows of pixels of less than four bytes are
 * mostly too short for that. */
static void prefetch_written(ip_emit *e, const ip_placed *p)
{
    enum { LEAST_PIXEL = 4, LEAST_BYTES = 128 };
    int pixel = e->channels * (int)ip_dtype(p->stage->dtype)->size_bytes;
    if (!e->options->device.has_clang_builtins || !p->is_streamed || pixel < LEAST_PIXEL) return;
    const char *prefetches = ip_emit_slot(e, IP_SLOT_PREFETCHES);
    ip_stmt *when = ip_emit_if(
        e, ip_text(e->ir, "%s && !%s && (xb - xa) * %d >= %d", prefetches, ip_emit_streams(e), pixel, LEAST_BYTES));
    ip_s_add(e->ir, when, IP_S_STORE,
             ip_text(e->ir,
                     "ip_prefetch_to((__global const uchar *)(stored + 2 * (long)%s + (long)xa * %d), (xb - xa) * %d)",
                     ip_emit_slot_of(e, IP_SLOT_PITCH, p->stage), e->channels, pixel),
             NULL, NULL);
}

/* The columns of a row that are made. */
static void declare_columns(ip_emit *e, const ip_placed *p, const char **xa, const char **xb)
{
    const char *end = p->place == IP_PLACE_TOTAL ? "xb" : ip_emit_panel_end(e);
    *xa = "xa";
    *xb = end;
    if (p->left == 0 && p->right == 0) return;
    *xa = "xs";
    *xb = "xe";
    /* what goes beyond begins in the pad, which a line buffer has before its column_start() */
    const char *width = ip_emit_dim(e, p->stage, 2);
    ip_emit_let_int(e, "xs",
                    p->pad_is_computed ? ip_text(e->ir, "max(xa - %d, -%d)", p->left, p->pad) : column_start(e, p));
    if (p->pad_is_computed) width = ip_text(e->ir, "%s + %d", width, p->pad);
    ip_emit_let_int(e, "xe",
                    p->right >= IP_ALL_COLUMNS ? width : ip_text(e->ir, "min(%s + %d, %s)", end, p->right, width));
}

/* Row r of a stage; low: its first in this strip. */
static void make_row(ip_emit *e, const ip_placed *p, const char *r, const char *low)
{
    const ip_stage *s = p->stage;
    bool is_direct = p->place == IP_PLACE_NONE, is_endless = ip_emit_is_endless(p);
    e->coord[0] = "z";
    e->coord[1] = r;
    const char *xa, *xb;
    declare_columns(e, p, &xa, &xb);
    if (p->at_once) {
        ip_emit_transposed_rows(e, p, xa, xb, r, low);
    } else if (p->place == IP_PLACE_TOTAL) {
        ip_emit_row_pointers(e, s->body);
        ip_emit_fold_row(e, p, xa, xb);
    } else {
        const char *type = ip_text(e->ir, "__global %s *", ip_dtype(s->dtype)->cl);
        const char *row = is_direct ? ip_emit_buffer_row(e, s, "z", r)
                          : p->rows == 1
                              ? ip_emit_storage(e, s)
                              : ip_text(e->ir, "%s + (%s %% %d) * %s", ip_emit_storage(e, s),
                                        is_endless ? ip_text(e->ir, "(%s + %d)", r, ip_emit_line_buffer_bias(p)) : r,
                                        p->rows, ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, s));
        ip_emit_let(e, type, p->is_streamed ? "stored" : "out", row);
        if (is_direct && e->kernel->planes_at_once) prefetch_written(e, p);
        const char *first = is_endless ? ip_text_plus(e->ir, "ya", p->first) : low;
        if (p->is_mask) {
            look_through(e, p, xa, xb);
            ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "%s == %d", mask_state(e, s), IP_MASK_MIXED)));
        }
        ip_mark in_row = { e->block, e->n_trail, e->n_rows };
        const char *without_blocks = ip_emit_without_blocks(e, p);
        if (without_blocks) {
            ip_emit_row_pointers(e, s->body);
            ip_mark beside = ip_emit_enter(e, ip_emit_if(e, without_blocks));
            e->is_short = true;
            fill_row(e, p, xa, xb, r, first, false);
            e->is_short = false;
            ip_emit_leave(e, beside);
            ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "!(%s)", without_blocks)));
        }
        fill_row(e, p, xa, xb, r, first, true);
        ip_emit_leave(e, in_row);
        if (!is_direct) pad_row(e, p, "out", xa, xb);
        if (!is_direct && p->is_stored) store_row(e, s, r);
    }
    e->coord[0] = e->coord[1] = NULL;
}

/* ---- rows together: place_together.c, Note [Rows together] ------------------------------------------------- */

enum { MOST_SUMS = 128 }; /* that are written term by term; of more the first terms stand in one expression */

static const char *out_of(ip_emit *e, int k) { return ip_text(e->ir, "out%d", k); }

/* Sums of so many terms, from the first one on, in which each adds one to the one before. */
static int sums_of(ip_expr *x, ip_expr **sums)
{
    int n = 0;
    for (; n < MOST_SUMS; x = x->arg[2]) {
        sums[n++] = x;
        if (x->op != IP_X_FMA) break;
    }
    return n;
}

/* Term by term, so that a row that was read is of use to all while it is in a register: row number k is as many terms
 * behind. */
static void add_terms(ip_emit *e, ip_expr *const *bodies, int n)
{
    ip_expr *sums[IP_TOGETHER][MOST_SUMS];
    int n_sums[IP_TOGETHER], most = 0;
    for (int k = 0; k < n; k++) {
        n_sums[k] = sums_of(bodies[k], sums[k]);
        most = ip_max_int(most, n_sums[k] + k);
    }
    for (int term = 0; term < most; term++)
        for (int k = 0; k < n; k++)
            if (term >= k && term - k < n_sums[k]) ip_emit_variable(e, sums[k][n_sums[k] - 1 - (term - k)]);
}

/* Rows `row` (text) and those behind it. */
static void make_rows_together(ip_emit *e, const ip_placed *p, const char *row)
{
    const ip_stage *s = p->stage;
    const char *xa, *xb, *type = ip_text(e->ir, "__global %s *", ip_dtype(s->dtype)->cl);
    ip_expr *bodies[IP_TOGETHER], *y = ip_x_coord(e->ir, 1, s->dims[1]);
    const int n = p->together;
    e->coord[0] = "z";
    e->coord[1] = row;
    declare_columns(e, p, &xa, &xb);
    for (int k = 0; k < n; k++) {
        ip_expr *behind = ip_x_binary(e->ir, IP_X_ADD, y, ip_x_int(e->ir, IMGPAR_I32, k));
        bodies[k] = k == 0 ? s->body : ip_x_put_coords(e->ir, s->body, (ip_expr *const[4]){ [1] = behind });
        ip_emit_row_pointers(e, bodies[k]);
        ip_emit_let(e, type, out_of(e, k),
                    ip_text(e->ir, "%s + ((%s + %d) %% %d) * %s", ip_emit_storage(e, s), row, k, p->rows,
                            ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, s)));
    }
    ip_mark in_row = { e->block, e->n_trail, e->n_rows };
    const char *from = xa, *to = xb;
    ip_emit_enter_block(e, p, &from, &to);
    for (int k = 1; k < n && p->block_columns > 0; k++)
        ip_emit_prefetch(e, bodies[k], from, to);
    ip_stmt *loop =
        ip_emit_vectors(e, "i", ip_text(e->ir, "%s * %d", from, e->channels),
                        ip_text(e->ir, "%s * %d", to, e->channels), p->row_of[IP_MASK_MIXED]->elements.width);
    ip_emit_enter(e, loop);
    e->flat = "i";
    ip_emit_count_uses(e, bodies, n);
    add_terms(e, bodies, n);
    for (int k = 0; k < n; k++)
        ip_emit_store(e, s, out_of(e, k), "i", ip_emit_value(e, bodies[k]));
    e->flat = NULL;
    ip_emit_leave(e, in_row);
    for (int k = 0; k < n; k++)
        pad_row(e, p, out_of(e, k), xa, xb);
    e->coord[0] = e->coord[1] = NULL;
}

/* Of a strip's rows low..last, row r alone where they are few, else with those behind it where it begins a
 * group. */
static void make_row_group(ip_emit *e, const ip_placed *p, const char *r, const char *low)
{
    const char *number = ip_text(e->ir, "%d", (int)(p - e->kernel->placed));
    const char *last = ip_text(e->ir, "last%s", number), *row = ip_text(e->ir, "group%s", number);
    ip_emit_let_int(e, last,
                    ip_text(e->ir, "min(%s, %s) - 1", ip_text_plus(e->ir, "yb", p->lead), ip_emit_dim(e, p->stage, 1)));
    const char *are_few = ip_text(e->ir, "%s - (%s) < %d", last, low, p->together - 1);
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, are_few));
    make_row(e, p, r, low);
    ip_emit_leave(e, mark);
    const char *begins = ip_text(e->ir, "!(%s) & (%s - (%s)) %% %d == 0", are_few, r, low, p->together);
    mark = ip_emit_enter(e, ip_emit_if(e, begins));
    ip_emit_let_int(e, row, ip_text(e->ir, "min(%s, %s - %d)", r, last, p->together - 1));
    make_rows_together(e, p, row);
    ip_emit_leave(e, mark);
}

const char *ip_emit_lowest_row(ip_emit *e, const ip_placed *p, const char *ya)
{
    return p->first == 0 ? ya : ip_text(e->ir, "max(%s, 0)", ip_text_plus(e->ir, ya, p->first));
}

void ip_emit_stage(ip_emit *e, const ip_placed *p, const char *y, const char *ya)
{
    const ip_stage *s = p->stage;
    e->domain = s->kind == IP_STAGE_MAP ? s->dims : s->over;
    e->channels = (int)e->domain[3];
    const char *name = s->node && s->node->op ? s->node->op->info.name : "stage", *height = ip_emit_dim(e, s, 1);
    ip_s_add(e->ir, e->block, IP_S_NOTE, ip_text(e->ir, "%s%s%s", name, s->note ? ": " : "", s->note ? s->note : ""),
             NULL, NULL);
    const char *r = p->lead == 0 ? y : ip_text(e->ir, "row%d", (int)(p - e->kernel->placed)),
               *low = ip_emit_lowest_row(e, p, ya);
    if (p->lead != 0) ip_emit_let_int(e, r, ip_text_plus(e->ir, y, p->lead));
    if (p->is_mask) ip_emit_var(e, "int", mask_state(e, s), ip_text(e->ir, "%d", IP_MASK_MIXED));
    const char *needed = ip_emit_is_endless(p) ? ip_text(e->ir, "%s >= %s", r, ip_text_plus(e->ir, ya, p->first))
                                               : ip_text(e->ir, "%s >= %s & %s < %s", r, low, r, height);
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, needed));
    (p->together ? make_row_group : make_row)(e, p, r, low);
    ip_emit_leave(e, mark);
}

/* In their order; what is made at a rate of their own before the reader that sets it. */
static void emit_stages(ip_emit *e)
{
    for (int k = 0; k < e->kernel->n_placed; k++) {
        const ip_placed *p = &e->kernel->placed[k];
        if (p->rate_of == k)
            ip_emit_rate(e, k);
        else if (p->rate_of < 0)
            ip_emit_stage(e, p, "y", "ya");
    }
}

/* from and to: what work-item number `dim` of its axis covers, so wide, within the region that first begins. */
static void declare_span(ip_emit *e, int dim, const char *from, const char *to, ip_slot_kind wide, ip_bound first)
{
    const char *step = ip_emit_slot(e, wide);
    ip_emit_let_at_top(e, "int", from,
                       ip_text(e->ir, "(int)%s * %s + %s", ip_emit_global_id(e, dim), step, ip_emit_bound(e, first)));
    ip_emit_let_at_top(e, "int", to,
                       ip_text(e->ir, "min(%s + %s, %s)", from, step, ip_emit_bound(e, (ip_bound)(first + 1))));
}

/* The plane, or planes, that a work-item makes rows of. */
static void declare_planes(ip_emit *e)
{
    const char *first = ip_emit_bound(e, IP_Z0);
    int n = e->kernel->planes_at_once;
    if (n == 0) {
        ip_emit_let_at_top(e, "int", "z", ip_text(e->ir, "%s + %s", ip_emit_global_id(e, 2), first));
        return;
    }
    ip_emit_let_at_top(e, "int", "za", ip_text(e->ir, "(int)%s * %d + %s", ip_emit_global_id(e, 2), n, first));
    ip_emit_let_at_top(e, "int", "zb", ip_text(e->ir, "min(za + %d, %s)", n, ip_emit_bound(e, IP_Z1)));
}

/* The work-item's number, and its part of the scratch memory. */
static void declare_item(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    bool has_line_buffers = false;
    for (int i = 0; i < k->n_placed; i++)
        has_line_buffers |=
            k->placed[i].place == IP_PLACE_LINE_BUFFER || k->placed[i].n_running > 0 || k->placed[i].is_streamed;
    if (k->n_folds > 0 || has_line_buffers)
        ip_emit_let_at_top(e, "long", "item",
                           ip_text(e->ir, "%s + ((long)%s * %s + %s) * %s + %s", ip_emit_slot(e, IP_SLOT_FIRST_ITEM),
                                   ip_emit_global_id(e, 2), ip_emit_slot(e, IP_SLOT_ITEMS_Y), ip_emit_global_id(e, 1),
                                   ip_emit_slot(e, IP_SLOT_ITEMS_X), ip_emit_global_id(e, 0)));
    if (has_line_buffers)
        ip_emit_let_at_top(e, "__global uchar *", "mine",
                           ip_text(e->ir, "scratch + ((long)%s + item * %s) * 64",
                                   ip_emit_slot(e, IP_SLOT_SCRATCH_START), ip_emit_slot(e, IP_SLOT_SCRATCH_EACH)));
}

/* Columns xa..xb of the strip's, one panel after the other (division.c, Note [Panels]); what follows is of a panel. */
static void enter_panels(ip_emit *e)
{
    const char *columns = ip_emit_slot(e, IP_SLOT_PANEL_COLUMNS);
    ip_stmt *loop = ip_s_add(e->ir, e->top, IP_S_FOR, "xa", "left", "right");
    loop->d = columns;
    loop->parallel = IP_FEW;
    e->top = e->block = loop;
    ip_s_add(e->ir, loop, IP_S_LET, "int", "xb", ip_text(e->ir, "min(xa + %s, right)", columns));
}

void ip_emit_rows(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    int warm_up = ip_kernel_halo(k);
    declare_planes(e);
    declare_span(e, 1, "ya", "yb", IP_SLOT_STRIP_ROWS, IP_Y0);
    bool in_panels = ip_kernel_walks_panels(k);
    declare_span(e, 0, in_panels ? "left" : "xa", in_panels ? "right" : "xb", IP_SLOT_STRIP_COLUMNS, IP_X0);
    declare_item(e);
    for (int i = 0; i < k->n_placed; i++) {
        ip_emit_uniforms(e, k->placed[i].stage->body);
        if (k->placed[i].pad_outside) ip_emit_uniforms(e, k->placed[i].pad_outside);
    }
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].place == IP_PLACE_TOTAL) ip_emit_fold_begin(e, k->placed[i].stage);
    ip_stmt *whole = e->top;
    if (in_panels) enter_panels(e);
    ip_emit_declare_panel_end(e);
    declare_line_buffers(e);
    declare_sums(e);
    ip_emit_declare_paces(e);
    ip_emit_declare_lines(e);
    ip_stmt *rows = ip_s_add(e->ir, e->top, IP_S_FOR, "y", warm_up ? ip_text(e->ir, "ya - %d", warm_up) : "ya", "yb");
    ip_mark mark = ip_emit_enter(e, rows);
    if (k->planes_at_once) ip_emit_enter(e, ip_emit_for(e, "z", "za", "zb"));
    emit_stages(e);
    ip_emit_leave(e, mark);
    e->top = e->block = whole;
    ip_emit_stream_end(e);
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].place == IP_PLACE_TOTAL) ip_emit_fold_end(e, k->placed[i].stage);
}
