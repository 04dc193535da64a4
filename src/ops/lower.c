/* SPDX-License-Identifier: MIT */
/*
 * Helpers of lowering. Nothing here checks for NULL expressions: the builders of
 * ir/expr.h never return one, and a missing stage is noticed where it is read.
 */
#include "ops/lower.h"

#include "base/dtype.h"
#include "base/status.h"
#include "ops/complex.h"
#include "ops/coverage.h"
#include "ops/infer.h"
#include "ops/view.h"

#include <math.h>
#include <string.h>

/* The dtype of an element, or of a part of it, in expressions. */
static imgpar_dtype loaded_dtype(imgpar_dtype dtype) { return dtype == IMGPAR_F16 ? IMGPAR_F32 : ip_dtype_part(dtype); }

/* ---- coordinates and reading --------------------------------------------------------- */

ip_expr *ip_lower_i32(ip_lower *l, int64_t value) { return ip_x_int(l->ir, IMGPAR_I32, value); }

ip_expr *ip_lower_coord(ip_lower *l, int dim)
{
    if (dim != 3 || !ip_type_is_complex(&l->node->type)) return ip_x_coord(l->ir, dim, l->dims[dim]);
    return ip_x_binary(l->ir, IP_X_IDIV, ip_x_coord(l->ir, dim, 2 * l->dims[dim]), ip_lower_i32(l, 2));
}

/* The coordinate, or 0 where an operand has one element for all of the node's. */
static ip_expr *broadcast_coord(ip_lower *l, int64_t extent, int dim)
{
    return extent == 1 && l->dims[dim] != 1 ? ip_lower_i32(l, 0) : ip_lower_coord(l, dim);
}

/* Operands of at() have the dims of what it makes; those of the others broadcast by axes, and so does what states start
 * from: of lines along the last of three axes it looks as if it had channels. */
static bool broadcasts(const ip_lower *l, int k)
{
    const ip_op *op = l->node->op;
    if (op->lower == ip_stages_scan_states) return true;
    return k < op->info.n_inputs && op->flags & IP_OP_ELEMENTWISE && op->lower != ip_stages_at;
}

void ip_lower_place(ip_lower *l, int k, ip_expr *index[4])
{
    const ip_type *from = &l->node->inputs[k]->type, *to = &l->node->type;
    int64_t dims[4];
    ip_type_dims(from, dims);
    for (int dim = 0; dim < 4; dim++)
        index[dim] = broadcast_coord(l, dims[dim], dim);
    if (broadcasts(l, k) && (ip_type_is_folded(from) || ip_type_is_folded(to))) {
        ip_expr *at[IP_MAX_AXES];
        for (int axis = 0; axis < from->rank; axis++)
            at[axis] = from->shape[axis] == 1 ? NULL : ip_axis_coord(l, ip_broadcast_axis(from, to, axis));
        ip_axes_index(l, from, at, index);
        return;
    }
    for (int axis = 0; axis < from->rank && broadcasts(l, k); axis++) {
        int dim = ip_type_axis_dim(from, axis), as = ip_type_axis_dim(to, ip_broadcast_axis(from, to, axis));
        if (dim != as) index[dim] = from->shape[axis] == 1 ? ip_lower_i32(l, 0) : ip_lower_coord(l, as);
    }
}

ip_expr *ip_lower_in(ip_lower *l, int k)
{
    double v;
    if (ip_array_is_number(l->node->inputs[k], &v, NULL)) return ip_lower_literal(l, l->node->inputs[k]->type.dtype, v);
    ip_expr *index[4];
    ip_lower_place(l, k, index);
    return ip_x_load(l->ir, l->in[k], index, IP_BORDER_NONE, NULL);
}

ip_expr *ip_lower_read(ip_lower *l, ip_stage *stage, ip_expr *dz, ip_expr *dy, ip_expr *dx, int border, ip_expr *cval)
{
    if (!stage) return ip_x_load(l->ir, NULL, NULL, border, NULL);
    ip_expr *const offset[3] = { dz, dy, dx };
    ip_expr *index[4];
    for (int dim = 0; dim < 3; dim++)
        index[dim] = ip_x_binary(l->ir, IP_X_ADD, ip_lower_coord(l, dim), offset[dim]);
    index[3] = broadcast_coord(l, stage->dims[3], 3);
    return ip_x_load(l->ir, stage, index, border, border == IMGPAR_BORDER_CONSTANT ? cval : NULL);
}

static ip_expr *as_value(ip_lower *l, ip_expr *x)
{
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}

ip_expr *ip_lower_value(ip_lower *l, int k) { return as_value(l, ip_lower_in(l, k)); }

