/* SPDX-License-Identifier: MIT */
/*
 * Note [Weighing]
 * Bytes and shorts that are multiplied by weights of 16 bits and added up in 32, as the passes of a Gaussian are (ops/stages_blur.c, Note [Whole
 * weights]): processors multiply two of them in a lane and add the products. Compilers do not find that; they widen each element and multiply
 * it by itself. So shaders/weigh.cl has functions for it, which are given the rows, where in them a term begins, and the weights, whatever their
 * number. What they make is what the stage says: sums are exact, the results saturated. Where they make nothing, of narrow rows or on
 * processors of other kinds, the loop does that is written behind the call.
 */
#include "base/dtype.h"
#include "compile/emit.h"

enum { MOST_TERMS = 1024 };

const char *ip_emit_addend(ip_emit *e, ip_expr *x) { return x ? ip_emit_value(e, x) : "0"; }

static bool is_16_bits(const ip_expr *x) { return x->lo >= INT16_MIN && x->hi <= INT16_MAX; }

/* Taps of a term's window; 0: it has none. */
static int taps_of(const ip_linear_term *t) { return t->window ? t->window->taps_y * t->window->taps_x : 0; }

bool ip_is_rounded_sum(const ip_stage *s, const ip_linear *form)
{
    bool is_stored_so = form->dtype == s->dtype && (form->dtype == IMGPAR_U8 || form->dtype == IMGPAR_I16);
    return is_stored_so && form->saturates && form->shift && form->wide == IMGPAR_I32;
}

/* Whether x reads a row along itself, which is there for all elements: where a constant stands for what is outside, it is the element's own. */
static bool reads_row(ip_ir *ir, const ip_stage *s, const ip_expr *x)
{
    if (x->source->kind == IP_STAGE_TABLE || x->dtype != x->source->dtype || !ip_x_offset_from(ir, x->arg[2], 2))
        return false;
    for (int k = 0; k < 2 && x->border == IMGPAR_BORDER_CONSTANT; k++)
        if (!ip_x_is_coord(x->arg[k], k) || x->source->dims[k] != s->dims[k])
            return false;
    return true;
}

/* A product of 16 bits with bytes or shorts, of the kind of the first one. */
static bool is_weighed_term(ip_ir *ir, const ip_stage *s, const ip_linear *form, const ip_linear_term *t)
{
    const ip_linear_term *first = &form->terms[0];
    bool is_product = t->weight && ip_x_is_uniform(t->weight) && is_16_bits(t->weight) && t->n_loads > 0 && is_16_bits(t->value);
    bool is_alike = is_product && t->n_loads == first->n_loads && (!t->window || form->n_terms == 1);
    for (int k = 0; k < t->n_loads && is_alike; k++)
        is_alike = t->load[k]->dtype == first->load[0]->dtype && reads_row(ir, s, t->load[k]);
    return is_alike;
}

static bool is_weighed(ip_ir *ir, const ip_stage *s, const ip_linear *form)
{
    const ip_linear_term *first = &form->terms[0];
    bool is_line = first->window ? (first->window->taps_y == 1 || first->window->taps_x == 1) && taps_of(first) <= MOST_TERMS : form->n_terms > 1;
    bool fits = ip_is_rounded_sum(s, form) && form->n_terms > 0 && form->n_terms <= IP_UNROLLED_TAPS && is_line && first->n_loads > 0
        && (first->load[0]->dtype == IMGPAR_U8 || first->load[0]->dtype == IMGPAR_I16);
    for (int k = 0; k < form->n_terms && fits; k++)
        fits = is_weighed_term(ir, s, form, &form->terms[k]);
    return fits;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Where the elements of a row that a load reads begin. */
static const char *pointer_of(ip_emit *e, const ip_expr *load)
{
    ip_expr *beside = ip_x_offset_from(e->ir, load->arg[2], 2);
    const char *row = ip_emit_row_pointer(e, load);
    if (!beside) /* memory ran out: the text will not be used */
        return row;
    if (beside->op == IP_X_CONST)
        return beside->i ? ip_text(e->ir, "%s + (%lld)", row, (long long)beside->i * e->channels) : row;
    return ip_text(e->ir, "%s + %s * %d", row, ip_emit_value(e, beside), e->channels);
}

/* Stores where a term's elements begin, as number `at` (text). */
static void put_rows(ip_emit *e, const ip_linear_term *t, const char *rows, const char *at)
{
    for (int k = 0; k < t->n_loads; k++)
        ip_s_add(e->ir, e->block, IP_S_STORE, t->n_loads == 1 ? ip_text(e->ir, "%s[%s]", rows, at) : ip_text(e->ir, "%s[2 * %s + %d]", rows, at, k),
                 pointer_of(e, t->load[k]), NULL);
}

static void put_taps(ip_emit *e, const ip_linear_term *t, const char *rows, const char *weights)
{
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_FOR, "j", "0", ip_text(e->ir, "%d", taps_of(t))));
    e->block->parallel = IP_FEW;
    e->tap_y = e->tap_x = "j";
    put_rows(e, t, rows, "j");
    const char *weight = ip_emit_value(e, t->weight), *two = ip_text(e->ir, "%s[j / 2]", weights);
    ip_s_add(e->ir, e->block, IP_S_STORE, two, ip_text(e->ir, "j %% 2 ? ip_two_weights(%s, %s) : ip_two_weights(%s, 0)", two, weight, weight), NULL);
    e->tap_y = e->tap_x = NULL;
    ip_emit_leave(e, mark);
}

