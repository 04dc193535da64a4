/* SPDX-License-Identifier: MIT */
/*
 * Rewrite rules: each row is an operation, the function that tries the rule, and
 * the rule as an equation. A rule must hold for every value under the semantics at
 * the head of expr.h, wrapping, NaN and signed zeros included; where ranges make
 * it hold, the rule checks them.
 */
#include "base/dtype.h"
#include "ir/internal.h"

#include <math.h>
#include <stddef.h>

typedef ip_expr *(*rule_fn)(ip_ir *ir, const ip_expr *x);

static bool is_value(const ip_expr *x, double value)
{
    double v;
    return ip_x_is_const(x, &v) && v == value && !(v == 0 && signbit(v));
}

static bool fits(const ip_expr *x, imgpar_dtype dtype)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    return x->lo >= facts->minimum && x->hi <= facts->maximum;
}

static ip_expr *fold_constants(ip_ir *ir, const ip_expr *x)
{
    ip_expr *result;
    return ip_fold_constants(ir, x, &result) ? result : NULL;
}

static bool commutes(ip_xop op)
{
    return op == IP_X_ADD || op == IP_X_MUL || op == IP_X_AND || op == IP_X_OR || op == IP_X_XOR || op == IP_X_EQ ||
           op == IP_X_NE;
}

static ip_expr *constant_right(ip_ir *ir, const ip_expr *x)
{
    if (commutes(x->op) && x->arg[0]->op == IP_X_CONST && x->arg[1]->op != IP_X_CONST)
        return ip_x_binary(ir, x->op, x->arg[1], x->arg[0]);
    return NULL;
}

static ip_expr *add_zero(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    return !ip_x_is_float(x) && is_value(x->arg[1], 0) ? x->arg[0] : NULL;
}

static ip_expr *add_digits(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    for (int k = 0; k < 2 && !ip_x_is_float(x); k++) {
        const ip_expr *product = x->arg[k], *rest = x->arg[1 - k];
        if (product->op != IP_X_MUL || rest->op != IP_X_MOD || product->arg[0]->op != IP_X_IDIV) continue;
        const ip_expr *quotient = product->arg[0];
        if (product->arg[1] == rest->arg[1] && quotient->arg[1] == rest->arg[1] && quotient->arg[0] == rest->arg[0] &&
            !is_value(rest->arg[1], 0) && rest->arg[1]->op == IP_X_CONST)
            return rest->arg[0];
    }
    return NULL;
}

static ip_expr *add_constants(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *inner = x->arg[0];
    if (ip_x_is_float(x) || x->arg[1]->op != IP_X_CONST || inner->op != IP_X_ADD || inner->arg[1]->op != IP_X_CONST)
        return NULL;
    return ip_x_binary(ir, IP_X_ADD, inner->arg[0],
                       ip_x_int(ir, x->dtype, (int64_t)((uint64_t)inner->arg[1]->i + (uint64_t)x->arg[1]->i)));
}

static ip_expr *sub_constant(ip_ir *ir, const ip_expr *x)
{
    if (ip_x_is_float(x) || !ip_dtype(x->dtype)->is_signed || x->arg[1]->op != IP_X_CONST) return NULL;
    return ip_x_binary(ir, IP_X_ADD, x->arg[0], ip_x_int(ir, x->dtype, (int64_t)(0 - (uint64_t)x->arg[1]->i)));
}

static ip_expr *sub_zero(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    return is_value(x->arg[1], 0) ? x->arg[0] : NULL;
}

static ip_expr *sub_self(ip_ir *ir, const ip_expr *x)
{
    return !ip_x_is_float(x) && x->arg[0] == x->arg[1] ? ip_x_int(ir, x->dtype, 0) : NULL;
}

static ip_expr *mul_one(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    return is_value(x->arg[1], 1) ? x->arg[0] : NULL;
}

static ip_expr *mul_zero(ip_ir *ir, const ip_expr *x)
{
    return !ip_x_is_float(x) && is_value(x->arg[1], 0) ? ip_x_int(ir, x->dtype, 0) : NULL;
}

static ip_expr *div_one(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    return is_value(x->arg[1], 1) ? x->arg[0] : NULL;
}

