/* SPDX-License-Identifier: MIT */
/*
 * Narrowing: integer arithmetic moves to the narrowest dtype that holds its operands
 * and its result by their ranges, since a vector unit does twice the work per
 * instruction at half the width. Sound because nothing can wrap: every value fits.
 *
 * Note [Narrow rows]
 * So do the stages that others read, which keep rows of as many bytes as their range needs; readers begin with as many
 * lanes. Not what is asked for, and what hand-written kernels read, whose dtypes are promised.
 *
 * Note [Deciding by values]
 * Numbers that the user wrote are arguments, of which a program knows a range. Four forms are worth a program of their
 * own for some values: (a + b + 1) >> 1, which is one instruction of 8 and 16 bits (IP_X_MEAN) and has as many bits as
 * a and b; the mean of a few shorts or bytes (Note [Means of shorts], Note [Means in 16 bits]); a * 0 + b, with which b
 * gets the shape of a; and a >> n, which is computed in 8 or 16 bits if n is below them, as counts are taken modulo the
 * width (shifts_alike()).
 */
#include "base/dtype.h"
#include "compile/passes.h"
#include "ir/linear.h"
#include "ir/opaque.h"

#include <math.h>

typedef struct narrowing {
    ip_ir *ir;
    imgpar_dtype *was; /* by stage id: the dtype that readers know */
    double *lo, *hi;   /* by stage id: of 0 and the values outside that readers see */
    bool *is_promised; /* by stage id: keeps its dtype */
    bool *may_be_low;  /* by stage id: 16 bits of it may be kept where readers want no more */
    bool *is_low;      /* by stage id: they are */
    bool has_low;      /* whether one is */
} narrowing;

static bool holds(imgpar_dtype dtype, double lo, double hi)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    return lo >= facts->minimum && hi <= facts->maximum;
}

static bool fits(const ip_expr *x, imgpar_dtype dtype) { return holds(dtype, x->lo, x->hi); }

static int size_of(imgpar_dtype dtype) { return (int)ip_dtype(dtype)->size_bytes; }
static const imgpar_dtype ladder[] = { IMGPAR_U8, IMGPAR_I8, IMGPAR_U16, IMGPAR_I16, IMGPAR_U32, IMGPAR_I32 };
enum { N_LADDER = sizeof ladder / sizeof *ladder };

/* ---- expressions ------------------------------------------------------------------------------ */

static const bool is_narrowable[IP_X_N] = {
    [IP_X_ADD] = true, [IP_X_SUB] = true,    [IP_X_MUL] = true, [IP_X_IDIV] = true, [IP_X_MOD] = true,
    [IP_X_MIN] = true, [IP_X_MAX] = true,    [IP_X_AND] = true, [IP_X_OR] = true,   [IP_X_XOR] = true,
    [IP_X_SHR] = true, [IP_X_SELECT] = true, [IP_X_ABS] = true, [IP_X_NEG] = true,  [IP_X_LT] = true,
    [IP_X_LE] = true,  [IP_X_EQ] = true,     [IP_X_NE] = true,
};

static bool is_comparison(ip_xop op) { return op >= IP_X_LT && op <= IP_X_NE; }
static bool is_number(const ip_expr *x) { return x->op == IP_X_CONST || x->op == IP_X_PARAM; }

/* True when x in dtype costs nothing: it is a number or was widened from at most that dtype. */
static bool comes_from(const ip_expr *x, imgpar_dtype dtype)
{
    return is_number(x) || (x->op == IP_X_CAST && size_of(x->arg[0]->dtype) <= size_of(dtype));
}

/* Whether x >> a number is the same in `to`: counts are taken modulo the width. */
static bool shifts_alike(const ip_expr *x, imgpar_dtype to)
{
    const ip_expr *count = x->arg[1];
    double lo = count->op == IP_X_PARAM ? (double)count->i : count->lo,
           hi = count->op == IP_X_PARAM ? (double)count->i : count->hi;
    return lo >= 0 && hi < size_of(to) * 8;
}

static bool narrows_to(const ip_expr *x, int first, imgpar_dtype to)
{
    bool ok = (is_comparison(x->op) || fits(x, to)) && (x->op != IP_X_SHR || shifts_alike(x, to));
    for (int a = first; a < x->n_args && ok; a++)
        ok = fits(x->arg[a], to) && comes_from(x->arg[a], to);
    return ok;
}

