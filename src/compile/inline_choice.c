/* SPDX-License-Identifier: MIT */
/*
 * Which stages go into their readers, and which are kept.
 *
 * RULES, at the end of this file, decides: the first row that applies to a load of a stage p wins, and where none does,
 * p is kept. In short,
 *   - p's body takes the place of the load where the load reads p at the reader's own place, or at computed places that
 *     are known to be inside if p is cheap (COST) and reads nothing around itself (a chain of views is one index map).
 *   - p is computed again at each neighbour where that costs less than a row that is kept: Notes [Lines], [Products of
 *     kept rows], [Widened elements].
 *   - p is kept where it is asked for; where it is stored as f16, which rounds; where several read it and it is dear;
 *     where it holds less than what it is made of, as a level of a pyramid does; where its neighbours are read anyway;
 *     and where the reader would lose a quick form of loop or an idiom.
 * Expressions stay below IP_INLINED_SIZE, and the reads in them below MAX_LOADS, so that compile time stays linear in
 * the graph.
 */
#include "compile/inline.h"

#include "base/dtype.h"
#include "compile/idioms.h"

#include <string.h>

enum {
    COST = 12 /* operations of an element that is cheap: readers may compute it again */,
    FLAT_SIZE = 200 /* looked through once for every load */,
    MAX_LOADS = 100 /* of a stage that others went into: compilers compare all reads of a loop with each other */,
    MAX_USED_UP = 200 /* the same, of stages of which each element is read once: most reads are of the same places */,
    FEW_LOADS = 4 /* as quick as to keep a row and to read it twice */,
    LOOKED_UP = 4 /* operations of an element of a table that is worth a kernel */,
    SHARE = 64 /* elements of what is looked up in it, a table's element */,
    FEW_NEIGHBOURS = 9 /* of 3 x 3: sums of three products of gradients take 2 to 8 % less CPU time */
};

bool ip_reads_own_place(const ip_expr *load, const ip_stage *reader)
{
    const int64_t *domain = ip_stage_domain(reader);
    for (int k = 0; k < 3; k++)
        if (!ip_reads_own_index(load, k, domain[k])) return false;
    const ip_expr *c = load->arg[3];
    bool is_own = ip_reads_own_index(load, 3, domain[3]);
    bool is_fixed = c->op == IP_X_CONST && c->i >= 0 && c->i < load->source->dims[3];
    bool is_inside = load->border == IP_BORDER_NONE && !(c->uses & ~IP_USES_C);
    return is_own || is_fixed || is_inside; /* another channel may be beyond the last: a matter of the border */
}

static void note_neighbours(ip_expr *load, void *user)
{
    if (load->border != IP_BORDER_NONE) *(bool *)user = true;
}

bool ip_is_pointwise(ip_ir *ir, const ip_stage *p)
{
    bool has_neighbours = false;
    ip_stage_each_load(ir, p, note_neighbours, &has_neighbours);
    return !has_neighbours && !ip_x_has_window(ir, p->body);
}

static bool is_for_rows(const ip_inlining *in) { return in->options->schedule == IP_SCHEDULE_ROWS; }

/* Neighbours of interleaved channels are read quickly in a flat loop only: such a stage is not put into one that is
 * not. */
static bool loses_flat_loop(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    ip_broadcast broadcast;
    return is_for_rows(in) && in->options->fuse && !in->reader_is_flat && in->of[p->id].size <= FLAT_SIZE &&
           ip_find_broadcast(in->ir, p->body, p->dims[3], &broadcast) && !ip_is_pointwise(in->ir, p);
}

/* Some are made quickly by themselves only. */
static bool loses_idiom(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    ip_match match;
    const bool may = is_for_rows(in) && in->options->fuse && in->options->device.has_clang_builtins;
    if (may && ip_stage_is_random(p)) return true;
    return may && in->of[p->id].n_loads > 1 && ip_idiom_find(in->ir, NULL, p, p->body, &match) &&
           match.idiom->stays_apart;
}