/* The range of x is part of the program: no coordinate but the channel's is in it, whose extents are arguments. */
static bool has_own_range(const ip_expr *x) { return !(x->uses & IP_USES_COORDS & ~IP_USES_C); }

/* An integer expression a c + y with 0 <= y < c that does not wrap; y NULL: 0. */
typedef struct digits {
    ip_expr *a, *y;
} digits;

static bool has_digits(const ip_expr *x, const ip_expr *c, digits *d)
{
    const ip_expr *product = x->op == IP_X_ADD ? x->arg[0] : x;
    d->y = x->op == IP_X_ADD ? x->arg[1] : NULL;
    if (d->y && product->op != IP_X_MUL) {
        product = x->arg[1];
        d->y = x->arg[0];
    }
    if (product->op != IP_X_MUL || product->arg[1] != c || (d->y && !has_own_range(d->y))) return false;
    d->a = product->arg[0];
    double top = d->a->hi * c->hi + (d->y ? d->y->hi : 0);
    return d->a->lo >= 0 && top <= ip_dtype(x->dtype)->maximum && (!d->y || (d->y->lo >= 0 && d->y->hi < c->hi));
}

static ip_expr *divide_digits(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *c = x->arg[1];
    digits d;
    if (ip_x_is_float(x) || c->op != IP_X_CONST || c->lo < 1 || ip_dtype(x->dtype)->size_bytes == 8) return NULL;
    bool is_quotient = x->op == IP_X_IDIV;
    if (has_own_range(x->arg[0]) && x->arg[0]->lo >= 0 && x->arg[0]->hi < c->lo)
        return is_quotient ? ip_x_int(ir, x->dtype, 0) : x->arg[0];
    if (!has_digits(x->arg[0], c, &d)) return NULL;
    return is_quotient ? d.a : d.y ? d.y : ip_x_int(ir, x->dtype, 0);
}

static ip_expr *min_by_range(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    const ip_expr *a = x->arg[0], *b = x->arg[1];
    if (a == b) return x->arg[0];
    if (ip_x_is_float(x) || ip_dtype(x->dtype)->size_bytes == 8) /* ranges of 64-bit integers are rounded */
        return NULL;
    bool a_below = a->hi <= b->lo, b_below = b->hi <= a->lo;
    if (!a_below && !b_below) return NULL;
    return a_below == (x->op == IP_X_MIN) ? x->arg[0] : x->arg[1];
}

static ip_expr *less_by_range(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[0], *b = x->arg[1];
    if (ip_x_is_float(a) || ip_dtype(a->dtype)->size_bytes == 8) /* ranges of 64-bit integers are rounded */
        return NULL;
    if (x->op == IP_X_LT ? a->hi < b->lo : a->hi <= b->lo) return ip_x_int(ir, IMGPAR_BOOL, 1);
    if (x->op == IP_X_LT ? a->lo >= b->hi : a->lo > b->hi) return ip_x_int(ir, IMGPAR_BOOL, 0);
    return NULL;
}

/* Not of rows and columns, whose ranges are the picture's size: programs do not depend on that. */
static ip_expr *equal_by_range(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[0], *b = x->arg[1];
    bool are_apart = a->hi < b->lo || b->hi < a->lo;
    if (ip_x_is_float(a) || ip_dtype(a->dtype)->size_bytes == 8 || !are_apart ||
        (a->uses | b->uses) & (IP_USES_COORDS & ~IP_USES_C))
        return NULL;
    return ip_x_int(ir, IMGPAR_BOOL, x->op == IP_X_NE);
}

static ip_expr *logic_constant(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    if (x->dtype != IMGPAR_BOOL) return NULL;
    if (is_value(x->arg[1], x->op == IP_X_AND ? 1 : 0)) return x->arg[0];
    return is_value(x->arg[1], x->op == IP_X_AND ? 0 : 1) ? x->arg[1] : NULL;
}

static ip_expr *select_known(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    if (x->arg[1] == x->arg[2]) return x->arg[1];
    if (x->arg[0]->op != IP_X_CONST) return NULL;
    return x->arg[0]->i ? x->arg[1] : x->arg[2];
}

/* ---- choices: what is done with one of two constants is done with each -------------------- */

static bool is_choice(const ip_expr *x)
{
    return x->op == IP_X_SELECT && x->arg[1]->op == IP_X_CONST && x->arg[2]->op == IP_X_CONST;
}