/* x computed in `to` and widened again. */
static ip_expr *in_dtype(ip_ir *ir, const ip_expr *x, int first, imgpar_dtype to)
{
    ip_expr *args[IP_X_MAX_ARGS];
    for (int a = 0; a < x->n_args; a++)
        args[a] = a < first ? x->arg[a] : ip_x_cast(ir, to, x->arg[a]);
    ip_expr *y = x->op == IP_X_SELECT ? ip_x_select(ir, args[0], args[1], args[2])
                 : x->n_args == 1     ? ip_x_unary(ir, x->op, args[0])
                                      : ip_x_binary(ir, x->op, args[0], args[1]);
    return is_comparison(x->op) ? y : ip_x_cast(ir, x->dtype, y);
}

static bool is_value(const ip_expr *x, int64_t value) { return x && is_number(x) && x->i == value; }

/* The dtype without a sign, of at most 16 bits, that a and b come from; x's own: there is none. */
static imgpar_dtype unsigned_of(const ip_expr *x, const ip_expr *a, const ip_expr *b)
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U8, IMGPAR_U16 };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        imgpar_dtype to = dtypes[k];
        bool are_small = size_of(a->dtype) <= size_of(to) && size_of(b->dtype) <= size_of(to);
        if (are_small && fits(a, to) && fits(b, to)) return to;
    }
    return x->dtype;
}

/* (a + b + 1) >> 1 */
static ip_expr *as_mean(ip_ir *ir, ip_expr *x)
{
    ip_linear form;
    if (x->op != IP_X_SHR || !is_value(x->arg[1], 1) || !ip_linear_of(ir, x, &form) || form.n_terms != 2) return x;
    const ip_linear_term *a = &form.terms[0], *b = &form.terms[1];
    bool wraps = a->value->hi + b->value->hi + 1 > ip_dtype(form.wide)->maximum;
    bool is_sum = !a->weight && !b->weight && !a->window && !b->window && is_value(form.start, 1) && !form.offset;
    imgpar_dtype to = is_sum && !wraps ? unsigned_of(x, a->value, b->value) : x->dtype;
    if (to == x->dtype) return x;
    ip_expr *mean = ip_x_binary(ir, IP_X_MEAN, ip_x_cast(ir, to, a->value), ip_x_cast(ir, to, b->value));
    return ip_x_cast(ir, x->dtype, mean);
}

/* The number that x was widened from. */
static ip_expr *without_cast(ip_expr *x)
{
    bool is_widened = x->op == IP_X_CAST && ip_dtype_is_integer(x->dtype) && ip_dtype_is_integer(x->arg[0]->dtype);
    return is_widened && fits(x->arg[0], x->dtype) ? x->arg[0] : x;
}

/* |a - b| of numbers without a sign: max(a, b) - min(a, b) has as many bits. */
static ip_expr *as_difference(ip_ir *ir, ip_expr *x)
{
    ip_expr *sub = x->arg[0];
    if (x->op != IP_X_ABS || sub->op != IP_X_SUB) return x;
    ip_expr *a = without_cast(sub->arg[0]), *b = without_cast(sub->arg[1]);
    imgpar_dtype to = unsigned_of(x, a, b);
    if (to == x->dtype) return x;
    a = ip_x_cast(ir, to, a);
    b = ip_x_cast(ir, to, b);
    ip_expr *y = ip_x_binary(ir, IP_X_SUB, ip_x_binary(ir, IP_X_MAX, a, b), ip_x_binary(ir, IP_X_MIN, a, b));
    return ip_x_cast(ir, x->dtype, y);
}

/* a * 0 + b */
static ip_expr *without_zero(ip_expr *x)
{
    for (int k = 0; k < 2 && x->op == IP_X_ADD; k++) {
        const ip_expr *product = x->arg[k];
        if (product->op == IP_X_MUL && (is_value(product->arg[0], 0) || is_value(product->arg[1], 0)))
            return x->arg[1 - k];
    }
    return x;
}

