/* SPDX-License-Identifier: MIT */
/*
 * Stages of add, subtract, multiply, absdiff, minimum, maximum: the exact result,
 * rounded and saturated to the dtype of the first array.
 */
#include "ops/infer.h"
#include "ops/lower.h"

#include "base/dtype.h"

#include <math.h>

static ip_expr *op2(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }
/* The operation where nothing can overflow: in floats, or in an integer dtype that was chosen for it. */
static ip_expr *plain(ip_lower *l, ip_expr *a, ip_expr *b)
{
    switch ((ip_named)l->node->op->variant) {
    case IP_NAMED_ADD: return op2(l, IP_X_ADD, a, b);
    case IP_NAMED_SUB: return op2(l, IP_X_SUB, a, b);
    case IP_NAMED_MUL: return op2(l, IP_X_MUL, a, b);
    case IP_NAMED_MIN: return op2(l, IP_X_MIN, a, b);
    case IP_NAMED_MAX: return op2(l, IP_X_MAX, a, b);
    case IP_NAMED_ABSDIFF: break;
    }
    if (ip_dtype_is_float(a->dtype)) return ip_x_unary(l->ir, IP_X_ABS, op2(l, IP_X_SUB, a, b));
    return op2(l, IP_X_SUB, op2(l, IP_X_MAX, a, b), op2(l, IP_X_MIN, a, b));
}

/* ---- integers of up to 32 bits ----------------------------------------------------------- */

/* The dtype that holds both operands and the result. */
static imgpar_dtype room_for(ip_lower *l, const ip_expr *a, const ip_expr *b)
{
    double lo = fmin(a->lo, b->lo), hi = fmax(a->hi, b->hi);
    switch ((ip_named)l->node->op->variant) {
    case IP_NAMED_ADD: lo = fmin(lo, a->lo + b->lo), hi = fmax(hi, a->hi + b->hi); break;
    case IP_NAMED_SUB: lo = fmin(lo, a->lo - b->hi), hi = fmax(hi, a->hi - b->lo); break;
    case IP_NAMED_ABSDIFF: hi = fmax(hi, hi - lo); break;
    case IP_NAMED_MUL:
        lo = fmin(lo, fmin(fmin(a->lo * b->lo, a->lo * b->hi), fmin(a->hi * b->lo, a->hi * b->hi)));
        hi = fmax(hi, fmax(fmax(a->lo * b->lo, a->lo * b->hi), fmax(a->hi * b->lo, a->hi * b->hi)));
        break;
    default: break;
    }
    if (lo >= INT32_MIN && hi <= INT32_MAX) return IMGPAR_I32;
    if (lo >= 0) return hi <= UINT32_MAX ? IMGPAR_U32 : IMGPAR_U64;
    return IMGPAR_I64;
}

/* ---- 64-bit integers: the saturated result without a wider dtype ---------------------------- */

static ip_expr *least(ip_lower *l, imgpar_dtype w) { return ip_x_int(l->ir, w, w == IMGPAR_U64 ? 0 : INT64_MIN); }
static ip_expr *most(ip_lower *l, imgpar_dtype w) { return ip_x_int(l->ir, w, w == IMGPAR_U64 ? -1 : INT64_MAX); }

/* a + b with b limited to what keeps the sum inside. */
static ip_expr *wide_add(ip_lower *l, ip_expr *a, ip_expr *b)
{
    imgpar_dtype w = a->dtype;
    ip_expr *zero = ip_x_int(l->ir, w, 0);
    ip_expr *up = op2(l, IP_X_SUB, most(l, w), op2(l, IP_X_MAX, a, zero));
    ip_expr *down = op2(l, IP_X_SUB, least(l, w), op2(l, IP_X_MIN, a, zero));
    return op2(l, IP_X_ADD, a, op2(l, IP_X_MIN, op2(l, IP_X_MAX, b, down), up));
}

/* a - b with b limited: from a - most to a - least, neither of which may leave the dtype. */
static ip_expr *wide_sub(ip_lower *l, ip_expr *a, ip_expr *b)
{
    imgpar_dtype w = a->dtype;
    if (w == IMGPAR_U64) return op2(l, IP_X_SUB, a, op2(l, IP_X_MIN, a, b));
    ip_expr *minus_one = ip_x_int(l->ir, w, -1);
    ip_expr *from = op2(l, IP_X_SUB, op2(l, IP_X_MAX, a, minus_one), most(l, w));
    ip_expr *to = op2(l, IP_X_SUB, op2(l, IP_X_MIN, a, minus_one), least(l, w));
    return op2(l, IP_X_SUB, a, op2(l, IP_X_MIN, op2(l, IP_X_MAX, b, from), to));
}

