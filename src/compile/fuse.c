/* SPDX-License-Identifier: MIT */
/*
 * Fusion: stages become kernels. Going from the results towards the sources, a stage
 * joins a kernel when that saves memory traffic at a fair price.
 *
 * A stage joins a kernel that reads it (its value is kept for a few rows instead of written and read back) when
 *
 *   1. It has the kernel's depth, height and width, and is read at constant offsets, so that a few rows of it suffice.
 *      (A gather may want any row.) Or they are rows of another width (Note [Whole rows]) or height (place_rates.c,
 *      Note [Producer row rates]), as a resize's are.
 *   2. Every reader's border can be served from those rows (reach.c, Note [Reading near edges]).
 *   3. The rows that all stages keep stay in the cache (LINE_BUFFER_BYTES a work-item; of single rows a panel's
 *      part), and the rows computed twice at the seams of strips stay few against the strip (HALO_ROWS). Beyond
 *      that, writing the value to memory and reading it back costs less than computing its halo again.
 *   4. The kernel stays of a size that compiles fast (max_stages, MAX_OPERATIONS): compilers look at a loop's
 *      operations in pairs.
 *
 * That is said of the rows schedule. In tiles (GPUs) a stage is kept as a tile in local memory, and 3 becomes: all
 * tiles fit that memory, and the halo that every tile computes beyond its own part costs less than writing the value
 * and reading it back (place_tiles.c, Note [When a halo pays]).
 *
 * Where other kernels read it too, or its value is asked for, the kernel it joins also writes it to memory: that saves
 * reading it back once.
 *
 * A stage that no reader can take joins a sibling, a kernel of the same size that reads, directly or not, something it
 * reads as well (reductions, histograms and images of one source in one pass, folds along an axis level by level),
 * under 3 and 4, and starts a kernel of its own else.
 *
 * Siblings of one depth come together first (Note [Depths]).
 *
 * Neither may make a circle: a kernel never needs its own results by way of another one. Reductions and histograms have
 * no readers in their kernel, since all of their input must be seen first. Opaque stages (ir/opaque.h) are kernels of
 * their own, on both sides of which values are in memory. Every reader that refuses leaves its reason with the kernel,
 * for --explain: the rows of REFUSALS, or what placing says.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/kernels.h"
#include "compile/stmt.h"
#include "graph/array.h"
#include "ir/opaque.h"

#include <stdio.h>
#include <string.h>

enum {
    LINE_BUFFER_BYTES = 4 << 20,
    HALO_ROWS = 256,
    MAX_OPERATIONS = 1000,
    SIBLINGS_TRIED = 8, /* so that planning stays linear in the graph */
    MAX_FAMILY = 4096   /* stages; beyond that siblings are not looked for */
};

/* What is known of a stage. */
typedef struct known {
    bool is_live;                      /* a kernel reads it */
    bool is_other_node;                /* one that belongs to another node does */
    bool reads_gather;                 /* it is read at computed places, */
    bool reads_paced, reads_elsewhere; /* in computed rows that never go back; where rows that are kept do not serve */
    int size;                          /* operations in its body */
    int depth;                         /* Note [Depths] */
    ip_span columns;                   /* of what is live: between which it is read */
} known;

typedef struct fusing {
    ip_plan *plan;
    const ip_compile_options *options;
    ip_schedule schedule; /* of kernels of maps and folds when they begin: rows, tiles or pixels */
    ip_grouping groups;
    known *of; /* by stage id */
    /* family[id]: a set of stage ids, of what the stage reads, directly or not; and itself */
    uint64_t **family;
    size_t family_words;
    ip_stage *visiting;
} fusing;

static bool same_size(const int64_t a[4], const int64_t b[4]) { return memcmp(a, b, 3 * sizeof a[0]) == 0; }