ip_expr *ip_lower_read_value(ip_lower *l, ip_stage *stage, ip_expr *dz, ip_expr *dy, ip_expr *dx, int border,
                             ip_expr *cval)
{
    return as_value(l, ip_lower_read(l, stage, dz, dy, dx, border, cval));
}

/* ---- numbers ---------------------------------------------------------------------------- */

/* The least 2^k - 1, k from `bits` on, that the size of value does not exceed. */
static double all_ones(double value, int bits)
{
    double ones = ldexp(1, bits) - 1;
    while (ones < fabs(value))
        ones = 2 * ones + 1;
    return ones;
}

ip_expr *ip_lower_argument(ip_lower *l, imgpar_dtype dtype, double value)
{
    if (dtype == IMGPAR_BOOL) return ip_x_int(l->ir, IMGPAR_BOOL, value > 0.5);
    if (!isfinite(value)) return ip_x_number(l->ir, loaded_dtype(dtype), value);
    double least = ip_dtype(dtype)->is_float && fabs(value) >= 1 ? 1 : 0, most = all_ones(value, 1);
    if (most >= 0x1p24) most += 1; /* f32 has no such 2^k - 1: the number may be rounded up to 2^k */
    return ip_x_param(l->ir, loaded_dtype(dtype), value, value < 0 ? -most : least, value < 0 ? -least : most);
}

ip_expr *ip_lower_white(ip_lower *l, imgpar_dtype dtype, double full)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    if (!facts->is_float) full = fmin(fmax(rint(full), facts->minimum), fmin(facts->maximum, 0x1p62));
    bool is_of_depth = full == 1 || full == 255 || full == 65535 || full == facts->maximum;
    return is_of_depth ? ip_x_number(l->ir, loaded_dtype(dtype), full) : ip_lower_argument(l, dtype, full);
}

ip_expr *ip_lower_whole(ip_lower *l, ip_expr *number, int bits)
{
    double most = all_ones(number->lo, bits);
    if (number->dtype == IMGPAR_BOOL) return number;
    return ip_x_param_of(l->ir, number, number->lo < 0 ? -most : 0, number->lo < 0 ? 0 : most);
}

/* Whether the float dtype has all values of x, an integer. */
static bool has_all_of(imgpar_dtype dtype, const ip_expr *x)
{
    const double most = dtype == IMGPAR_F64 ? 0x1p53 : 0x1p24;
    return x->lo >= -most && x->hi <= most;
}

static ip_expr *both(ip_ir *ir, ip_expr *a, ip_expr *b) { return ip_x_binary(ir, IP_X_AND, a, b); }

/* a op b, one an integer and the other a float that has not all of its dtype: the float becomes an integer, rounded to
 * the side that does not change the answer. What lies beyond the integer's dtype is compared with its ends, which
 * floats have: the least one, and the one behind the greatest. NaN gives false. */
static ip_expr *compare_with_float(ip_ir *ir, ip_xop op, ip_expr *a, ip_expr *b)
{
    const bool is_b_float = ip_x_is_float(b);
    ip_expr *real = is_b_float ? b : a, *integer = is_b_float ? a : b;
    const imgpar_dtype dtype = integer->dtype;
    ip_expr *least = ip_x_float(ir, real->dtype, ip_dtype(dtype)->minimum);
    ip_expr *behind = ip_x_float(ir, real->dtype, ip_dtype(dtype)->maximum + 1);
    ip_expr *is_below = ip_x_binary(ir, IP_X_LT, real, least), *is_above = ip_x_binary(ir, IP_X_LE, behind, real);
    ip_expr *reaches = ip_x_binary(ir, IP_X_LE, least, real), *is_before = ip_x_binary(ir, IP_X_LT, real, behind);
    ip_expr *down = ip_x_saturate(ir, dtype, ip_x_unary(ir, IP_X_FLOOR, real));
    ip_expr *up = ip_x_saturate(ir, dtype, ip_x_unary(ir, IP_X_CEIL, real));
    switch (op) {
    case IP_X_LT:
        if (is_b_float) return ip_x_binary(ir, IP_X_OR, is_above, both(ir, reaches, ip_x_binary(ir, op, integer, up)));
        return ip_x_binary(ir, IP_X_OR, is_below, both(ir, is_before, ip_x_binary(ir, op, down, integer)));
    case IP_X_LE:
        if (is_b_float) return both(ir, reaches, ip_x_binary(ir, op, integer, down));
        return both(ir, is_before, ip_x_binary(ir, op, up, integer));
    default: break;
    }
    ip_expr *is_whole = ip_x_binary(ir, IP_X_EQ, real, ip_x_unary(ir, IP_X_FLOOR, real));
    ip_expr *is_inside = both(ir, both(ir, reaches, is_before), is_whole);
    ip_expr *is_equal = both(ir, is_inside, ip_x_binary(ir, IP_X_EQ, integer, down));
    return op == IP_X_EQ ? is_equal : ip_x_unary(ir, IP_X_NOT, is_equal);
}

