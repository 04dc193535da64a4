/* SPDX-License-Identifier: MIT */
/*
 * Where each stage of a kernel lives: the geometry that the schedules rows and tiles share.
 *
 * Rows: a work-item walks a strip of output rows y, or a panel of its columns after the other. At each step every stage
 * computes one row, ahead of the output by its `lead`, and keeps the last few rows that its readers still need in a
 * line buffer. Columns beyond the left and right edge are filled in after a row is made (`pad`), so inner loops have no
 * edge cases.
 *
 * Tiles: a work-group makes a tile of the output. Every stage computes the same tile, grown by its halo (`first`,
 * `lead`, `left`, `right`), and keeps it until its last reader has run; place_tiles.c decides how large tiles are.
 * Elements beyond all four edges are filled in (`pad`, `pad_rows`).
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/placing.h"

#include <limits.h>
#include <string.h>

ip_placed *ip_kernel_placed(const ip_kernel *kernel, const ip_stage *stage)
{
    for (int k = 0; k < kernel->n_placed; k++)
        if (kernel->placed[k].stage == stage) return &kernel->placed[k];
    return NULL;
}

int ip_kernel_halo(const ip_kernel *kernel)
{
    int halo = 0;
    for (int k = 0; k < kernel->n_placed; k++)
        if (kernel->placed[k].rate_of < 0 && kernel->placed[k].lead - kernel->placed[k].first > halo)
            halo = kernel->placed[k].lead - kernel->placed[k].first;
    return halo;
}

int64_t ip_kernel_least_columns(const ip_kernel *kernel)
{
    enum { LEAST_COLUMNS = 256, HALOS = 3 };
    int64_t halo = 0;
    for (int k = 0; k < kernel->n_placed; k++)
        halo = ip_max(halo, (int64_t)kernel->placed[k].left + kernel->placed[k].right);
    return ip_max(LEAST_COLUMNS, HALOS * halo);
}

bool ip_kernel_walks_panels(const ip_kernel *kernel)
{
    bool keeps_rows = false;
    for (int k = 0; k < kernel->n_placed; k++)
        keeps_rows = keeps_rows || kernel->placed[k].place == IP_PLACE_LINE_BUFFER || kernel->placed[k].n_running > 0;
    return keeps_rows && kernel->schedule == IP_SCHEDULE_ROWS && !kernel->whole_rows && !kernel->is_transpose;
}

double ip_kernel_cost(const ip_plan *plan, const ip_kernel *k)
{
    enum { OPAQUE_COST = 16 };
    double cost = 1;
    for (int i = 0; i < k->n_stages; i++) {
        const ip_stage *s = k->stages[i];
        cost += s->opaque ? OPAQUE_COST : 1 + ip_x_cost(plan->ir, s->body);
        for (int state = 0; state < s->n_more; state++)
            cost += ip_x_cost(plan->ir, s->more[state].body);
    }
    return cost;
}

bool ip_placed_is_kept(const ip_placed *placed)
{
    return placed && (placed->place == IP_PLACE_LINE_BUFFER || placed->place == IP_PLACE_TILE);
}

int ip_placed_before(const ip_placed *placed)
{
    int64_t size = (int64_t)ip_dtype(placed->stage->dtype)->size_bytes,
            pad = placed->pad * placed->stage->dims[3] * size;
    return (int)(ip_ceil_div(pad, IP_LINE_BYTES) * IP_LINE_BYTES / size);
}

bool ip_kernel_walks_rows(const ip_kernel *kernel)
{
    return (kernel->schedule == IP_SCHEDULE_ROWS && !kernel->is_scan) ||
           (kernel->schedule == IP_SCHEDULE_PIXELS && kernel->n_folds > 0);
}

bool ip_kernel_walks_tiles(const ip_kernel *kernel)
{
    return kernel->schedule == IP_SCHEDULE_TILES && (kernel->n_folds > 0 || kernel->tiling.slides);
}

bool ip_tile_grows(const ip_kernel *kernel, const ip_placed *placed)
{
    return kernel->tiling.slides && placed->place == IP_PLACE_TILE && placed->lead > placed->first;
}

int ip_tile_rows_kept(const ip_placed *placed)
{
    return placed->place == IP_PLACE_TILE ? ip_max_int(placed->lead - placed->lowest_read, 0) : 0;
}

bool ip_kernel_computes(const ip_kernel *kernel, const ip_stage *stage)
{
    for (int k = 0; k < kernel->n_stages; k++)
        if (kernel->stages[k] == stage) return true;
    return false;
}

bool ip_kernel_stores(const ip_kernel *kernel, const ip_stage *stage)
{
    for (int k = 0; k < kernel->n_outputs; k++)
        if (kernel->outputs[k] == stage) return true;
    return false;
}

ip_stage *ip_added_stage(ip_placing *p, imgpar_dtype dtype, const int64_t dims[4], const imgpar_array *node)
{
    ip_ir *ir = p->plan->ir;
    ip_stage *s = ip_stage_new(ir, IP_STAGE_MAP, dtype, dims, node);
    if (!s) return NULL;
    ir->n_stages--;
    s->id = -1;
    return s;
}

/* The end of the list becomes its place. */
static void list_stage(ip_ir *ir, ip_stage *s)
{
    const ip_stage *place = ip_stage_new(ir, s->kind, s->dtype, s->dims, s->node);
    if (!place) return;
    s->id = place->id;
    ir->stages[s->id] = s;
}

