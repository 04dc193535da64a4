/* SPDX-License-Identifier: MIT */
/*
 * Columns of a source as rows.
 *
 * Note [Transposed reads]
 * Where an element's column comes from its row and its row from its column, as in a transpose, a row of the result is a
 * column of the source: one element of each of many rows that lie far apart, and the next row of the result wants their
 * neighbours. So some rows of the result, as many as make 64 to 128 bytes of a row of the source, are copied together:
 * of each row of the source those bytes, from one end to the other, to a column of a line buffer that stays in the
 * caches of a core, most of it in the first one. What reads them then reads rows. What the next copy will want of a row
 * of the source stands beside, and is prefetched.
 *
 * Note [Walking planes]
 * Where it is the plane that an element's column comes from, as in permute(a, [2, 1, 0]), the same is done with planes
 * for rows: a work-item walks the rows of several planes, and of each row makes all of these before it goes on. Nothing
 * else may be kept from row to row. So it does where planes read different elements of one row, as where channels
 * become planes: the row is in the first cache for all but one. Each plane is written elsewhere. Rows that are too
 * short to stream (emit_stream.c) are prefetched two rows ahead, since a processor reads a line before it writes to it,
 * and does not foresee those of as many places: permute(a, [2, 0, 1]) of [6000, 50, 20] floats took a third longer.
 *
 * Note [Transposed tiles]
 * A GPU reads memory by sectors, of which a column of small pixels uses one pixel each. So a tile is filled by rows of
 * the source: neighbouring work-items take elements beside each other there, which lie below each other in the tile.
 * The tile's pitch puts these into different banks (place_tiles.c, Note [Banks]). What reads the tile reads rows.
 */
#include "base/dtype.h"
#include "compile/emit_tiles.h"

static int axis_of(const ip_placed *p) { return p->is_deep ? 0 : 1; }

/* The column of the source that is read for a row, or a plane. */
static const char *column_at(ip_emit *e, const ip_placed *p, const char *row)
{
    ip_mark mark = { e->block, e->n_trail, e->n_rows };
    const char **coord = &e->coord[axis_of(p)], *old = *coord;
    *coord = row;
    const char *column = ip_emit_value(e, p->stage->body->arg[2]);
    *coord = old;
    ip_emit_leave(e, mark);
    return column;
}

/* The first pixel of those that a row of the source has for rows row .. row + n. */
static const char *first_of_run(ip_emit *e, const ip_placed *p, const char *from, const char *row)
{
    const char *one = column_at(e, p, row), *other = column_at(e, p, ip_text(e->ir, "(%s + n - 1)", row));
    return ip_text(e->ir, "%s + (long)min(%s, %s) * %d", from, one, other, (int)p->source->dims[3]);
}

/*
 * What stands beside is read for the next copy. Where nothing does, and where planes are walked so that the column is
 * the source's row, what is read some rows later: a page's worth of them.
 */
static void prefetch_next(ip_emit *e, const ip_placed *p, const char *from, const char *row)
{
    enum { PAGE_BYTES = 4096 };
    const ip_stage *source = p->source;
    int size = (int)ip_dtype(source->dtype)->size_bytes, pixel = (int)source->dims[3] * size;
    if (!e->options->device.has_clang_builtins || (p->is_deep && !(p->stage->body->arg[1]->uses & IP_USES_X))) return;
    const char *pitch = ip_emit_slot_of(e, IP_SLOT_PITCH, source);
    const char *later = ip_text(e->ir, "%s + (%d / ((long)%s * %d) + 1) * %s", first_of_run(e, p, from, row),
                                PAGE_BYTES, pitch, size, pitch);
    const char *beside = p->is_deep ? NULL : first_of_run(e, p, from, ip_text(e->ir, "(%s + n)", row));
    if (beside) later = ip_text(e->ir, "(%s + n < %s ? %s : %s)", row, ip_emit_dim(e, p->stage, 1), beside, later);
    e->block = ip_emit_if(e, ip_emit_slot(e, IP_SLOT_PREFETCHES));
    ip_emit_do(e, ip_text(e->ir, "ip_prefetch((__global const uchar *)(%s), %s * %d)", later,
                          beside ? ip_text(e->ir, "%d", p->at_once) : "n", pixel));
}

