/* SPDX-License-Identifier: MIT */
/*
 * Blocks of a tile.
 *
 * Note [Blocks]
 * Local memory gives a unit a word a work-item at a time, and a stencil asks for every tap: that is what a tile waits
 * for. The windows of neighbours share most of their taps, so a work-item makes a block of several rows, or of several
 * pixels of a row, and what these share is one expression: a vertical pass of 13 taps reads 16 elements for 4 of its
 * own rather than 52. Blocks are handed out along the tile's rows, whatever the group's shape. One that is cut by the
 * tile's or the domain's edge is made element by element.
 *
 * Pixels are made together of elements of 8 and 16 bits, as neighbouring work-items' blocks of wider ones begin in one
 * bank; so do those of four channels.
 */
#include "base/dtype.h"
#include "compile/emit_tiles.h"

#include <stdlib.h>

enum {
    BLOCK_ROWS = 4,
    BLOCK_PIXELS = 4,
    BLOCK_CHANNELS = 3,      /* neighbours' blocks of more begin in one bank */
    BLOCK_OPERATIONS = 1024, /* of a block at most: it is unrolled */
    FAR = 63                 /* offsets that are looked at */
};

/* pixels are above 1 only where elements are all channels of them. */
typedef struct block {
    int rows, pixels, elements;
} block;

/* The rows and columns beside its own that a stage reads. */
typedef struct taps {
    ip_ir *ir;
    bool rows[2 * FAR + 1], columns[2 * FAR + 1];
} taps;

static void note_tap(bool *set, const ip_index *index, int axis)
{
    if (index->kind == IP_INDEX_UNIT && index->axis == axis && index->lo == index->hi && abs(index->lo) <= FAR)
        set[FAR + index->lo] = true;
}

static void note_taps(ip_expr *x, void *user)
{
    taps *t = user;
    if (x->op != IP_X_LOAD) return;
    ip_index row = ip_x_classify(x->arg[1]), column = ip_x_classify(x->arg[2]);
    note_tap(t->rows, &row, 1);
    note_tap(t->columns, &column, 2);
}

/* Taps of n neighbours in all. */
static int taps_of(const bool *set, int n)
{
    int sum = 0;
    for (int k = 0; k < 2 * FAR + n; k++) {
        bool is_tap = false;
        for (int j = 0; j < n; j++)
            is_tap |= k - j >= 0 && k - j <= 2 * FAR && set[k - j];
        sum += is_tap;
    }
    return sum;
}

/* Neighbours that are worth making together, at most `most`: they read three quarters of what each reads, or less. */
static int worth_together(const bool *set, int most)
{
    int n = taps_of(set, 1) > 0 ? most : 1;
    while (n > 1 && 4 * taps_of(set, n) > 3 * n * taps_of(set, 1))
        n /= 2;
    return n;
}

/* What a work-item makes of a stage at a time, where that is more than a word of a row; else rows is 0. */
static block block_of(ip_emit *e, const ip_placed *p, bool flat)
{
    const ip_stage *s = p->stage;
    const block none = { .rows = 0 };
    int word = ip_tile_word(e, p), size = (int)ip_dtype(s->dtype)->size_bytes;
    bool is_line = flat || e->channels == 1, is_kept = p->place == IP_PLACE_TILE && !p->is_stored;
    if (!is_line || e->options->checks || p->is_copy || s->kind != IP_STAGE_MAP || s->dtype == IMGPAR_F16 ||
        !(is_kept || p->place == IP_PLACE_NONE) || ip_x_has_window(e->ir, s->body))
        return none;
    taps t = { .ir = e->ir };
    ip_x_walk(e->ir, s->body, note_taps, &t);
    int64_t cost = ip_x_cost(e->ir, s->body) + 1;
    block b = { .rows = worth_together(t.rows, BLOCK_ROWS), .pixels = 1, .elements = word };
    if (size < 4 && e->channels <= BLOCK_CHANNELS && worth_together(t.columns, BLOCK_PIXELS) == BLOCK_PIXELS &&
        cost * BLOCK_PIXELS * e->channels <= BLOCK_OPERATIONS) {
        b.pixels = BLOCK_PIXELS;
        b.elements = BLOCK_PIXELS * e->channels;
    }
    while (b.rows > 1 && cost * b.rows * b.elements > BLOCK_OPERATIONS)
        b.rows /= 2;
    return b.rows > 1 || b.elements > word ? b : none;
}

static const char *element_of(ip_emit *e, int row, int k) { return ip_text(e->ir, "e%d_%d", row, k); }

/* Elements of a row of the block to out + index. */
static void put_elements(ip_emit *e, block b, int row, const char *index)
{
    for (int k = 0; k < b.elements; k++)
        ip_emit_set(e, ip_text(e->ir, "out[%s]", ip_text_plus(e->ir, index, k)), element_of(e, row, k));
}

