/* SPDX-License-Identifier: MIT */
/* Short sums along a row, rewritten as sums of a kept row of partial sums. */
#include "compile/placing.h"

#include "base/dtype.h"
#include "base/integers.h"
#include "ir/linear.h"

#include <string.h>

/*
 * Note [Sums of three]
 * A sum of n elements beside each other takes n reads for every element. Where it is of integers, whose order does not
 * matter, and of a stage whose rows are kept, a row of sums of three is kept, too; the sum then reads a third as many
 * elements, and the one or two that are left over. Columns outside, which the sum reads at the ends of a row, have sums
 * of three of their own: they are computed from what the border rule puts there, not repeated.
 */
enum { LEAST_TAPS = 9 /* 3 and 3 reads, not 9 */, MOST_TAPS = 64 };

/* Reads of one stage, beside each other. */
typedef struct taps {
    ip_stage *of;
    int border;
    ip_expr *at[2 * MOST_TAPS]; /* by column beside the own one, + MOST_TAPS */
    int first, last;            /* columns beside the own one */
} taps;

/* A row of integers that are not negative, kept by the kernel, and read beside its own column. */
static bool suits(const ip_placing *p, const ip_expr *load)
{
    const ip_stage *s = load->source;
    const int border = load->border;
    bool is_repeated = border != IP_BORDER_NONE && border != IMGPAR_BORDER_CONSTANT && border != IMGPAR_BORDER_WRAP;
    return ip_kernel_computes(p->kernel, s) && s->kind == IP_STAGE_MAP && !ip_dtype(s->dtype)->is_float && s->lo >= 0 &&
           3 * s->hi <= ip_dtype(IMGPAR_U32)->maximum && is_repeated && ip_x_is_coord(load->arg[0], 0) &&
           ip_x_is_coord(load->arg[1], 1) && ip_x_is_coord(load->arg[3], 3);
}

static bool add_tap(const ip_placing *p, taps *t, ip_expr *load)
{
    ip_index column = ip_x_classify(load->arg[2]);
    bool is_beside = column.kind == IP_INDEX_UNIT && column.axis == 2 && column.lo == column.hi && !column.uses_tap &&
                     column.lo > -MOST_TAPS && column.lo < MOST_TAPS;
    bool is_alike = t->of == load->source && t->border == load->border;
    if (!is_beside || !is_alike || !suits(p, load) || t->at[MOST_TAPS + column.lo]) return false;
    t->at[MOST_TAPS + column.lo] = load;
    t->first = ip_min_int(t->first, column.lo);
    t->last = ip_max_int(t->last, column.lo);
    return true;
}

/* The reads that x is the sum of, if they are side by side and many, and the sum does not wrap. */
static bool find_taps(const ip_placing *p, const ip_stage *reader, ip_expr *x, taps *t)
{
    ip_linear form;
    if (!ip_linear_of(p->plan->ir, x, &form) || !ip_linear_is_sum(&form) || form.n_terms < LEAST_TAPS) return false;
    const ip_expr *load = form.terms[0].load[0];
    *t = (taps){ .of = load->source, .border = load->border, .first = MOST_TAPS, .last = -MOST_TAPS };
    for (int k = 0; k < form.n_terms; k++)
        if (!add_tap(p, t, form.terms[k].load[0])) return false;
    return t->last - t->first + 1 == form.n_terms && form.n_terms * t->of->hi <= ip_dtype(form.wide)->maximum &&
           memcmp(t->of->dims, ip_stage_domain(reader), sizeof t->of->dims) == 0;
}

/* The narrowest dtype for sums up to that; wide is wide enough. */
static imgpar_dtype dtype_of_sums(double largest, imgpar_dtype wide)
{
    return largest <= ip_dtype(IMGPAR_U16)->maximum && ip_dtype(wide)->size_bytes > 2 ? IMGPAR_U16 : wide;
}

/* An entry of sums of three before the reader's. */
static ip_stage *sums_of_three(ip_placing *p, const taps *t, const ip_stage *reader)
{
    ip_ir *ir = p->plan->ir;
    ip_stage *of = t->of;
    imgpar_dtype dtype = dtype_of_sums(3 * of->hi, IMGPAR_U32);
    ip_expr *sum = NULL;
    for (int by = -1; by <= 1; by++) {
        ip_expr *x = ip_x_cast(ir, dtype, ip_x_beside(ir, of, by, t->border));
        sum = sum ? ip_x_binary(ir, IP_X_ADD, sum, x) : x;
    }
    ip_stage *s = ip_add_row(p, reader, sum, of->dims[3], "sums of three");
    if (s) p->kernel->placed[p->kernel->n_placed - 1].pad_is_computed = true;
    return s;
}

/* x as a sum of sums of three and the reads that are left over; narrow as long as that is wide enough. */
static ip_expr *of_threes(ip_placing *p, const taps *t, const ip_stage *reader, ip_expr *x)
{
    ip_ir *ir = p->plan->ir;
    ip_stage *threes = sums_of_three(p, t, reader);
    if (!threes) return x;
    ip_expr *sum = NULL;
    for (int at = t->first; at <= t->last;) {
        bool is_three = at + 2 <= t->last;
        ip_expr *term = is_three ? ip_x_beside(ir, threes, at + 1, t->border) : t->at[MOST_TAPS + at];
        at += is_three ? 3 : 1;
        imgpar_dtype dtype = dtype_of_sums((at - t->first) * t->of->hi, x->dtype);
        term = ip_x_cast(ir, dtype, term);
        sum = sum ? ip_x_binary(ir, IP_X_ADD, ip_x_cast(ir, dtype, sum), term) : term;
    }
    return ip_x_cast(ir, x->dtype, sum);
}

typedef struct rewriting {
    ip_placing *p;
    const ip_stage *reader;
    ip_expr *sum, *with;
} rewriting;

/* The largest sum that can be taken apart so: of each, none of what it is the sum of. */
static bool find_sum(ip_expr *x, void *user)
{
    rewriting *r = user;
    if (r->sum || x->op != IP_X_ADD) return !r->sum && x->op != IP_X_LOAD;
    taps t;
    if (!find_taps(r->p, r->reader, x, &t)) return true;
    r->sum = x;
    r->with = of_threes(r->p, &t, r->reader, x);
    return false;
}

void ip_place_sums(ip_placing *p, const ip_stage *reader, ip_expr **body)
{
    rewriting r = { p, reader, NULL, NULL };
    if (reader->kind != IP_STAGE_MAP || !*body) return;
    ip_x_descend(p->plan->ir, *body, find_sum, &r);
    if (r.sum && r.with != r.sum) *body = ip_put_value(p->plan->ir, *body, r.sum, r.with);
}
