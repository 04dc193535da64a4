/* SPDX-License-Identifier: MIT */
/*
 * Note [Dot products]
 * Bytes and shorts that are multiplied by weights of 16 bits and added up in 32, as the passes of a Gaussian are
 * (ops/stages_blur.c, Note [Whole weights]): processors multiply two of them in a lane and add the products. Compilers
 * do not find that; they widen each element and multiply it by itself. Some processors (AVX-512 VNNI) add the products
 * to the sum by the same instruction, which is used whatever PoCL's compiler takes them for. So shaders/dot.cl has
 * functions for it, which are given the rows, where in them a term begins, and the weights, whatever their number. What
 * they make is what the stage says: sums are exact, the results saturated. Where they make nothing, of narrow rows or
 * on processors of other kinds, the loop does that is written behind the call.
 */
#include "base/dtype.h"
#include "compile/emit.h"
#include "compile/idioms.h"

const char *ip_emit_addend(ip_emit *e, ip_expr *x) { return x ? ip_emit_value(e, x) : "0"; }

/* Where the elements of a row that a load reads begin. */
static const char *pointer_of(ip_emit *e, const ip_expr *load)
{
    ip_expr *beside = ip_x_offset_from(e->ir, load->arg[2], 2);
    const char *row = ip_emit_row_pointer(e, load);
    if (!beside) /* memory ran out: the text will not be used */
        return row;
    if (beside->op == IP_X_CONST) return ip_text_plus(e->ir, row, (long long)beside->i * e->channels);
    return ip_text(e->ir, "%s + %s * %d", row, ip_emit_value(e, beside), e->channels);
}

static void put(ip_emit *e, const char *where, const char *value) { ip_emit_set(e, where, value); }

/* Stores where a term's elements begin, as number `at` (text). */
static void put_rows(ip_emit *e, const ip_linear_term *t, const char *rows, const char *at)
{
    for (int k = 0; k < t->n_loads; k++)
        put(e, t->n_loads == 1 ? ip_text(e->ir, "%s[%s]", rows, at) : ip_text(e->ir, "%s[2 * %s + %d]", rows, at, k),
            pointer_of(e, t->load[k]));
}

static void put_taps(ip_emit *e, const ip_linear_term *t, const char *rows, const char *weights)
{
    const char *n = ip_text(e->ir, "%d", ip_term_taps(t)), *two = ip_text(e->ir, "%s[j / 2]", weights);
    ip_mark mark = ip_emit_enter(e, ip_emit_for(e, "j", "0", n));
    e->block->parallel = IP_FEW;
    ip_emit_name_tap(e, t->window, 0, "j");
    ip_emit_name_tap(e, t->window, 1, "j");
    put_rows(e, t, rows, "j");
    const char *w = ip_emit_value(e, t->weight);
    put(e, two, ip_text(e->ir, "j %% 2 ? ip_two_weights(%s, %s) : ip_two_weights(%s, 0)", two, w, w));
    ip_emit_leave(e, mark);
}

static void put_terms(ip_emit *e, const ip_linear *form, const char *rows, const char *weights)
{
    const ip_linear_term *t = form->terms;
    for (int k = 0; k < form->n_terms; k++)
        put_rows(e, &t[k], rows, ip_text(e->ir, "%d", k));
    for (int k = 0; k < form->n_terms; k += 2) {
        const char *b = ip_emit_addend(e, k + 1 < form->n_terms ? t[k + 1].weight : NULL);
        const char *a = ip_emit_value(e, t[k].weight);
        put(e, ip_text(e->ir, "%s[%d]", weights, k / 2), ip_text(e->ir, "ip_two_weights(%s, %s)", a, b));
    }
}

/* "from * 3, to * 3": elements of these columns. */
static const char *elements_of(ip_emit *e, const ip_columns *c)
{
    return ip_text(e->ir, "%s * %d, %s * %d", c->from, e->channels, c->to, e->channels);
}

const char *ip_call_dot(ip_emit *e, const ip_match *m, const ip_columns *c)
{
    const ip_linear *form = &m->form;
    const ip_linear_term *first = &form->terms[0];
    int n = first->window ? ip_term_taps(first) : form->n_terms;
    const char *from = ip_dtype(first->load[0]->dtype)->cl, *each = first->n_loads == 2 ? "pair" : "single";
    const char *rows = ip_text(e->ir, "rows%d", e->n_values++), *weights = ip_text(e->ir, "weights%d", e->n_values++);
    const char *rest = ip_text(e->ir, "rest%d", e->n_values++);
    ip_emit_var(e, ip_text(e->ir, "__global const %s *", from), ip_text(e->ir, "%s[%d]", rows, n * first->n_loads),
                NULL);
    ip_emit_var(e, "int", ip_text(e->ir, "%s[%d]", weights, (n + 1) / 2), NULL);
    if (first->window)
        put_taps(e, first, rows, weights);
    else
        put_terms(e, form, rows, weights);
    const char *start = ip_emit_addend(e, form->start), *shift = ip_emit_value(e, form->shift);
    const char *offset = ip_emit_addend(e, form->offset), *to = ip_dtype(m->stage->dtype)->cl;
    ip_emit_let_int(e, rest,
                    ip_text(e->ir, "ip_dot_%s_%s_%s(%s, %s, %s, %d, %s, %s, %s & 31, %s) ? %s : %s", each, from, to,
                            c->target, rows, weights, n, elements_of(e, c), start, shift, offset, c->to, c->from));
    return rest;
}

/*
 * Note [Means]
 * A sum of shorts divided by a number, halves up, as the last pass of a box is: where it has 15 bits, processors
 * multiply by its reciprocal and round at once, and make one vector of bytes of two of shorts, for which compilers take
 * twice as many instructions. All sums that there can be are tried.
 */
const char *ip_call_mean(ip_emit *e, const ip_match *m, const ip_columns *c)
{
    int n = m->form.n_terms;
    const char *rows = ip_text(e->ir, "rows%d", e->n_values++), *rest = ip_text(e->ir, "rest%d", e->n_values++);
    ip_emit_var(e, "__global const ushort *", ip_text(e->ir, "%s[%d]", rows, n), NULL);
    for (int k = 0; k < n; k++)
        put_rows(e, &m->form.terms[k], rows, ip_text(e->ir, "%d", k));
    ip_emit_let_int(e, rest,
                    ip_text(e->ir, "ip_mean(%s, %s, %d, %s, %d) ? %s : %s", c->target, rows, n, elements_of(e, c),
                            m->scale, c->to, c->from));
    return rest;
}