ip_expr *ip_lower_compare(ip_lower *l, ip_xop op, imgpar_dtype dtype, ip_expr *a, ip_expr *b)
{
    const bool is_a_float = ip_x_is_float(a), is_b_float = ip_x_is_float(b);
    if (is_a_float != is_b_float && !has_all_of(dtype, is_a_float ? b : a)) return compare_with_float(l->ir, op, a, b);
    const bool is_a_u64 = a->dtype == IMGPAR_U64, is_b_u64 = b->dtype == IMGPAR_U64;
    if (dtype != IMGPAR_I64 || is_a_u64 == is_b_u64)
        return ip_x_binary(l->ir, op, ip_x_cast(l->ir, dtype, a), ip_x_cast(l->ir, dtype, b));
    ip_expr *is_signed = ip_x_cast(l->ir, dtype, is_a_u64 ? b : a);
    ip_expr *is_negative = ip_x_binary(l->ir, IP_X_LT, is_signed, ip_x_int(l->ir, dtype, 0));
    ip_expr *is_so = ip_x_binary(l->ir, op, ip_x_cast(l->ir, IMGPAR_U64, a), ip_x_cast(l->ir, IMGPAR_U64, b));
    /* what is below 0 is less than all of u64, and differs */
    const bool holds_below = op == IP_X_NE || (op != IP_X_EQ && !is_a_u64);
    if (holds_below) return ip_x_binary(l->ir, IP_X_OR, is_negative, is_so);
    return ip_x_binary(l->ir, IP_X_AND, ip_x_unary(l->ir, IP_X_NOT, is_negative), is_so);
}

ip_expr *ip_lower_literal(ip_lower *l, imgpar_dtype dtype, double value)
{
    bool is_float = ip_dtype(loaded_dtype(dtype))->is_float;
    if (is_float) return ip_lower_argument(l, dtype, value);
    return ip_lower_whole(l, ip_x_number(l->ir, loaded_dtype(dtype), value), IP_LEVEL_BITS);
}

/* The one element of input k in dtype. */
static ip_expr *lazy_number(ip_lower *l, int k, imgpar_dtype dtype)
{
    ip_expr *zero = ip_lower_i32(l, 0);
    ip_expr *const index[4] = { zero, zero, zero, zero };
    return ip_lower_convert(l, dtype, ip_x_load(l->ir, l->in[k], index, IP_BORDER_NONE, NULL));
}

static const imgpar_op_param *facts_of(const imgpar_array *node, const ip_param *p)
{
    return node->op->info.params[p - node->params];
}

ip_expr *ip_lower_number(ip_lower *l, const char *param, imgpar_dtype dtype)
{
    const ip_param *p = ip_param_get(l->node, param);
    if (p->input >= 0) return lazy_number(l, p->input, dtype);
    const imgpar_op_param *facts = facts_of(l->node, p);
    if (dtype != IMGPAR_BOOL && isfinite(facts->minimum) && isfinite(facts->maximum))
        return ip_x_param(l->ir, loaded_dtype(dtype), p->number, facts->minimum, facts->maximum);
    return ip_lower_argument(l, dtype, p->number);
}

ip_expr *ip_lower_of_channel(ip_lower *l, int channel, ip_expr *value, ip_expr *else_value)
{
    ip_expr *is_own = ip_x_binary(l->ir, IP_X_EQ, ip_lower_coord(l, 3), ip_lower_i32(l, channel));
    return ip_x_select(l->ir, is_own, value, else_value);
}

ip_expr *ip_lower_levels(ip_lower *l, const char *param, imgpar_dtype dtype)
{
    const ip_param *p = ip_param_get(l->node, param);
    if (!p->numbers) return ip_lower_number(l, param, dtype);
    ip_expr *value = ip_lower_argument(l, dtype, p->numbers[0]);
    for (int c = 1; c < p->cols; c++)
        value = ip_lower_of_channel(l, c, ip_lower_argument(l, dtype, p->numbers[c]), value);
    return value;
}

ip_expr *ip_lower_of_channels(ip_lower *l, imgpar_dtype dtype, const double *levels, int n)
{
    ip_expr *value = NULL;
    double lo = INFINITY, hi = -INFINITY;
    for (int c = 0; c < n; c++) {
        const ip_expr *level = ip_lower_argument(l, dtype, levels[c]);
        lo = fmin(lo, level->lo);
        hi = fmax(hi, level->hi);
    }
    for (int c = 0; c < n; c++) {
        ip_expr *level = ip_lower_argument(l, dtype, levels[c]);
        if (level->op == IP_X_PARAM) level = ip_x_param_of(l->ir, level, lo, hi);
        value = c == 0 ? level : ip_lower_of_channel(l, c, level, value);
    }
    return value;
}

