/* SPDX-License-Identifier: MIT */
/* Types of linear algebra of small matrices: what the last two axes are must fit, leading axes are places. */
#include "ops/infer.h"
#include "ops/linalg.h"
#include "ops/view.h"

#include "base/dtype.h"
#include "base/integers.h"

#include <string.h>

static imgpar_dtype dtype_of(const imgpar_array *node)
{
    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k]->type.dtype == IMGPAR_F64) return IMGPAR_F64;
    return IMGPAR_F32;
}

static imgpar_status set_type(imgpar_array *node, int rank, const int64_t *shape, ip_error *err)
{
    const int64_t one = 1;
    node->type = (ip_type){ .dtype = dtype_of(node), .space = IMGPAR_SPACE_DATA };
    return rank ? ip_shape_set(node, rank, shape, err) : ip_shape_set(node, 1, &one, err);
}

/* Square matrices, of up to so many rows. */
static imgpar_status need_square(const imgpar_array *node, int most, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    const int64_t n = a->shape[a->rank - 1];
    if (a->rank >= 2 && n == a->shape[a->rank - 2] && n <= most) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; its last axes must be square matrices of up to %dx%d",
                   node->op->info.name, ip_shape_text(a, text), most, most);
}

imgpar_status ip_infer_det(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    imgpar_status st = need_square(node, IP_LINALG_SIDE, err);
    return st ? st : set_type(node, a->rank - 2, a->shape, err);
}

imgpar_status ip_infer_matinv(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    imgpar_status st = need_square(node, IP_LINALG_SIDE, err);
    return st ? st : set_type(node, a->rank, a->shape, err);
}

/* ---- systems -------------------------------------------------------------------------------------- */

static int64_t product(const int64_t *shape, int n)
{
    int64_t all = 1;
    for (int k = 0; k < n; k++)
        all *= shape[k];
    return all;
}

bool ip_systems_of(const ip_type *a, const ip_type *b, ip_systems *out)
{
    if (a->rank < 2) return false;
    const bool vectors = b->rank == a->rank - 1;
    const int lead = b->rank - (vectors ? 1 : 2);
    if (lead < 0) return false;
    *out = (ip_systems){ .places = product(b->shape, lead),
                         .m = a->shape[a->rank - 2],
                         .n = a->shape[a->rank - 1],
                         .k = vectors ? 1 : b->shape[b->rank - 1],
                         .one_matrix = a->rank == 2 };
    const bool same = lead == a->rank - 2 && memcmp(a->shape, b->shape, (size_t)lead * sizeof *a->shape) == 0;
    return b->shape[lead] == out->m && (out->one_matrix || same);
}

static imgpar_status infer_systems(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type, *b = &node->inputs[1]->type;
    int64_t shape[IP_MAX_AXES];
    char text_a[96], text_b[96];
    ip_systems s;
    if (!ip_systems_of(a, b, &s))
        return ip_fail(err, IMGPAR_E_SHAPE,
                       "%s: a is %s, b is %s; b needs a vector or a matrix of as many rows for each matrix of a",
                       node->op->info.name, ip_shape_text(a, text_a), ip_shape_text(b, text_b));
    memcpy(shape, b->shape, sizeof shape);
    shape[b->rank == a->rank - 1 ? b->rank - 1 : b->rank - 2] = s.n;
    return set_type(node, b->rank, shape, err);
}

imgpar_status ip_infer_solve(imgpar_array *node, ip_error *err)
{
    imgpar_status st = need_square(node, IP_LINALG_SIDE, err);
    return st ? st : infer_systems(node, err);
}

/* Matrices of any sides, of which the one that counts is of up to IP_LINALG_COLUMNS. */
static imgpar_status need_matrices(const imgpar_array *node, bool lesser, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    if (a->rank >= 2) {
        const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1], side = lesser && m < n ? m : n;
        if (side <= IP_LINALG_COLUMNS && (side == 0 || m * n <= IP_LINALG_ELEMENTS)) return IMGPAR_OK;
    }
    return ip_fail(err, IMGPAR_E_SHAPE, "%s: a is %s; its last axes must be matrices of up to %d %s and %d elements",
                   node->op->info.name, ip_shape_text(a, text), IP_LINALG_COLUMNS,
                   lesser ? "rows or columns" : "columns", IP_LINALG_ELEMENTS);
}

imgpar_status ip_infer_lstsq(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    char text[96];
    imgpar_status st = need_matrices(node, false, err);
    if (st) return st;
    if (a->shape[a->rank - 2] < a->shape[a->rank - 1])
        return ip_fail(err, IMGPAR_E_SHAPE, "lstsq: a is %s; it must have as many rows as columns at least",
                       ip_shape_text(a, text));
    return infer_systems(node, err);
}

/* ---- results of several parts ------------------------------------------------------------------------- */

static imgpar_status set_packed(imgpar_array *node, int64_t elements, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t shape[IP_MAX_AXES];
    memcpy(shape, a->shape, sizeof shape);
    shape[a->rank - 2] = elements;
    return set_type(node, a->rank - 1, shape, err);
}

imgpar_status ip_infer_qr(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    imgpar_status st = need_matrices(node, false, err);
    if (st) return st;
    const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
    return set_packed(node, ip_min(m, n) * (m + n), err);
}

imgpar_status ip_infer_eigh(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    imgpar_status st = need_square(node, IP_LINALG_COLUMNS, err);
    return st ? st : set_packed(node, a->shape[a->rank - 1] * (a->shape[a->rank - 1] + 1), err);
}

imgpar_status ip_infer_svd(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    imgpar_status st = need_matrices(node, true, err);
    if (st) return st;
    const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
    return set_packed(node, ip_min(m, n) * (m + n + 1), err);
}

imgpar_status ip_infer_pinv(imgpar_array *node, ip_error *err)
{
    const ip_type *a = &node->inputs[0]->type;
    int64_t shape[IP_MAX_AXES];
    imgpar_status st = need_matrices(node, true, err);
    if (st) return st;
    memcpy(shape, a->shape, sizeof shape);
    shape[a->rank - 2] = a->shape[a->rank - 1];
    shape[a->rank - 1] = a->shape[a->rank - 2];
    return set_type(node, a->rank, shape, err);
}
