/* SPDX-License-Identifier: MIT */
/*
 * Stages of measures, in one file of more than 600 lines, since all of them are folded in the same levels. Over all
 * axes sums and extremes are one REDUCE stage. Along some axes they are taken in levels:
 *
 * Note [Levels]
 * An axis of n elements becomes one of m by combining the elements i, i + m, i + 2m, ... by pairs, then that axis
 * again, until one is left; then comes the next axis. Each level is a plain map stage that reads in long runs, so the
 * order is fixed by n alone, whatever the device and schedule. The last level writes the result's own shape. m is
 * ceil(n / 16). What would be read beyond n is the identity, or, where combining an element with itself changes
 * nothing, the last element. Along rows of more than 256 elements, an index that is held below n makes a gather of what
 * else is a vector: there m is n div 16, so that 16 elements are always there; the rest stands behind what they make,
 * one by one, and behind it identities, up to a multiple of 16 (pieces.c makes these three loops). So the levels that
 * follow have columns for whole vectors: of up to 256 each one has 16 of them, made of every 16th.
 */
#include "ops/axes.h"
#include "ops/complex.h"
#include "ops/infer.h"
#include "ops/lower.h"
#include "ops/slices.h"

#include "base/dtype.h"

#include <math.h>
#include <string.h>

enum { WAYS = 16 };

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }

/* What is folded: element k of the input as the fold sees it, how two are combined, and the end. */
typedef struct folding {
    ip_lower *l;
    ip_xop combine;
    imgpar_dtype acc;
    double identity;
    bool idempotent;
    unsigned dims;       /* which of the four are folded, as bits */
    int64_t extents[4];  /* of the input */
    int part;            /* of complex numbers the part that is folded; else -1 */
    imgpar_dtype result; /* the dtype of the folded element */
    /* with one element along folded dims, what each element is compared with: of variances the mean, of positions the
     * extreme element */
    ip_stage *kept;
    /* Of positions along some axes the first level, along first_dim, and the ways beside it: Note [Positions]. */
    ip_stage *extremes, *ways;
    int first_dim;
    ip_stage *level; /* what was folded so far; NULL: the input itself */
    bool is_whole;   /* the level's columns are a multiple of WAYS: Note [Levels] */
} folding;

/* Note [Levels]: how the first of them goes along a dim, and how far apart are the elements that it combines. */
static bool is_in_vectors(int dim, int64_t n) { return dim == 2 && n > WAYS * WAYS; }
static int64_t way_step(int dim, int64_t n) { return is_in_vectors(dim, n) ? n / WAYS : (n + WAYS - 1) / WAYS; }

/* ---- elements ------------------------------------------------------------------------------- */

static ip_expr *load(folding *f, ip_stage *stage, ip_expr *const at[4])
{
    ip_expr *x = ip_x_load(f->l->ir, stage, at, IP_BORDER_NONE, NULL);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(f->l->ir, IMGPAR_U8, x) : x;
}

static ip_expr *part_index(folding *f, ip_expr *channel, int part)
{
    if (f->extents[3] == 1) channel = ip_lower_i32(f->l, 0);
    return binary(f->l, IP_X_ADD, binary(f->l, IP_X_MUL, channel, ip_lower_i32(f->l, 2)), ip_lower_i32(f->l, part));
}

static ip_expr *kept_at(folding *f, ip_expr *const at[4])
{
    ip_expr *index[4];
    for (int d = 0; d < 4; d++)
        index[d] = f->kept->dims[d] == f->extents[d] ? at[d] : ip_lower_i32(f->l, 0);
    return load(f, f->kept, index);
}

/*
 * Note [Positions]
 * Where an extreme element is takes two looks at the elements: for the extreme itself, as minval finds it, then for
 * the least position of an element equal to it. Both have loops that are vectorised, which one of pairs of an element
 * and its place would not have. No element equals NaN, which is the extreme only of nothing but NaN: then no position
 * is found, and the first one counts. Zeros of both signs are equal.
 *
 * Over all axes of small elements, and where other folds of all of them are asked for, whose pass the extreme shares,
 * the second look is a fold that reads few elements twice (emit_fold.c, Note [First of few]). Else only the first
 * level looks twice, while its elements are in a cache: at the extreme of WAYS elements, and then which of them it is,
 * a number of the elements' own dtype, so that a vector of elements makes one vector of those. What follows, levels or
 * a fold of a WAYSth of the elements, finds the extreme of those extremes, and then the least position that the ones
 * equal to it have.
 * Of up to WAYS elements along one axis one expression tells it.
 */
static bool is_measure_of_positions(const ip_op *op)
{
    return op->variant == IP_MEASURE_ARGMIN || op->variant == IP_MEASURE_ARGMAX;
}

static bool is_position(const folding *f) { return is_measure_of_positions(f->l->node->op); }