static ip_expr *cast_choice(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[0];
    if (!is_choice(a)) return NULL;
    return ip_x_select(ir, a->arg[0], ip_x_cast(ir, x->dtype, a->arg[1]), ip_x_cast(ir, x->dtype, a->arg[2]));
}

static ip_expr *choice_with_constant(ip_ir *ir, const ip_expr *x)
{
    ip_expr *a = x->arg[0], *b = x->arg[1];
    if (is_choice(a) && b->op == IP_X_CONST)
        return ip_x_select(ir, a->arg[0], ip_x_binary(ir, x->op, a->arg[1], b), ip_x_binary(ir, x->op, a->arg[2], b));
    if (is_choice(b) && a->op == IP_X_CONST)
        return ip_x_select(ir, b->arg[0], ip_x_binary(ir, x->op, a, b->arg[1]), ip_x_binary(ir, x->op, a, b->arg[2]));
    return NULL;
}

static ip_expr *mul_choice(ip_ir *ir, const ip_expr *x)
{
    for (int side = 0; side < 2 && !ip_x_is_float(x); side++) {
        ip_expr *y = x->arg[1 - side];
        const ip_expr *s = x->arg[side];
        if (!is_choice(s) || !(is_value(s->arg[1], 0) || is_value(s->arg[2], 0))) continue;
        return ip_x_select(ir, s->arg[0], ip_x_binary(ir, IP_X_MUL, y, s->arg[1]),
                           ip_x_binary(ir, IP_X_MUL, y, s->arg[2]));
    }
    return NULL;
}

static ip_expr *add_complements(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[0], *b = x->arg[1];
    if (ip_x_is_float(x) || a->op != IP_X_SELECT || b->op != IP_X_SELECT || a->arg[0] != b->arg[0]) return NULL;
    bool complements =
        (is_value(a->arg[1], 0) || is_value(b->arg[1], 0)) && (is_value(a->arg[2], 0) || is_value(b->arg[2], 0));
    if (!complements) return NULL;
    return ip_x_select(ir, a->arg[0], ip_x_binary(ir, IP_X_ADD, a->arg[1], b->arg[1]),
                       ip_x_binary(ir, IP_X_ADD, a->arg[2], b->arg[2]));
}

static ip_expr *select_multiples(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[1], *b = x->arg[2];
    if (ip_x_is_float(x) || a->op != IP_X_MUL || b->op != IP_X_MUL || a->arg[1] != b->arg[1] ||
        a->arg[1]->op != IP_X_CONST)
        return NULL;
    return ip_x_binary(ir, IP_X_MUL, ip_x_select(ir, x->arg[0], a->arg[0], b->arg[0]), a->arg[1]);
}

static ip_expr *negate_twice(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    return x->arg[0]->op == x->op ? x->arg[0]->arg[0] : NULL;
}

static ip_expr *abs_of_positive(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    return !ip_x_is_float(x) && x->arg[0]->lo >= 0 ? x->arg[0] : NULL;
}

static ip_expr *round_whole(ip_ir *ir, const ip_expr *x)
{
    (void)ir;
    const ip_expr *a = x->arg[0];
    bool whole = !ip_x_is_float(a) || (a->op == IP_X_CAST && !ip_x_is_float(a->arg[0])) ||
                 (a->op >= IP_X_FLOOR && a->op <= IP_X_TRUNC);
    return whole ? x->arg[0] : NULL;
}

static ip_expr *cast_twice(ip_ir *ir, const ip_expr *x)
{
    ip_expr *a = x->arg[0];
    if (a->op != IP_X_CAST || x->dtype == IMGPAR_BOOL) return NULL;
    ip_expr *b = a->arg[0];
    /* The inner cast lost nothing: both dtypes hold the value exactly. */
    if (ip_x_is_float(b) || ip_dtype(b->dtype)->size_bytes > 4 || b->dtype == IMGPAR_BOOL) return NULL;
    bool exact = ip_x_is_float(a) ? fmax(fabs(b->lo), fabs(b->hi)) <= 16777216.0 : fits(b, a->dtype);
    return exact && (ip_x_is_float(x) || fits(b, x->dtype)) ? ip_x_cast(ir, x->dtype, b) : NULL;
}