/* Rows row .. row + n of pixel x, lanes channels at a time. */
static void move_pixels(ip_emit *e, const ip_placed *p, const char *from, const char *row, int lanes)
{
    const char *type = p->stage->dtype == IMGPAR_F16 ? "ushort" : ip_dtype(p->stage->dtype)->cl; /* bits */
    const char *pitch = ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, p->stage);
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "j", "0", "n"));
    const char *column = column_at(e, p, ip_text(e->ir, "(%s + j)", row));
    const char *read = ip_text(e->ir, "(__global const %s *)%s + (long)%s * %d", type, from, column, e->channels);
    const char *written = ip_text(e->ir, "(__global %s *)kept + j * %s + x * %d", type, pitch, e->channels);
    /* compilers may take a vector of bytes apart */
    bool is_word = lanes == 4 && ip_dtype(p->stage->dtype)->size_bytes == 1;
    if (is_word) {
        ip_emit_do(e, "struct __attribute__((packed)) word { uint bits; }");
        ip_emit_do(e,
                   ip_text(e->ir, "((__global struct word *)(%s))->bits = ((__global const struct word *)(%s))->bits",
                           written, read));
    } else {
        ip_emit_do(e, ip_text(e->ir, "vstore%d(vload%d(0, %s), 0, %s)", lanes, lanes, read, written));
    }
    ip_emit_leave(e, mark);
}

/* Whether behind the last pixel that is read of a row there are n more. */
static const char *has_columns_behind(ip_emit *e, const ip_placed *p, const char *row, int n)
{
    const char *one = column_at(e, p, row), *other = column_at(e, p, ip_text(e->ir, "(%s + n - 1)", row));
    return ip_text(e->ir, "max(%s, %s) + %d < %s", one, other, n, ip_emit_dim(e, p->source, 2));
}

/* Three channels move as four, of which the last goes where the next pixel will: not where there is none. */
static void move_line(ip_emit *e, const ip_placed *p, const char *from, const char *row, const char *xb)
{
    if (e->channels != 3) {
        move_pixels(e, p, from, row, e->channels);
        return;
    }
    ip_emit_let_int(e, "has_next", ip_text(e->ir, "x + 1 < %s & %s", xb, has_columns_behind(e, p, row, 1)));
    for (int k = 0; k < 2; k++) {
        ip_mark mark = ip_emit_enter(e, ip_emit_if(e, k == 0 ? "has_next" : "!has_next"));
        move_pixels(e, p, from, row, k == 0 ? 4 : 3);
        ip_emit_leave(e, mark);
    }
}

static void move_elements(ip_emit *e, const ip_placed *p, const char *row)
{
    const ip_stage *s = p->stage;
    const char **coord = &e->coord[axis_of(p)], *old = *coord;
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "j", "0", "n"));
    ip_emit_let_int(e, "across", ip_text(e->ir, "%s + j", row));
    ip_emit_let(e, ip_text(e->ir, "__global %s *", ip_dtype(s->dtype)->cl), "to",
                ip_text(e->ir, "kept + j * %s", ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, s)));
    *coord = "across";
    e->coord[3] = "0";
    if (e->channels > 1) {
        ip_emit_enter(e, ip_emit_for(e, "c", "0", ip_text(e->ir, "%d", e->channels)));
        e->coord[3] = "c";
    }
    ip_emit_count_uses(e, (ip_expr *[]){ s->body }, 1);
    ip_emit_store(e, s, "to", e->channels > 1 ? ip_text(e->ir, "x * %d + c", e->channels) : "x",
                  ip_emit_value(e, s->body));
    *coord = old;
    e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

/* The unsigned type of an element's bits, where helpers.cl turns rows of such pixels; else NULL. */
static const char *turned_type(const ip_emit *e, const ip_placed *p)
{
    static const char *const types[] = { [1] = "uchar", [2] = "ushort", [4] = "uint" };
    size_t size = ip_dtype(p->stage->dtype)->size_bytes;
    bool fits = (e->channels == 1 && size <= 4) || (e->channels == 3 && size <= 2);
    return fits && !e->options->checks ? types[size] : NULL;
}

/* Four rows of the source at once; what is left begins at the column that is returned. */
static const char *turn_rows(ip_emit *e, const ip_placed *p, const char *type, const char *xa, const char *xb,
                             const char *row)
{
    enum { ROWS = 4, PIXELS_BEHIND = 2 };
    const char *at[ROWS] = { "x", "(x + 1)", "(x + 2)", "(x + 3)" }, *from[ROWS];
    const ip_expr *load = p->stage->body, *column = load->arg[2];
    bool back = column->op == IP_X_SUB && !(column->arg[0]->uses & IP_USES_COORDS);
    const char *end = ip_text(e->ir, "%s + (%s - %s) / %d * %d", xa, xb, xa, ROWS, ROWS);
    ip_emit_let_int(
        e, "turned",
        e->channels == 1 ? end : ip_text(e->ir, "%s ? %s : %s", has_columns_behind(e, p, row, PIXELS_BEHIND), end, xa));
    ip_stmt *loop = ip_emit_for(e, "x", xa, "turned");
    loop->d = ip_text(e->ir, "%d", ROWS);
    ip_mark mark = ip_emit_enter(e, loop);
    for (int k = 0; k < ROWS; k++) {
        ip_mark in_row = { e->block, e->n_trail, e->n_rows };
        e->coord[2] = at[k];
        from[k] = ip_emit_row_pointer(e, load);
        prefetch_next(e, p, from[k], row);
        ip_emit_leave(e, in_row);
    }
    const char *read = ip_text(e->ir, "__global const %s *", type);
    ip_emit_do(e, ip_text(e->ir,
                          "ip_turn_%s%s((%s)%s, (%s)%s, (%s)%s, (%s)%s, %s, n, %d, (__global %s *)kept + x * %d, %s)",
                          type, e->channels == 3 ? "3" : "", read, from[0], read, from[1], read, from[2], read, from[3],
                          column_at(e, p, row), back, type, e->channels,
                          ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, p->stage)));
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
    return "turned";
}

