/* SPDX-License-Identifier: MIT */
/*
 * The inverse of index maps on boxes: interval arithmetic on what indices are made of.
 *
 * Note [Exact intervals]
 * Interval arithmetic is exact as long as its operands are independent. Where they share a coordinate, it is not:
 *   - sums of multiples of coordinates are collected first (ip_index_affine()), so that x - y + 2 x is 3 x - y;
 *   - a - (a div d) d, which is how a remainder by an argument is written (ops/view.c, Note [Dividing by an argument]),
 *     is known as the remainder that it is;
 *   - a choice by a comparison, as in circshift, is made for both sides of where the comparison changes: the box is cut
 *     there.
 * Operations of floats are monotone with their rounding, so what they give at the ends bounds what they give between.
 */
#include "ir/index_map.h"

#include "base/dtype.h"
#include "base/integers.h"
#include "ir/internal.h"

#include <float.h>
#include <math.h>

enum {
    MOST_VISITS = 4000, /* of expressions for one index: beyond that it is taken for a gather */
    MOST_CUTS = 6       /* of a box, one within the other */
};

typedef struct value {
    bool is_float;
    ip_span i;
    double lo, hi; /* of floats */
} value;

typedef struct looking {
    const ip_box *box;
    int *visits;
    bool is_host; /* what the host's arithmetic gives is wanted, not what any device's may */
} looking;

static bool value_of(looking *l, const ip_expr *x, value *v);

static ip_span hull(ip_span a, ip_span b) { return (ip_span){ ip_min(a.lo, b.lo), ip_max(a.hi, b.hi) }; }
static bool is_point(const value *v) { return v->is_float ? v->lo == v->hi : v->i.lo == v->i.hi; }
static bool is_number(const ip_expr *x) { return (x->op == IP_X_CONST || x->op == IP_X_PARAM) && !ip_x_is_float(x); }

/* ---- whole numbers ------------------------------------------------------------------------- */

static ip_span remainder_of(ip_span a, int64_t by)
{
    if (ip_floor_div(a.lo, by) != ip_floor_div(a.hi, by)) return (ip_span){ 0, by - 1 };
    int64_t whole = ip_floor_div(a.lo, by) * by;
    return (ip_span){ a.lo - whole, a.hi - whole };
}

static bool products(ip_span a, ip_span b, ip_span *r)
{
    const int64_t x[4] = { a.lo, a.lo, a.hi, a.hi }, y[4] = { b.lo, b.hi, b.lo, b.hi };
    for (int k = 0; k < 4; k++) {
        int64_t p = x[k];
        if (!ip_scale(&p, y[k])) return false;
        *r = k == 0 ? (ip_span){ p, p } : hull(*r, (ip_span){ p, p });
    }
    return true;
}

/* Whether q is a div by, as a division or as a product and a shift: ops/view.c, Note [Dividing by an argument]. */
static bool is_quotient(const ip_expr *q, const ip_expr *a, ip_span of_a, int64_t by)
{
    enum { MOST_BITS = 62 };
    q = ip_x_cast_from(q, NULL);
    if (q->op == IP_X_IDIV) return q->arg[0] == a && is_number(q->arg[1]) && q->arg[1]->i == by;
    if (q->op != IP_X_SHR || q->arg[0]->op != IP_X_MUL) return false;
    const ip_expr *x = ip_x_cast_from(q->arg[0]->arg[0], a), *m = ip_x_cast_from(q->arg[0]->arg[1], NULL),
                  *count = ip_x_cast_from(q->arg[1], NULL), *of = ip_x_cast_from(a, x);
    if (x != of || of_a.lo < 0 || of_a.hi > INT32_MAX || !is_number(m) || !is_number(count) || count->i < 0 ||
        count->i > MOST_BITS)
        return false;
    return m->i == ip_ceil_div((int64_t)1 << count->i, by);
}

