/* SPDX-License-Identifier: MIT */
/* Stages of named operations on one pixel at a time. */
#include "ops/complex.h"
#include "ops/coverage.h"
#include "ops/infer.h"
#include "ops/lower.h"

#include "base/dtype.h"

#include <math.h>
#include <stddef.h>

static ip_expr *add(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_ADD, a, b); }
static ip_expr *sub(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_SUB, a, b); }
static ip_expr *mul(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_MUL, a, b); }
static ip_expr *min(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_MIN, a, b); }
static ip_expr *max(ip_lower *l, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, IP_X_MAX, a, b); }
static ip_expr *number(ip_lower *l, imgpar_dtype dtype, double v) { return ip_x_number(l->ir, dtype, v); }

/* Input k as a float; a literal straight from double. */
static ip_expr *float_in(ip_lower *l, int k, imgpar_dtype dtype)
{
    double v;
    if (ip_array_is_number(l->node->inputs[k], &v, NULL)) return ip_lower_literal(l, dtype, v);
    return ip_x_cast(l->ir, dtype, ip_lower_value(l, k));
}

/* The first of u16 i32 u32 i64 u64 that holds [lo, hi], between which the result and the operands lie; partial sums may
 * wrap. F64: none. */
static imgpar_dtype integer_for(double lo, double hi)
{
    static const imgpar_dtype ladder[] = { IMGPAR_U16, IMGPAR_I32, IMGPAR_U32, IMGPAR_I64, IMGPAR_U64 };
    for (size_t k = 0; k < sizeof ladder / sizeof *ladder; k++)
        if (lo >= ip_dtype(ladder[k])->minimum && hi <= ip_dtype(ladder[k])->maximum &&
            (ip_dtype(ladder[k])->size_bytes < 8 || hi < 0x1p63 - 1024 || ladder[k] == IMGPAR_U64))
            return ladder[k];
    return IMGPAR_F64;
}

/* 1 - r as the row's formula wants it: from double where r is known. */
static ip_expr *complement(ip_lower *l, const char *param, imgpar_dtype dtype)
{
    const ip_param *p = ip_param_get(l->node, param);
    if (p->input < 0) return ip_x_param(l->ir, dtype, 1 - p->number, 0, 1);
    return sub(l, number(l, dtype, 1), ip_lower_number(l, param, dtype));
}

ip_stage *ip_stages_blend(ip_lower *l)
{
    imgpar_dtype f = ip_float_for_inputs(l->node);
    ip_expr *const shares[2] = { complement(l, "ratio", f), ip_lower_number(l, "ratio", f) };
    ip_expr *mean =
        ip_x_fma(l->ir, ip_lower_opaque(l, float_in(l, 0, f)), shares[0], mul(l, float_in(l, 1, f), shares[1]));
    return ip_lower_map(l, ip_alpha_of(l->node) == IP_ALPHA_BLENDS ? ip_lower_blended(l, mean, shares) : mean);
}

/* full - x of integers of 64 bits, saturated: x is limited before, so that nothing wraps. Of a full with a half the
 * result is the even one of the two. */
static ip_expr *inverted_wide(ip_lower *l, ip_expr *x, double full)
{
    const bool is_signed = ip_dtype(x->dtype)->is_signed, has_half = full - floor(full) == 0.5;
    const double whole = has_half ? floor(full) : rint(full);
    ip_expr *largest = ip_x_int(l->ir, x->dtype, is_signed ? INT64_MAX : -1);
    if (whole >= (is_signed ? 0x1p64 : 0x1p65)) return largest;
    const uint64_t bits = (uint64_t)(whole >= 0x1p64 ? whole - 0x1p64 : whole);
    ip_expr *white = ip_x_int(l->ir, x->dtype, (int64_t)bits), *one = ip_x_int(l->ir, x->dtype, 1);
    if (is_signed)
        x = max(l, x, sub(l, white, largest));
    else
        x = whole < 0x1p64 ? min(l, x, white) : max(l, x, add(l, white, one));
    ip_expr *y = sub(l, white, x);
    if (!has_half) return y;
    ip_expr *even = add(l, y, ip_x_binary(l->ir, IP_X_AND, y, one));
    return ip_x_select(l->ir, ip_x_binary(l->ir, IP_X_EQ, y, largest), y, even);
}

