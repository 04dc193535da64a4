/* SPDX-License-Identifier: MIT */
/*
 * Inlining: a stage's body takes the place of the loads that read it. After this
 * pass a stage remains only where its value must be kept for neighbours, for
 * several readers, or in memory.
 *
 * A load of stage p is replaced by p's body when
 *   1. it reads p at its own place (z, y, x; any channel), or at computed places that are known to be inside and p
 *      reads nothing around itself (a chain of views is one index map), or p is a cheap map of a line, Note [Lines],
 *      or a product of rows, Note [Products of kept rows], and (Where the same reader also looks at p's neighbours,
 *      p is kept for those anyway; and where any reader does, if p itself is made of neighbours and is more than one
 *      of them.) (But what is dearer elsewhere, or loses the form of loop that makes it quick, is kept: the functions
 *      before may_inline().)
 *   2. p is not asked for, is no f16 stage (which rounds where it is stored), and
 *   3. p has one reader, or computing it again costs less than keeping it (COST operations), and it does not keep less
 *      than what it is made of, as a level of a pyramid does. Several readers that went into one stage are one reader,
 *      so the pass has rounds; stages that nobody reads are none.
 * Rule 3 is waived where the one reader of p folds short rows of it, column by column (is_used_up()).
 * The other way round a pointwise stage that reads a recurrence at its own place, as its only reader, becomes that
 * recurrence with another finish. Expressions stay below MAX_SIZE, and the reads in them below MAX_LOADS, so that
 * compile time stays linear in the graph.
 */
#include "base/dtype.h"
#include "compile/idioms.h"
#include "graph/array.h"
#include "ir/opaque.h"

#include <string.h>

enum {
    COST = 12,
    MAX_SIZE = 1500,
    FLAT_SIZE = 200 /* looked through once for every load */,
    MAX_LOADS = 100 /* of a stage that others went into: compilers compare all reads of a loop with each other */,
    MAX_USED_UP = 200 /* the same, of stages of which each element is read once: most reads are of the same places */,
    FEW_LOADS = 4 /* as quick as to keep a row and to read it twice */,
    LOOKED_UP = 4 /* operations of an element of a table that is worth a kernel */,
    SHARE = 64 /* elements of what is looked up in it, a table's element */,
    FEW_NEIGHBOURS = 9 /* of 3 x 3: sums of three products of gradients take 2 to 8 % less CPU time */
};

typedef struct inlining {
    ip_ir *ir;
    const ip_compile_options *options;
    int *n_readers;   /* by stage id: stages that load it */
    int *size;        /* by stage id: of its body, after inlining */
    ip_stage *reader; /* the stage being rewritten */
    int *n_loads;     /* by stage id: reads in its expressions, after inlining */
    int reader_size, reader_loads;
    bool reader_is_flat;
    int *read_around;          /* by stage id: 1 + the last reader that also looks at neighbours */
    int *read_in_window;       /* by stage id: 1 + the last reader that reads it for every tap or step */
    bool *has_neighbours_read; /* by stage id: some reader looks at neighbours in it */
    bool *is_in_line_buffer;   /* by stage id: a map of its size, of all elements and not folded, looks at neighbours */
    bool *is_thinned_out;      /* by stage id: some reader leaves elements out of it */
    bool *is_taken_apart;      /* by stage id: some reader takes its channels one by one, or folds it */
    bool *is_folded;           /* by stage id: a fold reads it, or reads what is made of it */
    const int *n_reads;        /* ip_ir_count_reads() */
    bool *was_shared;          /* by stage id: several read it before anything was put into them */
    int round, n_inlined;
} inlining;

static bool reads_own_place(const ip_expr *load, const ip_stage *reader)
{
    const int64_t *domain = ip_stage_domain(reader);
    for (int k = 0; k < 3; k++)
        if (!ip_x_is_coord(load->arg[k], k) || load->source->dims[k] != domain[k]) return false;
    const ip_expr *c = load->arg[3];
    bool is_own = ip_x_is_coord(c, 3) && load->source->dims[3] == domain[3];
    bool is_fixed = c->op == IP_X_CONST && c->i >= 0 && c->i < load->source->dims[3];
    bool is_inside = load->border == IP_BORDER_NONE && !(c->uses & ~IP_USES_C);
    return is_own || is_fixed || is_inside; /* another channel may be beyond the last: a matter of the border */
}

