/* SPDX-License-Identifier: MIT */
/*
 * One row of a stage, from rows that are at hand. Loops are plain ones without calls, which a CPU's compiler
 * vectorises. Where channels do not interact the loop runs over the flat index i = x * channels + c.
 */
#include "base/dtype.h"
#include "compile/emit.h"
#include "compile/idioms.h"

/* ---- which loop ------------------------------------------------------------------- */

static bool flat_value(ip_emit *e, const ip_stage *stage, ip_expr *x);

static bool flat_load(ip_emit *e, const ip_stage *stage, const ip_expr *load)
{
    const ip_stage *s = load->source;
    if (s->kind == IP_STAGE_TABLE) return !(load->arg[2]->uses & (IP_USES_X | IP_USES_C));
    if (!load->uses || !((load->arg[2]->uses | load->arg[3]->uses) & (IP_USES_X | IP_USES_C))) return !load->uses;
    ip_expr *rest = ip_x_offset_from(e->ir, load->arg[2], 2);
    bool in_row = rest && (load->border == IP_BORDER_NONE || ip_emit_column_is_inside(e, load) ||
                           (rest->op == IP_X_CONST && rest->i == 0 && s->dims[2] == stage->dims[2]));
    bool same_channels = load->arg[3]->op == IP_X_COORD && s->dims[3] == e->channels;
    bool row_is_uniform = !((load->arg[0]->uses | load->arg[1]->uses) & (IP_USES_X | IP_USES_C));
    ip_expr *outside = load->n_args == 5 ? load->arg[4] : NULL; /* another value a channel is none for a flat loop */
    bool flat_outside = !outside || !(outside->uses & IP_USES_C) || outside->op == IP_X_LOAD;
    return in_row && same_channels && row_is_uniform && flat_outside && (!outside || flat_value(e, stage, outside));
}

static bool flat_value(ip_emit *e, const ip_stage *stage, ip_expr *x)
{
    if (x->op == IP_X_LOAD) return flat_load(e, stage, x);
    if (!(x->uses & (IP_USES_X | IP_USES_C))) return true;
    if (x->op == IP_X_COORD || x->op == IP_X_BORDER) return false;
    return true;
}

typedef struct flat_check {
    ip_emit *e;
    const ip_stage *stage;
    bool ok;
} flat_check;

/* Values, not the indices of loads. */
static bool check_flat(ip_expr *x, void *user)
{
    flat_check *f = user;
    f->ok = f->ok && flat_value(f->e, f->stage, x);
    return f->ok && x->op != IP_X_LOAD;
}

bool ip_emit_is_flat(ip_emit *e, const ip_stage *stage, ip_expr *body)
{
    return e->channels > 1 && ip_emit_may_be_flat(e, stage, body);
}

bool ip_emit_may_be_flat(ip_emit *e, const ip_stage *stage, ip_expr *body)
{
    flat_check f = { e, stage, true };
    ip_x_descend(e->ir, body, check_flat, &f);
    return f.ok && !e->ir->failed;
}

static ip_expr *put_channel(ip_ir *ir, ip_expr *x, void *user)
{
    return x->op == IP_X_COORD && x->axis == 3 ? ip_x_int(ir, IMGPAR_I32, *(int *)user) : x;
}

ip_expr *ip_emit_of_channel(ip_emit *e, ip_expr *x, int c)
{
    return e->channels > IP_WRITTEN_CHANNELS ? x : ip_x_map(e->ir, x, put_channel, &c);
}

ip_channels ip_emit_enter_channels(ip_emit *e, ip_expr *body)
{
    ip_channels channels = { .n = e->channels, .mark = { e->block, e->n_trail, e->n_rows } };
    if (e->channels > IP_WRITTEN_CHANNELS) {
        ip_stmt *loop = ip_s_add(e->ir, e->block, IP_S_FOR, "c", "0", ip_text(e->ir, "%d", e->channels));
        channels.mark = ip_emit_enter(e, loop);
        e->coord[3] = "c";
        channels.n = 1;
        channels.bodies[0] = body;
    }
    for (int c = 0; c < channels.n && channels.n > 1; c++)
        channels.bodies[c] = ip_x_map(e->ir, body, put_channel, &c);
    if (e->channels == 1) channels.bodies[0] = ip_x_map(e->ir, body, put_channel, &(int){ 0 });
    ip_emit_count_uses(e, channels.bodies, channels.n);
    return channels;
}