/* full - x, saturated. */
static ip_expr *inverted(ip_lower *l, ip_expr *x)
{
    const double full = ip_type_full(&l->node->inputs[0]->type);
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    if (x->dtype == IMGPAR_BOOL) return ip_x_unary(l->ir, IP_X_NOT, x);
    if (ip_is_wide_integer(x->dtype)) return inverted_wide(l, x, full);
    if (full != floor(full) && !facts->is_float) {
        imgpar_dtype f = ip_float_for_inputs(l->node);
        return ip_lower_convert(l, x->dtype, sub(l, ip_lower_white(l, f, full), ip_x_cast(l->ir, f, x)));
    }
    if (facts->is_float || full == facts->maximum) return sub(l, ip_lower_white(l, x->dtype, full), x);
    imgpar_dtype w = integer_for(fmin(full - x->hi, x->lo), fmax(full - x->lo, fmax(full, x->hi)));
    return ip_lower_convert(l, x->dtype, sub(l, ip_lower_white(l, w, full), ip_x_cast(l->ir, w, x)));
}

ip_stage *ip_stages_invert(ip_lower *l)
{
    ip_expr *x = ip_lower_in(l, 0);
    return ip_lower_map(l, inverted(l, x));
}

ip_stage *ip_stages_linear(ip_lower *l)
{
    imgpar_dtype f = ip_float_for_inputs(l->node);
    ip_expr *x = ip_lower_value(l, 0);
    ip_expr *y = ip_x_fma(l->ir, ip_lower_levels(l, "a", f), ip_x_cast(l->ir, f, x), ip_lower_levels(l, "b", f));
    return ip_lower_map(l, y);
}

ip_stage *ip_stages_clamp(ip_lower *l)
{
    ip_expr *x = ip_lower_value(l, 0);
    ip_expr *lo = ip_lower_number(l, "lo", x->dtype), *hi = ip_lower_number(l, "hi", x->dtype);
    return ip_lower_map(l, min(l, max(l, x, lo), hi));
}

/* x > t for integers x, t being a float that is known only when it runs: x > floor(t) where that is an integer of x's
 * dtype; true below them, false above and for NaN. */
static ip_expr *above_lazy(ip_lower *l, ip_expr *x, ip_expr *t)
{
    if (!ip_dtype_is_float(t->dtype)) t = ip_x_cast(l->ir, IMGPAR_F64, t);
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    ip_expr *whole = ip_x_saturate(l->ir, x->dtype, ip_x_unary(l->ir, IP_X_FLOOR, t));
    ip_expr *below = ip_x_binary(l->ir, IP_X_LT, t, number(l, t->dtype, facts->minimum));
    ip_expr *above = ip_x_binary(l->ir, IP_X_OR, below, ip_x_binary(l->ir, IP_X_LT, whole, x));
    return ip_x_binary(l->ir, IP_X_AND, above, ip_x_binary(l->ir, IP_X_EQ, t, t));
}

static ip_expr *above(ip_lower *l, ip_expr *x)
{
    const ip_param *t = ip_param_get(l->node, "t");
    if (ip_dtype_is_float(x->dtype)) return ip_x_binary(l->ir, IP_X_LT, ip_lower_number(l, "t", x->dtype), x);
    if (t->input >= 0) {
        imgpar_dtype dtype = l->in[t->input]->dtype;
        bool exact = ip_dtype_is_float(dtype) || ip_dtype(dtype)->size_bytes <= 2;
        return above_lazy(l, x, ip_lower_number(l, "t", dtype == IMGPAR_F64 || !exact ? IMGPAR_F64 : IMGPAR_F32));
    }
    if (t->number < ip_dtype(x->dtype)->minimum) return ip_x_int(l->ir, IMGPAR_BOOL, 1);
    return ip_x_binary(l->ir, IP_X_LT, ip_x_param(l->ir, x->dtype, floor(t->number), -INFINITY, INFINITY), x);
}

ip_stage *ip_stages_threshold(ip_lower *l)
{
    ip_expr *x = ip_lower_value(l, 0);
    ip_expr *full = ip_lower_white(l, x->dtype, ip_type_full(&l->node->inputs[0]->type));
    return ip_lower_map(l, ip_x_select(l->ir, above(l, x), full, number(l, x->dtype, 0)));
}

/* Levels of masks, of which rules make choices and bits. */
static bool is_black_or_white(double v) { return v == 0 || v == 1 || v == UINT8_MAX || v == UINT16_MAX; }

