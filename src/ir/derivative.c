/* SPDX-License-Identifier: MIT */
/*
 * Expressions are taken in the order of their ids, the largest first: all that reads one has a larger id, so its
 * cotangent is complete when its turn comes.
 *
 * Note [Cotangents of windows]
 * What a window folds is walked by a pass of its own, whose cotangents are those at a tap. What within it does not
 * depend on the taps is a leaf of that pass: the sum of its cotangents over the taps goes to the pass around it. The
 * cotangent of the window itself is kept as a stage first, so that no window stands within one of its own number. One
 * that depends on the taps of a window around it, as that of a sum of patches does which an exponential has made a
 * weight of, cannot be kept: there the pass walks the window under another number.
 *
 * Note [Networks of extremes]
 * A minimum of minima, or a network of both as a median is, has the value of one of its leaves. Of those that have it,
 * and from which minima and maxima of that value lead to the result, each counts for an equal part. For an order
 * statistic these are all that are equal to it, since each of them may be moved by less than any difference so that it
 * is the one that is taken. Node by node halves would be halved again on the way, other ones for each leaf.
 */
#include "ir/derivative.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>
#include <string.h>

typedef struct cell {
    ip_expr *x, *cotangent;
} cell;

enum { MOST_EXTREMES = 1024 }; /* nodes and leaves of a network that is looked at as one */

/* The walk of the body of a window, or of the whole expression. */
typedef struct pass {
    ip_derivation *d;
    const ip_frame *frame;
    struct pass *outer;
    signed char *active; /* by id: 0 not known, 1 active, -1 not */
    size_t n_known;
    cell *cells; /* that wait for their turn */
    size_t n, capacity;
} pass;

imgpar_dtype ip_x_smooth_dtype(imgpar_dtype dtype)
{
    return dtype == IMGPAR_F64 || dtype == IMGPAR_I64 || dtype == IMGPAR_U64 ? IMGPAR_F64 : IMGPAR_F32;
}

/* ---- which windows ---------------------------------------------------------------------------- */

typedef struct tap_search {
    int window;
    bool found;
} tap_search;

static bool look_for_tap(ip_expr *x, void *user)
{
    tap_search *s = user;
    if (x->op == IP_X_TAP) s->found |= x->window == s->window;
    return !s->found && x->uses & IP_USES_TAP && !(x->op == IP_X_WINDOW && x->window == s->window);
}

bool ip_x_uses_window(ip_ir *ir, ip_expr *x, int window)
{
    tap_search s = { window, false };
    if (x->uses & IP_USES_TAP) ip_x_descend(ir, x, look_for_tap, &s);
    return s.found;
}

/* What a window folds, under another number. */
static ip_expr *renumbered(ip_ir *ir, const ip_expr *x, int k, int window)
{
    ip_expr *body = ip_x_put_tap(ir, x->arg[k], x->window, 0, ip_x_tap(ir, window, 0, x->taps_y));
    return ip_x_put_tap(ir, body, x->window, 1, ip_x_tap(ir, window, 1, x->taps_x));
}

/* ---- rules ------------------------------------------------------------------------------------ */

/* An operation x = op(a, b, c) and its cotangent g, which has ip_x_smooth_dtype() of x. */
typedef struct given {
    ip_ir *ir;
    ip_expr *x, *g;
    imgpar_dtype dtype;
} given;

/* What argument k counts for; NULL: nothing. */
typedef ip_expr *(*rule)(const given *v, int k);

static ip_expr *number(const given *v, double value) { return ip_x_float(v->ir, v->dtype, value); }

static ip_expr *as_number(const given *v, ip_expr *x)
{
    if (x->dtype == IMGPAR_BOOL) x = ip_x_cast(v->ir, IMGPAR_U8, x);
    return ip_x_cast(v->ir, v->dtype, x);
}

static ip_expr *arg(const given *v, int k) { return as_number(v, v->x->arg[k]); }
static ip_expr *result(const given *v) { return as_number(v, v->x); }