/* The same as words, of which the first element is in the lowest bits. */
static void put_words(ip_emit *e, const ip_placed *p, block b, int row, const char *index)
{
    const int size = (int)ip_dtype(p->stage->dtype)->size_bytes, word = 4 / size;
    const char *memory = p->place == IP_PLACE_TILE ? "__local" : "__global";
    for (int k = 0; k < b.elements; k += word) {
        const char *whole = NULL;
        for (int n = 0; n < word; n++) {
            const char *bits = ip_text(e->ir, "(uint)(%s)%s << %d", size == 1 ? "uchar" : "ushort",
                                       element_of(e, row, k + n), 8 * size * n);
            whole = whole ? ip_text(e->ir, "%s | %s", whole, bits) : bits;
        }
        ip_emit_set(e, ip_text(e->ir, "*(%s uint *)(out + %s)", memory, ip_text_plus(e->ir, index, k)), whole);
    }
}

/* Rows of the block to where they are kept: as words where those are whole ones. */
static void put_block(ip_emit *e, const ip_placed *p, block b)
{
    const ip_stage *s = p->stage;
    const int word = 4 / (int)ip_dtype(s->dtype)->size_bytes;
    const bool is_kept = p->place == IP_PLACE_TILE, are_words = word > 1 && b.elements % word == 0;
    const char *index = is_kept ? ip_text(e->ir, "(at0 - %s)", ip_emit_tile_left(e, s)) : "at0";
    for (int row = 0; row < b.rows; row++) {
        ip_mark in_row = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_BLOCK, NULL, NULL, NULL));
        ip_tile_target_of(e, p, row ? ip_text(e->ir, "(row0 + %d)", row) : "row0");
        if (are_words && is_kept) {
            put_words(e, p, b, row, index);
        } else if (are_words) { /* a row of a buffer may begin within a word */
            ip_emit_let_int(e, "in_words",
                            ip_text(e->ir, "((out - %s + at0) & %d) == 0", ip_emit_buffer(e, s), word - 1));
            ip_mark mark = ip_emit_enter(e, ip_emit_if(e, "in_words"));
            put_words(e, p, b, row, index);
            ip_emit_leave(e, mark);
            mark = ip_emit_enter(e, ip_emit_if(e, "!in_words"));
            put_elements(e, b, row, index);
            ip_emit_leave(e, mark);
        } else {
            put_elements(e, b, row, index);
        }
        ip_emit_leave(e, in_row);
    }
}

typedef struct moved {
    const ip_kernel *kernel;
    int row, column;
} moved;

/* Tiles hold what is beyond the edges, so what is read of them has no border: one tap is one expression. */
static ip_expr *move(ip_ir *ir, ip_expr *x, void *user)
{
    const moved *m = user;
    if (ip_x_is_coord(x, 1) && m->row) return ip_x_binary(ir, IP_X_ADD, x, ip_x_int(ir, IMGPAR_I32, m->row));
    if (ip_x_is_coord(x, 2) && m->column) return ip_x_binary(ir, IP_X_ADD, x, ip_x_int(ir, IMGPAR_I32, m->column));
    if (x->op != IP_X_LOAD || x->border == IP_BORDER_NONE) return x;
    const ip_placed *from = ip_kernel_placed(m->kernel, x->source);
    return from && from->place == IP_PLACE_TILE ? ip_x_load(ir, x->source, x->arg, IP_BORDER_NONE, NULL) : x;
}

/* A block that lies inside whatever may cut it. One channel, or one element of a word, after the other: the same
 * element of all its rows and pixels at once, in which what their windows share is one expression. */
static void compute_whole_block(ip_emit *e, const ip_placed *p, bool flat, block b)
{
    const ip_stage *s = p->stage;
    ip_expr *bodies[BLOCK_ROWS * BLOCK_PIXELS];
    const int apart = b.elements / b.pixels, n = b.rows * b.pixels;
    for (int row = 0; row < b.rows; row++)
        for (int k = 0; k < b.elements; k++)
            ip_emit_var(e, ip_dtype(s->dtype)->cl, element_of(e, row, k), NULL);
    ip_emit_let_int(e, "y", "row0");
    for (int k = 0; k < apart; k++) {
        ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_BLOCK, NULL, NULL, NULL));
        ip_emit_let_int(e, "i", ip_text_plus(e->ir, "at0", k));
        e->flat = flat ? "i" : NULL;
        e->coord[2] = flat ? NULL : "i";
        ip_channels channels = { .n = 0 };
        if (!flat) channels = ip_emit_enter_channels(e, s->body);
        for (int j = 0; j < n; j++) {
            moved by = { .kernel = e->kernel, .row = j / b.pixels, .column = j % b.pixels };
            bodies[j] = ip_x_map(e->ir, flat ? s->body : channels.bodies[0], move, &by);
            ip_emit_row_pointers(e, bodies[j]);
        }
        ip_emit_count_uses(e, bodies, n);
        for (int j = 0; j < n; j++)
            ip_emit_set(e, element_of(e, j / b.pixels, j % b.pixels * apart + k), ip_emit_value(e, bodies[j]));
        if (!flat) ip_emit_leave_channels(e, &channels);
        e->flat = e->coord[2] = NULL;
        ip_emit_leave(e, mark);
    }
    put_block(e, p, b);
}