/* Input k, one of the two values, in the dtype of the node, which is not complex. */
static ip_expr *choice(ip_lower *l, int k)
{
    imgpar_dtype dtype = l->node->type.dtype;
    double v;
    if (!ip_array_is_number(l->node->inputs[k], &v, NULL)) return ip_x_cast(l->ir, dtype, ip_lower_in(l, k));
    bool may_be_text = is_black_or_white(v) && dtype != IMGPAR_F16;
    return may_be_text ? number(l, dtype, v) : ip_lower_literal(l, dtype, v);
}

ip_stage *ip_stages_select(ip_lower *l)
{
    bool is_complex = ip_type_is_complex(&l->node->type);
    if (l->taken && is_complex) return ip_complex_map_part(l, ip_complex_choose(l, ip_complex_in(l, l->taken)));
    if (l->taken) return ip_lower_map(l, choice(l, l->taken));
    ip_expr *c = ip_lower_in(l, 0);
    if (c->dtype != IMGPAR_BOOL) c = ip_x_binary(l->ir, IP_X_NE, c, number(l, c->dtype, 0));
    if (is_complex) {
        ip_expr *yes = ip_complex_choose(l, ip_complex_in(l, 1)), *no = ip_complex_choose(l, ip_complex_in(l, 2));
        return ip_complex_map_part(l, ip_x_select(l->ir, c, yes, no));
    }
    ip_expr *yes = choice(l, 1), *no = choice(l, 2);
    return ip_lower_map(l, ip_x_select(l->ir, c, yes, no));
}

ip_stage *ip_stages_cast(ip_lower *l)
{
    if (ip_type_is_complex(&l->node->type)) return ip_complex_map(l, ip_complex_in(l, 0));
    return ip_lower_map(l, ip_lower_in(l, 0));
}

ip_stage *ip_stages_fill(ip_lower *l) { return ip_lower_map(l, ip_lower_levels(l, "value", l->node->type.dtype)); }

/* ---- overlay ---------------------------------------------------------------------------------- */

/* (base (full - m) + top m) / full of an odd full, so that nothing lies halfway and adding full div 2 rounds to
 * nearest. */
static ip_expr *overlay_integers(ip_lower *l, imgpar_dtype w, ip_expr *base, ip_expr *top, ip_expr *mask, double full)
{
    ip_expr *m = ip_x_cast(l->ir, w, mask), *f = number(l, w, full);
    ip_expr *sum = add(l, mul(l, ip_x_cast(l->ir, w, base), sub(l, f, m)), mul(l, ip_x_cast(l->ir, w, top), m));
    return ip_x_binary(l->ir, IP_X_IDIV, add(l, sum, number(l, w, floor(full / 2))), f);
}

/* What of the mask shows nothing but top: of a plain number 1. */
static double full_of_mask(const ip_lower *l)
{
    const imgpar_array *mask = l->node->inputs[2];
    return ip_array_is_number(mask, NULL, NULL) ? 1 : ip_type_full(&mask->type);
}

static ip_expr *overlay_floats(ip_lower *l, ip_expr *mask, double full)
{
    imgpar_dtype f = ip_float_for_inputs(l->node);
    ip_expr *m = ip_x_cast(l->ir, f, mask);
    const bool is_of_depth = full == 255 || full == 65535;
    if (full != 1) m = mul(l, m, is_of_depth ? number(l, f, 1 / full) : ip_lower_argument(l, f, 1 / full));
    ip_expr *base = mul(l, ip_lower_opaque(l, float_in(l, 0, f)), sub(l, number(l, f, 1), m));
    return ip_x_fma(l->ir, float_in(l, 1, f), m, base);
}

/* Integers of 64 bits have more digits than f64: where the mask shows one of them alone, it is that one. */
static ip_expr *overlay_wide(ip_lower *l, ip_expr *base, ip_expr *top, ip_expr *mask, double full)
{
    const imgpar_dtype dtype = l->node->type.dtype;
    base = ip_array_is_number(l->node->inputs[0], NULL, NULL) ? float_in(l, 0, IMGPAR_F64) : base;
    top = ip_array_is_number(l->node->inputs[1], NULL, NULL) ? float_in(l, 1, IMGPAR_F64) : top;
    ip_expr *none = ip_x_float(l->ir, IMGPAR_F64, 0), *all = ip_x_float(l->ir, IMGPAR_F64, full);
    ip_expr *mean = ip_lower_convert(l, dtype, overlay_floats(l, mask, full));
    ip_expr *is_base = ip_lower_compare(l, IP_X_EQ, IMGPAR_F64, mask, none),
            *is_top = ip_lower_compare(l, IP_X_EQ, IMGPAR_F64, mask, all);
    mean = ip_x_select(l->ir, is_top, ip_lower_convert(l, dtype, top), mean);
    return ip_x_select(l->ir, is_base, ip_lower_convert(l, dtype, base), mean);
}