static ip_expr *add(const given *v, ip_expr *a, ip_expr *b) { return ip_x_binary(v->ir, IP_X_ADD, a, b); }
static ip_expr *sub(const given *v, ip_expr *a, ip_expr *b) { return ip_x_binary(v->ir, IP_X_SUB, a, b); }
static ip_expr *mul(const given *v, ip_expr *a, ip_expr *b) { return ip_x_binary(v->ir, IP_X_MUL, a, b); }
static ip_expr *divide(const given *v, ip_expr *a, ip_expr *b) { return ip_x_binary(v->ir, IP_X_DIV, a, b); }
static ip_expr *unary(const given *v, ip_xop op, ip_expr *a) { return ip_x_unary(v->ir, op, a); }
static ip_expr *negative(const given *v, ip_expr *a) { return unary(v, IP_X_NEG, a); }
static ip_expr *square(const given *v, ip_expr *a) { return mul(v, a, a); }
static ip_expr *is(const given *v, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(v->ir, op, a, b); }

static ip_expr *where(const given *v, ip_expr *condition, ip_expr *value)
{
    return ip_x_select(v->ir, condition, value, number(v, 0));
}

/* g / d, 0 where d is 0. */
static ip_expr *per(const given *v, ip_expr *d)
{
    return where(v, is(v, IP_X_NE, d, number(v, 0)), divide(v, v->g, d));
}

static ip_expr *of_same(const given *v, int k) { return (void)k, v->g; }
static ip_expr *of_sub(const given *v, int k) { return k ? negative(v, v->g) : v->g; }
static ip_expr *of_mul(const given *v, int k) { return mul(v, v->g, arg(v, 1 - k)); }
static ip_expr *of_neg(const given *v, int k) { return (void)k, negative(v, v->g); }

static ip_expr *of_div(const given *v, int k)
{
    ip_expr *q = divide(v, v->g, arg(v, 1));
    return k ? negative(v, mul(v, q, result(v))) : q;
}

/* a - floor(a / b) b, of floats */
static ip_expr *of_mod(const given *v, int k)
{
    if (!ip_x_is_float(v->x)) return NULL;
    return k ? negative(v, mul(v, v->g, unary(v, IP_X_FLOOR, divide(v, arg(v, 0), arg(v, 1))))) : v->g;
}

static ip_expr *of_extreme(const given *v, int k)
{
    ip_expr *own = v->x->arg[k], *other = v->x->arg[1 - k];
    ip_expr *wins = v->x->op == IP_X_MIN ? is(v, IP_X_LT, own, other) : is(v, IP_X_LT, other, own);
    ip_expr *half = where(v, is(v, IP_X_EQ, own, other), mul(v, v->g, number(v, 0.5)));
    ip_expr *share = ip_x_select(v->ir, wins, v->g, half);
    if (!ip_x_is_float(own) || isfinite(other->lo + other->hi)) return share;
    ip_expr *own_is_number = is(v, IP_X_EQ, own, own); /* NaN loses */
    return ip_x_select(v->ir, is(v, IP_X_EQ, other, other), share, where(v, own_is_number, v->g));
}

static ip_expr *of_fma(const given *v, int k) { return k == 2 ? v->g : mul(v, v->g, arg(v, 1 - k)); }

static ip_expr *of_select(const given *v, int k)
{
    if (k == 0) return NULL;
    ip_expr *zero = number(v, 0);
    return k == 1 ? ip_x_select(v->ir, v->x->arg[0], v->g, zero) : ip_x_select(v->ir, v->x->arg[0], zero, v->g);
}

static ip_expr *of_abs(const given *v, int k)
{
    ip_expr *a = v->x->arg[k], *zero = ip_x_number(v->ir, a->dtype, 0);
    return ip_x_select(v->ir, is(v, IP_X_LT, a, zero), negative(v, v->g), where(v, is(v, IP_X_LT, zero, a), v->g));
}

static ip_expr *of_sqrt(const given *v, int k) { return (void)k, per(v, mul(v, number(v, 2), result(v))); }