static bool check_gather(ip_expr *x, void *user)
{
    bool *found = user;
    if (x->op != IP_X_LOAD) return !*found;
    const ip_expr *column = x->arg[2]->op == IP_X_ADD ? x->arg[2]->arg[0] : x->arg[2];
    bool in_row = ip_x_reads_uniform_row(x), is_listed = column->op == IP_X_LOAD && column->uses & IP_USES_X;
    *found |= in_row && ip_x_is_coord(x->arg[3], 3) && (is_listed || ip_x_step(x->arg[2]) > 1);
    return false;
}

bool ip_takes_apart(const ip_stage *reader, const ip_expr *load)
{
    return reader->kind != IP_STAGE_MAP || !ip_x_is_coord(load->arg[3], 3);
}

typedef struct apart_search {
    const ip_stage *reader, *source;
    bool found;
} apart_search;

static void look_for_apart(ip_expr *load, void *user)
{
    apart_search *s = user;
    s->found |= load->source == s->source && ip_takes_apart(s->reader, load);
}

/* Pixels that are made of others at every n-th column, or at listed ones, are made quickly where their channels stand
 * side by side (emit_lanes.c): such a stage is not put into one that takes its channels one by one, or folds them; nor
 * into one whose body does so in some of its reads, which would make the pixels once more for the others. */
static bool loses_lanes(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    bool has_lanes = p->dims[3] == 3 || p->dims[3] == 4;
    if (!is_for_rows(in) || !in->options->fuse || !has_lanes || p->body->op == IP_X_LOAD ||
        in->of[p->id].size > FLAT_SIZE)
        return false;
    apart_search apart = { .reader = in->reader, .source = p };
    ip_stage_each_load(in->ir, in->reader, look_for_apart, &apart);
    if (!apart.found) return false;
    bool found = false;
    ip_x_descend(in->ir, p->body, check_gather, &found);
    return found;
}

/*
 * Note [Lines]
 * Neighbours in an image are kept a few rows at a time; a line has no rows, so what is read around itself would go to
 * memory. Where p computes each element from those at the same place alone, its neighbour is what it makes of theirs,
 * and a border rule that repeats elements may be applied to them instead: f(a)[x + 1] is f(a[x + 1]).
 */
typedef struct line_check {
    const ip_stage *p;
    bool fits;
} line_check;

static bool check_line(ip_expr *x, void *user)
{
    line_check *c = user;
    if (x->op == IP_X_COORD || ip_x_is_repeated(x)) c->fits = false;
    if (x->op == IP_X_LOAD)
        c->fits =
            c->fits && ((x->border == IP_BORDER_NONE && ip_reads_own_place(x, c->p)) || !(x->uses & IP_USES_COORDS));
    return x->op != IP_X_LOAD && c->fits;
}

typedef struct load_count {
    const ip_stage *of;
    int n;
    bool at_steps;
} load_count;

static void count_loads_of(ip_expr *load, void *user)
{
    load_count *c = user;
    if (load->source != c->of) return;
    c->n++;
    c->at_steps &= ip_x_step(load->arg[2]) > 1;
}

static bool is_shared_row(const ip_inlining *in, const ip_expr *x)
{
    return x->op == IP_X_LOAD && in->of[x->source->id].n_readers > 1;
}

/*
 * Note [Products of kept rows]
 * A product of rows of which one is kept for other readers too needs no rows of its own where few of its neighbours are
 * read: a window over the factors costs a product for each neighbour, and saves a line buffer, its stores and half of
 * what stays in the cache. (The sums of products of gradients that tell corners are such: two line buffers, not five.)
 */
static bool is_product_of_rows(const ip_inlining *in, const ip_stage *p)
{
    const ip_expr *x = p->body;
    if (!is_for_rows(in) || !in->options->fuse || x->op != IP_X_MUL || in->of[p->id].n_readers > 1) return false;
    for (int k = 0; k < 2; k++)
        if (x->arg[k]->op != IP_X_LOAD || !ip_stage_computes(x->arg[k]->source)) return false;
    if (!ip_dtype(p->dtype)->is_float || !(is_shared_row(in, x->arg[0]) || is_shared_row(in, x->arg[1]))) return false;
    load_count count = { .of = p };
    ip_stage_each_load(in->ir, in->reader, count_loads_of, &count);
    return count.n <= FEW_NEIGHBOURS;
}