bool ip_add_placed(ip_placing *p, ip_stage *stage, ip_expr *body, bool is_copy)
{
    ip_kernel *kernel = p->kernel;
    if (kernel->n_placed == p->capacity) {
        int capacity = p->capacity ? p->capacity * 2 : 8;
        ip_placed *placed = ip_realloc_array(kernel->placed, (size_t)capacity, sizeof *placed);
        if (!placed) {
            p->plan->ir->failed = true;
            return false;
        }
        kernel->placed = placed;
        p->capacity = capacity;
    }
    kernel->placed[kernel->n_placed++] = (ip_placed){ .stage = stage,
                                                      .body = body,
                                                      .is_copy = is_copy,
                                                      .place = IP_PLACE_NONE,
                                                      .is_stored = ip_kernel_stores(kernel, stage),
                                                      .pad_border = IP_BORDER_NONE,
                                                      .lowest_read = INT_MAX,
                                                      .last_reader = -1,
                                                      .rate_of = -1 };
    return true;
}

/* ---- geometry ------------------------------------------------------------------- */

static struct ip_read *read_of(ip_placing *p, const ip_stage *source)
{
    int k = 0;
    while (k < p->n_reads && p->reads[k].source != source)
        k++;
    if (k == IP_MAX_READS) return NULL;
    if (k == p->n_reads) p->reads[p->n_reads++] = (struct ip_read){ source, 0 };
    return &p->reads[k];
}

static int64_t pixel_bytes(const ip_stage *s) { return s->dims[3] * (int64_t)ip_dtype(s->dtype)->size_bytes; }

static void note_read(ip_placing *p, const ip_stage *source, int rows)
{
    int64_t bytes = rows * pixel_bytes(source);
    struct ip_read *read = read_of(p, source);
    if (!read || bytes <= read->bytes) return;
    p->kernel->read_bytes += bytes - read->bytes;
    read->bytes = bytes;
}

static void find_last_tap(ip_expr *x, void *user)
{
    double *last = user;
    if (x->op == IP_X_TAP && x->hi > *last) *last = x->hi;
}

/* A load at the element's own column, from computed rows of an input of another height. Such loads are taken to read
 * different rows, each one row or as many as there are taps, so their bytes add up. */
static void note_rows(ip_placing *p, const ip_expr *load)
{
    double last_tap = 0;
    struct ip_read *read =
        ip_x_is_coord(load->arg[2], 2) && load->source->kind != IP_STAGE_TABLE ? read_of(p, load->source) : NULL;
    if (!read) return;
    ip_x_walk(p->plan->ir, load->arg[1], find_last_tap, &last_tap);
    int64_t bytes = ((int64_t)last_tap + 1) * pixel_bytes(load->source);
    p->kernel->read_bytes += bytes;
    read->bytes += bytes;
}

/* Whether rows of both are made for the same y. */
static bool are_abreast(const ip_placed *a, const ip_placed *b)
{
    return a->rate_of < 0 && b->rate_of < 0 && a->lead == b->lead && a->first == b->first;
}

/* Why source is not kept for a reader of its rows at computed places: what is stored is made row after row, and what is
 * made at a rate of their own sets none. */
