/* SPDX-License-Identifier: MIT */
/*
 * Inlining: a stage's body takes the place of the loads that read it. After this
 * pass a stage remains only where its value must be kept for neighbours, for
 * several readers, or in memory. Which loads are replaced is inline_choice.c's.
 *
 * The other way round a pointwise stage that reads a recurrence at its own place, as its only reader, becomes that
 * recurrence with another finish. Several readers that went into one stage are one reader, so the pass has rounds;
 * stages that nobody reads are none.
 */
#include "compile/inline.h"

#include "graph/array.h"
#include "ir/opaque.h"

#include <string.h>

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
    ip_inlining *in = user;
    if (x->op != IP_X_LOAD || !ip_may_inline(in, x)) return x;
    in->n_inlined++;
    in->reader_size += in->of[x->source->id].size;
    in->reader_loads += in->of[x->source->id].n_loads;
    absorb(ir, in->reader, x->source);
    if (ip_is_made_where_read(in, x)) return ip_x_map(ir, x->source->body, put_place, x);
    return ip_x_put_coords(ir, x->source->body, x->arg);
}

/* ---- readers of recurrences ------------------------------------------------------------- */

typedef struct epilogue {
    ip_inlining *in;
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
    bool is_free = !s->is_output && p->in->of[s->id].n_readers == 1 && s->dtype != IMGPAR_F16 &&
                   (p->in->options->fuse || s->node == reader->node);
    int k = 0;
    while (k < p->n && p->scans[k] != s)
        k++;
    p->fits = p->fits && is_free && ip_reads_own_place(load, reader) && ip_x_is_coord(load->arg[3], 3);
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

static void become_scan(ip_inlining *in)
{
    ip_stage *s = in->reader;
    epilogue p = { .in = in, .fits = true };
    ip_stage_each_load(in->ir, s, note_scan, &p);
    int size = in->reader_size;
    for (int k = 0; k < p.n; k++)
        size += in->of[p.scans[k]->id].size;
    if (p.n == 0 || !p.fits || !ip_is_pointwise(in->ir, s) || size > IP_INLINED_SIZE) return;
    for (int k = 0; k < p.n; k++)
        absorb(in->ir, s, p.scans[k]);
    s->kind = IP_STAGE_SCAN;
    s->finish = ip_x_map(in->ir, s->body, put_finish, NULL);
    ip_stage_take_states(in->ir, s, p.scans[0]);
}

/* ---- what is known of stages -------------------------------------------------------------- */

static bool reads_around(const ip_inlining *in, const ip_expr *load)
{
    return load->border != IP_BORDER_NONE && !ip_reads_own_place(load, in->reader);
}

static void note_reading_in_window(ip_expr *x, void *user)
{
    ip_inlining *in = user;
    if (x->op == IP_X_LOAD) in->of[x->source->id].read_in_window = in->reader->id + 1;
}

static void look_into_window(ip_expr *x, void *user)
{
    ip_inlining *in = user;
    const bool is_loop = x->op == IP_X_LOOP; /* what it starts from is read once, what a step reads in every one */
    for (int k = is_loop; (is_loop || x->op == IP_X_WINDOW) && k < x->n_args; k++)
        ip_x_walk(in->ir, x->arg[k], note_reading_in_window, in);
}

static void note_reading_around(ip_expr *load, void *user)
{
    ip_inlining *in = user;
    if (reads_around(in, load) && !ip_is_made_where_read(in, load))
        in->of[load->source->id].read_around = in->reader->id + 1;
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
    ip_inlining *in = user;
    const ip_stage *reader = in->reader;
    const ip_inline_facts *of_reader = &in->of[reader->id];
    ip_inline_facts *of = &in->of[load->source->id];
    const bool has_size = memcmp(load->source->dims, ip_stage_domain(reader), sizeof load->source->dims) == 0;
    of->n_readers += of->last_reader != reader->id + 1;
    of->last_reader = reader->id + 1;
    of->is_folded |= ip_stage_folds(reader) || of_reader->is_folded;
    of->has_neighbours_read |= reads_around(in, load);
    of->is_taken_apart |= ip_takes_apart(reader, load);
    of->is_thinned_out |= ip_x_step(load->arg[2]) > 1;
    of->is_in_line_buffer |= has_size && reads_around(in, load) && !of_reader->is_folded &&
                             reader->kind == IP_STAGE_MAP && !of_reader->is_thinned_out;
}

/* Readers first. Only what is live counts as a reader. */
static void find_readers(ip_inlining *in)
{
    for (int k = in->ir->n_stages - 1; k >= 0; k--) {
        ip_stage *s = in->reader = in->ir->stages[k];
        if (!ip_stage_is_live(s, in->n_reads)) continue;
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            in->of[s->opaque->inputs[i]->id].n_readers++;
        if (ip_stage_computes(s)) ip_stage_each_load(in->ir, s, note_reading, in);
    }
}

/* ---- the pass ----------------------------------------------------------------------------- */

static void inline_into(ip_inlining *in, ip_stage *s)
{
    ip_ir *ir = in->ir;
    in->reader = s;
    in->reader_size = ip_stage_size(ir, s);
    in->reader_loads = loads_of(ir, s);
    in->reader_is_flat = ip_find_broadcast(ir, s->body, ip_stage_domain(s)[3], &(ip_broadcast){ .n = 0 });
    ip_stage_each_load(ir, s, note_reading_around, in);
    ip_x_walk(in->ir, s->body, look_into_window, in);
    s->body = ip_x_map(ir, s->body, replace_load, in);
    if (s->kind == IP_STAGE_SCAN) s->init = ip_x_map(ir, s->init, replace_load, in);
    for (int k = 0; k < s->n_more; k++) {
        s->more[k].body = ip_x_map(ir, s->more[k].body, replace_load, in);
        s->more[k].init = ip_x_map(ir, s->more[k].init, replace_load, in);
    }
    if (s->kind == IP_STAGE_MAP) become_scan(in);
    in->of[s->id].size = ip_stage_size(ir, s) + (s->kind == IP_STAGE_SCAN ? ip_x_size(ir, s->finish) : 0);
    in->of[s->id].n_loads = loads_of(ir, s);
}

/* Whether a stage that several read has one reader now. */
static bool has_lost_readers(const ip_inlining *in)
{
    for (int k = 0; k < in->ir->n_stages; k++)
        if (in->was_shared[k] && in->of[k].n_readers == 1) return true;
    return false;
}

/* Whether anything was put into its reader. */
static bool inline_once(ip_inlining *in)
{
    ip_ir *ir = in->ir;
    in->of = ip_ir_alloc(ir, (size_t)ir->n_stages + 1, sizeof *in->of);
    in->n_reads = ip_ir_count_reads(ir);
    if (ir->failed) return false;
    find_readers(in);
    for (int k = 0; k < ir->n_stages && in->round == 0; k++)
        in->was_shared[k] = in->of[k].n_readers > 1;
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
    ip_inlining in = { .ir = plan->ir, .options = options };
    in.was_shared = ip_ir_alloc(plan->ir, (size_t)plan->ir->n_stages + 1, sizeof(bool));
    while (!plan->ir->failed && in.round < ROUNDS && inline_once(&in))
        in.round++;
    for (int k = 0; k < plan->ir->n_stages && !plan->ir->failed; k++)
        if (plan->ir->stages[k]->kind == IP_STAGE_SCAN) ip_stage_drop_states(plan->ir, plan->ir->stages[k]);
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