/* The product in u64, or limit where it is larger. */
static ip_expr *limited_product(ip_lower *l, ip_expr *a, ip_expr *b, ip_expr *limit)
{
    ip_expr *p = op2(l, IP_X_MUL, a, b), *zero = ip_x_int(l->ir, IMGPAR_U64, 0);
    ip_expr *wrapped = op2(l, IP_X_AND, op2(l, IP_X_NE, a, zero), op2(l, IP_X_NE, op2(l, IP_X_IDIV, p, a), b));
    return ip_x_select(l->ir, wrapped, limit, op2(l, IP_X_MIN, p, limit));
}

static ip_expr *wide_mul(ip_lower *l, ip_expr *a, ip_expr *b)
{
    if (a->dtype == IMGPAR_U64) return limited_product(l, a, b, most(l, IMGPAR_U64));
    ip_expr *zero = ip_x_int(l->ir, IMGPAR_I64, 0);
    ip_expr *negative = op2(l, IP_X_LT, op2(l, IP_X_XOR, a, b), zero);
    ip_expr *limit =
        ip_x_select(l->ir, negative, ip_x_int(l->ir, IMGPAR_U64, INT64_MIN), ip_x_int(l->ir, IMGPAR_U64, INT64_MAX));
    ip_expr *size_a =
        ip_x_cast(l->ir, IMGPAR_U64, ip_x_select(l->ir, op2(l, IP_X_LT, a, zero), op2(l, IP_X_SUB, zero, a), a));
    ip_expr *size_b =
        ip_x_cast(l->ir, IMGPAR_U64, ip_x_select(l->ir, op2(l, IP_X_LT, b, zero), op2(l, IP_X_SUB, zero, b), b));
    ip_expr *p = ip_x_cast(l->ir, IMGPAR_I64, limited_product(l, size_a, size_b, limit));
    return ip_x_select(l->ir, negative, op2(l, IP_X_SUB, zero, p), p);
}

/* |a - b| never leaves u64. */
static ip_expr *wide_absdiff(ip_lower *l, ip_expr *a, ip_expr *b)
{
    ip_expr *large = ip_x_cast(l->ir, IMGPAR_U64, op2(l, IP_X_MAX, a, b));
    ip_expr *small = ip_x_cast(l->ir, IMGPAR_U64, op2(l, IP_X_MIN, a, b));
    ip_expr *d = op2(l, IP_X_SUB, large, small);
    if (a->dtype == IMGPAR_U64) return d;
    return ip_x_cast(l->ir, IMGPAR_I64, op2(l, IP_X_MIN, d, ip_x_int(l->ir, IMGPAR_U64, INT64_MAX)));
}

static ip_expr *wide(ip_lower *l, ip_expr *a, ip_expr *b)
{
    switch ((ip_named)l->node->op->variant) {
    case IP_NAMED_ADD: return wide_add(l, a, b);
    case IP_NAMED_SUB: return wide_sub(l, a, b);
    case IP_NAMED_MUL: return wide_mul(l, a, b);
    case IP_NAMED_ABSDIFF: return wide_absdiff(l, a, b);
    default: return plain(l, a, b);
    }
}

/* ---- signed with unsigned ------------------------------------------------------------------- */

/*
 * No dtype holds u64 and signed integers: such operands have a sign and a size of 64 bits each. Sizes that would be
 * larger than u64 holds are its largest number, beyond every result.
 */
typedef struct whole {
    ip_expr *size, *is_negative;
} whole;

static whole whole_of(ip_lower *l, ip_expr *x)
{
    if (x->dtype == IMGPAR_U64) return (whole){ x, ip_x_int(l->ir, IMGPAR_BOOL, 0) };
    ip_expr *zero = ip_x_int(l->ir, IMGPAR_I64, 0), *is_negative = op2(l, IP_X_LT, x, zero);
    ip_expr *size = ip_x_select(l->ir, is_negative, op2(l, IP_X_SUB, zero, x), x);
    return (whole){ ip_x_cast(l->ir, IMGPAR_U64, size), is_negative };
}

static whole opposite(ip_lower *l, whole a) { return (whole){ a.size, ip_x_unary(l->ir, IP_X_NOT, a.is_negative) }; }