static void note_reader(fusing *f, const ip_stage *p)
{
    ip_stage *reader = f->visiting;
    f->of[p->id].is_live = true;
    ip_grouping_reads(&f->groups, f->groups.kernel_of[reader->id], p);
    if (reader->node != p->node) f->of[p->id].is_other_node = true;
}

/* Columns between which a stage is read. */
static void note_columns(fusing *f, const ip_expr *load, const int64_t domain[4])
{
    ip_span *read = &f->of[load->source->id].columns, columns;
    const ip_box box = ip_box_of(domain);
    if (!ip_index_span(load->arg[2], &box, &columns)) columns = (ip_span){ 0, load->source->dims[2] - 1 };
    if (f->of[load->source->id].is_live)
        columns = (ip_span){ ip_min(read->lo, columns.lo), ip_max(read->hi, columns.hi) };
    *read = columns;
}

static void note_source(ip_expr *load, void *user)
{
    fusing *f = user;
    ip_stage *p = load->source, *reader = f->visiting;
    note_columns(f, load, ip_stage_domain(reader));
    note_reader(f, p);
    ip_reach reach = ip_load_reach(load, ip_stage_domain(reader));
    if (!reach.is_local) f->of[p->id].reads_gather = true;
    if (reach.is_paced) f->of[p->id].reads_paced = true;
    if (reach.is_local || reach.is_in_rows || reach.is_paced) return;
    f->of[p->id].reads_elsewhere = true;
}

/* ---- families ------------------------------------------------------------------------- */

static void note_depth(fusing *f, const ip_stage *p)
{
    const ip_stage *reader = f->visiting;
    const bool is_there = p->kind == IP_STAGE_SOURCE || p->kind == IP_STAGE_TABLE,
               must_end = !is_there && (p->kind != IP_STAGE_MAP || !same_size(p->dims, ip_stage_domain(reader)));
    f->of[reader->id].depth = ip_max_int(f->of[reader->id].depth, f->of[p->id].depth + must_end);
}

static void join_family(ip_expr *load, void *user)
{
    fusing *f = user;
    const ip_stage *p = load->source, *reader = f->visiting;
    note_depth(f, p);
    if (p->kind == IP_STAGE_TABLE) return;
    for (size_t w = 0; w < f->family_words; w++)
        f->family[reader->id][w] |= f->family[p->id][w];
}

static void find_families(fusing *f)
{
    ip_ir *ir = f->plan->ir;
    size_t n = (size_t)ir->n_stages;
    if (!f->options->fuse || n > MAX_FAMILY) return;
    f->family_words = (n + 63) / 64;
    f->family = ip_ir_alloc(ir, n + 1, sizeof *f->family);
    uint64_t *bits = ip_ir_alloc(ir, n * f->family_words + 1, sizeof *bits);
    if (!f->family || !bits) return;
    for (size_t id = 0; id < n; id++) {
        f->family[id] = bits + id * f->family_words;
        f->family[id][id / 64] |= 1ull << id % 64;
        f->visiting = ir->stages[id];
        const ip_opaque *o = f->visiting->opaque;
        for (int k = 0; o && k < o->n_inputs; k++)
            note_depth(f, o->inputs[k]);
        if (ip_stage_computes(f->visiting)) ip_stage_each_load(ir, f->visiting, join_family, f);
    }
}

static bool are_related(const fusing *f, int a, int b)
{
    for (size_t w = 0; w < f->family_words; w++)
        if (f->family[a][w] & f->family[b][w]) return true;
    return false;
}

static bool is_sibling(const fusing *f, const ip_kernel *kernel, const ip_stage *s)
{
    for (int k = 0; k < kernel->n_outputs; k++)
        if (are_related(f, kernel->outputs[k]->id, s->id)) return true;
    return false;
}

/*
 * Note [Depths]
 * A stage's depth is how many kernels at least have to end before its own, one behind the other: those of folds and
 * of stages of another size that it needs. Siblings of one depth come together first. To join a kernel of another depth
 * makes one of both wait, so it must not take the place of a stage of the smaller depth that the later one waits for,
 * and that could have joined the sooner one: the extremes of argmin, argmax and a minimum are one kernel, the
 * positions the next, in whatever order they are written.
 */
