/* SPDX-License-Identifier: MIT */
/*
 * What a legal plan is, checked after fusing and again when rows are planned: a violation is a defect of the pass that
 * ran before. It is told as an internal error; nothing of such a plan is run.
 */
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/segments.h"

typedef struct checker {
    ip_plan *plan;
    const ip_kernel *kernel;
    int number;     /* of the kernel */
    int *stored_by; /* by stage id: 1 + the number of the first kernel that stores it */
    const ip_placed *reader;
    const ip_stage *stage; /* whose loads are looked at */
    ip_error *err;
} checker;

/* Without memory, what is asked of expressions has no answer: ip_plan_verify() tells that. */
static void complain(checker *c, const ip_stage *stage, const char *rule)
{
    if (c->err->status == IMGPAR_OK && !c->plan->ir->failed)
        ip_fail(c->err, IMGPAR_E_INTERNAL, "internal: kernel %d, stage %d: %s", c->number, stage->id, rule);
}

/* ---- kernels: each stage is computed once, before it is read -------------------------------------- */

static bool has(ip_stage *const *list, int n, const ip_stage *stage)
{
    for (int k = 0; k < n; k++)
        if (list[k] == stage) return true;
    return false;
}

static void note_stores(checker *c)
{
    c->stored_by = ip_ir_alloc(c->plan->ir, (size_t)c->plan->ir->n_stages + 1, sizeof *c->stored_by);
    for (int k = 0; k < c->plan->n_kernels && c->stored_by; k++)
        for (int i = 0; i < c->plan->kernels[k].n_outputs; i++) {
            int *by = &c->stored_by[c->plan->kernels[k].outputs[i]->id];
            if (!*by) *by = k + 1;
        }
}

static bool is_stored_before(const checker *c, const ip_stage *stage)
{
    return c->stored_by[stage->id] && c->stored_by[stage->id] <= c->number;
}

/* What a stage of the kernel reads exists: pixels, a table, what the kernel has, or what one before it wrote. */
static void check_source(ip_expr *load, void *user)
{
    checker *c = user;
    const ip_stage *s = load->source;
    bool exists = s->kind == IP_STAGE_SOURCE || s->kind == IP_STAGE_TABLE || ip_kernel_placed(c->kernel, s) ||
                  has(c->kernel->stages, c->kernel->n_stages, s) || is_stored_before(c, s);
    if (!exists) complain(c, c->stage, "reads what nobody has made");
}

static void check_stages(checker *c)
{
    const ip_kernel *k = c->kernel;
    if (k->n_outputs == 0) complain(c, k->stages[0], "its kernel stores nothing");
    for (int i = 0; i < k->n_stages; i++) {
        c->stage = k->stages[i];
        if (is_stored_before(c, c->stage)) complain(c, c->stage, "is stored by two kernels");
        if (ip_stage_computes(c->stage)) ip_stage_each_load(c->plan->ir, c->stage, check_source, c);
    }
    for (int i = 0; i < k->n_outputs; i++)
        if (!has(k->stages, k->n_stages, k->outputs[i])) complain(c, k->outputs[i], "is stored, but not computed");
}

/* ---- placement: what a reader reads is kept, rows and columns ------------------------------------------ */

/* The window of rows that a line buffer holds when row y + lead has been made is y + lead - rows + 1 .. y + lead. */
static void check_rows(checker *c, const ip_placed *p, ip_reach reach, int border)
{
    const ip_placed *r = c->reader;
    ip_reach_contract(&reach, border);
    if (p->lead < r->lead + reach.y_hi) complain(c, r->stage, "reads a row that has not been made");
    if (p->first > r->first + reach.y_lo) complain(c, r->stage, "reads a row before the first that is made");
    if (p->lowest_read > r->lead + reach.y_lo) complain(c, r->stage, "reads a row below the lowest that is known");
    if (p->place == IP_PLACE_LINE_BUFFER && p->lead - p->rows + 1 > r->lead + reach.y_lo)
        complain(c, r->stage, "reads a row that has been written over");
    if (p->left < r->left - ip_min_int(reach.x_lo, 0) || p->right < r->right + ip_max_int(reach.x_hi, 0))
        complain(c, r->stage, "reads a column that is not made");
}

static void check_kept(ip_expr *load, void *user)
{
    checker *c = user;
    const ip_placed *p = ip_kernel_placed(c->kernel, load->source), *r = c->reader;
    if (!p) return;
    const ip_reach reach = ip_load_reach(load, ip_stage_domain(r->stage));
    if (p >= r) complain(c, r->stage, "stands before what it reads");
    if (p->place == IP_PLACE_NONE || p->place == IP_PLACE_TOTAL) complain(c, r->stage, "reads what is not kept");
    if (p->last_reader < (int)(r - c->kernel->placed)) complain(c, p->stage, "is forgotten before its last reader");
    if (p->place == IP_PLACE_LINE_BUFFER && p->rows < 1) complain(c, p->stage, "keeps no rows");
    if (reach.is_local && p->rate_of == r->rate_of && r->n_running == 0) check_rows(c, p, reach, load->border);
}