void ip_emit_leave_channels(ip_emit *e, const ip_channels *channels)
{
    if (e->channels <= IP_WRITTEN_CHANNELS) return;
    e->coord[3] = NULL;
    ip_emit_leave(e, channels->mark);
}

const char *ip_emit_channel_text(ip_emit *e, int k)
{
    return e->channels > IP_WRITTEN_CHANNELS ? "c" : ip_text(e->ir, "%d", k);
}

const char *ip_emit_pixel_index(ip_emit *e, const char *x, int k)
{
    return e->channels == 1 ? x : ip_text(e->ir, "%s * %d + %s", x, e->channels, ip_emit_channel_text(e, k));
}

/* What the values of a loop are: bytes of the widest, how many have at most two bytes, how many more; whether there are
 * functions. */
typedef struct widths {
    int widest, n_narrow, n_wide;
    bool calls, has_series;
} widths;

static void note_width(const ip_expr *x, widths *w)
{
    int size = (int)ip_dtype(x->dtype)->size_bytes;
    bool is_index = x->op == IP_X_COORD || x->op == IP_X_CONST || x->op == IP_X_PARAM || x->op == IP_X_TAP;
    bool is_call = x->op == IP_X_POW || x->op == IP_X_ATAN2 || (x->op >= IP_X_SQRT && x->op <= IP_X_TANH);
    w->calls |= is_call;
    w->has_series |= is_call && x->op != IP_X_SQRT && x->dtype == IMGPAR_F64;
    if (is_index || x->dtype == IMGPAR_BOOL) return;
    *(size <= 2 ? &w->n_narrow : &w->n_wide) += 1;
    w->widest = size > w->widest ? size : w->widest;
}

/* Indices are i32, but are not computed in lanes: values only, without those that have been computed. */
static void note_widths(const ip_emit *e, const ip_expr *x, unsigned char *seen, widths *w)
{
    if (seen[x->id] || ip_emit_name_of(e, x)) return;
    seen[x->id] = 1;
    note_width(x, w);
    for (int k = x->op == IP_X_LOAD ? 4 : 0; k < x->n_args; k++)
        note_widths(e, x->arg[k], seen, w);
}

static widths widths_of(ip_emit *e, ip_expr *root, imgpar_dtype stored)
{
    widths w = { .widest = (int)ip_dtype(stored)->size_bytes };
    unsigned char *seen = ip_ir_alloc(e->ir, e->ir->n_exprs + 1, 1);
    if (seen) note_widths(e, root, seen, &w);
    return w;
}

int ip_emit_width(ip_emit *e, ip_expr *root, imgpar_dtype stored)
{
    int size = widths_of(e, root, stored).widest;
    return size < e->options->tuning.vector_bytes ? e->options->tuning.vector_bytes / size : 1;
}

/* Lanes of a loop that makes a row of s. Where much of it is narrow, two vectors of the widest numbers: the narrow ones
 * then fill theirs. Functions want the registers for themselves; those of f64 wait for one term of a series after the
 * other, so two vectors of them take a fifth less than one after the other where there are 32 registers. */
static int row_width(ip_emit *e, const ip_stage *s)
{
    enum { FEW = 3, MANY_REGISTERS = 64 };
    widths w = widths_of(e, s->body, s->dtype);
    bool is_mixed = w.widest == 4 && w.n_narrow >= FEW && 3 * w.n_narrow >= w.n_wide && !w.calls;
    bool is_of_series = w.widest == 8 && w.has_series && e->options->tuning.vector_bytes >= MANY_REGISTERS;
    return ip_emit_width(e, s->body, s->dtype) * (is_mixed || is_of_series ? 2 : 1);
}

/* ---- one row of a stage --------------------------------------------------------------- */

/*
 * Note [Whole vectors]
 * What is left of a row behind its last whole vector would be computed one by one, in narrow strips half of the time.
 * The loop runs once more over the row's last vector instead, part of which it has made before: elements depend on
 * nothing that the loop writes, so they come out the same. It takes compilers up to a third longer, so kernels that
 * compute much in many loops go without. In short rows each vector is a loop of as many lanes as it has, in which
 * compilers see that nothing remains: what they put around a loop of any length takes as long as two vectors. In long
 * ones that is slower, for want of registers.
 *
 * Note [Gaps]
 * A compiler reads every third element as vectors of all, and leaves the loop's last turn to single elements where what
 * is read does not go from the first channel to the last, so that the last vector may end behind what there is. If the
 * turns fill whole vectors, all of the last vector is made so, which takes as long as twenty. There the loop has one
 * turn more. What is a part of a word (emit_memory.c, Note [Four channels]) leaves no gap.
 */
