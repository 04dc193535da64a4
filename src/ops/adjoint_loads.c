/* SPDX-License-Identifier: MIT */
/*
 * What a stage counts for, from the loads that read it.
 *
 * Note [Inverted places]
 * A load whose indices are each a multiple of a coordinate of its own and an offset, or an offset alone, reads each
 * element for one element of its domain at most: the one at (place - offset) / multiple. Coordinates that no index has
 * are summed over first. Within windows offsets have taps, and the result is a window of the same taps.
 *
 * Note [Margins]
 * A border rule reads elements of the edge in place of those beyond it. So an adjoint is made with a margin as wide as
 * loads reach, as if there were elements; then, one axis after the other, the margin is added to the elements that
 * stand for it.
 */
#include "ops/adjoint.h"

#include "base/dtype.h"
#include "base/integers.h"
#include "ir/index_map.h"
#include "ops/scatter.h"

#include <string.h>

static ip_expr *binary(ip_adjoints *a, ip_xop op, ip_expr *x, ip_expr *y) { return ip_x_binary(a->l->ir, op, x, y); }
static ip_expr *i32(ip_adjoints *a, int64_t value) { return ip_adjoint_i32(a, value); }
static ip_expr *zero_of(ip_adjoints *a, const ip_expr *x) { return ip_x_float(a->l->ir, x->dtype, 0); }

/* Of conditions, NULL being one that always holds. */
static ip_expr *both(ip_adjoints *a, ip_expr *c, ip_expr *d) { return c && d ? binary(a, IP_X_AND, c, d) : c ? c : d; }

static ip_expr *where(ip_adjoints *a, ip_expr *condition, ip_expr *x)
{
    return condition ? ip_x_select(a->l->ir, condition, x, zero_of(a, x)) : x;
}

/* ---- places ------------------------------------------------------------------------------------- */

/* Where a load reads, along each dim of its stage. */
typedef struct places {
    int of[4];         /* the coordinate that its index has; -1: none */
    int64_t step[4];   /* what that is multiplied by */
    ip_expr *start[4]; /* the rest */
    ip_span span[4];   /* all indices */
    bool is_used[4];   /* coordinates that an index has */
} places;

/* An index at the first element. */
static ip_expr *at_first(ip_ir *ir, ip_expr *index)
{
    ip_expr *zero = ip_x_int(ir, IMGPAR_I32, 0);
    return ip_x_put_coords(ir, index, (ip_expr *const[4]){ zero, zero, zero, zero });
}

static bool has_places(ip_adjoints *a, const ip_reading *r, places *p)
{
    ip_box box;
    memset(p, 0, sizeof *p);
    for (int d = 0; d < 4; d++)
        box.axis[d] = (ip_span){ 0, r->domain[d] - 1 };
    for (int d = 0; d < 4; d++) {
        ip_expr *index = r->load->arg[d];
        const ip_index_map map = ip_index_map_of(index);
        if (map.kind > IP_MAP_AFFINE || !ip_index_span(index, &box, &p->span[d])) return false;
        p->of[d] = -1;
        for (int k = 0; k < 4; k++) {
            if (map.step[k] == 0 || r->domain[k] == 1) continue;
            if (p->of[d] >= 0 || p->is_used[k]) return false;
            p->of[d] = k;
            p->step[d] = map.step[k];
            p->is_used[k] = true;
        }
        p->start[d] = map.first == map.last ? i32(a, map.first) : at_first(a->l->ir, index);
    }
    return true;
}