/*
 * Note [Widened elements]
 * Rows of what is nothing but elements in a wider dtype would be a copy: readers widen what they read by themselves,
 * and find the source's rows, which may be kept anyway, or need no copy (place_copies.c, Note [Reading in place]).
 */
static bool is_widened(const ip_stage *p)
{
    const ip_expr *x = p->body;
    if (x->op != IP_X_CAST || x->arg[0]->op != IP_X_LOAD || p->dtype == IMGPAR_F16) return false;
    const ip_dtype_facts *to = ip_dtype(x->dtype), *from = ip_dtype(x->arg[0]->source->dtype);
    return !to->is_float && !from->is_float && x->arg[0]->source->dtype != IMGPAR_BOOL &&
           from->size_bytes < to->size_bytes;
}

/* Whether p's neighbour is made anew where it is read: Note [Lines], Note [Products of kept rows], Note [Widened
 * elements]. */
bool ip_is_made_where_read(const ip_inlining *in, const ip_expr *load)
{
    ip_stage *p = load->source;
    const bool repeats = load->border != IP_BORDER_NONE && load->border != IMGPAR_BORDER_CONSTANT;
    if (!repeats || p->kind != IP_STAGE_MAP || in->reader->kind == IP_STAGE_SCAN || in->of[p->id].size > COST)
        return false;
    if (memcmp(p->dims, ip_stage_domain(in->reader), sizeof p->dims) != 0 || !ip_x_is_coord(load->arg[3], 3))
        return false;
    bool is_line = p->dims[0] == 1 && p->dims[1] == 1;
    if (!is_line && !is_widened(p) && !is_product_of_rows(in, p)) return false;
    line_check c = { p, true };
    ip_x_descend(in->ir, p->body, check_line, &c);
    return c.fits;
}

typedef struct channel_count {
    const ip_stage *of;
    bool own, other;
} channel_count;

static void note_channel(ip_expr *load, void *user)
{
    channel_count *c = user;
    if (load->source == c->of) *(ip_x_is_coord(load->arg[3], 3) ? &c->own : &c->other) = true;
}

/* What a flat loop reads in its own channel and, broadcast (broadcast.c), in one of the pixel, would be computed for
 * both. */
static bool is_computed_twice(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    channel_count c = { .of = p };
    if (!is_for_rows(in) || !in->options->fuse || !in->reader_is_flat || in->of[p->id].size <= COST) return false;
    ip_stage_each_load(in->ir, in->reader, note_channel, &c);
    return c.own && c.other;
}

typedef struct mix {
    int n_channels, bytes; /* that are read of a pixel */
} mix;

static void add_channel(ip_expr *load, void *user)
{
    mix *m = user;
    if (load->source->dims[3] == 1 || load->arg[3]->op != IP_X_CONST) return;
    m->n_channels++;
    m->bytes += (int)ip_dtype(load->source->dtype)->size_bytes;
}

/* Whether p, of which an element of the same row and column is read, mixes the channels of a pixel, as a luminance
 * does, and is kept for readers that look at its neighbours: in a line buffer, or in memory, where it takes no more
 * than the pixels. It is read more quickly there than channels are taken out of pixels again. */
static bool is_kept_mix(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    if (!ip_x_is_coord(load->arg[1], 1) || !ip_x_is_coord(load->arg[2], 2)) return false;
    if (!in->of[p->id].has_neighbours_read || p->dims[3] > 1 || p->dims[1] == 1 || in->reader->kind != IP_STAGE_MAP)
        return false;
    mix m = { 0 };
    ip_stage_each_load(in->ir, p, add_channel, &m);
    bool is_small = (int)ip_dtype(p->dtype)->size_bytes <= m.bytes;
    return m.n_channels > 1 && (is_small || in->of[p->id].is_in_line_buffer) && is_for_rows(in) && in->options->fuse;
}