/* a - (a div d) d, of a positive d. */
static bool as_remainder(looking *l, const ip_expr *x, ip_span *span)
{
    const ip_expr *product = x->arg[1];
    value a;
    if (x->op != IP_X_SUB || product->op != IP_X_MUL || !value_of(l, x->arg[0], &a) || a.is_float) return false;
    for (int k = 0; k < 2; k++) {
        const ip_expr *d = ip_x_cast_from(product->arg[k], NULL);
        if (!is_number(d) || d->i < 1 || !is_quotient(product->arg[1 - k], x->arg[0], a.i, d->i)) continue;
        *span = remainder_of(a.i, d->i);
        return true;
    }
    return false;
}

static bool sum_span(looking *l, const ip_expr *x, ip_span a, ip_span b, ip_span *r)
{
    ip_index_map map;
    if (x->arg[0]->uses & x->arg[1]->uses & IP_USES_COORDS) {
        if (as_remainder(l, x, r)) return true;
        if (ip_index_affine(x, NULL, &map)) return ip_index_map_span(&map, l->box, r);
    }
    if (x->op == IP_X_SUB) b = (ip_span){ -b.hi, -b.lo };
    return !__builtin_add_overflow(a.lo, b.lo, &r->lo) && !__builtin_add_overflow(a.hi, b.hi, &r->hi);
}

/* Of two BOOLs that may each be known. */
static bool logic_span(ip_xop op, ip_span a, ip_span b, ip_span *r)
{
    if (op == IP_X_AND)
        *r = (ip_span){ ip_min(a.lo, b.lo), ip_min(a.hi, b.hi) };
    else if (op == IP_X_OR)
        *r = (ip_span){ ip_max(a.lo, b.lo), ip_max(a.hi, b.hi) };
    return op == IP_X_AND || op == IP_X_OR;
}

static ip_span known(bool is_true, bool is_false)
{
    return is_true ? (ip_span){ 1, 1 } : is_false ? (ip_span){ 0, 0 } : (ip_span){ 0, 1 };
}

static bool whole_binary(looking *l, const ip_expr *x, ip_span a, ip_span b, ip_span *r)
{
    enum { MOST_SHIFT = 62 };
    switch (x->op) {
    case IP_X_ADD:
    case IP_X_SUB: return sum_span(l, x, a, b, r);
    case IP_X_MUL: return products(a, b, r);
    case IP_X_IDIV:
        *r = (ip_span){ b.lo > 0 ? ip_floor_div(a.lo, b.lo) : 0, b.lo > 0 ? ip_floor_div(a.hi, b.lo) : 0 };
        return b.lo > 0 && b.lo == b.hi;
    case IP_X_MOD: *r = b.lo > 0 ? remainder_of(a, b.lo) : a; return b.lo > 0 && b.lo == b.hi;
    case IP_X_SHR:
        *r = b.lo >= 0 && b.lo <= MOST_SHIFT ? (ip_span){ a.lo >> b.lo, a.hi >> b.lo } : a;
        return b.lo >= 0 && b.lo <= MOST_SHIFT && b.lo == b.hi;
    case IP_X_SHL:
        *r = a;
        return b.lo >= 0 && b.lo < MOST_SHIFT && b.lo == b.hi && ip_scale(&r->lo, (int64_t)1 << b.lo) &&
               ip_scale(&r->hi, (int64_t)1 << b.lo);
    case IP_X_MIN: *r = (ip_span){ ip_min(a.lo, b.lo), ip_min(a.hi, b.hi) }; return true;
    case IP_X_MAX: *r = (ip_span){ ip_max(a.lo, b.lo), ip_max(a.hi, b.hi) }; return true;
    case IP_X_LT: *r = known(a.hi < b.lo, a.lo >= b.hi); return true;
    case IP_X_LE: *r = known(a.hi <= b.lo, a.lo > b.hi); return true;
    case IP_X_EQ: *r = known(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo); return true;
    case IP_X_NE: *r = known(a.hi < b.lo || b.hi < a.lo, a.lo == a.hi && b.lo == b.hi && a.lo == b.lo); return true;
    default: return x->dtype == IMGPAR_BOOL && logic_span(x->op, a, b, r);
    }
}

