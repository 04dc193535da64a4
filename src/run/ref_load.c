/* SPDX-License-Identifier: MIT */
/* Reading and writing elements: border rules, stored dtypes, and loads of a block. */
#include "run/ref_impl.h"

#include "base/dtype.h"

#include <string.h>

int ip_ref_size_log2(imgpar_dtype dtype)
{
    const unsigned size_bytes = ip_dtype(dtype)->size_bytes;
    return size_bytes == 8 ? 3 : size_bytes == 4 ? 2 : size_bytes == 2 ? 1 : 0;
}

/* i mod n, never negative; n > 0. */
static int64_t modulo(int64_t i, int64_t n)
{
    int64_t m = i % n;
    return m < 0 ? m + n : m;
}

int64_t ip_ref_border(int border, int64_t index, int64_t extent)
{
    int64_t m;
    if (extent <= 0) return 0;
    if (index >= 0 && index < extent) return index;
    switch (border) {
    case IMGPAR_BORDER_REFLECT: m = modulo(index, 2 * extent); return m < extent ? m : 2 * extent - 1 - m;
    case IMGPAR_BORDER_REFLECT101:
        if (extent == 1) return 0;
        m = modulo(index, 2 * extent - 2);
        return m < extent ? m : 2 * extent - 2 - m;
    case IMGPAR_BORDER_WRAP: return modulo(index, extent);
    default: return index < 0 ? 0 : extent - 1;
    }
}

/* ---- elements -------------------------------------------------------------------------- */

/* Elements as they are stored are values as they are computed. */
static bool is_plain(imgpar_dtype dtype) { return dtype != IMGPAR_F16 && dtype != IMGPAR_BOOL; }

/* Memory is what users and decoders gave us: it may not be aligned. */
void ip_ref_fetch(imgpar_dtype dtype, const void *from, int n, void *to)
{
    const unsigned char *bytes = from;
    float *numbers = to;
    if (is_plain(dtype)) memcpy(to, from, (size_t)n * ip_dtype(dtype)->size_bytes);
    if (dtype == IMGPAR_BOOL) ip_ref_loops_here()->cast[IMGPAR_BOOL][IMGPAR_U8](n, to, from, NULL, NULL);
    for (int k = 0; dtype == IMGPAR_F16 && k < n; k++) {
        uint16_t half;
        memcpy(&half, bytes + 2 * (size_t)k, sizeof half);
        numbers[k] = ip_float_from_half(half);
    }
}

void ip_ref_store(imgpar_dtype dtype, const void *from, int n, void *to)
{
    const float *numbers = from;
    if (dtype != IMGPAR_F16) memcpy(to, from, (size_t)n * ip_dtype(dtype)->size_bytes);
    for (int k = 0; dtype == IMGPAR_F16 && k < n; k++) {
        const uint16_t half = ip_half_from_float(numbers[k]);
        memcpy((unsigned char *)to + 2 * (size_t)k, &half, sizeof half);
    }
}

/* ---- indices ------------------------------------------------------------------------------ */

static bool is_inside(int64_t index, int64_t extent) { return index >= 0 && index < extent; }

/* What all of a load has in common. */
typedef struct loading {
    ip_ref_program *p;
    const ip_ref_instr *instr;
    const ip_ref_place *place;
    const ip_stage *source;
    int border, n;        /* values */
    int size, value_size; /* bytes of an element as stored, of a value */
    unsigned char *to;
    const unsigned char *outside; /* values; NULL: zeros */
} loading;

static const void *values_of(const loading *l, int axis) { return l->p->at[l->instr->arg[l->instr->index[axis].arg]]; }

/* The index along an axis: of all elements, or of the first. */
static int64_t index_of(const loading *l, int axis)
{
    const ip_ref_index *index = &l->instr->index[axis];
    const int64_t channels = l->p->domain[3], first = l->place->first;
    if (index->arg >= 0) return *(const int32_t *)values_of(l, axis);
    if (index->axis < 0) return index->by;
    const int64_t coords[4] = { l->place->z, l->place->y, first / channels, first % channels };
    return coords[index->axis] + index->by;
}

/* Where row y of plane z stands. */
static const unsigned char *row_at(const loading *l, int64_t z, int64_t y)
{
    const int64_t *dims = l->source->dims, row = l->instr->n_rows ? y % l->instr->n_rows : z * dims[1] + y;
    return (const unsigned char *)l->instr->memory + row * dims[2] * dims[3] * l->size;
}

static bool has_rule(const loading *l) { return l->border != IP_BORDER_NONE && l->border != IMGPAR_BORDER_CONSTANT; }

