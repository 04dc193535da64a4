/* SPDX-License-Identifier: MIT */
/*
 * boxes.h - boxes of stages in host memory, which holds a box of them itself: rows tightly packed, as in an ip_binding.
 */
#ifndef IP_RUN_BOXES_H
#define IP_RUN_BOXES_H

#include "ir/stage.h"
#include "run/device.h"

/* The place of the first element of r in memory that holds the box `of`, in bytes. */
size_t ip_box_place(const ip_region *of, const ip_region *r, const ip_stage *stage);
/* Whether r is one piece of such memory. */
bool ip_box_is_piece(const ip_region *of, const ip_region *r);
/* The elements of box, which both hold. */
void ip_box_copy(char *to, const ip_region *to_box, const char *from, const ip_region *from_box, const ip_region *box,
                 const ip_stage *stage);
/* What is in both. */
ip_region ip_box_common(const ip_region *a, const ip_region *b);
static inline bool ip_box_is_same(const ip_region *a, const ip_region *b)
{
    return a->z0 == b->z0 && a->z1 == b->z1 && a->y0 == b->y0 && a->y1 == b->y1 && a->x0 == b->x0 && a->x1 == b->x1;
}
/* The box with what a kernel may read behind the last pixel of a row that it needs: whole words of some idioms, where
 * the row goes on (compile/idioms.h). */
ip_region ip_box_readable(const ip_region *box, const ip_stage *s);
/* A box of host memory that holds `of`, in a new buffer. */
imgpar_status ip_box_upload(ip_device *device, const char *host, const ip_region *of, const ip_region *box,
                            const ip_stage *stage, ip_buffer **out, ip_error *err);

#endif
