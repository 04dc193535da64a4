/* SPDX-License-Identifier: MIT */
/*
 * Recurrences along x.
 *
 * Note [Lanes]
 * A step waits for the one before it, some 4 cycles for an addition of floats. So a work-item walks several lines at
 * once, one step of each in turn: neighbouring rows, or where lines are walked in blocks neighbouring blocks of a row.
 * What is left over, of lanes of different lengths, of steps at once and where there are fewer lanes, is walked one
 * lane after the other. Several channels are lanes already; bodies that compute much have enough to do.
 */
#include "compile/emit_scan.h"

#include <string.h>

typedef struct x_walk {
    ip_scan *w;
    int lanes;
    bool is_flat;    /* a lane's elements are told by i, from pointers to where it starts */
    int steps;       /* that are taken in turn of each lane: Note [Steps at once] */
    bool in_scratch; /* states stay in scratch memory: there are too many channels for variables */
    /* x: the column where it starts, from its pointers on */
    struct {
        struct ip_row *rows;
        int n_rows;
        const char *y, *x, *out;
    } lane[IP_SCAN_LANES];
} x_walk;

/* Row and first position of lane k, given as text. */
static const char *lane_row(x_walk *t, const char *k)
{
    return t->w->in_blocks ? "yg" : ip_text(t->w->e->ir, "yg + %s", k);
}

static const char *lane_start(x_walk *t, const char *k)
{
    return t->w->in_blocks ? ip_text(t->w->e->ir, "(block + %s) * %s", k, ip_scan_slot_name(t->w, IP_SCAN_STEPS)) : "0";
}

static const char *lane_length(x_walk *t, const char *start)
{
    const char *width = ip_emit_dim(t->w->e, t->w->s, 2);
    return t->w->in_blocks
               ? ip_text(t->w->e->ir, "min(%s, %s - %s)", ip_scan_slot_name(t->w, IP_SCAN_STEPS), width, start)
               : width;
}

static const char *let(x_walk *t, const char *type, const char *name, const char *value)
{
    ip_emit_let(t->w->e, type, name, value);
    return name;
}

static ip_names rest(x_walk *t, const char *lane, int c)
{
    ip_emit *e = t->w->e;
    return ip_scan_elements(t->w, "rest", ip_text_plus(e->ir, ip_text_times(e->ir, lane, e->channels), c));
}

/* The variables of channel c's states. */
static ip_names variables(x_walk *t, const char *prefix, int c)
{
    return ip_scan_named(t->w, ip_text(t->w->e->ir, "%s_s%d", prefix, c));
}

/* The x of position i of a lane that begins at position from. */
static const char *column(x_walk *t, const char *from)
{
    return ip_scan_coordinate(t->w, ip_text(t->w->e->ir, "%s + i", from));
}

/* ---- steps ------------------------------------------------------------------------------------- */

/* A step of channel c, whose states are the variables of that prefix. */
static void step(x_walk *t, int c, const char *prefix, const char *out, const char *x)
{
    ip_scan *w = t->w;
    ip_emit *e = w->e;
    const ip_names state = variables(t, prefix, c), next = ip_scan_body(w, c, &state);
    if (w->phase == IP_SCAN_RESULT)
        ip_scan_store(w, c, &next, &state, out, e->flat ? e->flat : ip_emit_pixel_index(e, x, c));
    ip_scan_set(w, &state, &next);
}

/* Copies states between the variables of a lane and rest[]. */
static void load_states(x_walk *t, const char *prefix, const char *lane, bool back)
{
    for (int c = 0; c < t->w->e->channels; c++) {
        const ip_names variable = variables(t, prefix, c), cell = rest(t, lane, c);
        if (back)
            ip_scan_set(t->w, &cell, &variable);
        else
            ip_scan_declare(t->w, IP_S_VAR, &variable, &cell);
    }
}