/* ---- floats -------------------------------------------------------------------------------- */

static double rounded(const ip_expr *x, double v) { return x->dtype == IMGPAR_F32 ? (double)(float)v : v; }

/* Divisions are as devices do them; a product and a sum in one are rounded twice here. */
static void widen(const ip_expr *x, value *v)
{
    double by = x->dtype == IMGPAR_F32 ? 4 * (double)FLT_EPSILON : 4 * DBL_EPSILON;
    v->lo -= fabs(v->lo) * by;
    v->hi += fabs(v->hi) * by;
}

static void float_ends(const ip_expr *x, const double *ends, int n, value *v)
{
    *v = (value){ .is_float = true, .lo = INFINITY, .hi = -INFINITY };
    for (int k = 0; k < n; k++) {
        v->lo = fmin(v->lo, rounded(x, ends[k]));
        v->hi = fmax(v->hi, rounded(x, ends[k]));
    }
}

static bool float_binary(const looking *l, const ip_expr *x, const value *a, const value *b, value *v)
{
    const double p[2] = { a->lo, a->hi }, q[2] = { b->lo, b->hi };
    double ends[4];
    if (x->dtype == IMGPAR_BOOL) {
        *v = (value){ .i = { 0, 1 } };
        if (x->op == IP_X_LT)
            v->i = known(a->hi < b->lo, a->lo >= b->hi);
        else if (x->op == IP_X_LE)
            v->i = known(a->hi <= b->lo, a->lo > b->hi);
        return true;
    }
    for (int k = 0; k < 4; k++) {
        double c = p[k & 1], d = q[k >> 1];
        switch (x->op) {
        case IP_X_ADD: ends[k] = c + d; break;
        case IP_X_SUB: ends[k] = c - d; break;
        case IP_X_MUL: ends[k] = c * d; break;
        case IP_X_MIN: ends[k] = fmin(c, d); break;
        case IP_X_MAX: ends[k] = fmax(c, d); break;
        case IP_X_DIV: ends[k] = c / d; break;
        default: return false;
        }
    }
    float_ends(x, ends, 4, v);
    if (x->op == IP_X_DIV && !l->is_host) widen(x, v);
    return x->op != IP_X_DIV || b->lo > 0 || b->hi < 0;
}

static bool float_unary(const ip_expr *x, const value *a, value *v)
{
    double lo = a->lo, hi = a->hi;
    switch (x->op) {
    case IP_X_NEG: lo = -a->hi, hi = -a->lo; break;
    case IP_X_FLOOR: lo = floor(lo), hi = floor(hi); break;
    case IP_X_CEIL: lo = ceil(lo), hi = ceil(hi); break;
    case IP_X_RINT: lo = rint(lo), hi = rint(hi); break;
    case IP_X_TRUNC: lo = trunc(lo), hi = trunc(hi); break;
    default: return false;
    }
    *v = (value){ .is_float = true, .lo = lo, .hi = hi };
    return true;
}

static bool fma_span(looking *l, const ip_expr *x, value *v)
{
    value a, b, c;
    if (!value_of(l, x->arg[0], &a) || !value_of(l, x->arg[1], &b) || !value_of(l, x->arg[2], &c)) return false;
    const double ends[8] = { a.lo * b.lo + c.lo, a.lo * b.hi + c.lo, a.hi * b.lo + c.lo, a.hi * b.hi + c.lo,
                             a.lo * b.lo + c.hi, a.lo * b.hi + c.hi, a.hi * b.lo + c.hi, a.hi * b.hi + c.hi };
    float_ends(x, ends, 8, v);
    double size = fmax(fmax(fabs(a.lo), fabs(a.hi)) * fmax(fabs(b.lo), fabs(b.hi)), fmax(fabs(c.lo), fabs(c.hi)));
    double by = size * (x->dtype == IMGPAR_F32 ? 4 * (double)FLT_EPSILON : 4 * DBL_EPSILON);
    v->lo -= by;
    v->hi += by;
    return true;
}

