/* SPDX-License-Identifier: MIT */
/*
 * Where each stage of a kernel lives: the geometry that the schedules rows and tiles share.
 *
 * Rows: a work-item walks a strip of output rows y. At each step every stage computes one
 * row, ahead of the output by its `lead`, and keeps the last few rows that its readers
 * still need in a ring. Columns beyond the left and right edge are filled in after a
 * row is made (`pad`), so inner loops have no edge cases.
 *
 * Tiles: a work-group makes a tile of the output. Every stage computes the same tile, grown by its halo (`first`, `lead`,
 * `left`, `right`), and keeps it until its last reader has run; place_tiles.c decides how large tiles are. Elements beyond
 * all four edges are filled in (`pad`, `pad_rows`).
 *
 * Note [Reading near edges]
 * A reader at row r that looks at r + d reads row f(r + d), f being the border rule. For
 * replicate and both reflections f never moves two rows further apart than they were
 * and keeps rows inside where they are, so |f(r + d) - r| <= |d|: a window made symmetric
 * (reflections) or made to contain 0 (replicate, constant) holds every row that can be asked for. Wrap is
 * not like that: rows from the opposite edge are not in a ring, so it is refused
 * vertically; horizontally it needs whole rows, and is refused in tiles. Copies of a source are the exception: they hold
 * row r of the endless pattern, whatever source row that is, so a reader does not wrap at all.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/passes.h"

#include <limits.h>
#include <string.h>

ip_expr *ip_x_offset_from(ip_ir *ir, ip_expr *x, int axis)
{
    if (x->op == IP_X_COORD && x->axis == axis)
        return ip_x_int(ir, IMGPAR_I32, 0);
    if (x->op != IP_X_ADD && x->op != IP_X_SUB)
        return NULL;
    for (int side = 0; side < (x->op == IP_X_ADD ? 2 : 1); side++) {
        ip_expr *other = x->arg[1 - side];
        if (other->uses & (IP_USES_X | IP_USES_C))
            continue;
        ip_expr *rest = ip_x_offset_from(ir, x->arg[side], axis);
        if (rest)
            return ip_x_binary(ir, x->op, rest, other);
    }
    return NULL;
}

ip_reach ip_load_reach(ip_ir *ir, const ip_expr *load, const int64_t domain[4])
{
    ip_reach reach = { .is_local = false };
    ip_index index[4];
    bool is_own[3]; /* a place beside the element's own along that axis */
    for (int k = 0; k < 4; k++)
        index[k] = ip_x_classify(ir, load->arg[k]);
    for (int k = 0; k < 3; k++)
        is_own[k] = index[k].kind == IP_INDEX_UNIT && index[k].axis == k && load->source->dims[k] == domain[k];
    bool channel_ok = index[3].kind == IP_INDEX_FIXED || (index[3].kind == IP_INDEX_UNIT && index[3].axis == 3);
    bool own_rows = is_own[0] && is_own[1] && channel_ok && index[0].lo == 0 && index[0].hi == 0;
    reach.is_local = own_rows && is_own[2];
    reach.is_in_rows = own_rows && !is_own[2] && load->border == IP_BORDER_NONE;
    reach.is_paced = ip_load_pace(ir, load, domain, &(ip_pace){ .row = NULL });
    if (own_rows) {
        reach.y_lo = index[1].lo;
        reach.y_hi = index[1].hi;
    }
    if (reach.is_local) {
        reach.x_lo = index[2].lo;
        reach.x_hi = index[2].hi;
    }
    return reach;
}

bool ip_load_reads_beside(ip_ir *ir, const ip_expr *load, const int64_t domain[4], int *lo, int *hi)
{
    ip_index x = ip_x_classify(ir, load->arg[2]);
    *lo = x.lo;
    *hi = x.hi;
    return load->border != IP_BORDER_NONE && load->source->kind != IP_STAGE_TABLE && load->source->dims[2] == domain[2]
        && x.kind == IP_INDEX_UNIT && x.axis == 2 && (x.lo != 0 || x.hi != 0)
        && !((load->arg[0]->uses | load->arg[1]->uses) & (IP_USES_X | IP_USES_C));
}