enum { WHOLE_LOOPS = 3, WHOLE_OPERATIONS = 48 };

static bool makes_whole_vectors(const ip_emit *e)
{
    int operations = 0;
    for (int k = 0; k < e->kernel->n_placed; k++)
        operations += ip_x_size(e->ir, e->kernel->placed[k].stage->body);
    return e->kernel->n_placed <= WHOLE_LOOPS || operations <= WHOLE_OPERATIONS;
}

/* The loop where rows are short. */
static ip_stmt *add_lanes(ip_emit *e, const char *var, const char *from, const char *to, int width)
{
    const char *first = ip_text(e->ir, "e%d", e->n_values++), *end = ip_text(e->ir, "e%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", first, from);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", end, to);
    ip_stmt *loop = ip_s_add(e->ir, e->block, IP_S_FOR, var, first, end);
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = width;
    loop->in_lanes = true;
    return loop;
}

/* Which channels of a source are read. */
typedef struct channels_read {
    const ip_stage *source;
    bool first, last;
} channels_read;

static void find_channels(ip_expr *x, void *user)
{
    channels_read *c = user;
    bool is_known = x->op == IP_X_LOAD && x->source == c->source && x->arg[3]->op == IP_X_CONST;
    c->first |= is_known && x->arg[3]->i == 0;
    c->last |= is_known && x->arg[3]->i == x->source->dims[3] - 1;
}

/* The bodies of a pixel's channels. */
typedef struct gap_check {
    ip_emit *e;
    ip_expr *bodies[IP_WRITTEN_CHANNELS];
    int n;
    bool found;
} gap_check;

static void look_for_gap(ip_expr *x, void *user)
{
    gap_check *c = user;
    if (c->found || x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || !(x->arg[2]->uses & IP_USES_X)) return;
    channels_read read = { .source = x->source };
    for (int k = 0; k < c->n && x->source->dims[3] > 1; k++)
        ip_x_walk(c->e->ir, c->bodies[k], find_channels, &read);
    bool skips_channels = x->source->dims[3] > 1 && !(read.first && read.last) && !ip_emit_is_part_of_word(c->e, x);
    c->found = ip_x_step(x->arg[2]) > 1 || skips_channels;
}

/* Whether a loop over the pixels of a row leaves its last turn to single elements: Note [Gaps]. */
static bool has_gaps(ip_emit *e, ip_expr *body)
{
    gap_check c = { .e = e, .n = e->channels <= IP_WRITTEN_CHANNELS ? e->channels : 0 };
    for (int k = 0; k < c.n; k++)
        c.bodies[k] = ip_x_map(e->ir, body, put_channel, &k);
    for (int k = 0; k < c.n; k++)
        ip_x_walk(e->ir, c.bodies[k], look_for_gap, &c);
    return c.found;
}

/* turns_more: 1 where there are gaps, else 0. */
static ip_stmt *add_vectors(ip_emit *e, const char *var, const char *from, const char *to, int width, int turns_more)
{
    if (e->is_short && width > 1) return add_lanes(e, var, from, to, width);
    if (!makes_whole_vectors(e)) {
        ip_stmt *loop = ip_s_add(e->ir, e->block, IP_S_FOR, var, from, to);
        loop->parallel = IP_INDEPENDENT;
        loop->vector_width = width;
        return loop;
    }
    const char *whole = ip_text(e->ir, "e%d", e->n_values++), *part = ip_text(e->ir, "part%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", whole,
             turns_more ? ip_text(e->ir, "%s - max(%s - %s - %d, 0) %% %d", to, to, from, turns_more, width)
                        : ip_text(e->ir, "%s - (%s - %s) %% %d", to, to, from, width));
    ip_stmt *parts = ip_s_add(e->ir, e->block, IP_S_FOR, part, "0", ip_text(e->ir, "1 + (%s < %s)", whole, to));
    parts->parallel = IP_FEW;
    ip_stmt *loop = ip_s_add(e->ir, parts, IP_S_FOR, var,
                             ip_text(e->ir, "%s ? max(%s - %d, %s) : %s", part, to, width + turns_more, from, from),
                             ip_text(e->ir, "(%s ? %s : %s)", part, to, whole));
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = width;
    loop->is_whole = true;
    return loop;
}