/* ---- conversions, tables, borders, choices --------------------------------------------------- */

static bool converted(const ip_expr *x, const value *a, value *v)
{
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    bool saturates = x->op == IP_X_SATURATE;
    if (x->dtype == IMGPAR_BOOL) return false;
    if (facts->is_float) {
        const double ends[2] = { a->is_float ? a->lo : (double)a->i.lo, a->is_float ? a->hi : (double)a->i.hi };
        float_ends(x, ends, 2, v);
        return true;
    }
    *v = (value){ .i = a->i };
    if (a->is_float) {
        double lo = saturates ? rint(a->lo) : trunc(a->lo), hi = saturates ? rint(a->hi) : trunc(a->hi);
        if (saturates)
            lo = fmin(fmax(lo, facts->minimum), facts->maximum), hi = fmin(fmax(hi, facts->minimum), facts->maximum);
        if (!(fabs(lo) < 0x1p62 && fabs(hi) < 0x1p62)) return false;
        v->i = (ip_span){ (int64_t)lo, (int64_t)hi };
    } else if (saturates) {
        if (fabs(facts->maximum) >= 0x1p53) return false;
        v->i = (ip_span){ ip_clamp(a->i.lo, (int64_t)facts->minimum, (int64_t)facts->maximum),
                          ip_clamp(a->i.hi, (int64_t)facts->minimum, (int64_t)facts->maximum) };
    }
    return true;
}

/* What a table of positions has in a part of it. */
static bool table_span(looking *l, const ip_expr *load, ip_span *span)
{
    const ip_stage *s = load->source;
    const int32_t *table = s->table;
    value at;
    if (s->kind != IP_STAGE_TABLE || s->dtype != IMGPAR_I32 || s->dims[2] < 1 || !value_of(l, load->arg[2], &at) ||
        at.is_float)
        return false;
    int64_t lo = ip_clamp(at.i.lo, 0, s->dims[2] - 1), hi = ip_clamp(at.i.hi, 0, s->dims[2] - 1);
    *span = hull((ip_span){ table[lo], table[lo] }, (ip_span){ table[hi], table[hi] });
    for (int64_t k = lo; k < hi && !s->is_rising; k++)
        *span = hull(*span, (ip_span){ table[k], table[k] });
    return true;
}

static int64_t inside(int border, int64_t index, int64_t n)
{
    int64_t period = border == IMGPAR_BORDER_WRAP ? n : border == IMGPAR_BORDER_REFLECT ? 2 * n : 2 * n - 2;
    if (border != IMGPAR_BORDER_WRAP && border != IMGPAR_BORDER_REFLECT && border != IMGPAR_BORDER_REFLECT101)
        return ip_clamp(index, 0, n - 1);
    if (n == 1) return 0;
    int64_t m = index - ip_floor_div(index, period) * period;
    return m < n ? m : border == IMGPAR_BORDER_REFLECT ? 2 * n - 1 - m : 2 * n - 2 - m;
}

ip_span ip_border_span(int border, ip_span span, int64_t extent)
{
    if (span.lo >= 0 && span.hi < extent) return span;
    bool turns = border == IMGPAR_BORDER_WRAP || border == IMGPAR_BORDER_REFLECT || border == IMGPAR_BORDER_REFLECT101;
    if (turns && span.hi - span.lo >= 2 * extent) return (ip_span){ 0, extent - 1 };
    int64_t first = inside(border, span.lo, extent), last = inside(border, span.hi, extent);
    ip_span r = { ip_min(first, last), ip_max(first, last) };
    int64_t every = border == IMGPAR_BORDER_REFLECT101 ? ip_max(extent - 1, 1) : extent;
    for (int64_t at = -ip_floor_div(-span.lo, every) * every; turns && at <= span.hi;
         at += every) { /* where the pattern turns or begins again */
        int64_t behind = inside(border, at, extent), before = at > span.lo ? inside(border, at - 1, extent) : behind;
        r = hull(r, (ip_span){ ip_min(before, behind), ip_max(before, behind) });
    }
    return r;
}