/* All channels of a pixel, with states in scratch memory. */
static void step_in_scratch(x_walk *t, const char *out, bool is_init)
{
    ip_scan *w = t->w;
    ip_emit *e = w->e;
    ip_stmt *loop = ip_emit_for(e, "c", "0", ip_text(e->ir, "%d", e->channels));
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = e->kernel->walk.width;
    ip_mark mark = ip_emit_enter(e, loop);
    e->coord[3] = "c";
    const ip_names state = ip_scan_elements(w, "state", "c"), before = ip_scan_named(w, "before");
    if (is_init) {
        const ip_names init = ip_scan_init(w, -1);
        ip_scan_set(w, &state, &init);
    } else {
        ip_scan_declare(w, IP_S_LET, &before, &state);
        const ip_names next = ip_scan_body(w, -1, &before);
        ip_scan_set(w, &state, &next);
        if (w->phase == IP_SCAN_RESULT) ip_scan_store(w, -1, &next, &before, out, ip_emit_pixel_index(e, "x", 0));
    }
    e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

/* ---- lanes at once ------------------------------------------------------------------------------- */

/*
 * Note [Lanes that stream]
 * Steps of all lanes are taken IP_SCAN_PIECE at a time. A piece of each lane's results is made in a part of the
 * work-item's line, and goes to memory from there (emit_stream.c). The next piece of each lane is prefetched meanwhile,
 * behind its last one the first piece of a lane of the next group: processors foresee eight runs of memory that end
 * soon badly.
 */
static bool lanes_stream(const x_walk *t) { return t->lanes > 1 && ip_scan_streams(t->w) && !t->w->s->backward; }

static bool lanes_prefetch(const x_walk *t)
{
    return t->lanes > 1 && t->w->in_blocks && !t->w->s->backward &&
           strcmp(ip_emit_prefetches(t->w->e, t->w->s->body), "0") != 0;
}

static const char *line_of_lane(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    int bytes = IP_SCAN_PIECE * e->channels * (int)ip_dtype(t->w->s->dtype)->size_bytes;
    return ip_text(e->ir, "(line + %d)", k * (bytes + IP_SCAN_PIECE_ENDS));
}

/* Where lane k's results of positions i0 .. are to be made, as text addressed like out_k. */
static void enter_piece(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    const char *type = ip_text(e->ir, "__global %s *", ip_dtype(t->w->s->dtype)->cl),
               *name = ip_text(e->ir, "piece_%d", k);
    ip_emit_let(e, type, name,
                ip_text(e->ir, "%s ? (%s)(%s + at_%d) - (long)(%s + i0) * %d : out_%d", ip_emit_streams(e), type,
                        line_of_lane(t, k), k, t->lane[k].x, e->channels, k));
    t->lane[k].out = name;
}

static void leave_piece(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    int pixel = e->channels * (int)ip_dtype(t->w->s->dtype)->size_bytes;
    ip_emit_do(
        e, ip_text(e->ir,
                   "ip_stream((__global uchar *)(out_%d + (long)(%s + i0) * %d) - at_%d, %s, at_%d + (i1 - i0) * %d, "
                   "i0 == 0 ? at_%d : 0, "
                   "i1 == common)",
                   k, t->lane[k].x, e->channels, k, line_of_lane(t, k), k, pixel, k));
}

/*
 * Pointers to where lane k starts, so that its elements are told by i alone.
 */
static void point_to_start(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    for (int r = 0; r < t->lane[k].n_rows; r++) {
        struct ip_row *row = &t->lane[k].rows[r];
        row->pointer = let(t, ip_text(e->ir, "__global const %s *", ip_dtype(row->stage->dtype)->cl),
                           ip_text(e->ir, "%s_%d", row->pointer, k),
                           ip_text(e->ir, "%s + (long)%s * %d", row->pointer, t->lane[k].x, e->channels));
    }
    if (t->w->phase == IP_SCAN_RESULT)
        t->lane[k].out =
            let(t, ip_text(e->ir, "__global %s *", ip_dtype(t->w->s->dtype)->cl), ip_text(e->ir, "out_%d", k),
                ip_text(e->ir, "%s + (long)%s * %d", t->lane[k].out, t->lane[k].x, e->channels));
    t->lane[k].x = "0";
}

/* Declares what steps of lane k need, and puts it aside: rows of several lanes are known at once. */
static void prepare_lane(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    const char *number = ip_text(e->ir, "%d", k);
    t->lane[k].y = let(t, "int", ip_text(e->ir, "y_%d", k), lane_row(t, number));
    t->lane[k].x = let(t, "int", ip_text(e->ir, "from_%d", k), lane_start(t, number));
    load_states(t, ip_text(e->ir, "l%d", k), number, false);
    t->lane[k].out = ip_scan_out(t->w, ip_text(e->ir, t->is_flat ? "row_%d" : "out_%d", k), "z", t->lane[k].y);
    ip_mark mark = ip_emit_enter(e, e->block);
    e->coord[1] = t->lane[k].y;
    ip_scan_row_pointers(t->w, false);
    int n = e->n_rows - mark.n_rows;
    t->lane[k].rows = ip_ir_alloc(e->ir, (size_t)n + 1, sizeof *e->rows);
    for (int r = 0; t->lane[k].rows && r < n; r++)
        t->lane[k].rows[r] = e->rows[mark.n_rows + r];
    t->lane[k].n_rows = t->lane[k].rows ? n : 0;
    ip_emit_leave(e, mark);
    if (t->is_flat) point_to_start(t, k);
}

/* The pointers that prepare_lane() put aside. They start at the lane, so those that find no place cannot be declared
 * again as others are: then nothing is compiled. */
static void enter_lane_rows(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    if (e->n_rows + t->lane[k].n_rows > (int)(sizeof e->rows / sizeof *e->rows)) {
        e->ir->failed = true;
        t->lane[k].n_rows = 0;
    }
    for (int r = 0; r < t->lane[k].n_rows; r++)
        e->rows[e->n_rows++] = t->lane[k].rows[r];
    e->coord[1] = t->lane[k].y;
}

static void prefetch_pieces(x_walk *t)
{
    ip_emit *e = t->w->e;
    let(t, "int", "ahead",
        ip_text(e->ir, "i1 < common ? i1 : %d * %s", t->lanes, ip_scan_slot_name(t->w, IP_SCAN_STEPS)));
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, ip_emit_prefetches(e, t->w->s->body)));
    for (int k = 0; k < t->lanes; k++) {
        ip_mark in_lane = ip_emit_enter(e, e->block);
        enter_lane_rows(t, k);
        ip_emit_prefetch_at(e, t->w->s->body, ip_text(e->ir, "%s + ahead", t->lane[k].x), "i1 - i0");
        ip_emit_leave(e, in_lane);
    }
    ip_emit_leave(e, mark);
}