static ip_expr *saturate_whole(ip_ir *ir, const ip_expr *x)
{
    ip_expr *a = x->arg[0];
    if (!ip_x_is_float(a) && fits(a, x->dtype) &&
        (ip_dtype(a->dtype)->size_bytes < 8 || ip_dtype(x->dtype)->size_bytes < 8))
        return ip_x_cast(ir, x->dtype, a);
    return NULL;
}

static bool is_rounded(const ip_expr *x) { return ip_x_is_float(x) && x->op >= IP_X_FLOOR && x->op <= IP_X_TRUNC; }

/* A cast to integers rounds towards 0: floor does so above 0 only. */
static bool is_truncated(const ip_expr *x)
{
    return is_rounded(x) && (x->op == IP_X_TRUNC || (x->op == IP_X_FLOOR && x->arg[0]->lo >= 0));
}

static bool is_in_range(const ip_expr *x, imgpar_dtype dtype) { return isfinite(x->lo + x->hi) && fits(x, dtype); }

static ip_expr *saturate_truncated(ip_ir *ir, const ip_expr *x)
{
    ip_expr *a = x->arg[0];
    bool is_small = ip_dtype(x->dtype)->size_bytes < 8;
    return is_small && is_truncated(a) && is_in_range(a, x->dtype) ? ip_x_cast(ir, x->dtype, a->arg[0]) : NULL;
}

/* Rounded, or limited to whole numbers after that. */
static bool is_whole_float(const ip_expr *x)
{
    if (x->op == IP_X_MIN || x->op == IP_X_MAX)
        return ip_x_is_float(x) && is_whole_float(x->arg[0]) && is_whole_float(x->arg[1]);
    return is_rounded(x) || (x->op == IP_X_CONST && ip_x_is_float(x) && x->f == floor(x->f));
}

static ip_expr *saturate_rounded(ip_ir *ir, const ip_expr *x)
{
    ip_expr *a = x->arg[0];
    bool is_small = ip_dtype(x->dtype)->size_bytes < 8;
    return is_small && is_whole_float(a) && is_in_range(a, x->dtype) ? ip_x_cast(ir, x->dtype, a) : NULL;
}

/* The maximum is taken first: what a cast gives beyond the range is not defined. f32 holds maxima of 16 bits, and casts
 * of 32 are no vector instruction on some processors. */
static ip_expr *saturate_from_above(ip_ir *ir, const ip_expr *x)
{
    ip_expr *a = x->arg[0];
    if (!is_truncated(a) || a->lo < 0 || !isfinite(a->hi) || ip_dtype(x->dtype)->size_bytes > 2) return NULL;
    ip_expr *maximum = ip_x_float(ir, a->dtype, ip_dtype(x->dtype)->maximum);
    return ip_x_cast(ir, x->dtype, ip_x_binary(ir, IP_X_MIN, a->arg[0], maximum));
}

static ip_expr *saturate_of_cast(ip_ir *ir, const ip_expr *x)
{
    ip_expr *a = x->arg[0];
    /* saturate(float(i)) -> saturate(i) where the float holds i exactly */
    if (a->op != IP_X_CAST || !ip_x_is_float(a) || ip_x_is_float(a->arg[0]) || a->arg[0]->dtype == IMGPAR_BOOL)
        return NULL;
    double exact = a->dtype == IMGPAR_F32 ? 16777216.0 : 9007199254740992.0;
    if (fmax(fabs(a->arg[0]->lo), fabs(a->arg[0]->hi)) > exact) return NULL;
    return ip_x_saturate(ir, x->dtype, a->arg[0]);
}