static void put_terms(ip_emit *e, const ip_linear *form, const char *rows, const char *weights)
{
    const ip_linear_term *t = form->terms;
    for (int k = 0; k < form->n_terms; k++)
        put_rows(e, &t[k], rows, ip_text(e->ir, "%d", k));
    for (int k = 0; k < form->n_terms; k += 2)
        ip_s_add(e->ir, e->block, IP_S_STORE, ip_text(e->ir, "%s[%d]", weights, k / 2),
                 ip_text(e->ir, "ip_two_weights(%s, %s)", ip_emit_value(e, t[k].weight),
                         k + 1 < form->n_terms ? ip_emit_value(e, t[k + 1].weight) : "0"), NULL);
}

const char *ip_emit_weighed(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    ip_linear form;
    if (!ip_emit_calls_helpers(e) || !ip_linear_of(e->ir, s->body, &form) || !is_weighed(e->ir, s, &form) || !ip_emit_may_be_flat(e, s, s->body))
        return xa;
    e->kernel->weighs = true;
    const ip_linear_term *first = &form.terms[0];
    int n = first->window ? taps_of(first) : form.n_terms;
    const char *from = ip_dtype(first->load[0]->dtype)->cl;
    const char *rows = ip_text(e->ir, "rows%d", e->n_values++), *weights = ip_text(e->ir, "weights%d", e->n_values++);
    const char *rest = ip_text(e->ir, "rest%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_VAR, ip_text(e->ir, "__global const %s *", from), ip_text(e->ir, "%s[%d]", rows, n * first->n_loads), NULL);
    ip_s_add(e->ir, e->block, IP_S_VAR, "int", ip_text(e->ir, "%s[%d]", weights, (n + 1) / 2), NULL);
    if (first->window)
        put_taps(e, first, rows, weights);
    else
        put_terms(e, &form, rows, weights);
    const char *start = ip_emit_addend(e, form.start), *shift = ip_emit_value(e, form.shift), *offset = ip_emit_addend(e, form.offset);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", rest,
             ip_text(e->ir, "ip_weigh_%s_%s_%s(%s, %s, %s, %d, %s * %d, %s * %d, %s, %s & 31, %s) ? %s : %s", first->n_loads == 2 ? "pair" : "single", from,
                     ip_dtype(s->dtype)->cl, target, rows, weights, n, xa, e->channels, xb, e->channels, start, shift, offset, xb, xa));
    return rest;
}

/* ---- means --------------------------------------------------------------------------------------------------------- */

/*
 * Note [Means]
 * A sum of shorts divided by a number, halves up, as the last pass of a box is: where it has 15 bits, processors multiply by its reciprocal and
 * round at once, and make one vector of bytes of two of shorts, for which compilers take twice as many instructions. All sums that there can
 * be are tried.
 */
enum { MOST_SUMMANDS = 8, SCALE_BITS = 15 };

/* The most that a sum of a few rows of shorts can be; -1: it is none. */
static double most_of_shorts(ip_ir *ir, const ip_stage *s, const ip_linear *form)
{
    double most = 0;
    for (int k = 0; k < form->n_terms; k++) {
        const ip_linear_term *t = &form->terms[k];
        bool is_row = !t->weight && !t->window && t->n_loads == 1 && t->load[0]->dtype == IMGPAR_U16 && reads_row(ir, s, t->load[0]);
        if (!is_row || k == MOST_SUMMANDS)
            return -1;
        most += t->load[0]->hi;
    }
    return form->n_terms > 0 ? most : -1;
}

/* The number whose product with any sum up to most, in units of 2^-15 and rounded, is (sum + add) / d; 0: there is none. */
static int scale_of(int64_t most, int64_t add, int64_t d)
{
    int64_t scale = ((1 << SCALE_BITS) + d / 2) / d;
    for (int64_t sum = 0; sum <= most; sum++)
        if ((sum * scale + (1 << (SCALE_BITS - 1))) >> SCALE_BITS != (sum + add) / d)
            return 0;
    return (int)scale;
}

/* That of a mean of a few rows; 0: it is none. */
static int scale_of_mean(ip_ir *ir, const ip_stage *s, const ip_linear *form)
{
    bool is_quotient = s->dtype == IMGPAR_U8 && form->dtype == IMGPAR_U8 && form->wide == IMGPAR_U16 && !form->saturates && form->divisor && !form->offset
        && form->divisor->i > 1 && form->start && form->start->op == IP_X_CONST;
    double most = is_quotient ? most_of_shorts(ir, s, form) : -1;
    return most >= 0 && most + form->start->hi <= INT16_MAX ? scale_of((int64_t)most, form->start->i, form->divisor->i) : 0;
}

const char *ip_emit_mean(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    ip_linear form;
    int scale = ip_emit_calls_helpers(e) && ip_linear_of(e->ir, s->body, &form) ? scale_of_mean(e->ir, s, &form) : 0;
    if (!scale || !ip_emit_may_be_flat(e, s, s->body))
        return xa;
    e->kernel->weighs = true;
    const char *rows = ip_text(e->ir, "rows%d", e->n_values++), *rest = ip_text(e->ir, "rest%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_VAR, "__global const ushort *", ip_text(e->ir, "%s[%d]", rows, form.n_terms), NULL);
    for (int k = 0; k < form.n_terms; k++)
        put_rows(e, &form.terms[k], rows, ip_text(e->ir, "%d", k));
    ip_s_add(e->ir, e->block, IP_S_LET, "int", rest,
             ip_text(e->ir, "ip_mean(%s, %s, %d, %s * %d, %s * %d, %d) ? %s : %s", target, rows, form.n_terms, xa, e->channels, xb, e->channels, scale, xb, xa));
    return rest;
}