/*
 * Note [Low bits]
 * The lower bits of a sum, a difference and a product depend on no higher ones, so what a mask makes of them is
 * computed in 16 bits if the mask has no more, though what stands between may leave their range. That is done where
 * nothing has to be cut to 16 bits first but rows that may be kept as that, too (Note [Low bits of rows]). (A sum that
 * is also read without the mask is then computed twice.)
 */
enum { MOST_LOW = 200 }; /* nodes that are looked at: an expression is a graph, and the walk is along its paths */

/* Whether the lower bits of x are made of lower bits only; n counts down to 0. */
static bool has_low_bits(const narrowing *w, const ip_expr *x, imgpar_dtype to, int *n)
{
    if (--*n < 0 || !ip_dtype_is_integer(x->dtype)) return false;
    if (size_of(x->dtype) <= size_of(to) || is_number(x)) return true;
    switch (x->op) {
    case IP_X_LOAD: return --*n >= 0 && w->may_be_low[x->source->id]; /* counted as with the cast it will have */
    case IP_X_CAST: return ip_dtype_is_integer(x->arg[0]->dtype) && has_low_bits(w, x->arg[0], to, n);
    case IP_X_NEG: return has_low_bits(w, x->arg[0], to, n);
    case IP_X_ADD:
    case IP_X_SUB:
    case IP_X_MUL:
    case IP_X_AND:
    case IP_X_OR:
    case IP_X_XOR: return has_low_bits(w, x->arg[0], to, n) && has_low_bits(w, x->arg[1], to, n);
    case IP_X_SELECT: return has_low_bits(w, x->arg[1], to, n) && has_low_bits(w, x->arg[2], to, n);
    default: return false;
    }
}

/* The lower bits of x, of which has_low_bits() is true. */
static ip_expr *low_bits(ip_ir *ir, ip_expr *x, imgpar_dtype to)
{
    if (size_of(x->dtype) <= size_of(to) || is_number(x) || x->op == IP_X_LOAD) return ip_x_cast(ir, to, x);
    if (x->op == IP_X_CAST) return low_bits(ir, x->arg[0], to);
    ip_expr *args[IP_X_MAX_ARGS];
    for (int a = 0; a < x->n_args; a++)
        args[a] = a == 0 && x->op == IP_X_SELECT ? x->arg[a] : low_bits(ir, x->arg[a], to);
    return x->op == IP_X_SELECT ? ip_x_select(ir, args[0], args[1], args[2])
           : x->n_args == 1     ? ip_x_unary(ir, x->op, args[0])
                                : ip_x_binary(ir, x->op, args[0], args[1]);
}

/* Whether x is a & m with a mask m of at most 16 bits. */
static bool is_masked(const ip_expr *x)
{
    return x->op == IP_X_AND && is_number(x->arg[1]) && x->arg[1]->lo >= 0 && x->arg[1]->hi <= UINT16_MAX;
}

/* Whether x, of which is_masked() is true, wants no more than the low 16 bits of what it masks. */
static bool wants_low_bits(const narrowing *w, const ip_expr *x)
{
    int n = MOST_LOW;
    return size_of(x->dtype) > size_of(IMGPAR_U16) && has_low_bits(w, x->arg[0], IMGPAR_U16, &n);
}

/* x & m in as many bits as m has. */
static ip_expr *masked(const narrowing *w, ip_ir *ir, ip_expr *x)
{
    if (!is_masked(x)) return x;
    ip_expr *a = x->arg[0], *m = x->arg[1];
    const imgpar_dtype to = m->hi <= UINT8_MAX && a->op == IP_X_COORD ? IMGPAR_U8 : IMGPAR_U16;
    if (a->op != IP_X_COORD && !wants_low_bits(w, x)) return x;
    a = a->op == IP_X_COORD ? ip_x_cast(ir, to, a) : low_bits(ir, a, to);
    return ip_x_cast(ir, x->dtype, ip_x_binary(ir, IP_X_AND, a, ip_x_cast(ir, to, m)));
}

static ip_expr *mask_one(ip_ir *ir, ip_expr *x, void *user) { return masked(user, ir, x); }

static ip_expr *narrow_one(ip_ir *ir, ip_expr *x, void *user);

