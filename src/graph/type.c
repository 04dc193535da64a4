/* SPDX-License-Identifier: MIT */
/* Types: shapes as four extents, sizes, texts, and what a leaf of literal numbers is. */
#include "graph/array.h"

#include "base/dtype.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { C = 3 }; /* the channels among the four dims */

static bool ends_in_channels(const ip_type *type)
{
    return type->rank == 4 || (type->rank == 3 && type->shape[2] >= 1 && type->shape[2] <= 4);
}

int ip_type_axis_dim(const ip_type *type, int axis)
{
    if (ip_type_is_folded(type)) return axis < type->rank - C ? 0 : axis + 4 - type->rank;
    if (ends_in_channels(type)) return axis + 4 - type->rank;
    return axis + 3 - type->rank;
}

void ip_type_dims(const ip_type *type, int64_t dims[4])
{
    for (int k = 0; k < 4; k++)
        dims[k] = 1;
    for (int k = 0; k < type->rank; k++)
        dims[ip_type_axis_dim(type, k)] *= type->shape[k];
}

bool ip_type_is_folded(const ip_type *type) { return type->rank > IP_OWN_DIMS; }

int64_t ip_type_axis_step(const ip_type *type, int axis)
{
    int64_t step = 1;
    for (int k = axis + 1; ip_type_is_folded(type) && k < type->rank - C; k++)
        step *= type->shape[k];
    return step;
}

ip_type ip_type_folded(const ip_type *type)
{
    ip_type folded = *type;
    if (!ip_type_is_folded(type)) return folded;
    memset(folded.shape, 0, sizeof folded.shape);
    folded.rank = IP_OWN_DIMS;
    ip_type_dims(type, folded.shape);
    return folded;
}

imgpar_status ip_type_check_folded(const ip_type *type, const char *name, ip_error *err)
{
    int64_t n = 1;
    for (int k = 0; ip_type_is_folded(type) && k < type->rank - C; k++) /* below 2^62: both factors have 31 bits */
        if (type->shape[k] > 1 && (n *= type->shape[k]) > INT32_MAX)
            return ip_fail(err, IMGPAR_E_LIMIT,
                           "%s: the axes before the last three have more than 2147483647 elements together", name);
    return IMGPAR_OK;
}

bool ip_type_is_complex(const ip_type *type) { return ip_dtype_is_complex(type->dtype); }

imgpar_dtype ip_type_storage(const ip_type *type, int64_t dims[4])
{
    ip_type_dims(type, dims);
    if (!ip_type_is_complex(type)) return type->dtype;
    dims[C] *= 2;
    return ip_dtype_part(type->dtype);
}

int64_t ip_type_count(const ip_type *type)
{
    int64_t n = 1;
    for (int k = 0; k < type->rank; k++)
        n *= type->shape[k];
    return n;
}

char *ip_shape_text(const ip_type *type, char *buf)
{
    enum { ROOM = 96 };
    int n = snprintf(buf, ROOM, "[");
    for (int k = 0; k < type->rank && n < ROOM; k++)
        n += snprintf(buf + n, (size_t)(ROOM - n), "%s%lld", k ? ", " : "", (long long)type->shape[k]);
    if (n < ROOM) snprintf(buf + n, (size_t)(ROOM - n), "]");
    return buf;
}

char *ip_type_text(const ip_type *type, char *buf)
{
    ip_shape_text(type, buf);
    size_t n = strlen(buf);
    snprintf(buf + n, 96 - n, " %s", ip_dtype(type->dtype)->name);
    return buf;
}

imgpar_space ip_space_guess(const ip_type *type)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    bool levels = type->dtype == IMGPAR_U8 || type->dtype == IMGPAR_U16;
    if (!levels || (type->rank != 2 && !ends_in_channels(type)) || dims[C] > 4) return IMGPAR_SPACE_DATA;
    return dims[C] <= 2 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB;
}

double ip_white_guess(const ip_type *type)
{
    bool levels = type->dtype == IMGPAR_U8 || type->dtype == IMGPAR_U16;
    return levels && type->space != IMGPAR_SPACE_DATA ? ip_dtype(type->dtype)->full : 0;
}

double ip_type_full(const ip_type *type) { return type->white > 0 ? type->white : ip_dtype(type->dtype)->full; }

ip_range ip_range_of(imgpar_dtype dtype)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    if (facts->is_float) return (ip_range){ -INFINITY, INFINITY };
    return (ip_range){ facts->minimum, facts->maximum };
}

bool ip_array_is_number(const imgpar_array *a, double *value, bool *fractional)
{
    if (!a || !a->op || strcmp(a->op->info.name, "number") != 0) return false;
    if (value) *value = a->params[0].number;
    if (fractional) *fractional = a->params[1].number != 0;
    return true;
}

bool ip_array_bends(const imgpar_array *a, bool *fractional)
{
    if (!a || !a->bends) return ip_array_is_number(a, NULL, fractional);
    if (fractional) *fractional = ip_dtype(a->type.dtype)->is_float;
    return true;
}

void ip_type_info(const ip_type *type, imgpar_info *out)
{
    int64_t dims[4];
    ip_type_dims(type, dims);
    *out = (imgpar_info){ .struct_size = sizeof *out,
                          .dtype = type->dtype,
                          .space = type->space,
                          .rank = type->rank,
                          .depth = dims[0],
                          .height = dims[1],
                          .width = dims[2],
                          .channels = dims[3],
                          .size_bytes = (size_t)ip_type_count(type) * ip_dtype(type->dtype)->size_bytes,
                          .white = type->white,
                          .is_mask = type->is_mask };
    memcpy(out->shape, type->shape, (size_t)type->rank * sizeof *type->shape);
}