/* Of a bool mask, of integers, and of others. */
static ip_expr *overlaid(ip_lower *l, ip_expr *base, ip_expr *top, ip_expr *mask)
{
    if (mask->dtype == IMGPAR_BOOL)
        return ip_x_select(l->ir, mask, ip_lower_convert(l, l->dtype, top), ip_lower_convert(l, l->dtype, base));
    const double full = full_of_mask(l);
    if (ip_is_wide_integer(l->node->type.dtype)) return overlay_wide(l, base, top, mask, full);
    bool integers = !ip_dtype_is_float(base->dtype) && !ip_dtype_is_float(top->dtype) &&
                    !ip_dtype_is_float(mask->dtype) && fmod(full, 2) == 1 && full <= 65535;
    if (!integers || ip_is_wide_integer(base->dtype) || ip_is_wide_integer(top->dtype) ||
        ip_is_wide_integer(mask->dtype))
        return overlay_floats(l, mask, full);
    double high = fmax(base->hi, top->hi), low = fmin(fmin(base->lo, top->lo), 0);
    bool outside = mask->lo < 0 || mask->hi > full; /* such a mask extrapolates */
    double most = fmax(fabs(mask->lo), fabs(mask->hi)),
           reach = outside ? (fabs(low) + fabs(high)) * (2 * most + full) + full : 0;
    imgpar_dtype w = integer_for(fmin(low * full, -reach), fmax(high * full + full, reach));
    return ip_dtype_is_float(w) ? overlay_floats(l, mask, full) : overlay_integers(l, w, base, top, mask, full);
}

/* The shares of base and top, times the mask's full. */
static void shares_of(ip_lower *l, ip_expr *mask, ip_expr *shares[2])
{
    imgpar_dtype f = ip_float_for_inputs(l->node);
    const double full = full_of_mask(l);
    shares[1] = ip_x_cast(l->ir, f, mask);
    shares[0] = sub(l, number(l, f, full), shares[1]);
}

ip_stage *ip_stages_overlay(ip_lower *l)
{
    ip_expr *mask = ip_lower_in(l, 2), *shares[2];
    ip_expr *mean = overlaid(l, ip_lower_opaque(l, ip_lower_value(l, 0)), ip_lower_value(l, 1), mask);
    if (mask->dtype == IMGPAR_BOOL || ip_alpha_of(l->node) != IP_ALPHA_BLENDS) return ip_lower_map(l, mean);
    shares_of(l, mask, shares);
    return ip_lower_map(l, ip_lower_blended(l, mean, shares));
}

/* ---- gray --------------------------------------------------------------------------------------- */

typedef struct gray_weights {
    double exact[3];
    int fixed[3];
} gray_weights; /* fixed: of 65536 */
static const gray_weights weights_of[] = {
    [IP_GRAY_BT601] = { { 0.299, 0.587, 0.114 }, { 19595, 38470, 7471 } },
    [IP_GRAY_BT709] = { { 0.2126, 0.7152, 0.0722 }, { 13933, 46871, 4732 } },
};

static ip_expr *channel(ip_lower *l, int64_t c)
{
    ip_expr *const index[4] = { ip_lower_coord(l, 0), ip_lower_coord(l, 1), ip_lower_coord(l, 2), ip_lower_i32(l, c) };
    ip_expr *x = ip_x_load(l->ir, l->in[0], index, IP_BORDER_NONE, NULL);
    return x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x;
}

static ip_expr *gray_integers(ip_lower *l, const gray_weights *g)
{
    ip_expr *r = channel(l, 0);
    /* Of more than 16 bits, also where the range is nothing but 0: shifts count modulo the width. */
    imgpar_dtype w = integer_for(r->lo * 65536, fmax(r->hi, 1) * 65536 + 32768);
    ip_expr *sum = number(l, w, 32768);
    for (int c = 0; c < 3; c++)
        sum = add(l, mul(l, ip_x_cast(l->ir, w, channel(l, c)), number(l, w, g->fixed[c])), sum);
    return ip_x_binary(l->ir, IP_X_SHR, sum, number(l, w, 16));
}

