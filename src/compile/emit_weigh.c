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

/* A rounded sum of `terms`, or of the taps of a window of products. */
typedef struct weighing {
    ip_emit *e;
    ip_expr *terms[IP_UNROLLED_TAPS]; /* products */
    int n_terms, taps;                /* taps: of the window, terms[0]; else 0 */
    imgpar_dtype from;                /* of the elements: U8 or I16 */
    bool are_pairs, fits;
} weighing;

static bool is_uniform(const ip_expr *x) { return !(x->uses & (IP_USES_COORDS & ~(IP_USES_Z | IP_USES_Y))); }

/* Of a sum of x and something that is the same for all elements of a row: x, and that. x itself and NULL: it is none. */
static ip_expr *without_uniform(ip_expr *x, ip_expr **uniform)
{
    *uniform = NULL;
    for (int k = 0; k < 2 && x->op == IP_X_ADD; k++)
        if (is_uniform(x->arg[k])) {
            *uniform = x->arg[k];
            return x->arg[1 - k];
        }
    return x;
}

bool ip_rounded_sum_of(const ip_stage *s, ip_expr *body, ip_rounded_sum *out)
{
    if (body->op != IP_X_SATURATE || body->dtype != s->dtype || (s->dtype != IMGPAR_U8 && s->dtype != IMGPAR_I16) || body->arg[0]->dtype != IMGPAR_I32)
        return false;
    ip_expr *shifted = without_uniform(body->arg[0], &out->offset);
    if (shifted->op != IP_X_SHR || !is_uniform(shifted->arg[1]))
        return false;
    out->shift = shifted->arg[1];
    out->sum = without_uniform(shifted->arg[0], &out->start);
    return true;
}

const char *ip_emit_addend(ip_emit *e, ip_expr *x) { return x ? ip_emit_value(e, x) : "0"; }

static bool is_weight(const ip_expr *x) { return is_uniform(x) && x->lo >= INT16_MIN && x->hi <= INT16_MAX; }

/* A load of a row along which it reads, and which is there for all elements: where a constant stands for what is outside, it is the element's own. */
static bool reads_row(const ip_emit *e, const ip_expr *x)
{
    if (x->op != IP_X_LOAD || x->source->kind == IP_STAGE_TABLE || x->dtype != x->source->dtype || !ip_x_offset_from(e->ir, x->arg[2], 2))
        return false;
    for (int k = 0; k < 2 && x->border == IMGPAR_BORDER_CONSTANT; k++)
        if (!ip_x_is_coord(x->arg[k], k) || x->source->dims[k] != e->domain[k])
            return false;
    return true;
}

/* Such a load of bytes, maybe widened, or shorts. */
static ip_expr *load_of(const ip_emit *e, ip_expr *x)
{
    bool widens = x->op == IP_X_CAST && x->arg[0]->dtype == IMGPAR_U8 && ip_dtype(x->dtype)->size_bytes > 1;
    if (widens && x->arg[0]->op == IP_X_LOAD)
        x = x->arg[0];
    return reads_row(e, x) && (x->dtype == IMGPAR_U8 || x->dtype == IMGPAR_I16) ? x : NULL;
}

/* The loads of a product's value: one, or two that are added. */
static int loads_of(const ip_emit *e, ip_expr *product, ip_expr *loads[2])
{
    ip_expr *value = product->arg[is_weight(product->arg[0]) ? 1 : 0];
    if (value->op != IP_X_CAST)
        return 0;
    value = value->arg[0];
    bool is_sum = value->op == IP_X_ADD && ip_dtype(value->dtype)->size_bytes == 2;
    if (is_sum && (value->lo < INT16_MIN || value->hi > INT16_MAX))
        return 0;
    for (int k = 0; k < 1 + is_sum; k++)
        if (!(loads[k] = load_of(e, is_sum ? value->arg[k] : value)))
            return 0;
    return is_sum && loads[0]->dtype != loads[1]->dtype ? 0 : 1 + is_sum;
}

