/* SPDX-License-Identifier: MIT */
/*
 * The tiles schedule, second half (the first is place_tiles.c): a kernel whose work-groups each make a tile of the
 * output.
 *
 *     for each stage: its tile, grown by what later stages read around it
 *         for rows of the tile, a row of work-items each:
 *             for elements of the row, a work-item each: compute it from tiles of earlier stages or from memory
 *         barrier
 *
 * Where tiles slide, and where there are folds, a group makes the tiles of a strip one after the other; where they
 * slide, it moves up the rows that are kept before the first stage.
 *
 * The first stages are copies of the sources, so memory is read once, in whole rows. Where channels do not interact
 * neighbouring work-items take neighbouring elements of the flat index x * channels + c, else neighbouring pixels.
 *
 * Note [Filling edges]
 * An element of a tile that lies beyond the edges of its domain is what its readers' border rule says: it is computed
 * from the coordinates that the rule maps its own to. Those are in the tile too (reach.c, Note [Reading near edges]),
 * so what they read is there. Readers apply no border.
 *
 * Note [Words]
 * A GPU moves 32 bits a work-item as quickly as 8. Small elements are copied from a source as whole words, which start
 * at multiples of 4 bytes of the buffer: the row's own begin is shifted into place (tiles at the edges go element by
 * element, and so does checked mode, which looks at every one). Of results emit_words.c tells.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/emit_fold.h"
#include "compile/emit_tiles.h"
#include "graph/array.h"

const char *ip_emit_tile_top(ip_emit *e, const ip_stage *stage)
{
    return ip_text(e->ir, "top_%s", ip_emit_storage(e, stage));
}
const char *ip_emit_tile_left(ip_emit *e, const ip_stage *stage)
{
    return ip_text(e->ir, "left_%s", ip_emit_storage(e, stage));
}

static const char *number(ip_emit *e, int n) { return ip_text(e->ir, "%d", n); }
static const char *times(ip_emit *e, const char *x, int n) { return n == 1 ? x : ip_text(e->ir, "%s * %d", x, n); }

/* ---- which rows, which columns ------------------------------------------------------------ */

const char *ip_tile_first_row(ip_emit *e, const ip_placed *p)
{
    if (ip_tile_grows(e->kernel, p)) return ip_text(e->ir, "new_%s", ip_emit_storage(e, p->stage));
    return ip_text_plus(e->ir, "ya", p->first);
}

ip_tile_range ip_tile_span(ip_emit *e, const ip_placed *p, bool rows)
{
    int before = rows ? -p->first : p->left, behind = rows ? p->lead : p->right, pad = rows ? p->pad_rows : p->pad;
    const char *from = rows ? "ya" : "xa", *to = rows ? "yb" : "xb";
    if (before == 0 && behind == 0) return (ip_tile_range){ from, to };
    const char *extent = ip_emit_dim(e, p->stage, rows ? 1 : 2);
    const char *first = rows ? ip_tile_first_row(e, p) : ip_text(e->ir, "xa - %d", before);
    return (
        ip_tile_range){ ip_text(e->ir, "max(%s, %d)", first, -pad),
                        ip_text(e->ir, pad ? "min(%s + %d, %s + %d)" : "min(%s + %d, %s)", to, behind, extent, pad) };
}

/* A loop whose iterations the work-items of the group take in turns: `id` of `n` begins with the id-th. from NULL:
 * 0. */
static ip_stmt *shared_loop(ip_emit *e, const char *var, const char *from, const char *to, const char *id, int n)
{
    ip_stmt *loop = ip_emit_for(e, var, from ? ip_text(e->ir, "%s + %s", from, id) : id, to);
    loop->d = number(e, n);
    return loop;
}

/* ---- one element --------------------------------------------------------------------------- */

static const char *edged(ip_emit *e, const ip_tile_target *t, const char *value)
{
    return t->outside ? ip_text(e->ir, "%s ? %s : %s", t->outside, ip_emit_value(e, t->value_outside), value) : value;
}

/* place: index of the element in its row, beyond the domain's edges, too; `own` tells whether it is of the tile
 * itself. */