/* The element of the domain that reads the place q, as far as conditions hold. */
static ip_expr *reader_of(ip_adjoints *a, const places *p, const int64_t dims[4], ip_expr *const q[4],
                          ip_expr *reader[4])
{
    ip_expr *condition = NULL;
    for (int k = 0; k < 4; k++)
        reader[k] = i32(a, 0);
    for (int d = 0; d < 4; d++) {
        if (p->of[d] < 0) {
            bool is_only = dims[d] == 1 && p->span[d].lo == 0 && p->span[d].hi == 0 && q[d]->op == IP_X_COORD;
            if (!is_only) condition = both(a, condition, binary(a, IP_X_EQ, q[d], p->start[d]));
            continue;
        }
        const int64_t step = p->step[d];
        ip_expr *t = step > 0 ? binary(a, IP_X_SUB, q[d], p->start[d]) : binary(a, IP_X_SUB, p->start[d], q[d]);
        if (step != 1 && step != -1) {
            ip_expr *by = i32(a, step < 0 ? -step : step);
            condition = both(a, condition, binary(a, IP_X_EQ, binary(a, IP_X_MOD, t, by), i32(a, 0)));
            t = binary(a, IP_X_IDIV, t, by);
        }
        reader[p->of[d]] = t;
    }
    return condition;
}

/* ---- cotangents that lie in stages ------------------------------------------------------------------ */

static bool uses_frames(ip_adjoints *a, const ip_reading *r, ip_expr *x)
{
    for (int k = 0; k < r->n_frames; k++)
        if (ip_x_uses_window(a->l->ir, x, r->frames[k].window)) return true;
    return false;
}

static bool is_at_home(const ip_expr *x, const int64_t domain[4])
{
    if (x->op != IP_X_LOAD || x->border != IP_BORDER_NONE || x->source->dtype != x->dtype) return false;
    for (int d = 0; d < 4; d++)
        if (!ip_x_is_coord(x->arg[d], d) || x->source->dims[d] != domain[d]) return false;
    return true;
}

/* A cotangent as a product: of what is the same everywhere, but for taps, and of a stage of the domain. */
typedef struct product {
    ip_expr *factor; /* NULL: 1 */
    ip_expr *rest;   /* NULL: 1 */
} product;

static void split(ip_adjoints *a, ip_expr *x, product *p)
{
    if (!(x->uses & IP_USES_COORDS)) {
        p->factor = p->factor ? binary(a, IP_X_MUL, p->factor, x) : x;
    } else if (x->op == IP_X_MUL) {
        split(a, x->arg[0], p);
        split(a, x->arg[1], p);
    } else if (x->op == IP_X_NEG) {
        split(a, x->arg[0], p);
        ip_expr *minus = ip_x_float(a->l->ir, x->dtype, -1);
        p->factor = p->factor ? binary(a, IP_X_MUL, p->factor, minus) : minus;
    } else {
        p->rest = p->rest ? binary(a, IP_X_MUL, p->rest, x) : x;
    }
}

static ip_stage *stage_of(ip_adjoints *a, const ip_reading *r, ip_expr *rest)
{
    if (!rest) return NULL;
    return is_at_home(rest, r->domain) ? rest->source : ip_adjoint_stage(a, r->domain, rest, "cotangent");
}

/* stage without the dim: the sum along it, in levels of up to so many elements. */
ip_stage *ip_adjoint_summed(ip_adjoints *a, ip_stage *stage, int dim)
{
    enum { AT_ONCE = 64 };
    ip_ir *ir = a->l->ir;
    while (stage && stage->dims[dim] > 1) {
        const int64_t n = stage->dims[dim], m = ip_ceil_div(n, AT_ONCE);
        const int taps = (int)ip_ceil_div(n, m), window = ip_x_new_window(ir);
        int64_t dims[4];
        ip_expr *at[4];
        memcpy(dims, stage->dims, sizeof dims);
        dims[dim] = m;
        for (int d = 0; d < 4; d++)
            at[d] = ip_x_coord(ir, d, dims[d]);
        ip_expr *further = binary(a, IP_X_MUL, ip_x_tap(ir, window, 1, taps), i32(a, m));
        at[dim] = m == 1 ? further : binary(a, IP_X_ADD, at[dim], further);
        ip_expr *x = ip_x_load(ir, stage, at, IMGPAR_BORDER_CONSTANT, ip_x_float(ir, stage->dtype, 0));
        stage = ip_adjoint_stage(a, dims, ip_x_fold_taps(ir, IP_FOLD_SUM, window, 1, taps, x), "sum of an adjoint");
    }
    return stage;
}

