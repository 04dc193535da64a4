/* SPDX-License-Identifier: MIT */
/*
 * Index maps as sums of multiples of coordinates, and what a program's text may know of an index. Intervals of the
 * others are index_span.c's.
 */
#include "ir/index_map.h"

#include "base/dtype.h"
#include "base/integers.h"
#include "ir/internal.h"

#include <math.h>
#include <string.h>

ip_box ip_box_of(const int64_t dims[4])
{
    ip_box box;
    for (int k = 0; k < 4; k++)
        box.axis[k] = (ip_span){ 0, ip_max(dims[k], 1) - 1 };
    return box;
}

/* ---- sums of multiples of coordinates ----------------------------------------------------- */

static bool map_scale(ip_index_map *m, int64_t by)
{
    bool fits = ip_scale(&m->first, by) && ip_scale(&m->last, by);
    for (int k = 0; k < 4; k++)
        fits = fits && ip_scale(&m->step[k], by);
    if (by < 0) {
        const int64_t first = m->first;
        m->first = m->last;
        m->last = first;
    }
    return fits;
}

static bool map_add(ip_index_map *a, const ip_index_map *b)
{
    bool fits =
        !__builtin_add_overflow(a->first, b->first, &a->first) && !__builtin_add_overflow(a->last, b->last, &a->last);
    for (int k = 0; k < 4; k++)
        fits = fits && !__builtin_add_overflow(a->step[k], b->step[k], &a->step[k]);
    return fits;
}

bool ip_index_map_add(ip_index_map *a, const ip_index_map *b, int64_t times)
{
    ip_index_map more = *b;
    return map_scale(&more, times) && map_add(a, &more);
}

bool ip_index_map_is_same(const ip_index_map *a, const ip_index_map *b)
{
    return a->kind == b->kind && memcmp(a->step, b->step, sizeof a->step) == 0 && a->first == b->first &&
           a->last == b->last;
}

bool ip_index_map_span(const ip_index_map *map, const ip_box *box, ip_span *span)
{
    *span = (ip_span){ map->first, map->last };
    for (int k = 0; k < 4; k++) {
        int64_t a = box->axis[k].lo, b = box->axis[k].hi;
        if (!ip_scale(&a, map->step[k]) || !ip_scale(&b, map->step[k]) ||
            __builtin_add_overflow(span->lo, ip_min(a, b), &span->lo) ||
            __builtin_add_overflow(span->hi, ip_max(a, b), &span->hi))
            return false;
    }
    return true;
}

static ip_map_kind kind_of(const ip_index_map *map)
{
    int n = 0;
    bool is_unit = true;
    for (int k = 0; k < 4; k++) {
        n += map->step[k] != 0;
        is_unit = is_unit && (map->step[k] == 0 || map->step[k] == 1);
    }
    return n == 0 && map->first == map->last ? IP_MAP_FIXED : n == 1 && is_unit ? IP_MAP_OFFSET : IP_MAP_AFFINE;
}

static bool map_product(ip_index_map *a, const ip_index_map *b)
{
    if (kind_of(b) == IP_MAP_FIXED) return map_scale(a, b->first);
    const int64_t by = a->first;
    if (kind_of(a) != IP_MAP_FIXED) return false;
    *a = *b;
    return map_scale(a, by);
}

static bool affine_of(const ip_expr *x, const ip_box *box, ip_index_map *map);

/* The one of two that is less, or the larger one, all over the box. */
static bool affine_extreme(const ip_expr *x, const ip_box *box, ip_index_map *a, const ip_index_map *b)
{
    ip_index_map less = *a;
    ip_span span;
    if (!ip_index_map_add(&less, b, -1) || !ip_index_map_span(&less, box, &span)) return false;
    if (span.lo < 0 && span.hi > 0) return false;
    if ((x->op == IP_X_MIN) == (span.lo >= 0)) *a = *b;
    return true;
}

