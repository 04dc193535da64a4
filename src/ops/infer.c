/* SPDX-License-Identifier: MIT */
/*
 * Types of operators and element-wise functions, by DESIGN.md section 1: integers
 * of up to 16 bits and bool become i32, i32 to u64 stay and wrap, literals never widen.
 *
 * Two integer dtypes meet in the one that holds both, and in i64 where none does
 * (i32 with u32; u64 with a signed one, which then wraps). An integer meets a float
 * in the float's dtype; f16 with an integer array gives f32. Whatever meets complex64 becomes it.
 */
#include "ops/infer.h"

#include "base/dtype.h"
#include "base/str.h"
#include "ops/check.h"
#include "ops/complex.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ONE(xop) { IP_TYPING_ARITHMETIC, xop, false }
#define REAL(xop) { IP_TYPING_REAL, xop, false }
#define BITS(xop) { IP_TYPING_BITS, xop, false }
const ip_function_facts ip_functions[IP_N_FUNCTIONS] = {
    [IP_FN_ADD] = ONE(IP_X_ADD), [IP_FN_SUB] = ONE(IP_X_SUB), [IP_FN_MUL] = ONE(IP_X_MUL), [IP_FN_MIN] = ONE(IP_X_MIN),
    [IP_FN_MAX] = ONE(IP_X_MAX), [IP_FN_IDIV] = ONE(IP_X_IDIV), [IP_FN_MOD] = ONE(IP_X_MOD),
    [IP_FN_DIV] = REAL(IP_X_DIV), [IP_FN_POW] = { IP_TYPING_POWER, IP_X_POW, false }, [IP_FN_ATAN2] = REAL(IP_X_ATAN2),
    [IP_FN_AND] = BITS(IP_X_AND), [IP_FN_OR] = BITS(IP_X_OR), [IP_FN_XOR] = BITS(IP_X_XOR),
    [IP_FN_SHL] = { IP_TYPING_SHIFT, IP_X_SHL, false }, [IP_FN_SHR] = { IP_TYPING_SHIFT, IP_X_SHR, false },
    [IP_FN_LT] = { IP_TYPING_COMPARE, IP_X_LT, false }, [IP_FN_LE] = { IP_TYPING_COMPARE, IP_X_LE, false },
    [IP_FN_GT] = { IP_TYPING_COMPARE, IP_X_LT, true }, [IP_FN_GE] = { IP_TYPING_COMPARE, IP_X_LE, true },
    [IP_FN_EQ] = { IP_TYPING_COMPARE, IP_X_EQ, false }, [IP_FN_NE] = { IP_TYPING_COMPARE, IP_X_NE, false },
    [IP_FN_BOTH] = { IP_TYPING_LOGIC, IP_X_AND, false }, [IP_FN_EITHER] = { IP_TYPING_LOGIC, IP_X_OR, false },
    [IP_FN_NOT] = { IP_TYPING_LOGIC, IP_X_NOT, false },
    [IP_FN_NEG] = ONE(IP_X_NEG), [IP_FN_COMPLEMENT] = BITS(IP_X_NOT), [IP_FN_ABS] = ONE(IP_X_ABS),
    [IP_FN_FLOOR] = ONE(IP_X_FLOOR), [IP_FN_CEIL] = ONE(IP_X_CEIL), [IP_FN_ROUND] = ONE(IP_X_RINT),
    [IP_FN_TRUNC] = ONE(IP_X_TRUNC),
    [IP_FN_SQRT] = REAL(IP_X_SQRT), [IP_FN_EXP] = REAL(IP_X_EXP), [IP_FN_LOG] = REAL(IP_X_LOG),
    [IP_FN_SIN] = REAL(IP_X_SIN), [IP_FN_COS] = REAL(IP_X_COS), [IP_FN_TAN] = REAL(IP_X_TAN),
    [IP_FN_ASIN] = REAL(IP_X_ASIN), [IP_FN_ACOS] = REAL(IP_X_ACOS), [IP_FN_ATAN] = REAL(IP_X_ATAN),
    [IP_FN_SINH] = REAL(IP_X_SINH), [IP_FN_COSH] = REAL(IP_X_COSH), [IP_FN_TANH] = REAL(IP_X_TANH),
};

/* ---- shapes ------------------------------------------------------------------------- */