static ip_expr *within(ip_adjoints *a, const ip_reading *r, ip_expr *x)
{
    for (int k = 0; k < r->n_frames; k++) {
        const ip_frame *f = &r->frames[k];
        x = ip_x_uses_window(a->l->ir, x, f->window)
                ? ip_x_fold_taps(a->l->ir, IP_FOLD_SUM, f->window, f->taps_y, f->taps_x, x)
                : binary(a, IP_X_MUL, x, ip_x_float(a->l->ir, x->dtype, (double)f->taps_y * f->taps_x));
    }
    return x;
}

/* ---- cotangents that are computed where they are read ----------------------------------------------------- */

typedef struct moving {
    ip_expr *const *to;
} moving;

/* Another element's; loads that knew to be inside are held there. */
static ip_expr *move(ip_ir *ir, ip_expr *x, void *user)
{
    const moving *m = user;
    if (x->op == IP_X_COORD) return m->to[x->axis];
    if (x->op != IP_X_LOAD || x->border != IP_BORDER_NONE || !(x->uses & IP_USES_COORDS)) return x;
    return ip_x_load(ir, x->source, x->arg, IMGPAR_BORDER_REPLICATE, NULL);
}

/* Whether a place lies in dims; NULL: always. */
static ip_expr *is_in(ip_adjoints *a, ip_expr *const at[4], const int64_t dims[4])
{
    ip_expr *condition = NULL;
    for (int d = 0; d < 4; d++) {
        if (at[d]->op == IP_X_CONST && at[d]->i >= 0 && at[d]->i < dims[d]) continue;
        condition = both(a, condition, binary(a, IP_X_LE, i32(a, 0), at[d]));
        condition = both(a, condition, binary(a, IP_X_LT, at[d], i32(a, dims[d])));
    }
    return condition;
}

/* ---- one reading -------------------------------------------------------------------------------------------- */

typedef struct inverted {
    ip_reading *reading;
    places places;
    ip_expr *factor; /* NULL: 1 */
    ip_stage *stage; /* NULL: `computed` is the cotangent */
    ip_expr *computed;
    int64_t domain[4]; /* of stage, after sums */
    bool is_one_sum;   /* stage has one element, which is for all of the domain */
} inverted;

/* Whether each element is read for one element of its domain, and what for. */
static bool invert(ip_adjoints *a, const ip_stage *s, ip_reading *r, inverted *v)
{
    *v = (inverted){ .reading = r };
    memcpy(v->domain, r->domain, sizeof v->domain);
    if (!has_places(a, r, &v->places)) return false;
    product p = { NULL, NULL };
    split(a, r->cotangent, &p);
    bool sums = false;
    for (int k = 0; k < 4; k++)
        sums |= !v->places.is_used[k] && r->domain[k] > 1;
    for (int d = 0; d < 4; d++) /* at places beyond an edge that are always the same: as any other place */
        if (v->places.of[d] < 0 && (v->places.span[d].lo < 0 || v->places.span[d].hi >= s->dims[d])) return false;
    v->factor = p.factor;
    if (p.rest && uses_frames(a, r, p.rest)) {
        v->factor = NULL;
        v->computed = r->cotangent;
        return !sums;
    }
    if (!p.rest) { /* the same for all: a stage of ones tells how many */
        p.rest = ip_x_float(a->l->ir, r->cotangent->dtype, 1);
        v->stage = ip_adjoint_stage(a, r->domain, p.rest, "ones");
    } else {
        v->stage = stage_of(a, r, p.rest);
    }
    for (int k = 0; k < 4 && sums; k++)
        if (!v->places.is_used[k] && v->domain[k] > 1) {
            v->stage = ip_adjoint_summed(a, v->stage, k);
            v->domain[k] = 1;
        }
    return true;
}

