/* SPDX-License-Identifier: MIT */
/*
 * Pixels that read others at computed columns.
 *
 * Note [Channels as lanes]
 * Where a pixel is made of pixels at computed columns of a row that is kept, its neighbour's lie anywhere: a loop over
 * pixels would gather what it reads element by element. The channels of each pixel do lie side by side. So three or
 * four channels are the lanes of a vector, one read for all of them, and the loop is over pixels as they come. A row
 * that is kept has room behind its end for the fourth lane. What is made of such a vector alone, rounding above all, is
 * left to a second loop, a flat one, over a block of pixels at a time. Where nothing is, and the row is kept, pixels go
 * there as they come.
 *
 * Note [Pixels side by side]
 * The sum of a window is a chain of operations, each of which waits for the one before, while a processor could do
 * several. So the windows of four pixels are folded in one loop over their taps. The last pixel stands in for those
 * behind the end of the row.
 *
 * Note [Pixels in pairs]
 * Where a picture gets twice as wide, two pixels are made of the same ones, and the next two of those beside them. Four
 * such pixels of four floats are one vector: its parts are read once for two pixels, and what else is computed takes a
 * quarter of the operations. Whether columns are such is seen in their list, for each four pixels: others, as at the
 * edge, are made one by one. Where a few were not, the rest of the row is not asked about: it grows by another factor.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { BLOCK_PIXELS = 160, SIDE_BY_SIDE = 4, PAIRED_TRIALS = 4 };

/* ---- pixels as they come --------------------------------------------------------------------- */

/* Of one pixel, or of IP_PAIRED. */
static int n_lanes(const ip_emit *e) { return e->in_pairs ? IP_LANES * IP_PAIRED : IP_LANES; }

static const char *lanes_type(ip_emit *e, const ip_expr *x)
{
    return ip_text(e->ir, "%s%d", x->dtype == IMGPAR_BOOL ? "int" : ip_cl_type(x->dtype), n_lanes(e));
}

/* A lane of a mask is 0 or all ones. */
static const char *lane(ip_emit *e, const ip_expr *x, const char *value)
{
    return x->dtype == IMGPAR_BOOL ? ip_text(e->ir, "-(int)(%s)", value) : value;
}

static const char *broadcast(ip_emit *e, const ip_expr *x, const char *value)
{
    return ip_text(e->ir, "(%s)(%s)", lanes_type(e, x), lane(e, x, value));
}

/* What the channel's number tells. The last channel stands in for a lane that has none. */
static const char *of_each_channel(ip_emit *e, ip_expr *x)
{
    const char *of[IP_LANES];
    for (int c = 0; c < IP_LANES; c++)
        of[c] = c < e->channels ? lane(e, x, ip_emit_value(e, ip_emit_of_channel(e, x, c))) : of[c - 1];
    const char *pixel = ip_text(e->ir, "%s, %s, %s, %s", of[0], of[1], of[2], of[3]);
    return e->in_pairs ? ip_text(e->ir, "(%s)(%s, %s, %s, %s)", lanes_type(e, x), pixel, pixel, pixel, pixel)
                       : ip_text(e->ir, "(%s)(%s)", lanes_type(e, x), pixel);
}

static const char *declared(ip_emit *e, const ip_expr *x, const char *text)
{
    const char *name = ip_text(e->ir, "v%d", e->n_values++);
    ip_emit_let(e, lanes_type(e, x), name, text);
    return name;
}

static const char *lanes_of(ip_emit *e, ip_expr *x);

/* Adds the current tap of pixel e->coord[2] to its sum. */
static void fold_tap(ip_emit *e, const ip_expr *x, const char *sum)
{
    const char *value = lanes_of(e, x->arg[0]);
    const char *next = x->fold == IP_FOLD_FMA ? ip_text(e->ir, "fma(%s, %s, %s)", lanes_of(e, x->arg[1]), value, sum)
                                              : ip_text(e->ir, "%s + %s", sum, value);
    ip_emit_set(e, sum, next);
}