/* Every load in the body reads at its own place or has no border to apply. */
static void note_neighbours(ip_expr *load, void *user)
{
    if (load->border != IP_BORDER_NONE) *(bool *)user = true;
}

static bool is_pointwise(ip_ir *ir, const ip_stage *p)
{
    bool has_neighbours = false;
    ip_stage_each_load(ir, p, note_neighbours, &has_neighbours);
    return !has_neighbours && !ip_x_has_window(ir, p->body);
}

bool ip_walks_rows(const ip_compile_options *o)
{
    ip_schedule schedule = o->tuning.schedule;
    return schedule == IP_SCHEDULE_ROWS || (schedule == IP_SCHEDULE_AUTO && o->is_cpu);
}

/* Neighbours of interleaved channels are read quickly in a flat loop only: such a stage is not put into one that is
 * not. */
static bool loses_flat_loop(const inlining *in, const ip_stage *p)
{
    ip_spread spread;
    return ip_walks_rows(in->options) && in->options->fuse && !in->reader_is_flat && in->size[p->id] <= FLAT_SIZE &&
           ip_find_spread(in->ir, p->body, p->dims[3], &spread) && !is_pointwise(in->ir, p);
}

/* Some are made quickly by themselves only. */
static bool loses_idiom(const inlining *in, const ip_stage *p)
{
    ip_match match;
    return ip_walks_rows(in->options) && in->options->fuse && in->options->streams && in->n_loads[p->id] > 1 &&
           ip_idiom_find(in->ir, p, p->body, &match) && match.idiom->stays_apart;
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

static bool takes_apart(const ip_stage *reader, const ip_expr *load)
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
    s->found |= load->source == s->source && takes_apart(s->reader, load);
}

/* Pixels that are made of others at every n-th column, or at listed ones, are made quickly where their channels stand
 * side by side (emit_lanes.c): such a stage is not put into one that takes its channels one by one, or folds them; nor
 * into one whose body does so in some of its reads, which would make the pixels once more for the others. */