/* What the place q counts for by it. */
static ip_expr *value_at(ip_adjoints *a, const inverted *v, const int64_t dims[4], ip_expr *const q[4])
{
    ip_ir *ir = a->l->ir;
    ip_expr *reader[4], *x, *condition = reader_of(a, &v->places, dims, q, reader);
    if (v->computed) {
        condition = both(a, is_in(a, reader, v->domain), condition);
        x = ip_x_map(ir, v->computed, move, &(moving){ reader });
    } else {
        if (!v->stage) return ip_x_float(ir, IMGPAR_F32, 0);
        bool is_own = true;
        for (int d = 0; d < 4; d++)
            is_own = is_own && ((ip_x_is_coord(reader[d], d) && dims[d] == v->domain[d]) ||
                                (v->domain[d] == 1 && reader[d]->op == IP_X_CONST));
        x = is_own ? ip_adjoint_load(a, v->stage, reader)
                   : ip_x_load(ir, v->stage, reader, IMGPAR_BORDER_CONSTANT, ip_x_float(ir, v->stage->dtype, 0));
        if (v->factor) x = binary(a, IP_X_MUL, v->factor, x);
    }
    return within(a, v->reading, where(a, condition, x));
}

/* ---- margins ------------------------------------------------------------------------------------------------- */

/* The sum of the elements of `wide` in the places start + q + k period, or mirrored start - q + k period, for all k, q
 * being the coordinate along a dim of n elements. */
static ip_expr *copies(ip_adjoints *a, ip_stage *wide, int dim, int64_t n, int64_t start, int64_t period,
                       bool is_mirrored)
{
    ip_ir *ir = a->l->ir;
    const int64_t last_place = wide->dims[dim] - 1, least = is_mirrored ? 0 : n - 1, most = is_mirrored ? n - 1 : 0;
    const int64_t first = -ip_floor_div(start + least, period), last = ip_floor_div(last_place - start + most, period);
    const int taps = (int)(last - first + 1), window = ip_x_new_window(ir);
    ip_expr *at[4], *from = i32(a, start + first * period);
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(ir, d, d == dim ? n : wide->dims[d]);
    at[dim] = binary(a, is_mirrored ? IP_X_SUB : IP_X_ADD, from, at[dim]);
    at[dim] = binary(a, IP_X_ADD, at[dim], binary(a, IP_X_MUL, ip_x_tap(ir, window, 1, taps), i32(a, period)));
    ip_expr *x = ip_x_load(ir, wide, at, IMGPAR_BORDER_CONSTANT, ip_x_float(ir, wide->dtype, 0));
    return ip_x_fold_taps(ir, IP_FOLD_SUM, window, 1, taps, x);
}

/* The first and the last element of the dim, as what stands beyond them. */
static ip_stage *edges(ip_adjoints *a, ip_stage *wide, int dim, int64_t before, int64_t behind)
{
    ip_ir *ir = a->l->ir;
    int64_t dims[4];
    memcpy(dims, wide->dims, sizeof dims);
    dims[dim] = 2;
    ip_expr *at[4], *sums[2];
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(ir, d, dims[d]);
    ip_expr *is_last = at[dim];
    for (int k = 0; k < 2; k++) {
        const int64_t taps = k ? behind : before;
        if (taps == 0) {
            sums[k] = ip_x_float(ir, wide->dtype, 0);
            continue;
        }
        const int window = ip_x_new_window(ir);
        ip_expr *first = i32(a, k ? wide->dims[dim] - behind : 0);
        at[dim] = binary(a, IP_X_ADD, ip_x_tap(ir, window, 1, (int)taps), first);
        sums[k] = ip_x_fold_taps(ir, IP_FOLD_SUM, window, 1, (int)taps, ip_adjoint_load(a, wide, at));
    }
    ip_expr *value = ip_x_select(ir, binary(a, IP_X_EQ, is_last, i32(a, 0)), sums[0], sums[1]);
    return ip_adjoint_stage(a, dims, value, "margins of an adjoint");
}