static whole whole_sum(ip_lower *l, whole a, whole b)
{
    ip_expr *room = op2(l, IP_X_SUB, most(l, IMGPAR_U64), a.size);
    ip_expr *sum = op2(l, IP_X_ADD, a.size, op2(l, IP_X_MIN, b.size, room));
    ip_expr *rest = op2(l, IP_X_SUB, op2(l, IP_X_MAX, a.size, b.size), op2(l, IP_X_MIN, a.size, b.size));
    ip_expr *are_alike = op2(l, IP_X_EQ, a.is_negative, b.is_negative);
    ip_expr *sign = ip_x_select(l->ir, op2(l, IP_X_LT, a.size, b.size), b.is_negative, a.is_negative);
    return (whole){ ip_x_select(l->ir, are_alike, sum, rest), sign };
}

/* Saturated to w, i64 or u64. */
static ip_expr *within(ip_lower *l, imgpar_dtype w, whole a)
{
    ip_expr *zero = ip_x_int(l->ir, w, 0);
    if (w == IMGPAR_U64) return ip_x_select(l->ir, a.is_negative, zero, a.size);
    ip_expr *limit = ip_x_select(l->ir, a.is_negative, ip_x_int(l->ir, IMGPAR_U64, INT64_MIN),
                                 ip_x_int(l->ir, IMGPAR_U64, INT64_MAX));
    ip_expr *size = ip_x_cast(l->ir, w, op2(l, IP_X_MIN, a.size, limit));
    return ip_x_select(l->ir, a.is_negative, op2(l, IP_X_SUB, zero, size), size);
}

/* Of a and b in i64 or u64, each as it has its own numbers. */
static ip_expr *mixed(ip_lower *l, imgpar_dtype w, ip_expr *x, ip_expr *y)
{
    const whole a = whole_of(l, x), b = whole_of(l, y);
    switch ((ip_named)l->node->op->variant) {
    case IP_NAMED_ADD: return within(l, w, whole_sum(l, a, b));
    case IP_NAMED_SUB: return within(l, w, whole_sum(l, a, opposite(l, b)));
    case IP_NAMED_ABSDIFF: {
        ip_expr *never = ip_x_int(l->ir, IMGPAR_BOOL, 0);
        return within(l, w, (whole){ whole_sum(l, a, opposite(l, b)).size, never });
    }
    case IP_NAMED_MUL: {
        ip_expr *size = limited_product(l, a.size, b.size, most(l, IMGPAR_U64));
        return within(l, w, (whole){ size, op2(l, IP_X_NE, a.is_negative, b.is_negative) });
    }
    default: return plain(l, within(l, w, a), within(l, w, b)); /* the extreme of what is limited */
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Literals straight from double. */
static ip_expr *operand(ip_lower *l, int k, imgpar_dtype dtype)
{
    double v;
    if (ip_array_is_number(l->node->inputs[k], &v, NULL)) return ip_lower_literal(l, dtype, v);
    return ip_lower_convert(l, dtype, ip_lower_value(l, k));
}

/* The dtype of 64 bits that holds what input k is: w where that does. */
static imgpar_dtype sign_kept(ip_lower *l, int k, imgpar_dtype w)
{
    const imgpar_dtype dtype = l->node->inputs[k]->type.dtype;
    double v;
    if (ip_array_is_number(l->node->inputs[k], &v, NULL)) return v < 0 ? IMGPAR_I64 : v >= 0x1p63 ? IMGPAR_U64 : w;
    return dtype == IMGPAR_U64 ? dtype : ip_dtype(dtype)->is_signed ? IMGPAR_I64 : w;
}

ip_stage *ip_stages_pair(ip_lower *l)
{
    ip_expr *a = ip_lower_value(l, 0), *b = ip_lower_value(l, 1);
    imgpar_dtype dtype = l->node->type.dtype;
    if (ip_dtype_is_float(a->dtype) || ip_dtype_is_float(b->dtype)) {
        imgpar_dtype f = ip_float_for_inputs(l->node);
        return ip_lower_map(l, plain(l, operand(l, 0, f), operand(l, 1, f)));
    }
    if (ip_is_wide_integer(a->dtype) || ip_is_wide_integer(b->dtype)) {
        const bool is_wide = ip_is_wide_integer(dtype);
        if (!is_wide) dtype = IMGPAR_I64; /* u64 for a narrower result: saturated to i64 first */
        const imgpar_dtype of_a = is_wide ? sign_kept(l, 0, dtype) : dtype,
                           of_b = is_wide ? sign_kept(l, 1, dtype) : dtype;
        const bool is_mixed = of_a != dtype || of_b != dtype;
        a = operand(l, 0, of_a);
        b = operand(l, 1, of_b);
        return ip_lower_map(l, is_mixed ? mixed(l, dtype, a, b) : wide(l, a, b));
    }
    imgpar_dtype w = room_for(l, a, b);
    return ip_lower_map(l, plain(l, operand(l, 0, w), operand(l, 1, w)));
}