static int max_int(int a, int b) { return a > b ? a : b; }
static int min_int(int a, int b) { return a < b ? a : b; }

static void contract(int *lo, int *hi, int border)
{
    if (border == IMGPAR_BORDER_REFLECT || border == IMGPAR_BORDER_REFLECT101) {
        int m = max_int(max_int(-*lo, *hi), 0);
        *lo = -m;
        *hi = m;
    } else if (border != IP_BORDER_NONE) {
        *lo = min_int(*lo, 0);
        *hi = max_int(*hi, 0);
    }
}

void ip_reach_contract(ip_reach *reach, int border)
{
    contract(&reach->y_lo, &reach->y_hi, border);
    contract(&reach->x_lo, &reach->x_hi, border);
}

static const int64_t *domain_of(const ip_stage *s) { return s->kind == IP_STAGE_MAP ? s->dims : s->over; }

enum { MAX_READS = 16 };

typedef struct placing {
    ip_plan *plan;
    ip_kernel *kernel;
    ip_placed *reader; /* the entry whose loads are being visited */
    bool walks_planes; /* the kernel's work-items may walk planes: emit_across.c, Note [Walking planes] */
    bool reads_in_place; /* the stage whose loads are being visited does: Note [Reading in place] */
    const int64_t *domain; /* of the stage whose loads are being visited */
    struct read { const ip_stage *source; int64_t bytes; } reads[MAX_READS]; /* of a column, the rows read from memory */
    int n_reads;
    ip_expr *mask;     /* of the stage whose values are being spread; NULL: none */
    const char *why;
    int capacity;
} placing;

ip_placed *ip_kernel_placed(const ip_kernel *kernel, const ip_stage *stage)
{
    for (int k = 0; k < kernel->n_placed; k++)
        if (kernel->placed[k].stage == stage)
            return &kernel->placed[k];
    return NULL;
}

int ip_kernel_halo(const ip_kernel *kernel)
{
    int halo = 0;
    for (int k = 0; k < kernel->n_placed; k++)
        if (kernel->placed[k].pace < 0 && kernel->placed[k].lead - kernel->placed[k].first > halo)
            halo = kernel->placed[k].lead - kernel->placed[k].first;
    return halo;
}

bool ip_placed_is_kept(const ip_placed *placed)
{
    return placed && (placed->place == IP_PLACE_RING || placed->place == IP_PLACE_TILE);
}

bool ip_kernel_walks_rows(const ip_kernel *kernel)
{
    return (kernel->schedule == IP_SCHEDULE_ROWS && !kernel->is_scan)
        || (kernel->schedule == IP_SCHEDULE_PIXELS && kernel->n_folds > 0);
}

bool ip_kernel_stores(const ip_kernel *kernel, const ip_stage *stage)
{
    for (int k = 0; k < kernel->n_outputs; k++)
        if (kernel->outputs[k] == stage)
            return true;
    return false;
}

static bool add_placed(placing *p, ip_stage *stage, bool is_copy)
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
    kernel->placed[kernel->n_placed++] = (ip_placed){ .stage = stage, .is_copy = is_copy, .place = IP_PLACE_NONE,
                                                      .is_stored = ip_kernel_stores(kernel, stage),
                                                      .pad_border = IP_BORDER_NONE, .rows = INT_MAX, .last_reader = -1, .pace = -1 };
    return true;
}

/* ---- copies -------------------------------------------------------------------- */

bool ip_kernel_computes(const ip_kernel *kernel, const ip_stage *stage)
{
    for (int k = 0; k < kernel->n_stages; k++)
        if (kernel->stages[k] == stage)
            return true;
    return false;
}