static void put(ip_emit *e, const ip_tile_target *t, const char *place, const char *value, const char *own)
{
    const ip_stage *s = t->p->stage;
    if (t->p->place != IP_PLACE_TILE) {
        ip_emit_store(e, s, t->row, place, value);
        return;
    }
    ip_emit_store(e, s, t->row, ip_text(e->ir, "%s - %s", place, ip_emit_tile_left(e, s)), edged(e, t, value));
    if (!t->stored) return;
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, own));
    ip_emit_store_output(e, s, t->stored, place, value);
    ip_emit_leave(e, mark);
}

static const char *is_outside(ip_emit *e, const ip_placed *p, const char *x, const char *column)
{
    if (p->pad_border != IMGPAR_BORDER_CONSTANT || (p->pad == 0 && p->pad_rows == 0)) return NULL;
    if (p->pad == 0) return "(y != row)";
    return ip_text(e->ir, p->pad_rows ? "(y != row | %s != %s)" : "(%s != %s)", x, column);
}

const char *ip_tile_variable(const ip_placed *p, bool flat)
{
    if (flat) return p->pad ? "at" : "i";
    return p->pad ? "column" : "x";
}

/* Channels do not interact: one element. */
static void compute_element(ip_emit *e, ip_tile_target t)
{
    const ip_placed *p = t.p;
    const ip_stage *s = p->stage;
    const char *at = ip_tile_variable(p, true);
    if (p->pad) { /* at may be below 0; a division that truncates wants it above */
        const char *width = ip_emit_dim(e, s, 2), *bias = number(e, p->pad * e->channels);
        ip_emit_let_int(e, "column", ip_text(e->ir, "(at + %s) / %d - %d", bias, e->channels, p->pad));
        ip_emit_let_int(
            e, "i",
            ip_text(e->ir, "at + (%s - column) * %d", ip_emit_border(e, p->pad_border, "column", width), e->channels));
    }
    t.outside = is_outside(e, p, "i", "at");
    t.value_outside = p->pad_outside;
    e->flat = "i";
    ip_emit_count_uses(e, (ip_expr *[]){ s->body }, 1);
    const char *value = ip_emit_value(e, s->body);
    if (p->place == IP_PLACE_TOTAL)
        ip_emit_group_fold_element(e, p, &value, 1);
    else
        put(e, &t, at, value, ip_text(e->ir, "own & %s >= xa * %d & %s < xb * %d", at, e->channels, at, e->channels));
    e->flat = NULL;
}

static void compute_pixel(ip_emit *e, ip_tile_target t)
{
    const ip_placed *p = t.p;
    const ip_stage *s = p->stage;
    const char *at = ip_tile_variable(p, false), *values[IP_WRITTEN_CHANNELS];
    if (p->pad) ip_emit_let_int(e, "x", ip_emit_border(e, p->pad_border, "column", ip_emit_dim(e, s, 2)));
    t.outside = is_outside(e, p, "x", "column");
    e->coord[2] = "x";
    ip_channels channels = ip_emit_enter_channels(e, s->body);
    for (int c = 0; c < channels.n; c++)
        values[c] = ip_emit_value(e, channels.bodies[c]);
    if (p->place == IP_PLACE_TOTAL) ip_emit_group_fold_element(e, p, values, channels.n);
    for (int c = 0; c < channels.n && p->place != IP_PLACE_TOTAL; c++) {
        if (t.outside) t.value_outside = ip_emit_of_channel(e, p->pad_outside, c); /* it may tell alpha from colours */
        put(e, &t, ip_emit_pixel_index(e, at, c), values[c], ip_text(e->ir, "own & %s >= xa & %s < xb", at, at));
    }
    ip_emit_leave_channels(e, &channels);
    e->coord[2] = NULL;
}

void ip_tile_element(ip_emit *e, ip_tile_target t, bool flat)
{
    if (flat)
        compute_element(e, t);
    else
        compute_pixel(e, t);
}

/* A row's elements, or pixels, each by one work-item. */
static void compute_line(ip_emit *e, ip_tile_target t, ip_tile_range columns, bool flat)
{
    const int each = flat ? e->channels : 1;
    ip_stmt *loop = shared_loop(e, ip_tile_variable(t.p, flat), times(e, columns.from, each),
                                times(e, columns.to, each), "lx", e->kernel->tiling.group_width);
    ip_mark mark = ip_emit_enter(e, loop);
    ip_tile_element(e, t, flat);
    ip_emit_leave(e, mark);
}

