/* SPDX-License-Identifier: MIT */
#include "run/boxes.h"

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "compile/plan.h"

#include <string.h>

static size_t pixel_bytes(const ip_stage *s) { return (size_t)s->dims[3] * ip_dtype(s->dtype)->size_bytes; }

size_t ip_box_place(const ip_region *of, const ip_region *r, const ip_stage *s)
{
    const int64_t row = (r->z0 - of->z0) * (of->y1 - of->y0) + r->y0 - of->y0;
    return (size_t)(row * (of->x1 - of->x0) + r->x0 - of->x0) * pixel_bytes(s);
}

bool ip_box_is_piece(const ip_region *of, const ip_region *r)
{
    const bool has_rows = r->x0 == of->x0 && r->x1 == of->x1, has_planes = r->y0 == of->y0 && r->y1 == of->y1;
    const bool is_plane = r->z1 - r->z0 <= 1, is_row = r->y1 - r->y0 <= 1;
    return (has_rows && (has_planes || is_plane)) || (is_plane && is_row);
}

void ip_box_copy(char *to, const ip_region *to_box, const char *from, const ip_region *from_box, const ip_region *box,
                 const ip_stage *s)
{
    const size_t n = (size_t)(box->x1 - box->x0) * pixel_bytes(s);
    for (int64_t z = box->z0; z < box->z1; z++)
        for (int64_t y = box->y0; y < box->y1; y++) {
            const ip_region row = { z, z + 1, y, y + 1, box->x0, box->x1 };
            memcpy(to + ip_box_place(to_box, &row, s), from + ip_box_place(from_box, &row, s), n);
        }
}

ip_region ip_box_common(const ip_region *a, const ip_region *b)
{
    return (ip_region){ ip_max(a->z0, b->z0), ip_min(a->z1, b->z1), ip_max(a->y0, b->y0),
                        ip_min(a->y1, b->y1), ip_max(a->x0, b->x0), ip_min(a->x1, b->x1) };
}

ip_region ip_box_readable(const ip_region *box, const ip_stage *s)
{
    enum { BYTES_BEHIND = 64 };
    ip_region r = *box;
    r.x1 = ip_min(r.x1 + ip_ceil_div(BYTES_BEHIND, (int64_t)pixel_bytes(s)), s->dims[2]);
    return r;
}

/* Its rows are put side by side first, unless they are one piece. */
imgpar_status ip_box_upload(ip_device *device, const char *host, const ip_region *of, const ip_region *box,
                            const ip_stage *s, ip_buffer **out, ip_error *err)
{
    const size_t n = (size_t)ip_region_bytes(box, s);
    const bool is_piece = ip_box_is_piece(of, box);
    char *rows = is_piece ? NULL : ip_alloc(n);
    *out = NULL;
    imgpar_status st = is_piece || rows ? ip_buffer_new(device, n, out, err) : ip_fail_memory(err, "uploading a box");
    if (!st && rows) ip_box_copy(rows, box, host, of, box, s);
    if (!st) st = ip_buffer_write(*out, 0, rows ? rows : host + ip_box_place(of, box, s), n, err);
    ip_free(rows);
    if (!st) return IMGPAR_OK;
    ip_buffer_release(*out);
    *out = NULL;
    return st;
}