/* The sums of a window for n pixels. */
static void window_of_each(ip_emit *e, const ip_expr *x, const char *const *pixels, int n, const char **sums)
{
    for (int u = 0; u < n; u++) {
        sums[u] = ip_text(e->ir, "w%d", e->n_values++);
        ip_emit_var(e, lanes_type(e, x), sums[u], broadcast(e, x, ip_emit_window_start(e, x)));
    }
    ip_stmt *rows = ip_emit_for(e, "j", "0", ip_text(e->ir, "%d", x->taps_y));
    ip_stmt *columns = ip_s_add(e->ir, rows, IP_S_FOR, "k", "0", ip_text(e->ir, "%d", x->taps_x));
    ip_mark mark = ip_emit_enter(e, columns);
    ip_emit_name_tap(e, x, 0, "j");
    ip_emit_name_tap(e, x, 1, "k");
    for (int u = 0; u < n; u++) {
        ip_mark of_pixel = { e->block, e->n_trail, e->n_rows };
        e->coord[2] = pixels[u];
        fold_tap(e, x, sums[u]);
        ip_emit_leave(e, of_pixel);
    }
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}

/* Where a load's pixel is. What is added to a computed column is added to the address, so that columns beside it share
 * one. */
static const char *pixel_of(ip_emit *e, const ip_expr *load)
{
    ip_expr *column = load->arg[2], *by = column->op == IP_X_ADD ? column->arg[1] : NULL;
    const char *row = ip_emit_row_pointer(e, load);
    if (!by || by->op != IP_X_CONST)
        return ip_text(e->ir, "%s + (long)%s * %d", row, ip_emit_value(e, column), e->channels);
    return ip_text(e->ir, "%s + (long)%s * %d + %lld", row, ip_emit_value(e, column->arg[0]), e->channels,
                   (long long)by->i * e->channels);
}

/*
 * Note [Pixels without room]
 * The fourth lane of a pixel of three channels is read behind it, where only rows that are kept are sure to have
 * something. Of other rows it is the next pixel's, if that is read, too. If the pixel before is, all lanes are read one
 * element earlier, and turned. Else channels are read one by one.
 */
typedef struct beside_check {
    const ip_expr *load;
    bool is_before, is_behind;
} beside_check;

static const ip_expr *column_and_number(const ip_expr *column, int64_t *by)
{
    bool is_sum = column->op == IP_X_ADD && column->arg[1]->op == IP_X_CONST;
    *by = is_sum ? column->arg[1]->i : 0;
    return is_sum ? column->arg[0] : column;
}

static void look_beside(ip_expr *x, void *user)
{
    beside_check *c = user;
    int64_t by, own;
    if (x->op != IP_X_LOAD || x->source != c->load->source || x->border != c->load->border) return;
    if (x->arg[0] != c->load->arg[0] || x->arg[1] != c->load->arg[1] || x->arg[3] != c->load->arg[3]) return;
    if (column_and_number(x->arg[2], &by) != column_and_number(c->load->arg[2], &own)) return;
    c->is_before |= by == own - 1;
    c->is_behind |= by == own + 1;
}

/* Where the lanes of a pixel are read. */
typedef enum pixel_room { ROOM_BEHIND, ROOM_BEFORE, NO_ROOM } pixel_room;

static pixel_room room_of(ip_emit *e, const ip_expr *load)
{
    const ip_placed *placed = ip_kernel_placed(e->kernel, load->source);
    beside_check c = { .load = load };
    if (!e->lanes || e->channels == IP_LANES || (placed && placed->place == IP_PLACE_LINE_BUFFER)) return ROOM_BEHIND;
    ip_x_walk(e->ir, e->lanes, look_beside, &c);
    return c.is_behind ? ROOM_BEHIND : c.is_before ? ROOM_BEFORE : NO_ROOM;
}