static const char *why_not_at_places(const ip_placed *source, const ip_placed *reader)
{
    return source->is_stored      ? "it is stored for others, too, and read at computed places"
           : reader->rate_of >= 0 ? "its reader's rows are made at a rate of their own"
                                  : "it is read at computed places";
}

/*
 * Sets the rate at which source's rows are made; false, and p->why: it cannot be kept at one. Where the reader reads
 * them at its own row and rows around it, source is made at the reader's rate. Where it reads them at computed rows,
 * source gets a rate of its own, which all that it is made of follows: their lead and first are relative to source's
 * rows.
 */
static bool keeps_pace(ip_placing *p, ip_placed *source, const ip_expr *load, const ip_reach *reach)
{
    const ip_placed *reader = p->reader;
    int self = (int)(source - p->kernel->placed), rate = reach->is_paced ? self : reader->rate_of;
    bool is_known = source->place == IP_PLACE_LINE_BUFFER, fits = !is_known || source->rate_of == rate;
    if (rate >= 0) fits = fits && !ip_in_tiles(p) && !source->is_stored && !source->at_once && reader->n_running == 0;
    if (rate == self) {
        ip_row_rate read;
        fits = fits && reader->rate_of < 0 && ip_load_rate(load, p->domain, &read);
        bool is_alike = is_known && source->rate.row == read.row;
        fits = fits && (!is_known || (is_alike && are_abreast(&p->kernel->placed[source->last_reader], reader)));
        if (fits)
            source->rate = is_known ? (ip_row_rate){ read.row, ip_min_int(source->rate.lo, read.lo),
                                                     ip_max_int(source->rate.hi, read.hi) }
                                    : read;
    }
    if (fits && rate >= 0) /* sums that are carried down would begin anew with each row */
        fits = source->n_running == 0 || !ip_rate_leaves_rows_out(&p->kernel->placed[rate].rate);
    if (!fits) p->why = reach->is_paced ? why_not_at_places(source, reader) : "its readers want other rows";
    source->rate_of = rate;
    return fits;
}

/* Whether two stages' rows are wanted at the same y, and are the same ones. */
static bool have_one_pace(const ip_kernel *kernel, const ip_placed *a, const ip_placed *b)
{
    return a->rate.row == b->rate.row && a->rate.lo == b->rate.lo && a->rate.hi == b->rate.hi &&
           are_abreast(&kernel->placed[a->last_reader], &kernel->placed[b->last_reader]);
}

/* Stage number k sets a rate, all its readers being seen: one that is set behind it and is the same becomes this one,
 * so that both may be made of the same rows. */
static void share_pace(ip_kernel *kernel, int k)
{
    for (int later = k + 1; later < kernel->n_placed; later++) {
        if (kernel->placed[later].rate_of != later ||
            !have_one_pace(kernel, &kernel->placed[k], &kernel->placed[later]))
            continue;
        for (int i = 0; i < kernel->n_placed; i++)
            if (kernel->placed[i].rate_of == later) kernel->placed[i].rate_of = k;
    }
}

/* A load of what the kernel does not keep: what it reads of an input. */
static void note_input(ip_placing *p, const ip_expr *load)
{
    ip_kernel *kernel = p->kernel;
    ip_placed *reader = p->reader;
    const ip_reach reach = ip_load_reach(load, p->domain);
    const bool is_table = load->source->kind == IP_STAGE_TABLE;
    int lo, hi;
    kernel->is_transpose |= !is_table && load->arg[1]->uses & IP_USES_X && load->arg[2]->uses & IP_USES_Y;
    kernel->reads_other_rows |=
        !is_table && load->uses & IP_USES_COORDS && (!reach.is_local || reach.y_lo != 0 || reach.y_hi != 0);
    if (reach.is_local)
        note_read(p, load->source, reach.y_hi - reach.y_lo + 1);
    else
        note_rows(p, load);
    if (p->reads_in_place && ip_load_reads_beside(load, p->domain, &lo, &hi)) {
        reader->beside_left = ip_max_int(reader->beside_left, -lo);
        reader->beside_right = ip_max_int(reader->beside_right, hi);
    }
    if (load->border == IMGPAR_BORDER_WRAP) {
        ip_index x = ip_x_classify(load->arg[2]);
        kernel->whole_rows |= x.kind != IP_INDEX_UNIT || x.lo != 0 || x.hi != 0;
    }
}

static bool reads_columns_beside(const ip_reach *reach) { return reach->x_lo != 0 || reach->x_hi != 0; }