static bool wraps_rows(const ip_expr *load, const ip_reach *reach)
{
    return load->border == IMGPAR_BORDER_WRAP && (reach->y_lo < 0 || reach->y_hi > 0);
}

static bool in_tiles(const placing *p) { return p->kernel->schedule == IP_SCHEDULE_TILES; }

/*
 * Note [Reading in place]
 * Rows: a stage that reads a few columns beside its own from a buffer reads them there, and computes the ends of its rows,
 * where the border rule counts, apart (emit_rows.c). Ends are computed element by element, so where more columns or more
 * operations make that dear the rows are copied first and their edges filled in; so they are for folds and windows.
 */
enum { COLUMNS_BESIDE = 4, OPERATIONS_BESIDE = 200 };

static void check_beside(ip_expr *x, void *user)
{
    placing *p = user;
    int lo, hi;
    if (x->op == IP_X_WINDOW)
        p->reads_in_place = false;
    else if (x->op == IP_X_LOAD && !ip_kernel_computes(p->kernel, x->source) && ip_load_reads_beside(p->plan->ir, x, p->domain, &lo, &hi))
        p->reads_in_place = p->reads_in_place && -lo <= COLUMNS_BESIDE && hi <= COLUMNS_BESIDE;
}

static void choose_reading(placing *p, const ip_stage *s)
{
    p->domain = domain_of(s);
    p->reads_in_place = !in_tiles(p) && s->kind == IP_STAGE_MAP
        && ip_x_size(p->plan->ir, s->body) * s->dims[3] <= OPERATIONS_BESIDE;
    if (p->reads_in_place)
        ip_x_walk(p->plan->ir, s->body, check_beside, p);
}

/* A buffer read at neighbouring columns gets a ring of copied rows, so that its edges are filled in once a row. One read at
 * any neighbours gets a tile, so that it is read from memory once. */
static bool wants_copy(placing *p, const ip_expr *load)
{
    if (ip_reads_listed_columns(p->plan->ir, p->kernel, load, p->domain))
        return true;
    if (load->source->kind == IP_STAGE_TABLE || ip_kernel_computes(p->kernel, load->source) || load->border == IP_BORDER_NONE
        || p->reads_in_place)
        return false;
    ip_reach reach = ip_load_reach(p->plan->ir, load, p->domain);
    return reach.is_local && (reach.x_lo != 0 || reach.x_hi != 0 || (in_tiles(p) && (reach.y_lo != 0 || reach.y_hi != 0)));
}

static ip_stage *copy_of(placing *p, const ip_expr *load)
{
    ip_ir *ir = p->plan->ir;
    ip_expr *outside = load->n_args == 5 ? load->arg[4] : NULL;
    for (int k = 0; k < p->kernel->n_placed; k++) {
        ip_placed *c = &p->kernel->placed[k];
        if (c->is_copy && c->source == load->source && c->pad_border == load->border
            && c->pad_outside == outside)
            return c->stage;
    }
    ip_stage *s = ip_stage_new(ir, IP_STAGE_MAP, load->source->dtype, load->source->dims, load->source->node);
    if (!s || !add_placed(p, s, true))
        return NULL;
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(ir, k, s->dims[k]);
    if (load->border == IMGPAR_BORDER_WRAP && !in_tiles(p)) /* tiles apply the border at all edges */
        at[1] = ip_x_border(ir, load->border, at[1], ip_x_param(ir, IMGPAR_I32, (double)s->dims[1], 1, 2147483647.0));
    s->body = ip_x_load(ir, load->source, at, IP_BORDER_NONE, NULL);
    s->lo = load->source->lo;
    s->hi = load->source->hi;
    s->note = in_tiles(p) ? "the source, edges filled in" : load->border == IP_BORDER_NONE ? "rows of the source"
                                                                                           : "rows of the source, edges filled in";
    ip_placed *c = &p->kernel->placed[p->kernel->n_placed - 1];
    c->source = load->source;
    c->pad_border = load->border;
    c->pad_outside = outside;
    return s;
}