/* a^b: b a^(b - 1), and a^b log a; the logarithm only where a is above 0 */
static ip_expr *of_pow(const given *v, int k)
{
    ip_expr *a = arg(v, 0), *b = arg(v, 1), *zero = number(v, 0);
    if (k == 1) {
        ip_expr *positive = is(v, IP_X_LT, zero, a);
        ip_expr *safe = ip_x_select(v->ir, positive, a, number(v, 1));
        return where(v, positive, mul(v, v->g, mul(v, result(v), unary(v, IP_X_LOG, safe))));
    }
    ip_expr *less = ip_x_binary(v->ir, IP_X_POW, a, sub(v, b, number(v, 1)));
    double exponent;
    ip_expr *d = mul(v, v->g, mul(v, b, less));
    if (ip_x_is_const(b, &exponent) && exponent >= 1) return d;
    ip_expr *infinite = is(v, IP_X_EQ, a, zero);
    ip_expr *is_flat = is(v, IP_X_EQ, b, zero);
    ip_expr *is_steep = ip_x_binary(v->ir, IP_X_AND, infinite, is(v, IP_X_LT, b, number(v, 1)));
    return ip_x_select(v->ir, ip_x_binary(v->ir, IP_X_OR, is_flat, is_steep), zero, d);
}

/* of (y, x): x / (x^2 + y^2), -y / (x^2 + y^2) */
static ip_expr *of_atan2(const given *v, int k)
{
    ip_expr *y = arg(v, 0), *x = arg(v, 1);
    ip_expr *share = per(v, add(v, square(v, x), square(v, y)));
    return k ? negative(v, mul(v, share, y)) : mul(v, share, x);
}

/* To floats; between integers as the numbers that they are. */
static ip_expr *of_cast(const given *v, int k)
{
    bool rounds = !ip_x_is_float(v->x) && ip_x_is_float(v->x->arg[k]);
    return rounds || v->x->dtype == IMGPAR_BOOL ? NULL : v->g;
}

/* Of integers, where nothing is cut off. */
static ip_expr *of_saturate(const given *v, int k)
{
    ip_expr *a = v->x->arg[k];
    if (ip_x_is_float(v->x)) return v->g;
    if (ip_x_is_float(a)) return NULL;
    const ip_dtype_facts *facts = ip_dtype(v->x->dtype);
    if (a->lo >= facts->minimum && a->hi <= facts->maximum) return v->g;
    imgpar_dtype f = IMGPAR_F64;
    ip_expr *wide = ip_x_cast(v->ir, f, a);
    return where(v, is(v, IP_X_EQ, wide, ip_x_cast(v->ir, f, v->x)), v->g);
}

static ip_expr *of_exp(const given *v, int k) { return (void)k, mul(v, v->g, result(v)); }
static ip_expr *of_exp2(const given *v, int k)
{
    return (void)k, mul(v, v->g, mul(v, number(v, 0.693147180559945309417), result(v)));
}
static ip_expr *of_expm1(const given *v, int k) { return (void)k, mul(v, v->g, add(v, result(v), number(v, 1))); }
static ip_expr *of_log(const given *v, int k) { return divide(v, v->g, arg(v, k)); }
static ip_expr *of_log2(const given *v, int k)
{
    return divide(v, v->g, mul(v, number(v, 0.693147180559945309417), arg(v, k)));
}
static ip_expr *of_log10(const given *v, int k)
{
    return divide(v, v->g, mul(v, number(v, 2.30258509299404568402), arg(v, k)));
}
static ip_expr *of_log1p(const given *v, int k) { return divide(v, v->g, add(v, number(v, 1), arg(v, k))); }
static ip_expr *of_cbrt(const given *v, int k) { return (void)k, per(v, mul(v, number(v, 3), square(v, result(v)))); }
static ip_expr *of_fifth_root(const given *v, int k)
{
    return (void)k, per(v, mul(v, number(v, 5), square(v, square(v, result(v)))));
}
static ip_expr *of_rsqrt(const given *v, int k)
{
    ip_expr *x = result(v);
    return (void)k, mul(v, v->g, mul(v, number(v, -0.5), mul(v, x, square(v, x))));
}
static ip_expr *of_sin(const given *v, int k) { return mul(v, v->g, unary(v, IP_X_COS, arg(v, k))); }
static ip_expr *of_cos(const given *v, int k) { return negative(v, mul(v, v->g, unary(v, IP_X_SIN, arg(v, k)))); }
static ip_expr *of_tan(const given *v, int k)
{
    return (void)k, mul(v, v->g, add(v, number(v, 1), square(v, result(v))));
}