/* A tile has elements beyond its edges above and below, too. */
static bool reads_rows_beside(const ip_placing *p, const ip_reach *reach)
{
    return ip_in_tiles(p) && (reach->y_lo != 0 || reach->y_hi != 0);
}

/* Of what is read at computed columns of the element's own row, a line buffer holds whole rows. */
static bool keeps_whole_rows(const ip_placing *p, const ip_placed *source, const ip_reach *reach)
{
    return reach->is_in_rows && !ip_in_tiles(p) && !source->is_stored;
}

/* Why what is kept of source cannot serve the load; NULL: it can. */
static const char *why_not_kept(const ip_placing *p, const ip_placed *source, const ip_expr *load,
                                const ip_reach *reach)
{
    const bool turns = load->border == IMGPAR_BORDER_WRAP && !source->is_copy;
    const bool is_filled =
        load->border != IP_BORDER_NONE && (reads_columns_beside(reach) || reads_rows_beside(p, reach));
    if (!reach->is_local && !reach->is_paced && !keeps_whole_rows(p, source, reach))
        return why_not_at_places(source, p->reader);
    if (turns && (reach->y_lo < 0 || reach->y_hi > 0)) return "a wrap border needs rows from the opposite edge";
    if (turns && ip_in_tiles(p) && reads_columns_beside(reach))
        return "a wrap border needs columns from the opposite edge";
    if (is_filled && (source->pad > 0 || source->pad_rows > 0) &&
        (source->pad_border != load->border || source->pad_outside != (load->n_args == 5 ? load->arg[4] : NULL)))
        return "its readers want different borders";
    return NULL;
}

/* What is filled in beyond the edges of source by the load's border rule. */
static void widen_pad(const ip_placing *p, ip_placed *source, const ip_expr *load, const ip_reach *reach)
{
    const bool reads_rows = reads_rows_beside(p, reach);
    const int beyond = p->reader->pad_is_computed ? p->reader->pad : 0;
    if (load->border == IP_BORDER_NONE || !(reads_columns_beside(reach) || reads_rows)) return;
    source->pad_border = load->border;
    source->pad_outside = load->n_args == 5 ? load->arg[4] : NULL;
    source->pad = ip_max_int(source->pad, beyond + ip_max_int(-reach->x_lo, reach->x_hi));
    if (reads_rows) source->pad_rows = ip_max_int(source->pad_rows, ip_max_int(-reach->y_lo, reach->y_hi));
    p->kernel->whole_rows |= load->border == IMGPAR_BORDER_WRAP;
}

/* The rows and columns of source that are made for the reader's. */
static void widen_halo(const ip_placing *p, ip_placed *source, const ip_reach *reach)
{
    const ip_placed *reader = p->reader;
    if (!reach->is_paced) {
        source->lead = ip_max_int(source->lead, reader->lead + reach->y_hi);
        source->first = ip_min_int(source->first, reader->first + reach->y_lo);
    }
    if (keeps_whole_rows(p, source, reach)) { /* of which reader's domain tells nothing */
        p->kernel->whole_rows = true;
        source->left = ip_max_int(source->left, IP_ALL_COLUMNS);
        source->right = ip_max_int(source->right, IP_ALL_COLUMNS);
    }
    source->lowest_read = ip_min_int(source->lowest_read, reader->lead + reach->y_lo);
    source->left = ip_max_int(source->left, reader->left - ip_min_int(reach->x_lo, 0));
    source->right = ip_max_int(source->right, reader->right + ip_max_int(reach->x_hi, 0));
}

/* Lets one load of p->reader widen what its source must keep. */
static void note_load(ip_expr *load, void *user)
{
    ip_placing *p = user;
    ip_placed *source = p->why ? NULL : ip_kernel_placed(p->kernel, load->source);
    if (!source) {
        note_input(p, load);
        return;
    }
    ip_reach reach = ip_load_reach(load, p->domain);
    if (!keeps_pace(p, source, load, &reach)) return;
    if (p->reader->n_running > 0) { /* the element that leaves: Note [Running sums] */
        reach.y_lo -= ip_x_classify(load->arg[1]).uses_tap;
        reach.x_lo -= ip_x_classify(load->arg[2]).uses_tap;
    }
    p->why = why_not_kept(p, source, load, &reach);
    if (p->why) return;
    widen_pad(p, source, load, &reach);
    ip_reach_contract(&reach, load->border);
    widen_halo(p, source, &reach);
    source->place = ip_in_tiles(p) ? IP_PLACE_TILE : IP_PLACE_LINE_BUFFER;
    source->last_reader = ip_max_int(source->last_reader, (int)(p->reader - p->kernel->placed));
}