/* Whether fusing will keep p's rows where its reader sets their rate (place_rates.c, Note [Producer row rates]). */
static bool keeps_pace(const ip_inlining *in, const ip_stage *p)
{
    const ip_stage *reader = in->reader;
    return in->of[p->id].n_readers == 1 && reader->kind == IP_STAGE_MAP && !in->of[reader->id].is_folded &&
           reader->dims[0] * reader->dims[1] >= IP_LEAST_ROWS;
}

static bool adds_inputs(const ip_inlining *in, const ip_stage *p)
{
    ip_linear form;
    bool fits = ip_linear_of(in->ir, p->body, &form) && ip_linear_is_sum(&form);
    for (int k = 0; fits && k < form.n_terms; k++)
        fits = !ip_stage_computes(form.terms[k].load[0]->source);
    return fits;
}

/* Several elements of a row that p computes one beside the other are read at computed columns: such a row is kept
 * (fuse.c, Note [Whole rows]), since elements computed where they are read come one by one. So are rows that are read
 * several times each. But pixels at every second column are computed one beside the other, too, where they are kept or
 * asked for (emit_lanes.c, Note [Even steps]). */
static bool is_dearer_elsewhere(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    if (!is_for_rows(in) || p->body->op == IP_X_LOAD || p->dims[1] == 1) return false;
    ip_reach reach = ip_load_reach(load, ip_stage_domain(in->reader));
    if (!reach.is_in_rows && !(reach.is_paced && keeps_pace(in, p))) return false;
    load_count count = { .of = p, .at_steps = true };
    ip_stage_each_load(in->ir, in->reader, count_loads_of, &count);
    bool are_at_hand =
        count.at_steps && p->dims[3] >= 3 && count.n * in->of[p->id].n_loads <= FEW_LOADS && adds_inputs(in, p) &&
        (in->reader->is_output || in->of[in->reader->id].has_neighbours_read || in->of[in->reader->id].is_taken_apart);
    return count.n > 1 && !are_at_hand;
}

/* Whether only p reads the computed stage that it leaves elements out of, and several stages, or one elsewhere, read
 * what is left: that is less to keep (levels.c). */
static bool is_kept_level(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    bool is_reread = in->of[p->id].n_readers > 1 || !ip_reads_own_place(load, in->reader);
    return is_reread && ip_leaves_elements_out(p) && !p->body->source->is_output &&
           in->of[p->body->source->id].n_readers == 1;
}

static void find_read(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE && (x->uses & IP_USES_COORDS);
}

/* Whether p is a small table that is looked up at places that are read: it is made once, even where an element costs
 * little, and its reader is left with lookups (emit_lookup.c, Note [Lookups in blocks]). */
static bool is_looked_up(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    bool is_read = false;
    if (in->of[p->id].size < LOOKED_UP || ip_dims_count(p->dims) * SHARE > ip_dims_count(ip_stage_domain(in->reader)))
        return false;
    ip_x_walk(in->ir, load->arg[2], find_read, &is_read);
    return is_read && in->options->fuse && p->dims[0] * p->dims[1] * p->dims[3] == 1;
}

/* Whether p's one reader takes elements of its rows at columns that are the same for all, each of them once but for the
 * last, as a fold of short rows does: to compute them there takes less than to keep them. */
static bool is_used_up(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    if (in->of[p->id].n_readers != 1 || load->border != IP_BORDER_NONE || in->reader->kind != IP_STAGE_MAP ||
        load->arg[2]->uses & IP_USES_COORDS || (p->dims[3] > 1 && load->arg[3]->uses & IP_USES_COORDS) ||
        !ip_is_pointwise(in->ir, p))
        return false;
    load_count count = { .of = p };
    ip_stage_each_load(in->ir, in->reader, count_loads_of, &count);
    return count.n * ip_dims_count(in->reader->dims) < 2 * ip_dims_count(p->dims) && count.n > 1 &&
           count.n * in->of[p->id].size <= IP_INLINED_SIZE && count.n * in->of[p->id].n_loads <= MAX_USED_UP;
}