static int depth_of(const fusing *f, const ip_kernel *kernel)
{
    int depth = 0;
    for (int k = 0; k < kernel->n_stages; k++)
        depth = ip_max_int(depth, f->of[kernel->stages[k]->id].depth);
    return depth;
}

/* Whether `later` waits for a stage before `end` at this depth, of the size of `sooner` and its sibling. */
static bool waits_for_sibling(const fusing *f, const ip_stage *later, const ip_stage *sooner, int depth, int end)
{
    for (int id = 0; id < end; id++) {
        const ip_stage *t = f->plan->ir->stages[id];
        if (id != later->id && f->of[id].depth == depth && f->family[later->id][id / 64] >> id % 64 & 1 &&
            ip_stage_computes(t) && same_size(ip_stage_domain(t), ip_stage_domain(sooner)) &&
            are_related(f, id, sooner->id))
            return true;
    }
    return false;
}

/* Whether s would take the place of a stage that is yet to come; they come in falling order. */
static bool takes_a_place(const fusing *f, const ip_kernel *kernel, const ip_stage *s)
{
    const int depth = depth_of(f, kernel), own = f->of[s->id].depth;
    bool takes = false;
    for (int k = 0; k < kernel->n_outputs && depth != own && !takes; k++) {
        const ip_stage *o = kernel->outputs[k];
        takes = own > depth ? waits_for_sibling(f, s, o, depth, s->id) : waits_for_sibling(f, o, s, own, s->id);
    }
    return takes;
}

/* ---- joining ---------------------------------------------------------------------------- */

static int64_t columns_kept(const ip_kernel *kernel, const ip_placed *p, bool in_panels)
{
    int64_t width = p->stage->dims[2];
    return in_panels ? ip_min(width, ip_kernel_least_columns(kernel) + p->left + p->right) : width;
}

/* Of single rows only a panel's part is kept (division.c, Note [Panels]); of several, narrow panels would compute too
 * much twice. */
static size_t line_buffer_bytes(const ip_kernel *kernel)
{
    size_t total = 0;
    bool in_panels = ip_kernel_walks_panels(kernel) && ip_kernel_rows_twice(kernel) == 0;
    for (int k = 0; k < kernel->n_placed; k++) {
        const ip_placed *p = &kernel->placed[k];
        if (p->place == IP_PLACE_LINE_BUFFER && !p->at_once) /* of those the strips are narrow */
            total += (size_t)p->rows * (size_t)(columns_kept(kernel, p, in_panels) + 2 * p->pad) *
                     (size_t)p->stage->dims[3] * ip_dtype(p->stage->dtype)->size_bytes;
    }
    return total;
}

static bool fits_rows(fusing *f, ip_kernel *kernel, const char **why)
{
    if (!ip_place_stages(f->plan, kernel, why)) return false;
    if (line_buffer_bytes(kernel) > LINE_BUFFER_BYTES) {
        *why = "its rows would not stay in the cache";
        return false;
    }
    if (ip_kernel_halo(kernel) > HALO_ROWS) {
        *why = "too many rows would be computed twice at the seams of strips";
        return false;
    }
    return true;
}

static bool place(fusing *f, ip_kernel *kernel, const char **why)
{
    return kernel->schedule == IP_SCHEDULE_TILES ? ip_place_tiles(f->plan, kernel, &f->options->device.target, why)
                                                 : fits_rows(f, kernel, why);
}

static bool try_join(fusing *f, int index, ip_stage *stage, bool stored, const char **why)
{
    ip_kernel trial;
    if (!ip_grouping_try(&f->groups, index, stage, stored, &trial)) return false;
    bool fits = place(f, &trial, why);
    if (fits && trial.schedule == IP_SCHEDULE_TILES)
        fits = ip_halo_pays(f->plan, &f->plan->kernels[index].tiling, &trial.tiling, stage, stored, why);
    if (fits)
        ip_grouping_adopt(&f->groups, index, &trial);
    else
        ip_grouping_drop(&trial);
    return fits;
}

