/* SPDX-License-Identifier: MIT */
/*
 * One row of a stage, from rows that are at hand. Loops are plain ones without calls, which a CPU's compiler
 * vectorises. Where channels do not interact the loop runs over the flat index i = x * channels + c.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/emit.h"

/* ---- channels ---------------------------------------------------------------------- */

ip_expr *ip_emit_of_channel(ip_emit *e, ip_expr *x, int c)
{
    const ip_site site = ip_emit_site(e);
    return ip_of_channel(&site, x, c);
}

ip_channels ip_emit_enter_channels(ip_emit *e, ip_expr *body)
{
    ip_channels channels = { .n = e->channels, .mark = { e->block, e->n_trail, e->n_rows } };
    if (e->channels > IP_WRITTEN_CHANNELS) {
        ip_stmt *loop = ip_emit_for(e, "c", "0", ip_text(e->ir, "%d", e->channels));
        channels.mark = ip_emit_enter(e, loop);
        e->coord[3] = "c";
        channels.n = 1;
        channels.bodies[0] = body;
    }
    for (int c = 0; c < e->channels && e->channels <= IP_WRITTEN_CHANNELS; c++)
        channels.bodies[c] = ip_emit_of_channel(e, body, c);
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
    if (e->channels == 1) return x;
    const char *first = ip_text(e->ir, "%s%s * %d", ip_emit_widening(e->channels, false), x, e->channels);
    return e->channels > IP_WRITTEN_CHANNELS ? ip_text(e->ir, "%s + c", first) : ip_text_plus(e->ir, first, k);
}

/* ---- one row of a stage --------------------------------------------------------------- */

/*
 * Note [Whole vectors]
 * What is left of a row behind its last whole vector would be computed one by one, in narrow strips half of the time.
 * The loop runs once more over the row's last vector instead, part of which it has made before: elements depend on
 * nothing that the loop writes, so they come out the same. It takes compilers up to a third longer, so kernels that
 * compute much in many loops go without, but for vectors of so many lanes that what is left takes as long as all of
 * them. In short rows each vector is a loop of as many lanes as it has, in which
 * compilers see that nothing remains: what they put around a loop of any length takes as long as two vectors. In long
 * ones that is slower, for want of registers.
 *
 * Note [Gaps]
 * A compiler reads every third element as vectors of all elements. Where the channels that are read do not go from a
 * pixel's first to its last, the last such vector may end behind what there is, so the compiler leaves at least one
 * iteration to its remainder loop. If the iterations fill whole vectors, it leaves all of the last vector, which takes
 * as long as twenty. So the part of the row that is made last has one iteration more than a vector has lanes.
 */
/* The loop where rows are short. */
static ip_stmt *add_lanes(ip_emit *e, const char *var, const char *from, const char *to, int width)
{
    const char *first = ip_text(e->ir, "e%d", e->n_values++), *end = ip_text(e->ir, "e%d", e->n_values++);
    ip_emit_let_int(e, first, from);
    ip_emit_let_int(e, end, to);
    ip_stmt *loop = ip_emit_for(e, var, first, end);
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = width;
    loop->in_lanes = true;
    return loop;
}

enum { MANY_LANES = 32 };