static void note_read(ip_expr *x, void *user)
{
    *(bool *)user |= x->op == IP_X_LOAD && x->source->kind != IP_STAGE_TABLE;
}

/* Indices that are computed from elements. Others stay as they are for who computes boxes of what they read. */
static ip_expr *narrow_indices(const narrowing *w, ip_ir *ir, ip_expr *load)
{
    ip_expr *args[IP_X_MAX_ARGS];
    for (int k = 0; k < load->n_args; k++) {
        bool is_read = false;
        if (k < 4) ip_x_walk(ir, load->arg[k], note_read, &is_read);
        args[k] = is_read ? ip_x_map_values(ir, load->arg[k], narrow_one, (void *)w) : load->arg[k];
    }
    return ip_x_with_args(ir, load, args);
}

/*
 * Note [Means of shorts]
 * A sum of a few numbers of 16 bits has more, and its quotient by d may have 16 again, as means have. With
 * w = floor(2^16 / d) the upper halves of the products a w, which processors give by themselves, add up to p. That is
 * at most the quotient, and less than 2 n below it for n numbers: each product is cut off by less than 1, and what w
 * lacks is less than 1 in all of a product. So what is left, the sum less p d, is told by its lower 16 bits. All is
 * done in 16 bits. Compilers find that instruction where they know the number, so it stands in the text (Note [Deciding
 * by values]).
 */
enum { MEAN_TERMS = 4 };

/* d, where x is the quotient of what stands in *sum by d (ops/divide.c, Note [Quotients by floats]); 0: it is none. */
static int64_t divisor_of(const ip_expr *x, ip_expr **sum)
{
    const ip_expr *product = x->op == IP_X_CAST && x->dtype == IMGPAR_I32 ? x->arg[0] : NULL;
    if (!product || product->op != IP_X_MUL || product->dtype != IMGPAR_F32) return 0;
    for (int k = 0; k < 2; k++) {
        const ip_expr *r = product->arg[k], *middle = product->arg[1 - k];
        if (r->op != IP_X_PARAM || !(r->f > 0) || r->f > 0.5 || middle->op != IP_X_ADD) continue;
        const ip_expr *a = middle->arg[0], *half = middle->arg[1];
        const double d = rint(1 / r->f);
        if (half->op != IP_X_CONST || half->f != 0.5 || a->op != IP_X_CAST || !ip_dtype_is_integer(a->arg[0]->dtype))
            continue;
        if (r->f != (double)(1.0F / (float)d)) continue;
        *sum = a->arg[0];
        return (int64_t)d;
    }
    return 0;
}

/* The upper half of the product of a, u16, with a number. */
static ip_expr *upper_half(ip_ir *ir, ip_expr *a, int64_t number)
{
    ip_expr *product = ip_x_binary(ir, IP_X_MUL, ip_x_cast(ir, IMGPAR_U32, a), ip_x_int(ir, IMGPAR_U32, number));
    return ip_x_cast(ir, IMGPAR_U16, ip_x_binary(ir, IP_X_SHR, product, ip_x_int(ir, IMGPAR_U32, 16)));
}

static ip_expr *as_mean_of_shorts(ip_ir *ir, ip_expr *x)
{
    ip_linear form;
    ip_expr *sum, *p = NULL, *low = NULL;
    const int64_t d = divisor_of(x, &sum), all = (int64_t)UINT16_MAX;
    if (d < 2 || sum->lo < 0 || sum->hi <= (double)all || x->hi > (double)all || !ip_linear_of(ir, sum, &form))
        return x;
    const int64_t start = form.start && is_number(form.start) ? form.start->i : 0;
    if (form.n_terms < 2 || form.n_terms > MEAN_TERMS || (form.start && !is_number(form.start)) || form.shift ||
        form.offset || form.divisor || start < 0 || (2 * form.n_terms * d + start) * d > all)
        return x;
    for (int k = 0; k < form.n_terms; k++) {
        const ip_linear_term *t = &form.terms[k];
        if (t->weight || t->window || t->n_loads != 1 || t->load[0]->dtype != IMGPAR_U16) return x;
        ip_expr *share = upper_half(ir, t->load[0], (all + 1) / d);
        p = p ? ip_x_binary(ir, IP_X_ADD, p, share) : share;
        low = low ? ip_x_binary(ir, IP_X_ADD, low, t->load[0]) : t->load[0];
    }
    if (form.start) low = ip_x_binary(ir, IP_X_ADD, low, ip_x_cast(ir, IMGPAR_U16, form.start));
    ip_expr *times = ip_x_binary(ir, IP_X_MUL, p, ip_x_int(ir, IMGPAR_U16, d));
    ip_expr *rest = ip_x_binary(ir, IP_X_SUB, low, times);
    ip_expr *left = ip_x_binary(ir, IP_X_IDIV, rest, ip_x_int(ir, IMGPAR_U16, d));
    return ip_x_cast(ir, x->dtype, ip_x_binary(ir, IP_X_ADD, p, left));
}