/* Lanes are turned as floats, where they are made floats: compilers read bytes that are turned in two parts. */
static bool is_turned_later(ip_emit *e, const ip_expr *x)
{
    return x->op == IP_X_CAST && x->dtype == IMGPAR_F32 && x->arg[0]->op == IP_X_LOAD &&
           room_of(e, x->arg[0]) == ROOM_BEFORE;
}

static const char *pixel_text(ip_emit *e, const ip_expr *load)
{
    const char *pixel = pixel_of(e, load);
    const pixel_room room = room_of(e, load);
    if (room == ROOM_BEHIND) return ip_text(e->ir, "vload4(0, %s)", pixel);
    if (room == ROOM_BEFORE) return ip_text(e->ir, "vload4(0, %s - 1).yzwx", pixel);
    const char *at = ip_text(e->ir, "at%d", e->n_values++);
    ip_emit_let(e, ip_text(e->ir, "__global const %s *", ip_cl_type(load->dtype)), at, pixel);
    return ip_text(e->ir, "(%s)(%s[0], %s[1], %s[2], %s[2])", lanes_type(e, load), at, at, at, at);
}

/* The lesser or greater; as of scalars, of a number and NaN the number. */
static const char *extreme(ip_emit *e, const ip_expr *x, const char *a, const char *b)
{
    if (!ip_dtype(x->dtype)->is_float) return ip_text(e->ir, "%s(%s, %s)", x->op == IP_X_MIN ? "min" : "max", a, b);
    return ip_text(e->ir, "select(%s, %s, %s)", b, a, ip_emit_extreme_test(e, x->op == IP_X_MIN, a, b));
}

static const char *lanes_text(ip_emit *e, const ip_expr *x, const char *const a[3])
{
    switch (x->op) {
    case IP_X_ADD: return ip_text(e->ir, "%s + %s", a[0], a[1]);
    case IP_X_SUB: return ip_text(e->ir, "%s - %s", a[0], a[1]);
    case IP_X_MUL: return ip_text(e->ir, "%s * %s", a[0], a[1]);
    case IP_X_DIV:
    case IP_X_IDIV: return ip_text(e->ir, "%s / %s", a[0], a[1]);
    case IP_X_LT: return ip_text(e->ir, "%s < %s", a[0], a[1]);
    case IP_X_LE: return ip_text(e->ir, "%s <= %s", a[0], a[1]);
    case IP_X_EQ: return ip_text(e->ir, "%s == %s", a[0], a[1]);
    case IP_X_NE: return ip_text(e->ir, "%s != %s", a[0], a[1]);
    case IP_X_SELECT: return ip_text(e->ir, "select(%s, %s, %s)", a[2], a[1], a[0]);
    case IP_X_FMA: return ip_text(e->ir, "fma(%s, %s, %s)", a[0], a[1], a[2]);
    case IP_X_CAST: return ip_text(e->ir, "convert_%s(%s)", lanes_type(e, x), a[0]);
    default: return extreme(e, x, a[0], a[1]);
    }
}

/* Four pixels, two of the one that the list says of x, two of the next. */
static const char *pairs_text(ip_emit *e, const ip_expr *load)
{
    const char *pixels = ip_text(e->ir, "pixels%d", e->n_values++);
    ip_emit_let(e, "float8", pixels,
                ip_text(e->ir, "*(__global const ip_any_float8 *)(%s + (long)%s * %d)", ip_emit_row_pointer(e, load),
                        ip_emit_load(e, load->arg[2]), IP_LANES));
    return ip_text(e->ir, "%s.s0123012345674567", pixels);
}