/* Rows of a line buffer. Where several are made at once the ones before them are whole groups, too, so that none of
 * those that are still read is written over; where they are made together, the row that the last one of a group takes
 * the place of is below all that are read. */
static int rows_kept(const ip_placed *p)
{
    if (p->rate.row) return p->rate.hi - p->rate.lo + 1;
    int before = p->lead - p->lowest_read;
    if (p->together) return before + p->together;
    return p->at_once ? (before + p->at_once - 1) / p->at_once * p->at_once + p->at_once : before + 1;
}

/* Every load of a stage as it is placed. */
static void each_load(ip_ir *ir, const ip_placed *placed, void (*fn)(ip_expr *load, void *user), void *user)
{
    ip_stage s = *placed->stage;
    s.body = placed->body;
    ip_stage_each_load(ir, &s, fn, user);
}

bool ip_place_stages(ip_plan *plan, ip_kernel *kernel, const char **why)
{
    ip_placing p = { .plan = plan, .kernel = kernel, .domain = kernel->domain };
    for (int k = 0; k < kernel->n_stages; k++)
        p.bodies[k] = kernel->stages[k]->body;
    ip_free(kernel->placed);
    kernel->placed = NULL;
    kernel->n_placed = 0;
    kernel->whole_rows = kernel->is_transpose = kernel->reads_other_rows = kernel->reads_in_pieces = false;
    kernel->planes_at_once = 0;
    kernel->read_bytes = kernel->line_buffer_bytes = 0;
    /* Copies first, then the stages, before each the rows that are added for it: an entry stands after all it reads. */
    ip_place_copies(&p);
    for (int k = 0; k < kernel->n_stages; k++) {
        if (kernel->schedule == IP_SCHEDULE_ROWS) ip_place_repeats(&p, kernel->stages[k], &p.bodies[k]);
        if (!ip_in_tiles(&p)) ip_place_broadcast(&p, kernel->stages[k], &p.bodies[k]);
        if (kernel->schedule == IP_SCHEDULE_ROWS) ip_place_sums(&p, kernel->stages[k], &p.bodies[k]);
        if (!ip_add_placed(&p, kernel->stages[k], p.bodies[k], false)) break;
        kernel->placed[kernel->n_placed - 1].mask = p.mask;
    }
    if (plan->ir->failed) return false;
    for (int k = 0; k < kernel->n_placed && !ip_in_tiles(&p); k++)
        ip_place_running(plan->ir, &kernel->placed[k]);
    /* From the last entry to the first: when one's turn comes, all its readers have told how far they reach, so its
     * halo and its rows are known before it widens those of what it reads itself. Running sums are found before, since
     * with them a reader reaches one element further. */
    for (int k = kernel->n_placed - 1; k >= 0 && !p.why; k--) {
        p.reader = &kernel->placed[k];
        if (p.reader->rate_of == k) share_pace(kernel, k);
        ip_choose_reading(&p, p.reader->stage, p.reader->body);
        ip_place_together(&p, p.reader);
        if (p.reader->place == IP_PLACE_LINE_BUFFER)
            p.reader->rows = rows_kept(p.reader);
        else if (p.reader->stage->kind != IP_STAGE_MAP)
            p.reader->place = IP_PLACE_TOTAL;
        if (p.reader->place == IP_PLACE_LINE_BUFFER && !p.reader->at_once)
            kernel->line_buffer_bytes +=
                p.reader->rows * p.reader->stage->dims[3] * (int64_t)ip_dtype(p.reader->stage->dtype)->size_bytes;
        each_load(plan->ir, p.reader, note_load, &p);
    }
    if (p.why && why) *why = p.why;
    return !p.why;
}

void ip_adopt_placement(ip_plan *plan, const ip_kernel *kernel)
{
    for (int k = 0; k < kernel->n_placed; k++) {
        ip_placed *p = &kernel->placed[k];
        p->stage->body = p->body;
        if (p->stage->id < 0) list_stage(plan->ir, p->stage);
    }
}