/*
 * Note [Means in 16 bits]
 * Where the sum of n numbers fits in 16 bits, or is cut down to them, its quotient by n is computed there, at a third
 * of the time of floats. The compiler must know the number for that; as many as the terms tell it, so no programs are
 * made that are not there anyway.
 */
/* How many numbers x is the sum of, or what is left of that by a mask; 0: it is none. */
static int n_summed(ip_ir *ir, ip_expr *x)
{
    ip_linear form;
    x = without_cast(x);
    if (x->op == IP_X_AND && ip_x_is_uniform(x->arg[1])) x = without_cast(x->arg[0]);
    if (!ip_linear_of(ir, x, &form) || form.shift || form.offset || form.divisor) return 0;
    int n = 0;
    for (int k = 0; k < form.n_terms; n += form.terms[k++].n_loads)
        if (form.terms[k].weight || form.terms[k].window || form.terms[k].n_loads == 0) return 0;
    return n;
}

static ip_expr *as_mean_in_shorts(ip_ir *ir, ip_expr *x)
{
    ip_expr *sum;
    const int64_t d = divisor_of(x, &sum);
    if (d < 3 || sum->lo < 0 || sum->hi > UINT16_MAX || n_summed(ir, sum) != d) return x;
    ip_expr *q = ip_x_binary(ir, IP_X_IDIV, ip_x_cast(ir, IMGPAR_U16, sum), ip_x_int(ir, IMGPAR_U16, d));
    return ip_x_cast(ir, x->dtype, q);
}

/*
 * Note [Limits of whole numbers]
 * A cast rounds towards 0, and of two numbers the larger is never rounded below the smaller. So what is limited and
 * then cast may be cast and then limited, whatever the limits, where all of them are in the range of the cast. Of
 * doubles a vector holds half as many as of ints.
 */
enum { MOST_LIMITS = 4 };

static bool is_limit(const ip_expr *x) { return x->op == IP_X_MIN || x->op == IP_X_MAX; }

/* Whether x is made of min and max, up to so many of them, of what i32 holds. A range that is finite has no NaN. */
static bool are_limits(const ip_expr *x, int most)
{
    if (!is_limit(x)) return isfinite(x->lo + x->hi) && fits(x, IMGPAR_I32);
    return most > 0 && are_limits(x->arg[0], most - 1) && are_limits(x->arg[1], most - 1);
}

static ip_expr *limit_of_casts(ip_ir *ir, ip_expr *x)
{
    if (!is_limit(x)) return ip_x_cast(ir, IMGPAR_I32, x);
    return ip_x_binary(ir, x->op, limit_of_casts(ir, x->arg[0]), limit_of_casts(ir, x->arg[1]));
}

static ip_expr *cast_before_limits(ip_ir *ir, ip_expr *x)
{
    ip_expr *a = x->arg[0];
    bool is_small = ip_dtype_is_integer(x->dtype) && size_of(x->dtype) <= size_of(IMGPAR_I32);
    if (!is_small || a->dtype != IMGPAR_F64 || !is_limit(a) || !are_limits(a, MOST_LIMITS)) return x;
    return ip_x_cast(ir, x->dtype, limit_of_casts(ir, a));
}