static void check_placed(checker *c)
{
    const ip_kernel *k = c->kernel;
    for (int i = 0; i < k->n_placed; i++) {
        const ip_placed *p = c->reader = &k->placed[i];
        if (p->stage->id < 0 || p->body != p->stage->body) complain(c, p->stage, "its placement was not adopted");
        ip_stage_each_load(c->plan->ir, p->stage, check_kept, c);
        int64_t bytes = (int64_t)p->pitch * (int64_t)ip_dtype(p->stage->dtype)->size_bytes;
        if (p->place == IP_PLACE_TILE && p->offset + bytes > k->tiling.bytes)
            complain(c, p->stage, "its tile lies outside of local memory");
    }
}

/* ---- segments --------------------------------------------------------------------------------------------- */

/* How a loop makes elements of a body: lanes are as many as channels let them be, and what one channel asks of another
 * is made pixel by pixel. */
static void check_elements(checker *c, const ip_placed *p, ip_expr *body, const ip_elements *of)
{
    const int channels = (int)p->stage->dims[3];
    const ip_site site = { .ir = c->plan->ir,
                           .kernel = c->kernel,
                           .domain = p->stage->dims,
                           .channels = channels,
                           .is_within = p->beside_left + p->beside_right > 0 };
    if (of->width < 1 || of->channel_lanes < 1) complain(c, p->stage, "a loop has no lanes");
    if (of->is_flat && !ip_is_flat(&site, body)) complain(c, p->stage, "is flat, but has pixels");
    if (of->is_flat && (of->gathers_words || of->has_gaps || of->block_pixels)) complain(c, p->stage, "flat pixels");
    if (!of->is_flat && of->width > 1 && !of->is_vector) complain(c, p->stage, "has lanes, but no vectors");
    if (of->is_vector && of->is_gather) complain(c, p->stage, "gathers element by element in vectors");
    if (of->gathers_words && !of->is_vector) complain(c, p->stage, "gathers words without vectors");
    if (of->channel_lanes > 1 && (channels <= IP_WRITTEN_CHANNELS || channels % of->channel_lanes))
        complain(c, p->stage, "its channels do not fill lanes");
    if (of->block_pixels && of->channel_lanes == 1) complain(c, p->stage, "groups channels that are no lanes");
}

/* The bodies that loops which need nothing of them make. */
static void check_all_elements(checker *c, const ip_placed *p, const ip_segment *segment)
{
    const bool is_plain = segment->loop == IP_LOOP_FLAT || segment->loop == IP_LOOP_PIXELS;
    if (is_plain || segment->loop == IP_LOOP_SKIPS || segment->loop == IP_LOOP_PLACES ||
        segment->loop == IP_LOOP_INDICES)
        check_elements(c, p, segment->within, &segment->elements);
    if (is_plain && segment->elements.is_flat != (segment->loop == IP_LOOP_FLAT))
        complain(c, p->stage, "its loop is of another kind");
    if (segment->loop == IP_LOOP_LOOKUPS && segment->part) check_elements(c, p, segment->part, &segment->elements);
    if (segment->loop == IP_LOOP_SKIPS && segment->skip.left)
        check_elements(c, p, segment->skip.left, &segment->skip.elements);
    if (segment->loop == IP_LOOP_PLACES && segment->places && segment->places->are_words)
        check_elements(c, p, segment->places->inner, &segment->places->elements);
}