/* Why stage p cannot join any kernel that reads it; NULL: it may. */
static const char *why_alone(const fusing *f, const ip_stage *p, int n_readers)
{
    if (p->kind == IP_STAGE_OPAQUE) return "hand-written kernels compute it";
    if (p->kind == IP_STAGE_SCAN) return "a recurrence walks whole lines before a reader can start";
    if (p->kind != IP_STAGE_MAP) return "all of its input must be seen before a reader can start";
    if (!f->options->fuse && f->of[p->id].is_other_node) return "fusion is switched off";
    if (!f->options->fuse && p->is_output) return "its value is asked for";
    if (!f->options->fuse && n_readers > 1) return "several kernels read it";
    return NULL;
}

static bool is_full(const fusing *f, const ip_kernel *kernel, const ip_stage *s)
{
    int operations = f->of[s->id].size;
    for (int k = 0; k < kernel->n_stages; k++)
        operations += f->of[kernel->stages[k]->id].size;
    return kernel->n_stages >= f->options->tuning.max_stages || operations > MAX_OPERATIONS;
}

/*
 * Note [Whole rows]
 * What is read at computed columns of an element's own row can be kept, too, a whole row at a time: the rows that a
 * resize has made are of another width than those it makes of them. Strips are then not cut along x, so there must be
 * rows enough to keep all units busy; or so little in all, as in the small levels of a pyramid, that another kernel
 * would take longer to start. Rows of another height are those of a stage that is read at computed rows (place_rates.c,
 * Note [Producer row rates]), or of what that one reads. Rows of which less than half is read are not: to compute them
 * whole would be dearer than to write and read the box.
 */
static bool keeps_rows(const fusing *f, const ip_kernel *kernel, const ip_stage *p)
{
    enum { PART = 2 };
    const ip_span *columns = &f->of[p->id].columns;
    bool has_rows = p->dims[1] == kernel->domain[1] || f->of[p->id].reads_paced;
    for (int k = 0; k < kernel->n_stages; k++)
        has_rows = has_rows || kernel->stages[k]->dims[1] == p->dims[1];
    return kernel->schedule == IP_SCHEDULE_ROWS && !f->of[p->id].reads_elsewhere && !p->is_output &&
           kernel->n_folds == 0 && (columns->hi - columns->lo + 1) * PART >= p->dims[2] &&
           p->dims[0] == kernel->domain[0] && has_rows && ip_may_keep_rows(kernel, p->dims[2]);
}

typedef struct gathering {
    const ip_stage *read; /* NULL: whatever is not a table, nor one element */
    const int64_t *domain;
    bool gathers;
} gathering;

static void note_gathering(ip_expr *load, void *user)
{
    gathering *g = user;
    const bool is_read =
        g->read ? load->source == g->read : load->source->kind != IP_STAGE_TABLE && (load->uses & IP_USES_COORDS) != 0;
    if (is_read) g->gathers |= !ip_load_reach(load, g->domain).is_local;
}

/* Whether reader reads that, or (NULL) anything, at computed places. */
static bool gathers(ip_ir *ir, const ip_stage *reader, const ip_stage *read)
{
    gathering g = { .read = read, .domain = ip_stage_domain(reader) };
    ip_stage_each_load(ir, reader, note_gathering, &g);
    return g.gathers;
}

/* Whether the kernel itself reads p at computed places. Others may: to them it is stored. */
static bool is_gathered_by(const fusing *f, const ip_kernel *kernel, const ip_stage *p)
{
    bool is_gathered = false;
    for (int k = 0; f->of[p->id].reads_gather && k < kernel->n_stages && !is_gathered; k++)
        is_gathered = gathers(f->plan->ir, kernel->stages[k], p);
    return is_gathered;
}

