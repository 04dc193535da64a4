/* SPDX-License-Identifier: MIT */
/*
 * Ranges: interval arithmetic over expressions. Integer results that may leave their
 * dtype get the dtype's whole range, since they wrap. Float intervals are widened by a
 * little for rounding. An infinite interval says "anything, NaN included".
 */
#include "base/dtype.h"
#include "ir/internal.h"

#include <math.h>

typedef struct interval {
    double lo, hi;
} interval;

void ip_range_of_dtype(imgpar_dtype dtype, double *lo, double *hi)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    *lo = facts->is_float ? -INFINITY : facts->minimum;
    *hi = facts->is_float ? INFINITY : facts->maximum;
}

static interval of(const ip_expr *x) { return (interval){ x->lo, x->hi }; }

static interval product(interval a, interval b)
{
    double p[4] = { a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi };
    interval r = { INFINITY, -INFINITY };
    for (int k = 0; k < 4; k++) {
        if (isnan(p[k])) /* 0 * infinity */
            return (interval){ -INFINITY, INFINITY };
        r.lo = fmin(r.lo, p[k]);
        r.hi = fmax(r.hi, p[k]);
    }
    return r;
}

static interval sum(interval a, interval b)
{
    interval r = { a.lo + b.lo, a.hi + b.hi };
    if (isnan(r.lo) || isnan(r.hi)) return (interval){ -INFINITY, INFINITY };
    return r;
}

static interval squared(interval a)
{
    const double least = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, most = fmax(fabs(a.lo), fabs(a.hi));
    return (interval){ least * least, most * most };
}

static interval negated(interval a) { return (interval){ -a.hi, -a.lo }; }
static interval join(interval a, interval b) { return (interval){ fmin(a.lo, b.lo), fmax(a.hi, b.hi) }; }
static bool is_finite(interval a) { return isfinite(a.lo) && isfinite(a.hi); }

/* Of a NaN, which an infinite interval admits, and a number it is the number. */
static interval smaller(interval a, interval b)
{
    if (!is_finite(a) && !is_finite(b)) return join(a, b);
    return (interval){ fmin(a.lo, b.lo), !is_finite(a) ? b.hi : !is_finite(b) ? a.hi : fmin(a.hi, b.hi) };
}

static interval integer_quotient(interval a, interval b)
{
    if (b.lo >= 1) /* a floor division by something positive moves towards 0 or -1 */
        return (interval){ a.lo < 0 ? floor(a.lo / b.lo) : floor(a.lo / b.hi),
                           a.hi < 0 ? floor(a.hi / b.hi) : floor(a.hi / b.lo) };
    double m = fmax(fabs(a.lo), fabs(a.hi));
    return (interval){ -m, m };
}

static interval modulo(interval a, interval b)
{
    if (b.lo >= 1 && a.lo >= 0) return (interval){ 0, fmin(a.hi, b.hi - 1) };
    return (interval){ fmin(b.lo + 1, 0), fmax(b.hi - 1, 0) };
}

/* The least 2^k - 1 that is not below v. */
static double all_ones(double v)
{
    double ones = 1;
    while (ones - 1 < v && ones < 1e19)
        ones *= 2;
    return ones - 1;
}

static interval bits(ip_xop op, interval a, interval b)
{
    if (op == IP_X_AND && (a.lo >= 0 || b.lo >= 0)) /* a mask without a sign takes the other's away */
        return (interval){ 0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : fmin(a.hi, b.hi) };
    if (a.lo < 0 || b.lo < 0) return (interval){ -INFINITY, INFINITY };
    return (interval){ 0, all_ones(fmax(a.hi, b.hi)) };
}

static interval saturated(const ip_expr *x)
{
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    interval a = of(x->arg[0]);
    interval r = { fmax(facts->minimum, rint(a.lo)), fmin(facts->maximum, rint(a.hi)) };
    if (!is_finite(a)) /* NaN becomes 0 */
        r = join(r, (interval){ 0, 0 });
    return (interval){ fmin(r.lo, facts->maximum), fmax(r.hi, facts->minimum) };
}

static interval window_range(const ip_expr *x)
{
    interval v = of(x->arg[0]);
    double taps = (double)x->taps_y * x->taps_x;
    if (x->fold == IP_FOLD_MIN || x->fold == IP_FOLD_MAX) return v;
    if (x->fold == IP_FOLD_PRODUCT) return (interval){ -INFINITY, INFINITY };
    if (x->fold == IP_FOLD_FMA) v = product(v, of(x->arg[1]));
    return product(v, (interval){ taps, taps });
}

/* Of a number with itself or its negative the product is a square, or less than 0. */
static interval product_of(const ip_expr *a, const ip_expr *b)
{
    if (a == b) return squared(of(a));
    if (b->op == IP_X_NEG && b->arg[0] == a) return negated(squared(of(a)));
    return product(of(a), of(b));
}