/* ---- columns and planes as rows: place_across.c ------------------------------------------------ */

static ip_expr *own_place(ip_ir *ir, ip_stage *s)
{
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(ir, k, s->dims[k]);
    return ip_x_load(ir, s, at, IP_BORDER_NONE, NULL);
}

/* As many planes as all that are copied by planes have room for. */
static void walk_planes(placing *p, int n)
{
    ip_kernel *kernel = p->kernel;
    if (kernel->planes_at_once == 0 || n < kernel->planes_at_once)
        kernel->planes_at_once = n;
    for (int k = 0; k < kernel->n_placed; k++)
        if (kernel->placed[k].is_deep)
            kernel->placed[k].at_once = kernel->planes_at_once;
}

static ip_expr *copy_across(placing *p, ip_expr *load, bool is_deep)
{
    ip_ir *ir = p->plan->ir;
    for (int k = 0; k < p->kernel->n_placed; k++)
        if (p->kernel->placed[k].at_once && p->kernel->placed[k].stage->body == load)
            return own_place(ir, p->kernel->placed[k].stage);
    ip_stage *s = ip_stage_new(ir, IP_STAGE_MAP, load->source->dtype, p->domain, load->source->node);
    if (!s || !add_placed(p, s, true))
        return load;
    s->body = load;
    s->lo = load->source->lo;
    s->hi = load->source->hi;
    s->note = "columns of the source, as rows";
    ip_placed *c = &p->kernel->placed[p->kernel->n_placed - 1];
    c->source = load->source;
    c->at_once = ip_rows_at_once(s);
    c->is_deep = is_deep;
    p->kernel->reads_across = true;
    if (is_deep)
        walk_planes(p, c->at_once);
    return own_place(ir, s);
}

/* In tiles what is read at its own place, too, if the source has a copy for its neighbours. */
static ip_expr *read_own_copy(ip_ir *ir, ip_expr *x, void *user)
{
    placing *p = user;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || ip_kernel_computes(p->kernel, x->source))
        return x;
    ip_reach reach = ip_load_reach(ir, x, p->kernel->domain);
    if (!reach.is_local || reach.x_lo != 0 || reach.x_hi != 0 || reach.y_lo != 0 || reach.y_hi != 0)
        return x;
    for (int k = 0; k < p->kernel->n_placed; k++)
        if (p->kernel->placed[k].source == x->source)
            return ip_x_load(ir, p->kernel->placed[k].stage, x->arg, x->border, x->n_args == 5 ? x->arg[4] : NULL);
    return x;
}

static ip_expr *read_copy(ip_ir *ir, ip_expr *x, void *user)
{
    placing *p = user;
    if (x->op != IP_X_LOAD)
        return x;
    if (ip_reads_across(ir, p->kernel, x, p->domain))
        return copy_across(p, x, false);
    if (p->walks_planes && ip_reads_deep(ir, p->kernel, x, p->domain))
        return copy_across(p, x, true);
    if (!wants_copy(p, x))
        return x;
    ip_stage *copy = copy_of(p, x);
    return copy ? ip_x_load(ir, copy, x->arg, x->border, x->n_args == 5 ? x->arg[4] : NULL) : x;
}

/* ---- values that channels share: spread.c, Note [Spreading] ------------------------------ */

typedef struct spreading { ip_expr *value, *load; } spreading;

static ip_expr *read_spread(ip_ir *ir, ip_expr *x, void *user)
{
    const spreading *s = user;
    (void)ir;
    return x == s->value ? s->load : x;
}