static ip_expr *gray_floats(ip_lower *l, const gray_weights *g)
{
    imgpar_dtype f = ip_float_for_inputs(l->node);
    ip_expr *sum = mul(l, number(l, f, g->exact[2]), ip_x_cast(l->ir, f, channel(l, 2)));
    for (int c = 1; c >= 0; c--)
        sum = ip_x_fma(l->ir, number(l, f, g->exact[c]), ip_x_cast(l->ir, f, channel(l, c)), sum);
    return sum;
}

ip_stage *ip_stages_gray(ip_lower *l)
{
    int64_t channels = l->in[0]->dims[3];
    if (channels < 3) return l->in[0];
    const gray_weights *g = &weights_of[(int)ip_param_number(l->node, "weights")];
    imgpar_dtype dtype = l->in[0]->dtype;
    bool fixed = !ip_dtype_is_float(dtype) && !ip_is_wide_integer(dtype);
    ip_expr *y = ip_lower_convert(l, dtype, fixed ? gray_integers(l, g) : gray_floats(l, g));
    if (channels == 4) {
        ip_expr *is_alpha = ip_x_binary(l->ir, IP_X_EQ, ip_lower_coord(l, 3), ip_lower_i32(l, 1));
        y = ip_x_select(l->ir, is_alpha, ip_lower_convert(l, dtype, channel(l, 3)), y);
    }
    return ip_lower_map(l, y);
}

/* ---- circle --------------------------------------------------------------------------------------- */

/* floor(v * v * scale) without the rounding of a double product; saturates. */
static double floor_of_square(double v, double scale)
{
    double p = v * v, rest = fma(v, v, -p); /* v * v is p + rest exactly */
    double whole = floor(p * scale);
    if (whole == p * scale && rest < 0) whole -= 1;
    return fmin(whole, 0x1p62);
}

static ip_expr *distance(ip_lower *l, int dim, imgpar_dtype w, int unit_bits, double centre)
{
    ip_expr *at = mul(l, ip_x_cast(l->ir, w, ip_lower_coord(l, dim)), number(l, w, (double)(1 << unit_bits)));
    ip_expr *c = w == IMGPAR_I64 ? ip_x_param_i64(l->ir, (int64_t)centre) : ip_x_param(l->ir, w, centre, -65536, 65536);
    ip_expr *d = sub(l, at, c);
    return mul(l, d, d);
}

ip_stage *ip_stages_circle(ip_lower *l)
{
    double radius = ip_param_number(l->node, "radius");
    double cx = ip_param_number(l->node, "cx"), cy = ip_param_number(l->node, "cy");
    if (isnan(cx)) cx = (double)(l->dims[2] - 1) / 2;
    if (isnan(cy)) cy = (double)(l->dims[1] - 1) / 2;
    bool halves = 2 * cx == rint(2 * cx) && 2 * cy == rint(2 * cy);
    int bits = halves ? 1 : 10; /* the unit is 1/2 or 1/1024 of a pixel */
    double unit = (double)(1 << bits), x0 = rint(cx * unit), y0 = rint(cy * unit);
    double far_x = fmax(fabs(x0), fabs((double)l->dims[2] * unit - x0));
    double far_y = fmax(fabs(y0), fabs((double)l->dims[1] * unit - y0));
    bool small = far_x * far_x + far_y * far_y < 0x1p31 && fabs(x0) <= 65536 && fabs(y0) <= 65536;
    imgpar_dtype w = small ? IMGPAR_I32 : IMGPAR_I64;
    double square = floor_of_square(radius, unit * unit);
    ip_expr *limit =
        small ? ip_x_param(l->ir, w, fmin(square, INT32_MAX), 0, INT32_MAX) : ip_x_param_i64(l->ir, (int64_t)square);
    ip_expr *sum = add(l, distance(l, 2, w, bits, x0), distance(l, 1, w, bits, y0));
    ip_expr *inside = ip_x_binary(l->ir, IP_X_LE, sum, limit);
    return ip_lower_map(l, ip_x_select(l->ir, inside, number(l, IMGPAR_U8, 255), number(l, IMGPAR_U8, 0)));
}