static void step_lane(x_walk *t, int k, const char *flat)
{
    ip_emit *e = t->w->e;
    const char *x = t->is_flat ? NULL : let(t, "int", ip_text(e->ir, "x_%d", k), column(t, t->lane[k].x));
    e->flat = t->is_flat ? flat : NULL;
    e->coord[2] = x;
    for (int c = 0; c < e->channels; c++)
        step(t, c, ip_text(e->ir, "l%d", k), t->steps > 1 ? ip_text(e->ir, "(%s + i)", t->lane[k].out) : t->lane[k].out,
             x);
    e->flat = NULL;
    e->coord[2] = NULL;
}

/*
 * Note [Steps at once]
 * Of short bodies several steps of each lane are written out, and what they read is read as one vector. Compilers that
 * see single elements of eight lanes gather them, which takes longer than the steps.
 */
static void read_steps(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    for (int r = 0; r < t->lane[k].n_rows; r++) {
        struct ip_row *row = &e->rows[e->n_rows - t->lane[k].n_rows + r];
        const char *read = ip_text(e->ir, "read_%s", row->pointer);
        ip_emit_var(e, ip_dtype(row->stage->dtype)->cl, ip_text(e->ir, "%s[%d]", read, t->steps), NULL);
        ip_emit_do(e, ip_text(e->ir, "vstore%d(vload%d(0, %s + i), 0, %s)", t->steps, t->steps, row->pointer, read));
        row->pointer = read;
    }
}

static void steps_of_lane(x_walk *t, int k)
{
    ip_emit *e = t->w->e;
    ip_mark mark = ip_emit_enter(e, e->block);
    enter_lane_rows(t, k);
    if (t->steps > 1) read_steps(t, k);
    for (int i = 0; i < t->steps; i++) {
        ip_mark in_step = ip_emit_enter(e, e->block);
        step_lane(t, k, t->steps > 1 ? ip_text(e->ir, "%d", i) : "i");
        ip_emit_leave(e, in_step);
    }
    ip_emit_leave(e, mark);
}

