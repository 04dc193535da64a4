/* SPDX-License-Identifier: MIT */
/*
 * Rows of linalg.def that are parts of one result. The node that computes all of it (qr, eigh or svd, which are hidden)
 * is equal for all of them, so it is computed once whichever of its parts are asked for.
 */
#include "ops/derived.h"

#include "base/dtype.h"
#include "base/integers.h"
#include "graph/services.h"
#include "ops/infer.h"
#include "ops/view.h"

#include <math.h>
#include <string.h>

static ip_arg numbers(const char *name, const double *values, int n)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_MATRIX, .rows = 1, .cols = n, .numbers = values };
}

static ip_arg option(const char *name, double value)
{
    return (ip_arg){ .name = name, .kind = IP_ARG_NUMBER, .number = value };
}

/* Elements from first on of each place of all, as rows x columns; rows 0: as a vector. */
static imgpar_array *part_of(ip_making *m, imgpar_array *all, int64_t first, int64_t rows, int64_t columns)
{
    const ip_type *a = &m->call->inputs[0]->type;
    const double from = (double)first, to = (double)(first + ip_max(rows, 1) * columns);
    double shape[IP_MAX_AXES];
    int n = 0;
    imgpar_array *part =
        ip_make(m, "slice", 4,
                (ip_arg[]){ ip_arg_array(all), numbers("from", &from, 1), numbers("to", &to, 1), option("axis", -1) });
    for (; n < a->rank - 2; n++)
        shape[n] = (double)a->shape[n];
    if (rows) shape[n++] = (double)rows;
    shape[n++] = (double)columns;
    return ip_make(m, "reshape", 2, (ip_arg[]){ ip_arg_array(part), numbers("shape", shape, n) });
}

imgpar_array *ip_expand_linalg(const imgpar_array *call)
{
    const ip_type *a = &call->inputs[0]->type;
    const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1], k = ip_min(m, n);
    const ip_linalg_part part = (ip_linalg_part)call->op->variant;
    ip_making making = { .call = call };
    const char *row = part <= IP_PART_R ? "qr_parts" : part <= IP_PART_EIGENVECTORS ? "eigh_parts" : "svd_parts";
    imgpar_array *all = ip_make_of(&making, row, call->inputs[0]), *result = NULL;
    switch (part) {
    case IP_PART_Q: result = part_of(&making, all, 0, m, k); break;
    case IP_PART_R: result = part_of(&making, all, m * k, k, n); break;
    case IP_PART_EIGENVALUES: result = part_of(&making, all, 0, 0, n); break;
    case IP_PART_EIGENVECTORS: result = part_of(&making, all, n, n, n); break;
    case IP_PART_SINGULAR: result = part_of(&making, all, 0, 0, k); break;
    case IP_PART_U: result = part_of(&making, all, k, m, k); break;
    case IP_PART_VT: result = part_of(&making, all, k + m * k, k, n); break;
    }
    return ip_made(&making, result);
}

/* How many singular values are above what rounding leaves of 0, as numpy.linalg.matrix_rank. */
imgpar_array *ip_expand_matrix_rank(const imgpar_array *call)
{
    const ip_type *a = &call->inputs[0]->type;
    const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
    const double axis = -1, part = (double)ip_max(m, n) * (a->dtype == IMGPAR_F64 ? 0x1p-52 : 0x1p-23);
    ip_making making = { .call = call };
    const ip_arg along = numbers("axis", &axis, 1), keeps = { .name = "keepdims", .kind = IP_ARG_BOOL, .number = 1 };
    imgpar_array *values = ip_make_of(&making, "svdvals", call->inputs[0]);
    imgpar_array *most = ip_make(&making, "maxval", 3, (ip_arg[]){ ip_arg_array(values), along, keeps });
    imgpar_array *least = ip_make_pair(&making, "times", most, ip_make_number(&making, part));
    imgpar_array *above = ip_make_pair(&making, "gt", values, least);
    return ip_made(&making, ip_make(&making, "sum", 2, (ip_arg[]){ ip_arg_array(above), along }));
}

/* By squaring: as many products as n has bits, and as many as those that are set. */
imgpar_array *ip_expand_matrix_power(const imgpar_array *call)
{
    const ip_type *a = &call->inputs[0]->type;
    const double rows = (double)a->shape[a->rank - 1];
    const int n = (int)ip_param_number(call, "power");
    ip_making making = { .call = call };
    imgpar_array *square = n < 0 ? ip_make_of(&making, "matinv", call->inputs[0]) : call->inputs[0], *power = NULL;
    for (int rest = n < 0 ? -n : n; rest > 0; rest >>= 1) {
        if (rest & 1) power = power ? ip_make_pair(&making, "matmul", power, square) : square;
        if (rest > 1) square = ip_make_pair(&making, "matmul", square, square);
    }
    if (power) return ip_made(&making, power);
    double shape[IP_MAX_AXES];
    for (int k = 0; k < a->rank; k++)
        shape[k] = (double)a->shape[k];
    const ip_arg dtype = { .name = "dtype", .kind = IP_ARG_TEXT, .text = ip_dtype(a->dtype)->name };
    imgpar_array *unit = ip_make(&making, "eye", 2, (ip_arg[]){ option("rows", rows), dtype });
    return ip_made(
        &making, ip_make(&making, "broadcast", 2, (ip_arg[]){ ip_arg_array(unit), numbers("shape", shape, a->rank) }));
}