ip_stmt *ip_emit_vectors(ip_emit *e, const char *var, const char *from, const char *to, int width)
{
    return add_vectors(e, var, from, to, width, 0);
}

static void compute_flat(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    ip_stmt *loop = ip_emit_vectors(e, "i", ip_text(e->ir, "%s * %d", xa, e->channels),
                                    ip_text(e->ir, "%s * %d", xb, e->channels), row_width(e, s));
    ip_mark mark = ip_emit_enter(e, loop);
    e->flat = "i";
    ip_emit_count_uses(e, (ip_expr *[]){ s->body }, 1);
    ip_emit_store(e, s, target, "i", ip_emit_value(e, s->body));
    e->flat = NULL;
    ip_emit_leave(e, mark);
}

/* Operations of a pixel up to which its loop is vectorised. Lanes that do not lie side by side are put together one by
 * one, and LLVM compares all of these with each other: a thousand operations take it 20 seconds. */
enum { VECTORISED_OPERATIONS = 400 };

/*
 * Note [Gathers]
 * Processors read elements from places of their own one by one, with an instruction for a vector of them as without;
 * where they have to be waited for, the instruction takes twice as long. So what does little but read elements at
 * places that it reads is computed element by element, in a loop that is not unrolled either, since compilers put
 * several such reads into that instruction. Not of other than four bytes, where that was slower, nor of tables that are
 * small enough for the first cache.
 */
typedef struct gather_check {
    ip_ir *ir;
    bool found;
} gather_check;

static void find_load(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE;
}

static void look_for_gather(ip_expr *x, void *user)
{
    enum { FEW_ELEMENTS = 4096 };
    gather_check *c = user;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || ip_dtype(x->source->dtype)->size_bytes != 4) return;
    double n = 1;
    for (int k = 0; k < 4; k++)
        n *= (double)x->source->dims[k];
    for (int k = 0; k < 4 && n > FEW_ELEMENTS && !c->found; k++)
        ip_x_walk(c->ir, x->arg[k], find_load, &c->found);
}

static bool only_gathers(ip_emit *e, ip_expr *body)
{
    enum { LITTLE = 8 };
    gather_check c = { e->ir, false };
    if (ip_x_size(e->ir, body) <= LITTLE) ip_x_walk(e->ir, body, look_for_gather, &c);
    return c.found;
}

static void compute_pixels(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    xa = ip_emit_spread_row(e, s, target, xa, xb);
    bool is_gather = only_gathers(e, s->body),
         vectorises = !is_gather && ip_x_size(e->ir, s->body) * e->channels <= VECTORISED_OPERATIONS;
    ip_stmt *loop = vectorises ? add_vectors(e, "x", xa, xb, row_width(e, s), has_gaps(e, s->body) ? 1 : 0)
                               : ip_s_add(e->ir, e->block, IP_S_FOR, "x", xa, xb);
    if (is_gather) loop->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, loop);
    e->coord[2] = "x";
    ip_channels channels = ip_emit_enter_channels(e, s->body);
    const char *values[IP_WRITTEN_CHANNELS];
    for (int c = 0; c < channels.n; c++)
        values[c] = ip_emit_value(e, channels.bodies[c]);
    for (int c = 0; c < channels.n; c++)
        ip_emit_store(e, s, target, ip_emit_pixel_index(e, "x", c), values[c]);
    ip_emit_leave_channels(e, &channels);
    e->coord[2] = NULL;
    ip_emit_leave(e, mark);
}

/*
 * Note [Far angles]
 * Loops have no branches, so sin, cos and tan of f64 would take as long for each element as for angles from 2^45 on,
 * four times as long as for others. The loop calls the functions for near angles, which note in a variable that they
 * met a far one; only then the row, or its block, is computed again for angles of all sizes. (As in Note [Whole
 * vectors], elements depend on nothing that the loop writes.)
 */
static void find_angle(ip_expr *x, void *user)
{
    const ip_emit **e = user;
    if (*e && x->uses & (IP_USES_X | IP_USES_C) && ip_emit_is_of_angle(*e, x)) *e = NULL;
}