/* wide with its margin along dim added to what stands for it. */
static ip_stage *folded(ip_adjoints *a, ip_stage *wide, int dim, int border, int64_t before, int64_t n)
{
    ip_ir *ir = a->l->ir;
    const int64_t behind = wide->dims[dim] - n - before;
    int64_t dims[4];
    ip_expr *at[4], *value;
    memcpy(dims, wide->dims, sizeof dims);
    dims[dim] = n;
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(ir, d, dims[d]);
    ip_expr *q = at[dim];
    if (border == IMGPAR_BORDER_REPLICATE) {
        ip_stage *ends = edges(a, wide, dim, before, behind);
        at[dim] = binary(a, IP_X_ADD, q, i32(a, before));
        value = ip_adjoint_load(a, wide, at);
        for (int k = 0; k < 2 && ends; k++) {
            at[dim] = i32(a, k);
            ip_expr *is_end = binary(a, IP_X_EQ, q, i32(a, k ? n - 1 : 0));
            value = binary(a, IP_X_ADD, value, where(a, is_end, ip_adjoint_load(a, ends, at)));
        }
        return ip_adjoint_stage(a, dims, value, "adjoint without its margins");
    }
    const bool is_101 = border == IMGPAR_BORDER_REFLECT101;
    const int64_t period = border == IMGPAR_BORDER_WRAP ? n : is_101 ? (n > 1 ? 2 * n - 2 : 1) : 2 * n;
    value = copies(a, wide, dim, n, before, period, false);
    if (border != IMGPAR_BORDER_WRAP && !(is_101 && n == 1)) {
        ip_expr *mirrored = copies(a, wide, dim, n, before - (is_101 ? 0 : 1), period, true);
        if (is_101) { /* the ends are their own mirror images */
            ip_expr *is_end =
                binary(a, IP_X_OR, binary(a, IP_X_EQ, q, i32(a, 0)), binary(a, IP_X_EQ, q, i32(a, n - 1)));
            mirrored = ip_x_select(ir, is_end, zero_of(a, mirrored), mirrored);
        }
        value = binary(a, IP_X_ADD, value, mirrored);
    }
    return ip_adjoint_stage(a, dims, value, "adjoint without its margins");
}

/* The sum of all readings of one border rule. */
static ip_stage *with_margins(ip_adjoints *a, const ip_stage *s, const inverted *v, int n, int border)
{
    ip_ir *ir = a->l->ir;
    int64_t before[4] = { 0 }, dims[4];
    for (int d = 0; d < 4; d++) {
        int64_t behind = 0;
        for (int k = 0; k < n; k++) {
            before[d] = ip_max(before[d], -v[k].places.span[d].lo);
            behind = ip_max(behind, v[k].places.span[d].hi - s->dims[d] + 1);
        }
        dims[d] = before[d] + s->dims[d] + behind;
    }
    ip_expr *q[4], *sum = NULL;
    for (int d = 0; d < 4; d++) {
        q[d] = ip_x_coord(ir, d, dims[d]);
        if (before[d] > 0) q[d] = binary(a, IP_X_SUB, q[d], i32(a, before[d]));
    }
    for (int k = 0; k < n; k++) {
        ip_expr *x = ip_x_cast(ir, ip_x_smooth_dtype(s->dtype), value_at(a, &v[k], dims, q));
        sum = sum ? binary(a, IP_X_ADD, sum, x) : x;
    }
    ip_stage *wide = ip_adjoint_stage(a, dims, sum, "adjoint with margins");
    for (int d = 0; d < 4 && wide; d++)
        if (wide->dims[d] > s->dims[d]) wide = folded(a, wide, d, border, before[d], s->dims[d]);
    return wide;
}