/* What four pixels from x on read: a number of a list each, their own elements, or one of these for all channels. */
static const char *pixels_text(ip_emit *e, const ip_expr *load)
{
    static const char *const broadcast_lanes[IP_LANES] = { "s000044448888cccc", "s111155559999dddd",
                                                           "s22226666aaaaeeee", "s33337777bbbbffff" };
    const char *name = ip_text(e->ir, "own%d", e->n_values++);
    if (load->source->kind == IP_STAGE_TABLE) {
        ip_emit_let(
            e, "float4", name,
            ip_text(e->ir, "as_float4(vload4(0, &P[%s + x]))", ip_emit_slot_of(e, IP_SLOT_TABLE, load->source)));
        return ip_text(e->ir, "%s.s0000111122223333", name);
    }
    if (load->arg[2]->op == IP_X_LOAD) return pairs_text(e, load);
    const char *own =
        ip_text(e->ir, "*(__global const ip_any_float16 *)(%s + (long)x * %d)", ip_emit_row_pointer(e, load), IP_LANES);
    if (load->arg[3]->op != IP_X_CONST) return own;
    ip_emit_let(e, "float16", name, own);
    return ip_text(e->ir, "%s.%s", name, broadcast_lanes[load->arg[3]->i]);
}

/* A vector of the channels' values. */
static const char *lanes_of(ip_emit *e, ip_expr *x)
{
    if (!(x->uses & IP_USES_C) && !(e->in_pairs && x->uses & IP_USES_X)) return broadcast(e, x, ip_emit_value(e, x));
    if (ip_is_by_channel(x)) return of_each_channel(e, x);
    const char *name = ip_emit_name_of(e, x), *a[3] = { NULL };
    if (name) return name;
    if (is_turned_later(e, x)) {
        name = declared(e, x, ip_text(e->ir, "convert_float4(vload4(0, %s - 1)).yzwx", pixel_of(e, x->arg[0])));
        ip_emit_name(e, x, name);
        return name;
    }
    for (int k = 0; k < x->n_args && x->op != IP_X_LOAD; k++)
        a[k] = lanes_of(e, x->arg[k]);
    const char *load = x->op != IP_X_LOAD ? NULL : e->in_pairs ? pixels_text(e, x) : pixel_text(e, x);
    name = declared(e, x, load ? load : lanes_text(e, x, a));
    ip_emit_name(e, x, name);
    return name;
}

typedef struct windows {
    ip_expr *of[IP_LANE_WINDOWS];
    int n;
} windows;

static void note_window(ip_expr *x, void *user)
{
    windows *w = user;
    if (x->op == IP_X_WINDOW && x->uses & IP_USES_C && w->n < IP_LANE_WINDOWS) w->of[w->n++] = x;
}

typedef struct paired {
    ip_emit *e;
    const char *test;
} paired;

/* Asks whether what a list says of four pixels from x on is two pairs. */
static void note_list(ip_expr *x, void *user)
{
    paired *p = user;
    if (x->op != IP_X_LOAD || !(x->uses & IP_USES_C) || x->arg[2]->op != IP_X_LOAD) return;
    p->test = ip_text(p->e->ir, "%s && ip_are_pairs(&P[%s + x])", p->test,
                      ip_emit_slot_of(p->e, IP_SLOT_TABLE, x->arg[2]->source));
}

/* Where the pixels of a loop go: the first of them, number `from`, to `to`, in memory of that kind. */
typedef struct destination {
    const char *memory, *to, *from;
} destination;

static void store_pixels(ip_emit *e, ip_expr *x, const char *pixel, const destination *d)
{
    const char *value = lanes_of(e, x), *to = ip_text(e->ir, "%s + (%s - %s) * %d", d->to, pixel, d->from, e->channels);
    if (e->in_pairs)
        ip_emit_set(e, ip_text(e->ir, "*(%sip_any_float16 *)(%s)", d->memory, to), value);
    else
        ip_emit_do(e, ip_text(e->ir, "vstore4(%s, 0, %s)", value, to));
}

/* Where columns are pairs, four pixels from x on are made, and x is the last of them. Where statements are now is what
 * is done otherwise. */