/* g / sqrt(to + sign a^2) */
static ip_expr *per_root(const given *v, ip_expr *a, double to, double sign)
{
    return per(v, unary(v, IP_X_SQRT, add(v, number(v, to), mul(v, number(v, sign), square(v, a)))));
}

static ip_expr *of_asin(const given *v, int k) { return per_root(v, arg(v, k), 1, -1); }
static ip_expr *of_acos(const given *v, int k) { return negative(v, of_asin(v, k)); }
static ip_expr *of_atan(const given *v, int k) { return divide(v, v->g, add(v, number(v, 1), square(v, arg(v, k)))); }
static ip_expr *of_sinh(const given *v, int k) { return mul(v, v->g, unary(v, IP_X_COSH, arg(v, k))); }
static ip_expr *of_cosh(const given *v, int k) { return mul(v, v->g, unary(v, IP_X_SINH, arg(v, k))); }
static ip_expr *of_tanh(const given *v, int k)
{
    return (void)k, mul(v, v->g, sub(v, number(v, 1), square(v, result(v))));
}
static ip_expr *of_asinh(const given *v, int k) { return per_root(v, arg(v, k), 1, 1); }
static ip_expr *of_acosh(const given *v, int k) { return per_root(v, arg(v, k), -1, 1); }
static ip_expr *of_atanh(const given *v, int k) { return divide(v, v->g, sub(v, number(v, 1), square(v, arg(v, k)))); }
/* 2 / sqrt(pi) exp(-a^2) */
static ip_expr *of_erf(const given *v, int k)
{
    ip_expr *bell = unary(v, IP_X_EXP, negative(v, square(v, arg(v, k))));
    return mul(v, v->g, mul(v, number(v, 1.12837916709551257390), bell));
}
/*
 * The logarithmic derivative of the gamma function (Abramowitz, Stegun, 6.3): below 1/2 by reflection, psi(1 - a) -
 * pi / tan(pi a), then psi(b) = psi(b + 8) - 1 / b - ... - 1 / (b + 7), and the asymptotic series.
 */
static ip_expr *digamma(const given *v, ip_expr *a)
{
    enum { STEPS = 8 };
    static const double series[] = { -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12 };
    const double pi = 3.14159265358979323846;
    ip_expr *one = number(v, 1), *is_low = is(v, IP_X_LT, a, number(v, 0.5));
    ip_expr *b = ip_x_select(v->ir, is_low, sub(v, one, a), a), *sum = number(v, 0);
    for (int k = 0; k < STEPS; k++)
        sum = add(v, sum, divide(v, one, add(v, b, number(v, k))));
    ip_expr *far = add(v, b, number(v, STEPS)), *z = divide(v, one, square(v, far)), *tail = number(v, 1.0 / 132);
    for (size_t k = 0; k < sizeof series / sizeof *series; k++)
        tail = add(v, mul(v, tail, z), number(v, series[k]));
    ip_expr *psi = sub(v, unary(v, IP_X_LOG, far), divide(v, number(v, 0.5), far));
    psi = sub(v, sub(v, psi, mul(v, tail, z)), sum);
    ip_expr *rest = sub(v, a, unary(v, IP_X_RINT, a)); /* tan() has the period pi */
    ip_expr *turn = divide(v, number(v, pi), unary(v, IP_X_TAN, mul(v, number(v, pi), rest)));
    return sub(v, psi, where(v, is_low, turn));
}
static ip_expr *of_lgamma(const given *v, int k) { return mul(v, v->g, digamma(v, arg(v, k))); }
static ip_expr *of_tgamma(const given *v, int k) { return mul(v, v->g, mul(v, result(v), digamma(v, arg(v, k)))); }
static ip_expr *of_nextafter(const given *v, int k) { return k ? NULL : v->g; }
static ip_expr *of_erfc(const given *v, int k) { return negative(v, of_erf(v, k)); }