/* turns_more: 1 where there are gaps, else 0. */
static ip_stmt *add_vectors(ip_emit *e, const char *var, const char *from, const char *to, int width, int turns_more)
{
    if (e->is_short && width > 1) return add_lanes(e, var, from, to, width);
    if (!e->kernel->whole_vectors && width < MANY_LANES) {
        ip_stmt *loop = ip_emit_for(e, var, from, to);
        loop->parallel = IP_INDEPENDENT;
        loop->vector_width = width;
        return loop;
    }
    const char *whole = ip_text(e->ir, "e%d", e->n_values++), *part = ip_text(e->ir, "part%d", e->n_values++);
    ip_emit_let_int(e, whole,
                    turns_more ? ip_text(e->ir, "%s - max(%s - %s - %d, 0) %% %d", to, to, from, turns_more, width)
                               : ip_text(e->ir, "%s - (%s - %s) %% %d", to, to, from, width));
    ip_stmt *parts = ip_emit_for(e, part, "0", ip_text(e->ir, "1 + (%s < %s)", whole, to));
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

static void store_element(ip_emit *e, const ip_columns *c, const char *index, const char *value)
{
    if (c->first) index = ip_text(e->ir, "%s - %s", index, c->first);
    ip_emit_store(e, c->stage, c->target, index, value);
}

static void compute_flat(ip_emit *e, const ip_columns *c)
{
    ip_stmt *loop = ip_emit_vectors(e, "i", ip_text(e->ir, "%s * %d", c->from, e->channels),
                                    ip_text(e->ir, "%s * %d", c->to, e->channels), c->elements->width);
    ip_mark mark = ip_emit_enter(e, loop);
    e->flat = "i";
    ip_emit_count_uses(e, (ip_expr *[]){ c->body }, 1);
    store_element(e, c, "i", ip_emit_value(e, c->body));
    e->flat = NULL;
    ip_emit_leave(e, mark);
}

/*
 * Note [Gathers]
 * Processors read elements from places of their own one by one, with an instruction for a vector of them as without;
 * where they have to be waited for, the instruction takes twice as long. So what does little but read elements at
 * places that it reads is computed element by element, in a loop that is not unrolled either, since compilers put
 * several such reads into that instruction. Not of other than four bytes, where that was slower, nor of tables that are
 * small enough for the first cache.
 */

/*
 * Note [Many channels]
 * Where a pixel has more channels than are written out, they are a loop within that over the pixels, whose elements lie
 * side by side. That loop is the one of vectors, of as many lanes as divide the channels: compilers do not vectorise
 * an outer loop, and would choose shorter vectors for the inner one.
 *
 * Note [Groups of channels]
 * What differs by the channel alone, as the weights of a depthwise convolution do, would be read again for each pixel.
 * Where much is, a block of pixels is made for as many channels as a vector has, then for the next ones: what they read
 * so stays in registers. The block is so short that its pixels stay in the first cache. A column is
 * q + pixel: with the column as the loop's variable clang makes one loop of both and loses the inner one's pragma.
 */
static void vectorise_channels(ip_stmt *loop, int lanes)
{
    if (lanes == 1) return;
    loop->parallel = IP_INDEPENDENT;
    loop->vector_width = lanes;
}

/* Loops over blocks of pixels, groups of channels and the pixels of a block. */
static void compute_groups(ip_emit *e, const ip_columns *c, int pixels, int lanes)
{
    const int number = e->n_values++;
    const char *q = ip_text(e->ir, "q%d", number), *group = ip_text(e->ir, "group%d", number);
    ip_stmt *blocks = ip_emit_for(e, q, c->from, c->to);
    ip_mark mark = ip_emit_enter(e, blocks);
    ip_stmt *groups = ip_s_add(e->ir, blocks, IP_S_FOR, group, "0", ip_text(e->ir, "%d", e->channels));
    ip_stmt *loop =
        ip_s_add(e->ir, groups, IP_S_FOR, "pixel", "0", ip_text(e->ir, "min(%d, %s - %s)", pixels, c->to, q));
    ip_s_add(e->ir, loop, IP_S_LET, "int", "x", ip_text(e->ir, "%s + pixel", q));
    ip_stmt *channels = ip_s_add(e->ir, loop, IP_S_FOR, "lane", "0", ip_text(e->ir, "%d", lanes));
    blocks->d = ip_text(e->ir, "%d", pixels);
    groups->d = ip_text(e->ir, "%d", lanes);
    blocks->parallel = groups->parallel = loop->parallel = IP_FEW;
    channels->parallel = IP_INDEPENDENT;
    channels->vector_width = lanes;
    channels->is_vector = true;
    ip_emit_enter(e, groups);
    ip_emit_enter(e, loop);
    e->coord[2] = "x";
    ip_emit_enter(e, channels);
    ip_s_add(e->ir, channels, IP_S_LET, "int", "c", ip_text(e->ir, "%s + lane", group));
    e->coord[3] = "c";
    ip_emit_count_uses(e, (ip_expr *[]){ c->body }, 1);
    store_element(e, c, ip_emit_pixel_index(e, "x", 0), ip_emit_value(e, c->body));
    e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

static void compute_pixels(ip_emit *e, const ip_columns *c)
{
    const ip_elements *of = c->elements;
    const bool has_loop = e->channels > IP_WRITTEN_CHANNELS;
    if (of->block_pixels) {
        compute_groups(e, c, of->block_pixels, of->channel_lanes);
        return;
    }
    if (of->gathers_words) e->gather = ip_ir_alloc(e->ir, 1, sizeof *e->gather);
    if (e->gather) e->gather->body = c->body;
    ip_stmt *loop = of->is_vector && !has_loop ? add_vectors(e, "x", c->from, c->to, of->width, of->has_gaps ? 1 : 0)
                                               : ip_emit_for(e, "x", c->from, c->to);
    if (of->is_gather) loop->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, loop);
    e->coord[2] = "x";
    ip_channels channels = ip_emit_enter_channels(e, c->body);
    if (has_loop && of->is_vector) {
        loop->parallel = IP_FEW;
        vectorise_channels(e->block, of->channel_lanes);
    }
    const char *values[IP_WRITTEN_CHANNELS];
    /* All is read before anything is stored: compilers take channels side by side for one vector only where nothing
     * that they cannot tell apart lies between them. */
    for (int k = 0; k < channels.n; k++)
        values[k] = (channels.n > 1 ? ip_emit_variable : ip_emit_value)(e, channels.bodies[k]);
    for (int k = 0; k < channels.n; k++)
        store_element(e, c, ip_emit_pixel_index(e, "x", k), values[k]);
    ip_emit_leave_channels(e, &channels);
    e->coord[2] = NULL;
    e->gather = NULL;
    ip_emit_leave(e, mark);
}

/*
 * Note [Far angles]
 * Loops have no branches, so sin, cos and tan of f64 would take as long for each element as for angles from 2^45 on,
 * four times as long as for others. The loop calls the functions for near angles, which note in a variable that they
 * met a far one; only then the row, or its block, is computed again for angles of all sizes. (As in Note [Whole
 * vectors], elements depend on nothing that the loop writes.)
 */
void ip_emit_plain_row(ip_emit *e, const ip_columns *c)
{
    ip_emits *compute = c->elements->is_flat ? compute_flat : compute_pixels;
    if (!c->elements->has_angles) {
        compute(e, c);
        return;
    }
    const char *far = ip_text(e->ir, "far%d", e->n_values++);
    ip_emit_var(e, "int", far, "0");
    e->far = far;
    compute(e, c);
    e->far = NULL;
    ip_mark mark = ip_emit_enter(e, ip_emit_if(e, far));
    compute(e, c);
    ip_emit_leave(e, mark);
}

/* Stores one element; of a selection, only what is selected is computed. */
static void store_one(ip_emit *e, const ip_columns *c, const char *index)
{
    ip_expr *body = c->body;
    ip_emit_count_uses(e, &body, 1);
    if (body->op != IP_X_SELECT) {
        ip_emit_store(e, c->stage, c->target, index, ip_emit_value(e, body));
        return;
    }
    ip_emit_let(e, "bool", "selects", ip_emit_value(e, body->arg[0]));
    for (int k = 1; k <= 2; k++) {
        ip_mark mark = ip_emit_enter(e, ip_emit_if(e, k == 1 ? "selects" : "!selects"));
        ip_emit_store(e, c->stage, c->target, index, ip_emit_value(e, body->arg[k]));
        ip_emit_leave(e, mark);
    }
}

/* The ends of a row, before column low and from high on, where columns beside an element's own may lie outside: element
 * by element, borders applied, or many channels as a vector. */
static void compute_ends(ip_emit *e, const ip_columns *c, const char *low, const char *high)
{
    ip_stmt *ends = ip_emit_for(e, "end", "0", "2");
    ip_stmt *loop = ip_s_add(e->ir, ends, IP_S_FOR, "x", ip_text(e->ir, "end ? %s : %s", high, c->from),
                             ip_text(e->ir, "(end ? %s : %s)", c->to, low));
    ends->parallel = loop->parallel = IP_FEW;
    ip_mark mark = ip_emit_enter(e, loop);
    e->coord[2] = "x";
    e->coord[3] = "0";
    if (e->channels > 1) {
        ip_stmt *channels = ip_s_add(e->ir, loop, IP_S_FOR, "c", "0", ip_text(e->ir, "%d", e->channels));
        channels->parallel = IP_FEW;
        if (ip_x_size(e->ir, c->body) <= IP_VECTORISED_OPERATIONS)
            vectorise_channels(channels, ip_lanes_of_ends(c->body, e->channels, e->options->tuning.vector_bytes));
        ip_emit_enter(e, channels);
        e->coord[3] = "c";
    }
    store_one(e, c, e->channels > 1 ? ip_text(e->ir, "x * %d + c", e->channels) : "x");
    e->coord[2] = e->coord[3] = NULL;
    ip_emit_leave(e, mark);
}

void ip_emit_split_row(ip_emit *e, const ip_columns *c, const int beside[2], const char **low, const char **high)
{
    *low = ip_text(e->ir, "low%d", e->n_values++);
    *high = ip_text(e->ir, "high%d", e->n_values++);
    ip_emit_let_int(e, *low, ip_text(e->ir, "min(max(%s, %d), %s)", c->from, beside[0], c->to));
    ip_emit_let_int(e, *high,
                    ip_text(e->ir, "max(min(%s, %s - %d), %s)", c->to, ip_emit_dim(e, c->stage, 2), beside[1], *low));
}

/* ---- segments: segments.h ------------------------------------------------------------------------------ */

static ip_calls *const calls[IP_N_IDIOMS] = {
#define IDIOM(KIND, CALL, ...) [IP_IDIOM_##KIND] = CALL,
#define PART(KIND, ...)
#include "compile/idioms.def"
#undef PART
#undef IDIOM
};

/* Calls what makes columns quickly (idioms.h), if anything does; the first column that is left. */
static const char *call_idiom(ip_emit *e, const ip_match *match, const ip_columns *c)
{
    if (!match || (match->idiom->wants_long_rows && e->is_short)) return c->from;
    return calls[match->idiom - ip_idioms](e, match, c);
}

static ip_emits *const loops[IP_N_LOOPS] = {
#define LOOP(KIND, SAYS, FITS, EMIT) [IP_LOOP_##KIND] = EMIT,
#include "compile/loops.def"
#undef LOOP
};

static void emit_columns(ip_emit *e, const ip_segment *segment, ip_columns c)
{
    const ip_placed *p = c.placed;
    c.segment = segment;
    c.elements = &segment->elements;
    c.body = segment->body;
    ip_emit_row_pointers(e, segment->body);
    if (p->beside_left + p->beside_right > 0) {
        const char *low, *high;
        ip_emit_split_row(e, &c, (const int[]){ p->beside_left, p->beside_right }, &low, &high);
        compute_ends(e, &c, low, high);
        c.from = low;
        c.to = high;
        e->is_within = true;
    }
    c.body = segment->within;
    c.from = call_idiom(e, segment->match, &c);
    loops[segment->loop](e, &c);
    e->is_within = false;
}

static void emit_segment(ip_emit *e, const ip_segment *segment, const ip_columns *c)
{
    if (!segment->cut) {
        emit_columns(e, segment, *c);
        return;
    }
    const char *split = ip_text(e->ir, "split%d", e->n_values++);
    ip_emit_let_int(e, split, ip_text(e->ir, "max(min(%s, %s), %s)", ip_emit_value(e, segment->cut), c->to, c->from));
    for (int k = 0; k < 2; k++) {
        ip_columns part = *c;
        ip_mark mark = { e->block, e->n_trail, e->n_rows };
        *(k == 0 ? &part.to : &part.from) = split;
        emit_segment(e, segment->parts[k], &part);
        ip_emit_leave(e, mark);
    }
}

void ip_emit_row(ip_emit *e, const ip_placed *p, const ip_segment *segment, const char *xa, const char *xb,
                 const char *row, const char *first)
{
    emit_segment(
        e, segment,
        &(ip_columns){
            .stage = p->stage, .target = "out", .from = xa, .to = xb, .placed = p, .row = row, .first_row = first });
}