static bool has_angle(const ip_emit *e, ip_expr *body)
{
    const ip_emit *found_none = e;
    ip_x_walk(e->ir, body, find_angle, &found_none);
    return !found_none;
}

typedef void row_loop(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb);

static void compute_angles(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb,
                           row_loop *compute)
{
    if (!has_angle(e, s->body)) {
        compute(e, s, target, xa, xb);
        return;
    }
    const char *far = ip_text(e->ir, "far%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_VAR, "int", far, "0");
    e->far = far;
    compute(e, s, target, xa, xb);
    e->far = NULL;
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_IF, far, NULL, NULL));
    compute(e, s, target, xa, xb);
    ip_emit_leave(e, mark);
}

/* Stores one element of s; of a selection, only what is selected is computed. */
static void store_one(ip_emit *e, const ip_stage *s, const char *target, const char *index)
{
    ip_expr *body = s->body;
    ip_emit_count_uses(e, &body, 1);
    if (body->op != IP_X_SELECT) {
        ip_emit_store(e, s, target, index, ip_emit_value(e, body));
        return;
    }
    ip_s_add(e->ir, e->block, IP_S_LET, "bool", "selects", ip_emit_value(e, body->arg[0]));
    for (int k = 1; k <= 2; k++) {
        ip_mark mark =
            ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_IF, k == 1 ? "selects" : "!selects", NULL, NULL));
        ip_emit_store(e, s, target, index, ip_emit_value(e, body->arg[k]));
        ip_emit_leave(e, mark);
    }
}

/* The ends of a row, where columns beside an element's own may lie outside: element by element, borders applied. */
static void compute_ends(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *low,
                         const char *high, const char *xb)
{
    ip_stmt *ends = ip_s_add(e->ir, e->block, IP_S_FOR, "end", "0", "2");
    ip_stmt *loop = ip_s_add(e->ir, ends, IP_S_FOR, "x", ip_text(e->ir, "end ? %s : %s", high, xa),
                             ip_text(e->ir, "(end ? %s : %s)", xb, low));
    ends->parallel = loop->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, loop);
    e->coord[2] = "x";
    e->coord[3] = "0";
    if (e->channels > 1) {
        ip_stmt *channels = ip_s_add(e->ir, loop, IP_S_FOR, "c", "0", ip_text(e->ir, "%d", e->channels));
        channels->parallel = IP_FEW;
        ip_emit_enter(e, channels);
        e->coord[3] = "c";
    }
    store_one(e, s, target, e->channels > 1 ? ip_text(e->ir, "x * %d + c", e->channels) : "x");
    e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

void ip_emit_split_row(ip_emit *e, const ip_stage *s, const int beside[2], const char *xa, const char *xb,
                       const char **low, const char **high)
{
    *low = ip_text(e->ir, "low%d", e->n_values++);
    *high = ip_text(e->ir, "high%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", *low, ip_text(e->ir, "min(max(%s, %d), %s)", xa, beside[0], xb));
    ip_s_add(e->ir, e->block, IP_S_LET, "int", *high,
             ip_text(e->ir, "max(min(%s, %s - %d), %s)", xb, ip_emit_dim(e, s, 2), beside[1], *low));
}

/* Calls what makes columns xa..xb quickly (idioms.h), if anything does; the first column that is left. */
static const char *call_idiom(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    ip_match match;
    ip_expr *body = e->channels == 1 ? ip_emit_of_channel(e, s->body, 0) : s->body;
    if (!ip_emit_calls_helpers(e) || !ip_idiom_find(e->ir, s, body, &match)) return xa;
    const ip_idiom *idiom = match.idiom;
    if ((idiom->is_flat && !ip_emit_may_be_flat(e, s, s->body)) || (idiom->wants_long_rows && e->is_short)) return xa;
    e->kernel->helpers |= 1u << idiom->file;
    ip_kernel_placed(e->kernel, s)->idioms |= 1u << (idiom - ip_idioms);
    return idiom->call(e, &match, &(ip_columns){ target, xa, xb });
}

static bool folds_windows(ip_emit *e, const ip_stage *s)
{
    bool may = ip_x_has_window(e->ir, s->body) && !ip_emit_fits_lanes(e, s);
    return may && (e->channels <= IP_WRITTEN_CHANNELS || ip_emit_is_flat(e, s, s->body));
}