static bool loses_lanes(const inlining *in, const ip_stage *p)
{
    bool has_lanes = p->dims[3] == 3 || p->dims[3] == 4;
    if (!ip_walks_rows(in->options) || !in->options->fuse || !has_lanes || p->body->op == IP_X_LOAD ||
        in->size[p->id] > FLAT_SIZE)
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
        c->fits = c->fits && ((x->border == IP_BORDER_NONE && reads_own_place(x, c->p)) || !(x->uses & IP_USES_COORDS));
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

static bool is_shared_row(const inlining *in, const ip_expr *x)
{
    return x->op == IP_X_LOAD && in->n_readers[x->source->id] > 1;
}

/*
 * Note [Products of kept rows]
 * A product of rows of which one is kept for other readers too needs no rows of its own where few of its neighbours are
 * read: a window over the factors costs a product for each neighbour, and saves a line buffer, its stores and half of
 * what stays in the cache. (The sums of products of gradients that tell corners are such: two line buffers, not five.)
 */
static bool is_product_of_rows(const inlining *in, const ip_stage *p)
{
    const ip_expr *x = p->body;
    if (!ip_walks_rows(in->options) || !in->options->fuse || x->op != IP_X_MUL || in->n_readers[p->id] > 1)
        return false;
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
static bool is_made_where_read(const inlining *in, const ip_expr *load)
{
    ip_stage *p = load->source;
    const bool repeats = load->border != IP_BORDER_NONE && load->border != IMGPAR_BORDER_CONSTANT;
    if (!repeats || p->kind != IP_STAGE_MAP || in->reader->kind == IP_STAGE_SCAN || in->size[p->id] > COST)
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

/* What a flat loop reads in its own channel and, spread (spread.c), in one of the pixel, would be computed for both. */
static bool is_computed_twice(const inlining *in, const ip_stage *p)
{
    channel_count c = { .of = p };
    if (!ip_walks_rows(in->options) || !in->options->fuse || !in->reader_is_flat || in->size[p->id] <= COST)
        return false;
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
static bool is_kept_mix(const inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    if (!ip_x_is_coord(load->arg[1], 1) || !ip_x_is_coord(load->arg[2], 2)) return false;
    if (!in->has_neighbours_read[p->id] || p->dims[3] > 1 || p->dims[1] == 1 || in->reader->kind != IP_STAGE_MAP)
        return false;
    mix m = { 0 };
    ip_stage_each_load(in->ir, p, add_channel, &m);
    bool is_small = (int)ip_dtype(p->dtype)->size_bytes <= m.bytes;
    return m.n_channels > 1 && (is_small || in->is_in_line_buffer[p->id]) && ip_walks_rows(in->options) &&
           in->options->fuse;
}

/* Whether fusing will keep p's rows where its reader sets their pace (place_paced.c, Note [Paces]). */
static bool keeps_pace(const inlining *in, const ip_stage *p)
{
    const ip_stage *reader = in->reader;
    return in->n_readers[p->id] == 1 && reader->kind == IP_STAGE_MAP && !in->is_folded[reader->id] &&
           reader->dims[0] * reader->dims[1] >= IP_LEAST_ROWS;
}

static bool adds_inputs(const inlining *in, const ip_stage *p)
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
static bool is_dearer_elsewhere(const inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    if (!ip_walks_rows(in->options) || p->body->op == IP_X_LOAD || p->dims[1] == 1) return false;
    ip_reach reach = ip_load_reach(in->ir, load, ip_stage_domain(in->reader));
    if (!reach.is_in_rows && !(reach.is_paced && keeps_pace(in, p))) return false;
    load_count count = { .of = p, .at_steps = true };
    ip_stage_each_load(in->ir, in->reader, count_loads_of, &count);
    bool are_at_hand =
        count.at_steps && p->dims[3] >= 3 && count.n * in->n_loads[p->id] <= FEW_LOADS && adds_inputs(in, p) &&
        (in->reader->is_output || in->has_neighbours_read[in->reader->id] || in->is_taken_apart[in->reader->id]);
    return count.n > 1 && !are_at_hand;
}

/* Whether only p reads the computed stage that it leaves elements out of, and several stages, or one elsewhere, read
 * what is left: that is less to keep (levels.c). */
static bool is_kept_level(const inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    bool is_reread = in->n_readers[p->id] > 1 || !reads_own_place(load, in->reader);
    return is_reread && ip_leaves_elements_out(p) && !p->body->source->is_output &&
           in->n_readers[p->body->source->id] == 1;
}

static void find_read(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE && (x->uses & IP_USES_COORDS);
}

/* Whether p is a small table that is looked up at places that are read: it is made once, even where an element costs
 * little, and its reader is left with lookups (emit_lookup.c, Note [Lookups in blocks]). */
static bool is_looked_up(const inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    bool is_read = false;
    if (in->size[p->id] < LOOKED_UP || ip_dims_count(p->dims) * SHARE > ip_dims_count(ip_stage_domain(in->reader)))
        return false;
    ip_x_walk(in->ir, load->arg[2], find_read, &is_read);
    return is_read && in->options->fuse && p->dims[0] * p->dims[1] * p->dims[3] == 1;
}

/* Whether p's one reader takes elements of its rows at columns that are the same for all, each of them once but for the
 * last, as a fold of short rows does: to compute them there takes less than to keep them. */
static bool is_used_up(const inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    if (in->n_readers[p->id] != 1 || load->border != IP_BORDER_NONE || in->reader->kind != IP_STAGE_MAP ||
        load->arg[2]->uses & IP_USES_COORDS || (p->dims[3] > 1 && load->arg[3]->uses & IP_USES_COORDS) ||
        !is_pointwise(in->ir, p))
        return false;
    load_count count = { .of = p };
    ip_stage_each_load(in->ir, in->reader, count_loads_of, &count);
    return count.n * ip_dims_count(in->reader->dims) < 2 * ip_dims_count(p->dims) && count.n > 1 &&
           count.n * in->size[p->id] <= MAX_SIZE && count.n * in->n_loads[p->id] <= MAX_USED_UP;
}

static bool may_inline(inlining *in, const ip_expr *load)
{
    const ip_stage *p = load->source;
    if (p->kind != IP_STAGE_MAP || p->is_output || p->dtype == IMGPAR_F16) return false;
    if (in->round > 0 &&
        !(in->was_shared[p->id] && (reads_own_place(load, in->reader) || is_made_where_read(in, load))))
        return false;
    if (!in->options->fuse && p->node != in->reader->node) return false;
    if (is_used_up(in, load)) return true;
    if (in->reader_size + in->size[p->id] > MAX_SIZE || in->reader_loads + in->n_loads[p->id] > MAX_LOADS) return false;
    if (in->read_around[p->id] == in->reader->id + 1) return false;
    if ((in->n_readers[p->id] > 1 && in->size[p->id] > COST) || is_kept_level(in, load)) return false;
    if (in->read_in_window[p->id] == in->reader->id + 1 && in->size[p->id] > 1 && reads_own_place(load, in->reader))
        return false;
    /* its loops have no strips to keep neighbours in */
    if (in->reader->kind == IP_STAGE_SCAN && !is_pointwise(in->ir, p)) return false;
    if (loses_flat_loop(in, p) || loses_lanes(in, p) || loses_idiom(in, p) || is_computed_twice(in, p)) return false;
    if (is_made_where_read(in, load)) return true;
    if (is_kept_mix(in, load)) return false;
    if (in->has_neighbours_read[p->id] && p->body->op != IP_X_LOAD && !is_pointwise(in->ir, p)) return false;
    if (reads_own_place(load, in->reader)) return true;
    if (is_dearer_elsewhere(in, load) || is_looked_up(in, load)) return false;
    return load->border == IP_BORDER_NONE && in->size[p->id] <= COST && is_pointwise(in->ir, p);
}

/* Of what an element is made: the loads at its own place become loads at another one, by its border rule. */
static ip_expr *put_place(ip_ir *ir, ip_expr *x, void *user)
{
    const ip_expr *load = user;
    if (x->op != IP_X_LOAD || !(x->uses & IP_USES_COORDS)) return x;
    ip_expr *at[4] = { load->arg[0], load->arg[1], load->arg[2], x->arg[3] };
    return ip_x_load(ir, x->source, at, load->border, NULL);
}

/* For --explain and kernel names: what a stage computes besides its own node. */
static void absorb(ip_ir *ir, ip_stage *reader, const ip_stage *p)
{
    int n = reader->n_absorbed + p->n_absorbed + 1;
    const imgpar_array **nodes = ip_ir_alloc(ir, (size_t)n, sizeof *nodes);
    if (!nodes) return;
    n = 0;
    const ip_stage *const from[] = { reader, p };
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < from[side]->n_absorbed + side; k++) {
            const imgpar_array *node = k < from[side]->n_absorbed ? from[side]->absorbed[k] : p->node;
            bool known = node == reader->node;
            for (int i = 0; !known && i < n; i++)
                known = nodes[i] == node;
            if (!known) nodes[n++] = node;
        }
    reader->absorbed = nodes;
    reader->n_absorbed = n;
}

static ip_expr *replace_load(ip_ir *ir, ip_expr *x, void *user)
{
    inlining *in = user;
    if (x->op != IP_X_LOAD || !may_inline(in, x)) return x;
    in->n_inlined++;
    in->reader_size += in->size[x->source->id];
    in->reader_loads += in->n_loads[x->source->id];
    absorb(ir, in->reader, x->source);
    if (is_made_where_read(in, x)) return ip_x_map(ir, x->source->body, put_place, x);
    return ip_x_put_coords(ir, x->source->body, x->arg);
}

/* ---- readers of recurrences ------------------------------------------------------------- */

typedef struct epilogue {
    inlining *in;
    ip_stage *scans[IP_SCAN_STATES]; /* the recurrences that are read: all carry the same states */
    int n;
    bool fits;
} epilogue;

static void note_scan(ip_expr *load, void *user)
{
    epilogue *p = user;
    ip_stage *s = load->source;
    const ip_stage *reader = p->in->reader;
    if (s->kind != IP_STAGE_SCAN) return;
    bool is_free = !s->is_output && p->in->n_readers[s->id] == 1 && s->dtype != IMGPAR_F16 &&
                   (p->in->options->fuse || s->node == reader->node);
    int k = 0;
    while (k < p->n && p->scans[k] != s)
        k++;
    p->fits = p->fits && is_free && reads_own_place(load, reader) && ip_x_is_coord(load->arg[3], 3);
    if (k < p->n || !p->fits) return;
    p->fits = k < IP_SCAN_STATES && (k == 0 || ip_stage_has_same_states(p->scans[0], s));
    if (p->fits) p->scans[p->n++] = s;
}

static ip_expr *put_finish(ip_ir *ir, ip_expr *x, void *user)
{
    (void)ir;
    (void)user;
    return x->op == IP_X_LOAD && x->source->kind == IP_STAGE_SCAN ? x->source->finish : x;
}

static void become_scan(inlining *in)
{
    ip_stage *s = in->reader;
    epilogue p = { .in = in, .fits = true };
    ip_stage_each_load(in->ir, s, note_scan, &p);
    int size = in->reader_size;
    for (int k = 0; k < p.n; k++)
        size += in->size[p.scans[k]->id];
    if (p.n == 0 || !p.fits || !is_pointwise(in->ir, s) || size > MAX_SIZE) return;
    for (int k = 0; k < p.n; k++)
        absorb(in->ir, s, p.scans[k]);
    s->kind = IP_STAGE_SCAN;
    s->finish = ip_x_map(in->ir, s->body, put_finish, NULL);
    ip_stage_take_states(in->ir, s, p.scans[0]);
}

static bool reads_around(const inlining *in, const ip_expr *load)
{
    return load->border != IP_BORDER_NONE && !reads_own_place(load, in->reader);
}

static void note_reading_in_window(ip_expr *x, void *user)
{
    inlining *in = user;
    if (x->op == IP_X_LOAD) in->read_in_window[x->source->id] = in->reader->id + 1;
}

static void look_into_window(ip_expr *x, void *user)
{
    inlining *in = user;
    const bool is_loop = x->op == IP_X_LOOP; /* what it starts from is read once, what a step reads in every one */
    for (int k = is_loop; (is_loop || x->op == IP_X_WINDOW) && k < x->n_args; k++)
        ip_x_walk(in->ir, x->arg[k], note_reading_in_window, in);
}

static void note_reading_around(ip_expr *load, void *user)
{
    inlining *in = user;
    if (reads_around(in, load) && !is_made_where_read(in, load)) in->read_around[load->source->id] = in->reader->id + 1;
}

static void count_reader(ip_expr *load, void *user)
{
    int **last = user; /* last[0]: counts, last[1]: the reader that counted last */
    int reader = last[2][0];
    if (last[1][load->source->id] != reader) last[0][load->source->id]++;
    last[1][load->source->id] = reader;
}

static void count_load(ip_expr *load, void *user)
{
    (void)load;
    ++*(int *)user;
}

static int loads_of(ip_ir *ir, const ip_stage *s)
{
    int n = 0;
    ip_stage_each_load(ir, s, count_load, &n);
    return n;
}

static void note_reading(ip_expr *load, void *user)
{
    inlining *in = user;
    in->is_folded[load->source->id] |= ip_stage_folds(in->reader) || in->is_folded[in->reader->id];
    in->has_neighbours_read[load->source->id] |= reads_around(in, load);
    in->is_taken_apart[load->source->id] |= takes_apart(in->reader, load);
    in->is_thinned_out[load->source->id] |= ip_x_step(load->arg[2]) > 1;
    bool has_size = memcmp(load->source->dims, ip_stage_domain(in->reader), sizeof load->source->dims) == 0;
    in->is_in_line_buffer[load->source->id] |= has_size && reads_around(in, load) && !in->is_folded[in->reader->id] &&
                                               in->reader->kind == IP_STAGE_MAP && !in->is_thinned_out[in->reader->id];
}

/* Readers first. Only what is live counts as a reader. */
static void find_readers(inlining *in, int *last_reader)
{
    for (int k = in->ir->n_stages - 1; k >= 0; k--) {
        int reader = k + 1;
        int *state[3] = { in->n_readers, last_reader, &reader };
        ip_stage *s = in->reader = in->ir->stages[k];
        if (!ip_stage_is_live(s, in->n_reads)) continue;
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            in->n_readers[s->opaque->inputs[i]->id]++;
        if (!ip_stage_computes(s)) continue;
        ip_stage_each_load(in->ir, s, note_reading, in);
        ip_stage_each_load(in->ir, s, count_reader, state);
    }
}

static void inline_into(inlining *in, ip_stage *s)
{
    ip_ir *ir = in->ir;
    in->reader = s;
    in->reader_size = ip_stage_size(ir, s);
    in->reader_loads = loads_of(ir, s);
    in->reader_is_flat = ip_find_spread(ir, s->body, ip_stage_domain(s)[3], &(ip_spread){ .n = 0 });
    ip_stage_each_load(ir, s, note_reading_around, in);
    ip_x_walk(in->ir, s->body, look_into_window, in);
    s->body = ip_x_map(ir, s->body, replace_load, in);
    if (s->kind == IP_STAGE_SCAN) s->init = ip_x_map(ir, s->init, replace_load, in);
    for (int k = 0; k < s->n_more; k++) {
        s->more[k].body = ip_x_map(ir, s->more[k].body, replace_load, in);
        s->more[k].init = ip_x_map(ir, s->more[k].init, replace_load, in);
    }
    if (s->kind == IP_STAGE_MAP) become_scan(in);
    in->size[s->id] = ip_stage_size(ir, s) + (s->kind == IP_STAGE_SCAN ? ip_x_size(ir, s->finish) : 0);
    in->n_loads[s->id] = loads_of(ir, s);
}

/* Whether a stage that several read has one reader now. */
static bool has_lost_readers(const inlining *in)
{
    for (int k = 0; k < in->ir->n_stages; k++)
        if (in->was_shared[k] && in->n_readers[k] == 1) return true;
    return false;
}

/* Whether anything was put into its reader. */
static bool inline_once(inlining *in)
{
    ip_ir *ir = in->ir;
    size_t n = (size_t)ir->n_stages + 1;
    int **const numbers[] = { &in->n_readers, &in->size, &in->n_loads, &in->read_around, &in->read_in_window };
    bool **const facts[] = { &in->is_folded, &in->has_neighbours_read, &in->is_taken_apart, &in->is_in_line_buffer,
                             &in->is_thinned_out };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        *numbers[k] = ip_ir_alloc(ir, n, sizeof(int));
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
        *facts[k] = ip_ir_alloc(ir, n, sizeof(bool));
    int *last_reader = ip_ir_alloc(ir, n, sizeof(int));
    in->n_reads = ip_ir_count_reads(ir);
    if (ir->failed) return false;
    find_readers(in, last_reader);
    for (int k = 0; k < ir->n_stages && in->round == 0; k++)
        in->was_shared[k] = in->n_readers[k] > 1;
    in->n_inlined = 0;
    if (in->round > 0 && !has_lost_readers(in)) return false;
    for (int k = 0; k < ir->n_stages && !ir->failed; k++)
        if (ip_stage_is_live(ir->stages[k], in->n_reads) && ip_stage_computes(ir->stages[k]))
            inline_into(in, ir->stages[k]);
    return in->n_inlined > 0;
}

/* What several stages read that then went into one has that one reader, and goes into it, too. */
imgpar_status ip_pass_inline(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    enum { ROUNDS = 3 };
    inlining in = { .ir = plan->ir, .options = options };
    in.was_shared = ip_ir_alloc(plan->ir, (size_t)plan->ir->n_stages + 1, sizeof(bool));
    while (!plan->ir->failed && in.round < ROUNDS && inline_once(&in))
        in.round++;
    for (int k = 0; k < plan->ir->n_stages && !plan->ir->failed; k++)
        if (plan->ir->stages[k]->kind == IP_STAGE_SCAN) ip_stage_drop_states(plan->ir, plan->ir->stages[k]);
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