/* Steps i0 to i1 of all lanes. */
static void enter_pieces(x_walk *t, bool streams)
{
    ip_emit *e = t->w->e;
    if (streams)
        for (int k = 0; k < t->lanes; k++)
            let(t, "int", ip_text(e->ir, "at_%d", k),
                ip_text(e->ir, "(int)((ulong)(out_%d + (long)%s * %d) & 63)", k, t->lane[k].x, e->channels));
    ip_stmt *pieces = ip_emit_for(e, "i0", "0", "common");
    pieces->d = ip_text(e->ir, "%d", IP_SCAN_PIECE);
    ip_emit_enter(e, pieces);
    let(t, "int", "i1", ip_text(e->ir, "min(i0 + %d, common)", IP_SCAN_PIECE));
    if (lanes_prefetch(t)) prefetch_pieces(t);
    if (streams)
        for (int k = 0; k < t->lanes; k++)
            enter_piece(t, k);
}

static void lanes_at_once(x_walk *t)
{
    ip_emit *e = t->w->e;
    const char *last = let(t, "int", "from_last", lane_start(t, ip_text(e->ir, "%d", t->lanes - 1)));
    const char *length = ip_text(e->ir, t->steps > 1 ? "%s / %d * %d" : "%s", lane_length(t, last), t->steps, t->steps);
    let(t, "int", "common", ip_text(e->ir, "lanes == %d ? %s : 0", t->lanes, length));
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, "common > 0"));
    for (int k = 0; k < t->lanes; k++)
        prepare_lane(t, k);
    bool streams = lanes_stream(t), in_pieces = streams || lanes_prefetch(t);
    ip_mark in_piece = { e->block, e->n_trail, e->n_rows };
    if (in_pieces) enter_pieces(t, streams);
    ip_stmt *loop = ip_emit_for(e, "i", in_pieces ? "i0" : "0", in_pieces ? "i1" : "common");
    if (t->steps > 1) loop->d = ip_text(e->ir, "%d", t->steps);
    ip_mark in_loop = ip_emit_enter(e, loop);
    for (int k = 0; k < t->lanes; k++)
        steps_of_lane(t, k);
    ip_emit_leave(e, in_loop);
    if (streams) {
        e->block = ip_emit_if(e, ip_emit_streams(e));
        for (int k = 0; k < t->lanes; k++)
            leave_piece(t, k);
    }
    ip_emit_leave(e, in_piece);
    for (int k = 0; k < t->lanes; k++)
        load_states(t, ip_text(e->ir, "l%d", k), ip_text(e->ir, "%d", k), true);
    ip_emit_leave(e, mark);
}

/* ---- one lane ---------------------------------------------------------------------------------------- */

/* Row and states of lane k, a variable. */
static void enter_lane(x_walk *t)
{
    ip_scan *w = t->w;
    ip_emit *e = w->e;
    const char *y0 = ip_scan_bound(w, IP_Y0), *z0 = ip_scan_bound(w, IP_Z0);
    let(t, "int", "y", lane_row(t, "k"));
    e->coord[1] = "y";
    if (!t->in_scratch && !w->in_blocks) return;
    let(t, "int", "group", ip_text(e->ir, "(z - %s) * (%s - %s) + y - %s", z0, ip_scan_bound(w, IP_Y1), y0, y0));
    const char *groups =
        w->n == 1 ? "1"
                  : ip_text(e->ir, "(%s - %s) * (%s - %s)", ip_scan_bound(w, IP_Z1), z0, ip_scan_bound(w, IP_Y1), y0);
    ip_scan_states(w, "state", &(ip_scan_cells){ groups, "group", "block + k", ip_text(e->ir, "%d", e->channels) });
}

/* Sets the states that lane k begins with: init, or the carry that scratch memory holds. */
static void begin_lane(x_walk *t)
{
    ip_scan *w = t->w;
    ip_emit *e = w->e;
    bool carries = w->phase == IP_SCAN_RESULT && w->in_blocks;
    if (!carries) {
        let(t, "int", "first", ip_scan_coordinate(w, "0"));
        e->coord[2] = "first";
        ip_scan_row_pointers(w, true);
    }
    if (t->in_scratch && !carries) step_in_scratch(t, NULL, true);
    for (int c = 0; !t->in_scratch && c < e->channels; c++) {
        const ip_names cell = rest(t, "k", c),
                       start = carries ? ip_scan_elements(w, "state", ip_text(e->ir, "%d", c)) : ip_scan_init(w, c);
        ip_scan_set(w, &cell, &start);
    }
    e->coord[2] = NULL;
}

