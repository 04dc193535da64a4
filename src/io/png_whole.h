/* SPDX-License-Identifier: MIT */
/* The pixels of plain PNGs, read at once. Private to the PNG codec. */
#ifndef IP_IO_PNG_WHOLE_H
#define IP_IO_PNG_WHOLE_H

#include "io/codec.h"

/*
 * Reads the pixels of a PNG that is plain (samples of 8 or 16 bits, not interlaced, no palette, no transparent colour),
 * of a size that may be held with its code, and without a fault in any chunk. False: it is not all of that, and libpng
 * reads it and knows what to say; what stands in the image's pixels then, libpng writes over. *status: IMGPAR_OK, or
 * why reading ended.
 */
bool ip_png_read_whole(const ip_source *s, ip_image *image, imgpar_status *status, ip_error *err);

#endif