/* A copy's tile as whole words (Note [Words]), where all of it and the last word's rest are inside the source's rows.
 */
static void copy_words(ip_emit *e, const ip_placed *p)
{
    const ip_tiling *t = &e->kernel->tiling;
    const ip_stage *s = p->stage, *from = p->source;
    int size = (int)ip_dtype(s->dtype)->size_bytes, rows = t->height + p->lead - p->first,
        columns = t->width + p->left + p->right;
    int words = (columns * e->channels * size + 3) / 4;
    const char *buffer = ip_emit_buffer(e, from);
    const char *known = ip_tile_grows(e->kernel, p)
                            ? ip_text(e->ir, "(%s - %s)", ip_tile_first_row(e, p), ip_emit_tile_top(e, s))
                            : NULL;
    ip_mark in_rows = ip_emit_enter(e, shared_loop(e, "row", known, number(e, rows), "ly", t->group_height));
    ip_emit_let(e, "long", "start",
                times(e,
                      ip_text(e->ir, "(%s - %s + %s)",
                              ip_emit_buffer_row(e, from, "z", ip_text(e->ir, "(%s + row)", ip_emit_tile_top(e, s))),
                              buffer, ip_emit_tile_left(e, s)),
                      size));
    if (size < 4) ip_emit_let_int(e, "shift", "(int)(start & 3) * 8");
    ip_emit_let(e, "__global const uint *", "in", ip_text(e->ir, "(__global const uint *)%s + (start >> 2)", buffer));
    ip_emit_let(e, "__local uint *", "out",
                ip_text(e->ir, "(__local uint *)(%s + row * %d)", ip_emit_storage(e, s), p->pitch));
    ip_mark in_words = ip_emit_enter(e, shared_loop(e, "k", NULL, number(e, words), "lx", t->group_width));
    ip_emit_set(e, "out[k]", size < 4 ? "(uint)(upsample(in[k + 1], in[k]) >> shift)" : "in[k]");
    ip_emit_leave(e, in_words);
    ip_emit_leave(e, in_rows);
}

/* Elements of the buffer's row that must follow the tile's: what is read of words beyond it. */
enum { WORD_REST = 8 };

/* "is the whole tile of a copy where copy_words() may read?", as the name of an int; NULL: never. */
static const char *declare_in_words(ip_emit *e, const ip_placed *p)
{
    const ip_tiling *t = &e->kernel->tiling;
    if (!p->is_copy || p->is_transposed || e->options->checks) return NULL;
    const char *left = ip_emit_tile_left(e, p->stage), *pitch = ip_emit_slot_of(e, IP_SLOT_PITCH, p->source);
    const char *columns = ip_text(e->ir, "%s >= 0 & %s - %s + %d <= %s", left, left,
                                  times(e, ip_emit_slot_at(e, IP_SLOT_ORIGIN, 2, p->source, NULL), e->channels),
                                  (t->width + p->left + p->right) * e->channels +
                                      (ip_dtype(p->stage->dtype)->size_bytes < 4 ? WORD_REST : 0),
                                  pitch);
    const char *rows = ip_text(e->ir, "%s >= 0 & yb - ya == %d & yb + %d <= %s", ip_emit_tile_top(e, p->stage),
                               t->height, p->lead, ip_emit_dim(e, p->stage, 1));
    ip_emit_let_int(e, "in_words", ip_text(e->ir, "%s & %s", columns, rows));
    return "in_words";
}

/* ---- one stage ------------------------------------------------------------------------------- */

