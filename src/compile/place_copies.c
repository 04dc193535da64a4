/* SPDX-License-Identifier: MIT */
/* Rows and tiles of sources that are copied before they are read. */
#include "compile/placing.h"
#include "compile/segments.h"

/*
 * Note [Reading in place]
 * Rows: a stage that reads a few columns beside its own from a buffer reads them there, and computes the ends of its
 * rows, where the border rule counts, apart (emit_row.c). Ends are computed element by element, so where more columns
 * or more operations make that dear the rows are copied first and their edges filled in; so they are for folds and
 * windows. Many channels are a vector there, too.
 */
enum { COLUMNS_BESIDE = 4, OPERATIONS_BESIDE = 200, END_BYTES = 32 /* of a vector, at least */ };

static void check_beside(ip_expr *x, void *user)
{
    ip_placing *p = user;
    int lo, hi;
    if (x->op == IP_X_WINDOW)
        p->reads_in_place = false;
    else if (x->op == IP_X_LOAD && !ip_kernel_computes(p->kernel, x->source) &&
             ip_load_reads_beside(x, p->domain, &lo, &hi))
        p->reads_in_place = p->reads_in_place && -lo <= COLUMNS_BESIDE && hi <= COLUMNS_BESIDE;
}

void ip_choose_reading(ip_placing *p, const ip_stage *s, ip_expr *body)
{
    p->domain = ip_stage_domain(s);
    p->reads_in_place = !ip_in_tiles(p) && s->kind == IP_STAGE_MAP;
    if (p->reads_in_place) {
        const int lanes = ip_lanes_of_ends(body, s->dims[3], END_BYTES);
        p->reads_in_place = ip_x_size(p->plan->ir, body) * s->dims[3] / lanes <= OPERATIONS_BESIDE;
    }
    if (p->reads_in_place) ip_x_walk(p->plan->ir, body, check_beside, p);
}

/* A buffer read at neighbouring columns gets a line buffer of copied rows, so that its edges are filled in once a row.
 * One read at any neighbours gets a tile, so that it is read from memory once. */
static bool wants_copy(ip_placing *p, const ip_expr *load)
{
    if (ip_reads_listed_columns(p->plan->ir, p->kernel, load, p->domain)) return true;
    if (load->source->kind == IP_STAGE_TABLE || ip_kernel_computes(p->kernel, load->source) ||
        load->border == IP_BORDER_NONE || p->reads_in_place)
        return false;
    ip_reach reach = ip_load_reach(load, p->domain);
    return reach.is_local &&
           (reach.x_lo != 0 || reach.x_hi != 0 || (ip_in_tiles(p) && (reach.y_lo != 0 || reach.y_hi != 0)));
}

static ip_stage *copy_of(ip_placing *p, const ip_expr *load)
{
    ip_ir *ir = p->plan->ir;
    ip_expr *outside = load->n_args == 5 ? load->arg[4] : NULL;
    for (int k = 0; k < p->kernel->n_placed; k++) {
        ip_placed *c = &p->kernel->placed[k];
        if (c->is_copy && c->source == load->source && c->pad_border == load->border && c->pad_outside == outside)
            return c->stage;
    }
    ip_stage *s = ip_added_stage(p, load->source->dtype, load->source->dims, load->source->node);
    if (!s) return NULL;
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(ir, k, s->dims[k]);
    if (load->border == IMGPAR_BORDER_WRAP && !ip_in_tiles(p)) /* tiles apply the border at all edges */
        at[1] = ip_x_border(ir, load->border, at[1], ip_x_param(ir, IMGPAR_I32, (double)s->dims[1], 1, 2147483647.0));
    if (!ip_add_placed(p, s, ip_x_load(ir, load->source, at, IP_BORDER_NONE, NULL), true)) return NULL;
    s->lo = load->source->lo;
    s->hi = load->source->hi;
    s->note = ip_in_tiles(p)                   ? "the source, edges filled in"
              : load->border == IP_BORDER_NONE ? "rows of the source"
                                               : "rows of the source, edges filled in";
    ip_placed *c = &p->kernel->placed[p->kernel->n_placed - 1];
    c->source = load->source;
    c->pad_border = load->border;
    c->pad_outside = outside;
    return s;
}