static void check_segment(checker *c, const ip_placed *p, const ip_segment *segment)
{
    if (!segment) {
        complain(c, p->stage, "nothing makes its rows");
        return;
    }
    if (segment->cut) {
        if (!ip_x_is_uniform(segment->cut)) complain(c, p->stage, "is cut at more than one column");
        for (int k = 0; k < 2; k++)
            check_segment(c, p, segment->parts[k]);
        return;
    }
    if (!segment->body || !segment->within) complain(c, p->stage, "a segment has no body");
    if (segment->loop == IP_LOOP_RUNNING && p->n_running == 0) complain(c, p->stage, "has no sums to carry along");
    if (segment->loop == IP_LOOP_SKIPS && (!segment->skip.condition || !segment->skip.left))
        complain(c, p->stage, "nothing makes the blocks it skips");
    if (segment->loop == IP_LOOP_PLACES && !segment->places) complain(c, p->stage, "nothing tells its places");
    if (segment->loop == IP_LOOP_INDICES && (!segment->places || segment->places->n_shared == 0))
        complain(c, p->stage, "nothing tells its indices");
    if ((segment->loop == IP_LOOP_STRIDED || segment->loop == IP_LOOP_REPEATS) && segment->times < 2)
        complain(c, p->stage, "moves no pixels");
    if (segment->loop == IP_LOOP_LANES && !segment->part) complain(c, p->stage, "has no lanes");
    if (segment->loop == IP_LOOP_LOOKUPS && !segment->part) complain(c, p->stage, "has no index");
    const bool has_width =
        segment->loop == IP_LOOP_RUNNING || segment->loop == IP_LOOP_WINDOWS || segment->loop == IP_LOOP_LANES;
    if (has_width != (segment->width > 0)) complain(c, p->stage, "has lanes where its loop takes none, or none");
    if (segment->within) check_all_elements(c, p, segment);
    if (segment->match && segment->match->stage != p->stage) complain(c, p->stage, "has another stage's idiom");
}

static void check_folded(checker *c, const ip_placed *p, const ip_folded *of)
{
    const ip_site site = {
        .ir = c->plan->ir, .kernel = c->kernel, .domain = p->stage->over, .channels = (int)p->stage->over[3]
    };
    if (!of->body || of->width < 1) complain(c, p->stage, "nothing of it is folded");
    if (of->body && of->stands && (of->body->op != IP_X_LOAD || of->body->source->dtype != of->body->dtype))
        complain(c, p->stage, "folds in place what does not stand there");
    if (of->body && of->is_flat && !ip_may_be_flat(&site, of->body)) complain(c, p->stage, "is flat, but has pixels");
}

/* What folds a row suits the fold, and has what it needs. */
static void check_fold(checker *c, const ip_placed *p)
{
    const ip_stage *s = p->stage;
    const ip_fold_rows *fold = p->fold;
    if (!fold) {
        complain(c, s, "nothing folds its rows");
        return;
    }
    const bool takes_bytes = fold->loop == IP_FOLD_BINS || fold->loop == IP_FOLD_SMALL;
    if ((fold->loop == IP_FOLD_BINS) != (s->kind == IP_STAGE_HISTOGRAM) ||
        (fold->loop == IP_FOLD_KEYS) != (s->kind == IP_STAGE_BY_KEY))
        complain(c, s, "is a fold of another kind");
    if (takes_bytes && fold->values.stands && fold->values.body->dtype != IMGPAR_U8) complain(c, s, "folds no bytes");
    check_folded(c, p, &fold->values);
    if (fold->loop == IP_FOLD_FIRST || fold->loop == IP_FOLD_KEYS) check_folded(c, p, &fold->beside);
}

static int count_scratch(const ip_kernel *k, const ip_stage *stage)
{
    int n = 0;
    for (int i = 0; i < k->n_scratch; i++)
        n += k->scratch[i].stage == stage;
    return n;
}

static void check_row(checker *c, const ip_placed *p)
{
    bool keeps_rows = p->place == IP_PLACE_LINE_BUFFER || p->is_streamed;
    if (count_scratch(c->kernel, p->stage) != keeps_rows + (ip_placed_is_sums(p) ? 0 : p->n_running))
        complain(c, p->stage, "scratch memory");
    if (p->place == IP_PLACE_TOTAL) check_fold(c, p);
    if (p->stage->kind != IP_STAGE_MAP || p->at_once) return;
    for (int state = p->mask ? 0 : IP_MASK_MIXED; state < IP_N_MASK_STATES; state++)
        check_segment(c, p, p->row_of[state]);
    if (p->row_of[IP_MASK_MIXED] && p->row_of[IP_MASK_MIXED]->body != p->stage->body)
        complain(c, p->stage, "its rows are another stage's");
}

imgpar_status ip_plan_verify(ip_plan *plan, bool has_rows, ip_error *err)
{
    ip_error local = { IMGPAR_OK, "" };
    checker c = { .plan = plan, .err = err ? err : &local };
    note_stores(&c);
    if (plan->ir->failed) return ip_fail_memory(err, "compiling");
    for (c.number = 0; c.number < plan->n_kernels && c.err->status == IMGPAR_OK; c.number++) {
        const ip_kernel *k = c.kernel = &plan->kernels[c.number];
        check_stages(&c);
        if (ip_kernel_walks_rows(k) || k->schedule == IP_SCHEDULE_TILES) check_placed(&c);
        for (int i = 0; i < k->n_placed && has_rows && ip_kernel_walks_rows(k); i++)
            check_row(&c, &k->placed[i]);
    }
    return plan->ir->failed ? ip_fail_memory(err, "compiling") : c.err->status;
}