static bool choice(looking *l, const ip_expr *x, value *v)
{
    value c, b;
    if (!value_of(l, x->arg[0], &c) || c.is_float) return false;
    if (c.i.lo == c.i.hi) return value_of(l, x->arg[c.i.lo ? 1 : 2], v);
    if (!value_of(l, x->arg[1], v) || !value_of(l, x->arg[2], &b) || v->is_float != b.is_float) return false;
    v->i = hull(v->i, b.i);
    v->lo = fmin(v->lo, b.lo);
    v->hi = fmax(v->hi, b.hi);
    return true;
}

static bool computed(looking *l, const ip_expr *x, value *v)
{
    value a, b;
    if (x->n_args < 1 || x->n_args > 2 || !value_of(l, x->arg[0], &a) ||
        (x->n_args == 2 && !value_of(l, x->arg[1], &b)))
        return false;
    *v = (value){ .is_float = false };
    if (x->op == IP_X_CAST || x->op == IP_X_SATURATE) return converted(x, &a, v);
    if (x->op == IP_X_BORDER) {
        v->i = b.i.lo == b.i.hi && b.i.lo > 0 ? ip_border_span(x->border, a.i, b.i.lo) : a.i;
        return !a.is_float && !b.is_float && b.i.lo == b.i.hi && b.i.lo > 0;
    }
    if (x->n_args == 1 && a.is_float) return float_unary(x, &a, v);
    if (x->n_args == 1) {
        bool negates = x->op == IP_X_NEG, is_not = x->op == IP_X_NOT && x->dtype == IMGPAR_BOOL;
        v->i = negates ? (ip_span){ -a.i.hi, -a.i.lo } : (ip_span){ 1 - a.i.hi, 1 - a.i.lo };
        return negates || is_not;
    }
    if (a.is_float != b.is_float) return false;
    return a.is_float ? float_binary(l, x, &a, &b, v) : whole_binary(l, x, a.i, b.i, &v->i);
}

/* What wraps in its dtype is not known; what the range of x excludes does not occur. */
static bool is_sound(const ip_expr *x, value *v)
{
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    if (v->is_float) return isfinite(v->lo) && isfinite(v->hi);
    if ((double)v->i.lo < facts->minimum || (double)v->i.hi > facts->maximum) return false;
    if (x->lo > (double)v->i.lo && x->lo <= (double)v->i.hi && fabs(x->lo) < 0x1p53) v->i.lo = (int64_t)x->lo;
    if (x->hi < (double)v->i.hi && x->hi >= (double)v->i.lo && fabs(x->hi) < 0x1p53) v->i.hi = (int64_t)x->hi;
    return true;
}

static bool value_of(looking *l, const ip_expr *x, value *v)
{
    if (++*l->visits > MOST_VISITS) return false;
    *v = (value){ .is_float = ip_x_is_float(x) };
    switch (x->op) {
    case IP_X_CONST:
    case IP_X_PARAM:
        v->i = (ip_span){ x->i, x->i };
        v->lo = v->hi = x->f;
        return v->is_float ? isfinite(x->f) : x->dtype != IMGPAR_U64 || x->i >= 0;
    case IP_X_COORD: v->i = l->box->axis[x->axis]; return true;
    case IP_X_TAP: v->i = (ip_span){ (int64_t)x->lo, (int64_t)x->hi }; return true;
    case IP_X_LOAD: return !v->is_float && table_span(l, x, &v->i);
    case IP_X_SELECT: return choice(l, x, v) && is_sound(x, v);
    case IP_X_FMA: return v->is_float && fma_span(l, x, v) && is_sound(x, v);
    default: return computed(l, x, v) && is_sound(x, v);
    }
}