static bool is_flat(ip_emit *e, const ip_stage *s) { return ip_emit_is_flat(e, s, s->body); }

/* What makes a row: the first that fits. Those without a name, of which --explain says nothing, compute angles. */
static void make_loop(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    static const struct {
        const char *name;
        bool (*fits)(ip_emit *e, const ip_stage *s);
        row_loop *make;
    } loops[] = {
        { "moves of every n-th pixel", ip_emit_fits_pick, ip_emit_pick_row },
        { "moves of repeated pixels", ip_emit_fits_repeat, ip_emit_repeat_row },
        { "windows of a block at a time", folds_windows, ip_emit_windows_row },
        { NULL, is_flat, compute_flat },
        { "pixels at computed columns", ip_emit_fits_lanes, ip_emit_lanes_row },
        { NULL, NULL, compute_pixels }, /* fits everything */
    };
    int k = 0;
    while (loops[k].fits && !loops[k].fits(e, s))
        k++;
    if (!loops[k].name) {
        compute_angles(e, s, target, xa, xb, loops[k].make);
        return;
    }
    ip_kernel_placed(e->kernel, s)->loop = loops[k].name;
    loops[k].make(e, s, target, xa, xb);
}

/* row: the row's number; first: that of the strip's first. */
static void compute_piece(ip_emit *e, const ip_placed *p, const char *target, const char *xa, const char *xb,
                          const char *row, const char *first)
{
    ip_stage *s = p->stage;
    ip_expr *body = s->body;
    ip_emit_row_pointers(e, body);
    if (p->beside_left + p->beside_right > 0) {
        const char *low, *high;
        ip_emit_split_row(e, s, (const int[]){ p->beside_left, p->beside_right }, xa, xb, &low, &high);
        compute_ends(e, s, target, xa, low, high, xb);
        xa = low;
        xb = high;
        e->is_within = true;
        s->body = ip_within_columns(e->ir, body, p->beside_left, s->dims[2] - 1 - p->beside_right);
    }
    xa = call_idiom(e, s, target, xa, xb);
    if (p->n_running > 0 && (e->channels == 1 || ip_emit_is_flat(e, s, s->body))) {
        ip_kernel_placed(e->kernel, s)->loop = "running sums";
        ip_emit_running_row(e, p, target, xa, xb, ip_emit_is_flat(e, s, s->body), row, first);
    } else {
        make_loop(e, s, target, xa, xb);
    }
    e->is_within = false;
    s->body = body;
}

/* pieces.c, Note [Pieces of rows] */
static void compute_pieces(ip_emit *e, const ip_placed *p, const char *target, const char *xa, const char *xb,
                           const char *row, const char *first, int n_splits)
{
    enum { MOST_SPLITS = 2, MOST_OPERATIONS = 64, MOST_SPLIT_ONCE = 160 }; /* each piece is compiled by itself */
    ip_stage *s = p->stage;
    ip_expr *body = s->body;
    bool may = n_splits < MOST_SPLITS && p->n_running == 0 && p->beside_left + p->beside_right == 0 &&
               !ip_x_has_window(e->ir, body) &&
               ip_x_size(e->ir, body) <= (n_splits ? MOST_OPERATIONS : MOST_SPLIT_ONCE);
    ip_expr *test = may ? ip_find_pieces(e->ir, body) : NULL;
    if (!test) {
        compute_piece(e, p, target, xa, xb, row, first);
        return;
    }
    const char *split = ip_text(e->ir, "split%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", split,
             ip_text(e->ir, "max(min(%s, %s), %s)", ip_emit_value(e, test->arg[1]), xb, xa));
    for (int k = 0; k < 2; k++) {
        ip_mark mark = { e->block, e->n_trail, e->n_rows };
        s->body = ip_piece_of(e->ir, body, test, k == 0);
        compute_pieces(e, p, target, k == 0 ? xa : split, k == 0 ? split : xb, row, first, n_splits + 1);
        ip_emit_leave(e, mark);
    }
    s->body = body;
}

void ip_emit_row(ip_emit *e, const ip_placed *p, const char *target, const char *xa, const char *xb, const char *row,
                 const char *first)
{
    compute_pieces(e, p, target, xa, xb, row, first, 0);
}