/* What is not here has derivative 0, but for windows and loops, which are walked. */
static const rule rules[IP_X_N] = {
    [IP_X_ADD] = of_same,          [IP_X_SUB] = of_sub,
    [IP_X_MUL] = of_mul,           [IP_X_DIV] = of_div,
    [IP_X_MOD] = of_mod,           [IP_X_MIN] = of_extreme,
    [IP_X_MAX] = of_extreme,       [IP_X_POW] = of_pow,
    [IP_X_ATAN2] = of_atan2,       [IP_X_SELECT] = of_select,
    [IP_X_FMA] = of_fma,           [IP_X_NEG] = of_neg,
    [IP_X_ABS] = of_abs,           [IP_X_SQRT] = of_sqrt,
    [IP_X_EXP] = of_exp,           [IP_X_HALF_EXP] = of_exp,
    [IP_X_EXP2] = of_exp2,         [IP_X_EXPM1] = of_expm1,
    [IP_X_LOG] = of_log,           [IP_X_LOG2] = of_log2,
    [IP_X_LOG10] = of_log10,       [IP_X_LOG1P] = of_log1p,
    [IP_X_CBRT] = of_cbrt,         [IP_X_RSQRT] = of_rsqrt,
    [IP_X_SIN] = of_sin,           [IP_X_COS] = of_cos,
    [IP_X_TAN] = of_tan,           [IP_X_ASIN] = of_asin,
    [IP_X_ACOS] = of_acos,         [IP_X_ATAN] = of_atan,
    [IP_X_SINH] = of_sinh,         [IP_X_COSH] = of_cosh,
    [IP_X_TANH] = of_tanh,         [IP_X_ASINH] = of_asinh,
    [IP_X_ACOSH] = of_acosh,       [IP_X_ATANH] = of_atanh,
    [IP_X_ERF] = of_erf,           [IP_X_LGAMMA] = of_lgamma,
    [IP_X_TGAMMA] = of_tgamma,     [IP_X_NEXTAFTER] = of_nextafter,
    [IP_X_ERFC] = of_erfc,         [IP_X_CAST] = of_cast,
    [IP_X_SATURATE] = of_saturate, [IP_X_FIFTH_ROOT] = of_fifth_root,
};

/* ---- what depends on wanted leaves ------------------------------------------------------------------ */

/* d is the copy of reads_wanted(), whose failure says "found". */
static bool look_for_wanted(ip_expr *x, void *user)
{
    const ip_derivation *d = user;
    if (x->op == IP_X_LOAD && d->wants(x, d->user)) ((ip_derivation *)user)->failure = "";
    return true;
}

/* Whether anything wanted is read at all, as an index or a condition too. */
static bool reads_wanted(const ip_derivation *d, ip_expr *x)
{
    ip_derivation search = *d;
    search.failure = NULL;
    ip_x_descend(d->ir, x, look_for_wanted, &search);
    return search.failure != NULL;
}

static bool is_cut(const ip_expr *x, int k)
{
    const bool to_whole = !ip_x_is_float(x) && ip_x_is_float(x->arg[k]);
    if (x->op == IP_X_CAST || x->op == IP_X_SATURATE) return to_whole || x->dtype == IMGPAR_BOOL;
    return (x->op == IP_X_SELECT && k == 0) || (x->op == IP_X_MOD && !ip_x_is_float(x));
}