static ip_expr *narrow_one(ip_ir *ir, ip_expr *x, void *user)
{
    const narrowing *w = user;
    if (x->op == IP_X_CAST) return cast_before_limits(ir, as_mean_in_shorts(ir, as_mean_of_shorts(ir, x)));
    if (x->op == IP_X_LOAD) return narrow_indices(w, ir, x);
    if (x->op == IP_X_SATURATE) return ip_x_saturate(ir, x->dtype, without_cast(x->arg[0]));
    if (!is_narrowable[x->op]) return x;
    int first = x->op == IP_X_SELECT ? 1 : 0;
    imgpar_dtype dtype = x->arg[first]->dtype;
    if (!ip_dtype_is_integer(dtype)) return x;
    ip_expr *y = masked(w, ir, as_difference(ir, as_mean(ir, without_zero(x))));
    if (y != x) return y;
    /* 8 bits pay for choosing only: sums of bytes rarely fit in a byte. */
    bool chooses = x->op == IP_X_MIN || x->op == IP_X_MAX || x->op == IP_X_SELECT || is_comparison(x->op);
    for (int k = chooses ? 0 : 2; k < N_LADDER && size_of(ladder[k]) < size_of(dtype); k++)
        if (narrows_to(x, first, ladder[k])) return in_dtype(ir, x, first, ladder[k]);
    return x;
}

/* A load of a stage that has become narrow, as readers know it. */
static ip_expr *widened_load(const narrowing *n, ip_expr *load)
{
    ip_stage *s = load->source;
    imgpar_dtype was = n->was[s->id];
    if (was == s->dtype) return load;
    ip_expr *outside = load->n_args == 5 ? ip_x_cast(n->ir, s->dtype, load->arg[4]) : NULL;
    return ip_x_cast(n->ir, was, ip_x_load(n->ir, s, load->arg, load->border, outside));
}

static ip_expr *widen_loads(ip_ir *ir, ip_expr *x, void *user)
{
    (void)ir;
    return x->op == IP_X_LOAD ? widened_load(user, x) : x;
}

/* ---- stages ------------------------------------------------------------------------------------- */

static void note_outside(ip_expr *load, void *user)
{
    narrowing *n = user;
    int id = load->source->id;
    if (load->n_args < 5) return;
    n->lo[id] = fmin(n->lo[id], load->arg[4]->lo);
    n->hi[id] = fmax(n->hi[id], load->arg[4]->hi);
}

static void find_what_is_read(narrowing *n)
{
    for (int k = 0; k < n->ir->n_stages; k++) {
        ip_stage *s = n->ir->stages[k];
        n->was[k] = s->dtype;
        n->is_promised[k] |= s->kind != IP_STAGE_MAP || s->is_output || !ip_dtype_is_integer(s->dtype);
        for (int i = 0; s->opaque && i < s->opaque->n_inputs; i++)
            n->is_promised[s->opaque->inputs[i]->id] = true;
        if (ip_stage_computes(s)) ip_stage_each_load(n->ir, s, note_outside, n);
    }
}

/* The narrowest dtype that holds what s keeps; its own: none is narrower. */
static imgpar_dtype dtype_of_rows(const narrowing *n, const ip_stage *s)
{
    const double lo = fmin(n->lo[s->id], s->body->lo), hi = fmax(n->hi[s->id], s->body->hi);
    for (int k = 0; k < N_LADDER && !n->is_promised[s->id] && size_of(ladder[k]) < size_of(s->dtype); k++)
        if (holds(ladder[k], lo, hi)) return ladder[k];
    return s->dtype;
}

/*
 * Note [Low bits of rows]
 * A stage of whose elements all readers want the low 16 bits only, to mask them or to make such rows of them, keeps
 * only these, however large the elements are. Readers stand behind what they read, so one walk from the last stage to
 * the first tells. A reader that masks is rewritten before anything else of it (mask_one()), so that no sum of such
 * rows is left in more bits.
 */
enum { SEEN_LOW = 1, SEEN_WHOLE = 2 };

typedef struct demand {
    narrowing *narrowing;
    unsigned char *seen; /* by expression id */
} demand;