static void make_pairs(ip_emit *e, ip_expr *x, const char *to, const char *trials, const destination *d)
{
    paired p = { e, ip_text(e->ir, "%s > 0 && x + %d <= %s", trials, IP_PAIRED, to) };
    const char *pairs = ip_text(e->ir, "pairs%d", e->n_values++);
    ip_x_walk(e->ir, x, note_list, &p);
    ip_emit_let(e, "bool", pairs, p.test);
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, pairs));
    e->in_pairs = true;
    e->coord[2] = "x";
    store_pixels(e, x, "x", d);
    e->in_pairs = false;
    ip_emit_do(e, ip_text(e->ir, "x += %d", IP_PAIRED - 1));
    ip_emit_leave(e, mark);
    ip_emit_enter(e, ip_emit_if(e, ip_text(e->ir, "!%s", pairs)));
    ip_emit_do(e, ip_text(e->ir, "%s -= 1", trials));
}

/* Pixels from d->from up to `to` become what x is of each of them. */
static void lanes_loop(ip_emit *e, ip_expr *x, bool in_pairs, const char *to, const destination *d)
{
    windows w = { .n = 0 };
    ip_x_walk(e->ir, x, note_window, &w);
    int n = w.n > 0 ? SIDE_BY_SIDE : 1;
    const char *pixels[SIDE_BY_SIDE] = { "x" }, *sums[IP_LANE_WINDOWS][SIDE_BY_SIDE];
    const char *trials = in_pairs ? ip_text(e->ir, "trials%d", e->n_values++) : NULL;
    if (trials) ip_emit_var(e, "int", trials, ip_text(e->ir, "%d", PAIRED_TRIALS));
    ip_stmt *loop = ip_emit_for(e, "x", d->from, to);
    loop->d = n > 1 ? ip_text(e->ir, "%d", n) : NULL;
    ip_mark mark = ip_emit_enter(e, loop);
    ip_emit_count_uses(e, &x, 1);
    if (trials) make_pairs(e, x, to, trials, d);
    for (int u = 1; u < n; u++) {
        pixels[u] = ip_text(e->ir, "x%d", u);
        ip_emit_let_int(e, pixels[u], ip_text(e->ir, "min(x + %d, %s - 1)", u, to));
    }
    for (int k = 0; k < w.n; k++)
        window_of_each(e, w.of[k], pixels, n, sums[k]);
    for (int u = 0; u < n; u++) {
        ip_mark of_pixel = { e->block, e->n_trail, e->n_rows };
        e->coord[2] = pixels[u];
        for (int k = 0; k < w.n; k++)
            ip_emit_name(e, w.of[k], sums[k][u]);
        store_pixels(e, x, pixels[u], d);
        ip_emit_leave(e, of_pixel);
    }
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}

/* Elements of pixels p .. p + n; part of their body is made[..]. */
static void finish_block(ip_emit *e, const ip_columns *c, const ip_expr *part, const char *made, int width)
{
    ip_mark mark = ip_emit_enter(e, ip_emit_vectors(e, "i", ip_text(e->ir, "p * %d", e->channels),
                                                    ip_text(e->ir, "(p + n) * %d", e->channels), width));
    e->flat = "i";
    ip_emit_count_uses(e, (ip_expr *[]){ c->body }, 1);
    ip_emit_name(e, part, ip_text(e->ir, "%s[i - p * %d]", made, e->channels));
    ip_emit_store(e, c->stage, c->target, "i", ip_emit_value(e, c->body));
    e->flat = NULL;
    ip_emit_leave(e, mark);
}

/* A loop over blocks of the row, pixels p .. p + n. */
static ip_mark enter_blocks(ip_emit *e, const char *xa, const char *xb)
{
    ip_stmt *blocks = ip_emit_for(e, "p", xa, xb);
    blocks->d = ip_text(e->ir, "%d", BLOCK_PIXELS);
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_emit_let_int(e, "n", ip_text(e->ir, "min(%s - p, %d)", xb, BLOCK_PIXELS));
    return mark;
}