/* What is inside of another. */
static void compute_cut_block(ip_emit *e, const ip_placed *p, bool flat, block b, ip_tile_range rows,
                              ip_tile_range columns)
{
    const char *row = p->pad_rows ? "row" : "y";
    ip_mark in_row = ip_emit_enter(e, ip_emit_for(e, row, ip_text(e->ir, "max(row0, %s)", rows.from),
                                                  ip_text(e->ir, "min(row0 + %d, %s)", b.rows, rows.to)));
    if (p->pad_rows) ip_emit_let_int(e, "y", ip_emit_border(e, p->pad_border, "row", ip_emit_dim(e, p->stage, 1)));
    ip_tile_target t = ip_tile_target_of(e, p, row);
    ip_emit_row_pointers(e, p->stage->body);
    ip_mark in_element =
        ip_emit_enter(e, ip_emit_for(e, ip_tile_variable(p, flat), ip_text(e->ir, "max(at0, %s)", columns.from),
                                     ip_text(e->ir, "min(at0 + %d, %s)", b.elements, columns.to)));
    ip_tile_element(e, t, flat);
    ip_emit_leave(e, in_element);
    ip_emit_leave(e, in_row);
}

/* Blocks of the tile, or of its rows that are new. */
static const char *count_blocks(ip_emit *e, const ip_placed *p, block b, int across)
{
    const int height = e->kernel->tiling.height, fewest = (height + b.rows - 1) / b.rows * across,
              all = (height + p->lead - p->first + b.rows - 1) / b.rows * across;
    return ip_tile_grows(e->kernel, p) ? ip_text(e->ir, "(goes_on ? %d : %d)", fewest, all) : ip_text(e->ir, "%d", all);
}

bool ip_emit_tile_blocks(ip_emit *e, const ip_placed *p, bool flat)
{
    const block b = block_of(e, p, flat);
    if (b.rows == 0) return false;
    const ip_tiling *t = &e->kernel->tiling;
    const ip_stage *s = p->stage;
    int columns = (t->width + p->left + p->right) * e->channels;
    int blocks_across = (columns + b.elements - 1) / b.elements;
    ip_tile_range down = ip_tile_span(e, p, true), across = ip_tile_span(e, p, false);
    const char *row_edges = "", *column_edges = "";
    e->coord[0] = "z";
    e->coord[1] = "y";
    ip_stmt *loop =
        ip_emit_for(e, "item", ip_text(e->ir, "ly * %d + lx", t->group_width), count_blocks(e, p, b, blocks_across));
    loop->d = ip_text(e->ir, "%d", t->group_width * t->group_height);
    ip_mark in_block = ip_emit_enter(e, loop);
    across =
        (ip_tile_range){ ip_text_times(e->ir, across.from, e->channels), ip_text_times(e->ir, across.to, e->channels) };
    /* No remainder: of a quotient and a remainder that belong together compilers make what Oclgrind cannot run. */
    ip_emit_let_int(e, "down", ip_text(e->ir, "item / %d", blocks_across));
    ip_emit_let_int(e, "row0",
                    ip_text(e->ir, "%s + %s", ip_tile_first_row(e, p), ip_text_times(e->ir, "down", b.rows)));
    ip_emit_let_int(e, "at0",
                    ip_text(e->ir, "%s + %s",
                            ip_text_times(e->ir, p->left ? ip_text(e->ir, "(xa - %d)", p->left) : "xa", e->channels),
                            ip_text_times(e->ir, ip_text(e->ir, "(item - down * %d)", blocks_across), b.elements)));
    if (p->pad_rows) row_edges = ip_text(e->ir, " & row0 >= 0 & row0 + %d <= %s", b.rows, ip_emit_dim(e, s, 1));
    if (p->pad)
        column_edges = ip_text(e->ir, " & at0 >= 0 & at0 + %d <= %s", b.elements,
                               ip_text_times(e->ir, ip_emit_dim(e, s, 2), e->channels));
    ip_emit_let_int(e, "is_whole",
                    ip_text(e->ir, "row0 >= %s & row0 + %d <= %s & at0 >= %s & at0 + %d <= %s%s%s", down.from, b.rows,
                            down.to, across.from, b.elements, across.to, row_edges, column_edges));
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, "is_whole"));
    compute_whole_block(e, p, flat, b);
    ip_emit_leave(e, mark);
    mark = ip_emit_enter(e, ip_emit_if(e, "!is_whole"));
    compute_cut_block(e, p, flat, b, down, across);
    ip_emit_leave(e, mark);
    ip_emit_leave(e, in_block);
    e->coord[0] = e->coord[1] = NULL;
    return true;
}