/* An entry before its reader's, a row of value in so many channels. Returns its element at the reader's place. */
static ip_expr *kept_row(placing *p, const ip_stage *reader, ip_expr *value, int64_t channels, const char *note)
{
    ip_ir *ir = p->plan->ir;
    const int64_t *domain = domain_of(reader);
    const int64_t dims[4] = { domain[0], domain[1], domain[2], channels };
    ip_stage *s = ip_stage_new(ir, IP_STAGE_MAP, value->dtype, dims, reader->node);
    if (!s || !add_placed(p, s, false))
        return value;
    s->body = value;
    s->lo = value->lo;
    s->hi = value->hi;
    s->note = note;
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = k < 3 || channels > 1 ? ip_x_coord(ir, k, dims[k]) : ip_x_int(ir, IMGPAR_I32, 0);
    return ip_x_load(ir, s, at, IP_BORDER_NONE, NULL);
}

/*
 * Note [Masks]
 * A mask is mostly the same for a whole row of a strip: inside or outside. Where a spread value is all 0 or all at its
 * maximum there, it is not spread, and its reader is computed with that number in its place, so that what the mask hides is
 * neither read nor computed. The loop is written three times, so the body must be short, and save something.
 */
enum { MASKED_OPERATIONS = 60 };

ip_expr *ip_masked_body(ip_ir *ir, ip_expr *body, ip_expr *mask, bool is_set)
{
    ip_expr *number = ip_x_int(ir, mask->dtype, is_set ? (int64_t)ip_dtype(mask->dtype)->maximum : 0);
    return ip_x_map_values(ir, body, read_spread, &(spreading){ mask, number });
}

static bool is_mask(placing *p, const ip_stage *reader, ip_expr *spread)
{
    ip_ir *ir = p->plan->ir;
    int size = ip_x_size(ir, reader->body);
    if (reader->kind != IP_STAGE_MAP || (spread->dtype != IMGPAR_BOOL && spread->dtype != IMGPAR_U8) || size > MASKED_OPERATIONS)
        return false;
    return ip_x_size(ir, ip_masked_body(ir, reader->body, spread, false)) * 2 < size
        || ip_x_size(ir, ip_masked_body(ir, reader->body, spread, true)) * 2 < size;
}

static void spread_value(placing *p, ip_stage *reader, ip_expr *value)
{
    ip_expr *once = value->op == IP_X_LOAD ? value : kept_row(p, reader, value, 1, "what the channels share");
    ip_expr *spread = kept_row(p, reader, once, domain_of(reader)[3], "the same for each channel");
    reader->body = ip_x_map_values(p->plan->ir, reader->body, read_spread, &(spreading){ value, spread });
    if (!p->mask && is_mask(p, reader, spread)) {
        p->kernel->placed[p->kernel->n_placed - 1].is_mask = true;
        p->mask = spread;
    }
}

typedef struct occurrence { const ip_expr *value; bool found; } occurrence;

static bool look_for(ip_expr *x, void *user)
{
    occurrence *o = user;
    o->found |= x == o->value;
    return !o->found && x->op != IP_X_LOAD;
}

/* Not where value was made of another one, which has been replaced. */
static bool occurs(ip_ir *ir, ip_expr *body, const ip_expr *value)
{
    occurrence o = { .value = value };
    ip_x_descend(ir, body, look_for, &o);
    return o.found;
}

static void spread_values(placing *p, ip_stage *reader)
{
    ip_spread spread;
    p->mask = NULL;
    if ((reader->kind == IP_STAGE_MAP || reader->kind == IP_STAGE_REDUCE)
        && ip_find_spread(p->plan->ir, reader->body, domain_of(reader)[3], &spread))
        for (int k = 0; k < spread.n; k++)
            if (occurs(p->plan->ir, reader->body, spread.values[k]))
                spread_value(p, reader, spread.values[k]);
}

/* ---- sums carried along ------------------------------------------------------------- */