/* ---- what keeps a stage out of a kernel that reads it ----------------------------------------------------- */

typedef struct joining {
    fusing *f;
    int kernel;
    ip_stage *p;
    bool stored;
} joining;

static const ip_kernel *reader_of(const joining *j) { return &j->f->plan->kernels[j->kernel]; }

static bool is_by_hand(const joining *j) { return reader_of(j)->schedule == IP_SCHEDULE_OPAQUE; }

static bool is_recurrence(const joining *j) { return reader_of(j)->is_scan; }

static bool is_of_pixels(const joining *j) { return reader_of(j)->schedule == IP_SCHEDULE_PIXELS; }

static bool has_another_size(const joining *j)
{
    return !same_size(j->p->dims, reader_of(j)->domain) && !keeps_rows(j->f, reader_of(j), j->p);
}

static bool is_gathered(const joining *j)
{
    return is_gathered_by(j->f, reader_of(j), j->p) && !keeps_rows(j->f, reader_of(j), j->p);
}

static bool has_enough(const joining *j) { return is_full(j->f, reader_of(j), j->p); }

/* The kernel needs what it would make, by way of another one. */
static bool makes_circle(const joining *j)
{
    return j->stored && ip_grouping_needs_through_others(&j->f->groups, j->kernel, j->p);
}

/* In this order: the first that applies is the reason. Where none does, the kernel is placed with p in it. */
static const struct refusal {
    bool (*applies)(const joining *j);
    const char *says;
} REFUSALS[] = {
    { is_by_hand, "hand-written kernels read it from memory" },
    { is_recurrence, "a recurrence reads it, which keeps no neighbours" },
    { is_of_pixels, "a work-item a pixel keeps no neighbours" },
    { has_another_size, "its reader has another shape" },
    { is_gathered, "it is read at computed places" },
    { has_enough, "the kernel has enough to compute" },
    { makes_circle, "several kernels read it" },
};

/* Whether p has joined the kernel; if not, why. */
static bool joins(const joining *j, const char **why)
{
    for (size_t k = 0; k < sizeof REFUSALS / sizeof *REFUSALS; k++) {
        *why = REFUSALS[k].says;
        if (REFUSALS[k].applies(j)) return false;
    }
    return try_join(j->f, j->kernel, j->p, j->stored, why);
}

/* The reasons so far, and one more: "its reader has another shape (resize); several kernels read it (blur)". */
static const char *with_reason(ip_ir *ir, const char *reasons, const char *why, const ip_kernel *reader)
{
    const ip_stage *made = reader->outputs[0];
    return ip_text(ir, "%s%s%s (%s)", reasons, reasons[0] ? "; " : "", why,
                   made->node ? made->node->op->info.name : "a stage");
}

/* The kernel among p's readers that p may join, or -1 with the reason; of several readers, each one's. */
static int join_reader(fusing *f, ip_stage *p, const char **why)
{
    int n_readers = 0;
    *why = "";
    for (int k = 0; k < f->plan->n_kernels; k++)
        n_readers += ip_grouping_is_read_by(&f->groups, p, k);
    if (n_readers == 0) return -1;
    const char *alone = why_alone(f, p, n_readers), *reasons = "";
    *why = alone ? alone : "";
    if (alone) return -1;
    for (int k = 0; k < f->plan->n_kernels; k++) {
        if (!ip_grouping_is_read_by(&f->groups, p, k)) continue;
        const joining j = { .f = f, .kernel = k, .p = p, .stored = p->is_output || n_readers > 1 };
        if (joins(&j, why)) return k;
        if (n_readers > 1) reasons = with_reason(f->plan->ir, reasons, *why, reader_of(&j));
    }
    if (n_readers > 1) *why = reasons;
    return -1;
}