/* ---- columns and planes as rows: place_transpose.c ------------------------------------------------ */

enum { PLANES_AT_ONCE = 32 }; /* that read the same row */

/* At most n planes at once: as many as all that are copied by planes have room for. */
static void walk_planes(ip_placing *p, int n)
{
    ip_kernel *kernel = p->kernel;
    if (kernel->planes_at_once == 0 || n < kernel->planes_at_once) kernel->planes_at_once = n;
    for (int k = 0; k < kernel->n_placed; k++)
        if (kernel->placed[k].is_deep) kernel->placed[k].at_once = kernel->planes_at_once;
}

static ip_expr *copy_transposed(ip_placing *p, ip_expr *load, bool is_deep)
{
    ip_ir *ir = p->plan->ir;
    for (int k = 0; k < p->kernel->n_placed; k++)
        if (p->kernel->placed[k].is_transposed && p->kernel->placed[k].body == load)
            return ip_x_beside(ir, p->kernel->placed[k].stage, 0, IP_BORDER_NONE);
    ip_stage *s = ip_added_stage(p, load->source->dtype, p->domain, load->source->node);
    if (!s || !ip_add_placed(p, s, load, true)) return load;
    s->lo = load->source->lo;
    s->hi = load->source->hi;
    s->note = "columns of the source, as rows";
    ip_placed *c = &p->kernel->placed[p->kernel->n_placed - 1];
    c->source = load->source;
    c->is_transposed = true;
    c->at_once = ip_in_tiles(p) ? 0 : ip_rows_at_once(s);
    c->is_deep = is_deep;
    p->kernel->is_transpose = true;
    if (is_deep) walk_planes(p, c->at_once);
    return ip_x_beside(ir, s, 0, IP_BORDER_NONE);
}

/* In tiles what is read at its own place, too, if the source has a copy for its neighbours. */
static ip_expr *read_own_copy(ip_ir *ir, ip_expr *x, void *user)
{
    ip_placing *p = user;
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || ip_kernel_computes(p->kernel, x->source)) return x;
    ip_reach reach = ip_load_reach(x, p->kernel->domain);
    if (!reach.is_local || reach.x_lo != 0 || reach.x_hi != 0 || reach.y_lo != 0 || reach.y_hi != 0) return x;
    for (int k = 0; k < p->kernel->n_placed; k++)
        if (p->kernel->placed[k].source == x->source && !p->kernel->placed[k].is_transposed)
            return ip_x_load(ir, p->kernel->placed[k].stage, x->arg, x->border, x->n_args == 5 ? x->arg[4] : NULL);
    return x;
}

static ip_expr *read_copy(ip_ir *ir, ip_expr *x, void *user)
{
    ip_placing *p = user;
    if (x->op != IP_X_LOAD) return x;
    if (ip_reads_transposed(ir, p->kernel, x, p->domain)) return copy_transposed(p, x, false);
    if (p->walks_planes && ip_reads_deep(ir, p->kernel, x, p->domain)) return copy_transposed(p, x, true);
    if (!wants_copy(p, x)) return x;
    ip_stage *copy = copy_of(p, x);
    return copy ? ip_x_load(ir, copy, x->arg, x->border, x->n_args == 5 ? x->arg[4] : NULL) : x;
}

void ip_place_copies(ip_placing *p)
{
    ip_kernel *kernel = p->kernel;
    bool share_rows;
    p->walks_planes = ip_may_walk_planes(p->plan->ir, kernel, &share_rows);
    if (share_rows) walk_planes(p, PLANES_AT_ONCE);
    for (int k = 0; k < kernel->n_stages; k++)
        if (p->bodies[k]) {
            ip_choose_reading(p, kernel->stages[k], p->bodies[k]);
            p->bodies[k] = ip_x_map(p->plan->ir, p->bodies[k], read_copy, p);
        }
    for (int k = 0; k < kernel->n_stages && ip_in_tiles(p) && kernel->n_placed > 0; k++)
        if (p->bodies[k]) p->bodies[k] = ip_x_map(p->plan->ir, p->bodies[k], read_own_copy, p);
}