/*
 * Note [Running sums]
 * The sum of n elements along an axis is the sum at the element before, plus the element that enters, less the one that
 * leaves. For integers that is exact, and wrapping does no harm. It holds for any border rule, since what is added at
 * one place and taken away at another is the same read. Down the rows the sums of all columns are kept from row to
 * row; along a row the sum is carried from column to column. The element that leaves lies one before the window, so
 * one more of the source is kept; without a border rule there may be none.
 */
typedef struct tap_check { ip_ir *ir; int axis; bool moves; } tap_check;

static bool load_moves_with_tap(ip_ir *ir, const ip_expr *load, int axis)
{
    ip_index index = ip_x_classify(ir, load->arg[axis]);
    bool is_moving = index.kind == IP_INDEX_UNIT && index.axis == axis && index.uses_tap;
    if (load->source->kind == IP_STAGE_TABLE || load->border == IP_BORDER_NONE || !is_moving)
        return false;
    for (int k = 0; k < load->n_args; k++)
        if (k != axis && load->arg[k]->uses & (IP_USES_TAP | 1 << axis))
            return false;
    return true;
}

static bool check_moving(ip_expr *x, void *user)
{
    tap_check *t = user;
    if (x->op == IP_X_TAP || (x->op == IP_X_COORD && x->axis == t->axis) || x->op == IP_X_WINDOW)
        t->moves = false;
    else if (x->op == IP_X_LOAD)
        t->moves = t->moves && load_moves_with_tap(t->ir, x, t->axis);
    return t->moves && x->op != IP_X_LOAD;
}

static bool moves_with_tap(ip_ir *ir, ip_expr *x, int axis)
{
    tap_check t = { ir, axis, true };
    ip_x_descend(ir, x, check_moving, &t);
    return t.moves && !ir->failed;
}

typedef struct finding { ip_ir *ir; ip_placed *p; bool all; } finding;

static void note_window(ip_expr *x, void *user)
{
    finding *f = user;
    if (x->op != IP_X_WINDOW)
        return;
    bool is_line = (x->taps_y == 1) != (x->taps_x == 1);
    bool fits = x->fold == IP_FOLD_SUM && !ip_dtype(x->dtype)->is_float && is_line && f->p->n_running < IP_MAX_RUNNING
        && f->p->stage->dims[3] <= 4 && moves_with_tap(f->ir, x->arg[0], x->taps_x == 1 ? 1 : 2);
    f->all = f->all && fits;
    if (fits)
        f->p->running[f->p->n_running++] = x;
}

/* All windows of the body, or none. */
static void place_running(ip_ir *ir, ip_placed *p)
{
    finding f = { ir, p, true };
    if (p->stage->kind == IP_STAGE_MAP)
        ip_x_walk(ir, p->stage->body, note_window, &f);
    if (!f.all)
        p->n_running = 0;
}

/* ---- geometry ------------------------------------------------------------------- */

static void note_read(placing *p, const ip_stage *source, int rows)
{
    int64_t bytes = rows * source->dims[3] * (int64_t)ip_dtype(source->dtype)->size_bytes;
    int k = 0;
    while (k < p->n_reads && p->reads[k].source != source)
        k++;
    if (k == MAX_READS)
        return;
    if (k == p->n_reads)
        p->reads[p->n_reads++] = (struct read){ source, 0 };
    if (bytes > p->reads[k].bytes) {
        p->kernel->read_bytes += bytes - p->reads[k].bytes;
        p->reads[k].bytes = bytes;
    }
}

/*
 * The pace at which source's rows are made: that of its reader, or, where reader reads them at computed rows, its own, to whose rows
 * lead and first of all that follows it are then relative. All readers must agree.
 */