/* Where the border rule reads; -1: nowhere. */
static int64_t line_index(const loading *l, int64_t index, int64_t extent)
{
    if (is_inside(index, extent)) return index;
    return has_rule(l) && extent > 0 ? ip_ref_border(l->border, index, extent) : -1;
}

/* Values from..to - 1 are outside. */
static void load_outside(const loading *l, int from, int to)
{
    const size_t at = (size_t)from * (size_t)l->value_size, size_bytes = (size_t)(to - from) * (size_t)l->value_size;
    if (from >= to) return;
    if (l->outside)
        memcpy(l->to + at, l->outside + at, size_bytes);
    else
        memset(l->to + at, 0, size_bytes);
    if (l->border == IP_BORDER_NONE) l->p->bad_source = l->source->id;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Part of a row of the source: value k is element first + k * step, `at` counting from the row's first column. */
typedef struct run {
    const unsigned char *row;
    int64_t channels, at; /* elements side by side that are read of a column; the first value's, in these */
    int64_t n;            /* of the row, in these */
    int step;             /* elements from one value to the next */
} run;

static void load_edge(const loading *l, const run *r, int from, int to)
{
    for (int k = from; k < to; k++) {
        const int64_t at = r->at + k, channel = modulo(at, r->channels), columns = r->n / r->channels;
        const int64_t column = line_index(l, (at - channel) / r->channels, columns);
        if (column < 0)
            load_outside(l, k, k + 1);
        else
            ip_ref_fetch(l->source->dtype, r->row + (column * r->channels + channel) * r->step * l->size, 1,
                         l->to + (size_t)k * (size_t)l->value_size);
    }
}

static bool is_aligned(const void *p, int size) { return (uintptr_t)p % (size_t)size == 0; }

/* Values from..to - 1, which are within the row. */
static void load_inside(const loading *l, const run *r, int from, int to)
{
    const unsigned char *first = r->row + (r->at + from) * r->step * l->size;
    unsigned char *values = l->to + (size_t)from * (size_t)l->value_size;
    if (r->step == 1) {
        ip_ref_fetch(l->source->dtype, first, to - from, values);
    } else if (is_aligned(first, l->size)) {
        void *raw = is_plain(l->source->dtype) ? values : l->p->raw;
        l->p->loops->stride[ip_ref_size_log2(l->source->dtype)](to - from, r->step, raw, first);
        if (raw != values) ip_ref_fetch(l->source->dtype, raw, to - from, values);
    } else {
        load_edge(l, r, from, to);
    }
}

static bool find_run(const loading *l, run *r)
{
    const int64_t *dims = l->source->dims;
    const bool is_stride = l->instr->reading == IP_REF_STRIDE;
    const int64_t z = line_index(l, index_of(l, 0), dims[0]), y = line_index(l, index_of(l, 1), dims[1]),
                  c = line_index(l, index_of(l, 3), dims[3]);
    if (z < 0 || y < 0 || c < 0) return false;
    r->channels = is_stride ? 1 : dims[3];
    r->n = dims[2] * r->channels;
    r->at = index_of(l, 2) * r->channels + (is_stride ? 0 : c);
    r->step = is_stride ? (int)dims[3] : 1;
    r->row = row_at(l, z, y) + (is_stride ? c * l->size : 0);
    return true;
}

static void load_row(const loading *l)
{
    run r;
    if (!find_run(l, &r)) {
        load_outside(l, 0, l->n);
        return;
    }
    const int64_t from = r.at < 0 ? -r.at : 0, to = r.n - r.at < l->n ? r.n - r.at : l->n;
    const int lo = from < l->n ? (int)from : l->n, hi = to > lo ? (int)to : lo;
    const bool is_all = lo == 0 && hi == l->n && r.step == 1 && is_plain(l->source->dtype);
    if (is_all && is_aligned(r.row + r.at * l->size, l->size)) {
        l->p->at[l->instr->slot] = r.row + r.at * l->size; /* where they stand */
        return;
    }
    load_edge(l, &r, 0, lo);
    if (lo < hi) load_inside(l, &r, lo, hi);
    load_edge(l, &r, hi, l->n);
}

/* ---- gathers ------------------------------------------------------------------------------------ */

/* Elements by one offset each: base + offsets[k], and so many channels from there. */
typedef struct gather {
    const unsigned char *base;
    int n, channels;
    bool has_offsets, has_outside;
} gather;

/* Adds an axis of which each element has its own index. */
static void add_indices(const loading *l, gather *g, int axis, int64_t step)
{
    const int32_t extent = (int32_t)l->source->dims[axis], *index = values_of(l, axis);
    ip_ref_program *p = l->p;
    if (has_rule(l) && l->border != IMGPAR_BORDER_REPLICATE) {
        for (int k = 0; k < g->n; k++)
            p->mapped[k] = (int32_t)ip_ref_border(l->border, index[k], extent);
        index = p->mapped;
    }
    const bool some_outside = p->loops->offsets(g->n, p->offsets, index, extent, (int32_t)step, !g->has_offsets);
    g->has_offsets = true;
    if (!some_outside || has_rule(l)) return;
    if (!g->has_outside) memset(p->outside, 0, (size_t)g->n);
    p->loops->outside(g->n, p->outside, index, extent);
    g->has_outside = true;
}

/* False: all of them are outside. */
static bool find_gather(const loading *l, gather *g)
{
    const int64_t *dims = l->source->dims, steps[4] = { dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1 };
    const bool is_in_row = l->instr->index[0].is_once && l->instr->index[1].is_once;
    if (is_in_row) {
        const int64_t z = line_index(l, index_of(l, 0), dims[0]), y = line_index(l, index_of(l, 1), dims[1]);
        if (z < 0 || y < 0) return false;
        g->base = row_at(l, z, y);
    }
    for (int axis = is_in_row ? 2 : 0; axis < 4; axis++) {
        if (axis == 3 && l->instr->reading == IP_REF_WHOLE) break;
        if (!l->instr->index[axis].is_once) {
            add_indices(l, g, axis, steps[axis]);
            continue;
        }
        const int64_t index = line_index(l, index_of(l, axis), dims[axis]);
        if (index < 0) return false;
        g->base += index * steps[axis] * l->size;
    }
    return true;
}

static void patch_outside(const loading *l, const gather *g)
{
    for (int k = 0; k < g->n; k++)
        if (l->p->outside[k]) load_outside(l, k * g->channels, (k + 1) * g->channels);
}

static void load_gathered(const loading *l)
{
    const bool is_whole = l->instr->reading == IP_REF_WHOLE;
    const int channels = is_whole ? (int)l->p->domain[3] : 1;
    const imgpar_dtype dtype = l->source->dtype;
    gather g = { .base = l->instr->memory, .n = l->n / channels, .channels = channels };
    if (!find_gather(l, &g)) {
        load_outside(l, 0, l->n);
        return;
    }
    if (!g.has_offsets) memset(l->p->offsets, 0, (size_t)g.n * sizeof *l->p->offsets);
    void *raw = is_plain(dtype) ? l->to : l->p->raw;
    l->p->loops->gather[ip_ref_size_log2(dtype)](g.n, channels, raw, g.base, l->p->offsets);
    if (raw != l->to) ip_ref_fetch(dtype, raw, l->n, l->to);
    if (g.has_outside) patch_outside(l, &g);
}

/* Value by value: where offsets are too large for the other way, or elements not aligned. */
static void load_one(const loading *l, int k)
{
    const bool is_whole = l->instr->reading == IP_REF_WHOLE;
    const int64_t *dims = l->source->dims, channels = is_whole ? l->p->domain[3] : 1;
    int64_t at[4];
    for (int axis = 0; axis < 4; axis++) {
        int64_t index =
            l->instr->index[axis].is_once ? index_of(l, axis) : ((const int32_t *)values_of(l, axis))[k / channels];
        if (is_whole && axis == 3) index = k % channels;
        at[axis] = line_index(l, index, dims[axis]);
        if (at[axis] < 0) {
            load_outside(l, k, k + 1);
            return;
        }
    }
    ip_ref_fetch(l->source->dtype, row_at(l, at[0], at[1]) + (at[2] * dims[3] + at[3]) * l->size, 1,
                 l->to + (size_t)k * (size_t)l->value_size);
}

void ip_ref_load(ip_ref_program *program, const ip_ref_instr *instr, const ip_ref_place *place)
{
    const ip_stage *source = instr->x->source;
    const loading l = { .p = program,
                        .instr = instr,
                        .place = place,
                        .source = source,
                        .border = instr->x->border,
                        .n = ip_ref_count(program, instr->rate, place->n),
                        .size = (int)ip_dtype(source->dtype)->size_bytes,
                        .value_size = (int)ip_dtype(instr->x->dtype)->size_bytes,
                        .to = program->slots + (size_t)instr->slot * program->slot_bytes,
                        .outside = instr->outside >= 0 ? program->at[instr->arg[instr->outside]] : NULL };
    const bool is_far = ip_dims_count(source->dims) > (double)INT32_MAX || !is_aligned(instr->memory, l.size);
    if (ip_dims_count(source->dims) == 0)
        load_outside(&l, 0, l.n);
    else if (instr->reading == IP_REF_RUN || instr->reading == IP_REF_STRIDE)
        load_row(&l);
    else if (!is_far)
        load_gathered(&l);
    else
        for (int k = 0; k < l.n; k++)
            load_one(&l, k);
}