static interval raw(const ip_expr *x)
{
    const interval everything = { -INFINITY, INFINITY };
    interval a = x->n_args > 0 ? of(x->arg[0]) : everything, b = x->n_args > 1 ? of(x->arg[1]) : everything;
    switch (x->op) {
    case IP_X_ADD: return sum(a, b);
    case IP_X_SUB: return sum(a, negated(b));
    case IP_X_MUL: return product_of(x->arg[0], x->arg[1]);
    case IP_X_DIV: /* of a divisor that may be NaN nothing is known, though 1 / infinity is 0 */
        return is_finite(b) && (b.lo > 0 || b.hi < 0) ? product(a, (interval){ 1 / b.hi, 1 / b.lo }) : everything;
    case IP_X_IDIV: return join(integer_quotient(a, b), (interval){ 0, 0 });
    case IP_X_MOD: return modulo(a, b);
    case IP_X_MIN: return smaller(a, b);
    case IP_X_MAX: return negated(smaller(negated(a), negated(b)));
    case IP_X_AND:
    case IP_X_OR:
    case IP_X_XOR: return bits(x->op, a, b);
    case IP_X_MEAN: return (interval){ floor((a.lo + b.lo + 1) / 2), floor((a.hi + b.hi + 1) / 2) };
    case IP_X_SHR: return (interval){ fmin(a.lo, 0), a.hi < 0 ? -1 : a.hi }; /* moves towards 0 or -1 */
    case IP_X_LT:
    case IP_X_LE:
    case IP_X_EQ:
    case IP_X_NE:
    case IP_X_ISNAN: return (interval){ 0, 1 };
    case IP_X_SELECT: return join(b, of(x->arg[2]));
    case IP_X_FMA: return sum(product_of(x->arg[0], x->arg[1]), of(x->arg[2]));
    case IP_X_NEG: return negated(a);
    case IP_X_ABS: return (interval){ a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, fmax(fabs(a.lo), fabs(a.hi)) };
    case IP_X_NOT: return x->dtype == IMGPAR_BOOL ? (interval){ 0, 1 } : everything;
    case IP_X_FLOOR: return (interval){ floor(a.lo), floor(a.hi) };
    case IP_X_CEIL: return (interval){ ceil(a.lo), ceil(a.hi) };
    case IP_X_RINT: return (interval){ rint(a.lo), rint(a.hi) };
    case IP_X_TRUNC: return (interval){ trunc(a.lo), trunc(a.hi) };
    case IP_X_SQRT: return a.lo >= 0 && is_finite(a) ? (interval){ sqrt(a.lo), sqrt(a.hi) } : everything;
    case IP_X_SIN:
    case IP_X_COS: return is_finite(a) ? (interval){ -1, 1 } : everything;
    case IP_X_CAST: return x->dtype == IMGPAR_BOOL ? (interval){ 0, 1 } : a;
    case IP_X_SATURATE: return saturated(x);
    case IP_X_WINDOW: return window_range(x);
    default: return everything;
    }
}

/* Operations whose result may leave the range of their operands. */
static bool is_computed(ip_xop op)
{
    return op == IP_X_ADD || op == IP_X_SUB || op == IP_X_MUL || op == IP_X_NEG || op == IP_X_ABS || op == IP_X_IDIV ||
           op == IP_X_MOD || op == IP_X_WINDOW || op == IP_X_CAST || op == IP_X_SATURATE;
}

/* Operations of floats that round their result. The others give one of their operands, or the whole number beside. */
static bool rounds(const ip_expr *x)
{
    const ip_expr *a = x->arg[0];
    if (x->op == IP_X_CAST)
        return x->dtype == IMGPAR_F32 && (a->dtype == IMGPAR_F64 || fmax(fabs(a->lo), fabs(a->hi)) > 0x1p24);
    return x->op != IP_X_MIN && x->op != IP_X_MAX && x->op != IP_X_SELECT && x->op != IP_X_NEG && x->op != IP_X_ABS &&
           !(x->op >= IP_X_FLOOR && x->op <= IP_X_TRUNC);
}

void ip_range_infer(ip_expr *x)
{
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    interval r = raw(x);
    if (isnan(r.lo) || isnan(r.hi)) r = (interval){ -INFINITY, INFINITY };
    if (facts->is_float) {
        /* One operation rounds by 2^-24 of the size at most, of f32; a window's sum does so at every tap. */
        double slack = ldexp(fmax(fabs(r.lo), fabs(r.hi)), x->op == IP_X_WINDOW ? -12 : -20);
        if (rounds(x) && is_finite(r)) {
            if (r.lo != 0) /* a bound of 0 is kept: rounding never changes a sign */
                r.lo -= slack;
            if (r.hi != 0) r.hi += slack;
        }
        if (x->dtype == IMGPAR_F32 && is_finite(r) && fmax(fabs(r.lo), fabs(r.hi)) > 3.0e38)
            r = (interval){ -INFINITY, INFINITY };
    } else if (x->op == IP_X_CAST && ip_dtype(x->arg[0]->dtype)->is_float) {
        r.lo = fmax(trunc(r.lo), facts->minimum);
        r.hi = fmin(trunc(r.hi), facts->maximum);
    } else if (facts->size_bytes == 8 && is_computed(x->op) && (r.lo < -0x1p53 || r.hi > 0x1p53)) {
        r = (interval){ facts->minimum, facts->maximum }; /* beyond what a double tells exactly it may have wrapped */
    } else if (r.lo < facts->minimum || r.hi > facts->maximum) {
        r = (interval){ facts->minimum, facts->maximum };
    }
    x->lo = r.lo;
    x->hi = r.hi;
}