ip_tile_target ip_tile_target_of(ip_emit *e, const ip_placed *p, const char *row)
{
    const ip_stage *s = p->stage;
    ip_tile_target t = { .p = p, .row = "out" };
    if (p->place == IP_PLACE_TOTAL) return t;
    const char *type = ip_dtype(s->dtype)->cl;
    if (p->place == IP_PLACE_NONE) {
        ip_emit_let(e, ip_text(e->ir, "__global %s *", type), "out", ip_emit_buffer_row(e, s, "z", row));
        return t;
    }
    ip_emit_let(e, ip_text(e->ir, "__local %s *", type), "out",
                ip_text(e->ir, "%s + (%s - %s) * %d", ip_emit_storage(e, s), row, ip_emit_tile_top(e, s), p->pitch));
    if (p->is_stored) {
        t.stored = "stored";
        bool slides = e->kernel->tiling.slides; /* each row of the strip is made once */
        ip_emit_let_int(
            e, "own",
            ip_text(e->ir, "%s >= %s & %s < %s", row, slides ? "strip" : "ya", row, slides ? "strip_end" : "yb"));
        ip_emit_let(e, ip_text(e->ir, "__global %s *", type), "stored",
                    ip_emit_buffer_row(e, s, "z", ip_text(e->ir, "(own ? %s : ya)", row)));
    }
    return t;
}

/* Whether the stage is computed along the flat index. A histogram asks for the channel, and so does what tells alpha
 * from colours beyond the edges. */
static bool is_flat(ip_emit *e, const ip_placed *p)
{
    const ip_site site = ip_emit_site(e);
    bool asks_channel = p->stage->kind == IP_STAGE_HISTOGRAM || (p->pad_outside && p->pad_outside->uses & IP_USES_C);
    return !asks_channel && ip_is_flat(&site, p->stage->body);
}

/* Every row of the tile, element by element or as words. */
static void compute_rows(ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    ip_tile_range rows = ip_tile_span(e, p, true), columns = ip_tile_span(e, p, false);
    const char *row = p->pad_rows ? "row" : "y";
    ip_mark in_row = ip_emit_enter(e, shared_loop(e, row, rows.from, rows.to, "ly", e->kernel->tiling.group_height));
    if (p->pad_rows) ip_emit_let_int(e, "y", ip_emit_border(e, p->pad_border, "row", ip_emit_dim(e, s, 1)));
    e->coord[0] = "z";
    e->coord[1] = "y";
    ip_tile_target t = ip_tile_target_of(e, p, row);
    ip_emit_row_pointers(e, s->body);
    bool flat = is_flat(e, p);
    if (!ip_emit_tile_words(e, p, flat)) compute_line(e, t, columns, flat);
    e->coord[0] = e->coord[1] = NULL;
    ip_emit_leave(e, in_row);
}

/* Without what the border rule says, where no element of the tile is beyond the domain's edges. */
static void compute_inside_or_not(ip_emit *e, const ip_placed *p)
{
    const ip_tiling *t = &e->kernel->tiling;
    ip_placed inner = *p;
    inner.pad = inner.pad_rows = 0;
    inner.pad_outside = NULL;
    const char *top = ip_emit_tile_top(e, p->stage), *width = ip_emit_dim(e, p->stage, 2);
    const char *rows = ip_text(e->ir, "%s >= 0 & %s + %d <= %s", top, top, t->height + p->lead - p->first,
                               ip_emit_dim(e, p->stage, 1));
    ip_emit_let_int(e, "is_inside",
                    ip_text(e->ir, "%s & xa >= %d & xa + %d <= %s", rows, p->left, t->width + p->right, width));
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, "is_inside"));
    compute_rows(e, &inner);
    ip_emit_leave(e, mark);
    mark = ip_emit_enter(e, ip_emit_if(e, "!is_inside"));
    compute_rows(e, p);
    ip_emit_leave(e, mark);
}