/* A kernel of the depth of s, or of another one, beside which s may be computed, or -1. */
static int join_sibling_of(fusing *f, ip_stage *s, bool at_depth)
{
    int n_tried = 0;
    for (int k = f->plan->n_kernels - 1; k >= 0 && n_tried < SIBLINGS_TRIED; k--) {
        const ip_kernel *kernel = &f->plan->kernels[k];
        const char *why;
        if (kernel->schedule != f->schedule || kernel->is_scan || is_full(f, kernel, s) ||
            !same_size(ip_stage_domain(s), kernel->domain) || !is_sibling(f, kernel, s) ||
            (depth_of(f, kernel) == f->of[s->id].depth) != at_depth || takes_a_place(f, kernel, s))
            continue;
        n_tried++;
        if (!ip_grouping_is_read_by(&f->groups, s, k) && !ip_grouping_needs_through_others(&f->groups, k, s) &&
            try_join(f, k, s, true, &why))
            return k;
    }
    return -1;
}

/* A kernel beside which s may be computed, or -1. */
static int join_sibling(fusing *f, ip_stage *s)
{
    if (!f->family || f->schedule == IP_SCHEDULE_PIXELS || s->kind == IP_STAGE_OPAQUE || s->kind == IP_STAGE_SCAN)
        return -1;
    int k = join_sibling_of(f, s, true);
    return k >= 0 ? k : join_sibling_of(f, s, false);
}

/* A recurrence has a schedule of its own, whatever is asked for. */
static void note_fallback(fusing *f, ip_kernel *k)
{
    ip_schedule wanted = f->options->tuning.schedule;
    if (k->schedule == IP_SCHEDULE_OPAQUE) return;
    if (k->is_scan && wanted != IP_SCHEDULE_AUTO && wanted != IP_SCHEDULE_ROWS)
        snprintf(k->fallback, sizeof k->fallback, "schedule %s is not offered for a recurrence; it walks its lines",
                 ip_schedule_name(wanted));
}

/* Leaves a tile for pixels, whose placement is none. */
static void take_pixels(ip_kernel *k, const char *why)
{
    k->schedule = IP_SCHEDULE_PIXELS;
    ip_free(k->placed);
    k->placed = NULL;
    k->n_placed = 0;
    snprintf(k->fallback, sizeof k->fallback, "schedule tiles is left for pixels: %s", why);
}

/* Pixels that read images, where there are any to read. */
static void take_textures(ip_plan *plan, ip_kernel *k, const ip_target *target)
{
    const char *why;
    if (ip_place_textures(plan, k, target, &why))
        k->schedule = IP_SCHEDULE_TEXTURE;
    else
        snprintf(k->fallback, sizeof k->fallback, "schedule texture is left for pixels: %s", why);
}

static int start_kernel(fusing *f, ip_stage *s, const char *why)
{
    ip_schedule schedule = s->kind == IP_STAGE_OPAQUE ? IP_SCHEDULE_OPAQUE
                           : s->kind == IP_STAGE_SCAN ? IP_SCHEDULE_ROWS
                                                      : f->schedule; /* lines are walked the same way everywhere */
    int k = ip_grouping_new(&f->groups, s, schedule);
    if (k < 0) return -1;
    f->plan->kernels[k].in_groups = f->schedule != IP_SCHEDULE_ROWS;
    f->plan->kernels[k].reason = why;
    note_fallback(f, &f->plan->kernels[k]);
    const char *unfit = "";
    if (schedule == IP_SCHEDULE_TILES && !place(f, &f->plan->kernels[k], &unfit))
        take_pixels(&f->plan->kernels[k], unfit);
    return k;
}