int ip_lower_border(ip_lower *l, imgpar_dtype dtype, ip_expr **cval)
{
    int border = (int)ip_param_number(l->node, "border");
    if (ip_is_promise(border) && !l->ir->keeps_promises) border = IMGPAR_BORDER_REPLICATE;
    *cval = border == IMGPAR_BORDER_CONSTANT ? ip_lower_outside_value(l, dtype, ip_lower_outside(l)) : NULL;
    return border;
}

/* ---- alpha ------------------------------------------------------------------------------- */

ip_expr *ip_lower_is_alpha(ip_lower *l)
{
    int64_t channels = l->dims[3];
    if (l->node->type.space == IMGPAR_SPACE_DATA || (channels != 2 && channels != 4)) return NULL;
    return ip_x_binary(l->ir, IP_X_EQ, ip_lower_coord(l, 3), ip_lower_i32(l, channels - 1));
}

/* ---- means ------------------------------------------------------------------------------- */

imgpar_dtype ip_lower_sum_dtype(imgpar_dtype dtype, double lo, double hi, double n, double extra)
{
    static const imgpar_dtype ladder[] = { IMGPAR_U16, IMGPAR_I16, IMGPAR_U32, IMGPAR_I32 };
    if (ip_dtype(dtype)->is_float) return ip_float_for(dtype);
    lo = fmin(lo * n, 0);
    hi = fmax(hi * n, 0) + extra;
    for (size_t k = 0; k < sizeof ladder / sizeof *ladder; k++)
        if (lo >= ip_dtype(ladder[k])->minimum && hi <= ip_dtype(ladder[k])->maximum) return ladder[k];
    return IMGPAR_I64;
}

ip_expr *ip_lower_mean(ip_lower *l, ip_expr *sum, int64_t n)
{
    if (ip_dtype(sum->dtype)->is_float)
        return ip_x_binary(l->ir, IP_X_MUL, sum, ip_x_number(l->ir, sum->dtype, 1.0 / (double)n));
    ip_expr *half = ip_x_int(l->ir, sum->dtype, n / 2);
    return ip_x_binary(l->ir, IP_X_IDIV, ip_x_binary(l->ir, IP_X_ADD, sum, half), ip_x_int(l->ir, sum->dtype, n));
}

/* ---- storing ------------------------------------------------------------------------------- */

ip_expr *ip_lower_convert(ip_lower *l, imgpar_dtype dtype, ip_expr *x)
{
    dtype = loaded_dtype(dtype);
    if (x->dtype == dtype) return x;
    if (dtype != IMGPAR_BOOL) return ip_x_saturate(l->ir, dtype, as_value(l, x));
    double half = ip_dtype(x->dtype)->is_float ? 0.5 : 0;
    return ip_x_binary(l->ir, IP_X_LT, ip_x_number(l->ir, x->dtype, half), x);
}

/* Rounding to f16 moves a bound by 2^-11 of it at most, or to infinity. */
static void widen_for_f16(ip_stage *s)
{
    s->lo -= fabs(s->lo) * 0x1p-10;
    s->hi += fabs(s->hi) * 0x1p-10;
    if (s->lo < -65000 || s->hi > 65000) {
        s->lo = -INFINITY;
        s->hi = INFINITY;
    }
}

ip_stage *ip_lower_stage_sized(ip_lower *l, const int64_t dims[4], imgpar_dtype dtype, ip_expr *value, const char *note)
{
    ip_stage *s = ip_stage_new(l->ir, IP_STAGE_MAP, dtype, dims, l->node);
    if (!s) return NULL;
    s->body = value;
    s->note = note;
    s->lo = value->lo;
    s->hi = value->hi;
    if (dtype == IMGPAR_F16) widen_for_f16(s);
    return s;
}

ip_stage *ip_lower_map(ip_lower *l, ip_expr *value)
{
    imgpar_dtype dtype = l->dtype;
    value = ip_lower_convert(l, dtype, value);
    if (ip_dtype_is_complex(dtype)) return ip_complex_map(l, (ip_complex){ .re = value });
    return ip_lower_stage_sized(l, l->dims, dtype, value, NULL);
}

ip_stage *ip_lower_stage(ip_lower *l, ip_expr *value, const char *note)
{
    return ip_lower_stage_sized(l, l->dims, value->dtype, value, note);
}

ip_stage *ip_lower_fail(ip_lower *l, imgpar_status status, const char *message)
{
    ip_fail(l->err, status, "%s: %s", l->node->op->info.name, message);
    return NULL;
}
