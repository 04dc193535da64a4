/* SPDX-License-Identifier: MIT */
#include "ops/permute.h"

ip_type ip_type_permuted(const ip_type *type, const int *order)
{
    ip_type out = *type;
    for (int k = 0; k < type->rank; k++)
        out.shape[k] = type->shape[order[k]];
    return out;
}

ip_stage *ip_lower_permuted(ip_lower *l, ip_stage *stage, const ip_type *type, const int *order, imgpar_dtype dtype,
                            const char *note)
{
    const ip_type out = ip_type_permuted(type, order);
    int64_t dims[4];
    bool moves = false;
    for (int k = 0; k < type->rank; k++)
        moves |= order[k] != k;
    if (!stage || (!moves && stage->dtype == dtype)) return stage;
    ip_type_dims(&out, dims);
    ip_expr *index[4];
    for (int dim = 0; dim < 4; dim++)
        index[dim] = ip_lower_i32(l, 0);
    for (int k = 0; k < type->rank; k++) {
        int dim = ip_type_axis_dim(&out, k);
        index[ip_type_axis_dim(type, order[k])] = ip_x_coord(l->ir, dim, dims[dim]);
    }
    ip_expr *x = ip_x_load(l->ir, stage, index, IP_BORDER_NONE, NULL);
    if (x->dtype == IMGPAR_BOOL && dtype != IMGPAR_BOOL) x = ip_x_cast(l->ir, IMGPAR_U8, x);
    imgpar_dtype value = dtype == IMGPAR_F16 ? IMGPAR_F32 : dtype;
    return ip_lower_stage_sized(l, dims, dtype, ip_x_cast(l->ir, value, x), note);
}
