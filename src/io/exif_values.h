/* SPDX-License-Identifier: MIT */
/* What an EXIF block says, tag by tag, in the terms of imgpar.h. */
#ifndef IP_IO_EXIF_VALUES_H
#define IP_IO_EXIF_VALUES_H

#include "io/metadata.h"

/*
 * The values of a block that was cleaned (exif.h), in the order of its directories; none where it has no bytes.
 * orientation is told in place of the block's own, which cleaning has set to 1. *out: one piece of memory, for
 * ip_free().
 */
imgpar_status ip_exif_values(const ip_blob *exif, int orientation, imgpar_exif_value ***out, size_t *n, ip_error *err);

/* The same of a block as it is written for a picture of that size. */
imgpar_status ip_exif_values_written(const ip_blob *exif, uint32_t width, uint32_t height, imgpar_exif_value ***out,
                                     size_t *n, ip_error *err);

typedef struct ip_exif_tag {
    const char *name; /* the standard's; NULL: it is told by its number */
    unsigned number;
} ip_exif_tag;

/* The tag that a name, in any case of letters or another name, or a number of 16 bits, "0xc4a5", means. False: none;
 * text may be NULL. */
bool ip_exif_tag_of(const char *text, ip_exif_tag *out);

#endif