void ip_emit_transposed_rows(ip_emit *e, const ip_placed *p, const char *xa, const char *xb, const char *row,
                             const char *first)
{
    const ip_expr *load = p->stage->body;
    const char *type = ip_text(e->ir, "__global %s *", ip_dtype(p->stage->dtype)->cl),
               *pitch = ip_emit_slot_of(e, IP_SLOT_LINE_BUFFER_PITCH, p->stage);
    const char *test = p->is_deep ? "z == za" : ip_text(e->ir, "%s %% %d == 0 | %s == %s", row, p->at_once, row, first);
    const char *n = p->is_deep ? "zb - za"
                               : ip_text(e->ir, "min(%d - %s %% %d, min(yb + %d, %s) - %s)", p->at_once, row,
                                         p->at_once, p->lead, ip_emit_dim(e, p->stage, 1), row);
    const char *kept = p->is_deep
                           ? ip_emit_storage(e, p->stage)
                           : ip_text(e->ir, "%s + (%s %% %d) * %s", ip_emit_storage(e, p->stage), row, p->rows, pitch);
    ip_mark before = ip_emit_enter(e, ip_emit_if(e, test));
    ip_emit_let_int(e, "n", n);
    ip_emit_let(e, type, "kept", kept);
    if (p->is_deep) row = "za";
    const char *turned = turned_type(e, p);
    if (turned) xa = turn_rows(e, p, turned, xa, xb, row);
    ip_emit_enter(e, ip_emit_for(e, "x", xa, xb));
    e->coord[2] = "x";
    const char *from = ip_emit_row_pointer(e, load);
    ip_mark in_line = { e->block, e->n_trail, e->n_rows };
    prefetch_next(e, p, from, row);
    ip_emit_leave(e, in_line);
    if (e->channels >= 2 && e->channels <= 4 && !e->options->checks)
        move_line(e, p, from, row, xb);
    else
        move_elements(e, p, row);
    e->coord[2] = NULL;
    ip_emit_leave(e, before);
}

/* ---- tiles --------------------------------------------------------------------------------------- */

void ip_emit_transposed_tile(ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    const ip_tiling *t = &e->kernel->tiling;
    const ip_tile_range rows = ip_tile_span(e, p, true), columns = ip_tile_span(e, p, false);
    const char *n = ip_text_times(e->ir, ip_text(e->ir, "(%s - %s)", rows.to, rows.from), e->channels), *pixel = "x";
    ip_stmt *loop = ip_emit_for(e, "x", ip_text(e->ir, "%s + ly", columns.from), columns.to);
    loop->d = ip_text(e->ir, "%d", t->group_height);
    ip_mark mark = ip_emit_enter(e, loop);
    ip_stmt *elements = ip_emit_for(e, "k", "lx", n);
    elements->d = ip_text(e->ir, "%d", t->group_width);
    ip_emit_enter(e, elements);
    const char *below = "k";
    if (e->channels > 1) { /* no remainder: emit_blocks.c */
        ip_emit_let_int(e, "below", ip_text(e->ir, "k / %d", e->channels));
        ip_emit_let_int(e, "c", ip_text(e->ir, "k - below * %d", e->channels));
        below = "below";
        pixel = ip_text(e->ir, "x * %d + c", e->channels);
    }
    ip_emit_let_int(e, "y", ip_text(e->ir, "%s + %s", rows.from, below));
    e->coord[0] = "z";
    e->coord[1] = "y";
    e->coord[2] = "x";
    e->coord[3] = e->channels > 1 ? "c" : "0";
    ip_emit_count_uses(e, (ip_expr *[]){ s->body }, 1);
    ip_emit_store(e, s, ip_tile_target_of(e, p, "y").row, ip_text(e->ir, "%s - %s", pixel, ip_emit_tile_left(e, s)),
                  ip_emit_value(e, s->body));
    e->coord[0] = e->coord[1] = e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}