static void emit_stage(ip_emit *e, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    const char *name = s->node && s->node->op ? s->node->op->info.name : "stage";
    e->channels = (int)ip_stage_domain(s)[3];
    ip_s_add(e->ir, e->block, IP_S_NOTE, ip_text(e->ir, "%s%s%s", name, s->note ? ": " : "", s->note ? s->note : ""),
             NULL, NULL);
    ip_mark in_stage = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_BLOCK, NULL, NULL, NULL));
    if (p->place == IP_PLACE_TOTAL) ip_emit_group_fold_tile(e, p);
    ip_mark by_elements = ip_emit_enter(e, e->block);
    if (declare_in_words(e, p)) {
        ip_mark by_words = ip_emit_enter(e, ip_emit_if(e, "in_words"));
        copy_words(e, p);
        ip_emit_leave(e, by_words);
        ip_emit_enter(e, ip_emit_if(e, "!in_words"));
    }
    bool is_made = p->is_transposed || ip_emit_tile_blocks(e, p, is_flat(e, p));
    if (p->is_transposed)
        ip_emit_transposed_tile(e, p);
    else if (!is_made && !p->is_copy && (p->pad || p->pad_rows) && !e->options->checks)
        compute_inside_or_not(e, p);
    else if (!is_made)
        compute_rows(e, p);
    ip_emit_leave(e, by_elements);
    if (p->place == IP_PLACE_TOTAL) ip_emit_group_fold_tile_end(e, p);
    ip_emit_leave(e, in_stage);
}

/* ---- the kernel -------------------------------------------------------------------------------- */

void ip_emit_group_memory(ip_emit *e, int bytes)
{
    if (bytes > 0)
        ip_s_add(e->ir, e->top, IP_S_VAR, "__local ulong", ip_text(e->ir, "memory[%d]", (bytes + 7) / 8), NULL);
}

static void declare_group(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    const ip_tiling *t = &k->tiling;
    ip_emit_group_memory(e, t->bytes);
    ip_emit_let_at_top(e, "int", "lx", "get_local_id(0)");
    ip_emit_let_at_top(e, "int", "ly", "get_local_id(1)");
    ip_emit_let_at_top(e, "int", "z", ip_text(e->ir, "(int)get_group_id(2) + %s", ip_emit_bound(e, IP_Z0)));
    ip_emit_let_at_top(e, "int", "xa",
                       ip_text(e->ir, "(int)get_group_id(0) * %d + %s", t->width, ip_emit_bound(e, IP_X0)));
    ip_emit_let_at_top(e, "int", "xb", ip_text(e->ir, "min(xa + %d, %s)", t->width, ip_emit_bound(e, IP_X1)));
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].place == IP_PLACE_TILE) {
            const char *type = ip_text(e->ir, "__local %s *", ip_dtype(k->placed[i].stage->dtype)->cl);
            ip_emit_let_at_top(e, type, ip_emit_storage(e, k->placed[i].stage),
                               ip_text(e->ir, "(%s)((__local uchar *)memory + %d)", type, k->placed[i].offset));
        }
    if (ip_kernel_walks_tiles(k)) ip_emit_let_at_top(e, "int", "lane", ip_text(e->ir, "ly * %d + lx", t->group_width));
    if (k->n_folds == 0) return;
    ip_emit_let_at_top(e, "long", "item",
                       ip_text(e->ir, "%s + ((long)get_group_id(2) * %s + get_group_id(1)) * %s + get_group_id(0)",
                               ip_emit_slot(e, IP_SLOT_FIRST_ITEM), ip_emit_slot(e, IP_SLOT_ITEMS_Y),
                               ip_emit_slot(e, IP_SLOT_ITEMS_X)));
}

/* Moves up what the last tile of the strip and this one have in common, a tile's height of it at a time, so that no row
 * is written over before it is moved. Rows are moved as wide as they are laid out, columns at their ends that nobody
 * fills or reads included. */
static void move_rows(ip_emit *e, int part)
{
    const ip_kernel *k = e->kernel;
    const ip_tiling *t = &k->tiling;
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = &k->placed[i];
        const int row = p->pitch * (int)ip_dtype(p->stage->dtype)->size_bytes / 4, shift = t->height * row,
                  first = (p->lowest_read - p->first) * row + part * shift, last = (p->lead - p->first) * row;
        if (ip_tile_rows_kept(p) <= part * t->height) continue;
        const char *words = ip_text(e->ir, "((__local uint *)%s)", ip_emit_storage(e, p->stage));
        ip_mark mark =
            ip_emit_enter(e, shared_loop(e, "k", number(e, first), number(e, ip_min_int(first + shift, last)), "lane",
                                         t->group_width * t->group_height));
        ip_emit_set(e, ip_text(e->ir, "%s[k]", words), ip_text(e->ir, "%s[k + %d]", words, shift));
        ip_emit_leave(e, mark);
    }
    ip_s_add(e->ir, e->block, IP_S_BARRIER, "LOCAL", NULL, NULL);
}