static ip_expr *nowhere(folding *f) { return ip_x_int(f->l->ir, f->acc, f->acc == IMGPAR_I32 ? INT32_MAX : INT64_MAX); }

/* The position of an element along the folded dims, in row-major order. */
static ip_expr *position_of(folding *f, ip_expr *const at[4])
{
    ip_lower *l = f->l;
    ip_expr *place = ip_x_int(l->ir, f->acc, 0);
    for (int d = 0; d < 4; d++) {
        if (!(f->dims >> d & 1)) continue;
        place = binary(l, IP_X_MUL, place, ip_x_cast(l->ir, f->acc, ip_extent(l, d, f->extents[d])));
        place = binary(l, IP_X_ADD, place, ip_x_cast(l->ir, f->acc, at[d]));
    }
    return place;
}

static ip_expr *is_extreme(folding *f, ip_expr *x, ip_expr *const at[4])
{
    return binary(f->l, IP_X_EQ, x, kept_at(f, at));
}

/* Of WAYS elements, where their extreme is that of all. */
static ip_expr *first_position(folding *f, ip_expr *const at[4])
{
    ip_lower *l = f->l;
    const int d = f->first_dim;
    const double n = (double)f->extents[d], step = (double)way_step(d, f->extents[d]);
    ip_expr *i = ip_x_cast(l->ir, f->acc, at[d]), *index[4];
    ip_expr *way = ip_x_cast(l->ir, f->acc, ip_x_cast(l->ir, IMGPAR_I32, load(f, f->ways, at)));
    memcpy(index, at, sizeof index);
    i = binary(l, IP_X_ADD, i, binary(l, IP_X_MUL, way, ip_x_param(l->ir, f->acc, step, 1, INT32_MAX)));
    /* The last element stands for those behind it. */
    index[d] = binary(l, IP_X_MIN, i, ip_x_param(l->ir, f->acc, n - 1, 0, INT32_MAX));
    return ip_x_select(l->ir, is_extreme(f, load(f, f->extremes, at), at), position_of(f, index), nowhere(f));
}

/* The complex number at a place of the input, or of the level. */
static ip_complex pair_at(folding *f, ip_expr *const at[4])
{
    ip_expr *parts[2];
    ip_stage *stage = f->level ? f->level : f->l->in[0];
    for (int part = 0; part < 2; part++)
        parts[part] = load(f, stage, (ip_expr *[]){ at[0], at[1], at[2], part_index(f, at[3], part) });
    return (ip_complex){ parts[0], parts[1] };
}

/* Of a complex number what is folded as a real one. */
static ip_expr *complex_input_at(folding *f, ip_expr *const at[4])
{
    ip_lower *l = f->l;
    ip_complex z = pair_at(f, at);
    if (f->part >= 0) return f->part ? z.im : z.re;
    if (l->node->op->variant == IP_MEASURE_NORM) {
        if (ip_param_number(l->node, "kind") != IP_NORM_L2) return ip_complex_length(l, z);
        return binary(l, IP_X_ADD, binary(l, IP_X_MUL, z.re, z.re), binary(l, IP_X_MUL, z.im, z.im));
    }
    ip_expr *zero = ip_x_number(l->ir, z.re->dtype, 0); /* all and any */
    return ip_x_cast(l->ir, IMGPAR_U8,
                     binary(l, IP_X_OR, binary(l, IP_X_NE, z.re, zero), binary(l, IP_X_NE, z.im, zero)));
}

static ip_expr *input_at(folding *f, ip_expr *const at[4])
{
    ip_lower *l = f->l;
    if (ip_type_is_complex(&l->node->inputs[0]->type)) return complex_input_at(f, at);
    if (f->kept && f->ways) return first_position(f, at);
    ip_expr *x = load(f, l->in[0], at);
    switch ((ip_measure)l->node->op->variant) {
    case IP_MEASURE_DOT:
        return binary(l, IP_X_MUL, ip_x_cast(l->ir, f->acc, x), ip_x_cast(l->ir, f->acc, load(f, l->in[1], at)));
    case IP_MEASURE_ALL:
    case IP_MEASURE_ANY: return ip_x_cast(l->ir, IMGPAR_U8, binary(l, IP_X_NE, x, ip_x_number(l->ir, x->dtype, 0)));
    case IP_MEASURE_NORM:
        x = ip_x_cast(l->ir, f->acc, x);
        return ip_param_number(l->node, "kind") == IP_NORM_L2 ? binary(l, IP_X_MUL, x, x)
                                                              : ip_x_unary(l->ir, IP_X_ABS, x);
    case IP_MEASURE_VAR:
    case IP_MEASURE_STD:
        x = ip_x_cast(l->ir, f->acc, x);
        if (!f->kept) return x;
        x = binary(l, IP_X_SUB, x, kept_at(f, at));
        return binary(l, IP_X_MUL, x, x);
    case IP_MEASURE_ARGMIN:
    case IP_MEASURE_ARGMAX:
        if (!f->kept) return ip_x_cast(l->ir, f->acc, x);
        return ip_x_select(l->ir, is_extreme(f, x, at), position_of(f, at), nowhere(f));
    default: return ip_x_cast(l->ir, f->acc, x);
    }
}