/* Whether x changes smoothly with a wanted leaf. */
static bool is_active(pass *p, ip_expr *x)
{
    if (x->id >= p->n_known || p->active[x->id]) return x->id < p->n_known && p->active[x->id] > 0;
    bool active = false;
    if (x->op == IP_X_LOAD)
        active = p->d->wants(x, p->d->user) || (x->n_args == 5 && is_active(p, x->arg[4]));
    else if (x->op == IP_X_ACC)
        active = p->d->wants(x, p->d->user);
    else if (x->op == IP_X_RESULT || x->op == IP_X_LOOP)
        active = reads_wanted(p->d, x);
    else if (x->op == IP_X_WINDOW || rules[x->op])
        for (int k = 0; k < x->n_args && !active; k++)
            active = !is_cut(x, k) && is_active(p, x->arg[k]);
    p->active[x->id] = active ? 1 : -1;
    return active;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static void fail(ip_derivation *d, const char *what)
{
    if (!d->failure) d->failure = what;
}

/* x counts for g more. */
static void count(pass *p, ip_expr *x, ip_expr *g)
{
    double value;
    ip_ir *ir = p->d->ir;
    if (!is_active(p, x) || (ip_x_is_const(g, &value) && value == 0)) return;
    g = ip_x_cast(ir, ip_x_smooth_dtype(x->dtype), g);
    if (p->frame && !ip_x_uses_window(ir, x, p->frame->window)) {
        const ip_frame *f = p->frame;
        const double taps = (double)f->taps_y * f->taps_x;
        ip_expr *sum = ip_x_uses_window(ir, g, f->window)
                           ? ip_x_fold_taps(ir, IP_FOLD_SUM, f->window, f->taps_y, f->taps_x, g)
                           : ip_x_binary(ir, IP_X_MUL, g, ip_x_float(ir, g->dtype, taps));
        count(p->outer, x, sum);
        return;
    }
    for (size_t k = 0; k < p->n; k++)
        if (p->cells[k].x == x) {
            p->cells[k].cotangent = ip_x_binary(ir, IP_X_ADD, p->cells[k].cotangent, g);
            return;
        }
    if (p->n == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 32;
        cell *cells = ip_realloc_array(p->cells, capacity, sizeof *cells);
        if (!cells) {
            ir->failed = true;
            return;
        }
        p->cells = cells;
        p->capacity = capacity;
    }
    p->cells[p->n++] = (cell){ x, g };
}

static void walk(pass *p);

/* Where a load reads beyond the edges. */
static ip_expr *is_outside(ip_ir *ir, const ip_expr *load)
{
    ip_expr *outside = ip_x_int(ir, IMGPAR_BOOL, 0), *zero = ip_x_int(ir, IMGPAR_I32, 0);
    for (int k = 0; k < 4; k++) {
        ip_expr *extent = ip_x_param(ir, IMGPAR_I32, (double)load->source->dims[k], 1, INT32_MAX);
        ip_expr *below = ip_x_binary(ir, IP_X_LT, load->arg[k], zero),
                *beyond = ip_x_binary(ir, IP_X_LE, extent, load->arg[k]);
        outside = ip_x_binary(ir, IP_X_OR, outside, ip_x_binary(ir, IP_X_OR, below, beyond));
    }
    return outside;
}

static void load_counts(pass *p, ip_expr *x, ip_expr *g)
{
    ip_derivation *d = p->d;
    if (d->wants(x, d->user)) d->emit(x, g, p->frame, d->user);
    if (x->n_args == 5 && is_active(p, x->arg[4])) {
        ip_expr *zero = ip_x_float(d->ir, g->dtype, 0);
        count(p, x->arg[4], ip_x_select(d->ir, is_outside(d->ir, x), g, zero));
    }
}

static ip_expr *times(pass *p, ip_expr *g, ip_expr *x)
{
    return ip_x_binary(p->d->ir, IP_X_MUL, g, ip_x_cast(p->d->ir, g->dtype, x));
}

/* Elements that equal the extreme share alike. */
static ip_expr *share_of_extreme(pass *p, ip_expr *x, ip_expr *g)
{
    ip_derivation *d = p->d;
    ip_ir *ir = d->ir;
    if (p->frame) {
        fail(d, "an extreme within another window");
        return g;
    }
    ip_expr *extreme = d->keep(x, d->user), *one = ip_x_float(ir, g->dtype, 1), *zero = ip_x_float(ir, g->dtype, 0);
    ip_expr *equals = ip_x_binary(ir, IP_X_EQ, x->arg[0], extreme);
    ip_expr *n = d->keep(
        ip_x_fold_taps(ir, IP_FOLD_SUM, x->window, x->taps_y, x->taps_x, ip_x_select(ir, equals, one, zero)), d->user);
    return ip_x_select(ir, equals, ip_x_binary(ir, IP_X_DIV, g, n), zero);
}

/* Note [Cotangents of windows] */
static void window_counts(pass *p, ip_expr *x, ip_expr *g)
{
    ip_derivation *d = p->d;
    const int window = p->frame ? ip_x_new_window(d->ir) : x->window;
    const ip_frame frame = { window, x->taps_y, x->taps_x, p->frame };
    ip_expr *body[2] = { NULL, NULL };
    for (int k = 0; k < x->n_args; k++)
        body[k] = renumbered(d->ir, x, k, window);
    pass inner = { .d = d, .frame = &frame, .outer = p, .n_known = d->ir->n_exprs };
    inner.active = ip_zalloc(inner.n_known);
    if (!inner.active) {
        d->ir->failed = true;
        return;
    }
    if (!p->frame && g->uses) g = d->keep(g, d->user);
    switch (x->fold) {
    case IP_FOLD_SUM: count(&inner, body[0], g); break;
    case IP_FOLD_FMA:
        count(&inner, body[0], times(p, g, body[1]));
        count(&inner, body[1], times(p, g, body[0]));
        break;
    case IP_FOLD_MIN:
    case IP_FOLD_MAX: count(&inner, body[0], share_of_extreme(p, x, g)); break;
    default: fail(d, "the product of a window"); break;
    }
    walk(&inner);
    ip_free(inner.cells);
    ip_free(inner.active);
}

/* A node of a network of extremes, or a leaf; led: whether it has the result's value and leads to it. */
typedef struct extreme {
    ip_expr *x, *led;
    bool is_leaf;
} extreme;

typedef struct network {
    pass *p;
    ip_expr *root;
    size_t n, n_promised; /* nodes, and those that there are at most when all have been looked at */
    extreme nodes[MOST_EXTREMES];
} network;

static bool is_extreme(const ip_expr *x) { return x->op == IP_X_MIN || x->op == IP_X_MAX; }

/* x is an operand of a node of the network that led there. */
static void add_extreme(network *w, ip_expr *x, ip_expr *led)
{
    size_t k = 0;
    while (k < w->n && w->nodes[k].x != x)
        k++;
    if (k < w->n) {
        w->nodes[k].led = ip_x_binary(w->p->d->ir, IP_X_OR, w->nodes[k].led, led);
        return;
    }
    const bool has_room = w->n_promised + 2 <= MOST_EXTREMES; /* for operands of its own */
    const bool is_leaf = !has_room || !is_extreme(x) || x->dtype != w->root->dtype || !is_active(w->p, x);
    if (!is_leaf) w->n_promised += 2;
    w->nodes[w->n++] = (extreme){ x, led, is_leaf };
}

/* The node with the largest id below one; NULL: there is none. */
static extreme *next_extreme(network *w, unsigned below)
{
    extreme *next = NULL;
    for (size_t k = 0; k < w->n; k++)
        if (!w->nodes[k].is_leaf && w->nodes[k].x->id < below && (!next || w->nodes[k].x->id > next->x->id))
            next = &w->nodes[k];
    return next;
}

/* Note [Networks of extremes] */
static void network_counts(pass *p, ip_expr *root, ip_expr *g)
{
    ip_ir *ir = p->d->ir;
    ip_expr *one = ip_x_float(ir, g->dtype, 1), *zero = ip_x_float(ir, g->dtype, 0), *n = zero;
    network *w = ip_zalloc(sizeof *w);
    if (!w) {
        ir->failed = true;
        return;
    }
    w->p = p;
    w->root = root;
    w->n_promised = 2;
    for (int k = 0; k < 2; k++)
        add_extreme(w, root->arg[k], ip_x_int(ir, IMGPAR_BOOL, 1));
    for (extreme *e = next_extreme(w, root->id); e; e = next_extreme(w, e->x->id)) {
        ip_expr *x = e->x, *led = ip_x_binary(ir, IP_X_AND, e->led, ip_x_binary(ir, IP_X_EQ, x, root));
        for (int k = 0; k < 2; k++)
            add_extreme(w, x->arg[k], led);
    }
    for (size_t k = 0; k < w->n; k++) {
        extreme *e = &w->nodes[k];
        if (!e->is_leaf) continue;
        e->led = ip_x_binary(ir, IP_X_AND, e->led, ip_x_binary(ir, IP_X_EQ, e->x, root));
        n = ip_x_binary(ir, IP_X_ADD, n, ip_x_select(ir, e->led, one, zero));
    }
    /* none is led where all are NaN */
    ip_expr *share = ip_x_binary(ir, IP_X_DIV, g, ip_x_binary(ir, IP_X_MAX, n, one));
    for (size_t k = 0; k < w->n; k++)
        if (w->nodes[k].is_leaf) count(p, w->nodes[k].x, ip_x_select(ir, w->nodes[k].led, share, zero));
    ip_free(w);
}

/* Whether x is more than one minimum or maximum of things that may change. */
static bool is_network(pass *p, const ip_expr *x)
{
    if (!is_extreme(x)) return false;
    for (int k = 0; k < 2; k++) {
        ip_expr *a = x->arg[k];
        if (!is_extreme(a) || a->dtype != x->dtype || !is_active(p, a)) continue;
        if (is_active(p, x->arg[1 - k]) || (is_active(p, a->arg[0]) && is_active(p, a->arg[1])) || is_network(p, a))
            return true;
    }
    return false;
}

static void counts(pass *p, ip_expr *x, ip_expr *g)
{
    ip_derivation *d = p->d;
    if (is_network(p, x)) {
        network_counts(p, x, g);
        return;
    }
    const given v = { .ir = d->ir, .x = x, .g = g, .dtype = g->dtype };
    switch (x->op) {
    case IP_X_LOAD: load_counts(p, x, g); break;
    case IP_X_ACC: d->emit(x, g, p->frame, d->user); break;
    case IP_X_WINDOW: window_counts(p, x, g); break;
    case IP_X_LOOP:
    case IP_X_RESULT: fail(d, "iterate() whose elements stop by themselves"); break;
    default:
        for (int k = 0; k < x->n_args; k++) {
            ip_expr *of = is_active(p, x->arg[k]) && !is_cut(x, k) ? rules[x->op](&v, k) : NULL;
            if (of) count(p, x->arg[k], of);
        }
    }
}

static void walk(pass *p)
{
    while (p->n > 0 && !p->d->failure && !p->d->ir->failed) {
        size_t last = 0;
        for (size_t k = 1; k < p->n; k++)
            if (p->cells[k].x->id > p->cells[last].x->id) last = k;
        const cell c = p->cells[last];
        p->cells[last] = p->cells[--p->n];
        counts(p, c.x, c.cotangent);
    }
}

void ip_x_reverse(ip_derivation *d, ip_expr *root, ip_expr *seed)
{
    pass p = { .d = d, .n_known = d->ir->n_exprs };
    p.active = ip_zalloc(p.n_known);
    if (!p.active) {
        d->ir->failed = true;
        return;
    }
    count(&p, root, seed);
    walk(&p);
    ip_free(p.cells);
    ip_free(p.active);
}