static const char *block_of(ip_emit *e, const char *type, int elements)
{
    const char *made = ip_text(e->ir, "made%d", e->n_values++);
    ip_emit_var(e, type, ip_text(e->ir, "%s[%d]", made, elements + IP_LANES), NULL);
    return made;
}

static void lanes_row(ip_emit *e, const ip_columns *c)
{
    ip_expr *part = c->segment->part;
    const bool in_pairs = c->segment->in_pairs;
    if (part == c->body && ip_placed_is_kept(ip_kernel_placed(e->kernel, c->stage))) {
        const char *to = ip_text(e->ir, "%s + %s * %d", c->target, c->from, e->channels);
        lanes_loop(e, part, in_pairs, c->to, &(destination){ "__global ", to, c->from });
        return;
    }
    ip_mark mark = enter_blocks(e, c->from, c->to);
    const char *made = block_of(e, ip_cl_type(part->dtype), BLOCK_PIXELS * e->channels);
    lanes_loop(e, part, in_pairs, "p + n", &(destination){ "", made, "p" });
    finish_block(e, c, part, made, c->segment->width);
    ip_emit_leave(e, mark);
}

void ip_emit_lanes_block(ip_emit *e, const ip_columns *c, const ip_places *places, int most, const ip_named *named)
{
    ip_expr *part = places->part;
    const char *made = block_of(e, ip_cl_type(part->dtype), most * e->channels);
    ip_mark mark = { e->block, e->n_trail, e->n_rows };
    for (int k = 0; k < named->n; k++)
        ip_emit_name(e, named->of[k], ip_text(e->ir, "%s[x - p]", named->arrays[k]));
    e->lanes = part;
    lanes_loop(e, part, places->in_pairs, "p + n", &(destination){ "", made, "p" });
    e->lanes = NULL;
    ip_emit_leave(e, mark);
    finish_block(e, c, part, made, places->width);
}

/* ---- even steps ------------------------------------------------------------------------------ */

/*
 * Note [Even steps]
 * Where pixel x is made of pixels from step * x on, as in a resize to a half, what it would be is computed at every
 * column of the row that is read, a block of them at a time: that is a flat loop over elements side by side. Then every
 * step-th pixel is taken. For few columns a pixel it is cheaper than to compute pixel by pixel, four lanes of which are
 * a quarter of a vector. Nothing is read behind the last pixel, so rows need not be kept.
 */
static void stepped_row(ip_emit *e, const ip_columns *c)
{
    int by = c->segment->times * e->channels;
    imgpar_dtype dtype = c->stage->dtype;
    ip_expr *body = c->segment->part;
    ip_emit_row_pointers(e, body);
    ip_mark in_block = enter_blocks(e, c->from, c->to);
    const char *every = block_of(e, ip_dtype(dtype)->cl, BLOCK_PIXELS * by);
    const char *end = ip_text(e->ir, "(p + n) * %d - %d", by, by - e->channels);
    ip_mark in_flat = ip_emit_enter(e, ip_emit_vectors(e, "i", ip_text(e->ir, "p * %d", by), end, c->segment->width));
    e->flat = "i";
    ip_emit_count_uses(e, &body, 1);
    ip_emit_set(e, ip_text(e->ir, "%s[i - p * %d]", every, by), ip_emit_value(e, body));
    e->flat = NULL;
    ip_emit_leave(e, in_flat);
    ip_emit_take(e, &(ip_taking){ .from = every,
                                  .to = ip_text(e->ir, "%s + p * %d", c->target, e->channels),
                                  .n = "n",
                                  .by = by,
                                  .dtype = dtype });
    ip_emit_leave(e, in_block);
}

void ip_emit_lanes_row(ip_emit *e, const ip_columns *c)
{
    if (c->segment->times)
        stepped_row(e, c);
    else
        lanes_row(e, c);
}