static ip_expr *element_at(folding *f, ip_expr *const at[4])
{
    return f->level ? load(f, f->level, at) : input_at(f, at);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static int64_t level_extent(const folding *f, int dim, int64_t n)
{
    /* n / WAYS, and at most WAYS - 1 that rest */
    if (is_in_vectors(dim, n)) return (n / WAYS + 2 * (WAYS - 1)) / WAYS * WAYS;
    return dim == 2 && f->is_whole && n > WAYS ? WAYS : (n + WAYS - 1) / WAYS;
}

/*
 * The indices along a dim, none of them beyond its last element; inside NULL: always. Where is_real is set, they make
 * the columns below it; behind these stands one element each, that at rest, as far as is_rest says.
 */
typedef struct ways {
    ip_expr *index[WAYS], *inside[WAYS], *is_real, *rest, *is_rest;
    int n;
} ways;

/* i + k, an index of less than the longest row's length and WAYS: it does not leave int (run/launch.c check_rows). That
 * is said where i has few values. */
static ip_expr *shifted(folding *f, ip_expr *i, int64_t k)
{
    const double most = i->hi < 1 << 24 ? INT32_MAX - (1 << 24) : INT32_MAX;
    return k ? binary(f->l, IP_X_ADD, i, ip_x_param(f->l->ir, IMGPAR_I32, (double)k, 1, most)) : i;
}

static void ways_in_vectors(folding *f, int64_t n, ip_expr *i, ways *w)
{
    ip_lower *l = f->l;
    ip_expr *real = ip_x_param(l->ir, IMGPAR_I32, (double)(n / WAYS), 1, INT32_MAX);
    ip_expr *all = binary(l, IP_X_ADD, real, ip_x_param(l->ir, IMGPAR_I32, (double)(n % WAYS), 0, WAYS - 1)),
            *one = ip_lower_i32(l, 1);
    ip_expr *held = binary(l, IP_X_MIN, i, binary(l, IP_X_SUB, real, one));
    *w = (ways){ .n = WAYS, .is_real = binary(l, IP_X_LT, i, real), .is_rest = binary(l, IP_X_LT, i, all) };
    /* The level has up to 2 (WAYS - 1) columns more than are real: those behind them reach beyond n from the last
     * two. */
    for (int j = 0; j < WAYS; j++)
        w->index[j] = shifted(f, j < WAYS - 2 ? i : held, j * (n / WAYS));
    w->rest = shifted(f, binary(l, IP_X_MIN, i, binary(l, IP_X_SUB, all, one)), (WAYS - 1) * (n / WAYS));
}

/* Of n columns, a multiple of WAYS and at most its square, each WAYSth one. How many those are is no part of the
 * program. */
static void ways_of_whole(folding *f, int64_t n, ip_expr *i, ways *w)
{
    ip_lower *l = f->l;
    ip_expr *count = ip_x_param(l->ir, IMGPAR_I32, (double)n, WAYS, WAYS * WAYS),
            *last = binary(l, IP_X_SUB, count, ip_lower_i32(l, WAYS));
    *w = (ways){ .n = WAYS };
    for (int j = 0; j < WAYS; j++) {
        ip_expr *at = ip_lower_i32(l, n > WAYS ? j * WAYS : j);
        w->index[j] = binary(l, IP_X_ADD, i, n > WAYS ? binary(l, IP_X_MIN, at, last) : at);
        w->inside[j] = n > WAYS && j ? binary(l, IP_X_LT, at, count) : NULL;
    }
}

static void ways_held_inside(folding *f, int dim, int64_t n, ip_expr *i, ways *w)
{
    ip_lower *l = f->l;
    int64_t m = (n + WAYS - 1) / WAYS;
    bool written = dim == 3 && n <= WAYS; /* channels are part of the program */
    ip_expr *step = written ? ip_lower_i32(l, m) : ip_extent(l, dim, m), *at = i;
    ip_expr *count = written ? ip_lower_i32(l, n) : ip_x_param(l->ir, IMGPAR_I32, (double)n, 1, INT32_MAX);
    ip_expr *last = binary(l, IP_X_SUB, count, ip_lower_i32(l, 1));
    *w = (ways){ .n = written ? (int)n : WAYS };
    for (int j = 0; j < w->n; j++) {
        w->inside[j] = j ? binary(l, IP_X_LT, at, count) : NULL; /* i itself is below m, which is at most n */
        w->index[j] = j ? binary(l, IP_X_MIN, at, last) : at;
        at = binary(l, IP_X_ADD, at, step);
    }
}

static void ways_of(folding *f, int dim, int64_t n, ip_expr *i, ways *w)
{
    if (is_in_vectors(dim, n))
        ways_in_vectors(f, n, i, w);
    else if (dim == 2 && f->is_whole)
        ways_of_whole(f, n, i, w);
    else
        ways_held_inside(f, dim, n, i, w);
}

/* level has level_extent() of the n elements along dim. */
static void set_level(folding *f, ip_stage *level, int dim, int64_t n)
{
    f->level = level;
    f->is_whole = is_in_vectors(dim, n) || (dim == 2 && f->is_whole);
}

static ip_expr *guarded(folding *f, ip_expr *v, ip_expr *inside)
{
    return inside && !f->idempotent ? ip_x_select(f->l->ir, inside, v, ip_x_number(f->l->ir, v->dtype, f->identity))
                                    : v;
}

/* Of n elements by pairs; what is not inside is left out as late as can be. */
static ip_expr *by_pairs(folding *f, ip_expr **v, ip_expr **inside, int n)
{
    for (; n > 1; n = (n + 1) / 2)
        for (int k = 0; k < n / 2 + n % 2; k++) {
            int a = 2 * k, b = a + 1 < n ? a + 1 : a;
            bool is_same = inside[a] == inside[b];
            ip_expr *first = is_same ? v[a] : guarded(f, v[a], inside[a]),
                    *second = is_same ? v[b] : guarded(f, v[b], inside[b]);
            v[k] = a < b ? binary(f->l, f->combine, first, second) : first;
            inside[k] = is_same ? inside[a] : NULL;
        }
    return guarded(f, v[0], inside[0]);
}

static ip_expr *combined_ways(folding *f, int dim, const ways *w, ip_expr *const at[4])
{
    ip_expr *v[WAYS], *inside[WAYS], *index[4];
    memcpy(index, at, sizeof index);
    memcpy(inside, w->inside, sizeof inside);
    for (int j = 0; j < w->n; j++) {
        index[dim] = w->index[j];
        v[j] = element_at(f, index);
    }
    ip_expr *real = by_pairs(f, v, inside, w->n);
    index[dim] = w->rest;
    return w->is_real ? ip_x_select(f->l->ir, w->is_real, real, guarded(f, element_at(f, index), w->is_rest)) : real;
}

static ip_expr *combined(folding *f, int dim, int64_t n, ip_expr *const at[4])
{
    ways w;
    ways_of(f, dim, n, at[dim], &w);
    return combined_ways(f, dim, &w, at);
}

/* The next dim to fold of those with these extents, -1: none. */
static int next_dim(const folding *f, const int64_t dims[4])
{
    for (int d = 0; d < 4; d++)
        if (f->dims >> d & 1 && dims[d] > 1) return d;
    return -1;
}

static bool has_no_elements(const folding *f)
{
    for (int d = 0; d < 4; d++)
        if (f->dims >> d & 1 && f->extents[d] == 0) return true;
    return false;
}

static void own_place(ip_lower *l, const int64_t dims[4], ip_expr *at[4])
{
    for (int d = 0; d < 4; d++)
        at[d] = ip_x_coord(l->ir, d, dims[d]);
}

/* Elements of a fold as a stage: what several folds have in common is computed once. */
static ip_stage *folded_stage(const folding *f, const int64_t dims[4], imgpar_dtype dtype, ip_expr *value,
                              const char *what)
{
    ip_stage *s = ip_lower_stage_sized(f->l, dims, dtype, value, what);
    return s ? ip_stage_once(f->l->ir, s) : NULL;
}

/* Folds all levels but the last; *dim and *n tell what that one has to do, *dim -1: nothing. */
static bool fold_levels(folding *f, int *dim, int64_t dims[4])
{
    memcpy(dims, f->extremes ? f->extremes->dims : f->extents, sizeof f->extents);
    for (;;) {
        *dim = next_dim(f, dims);
        int64_t next[4];
        memcpy(next, dims, sizeof next);
        if (*dim >= 0) next[*dim] = level_extent(f, *dim, dims[*dim]);
        if (*dim < 0 || next_dim(f, next) < 0) return true;
        ip_expr *at[4];
        own_place(f->l, next, at);
        ip_expr *value = combined(f, *dim, dims[*dim], at);
        set_level(f, folded_stage(f, next, value->dtype, value, "some elements of a fold"), *dim, dims[*dim]);
        if (!f->level) return false;
        memcpy(dims, next, sizeof next);
    }
}

/* Where the result's element lies along the input's dims; 0 along folded ones. */
static void result_place(const folding *f, unsigned axes, ip_expr *at[4])
{
    ip_lower *l = f->l;
    const ip_type *in = &l->node->inputs[0]->type;
    bool keeps = ip_param_number(l->node, "keepdims") != 0;
    for (int d = 0; d < 4; d++)
        at[d] = ip_lower_i32(l, 0);
    for (int k = 0, out = 0; k < in->rank; k++) {
        bool goes = axes >> k & 1;
        int dim = ip_type_axis_dim(in, k);
        if (!goes) at[dim] = ip_axis_coord(l, out);
        out += !goes || keeps;
    }
    for (int d = 0; d < 4; d++)
        if (f->extents[d] == 1 && l->dims[d] == 1) at[d] = ip_lower_coord(l, d);
}

/* The identity of and: all bits. */
static ip_expr *identity_of(folding *f)
{
    if (f->combine != IP_X_AND) return ip_x_number(f->l->ir, f->acc, f->identity);
    return ip_x_int(f->l->ir, f->acc, -1);
}

/* The folded element at a place of the result. */
static ip_expr *fold_at(folding *f, ip_expr *const at[4])
{
    int64_t dims[4];
    int dim;
    if (has_no_elements(f)) return identity_of(f);
    if (!fold_levels(f, &dim, dims)) return ip_x_number(f->l->ir, f->acc, 0);
    return dim < 0 ? element_at(f, at) : combined(f, dim, dims[dim], at);
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* How many elements make one of the result. */
static double n_folded(const folding *f)
{
    double n = 1;
    for (int d = 0; d < 4; d++)
        if (f->dims >> d & 1) n *= (double)f->extents[d];
    return n;
}

/* The result's element from what was folded. */
static ip_expr *finished(folding *f, ip_expr *total)
{
    ip_lower *l = f->l;
    imgpar_dtype dtype = f->result;
    double n = n_folded(f);
    switch ((ip_measure)l->node->op->variant) {
    case IP_MEASURE_ALL:
    case IP_MEASURE_ANY: return binary(l, IP_X_NE, total, ip_x_number(l->ir, total->dtype, 0));
    case IP_MEASURE_MEAN:
        return binary(l, IP_X_DIV, ip_x_cast(l->ir, dtype, total), ip_x_param(l->ir, dtype, n, 0, 0x1p62));
    case IP_MEASURE_VAR:
    case IP_MEASURE_STD:
        if (f->kept) n = fmax(n - ip_param_number(l->node, "ddof"), 0);
        total = binary(l, IP_X_DIV, total, ip_x_param(l->ir, f->acc, n, 0, 0x1p62));
        return f->kept && l->node->op->variant == IP_MEASURE_STD ? ip_x_unary(l->ir, IP_X_SQRT, total) : total;
    case IP_MEASURE_NORM:
        return ip_param_number(l->node, "kind") == IP_NORM_L2 ? ip_x_unary(l->ir, IP_X_SQRT, total) : total;
    case IP_MEASURE_ARGMIN:
    case IP_MEASURE_ARGMAX:
        if (!f->kept) return total;
        total = ip_x_select(l->ir, binary(l, IP_X_EQ, total, nowhere(f)), ip_x_number(l->ir, f->acc, 0), total);
        return ip_lower_convert(l, dtype, total);
    default: return ip_lower_convert(l, dtype, total);
    }
}

static folding folding_of(ip_lower *l)
{
    imgpar_dtype dtype = l->in[0]->dtype == IMGPAR_BOOL  ? IMGPAR_U8
                         : l->in[0]->dtype == IMGPAR_F16 ? IMGPAR_F32
                                                         : l->in[0]->dtype;
    folding f = { .l = l, .acc = dtype, .combine = IP_X_ADD, .part = -1, .result = l->node->type.dtype };
    ip_type_dims(&l->node->inputs[0]->type, f.extents);
    switch ((ip_measure)l->node->op->variant) {
    case IP_MEASURE_SUM: f.acc = ip_sum_dtype(l->in[0]->dtype); break;
    case IP_MEASURE_MEAN: /* the sum of integers of 64 bits may wrap */
        f.acc = ip_dtype(dtype)->size_bytes == 8 ? IMGPAR_F64 : ip_sum_dtype(l->in[0]->dtype);
        break;
    case IP_MEASURE_DOT: f.acc = l->node->type.dtype; break;
    case IP_MEASURE_VAR:
    case IP_MEASURE_STD: f.acc = l->node->type.dtype; break;
    case IP_MEASURE_NORM:
        f.acc = l->node->type.dtype;
        f.idempotent = ip_param_number(l->node, "kind") == IP_NORM_MAX;
        if (f.idempotent) f.combine = IP_X_MAX;
        break;
    case IP_MEASURE_PROD: f.acc = l->node->type.dtype, f.combine = IP_X_MUL, f.identity = 1; break;
    case IP_MEASURE_MIN: f.combine = IP_X_MIN, f.idempotent = true; break;
    case IP_MEASURE_MAX: f.combine = IP_X_MAX, f.idempotent = true; break;
    case IP_MEASURE_ALL: f.acc = IMGPAR_U8, f.combine = IP_X_MIN, f.idempotent = true, f.identity = 1; break;
    case IP_MEASURE_ANY: f.acc = IMGPAR_U8, f.combine = IP_X_MAX, f.idempotent = true; break;
    case IP_MEASURE_BITS_AND: f.combine = IP_X_AND, f.idempotent = true; break;
    case IP_MEASURE_BITS_OR: f.combine = IP_X_OR, f.idempotent = true; break;
    case IP_MEASURE_BITS_XOR: f.combine = IP_X_XOR; break;
    case IP_MEASURE_ARGMIN: f.combine = IP_X_MIN, f.idempotent = true; break;
    case IP_MEASURE_ARGMAX: f.combine = IP_X_MAX, f.idempotent = true; break;
    }
    return f;
}

/* ---- all axes ------------------------------------------------------------------------------------- */

/* One REDUCE stage of these dims, all 1, and this dtype: an earlier one where that is equal. */
static ip_stage *fold_all(folding *f, const int64_t dims[4], imgpar_dtype dtype)
{
    ip_lower *l = f->l;
    ip_stage *s = ip_stage_new(l->ir, IP_STAGE_REDUCE, dtype, dims, l->node);
    ip_expr *at[4];
    if (!s) return NULL;
    memcpy(s->over, f->extremes ? f->extremes->dims : f->extents, sizeof s->over);
    own_place(l, s->over, at);
    s->body = f->extremes && !f->kept ? load(f, f->extremes, at) : input_at(f, at);
    s->acc_dtype = f->acc;
    s->reduce = f->combine == IP_X_ADD   ? IP_REDUCE_SUM
                : f->combine == IP_X_MIN ? IP_REDUCE_MIN
                : f->combine == IP_X_MAX ? IP_REDUCE_MAX
                                         : IP_REDUCE_CUSTOM;
    if (f->kept && is_position(f)) s->least_place = position_of(f, at);
    ip_expr *acc = ip_x_acc(l->ir, 0, f->acc);
    if (s->reduce == IP_REDUCE_CUSTOM) {
        s->init = identity_of(f);
        s->combine = binary(l, f->combine, acc, ip_x_acc(l->ir, 1, f->acc));
    }
    s->finish = finished(f, acc);
    s->lo = s->finish->lo;
    s->hi = s->finish->hi;
    return ip_stage_once(l->ir, s);
}

/* ---- measures ---------------------------------------------------------------------------------------- */

/* What was folded, kept for another look at the elements; the folded dims stay with one element. */
static ip_stage *kept_stage(const folding *f, bool all, const char *what)
{
    folding g = *f;
    int64_t dims[4];
    ip_expr *at[4];
    for (int d = 0; d < 4; d++)
        dims[d] = f->dims >> d & 1 ? 1 : f->extents[d];
    if (all) return fold_all(&g, dims, f->acc);
    own_place(f->l, dims, at);
    for (int d = 0; d < 4; d++)
        if (dims[d] == 1 && f->extents[d] != 1) at[d] = ip_lower_i32(f->l, 0);
    ip_expr *value = finished(&g, fold_at(&g, at));
    return folded_stage(f, dims, f->acc, value, what);
}

/* Which of some elements along a dim is the first that equals their extreme. Of NaN any, since it equals none. */
static ip_expr *first_way(folding *f, const ways *w, ip_expr *const at[4])
{
    ip_ir *ir = f->l->ir;
    ip_expr *extreme = load(f, f->extremes, at), *way = ip_x_number(ir, extreme->dtype, w->n - 1), *index[4];
    memcpy(index, at, sizeof index);
    for (int j = w->n - 2; j >= 0; j--) {
        index[f->first_dim] = w->index[j];
        ip_expr *is_first = binary(f->l, IP_X_EQ, load(f, f->l->in[0], index), extreme);
        way = ip_x_select(ir, is_first, ip_x_number(ir, extreme->dtype, j), way);
    }
    /* What rests is behind the last way. */
    return w->is_real ? ip_x_select(ir, w->is_real, way, ip_x_number(ir, extreme->dtype, WAYS - 1)) : way;
}

/* The one dim of few elements that is folded, all of which one level sees; -1: there are more. */
static int only_level(const folding *f)
{
    int dim = next_dim(f, f->extents);
    if (dim < 0 || has_no_elements(f) || f->extents[dim] > WAYS) return -1;
    for (int d = 0; d < 4; d++)
        if (f->dims >> d & 1 && d != dim && f->extents[d] > 1) return -1;
    return dim;
}

/* Of few elements along one dim the first that is their extreme, at a place of the result: no element is looked at
 * twice, so that what computes it has one reader. Of nothing but NaN 0. */
static ip_expr *position_in_level(folding *f, int dim, ip_expr *const at[4])
{
    ip_ir *ir = f->l->ir;
    ip_expr *place[4];
    ways w;
    memcpy(place, at, sizeof place);
    place[dim] = ip_lower_i32(f->l, 0);
    ways_of(f, dim, f->extents[dim], place[dim], &w);
    while (w.n / 2 >= f->extents[dim]) /* the others are the last one again; a program serves several numbers */
        w.n /= 2;
    ip_expr *extreme = combined_ways(f, dim, &w, place), *way = ip_x_number(ir, extreme->dtype, 0);
    for (int j = w.n - 1; j >= 0; j--) {
        place[dim] = w.index[j];
        ip_expr *is_here = binary(f->l, IP_X_EQ, load(f, f->l->in[0], place), extreme);
        way = ip_x_select(ir, is_here, ip_x_number(ir, extreme->dtype, j), way);
    }
    return ip_x_cast(ir, IMGPAR_I32, way);
}

/* The first level of Note [Positions]; false without memory. */
static bool fold_first_level(folding *f)
{
    int64_t dims[4];
    ip_expr *at[4];
    ways w;
    f->first_dim = has_no_elements(f) ? -1 : next_dim(f, f->extents);
    if (f->first_dim < 0) return true;
    const int64_t n = f->extents[f->first_dim];
    memcpy(dims, f->extents, sizeof dims);
    dims[f->first_dim] = level_extent(f, f->first_dim, n);
    own_place(f->l, dims, at);
    ways_of(f, f->first_dim, n, at[f->first_dim], &w);
    ip_expr *extreme = combined_ways(f, f->first_dim, &w, at);
    f->extremes = folded_stage(f, dims, extreme->dtype, extreme, "extremes of some elements");
    if (!f->extremes) return false;
    ip_expr *way = first_way(f, &w, at);
    f->ways = ip_lower_stage_sized(f->l, dims, way->dtype, way, "which of them they are");
    set_level(f, f->extremes, f->first_dim, n);
    return f->ways != NULL;
}

/* Whether all elements are folded to something else as well, in a pass that the extreme may share. */
static bool are_folded_beside(const folding *f)
{
    const imgpar_array *node = f->l->node;
    bool are = false;
    for (size_t k = 0; k < f->l->n_asked && !are; k++) {
        const imgpar_array *other = f->l->asked[k];
        are = other->n_inputs > 0 && other->op->lower == node->op->lower && other->inputs[0] == node->inputs[0] &&
              ip_type_count(&other->type) == 1 && !is_measure_of_positions(other->op);
    }
    return are;
}

/* What positions are of: the extreme, and before it the first level, unless all are folded and elements are small or
 * looked through beside. */
static bool look_for_extremes(folding *f, bool all)
{
    enum { SMALL = 2 };
    bool has_level = !all || (ip_dtype(f->acc)->size_bytes > SMALL && !are_folded_beside(f));
    if (has_level && !fold_first_level(f)) return false;
    f->kept = kept_stage(f, all, "extremes");
    /* Columns of levels reach a little further than elements. */
    f->acc = n_folded(f) < INT32_MAX - 4 * WAYS ? IMGPAR_I32 : IMGPAR_I64;
    f->combine = IP_X_MIN;
    f->level = NULL;
    return f->kept != NULL;
}

/* From here on the elements are looked at once more, beside what was kept of the first look; false without memory. */
static bool look_again(folding *f, bool all)
{
    switch ((ip_measure)f->l->node->op->variant) {
    case IP_MEASURE_VAR:
    case IP_MEASURE_STD: f->kept = kept_stage(f, all, "means"); return f->kept != NULL;
    case IP_MEASURE_ARGMIN:
    case IP_MEASURE_ARGMAX: return look_for_extremes(f, all);
    default: return true;
    }
}

/* ---- products of complex numbers: both parts go from level to level -------------------------------------- */

/* The number at a place where `inside` holds, else 1. */
static ip_complex factor_at(folding *f, ip_expr *const at[4], ip_expr *inside)
{
    ip_ir *ir = f->l->ir;
    ip_complex z = pair_at(f, at);
    if (!inside) return z;
    ip_expr *one = ip_x_number(ir, z.re->dtype, 1), *zero = ip_x_number(ir, z.re->dtype, 0);
    return (ip_complex){ ip_x_select(ir, inside, z.re, one), ip_x_select(ir, inside, z.im, zero) };
}

static ip_complex product_along(folding *f, int dim, int64_t n, ip_expr *const at[4])
{
    ip_lower *l = f->l;
    ip_complex v[WAYS];
    ip_expr *index[4];
    ways w;
    ways_of(f, dim, n, at[dim], &w);
    memcpy(index, at, sizeof index);
    for (int j = 0; j < w.n; j++) {
        index[dim] = w.index[j];
        v[j] = factor_at(f, index, w.inside[j]);
    }
    for (int k = w.n; k > 1; k = (k + 1) / 2)
        for (int j = 0; j < k / 2 + k % 2; j++)
            v[j] = 2 * j + 1 < k ? ip_complex_product(l, v[2 * j], v[2 * j + 1]) : v[2 * j];
    if (!w.is_real) return v[0];
    index[dim] = w.rest;
    ip_complex rest = factor_at(f, index, w.is_rest);
    return (ip_complex){ ip_x_select(l->ir, w.is_real, v[0].re, rest.re),
                         ip_x_select(l->ir, w.is_real, v[0].im, rest.im) };
}

/* A stage of pairs that folds dim from dims to next. */
static ip_stage *product_level(folding *f, int dim, const int64_t dims[4], const int64_t next[4])
{
    ip_lower *l = f->l;
    const int64_t stored[4] = { next[0], next[1], next[2], 2 * next[3] };
    ip_expr *at[4], *two = ip_lower_i32(l, 2);
    own_place(l, stored, at);
    ip_expr *is_real = binary(l, IP_X_EQ, binary(l, IP_X_MOD, at[3], two), ip_lower_i32(l, 0));
    at[3] = binary(l, IP_X_IDIV, at[3], two);
    ip_complex z = product_along(f, dim, dims[dim], at);
    return ip_lower_stage_sized(l, stored, z.re->dtype, ip_x_select(l->ir, is_real, z.re, z.im),
                                "some elements of a fold");
}

static ip_stage *product_of_pairs(folding *f, ip_expr *const at[4])
{
    int64_t dims[4], next[4];
    int dim;
    const imgpar_dtype part = ip_dtype_part(f->l->node->type.dtype);
    if (has_no_elements(f)) return ip_complex_map(f->l, (ip_complex){ .re = ip_x_number(f->l->ir, part, 1) });
    memcpy(dims, f->extents, sizeof dims);
    while ((dim = next_dim(f, dims)) >= 0) {
        memcpy(next, dims, sizeof next);
        next[dim] = level_extent(f, dim, dims[dim]);
        if (next_dim(f, next) < 0) return ip_complex_map(f->l, product_along(f, dim, dims[dim], at));
        ip_stage *level = product_level(f, dim, dims, next);
        if (!level) return NULL;
        set_level(f, level, dim, dims[dim]);
        memcpy(dims, next, sizeof dims);
    }
    return ip_complex_map(f->l, pair_at(f, at));
}

/* Of complex numbers: each part folded by itself. */
static ip_stage *fold_parts(const folding *f, bool all, ip_expr *const at[4])
{
    ip_lower *l = f->l;
    static const int64_t one[4] = { 1, 1, 1, 1 };
    ip_expr *zero = ip_lower_i32(l, 0), *const first[4] = { zero, zero, zero, zero }, *folded[2];
    for (int part = 0; part < 2; part++) {
        folding g = *f;
        g.part = part;
        g.result = g.acc;
        ip_stage *total = all ? fold_all(&g, one, g.acc) : NULL;
        if (all && !total) return NULL;
        folded[part] = all ? ip_x_load(l->ir, total, first, IP_BORDER_NONE, NULL) : finished(&g, fold_at(&g, at));
    }
    return ip_complex_map(l, (ip_complex){ folded[0], folded[1] });
}

ip_stage *ip_stages_measure(ip_lower *l)
{
    const ip_type *in = &l->node->inputs[0]->type;
    int variant = l->node->op->variant;
    ip_error ignored = { .status = IMGPAR_OK };
    unsigned axes;
    if (!l->in[0]) return NULL;
    ip_axes_of(l->node, "axis", in->rank, &axes, &ignored);
    folding f = folding_of(l);
    for (int k = 0; k < in->rank; k++)
        if (axes >> k & 1) f.dims |= 1u << ip_type_axis_dim(in, k);
    bool all = axes == (1u << in->rank) - 1 && !has_no_elements(&f);
    ip_expr *at[4];
    result_place(&f, axes, at);
    const int level = is_position(&f) && !all ? only_level(&f) : -1;
    if (level >= 0) return ip_lower_map(l, position_in_level(&f, level, at));
    if (!look_again(&f, all)) return NULL;
    if (ip_type_is_complex(in) && variant == IP_MEASURE_PROD) return product_of_pairs(&f, at);
    if (ip_type_is_complex(&l->node->type)) return fold_parts(&f, all, at);
    if (all) return fold_all(&f, l->dims, l->node->type.dtype);
    return ip_lower_map(l, finished(&f, fold_at(&f, at)));
}