/* What lies inside all over the box: there all border rules give the index. */
static bool is_inside(const ip_index_map *index, const ip_index_map *extent, const ip_box *box)
{
    ip_span span, size;
    return ip_index_map_span(index, box, &span) && ip_index_map_span(extent, box, &size) && span.lo >= 0 &&
           span.hi < size.lo;
}

/* x as such a sum, but for its kind. Without a box, wherever it is computed: what wraps in its dtype is then not
 * looked for, but at casts. */
static bool sum_of(const ip_expr *x, const ip_box *box, ip_index_map *map)
{
    ip_index_map b;
    *map = (ip_index_map){ .first = 0 };
    switch (x->op) {
    case IP_X_CONST:
    case IP_X_PARAM: map->first = map->last = x->i; return true;
    case IP_X_TAP:
        map->first = (int64_t)x->lo;
        map->last = (int64_t)x->hi;
        return true;
    case IP_X_COORD: map->step[x->axis] = 1; return true;
    case IP_X_NEG: return affine_of(x->arg[0], box, map) && map_scale(map, -1);
    case IP_X_ADD:
    case IP_X_SUB:
        return affine_of(x->arg[0], box, map) && affine_of(x->arg[1], box, &b) &&
               ip_index_map_add(map, &b, x->op == IP_X_ADD ? 1 : -1);
    case IP_X_MUL: return affine_of(x->arg[0], box, map) && affine_of(x->arg[1], box, &b) && map_product(map, &b);
    case IP_X_MIN:
    case IP_X_MAX:
        return box && affine_of(x->arg[0], box, map) && affine_of(x->arg[1], box, &b) &&
               affine_extreme(x, box, map, &b);
    case IP_X_BORDER:
        return box && affine_of(x->arg[0], box, map) && affine_of(x->arg[1], box, &b) && is_inside(map, &b, box);
    case IP_X_CAST: { /* between whole numbers, of what the new dtype holds */
        const ip_dtype_facts *facts = ip_dtype(x->dtype);
        const ip_expr *a = x->arg[0];
        return x->dtype != IMGPAR_BOOL && (box || (a->lo >= facts->minimum && a->hi <= facts->maximum)) &&
               affine_of(a, box, map);
    }
    default: return false;
    }
}

static bool affine_of(const ip_expr *x, const ip_box *box, ip_index_map *map)
{
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    ip_span span;
    if (facts->is_float || !sum_of(x, box, map)) return false;
    if (!box) return true;
    return ip_index_map_span(map, box, &span) && (double)span.lo >= facts->minimum && (double)span.hi <= facts->maximum;
}

bool ip_index_affine(const ip_expr *index, const ip_box *box, ip_index_map *map)
{
    const bool is_affine = affine_of(index, box, map);
    map->kind = is_affine ? kind_of(map) : IP_MAP_GATHER;
    return is_affine;
}

ip_index_map ip_index_map_of(const ip_expr *index)
{
    const ip_box one = ip_box_of((const int64_t[4]){ 1, 1, 1, 1 });
    ip_index_map map;
    ip_span unused;
    if (ip_index_affine(index, NULL, &map)) return map;
    return (ip_index_map){ .kind = ip_index_span(index, &one, &unused) ? IP_MAP_STEPS : IP_MAP_GATHER };
}

/* ---- what texts know ----------------------------------------------------------------------- */