static void fuse_all(fusing *f)
{
    ip_ir *ir = f->plan->ir;
    find_families(f);
    for (int id = 0; id < ir->n_stages; id++)
        f->of[id].size = ir->stages[id]->body ? ip_x_size(ir, ir->stages[id]->body) : 0;
    for (int id = ir->n_stages - 1; id >= 0 && !ir->failed; id--) {
        ip_stage *s = ir->stages[id];
        if (!(ip_stage_computes(s) || s->opaque) || !(f->of[id].is_live || s->is_output)) continue;
        const char *why;
        if (join_reader(f, s, &why) < 0 && join_sibling(f, s) < 0 && start_kernel(f, s, why) < 0) return;
        f->visiting = s;
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            note_reader(f, s->opaque->inputs[i]);
        ip_stage_each_load(ir, s, note_source, f);
    }
    ip_grouping_sort(&f->groups);
}

/* ---- afterwards --------------------------------------------------------------------------- */

/* Every node computed in the kernel, in order, hidden helpers aside. */
static void list_node(ip_kernel *k, size_t *used, const imgpar_array *node, const imgpar_array **last)
{
    if (!node || node == *last || !node->op || *used >= sizeof k->ops || node->op->flags & IP_OP_HIDDEN) return;
    *used += (size_t)snprintf(k->ops + *used, sizeof k->ops - *used, "%s%s", *used ? "," : "", node->op->info.name);
    *last = node;
}

static void list_ops(ip_kernel *k)
{
    size_t used = 0;
    const imgpar_array *last = NULL;
    for (int s = 0; s < k->n_stages; s++) {
        for (int i = 0; i < k->stages[s]->n_absorbed; i++)
            list_node(k, &used, k->stages[s]->absorbed[i], &last);
        list_node(k, &used, k->stages[s]->node, &last);
    }
    const ip_opaque *o = used ? NULL : ip_kernel_opaque(k); /* of a hidden helper, or a kernel of the user */
    if (o) snprintf(k->ops, sizeof k->ops, "%s", !o->kind->shader && o->variant ? o->variant : o->kind->name);
}

/* A gather by itself goes to pixels: no element is known to be read twice. */
static void leave_tiles(ip_plan *plan, ip_kernel *k)
{
    bool has_tile = false;
    for (int i = 0; i < k->n_placed; i++)
        has_tile |= k->placed[i].place == IP_PLACE_TILE;
    if (k->n_stages == 1 && k->n_folds == 0 && !has_tile && gathers(plan->ir, k->stages[0], NULL))
        take_pixels(k, "its elements are read at computed places");
}

/* What kernels begin with: those of textures are found among those of pixels. */
static ip_schedule first_schedule(ip_schedule asked)
{
    return asked == IP_SCHEDULE_ROWS || asked == IP_SCHEDULE_TILES ? asked : IP_SCHEDULE_PIXELS;
}

imgpar_status ip_pass_fuse(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    ip_ir *ir = plan->ir;
    size_t n = (size_t)ir->n_stages + 1;
    fusing f = { .plan = plan, .options = options, .schedule = first_schedule(options->schedule) };
    f.of = ip_zalloc(n * sizeof *f.of);
    if (ip_grouping_begin(&f.groups, plan) && f.of)
        fuse_all(&f);
    else
        ir->failed = true;
    ip_grouping_end(&f.groups);
    ip_free(f.of);
    if (ir->failed) return ip_fail_memory(err, "compiling");
    for (int k = 0; k < plan->n_kernels; k++) {
        ip_kernel *kernel = &plan->kernels[k];
        const char *why = "";
        list_ops(kernel);
        if (options->schedule == IP_SCHEDULE_TEXTURE && kernel->schedule == IP_SCHEDULE_PIXELS)
            take_textures(plan, kernel, &options->device.target);
        if (kernel->schedule == IP_SCHEDULE_TILES)
            leave_tiles(plan, kernel);
        else if (!kernel->placed && ip_kernel_walks_rows(kernel) && !ip_place_stages(plan, kernel, &why) && !ir->failed)
            return ip_fail(err, IMGPAR_E_INTERNAL, "internal: kernel %s does not fit its schedule: %s", kernel->ops,
                           why);
        ip_adopt_placement(plan, kernel);
    }
    return ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
