/* SPDX-License-Identifier: MIT */
/* Small matrices: one for all pixels, or one for each. */
#include "ops/infer.h"
#include "ops/linalg.h"
#include "ops/view.h"

#include "base/dtype.h"

#include <math.h>

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }

static ip_expr *as_float(ip_lower *l, imgpar_dtype f, ip_expr *x)
{
    return ip_x_cast(l->ir, f, x->dtype == IMGPAR_BOOL ? ip_x_cast(l->ir, IMGPAR_U8, x) : x);
}

static ip_expr *channel(ip_lower *l, int64_t c)
{
    ip_expr *const at[4] = { ip_lower_coord(l, 0), ip_lower_coord(l, 1), ip_lower_coord(l, 2), ip_lower_i32(l, c) };
    return ip_x_load(l->ir, l->in[0], at, IP_BORDER_NONE, NULL);
}

ip_stage *ip_stages_recomb(ip_lower *l)
{
    const ip_param *m = ip_param_get(l->node, "matrix");
    if (!l->in[0]) return NULL;
    imgpar_dtype f = ip_float_for(l->in[0]->dtype), dtype = l->node->type.dtype;
    ip_expr *c = ip_lower_coord(l, 3);
    bool keeps_alpha = m->cols < l->in[0]->dims[3];
    ip_expr *value = keeps_alpha ? channel(l, m->cols) : NULL;
    for (int row = m->rows - 1; row >= 0; row--) {
        ip_expr *sum = NULL;
        for (int k = m->cols - 1; k >= 0; k--) {
            ip_expr *w = ip_x_param(l->ir, f, m->numbers[row * m->cols + k], -INFINITY, INFINITY),
                    *x = as_float(l, f, channel(l, k));
            sum = sum ? ip_x_fma(l->ir, w, x, sum) : binary(l, IP_X_MUL, w, x);
        }
        sum = ip_lower_convert(l, dtype, sum);
        value = value ? ip_x_select(l->ir, binary(l, IP_X_EQ, c, ip_lower_i32(l, row)), sum, value) : sum;
    }
    return ip_lower_map(l, value);
}

/* Element (row, column) of the matrix that input k has for this place. */
static ip_expr *entry(ip_lower *l, int k, ip_expr *row, ip_expr *column)
{
    const ip_type *type = &l->node->inputs[k]->type;
    ip_expr *at[IP_MAX_AXES] = { NULL };
    for (int axis = 0; axis < type->rank - 2; axis++)
        at[axis] = ip_axis_coord(l, axis);
    at[type->rank - 2] = row;
    at[type->rank - 1] = column;
    return as_float(l, l->node->type.dtype, ip_view_read(l, k, at));
}

ip_stage *ip_stages_matprod(ip_lower *l)
{
    int rank = l->node->type.rank;
    int64_t n = l->node->inputs[0]->type.shape[rank - 1];
    ip_expr *i = ip_axis_coord(l, rank - 2), *j = ip_axis_coord(l, rank - 1), *sum = NULL;
    for (int64_t k = 0; k < n; k++) {
        ip_expr *a = entry(l, 0, i, ip_lower_i32(l, k)), *b = entry(l, 1, ip_lower_i32(l, k), j);
        sum = sum ? ip_x_fma(l->ir, a, b, sum) : binary(l, IP_X_MUL, a, b);
    }
    return ip_lower_map(l, sum ? sum : ip_x_float(l->ir, l->node->type.dtype, 0));
}

/* a d - b c of four entries at the crossings of two rows and two columns. */
static ip_expr *minor(ip_lower *l, ip_expr *const row[2], ip_expr *const column[2])
{
    ip_expr *ad = binary(l, IP_X_MUL, entry(l, 0, row[0], column[0]), entry(l, 0, row[1], column[1]));
    ip_expr *bc = binary(l, IP_X_MUL, entry(l, 0, row[0], column[1]), entry(l, 0, row[1], column[0]));
    return binary(l, IP_X_SUB, ad, bc);
}

/* i + by modulo 3: taken in turn, minors need no signs. */
static ip_expr *turned(ip_lower *l, ip_expr *i, int64_t by)
{
    return binary(l, IP_X_MOD, binary(l, IP_X_ADD, i, ip_lower_i32(l, by)), ip_lower_i32(l, 3));
}

/* The minor that belongs to (row, column) of a 3x3 matrix, sign included. */
static ip_expr *cofactor(ip_lower *l, ip_expr *row, ip_expr *column)
{
    ip_expr *const rows[2] = { turned(l, row, 1), turned(l, row, 2) }, *const columns[2] = { turned(l, column, 1),
                                                                                             turned(l, column, 2) };
    return minor(l, rows, columns);
}

ip_stage *ip_stages_matinv(ip_lower *l)
{
    int rank = l->node->type.rank;
    int64_t n = l->node->type.shape[rank - 1];
    ip_expr *i = ip_axis_coord(l, rank - 2), *j = ip_axis_coord(l, rank - 1), *zero = ip_lower_i32(l, 0),
            *one = ip_lower_i32(l, 1);
    imgpar_dtype f = l->node->type.dtype;
    if (n > 3) return ip_lower_linalg(l, IP_LINALG_INVERSE);
    if (n <= 1) return ip_lower_map(l, binary(l, IP_X_DIV, ip_x_float(l->ir, f, 1), entry(l, 0, zero, zero)));
    if (n == 2) {
        ip_expr *const both[2] = { zero, one };
        ip_expr *other = binary(l, IP_X_SUB, one, i);
        ip_expr *top = ip_x_select(l->ir, binary(l, IP_X_EQ, i, j), entry(l, 0, other, other),
                                   ip_x_unary(l->ir, IP_X_NEG, entry(l, 0, i, j)));
        return ip_lower_map(l, binary(l, IP_X_DIV, top, minor(l, both, both)));
    }
    ip_expr *determinant = NULL;
    for (int k = 0; k < 3; k++) {
        ip_expr *column = ip_lower_i32(l, k),
                *part = binary(l, IP_X_MUL, entry(l, 0, zero, column), cofactor(l, zero, column));
        determinant = determinant ? binary(l, IP_X_ADD, determinant, part) : part;
    }
    return ip_lower_map(l, binary(l, IP_X_DIV, cofactor(l, j, i), determinant));
}