/* Notes the loads in x that want more than low bits; low: of x itself only these are wanted. */
static void note_demand(demand *d, const ip_expr *x, bool low)
{
    narrowing *n = d->narrowing;
    const unsigned char as = low ? SEEN_LOW : SEEN_WHOLE;
    if (d->seen[x->id] & as) return;
    d->seen[x->id] |= as;
    if (x->op == IP_X_LOAD && !low) n->is_low[x->source->id] = false;
    const bool masks = is_masked(x) && wants_low_bits(n, x);
    for (int k = 0; k < x->n_args; k++) {
        const bool keeps = low && size_of(x->dtype) > 2 && x->op != IP_X_LOAD && !(x->op == IP_X_SELECT && k == 0);
        note_demand(d, x->arg[k], keeps || (masks && k == 0));
    }
}

static void find_low_rows(narrowing *n)
{
    bool may = false;
    for (int k = 0; k < n->ir->n_stages; k++) {
        const ip_stage *s = n->ir->stages[k];
        n->may_be_low[k] = s->kind == IP_STAGE_MAP && s->body && !n->is_promised[k] && size_of(s->dtype) > 2 &&
                           size_of(dtype_of_rows(n, s)) > 2;
        n->is_low[k] = n->may_be_low[k];
        may |= n->may_be_low[k];
    }
    demand d = { n, may ? ip_ir_alloc(n->ir, n->ir->n_exprs + 1, sizeof *d.seen) : NULL };
    if (!d.seen) return;
    for (int k = n->ir->n_stages - 1; k >= 0; k--) {
        ip_stage *s = n->ir->stages[k];
        if (!ip_stage_computes(s)) continue;
        int most = MOST_LOW;
        n->is_low[k] = n->is_low[k] && has_low_bits(n, s->body, IMGPAR_U16, &most);
        n->has_low |= n->is_low[k];
        ip_expr *parts[IP_STAGE_PARTS];
        const int n_parts = ip_stage_exprs(s, parts);
        for (int p = 0; p < n_parts; p++)
            note_demand(&d, parts[p], n->is_low[k] && parts[p] == s->body);
    }
}

static void narrow_stage(narrowing *n, ip_stage *s)
{
    ip_expr **parts[IP_STAGE_PARTS];
    const int n_parts = ip_stage_parts(s, parts);
    for (int k = 0; k < n_parts; k++)
        *parts[k] = ip_x_map(n->ir, *parts[k], widen_loads, n);
    if (n->is_low[s->id]) s->body = low_bits(n->ir, s->body, IMGPAR_U16);
    for (int k = 0; k < n_parts && n->has_low; k++)
        *parts[k] = ip_x_map_values(n->ir, *parts[k], mask_one, n);
    s->body = ip_x_map_values(n->ir, s->body, narrow_one, n);
    for (int k = 0; k < s->n_more; k++)
        s->more[k].body = ip_x_map_values(n->ir, s->more[k].body, narrow_one, n);
    if (n->is_promised[s->id]) return;
    s->dtype = n->is_low[s->id] ? IMGPAR_U16 : dtype_of_rows(n, s);
    s->body = ip_x_cast(n->ir, s->dtype, s->body);
    if (n->is_low[s->id]) s->lo = s->body->lo, s->hi = s->body->hi;
    s->lo = fmax(s->lo, s->body->lo);
    s->hi = fmin(s->hi, s->body->hi);
}

imgpar_status ip_pass_narrow(ip_plan *plan, const ip_compile_options *options, ip_error *err)
{
    (void)options;
    ip_ir *ir = plan->ir;
    size_t count = (size_t)ir->n_stages + 1;
    narrowing n = { .ir = ir,
                    .was = ip_ir_alloc(ir, count, sizeof *n.was),
                    .lo = ip_ir_alloc(ir, count, sizeof *n.lo),
                    .hi = ip_ir_alloc(ir, count, sizeof *n.hi),
                    .is_promised = ip_ir_alloc(ir, count, sizeof *n.is_promised),
                    .may_be_low = ip_ir_alloc(ir, count, sizeof *n.may_be_low),
                    .is_low = ip_ir_alloc(ir, count, sizeof *n.is_low) };
    if (ir->failed) return ip_fail_memory(err, "compiling");
    find_what_is_read(&n);
    find_low_rows(&n);
    for (int k = 0; k < ir->n_stages && !ir->failed; k++)
        if (ip_stage_computes(ir->stages[k]) && ir->stages[k]->body) narrow_stage(&n, ir->stages[k]);
    return ir->failed ? ip_fail_memory(err, "compiling") : IMGPAR_OK;
}