/* Walks what is left of lane k. */
static void end_lane(x_walk *t)
{
    ip_scan *w = t->w;
    ip_emit *e = w->e;
    if (!t->in_scratch) load_states(t, "l", "k", false);
    ip_scan_row_pointers(w, false);
    ip_scan_out(w, "out", "z", "y");
    let(t, "int", "from", lane_start(t, "k"));
    ip_stmt *loop = ip_emit_for(e, "i", t->lanes > 1 ? "common" : "0", lane_length(t, "from"));
    ip_mark mark = ip_emit_enter(e, loop);
    let(t, "int", "x", column(t, "from"));
    e->coord[2] = "x";
    if (t->in_scratch) step_in_scratch(t, "out", false);
    for (int c = 0; !t->in_scratch && c < e->channels; c++)
        step(t, c, "l", "out", "x");
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
    for (int c = 0; !t->in_scratch && w->phase == IP_SCAN_TOTALS && c < e->channels; c++) {
        const ip_names state = ip_scan_elements(w, "state", ip_text(e->ir, "%d", c)), total = variables(t, "l", c);
        ip_scan_set(w, &state, &total);
    }
}

static void for_each_lane(x_walk *t, void (*fn)(x_walk *t))
{
    ip_emit *e = t->w->e;
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "k", "0", "lanes"));
    enter_lane(t);
    fn(t);
    e->coord[1] = NULL;
    ip_emit_leave(e, mark);
}

/* ---- the kernels ---------------------------------------------------------------------------------------- */

/* The lanes that start at row yg and, in blocks, at `block`. */
static void walk_group(x_walk *t)
{
    ip_scan *w = t->w;
    ip_emit *e = w->e;
    const char *left = w->in_blocks ? ip_text(e->ir, "%s - block", ip_scan_slot_name(w, IP_SCAN_BLOCKS)) : "yb - yg";
    let(t, "int", "lanes", ip_text(e->ir, "min(%d, %s)", t->lanes, left));
    const ip_names cells = ip_scan_elements(w, "rest", ip_text(e->ir, "%d", t->lanes * e->channels));
    if (!t->in_scratch) ip_scan_declare(w, IP_S_VAR, &cells, NULL);
    for_each_lane(t, begin_lane);
    if (t->lanes > 1) lanes_at_once(t);
    for_each_lane(t, end_lane);
}

static void carry_row(x_walk *t)
{
    ip_scan *w = t->w;
    ip_emit *e = w->e;
    enter_lane(t);
    const char *unit = ip_text(e->ir, "%d", e->channels);
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "c", "0", unit));
    ip_scan_carry(w, "state", "c", unit);
    ip_emit_leave(e, mark);
    e->coord[1] = NULL;
}

void ip_emit_scan_x(ip_scan *w)
{
    ip_emit *e = w->e;
    const ip_recurrence *walk = &e->kernel->walk;
    x_walk t = { .w = w,
                 .lanes = walk->lanes,
                 .steps = walk->steps,
                 .is_flat = walk->is_flat,
                 .in_scratch = e->channels > IP_WRITTEN_CHANNELS };
    bool carries = w->phase == IP_SCAN_CARRY;
    e->args.has_scratch |= t.in_scratch || w->in_blocks;
    if (lanes_stream(&t)) ip_scan_declare_line(w);
    ip_scan_item(w, 1, "item_y");
    ip_scan_item(w, 2, "item_z");
    ip_scan_span(w, "ya", "yb", "item_y", IP_Y0);
    let(&t, "int", "z", ip_text(e->ir, "item_z + %s", ip_scan_bound(w, IP_Z0)));
    if (w->in_blocks && !carries) {
        ip_scan_item(w, 0, "item_x");
        let(&t, "int", "block", ip_text(e->ir, "item_x * %d", t.lanes));
    } else if (w->in_blocks) {
        let(&t, "int", "block", "0");
    }
    e->coord[0] = "z";
    ip_stmt *loop = ip_s_add(e->ir, e->top, IP_S_FOR, "yg", "ya", "yb");
    loop->d = ip_text(e->ir, "%d", w->in_blocks ? 1 : t.lanes);
    ip_mark mark = ip_emit_enter(e, loop);
    if (carries) {
        let(&t, "int", "k", "0");
        carry_row(&t);
    } else {
        walk_group(&t);
    }
    ip_emit_leave(e, mark);
    e->coord[0] = NULL;
}