static const struct rule {
    ip_xop op;
    rule_fn fn;
    const char *equation;
} rules[] = {
    { IP_X_ADD, add_zero, "x + 0 -> x (integers: -0.0 + 0 is 0)" },
    { IP_X_ADD, add_constants, "(x + c) + d -> x + (c + d) (integers)" },
    { IP_X_ADD, add_digits, "(x div c) c + x mod c -> x where c is a constant other than 0 (integers)" },
    { IP_X_SUB, sub_zero, "x - 0 -> x" },
    { IP_X_SUB, sub_constant, "x - c -> x + -c (signed integers)" },
    { IP_X_SUB, sub_self, "x - x -> 0 (integers)" },
    { IP_X_MUL, mul_one, "x * 1 -> x" },
    { IP_X_MUL, mul_zero, "x * 0 -> 0 (integers)" },
    { IP_X_DIV, div_one, "x / 1 -> x" },
    { IP_X_IDIV, div_one, "x div 1 -> x" },
    { IP_X_IDIV, divide_digits, "x div c -> 0 where 0 <= x < c; (a c + y) div c -> a where 0 <= y < c (integers)" },
    { IP_X_MOD, divide_digits, "x mod c -> x where 0 <= x < c; (a c + y) mod c -> y where 0 <= y < c (integers)" },
    { IP_X_MIN, min_by_range, "min(x, y) -> x where x <= y always (integers); min(x, x) -> x" },
    { IP_X_MAX, min_by_range, "max(x, y) -> x where x >= y always (integers); max(x, x) -> x" },
    { IP_X_LT, less_by_range, "x < y -> 0 or 1 where the ranges decide it (integers)" },
    { IP_X_LE, less_by_range, "x <= y -> 0 or 1 where the ranges decide it (integers)" },
    { IP_X_EQ, equal_by_range, "x == y -> 0 where the ranges are apart (integers)" },
    { IP_X_NE, equal_by_range, "x != y -> 1 where the ranges are apart (integers)" },
    { IP_X_AND, logic_constant, "x && 1 -> x; x && 0 -> 0" },
    { IP_X_OR, logic_constant, "x || 0 -> x; x || 1 -> 1" },
    { IP_X_SELECT, select_known, "1 ? x : y -> x; 0 ? x : y -> y; c ? x : x -> x" },
    { IP_X_SELECT, select_multiples, "c ? x k : y k -> (c ? x : y) k (integers)" },
    { IP_X_CAST, cast_choice, "a(c ? k : l) -> c ? a(k) : a(l)" },
    { IP_X_ADD, choice_with_constant, "(c ? k : l) + m -> c ? k + m : l + m" },
    { IP_X_SUB, choice_with_constant, "(c ? k : l) - m -> c ? k - m : l - m, and m - (c ? k : l)" },
    { IP_X_MUL, choice_with_constant, "(c ? k : l) m -> c ? k m : l m" },
    { IP_X_MUL, mul_choice, "x (c ? k : 0) -> c ? x k : 0 (integers)" },
    { IP_X_ADD, add_complements, "(c ? x : 0) + (c ? 0 : y) -> c ? x : y (integers)" },
    { IP_X_NEG, negate_twice, "-(-x) -> x" },
    { IP_X_NOT, negate_twice, "~~x -> x" },
    { IP_X_ABS, abs_of_positive, "abs(x) -> x where x >= 0 (integers)" },
    { IP_X_FLOOR, round_whole, "floor(x) -> x where x is whole" },
    { IP_X_CEIL, round_whole, "ceil(x) -> x where x is whole" },
    { IP_X_RINT, round_whole, "rint(x) -> x where x is whole" },
    { IP_X_TRUNC, round_whole, "trunc(x) -> x where x is whole" },
    { IP_X_CAST, cast_twice, "b(a(x)) -> b(x) where a and b hold x exactly" },
    { IP_X_SATURATE, saturate_whole, "saturate(x) -> cast(x) where x is an integer in range" },
    { IP_X_SATURATE, saturate_truncated, "saturate(trunc(x)) -> cast(x) where it is in range; floor where x >= 0" },
    { IP_X_SATURATE, saturate_rounded,
      "saturate(floor(x)) -> cast(floor(x)) where it is in range; ceil, rint, trunc; limited" },
    { IP_X_SATURATE, saturate_from_above, "saturate(floor(x)) -> cast(min(x, maximum)) where x >= 0; trunc" },
    { IP_X_SATURATE, saturate_of_cast, "saturate(float(i)) -> saturate(i) where the float is exact" },
};

ip_expr *ip_rules_apply(ip_ir *ir, const ip_expr *x)
{
    ip_expr *y = fold_constants(ir, x);
    if (!y) y = constant_right(ir, x);
    for (size_t k = 0; !y && k < sizeof rules / sizeof *rules; k++)
        if (rules[k].op == x->op) y = rules[k].fn(ir, x);
    return y;
}