char *ip_size_text(const ip_type *type, char *buf)
{
    int64_t d[4];
    ip_type_dims(type, d);
    int n = snprintf(buf, 64, "%lldx%lld", (long long)d[2], (long long)d[1]);
    if (d[0] > 1) snprintf(buf + n, 64 - (size_t)n, "x%lld", (long long)d[0]);
    return buf;
}

static bool is_picture(const ip_type *type) { return type->space != IMGPAR_SPACE_DATA; }

/* NumPy's rule, by which shapes are aligned at their last axes: false where it gives none. */
static bool numpy_shape(const ip_type *a, const ip_type *b, ip_type *out)
{
    *out = a->rank >= b->rank ? *a : *b;
    const ip_type *low = a->rank >= b->rank ? b : a;
    for (int k = 0; k < low->rank; k++) {
        int64_t n = low->shape[k], *m = &out->shape[out->rank - low->rank + k];
        if (n != *m && n != 1 && *m != 1) return false;
        if (*m == 1) *m = n;
    }
    return true;
}

/* "; write broadcast(b, [2 3])": what makes the shapes equal, if broadcast() does. */
static void append_remedy(ip_str *text, const char *const names[2], const ip_type *const types[2])
{
    ip_type common;
    if (!numpy_shape(types[0], types[1], &common)) {
        ip_str_append(text, "; shapes must be equal, or have one element or one channel");
        return;
    }
    for (int k = 0, n = 0; k < 2; k++) {
        if (types[k]->rank == common.rank && !memcmp(types[k]->shape, common.shape, sizeof common.shape)) continue;
        ip_str_printf(text, "%s broadcast(%s, [", n++ ? " and" : "; write", names[k]);
        for (int axis = 0; axis < common.rank; axis++)
            ip_str_printf(text, "%s%lld", axis ? " " : "", (long long)common.shape[axis]);
        ip_str_append(text, "])");
    }
}

/* Inputs a and b of the node do not fit. */
static imgpar_status refuse_pair(const imgpar_array *node, int a, int b, ip_error *err)
{
    const char *label = ip_op_label(node->op), *const names[2] = { node->op->info.input_names[a], node->op->info.input_names[b] };
    const ip_type *const types[2] = { &node->inputs[a]->type, &node->inputs[b]->type };
    int64_t da[4], db[4];
    char size_a[96], size_b[96];
    ip_type_dims(types[0], da);
    ip_type_dims(types[1], db);
    if (memcmp(da, db, 3 * sizeof *da) == 0)
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s has %lld channels, %s has %lld", label, names[0], (long long)da[3],
                       names[1], (long long)db[3]);
    if (is_picture(types[0]) && is_picture(types[1]))
        return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s; resize() or crop() one to the size of the other", label,
                       names[0], ip_size_text(types[0], size_a), names[1], ip_size_text(types[1], size_b));
    ip_str remedy = IP_STR_INIT;
    append_remedy(&remedy, names, types);
    ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s, %s is %s%s", label, names[0], ip_shape_text(types[0], size_a), names[1],
            ip_shape_text(types[1], size_b), ip_str_text(&remedy));
    ip_str_free(&remedy);
    return err->status;
}

static bool broadcasts(const ip_type *small, const ip_type *large)
{
    int64_t s[4], g[4];
    ip_type_dims(small, s);
    ip_type_dims(large, g);
    return ip_type_count(small) == 1 || (memcmp(s, g, 3 * sizeof *s) == 0 && (s[3] == 1 || s[3] == g[3]));
}

static bool is_number(const imgpar_array *a) { return ip_array_is_number(a, NULL, NULL); }

/* Who gives the shape: the largest; one element yields even to none. */
static int64_t weight_of(const imgpar_array *a)
{
    int64_t n = ip_type_count(&a->type);
    return n > 1 ? n : 1 - n;
}