static void add_term(weighing *w, ip_expr *product)
{
    ip_expr *loads[2];
    bool is_product = product->op == IP_X_MUL && product->dtype == IMGPAR_I32 && is_weight(product->arg[0]) != is_weight(product->arg[1]);
    int n = is_product && w->n_terms < IP_UNROLLED_TAPS ? loads_of(w->e, product, loads) : 0;
    bool is_first = w->n_terms == 0, is_alike = n > 0 && (is_first || (w->are_pairs == (n == 2) && w->from == loads[0]->dtype));
    w->fits = w->fits && is_alike;
    if (!w->fits)
        return;
    w->are_pairs = n == 2;
    w->from = loads[0]->dtype;
    w->terms[w->n_terms++] = product;
}

static void add_terms(weighing *w, ip_expr *x)
{
    if (!w->fits)
        return;
    if (x->op != IP_X_ADD) {
        add_term(w, x);
        return;
    }
    add_terms(w, x->arg[0]);
    add_terms(w, x->arg[1]);
}

static weighing weighing_of(ip_emit *e, const ip_stage *s, ip_expr *sum)
{
    weighing w = { .e = e, .fits = true };
    if (sum->op == IP_X_WINDOW) {
        w.taps = sum->taps_y * sum->taps_x;
        w.fits = sum->fold == IP_FOLD_SUM && (sum->taps_y == 1 || sum->taps_x == 1) && w.taps <= MOST_TERMS;
        sum = sum->arg[0];
        if (w.fits)
            add_term(&w, sum);
    } else {
        add_terms(&w, sum);
    }
    w.fits = w.fits && w.n_terms > 1 - (w.taps > 0) && ip_emit_may_be_flat(e, s, s->body);
    return w;
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

static ip_expr *weight_of(ip_expr *product) { return product->arg[is_weight(product->arg[0]) ? 0 : 1]; }

/* Stores where a term's elements begin, as number `at` (text). */
static void put_rows(weighing *w, ip_expr *product, const char *rows, const char *at)
{
    ip_emit *e = w->e;
    ip_expr *loads[2];
    int n = loads_of(e, product, loads);
    for (int k = 0; k < n; k++)
        ip_s_add(e->ir, e->block, IP_S_STORE, n == 1 ? ip_text(e->ir, "%s[%s]", rows, at) : ip_text(e->ir, "%s[2 * %s + %d]", rows, at, k),
                 pointer_of(e, loads[k]), NULL);
}

static void put_taps(weighing *w, const char *rows, const char *weights, int n)
{
    ip_emit *e = w->e;
    ip_mark mark = ip_emit_enter(e, ip_s_add(e->ir, e->block, IP_S_FOR, "j", "0", ip_text(e->ir, "%d", n)));
    e->block->parallel = IP_FEW;
    e->tap_y = e->tap_x = "j";
    put_rows(w, w->terms[0], rows, "j");
    const char *weight = ip_emit_value(e, weight_of(w->terms[0])), *two = ip_text(e->ir, "%s[j / 2]", weights);
    ip_s_add(e->ir, e->block, IP_S_STORE, two, ip_text(e->ir, "j %% 2 ? ip_two_weights(%s, %s) : ip_two_weights(%s, 0)", two, weight, weight), NULL);
    e->tap_y = e->tap_x = NULL;
    ip_emit_leave(e, mark);
}

static void put_terms(weighing *w, const char *rows, const char *weights, int n)
{
    ip_emit *e = w->e;
    for (int k = 0; k < n; k++)
        put_rows(w, w->terms[k], rows, ip_text(e->ir, "%d", k));
    for (int k = 0; k < n; k += 2)
        ip_s_add(e->ir, e->block, IP_S_STORE, ip_text(e->ir, "%s[%d]", weights, k / 2),
                 ip_text(e->ir, "ip_two_weights(%s, %s)", ip_emit_value(e, weight_of(w->terms[k])),
                         k + 1 < n ? ip_emit_value(e, weight_of(w->terms[k + 1])) : "0"), NULL);
}

const char *ip_emit_weighed(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    ip_rounded_sum sum;
    if (!ip_emit_calls_helpers(e) || !ip_rounded_sum_of(s, s->body, &sum))
        return xa;
    weighing w = weighing_of(e, s, sum.sum);
    if (!w.fits)
        return xa;
    e->kernel->weighs = true;
    int n = w.taps > 0 ? w.taps : w.n_terms;
    const char *from = ip_dtype(w.from)->cl;
    const char *rows = ip_text(e->ir, "rows%d", e->n_values++), *weights = ip_text(e->ir, "weights%d", e->n_values++);
    const char *rest = ip_text(e->ir, "rest%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_VAR, ip_text(e->ir, "__global const %s *", from), ip_text(e->ir, "%s[%d]", rows, n * (w.are_pairs ? 2 : 1)), NULL);
    ip_s_add(e->ir, e->block, IP_S_VAR, "int", ip_text(e->ir, "%s[%d]", weights, (n + 1) / 2), NULL);
    (w.taps > 0 ? put_taps : put_terms)(&w, rows, weights, n);
    const char *start = ip_emit_addend(e, sum.start), *shift = ip_emit_value(e, sum.shift), *offset = ip_emit_addend(e, sum.offset);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", rest,
             ip_text(e->ir, "ip_weigh_%s_%s_%s(%s, %s, %s, %d, %s * %d, %s * %d, %s, %s & 31, %s) ? %s : %s", w.are_pairs ? "pair" : "single", from,
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

typedef struct mean { const ip_expr *loads[MOST_SUMMANDS]; int n; bool fits; } mean;

static void add_summand(mean *m, const ip_emit *e, const ip_expr *x)
{
    if (x->op == IP_X_ADD && x->dtype == IMGPAR_U16) {
        add_summand(m, e, x->arg[0]);
        add_summand(m, e, x->arg[1]);
        return;
    }
    m->fits = m->fits && m->n < MOST_SUMMANDS && x->dtype == IMGPAR_U16 && reads_row(e, x);
    if (m->fits)
        m->loads[m->n++] = x;
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

const char *ip_emit_mean(ip_emit *e, const ip_stage *s, const char *target, const char *xa, const char *xb)
{
    const ip_expr *body = s->body, *quotient = body->op == IP_X_CAST ? body->arg[0] : body;
    bool may = ip_emit_calls_helpers(e) && s->dtype == IMGPAR_U8 && quotient->op == IP_X_IDIV && quotient->dtype == IMGPAR_U16 && quotient->hi <= UINT8_MAX;
    const ip_expr *sum = may ? quotient->arg[0] : NULL, *by = may ? quotient->arg[1] : NULL;
    if (!may || by->op != IP_X_CONST || sum->op != IP_X_ADD || sum->arg[1]->op != IP_X_CONST || sum->hi > INT16_MAX)
        return xa;
    mean m = { .fits = by->i > 1 };
    add_summand(&m, e, sum->arg[0]);
    int scale = m.fits && ip_emit_may_be_flat(e, s, s->body) ? scale_of((int64_t)sum->arg[0]->hi, sum->arg[1]->i, by->i) : 0;
    if (!scale)
        return xa;
    e->kernel->weighs = true;
    const char *rows = ip_text(e->ir, "rows%d", e->n_values++), *rest = ip_text(e->ir, "rest%d", e->n_values++);
    ip_s_add(e->ir, e->block, IP_S_VAR, "__global const ushort *", ip_text(e->ir, "%s[%d]", rows, m.n), NULL);
    for (int k = 0; k < m.n; k++)
        ip_s_add(e->ir, e->block, IP_S_STORE, ip_text(e->ir, "%s[%d]", rows, k), pointer_of(e, m.loads[k]), NULL);
    ip_s_add(e->ir, e->block, IP_S_LET, "int", rest,
             ip_text(e->ir, "ip_mean(%s, %s, %d, %s * %d, %s * %d, %d) ? %s : %s", target, rows, m.n, xa, e->channels, xb, e->channels, scale, xb, xa));
    return rest;
}
