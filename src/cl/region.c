/* SPDX-License-Identifier: MIT */
/* Regions of buffers, from elements to what rectangular copies take. */
#include "cl/cl.h"

static imgpar_status axis(const char *function, size_t whole, size_t offset, size_t extent, int k, size_t *out,
                          ip_error *err)
{
    if (offset >= whole)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: region.offset[%d]=%zu is not inside 0 to %zu", function, k, offset,
                       whole - 1);
    *out = extent ? extent : whole - offset;
    if (*out > whole - offset)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: region.offset[%d]=%zu + extent[%d]=%zu is over %zu", function, k,
                       offset, k, extent, whole);
    return IMGPAR_OK;
}

/* How far n of them are apart in the host's memory, given or the least there is, and what they take. */
static imgpar_status host_pitch(const char *function, const char *name, size_t least, size_t n, size_t given,
                                size_t *out, size_t *bytes, ip_error *err)
{
    *out = given ? given : least;
    if (*out < least)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: region.%s=%zu is below the %zu bytes of its elements", function,
                       name, given, least);
    if (!ip_mul_size(*out, n, bytes))
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: region.%s=%zu takes more bytes than memory can have", function, name,
                       *out);
    return IMGPAR_OK;
}

/* Lies in one piece: every axis but the first that is cut is whole. */
static bool is_straight(const imgpar_cl_layout *l, const ip_cl_box *b)
{
    bool rows_join = b->extent[0] == l->row_pitch_bytes, one_slice = b->extent[2] == 1;
    bool slices_join = rows_join && b->extent[1] * l->row_pitch_bytes == l->slice_pitch_bytes;
    return (one_slice && (b->extent[1] == 1 || rows_join)) || slices_join;
}

imgpar_status ip_cl_box_of(const char *function, const imgpar_cl_buffer *buffer, const imgpar_cl_region *given,
                           ip_cl_box *out, ip_error *err)
{
    const imgpar_cl_layout *l = &buffer->layout;
    imgpar_cl_region region = { .struct_size = sizeof region };
    *out = (ip_cl_box){ .extent = { 1, 1, 1 } };
    if (given && ip_struct_in(&region, given, function, "region", err)) return err->status;
    for (int k = 0; k < l->rank; k++) { /* slowest first there, fastest first here */
        int d = l->rank - 1 - k;
        imgpar_status st = axis(function, l->extent[k], region.offset[k], region.extent[k], k, &out->extent[d], err);
        if (st) return st;
        out->offset[d] = region.offset[k];
    }
    out->extent[0] *= l->element_bytes;
    out->offset[0] *= l->element_bytes;
    out->bytes = out->extent[0] * out->extent[1] * out->extent[2];
    out->is_straight = is_straight(l, out);
    size_t slice_bytes, all_bytes;
    imgpar_status st = host_pitch(function, "host_row_pitch_bytes", out->extent[0], out->extent[1],
                                  region.host_row_pitch_bytes, &out->host_row_pitch, &slice_bytes, err);
    return st ? st
              : host_pitch(function, "host_slice_pitch_bytes", slice_bytes, out->extent[2],
                           region.host_slice_pitch_bytes, &out->host_slice_pitch, &all_bytes, err);
}
