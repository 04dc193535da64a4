/* SPDX-License-Identifier: MIT */
/* Operations on constants, computed while compiling exactly as a device would. */
#include "base/dtype.h"
#include "ir/internal.h"

#include <math.h>

int64_t ip_wrap_int(imgpar_dtype dtype, int64_t v)
{
    switch (dtype) {
    case IMGPAR_BOOL: return v != 0;
    case IMGPAR_U8: return (uint8_t)v;
    case IMGPAR_I8: return (int8_t)v;
    case IMGPAR_U16: return (uint16_t)v;
    case IMGPAR_I16: return (int16_t)v;
    case IMGPAR_U32: return (uint32_t)v;
    case IMGPAR_I32: return (int32_t)v;
    default: return v;
    }
}

static bool fold_int_binary(const ip_expr *x, int64_t a, int64_t b, int64_t *r)
{
    bool is_signed = ip_dtype(x->arg[0]->dtype)->is_signed;
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (x->op) {
    case IP_X_ADD: *r = (int64_t)(ua + ub); return true;
    case IP_X_SUB: *r = (int64_t)(ua - ub); return true;
    case IP_X_MUL: *r = (int64_t)(ua * ub); return true;
    case IP_X_IDIV:
    case IP_X_MOD: {
        int64_t q, m;
        if (b == 0 || (is_signed && b == -1)) {
            q = b == 0 ? 0 : (int64_t)(0 - ua);
            m = 0;
        } else if (is_signed) {
            q = a / b;
            m = a % b;
            if (m != 0 && (m < 0) != (b < 0)) {
                q--;
                m += b;
            }
        } else {
            q = (int64_t)(ua / ub);
            m = (int64_t)(ua % ub);
        }
        *r = x->op == IP_X_IDIV ? q : m;
        return true;
    }
    case IP_X_MIN: *r = (is_signed ? a < b : ua < ub) ? a : b; return true;
    case IP_X_MAX: *r = (is_signed ? a > b : ua > ub) ? a : b; return true;
    case IP_X_AND: *r = a & b; return true;
    case IP_X_OR: *r = a | b; return true;
    case IP_X_XOR: *r = a ^ b; return true;
    case IP_X_MEAN:
        *r = is_signed ? (a >> 1) + (b >> 1) + ((a | b) & 1) : (int64_t)((ua >> 1) + (ub >> 1) + ((ua | ub) & 1));
        return true;
    case IP_X_LT: *r = is_signed ? a < b : ua < ub; return true;
    case IP_X_LE: *r = is_signed ? a <= b : ua <= ub; return true;
    case IP_X_EQ: *r = a == b; return true;
    case IP_X_NE: *r = a != b; return true;
    default: return false;
    }
}

static bool fold_float_binary(const ip_expr *x, double a, double b, double *r, bool *is_condition)
{
    bool single = x->arg[0]->dtype == IMGPAR_F32;
    *is_condition = false;
    switch (x->op) {
    case IP_X_ADD: *r = single ? (double)((float)a + (float)b) : a + b; return true;
    case IP_X_SUB: *r = single ? (double)((float)a - (float)b) : a - b; return true;
    case IP_X_MUL: *r = single ? (double)((float)a * (float)b) : a * b; return true;
    case IP_X_MIN: *r = a < b || isnan(b) ? a : b; return true;
    case IP_X_MAX: *r = a > b || isnan(b) ? a : b; return true;
    case IP_X_LT: *r = a < b; break;
    case IP_X_LE: *r = a <= b; break;
    case IP_X_EQ: *r = a == b; break;
    case IP_X_NE: *r = a != b; break;
    default: return false; /* division and functions are as the device does them */
    }
    *is_condition = true;
    return true;
}

static ip_expr *fold_cast(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[0];
    bool from_float = ip_dtype(a->dtype)->is_float, to_float = ip_dtype(x->dtype)->is_float;
    if (x->dtype == IMGPAR_BOOL) return ip_x_int(ir, IMGPAR_BOOL, from_float ? a->f != 0 : a->i != 0);
    if (to_float)
        return ip_x_float(ir, x->dtype,
                          from_float               ? a->f
                          : a->dtype == IMGPAR_U64 ? (double)(uint64_t)a->i
                                                   : (double)a->i);
    if (!from_float) return ip_x_int(ir, x->dtype, a->i);
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    if (x->op == IP_X_SATURATE || (a->f > facts->minimum && a->f < facts->maximum))
        return ip_x_number(ir, x->dtype, x->op == IP_X_SATURATE ? a->f : trunc(a->f));
    return NULL;
}

static ip_expr *fold_saturate_int(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[0];
    if (ip_dtype(a->dtype)->size_bytes == 8) return NULL;
    return ip_x_number(ir, x->dtype, (double)a->i);
}

static ip_expr *fold_unary(ip_ir *ir, const ip_expr *x)
{
    const ip_expr *a = x->arg[0];
    if (x->op == IP_X_SATURATE && !ip_dtype(a->dtype)->is_float) return fold_saturate_int(ir, x);
    if (x->op == IP_X_CAST || x->op == IP_X_SATURATE) return fold_cast(ir, x);
    if (ip_dtype(x->dtype)->is_float) {
        switch (x->op) {
        case IP_X_NEG: return ip_x_float(ir, x->dtype, -a->f);
        case IP_X_ABS: return ip_x_float(ir, x->dtype, fabs(a->f));
        case IP_X_FLOOR: return ip_x_float(ir, x->dtype, floor(a->f));
        case IP_X_CEIL: return ip_x_float(ir, x->dtype, ceil(a->f));
        case IP_X_RINT: return ip_x_float(ir, x->dtype, rint(a->f));
        case IP_X_TRUNC: return ip_x_float(ir, x->dtype, trunc(a->f));
        default: return NULL;
        }
    }
    if (x->op == IP_X_NEG) return ip_x_int(ir, x->dtype, (int64_t)(0 - (uint64_t)a->i));
    if (x->op == IP_X_NOT) return ip_x_int(ir, x->dtype, x->dtype == IMGPAR_BOOL ? !a->i : ~a->i);
    return NULL;
}

bool ip_fold_constants(ip_ir *ir, const ip_expr *x, ip_expr **result)
{
    for (int k = 0; k < x->n_args; k++)
        if (x->arg[k]->op != IP_X_CONST) return false;
    *result = NULL;
    if (x->n_args == 1) {
        *result = fold_unary(ir, x);
    } else if (x->n_args == 2 && x->op != IP_X_BORDER && x->op != IP_X_WINDOW) {
        if (ip_dtype(x->arg[0]->dtype)->is_float) {
            double r;
            bool is_condition;
            if (fold_float_binary(x, x->arg[0]->f, x->arg[1]->f, &r, &is_condition))
                *result = is_condition ? ip_x_int(ir, IMGPAR_BOOL, r != 0) : ip_x_float(ir, x->dtype, r);
        } else {
            int64_t r;
            if (fold_int_binary(x, x->arg[0]->i, x->arg[1]->i, &r)) *result = ip_x_int(ir, x->dtype, r);
        }
    }
    return *result != NULL;
}