/* ---- the rules ------------------------------------------------------------------------------ */

static bool has_to_be_stored(const ip_inlining *in, const ip_expr *load)
{
    (void)in;
    const ip_stage *p = load->source;
    return p->kind != IP_STAGE_MAP || p->is_output || p->dtype == IMGPAR_F16;
}

/* Later rounds put in only what had several readers in the first, and has one now. */
static bool is_of_earlier_round(const ip_inlining *in, const ip_expr *load)
{
    return in->round > 0 && !(in->was_shared[load->source->id] &&
                              (ip_reads_own_place(load, in->reader) || ip_is_made_where_read(in, load)));
}

static bool is_node_by_itself(const ip_inlining *in, const ip_expr *load)
{
    return !in->options->fuse && load->source->node != in->reader->node;
}

static bool makes_reader_too_large(const ip_inlining *in, const ip_expr *load)
{
    const ip_inline_facts *of = &in->of[load->source->id];
    return in->reader_size + of->size > IP_INLINED_SIZE || in->reader_loads + of->n_loads > MAX_LOADS;
}

static bool is_read_around(const ip_inlining *in, const ip_expr *load)
{
    return in->of[load->source->id].read_around == in->reader->id + 1;
}

static bool is_dear_to_several(const ip_inlining *in, const ip_expr *load)
{
    const ip_inline_facts *of = &in->of[load->source->id];
    return of->n_readers > 1 && of->size > COST;
}

static bool is_read_for_every_tap(const ip_inlining *in, const ip_expr *load)
{
    const ip_inline_facts *of = &in->of[load->source->id];
    return of->read_in_window == in->reader->id + 1 && of->size > 1 && ip_reads_own_place(load, in->reader);
}

/* A scan's loops have no strips to keep neighbours in. */
static bool needs_strips_in_scan(const ip_inlining *in, const ip_expr *load)
{
    return in->reader->kind == IP_STAGE_SCAN && !ip_is_pointwise(in->ir, load->source);
}

static bool is_kept_for_neighbours(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    return in->of[p->id].has_neighbours_read && p->body->op != IP_X_LOAD && !ip_is_pointwise(in->ir, p);
}

static bool is_at_own_place(const ip_inlining *in, const ip_expr *load) { return ip_reads_own_place(load, in->reader); }

static bool is_cheap_anywhere(const ip_inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    return load->border == IP_BORDER_NONE && in->of[p->id].size <= COST && ip_is_pointwise(in->ir, p);
}

/* In this order: the first rule that applies decides. Where none does, the stage is kept. */
static const struct inline_rule {
    enum { KEEP, INLINE } then;
    bool (*applies)(const ip_inlining *in, const ip_expr *load);
} RULES[] = {
    { KEEP, has_to_be_stored },     { KEEP, is_of_earlier_round },    { KEEP, is_node_by_itself },
    { INLINE, is_used_up },         { KEEP, makes_reader_too_large }, { KEEP, is_read_around },
    { KEEP, is_dear_to_several },   { KEEP, is_kept_level },          { KEEP, is_read_for_every_tap },
    { KEEP, needs_strips_in_scan }, { KEEP, loses_flat_loop },        { KEEP, loses_lanes },
    { KEEP, loses_idiom },          { KEEP, is_computed_twice },      { INLINE, ip_is_made_where_read },
    { KEEP, is_kept_mix },          { KEEP, is_kept_for_neighbours }, { INLINE, is_at_own_place },
    { KEEP, is_dearer_elsewhere },  { KEEP, is_looked_up },           { INLINE, is_cheap_anywhere },
};

bool ip_may_inline(const ip_inlining *in, const ip_expr *load)
{
    for (size_t k = 0; k < sizeof RULES / sizeof *RULES; k++)
        if (RULES[k].applies(in, load)) return RULES[k].then == INLINE;
    return false;
}