static bool keeps_pace(placing *p, ip_placed *source, const ip_expr *load, const ip_reach *reach)
{
    const ip_placed *reader = p->reader;
    int self = (int)(source - p->kernel->placed), pace = reach->is_paced ? self : reader->pace;
    bool is_known = source->place == IP_PLACE_RING, fits = !is_known || source->pace == pace;
    if (pace >= 0)
        fits = fits && !in_tiles(p) && !source->is_stored && !source->at_once && reader->n_running == 0;
    if (pace == self) {
        ip_pace read;
        fits = fits && reader->pace < 0 && ip_load_pace(p->plan->ir, load, p->domain, &read);
        fits = fits && (!is_known || (source->paced.row == read.row && source->last_reader == (int)(reader - p->kernel->placed)));
        if (fits)
            source->paced = is_known ? (ip_pace){ read.row, min_int(source->paced.lo, read.lo), max_int(source->paced.hi, read.hi) } : read;
    }
    if (!fits)
        p->why = reach->is_paced ? "it is read at computed places" : "its readers want other rows";
    source->pace = pace;
    return fits;
}

/* Lets one load of p->reader widen what its source must keep. */
static void note_load(ip_expr *load, void *user)
{
    placing *p = user;
    ip_placed *source = ip_kernel_placed(p->kernel, load->source), *reader = p->reader;
    if (!source || p->why) {
        ip_reach reach = ip_load_reach(p->plan->ir, load, p->domain);
        int lo, hi;
        p->kernel->reads_across |= load->source->kind != IP_STAGE_TABLE && load->arg[1]->uses & IP_USES_X && load->arg[2]->uses & IP_USES_Y;
        if (reach.is_local)
            note_read(p, load->source, reach.y_hi - reach.y_lo + 1);
        if (p->reads_in_place && ip_load_reads_beside(p->plan->ir, load, p->domain, &lo, &hi)) {
            reader->beside_left = max_int(reader->beside_left, -lo);
            reader->beside_right = max_int(reader->beside_right, hi);
        }
        if (load->border == IMGPAR_BORDER_WRAP) {
            ip_index x = ip_x_classify(p->plan->ir, load->arg[2]);
            p->kernel->whole_rows |= x.kind != IP_INDEX_UNIT || x.lo != 0 || x.hi != 0;
        }
        return;
    }
    ip_reach reach = ip_load_reach(p->plan->ir, load, p->domain);
    bool keeps_whole_rows = reach.is_in_rows && !in_tiles(p) && !source->is_stored;
    if (!keeps_pace(p, source, load, &reach))
        return;
    if (reader->n_running > 0) { /* the element that leaves: Note [Running sums] */
        reach.y_lo -= ip_x_classify(p->plan->ir, load->arg[1]).uses_tap;
        reach.x_lo -= ip_x_classify(p->plan->ir, load->arg[2]).uses_tap;
    }
    if (!reach.is_local && !keeps_whole_rows && !reach.is_paced) {
        p->why = "it is read at computed places";
        return;
    }
    if (wraps_rows(load, &reach) && !source->is_copy) {
        p->why = "a wrap border needs rows from the opposite edge";
        return;
    }
    bool reads_beside = reach.x_lo != 0 || reach.x_hi != 0;
    bool reads_above = in_tiles(p) && (reach.y_lo != 0 || reach.y_hi != 0);
    ip_expr *outside = load->n_args == 5 ? load->arg[4] : NULL;
    if (in_tiles(p) && reads_beside && load->border == IMGPAR_BORDER_WRAP && !source->is_copy) {
        p->why = "a wrap border needs columns from the opposite edge";
        return;
    }
    if ((reads_beside || reads_above) && load->border != IP_BORDER_NONE) {
        if ((source->pad > 0 || source->pad_rows > 0) && (source->pad_border != load->border || source->pad_outside != outside)) {
            p->why = "its readers want different borders";
            return;
        }
        source->pad_border = load->border;
        source->pad_outside = outside;
        source->pad = max_int(source->pad, max_int(-reach.x_lo, reach.x_hi));
        if (reads_above)
            source->pad_rows = max_int(source->pad_rows, max_int(-reach.y_lo, reach.y_hi));
        p->kernel->whole_rows |= load->border == IMGPAR_BORDER_WRAP;
    }
    ip_reach_contract(&reach, load->border);
    if (!reach.is_paced) {
        source->lead = max_int(source->lead, reader->lead + reach.y_hi);
        source->first = min_int(source->first, reader->first + reach.y_lo);
    }
    source->place = in_tiles(p) ? IP_PLACE_TILE : IP_PLACE_RING;
    source->last_reader = max_int(source->last_reader, (int)(reader - p->kernel->placed));
    if (keeps_whole_rows) { /* of which reader's domain tells nothing */
        p->kernel->whole_rows = true;
        source->left = max_int(source->left, (int)p->kernel->domain[2]);
        source->right = max_int(source->right, (int)source->stage->dims[2]);
    }
    /* rows holds the lowest row read, relative to y, until all readers are seen. */
    source->rows = min_int(source->rows, reader->lead + reach.y_lo);
    source->left = max_int(source->left, reader->left - min_int(reach.x_lo, 0));
    source->right = max_int(source->right, reader->right + max_int(reach.x_hi, 0));
}

