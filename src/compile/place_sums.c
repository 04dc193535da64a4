/* SPDX-License-Identifier: MIT */
#include "compile/placing.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <string.h>

/*
 * Note [Sums of three]
 * A sum of n elements beside each other takes n reads for every element. Where it is of integers, whose order does not matter, and of
 * a stage whose rows are kept, a row of sums of three is kept, too; the sum then reads a third as many elements, and the one or two that
 * are left over. Columns outside, which the sum reads at the ends of a row, have sums of three of their own: they are computed from what
 * the border rule puts there, not repeated.
 */
enum { LEAST_TAPS = 9 /* 3 and 3 reads, not 9 */, MOST_TAPS = 64 };

typedef struct taps {
    ip_placing *p;
    const ip_expr *load;        /* the first one that was found; what all have in common is its */
    ip_expr *at[2 * MOST_TAPS]; /* by column beside the own one, + MOST_TAPS */
    int first, last, n;         /* columns beside the own one */
    bool fits;
} taps;

/* A row of integers that are not negative, kept by the kernel, and read beside its own column. */
static bool suits(const taps *t, ip_expr *load)
{
    const ip_stage *s = load->source;
    bool is_repeated = load->border != IP_BORDER_NONE && load->border != IMGPAR_BORDER_CONSTANT && load->border != IMGPAR_BORDER_WRAP;
    return ip_kernel_computes(t->p->kernel, s) && s->kind == IP_STAGE_MAP && !ip_dtype(s->dtype)->is_float && s->lo >= 0
        && 3 * s->hi <= ip_dtype(IMGPAR_U32)->maximum && is_repeated
        && ip_x_is_coord(load->arg[0], 0) && ip_x_is_coord(load->arg[1], 1) && ip_x_is_coord(load->arg[3], 3);
}

static void add_tap(taps *t, ip_expr *load)
{
    ip_index column = ip_x_classify(t->p->plan->ir, load->arg[2]);
    bool is_beside = column.kind == IP_INDEX_UNIT && column.axis == 2 && column.lo == column.hi && !column.uses_tap;
    t->fits = t->fits && is_beside && suits(t, load) && column.lo > -MOST_TAPS && column.lo < MOST_TAPS
        && (!t->load || (t->load->source == load->source && t->load->border == load->border)) && !t->at[MOST_TAPS + column.lo];
    if (!t->fits)
        return;
    t->load = t->load ? t->load : load;
    t->at[MOST_TAPS + column.lo] = load;
    t->first = t->n ? ip_min_int(t->first, column.lo) : column.lo;
    t->last = t->n ? ip_max_int(t->last, column.lo) : column.lo;
    t->n++;
}

/* The reads that x is the sum of. None of the sums on the way may wrap. */
static double add_taps(taps *t, ip_expr *x)
{
    double largest = 0;
    if (!t->fits || ip_dtype(x->dtype)->is_float || x->dtype == IMGPAR_BOOL) {
        t->fits = false;
    } else if (x->op == IP_X_ADD) {
        largest = add_taps(t, x->arg[0]) + add_taps(t, x->arg[1]);
    } else if (x->op == IP_X_CAST) {
        largest = add_taps(t, x->arg[0]);
    } else if (x->op == IP_X_LOAD) {
        add_tap(t, x);
        largest = x->source->hi;
    } else {
        t->fits = false;
    }
    t->fits = t->fits && largest <= ip_dtype(x->dtype)->maximum;
    return largest;
}

/* The narrowest dtype for sums up to that; wide is wide enough. */
static imgpar_dtype dtype_of_sums(double largest, imgpar_dtype wide)
{
    return largest <= ip_dtype(IMGPAR_U16)->maximum && ip_dtype(wide)->size_bytes > 2 ? IMGPAR_U16 : wide;
}

/* Column x + by of the stage. */
static ip_expr *beside(ip_ir *ir, ip_stage *s, int by, int border)
{
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(ir, k, s->dims[k]);
    if (by)
        at[2] = ip_x_binary(ir, IP_X_ADD, at[2], ip_x_int(ir, IMGPAR_I32, by));
    return ip_x_load(ir, s, at, border, NULL);
}

/* An entry of sums of three before the reader's. */
static ip_stage *sums_of_three(ip_placing *p, const taps *t, const ip_stage *reader)
{
    ip_ir *ir = p->plan->ir;
    ip_stage *of = t->load->source;
    imgpar_dtype dtype = dtype_of_sums(3 * of->hi, IMGPAR_U32);
    ip_expr *sum = NULL;
    for (int by = -1; by <= 1; by++) {
        ip_expr *x = ip_x_cast(ir, dtype, beside(ir, of, by, t->load->border));
        sum = sum ? ip_x_binary(ir, IP_X_ADD, sum, x) : x;
    }
    ip_stage *s = ip_add_row(p, reader, sum, of->dims[3], "sums of three");
    if (s)
        p->kernel->placed[p->kernel->n_placed - 1].goes_beyond = true;
    return s;
}

/* x as a sum of sums of three and the reads that are left over; narrow as long as that is wide enough. */
static ip_expr *of_threes(ip_placing *p, const taps *t, ip_stage *reader, ip_expr *x)
{
    ip_ir *ir = p->plan->ir;
    ip_stage *threes = sums_of_three(p, t, reader);
    if (!threes)
        return x;
    ip_expr *sum = NULL;
    for (int at = t->first; at <= t->last;) {
        bool is_three = at + 2 <= t->last;
        ip_expr *term = is_three ? beside(ir, threes, at + 1, t->load->border) : t->at[MOST_TAPS + at];
        at += is_three ? 3 : 1;
        imgpar_dtype dtype = dtype_of_sums((at - t->first) * t->load->source->hi, x->dtype);
        term = ip_x_cast(ir, dtype, term);
        sum = sum ? ip_x_binary(ir, IP_X_ADD, ip_x_cast(ir, dtype, sum), term) : term;
    }
    return ip_x_cast(ir, x->dtype, sum);
}

typedef struct rewriting { ip_placing *p; ip_stage *reader; ip_expr *sum, *with; } rewriting;

/* The largest sum that can be taken apart so: of each, none of what it is the sum of. */
static bool find_sum(ip_expr *x, void *user)
{
    rewriting *r = user;
    if (r->sum || x->op != IP_X_ADD)
        return !r->sum && x->op != IP_X_LOAD;
    taps t = { .p = r->p, .fits = true };
    add_taps(&t, x);
    bool is_line = t.fits && t.n >= LEAST_TAPS && t.last - t.first + 1 == t.n;
    if (!is_line || memcmp(t.load->source->dims, ip_stage_domain(r->reader), sizeof t.load->source->dims) != 0)
        return true;
    r->sum = x;
    r->with = of_threes(r->p, &t, r->reader, x);
    return false;
}

void ip_place_sums(ip_placing *p, ip_stage *reader)
{
    rewriting r = { p, reader, NULL, NULL };
    if (reader->kind != IP_STAGE_MAP || !reader->body)
        return;
    ip_x_descend(p->plan->ir, reader->body, find_sum, &r);
    if (r.sum && r.with != r.sum)
        reader->body = ip_put_value(p->plan->ir, reader->body, r.sum, r.with);
}