imgpar_status ip_infer_broadcast(imgpar_array *node, int first, ip_error *err)
{
    int n = node->op->info.n_inputs, giver = first;
    for (int k = first + 1; k < n; k++) {
        const imgpar_array *a = node->inputs[k], *b = node->inputs[giver];
        int64_t na = weight_of(a), nb = weight_of(b);
        if (is_number(a)) continue;
        if (is_number(b) || na > nb || (na == nb && a->type.rank > b->type.rank)) giver = k;
    }
    const ip_type *shape = &node->inputs[giver]->type;
    node->type.rank = shape->rank;
    memcpy(node->type.shape, shape->shape, sizeof node->type.shape);
    node->type.space = IMGPAR_SPACE_DATA;
    for (int k = first; k < n; k++) {
        const ip_type *type = &node->inputs[k]->type;
        if (!broadcasts(type, shape)) return refuse_pair(node, k < giver ? k : giver, k < giver ? giver : k, err);
        if (node->type.space == IMGPAR_SPACE_DATA && ip_type_count(type) == ip_type_count(shape))
            node->type.space = type->space;
    }
    return IMGPAR_OK;
}

/* ---- dtypes ------------------------------------------------------------------------- */

static bool is_float(imgpar_dtype dtype) { return ip_dtype(dtype)->is_float; }

static imgpar_dtype promoted(imgpar_dtype dtype)
{
    return !is_float(dtype) && ip_dtype(dtype)->size_bytes <= 2 ? IMGPAR_I32 : dtype;
}

static bool holds(imgpar_dtype outer, imgpar_dtype inner)
{
    const ip_dtype_facts *o = ip_dtype(outer), *i = ip_dtype(inner);
    return o->minimum <= i->minimum && o->maximum >= i->maximum;
}

/* Where two arrays' dtypes meet. */
static imgpar_dtype meet(imgpar_dtype a, imgpar_dtype b)
{
    if (a == IMGPAR_COMPLEX64 || b == IMGPAR_COMPLEX64) return IMGPAR_COMPLEX64;
    if (is_float(a) && is_float(b)) return ip_dtype(a)->size_bytes >= ip_dtype(b)->size_bytes ? a : b;
    if (is_float(a) || is_float(b)) {
        imgpar_dtype f = is_float(a) ? a : b;
        return f == IMGPAR_F16 ? IMGPAR_F32 : f;
    }
    imgpar_dtype pa = promoted(a), pb = promoted(b);
    if (pa == pb || holds(pa, b)) return pa;
    return holds(pb, a) ? pb : IMGPAR_I64;
}

/* Where all inputs meet, literals bending to the arrays. */
static imgpar_dtype common(const imgpar_array *node)
{
    int n = node->op->info.n_inputs;
    bool any_array = false, fractional = false, f;
    imgpar_dtype dtype = IMGPAR_I32;
    for (int k = 0; k < n; k++) {
        imgpar_dtype own = node->inputs[k]->type.dtype;
        if (ip_array_is_number(node->inputs[k], NULL, &f)) {
            fractional = fractional || f;
        } else {
            dtype = any_array ? meet(dtype, own) : own;
            any_array = true;
        }
    }
    for (int k = 0; k < n && !any_array; k++)
        dtype = meet(dtype, node->inputs[k]->type.dtype);
    dtype = promoted(dtype);
    return fractional && !is_float(dtype) ? IMGPAR_F32 : dtype;
}

imgpar_dtype ip_infer_common_dtype(const imgpar_array *node) { return common(node); }

static imgpar_dtype real(const imgpar_array *node)
{
    imgpar_dtype dtype = common(node);
    return is_float(dtype) ? dtype : IMGPAR_F32;
}

int ip_function_small_power(const imgpar_array *node)
{
    double n;
    bool fractional;
    if (!ip_array_is_number(node->inputs[1], &n, &fractional) || fractional) return -1;
    return n >= 0 && n <= 16 ? (int)n : -1;
}

/* A whole literal that the arrays' dtype does not hold is compared in a wider one. */
static imgpar_dtype comparison(const imgpar_array *node)
{
    imgpar_dtype dtype = common(node);
    double v;
    for (int k = 0; k < 2 && !is_float(dtype); k++)
        if (ip_array_is_number(node->inputs[k], &v, NULL)
            && (v < ip_dtype(dtype)->minimum || v > ip_dtype(dtype)->maximum))
            dtype = ip_dtype(dtype)->size_bytes < 8 ? IMGPAR_I64 : IMGPAR_F32;
    return dtype;
}

static bool all_bool(const imgpar_array *node)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (node->inputs[k]->type.dtype != IMGPAR_BOOL) return false;
    return true;
}