/* ---- cutting boxes at choices ------------------------------------------------------------------ */

/* Whether condition is known where the coordinate along axis is `at`; then *is_true says which. */
static bool known_at(looking *l, const ip_expr *condition, int axis, int64_t at, bool *is_true)
{
    ip_box box = *l->box;
    box.axis[axis] = (ip_span){ at, at };
    looking there = { &box, l->visits, l->is_host };
    value v;
    if (!value_of(&there, condition, &v) || !is_point(&v)) return false;
    *is_true = v.i.lo != 0;
    return true;
}

/* Where a comparison that depends on one coordinate changes: it is one thing before *at, and another from there on. */
static bool find_change(looking *l, const ip_expr *condition, int *axis, int64_t *at)
{
    unsigned uses = condition->uses & (IP_USES_COORDS | IP_USES_TAP);
    bool first, last, middle;
    for (*axis = 0; *axis < 4 && uses != 1u << *axis; ++*axis)
        ;
    if (*axis == 4) return false;
    int64_t lo = l->box->axis[*axis].lo, hi = l->box->axis[*axis].hi;
    if (!known_at(l, condition, *axis, lo, &first) || !known_at(l, condition, *axis, hi, &last) || first == last)
        return false;
    while (hi - lo > 1) {
        int64_t half = lo + (hi - lo) / 2;
        if (!known_at(l, condition, *axis, half, &middle)) return false;
        *(middle == first ? &lo : &hi) = half;
    }
    *at = hi;
    return true;
}

/* A change of a choice below x that the box does not decide. */
static bool find_cut(looking *l, const ip_expr *x, int *axis, int64_t *at)
{
    if (++*l->visits > MOST_VISITS || !(x->uses & IP_USES_COORDS)) return false;
    if ((x->op == IP_X_LT || x->op == IP_X_LE) && find_change(l, x, axis, at)) return true;
    for (int k = 0; k < x->n_args; k++)
        if (find_cut(l, x->arg[k], axis, at)) return true;
    return false;
}

static bool has_choice(const ip_expr *x, int *visits)
{
    bool has = x->op == IP_X_SELECT;
    if (++*visits > MOST_VISITS) return false;
    for (int k = 0; k < x->n_args && !has && x->uses & IP_USES_COORDS; k++)
        has = has_choice(x->arg[k], visits);
    return has;
}

static bool span_of(const ip_expr *index, const ip_box *box, int *visits, int n_cuts, ip_span *span)
{
    looking l = { box, visits, false };
    value v;
    int axis;
    int64_t at;
    if (n_cuts < MOST_CUTS && find_cut(&l, index, &axis, &at)) {
        ip_box before = *box, behind = *box;
        ip_span other;
        before.axis[axis].hi = at - 1;
        behind.axis[axis].lo = at;
        if (!span_of(index, &before, visits, n_cuts + 1, span) || !span_of(index, &behind, visits, n_cuts + 1, &other))
            return false;
        *span = hull(*span, other);
        return true;
    }
    if (!value_of(&l, index, &v) || v.is_float) return false;
    *span = v.i;
    return true;
}

bool ip_index_span(const ip_expr *index, const ip_box *box, ip_span *span)
{
    int visits = 0, looked = 0;
    return span_of(index, box, &visits, has_choice(index, &looked) ? 0 : MOST_CUTS, span);
}

bool ip_index_number(const ip_expr *x, const int64_t place[4], double *number)
{
    ip_box box;
    int visits = 0;
    value v;
    for (int k = 0; k < 4; k++)
        box.axis[k] = (ip_span){ place[k], place[k] };
    if (!value_of(&(looking){ &box, &visits, true }, x, &v) || !is_point(&v)) return false;
    *number = v.is_float ? v.lo : (double)v.i.lo;
    return true;
}