/* Begins the next tile of a strip: place_tiles.c, Note [Sliding]. */
static void slide(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    const ip_stage *s = k->outputs[0];
    int most = 0, lead = 0;
    for (int i = 0; i < k->n_placed; i++) {
        most = ip_max_int(most, ip_tile_rows_kept(&k->placed[i]));
        lead = ip_max_int(lead, k->placed[i].lead);
    }
    ip_emit_let_int(e, "goes_on", ip_text(e->ir, "ya > strip & yb + %d <= %s", lead, ip_emit_dim(e, s, 1)));
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = &k->placed[i];
        if (ip_tile_grows(k, p))
            ip_emit_let_int(e, ip_tile_first_row(e, p), ip_text(e->ir, "ya + (goes_on ? %d : %d)", p->lead, p->first));
    }
    ip_s_add(e->ir, e->block, IP_S_BARRIER, "LOCAL", NULL, NULL);
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, "goes_on"));
    for (int part = 0; part * k->tiling.height < most; part++)
        move_rows(e, part);
    ip_emit_leave(e, mark);
}

/* ya and yb: one tile a group; or a loop over the tiles of a strip, where groups slide, or where there are folds, so
 * that groups are few. */
static void enter_tile(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    const char *y0 = ip_emit_bound(e, IP_Y0), *y1 = ip_emit_bound(e, IP_Y1);
    if (!ip_kernel_walks_tiles(k)) {
        ip_emit_let_int(e, "ya", ip_text(e->ir, "(int)get_group_id(1) * %d + %s", k->tiling.height, y0));
        ip_emit_let_int(e, "yb", ip_text(e->ir, "min(ya + %d, %s)", k->tiling.height, y1));
    } else {
        const char *rows = ip_emit_slot(e, IP_SLOT_STRIP_ROWS);
        ip_emit_let_int(e, "strip", ip_text(e->ir, "(int)get_group_id(1) * %s + %s", rows, y0));
        ip_emit_let_int(e, "strip_end", ip_text(e->ir, "min(strip + %s, %s)", rows, y1));
        ip_stmt *tiles = ip_emit_for(e, "ya", "strip", "strip_end");
        tiles->d = number(e, k->tiling.height);
        ip_emit_enter(e, tiles);
        ip_emit_let_int(e, "yb", ip_text(e->ir, "min(ya + %d, strip_end)", k->tiling.height));
    }
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = &k->placed[i];
        if (p->place != IP_PLACE_TILE) continue;
        ip_emit_let_int(e, ip_emit_tile_top(e, p->stage), p->first ? ip_text(e->ir, "ya - %d", -p->first) : "ya");
        ip_emit_let_int(e, ip_emit_tile_left(e, p->stage),
                        times(e, p->left ? ip_text(e->ir, "(xa - %d)", p->left) : "xa", (int)p->stage->dims[3]));
    }
    if (k->tiling.slides) slide(e);
}

void ip_emit_tiles(ip_emit *e)
{
    const ip_kernel *k = e->kernel;
    bool has_tiles = false;
    declare_group(e);
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = &k->placed[i];
        has_tiles |= p->place == IP_PLACE_TILE || p->copies > 0;
        ip_emit_uniforms(e, p->stage->body);
        if (p->pad_outside) ip_emit_uniforms(e, p->pad_outside);
        if (p->place == IP_PLACE_TOTAL) ip_emit_group_fold_begin(e, p);
    }
    ip_mark outer = ip_emit_enter(e, e->top);
    enter_tile(e);
    for (int i = 0; i < k->n_placed; i++) {
        /* what the stage reads is complete, what it overwrites was read; slide() has waited for that */
        const bool waits = i > 0 || (k->n_folds > 0 && !k->tiling.slides);
        if (has_tiles && waits) ip_s_add(e->ir, e->block, IP_S_BARRIER, "LOCAL", NULL, NULL);
        emit_stage(e, &k->placed[i]);
    }
    ip_emit_leave(e, outer);
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].place == IP_PLACE_TOTAL) ip_emit_group_fold_end(e, &k->placed[i]);
}