/* ---- anywhere ------------------------------------------------------------------------------------------------- */

/* Taps as parts of coordinate 0, which counts them beside its own. */
typedef struct spreading {
    ip_expr *z, *coord[4];
    const ip_reading *reading;
    ip_expr *taps[IP_ADJOINT_FRAMES][2];
} spreading;

static ip_expr *spread(ip_ir *ir, ip_expr *x, void *user)
{
    const spreading *s = user;
    (void)ir;
    if (x->op == IP_X_COORD) return x->axis == 0 ? s->z : s->coord[x->axis];
    for (int k = 0; x->op == IP_X_TAP && k < s->reading->n_frames; k++)
        if (s->reading->frames[k].window == x->window) return s->taps[k][x->axis];
    return x;
}

static ip_stage *scattered(ip_adjoints *a, const ip_stage *s, const ip_reading *r)
{
    ip_ir *ir = a->l->ir;
    int64_t dims[4], taps = 1;
    memcpy(dims, r->domain, sizeof dims);
    for (int k = 0; k < r->n_frames; k++)
        taps *= (int64_t)r->frames[k].taps_y * r->frames[k].taps_x;
    dims[0] *= taps;
    if (ip_dims_count(dims) > INT32_MAX || ip_dims_count(s->dims) > INT32_MAX) {
        ip_adjoint_fail(a, s, "more than 2147483647 elements that are read anywhere");
        return NULL;
    }
    spreading p = { .reading = r };
    ip_expr *rest = ip_x_coord(ir, 0, dims[0]);
    for (int d = 1; d < 4; d++)
        p.coord[d] = ip_x_coord(ir, d, dims[d]);
    for (int k = 0; k < r->n_frames; k++)
        for (int axis = 0; axis < 2; axis++) {
            ip_expr *n = i32(a, axis ? r->frames[k].taps_x : r->frames[k].taps_y);
            p.taps[k][axis] = binary(a, IP_X_MOD, rest, n);
            rest = binary(a, IP_X_IDIV, rest, n);
        }
    p.z = rest;
    ip_expr *index[4], *inside = NULL;
    for (int d = 0; d < 4; d++) {
        index[d] = r->n_frames ? ip_x_map(ir, r->load->arg[d], spread, &p) : r->load->arg[d];
        if (r->load->border == IMGPAR_BORDER_CONSTANT)
            inside = both(a, inside,
                          is_in(a, (ip_expr *[]){ index[d], i32(a, 0), i32(a, 0), i32(a, 0) },
                                (int64_t[]){ s->dims[d], 1, 1, 1 }));
        else if (r->load->border != IP_BORDER_NONE)
            index[d] = ip_x_border(ir, r->load->border, index[d], i32(a, s->dims[d]));
    }
    ip_expr *number = ip_adjoint_number(a, s->dims, index);
    if (inside) number = ip_x_select(ir, inside, number, i32(a, -1));
    ip_expr *value = r->n_frames ? ip_x_map(ir, r->cotangent, spread, &p) : r->cotangent;
    ip_stage *where_to = ip_adjoint_stage(a, dims, number, "places in an adjoint");
    ip_stage *values = is_at_home(value, dims) ? value->source : ip_adjoint_stage(a, dims, value, "cotangent");
    return where_to && values ? ip_scatter_sum(a->l, s->dims, where_to, values) : NULL;
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

static bool is_own_place(const ip_reading *r, const ip_stage *s)
{
    for (int d = 0; d < 4; d++) {
        const ip_expr *at = r->load->arg[d];
        bool is_zero = at->op == IP_X_CONST && at->i == 0 && s->dims[d] == 1 && r->domain[d] == 1;
        if (!(ip_x_is_coord(at, d) && s->dims[d] == r->domain[d]) && !is_zero) return false;
    }
    return r->n_frames == 0;
}

/* The sum over all of a domain, of an element that all of it reads. */
static ip_expr *sum_over(ip_adjoints *a, const ip_reading *r)
{
    static const int64_t one[4] = { 1, 1, 1, 1 };
    ip_ir *ir = a->l->ir;
    ip_expr *body = within(a, r, r->cotangent);
    ip_stage *sum = ip_stage_new(ir, IP_STAGE_REDUCE, body->dtype, one, a->l->node);
    if (!sum) return body;
    memcpy(sum->over, r->domain, sizeof sum->over);
    sum->body = body;
    sum->reduce = IP_REDUCE_SUM;
    sum->acc_dtype = body->dtype;
    sum->finish = ip_x_acc(ir, 0, body->dtype);
    return ip_adjoint_first(a, sum);
}

static bool is_single(const ip_stage *s, const ip_reading *r)
{
    return ip_dims_count(s->dims) == 1 && r->load->border != IMGPAR_BORDER_CONSTANT && ip_dims_count(r->domain) > 1;
}

static void add(ip_adjoints *a, ip_expr **sum, ip_expr *x, imgpar_dtype dtype)
{
    x = ip_x_cast(a->l->ir, dtype, x);
    *sum = *sum ? binary(a, IP_X_ADD, *sum, x) : x;
}

static int by_border(const ip_reading *r) { return r->load->border < 0 ? -1 : r->load->border; }

static bool reaches_out(const ip_stage *s, const inverted *v)
{
    for (int d = 0; d < 4; d++)
        if (v->places.span[d].lo < 0 || v->places.span[d].hi >= s->dims[d]) return true;
    return false;
}

ip_stage *ip_adjoint_of_readings(ip_adjoints *a, ip_stage *s)
{
    enum { N_BORDERS = IMGPAR_BORDER_CONSTANT + 1 };
    const imgpar_dtype dtype = ip_x_smooth_dtype(s->dtype);
    ip_ir *ir = a->l->ir;
    ip_expr *sum = NULL, *here[4];
    int n = 0, n_with[N_BORDERS] = { 0 };
    for (ip_reading *r = a->readings[s->id]; r; r = r->next)
        n++;
    inverted *all = ip_ir_alloc(ir, (size_t)n * N_BORDERS + 1, sizeof *all);
    if (!all) return NULL;
    for (int d = 0; d < 4; d++)
        here[d] = ip_x_coord(ir, d, s->dims[d]);
    if (a->parts[s->id]) add(a, &sum, ip_adjoint_here(a, a->parts[s->id]), dtype);
    for (ip_reading *r = a->readings[s->id]; r && !ip_adjoint_failed(a); r = r->next) {
        inverted v;
        const int border = by_border(r);
        if (ip_dims_count(r->domain) == 0) continue;
        if (is_own_place(r, s)) {
            add(a, &sum, r->cotangent, dtype);
        } else if (is_single(s, r)) {
            add(a, &sum, sum_over(a, r), dtype);
        } else if (!invert(a, s, r, &v)) {
            ip_stage *anywhere = scattered(a, s, r);
            if (anywhere) add(a, &sum, ip_adjoint_here(a, anywhere), dtype);
        } else if (border < 0 || border == IMGPAR_BORDER_CONSTANT || !reaches_out(s, &v)) {
            add(a, &sum, value_at(a, &v, s->dims, here), dtype);
        } else {
            all[border * n + n_with[border]++] = v;
        }
    }
    for (int border = 0; border < N_BORDERS; border++) {
        if (n_with[border] == 0 || ip_adjoint_failed(a)) continue;
        ip_stage *narrow = with_margins(a, s, all + border * n, n_with[border], border);
        if (narrow) add(a, &sum, ip_adjoint_here(a, narrow), dtype);
    }
    if (ip_adjoint_failed(a)) return NULL;
    if (!sum) sum = ip_x_float(ir, dtype, 0);
    return ip_adjoint_stage(a, s->dims, sum, "adjoint");
}