static imgpar_dtype operand_dtype(const imgpar_array *node)
{
    switch (ip_functions[node->op->variant].typing) {
    case IP_TYPING_REAL: return real(node);
    case IP_TYPING_POWER: return ip_function_small_power(node) >= 0 ? common(node) : real(node);
    case IP_TYPING_BITS: return all_bool(node) ? IMGPAR_BOOL : common(node);
    case IP_TYPING_SHIFT: return promoted(node->inputs[0]->type.dtype);
    case IP_TYPING_COMPARE: return comparison(node);
    case IP_TYPING_LOGIC: return IMGPAR_BOOL;
    case IP_TYPING_ARITHMETIC: break;
    }
    return common(node);
}

imgpar_dtype ip_function_compute_dtype(const imgpar_array *node)
{
    imgpar_dtype dtype = operand_dtype(node);
    return dtype == IMGPAR_F16 ? IMGPAR_F32 : dtype;
}

static imgpar_status refuse_floats(const imgpar_array *node, ip_error *err)
{
    for (int k = 0; k < node->op->info.n_inputs; k++)
        if (is_float(node->inputs[k]->type.dtype))
            return ip_fail(err, IMGPAR_E_SHAPE, "%s: %s is %s; it must be an integer%s", node->op->symbol,
                           node->op->info.input_names[k], ip_dtype(node->inputs[k]->type.dtype)->name,
                           node->op->variant == IP_FN_XOR ? " (a power is **)" : "");
    return IMGPAR_OK;
}

/* ---- ranges -------------------------------------------------------------------------- */

/* Of + - * min max on integers, where nothing can wrap; else the dtype's. */
static ip_range function_range(const imgpar_array *node)
{
    ip_range whole = ip_range_of(node->type.dtype), r = whole;
    if (is_float(node->type.dtype)) return whole;
    ip_range a = node->inputs[0]->range, b = node->inputs[node->op->info.n_inputs - 1]->range;
    switch (node->op->variant) {
    case IP_FN_ADD: r = (ip_range){ a.lo + b.lo, a.hi + b.hi }; break;
    case IP_FN_SUB: r = (ip_range){ a.lo - b.hi, a.hi - b.lo }; break;
    case IP_FN_NEG: r = (ip_range){ -a.hi, -a.lo }; break;
    case IP_FN_MIN: r = (ip_range){ fmin(a.lo, b.lo), fmin(a.hi, b.hi) }; break;
    case IP_FN_MAX: r = (ip_range){ fmax(a.lo, b.lo), fmax(a.hi, b.hi) }; break;
    case IP_FN_MUL:
        r.lo = fmin(fmin(a.lo * b.lo, a.lo * b.hi), fmin(a.hi * b.lo, a.hi * b.hi));
        r.hi = fmax(fmax(a.lo * b.lo, a.lo * b.hi), fmax(a.hi * b.lo, a.hi * b.hi));
        break;
    default: break;
    }
    return r.lo >= whole.lo && r.hi <= whole.hi ? r : whole;
}

imgpar_status ip_infer_function(imgpar_array *node, ip_error *err)
{
    ip_typing typing = ip_functions[node->op->variant].typing;
    imgpar_status st = ip_infer_broadcast(node, 0, err);
    if (!st && ip_complex_is_call(node)) {
        ip_complex_infer(node);
        return IMGPAR_OK;
    }
    if (!st && (typing == IP_TYPING_BITS || typing == IP_TYPING_SHIFT)) st = refuse_floats(node, err);
    if (st) return st;
    node->type.dtype = typing == IP_TYPING_COMPARE ? IMGPAR_BOOL : operand_dtype(node);
    node->range = function_range(node);
    return IMGPAR_OK;
}

imgpar_dtype ip_select_dtype(const imgpar_array *yes, const imgpar_array *no)
{
    const imgpar_array *const pair[2] = { yes, no };
    double v;
    bool fractional;
    for (int k = 0; k < 2; k++) {
        imgpar_dtype other = pair[1 - k]->type.dtype;
        if (!ip_array_is_number(pair[k], &v, &fractional) || is_number(pair[1 - k])) continue;
        if (is_float(other)) return other;
        if (fractional) return IMGPAR_F32;
        return v >= ip_dtype(other)->minimum && v <= ip_dtype(other)->maximum ? other : meet(other, pair[k]->type.dtype);
    }
    return yes->type.dtype == no->type.dtype ? yes->type.dtype : meet(yes->type.dtype, no->type.dtype);
}