/* Rows of a ring, of which p->rows says the lowest that is read. Where several are made together the ones before them are whole
 * groups, too, so that none of those that are still read is written over. */
static int rows_kept(const ip_placed *p)
{
    if (p->paced.row)
        return p->paced.hi - p->paced.lo + 1;
    int before = p->lead - p->rows;
    return p->at_once ? (before + p->at_once - 1) / p->at_once * p->at_once + p->at_once : before + 1;
}

bool ip_place_stages(ip_plan *plan, ip_kernel *kernel, const char **why)
{
    placing p = { .plan = plan, .kernel = kernel, .domain = kernel->domain };
    ip_free(kernel->placed);
    kernel->placed = NULL;
    kernel->n_placed = 0;
    kernel->whole_rows = kernel->reads_across = false;
    kernel->planes_at_once = 0;
    p.walks_planes = ip_may_walk_planes(plan->ir, kernel);
    kernel->read_bytes = kernel->ring_bytes = 0;
    /* Copies first, then the stages, before each what it spreads: an entry stands after all it reads. */
    for (int k = 0; k < kernel->n_stages; k++)
        if (kernel->stages[k]->body) {
            choose_reading(&p, kernel->stages[k]);
            kernel->stages[k]->body = ip_x_map(plan->ir, kernel->stages[k]->body, read_copy, &p);
        }
    for (int k = 0; k < kernel->n_stages && in_tiles(&p) && kernel->n_placed > 0; k++)
        if (kernel->stages[k]->body)
            kernel->stages[k]->body = ip_x_map(plan->ir, kernel->stages[k]->body, read_own_copy, &p);
    for (int k = 0; k < kernel->n_stages; k++) {
        if (!in_tiles(&p))
            spread_values(&p, kernel->stages[k]);
        if (!add_placed(&p, kernel->stages[k], false))
            break;
        kernel->placed[kernel->n_placed - 1].mask = p.mask;
    }
    if (plan->ir->failed)
        return false;
    for (int k = kernel->n_placed - 1; k >= 0 && !p.why; k--) {
        p.reader = &kernel->placed[k];
        choose_reading(&p, p.reader->stage);
        if (!in_tiles(&p))
            place_running(plan->ir, p.reader);
        if (p.reader->place == IP_PLACE_RING)
            p.reader->rows = rows_kept(p.reader);
        else if (p.reader->stage->kind != IP_STAGE_MAP)
            p.reader->place = IP_PLACE_TOTAL;
        if (p.reader->place == IP_PLACE_RING && !p.reader->at_once)
            kernel->ring_bytes += p.reader->rows * p.reader->stage->dims[3] * (int64_t)ip_dtype(p.reader->stage->dtype)->size_bytes;
        ip_stage_each_load(plan->ir, p.reader->stage, note_load, &p);
    }
    if (p.why && why)
        *why = p.why;
    return !p.why;
}