/* x as a coordinate plus an offset in [lo, hi]; axis -1: no coordinate. False: neither. */
static bool as_offset(const ip_expr *x, int *axis, double *lo, double *hi)
{
    int axis_a, axis_b;
    double lo_a, hi_a, lo_b, hi_b;
    switch (x->op) {
    case IP_X_CONST:
    case IP_X_TAP: *axis = -1, *lo = x->lo, *hi = x->hi; return true;
    case IP_X_COORD: *axis = x->axis, *lo = 0, *hi = 0; return true;
    case IP_X_ADD:
    case IP_X_SUB:
        /* At most one side may hold a coordinate: so each shared expression is visited once. */
        if (x->arg[0]->uses & x->arg[1]->uses & IP_USES_COORDS) return false;
        if (!as_offset(x->arg[0], &axis_a, &lo_a, &hi_a) || !as_offset(x->arg[1], &axis_b, &lo_b, &hi_b)) return false;
        if (axis_b >= 0 && (axis_a >= 0 || x->op == IP_X_SUB)) return false;
        *axis = axis_a >= 0 ? axis_a : axis_b;
        *lo = x->op == IP_X_ADD ? lo_a + lo_b : lo_a - hi_b;
        *hi = x->op == IP_X_ADD ? hi_a + hi_b : hi_a - lo_b;
        return true;
    default: return false;
    }
}

bool ip_reads_own_index(const ip_expr *load, int axis, int64_t extent)
{
    return ip_x_is_coord(load->arg[axis], axis) && load->source->dims[axis] == extent;
}

bool ip_reads_own_element(const ip_expr *load, const int64_t domain[4])
{
    for (int k = 0; k < 4; k++)
        if (!ip_reads_own_index(load, k, domain[k])) return false;
    return true;
}

bool ip_reads_own_channel(const ip_expr *load, int64_t channels)
{
    const ip_expr *channel = load->arg[3];
    bool is_only = channels == 1 && load->source->dims[3] == 1 && channel->op == IP_X_CONST && channel->i == 0;
    return is_only || ip_reads_own_index(load, 3, channels);
}

ip_index ip_x_classify(const ip_expr *x)
{
    ip_index index = { .kind = IP_INDEX_OTHER };
    double lo, hi;
    index.uses_tap = x->uses & IP_USES_TAP;
    if (as_offset(x, &index.axis, &lo, &hi) && fabs(lo) < 1e9 && fabs(hi) < 1e9) {
        index.lo = (int)lo;
        index.hi = (int)hi;
        if (index.axis >= 0)
            index.kind = IP_INDEX_UNIT;
        else if (!index.uses_tap)
            index.kind = IP_INDEX_FIXED;
    } else if (!(x->uses & (IP_USES_COORDS | IP_USES_TAP))) {
        index.kind = IP_INDEX_FIXED;
    }
    return index;
}

ip_expr *ip_x_offset_from(ip_ir *ir, ip_expr *x, int axis)
{
    if (ip_x_is_coord(x, axis)) return ip_x_int(ir, IMGPAR_I32, 0);
    if (x->op != IP_X_ADD && x->op != IP_X_SUB) return NULL;
    for (int side = 0; side < (x->op == IP_X_ADD ? 2 : 1); side++) {
        ip_expr *other = x->arg[1 - side];
        if (!ip_x_is_uniform(other)) continue;
        ip_expr *rest = ip_x_offset_from(ir, x->arg[side], axis);
        if (rest) return ip_x_binary(ir, x->op, rest, other);
    }
    return NULL;
}

int64_t ip_x_step(const ip_expr *column)
{
    if (column->op == IP_X_ADD && (column->arg[1]->op == IP_X_CONST || column->arg[1]->op == IP_X_PARAM))
        column = column->arg[0];
    bool is_multiple = column->op == IP_X_MUL && ip_x_is_coord(column->arg[0], 2);
    return is_multiple && column->arg[1]->op == IP_X_CONST ? column->arg[1]->i : 0;
}

const ip_expr *ip_x_cast_from(const ip_expr *x, const ip_expr *stop)
{
    while (x != stop && x->op == IP_X_CAST && !ip_dtype(x->arg[0]->dtype)->is_float)
        x = x->arg[0];
    return x;
}

int64_t ip_x_divisor(const ip_expr *column)
{
    column = ip_x_cast_from(column, NULL);
    bool is_quotient = column->op == IP_X_IDIV && ip_x_is_coord(ip_x_cast_from(column->arg[0], NULL), 2);
    return is_quotient && column->arg[1]->op == IP_X_CONST ? column->arg[1]->i : 0;
}
